//! OpenTelemetry spans as flat JSON, one object per span with its attributes as an object.
//!
//! There is no standard for it. Ids are in the span or in its `context`, the parent is `parent_span_id` or `parent_id`, times
//! are nanoseconds or dates, and the status is an object or several keys of the span. Tables of Phoenix have a column for each
//! attribute. Traces of Patronus are trees: a span has its children in `child_spans`.

mod columns;

use std::borrow::Cow;
use std::rc::Rc;

use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::value::RawValue;

use super::shape::Shape;
use super::spans::{self, Attributes, Event, Moment, Span};
use super::wire::{self, Id, Text, null_as_default};
use super::{ImportError, Imported, Options, Piece, Unit};

/// Keys of documents that hold spans: of Phoenix and of `MLflow`.
const LISTS: [&str; 3] = ["spans", "data.spans", "data"];

/// The key of a page of Phoenix that names the next one.
const NEXT: &str = "\"next_cursor\"";

pub(super) fn sniff(shape: &Shape<'_>) -> Option<(Unit, Cow<'static, str>)> {
    let why = Cow::Borrowed("it has a trace id, a span id and a start");
    match shape {
        Shape::List(items) => is_span(&Shape::part(items.first()?.get())?),
        Shape::Object(_) if is_span(shape) => true,
        Shape::Object(_) => LISTS.iter().filter_map(|key| shape.find(key)).any(|list| {
            matches!(Shape::part(list.get()), Some(Shape::List(items))
                if items.first().and_then(|first| Shape::part(first.get())).is_some_and(|first| is_span(&first)))
        }),
        Shape::Other => false,
    }
    .then_some((Unit::Piece, why))
}

fn is_span(shape: &Shape<'_>) -> bool {
    let any = |shape: &Shape<'_>, keys: [&str; 2]| keys.iter().any(|key| shape.has(&[key]));
    let ids = |shape: &Shape<'_>| any(shape, ["trace_id", "traceId"]) && any(shape, ["span_id", "spanId"]);
    let has_ids = ids(shape) || columns::has_ids(shape) || shape.child("context").is_some_and(|context| ids(&context));
    let timed = ["start_time", "startTime", "start_time_unix_nano", "startTimeUnixNano"];
    // In OTLP attributes are a list.
    let is_flat = shape.get("attributes").is_none_or(|value| value.get().starts_with('{'));
    // Log records have the same ids, but neither a name nor a start.
    let is_named = shape.has(&["name"]) && timed.iter().any(|key| shape.has(&[key]));
    has_ids && is_flat && (is_named || shape.has(&["span_name", "timestamp"]))
}

/// Reads a value that is a single row, as most are. `None` where it may have rows in it, and where it cannot be read so.
pub(super) fn single<'a, T: Deserialize<'a>>(text: &'a str, may_have_rows: impl FnOnce(&T) -> bool) -> Option<T> {
    let is_object = text.trim_start().starts_with('{');
    is_object.then(|| wire::typed::<T>(text).ok()).flatten().filter(|row| !may_have_rows(row))
}

/// The pieces of a value that has rows.
pub(super) fn pieces<'a>(
    text: &'a str,
    lists: &[&str],
    is_row: fn(&Shape<'_>) -> bool,
    piece: fn(Row<'a>) -> Result<Piece<'a>, ImportError>,
) -> Result<Vec<Piece<'a>>, ImportError> {
    let at = |place: String, error: ImportError| if place.is_empty() { error } else { error.at(place) };
    let rows = rows(text, lists, is_row)?.into_iter();
    rows.map(|(place, row)| piece(row).map_err(|error| at(place, error))).collect()
}

/// A row of a value, and whether that was checked.
#[derive(Clone, Copy)]
pub(super) struct Row<'a> {
    pub(super) text: &'a str,
    is_checked: bool,
}

impl<'a> Row<'a> {
    /// Reads it, and checks it where that is left to do.
    pub(super) fn read<T: Deserialize<'a>>(self) -> Result<T, ImportError> {
        if self.is_checked { wire::piece(self.text) } else { wire::typed(self.text) }
    }
}

/// The rows of a value: the elements of a list, or those of a list under one of some keys, or the value itself. A row may have
/// more rows in it. Each with its place.
pub(super) fn rows<'a>(
    text: &'a str,
    lists: &[&str],
    is_row: fn(&Shape<'_>) -> bool,
) -> Result<Vec<(String, Row<'a>)>, ImportError> {
    let itself = |is_checked: bool| vec![(String::new(), Row { text, is_checked })];
    if text.trim_start().starts_with('[') {
        return Ok(placed("", wire::typed(text)?).collect());
    }
    // A value without any of the keys is a single row.
    let is_there = |path: &&str| path.rsplit('.').next().is_some_and(|key| text.contains(&format!("\"{key}\"")));
    if !lists.iter().any(is_there) {
        return Ok(itself(false));
    }
    let shape = Shape::Object(wire::typed(text)?);
    let list = |path: &&str| shape.find(path).filter(|list| list.get().starts_with('['));
    let Some((key, list)) = lists.iter().find_map(|path| Some((*path, list(path)?))) else { return Ok(itself(true)) };
    let items: Vec<&RawValue> = wire::part(list).map_err(|error| error.at(key))?;
    let mut rows = if is_row(&shape) { itself(true) } else { Vec::new() };
    // A row may also have a list of something else under such a key.
    if rows.is_empty() || items.iter().any(|item| Shape::part(item.get()).is_some_and(|item| is_row(&item))) {
        rows.extend(placed(key, items));
    }
    Ok(rows)
}

