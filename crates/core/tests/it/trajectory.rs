//! Recorded calls against a reference: modes, argument shapes, explanations, missing evidence.

mod args;
mod within_turn;

use mcptest_core::eval::trajectory::Competition;
use mcptest_core::eval::{
    CallRule, Expect, ExpectedArgs, ExpectedCall, ExpectedTrace, GateKind, GateOutcome, MatchMode, StatusRule,
    TraceMismatch, TraceValidation, TrajectoryGate, TrajectoryParams, tool_calls_from_envelope, validate_trace,
};
use mcptest_core::{AssertionDiff, Trace, Verdict};
use serde_json::{Value, json};

use crate::support::{called, judged, own, read};

const MODES: [MatchMode; 5] =
    [MatchMode::Strict, MatchMode::Subsequence, MatchMode::Unordered, MatchMode::Superset, MatchMode::Subset];

/// An expected call as a suite writes it.
fn rule(written: Value) -> CallRule {
    let args = match &written["args"] {
        Value::Null => ExpectedArgs::Any,
        Value::String(word) if word == "any" => ExpectedArgs::Any,
        Value::String(word) if word == "ignore" => ExpectedArgs::Ignore,
        shape if shape.get("exact").is_some() => ExpectedArgs::Exact(shape["exact"].clone()),
        shape if shape.get("subset").is_some() => ExpectedArgs::Subset(shape["subset"].clone()),
        shape if shape.get("schema").is_some() => ExpectedArgs::Schema(shape["schema"].clone()),
        shape if shape.get("match").is_some() => ExpectedArgs::Match(shape["match"].as_object().unwrap().clone()),
        other => panic!("no such shape: {other}"),
    };
    CallRule {
        call: ExpectedCall { name: written["name"].as_str().unwrap().into(), args },
        server: written["server"].as_str().map(Into::into),
        optional: written["optional"] == true,
        status: written["status"].as_str().map(|word| StatusRule::from_word(word).unwrap()),
        ignore_args: written["ignore_args"].as_array().map_or_else(Vec::new, |pointers| {
            pointers.iter().map(|pointer| pointer.as_str().unwrap().to_owned()).collect()
        }),
    }
}

fn params(mode: MatchMode, calls: Value) -> TrajectoryParams {
    let calls = calls.as_array().unwrap().iter().cloned().map(rule).collect();
    TrajectoryParams { mode, calls, ..TrajectoryParams::default() }
}

fn gate(mode: MatchMode, calls: Value) -> TrajectoryGate {
    TrajectoryGate::new(params(mode, calls)).unwrap_or_else(|problems| panic!("{problems}"))
}

/// Recorded calls of one server, each with arguments.
fn recorded(calls: Value) -> Trace {
    let calls: Vec<_> = calls
        .as_array()
        .unwrap()
        .iter()
        .map(|call| json!({ "name": call[0], "server": "s", "args": call[1] }))
        .collect();
    read(json!({ "tool_calls": calls }))
}

fn count(outcome: &GateOutcome<TraceValidation>) -> u64 {
    outcome.metrics.get("mismatch_count").unwrap().as_u64().unwrap()
}

/// Verdict, metrics and detail agree on pass (0 mismatches) or fail (this many).
fn check(mode: MatchMode, calls: Value, trace: &Trace, mismatches: u64) {
    let outcome = gate(mode, calls.clone()).evaluate(trace);
    let passed = mismatches == 0;
    let says = (outcome.verdict, outcome.detail.passed, count(&outcome), outcome.metrics.get("passed"));
    let verdict = if passed { Verdict::Pass } else { Verdict::Fail };
    let names: Vec<_> = trace.tool_calls.iter().flatten().map(|call| &call.name).collect();
    assert_eq!(
        says,
        (verdict, passed, mismatches, Some(json!(u8::from(passed)))),
        "{mode}: {calls} against {names:?}: {:?}",
        outcome.failures
    );
    assert_eq!(outcome.detail.mismatches.len() as u64, mismatches);
}

fn by_name(names: &[&str]) -> Value {
    names.iter().map(|name| json!({ "name": name })).collect()
}

