//! Pass rates over runs and what they are worth.

use mcptest_core::Verdict;
use mcptest_core::eval::reliability::summarize_at;
use mcptest_core::eval::{
    Confidence, GateKind, ReliabilityError, ReliabilityGate, ReliabilityParams, ReliabilitySummary, confidence_band,
    recommend_runs, summarize,
};
use serde_json::{Value, json};

use crate::support::{judged, own, reliability};

fn outcomes(written: &str) -> Vec<bool> {
    written.chars().map(|c| c == 'p').collect()
}

fn close(found: f64, expected: f64) {
    assert!((found - expected).abs() < 1e-9, "{found} is not {expected}");
}

#[test]
fn five_percent_at_95_takes_385_runs() {
    assert_eq!(recommend_runs(0.05, 95), Ok(385));
    // ceil((z / half_width)^2 / 4), by hand.
    for (half_width, confidence, runs) in [
        (0.1, 95, 97),
        (0.01, 95, 9604),
        (0.5, 95, 4),
        (0.05, 90, 271),
        (0.1, 90, 68),
        (0.05, 99, 664),
        (0.5, 99, 7),
        (0.098, 95, 100),
        (0.49, 95, 4),
    ] {
        assert_eq!(recommend_runs(half_width, confidence), Ok(runs), "{half_width} at {confidence}");
    }
}

#[test]
fn a_hundred_runs_buy_9_point_8_percent() {
    assert_eq!(confidence_band(100, 95), Ok(0.098));
    assert_eq!(confidence_band(1, 95), Ok(0.98));
    assert_eq!(confidence_band(4, 90), Ok(1.645 * 0.25));
    close(confidence_band(400, 99).unwrap(), 2.576 * 0.025);
}

#[test]
fn invalid_parameters_are_errors() {
    for half_width in [0.0, -0.1, 0.51, 1.0, f64::INFINITY] {
        assert_eq!(recommend_runs(half_width, 95), Err(ReliabilityError::HalfWidth(half_width)));
    }
    assert!(matches!(recommend_runs(f64::NAN, 95), Err(ReliabilityError::HalfWidth(_))));
    assert_eq!(recommend_runs(1e-300, 95), Err(ReliabilityError::TooManyRuns(1e-300)));
    for level in [0, 50, 94, 100, 9_999] {
        assert_eq!(recommend_runs(0.05, level), Err(ReliabilityError::UnknownConfidence(level)));
        assert_eq!(confidence_band(5, level), Err(ReliabilityError::UnknownConfidence(level)));
    }
    assert_eq!(confidence_band(0, 95), Err(ReliabilityError::NoRuns));
    assert_eq!(ReliabilityError::UnknownConfidence(94).to_string(), "confidence must be 90, 95 or 99, found 94");
    assert_eq!(
        ReliabilityError::HalfWidth(0.6).to_string(),
        "half-width must be greater than 0 and at most 0.5, found 0.6"
    );
}

#[test]
fn the_decay_curve_is_truncated() {
    let curve = |written: &str| summarize(&outcomes(written)).decay_curve;
    assert_eq!(curve("pppf"), [100, 100, 100, 31]);
    assert_eq!(curve("fppp"), [0, 25, 29, 31]);
    assert_eq!(curve("ffff"), [0, 0, 0, 0]);
    assert_eq!(curve("pf"), [100, 25]);
    assert_eq!(curve("pppppppp"), [100; 8]);
    assert_eq!(curve(""), [0; 0]);
}

#[test]
fn late_failures_cost_more() {
    let graceful = |written: &str| summarize(&outcomes(written)).graceful_degradation;
    assert_eq!(graceful("fppp"), 90);
    assert_eq!(graceful("pppf"), 60);
    assert_eq!(graceful("pppp"), 100);
    assert_eq!(graceful("ffff"), 0);
    assert_eq!(graceful("pf"), 33, "33.3 rounds down");
    assert_eq!(graceful("fp"), 67, "66.7 rounds up");
}

#[test]
fn an_even_split_has_the_most_variance() {
    let variance = |written: &str| summarize(&outcomes(written)).variance_amplification;
    assert_eq!(variance("pfpf"), 100);
    assert_eq!(variance("pppp"), 0);
    assert_eq!(variance("ffff"), 0);
    assert_eq!(variance("pppf"), 87, "sqrt(3)/4 over a half");
    assert_eq!(variance("ppf"), 94);
    assert_eq!(variance("p"), 0);
}

#[test]
fn pass_hat_k_is_100_exactly_when_every_run_passed() {
    let long = |failures: usize| [vec![true; 1000 - failures], vec![false; failures]].concat();
    for (all, passed) in [(outcomes("p"), true), (long(0), true), (long(1), false), (outcomes("fp"), false)] {
        let summary = summarize(&all);
        assert_eq!((summary.passhat_k == 100, summary.all_passed), (passed, passed));
        assert_eq!(Some(&summary.passhat_k), summary.decay_curve.last());
    }
}

