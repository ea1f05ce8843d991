//! Groups of runs, and their results.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

use super::Scorer;
use super::store::{Call, Ended, Store};
use super::tasks::OverRuns;
use crate::eval::stability::{ArgsKey, Measures, SessionFold};
use crate::eval::{GateFailure, GateKind, Metrics, Verdict};
use crate::judge::CheckResult;
use crate::report::RowVerdict;

/// What a group needs to know of one run.
#[derive(Debug, Clone)]
pub struct Run {
    pub(super) session: Option<Measures>,
    /// Names of its tools, each once.
    pub(super) tools: Names,
    /// For each call its place in `tools` and its arguments; `None` when the calls were not recorded or are not needed.
    pub(super) calls: Option<Vec<Call>>,
    /// Whether it passed; `None` when the record does not say.
    pub(super) outcome: Option<bool>,
    pub(super) over: OverRuns,
}

/// Names end to end: a run is handed from thread to thread, and many small texts are slow to free on another.
#[derive(Debug, Clone)]
pub(super) struct Names {
    text: String,
    ends: Vec<usize>,
}

impl Names {
    pub(super) fn new(names: &[&str]) -> Self {
        let end = |end: &mut usize, name: &&str| {
            *end += name.len();
            Some(*end)
        };
        Self { text: names.concat(), ends: names.iter().scan(0, end).collect() }
    }

    fn iter(&self) -> impl Iterator<Item = &str> {
        let starts = std::iter::once(0).chain(self.ends.iter().copied());
        starts.zip(&self.ends).map(|(start, end)| &self.text[start..*end])
    }
}

/// One run that was scored elsewhere.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Kept {
    pub(super) ended: Ended,
    /// Tools by their number among all groups.
    pub(super) calls: Option<Vec<Call>>,
}

/// All groups, in the order of their first run.
#[derive(Debug, Default)]
pub struct Groups {
    /// Numbers of the groups by their names.
    names: BTreeMap<Box<str>, usize>,
    /// Numbers of the tools by their names.
    tools: BTreeMap<Box<str>, u32>,
    all: Vec<Group>,
    store: Store,
    has_outcomes: bool,
    unread: u64,
}

#[derive(Debug, Default)]
struct Group {
    /// Where the latest run is kept.
    last: Option<u64>,
    runs: u64,
    /// Records that are runs of it and could not be read or evaluated.
    unread: u64,
    within: SessionFold,
    /// The tasks that its gates come from, by its first run.
    over: Option<OverRuns>,
    /// Whether its runs have gates of different tasks.
    is_mixed: bool,
}

impl Group {
    fn judged_by(&mut self, over: OverRuns) {
        self.is_mixed |= *self.over.get_or_insert(over) != over;
    }
}

impl Groups {
    pub fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    pub fn len(&self) -> usize {
        self.all.len()
    }

    /// Whether any group has a run that was read.
    pub fn has_runs(&self) -> bool {
        self.all.iter().any(|group| group.runs > 0)
    }

    /// How many records of all groups could not be read or evaluated.
    pub fn unread(&self) -> usize {
        usize::try_from(self.unread).unwrap_or(usize::MAX)
    }

    /// Whether the outcome of any run is known.
    pub fn has_outcomes(&self) -> bool {
        self.has_outcomes
    }

    /// Takes in the next run of a group.
    pub fn add(&mut self, group: &str, run: Run) {
        let numbers: Vec<u32> = run.tools.iter().map(|tool| self.tool(tool)).collect();
        let at = self.group(group);
        self.all[at].judged_by(run.over);
        let weakest = run.session.as_ref().and_then(|session| self.all[at].within.add(session));
        let calls = run.calls.map(|calls| {
            calls.into_iter().map(|(tool, args)| (numbers.get(tool as usize).copied().unwrap_or(0), args))
        });
        self.keep(at, Ended { weakest, outcome: run.outcome }, calls);
    }

