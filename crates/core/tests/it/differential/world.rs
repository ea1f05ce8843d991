//! Small runs with all evidence, and the parts that were recorded.

use mcptest_core::Trace;
use serde_json::{Map, Value, json};

use super::Rng;

pub(super) const NAMES: [&str; 3] = ["a", "b", "c"];
pub(super) const SERVERS: [&str; 2] = ["s", "t"];

/// What an injected fault did to a call.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Fault {
    pub(super) effect: &'static str,
    pub(super) ms: u64,
}

#[derive(Debug, Clone)]
pub(super) struct Answer {
    pub(super) failed: bool,
    pub(super) text: String,
    pub(super) structured: Option<Value>,
    pub(super) fault: Option<Fault>,
    /// How it failed, if it did.
    pub(super) error: &'static str,
    pub(super) duration_ms: u64,
}

#[derive(Debug, Clone)]
pub(super) struct Call {
    pub(super) name: &'static str,
    pub(super) server: &'static str,
    pub(super) args: Value,
    /// The assistant's turn that made it, counted among all turns.
    pub(super) turn: usize,
    pub(super) answer: Answer,
}

#[derive(Debug, Clone)]
pub(super) struct World {
    pub(super) calls: Vec<Call>,
    /// The assistant's turns; each is at twice its index among all turns, with a tool message in between.
    pub(super) texts: Vec<Option<String>>,
    pub(super) stop: &'static str,
    pub(super) tokens: u64,
}

/// What was recorded of a result.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Shown {
    All,
    /// Everything but whether it failed.
    NoFlag,
    /// Everything except its messages.
    NoContent,
    Nothing,
}

/// What was recorded of a call.
#[derive(Debug, Clone, Copy)]
#[expect(clippy::struct_excessive_bools, reason = "each part is recorded or not")]
pub(super) struct Recorded {
    pub(super) server: bool,
    pub(super) args: bool,
    /// Arguments are a text that is not JSON.
    pub(super) is_broken: bool,
    pub(super) turn: bool,
    pub(super) result: Shown,
}

/// What was recorded of a run.
#[derive(Debug, Clone)]
#[expect(clippy::struct_excessive_bools, reason = "each part is recorded or not")]
pub(super) struct Mask {
    pub(super) calls: Option<Vec<Recorded>>,
    /// The number of results; `None` without a list.
    pub(super) results: Option<usize>,
    pub(super) turns: bool,
    pub(super) answer: bool,
    pub(super) stop: bool,
    pub(super) tokens: bool,
}

/// How runs of a test look.
#[derive(Clone, Copy)]
pub(super) struct Kind {
    pub(super) calls: usize,
    /// Whether a call may belong to an earlier turn than the one listed before it.
    pub(super) turns_fall: bool,
    pub(super) args: fn(&mut Rng) -> Value,
    pub(super) answer: fn(&mut Rng) -> Answer,
}

pub(super) fn small_args(rng: &mut Rng) -> Value {
    let mut args = Map::new();
    if rng.chance(60) {
        args.insert("x".into(), json!(rng.below(3)));
    }
    if rng.chance(30) {
        args.insert("y".into(), rng.pick(&[json!("one"), json!("two"), json!(1), json!(null)]));
    }
    if rng.chance(25) {
        args.insert("l".into(), Value::Array(rng.several(3, |rng| json!(rng.below(2)))));
    }
    Value::Object(args)
}

pub(super) fn plain_answer(rng: &mut Rng) -> Answer {
    let failed = rng.chance(30);
    let structured = rng.maybe(30, |rng| rng.pick(&[json!({ "x": 1 }), json!({ "x": 2 }), json!([1])]));
    let text = rng.pick(&["one", "two", ""]).to_owned();
    Answer { failed, text, structured, fault: None, error: "tool", duration_ms: rng.below(3) as u64 * 100 }
}

impl World {
    pub(super) fn any(rng: &mut Rng, kind: Kind) -> Self {
        let count = rng.below(kind.calls + 1);
        let mut calls = Vec::new();
        let mut turn = 0;
        for at in 0..count {
            if kind.turns_fall && rng.chance(20) {
                turn = 2 * rng.below(kind.calls);
            } else if at > 0 && rng.chance(60) {
                turn += 2;
            }
            calls.push(Call {
                name: rng.pick(&NAMES),
                server: rng.pick(&SERVERS),
                args: (kind.args)(rng),
                turn,
                answer: (kind.answer)(rng),
            });
        }
        let mut world = Self {
            calls,
            texts: Vec::new(),
            stop: rng.pick(&["completed", "completed", "max_turns", "error"]),
            tokens: rng.pick(&[0, 100, 3_000, 9_000]),
        };
        world.speak(rng);
        world
    }