/// `C(n, k)` in integers.
fn choose(n: u64, k: u64) -> u64 {
    if k > n { 0 } else { (0..k).fold(1, |c, i| c * (n - i) / (i + 1)) }
}

#[test]
fn pass_at_and_pass_hat_are_the_unbiased_estimates() {
    for runs in 1..=12_u64 {
        for passes in 0..=runs {
            let all: Vec<bool> = (0..runs).map(|at| at < passes).collect();
            let summary = summarize(&all);
            assert_eq!((summary.pass_at.len() as u64, summary.pass_hat.len() as u64), (runs + 1, runs + 1));
            for (k, (any, every)) in (0..).zip(summary.pass_at.iter().zip(&summary.pass_hat)) {
                let draws = choose(runs, k) as f64;
                close(*any, 100.0 * (1.0 - choose(runs - passes, k) as f64 / draws));
                close(*every, 100.0 * choose(passes, k) as f64 / draws);
            }
        }
    }
    let summary = summarize(&outcomes("ppf"));
    assert_eq!(summary.resolve_target("reliability.pass_at[0]"), Some(json!(0.0)));
    assert_eq!(summary.resolve_target("reliability.pass_hat[0]"), Some(json!(100.0)));
    assert_eq!(summary.resolve_target("reliability.pass_at[2]"), Some(json!(100.0)), "two draws hit a pass");
    assert_eq!(summary.resolve_target("reliability.pass_hat[3]"), Some(json!(0.0)));
    assert_eq!(summary.resolve_target("reliability.pass_hat[4]"), None);
}

#[test]
fn the_wilson_interval_has_its_known_values() {
    let interval = |passes: usize, runs: usize, level| {
        let all: Vec<bool> = (0..runs).map(|at| at < passes).collect();
        let summary = summarize_at(&all, level);
        (summary.wilson_low, summary.wilson_high)
    };
    // Computed from the formula with the exact quantiles in independent arithmetic.
    for (passes, runs, level, low, high) in [
        (8, 10, Confidence::P95, 49.016_247_153_664_18, 94.331_784_854_562_47),
        (5, 10, Confidence::P95, 23.659_309_051_256_4, 76.340_690_948_743_6),
        (50, 100, Confidence::P95, 40.383_153_036_599_56, 59.616_846_963_400_44),
        (8, 10, Confidence::P90, 54.079_280_568_748_8, 93.144_201_226_246_8),
        (8, 10, Confidence::P99, 40.081_869_652_167_164, 95.986_884_749_538_36),
    ] {
        let found = interval(passes, runs, level);
        assert!(
            (found.0 - low).abs() < 1e-9 && (found.1 - high).abs() < 1e-9,
            "{passes} of {runs}: {found:?}, expected {low} to {high}"
        );
    }
    let all = interval(10, 10, Confidence::P95);
    assert_eq!(all.1, 100.0);
    assert!((all.0 - 72.246_7).abs() < 1e-3, "{all:?}");
    let none = interval(0, 10, Confidence::P95);
    assert_eq!(none.0, 0.0);
    assert!((none.1 - 27.753).abs() < 1e-3, "{none:?}");
}

#[test]
fn a_summary_has_every_number() {
    let summary = summarize(&outcomes("pppf"));
    let ReliabilitySummary { wilson_low, wilson_high, lower_bound, upper_bound, .. } = summary;
    assert_eq!(format!("{lower_bound:.4} {upper_bound:.4}"), "24.8605 98.7259");
    assert_eq!(
        summary,
        ReliabilitySummary {
            runs: 4,
            pass_at_k: 100,
            passhat_k: 31,
            all_passed: false,
            variance_amplification: 87,
            graceful_degradation: 60,
            decay_curve: vec![100, 100, 100, 31],
            pass_rate: 75.0,
            wilson_low,
            wilson_high,
            lower_bound,
            upper_bound,
            pass_at: vec![0.0, 75.0, 100.0, 100.0, 100.0],
            pass_hat: vec![100.0, 75.0, 50.0, 25.0, 0.0],
        }
    );
    assert_eq!(
        summary.metrics_object(),
        json!({
            "runs": 4, "pass_at_k": 100, "passhat_k": 31, "all_passed": 0, "variance_amplification": 87,
            "graceful_degradation": 60, "decay_curve": [100, 100, 100, 31], "pass_rate": 75.0,
            "wilson_low": wilson_low, "wilson_high": wilson_high,
            "lower_bound": lower_bound, "upper_bound": upper_bound,
            "pass_at": [0.0, 75.0, 100.0, 100.0, 100.0], "pass_hat": [100.0, 75.0, 50.0, 25.0, 0.0],
        })
    );
}