#[test]
fn modes_match_as_the_table_says() {
    // reference, recorded, mismatches under strict, subsequence, unordered, superset, subset
    for (reference, trace, expected) in [
        (&["a", "b"][..], &["a", "b"][..], [0, 0, 0, 0, 0]),
        (&["a", "b"], &["a", "x", "b"], [2, 0, 0, 0, 1]),
        (&["a", "b"], &["b", "a"], [2, 1, 0, 0, 0]),
        (&["a", "b"], &["a"], [1, 1, 1, 1, 0]),
        (&["a", "b"], &["a", "b", "c"], [1, 0, 0, 0, 1]),
        (&["a", "b"], &[], [2, 2, 2, 2, 0]),
        (&["a"], &["a", "a"], [1, 0, 0, 0, 1]),
        (&["a", "a"], &["a"], [1, 1, 1, 1, 0]),
        (&["a", "b", "c"], &["c", "b", "a"], [2, 2, 0, 0, 0]),
        (&["a"], &["x", "y"], [2, 1, 1, 1, 2]),
        (&["a", "b"], &["x", "b"], [1, 1, 1, 1, 1]),
    ] {
        for (mode, mismatches) in MODES.into_iter().zip(expected) {
            check(mode, by_name(reference), &called(trace), mismatches);
        }
    }
}

#[test]
fn a_refused_call_matches_only_an_expectation_that_allows_it() {
    let refused = json!({ "is_error": true, "content": [], "error": { "kind": "refused", "message": "not allowed" } });
    let run = |result: &Value| {
        read(json!({ "tool_calls": [{ "name": "a", "server": "s", "args": {} }], "tool_results": [result] }))
    };
    for (status, mismatches) in [(json!(null), 1), (json!("ok"), 1), (json!("error"), 0), (json!("any"), 0)] {
        let calls = json!([{ "name": "a", "status": status }]);
        for mode in [MatchMode::Strict, MatchMode::Subsequence, MatchMode::Superset] {
            check(mode, calls.clone(), &run(&refused), mismatches);
        }
    }
    let found = gate(MatchMode::Strict, by_name(&["a"])).evaluate(&run(&refused));
    let diffs: Vec<String> = found.detail.mismatches[0].diffs.iter().map(ToString::to_string).collect();
    assert_eq!(diffs, ["/status: differs, expected \"ok or error\", recorded \"refused\""]);
    // An unknown result is not a refusal, and neither is a tool error.
    let failed = json!({ "is_error": true, "content": [], "error": { "kind": "tool", "message": "broken" } });
    for result in [json!(null), json!({}), failed] {
        check(MatchMode::Strict, by_name(&["a"]), &run(&result), 0);
    }
}

#[test]
fn an_empty_reference_passes_under_every_mode_except_subset() {
    for mode in MODES {
        check(mode, json!([]), &called(&[]), 0);
        let mismatches = if mode == MatchMode::Subset { 2 } else { 0 };
        check(mode, json!([]), &called(&["a", "b"]), mismatches);
    }
}

#[test]
fn an_empty_reference_is_the_same_for_library_callers() {
    let calls = called(&["a"]).tool_calls.unwrap();
    for mode in MODES {
        let expected = ExpectedTrace { mode, calls: vec![] };
        assert!(validate_trace(&[], &expected).unwrap().passed, "{mode}, empty trace");
        assert_eq!(validate_trace(&calls, &expected).unwrap().passed, mode != MatchMode::Subset, "{mode}");
    }
}

#[test]
fn mode_names_include_the_older_spellings() {
    for (word, mode) in [
        ("strict", Some(MatchMode::Strict)),
        ("exact-sequence", Some(MatchMode::Strict)),
        ("exact_sequence", Some(MatchMode::Strict)),
        ("subsequence", Some(MatchMode::Subsequence)),
        ("unordered", Some(MatchMode::Unordered)),
        ("superset", Some(MatchMode::Superset)),
        ("subset", Some(MatchMode::Subset)),
        ("Strict", None),
        ("", None),
    ] {
        assert_eq!(MatchMode::parse(word), mode, "{word:?}");
    }
    assert_eq!(TrajectoryParams::default().mode, MatchMode::Strict);
}

#[test]
fn constructors_of_the_library_set_their_mode() {
    let make = [
        ExpectedTrace::strict as fn(Vec<ExpectedCall>) -> ExpectedTrace,
        ExpectedTrace::subsequence,
        ExpectedTrace::unordered,
        ExpectedTrace::superset,
        ExpectedTrace::subset,
    ];
    for (make, mode) in make.into_iter().zip(MODES) {
        let calls = vec![ExpectedCall { name: "a".into(), args: ExpectedArgs::Any }];
        assert_eq!(make(vec![ExpectedCall::by_name("a")]), ExpectedTrace { mode, calls });
    }
}

