//! Anthropic Messages: `POST {base}/v1/messages`.
//!
//! Content blocks are sent back unchanged, regardless of their type: signatures of thinking, tools that ran at Anthropic, and
//! types that do not exist yet.

use mcptest_core::trace::Tokens;
use serde_json::{Value, json};

use super::error::Problem;
use super::wire::{self, Ids};
use super::{Access, ModelRequest};
use crate::agent::{Exchange, Reply, RequestedCall, Stop};

pub(super) const VERSION: &str = "2026-10-21";

const STOPS: &[(&str, Stop)] = &[
    ("end_turn", Stop::End),
    ("stop_sequence", Stop::End),
    ("tool_use", Stop::End),
    ("pause_turn", Stop::Pause),
    ("max_tokens", Stop::MaxTokens),
    ("model_context_window_exceeded", Stop::MaxTokens),
    ("refusal", Stop::Refused),
];

pub(super) fn body(access: &Access, question: &ModelRequest<'_>) -> Value {
    let mut messages = vec![json!({ "role": "user", "content": question.prompt })];
    for exchange in question.exchanges {
        messages.extend(echo(exchange));
        messages.extend(results(exchange));
    }
    let mut body = json!({ "model": access.model, "max_tokens": question.max_tokens, "messages": messages });
    if let Some(system) = question.system {
        body["system"] = system.into();
    }
    if !question.tools.is_empty() {
        let tools = question.tools.iter().map(|offered| {
            let mut tool = json!({ "name": offered.wire, "input_schema": wire::schema(&offered.tool) });
            wire::describe(&mut tool, &offered.tool);
            tool
        });
        body["tools"] = tools.collect();
    }
    if let Some(temperature) = question.temperature {
        body["temperature"] = temperature.into();
    }
    // Code that the model runs keeps its state in a container, which is kept only if it is named.
    let container = question.exchanges.iter().rev().find_map(|exchange| exchange.reply.raw.pointer("/container/id"));
    if let Some(container) = container {
        body["container"] = container.clone();
    }
    body
}

/// The model's message. An empty one is omitted, because the API rejects it.
fn echo(exchange: &Exchange) -> Option<Value> {
    let mut content = exchange.reply.raw.get("content")?.clone();
    let blocks = content.as_array_mut().filter(|blocks| !blocks.is_empty())?;
    wire::put_ids(blocks.iter_mut().filter(|block| is_call(block)), "id", &exchange.reply.calls);
    Some(json!({ "role": "assistant", "content": content }))
}

/// All answers of a turn, in one message without other content.
fn results(exchange: &Exchange) -> Option<Value> {
    let pairs = exchange.reply.calls.iter().zip(&exchange.results);
    let results: Vec<Value> = pairs
        .map(|(call, result)| {
            let mut text = wire::answer(result);
            let mut block = json!({ "type": "tool_result", "tool_use_id": call.id });
            if wire::has_failed(result) {
                block["is_error"] = true.into();
                // The API rejects an error without content.
                if text.is_empty() {
                    "error".clone_into(&mut text);
                }
            }
            block["content"] = text.into();
            block
        })
        .collect();
    (!results.is_empty()).then(|| json!({ "role": "user", "content": results }))
}

fn is_call(block: &Value) -> bool {
    block.get("type").is_some_and(|kind| kind == "tool_use")
}

pub(super) fn reply(raw: Value, question: &ModelRequest<'_>) -> Result<Reply, Problem> {
    let Some(blocks) = raw.get("content").and_then(Value::as_array) else {
        return Err(Problem::unreadable("it has no `content` list", &raw));
    };
    wire::all(blocks, "content", |block| block.get("type").is_some_and(Value::is_string), &raw)?;
    let texts = blocks.iter().filter(|block| block.get("type").is_some_and(|kind| kind == "text"));
    let texts = texts.filter_map(|block| wire::text_at(block, "text")).map(str::to_owned).collect();
    let mut ids = Ids::new(question.exchanges);
    let calls = blocks.iter().filter(|block| is_call(block)).map(|block| RequestedCall {
        id: ids.take(block.get("id")),
        wire: wire::text_at(block, "name").unwrap_or("").to_owned(),
        args: wire::arguments(block.get("input")),
        caller: block.get("caller").filter(|caller| !caller.is_null()).cloned(),
    });
    let calls = calls.collect();
    let stop = wire::stop(raw.get("stop_reason"), STOPS, None)?;
    Ok(Reply { texts, calls, tokens: tokens(&raw), stop, raw })
}

/// `input_tokens` does not include tokens read from and written to caches.
fn tokens(raw: &Value) -> Tokens {
    let count = |pointer: &str| wire::count(raw, pointer);
    let cached = count("/usage/cache_read_input_tokens");
    let input = count("/usage/input_tokens").map(|input| {
        let written = count("/usage/cache_creation_input_tokens");
        [cached, written].into_iter().flatten().fold(input, u64::saturating_add)
    });
    Tokens { input, output: count("/usage/output_tokens"), cached, total: None }
}
