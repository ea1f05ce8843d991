//! Statistics compared with values that scipy and statsmodels give, and with brute force.

use mcptest_core::eval::reliability::{Confidence, wilson_interval};
use mcptest_core::stats::{
    FixedPlan, SequentialPlan, Settled, Stratum, binomial_at_least, binomial_at_most, e_above, e_below, fisher, holm,
    lower_bound, mcnemar, newcombe, pooled, pooled_difference, sequential_lower_bound, settle, straight_passes,
    upper_bound,
};

/// Equal to six digits after the point, or to six significant digits above one.
fn close(found: f64, expected: f64, what: &str) {
    let scale = expected.abs().max(1.0);
    assert!((found - expected).abs() <= 5.1e-7 * scale, "{what}: {found} is not {expected}");
}

#[test]
fn wilson_intervals_have_their_reference_values() {
    let z = Confidence::P95.exact_z();
    for (passes, runs, low, high) in [
        (3, 3, 0.438_503, 1.0),
        (5, 5, 0.565_518, 1.0),
        (8, 10, 0.490_162, 0.943_318),
        (10, 10, 0.722_467, 1.0),
        (19, 20, 0.763_869, 0.991_119),
        (95, 100, 0.888_250, 0.978_456),
    ] {
        let found = wilson_interval(passes, runs, z);
        close(found.0, low, &format!("{passes}/{runs}"));
        close(found.1, high, &format!("{passes}/{runs}"));
    }
}

#[test]
fn clopper_pearson_bounds_have_their_reference_values() {
    // A two-sided interval at 95 % is two one-sided bounds at 97.5 %.
    for (passes, runs, low, high) in [
        (3, 3, 0.292_402, 1.0),
        (8, 10, 0.443_905, 0.974_789),
        (10, 10, 0.691_503, 1.0),
        (19, 20, 0.751_267, 0.998_735),
        (0, 10, 0.0, 0.308_497),
    ] {
        close(lower_bound(passes, runs, 0.025), low, &format!("{passes}/{runs}"));
        close(upper_bound(passes, runs, 0.025), high, &format!("{passes}/{runs}"));
    }
    for (passes, runs, low) in [(10, 10, 0.741_134), (20, 20, 0.860_892), (59, 59, 0.950_492)] {
        close(lower_bound(passes, runs, 0.05), low, &format!("{passes}/{runs}"));
    }
}

#[test]
fn straight_passes_that_show_a_rate_have_their_reference_values() {
    for (rate, runs) in [(0.8, 14), (0.9, 29), (0.95, 59), (0.99, 299)] {
        assert_eq!(straight_passes(rate, 0.05, 10_000), Some(runs), "{rate}");
    }
    assert_eq!(straight_passes(0.9999, 0.05, 1_000), None);
}

#[test]
fn e_values_have_their_reference_values() {
    for (passes, runs, rate, value) in [
        (10, 10, 0.5, 186.090_9),
        (20, 20, 0.8, 20.460_994),
        (30, 30, 0.8, 130.160_253),
        (29, 30, 0.8, 17.221_367),
        (48, 50, 0.8, 89.623_271),
    ] {
        close(e_above(passes, runs, rate), value, &format!("{passes}/{runs} at {rate}"));
        // Failures are passes seen from the other side.
        let mirrored = e_below(runs - passes, runs, 1.0 - rate);
        close(mirrored, value, &format!("{passes}/{runs} at {rate}, mirrored"));
    }
    for (rate, runs) in [(0.5, 7), (0.7, 13), (0.8, 20), (0.9, 43), (0.95, 88)] {
        let first = (1..200).find(|runs| e_above(*runs, *runs, rate) >= 20.0);
        assert_eq!(first, Some(runs), "{rate}");
    }
}

/// The mixture integral itself, by many thin slices.
fn e_by_integration(passes: u64, runs: u64, rate: f64) -> f64 {
    const SLICES: u32 = 200_000;
    let failures = runs - passes;
    let likelihood = |q: f64| {
        let log = |count: u64, p: f64| if count == 0 { 0.0 } else { count as f64 * p.ln() };
        log(passes, q / rate) + log(failures, (1.0 - q) / (1.0 - rate))
    };
    let width = (1.0 - rate) / f64::from(SLICES);
    (0..SLICES).map(|at| likelihood(rate + width * (f64::from(at) + 0.5)).exp()).sum::<f64>() * width / (1.0 - rate)
}

#[test]
fn e_values_are_the_mixture_integral() {
    for (passes, runs, rate) in [(0, 3, 0.5), (3, 4, 0.9), (17, 20, 0.8), (40, 60, 0.7), (5, 40, 0.3), (90, 100, 0.95)]
    {
        let (found, expected) = (e_above(passes, runs, rate), e_by_integration(passes, runs, rate));
        assert!((found / expected - 1.0).abs() < 1e-6, "{passes}/{runs} at {rate}: {found} is not {expected}");
    }
}

