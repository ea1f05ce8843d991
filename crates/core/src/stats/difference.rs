//! Whether two pass rates differ: exact tests for one test and over many, their adjustment, and the interval of a difference.

/// Probabilities this close to that of the observed outcome count as equal: rounding must not decide which ones are as extreme.
const TIE: f64 = 1.0 + 1e-7;

/// The exact two-sided test by McNemar for runs that are paired: `lost` pairs passed only before, `gained` only after.
pub fn mcnemar(lost: u64, gained: u64) -> f64 {
    two_sided(&Distribution::fair(lost + gained).weights, gained)
}

/// The exact two-sided test by Fisher for runs that are not paired: passes and runs of both sides.
pub fn fisher(before: (u64, u64), after: (u64, u64)) -> f64 {
    let Distribution { first, weights } = Distribution::unpaired(before, after);
    two_sided(&weights, after.0 - first)
}

/// The p-values adjusted by Holm, in the same order: the chance of one false alarm among all is at most the level.
pub fn holm(p_values: &[f64]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..p_values.len()).collect();
    order.sort_by(|a, b| p_values[*a].total_cmp(&p_values[*b]));
    let mut out = vec![1.0; p_values.len()];
    let mut largest = 0.0_f64;
    for (rank, at) in order.into_iter().enumerate() {
        largest = largest.max((p_values[at] * (p_values.len() - rank) as f64).min(1.0));
        out[at] = largest;
    }
    out
}

/// One test in a pooled comparison.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stratum {
    /// Runs of both sides are paired.
    Paired {
        /// Pairs that passed only before.
        lost: u64,
        /// Pairs that passed only after.
        gained: u64,
    },
    /// They are not: passes and runs.
    Unpaired { before: (u64, u64), after: (u64, u64) },
}

/// The exact two-sided test over all tests, stratified by test: nothing is assumed about how hard each of them is.
///
/// Given how many runs of each test passed in all, the number that passed after has a known distribution if nothing changed:
/// hypergeometric where runs are not paired, binomial over the pairs that differ where they are. The sum over tests has the
/// convolution of these.
pub fn pooled(strata: &[Stratum]) -> f64 {
    let mut sum = Distribution { first: 0, weights: vec![1.0] };
    let mut observed = 0;
    for stratum in strata {
        let (one, found) = match *stratum {
            Stratum::Paired { lost, gained } => (Distribution::fair(lost + gained), gained),
            Stratum::Unpaired { before, after } => (Distribution::unpaired(before, after), after.0),
        };
        observed += found;
        sum = sum.plus(&one);
    }
    match observed.checked_sub(sum.first) {
        Some(at) if at < sum.weights.len() as u64 => two_sided(&sum.weights, at),
        // So unlikely that its weight was left out.
        _ => 0.0,
    }
}

/// The chance of everything that is at most as likely as the observed outcome.
fn two_sided(weights: &[f64], observed: u64) -> f64 {
    let limit = usize::try_from(observed).ok().and_then(|at| weights.get(at)).map_or(0.0, |weight| weight * TIE);
    let extreme: f64 = weights.iter().filter(|weight| **weight <= limit).sum();
    (extreme / weights.iter().sum::<f64>()).min(1.0)
}

/// Weights of neighboring counts, from the first one that has any.
#[derive(Debug, Clone, PartialEq)]
struct Distribution {
    first: u64,
    weights: Vec<f64>,
}

/// Weights below this share of the largest are left out of a sum of many tests.
const NEGLIGIBLE: f64 = 1e-25;

impl Distribution {
    /// Passes after, given how many runs of both sides passed together.
    fn unpaired(before: (u64, u64), after: (u64, u64)) -> Self {
        let (passed, runs) = (before.0 + after.0, before.1 + after.1);
        let (first, last) = (passed.saturating_sub(before.1), passed.min(after.1));
        let ratio = |count: u64| {
            let ways = (passed - count) as f64 * (after.1 - count) as f64;
            ways / ((count + 1) as f64 * (runs + count + 1 - passed - after.1) as f64)
        };
        Self::from_ratios(first, last, ratio)
    }

