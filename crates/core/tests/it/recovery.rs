//! How the agent handled an injected fault.

use mcptest_core::eval::recovery::Recovery;
use mcptest_core::eval::{
    FaultScope, GateKind, GateOutcome, RecoveryGate, RecoveryMarks, RecoveryParams, RecoveryReport, score_recovery,
};
use mcptest_core::trace::ToolCall;
use mcptest_core::{Trace, Verdict};
use serde_json::{Value, json};

use crate::support::{judged, own, read};

/// Marks (start, detected, recovered, budget) give (detection, recovery, hang, recovered, clean).
fn check(marks: (u64, Option<u64>, Option<u64>, u64), expected: (Option<u64>, Option<u64>, u64, bool, bool)) {
    let (call_start_ms, detected_ms, recovered_ms, timeout_budget_ms) = marks;
    let report = score_recovery(&RecoveryMarks { call_start_ms, detected_ms, recovered_ms, timeout_budget_ms });
    let (time_to_detection_ms, time_to_recovery_ms, user_visible_hang_ms, recovered, clean_timeout) = expected;
    assert_eq!(
        report,
        RecoveryReport { time_to_detection_ms, time_to_recovery_ms, user_visible_hang_ms, recovered, clean_timeout },
        "{marks:?}"
    );
}

#[test]
fn marks_fold_into_a_report() {
    // A timeout at its budget of 3 s is clean; one noticed after 9 s is not, though both were noticed.
    check((0, Some(3000), Some(5000), 3000), (Some(3000), Some(5000), 3000, true, true));
    check((0, Some(9000), Some(9500), 3000), (Some(9000), Some(9500), 9000, true, false));
    check((0, Some(3001), None, 3000), (Some(3001), None, 3001, false, false));
    // The hang ends at detection or recovery, whichever is earlier.
    check((1000, Some(3000), Some(2500), 3000), (Some(2000), Some(1500), 1500, true, true));
    check((0, None, Some(700), 3000), (None, Some(700), 700, true, false));
    // Neither: capped at the budget.
    check((0, None, None, 3000), (None, None, 3000, false, false));
    check((500, None, None, 0), (None, None, 0, false, false));
    // A mark before the start did not happen; one at the start did.
    check((1000, Some(999), Some(1200), 3000), (None, Some(200), 200, true, false));
    check((1000, Some(1500), Some(10), 3000), (Some(500), None, 500, false, true));
    check((1000, Some(1), Some(2), 3000), (None, None, 3000, false, false));
    check((1000, Some(1000), Some(1000), 0), (Some(0), Some(0), 0, true, true));
    check((0, Some(u64::MAX), Some(u64::MAX), 1), (Some(u64::MAX), Some(u64::MAX), u64::MAX, true, false));
}

fn ok() -> Value {
    json!({ "is_error": false, "content": [] })
}

fn timeout(ms: u64) -> Value {
    json!({
        "is_error": true, "error": { "kind": "timeout", "message": "no answer" },
        "fault": { "name": "f", "kind": "hang", "effect": "timeout", "ms": ms },
    })
}

fn delay(ms: u64) -> Value {
    json!({ "is_error": false, "fault": { "name": "f", "kind": "slow", "effect": "delay", "ms": ms } })
}

fn broken() -> Value {
    json!({
        "is_error": true, "error": { "kind": "fault", "message": "broken" },
        "fault": { "name": "f", "kind": "error", "effect": "error", "ms": 0 },
    })
}

/// One call per assistant turn, each answered, then a closing message.
fn envelope(results: &[Value], stop: &str, answer: &str) -> Value {
    let calls: Vec<_> = (0..results.len()).map(|at| json!({ "name": "t", "args": {}, "turn": at })).collect();
    let mut turns = vec![json!({ "role": "assistant", "content": null }); results.len()];
    turns.push(json!({ "role": "assistant", "content": answer }));
    json!({
        "tool_calls": calls, "tool_results": results, "final_response": answer,
        "conversation": { "turns": turns, "stop_reason": stop },
    })
}

fn trace(results: &[Value], stop: &str, answer: &str) -> Trace {
    read(envelope(results, stop, answer))
}

