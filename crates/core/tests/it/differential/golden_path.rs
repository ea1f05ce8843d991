//! `golden_path` by counting.

use mcptest_core::Verdict;
use mcptest_core::eval::{GoldenPath, GoldenPathGate};
use serde_json::json;

use super::world::{Kind, Mask, NAMES, World, plain_answer, small_args};
use super::{Rng, assert_sound, each_case};

const KIND: Kind = Kind { calls: 6, turns_fall: false, args: small_args, answer: plain_answer };

fn any_gate(rng: &mut Rng) -> GoldenPath {
    GoldenPath {
        calls: rng.several(4, |rng| rng.pick(&NAMES).to_owned()),
        allow_extra_steps: rng.chance(50),
        penalize_backtracking: rng.chance(50),
        penalize_repeated_tools: rng.chance(50),
    }
}

/// Extra steps, backtracks, repeated tools.
fn counts(golden: &GoldenPath, world: &World) -> [usize; 3] {
    let names: Vec<&str> = world.calls.iter().map(|call| call.name).collect();
    let at = |at: usize| (at > 0).then(|| names[at - 1]);
    let repeated = (0..names.len()).filter(|i| at(*i) == Some(names[*i])).count();
    let backtracks = (0..names.len()).filter(|i| names[..*i].contains(&names[*i]) && at(*i) != Some(names[*i])).count();
    let extra = if names.len() > golden.calls.len() { names.len() - golden.calls.len() } else { 0 };
    [extra, backtracks, repeated]
}

fn waste(golden: &GoldenPath, counts: [usize; 3]) -> usize {
    let costs = [!golden.allow_extra_steps, golden.penalize_backtracking, golden.penalize_repeated_tools];
    counts.into_iter().zip(costs).filter(|(_, costs)| *costs).map(|(count, _)| count).sum()
}

#[test]
fn golden_path_agrees_with_brute_force() {
    each_case(|seed, rng| {
        let world = World::any(rng, KIND);
        let golden = any_gate(rng);
        let gate = GoldenPathGate::new(golden.clone().into()).unwrap();
        let verdict = |world: &World| {
            if waste(&golden, counts(&golden, world)) == 0 { Verdict::Pass } else { Verdict::Fail }
        };
        let context = || format!("case {seed}: {golden:?} on {world:?}");

        let found = gate.evaluate(&world.trace(&Mask::whole(&world)));
        let [extra, backtracks, repeated] = counts(&golden, &world);
        let waste = waste(&golden, [extra, backtracks, repeated]);
        let due = json!({
            "extra_steps": extra, "backtracks": backtracks, "repeated_tools": repeated,
            "passed": u8::from(waste == 0), "penalty": 2.0 / (2 + waste) as f64,
        });
        assert_eq!((found.verdict, found.metrics.object()), (verdict(&world), due), "{}", context());

        // Only names count, so every gap but one leaves the verdict what it is.
        let mask = Mask::any(rng, &world);
        let found = gate.evaluate(&world.trace(&mask)).verdict;
        let due = if mask.calls.is_some() { verdict(&world) } else { Verdict::Unassessable };
        assert_eq!(found, due, "{mask:?} {}", context());
        let other = world.other(&mask, rng, KIND);
        assert_sound(found, verdict(&other), &context);
    });
}
