//! Gemini: `POST {base}/v1beta/models/{model}:generateContent`.
//!
//! Parts are sent back unchanged; a missing `thoughtSignature` makes the next request fail. Calls are answered by their id if
//! they have one, otherwise by name and order, so ids are never generated here.

use mcptest_core::trace::Tokens;
use serde_json::{Value, json};

use super::error::Problem;
use super::wire;
use super::{Access, ModelRequest};
use crate::agent::{Exchange, Reply, RequestedCall, Stop};

/// Other reasons mean that the reply is unusable: a malformed call, an unknown tool.
const STOPS: &[(&str, Stop)] = &[
    ("STOP", Stop::End),
    // Not part of the API, but sent by compatible servers.
    ("FUNCTION_CALL", Stop::End),
    ("MAX_TOKENS", Stop::MaxTokens),
    ("SAFETY", Stop::Refused),
    ("RECITATION", Stop::Refused),
    ("BLOCKLIST", Stop::Refused),
    ("PROHIBITED_CONTENT", Stop::Refused),
    ("SPII", Stop::Refused),
    ("IMAGE_SAFETY", Stop::Refused),
    ("IMAGE_PROHIBITED_CONTENT", Stop::Refused),
    ("IMAGE_RECITATION", Stop::Refused),
];

pub(super) fn body(_: &Access, question: &ModelRequest<'_>) -> Value {
    let mut contents = vec![json!({ "role": "user", "parts": [{ "text": question.prompt }] })];
    for exchange in question.exchanges {
        contents.extend(echo(exchange));
        contents.extend(results(exchange));
    }
    let mut body = json!({ "contents": contents, "generationConfig": { "maxOutputTokens": question.max_tokens } });
    if let Some(system) = question.system {
        body["systemInstruction"] = json!({ "parts": [{ "text": system }] });
    }
    if !question.tools.is_empty() {
        let tools = question.tools.iter().map(|offered| {
            let mut tool = json!({ "name": offered.wire, "parametersJsonSchema": wire::schema(&offered.tool) });
            wire::describe(&mut tool, &offered.tool);
            tool
        });
        body["tools"] = json!([{ "functionDeclarations": tools.collect::<Vec<_>>() }]);
    }
    if let Some(temperature) = question.temperature {
        body["generationConfig"]["temperature"] = temperature.into();
    }
    body
}

fn echo(exchange: &Exchange) -> Option<Value> {
    let mut content = exchange.reply.raw.pointer("/candidates/0/content")?.clone();
    if let Value::Object(content) = &mut content {
        content.entry("role").or_insert_with(|| "model".into());
    }
    Some(content)
}

fn results(exchange: &Exchange) -> Option<Value> {
    let pairs = exchange.reply.calls.iter().zip(&exchange.results);
    let parts: Vec<Value> = pairs
        .map(|(call, result)| {
            let key = if wire::has_failed(result) { "error" } else { "output" };
            let mut response = json!({ "name": call.wire, "response": { key: wire::answer(result) } });
            if !call.id.is_empty() {
                response["id"] = call.id.clone().into();
            }
            json!({ "functionResponse": response })
        })
        .collect();
    (!parts.is_empty()).then(|| json!({ "role": "user", "parts": parts }))
}

pub(super) fn reply(raw: Value) -> Result<Reply, Problem> {
    let Some(candidate) = raw.pointer("/candidates/0").filter(|candidate| candidate.is_object()) else {
        // A blocked prompt has no candidate.
        if raw.pointer("/promptFeedback/blockReason").is_some_and(Value::is_string) {
            return Ok(Reply { tokens: tokens(&raw), stop: Stop::Refused, raw, ..Reply::default() });
        }
        return Err(Problem::unreadable("it has no `candidates[0]`", &raw));
    };
    let stop = wire::stop(candidate.get("finishReason"), STOPS, wire::text_at(candidate, "finishMessage"))?;
    let (mut texts, mut calls) = (Vec::new(), Vec::new());
    let parts = candidate.get("content").map_or(Ok(&[][..]), |content| wire::list(content, "parts", &raw))?;
    let is_part = |part: &Value| part.is_object() && part.get("functionCall").is_none_or(Value::is_object);
    wire::all(parts, "parts", is_part, &raw)?;
    for part in parts {
        if let Some(call) = part.get("functionCall") {
            calls.push(RequestedCall {
                id: wire::text_at(call, "id").unwrap_or("").to_owned(),
                wire: wire::text_at(call, "name").unwrap_or("").to_owned(),
                args: wire::arguments(call.get("args")),
                caller: None,
            });
        } else if part.get("thought") != Some(&Value::Bool(true)) {
            texts.extend(wire::text_at(part, "text").map(str::to_owned));
        }
    }
    Ok(Reply { texts, calls, tokens: tokens(&raw), stop, raw })
}

/// This API omits counts of zero, so an absent count is zero if the prompt is counted.
fn tokens(raw: &Value) -> Tokens {
    let count = |pointer: &str| wire::count(raw, pointer);
    let Some(prompt) = count("/usageMetadata/promptTokenCount") else { return Tokens::default() };
    let sum = |first: u64, second: Option<u64>| second.map_or(first, |second| first.saturating_add(second));
    let written = count("/usageMetadata/candidatesTokenCount").unwrap_or(0);
    Tokens {
        input: Some(sum(prompt, count("/usageMetadata/toolUsePromptTokenCount"))),
        output: Some(sum(written, count("/usageMetadata/thoughtsTokenCount"))),
        cached: Some(sum(0, count("/usageMetadata/cachedContentTokenCount"))),
        total: count("/usageMetadata/totalTokenCount"),
    }
}
