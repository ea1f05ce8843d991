//! Mutation testing: recorded runs are changed on purpose, and the checks of a test judge the changed runs.
//!
//! A mutant is a valid trace with one change. It is caught when the verdict of the test changes from pass to fail or
//! unassessable. `sites` finds the places where an operator applies, `edit` makes and undoes a change, `equivalent` says
//! which changes the configuration allows, `fix` finds a check that catches a missed mutant. The verdicts come from
//! [`crate::judge`], as everywhere.
//!
//! A trace is changed in place and restored, so memory does not grow with the number of mutants.

mod args;
mod edit;
mod equivalent;
mod fix;
mod message;
mod seen;
mod sites;
#[cfg(test)]
mod tests;

use serde_json::Value;

use crate::assertion::Assertion;
use crate::eval::Verdict;
use crate::judge::{self, CheckResult};
use crate::suite::Gates;
use crate::trace::{Trace, words};
use edit::Edit;
use equivalent::Allowed;
use fix::Fixes;
use seen::Seen;
use sites::{Mutation, Sites, Tools};

words! {
    /// How a trace is changed.
    Operator {
        /// A call was not made.
        DropCall = "drop-call",
        /// A call was made twice.
        DuplicateCall = "duplicate-call",
        /// Two adjacent calls were swapped.
        SwapCalls = "swap-calls",
        /// Another tool of the same server was called.
        OtherTool = "other-tool",
        /// A tool of the same name on another server was called.
        OtherServer = "other-server",
        /// A call was added.
        InsertCall = "insert-call",
        /// The run ended early: the last calls were not made.
        CutTail = "cut-tail",
        DropArgument = "drop-argument",
        NullArgument = "null-argument",
        /// An argument has another type.
        RetypeArgument = "retype-argument",
        /// A number is one too large.
        OffByOne = "off-by-one",
        /// An argument has the value of another call.
        ForeignValue = "foreign-value",
        FailResult = "fail-result",
        UnfailResult = "unfail-result",
        EmptyResult = "empty-result",
        /// A call got the result of another call.
        ForeignResult = "foreign-result",
        /// The final message claims an action that no call made.
        ClaimUnmade = "claim-unmade",
        /// The final message lost a "not".
        DropNegation = "drop-negation",
        /// The final message ends in the middle.
        CutMessage = "cut-message",
        /// The run took ten times the tokens.
        MoreTokens = "more-tokens",
        /// Code that the model wrote made the call.
        GeneratedCaller = "generated-caller",
        /// A run of a group failed.
        FlipOutcome = "flip-outcome",
    }
}

words! {
    /// What a group of operators changes.
    OperatorClass {
        /// The calls and their order.
        Calls = "calls",
        /// What they were made with.
        Arguments = "arguments",
        Results = "results",
        Message = "message",
        /// Everything else in the run.
        Session = "session",
    }
}

impl Operator {
    pub fn class(self) -> OperatorClass {
        match self {
            Self::DropCall
            | Self::DuplicateCall
            | Self::SwapCalls
            | Self::OtherTool
            | Self::OtherServer
            | Self::InsertCall
            | Self::CutTail => OperatorClass::Calls,
            Self::DropArgument | Self::NullArgument | Self::RetypeArgument | Self::OffByOne | Self::ForeignValue => {
                OperatorClass::Arguments
            }
            Self::FailResult | Self::UnfailResult | Self::EmptyResult | Self::ForeignResult => OperatorClass::Results,
            Self::ClaimUnmade | Self::DropNegation | Self::CutMessage => OperatorClass::Message,
            Self::MoreTokens | Self::GeneratedCaller | Self::FlipOutcome => OperatorClass::Session,
        }
    }

