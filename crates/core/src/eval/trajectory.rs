//! `trajectory`: the recorded calls against a reference, under one of five modes.
//!
//! This file has the reference and the gate. `rule` decides whether an expectation fits a call, `align` assigns calls to
//! expectations, `turns` does so when the order within a turn does not matter, `explain` reports mismatches.
//!
//! Whether a call fits may be unknown because its arguments or its result were not recorded, and so may be whether two
//! calls share a turn. More fits and larger turns never turn a pass into a failure, so two alignments decide: if the
//! reference is met when nothing unknown fits, the gate passes; if it is missed even when everything unknown fits, it
//! fails; otherwise it is unassessable.

mod align;
mod explain;
mod rule;
mod turns;

use serde::Serialize;
use serde_json::{Map, Value};

use super::gate::{Expect, GateKind, GateOutcome, Judge, NO_CALLS, Reason, Verdict, plural};
use super::metrics::Metrics;
use crate::assertion::AssertionDiff;
use crate::diag::{Code, Problem, Problems};
use crate::trace::{Trace, words};
use align::Alignment;
pub(crate) use rule::RecordedCall;
use rule::{Fit, Rule};

words! {
    /// How the recorded calls must match the reference.
    MatchMode {
        /// The recorded calls are exactly the reference, in order.
        Strict = "strict",
        /// The reference in order, other calls in between allowed.
        Subsequence = "subsequence",
        /// The reference in any order, other calls allowed.
        Unordered = "unordered",
        /// The same as unordered.
        Superset = "superset",
        /// No recorded call beyond the reference; fewer are fine.
        Subset = "subset",
    }
}

impl MatchMode {
    /// Parses a mode, including its older spellings.
    pub fn parse(word: &str) -> Option<Self> {
        match word {
            "exact-sequence" | "exact_sequence" => Some(Self::Strict),
            word => Self::from_word(word),
        }
    }
}

words! {
    /// Whether the order of calls within one turn matters.
    WithinTurn {
        /// The calls must come in the listed order.
        Ordered = "ordered",
        /// The calls may come in any order.
        AnyOrder = "any_order",
    }
}

words! {
    /// What an expectation requires of the result.
    StatusRule {
        /// Success or failure, also a call that was refused.
        Any = "any",
        /// The call succeeded.
        Ok = "ok",
        /// The call failed.
        Error = "error",
    }
}

/// What an expectation requires of the arguments.
#[derive(Debug, Clone, PartialEq, Default)]
pub enum ExpectedArgs {
    /// Nothing.
    #[default]
    Any,
    /// Nothing; the same as `Any`, stated explicitly.
    Ignore,
    /// Equal in canonical form.
    Exact(Value),
    /// The recorded arguments contain these.
    Subset(Value),
    /// The recorded arguments validate against this JSON Schema.
    Schema(Value),
    /// What each path selects in the recorded arguments satisfies its matcher.
    Match(Map<String, Value>),
}

/// One expected call.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ExpectedCall {
    /// Tool name, without any server prefix.
    pub name: String,
    /// Requirement on the arguments.
    pub args: ExpectedArgs,
}

impl ExpectedCall {
    /// Matches a call by its name only.
    pub fn by_name(name: impl Into<String>) -> Self {
        Self { name: name.into(), args: ExpectedArgs::Any }
    }
}

/// A reference and the mode in which recorded calls must match it.
#[derive(Debug, Clone, PartialEq)]
pub struct ExpectedTrace {
    /// How the recorded calls must match.
    pub mode: MatchMode,
    /// The expected calls.
    pub calls: Vec<ExpectedCall>,
}

impl ExpectedTrace {
    /// The recorded calls are exactly these, in order.
    pub fn strict(calls: Vec<ExpectedCall>) -> Self {
        Self { mode: MatchMode::Strict, calls }
    }

    /// These calls in order, others in between allowed.
    pub fn subsequence(calls: Vec<ExpectedCall>) -> Self {
        Self { mode: MatchMode::Subsequence, calls }
    }

