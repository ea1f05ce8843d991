//! The table of gates checked against the gates.

use mcptest_core::eval::{
    DependencyEdge, Expect, ExpectedCall, GATES, GateKind, GateOutcome, GoldenPath, GoldenPathGate, GoldenPathParams,
    MetricKind, Metrics, NarrativeGate, NarrativeParams, OrderEdge, RecoveryGate, RecoveryParams, ReliabilityGate,
    ReliabilityParams, RunScope, StabilityGate, StabilityParams, TrajectoryAxesGate, TrajectoryAxesParams,
    TrajectoryGate, TrajectoryParams,
};
use mcptest_core::{Assertion, Problems, Scope, Trace, Verdict};
use serde_json::{Value, json};

use crate::support::{own, read};

/// A run in which two tools were called in order, the first met a fault, and all evidence is there.
fn good() -> Trace {
    read(json!({
        "tool_calls": [
            { "name": "a", "server": "s", "args": { "x": 1 }, "turn": 0 },
            { "name": "a", "server": "s", "args": { "x": 2 }, "turn": 1 },
        ],
        "tool_results": [
            {
                "is_error": true, "error": { "kind": "timeout", "message": "" },
                "fault": { "name": "f", "kind": "hang", "effect": "timeout", "ms": 3000 },
            },
            { "is_error": false, "content": [] },
        ],
        "final_response": "done",
        "conversation": {
            "turns": [
                { "role": "assistant", "content": "try" },
                { "role": "assistant", "content": "more" },
                { "role": "assistant", "content": "done" },
            ],
            "tokens": { "total": 100 },
            "stop_reason": "completed",
        },
    }))
}

/// The same with everything that a gate can object to.
fn bad() -> Trace {
    read(json!({
        "tool_calls": [
            { "name": "b", "server": "s", "args": {}, "turn": 0 },
            { "name": "a", "server": "s", "args": {}, "turn": 0 },
            { "name": "b", "server": "s", "args": {}, "turn": 0 },
            { "name": "c", "server": "s", "args": {}, "turn": 0 },
        ],
        "tool_results": [
            { "is_error": false }, { "is_error": false }, { "is_error": false },
            {
                "is_error": true,
                "fault": { "name": "f", "kind": "hang", "effect": "timeout", "ms": 3000 },
            },
        ],
        "final_response": "I deleted the file.",
        "conversation": {
            "turns": [{ "role": "assistant", "content": null }],
            "tokens": { "total": 100_000 },
            "stop_reason": "max_turns",
        },
    }))
}

fn plain<D>(outcome: GateOutcome<D>) -> (Verdict, Metrics) {
    (outcome.verdict, outcome.metrics)
}

/// One gate of each kind over a run (gates over runs see it twice).
fn try_evaluate(kind: GateKind, expect: Expect, trace: &Trace) -> Result<(Verdict, Metrics), Problems> {
    Ok(match kind {
        GateKind::Trajectory => {
            let calls = vec![ExpectedCall::by_name("a").into(), ExpectedCall::by_name("a").into()];
            let params = TrajectoryParams { calls, expect, ..TrajectoryParams::default() };
            plain(TrajectoryGate::new(params)?.evaluate(trace))
        }
        GateKind::TrajectoryAxes => {
            let edge = DependencyEdge { producer: "a".into(), consumer: "b".into(), via: None, required: false };
            let order = OrderEdge { first: "a".into(), second: "b".into(), required: false };
            let params = TrajectoryAxesParams { dependencies: vec![edge], order: vec![order], expect };
            plain(TrajectoryAxesGate::new(params)?.evaluate(trace))
        }
        GateKind::GoldenPath => {
            let golden = GoldenPath { penalize_repeated_tools: false, ..GoldenPath::new(["a", "a"]) };
            plain(GoldenPathGate::new(GoldenPathParams { golden, expect })?.evaluate(trace))
        }
        GateKind::Stability => plain(
            StabilityGate::new(StabilityParams { expect, ..StabilityParams::default() })?.evaluate(&[trace, trace]),
        ),
        GateKind::Reliability => {
            let passed = trace.final_response.as_deref() == Some("done");
            let params = ReliabilityParams { expect, ..ReliabilityParams::default() };
            plain(ReliabilityGate::new(params)?.evaluate(&[true, passed]))
        }
        GateKind::Recovery => {
            plain(RecoveryGate::new(RecoveryParams { expect, ..RecoveryParams::default() })?.evaluate(trace))
        }
        GateKind::Narrative => {
            plain(NarrativeGate::new(NarrativeParams { expect, ..NarrativeParams::default() })?.evaluate(trace))
        }
    })
}

