//! Messages of the Messages API of Anthropic: a list of them, or the body of a request, with the reply in `response` or
//! with its keys next to `messages`.
//!
//! Answers are blocks of a message of the user. Tools that the provider runs are called and answered within one message of
//! the model. Only a reply reports tokens and why it ended, so the tokens of a conversation are known only where every
//! message of the model is a recorded reply.

pub(super) mod blocks;

use std::borrow::Cow;

use serde::Deserialize;
use serde_json::value::RawValue;

use super::bounded_list::{BoundedList, Element};
use super::builder::Builder;
use super::content::Content;
use super::duplicates::{self, MessageKey};
use super::message::{Message, Place, Spent, Usage, stop_reason};
use super::shape::Shape;
use super::unread_calls::with_unread_calls;
use super::wire::{self, Text};
use super::{ImportError, Imported, Options, Record, Unit};
use crate::trace::Role;
use blocks::{Block, USAGE};

with_unread_calls! {
    /// One message, with the keys of a recorded reply.
    #[derive(Deserialize)]
    #[serde(expecting = "a message")]
    struct ApiMessage<'a> {
        #[serde(borrow)]
        role: Option<Text<'a>>,
        content: Option<Content<'a, Block<'a>>>,
        model: Option<Text<'a>>,
        stop_reason: Option<Text<'a>>,
        usage: Option<&'a RawValue>,
        /// Only messages of other formats have this.
        tool_calls: Option<&'a RawValue>,
        /// Only messages of other formats have this.
        #[serde(rename = "type")]
        kind: Option<&'a RawValue>,
    }
    unread: [toolCalls, toolInvocations, function_call, parts]
}

impl Element for ApiMessage<'_> {
    fn is_incomplete(&self) -> bool {
        self.content.is_none() || !matches!(self.role.as_deref(), Some("user" | "assistant" | "system" | "developer"))
    }
}

/// A record that is an object.
#[derive(Deserialize)]
#[serde(expecting = "a record with `messages`")]
struct Body<'a> {
    #[serde(borrow)]
    messages: Option<BoundedList<ApiMessage<'a>>>,
    response: Option<ApiMessage<'a>>,
    role: Option<&'a RawValue>,
    content: Option<&'a RawValue>,
    stop_reason: Option<&'a RawValue>,
    model: Option<&'a RawValue>,
    id: Option<&'a RawValue>,
    // Keys that may repeat the conversation.
    request: Option<&'a RawValue>,
    input: Option<&'a RawValue>,
    conversation: Option<&'a RawValue>,
    history: Option<&'a RawValue>,
    output: Option<&'a RawValue>,
    outputs: Option<&'a RawValue>,
    completion: Option<&'a RawValue>,
}

pub(super) fn sniff(shape: &Shape<'_>) -> Option<(Unit, Cow<'static, str>)> {
    if let Some(why) = recognize_message(shape) {
        return Some((Unit::Message, why));
    }
    if matches!(shape, Shape::List(_)) {
        return shape.elements().iter().find_map(recognize_message).map(|why| (Unit::Record, why));
    }
    let messages = shape.child("messages")?;
    if let Some(why) = messages.elements().iter().find_map(recognize_message) {
        return Some((Unit::Record, why));
    }
    let reply = shape.child("response").as_ref().and_then(recognize_message);
    if reply.is_some() {
        return reply.map(|why| (Unit::Record, why));
    }
    let is_request =
        shape.has(&["system"]) || shape.has(&["anthropic_version"]) || shape.has(&["content", "stop_reason"]);
    // Blocks of other APIs have no type.
    let is_typed = |message: &Shape<'_>| {
        let blocks = message.child("content").map(|content| content.elements()).unwrap_or_default();
        blocks.iter().all(|block| block.has(&["type"]))
    };
    let is_plain = messages
        .elements()
        .iter()
        .all(|message| message.has(&["role", "content"]) && !message.has(&["tool_calls"]) && is_typed(message));
    (is_request && is_plain).then_some((Unit::Record, Cow::Borrowed("it is the body of a request of the Messages API")))
}

