//! `mcptest explain`: what a word, a path or a message of this program means.
//!
//! Everything is made from the tables that the program runs on, so that what is explained is what happens. One name may mean
//! several things, such as `error`, which is a verdict and a fault; then all of them are told.

mod gate;
mod glossary;
mod key;
mod message;
mod page;
mod reported;
mod target;
mod word;

use std::collections::BTreeSet;
use std::fmt;

use mcptest_core::diag::{did_you_mean, printable};
use mcptest_core::eval::GATES;
use mcptest_core::matcher::MATCHERS;

use crate::trouble::{self, Trouble, find};
use page::Page;

/// Something that cannot be explained.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Unknown {
    message: String,
    hint: String,
}

impl fmt::Display for Unknown {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "error: {}\nhint: {}", self.message, self.hint)
    }
}

impl std::error::Error for Unknown {}

const LIST: &str = "`mcptest explain` alone lists what can be explained";

/// Explains a word, a path or a message; with `all`, without regard to the height of a screen.
pub(crate) fn explain(what: &str, all: bool) -> Result<String, Unknown> {
    let asked = what.trim().trim_matches('`');
    let mut page = Page::default();
    word::exit_code(asked, &mut page);
    glossary::explain(asked, &mut page);
    if !asked.contains(char::is_whitespace) {
        named(asked, all, &mut page);
        if page.is_empty() {
            target::explain(asked, &mut page)?;
        }
    }
    if page.is_empty() {
        message::explain(&find::whole(what), &mut page);
    }
    if page.is_empty() {
        reported::explain(what, all, &mut page);
    }
    if page.is_empty() {
        let found = find::by_words(what);
        message::explain(&found.about, &mut page);
        if page.is_empty() {
            return Err(unknown(asked, &found.near));
        }
    }
    Ok(page.finish())
}

/// Everything that goes by a name.
fn named(name: &str, all: bool, page: &mut Page) {
    gate::gate(name, all, page);
    gate::metric(name, page);
    word::explain(name, page);
    key::explain(name, page);
    message::named(name, page);
}

/// What to say about something that means nothing here.
fn unknown(asked: &str, troubles: &[&Trouble]) -> Unknown {
    let shown = mcptest_core::json::cut(asked, 80);
    let message = format!("nothing is known about `{}`", printable(&shown));
    // A gate is a key as well.
    let names: BTreeSet<String> = names().into_iter().collect();
    let near: Vec<&str> = match did_you_mean(asked, names.iter().map(String::as_str)) {
        Some(near) => vec![near],
        // A word that is a part of names: `weakest` of `stability.weakest_score`.
        None => names
            .iter()
            .map(String::as_str)
            .filter(|name| asked.len() >= 4 && name.contains(&asked.to_lowercase()))
            .take(4)
            .collect(),
    };
    if !near.is_empty() {
        return Unknown { message, hint: format!("did you mean `{}`? {LIST}", near.join("`, `")) };
    }
    if troubles.is_empty() {
        return Unknown { message, hint: LIST.to_owned() };
    }
    let troubles: Vec<&str> = troubles.iter().take(3).map(|trouble| trouble.name).collect();
    let verb = if troubles.len() == 1 { "is" } else { "are" };
    Unknown {
        message: format!("no entry is about this; the nearest {verb} `{}`", troubles.join("`, `")),
        hint: format!("`mcptest explain NAME` explains an entry; {LIST}"),
    }
}

/// Every name that can be explained.
fn names() -> Vec<String> {
    let mut out: Vec<String> = GATES.iter().map(|gate| gate.kind.name().to_owned()).collect();
    out.extend(
        GATES.iter().flat_map(|gate| gate.metrics.iter().map(|metric| format!("{}.{}", gate.prefix, metric.name))),
    );
    out.extend(mcptest_core::trace::FIELDS.iter().map(|field| field.path.to_owned()));
    out.extend(MATCHERS.iter().map(|matcher| matcher.name.to_owned()));
    out.extend(word::names().chain(glossary::names()).map(str::to_owned));
    out.extend(key::names().into_iter().map(str::to_owned));
    out.extend(trouble::all().map(|trouble| trouble.name.to_owned()));
    out
}