    /// The change in a few words.
    pub fn meaning(self) -> &'static str {
        match self {
            Self::DropCall => "a call is missing",
            Self::DuplicateCall => "a call is made twice",
            Self::SwapCalls => "two adjacent calls are swapped",
            Self::OtherTool => "another tool of the same server is called",
            Self::OtherServer => "the tool of another server is called",
            Self::InsertCall => "an extra call is made first or last",
            Self::CutTail => "the run stops early, without its last calls",
            Self::DropArgument => "an argument is missing",
            Self::NullArgument => "an argument is null",
            Self::RetypeArgument => "an argument has another type",
            Self::OffByOne => "a number is one too large",
            Self::ForeignValue => "an argument has a value of another call",
            Self::FailResult => "a call fails",
            Self::UnfailResult => "a failed call succeeds",
            Self::EmptyResult => "a result is empty",
            Self::ForeignResult => "a call gets the result of another call",
            Self::ClaimUnmade => "the final message claims an action that no call made",
            Self::DropNegation => "the final message loses a \"not\"",
            Self::CutMessage => "the final message ends in the middle",
            Self::MoreTokens => "the run takes ten times the tokens",
            Self::GeneratedCaller => "generated code makes the call, not the model",
            Self::FlipOutcome => "a run of a group fails",
        }
    }
}

/// One run that is changed.
#[derive(Debug, Clone)]
pub struct Run {
    /// Its name in reports.
    pub name: String,
    pub trace: Trace,
}

/// The runs of a test or of a group, or one trace, and what judges them.
#[derive(Debug)]
pub struct Subject<'a> {
    /// Assertions of every run.
    pub expect: &'a [Assertion],
    pub gates: &'a Gates,
    pub runs: Vec<Run>,
    /// Whether gates over runs can judge them.
    pub is_group: bool,
}

#[derive(Debug, Clone)]
pub struct Options {
    pub operators: Vec<Operator>,
    /// Maximum number of mutants per subject. If there are more, each operator gets a fair share, spread over the run. Without a
    /// limit there are 2,000, and fewer of a run with more than 200 calls.
    pub limit: Option<usize>,
}

words! {
    /// What became of a mutant.
    Status {
        /// The verdict went from pass to fail or unassessable.
        Caught = "caught",
        /// Every check passed, and the change was not allowed explicitly.
        Missed = "missed",
        /// Every check passed, because the configuration allows the change explicitly.
        Equivalent = "equivalent",
    }
}

/// One changed run and the results of its checks.
#[derive(Debug, Clone, PartialEq)]
pub struct Mutant {
    pub run: usize,
    pub operator: Operator,
    /// What was changed, in one line.
    pub change: String,
    pub status: Status,
    /// The checks whose verdict is no longer a pass. Of a missed mutant, those that `reliability` absorbed.
    pub by: Vec<&'static str>,
    /// Lines that start with `-` or `+`; of a missed mutant only.
    pub diff: Vec<String>,
    /// A gates object that passes every run and fails this mutant; of a missed mutant only.
    pub fix: Option<Value>,
    /// Why it is equivalent, or why a missed one has no fix.
    pub why: Option<String>,
}

/// What was not tried, and why.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Untried {
    /// Mutants equal to the original or to an earlier mutant.
    pub duplicates: usize,
    pub over_limit: usize,
    /// Runs that fail their own checks, which `reliability` absorbs.
    pub absorbed_runs: usize,
}

/// Why a subject is not mutated: it does not pass as recorded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NotPassing {
    /// Index of the run; none for a gate over runs.
    pub run: Option<usize>,
    /// The gate, or `expect`.
    pub check: &'static str,
    pub verdict: Verdict,
    pub reason: String,
}

/// Additional checks, or the ones that a subject has.
#[derive(Debug, Clone, Copy)]
struct Checks<'a> {
    expect: &'a [Assertion],
    gates: &'a Gates,
}

/// The results of the checks on a subject with one changed run.
#[derive(Debug)]
struct Judged {
    /// The checks that do not pass.
    by: Vec<&'static str>,
    /// The verdict is fail or unassessable, and not absorbed.
    is_caught: bool,
    /// A check could not be evaluated.
    is_error: bool,
}

