//! `stability`: consistency within one session, and of the path taken across runs.
//!
//! `session` scores one run, `session_fold` folds the sessions of several runs, `across` compares their paths. This file has
//! the library's reports and the gate. A sub-score without evidence is absent and does not affect the weakest score.

mod across;
mod lcs;
mod numbers;
mod session;
mod session_fold;

use serde::Serialize;
use serde_json::Value;

use super::gate::{Expect, GateKind, GateOutcome, Judge, Reason};
use super::metrics::{MetricValue, Metrics};
use crate::diag::Problems;
use crate::trace::{Trace, read_lenient};
pub use across::{MAX_CLASSES, MAX_STEPS};
use across::{NotCompared, Paths};
pub(crate) use numbers::{ArgsKey, Digest};
pub(crate) use session::Measures;
pub use session::{Dimensions, SUB_SCORES, Session, SubScore};
pub(crate) use session_fold::SessionFold;

/// The four sub-scores of one session, each from 0 (worst) to 1 (best).
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct StabilityReport {
    /// How few different tools were used over the calls.
    pub tool_usage_stability: f64,
    /// How similar in length the assistant's answers were.
    pub response_consistency: f64,
    /// Share of calls that do not repeat an earlier call.
    pub redundancy: f64,
    /// 1 at up to 2000 tokens per distinct call, less beyond.
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

/// Minimum acceptable value of each sub-score.
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
    /// 0.5 for every sub-score.
    fn default() -> Self {
        Self { tool_usage_stability: 0.5, response_consistency: 0.5, redundancy: 0.5, cost_per_progress: 0.5 }
    }
}

/// Scores one recorded session. Never fails: what cannot be read counts as empty.
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

/// The report of a leniently read trace, in which no sub-score is absent.
fn report(trace: &Trace) -> StabilityReport {
    let [tools, responses, redundancy, cost] = Session::of(trace).scores.map(|score| score.value.unwrap_or(1.0));
    StabilityReport {
        tool_usage_stability: tools,
        response_consistency: responses,
        redundancy,
        cost_per_progress: cost,
    }
}

/// The sub-scores that are strictly below their floor.
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
    /// Most pairs of runs that diverge do so at the first or second call.
    pub early_divergence: bool,
}

/// Compares several recorded sessions. Never fails, like [`agent_stability`]; no sessions give zeros. So does a comparison
/// beyond [`MAX_CLASSES`] or [`MAX_STEPS`].
pub fn agent_stability_across(envelopes: &[Value]) -> StabilityAcross {
    let traces: Vec<_> = envelopes.iter().map(read_lenient).collect();
    let weakest: Vec<_> = traces.iter().map(|trace| report(trace).weakest_score()).collect();
    let (score, weakest_score, variance) = spread(&weakest);
    let sequences = call_sequences(&numbers::number(&traces.iter().collect::<Vec<_>>()));
    let paths = paths(&sequences);
    let one_run = |why: NotCompared| if why == NotCompared::TooFewRuns && !envelopes.is_empty() { 1.0 } else { 0.0 };
    StabilityAcross {
        score,
        weakest_score,
        variance,
        tool_sequence_similarity: paths.sequence_similarity().unwrap_or_else(one_run),
        argument_consistency: paths.argument_consistency().unwrap_or_else(one_run),
        early_divergence: paths.early_divergence().unwrap_or(false),
    }
}

/// Mean, minimum and population variance; zeros for no values.
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

/// Parameters of the gate.
#[derive(Debug, Clone, Default)]
pub struct StabilityParams {
    /// The sub-scores that the score of a run is the weakest of.
    pub dimensions: Dimensions,
    /// What is asserted.
    pub expect: Expect,
}

/// The compiled gate.
#[derive(Debug, Clone)]
pub struct StabilityGate {
    params: StabilityParams,
}

impl StabilityGate {
    /// Compiles the gate. Paths of problems start at the gate's block.
    pub fn new(params: StabilityParams) -> Result<Self, Problems> {
        params.expect.problems().or(Self { params })
    }

    /// The parameters it was built from.
    pub fn params(&self) -> &StabilityParams {
        &self.params
    }