/// The names that a shell offers: those of gates, matchers and single words. Keys and messages would bury them.
pub(crate) fn completed() -> Vec<&'static str> {
    let gates = GATES.iter().map(|gate| gate.kind.name());
    let all = gates.chain(MATCHERS.iter().map(|matcher| matcher.name)).chain(word::names()).chain(glossary::names());
    let mut seen = BTreeSet::new();
    all.filter(|name| !name.contains(' ') && seen.insert(*name)).collect()
}

/// What there is to explain.
pub(crate) fn overview() -> String {
    let mut page = Page::default();
    page.text("Explains a word, a path or a message of this program: `mcptest explain WHAT`. For example:");
    page.code(
        "mcptest explain trajectory\n\
         mcptest explain stability.weakest_score\n\
         mcptest explain 'tool_calls[*].args.city'\n\
         mcptest explain agents.max_turns\n\
         mcptest explain 'cassette is stale'\n\
         mcptest run tests/ 2>&1 | mcptest explain -",
    );
    let list = |words: &mut dyn Iterator<Item = &'static str>| words.collect::<Vec<_>>().join(", ");
    page.item("gates", &list(&mut GATES.iter().map(|gate| gate.kind.name())));
    page.item("metrics", "GATE.METRIC, as in golden_path.penalty; the page of a gate lists its own");
    page.item(
        "targets",
        &format!("paths in a trace, which begin with {}", mcptest_core::assertion::ENVELOPE_ROOTS.join(", ")),
    );
    page.item("matchers", &list(&mut MATCHERS.iter().map(|matcher| matcher.name)));
    word::overview(&mut page);
    page.item("words", &list(&mut glossary::names()));
    page.item(
        "keys",
        "of suite files, gates files, scripts and mock servers: `prompt`, `agents.prompt`, `trajectory.max_extra`",
    );
    let count = trouble::all().count();
    page.item(
        "messages",
        &format!("a message or a part of one, as it was printed; {count} troubles are known, in these areas:"),
    );
    for area in &trouble::AREAS {
        page.sub(&format!("{} ({})", area.title, area.troubles.len()));
    }
    page.finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_is_explained_and_fits_on_a_screen() {
        for name in names() {
            let text = explain(&name, false).unwrap_or_else(|unknown| panic!("{name}: {unknown}"));
            let lines = text.lines().count();
            assert!(lines <= 60, "{name} takes {lines} lines");
            for line in text.lines() {
                assert!(line.chars().count() <= 100, "{name}: {line}");
                assert_eq!(line.trim_end(), line, "{name}");
            }
        }
    }

    #[test]
    fn all_there_is_to_say_about_a_gate_is_said_when_it_is_asked_for() {
        let joined = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
        for gate in &GATES {
            let guide = gate.kind.guide();
            let short = explain(gate.kind.name(), false).unwrap();
            assert!(short.lines().count() <= 50, "{}: {}", gate.kind, short.lines().count());
            let all = explain(gate.kind.name(), true).unwrap();
            // Columns of a formula are aligned: none of its lines is broken.
            for line in guide.formula.lines() {
                assert!(all.lines().any(|shown| shown.trim_end() == format!("  {line}").trim_end()), "{line}");
                assert!(line.chars().count() <= 98, "{}: {line}", gate.kind);
            }
            let all = joined(&all);
            let points =
                guide.reading.iter().chain(guide.limits).chain([&guide.measures, &guide.formula, &guide.source]);
            for point in points {
                assert!(all.contains(&joined(point)), "{}: {point}", gate.kind);
            }
        }
    }

    #[test]
    fn what_is_unknown_is_refused_with_what_is_near() {
        let told = |what: &str| explain(what, false).unwrap_err().to_string();
        assert_eq!(
            told("trajectry"),
            format!("error: nothing is known about `trajectry`\nhint: did you mean `trajectory`? {LIST}")
        );
        assert_eq!(
            told("axes"),
            format!("error: nothing is known about `axes`\nhint: did you mean `trajectory_axes`? {LIST}")
        );
        // A name that only an example has leads to no entry.
        assert_eq!(
            told("delete_note"),
            format!(
                "error: no entry is about this; the nearest are `claimed-call-failed`, `call-missing`, `call-too-many`\n\
                 hint: `mcptest explain NAME` explains an entry; {LIST}"
            )
        );
        assert_eq!(told("xyzzy"), format!("error: nothing is known about `xyzzy`\nhint: {LIST}"));
        assert_eq!(told("qqq www eee"), format!("error: nothing is known about `qqq www eee`\nhint: {LIST}"));
        assert_eq!(told("a\u{1b}[2Jb"), format!("error: nothing is known about `a\\u{{1b}}[2Jb`\nhint: {LIST}"));
    }

    #[test]
    fn words_that_are_printed_lead_to_what_they_mean_there() {
        let first = |what: &str| explain(what, false).unwrap().lines().next().unwrap().to_owned();
        for (what, subject) in [
            ("strict", "strict (a mode of `trajectory`)"),
            ("mode: strict", "strict (a mode of `trajectory`)"),
            ("scripted", "scripted (where the trace of a row comes from)"),
            ("REFUSED", "REFUSED (a word of reports)"),
            ("cassette", "cassette (a word of this program)"),
            ("trace", "trace (a word of this program)"),
            ("Not  exercised", "not exercised (words of the gate `trajectory_axes`)"),
            ("${SUITE_DIR}", "SUITE_DIR (a reference in suites)"),
            ("exit code 2", "2 (an exit code)"),
            ("exit status 130", "130 (an exit code)"),
            ("bash: npx: command not found", "The program of a server was not found (program-not-found)"),
        ] {
            assert_eq!(first(what), subject, "{what}");
        }
    }

    #[test]
    fn a_line_of_a_report_leads_to_its_gate_or_its_verdict() {
        let first = |what: &str| explain(what, false).unwrap().lines().next().unwrap().to_owned();
        let row = "✗ FAIL      says what it did  replayed";
        let gate = "    \u{1b}[31m✗\u{1b}[0m narrative: divergence 1.00: 2 claims, 2 absent, 1 unmentioned, 0 arguments not as stated";
        assert_eq!(first(row), "fail (a verdict)");
        assert_eq!(first(gate), "narrative (a gate, reads each run)");
        assert_eq!(first(&format!("{row}\n{gate}")), "narrative (a gate, reads each run)");
        assert_eq!(first("? UNASSESSABLE  stays steady (stability)"), "unassessable (a verdict)");
        assert_eq!(first("! REFUSED   tests/a.yml"), "REFUSED (a word of reports)");
        assert_eq!(first("✗ expect: 0 of 2 assertions passed"), "expect (a key of a suite)");
        // A message below a row says more than the row.
        assert_eq!(
            first(&format!("{row}\n    ✗ narrative: x\n      tool_calls[1] (a) is an extra call: the reference has 1")),
            "A call is one too many (call-too-many)"
        );
        assert!(explain("FAIL: no such disk", false).is_err(), "a line of another program");
    }

    #[test]
    fn a_path_that_cannot_be_read_is_refused_with_its_column() {
        assert_eq!(
            explain("tool_calls[0.args", false).unwrap_err().to_string(),
            "error: `tool_calls[0.args` is no path: column 13: expected `]`, found `.`\n\
             hint: a path is names with `.` between them, `[0]`, `[-1]`, `[*]` and `[\"odd key\"]`"
        );
    }

    #[test]
    fn a_metric_or_a_field_that_is_not_there_is_refused_with_the_nearest() {
        let told = |what: &str| explain(what, false).unwrap_err().to_string();
        assert_eq!(
            told("stability.scor"),
            "error: `stability` has no metric and no parameter `scor`\nhint: did you mean `stability.score`?"
        );
        assert_eq!(
            told("conversation.tokens.totl"),
            "error: no trace has `conversation.tokens.totl`\nhint: did you mean `conversation.tokens.total`?"
        );
        assert_eq!(
            told("final_response.text"),
            "error: no trace has `final_response.text`\nhint: `final_response` is text and has nothing below it"
        );
        assert_eq!(
            told("tool_cals[0].name"),
            "error: no trace has `tool_cals[0].name`\nhint: did you mean `tool_calls`?"
        );
    }
}
