//! A small value that matches a JSON Schema, for tools with an output schema and no answer, and for generated calls.
//!
//! It considers the keywords that matter in practice; callers validate the result against the schema.

use std::cell::Cell;

use serde_json::{Map, Value, json};

/// The most nested references that are followed; a schema may refer to itself.
const MAX_DEPTH: usize = 16;

/// The most values of one sample. A schema that refers to itself in several places would grow exponentially.
const MAX_VALUES: usize = 10_000;

/// The limits of a sample.
struct Limits<'s> {
    /// The whole schema, for references.
    root: &'s Value,
    /// Values that may still be generated.
    left: Cell<usize>,
}

impl Limits<'_> {
    /// Counts one value; whether it is allowed.
    fn take_one(&self) -> bool {
        let left = self.left.get().checked_sub(1);
        self.left.set(left.unwrap_or(0));
        left.is_some()
    }
}

/// A small value that probably matches a JSON Schema.
pub fn of(schema: &Value) -> Value {
    sample(schema, &Limits { root: schema, left: Cell::new(MAX_VALUES) }, MAX_DEPTH)
}

fn sample(schema: &Value, limits: &Limits<'_>, depth: usize) -> Value {
    let (Value::Object(map), Some(depth), true) = (schema, depth.checked_sub(1), limits.take_one()) else {
        return Value::Null;
    };
    for given in ["const", "default"] {
        if let Some(value) = map.get(given) {
            return value.clone();
        }
    }
    for list in ["examples", "enum"] {
        if let Some(first) = map.get(list).and_then(|values| values.get(0)) {
            return first.clone();
        }
    }
    if let Some(target) = map.get("$ref").and_then(Value::as_str) {
        let found = target.strip_prefix('#').and_then(|pointer| limits.root.pointer(pointer));
        return found.map_or(Value::Null, |found| sample(found, limits, depth));
    }
    for list in ["anyOf", "oneOf"] {
        if let Some(first) = map.get(list).and_then(|schemas| schemas.get(0)) {
            return sample(first, limits, depth);
        }
    }
    if let Some(Value::Array(parts)) = map.get("allOf") {
        return all(map, parts, limits, depth);
    }
    match type_of(map) {
        Some("object") => object(map, limits, depth),
        Some("array") => array(map, limits, depth),
        Some("string") => text(map),
        Some("integer") => number(map, true),
        Some("number") => number(map, false),
        Some("boolean") => json!(false),
        _ => Value::Null,
    }
}

/// The `type`, or the one that other keywords imply.
fn type_of(map: &Map<String, Value>) -> Option<&str> {
    match map.get("type") {
        Some(Value::String(word)) => Some(word),
        Some(Value::Array(words)) => words.first()?.as_str(),
        _ if map.contains_key("properties") || map.contains_key("required") => Some("object"),
        _ if map.contains_key("items") || map.contains_key("prefixItems") => Some("array"),
        _ => None,
    }
}

/// The keys of all parts combined if all are objects; otherwise the first part.
fn all(map: &Map<String, Value>, parts: &[Value], limits: &Limits<'_>, depth: usize) -> Value {
    let mut own = map.clone();
    own.remove("allOf");
    let mut samples: Vec<Value> = parts.iter().map(|part| sample(part, limits, depth)).collect();
    if type_of(&own).is_some() {
        samples.insert(0, sample(&Value::Object(own), limits, depth));
    }
    let mut merged = Map::new();
    for value in &samples {
        match value {
            Value::Object(keys) => merged.extend(keys.clone()),
            _ => return samples.first().cloned().unwrap_or(Value::Null),
        }
    }
    Value::Object(merged)
}

fn object(map: &Map<String, Value>, limits: &Limits<'_>, depth: usize) -> Value {
    let required = map.get("required").and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
    let keys = required.iter().filter_map(Value::as_str).map(|name| {
        let schema = map.get("properties").and_then(|properties| properties.get(name));
        (name.to_owned(), schema.map_or(Value::Null, |schema| sample(schema, limits, depth)))
    });
    Value::Object(keys.collect())
}

fn array(map: &Map<String, Value>, limits: &Limits<'_>, depth: usize) -> Value {
    /// A sample should stay small.
    const MOST: u64 = 100;
    let least = map.get("minItems").and_then(Value::as_u64).unwrap_or(0).min(MOST);
    let prefix = map.get("prefixItems").and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
    let item = map.get("items");
    (0..least)
        .map(|at| {
            let schema = usize::try_from(at).ok().and_then(|at| prefix.get(at)).or(item);
            schema.map_or(Value::Null, |schema| sample(schema, limits, depth))
        })
        .collect()
}

