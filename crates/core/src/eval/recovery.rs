//! `recovery`: how the agent handled a fault, in virtual time.
//!
//! Nothing here waits or measures: the recorded faults are the clock. It starts at 0 with the first faulted call. Each injected
//! fault adds the virtual time it took, and each real one, where those count, the recorded duration of its call.

use std::fmt;

use serde::Serialize;

use super::gate::{Expect, GateKind, GateOutcome, Judge, NO_CALLS, plural};
use super::metrics::Metrics;
use crate::diag::Problems;
use crate::trace::{
    ErrorKind, FaultEffect, ProgramFault, Role, StopReason, TimelineEntry, ToolCall, ToolResult, Trace, words,
};

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

words! {
    /// Which failures count as faults.
    FaultScope {
        /// Only those that were injected.
        Injected = "injected",
        /// Also timeouts, transport errors, JSON-RPC errors and HTTP errors that were not injected.
        Any = "any",
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
    /// Which failures count as faults.
    pub faults: FaultScope,
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
            faults: FaultScope::Injected,
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

/// Evidence that a trace lacks. The numbers of a [`Recovery`] are then the least possible ones.
#[derive(Debug, Default)]
struct Unknown {
    hits: Option<String>,
    detection: Option<String>,
    recovery: Option<String>,
    call: Option<String>,
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
        if let Some(why) = trace.incomplete() {
            return judge.incomplete(gate, why);
        }
        let recorded = trace.program.as_ref().and_then(|program| program.faults.as_deref());
        let observed = match recorded {
            Some(faults) if self.params.faults == FaultScope::Injected => measured(trace, faults, &self.params),
            _ => observe(trace, &self.params),
        };
        let (found, unknown) = match observed {
            Ok(found) => found,
            Err(why) => {
                let metrics = Metrics::without_evidence(gate, &why);
                judge.unassessable("recovery", format!("not assessable: {why}"));
                return judge.outcome(metrics, None, |_| format!("not assessable: {why}"));
            }
        };
        let report = found.report;
        let limits = self.broken_limits(&found);
        let undecided = self.undecided_limits(&found, &unknown);
        let passed = report.recovered && limits.is_empty();
        let mut metrics = Metrics::of(gate);
        match &unknown.detection {
            Some(why) if report.clean_timeout => metrics.lacks_evidence("clean_timeout", why.clone()),
            _ => metrics.set_flag("clean_timeout", report.clean_timeout),
        }
        metrics.set("fault_delays", found.fault_delays);
        match &unknown.hits {
            Some(why) => metrics.lacks_evidence("fault_hits", why.clone()),
            None => metrics.set("fault_hits", found.fault_hits),
        }
        match undecided.first() {
            Some((_, why)) if passed => metrics.lacks_evidence("passed", why.clone()),
            _ => metrics.set_flag("passed", passed),
        }
        metrics.set_flag("recovered", report.recovered);
        match &unknown.call {
            Some(why) => metrics.lacks_evidence("recovered_by_call", why.clone()),
            None => metrics.set_flag("recovered_by_call", found.recovered_by.is_some()),
        }
        match &unknown.detection {
            Some(why) => {
                metrics.lacks_evidence("time_to_detection_ms", why.clone());
                metrics.lacks_evidence("user_visible_hang_ms", why.clone());
            }
            None => {
                metrics.set_known("time_to_detection_ms", report.time_to_detection_ms);
                metrics.set("user_visible_hang_ms", report.user_visible_hang_ms);
            }
        }
        match &unknown.recovery {
            Some(why) => metrics.lacks_evidence("time_to_recovery_ms", why.clone()),
            None => metrics.set_known("time_to_recovery_ms", report.time_to_recovery_ms),
        }
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
        if let Expect::Custom(_) = &self.params.expect {
            for (target, why) in undecided {
                judge.unassessable(target, format!("not assessable: {why}"));
            }
        }
        judge.outcome(metrics, Some(found), |_| line(&found, &unknown))
    }

    /// Limits that may be broken by what was not recorded.
    fn undecided_limits(&self, found: &Recovery, unknown: &Unknown) -> Vec<(&'static str, String)> {
        let params = &self.params;
        let limits = [
            ("require_call", params.require_call && found.fault_hits > 0, &unknown.call),
            ("require_clean_timeout", params.require_clean_timeout && found.report.clean_timeout, &unknown.detection),
            ("max_recovery_ms", params.max_recovery_ms.is_some(), &unknown.recovery),
        ];
        limits.into_iter().filter_map(|(name, applies, why)| Some((name, why.clone().filter(|_| applies)?))).collect()
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

fn line(found: &Recovery, unknown: &Unknown) -> String {
    let when = |what: &'static str, ms: Option<u64>, is_unknown: bool| {
        fmt::from_fn(move |f| match ms {
            Some(_) if is_unknown => write!(f, "{what} after an unknown time"),
            Some(ms) => write!(f, "{what} after {ms} ms"),
            None => write!(f, "never {what}"),
        })
    };
    if found.fault_hits + found.fault_delays == 0 && unknown.hits.is_none() {
        let end = if found.report.recovered { "the run completed with an answer" } else { NO_END };
        return format!("no fault was recorded; {end}");
    }
    let recovered = if found.answered_without_the_tool() { "answered without the tool" } else { "recovered" };
    format!(
        "{}, {}, {}, {}",
        plural(found.fault_hits, "fault hit"),
        plural(found.fault_delays, "delay"),
        when("detected", found.report.time_to_detection_ms, unknown.detection.is_some()),
        when(recovered, found.report.time_to_recovery_ms, unknown.recovery.is_some()),
    )
}

/// Reads the virtual clock off a trace; the error says which evidence is missing.
fn observe(trace: &Trace, params: &RecoveryParams) -> Result<(Recovery, Unknown), String> {
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
    let mut unknown = Unknown::default();
    // Why the clock may be later than it shows.
    let mut late: Option<String> = None;
    for (at, call) in calls.iter().enumerate() {
        let result = trace.result(at).ok_or_else(|| format!("the result of tool_calls[{at}] was not recorded"))?;
        if let Some(fault) = &result.fault {
            clock = clock.saturating_add(fault.ms);
            fault_delays += usize::from(!fault.is_hit());
        }
        let is_injected = result.fault.as_ref().is_some_and(|fault| fault.is_hit());
        let is_real = match params.faults {
            FaultScope::Any if !is_injected => is_real_fault(result),
            FaultScope::Any | FaultScope::Injected => Some(false),
        };
        match (is_real, result.duration_ms) {
            (Some(false), _) => {}
            (Some(true), Some(ms)) => clock = clock.saturating_add(ms),
            (Some(true), None) => {
                late = late.or_else(|| Some(format!("the duration of tool_calls[{at}] was not recorded")));
            }
            (None, _) => {
                let why = match result.failed() {
                    Some(_) => {
                        format!("whether tool_calls[{at}] hit a fault is unknown: how it failed was not recorded")
                    }
                    None => format!("whether tool_calls[{at}] failed was not recorded"),
                };
                if first_hit.is_none() {
                    return Err(why);
                }
                unknown.hits.get_or_insert_with(|| why.clone());
                late.get_or_insert(why);
            }
        }
        if is_injected || is_real == Some(true) {
            fault_hits += 1;
            if first_hit.is_none() {
                first_hit = Some((at, clock));
                unknown.detection.clone_from(&late);
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
    let may_be_recovered_by = may_be.filter(|_| recovered_by.is_none());
    unknown.detection = unknown.detection.filter(|_| detected_ms.is_some());
    unknown.recovery = late.filter(|_| recovered);
    unknown.call = may_be_recovered_by.map(|at| match trace.result(at).and_then(ToolResult::failed) {
        None => format!("whether tool_calls[{at}] succeeded was not recorded"),
        Some(_) => format!("whether tool_calls[{at}] was made after the fault is unknown: turns were not recorded"),
    });
    let marks = RecoveryMarks {
        call_start_ms: 0,
        detected_ms,
        recovered_ms: recovered.then_some(clock),
        timeout_budget_ms: params.max_detection_ms,
    };
    let report = score_recovery(&marks);
    Ok((Recovery { report, fault_hits, fault_delays, recovered_by, may_be_recovered_by }, unknown))
}

/// How much later than its limit a measured timeout may end.
const MEASURED_SLACK_MS: u64 = 250;

/// Reads the marks that were measured while a program ran.
fn measured(trace: &Trace, faults: &[ProgramFault], params: &RecoveryParams) -> Result<(Recovery, Unknown), String> {
    let calls = trace.tool_calls.as_ref().ok_or(NO_CALLS)?;
    let stop = trace.conversation.stop_reason.ok_or("the stop reason was not recorded")?;
    let answer = match (stop, trace.final_response.as_deref()) {
        (StopReason::Completed, answer) => answer.ok_or("the final response was not recorded")?,
        _ => "",
    };
    let hits: Vec<&ProgramFault> = faults.iter().filter(|fault| fault.effect != FaultEffect::Delay).collect();
    let first = hits.first().copied();
    let mut unknown = Unknown::default();
    let timeline = trace.program.as_ref().and_then(|program| program.timeline.as_deref()).unwrap_or(&[]);
    let acted = |fault: &ProgramFault| {
        let end = fault.ms.saturating_add(fault.duration_ms);
        stop == StopReason::Completed || timeline.iter().any(|entry| entry.ms > fault.ms && entry.ms >= end)
    };
    let detected_ms = first.filter(|fault| acted(fault)).map(|fault| fault.duration_ms);
    let is_hit =
        |at: &usize| trace.result(*at).and_then(|result| result.fault.as_ref()).is_some_and(|mark| mark.is_hit());
    let recorded = (0..calls.len()).find(is_hit);
    let ok = |at: &usize| trace.result(*at).and_then(ToolResult::failed) == Some(false);
    let is_after = |at: &usize| {
        let by_turn = recorded.map(|hit| if hit < *at { is_later(&calls[hit], &calls[*at]) } else { Some(false) });
        match first {
            None => Some(false),
            // It hit no call: the times of the calls decide.
            Some(fault) if fault.kind.targets_model() && by_turn != Some(Some(true)) => {
                began_after(fault, &calls[*at], timeline)
            }
            Some(_) => by_turn.flatten(),
        }
    };
    let recovered_by = (0..calls.len()).find(|at| ok(at) && is_after(at) == Some(true));
    let may_be = (0..calls.len()).find(|at| ok(at) && is_after(at).is_none());
    let may_be_recovered_by = may_be.filter(|_| recovered_by.is_none());
    unknown.call =
        may_be_recovered_by.map(|at| format!("whether tool_calls[{at}] was made after the fault is unknown"));
    let recovered = stop == StopReason::Completed && !answer.trim().is_empty();
    let end = trace.conversation.duration_ms;
    if end.is_none() && recovered {
        unknown.recovery = Some("the duration of the run was not recorded".to_owned());
    }
    let since = |fault: &ProgramFault| end.unwrap_or(fault.ms).saturating_sub(fault.ms);
    let marks = RecoveryMarks {
        call_start_ms: 0,
        detected_ms,
        recovered_ms: recovered.then(|| first.map_or(0, since)),
        timeout_budget_ms: params.max_detection_ms.saturating_add(MEASURED_SLACK_MS),
    };
    let (fault_hits, fault_delays) = (hits.len(), faults.len() - hits.len());
    let report = score_recovery(&marks);
    Ok((Recovery { report, fault_hits, fault_delays, recovered_by, may_be_recovered_by }, unknown))
}

/// Whether a call began after a fault of the model had ended. `None` where calls of its tool began on both sides of it.
fn began_after(fault: &ProgramFault, call: &ToolCall, timeline: &[TimelineEntry]) -> Option<bool> {
    let what = format!("tools/call {}", call.name);
    let is_it = |entry: &&TimelineEntry| entry.what == what && (call.server.is_none() || entry.server == call.server);
    let begun = || timeline.iter().filter(is_it).map(|entry| entry.ms);
    let end = fault.ms.saturating_add(fault.duration_ms);
    if begun().count() == 0 {
        None
    } else if begun().all(|ms| ms >= end && ms > fault.ms) {
        Some(true)
    } else if begun().all(|ms| ms < fault.ms) {
        Some(false)
    } else {
        None
    }
}

/// Whether a call got no answer for a reason other than an injected fault. A tool that reports an error has answered.
/// `None` if it was not recorded whether the call failed, or how.
fn is_real_fault(result: &ToolResult) -> Option<bool> {
    use ErrorKind::{Http, Jsonrpc, Timeout, Transport};
    match &result.error {
        Some(error) => Some(matches!(error.kind, Timeout | Transport | Jsonrpc | Http)),
        None => result.failed().filter(|failed| !failed),
    }
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