    /// Takes in a run of a group that could not be read or evaluated.
    pub fn add_unread(&mut self, group: &str) {
        self.add_all_unread(group, 1);
    }

    pub(super) fn add_all_unread(&mut self, group: &str, count: u64) {
        let at = self.group(group);
        self.all[at].unread = self.all[at].unread.saturating_add(count);
        self.unread = self.unread.saturating_add(count);
    }

    /// Takes in the runs of a group that were scored elsewhere.
    pub(super) fn append(
        &mut self,
        group: &str,
        within: SessionFold,
        (over, is_mixed): (OverRuns, bool),
        runs: impl Iterator<Item = Kept>,
    ) {
        let at = self.group(group);
        self.all[at].judged_by(over);
        self.all[at].is_mixed |= is_mixed;
        self.all[at].within.append(within);
        for run in runs {
            self.keep(at, run.ended, run.calls.map(Vec::into_iter));
        }
    }

    /// The number of a tool.
    pub(super) fn tool(&mut self, name: &str) -> u32 {
        if let Some(number) = self.tools.get(name) {
            return *number;
        }
        let next = u32::try_from(self.tools.len()).unwrap_or(u32::MAX);
        self.tools.insert(name.into(), next);
        next
    }

    fn group(&mut self, name: &str) -> usize {
        if let Some(at) = self.names.get(name) {
            return *at;
        }
        self.names.insert(name.into(), self.all.len());
        self.all.push(Group::default());
        self.all.len() - 1
    }

    fn keep(&mut self, at: usize, ended: Ended, calls: Option<impl ExactSizeIterator<Item = Call>>) {
        self.has_outcomes |= ended.outcome.is_some();
        let group = &mut self.all[at];
        group.last = Some(self.store.push(group.last, ended, calls));
        group.runs += 1;
    }

    /// The line of every group, in the order of their first run.
    pub fn lines<'a>(&'a self, scorer: &'a Scorer) -> Lines<'a> {
        let mut names: Vec<&str> = vec![""; self.all.len()];
        for (name, at) in &self.names {
            names[*at] = name;
        }
        let mut tools: Vec<&str> = vec![""; self.tools.len()];
        for (name, at) in &self.tools {
            tools[*at as usize] = name;
        }
        Lines { groups: self, scorer, names: names.into(), tools: tools.into(), left: 0..self.all.len() }
    }
}

/// The lines of groups. A group is judged when its line is taken, and groups can be judged on many threads.
#[derive(Debug, Clone)]
pub struct Lines<'a> {
    groups: &'a Groups,
    scorer: &'a Scorer,
    names: Arc<[&'a str]>,
    tools: Arc<[&'a str]>,
    /// The groups whose lines are still to be written.
    left: Range<usize>,
}

impl Lines<'_> {
    /// Takes the lines of the next groups that together have at least `runs` runs; empty if there are none left.
    pub fn part(&mut self, runs: u64) -> Option<Self> {
        let start = self.left.start;
        let mut sum = 0;
        while sum < runs
            && let Some(at) = self.left.next()
        {
            sum += self.groups.all[at].runs.max(1);
        }
        let part = start..self.left.start;
        (!part.is_empty()).then(|| Self { left: part, ..self.clone() })
    }
}

impl<'a> Iterator for Lines<'a> {
    type Item = GroupLine<'a>;

    fn next(&mut self) -> Option<GroupLine<'a>> {
        let at = self.left.next()?;
        Some(GroupLine::new(self.names[at], self.scorer, &self.groups.all[at], &self.groups.store, &self.tools))
    }
}

/// One line about a group.
#[derive(Debug)]
pub struct GroupLine<'a> {
    pub(super) name: &'a str,
    pub(super) runs: u64,
    /// The verdict; none when nothing was judged.
    pub verdict: Option<Verdict>,
    /// What each gate over runs found. One that is only measured passes.
    pub checks: Vec<CheckResult>,
    /// The gates that are only measured.
    measured: Vec<&'static str>,
    pub(super) notes: Vec<String>,
    pub(super) carry: MergeState<'a>,
}

