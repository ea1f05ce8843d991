//! `reliability`: how often runs pass, how certain that is, and how many runs it takes.
//!
//! Only integers and `+ - * / sqrt` are used, so every machine prints the same digits.

mod decide;

use serde::Serialize;
use serde_json::{Value, json};

pub use self::decide::Requirement;
use super::gate::{Expect, GateKind, GateOutcome, Judge, Reason};
use super::metrics::Metrics;
use crate::diag::{Code, Problem, Problems};
use crate::stats;
use crate::target::{Selection, Target};

/// Up to this many runs, metrics with an entry per run are reported.
const MAX_LISTED: usize = 10_000;

/// Parameters without an answer.
#[derive(Debug, Clone, Copy, PartialEq, thiserror::Error)]
pub enum ReliabilityError {
    /// Only 90, 95 and 99 percent are supported.
    #[error("confidence must be 90, 95 or 99, found {0}")]
    UnknownConfidence(u32),
    /// An interval needs at least one run.
    #[error("runs must be at least 1, found 0")]
    NoRuns,
    /// A half-width outside 0 to 0.5.
    #[error("half-width must be greater than 0 and at most 0.5, found {0}")]
    HalfWidth(f64),
    /// A half-width so small that the number of runs cannot be counted.
    #[error("half-width {0} asks for more runs than can be counted")]
    TooManyRuns(f64),
}

/// A supported confidence level.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Confidence {
    /// 90 percent.
    P90,
    /// 95 percent.
    #[default]
    P95,
    /// 99 percent.
    P99,
}

impl Confidence {
    /// Parses a level in percent.
    pub fn from_percent(percent: u32) -> Result<Self, ReliabilityError> {
        match percent {
            90 => Ok(Self::P90),
            95 => Ok(Self::P95),
            99 => Ok(Self::P99),
            other => Err(ReliabilityError::UnknownConfidence(other)),
        }
    }

    /// The level in percent.
    pub fn percent(self) -> u32 {
        match self {
            Self::P90 => 90,
            Self::P95 => 95,
            Self::P99 => 99,
        }
    }

    /// The standard normal critical value as tables print it, for planning.
    pub fn z(self) -> f64 {
        match self {
            Self::P90 => 1.645,
            Self::P95 => 1.96,
            Self::P99 => 2.576,
        }
    }

    /// The same to the last digit, for intervals.
    pub fn exact_z(self) -> f64 {
        match self {
            Self::P90 => 1.644_853_626_951_472_2,
            Self::P95 => 1.959_963_984_540_054,
            Self::P99 => 2.575_829_303_548_900_4,
        }
    }

    /// The chance of a wrong answer that it allows.
    pub fn error(self) -> f64 {
        f64::from(100 - self.percent()) / 100.0
    }
}

/// Runs needed so that the pass rate is known to within `half_width` (0.05 is plus or minus 5 percent).
///
/// ```
/// use mcptest_core::eval::{confidence_band, recommend_runs};
///
/// assert_eq!(recommend_runs(0.1, 90)?, 68);
/// assert!(confidence_band(68, 90)? <= 0.1);
/// # Ok::<(), mcptest_core::eval::ReliabilityError>(())
/// ```
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "the value is whole, positive and below 2^53"
)]
pub fn recommend_runs(half_width: f64, confidence: u32) -> Result<u64, ReliabilityError> {
    let z = Confidence::from_percent(confidence)?.z();
    if !(half_width > 0.0 && half_width <= 0.5) {
        return Err(ReliabilityError::HalfWidth(half_width));
    }
    let ratio = z / half_width;
    let runs = (ratio * ratio * 0.25 - 1e-9).ceil();
    if runs < 9_007_199_254_740_992.0 { Ok(runs as u64) } else { Err(ReliabilityError::TooManyRuns(half_width)) }
}

/// The worst-case half-width that a number of runs buys.
pub fn confidence_band(runs: u64, confidence: u32) -> Result<f64, ReliabilityError> {
    let z = Confidence::from_percent(confidence)?.z();
    if runs == 0 {
        return Err(ReliabilityError::NoRuns);
    }
    Ok(z * (0.25 / runs as f64).sqrt())
}

