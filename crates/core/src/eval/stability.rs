//! `stability`: steadiness inside one session, and of the way taken across runs.
//!
//! `session` folds one run into four sub-scores, `across` compares runs, this file holds the library's reports and
//! the gate. A sub-score without evidence is absent and takes no part in the weakest score.

mod across;
mod lcs;
mod numbers;
mod session;
mod within;

use serde::Serialize;
use serde_json::Value;

use super::gate::{Expect, GateOutcome, Judge, Metrics, Why};
use super::table::GateKind;
use crate::trace::{Trace, read_lenient};
pub use across::MAX_CLASSES;
use across::Paths;
pub(crate) use numbers::{ArgsKey, Digest};
pub(crate) use session::Measures;
pub use session::{SUB_SCORES, Session, SubScore};
pub(crate) use within::Within;

/// The four sub-scores of one session, each from 0 (degraded) to 1 (steady).
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct StabilityReport {
    /// How few different tools were used over the calls.
    pub tool_usage_stability: f64,
    /// How alike in length the assistant's answers were.
    pub response_consistency: f64,
    /// Share of calls that repeat no earlier call.
    pub redundancy: f64,
    /// Tokens spent against distinct calls made.
    pub cost_per_progress: f64,
}

impl StabilityReport {
    fn scores(&self) -> [f64; 4] {
        [self.tool_usage_stability, self.response_consistency, self.redundancy, self.cost_per_progress]
    }

    /// The lowest of the four.
    pub fn weakest_score(&self) -> f64 {
        self.scores().into_iter().fold(1.0, f64::min)
    }

    /// All four on one line.
    pub fn summary(&self) -> String {
        let parts: Vec<_> =
            SUB_SCORES.iter().zip(self.scores()).map(|(name, score)| format!("{name} {score:.2}")).collect();
        parts.join(", ")
    }
}

/// Least acceptable value of each sub-score.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct StabilityFloors {
    /// Floor of `tool_usage_stability`.
    pub tool_usage_stability: f64,
    /// Floor of `response_consistency`.
    pub response_consistency: f64,
    /// Floor of `redundancy`.
    pub redundancy: f64,
    /// Floor of `cost_per_progress`.
    pub cost_per_progress: f64,
}

impl Default for StabilityFloors {
    /// 0.5 everywhere: below it a dimension is more degraded than steady.
    fn default() -> Self {
        Self { tool_usage_stability: 0.5, response_consistency: 0.5, redundancy: 0.5, cost_per_progress: 0.5 }
    }
}

/// Folds one recorded session into its sub-scores. Total: what cannot be read counts as empty.
///
/// ```
/// use mcptest_core::eval::{StabilityFloors, agent_stability, drift_flags};
/// use serde_json::json;
///
/// let session = json!({
///     "tool_calls": [
///         { "name": "read_log", "server": "ops", "args": { "unit": "db", "lines": 50 } },
///         { "name": "read_log", "server": "ops", "args": { "lines": 50.0, "unit": "db" } },
///         { "name": "read_log", "server": "ops", "args": { "unit": "db", "lines": 50 } },
///     ],
///     "conversation": { "tokens": { "total": 1500 }, "turns": [] },
/// });
/// let report = agent_stability(&session);
/// assert_eq!(report.redundancy, 1.0 / 3.0);
/// assert_eq!(drift_flags(&report, &StabilityFloors::default()), ["redundancy"]);
/// ```
pub fn agent_stability(envelope: &Value) -> StabilityReport {
    report(&read_lenient(envelope))
}

/// The report of a trace in which every gap was taken as empty, so that no sub-score is absent.
fn report(trace: &Trace) -> StabilityReport {
    let [tools, responses, redundancy, cost] = Session::of(trace).scores.map(|score| score.value.unwrap_or(1.0));
    StabilityReport {
        tool_usage_stability: tools,
        response_consistency: responses,
        redundancy,
        cost_per_progress: cost,
    }
}

/// The sub-scores that lie strictly below their floor.
pub fn drift_flags(report: &StabilityReport, floors: &StabilityFloors) -> Vec<&'static str> {
    let floors =
        [floors.tool_usage_stability, floors.response_consistency, floors.redundancy, floors.cost_per_progress];
    let below = SUB_SCORES.iter().zip(report.scores()).zip(floors).filter(|((_, score), floor)| score < floor);
    below.map(|((name, _), _)| *name).collect()
}

/// Stability over several runs.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct StabilityAcross {
    /// Mean of each run's weakest sub-score.
    pub score: f64,
    /// The worst run's weakest sub-score.
    pub weakest_score: f64,
    /// Population variance of each run's weakest sub-score.
    pub variance: f64,
    /// Mean over pairs of runs of the longest-common-subsequence ratio of their tools.
    pub tool_sequence_similarity: f64,
    /// Mean over pairs of runs of the share of same-tool positions with equal arguments.
    pub argument_consistency: f64,
    /// Most pairs that split do so at the first or second call.
    pub early_divergence: bool,
}