/// Everything that merging with other parts of the same group takes.
#[derive(Debug)]
pub(super) struct MergeState<'a> {
    pub(super) rules: Option<&'a str>,
    pub(super) over: OverRuns,
    pub(super) is_mixed: bool,
    pub(super) unread: u64,
    pub(super) within: Option<&'a SessionFold>,
    pub(super) has_outcomes: bool,
    /// How the runs ended, in order.
    pub(super) ended: Vec<Ended>,
    pub(super) calls: CallSequences<'a>,
}

/// Calls of a run that room is made for.
const FEW_CALLS: usize = 8;

/// The calls of all runs of a group, end to end. Tools are numbered by first appearance, so that other groups do not affect
/// the last digit of a sum.
#[derive(Debug, Default)]
pub(super) struct CallSequences<'a> {
    pub(super) names: Vec<&'a str>,
    tools: Vec<u32>,
    with: Vec<Option<ArgsKey>>,
    /// Where the calls of each run are; none if they were not recorded.
    runs: Vec<Option<Range<usize>>>,
}

impl CallSequences<'_> {
    /// The calls of the runs, in order.
    pub(super) fn runs(&self) -> impl Iterator<Item = Option<(&[u32], &[Option<ArgsKey>])>> {
        self.runs.iter().map(|run| run.clone().map(|run| (&self.tools[run.clone()], &self.with[run])))
    }
}

