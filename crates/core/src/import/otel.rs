//! OpenTelemetry spans as flat JSON, one object per span with its attributes as an object.
//!
//! There is no standard for it. The ids stand in the span or in its `context`, the parent as `parent_span_id` or
//! `parent_id`, times in nanoseconds or as dates, the status as an object or beside the span.

use std::borrow::Cow;
use std::rc::Rc;

use serde::Deserialize;
use serde_json::value::RawValue;

use super::keyed::Keyed;
use super::look::Look;
use super::spans::{self, Attributes, Event, Moment, Span};
use super::wire::{self, Text, nothing_for_null};
use super::{ImportError, Imported, Options, Piece, Unit};

pub(super) fn sniff(look: &Look<'_>) -> Option<(Unit, Cow<'static, str>)> {
    let first;
    let look = match look {
        Look::List(items) => {
            first = Look::at(items.first()?.get())?;
            &first
        }
        other => other,
    };
    let any = |look: &Look<'_>, keys: [&str; 2]| keys.iter().any(|key| look.has(&[key]));
    let ids = |look: &Look<'_>| any(look, ["trace_id", "traceId"]) && any(look, ["span_id", "spanId"]);
    let has_ids = ids(look) || look.inside("context").is_some_and(|context| ids(&context));
    let timed = ["start_time", "startTime", "start_time_unix_nano", "startTimeUnixNano"];
    // Records of logs carry the same ids, and neither a name nor a start.
    let is_span = has_ids && look.has(&["name"]) && timed.iter().any(|key| look.has(&[key]));
    // On the wire of OTLP attributes are a list.
    let is_flat = look.get("attributes").is_none_or(|value| value.get().starts_with('{'));
    (is_span && is_flat).then_some((Unit::Piece, Cow::Borrowed("it has a trace id, a span id and a start")))
}

/// The ids of a span.
#[derive(Deserialize, Default)]
struct Ids<'a> {
    #[serde(borrow, default, alias = "traceId")]
    trace_id: Option<Text<'a>>,
    #[serde(borrow, default, alias = "spanId")]
    span_id: Option<Text<'a>>,
}

#[derive(Deserialize)]
struct Belongs<'a> {
    #[serde(borrow, default, alias = "traceId")]
    trace_id: Option<Text<'a>>,
    #[serde(borrow, default, deserialize_with = "nothing_for_null")]
    context: Ids<'a>,
}

pub(super) fn split(text: &str) -> Result<Vec<Piece<'_>>, ImportError> {
    if !text.trim_start().starts_with('[') {
        return piece(text).map(|piece| vec![piece]);
    }
    let items: Vec<&RawValue> = wire::typed(text)?;
    let pieces = items.into_iter().enumerate();
    pieces.map(|(place, item)| piece(item.get()).map_err(|error| error.at(&format!("[{place}]")))).collect()
}

fn piece(text: &str) -> Result<Piece<'_>, ImportError> {
    let belongs: Belongs<'_> = wire::typed(text)?;
    let told = belongs.trace_id.or(belongs.context.trace_id);
    let key = told.as_ref().and_then(|told| spans::id(told)).map(Cow::into_owned);
    let key = key.ok_or_else(|| {
        ImportError::new("the span has no trace id")
            .hint("it stands in `trace_id`, `traceId` or `context.trace_id`, and tells which spans belong together")
    })?;
    Ok(Piece { key: key.into(), text: text.into() })
}

#[derive(Deserialize)]
struct Wire<'a> {
    #[serde(borrow, default, alias = "spanId")]
    span_id: Option<Text<'a>>,
    #[serde(borrow, default, deserialize_with = "nothing_for_null")]
    context: Ids<'a>,
    #[serde(borrow, default, alias = "parentSpanId", alias = "parent_id", alias = "parentId")]
    parent_span_id: Option<Text<'a>>,
    #[serde(borrow, default)]
    name: Option<Text<'a>>,
    #[serde(default, alias = "startTime", alias = "start_time_unix_nano", alias = "startTimeUnixNano")]
    start_time: Option<Moment>,
    #[serde(default, alias = "endTime", alias = "end_time_unix_nano", alias = "endTimeUnixNano")]
    end_time: Option<Moment>,
    #[serde(borrow, default)]
    status: Option<&'a RawValue>,
    #[serde(borrow, default)]
    status_code: Option<&'a RawValue>,
    #[serde(borrow, default, rename = "statusCode")]
    camel_status_code: Option<&'a RawValue>,
    #[serde(borrow, default, rename = "StatusCode")]
    pascal_status_code: Option<&'a RawValue>,
    #[serde(borrow, default, rename = "status.code")]
    dotted_status_code: Option<&'a RawValue>,
    #[serde(borrow, default, rename = "otel.status_code")]
    prefixed_status_code: Option<&'a RawValue>,
    #[serde(borrow, default)]
    status_message: Option<Text<'a>>,
    #[serde(borrow, default, deserialize_with = "nothing_for_null")]
    attributes: Keyed<'a, &'a RawValue>,
    #[serde(borrow, default, deserialize_with = "nothing_for_null")]
    events: Vec<WireEvent<'a>>,
    #[serde(borrow, default, deserialize_with = "nothing_for_null")]
    span_events: Vec<WireEvent<'a>>,
    #[serde(borrow, default)]
    resource: Option<Resource<'a>>,
}

#[derive(Deserialize)]
struct WireEvent<'a> {
    #[serde(borrow, default, alias = "event_name")]
    name: Option<Text<'a>>,
    #[serde(borrow, default, deserialize_with = "nothing_for_null")]
    attributes: Keyed<'a, &'a RawValue>,
}

#[derive(Deserialize)]
struct Resource<'a> {
    #[serde(borrow, default, deserialize_with = "nothing_for_null")]
    attributes: Keyed<'a, &'a RawValue>,
}

pub(super) fn join(key: &str, pieces: &[&str], options: &Options) -> Result<Vec<Imported<'static>>, ImportError> {
    let mut all = Vec::with_capacity(pieces.len());
    for piece in pieces {
        all.push(span(wire::typed(piece)?)?);
    }
    spans::trace(key, all, options)
}

fn span(wire: Wire<'_>) -> Result<Span<'_>, ImportError> {
    let told = wire.status.map(spans::Status::read).transpose().map_err(|error| error.at("status"))?;
    let (status, said) = told.unwrap_or_default();
    let beside = spans::Status::of([
        wire.status_code,
        wire.camel_status_code,
        wire.pascal_status_code,
        wire.dotted_status_code,
        wire.prefixed_status_code,
    ]);
    let message = said.or(wire.status_message);
    let events = wire.events.into_iter().chain(wire.span_events).map(|event| Event {
        name: event.name.map_or(Cow::Borrowed(""), |name| name.0),
        attributes: Attributes::plain(event.attributes),
    });
    let own_id = |text: Text<'_>| spans::id(&text.0).map(|id| Cow::Owned(id.into_owned()));
    Ok(Span {
        id: wire.span_id.or(wire.context.span_id).and_then(own_id),
        parent: wire.parent_span_id.and_then(own_id),
        name: wire.name.map_or(Cow::Borrowed(""), |name| name.0),
        start: wire.start_time.map(|moment| moment.0),
        // A span that is still open has an end of 0.
        end: wire.end_time.map(|moment| moment.0).filter(|end| *end > 0),
        status: status.max(beside),
        status_message: message.map(|text| text.0),
        attributes: Attributes::plain(wire.attributes),
        events: events.collect(),
        resource: wire.resource.map(|resource| Rc::new(Attributes::plain(resource.attributes))),
    })
}
