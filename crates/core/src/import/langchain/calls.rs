//! The calls of a message, each counted once however often the message tells it.

use std::collections::{BTreeMap, BTreeSet};

use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;

use super::message::Message;
use super::said::{Block, Kind, Part, Said};
use crate::import::builder::Builder;
use crate::import::content::Place;
use crate::import::listed::Element;
use crate::import::wire::{self, Text, Whole};
use crate::import::{ImportError, results};
use crate::trace::ToolCall;

/// A call that could be read.
#[derive(Deserialize)]
#[serde(expecting = "a call")]
pub(super) struct Valid<'a> {
    #[serde(borrow)]
    name: Option<Text<'a>>,
    #[serde(borrow)]
    args: Option<&'a RawValue>,
    #[serde(borrow)]
    id: Option<Text<'a>>,
}

/// A call whose arguments could not be read.
#[derive(Deserialize)]
#[serde(expecting = "a call that is invalid")]
pub(super) struct Invalid<'a> {
    #[serde(borrow)]
    name: Option<Text<'a>>,
    #[serde(borrow)]
    args: Option<Text<'a>>,
    #[serde(borrow)]
    id: Option<Text<'a>>,
}

impl Element for Valid<'_> {
    fn is_void(&self) -> bool {
        self.name.is_none()
    }
}

impl Element for Invalid<'_> {
    fn is_void(&self) -> bool {
        self.name.is_none()
    }
}

/// A part of a call.
#[derive(Deserialize)]
#[serde(expecting = "a part of a call")]
pub(super) struct Chunk<'a> {
    #[serde(borrow)]
    name: Option<Text<'a>>,
    #[serde(borrow)]
    args: Option<Text<'a>>,
    #[serde(borrow)]
    id: Option<Text<'a>>,
    index: Option<Whole>,
}

impl Element for Chunk<'_> {
    /// Without an index it is a call by itself.
    fn is_void(&self) -> bool {
        self.index.is_none() && self.name.is_none()
    }
}

/// The calls as the provider gave them.
#[derive(Deserialize)]
struct Extra<'a> {
    #[serde(borrow)]
    tool_calls: Option<&'a RawValue>,
    #[serde(borrow)]
    function_call: Option<&'a RawValue>,
    /// What tools of the provider did; what is a call among it, the provider alone knows.
    #[serde(borrow)]
    tool_outputs: Option<Vec<&'a RawValue>>,
}

#[derive(Deserialize)]
struct Old<'a> {
    #[serde(borrow)]
    id: Option<Text<'a>>,
    #[serde(borrow)]
    function: OldFunction<'a>,
}

#[derive(Deserialize)]
struct OldFunction<'a> {
    #[serde(borrow)]
    name: Text<'a>,
    #[serde(borrow)]
    arguments: Option<&'a RawValue>,
}

