//! Spans as rows of a table, which is how Phoenix hands them out: a column for each attribute, named after it, and lists and
//! objects where the attribute was flattened.

use std::collections::BTreeMap;

use serde_json::value::RawValue;

use super::super::ImportError;
use super::super::copy_budget::CopyBudget;
use super::super::shape::Shape;
use super::super::wire::{self, Text};
use super::Wire;

const ATTRIBUTE: &str = "attributes.";

pub(super) fn has_ids(shape: &Shape<'_>) -> bool {
    let is_text = |key: &str| shape.get(key).is_some_and(|value| value.get().starts_with('"'));
    is_text("context.trace_id") && is_text("context.span_id")
}

/// Adds the columns of attributes to a span. Every row has all columns of its table, so empty ones are left out.
pub(super) fn add<'a>(row: &'a str, wire: &mut Wire<'a>) -> Result<(), ImportError> {
    let columns: BTreeMap<Text<'a>, &'a RawValue> = wire::piece(row)?;
    let budget = CopyBudget::of(row);
    let mut found = Vec::new();
    for (name, value) in &columns {
        if let Some(key) = name.strip_prefix(ATTRIBUTE) {
            flatten(key, value, &budget, &mut found)?;
        }
    }
    wire.attributes.extend(found);
    wire.start_time = wire.start_time.map(super::Moment::of_table);
    wire.end_time = wire.end_time.map(super::Moment::of_table);
    Ok(())
}

/// Adds an attribute, and one for each of its parts, as they were before they became one. A list of texts or numbers was one
/// attribute.
fn flatten<'a>(
    key: &str,
    value: &'a RawValue,
    budget: &CopyBudget,
    out: &mut Vec<(String, &'a RawValue)>,
) -> Result<(), ImportError> {
    if value.get() == "null" {
        return Ok(());
    }
    budget.take(key.len(), key)?;
    out.push((key.to_owned(), value));
    match Shape::part(value.get()) {
        Some(Shape::Object(parts)) => {
            for (name, part) in parts {
                flatten(&format!("{key}.{}", &*name), part, budget, out)?;
            }
        }
        Some(Shape::List(parts)) if parts.iter().any(|part| part.get().starts_with('{')) => {
            for (place, part) in parts.into_iter().enumerate() {
                flatten(&format!("{key}.{place}"), part, budget, out)?;
            }
        }
        _ => {}
    }
    Ok(())
}