    /// Scores all runs of a cell, in order.
    pub fn evaluate(&self, runs: &[&Trace]) -> GateOutcome<Vec<Session>> {
        if let Some(why) = runs.iter().find_map(|trace| trace.incomplete()) {
            return Judge::default().incomplete(GateKind::Stability.info(), why);
        }
        let mut metrics = Metrics::default();
        let numbered = numbers::number(runs);
        let dimensions = self.params.dimensions;
        let measure = |(trace, calls): (&&Trace, &Option<Vec<_>>)| Measures::of(trace, calls.as_deref(), dimensions);
        let measured: Vec<_> = runs.iter().zip(&numbered).map(measure).collect();
        let mut sessions = SessionFold::default();
        let weakest: Vec<f64> = measured.iter().filter_map(|session| sessions.add(session)).collect();
        let line = sessions.metrics(&weakest, dimensions, &mut metrics);
        path_metrics(&paths(&call_sequences(&numbered)), &mut metrics);
        self.judge(metrics, line, measured.into_iter().map(Session::from).collect())
    }

    /// The same for runs that are kept as digests only. `weakest` has the score of each run that has one.
    pub(crate) fn evaluate_digests<'a>(
        &self,
        sessions: &SessionFold,
        weakest: &[f64],
        runs: impl Iterator<Item = Option<(&'a [u32], &'a [Option<ArgsKey>])>>,
    ) -> GateOutcome<()> {
        let mut metrics = Metrics::of(GateKind::Stability.info());
        let line = sessions.metrics(weakest, self.params.dimensions, &mut metrics);
        let mut paths = Paths::new();
        runs.for_each(|run| paths.add(run));
        path_metrics(&paths, &mut metrics);
        self.judge(metrics, line, ())
    }

    fn judge<D>(&self, metrics: Metrics, line: String, detail: D) -> GateOutcome<D> {
        let mut judge = Judge::default();
        let advice = self.advice(&metrics);
        judge.expect(GateKind::Stability.info(), &self.params.expect, &metrics, |_| {
            std::iter::once(Reason::line(line.clone())).chain(advice.clone().map(Reason::from)).collect()
        });
        judge.outcome(metrics, detail, |_| line)
    }

    /// The fix for a plan that uses each tool once and is steady otherwise.
    fn advice(&self, metrics: &Metrics) -> Option<String> {
        const TOOL_USAGE: &str = SUB_SCORES[0];
        let floor = GateKind::Stability.info().default.first()?.at_least;
        let value = |name: &str| metrics.number(name);
        let is_steady = |name: &&'static str| value(name).is_none_or(|value| value >= floor);
        let others: Vec<&str> = self.params.dimensions.names().filter(|name| *name != TOOL_USAGE).collect();
        let is_alone = self.params.dimensions.has(0) && !others.is_empty() && others.iter().all(is_steady);
        let is_same_path = value("tool_sequence_similarity") == Some(1.0);
        (matches!(self.params.expect, Expect::Default) && is_alone && is_same_path).then(|| {
            format!(
                "every run takes the same path; {TOOL_USAGE} only says how few different tools a run uses: to leave it out, \
                 write `dimensions: [{}]`",
                others.join(", ")
            )
        })
    }
}

/// Tools and arguments of each run's calls; `None` for a run whose calls were not recorded.
type CallSequences = Vec<Option<(Vec<u32>, Vec<Option<u32>>)>>;

fn call_sequences(runs: &[Option<Vec<numbers::Call>>]) -> CallSequences {
    let known = |args: u32| (args != numbers::UNRECORDED).then_some(args);
    let sequence = |calls: &Vec<numbers::Call>| calls.iter().map(|call| (call.tool, known(call.args))).unzip();
    runs.iter().map(|run| run.as_ref().map(sequence)).collect()
}

fn paths(sequences: &CallSequences) -> Paths<'_, u32> {
    let mut paths = Paths::new();
    for sequence in sequences {
        paths.add(sequence.as_ref().map(|(tools, with)| (tools.as_slice(), with.as_slice())));
    }
    paths
}

/// Sets the metrics that compare the paths of runs.
fn path_metrics<K: Ord + Copy>(paths: &Paths<'_, K>, metrics: &mut Metrics) {
    let mut put = |name, value: Result<MetricValue, NotCompared>| match value {
        Ok(value) => metrics.set(name, value),
        Err(why) => metrics.lacks_evidence(name, why.to_string()),
    };
    put("tool_sequence_similarity", paths.sequence_similarity().map(MetricValue::from));
    put("argument_consistency", paths.argument_consistency().map(MetricValue::from));
    put("early_divergence", paths.early_divergence().map(|early| u8::from(early).into()));
}
