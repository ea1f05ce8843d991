//! Which gates go into a suite: those that pass. Each is written, loaded and evaluated; one that does not pass is omitted, and
//! the suite says why.

use mcptest_core::Trace;
use mcptest_core::diag::Source;
use mcptest_core::eval::Verdict;
use mcptest_core::judge;
use mcptest_core::suite::{self, GateFile, Variables};

use super::yaml::{self, Dollar};

/// A gate that may pass.
#[derive(Debug, Clone)]
pub(super) struct Candidate {
    /// Its name, or `expect`.
    pub(super) gate: &'static str,
    /// How it can be written, the strictest variant first.
    pub(super) ways: Vec<Variant>,
}

/// One variant of a gate.
#[derive(Debug, Clone)]
pub(super) struct Variant {
    /// What it requires, a comment each.
    pub(super) about: Vec<String>,
    pub(super) lines: Vec<String>,
}

/// A gate, as written to a suite.
#[derive(Debug, Clone)]
pub(super) enum Settled {
    Passed { gate: &'static str, variant: Variant },
    LeftOut { gate: &'static str, why: String },
}

impl Settled {
    pub(super) fn text(&self) -> String {
        match self {
            Self::Passed { variant: Variant { about, lines }, .. } => {
                let about = about.iter().map(|line| yaml::comment(4, line));
                about.chain(lines.iter().map(|line| format!("    {line}\n"))).collect()
            }
            Self::LeftOut { gate, why } => yaml::comment(4, &format!("{gate} is omitted: {why}")),
        }
    }
}

impl Candidate {
    /// The first variant that passes for all traces. A weaker one says why the stricter one does not pass.
    pub(super) fn settle(self, traces: &[&Trace]) -> Settled {
        let mut why = "there is nothing to check it against".to_owned();
        for (at, mut variant) in self.ways.into_iter().enumerate() {
            match traces.iter().find_map(|trace| why_rejected(&variant.lines, trace)) {
                None => {
                    if at > 0 {
                        variant.about.push(format!("A stricter gate does not pass: {why}"));
                    }
                    return Settled::Passed { gate: self.gate, variant };
                }
                Some(found) => why = found,
            }
        }
        Settled::LeftOut { gate: self.gate, why }
    }
}

/// Why a gate does not pass for a trace.
fn why_rejected(lines: &[String], trace: &Trace) -> Option<String> {
    let source = Source::new("gates", lines.join("\n") + "\n");
    let loaded = suite::load_gates(&source, &Variables { suite_dir: ".", outside: &|_| None });
    let Some(GateFile { expect, gates, .. }) = loaded.value else {
        let first = loaded.diagnostics.first().map_or("it cannot be read", |found| found.message.as_str());
        return Some(format!("it cannot be written: {first}"));
    };
    let checked = judge::run(&expect, &gates, trace);
    let failed = checked.into_iter().find(|checked| checked.verdict != Verdict::Pass)?;
    let reason = failed.failures.first().map_or("", |failure| failure.reason.as_str());
    let verb = if failed.verdict == Verdict::Unassessable { "lacks the evidence" } else { "does not pass it" };
    Some(if failed.line.is_empty() || failed.name == "expect" {
        format!("the trace {verb}: {reason}")
    } else {
        format!("the trace {verb}: {}", failed.line)
    })
}

pub(super) fn golden_path(names: &[&str]) -> Candidate {
    let about = vec!["No other calls, and none of these twice.".to_owned()];
    let names: Vec<String> = names.iter().map(|name| yaml::text(name, Dollar::Sign)).collect();
    let lines = vec![format!("golden_path: {{ calls: [{}] }}", names.join(", "))];
    Candidate { gate: "golden_path", ways: vec![Variant { about, lines }] }
}

pub(super) fn narrative() -> Candidate {
    let about = vec!["Every action that the closing message claims needs a call.".to_owned()];
    Candidate { gate: "narrative", ways: vec![Variant { about, lines: vec!["narrative: {}".to_owned()] }] }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn trace() -> Trace {
        Trace::from_envelope(&json!({
            "tool_calls": [{ "name": "find_room", "args": { "day": "Tuesday" } }],
            "tool_results": [{ "is_error": false, "content": [] }],
            "final_response": "I deleted every room.",
        }))
        .unwrap()
    }

    fn variant(about: &str, line: &str) -> Variant {
        Variant { about: vec![about.to_owned()], lines: vec![line.to_owned()] }
    }

    fn settle(gate: &'static str, ways: Vec<Variant>) -> String {
        Candidate { gate, ways }.settle(&[&trace()]).text()
    }

    #[test]
    fn a_gate_that_passes_is_written_with_its_parameters() {
        let found = settle("golden_path", vec![variant("Short.", "golden_path: { calls: [find_room] }")]);
        assert_eq!(found, "    # Short.\n    golden_path: { calls: [find_room] }\n");
    }

    #[test]
    fn a_gate_that_fails_is_left_out_with_the_reason() {
        assert_eq!(
            settle("narrative", vec![variant("True.", "narrative: {}")]),
            "    # narrative is omitted: the trace does not pass it: 1 of 1 claim without a call, 1 tool\n    \
             # unmentioned, divergence 1.00\n"
        );
    }

    #[test]
    fn a_weaker_variant_says_why_the_stricter_one_fails() {
        let strict = variant("Both.", "trajectory: { calls: [{ name: find_room }, { name: book_room }] }");
        let weak = variant("One.", "trajectory: { calls: [{ name: find_room }] }");
        assert_eq!(
            settle("trajectory", vec![strict, weak]),
            "    # One.\n    # A stricter gate does not pass: the trace does not pass it: 1 mismatch (strict)\n    \
             trajectory: { calls: [{ name: find_room }] }\n"
        );
    }
}
