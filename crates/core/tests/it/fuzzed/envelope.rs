//! Properties of any text given to the readers of traces, and of every gate on the result. The fuzz target
//! `envelope` includes this file, so fuzzing and tests check the same properties.

use mcptest_core::diag::Source;
use mcptest_core::eval::{
    GATES, GateKind, StabilityFloors, agent_stability, agent_stability_across, drift_flags, tool_calls_from_envelope,
};
use mcptest_core::json::{self, Layout};
use mcptest_core::judge::{self, CheckResult};
use mcptest_core::suite::{self, Gates, Variables};
use mcptest_core::{Assertion, Trace};
use serde_json::Value;

use super::ranges;

/// Assertions and every gate, each with parameters that look at much of a trace.
const RULES: &str = r#"
expect:
  - { target: "tool_calls[*].args.city", matcher: { contains: Oslo } }
  - { target: "tool_results[-1].content[*].text", matcher: { regex: "^[a-z]+$" } }
  - { target: final_response, matcher: { exact: "done" } }
  - { target: conversation.turns, matcher: { schema: { type: array } } }
trajectory:
  mode: unordered
  calls:
    - { name: search, args: { subset: { city: Oslo } }, status: ok }
    - { name: search, args: { exact: { n: 1 } }, ignore_args: [/id, /a/0] }
    - { name: send, args: { schema: { type: object, required: [id] } }, optional: true }
trajectory_axes:
  dependencies:
    - { producer: search, consumer: send, via: id, required: false }
    - { producer: send, consumer: search, required: true }
  order: [{ first: search, second: send }]
golden_path: { calls: [search, send, search] }
stability: {}
reliability: { confidence: 90 }
recovery: { max_recovery_ms: 100, require_call: true, require_clean_timeout: true }
narrative: { mutating_tools: [send], max_divergence_score: 0.5 }
"#;

/// The ways to judge a trace.
pub(crate) struct Held {
    expect: Vec<Assertion>,
    gates: Gates,
}

impl Held {
    pub(crate) fn new() -> Self {
        let source = Source::new("gates.yml", RULES);
        let loaded = suite::load_gates(&source, &Variables { suite_dir: ".", outside: &|_| None });
        let suite::GateFile { expect, gates, .. } = loaded.value.unwrap_or_else(|| panic!("{:?}", loaded.diagnostics));
        Self { expect, gates }
    }

    /// Holds bytes as fuzzing makes them: all of them are the text of an envelope.
    pub(crate) fn check_bytes(&self, bytes: &[u8]) {
        self.check(&String::from_utf8_lossy(bytes));
    }

    /// Holds a text. It gives back whether it was a trace.
    pub(crate) fn check(&self, text: &str) -> bool {
        let value = match json::parse(text) {
            Ok(value) => value,
            Err(error) => {
                short(&error.to_string());
                return false;
            }
        };
        leniently(&value);
        let trace = match Trace::from_envelope(&value) {
            Ok(trace) => trace,
            Err(error) => {
                short(&error.to_string());
                return false;
            }
        };
        written(&trace);
        self.judged(&trace);
        true
    }

    /// Every gate says the same of a trace twice, in numbers of its row, and what it says is not empty.
    fn judged(&self, trace: &Trace) {
        let judged = || {
            let mut out = judge::run(&self.expect, &self.gates, trace);
            out.extend(judge::runs(&self.gates, &[trace, trace], &[true, false]));
            out
        };
        let found = judged();
        let gates: Vec<GateKind> = found.iter().filter_map(|checked| checked.gate).collect();
        let mut all: Vec<GateKind> = GATES.iter().map(|gate| gate.kind).collect();
        all.sort_by_key(|gate| gates.iter().position(|found| found == gate));
        assert_eq!(gates, all, "a gate has no result");
        for checked in &found {
            reported(checked);
        }
        assert_eq!(format!("{found:?}"), format!("{:?}", judged()), "judged twice, two answers");
    }
}

/// An error has a short message.
fn short(message: &str) {
    assert!((1..=2_000).contains(&message.len()), "a refusal of {} bytes: {message:.300}", message.len());
}

fn reported(checked: &CheckResult) {
    if let Some(gate) = checked.gate {
        ranges::check(gate, &checked.metrics);
        assert!(!checked.line.is_empty(), "{gate} has no line");
    }
    for failure in &checked.failures {
        assert!(!failure.target.is_empty() && !failure.reason.is_empty(), "{failure:?}");
    }
}

/// The envelope of a trace gives the trace again, as a value, as text and as a file.
fn written(trace: &Trace) {
    let envelope = trace.to_envelope();
    assert_eq!(Trace::from_envelope(&envelope).as_ref(), Ok(trace), "the envelope gives another trace");
    let text = json::canonical(&envelope);
    let again = json::parse(&text).unwrap();
    assert_eq!(Trace::from_envelope(&again).as_ref(), Ok(trace), "the text of the envelope gives another trace");
    let again = json::parse(&Layout::PRETTY.text(trace)).unwrap();
    assert_eq!(Trace::from_envelope(&again).as_ref(), Ok(trace), "the written trace gives another trace");
}

/// The lenient readers take any value, see the calls that the strict one sees, and their scores stay in range.
fn leniently(value: &Value) {
    let calls = tool_calls_from_envelope(value);
    let is_nested = value.get("trace").is_some();
    if let (false, Ok(trace)) = (is_nested, Trace::from_envelope(value)) {
        let strictly: Vec<&str> = trace.tool_calls.iter().flatten().map(|call| call.name.as_str()).collect();
        let names: Vec<&str> = calls.iter().map(|call| call.name.as_str()).collect();
        assert_eq!(names, strictly, "the lenient reader sees other calls");
    }
    let report = agent_stability(value);
    let weakest = report.weakest_score();
    assert!((0.0..=1.0).contains(&weakest), "{weakest}");
    assert!(!report.summary().is_empty());
    drift_flags(&report, &StabilityFloors::default());
    let across = agent_stability_across(&[value.clone(), value.clone()]);
    assert_eq!(format!("{across:?}"), format!("{:?}", agent_stability_across(&[value.clone(), value.clone()])));
}