fn evaluate(params: RecoveryParams, trace: &Trace) -> GateOutcome<Option<Recovery>> {
    RecoveryGate::new(params).unwrap().evaluate(trace)
}

fn default() -> RecoveryParams {
    RecoveryParams::default()
}

#[test]
fn parameters_have_the_documented_defaults() {
    let params = default();
    assert_eq!((params.max_detection_ms, params.max_recovery_ms, params.require_clean_timeout), (3000, None, false));
    assert_eq!((params.require_hit, params.require_call), (true, false));
}

#[test]
fn a_run_that_hit_a_timeout_and_ended_with_an_answer_recovered() {
    let outcome = evaluate(default(), &trace(&[timeout(3000), ok()], "completed", "found another way"));
    assert_eq!(judged(&outcome), (Verdict::Pass, vec![]));
    assert_eq!(
        outcome.metrics.object(),
        json!({
            "passed": 1, "recovered": 1, "recovered_by_call": 1, "clean_timeout": 1,
            "time_to_detection_ms": 3000, "time_to_recovery_ms": 3000, "user_visible_hang_ms": 3000,
            "fault_hits": 1, "fault_delays": 0,
        })
    );
    assert_eq!(outcome.line, "1 fault hit, 0 delays, detected after 3000 ms, recovered after 3000 ms");
    assert_eq!(outcome.detail.unwrap().recovered_by, Some(1));
}

#[test]
fn the_clock_adds_each_faulted_call_from_the_first_one_on() {
    // A fault that fails twice costs two budgets; the first timeout is when it was noticed.
    let twice = evaluate(default(), &trace(&[ok(), timeout(3000), timeout(3000), ok()], "completed", "done"));
    assert_eq!(
        twice.metrics.object(),
        json!({
            "passed": 1, "recovered": 1, "recovered_by_call": 1, "clean_timeout": 1,
            "time_to_detection_ms": 3000, "time_to_recovery_ms": 6000, "user_visible_hang_ms": 3000,
            "fault_hits": 2, "fault_delays": 0,
        })
    );
    // A delayed call is answered: it takes virtual time but is not a hit.
    let late = evaluate(default(), &trace(&[delay(500), timeout(3000), delay(700), ok()], "completed", "done"));
    assert_eq!(
        late.metrics.object(),
        json!({
            "passed": 1, "recovered": 1, "recovered_by_call": 1, "clean_timeout": 0,
            "time_to_detection_ms": 3500, "time_to_recovery_ms": 4200, "user_visible_hang_ms": 3500,
            "fault_hits": 1, "fault_delays": 2,
        })
    );
    // An error is noticed at once.
    let error = evaluate(default(), &trace(&[broken(), ok()], "completed", "done"));
    assert_eq!(
        error.metrics.object(),
        json!({
            "passed": 1, "recovered": 1, "recovered_by_call": 1, "clean_timeout": 1,
            "time_to_detection_ms": 0, "time_to_recovery_ms": 0, "user_visible_hang_ms": 0,
            "fault_hits": 1, "fault_delays": 0,
        })
    );
}

#[test]
fn a_run_recorded_at_9000_is_unclean_under_3000() {
    let trace = trace(&[timeout(9000), ok()], "completed", "done");
    let strict = RecoveryParams { require_clean_timeout: true, ..default() };
    assert_eq!(
        judged(&evaluate(strict.clone(), &trace)),
        (
            Verdict::Fail,
            vec!["require_clean_timeout: the fault was detected after 9000 ms, at most 3000 ms allowed".into()]
        )
    );
    let roomy = RecoveryParams { max_detection_ms: 9000, ..strict };
    assert_eq!(judged(&evaluate(roomy, &trace)), (Verdict::Pass, vec![]));
    assert_eq!(evaluate(default(), &trace).verdict, Verdict::Pass, "unclean alone fails only on demand");
}

