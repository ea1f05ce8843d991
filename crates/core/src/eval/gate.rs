//! What every gate shares: metrics, the judging of expectations, the outcome.

use std::fmt::{self, Write as _};

use serde::Serialize;
use serde_json::{Map, Value};

use super::table::{Bound, GateInfo, MetricKind};
use crate::assertion::{Assertion, AssertionDiff, Check};
use crate::target::{Selection, Target};

/// What a gate says of a run, or of all runs of a cell.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Verdict {
    /// Everything asserted holds.
    Pass,
    /// The trace lacks the evidence the gate needs. Counts as a failure.
    Unassessable,
    /// Something asserted does not hold.
    Fail,
    /// The gate could not be evaluated.
    Error,
}

impl Verdict {
    /// The word used in reports.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Pass => "pass",
            Self::Unassessable => "unassessable",
            Self::Fail => "fail",
            Self::Error => "error",
        }
    }
}

/// The numbers a gate computed. A metric without a value is absent, and the gate knows why.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Metrics {
    values: Named<Value>,
    missing: Named<String>,
}

/// A handful of things by name, in the order of the names.
type Named<T> = Vec<(&'static str, T)>;

fn place<T>(named: &Named<T>, name: &str) -> Result<usize, usize> {
    named.binary_search_by(|(known, _)| (*known).cmp(name))
}

fn put<T>(named: &mut Named<T>, name: &'static str, value: T) {
    // Gates tell most of their metrics in order.
    if named.last().is_none_or(|(last, _)| *last < name) {
        named.push((name, value));
        return;
    }
    match place(named, name) {
        Ok(at) => named[at].1 = value,
        Err(at) => named.insert(at, (name, value)),
    }
}

fn look_up<'a, T>(named: &'a Named<T>, name: &str) -> Option<&'a T> {
    place(named, name).ok().map(|at| &named[at].1)
}

impl Metrics {
    /// No metric yet, and room for those of a gate.
    pub(crate) fn of(gate: &GateInfo) -> Self {
        Self { values: Vec::with_capacity(gate.metrics.len()), missing: Vec::new() }
    }

    pub(crate) fn set(&mut self, name: &'static str, value: impl Into<Value>) {
        put(&mut self.values, name, value.into());
    }

    pub(crate) fn set_flag(&mut self, name: &'static str, value: bool) {
        self.set(name, u8::from(value));
    }

    /// Sets a value that may not exist; one that does not is simply absent.
    pub(crate) fn set_known(&mut self, name: &'static str, value: Option<impl Into<Value>>) {
        if let Some(value) = value {
            self.set(name, value);
        }
    }

    /// Says that a metric has no value because the evidence for it was not recorded.
    pub(crate) fn lacks_evidence(&mut self, name: &'static str, why: impl Into<String>) {
        put(&mut self.missing, name, why.into());
    }

    /// No metric of a gate has a value, all for the same want of evidence.
    pub(crate) fn without_evidence(gate: &GateInfo, why: &str) -> Self {
        let mut metrics = Self::default();
        for metric in gate.metrics {
            metrics.lacks_evidence(metric.name, why);
        }
        metrics
    }

    /// The metrics as one JSON object, without the gate's prefix.
    pub fn object(&self) -> Value {
        Value::Object(
            self.values.iter().map(|(name, value)| ((*name).to_owned(), value.clone())).collect::<Map<_, _>>(),
        )
    }

