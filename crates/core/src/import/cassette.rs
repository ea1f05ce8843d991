//! A cassette of this project: a trace and its test.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::marker::PhantomData;

use serde::Deserialize;
use serde::de::{Deserializer, MapAccess, Visitor};
use serde_json::value::RawValue;
use serde_json::{Map, Value, json};

use super::shape::{Lenient, List, Object, Shape};
use super::wire::{Kept, Text};
use super::{ImportError, Imported, Record, Unit, wire};
use crate::cassette::{Digested, Unreadable, check, check_parts};
use crate::json;
use crate::report::row_name;
use crate::trace::Envelope;

pub(super) fn sniff(shape: &Shape<'_>) -> Option<(Unit, Cow<'static, str>)> {
    shape.has(&["mcptest", "trace"]).then_some((Unit::Record, Cow::Borrowed("it has `mcptest` and `trace`")))
}

/// The JSON of each key, and what is read of some.
#[derive(Default)]
struct Recording<'a> {
    json: BTreeMap<Text<'a>, &'a str>,
    trace: Option<Envelope>,
    inputs: Object<BTreeMap<Text<'a>, &'a RawValue>>,
    observed: Object<Observed<'a>>,
}

impl<'de: 'a, 'a> Deserialize<'de> for Recording<'a> {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct Build<'a>(PhantomData<Recording<'a>>);
        impl<'de: 'a, 'a> Visitor<'de> for Build<'a> {
            type Value = Recording<'a>;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a map")
            }
            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut all = Recording::default();
                while let Some(key) = map.next_key::<Text<'a>>()? {
                    let json = match &*key {
                        "trace" => read_into(&mut all.trace, map.next_value()?),
                        "inputs" => read_into(&mut all.inputs, map.next_value()?),
                        "observed" => read_into(&mut all.observed, map.next_value()?),
                        _ => map.next_value::<&RawValue>()?.get(),
                    };
                    all.json.insert(key, json);
                }
                Ok(all)
            }
        }
        from.deserialize_map(Build(PhantomData))
    }
}

fn read_into<'a, T>(place: &mut T, found: Kept<'a, T>) -> &'a str {
    *place = found.value;
    found.json
}

/// What was observed, as far as it marks tools.
#[derive(Deserialize, Default)]
struct Observed<'a> {
    #[serde(borrow, default)]
    servers: Object<BTreeMap<Text<'a>, Object<Catalog<'a>>>>,
}

#[derive(Deserialize, Default)]
struct Catalog<'a> {
    #[serde(borrow, default)]
    tools: List<Object<Tool<'a>>>,
}

#[derive(Deserialize, Default)]
struct Tool<'a> {
    #[serde(borrow)]
    name: Option<&'a RawValue>,
    #[serde(default)]
    annotations: Object<Annotations<'a>>,
}

#[derive(Deserialize, Default)]
#[serde(rename_all = "camelCase")]
struct Annotations<'a> {
    #[serde(borrow)]
    read_only_hint: Option<&'a RawValue>,
}

