//! Groups of runs, each kept in as few bytes as judging it takes.
//!
//! Of a run its weakest score, its outcome and, per call, the tool and the key of the arguments are kept: some 16 bytes a
//! call, packed end to end and linked from run to run of a group.

use std::collections::BTreeMap;

use serde::{Serialize, Serializer};

use super::{Failures, Scorer};
use crate::eval::stability::{ArgsKey, Measures, Within};
use crate::eval::{GateFailure, GateKind, Metrics, Verdict};
use crate::judge::Checked;

/// What a group needs to know of one run.
#[derive(Debug, Clone)]
pub struct Run {
    pub(super) session: Option<Measures>,
    /// Names of its tools, each once.
    pub(super) tools: Vec<Box<str>>,
    /// For each call its place in `tools` and its arguments; `None` when the calls were not recorded or are not needed.
    pub(super) calls: Option<Vec<(u32, Option<ArgsKey>)>>,
    /// Whether it passed; `None` when the record does not say.
    pub(super) outcome: Option<bool>,
}

/// How one run ended.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Ended {
    pub(super) weakest: Option<f64>,
    pub(super) outcome: Option<bool>,
}

/// One run as it is kept.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Kept {
    pub(super) ended: Ended,
    /// Tools by their number among all groups.
    pub(super) calls: Option<(Vec<u32>, Vec<Option<ArgsKey>>)>,
}

/// All groups, in the order they were first met.
#[derive(Debug, Default)]
pub struct Groups {
    /// Numbers of the groups by their names.
    names: BTreeMap<Box<str>, usize>,
    /// Numbers of the tools by their names.
    tools: BTreeMap<Box<str>, u32>,
    all: Vec<Group>,
    store: Store,
}

#[derive(Debug, Default)]
struct Group {
    /// Where the latest run is kept.
    last: Option<u64>,
    runs: u64,
    within: Within,
}

impl Groups {
    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.all.len()
    }

    /// Takes in the next run of a group.
    pub fn add(&mut self, group: &str, run: Run) {
        let numbers: Vec<u32> = run.tools.iter().map(|tool| self.tool(tool)).collect();
        let at = self.group(group);
        let weakest = run.session.as_ref().and_then(|session| self.all[at].within.add(session));
        let calls = run.calls.map(|calls| {
            calls.into_iter().map(|(tool, args)| (numbers.get(tool as usize).copied().unwrap_or(0), args)).unzip()
        });
        self.keep(at, &Kept { ended: Ended { weakest, outcome: run.outcome }, calls });
    }

    /// Takes in the runs of a group that were scored elsewhere.
    pub(super) fn append(&mut self, group: &str, within: Within, runs: impl Iterator<Item = Kept>) {
        let at = self.group(group);
        self.all[at].within.append(within);
        for run in runs {
            self.keep(at, &run);
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

    fn keep(&mut self, at: usize, run: &Kept) {
        let group = &mut self.all[at];
        group.last = Some(self.store.push(group.last, run));
        group.runs += 1;
    }

    /// The line of every group, in the order they were first met.
    pub fn lines<'a>(&'a self, scorer: &'a Scorer) -> impl Iterator<Item = GroupLine<'a>> {
        let mut names: Vec<&str> = vec![""; self.all.len()];
        for (name, at) in &self.names {
            names[*at] = name;
        }
        let mut tools: Vec<&str> = vec![""; self.tools.len()];
        for (name, at) in &self.tools {
            tools[*at as usize] = name;
        }
        let tools: std::rc::Rc<[&str]> = tools.into();
        names.into_iter().zip(&self.all).map(move |(name, group)| {
            let places = self.store.places(group.last, group.runs);
            GroupLine::new(name, scorer, group, self, places, tools.clone())
        })
    }
}

/// One line about a group.
#[derive(Debug)]
pub struct GroupLine<'a> {
    name: &'a str,
    runs: u64,
    /// The verdict; none when nothing was judged.
    pub verdict: Option<Verdict>,
    /// What each gate over runs found. One that is only measured passes: nobody asked whether it holds.
    pub checks: Vec<Checked>,
    notes: Vec<String>,
    carry: Carry<'a>,
}

/// Everything that merging with other parts of the same group takes.
#[derive(Debug)]
pub(super) struct Carry<'a> {
    pub(super) within: Option<&'a Within>,
    pub(super) has_outcomes: bool,
    store: &'a Store,
    places: Vec<u64>,
    /// Names of all tools.
    pub(super) tools: std::rc::Rc<[&'a str]>,
}

impl Carry<'_> {
    /// How the runs ended, in order.
    pub(super) fn ended(&self) -> impl Iterator<Item = Ended> {
        self.places.iter().map(|place| self.store.ended(*place).0)
    }

    /// The calls of the runs, in order.
    pub(super) fn calls(&self) -> impl Iterator<Item = Option<(Vec<u32>, Vec<Option<ArgsKey>>)>> {
        self.places.iter().map(|place| self.store.calls(*place))
    }
}