#[test]
fn a_run_that_did_not_complete_with_an_answer_did_not_recover() {
    for (stop, answer) in [
        ("completed", ""),
        ("completed", "  \n"),
        ("max_turns", "still trying"),
        ("max_tokens", "cut"),
        ("refused", "no"),
        ("error", "x"),
    ] {
        let outcome = evaluate(default(), &trace(&[timeout(3000)], stop, answer));
        assert_eq!(
            judged(&outcome),
            (Verdict::Fail, vec!["recovery.passed: the run did not complete with an answer".into()]),
            "{stop} {answer:?}"
        );
        assert_eq!(outcome.metrics.get("recovered"), Some(json!(0)));
        assert_eq!(outcome.metrics.get("time_to_recovery_ms"), None, "no recovery, no time");
    }
}

#[test]
fn recovery_may_take_up_to_its_limit() {
    let trace = trace(&[timeout(3000), timeout(3000), ok()], "completed", "done");
    let limit = |max: u64| RecoveryParams { max_recovery_ms: Some(max), ..default() };
    assert_eq!(evaluate(limit(6000), &trace).verdict, Verdict::Pass);
    let slow = evaluate(limit(5999), &trace);
    assert_eq!(
        judged(&slow),
        (Verdict::Fail, vec!["max_recovery_ms: recovery took 6000 ms, at most 5999 ms allowed".into()])
    );
    assert_eq!(slow.metrics.get("passed"), Some(json!(0)));
    assert_eq!(slow.metrics.get("recovered"), Some(json!(1)));
}

#[test]
fn a_fault_that_never_fired_tested_nothing() {
    for results in [vec![], vec![ok()]] {
        let never = trace(&results, "completed", "done");
        assert_eq!(
            judged(&evaluate(default(), &never)),
            (Verdict::Fail, vec!["require_hit: no call hit a fault, so nothing was tested".into()])
        );
        let lenient = RecoveryParams { require_hit: false, ..default() };
        let outcome = evaluate(lenient, &never);
        assert_eq!(outcome.verdict, Verdict::Pass);
        assert_eq!(outcome.line, "no fault was recorded; the run completed with an answer");
    }
    let lost = evaluate(default(), &trace(&[ok()], "max_turns", ""));
    assert_eq!(lost.line, "no fault was recorded; the run did not complete with an answer");
}

#[test]
fn a_late_answer_counts_as_a_fault_hit() {
    let late = trace(&[delay(100), ok()], "completed", "done");
    let outcome = evaluate(default(), &late);
    assert_eq!(judged(&outcome), (Verdict::Pass, vec![]));
    assert_eq!(outcome.line, "0 fault hits, 1 delay, never detected, recovered after 100 ms");
    assert_eq!(outcome.metrics.get("fault_hits"), Some(json!(0)));
    let quick = RecoveryParams { max_recovery_ms: Some(99), ..default() };
    assert_eq!(
        judged(&evaluate(quick, &late)),
        (Verdict::Fail, vec!["max_recovery_ms: recovery took 100 ms, at most 99 ms allowed".into()])
    );
}

#[test]
fn an_answer_without_the_tool_differs_from_a_recovery_by_a_call() {
    let line = |results: &[Value]| evaluate(default(), &trace(results, "completed", "all is well")).line;
    assert_eq!(
        line(&[timeout(3000)]),
        "1 fault hit, 0 delays, detected after 3000 ms, answered without the tool after 3000 ms"
    );
    assert_eq!(
        line(&[ok(), timeout(3000), broken()]),
        "2 fault hits, 0 delays, detected after 3000 ms, answered without the tool after 3000 ms"
    );
    assert_eq!(line(&[timeout(3000), ok()]), "1 fault hit, 0 delays, detected after 3000 ms, recovered after 3000 ms");
    // Nobody knows whether that call worked.
    assert_eq!(
        line(&[timeout(3000), json!({})]),
        "1 fault hit, 0 delays, detected after 3000 ms, recovered after 3000 ms"
    );
    let lost = evaluate(default(), &trace(&[timeout(3000)], "max_turns", ""));
    assert_eq!(lost.line, "1 fault hit, 0 delays, detected after 3000 ms, never recovered");
}

