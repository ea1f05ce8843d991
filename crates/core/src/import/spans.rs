//! From the spans of one trace to the trace that they tell of.
//!
//! What is evidence of what:
//!
//! - A span of a tool is evidence that the tool ran: its call, its answer, whether it failed, how long it took. Several
//!   spans of one call are one call. A call that fails is known to; one that ended otherwise is known not to have failed,
//!   unless its answer is an error of MCP or its status is none that is known. A span that was delivered twice is one.
//! - Messages that spans of models carry tell the turns, and of calls what their spans lack. A call that only a message
//!   tells of is a call too, dispatched when the reply was there; whether it failed is not known then. A call in a message
//!   belongs to the span with its id, else to the first span without another owner that names the same tool with the same
//!   arguments.
//! - Recording messages, arguments and answers is optional. Without messages the turns are unknown, and so is the final
//!   response.
//! - Tokens are those of replies. Agents repeat the sum, so theirs count only where no span is that of a model.
//!
//! A trace in which no model, no agent and no tool is seen is not one of an agent, and yields nothing.

mod attributes;
mod calls;
mod flattened;
mod marks;
mod messages;
mod replies;
mod talk;
mod tree;
mod unite;
mod vocabulary;

use std::borrow::Cow;
use std::rc::Rc;

pub(super) use attributes::{Attributes, KeyValue};
pub(super) use marks::{Moment, Status, id};

use super::{ImportError, Imported, Options};
use crate::json;
use crate::trace::{Conversation, Trace};
use calls::Calls;
use replies::Replies;
use serde_json::Value;
use tree::Tree;
use unite::Union;
use vocabulary::Kind;

/// A span, whichever shape it came in.
pub(super) struct Span<'a> {
    pub(super) id: Option<Cow<'a, str>>,
    pub(super) parent: Option<Cow<'a, str>>,
    pub(super) name: Cow<'a, str>,
    /// In nanoseconds.
    pub(super) start: Option<u64>,
    pub(super) end: Option<u64>,
    pub(super) status: Status,
    pub(super) status_message: Option<Cow<'a, str>>,
    pub(super) attributes: Attributes<'a>,
    pub(super) events: Vec<Event<'a>>,
    /// What the program that recorded it says of itself, which many spans share.
    pub(super) resource: Option<Rc<Attributes<'a>>>,
}

/// Something that happened during a span.
pub(super) struct Event<'a> {
    pub(super) name: Cow<'a, str>,
    pub(super) attributes: Attributes<'a>,
}

impl Span<'_> {
    fn has_failed(&self) -> bool {
        self.status == Status::Failed
    }

    /// The span in a message.
    fn label(&self) -> String {
        match &self.id {
            Some(id) => format!("span {:?} ({id})", json::cut(&self.name, 60)),
            None => format!("span {:?}", json::cut(&self.name, 60)),
        }
    }

    fn duration_ms(&self) -> Option<u64> {
        Some(self.end?.checked_sub(self.start?)? / 1_000_000)
    }

    /// Start and end; what is unknown is as early as it can be.
    fn times(&self) -> (u64, u64) {
        let start = self.start.unwrap_or(0);
        (start, self.end.unwrap_or(start).max(start))
    }
}

/// The trace that spans tell of, under the id that they share.
pub(super) fn trace(key: &str, spans: Vec<Span<'_>>, options: &Options) -> Result<Vec<Imported<'static>>, ImportError> {
    let tree = Tree::of(spans)?;
    if tree.kinds.iter().all(|kind| *kind == Kind::Other) {
        return Ok(Vec::new());
    }
    let calls = Calls::of(&tree, options)?;
    let replies = Replies::of(&tree, &calls)?;
    let duration_ms = duration(&tree);
    let fields = fields(key, &tree)?;

    let (model, stop_reason) = (replies.model.clone(), replies.stop_reason);
    let final_response = replies.main.closing().map(str::to_owned);
    let tokens = unite::tokens(&replies.spent);
    let Union { calls, results, turns, went_on } = Union::of(calls, replies, options)?;
    let final_response = final_response.filter(|_| !went_on);
    // Where neither tools nor messages were recorded, nobody can tell that no tool was called.
    let is_known = !calls.is_empty() || turns.is_some();
    let trace = Trace {
        tool_calls: is_known.then_some(calls),
        tool_results: is_known.then_some(results),
        final_response,
        conversation: Conversation { model, turns, tokens, stop_reason, duration_ms },
    };
    Ok(vec![Imported { id: Some(key.to_owned()), group: None, fields: fields.into(), trace }])
}

/// From the first to the last moment at which a model, an agent or a tool was at work.
fn duration(tree: &Tree<'_>) -> Option<u64> {
    let mut whole: Option<(u64, u64)> = None;
    for (span, kind) in tree.spans.iter().zip(&tree.kinds) {
        if *kind != Kind::Other {
            let (start, end) = (span.start?, span.end?);
            whole = Some(whole.map_or((start, end), |(first, last)| (first.min(start), last.max(end))));
        }
    }
    whole.and_then(|(first, last)| Some(last.checked_sub(first)? / 1_000_000))
}

/// What all spans share: the id, and the attributes of the first span that nothing surrounds.
fn fields(key: &str, tree: &Tree<'_>) -> Result<String, ImportError> {
    let root = (0..tree.spans.len()).find(|&at| tree.depth[at] == 0).or(Some(0)).and_then(|at| tree.spans.get(at));
    let mut out = String::from("{\"trace_id\":");
    json::write_canonical(&Value::String(key.to_owned()), &mut out);
    if let Some(root) = root {
        out.push_str(",\"attributes\":");
        root.attributes.write(&mut out)?;
        if let Some(resource) = &root.resource {
            out.push_str(",\"resource\":");
            resource.write(&mut out)?;
        }
    }
    out.push('}');
    Ok(out)
}