#[test]
fn targets_resolve_by_path_and_only_below_their_prefix() {
    let summary = summarize(&outcomes("pppf"));
    for (target, value) in [
        ("reliability.runs", Some(json!(4))),
        ("reliability.pass_at_k", Some(json!(100))),
        ("reliability.passhat_k", Some(json!(31))),
        ("reliability.variance_amplification", Some(json!(87))),
        ("reliability.graceful_degradation", Some(json!(60))),
        ("reliability.decay_curve[3]", Some(json!(31))),
        ("reliability.decay_curve[-1]", Some(json!(31))),
        ("reliability.decay_curve[4]", None),
        ("reliability.nothing", None),
        ("stability.runs", None),
        ("runs", None),
        ("reliability[", None),
        ("", None),
    ] {
        assert_eq!(summary.resolve_target(target), value, "{target}");
    }
    assert_eq!(summarize(&outcomes("ff")).resolve_target("reliability.pass_at_k"), Some(json!(0)));
}

#[test]
fn no_outcomes_are_zeros_and_unassessable() {
    let zeros = ReliabilitySummary {
        runs: 0,
        pass_at_k: 0,
        passhat_k: 0,
        all_passed: false,
        variance_amplification: 0,
        graceful_degradation: 0,
        decay_curve: vec![],
        pass_rate: 0.0,
        wilson_low: 0.0,
        wilson_high: 0.0,
        lower_bound: 0.0,
        upper_bound: 0.0,
        pass_at: vec![0.0],
        pass_hat: vec![0.0],
    };
    assert_eq!(summarize(&[]), zeros);
    for expect in [
        mcptest_core::eval::Expect::Default,
        own(GateKind::Reliability, &[("reliability.runs", json!({ "exact": 0 }))]),
    ] {
        let gate = ReliabilityGate::new(ReliabilityParams { expect, ..ReliabilityParams::default() }).unwrap();
        assert_eq!(
            judged(&gate.evaluate(&[])),
            (Verdict::Unassessable, vec!["reliability.runs: not assessable: no run has an outcome".into()])
        );
    }
}

#[test]
fn the_gate_asserts_that_every_run_passed() {
    let gate = reliability();
    assert_eq!(judged(&gate.evaluate(&outcomes("ppp"))), (Verdict::Pass, vec![]));
    let found = gate.evaluate(&outcomes("pppf"));
    assert_eq!(found.line, "3 of 4 runs passed, 75.0% (95% interval 30.1% to 95.4%)");
    assert_eq!(
        judged(&found),
        (
            Verdict::Fail,
            vec![format!(
                "reliability.passhat_k: {} (`reliability.passhat_k` is 31, expected at least 100)",
                found.line
            )]
        )
    );
    let expect = own(GateKind::Reliability, &[("reliability.pass_rate", json!({ "schema": { "minimum": 75 } }))]);
    let lenient =
        ReliabilityGate::new(ReliabilityParams { expect, confidence: Confidence::P90, ..ReliabilityParams::default() })
            .unwrap();
    assert_eq!(lenient.evaluate(&outcomes("pppf")).verdict, Verdict::Pass);
    assert_eq!(lenient.evaluate(&outcomes("ppff")).verdict, Verdict::Fail);
    assert_eq!(lenient.evaluate(&outcomes("pppf")).line, "3 of 4 runs passed, 75.0% (90% interval 35.6% to 94.2%)");
}

#[test]
fn numbers_are_rounded_in_messages_unless_rounding_would_make_them_pass() {
    let reason = |target: &str, matcher: Value| {
        let expect = own(GateKind::Reliability, &[(target, matcher)]);
        let outcome = ReliabilityGate::new(ReliabilityParams { expect, ..ReliabilityParams::default() })
            .unwrap()
            .evaluate(&outcomes("ppf"));
        let full = outcome.metrics.get("pass_rate");
        assert_eq!(full, Some(json!(200.0 / 3.0)), "the metric itself keeps every digit");
        outcome.failures[0].reason.clone()
    };
    let least = |minimum: f64| json!({ "schema": { "minimum": minimum } });
    assert_eq!(
        reason("reliability.pass_rate", least(90.0)),
        "`reliability.pass_rate` is 66.6667, expected schema {\"minimum\":90,\"type\":\"number\"}"
    );
    assert_eq!(
        reason("reliability.pass_rate", least(66.6667)),
        "`reliability.pass_rate` is 66.66666666666667, expected schema {\"minimum\":66.6667,\"type\":\"number\"}"
    );
    assert_eq!(
        reason("reliability.pass_hat", json!({ "exact": [] })),
        "`reliability.pass_hat` is [100,66.6667,33.3333,0], expected exact []"
    );
}