#[test]
fn status_is_read_from_the_result() {
    let trace = |result: Value| {
        read(json!({ "tool_calls": [{ "name": "a", "server": "s", "args": {} }], "tool_results": [result] }))
    };
    let good = trace(json!({ "is_error": false }));
    let bad = trace(json!({ "is_error": true }));
    let broken = trace(json!({ "is_error": false, "error": { "kind": "http", "message": "502" } }));
    for mode in MODES {
        for (status, fits) in
            [("any", [true, true, true]), ("ok", [true, false, false]), ("error", [false, true, true])]
        {
            for (trace, fits) in [&good, &bad, &broken].into_iter().zip(fits) {
                let reference = json!([{ "name": "a", "status": status }]);
                check(mode, reference, trace, u64::from(!fits));
            }
        }
    }
}

#[test]
fn the_server_is_compared_only_when_it_is_set() {
    let trace = read(json!({ "tool_calls": [{ "name": "a", "server": "docs", "args": {} }] }));
    for mode in MODES {
        check(mode, json!([{ "name": "a" }]), &trace, 0);
        check(mode, json!([{ "name": "a", "server": "docs" }]), &trace, 0);
        check(mode, json!([{ "name": "a", "server": "web" }]), &trace, 1);
    }
}

#[test]
fn an_empty_server_matches_a_tool_without_a_server() {
    let call = |server: Value| read(json!({ "tool_calls": [{ "name": "a", "server": server }] }));
    for mode in MODES {
        let calls = json!([{ "name": "a", "server": "" }]);
        check(mode, calls.clone(), &call(json!("")), 0);
        check(mode, calls.clone(), &call(json!("s")), 1);
        assert_eq!(gate(mode, calls).evaluate(&call(json!(null))).verdict, Verdict::Unassessable);
    }
}

#[test]
fn optional_calls_may_be_missing_or_present() {
    let reference = json!([{ "name": "a" }, { "name": "log", "optional": true }, { "name": "b" }]);
    // recorded, mismatches under strict, subsequence, unordered, superset, subset
    for (trace, expected) in [
        (&["a", "b"][..], [0, 0, 0, 0, 0]),
        (&["a", "log", "b"], [0, 0, 0, 0, 0]),
        (&["log", "a", "b"], [1, 0, 0, 0, 0]),
        (&["a", "log", "log", "b"], [1, 0, 0, 0, 1]),
        (&["a"], [1, 1, 1, 1, 0]),
        (&["log"], [2, 2, 2, 2, 0]),
        (&["a", "x", "b"], [1, 0, 0, 0, 1]),
    ] {
        for (mode, mismatches) in MODES.into_iter().zip(expected) {
            check(mode, reference.clone(), &called(trace), mismatches);
        }
    }
}

#[test]
fn an_optional_call_never_takes_the_match_of_a_required_one() {
    let reference = json!([{ "name": "a", "optional": true }, { "name": "a" }]);
    for mode in MODES {
        check(mode, reference.clone(), &called(&["a"]), 0);
        check(mode, reference.clone(), &called(&["a", "a"]), 0);
    }
}

#[test]
fn strict_without_optional_calls_counts_positions() {
    for (reference, trace, mismatches) in [
        (&["a", "b", "c"][..], &["a", "c", "b"][..], 2),
        (&["a", "b", "c"], &["b", "c"], 3),
        (&["a"], &["b", "a", "a"], 3),
        (&["a", "b"], &["x", "y"], 2),
        (&["a", "b"], &["a", "b", "a", "b"], 2),
    ] {
        check(MatchMode::Strict, by_name(reference), &called(trace), mismatches);
    }
}

#[test]
fn assignments_are_maximum_and_not_greedy() {
    let trace = recorded(json!([["a", { "x": 1 }], ["a", { "x": 2 }]]));
    let reference = json!([{ "name": "a", "args": "any" }, { "name": "a", "args": { "exact": { "x": 1 } } }]);
    for mode in [MatchMode::Unordered, MatchMode::Superset, MatchMode::Subset] {
        check(mode, reference.clone(), &trace, 0);
        let outcome = gate(mode, reference.clone()).evaluate(&trace);
        assert_eq!(outcome.detail.matched, [Some(1), Some(0)], "{mode}");
    }
    // A chain of three in which every first choice is wrong.
    let chain = json!([
        { "name": "a", "args": { "schema": { "properties": { "x": { "enum": [1, 2] } } } } },
        { "name": "a", "args": { "schema": { "properties": { "x": { "enum": [1, 3] } } } } },
        { "name": "a", "args": { "exact": { "x": 1 } } },
    ]);
    let trace = recorded(json!([["a", { "x": 1 }], ["a", { "x": 2 }], ["a", { "x": 3 }]]));
    for mode in [MatchMode::Unordered, MatchMode::Superset, MatchMode::Subset] {
        check(mode, chain.clone(), &trace, 0);
    }
}

