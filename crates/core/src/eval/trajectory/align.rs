//! Assigning recorded calls to expectations: by position, in order, or one to one.

use std::ops::Range;

use super::rule::{Fit, RecordedCall, Rule};
use super::turns::{self, Turns, WrongPositions};
use super::{MatchMode, TooLarge, WithinTurn};
use crate::eval::matching::{self, Matching};

/// Maximum cells of an in-order alignment, one byte each.
pub(super) const MAX_CELLS: usize = 1 << 26;

/// Which calls may meet which expectations.
pub(super) struct Fits {
    /// The recorded calls that fit or may fit, ascending, one expectation after the other. By position, only the call
    /// at the same index is compared.
    cells: Vec<(u32, Fit)>,
    /// Where the cells of each expectation end.
    ends: Vec<usize>,
    by_position: bool,
    unknown: bool,
    /// Set when the order within a turn does not matter.
    turns: Option<Turns>,
}

impl Fits {
    pub(super) fn new(
        rules: &[Rule],
        seen: &[RecordedCall<'_>],
        mode: MatchMode,
        within_turn: WithinTurn,
    ) -> Result<Self, TooLarge> {
        let recorded = u32::try_from(seen.len()).map_err(|_| too_large(rules.len(), seen.len(), u32::MAX as usize))?;
        let turns = (within_turn == WithinTurn::AnyOrder).then(|| Turns::of(seen));
        let by_position = mode == MatchMode::Strict && !rules.iter().any(|rule| rule.optional);
        let mut unknown = false;
        let mut cells = Vec::with_capacity(rules.len());
        let mut ends = Vec::with_capacity(rules.len());
        for (at, rule) in rules.iter().enumerate() {
            let Range { start, end } = match &turns {
                _ if !by_position => 0..seen.len(),
                Some(turns) => turns.around(at),
                None => at..at + 1,
            };
            // With this many certain candidates every expectation finds a free one: more cannot change an assignment.
            let mut wanted = if is_assignment(mode) { rules.len() } else { usize::MAX };
            for (call, found) in (0..recorded).zip(seen).take(end).skip(start) {
                let fit = rule.fit(found);
                if fit != Fit::No {
                    cells.push((call, fit));
                    unknown |= fit == Fit::Unknown;
                    wanted -= usize::from(fit == Fit::Yes);
                }
                if wanted == 0 {
                    break;
                }
            }
            if cells.len() > MAX_CELLS {
                return Err(too_large(rules.len(), seen.len(), MAX_CELLS));
            }
            ends.push(cells.len());
        }
        Ok(Self { cells, ends, by_position, unknown, turns })
    }

    pub(super) fn row(&self, rule: usize) -> &[(u32, Fit)] {
        let start = if rule == 0 { 0 } else { self.ends[rule - 1] };
        &self.cells[start..self.ends[rule]]
    }

    fn rows(&self) -> impl Iterator<Item = &[(u32, Fit)]> {
        (0..self.ends.len()).map(|rule| self.row(rule))
    }

    pub(super) fn any_unknown(&self) -> bool {
        self.unknown || self.turns.as_ref().is_some_and(Turns::any_unknown)
    }

    pub(super) fn certainly_fits(&self, rule: usize, call: usize) -> bool {
        let row = self.row(rule);
        let found = row.binary_search_by_key(&call, |(at, _)| *at as usize);
        found.is_ok_and(|at| row[at].1 == Fit::Yes)
    }

    /// The first missing evidence, in words.
    pub(super) fn why_unknown(&self, rules: &[Rule], seen: &[RecordedCall<'_>]) -> String {
        let open = self.rows().enumerate().find_map(|(rule, row)| {
            let (call, _) = row.iter().find(|(_, fit)| *fit == Fit::Unknown)?;
            Some((rule, *call as usize))
        });
        let Some((rule, call)) = open else {
            return String::new();
        };
        let missing = rules[rule].missing(&seen[call]);
        format!("tool_calls[{call}] ({}) may match calls[{rule}], but {missing} not recorded", seen[call].name)
    }

    /// The turns in which calls may come in any order, if they are known with at least this certainty.
    pub(super) fn turns(&self, least: Fit) -> Option<&[Range<usize>]> {
        self.turns.as_ref().map(|turns| turns.when(least))
    }

    /// The first unrecorded turn that may matter, in words.
    pub(super) fn why_turn_unknown(&self, seen: &[RecordedCall<'_>]) -> Option<String> {
        let turns = self.turns.as_ref()?;
        let call = (0..seen.len()).find(|call| seen[*call].turn.is_none() && turns.around(*call).len() > 1)?;
        let name = seen[call].name;
        Some(format!("tool_calls[{call}] ({name}) has no recorded turn, so which calls share a turn is unknown"))
    }

    fn candidates(&self, least: Fit) -> Vec<Vec<u32>> {
        let enough = |row: &[(u32, Fit)]| row.iter().filter(|(_, fit)| *fit >= least).map(|(at, _)| *at).collect();
        self.rows().map(enough).collect()
    }

    /// The call at the index of each expectation, if it fits.
    fn positions(&self, least: Fit) -> Vec<Option<usize>> {
        let here = |row: &[(u32, Fit)]| row.first().filter(|(_, fit)| *fit >= least).map(|(at, _)| *at as usize);
        self.rows().map(here).collect()
    }
}

/// Whether a mode assigns calls one to one in any order and allows extra calls.
fn is_assignment(mode: MatchMode) -> bool {
    matches!(mode, MatchMode::Unordered | MatchMode::Superset)
}

fn too_large(expected: usize, recorded: usize, limit: usize) -> TooLarge {
    TooLarge { expected, recorded, limit, what: "pairs" }
}

/// An assignment of recorded calls to expectations.
pub(super) struct Alignment {
    /// The recorded call of each expectation.
    pub(super) matched: Vec<Option<usize>>,
    /// Required expectations without a call.
    pub(super) missing: Vec<usize>,
    /// Recorded calls that are not allowed.
    pub(super) not_allowed: Vec<usize>,
    /// For one-to-one modes: the matching and the candidates it was made from.
    pub(super) assignment: Option<(Vec<Vec<u32>>, Matching)>,
    /// The wrong positions, when calls are compared position by position.
    pub(super) wrong: Option<WrongPositions>,
}

impl Alignment {
    pub(super) fn passed(&self) -> bool {
        self.mismatches() == 0
    }

    /// A wrong position counts once, although it has a missing and an extra call.
    pub(super) fn mismatches(&self) -> usize {
        match &self.wrong {
            Some(pairs) => pairs.len(),
            None => self.missing.len() + self.not_allowed.len(),
        }
    }
}

pub(super) fn align(
    mode: MatchMode,
    rules: &[Rule],
    max_extra: Option<usize>,
    fits: &Fits,
    seen: &[RecordedCall<'_>],
    (least, turns): (Fit, Option<&[Range<usize>]>),
) -> Result<Alignment, TooLarge> {
    let recorded = seen.len();
    if rules.is_empty() && mode == MatchMode::Strict {
        // An empty reference requires nothing. Only subset reads it as "no calls".
        return Ok(finish(rules, Vec::new(), recorded, None));
    }
    if fits.by_position {
        let (matched, wrong) = match turns {
            Some(turns) => turns::positional(rules, seen, fits, turns, least),
            None => positional(fits.positions(least), recorded),
        };
        return Ok(Alignment { wrong: Some(wrong), ..finish(rules, matched, recorded, Some(0)) });
    }
    let in_order = |miss| match turns {
        Some(turns) => turns::cheapest(rules, fits, turns, least, recorded, miss),
        None => in_order(rules, fits, least, recorded, miss),
    };
    Ok(match mode {
        MatchMode::Strict => finish(rules, in_order(1)?, recorded, Some(0)),
        MatchMode::Subsequence => {
            let earliest = match turns {
                Some(turns) => turns::earliest(rules, fits, turns, least, recorded)?,
                None => earliest(rules, fits, least),
            };
            if let Some(matched) = earliest {
                return Ok(finish(rules, matched, recorded, max_extra));
            }
            let met_first = finish(rules, in_order(recorded as u64 + 1)?, recorded, max_extra);
            if met_first.not_allowed.is_empty() {
                return Ok(met_first);
            }
            // Extra calls over the limit count too: fewer of them may be worth an unmet expectation.
            let fewest = finish(rules, in_order(1)?, recorded, max_extra);
            if fewest.mismatches() < met_first.mismatches() { fewest } else { met_first }
        }
        MatchMode::Unordered | MatchMode::Superset => {
            let candidates = fits.candidates(least);
            let mut matching = Matching::empty(rules.len(), recorded);
            matching::extend(&candidates, &mut matching, |at| !rules[at].optional);
            matching::extend(&candidates, &mut matching, |_| true);
            let mut found = finish(rules, matching.right_of.clone(), recorded, max_extra);
            found.assignment = Some((candidates, matching));
            found
        }
        MatchMode::Subset => subset(rules.len(), fits, least, recorded),
    })
}

/// Finds the missing expectations and the extra calls over the limit.
fn finish(rules: &[Rule], matched: Vec<Option<usize>>, recorded: usize, max_extra: Option<usize>) -> Alignment {
    let missing = (0..rules.len()).filter(|at| matched[*at].is_none() && !rules[*at].optional).collect();
    let mut used = vec![false; recorded];
    for call in matched.iter().flatten() {
        used[*call] = true;
    }
    let allowed = max_extra.unwrap_or(recorded);
    let not_allowed = (0..recorded).filter(|call| !used[*call]).skip(allowed).collect();
    Alignment { matched, missing, not_allowed, assignment: None, wrong: None }
}

/// The positions with a missing, an extra or a different call.
fn positional(matched: Vec<Option<usize>>, recorded: usize) -> (Vec<Option<usize>>, WrongPositions) {
    let count = matched.len();
    let is_wrong = |at: &usize| matched.get(*at).copied().flatten().is_none();
    let pair = |at: usize| (Some(at).filter(|at| *at < count), Some(at).filter(|at| *at < recorded));
    let wrong = (0..count.max(recorded)).filter(is_wrong).map(pair).collect();
    (matched, wrong)
}

/// Every recorded call needs its own expectation; earlier calls come first.
fn subset(rules: usize, fits: &Fits, least: Fit, recorded: usize) -> Alignment {
    let mut by_call = vec![Vec::new(); recorded];
    for (rule, row) in (0_u32..).zip(fits.rows()) {
        for (call, _) in row.iter().filter(|(_, fit)| *fit >= least) {
            by_call[*call as usize].push(rule);
        }
    }
    let matching = matching::maximum(&by_call, rules);
    let not_allowed = (0..recorded).filter(|call| matching.right_of[*call].is_none()).collect();
    Alignment {
        matched: matching.left_of.clone(),
        missing: Vec::new(),
        not_allowed,
        assignment: Some((by_call, matching)),
        wrong: None,
    }
}

/// Each expectation takes the earliest call after the last one taken. This is exact when every expectation is required
/// and all are met: then the number of extra calls is the same for every alignment.
fn earliest(rules: &[Rule], fits: &Fits, least: Fit) -> Option<Vec<Option<usize>>> {
    if rules.iter().any(|rule| rule.optional) {
        return None;
    }
    let mut next = 0;
    let mut matched = Vec::with_capacity(rules.len());
    for row in fits.rows() {
        let (call, _) = row[row.partition_point(|(call, _)| *call < next)..].iter().find(|(_, fit)| *fit >= least)?;
        matched.push(Some(*call as usize));
        next = call + 1;
    }
    Some(matched)
}

/// The cheapest alignment that keeps the order: an unmet required expectation costs `miss`, an extra call costs 1.
fn in_order(
    rules: &[Rule],
    fits: &Fits,
    least: Fit,
    recorded: usize,
    miss: u64,
) -> Result<Vec<Option<usize>>, TooLarge> {
    const MATCH: u8 = 0;
    const SKIP_CALL: u8 = 1;
    const SKIP_RULE: u8 = 2;
    let width = recorded + 1;
    let cells = width.checked_mul(rules.len()).filter(|cells| *cells <= MAX_CELLS);
    let cells = cells.ok_or_else(|| too_large(rules.len(), recorded, MAX_CELLS))?;
    let mut step = vec![SKIP_RULE; cells];
    // below[call]: cost of the expectations after this one against the calls from `call` on.
    let mut below: Vec<u64> = (0..width).map(|call| (recorded - call) as u64).collect();
    let mut here = vec![0; width];
    let mut fitting = vec![false; width];
    for (at, rule) in rules.iter().enumerate().rev() {
        fitting.fill(false);
        for (call, _) in fits.row(at).iter().filter(|(_, fit)| *fit >= least) {
            fitting[*call as usize] = true;
        }
        let skip_rule = if rule.optional { 0 } else { miss };
        for call in (0..width).rev() {
            let (mut cost, mut best) = (below[call] + skip_rule, SKIP_RULE);
            if call < recorded {
                let skip = here[call + 1] + 1;
                if skip <= cost {
                    (cost, best) = (skip, SKIP_CALL);
                }
                if fitting[call] && below[call + 1] <= cost {
                    (cost, best) = (below[call + 1], MATCH);
                }
            }
            here[call] = cost;
            step[at * width + call] = best;
        }
        std::mem::swap(&mut below, &mut here);
    }
    let mut matched = vec![None; rules.len()];
    let (mut at, mut call) = (0, 0);
    while at < rules.len() {
        match step[at * width + call] {
            MATCH => {
                matched[at] = Some(call);
                at += 1;
                call += 1;
            }
            SKIP_CALL => call += 1,
            _ => at += 1,
        }
    }
    Ok(matched)
}
