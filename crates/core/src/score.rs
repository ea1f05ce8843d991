//! Scores of traces that were recorded elsewhere: one line of JSON per trace, one per group of runs.
//!
//! A trace is scored by itself, so traces can be scored in any order and by any number of threads; groups take in their
//! runs in the order of the input.

mod groups;
mod line;
mod lookup;
mod merge;
mod store;

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
use crate::judge::{self, CheckResult};
use crate::report::RowVerdict;
use crate::suite::Gates;
use crate::target::Target;
use crate::trace::Trace;
pub use groups::{GroupLine, Groups, Lines, Run};
pub use line::TraceLine;
pub use lookup::{DuplicateKey, find};
pub use merge::{MergeError, Merged};

/// Which runs passed, as the data says.
#[derive(Debug, Clone)]
pub struct Outcome {
    /// Where a record says how its run ended.
    pub path: Target,
    /// The value there if it passed.
    pub pass: Value,
}

/// What to score by.
#[derive(Debug, Clone)]
pub struct Scorer {
    expect: Vec<Assertion>,
    gates: Gates,
    /// Whether there are gates to judge by; otherwise metrics are reported and nothing is judged.
    judges: bool,
    outcome: Option<Outcome>,
    /// By what the parts of a corpus know that they were judged alike.
    rules: Option<String>,
    /// Whether the lines of checks are left empty.
    is_terse: bool,
}

/// Gates that cannot be held against single traces.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum ScorerError {
    /// A pass rate needs something that passes.
    #[error("`reliability` counts runs that pass, but no gate or assertion judges a single run")]
    NothingToCount,
    /// An outcome belongs to a group.
    #[error("there is nothing to judge by: the file holds neither a gate nor an assertion")]
    NoGates,
}

impl Scorer {
    /// A scorer by gates and assertions; without them what needs no parameters is measured.
    pub fn new(gates: Option<(Vec<Assertion>, Gates)>, outcome: Option<Outcome>) -> Result<Self, ScorerError> {
        let judges = gates.is_some();
        let (expect, gates) = match gates {
            Some((expect, gates)) => (expect, gates),
            None => (Vec::new(), measured()),
        };
        if judges && expect.is_empty() && gates.is_empty() {
            return Err(ScorerError::NoGates);
        }
        if gates.reliability.is_some() && outcome.is_none() && expect.is_empty() && !gates.judges_runs() {
            return Err(ScorerError::NothingToCount);
        }
        Ok(Self { expect, gates, judges, outcome, rules: None, is_terse: false })
    }

    /// Writes this into the lines of groups: parts of a corpus may be merged when they were judged by the same rules.
    #[must_use]
    pub fn with_rules(self, rules: String) -> Self {
        Self { rules: Some(rules), ..self }
    }

    /// What [`Scorer::with_rules`] was given.
    pub fn rules(&self) -> Option<&str> {
        self.rules.as_deref()
    }

    /// Leaves [`CheckResult::line`] empty where it can: only reports show it, and its words cost more than many a gate.
    #[must_use]
    pub fn without_lines(self) -> Self {
        Self { is_terse: true, ..self }
    }