    /// These calls in any order, others allowed.
    pub fn unordered(calls: Vec<ExpectedCall>) -> Self {
        Self { mode: MatchMode::Unordered, calls }
    }

    /// At least these calls.
    pub fn superset(calls: Vec<ExpectedCall>) -> Self {
        Self { mode: MatchMode::Superset, calls }
    }

    /// At most these calls.
    pub fn subset(calls: Vec<ExpectedCall>) -> Self {
        Self { mode: MatchMode::Subset, calls }
    }
}

/// An expected call with the options a suite can add.
#[derive(Debug, Clone, PartialEq)]
pub struct CallRule {
    /// The expected name and arguments.
    pub call: ExpectedCall,
    /// The server of the tool; any server without one.
    pub server: Option<String>,
    /// The call may be missing.
    pub optional: bool,
    /// Requirement on the result. Without one, any result fits, but not that the program refused to make the call.
    pub status: Option<StatusRule>,
    /// JSON pointers removed from both sides before arguments are compared.
    pub ignore_args: Vec<String>,
}

impl From<ExpectedCall> for CallRule {
    fn from(call: ExpectedCall) -> Self {
        Self { call, server: None, optional: false, status: None, ignore_args: Vec::new() }
    }
}

/// Parameters of the gate.
#[derive(Debug, Clone)]
pub struct TrajectoryParams {
    /// How the recorded calls must match.
    pub mode: MatchMode,
    /// Whether the order within a turn matters, in the modes with an order.
    pub within_turn: WithinTurn,
    /// Maximum number of extra calls.
    pub max_extra: Option<usize>,
    /// The expected calls.
    pub calls: Vec<CallRule>,
    /// What is asserted.
    pub expect: Expect,
}

impl Default for TrajectoryParams {
    fn default() -> Self {
        Self {
            mode: MatchMode::Strict,
            within_turn: WithinTurn::Ordered,
            max_extra: None,
            calls: Vec::new(),
            expect: Expect::Default,
        }
    }
}

/// One difference between the recorded calls and the reference.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct TraceMismatch {
    /// Index into the reference; `None` for a call the reference does not allow.
    pub expected_index: Option<usize>,
    /// Index of the recorded call it was compared with: the one in this position, or the nearest miss.
    pub recorded_index: Option<usize>,
    /// Where that call differs from the expectation.
    pub diffs: Vec<AssertionDiff>,
    /// One line.
    pub reason: String,
}

/// Proof that no assignment exists: expectations that compete for too few calls, or the other way around.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Competition {
    /// Indices into the reference.
    pub expected: Vec<usize>,
    /// Indices of recorded calls.
    pub recorded: Vec<usize>,
}

/// The result of matching recorded calls against a reference.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
pub struct TraceValidation {
    /// The mode is satisfied.
    pub passed: bool,
    /// Every mismatch; empty on a pass.
    pub mismatches: Vec<TraceMismatch>,
    /// `matched[i]` is the recorded call that meets expectation `i`.
    pub matched: Vec<Option<usize>>,
    /// Why an assignment is impossible, where expectations or calls compete.
    pub competitions: Vec<Competition>,
}

/// A comparison that would take too much memory or time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("{expected} expected calls against {recorded} recorded calls exceed the limit of {limit} {what}")]
pub struct TooLarge {
    expected: usize,
    recorded: usize,
    limit: usize,
    what: &'static str,
}

/// The compiled gate.
#[derive(Debug, Clone)]
pub struct TrajectoryGate {
    mode: MatchMode,
    within_turn: WithinTurn,
    max_extra: Option<usize>,
    rules: Vec<Rule>,
    expect: Expect,
}