/// A summary of the outcomes of several runs.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ReliabilitySummary {
    /// Number of runs.
    pub runs: usize,
    /// 100 when at least one run passed, else 0.
    pub pass_at_k: u32,
    /// Last entry of the decay curve.
    pub passhat_k: u32,
    /// Every run passed, and there was at least one.
    pub all_passed: bool,
    /// Spread of the outcomes in percent of the maximum.
    pub variance_amplification: u32,
    /// Passes weighted by position, in percent.
    pub graceful_degradation: u32,
    /// Entry i: `(passes/k)^k` over the first `k = i + 1` runs, in truncated percent.
    pub decay_curve: Vec<u32>,
    /// Passes over runs, in percent.
    pub pass_rate: f64,
    /// Lower end of the Wilson interval, in percent.
    pub wilson_low: f64,
    /// Upper end of the Wilson interval, in percent.
    pub wilson_high: f64,
    /// One-sided lower bound of the true pass rate, in percent.
    pub lower_bound: f64,
    /// One-sided upper bound of the true pass rate, in percent.
    pub upper_bound: f64,
    /// Entry k: unbiased chance, in percent, that at least one of k runs passes.
    pub pass_at: Vec<f64>,
    /// Entry k: unbiased chance, in percent, that all of k runs pass.
    pub pass_hat: Vec<f64>,
}

/// Summarizes outcomes in run order, with a 95 percent interval. No outcomes give zeros.
///
/// ```
/// use mcptest_core::eval::summarize;
/// use serde_json::json;
///
/// let summary = summarize(&[true, false, true, true, true]);
/// assert_eq!(summary.decay_curve, [100, 25, 29, 31, 32]);
/// assert_eq!(summary.resolve_target("reliability.graceful_degradation"), Some(json!(87)));
/// assert_eq!(summary.metrics_object()["pass_at_k"], json!(100));
/// ```
pub fn summarize(outcomes: &[bool]) -> ReliabilitySummary {
    summarize_at(outcomes, Confidence::default())
}

