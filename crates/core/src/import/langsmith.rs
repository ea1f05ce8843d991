//! Runs that `LangSmith` exports: one row per run, with its type, its inputs and its outputs.
//!
//! Rows of the API are objects; in files for analysis `inputs` and `outputs` are JSON in a text. Newer rows name their parent
//! only in `dotted_order`.

use std::borrow::Cow;

use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::value::RawValue;

use super::shape::Shape;
use super::spans::{Attributes, Moment, Span, Status};
use super::wire::{self, Text};
use super::{ImportError, Piece, Unit, otel};
use crate::json;

const LISTS: [&str; 1] = ["runs"];

/// Whether a value is a run.
pub(super) fn is_row(shape: &Shape<'_>) -> bool {
    shape.has(&["id", "trace_id", "run_type", "name", "start_time", "dotted_order"])
}

pub(super) fn sniff(shape: &Shape<'_>) -> Option<(Unit, Cow<'static, str>)> {
    let found = match shape {
        Shape::Object(_) if is_row(shape) => true,
        Shape::Object(_) => {
            LISTS.iter().filter_map(|key| shape.child(key)).any(|list| list.elements().first().is_some_and(is_row))
        }
        _ => shape.elements().first().is_some_and(is_row),
    };
    found.then_some((Unit::Piece, Cow::Borrowed("it is a run with a `run_type` and a `dotted_order`")))
}

#[derive(Deserialize)]
struct Row<'a> {
    #[serde(borrow)]
    id: Option<Text<'a>>,
    trace_id: Option<Text<'a>>,
    parent_run_id: Option<Text<'a>>,
    dotted_order: Option<Text<'a>>,
    run_type: Option<&'a RawValue>,
    name: Option<Text<'a>>,
    start_time: Option<Moment>,
    end_time: Option<Moment>,
    error: Option<Text<'a>>,
    inputs: Option<&'a RawValue>,
    outputs: Option<&'a RawValue>,
    prompt_tokens: Option<&'a RawValue>,
    completion_tokens: Option<&'a RawValue>,
    total_tokens: Option<&'a RawValue>,
    extra: Option<&'a RawValue>,
    session_id: Option<&'a RawValue>,
    session_name: Option<&'a RawValue>,
    tags: Option<&'a RawValue>,
    runs: Option<IgnoredAny>,
}

/// What is recorded of the environment of a run.
#[derive(Deserialize)]
struct Extra<'a> {
    #[serde(borrow)]
    metadata: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct Metadata<'a> {
    #[serde(borrow)]
    ls_model_name: Option<&'a RawValue>,
}

pub(super) fn split(text: &str) -> Result<Vec<Piece<'_>>, ImportError> {
    if let Some(row) = otel::single(text, |row: &Row<'_>| row.runs.is_some()) {
        return piece_of(row, text).map(|piece| vec![piece]);
    }
    otel::pieces(text, &LISTS, is_row, piece)
}

fn piece(found: otel::Row<'_>) -> Result<Piece<'_>, ImportError> {
    piece_of(found.read()?, found.text)
}

fn piece_of<'a>(row: Row<'a>, text: &'a str) -> Result<Piece<'a>, ImportError> {
    let key = row.trace_id.ok_or_else(|| ImportError::new("the run has no trace id"))?;
    Ok(Piece { key: key.into_cow(), text: text.into() })
}

/// The span of a piece.
pub(super) fn read(piece: &str) -> Result<Span<'_>, ImportError> {
    wire::piece(piece).map(span)
}

fn span(row: Row<'_>) -> Span<'_> {
    let extra = row.extra.and_then(|extra| json::try_checked::<Extra<'_>>(extra.get()));
    let metadata = extra.and_then(|extra| json::try_checked::<Metadata<'_>>(extra.metadata?.get()));
    let model = metadata.and_then(|metadata| metadata.ls_model_name);
    // A run that failed has no outputs.
    let is_empty = |raw: &&RawValue| matches!(raw.get(), "{}" | "\"{}\"" | "\"null\"" | "\"\"");
    let mut attributes = Attributes::default();
    let fields = [
        ("langsmith.span.kind", row.run_type),
        ("langsmith.inputs", row.inputs),
        ("langsmith.outputs", row.outputs.filter(|raw| !is_empty(raw))),
        ("gen_ai.request.model", model),
        ("gen_ai.usage.input_tokens", row.prompt_tokens),
        ("gen_ai.usage.output_tokens", row.completion_tokens),
        ("gen_ai.usage.total_tokens", row.total_tokens),
        ("session_id", row.session_id),
        ("session_name", row.session_name),
        ("tags", row.tags),
    ];
    attributes.extend(fields.into_iter().filter_map(|(key, raw)| Some((key, raw?))));
    let error = row.error.filter(|error| !error.is_empty());
    let above = row.dotted_order.as_deref().and_then(parent).map(|id| Cow::Owned(id.to_owned()));
    Span {
        id: own_id(row.id),
        parent: own_id(row.parent_run_id).or(above),
        name: row.name.map_or(Cow::Borrowed(""), Text::into_cow),
        start: row.start_time.map(|moment| moment.0),
        end: row.end_time.map(|moment| moment.0),
        status: if error.is_some() { Status::Failed } else { Status::Unset },
        status_message: error.map(Text::into_cow),
        attributes,
        events: Vec::new(),
        resource: None,
    }
}

fn own_id(id: Option<Text<'_>>) -> Option<Cow<'_, str>> {
    id.filter(|id| !id.is_empty()).map(Text::into_cow)
}

/// The id of the parent: `dotted_order` has the start and the id of every run above a run and of the run itself.
fn parent(dotted_order: &str) -> Option<&str> {
    let above = dotted_order.rsplit('.').nth(1)?;
    above.split_once('Z').map(|(_, id)| id)
}

#[cfg(test)]
mod tests {
    use super::parent;

    #[test]
    fn the_parent_is_the_run_before_the_last() {
        let root = "20261118T103626994761Z01a1ee3a-b3f2-73c1-8f6b-354b0522e90e";
        assert_eq!(parent(root), None);
        let child = format!("{root}.20261118T103627000000Z01a1ee3a-0000-73c1-8f6b-354b0522e90e");
        assert_eq!(parent(&child), Some("01a1ee3a-b3f2-73c1-8f6b-354b0522e90e"));
        assert_eq!(parent(&format!("{child}.x")), Some("01a1ee3a-0000-73c1-8f6b-354b0522e90e"));
        assert_eq!(parent("a.b"), None);
    }
}
