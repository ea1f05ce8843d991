//! What a message claims, and which calls back it: `cargo run -q -p mcptest-core --example narrate -- MESSAGE [CALL...]`.
//!
//! MESSAGE is the text, or `-` to read it from standard input. A CALL is a tool's name, with `!` in front when it
//! failed and `{..}` arguments behind. This is how one debugs a sentence:
//!
//! ```text
//! narrate 'I closed the ticket and sent the report.' close_ticket '!send_report {"to":"ada"}'
//! ```
#![expect(
    clippy::print_stdout,
    clippy::disallowed_methods,
    reason = "an example reads its arguments and prints; the library does neither"
)]

use std::error::Error;
use std::io::Read as _;

use mcptest_core::eval::narrative::Item;
use mcptest_core::eval::{NarrativeGate, NarrativeParams};
use mcptest_core::{Trace, json};
use serde_json::{Value, json};

fn main() -> Result<(), Box<dyn Error>> {
    let mut words = std::env::args().skip(1);
    let mut message = words.next().ok_or("usage: narrate MESSAGE|- [[!]TOOL[ {ARGS}]]...")?;
    if message == "-" {
        message.clear();
        std::io::stdin().read_to_string(&mut message)?;
    }
    let (mut calls, mut results) = (Vec::new(), Vec::new());
    for word in words {
        let call = word.trim_start_matches('!');
        let (name, args) = call.split_once(' ').unwrap_or((call, "{}"));
        let args = json::parse(args).map_err(|error| format!("{name}: {error}"))?;
        calls.push(json!({ "name": name, "server": "", "args": args }));
        results.push(json!({ "is_error": word.starts_with('!'), "content": [] }));
    }
    let envelope = json!({ "tool_calls": calls, "tool_results": results, "final_response": message });
    show(&message, &Trace::from_envelope(&envelope)?)
}

fn show(message: &str, trace: &Trace) -> Result<(), Box<dyn Error>> {
    let outcome = NarrativeGate::new(NarrativeParams::default())?.evaluate(trace);
    println!("{:<24}{:<12}{:<10}{:<32}words", "claim", "bytes", "strength", "backing");
    for claim in &outcome.detail.claims {
        let word = |value: Value| value.as_str().unwrap_or("").to_owned();
        let by = claim.backed_by.map_or_else(String::new, |call| format!(" tool_calls[{call}]"));
        let backing = format!("{}{by}", word(serde_json::to_value(claim.backing)?));
        let bytes = format!("{}..{}", claim.span.start, claim.span.end);
        let strength = word(serde_json::to_value(claim.strength)?);
        println!("{:<24}{bytes:<12}{strength:<10}{backing:<32}{:?}", claim.stem, &message[claim.span.clone()]);
    }
    println!("\n{} ({})", outcome.verdict.as_str(), outcome.line);
    for item in &outcome.detail.items {
        match item {
            Item::ClaimedButAbsent { reason, .. } => println!("- claimed but absent: {reason}"),
            Item::PresentButUnclaimed { tool, mutating, .. } => {
                println!("- present but unclaimed: {tool}{}", if *mutating { ", which changes something" } else { "" });
            }
            Item::ArgMismatch { tool, argument, stated, given, .. } => {
                println!("- {tool}.{argument}: the message says {stated:?}, the call had {given}");
            }
        }
    }
    Ok(())
}