#[test]
fn ties_go_to_the_earliest_recorded_call() {
    let matched =
        |mode, names: &[&str], trace: &[&str]| gate(mode, by_name(names)).evaluate(&called(trace)).detail.matched;
    for mode in [MatchMode::Subsequence, MatchMode::Unordered, MatchMode::Superset] {
        assert_eq!(matched(mode, &["a", "b"], &["x", "a", "a", "b", "b"]), [Some(1), Some(3)], "{mode}");
        assert_eq!(matched(mode, &["a", "a"], &["a", "a", "a"]), [Some(0), Some(1)], "{mode}");
    }
    assert_eq!(matched(MatchMode::Subset, &["a", "a"], &["a"]), [Some(0), None]);
    let optional = json!([{ "name": "a", "optional": true }, { "name": "b" }]);
    assert_eq!(
        gate(MatchMode::Subsequence, optional).evaluate(&called(&["a", "a", "b", "b"])).detail.matched,
        [Some(0), Some(2)]
    );
}

#[test]
fn max_extra_limits_extra_calls() {
    let check = |mode, calls: Value, trace: &[&str], max_extra, mismatches| {
        let gate = TrajectoryGate::new(TrajectoryParams { max_extra: Some(max_extra), ..params(mode, calls) }).unwrap();
        let outcome = gate.evaluate(&called(trace));
        assert_eq!(count(&outcome), mismatches, "{mode}, {trace:?}, at most {max_extra}");
        assert_eq!(outcome.verdict == Verdict::Pass, mismatches == 0);
    };
    for mode in [MatchMode::Subsequence, MatchMode::Unordered, MatchMode::Superset] {
        check(mode, by_name(&["a"]), &["a", "x", "y"], 2, 0);
        check(mode, by_name(&["a"]), &["a", "x", "y"], 1, 1);
        check(mode, by_name(&["a"]), &["x", "a", "y"], 0, 2);
        check(mode, by_name(&["a", "b"]), &["a", "x"], 0, 2);
        check(mode, json!([]), &["x"], 0, 1);
        check(mode, json!([]), &["x"], 1, 0);
        check(mode, json!([]), &[], 0, 0);
        // An optional call that was made is not left over.
        check(mode, json!([{ "name": "a" }, { "name": "b", "optional": true }]), &["a", "b"], 0, 0);
        check(mode, json!([{ "name": "a" }, { "name": "b", "optional": true }]), &["a", "b", "b"], 0, 1);
    }
}

#[test]
fn max_extra_applies_regardless_of_custom_assertions() {
    let gate = TrajectoryGate::new(TrajectoryParams {
        max_extra: Some(0),
        expect: own(GateKind::Trajectory, &[("trajectory.mismatch_count", json!({ "schema": { "maximum": 9 } }))]),
        ..params(MatchMode::Unordered, by_name(&["a"]))
    })
    .unwrap();
    assert_eq!(
        judged(&gate.evaluate(&called(&["a", "x"]))),
        (Verdict::Fail, vec!["max_extra: 1 extra call, at most 0 allowed".into()])
    );
    assert_eq!(judged(&gate.evaluate(&called(&["b"]))).0, Verdict::Fail);
    assert_eq!(judged(&gate.evaluate(&called(&["a"]))), (Verdict::Pass, vec![]));
    assert_eq!(judged(&gate.evaluate(&called(&[]))), (Verdict::Pass, vec![]), "own assertions replace the default");
}