    /// Names and values, in the order of the names.
    pub(crate) fn entries(&self) -> &[(&'static str, Value)] {
        &self.values
    }

    /// Names and values, in the order of the names.
    pub fn iter(&self) -> impl Iterator<Item = (&'static str, &Value)> {
        self.values.iter().map(|(name, value)| (*name, value))
    }

    /// The value of one metric.
    pub fn get(&self, name: &str) -> Option<&Value> {
        look_up(&self.values, name)
    }

    /// Why a metric has no value, when that is for want of evidence.
    pub fn why_missing(&self, name: &str) -> Option<&str> {
        look_up(&self.missing, name).map(String::as_str)
    }

    fn number(&self, name: &str) -> Option<f64> {
        self.get(name)?.as_f64()
    }
}

impl Serialize for Metrics {
    fn serialize<S: serde::Serializer>(&self, out: S) -> Result<S::Ok, S::Error> {
        out.collect_map(self.iter())
    }
}

/// What a gate asserts: its own default, or what the author wrote instead.
#[derive(Debug, Clone, Default)]
pub enum Expect {
    /// The default assertion of the gate.
    #[default]
    Default,
    /// The author's assertions; they replace the default and nothing else. None at all is an error.
    Own(Vec<Assertion>),
}

/// One reason why a gate did not pass.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct GateFailure {
    /// The metric or limit that was judged.
    pub target: String,
    /// One line.
    pub reason: String,
    /// Where values differ.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub diffs: Vec<AssertionDiff>,
}

/// What a gate found: verdict, metrics, reasons, and the gate's own detail.
#[derive(Debug, Clone, PartialEq)]
pub struct GateOutcome<D> {
    /// The verdict.
    pub verdict: Verdict,
    /// Every metric that has a value.
    pub metrics: Metrics,
    /// Why the verdict is not a pass; empty when it is.
    pub failures: Vec<GateFailure>,
    /// One line with the gate's numbers.
    pub line: String,
    /// What the numbers were made from.
    pub detail: D,
}

/// Most reasons that a failed assertion is explained by; the rest is counted.
const MAX_REASONS: usize = 100;

/// One reason why a metric is what it is.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Why {
    pub(crate) reason: String,
    pub(crate) diffs: Vec<AssertionDiff>,
    /// Whether it is the line with the gate's numbers. That line stands above the author's assertions anyway.
    is_line: bool,
}

impl Why {
    pub(crate) fn new(reason: String, diffs: Vec<AssertionDiff>) -> Self {
        Self { reason, diffs, is_line: false }
    }

    /// The line with the gate's numbers, where there is no more to say.
    pub(crate) fn line(line: String) -> Self {
        Self { reason: line, diffs: Vec::new(), is_line: true }
    }
}

