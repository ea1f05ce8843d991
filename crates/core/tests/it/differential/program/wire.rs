//! Requests and replies as the four model interfaces put them on the wire.

use std::collections::BTreeMap;

use mcptest_core::ledger::{Body, Event, Interface};
use serde_json::{Value, json};

use super::super::Rng;

/// A call in a reply.
pub(super) struct ReplyCall {
    pub(super) id: Option<String>,
    pub(super) name: String,
    pub(super) namespace: Option<String>,
    pub(super) args: Value,
    /// What the provider answered to it.
    pub(super) provider: Option<String>,
}

pub(super) struct Reply {
    pub(super) id: String,
    pub(super) text: Option<String>,
    pub(super) calls: Vec<ReplyCall>,
    pub(super) usage: Option<(u64, u64)>,
}

/// An answer that the next request shows.
pub(super) struct Reported {
    pub(super) id: Option<String>,
    pub(super) name: String,
    pub(super) text: String,
    pub(super) is_error: bool,
}

pub(super) fn path(interface: Interface, is_streamed: bool) -> &'static str {
    match interface {
        Interface::OpenaiChat => "/v1/chat/completions",
        Interface::OpenaiResponses => "/v1/responses",
        Interface::Anthropic => "/v1/messages",
        Interface::Gemini if is_streamed => "/v1beta/models/m:streamGenerateContent",
        Interface::Gemini => "/v1beta/models/m:generateContent",
    }
}

pub(super) fn user(interface: Interface, text: &str) -> Value {
    match interface {
        Interface::OpenaiChat => json!({ "role": "user", "content": text }),
        Interface::OpenaiResponses => json!({ "role": "user", "content": [{ "type": "input_text", "text": text }] }),
        Interface::Anthropic => json!({ "role": "user", "content": [{ "type": "text", "text": text }] }),
        Interface::Gemini => json!({ "role": "user", "parts": [{ "text": text }] }),
    }
}

pub(super) fn request(
    interface: Interface,
    messages: &[Value],
    tools: &[String],
    previous: Option<&str>,
    is_streamed: bool,
) -> Value {
    let mut messages = messages.to_vec();
    let mut body = match interface {
        Interface::OpenaiChat => {
            messages.insert(0, json!({ "role": "system", "content": "Be brief." }));
            let tools: Vec<Value> =
                tools.iter().map(|name| json!({ "type": "function", "function": { "name": name } })).collect();
            json!({ "model": "m", "messages": messages, "tools": tools, "stream": is_streamed })
        }
        Interface::OpenaiResponses => {
            let tools: Vec<Value> = tools.iter().map(|name| json!({ "type": "function", "name": name })).collect();
            let mut body = json!({ "model": "m", "instructions": "Be brief." });
            // Some clients offer their tools in the conversation. A conversation has them in one place.
            if previous.is_none() && messages.first().is_some_and(|first| first.to_string().len() % 2 == 0) {
                messages.insert(0, json!({ "type": "additional_tools", "role": "developer", "tools": tools }));
            } else {
                body["tools"] = tools.into();
            }
            body["input"] = messages.into();
            if let Some(id) = previous {
                body["previous_response_id"] = json!(id);
            }
            body
        }
        Interface::Anthropic => {
            // The mark of the cache is always at the end.
            let last =
                messages.last_mut().and_then(|last| last["content"].as_array_mut()).and_then(|all| all.last_mut());
            if let Some(block) = last {
                block["cache_control"] = json!({ "type": "ephemeral" });
            }
            let tools: Vec<Value> = tools.iter().map(|name| json!({ "name": name, "input_schema": {} })).collect();
            let mut body = json!({ "model": "m", "messages": messages });
            match previous {
                // What the thread began with is not repeated.
                Some(id) => body["thread"] = json!({ "type": "continue", "previous_message_id": id }),
                None => {
                    body["system"] = json!([{ "type": "text", "text": "Be brief." }]);
                    body["tools"] = tools.into();
                }
            }
            body
        }
        Interface::Gemini => {
            let tools: Vec<Value> = tools.iter().map(|name| json!({ "name": name })).collect();
            json!({ "contents": messages, "tools": [{ "functionDeclarations": tools }] })
        }
    };
    if tools.is_empty() {
        body.as_object_mut().unwrap().remove("tools");
    }
    body
}

