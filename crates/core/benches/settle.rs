//! The error of runs that stop early, by simulation: `cargo bench -p mcptest-core --bench settle`.
//!
//! Eight runs go at once, none more than eight ahead of the first that has not ended, and failing runs take longer than passing
//! ones, as they do in life: a rule that counts runs in the order in which they end would stop on too many passes. 100,000 tests are simulated per rate. The share of tests that are
//! settled wrongly must not exceed the stated error. The mean number of runs is printed next to the fixed number of runs that
//! gives the same agent the same chance to pass.
#![expect(clippy::print_stdout, reason = "a benchmark prints")]

use std::process::ExitCode;

use mcptest_core::stats::{FixedPlan, e_above, e_below};

/// Simulated tests per rate.
const TESTS: u32 = 100_000;
/// Runs at once.
const AT_ONCE: usize = 8;
const MIN: u64 = 5;
const MAX: u64 = 200;
/// The rate to show, and the allowed share of wrong answers.
const REQUIRED: f64 = 0.9;
const ERROR: f64 = 0.05;
/// How much longer a failing run takes.
const SLOWER: u64 = 5;

/// A small generator with a fixed seed: the same numbers on every machine.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        // splitmix64
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    fn below_one(&mut self) -> f64 {
        (self.next() >> 11) as f64 / 9_007_199_254_740_992.0
    }
}

/// The numbers of passes that settle it, for each number of runs: at least, and at most.
fn limits() -> Vec<(u64, Option<u64>)> {
    let limit = |runs: u64| {
        let shown = (0..=runs).find(|passes| e_above(*passes, runs, REQUIRED) * ERROR >= 1.0);
        let refuted = (0..=runs).rev().find(|passes| e_below(*passes, runs, REQUIRED) * ERROR >= 1.0);
        (shown.unwrap_or(u64::MAX), refuted)
    };
    (0..=MAX).map(limit).collect()
}

#[derive(Default)]
struct Tally {
    shown: u32,
    refuted: u32,
    runs: u64,
    /// Runs that the rule needed, without those that were under way.
    needed: u64,
    /// What a rule would say that counts runs in the order in which they end.
    hasty: u32,
}

/// One test: runs start in the order of their numbers, at most eight at once, and no more start once it is settled.
fn simulate(rate: f64, limits: &[(u64, Option<u64>)], random: &mut Random, tally: &mut Tally) {
    let mut outcomes: Vec<bool> = Vec::new();
    let mut ended: Vec<bool> = Vec::new();
    // When each slot is free, and the run in it.
    let mut slots: Vec<(u64, Option<usize>)> = vec![(0, None); AT_ONCE];
    let (mut prefix, mut passes) = (0_usize, 0_u64);
    let mut settled: Option<bool> = None;
    let (mut ended_runs, mut ended_passes, mut is_hasty) = (0_u64, 0_u64, false);
    loop {
        // The slot that is free first.
        slots.sort_unstable();
        let Some(at) = slots.iter().position(|(_, run)| run.is_some()).filter(|_| {
            let is_full = slots.iter().all(|(_, run)| run.is_some()) || outcomes.len() >= prefix + AT_ONCE;
            settled.is_some() || outcomes.len() as u64 == MAX || is_full
        }) else {
            if settled.is_some() || outcomes.len() as u64 == MAX {
                break;
            }
            // Start the next run in a free slot.
            let is_good = random.below_one() < rate;
            let time = 1 + random.next() % 10;
            let now = slots.iter().filter(|(_, run)| run.is_none()).map(|(free, _)| *free).min().unwrap_or(0);
            let free = slots.iter_mut().find(|(_, run)| run.is_none());
            if let Some(slot) = free {
                *slot = (now + if is_good { time } else { time * SLOWER }, Some(outcomes.len()));
            }
            outcomes.push(is_good);
            ended.push(false);
            continue;
        };
        // A run ends.
        let Some(run) = slots[at].1.take() else { break };
        ended[run] = true;
        ended_runs += 1;
        ended_passes += u64::from(outcomes[run]);
        let now = slots[at].0;
        slots.iter_mut().filter(|(free, run)| run.is_none() && *free < now).for_each(|slot| slot.0 = now);
        is_hasty |= ended_runs >= MIN
            && settled.is_none()
            && ended_passes >= limits[ended.iter().filter(|is_ended| **is_ended).count()].0;
        while settled.is_none() && ended.get(prefix) == Some(&true) {
            passes += u64::from(outcomes[prefix]);
            prefix += 1;
            let (shown, refuted) = limits[prefix];
            if prefix as u64 >= MIN {
                settled = if passes >= shown {
                    Some(true)
                } else if refuted.is_some_and(|most| passes <= most) {
                    Some(false)
                } else {
                    None
                };
            }
        }
    }
    tally.runs += outcomes.len() as u64;
    tally.needed += prefix as u64;
    tally.hasty += u32::from(is_hasty);
    match settled {
        Some(true) => tally.shown += 1,
        Some(false) => tally.refuted += 1,
        None => {}
    }
}

fn main() -> ExitCode {
    let limits = limits();
    let mut random = Random(26);
    let mut is_sound = true;
    println!(
        "at least {REQUIRED}, error {ERROR}, {MIN} to {MAX} runs, {AT_ONCE} at once, failures {SLOWER} times slower, {TESTS} tests per rate"
    );
    println!("  rate   pass     fail     open     wrong    runs    needed   fixed plan   by end: pass");
    for percent in [30, 50, 70, 80, 85, 88, 90, 92, 95, 97, 99, 100] {
        let rate = f64::from(percent) / 100.0;
        let mut tally = Tally::default();
        for _ in 0..TESTS {
            simulate(rate, &limits, &mut random, &mut tally);
        }
        let share = |count: u32| 100.0 * f64::from(count) / f64::from(TESTS);
        // Below the required rate a pass is wrong, at or above it a failure. At it neither may be frequent.
        let wrong = match percent {
            90 => tally.shown.max(tally.refuted),
            below if below < 90 => tally.shown,
            _ => tally.refuted,
        };
        let fixed = fixed(rate, f64::from(tally.shown) / f64::from(TESTS), f64::from(tally.refuted) / f64::from(TESTS));
        let mean = |sum: u64| sum as f64 / f64::from(TESTS);
        println!(
            "  {rate:.2}   {:>5.1} %  {:>5.1} %  {:>5.1} %  {:>5.2} %  {:>6.1}  {:>6.1}   {:>10}   {:>5.1} %",
            share(tally.shown),
            share(tally.refuted),
            share(TESTS - tally.shown - tally.refuted),
            share(wrong),
            mean(tally.runs),
            mean(tally.needed),
            fixed.map_or_else(|| format!("> {MAX}"), |runs| runs.to_string()),
            share(tally.hasty),
        );
        // Three standard errors of a share of one in twenty.
        is_sound &= share(wrong) <= 100.0 * ERROR + 0.21;
    }
    if is_sound {
        return ExitCode::SUCCESS;
    }
    println!("more wrong answers than the stated error allows");
    ExitCode::FAILURE
}

/// The smallest fixed number of runs that decides as often; none within the maximum.
fn fixed(rate: f64, shown: f64, refuted: f64) -> Option<u64> {
    (1..=MAX).find(|runs| {
        let chances = FixedPlan::new(*runs, REQUIRED, ERROR).chances(rate);
        if rate >= REQUIRED { chances.pass >= shown && shown > 0.0 } else { chances.fail >= refuted && refuted > 0.0 }
    })
}
