//! Items of the Responses interface of `OpenAI`.
//!
//! A record is a reply (`object: response`), an object with the `input` and the `output` of an exchange, or a list of
//! items. A message and the calls beside it are items of their own: all that the model writes between two answers is one
//! turn here. Besides functions there are calls that the provider runs itself, with their answer inside the call, and MCP
//! calls that name their server. Every one of them is a call of the trace; what such an item does not tell stays unknown.

mod exchange;
mod items;

use std::borrow::Cow;

use serde::Deserialize;
use serde_json::value::RawValue;

use super::content::Content;
use super::listed::Listed;
use super::look::Look;
use super::tellings::{self, Also, Gist};
use super::wire::{self, Name, Text, Whole};
use super::{ImportError, Imported, Options, Record, Unit};
use crate::trace::{Role, StopReason, Tokens};
use exchange::{At, Exchange};
use items::Item;

pub(super) fn sniff(look: &Look<'_>) -> Option<(Unit, Cow<'static, str>)> {
    let found = |unit, why: &'static str| Some((unit, Cow::Borrowed(why)));
    if look.text("object").as_deref() == Some("response") {
        return found(Unit::Record, "its `object` is `response`");
    }
    if items::are_items(look) {
        return found(Unit::Record, "its elements are items such as `function_call`");
    }
    if items::is_item(look) {
        return found(Unit::Message, "its `type` is that of an item such as `function_call`");
    }
    if look.inside("output").is_some_and(|output| items::are_items(&output)) {
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
    output: Option<Listed<Item<'a>>>,
    status: Option<Text<'a>>,
    incomplete_details: Option<Incomplete<'a>>,
    usage: Option<Usage>,
    // Where a record may tell the conversation once more.
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

#[derive(Deserialize)]
struct Usage {
    input_tokens: Option<Whole>,
    output_tokens: Option<Whole>,
    total_tokens: Option<Whole>,
    input_tokens_details: Option<Details>,
}

#[derive(Deserialize)]
struct Details {
    cached_tokens: Option<Whole>,
}

pub(super) fn read<'a>(record: Record<'a>, options: &Options) -> Result<Vec<Imported<'a>>, ImportError> {
    let mut exchange = Exchange::new(options);
    let (id, model, stop) = if record.text.trim_start().starts_with('[') {
        let items: Listed<Item<'a>> = wire::typed(record.text)?;
        if items.is_empty() {
            return Err(ImportError::new("there are no items").hint("an empty conversation has nothing to judge"));
        }
        add_all(&mut exchange, &items, "items")?;
        exchange.builder.spend(None);
        (None, None, None)
    } else {
        let reply: Reply<'a> = wire::typed(record.text)?;
        match reply.longer(record.text)? {
            None => read_reply(&mut exchange, &reply)?,
            Some((key, list)) => {
                let items: Listed<Item<'a>> = wire::typed(list.get()).map_err(|error| error.at(key))?;
                add_all(&mut exchange, &items, key)?;
                exchange.builder.spend(None);
            }
        }
        let stop = stop(&reply, exchange.waiting);
        (reply.id.map(|id| id.0), reply.model.map(|model| model.0.into_owned()), stop)
    };
    let stop = if exchange.refused { Some(StopReason::Refused) } else { stop };
    let trace = exchange.builder.finish(model, stop, None);
    Ok(vec![Imported { id, group: None, fields: record.text.into(), trace }])
}

impl<'a> Reply<'a> {
    /// The list that holds the exchange and more, where the record tells it more than once.
    fn longer(&self, text: &'a str) -> Result<Option<tellings::Place<'a>>, ImportError> {
        let beside = [
            Also::whole("messages", self.messages),
            Also::whole("conversation", self.conversation),
            Also::whole("history", self.history),
            Also::reply("choices", self.choices),
            Also::reply("response", self.response),
        ];
        if beside.iter().all(|also| also.raw.is_none()) {
            return Ok(None);
        }
        let mut gists = match &self.input {
            Some(Content::Text(text)) => vec![Gist::of_user(text)],
            _ => Vec::new(),
        };
        let look = Look::at(text);
        for key in ["input", "output"] {
            let list = look.as_ref().and_then(|look| look.get(key)).filter(|list| list.get().starts_with('['));
            gists.extend(list.map(tellings::gists).transpose()?.into_iter().flatten());
        }
        tellings::longest("output", gists, &beside)
    }
}

fn read_reply(exchange: &mut Exchange<'_>, reply: &Reply<'_>) -> Result<(), ImportError> {
    if let Some(before) = &reply.previous_response_id {
        return Err(ImportError::new(format!("it continues the reply {:?}, which is not part of it", &**before))
            .hint("a trace has to be whole to be judged: put all that was sent and replied in `input` and `output`"));
    }
    let Some(output) = &reply.output else {
        return Err(ImportError::new("it has no `output`").hint("a reply holds its items in `output`"));
    };
    match &reply.input {
        None => {}
        Some(Content::Text(text)) => {
            exchange.builder.turn(Role::User, Some(text.to_string()));
        }
        Some(Content::List(items)) => add_all(exchange, items, "input")?,
    }
    // The count of tokens is for this reply alone.
    if exchange.replied() {
        exchange.builder.spend(None);
    }
    exchange.pause();
    add_all(exchange, output, "output")?;
    exchange.builder.spend(reply.usage.as_ref().map(|usage| Tokens {
        input: usage.input_tokens.map(|count| count.0),
        output: usage.output_tokens.map(|count| count.0),
        cached: usage.input_tokens_details.as_ref().and_then(|details| details.cached_tokens).map(|count| count.0),
        total: usage.total_tokens.map(|count| count.0),
    }));
    Ok(())
}

fn add_all(exchange: &mut Exchange<'_>, items: &[Item<'_>], list: &'static str) -> Result<(), ImportError> {
    for (at, item) in items.iter().enumerate() {
        exchange.add(item, &At(list, at))?;
    }
    Ok(())
}

/// A reply is complete also when it waits for the answers to its calls; the run is not.
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