#[test]
fn contradictory_references_are_load_errors() {
    let problems = |params| TrajectoryGate::new(params).unwrap_err().to_string();
    for mode in [MatchMode::Strict, MatchMode::Subset] {
        assert_eq!(
            problems(TrajectoryParams { max_extra: Some(1), ..params(mode, json!([])) }),
            format!(
                "/max_extra: `max_extra` cannot be used with mode `{mode}` \
                 (hint: strict and subset allow no extra calls; use subsequence or unordered)"
            )
        );
    }
    let matches = json!({ "match": { "x": { "exact": 1 } } });
    for shape in [json!("any"), json!("ignore"), json!({ "schema": true }), matches] {
        let call = json!([{ "name": "a" }, { "name": "b", "args": shape, "ignore_args": ["/x"] }]);
        assert_eq!(
            problems(params(MatchMode::Strict, call)),
            "/calls/1/ignore_args: `ignore_args` has no effect here: only `exact` and `subset` compare values \
             (hint: use it with `exact` or `subset`)"
        );
    }
    let all = json!([
        { "name": "a", "args": { "exact": {} }, "ignore_args": ["x"] },
        { "name": "b", "args": { "schema": { "minimun": 1 } } },
        { "name": "c", "args": { "match": { "a..b": { "exact": 1 }, "c/d": { "exat": 1 }, "e": { "exact": 1, "regex": "" } } } },
        { "name": "d", "args": { "match": {} } },
    ]);
    assert_eq!(
        problems(params(MatchMode::Strict, all)),
        "/calls/0/ignore_args/0: `x` is not a JSON pointer (hint: write `/x`)\n\
         /calls/1/args/schema/minimun: unknown schema keyword `minimun` (hint: did you mean `minimum`?)\n\
         /calls/2/args/match/a..b: invalid path: column 3: expected a name, found `.` \
         (hint: a path starts at the arguments: `city`, `items[0].id`)\n\
         /calls/2/args/match/c~1d/exat: unknown matcher `exat` (hint: did you mean `exact`?)\n\
         /calls/2/args/match/e: a matcher must have exactly one key, found 2 (hint: keep one; `schema` can combine several conditions)\n\
         /calls/3/args/match: `match` is empty (hint: write `match: { NAME: { regex: .. } }`, or `any`)"
    );
}

#[test]
fn a_malformed_schema_is_an_error_and_never_a_pass_for_library_callers() {
    let call = ExpectedCall { name: "a".into(), args: ExpectedArgs::Schema(json!({ "type": 5 })) };
    for mode in MODES {
        let expected = ExpectedTrace { mode, calls: vec![call.clone()] };
        assert!(validate_trace(&[], &expected).is_err(), "{mode}");
    }
}

fn diff(path: &str, expected: Value, actual: Value) -> AssertionDiff {
    AssertionDiff { path: path.into(), expected: Some(expected), actual: Some(actual), note: "differs".into() }
}

fn explained(mode: MatchMode, calls: Value, trace: &Trace) -> TraceValidation {
    gate(mode, calls).evaluate(trace).detail
}

#[test]
fn strict_mismatches_name_position_diffs_and_reason() {
    let reference = json!([{ "name": "a" }, { "name": "b", "server": "web", "args": { "exact": { "city": "Oslo" } } }, { "name": "c" }]);
    let found = explained(MatchMode::Strict, reference, &recorded(json!([["x", {}], ["b", { "city": "Bergen" }]])));
    assert_eq!(
        found,
        TraceValidation {
            passed: false,
            matched: vec![None, None, None],
            competitions: vec![],
            mismatches: vec![
                TraceMismatch {
                    expected_index: Some(0),
                    recorded_index: Some(0),
                    diffs: vec![diff("/name", json!("a"), json!("x"))],
                    reason: "tool_calls[0] is x, expected a".into(),
                },
                TraceMismatch {
                    expected_index: Some(1),
                    recorded_index: Some(1),
                    diffs: vec![
                        diff("/server", json!("web"), json!("s")),
                        diff("/args/city", json!("Oslo"), json!("Bergen")),
                    ],
                    reason: "tool_calls[1] (b) differs from calls[1] at /server, /args/city".into(),
                },
                TraceMismatch {
                    expected_index: Some(2),
                    recorded_index: None,
                    diffs: vec![],
                    reason: "calls[2] (c) is missing: the trace has only 2 calls".into(),
                },
            ],
        }
    );
    let extra = explained(MatchMode::Strict, by_name(&["a"]), &called(&["a", "z"]));
    assert_eq!(
        extra.mismatches,
        [TraceMismatch {
            expected_index: None,
            recorded_index: Some(1),
            diffs: vec![],
            reason: "tool_calls[1] (z) is an extra call: the reference has 1 call".into(),
        }]
    );
}

#[test]
fn a_missing_expectation_shows_its_nearest_miss() {
    let reference = json!([{ "name": "a", "args": { "subset": { "x": 1, "y": 2, "z": 3 } } }]);
    let trace = recorded(
        json!([["a", { "x": 9, "y": 9, "z": 3 }], ["b", { "x": 1, "y": 2, "z": 3 }], ["a", { "x": 1, "y": 2, "z": 4 }]]),
    );
    for mode in [MatchMode::Subsequence, MatchMode::Unordered, MatchMode::Superset] {
        assert_eq!(
            explained(mode, reference.clone(), &trace).mismatches,
            [TraceMismatch {
                expected_index: Some(0),
                recorded_index: Some(2),
                diffs: vec![diff("/args/z", json!(3), json!(4))],
                reason: "calls[0] (a) is missing: the nearest call is tool_calls[2], which differs at /args/z".into(),
            }],
            "{mode}"
        );
    }
    let status = json!([{ "name": "a", "status": "ok" }]);
    let failed = read(json!({
        "tool_calls": [{ "name": "a", "server": "s", "args": {} }],
        "tool_results": [{ "is_error": true }],
    }));
    assert_eq!(
        explained(MatchMode::Unordered, status, &failed).mismatches[0].diffs,
        [diff("/status", json!("ok"), json!("error"))]
    );
}

