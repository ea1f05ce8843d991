//! What every gate shares: its kind, the evaluation of `expect`, and the outcome.

use std::fmt::{self, Write as _};

use serde::Serialize;
use serde_json::Value;

use super::metrics::Metrics;
use super::table::{Bound, GateInfo, MetricKind};
use crate::assertion::{Assertion, AssertionDiff, Check};
use crate::diag::{Code, Problem, Problems};
use crate::target::{Selection, Target};

/// Every gate.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum GateKind {
    /// The calls against a reference.
    Trajectory,
    /// Data flow and order between calls.
    TrajectoryAxes,
    /// Wasted calls.
    GoldenPath,
    /// Consistency within and across runs.
    Stability,
    /// Pass rates over runs.
    Reliability,
    /// Behavior after an injected fault.
    Recovery,
    /// The final message against the calls.
    Narrative,
}

impl GateKind {
    /// The key of the gate's block.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Trajectory => "trajectory",
            Self::TrajectoryAxes => "trajectory_axes",
            Self::GoldenPath => "golden_path",
            Self::Stability => "stability",
            Self::Reliability => "reliability",
            Self::Recovery => "recovery",
            Self::Narrative => "narrative",
        }
    }
}

impl fmt::Display for GateKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl Serialize for GateKind {
    fn serialize<S: serde::Serializer>(&self, out: S) -> Result<S::Ok, S::Error> {
        out.serialize_str(self.name())
    }
}

/// What a gate says of a run, or of all runs of a cell.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Verdict {
    /// All assertions passed.
    Pass,
    /// There are too few runs to decide. Counts as a failure unless it is allowed.
    Inconclusive,
    /// The trace lacks the evidence the gate needs. Counts as a failure.
    Unassessable,
    /// An assertion failed.
    Fail,
    /// The gate could not be evaluated.
    Error,
}

impl Verdict {
    /// Every verdict, from the best to the worst.
    pub const ALL: [Self; 5] = [Self::Pass, Self::Inconclusive, Self::Unassessable, Self::Fail, Self::Error];

    /// The word used in reports.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Pass => "pass",
            Self::Inconclusive => "inconclusive",
            Self::Unassessable => "unassessable",
            Self::Fail => "fail",
            Self::Error => "error",
        }
    }
}

/// What a gate asserts: its default, or the author's assertions.
#[derive(Debug, Clone, Default)]
pub enum Expect {
    /// The default assertion of the gate.
    #[default]
    Default,
    /// The author's assertions. They replace only the default assertion.
    Custom(Vec<Assertion>),
}

impl Expect {
    /// What is wrong with it: an empty list asserts nothing. Paths start at the gate's block.
    pub(crate) fn problems(&self) -> Problems {
        match self {
            Self::Custom(assertions) if assertions.is_empty() => {
                let problem = Problem::new(Code::AssertsNothing, "/expect", "an empty `expect` asserts nothing");
                problem.hint("add an assertion, or leave `expect` out for the default").into()
            }
            _ => Problems::default(),
        }
    }
}

/// One reason why a gate did not pass.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct GateFailure {
    /// Where values differ.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub diffs: Vec<AssertionDiff>,
    /// One line.
    pub reason: String,
    /// The metric or limit that failed.
    pub target: String,
}

/// What a gate found: verdict, metrics, reasons, and the gate's own detail.
#[derive(Debug, Clone, PartialEq)]
pub struct GateOutcome<D> {
    /// The verdict of the gate.
    pub verdict: Verdict,
    /// Every metric that has a value.
    pub metrics: Metrics,
    /// Why the verdict is not a pass; empty when it is.
    pub failures: Vec<GateFailure>,
    /// One line with the gate's numbers.
    pub line: String,
    /// What the metrics were computed from.
    pub detail: D,
}

/// Why most gates are unassessable.
pub(super) const NO_CALLS: &str = "the tool calls were not recorded";

/// A failed assertion lists this many reasons and counts the rest.
const MAX_REASONS: usize = 100;

/// One reason for the value of a metric.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Reason {
    pub(crate) text: String,
    pub(crate) diffs: Vec<AssertionDiff>,
    /// Whether the text is the gate's own line, which reports already print above the author's assertions.
    is_line: bool,
}