#[test]
fn a_call_of_an_unknown_turn_is_not_a_later_one() {
    let run = |turns: [Value; 2]| {
        let mut envelope = envelope(&[timeout(3000), ok()], "completed", "done");
        for (at, turn) in turns.into_iter().enumerate() {
            envelope["tool_calls"][at]["turn"] = turn;
        }
        evaluate(RecoveryParams { require_call: true, ..default() }, &read(envelope))
    };
    let open = "whether tool_calls[1] was made after the fault is unknown: turns were not recorded";
    for turns in [[json!(null), json!(1)], [json!(0), json!(null)], [json!(null), json!(null)]] {
        let outcome = run(turns);
        let due = vec![format!("recovery.passed: not assessable: {open}")];
        assert_eq!(judged(&outcome), (Verdict::Unassessable, due));
        assert_eq!(outcome.metrics.get("recovered_by_call"), None);
        assert_eq!(outcome.metrics.get("passed"), None);
    }
    assert_eq!(run([json!(0), json!(1)]).verdict, Verdict::Pass);
    assert_eq!(run([json!(0), json!(0)]).verdict, Verdict::Fail);
}

#[test]
fn require_call_needs_a_later_successful_call() {
    let require = || RecoveryParams { require_call: true, ..default() };
    let no = (Verdict::Fail, vec!["require_call: no call succeeded after the first fault".into()]);
    let check = |results: &[Value]| judged(&evaluate(require(), &trace(results, "completed", "done")));
    assert_eq!(check(&[timeout(3000), ok()]), (Verdict::Pass, vec![]));
    assert_eq!(check(&[timeout(3000), timeout(3000), delay(5)]), (Verdict::Pass, vec![]));
    assert_eq!(check(&[timeout(3000)]), no);
    assert_eq!(check(&[ok(), timeout(3000)]), no, "before the fault does not count");
    assert_eq!(check(&[timeout(3000), json!({ "is_error": true })]), no);
    assert_eq!(check(&[timeout(3000), timeout(3000)]), no);
}

#[test]
fn after_a_fault_of_the_model_the_times_of_calls_say_which_came_later() {
    // The fault lasts from 100 to 120.
    let run = |begun: &[u64]| {
        let line = |ms: &u64| json!({ "ms": ms, "side": "mcp", "server": "s", "what": "tools/call a", "status": "ok", "duration_ms": 1 });
        let fault = json!({ "name": "f", "kind": "model_error", "effect": "error", "ms": 100, "duration_ms": 20 });
        let trace = read(json!({
            "tool_calls": begun.iter().map(|_| json!({ "name": "a", "server": "s", "args": {}, "turn": 1 })).collect::<Vec<_>>(),
            "tool_results": begun.iter().map(|_| ok()).collect::<Vec<_>>(),
            "final_response": "done",
            "conversation": { "stop_reason": "completed", "duration_ms": 500 },
            "program": { "exit": 0, "faults": [fault], "timeline": begun.iter().map(line).collect::<Vec<_>>() },
        }));
        judged(&evaluate(RecoveryParams { require_call: true, ..default() }, &trace))
    };
    let no = (Verdict::Fail, vec!["require_call: no call succeeded after the first fault".into()]);
    let open = "recovery.passed: not assessable: whether tool_calls[0] was made after the fault is unknown";
    assert_eq!(run(&[120]), (Verdict::Pass, vec![]));
    assert_eq!(run(&[300, 400]), (Verdict::Pass, vec![]));
    assert_eq!(run(&[99]), no);
    assert_eq!(run(&[]), no);
    assert_eq!(run(&[110]), (Verdict::Unassessable, vec![open.into()]));
    assert_eq!(run(&[50, 300]), (Verdict::Unassessable, vec![open.into()]));
}

#[test]
fn a_parallel_call_is_not_a_recovery() {
    let siblings = |second_turn: u32| {
        read(json!({
            "tool_calls": [
                { "name": "a", "args": {}, "turn": 1 },
                { "name": "b", "args": {}, "turn": second_turn },
            ],
            "tool_results": [timeout(3000), ok()],
            "final_response": "done",
            "conversation": {
                "turns": [
                    { "role": "user", "content": "go" },
                    { "role": "assistant", "content": null },
                    { "role": "assistant", "content": null },
                    { "role": "assistant", "content": "done" },
                ],
                "stop_reason": "completed",
            },
        }))
    };
    let by_call = |trace: &Trace| evaluate(default(), trace).metrics.get("recovered_by_call");
    assert_eq!(by_call(&siblings(1)), Some(json!(0)));
    assert_eq!(by_call(&siblings(2)), Some(json!(1)));
}

