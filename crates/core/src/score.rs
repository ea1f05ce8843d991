//! Scores of traces that were recorded elsewhere: one line of JSON per trace, one per group of runs.
//!
//! Each trace is scored on its own, so traces can be scored in any order and by any number of threads; groups take in their
//! runs in the order of the input.

mod groups;
mod line;
mod lookup;
mod merge;
mod record_key;
mod store;
mod tasks;

use std::borrow::Cow;

use serde_json::Value;

use crate::assertion::Assertion;
use crate::diag::Code;
use crate::eval::stability::Digest;
use crate::eval::{
    GateFailure, GateKind, Metrics, NarrativeGate, NarrativeParams, RecoveryGate, RecoveryParams, ReliabilityGate,
    ReliabilityParams, StabilityGate, StabilityParams, Verdict,
};
use crate::import::{ImportError, Imported};
use crate::json;
use crate::judge::{CheckResult, Checks};
use crate::report::RowVerdict;
use crate::suite::{GateFile, Gates, Task};
use crate::target::Target;
use crate::trace::Trace;
pub use groups::{GroupLine, Groups, Lines, Run};
pub(crate) use line::ScoreLine;
pub use line::{LineError, TraceLine};
pub use lookup::{DuplicateKey, find};
pub(crate) use merge::Carried;
pub use merge::{MergeError, Merged};
pub use record_key::{RecordKey, RecordKeyError, RecordView};
use tasks::{Applied, OverRuns, Tasks};

/// Which runs passed, as the data says.
#[derive(Debug, Clone)]
pub struct Outcome {
    /// Where a record says how its run ended.
    pub path: Target,
    /// The value there if it passed.
    pub pass: Value,
}

impl Outcome {
    /// Whether the run of a record passed; none if the record does not say: it has nothing there, or a key twice.
    pub fn passed(&self, fields: &str) -> Option<bool> {
        let found = find(fields, &self.path).unwrap_or(None);
        found.filter(|found| !found.is_null() || self.pass.is_null()).map(|found| json::equal(&found, &self.pass))
    }
}

#[derive(Debug, Clone)]
pub struct Scorer {
    file: GateFile,
    tasks: Tasks,
    /// Whether there are gates to judge by; otherwise metrics are reported and nothing is judged.
    judges: bool,
    outcome: Option<Outcome>,
    /// Identifies the gates, to check that the parts of a corpus were judged with the same ones.
    rules: Option<String>,
    /// Whether the lines of checks are left empty.
    is_terse: bool,
}

/// Gates that cannot judge single traces.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum ScorerError {
    /// A pass rate needs something that passes.
    #[error("`reliability` counts runs that pass, but no gate or assertion judges a single run")]
    NothingToCount,
    /// An outcome belongs to a group.
    #[error("the file has no gates or assertions, so there is nothing to check")]
    NoGates,
}

impl Scorer {
    /// A scorer by the checks of a gates file; without them what needs no parameters is measured.
    pub fn new(gates: Option<GateFile>, outcome: Option<Outcome>) -> Result<Self, ScorerError> {
        let judges = gates.is_some();
        let file = gates.unwrap_or_else(|| GateFile { gates: measured(), ..GateFile::default() });
        let GateFile { expect, gates, tasks, .. } = &file;
        if judges && expect.is_empty() && gates.is_empty() && tasks.is_empty() {
            return Err(ScorerError::NoGates);
        }
        let judges_runs = |task: &Task| !task.expect.is_empty() || task.gates.judges_runs();
        let counts = !expect.is_empty() || gates.judges_runs() || tasks.iter().any(judges_runs);
        if gates.reliability.is_some() && outcome.is_none() && !counts {
            return Err(ScorerError::NothingToCount);
        }
        Ok(Self { tasks: Tasks::new(tasks), file, judges, outcome, rules: None, is_terse: false })
    }

    /// The tasks of the gates file, in its order.
    pub fn tasks(&self) -> &[Task] {
        &self.file.tasks
    }

    /// The assertions and gates for a record.
    pub fn checks_for(&self, record: &RecordView<'_>) -> Result<(Vec<Assertion>, Gates, Vec<u32>), ImportError> {
        let Applied { checks, tasks, .. } = self.tasks.checks(&self.file, record)?;
        let (expect, gates) = checks.to_owned();
        Ok((expect, gates, tasks))
    }

    /// Writes this into the lines: parts of a corpus may be merged when they were judged by the same rules.
    #[must_use]
    pub fn with_rules(self, rules: String) -> Self {
        Self { rules: Some(rules), ..self }
    }

    /// What [`Scorer::with_rules`] was given.
    pub fn rules(&self) -> Option<&str> {
        self.rules.as_deref()
    }