impl<'a> GroupLine<'a> {
    fn new(
        name: &'a str,
        scorer: &Scorer,
        group: &'a Group,
        groups: &'a Groups,
        places: Vec<u64>,
        tools: std::rc::Rc<[&'a str]>,
    ) -> Self {
        let reliability = scorer.reliability();
        let carry = Carry {
            within: scorer.stability().map(|_| &group.within),
            has_outcomes: reliability.is_some(),
            store: &groups.store,
            places,
            tools,
        };
        let mut line = Self { name, runs: group.runs, verdict: None, checks: Vec::new(), notes: Vec::new(), carry };
        if let Some(gate) = scorer.stability() {
            let weakest: Vec<f64> = line.carry.ended().filter_map(|run| run.weakest).collect();
            // Numbered anew, so that what other groups did changes no sum by its last digit.
            let mut numbers: BTreeMap<u32, u32> = BTreeMap::new();
            let mut own = |tool: u32| {
                let next = u32::try_from(numbers.len()).unwrap_or(u32::MAX);
                *numbers.entry(tool).or_insert(next)
            };
            let runs = line
                .carry
                .calls()
                .map(|run| run.map(|(tools, with)| (tools.into_iter().map(&mut own).collect(), with)));
            let outcome = gate.evaluate_digests(&group.within, &weakest, runs);
            if let Some(why) = outcome.metrics.why_missing("argument_consistency") {
                line.notes.push(format!("some runs were not compared: {why}"));
            }
            let mut check = Checked::from((GateKind::Stability, outcome));
            if group.runs < 2 {
                let reason = "not assessable: one run shows no stability across runs".to_owned();
                let target = GateKind::Stability.name().to_owned();
                check.verdict = Verdict::Unassessable;
                check.failures = vec![GateFailure { target, reason, diffs: Vec::new() }];
            }
            line.take(check, scorer.judges);
        }
        if let Some((gate, is_judged)) = reliability {
            let outcomes: Vec<Option<bool>> = line.carry.ended().map(|run| run.outcome).collect();
            let known: Vec<bool> = outcomes.iter().copied().flatten().collect();
            let mut check = Checked::from((GateKind::Reliability, gate.evaluate(&known)));
            if let Some(run) = outcomes.iter().position(Option::is_none) {
                let why = format!("run {} does not say how it ended", run + 1);
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

    fn take(&mut self, mut check: Checked, is_judged: bool) {
        if is_judged {
            self.verdict = self.verdict.max(Some(check.verdict));
        } else {
            check.verdict = Verdict::Pass;
            check.failures.clear();
        }
        self.checks.push(check);
    }

    /// The name of the group.
    pub fn name(&self) -> &str {
        self.name
    }

    /// Its number of runs.
    pub fn runs(&self) -> u64 {
        self.runs
    }

    /// Things to know that are no verdict.
    pub fn notes(&self) -> &[String] {
        &self.notes
    }
}

impl Serialize for GroupLine<'_> {
    fn serialize<S: Serializer>(&self, out: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        struct Line<'a> {
            group: &'a str,
            runs: u64,
            verdict: Option<Verdict>,
            metrics: BTreeMap<&'a str, &'a Metrics>,
            failures: Failures<'a>,
            #[serde(skip_serializing_if = "<[String]>::is_empty")]
            notes: &'a [String],
            carry: &'a Carry<'a>,
        }
        let failures: Vec<(&'static str, &GateFailure)> =
            self.checks.iter().flat_map(|check| check.failures.iter().map(|failure| (check.name, failure))).collect();
        Line {
            group: self.name,
            runs: self.runs,
            verdict: self.verdict,
            metrics: self.checks.iter().map(|check| (check.name, &check.metrics)).collect(),
            failures: Failures(&failures),
            notes: &self.notes,
            carry: &self.carry,
        }
        .serialize(out)
    }
}

/// Most bytes of a chunk, unless one run takes more.
const CHUNK: usize = 1 << 20;

/// Runs end to end in chunks, so that growing never copies.
#[derive(Debug, Default)]
struct Store {
    chunks: Vec<Vec<u8>>,
}

impl Store {
    /// Keeps a run after the previous one of its group and returns its place.
    fn push(&mut self, previous: Option<u64>, run: &Kept) -> u64 {
        let mut bytes = Vec::with_capacity(32 + run.calls.as_ref().map_or(0, |(tools, _)| tools.len() * 14));
        // A place is never the largest number there is.
        bytes.extend(previous.unwrap_or(u64::MAX).to_le_bytes());
        bytes.extend(run.ended.weakest.unwrap_or(f64::NAN).to_le_bytes());
        bytes.push(match run.ended.outcome {
            None => 2,
            Some(passed) => u8::from(passed),
        });
        match &run.calls {
            None => number(0, &mut bytes),
            Some((tools, with)) => {
                number(tools.len() as u64 + 1, &mut bytes);
                for (tool, args) in tools.iter().zip(with) {
                    number(u64::from(*tool) << 1 | u64::from(args.is_some()), &mut bytes);
                    bytes.extend(args.iter().flatten());
                }
            }
        }
        let fits = self.chunks.last().is_some_and(|chunk| chunk.len() + bytes.len() <= chunk.capacity());
        if !fits {
            self.chunks.push(Vec::with_capacity(bytes.len().max(CHUNK)));
        }
        let chunk = self.chunks.len() - 1;
        let start = self.chunks[chunk].len();
        self.chunks[chunk].extend(bytes);
        (chunk as u64) << 32 | start as u64
    }

    /// The places of the runs of a group, first to last.
    fn places(&self, last: Option<u64>, runs: u64) -> Vec<u64> {
        let mut places = Vec::with_capacity(usize::try_from(runs).unwrap_or(0));
        let mut next = last;
        while let Some(place) = next {
            places.push(place);
            let previous = u64::from_le_bytes(self.bytes(place).take());
            next = (previous != u64::MAX).then_some(previous);
        }
        places.reverse();
        places
    }

    fn bytes(&self, place: u64) -> Bytes<'_> {
        let chunk = self.chunks.get((place >> 32) as usize).map_or(&[][..], Vec::as_slice);
        Bytes(chunk.get((place & 0xffff_ffff) as usize..).unwrap_or(&[]))
    }

    /// How the run at a place ended, and where its calls follow.
    fn ended(&self, place: u64) -> (Ended, Bytes<'_>) {
        let mut bytes = self.bytes(place);
        let _previous: [u8; 8] = bytes.take();
        let weakest = f64::from_le_bytes(bytes.take());
        let outcome = match bytes.take::<1>()[0] {
            2 => None,
            passed => Some(passed == 1),
        };
        (Ended { weakest: Some(weakest).filter(|score| !score.is_nan()), outcome }, bytes)
    }

    /// The calls of the run at a place.
    fn calls(&self, place: u64) -> Option<(Vec<u32>, Vec<Option<ArgsKey>>)> {
        let mut bytes = self.ended(place).1;
        bytes.number().checked_sub(1).map(|count| {
            let (mut tools, mut with) = (Vec::new(), Vec::new());
            for _ in 0..count {
                let word = bytes.number();
                tools.push(u32::try_from(word >> 1).unwrap_or(u32::MAX));
                with.push((word & 1 == 1).then(|| bytes.take()));
            }
            (tools, with)
        })
    }
}

/// A number in groups of seven bits, the lowest first.
fn number(mut value: u64, out: &mut Vec<u8>) {
    while value >= 0x80 {
        out.push((value & 0x7f) as u8 | 0x80);
        value >>= 7;
    }
    out.push((value & 0x7f) as u8);
}

/// Reads what [`Store::push`] wrote.
struct Bytes<'a>(&'a [u8]);

impl Bytes<'_> {
    fn take<const N: usize>(&mut self) -> [u8; N] {
        match self.0.split_first_chunk() {
            Some((first, rest)) => {
                self.0 = rest;
                *first
            }
            None => [0; N],
        }
    }

