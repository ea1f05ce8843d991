//! One conversation in the format of every interface. The turn is derived from the request alone, as real models do.

use std::borrow::Cow;

use serde_json::{Value, json};

use super::provider::{Answer, Request};
use super::streamed;

/// What a model says in one turn.
pub(crate) struct Turn {
    pub(crate) text: Option<String>,
    pub(crate) calls: Vec<(Cow<'static, str>, Value)>,
}

impl Turn {
    pub(crate) fn text(text: impl Into<String>) -> Self {
        Self { text: Some(text.into()), calls: Vec::new() }
    }
}

/// Two calls at once, of which the second fails, one more call, and `last` as the closing message.
pub(crate) fn turn(answered: usize, last: &str) -> Turn {
    match answered {
        0 => Turn {
            text: Some("Looking.".to_owned()),
            calls: vec![
                ("desk__search".into(), json!({ "q": "rain" })),
                ("desk__refund".into(), json!({ "invoice": 7 })),
            ],
        },
        2 => Turn { text: None, calls: vec![("desk__get_invoice".into(), json!({ "id": 7 }))] },
        _ => Turn::text(last),
    }
}

/// An interface, reported by the path of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Dialect {
    Messages,
    Responses,
    Chat,
    Gemini,
}

impl Dialect {
    pub(crate) fn of(request: &Request) -> Option<Self> {
        match request.path.split('?').next().unwrap_or_default() {
            "/v1/messages" => Some(Self::Messages),
            "/v1/responses" => Some(Self::Responses),
            "/v1/chat/completions" => Some(Self::Chat),
            path if (path.starts_with("/v1beta/models/") || path.starts_with("/v1/models/"))
                && (path.ends_with(":generateContent") || path.ends_with(":streamGenerateContent")) =>
            {
                Some(Self::Gemini)
            }
            _ => None,
        }
    }

    /// The key as this interface wants it sent.
    pub(crate) fn key(self, request: &Request) -> &str {
        match self {
            Self::Messages => request.header("x-api-key"),
            Self::Gemini => request.header("x-goog-api-key"),
            Self::Responses | Self::Chat => request.header("authorization").strip_prefix("Bearer ").unwrap_or(""),
        }
    }

    /// How many calls are answered. A request that continues a reply by its id leaves out what came before.
    pub(crate) fn answered(self, body: &Value) -> usize {
        let continued = match self {
            Self::Messages => &body["thread"]["previous_message_id"],
            Self::Responses => &body["previous_response_id"],
            Self::Chat | Self::Gemini => &Value::Null,
        };
        let before = continued.as_str().and_then(|id| id.rsplit('_').next()?.parse().ok()).unwrap_or(0);
        let here = match self {
            Self::Messages => count(body, &|value| value["type"] == "tool_result"),
            Self::Responses => count(body, &|value| {
                value["type"] == "function_call_output" || value["type"] == "custom_tool_call_output"
            }),
            Self::Chat => count(body, &|value| value["role"] == "tool"),
            Self::Gemini => count(body, &|value| value["functionResponse"].is_object()),
        };
        before + here
    }

