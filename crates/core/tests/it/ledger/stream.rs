//! Replies put together from streams, whole and broken off.

use std::collections::BTreeMap;

use mcptest_core::ledger::{Body, End, Event, Interface, Reply, Response, Unread, WhyUnread};
use serde_json::{Value, json};

fn response(status: Option<u16>, body: Body, end: End) -> Response {
    Response { exchange: 0, first_ms: 0, status, headers: BTreeMap::new(), body, end }
}

fn streamed(interface: Interface, events: &[Value]) -> Reply {
    let events = events.iter().map(|data| Event { name: None, data: data.clone() }).collect();
    response(Some(200), Body::Events(events), End::Complete).reply(interface)
}

fn whole(body: Value) -> Reply {
    Reply::Body { body, is_cut: false }
}

fn cut(body: Value) -> Reply {
    Reply::Body { body, is_cut: true }
}

#[test]
fn chunks_of_chat_completions() {
    let chunk = |delta: Value, finish: Value| json!({ "id": "c", "model": "m", "choices": [{ "index": 0, "delta": delta, "finish_reason": finish }] });
    let call = |index: u64, id: &str, args: &str| json!({ "tool_calls": [{ "index": index, "id": id, "type": "function", "function": { "name": "f", "arguments": args } }] });
    let more =
        |index: u64, args: &str| json!({ "tool_calls": [{ "index": index, "function": { "arguments": args } }] });
    let mut events = vec![
        chunk(json!({ "role": "assistant", "content": "He" }), Value::Null),
        chunk(json!({ "content": "llo" }), Value::Null),
        chunk(call(0, "a", "{\"n\""), Value::Null),
        chunk(call(1, "b", ""), Value::Null),
        chunk(more(0, ":1}"), Value::Null),
        chunk(more(1, "{}"), Value::Null),
    ];
    let first = json!({ "id": "a", "type": "function", "function": { "name": "f", "arguments": "{\"n\":1}" } });
    let second = json!({ "id": "b", "type": "function", "function": { "name": "f", "arguments": "{}" } });
    let body = |calls: Value, finish: Value, usage: Option<Value>| {
        let message = json!({ "role": "assistant", "content": "Hello", "tool_calls": calls });
        let mut body = json!({ "id": "c", "model": "m", "object": "chat.completion", "choices": [{ "index": 0, "message": message, "finish_reason": finish }] });
        if let Some(usage) = usage {
            body["usage"] = usage;
        }
        body
    };
    // The second call may have been longer.
    assert_eq!(streamed(Interface::OpenaiChat, &events), cut(body(json!([first]), Value::Null, None)));
    events.push(chunk(json!({}), json!("tool_calls")));
    events.push(json!({ "id": "c", "choices": [], "usage": { "prompt_tokens": 1 } }));
    events.push(json!("[DONE]"));
    let usage = Some(json!({ "prompt_tokens": 1 }));
    assert_eq!(
        streamed(Interface::OpenaiChat, &events),
        whole(body(json!([first, second]), json!("tool_calls"), usage))
    );
}

#[test]
fn calls_of_chat_completions_without_an_index() {
    let call = |id: &str| json!({ "choices": [{ "delta": { "tool_calls": [{ "id": id, "function": { "name": "f", "arguments": "{}" } }] } }] });
    let events = [call("a"), call("b"), json!({ "choices": [{ "delta": {}, "finish_reason": "tool_calls" }] })];
    let Reply::Body { body, .. } = streamed(Interface::OpenaiChat, &events) else { panic!() };
    assert_eq!(body.pointer("/choices/0/message/tool_calls").unwrap().as_array().unwrap().len(), 2, "{body}");
}

#[test]
fn events_of_the_responses_api() {
    let item = json!({ "type": "function_call", "call_id": "a", "name": "f", "arguments": "{}" });
    let other = json!({ "type": "function_call", "call_id": "b", "name": "g", "arguments": "{" });
    let created =
        json!({ "type": "response.created", "response": { "id": "r", "status": "in_progress", "output": [] } });
    let done =
        |index: u64, item: &Value| json!({ "type": "response.output_item.done", "output_index": index, "item": item });
    let started = json!({ "type": "response.output_item.added", "output_index": 1, "item": other });
    let events = [created.clone(), done(0, &item), started.clone()];
    let body = |status: &str, output: Value| json!({ "id": "r", "status": status, "output": output });
    assert_eq!(streamed(Interface::OpenaiResponses, &events), cut(body("in_progress", json!([item]))));
    for output in [json!([item]), json!([])] {
        let end =
            json!({ "type": "response.completed", "response": { "id": "r", "status": "completed", "output": output } });
        let events = [created.clone(), done(0, &item), end];
        assert_eq!(streamed(Interface::OpenaiResponses, &events), whole(body("completed", json!([item]))));
    }
    let failed = json!({ "type": "response.failed", "response": { "id": "r", "status": "failed", "output": [] } });
    assert_eq!(streamed(Interface::OpenaiResponses, &[created, failed]), cut(body("failed", json!([]))));
}

