//! `recovery` by hand.

use mcptest_core::Verdict;
use mcptest_core::eval::{FaultScope, RecoveryGate, RecoveryParams};
use serde_json::{Value, json};

use super::world::{Answer, Fault, Kind, Mask, Shown, World, plain_answer, small_args};
use super::{Rng, assert_sound, each_case};

const KIND: Kind = Kind { calls: 5, turns_fall: false, args: small_args, answer: faulted_answer };

fn faulted_answer(rng: &mut Rng) -> Answer {
    let mut answer = plain_answer(rng);
    answer.fault = rng.maybe(35, |rng| {
        let effect = rng.pick(&["timeout", "error", "delay"]);
        let ms = if effect == "error" { 0 } else { rng.pick(&[100, 3_000, 9_000]) };
        Fault { effect, ms }
    });
    answer.failed |= answer.is_denied();
    answer.error = rng.pick(&["tool", "timeout", "transport", "jsonrpc", "http", "fault"]);
    answer
}

fn any_gate(rng: &mut Rng) -> RecoveryParams {
    RecoveryParams {
        max_detection_ms: rng.pick(&[100, 3_000]),
        max_recovery_ms: rng.maybe(40, |rng| rng.pick(&[0, 100, 3_000, 6_000])),
        require_clean_timeout: rng.chance(40),
        require_hit: rng.chance(60),
        require_call: rng.chance(50),
        faults: rng.pick(&[FaultScope::Injected, FaultScope::Any]),
        ..RecoveryParams::default()
    }
}

/// What happened to a run, in virtual time.
struct Course {
    hits: usize,
    delays: usize,
    detected: Option<u64>,
    recovered: Option<u64>,
    /// A call of a later turn than the first denied one succeeded.
    by_call: bool,
}

/// Whether a call broke without a fault that was injected, and that counts.
fn broke(params: &RecoveryParams, answer: &Answer) -> bool {
    let kinds = ["timeout", "transport", "jsonrpc", "http"];
    params.faults == FaultScope::Any && answer.failed && !answer.is_denied() && kinds.contains(&answer.error)
}

/// Whether a call met a fault that leaves it without an answer.
fn is_hit(params: &RecoveryParams, answer: &Answer) -> bool {
    answer.is_denied() || broke(params, answer)
}

fn course(params: &RecoveryParams, world: &World) -> Course {
    let cost = |answer: &Answer| {
        answer.fault.map_or(0, |fault| fault.ms) + if broke(params, answer) { answer.duration_ms } else { 0 }
    };
    let clock_after = |last: usize| world.calls.iter().take(last + 1).map(|call| cost(&call.answer)).sum::<u64>();
    let first = world.calls.iter().position(|call| is_hit(params, &call.answer));
    let is_delay = |answer: &Answer| answer.fault.is_some_and(|fault| fault.effect == "delay");
    let acted_again =
        |hit: usize| world.stop == "completed" || world.last_turn().is_some_and(|turn| turn > world.calls[hit].turn);
    let ended = world.stop == "completed" && !world.answer().trim().is_empty();
    Course {
        hits: world.calls.iter().filter(|call| is_hit(params, &call.answer)).count(),
        delays: world.calls.iter().filter(|call| is_delay(&call.answer)).count(),
        detected: first.filter(|hit| acted_again(*hit)).map(clock_after),
        recovered: ended.then(|| clock_after(world.calls.len())),
        by_call: first.is_some_and(|hit| {
            world.calls[hit + 1..].iter().any(|call| call.turn > world.calls[hit].turn && !call.answer.failed)
        }),
    }
}

/// Whether a limit other than that of `require_call` is broken, or the run did not recover.
fn is_broken(params: &RecoveryParams, course: &Course) -> bool {
    let late = params.max_recovery_ms.is_some_and(|most| course.recovered.is_none_or(|ms| ms > most));
    let unclean = params.require_clean_timeout
        && course.hits > 0
        && course.detected.is_none_or(|ms| ms > params.max_detection_ms);
    let unmet = params.require_hit && course.hits + course.delays == 0;
    course.recovered.is_none() || late || unclean || unmet
}

fn verdict(params: &RecoveryParams, world: &World) -> Verdict {
    let course = course(params, world);
    let lacks_call = params.require_call && course.hits > 0 && !course.by_call;
    if is_broken(params, &course) || lacks_call { Verdict::Fail } else { Verdict::Pass }
}

