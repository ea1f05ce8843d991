//! Evaluates the assertions and gates of a test on its traces. Nothing is counted or printed here.

mod visual;

use serde::{Deserialize, Serialize};

use crate::assertion::{Assertion, Check};
use crate::eval::recovery::is_later;
use crate::eval::{
    GateFailure, GateKind, GateOutcome, GoldenPathGate, Judge, Metrics, NarrativeGate, RecoveryGate, ReliabilityGate,
    StabilityGate, TrajectoryAxesGate, TrajectoryGate, Verdict, plural,
};
use crate::suite::{AgentTest, Fault, Gates};
use crate::trace::{FaultEffect, FaultKind, StopReason, Trace, fill_results};
pub use visual::{Visual, VisualCall, VisualClaim};

/// The result of one gate, or of the assertions of a test.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct CheckResult {
    /// Why the verdict is not a pass.
    pub failures: Vec<GateFailure>,
    /// Index of the first entry that failed: of the test's own assertions, or of the calls of `trajectory`.
    #[serde(skip)]
    pub first: Option<usize>,
    /// `None` for the test's own assertions.
    #[serde(skip)]
    pub gate: Option<GateKind>,
    /// One line with its numbers.
    pub line: String,
    pub metrics: Metrics,
    /// The name in reports: the gate's, or `expect`.
    pub name: &'static str,
    /// What a report can draw.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub picture: Option<Visual>,
    pub verdict: Verdict,
}

impl CheckResult {
    fn new(gate: Option<GateKind>, verdict: Verdict, line: String, failures: Vec<GateFailure>) -> Self {
        let name = gate.map_or("expect", GateKind::name);
        Self { gate, name, verdict, line, metrics: Metrics::default(), failures, picture: None, first: None }
    }

    /// A gate that could not be evaluated.
    pub(crate) fn error(kind: GateKind, why: &str) -> Self {
        let failure = GateFailure { target: kind.name().to_owned(), reason: why.to_owned(), diffs: Vec::new() };
        Self::new(Some(kind), Verdict::Error, why.to_owned(), vec![failure])
    }
}

impl<D> From<(GateKind, GateOutcome<D>)> for CheckResult {
    fn from((kind, outcome): (GateKind, GateOutcome<D>)) -> Self {
        let GateOutcome { verdict, metrics, failures, line, detail: _ } = outcome;
        Self { metrics, ..Self::new(Some(kind), verdict, line, failures) }
    }
}

/// Evaluates the assertions of a test and its per-run gates on one run, in the order of the reference.
pub fn run(expect: &[Assertion], gates: &Gates, trace: &Trace) -> Vec<CheckResult> {
    Checks::of(expect, gates).run(trace, false)
}

/// The same, with the lines of most checks left empty.
pub(crate) fn run_tersely(expect: &[Assertion], gates: &Gates, trace: &Trace) -> Vec<CheckResult> {
    Checks::of(expect, gates).run(trace, true)
}

/// The checks that apply to one trace. They may come from several places of a gates file.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Checks<'a> {
    pub(crate) expect: &'a [Assertion],
    pub(crate) trajectory: Option<&'a TrajectoryGate>,
    pub(crate) trajectory_axes: Option<&'a TrajectoryAxesGate>,
    pub(crate) golden_path: Option<&'a GoldenPathGate>,
    pub(crate) recovery: Option<&'a RecoveryGate>,
    pub(crate) narrative: Option<&'a NarrativeGate>,
    pub(crate) stability: Option<&'a StabilityGate>,
    pub(crate) reliability: Option<&'a ReliabilityGate>,
}

impl<'a> Checks<'a> {
    pub(crate) fn of(expect: &'a [Assertion], gates: &'a Gates) -> Self {
        Self {
            expect,
            trajectory: gates.trajectory.as_ref(),
            trajectory_axes: gates.trajectory_axes.as_ref(),
            golden_path: gates.golden_path.as_ref(),
            recovery: gates.recovery.as_ref(),
            narrative: gates.narrative.as_ref(),
            stability: gates.stability.as_ref(),
            reliability: gates.reliability.as_ref(),
        }
    }

    /// These checks, overridden by those of `other`.
    pub(crate) fn replaced_by(self, other: Self) -> Self {
        Self {
            expect: if other.expect.is_empty() { self.expect } else { other.expect },
            trajectory: other.trajectory.or(self.trajectory),
            trajectory_axes: other.trajectory_axes.or(self.trajectory_axes),
            golden_path: other.golden_path.or(self.golden_path),
            recovery: other.recovery.or(self.recovery),
            narrative: other.narrative.or(self.narrative),
            stability: other.stability.or(self.stability),
            reliability: other.reliability.or(self.reliability),
        }
    }

