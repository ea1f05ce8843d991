//! `schema`: JSON Schema, compiled once, never fetching anything.
//!
//! A schema that a person writes is checked more strictly than the standard demands: an unknown keyword or format
//! is a mistake and not an annotation, because a misspelt `minimun` would otherwise pass everything.

use std::sync::Arc;

use jsonschema::{PatternOptions, Validator};
use serde_json::{Map, Value};

use super::MatchResult;
use crate::assertion::AssertionDiff;
use crate::diag::{Code, Problem, Problems, did_you_mean, suggest};
use crate::json::{self, pointer_step};

/// Deepest nesting of a schema; the compiler recurses.
pub const MAX_SCHEMA_DEPTH: usize = 64;
/// Most values (keywords, subschemas, constants) in a schema.
pub const MAX_SCHEMA_NODES: usize = 10_000;
/// Most diffs one value yields; the rest is counted in a last note.
const MAX_DIFFS: usize = 100;

/// A compiled JSON Schema.
#[derive(Debug, Clone)]
pub struct Schema {
    source: Arc<Value>,
    validator: Arc<Validator>,
    /// A root `minimum` or a similar keyword without a `type`: the schema applies to numbers only.
    numbers_only: bool,
}

/// Where a keyword contains schemas.
#[derive(Clone, Copy)]
enum Inner {
    None,
    Schema,
    List,
    SchemaOrList,
    Map,
}

const NUMERIC: [&str; 5] = ["minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"];
const TYPES: [&str; 7] = ["array", "boolean", "integer", "null", "number", "object", "string"];

/// The keywords of drafts 4 to 2020-12.
const KEYWORDS: &[(&str, Inner)] = &[
    ("$anchor", Inner::None),
    ("$comment", Inner::None),
    ("$defs", Inner::Map),
    ("$dynamicAnchor", Inner::None),
    ("$dynamicRef", Inner::None),
    ("$id", Inner::None),
    ("$recursiveAnchor", Inner::None),
    ("$recursiveRef", Inner::None),
    ("$ref", Inner::None),
    ("$schema", Inner::None),
    ("$vocabulary", Inner::None),
    ("additionalItems", Inner::Schema),
    ("additionalProperties", Inner::Schema),
    ("allOf", Inner::List),
    ("anyOf", Inner::List),
    ("const", Inner::None),
    ("contains", Inner::Schema),
    ("contentEncoding", Inner::None),
    ("contentMediaType", Inner::None),
    ("contentSchema", Inner::Schema),
    ("default", Inner::None),
    ("definitions", Inner::Map),
    ("dependencies", Inner::Map),
    ("dependentRequired", Inner::None),
    ("dependentSchemas", Inner::Map),
    ("deprecated", Inner::None),
    ("description", Inner::None),
    ("else", Inner::Schema),
    ("enum", Inner::None),
    ("examples", Inner::None),
    ("exclusiveMaximum", Inner::None),
    ("exclusiveMinimum", Inner::None),
    ("format", Inner::None),
    ("id", Inner::None),
    ("if", Inner::Schema),
    ("items", Inner::SchemaOrList),
    ("maxContains", Inner::None),
    ("maxItems", Inner::None),
    ("maxLength", Inner::None),
    ("maxProperties", Inner::None),
    ("maximum", Inner::None),
    ("minContains", Inner::None),
    ("minItems", Inner::None),
    ("minLength", Inner::None),
    ("minProperties", Inner::None),
    ("minimum", Inner::None),
    ("multipleOf", Inner::None),
    ("not", Inner::Schema),
    ("oneOf", Inner::List),
    ("pattern", Inner::None),
    ("patternProperties", Inner::Map),
    ("prefixItems", Inner::List),
    ("properties", Inner::Map),
    ("propertyNames", Inner::Schema),
    ("readOnly", Inner::None),
    ("required", Inner::None),
    ("then", Inner::Schema),
    ("title", Inner::None),
    ("type", Inner::None),
    ("unevaluatedItems", Inner::Schema),
    ("unevaluatedProperties", Inner::Schema),
    ("uniqueItems", Inner::None),
    ("writeOnly", Inner::None),
];

