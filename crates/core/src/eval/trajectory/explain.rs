//! Why recorded calls do not match the reference: nearest misses and proofs.

use std::borrow::Cow;
use std::fmt::Write as _;

use super::align::{Alignment, Fits};
use super::rule::{RecordedCall, Rule};
use super::{Competition, MatchMode, TraceMismatch, TraceValidation};
use crate::assertion::AssertionDiff;
use crate::eval::gate::plural;
use crate::eval::matching;

/// Maximum comparisons in search of nearest misses.
const MAX_COMPARED: usize = 20_000;

pub(super) fn explain(
    mode: MatchMode,
    max_extra: Option<usize>,
    rules: &[Rule],
    alignment: Alignment,
    fits: &Fits,
    seen: &[RecordedCall<'_>],
) -> TraceValidation {
    let passed = alignment.passed();
    let competitions = if passed { Vec::new() } else { competitions(mode, &alignment) };
    let Alignment { matched, missing, not_allowed, wrong, .. } = alignment;
    let mut out = TraceValidation { passed, mismatches: Vec::new(), matched, competitions };
    if passed {
        return out;
    }
    if let Some(wrong) = wrong {
        out.mismatches = wrong.into_iter().map(|pair| position(rules, seen, pair)).collect();
        return out;
    }
    // Only near misses ask which calls are taken.
    let mut used = vec![false; if missing.is_empty() { 0 } else { seen.len() }];
    for call in out.matched.iter().flatten().filter(|_| !missing.is_empty()) {
        used[*call] = true;
    }
    out.mismatches.reserve_exact(missing.len() + not_allowed.len());
    let mut budget = MAX_COMPARED;
    for at in &missing {
        let rule = &rules[*at];
        let near = nearest(*at, rule, fits, seen, &used, &mut budget);
        let taken = out.competitions.iter().find(|set| set.expected.contains(at) && set.expected.len() > 1);
        let why = match (&near, taken) {
            (_, Some(set)) => compete(set),
            (Some((call, diffs)), None) => {
                format!("the nearest call is tool_calls[{call}], which differs at {}", paths(diffs))
            }
            (None, None) if seen.iter().any(|found| found.name == rule.name) => {
                "every call of that tool is out of order or already matched".to_owned()
            }
            (None, None) => "that tool was not called".to_owned(),
        };
        let (recorded_index, diffs) = near.map_or((None, Vec::new()), |(call, diffs)| (Some(call), diffs));
        out.mismatches.push(TraceMismatch {
            expected_index: Some(*at),
            recorded_index,
            diffs,
            reason: format!("calls[{at}] ({}) is missing: {why}", rule.name),
        });
    }
    for call in &not_allowed {
        let name = seen[*call].name;
        let taken = out.competitions.iter().find(|set| set.recorded.contains(call) && !set.expected.is_empty());
        let why = match (mode, max_extra, taken) {
            (MatchMode::Subset, _, Some(set)) => compete(set).into(),
            (_, Some(limit), _) => format!("at most {} allowed", plural(limit, "extra call")).into(),
            _ => Cow::from("the reference does not allow it"),
        };
        // Most mismatches are extra calls: their reason is written without growing.
        let mut reason =
            String::with_capacity("tool_calls[] () is an extra call: ".len() + 20 + name.len() + why.len());
        // Writing into a String cannot fail.
        let _ = write!(reason, "tool_calls[{call}]");
        reason.extend([" (", name, ") is an extra call: ", &why]);
        out.mismatches.push(TraceMismatch {
            expected_index: None,
            recorded_index: Some(*call),
            diffs: Vec::new(),
            reason,
        });
    }
    out
}

/// The mismatch at one position: a different, a missing or an extra call.
fn position(
    rules: &[Rule],
    seen: &[RecordedCall<'_>],
    (expected_index, recorded_index): (Option<usize>, Option<usize>),
) -> TraceMismatch {
    let rule = expected_index.and_then(|at| Some((at, rules.get(at)?)));
    let found = recorded_index.and_then(|call| Some((call, seen.get(call)?)));
    let (diffs, reason) = match (rule, found) {
        (Some((at, rule)), Some((call, found))) => {
            let diffs = rule.diffs(found);
            let reason = if rule.name == found.name {
                format!("tool_calls[{call}] ({}) differs from calls[{at}] at {}", rule.name, paths(&diffs))
            } else {
                format!("tool_calls[{call}] is {}, expected {}", found.name, rule.name)
            };
            (diffs, reason)
        }
        (Some((at, rule)), None) => {
            let recorded = match seen.len() {
                0 => "no calls".to_owned(),
                count => format!("only {}", plural(count, "call")),
            };
            (Vec::new(), format!("calls[{at}] ({}) is missing: the trace has {recorded}", rule.name))
        }
        (None, found) => {
            let (call, name) = found.map_or((0, ""), |(call, found)| (call, found.name));
            let length = plural(rules.len(), "call");
            (Vec::new(), format!("tool_calls[{call}] ({name}) is an extra call: the reference has {length}"))
        }
    };
    TraceMismatch { expected_index, recorded_index, diffs, reason }
}

/// The call of the same tool with the fewest differences; among equals a free one, then the earliest.
fn nearest(
    at: usize,
    rule: &Rule,
    fits: &Fits,
    seen: &[RecordedCall<'_>],
    used: &[bool],
    budget: &mut usize,
) -> Option<(usize, Vec<AssertionDiff>)> {
    let mut best: Option<((usize, bool), usize, Vec<AssertionDiff>)> = None;
    for (call, found) in seen.iter().enumerate() {
        if found.name != rule.name || fits.certainly_fits(at, call) {
            continue;
        }
        let Some(left) = budget.checked_sub(1) else {
            break;
        };
        *budget = left;
        let diffs = rule.diffs(found);
        let rank = (diffs.len(), used[call]);
        if !diffs.is_empty() && best.as_ref().is_none_or(|(least, _, _)| rank < *least) {
            best = Some((rank, call, diffs));
        }
    }
    best.map(|(_, call, diffs)| (call, diffs))
}

/// Which expectations compete for too few calls, or the other way around. Proofs that share a vertex are merged.
fn competitions(mode: MatchMode, alignment: &Alignment) -> Vec<Competition> {
    let Some((candidates, matching)) = &alignment.assignment else {
        return Vec::new();
    };
    let short = if mode == MatchMode::Subset { &alignment.not_allowed } else { &alignment.missing };
    let starts: Vec<usize> = short.iter().copied().filter(|start| !candidates[*start].is_empty()).collect();
    let by_side = |proof: matching::Deficit| match mode {
        MatchMode::Subset => Competition { expected: proof.right, recorded: proof.left },
        _ => Competition { expected: proof.left, recorded: proof.right },
    };
    matching::deficits(candidates, matching, &starts).into_iter().map(by_side).collect()
}

fn compete(set: &Competition) -> String {
    let list = |name: &str, items: &[usize]| {
        let mut words: Vec<_> = items.iter().take(6).map(|at| format!("{name}[{at}]")).collect();
        if items.len() > 6 {
            words.push(format!("{} more", items.len() - 6));
        }
        words.join(", ")
    };
    let (expected, recorded) = (list("calls", &set.expected), list("tool_calls", &set.recorded));
    if set.expected.len() > set.recorded.len() {
        format!("{expected} compete for {recorded}")
    } else {
        format!("{recorded} compete for {expected}")
    }
}

fn paths(diffs: &[AssertionDiff]) -> String {
    let mut words: Vec<_> = diffs.iter().take(3).map(|diff| diff.path.clone()).collect();
    if diffs.len() > 3 {
        words.push(format!("{} more", diffs.len() - 3));
    }
    words.join(", ")
}
