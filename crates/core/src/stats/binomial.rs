//! The binomial distribution, and the exact bounds of a rate by Clopper and Pearson.

use super::bisect;

/// The chance of at least `passes` of `runs` at a pass rate of `rate`.
pub fn at_least(passes: u64, runs: u64, rate: f64) -> f64 {
    tails(passes, runs, rate).1
}

/// The chance of at most `passes` of `runs` at a pass rate of `rate`.
pub fn at_most(passes: u64, runs: u64, rate: f64) -> f64 {
    if passes >= runs { 1.0 } else { tails(passes + 1, runs, rate).0 }
}

/// The chances of fewer than `split` passes, and of at least that many.
fn tails(split: u64, runs: u64, rate: f64) -> (f64, f64) {
    if split == 0 || rate >= 1.0 {
        return if split <= runs { (0.0, 1.0) } else { (1.0, 0.0) };
    }
    if split > runs || rate <= 0.0 {
        return (1.0, 0.0);
    }
    let odds = rate / (1.0 - rate);
    let mode = mode(runs, rate);
    // Weights relative to the most likely count: none of them can overflow, and those that vanish do not matter.
    let (mut below, mut above) = (0.0, 0.0);
    let mut add = |count: u64, weight: f64| *(if count < split { &mut below } else { &mut above }) += weight;
    add(mode, 1.0);
    let mut weight = 1.0;
    for count in mode..runs {
        weight *= odds * (runs - count) as f64 / (count + 1) as f64;
        if weight == 0.0 {
            break;
        }
        add(count + 1, weight);
    }
    let mut weight = 1.0;
    for count in (1..=mode).rev() {
        weight *= count as f64 / ((runs - count + 1) as f64 * odds);
        if weight == 0.0 {
            break;
        }
        add(count - 1, weight);
    }
    let all = below + above;
    (below / all, above / all)
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a count between 0 and the number of runs")]
fn mode(runs: u64, rate: f64) -> u64 {
    (((runs + 1) as f64 * rate) as u64).min(runs)
}

/// The one-sided lower bound of a pass rate by Clopper and Pearson: at lower rates, this number of passes has a probability
/// of at most `error`.
///
/// ```
/// use mcptest_core::stats::lower_bound;
///
/// // 29 straight passes show a rate of at least 90 % at 95 % confidence; 28 do not.
/// assert!(lower_bound(29, 29, 0.05) > 0.9);
/// assert!(lower_bound(28, 28, 0.05) < 0.9);
/// ```
pub fn lower_bound(passes: u64, runs: u64, error: f64) -> f64 {
    if passes == 0 { 0.0 } else { bisect(|rate| at_least(passes, runs, rate) <= error) }
}

/// The one-sided upper bound of a pass rate by Clopper and Pearson.
pub fn upper_bound(passes: u64, runs: u64, error: f64) -> f64 {
    if passes >= runs { 1.0 } else { bisect(|rate| at_most(passes, runs, rate) > error) }
}
