//! Reading a matcher: an object with one known key.

use std::fmt;

use serde_json::Value;

use super::{Matcher, Near, Schema};
use crate::diag::{Code, Problem, Problems, suggest};
use crate::json;

/// The matchers a rule may use.
pub const NAMES: [&str; 8] = ["exact", "contains", "icontains", "contains-all", "regex", "schema", "near", "not"];
/// Matchers that would call a model: known by name so that the error can say why they are rejected.
const MODEL_GRADED: [&str; 3] = ["llm-judge", "llm-jury", "similar"];

impl Matcher {
    /// Compiles a matcher such as `{"contains": "Oslo"}`. Paths of problems start at the matcher.
    ///
    /// ```
    /// use mcptest_core::{MatchResult, Matcher};
    /// use serde_json::json;
    ///
    /// let matcher = Matcher::parse(&json!({ "not": { "regex": "^refund" } }))?;
    /// assert_eq!(matcher.check(&json!("get_invoice")), MatchResult::Holds);
    /// assert!(matches!(matcher.check(&json!({})), MatchResult::CannotJudge(_)));
    ///
    /// let problems = Matcher::parse(&json!({ "schema": { "minimun": 1 } })).unwrap_err();
    /// assert_eq!(
    ///     problems.to_string(),
    ///     "/schema/minimun: unknown schema keyword `minimun` (hint: did you mean `minimum`?)",
    /// );
    /// # Ok::<(), mcptest_core::Problems>(())
    /// ```
    pub fn parse(value: &Value) -> Result<Self, Problems> {
        if json::deeper_than(value, json::MAX_DEPTH) {
            return Err(Problem::new(
                Code::NestedTooDeep,
                "",
                format!("nested deeper than {} levels", json::MAX_DEPTH),
            )
            .into());
        }
        parse(value)
    }
}

fn parse(value: &Value) -> Result<Matcher, Problems> {
    let Some(map) = value.as_object() else {
        let problem = Problem::new(
            Code::MalformedMatcher,
            "",
            format!("a matcher must be a map, found {}", json::describe(value)),
        );
        return Err(problem.hint(format!("write `{{ exact: {} }}`", json::excerpt(value, 40))).into());
    };
    let mut entries = map.iter();
    let (Some((name, rule)), None) = (entries.next(), entries.next()) else {
        let problem = Problem::new(
            Code::MalformedMatcher,
            "",
            format!("a matcher must have exactly one key, found {}", map.len()),
        );
        let hint = if map.is_empty() {
            format!("expected one of: {}", NAMES.join(", "))
        } else {
            "write one assertion for each".to_owned()
        };
        return Err(problem.hint(hint).into());
    };
    let inside = |problem: Problem| {
        let mut problems = Problems::default();
        problems.extend_at(&format!("/{}", json::pointer_step(name)), problem.into());
        problems
    };
    let text = || {
        let found = || {
            let problem = Problem::new(
                Code::MalformedMatcher,
                "",
                format!("`{name}` must be a string, found {}", json::describe(rule)),
            );
            inside(problem.hint("put it in quotes"))
        };
        rule.as_str().ok_or_else(found)
    };
    match name.as_str() {
        "exact" => Ok(Matcher::Exact(rule.clone())),
        "contains" => Ok(Matcher::Contains(rule.clone())),
        "icontains" => Ok(Matcher::IContains(text()?.to_owned())),
        "contains-all" => match rule.as_array() {
            Some(items) if !items.is_empty() => Ok(Matcher::ContainsAll(items.clone())),
            found => {
                let message =
                    format!("`contains-all` must be a list of at least one item, found {}", json::describe(rule));
                let item = if found.is_some() { "..".to_owned() } else { json::excerpt(rule, 40) };
                Err(inside(Problem::new(Code::MalformedMatcher, "", message).hint(format!("write `[{item}]`"))))
            }
        },
        "regex" => regex::Regex::new(text()?).map(Matcher::Regex).map_err(|error| {
            let problem = Problem::new(Code::MalformedRegex, "", format!("invalid regex: {}", one_line(&error)));
            inside(problem.hint("escape special characters with `\\`; look-around is not supported"))
        }),
        "schema" => Schema::compile(rule).map(Matcher::Schema).map_err(|inner| nested("/schema", inner)),
        "near" => Near::parse(rule).map(Matcher::Near).map_err(|inner| nested("/near", inner)),
        "not" => parse(rule).map(|inner| Matcher::Not(Box::new(inner))).map_err(|inner| nested("/not", inner)),
        other if MODEL_GRADED.contains(&other) => {
            let problem = Problem::new(
                Code::ModelGradedMatcher,
                "",
                format!("`{other}` is not supported: a verdict never depends on a model"),
            )
            .on_key();
            Err(inside(problem.hint(format!("expected one of: {}", NAMES.join(", ")))))
        }
        other => Err(inside(
            Problem::new(Code::MalformedMatcher, "", format!("unknown matcher `{other}`")).on_key().hint(meant(other)),
        )),
    }
}

/// The matcher that another tool calls by this name, or the nearest.
fn meant(name: &str) -> String {
    let here = match name {
        "equals" | "equal" | "eq" | "is" => "exact",
        "matches" | "match" | "pattern" => "regex",
        "includes" | "has" => "contains",
        "all" => "contains-all",
        "approx" | "approximately" | "close_to" | "within" => "near",
        "minimum" | "maximum" | "exclusiveMinimum" | "exclusiveMaximum" | "type" | "enum" | "minItems" | "maxItems"
        | "minLength" | "maxLength" => return format!("write `schema: {{ {name}: .. }}`"),
        "min" | "gte" | "at_least" => return "write `schema: { minimum: .. }`".to_owned(),
        "max" | "lte" | "at_most" => return "write `schema: { maximum: .. }`".to_owned(),
        _ => return suggest(name, NAMES),
    };
    format!("did you mean `{here}`?")
}

fn nested(path: &str, inner: Problems) -> Problems {
    let mut problems = Problems::default();
    problems.extend_at(path, inner);
    problems
}

/// The last line of a regex error says what is wrong; the lines before draw it.
fn one_line(error: &regex::Error) -> String {
    let text = error.to_string();
    let last = text.lines().last().unwrap_or(&text);
    last.trim_start_matches("error: ").to_owned()
}

impl fmt::Display for Matcher {
    /// The matcher as a person says it: `exact "open"`, `not contains "refund"`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Exact(value) => write!(f, "exact {}", json::excerpt(value, 200)),
            Self::Contains(value) => write!(f, "contains {}", json::excerpt(value, 200)),
            Self::IContains(text) => write!(f, "icontains {text:?}"),
            Self::ContainsAll(items) => {
                write!(f, "contains-all {}", json::excerpt(&Value::Array(items.clone()), 200))
            }
            Self::Regex(regex) => write!(f, "regex /{regex}/"),
            Self::Schema(schema) => write!(f, "schema {}", json::excerpt(schema.source(), 200)),
            Self::Near(near) => write!(f, "near {near}"),
            Self::Not(inner) => write!(f, "not {inner}"),
        }
    }
}
