//! Assigning recorded calls to expectations when the calls of one turn may come in any order.
//!
//! Each turn takes an interval of the expectations, and within it calls are assigned one to one. The expectations of an
//! interval that can have calls at the same time form a matroid. So it is enough to add them one by one, each along a path
//! that frees a call, and to give up an optional one where a required one needs its call: the matching is optimal after
//! every step. The intervals are found by dynamic programming over turns and expectations.

use std::collections::VecDeque;
use std::ops::Range;

use super::TooLarge;
use super::align::{Fits, MAX_CELLS};
use super::rule::{Fit, RecordedCall, Rule};
use crate::eval::matching;

/// Maximum steps of the search for matchings: about a second.
const MAX_STEPS: usize = 1 << 27;

/// Recorded calls by turn. A turn is a stretch of calls with the same `turn`. Turns need not rise: the calls of
/// parallel sub-agents can alternate. So a call of an unknown turn between two calls of one turn may belong to another.
#[derive(Debug)]
pub(super) struct Turns {
    /// As if a call of an unknown turn shared it with no other call.
    apart: Vec<Range<usize>>,
    /// As if it shared it with both neighbors.
    together: Vec<Range<usize>>,
}

impl Turns {
    pub(super) fn of(seen: &[RecordedCall<'_>]) -> Self {
        Self {
            apart: stretches(seen, |a, b| a.is_some() && a == b),
            together: stretches(seen, |a, b| a.is_none() || b.is_none() || a == b),
        }
    }

    /// The turns by what is known, or by what is possible.
    pub(super) fn when(&self, least: Fit) -> &[Range<usize>] {
        if least == Fit::Yes { &self.apart } else { &self.together }
    }

    /// Whether unknown turns leave open which calls share a turn.
    pub(super) fn any_unknown(&self) -> bool {
        self.apart != self.together
    }

    /// The calls that may share a turn with this one.
    pub(super) fn around(&self, call: usize) -> Range<usize> {
        let at = self.together.partition_point(|turn| turn.end <= call);
        self.together.get(at).cloned().unwrap_or(call..call)
    }
}

fn stretches(seen: &[RecordedCall<'_>], same: impl Fn(Option<usize>, Option<usize>) -> bool) -> Vec<Range<usize>> {
    let mut start = 0;
    let stretch = |part: &[RecordedCall<'_>]| {
        start += part.len();
        start - part.len()..start
    };
    seen.chunk_by(|a, b| same(a.turn, b.turn)).map(stretch).collect()
}

/// Wrong positions of a reference without optional calls: the expectation and the call that share one.
pub(super) type WrongPositions = Vec<(Option<usize>, Option<usize>)>;

/// A turn of N calls takes the next N expectations. Within a turn the matching is maximum.
pub(super) fn positional(
    rules: &[Rule],
    seen: &[RecordedCall<'_>],
    fits: &Fits,
    turns: &[Range<usize>],
    least: Fit,
) -> (Vec<Option<usize>>, WrongPositions) {
    let mut matched = vec![None; rules.len()];
    let mut pairs = WrongPositions::new();
    for calls in turns {
        let expected = calls.start.min(rules.len())..calls.end.min(rules.len());
        let local = |at: usize| {
            let enough = within(fits.row(at), calls).iter().filter(|(_, fit)| *fit >= least);
            enough.map(|(call, _)| *call - u32::try_from(calls.start).unwrap_or(*call)).collect()
        };
        let candidates: Vec<Vec<u32>> = expected.clone().map(local).collect();
        let found = matching::maximum(&candidates, calls.len());
        for (at, call) in expected.clone().zip(&found.right_of) {
            matched[at] = call.map(|call| call + calls.start);
        }
        let mut unmet: Vec<usize> = expected.filter(|at| matched[*at].is_none()).collect();
        let mut left: Vec<usize> = calls.clone().filter(|call| found.left_of[call - calls.start].is_none()).collect();
        let mut wrong = WrongPositions::new();
        // Pair leftovers of the same tool first.
        unmet.retain(|at| {
            let same = left.iter().position(|call| seen[*call].name == rules[*at].name);
            let Some(place) = same else { return true };
            wrong.push((Some(*at), Some(left.remove(place))));
            false
        });
        let mut unmet = unmet.into_iter();
        wrong.extend(left.into_iter().map(|call| (unmet.next(), Some(call))));
        // Expectations in order, then the extra calls.
        wrong.sort_by_key(|(at, call)| (at.is_none(), *at, *call));
        pairs.extend(wrong);
    }
    pairs.extend((seen.len()..rules.len()).map(|at| (Some(at), None)));
    (matched, pairs)
}

/// Each turn takes as many expectations as it can, in order. This is exact when every expectation is required and all are
/// met: a turn that can take some can take any part of them, and the number of extra calls is the same for every alignment.
pub(super) fn earliest(
    rules: &[Rule],
    fits: &Fits,
    turns: &[Range<usize>],
    least: Fit,
    recorded: usize,
) -> Result<Option<Vec<Option<usize>>>, TooLarge> {
    if rules.iter().any(|rule| rule.optional) {
        return Ok(None);
    }
    let mut slots = TurnMatching::new(rules.len(), recorded, least, 1);
    let mut matched = Vec::with_capacity(rules.len());
    for calls in turns {
        slots.open(calls);
        let first = matched.len();
        let mut taken = 0;
        while first + taken < rules.len() && slots.add(within(fits.row(first + taken), calls), true)? > 0 {
            taken += 1;
        }
        matched.extend((0..taken).map(|place| slots.call(place)));
    }
    Ok((matched.len() == rules.len()).then_some(matched))
}

/// The cheapest alignment that keeps the order of turns: an unmet required expectation costs `miss`, an extra call costs 1.
pub(super) fn cheapest(
    rules: &[Rule],
    fits: &Fits,
    turns: &[Range<usize>],
    least: Fit,
    recorded: usize,
    miss: u64,
) -> Result<Vec<Option<usize>>, TooLarge> {
    const LEAVE_TURN: u32 = 0;
    const SKIP_RULE: u32 = 1;
    let count = rules.len();
    let width = count + 1;
    // Four bytes a cell.
    let limit = MAX_CELLS / 4;
    let cells = width.checked_mul(turns.len()).filter(|cells| *cells <= limit);
    let cells = cells.ok_or(TooLarge { expected: count, recorded, limit, what: "pairs" })?;
    // skipped[at]: cost of leaving out all expectations before this one.
    let mut skipped = vec![0; width];
    for (at, rule) in rules.iter().enumerate() {
        skipped[at + 1] = skipped[at] + if rule.optional { 0 } else { miss };
    }
    let mut step = vec![LEAVE_TURN; cells];
    // below[at]: cost of the expectations from `at` on against the turns after this one.
    let mut below: Vec<u64> = skipped.iter().map(|cost| skipped[count] - cost).collect();
    let mut here = vec![0; width];
    // next[at]: the first expectation from `at` on that fits a call of the turn.
    let mut next = vec![count; width];
    let mut slots = TurnMatching::new(count, recorded, least, miss);
    let mut rest = TurnMatching::new(count, recorded, least, miss);
    for (turn, calls) in turns.iter().enumerate().rev() {
        let size = calls.len() as u64;
        here[count] = below[count] + size;
        rest.open(calls);
        // What the expectations from here to the last can save at most.
        let mut most = 0;
        for (at, rule) in rules.iter().enumerate().rev() {
            let (mut cost, mut best) = (here[at + 1] + skipped[at + 1] - skipped[at], SKIP_RULE);
            if below[at] + size <= cost {
                (cost, best) = (below[at] + size, LEAVE_TURN);
            }
            let row = within(fits.row(at), calls);
            let fits_any = row.iter().any(|(_, fit)| *fit >= least);
            next[at] = if fits_any { at } else { next[at + 1] };
            if fits_any {
                most += rest.add(row, !rule.optional)?;
                slots.open(calls);
                let (mut saved, mut end) = (0, at);
                while end < count {
                    let gain = slots.add(within(fits.row(end), calls), !rules[end].optional)?;
                    saved += gain;
                    end += 1;
                    let total = size + skipped[end] - skipped[at] + below[end] - saved;
                    if gain > 0 && total <= cost {
                        (cost, best) = (total, SKIP_RULE + length(end - at));
                    }
                    // A turn of one call that takes a later expectation leaves out this one.
                    if saved == most || size == 1 {
                        break;
                    }
                    end = next[end];
                }
            }
            here[at] = cost;
            step[turn * width + at] = best;
        }
        std::mem::swap(&mut below, &mut here);
    }
    let mut matched = vec![None; count];
    let (mut turn, mut at) = (0, 0);
    while turn < turns.len() && at < count {
        match step[turn * width + at] {
            LEAVE_TURN => turn += 1,
            SKIP_RULE => at += 1,
            taken => {
                let end = at + (taken - SKIP_RULE) as usize;
                slots.open(&turns[turn]);
                for (place, rule) in rules.iter().enumerate().take(end).skip(at) {
                    slots.add(within(fits.row(place), &turns[turn]), !rule.optional)?;
                }
                for (place, found) in matched[at..end].iter_mut().enumerate() {
                    *found = slots.call(place);
                }
                (turn, at) = (turn + 1, end);
            }
        }
    }
    Ok(matched)
}

/// Fewer than there are cells, so it fits.
fn length(count: usize) -> u32 {
    u32::try_from(count).unwrap_or(u32::MAX - 1)
}

/// The calls of a turn among those that fit an expectation.
fn within<'a>(row: &'a [(u32, Fit)], calls: &Range<usize>) -> &'a [(u32, Fit)] {
    let before = |end: usize| row.partition_point(|(call, _)| (*call as usize) < end);
    &row[before(calls.start)..before(calls.end)]
}

/// The calls of one turn, and the expectations they are assigned to: the best matching of the expectations added so far.
struct TurnMatching<'a> {
    least: Fit,
    /// What a required expectation without a call costs.
    miss: u64,
    /// The first call of the turn.
    start: usize,
    /// The calls that fit each expectation, and whether it is required.
    rows: Vec<(&'a [(u32, Fit)], bool)>,
    /// The call of each expectation.
    call_of: Vec<Option<usize>>,
    /// The expectation of each call.
    taken_by: Vec<Option<usize>>,
    /// The last search that visited each call, and the expectation it came from.
    seen: Vec<(usize, usize)>,
    queue: VecDeque<usize>,
    searches: usize,
    steps: usize,
    expected: usize,
    recorded: usize,
}

impl<'a> TurnMatching<'a> {
    fn new(expected: usize, recorded: usize, least: Fit, miss: u64) -> Self {
        Self {
            least,
            miss,
            start: 0,
            rows: Vec::new(),
            call_of: Vec::new(),
            taken_by: Vec::new(),
            seen: Vec::new(),
            queue: VecDeque::new(),
            searches: 0,
            steps: 0,
            expected,
            recorded,
        }
    }

