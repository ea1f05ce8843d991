//! `golden_path`: how many calls were wasted against an ideal sequence.
//!
//! Only names and counts are read: the gate checks that the path was short, not that it was right.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use serde::Serialize;

use super::gate::{Expect, GateKind, GateOutcome, Judge, NO_CALLS, Reason, plural};
use super::metrics::Metrics;
use crate::diag::Problems;
use crate::trace::{ToolCall, Trace};

/// The ideal tool sequence and what counts as waste.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GoldenPath {
    /// Ideal tool names in order.
    pub calls: Vec<String>,
    /// Calls beyond the length of the path are free.
    pub allow_extra_steps: bool,
    /// Returning to an earlier tool counts as waste.
    pub penalize_backtracking: bool,
    /// Calling the same tool twice in a row counts as waste.
    pub penalize_repeated_tools: bool,
}

impl GoldenPath {
    /// The strictest policy: everything counts as waste.
    pub fn new<S: Into<String>>(calls: impl IntoIterator<Item = S>) -> Self {
        Self {
            calls: calls.into_iter().map(Into::into).collect(),
            allow_extra_steps: false,
            penalize_backtracking: true,
            penalize_repeated_tools: true,
        }
    }
}

/// The waste found. All counts are reported, including those the policy ignores.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct PathScore {
    /// There was no waste.
    pub passed: bool,
    /// Recorded calls beyond the length of the path.
    pub extra_steps: usize,
    /// Returns to a tool used before, other than the one just used.
    pub backtracks: usize,
    /// Calls of the tool that was just used.
    pub repeated_tools: usize,
    /// `1 / (1 + waste / 2)`: 1 is best.
    pub penalty: f64,
}

/// Counts the waste in a recorded sequence.
///
/// ```
/// use mcptest_core::eval::{GoldenPath, score_golden_path, tool_calls_from_envelope};
/// use serde_json::json;
///
/// let calls = tool_calls_from_envelope(&json!({
///     "tool_calls": [{ "name": "find_train" }, { "name": "find_train" }, { "name": "book_seat" }],
/// }));
/// let golden = GoldenPath {
///     calls: vec!["find_train".into(), "book_seat".into()],
///     allow_extra_steps: true,
///     penalize_backtracking: true,
///     penalize_repeated_tools: true,
/// };
/// let score = score_golden_path(&calls, &golden);
/// assert_eq!((score.extra_steps, score.repeated_tools, score.backtracks), (1, 1, 0));
/// assert_eq!(score.penalty, 1.0 / 1.5);
/// assert!(!score.passed);
/// ```
pub fn score_golden_path(calls: &[ToolCall], golden: &GoldenPath) -> PathScore {
    let extra_steps = calls.len().saturating_sub(golden.calls.len());
    let (mut backtracks, mut repeated_tools) = (0, 0);
    let mut seen = BTreeSet::new();
    let mut previous = None;
    for name in calls.iter().map(|call| call.name.as_str()) {
        if previous == Some(name) {
            repeated_tools += 1;
        } else if !seen.insert(name) {
            backtracks += 1;
        }
        previous = Some(name);
    }
    let cost = |counts: bool, waste: usize| if counts { waste } else { 0 };
    let waste = cost(!golden.allow_extra_steps, extra_steps)
        + cost(golden.penalize_backtracking, backtracks)
        + cost(golden.penalize_repeated_tools, repeated_tools);
    PathScore { passed: waste == 0, extra_steps, backtracks, repeated_tools, penalty: 1.0 / (1.0 + 0.5 * waste as f64) }
}

/// Parameters of the gate.
#[derive(Debug, Clone)]
pub struct GoldenPathParams {
    /// The path, and what counts as waste.
    pub golden: GoldenPath,
    /// What is asserted.
    pub expect: Expect,
}

impl From<GoldenPath> for GoldenPathParams {
    fn from(golden: GoldenPath) -> Self {
        Self { golden, expect: Expect::Default }
    }
}

/// The compiled gate.
#[derive(Debug, Clone)]
pub struct GoldenPathGate {
    params: GoldenPathParams,
}

impl GoldenPathGate {
    /// Compiles the gate. Paths of problems start at the gate's block.
    pub fn new(params: GoldenPathParams) -> Result<Self, Problems> {
        params.expect.problems().or(Self { params })
    }

    /// The parameters it was built from.
    pub fn params(&self) -> &GoldenPathParams {
        &self.params
    }

    /// Scores a run.
    pub fn evaluate(&self, trace: &Trace) -> GateOutcome<Option<PathScore>> {
        self.judged(trace, Judge::default())
    }

    pub(crate) fn judged(&self, trace: &Trace, mut judge: Judge) -> GateOutcome<Option<PathScore>> {
        let gate = GateKind::GoldenPath.info();
        if let Some(why) = trace.incomplete() {
            return judge.incomplete(gate, why);
        }
        let Some(calls) = &trace.tool_calls else {
            return judge.without_evidence(gate, &self.params.expect, NO_CALLS);
        };
        let score = score_golden_path(calls, &self.params.golden);
        let mut metrics = Metrics::of(gate);
        metrics.set("backtracks", score.backtracks);
        metrics.set("extra_steps", score.extra_steps);
        metrics.set_flag("passed", score.passed);
        metrics.set("penalty", score.penalty);
        metrics.set("repeated_tools", score.repeated_tools);
        judge.expect(gate, &self.params.expect, &metrics, |_| vec![Reason::line(line(&score))]);
        judge.outcome(metrics, Some(score), |_| line(&score))
    }
}

fn line(score: &PathScore) -> String {
    let mut line = String::with_capacity(80);
    // Writing into a String cannot fail.
    let _ = write!(
        line,
        "efficiency {:.2} of 1.00: {}, {}, {}",
        score.penalty,
        plural(score.extra_steps, "extra step"),
        plural(score.backtracks, "backtrack"),
        plural(score.repeated_tools, "repeated tool")
    );
    line
}
