//! Messages of the Messages interface of Anthropic: a list of them, or the body of a request, with the reply to it
//! below `response` or with its keys beside `messages`.
//!
//! An answer is a block of a message of the user, which makes turns of the tool and none of the user. Tools that the
//! provider runs are called and answered within one message of the model. A reply tells tokens and why it ended; the
//! messages of a request do not, so a sum over a conversation is known only where every message is a recorded reply.

pub(super) mod blocks;
pub(super) mod reply;

use std::borrow::Cow;

use serde::Deserialize;
use serde_json::value::RawValue;

use super::builder::Builder;
use super::content::{Content, Place};
use super::listed::{Element, Listed};
use super::look::Look;
use super::stray::{self, Stray};
use super::tellings::{self, Also, Gist};
use super::wire::{self, Text};
use super::{ImportError, Imported, Options, Record, Unit};
use crate::trace::{Role, StopReason};
use blocks::{Beside, Block};
use reply::{Model, Usage, stopped};

/// One message, with what a recorded reply tells beside it.
#[derive(Deserialize)]
#[serde(expecting = "a message")]
struct Message<'a> {
    #[serde(borrow)]
    role: Option<Text<'a>>,
    #[serde(borrow)]
    content: Option<Content<'a, Block<'a>>>,
    #[serde(borrow)]
    model: Option<Text<'a>>,
    #[serde(borrow)]
    stop_reason: Option<Text<'a>>,
    usage: Option<Usage>,
    /// Only messages of other formats have this.
    #[serde(borrow)]
    tool_calls: Option<&'a RawValue>,
    /// Only messages of other formats have this.
    #[serde(borrow, rename = "type")]
    kind: Option<&'a RawValue>,
    #[serde(default, rename = "toolCalls")]
    camel_calls: Stray,
    #[serde(default, rename = "toolInvocations")]
    invocations: Stray,
    #[serde(default)]
    function_call: Stray,
    #[serde(default)]
    parts: Stray,
}

impl Element for Message<'_> {
    fn is_void(&self) -> bool {
        self.content.is_none() || !matches!(self.role.as_deref(), Some("user" | "assistant" | "system" | "developer"))
    }
}

/// A record that is an object.
#[derive(Deserialize)]
#[serde(expecting = "a record with `messages`")]
struct Body<'a> {
    #[serde(borrow)]
    messages: Option<Listed<Message<'a>>>,
    #[serde(borrow)]
    response: Option<Message<'a>>,
    #[serde(borrow)]
    role: Option<&'a RawValue>,
    #[serde(borrow)]
    content: Option<&'a RawValue>,
    #[serde(borrow)]
    stop_reason: Option<&'a RawValue>,
    #[serde(borrow)]
    model: Option<&'a RawValue>,
    #[serde(borrow)]
    id: Option<&'a RawValue>,
    // Where a record may tell the conversation once more.
    #[serde(borrow)]
    request: Option<&'a RawValue>,
    #[serde(borrow)]
    input: Option<&'a RawValue>,
    #[serde(borrow)]
    output: Option<&'a RawValue>,
    #[serde(borrow)]
    outputs: Option<&'a RawValue>,
    #[serde(borrow)]
    completion: Option<&'a RawValue>,
    #[serde(borrow)]
    conversation: Option<&'a RawValue>,
    #[serde(borrow)]
    history: Option<&'a RawValue>,
}

pub(super) fn sniff(look: &Look<'_>) -> Option<(Unit, Cow<'static, str>)> {
    if let Some(why) = told_by_message(look) {
        return Some((Unit::Message, why));
    }
    if matches!(look, Look::List(_)) {
        return look.elements().iter().find_map(told_by_message).map(|why| (Unit::Record, why));
    }
    let messages = look.inside("messages")?;
    if let Some(why) = messages.elements().iter().find_map(told_by_message) {
        return Some((Unit::Record, why));
    }
    let reply = look.inside("response").as_ref().and_then(told_by_message);
    if reply.is_some() {
        return reply.map(|why| (Unit::Record, why));
    }
    let of_a_request =
        look.has(&["system"]) || look.has(&["anthropic_version"]) || look.has(&["content", "stop_reason"]);
    let plain =
        messages.elements().iter().all(|message| message.has(&["role", "content"]) && !message.has(&["tool_calls"]));
    (of_a_request && plain)
        .then_some((Unit::Record, Cow::Borrowed("it is the body of a request of the Messages interface")))
}

