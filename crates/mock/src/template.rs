//! `${args.city}`, `${args.city:-default}` and `$$` in answers: texts and whole values made from the arguments of a call.

use mcptest_core::Target;
use mcptest_core::json;
use mcptest_core::target::{Selection, TargetError};
use serde_json::{Map, Value};

/// What every reference starts with.
const ROOT: &str = "args";

/// Text with references to arguments.
#[derive(Debug, Clone)]
pub struct Template {
    parts: Vec<Part>,
}

#[derive(Debug, Clone)]
enum Part {
    Plain(String),
    Reference(Reference),
}

/// One `${args..}`.
#[derive(Debug, Clone)]
pub(crate) struct Reference {
    target: Target,
    default: Option<String>,
}

/// A reference that cannot be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TemplateError {
    /// It is not closed.
    #[error("`${{` is not closed")]
    Unclosed,
    /// It does not speak of arguments.
    #[error("`${{{0}}}` does not start with `args`")]
    Root(String),
    /// Its path is malformed.
    #[error("`${{{path}}}`: {error}")]
    Path {
        /// The path as written.
        path: String,
        /// What is wrong with it.
        error: TargetError,
    },
}

impl TemplateError {
    /// What to do about it.
    pub fn hint(&self) -> String {
        match self {
            Self::Unclosed => "close it with `}`; a dollar sign alone is `$$`".to_owned(),
            Self::Root(name) => format!("write `${{args.{name}}}`; for the text itself write `$${{{name}}}`"),
            Self::Path { .. } => "write a path such as `${args.items[0].name}`".to_owned(),
        }
    }
}

/// An argument that an answer needs and a call does not give.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the answer needs `{path}`, which the call does not give")]
pub struct Missing {
    /// The path of the argument.
    pub path: String,
}

/// The arguments of a call, as references see them.
pub(crate) struct Scope(Value);

impl Scope {
    pub(crate) fn new(arguments: &Value) -> Self {
        Self(Value::Object(Map::from_iter([(ROOT.to_owned(), arguments.clone())])))
    }
}

impl Reference {
    /// The argument, or nothing where only the default is left.
    fn value<'a>(&self, scope: &'a Scope) -> Result<Option<std::borrow::Cow<'a, Value>>, Missing> {
        match self.target.select(&scope.0) {
            Selection::Found(value) => Ok(Some(value)),
            Selection::Nothing { .. } if self.default.is_some() => Ok(None),
            Selection::Nothing { .. } => Err(Missing { path: self.target.to_string() }),
        }
    }

    /// The name of the argument itself, without what lies inside it.
    pub(crate) fn argument(&self) -> Option<String> {
        let rest = self.target.to_string();
        let rest = rest.strip_prefix(ROOT)?.strip_prefix('.')?;
        Some(rest.split(['.', '[']).next().unwrap_or(rest).to_owned())
    }

    pub(crate) fn has_default(&self) -> bool {
        self.default.is_some()
    }
}

impl Template {
    /// Reads a text.
    pub fn parse(text: &str) -> Result<Self, TemplateError> {
        let mut parts = Vec::new();
        let mut plain = String::new();
        let mut rest = text;
        while let Some(at) = rest.find('$') {
            plain.push_str(&rest[..at]);
            rest = &rest[at + 1..];
            if let Some(after) = rest.strip_prefix('$') {
                plain.push('$');
                rest = after;
                continue;
            }
            let Some(inner) = rest.strip_prefix('{') else {
                // `$5` is what it says.
                plain.push('$');
                continue;
            };
            let Some(end) = end_of(inner) else { return Err(TemplateError::Unclosed) };
            if !plain.is_empty() {
                parts.push(Part::Plain(std::mem::take(&mut plain)));
            }
            parts.push(Part::Reference(reference(&inner[..end])?));
            rest = &inner[end + 1..];
        }
        plain.push_str(rest);
        if !plain.is_empty() {
            parts.push(Part::Plain(plain));
        }
        Ok(Self { parts })
    }

    pub(crate) fn references(&self) -> impl Iterator<Item = &Reference> {
        self.parts.iter().filter_map(|part| match part {
            Part::Plain(_) => None,
            Part::Reference(reference) => Some(reference),
        })
    }

    /// The text for a call. What is no text in the arguments becomes its canonical JSON.
    pub(crate) fn text(&self, scope: &Scope) -> Result<String, Missing> {
        let mut out = String::new();
        for part in &self.parts {
            match part {
                Part::Plain(text) => out.push_str(text),
                Part::Reference(reference) => match reference.value(scope)? {
                    Some(value) => match &*value {
                        Value::String(text) => out.push_str(text),
                        other => out.push_str(&json::canonical(other)),
                    },
                    None => out.push_str(reference.default.as_deref().unwrap_or_default()),
                },
            }
        }
        Ok(out)
    }

    /// The value for a call: a text that is one reference and nothing else keeps the type of what it refers to.
    fn value(&self, scope: &Scope) -> Result<Value, Missing> {
        if let [Part::Reference(only)] = self.parts.as_slice()
            && let Some(value) = only.value(scope)?
        {
            return Ok(value.into_owned());
        }
        self.text(scope).map(Value::String)
    }
}