/// Judges every mutant of a subject. The runs are as before when it returns.
pub fn mutate(
    subject: &mut Subject<'_>,
    options: &Options,
    take: &mut dyn FnMut(Mutant),
) -> Result<Untried, NotPassing> {
    let outcomes = subject.baseline()?;
    let mut untried =
        Untried { absorbed_runs: outcomes.iter().filter(|passed| !**passed).count(), ..Untried::default() };
    for run in &mut subject.runs {
        edit::pad_results(&mut run.trace);
    }
    let tools = Tools::of(&subject.runs);
    let mut fixes = Fixes::default();
    let mut seen = Seen::default();
    let runs: Vec<usize> = (0..subject.runs.len()).filter(|run| outcomes[*run]).collect();
    let can_flip = subject.is_group && subject.gates.reliability.is_some();
    for run in runs.iter().copied() {
        let calls = subject.runs[run].trace.tool_calls.as_ref().map_or(0, Vec::len);
        let limit = options.limit.unwrap_or_else(|| default_limit(calls));
        // The limit is for the subject: its runs share it.
        let limit = limit.div_ceil(runs.len().max(1));
        let allowed = Allowed::of(subject.gates, &subject.runs[run].trace);
        let sites = Sites::of(&subject.runs[run].trace, options, can_flip);
        let (chosen, over_limit) = sites.within(limit);
        untried.over_limit += over_limit;
        seen.original(run, &subject.runs[run].trace);
        for site in chosen {
            let trace = &subject.runs[run].trace;
            let Some(mutation) = sites.mutation(&site, trace, &tools) else { continue };
            if !seen.is_new(run, &mutation.edit, trace) {
                untried.duplicates += 1;
                continue;
            }
            take(subject.judge_mutant(run, mutation, &outcomes, &allowed, &mut fixes));
        }
    }
    Ok(untried)
}

/// A mutant costs as much as the run is long, so that long runs get fewer.
fn default_limit(calls: usize) -> usize {
    const MOST: usize = 2000;
    const LEAST: usize = 100;
    const JUDGED_CALLS: usize = 400_000;
    (JUDGED_CALLS / calls.max(1)).clamp(LEAST, MOST)
}

