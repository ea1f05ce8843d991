//! The gate guides checked against the gates: examples load, worked numbers are right, every metric is explained.

use mcptest_core::diag::Source;
use mcptest_core::eval::narrative::Backing;
use mcptest_core::eval::trajectory_axes::EdgeResult;
use mcptest_core::eval::{
    ExpectedArgs, ExpectedCall, ExpectedTrace, GATES, GateGuide, GateKind, GateOutcome, GoldenPath, NarrativeGate,
    NarrativeParams, OrderEdge, TrajectoryAxesGate, TrajectoryAxesParams, score_golden_path, summarize, validate_trace,
};
use mcptest_core::suite::{GateFile, Variables, load_gates};
use mcptest_core::{Trace, Verdict};
use serde_json::json;

use crate::support::{called, read, recovery, stability};

/// Every text of a guide.
fn texts(guide: &GateGuide) -> Vec<&'static str> {
    let mut all = vec![guide.measures, guide.example, guide.formula, guide.source];
    all.extend(guide.reading);
    all.extend(guide.limits);
    all
}

/// The worked example says this, word for word.
fn says(kind: GateKind, wanted: &str) {
    let formula = kind.guide().formula;
    let (_, example) = formula.split_once("\nExample: ").unwrap();
    // A line ends where a screen does.
    let joined = example.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(joined.contains(wanted), "{kind}: the example does not say `{wanted}`\n{example}");
}

fn number<D>(outcome: &GateOutcome<D>, metric: &str) -> f64 {
    outcome.metrics.number(metric).unwrap_or_else(|| panic!("{metric} has no value"))
}

#[test]
fn every_example_is_a_valid_gates_file_with_that_gate() {
    for gate in &GATES {
        let text = gate.kind.guide().example;
        let source = Source::new("gates.yml", text);
        let loaded = load_gates(&source, &Variables { suite_dir: ".", outside: &|_| None });
        assert_eq!(loaded.diagnostics, [], "{}", gate.kind);
        let GateFile { expect, gates, .. } = loaded.value.unwrap();
        let present = [
            gates.trajectory.is_some(),
            gates.trajectory_axes.is_some(),
            gates.golden_path.is_some(),
            gates.stability.is_some(),
            gates.reliability.is_some(),
            gates.recovery.is_some(),
            gates.narrative.is_some(),
        ];
        assert_eq!(present.iter().filter(|present| **present).count(), 1, "{}", gate.kind);
        assert!(present[gate.kind as usize] && expect.is_empty(), "{}", gate.kind);
        assert!(text.contains("# "), "the example of {} explains nothing", gate.kind);
    }
}

#[test]
fn every_metric_is_in_the_formula_of_its_gate() {
    for gate in &GATES {
        let words: Vec<_> = gate.kind.guide().formula.split(|c: char| !c.is_alphanumeric() && c != '_').collect();
        for metric in gate.metrics {
            assert!(words.contains(&metric.name), "{}.{}", gate.prefix, metric.name);
        }
    }
}

#[test]
fn texts_are_plain_and_short() {
    for gate in &GATES {
        let guide = gate.kind.guide();
        for text in texts(guide) {
            assert!(!text.trim().is_empty(), "{} leaves something unsaid", gate.kind);
            for markup in ["](", "| ---", "**", "\t", "```"] {
                assert!(!text.contains(markup), "{}: {markup} in {text}", gate.kind);
            }
            let breaks = text == guide.example || text == guide.formula;
            assert!(breaks || !text.contains('\n'), "{}: {text}", gate.kind);
            assert_eq!(text.matches('`').count() % 2, 0, "{}: {text}", gate.kind);
        }
        assert!(guide.example.ends_with('\n') && !guide.formula.ends_with('\n') && !guide.formula.contains('`'));
        for line in guide.example.lines().chain(guide.formula.lines()) {
            assert!(line.chars().count() <= 98, "{}: {line}", gate.kind);
        }
    }
}

