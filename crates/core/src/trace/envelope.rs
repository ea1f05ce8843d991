//! Writing a trace: the stable, public JSON envelope.

use serde_json::{Map, Value, json};

use super::{Tokens, ToolCall, ToolResult, Trace, Turn};

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
    /// # Ok::<(), mcptest_core::TraceError>(())
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
    put(&mut out, "content", result.content.clone());
    put(&mut out, "structured_content", result.structured_content.clone());
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
