//! Decides whether runs prove a pass rate: yes, no, or not yet.

use super::Confidence;
use crate::eval::gate::{Judge, Verdict, plural, short};
use crate::stats::{self, Settled};

/// A pass rate that runs must show.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Requirement {
    /// The rate, above 0 and below 1.
    pub rate: f64,
    /// How sure the answer must be.
    pub confidence: Confidence,
    /// Runs stop when they settle the rate, but not before this many. Without it their number was fixed in advance.
    pub settles_from: Option<u64>,
}

/// The answer, and the bounds of the true pass rate it rests on.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Decision {
    pub(super) verdict: Verdict,
    pub(super) lower: f64,
    pub(super) upper: f64,
    passes: u64,
    /// Runs that the answer rests on: all of them, or those until it was settled.
    runs: u64,
    /// How many more straight passes would show the rate.
    more: Option<u64>,
}

/// Most further runs that a message counts.
const MOST_MORE: u64 = 10_000;

impl Requirement {
    /// After how many runs the outcomes settle it, where runs stop early.
    pub fn settled(&self, outcomes: &[bool]) -> Option<Settled> {
        let min = self.settles_from?.min(outcomes.len() as u64);
        stats::settle(outcomes.iter().copied(), min, self.rate, self.confidence.error())
    }

    /// Whether `passes` of the first `runs` runs settle it, if runs stop early.
    pub fn is_settled_at(&self, passes: u64, runs: u64) -> bool {
        self.settles_from.is_some_and(|min| runs >= min) && self.verdict(passes, runs) != Verdict::Inconclusive
    }

    /// The decision for `passes` passes, at a number of runs that does not depend on them or that e-processes allow.
    fn verdict(&self, passes: u64, runs: u64) -> Verdict {
        let error = self.confidence.error();
        let (shown, refuted) = if self.settles_from.is_some() {
            let reached = |e_value: f64| e_value * error >= 1.0;
            (reached(stats::e_above(passes, runs, self.rate)), reached(stats::e_below(passes, runs, self.rate)))
        } else {
            let above = stats::binomial_at_least(passes, runs, self.rate) <= error;
            (above, stats::binomial_at_most(passes, runs, self.rate) < error)
        };
        match (shown, refuted) {
            (true, _) => Verdict::Pass,
            (false, true) => Verdict::Fail,
            (false, false) => Verdict::Inconclusive,
        }
    }

    pub(super) fn decide(&self, outcomes: &[bool]) -> Decision {
        let error = self.confidence.error();
        let all = outcomes.len() as u64;
        let count = outcomes.iter().filter(|passed| **passed).count() as u64;
        let (verdict, passes, runs) = match self.settled(outcomes) {
            Some(Settled { runs, passes, is_above }) => {
                (if is_above { Verdict::Pass } else { Verdict::Fail }, passes, runs)
            }
            None if self.settles_from.is_some() => (Verdict::Inconclusive, count, all),
            None => (self.verdict(count, all), count, all),
        };
        let (lower, upper) = if self.settles_from.is_some() {
            (stats::sequential_lower_bound(passes, runs, error), stats::sequential_upper_bound(passes, runs, error))
        } else {
            (stats::lower_bound(passes, runs, error), stats::upper_bound(passes, runs, error))
        };
        let more = (verdict == Verdict::Inconclusive).then(|| self.more(passes, runs)).flatten();
        Decision { verdict, lower, upper, passes, runs, more }
    }

    /// The fewest straight passes that show the rate.
    pub fn straight_passes(&self) -> Option<u64> {
        self.more(0, 0)
    }

    /// How many more straight passes would show the rate.
    fn more(&self, passes: u64, runs: u64) -> Option<u64> {
        // More passes only help, so the number is found by halving.
        let shows = |more: u64| self.verdict(passes + more, runs + more) == Verdict::Pass;
        if !shows(MOST_MORE) {
            return None;
        }
        let (mut low, mut high) = (0, MOST_MORE);
        while low < high {
            let middle = u64::midpoint(low, high);
            if shows(middle) { high = middle } else { low = middle + 1 }
        }
        Some(low)
    }
}

impl Decision {
    /// One line with the numbers.
    pub(super) fn line(&self, requirement: &Requirement, all: usize) -> String {
        let Self { verdict, lower, upper, passes, runs, .. } = *self;
        let percent = requirement.confidence.percent();
        let bounds = match verdict {
            Verdict::Pass => format!("at least {:.1}%", 100.0 * lower),
            Verdict::Fail => format!("at most {:.1}%", 100.0 * upper),
            _ => format!("between {:.1}% and {:.1}%", 100.0 * lower, 100.0 * upper),
        };
        let counted = match (verdict, requirement.settles_from) {
            (Verdict::Inconclusive, _) | (_, None) => format!("{passes} of {} passed", plural(all, "run")),
            (_, Some(_)) => {
                let after = all as u64 - runs;
                let late = if after == 0 { String::new() } else { format!(" ({after} more ran and do not count)") };
                format!("settled after {}, {passes} passed{late}", plural(usize::try_from(runs).unwrap_or(all), "run"))
            }
        };
        format!(
            "{counted}; the true rate is {bounds} at {percent}% confidence (required: at least {}%)",
            short(100.0 * requirement.rate)
        )
    }

    pub(super) fn judge(&self, requirement: &Requirement, line: &str, judge: &mut Judge) {
        let rate = short(100.0 * requirement.rate);
        match self.verdict {
            Verdict::Fail => judge.fail("reliability.upper_bound", line),
            Verdict::Inconclusive => {
                let more = match self.more {
                    Some(more) => {
                        let passes = if more == 1 { "pass" } else { "passes" };
                        format!("{more} more straight {passes} would show {rate}%")
                    }
                    None => format!("more than {MOST_MORE} more straight passes would be needed to show {rate}%"),
                };
                judge.inconclusive("reliability.lower_bound", format!("{line}: not enough to tell; {more}"));
            }
            _ => {}
        }
    }
}
