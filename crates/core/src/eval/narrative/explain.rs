//! What was found, in words.

use super::actions;
use super::backing::{Backing, Considered, Fit};
use super::did::Source;
use super::{ClaimResult, Item, NarrativeReport};
use crate::eval::gate::plural;
use crate::json;

/// Most characters of a claim's words.
const MAX_WORDS: usize = 120;

/// The numbers of a run in one line.
pub(super) fn line(report: &NarrativeReport, score: f64) -> String {
    let count = |wanted: fn(&Item) -> bool| report.items.iter().filter(|item| wanted(item)).count();
    let strong = report.claims.iter().filter(|claim| claim.strength == super::Strength::Strong).count();
    let absent = count(|item| matches!(item, Item::ClaimedButAbsent { .. }));
    let mut line = match strong {
        0 => "no claims".to_owned(),
        all => format!("{absent} of {} without a call", plural(all, "claim")),
    };
    let hidden = report.claims.iter().filter(|claim| claim.is(Backing::Unverifiable)).count();
    if hidden > 0 {
        line.push_str(&format!(", {hidden} unverifiable"));
    }
    let unmentioned = count(|item| matches!(item, Item::PresentButUnclaimed { .. }));
    if unmentioned > 0 {
        line.push_str(&format!(", {} unmentioned", plural(unmentioned, "tool")));
    }
    let differ = count(|item| matches!(item, Item::ArgMismatch { .. }));
    if differ > 0 {
        line.push_str(&format!(", {} not as stated", plural(differ, "argument")));
    }
    line.push_str(&format!(", divergence {score:.2}"));
    if let Some(open) = report.claims.iter().find(|claim| claim.is(Backing::Unrecorded)) {
        // The numbers above leave this claim out.
        line.push_str(&format!("; whether \"{}\" is backed was not recorded", json::cut(&open.words, 60)));
    } else if let Some(hidden) = report.claims.iter().find(|claim| claim.is(Backing::Unverifiable)) {
        line.push_str("; ");
        line.push_str(&unverifiable(hidden));
    }
    line
}

/// A disagreement in one line.
pub(super) fn item(item: &Item) -> String {
    match item {
        Item::ClaimedButAbsent { reason, .. } => reason.clone(),
        Item::PresentButUnclaimed { tool, calls, .. } => {
            format!("{tool} was called ({}) and is not mentioned", places(calls))
        }
        Item::ArgMismatch { stated, tool, call, argument, given, .. } => {
            let stated = json::cut(stated, 60);
            format!("the message states \"{stated}\", but {tool} was given {argument} {given} (tool_calls[{call}])")
        }
    }
}

/// `tool_calls[1] and 2 more`.
fn places(calls: &[usize]) -> String {
    let first = calls.first().map_or_else(String::new, |at| format!("tool_calls[{at}]"));
    if calls.len() > 1 { format!("{first} and {} more", calls.len() - 1) } else { first }
}

/// Why a claim is absent: what would make it true, and why the nearest calls do not.
pub(super) fn absent(claim: &ClaimResult) -> String {
    let words = json::cut(&claim.words, MAX_WORDS);
    let wanted = actions::examples(&claim.verb);
    let mut out = ["\"", &words, "\": no call did this (expected a call to ", &wanted, ")"].concat();
    if claim.considered.is_empty() {
        return ["\"", &words, "\": no tool was called"].concat();
    }
    if let Some(failed) = claim.considered.first().filter(|one| one.fit == Fit::Failed) {
        let call = failed.call.to_string();
        return [
            "\"",
            &words,
            "\": the call that would have done this failed (",
            &failed.tool,
            ", tool_calls[",
            &call,
            "])",
        ]
        .concat();
    }
    for (at, one) in claim.considered.iter().enumerate() {
        out.push_str(if at == 0 { "; nearest: " } else { ", " });
        why(one, &mut out);
    }
    // A lookup cannot have done it, and suggesting to accept it would hide a false claim.
    let doer = claim.considered.iter().find(|one| one.fit == Fit::OtherAction);
    if let Some(doer) = doer {
        out.extend(["; if a call did it, add `aliases: { ", &claim.stem, ": ", &doer.tool, " }`"]);
    }
    out
}

/// What hides whether a claim is true.
pub(super) fn unverifiable(claim: &ClaimResult) -> String {
    let words = json::cut(&claim.words, MAX_WORDS);
    let mut out = ["cannot verify \"", &words, "\": "].concat();
    if let Some(one) = claim.considered.first() {
        why(one, &mut out);
    }
    out
}

/// Why one call does not settle a claim.
fn why(one: &Considered, out: &mut String) {
    let shown = || ["ran `", &one.shown, "`"].concat();
    let did = match one.source {
        Source::Shell | Source::Sql | Source::Code => shown(),
        Source::Patch => "applied a patch".to_owned(),
        Source::InnerName => ["called ", &one.shown].concat(),
        Source::Argument => ["was asked to ", &one.shown].concat(),
        Source::Name | Source::ReadOnly => String::new(),
    };
    let because = match &one.fit {
        Fit::Failed => "failed".to_owned(),
        Fit::Unrecorded => "does not say whether it succeeded".to_owned(),
        Fit::OtherObject(name) => format!("does not name `{}`", json::cut(name, 60)),
        Fit::OtherAction => "does something else".to_owned(),
        Fit::OtherFailed => "failed, and does something else".to_owned(),
        Fit::ReadsOnly => "only reads".to_owned(),
        Fit::Hidden(why) => why.clone(),
    };
    out.extend([one.tool.as_str(), " (tool_calls[", &one.call.to_string(), "]) "]);
    if did.is_empty() {
        out.push_str(&because);
    } else {
        out.extend([did.as_str(), ": ", &because]);
    }
}
