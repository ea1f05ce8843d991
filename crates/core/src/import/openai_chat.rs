//! Conversations of the Chat Completions API of `OpenAI` and of the many APIs that copy it.
//!
//! A record is a list of messages, or an object that has one: a training example, a logged request, or a logged request
//! with its reply in `choices` or `response`. Arguments are JSON text; some copies of the API write a value. Ids may be
//! missing, empty or reused. The format does not say whether a call failed. The usage of a reply is for that reply alone:
//! what earlier replies of the conversation cost is unknown.

pub(super) mod messages;
mod record;

use std::borrow::Cow;
use std::fmt::Display;

use super::bounded_list::BoundedList;
use super::builder::Builder;
use super::duplicates;
use super::message::{Message, Place, Spent, Usage, stop_reason};
use super::shape::Shape;
use super::unread_calls;
use super::wire::{self, Text};
use super::{ImportError, Imported, Options, Record, Unit};
use crate::trace::{Role, Tokens};
use messages::{ChatMessage, HasFailed, PARTS, USAGE};
use record::{CONVERSATIONS, Choice, Completion, Logged, REPLIES};

const ROLES: [&str; 6] = ["system", "developer", "user", "assistant", "tool", "function"];

/// Keys that messages or records of other formats have next to `role` or `messages`.
const OTHERS_MESSAGE: [&str; 4] = ["type", "parts", "turn_idx", "requestor"];
const OTHERS_RECORD: [&str; 6] = ["system", "epoch", "termination_reason", "reward_info", "traj", "stop_reason"];

pub(super) fn sniff(shape: &Shape<'_>) -> Option<(Unit, Cow<'static, str>)> {
    let found = |unit, why: &'static str| Some((unit, Cow::Borrowed(why)));
    if are_messages(shape) {
        return found(Unit::Record, "its elements have `role` and `content`");
    }
    if is_message(shape) {
        return found(Unit::Message, "it has `role` and `content`");
    }
    if OTHERS_RECORD.iter().any(|key| shape.get(key).is_some()) {
        return None;
    }
    if shape.child("messages").is_some_and(|list| are_messages(&list)) {
        return found(Unit::Record, "it has `messages` with `role` and `content`");
    }
    if shape.text("object").as_deref() == Some("chat.completion") {
        return found(Unit::Record, "its `object` is `chat.completion`");
    }
    let asked = shape.child("request").and_then(|request| request.child("messages"));
    let answered = shape.child("response").is_some_and(|response| response.has(&["choices"]));
    if answered && asked.is_some_and(|list| are_messages(&list)) {
        return found(Unit::Record, "it has `request.messages` and `response.choices`");
    }
    None
}

fn are_messages(shape: &Shape<'_>) -> bool {
    let Shape::List(items) = shape else { return false };
    !items.is_empty() && items.iter().all(|item| Shape::part(item.get()).is_some_and(|message| is_message(&message)))
}

fn is_message(shape: &Shape<'_>) -> bool {
    let Shape::Object(map) = shape else { return false };
    shape.text("role").is_some_and(|role| ROLES.contains(&&*role))
        && ["content", "tool_calls", "function_call", "refusal"].iter().any(|key| map.contains_key(*key))
        && !OTHERS_MESSAGE.iter().any(|key| shape.get(key).is_some())
        && shape.child("content").is_none_or(|content| match &content {
            Shape::List(_) => PARTS.fit(&content),
            Shape::Object(_) => false,
            Shape::Other => true,
        })
        && shape.child("tool_calls").is_none_or(|calls| {
            calls
                .elements()
                .iter()
                .all(|call| ["function", "custom"].iter().any(|key| matches!(call.child(key), Some(Shape::Object(_)))))
        })
}

pub(super) fn read<'a>(record: Record<'a>, options: &Options) -> Result<Vec<Imported<'a>>, ImportError> {
    let mut builder = Builder::new(options);
    let (id, model) = if record.text.trim_start().starts_with('[') {
        let messages: BoundedList<ChatMessage<'a>> = wire::typed(record.text)?;
        not_empty(&messages)?;
        add_all(&mut builder, &messages)?;
        builder.refuse_reply_alone(messages.len())?;
        (None, None)
    } else {
        logged(&mut builder, wire::typed(record.text)?, record.text)?
    };
    Ok(vec![Imported { id, group: None, seal: None, fields: record.text.into(), trace: builder.finish(model, None) }])
}