/// By what a message is told from those of other interfaces; a plain text says nothing.
fn told_by_message(look: &Look<'_>) -> Option<Cow<'static, str>> {
    if !look.has(&["role", "content"]) || look.get("tool_calls").is_some() || look.get("messages").is_some() {
        return None;
    }
    for block in look.inside("content")?.elements() {
        let kind = block.text("type").unwrap_or_default();
        let known = match &*kind {
            "tool_use" | "server_tool_use" | "mcp_tool_use" => block.has(&["name", "input"]),
            "thinking" => block.has(&["thinking"]),
            "redacted_thinking" => block.has(&["data"]),
            "image" | "document" => block.inside("source").is_some_and(|source| source.has(&["type"])),
            _ => kind.ends_with("tool_result") && block.has(&["tool_use_id"]),
        };
        if known {
            return Some(format!("it has `{kind}` blocks").into());
        }
    }
    let is_reply = look.text("type").is_some_and(|kind| kind == "message")
        && look.inside("usage").is_some_and(|usage| usage.has(&["input_tokens"]));
    is_reply.then_some(Cow::Borrowed("it is a reply of the Messages interface"))
}

pub(super) fn read<'a>(record: Record<'a>, options: &Options) -> Result<Vec<Imported<'a>>, ImportError> {
    let mut reader = Reader { builder: Builder::new(options), model: Model::default(), stop: None };
    let mut id = None;
    if record.text.trim_start().starts_with('[') {
        for (at, message) in wire::typed::<Listed<Message<'a>>>(record.text)?.iter().enumerate() {
            reader.message(message, Place::Element("", at))?;
        }
    } else {
        let mut body: Body<'a> = wire::typed(record.text)?;
        // A record may have `content` of its own; a reply has its role or its end with it.
        let has_reply_beside = body.content.is_some() && (body.role.is_some() || body.stop_reason.is_some());
        if body.messages.is_none() && !has_reply_beside {
            return Err(ImportError::new("it has no `messages`").hint(
                "a record is a list of messages or an object with `messages`; `--from` names the format of a file",
            ));
        }
        body.unite(record.text, has_reply_beside)?;
        for (at, message) in body.messages.iter().flat_map(|list| list.iter()).enumerate() {
            reader.message(message, Place::Element("messages", at))?;
        }
        if let Some(reply) = &body.response {
            reader.message(reply, Place::Key("response"))?;
        }
        if has_reply_beside {
            let mut reply: Message<'a> = wire::typed(record.text)?;
            reply.role = reply.role.or(Some(Text("assistant".into())));
            reader.message(&reply, Place::Key("record"))?;
        }
        if let (false, Some(model)) = (reader.model.is_told(), body.model) {
            reader.model.told_as(wire::name(model).as_deref());
        }
        id = body.id.and_then(wire::name);
    }
    let trace = reader.builder.finish(reader.model.name(), reader.stop, None);
    Ok(vec![Imported { id, group: None, fields: record.text.into(), trace }])
}

impl<'a> Body<'a> {
    /// Makes one conversation of what the record tells more than once.
    fn unite(&mut self, text: &'a str, has_reply_beside: bool) -> Result<(), ImportError> {
        let beside = [
            Also::whole("request", self.request),
            Also::whole("input", self.input),
            Also::whole("conversation", self.conversation),
            Also::whole("history", self.history),
            Also::reply("output", self.output),
            Also::reply("outputs", self.outputs),
            Also::reply("completion", self.completion),
        ];
        let is_told_again = beside.iter().any(|also| also.raw.is_some());
        if !is_told_again && self.response.is_none() && !has_reply_beside {
            return Ok(());
        }
        let Some(look) = Look::at(text) else { return Ok(()) };
        let reply = look.get("response").map(Gist::of).transpose()?;
        let written = self.content.filter(|_| has_reply_beside).map(Gist::of_reply).transpose()?;
        if let (Some(reply), Some(written)) = (&reply, &written) {
            if reply != written {
                return Err(tellings::differ("response", "content"));
            }
            self.response = None;
        }
        let Some(mut own) = look.get("messages") else { return Ok(()) };
        if is_told_again
            && let Some((key, list)) = tellings::longest("messages", tellings::gists_for(own, &beside)?, &beside)?
        {
            self.messages = Some(wire::typed(list.get()).map_err(|error| error.at(key))?);
            own = list;
        }
        // Some loggers append the reply to the messages they sent.
        let Some(Look::List(items)) = Look::at(own.get()) else { return Ok(()) };
        let last = items.last().copied().map(Gist::of).transpose()?;
        // A list that was not kept whole ends with a message that has to be refused.
        if let Some(messages) = self.messages.as_mut().filter(|messages| messages.len() == items.len())
            && last.is_some()
            && last == reply.or(written)
        {
            messages.0.pop();
        }
        Ok(())
    }
}

/// A record as far as it is read.
struct Reader<'o> {
    builder: Builder<'o>,
    model: Model,
    stop: Option<StopReason>,
}

impl Reader<'_> {
    fn message(&mut self, message: &Message<'_>, place: Place<'_>) -> Result<(), ImportError> {
        if message.tool_calls.is_some() {
            return Err(ImportError::new(format!("{place}.tool_calls is no key of this format"))
                .hint("this looks like `openai-chat`"));
        }
        let strays = [
            ("toolCalls", message.camel_calls),
            ("toolInvocations", message.invocations),
            ("function_call", message.function_call),
            ("parts", message.parts),
        ];
        stray::refuse(&place, &strays)?;
        let role = message.role.as_deref();
        let Some(content) = &message.content else {
            return Err(ImportError::new(format!(
                "{place}.content must be a text or a list of blocks, found no such key"
            ))
            .hint(looks_like(message)));
        };
        match role {
            Some("user") => blocks::user(&mut self.builder, content, place, &Beside::default()),
            Some("assistant") => {
                let turn = self.builder.turn(Role::Assistant, None);
                blocks::assistant(&mut self.builder, turn, content, place)?;
                self.builder.spend(message.usage.as_ref().map(Usage::tokens));
                self.model.told_as(message.model.as_deref());
                self.stop = message.stop_reason.as_deref().and_then(stopped);
                Ok(())
            }
            Some("system" | "developer") => blocks::instructions(content, place),
            _ => {
                let found = role.map_or_else(|| "no such key".to_owned(), |role| format!("{role:?}"));
                Err(ImportError::new(format!("{place}.role must be \"user\" or \"assistant\", found {found}"))
                    .hint(looks_like(message)))
            }
        }
    }
}

/// A guess at the format of a message that is none of this one.
fn looks_like(message: &Message<'_>) -> &'static str {
    match message.role.as_deref() {
        Some("tool" | "function" | "assistant") => "this looks like `openai-chat`",
        None if message.kind.is_some() => "this looks like `langchain` or `openai-responses`",
        _ => "messages of this format have a role and a content; `--from` names the format of a file",
    }
}
