//! The lines of traces and of groups: how they are written, and how they are read back.

use std::borrow::Cow;
use std::collections::BTreeMap;

use serde::{Deserialize, Serialize, Serializer};
use serde_json::error::Category;

use super::groups::MergeState;
use super::merge::Carried;
use super::{GroupLine, Scored};
use crate::eval::stability::{Measures, SUB_SCORES};
use crate::eval::{GateFailure, GateKind, MetricValue, Metrics, Verdict};
use crate::import::Imported;
use crate::redact::by_shape;
use crate::report::RowVerdict;

/// The name in place of a gate if a record could not be read.
const INPUT: &str = "input";

/// One line about a trace, except its input and its place there, which the printer puts in front.
#[derive(Debug, Serialize)]
pub struct TraceLine<'a> {
    id: Option<&'a str>,
    group: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tasks: Option<&'a [u32]>,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    edited: bool,
    verdict: Option<RowVerdict>,
    metrics: AllMetrics<'a>,
    failures: Vec<LineFailure<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    rules: Option<&'a str>,
}

impl<'a> TraceLine<'a> {
    /// The line of a trace in a group, with what [`Scorer::trace_rules`](super::Scorer::trace_rules) says.
    pub fn new(one: &'a Imported<'_>, group: Option<&'a str>, scored: &'a Scored, rules: Option<&'a str>) -> Self {
        let Scored { verdict, checks, session, failures, tasks, .. } = scored;
        let gates = checks.iter().filter_map(|check| Some((check.gate?.info().prefix, &check.metrics)));
        let session = session.iter().map(|session| (GateKind::Stability.info().prefix, session));
        Self {
            id: one.id.as_deref(),
            group,
            tasks: tasks.as_deref(),
            edited: one.is_edited(),
            verdict: *verdict,
            metrics: all_metrics(gates.chain(session)),
            failures: failures.iter().map(|(gate, failure)| LineFailure::new(gate, failure)).collect(),
            rules,
        }
    }

    /// The line of a record that could not be read or evaluated, with what it says of itself.
    pub fn unread(id: Option<&'a str>, group: Option<&'a str>, target: &'a str, reason: &'a str) -> Self {
        let failures = vec![LineFailure { gate: INPUT, target, reason: by_shape(reason) }];
        Self {
            id,
            group,
            tasks: None,
            edited: false,
            verdict: Some(RowVerdict::Error),
            metrics: AllMetrics::new(),
            failures,
            rules: None,
        }
    }
}

/// Metrics by gate. Two gates may share an object, since their targets share a prefix.
type AllMetrics<'a> = BTreeMap<&'static str, BTreeMap<&'static str, &'a MetricValue>>;

fn all_metrics<'a>(gates: impl Iterator<Item = (&'static str, &'a Metrics)>) -> AllMetrics<'a> {
    let mut all = AllMetrics::new();
    for (prefix, metrics) in gates {
        all.entry(prefix).or_default().extend(metrics.values());
    }
    all
}

/// A failure with its gate.
#[derive(Debug, Serialize)]
struct LineFailure<'a> {
    gate: &'a str,
    target: &'a str,
    /// Quotes what was recorded, and lines are read by more people than recordings are.
    reason: Cow<'a, str>,
}

impl<'a> LineFailure<'a> {
    fn new(gate: &'a str, failure: &'a GateFailure) -> Self {
        Self { gate, target: &failure.target, reason: by_shape(&failure.reason) }
    }
}

impl Serialize for GroupLine<'_> {
    fn serialize<S: Serializer>(&self, out: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        struct Line<'a> {
            group: &'a str,
            runs: u64,
            verdict: Option<Verdict>,
            metrics: AllMetrics<'a>,
            failures: Vec<LineFailure<'a>>,
            #[serde(skip_serializing_if = "<[_]>::is_empty")]
            notes: &'a [String],
            carry: &'a MergeState<'a>,
        }
        let failures = self.checks.iter().flat_map(|check| check.failures.iter().map(|failure| (check.name, failure)));
        let line = Line {
            group: self.name,
            runs: self.runs,
            verdict: self.verdict,
            metrics: all_metrics(self.checks.iter().map(|check| (check.name, &check.metrics))),
            failures: failures.map(|(gate, failure)| LineFailure::new(gate, failure)).collect(),
            notes: &self.notes,
            carry: &self.carry,
        };
        line.serialize(out)
    }
}

/// A line that `mcptest score` wrote, read back.
#[derive(Debug, Deserialize)]
pub(crate) struct ScoreLine<'a> {
    pub(crate) group: Option<String>,
    pub(crate) id: Option<String>,
    pub(crate) index: Option<u64>,
    pub(crate) runs: Option<u64>,
    pub(crate) verdict: Option<RowVerdict>,
    #[serde(borrow)]
    failures: Vec<FailedGate<'a>>,
    #[serde(default)]
    pub(crate) tasks: Vec<u32>,
    pub(crate) rules: Option<String>,
    pub(crate) carry: Option<Carried>,
}

#[derive(Debug, Deserialize)]
struct FailedGate<'a> {
    #[serde(borrow)]
    gate: Cow<'a, str>,
}

/// A text that is not a line of `mcptest score`.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum LineError {
    #[error("{0}")]
    Json(String),
    #[error("it is not a line that `mcptest score` writes")]
    Foreign,
}

impl<'a> ScoreLine<'a> {
    pub(crate) fn parse(text: &'a str) -> Result<Self, LineError> {
        serde_json::from_str(text).map_err(|error| match error.classify() {
            // The message of serde would name types of this program.
            Category::Data => LineError::Foreign,
            _ => LineError::Json(error.to_string()),
        })
    }

    /// Whether the record could not be read.
    pub(crate) fn is_unread(&self) -> bool {
        self.failures.first().is_some_and(|failure| failure.gate == INPUT)
    }
}

/// The four sub-scores of a session and the weakest of them.
pub(super) fn session_metrics(session: &Measures) -> Metrics {
    let mut metrics = Metrics::of(GateKind::Stability.info());
    for (name, value) in SUB_SCORES.into_iter().zip(session.values()).rev() {
        metrics.set_known(name, value);
    }
    metrics.set_known("weakest_score", session.weakest().map(|(_, score)| score));
    metrics
}
