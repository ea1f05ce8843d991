//! The conversation of a sample: its messages, and the texts that stand aside.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Map, Value};

use super::super::builder::Builder;
use super::super::copies::Copies;
use super::super::keyed::Keyed;
use super::super::stray::{self, Stray};
use super::super::wire::{self, Text, nothing_for_null};
use super::super::{ImportError, results};
use crate::json;
use crate::trace::{CallError, ErrorKind, Role, ToolResult};

const REFERENCE: &str = "attachment://";

#[derive(Deserialize)]
pub(super) struct Message<'a> {
    #[serde(borrow)]
    role: Text<'a>,
    #[serde(borrow, default)]
    content: Option<&'a RawValue>,
    #[serde(borrow, default, deserialize_with = "nothing_for_null")]
    tool_calls: Vec<Call<'a>>,
    #[serde(borrow, default)]
    tool_call_id: Option<Text<'a>>,
    #[serde(borrow, default)]
    error: Option<Failure<'a>>,
    #[serde(default, rename = "toolCalls")]
    camel_calls: Stray,
    #[serde(default, rename = "toolInvocations")]
    invocations: Stray,
    #[serde(default)]
    function_call: Stray,
}

#[derive(Deserialize)]
struct Call<'a> {
    #[serde(borrow, default)]
    id: Option<Text<'a>>,
    #[serde(borrow)]
    function: Text<'a>,
    #[serde(borrow, default)]
    arguments: Option<&'a RawValue>,
    #[serde(borrow, default)]
    parse_error: Option<Text<'a>>,
}

#[derive(Deserialize)]
struct Failure<'a> {
    #[serde(borrow, rename = "type", default)]
    kind: Option<Text<'a>>,
    #[serde(borrow, default)]
    message: Option<Text<'a>>,
}

#[derive(Deserialize)]
struct Block<'a> {
    #[serde(borrow, rename = "type")]
    kind: Text<'a>,
    #[serde(borrow, default)]
    text: Option<Text<'a>>,
    #[serde(borrow, default)]
    id: Option<Text<'a>>,
    #[serde(borrow, default)]
    name: Option<Text<'a>>,
    #[serde(borrow, default)]
    context: Option<Text<'a>>,
    #[serde(borrow, default)]
    arguments: Option<&'a RawValue>,
    #[serde(borrow, default)]
    result: Option<&'a RawValue>,
    #[serde(borrow, default)]
    error: Option<Text<'a>>,
}

/// A conversation being read.
pub(super) struct Talk<'o, 'a> {
    pub(super) builder: Builder<'o>,
    pub(super) attachments: Attachments<'a>,
    /// How long calls took, by their id.
    pub(super) durations: BTreeMap<String, u64>,
}

impl Talk<'_, '_> {
    pub(super) fn message(&mut self, message: Message<'_>, place: &str) -> Result<(), ImportError> {
        let strays = [
            ("toolCalls", message.camel_calls),
            ("toolInvocations", message.invocations),
            ("function_call", message.function_call),
        ];
        stray::refuse(&place, &strays)?;
        let role = match &*message.role {
            "system" => return Ok(()),
            "user" => Role::User,
            "assistant" => Role::Assistant,
            "tool" => return self.answer(message, place),
            other => {
                let found = format!("{place}.role must be system, user, assistant or tool, found {other:?}");
                return Err(ImportError::new(found));
            }
        };
        let blocks = self.blocks(message.content, place)?;
        let texts: Vec<&str> = blocks.iter().filter_map(|block| block.text.as_deref()).collect();
        let text = (!texts.is_empty()).then(|| texts.join("\n"));
        let turn = self.builder.turn(role, text);
        for block in blocks {
            if let Some(hosted) = block.hosted {
                self.hosted(hosted, turn, place)?;
            }
        }
        for (at, call) in message.tool_calls.into_iter().enumerate() {
            let args = call.arguments.map(|raw| self.attachments.resolve_in(wire::arguments(raw)?)).transpose();
            let args = args.map_err(|error| error.at(&format!("{place}.tool_calls[{at}].arguments")))?;
            // What could not be read is recorded as no arguments at all, which is not what the model wrote.
            let is_lost = |args: &Value| call.parse_error.is_some() && args.as_object().is_some_and(Map::is_empty);
            let args = args.filter(|args| !is_lost(args));
            self.builder.call(Some(turn), call.id.as_deref(), &call.function, args);
        }
        Ok(())
    }

    fn answer(&mut self, message: Message<'_>, place: &str) -> Result<(), ImportError> {
        let blocks = self.blocks(message.content, place)?;
        let texts: Vec<&str> = blocks.iter().filter_map(|block| block.text.as_deref()).collect();
        let mut result = results::of_text(&texts.join("\n"), Some(message.error.is_some()));
        if let Some(failure) = message.error {
            let kind = match failure.kind.as_deref() {
                Some("timeout") => ErrorKind::Timeout,
                _ => ErrorKind::Tool,
            };
            let text = failure.message.map_or_else(String::new, |message| message.0.into_owned());
            result.error = Some(Box::new(CallError { kind, code: None, message: text }));
        }
        let id = message.tool_call_id.as_deref();
        result.duration_ms = id.and_then(|id| self.durations.get(id).copied());
        self.builder.answer(id, result, place)?;
        Ok(())
    }