    /// The distribution of heads among `coins` fair coins.
    fn fair(coins: u64) -> Self {
        Self::from_ratios(0, coins, |count| (coins - count) as f64 / (count + 1) as f64)
    }

    /// From the ratio of each weight to the next, which falls.
    fn from_ratios(first: u64, last: u64, ratio: impl Fn(u64) -> f64) -> Self {
        let (mut low, mut high) = (first, last);
        while low < high {
            let middle = u64::midpoint(low, high);
            if ratio(middle) > 1.0 { low = middle + 1 } else { high = middle }
        }
        // Relative to the most likely count, so that nothing overflows.
        let mut weights = vec![0.0; usize::try_from(last - first + 1).unwrap_or(0)];
        let at = |count: u64| usize::try_from(count - first).unwrap_or(0);
        weights[at(low)] = 1.0;
        for count in low..last {
            weights[at(count + 1)] = weights[at(count)] * ratio(count);
        }
        for count in (first..low).rev() {
            weights[at(count)] = weights[at(count + 1)] / ratio(count);
        }
        Self { first, weights }
    }

    /// The distribution of the sum of two counts.
    fn plus(&self, other: &Self) -> Self {
        let mut weights = vec![0.0; self.weights.len() + other.weights.len() - 1];
        for (at, one) in self.weights.iter().enumerate() {
            for (sum, two) in weights[at..].iter_mut().zip(&other.weights) {
                *sum += one * two;
            }
        }
        let largest = weights.iter().copied().fold(0.0, f64::max);
        let matters = |weight: &f64| *weight > NEGLIGIBLE * largest;
        let start = weights.iter().position(matters).unwrap_or(0);
        let end = weights.iter().rposition(matters).map_or(weights.len(), |last| last + 1);
        let weights = weights[start..end].iter().map(|weight| weight / largest).collect();
        Self { first: self.first + other.first + start as u64, weights }
    }
}

/// The interval of the difference of two pass rates, after minus before, by Newcombe's hybrid score method.
pub fn newcombe(before: (u64, u64), after: (u64, u64), z: f64) -> (f64, f64) {
    let [(old, old_low, old_high), (new, new_low, new_high)] = [before, after].map(|(passes, runs)| {
        let (low, high) = crate::eval::reliability::wilson_interval(passes, runs, z);
        (passes as f64 / runs as f64, low, high)
    });
    let difference = new - old;
    let distance = |a: f64, b: f64| (a * a + b * b).sqrt();
    let low = difference - distance(new - new_low, old_high - old);
    let high = difference + distance(new_high - new, old - old_low);
    (low.max(-1.0), high.min(1.0))
}

/// How many runs passed, of how many.
type PassesAndRuns = (u64, u64);

/// The difference of the pass rates over all tests, after minus before, with its interval. Each test counts by its runs on
/// both sides (the weights of Mantel and Haenszel), so a test with more runs on one side does not distort the result.
pub fn pooled_difference(tests: &[(PassesAndRuns, PassesAndRuns)], z: f64) -> Option<(f64, f64, f64)> {
    let (mut weights, mut sum, mut variance) = (0.0, 0.0, 0.0);
    for (before, after) in tests {
        let (old, new) = (before.1 as f64, after.1 as f64);
        if old == 0.0 || new == 0.0 {
            continue;
        }
        let weight = old * new / (old + new);
        weights += weight;
        sum += weight * (after.0 as f64 / new - before.0 as f64 / old);
        // One more pass and one more failure on each side, by Agresti and Caffo: few runs never look certain.
        for (passes, runs) in [(before.0 as f64, old), (after.0 as f64, new)] {
            let rate = (passes + 1.0) / (runs + 2.0);
            variance += weight * weight * rate * (1.0 - rate) / (runs + 2.0);
        }
    }
    (weights > 0.0).then(|| {
        let (difference, half) = (sum / weights, z * variance.sqrt() / weights);
        (difference, (difference - half).max(-1.0), (difference + half).min(1.0))
    })
}
