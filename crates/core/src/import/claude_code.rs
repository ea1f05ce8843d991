//! Session files of Claude Code, and the streams that `claude -p --output-format stream-json` writes.
//!
//! A line is one event. What makes this format hard:
//!
//! - A message of the model has one line per block; the lines share `message.id`, other lines may stand between them, and
//!   each repeats `usage` as far as it was known then.
//! - Calls made side by side fork the tree that `parentUuid` spans, so a walk along it loses calls. The order of the file
//!   and the ids of calls are what is followed here.
//! - Sub-agents are traces of their own. Their lines are marked by `isSidechain` (with `agentId`, or in old files only by
//!   the root that `parentUuid` leads to), stand inside lines of type `progress`, or have `parent_tool_use_id` in a stream.
//! - Much of a file is bookkeeping, and some lines of the user are the harness's words.

mod chain;
mod line;
mod session;

use std::borrow::Cow;

use serde::Deserialize;
use serde_json::json;
use serde_json::value::RawValue;

use super::look::Look;
use super::wire::{self, Text};
use super::{ImportError, Imported, Options, Piece, Unit};

pub(super) fn sniff(look: &Look<'_>) -> Option<(Unit, Cow<'static, str>)> {
    match look {
        Look::List(_) => look.elements().iter().find_map(told_by_line),
        _ => told_by_line(look),
    }
}

fn told_by_line(look: &Look<'_>) -> Option<(Unit, Cow<'static, str>)> {
    let kind = look.text("type")?;
    let why = if look.has(&["sessionId"]) {
        "it has `sessionId` and `type`"
    } else if look.has(&["session_id"])
        && (look.has(&["uuid"]) || matches!(&*kind, "system" | "assistant" | "user" | "result"))
    {
        "it has `session_id` and `type`"
    } else if kind == "file-history-snapshot" && look.has(&["messageId", "snapshot"]) {
        "it is a `file-history-snapshot`"
    } else if kind == "summary" && look.has(&["summary", "leafUuid"]) {
        "it is a `summary` with `leafUuid`"
    } else {
        return None;
    };
    Some((Unit::Piece, Cow::Borrowed(why)))
}

/// As much of a line as tells whether it matters.
#[derive(Deserialize)]
#[serde(expecting = "a line of a session")]
struct Outside<'a> {
    #[serde(borrow, rename = "type")]
    kind: Option<Text<'a>>,
    #[serde(borrow)]
    subtype: Option<&'a RawValue>,
    #[serde(borrow, rename = "sessionId")]
    session: Option<Text<'a>>,
    #[serde(borrow)]
    session_id: Option<Text<'a>>,
    #[serde(borrow)]
    uuid: Option<Text<'a>>,
    #[serde(borrow, rename = "parentUuid")]
    parent: Option<Text<'a>>,
    #[serde(borrow, rename = "agentId")]
    agent: Option<Text<'a>>,
    #[serde(rename = "isSidechain")]
    is_side: Option<bool>,
    #[serde(borrow)]
    message: Option<&'a RawValue>,
    #[serde(borrow)]
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
        return Err(ImportError::new("type must be a text, found no such key")
            .hint("every line of a session or a stream of Claude Code has a type"));
    };
    let matters = match kind {
        "assistant" | "user" | "result" => true,
        "system" => line.subtype.is_some_and(|subtype| subtype.get() == "\"init\""),
        "progress" => line.data.is_some_and(holds_a_line),
        _ if line.message.is_some_and(holds_content) => {
            return Err(ImportError::new(format!("type {kind:?} is not known, and the line has a message"))
                .hint("the message may hold calls, and a trace without them could be judged wrongly"));
        }
        _ => false,
    };
    let key = line.session.or(line.session_id).map_or(Cow::Borrowed(""), |session| session.0);
    if matters {
        return Ok(Some(Piece { key, text: Cow::Borrowed(text) }));
    }
    // Without an agent's name a side-chain holds together by `parentUuid` alone, through lines of any type.
    let is_link = line.is_side == Some(true) && line.agent.is_none();
    Ok(line.uuid.filter(|_| is_link).map(|uuid| {
        let kept = json!({ "type": "link", "uuid": &*uuid, "parentUuid": line.parent.as_deref(), "isSidechain": true });
        Piece { key, text: Cow::Owned(kept.to_string()) }
    }))
}

/// Whether the data of a `progress` line hold a line of a sub-agent.
fn holds_a_line(data: &RawValue) -> bool {
    Look::at(data.get()).is_some_and(|data| data.get("message").is_some_and(|line| line.get().starts_with('{')))
}

fn holds_content(message: &RawValue) -> bool {
    Look::at(message.get()).is_some_and(|message| message.has(&["content"]))
}

pub(super) fn join(key: &str, pieces: &[&str], options: &Options) -> Result<Vec<Imported<'static>>, ImportError> {
    session::join(key, pieces, options)
}
