//! The trace of a program, derived from its ledgers, against what the script of the program says.
//!
//! A script knows what the model asks for, what the program does with it and what the servers answer. `play` writes down what
//! would pass on the wire, in one of the four model interfaces, and what the trace must be. It shares no code with the
//! derivation.

mod play;
mod script;
mod wire;

use mcptest_core::ledger::{self, Ledger, ProgramEnd};
use mcptest_core::redact::Redactor;
use mcptest_core::trace::{Trace, Turn};
use serde_json::{Value, json};

use super::{Rng, number};
use play::Played;

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
fn the_trace_from_the_ledgers_is_what_the_script_says() {
    let start = number("DIFFERENTIAL_SEED", 0);
    for seed in start..start + number("DIFFERENTIAL_CASES", FEW) {
        check(seed);
    }
}