/// What shows that a message is of this format. A plain text shows nothing.
fn recognize_message(shape: &Shape<'_>) -> Option<Cow<'static, str>> {
    if !shape.has(&["role", "content"]) || shape.get("tool_calls").is_some() || shape.get("messages").is_some() {
        return None;
    }
    for block in shape.child("content")?.elements() {
        let kind = block.text("type").unwrap_or_default();
        let known = match &*kind {
            "tool_use" | "server_tool_use" | "mcp_tool_use" => block.has(&["name", "input"]),
            "thinking" => block.has(&["thinking"]),
            "redacted_thinking" => block.has(&["data"]),
            "image" | "document" => block.child("source").is_some_and(|source| source.has(&["type"])),
            _ => kind.ends_with("tool_result") && block.has(&["tool_use_id"]),
        };
        if known {
            return Some(format!("it has `{kind}` blocks").into());
        }
    }
    let is_reply = shape.text("type").is_some_and(|kind| kind == "message")
        && shape.child("usage").is_some_and(|usage| usage.has(&["input_tokens"]));
    is_reply.then_some(Cow::Borrowed("it is a reply of the Messages API"))
}

pub(super) fn read<'a>(record: Record<'a>, options: &Options) -> Result<Vec<Imported<'a>>, ImportError> {
    let mut builder = Builder::new(options);
    let (mut id, mut model) = (None, None);
    if record.text.trim_start().starts_with('[') {
        let messages = wire::typed::<BoundedList<ApiMessage<'a>>>(record.text)?;
        for (at, message) in messages.iter().enumerate() {
            message.add_to(&mut builder, Place::Element("", at))?;
        }
        builder.refuse_reply_alone(messages.len())?;
    } else {
        let mut body: Body<'a> = wire::typed(record.text)?;
        // A record may have a `content` of its own; that of a reply comes with its role or its stop reason.
        let is_reply = body.content.is_some() && (body.role.is_some() || body.stop_reason.is_some());
        if body.messages.is_none() && is_reply {
            return Err(ImportError::reply_alone("messages"));
        }
        if body.messages.is_none() {
            return Err(ImportError::new("it has no `messages`").hint(
                "a record is a list of messages or an object with `messages`; `--from` names the format of a file",
            ));
        }
        body.drop_repeats(record.text, is_reply)?;
        for (at, message) in body.messages.iter().flat_map(|list| list.iter()).enumerate() {
            message.add_to(&mut builder, Place::Element("messages", at))?;
        }
        if let Some(reply) = &body.response {
            reply.add_to(&mut builder, Place::Key("response"))?;
        }
        if is_reply {
            let mut reply: ApiMessage<'a> = wire::piece(record.text)?;
            reply.role = reply.role.or(Some(Text::from("assistant")));
            reply.add_to(&mut builder, Place::Key("record"))?;
        }
        model = body.model.and_then(wire::name);
        id = body.id.and_then(wire::name);
    }
    Ok(vec![Imported { id, group: None, seal: None, fields: record.text.into(), trace: builder.finish(model, None) }])
}

