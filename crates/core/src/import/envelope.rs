//! The envelope of this project, with the name and the group that a record may give it.

mod cursor;
mod direct;

use std::borrow::Cow;

use serde_json::Value;

use super::look::Look;
use super::{ImportError, Imported, Options, Parts, Record, Unit, wire};
use crate::json;
use crate::trace::Trace;

/// Keys under which other formats tell of a conversation: beside the keys of an envelope the calls would be told twice.
const TELLINGS: [&str; 4] = ["messages", "traj", "values", "simulations"];

/// Keys of which any shows an envelope.
const KEYS: [&str; 3] = ["tool_calls", "tool_results", "conversation"];

pub(super) fn sniff(look: &Look<'_>) -> Option<(Unit, Cow<'static, str>)> {
    let key = KEYS.iter().find(|key| look.get(key).is_some())?;
    // A message of a conversation has calls too, and a reply of a provider may name the conversation it belongs to.
    let is_other = ["role", "type", "object"].iter().chain(&TELLINGS).any(|key| look.has(&[key]));
    (!is_other).then(|| (Unit::Record, format!("it has `{key}`").into()))
}

pub(super) fn read<'a>(record: Record<'a>, options: &Options) -> Result<Vec<Imported<'a>>, ImportError> {
    let (id, group, trace) = match direct::read(record.text, &options.parts) {
        Some(found) => found,
        None => by_value(record.text)?,
    };
    if trace == Trace::default() {
        let message = "it says nothing of a run: it has none of `tool_calls`, `final_response` and `conversation`";
        return Err(ImportError::new(message));
    }
    Ok(vec![Imported { id, group, fields: record.text.into(), trace }])
}

/// A name, a group and a trace.
type Named = (Option<String>, Option<String>, Trace);

/// The way that says what is wrong.
fn by_value(text: &str) -> Result<Named, ImportError> {
    let value = parse(text)?;
    let has = |key: &&&str| value.get(**key).is_some_and(|found| !found.is_null());
    if let Some((own, other)) = KEYS.iter().find(has).zip(TELLINGS.iter().chain(&["trace"]).find(has)) {
        let message = format!("it tells of its run twice: in `{own}`, as envelopes do, and in `{other}`");
        return Err(ImportError::new(message).hint("keep one of them, or say with --from which format to read"));
    }
    let trace = Trace::read(&value)?;
    let word = |key: &str| match value.get(key) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(text)) => Ok(Some(text.clone())),
        Some(Value::Number(number)) => Ok(Some(json::number_text(number))),
        Some(other) => {
            Err(ImportError::new(format!("{key} must be a text or a number, found {}", json::describe(other))))
        }
    };
    Ok((word("id")?, word("group")?, trace))
}

/// The record as a value, its mistakes with their place.
pub(super) fn parse(text: &str) -> Result<Value, ImportError> {
    json::parse(text).map_err(|error| ImportError {
        offset: wire::offset(text, error.line, error.column),
        message: wire::told(text, &error.message),
        hint: None,
    })
}
