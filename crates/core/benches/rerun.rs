//! How fast a recorded world is recognized: `cargo bench -p mcptest-core --bench rerun`.
//!
//! The measure is parsing the incoming requests, which a proxy must do anyway: the index of the recording and the
//! recognition of all its requests may cost a few times as much. Only ratios can fail, because they do not depend on the machine.
#![expect(
    clippy::print_stdout,
    clippy::unwrap_used,
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "a benchmark reads the clock and prints; its inputs are its own"
)]

use std::collections::BTreeMap;
use std::hint::black_box;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use mcptest_core::ledger::rerun::{Rerun, Step};
use mcptest_core::ledger::{Body, End, Entry, Interface, Ledger, Request, Response, What};
use mcptest_core::redact::Redactor;
use serde_json::{Value, json};

/// Requests of the recording.
const REQUESTS: usize = 200;
/// Most time for reading, indexing and recognizing, in times of parsing the requests.
const MOST: f64 = 12.0;
/// Most growth of that ratio with four times the requests.
const MOST_GROWTH: f64 = 2.0;
/// Times that each measure is taken; the best counts.
const TIMES: usize = 5;

fn main() -> ExitCode {
    println!("{:>10}{:>14}{:>14}{:>14}{:>14}", "requests", "read file", "index", "recognize", "against parse");
    let (short, long) = (measure(REQUESTS / 4), measure(REQUESTS));
    let is_fine = long <= MOST && long <= short * MOST_GROWTH;
    if is_fine { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// The bodies of a conversation of this many requests.
fn bodies(count: usize) -> Vec<String> {
    let mut messages: Vec<Value> = vec![json!({ "role": "system", "content": "You keep notes. ".repeat(50) })];
    let mut out = Vec::new();
    for at in 0..count {
        messages.push(json!({ "role": "user", "content": format!("note {at}: {}", "it rains again, ".repeat(15)) }));
        let tools = [json!({ "type": "function", "function": { "name": "search" } })];
        out.push(json!({ "model": "m", "messages": messages, "tools": tools }).to_string());
        messages.push(json!({ "role": "assistant", "content": format!("answer {at}: {}", "so it does, ".repeat(15)) }));
    }
    out
}

fn request(exchange: u64, body: Body) -> Request {
    let (method, path) = ("POST".to_owned(), "/v1/chat/completions".to_owned());
    Request { exchange, interface: Some(Interface::OpenaiChat), method, path, query: None, body }
}

fn recording(bodies: &[String]) -> String {
    let mut ledger = Ledger::default();
    for (exchange, body) in (0..).zip(bodies) {
        let body = Body::json(body.parse().unwrap(), Some(Interface::OpenaiChat), &mut ledger.blobs);
        let message = json!({ "role": "assistant", "content": format!("answer {exchange}") });
        let reply = json!({ "choices": [{ "index": 0, "finish_reason": "stop", "message": message }] });
        let body_of_reply = Body::Json { rest: reply, parts: BTreeMap::new() };
        let (headers, end) = (BTreeMap::new(), End::Complete);
        let response = Response { exchange, first_ms: 0, status: Some(200), headers, body: body_of_reply, end };
        for what in [What::Request(request(exchange, body)), What::Response(response)] {
            let seq = ledger.entries.len() as u64;
            ledger.entries.push(Entry { seq, ms: seq, what });
        }
    }
    ledger.to_lines()
}

/// The time of everything, in times of parsing the requests.
fn measure(count: usize) -> f64 {
    let bodies = bodies(count);
    let text = recording(&bodies);
    let mut best = [Duration::MAX; 4];
    for _ in 0..TIMES {
        let start = Instant::now();
        for body in &bodies {
            black_box(body.parse::<Value>().unwrap());
        }
        let parsed = start.elapsed();
        let start = Instant::now();
        let ledger = Ledger::read(&text).unwrap();
        let read = start.elapsed();
        let start = Instant::now();
        let mut rerun = Rerun::new(ledger, Vec::new());
        rerun.redact(Redactor::new([("KEY".to_owned(), "a-secret-value".to_owned())]));
        let indexed = start.elapsed();
        let start = Instant::now();
        for body in &bodies {
            let body = Body::Json { rest: body.parse().unwrap(), parts: BTreeMap::new() };
            let asked = rerun.model(request(0, body));
            assert!(matches!(rerun.take(&asked), Step::Model(answer) if answer.response.is_some()));
        }
        let recognized = start.elapsed();
        for (best, time) in best.iter_mut().zip([parsed, read, indexed, recognized]) {
            *best = time.min(*best);
        }
    }
    let [parsed, read, indexed, recognized] = best;
    let ratio = (read + indexed + recognized).as_secs_f64() / parsed.as_secs_f64();
    println!("{count:>10}{read:>14.1?}{indexed:>14.1?}{recognized:>14.1?}{ratio:>14.1}");
    ratio
}