pub(super) fn read(record: Record<'_>) -> Result<Vec<Imported<'_>>, ImportError> {
    let Recording { json, trace, inputs: Lenient(inputs), observed: Lenient(observed) } = wire::typed(record.text)?;
    let Some(envelope) = trace else {
        return Err(ImportError::new("it has no `trace`").hint("a bare envelope is `--from envelope`"));
    };
    let mut parts = checked_parts(&json, inputs)?;
    if let Some(names) = &envelope.tool_names {
        parts.insert("trace".to_owned(), json!({ "tool_names": wire::part::<Value>(names)? }));
    }
    let mut trace = envelope.trace()?;
    // The digest also covers keys that are not read here. What was written by this program is in order, so its canonical text
    // follows from the text.
    let checked = match Digested::of_parts(|key| json.get(key).copied()) {
        Some(digested) => check_parts(&parts, &trace, &digested),
        None => check(&parse(record.text)?, &trace),
    };
    let seal = checked.map_err(|why| {
        let hint = match why {
            Unreadable::Edited => "restore the file or record it again; `mcptest cassette accept` keeps an edit",
            _ => "restore the file, or record it again",
        };
        ImportError::new(format!("it {why}")).hint(hint)
    })?;
    trace.read_only = read_only_tools(observed);
    let (test, model) = (named::<Text<'_>>(&json, "test")?, named::<Text<'_>>(&json, "model")?);
    let run = named(&json, "run")?;
    let id = test.map(|test| row_name(&test, model.as_deref(), run, None));
    Ok(vec![Imported { id, group: None, seal: Some(seal), fields: record.text.into(), trace }])
}

/// The value of a key, unless it is `null`.
fn named<'a, T: Deserialize<'a>>(json: &BTreeMap<Text<'a>, &'a str>, key: &str) -> Result<Option<T>, ImportError> {
    let found = json.get(key).map(|text| wire::piece::<Option<T>>(text).map_err(|error| error.at(key)));
    Ok(found.transpose()?.flatten())
}

/// Keys that say whether a recording was edited.
const CHECKED: [&str; 4] = ["mcptest", "digest", "edited", "fingerprint"];

/// Those parts of a recording that are checked, other than its digest and its trace.
fn checked_parts(
    json: &BTreeMap<Text<'_>, &str>,
    inputs: BTreeMap<Text<'_>, &RawValue>,
) -> Result<Map<String, Value>, ImportError> {
    let mut whole = Map::new();
    for key in CHECKED {
        if let Some(text) = json.get(key) {
            whole.insert(key.to_owned(), wire::piece(text)?);
        }
    }
    let servers = inputs.get("servers").and_then(|raw| json::try_checked::<BTreeMap<Text<'_>, &RawValue>>(raw.get()));
    let mut inputs: Map<String, Value> = inputs.into_keys().map(|key| (key.into_owned(), Value::Null)).collect();
    if let Some(servers) = servers {
        let names = servers.into_keys().map(|name| (name.into_owned(), Value::Null));
        inputs.insert("servers".to_owned(), names.collect());
    }
    whole.insert("inputs".to_owned(), inputs.into());
    Ok(whole)
}

/// What `cassette::read_only_tools` finds in the catalogs. Anything of another shape has no tools.
fn read_only_tools(observed: Observed<'_>) -> BTreeSet<(String, String)> {
    let mut out = BTreeSet::new();
    for (server, Lenient(catalog)) in observed.servers.0 {
        for Lenient(tool) in catalog.tools.0 {
            let is_read_only = tool.annotations.0.read_only_hint.is_some_and(|hint| hint.get() == "true");
            let name = tool.name.filter(|_| is_read_only).and_then(Text::part);
            out.extend(name.map(|name| (server.to_string(), name.into_owned())));
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
    fn parts_of_a_text_are_checked_as_those_of_a_value() {
        let traces = [
            r#"{"tool_calls":[{"name":"x","server":"a"}]}"#,
            r#"{"tool_calls":[{"name":"x","server":"a"}],"tool_names":["x"]}"#,
            r#"{"tool_calls":[{"name":"x","server":"a"}],"tool_names":["y"]}"#,
            r#"{"tool_calls":[{"name":"x","server":"a"}],"tool_names":null}"#,
            r#"{"tool_calls":[{"name":"x","server":"a"}],"tool_names":"x"}"#,
            r#"{"tool_calls":[],"tool_names":[]}"#,
            r#"{"tool_names":null}"#,
            r#"{"answer_source":"program","tool_calls":[]}"#,
        ];
        let inputs = [
            "null",
            "[]",
            "{}",
            r#"{"servers":null}"#,
            r#"{"servers":{}}"#,
            r#"{"servers":{"\u0061":{}}}"#,
            r#"{"max_turns":null,"servers":{"b":1}}"#,
        ];
        for trace in traces {
            for inputs in inputs {
                for others in ["", r#","edited":true"#, r#","fingerprint":"1""#, r#","digest":null"#] {
                    for version in ["1", "2", "null"] {
                        let text = format!(r#"{{"inputs":{inputs},"mcptest":{version},"trace":{trace}{others}}}"#);
                        let found =
                            read(Record { text: &text, header: None }).map(|_| ()).map_err(|error| error.message);
                        let whole = parse(&text).unwrap();
                        let checked = check(&whole, &crate::trace::Trace::from_envelope(&whole["trace"]).unwrap());
                        let checked = checked.map(|_| ()).map_err(|why| format!("it {why}"));
                        assert_eq!(found, checked, "{text}");
                    }
                }
            }
        }
    }

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
            let Lenient(observed): Object<Observed<'_>> = json::read(text).unwrap();
            let value: Value = serde_json::from_str(text).unwrap();
            assert_eq!(read_only_tools(observed), cassette::read_only_tools(&value), "{text}");
        }
    }
}
