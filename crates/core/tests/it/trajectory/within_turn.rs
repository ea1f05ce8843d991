//! Calls of one turn in any order.

use mcptest_core::eval::{GateOutcome, MatchMode, TraceValidation, TrajectoryGate, TrajectoryParams, WithinTurn};
use mcptest_core::{Trace, Verdict};
use serde_json::{Value, json};

use super::{MODES, by_name, count, params};
use crate::support::{judged, read};

fn gate(mode: MatchMode, calls: Value) -> TrajectoryGate {
    let params = TrajectoryParams { within_turn: WithinTurn::AnyOrder, ..params(mode, calls) };
    TrajectoryGate::new(params).unwrap_or_else(|problems| panic!("{problems}"))
}

/// Recorded calls, each as `[turn, name, args?]`.
fn turns(calls: Value) -> Trace {
    let call = |call: &Value| json!({ "turn": call[0], "name": call[1], "server": "s", "args": call[2] });
    read(json!({ "tool_calls": calls.as_array().unwrap().iter().map(call).collect::<Vec<_>>() }))
}

fn evaluated(mode: MatchMode, calls: Value, trace: Value) -> GateOutcome<TraceValidation> {
    gate(mode, calls).evaluate(&turns(trace))
}

fn reasons(mode: MatchMode, calls: Value, trace: Value) -> Vec<String> {
    let outcome = evaluated(mode, calls, trace);
    outcome.detail.mismatches.into_iter().map(|mismatch| mismatch.reason).collect()
}

#[test]
fn calls_may_be_reordered_within_a_turn_but_not_across_turns() {
    // reference, recorded, mismatches under strict and subsequence
    for (reference, trace, expected) in [
        (&["a", "b"][..], json!([[1, "b"], [1, "a"]]), [0, 0]),
        (&["a", "b"], json!([[1, "b"], [2, "a"]]), [2, 1]),
        (&["a", "b", "c"], json!([[1, "b"], [1, "a"], [2, "c"]]), [0, 0]),
        (&["a", "b", "c"], json!([[1, "c"], [1, "a"], [2, "b"]]), [2, 1]),
        (&["a", "b", "c"], json!([[1, "b"], [1, "x"], [1, "a"], [2, "c"]]), [2, 0]),
        (&["a", "a", "b"], json!([[1, "a"], [2, "b"], [2, "a"]]), [0, 0]),
        (&["a", "b"], json!([[1, "b"], [1, "a"], [1, "c"]]), [1, 0]),
        (&["a", "b"], json!([[1, "b"]]), [2, 1]),
        (&["a", "b"], json!([]), [2, 2]),
        // A turn that comes back is another stretch of calls.
        (&["a", "b", "c"], json!([[1, "c"], [2, "b"], [1, "a"]]), [2, 2]),
    ] {
        for (mode, mismatches) in [MatchMode::Strict, MatchMode::Subsequence].into_iter().zip(expected) {
            let outcome = evaluated(mode, by_name(reference), trace.clone());
            assert_eq!(count(&outcome), mismatches, "{mode}: {reference:?} against {trace}");
            assert_eq!(outcome.verdict == Verdict::Pass, mismatches == 0);
        }
    }
}

#[test]
fn within_a_turn_the_assignment_is_maximum_and_not_greedy() {
    let calls = json!([{ "name": "a" }, { "name": "a", "args": { "exact": { "x": 1 } } }, { "name": "b" }]);
    let trace = json!([[1, "a", { "x": 1 }], [1, "a", { "x": 2 }], [2, "b", {}]]);
    for mode in [MatchMode::Strict, MatchMode::Subsequence] {
        let outcome = evaluated(mode, calls.clone(), trace.clone());
        assert_eq!(outcome.detail.matched, [Some(1), Some(0), Some(2)], "{mode}");
    }
}

#[test]
fn a_required_call_takes_precedence_over_an_optional_one_of_the_same_turn() {
    let calls =
        json!([{ "name": "a", "optional": true }, { "name": "b" }, { "name": "a" }, { "name": "c", "optional": true }]);
    for mode in [MatchMode::Strict, MatchMode::Subsequence] {
        let outcome = evaluated(mode, calls.clone(), json!([[1, "a"], [1, "b"]]));
        assert_eq!((outcome.verdict, outcome.detail.matched), (Verdict::Pass, vec![None, Some(1), Some(0), None]));
        let outcome = evaluated(mode, calls.clone(), json!([[1, "c"], [1, "a"], [1, "b"], [1, "a"]]));
        assert_eq!(outcome.detail.matched, [Some(1), Some(2), Some(3), Some(0)], "{mode}");
    }
}

#[test]
fn max_extra_counts_the_extra_calls_of_the_best_order() {
    let calls = json!([{ "name": "a", "optional": true }, { "name": "b" }]);
    let most = |max_extra| {
        let params = TrajectoryParams {
            within_turn: WithinTurn::AnyOrder,
            max_extra: Some(max_extra),
            ..params(MatchMode::Subsequence, calls.clone())
        };
        count(&TrajectoryGate::new(params).unwrap().evaluate(&turns(json!([[1, "b"], [1, "x"], [1, "a"]]))))
    };
    assert_eq!((most(1), most(0)), (0, 1));
}