impl TrajectoryGate {
    /// Compiles the reference. Paths of problems start at the gate's block.
    pub fn new(params: TrajectoryParams) -> Result<Self, Problems> {
        let mut problems = params.expect.problems();
        if params.max_extra.is_some() && matches!(params.mode, MatchMode::Strict | MatchMode::Subset) {
            let problem = Problem::new(
                Code::KeyWithoutEffect,
                "/max_extra",
                format!("`max_extra` cannot be used with mode `{}`", params.mode),
            );
            problems.push(problem.hint("strict and subset allow no extra calls; use subsequence or unordered"));
        }
        let has_order = matches!(params.mode, MatchMode::Strict | MatchMode::Subsequence);
        if params.within_turn == WithinTurn::AnyOrder && !has_order {
            let message = format!("`within_turn: any_order` cannot be used with mode `{}`", params.mode);
            problems.push(
                Problem::new(Code::KeyWithoutEffect, "/within_turn", message)
                    .hint("remove it: this mode accepts calls in any order"),
            );
        }
        let mut rules = Vec::with_capacity(params.calls.len());
        for (at, call) in params.calls.iter().enumerate() {
            match Rule::compile(call) {
                Ok(rule) => rules.push(rule),
                Err(inner) => problems.extend_at(&format!("/calls/{at}"), inner),
            }
        }
        let TrajectoryParams { mode, within_turn, max_extra, calls: _, expect } = params;
        problems.or(Self { mode, within_turn, max_extra, rules, expect })
    }

    /// Whether every trace passes, because nothing is required and nothing is forbidden.
    pub(crate) fn accepts_any_trace(&self) -> bool {
        let forbids = match self.mode {
            MatchMode::Strict => !self.rules.is_empty(),
            MatchMode::Subset => true,
            MatchMode::Subsequence | MatchMode::Unordered | MatchMode::Superset => self.max_extra.is_some(),
        };
        !forbids && self.rules.iter().all(|rule| rule.optional)
    }

    /// The tools of the reference in order, each with whether it is optional.
    pub(crate) fn reference(&self) -> impl Iterator<Item = (&str, bool)> {
        self.rules.iter().map(|rule| (rule.name.as_str(), rule.optional))
    }

    pub(crate) fn mode(&self) -> MatchMode {
        self.mode
    }

    pub(crate) fn within_turn(&self) -> WithinTurn {
        self.within_turn
    }

    /// Whether an expectation says that any arguments fit. Saying nothing about them does not count.
    pub(crate) fn allows_any_args(&self, expected: usize) -> bool {
        self.rules.get(expected).is_some_and(|rule| rule.is_any)
    }

    /// The entry of `ignore_args` that covers a pointer into the arguments.
    pub(crate) fn ignored_by(&self, expected: usize, pointer: &str) -> Option<&str> {
        let covers = |ignored: &&String| {
            pointer.strip_prefix(ignored.as_str()).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        };
        self.rules.get(expected)?.ignore.iter().find(covers).map(String::as_str)
    }

    /// The first expectation that a failed run did not satisfy. If the gate has an `expect`, that decides instead.
    pub(crate) fn first_failed(&self, outcome: &GateOutcome<TraceValidation>) -> Option<usize> {
        let is_default = matches!(self.expect, Expect::Default);
        let mismatches = outcome.detail.mismatches.iter().filter(|_| is_default && outcome.verdict == Verdict::Fail);
        mismatches.filter_map(|mismatch| mismatch.expected_index).min()
    }

    /// Scores a run.
    pub fn evaluate(&self, trace: &Trace) -> GateOutcome<TraceValidation> {
        self.judged(trace, Judge::default())
    }

