//! A cassette of this project: a trace and its test.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

use serde_json::value::RawValue;
use serde_json::{Map, Value, json};

use super::shape::Shape;
use super::wire::Text;
use super::{ImportError, Imported, Record, Unit, wire};
use crate::cassette::{Unreadable, check, check_digest, digest_of, read_only_tools};
use crate::json;
use crate::report::row_name;
use crate::trace::Envelope;

pub(super) fn sniff(shape: &Shape<'_>) -> Option<(Unit, Cow<'static, str>)> {
    shape.has(&["mcptest", "trace"]).then_some((Unit::Record, Cow::Borrowed("it has `mcptest` and `trace`")))
}

/// The JSON of each key.
type Parts<'a> = BTreeMap<Text<'a>, &'a RawValue>;

pub(super) fn read(record: Record<'_>) -> Result<Vec<Imported<'_>>, ImportError> {
    let parts: Parts<'_> = wire::typed(record.text)?;
    let Some(raw) = parts.get("trace").filter(|raw| raw.get() != "null") else {
        return Err(ImportError::new("it has no `trace`").hint("a bare envelope is `--from envelope`"));
    };
    let mut trace = wire::part::<Envelope>(raw).map_err(|error| error.at("trace"))?.trace()?;
    // The digest also covers keys that are not read here. What was written by this program is in order, so its canonical text
    // follows from the text.
    let digest = digest_of(|key| parts.get(key).map(|raw| raw.get()));
    let (whole, checked) = match digest {
        Some(digest) => {
            let whole = without_trace(&parts, raw)?;
            let checked = check_digest(&whole, &trace, || digest);
            (whole, checked)
        }
        None => {
            let whole = parse(record.text)?;
            let checked = check(&whole, &trace);
            (whole, checked)
        }
    };
    let seal = checked.map_err(|why| {
        let hint = match why {
            Unreadable::Edited => "restore the file or record it again; `mcptest cassette accept` keeps an edit",
            _ => "restore the file, or record it again",
        };
        ImportError::new(format!("it {why}")).hint(hint)
    })?;
    trace.read_only = whole.get("observed").map_or_else(BTreeSet::new, read_only_tools);
    let named =
        |key: &str| wire::optional(parts.get(key).copied(), wire::part::<Option<Text<'_>>>, key).map(Option::flatten);
    let (test, model) = (named("test")?, named("model")?);
    let run = wire::optional(parts.get("run").copied(), wire::part::<Option<u64>>, "run")?.flatten();
    let id = test.map(|test| row_name(&test, model.as_deref(), run, None));
    Ok(vec![Imported { id, group: None, seal: Some(seal), fields: record.text.into(), trace }])
}

/// The parts of a recording, of the trace only the names of tools.
fn without_trace(parts: &Parts<'_>, trace: &RawValue) -> Result<Map<String, Value>, ImportError> {
    let mut whole = Map::new();
    for (key, raw) in parts.iter().filter(|(key, _)| &***key != "trace") {
        whole.insert(key.to_string(), json::read_checked(raw.get())?);
    }
    let Some(Shape::Object(trace)) = Shape::part(trace.get()) else { return Ok(whole) };
    if let Some(names) = trace.get("tool_names") {
        whole.insert("trace".to_owned(), json!({ "tool_names": json::read_checked::<Value>(names.get())? }));
    }
    Ok(whole)
}

fn parse(text: &str) -> Result<Map<String, Value>, ImportError> {
    match json::parse(text).map_err(|error| ImportError::new(error.to_string()))? {
        Value::Object(whole) => Ok(whole),
        _ => Err(ImportError::new("it is not an object")),
    }
}