#[test]
fn wrong_positions_are_reported_from_unmatched_calls_of_the_turn() {
    let calls =
        json!([{ "name": "a", "args": { "exact": { "x": 1 } } }, { "name": "b" }, { "name": "c" }, { "name": "d" }]);
    let trace = json!([[1, "z", {}], [1, "a", { "x": 2 }], [1, "c", {}], [2, "b", {}], [2, "e", {}]]);
    assert_eq!(
        reasons(MatchMode::Strict, calls.clone(), trace),
        [
            "tool_calls[1] (a) differs from calls[0] at /args/x",
            "tool_calls[0] is z, expected b",
            "tool_calls[3] is b, expected d",
            "tool_calls[4] (e) is an extra call: the reference has 4 calls",
        ]
    );
    assert_eq!(
        reasons(MatchMode::Strict, calls, json!([[1, "b", {}], [1, "a", { "x": 1 }]])),
        ["calls[2] (c) is missing: the trace has only 2 calls", "calls[3] (d) is missing: the trace has only 2 calls",]
    );
    assert_eq!(
        reasons(MatchMode::Subsequence, by_name(&["a", "b"]), json!([[1, "b"], [2, "a"]])),
        ["calls[1] (b) is missing: every call of that tool is out of order or already matched"]
    );
}

#[test]
fn an_unknown_turn_is_unassessable_where_it_decides() {
    let why = |call: usize, name: &str| {
        let why = format!("tool_calls[{call}] ({name}) has no recorded turn, so which calls share a turn is unknown");
        (Verdict::Unassessable, vec![format!("trajectory.passed: not assessable: {why}")])
    };
    for mode in [MatchMode::Strict, MatchMode::Subsequence] {
        let outcome = |trace: Value| judged(&evaluated(mode, by_name(&["a", "b"]), trace));
        assert_eq!(outcome(json!([[null, "b"], [null, "a"]])), why(0, "b"), "{mode}");
        assert_eq!(outcome(json!([[1, "b"], [null, "a"]])), why(1, "a"), "{mode}");
        // In order they fit regardless of the turns, and no turn makes up for a missing call.
        assert_eq!(outcome(json!([[null, "a"], [null, "b"]])).0, Verdict::Pass, "{mode}");
        assert_eq!(outcome(json!([[null, "b"], [null, "x"]])).0, Verdict::Fail, "{mode}");
        assert_eq!(outcome(json!([[null, "b"]])).0, Verdict::Fail, "{mode}");
    }
}

#[test]
fn unrecorded_arguments_are_the_reason_where_the_turns_are_not() {
    let calls = json!([{ "name": "a", "args": { "exact": { "x": 1 } } }, { "name": "b" }]);
    let failures = |trace: Value| judged(&evaluated(MatchMode::Strict, calls.clone(), trace)).1;
    assert_eq!(
        failures(json!([[null, "a", null], [null, "b", {}]])),
        ["trajectory.passed: not assessable: tool_calls[0] (a) may match calls[0], but its args were not recorded"]
    );
    assert_eq!(
        failures(json!([[null, "b", {}], [null, "a", null]])),
        [
            "trajectory.passed: not assessable: tool_calls[0] (b) has no recorded turn, so which calls share a turn is unknown"
        ]
    );
}

#[test]
fn any_order_is_rejected_in_modes_without_order() {
    for mode in MODES {
        let params = TrajectoryParams { within_turn: WithinTurn::AnyOrder, ..params(mode, by_name(&["a"])) };
        let built = TrajectoryGate::new(params).map(drop).map_err(|problems| problems.to_string());
        let refusal = format!(
            "/within_turn: `within_turn: any_order` cannot be used with mode `{mode}` \
             (hint: remove it: this mode accepts calls in any order)"
        );
        let has_order = matches!(mode, MatchMode::Strict | MatchMode::Subsequence);
        assert_eq!(built, if has_order { Ok(()) } else { Err(refusal) });
    }
}

#[test]
fn thousands_of_calls_are_evaluated_and_rejected_beyond_a_limit() {
    let name = |at: usize| format!("t{}", at % 7);
    let names: Vec<String> = (0..3_000).map(name).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    // Each turn of five calls is the other way round.
    let recorded: Vec<Value> = (0..3_000).map(|at| json!([at / 5, name(at / 5 * 5 + 4 - at % 5)])).collect();
    for mode in [MatchMode::Strict, MatchMode::Subsequence] {
        assert_eq!(count(&evaluated(mode, by_name(&names), recorded.clone().into())), 0, "{mode}");
    }
    // One tool, and every second call optional: each turn can take any stretch of the reference.
    let any: Vec<Value> = (0..400).map(|at| json!({ "name": "a", "optional": at % 2 == 0 })).collect();
    let same: Vec<Value> = (0..400).map(|at| json!([at / 4, "a"])).collect();
    assert_eq!(count(&evaluated(MatchMode::Strict, any.into(), same.into())), 0);
    let many: Vec<Value> = (0..4_200).map(|at| json!({ "name": "a", "optional": at % 2 == 0 })).collect();
    let apart: Vec<Value> = (0..4_200).map(|at| json!([at, "b"])).collect();
    assert_eq!(
        judged(&evaluated(MatchMode::Strict, many.into(), apart.into())),
        (
            Verdict::Error,
            vec![
                "trajectory: 4200 expected calls against 4200 recorded calls exceed the limit of 16777216 pairs".into()
            ]
        )
    );
}