fn arguments(args: &Value) -> String {
    args.to_string()
}

/// The message that a reply is.
fn message(interface: Interface, reply: &Reply) -> Value {
    match interface {
        Interface::OpenaiChat => {
            let mut out = json!({ "role": "assistant", "content": reply.text });
            if !reply.calls.is_empty() {
                let call = |call: &ReplyCall| json!({ "id": call.id, "type": "function", "function": { "name": call.name, "arguments": arguments(&call.args) } });
                out["tool_calls"] = reply.calls.iter().map(call).collect();
            }
            out
        }
        Interface::OpenaiResponses => reply.items().into(),
        Interface::Anthropic => {
            let mut blocks: Vec<Value> =
                reply.text.iter().map(|text| json!({ "type": "text", "text": text })).collect();
            for call in &reply.calls {
                let kind = if call.provider.is_some() { "server_tool_use" } else { "tool_use" };
                blocks.push(json!({ "type": kind, "id": call.id, "name": call.name, "input": call.args }));
                if let Some(text) = &call.provider {
                    blocks.push(json!({ "type": "web_search_tool_result", "tool_use_id": call.id, "content": [{ "type": "web_search_result", "title": text }] }));
                }
            }
            json!({ "role": "assistant", "content": blocks })
        }
        Interface::Gemini => {
            let mut parts: Vec<Value> = reply.text.iter().map(|text| json!({ "text": text })).collect();
            for call in &reply.calls {
                match &call.provider {
                    Some(text) => {
                        parts.push(json!({ "executableCode": call.args }));
                        parts.push(json!({ "codeExecutionResult": { "outcome": "OUTCOME_OK", "output": text } }));
                    }
                    None => {
                        let mut function = json!({ "name": call.name, "args": call.args });
                        if let Some(id) = &call.id {
                            function["id"] = json!(id);
                        }
                        parts.push(json!({ "functionCall": function }));
                    }
                }
            }
            json!({ "role": "model", "parts": parts })
        }
    }
}

impl Reply {
    fn items(&self) -> Vec<Value> {
        let mut out: Vec<Value> = self
            .text
            .iter()
            .map(|text| json!({ "type": "message", "role": "assistant", "content": [{ "type": "output_text", "text": text }] }))
            .collect();
        for call in &self.calls {
            out.push(match &call.provider {
                Some(_) => json!({ "type": "web_search_call", "id": call.id, "status": "completed", "action": call.args }),
                None => {
                    let mut item = json!({ "type": "function_call", "id": format!("fc_{}", call.name), "call_id": call.id, "name": call.name, "arguments": arguments(&call.args) });
                    if let Some(space) = &call.namespace {
                        item["namespace"] = json!(space);
                    }
                    item
                }
            });
        }
        out
    }
}

/// How the next request repeats a reply.
pub(super) fn echo(interface: Interface, reply: &Reply) -> Vec<Value> {
    match interface {
        Interface::OpenaiResponses => reply.items(),
        other => vec![message(other, reply)],
    }
}

/// How the next request shows answers.
pub(super) fn answers(interface: Interface, reported: &[Reported]) -> Vec<Value> {
    if reported.is_empty() {
        return Vec::new();
    }
    match interface {
        Interface::OpenaiChat => reported
            .iter()
            .map(|reported| json!({ "role": "tool", "tool_call_id": reported.id, "content": reported.text }))
            .collect(),
        Interface::OpenaiResponses => reported
            .iter()
            .map(|reported| json!({ "type": "function_call_output", "call_id": reported.id, "output": reported.text }))
            .collect(),
        Interface::Anthropic => {
            let block = |reported: &Reported| {
                let mut out = json!({ "type": "tool_result", "tool_use_id": reported.id, "content": reported.text });
                if reported.is_error {
                    out["is_error"] = json!(true);
                }
                out
            };
            vec![json!({ "role": "user", "content": reported.iter().map(block).collect::<Vec<_>>() })]
        }
        Interface::Gemini => {
            let part = |reported: &Reported| {
                let mut response = json!({ "name": reported.name, "response": { "output": reported.text } });
                if let Some(id) = &reported.id {
                    response["id"] = json!(id);
                }
                json!({ "functionResponse": response })
            };
            vec![json!({ "role": "user", "parts": reported.iter().map(part).collect::<Vec<_>>() })]
        }
    }
}

