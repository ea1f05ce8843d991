//! Spans of the tracing of the `OpenAI` Agents SDK: one object per trace and one per span, with what it records in `span_data`.
//!
//! A span of a model that uses the Responses API has the id of the reply and its usage, but neither messages nor calls. The
//! calls of functions have spans of their own. A handoff is no call of a tool.

use std::borrow::Cow;
use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::value::RawValue;

use super::otel::{Row, rows};
use super::shape::Shape;
use super::spans::{self, Attributes, Moment, Span, Status, constant};
use super::wire::{self, Text};
use super::{ImportError, Imported, Options, Piece, Unit};

const LISTS: [&str; 2] = ["data", "spans"];

/// The attribute with the kind of a span.
const KIND: &str = "openinference.span.kind";

/// Whether a value is a trace or a span.
fn is_piece(shape: &Shape<'_>) -> bool {
    match shape.text("object").as_deref() {
        Some("trace.span") => shape.has(&["span_data"]),
        Some("trace") => shape.has(&["workflow_name"]),
        _ => false,
    }
}

pub(super) fn sniff(shape: &Shape<'_>) -> Option<(Unit, Cow<'static, str>)> {
    let found = match shape {
        Shape::List(_) => shape.elements().iter().any(is_piece),
        Shape::Object(_) if is_piece(shape) => true,
        _ => LISTS.iter().filter_map(|key| shape.child(key)).any(|list| list.elements().iter().any(is_piece)),
    };
    found.then_some((Unit::Piece, Cow::Borrowed("its `object` is `trace.span`")))
}

#[derive(Deserialize)]
struct Outside<'a> {
    #[serde(borrow)]
    object: Option<Text<'a>>,
    id: Option<Text<'a>>,
    trace_id: Option<Text<'a>>,
}

pub(super) fn split(text: &str) -> Result<Vec<Piece<'_>>, ImportError> {
    rows(text, &LISTS, is_piece)?.into_iter().map(piece).collect()
}

fn piece((place, found): (String, Row<'_>)) -> Result<Piece<'_>, ImportError> {
    let at = |error: ImportError| if place.is_empty() { error } else { error.at(&place) };
    let row: Outside<'_> = found.read().map_err(at)?;
    let key = match row.object.as_deref() {
        Some("trace") => row.id,
        _ => row.trace_id,
    };
    let key = key.ok_or_else(|| {
        at(ImportError::new("it has no trace id").hint("a trace has its `id`, a span that of its trace in `trace_id`"))
    })?;
    Ok(Piece { key: key.into_cow(), text: found.text.into() })
}

#[derive(Deserialize)]
struct Wire<'a> {
    #[serde(borrow)]
    object: Option<Text<'a>>,
    id: Option<Text<'a>>,
    parent_id: Option<Text<'a>>,
    started_at: Option<Moment>,
    ended_at: Option<Moment>,
    span_data: Option<Data<'a>>,
    error: Option<Problem<'a>>,
    workflow_name: Option<&'a RawValue>,
    group_id: Option<&'a RawValue>,
    metadata: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct Data<'a> {
    #[serde(borrow, rename = "type")]
    kind: Option<Text<'a>>,
    name: Option<&'a RawValue>,
    input: Option<&'a RawValue>,
    output: Option<&'a RawValue>,
    model: Option<&'a RawValue>,
    usage: Option<&'a RawValue>,
    #[serde(rename = "mcp_data")]
    mcp: Option<Mcp<'a>>,
}

#[derive(Deserialize)]
struct Mcp<'a> {
    #[serde(borrow)]
    server: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct Problem<'a> {
    #[serde(borrow)]
    message: Option<Text<'a>>,
}

pub(super) fn join(key: &str, pieces: &[&str], options: &Options) -> Result<Vec<Imported<'static>>, ImportError> {
    let mut all = Vec::with_capacity(pieces.len());
    let mut about: Vec<(&'static str, &RawValue)> = Vec::new();
    for piece in pieces {
        let wire: Wire<'_> = wire::piece(piece)?;
        if wire.object.as_deref() == Some("trace") {
            let fields =
                [("workflow_name", wire.workflow_name), ("group_id", wire.group_id), ("metadata", wire.metadata)];
            about.extend(fields.into_iter().filter_map(|(key, raw)| Some((key, raw?))));
        } else {
            let label = wire.id.as_deref().unwrap_or_default().to_owned();
            all.push(span(wire).map_err(|error| error.at(format_args!("the span {label:?}")))?);
        }
    }
    if all.is_empty() {
        return Err(
            ImportError::new("it has no spans").hint("a trace must be complete; its spans are in other records")
        );
    }
    let about: BTreeMap<Text<'_>, &RawValue> = about.into_iter().map(|(key, raw)| (Text::from(key), raw)).collect();
    for span in all.iter_mut().filter(|span| span.parent.is_none()) {
        span.attributes.fill(Attributes::plain(about.clone()));
    }
    spans::trace(key, all, options)
}

fn span(wire: Wire<'_>) -> Result<Span<'_>, ImportError> {
    let data = wire.span_data.ok_or_else(|| ImportError::new("it has no `span_data`"))?;
    let mut attributes: BTreeMap<Text<'_>, &RawValue> = BTreeMap::new();
    let mut put = |key: &'static str, raw: Option<_>| _ = raw.map(|raw| attributes.insert(Text::from(key), raw));
    match data.kind.as_deref() {
        Some("function") => {
            put(KIND, constant("\"TOOL\""));
            put("tool.name", data.name);
            put("input.value", data.input);
            put("output.value", data.output);
            put("mcp.server.name", data.mcp.and_then(|mcp| mcp.server));
        }
        Some("generation" | "response") => {
            put(KIND, constant("\"LLM\""));
            put("gen_ai.input.messages", data.input);
            put("gen_ai.output.messages", data.output);
            put("gen_ai.response.model", data.model);
            put("langfuse.observation.usage_details", data.usage);
        }
        Some("agent") => put(KIND, constant("\"AGENT\"")),
        Some(
            "handoff" | "guardrail" | "custom" | "mcp_tools" | "speech" | "speech_group" | "transcription" | "task"
            | "turn",
        ) => {}
        other => {
            return Err(ImportError::must_be("span_data.type", "a type of span", other)
                .hint("an unknown span could be a call, and calls are never left out"));
        }
    }
    let name = data.name.and_then(wire::name).or_else(|| data.kind.map(Text::into_owned));
    let own = |id: Option<Text<'_>>| id.map(|id| Cow::Owned(id.into_owned()));
    Ok(Span {
        id: own(wire.id),
        parent: own(wire.parent_id),
        name: name.unwrap_or_default().into(),
        start: wire.started_at.map(|moment| moment.0),
        end: wire.ended_at.map(|moment| moment.0),
        status: if wire.error.is_some() { Status::Failed } else { Status::Unset },
        status_message: wire.error.and_then(|error| error.message).map(Text::into_cow),
        attributes: Attributes::plain(attributes),
        events: Vec::new(),
        resource: None,
    })
}