#[test]
fn evidence_is_a_martingale_at_its_own_rate() {
    // The mean of the next value, at the rate that it is evidence against, is the present one.
    for (passes, runs, rate) in [(0, 0, 0.9), (3, 5, 0.8), (20, 21, 0.95), (7, 30, 0.5)] {
        for e_value in [e_above, e_below] {
            let next = rate * e_value(passes + 1, runs + 1, rate) + (1.0 - rate) * e_value(passes, runs + 1, rate);
            assert!((next / e_value(passes, runs, rate) - 1.0).abs() < 1e-12, "{passes}/{runs} at {rate}");
        }
    }
}

#[test]
fn runs_settle_at_the_first_prefix_that_suffices() {
    let passes = |count: usize| vec![true; count];
    let settled = |outcomes: Vec<bool>, min| settle(outcomes, min, 0.9, 0.05);
    assert_eq!(settled(passes(42), 1), None);
    let at_43 = Some(Settled { runs: 43, passes: 43, is_above: true });
    assert_eq!(settled(passes(43), 1), at_43);
    // Later runs do not change it.
    assert_eq!(settled([passes(43), vec![false; 30]].concat(), 1), at_43);
    assert_eq!(settled(passes(60), 50), Some(Settled { runs: 50, passes: 50, is_above: true }));
    assert_eq!(settled(vec![false; 5], 1), Some(Settled { runs: 2, passes: 0, is_above: false }));
    assert_eq!(settled(vec![false; 5], 4), Some(Settled { runs: 4, passes: 0, is_above: false }));
    assert!(sequential_lower_bound(43, 43, 0.05) >= 0.9);
    assert!(sequential_lower_bound(42, 42, 0.05) < 0.9);
}

#[test]
fn mcnemar_has_its_reference_values() {
    for (lost, gained, p) in
        [(0, 5, 0.0625), (0, 6, 0.03125), (1, 8, 0.039_062_5), (2, 10, 0.038_574_2), (5, 15, 0.041_389_5), (0, 0, 1.0)]
    {
        close(mcnemar(lost, gained), p, &format!("{lost}, {gained}"));
        close(mcnemar(gained, lost), p, &format!("{gained}, {lost}"));
    }
}

/// `C(n, k)`.
fn choose(n: u64, k: u64) -> f64 {
    if k > n { 0.0 } else { (0..k).fold(1.0, |c, i| c * (n - i) as f64 / (i + 1) as f64) }
}

#[test]
fn fisher_sums_outcomes_that_are_at_most_as_likely() {
    for old_runs in 0..=9 {
        for new_runs in 0..=7 {
            for (old, new) in (0..=old_runs).flat_map(|old| (0..=new_runs).map(move |new| (old, new))) {
                let passed = old + new;
                let ways = |count: u64| {
                    if count > passed { 0.0 } else { choose(new_runs, count) * choose(old_runs, passed - count) }
                };
                let observed = ways(new);
                let all: f64 = (0..=new_runs).map(ways).sum();
                let extreme: f64 = (0..=new_runs).map(ways).filter(|ways| *ways <= observed * (1.0 + 1e-9)).sum();
                let found = fisher((old, old_runs), (new, new_runs));
                assert!((found - extreme / all).abs() < 1e-12, "{old}/{old_runs} {new}/{new_runs}: {found}");
            }
        }
    }
    // scipy.stats.fisher_exact([[8, 2], [1, 5]]).
    close(fisher((8, 10), (1, 6)), 0.034_965, "the table of scipy's documentation");
}

#[test]
fn holm_adjusts_from_the_smallest() {
    assert_eq!(holm(&[]), [0.0; 0]);
    assert_eq!(holm(&[0.5]), [0.5]);
    let found = holm(&[0.01, 0.04, 0.03, 0.005]);
    for (found, expected) in found.iter().zip([0.03, 0.06, 0.06, 0.02]) {
        close(*found, expected, "the example of statsmodels");
    }
}

#[test]
fn the_pooled_test_of_one_stratum_is_the_test_of_that_stratum() {
    for (before, after) in [((8, 10), (1, 6)), ((3, 3), (0, 3)), ((5, 9), (5, 9)), ((0, 4), (4, 4))] {
        close(pooled(&[Stratum::Unpaired { before, after }]), fisher(before, after), "unpaired");
    }
    for (lost, gained) in [(0, 6), (2, 10), (7, 1), (4, 4), (0, 0)] {
        close(pooled(&[Stratum::Paired { lost, gained }]), mcnemar(lost, gained), "paired");
    }
    assert_eq!(pooled(&[]), 1.0);
}