    /// A call that the provider of the model made by itself, with its answer.
    fn hosted(&mut self, block: Hosted, turn: usize, place: &str) -> Result<(), ImportError> {
        let at = self.builder.call(Some(turn), block.id.as_deref(), &block.name, block.args);
        if let Some(server) = block.server {
            self.builder.belongs(at, server);
        }
        if let Some(result) = block.result {
            self.builder.answer(block.id.as_deref(), result, place)?;
        }
        Ok(())
    }

    fn blocks(&self, content: Option<&RawValue>, place: &str) -> Result<Vec<Content>, ImportError> {
        let Some(content) = content else { return Ok(Vec::new()) };
        if !content.get().starts_with('[') {
            let text = wire::typed::<Text<'_>>(content.get()).and_then(|text| self.attachments.resolve(&text));
            let text = text.map_err(|error| error.at(&format!("{place}.content")))?;
            let text = Some(text).filter(|text| !text.is_empty());
            return Ok(vec![Content { text, hosted: None }]);
        }
        let blocks: Vec<Block<'_>> =
            wire::typed(content.get()).map_err(|error| error.at(&format!("{place}.content")))?;
        let read = blocks.into_iter().enumerate();
        read.map(|(at, block)| self.block(block).map_err(|error| error.at(&format!("{place}.content[{at}]")))).collect()
    }

    fn block(&self, block: Block<'_>) -> Result<Content, ImportError> {
        let (mut text, mut hosted) = (None, None);
        match &*block.kind {
            "text" => text = block.text.map(|text| self.attachments.resolve(&text)).transpose()?,
            "tool_use" => {
                let name = block.name.ok_or_else(|| ImportError::new("a tool_use has no `name`"))?;
                let said = block.result.map(wire::value).transpose()?;
                let said = said.map(|value| self.attachments.resolve_in(value)).transpose()?;
                let error = block.error.map(|error| error.0.into_owned());
                let mut result = said.map(|said| results::of_value(said, Some(error.is_some())));
                if let (Some(message), Some(result)) = (error, &mut result) {
                    result.error = Some(Box::new(CallError { kind: ErrorKind::Tool, code: None, message }));
                }
                hosted = Some(Hosted {
                    id: block.id.map(|id| id.0.into_owned()),
                    name: name.0.into_owned(),
                    server: block.context.map(|server| server.0.into_owned()).filter(|server| !server.is_empty()),
                    args: block.arguments.map(wire::arguments).transpose()?,
                    result,
                });
            }
            "reasoning" | "image" | "audio" | "video" | "document" | "data" => {}
            other => {
                return Err(ImportError::new(format!("type {other:?} is not known, and could be a call or an answer"))
                    .hint("blocks are `text`, `reasoning`, `tool_use`, `data` and media"));
            }
        }
        Ok(Content { text, hosted })
    }
}

/// A block of a message.
struct Content {
    text: Option<String>,
    hosted: Option<Hosted>,
}

struct Hosted {
    id: Option<String>,
    name: String,
    server: Option<String>,
    args: Option<Value>,
    result: Option<ToolResult>,
}

/// Texts that stand aside.
pub(super) struct Attachments<'a> {
    texts: Keyed<'a, Text<'a>>,
    copies: Copies,
}

impl<'a> Attachments<'a> {
    /// They are read only where the sample refers to them.
    pub(super) fn of(raw: Option<&'a RawValue>, sample: &str) -> Result<Self, ImportError> {
        let raw = raw.filter(|_| sample.contains(REFERENCE));
        let read = raw.map(|raw| wire::typed(raw.get())).transpose().map_err(|error| error.at("attachments"))?;
        Ok(Self { texts: read.unwrap_or_default(), copies: Copies::of(sample) })
    }

    fn resolve(&self, text: &str) -> Result<String, ImportError> {
        let name = text.strip_prefix(REFERENCE).map(|name| Text(name.into()));
        let Some(found) = name.and_then(|name| self.texts.0.get(&name)) else { return Ok(text.to_owned()) };
        self.copies.take(found.len(), &format!("the text of {:?}", json::cut(text, 60)))?;
        Ok(found.to_string())
    }

    /// A value with the texts at its top resolved, which is where arguments have theirs.
    fn resolve_in(&self, value: Value) -> Result<Value, ImportError> {
        Ok(match value {
            Value::String(text) => Value::String(self.resolve(&text)?),
            Value::Object(mut map) => {
                for value in map.values_mut() {
                    if let Value::String(text) = value {
                        *text = self.resolve(text)?;
                    }
                }
                Value::Object(map)
            }
            other => other,
        })
    }
}
