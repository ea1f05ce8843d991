//! Session files of Claude Code, and the streams that `claude -p --output-format stream-json` writes.
//!
//! A line is one event:
//!
//! - A message of the model has one line per block. The lines share `message.id`, other lines may come between them, and each
//!   repeats `usage` as far as it was known.
//! - Parallel calls fork the tree of `parentUuid`, so a walk along it would lose calls. Lines are read in the order of the
//!   file, and answers find their calls by id.
//! - Sub-agents are traces of their own. Their lines have `isSidechain` (with `agentId`, or in old files only the root that
//!   `parentUuid` leads to), are inside lines of type `progress`, or have `parent_tool_use_id` in a stream.
//! - Many lines are bookkeeping, and some lines of the user are written by the harness.

mod chain;
mod line;
mod session;

use std::borrow::Cow;

use serde::Deserialize;
use serde_json::json;
use serde_json::value::RawValue;

use super::shape::Shape;
use super::wire::{self, Text};
use super::{ImportError, Imported, Options, Piece, Unit};

pub(super) fn sniff(shape: &Shape<'_>) -> Option<(Unit, Cow<'static, str>)> {
    match shape {
        Shape::List(_) => shape.elements().iter().find_map(recognize_line),
        _ => recognize_line(shape),
    }
}

fn recognize_line(shape: &Shape<'_>) -> Option<(Unit, Cow<'static, str>)> {
    let kind = shape.text("type")?;
    let why = if shape.has(&["sessionId"]) {
        "it has `sessionId` and `type`"
    } else if shape.has(&["session_id"])
        && (shape.has(&["uuid"]) || matches!(&*kind, "system" | "assistant" | "user" | "result"))
    {
        "it has `session_id` and `type`"
    } else if kind == "file-history-snapshot" && shape.has(&["messageId", "snapshot"]) {
        "it is a `file-history-snapshot`"
    } else if kind == "summary" && shape.has(&["summary", "leafUuid"]) {
        "it is a `summary` with `leafUuid`"
    } else {
        return None;
    };
    Some((Unit::Piece, Cow::Borrowed(why)))
}

/// The keys that show whether a line matters.
#[derive(Deserialize)]
#[serde(expecting = "a line of a session")]
struct Outside<'a> {
    #[serde(borrow, rename = "type")]
    kind: Option<Text<'a>>,
    subtype: Option<&'a RawValue>,
    #[serde(rename = "sessionId")]
    session: Option<Text<'a>>,
    session_id: Option<Text<'a>>,
    uuid: Option<Text<'a>>,
    #[serde(rename = "parentUuid")]
    parent: Option<Text<'a>>,
    #[serde(rename = "agentId")]
    agent: Option<Text<'a>>,
    #[serde(rename = "isSidechain")]
    is_side: Option<bool>,
    message: Option<&'a RawValue>,
    data: Option<&'a RawValue>,
}

pub(super) fn split(text: &str) -> Result<Vec<Piece<'_>>, ImportError> {
    if text.trim_start().starts_with('[') {
        let lines: Vec<&RawValue> = wire::typed(text)?;
        let mut pieces = Vec::new();
        for line in lines {
            pieces.extend(piece(line.get())?);
        }
        return Ok(pieces);
    }
    Ok(piece(text)?.into_iter().collect())
}

/// The piece that a line is; none for bookkeeping.
fn piece(text: &str) -> Result<Option<Piece<'_>>, ImportError> {
    let line: Outside<'_> = wire::typed(text)?;
    let Some(kind) = line.kind.as_deref() else {
        return Err(ImportError::new("type must be a text, but the key is missing")
            .hint("every line of a session or a stream of Claude Code has a type"));
    };
    let matters = match kind {
        "assistant" | "user" | "result" => true,
        "system" => line.subtype.is_some_and(|subtype| subtype.get() == "\"init\""),
        "progress" => line.data.is_some_and(holds_a_line),
        _ if line.message.is_some_and(holds_content) => {
            return Err(ImportError::new(format!("type {kind:?} is not known, and the line has a message"))
                .hint("the message may hold calls; a trace without them could pass by mistake"));
        }
        _ => false,
    };
    let key = line.session.or(line.session_id).map_or(Cow::Borrowed(""), Text::into_cow);
    if matters {
        return Ok(Some(Piece { key, text: Cow::Borrowed(text) }));
    }
    // Without the name of an agent, only `parentUuid` connects the lines of a sidechain, and lines of any type may be links.
    let is_link = line.is_side == Some(true) && line.agent.is_none();
    Ok(line.uuid.filter(|_| is_link).map(|uuid| {
        let kept = json!({ "type": "link", "uuid": &*uuid, "parentUuid": line.parent.as_deref(), "isSidechain": true });
        Piece { key, text: Cow::Owned(kept.to_string()) }
    }))
}

/// Whether the data of a `progress` line hold a line of a sub-agent.
fn holds_a_line(data: &RawValue) -> bool {
    Shape::part(data.get()).is_some_and(|data| data.get("message").is_some_and(|line| line.get().starts_with('{')))
}

fn holds_content(message: &RawValue) -> bool {
    Shape::part(message.get()).is_some_and(|message| message.has(&["content"]))
}

pub(super) fn join(key: &str, pieces: &[&str], options: &Options) -> Result<Vec<Imported<'static>>, ImportError> {
    session::join(key, pieces, options)
}

/// The text of the `result` event. `--output-format json` prints that event alone.
pub(super) fn answer(events: &[&str]) -> Result<Option<String>, String> {
    let lines = events.iter().filter_map(|event| wire::typed::<line::Line<'_>>(event).ok());
    let Some(last) = lines.rev().find(|line| line.kind.as_deref() == Some("result")) else { return Ok(None) };
    match last.result.and_then(wire::name) {
        Some(answer) => Ok(Some(answer)),
        None => Err(format!("it ended without an answer ({})", last.subtype.as_deref().unwrap_or("no reason"))),
    }
}
