//! A cassette of this project: a trace and its test.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

use serde_json::value::RawValue;
use serde_json::{Map, Value, json};

use super::shape::Shape;
use super::wire::Text;
use super::{ImportError, Imported, Record, Unit, wire};
use crate::cassette::{Unreadable, check, check_digest, digest_of};
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
    let checked = match digest_of(|key| parts.get(key).map(|raw| raw.get())) {
        Some(digest) => check_digest(&checked_parts(&parts, raw)?, &trace, || digest),
        None => check(&parse(record.text)?, &trace),
    };
    let seal = checked.map_err(|why| {
        let hint = match why {
            Unreadable::Edited => "restore the file or record it again; `mcptest cassette accept` keeps an edit",
            _ => "restore the file, or record it again",
        };
        ImportError::new(format!("it {why}")).hint(hint)
    })?;
    trace.read_only = parts.get("observed").map_or_else(BTreeSet::new, |observed| read_only_tools(observed));
    let named =
        |key: &str| wire::optional(parts.get(key).copied(), wire::part::<Option<Text<'_>>>, key).map(Option::flatten);
    let (test, model) = (named("test")?, named("model")?);
    let run = wire::optional(parts.get("run").copied(), wire::part::<Option<u64>>, "run")?.flatten();
    let id = test.map(|test| row_name(&test, model.as_deref(), run, None));
    Ok(vec![Imported { id, group: None, seal: Some(seal), fields: record.text.into(), trace }])
}

/// Keys other than the trace that say whether a recording was edited, or that it contradicts itself.
const CHECKED: [&str; 5] = ["mcptest", "digest", "edited", "fingerprint", "inputs"];

/// The parts of a recording that are checked, of the trace only the names of tools.
fn checked_parts(parts: &Parts<'_>, trace: &RawValue) -> Result<Map<String, Value>, ImportError> {
    let mut whole = Map::new();
    for key in CHECKED {
        if let Some(raw) = parts.get(key) {
            whole.insert(key.to_owned(), json::read_checked(raw.get())?);
        }
    }
    let Some(Shape::Object(trace)) = Shape::part(trace.get()) else { return Ok(whole) };
    if let Some(names) = trace.get("tool_names") {
        whole.insert("trace".to_owned(), json!({ "tool_names": json::read_checked::<Value>(names.get())? }));
    }
    Ok(whole)
}

/// What `cassette::read_only_tools` finds in the catalogs, without reading their descriptions and schemas.
fn read_only_tools(observed: &RawValue) -> BTreeSet<(String, String)> {
    let mut out = BTreeSet::new();
    let servers = Shape::part(observed.get()).and_then(|observed| observed.child("servers"));
    let Some(Shape::Object(servers)) = servers else { return out };
    for (server, found) in servers {
        let tools = Shape::part(found.get()).and_then(|found| found.child("tools"));
        for tool in tools.iter().flat_map(Shape::elements) {
            let hint = tool.child("annotations").and_then(|annotations| annotations.get("readOnlyHint"));
            if let Some(name) = tool.text("name").filter(|_| hint.is_some_and(|hint| hint.get() == "true")) {
                out.insert((server.to_string(), name.into_owned()));
            }
        }
    }
    out
}

fn parse(text: &str) -> Result<Map<String, Value>, ImportError> {
    match json::parse(text).map_err(|error| ImportError::new(error.to_string()))? {
        Value::Object(whole) => Ok(whole),
        _ => Err(ImportError::new("it is not an object")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cassette;

    #[test]
    fn read_only_tools_are_the_same_in_the_text_and_in_the_value() {
        for text in [
            r#"{"servers":{"shop":{"tools":[{"name":"find","annotations":{"readOnlyHint":true}},{"name":"sell"}]}}}"#,
            r#"{"servers":{"a":{"tools":[{"name":"f\u0069nd","annotations":{"readOnlyHint":true}}]},"b":{"tools":null}}}"#,
            r#"{"servers":{"a":{"tools":[{"name":"x","annotations":{"readOnlyHint":"true"}},{"annotations":[]},3]}}}"#,
            r#"{"servers":{"a":{"tools":[{"name":"x","annotations":{"readOnlyHint":false}},{"name":7}]},"c":[]}}"#,
            r#"{"servers":[]}"#,
            "null",
        ] {
            let raw: &RawValue = serde_json::from_str(text).unwrap();
            let value: Value = serde_json::from_str(text).unwrap();
            assert_eq!(read_only_tools(raw), cassette::read_only_tools(&value), "{text}");
        }
    }
}