fn evaluate(kind: GateKind, expect: Expect, trace: &Trace) -> (Verdict, Metrics) {
    try_evaluate(kind, expect, trace).unwrap_or_else(|problems| panic!("{problems}"))
}

#[test]
fn no_gate_is_built_with_an_empty_expect() {
    for gate in &GATES {
        let problems = try_evaluate(gate.kind, Expect::Custom(Vec::new()), &good()).unwrap_err();
        let text = "/expect: an empty `expect` asserts nothing \
                    (hint: add an assertion, or leave `expect` out for the default)";
        assert_eq!(problems.to_string(), text, "{}", gate.kind);
    }
}

#[test]
fn the_table_is_in_the_order_of_the_gates() {
    let names: Vec<_> = GATES.iter().map(|gate| (gate.kind.name(), gate.kind.to_string(), gate.prefix)).collect();
    assert_eq!(
        names,
        [
            ("trajectory", "trajectory".into(), "trajectory"),
            ("trajectory_axes", "trajectory_axes".into(), "trajectory"),
            ("golden_path", "golden_path".into(), "golden_path"),
            ("stability", "stability".into(), "stability"),
            ("reliability", "reliability".into(), "reliability"),
            ("recovery", "recovery".into(), "recovery"),
            ("narrative", "narrative".into(), "narrative"),
        ]
    );
    for gate in &GATES {
        assert_eq!(gate.kind.info().kind, gate.kind);
        let over = matches!(gate.kind, GateKind::Stability | GateKind::Reliability);
        assert_eq!(gate.scope, if over { RunScope::OverRuns } else { RunScope::PerRun }, "{}", gate.kind);
    }
}

#[test]
fn no_two_gates_share_a_target() {
    let targets = || GATES.iter().flat_map(|gate| gate.metrics.iter().map(|metric| (gate.prefix, metric.name)));
    let distinct: std::collections::BTreeSet<_> = targets().collect();
    assert_eq!(distinct.len(), targets().count());
}

#[test]
fn every_specified_target_is_in_the_table() {
    let names = |kind: GateKind| kind.info().metrics.iter().map(|metric| metric.name).collect::<Vec<_>>();
    assert_eq!(names(GateKind::Trajectory), ["passed", "mismatch_count"]);
    assert_eq!(names(GateKind::TrajectoryAxes), ["dependency_satisfaction", "order_satisfaction", "edges_exercised"]);
    assert_eq!(names(GateKind::GoldenPath), ["penalty", "passed", "extra_steps", "backtracks", "repeated_tools"]);
    assert_eq!(
        names(GateKind::Stability),
        [
            "score",
            "weakest_score",
            "variance",
            "tool_usage_stability",
            "response_consistency",
            "redundancy",
            "cost_per_progress",
            "tool_sequence_similarity",
            "argument_consistency",
            "early_divergence",
        ]
    );
    assert_eq!(
        names(GateKind::Reliability),
        [
            "runs",
            "pass_at_k",
            "passhat_k",
            "all_passed",
            "variance_amplification",
            "graceful_degradation",
            "decay_curve",
            "pass_rate",
            "wilson_low",
            "wilson_high",
            "lower_bound",
            "upper_bound",
            "pass_at",
            "pass_hat",
        ]
    );
    assert_eq!(
        names(GateKind::Recovery),
        [
            "passed",
            "recovered",
            "recovered_by_call",
            "clean_timeout",
            "time_to_detection_ms",
            "time_to_recovery_ms",
            "user_visible_hang_ms",
            "fault_hits",
            "fault_delays",
        ]
    );
    assert_eq!(
        names(GateKind::Narrative),
        [
            "divergence_score",
            "claimed_but_absent",
            "present_but_unclaimed",
            "arg_mismatch",
            "unclaimed_mutating",
            "unverifiable",
            "gate_passed",
        ]
    );
}