/// What every schema is compiled with: nothing is fetched, formats count.
fn options() -> jsonschema::ValidationOptions<'static> {
    jsonschema::options().offline().should_validate_formats(true)
}

/// A part of a schema that was already compiled; `None` if it refers to something outside itself.
pub(super) fn subschema(source: &Value, dialect: Option<&Value>) -> Option<Validator> {
    if refers(source) {
        return None;
    }
    let mut source = source.clone();
    if let (Value::Object(map), Some(dialect)) = (&mut source, dialect) {
        map.insert("$schema".to_owned(), dialect.clone());
    }
    options().should_ignore_unknown_formats(false).with_pattern_options(PatternOptions::regex()).build(&source).ok()
}

/// Whether a schema names another one. A constant that looks like a reference counts as one.
fn refers(source: &Value) -> bool {
    match source {
        Value::Object(map) => map.iter().any(|(key, value)| key.ends_with("Ref") || key == "$ref" || refers(value)),
        Value::Array(items) => items.iter().any(refers),
        _ => false,
    }
}

fn check_size(source: &Value) -> Result<(), Problems> {
    if json::deeper_than(source, MAX_SCHEMA_DEPTH) {
        return Err(Problem::new(
            Code::NestedTooDeep,
            "",
            format!("the schema is nested deeper than {MAX_SCHEMA_DEPTH} levels"),
        )
        .into());
    }
    if count(source) > MAX_SCHEMA_NODES {
        return Err(Problem::new(
            Code::MalformedSchema,
            "",
            format!("the schema has more than {MAX_SCHEMA_NODES} values"),
        )
        .into());
    }
    Ok(())
}

impl Schema {
    /// Compiles a schema that a person wrote.
    pub fn compile(source: &Value) -> Result<Self, Problems> {
        check_size(source)?;
        if !source.is_object() && !source.is_boolean() {
            let word = source.as_str().filter(|word| TYPES.contains(word)).unwrap_or("object");
            let problem = Problem::new(
                Code::MalformedSchema,
                "",
                format!("a JSON Schema must be a map, found {}", json::describe(source)),
            );
            return Err(problem.hint(format!("write `{{ type: {word} }}`")).into());
        }
        let mut problems = Problems::default();
        check_keywords(source, "", &mut problems);
        let mut source = problems.or(source.clone())?;
        let numbers_only = imply_number(&mut source);
        let validator = options()
            .should_ignore_unknown_formats(false)
            .with_pattern_options(PatternOptions::regex())
            .build(&source)
            .map_err(|error| refused(&error))?;
        Ok(Self { source: Arc::new(source), validator: Arc::new(validator), numbers_only })
    }

    /// Compiles a schema that a program wrote: by the standard, which ignores unknown keywords and formats.
    pub fn foreign(source: &Value) -> Result<Self, Problems> {
        check_size(source)?;
        let validator = options()
            .should_ignore_unknown_formats(true)
            .with_pattern_options(PatternOptions::fancy_regex())
            .build(source)
            .map_err(|error| refused(&error))?;
        Ok(Self { source: Arc::new(source.clone()), validator: Arc::new(validator), numbers_only: false })
    }

    /// The schema as compiled.
    pub fn source(&self) -> &Value {
        &self.source
    }

    /// Whether it has a bound at its root, so that it only judges numbers.
    pub(super) fn bounds_numbers(&self) -> bool {
        self.numbers_only
    }

    /// Whether a value validates, without the reasons.
    pub(crate) fn fits(&self, actual: &Value) -> bool {
        self.validator.is_valid(actual)
    }

    /// Judges a value.
    pub fn check(&self, actual: &Value) -> MatchResult {
        if self.numbers_only && !actual.is_number() {
            return MatchResult::CannotJudge(format!("the schema bounds a number, got {}", json::describe(actual)));
        }
        MatchResult::from_diffs(self.diffs(actual))
    }

