//! `OpenAI` Responses: `POST {base}/responses`.
//!
//! Nothing is stored at the provider: every output item is sent back unchanged, with encrypted reasoning and program
//! fingerprints, so that a run depends only on what it sent.

use mcptest_core::trace::Tokens;
use serde_json::{Value, json};

use super::error::Problem;
use super::wire::{self, Ids};
use super::{Access, ModelRequest};
use crate::agent::{Exchange, Reply, RequestedCall, Stop};

const INCOMPLETE: &[(&str, Stop)] = &[("max_output_tokens", Stop::MaxTokens), ("content_filter", Stop::Refused)];

pub(super) fn body(access: &Access, question: &ModelRequest<'_>) -> Value {
    let mut input = vec![json!({ "role": "user", "content": question.prompt })];
    for exchange in question.exchanges {
        input.extend(echo(exchange));
        input.extend(results(exchange));
    }
    let mut body = json!({
        "model": access.model,
        "input": input,
        "max_output_tokens": question.max_tokens,
        "store": false,
        "include": ["reasoning.encrypted_content"],
    });
    if let Some(system) = question.system {
        body["instructions"] = system.into();
    }
    if !question.tools.is_empty() {
        let tools = question.tools.iter().map(|offered| {
            // Without `strict`, this API makes every optional argument required.
            let mut tool = json!({
                "type": "function",
                "name": offered.wire,
                "parameters": wire::parameters(&offered.tool),
                "strict": false,
            });
            wire::describe(&mut tool, &offered.tool);
            tool
        });
        body["tools"] = tools.collect();
    }
    if let Some(temperature) = question.temperature {
        body["temperature"] = temperature.into();
    }
    body
}

fn echo(exchange: &Exchange) -> Vec<Value> {
    let mut items = exchange.reply.raw.get("output").and_then(Value::as_array).cloned().unwrap_or_else(Vec::new);
    wire::put_ids(items.iter_mut().filter(|item| is_call(item)), "call_id", &exchange.reply.calls);
    items
}

/// One item per answer. A program that made the call finds the answer by `caller`.
fn results(exchange: &Exchange) -> impl Iterator<Item = Value> {
    exchange.reply.calls.iter().zip(&exchange.results).map(|(call, result)| {
        let output = wire::marked_answer(result);
        let mut item = json!({ "type": "function_call_output", "call_id": call.id, "output": output });
        if let Some(caller) = &call.caller {
            item["caller"] = caller.clone();
        }
        item
    })
}

fn is_call(item: &Value) -> bool {
    item.get("type").is_some_and(|kind| kind == "function_call")
}

pub(super) fn reply(raw: Value, question: &ModelRequest<'_>) -> Result<Reply, Problem> {
    let Some(items) = raw.get("output").and_then(Value::as_array) else {
        return Err(Problem::unreadable("it has no `output` list", &raw));
    };
    wire::all(items, "output", |item| item.get("type").is_some_and(Value::is_string), &raw)?;
    let mut stop = match raw.get("status").and_then(Value::as_str) {
        None | Some("completed") => Stop::End,
        Some("incomplete") => {
            let reason = raw.pointer("/incomplete_details/reason").filter(|reason| !reason.is_null());
            wire::stop(Some(reason.unwrap_or(&json!("incomplete"))), INCOMPLETE, None)?
        }
        Some(other) => return Err(Problem::Stopped { reason: other.to_owned(), detail: None }),
    };
    let mut ids = Ids::new(question.exchanges);
    let (mut texts, mut calls) = (Vec::new(), Vec::new());
    for item in items {
        if is_call(item) {
            calls.push(RequestedCall {
                id: ids.take(item.get("call_id")),
                wire: wire::text_at(item, "name").unwrap_or("").to_owned(),
                args: wire::arguments(item.get("arguments")),
                caller: item.get("caller").filter(|caller| !caller.is_null()).cloned(),
            });
        } else if item.get("type").is_some_and(|kind| kind == "message") {
            for part in item.get("content").and_then(Value::as_array).into_iter().flatten() {
                let refusal = wire::text_at(part, "refusal");
                if refusal.is_some() {
                    stop = Stop::Refused;
                }
                texts.extend(refusal.or_else(|| wire::text_at(part, "text")).map(str::to_owned));
            }
        }
    }
    Ok(Reply { texts, calls, tokens: tokens(&raw), stop, raw })
}

fn tokens(raw: &Value) -> Tokens {
    let count = |pointer: &str| wire::count(raw, pointer);
    Tokens {
        input: count("/usage/input_tokens"),
        output: count("/usage/output_tokens"),
        cached: count("/usage/input_tokens_details/cached_tokens"),
        total: count("/usage/total_tokens"),
    }
}
