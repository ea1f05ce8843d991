//! Writing a trace: the stable, public JSON envelope.

use serde_json::{Map, Value, json};

use super::{Conversation, Tokens, ToolCall, ToolResult, Trace, Turn};
use crate::json::Layout;

impl Trace {
    /// The envelope as JSON. What is unknown is left out, so `Trace::read` gives the same trace back; a final response
    /// that was not recorded is read off the last assistant turn, where there is one.
    ///
    /// ```
    /// use mcptest_core::trace::{ConversationTrace, ToolCall};
    /// use serde_json::json;
    ///
    /// let recorded = ConversationTrace {
    ///     tool_calls: Some(vec![ToolCall {
    ///         name: "read_meter".into(),
    ///         server: Some("grid".into()),
    ///         args: Some(json!({ "id": 7 })),
    ///         ..ToolCall::default()
    ///     }]),
    ///     ..ConversationTrace::default()
    /// };
    /// let envelope = recorded.to_envelope();
    /// assert_eq!(envelope["tool_names"], json!(["read_meter"]));
    /// assert_eq!(ConversationTrace::read(&envelope)?, recorded);
    /// # Ok::<(), mcptest_core::JsonError>(())
    /// ```
    pub fn to_envelope(&self) -> Value {
        let mut out = Map::new();
        if let Some(calls) = &self.tool_calls {
            out.insert("tool_calls".into(), calls.iter().map(call).collect());
            out.insert("tool_names".into(), calls.iter().map(|call| call.name.as_str()).collect());
        }
        if let Some(results) = &self.tool_results {
            let results = results.iter().map(|known| known.as_ref().map_or(Value::Null, result));
            out.insert("tool_results".into(), results.collect());
        }
        put(&mut out, "final_response", self.final_response.as_deref());
        let mut conversation = Map::new();
        put(&mut conversation, "model", self.conversation.model.as_deref());
        if let Some(turns) = &self.conversation.turns {
            conversation.insert("turns".into(), turns.iter().map(turn).collect());
        }
        let tokens = tokens(&self.conversation.tokens);
        if !tokens.is_empty() {
            conversation.insert("tokens".into(), Value::Object(tokens));
        }
        put(&mut conversation, "stop_reason", self.conversation.stop_reason.map(super::StopReason::as_str));
        put(&mut conversation, "duration_ms", self.conversation.duration_ms);
        if !conversation.is_empty() {
            out.insert("conversation".into(), Value::Object(conversation));
        }
        Value::Object(out)
    }
}

impl serde::Serialize for Trace {
    fn serialize<S: serde::Serializer>(&self, out: S) -> Result<S::Ok, S::Error> {
        self.to_envelope().serialize(out)
    }
}

fn put(map: &mut Map<String, Value>, key: &str, value: Option<impl Into<Value>>) {
    if let Some(value) = value {
        map.insert(key.to_owned(), value.into());
    }
}

fn call(call: &ToolCall) -> Value {
    let mut out = Map::new();
    out.insert("name".into(), call.name.as_str().into());
    put(&mut out, "server", call.server.as_deref());
    put(&mut out, "args", call.args.clone());
    put(&mut out, "caller", call.caller.clone());
    put(&mut out, "id", call.id.as_deref());
    put(&mut out, "turn", call.turn);
    Value::Object(out)
}

fn result(result: &ToolResult) -> Value {
    let mut out = Map::new();
    put(&mut out, "is_error", result.is_error);
    put(
        &mut out,
        "content",
        result.content.as_ref().map(|blocks| blocks.iter().map(|block| (**block).clone()).collect::<Value>()),
    );
    put(&mut out, "structured_content", result.structured_content.as_deref().cloned());
    if let Some(error) = &result.error {
        let mut inner = Map::new();
        inner.insert("kind".into(), error.kind.as_str().into());
        put(&mut inner, "code", error.code);
        inner.insert("message".into(), error.message.as_str().into());
        out.insert("error".into(), Value::Object(inner));
    }
    if let Some(fault) = &result.fault {
        let mark = json!({
            "name": fault.name, "kind": fault.kind.as_str(), "effect": fault.effect.as_str(), "ms": fault.ms,
        });
        out.insert("fault".into(), mark);
    }
    put(&mut out, "duration_ms", result.duration_ms);
    Value::Object(out)
}