#[test]
fn every_metric_has_a_value_of_its_kind_and_gates_have_no_others() {
    for gate in &GATES {
        let (_, metrics) = evaluate(gate.kind, Expect::Default, &good());
        let found = metrics.object();
        let mut listed: Vec<_> = gate.metrics.iter().map(|metric| metric.name).collect();
        listed.sort_unstable();
        assert_eq!(found.as_object().unwrap().keys().collect::<Vec<_>>(), listed, "{}", gate.kind);
        for metric in gate.metrics {
            let target = format!("{}.{}", gate.prefix, metric.name);
            let anything = own(gate.kind, &[(&target, json!({ "schema": true }))]);
            assert_eq!(evaluate(gate.kind, anything, &good()).0, Verdict::Pass, "{target}");
            let nothing = own(gate.kind, &[(&target, json!({ "schema": false }))]);
            assert_eq!(evaluate(gate.kind, nothing, &good()).0, Verdict::Fail, "{target}");
            let value = &found[metric.name];
            let number = value.as_f64().unwrap_or(-1.0);
            let fits = match metric.kind {
                MetricKind::Flag => value == &json!(0) || value == &json!(1),
                MetricKind::Count | MetricKind::Millis => value.is_u64(),
                MetricKind::Ratio => (0.0..=1.0).contains(&number),
                MetricKind::Percent => (0.0..=100.0).contains(&number),
                MetricKind::Percents => {
                    let percents = value.as_array().unwrap().iter().filter_map(Value::as_f64);
                    percents.into_iter().all(|percent| (0.0..=100.0).contains(&percent))
                }
            };
            assert!(fits, "{target} is {value}, which is no {}", metric.kind.describe());
        }
    }
}

#[test]
fn every_default_assertion_passes_on_one_side_and_fails_on_the_other() {
    for gate in &GATES {
        assert_eq!(evaluate(gate.kind, Expect::Default, &good()).0, Verdict::Pass, "{} on a good run", gate.kind);
        assert_eq!(evaluate(gate.kind, Expect::Default, &bad()).0, Verdict::Fail, "{} on a bad run", gate.kind);
    }
}

#[test]
fn default_assertions_are_as_specified() {
    let defaults =
        |kind: GateKind| kind.info().default.iter().map(|bound| (bound.metric, bound.at_least)).collect::<Vec<_>>();
    assert_eq!(defaults(GateKind::Trajectory), [("passed", 1.0)]);
    assert_eq!(defaults(GateKind::TrajectoryAxes), [("dependency_satisfaction", 100.0), ("order_satisfaction", 100.0)]);
    assert_eq!(defaults(GateKind::GoldenPath), [("passed", 1.0)]);
    assert_eq!(defaults(GateKind::Stability), [("weakest_score", 0.5)]);
    assert_eq!(defaults(GateKind::Reliability), [("passhat_k", 100.0)]);
    assert_eq!(defaults(GateKind::Recovery), [("passed", 1.0)]);
    assert_eq!(defaults(GateKind::Narrative), [("gate_passed", 1.0)]);
}

#[test]
fn a_default_assertion_written_out_gives_the_same_verdict() {
    for gate in &GATES {
        for trace in [good(), bad()] {
            let written: Vec<_> = gate
                .default
                .iter()
                .map(|bound| {
                    let matcher = json!({ "schema": { "minimum": bound.at_least } });
                    (format!("{}.{}", gate.prefix, bound.metric), matcher)
                })
                .collect();
            let written: Vec<_> = written.iter().map(|(target, matcher)| (target.as_str(), matcher.clone())).collect();
            let by_hand = evaluate(gate.kind, own(gate.kind, &written), &trace).0;
            assert_eq!(by_hand, evaluate(gate.kind, Expect::Default, &trace).0, "{}", gate.kind);
        }
    }
}