/// Adds the calls of a message, and the answers to those that the provider carried out.
pub(super) fn add(
    builder: &mut Builder<'_>,
    turn: usize,
    group: &[&Message<'_>],
    said: &[Said<'_>],
    place: Place<'_>,
) -> Result<(), ImportError> {
    let first = builder.calls().len();
    if group.iter().any(|message| message.tool_call_chunks.as_ref().is_some_and(|chunks| !chunks.is_empty())) {
        add_chunks(builder, turn, group, place)?;
    } else {
        for message in group {
            add_listed(builder, turn, message, place)?;
        }
    }
    let is_listed = builder.calls().len() > first;
    for message in group {
        add_old(builder, turn, message, is_listed, place)?;
    }
    let is_told_elsewhere = builder.calls().len() > first;
    let known: BTreeSet<String> = builder.calls()[first..].iter().filter_map(|call| call.id.clone()).collect();
    for said in said {
        for (at, part) in said.parts().iter().enumerate() {
            let Part::Block(block) = part else { continue };
            match block.kind(place, at)? {
                Kind::Text | Kind::Fragment | Kind::Other => {}
                Kind::Call => {
                    let is_known = block.own_id().map_or(is_told_elsewhere, |id| known.contains(id));
                    if !is_known {
                        add_block(builder, turn, block, place, at)?;
                    }
                }
                Kind::ProviderCall => add_block(builder, turn, block, place, at)?,
                Kind::ProviderAnswer => {
                    let failed = block.is_error.or(block.status.as_deref().map(|status| status == "error"));
                    let raw = block.output.or(block.content);
                    let value = raw.map(wire::value).transpose()?.unwrap_or(Value::Null);
                    let kind = value.get("type").and_then(Value::as_str).unwrap_or_default();
                    let failed = if kind.ends_with("_tool_result_error") { Some(true) } else { failed };
                    let id = block.tool_use_id.as_deref().or(block.tool_call_id.as_deref());
                    builder.answer(id, results::of_value(value, failed), &format!("{place}.content[{at}]"))?;
                }
            }
        }
    }
    Ok(())
}

fn add_listed(
    builder: &mut Builder<'_>,
    turn: usize,
    message: &Message<'_>,
    place: Place<'_>,
) -> Result<(), ImportError> {
    for (at, call) in message.tool_calls.iter().flat_map(|list| list.iter()).enumerate() {
        let name = named(call.name.as_ref(), place, "tool_calls", at)?;
        let args = call.args.map(wire::arguments).transpose().map_err(|error| ImportError {
            message: format!("{place}.tool_calls[{at}].args: {}", error.message),
            ..error
        })?;
        builder.call(Some(turn), id(call.id.as_ref()), name, args);
    }
    for (at, call) in message.invalid_tool_calls.iter().flat_map(|list| list.iter()).enumerate() {
        let name = named(call.name.as_ref(), place, "invalid_tool_calls", at)?;
        let args = call.args.as_deref().map(|text| Value::String(text.to_owned()));
        builder.call(Some(turn), id(call.id.as_ref()), name, args);
    }
    Ok(())
}

/// Puts the parts of calls together: those with the same index are one call, and one without an index is a call by itself.
fn add_chunks(
    builder: &mut Builder<'_>,
    turn: usize,
    group: &[&Message<'_>],
    place: Place<'_>,
) -> Result<(), ImportError> {
    struct Whole<'m> {
        name: Option<&'m Text<'m>>,
        id: Option<&'m Text<'m>>,
        args: String,
    }
    let mut calls: Vec<Whole<'_>> = Vec::new();
    let mut places: BTreeMap<u64, usize> = BTreeMap::new();
    for chunk in group.iter().flat_map(|message| message.tool_call_chunks.iter().flat_map(|list| list.iter())) {
        let at = match chunk.index {
            Some(index) => *places.entry(index.0).or_insert(calls.len()),
            None => calls.len(),
        };
        if at == calls.len() {
            calls.push(Whole { name: None, id: None, args: String::new() });
        }
        let Some(call) = calls.get_mut(at) else { continue };
        call.name = call.name.or(chunk.name.as_ref());
        call.id = call.id.or(chunk.id.as_ref());
        call.args.push_str(chunk.args.as_deref().unwrap_or_default());
    }
    for (at, call) in calls.iter().enumerate() {
        let name = named(call.name, place, "tool_call_chunks", at)?;
        builder.call(Some(turn), id(call.id), name, Some(wire::arguments_in_text(&call.args)));
    }
    Ok(())
}

/// Adds the calls that only the provider's own words tell, which is so where none is listed.
fn add_old(
    builder: &mut Builder<'_>,
    turn: usize,
    message: &Message<'_>,
    is_listed: bool,
    place: Place<'_>,
) -> Result<(), ImportError> {
    let Some(raw) = message.additional_kwargs.filter(|raw| raw.get() != "{}") else { return Ok(()) };
    let wrong = |error: ImportError| ImportError {
        offset: None,
        message: format!("{place}.additional_kwargs: {}", error.message),
        hint: error.hint,
    };
    let extra: Extra<'_> = wire::typed(raw.get()).map_err(wrong)?;
    if extra.tool_outputs.is_some_and(|outputs| !outputs.is_empty()) {
        return Err(ImportError::new(format!("{place}.additional_kwargs.tool_outputs is not read"))
            .hint("it holds calls of tools that the provider ran, and a trace without them could be judged wrongly"));
    }
    if is_listed {
        return Ok(());
    }
    if let Some(raw) = extra.tool_calls {
        for call in wire::typed::<Vec<Old<'_>>>(raw.get()).map_err(wrong)? {
            let args = call.function.arguments.map(wire::arguments).transpose().map_err(wrong)?;
            builder.call(Some(turn), id(call.id.as_ref()), &call.function.name, args);
        }
    }
    if let Some(raw) = extra.function_call {
        let function: OldFunction<'_> = wire::typed(raw.get()).map_err(wrong)?;
        let args = function.arguments.map(wire::arguments).transpose().map_err(wrong)?;
        builder.call(Some(turn), None, &function.name, args);
    }
    Ok(())
}

fn add_block(
    builder: &mut Builder<'_>,
    turn: usize,
    block: &Block<'_>,
    place: Place<'_>,
    at: usize,
) -> Result<(), ImportError> {
    let name = named(block.name.as_ref(), place, "content", at)?;
    let args = block.args.or(block.input).or(block.arguments).map(wire::arguments).transpose()?;
    let (server, name) = match block.kind.as_deref() {
        Some("mcp_tool_use") => (block.server_name.as_deref(), name),
        // The provider runs it itself: no server has it.
        Some("server_tool_use" | "server_tool_call") => (Some(""), name),
        _ => builder.options().servers.split(name),
    };
    let call = ToolCall {
        name: name.to_owned(),
        server: server.map(str::to_owned),
        args,
        caller: None,
        id: block.own_id().map(str::to_owned),
        turn: Some(turn),
    };
    builder.made(call);
    Ok(())
}

/// An empty id is none.
fn id<'m>(id: Option<&'m Text<'_>>) -> Option<&'m str> {
    id.map(|id| &**id).filter(|id| !id.is_empty())
}

fn named<'m>(name: Option<&'m Text<'_>>, place: Place<'_>, list: &str, at: usize) -> Result<&'m str, ImportError> {
    name.map(|name| &**name)
        .ok_or_else(|| ImportError::new(format!("{place}.{list}[{at}].name must be a text, found no such key")))
}
