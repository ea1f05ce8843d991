//! `stability` by its formulas, with the longest common subsequence by trying every subsequence.

use mcptest_core::eval::stability::SUB_SCORES;
use mcptest_core::eval::{Dimensions, Expect, StabilityGate, StabilityParams};
use mcptest_core::{Trace, Verdict};
use serde_json::Value;

use super::each_case;
use super::world::{Call, Kind, Mask, World, plain_answer, small_args};

const KIND: Kind = Kind { calls: 6, turns_fall: false, args: small_args, answer: plain_answer };

fn canonical(value: &Value) -> String {
    mcptest_core::json::canonical(value)
}

/// The four sub-scores, in the order of [`SUB_SCORES`].
fn sub_scores(world: &World) -> [f64; 4] {
    let calls = world.calls.len();
    if calls < 2 && world.texts.len() < 2 {
        return [1.0; 4];
    }
    let key = |call: &Call| (call.name, call.server, canonical(&call.args));
    let distinct = |keys: Vec<(&str, &str, String)>| {
        let mut seen = Vec::new();
        for key in keys {
            if !seen.contains(&key) {
                seen.push(key);
            }
        }
        seen.len()
    };
    let tools = distinct(world.calls.iter().map(|call| (call.name, "", String::new())).collect());
    let differing = distinct(world.calls.iter().map(key).collect());
    let texts: Vec<f64> = world.texts.iter().flatten().map(|text| text.chars().count() as f64).collect();
    let mean = texts.iter().sum::<f64>() / texts.len() as f64;
    let variance = texts.iter().map(|length| (length - mean).powi(2)).sum::<f64>() / texts.len() as f64;
    let tokens = world.tokens as f64;
    [
        if calls < 2 { 1.0 } else { 1.0 - (tools as f64 - 1.0) / (calls as f64 - 1.0) },
        if texts.len() < 2 || mean == 0.0 { 1.0 } else { (1.0 - variance.sqrt() / mean).max(0.0) },
        if calls == 0 { 1.0 } else { differing as f64 / calls as f64 },
        match differing {
            _ if world.tokens == 0 => 1.0,
            0 => 0.0,
            some => 2000.0 / f64::max(2000.0, tokens / some as f64),
        },
    ]
}

fn names(world: &World) -> Vec<&str> {
    world.calls.iter().map(|call| call.name).collect()
}

fn longest_common(a: &[&str], b: &[&str]) -> usize {
    let chosen = |bits: usize| (0..a.len()).filter(move |at| bits >> at & 1 == 1).map(|at| a[at]);
    let fits = |bits: &usize| {
        let mut rest = b.iter();
        chosen(*bits).all(|name| rest.any(|other| *other == name))
    };
    (0..1_usize << a.len()).filter(fits).map(|bits| bits.count_ones() as usize).max().unwrap_or(0)
}

