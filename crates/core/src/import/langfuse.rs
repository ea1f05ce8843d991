//! Observations that Langfuse exports: one row per span, with its type, its input and its output.
//!
//! Files for analysis have underscores in their keys, the API has camel case. A trace may also be one document with its
//! `observations`. Spans that other recorders sent to Langfuse keep their attributes in `metadata`, as JSON or as JSON in a
//! text.

use std::borrow::Cow;

use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::value::RawValue;

use super::shape::Shape;
use super::spans::{Attributes, Moment, Span, Status};
use super::unread_calls::{self, UnreadCalls};
use super::wire::{self, Text, null_as_default};
use super::{ImportError, Piece, Unit, otel};

const LISTS: [&str; 2] = ["observations", "data"];

/// Whether a value is an observation.
fn is_row(shape: &Shape<'_>) -> bool {
    let Shape::Object(map) = shape else { return false };
    let has = |keys: [&str; 2]| keys.iter().any(|key| map.contains_key(*key));
    has(["trace_id", "traceId"])
        && has(["start_time", "startTime"])
        && has(["parent_observation_id", "parentObservationId"])
        && shape.has(&["type"])
}

pub(super) fn sniff(shape: &Shape<'_>) -> Option<(Unit, Cow<'static, str>)> {
    let found = match shape {
        Shape::List(_) => shape.elements().first().is_some_and(is_row),
        Shape::Object(_) if is_row(shape) => true,
        _ => LISTS.iter().filter_map(|key| shape.child(key)).any(|list| list.elements().first().is_some_and(is_row)),
    };
    found.then_some((Unit::Piece, Cow::Borrowed("it is an observation with a trace and a parent")))
}

#[derive(Deserialize)]
struct Row<'a> {
    #[serde(borrow)]
    id: Option<Text<'a>>,
    #[serde(alias = "traceId")]
    trace_id: Option<Text<'a>>,
    #[serde(alias = "parentObservationId")]
    parent_observation_id: Option<Text<'a>>,
    #[serde(rename = "type")]
    kind: Option<&'a RawValue>,
    name: Option<Text<'a>>,
    #[serde(alias = "startTime")]
    start_time: Option<Moment>,
    #[serde(alias = "endTime")]
    end_time: Option<Moment>,
    level: Option<&'a RawValue>,
    #[serde(alias = "statusMessage")]
    status_message: Option<Text<'a>>,
    #[serde(alias = "providedModelName", alias = "provided_model_name", alias = "internal_model")]
    model: Option<&'a RawValue>,
    input: Option<&'a RawValue>,
    output: Option<&'a RawValue>,
    #[serde(alias = "usageDetails")]
    usage_details: Option<&'a RawValue>,
    #[serde(default, alias = "toolCalls")]
    tool_calls: UnreadCalls,
    #[serde(alias = "sessionId")]
    session_id: Option<&'a RawValue>,
    #[serde(alias = "userId")]
    user_id: Option<&'a RawValue>,
    metadata: Option<&'a RawValue>,
    /// Attributes that were inside of `metadata`.
    #[serde(default, deserialize_with = "null_as_default")]
    attributes: Attributes<'a>,
    observations: Option<IgnoredAny>,
    data: Option<IgnoredAny>,
}

pub(super) fn split(text: &str) -> Result<Vec<Piece<'_>>, ImportError> {
    if let Some(row) = otel::single(text, |row: &Row<'_>| row.observations.is_some() || row.data.is_some()) {
        return piece_of(row, text).map(|piece| vec![piece]);
    }
    otel::pieces(text, &LISTS, is_row, piece)
}

fn piece(found: otel::Row<'_>) -> Result<Piece<'_>, ImportError> {
    piece_of(found.read()?, found.text)
}

fn piece_of<'a>(row: Row<'a>, text: &'a str) -> Result<Piece<'a>, ImportError> {
    let key = row.trace_id.ok_or_else(|| ImportError::new("the observation has no trace id"))?;
    let inner = row.metadata.filter(|_| row.attributes.is_empty()).and_then(attributes);
    let text = match inner.zip(text.trim_end().strip_suffix('}')) {
        Some((inner, start)) => {
            wire::check(&inner).map_err(|error| error.at("metadata"))?;
            format!("{start},\"attributes\":{inner}}}").into()
        }
        None => text.into(),
    };
    Ok(Piece { key: key.into_cow(), text })
}

/// The attributes of a span in the metadata of its observation, as JSON.
fn attributes(metadata: &RawValue) -> Option<String> {
    // Most metadata has none. A letter of the key may be spelled by its number.
    if !(metadata.get().contains("attributes") || metadata.get().contains("\\u00")) {
        return None;
    }
    let is_object = |text: &str| text.trim_start().starts_with('{');
    let metadata = Text::part(metadata).map_or_else(|| metadata.get().into(), Text::into_cow);
    if !is_object(&metadata) || !metadata.contains("\"attributes\"") {
        return None;
    }
    let attributes = Shape::of(&metadata)?.get("attributes")?.get();
    match attributes.as_bytes().first() {
        Some(b'{') => Some(attributes.to_owned()),
        Some(b'"') => serde_json::from_str::<String>(attributes).ok().filter(|text| is_object(text)),
        _ => None,
    }
}

/// The span of a piece.
pub(super) fn read(piece: &str) -> Result<Span<'_>, ImportError> {
    let row: Row<'_> = wire::piece(piece)?;
    let id = row.id.clone();
    span(row).map_err(|error| error.at(format_args!("the observation {:?}", id.as_deref().unwrap_or_default())))
}

fn span(row: Row<'_>) -> Result<Span<'_>, ImportError> {
    let is_empty = row.output.is_none_or(|raw| matches!(raw.get(), "null" | "\"\"" | "{}" | "[]"));
    if is_empty {
        // The output repeats the calls of this column.
        unread_calls::refuse(&"observation", &[("tool_calls", row.tool_calls)])
            .map_err(|error| error.hint("export the observations with their `output`"))?;
    }
    let mut attributes = row.attributes;
    // A span of another recorder has this type where Langfuse does not know its vocabulary.
    let is_unknown = |kind: &&RawValue| kind.get().eq_ignore_ascii_case("\"span\"") && !attributes.is_empty();
    // In the order of the keys, as they are kept.
    let fields = [
        ("langfuse.observation.input", row.input),
        ("langfuse.observation.level", row.level),
        ("langfuse.observation.model.name", row.model),
        ("langfuse.observation.output", row.output),
        ("langfuse.observation.type", row.kind.filter(|kind| !is_unknown(kind))),
        ("langfuse.observation.usage_details", row.usage_details),
        ("metadata", row.metadata),
        ("session_id", row.session_id),
        ("user_id", row.user_id),
    ];
    attributes.extend(fields.into_iter().filter_map(|(key, raw)| Some((key, raw?))));
    Ok(Span {
        id: own_id(row.id),
        parent: own_id(row.parent_observation_id),
        name: row.name.map_or(Cow::Borrowed(""), Text::into_cow),
        start: row.start_time.map(|moment| moment.0),
        end: row.end_time.map(|moment| moment.0),
        status: Status::Unset,
        status_message: row.status_message.map(Text::into_cow),
        attributes,
        events: Vec::new(),
        resource: None,
    })
}

fn own_id(id: Option<Text<'_>>) -> Option<Cow<'_, str>> {
    id.filter(|id| !id.is_empty()).map(Text::into_cow)
}
