//! `golden_path`: how many calls were wasted against an ideal sequence.
//!
//! Only names and counts are read: the gate asks whether the way was short, not whether it was the right one.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use serde::Serialize;

use super::gate::{Expect, GateOutcome, Judge, Metrics, Why, plural};
use super::table::GateKind;
use crate::trace::{ToolCall, Trace};

/// The ideal tool sequence and what counts as waste.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GoldenPath {
    /// Ideal tool names in order.
    pub calls: Vec<String>,
    /// Calls beyond the length of the path cost nothing.
    pub allow_extra_steps: bool,
    /// Returning to an earlier tool costs.
    pub penalize_backtracking: bool,
    /// Calling the same tool twice in a row costs.
    pub penalize_repeated_tools: bool,
}

impl GoldenPath {
    /// The strictest policy: everything costs.
    pub fn new<S: Into<String>>(calls: impl IntoIterator<Item = S>) -> Self {
        Self {
            calls: calls.into_iter().map(Into::into).collect(),
            allow_extra_steps: false,
            penalize_backtracking: true,
            penalize_repeated_tools: true,
        }
    }
}

/// What was wasted. All counts are reported, also those that cost nothing.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct PathScore {
    /// Nothing that costs was wasted.
    pub passed: bool,
    /// Recorded calls beyond the length of the path.
    pub extra_steps: usize,
    /// Returns to a tool used before, other than the one just used.
    pub backtracks: usize,
    /// Calls of the tool that was just used.
    pub repeated_tools: usize,
    /// `1 / (1 + waste / 2)`.
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

/// The compiled gate.
#[derive(Debug, Clone)]
pub struct GoldenPathGate {
    /// The path and its policy.
    pub golden: GoldenPath,
    /// What is asserted.
    pub expect: Expect,
}

impl GoldenPathGate {
    /// Scores a run.
    pub fn evaluate(&self, trace: &Trace) -> GateOutcome<Option<PathScore>> {
        self.judged(trace, Judge::default())
    }

    pub(crate) fn judged(&self, trace: &Trace, mut judge: Judge) -> GateOutcome<Option<PathScore>> {
        let gate = GateKind::GoldenPath.info();
        let score = trace.tool_calls.as_ref().map(|calls| score_golden_path(calls, &self.golden));
        let metrics = match &score {
            Some(score) => {
                let mut metrics = Metrics::of(gate);
                metrics.set("backtracks", score.backtracks);
                metrics.set("extra_steps", score.extra_steps);
                metrics.set_flag("passed", score.passed);
                metrics.set("penalty", score.penalty);
                metrics.set("repeated_tools", score.repeated_tools);
                metrics
            }
            None => Metrics::without_evidence(gate, "the tool calls were not recorded"),
        };
        judge.expect(gate, &self.expect, &metrics, |_| vec![Why::line(line(score.as_ref()))]);
        judge.told(metrics, score, |score| line(score.as_ref()))
    }
}

fn line(score: Option<&PathScore>) -> String {
    let Some(score) = score else { return "not assessable: the tool calls were not recorded".to_owned() };
    let mut line = String::with_capacity(80);
    // Writing into a String cannot fail.
    let _ = write!(
        line,
        "penalty {:.2}: {}, {}, {}",
        score.penalty,
        plural(score.extra_steps, "extra step"),
        plural(score.backtracks, "backtrack"),
        plural(score.repeated_tools, "repeated tool")
    );
    line
}
