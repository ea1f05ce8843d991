//! The trace of a program, derived from its ledgers, against what the script of the program says.
//!
//! A script defines what the model requests, what the program does with it and what the servers answer. `play` writes down what
//! would pass on the wire, in one of the four model interfaces, and what the trace must be. It shares no code with the
//! derivation.

mod play;
mod script;
mod wire;

use std::collections::BTreeMap;

use mcptest_core::ledger::{self, Ledger, ProgramEnd};
use mcptest_core::redact::Redactor;
use mcptest_core::trace::{Trace, Turn};
use serde_json::{Value, json};

use super::{Rng, number};
use play::Played;
use script::{Answer, Does};

/// Conversations in the usual tests.
const FEW: u64 = 200;

fn check(seed: u64) {
    let script = script::random(&mut Rng(seed));
    let Played { ledger, truth } = play::play(&script, &mut Rng(seed ^ 0x5eed));
    let end = ProgramEnd { answer: script.answer.clone(), exit: Some(0), ..ProgramEnd::default() };
    let derived = ledger::trace(&ledger, end.clone());
    let context = || format!("seed {seed}, {:?}\n{}\n{:#?}", script, ledger.to_lines(), derived.notes);
    let (found, expected) = (shown(&derived.trace), shown(&truth));
    if found != expected {
        let both = found.lines().zip(expected.lines()).enumerate();
        let first: Vec<String> = both
            .filter(|(_, (found, expected))| found != expected)
            .map(|(line, (found, expected))| format!("line {line}: {found} | expected {expected}"))
            .take(8)
            .collect();
        panic!("{}\n{}\n{}", context(), first.join("\n"), found);
    }
    assert!(!derived.model_unseen);
    // Writing, reading and redacting change nothing of it.
    let read = Ledger::read(&ledger.to_lines()).unwrap();
    assert_eq!(ledger::trace(&read, end.clone()).trace, derived.trace, "{}", context());
    let redacted = ledger.clone().redacted(&Redactor::new([]));
    assert_eq!(ledger::trace(&redacted, end).trace, derived.trace, "{}", context());
}

/// Everything but the timeline, so that a difference is easy to see.
fn shown(trace: &Trace) -> String {
    let mut envelope = trace.to_envelope();
    envelope["program"]["timeline"] = Value::Null;
    let turns = trace
        .conversation
        .turns
        .as_ref()
        .map(|turns| turns.iter().map(|Turn { role, content }| json!([role, content])).collect::<Vec<_>>());
    envelope["conversation"]["turns"] = json!(turns);
    mcptest_core::json::pretty(&envelope)
}

#[test]
fn the_trace_derived_from_ledgers_matches_the_script() {
    let start = number("DIFFERENTIAL_SEED", 0);
    // A conversation costs about twenty times as much as a case of a gate.
    for seed in start..start + (number("DIFFERENTIAL_CASES", FEW) / 20).max(FEW) {
        check(seed);
    }
}

/// How many of the usual conversations have each of the variations that clients, models and servers are known for.
#[test]
fn the_conversations_have_every_variation() {
    let mut counts: BTreeMap<String, usize> = BTreeMap::new();
    for seed in 0..FEW {
        let script = script::random(&mut Rng(seed));
        let turns: Vec<_> = script.agents.iter().flat_map(|agent| &agent.turns).collect();
        let calls: Vec<&Does> = turns.iter().flat_map(|turn| &turn.calls).map(|call| &call.does).collect();
        let executed = |test: &dyn Fn(&[Answer], bool) -> bool| {
            let is_one = |does: &&Does| match does {
                Does::Execute { tries, sent, .. } => test(tries, sent.is_some()),
                _ => false,
            };
            calls.iter().any(is_one)
        };
        let has = |test: &dyn Fn(&Does) -> bool| calls.iter().any(|does| test(does));
        let variations = [
            ("parallel calls", turns.iter().any(|turn| turn.calls.len() > 1)),
            ("a tool that fails", executed(&|tries, _| matches!(tries.last(), Some(Answer::Error(_))))),
            ("an error of the protocol", executed(&|tries, _| matches!(tries.last(), Some(Answer::Jsonrpc(..))))),
            ("a broken connection", executed(&|tries, _| matches!(tries.last(), Some(Answer::Broken(_))))),
            ("a canceled call", executed(&|tries, _| matches!(tries.last(), Some(Answer::Canceled)))),
            ("retries of the client", executed(&|tries, _| tries.len() > 1)),
            ("arguments filled in", executed(&|_, is_changed| is_changed)),
            ("a refused call", has(&|does| matches!(does, Does::Refuse { .. }))),
            ("a tool of the program", has(&|does| matches!(does, Does::Own { .. }))),
            ("a tool of the provider", has(&|does| matches!(does, Does::Provider { .. }))),
            ("a call without the model", !script.own_calls.is_empty()),
            ("streams", turns.iter().any(|turn| turn.is_streamed)),
            ("no streams", turns.iter().any(|turn| !turn.is_streamed)),
            ("a model that fails", turns.iter().any(|turn| !turn.before.is_empty())),
            ("sub-agents", script.agents.iter().filter(|agent| agent.has_tools).count() > 1),
            ("questions on the side", script.agents.iter().any(|agent| !agent.has_tools)),
            ("several servers", script.servers.len() > 1),
            ("no usage", turns.iter().any(|turn| turn.usage.is_none())),
        ];
        for (name, _) in variations.into_iter().filter(|(_, has)| *has) {
            *counts.entry(name.to_owned()).or_default() += 1;
        }
        for form in [format!("{:?}", script.interface), format!("{:?}", script.style), format!("{:?}", script.meta)] {
            *counts.entry(form).or_default() += 1;
        }
    }
    let (interfaces, styles, ids) = (4, 6, 4);
    assert_eq!(counts.len(), 18 + interfaces + styles + ids, "{counts:#?}");
    assert!(counts.values().all(|count| *count >= 5), "{counts:#?}");
}