    /// A turn in the format of the interface. Each reads 100 tokens, 40 of them from a cache, and writes 20.
    pub(crate) fn say(self, turn: &Turn, answered: usize) -> Value {
        let Turn { text, calls } = turn;
        let calls = || (answered + 1..).zip(calls);
        match self {
            Self::Messages => {
                let mut content = vec![json!({ "type": "thinking", "thinking": "Hm.", "signature": "c2ln" })];
                content.extend(text.iter().map(|text| json!({ "type": "text", "text": text })));
                content.extend(calls().map(|(at, (name, input))| {
                    json!({ "type": "tool_use", "id": format!("toolu_{at}"), "name": name, "input": input })
                }));
                let reason = if turn.calls.is_empty() { "end_turn" } else { "tool_use" };
                let usage = json!({
                    "input_tokens": 60, "cache_read_input_tokens": 40, "cache_creation_input_tokens": 0, "output_tokens": 20,
                });
                json!({
                    "id": format!("msg_{answered}"), "type": "message", "role": "assistant", "model": "model-1", "content": content,
                    "stop_reason": reason, "stop_sequence": null, "usage": usage,
                })
            }
            Self::Responses => {
                let mut output =
                    vec![json!({ "type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "ZW5j" })];
                output.extend(text.iter().map(|text| {
                    let content = json!([{ "type": "output_text", "text": text, "annotations": [] }]);
                    json!({ "type": "message", "id": "msg_1", "role": "assistant", "status": "completed", "content": content })
                }));
                output.extend(calls().map(|(at, (name, arguments))| {
                    let mut call = json!({
                        "type": "function_call", "id": format!("fc_{at}"), "call_id": format!("call_{at}"),
                        "name": name, "arguments": arguments.to_string(), "status": "completed",
                    });
                    // A call of free text has no arguments.
                    if arguments.is_string() {
                        call = json!({
                            "type": "custom_tool_call", "id": format!("ctc_{at}"), "call_id": format!("call_{at}"),
                            "name": name, "input": arguments, "status": "completed",
                        });
                    }
                    // Written as `namespace::tool`.
                    if let Some((namespace, name)) = name.split_once("::") {
                        (call["namespace"], call["name"]) = (namespace.into(), name.into());
                    }
                    call
                }));
                let usage = json!({
                    "input_tokens": 100, "input_tokens_details": { "cached_tokens": 40 },
                    "output_tokens": 20, "output_tokens_details": { "reasoning_tokens": 5 }, "total_tokens": 120,
                });
                json!({
                    "id": format!("resp_{answered}"), "object": "response", "created_at": 1, "model": "model-1", "status": "completed",
                    "parallel_tool_calls": true, "tool_choice": "auto", "tools": [], "output": output, "usage": usage,
                })
            }
            Self::Chat => {
                let mut message = json!({ "role": "assistant", "content": text });
                if !turn.calls.is_empty() {
                    message["tool_calls"] = calls()
                        .map(|(at, (name, arguments))| {
                            let function = json!({ "name": name, "arguments": arguments.to_string() });
                            json!({ "id": format!("call_{at}"), "type": "function", "function": function })
                        })
                        .collect();
                }
                let reason = if turn.calls.is_empty() { "stop" } else { "tool_calls" };
                let usage = json!({
                    "prompt_tokens": 100, "prompt_tokens_details": { "cached_tokens": 40 },
                    "completion_tokens": 20, "total_tokens": 120,
                });
                let choice = json!({ "index": 0, "message": message, "finish_reason": reason });
                json!({
                    "id": "chatcmpl-1", "object": "chat.completion", "created": 1, "model": "model-1",
                    "choices": [choice], "usage": usage,
                })
            }
            Self::Gemini => {
                let mut parts: Vec<Value> = text.iter().map(|text| json!({ "text": text })).collect();
                parts.extend(calls().map(|(at, (name, args))| {
                    let call = json!({ "id": format!("g{at}"), "name": name, "args": args });
                    json!({ "functionCall": call, "thoughtSignature": "c2ln" })
                }));
                let usage = json!({
                    "promptTokenCount": 100, "cachedContentTokenCount": 40, "candidatesTokenCount": 15,
                    "thoughtsTokenCount": 5, "totalTokenCount": 120,
                });
                let content = json!({ "role": "model", "parts": parts });
                let candidate = json!({ "index": 0, "content": content, "finishReason": "STOP" });
                json!({ "candidates": [candidate], "usageMetadata": usage, "modelVersion": "model-1" })
            }
        }
    }
}

fn count(value: &Value, fits: &dyn Fn(&Value) -> bool) -> usize {
    let inside = match value {
        Value::Array(items) => items.iter().map(|item| count(item, fits)).sum(),
        Value::Object(fields) => fields.values().map(|field| count(field, fits)).sum(),
        _ => 0,
    };
    inside + usize::from(value.is_object() && fits(value))
}

/// Whether the request offers tools. The advisory request does not.
pub(crate) fn has_tools(request: &Request) -> bool {
    request.body.get("tools").is_some()
}

/// Answers in the interface of the request, as a stream if it asks for one, with the turn that `speak` gives for the number of answered calls.
pub(crate) fn answer(request: &Request, speak: impl FnOnce(usize) -> Turn) -> Answer {
    let Some(dialect) = Dialect::of(request) else {
        return Answer::status(404, "", format!("nothing is at {}", request.path));
    };
    let answered = dialect.answered(&request.body);
    let reply = dialect.say(&speak(answered), answered);
    if streamed::is_asked(request) { streamed::answer(dialect, &reply, request) } else { Answer::json(&reply) }
}