#[test]
fn metrics_without_evidence_are_absent_and_not_null() {
    for gate in GATES.iter().filter(|gate| gate.kind != GateKind::Reliability) {
        let (verdict, metrics) = evaluate(gate.kind, Expect::Default, &Trace::default());
        assert_eq!((verdict, metrics.object()), (Verdict::Unassessable, json!({})), "{}", gate.kind);
        for metric in gate.metrics {
            assert_eq!(metrics.get(metric.name), None);
            assert!(metrics.why_missing(metric.name).is_some(), "{}.{}", gate.prefix, metric.name);
        }
    }
}

#[test]
fn custom_assertions_on_missing_evidence_are_unassessable_even_under_not() {
    for gate in GATES.iter().filter(|gate| gate.kind != GateKind::Reliability) {
        let target = format!("{}.{}", gate.prefix, gate.metrics[0].name);
        for matcher in [json!({ "exact": 1 }), json!({ "not": { "exact": 1 } })] {
            let expect = own(gate.kind, &[(&target, matcher)]);
            assert_eq!(evaluate(gate.kind, expect, &Trace::default()).0, Verdict::Unassessable, "{target}");
        }
    }
}

#[test]
fn a_metric_without_a_value_fails_an_assertion_even_under_not() {
    for matcher in [json!({ "exact": 1 }), json!({ "not": { "exact": 1 } })] {
        let expect = own(GateKind::Recovery, &[("recovery.time_to_recovery_ms", matcher)]);
        assert_eq!(evaluate(GateKind::Recovery, expect, &bad()).0, Verdict::Fail);
    }
}

#[test]
fn every_parameter_and_metric_is_described() {
    for gate in &GATES {
        assert!(gate.question.ends_with('?'), "{}", gate.kind);
        assert!(gate.params.iter().all(|param| !param.value_type.describe().is_empty() && !param.meaning.is_empty()));
        assert!(gate.metrics.iter().all(|metric| !metric.meaning.is_empty()));
        let params: Vec<_> = gate.params.iter().map(|param| (param.name, param.default)).collect();
        let expected: &[(&str, &str)] = match gate.kind {
            GateKind::Trajectory => {
                &[("mode", "strict"), ("within_turn", "ordered"), ("calls", "[]"), ("max_extra", "")]
            }
            GateKind::TrajectoryAxes => &[("dependencies", "[]"), ("order", "[]")],
            GateKind::GoldenPath => &[
                ("calls", "[]"),
                ("allow_extra_steps", "false"),
                ("penalize_backtracking", "true"),
                ("penalize_repeated_tools", "true"),
            ],
            GateKind::Stability => &[("dimensions", "all four")],
            GateKind::Reliability => &[("confidence", "95"), ("at_least", "")],
            GateKind::Recovery => &[
                ("max_detection_ms", "3000"),
                ("max_recovery_ms", ""),
                ("require_clean_timeout", "false"),
                ("require_hit", "true"),
                ("require_call", "false"),
                ("faults", "injected"),
            ],
            GateKind::Narrative => &[
                ("mutating_tools", "[]"),
                ("readonly_tools", "[]"),
                ("mutating_verbs", "[]"),
                ("aliases", "{}"),
                ("max_divergence_score", ""),
                ("llm_assisted", "false"),
            ],
        };
        assert_eq!(params, expected, "{}", gate.kind);
    }
}

#[test]
fn entries_of_a_list_metric_are_targets_and_those_of_a_number_are_not() {
    let compile =
        |target: &str| Assertion::compile(Scope::Gate(GateKind::Reliability), target, &json!({ "exact": 100 }), None);
    for target in ["reliability.decay_curve[0]", "reliability.pass_at[1]", "reliability.pass_hat[-1]"] {
        assert!(compile(target).is_ok(), "{target}");
    }
    assert!(compile("reliability.runs[0]").is_err());
    assert!(compile("reliability.pass_rate.x").is_err());
    assert!(compile("reliability.decay_curve.x").is_err());
    assert!(compile("reliability").is_err());
}