impl<'a> Body<'a> {
    /// Leaves each message of a record once.
    fn drop_repeats(&mut self, text: &'a str, is_reply: bool) -> Result<(), ImportError> {
        let conversations = [self.request, self.input, self.conversation, self.history];
        let mut others = conversations.iter().chain([&self.output, &self.outputs, &self.completion]);
        if self.response.is_none() && !is_reply && others.all(Option::is_none) {
            return Ok(());
        }
        let Some(shape) = Shape::part(text) else { return Ok(()) };
        let conversations = ["request", "input", "conversation", "history"];
        let repeats = duplicates::repeats(&shape, &conversations, &["output", "outputs", "completion"]);
        let response = shape.get("response").map(MessageKey::of);
        let content = self.content.filter(|_| is_reply).map(MessageKey::of_reply);
        if let (Some(response), Some(content)) = (&response, &content) {
            if response != content {
                return Err(duplicates::differ("response", "content"));
            }
            self.response = None;
        }
        let Some(mut own) = shape.get("messages") else { return Ok(()) };
        if !repeats.is_empty()
            && let Some((key, list)) = duplicates::longest("messages", duplicates::keys_for(own, &repeats)?, &repeats)?
        {
            self.messages = Some(wire::part(list).map_err(|error| error.at(key))?);
            own = list;
        }
        // Some loggers append the reply to the messages they sent.
        let Some(Shape::List(items)) = Shape::part(own.get()) else { return Ok(()) };
        let last = items.last().copied().map(MessageKey::of);
        // A list that was not read to its end holds a message that must be refused.
        if let Some(messages) = self.messages.as_mut().filter(|messages| messages.len() == items.len())
            && last.is_some()
            && last == response.or(content)
        {
            messages.0.pop();
        }
        Ok(())
    }
}

/// What a message of a request says; `None` for a system prompt.
pub(super) fn message(text: &str, place: Place<'_>) -> Result<Option<Message>, ImportError> {
    wire::piece::<ApiMessage<'_>>(text)?.read(place)
}

/// What a reply says.
pub(super) fn reply(text: &str) -> Result<Message, ImportError> {
    let mut reply: ApiMessage<'_> = wire::typed(text)?;
    reply.role = reply.role.or(Some(Text::from("assistant")));
    let message = reply.read(Place::Key("reply"))?;
    message
        .filter(|message| message.role == Role::Assistant)
        .ok_or_else(|| ImportError::new("reply.role must be \"assistant\""))
}

impl ApiMessage<'_> {
    fn add_to(&self, builder: &mut Builder<'_>, place: Place<'_>) -> Result<(), ImportError> {
        match self.read(place)? {
            Some(message) => builder.add(message, &place).map(|_| ()),
            None => Ok(()),
        }
    }

    /// What the message says; `None` for a system prompt.
    fn read(&self, place: Place<'_>) -> Result<Option<Message>, ImportError> {
        if self.tool_calls.is_some() {
            return Err(ImportError::new(format!("{place}.tool_calls is not a key of this format"))
                .hint("this looks like `openai-chat`"));
        }
        self.refuse_unread_calls(&place)?;
        let Some(content) = &self.content else {
            let error = format!("{place}.content must be a text or a list of blocks, but the key is missing");
            return Err(ImportError::new(error).hint(self.looks_like()));
        };
        let role = match self.role.as_deref() {
            Some("user") => Role::User,
            Some("assistant") => Role::Assistant,
            Some("system" | "developer") => return blocks::check_system(content, place).map(|()| None),
            other => {
                let place = format_args!("{place}.role");
                let error = ImportError::must_be(place, "\"user\" or \"assistant\"", other);
                return Err(error.hint(self.looks_like()));
            }
        };
        let usage = USAGE.read(self.usage, format_args!("{place}.usage"))?;
        Ok(Some(Message {
            role,
            parts: blocks::parts(content, place)?,
            model: self.model.as_deref().map(str::to_owned),
            spent: Spent::reported(usage.map(Usage::with_cache_apart)),
            stop: self.stop_reason.as_deref().and_then(stop_reason),
        }))
    }

    /// The likely format of a message that is not of this one.
    fn looks_like(&self) -> &'static str {
        match self.role.as_deref() {
            Some("tool" | "function" | "assistant") => "this looks like `openai-chat`",
            None if self.kind.is_some() => "this looks like `langchain` or `openai-responses`",
            _ => "messages of this format have a role and a content; `--from` names the format of a file",
        }
    }
}