    /// Starts over with the calls of a turn, none of them taken.
    fn open(&mut self, calls: &Range<usize>) {
        for call in self.call_of.drain(..).flatten() {
            self.taken_by[call] = None;
        }
        self.rows.clear();
        self.start = calls.start;
        if self.taken_by.len() < calls.len() {
            self.taken_by.resize(calls.len(), None);
            self.seen.resize(calls.len(), (0, 0));
        }
    }

    /// The recorded call of the expectation that was added at a place.
    fn call(&self, place: usize) -> Option<usize> {
        self.call_of[place].map(|call| call + self.start)
    }

    /// Adds an expectation and returns what that saves.
    fn add(&mut self, row: &'a [(u32, Fit)], required: bool) -> Result<u64, TooLarge> {
        let new = self.rows.len();
        self.rows.push((row, required));
        self.call_of.push(None);
        self.searches += 1;
        self.queue.clear();
        self.queue.push_back(new);
        let mut optional = None;
        while let Some(expectation) = self.queue.pop_front() {
            let (row, _) = self.rows[expectation];
            self.steps += row.len() + 1;
            if self.steps > MAX_STEPS {
                let (expected, recorded) = (self.expected, self.recorded);
                return Err(TooLarge { expected, recorded, limit: MAX_STEPS, what: "steps" });
            }
            for call in row.iter().filter(|(_, fit)| *fit >= self.least).map(|(call, _)| *call as usize - self.start) {
                if self.seen[call].0 == self.searches {
                    continue;
                }
                self.seen[call] = (self.searches, expectation);
                let Some(holder) = self.taken_by[call] else {
                    self.reassign(call);
                    return Ok(if required { self.miss + 1 } else { 1 });
                };
                if !self.rows[holder].1 {
                    optional = optional.or(Some((holder, call)));
                }
                self.queue.push_back(holder);
            }
        }
        match optional.filter(|_| required) {
            Some((holder, call)) => {
                self.call_of[holder] = None;
                self.reassign(call);
                Ok(self.miss)
            }
            None => Ok(0),
        }
    }

    /// Gives a free call to the expectation that reached it, the call of that one to the expectation before, and so on.
    fn reassign(&mut self, free: usize) {
        let mut call = free;
        loop {
            let expectation = self.seen[call].1;
            self.taken_by[call] = Some(expectation);
            match self.call_of[expectation].replace(call) {
                Some(given_up) => call = given_up,
                None => return,
            }
        }
    }
}
