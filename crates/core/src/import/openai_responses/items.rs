//! The types of items, and the call and the answer that an item holds.

use std::fmt::Display;

use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::value::RawValue;
use serde_json::{Map, Value};

use crate::import::bounded_list::Element;
use crate::import::message::{self, Message};
use crate::import::openai_content::{self, Content, PartTypes};
use crate::import::shape::Shape;
use crate::import::unread_calls::with_unread_calls;
use crate::import::wire::{self, Text};
use crate::import::{ImportError, results};
use crate::trace::{CallError, ErrorKind, Role, ToolResult};

pub(super) const PARTS: PartTypes = PartTypes {
    texts: &["input_text", "output_text", "text"],
    others: &["input_image", "input_file", "input_audio", "output_audio", "reasoning_text", "summary_text"],
};

/// Whose messages there are.
const ROLES: [&str; 4] = ["system", "developer", "user", "assistant"];

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Message,
    /// Neither text nor call nor answer. An approval is not a call: what was approved is called in an item of its own.
    Neither,
    /// A call of a function, or of a tool that takes free text. The item names the tool.
    Named,
    /// A call of a tool that the provider defines. Whoever runs it answers in an item of its own.
    Requested(&'static str),
    /// The same, run by the provider, with the answer in the item.
    Run(&'static str),
    /// A call of an MCP tool, run by the provider, with the answer in the item.
    Mcp,
    Answer,
}

impl Kind {
    /// Whether the answer to the call is an item of its own.
    pub(super) fn waits(self) -> bool {
        matches!(self, Self::Named | Self::Requested(_))
    }
}

pub(super) fn kind(word: &str) -> Option<Kind> {
    Some(match word {
        "message" => Kind::Message,
        "reasoning" | "mcp_list_tools" | "mcp_approval_request" | "mcp_approval_response" => Kind::Neither,
        "function_call" | "custom_tool_call" => Kind::Named,
        "mcp_call" => Kind::Mcp,
        "web_search_call" => Kind::Run("web_search"),
        "file_search_call" => Kind::Run("file_search"),
        "code_interpreter_call" => Kind::Run("code_interpreter"),
        "image_generation_call" => Kind::Run("image_generation"),
        "computer_call" => Kind::Requested("computer"),
        "local_shell_call" => Kind::Requested("local_shell"),
        "shell_call" => Kind::Requested("shell"),
        "apply_patch_call" => Kind::Requested("apply_patch"),
        "tool_search_call" => Kind::Requested("tool_search"),
        "program" => Kind::Requested("program"),
        "function_call_output"
        | "custom_tool_call_output"
        | "computer_call_output"
        | "local_shell_call_output"
        | "shell_call_output"
        | "apply_patch_call_output"
        | "tool_search_output"
        | "program_output" => Kind::Answer,
        _ => return None,
    })
}

with_unread_calls! {
    /// An item. Which keys it has depends on its type.
    #[derive(Debug, Deserialize)]
    pub(super) struct Item<'a> {
        #[serde(rename = "type", borrow)]
        pub(super) kind: Option<Text<'a>>,
        id: Option<Text<'a>>,
        call_id: Option<Text<'a>>,
        pub(super) role: Option<Text<'a>>,
        pub(super) content: Option<Content<'a>>,
        name: Option<Text<'a>>,
        /// Where tools of one server are grouped: `mcp__SERVER`.
        namespace: Option<Text<'a>>,
        pub(super) server_label: Option<Text<'a>>,
        status: Option<Text<'a>>,
        caller: Option<&'a RawValue>,
        /// Only messages of Chat Completions have this.
        pub(super) tool_calls: Option<IgnoredAny>,
        #[serde(default, deserialize_with = "wire::present")]
        arguments: Option<&'a RawValue>,
        input: Option<&'a RawValue>,
        action: Option<&'a RawValue>,
        actions: Option<&'a RawValue>,
        operation: Option<&'a RawValue>,
        queries: Option<&'a RawValue>,
        code: Option<&'a RawValue>,
        output: Option<&'a RawValue>,
        outputs: Option<&'a RawValue>,
        results: Option<&'a RawValue>,
        result: Option<&'a RawValue>,
        tools: Option<&'a RawValue>,
        error: Option<&'a RawValue>,
    }
    unread: [toolCalls, toolInvocations, function_call]
}

