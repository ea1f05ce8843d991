//! `stability`: steadiness inside one session, and of the way taken across runs.
//!
//! `session` folds one run into four sub-scores, `across` compares runs, this file holds the library's reports and
//! the gate. A sub-score without evidence is absent and takes no part in the weakest score.

mod across;
mod lcs;
mod numbers;
mod session;

use serde::Serialize;
use serde_json::Value;

use super::gate::{Expect, GateOutcome, Judge, Metrics};
use super::table::GateKind;
use crate::trace::{Trace, read_lenient};
use across::Paths;
pub use session::{SUB_SCORES, Session, SubScore};

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
    let paths = Paths::new(&numbers::number(&traces.iter().collect::<Vec<_>>()));
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
        let gate = GateKind::Stability.info();
        let mut metrics = Metrics::default();
        let numbered = numbers::number(runs);
        let sessions: Vec<_> =
            runs.iter().zip(&numbered).map(|(trace, calls)| Session::of_numbered(trace, calls.as_deref())).collect();
        let line = within(&sessions, &mut metrics);
        between(&Paths::new(&numbered), &mut metrics);
        let mut judge = Judge::default();
        judge.expect(gate, &self.expect, &metrics, |_| vec![line.clone().into()]);
        judge.outcome(metrics, line, sessions)
    }
}

/// Metrics of the sessions themselves, and the line that names the weakest.
fn within(sessions: &[Session], metrics: &mut Metrics) -> String {
    let weakest: Vec<_> = sessions.iter().map(Session::weakest).collect();
    let blind = weakest.iter().position(Option::is_none);
    let mut line = match (weakest.iter().copied().collect::<Option<Vec<_>>>(), blind) {
        (Some(found), None) if !found.is_empty() => {
            let values: Vec<f64> = found.iter().map(|(_, score)| *score).collect();
            let (score, least, variance) = spread(&values);
            metrics.set("score", score);
            metrics.set("weakest_score", least);
            metrics.set("variance", variance);
            culprit(sessions, &found, least)
        }
        (_, blind) => {
            let why = match blind {
                Some(run) => format!("run {} recorded nothing a sub-score could read", run + 1),
                None => "there are no runs".to_owned(),
            };
            for name in ["score", "weakest_score", "variance"] {
                metrics.lacks_evidence(name, why.clone());
            }
            format!("not assessable: {why}")
        }
    };
    for (at, name) in SUB_SCORES.into_iter().enumerate() {
        let missing = sessions.iter().position(|session| session.scores[at].value.is_none());
        match missing {
            None if sessions.is_empty() => metrics.lacks_evidence(name, "there are no runs"),
            None => {
                let values = sessions.iter().filter_map(|session| session.scores[at].value);
                metrics.set(name, values.fold(f64::INFINITY, f64::min));
            }
            Some(run) => {
                let why = format!("run {}: {}", run + 1, sessions[run].scores[at].reason);
                line.push_str(&format!("; without {name} ({why})"));
                metrics.lacks_evidence(name, why);
            }
        }
    }
    line
}

/// `0.00 (run 2: tool_usage_stability, 3 tools in 3 calls)`
fn culprit(sessions: &[Session], weakest: &[(usize, f64)], least: f64) -> String {
    let worst = sessions.iter().zip(weakest).enumerate().find(|(_, (_, (_, score)))| *score <= least);
    match worst {
        Some((run, (session, (at, score)))) if *score < 1.0 => {
            format!("{least:.2} (run {}: {}, {})", run + 1, SUB_SCORES[*at], session.scores[*at].reason)
        }
        _ => format!("{least:.2}"),
    }
}

/// Metrics of the way taken from run to run.
fn between(paths: &Paths, metrics: &mut Metrics) {
    let mut put = |name, value: Option<Value>| match value {
        Some(value) => metrics.set(name, value),
        None => metrics.lacks_evidence(name, paths.why_unknown()),
    };
    put("tool_sequence_similarity", paths.sequence_similarity().map(Value::from));
    put("argument_consistency", paths.argument_consistency().map(Value::from));
    put("early_divergence", paths.early_divergence().map(|early| Value::from(u8::from(early))));
}
