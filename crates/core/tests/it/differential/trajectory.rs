//! `trajectory` by trying every pairing of expectations and calls.

use mcptest_core::Verdict;
use mcptest_core::eval::{
    CallRule, ExpectedArgs, ExpectedCall, MatchMode, StatusRule, TrajectoryGate, TrajectoryParams, WithinTurn,
};
use serde_json::{Map, Value, json};

use super::world::{Call, Kind, Mask, NAMES, SERVERS, Shown, World, plain_answer, small_args};
use super::{Rng, assert_sound, each_case};

const KIND: Kind = Kind { calls: 4, turns_fall: true, args: small_args, answer: plain_answer };

#[derive(Debug, Clone)]
enum Shape {
    Any,
    Ignore,
    Exact(Value),
    /// With `/y` left out on both sides.
    ExactButY(Value),
    Subset(Value),
    /// A schema: `x` is there and at least this.
    AtLeast(u64),
    /// A matcher: `x` is this.
    MatchX(u64),
    /// A matcher: `y` is a text or list without this.
    MatchNotY(&'static str),
}

#[derive(Debug, Clone)]
struct Want {
    name: &'static str,
    server: Option<&'static str>,
    shape: Shape,
    status: StatusRule,
    optional: bool,
}

#[derive(Debug, Clone)]
struct Reference {
    mode: MatchMode,
    within_turn: WithinTurn,
    max_extra: Option<usize>,
    wants: Vec<Want>,
}

fn any_want(rng: &mut Rng) -> Want {
    let shape = match rng.below(10) {
        0..3 => Shape::Any,
        3 => Shape::Ignore,
        4 => Shape::Exact(small_args(rng)),
        5 => Shape::ExactButY(small_args(rng)),
        6 => Shape::Subset(small_args(rng)),
        7 => Shape::AtLeast(rng.below(3) as u64),
        8 => Shape::MatchX(rng.below(3) as u64),
        _ => Shape::MatchNotY(rng.pick(&["one", "o", "x"])),
    };
    Want {
        name: rng.pick(&NAMES[..2]),
        server: rng.maybe(20, |rng| rng.pick(&SERVERS)),
        shape,
        status: rng.pick(&[StatusRule::Any, StatusRule::Any, StatusRule::Ok, StatusRule::Error]),
        optional: rng.chance(25),
    }
}

fn any_reference(rng: &mut Rng) -> Reference {
    let mode = rng.pick(MatchMode::ALL);
    let takes_extra = !matches!(mode, MatchMode::Strict | MatchMode::Subset);
    let has_order = matches!(mode, MatchMode::Strict | MatchMode::Subsequence);
    Reference {
        mode,
        within_turn: if has_order && rng.chance(40) { WithinTurn::AnyOrder } else { WithinTurn::Ordered },
        max_extra: rng.maybe(30, |rng| rng.below(3)).filter(|_| takes_extra),
        wants: rng.several(4, any_want),
    }
}

fn compile(reference: &Reference) -> TrajectoryGate {
    let rule = |want: &Want| {
        let mut ignore_args = Vec::new();
        let matching = |key: &str, matcher: Value| ExpectedArgs::Match(Map::from_iter([(key.to_owned(), matcher)]));
        let args = match &want.shape {
            Shape::Any => ExpectedArgs::Any,
            Shape::Ignore => ExpectedArgs::Ignore,
            Shape::Exact(value) => ExpectedArgs::Exact(value.clone()),
            Shape::ExactButY(value) => {
                ignore_args.push("/y".to_owned());
                ExpectedArgs::Exact(value.clone())
            }
            Shape::Subset(value) => ExpectedArgs::Subset(value.clone()),
            Shape::AtLeast(least) => {
                ExpectedArgs::Schema(json!({ "required": ["x"], "properties": { "x": { "minimum": least } } }))
            }
            Shape::MatchX(value) => matching("x", json!({ "exact": value })),
            Shape::MatchNotY(part) => matching("y", json!({ "not": { "contains": part } })),
        };
        CallRule {
            server: want.server.map(str::to_owned),
            optional: want.optional,
            status: Some(want.status),
            ignore_args,
            ..ExpectedCall { name: want.name.to_owned(), args }.into()
        }
    };
    TrajectoryGate::new(TrajectoryParams {
        mode: reference.mode,
        within_turn: reference.within_turn,
        max_extra: reference.max_extra,
        calls: reference.wants.iter().map(rule).collect(),
        ..TrajectoryParams::default()
    })
    .unwrap_or_else(|problems| panic!("{problems}"))
}

/// Whether every item of a list matches a separate item of the other.
fn is_bag_within(want: &[Value], got: &[Value]) -> bool {
    let Some((first, rest)) = want.split_first() else { return true };
    (0..got.len()).any(|at| {
        let left: Vec<Value> = got.iter().enumerate().filter(|(i, _)| *i != at).map(|(_, item)| item.clone()).collect();
        *first == got[at] && is_bag_within(rest, &left)
    })
}

fn args_fit(shape: &Shape, args: &Value) -> bool {
    let without_y = |value: &Value| {
        let mut value = value.clone();
        value.as_object_mut().unwrap().remove("y");
        value
    };
    match shape {
        Shape::Any | Shape::Ignore => true,
        Shape::Exact(value) => value == args,
        Shape::ExactButY(value) => without_y(value) == without_y(args),
        Shape::Subset(value) => value.as_object().unwrap().iter().all(|(key, want)| match (want, args.get(key)) {
            (_, None) => false,
            (Value::Array(want), Some(Value::Array(got))) => is_bag_within(want, got),
            (want, Some(got)) => want == got,
        }),
        Shape::AtLeast(least) => args.get("x").is_some_and(|x| x.as_u64().unwrap() >= *least),
        Shape::MatchX(value) => args.get("x").is_some_and(|x| x.as_u64().unwrap() == *value),
        // A number or null has no substring.
        Shape::MatchNotY(part) => args.get("y").and_then(Value::as_str).is_some_and(|y| !y.contains(part)),
    }
}

/// Whether an expectation fits a call, by its recorded parts: yes, no, or unknown.
fn fits(want: &Want, call: &Call, recorded: (bool, bool, bool)) -> Option<bool> {
    let (server, args, status) = recorded;
    let parts = [
        Some(want.name == call.name),
        match want.server {
            None => Some(true),
            Some(due) => server.then_some(due == call.server),
        },
        match want.status {
            StatusRule::Any => Some(true),
            StatusRule::Ok => status.then_some(!call.answer.failed),
            StatusRule::Error => status.then_some(call.answer.failed),
        },
        match want.shape {
            Shape::Any | Shape::Ignore => Some(true),
            _ => args.then(|| args_fit(&want.shape, &call.args)),
        },
    ];
    if parts.contains(&Some(false)) {
        Some(false)
    } else if parts.contains(&None) {
        None
    } else {
        Some(true)
    }
}

/// Numbers the turns: a turn is a stretch of calls with the same number.
fn stretches(calls: usize, shared: impl Fn(usize, usize) -> bool) -> Vec<usize> {
    let mut turn = 0;
    let number = |at: usize| {
        turn += usize::from(at > 0 && !shared(at - 1, at));
        turn
    };
    (0..calls).map(number).collect()
}

/// `table[expectation][call]` says which may meet; `turns` which calls may change places.
fn fewest(reference: &Reference, table: &[Vec<bool>], calls: usize, turns: &[usize]) -> usize {
    let is_plain = reference.wants.iter().all(|want| !want.optional);
    let mut best = usize::MAX;
    for order in orders(reference, calls, turns) {
        let cost = match reference.mode {
            MatchMode::Strict if reference.wants.is_empty() => 0,
            MatchMode::Strict if is_plain => {
                let both = reference.wants.len().min(calls);
                let wrong = (0..both).filter(|at| !table[*at][order[*at]]).count();
                wrong + reference.wants.len().abs_diff(calls)
            }
            _ => cheapest(reference, table, &order, 0, &mut vec![None; reference.wants.len()]),
        };
        best = best.min(cost);
    }
    best
}

/// The possible orders of the calls.
fn orders(reference: &Reference, calls: usize, turns: &[usize]) -> Vec<Vec<usize>> {
    if reference.within_turn == WithinTurn::Ordered {
        return vec![(0..calls).collect()];
    }
    let mut out = vec![Vec::new()];
    for place in 0..calls {
        let mut longer = Vec::new();
        for order in &out {
            for call in 0..calls {
                // A call of the turn at this position.
                if turns[call] == turns[place] && !order.contains(&call) {
                    longer.push([order.as_slice(), &[call]].concat());
                }
            }
        }
        out = longer;
    }
    out
}

fn cheapest(
    reference: &Reference,
    table: &[Vec<bool>],
    order: &[usize],
    at: usize,
    pairing: &mut Vec<Option<usize>>,
) -> usize {
    let Reference { mode, wants, max_extra, .. } = reference;
    if at == wants.len() {
        let missing = pairing.iter().zip(wants).filter(|(call, want)| call.is_none() && !want.optional).count();
        let left = order.len() - pairing.iter().flatten().count();
        return match mode {
            MatchMode::Strict => missing + left,
            MatchMode::Subset => left,
            _ => missing + max_extra.map_or(0, |most| left.saturating_sub(most)),
        };
    }
    let in_order = matches!(mode, MatchMode::Strict | MatchMode::Subsequence);
    let from = if in_order { pairing[..at].iter().flatten().max().map_or(0, |last| last + 1) } else { 0 };
    let mut best = cheapest(reference, table, order, at + 1, pairing);
    for place in from..order.len() {
        if table[at][order[place]] && !pairing[..at].contains(&Some(place)) {
            pairing[at] = Some(place);
            best = best.min(cheapest(reference, table, order, at + 1, pairing));
            pairing[at] = None;
        }
    }
    best
}

/// Mismatches when everything is known.
fn mismatches(reference: &Reference, world: &World) -> usize {
    let known = (true, true, true);
    let row = |want: &Want| world.calls.iter().map(|call| fits(want, call, known) == Some(true)).collect();
    let table: Vec<Vec<bool>> = reference.wants.iter().map(row).collect();
    let turns = stretches(world.calls.len(), |a, b| world.calls[a].turn == world.calls[b].turn);
    fewest(reference, &table, world.calls.len(), &turns)
}

/// What the rules about missing evidence give.
fn due(reference: &Reference, world: &World, mask: &Mask) -> Verdict {
    if mask.calls.is_none() {
        return Verdict::Unassessable;
    }
    let known = |at: usize| {
        let shown = mask.call(at);
        (shown.server, shown.args, matches!(mask.result(at), Shown::All | Shown::NoContent))
    };
    let table = |counts: fn(Option<bool>) -> bool| -> Vec<Vec<bool>> {
        let row = |want: &Want| {
            world.calls.iter().enumerate().map(|(at, call)| counts(fits(want, call, known(at)))).collect()
        };
        reference.wants.iter().map(row).collect()
    };
    let count = world.calls.len();
    // A call of an unknown turn shares it with neither neighbor, or with both. It may be another turn also between two calls
    // of the same one, because turns may fall.
    let same = |a: usize, b: usize| world.calls[a].turn == world.calls[b].turn;
    let are_known = |a: usize, b: usize| mask.call(a).turn && mask.call(b).turn;
    let apart = stretches(count, |a, b| are_known(a, b) && same(a, b));
    let together = stretches(count, |a, b| !are_known(a, b) || same(a, b));
    if fewest(reference, &table(|fit| fit == Some(true)), count, &apart) == 0 {
        Verdict::Pass
    } else if fewest(reference, &table(|fit| fit != Some(false)), count, &together) == 0 {
        Verdict::Unassessable
    } else {
        Verdict::Fail
    }
}

#[test]
fn trajectory_agrees_with_brute_force() {
    each_case(|seed, rng| {
        let world = World::any(rng, KIND);
        let reference = any_reference(rng);
        let gate = compile(&reference);
        let context = || format!("case {seed}: {reference:?} on {world:?}");
        let verdict = |world: &World| if mismatches(&reference, world) == 0 { Verdict::Pass } else { Verdict::Fail };

        let found = gate.evaluate(&world.trace(&Mask::whole(&world)));
        let count = mismatches(&reference, &world);
        let metrics = json!({ "passed": u8::from(count == 0), "mismatch_count": count });
        assert_eq!((found.verdict, found.metrics.object()), (verdict(&world), metrics), "{}", context());

        let mut mask = Mask::any(rng, &world);
        // A text in the place of arguments is what the model sent: it matches no expectation about arguments.
        mask.calls.iter_mut().flatten().for_each(|shown| shown.is_broken = false);
        let found = gate.evaluate(&world.trace(&mask)).verdict;
        assert_eq!(found, due(&reference, &world, &mask), "{mask:?} {}", context());
        for _ in 0..3 {
            let other = world.other(&mask, rng, KIND);
            assert_sound(found, verdict(&other), &|| format!("{mask:?} {other:?} {}", context()));
        }
    });
}