#[test]
fn a_fault_is_detected_only_if_the_agent_acted_again() {
    let ended_by_it = read(json!({
        "tool_calls": [{ "name": "t", "args": {}, "turn": 0 }],
        "tool_results": [timeout(3000)],
        "final_response": "",
        "conversation": { "turns": [{ "role": "assistant", "content": null }], "stop_reason": "max_turns" },
    }));
    let strict = RecoveryParams { require_clean_timeout: true, ..default() };
    let outcome = evaluate(strict, &ended_by_it);
    assert_eq!(
        outcome.metrics.object(),
        json!({
            "passed": 0, "recovered": 0, "recovered_by_call": 0, "clean_timeout": 0,
            "user_visible_hang_ms": 3000, "fault_hits": 1, "fault_delays": 0,
        })
    );
    assert_eq!(
        judged(&outcome),
        (
            Verdict::Fail,
            vec![
                "recovery.recovered: the run did not complete with an answer".into(),
                "require_clean_timeout: the fault was never detected".into(),
            ]
        )
    );
    let acted = evaluate(default(), &trace(&[timeout(3000), ok()], "max_turns", ""));
    assert_eq!(acted.metrics.get("time_to_detection_ms"), Some(json!(3000)));
    assert_eq!(acted.metrics.get("clean_timeout"), Some(json!(1)));
}

#[test]
fn limits_apply_regardless_of_custom_assertions() {
    let expect = || own(GateKind::Recovery, &[("recovery.fault_hits", json!({ "schema": { "maximum": 5 } }))]);
    let lost = trace(&[timeout(3000)], "max_turns", "");
    assert_eq!(
        evaluate(RecoveryParams { expect: expect(), ..default() }, &lost).verdict,
        Verdict::Pass,
        "own assertions replace the default"
    );
    let never = trace(&[ok()], "completed", "done");
    assert_eq!(evaluate(RecoveryParams { expect: expect(), ..default() }, &never).verdict, Verdict::Fail);
    let both = [("recovery.fault_hits", json!({ "exact": 5 })), ("recovery.recovered", json!({ "exact": 1 }))];
    let reasons = [
        "recovery.fault_hits: `recovery.fault_hits` is 1, expected exact 5",
        "recovery.recovered: `recovery.recovered` is 0, expected exact 1",
        "recovery.recovered: the run did not complete with an answer",
    ];
    let outcome = evaluate(RecoveryParams { expect: own(GateKind::Recovery, &both), ..default() }, &lost);
    assert_eq!(judged(&outcome), (Verdict::Fail, reasons.map(String::from).to_vec()));
    for params in [
        RecoveryParams { max_recovery_ms: Some(1), ..default() },
        RecoveryParams { max_detection_ms: 1, require_clean_timeout: true, ..default() },
        RecoveryParams { require_call: true, ..default() },
    ] {
        let params = RecoveryParams { expect: expect(), ..params };
        assert_eq!(evaluate(params, &trace(&[timeout(3000)], "completed", "done")).verdict, Verdict::Fail);
    }
}