#[test]
fn events_of_the_messages_api() {
    let start =
        |index: u64, block: Value| json!({ "type": "content_block_start", "index": index, "content_block": block });
    let delta = |index: u64, delta: Value| json!({ "type": "content_block_delta", "index": index, "delta": delta });
    let stop = |index: u64| json!({ "type": "content_block_stop", "index": index });
    let mut events = vec![
        json!({ "type": "message_start", "message": { "id": "m", "role": "assistant", "content": [], "usage": { "input_tokens": 5, "output_tokens": 1 } } }),
        json!({ "type": "ping" }),
        start(0, json!({ "type": "text", "text": "" })),
        delta(0, json!({ "type": "text_delta", "text": "Hel" })),
        delta(0, json!({ "type": "text_delta", "text": "lo" })),
        stop(0),
        start(1, json!({ "type": "tool_use", "id": "a", "name": "f", "input": {} })),
        delta(1, json!({ "type": "input_json_delta", "partial_json": "{\"n\":" })),
        delta(1, json!({ "type": "input_json_delta", "partial_json": "1}" })),
        stop(1),
        start(2, json!({ "type": "tool_use", "id": "b", "name": "g", "input": {} })),
    ];
    let text = json!({ "type": "text", "text": "Hello" });
    let first = json!({ "type": "tool_use", "id": "a", "name": "f", "input": { "n": 1 } });
    let second = json!({ "type": "tool_use", "id": "b", "name": "g", "input": {} });
    let body = |content: Value| json!({ "id": "m", "role": "assistant", "content": content });
    assert_eq!(streamed(Interface::Anthropic, &events), cut(body(json!([text, first]))));
    events.push(stop(2));
    events.push(
        json!({ "type": "message_delta", "delta": { "stop_reason": "tool_use" }, "usage": { "output_tokens": 9 } }),
    );
    events.push(json!({ "type": "message_stop" }));
    let mut expected = body(json!([text, first, second]));
    expected["stop_reason"] = json!("tool_use");
    expected["usage"] = json!({ "input_tokens": 5, "output_tokens": 9 });
    assert_eq!(streamed(Interface::Anthropic, &events), whole(expected));
}

#[test]
fn chunks_of_gemini_as_events_and_as_a_list() {
    let chunk = |parts: Value| json!({ "modelVersion": "g", "candidates": [{ "index": 0, "content": { "role": "model", "parts": parts } }] });
    let mut chunks = vec![
        chunk(json!([{ "text": "think", "thought": true }])),
        chunk(json!([{ "text": "Hel" }])),
        chunk(json!([{ "text": "lo" }, { "functionCall": { "name": "f", "args": {} } }])),
    ];
    let parts = json!([{ "text": "think", "thought": true }, { "text": "Hello" }, { "functionCall": { "name": "f", "args": {} } }]);
    let mut expected =
        json!({ "modelVersion": "g", "candidates": [{ "index": 0, "content": { "role": "model", "parts": parts } }] });
    assert_eq!(streamed(Interface::Gemini, &chunks), cut(expected.clone()));
    chunks.push(
        json!({ "candidates": [{ "index": 0, "finishReason": "STOP" }], "usageMetadata": { "totalTokenCount": 3 } }),
    );
    expected["candidates"][0]["finishReason"] = json!("STOP");
    expected["usageMetadata"] = json!({ "totalTokenCount": 3 });
    assert_eq!(streamed(Interface::Gemini, &chunks), whole(expected.clone()));
    let body = Body::Json { rest: Value::Array(chunks), parts: BTreeMap::new() };
    assert_eq!(response(Some(200), body, End::Complete).reply(Interface::Gemini), whole(expected));
}

#[test]
fn a_response_without_a_reply_has_failed_or_cannot_be_read() {
    let json = |value: Value| Body::Json { rest: value, parts: BTreeMap::new() };
    let unread = |why: WhyUnread| Body::Unread(Unread { why, bytes: 1, sha256: String::new() });
    let large = unread(WhyUnread::TooLarge);
    let cut = unread(WhyUnread::Malformed("EOF".to_owned()));
    let text = Body::Text("<html>".to_owned());
    let event = |data: Value| Body::Events(vec![Event { name: None, data }]);
    for (status, body, end, expected) in [
        (Some(429), Body::Empty, End::Complete, Reply::Failed("HTTP status 429".into())),
        (None, Body::Empty, End::Upstream("refused".into()), Reply::Failed("refused".into())),
        (Some(200), json(json!({ "error": { "message": "no" } })), End::Complete, Reply::Failed("no".into())),
        (Some(200), json(json!({ "error": null })), End::Complete, whole(json!({ "error": null }))),
        (Some(200), large.clone(), End::Complete, Reply::Unread("it is larger than what is kept".into())),
        // The program may have read all that it wanted, and left.
        (Some(200), large, End::Program, Reply::Unread("it is larger than what is kept".into())),
        (Some(200), cut, End::Program, Reply::Failed("the response broke off".into())),
        (
            Some(200),
            text,
            End::Program,
            Reply::Unread("the response is neither JSON nor an event stream: \"<html>\"".into()),
        ),
        (Some(200), event(json!({ "error": { "message": "busy" } })), End::Complete, Reply::Failed("busy".into())),
        (
            Some(200),
            event(json!("garbage")),
            End::Complete,
            Reply::Unread("the events of the stream are not JSON".into()),
        ),
        (Some(200), Body::Events(vec![]), End::Complete, Reply::Failed("the stream ended before a reply began".into())),
    ] {
        assert_eq!(response(status, body, end).reply(Interface::OpenaiChat), expected);
    }
}

#[test]
fn a_reply_that_is_fetched_later_is_not_an_empty_one() {
    let body = Body::Json {
        rest: json!({ "id": "r", "object": "response", "status": "queued", "output": [] }),
        parts: BTreeMap::new(),
    };
    let why = "the model replies in the background, and that is not recorded";
    let found = response(Some(200), body, End::Complete).reply(Interface::OpenaiResponses);
    assert_eq!(found, Reply::Unread(why.to_owned()));
}