    /// Generates the assistant messages, in enough turns for all calls. A run that completed has a turn after them.
    fn speak(&mut self, rng: &mut Rng) {
        let last = self.turns_with_calls();
        let ended = self.stop == "completed";
        let turns = last + if ended { 1 } else { rng.below(2) };
        let text = |rng: &mut Rng| rng.maybe(80, |rng| rng.pick(&["", "ok", "done and dusted", "  "]).to_owned());
        self.texts = (0..turns).map(|_| text(rng)).collect();
    }

    /// How many assistant turns the calls need.
    fn turns_with_calls(&self) -> usize {
        self.calls.iter().map(|call| call.turn / 2 + 1).max().unwrap_or(0)
    }

    /// The text of the last message.
    pub(super) fn answer(&self) -> &str {
        self.texts.last().and_then(Option::as_deref).unwrap_or("")
    }

    /// The index of the last assistant's turn among all turns.
    pub(super) fn last_turn(&self) -> Option<usize> {
        self.texts.len().checked_sub(1).map(|at| at * 2)
    }

    pub(super) fn envelope(&self, mask: &Mask) -> Value {
        let mut out = json!({ "conversation": { "model": "m", "duration_ms": 5 } });
        if let Some(recorded) = &mask.calls {
            out["tool_calls"] = self.calls.iter().zip(recorded).map(|(call, shown)| call.json(*shown)).collect();
            if let Some(count) = mask.results {
                let results = self.calls.iter().zip(recorded).take(count);
                out["tool_results"] = results.map(|(call, shown)| call.answer.json(shown.result)).collect();
            }
        }
        if mask.answer {
            out["final_response"] = json!(self.answer());
        }
        if mask.turns {
            let mut turns = Vec::new();
            for (at, text) in self.texts.iter().enumerate() {
                if at > 0 {
                    turns.push(json!({ "role": "tool", "content": "result" }));
                }
                turns.push(json!({ "role": "assistant", "content": text }));
            }
            out["conversation"]["turns"] = json!(turns);
        }
        if mask.stop {
            out["conversation"]["stop_reason"] = json!(self.stop);
        }
        if mask.tokens {
            out["conversation"]["tokens"] =
                json!({ "total": self.tokens, "input": self.tokens, "output": 0, "cached": 0 });
        }
        out
    }

    pub(super) fn trace(&self, mask: &Mask) -> Trace {
        let envelope = self.envelope(mask);
        Trace::from_envelope(&envelope).unwrap_or_else(|error| panic!("{error}: {envelope}"))
    }

    /// Another run with the same recording.
    pub(super) fn other(&self, mask: &Mask, rng: &mut Rng, kind: Kind) -> Self {
        let mut other = self.clone();
        if !mask.tokens {
            other.tokens = rng.pick(&[0, 100, 3_000, 9_000]);
        }
        match &mask.calls {
            Some(recorded) => {
                for (at, call) in other.calls.iter_mut().enumerate() {
                    call.vary(recorded[at], mask.result(at), rng, kind);
                }
                other.vary_turns(mask, recorded, rng, kind);
            }
            // Unrecorded calls may have been anything, if there are turns for them.
            None if mask.turns => other.calls.clear(),
            None => other.calls = Self::any(rng, kind).calls,
        }
        if !mask.stop {
            let may_end = !mask.turns || other.texts.len() > other.turns_with_calls();
            other.stop = if may_end && rng.chance(50) { "completed" } else { rng.pick(&["max_turns", "error"]) };
        }
        if !mask.turns {
            let answer = self.answer().to_owned();
            other.speak(rng);
            if mask.answer {
                // The last message was recorded, so there was one.
                match other.texts.last_mut() {
                    Some(last) => *last = Some(answer),
                    None => other.texts.push(Some(answer)),
                }
            }
        }
        other
    }

