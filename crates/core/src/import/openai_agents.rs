//! Spans of the tracing of the `OpenAI` Agents SDK: one object per trace and one per span, with what it records in `span_data`.
//!
//! A span of a model that uses the Responses API has the id of the reply and its usage, but neither messages nor calls. The
//! calls of functions have spans of their own. A handoff is no call of a tool.

use std::borrow::Cow;

use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::value::RawValue;

use super::otel::{Row, rows, single};
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
    data: Option<IgnoredAny>,
    spans: Option<IgnoredAny>,
}

pub(super) fn split(text: &str) -> Result<Vec<Piece<'_>>, ImportError> {
    if let Some(row) = single(text, |row: &Outside<'_>| row.data.is_some() || row.spans.is_some()) {
        return piece_of(row, text).map(|piece| vec![piece]);
    }
    rows(text, &LISTS, is_piece)?.into_iter().map(piece).collect()
}

fn piece((place, found): (String, Row<'_>)) -> Result<Piece<'_>, ImportError> {
    let at = |error: ImportError| if place.is_empty() { error } else { error.at(&place) };
    found.read().and_then(|row| piece_of(row, found.text)).map_err(at)
}

fn piece_of<'a>(row: Outside<'a>, text: &'a str) -> Result<Piece<'a>, ImportError> {
    let key = match row.object.as_deref() {
        Some("trace") => row.id,
        _ => row.trace_id,
    };
    let key = key.ok_or_else(|| {
        ImportError::new("it has no trace id").hint("a trace has its `id`, a span that of its trace in `trace_id`")
    })?;
    Ok(Piece { key: key.into_cow(), text: text.into() })
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
            let id = wire.id.clone();
            let label = || format!("the span {:?}", id.as_deref().unwrap_or_default());
            all.push(span(wire).map_err(|error| error.at(label()))?);
        }
    }
    if all.is_empty() {
        return Err(
            ImportError::new("it has no spans").hint("a trace must be complete; its spans are in other records")
        );
    }
    let mut of_trace = Attributes::default();
    of_trace.extend(about);
    for span in all.iter_mut().filter(|span| span.parent.is_none()) {
        span.attributes.fill(of_trace.clone());
    }
    spans::trace(key, all, options)
}

fn span(wire: Wire<'_>) -> Result<Span<'_>, ImportError> {
    let data = wire.span_data.ok_or_else(|| ImportError::new("it has no `span_data`"))?;
    // The SDK records no failure of a tool of MCP: it drops the flag of the result.
    let is_unclear = data.mcp.is_some() && wire.error.is_none();
    let mut found: Vec<(&'static str, &RawValue)> = Vec::new();
    let mut put = |key: &'static str, raw: Option<_>| found.extend(raw.map(|raw| (key, raw)));
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
    let mut attributes = Attributes::default();
    attributes.extend(found);
    Ok(Span {
        id: wire.id.map(Text::into_cow),
        parent: wire.parent_id.map(Text::into_cow),
        name: name.unwrap_or_default().into(),
        start: wire.started_at.map(|moment| moment.0),
        end: wire.ended_at.map(|moment| moment.0),
        status: match wire.error {
            Some(_) => Status::Failed,
            None if is_unclear => Status::Unknown,
            None => Status::Unset,
        },
        status_message: wire.error.and_then(|error| error.message).map(Text::into_cow),
        attributes,
        events: Vec::new(),
        resource: None,
    })
}