    fn number(&mut self) -> u64 {
        let mut value = 0;
        for shift in (0..64).step_by(7) {
            let [byte] = self.take();
            value |= u64::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                break;
            }
        }
        value
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_come_back_as_they_were_kept_in_the_order_of_their_group() {
        let mut store = Store::default();
        let runs = [
            Kept { ended: Ended { weakest: None, outcome: None }, calls: None },
            Kept { ended: Ended { weakest: Some(0.25), outcome: Some(true) }, calls: Some((Vec::new(), Vec::new())) },
            Kept {
                ended: Ended { weakest: Some(1.0), outcome: Some(false) },
                calls: Some((vec![0, 127, 128, u32::MAX], vec![None, Some([7; 12]), None, Some([255; 12])])),
            },
        ];
        let (mut odd, mut even) = (None, None);
        for round in 0..5000 {
            let last = if round % 2 == 0 { &mut even } else { &mut odd };
            *last = Some(store.push(*last, &runs[round % 3]));
        }
        assert!(store.chunks.len() == 1);
        let kept = |place| Kept { ended: store.ended(place).0, calls: store.calls(place) };
        let found: Vec<Kept> = store.places(odd, 2500).into_iter().map(kept).collect();
        let expected: Vec<Kept> =
            (0..5000).filter(|round| round % 2 == 1).map(|round| runs[round % 3].clone()).collect();
        assert_eq!(found, expected);
    }
}
