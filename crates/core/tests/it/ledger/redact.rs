//! A secret that a stream cuts is nowhere in a redacted ledger, wherever the cut is.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use mcptest_core::ledger::{
    Body, End, Entry, Event, Interface, Ledger, Mcp, Message, Reply, Request, Response, Side, What,
};
use mcptest_core::redact::Redactor;
use serde_json::{Value, json};

const SECRET: &str = "hunter2-\"quoted\"-hunter3";

static REDACTOR: LazyLock<Redactor> = LazyLock::new(|| Redactor::new([("TOKEN".to_owned(), SECRET.to_owned())]));

fn exchange(body: Body) -> Ledger {
    let response =
        Response { exchange: 0, first_ms: 0, status: Some(200), headers: BTreeMap::new(), body, end: End::Complete };
    Ledger { entries: vec![Entry { seq: 0, ms: 0, what: What::Response(response) }], ..Ledger::default() }
}

fn body_of(ledger: &Ledger) -> &Response {
    match &ledger.entries[0].what {
        What::Response(response) => response,
        other => panic!("{other:?}"),
    }
}

/// The events of a reply of text and one call, with the text and the arguments in these pieces.
fn events(interface: Interface, texts: &[&str], args: &[&str]) -> Vec<Value> {
    match interface {
        Interface::OpenaiChat => {
            let chunk = |delta: Value, finish: Value| json!({ "id": "c", "choices": [{ "index": 0, "delta": delta, "finish_reason": finish }] });
            let call = |piece: &&str| {
                chunk(json!({ "tool_calls": [{ "index": 0, "function": { "arguments": piece } }] }), Value::Null)
            };
            let first = json!({ "tool_calls": [{ "index": 0, "id": "k", "type": "function", "function": { "name": "f", "arguments": "" } }] });
            let text = texts.iter().map(|piece| chunk(json!({ "content": piece }), Value::Null));
            text.chain([chunk(first, Value::Null)])
                .chain(args.iter().map(call))
                .chain([chunk(json!({}), json!("tool_calls"))])
                .collect()
        }
        Interface::OpenaiResponses => {
            let text = texts.iter().map(|piece| json!({ "type": "response.output_text.delta", "item_id": "m", "output_index": 0, "content_index": 0, "delta": piece }));
            let call = args.iter().map(|piece| json!({ "type": "response.function_call_arguments.delta", "item_id": "f", "output_index": 1, "delta": piece }));
            let done = json!({ "type": "response.completed", "response": { "status": "completed", "output": [
                { "type": "message", "role": "assistant", "content": [{ "type": "output_text", "text": texts.concat() }] },
                { "type": "function_call", "name": "f", "call_id": "k", "arguments": args.concat() },
            ] } });
            // Deltas of the two may alternate.
            let mut out: Vec<Value> = Vec::new();
            let (mut text, mut call) = (text.fuse(), call.fuse());
            loop {
                let (one, other) = (text.next(), call.next());
                if one.is_none() && other.is_none() {
                    break;
                }
                out.extend(one.into_iter().chain(other));
            }
            out.into_iter().chain([done]).collect()
        }
        Interface::Anthropic => {
            let start = |index: u64, block: Value| json!({ "type": "content_block_start", "index": index, "content_block": block });
            let delta =
                |index: u64, delta: Value| json!({ "type": "content_block_delta", "index": index, "delta": delta });
            let mut out =
                vec![json!({ "type": "message_start", "message": { "id": "m", "role": "assistant", "content": [] } })];
            out.push(start(0, json!({ "type": "text", "text": texts[0] })));
            out.extend(texts[1..].iter().map(|piece| delta(0, json!({ "type": "text_delta", "text": piece }))));
            out.push(json!({ "type": "content_block_stop", "index": 0 }));
            out.push(start(1, json!({ "type": "tool_use", "id": "k", "name": "f", "input": {} })));
            out.extend(args.iter().map(|piece| delta(1, json!({ "type": "input_json_delta", "partial_json": piece }))));
            out.push(json!({ "type": "content_block_stop", "index": 1 }));
            out.push(json!({ "type": "message_delta", "delta": { "stop_reason": "tool_use" }, "usage": { "output_tokens": 1 } }));
            out.push(json!({ "type": "message_stop" }));
            out
        }
        Interface::Gemini => {
            let chunk = |parts: Value, finish: Value| json!({ "candidates": [{ "content": { "role": "model", "parts": parts }, "finishReason": finish }] });
            let mut out: Vec<Value> =
                texts.iter().map(|piece| chunk(json!([{ "text": piece }]), Value::Null)).collect();
            // A call is never cut here; code that the model runs is text like any other.
            let args: Value = serde_json::from_str(&args.concat()).unwrap();
            out.push(chunk(
                json!([{ "thought": true, "text": "hm" }, { "functionCall": { "name": "f", "args": args } }]),
                json!("STOP"),
            ));
            out
        }
    }
}

