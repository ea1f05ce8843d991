//! `schema` on values with missing parts.
//!
//! Keywords about list items and object properties are applied to the recorded parts. A complete value is validated as
//! usual; any other keyword leaves the result undecided.

use serde_json::Value;

use super::{Decision, both};
use crate::matcher::Schema;
use crate::matcher::schema::subschema;
use crate::trace::Partial;

/// Keywords that say nothing about a value.
const REMARKS: [&str; 12] = [
    "$comment",
    "$defs",
    "$id",
    "$schema",
    "default",
    "definitions",
    "deprecated",
    "description",
    "examples",
    "readOnly",
    "title",
    "writeOnly",
];
/// Keywords that pass over what is not a list.
const FOR_LISTS: [&str; 7] =
    ["additionalItems", "contains", "items", "maxItems", "minItems", "prefixItems", "uniqueItems"];
/// Keywords that pass over what is not an object.
const FOR_OBJECTS: [&str; 7] = [
    "additionalProperties",
    "maxProperties",
    "minProperties",
    "patternProperties",
    "properties",
    "propertyNames",
    "required",
];
/// Keywords that pass over lists and objects.
const FOR_SCALARS: [&str; 9] = [
    "exclusiveMaximum",
    "exclusiveMinimum",
    "format",
    "maxLength",
    "maximum",
    "minLength",
    "minimum",
    "multipleOf",
    "pattern",
];

pub(super) fn decide(schema: &Schema, value: &Partial<'_>) -> Decision {
    match value {
        Partial::List { .. } | Partial::Object { .. } if schema.bounds_numbers() => Decision::CannotJudge,
        _ => Rules { dialect: schema.source().get("$schema") }.validates(schema.source(), value).into(),
    }
}

/// The dialect that all parts of a schema share.
#[derive(Clone, Copy)]
struct Rules<'s> {
    dialect: Option<&'s Value>,
}

impl Rules<'_> {
    fn validates(self, schema: &Value, value: &Partial<'_>) -> Option<bool> {
        let keywords = match schema {
            Value::Bool(answer) => return Some(*answer),
            Value::Object(keywords) => keywords,
            _ => return None,
        };
        if let Partial::Known(value) = value {
            return Some(subschema(schema, self.dialect)?.is_valid(value));
        }
        both(keywords.iter().map(|(keyword, rule)| {
            let keyword = keyword.as_str();
            if REMARKS.contains(&keyword) || keyword.starts_with("x-") {
                return Some(true);
            }
            match value {
                Partial::List { .. } if FOR_OBJECTS.contains(&keyword) || FOR_SCALARS.contains(&keyword) => Some(true),
                Partial::Object { .. } if FOR_LISTS.contains(&keyword) || FOR_SCALARS.contains(&keyword) => Some(true),
                Partial::List { items, is_open } => {
                    let is_plain = |others: [&str; 2]| !others.iter().any(|other| keywords.contains_key(*other));
                    match keyword {
                        "type" => Some(names(rule, "array")),
                        "minItems" => at_least(items.len(), rule, *is_open),
                        "maxItems" => at_most(items.len(), rule, *is_open),
                        "items" if is_plain(["prefixItems", "additionalItems"]) => {
                            // There may be more items, and there may be none.
                            let more = if *is_open { self.validates(rule, &Partial::Unknown) } else { Some(true) };
                            both(self.each(rule, items).chain([more.filter(|holds| *holds)]))
                        }
                        "contains" if is_plain(["minContains", "maxContains"]) => {
                            let more = if *is_open { self.validates(rule, &Partial::Unknown) } else { Some(false) };
                            any(self.each(rule, items).chain([more.filter(|holds| !holds)]))
                        }
                        _ => self.combined(keyword, rule, value),
                    }
                }
                Partial::Object { known, unknown } => {
                    let found = |name: &str| known.iter().find(|(key, _)| *key == name).map(|(_, value)| value);
                    match keyword {
                        "type" => Some(names(rule, "object")),
                        "required" => both(rule.as_array()?.iter().map(|name| {
                            let name = name.as_str()?;
                            let is_there = found(name).is_some();
                            (is_there || !unknown.contains(&name)).then_some(is_there)
                        })),
                        "properties" => both(rule.as_object()?.iter().map(|(name, rule)| match found(name) {
                            Some(value) => self.validates(rule, value),
                            None if unknown.contains(&name.as_str()) => self.validates(rule, &Partial::Unknown),
                            None => Some(true),
                        })),
                        _ => self.combined(keyword, rule, value),
                    }
                }
                Partial::Known(_) | Partial::Unknown | Partial::Unparsed(_) => None,
            }
        }))
    }

    /// Keywords that combine schemas for one value.
    fn combined(self, keyword: &str, rule: &Value, value: &Partial<'_>) -> Option<bool> {
        let schemas = || rule.as_array().into_iter().flatten().map(|schema| self.validates(schema, value));
        match keyword {
            "allOf" => both(schemas()),
            "anyOf" => any(schemas()),
            "oneOf" => match schemas().filter(|known| *known == Some(true)).count() {
                2.. => Some(false),
                _ if schemas().any(|known| known.is_none()) => None,
                count => Some(count == 1),
            },
            "not" => self.validates(rule, value).map(|holds| !holds),
            _ => None,
        }
    }

    /// Applies a schema to each item. It is compiled once for all complete items.
    fn each<'a>(self, schema: &'a Value, items: &'a [Partial<'a>]) -> impl Iterator<Item = Option<bool>> {
        let is_needed = items.iter().any(|item| matches!(item, Partial::Known(_)));
        let compiled = is_needed.then(|| subschema(schema, self.dialect)).flatten();
        items.iter().map(move |item| match item {
            Partial::Known(value) => Some(compiled.as_ref()?.is_valid(value)),
            other => self.validates(schema, other),
        })
    }
}

/// Whether some part of `known` matches; one match decides.
fn any(known: impl Iterator<Item = Option<bool>>) -> Option<bool> {
    both(known.map(|part| part.map(|holds| !holds))).map(|none| !none)
}

fn at_least(count: usize, rule: &Value, is_open: bool) -> Option<bool> {
    let is_enough = count as u64 >= rule.as_u64()?;
    (is_enough || !is_open).then_some(is_enough)
}

fn at_most(count: usize, rule: &Value, is_open: bool) -> Option<bool> {
    let is_few = count as u64 <= rule.as_u64()?;
    (!is_few || !is_open).then_some(is_few)
}

fn names(rule: &Value, name: &str) -> bool {
    rule == name || rule.as_array().is_some_and(|names| names.iter().any(|one| one == name))
}
