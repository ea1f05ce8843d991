//! `reliability` in whole numbers, as far as it can be computed in whole numbers.

use mcptest_core::Verdict;
use serde_json::{Value, json};

use super::each_case;
use crate::support::reliability;

/// How many of all ways to draw `size` of the outcomes satisfy a test, and how many ways there are.
fn draws(outcomes: &[bool], size: usize, test: impl Fn(&[bool]) -> bool) -> (u64, u64) {
    let (mut good, mut all) = (0, 0);
    for set in 0..1_u32 << outcomes.len() {
        if set.count_ones() as usize == size {
            let drawn: Vec<bool> =
                outcomes.iter().enumerate().filter(|(at, _)| set >> at & 1 == 1).map(|(_, passed)| *passed).collect();
            all += 1;
            good += u64::from(test(&drawn));
        }
    }
    (good, all)
}

fn is_near(found: &Value, due: f64) -> bool {
    found.as_f64().is_some_and(|found| (found - due).abs() < 1e-9)
}

#[test]
fn reliability_agrees_with_brute_force() {
    each_case(|seed, rng| {
        let count = 1 + rng.below(9);
        let rate = rng.pick(&[0, 30, 80, 95, 100]);
        let outcomes: Vec<bool> = (0..count).map(|_| rng.chance(rate)).collect();
        let found = reliability().evaluate(&outcomes);
        let passes = outcomes.iter().filter(|passed| **passed).count();
        let due = if passes == count { Verdict::Pass } else { Verdict::Fail };
        let context = format!("case {seed}: {outcomes:?} {}", found.metrics.object());
        assert_eq!(found.verdict, due, "{context}");
        let metrics = found.metrics.object();
        let metric = |name: &str| metrics.get(name).unwrap_or_else(|| panic!("{name}: {context}"));

        let mut curve = Vec::new();
        for k in 1..=count {
            let good = outcomes[..k].iter().filter(|passed| **passed).count() as u128;
            // The percent of a power of a fraction, rounded down: 100 * good^k / k^k.
            let (mut over, mut under) = (100_u128, 1_u128);
            for _ in 0..k {
                over *= good;
                under *= k as u128;
            }
            curve.push(json!(u64::try_from(over / under).unwrap()));
        }
        assert_eq!(metric("passhat_k"), curve.last().unwrap(), "{context}");
        assert_eq!(metric("decay_curve"), &Value::Array(curve), "{context}");
        assert_eq!(metric("runs"), &json!(count), "{context}");
        assert_eq!(metric("pass_at_k"), &json!(if passes > 0 { 100 } else { 0 }), "{context}");
        assert_eq!(metric("all_passed"), &json!(u8::from(passes == count)), "{context}");
        let places: usize = (1..=count).sum();
        let good: usize = outcomes.iter().zip(1..).filter(|(passed, _)| **passed).map(|(_, place)| place).sum();
        // Rounded half up, in whole numbers.
        assert_eq!(metric("graceful_degradation"), &json!((200 * good + places) / (2 * places)), "{context}");
        let share = passes as f64 / count as f64;
        let spread = (200.0 * (share * (1.0 - share)).sqrt()).round();
        assert!(is_near(metric("variance_amplification"), spread), "{context}");
        assert!(is_near(metric("pass_rate"), 100.0 * share), "{context}");

        // The Wilson interval contains the rates whose distance from the observed rate is within the critical value.
        let (n, z) = (count as f64, 1.959_963_984_540_054_f64);
        let bound = |name: &str| metric(name).as_f64().unwrap() / 100.0;
        for (name, edge) in [("wilson_low", bound("wilson_low")), ("wilson_high", bound("wilson_high"))] {
            let off = (share - edge).powi(2) - z * z * edge * (1.0 - edge) / n;
            assert!(off.abs() < 1e-9, "{name} {edge}: {context}");
        }
        assert!(bound("wilson_low") <= share && share <= bound("wilson_high"), "{context}");

        // At the bounds, what was seen or more, or less, has a chance of one in twenty.
        let chance = |rate: f64, wanted: &dyn Fn(usize) -> bool| {
            let mut sum = 0.0;
            for ways in 0..1_u32 << count {
                let good = ways.count_ones() as usize;
                if wanted(good) {
                    let one = |passed: bool| if passed { rate } else { 1.0 - rate };
                    sum += (0..count).map(|run| one(run < good)).product::<f64>();
                }
            }
            sum
        };
        if passes > 0 {
            let above = chance(bound("lower_bound"), &|good| good >= passes);
            assert!((above - 0.05).abs() < 1e-9, "lower_bound: {above}: {context}");
        }
        if passes < count {
            let below = chance(bound("upper_bound"), &|good| good <= passes);
            assert!((below - 0.05).abs() < 1e-9, "upper_bound: {below}: {context}");
        }

        for k in 1..=count {
            let (some, all) = draws(&outcomes, k, |drawn| drawn.iter().any(|passed| *passed));
            let (every, _) = draws(&outcomes, k, |drawn| drawn.iter().all(|passed| *passed));
            assert!(is_near(&metric("pass_at")[k], 100.0 * some as f64 / all as f64), "pass_at[{k}]: {context}");
            assert!(is_near(&metric("pass_hat")[k], 100.0 * every as f64 / all as f64), "pass_hat[{k}]: {context}");
        }
    });
}
