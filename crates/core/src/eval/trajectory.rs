//! `trajectory`: the recorded calls against a reference, under one of five modes.
//!
//! This file holds what a reference is and the gate; `rule` says when an expectation fits a call, `align` lines the
//! two up, `turns` does so where the order inside a turn does not count, `explain` says why they do not. Whether a call fits may be unknown, because its arguments or its result
//! were not recorded; so may be whether two calls share a turn. Fitting more and sharing more never turns a pass into a
//! failure, so two alignments decide: if the reference is met when nothing unknown fits, it passes; if it is missed even
//! when everything unknown fits, it fails; in between it is unassessable.

mod align;
mod explain;
mod rule;
mod turns;

use serde::Serialize;
use serde_json::{Map, Value};

use super::gate::{Expect, GateOutcome, Judge, Metrics, Why, plural};
use super::table::GateKind;
use crate::assertion::AssertionDiff;
use crate::diag::{Problem, Problems};
use crate::trace::{Trace, words};
use align::Alignment;
pub(crate) use rule::Seen;
use rule::{Fit, Rule};

words! {
    /// How reference and recorded calls line up.
    MatchMode {
        /// The recorded calls are the reference, in order, nothing else.
        Strict = "strict",
        /// The reference in order, other calls in between allowed.
        Subsequence = "subsequence",
        /// The reference in any order, other calls allowed.
        Unordered = "unordered",
        /// The same as unordered, said as a lower bound.
        Superset = "superset",
        /// No recorded call beyond the reference; fewer are fine.
        Subset = "subset",
    }
}

impl MatchMode {
    /// The mode a word stands for, with its older spellings.
    pub fn parse(word: &str) -> Option<Self> {
        match word {
            "exact-sequence" | "exact_sequence" => Some(Self::Strict),
            word => Self::from_word(word),
        }
    }
}

words! {
    /// Whether the order of the calls that the model made in one turn counts.
    WithinTurn {
        /// They count in the order they are listed in.
        Ordered = "ordered",
        /// They may come in any order.
        AnyOrder = "any_order",
    }
}

words! {
    /// What an expectation demands of the result.
    StatusRule {
        /// Nothing.
        Any = "any",
        /// The call succeeded.
        Ok = "ok",
        /// The call failed.
        Error = "error",
    }
}

/// What an expectation demands of the arguments.
#[derive(Debug, Clone, PartialEq, Default)]
pub enum ExpectedArgs {
    /// Nothing.
    #[default]
    Any,
    /// Nothing, on purpose.
    Ignore,
    /// Equality after canonicalisation.
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
    /// Demand on the arguments.
    pub args: ExpectedArgs,
}

impl ExpectedCall {
    /// A call of which only the name matters.
    pub fn by_name(name: impl Into<String>) -> Self {
        Self { name: name.into(), args: ExpectedArgs::Any }
    }
}

/// A reference and how recorded calls line up with it.
#[derive(Debug, Clone, PartialEq)]
pub struct ExpectedTrace {
    /// The mode.
    pub mode: MatchMode,
    /// The reference.
    pub calls: Vec<ExpectedCall>,
}

impl ExpectedTrace {
    /// The recorded calls are these, in order, nothing else.
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

/// An expected call with what a suite may add to it.
#[derive(Debug, Clone, PartialEq)]
pub struct CallRule {
    /// The call.
    pub call: ExpectedCall,
    /// The server that must own the tool.
    pub server: Option<String>,
    /// The call may be left out.
    pub optional: bool,
    /// Demand on the result.
    pub status: StatusRule,
    /// JSON pointers removed from both sides before arguments are compared.
    pub ignore_args: Vec<String>,
}

impl From<ExpectedCall> for CallRule {
    fn from(call: ExpectedCall) -> Self {
        Self { call, server: None, optional: false, status: StatusRule::Any, ignore_args: Vec::new() }
    }
}

/// Parameters of the gate.
#[derive(Debug, Clone)]
pub struct TrajectoryParams {
    /// The mode.
    pub mode: MatchMode,
    /// Whether the order inside a turn counts, in the modes in which order counts.
    pub within_turn: WithinTurn,
    /// Most recorded calls that may be left over.
    pub max_extra: Option<usize>,
    /// The reference.
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

/// One way in which the recorded calls miss the reference.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct TraceMismatch {
    /// Index into the reference; `None` for a call the reference does not allow.
    pub expected_index: Option<usize>,
    /// Index of the recorded call that was looked at: the one in this position, or the nearest miss.
    pub recorded_index: Option<usize>,
    /// Where that call differs from the expectation.
    pub diffs: Vec<AssertionDiff>,
    /// One line.
    pub reason: String,
}

/// Proof that no assignment exists: expectations that share too few calls, or calls that share too few expectations.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Competition {
    /// Indices into the reference.
    pub expected: Vec<usize>,
    /// Indices of recorded calls.
    pub recorded: Vec<usize>,
}