fn text(map: &Map<String, Value>) -> Value {
    /// A sample should stay small.
    const MOST: usize = 10_000;
    let fixed = match map.get("format").and_then(Value::as_str) {
        Some("date-time") => "2000-01-01T00:00:00Z",
        Some("date") => "2000-01-01",
        Some("time") => "00:00:00Z",
        Some("email") => "a@example.test",
        Some("uri") => "https://example.test/",
        Some("uuid") => "00000000-0000-4000-8000-000000000000",
        _ => "text",
    };
    let limit = |key: &str| map.get(key).and_then(Value::as_u64).and_then(|limit| usize::try_from(limit).ok());
    let least = limit("minLength").unwrap_or(0).min(MOST);
    let mut text: String = fixed.chars().take(limit("maxLength").unwrap_or(MOST)).collect();
    let short = least.saturating_sub(text.chars().count());
    text.extend(std::iter::repeat_n('x', short));
    Value::String(text)
}

/// 0 if it is allowed, otherwise the smallest allowed number.
#[expect(clippy::cast_possible_truncation, reason = "a sample within the range of exact integers, checked afterwards")]
fn number(map: &Map<String, Value>, whole: bool) -> Value {
    let bound = |key: &str| map.get(key).and_then(Value::as_f64);
    let step = bound("multipleOf").filter(|step| *step > 0.0);
    let mut value = 0.0;
    if let Some(least) = bound("minimum").filter(|least| *least > value) {
        value = least;
    }
    if let Some(below) = bound("exclusiveMinimum").filter(|below| *below >= value) {
        value = below + step.unwrap_or(1.0);
    }
    if let Some(most) = bound("maximum").filter(|most| *most < value) {
        value = most;
    }
    if let Some(above) = bound("exclusiveMaximum").filter(|above| *above <= value) {
        value = above - step.unwrap_or(1.0);
    }
    if let Some(step) = step {
        value = (value / step).ceil() * step;
    }
    if whole {
        return json!(value.ceil() as i64);
    }
    json!(value)
}

#[cfg(test)]
mod tests {
    use super::*;
    use mcptest_core::MatchResult;
    use mcptest_core::matcher::Schema;

    #[test]
    fn a_sample_fits_its_schema() {
        for (schema, expected) in [
            (json!({ "type": "object" }), json!({})),
            (
                json!({
                    "type": "object", "required": ["a", "b", "c"],
                    "properties": {
                        "a": { "type": "integer", "minimum": 3 },
                        "b": { "type": "string", "minLength": 6 },
                        "c": { "$ref": "#/$defs/list" },
                        "d": { "type": "null" },
                    },
                    "$defs": { "list": { "type": "array", "minItems": 2, "items": { "enum": ["x", "y"] } } },
                }),
                json!({ "a": 3, "b": "textxx", "c": ["x", "x"] }),
            ),
            (json!({ "const": [1] }), json!([1])),
            (json!({ "type": "string", "default": "d" }), json!("d")),
            (json!({ "type": "string", "examples": ["e"] }), json!("e")),
            (json!({ "type": ["number", "null"], "exclusiveMinimum": 1.5 }), json!(2.5)),
            (json!({ "type": "integer", "maximum": -4 }), json!(-4)),
            (json!({ "type": "integer", "exclusiveMaximum": 0 }), json!(-1)),
            (json!({ "type": "integer", "minimum": 5, "multipleOf": 4 }), json!(8)),
            (json!({ "type": "string", "maxLength": 2 }), json!("te")),
            (json!({ "type": "string", "format": "date-time" }), json!("2000-01-01T00:00:00Z")),
            (json!({ "anyOf": [{ "type": "boolean" }, { "type": "null" }] }), json!(false)),
            (
                json!({ "allOf": [
                    { "required": ["a"], "properties": { "a": { "type": "boolean" } } },
                    { "required": ["b"] },
                ] }),
                json!({ "a": false, "b": null }),
            ),
            (json!({ "type": "array", "minItems": 2, "prefixItems": [{ "type": "string" }] }), json!(["text", null])),
        ] {
            let found = of(&schema);
            assert_eq!(found, expected, "{schema}");
            assert_eq!(Schema::foreign(&schema).unwrap().check(&found), MatchResult::Holds, "{schema}");
        }
    }

    #[test]
    fn a_recursive_schema_terminates() {
        let schema = json!({
            "$ref": "#/$defs/node",
            "$defs": { "node": { "type": "object", "required": ["next"], "properties": { "next": { "$ref": "#/$defs/node" } } } },
        });
        let mut depth = 0;
        let mut at = &of(&schema);
        while let Some(next) = at.get("next") {
            at = next;
            depth += 1;
        }
        assert!((1..=MAX_DEPTH).contains(&depth), "{depth}");
    }

    #[test]
    fn a_schema_that_refers_to_itself_in_many_places_makes_a_bounded_value() {
        fn count(value: &Value) -> usize {
            1 + value.as_object().map_or(0, |map| map.values().map(count).sum())
        }
        let keys: Vec<String> = (0..10).map(|key| key.to_string()).collect();
        let properties: Map<String, Value> = keys.iter().map(|key| (key.clone(), json!({ "$ref": "#" }))).collect();
        let made = count(&of(&json!({ "type": "object", "required": keys, "properties": properties })));
        assert!((1_000..=20 * MAX_VALUES).contains(&made), "{made}");
    }
}