    /// Makes up turns of calls that were recorded without.
    fn vary_turns(&mut self, mask: &Mask, recorded: &[Recorded], rng: &mut Rng, kind: Kind) {
        // A run that completed made no call in its last turn.
        let end = self.last_turn().unwrap_or(0).saturating_sub(if self.stop == "completed" { 2 } else { 0 });
        for at in 0..self.calls.len() {
            if recorded[at].turn {
                continue;
            }
            if kind.turns_fall {
                self.calls[at].turn = 2 * rng.below(end / 2 + 1);
                continue;
            }
            let least = if at == 0 { 0 } else { self.calls[at - 1].turn };
            let later = self.calls.iter().zip(recorded).skip(at + 1).find(|(_, shown)| shown.turn);
            let most = match later {
                Some((call, _)) => call.turn,
                None if mask.turns => end,
                None => end.max(least) + 2,
            };
            self.calls[at].turn = least + 2 * rng.below((most.max(least) - least) / 2 + 1);
        }
    }
}

impl Call {
    /// Makes up what was not recorded.
    fn vary(&mut self, shown: Recorded, result: Shown, rng: &mut Rng, kind: Kind) {
        if !shown.server {
            self.server = rng.pick(&SERVERS);
        }
        if !shown.args || shown.is_broken {
            self.args = (kind.args)(rng);
        }
        let made_up = (kind.answer)(rng);
        match result {
            Shown::Nothing => self.answer = made_up,
            Shown::All => {}
            Shown::NoFlag => {
                self.answer.failed = made_up.failed || self.answer.is_denied();
                self.answer.error = made_up.error;
            }
            Shown::NoContent => {
                self.answer.text = made_up.text;
                self.answer.structured = made_up.structured;
            }
        }
    }
}

impl Call {
    fn json(&self, shown: Recorded) -> Value {
        let mut out = json!({ "name": self.name });
        if shown.server {
            out["server"] = json!(self.server);
        }
        if shown.args {
            out["args"] = if shown.is_broken { json!("{\"x\": 1, \"y\"") } else { self.args.clone() };
        }
        if shown.turn {
            out["turn"] = json!(self.turn);
        }
        out
    }
}

impl Answer {
    /// Whether the agent was denied an answer.
    pub(super) fn is_denied(&self) -> bool {
        self.fault.is_some_and(|fault| fault.effect != "delay")
    }

    fn json(&self, shown: Shown) -> Value {
        if shown == Shown::Nothing {
            return Value::Null;
        }
        let mut out = json!({ "duration_ms": self.duration_ms });
        if shown != Shown::NoFlag {
            out["is_error"] = json!(self.failed);
            // Whoever leaves the flag out leaves out how it failed.
            if self.failed {
                out["error"] = json!({ "kind": self.error, "message": "no" });
            }
        }
        if shown != Shown::NoContent {
            out["content"] = json!([{ "type": "text", "text": self.text }]);
            if let Some(structured) = &self.structured {
                out["structured_content"] = structured.clone();
            }
        }
        if let Some(fault) = self.fault {
            out["fault"] = json!({ "name": "f", "kind": "slow", "effect": fault.effect, "ms": fault.ms });
        }
        out
    }
}

impl Mask {
    /// Everything was recorded.
    pub(super) fn whole(world: &World) -> Self {
        let all = Recorded { server: true, args: true, is_broken: false, turn: true, result: Shown::All };
        Self {
            calls: Some(vec![all; world.calls.len()]),
            results: Some(world.calls.len()),
            turns: true,
            answer: true,
            stop: true,
            tokens: true,
        }
    }

    /// Parts were left out.
    pub(super) fn any(rng: &mut Rng, world: &World) -> Self {
        let mut mask = Self::whole(world);
        let hidden = rng.pick(&[5, 20, 50]);
        for shown in mask.calls.iter_mut().flatten() {
            shown.server = !rng.chance(hidden);
            shown.args = !rng.chance(hidden);
            shown.is_broken = rng.chance(hidden / 4);
            shown.turn = !rng.chance(hidden);
            if rng.chance(hidden) {
                shown.result = rng.pick(&[Shown::NoFlag, Shown::NoContent, Shown::Nothing]);
            }
        }
        if rng.chance(10) {
            mask.results = rng.maybe(70, |rng| rng.below(world.calls.len() + 1));
        }
        if rng.chance(3) {
            (mask.calls, mask.results) = (None, None);
        }
        mask.turns = !rng.chance(15);
        // The last turn shows the answer.
        mask.answer = mask.turns || !rng.chance(30);
        mask.stop = !rng.chance(10);
        mask.tokens = !rng.chance(15);
        mask
    }

    pub(super) fn call(&self, at: usize) -> Recorded {
        self.calls.as_ref().unwrap()[at]
    }

    /// What was recorded of a result.
    pub(super) fn result(&self, at: usize) -> Shown {
        if self.results.is_some_and(|count| at < count) { self.call(at).result } else { Shown::Nothing }
    }
}