#[test]
fn a_tool_that_was_never_called_is_reported_as_such() {
    assert_eq!(
        explained(MatchMode::Unordered, by_name(&["a"]), &called(&["b"])).mismatches,
        [TraceMismatch {
            expected_index: Some(0),
            recorded_index: None,
            diffs: vec![],
            reason: "calls[0] (a) is missing: that tool was not called".into(),
        }]
    );
}

#[test]
fn calls_in_the_wrong_order_are_reported_as_such() {
    let found = explained(MatchMode::Subsequence, by_name(&["a", "b"]), &called(&["b", "a"]));
    assert_eq!(found.mismatches.len(), 1);
    let missing = found.mismatches[0].expected_index.unwrap();
    let name = ["a", "b"][missing];
    assert_eq!(
        found.mismatches[0].reason,
        format!("calls[{missing}] ({name}) is missing: every call of that tool is out of order or already matched")
    );
}

#[test]
fn a_failed_assignment_is_proved_by_the_competing_calls() {
    let reference = json!([
        { "name": "b" },
        { "name": "a", "args": { "exact": { "x": 1 } } },
        { "name": "a", "args": { "exact": { "x": 1 } } },
        { "name": "a", "args": { "subset": { "x": 1 } } },
    ]);
    let trace = recorded(json!([["a", { "x": 1 }], ["b", {}], ["a", { "x": 1 }], ["a", { "x": 2 }]]));
    let found = explained(MatchMode::Unordered, reference, &trace);
    assert_eq!(found.competitions, [Competition { expected: vec![1, 2, 3], recorded: vec![0, 2] }]);
    assert_eq!(found.mismatches.len(), 1);
    assert_eq!(
        found.mismatches[0].reason,
        "calls[3] (a) is missing: calls[1], calls[2], calls[3] compete for tool_calls[0], tool_calls[2]"
    );
    let found = explained(MatchMode::Subset, by_name(&["a", "b"]), &called(&["a", "b", "a"]));
    assert_eq!(found.competitions, [Competition { expected: vec![0], recorded: vec![0, 2] }]);
    assert_eq!(
        found.mismatches,
        [TraceMismatch {
            expected_index: None,
            recorded_index: Some(2),
            diffs: vec![],
            reason: "tool_calls[2] (a) is an extra call: tool_calls[0], tool_calls[2] compete for calls[0]".into(),
        }]
    );
}

#[test]
fn proofs_of_separate_shortfalls_stay_separate() {
    let found = explained(MatchMode::Superset, by_name(&["a", "a", "b", "b", "c"]), &called(&["b", "a"]));
    assert_eq!(
        found.competitions,
        [
            Competition { expected: vec![0, 1], recorded: vec![1] },
            Competition { expected: vec![2, 3], recorded: vec![0] },
        ]
    );
    let missing: Vec<_> = found.mismatches.iter().map(|mismatch| mismatch.expected_index.unwrap()).collect();
    assert_eq!(missing, [1, 3, 4]);
}

fn undecided(mode: MatchMode, calls: Value, envelope: Value, why: &str) {
    let outcome = gate(mode, calls).evaluate(&read(envelope));
    assert_eq!(
        judged(&outcome),
        (Verdict::Unassessable, vec![format!("trajectory.passed: not assessable: {why}")]),
        "{mode}"
    );
    assert_eq!(outcome.metrics.object(), json!({}), "{mode}: a metric without a value is absent");
    assert_eq!(outcome.line, format!("not assessable: {why}"));
}

#[test]
fn missing_evidence_that_could_decide_is_unassessable() {
    for mode in MODES {
        undecided(mode, json!([]), json!({}), "the tool calls were not recorded");
        for shape in ["exact", "subset", "schema", "match"] {
            let value = match shape {
                "schema" => json!({ "type": "object" }),
                "match" => json!({ "x": { "exact": 1 } }),
                _ => json!({}),
            };
            undecided(
                mode,
                json!([{ "name": "a", "args": { shape: value } }]),
                json!({ "tool_calls": [{ "name": "a" }] }),
                "tool_calls[0] (a) may match calls[0], but its args were not recorded",
            );
        }
        for status in ["ok", "error"] {
            for results in [json!(null), json!([]), json!([null]), json!([{}])] {
                undecided(
                    mode,
                    json!([{ "name": "a", "status": status }]),
                    json!({ "tool_calls": [{ "name": "a" }], "tool_results": results }),
                    "tool_calls[0] (a) may match calls[0], but whether it failed was not recorded",
                );
            }
        }
        undecided(
            mode,
            json!([{ "name": "a", "server": "s" }]),
            json!({ "tool_calls": [{ "name": "a" }] }),
            "tool_calls[0] (a) may match calls[0], but its server was not recorded",
        );
    }
}

