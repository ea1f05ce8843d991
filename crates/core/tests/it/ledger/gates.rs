//! What gates say about the traces of programs.

use mcptest_core::diag::Source;
use mcptest_core::import::Imported;
use mcptest_core::report::RowVerdict;
use mcptest_core::score::Scorer;
use mcptest_core::suite::{self, GateFile, Variables};
use mcptest_core::{Trace, Verdict, judge};
use serde_json::{Value, json};

use crate::support::read;

const GATES: &str = "\
expect:
  - { target: final_response, matcher: { contains: refunded } }
trajectory: { mode: superset, calls: [{ name: refund_order }] }
trajectory_axes: { order: [{ first: find_order, second: refund_order }] }
golden_path: { calls: [find_order, refund_order] }
recovery: { require_hit: false }
narrative: {}
stability: {}
reliability: {}
";

fn load(text: &str) -> GateFile {
    let source = Source::new("gates.yml", text);
    suite::load_gates(&source, &Variables { suite_dir: ".", outside: &|_| None }).value.unwrap()
}

/// A run of a program that refunds an order.
fn envelope(program: Value) -> Value {
    let call = |name: &str, turn: u64| json!({ "name": name, "server": "shop", "args": { "order": 7 }, "turn": turn, "witness": "both" });
    let result =
        json!({ "is_error": false, "content": [{ "type": "text", "text": "{\"order\": 7}" }], "duration_ms": 3 });
    json!({
        "tool_calls": [call("find_order", 1), call("refund_order", 1)],
        "tool_results": [result, result],
        "final_response": "I refunded the order 7.",
        "answer_source": "program",
        "program": program,
        "conversation": {
            "turns": [
                { "role": "user", "content": "Refund it." },
                { "role": "assistant", "content": null },
                { "role": "assistant", "content": "I refunded the order 7." },
            ],
            "tokens": { "total": 100 },
            "stop_reason": "completed",
        },
    })
}

fn whole() -> Trace {
    read(envelope(json!({ "exit": 0 })))
}

fn cut() -> Trace {
    read(envelope(json!({ "incomplete": "interrupted" })))
}

fn verdicts(trace: &Trace) -> Vec<(&'static str, Verdict)> {
    let GateFile { expect, gates, .. } = load(GATES);
    let mut checks = judge::run(&expect, &gates, trace);
    checks.extend(judge::runs(&gates, &[&whole(), trace], &[true, true]));
    checks.into_iter().map(|check| (check.name, check.verdict)).collect()
}

#[test]
fn an_incomplete_recording_is_unassessable_in_every_gate() {
    let names =
        ["expect", "trajectory", "trajectory_axes", "golden_path", "recovery", "narrative", "stability", "reliability"];
    let all = |verdict: Verdict| names.map(|name| (name, verdict)).to_vec();
    let found = verdicts(&cut());
    assert_eq!(found, all(Verdict::Unassessable));
    // All of them have an opinion on the same run when the recording is whole.
    assert!(verdicts(&whole()).iter().all(|(_, verdict)| *verdict != Verdict::Unassessable));
    let GateFile { expect, gates, .. } = load(GATES);
    for check in judge::run(&expect, &gates, &cut()) {
        assert_eq!(check.failures[0].reason, "not assessable: the recording is incomplete: interrupted");
    }
}

#[test]
fn score_does_not_absorb_or_skip_an_incomplete_recording() {
    let scored = |gates: &str, group: Option<&str>| {
        let scorer = Scorer::new(Some(load(gates)), None).unwrap();
        let trace = cut();
        let imported = Imported { id: None, group: None, seal: None, fields: "{}".into(), trace };
        scorer.score(&imported, group, "-").unwrap().verdict
    };
    for gates in [GATES, "stability: {}\n", "reliability: {}\nnarrative: {}\n"] {
        for group in [None, Some("g")] {
            assert_eq!(scored(gates, group), Some(RowVerdict::Unassessable), "{gates} {group:?}");
        }
    }
}

/// The same run, in which the program refused the refund.
fn refused() -> Trace {
    let mut out = envelope(json!({ "exit": 0 }));
    out["tool_calls"][1]["witness"] = json!("model");
    out["tool_results"][1] = json!({
        "is_error": true,
        "content": [],
        "error": { "kind": "refused", "message": "Permission was not granted." },
    });
    read(out)
}

#[test]
fn a_refused_call_is_not_done() {
    let judged = |gates: &str, trace: &Trace| {
        let GateFile { expect, gates, .. } = load(gates);
        let checks = judge::run(&expect, &gates, trace);
        (checks[0].verdict, checks[0].failures.iter().map(|failure| failure.reason.clone()).collect::<Vec<_>>())
    };
    let calls = |status: &str| {
        format!("trajectory: {{ calls: [{{ name: find_order }}, {{ name: refund_order, status: {status} }}] }}\n")
    };
    assert_eq!(judged(&calls("ok"), &whole()).0, Verdict::Pass);
    assert_eq!(judged(&calls("ok"), &refused()).0, Verdict::Fail);
    assert_eq!(judged(&calls("error"), &refused()).0, Verdict::Pass);
    assert_eq!(judged("narrative: {}\n", &whole()).0, Verdict::Pass);
    let (verdict, reasons) = judged("narrative: {}\n", &refused());
    assert_eq!(verdict, Verdict::Fail, "{reasons:?}");
    // Nothing was injected and no server failed; and a refused call is not a recovery.
    let fault = json!({ "name": "down", "kind": "hang", "effect": "timeout", "ms": 3000 });
    let mut hit = envelope(json!({ "exit": 0 }));
    hit["tool_results"][0] =
        json!({ "is_error": true, "content": [], "fault": fault, "error": { "kind": "timeout", "message": "late" } });
    hit["tool_calls"][1]["turn"] = json!(2);
    let gate = "recovery: { require_call: true }\n";
    assert_eq!(judged(gate, &read(hit.clone())).0, Verdict::Pass);
    hit["tool_results"][1] =
        json!({ "is_error": true, "content": [], "error": { "kind": "refused", "message": "no" } });
    assert_eq!(judged(gate, &read(hit)).0, Verdict::Fail);
}

#[test]
fn a_call_of_the_program_alone_is_a_call() {
    let mut envelope = envelope(json!({ "exit": 0 }));
    envelope["tool_calls"][1]["caller"] = json!({ "type": "program" });
    envelope["tool_calls"][1]["witness"] = json!("mcp");
    let trace = read(envelope);
    let GateFile { expect, gates, .. } =
        load("trajectory: { calls: [{ name: find_order }, { name: refund_order }] }\nnarrative: {}\n");
    for check in judge::run(&expect, &gates, &trace) {
        assert_eq!(check.verdict, Verdict::Pass, "{check:?}");
    }
    let GateFile { expect, gates, .. } = load("trajectory: { calls: [{ name: find_order }] }\n");
    assert_eq!(judge::run(&expect, &gates, &trace)[0].verdict, Verdict::Fail);
}