/// The reply that the events make, as text in which no escape hides anything.
fn reply(response: &Response, interface: Interface) -> String {
    match response.reply(interface) {
        Reply::Body { body, is_cut: false } => body.to_string(),
        other => panic!("{other:?}"),
    }
}

fn check(interface: Interface, text: &[&str], args: &[&str]) {
    let all = events(interface, text, args);
    let as_events = Body::Events(all.iter().map(|data| Event { name: None, data: data.clone() }).collect());
    let mut bodies = vec![as_events];
    if interface == Interface::Gemini {
        bodies.push(Body::json(Value::Array(all), None, &mut mcptest_core::ledger::Blobs::default()));
    }
    for body in bodies {
        let before = reply(body_of(&exchange(body.clone())), interface);
        let count = before.matches("hunter2").count();
        let ledger = exchange(body).redacted(&REDACTOR);
        let lines = ledger.to_lines();
        let after = reply(body_of(&ledger), interface);
        for (what, text) in [("the ledger", &lines), ("the reply", &after)] {
            for half in ["hunter2", "quoted", "hunter3"] {
                assert!(!text.contains(half), "{what} has {half:?}: {interface} {text:?} {args:?}\n{lines}");
            }
        }
        // The text around the secret is whole, and each secret has one replacement.
        assert_eq!(after.matches("[redacted:TOKEN]").count(), count, "{after}");
        assert!(after.contains("before [redacted:TOKEN] after"), "{after}");
    }
}

#[test]
fn a_secret_that_is_cut_anywhere_is_found_in_every_interface() {
    let text = format!("before {SECRET} after");
    let args = json!({ "a": text }).to_string();
    for interface in Interface::ALL {
        check(*interface, &[&text], &[&args]);
        for cut in 1..text.len() {
            check(*interface, &[&text[..cut], &text[cut..]], &[&args]);
            let letters: Vec<String> = text.chars().map(String::from).collect();
            if cut == 1 {
                check(*interface, &letters.iter().map(String::as_str).collect::<Vec<_>>(), &[&args]);
            }
        }
        for cut in 1..args.len() {
            check(*interface, &[&text], &[&args[..cut], &args[cut..]]);
            for second in [cut + 1, cut + 5] {
                if second < args.len() {
                    check(*interface, &[&text], &[&args[..cut], &args[cut..second], &args[second..]]);
                }
            }
        }
    }
}

#[test]
fn a_replacement_is_inserted_where_the_secret_begins_and_other_pieces_stay() {
    let pieces = ["a ", "hun", "ter2-\"quoted\"", "-hunter3 b", " c"];
    let data = |pieces: &[&str]| {
        Body::Events(pieces.iter().map(|text| Event { name: None, data: json!({ "text": text }) }).collect())
    };
    let clean = exchange(data(&pieces)).redacted(&REDACTOR);
    assert_eq!(body_of(&clean).body, data(&["a ", "[redacted:TOKEN]", "", " b", " c"]));
}

#[test]
fn every_text_of_a_ledger_is_redacted() {
    let mut ledger = exchange(Body::Text(format!("x {SECRET}")));
    if let What::Response(response) = &mut ledger.entries[0].what {
        response.headers.insert("retry-after".to_owned(), SECRET.to_owned());
        response.end = End::Upstream(format!("no {SECRET}"));
    }
    let body = json!({ "messages": [{ "content": SECRET }], "system": SECRET, "user": SECRET, SECRET: 1 });
    let body = Body::json(body, Some(Interface::Anthropic), &mut ledger.blobs);
    let request = Request {
        exchange: 0,
        interface: Some(Interface::Anthropic),
        method: "POST".to_owned(),
        path: format!("/{SECRET}"),
        query: Some(format!("alt={SECRET}")),
        body,
    };
    ledger.entries.push(Entry { seq: 1, ms: 0, what: What::Request(request) });
    for message in [Message::Json(json!({ "a": [SECRET] })), Message::End(SECRET.to_owned())] {
        let mcp =
            Mcp { server: "s".to_owned(), connection: 0, from: Side::Server, message, reply_to: None, status: None };
        let seq = ledger.entries.len() as u64;
        ledger.entries.push(Entry { seq, ms: 0, what: What::Mcp(mcp) });
    }
    let lines = ledger.redacted(&REDACTOR).to_lines();
    assert!(!lines.contains("hunter"), "{lines}");
    assert_eq!(lines.matches("[redacted:TOKEN]").count(), 11, "{lines}");
}
