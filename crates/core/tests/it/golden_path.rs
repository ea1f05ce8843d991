//! Wasted calls against an ideal sequence.

use mcptest_core::Verdict;
use mcptest_core::eval::{GateKind, GoldenPath, GoldenPathGate, GoldenPathParams, PathScore, score_golden_path};
use serde_json::json;

use crate::support::{called, judged, own, read};

fn score(golden: &GoldenPath, trace: &[&str]) -> PathScore {
    score_golden_path(&called(trace).tool_calls.unwrap(), golden)
}

/// Counts as (extra, backtracks, repeated) and the summed waste under the strictest policy.
fn check(golden: &[&str], trace: &[&str], counts: (usize, usize, usize)) {
    let (extra_steps, backtracks, repeated_tools) = counts;
    let waste = extra_steps + backtracks + repeated_tools;
    let expected = PathScore {
        passed: waste == 0,
        extra_steps,
        backtracks,
        repeated_tools,
        penalty: 1.0 / (1.0 + 0.5 * waste as f64),
    };
    assert_eq!(score(&GoldenPath::new(golden.iter().copied()), trace), expected, "{trace:?} against {golden:?}");
}

#[test]
fn waste_is_counted_in_three_ways() {
    let golden = ["search", "open", "summarize"];
    check(&golden, &["search", "open", "summarize"], (0, 0, 0));
    check(&golden, &["search", "open"], (0, 0, 0));
    check(&golden, &[], (0, 0, 0));
    check(&golden, &["x", "y", "z"], (0, 0, 0));
    check(&golden, &["search", "open", "search"], (0, 1, 0));
    check(&golden, &["search", "search", "open"], (0, 0, 1));
    check(&golden, &["search", "search", "search"], (0, 0, 2));
    check(&golden, &["search", "open", "search", "open"], (1, 2, 0));
    check(&golden, &["search", "open", "open", "search", "search", "summarize"], (3, 1, 2));
    check(&[], &["a"], (1, 0, 0));
    check(&[], &[], (0, 0, 0));
}

#[test]
fn the_penalty_is_one_over_one_plus_half_the_waste() {
    let penalty = |trace: &[&str]| score(&GoldenPath::new(["a"]), trace).penalty;
    assert_eq!(penalty(&["a"]), 1.0);
    assert_eq!(penalty(&["a", "b"]), 1.0 / 1.5);
    assert_eq!(penalty(&["a", "b", "c"]), 0.5);
    assert_eq!(penalty(&["a", "b", "a"]), 1.0 / 2.5);
    assert_eq!(penalty(&["a", "a"]), 0.5);
}

#[test]
fn a_disabled_penalty_costs_nothing_and_keeps_its_count() {
    let trace = ["a", "a", "b", "a"];
    let strictest = GoldenPath::new(["a", "b"]);
    assert_eq!(
        strictest,
        GoldenPath {
            calls: vec!["a".into(), "b".into()],
            allow_extra_steps: false,
            penalize_backtracking: true,
            penalize_repeated_tools: true,
        }
    );
    for (allow, back, repeat, waste) in [
        (false, true, true, 4_u8),
        (true, true, true, 2),
        (false, false, true, 3),
        (false, true, false, 3),
        (true, false, true, 1),
        (true, true, false, 1),
        (false, false, false, 2),
        (true, false, false, 0),
    ] {
        let golden = GoldenPath {
            allow_extra_steps: allow,
            penalize_backtracking: back,
            penalize_repeated_tools: repeat,
            ..strictest.clone()
        };
        let expected = PathScore {
            passed: waste == 0,
            extra_steps: 2,
            backtracks: 1,
            repeated_tools: 1,
            penalty: 1.0 / (1.0 + 0.5 * f64::from(waste)),
        };
        assert_eq!(score(&golden, &trace), expected, "{golden:?}");
    }
}

#[test]
fn the_gate_asserts_that_nothing_was_wasted() {
    let gate = GoldenPathGate::new(GoldenPath::new(["a", "b"]).into()).unwrap();
    let clean = gate.evaluate(&called(&["a", "b"]));
    assert_eq!(judged(&clean), (Verdict::Pass, vec![]));
    assert_eq!(
        clean.metrics.object(),
        json!({ "penalty": 1.0, "passed": 1, "extra_steps": 0, "backtracks": 0, "repeated_tools": 0 })
    );
    let wasteful = gate.evaluate(&called(&["a", "a", "b", "a"]));
    assert_eq!(
        judged(&wasteful),
        (
            Verdict::Fail,
            vec!["golden_path.passed: efficiency 0.33 of 1.00: 2 extra steps, 1 backtrack, 1 repeated tool".into()]
        )
    );
    assert_eq!(
        wasteful.metrics.object(),
        json!({ "penalty": 1.0 / 3.0, "passed": 0, "extra_steps": 2, "backtracks": 1, "repeated_tools": 1 })
    );
}

#[test]
fn custom_assertions_replace_the_default() {
    let expect = own(GateKind::GoldenPath, &[("golden_path.penalty", json!({ "schema": { "minimum": 0.5 } }))]);
    let gate = GoldenPathGate::new(GoldenPathParams { golden: GoldenPath::new(["a"]), expect }).unwrap();
    assert_eq!(gate.evaluate(&called(&["a", "b", "c"])).verdict, Verdict::Pass);
    let outcome = gate.evaluate(&called(&["a", "b", "c", "d"]));
    // Reports show the line next to the reasons, so it is not one of them.
    assert_eq!(outcome.line, "efficiency 0.40 of 1.00: 3 extra steps, 0 backtracks, 0 repeated tools");
    assert_eq!(
        judged(&outcome),
        (
            Verdict::Fail,
            vec![
                "golden_path.penalty: `golden_path.penalty` is 0.4, \
                 expected schema {\"minimum\":0.5,\"type\":\"number\"}"
                    .into()
            ]
        )
    );
}

#[test]
fn unrecorded_calls_are_unassessable_and_zero_calls_waste_nothing() {
    let gate = GoldenPathGate::new(GoldenPath::new(["a"]).into()).unwrap();
    let outcome = gate.evaluate(&read(json!({})));
    assert_eq!(
        judged(&outcome),
        (Verdict::Unassessable, vec!["golden_path.passed: not assessable: the tool calls were not recorded".into()])
    );
    assert_eq!((outcome.metrics.object(), outcome.detail), (json!({}), None));
    assert_eq!(gate.evaluate(&called(&[])).verdict, Verdict::Pass);
}
