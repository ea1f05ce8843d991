//! `trajectory_axes` by looking at every pair of calls.

use mcptest_core::Verdict;
use mcptest_core::eval::{DependencyEdge, Expect, OrderEdge, TrajectoryAxesGate, TrajectoryAxesParams};
use serde_json::{Value, json};

use super::world::{Answer, Call, Kind, Mask, NAMES, World};
use super::{Rng, assert_sound, each_case};

const KIND: Kind = Kind { calls: 6, turns_fall: false, args, answer };

fn args(rng: &mut Rng) -> Value {
    let value = rng.pick(&[json!(7), json!(123), json!("abc"), json!("r-1"), json!(true), json!("")]);
    if rng.chance(85) { json!({ "v": value }) } else { json!({}) }
}

fn answer(rng: &mut Rng) -> Answer {
    let text = rng.pick(&["", "got abc of 123", "abcd 1,123 x-r-1", "7", "see r-1.", "123"]).to_owned();
    let structured =
        rng.maybe(30, |rng| rng.pick(&[json!({ "x": 7 }), json!([{ "y": "abc" }, 7.0]), json!({ "z": 123 })]));
    Answer { failed: rng.chance(25), text, structured, fault: None, error: "tool", duration_ms: 0 }
}

fn any_gate(rng: &mut Rng) -> TrajectoryAxesParams {
    let pair = |rng: &mut Rng| {
        let first = rng.below(3);
        (NAMES[first].to_owned(), NAMES[(first + 1 + rng.below(2)) % 3].to_owned())
    };
    TrajectoryAxesParams {
        dependencies: rng.several(2, |rng| {
            let (producer, consumer) = pair(rng);
            DependencyEdge { producer, consumer, via: rng.maybe(60, |_| "v".to_owned()), required: rng.chance(30) }
        }),
        order: rng.several(2, |rng| {
            let (first, second) = pair(rng);
            OrderEdge { first, second, required: rng.chance(30) }
        }),
        expect: Expect::Default,
    }
}

/// Whether an answer has a value: as a scalar of its JSON, as a whole text, or as a word of at least three characters.
fn shows(answer: &Answer, value: &Value) -> bool {
    fn scalars<'v>(value: &'v Value, out: &mut Vec<&'v Value>) {
        match value {
            Value::Array(items) => items.iter().for_each(|item| scalars(item, out)),
            Value::Object(entries) => entries.values().for_each(|value| scalars(value, out)),
            other => out.push(other),
        }
    }
    let mut found = Vec::new();
    answer.structured.iter().for_each(|value| scalars(value, &mut found));
    let same = |other: &&Value| *other == value || (value.is_number() && other.as_f64() == value.as_f64());
    let word = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    let mut words = answer.text.split(' ').map(|word| word.trim_end_matches('.'));
    found.iter().any(same) || answer.text == word || (word.len() >= 3 && words.any(|other| other == word))
}

fn is_proved(world: &World, at: usize, producer: &str, via: Option<&str>) -> bool {
    let consumer = &world.calls[at];
    let earlier = |call: &&Call| call.name == producer;
    let Some(via) = via else { return world.calls[..at].iter().any(|call| earlier(&call)) };
    let Some(value) = consumer.args.get(via).filter(|value| !value.is_boolean() && **value != json!("")) else {
        return false;
    };
    let good = |call: &&Call| call.turn < consumer.turn && !call.answer.failed;
    world.calls[..at].iter().filter(earlier).filter(good).any(|call| shows(&call.answer, value))
}

/// For each edge whether it holds, and whether it was exercised.
fn edges(params: &TrajectoryAxesParams, world: &World) -> (Vec<bool>, Vec<bool>, usize) {
    let mut exercised = 0;
    let mut edge = |first: &str, second: &str, via: Option<&str>, required: bool| {
        let places: Vec<usize> = (0..world.calls.len()).filter(|at| world.calls[*at].name == second).collect();
        exercised += usize::from(!places.is_empty());
        if places.is_empty() { !required } else { places.iter().all(|at| is_proved(world, *at, first, via)) }
    };
    let data = params.dependencies.iter();
    let data = data.map(|e| edge(&e.producer, &e.consumer, e.via.as_deref(), e.required)).collect();
    let order = params.order.iter().map(|e| edge(&e.first, &e.second, None, e.required)).collect();
    (data, order, exercised)
}

fn percent(held: &[bool]) -> usize {
    if held.is_empty() { 100 } else { held.iter().filter(|held| **held).count() * 100 / held.len() }
}

#[test]
fn trajectory_axes_agrees_with_the_brute_force() {
    each_case(|seed, rng| {
        let world = World::any(rng, KIND);
        let params = any_gate(rng);
        let gate = TrajectoryAxesGate::new(params.clone()).unwrap();
        let context = || format!("case {seed}: {params:?} on {world:?}");
        let verdict = |world: &World| {
            let (data, order, _) = edges(&params, world);
            if data.iter().chain(&order).all(|held| *held) { Verdict::Pass } else { Verdict::Fail }
        };
        let (data, order, exercised) = edges(&params, &world);
        let due = json!({
            "dependency_satisfaction": percent(&data),
            "order_satisfaction": percent(&order),
            "edges_exercised": exercised,
        });
        let found = gate.evaluate(&world.trace(&Mask::whole(&world)));
        assert_eq!((found.verdict, found.metrics.object()), (verdict(&world), due), "{}", context());

        let mask = Mask::any(rng, &world);
        let found = gate.evaluate(&world.trace(&mask)).verdict;
        for _ in 0..4 {
            let other = world.other(&mask, rng, KIND);
            assert_sound(found, verdict(&other), &|| format!("{mask:?} {other:?} {}", context()));
        }
    });
}