/// The metrics that compare runs.
fn between(worlds: &[World]) -> [(&'static str, f64); 3] {
    let (mut alike, mut same, mut pairs, mut early, mut split) = (0.0, 0.0, 0.0, 0, 0);
    for (at, one) in worlds.iter().enumerate() {
        for other in &worlds[at + 1..] {
            let (a, b) = (names(one), names(other));
            let calls = a.len() + b.len();
            alike += if calls == 0 { 1.0 } else { 2.0 * longest_common(&a, &b) as f64 / calls as f64 };
            let both = one.calls.iter().zip(&other.calls).filter(|(x, y)| x.name == y.name);
            let both: Vec<bool> = both.map(|(x, y)| canonical(&x.args) == canonical(&y.args)).collect();
            same += if both.is_empty() {
                1.0
            } else {
                both.iter().filter(|same| **same).count() as f64 / both.len() as f64
            };
            pairs += 1.0;
            if a != b {
                split += 1;
                let first = (0..=a.len()).find(|at| a.get(*at) != b.get(*at)).unwrap();
                early += usize::from(first < 2);
            }
        }
    }
    [
        ("tool_sequence_similarity", alike / pairs),
        ("argument_consistency", same / pairs),
        ("early_divergence", f64::from(u8::from(early * 2 > split))),
    ]
}

fn near(a: f64, b: f64) -> bool {
    (a - b).abs() < 1e-9
}

#[test]
fn stability_agrees_with_the_brute_force() {
    each_case(|seed, rng| {
        let worlds: Vec<World> = (0..2 + rng.below(3)).map(|_| World::any(rng, KIND)).collect();
        let mut dimensions: Vec<&str> = SUB_SCORES.into_iter().filter(|_| rng.chance(60)).collect();
        if dimensions.is_empty() {
            dimensions = SUB_SCORES.to_vec();
        }
        let params = StabilityParams { dimensions: Dimensions::named(&dimensions), expect: Expect::Default };
        let gate = StabilityGate::new(params).unwrap();
        let evaluate = |traces: &[Trace]| gate.evaluate(&traces.iter().collect::<Vec<_>>());
        let context = || format!("case {seed}: {dimensions:?} on {worlds:?}");

        let found = evaluate(&worlds.iter().map(|world| world.trace(&Mask::whole(world))).collect::<Vec<_>>());
        let scores: Vec<[f64; 4]> = worlds.iter().map(sub_scores).collect();
        let counted = |name: &&str| dimensions.contains(name);
        let weakest = |scores: &[f64; 4]| {
            let counted = SUB_SCORES.iter().zip(scores).filter(|(name, _)| counted(name));
            counted.map(|(_, score)| *score).fold(1.0, f64::min)
        };
        let weakest: Vec<f64> = scores.iter().map(weakest).collect();
        let (runs, least) = (weakest.len() as f64, weakest.iter().copied().fold(1.0, f64::min));
        let mean = weakest.iter().sum::<f64>() / runs;
        let variance = weakest.iter().map(|score| (score - mean).powi(2)).sum::<f64>() / runs;
        let mut due = vec![("score", mean), ("weakest_score", least), ("variance", variance)];
        due.extend(between(&worlds));
        for (at, name) in SUB_SCORES.into_iter().enumerate() {
            due.push((name, scores.iter().map(|scores| scores[at]).fold(1.0, f64::min)));
        }
        assert_eq!(found.metrics.iter().count(), due.len(), "{}", context());
        for (name, due) in due {
            let value = found.metrics.number(name).unwrap();
            assert!(near(value, due), "{name} is {value}, expected {due}: {}", context());
        }
        let verdict = if least >= 0.5 { Verdict::Pass } else { Verdict::Fail };
        assert_eq!(found.verdict, verdict, "{}", context());

        // A metric with a value keeps it for every choice of the missing parts.
        let mut masks: Vec<Mask> = worlds.iter().map(|world| Mask::any(rng, world)).collect();
        // Arguments that are not JSON compare as the text they are.
        for shown in masks.iter_mut().flat_map(|mask| mask.calls.iter_mut().flatten()) {
            shown.is_broken = false;
        }
        let masked = worlds.iter().zip(&masks).map(|(world, mask)| world.trace(mask)).collect::<Vec<_>>();
        let found = evaluate(&masked);
        let mut others: Vec<World> =
            worlds.iter().zip(&masks).map(|(world, mask)| world.other(mask, rng, KIND)).collect();
        // Calls without a server count as calls of one server, another than any that is named.
        for (other, mask) in others.iter_mut().zip(&masks) {
            for (call, shown) in other.calls.iter_mut().zip(mask.calls.iter().flatten()) {
                if !shown.server {
                    call.server = "";
                }
            }
        }
        let mut due = between(&others).to_vec();
        for (at, name) in SUB_SCORES.into_iter().enumerate() {
            due.push((name, others.iter().map(|world| sub_scores(world)[at]).fold(1.0, f64::min)));
        }
        for (name, due) in due {
            if let Some(value) = found.metrics.number(name) {
                assert!(near(value, due), "{name} is {value}, may be {due}: {masks:?} {others:?} {}", context());
            }
        }
    });
}