#[test]
fn missing_evidence_is_unassessable() {
    let whole = envelope(&[timeout(3000), ok()], "completed", "done");
    let without = |change: &dyn Fn(&mut Value)| {
        let mut envelope = whole.clone();
        change(&mut envelope);
        evaluate(default(), &read(envelope))
    };
    let check = |change: &dyn Fn(&mut Value), why: &str| {
        let outcome = without(change);
        assert_eq!(judged(&outcome), (Verdict::Unassessable, vec![format!("recovery: not assessable: {why}")]));
        assert_eq!((outcome.metrics.object(), outcome.detail), (json!({}), None));
    };
    check(
        &|envelope| {
            envelope["tool_calls"] = json!(null);
            envelope["tool_results"] = json!(null);
        },
        "the tool calls were not recorded",
    );
    check(&|envelope| envelope["tool_results"] = json!(null), "the result of tool_calls[0] was not recorded");
    check(&|envelope| envelope["tool_results"][1] = json!(null), "the result of tool_calls[1] was not recorded");
    check(&|envelope| envelope["conversation"]["stop_reason"] = json!(null), "the stop reason was not recorded");
    check(
        &|envelope| {
            envelope["final_response"] = json!(null);
            envelope["conversation"]["turns"] = json!(null);
        },
        "the final response was not recorded",
    );
    check(
        &|envelope| {
            envelope["conversation"] = json!({ "stop_reason": "max_turns" });
            envelope["tool_calls"] = json!([{ "name": "t" }, { "name": "t" }]);
        },
        "whether the agent acted after tool_calls[0] was not recorded",
    );
    assert_eq!(without(&|_| {}).verdict, Verdict::Pass);
}

#[test]
fn a_call_with_an_unknown_result_is_not_a_success() {
    let unknown = trace(&[timeout(3000), json!({ "content": [] })], "completed", "done");
    let outcome = evaluate(RecoveryParams { require_call: true, ..default() }, &unknown);
    assert_ne!(outcome.verdict, Verdict::Pass);
}

#[test]
fn an_absurd_turn_number_does_not_panic() {
    let mut odd = trace(&[timeout(u64::MAX), timeout(u64::MAX)], "max_turns", "");
    odd.tool_calls = Some(vec![ToolCall { name: "t".into(), turn: Some(usize::MAX), ..ToolCall::default() }; 2]);
    let outcome = evaluate(default(), &odd);
    assert_eq!(outcome.verdict, Verdict::Fail);
    assert_eq!(outcome.metrics.get("time_to_detection_ms"), None);
}

#[test]
fn a_later_call_with_an_unknown_result_leaves_recovery_by_call_unknown() {
    let silent = json!({ "content": [] });
    let trace = trace(&[timeout(3000), silent.clone()], "completed", "done");
    let strict = RecoveryParams { require_call: true, ..default() };
    let outcome = evaluate(strict.clone(), &trace);
    assert_eq!(outcome.verdict, Verdict::Unassessable);
    assert_eq!(outcome.metrics.get("recovered_by_call"), None);
    let expect = own(GateKind::Recovery, &[("recovery.recovered", json!({ "exact": 1 }))]);
    assert_eq!(evaluate(RecoveryParams { expect, ..strict.clone() }, &trace).verdict, Verdict::Unassessable);
    let expect = own(GateKind::Recovery, &[("recovery.recovered_by_call", json!({ "exact": 0 }))]);
    assert_eq!(evaluate(RecoveryParams { expect, ..default() }, &trace).verdict, Verdict::Unassessable);
    // Without `require_call` it does not matter; another call can decide it.
    assert_eq!(evaluate(default(), &trace).verdict, Verdict::Pass);
    let settled = self::trace(&[timeout(3000), silent, ok()], "completed", "done");
    assert_eq!(evaluate(strict, &settled).verdict, Verdict::Pass);
}

#[test]
fn a_run_that_did_not_complete_failed_regardless_of_its_answer() {
    let mut cut = trace(&[timeout(3000), ok()], "max_turns", "");
    cut.final_response = None;
    cut.conversation.turns = None;
    let outcome = evaluate(default(), &cut);
    assert_eq!((outcome.verdict, outcome.metrics.get("recovered")), (Verdict::Fail, Some(json!(0))));
}

/// A failure that was not injected.
fn failed(kind: &str, duration_ms: Option<u64>) -> Value {
    let mut out = json!({ "is_error": true, "error": { "kind": kind, "message": "no" } });
    if let Some(ms) = duration_ms {
        out["duration_ms"] = json!(ms);
    }
    out
}

fn any() -> RecoveryParams {
    RecoveryParams { faults: FaultScope::Any, ..default() }
}