/// How recorded calls and reference line up.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
pub struct TraceValidation {
    /// The mode is satisfied.
    pub passed: bool,
    /// Everything that is wrong; empty on a pass.
    pub mismatches: Vec<TraceMismatch>,
    /// `matched[i]` is the recorded call that meets expectation `i`.
    pub matched: Vec<Option<usize>>,
    /// Why an assignment is impossible, where expectations or calls compete.
    pub competitions: Vec<Competition>,
}

/// A comparison that would take too much memory or time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("{expected} expected against {recorded} recorded calls are more {what} than the limit of {limit}")]
pub struct TooLarge {
    expected: usize,
    recorded: usize,
    limit: usize,
    /// What is limited.
    what: &'static str,
}

/// The compiled gate.
#[derive(Debug, Clone)]
pub struct Trajectory {
    mode: MatchMode,
    within_turn: WithinTurn,
    max_extra: Option<usize>,
    rules: Vec<Rule>,
    expect: Expect,
}

impl Trajectory {
    /// Compiles the reference. Paths of problems start at the gate's block.
    pub fn new(params: TrajectoryParams) -> Result<Self, Problems> {
        let mut problems = Problems::default();
        if params.max_extra.is_some() && matches!(params.mode, MatchMode::Strict | MatchMode::Subset) {
            let problem = Problem::new("/max_extra", format!("`max_extra` has no meaning with mode `{}`", params.mode));
            problems.push(problem.hint("strict and subset allow no extra call; use subsequence or unordered"));
        }
        let has_order = matches!(params.mode, MatchMode::Strict | MatchMode::Subsequence);
        if params.within_turn == WithinTurn::AnyOrder && !has_order {
            let message = format!("`within_turn: any_order` has no meaning with mode `{}`", params.mode);
            problems.push(Problem::new("/within_turn", message).hint("remove it: this mode takes calls in any order"));
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

    /// Whether every trace satisfies it, because nothing is required and nothing is forbidden.
    pub(crate) fn asks_nothing(&self) -> bool {
        let forbids = match self.mode {
            MatchMode::Strict => !self.rules.is_empty(),
            MatchMode::Subset => true,
            MatchMode::Subsequence | MatchMode::Unordered | MatchMode::Superset => self.max_extra.is_some(),
        };
        !forbids && self.rules.iter().all(|rule| rule.optional)
    }

    /// The tools of the reference in order, each with whether it may be left out.
    pub(crate) fn reference(&self) -> impl Iterator<Item = (&str, bool)> {
        self.rules.iter().map(|rule| (rule.name.as_str(), rule.optional))
    }

    /// Scores a run.
    pub fn evaluate(&self, trace: &Trace) -> GateOutcome<TraceValidation> {
        self.judged(trace, Judge::default())
    }

    pub(crate) fn judged(&self, trace: &Trace, mut judge: Judge) -> GateOutcome<TraceValidation> {
        let gate = GateKind::Trajectory.info();
        let mut metrics = Metrics::of(gate);
        let Some(seen) = Seen::all(trace) else {
            let why = "the tool calls were not recorded";
            let metrics = Metrics::without_evidence(gate, why);
            judge.expect(gate, &self.expect, &metrics, |_| Vec::new());
            return judge.outcome(metrics, format!("not assessable: {why}"), TraceValidation::default());
        };
        let (validation, unknown) = match self.validate(&seen) {
            Ok(found) => found,
            Err(error) => {
                judge.error("trajectory", error.to_string());
                return judge.outcome(metrics, error.to_string(), TraceValidation::default());
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
        let why = |mismatch: &TraceMismatch| Why::new(mismatch.reason.clone(), mismatch.diffs.clone());
        judge.expect(gate, &self.expect, &metrics, |_| validation.mismatches.iter().map(why).collect());
        // The limit applies whatever the author expects of the metrics.
        if let (Expect::Own(_), Some(limit)) = (&self.expect, self.max_extra) {
            let extra = seen.len() - validation.matched.iter().flatten().count();
            match &unknown {
                Some(unknown) if undecided || extra <= limit => {
                    judge.unassessable("max_extra", format!("how many calls are left over is open: {}", unknown.why));
                }
                _ if extra > limit => {
                    let left = plural(extra, "recorded call");
                    judge.fail("max_extra", format!("{left} left over, at most {limit} allowed"));
                }
                _ => {}
            }
        }
        let why_undecided = unknown.filter(|_| undecided).map(|unknown| unknown.why);
        judge.told(metrics, validation, |validation| self.line(validation, why_undecided))
    }

    fn line(&self, validation: &TraceValidation, why_undecided: Option<String>) -> String {
        match why_undecided {
            Some(why) => format!("not assessable: {why}"),
            None if validation.passed => {
                let matched = validation.matched.iter().flatten().count();
                format!("{} of {} expected calls matched, {}", matched, self.rules.len(), self.mode)
            }
            None if validation.mismatches.len() == 1 => format!("1 mismatch, {}", self.mode),
            None => format!("{} mismatches, {}", validation.mismatches.len(), self.mode),
        }
    }

    /// Lines up and explains. The second part says what unknown evidence leaves open.
    pub(super) fn validate(&self, seen: &[Seen<'_>]) -> Result<(TraceValidation, Option<Unknown>), TooLarge> {
        let fits = align::Fits::new(&self.rules, seen, self.mode, self.within_turn)?;
        let sure = self.align(&fits, seen, Fit::Yes, Fit::Yes)?;
        if sure.passed() || !fits.any_unknown() {
            return Ok((self.explain(&sure, &fits, seen), None));
        }
        let hoped = self.align(&fits, seen, Fit::Unknown, Fit::Unknown)?;
        let why = match fits.why_turn_unknown(seen) {
            // Unknown turns are the reason unless the rest could decide without them.
            Some(why) if !self.align(&fits, seen, Fit::Unknown, Fit::Yes)?.passed() => why,
            _ => fits.why_unknown(&self.rules, seen),
        };
        let unknown = Unknown { verdict_known: !hoped.passed(), why };
        if hoped.passed() {
            return Ok((self.explain(&sure, &fits, seen), Some(unknown)));
        }
        // Missed either way: what is still wrong when everything unknown fits is wrong for certain.
        let same_count = hoped.mismatches() == sure.mismatches();
        Ok((self.explain(&hoped, &fits, seen), (!same_count).then_some(unknown)))
    }

    /// Lines up by the calls that fit at least so well, and by the turns that are known so well.
    fn align(&self, fits: &align::Fits, seen: &[Seen<'_>], least: Fit, turns: Fit) -> Result<Alignment, TooLarge> {
        let turns = fits.turns(turns);
        align::align(self.mode, &self.rules, self.max_extra, fits, seen, (least, turns))
    }

    fn explain(&self, alignment: &Alignment, fits: &align::Fits, seen: &[Seen<'_>]) -> TraceValidation {
        explain::explain(self.mode, self.max_extra, &self.rules, alignment, fits, seen)
    }
}

/// What evidence that was not recorded leaves open.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Unknown {
    /// Whether the reference is missed whatever the evidence would say; only the count is open then.
    verdict_known: bool,
    /// What is missing.
    why: String,
}