impl From<String> for Why {
    fn from(reason: String) -> Self {
        Self::new(reason, Vec::new())
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
fn short(value: f64) -> impl fmt::Display {
    fmt::from_fn(move |f| {
        if let Some(whole) = whole(value) {
            return fmt::Display::fmt(&whole, f);
        }
        let text = format!("{value:.4}");
        f.write_str(text.trim_end_matches('0').trim_end_matches('.'))
    })
}

/// The numbers of a metric with at most four decimals, for people.
fn readable(value: &Value) -> Option<Value> {
    match value {
        Value::Number(number) => short(number.as_f64()?).to_string().parse().ok().map(Value::Number),
        Value::Array(items) => items.iter().map(readable).collect(),
        _ => None,
    }
}

/// A whole number as what it is: that is far quicker to print than a float.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "the float is integral and below 2^32")]
fn whole(value: f64) -> Option<u64> {
    let is_whole = value.fract() == 0.0 && value.is_sign_positive() && value < f64::from(u32::MAX);
    is_whole.then_some(value as u64)
}

/// Collects failures while a gate is judged.
#[derive(Debug, Default)]
pub(crate) struct Judge {
    verdict: Option<Verdict>,
    failures: Vec<GateFailure>,
    /// Whether nobody reads the line with the gate's numbers.
    pub(crate) is_terse: bool,
}

impl Judge {
    /// One whose outcome has no line.
    pub(crate) fn terse() -> Self {
        Self { is_terse: true, ..Self::default() }
    }

    /// Records a failed limit.
    pub(crate) fn fail(&mut self, target: impl Into<String>, reason: impl Into<String>) {
        self.add(Verdict::Fail, target.into(), reason.into(), Vec::new());
    }

    /// Records a limit that the evidence does not reach.
    pub(crate) fn unassessable(&mut self, target: impl Into<String>, reason: impl Into<String>) {
        self.add(Verdict::Unassessable, target.into(), reason.into(), Vec::new());
    }

    /// Records that the gate could not be evaluated.
    pub(crate) fn error(&mut self, target: impl Into<String>, reason: impl Into<String>) {
        self.add(Verdict::Error, target.into(), reason.into(), Vec::new());
    }

    fn add(&mut self, verdict: Verdict, target: String, reason: String, diffs: Vec<AssertionDiff>) {
        self.verdict = self.verdict.max(Some(verdict));
        self.failures.push(GateFailure { target, reason, diffs });
    }

    /// Judges the default or the author's assertions. `reasons` says in the gate's words what stands behind the number of
    /// a metric.
    pub(crate) fn expect(
        &mut self,
        gate: &GateInfo,
        expect: &Expect,
        metrics: &Metrics,
        reasons: impl Fn(&str) -> Vec<Why>,
    ) {
        match expect {
            Expect::Default => {
                for bound in gate.default {
                    let target = || [gate.prefix, ".", bound.metric].concat();
                    match metrics.number(bound.metric) {
                        Some(value) if value >= bound.at_least => {}
                        Some(value) => self.explained(target(), value, gate, bound, reasons(bound.metric)),
                        None => {
                            let why = metrics.why_missing(bound.metric).unwrap_or("it has no value");
                            self.unassessable(target(), format!("not assessable: {why}"));
                        }
                    }
                }
            }
            Expect::Own(assertions) if assertions.is_empty() => {
                self.error("expect", "an empty list of expectations asserts nothing");
            }
            Expect::Own(assertions) => {
                let object = metrics.object();
                for assertion in assertions {
                    self.own(assertion, &object, metrics, &reasons);
                }
            }
        }
    }

    /// One failure per reason, and the number that was judged where it says more than the reason does.
    fn explained(&mut self, target: String, value: f64, gate: &GateInfo, bound: &Bound, reasons: Vec<Why>) {
        let numbers = |out: &mut String| {
            out.extend(["`", &target, "` is "]);
            // Writing into a String cannot fail.
            let _ = write!(out, "{}, expected at least {}", short(value), short(bound.at_least));
        };
        let is_flag = gate.metrics.iter().any(|metric| metric.name == bound.metric && metric.kind == MetricKind::Flag);
        let mut reasons = reasons;
        match reasons.first_mut() {
            None => {
                let mut reason = String::new();
                numbers(&mut reason);
                self.fail(target, reason);
            }
            Some(Why { reason, .. }) => {
                if !is_flag {
                    reason.reserve(target.len() + 56);
                    reason.push_str(" (");
                    numbers(reason);
                    reason.push(')');
                }
                self.reasons(target, reasons);
            }
        }
    }

    /// One failure per reason, up to a number of them.
    fn reasons(&mut self, target: String, reasons: Vec<Why>) {
        let more = reasons.len().saturating_sub(MAX_REASONS);
        for Why { reason, diffs, .. } in reasons.into_iter().take(MAX_REASONS) {
            self.add(Verdict::Fail, target.clone(), reason, diffs);
        }
        if more > 0 {
            self.fail(target, format!("and {more} more"));
        }
    }

    fn own(&mut self, assertion: &Assertion, object: &Value, metrics: &Metrics, reasons: &impl Fn(&str) -> Vec<Why>) {
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
                let mut behind = reasons(metric);
                // Two assertions may rest on the same deeds.
                let is_told = |why: &Why| self.failures.iter().any(|failure| failure.reason == why.reason);
                behind.retain(|why| !why.is_line && !is_told(why));
                self.reasons(target.to_string(), behind);
            }
        }
    }

    /// The outcome of a gate whose line is made from its detail.
    pub(crate) fn told<D>(self, metrics: Metrics, detail: D, line: impl FnOnce(&D) -> String) -> GateOutcome<D> {
        let line = if self.is_terse { String::new() } else { line(&detail) };
        self.outcome(metrics, line, detail)
    }

    pub(crate) fn outcome<D>(self, metrics: Metrics, line: String, detail: D) -> GateOutcome<D> {
        GateOutcome { verdict: self.verdict.unwrap_or(Verdict::Pass), metrics, failures: self.failures, line, detail }
    }
}
