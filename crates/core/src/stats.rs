//! Statistics over passes and failures: bounds of a pass rate, evidence that grows run by run, and tests of a difference.
//!
//! Only integers and `+ - * / sqrt` are used. These are exact to the last bit on every machine, which library functions such
//! as `exp` and `ln` are not, so the same outcomes print the same digits everywhere.

mod binomial;
mod difference;
mod plan;
mod sequential;

pub use binomial::{at_least as binomial_at_least, at_most as binomial_at_most, lower_bound, upper_bound};
pub use difference::{Stratum, fisher, holm, mcnemar, newcombe, pooled, pooled_difference};
pub use plan::{Chances, FixedPlan, SequentialPlan, straight_passes};
pub use sequential::{
    Settled, e_above, e_below, lower_bound as sequential_lower_bound, settle, upper_bound as sequential_upper_bound,
};

/// The value between `low` and `high` where `is_low` turns from true to false, to the last bit.
fn bisect(is_low: impl Fn(f64) -> bool) -> f64 {
    let (mut low, mut high) = (0.0_f64, 1.0_f64);
    loop {
        let middle = f64::midpoint(low, high);
        if middle <= low || middle >= high {
            return low;
        }
        if is_low(middle) {
            low = middle;
        } else {
            high = middle;
        }
    }
}
