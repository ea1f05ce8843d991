//! One conversation, put together from what the spans of its replies tell.
//!
//! Every reply comes with the messages before it, so that each tells again what the earlier ones told. Only what follows
//! the last reply heard so far is new. A recorder may cut or rewrite the past it tells; then everything up to the last
//! reply in it is taken for told, unless it holds a call that nobody told of before.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::mem;

use serde_json::Value;
use serde_json::value::RawValue;

use super::super::{ImportError, wire};
use super::attributes::{Attribute, Attributes};
use super::messages::{self, Mention, Message, Speaker};
use super::{Span, flattened};
use crate::json;

/// A conversation so far.
#[derive(Default)]
pub(super) struct Talk {
    /// Each message with the time at which it was told.
    pub(super) said: Vec<(u64, Message)>,
    /// Whether something may have been said that no span tells: recording messages is optional.
    gap: bool,
    /// The text of the last reply, where its span tells it; empty when the reply carries none.
    closing: Option<String>,
    /// Why the last reply ended, as its message says it.
    finish: Option<String>,
    /// When the last reply was there.
    pub(super) end: u64,
    /// Every call heard of, once by its id and once by what was called.
    heard: BTreeSet<String>,
}

/// Messages as a span holds them.
enum Told<'a> {
    /// A list as JSON, with where it stands.
    Json(Cow<'a, str>, &'static str),
    /// Read already.
    Ready(Vec<Message>),
}

impl Talk {
    /// Takes what the spans of one reply tell, the outermost of them first; each side is taken from the first that has it.
    pub(super) fn reply(&mut self, spans: &[&Span<'_>], start: u64, end: u64) -> Result<(), ImportError> {
        let (mut before, mut after) = (None, None);
        for span in spans {
            let at = |error: ImportError| error.at(&span.label());
            before = before.map_or_else(|| input(span).map_err(at), |told| Ok(Some(told)))?;
            after = after.map_or_else(|| output(span).map_err(at), |told| Ok(Some(told)))?;
        }
        let label = spans.first().map(|span| span.label()).unwrap_or_default();
        match before {
            Some(told) => self.hear(told, start).map_err(|error| error.at(&label))?,
            None => self.gap = true,
        }
        (self.closing, self.finish, self.end) = (None, None, end);
        match after {
            Some(told) => {
                let mut replies = Vec::new();
                let all = |message| {
                    replies.push(message);
                    false
                };
                each_backwards(told, Speaker::Assistant, all).map_err(|error| error.at(&label))?;
                for message in replies.into_iter().rev() {
                    self.closing = Some(message.text().unwrap_or_else(String::new));
                    self.finish.clone_from(&message.finish);
                    self.say(end, message);
                }
            }
            None => self.gap = true,
        }
        Ok(())
    }

    /// Adds those of the messages before a reply that are new.
    fn hear(&mut self, told: Told<'_>, time: u64) -> Result<(), ImportError> {
        let is_reply = |message: &Message| message.speaker == Speaker::Assistant;
        let anchor = self.said.iter().rev().map(|(_, message)| message).find(|message| is_reply(message));
        let (mut late, mut found) = (Vec::new(), false);
        each_backwards(told, Speaker::User, |message| {
            found = anchor.is_some_and(|anchor| anchor.repeats(&message));
            if !found {
                late.push(message);
            }
            found
        })?;
        let has_history = found || late.iter().any(is_reply);
        late.reverse();
        if anchor.is_none() {
            // Nothing but questions so far, and this tells them again.
            self.said.clear();
        } else if !found && let Some(last) = late.iter().rposition(is_reply) {
            let fresh = late.split_off(last + 1);
            let told = mem::replace(&mut late, fresh);
            let unheard = told.into_iter().filter(|message| self.is_unheard(message)).collect::<Vec<_>>();
            late.splice(0..0, unheard);
        }
        self.gap &= !has_history;
        for message in late {
            self.say(time, message);
        }
        Ok(())
    }

    fn say(&mut self, time: u64, message: Message) {
        self.heard.extend(message.calls.iter().flat_map(names_of));
        self.said.push((time, message));
    }

    /// Whether it holds a call that no message before told of.
    fn is_unheard(&self, message: &Message) -> bool {
        message.calls.iter().any(|call| !names_of(call).any(|name| self.heard.contains(&name)))
    }

    /// Whether all that was said is known.
    pub(super) fn is_whole(&self) -> bool {
        !self.gap && !self.said.is_empty()
    }

    /// The text of the last reply.
    pub(super) fn closing(&self) -> Option<&str> {
        self.closing.as_deref()
    }

    /// Why the last reply ended, as its message says it.
    pub(super) fn finish(&self) -> Option<&str> {
        self.finish.as_deref()
    }
}

/// What a call is known by: its id, and its name with its arguments.
fn names_of(call: &Mention) -> impl Iterator<Item = String> {
    let id = call.id.as_ref().map(|id| format!("id {id}"));
    let args = call.args.as_ref().map_or_else(String::new, json::canonical);
    id.into_iter().chain([format!("call {} {args}", call.name)])
}

/// Hands over messages from the last to the first until told to stop; those of the system are left out.
fn each_backwards(told: Told<'_>, default: Speaker, mut take: impl FnMut(Message) -> bool) -> Result<(), ImportError> {
    let mut pass = |message: Message| message.speaker != Speaker::System && take(message);
    match told {
        Told::Ready(list) => {
            list.into_iter().rev().any(pass);
        }
        Told::Json(text, key) => {
            let items: Vec<&RawValue> = wire::check(&text).and_then(|()| wire::typed(&text)).map_err(|error| {
                error.at(key).hint("what was cut when it was recorded cannot be read: see the limits of the recorder")
            })?;
            for (place, item) in items.into_iter().enumerate().rev() {
                let message = messages::message(item.get(), default);
                if pass(message.map_err(|error| error.at(&format!("{key}[{place}]")))?) {
                    break;
                }
            }
        }
    }
    Ok(())
}

/// The messages before a reply.
fn input<'a>(span: &Span<'a>) -> Result<Option<Told<'a>>, ImportError> {
    side(span, Speaker::User, "gen_ai.input.messages", "gen_ai.prompt", ["llm.input_messages.", "gen_ai.prompt."])
}

