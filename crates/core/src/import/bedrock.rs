//! Messages of the Converse API of Amazon Bedrock, which Strands Agents uses too: a list of them, or a request with its
//! reply.
//!
//! Blocks have no type; the key of a block is its type. Answers are blocks of a message of the user. Strands keeps the
//! usage of a reply in the `metadata` of its message.

use std::borrow::Cow;

use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};

use super::bounded_list::{BoundedList, Element};
use super::builder::Builder;
use super::message::{Answer, At, Call, Message, Part, Place, Server, Spent, Usage, UsageKeys, stop_reason};
use super::shape::Shape;
use super::wire::{self, Name, Text, null_as_default};
use super::{ImportError, Imported, Options, Record, Unit, results};
use crate::json;
use crate::trace::Role;

const USAGE: UsageKeys = UsageKeys {
    input: "inputTokens",
    output: "outputTokens",
    total: Some("totalTokens"),
    cached: &["cacheReadInputTokens"],
    written: Some("cacheWriteInputTokens"),
};

pub(super) fn sniff(shape: &Shape<'_>) -> Option<(Unit, Cow<'static, str>)> {
    if let Some(why) = recognize_message(shape) {
        return Some((Unit::Message, why));
    }
    let list = if matches!(shape, Shape::List(_)) { None } else { Some(shape.child("messages")?) };
    let elements = list.as_ref().unwrap_or(shape).elements();
    elements.iter().find_map(recognize_message).map(|why| (Unit::Record, why))
}

/// What shows that a message is of this format: blocks that are calls or answers, or texts without a type.
fn recognize_message(shape: &Shape<'_>) -> Option<Cow<'static, str>> {
    if !matches!(shape.text("role").as_deref(), Some("user" | "assistant")) {
        return None;
    }
    shape.child("content")?.elements().iter().find_map(|block| {
        let is = |key: &&&str| matches!(block.child(key), Some(Shape::Object(_)));
        let key = ["toolUse", "toolResult", "reasoningContent", "cachePoint"].iter().find(is);
        let is_text = block.get("type").is_none() && block.text("text").is_some();
        let key = key.copied().or(is_text.then_some("text"))?;
        Some(format!("its blocks have the key `{key}`").into())
    })
}

#[derive(Deserialize)]
#[serde(expecting = "a message")]
struct ConverseMessage<'a> {
    #[serde(borrow)]
    role: Option<Text<'a>>,
    #[serde(default, deserialize_with = "null_as_default")]
    content: Vec<&'a RawValue>,
    metadata: Option<Metadata<'a>>,
}

impl Element for ConverseMessage<'_> {
    fn is_incomplete(&self) -> bool {
        self.role.is_none()
    }
}

#[derive(Deserialize)]
struct Metadata<'a> {
    #[serde(borrow)]
    usage: Option<&'a RawValue>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", expecting = "a block")]
struct Block<'a> {
    #[serde(borrow)]
    text: Option<Text<'a>>,
    tool_use: Option<ToolUse<'a>>,
    tool_result: Option<ToolAnswer<'a>>,
    citations_content: Option<Citations<'a>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ToolUse<'a> {
    #[serde(borrow, rename = "toolUseId")]
    id: Option<Text<'a>>,
    name: Option<Text<'a>>,
    input: Option<&'a RawValue>,
    #[serde(rename = "type")]
    kind: Option<Text<'a>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ToolAnswer<'a> {
    #[serde(borrow)]
    tool_use_id: Option<Text<'a>>,
    status: Option<Text<'a>>,
    #[serde(default, deserialize_with = "null_as_default")]
    content: Vec<&'a RawValue>,
}

#[derive(Deserialize)]
struct Citations<'a> {
    #[serde(borrow, default, deserialize_with = "null_as_default")]
    content: Vec<Cited<'a>>,
}

#[derive(Deserialize)]
struct Cited<'a> {
    #[serde(borrow)]
    text: Option<Text<'a>>,
}

/// A record that is an object.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Exchange<'a> {
    #[serde(alias = "session_id", alias = "agent_id")]
    id: Option<Name>,
    #[serde(borrow)]
    model_id: Option<Text<'a>>,
    messages: Option<BoundedList<ConverseMessage<'a>>>,
    response: Option<Reply<'a>>,
    output: Option<Output<'a>>,
    stop_reason: Option<Text<'a>>,
    usage: Option<&'a RawValue>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Reply<'a> {
    #[serde(borrow)]
    output: Option<Output<'a>>,
    stop_reason: Option<Text<'a>>,
    usage: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct Output<'a> {
    #[serde(borrow)]
    message: Option<ConverseMessage<'a>>,
}

