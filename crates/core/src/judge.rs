//! From the traces of a test to what its assertions and gates say of them. Nothing is counted or printed here.

mod picture;

use serde::{Deserialize, Serialize};

use crate::assertion::{Assertion, Check};
use crate::eval::recovery::is_later;
use crate::eval::{GateFailure, GateKind, GateOutcome, Judge, Metrics, Verdict};
use crate::suite::{AgentTest, Fault, Gates};
use crate::trace::{FaultEffect, FaultKind, StopReason, Trace, fill_results};
pub use picture::{DrawnCall, DrawnClaim, Picture};

/// What one gate, or the assertions of a test, say.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Checked {
    /// The gate; none for the test's own assertions.
    #[serde(skip)]
    pub gate: Option<GateKind>,
    /// The name it is shown by: the gate's, or `expect`.
    pub name: &'static str,
    /// The verdict.
    pub verdict: Verdict,
    /// One line with its numbers.
    pub line: String,
    /// Every metric that has a value.
    pub metrics: Metrics,
    /// Why the verdict is not a pass.
    pub failures: Vec<GateFailure>,
    /// What a report can draw of it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub picture: Option<Picture>,
    /// Which of the test's own assertions is the first that does not hold.
    #[serde(skip)]
    pub first: Option<usize>,
}

impl<D> From<(GateKind, GateOutcome<D>)> for Checked {
    fn from((kind, outcome): (GateKind, GateOutcome<D>)) -> Self {
        Self {
            gate: Some(kind),
            name: kind.name(),
            verdict: outcome.verdict,
            line: outcome.line,
            metrics: outcome.metrics,
            failures: outcome.failures,
            picture: None,
            first: None,
        }
    }
}

/// What a test's assertions and its gates over single runs say of one run, in the order of the reference.
pub fn run(expect: &[Assertion], gates: &Gates, trace: &Trace) -> Vec<Checked> {
    checks(expect, gates, trace, Judge::default)
}

/// The same for those who read no lines: most have none.
pub(crate) fn run_tersely(expect: &[Assertion], gates: &Gates, trace: &Trace) -> Vec<Checked> {
    checks(expect, gates, trace, Judge::terse)
}

fn checks(expect: &[Assertion], gates: &Gates, trace: &Trace, judge: fn() -> Judge) -> Vec<Checked> {
    let mut out = Vec::with_capacity(MOST_CHECKS);
    if !expect.is_empty() {
        out.push(expectations(expect, trace));
    }
    // Whoever reads no lines looks at no pictures.
    let is_shown = !judge().is_terse;
    if let Some(gate) = &gates.trajectory {
        let outcome = gate.judged(trace, judge());
        let picture = (is_shown && trace.tool_calls.is_some()).then(|| Picture::calls(gate, &outcome.detail));
        out.push(Checked { picture, ..(GateKind::Trajectory, outcome).into() });
    }
    if let Some(gate) = &gates.trajectory_axes {
        out.push((GateKind::TrajectoryAxes, gate.judged(trace, judge())).into());
    }
    if let Some(gate) = &gates.golden_path {
        out.push((GateKind::GoldenPath, gate.judged(trace, judge())).into());
    }
    if let Some(gate) = &gates.recovery {
        out.push((GateKind::Recovery, gate.judged(trace, judge())).into());
    }
    if let Some(gate) = &gates.narrative {
        let outcome = gate.judged(trace, judge());
        let picture = (is_shown && !outcome.detail.claims.is_empty()).then(|| Picture::claims(&outcome.detail));
        out.push(Checked { picture, ..(GateKind::Narrative, outcome).into() });
    }
    out
}

/// The assertions and the gates over single runs.
const MOST_CHECKS: usize = 6;

/// What the gates over runs say of all runs of a cell; `outcomes` tells which of them passed by themselves.
pub fn runs(gates: &Gates, traces: &[&Trace], outcomes: &[bool]) -> Vec<Checked> {
    let mut out = Vec::new();
    if let Some(gate) = &gates.stability {
        out.push((GateKind::Stability, gate.evaluate(traces)).into());
    }
    if let Some(gate) = &gates.reliability {
        out.push((GateKind::Reliability, gate.evaluate(outcomes)).into());
    }
    out
}

/// The gates over runs of a cell of which a run could not be judged.
pub fn without_runs(gates: &Gates, why: &str) -> Vec<Checked> {
    let over_runs = [
        gates.stability.as_ref().map(|_| GateKind::Stability),
        gates.reliability.as_ref().map(|_| GateKind::Reliability),
    ];
    let checked = |kind: GateKind| Checked {
        gate: Some(kind),
        name: kind.name(),
        verdict: Verdict::Error,
        line: why.to_owned(),
        metrics: Metrics::default(),
        failures: vec![GateFailure { target: kind.name().to_owned(), reason: why.to_owned(), diffs: Vec::new() }],
        picture: None,
        first: None,
    };
    over_runs.into_iter().flatten().map(checked).collect()
}

fn expectations(expect: &[Assertion], trace: &Trace) -> Checked {
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
    let held = expect.len() - failures.len();
    Checked {
        gate: None,
        name: "expect",
        verdict,
        line: format!("{held} of {} hold", expect.len()),
        metrics: Metrics::default(),
        failures,
        picture: None,
        first,
    }
}

/// Proof of what became of one injected fault in one run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Receipt {
    /// Name of the fault.
    pub fault: String,
    /// What it does.
    pub kind: FaultKind,
    /// Calls it was injected into, by their place in the trace.
    pub injected: Vec<usize>,
    /// Those that were denied an answer.
    pub met: Vec<usize>,
    /// Virtual time its calls took.
    pub ms: u64,
    /// How the run came out of it.
    pub recovered: Recovered,
}

/// How a run came out of a fault.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Recovered {
    /// No call was denied an answer, so there was nothing to come out of.
    Unmet,
    /// This later call succeeded.
    Call(usize),
    /// No later call is known to have succeeded, but the run ended with an answer.
    Answer,
    /// It did not.
    Not,
}

/// The receipts of a test's faults in one run, in the order of `inject`.
pub fn receipts(test: &AgentTest, faults: &[Fault], trace: &Trace) -> Vec<Receipt> {
    let armed = test.inject.iter().filter_map(|at| faults.get(*at));
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