    pub(crate) fn judged(&self, trace: &Trace, mut judge: Judge) -> GateOutcome<TraceValidation> {
        let gate = GateKind::Trajectory.info();
        if let Some(why) = trace.incomplete() {
            return judge.incomplete(gate, why);
        }
        let mut metrics = Metrics::of(gate);
        let Some(seen) = RecordedCall::all(trace) else {
            return judge.without_evidence(gate, &self.expect, NO_CALLS);
        };
        let (validation, unknown) = match self.validate(&seen) {
            Ok(found) => found,
            Err(error) => {
                judge.error("trajectory", error.to_string());
                return judge.outcome(metrics, TraceValidation::default(), |_| error.to_string());
            }
        };
        match &unknown {
            Some(unknown) => {
                if !unknown.verdict_known {
                    metrics.lacks_evidence("passed", unknown.why.clone());
                }
                metrics.lacks_evidence("mismatch_count", unknown.why.clone());
            }
            None => metrics.set("mismatch_count", validation.mismatches.len()),
        }
        let undecided = unknown.as_ref().is_some_and(|unknown| !unknown.verdict_known);
        if !undecided {
            metrics.set_flag("passed", validation.passed);
        }
        let reason = |mismatch: &TraceMismatch| Reason::new(mismatch.reason.clone(), mismatch.diffs.clone());
        judge.expect(gate, &self.expect, &metrics, |_| validation.mismatches.iter().map(reason).collect());
        // The limit applies regardless of the author's assertions.
        if let (Expect::Custom(_), Some(limit)) = (&self.expect, self.max_extra) {
            let extra = seen.len() - validation.matched.iter().flatten().count();
            match &unknown {
                Some(unknown) if undecided || extra <= limit => {
                    judge.unassessable("max_extra", format!("the number of extra calls is unknown: {}", unknown.why));
                }
                _ if extra > limit => {
                    judge.fail("max_extra", format!("{}, at most {limit} allowed", plural(extra, "extra call")));
                }
                _ => {}
            }
        }
        let why_undecided = unknown.filter(|_| undecided).map(|unknown| unknown.why);
        judge.outcome(metrics, validation, |validation| self.line(validation, why_undecided))
    }

    fn line(&self, validation: &TraceValidation, why_undecided: Option<String>) -> String {
        match why_undecided {
            Some(why) => format!("not assessable: {why}"),
            None if validation.passed => {
                let matched = validation.matched.iter().flatten().count();
                format!("{matched} of {} expected calls matched ({})", self.rules.len(), self.mode)
            }
            None if validation.mismatches.len() == 1 => format!("1 mismatch ({})", self.mode),
            None => format!("{} mismatches ({})", validation.mismatches.len(), self.mode),
        }
    }

    /// Aligns and explains. The second part is what missing evidence leaves unknown.
    pub(super) fn validate(&self, seen: &[RecordedCall<'_>]) -> Result<(TraceValidation, Option<Unknown>), TooLarge> {
        let fits = align::Fits::new(&self.rules, seen, self.mode, self.within_turn)?;
        let certain = self.align(&fits, seen, Fit::Yes, Fit::Yes)?;
        if certain.passed() || !fits.any_unknown() {
            return Ok((self.explain(certain, &fits, seen), None));
        }
        let possible = self.align(&fits, seen, Fit::Unknown, Fit::Unknown)?;
        let why = match fits.why_turn_unknown(seen) {
            // Unknown turns are the reason unless the rest could decide without them.
            Some(why) if !self.align(&fits, seen, Fit::Unknown, Fit::Yes)?.passed() => why,
            _ => fits.why_unknown(&self.rules, seen),
        };
        let unknown = Unknown { verdict_known: !possible.passed(), why };
        if possible.passed() {
            return Ok((self.explain(certain, &fits, seen), Some(unknown)));
        }
        // Missed either way: what is wrong even when everything unknown fits is wrong for certain.
        let same_count = possible.mismatches() == certain.mismatches();
        Ok((self.explain(possible, &fits, seen), (!same_count).then_some(unknown)))
    }

    /// Aligns by the calls that fit at least this well, and by the turns that are known at least this well.
    fn align(
        &self,
        fits: &align::Fits,
        seen: &[RecordedCall<'_>],
        least: Fit,
        turns: Fit,
    ) -> Result<Alignment, TooLarge> {
        let turns = fits.turns(turns);
        align::align(self.mode, &self.rules, self.max_extra, fits, seen, (least, turns))
    }

    fn explain(&self, alignment: Alignment, fits: &align::Fits, seen: &[RecordedCall<'_>]) -> TraceValidation {
        explain::explain(self.mode, self.max_extra, &self.rules, alignment, fits, seen)
    }
}

/// What missing evidence leaves unknown.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Unknown {
    /// Whether the reference cannot match, so that only the count is unknown.
    verdict_known: bool,
    /// What is missing.
    why: String,
}