#[test]
fn the_numbers_of_trajectory_come_out() {
    let calls = read(json!({
        "tool_calls": [{ "name": "search", "args": { "q": "a" } }, { "name": "search", "args": { "q": "b" } }],
    }))
    .tool_calls
    .unwrap();
    let second = ExpectedCall { name: "search".into(), args: ExpectedArgs::Exact(json!({ "q": "a" })) };
    let expected = || vec![ExpectedCall::by_name("search"), second.clone()];
    let unordered = validate_trace(&calls, &ExpectedTrace::unordered(expected())).unwrap();
    assert_eq!(unordered.matched, [Some(1), Some(0)]);
    let matched = unordered.matched.iter().flatten().count();
    let count = unordered.mismatches.len();
    says(GateKind::Trajectory, &format!("{matched} of 2 expected calls matched, mismatch_count {count}"));
    let strict = validate_trace(&calls, &ExpectedTrace::strict(expected())).unwrap();
    assert_eq!(strict.mismatches[0].expected_index, Some(1));
    says(GateKind::Trajectory, &format!("differs in its args: mismatch_count {}", strict.mismatches.len()));
}

#[test]
fn the_numbers_of_trajectory_axes_come_out() {
    let order = |first: &str, second: &str| OrderEdge { first: first.into(), second: second.into(), required: false };
    let params = TrajectoryAxesParams {
        order: vec![order("a", "b"), order("b", "c"), order("c", "a")],
        ..TrajectoryAxesParams::default()
    };
    let outcome: GateOutcome<Vec<EdgeResult>> =
        TrajectoryAxesGate::new(params).unwrap().evaluate(&called(&["a", "b", "c"]));
    assert!(outcome.failures[0].reason.contains("ran before any c"), "{:?}", outcome.failures);
    let (satisfied, exercised) = (number(&outcome, "order_satisfaction"), number(&outcome, "edges_exercised"));
    says(GateKind::TrajectoryAxes, &format!("floor(100 * 2 / 3) = {satisfied}, edges_exercised {exercised}"));
}

#[test]
fn the_numbers_of_golden_path_come_out() {
    let calls = called(&["find", "find", "refund", "find"]).tool_calls.unwrap();
    let score = score_golden_path(&calls, &GoldenPath::new(["find", "refund"]));
    let counts = (score.extra_steps, score.repeated_tools, score.backtracks);
    let waste = counts.0 + counts.1 + counts.2;
    says(
        GateKind::GoldenPath,
        &format!(
            "extra_steps {}, repeated_tools {}, backtracks {}, waste {waste}, penalty 1 / (1 + {waste} / 2) = {:.2}",
            counts.0, counts.1, counts.2, score.penalty
        ),
    );
}

#[test]
fn the_numbers_of_stability_come_out() {
    let run = |calls: &[(&str, u8)]| -> Trace {
        let calls: Vec<_> =
            calls.iter().map(|(name, id)| json!({ "name": name, "server": "s", "args": { "id": id } })).collect();
        read(json!({ "tool_calls": calls, "conversation": { "turns": [], "tokens": { "total": 10 } } }))
    };
    let (one, two) = (run(&[("find", 1), ("find", 2), ("refund", 1)]), run(&[("find", 1), ("refund", 1)]));
    let outcome = stability().evaluate(&[&one, &two]);
    let value = |run: usize, at: usize| outcome.detail[run].scores[at].value.unwrap();
    says(
        GateKind::Stability,
        &format!("tool_usage_stability 1 - 1 / 2 = {:.2} and 1 - 1 / 1 = {:.2}", value(0, 0), value(1, 0)),
    );
    let others = (0..2).flat_map(|run| (1..4).map(move |at| (run, at)));
    assert!(others.map(|(run, at)| value(run, at)).all(|score| score == 1.0), "the other sub-scores are 1");
    let number = |metric| number(&outcome, metric);
    let (score, weakest, variance) = (number("score"), number("weakest_score"), number("variance"));
    says(GateKind::Stability, &format!("score {score:.2}, weakest_score {weakest:.2}, variance {variance:.4}"));
    let similar = number("tool_sequence_similarity");
    let (consistent, early) = (number("argument_consistency"), number("early_divergence"));
    says(
        GateKind::Stability,
        &format!(
            "tool_sequence_similarity 2 * 2 / 5 = {similar:.2}, argument_consistency 1 / 1 = {consistent:.2}, \
             early_divergence {early}"
        ),
    );
}

