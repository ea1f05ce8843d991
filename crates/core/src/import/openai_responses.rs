//! Items of the Responses API of `OpenAI`.
//!
//! A record is a reply (`object: response`), an object with the `input` and the `output` of an exchange, or a list of
//! items. A message and its calls are separate items: everything that the model writes between two answers is one turn.
//! Besides functions there are calls that the provider runs itself, with the answer in the item, and MCP calls that name
//! their server. Each of them is a call of the trace; what an item does not record stays unknown.

mod exchange;
mod items;

use std::borrow::Cow;

use serde::Deserialize;
use serde_json::value::RawValue;

use super::bounded_list::BoundedList;
use super::content::Content;
use super::duplicates::{self, MessageKey};
use super::message::{Message, Part, Place, Spent, Usage, UsageKeys};
use super::shape::Shape;
use super::wire::{self, Name, Text};
use super::{ImportError, Imported, Options, Record, Unit};
use crate::trace::{Role, StopReason};
use exchange::{Exchange, Said};
use items::Item;

const USAGE: UsageKeys = UsageKeys {
    input: "input_tokens",
    output: "output_tokens",
    total: Some("total_tokens"),
    cached: &["input_tokens_details", "cached_tokens"],
    written: None,
};

pub(super) fn sniff(shape: &Shape<'_>) -> Option<(Unit, Cow<'static, str>)> {
    let found = |unit, why: &'static str| Some((unit, Cow::Borrowed(why)));
    if shape.text("object").as_deref() == Some("response") {
        return found(Unit::Record, "its `object` is `response`");
    }
    if items::are_items(shape) {
        return found(Unit::Record, "its elements are items such as `function_call`");
    }
    if items::is_item(shape) {
        return found(Unit::Message, "its `type` is that of an item such as `function_call`");
    }
    if shape.child("output").is_some_and(|output| items::are_items(&output)) {
        return found(Unit::Record, "it has `output` with items such as `function_call`");
    }
    None
}

/// A record that is an object.
#[derive(Deserialize)]
struct Reply<'a> {
    id: Option<Name>,
    #[serde(borrow)]
    model: Option<Text<'a>>,
    previous_response_id: Option<Text<'a>>,
    input: Option<Content<'a, Item<'a>>>,
    output: Option<BoundedList<Item<'a>>>,
    status: Option<Text<'a>>,
    incomplete_details: Option<Incomplete<'a>>,
    usage: Option<&'a RawValue>,
    // Keys that may repeat the exchange.
    messages: Option<&'a RawValue>,
    conversation: Option<&'a RawValue>,
    history: Option<&'a RawValue>,
    choices: Option<&'a RawValue>,
    response: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct Incomplete<'a> {
    #[serde(borrow)]
    reason: Option<Text<'a>>,
}

pub(super) fn read<'a>(record: Record<'a>, options: &Options) -> Result<Vec<Imported<'a>>, ImportError> {
    let mut exchange = Exchange::new(options);
    let (id, model, stop) = if record.text.trim_start().starts_with('[') {
        let items: BoundedList<Item<'a>> = wire::typed(record.text)?;
        if items.is_empty() {
            return Err(ImportError::new("there are no items").hint("an empty conversation cannot be evaluated"));
        }
        add_all(&mut exchange, &items, "items")?;
        // What the model writes before an answer is one reply.
        let is_prompt = |item: &Item<'_>| matches!(item.role.as_deref(), Some("system" | "developer"));
        if !exchange.has_asked && !items.iter().any(is_prompt) {
            exchange.builder.refuse_reply_alone(1)?;
        }
        exchange.builder.spend(Spent::Unknown);
        (None, None, None)
    } else {
        let reply: Reply<'a> = wire::typed(record.text)?;
        match reply.longest(record.text)? {
            None => {
                read_reply(&mut exchange, &reply)?;
                if reply.input.is_none() && !exchange.has_asked && !is_repeated(record.text) {
                    return Err(ImportError::reply_alone("input"));
                }
            }
            Some((key, list)) => {
                let items: BoundedList<Item<'a>> = wire::part(list).map_err(|error| error.at(key))?;
                add_all(&mut exchange, &items, key)?;
                exchange.builder.spend(Spent::Unknown);
            }
        }
        let stop = stop(&reply, exchange.waiting);
        (reply.id.map(|id| id.0), reply.model.map(Text::into_owned), stop)
    };
    exchange.builder.stop = if exchange.is_refused { Some(StopReason::Refused) } else { stop };
    let trace = exchange.builder.finish(model, None);
    Ok(vec![Imported { id, group: None, seal: None, fields: record.text.into(), trace }])
}

/// Keys that may repeat an exchange.
const REPEATS: [&str; 3] = ["messages", "conversation", "history"];

/// Whether the record has the exchange a second time, with what was sent.
fn is_repeated(text: &str) -> bool {
    Shape::part(text).is_some_and(|shape| REPEATS.iter().any(|key| matches!(shape.child(key), Some(Shape::List(_)))))
}