impl Element for Item<'_> {
    fn is_incomplete(&self) -> bool {
        match (self.kind.as_deref(), self.role.as_deref()) {
            (Some(word), _) => kind(word).is_none(),
            (None, role) => role.is_none_or(|role| !ROLES.contains(&role)),
        }
    }
}

impl Item<'_> {
    /// The id that a call and its answer share.
    pub(super) fn call_id(&self) -> Option<String> {
        message::id(self.call_id.as_deref().or(self.id.as_deref()))
    }

    pub(super) fn tool(&self, place: &dyn Display) -> Result<String, ImportError> {
        let no_name = || ImportError::new(format!("{place} has no `name`")).hint("a call names its tool");
        let name = self.name.as_deref().ok_or_else(no_name)?;
        Ok(match self.namespace.as_deref().map(|space| space.trim_end_matches('_')) {
            None | Some("") => name.to_owned(),
            Some(space) => format!("{space}__{name}"),
        })
    }

    /// The code of the model that made the call; `None` where the model made it itself.
    pub(super) fn caller(&self, place: &dyn Display) -> Result<Option<Value>, ImportError> {
        let caller = self.caller.map(|raw| value(raw, "caller", place)).transpose()?;
        Ok(caller.filter(|caller| caller.is_object() && caller.get("type").and_then(Value::as_str) != Some("direct")))
    }

    /// The arguments of a call, under the key that its type has; `None` when the item does not record them.
    pub(super) fn args(&self, is_free_text: bool, place: &dyn Display) -> Result<Option<Value>, ImportError> {
        if is_free_text {
            return self.input.map(|raw| value(raw, "input", place)).transpose();
        }
        let args = wire::optional(self.arguments, wire::arguments, format_args!("{place}.arguments"))?;
        if args.is_some() {
            return Ok(args);
        }
        for (key, raw) in [("action", self.action), ("operation", self.operation)] {
            if let Some(raw) = raw {
                return value(raw, key, place).map(Some);
            }
        }
        let mut out = Map::new();
        for (key, raw) in [("actions", self.actions), ("queries", self.queries), ("code", self.code)] {
            if let Some(raw) = raw {
                out.insert(key.to_owned(), value(raw, key, place)?);
            }
        }
        Ok((!out.is_empty()).then_some(Value::Object(out)))
    }

    /// The result of a call that the provider ran; `None` while it is not known.
    pub(super) fn provider_result(&self, place: &dyn Display) -> Result<Option<ToolResult>, ImportError> {
        let is_error = match self.status.as_deref() {
            Some("completed") => Some(false),
            Some("failed") => Some(true),
            _ => return Ok(None),
        };
        Ok(Some(match (self.outputs, self.results) {
            (Some(raw), _) => results::of_value(logs(value(raw, "outputs", place)?), is_error),
            (None, Some(raw)) => result(raw, is_error, "results", place)?,
            (None, None) => ToolResult { is_error, ..ToolResult::default() },
        }))
    }

    /// The result of an MCP call, which has `error` when it failed.
    pub(super) fn mcp_result(&self, place: &dyn Display) -> Result<Option<ToolResult>, ImportError> {
        if let Some(raw) = self.error {
            return value(raw, "error", place).map(|error| Some(mcp_error(error)));
        }
        let is_error = match self.status.as_deref() {
            None if self.output.is_some() => Some(false),
            Some("completed") => Some(false),
            Some("failed") => Some(true),
            _ => return Ok(None),
        };
        let Some(raw) = self.output else { return Ok(Some(ToolResult { is_error, ..ToolResult::default() })) };
        result(raw, is_error, "output", place).map(Some)
    }

    /// An answer that is an item of its own. Only patches report whether they failed.
    pub(super) fn answer(&self, word: &str, place: &dyn Display) -> Result<ToolResult, ImportError> {
        let is_error = match (word, self.status.as_deref()) {
            ("apply_patch_call_output", Some("completed")) => Some(false),
            ("apply_patch_call_output", Some("failed")) => Some(true),
            _ => None,
        };
        let outputs = [("output", self.output), ("result", self.result), ("tools", self.tools)];
        let Some((key, raw)) = outputs.into_iter().find_map(|(key, raw)| Some((key, raw?))) else {
            return Ok(ToolResult { is_error, ..ToolResult::default() });
        };
        // A list of parts is text like any other; a list of anything else is kept as its JSON.
        if raw.get().starts_with('[')
            && let Ok(content) = wire::part::<Content<'_>>(raw)
        {
            let mut parts = Message::new(Role::Tool);
            if openai_content::add(&mut parts, Some(&content), &PARTS, place).is_ok() {
                return Ok(parts.text().map_or_else(
                    || results::of_value(Value::Null, is_error),
                    |text| results::of_text(text, is_error),
                ));
            }
        }
        result(raw, is_error, key, place)
    }
}