    /// The names of the checks that there are.
    pub(crate) fn names(&self) -> impl Iterator<Item = &'static str> {
        let gates = [
            self.trajectory.map(|_| GateKind::Trajectory),
            self.trajectory_axes.map(|_| GateKind::TrajectoryAxes),
            self.golden_path.map(|_| GateKind::GoldenPath),
            self.recovery.map(|_| GateKind::Recovery),
            self.narrative.map(|_| GateKind::Narrative),
            self.stability.map(|_| GateKind::Stability),
            self.reliability.map(|_| GateKind::Reliability),
        ];
        let expect = (!self.expect.is_empty()).then_some("expect");
        expect.into_iter().chain(gates.into_iter().flatten().map(GateKind::name))
    }

    /// Evaluates the assertions and the per-run gates, in the order of the reference.
    pub(crate) fn run(self, trace: &Trace, is_terse: bool) -> Vec<CheckResult> {
        checks(self, trace, if is_terse { Judge::terse } else { Judge::default })
    }

    /// The checks as owned values.
    pub(crate) fn to_owned(self) -> (Vec<Assertion>, Gates) {
        let gates = Gates {
            trajectory: self.trajectory.cloned(),
            trajectory_axes: self.trajectory_axes.cloned(),
            golden_path: self.golden_path.cloned(),
            recovery: self.recovery.cloned(),
            narrative: self.narrative.cloned(),
            stability: self.stability.cloned(),
            reliability: self.reliability.cloned(),
        };
        (self.expect.to_vec(), gates)
    }
}

fn checks(gates: Checks<'_>, trace: &Trace, judge: fn() -> Judge) -> Vec<CheckResult> {
    let mut out = Vec::with_capacity(MAX_CHECKS);
    if let Some(program) = &trace.program
        && let Some(why) = &program.failed
    {
        out.push(program_failed(why, program.output.as_deref()));
    }
    if !gates.expect.is_empty() {
        out.push(assertions(gates.expect, trace));
    }
    // A caller that reads no lines draws nothing either.
    let is_shown = !judge().is_terse;
    if let Some(gate) = gates.trajectory {
        let outcome = gate.judged(trace, judge());
        let picture = (is_shown && trace.tool_calls.is_some()).then(|| Visual::calls(gate, &outcome.detail));
        let first = gate.first_failed(&outcome);
        out.push(CheckResult { first, picture, ..(GateKind::Trajectory, outcome).into() });
    }
    if let Some(gate) = gates.trajectory_axes {
        out.push((GateKind::TrajectoryAxes, gate.judged(trace, judge())).into());
    }
    if let Some(gate) = gates.golden_path {
        out.push((GateKind::GoldenPath, gate.judged(trace, judge())).into());
    }
    if let Some(gate) = gates.recovery {
        out.push((GateKind::Recovery, gate.judged(trace, judge())).into());
    }
    if let Some(gate) = gates.narrative {
        let outcome = gate.judged(trace, judge());
        let picture = (is_shown && !outcome.detail.claims.is_empty()).then(|| Visual::claims(&outcome.detail));
        out.push(CheckResult { picture, ..(GateKind::Narrative, outcome).into() });
    }
    out
}

/// How the program ended, the assertions, and the five per-run gates.
const MAX_CHECKS: usize = 7;

/// The name of the check that a program ended as it should.
pub const PROGRAM_CHECK: &str = "program";

/// A program that did not end as it should has failed, regardless of what it did before.
fn program_failed(why: &str, output: Option<&str>) -> CheckResult {
    // A reason is one line, and how a program ended is in the last ones.
    let last = |output: &str| {
        let lines: Vec<&str> = output.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
        format!("its last lines: {}", lines[lines.len().saturating_sub(3)..].join(" | "))
    };
    let shown = output.map_or_else(|| "it printed nothing".to_owned(), last);
    let reason = format!("{why}; {shown}");
    let failure = GateFailure { target: "program.failed".to_owned(), reason, diffs: Vec::new() };
    let check = CheckResult::new(None, Verdict::Fail, why.to_owned(), vec![failure]);
    CheckResult { name: PROGRAM_CHECK, ..check }
}

/// Evaluates the gates over runs on all runs of a cell. `outcomes` says which of them passed their own checks.
pub fn runs(gates: &Gates, traces: &[&Trace], outcomes: &[bool]) -> Vec<CheckResult> {
    let mut out = Vec::new();
    if let Some(gate) = &gates.stability {
        out.push((GateKind::Stability, gate.evaluate(traces)).into());
    }
    if let Some(gate) = &gates.reliability {
        out.push(match traces.iter().find_map(|trace| trace.incomplete()) {
            Some(why) => {
                let outcome: GateOutcome<()> = Judge::default().incomplete(GateKind::Reliability.info(), why);
                (GateKind::Reliability, outcome).into()
            }
            None => (GateKind::Reliability, gate.evaluate(outcomes)).into(),
        });
    }
    out
}