#[test]
fn missing_evidence_that_cannot_decide_changes_nothing() {
    let bare = read(json!({ "tool_calls": [{ "name": "a" }] }));
    for mode in MODES {
        check(mode, json!([{ "name": "a" }]), &bare, 0);
        check(mode, json!([{ "name": "a", "args": "ignore", "status": "any" }]), &bare, 0);
        // The name alone decides.
        check(mode, json!([{ "name": "b", "args": { "exact": {} }, "status": "ok", "server": "s" }]), &bare, 1);
    }
    // Met by the other call already.
    let one_known = read(json!({ "tool_calls": [{ "name": "a" }, { "name": "a", "args": { "x": 1 } }] }));
    for mode in [MatchMode::Subsequence, MatchMode::Unordered, MatchMode::Superset] {
        check(mode, json!([{ "name": "a", "args": { "exact": { "x": 1 } } }]), &one_known, 0);
    }
    // A wrong server decides, regardless of the arguments.
    let other = read(json!({ "tool_calls": [{ "name": "a", "server": "web" }] }));
    for mode in MODES {
        check(mode, json!([{ "name": "a", "server": "docs", "args": { "exact": {} } }]), &other, 1);
    }
}

#[test]
fn a_verdict_can_be_known_while_the_count_is_not() {
    let reference = json!([{ "name": "a", "args": { "exact": {} } }, { "name": "b" }]);
    let trace = read(json!({ "tool_calls": [{ "name": "a" }] }));
    for mode in [MatchMode::Strict, MatchMode::Subsequence, MatchMode::Unordered, MatchMode::Superset] {
        let outcome = gate(mode, reference.clone()).evaluate(&trace);
        assert_eq!(outcome.verdict, Verdict::Fail, "{mode}: b is missing either way");
        assert_eq!(outcome.metrics.object(), json!({ "passed": 0 }), "{mode}");
        let counting = TrajectoryGate::new(TrajectoryParams {
            expect: own(GateKind::Trajectory, &[("trajectory.mismatch_count", json!({ "schema": { "maximum": 5 } }))]),
            ..params(mode, reference.clone())
        });
        assert_eq!(counting.unwrap().evaluate(&trace).verdict, Verdict::Unassessable, "{mode}");
    }
}

#[test]
fn validate_trace_is_two_valued_and_reads_absent_arguments_as_empty() {
    let calls = tool_calls_from_envelope(&json!({ "tool_calls": [{ "name": "a" }] }));
    let passed = |args| {
        let expected = ExpectedTrace::strict(vec![ExpectedCall { name: "a".into(), args }]);
        validate_trace(&calls, &expected).unwrap().passed
    };
    assert!(passed(ExpectedArgs::Any));
    assert!(passed(ExpectedArgs::Ignore));
    assert!(passed(ExpectedArgs::Exact(json!({}))));
    assert!(passed(ExpectedArgs::Subset(json!({}))));
    assert!(passed(ExpectedArgs::Schema(json!({ "type": "object", "maxProperties": 0 }))));
    assert!(!passed(ExpectedArgs::Exact(json!({ "x": 1 }))));
    assert!(!passed(ExpectedArgs::Subset(json!({ "x": 1 }))));
    assert!(!passed(ExpectedArgs::Schema(json!({ "required": ["x"] }))));
}

#[test]
fn the_line_counts_mismatches_and_each_has_its_reason_and_diffs() {
    let pass = gate(MatchMode::Subsequence, by_name(&["a"])).evaluate(&called(&["x", "a"]));
    assert_eq!(pass.line, "1 of 1 expected calls matched (subsequence)");
    let fail = gate(MatchMode::Strict, by_name(&["a", "b"])).evaluate(&called(&["x", "y"]));
    assert_eq!(fail.line, "2 mismatches (strict)");
    assert_eq!(
        judged(&fail),
        (
            Verdict::Fail,
            vec![
                "trajectory.passed: tool_calls[0] is x, expected a".into(),
                "trajectory.passed: tool_calls[1] is y, expected b".into()
            ]
        )
    );
    let paths = |at: usize| fail.failures[at].diffs.iter().map(|diff| diff.path.as_str()).collect::<Vec<_>>();
    assert_eq!([paths(0), paths(1)], [["/name"], ["/name"]]);
    let many = vec!["x"; 150];
    let reasons = judged(&gate(MatchMode::Strict, by_name(&["a"])).evaluate(&called(&many))).1;
    assert_eq!((reasons.len(), reasons[100].as_str()), (101, "trajectory.passed: and 50 more"));
}