impl Reason {
    pub(crate) fn new(text: String, diffs: Vec<AssertionDiff>) -> Self {
        Self { text, diffs, is_line: false }
    }

    /// The gate's own line, for gates with nothing more to say.
    pub(crate) fn line(line: String) -> Self {
        Self { text: line, diffs: Vec::new(), is_line: true }
    }
}

impl From<String> for Reason {
    fn from(text: String) -> Self {
        Self::new(text, Vec::new())
    }
}

/// `1 call`, `2 calls`.
pub(crate) fn plural(count: usize, what: &str) -> impl fmt::Display {
    fmt::from_fn(move |f| {
        fmt::Display::fmt(&count, f)?;
        f.write_str(" ")?;
        f.write_str(what)?;
        f.write_str(if count == 1 { "" } else { "s" })
    })
}

/// A number with at most four decimals.
pub(crate) fn short(value: f64) -> impl fmt::Display {
    fmt::from_fn(move |f| {
        if let Some(whole) = whole(value) {
            return fmt::Display::fmt(&whole, f);
        }
        let text = format!("{value:.4}");
        f.write_str(text.trim_end_matches('0').trim_end_matches('.'))
    })
}

/// A metric's numbers with at most four decimals.
fn readable(value: &Value) -> Option<Value> {
    match value {
        Value::Number(number) => short(number.as_f64()?).to_string().parse().ok().map(Value::Number),
        Value::Array(items) => items.iter().map(readable).collect(),
        _ => None,
    }
}

/// Converts a float without a fraction to an integer, which prints much faster.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "the float is integral and below 2^32")]
fn whole(value: f64) -> Option<u64> {
    let is_whole = value.fract() == 0.0 && value.is_sign_positive() && value < f64::from(u32::MAX);
    is_whole.then_some(value as u64)
}

/// Collects the failures of a gate.
#[derive(Debug, Default)]
pub(crate) struct Judge {
    verdict: Option<Verdict>,
    failures: Vec<GateFailure>,
    /// Leave the outcome's line empty: it is not read.
    pub(crate) is_terse: bool,
}

impl Judge {
    pub(crate) fn terse() -> Self {
        Self { is_terse: true, ..Self::default() }
    }

    pub(crate) fn fail(&mut self, target: impl Into<String>, reason: impl Into<String>) {
        self.add(Verdict::Fail, target.into(), reason.into(), Vec::new());
    }

    /// Records that the evidence for a limit or metric was not recorded.
    pub(crate) fn unassessable(&mut self, target: impl Into<String>, reason: impl Into<String>) {
        self.add(Verdict::Unassessable, target.into(), reason.into(), Vec::new());
    }

    /// Records that there are too few runs to decide.
    pub(crate) fn inconclusive(&mut self, target: impl Into<String>, reason: impl Into<String>) {
        self.add(Verdict::Inconclusive, target.into(), reason.into(), Vec::new());
    }

    /// Records that the gate could not be evaluated.
    pub(crate) fn error(&mut self, target: impl Into<String>, reason: impl Into<String>) {
        self.add(Verdict::Error, target.into(), reason.into(), Vec::new());
    }

    fn add(&mut self, verdict: Verdict, target: String, reason: String, diffs: Vec<AssertionDiff>) {
        self.verdict = self.verdict.max(Some(verdict));
        self.failures.push(GateFailure { diffs, reason, target });
    }

    /// Evaluates the default or the author's assertions. `reasons` explains the value of a metric.
    pub(crate) fn expect(
        &mut self,
        gate: &GateInfo,
        expect: &Expect,
        metrics: &Metrics,
        reasons: impl Fn(&str) -> Vec<Reason>,
    ) {
        match expect {
            Expect::Default => {
                for bound in gate.default {
                    let target = || [gate.prefix, ".", bound.metric].concat();
                    match metrics.number(bound.metric) {
                        Some(value) if value >= bound.at_least => {}
                        Some(value) => self.fail_bound(target(), value, gate, bound, reasons(bound.metric)),
                        None => {
                            let why = metrics.why_missing(bound.metric).unwrap_or("it has no value");
                            self.unassessable(target(), format!("not assessable: {why}"));
                        }
                    }
                }
            }
            Expect::Custom(assertions) => {
                let object = metrics.object();
                for assertion in assertions {
                    self.check(assertion, &object, metrics, &reasons);
                }
            }
        }
    }

