//! JSON Schema 2020-12 of the files, generated from the key tables.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use super::blocks::{GATE_FILE, MODEL, PROGRAM, SERVER, SUITE};
use crate::keys::{Block, Key, ValueType, gate_keys};

pub fn suite() -> Value {
    document(&SUITE, true)
}

pub fn gates() -> Value {
    document(&GATE_FILE, true)
}

/// The schema of a file without variables.
pub fn of(block: &'static Block) -> Value {
    document(block, false)
}

struct Defs {
    made: BTreeMap<String, Value>,
    /// Whether a value may come from a variable.
    references: bool,
}

fn document(block: &'static Block, references: bool) -> Value {
    let mut defs = Defs { made: BTreeMap::new(), references };
    let mut out = object(block.name, &block.all(), &mut defs);
    if let Value::Object(map) = &mut out {
        map.insert("$schema".into(), "https://json-schema.org/draft/2020-12/schema".into());
        map.insert("title".into(), format!("mcptest {}", block.name).into());
        map.insert("description".into(), block.about.into());
        map.insert("$defs".into(), Value::Object(defs.made.into_iter().collect::<Map<_, _>>()));
    }
    out
}

fn object(name: &str, keys: &[&'static Key], defs: &mut Defs) -> Value {
    // References in servers, models and programs are resolved when a live run starts, so they cannot replace a keyword.
    let has_references = defs.references && ![SERVER.name, MODEL.name, PROGRAM.name].contains(&name);
    let mut properties = Map::new();
    for key in keys {
        let mut value = of_type(&key.value_type, defs);
        if has_references && matches!(key.value_type, ValueType::Word(_) | ValueType::CallArgs) {
            value = json!({ "anyOf": [value, { "type": "string", "pattern": "\\$\\{" }] });
        }
        if let Value::Object(map) = &mut value {
            map.insert("description".into(), key.meaning.into());
            if let Ok(default) = serde_json::from_str::<Value>(key.default) {
                map.insert("default".into(), default);
            } else if !key.default.is_empty() {
                map.insert("default".into(), key.default.into());
            }
        }
        properties.insert(key.name.to_owned(), value);
    }
    let required: Vec<_> = keys.iter().filter(|key| key.required).map(|key| key.name).collect();
    let mut out = json!({ "type": "object", "additionalProperties": false, "properties": properties });
    if !required.is_empty() {
        out["required"] = json!(required);
    }
    out
}

/// A block is defined once and referred to.
fn refer(block: &str, keys: &[&'static Key], nullable: bool, defs: &mut Defs) -> Value {
    let name = block.replace(' ', "_");
    if !defs.made.contains_key(&name) {
        defs.made.insert(name.clone(), Value::Null);
        let made = object(block, keys, defs);
        defs.made.insert(name.clone(), made);
    }
    let reference = json!({ "$ref": format!("#/$defs/{name}") });
    if nullable { json!({ "anyOf": [reference, { "type": "null" }] }) } else { reference }
}

fn of_type(value_type: &ValueType, defs: &mut Defs) -> Value {
    match value_type {
        ValueType::Text | ValueType::Template => json!({ "type": "string", "pattern": "\\S" }),
        ValueType::AnyText => json!({ "type": "string" }),
        ValueType::Integer(least) => json!({ "type": "integer", "minimum": least }),
        ValueType::Number(least, most) => json!({ "type": "number", "minimum": least, "maximum": most }),
        ValueType::NonNegative => json!({ "type": "number", "minimum": 0 }),
        ValueType::Bool => json!({ "type": "boolean" }),
        ValueType::Word(words) => json!({ "enum": words }),
        ValueType::OneOf(numbers) => json!({ "enum": numbers }),
        ValueType::List(least, inner) => json!({ "type": "array", "minItems": least, "items": of_type(inner, defs) }),
        ValueType::Map(inner) => json!({ "type": "object", "additionalProperties": of_type(inner, defs) }),
        ValueType::Object(block) => refer(block.name, &block.all(), false, defs),
        ValueType::Gate(kind) => refer(kind.name(), &gate_keys(*kind).collect::<Vec<_>>(), true, defs),
        ValueType::TextOrList => json!({
            "type": ["string", "array"], "pattern": "\\S", "items": { "type": "string", "pattern": "\\S" },
        }),
        ValueType::IntegerOr(least, block) => {
            json!({ "anyOf": [of_type(&ValueType::Integer(*least), defs), refer(block.name, &block.all(), false, defs)] })
        }
        ValueType::TextOr(block) => {
            json!({ "anyOf": [of_type(&ValueType::Text, defs), refer(block.name, &block.all(), false, defs)] })
        }
        ValueType::Any => json!({}),
        ValueType::Schema => json!({ "type": ["object", "boolean"] }),
        ValueType::Matcher => matcher(defs),
        ValueType::CallArgs => json!({
            "anyOf": [
                { "enum": ["any", "ignore"] },
                {
                    "type": "object", "minProperties": 1, "maxProperties": 1, "additionalProperties": false,
                    "properties": {
                        "exact": {},
                        "subset": {},
                        "schema": { "type": ["object", "boolean"] },
                        "match": { "type": "object", "minProperties": 1, "additionalProperties": matcher(defs) },
                    },
                },
            ],
        }),
    }
}

fn matcher(defs: &mut Defs) -> Value {
    defs.made.entry("matcher".to_owned()).or_insert_with(|| {
        json!({
            "type": "object", "minProperties": 1, "maxProperties": 1, "additionalProperties": false,
            "properties": {
                "exact": {},
                "contains": {},
                "icontains": { "type": "string" },
                "contains-all": { "type": "array", "minItems": 1 },
                "regex": { "type": "string", "format": "regex" },
                "schema": { "type": ["object", "boolean"] },
                "near": {
                    "type": "object", "additionalProperties": false, "required": ["value", "tolerance"],
                    "properties": { "value": { "type": "number" }, "tolerance": { "type": "number", "minimum": 0 } },
                },
                "not": { "$ref": "#/$defs/matcher" },
            },
        })
    });
    json!({ "$ref": "#/$defs/matcher" })
}