#[test]
fn a_failure_that_was_not_injected_is_a_hit_only_with_faults_any() {
    for (kind, is_hit) in
        [("timeout", true), ("transport", true), ("jsonrpc", true), ("http", true), ("tool", false), ("fault", false)]
    {
        let trace = trace(&[failed(kind, Some(9000)), ok()], "completed", "done");
        let verdict = |params| evaluate(params, &trace).verdict;
        assert_eq!(verdict(default()), Verdict::Fail, "{kind}");
        assert_eq!(verdict(any()), if is_hit { Verdict::Pass } else { Verdict::Fail }, "{kind}");
    }
    let outcome = evaluate(any(), &trace(&[failed("http", Some(9000)), ok()], "completed", "done"));
    assert_eq!(outcome.line, "1 fault hit, 0 delays, detected after 9000 ms, recovered after 9000 ms");
    // The answer of a tool that reports an error after an injected fault is not another hit.
    let both = trace(&[timeout(3000), failed("tool", None), ok()], "completed", "done");
    assert_eq!(evaluate(any(), &both).metrics.get("fault_hits"), Some(json!(1)));
}

#[test]
fn a_real_failure_without_its_duration_leaves_only_limits_on_time_open() {
    let trace = trace(&[failed("http", None), ok()], "completed", "done");
    let outcome = evaluate(RecoveryParams { require_call: true, ..any() }, &trace);
    assert_eq!(outcome.verdict, Verdict::Pass);
    assert_eq!(outcome.line, "1 fault hit, 0 delays, detected after an unknown time, recovered after an unknown time");
    for metric in ["clean_timeout", "time_to_detection_ms", "time_to_recovery_ms", "user_visible_hang_ms"] {
        assert_eq!(outcome.metrics.get(metric), None, "{metric}");
    }
    let expect = own(GateKind::Recovery, &[("recovery.recovered", json!({ "exact": 1 }))]);
    for limits in [
        RecoveryParams { require_clean_timeout: true, ..any() },
        RecoveryParams { max_recovery_ms: Some(60_000), ..any() },
    ] {
        assert_eq!(evaluate(limits.clone(), &trace).verdict, Verdict::Unassessable);
        let own = RecoveryParams { expect: expect.clone(), ..limits };
        assert_eq!(evaluate(own, &trace).verdict, Verdict::Unassessable);
    }
    // What is known exceeds the limit.
    let late = self::trace(&[timeout(3000), failed("http", None), ok()], "completed", "done");
    let limited = RecoveryParams { max_recovery_ms: Some(2000), ..any() };
    assert_eq!(evaluate(limited, &late).verdict, Verdict::Fail);
}

#[test]
fn where_any_counts_a_call_without_its_outcome_may_be_a_fault() {
    let silent = json!({ "content": [] });
    let first = trace(&[silent.clone(), timeout(3000), ok()], "completed", "done");
    assert_eq!(evaluate(any(), &first).verdict, Verdict::Unassessable);
    assert_eq!(evaluate(default(), &first).verdict, Verdict::Pass);
    let later = trace(&[timeout(3000), silent], "completed", "done");
    let outcome = evaluate(any(), &later);
    assert_eq!((outcome.verdict, outcome.metrics.get("fault_hits")), (Verdict::Pass, None));
}

#[test]
fn where_any_counts_a_call_that_failed_in_an_unknown_way_may_have_hit_a_fault() {
    let unknown = json!({ "is_error": true });
    let first = trace(&[unknown.clone(), ok()], "completed", "done");
    let why = "recovery: not assessable: whether tool_calls[0] hit a fault is unknown: how it failed was not recorded";
    assert_eq!(judged(&evaluate(any(), &first)), (Verdict::Unassessable, vec![why.into()]));
    let injected = "require_hit: no call hit a fault, so nothing was tested";
    assert_eq!(judged(&evaluate(default(), &first)), (Verdict::Fail, vec![injected.into()]));
    let later = trace(&[timeout(3000), unknown], "completed", "done");
    assert_eq!(evaluate(any(), &later).verdict, Verdict::Pass);
}

#[test]
fn without_a_required_hit_later_calls_do_not_matter() {
    let params = RecoveryParams { require_hit: false, require_call: true, require_clean_timeout: true, ..default() };
    assert_eq!(evaluate(params, &trace(&[ok()], "completed", "done")).verdict, Verdict::Pass);
}
