//! Codex CLI: the events of `codex exec --json`, and its session files, the rollouts.
//!
//! Events have one item for each thing that was done, when it begins and when it is over. They do not say which calls one reply of
//! the model made, so turns are unknown.
//!
//! Lines of a rollout are `{timestamp, type, payload}`. A `response_item` is an item of the Responses API. An `event_msg` about a
//! call of an MCP tool says how it went; calls that the model made from code are only there.

mod events;
mod rollout;

use std::borrow::Cow;

use super::shape::Shape;
use super::{ImportError, Imported, Options, Unit, wire};

pub(super) use events::answer;

const EVENTS: [&str; 7] = [
    "thread.started",
    "turn.started",
    "turn.completed",
    "turn.failed",
    "item.started",
    "item.updated",
    "item.completed",
];
/// The types of lines that show a rollout.
const LINES: [&str; 5] = ["session_meta", "response_item", "event_msg", "turn_context", "compacted"];

pub(super) fn sniff(shape: &Shape<'_>) -> Option<(Unit, Cow<'static, str>)> {
    let kind = shape.text("type")?;
    if EVENTS.contains(&&*kind) && (!kind.starts_with("item.") || shape.has(&["item"])) {
        return Some((Unit::Piece, format!("it is an event `{kind}`").into()));
    }
    let is_line = LINES.contains(&&*kind) && matches!(shape.child("payload"), Some(Shape::Object(_)));
    is_line.then(|| (Unit::Piece, format!("it is a line of type `{kind}` with a `payload`").into()))
}

pub(super) fn join(_: &str, pieces: &[&str], options: &Options) -> Result<Vec<Imported<'static>>, ImportError> {
    let is_rollout = pieces.iter().any(|piece| Shape::part(piece).is_some_and(|shape| shape.get("payload").is_some()));
    if is_rollout { rollout::join(pieces, options) } else { events::join(pieces, options) }
}

/// The time that a call took: seconds and nanoseconds.
#[derive(serde::Deserialize)]
struct Took {
    secs: wire::Whole,
    nanos: wire::Whole,
}

impl Took {
    fn ms(&self) -> u64 {
        self.secs.0.saturating_mul(1000).saturating_add(self.nanos.0 / 1_000_000)
    }
}
