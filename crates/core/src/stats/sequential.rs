//! Evidence that may be looked at after every run: e-processes against a pass rate, in both directions.
//!
//! If the true rate is at most `rate`, the chance that [`e_above`] ever reaches 20 is at most 1 in 20, however often one looks
//! and whenever one stops. So runs can stop as soon as it does, which is not true of an interval for a fixed number of runs.
//!
//! The alternative is a uniform mixture of the rates above (or below). The mixture integral is an incomplete beta function,
//! which for whole numbers is a binomial tail; divided by the likelihood it is a sum of ratios of neighboring binomial
//! weights, so plain arithmetic suffices.

use super::bisect;

/// Terms below this share of the sum are left out.
const NEGLIGIBLE: f64 = 1e-20;

/// Evidence that the pass rate is above `rate`: the e-value against "at most `rate`".
///
/// ```
/// use mcptest_core::stats::e_above;
///
/// // 43 straight passes are the fewest that reach 20 against a rate of 90 %.
/// assert!(e_above(42, 42, 0.9) < 20.0);
/// assert!(e_above(43, 43, 0.9) >= 20.0);
/// ```
pub fn e_above(passes: u64, runs: u64, rate: f64) -> f64 {
    one_sided(passes, runs, rate)
}

/// Evidence that the pass rate is below `rate`: the e-value against "at least `rate`".
pub fn e_below(passes: u64, runs: u64, rate: f64) -> f64 {
    // Failures in the place of passes.
    one_sided(runs.saturating_sub(passes), runs, 1.0 - rate)
}

/// `1/(f+1) * sum over k <= s of pmf(k; n+1) / pmf(s; n+1)`, for s passes and f failures in n runs.
fn one_sided(passes: u64, runs: u64, rate: f64) -> f64 {
    if rate >= 1.0 {
        return 0.0;
    }
    if rate <= 0.0 {
        return if passes == 0 { 1.0 } else { f64::INFINITY };
    }
    let odds = (1.0 - rate) / rate;
    let failures = runs.saturating_sub(passes);
    let (mut term, mut sum) = (1.0, 1.0);
    for step in 0..passes {
        let ratio = odds * (passes - step) as f64 / (failures + 2 + step) as f64;
        term *= ratio;
        sum += term;
        // Ratios only fall, so once they are below one the rest is a vanishing series.
        if ratio < 1.0 && term < NEGLIGIBLE * sum {
            break;
        }
    }
    sum / (failures + 1) as f64
}

/// The lowest pass rate that the evidence against lower ones has not reached `1 / error`.
pub fn lower_bound(passes: u64, runs: u64, error: f64) -> f64 {
    if passes == 0 { 0.0 } else { bisect(|rate| e_above(passes, runs, rate) * error >= 1.0) }
}

/// The highest pass rate that the evidence against higher ones has not reached `1 / error`.
pub fn upper_bound(passes: u64, runs: u64, error: f64) -> f64 {
    if passes >= runs { 1.0 } else { bisect(|rate| e_below(passes, runs, rate) * error < 1.0) }
}

/// What settled whether a pass rate is high enough, and after how many runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Settled {
    /// The first number of runs at which the evidence sufficed.
    pub runs: u64,
    /// Those of them that passed.
    pub passes: u64,
    /// Whether the rate is high enough.
    pub is_above: bool,
}

/// The first prefix of at least `min` outcomes that settles whether the pass rate is at least `rate`; later outcomes do not
/// change it.
pub fn settle(outcomes: impl IntoIterator<Item = bool>, min: u64, rate: f64, error: f64) -> Option<Settled> {
    let mut passes = 0;
    for (runs, passed) in (1_u64..).zip(outcomes) {
        passes += u64::from(passed);
        if runs < min {
            continue;
        }
        if e_above(passes, runs, rate) * error >= 1.0 {
            return Some(Settled { runs, passes, is_above: true });
        }
        if e_below(passes, runs, rate) * error >= 1.0 {
            return Some(Settled { runs, passes, is_above: false });
        }
    }
    None
}