fn placed<'a>(key: &str, items: Vec<&'a RawValue>) -> impl Iterator<Item = (String, Row<'a>)> {
    let row = |item: &'a RawValue| Row { text: item.get(), is_checked: true };
    items.into_iter().enumerate().map(move |(at, item)| (format!("{key}[{at}]"), row(item)))
}

/// The ids of a span.
#[derive(Deserialize, Default)]
struct Ids<'a> {
    #[serde(borrow, alias = "traceId")]
    trace_id: Option<Id<'a>>,
    #[serde(alias = "spanId")]
    span_id: Option<Id<'a>>,
}

#[derive(Deserialize)]
struct SpanTrace<'a> {
    #[serde(borrow, alias = "traceId")]
    trace_id: Option<Id<'a>>,
    #[serde(rename = "context.trace_id")]
    column: Option<Id<'a>>,
    #[serde(default, deserialize_with = "null_as_default")]
    context: Ids<'a>,
    spans: Option<IgnoredAny>,
    data: Option<IgnoredAny>,
}

pub(super) fn split(text: &str) -> Result<Vec<Piece<'_>>, ImportError> {
    if let Some(span) = single(text, |span: &SpanTrace<'_>| span.spans.is_some() || span.data.is_some()) {
        return piece_of(span, text).map(|piece| vec![piece]);
    }
    refuse_page(text)?;
    pieces(text, &LISTS, is_span, piece)
}

/// Refuses one page of Phoenix: the spans of a trace may be on several, and a trace must be complete.
pub(super) fn refuse_page(text: &str) -> Result<(), ImportError> {
    if text.contains(NEXT) && Shape::of(text).is_some_and(|shape| shape.has(&["data", "next_cursor"])) {
        return Err(ImportError::new("it is one page of several: `next_cursor` says that more spans follow")
            .hint("join the spans of all pages: `jq -c '.data[]' page-*.json > spans.jsonl`"));
    }
    Ok(())
}

fn piece(row: Row<'_>) -> Result<Piece<'_>, ImportError> {
    piece_of(row.read()?, row.text)
}

fn piece_of<'a>(span: SpanTrace<'a>, text: &'a str) -> Result<Piece<'a>, ImportError> {
    let id = span.trace_id.or(span.context.trace_id).or(span.column);
    let key = id.as_ref().and_then(|id| spans::id(&id.0)).map(Cow::into_owned);
    let key = key.ok_or_else(|| {
        ImportError::new("the span has no trace id")
            .hint("set `trace_id`, `traceId` or `context.trace_id`; it shows which spans belong together")
    })?;
    Ok(Piece { key: key.into(), text: text.into() })
}

#[derive(Deserialize)]
struct Wire<'a> {
    #[serde(borrow, alias = "spanId")]
    span_id: Option<Id<'a>>,
    #[serde(rename = "context.span_id")]
    column: Option<Id<'a>>,
    #[serde(default, deserialize_with = "null_as_default")]
    context: Ids<'a>,
    #[serde(alias = "parentSpanId", alias = "parent_id", alias = "parentId")]
    parent_span_id: Option<Id<'a>>,
    /// The ids of the parent.
    parent: Option<&'a RawValue>,
    name: Option<Text<'a>>,
    span_name: Option<Text<'a>>,
    #[serde(alias = "startTime", alias = "start_time_unix_nano", alias = "startTimeUnixNano")]
    start_time: Option<Moment>,
    /// The start where the name is `span_name`, and how long it took.
    timestamp: Option<&'a RawValue>,
    duration: Option<&'a RawValue>,
    #[serde(alias = "endTime", alias = "end_time_unix_nano", alias = "endTimeUnixNano")]
    end_time: Option<Moment>,
    status: Option<&'a RawValue>,
    status_code: Option<&'a RawValue>,
    #[serde(rename = "statusCode")]
    camel_status_code: Option<&'a RawValue>,
    #[serde(rename = "StatusCode")]
    pascal_status_code: Option<&'a RawValue>,
    #[serde(rename = "status.code")]
    dotted_status_code: Option<&'a RawValue>,
    #[serde(rename = "otel.status_code")]
    prefixed_status_code: Option<&'a RawValue>,
    status_message: Option<Text<'a>>,
    #[serde(default, deserialize_with = "null_as_default")]
    attributes: Attributes<'a>,
    #[serde(default, deserialize_with = "null_as_default")]
    span_attributes: Attributes<'a>,
    /// The kind of span as `OpenInference` names it, which Phoenix stores outside the attributes, or as OpenTelemetry does.
    span_kind: Option<&'a RawValue>,
    #[serde(default, deserialize_with = "null_as_default")]
    events: Vec<WireEvent<'a>>,
    #[serde(default, deserialize_with = "null_as_default")]
    span_events: Vec<WireEvent<'a>>,
    resource: Option<Resource<'a>>,
    resource_attributes: Option<Attributes<'a>>,
    #[serde(default, alias = "childSpans", deserialize_with = "null_as_default")]
    child_spans: Vec<&'a RawValue>,
}

