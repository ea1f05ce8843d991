//! `mcptest explain`: what a word, a path or a message of this program means.
//!
//! Explanations come from the tables that the program uses, so they cannot differ from what it does. A name can mean several
//! things, such as `error`, which is a verdict and a fault; then all of them are explained.

mod gate;
mod glossary;
mod key;
mod page;
mod preset;
mod target;
mod word;

use std::collections::BTreeSet;

use mcptest_core::diag::{Code, Failure, did_you_mean, printable};
use mcptest_core::eval::GATES;
use mcptest_core::matcher::MATCHERS;

use crate::codes;
use page::Page;

const LIST: &str = "`mcptest explain` without a name lists all entries";

/// Explains a word, a path or the codes of a text; with `all`, in full, even if it does not fit on a screen.
pub(crate) fn explain(what: &str, all: bool) -> Result<String, Failure> {
    let asked = what.trim().trim_matches('`');
    let mut page = Page::default();
    word::exit_code(asked, &mut page);
    glossary::explain(asked, &mut page);
    preset::explain(asked, &mut page);
    if !asked.contains(char::is_whitespace) {
        named(asked, all, &mut page);
        if page.is_empty() {
            target::explain(asked, &mut page)?;
        }
    }
    if page.is_empty() {
        for found in codes_in(asked) {
            code(found, &mut page);
        }
    }
    if page.is_empty() {
        return Err(unknown(asked));
    }
    Ok(page.finish())
}

/// Everything that has a name.
fn named(name: &str, all: bool, page: &mut Page) {
    gate::gate(name, all, page);
    gate::metric(name, page);
    word::explain(name, page);
    key::explain(name, page);
    if let Some(found) = Code::from_word(name) {
        code(found, page);
    }
    if name == "codes" {
        list_codes(page);
    }
}

fn code(code: Code, page: &mut Page) {
    let Some(entry) = codes::all().find(|entry| entry.code == code) else { return };
    page.subject(entry.title, entry.code.as_str());
    page.heading("Example");
    page.wrapped(entry.example);
    page.heading("Why");
    page.indented(entry.why);
    page.steps("What to do", entry.steps);
}

/// The codes of a text that was printed, such as `error[stale-cassette]: ..`, each once.
fn codes_in(text: &str) -> Vec<Code> {
    let mut out = Vec::new();
    for part in text.split(['[', ']']) {
        out.extend(Code::from_word(part).filter(|code| !out.contains(code)));
    }
    out
}

fn list_codes(page: &mut Page) {
    page.subject("codes", "in brackets in messages, as in `error[stale-cassette]: ..`");
    for area in &codes::AREAS {
        page.heading(area.title);
        page.table(area.entries.iter().map(|entry| (entry.code.as_str(), entry.title)));
    }
}

/// The error for an unknown name.
fn unknown(asked: &str) -> Failure {
    let shown = mcptest_core::json::cut(asked, 80);
    let message = format!("there is no entry `{}`", printable(&shown));
    // A gate is a key, too.
    let names: BTreeSet<String> = names().into_iter().collect();
    let near: Vec<&str> = match did_you_mean(asked, names.iter().map(String::as_str)) {
        Some(near) => vec![near],
        // A word that is part of names: `weakest` of `stability.weakest_score`.
        None => names
            .iter()
            .map(String::as_str)
            .filter(|name| asked.len() >= 4 && name.contains(&asked.to_lowercase()))
            .take(4)
            .collect(),
    };
    let hint = match near.as_slice() {
        [] if asked.contains(char::is_whitespace) => {
            format!("name the code of a message, which is in brackets; {LIST}")
        }
        [] => LIST.to_owned(),
        near => format!("did you mean `{}`? {LIST}", near.join("`, `")),
    };
    Failure::error((), message).hint(hint)
}

/// Every name that can be explained.
fn names() -> Vec<String> {
    let mut out: Vec<String> = GATES.iter().map(|gate| gate.kind.name().to_owned()).collect();
    out.extend(
        GATES.iter().flat_map(|gate| gate.metrics.iter().map(|metric| format!("{}.{}", gate.prefix, metric.name))),
    );
    out.extend(mcptest_core::trace::FIELDS.iter().map(|field| field.path.clone()));
    out.extend(MATCHERS.iter().map(|matcher| matcher.name.to_owned()));
    out.extend(word::names().chain(glossary::names()).chain(preset::names()).map(str::to_owned));
    out.extend(key::names().into_iter().map(str::to_owned));
    out.extend(Code::ALL.iter().map(|code| code.as_str().to_owned()));
    out
}

/// The names that shells complete: gates, matchers and single words. There are too many keys and messages.
pub(crate) fn completed() -> Vec<&'static str> {
    let gates = GATES.iter().map(|gate| gate.kind.name());
    let all = gates.chain(MATCHERS.iter().map(|matcher| matcher.name)).chain(word::names()).chain(glossary::names());
    let all = all.chain(preset::names());
    let mut seen = BTreeSet::new();
    all.filter(|name| !name.contains(' ') && seen.insert(*name)).collect()
}