fn usage(interface: Interface, (input, output): (u64, u64)) -> Value {
    match interface {
        Interface::OpenaiChat => {
            json!({ "prompt_tokens": input, "completion_tokens": output, "total_tokens": input + output })
        }
        Interface::OpenaiResponses => {
            json!({ "input_tokens": input, "output_tokens": output, "total_tokens": input + output })
        }
        Interface::Anthropic => json!({ "input_tokens": input, "output_tokens": output }),
        Interface::Gemini => {
            // Counts of zero are left out.
            let mut usage = json!({ "promptTokenCount": input, "totalTokenCount": input + output });
            for (key, count) in [("candidatesTokenCount", output - output / 3), ("thoughtsTokenCount", output / 3)] {
                if count > 0 {
                    usage[key] = json!(count);
                }
            }
            usage
        }
    }
}

fn with(mut value: Value, key: &str, more: Option<Value>) -> Value {
    if let Some(more) = more {
        value[key] = more;
    }
    value
}

pub(super) fn plain(interface: Interface, reply: &Reply) -> Body {
    let usage = reply.usage.map(|counts| usage(interface, counts));
    let own = reply.calls.iter().any(|call| call.provider.is_none());
    let body = match interface {
        Interface::OpenaiChat => {
            let finish = if own { "tool_calls" } else { "stop" };
            let choice = json!({ "index": 0, "message": message(interface, reply), "finish_reason": finish });
            with(
                json!({ "id": reply.id, "object": "chat.completion", "model": "m", "choices": [choice] }),
                "usage",
                usage,
            )
        }
        Interface::OpenaiResponses => {
            let body = json!({ "id": reply.id, "object": "response", "model": "m", "status": "completed", "output": reply.items() });
            with(body, "usage", usage)
        }
        Interface::Anthropic => {
            let mut body = message(interface, reply);
            body["id"] = json!(reply.id);
            body["type"] = json!("message");
            body["model"] = json!("m");
            body["stop_reason"] = json!(if own { "tool_use" } else { "end_turn" });
            with(body, "usage", usage)
        }
        Interface::Gemini => {
            let candidate = json!({ "content": message(interface, reply), "finishReason": "STOP", "index": 0 });
            with(json!({ "candidates": [candidate], "modelVersion": "m" }), "usageMetadata", usage)
        }
    };
    Body::Json { rest: body, parts: BTreeMap::new() }
}

/// A text in pieces.
fn pieces(rng: &mut Rng, text: &str) -> Vec<String> {
    let mut out = vec![String::new()];
    for c in text.chars() {
        if rng.chance(20) {
            out.push(String::new());
        }
        out.last_mut().unwrap().push(c);
    }
    out
}

