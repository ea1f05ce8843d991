//! What the APIs have in common: tools, arguments, answers and ids.

use std::collections::BTreeSet;

use mcptest_core::json;
use mcptest_core::trace::ToolResult;
use serde_json::{Map, Value, json};

use super::error::Problem;
use super::script::read_args;
use crate::agent::{Exchange, RequestedArgs, RequestedCall, Stop};
use crate::catalog::Tool;

/// The JSON Schema of a tool's arguments as providers accept it: an object. They reject the whole request otherwise, so another
/// type is replaced, and a missing one is added.
pub(super) fn schema(tool: &Tool) -> Value {
    let is_object = |kind: &Value| match kind {
        Value::String(kind) => kind == "object",
        Value::Array(kinds) => kinds.iter().any(|kind| kind == "object"),
        _ => false,
    };
    match &tool.input_schema {
        Value::Object(schema) if schema.get("type").is_none_or(is_object) => {
            let mut schema = schema.clone();
            schema.insert("type".to_owned(), "object".into());
            Value::Object(schema)
        }
        _ => json!({ "type": "object" }),
    }
}

/// The same for `OpenAI`, which rejects an object without `properties`.
pub(super) fn parameters(tool: &Tool) -> Value {
    let mut schema = schema(tool);
    if let Value::Object(schema) = &mut schema
        && !schema.contains_key("properties")
    {
        schema.insert("properties".to_owned(), json!({}));
    }
    schema
}

/// Adds the description to a declaration, if there is one.
pub(super) fn describe(declaration: &mut Value, tool: &Tool) {
    if let (Value::Object(declaration), Some(description)) = (declaration, &tool.description) {
        declaration.insert("description".to_owned(), description.clone().into());
    }
}

/// Arguments in any form that servers send: an object, or its text. A missing value and empty text mean no arguments.
pub(super) fn arguments(value: Option<&Value>) -> RequestedArgs {
    match value {
        None | Some(Value::Null) => RequestedArgs::Object(Map::new()),
        Some(Value::Object(map)) => RequestedArgs::Object(map.clone()),
        Some(Value::String(text)) if text.trim().is_empty() => RequestedArgs::Object(Map::new()),
        Some(Value::String(text)) => read_args(text.clone()),
        Some(other) => read_args(other.to_string()),
    }
}

/// An answer as one text, which every API accepts: text blocks unchanged, structured content as JSON if there is no text block,
/// other blocks as JSON without their data. A model under test sees that there is an image and its type, not the image.
pub(super) fn answer(result: &ToolResult) -> String {
    let blocks = result.content.iter().flatten();
    let mut parts: Vec<String> = blocks.map(|found| block(found)).collect();
    if let Some(structured) = &result.structured_content
        && !result.content.iter().flatten().any(|found| is_text(found))
    {
        parts.insert(0, json::canonical(structured));
    }
    let text = parts.join("\n");
    match &result.error {
        Some(error) if text.is_empty() => error.message.clone(),
        _ => text,
    }
}

/// The same for APIs that have no error flag.
pub(super) fn marked_answer(result: &ToolResult) -> String {
    let text = answer(result);
    if has_failed(result) { format!("error: {text}") } else { text }
}

/// Whether an answer is an error.
pub(super) fn has_failed(result: &ToolResult) -> bool {
    result.failed() == Some(true)
}

fn is_text(block: &Value) -> bool {
    block.get("type").is_some_and(|kind| kind == "text")
}

fn block(block: &Value) -> String {
    if let Some(text) = block.get("text").and_then(Value::as_str).filter(|_| is_text(block)) {
        return text.to_owned();
    }
    let mut block = block.clone();
    for place in ["/data", "/resource/blob"] {
        if let Some(Value::String(data)) = block.pointer_mut(place) {
            *data = format!("[{} characters]", data.len());
        }
    }
    json::canonical(&block)
}

/// Ids of calls. Compatible servers send none, or duplicates; such a call gets an id of nine letters and digits, which even the
/// strictest servers accept.
pub(super) struct Ids {
    taken: BTreeSet<String>,
    /// The number of the last generated id.
    last: usize,
}

impl Ids {
    /// The ids of all calls so far.
    pub(super) fn new(exchanges: &[Exchange]) -> Self {
        let calls = exchanges.iter().flat_map(|exchange| &exchange.reply.calls);
        Self { taken: calls.map(|call| call.id.clone()).collect(), last: 0 }
    }

    /// The id of a call.
    pub(super) fn take(&mut self, given: Option<&Value>) -> String {
        let given = given.and_then(Value::as_str).filter(|id| !id.is_empty() && !self.taken.contains(*id));
        let id = match given {
            Some(given) => given.to_owned(),
            // Numbers only go up: searching from the start for each call would be quadratic.
            None => {
                self.last = self.last.max(self.taken.len()) + 1;
                while self.taken.contains(&made_up(self.last)) {
                    self.last += 1;
                }
                made_up(self.last)
            }
        };
        self.taken.insert(id.clone());
        id
    }
}

fn made_up(number: usize) -> String {
    format!("call{number:05}")
}

/// Sets the ids that the answers refer to in calls that are sent back.
pub(super) fn put_ids<'v>(items: impl Iterator<Item = &'v mut Value>, key: &str, calls: &[RequestedCall]) {
    for (item, call) in items.zip(calls) {
        if let Value::Object(item) = item {
            item.insert(key.to_owned(), call.id.clone().into());
        }
    }
}

/// The list at a key. Servers write an empty one as absent or null; anything else could contain calls that would be missed.
pub(super) fn list<'v>(value: &'v Value, key: &str, raw: &Value) -> Result<&'v [Value], Problem> {
    match value.get(key) {
        None | Some(Value::Null) => Ok(&[]),
        Some(Value::Array(items)) => Ok(items),
        Some(_) => Err(Problem::unreadable(&format!("`{key}` is not a list"), raw)),
    }
}

/// Refuses a reply with an unknown item at `key`: it could be a call.
pub(super) fn all(items: &[Value], key: &str, fits: impl Fn(&Value) -> bool, raw: &Value) -> Result<(), Problem> {
    match items.iter().position(|item| !fits(item)) {
        Some(at) => Err(Problem::unreadable(&format!("`{key}[{at}]` is not recognized"), raw)),
        None => Ok(()),
    }
}

/// The string at a key, unless it is empty.
pub(super) fn text_at<'v>(value: &'v Value, key: &str) -> Option<&'v str> {
    value.get(key)?.as_str().filter(|text| !text.is_empty())
}

/// A count; absent is unknown.
pub(super) fn count(usage: &Value, pointer: &str) -> Option<u64> {
    usage.pointer(pointer)?.as_u64()
}

/// The meaning of a stop reason. An unknown reason must not pass for a complete reply; some compatible servers send no reason.
pub(super) fn stop(reason: Option<&Value>, table: &[(&str, Stop)], detail: Option<&str>) -> Result<Stop, Problem> {
    let reason = match reason {
        None | Some(Value::Null) => return Ok(Stop::End),
        Some(Value::String(reason)) => reason.clone(),
        Some(other) => other.to_string(),
    };
    match table.iter().find(|(known, _)| *known == reason) {
        Some((_, stop)) => Ok(*stop),
        None => Err(Problem::Stopped { reason, detail: detail.map(str::to_owned) }),
    }
}
