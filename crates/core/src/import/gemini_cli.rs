//! Gemini CLI: the events of `gemini -o stream-json`, and its session files.
//!
//! Names of tools are `mcp_SERVER_TOOL`. The name does not show where the server ends, so names are kept as they are.

mod events;
mod session;

use std::borrow::Cow;

use super::shape::Shape;
use super::{ImportError, Imported, Options, Unit};

pub(super) use events::answer;

pub(super) fn sniff(shape: &Shape<'_>) -> Option<(Unit, Cow<'static, str>)> {
    let kind = shape.text("type");
    let why = match kind.as_deref() {
        Some("init") if shape.has(&["session_id", "model", "timestamp"]) => "it is an event `init`",
        Some("tool_use") if shape.has(&["tool_name", "tool_id"]) => "it is an event `tool_use`",
        Some("tool_result") if shape.has(&["tool_id", "status"]) => "it is an event `tool_result`",
        Some("result") if shape.has(&["status", "stats"]) => "it is an event `result` with `stats`",
        Some("gemini") if shape.has(&["id", "timestamp", "content"]) => "it is a message of the type `gemini`",
        _ if shape.has(&["sessionId", "projectHash", "startTime"]) => "it has `sessionId` and `projectHash`",
        _ => return None,
    };
    Some((Unit::Piece, why.into()))
}

pub(super) fn join(_: &str, pieces: &[&str], options: &Options) -> Result<Vec<Imported<'static>>, ImportError> {
    let sessions = session::sessions(pieces);
    let has_events = match &sessions {
        Ok(sessions) => sessions.is_none(),
        Err(_) => {
            pieces.iter().any(|piece| is_event(Shape::part(piece).and_then(|shape| shape.text("type")).as_deref()))
        }
    };
    if has_events {
        return events::join(pieces, options);
    }
    sessions?.iter().flatten().map(|session| session.finish(options)).collect()
}

/// Whether a piece of this type is an event.
fn is_event(kind: Option<&str>) -> bool {
    matches!(kind, Some("init" | "message" | "tool_use" | "tool_result" | "result"))
}
