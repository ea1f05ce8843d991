//! `recovery`: how the agent handled an injected fault, in virtual time.
//!
//! Nothing here waits or measures: the recorded fault marks are the clock. It starts at 0 with the first faulted call, and
//! each faulted call adds the virtual time it took.

use std::fmt;

use serde::Serialize;

use super::gate::{Expect, GateKind, GateOutcome, Judge, Metrics, NO_CALLS, plural};
use crate::diag::Problems;
use crate::trace::{Role, StopReason, ToolCall, ToolResult, Trace};

/// Points in time of one fault, in milliseconds of one clock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RecoveryMarks {
    /// When the faulted call started.
    pub call_start_ms: u64,
    /// When the agent detected the fault.
    pub detected_ms: Option<u64>,
    /// When the run had recovered.
    pub recovered_ms: Option<u64>,
    /// Time budget of one call.
    pub timeout_budget_ms: u64,
}

/// How the agent handled a fault.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct RecoveryReport {
    /// From the start of the call until the fault was detected.
    pub time_to_detection_ms: Option<u64>,
    /// From the start of the call until the run had recovered.
    pub time_to_recovery_ms: Option<u64>,
    /// How long a user saw nothing happen.
    pub user_visible_hang_ms: u64,
    /// The run recovered.
    pub recovered: bool,
    /// The fault was detected within the budget.
    pub clean_timeout: bool,
}

/// Folds marks into a report. A mark before the start did not happen.
///
/// ```
/// use mcptest_core::eval::{RecoveryMarks, score_recovery};
///
/// let report = score_recovery(&RecoveryMarks {
///     call_start_ms: 1_000,
///     detected_ms: Some(3_500),
///     recovered_ms: Some(4_200),
///     timeout_budget_ms: 2_500,
/// });
/// assert_eq!((report.time_to_detection_ms, report.time_to_recovery_ms), (Some(2_500), Some(3_200)));
/// assert!(report.clean_timeout && report.recovered);
/// ```
pub fn score_recovery(marks: &RecoveryMarks) -> RecoveryReport {
    let since_start = |mark: Option<u64>| mark.and_then(|mark| mark.checked_sub(marks.call_start_ms));
    let detection = since_start(marks.detected_ms);
    let recovery = since_start(marks.recovered_ms);
    RecoveryReport {
        time_to_detection_ms: detection,
        time_to_recovery_ms: recovery,
        user_visible_hang_ms: detection.into_iter().chain(recovery).min().unwrap_or(marks.timeout_budget_ms),
        recovered: recovery.is_some(),
        clean_timeout: detection.is_some_and(|ms| ms <= marks.timeout_budget_ms),
    }
}

/// Parameters of the gate.
#[derive(Debug, Clone)]
pub struct RecoveryParams {
    /// Time budget of one call.
    pub max_detection_ms: u64,
    /// Maximum virtual time until the run completes with an answer.
    pub max_recovery_ms: Option<u64>,
    /// The fault must be detected within the budget.
    pub require_clean_timeout: bool,
    /// At least one call must hit a fault: it got no answer, or a late one.
    pub require_hit: bool,
    /// A later call must succeed.
    pub require_call: bool,
    /// What is asserted.
    pub expect: Expect,
}

impl Default for RecoveryParams {
    fn default() -> Self {
        Self {
            max_detection_ms: 3000,
            max_recovery_ms: None,
            require_clean_timeout: false,
            require_hit: true,
            require_call: false,
            expect: Expect::Default,
        }
    }
}

/// Why a run did not recover.
const NO_END: &str = "the run did not complete with an answer";

/// The faults in a trace and what followed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Recovery {
    /// Times and flags.
    pub report: RecoveryReport,
    /// Calls that got no answer.
    pub fault_hits: usize,
    /// Calls with a late answer.
    pub fault_delays: usize,
    /// Index of the first call after the first hit that succeeded.
    pub recovered_by: Option<usize>,
    /// Index of a call that may have succeeded after the first hit, when none is known to have.
    pub may_be_recovered_by: Option<usize>,
}

impl Recovery {
    /// Whether the run ended with an answer although no call succeeded after the first hit.
    fn answered_without_the_tool(&self) -> bool {
        let has_call = self.recovered_by.or(self.may_be_recovered_by).is_some();
        self.report.recovered && self.fault_hits > 0 && !has_call
    }
}