#[test]
fn the_numbers_of_reliability_come_out() {
    let outcomes: Vec<bool> = (1..=10).map(|run| run != 4 && run != 8).collect();
    let found = summarize(&outcomes);
    for wanted in [
        format!(
            "pass_rate {:.1}, wilson_low {:.1}, wilson_high {:.1}",
            found.pass_rate, found.wilson_low, found.wilson_high
        ),
        format!("pass_at[2] 1 - 2/10 * 1/9 = {:.2} %", found.pass_at[2]),
        format!("pass_hat[3] 8/10 * 7/9 * 6/8 = {:.2} %", found.pass_hat[3]),
        format!("passhat_k 0.8^10 = {} %", found.passhat_k),
        format!("variance_amplification {}", found.variance_amplification),
        format!("graceful_degradation (55 - 12) / 55 = {} %", found.graceful_degradation),
    ] {
        says(GateKind::Reliability, &wanted);
    }
    let bounds = format!("lower_bound {:.1}, upper_bound {:.1}", found.lower_bound, found.upper_bound);
    says(GateKind::Reliability, &bounds);
    let guide = GateKind::Reliability.guide();
    let contains = |wanted: String| assert!(texts(guide).iter().any(|text| text.contains(&wanted)), "{wanted}");
    contains(format!("`pass_at[2]` is {:.1} and `pass_hat[3]` only {:.1}", found.pass_at[2], found.pass_hat[3]));
    contains(format!("the interval begins at {:.1}", summarize(&[true; 3]).wilson_low));
}

#[test]
fn the_numbers_of_recovery_come_out() {
    let timeout = json!({
        "is_error": true,
        "error": { "kind": "timeout", "message": "" },
        "fault": { "name": "f", "kind": "recover_after", "effect": "timeout", "ms": 3000 },
    });
    let call = |turn: usize| json!({ "name": "find", "args": {}, "turn": turn });
    let trace = read(json!({
        "tool_calls": [call(1), call(3), call(5)],
        "tool_results": [timeout, timeout, { "is_error": false, "content": [] }],
        "final_response": "Found.",
        "conversation": { "stop_reason": "completed" },
    }));
    let outcome = recovery().evaluate(&trace);
    assert_eq!(outcome.verdict, Verdict::Pass);
    let metrics =
        ["fault_hits", "time_to_detection_ms", "time_to_recovery_ms", "user_visible_hang_ms", "recovered_by_call"];
    let values = metrics.map(|metric| format!("{metric} {}", number(&outcome, metric)));
    says(GateKind::Recovery, &values.join(", "));
    assert_eq!(outcome.line, "2 fault hits, 0 delays, detected after 3000 ms, recovered after 6000 ms");
    assert!(GateKind::Recovery.guide().reading[0].starts_with(&format!("`{}`", outcome.line)));
}

#[test]
fn the_numbers_of_narrative_come_out() {
    let message = "I refunded order 1043 and sent an email.";
    says(GateKind::Narrative, &format!("the message is: {message}"));
    let fine = json!({ "is_error": false });
    let trace = read(json!({
        "tool_calls": [{ "name": "find_order", "args": {} }, { "name": "refund_order", "args": {} }],
        "tool_results": [fine, fine],
        "final_response": message,
    }));
    let outcome = NarrativeGate::new(NarrativeParams::default()).unwrap().evaluate(&trace);
    let claims: Vec<_> = outcome.detail.claims.iter().map(|claim| (claim.stem.as_str(), claim.backing)).collect();
    assert_eq!(claims, [("refund_order", Backing::Backed), ("send_email", Backing::Absent)]);
    let number = |metric| number(&outcome, metric);
    says(
        GateKind::Narrative,
        &format!(
            "claimed_but_absent {}, present_but_unclaimed {}, divergence_score 2 / (2 + 2) = {:.2}, gate_passed {}",
            number("claimed_but_absent"),
            number("present_but_unclaimed"),
            number("divergence_score"),
            number("gate_passed")
        ),
    );
    assert!(GateKind::Narrative.guide().reading[0].starts_with(&format!("`{}`", outcome.line)));
}