fn turn(turn: &Turn) -> Value {
    json!({ "role": turn.role.as_str(), "content": turn.content })
}

fn tokens(tokens: &Tokens) -> Map<String, Value> {
    let mut out = Map::new();
    put(&mut out, "input", tokens.input);
    put(&mut out, "output", tokens.output);
    put(&mut out, "cached", tokens.cached);
    put(&mut out, "total", tokens.total);
    out
}

impl Trace {
    /// Writes what [`Trace::to_envelope`] gives, piece by piece. What reads like an absent key is left out.
    pub fn write(&self, out: &mut Layout) {
        out.object(|out| {
            if self.conversation != Conversation::default() {
                out.key("conversation").object(|out| write_conversation(out, &self.conversation));
            }
            write_text(out, "final_response", self.final_response.as_deref());
            if let Some(calls) = &self.tool_calls {
                out.key("tool_calls").list(calls, |out, call| out.object(|out| write_call(out, call)));
                out.key("tool_names").list(calls, |out, call| out.text(&call.name));
            }
            if let Some(results) = &self.tool_results {
                out.key("tool_results").list(results, |out, result| match result {
                    Some(result) => out.object(|out| write_result(out, result)),
                    None => out.plain("null"),
                });
            }
        });
    }
}

fn write_text(out: &mut Layout, key: &str, text: Option<&str>) {
    if let Some(text) = text {
        out.key(key).text(text);
    }
}

fn write_plain(out: &mut Layout, key: &str, value: Option<impl std::fmt::Display>) {
    if let Some(value) = value {
        out.key(key).plain(value);
    }
}

/// A value that is null is no evidence, and reads as if it were not there.
fn write_value(out: &mut Layout, key: &str, value: Option<&Value>) {
    if let Some(value) = value.filter(|value| !value.is_null()) {
        out.key(key).value(value);
    }
}

fn write_conversation(out: &mut Layout, conversation: &Conversation) {
    write_plain(out, "duration_ms", conversation.duration_ms);
    write_text(out, "model", conversation.model.as_deref());
    write_text(out, "stop_reason", conversation.stop_reason.map(super::StopReason::as_str));
    let tokens = &conversation.tokens;
    if *tokens != Tokens::default() {
        out.key("tokens").object(|out| {
            write_plain(out, "cached", tokens.cached);
            write_plain(out, "input", tokens.input);
            write_plain(out, "output", tokens.output);
            write_plain(out, "total", tokens.total);
        });
    }
    if let Some(turns) = &conversation.turns {
        out.key("turns").list(turns, |out, turn| {
            out.object(|out| {
                match &turn.content {
                    Some(text) => out.key("content").text(text),
                    None => out.key("content").plain("null"),
                }
                out.key("role").text(turn.role.as_str());
            });
        });
    }
}

fn write_call(out: &mut Layout, call: &ToolCall) {
    write_value(out, "args", call.args.as_ref());
    write_value(out, "caller", call.caller.as_ref());
    write_text(out, "id", call.id.as_deref());
    out.key("name").text(&call.name);
    write_text(out, "server", call.server.as_deref());
    write_plain(out, "turn", call.turn);
}

fn write_result(out: &mut Layout, result: &ToolResult) {
    if let Some(blocks) = &result.content {
        out.key("content").list(blocks, |out, block| out.value(block));
    }
    write_plain(out, "duration_ms", result.duration_ms);
    if let Some(error) = &result.error {
        out.key("error").object(|out| {
            write_plain(out, "code", error.code);
            out.key("kind").text(error.kind.as_str());
            out.key("message").text(&error.message);
        });
    }
    if let Some(fault) = &result.fault {
        out.key("fault").object(|out| {
            out.key("effect").text(fault.effect.as_str());
            out.key("kind").text(fault.kind.as_str());
            out.key("ms").plain(fault.ms);
            out.key("name").text(&fault.name);
        });
    }
    write_plain(out, "is_error", result.is_error);
    write_value(out, "structured_content", result.structured_content.as_deref());
}