/// The compiled gate.
#[derive(Debug, Clone)]
pub struct RecoveryGate {
    params: RecoveryParams,
}

impl RecoveryGate {
    /// Compiles the gate. Paths of problems start at the gate's block.
    pub fn new(params: RecoveryParams) -> Result<Self, Problems> {
        params.expect.problems().or(Self { params })
    }

    /// The parameters it was built from.
    pub fn params(&self) -> &RecoveryParams {
        &self.params
    }

    /// Scores a run by its recorded fault marks.
    pub fn evaluate(&self, trace: &Trace) -> GateOutcome<Option<Recovery>> {
        self.judged(trace, Judge::default())
    }

    pub(crate) fn judged(&self, trace: &Trace, mut judge: Judge) -> GateOutcome<Option<Recovery>> {
        let gate = GateKind::Recovery.info();
        let found = match observe(trace, self.params.max_detection_ms) {
            Ok(found) => found,
            Err(why) => {
                let metrics = Metrics::without_evidence(gate, &why);
                judge.unassessable("recovery", format!("not assessable: {why}"));
                return judge.outcome(metrics, None, |_| format!("not assessable: {why}"));
            }
        };
        let report = found.report;
        let limits = self.broken_limits(&found);
        let open = found.may_be_recovered_by.map(|at| match trace.result(at).and_then(ToolResult::failed) {
            None => format!("whether tool_calls[{at}] succeeded was not recorded"),
            Some(_) => format!("whether tool_calls[{at}] was made after the fault is unknown: turns were not recorded"),
        });
        let waits = open.is_some() && self.params.require_call && found.fault_hits > 0;
        let passed = report.recovered && limits.is_empty();
        let mut metrics = Metrics::of(gate);
        metrics.set_flag("clean_timeout", report.clean_timeout);
        metrics.set("fault_delays", found.fault_delays);
        metrics.set("fault_hits", found.fault_hits);
        match &open {
            Some(why) if waits && passed => metrics.lacks_evidence("passed", why.clone()),
            _ => metrics.set_flag("passed", passed),
        }
        metrics.set_flag("recovered", report.recovered);
        match &open {
            Some(why) => metrics.lacks_evidence("recovered_by_call", why.clone()),
            None => metrics.set_flag("recovered_by_call", found.recovered_by.is_some()),
        }
        metrics.set_known("time_to_detection_ms", report.time_to_detection_ms);
        metrics.set_known("time_to_recovery_ms", report.time_to_recovery_ms);
        metrics.set("user_visible_hang_ms", report.user_visible_hang_ms);
        let why = |metric: &str| match metric {
            "passed" | "recovered" if !report.recovered => vec![NO_END.to_owned().into()],
            _ => Vec::new(),
        };
        if limits.is_empty() || matches!(self.params.expect, Expect::Custom(_)) {
            judge.expect(gate, &self.params.expect, &metrics, why);
        } else if !report.recovered {
            judge.fail("recovery.recovered", NO_END);
        }
        for (target, reason) in limits {
            judge.fail(target, reason);
        }
        if let (Some(why), Expect::Custom(_)) = (open.filter(|_| waits), &self.params.expect) {
            judge.unassessable("require_call", format!("not assessable: {why}"));
        }
        judge.outcome(metrics, Some(found), |_| line(&found))
    }

    /// Limits set as parameters. They apply regardless of the author's assertions.
    fn broken_limits(&self, found: &Recovery) -> Vec<(&'static str, String)> {
        let params = &self.params;
        let mut broken = Vec::new();
        if params.require_hit && found.fault_hits + found.fault_delays == 0 {
            let why = "no call hit a fault, so nothing was tested";
            broken.push(("require_hit", why.to_owned()));
        }
        if let Some(limit) = params.max_recovery_ms {
            match found.report.time_to_recovery_ms {
                Some(ms) if ms <= limit => {}
                Some(ms) => {
                    broken.push(("max_recovery_ms", format!("recovery took {ms} ms, at most {limit} ms allowed")));
                }
                None => {
                    broken.push(("max_recovery_ms", format!("the run never recovered; at most {limit} ms allowed")));
                }
            }
        }
        if params.require_clean_timeout && found.fault_hits > 0 && !found.report.clean_timeout {
            let limit = params.max_detection_ms;
            broken.push(match found.report.time_to_detection_ms {
                Some(ms) => (
                    "require_clean_timeout",
                    format!("the fault was detected after {ms} ms, at most {limit} ms allowed"),
                ),
                None => ("require_clean_timeout", "the fault was never detected".to_owned()),
            });
        }
        let may_be = found.may_be_recovered_by.is_some();
        if params.require_call && found.fault_hits > 0 && found.recovered_by.is_none() && !may_be {
            broken.push(("require_call", "no call succeeded after the first fault".to_owned()));
        }
        broken
    }
}