/// The answer at a key of the item at `place`.
fn result(raw: &RawValue, is_error: Option<bool>, key: &str, place: &dyn Display) -> Result<ToolResult, ImportError> {
    results::of_raw(raw, is_error).map_err(|error| error.at(format_args!("{place}.{key}")))
}

/// The value of a key of the item at `place`.
fn value(raw: &RawValue, key: &str, place: &dyn Display) -> Result<Value, ImportError> {
    wire::value(raw).map_err(|error| error.at(format_args!("{place}.{key}")))
}

/// What code printed, as one text; other outputs stay as they are.
fn logs(outputs: Value) -> Value {
    let Value::Array(list) = &outputs else { return outputs };
    let printed: Option<Vec<&str>> = list.iter().map(|output| output.get("logs")?.as_str()).collect();
    match printed {
        Some(printed) => Value::String(printed.join("\n")),
        None => outputs,
    }
}

/// An error of MCP: a text, or an object that names its layer.
fn mcp_error(error: Value) -> ToolResult {
    let Value::Object(mut map) = error else { return results::of_value(error, Some(true)) };
    let kind = match map.get("type").and_then(Value::as_str) {
        Some("http_error") => ErrorKind::Http,
        Some("mcp_protocol_error" | "protocol_error") => ErrorKind::Jsonrpc,
        _ => ErrorKind::Tool,
    };
    let code = map.get("code").and_then(Value::as_i64);
    let text = ["content", "message"].iter().find_map(|key| map.remove(*key)).filter(|text| !text.is_null());
    let mut result = results::of_value(text.unwrap_or(Value::Object(map)), Some(true));
    let message = result.text().unwrap_or_default().into_string();
    result.error = Some(Box::new(CallError { code, kind, message }));
    result
}

/// Whether a value is a list of items, of which messages may leave their type out.
pub(super) fn are_items(shape: &Shape<'_>) -> bool {
    let Shape::List(items) = shape else { return false };
    let shapes = shape.elements();
    shapes.len() == items.len()
        && shapes.iter().any(is_item)
        && shapes.iter().all(|one| is_item(one) || (one.get("type").is_none() && is_message(one)))
}

/// Whether a value is an item with a type.
pub(super) fn is_item(shape: &Shape<'_>) -> bool {
    let Some(word) = shape.text("type") else { return false };
    match kind(&word) {
        None => false,
        Some(Kind::Message) => is_message(shape),
        Some(Kind::Neither) => shape.has(&["id"]) || shape.has(&["summary"]) || shape.has(&["approval_request_id"]),
        Some(Kind::Named | Kind::Mcp) => shape.has(&["name"]),
        Some(Kind::Requested(_) | Kind::Run(_) | Kind::Answer) => shape.has(&["id"]) || shape.has(&["call_id"]),
    }
}

/// Messages of other providers have the same type, with parts of plain `text` and with the end of a reply inside.
fn is_message(shape: &Shape<'_>) -> bool {
    let plain =
        |content: &Shape<'_>| content.elements().iter().any(|part| part.text("type").as_deref() == Some("text"));
    shape.text("role").is_some_and(|role| ROLES.contains(&&*role))
        && !["stop_reason", "tool_calls", "function_call"].iter().any(|key| shape.get(key).is_some())
        && shape.child("content").is_none_or(|content| PARTS.fit(&content) && !plain(&content))
}