impl<'a> Subject<'a> {
    fn checks(&self) -> Checks<'a> {
        Checks { expect: self.expect, gates: self.gates }
    }

    /// Which runs pass their own checks, if the subject passes overall.
    fn baseline(&self) -> Result<Vec<bool>, NotPassing> {
        let absorbs = self.is_group && self.gates.reliability.is_some();
        let mut outcomes = Vec::with_capacity(self.runs.len());
        for (at, run) in self.runs.iter().enumerate() {
            let checks = judge::run_tersely(self.expect, self.gates, &run.trace);
            let bad = checks.iter().find(|check| check.verdict != Verdict::Pass);
            if let Some(check) = bad.filter(|check| !absorbs || check.verdict == Verdict::Error) {
                return Err(NotPassing::of(Some(at), check));
            }
            outcomes.push(bad.is_none());
        }
        let over_runs = [
            self.gates.stability.as_ref().map(|_| crate::eval::GateKind::Stability),
            self.gates.reliability.as_ref().map(|_| crate::eval::GateKind::Reliability),
        ];
        if let Some(gate) = over_runs.into_iter().flatten().next().filter(|_| !self.is_group) {
            let reason = "it belongs to no group, and this gate judges groups of runs".to_owned();
            return Err(NotPassing { run: Some(0), check: gate.name(), verdict: Verdict::Unassessable, reason });
        }
        if self.gates.stability.is_some() && self.runs.len() < 2 {
            let reason = "one run shows no stability across runs".to_owned();
            return Err(NotPassing { run: None, check: "stability", verdict: Verdict::Unassessable, reason });
        }
        let traces: Vec<&Trace> = self.runs.iter().map(|run| &run.trace).collect();
        let over_runs = judge::runs(self.gates, &traces, &outcomes);
        match over_runs.iter().find(|check| check.verdict != Verdict::Pass) {
            Some(check) => Err(NotPassing::of(None, check)),
            None => Ok(outcomes),
        }
    }

    /// Makes a change, judges it, and undoes it.
    fn judge_mutant(
        &mut self,
        run: usize,
        mutation: Mutation,
        outcomes: &[bool],
        allowed: &Allowed<'_>,
        fixes: &mut Fixes,
    ) -> Mutant {
        let Mutation { operator, change, edit, place } = mutation;
        let is_flip = matches!(edit, Edit::Outcome);
        let undo = edit.apply(&mut self.runs[run].trace);
        let judged = self.judge(&[self.checks()], run, outcomes, is_flip);
        let edit = undo.apply(&mut self.runs[run].trace);
        let mut mutant = Mutant {
            run,
            operator,
            change,
            status: Status::Caught,
            by: judged.by,
            diff: Vec::new(),
            fix: None,
            why: None,
        };
        if judged.is_caught {
            return mutant;
        }
        mutant.status = Status::Missed;
        if mutant.by.is_empty()
            && !judged.is_error
            && let Some(why) = allowed.why(operator, &place, &self.runs[run].trace)
        {
            mutant.status = Status::Equivalent;
            mutant.why = Some(why);
            return mutant;
        }
        mutant.diff = edit.diff(&self.runs[run].trace);
        match fixes.find(self, run, operator, &place, edit, outcomes) {
            Some(fix) => mutant.fix = Some(fix),
            None if judged.is_error => {
                mutant.why = Some("a gate could not evaluate the changed trace".to_owned());
            }
            None => mutant.why = Some(fix::no_fix(operator, self, run, &place).to_owned()),
        }
        mutant
    }

    /// The verdict when one run is changed.
    fn judge(&self, all: &[Checks<'_>], run: usize, outcomes: &[bool], is_flip: bool) -> Judged {
        let mut checks = Vec::new();
        if !is_flip {
            checks.extend(all.iter().flat_map(|own| judge::run_tersely(own.expect, own.gates, &self.runs[run].trace)));
        }
        let has_passed = !is_flip && checks.iter().all(|check| check.verdict == Verdict::Pass);
        let is_bad = |check: &CheckResult| {
            matches!(check.verdict, Verdict::Fail | Verdict::Unassessable | Verdict::Inconclusive)
        };
        let absorbs = self.is_group && all.iter().any(|own| own.gates.reliability.is_some());
        let mut is_caught = !absorbs && checks.iter().any(is_bad);
        if self.is_group && all.iter().any(Checks::judges_groups) {
            let traces: Vec<&Trace> = self.runs.iter().map(|run| &run.trace).collect();
            let mut outcomes = outcomes.to_vec();
            outcomes[run] = has_passed;
            let over_runs = all.iter().flat_map(|own| judge::runs(own.gates, &traces, &outcomes));
            let over_runs: Vec<CheckResult> = over_runs.collect();
            is_caught |= over_runs.iter().any(is_bad);
            checks.extend(over_runs);
        }
        Judged {
            is_caught,
            is_error: checks.iter().any(|check| check.verdict == Verdict::Error),
            by: checks.iter().filter(|check| is_bad(check)).map(|check| check.name).collect(),
        }
    }
}

impl Checks<'_> {
    fn judges_groups(&self) -> bool {
        self.gates.stability.is_some() || self.gates.reliability.is_some()
    }
}

impl NotPassing {
    fn of(run: Option<usize>, check: &CheckResult) -> Self {
        let reason = check.failures.first().map_or_else(String::new, |failure| failure.reason.clone());
        Self { run, check: check.name, verdict: check.verdict, reason }
    }
}
