//! A reply as the event stream of its interface. Text and arguments arrive in pieces of a few characters, so that nothing of
//! interest is whole in any one event.

use serde_json::{Value, json};

use super::dialect::Dialect;
use super::provider::{Answer, Request};

/// Characters in a piece.
const PIECE: usize = 5;

/// Whether a request asks for a stream.
pub(crate) fn is_asked(request: &Request) -> bool {
    request.body["stream"] == true || request.path.contains(":streamGenerateContent")
}

/// The reply as a stream.
pub(crate) fn answer(dialect: Dialect, reply: &Value, request: &Request) -> Answer {
    let events = match dialect {
        Dialect::Messages => messages(reply),
        Dialect::Responses => responses(reply),
        Dialect::Chat => chat(reply, request.body["stream_options"]["include_usage"] == true),
        Dialect::Gemini => gemini(reply),
    };
    // Two interfaces name their events.
    let line = |event: &Value| match event["type"].as_str() {
        Some(name) => format!("event: {name}\ndata: {event}\n\n"),
        None => format!("data: {event}\n\n"),
    };
    let mut body: String = events.iter().map(line).collect();
    if dialect == Dialect::Chat {
        body += "data: [DONE]\n\n";
    }
    Answer::status(200, "content-type: text/event-stream\r\n", body)
}

fn pieces(text: &Value) -> Vec<String> {
    let characters: Vec<char> = text.as_str().unwrap_or_default().chars().collect();
    characters.chunks(PIECE).map(|piece| piece.iter().collect()).collect()
}