    /// The fingerprint of the gates in the lines of traces; none without gates.
    pub fn trace_rules(&self) -> Option<&str> {
        self.rules().filter(|_| self.judges)
    }

    /// Leaves [`CheckResult::line`] empty where it can: only reports show it, and writing it costs more than many gates.
    #[must_use]
    pub fn without_lines(self) -> Self {
        Self { is_terse: true, ..self }
    }

    /// Scores one trace of a group, or of none, that was read from `source`. It cannot be scored if two of its tasks have the
    /// same gate.
    pub fn score(&self, imported: &Imported<'_>, group: Option<&str>, source: &str) -> Result<Scored, ImportError> {
        let trace = &imported.trace;
        let record = RecordView { fields: &imported.fields, source, group };
        let Applied { checks: applied, tasks, over } = self.tasks.checks(&self.file, &record)?;
        let mut checks = applied.run(trace, self.is_terse);
        if !self.judges && !has_faults(trace) {
            checks.retain(|check| check.gate != Some(GateKind::Recovery));
        }
        let passed = checks.iter().all(|check| check.verdict == Verdict::Pass);
        let digest = applied.stability.map(|gate| Digest::of(trace, group.is_some(), gate.params().dimensions));
        let mut verdict = self.verdict(&applied, &checks, group.is_some(), trace.incomplete().is_some());
        let count = checks.iter().map(|check| check.failures.len()).sum();
        let mut failures: Vec<(&'static str, GateFailure)> = Vec::with_capacity(count);
        for check in &mut checks {
            let (name, found) = (check.name, std::mem::take(&mut check.failures));
            if self.judges {
                failures.extend(found.into_iter().map(|failure| (name, failure)));
            }
        }
        let mut lacks = |name: &'static str, reason: String| {
            failures.push((name, GateFailure { target: name.to_owned(), reason, diffs: Vec::new() }));
            verdict = Some(match verdict {
                Some(worse @ (RowVerdict::Fail | RowVerdict::Error)) => worse,
                _ => RowVerdict::Unassessable,
            });
        };
        let over_runs = applied.stability.map(|_| GateKind::Stability);
        let over_runs = over_runs.or_else(|| applied.reliability.map(|_| GateKind::Reliability));
        if let Some(gate) = over_runs.filter(|_| self.judges && group.is_none()) {
            lacks(
                gate.name(),
                "the record has no group, and `stability` and `reliability` judge groups of runs".to_owned(),
            );
        }
        if let Some(why) = trace.incomplete().filter(|_| self.judges && checks.is_empty()) {
            lacks("program", format!("not assessable: the recording is incomplete: {why}"));
        }
        if applied.names().next().is_none() {
            lacks("tasks", "not assessable: the record belongs to no task, and no gate is for all records".to_owned());
        }
        let (session, tools, calls) = match digest {
            Some(Digest { session, tools, calls }) => (Some(session), tools, calls),
            None => (None, Vec::new(), None),
        };
        let run = group.map(|_| Run {
            session,
            tools: groups::Names::new(&tools),
            calls,
            over,
            outcome: match &self.outcome {
                _ if trace.incomplete().is_some() => None,
                Some(rule) => rule.passed(&imported.fields),
                // Without a check nothing says how it ended.
                None => (!checks.is_empty()).then_some(passed),
            },
        });
        let session = session.as_ref().map(line::session_metrics);
        let tasks = (!self.tasks.is_empty()).then_some(tasks);
        Ok(Scored { verdict, checks, session, failures, run, tasks })
    }

    fn verdict(
        &self,
        applied: &Checks<'_>,
        checks: &[CheckResult],
        is_grouped: bool,
        is_incomplete: bool,
    ) -> Option<RowVerdict> {
        let worst = checks.iter().map(|check| check.verdict).max()?;
        // A run with an incomplete recording has no outcome for its group to count.
        let absorbs = applied.reliability.is_some() && self.outcome.is_none() && is_grouped && !is_incomplete;
        let verdict = match worst {
            Verdict::Fail | Verdict::Unassessable if absorbs => RowVerdict::Absorbed,
            other => other.into(),
        };
        self.judges.then_some(verdict)
    }

    /// Whether a trace with or without a group gets a verdict. A gate over runs reports a run without a group as unassessable.
    /// None if that depends on its tasks.
    pub fn judges_trace(&self, is_grouped: bool) -> Option<bool> {
        if !self.tasks.is_empty() {
            return None;
        }
        let GateFile { expect, gates, .. } = &self.file;
        let judges_runs = !expect.is_empty() || gates.judges_runs();
        Some(self.judges && (judges_runs || (!is_grouped && self.judges_groups())))
    }