/// Summarizes outcomes with an interval at the given confidence.
pub fn summarize_at(outcomes: &[bool], confidence: Confidence) -> ReliabilitySummary {
    let runs = outcomes.len();
    let passes = outcomes.iter().filter(|passed| **passed).count();
    let decay_curve = decay(outcomes);
    let (wilson_low, wilson_high) = wilson(passes, runs, confidence.exact_z());
    let (count, all) = (passes as u64, runs as u64);
    ReliabilitySummary {
        runs,
        pass_at_k: if passes > 0 { 100 } else { 0 },
        passhat_k: decay_curve.last().copied().unwrap_or(0),
        all_passed: runs > 0 && passes == runs,
        variance_amplification: variance_amplification(passes, runs),
        graceful_degradation: graceful_degradation(outcomes),
        decay_curve,
        pass_rate: if runs == 0 { 0.0 } else { 100.0 * passes as f64 / runs as f64 },
        wilson_low,
        wilson_high,
        lower_bound: 100.0 * stats::lower_bound(count, all, confidence.error()),
        upper_bound: if runs == 0 { 0.0 } else { 100.0 * stats::upper_bound(count, all, confidence.error()) },
        pass_at: if runs == 0 { vec![0.0] } else { draws(runs - passes, runs).map(|none| 100.0 - none).collect() },
        pass_hat: if runs == 0 { vec![0.0] } else { draws(passes, runs).collect() },
    }
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a percent from 0 to 100")]
fn decay(outcomes: &[bool]) -> Vec<u32> {
    let mut passes = 0_u32;
    outcomes
        .iter()
        .zip(1_u32..)
        .map(|(passed, k)| {
            passes += u32::from(*passed);
            (power(f64::from(passes) / f64::from(k), k) * 100.0) as u32
        })
        .collect()
}

/// `base^exponent` by squaring; library `powi` may differ between machines in the last digit.
fn power(mut base: f64, mut exponent: u32) -> f64 {
    let mut result = 1.0;
    while exponent > 0 {
        if exponent & 1 == 1 {
            result *= base;
        }
        base *= base;
        exponent >>= 1;
    }
    result
}

/// `round(std_dev / 0.5 * 100)` of the pass indicators.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a percent from 0 to 100")]
fn variance_amplification(passes: usize, runs: usize) -> u32 {
    if runs == 0 {
        return 0;
    }
    let deviation = (passes as f64 * (runs - passes) as f64).sqrt() / runs as f64;
    (deviation / 0.5 * 100.0 + 0.5) as u32
}

/// `round(100 * sum(position of passes) / sum(positions))`, in integers.
fn graceful_degradation(outcomes: &[bool]) -> u32 {
    let positions = || (1_u128..).zip(outcomes);
    let total: u128 = positions().map(|(position, _)| position).sum();
    let passed: u128 = positions().filter(|(_, passed)| **passed).map(|(position, _)| position).sum();
    let rounded = (200 * passed + total).checked_div(2 * total).unwrap_or(0);
    u32::try_from(rounded).unwrap_or(100)
}

/// Percent chance, for k from 0 to `all`, that k runs drawn without replacement are all `good`.
fn draws(good: usize, all: usize) -> impl Iterator<Item = f64> {
    let mut chance = 1.0;
    (0..=all).map(move |k| {
        if k > 0 {
            chance *= good.saturating_sub(k - 1) as f64 / (all - (k - 1)) as f64;
        }
        100.0 * chance
    })
}

/// The Wilson interval of a pass rate, in percent.
fn wilson(passes: usize, runs: usize, z: f64) -> (f64, f64) {
    let (low, high) = wilson_interval(passes as u64, runs as u64, z);
    (100.0 * low, 100.0 * high)
}

/// The Wilson interval of a pass rate, from 0 to 1.
pub fn wilson_interval(passes: u64, runs: u64, z: f64) -> (f64, f64) {
    if runs == 0 {
        return (0.0, 0.0);
    }
    let (n, p) = (runs as f64, passes as f64 / runs as f64);
    let square = z * z;
    let scale = 1.0 + square / n;
    let center = (p + square / (2.0 * n)) / scale;
    let half = z * (p * (1.0 - p) / n + square / (4.0 * n * n)).sqrt() / scale;
    // The formula is exact at both ends, floating point is not.
    let low = if passes == 0 { 0.0 } else { (center - half).max(0.0) };
    let high = if passes == runs { 1.0 } else { (center + half).min(1.0) };
    (low, high)
}

impl ReliabilitySummary {
    fn metrics(&self) -> Metrics {
        let mut metrics = Metrics::of(GateKind::Reliability.info());
        metrics.set_flag("all_passed", self.all_passed);
        metrics.set("graceful_degradation", self.graceful_degradation);
        metrics.set("lower_bound", self.lower_bound);
        metrics.set("pass_at_k", self.pass_at_k);
        metrics.set("pass_rate", self.pass_rate);
        metrics.set("passhat_k", self.passhat_k);
        metrics.set("runs", self.runs);
        metrics.set("upper_bound", self.upper_bound);
        metrics.set("variance_amplification", self.variance_amplification);
        metrics.set("wilson_high", self.wilson_high);
        metrics.set("wilson_low", self.wilson_low);
        if self.runs <= MAX_LISTED {
            metrics.set("decay_curve", json!(self.decay_curve));
            metrics.set("pass_at", json!(self.pass_at));
            metrics.set("pass_hat", json!(self.pass_hat));
        } else {
            for name in ["decay_curve", "pass_at", "pass_hat"] {
                metrics.lacks_evidence(
                    name,
                    format!("it has an entry per run, and there are more than {MAX_LISTED} runs"),
                );
            }
        }
        metrics
    }

    /// Every metric, without the `reliability.` prefix.
    pub fn metrics_object(&self) -> Value {
        self.metrics().object()
    }

    /// The value of a target such as `reliability.decay_curve[2]`; `None` for one that selects nothing.
    pub fn resolve_target(&self, target: &str) -> Option<Value> {
        let target = Target::parse(target).ok().filter(|target| target.root() == "reliability")?;
        match target.select_below_root(&self.metrics_object()) {
            Selection::Found(value) => Some(value.into_owned()),
            Selection::Nothing { .. } => None,
        }
    }
}

/// Parameters of the gate.
#[derive(Debug, Clone, Default)]
pub struct ReliabilityParams {
    /// Confidence of the interval and of the bounds.
    pub confidence: Confidence,
    /// The pass rate to show, above 0 and below 1. It replaces the default assertion.
    pub at_least: Option<f64>,
    /// Runs stop when they settle the rate, but not before this many. Without it their number was fixed in advance.
    pub settles_from: Option<u64>,
    /// What is asserted.
    pub expect: Expect,
}

/// The compiled gate.
#[derive(Debug, Clone)]
pub struct ReliabilityGate {
    params: ReliabilityParams,
}

impl ReliabilityGate {
    /// Compiles the gate. Paths of problems start at the gate's block.
    pub fn new(params: ReliabilityParams) -> Result<Self, Problems> {
        let mut problems = params.expect.problems();
        if let Some(rate) = params.at_least.filter(|rate| !(*rate > 0.0 && *rate < 1.0)) {
            let message = format!("`at_least` must be above 0 and below 1, found {rate}");
            let hint = if rate >= 1.0 {
                "no number of runs shows a rate of 1; leave it out to require that every recorded run passes"
            } else {
                "every agent has a rate of at least 0; write a rate such as 0.9"
            };
            problems.0.push(Problem::new(Code::WrongType, "/at_least", message).hint(hint));
        }
        problems.or(Self { params })
    }

    /// The same gate, for runs that stop when they settle the rate, after `min` of them at the earliest.
    #[must_use]
    pub fn settling_from(mut self, min: u64) -> Self {
        self.params.settles_from = Some(min);
        self
    }

    /// What the runs must show, if the gate has `at_least`.
    pub fn requirement(&self) -> Option<Requirement> {
        let ReliabilityParams { confidence, at_least, settles_from, .. } = self.params;
        at_least.map(|rate| Requirement { rate, confidence, settles_from })
    }

    /// Evaluates the outcomes of all runs of a cell, in run order.
    pub fn evaluate(&self, outcomes: &[bool]) -> GateOutcome<ReliabilitySummary> {
        let gate = GateKind::Reliability.info();
        let mut summary = summarize_at(outcomes, self.params.confidence);
        let mut judge = Judge::default();
        if let Some(requirement) = self.requirement().filter(|_| !outcomes.is_empty()) {
            let decision = requirement.decide(outcomes);
            (summary.lower_bound, summary.upper_bound) = (100.0 * decision.lower, 100.0 * decision.upper);
            let line = decision.line(&requirement, outcomes.len());
            decision.judge(&requirement, &line, &mut judge);
            let metrics = summary.metrics();
            if let Expect::Custom(_) = self.params.expect {
                judge.expect(gate, &self.params.expect, &metrics, |_| vec![Reason::line(line.clone())]);
            }
            return judge.outcome(metrics, summary, |_| line);
        }
        let metrics = summary.metrics();
        let passes = outcomes.iter().filter(|passed| **passed).count();
        let line = format!(
            "{passes} of {} runs passed, {:.1}% ({}% interval {:.1}% to {:.1}%)",
            summary.runs,
            summary.pass_rate,
            self.params.confidence.percent(),
            summary.wilson_low,
            summary.wilson_high
        );
        if outcomes.is_empty() {
            judge.unassessable("reliability.runs", "not assessable: no run has an outcome");
        } else {
            judge.expect(gate, &self.params.expect, &metrics, |_| vec![Reason::line(line.clone())]);
        }
        judge.outcome(metrics, summary, |_| line)
    }
}