pub(super) fn streamed(interface: Interface, reply: &Reply, rng: &mut Rng) -> Body {
    let usage = reply.usage.map(|counts| usage(interface, counts));
    let own = reply.calls.iter().any(|call| call.provider.is_none());
    let mut out: Vec<(Option<&str>, Value)> = Vec::new();
    match interface {
        Interface::OpenaiChat => {
            let chunk = |delta: Value, finish: Option<&str>| {
                (
                    None,
                    json!({ "id": reply.id, "model": "m", "choices": [{ "index": 0, "delta": delta, "finish_reason": finish }] }),
                )
            };
            out.push(chunk(json!({ "role": "assistant", "content": reply.text.as_ref().map(|_| "") }), None));
            for piece in reply.text.iter().flat_map(|text| pieces(rng, text)) {
                out.push(chunk(json!({ "content": piece }), None));
            }
            for (index, call) in reply.calls.iter().enumerate() {
                out.push(chunk(json!({ "tool_calls": [{ "index": index, "id": call.id, "type": "function", "function": { "name": call.name, "arguments": "" } }] }), None));
                for piece in pieces(rng, &arguments(&call.args)) {
                    out.push(chunk(
                        json!({ "tool_calls": [{ "index": index, "function": { "arguments": piece } }] }),
                        None,
                    ));
                }
            }
            out.push(chunk(json!({}), Some(if own { "tool_calls" } else { "stop" })));
            out.extend(usage.map(|usage| (None, json!({ "id": reply.id, "choices": [], "usage": usage }))));
            out.push((None, json!("[DONE]")));
        }
        Interface::OpenaiResponses => {
            out.push((Some("response.created"), json!({ "type": "response.created", "response": { "id": reply.id, "status": "in_progress", "output": [] } })));
            for (index, item) in reply.items().into_iter().enumerate() {
                out.push((Some("response.output_item.added"), json!({ "type": "response.output_item.added", "output_index": index, "item": { "type": item["type"] } })));
                if let Some(args) = item["arguments"].as_str() {
                    for piece in pieces(rng, args) {
                        out.push((Some("response.function_call_arguments.delta"), json!({ "type": "response.function_call_arguments.delta", "output_index": index, "delta": piece })));
                    }
                }
                out.push((
                    Some("response.output_item.done"),
                    json!({ "type": "response.output_item.done", "output_index": index, "item": item }),
                ));
            }
            let Body::Json { rest, .. } = plain(interface, reply) else { unreachable!() };
            out.push((Some("response.completed"), json!({ "type": "response.completed", "response": rest })));
        }
        Interface::Anthropic => out = blocks(reply, rng),
        Interface::Gemini => {
            let content = message(interface, reply);
            let mut chunks: Vec<Value> = Vec::new();
            for part in content["parts"].as_array().unwrap() {
                match part["text"].as_str() {
                    Some(text) => chunks.extend(pieces(rng, text).into_iter().map(|piece| json!({ "text": piece }))),
                    None => chunks.push(part.clone()),
                }
            }
            for part in chunks {
                out.push((None, json!({ "candidates": [{ "content": { "role": "model", "parts": [part] }, "index": 0 }], "modelVersion": "m" })));
            }
            let last = json!({ "candidates": [{ "content": { "role": "model", "parts": [] }, "finishReason": "STOP", "index": 0 }], "modelVersion": "m" });
            out.push((None, with(last, "usageMetadata", usage)));
        }
    }
    if interface == Interface::Gemini && rng.chance(50) {
        let chunks = out.into_iter().map(|(_, data)| data).collect();
        return Body::Json { rest: Value::Array(chunks), parts: BTreeMap::new() };
    }
    Body::Events(out.into_iter().map(|(name, data)| Event { name: name.map(str::to_owned), data }).collect())
}

fn blocks(reply: &Reply, rng: &mut Rng) -> Vec<(Option<&'static str>, Value)> {
    let own = reply.calls.iter().any(|call| call.provider.is_none());
    let mut out: Vec<(Option<&str>, Value)> = Vec::new();
    let mut start = json!({ "id": reply.id, "type": "message", "role": "assistant", "model": "m", "content": [], "stop_reason": null });
    if let Some((input, _)) = reply.usage {
        start["usage"] = json!({ "input_tokens": input, "output_tokens": 1 });
    }
    out.push((Some("message_start"), json!({ "type": "message_start", "message": start })));
    for (index, block) in message(Interface::Anthropic, reply)["content"].as_array().unwrap().iter().enumerate() {
        let mut first = block.clone();
        let (key, kind, text) = match block["type"].as_str().unwrap() {
            "text" => {
                first["text"] = json!("");
                ("text", "text_delta", block["text"].as_str().unwrap().to_owned())
            }
            "tool_use" | "server_tool_use" => {
                first["input"] = json!({});
                ("partial_json", "input_json_delta", arguments(&block["input"]))
            }
            _ => ("", "", String::new()),
        };
        out.push((
            Some("content_block_start"),
            json!({ "type": "content_block_start", "index": index, "content_block": first }),
        ));
        if !key.is_empty() {
            for piece in pieces(rng, &text) {
                let delta = json!({ "type": kind, key: piece });
                out.push((
                    Some("content_block_delta"),
                    json!({ "type": "content_block_delta", "index": index, "delta": delta }),
                ));
            }
        }
        out.push((Some("content_block_stop"), json!({ "type": "content_block_stop", "index": index })));
    }
    let stop = if own { "tool_use" } else { "end_turn" };
    let last = json!({ "type": "message_delta", "delta": { "stop_reason": stop, "stop_sequence": null } });
    let counts = reply.usage.map(|(_, output)| json!({ "output_tokens": output }));
    out.push((Some("message_delta"), with(last, "usage", counts)));
    out.push((Some("message_stop"), json!({ "type": "message_stop" })));
    out
}