#[test]
fn the_pooled_test_is_a_sum_over_all_tables() {
    let strata = [((3, 4), (1, 3)), ((2, 2), (1, 4)), ((4, 5), (3, 5))];
    let observed: u64 = strata.iter().map(|(_, after)| after.0).sum();
    let mut chances = [0.0; 13];
    let ways = |((old, old_runs), (new, new_runs)): ((u64, u64), (u64, u64)), count: u64| {
        if count > old + new { 0.0 } else { choose(new_runs, count) * choose(old_runs, old + new - count) }
    };
    for first in 0..=3 {
        for second in 0..=4 {
            for third in 0..=5 {
                let at = usize::try_from(first + second + third).unwrap();
                chances[at] += ways(strata[0], first) * ways(strata[1], second) * ways(strata[2], third);
            }
        }
    }
    let limit = chances[usize::try_from(observed).unwrap()] * (1.0 + 1e-9);
    let expected = chances.iter().filter(|chance| **chance <= limit).sum::<f64>() / chances.iter().sum::<f64>();
    let unpaired: Vec<_> =
        strata.iter().map(|(before, after)| Stratum::Unpaired { before: *before, after: *after }).collect();
    assert!((pooled(&unpaired) - expected).abs() < 1e-12);
    // Six pairs that flipped the same way are significant together, wherever they are.
    let spread = vec![Stratum::Paired { lost: 1, gained: 0 }; 6];
    close(pooled(&spread), 0.03125, "six flips in six tests");
    // A thousand tests are handled.
    let many = vec![Stratum::Unpaired { before: (40, 50), after: (40, 50) }; 1_000];
    assert_eq!(pooled(&many), 1.0);
}

#[test]
fn intervals_of_differences_have_their_reference_values() {
    // Newcombe (1998), table II, method 10, first case: 56 of 70 and 48 of 80.
    let (low, high) = newcombe((48, 80), (56, 70), Confidence::P95.exact_z());
    assert_eq!(format!("{low:.4} {high:.4}"), "0.0524 0.3339");
    let (difference, low, high) = pooled_difference(&[((8, 10), (8, 10)), ((1, 4), (1, 4))], 1.96).unwrap();
    assert_eq!(difference, 0.0);
    assert!(low < 0.0 && high > 0.0 && low + high == 0.0);
    assert_eq!(pooled_difference(&[((1, 1), (0, 0))], 1.96), None);
}

#[test]
fn tails_agree_with_sums_of_binomial_weights() {
    for runs in [1, 2, 7, 30] {
        for rate in [0.01, 0.3, 0.5, 0.9, 0.999] {
            let weight =
                |count: u64| choose(runs, count) * rate_power(rate, count) * rate_power(1.0 - rate, runs - count);
            for passes in 0..=runs {
                let above: f64 = (passes..=runs).map(weight).sum();
                assert!((binomial_at_least(passes, runs, rate) - above).abs() < 1e-12);
                let below: f64 = (0..=passes).map(weight).sum();
                assert!((binomial_at_most(passes, runs, rate) - below).abs() < 1e-12);
            }
        }
    }
    // Many runs neither overflow nor lose the digits of a tail.
    close(binomial_at_least(50_000, 100_000, 0.5), 0.501_261_6, "half of many");
    assert!(binomial_at_least(100_000, 100_000, 0.5) < 1e-300);
}

fn rate_power(rate: f64, count: u64) -> f64 {
    (0..count).fold(1.0, |power, _| power * rate)
}

#[test]
fn a_fixed_plan_matches_the_bounds() {
    for runs in [5, 29, 46, 60] {
        let FixedPlan { pass_from, fail_to, .. } = FixedPlan::new(runs, 0.9, 0.05);
        let shows = |passes: u64| lower_bound(passes, runs, 0.05) >= 0.9;
        assert_eq!(pass_from, (0..=runs).find(|passes| shows(*passes)), "{runs}");
        let refutes = |passes: u64| upper_bound(passes, runs, 0.05) < 0.9;
        assert_eq!(fail_to, (0..=runs).rev().find(|passes| refutes(*passes)), "{runs}");
    }
    let plan = FixedPlan::new(29, 0.9, 0.05);
    assert_eq!(plan.pass_from, Some(29));
    close(plan.chances(0.95).pass, rate_power(0.95, 29), "29 of 29");
}

#[test]
fn a_sequential_plan_counts_every_way_to_settle() {
    let plan = SequentialPlan::new(1, 12, 0.5, 0.05);
    let truth = 0.8;
    let (mut pass, mut fail, mut runs) = (0.0, 0.0, 0.0);
    for bits in 0..1_u32 << 12 {
        let outcomes: Vec<bool> = (0..12).map(|at| bits >> at & 1 == 1).collect();
        let chance: f64 = outcomes.iter().map(|passed| if *passed { truth } else { 1.0 - truth }).product();
        match settle(outcomes, 1, 0.5, 0.05) {
            Some(settled) => {
                *(if settled.is_above { &mut pass } else { &mut fail }) += chance;
                runs += chance * settled.runs as f64;
            }
            None => runs += chance * 12.0,
        }
    }
    let found = plan.chances(truth);
    for (found, expected, what) in [(found.pass, pass, "pass"), (found.fail, fail, "fail"), (found.runs, runs, "runs")]
    {
        assert!((found - expected).abs() < 1e-9, "{what}: {found} is not {expected}");
    }
    assert!((found.pass + found.fail + found.inconclusive - 1.0).abs() < 1e-12);
}
