//! The calls of a message, each once although the message may repeat them.

use std::collections::{BTreeMap, BTreeSet};

use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;

use super::content::{Read, named};
use super::message::LcMessage;
use crate::import::ImportError;
use crate::import::bounded_list::Element;
use crate::import::message::{At, Call, Part, Place, id};
use crate::import::openai_chat::messages::{ChatCall, Function};
use crate::import::wire::{self, Text, Whole};

/// A call, a call with arguments that could not be parsed, or a chunk of a call.
#[derive(Deserialize)]
#[serde(expecting = "a call")]
pub(super) struct LcCall<'a> {
    #[serde(borrow)]
    name: Option<Text<'a>>,
    args: Option<&'a RawValue>,
    id: Option<Text<'a>>,
    /// Chunks with the same index are one call.
    index: Option<&'a RawValue>,
}

impl Element for LcCall<'_> {
    fn is_incomplete(&self) -> bool {
        self.index.is_none() && self.name.is_none()
    }
}

/// The calls as the provider gave them.
#[derive(Deserialize)]
struct Extra<'a> {
    #[serde(borrow)]
    tool_calls: Option<&'a RawValue>,
    function_call: Option<&'a RawValue>,
    /// Outputs of the provider's own tools, as the provider returned them.
    tool_outputs: Option<Vec<&'a RawValue>>,
}

/// The parts of a message from all its chunks, with each call once.
pub(super) fn parts(chunks: &[&LcMessage<'_>], content: Vec<Read>, place: Place<'_>) -> Result<Vec<Part>, ImportError> {
    let mut calls = Vec::new();
    if chunks.iter().any(|message| message.tool_call_chunks.as_ref().is_some_and(|chunks| !chunks.is_empty())) {
        calls.extend(joined_chunks(chunks, place)?);
    } else {
        for message in chunks {
            listed(&mut calls, message, place)?;
        }
    }
    let is_listed = !calls.is_empty();
    for message in chunks {
        from_provider(&mut calls, message, is_listed, place)?;
    }
    let is_complete = !calls.is_empty();
    let has_repeated = content.iter().any(|read| matches!(read, Read::Repeated(..)));
    let ids = calls.iter().filter(|_| has_repeated).filter_map(|call| call.id.clone());
    let known: BTreeSet<String> = ids.collect();
    let mut parts = Vec::with_capacity(calls.len() + content.len());
    parts.extend(calls.into_iter().map(Part::Call));
    for read in content {
        match read {
            Read::Part(part) => parts.push(part),
            Read::Repeated(id, call) if !id.as_ref().map_or(is_complete, |id| known.contains(id)) => {
                parts.push(Part::Call(call?));
            }
            Read::Repeated(..) | Read::Fragment => {}
        }
    }
    Ok(parts)
}

fn listed(calls: &mut Vec<Call>, message: &LcMessage<'_>, place: Place<'_>) -> Result<(), ImportError> {
    for (at, call) in message.tool_calls.iter().flat_map(|list| list.iter()).enumerate() {
        let at = At::new("tool_calls", at);
        let name = named(call.name.as_ref(), place, at)?;
        let args = wire::optional(call.args, wire::arguments, format_args!("{place}{at}.args"))?;
        calls.push(Call { id: id(call.id.as_deref()), name, args, at, ..Call::default() });
    }
    for (at, call) in message.invalid_tool_calls.iter().flat_map(|list| list.iter()).enumerate() {
        let at = At::new("invalid_tool_calls", at);
        let name = named(call.name.as_ref(), place, at)?;
        let args = call.text(place, at)?.map(|text| Value::String(text.into_owned()));
        calls.push(Call { id: id(call.id.as_deref()), name, args, at, ..Call::default() });
    }
    Ok(())
}

impl<'a> LcCall<'a> {
    /// Arguments that are text.
    fn text(&self, place: Place<'_>, at: At) -> Result<Option<Text<'a>>, ImportError> {
        wire::optional(self.args, wire::part, format_args!("{place}{at}.args"))
    }
}

/// Joins chunks of calls: those with the same index are one call, and one without an index is a call by itself.
fn joined_chunks(messages: &[&LcMessage<'_>], place: Place<'_>) -> Result<Vec<Call>, ImportError> {
    #[derive(Default)]
    struct Joined<'m> {
        name: Option<&'m Text<'m>>,
        id: Option<&'m Text<'m>>,
        args: String,
    }
    let mut joined: Vec<Joined<'_>> = Vec::new();
    let mut by_index: BTreeMap<u64, usize> = BTreeMap::new();
    for message in messages {
        for (at, chunk) in message.tool_call_chunks.iter().flat_map(|list| list.iter()).enumerate() {
            let at = At::new("tool_call_chunks", at);
            let index = format_args!("{place}{at}.index");
            let place_of = match wire::optional(chunk.index, wire::part::<Whole>, index)? {
                Some(index) => *by_index.entry(index.0).or_insert(joined.len()),
                None => joined.len(),
            };
            if place_of == joined.len() {
                joined.push(Joined::default());
            }
            let Some(call) = joined.get_mut(place_of) else { continue };
            call.name = call.name.or(chunk.name.as_ref());
            call.id = call.id.or(chunk.id.as_ref());
            call.args.push_str(chunk.text(place, at)?.as_deref().unwrap_or_default());
        }
    }
    let calls = joined.into_iter().enumerate().map(|(at, call)| {
        let at = At::new("tool_call_chunks", at);
        let args = Some(wire::arguments_in_text(&call.args));
        let id = id(call.id.map(|id| &**id));
        Ok(Call { id, name: named(call.name, place, at)?, args, at, ..Call::default() })
    });
    calls.collect()
}

/// Adds the calls as the provider gave them, which old logs have instead of `tool_calls`.
fn from_provider(
    calls: &mut Vec<Call>,
    message: &LcMessage<'_>,
    is_listed: bool,
    place: Place<'_>,
) -> Result<(), ImportError> {
    let Some(raw) = message.additional_kwargs.filter(|raw| raw.get() != "{}") else { return Ok(()) };
    let place = format!("{place}.additional_kwargs");
    let extra: Extra<'_> = wire::part(raw).map_err(|error| error.at(&place))?;
    if extra.tool_outputs.is_some_and(|outputs| !outputs.is_empty()) {
        return Err(ImportError::new(format!("{place}.tool_outputs is not read"))
            .hint("it holds calls of tools that the provider ran; a trace without them could pass by mistake"));
    }
    if is_listed {
        return Ok(());
    }
    if let Some(raw) = extra.tool_calls {
        let place = format!("{place}.tool_calls");
        let list: Vec<ChatCall<'_>> = wire::part(raw).map_err(|error| error.at(&place))?;
        for (at, call) in list.iter().enumerate() {
            calls.push(call.read(&format_args!("{place}[{at}]"))?);
        }
    }
    if let Some(raw) = extra.function_call {
        let place = format!("{place}.function_call");
        let function: Function<'_> = wire::part(raw).map_err(|error| error.at(&place))?;
        calls.push(function.read(&place)?);
    }
    Ok(())
}