#[test]
fn custom_assertions_replace_the_default() {
    let lenient = TrajectoryGate::new(TrajectoryParams {
        expect: own(GateKind::Trajectory, &[("trajectory.mismatch_count", json!({ "schema": { "maximum": 1 } }))]),
        ..params(MatchMode::Strict, by_name(&["a", "b"]))
    })
    .unwrap();
    assert_eq!(lenient.evaluate(&called(&["a", "c"])).verdict, Verdict::Pass);
    let outcome = lenient.evaluate(&called(&["x", "c"]));
    assert_eq!(
        judged(&outcome),
        (
            Verdict::Fail,
            vec![
                "trajectory.mismatch_count: `trajectory.mismatch_count` is 2, \
                 expected schema {\"maximum\":1,\"type\":\"number\"}"
                    .into(),
                "trajectory.mismatch_count: tool_calls[0] is x, expected a".into(),
                "trajectory.mismatch_count: tool_calls[1] is c, expected b".into(),
            ]
        )
    );
    assert!(matches!(TrajectoryParams::default().expect, Expect::Default));
}

#[test]
fn a_reason_shared_by_two_custom_assertions_is_reported_once() {
    let exact = |value: u8| json!({ "exact": value });
    let expect = own(GateKind::Trajectory, &[("trajectory.passed", exact(1)), ("trajectory.mismatch_count", exact(0))]);
    let gate = TrajectoryGate::new(TrajectoryParams { expect, ..params(MatchMode::Strict, by_name(&["a"])) }).unwrap();
    let reasons = [
        "trajectory.passed: `trajectory.passed` is 0, expected exact 1",
        "trajectory.passed: tool_calls[0] is x, expected a",
        "trajectory.mismatch_count: `trajectory.mismatch_count` is 1, expected exact 0",
    ];
    assert_eq!(judged(&gate.evaluate(&called(&["x"]))), (Verdict::Fail, reasons.map(String::from).to_vec()));
}

#[test]
fn a_reference_of_thousands_of_calls_is_evaluated() {
    let names: Vec<String> = (0..3_000).map(|at| format!("t{}", at % 7)).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let trace = called(&names);
    for mode in MODES {
        check(mode, by_name(&names), &trace, 0);
    }
}

#[test]
fn max_extra_is_unassessable_when_unrecorded_arguments_decide_the_extra_calls() {
    let calls = json!([{ "name": "a", "optional": true, "args": { "exact": { "x": 1 } } }, { "name": "b" }]);
    let expect = own(GateKind::Trajectory, &[("trajectory.passed", json!({ "exact": 0 }))]);
    let params = TrajectoryParams { max_extra: Some(0), expect, ..params(MatchMode::Unordered, calls) };
    let mut trace = recorded(json!([["a", {}]]));
    trace.tool_calls.as_mut().unwrap()[0].args = None;
    assert_eq!(TrajectoryGate::new(params).unwrap().evaluate(&trace).verdict, Verdict::Unassessable);
}

#[test]
fn over_the_limit_the_minimum_of_mismatches_is_counted() {
    let optional = |name: &str| json!({ "name": name, "optional": true });
    let calls = json!([{ "name": "a" }, optional("b"), optional("c"), optional("d")]);
    let params = TrajectoryParams { max_extra: Some(0), ..params(MatchMode::Subsequence, calls) };
    let trace = recorded(json!([["b", {}], ["c", {}], ["d", {}], ["a", {}]]));
    assert_eq!(count(&TrajectoryGate::new(params).unwrap().evaluate(&trace)), 2);
}

#[test]
fn all_expectations_that_compete_for_the_same_calls_are_named_together() {
    let outcome = gate(MatchMode::Unordered, by_name(&["a", "a", "a"])).evaluate(&recorded(json!([["a", {}]])));
    let sets: Vec<_> =
        outcome.detail.competitions.iter().map(|set| (set.expected.clone(), set.recorded.clone())).collect();
    assert_eq!(sets, [(vec![0, 1, 2], vec![0])]);
}
