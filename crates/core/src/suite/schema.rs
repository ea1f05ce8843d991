//! JSON Schema 2020-12 of the files, made from the key tables.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use super::blocks::{GATE_FILE, MODEL, SERVER, SUITE};
use crate::keys::{Block, Key, Takes, gate_keys};

/// The schema of a suite.
pub fn suite() -> Value {
    document(&SUITE, true)
}

/// The schema of a gates file.
pub fn gates() -> Value {
    document(&GATE_FILE, true)
}

/// The schema of a file in which no word comes from a variable.
pub fn of(block: &'static Block) -> Value {
    document(block, false)
}

/// Blocks that were defined so far.
struct Defs {
    made: BTreeMap<String, Value>,
    /// Whether a word may come from a variable.
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
    // In servers and models references wait until a run goes live, so that no word can come from one.
    let answered = defs.references && name != SERVER.name && name != MODEL.name;
    let mut properties = Map::new();
    for key in keys {
        let mut value = takes(&key.takes, defs);
        if answered && matches!(key.takes, Takes::Word(_) | Takes::CallArgs) {
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

fn takes(takes_: &Takes, defs: &mut Defs) -> Value {
    match takes_ {
        Takes::Text | Takes::Template => json!({ "type": "string", "pattern": "\\S" }),
        Takes::AnyText => json!({ "type": "string" }),
        Takes::Whole(least) => json!({ "type": "integer", "minimum": least }),
        Takes::Number(least, most) => json!({ "type": "number", "minimum": least, "maximum": most }),
        Takes::Amount => json!({ "type": "number", "minimum": 0 }),
        Takes::Bool => json!({ "type": "boolean" }),
        Takes::Word(words) => json!({ "enum": words }),
        Takes::OneOf(numbers) => json!({ "enum": numbers }),
        Takes::List(least, inner) => json!({ "type": "array", "minItems": least, "items": takes(inner, defs) }),
        Takes::Map(inner) => json!({ "type": "object", "additionalProperties": takes(inner, defs) }),
        Takes::Block(block) => refer(block.name, &block.all(), false, defs),
        Takes::Gate(kind) => refer(kind.name(), &gate_keys(*kind).collect::<Vec<_>>(), true, defs),
        Takes::TextOrList => json!({
            "type": ["string", "array"], "pattern": "\\S", "items": { "type": "string", "pattern": "\\S" },
        }),
        Takes::TextOr(block) => {
            json!({ "anyOf": [takes(&Takes::Text, defs), refer(block.name, &block.all(), false, defs)] })
        }
        Takes::Any => json!({}),
        Takes::Schema => json!({ "type": ["object", "boolean"] }),
        Takes::Matcher => matcher(defs),
        Takes::CallArgs => json!({
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