    /// One failure per reason. The first one includes the metric's value, unless it is a flag.
    fn fail_bound(&mut self, target: String, value: f64, gate: &GateInfo, bound: &Bound, mut reasons: Vec<Reason>) {
        let numbers = |out: &mut String| {
            out.extend(["`", &target, "` is "]);
            // Writing into a String cannot fail.
            let _ = write!(out, "{}, expected at least {}", short(value), short(bound.at_least));
        };
        let is_flag = gate.metrics.iter().any(|metric| metric.name == bound.metric && metric.kind == MetricKind::Flag);
        match reasons.first_mut() {
            None => {
                let mut text = String::new();
                numbers(&mut text);
                self.fail(target, text);
            }
            Some(Reason { text, .. }) => {
                if !is_flag {
                    text.reserve(target.len() + 56);
                    text.push_str(" (");
                    numbers(text);
                    text.push(')');
                }
                self.fail_for_each(target, reasons);
            }
        }
    }

    /// One failure per reason, up to a limit.
    fn fail_for_each(&mut self, target: String, reasons: Vec<Reason>) {
        let more = reasons.len().saturating_sub(MAX_REASONS);
        let mut left = reasons.into_iter().take(MAX_REASONS).peekable();
        while let Some(Reason { text, diffs, .. }) = left.next() {
            if more == 0 && left.peek().is_none() {
                return self.add(Verdict::Fail, target, text, diffs);
            }
            self.add(Verdict::Fail, target.clone(), text, diffs);
        }
        if more > 0 {
            self.fail(target, format!("and {more} more"));
        }
    }

    /// Checks one of the author's assertions.
    fn check(
        &mut self,
        assertion: &Assertion,
        object: &Value,
        metrics: &Metrics,
        reasons: &impl Fn(&str) -> Vec<Reason>,
    ) {
        let target: &Target = assertion.target();
        let selection = target.select_below_root(object);
        if let (Selection::Nothing { .. }, Some(why)) =
            (&selection, target.second_key().and_then(|name| metrics.why_missing(name)))
        {
            self.unassessable(target.to_string(), format!("`{target}` is not assessable: {why}"));
            return;
        }
        let has_value = matches!(selection, Selection::Found(_));
        if let Check::Fail { reason, diffs } = assertion.judge(selection, readable) {
            self.add(Verdict::Fail, target.to_string(), reason, diffs);
            if let Some(metric) = target.second_key().filter(|_| has_value) {
                let mut reasons = reasons(metric);
                // Two assertions may fail for the same reason: report it once.
                let is_reported = |reason: &Reason| self.failures.iter().any(|failure| failure.reason == reason.text);
                reasons.retain(|reason| !reason.is_line && !is_reported(reason));
                self.fail_for_each(target.to_string(), reasons);
            }
        }
    }

    /// The outcome of a gate whose metrics all lack evidence.
    pub(crate) fn without_evidence<D: Default>(
        mut self,
        gate: &GateInfo,
        expect: &Expect,
        why: &str,
    ) -> GateOutcome<D> {
        let metrics = Metrics::without_evidence(gate, why);
        self.expect(gate, expect, &metrics, |_| Vec::new());
        self.outcome(metrics, D::default(), |_| format!("not assessable: {why}"))
    }

    /// The outcome of a gate on an incomplete recording: no metric or assertion counts.
    pub(crate) fn incomplete<D: Default>(mut self, gate: &GateInfo, why: &str) -> GateOutcome<D> {
        let why = format!("the recording is incomplete: {why}");
        let metrics = Metrics::without_evidence(gate, &why);
        self.unassessable(gate.kind.name(), format!("not assessable: {why}"));
        self.outcome(metrics, D::default(), |_| format!("not assessable: {why}"))
    }

    /// The outcome, with a line made from the detail unless the judge is terse.
    pub(crate) fn outcome<D>(self, metrics: Metrics, detail: D, line: impl FnOnce(&D) -> String) -> GateOutcome<D> {
        let line = if self.is_terse { String::new() } else { line(&detail) };
        GateOutcome { verdict: self.verdict.unwrap_or(Verdict::Pass), metrics, failures: self.failures, line, detail }
    }
}