/// The overview of what can be explained.
pub(crate) fn overview() -> String {
    let mut page = Page::default();
    page.text("Explains a word, a path or the code of a message: `mcptest explain WHAT`. For example:");
    page.code(
        "mcptest explain trajectory\n\
         mcptest explain stability.weakest_score\n\
         mcptest explain 'tool_calls[*].args.city'\n\
         mcptest explain agents.max_turns\n\
         mcptest explain stale-cassette\n\
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
    page.item("presets", &format!("of programs: {}", list(&mut preset::names())));
    page.item(
        "keys",
        "of suite files, gates files, scripts and mock servers: `prompt`, `agents.prompt`, `trajectory.max_extra`",
    );
    page.item(
        "codes",
        &format!(
            "of messages, as in `error[stale-cassette]: ..`; `mcptest explain codes` lists all {}",
            Code::ALL.len()
        ),
    );
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
    fn a_gate_is_explained_in_full_on_request() {
        let joined = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
        for gate in &GATES {
            let guide = gate.kind.guide();
            let short = explain(gate.kind.name(), false).unwrap();
            assert!(short.lines().count() <= 50, "{}: {}", gate.kind, short.lines().count());
            let all = explain(gate.kind.name(), true).unwrap();
            // Columns of a formula are aligned, so its lines are not wrapped.
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
    fn an_unknown_name_is_rejected_with_a_suggestion() {
        let message = |what: &str| explain(what, false).unwrap_err().to_string();
        assert_eq!(
            message("trajectry"),
            format!("error: there is no entry `trajectry`\nhint: did you mean `trajectory`? {LIST}")
        );
        assert_eq!(
            message("axes"),
            format!("error: there is no entry `axes`\nhint: did you mean `trajectory_axes`? {LIST}")
        );
        assert_eq!(message("xyzzy"), format!("error: there is no entry `xyzzy`\nhint: {LIST}"));
        assert_eq!(
            message("qqq www eee"),
            format!(
                "error: there is no entry `qqq www eee`\n\
                 hint: name the code of a message, which is in brackets; {LIST}"
            )
        );
        assert_eq!(message("a\u{1b}[2Jb"), format!("error: there is no entry `a\\u{{1b}}[2Jb`\nhint: {LIST}"));
    }

    #[test]
    fn printed_words_can_be_explained() {
        let first = |what: &str| explain(what, false).unwrap().lines().next().unwrap().to_owned();
        for (what, subject) in [
            ("strict", "strict (a mode of `trajectory`)"),
            ("mode: strict", "strict (a mode of `trajectory`)"),
            ("scripted", "scripted (where a trace comes from)"),
            ("REFUSED", "REFUSED (a term in reports)"),
            ("cassette", "cassette (a term)"),
            ("trace", "trace (a term)"),
            ("Not  exercised", "not exercised (words of the gate `trajectory_axes`)"),
            ("${SUITE_DIR}", "SUITE_DIR (a reference in suites)"),
            ("exit code 2", "2 (an exit code)"),
            ("exit status 130", "130 (an exit code)"),
            ("stale-cassette", "The cassette is stale (stale-cassette)"),
            ("error[stale-cassette]: a/1.json: stale: `prompt` was ..", "The cassette is stale (stale-cassette)"),
            ("codes", "codes (in brackets in messages, as in `error[stale-cassette]: ..`)"),
        ] {
            assert_eq!(first(what), subject, "{what}");
        }
    }

    #[test]
    fn every_code_of_a_log_is_explained_once() {
        let log = "a.yml:1:2: error[unknown-key]: x\nerror[no-such-file]: y\nb.yml:3:1: error[unknown-key]: z\nerror[nope]: w";
        let page = explain(log, false).unwrap();
        let titles: Vec<&str> =
            page.lines().filter(|line| line.ends_with("-key)") || line.ends_with("-file)")).collect();
        assert_eq!(titles, ["A key is unknown (unknown-key)", "There is no such file or folder (no-such-file)"]);
    }

    #[test]
    fn a_path_that_cannot_be_read_is_refused_with_its_column() {
        assert_eq!(
            explain("tool_calls[0.args", false).unwrap_err().to_string(),
            "error: `tool_calls[0.args` is not a path: column 13: expected `]`, found `.`\n\
             hint: a path is names with `.` between them, `[0]`, `[-1]`, `[*]` and `[\"odd key\"]`"
        );
    }

    #[test]
    fn a_metric_or_a_field_that_is_not_there_is_refused_with_the_nearest() {
        let message = |what: &str| explain(what, false).unwrap_err().to_string();
        assert_eq!(
            message("stability.scor"),
            "error: `stability` has no metric and no parameter `scor`\nhint: did you mean `stability.score`?"
        );
        assert_eq!(
            message("conversation.tokens.totl"),
            "error: no trace has `conversation.tokens.totl`\nhint: did you mean `conversation.tokens.total`?"
        );
        assert_eq!(
            message("final_response.text"),
            "error: no trace has `final_response.text`\nhint: `final_response` is text and has nothing below it"
        );
        assert_eq!(
            message("tool_cals[0].name"),
            "error: no trace has `tool_cals[0].name`\nhint: did you mean `tool_calls`?"
        );
    }
}
