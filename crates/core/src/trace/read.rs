//! The strict reader: a trace is taken whole or refused with what was found and where.
//!
//! Unknown keys are passed over, so that a newer writer's files stay readable; since an absent key is unknown
//! evidence, a misspelt one makes a gate unassessable and never makes it pass.

use std::fmt;

use serde_json::{Map, Value};

use super::{
    CallError, Conversation, ErrorKind, FaultEffect, FaultKind, FaultMark, Role, StopReason, Tokens, ToolCall,
    ToolResult, Trace, Turn,
};
use crate::diag;
use crate::json;

/// A value that is not a trace: where, what was due, what was found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TraceError {
    /// Path inside the envelope, such as `tool_calls[2].name`; empty for the envelope itself.
    pub path: String,
    /// What was due there.
    pub expected: String,
    /// What was found.
    pub found: String,
}

impl fmt::Display for TraceError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let path = if self.path.is_empty() { "the trace" } else { &self.path };
        write!(f, "{path} must be {}, found {}", self.expected, self.found)
    }
}

impl std::error::Error for TraceError {}

type Read<T> = Result<T, TraceError>;

fn wrong<T>(expected: impl Into<String>, found: &Value) -> Read<T> {
    Err(TraceError { path: String::new(), expected: expected.into(), found: json::describe(found) })
}

/// Puts the path of a part in front of the path inside it.
trait At {
    fn at(self, step: impl fmt::Display) -> Self;
}

impl<T> At for Read<T> {
    fn at(self, step: impl fmt::Display) -> Self {
        self.map_err(|error| {
            let dot = if error.path.is_empty() || error.path.starts_with('[') { "" } else { "." };
            TraceError { path: format!("{step}{dot}{}", error.path), ..error }
        })
    }
}

impl Trace {
    /// Reads an envelope, or a cassette that nests one under `trace`.
    ///
    /// ```
    /// use mcptest_core::Trace;
    /// use serde_json::json;
    ///
    /// let error = Trace::read(&json!({ "tool_calls": "none" })).unwrap_err();
    /// assert_eq!(error.to_string(), "tool_calls must be a list, found a string (\"none\")");
    /// ```
    pub fn read(value: &Value) -> Result<Self, TraceError> {
        if json::deeper_than(value, json::MAX_DEPTH) {
            return Err(TraceError {
                path: String::new(),
                expected: format!("nested at most {} levels deep", json::MAX_DEPTH),
                found: "a deeper value".to_owned(),
            });
        }
        let root = object(value)?;
        match get(root, "trace") {
            Some(inner) => object(inner).and_then(trace).at("trace"),
            None => trace(root),
        }
    }
}

fn trace(map: &Map<String, Value>) -> Read<Trace> {
    let tool_calls = field(map, "tool_calls", |v| list(v, call))?;
    let tool_results = field(map, "tool_results", |v| list(v, nullable_result))?;
    let conversation = field(map, "conversation", conversation)?.unwrap_or_else(Conversation::default);
    let mut final_response = field(map, "final_response", text)?;
    if let Some(results) = &tool_results {
        let expected = match &tool_calls {
            None => Some("absent where tool_calls is".to_owned()),
            Some(calls) if calls.len() < results.len() => {
                Some(format!("at most as long as tool_calls ({})", calls.len()))
            }
            Some(_) => None,
        };
        if let Some(expected) = expected {
            let found = format!("a list of {}", results.len());
            return Err(TraceError { path: "tool_results".to_owned(), expected, found });
        }
    }
    if let Some(turns) = &conversation.turns {
        for (index, call) in tool_calls.iter().flatten().enumerate() {
            if let Some(turn) = call.turn.filter(|turn| *turn >= turns.len()) {
                return Err(TraceError {
                    path: format!("tool_calls[{index}].turn"),
                    expected: format!("an index into conversation.turns (length {})", turns.len()),
                    found: turn.to_string(),
                });
            }
        }
        if final_response.is_none() {
            // The last assistant message is recorded: its text is known, also when it has none.
            let last = turns.iter().rev().find(|turn| turn.role == Role::Assistant);
            final_response = last.map(|turn| turn.content.clone().unwrap_or_else(String::new));
        }
    }
    Ok(Trace { tool_calls, tool_results, final_response, conversation })
}

pub(super) fn call(value: &Value) -> Read<ToolCall> {
    let map = object(value)?;
    let args = match (get(map, "args"), get(map, "arguments")) {
        (Some(_), Some(second)) => return wrong("absent beside `args`", second).at("arguments"),
        (args, arguments) => args.or(arguments).cloned(),
    };
    let caller = field(map, "caller", |v| object(v).map(|_| v.clone()))?;
    Ok(ToolCall {
        name: required(map, "name", text)?,
        server: field(map, "server", text)?,
        args,
        caller: caller.filter(|caller| caller.get("type").and_then(Value::as_str) != Some("direct")),
        id: field(map, "id", text)?,
        turn: field(map, "turn", index)?,
    })
}

fn nullable_result(value: &Value) -> Read<Option<ToolResult>> {
    if value.is_null() { Ok(None) } else { result(value).map(Some) }
}