impl<'a> Reply<'a> {
    /// The list that holds the most of the exchange, where the record has it more than once.
    fn longest(&self, text: &'a str) -> Result<Option<duplicates::List<'a>>, ImportError> {
        let others = [self.messages, self.conversation, self.history, self.choices, self.response];
        if others.iter().all(Option::is_none) {
            return Ok(None);
        }
        let Some(shape) = Shape::part(text) else { return Ok(None) };
        let repeats = duplicates::repeats(&shape, &REPEATS, &["choices", "response"]);
        if repeats.is_empty() {
            return Ok(None);
        }
        let mut keys = match &self.input {
            Some(Content::Text(text)) => vec![MessageKey::of_user(text)],
            _ => Vec::new(),
        };
        for key in ["input", "output"] {
            let list = shape.get(key).filter(|list| list.get().starts_with('['));
            keys.extend(list.map(duplicates::keys).transpose()?.into_iter().flatten());
        }
        duplicates::longest("output", keys, &repeats)
    }
}

fn read_reply(exchange: &mut Exchange<'_>, reply: &Reply<'_>) -> Result<(), ImportError> {
    if let Some(before) = &reply.previous_response_id {
        return Err(ImportError::new(format!("it continues the reply {:?}, which is not in the record", &**before))
            .hint("a trace must be complete: put everything that was sent and received in `input` and `output`"));
    }
    let Some(output) = &reply.output else {
        return Err(ImportError::new("it has no `output`").hint("a reply has its items in `output`"));
    };
    match &reply.input {
        None => {}
        Some(Content::Text(text)) => {
            let message = Message::with_parts(Role::User, vec![Part::Text(text.lazy())]);
            exchange.builder.add(message, &"input")?;
        }
        Some(Content::List(items)) => add_all(exchange, items, "input")?,
    }
    // The usage is that of this reply alone.
    if exchange.has_replied {
        exchange.builder.spend(Spent::Unknown);
    }
    exchange.end_turn();
    add_all(exchange, output, "output")?;
    let usage = USAGE.read(reply.usage, "usage")?;
    exchange.builder.spend(Spent::reported(usage.map(Usage::with_cache_in_input)));
    Ok(())
}

/// Whether a type is that of an item other than a message.
pub(super) fn is_item_type(word: &str) -> bool {
    word != "message" && items::kind(word).is_some()
}

/// The message in an item of a request; `None` for an item without one.
pub(super) fn message(text: &str, place: Place<'_>) -> Result<Option<Message>, ImportError> {
    let item: Item<'_> = wire::piece(text)?;
    Ok(match exchange::read(&item, &place)? {
        Said::Nothing => None,
        Said::Message(message) => message,
        Said::Call(call) => Some(Message::with_parts(Role::Assistant, vec![Part::Call(call)])),
        Said::Answer(answer) => Some(Message::with_parts(Role::Tool, vec![Part::Answer(answer)])),
    })
}

/// What a reply says.
pub(super) fn reply(text: &str) -> Result<Message, ImportError> {
    let reply: Reply<'_> = wire::typed(text)?;
    let Some(output) = &reply.output else { return Err(ImportError::new("it has no `output`")) };
    let usage = USAGE.read(reply.usage, "usage")?;
    let mut out = Message::new(Role::Assistant);
    let mut waiting = 0;
    for (at, item) in output.iter().enumerate() {
        match exchange::read(item, &Place::Element("output", at))? {
            Said::Nothing | Said::Message(None) => {}
            Said::Message(Some(message)) => {
                out.stop = message.stop;
                out.parts.extend(message.parts);
            }
            Said::Call(call) => {
                waiting += usize::from(call.result.is_none());
                out.parts.push(Part::Call(call));
            }
            Said::Answer(answer) => out.parts.push(Part::Answer(answer)),
        }
    }
    out.stop = out.stop.or(stop(&reply, waiting));
    out.spent = Spent::reported(usage.map(Usage::with_cache_in_input));
    out.model = reply.model.map(Text::into_owned);
    Ok(out)
}

fn add_all(exchange: &mut Exchange<'_>, items: &[Item<'_>], list: &str) -> Result<(), ImportError> {
    for (at, item) in items.iter().enumerate() {
        exchange.add(item, &Place::Element(list, at))?;
    }
    Ok(())
}

/// A reply is also complete when it waits for answers to its calls; the run is not.
fn stop(reply: &Reply<'_>, waiting: usize) -> Option<StopReason> {
    let reason = reply.incomplete_details.as_ref().and_then(|details| details.reason.as_deref());
    match (reply.status.as_deref()?, reason) {
        ("completed", _) if waiting == 0 => Some(StopReason::Completed),
        ("incomplete", Some("max_output_tokens")) => Some(StopReason::MaxTokens),
        ("incomplete", Some("content_filter")) => Some(StopReason::Refused),
        ("failed", _) => Some(StopReason::Error),
        _ => None,
    }
}