/// The kinds of `OpenInference`.
const KINDS: [&str; 10] =
    ["llm", "tool", "agent", "chain", "retriever", "embedding", "reranker", "guardrail", "evaluator", "prompt"];

#[derive(Deserialize)]
struct WireEvent<'a> {
    #[serde(borrow, alias = "event_name")]
    name: Option<Text<'a>>,
    #[serde(default, deserialize_with = "null_as_default")]
    attributes: Attributes<'a>,
}

#[derive(Deserialize)]
struct Resource<'a> {
    #[serde(borrow, default, deserialize_with = "null_as_default")]
    attributes: Attributes<'a>,
}

pub(super) fn join(key: &str, pieces: &[&str], options: &Options) -> Result<Vec<Imported<'static>>, ImportError> {
    let mut spans = Vec::with_capacity(pieces.len());
    pieces.iter().try_for_each(|piece| read(piece, &mut spans))?;
    spans::trace(key, spans, options)
}

/// Whether a piece has a span of a model, an agent or a tool. One that cannot be read could have.
pub(super) fn has_agent(piece: &str) -> bool {
    let mut spans = Vec::new();
    read(piece, &mut spans).map_or(true, |()| spans::has_agent(&spans))
}

/// Reads a span and those below it. The parser limits their depth.
fn read<'a>(piece: &'a str, spans: &mut Vec<Span<'a>>) -> Result<(), ImportError> {
    let mut wire: Wire<'a> = wire::piece(piece)?;
    if wire.column.is_some() {
        columns::add(piece, &mut wire)?;
    }
    let children = std::mem::take(&mut wire.child_spans);
    spans.push(span(wire)?);
    for (at, child) in children.into_iter().enumerate() {
        read(child.get(), spans).map_err(|error| error.at(format_args!("child_spans[{at}]")))?;
    }
    Ok(())
}

fn span(mut wire: Wire<'_>) -> Result<Span<'_>, ImportError> {
    wire.attributes.fill(std::mem::take(&mut wire.span_attributes));
    let is_kind = |kind: &&RawValue| {
        let word = kind.get().trim_matches('"');
        KINDS.iter().any(|known| known.eq_ignore_ascii_case(word))
    };
    if let Some(kind) = wire.span_kind.filter(is_kind) {
        let mut named = Attributes::default();
        named.extend([("openinference.span.kind", kind)]);
        wire.attributes.fill(named);
    }
    if wire.start_time.is_none() && wire.span_name.is_some() {
        wire.start_time = wire::optional(wire.timestamp, |moment| wire::typed(moment.get()), "timestamp")?;
        let took = wire.duration.and_then(|took| spans::duration(took.get().trim_matches('"')));
        let end = wire.start_time.zip(took).and_then(|(start, took)| start.0.checked_add(took));
        wire.end_time = wire.end_time.or(end.map(Moment));
    }
    let status = wire::optional(wire.status, spans::Status::read, "status")?;
    let (status, message) = status.unwrap_or_default();
    let other = spans::Status::of([
        wire.status_code,
        wire.camel_status_code,
        wire.pascal_status_code,
        wire.dotted_status_code,
        wire.prefixed_status_code,
    ]);
    let message = message.or(wire.status_message);
    let events = wire.events.into_iter().chain(wire.span_events).map(|event| Event {
        name: event.name.map_or(Cow::Borrowed(""), Text::into_cow),
        attributes: event.attributes,
    });
    let parent = wire.parent.filter(|parent| parent.get().starts_with('{'));
    let parent = wire::optional(parent, wire::part::<Ids<'_>>, "parent")?;
    Ok(Span {
        id: wire.span_id.or(wire.context.span_id).or(wire.column).and_then(|id| spans::own_id(id.0)),
        parent: wire.parent_span_id.or(parent.and_then(|ids| ids.span_id)).and_then(|id| spans::own_id(id.0)),
        name: wire.name.or(wire.span_name).map_or(Cow::Borrowed(""), Text::into_cow),
        start: wire.start_time.map(|moment| moment.0),
        // A span that is still open has an end of 0.
        end: wire.end_time.map(|moment| moment.0).filter(|end| *end > 0),
        status: status.max(other),
        status_message: message.map(Text::into_cow),
        attributes: wire.attributes,
        events: events.collect(),
        resource: wire.resource.map(|resource| resource.attributes).or(wire.resource_attributes).map(Rc::new),
    })
}