fn result(value: &Value) -> Read<ToolResult> {
    let map = object(value)?;
    Ok(ToolResult {
        is_error: field(map, "is_error", boolean)?,
        content: field(map, "content", |v| list(v, |block| object(block).map(|_| block.clone())))?,
        structured_content: get(map, "structured_content").cloned(),
        error: field(map, "error", error)?.map(Box::new),
        fault: field(map, "fault", fault)?.map(Box::new),
        duration_ms: field(map, "duration_ms", whole)?,
    })
}

fn error(value: &Value) -> Read<CallError> {
    let map = object(value)?;
    Ok(CallError {
        kind: required(map, "kind", |v| word(v, ErrorKind::ALL, ErrorKind::as_str))?,
        code: field(map, "code", |v| v.as_i64().map_or_else(|| wrong("a whole number", v), Ok))?,
        message: required(map, "message", text)?,
    })
}

fn fault(value: &Value) -> Read<FaultMark> {
    let map = object(value)?;
    Ok(FaultMark {
        name: required(map, "name", text)?,
        kind: required(map, "kind", |v| word(v, FaultKind::ALL, FaultKind::as_str))?,
        effect: required(map, "effect", |v| word(v, FaultEffect::ALL, FaultEffect::as_str))?,
        ms: required(map, "ms", whole)?,
    })
}

fn conversation(value: &Value) -> Read<Conversation> {
    let map = object(value)?;
    Ok(Conversation {
        model: field(map, "model", text)?,
        turns: field(map, "turns", |v| list(v, turn))?,
        tokens: field(map, "tokens", tokens)?.unwrap_or_else(Tokens::default),
        stop_reason: field(map, "stop_reason", |v| word(v, StopReason::ALL, StopReason::as_str))?,
        duration_ms: field(map, "duration_ms", whole)?,
    })
}

fn turn(value: &Value) -> Read<Turn> {
    let map = object(value)?;
    Ok(Turn {
        role: required(map, "role", |v| word(v, Role::ALL, Role::as_str))?,
        // A message without text says so: `content: null`. Leaving the key out would say nothing.
        content: required(map, "content", |v| if v.is_null() { Ok(None) } else { text(v).map(Some) })?,
    })
}

fn tokens(value: &Value) -> Read<Tokens> {
    let map = object(value)?;
    Ok(Tokens {
        input: field(map, "input", whole)?,
        output: field(map, "output", whole)?,
        cached: field(map, "cached", whole)?,
        total: field(map, "total", whole)?,
    })
}

/// The value at `key`, with `null` read as absent.
pub(super) fn get<'a>(map: &'a Map<String, Value>, key: &str) -> Option<&'a Value> {
    map.get(key).filter(|value| !value.is_null())
}

fn field<T>(map: &Map<String, Value>, key: &str, read: impl FnOnce(&Value) -> Read<T>) -> Read<Option<T>> {
    get(map, key).map(read).transpose().at(key)
}

fn required<T>(map: &Map<String, Value>, key: &str, read: impl FnOnce(&Value) -> Read<T>) -> Read<T> {
    match map.get(key) {
        Some(value) => read(value).at(key),
        None => {
            Err(TraceError { path: key.to_owned(), expected: "present".to_owned(), found: "no such key".to_owned() })
        }
    }
}

fn object(value: &Value) -> Read<&Map<String, Value>> {
    value.as_object().map_or_else(|| wrong("an object", value), Ok)
}

fn list<T>(value: &Value, read: impl Fn(&Value) -> Read<T>) -> Read<Vec<T>> {
    let Some(items) = value.as_array() else {
        return wrong("a list", value);
    };
    items.iter().enumerate().map(|(at, item)| read(item).at(format_args!("[{at}]"))).collect()
}

fn text(value: &Value) -> Read<String> {
    value.as_str().map_or_else(|| wrong("a string", value), |text| Ok(text.to_owned()))
}

fn boolean(value: &Value) -> Read<bool> {
    value.as_bool().map_or_else(|| wrong("true or false", value), Ok)
}

/// A whole number of at least 0; `3.0` is one.
pub(super) fn whole(value: &Value) -> Read<u64> {
    let exact = value.as_u64().or_else(|| json::number_text(value.as_number()?).parse().ok());
    exact.map_or_else(|| wrong("a whole number of at least 0", value), Ok)
}

fn index(value: &Value) -> Read<usize> {
    usize::try_from(whole(value)?).or_else(|_| wrong("an index", value))
}

fn word<T: Copy>(value: &Value, all: &[T], spell: impl Fn(T) -> &'static str) -> Read<T> {
    let found = value.as_str().and_then(|word| all.iter().copied().find(|item| spell(*item) == word));
    found.map_or_else(
        || {
            let words: Vec<_> = all.iter().map(|item| spell(*item)).collect();
            let near = value.as_str().and_then(|word| diag::did_you_mean(word, words.iter().copied()));
            let hint = near.map_or_else(String::new, |near| format!(" (did you mean {near}?)"));
            wrong(format!("one of {}{hint}", words.join(", ")), value)
        },
        Ok,
    )
}