    /// Every violation, sorted by place in the data, then in the schema.
    pub(crate) fn diffs(&self, actual: &Value) -> Vec<AssertionDiff> {
        let mut found: Vec<_> = self
            .validator
            .iter_errors(actual)
            .map(|error| {
                let place = error.instance_path().as_str().to_owned();
                let rule = error.schema_path().as_str().to_owned();
                let note = error.masked().to_string();
                (place, rule, note)
            })
            .collect();
        found.sort_unstable();
        let more = found.len().saturating_sub(MAX_DIFFS);
        found.truncate(MAX_DIFFS);
        let mut diffs: Vec<_> = found
            .into_iter()
            .map(|(place, rule, note)| {
                let got = actual.pointer(&place);
                let want = self.source.pointer(&rule);
                AssertionDiff::new(place, want, got).note(&note)
            })
            .collect();
        if more > 0 {
            diffs.push(AssertionDiff::new("", None, None).note(&format!("and {more} more violations")));
        }
        diffs
    }
}

fn count(value: &Value) -> usize {
    let mut pending = vec![value];
    let mut total = 0;
    while let Some(value) = pending.pop() {
        total += 1;
        match value {
            Value::Array(items) => pending.extend(items),
            Value::Object(map) => pending.extend(map.values()),
            _ => {}
        }
    }
    total
}

fn imply_number(schema: &mut Value) -> bool {
    let Value::Object(map) = schema else {
        return false;
    };
    let implied = !map.contains_key("type") && NUMERIC.iter().any(|key| map.contains_key(*key));
    if implied {
        map.insert("type".into(), "number".into());
    }
    implied
}

fn check_keywords(schema: &Value, path: &str, problems: &mut Problems) {
    let Value::Object(map) = schema else { return };
    for (key, value) in sorted(map) {
        let here = format!("{path}/{}", pointer_step(key));
        let Some((_, inner)) = KEYWORDS.iter().find(|(name, _)| name == key) else {
            if !key.starts_with("x-") {
                let problem =
                    Problem::new(Code::MalformedSchema, here, format!("unknown schema keyword `{key}`")).on_key();
                problems.push(match did_you_mean(key, KEYWORDS.iter().map(|(name, _)| *name)) {
                    Some(near) => problem.hint(format!("did you mean `{near}`?")),
                    None => problem.hint("custom keywords start with `x-`"),
                });
            }
            continue;
        };
        if key == "type" {
            check_types(value, &here, problems);
        }
        match (inner, value) {
            (Inner::List | Inner::SchemaOrList, Value::Array(items)) => {
                for (at, item) in items.iter().enumerate() {
                    check_keywords(item, &format!("{here}/{at}"), problems);
                }
            }
            (Inner::Map, Value::Object(inner)) => {
                for (name, item) in sorted(inner) {
                    check_keywords(item, &format!("{here}/{}", pointer_step(name)), problems);
                }
            }
            (Inner::Schema | Inner::SchemaOrList, _) => check_keywords(value, &here, problems),
            _ => {}
        }
    }
}

fn check_types(value: &Value, path: &str, problems: &mut Problems) {
    let words = match value {
        Value::Array(items) => items.as_slice(),
        one => std::slice::from_ref(one),
    };
    for word in words.iter().filter_map(Value::as_str).filter(|word| !TYPES.contains(word)) {
        problems.push(
            Problem::new(Code::MalformedSchema, path, format!("unknown type `{word}`")).hint(suggest(word, TYPES)),
        );
    }
}

fn sorted(map: &Map<String, Value>) -> Vec<(&String, &Value)> {
    let mut entries: Vec<_> = map.iter().collect();
    entries.sort_unstable_by_key(|(key, _)| *key);
    entries
}

fn refused(error: &jsonschema::ValidationError<'_>) -> Problems {
    let text = error.to_string();
    let path = error.instance_path().as_str();
    let text = text.trim_end_matches(". Adjust configuration to ignore unrecognized formats");
    let problem = if text.contains("Retrieval is disabled") {
        Problem::new(Code::MalformedSchema, path, "the schema refers to another document; schemas are never fetched")
            .hint("copy the definition under `$defs` and refer to it as `#/$defs/name`")
    } else if path.contains("/pattern") {
        Problem::new(Code::MalformedSchema, path, format!("invalid JSON Schema: {text}"))
            .hint("regexes run in linear time: no look-around, no back-references")
    } else {
        Problem::new(Code::MalformedSchema, path, format!("invalid JSON Schema: {text}"))
    };
    problem.into()
}