/// Compares several recorded sessions. Total, like [`agent_stability`]; no sessions give zeros.
pub fn agent_stability_across(envelopes: &[Value]) -> StabilityAcross {
    let traces: Vec<_> = envelopes.iter().map(read_lenient).collect();
    let weakest: Vec<_> = traces.iter().map(|trace| report(trace).weakest_score()).collect();
    let (score, weakest_score, variance) = spread(&weakest);
    let ways = ways(&numbers::number(&traces.iter().collect::<Vec<_>>()));
    let paths = paths(&ways);
    let none = if envelopes.is_empty() { 0.0 } else { 1.0 };
    StabilityAcross {
        score,
        weakest_score,
        variance,
        tool_sequence_similarity: paths.sequence_similarity().unwrap_or(none),
        argument_consistency: paths.argument_consistency().unwrap_or(none),
        early_divergence: paths.early_divergence().unwrap_or(false),
    }
}

/// Mean, minimum and population variance; zeros for nothing.
fn spread(values: &[f64]) -> (f64, f64, f64) {
    if values.is_empty() {
        return (0.0, 0.0, 0.0);
    }
    let count = values.len() as f64;
    let mean = values.iter().sum::<f64>() / count;
    let least = values.iter().copied().fold(f64::INFINITY, f64::min);
    let variance = values.iter().map(|value| (value - mean) * (value - mean)).sum::<f64>() / count;
    (mean, least, variance)
}

/// The compiled gate.
#[derive(Debug, Clone, Default)]
pub struct StabilityGate {
    /// What is asserted.
    pub expect: Expect,
}

impl StabilityGate {
    /// Scores all runs of a cell, in order.
    pub fn evaluate(&self, runs: &[&Trace]) -> GateOutcome<Vec<Session>> {
        let mut metrics = Metrics::default();
        let numbered = numbers::number(runs);
        let measured: Vec<_> =
            runs.iter().zip(&numbered).map(|(trace, calls)| Measures::of(trace, calls.as_deref())).collect();
        let mut within = Within::default();
        let weakest: Vec<f64> = measured.iter().filter_map(|session| within.add(session)).collect();
        let line = within.metrics(&weakest, &mut metrics);
        between(&paths(&ways(&numbered)), &mut metrics);
        self.judge(metrics, line, measured.into_iter().map(Session::from).collect())
    }

    /// The same for runs of which only the digests were kept. `weakest` has the score of each that has one.
    pub(crate) fn evaluate_digests<'a>(
        &self,
        within: &Within,
        weakest: &[f64],
        runs: impl Iterator<Item = Option<(&'a [u32], &'a [Option<ArgsKey>])>>,
    ) -> GateOutcome<()> {
        let mut metrics = Metrics::of(GateKind::Stability.info());
        let line = within.metrics(weakest, &mut metrics);
        let mut paths = Paths::new();
        runs.for_each(|run| paths.add(run));
        between(&paths, &mut metrics);
        self.judge(metrics, line, ())
    }

    fn judge<D>(&self, metrics: Metrics, line: String, detail: D) -> GateOutcome<D> {
        let mut judge = Judge::default();
        judge.expect(GateKind::Stability.info(), &self.expect, &metrics, |_| vec![Why::line(line.clone())]);
        judge.outcome(metrics, line, detail)
    }
}

/// Tools and arguments of the calls of each run; none of a run whose calls were not recorded.
type Ways = Vec<Option<(Vec<u32>, Vec<Option<u32>>)>>;

/// The ways of numbered runs.
fn ways(runs: &[Option<Vec<numbers::Call>>]) -> Ways {
    let known = |args: u32| (args != numbers::UNRECORDED).then_some(args);
    let way = |calls: &Vec<numbers::Call>| calls.iter().map(|call| (call.tool, known(call.args))).unzip();
    runs.iter().map(|run| run.as_ref().map(way)).collect()
}

fn paths(ways: &Ways) -> Paths<'_, u32> {
    let mut paths = Paths::new();
    for way in ways {
        paths.add(way.as_ref().map(|(tools, with)| (tools.as_slice(), with.as_slice())));
    }
    paths
}

/// Metrics of the way taken from run to run.
fn between<K: Ord + Copy>(paths: &Paths<'_, K>, metrics: &mut Metrics) {
    let mut put = |name, value: Option<Value>| match value {
        Some(value) => metrics.set(name, value),
        None => metrics.lacks_evidence(name, paths.why_unknown()),
    };
    put("tool_sequence_similarity", paths.sequence_similarity().map(Value::from));
    put("argument_consistency", paths.argument_consistency().map(Value::from));
    put("early_divergence", paths.early_divergence().map(|early| Value::from(u8::from(early))));
}