/// Where a reference ends. A brace inside a quoted key does not close it; in a default every brace does.
fn end_of(inner: &str) -> Option<usize> {
    let (mut quoted, mut escaped) = (false, false);
    for (at, c) in inner.char_indices() {
        match c {
            '"' if !escaped => quoted = !quoted,
            '}' if !quoted => return Some(at),
            ':' if !quoted && inner[at..].starts_with(":-") => return inner[at..].find('}').map(|end| at + end),
            _ => {}
        }
        escaped = quoted && c == '\\' && !escaped;
    }
    None
}

fn reference(text: &str) -> Result<Reference, TemplateError> {
    // The default starts at the first `:-`; a quoted key that holds one is beyond what an answer needs.
    let (path, default) = match text.split_once(":-") {
        Some((path, default)) => (path, Some(default.to_owned())),
        None => (text, None),
    };
    let behind_root = path.strip_prefix(ROOT).filter(|rest| rest.is_empty() || rest.starts_with(['.', '[']));
    if behind_root.is_none() {
        return Err(TemplateError::Root(path.to_owned()));
    }
    let target = Target::parse(path).map_err(|error| TemplateError::Path { path: path.to_owned(), error })?;
    Ok(Reference { target, default })
}

/// A value in which every text may hold references.
#[derive(Debug, Clone)]
pub(crate) enum Shape {
    Fixed(Value),
    Text(Template),
    List(Vec<Shape>),
    Map(Vec<(String, Shape)>),
}

impl Shape {
    /// The value, where no call can change it.
    pub(crate) fn fixed(&self) -> Option<&Value> {
        match self {
            Self::Fixed(value) => Some(value),
            _ => None,
        }
    }

    /// The value for a call.
    pub(crate) fn fill(&self, scope: &Scope) -> Result<Value, Missing> {
        Ok(match self {
            Self::Fixed(value) => value.clone(),
            Self::Text(template) => template.value(scope)?,
            Self::List(items) => items.iter().map(|item| item.fill(scope)).collect::<Result<_, _>>()?,
            Self::Map(entries) => {
                let filled = entries.iter().map(|(key, item)| Ok((key.clone(), item.fill(scope)?)));
                Value::Object(filled.collect::<Result<_, Missing>>()?)
            }
        })
    }

    /// Every reference in it.
    pub(crate) fn references(&self) -> Vec<&Reference> {
        match self {
            Self::Fixed(_) => Vec::new(),
            Self::Text(template) => template.references().collect(),
            Self::List(items) => items.iter().flat_map(Self::references).collect(),
            Self::Map(entries) => entries.iter().flat_map(|(_, item)| item.references()).collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[track_caller]
    fn check(text: &str, expected: Result<&str, &str>) {
        let scope = Scope::new(&json!({
            "city": "Oslo", "days": 3, "list": [{ "n": 1.0 }, null], "odd key}": "x", "empty": "",
        }));
        let found = match Template::parse(text) {
            Ok(template) => template.text(&scope).map_err(|error| error.to_string()),
            Err(error) => Err(format!("{error} (hint: {})", error.hint())),
        };
        assert_eq!(found.as_deref().map_err(String::as_str), expected, "{text}");
    }

    #[test]
    fn references_stand_for_arguments() {
        check("plain $5 ^a$", Ok("plain $5 ^a$"));
        check("Rain in ${args.city} for ${args.days} days", Ok("Rain in Oslo for 3 days"));
        check("${args.list}", Ok(r#"[{"n":1},null]"#));
        check("${args.list[0].n}", Ok("1"));
        check(r#"${args["odd key}"]}"#, Ok("x"));
        check("${args.unit:-C} ${args.city:-x}${args.none:-}", Ok("C Oslo"));
        check("[${args.empty:-x}]", Ok("[]"));
        check("$${args.city} $$", Ok("${args.city} $"));
        check("${args}", Ok(r#"{"city":"Oslo","days":3,"empty":"","list":[{"n":1},null],"odd key}":"x"}"#));
        check("${args.town}", Err("the answer needs `args.town`, which the call does not give"));
    }

    #[test]
    fn malformed_references_are_explained() {
        check("${args.city", Err("`${` is not closed (hint: close it with `}`; a dollar sign alone is `$$`)"));
        check(
            "${city}",
            Err(
                "`${city}` does not start with `args` (hint: write `${args.city}`; for the text itself write `$${city}`)",
            ),
        );
        check(
            "${args.}",
            Err(
                "`${args.}`: column 6: expected a name, found the end (hint: write a path such as `${args.items[0].name}`)",
            ),
        );
        check(
            "${argsx}",
            Err(
                "`${argsx}` does not start with `args` (hint: write `${args.argsx}`; for the text itself write `$${argsx}`)",
            ),
        );
    }

    #[test]
    fn a_text_that_is_one_reference_keeps_the_type_of_its_value() {
        let scope = Scope::new(&json!({ "days": 3 }));
        let value = |text: &str| Template::parse(text).unwrap().value(&scope).unwrap();
        assert_eq!(value("${args.days}"), json!(3));
        assert_eq!(value("${args.days} "), json!("3 "));
        assert_eq!(value("${args.none:-7}"), json!("7"));
    }
}