/// Whether a span tells what was replied.
pub(super) fn has_reply(span: &Span<'_>) -> Result<bool, ImportError> {
    output(span).map(|told| told.is_some())
}

/// The reply.
fn output<'a>(span: &Span<'a>) -> Result<Option<Told<'a>>, ImportError> {
    let flat = ["llm.output_messages.", "gen_ai.completion."];
    side(span, Speaker::Assistant, "gen_ai.output.messages", "gen_ai.completion", flat)
}

fn side<'a>(
    span: &Span<'a>,
    speaker: Speaker,
    key: &'static str,
    old: &'static str,
    flat: [&str; 2],
) -> Result<Option<Told<'a>>, ImportError> {
    for attributes in std::iter::once(&span.attributes).chain(span.events.iter().map(|event| &event.attributes)) {
        if let Some(found) = attributes.get(key)? {
            return Ok(Some(Told::Json(found.document(), key)));
        }
        if let Some(found) = attributes.get(old)? {
            let text = found.document();
            // In this older place some write plain text.
            if text.trim_start().starts_with('[') {
                return Ok(Some(Told::Json(text, old)));
            }
            let mut message = Message::new(speaker);
            message.texts.push(text.into_owned());
            return Ok(Some(Told::Ready(vec![message])));
        }
    }
    for prefix in flat {
        if let Some(list) = flattened::messages(&span.attributes, prefix, speaker)? {
            return Ok(Some(Told::Ready(list)));
        }
    }
    of_events(span, speaker)
}

/// The messages that lie one by one in events of a span.
fn of_events<'a>(span: &Span<'a>, side: Speaker) -> Result<Option<Told<'a>>, ImportError> {
    let mut list = Vec::new();
    for event in &span.events {
        let speaker = match &*event.name {
            "gen_ai.system.message" => Speaker::System,
            "gen_ai.user.message" => Speaker::User,
            "gen_ai.assistant.message" | "gen_ai.choice" => Speaker::Assistant,
            "gen_ai.tool.message" => Speaker::Tool,
            _ => continue,
        };
        if (event.name == "gen_ai.choice") == (side == Speaker::Assistant) {
            let text = event_as_message(&event.attributes)?;
            list.push(messages::message(&text, speaker).map_err(|error| error.at(&event.name))?);
        }
    }
    Ok((!list.is_empty()).then_some(Told::Ready(list)))
}

/// An event in the shape of a message. What is structured in a message may stand as JSON text in an event.
fn event_as_message(attributes: &Attributes<'_>) -> Result<String, ImportError> {
    let mut out = String::from("{");
    let fields = [
        ("content", "content"),
        ("id", "tool_call_id"),
        ("finish_reason", "finish_reason"),
        ("tool_calls", "tool_calls"),
        ("message", "message"),
    ];
    for (key, field) in fields {
        let Some(found) = attributes.get(key)? else { continue };
        let holds_json = matches!(key, "tool_calls" | "message") || matches!(found, Attribute::Json(_));
        let document = found.document();
        out.push_str(if out.len() > 1 { "," } else { "" });
        out.push_str(&format!("\"{field}\":"));
        if holds_json {
            out.push_str(&document);
        } else {
            json::write_canonical(&Value::String(document.into_owned()), &mut out);
        }
    }
    out.push('}');
    Ok(out)
}