fn list(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

/// A copy with other values for some keys.
fn with(value: &Value, changes: Value) -> Value {
    let mut copy = value.clone();
    if let (Value::Object(into), Value::Object(changes)) = (&mut copy, changes) {
        into.extend(changes);
    }
    copy
}

fn messages(reply: &Value) -> Vec<Value> {
    let usage = with(&reply["usage"], json!({ "output_tokens": 1 }));
    let start = with(reply, json!({ "content": [], "stop_reason": null, "usage": usage }));
    let mut out = vec![json!({ "type": "message_start", "message": start }), json!({ "type": "ping" })];
    for (index, block) in list(&reply["content"]).iter().enumerate() {
        let (empty, deltas): (Value, Vec<Value>) = match block["type"].as_str() {
            Some("text") => {
                let delta = |text| json!({ "type": "text_delta", "text": text });
                (json!({ "text": "" }), pieces(&block["text"]).into_iter().map(delta).collect())
            }
            Some("thinking") => {
                let delta = |text| json!({ "type": "thinking_delta", "thinking": text });
                let mut deltas: Vec<Value> = pieces(&block["thinking"]).into_iter().map(delta).collect();
                deltas.push(json!({ "type": "signature_delta", "signature": block["signature"] }));
                (json!({ "thinking": "", "signature": "" }), deltas)
            }
            _ => {
                let delta = |json| json!({ "type": "input_json_delta", "partial_json": json });
                (json!({ "input": {} }), pieces(&block["input"].to_string().into()).into_iter().map(delta).collect())
            }
        };
        out.push(json!({ "type": "content_block_start", "index": index, "content_block": with(block, empty) }));
        out.extend(
            deltas.into_iter().map(|delta| json!({ "type": "content_block_delta", "index": index, "delta": delta })),
        );
        out.push(json!({ "type": "content_block_stop", "index": index }));
    }
    let delta = json!({ "stop_reason": reply["stop_reason"], "stop_sequence": null });
    let usage = json!({ "output_tokens": reply["usage"]["output_tokens"] });
    out.push(json!({ "type": "message_delta", "delta": delta, "usage": usage }));
    out.push(json!({ "type": "message_stop" }));
    out
}

fn responses(reply: &Value) -> Vec<Value> {
    let start = with(reply, json!({ "status": "in_progress", "output": [], "usage": null }));
    let mut out = vec![
        json!({ "type": "response.created", "response": start }),
        json!({ "type": "response.in_progress", "response": start }),
    ];
    for (index, item) in list(&reply["output"]).iter().enumerate() {
        let id = &item["id"];
        let mut say = |kind: &str, more: Value| {
            let event = json!({ "type": format!("response.{kind}"), "output_index": index });
            out.push(with(&event, more));
        };
        match item["type"].as_str() {
            Some("message") => {
                let part = &item["content"][0];
                let text = &part["text"];
                let added = with(item, json!({ "status": "in_progress", "content": [] }));
                say("output_item.added", json!({ "item": added }));
                let empty = with(part, json!({ "text": "" }));
                say("content_part.added", json!({ "item_id": id, "content_index": 0, "part": empty }));
                for delta in pieces(text) {
                    let more = json!({ "item_id": id, "content_index": 0, "delta": delta, "logprobs": [] });
                    say("output_text.delta", more);
                }
                let more = json!({ "item_id": id, "content_index": 0, "text": text, "logprobs": [] });
                say("output_text.done", more);
                say("content_part.done", json!({ "item_id": id, "content_index": 0, "part": part }));
            }
            Some("function_call") => {
                let added = with(item, json!({ "status": "in_progress", "arguments": "" }));
                say("output_item.added", json!({ "item": added }));
                for delta in pieces(&item["arguments"]) {
                    say("function_call_arguments.delta", json!({ "item_id": id, "delta": delta }));
                }
                let more = json!({ "item_id": id, "name": item["name"], "arguments": item["arguments"] });
                say("function_call_arguments.done", more);
            }
            _ => say("output_item.added", json!({ "item": item })),
        }
        say("output_item.done", json!({ "item": item }));
    }
    out.push(json!({ "type": "response.completed", "response": reply }));
    for (number, event) in out.iter_mut().enumerate() {
        event["sequence_number"] = number.into();
    }
    out
}

fn chat(reply: &Value, has_usage: bool) -> Vec<Value> {
    let choice = &reply["choices"][0];
    let (message, usage) = (&choice["message"], &reply["usage"]);
    let mut deltas = vec![json!({ "role": "assistant", "content": message["content"].as_str().map(|_| "") })];
    deltas.extend(pieces(&message["content"]).into_iter().map(|text| json!({ "content": text })));
    for (index, call) in list(&message["tool_calls"]).iter().enumerate() {
        let function = json!({ "name": call["function"]["name"], "arguments": "" });
        let first = with(call, json!({ "index": index, "function": function }));
        deltas.push(json!({ "tool_calls": [first] }));
        for piece in pieces(&call["function"]["arguments"]) {
            deltas.push(json!({ "tool_calls": [{ "index": index, "function": { "arguments": piece } }] }));
        }
    }
    let chunk = |choices: Value| {
        let mut chunk = with(reply, json!({ "object": "chat.completion.chunk", "choices": choices }));
        if let Some(fields) = chunk.as_object_mut() {
            fields.remove("usage");
        }
        chunk
    };
    let mut out: Vec<Value> =
        deltas.into_iter().map(|delta| chunk(json!([{ "index": 0, "delta": delta, "finish_reason": null }]))).collect();
    out.push(chunk(json!([{ "index": 0, "delta": {}, "finish_reason": choice["finish_reason"] }])));
    if has_usage {
        out.push(with(&chunk(json!([])), json!({ "usage": usage })));
    }
    out
}

fn gemini(reply: &Value) -> Vec<Value> {
    let mut parts = Vec::new();
    for part in list(&reply["candidates"][0]["content"]["parts"]) {
        match part.get("text") {
            Some(text) => parts.extend(pieces(text).into_iter().map(|text| json!({ "text": text }))),
            None => parts.push(part.clone()),
        }
    }
    let last = parts.len().saturating_sub(1);
    let chunk = |(at, part)| {
        let content = json!({ "role": "model", "parts": [part] });
        let mut candidate = json!({ "index": 0, "content": content });
        if at == last {
            candidate["finishReason"] = "STOP".into();
        }
        with(reply, json!({ "candidates": [candidate] }))
    };
    parts.into_iter().enumerate().map(chunk).collect()
}
