//! `OpenAI` Chat Completions: `POST {base}/chat/completions`, which most servers of open models also support, with
//! variations.
//!
//! The message is sent back unchanged, with one exception: a call without an id gets the one that its answer refers to.

use mcptest_core::trace::Tokens;
use serde_json::{Value, json};

use super::error::Problem;
use super::wire::{self, Ids};
use super::{Access, ModelRequest};
use crate::agent::{Exchange, Reply, RequestedCall, Stop};

/// Some servers send `stop` instead of `tool_calls`, so the calls themselves decide what happens next.
const STOPS: &[(&str, Stop)] = &[
    ("", Stop::End),
    ("stop", Stop::End),
    ("tool_calls", Stop::End),
    ("function_call", Stop::End),
    ("length", Stop::MaxTokens),
    ("content_filter", Stop::Refused),
];

pub(super) fn body(access: &Access, question: &ModelRequest<'_>) -> Value {
    let mut messages = Vec::new();
    if let Some(system) = question.system {
        messages.push(json!({ "role": "system", "content": system }));
    }
    messages.push(json!({ "role": "user", "content": question.prompt }));
    for exchange in question.exchanges {
        messages.extend(echo(exchange));
        for (call, result) in exchange.reply.calls.iter().zip(&exchange.results) {
            let content = wire::marked_answer(result);
            messages.push(json!({ "role": "tool", "tool_call_id": call.id, "content": content }));
        }
    }
    let mut body = json!({ "model": access.model, "messages": messages });
    body[limit_key(access)] = question.max_tokens.into();
    if !question.tools.is_empty() {
        let tools = question.tools.iter().map(|offered| {
            let mut function = json!({ "name": offered.wire, "parameters": wire::parameters(&offered.tool) });
            wire::describe(&mut function, &offered.tool);
            json!({ "type": "function", "function": function })
        });
        body["tools"] = tools.collect();
    }
    if let Some(temperature) = question.temperature {
        body["temperature"] = temperature.into();
    }
    body
}

/// Newer models of `OpenAI` reject the old name of the limit, and many compatible servers do not know the new one.
fn limit_key(access: &Access) -> &'static str {
    let host = access.endpoint.host_str().unwrap_or("");
    let is_openai = ["openai.com", "openai.azure.com"]
        .iter()
        .any(|own| host.strip_suffix(own).is_some_and(|before| before.is_empty() || before.ends_with('.')));
    if is_openai { "max_completion_tokens" } else { "max_tokens" }
}

fn echo(exchange: &Exchange) -> Option<Value> {
    let mut message = exchange.reply.raw.pointer("/choices/0/message")?.clone();
    if let Some(Value::Array(calls)) = message.get_mut("tool_calls") {
        wire::put_ids(calls.iter_mut().filter(|call| is_call(call)), "id", &exchange.reply.calls);
    }
    if let Value::Object(message) = &mut message {
        message.entry("role").or_insert_with(|| "assistant".into());
    }
    Some(message)
}

fn is_call(call: &Value) -> bool {
    call.get("function").is_some_and(Value::is_object)
}

pub(super) fn reply(raw: Value, question: &ModelRequest<'_>) -> Result<Reply, Problem> {
    let Some(message) = raw.pointer("/choices/0/message").filter(|message| message.is_object()) else {
        return Err(Problem::unreadable("it has no `choices[0].message`", &raw));
    };
    let mut stop = wire::stop(raw.pointer("/choices/0/finish_reason"), STOPS, None)?;
    let mut texts: Vec<String> = match message.get("content") {
        Some(Value::String(text)) => Some(text).filter(|text| !text.is_empty()).cloned().into_iter().collect(),
        // A list of parts is not in the API, but some servers send it. Thinking is not text.
        Some(Value::Array(parts)) => {
            let texts = parts.iter().filter(|part| part.get("type").is_some_and(|kind| kind == "text"));
            texts.filter_map(|part| wire::text_at(part, "text")).map(str::to_owned).collect()
        }
        _ => Vec::new(),
    };
    if let Some(refusal) = wire::text_at(message, "refusal") {
        texts.push(refusal.to_owned());
        stop = Stop::Refused;
    }
    let mut ids = Ids::new(question.exchanges);
    let wanted = wire::list(message, "tool_calls", &raw)?;
    wire::all(wanted, "tool_calls", is_call, &raw)?;
    let calls = wanted.iter().map(|call| RequestedCall {
        id: ids.take(call.get("id")),
        wire: wire::text_at(&call["function"], "name").unwrap_or("").to_owned(),
        args: wire::arguments(call.pointer("/function/arguments")),
        caller: call.get("caller").filter(|caller| !caller.is_null()).cloned(),
    });
    let calls = calls.collect();
    Ok(Reply { texts, calls, tokens: tokens(&raw), stop, raw })
}

fn tokens(raw: &Value) -> Tokens {
    let count = |pointer: &str| wire::count(raw, pointer);
    Tokens {
        input: count("/usage/prompt_tokens"),
        output: count("/usage/completion_tokens"),
        cached: count("/usage/prompt_tokens_details/cached_tokens"),
        total: count("/usage/total_tokens"),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use mcptest_core::suite::{Api, Model, Provider, Template, Variables};

    use super::*;

    fn check(base: &str, expected: &Value) {
        let model = Model {
            provider: Provider::Openai,
            model: None,
            base_url: Some(Template::parse(base).unwrap()),
            api_key_env: None,
            api: Some(Api::Chat),
            price: None,
            script: None,
        };
        let variables = Variables { suite_dir: ".", outside: &|_| Some("key".to_owned()) };
        let access = Access::resolve("m", Some(&model), &BTreeMap::new(), &variables).unwrap();
        let question =
            ModelRequest { system: None, prompt: "Hi", exchanges: &[], tools: &[], max_tokens: 9, temperature: None };
        assert_eq!(&body(&access, &question), expected, "{base}");
    }

    #[test]
    fn openai_gets_the_limit_under_its_new_name_and_others_under_the_old() {
        let messages = json!([{ "role": "user", "content": "Hi" }]);
        for base in ["https://api.openai.com/v1", "https://eu.openai.azure.com/openai/v1", "https://openai.com"] {
            check(base, &json!({ "model": "m", "messages": messages, "max_completion_tokens": 9 }));
        }
        for base in ["http://localhost:11434/v1", "https://notopenai.com/v1", "https://openai.com.example"] {
            check(base, &json!({ "model": "m", "messages": messages, "max_tokens": 9 }));
        }
    }
}