    /// Scores one trace of a group, or of none.
    pub fn score(&self, imported: &Imported<'_>, group: Option<&str>) -> Scored {
        let trace = &imported.trace;
        let run = if self.is_terse { judge::run_tersely } else { judge::run };
        let mut checks = run(&self.expect, &self.gates, trace);
        if !self.judges && !has_faults(trace) {
            checks.retain(|check| check.gate != Some(GateKind::Recovery));
        }
        let passed = checks.iter().all(|check| check.verdict == Verdict::Pass);
        let has_stability = self.gates.stability.is_some();
        let digest =
            self.gates.stability.as_ref().map(|gate| Digest::of(trace, group.is_some(), gate.params().dimensions));
        let mut verdict = self.verdict(&checks, group.is_some(), trace.incomplete().is_some());
        let count = checks.iter().map(|check| check.failures.len()).sum();
        let mut failures: Vec<(&'static str, GateFailure)> = Vec::with_capacity(count);
        for check in &mut checks {
            let (name, found) = (check.name, std::mem::take(&mut check.failures));
            if self.judges {
                failures.extend(found.into_iter().map(|failure| (name, failure)));
            }
        }
        if self.judges && group.is_none() && self.judges_groups() {
            let name = if has_stability { GateKind::Stability.name() } else { GateKind::Reliability.name() };
            let reason = "the record names no group, and this gate judges groups of runs".to_owned();
            failures.push((name, GateFailure { target: name.to_owned(), reason, diffs: Vec::new() }));
            verdict = Some(match verdict {
                Some(worse @ (RowVerdict::Fail | RowVerdict::Error)) => worse,
                _ => RowVerdict::Unassessable,
            });
        }
        if let Some(why) = trace.incomplete().filter(|_| self.judges && checks.is_empty()) {
            let reason = format!("not assessable: the recording is not whole: {why}");
            failures.push(("program", GateFailure { target: "program".to_owned(), reason, diffs: Vec::new() }));
            verdict = Some(RowVerdict::Unassessable);
        }
        let (session, tools, calls) = match digest {
            Some(Digest { session, tools, calls }) => (Some(session), tools, calls),
            None => (None, Vec::new(), None),
        };
        let run = group.map(|_| Run {
            session,
            tools: groups::Names::new(&tools),
            calls,
            outcome: match &self.outcome {
                _ if trace.incomplete().is_some() => None,
                // A record that has nothing there does not say how its run ended.
                // Neither does one with a duplicate key there.
                Some(rule) => find(&imported.fields, &rule.path)
                    .unwrap_or(None)
                    .filter(|found| !found.is_null() || rule.pass.is_null())
                    .map(|found| json::equal(&found, &rule.pass)),
                None => Some(passed),
            },
        });
        Scored { verdict, checks, session: session.as_ref().map(line::session_metrics), failures, run }
    }

    fn verdict(&self, checks: &[CheckResult], is_grouped: bool, is_incomplete: bool) -> Option<RowVerdict> {
        let worst = checks.iter().map(|check| check.verdict).max()?;
        // A run of which the recording is not whole has no outcome that its group could count.
        let absorbs = self.gates.reliability.is_some() && self.outcome.is_none() && is_grouped && !is_incomplete;
        let verdict = match worst {
            Verdict::Fail | Verdict::Unassessable if absorbs => RowVerdict::Absorbed,
            other => other.into(),
        };
        self.judges.then_some(verdict)
    }

    /// Whether a trace gets a verdict, of a group or of none. A gate over runs cannot judge a run that names no group, and says so.
    pub fn judges_trace(&self, is_grouped: bool) -> bool {
        let judges_runs = !self.expect.is_empty() || self.gates.judges_runs();
        self.judges && (judges_runs || (!is_grouped && self.judges_groups()))
    }

    /// Whether any gate judges groups of runs.
    pub fn judges_groups(&self) -> bool {
        self.gates.stability.is_some() || self.gates.reliability.is_some()
    }

    /// Stability of groups, if it is on.
    fn stability(&self) -> Option<&StabilityGate> {
        self.gates.stability.as_ref()
    }

    /// Reliability of groups, if it is on, and whether it is judged or only measured.
    fn reliability(&self) -> Option<(Cow<'_, ReliabilityGate>, bool)> {
        match &self.gates.reliability {
            Some(gate) => Some((Cow::Borrowed(gate), self.judges)),
            None if self.outcome.is_some() => {
                let measured = ReliabilityGate::new(ReliabilityParams::default()).ok()?;
                Some((Cow::Owned(measured), false))
            }
            None => None,
        }
    }
}

/// The group of a record: what it says at the path that was given, or by itself.
pub fn group_of(imported: &Imported<'_>, group_by: Option<&Target>) -> Result<Option<String>, ImportError> {
    let Some(path) = group_by else { return Ok(imported.group.clone()) };
    let found = find(&imported.fields, path).map_err(|DuplicateKey| {
        let message = format!("a key of `{path}` is in this record twice, so its group is ambiguous");
        ImportError::error(None, message).code(Code::NoGroup)
    })?;
    match found {
        Some(Value::String(text)) => Ok(Some(text)),
        Some(Value::Null) | None => {
            let message = format!("`{path}` selects nothing in this record, so it belongs to no group");
            let hint = "`--group-by` is a path in the record as it is in the file";
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
}