pub(super) fn read<'a>(record: Record<'a>, options: &Options) -> Result<Vec<Imported<'a>>, ImportError> {
    let mut builder = Builder::new(options);
    let (mut id, mut model) = (None, None);
    if record.text.trim_start().starts_with('[') {
        let messages = wire::typed::<BoundedList<ConverseMessage<'a>>>(record.text)?;
        add_all(&mut builder, &messages, "")?;
        builder.refuse_reply_alone(messages.len())?;
    } else {
        let Exchange { id: own, model_id, messages, response, output, stop_reason: stop, usage } =
            wire::typed(record.text)?;
        let messages = messages.ok_or_else(|| ImportError::reply_alone("messages"))?;
        add_all(&mut builder, &messages, "messages")?;
        let (prefix, reply) = match response {
            Some(reply) => ("response.", reply),
            None => ("", Reply { output, stop_reason: stop, usage }),
        };
        if let Some(message) = reply.output.and_then(|output| output.message) {
            let place = format!("{prefix}output.message");
            let mut message = message.read().map_err(|error| error.at(&place))?;
            let usage = USAGE.read(reply.usage, format_args!("{prefix}usage"))?;
            message.spent = Spent::reported(usage.map(Usage::with_cache_apart));
            message.stop = reply.stop_reason.as_deref().and_then(stop_reason);
            builder.add(message, &place)?;
        }
        id = own.map(|id| id.0);
        model = model_id.map(Text::into_owned);
    }
    let trace = builder.finish(model, None);
    Ok(vec![Imported { id, group: None, seal: None, fields: record.text.into(), trace }])
}

/// What one message says.
pub(super) fn message(text: &str) -> Result<Message, ImportError> {
    wire::typed::<ConverseMessage<'_>>(text)?.read()
}

fn add_all(builder: &mut Builder<'_>, messages: &[ConverseMessage<'_>], list: &str) -> Result<(), ImportError> {
    for (at, message) in messages.iter().enumerate() {
        let place = Place::Element(list, at);
        builder.add(message.read().map_err(|error| error.at(place))?, &place)?;
    }
    Ok(())
}

impl ConverseMessage<'_> {
    fn read(&self) -> Result<Message, ImportError> {
        let role = match self.role.as_deref() {
            Some("user") => Role::User,
            Some("assistant") => Role::Assistant,
            other => return Err(ImportError::must_be("role", "user or assistant", other)),
        };
        let mut out = Message::new(role);
        for (at, raw) in self.content.iter().enumerate() {
            let read = wire::part::<Block<'_>>(raw).and_then(|block| block.read(raw, At::new("content", at)));
            out.parts.push(read.map_err(|error| error.at(format_args!("content[{at}]")))?);
        }
        let usage = self.metadata.as_ref().and_then(|metadata| metadata.usage);
        if role == Role::Assistant {
            let usage = USAGE.read(usage, "metadata.usage")?;
            out.spent = Spent::reported(usage.map(Usage::with_cache_apart));
        }
        Ok(out)
    }
}

/// Blocks that are neither text nor call nor answer.
const OTHERS: [&str; 9] = [
    "image",
    "document",
    "video",
    "audio",
    "reasoningContent",
    "cachePoint",
    "guardContent",
    "searchResult",
    "reasoning",
];

impl Block<'_> {
    fn read(&self, raw: &RawValue, at: At) -> Result<Part, ImportError> {
        if let Some(call) = &self.tool_use {
            let name = call.name.as_deref().ok_or_else(|| ImportError::new("toolUse has no `name`"))?.to_owned();
            let args = wire::optional(call.input, wire::arguments, "toolUse.input")?;
            let is_provider = call.kind.as_deref() == Some("server_tool_use");
            let server = if is_provider { Server::provider() } else { Server::FromName };
            let id = call.id.as_deref().map(str::to_owned);
            return Ok(Part::Call(Call { id, name, server, args, at, ..Call::default() }));
        }
        if let Some(answer) = &self.tool_result {
            let is_error = match answer.status.as_deref() {
                Some("error") => Some(true),
                Some("success") => Some(false),
                _ => None,
            };
            let blocks = answer.content.iter().map(|raw| wire::value(raw).map(block)).collect::<Result<_, _>>();
            let blocks: Vec<Value> = blocks.map_err(|error: ImportError| error.at("toolResult.content"))?;
            let result = results::of_blocks(blocks, is_error);
            let id = answer.tool_use_id.as_deref().map(str::to_owned);
            return Ok(Part::Answer(Answer { id, function: None, result, at }));
        }
        if let Some(text) = &self.text {
            return Ok(Part::text(Some(text)));
        }
        if let Some(cited) = &self.citations_content {
            let texts: Vec<&str> = cited.content.iter().filter_map(|one| one.text.as_deref()).collect();
            return Ok(Part::Text(texts.concat().into()));
        }
        let Some(Shape::Object(keys)) = Shape::part(raw.get()) else { return Ok(Part::Other) };
        match keys.keys().find(|key| !OTHERS.contains(&&***key)) {
            Some(key) => {
                Err(ImportError::new(format!("it has the key {key:?}, which is not known and could be a call"))
                    .hint("blocks are `text`, `toolUse`, `toolResult`, `reasoningContent` and media"))
            }
            None => Ok(Part::Other),
        }
    }
}

/// A block of an answer as MCP has it.
fn block(value: Value) -> Value {
    match value {
        Value::Object(map) if map.len() == 1 => match (map.get("text"), map.get("json")) {
            (Some(Value::String(text)), _) => json!({ "type": "text", "text": text }),
            (_, Some(inner)) => json!({ "type": "text", "text": json::canonical(inner) }),
            _ => Value::Object(map),
        },
        other => other,
    }
}
