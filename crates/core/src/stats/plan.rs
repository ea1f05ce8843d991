//! How many runs it takes to show a pass rate, and how likely an agent of a given rate shows it.

use super::binomial::{at_least, at_most};
use super::sequential::{e_above, e_below};

/// The fewest straight passes that show a pass rate of at least `rate`, for a fixed number of runs; none beyond `most`.
pub fn straight_passes(rate: f64, error: f64, most: u64) -> Option<u64> {
    let mut chance = 1.0;
    for runs in 1..=most {
        chance *= rate;
        if chance <= error {
            return Some(runs);
        }
    }
    None
}

/// How likely each answer is, and how many runs it takes on average.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Chances {
    /// The rate is shown to be high enough.
    pub pass: f64,
    /// The rate is shown to be too low.
    pub fail: f64,
    /// Neither.
    pub inconclusive: f64,
    /// The mean number of runs.
    pub runs: f64,
}

/// A fixed number of runs: what they must show.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FixedPlan {
    pub runs: u64,
    /// The fewest passes that show the rate; none if even all do not.
    pub pass_from: Option<u64>,
    /// The most passes that show that the rate is lower; none if even no pass does not.
    pub fail_to: Option<u64>,
}

impl FixedPlan {
    /// What a fixed number of runs must show.
    pub fn new(runs: u64, rate: f64, error: f64) -> Self {
        // Both conditions are monotone in the number of passes.
        let first = |holds: &dyn Fn(u64) -> bool| {
            let (mut low, mut high) = (0, runs + 1);
            while low < high {
                let middle = u64::midpoint(low, high);
                if holds(middle) { high = middle } else { low = middle + 1 }
            }
            low
        };
        let pass_from = first(&|passes| passes > runs || at_least(passes, runs, rate) <= error);
        let fail_to = first(&|passes| passes > runs || at_most(passes, runs, rate) >= error);
        Self { runs, pass_from: (pass_from <= runs).then_some(pass_from), fail_to: fail_to.checked_sub(1) }
    }

    /// How likely an agent that passes with the rate `truth` gets each answer.
    pub fn chances(&self, truth: f64) -> Chances {
        let pass = self.pass_from.map_or(0.0, |passes| at_least(passes, self.runs, truth));
        let fail = self.fail_to.map_or(0.0, |passes| at_most(passes, self.runs, truth));
        Chances { pass, fail, inconclusive: (1.0 - pass - fail).max(0.0), runs: self.runs as f64 }
    }
}

/// Runs that stop when they settle, from `min` to `max` of them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SequentialPlan {
    min: u64,
    max: u64,
    /// For each number of runs from `min`: the fewest passes that settle it, and the most that settle the opposite.
    limits: Vec<(Option<u64>, Option<u64>)>,
}

impl SequentialPlan {
    /// What each number of runs must show.
    pub fn new(min: u64, max: u64, rate: f64, error: f64) -> Self {
        let (mut pass_from, mut fail_to) = (0_u64, 0_u64);
        let mut limits = Vec::new();
        for runs in min.max(1)..=max {
            // Each limit grows with the number of runs, so both are found by walking on.
            while pass_from <= runs && e_above(pass_from, runs, rate) * error < 1.0 {
                pass_from += 1;
            }
            while fail_to < runs && e_below(fail_to, runs, rate) * error >= 1.0 {
                fail_to += 1;
            }
            limits.push(((pass_from <= runs).then_some(pass_from), fail_to.checked_sub(1)));
        }
        Self { min: min.max(1), max, limits }
    }

    /// How likely an agent that passes with the rate `truth` gets each answer, and the mean number of runs until then.
    pub fn chances(&self, truth: f64) -> Chances {
        let mut out = Chances::default();
        // The chance of each number of passes among runs that have not settled.
        let mut open = vec![1.0_f64];
        for runs in 1..=self.max {
            out.runs += open.iter().sum::<f64>();
            open.push(0.0);
            for passes in (0..open.len()).rev() {
                let before = if passes == 0 { 0.0 } else { open[passes - 1] };
                open[passes] = open[passes] * (1.0 - truth) + before * truth;
            }
            let limit = runs.checked_sub(self.min).and_then(|at| self.limits.get(usize::try_from(at).ok()?));
            let Some((pass_from, fail_to)) = limit else { continue };
            for (passes, chance) in (0_u64..).zip(&mut open) {
                if pass_from.is_some_and(|from| passes >= from) {
                    out.pass += std::mem::take(chance);
                } else if fail_to.is_some_and(|to| passes <= to) {
                    out.fail += std::mem::take(chance);
                }
            }
        }
        out.inconclusive = open.iter().sum();
        out
    }
}
