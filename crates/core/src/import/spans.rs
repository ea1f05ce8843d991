//! Makes a trace of spans.
//!
//! - A span of a tool shows that the tool ran: its call, its answer, whether it failed, how long it took. Several spans of
//!   one call are one call, and a span that was delivered twice is one span. A span that ended without a failure means that
//!   the call did not fail, unless its answer shows a failure or its status is unknown.
//! - Messages in spans of models are the turns, and add to calls what their spans lack. A call that only a message has is a
//!   call too, dispatched when the reply was complete and after the calls before it in the reply; whether it failed is
//!   unknown. A call in a message belongs to the span with its id, else to the first free span that names the same tool with
//!   the same arguments.
//! - Recording messages, arguments and answers is optional. Without messages the turns and the final response are unknown.
//! - Tokens are those of replies. Agents repeat the sum, so theirs count only where no span is that of a model.
//!
//! Spans without any model, agent or tool are not a trace of an agent, and are left out.

mod answers;
mod attributes;
mod calls;
mod conversation;
mod documents;
mod flattened;
mod ids_times;
mod kinds;
mod lists;
mod merge_calls;
mod messages;
mod recorded;
mod replies;
mod tree;
mod vocabulary;
mod wrappers;

use std::borrow::Cow;
use std::rc::Rc;

pub(super) use attributes::{Attributes, KeyValue};
pub(super) use ids_times::{Moment, Status, duration, id, own_id};

use super::{ImportError, Imported, Options};
use crate::json;
use crate::trace::{Conversation, Trace};
use calls::Calls;
use kinds::Kind;
use merge_calls::MergedCalls;
use replies::Replies;
use serde_json::Value;
use serde_json::value::RawValue;
use tree::Tree;

/// A span of either format.
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
    /// Attributes of the program that recorded the span, which many spans share.
    pub(super) resource: Option<Rc<Attributes<'a>>>,
}

pub(super) struct Event<'a> {
    pub(super) name: Cow<'a, str>,
    pub(super) attributes: Attributes<'a>,
}

impl Span<'_> {
    fn has_failed(&self) -> bool {
        self.status == Status::Failed
    }

    /// The span in an error message.
    fn label(&self) -> String {
        match &self.id {
            Some(id) => format!("span {:?} ({id})", json::cut(&self.name, 60)),
            None => format!("span {:?}", json::cut(&self.name, 60)),
        }
    }

    fn duration_ms(&self) -> Option<u64> {
        Some(self.end?.checked_sub(self.start?)? / 1_000_000)
    }

    /// Start and end; an unknown time is as early as possible.
    fn times(&self) -> (u64, u64) {
        let start = self.start.unwrap_or(0);
        (start, self.end.unwrap_or(start).max(start))
    }
}

/// A constant as the value of an attribute.
pub(super) fn constant(json: &'static str) -> Option<&'static RawValue> {
    serde_json::from_str(json).ok()
}

/// Whether any span is of a model, an agent or a tool. A span that cannot be read could be.
pub(super) fn has_agent(spans: &[Span<'_>]) -> bool {
    spans.iter().any(|span| !matches!(kinds::kind(span), Ok(Kind::Other)))
}

/// Reads a piece that is one span.
pub(super) type ReadSpan = for<'a> fn(&'a str) -> Result<Span<'a>, ImportError>;

/// Whether a piece is a span of a model, an agent or a tool. One that cannot be read could be.
pub(super) fn is_of_agent(piece: &str, read: ReadSpan) -> bool {
    read(piece).map_or(true, |span| has_agent(&[span]))
}

/// The trace of pieces that share a trace id.
pub(super) fn join(
    key: &str,
    pieces: &[&str],
    read: ReadSpan,
    options: &Options,
) -> Result<Vec<Imported<'static>>, ImportError> {
    trace(key, pieces.iter().map(|piece| read(piece)).collect::<Result<_, _>>()?, options)
}

/// The trace of spans that share a trace id.
pub(super) fn trace(key: &str, spans: Vec<Span<'_>>, options: &Options) -> Result<Vec<Imported<'static>>, ImportError> {
    let tree = Tree::of(spans)?;
    if tree.kinds.iter().all(|kind| *kind == Kind::Other) {
        return Ok(Vec::new());
    }
    let calls = Calls::of(&tree, options)?;
    let replies = Replies::of(&tree, &calls)?;
    let duration_ms = whole_duration(&tree);
    let fields = fields(key, &tree)?;

    let (model, stop_reason) = (replies.model.clone(), replies.stop_reason);
    let final_response = replies.main.closing.clone();
    let tokens = replies.spent.tokens().unwrap_or_default();
    let MergedCalls { calls, results, turns, is_cut } = MergedCalls::of(calls, replies, options)?;
    let final_response = final_response.filter(|_| !is_cut);
    // Without a recorded tool or message, it is unknown whether a tool was called.
    let is_known = !calls.is_empty() || turns.is_some();
    let trace = Trace {
        tool_calls: is_known.then_some(calls),
        tool_results: is_known.then_some(results),
        final_response,
        conversation: Conversation { duration_ms, model, stop_reason, tokens, turns },
        ..Trace::default()
    };
    Ok(vec![Imported { id: Some(key.to_owned()), group: None, seal: None, fields: fields.into(), trace }])
}

/// From the first start to the last end of a model, an agent or a tool.
fn whole_duration(tree: &Tree<'_>) -> Option<u64> {
    let mut whole: Option<(u64, u64)> = None;
    for (span, kind) in tree.spans.iter().zip(&tree.kinds) {
        if *kind != Kind::Other {
            let (start, end) = (span.start?, span.end?);
            whole = Some(whole.map_or((start, end), |(first, last)| (first.min(start), last.max(end))));
        }
    }
    whole.and_then(|(first, last)| Some(last.checked_sub(first)? / 1_000_000))
}

/// The trace id, and the attributes of the first root span.
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