/// Adds the conversation of a record that is an object. Returns its name and its model.
fn logged<'a>(
    builder: &mut Builder<'_>,
    mut record: Logged<'a>,
    text: &'a str,
) -> Result<(Option<String>, Option<String>), ImportError> {
    let unread = [("tool_calls", record.tool_calls), ("toolCalls", record.camel_calls), ("steps", record.steps)];
    unread_calls::refuse(&"record", &unread)?;
    record.check_other_keys()?;
    let shape = if record.may_repeat() { Shape::part(text) } else { None };
    let longest = match shape {
        Some(shape) => longest(&shape)?,
        None => None,
    };
    let sent = record.request.as_ref().and_then(|request| request.messages.as_ref()).map(|messages| messages.len());
    if let Some((key, list)) = longest {
        record.messages = Some(wire::part(list).map_err(|error| error.at(key))?);
    }
    let Logged { id, model, messages, request, choices, usage, response, .. } = record;
    let (request_model, request_messages) = request.map_or((None, None), |request| (request.model, request.messages));
    let Some(messages) = messages.or(request_messages) else {
        return Err(ImportError::reply_alone("messages"));
    };
    not_empty(&messages)?;
    let (prefix, reply) = match (choices, response) {
        (Some(_), Some(_)) => {
            return Err(ImportError::new("it has both `choices` and `response`").hint("keep the one that is the reply"));
        }
        (choices, None) => ("", Completion { id: None, model: None, choices, usage }),
        (None, Some(response)) if response.choices.is_none() => {
            return Err(
                ImportError::new("response has no `choices`").hint("a reply has its message in `choices[0].message`")
            );
        }
        (None, Some(response)) => ("response.", Completion { usage: response.usage.or(usage), ..response }),
    };
    let name = id.or(reply.id).map(|id| id.0);
    let model = reply.model.or(model).or(request_model).map(Text::into_owned);
    let usage = USAGE.read(reply.usage, format_args!("{prefix}usage"))?;
    let usage = usage.map(Usage::with_cache_in_input);
    let Some(choices) = reply.choices else {
        add_all(builder, &messages)?;
        // A count without a reply is for the whole record.
        builder.spent = usage.map_or(builder.spent, Spent::Known);
        return Ok((name, model));
    };
    let [Choice { message: Some(message), finish_reason }] = &choices[..] else {
        let found = if choices.len() == 1 { "one without".to_owned() } else { choices.len().to_string() };
        return Err(ImportError::new(format!("{prefix}choices must be one reply with a `message`, found {found}"))
            .hint("keep the reply that the agent continued with"));
    };
    // Some loggers append the reply to the messages they sent, and then everything that came after it.
    if sent.is_some_and(|sent| sent + 1 < messages.len() && messages[sent].is_same(message)) {
        add_all(builder, &messages)?;
        return Ok((name, model));
    }
    let is_repeated = messages.last().is_some_and(|last| last.is_same(message));
    add_all(builder, &messages[..messages.len() - usize::from(is_repeated)])?;
    let place = format!("{prefix}choices[0].message");
    builder.stop = None;
    if let Some(reply) = read_reply(message, finish_reason.as_deref(), usage, &place)? {
        let stop = reply.stop;
        builder.add(reply, &place)?;
        builder.stop = stop;
    }
    Ok((name, model))
}

fn read_reply(
    message: &ChatMessage<'_>,
    finish_reason: Option<&str>,
    usage: Option<Tokens>,
    place: &dyn Display,
) -> Result<Option<Message>, ImportError> {
    let Some(mut reply) = message.read(|_, _| None, place)? else { return Ok(None) };
    if let Some(tokens) = usage {
        reply.spent = Spent::Known(tokens);
    }
    // A reply with calls has not ended the run, even where its end is called `stop`.
    let stop = finish_reason.filter(|_| !message.makes_calls()).and_then(stop_reason);
    reply.stop = reply.stop.or(stop);
    Ok(Some(reply))
}

/// What a message says that was checked before; `None` for a system prompt.
pub(super) fn message(text: &str, place: Place<'_>) -> Result<Option<Message>, ImportError> {
    wire::piece::<ChatMessage<'_>>(text)?.read(|_, _| None, &place)
}

/// What a reply says.
pub(super) fn reply(text: &str) -> Result<Message, ImportError> {
    let reply: Completion<'_> = wire::typed(text)?;
    let usage = USAGE.read(reply.usage, "usage")?.map(Usage::with_cache_in_input);
    let choices = reply.choices.unwrap_or_default();
    let [Choice { message: Some(message), finish_reason }] = &choices[..] else {
        let found = if choices.len() == 1 { "one without".to_owned() } else { choices.len().to_string() };
        return Err(ImportError::new(format!("choices must be one reply with a `message`, found {found}")));
    };
    let place = "choices[0].message";
    let read = read_reply(message, finish_reason.as_deref(), usage, &place)?;
    let mut message = read
        .filter(|message| message.role == Role::Assistant)
        .ok_or_else(|| ImportError::new(format!("{place}.role must be \"assistant\"")))?;
    message.model = reply.model.map(Text::into_owned);
    Ok(message)
}

/// The list that holds the most of the conversation, where the record has it more than once.
fn longest<'a>(shape: &Shape<'a>) -> Result<Option<duplicates::List<'a>>, ImportError> {
    const REQUEST: &str = "request.messages";
    let (key, own) = match (shape.get("messages"), shape.find(REQUEST)) {
        (Some(own), _) => ("messages", own),
        (None, Some(own)) => (REQUEST, own),
        (None, None) => return Ok(None),
    };
    let mut whole = vec![REQUEST];
    whole.extend(CONVERSATIONS);
    let whole = if key == REQUEST { &whole[1..] } else { &whole[..] };
    let repeats = duplicates::repeats(shape, whole, &REPLIES);
    if repeats.is_empty() {
        return Ok(None);
    }
    duplicates::longest(key, duplicates::keys_for(own, &repeats)?, &repeats)
}

fn not_empty(messages: &[ChatMessage<'_>]) -> Result<(), ImportError> {
    if messages.is_empty() {
        return Err(ImportError::new("there are no messages").hint("an empty conversation cannot be evaluated"));
    }
    Ok(())
}

fn add_all(builder: &mut Builder<'_>, messages: &[ChatMessage<'_>]) -> Result<(), ImportError> {
    for (at, message) in messages.iter().enumerate() {
        add(builder, message, |_, _| None, &Place::Element("messages", at))?;
    }
    Ok(())
}

/// Adds a message.
pub(super) fn add(
    builder: &mut Builder<'_>,
    message: &ChatMessage<'_>,
    has_failed: HasFailed,
    place: &dyn Display,
) -> Result<(), ImportError> {
    // A refusal ends a run only where nothing follows it.
    builder.stop = None;
    if let Some(message) = message.read(has_failed, place)? {
        builder.add(message, place)?;
    }
    Ok(())
}