fn metrics(params: &RecoveryParams, world: &World) -> Value {
    let course = course(params, world);
    let hang = [course.detected, course.recovered].into_iter().flatten().min();
    let mut out = json!({
        "passed": u8::from(verdict(params, world) == Verdict::Pass),
        "recovered": u8::from(course.recovered.is_some()),
        "recovered_by_call": u8::from(course.by_call),
        "clean_timeout": u8::from(course.detected.is_some_and(|ms| ms <= params.max_detection_ms)),
        "fault_hits": course.hits,
        "fault_delays": course.delays,
        "user_visible_hang_ms": hang.unwrap_or(params.max_detection_ms),
    });
    for (name, value) in [("time_to_detection_ms", course.detected), ("time_to_recovery_ms", course.recovered)] {
        if let Some(value) = value {
            out[name] = json!(value);
        }
    }
    out
}

/// What the rules about missing evidence give.
fn due(params: &RecoveryParams, world: &World, mask: &Mask) -> Verdict {
    let is_missing = |at: usize| mask.result(at) == Shown::Nothing;
    if mask.calls.is_none()
        || !mask.stop
        || world.stop == "completed" && !mask.answer
        || (0..world.calls.len()).any(is_missing)
    {
        return Verdict::Unassessable;
    }
    // Under `any`, a result without its flag may be a hit.
    let is_open = |at: usize| {
        params.faults == FaultScope::Any && mask.result(at) == Shown::NoFlag && !world.calls[at].answer.is_denied()
    };
    let first = (0..world.calls.len()).find(|at| !is_open(*at) && is_hit(params, &world.calls[*at].answer));
    if (0..first.unwrap_or(world.calls.len())).any(is_open) {
        return Verdict::Unassessable;
    }
    if let Some(hit) = first.filter(|_| world.stop != "completed") {
        // Whether the agent acted again: by its turns, or by a later call.
        let is_timed = mask.call(hit).turn;
        let shows_later =
            (hit + 1..world.calls.len()).any(|at| mask.call(at).turn && world.calls[at].turn > world.calls[hit].turn);
        if !is_timed || !mask.turns && !shows_later {
            return Verdict::Unassessable;
        }
    }
    // The least that the calls may have cost.
    let mut least = world.clone();
    for at in (0..world.calls.len()).filter(|at| is_open(*at)) {
        least.calls[at].answer.failed = false;
    }
    if is_broken(params, &course(params, &least)) {
        return Verdict::Fail;
    }
    let may_be_late = params.max_recovery_ms.is_some() && (0..world.calls.len()).any(is_open);
    let otherwise = if may_be_late { Verdict::Unassessable } else { Verdict::Pass };
    let Some(hit) = first.filter(|_| params.require_call) else { return otherwise };
    // For each later call: yes, no, or unknown.
    let later = (hit + 1..world.calls.len()).map(|at| {
        let order = (mask.call(hit).turn && mask.call(at).turn).then(|| world.calls[at].turn > world.calls[hit].turn);
        let answer = &world.calls[at].answer;
        let is_reported = mask.result(at) != Shown::NoFlag || answer.is_denied();
        let success = is_reported.then_some(!answer.failed);
        match (order, success) {
            (Some(true), Some(true)) => Some(true),
            (Some(false), _) | (_, Some(false)) => Some(false),
            _ => None,
        }
    });
    let later: Vec<_> = later.collect();
    if later.contains(&Some(true)) {
        otherwise
    } else if later.contains(&None) {
        Verdict::Unassessable
    } else {
        Verdict::Fail
    }
}

#[test]
fn recovery_agrees_with_brute_force() {
    each_case(|seed, rng| {
        let world = World::any(rng, KIND);
        let params = any_gate(rng);
        let gate = RecoveryGate::new(params.clone()).unwrap();
        let context = || format!("case {seed}: {params:?} on {world:?}");

        let found = gate.evaluate(&world.trace(&Mask::whole(&world)));
        let whole = (verdict(&params, &world), metrics(&params, &world));
        assert_eq!((found.verdict, found.metrics.object()), whole, "{}", context());

        let mask = Mask::any(rng, &world);
        let found = gate.evaluate(&world.trace(&mask)).verdict;
        assert_eq!(found, due(&params, &world, &mask), "{mask:?} {}", context());
        for _ in 0..3 {
            let other = world.other(&mask, rng, KIND);
            assert_sound(found, verdict(&params, &other), &|| format!("{mask:?} {other:?} {}", context()));
        }
    });
}
