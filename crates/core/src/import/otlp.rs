//! Exports of OpenTelemetry in OTLP/JSON: `resourceSpans`, `scopeSpans`, `spans`.
//!
//! A line of a file is one export, and the spans of a trace may be in several exports. The pieces of a trace are its spans, each
//! after its resource. Older exporters and other languages spell some keys differently. Phoenix hands out spans without their
//! resources, in a list.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::rc::Rc;

use serde::Deserialize;
use serde_json::value::RawValue;

use super::copy_budget::CopyBudget;
use super::shape::Shape;
use super::spans::{self, Attributes, Event, KeyValue, Moment, Span};
use super::wire::{self, Text, null_as_default};
use super::{ImportError, Imported, Options, Piece, Unit, otel};

/// The key of a page of Phoenix that has its spans.
const LIST: &str = "data";

const KEYS: [&str; 2] = ["resourceSpans", "resource_spans"];

pub(super) fn sniff(shape: &Shape<'_>) -> Option<(Unit, Cow<'static, str>)> {
    let is_list = |key: &&&str| shape.get(key).is_some_and(|value| value.get().starts_with('['));
    if let Some(key) = KEYS.iter().find(is_list) {
        return Some((Unit::Piece, format!("it has `{key}`").into()));
    }
    let begins_with_span = |list: &Shape<'_>| match list {
        Shape::List(items) => {
            items.first().and_then(|first| Shape::of(first.get())).is_some_and(|first| is_span(&first))
        }
        _ => false,
    };
    let found =
        is_span(shape) || begins_with_span(shape) || shape.child(LIST).is_some_and(|list| begins_with_span(&list));
    found.then_some((Unit::Piece, Cow::Borrowed("it is a span with a list of attributes")))
}

/// Whether a value is a span without the export around it.
fn is_span(shape: &Shape<'_>) -> bool {
    let has = |keys: [&str; 2]| keys.iter().any(|key| shape.has(&[key]));
    shape.get("attributes").is_some_and(|value| value.get().starts_with('['))
        && has(["traceId", "trace_id"])
        && has(["spanId", "span_id"])
        && has(["startTimeUnixNano", "start_time_unix_nano"])
}

#[derive(Deserialize)]
struct Export<'a> {
    #[serde(borrow, rename = "resourceSpans", alias = "resource_spans", deserialize_with = "null_as_default")]
    resources: Vec<Resource<'a>>,
}

#[derive(Deserialize)]
struct Resource<'a> {
    #[serde(borrow)]
    resource: Option<&'a RawValue>,
    #[serde(
        borrow,
        default,
        rename = "scopeSpans",
        alias = "scope_spans",
        alias = "instrumentationLibrarySpans",
        alias = "instrumentation_library_spans",
        deserialize_with = "null_as_default"
    )]
    scopes: Vec<Scope<'a>>,
}

#[derive(Deserialize)]
struct Scope<'a> {
    #[serde(borrow, default, deserialize_with = "null_as_default")]
    spans: Vec<&'a RawValue>,
}

#[derive(Deserialize)]
struct TraceId<'a> {
    #[serde(borrow, rename = "traceId", alias = "trace_id")]
    trace: Text<'a>,
}

pub(super) fn split(text: &str) -> Result<Vec<Piece<'_>>, ImportError> {
    let is_export = |shape: &Shape<'_>| KEYS.iter().any(|key| shape.has(&[key]));
    let are_spans = || Shape::of(text).is_some_and(|shape| !is_export(&shape) && sniff(&shape).is_some());
    let spans = || otel::refuse_page(text).and_then(|()| otel::pieces(text, &[LIST], is_span, piece));
    // Spans without their export have no such key, except inside of a text.
    if !KEYS.iter().any(|key| text.contains(key)) && are_spans() {
        return spans();
    }
    let export: Export<'_> = match wire::typed(text) {
        Err(_) if are_spans() => return spans(),
        read => read?,
    };
    let budget = CopyBudget::of(text);
    let mut out = Vec::new();
    for (resource_at, resource) in export.resources.into_iter().enumerate() {
        // The spans of a trace follow each other, so that it is not closed between them.
        let mut places = BTreeMap::new();
        let mut traces: Vec<Vec<Piece<'_>>> = Vec::new();
        for (scope_at, scope) in resource.scopes.into_iter().enumerate() {
            for (span_at, span) in scope.spans.into_iter().enumerate() {
                let place = || format!("resourceSpans[{resource_at}].scopeSpans[{scope_at}].spans[{span_at}]");
                let id: TraceId<'_> = wire::part(span).map_err(|error| error.at(place()))?;
                let Some(key) = key(id.trace) else {
                    return Err(ImportError::new(format!("{}.traceId is empty", place())));
                };
                let at = *places.entry(key.clone()).or_insert(traces.len());
                if at == traces.len() {
                    let resource = resource.resource.map_or("null", RawValue::get);
                    budget.take(resource.len(), &format!("resourceSpans[{resource_at}].resource"))?;
                    traces.push(vec![Piece { key: key.clone(), text: format!("[{resource}]").into() }]);
                }
                traces[at].push(Piece { key, text: span.get().into() });
            }
        }
        out.extend(traces.into_iter().flatten());
    }
    Ok(out)
}

