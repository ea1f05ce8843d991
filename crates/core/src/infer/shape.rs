//! Schemas of values: what is equal in all of them, and otherwise their types.

use std::collections::BTreeSet;

use serde_json::{Map, Value, json};

use crate::json;
use crate::redact::{by_shape, names_secret};

/// Levels of a value that are described.
const MAX_DEPTH: usize = 4;

/// Most keys of an object that are described.
const MAX_KEYS: usize = 50;

/// Most bytes of a value that is written.
const MAX_BYTES: usize = 1000;

/// A schema that all values match. With `exact`, values that are equal in all of them are written.
pub(super) fn of(values: &[&Value], exact: bool) -> Value {
    at_depth(values, exact, 0)
}

fn at_depth(values: &[&Value], exact: bool, depth: usize) -> Value {
    let Some(first) = values.first() else { return json!({}) };
    if exact && can_be_written(first) && values[1..].iter().all(|value| json::equal(value, first)) {
        return json!({ "const": first });
    }
    let types: BTreeSet<&str> = values.iter().map(|value| type_of(value)).collect();
    let types: Vec<&str> =
        types.iter().filter(|one| **one != "integer" || !types.contains("number")).copied().collect();
    let mut out = match types.as_slice() {
        [one] => Map::from_iter([("type".to_owned(), json!(one))]),
        several => Map::from_iter([("type".to_owned(), json!(several))]),
    };
    if types == ["object"] && depth < MAX_DEPTH {
        let maps: Vec<&Map<String, Value>> = values.iter().filter_map(|value| value.as_object()).collect();
        let (mut required, mut properties) = (Vec::new(), Map::new());
        let mut keys: Vec<&String> = maps.first().map_or_else(Vec::new, |map| map.keys().collect());
        keys.sort_unstable();
        for key in keys.into_iter().filter(|key| maps.iter().all(|map| map.contains_key(*key))).take(MAX_KEYS) {
            let members: Vec<&Value> = maps.iter().filter_map(|map| map.get(key)).collect();
            let may_be_written = exact && !members.iter().any(|member| is_named_secret(key, member));
            required.push(key);
            properties.insert(key.clone(), at_depth(&members, may_be_written, depth + 1));
        }
        if !required.is_empty() {
            out.insert("required".to_owned(), json!(required));
            out.insert("properties".to_owned(), Value::Object(properties));
        }
    }
    Value::Object(out)
}

/// Whether a value may be written into a file: it is short, does not look like a secret, and has none under its name.
pub(super) fn can_be_written(value: &Value) -> bool {
    let text = json::canonical(value);
    text.len() <= MAX_BYTES && by_shape(&text) == text && !has_named_secret(value)
}

/// Whether a member is a secret by its name. A flag is not, nor is null.
fn is_named_secret(key: &str, value: &Value) -> bool {
    names_secret(key) && !matches!(value, Value::Null | Value::Bool(_))
}

fn has_named_secret(value: &Value) -> bool {
    match value {
        Value::Object(map) => map.iter().any(|(key, value)| is_named_secret(key, value) || has_named_secret(value)),
        Value::Array(list) => list.iter().any(has_named_secret),
        _ => false,
    }
}

fn type_of(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(number) if number.is_i64() || number.is_u64() => "integer",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}

/// Keys of a schema of arguments whose values are not written.
pub(super) fn free_keys(schema: &Value) -> Vec<&str> {
    let properties = schema.get("properties").and_then(Value::as_object);
    let free = properties.into_iter().flatten().filter(|(_, value)| value.get("const").is_none());
    free.map(|(key, _)| key.as_str()).collect()
}