    /// Whether any gate judges groups of runs.
    pub fn judges_groups(&self) -> bool {
        self.file.judges_groups()
    }

    /// The gates of the task that replaces a gate over runs, or those for all.
    fn gates_of(&self, task: Option<u32>) -> &Gates {
        let task = task.and_then(|task| self.file.tasks.get(task as usize));
        task.map_or(&self.file.gates, |task| &task.gates)
    }

    /// A gate over runs that judges any group, of all records or of a task.
    fn first_over_runs(&self) -> Option<GateKind> {
        let all = || std::iter::once(&self.file.gates).chain(self.file.tasks.iter().map(|task| &task.gates));
        let stability = all().any(|gates| gates.stability.is_some()).then_some(GateKind::Stability);
        let reliability = || all().any(|gates| gates.reliability.is_some()).then_some(GateKind::Reliability);
        stability.or_else(reliability).filter(|_| self.judges)
    }

    /// Stability of groups, if it is on.
    fn stability(&self, over: OverRuns) -> Option<&StabilityGate> {
        self.gates_of(over.stability).stability.as_ref()
    }

    /// Reliability of groups, if it is on, and whether it is judged or only measured.
    fn reliability(&self, over: OverRuns) -> Option<(Cow<'_, ReliabilityGate>, bool)> {
        match &self.gates_of(over.reliability).reliability {
            Some(gate) => Some((Cow::Borrowed(gate), self.judges)),
            None if self.outcome.is_some() => {
                let measured = ReliabilityGate::new(ReliabilityParams::default()).ok()?;
                Some((Cow::Owned(measured), false))
            }
            None => None,
        }
    }
}

/// The group of a record from `source`: what the key selects, or the record's own group.
pub fn group_of(
    imported: &Imported<'_>,
    group_by: Option<&RecordKey>,
    source: &str,
) -> Result<Option<String>, ImportError> {
    let Some(key) = group_by else { return Ok(imported.group.clone()) };
    let record = RecordView { fields: &imported.fields, source, group: imported.group.as_deref() };
    let found = key.value(&record).map_err(|DuplicateKey| {
        let message = format!("a key of `{key}` is in this record twice, so its group is ambiguous");
        ImportError::error(None, message).code(Code::NoGroup)
    })?;
    match found {
        Some(Value::String(text)) => Ok(Some(text)),
        Some(Value::Null) | None => {
            let (message, hint) = match key {
                RecordKey::Path(_) if found.is_some() => (
                    format!("`{key}` is null in this record, so it belongs to no group"),
                    "give the record a group, or leave it out",
                ),
                RecordKey::Group => (
                    "the record has no `group`, so it belongs to no group".to_owned(),
                    "only envelopes have one; for other formats name a path in the record",
                ),
                RecordKey::Path(_) => (
                    format!("`{key}` selects nothing in this record, so it belongs to no group"),
                    "`--group-by` is a path in the record as it is in the file",
                ),
                _ if source == "-" => (
                    format!("standard input has no `{key}`, so the record belongs to no group"),
                    "name files instead of `-`, or group by a path in the records",
                ),
                _ => (
                    format!("the input has no `{key}`, so the record belongs to no group"),
                    "`{folder[0]}` is the first folder of the path, `{folder[-1]}` the one that contains the file",
                ),
            };
            Err(ImportError::error(None, message).code(Code::NoGroup).hint(hint))
        }
        Some(other) => Ok(Some(json::canonical(&other))),
    }
}

/// The gates that need no parameters, for their metrics.
fn measured() -> Gates {
    Gates {
        stability: StabilityGate::new(StabilityParams::default()).ok(),
        recovery: RecoveryGate::new(RecoveryParams::default()).ok(),
        narrative: NarrativeGate::new(NarrativeParams::default()).ok(),
        ..Gates::default()
    }
}

fn has_faults(trace: &Trace) -> bool {
    trace.tool_results.iter().flatten().flatten().any(|result| result.fault.is_some())
}

/// What was found of one trace.
#[derive(Debug, Clone)]
pub struct Scored {
    /// The verdict; none when nothing was judged.
    pub verdict: Option<RowVerdict>,
    /// What was checked, its failures taken out.
    pub checks: Vec<CheckResult>,
    /// The sub-scores of the session.
    session: Option<Metrics>,
    /// Why the verdict is not a pass, each with its gate.
    pub failures: Vec<(&'static str, GateFailure)>,
    /// What its group needs to know.
    pub run: Option<Run>,
    /// Places of its tasks in the gates file; none if the file has no tasks.
    pub tasks: Option<Vec<u32>>,
}