#[test]
fn there_are_three_confidence_levels() {
    for (percent, level, z) in [(90, Confidence::P90, 1.645), (95, Confidence::P95, 1.96), (99, Confidence::P99, 2.576)]
    {
        assert_eq!(Confidence::from_percent(percent), Ok(level));
        assert_eq!((level.percent(), level.z()), (percent, z));
    }
    assert_eq!(Confidence::default(), Confidence::P95);
    assert_eq!(Confidence::from_percent(80), Err(ReliabilityError::UnknownConfidence(80)));
}

/// The gate with a rate to show, for a fixed number of runs or for runs that stop when they settle it.
fn at_least(rate: f64, settles_from: Option<u64>) -> ReliabilityGate {
    let params = ReliabilityParams { at_least: Some(rate), settles_from, ..ReliabilityParams::default() };
    ReliabilityGate::new(params).unwrap()
}

#[test]
fn a_rate_is_proven_refuted_or_undecided() {
    let gate = at_least(0.9, None);
    let passed = gate.evaluate(&[true; 29]);
    assert_eq!(judged(&passed), (Verdict::Pass, vec![]));
    assert_eq!(
        passed.line,
        "29 of 29 runs passed; the true rate is at least 90.2% at 95% confidence (required: at least 90%)"
    );
    let open = gate.evaluate(&[true; 28]);
    let line =
        "28 of 28 runs passed; the true rate is between 89.9% and 100.0% at 95% confidence (required: at least 90%)";
    assert_eq!(open.line, line);
    assert_eq!(
        judged(&open),
        (
            Verdict::Inconclusive,
            vec![format!("reliability.lower_bound: {line}: not enough to tell; 1 more straight pass would show 90%")]
        )
    );
    let failed = gate.evaluate(&outcomes("ppfppfppfp"));
    let line =
        "7 of 10 runs passed; the true rate is between 39.3% and 91.3% at 95% confidence (required: at least 90%)";
    assert_eq!((failed.verdict, &*failed.line), (Verdict::Inconclusive, line));
    let failed = gate.evaluate(&outcomes("ppfppfppff"));
    let line = "6 of 10 runs passed; the true rate is at most 85.0% at 95% confidence (required: at least 90%)";
    assert_eq!(judged(&failed), (Verdict::Fail, vec![format!("reliability.upper_bound: {line}")]));
}

#[test]
fn bounds_decide_as_the_verdict_does() {
    for rate in [0.2, 0.5, 0.8, 0.9] {
        for settles_from in [None, Some(40)] {
            let gate = at_least(rate, settles_from);
            for runs in [1, 2, 5, 13, 40] {
                for passes in 0..=runs {
                    let all: Vec<bool> = (0..runs).map(|at| at < passes).collect();
                    let found = gate.evaluate(&all);
                    let due = if found.detail.lower_bound >= 100.0 * rate {
                        Verdict::Pass
                    } else if found.detail.upper_bound < 100.0 * rate {
                        Verdict::Fail
                    } else {
                        Verdict::Inconclusive
                    };
                    assert_eq!(found.verdict, due, "{passes}/{runs} at {rate}, {settles_from:?}");
                }
            }
        }
    }
}

#[test]
fn runs_after_the_decision_do_not_count() {
    let gate = at_least(0.9, Some(5));
    assert_eq!(gate.evaluate(&[true; 42]).verdict, Verdict::Inconclusive);
    let settled = gate.evaluate(&[true; 43]);
    assert_eq!(settled.verdict, Verdict::Pass);
    let late = gate.evaluate(&[vec![true; 43], vec![false; 3]].concat());
    assert_eq!(
        (late.verdict, &*late.line),
        (
            Verdict::Pass,
            "settled after 43 runs, 43 passed (3 more ran and do not count); the true rate is at least 90.1% at 95% \
             confidence (required: at least 90%)"
        )
    );
    assert_eq!(late.detail.lower_bound, settled.detail.lower_bound);
    assert_eq!(late.detail.runs, 46, "the other numbers are about all runs");
    assert_eq!(gate.evaluate(&[false; 5]).verdict, Verdict::Fail);
    assert_eq!(gate.evaluate(&[false; 2]).verdict, Verdict::Fail, "fewer runs than the least are all there is");
}

#[test]
fn assertions_count_next_to_a_rate() {
    let expect = own(GateKind::Reliability, &[("reliability.runs", json!({ "schema": { "minimum": 50 } }))]);
    let params = ReliabilityParams { at_least: Some(0.5), expect, ..ReliabilityParams::default() };
    let gate = ReliabilityGate::new(params).unwrap();
    assert_eq!(gate.evaluate(&[true; 50]).verdict, Verdict::Pass);
    assert_eq!(gate.evaluate(&[true; 49]).verdict, Verdict::Fail);
}