fn line(found: &Recovery) -> String {
    let when = |what: &'static str, ms: Option<u64>| {
        fmt::from_fn(move |f| match ms {
            Some(ms) => write!(f, "{what} after {ms} ms"),
            None => write!(f, "never {what}"),
        })
    };
    let recovered = if found.answered_without_the_tool() { "answered without the tool" } else { "recovered" };
    format!(
        "{}, {}, {}, {}",
        plural(found.fault_hits, "fault hit"),
        plural(found.fault_delays, "delay"),
        when("detected", found.report.time_to_detection_ms),
        when(recovered, found.report.time_to_recovery_ms),
    )
}

/// Reads the virtual clock off a trace; the error says which evidence is missing.
fn observe(trace: &Trace, budget_ms: u64) -> Result<Recovery, String> {
    let calls = trace.tool_calls.as_ref().ok_or(NO_CALLS)?;
    let stop = trace.conversation.stop_reason.ok_or("the stop reason was not recorded")?;
    // Only a completed run needs its answer.
    let answer = match (stop, trace.final_response.as_deref()) {
        (StopReason::Completed, answer) => answer.ok_or("the final response was not recorded")?,
        _ => "",
    };
    let mut clock = 0_u64;
    let (mut fault_hits, mut fault_delays) = (0, 0);
    let mut first_hit: Option<(usize, u64)> = None;
    let (mut recovered_by, mut may_be) = (None, None);
    for (at, call) in calls.iter().enumerate() {
        let result = trace.result(at).ok_or_else(|| format!("the result of tool_calls[{at}] was not recorded"))?;
        if let Some(fault) = &result.fault {
            clock = clock.saturating_add(fault.ms);
            fault_hits += usize::from(fault.is_hit());
            fault_delays += usize::from(!fault.is_hit());
            if fault.is_hit() {
                first_hit = first_hit.or(Some((at, clock)));
            }
        }
        if let Some((hit, _)) = first_hit.filter(|(hit, _)| *hit < at) {
            match (is_later(&calls[hit], call), result.failed()) {
                (Some(false), _) | (_, Some(true)) => {}
                (Some(true), Some(false)) => recovered_by = recovered_by.or(Some(at)),
                (None, _) | (_, None) => may_be = may_be.or(Some(at)),
            }
        }
    }
    let detected_ms = match first_hit {
        Some((at, end)) => acted_again(trace, calls, at, stop)?.then_some(end),
        None => None,
    };
    let recovered = stop == StopReason::Completed && !answer.trim().is_empty();
    let marks = RecoveryMarks {
        call_start_ms: 0,
        detected_ms,
        recovered_ms: recovered.then_some(clock),
        timeout_budget_ms: budget_ms,
    };
    Ok(Recovery {
        report: score_recovery(&marks),
        fault_hits,
        fault_delays,
        recovered_by,
        may_be_recovered_by: may_be.filter(|_| recovered_by.is_none()),
    })
}

/// Whether a call was made in a later turn than `hit`: calls of one turn are made together. `None` if a turn was not
/// recorded.
pub(crate) fn is_later(hit: &ToolCall, call: &ToolCall) -> Option<bool> {
    Some(call.turn? > hit.turn?)
}

/// Whether the agent acted again after the call that got no answer.
fn acted_again(trace: &Trace, calls: &[ToolCall], hit: usize, stop: StopReason) -> Result<bool, String> {
    if stop == StopReason::Completed {
        // The run ended with a message of the model that came after every result.
        return Ok(true);
    }
    match (calls[hit].turn, &trace.conversation.turns) {
        (Some(turn), Some(turns)) => {
            Ok(turns.iter().skip(turn.saturating_add(1)).any(|turn| turn.role == Role::Assistant))
        }
        (Some(_), None) if calls[hit + 1..].iter().any(|call| call.turn > calls[hit].turn) => Ok(true),
        _ => Err(format!("whether the agent acted after tool_calls[{hit}] was not recorded")),
    }
}