/// The id of a trace, which is rarely written in another way.
fn key(trace: Text<'_>) -> Option<Cow<'_, str>> {
    match trace {
        Text::Plain(Cow::Borrowed(trace)) => spans::id(trace),
        other => spans::id(&other).map(|key| key.into_owned().into()),
    }
}

/// A span without its resource.
fn piece(row: otel::Row<'_>) -> Result<Piece<'_>, ImportError> {
    let (id, span): (TraceId<'_>, &str) = (row.read()?, row.text);
    let key = key(id.trace).ok_or_else(|| ImportError::new("traceId is empty"))?;
    Ok(Piece { key, text: format!("[null,{span}]").into() })
}

#[derive(Deserialize, Default)]
struct Attributed<'a> {
    #[serde(borrow, default, deserialize_with = "null_as_default")]
    attributes: Vec<KeyValue<'a>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Wire<'a> {
    #[serde(borrow, alias = "span_id")]
    span_id: Option<Text<'a>>,
    #[serde(alias = "parent_span_id")]
    parent_span_id: Option<Text<'a>>,
    name: Option<Text<'a>>,
    #[serde(alias = "start_time_unix_nano")]
    start_time_unix_nano: Option<Moment>,
    #[serde(alias = "end_time_unix_nano")]
    end_time_unix_nano: Option<Moment>,
    status: Option<&'a RawValue>,
    #[serde(default, deserialize_with = "null_as_default")]
    attributes: Vec<KeyValue<'a>>,
    #[serde(default, deserialize_with = "null_as_default")]
    events: Vec<WireEvent<'a>>,
}

#[derive(Deserialize)]
struct WireEvent<'a> {
    #[serde(borrow)]
    name: Option<Text<'a>>,
    #[serde(default, deserialize_with = "null_as_default")]
    attributes: Vec<KeyValue<'a>>,
}

pub(super) fn join(key: &str, pieces: &[&str], options: &Options) -> Result<Vec<Imported<'static>>, ImportError> {
    spans::trace(key, read(pieces)?, options)
}

/// Whether a piece has a span of a model, an agent or a tool. One that cannot be read could have.
pub(super) fn has_agent(piece: &str) -> bool {
    read(&[piece]).map_or(true, |spans| spans::has_agent(&spans))
}

/// A piece is a list with a resource, and with a span where that has none, or a span of the resource in the last such list.
fn read<'a>(pieces: &[&'a str]) -> Result<Vec<Span<'a>>, ImportError> {
    let (mut all, mut resource) = (Vec::new(), None);
    for piece in pieces {
        let mut text = *piece;
        if piece.starts_with('[') {
            let list: Vec<&'a RawValue> = wire::piece(piece)?;
            let own = list.first().copied().filter(|raw| raw.get() != "null");
            resource = wire::optional(own, shared_attributes, "resource")?;
            let Some(span) = list.get(1) else { continue };
            text = span.get();
        }
        let wire: Wire<'a> = wire::piece(text).map_err(|error| error.at("a span"))?;
        let id = wire.span_id.clone();
        let label = || id.as_deref().map_or_else(|| "a span".to_owned(), |id| format!("a span ({id})"));
        all.push(span(wire, resource.clone()).map_err(|error| error.at(label()))?);
    }
    Ok(all)
}

/// The attributes of a resource, for all its spans.
fn shared_attributes(raw: &RawValue) -> Result<Rc<Attributes<'_>>, ImportError> {
    let read: Attributed<'_> = wire::part(raw)?;
    Attributes::tagged(read.attributes).map(Rc::new)
}

fn span<'a>(wire: Wire<'a>, resource: Option<Rc<Attributes<'a>>>) -> Result<Span<'a>, ImportError> {
    let mut events = Vec::with_capacity(wire.events.len());
    for event in wire.events {
        let name = event.name.map_or(Cow::Borrowed(""), Text::into_cow);
        events.push(Event { name, attributes: Attributes::tagged(event.attributes)? });
    }
    let status = wire::optional(wire.status, spans::Status::read, "status")?;
    let (status, message) = status.unwrap_or_default();
    Ok(Span {
        id: wire.span_id.and_then(own_id),
        parent: wire.parent_span_id.and_then(own_id),
        name: wire.name.map_or(Cow::Borrowed(""), Text::into_cow),
        start: wire.start_time_unix_nano.map(|moment| moment.0),
        // A span that is still open has an end of 0.
        end: wire.end_time_unix_nano.map(|moment| moment.0).filter(|end| *end > 0),
        status,
        status_message: message.map(Text::into_cow),
        attributes: Attributes::tagged(wire.attributes)?,
        events,
        resource,
    })
}

fn own_id(text: Text<'_>) -> Option<Cow<'_, str>> {
    spans::own_id(text.into_cow())
}