/// The gates over runs of a cell with a run that could not be evaluated: all are errors.
pub fn without_runs(gates: &Gates, why: &str) -> Vec<CheckResult> {
    let over_runs = [
        gates.stability.as_ref().map(|_| GateKind::Stability),
        gates.reliability.as_ref().map(|_| GateKind::Reliability),
    ];
    over_runs.into_iter().flatten().map(|kind| CheckResult::error(kind, why)).collect()
}

fn assertions(expect: &[Assertion], trace: &Trace) -> CheckResult {
    if let Some(why) = trace.incomplete() {
        let reason = format!("not assessable: the recording is incomplete: {why}");
        let failure = GateFailure { target: "expect".to_owned(), reason: reason.clone(), diffs: Vec::new() };
        return CheckResult { first: Some(0), ..CheckResult::new(None, Verdict::Unassessable, reason, vec![failure]) };
    }
    let mut envelope = trace.to_envelope();
    if let serde_json::Value::Object(map) = &mut envelope {
        fill_results(map);
    }
    let mut failures = Vec::new();
    let mut verdict = Verdict::Pass;
    let mut first = None;
    for (at, assertion) in expect.iter().enumerate() {
        let (found, reason, diffs) = match assertion.check(&envelope) {
            Check::Pass => continue,
            Check::Fail { reason, diffs } => (Verdict::Fail, reason, diffs),
            Check::Unassessable { reason } => (Verdict::Unassessable, reason, Vec::new()),
        };
        verdict = verdict.max(found);
        first = first.or(Some(at));
        failures.push(GateFailure { target: assertion.target().to_string(), reason, diffs });
    }
    let passed = expect.len() - failures.len();
    let line = format!("{passed} of {} passed", plural(expect.len(), "assertion"));
    CheckResult { first, ..CheckResult::new(None, verdict, line, failures) }
}

/// What happened with one injected fault in one run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Receipt {
    pub fault: String,
    /// Indices of the calls it was injected into.
    pub injected: Vec<usize>,
    pub kind: FaultKind,
    /// Those that got no answer.
    pub met: Vec<usize>,
    /// Virtual time of those calls.
    pub ms: u64,
    pub recovered: Recovered,
}

/// How a run recovered from a fault.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Recovered {
    /// Every call got an answer, so there was nothing to recover from.
    Unmet,
    /// This later call succeeded.
    Call(usize),
    /// The run ended with an answer, but no later call is known to have succeeded.
    Answer,
    Not,
}

/// The receipts of a test's faults in one run, in the order of `inject`.
pub fn receipts(test: &AgentTest, faults: &[Fault], trace: &Trace) -> Vec<Receipt> {
    // Receipts are about calls; faults of a model are in the marks of the program.
    let armed = test.inject.iter().filter_map(|at| faults.get(*at)).filter(|fault| !fault.kind.targets_model());
    armed.map(|fault| receipt(fault, trace)).collect()
}

fn receipt(fault: &Fault, trace: &Trace) -> Receipt {
    let calls = trace.tool_calls.as_deref().unwrap_or(&[]);
    let (mut injected, mut met, mut ms) = (Vec::new(), Vec::new(), 0_u64);
    for at in 0..calls.len() {
        let Some(mark) = trace.result(at).and_then(|result| result.fault.as_ref()) else { continue };
        if mark.name == fault.name {
            injected.push(at);
            ms = ms.saturating_add(mark.ms);
            if mark.effect != FaultEffect::Delay {
                met.push(at);
            }
        }
    }
    let recovered = match met.first() {
        None => Recovered::Unmet,
        Some(first) => {
            let succeeded = |at: &usize| {
                is_later(&calls[*first], &calls[*at]) == Some(true)
                    && trace.result(*at).and_then(crate::trace::ToolResult::failed) == Some(false)
            };
            let answered = trace.conversation.stop_reason == Some(StopReason::Completed)
                && trace.final_response.as_deref().is_some_and(|text| !text.trim().is_empty());
            match (first + 1..calls.len()).find(succeeded) {
                Some(at) => Recovered::Call(at),
                None if answered => Recovered::Answer,
                None => Recovered::Not,
            }
        }
    };
    Receipt { fault: fault.name.clone(), kind: fault.kind, injected, met, ms, recovered }
}