impl<'a> GroupLine<'a> {
    fn new(name: &'a str, scorer: &'a Scorer, group: &'a Group, store: &Store, tools: &[&'a str]) -> Self {
        let over = group.over.unwrap_or_default();
        let (stability, reliability) = (scorer.stability(over), scorer.reliability(over));
        let carry = MergeState {
            rules: scorer.rules(),
            over,
            is_mixed: group.is_mixed,
            unread: group.unread,
            within: stability.map(|_| &group.within),
            // If no gate needs more, the outcomes are all that is kept of the runs.
            has_outcomes: reliability.is_some() || stability.is_none(),
            ended: Vec::new(),
            calls: CallSequences::default(),
        };
        let mut line = Self {
            name,
            runs: group.runs,
            verdict: None,
            checks: Vec::new(),
            measured: Vec::new(),
            notes: Vec::new(),
            carry,
        };
        line.carry.read(&store.places(group.last, group.runs), store, tools);
        if group.is_mixed {
            let why = "the runs of this group belong to tasks with different gates over runs";
            let kind = if over.stability.is_some() { GateKind::Stability } else { GateKind::Reliability };
            line.take(CheckResult::error(kind, why), true);
            return line;
        }
        if group.unread > 0
            && line.lacks_runs(
                group,
                scorer,
                stability.is_some(),
                reliability.as_ref().is_some_and(|(_, is_judged)| *is_judged),
            )
        {
            return line;
        }
        if let Some(gate) = stability {
            let weakest: Vec<f64> = line.carry.ended.iter().filter_map(|run| run.weakest).collect();
            let outcome = gate.evaluate_digests(&group.within, &weakest, line.carry.calls.runs());
            let not_compared = ["tool_sequence_similarity", "argument_consistency"];
            if let Some(why) = not_compared.iter().find_map(|metric| outcome.metrics.why_missing(metric)) {
                line.notes.push(format!("some runs were not compared: {why}"));
            }
            let mut check = CheckResult::from((GateKind::Stability, outcome));
            if group.runs < 2 {
                let reason = "not assessable: one run shows no stability across runs".to_owned();
                let target = GateKind::Stability.name().to_owned();
                check.verdict = Verdict::Unassessable;
                check.failures = vec![GateFailure { target, reason, diffs: Vec::new() }];
            }
            line.take(check, scorer.judges);
        }
        if let Some((gate, is_judged)) = reliability {
            let outcomes = || line.carry.ended.iter().map(|run| run.outcome);
            let known: Vec<bool> = outcomes().flatten().collect();
            let mut check = CheckResult::from((GateKind::Reliability, gate.evaluate(&known)));
            if let Some(run) = outcomes().position(|outcome| outcome.is_none()) {
                let why = format!("run {} has no outcome", run + 1);
                check.verdict = Verdict::Unassessable;
                check.metrics = Metrics::default();
                check.failures = vec![GateFailure {
                    target: GateKind::Reliability.name().to_owned(),
                    reason: format!("not assessable: {why}"),
                    diffs: Vec::new(),
                }];
                line.notes.push(why);
            }
            line.take(check, is_judged);
        }
        line
    }

    /// Reports records of the group that could not be read. Returns whether its gates cannot judge it: they would count only
    /// the runs that were read.
    fn lacks_runs(&mut self, group: &Group, scorer: &Scorer, stability: bool, reliability: bool) -> bool {
        let what = if group.unread == 1 { "record of this group" } else { "records of this group" };
        let why = format!("{} {what} could not be read or evaluated", group.unread);
        let stability = (stability && scorer.judges).then_some(GateKind::Stability);
        let reliability = reliability.then_some(GateKind::Reliability);
        let mut gates: Vec<GateKind> = stability.into_iter().chain(reliability).collect();
        if gates.is_empty() && group.over.is_none() {
            // None of its runs was read, so any task may be theirs.
            gates.extend(scorer.first_over_runs());
        }
        for kind in &gates {
            self.take(CheckResult::error(*kind, &why), true);
        }
        self.notes.push(why);
        !gates.is_empty()
    }

    fn take(&mut self, mut check: CheckResult, is_judged: bool) {
        if is_judged {
            self.verdict = self.verdict.max(Some(check.verdict));
        } else {
            check.verdict = Verdict::Pass;
            check.failures.clear();
            self.measured.push(check.name);
        }
        self.checks.push(check);
    }

    /// The name of the group.
    pub fn name(&self) -> &str {
        self.name
    }

    /// What a check says of the group.
    pub fn verdict_of(&self, check: &CheckResult) -> RowVerdict {
        if self.measured.contains(&check.name) { RowVerdict::Unjudged } else { check.verdict.into() }
    }

    /// Whether its runs belong to tasks with different gates over runs, so that none of them is for all.
    pub fn is_mixed(&self) -> bool {
        self.carry.is_mixed
    }

    pub fn runs(&self) -> u64 {
        self.runs
    }

    /// Notes that are not verdicts.
    pub fn notes(&self) -> &[String] {
        &self.notes
    }
}

impl<'a> MergeState<'a> {
    /// Reads the runs of the group back; their calls only where they are compared.
    fn read(&mut self, places: &[u64], store: &Store, tools: &[&'a str]) {
        let mut numbers: BTreeMap<u32, u32> = BTreeMap::new();
        let sequences = &mut self.calls;
        self.ended.reserve_exact(places.len());
        if self.within.is_some() {
            sequences.runs.reserve_exact(places.len());
            sequences.tools.reserve(places.len() * FEW_CALLS);
            sequences.with.reserve(places.len() * FEW_CALLS);
        }
        for place in places {
            let (ended, calls) = store.run(*place);
            self.ended.push(ended);
            if self.within.is_none() {
                continue;
            }
            let start = sequences.tools.len();
            let is_recorded = calls.is_some();
            for (tool, args) in calls.into_iter().flatten() {
                sequences.tools.push(*numbers.entry(tool).or_insert_with(|| {
                    sequences.names.push(tools.get(tool as usize).copied().unwrap_or(""));
                    u32::try_from(sequences.names.len() - 1).unwrap_or(u32::MAX)
                }));
                sequences.with.push(args);
            }
            sequences.runs.push(is_recorded.then_some(start..sequences.tools.len()));
        }
    }
}
