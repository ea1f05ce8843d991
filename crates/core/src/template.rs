//! `${args.city}`, `${args.city:-default}` and `$$` in files: texts and whole values made from what is known later, such as
//! the arguments of a call or the answers so far. Every reference starts with the same root.

use std::borrow::Cow;

use serde_json::{Map, Value};

use crate::json;
use crate::suite::interpolate::{self, Part as Piece};
use crate::suite::yaml::{Content, Node};
use crate::target::{Selection, Target, TargetError};

/// Text with references.
#[derive(Debug, Clone, PartialEq)]
pub struct Template {
    parts: Vec<Part>,
}

#[derive(Debug, Clone, PartialEq)]
enum Part {
    Plain(String),
    Reference(Reference),
}

/// One `${..}`.
#[derive(Debug, Clone, PartialEq)]
pub struct Reference {
    target: Target,
    default: Option<String>,
}

/// A reference that cannot be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TemplateError {
    /// It is not closed.
    #[error("`${{` is not closed")]
    Unclosed,
    /// It does not start as every reference does.
    #[error("`${{{path}}}` does not start with `{root}`")]
    Root {
        /// The path as written.
        path: String,
        /// What it should start with.
        root: String,
    },
    /// Its path is malformed.
    #[error("`${{{path}}}`: {error}")]
    Path {
        /// The path as written.
        path: String,
        /// What is wrong with it.
        error: TargetError,
        /// What it starts with.
        root: String,
    },
}

impl TemplateError {
    /// What to do about it.
    pub fn hint(&self) -> String {
        match self {
            Self::Unclosed => "close it with `}`; a dollar sign alone is `$$`".to_owned(),
            Self::Root { path, root } => {
                format!("write `${{{root}.{path}}}`; for the text itself write `$${{{path}}}`")
            }
            Self::Path { root, .. } => format!("write a path such as `${{{root}.items[0].name}}`"),
        }
    }
}

/// A reference that leads nowhere.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{path}` is not there: {reason}")]
pub struct Missing {
    pub path: String,
    /// Where it ends.
    pub reason: String,
}

/// What references see.
#[derive(Debug, Clone, PartialEq)]
pub struct Scope(Value);

impl Scope {
    /// A value under the root that references start with.
    pub fn new(root: &str, value: Value) -> Self {
        Self(Value::Object(Map::from_iter([(root.to_owned(), value)])))
    }
}

impl Reference {
    /// The value, or nothing where only the default is left.
    fn value<'a>(&self, scope: &'a Scope) -> Result<Option<Cow<'a, Value>>, Missing> {
        match self.target.select(&scope.0) {
            Selection::Found(value) => Ok(Some(value)),
            Selection::Nothing { .. } if self.default.is_some() => Ok(None),
            Selection::Nothing { reason, .. } => Err(Missing { path: self.target.to_string(), reason }),
        }
    }

    /// The key below the root, without what is below it.
    pub fn key(&self) -> Option<String> {
        let path = self.target.to_string();
        let (_, rest) = path.split_once('.').filter(|(root, _)| !root.contains('['))?;
        Some(rest.split(['.', '[']).next().unwrap_or(rest).to_owned())
    }

    /// Whether it has a default for when it selects nothing.
    pub fn has_default(&self) -> bool {
        self.default.is_some()
    }
}

impl Template {
    /// The text, if it has no references.
    fn plain(&self) -> String {
        let texts = self.parts.iter().map(|part| match part {
            Part::Plain(text) => text.as_str(),
            Part::Reference(_) => "",
        });
        texts.collect()
    }

    /// Reads a text whose references start with `root`.
    pub fn parse(text: &str, root: &str) -> Result<Self, TemplateError> {
        let pieces = interpolate::parts(text).map_err(|_| TemplateError::Unclosed)?;
        let part = |piece| match piece {
            Piece::Plain(text) => Ok(Part::Plain(text)),
            Piece::Reference { name, default } => reference(&name, default, root).map(Part::Reference),
        };
        Ok(Self { parts: pieces.into_iter().map(part).collect::<Result<_, _>>()? })
    }

    /// Its references, in the order written.
    pub fn references(&self) -> impl Iterator<Item = &Reference> {
        self.parts.iter().filter_map(|part| match part {
            Part::Plain(_) => None,
            Part::Reference(reference) => Some(reference),
        })
    }

    /// The text. A referenced value that is not a string becomes its canonical JSON.
    pub fn text(&self, scope: &Scope) -> Result<String, Missing> {
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

    /// The value: a text that is a single reference keeps the type of its value.
    fn value(&self, scope: &Scope) -> Result<Value, Missing> {
        if let [Part::Reference(only)] = self.parts.as_slice()
            && let Some(value) = only.value(scope)?
        {
            return Ok(value.into_owned());
        }
        self.text(scope).map(Value::String)
    }
}

fn reference(path: &str, default: Option<String>, root: &str) -> Result<Reference, TemplateError> {
    let behind_root = path.strip_prefix(root).filter(|rest| rest.is_empty() || rest.starts_with(['.', '[']));
    if behind_root.is_none() {
        return Err(TemplateError::Root { path: path.to_owned(), root: root.to_owned() });
    }
    let malformed = |error| TemplateError::Path { path: path.to_owned(), error, root: root.to_owned() };
    Ok(Reference { target: Target::parse(path).map_err(malformed)?, default })
}

/// A value in which every string may have references.
#[derive(Debug, Clone, PartialEq)]
pub enum Shape {
    Fixed(Value),
    Text(Template),
    List(Vec<Shape>),
    Map(Vec<(String, Shape)>),
}

impl Shape {
    /// Reads a value of a file. Returns every malformed reference, or the shape if there are none.
    pub fn read(node: &Node, root: &str, wrong: &mut dyn FnMut(&Node, TemplateError)) -> Option<Self> {
        let shape = match &node.content {
            Content::Text { text, .. } => match Template::parse(text, root) {
                Ok(template) if template.references().next().is_some() => Self::Text(template),
                Ok(template) => Self::Fixed(Value::String(template.plain())),
                Err(error) => {
                    wrong(node, error);
                    return None;
                }
            },
            Content::List(items) => {
                // Every item is parsed, so that every mistake is reported.
                let shapes: Vec<Option<Self>> = items.iter().map(|item| Self::read(item, root, wrong)).collect();
                Self::List(shapes.into_iter().collect::<Option<_>>()?)
            }
            Content::Map(entries) => {
                let read = |entry: &crate::suite::yaml::Entry, wrong: &mut dyn FnMut(&Node, TemplateError)| {
                    Some((entry.key.clone(), Self::read(&entry.value, root, wrong)?))
                };
                let shapes: Vec<Option<(String, Self)>> = entries.iter().map(|entry| read(entry, wrong)).collect();
                Self::Map(shapes.into_iter().collect::<Option<_>>()?)
            }
            _ => Self::Fixed(node.to_json()),
        };
        Some(shape.settled())
    }

    /// A shape whose every part is fixed is a value.
    fn settled(self) -> Self {
        match self {
            Self::List(items) if items.iter().all(|item| item.fixed().is_some()) => {
                Self::Fixed(items.iter().filter_map(Self::fixed).cloned().collect())
            }
            Self::Map(entries) if entries.iter().all(|(_, item)| item.fixed().is_some()) => {
                let pairs = entries.into_iter().filter_map(|(key, item)| Some((key, item.fixed()?.clone())));
                Self::Fixed(Value::Object(pairs.collect()))
            }
            other => other,
        }
    }

    /// The value, where nothing that is known later can change it.
    pub fn fixed(&self) -> Option<&Value> {
        match self {
            Self::Fixed(value) => Some(value),
            _ => None,
        }
    }

    pub fn fill(&self, scope: &Scope) -> Result<Value, Missing> {
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

    pub fn references(&self) -> Vec<&Reference> {
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
        let scope = Scope::new(
            "args",
            json!({
                "city": "Oslo", "days": 3, "list": [{ "n": 1.0 }, null], "odd key}": "x", "empty": "",
            }),
        );
        let found = match Template::parse(text, "args") {
            Ok(template) => template.text(&scope).map_err(|error| error.to_string()),
            Err(error) => Err(format!("{error} (hint: {})", error.hint())),
        };
        assert_eq!(found.as_deref().map_err(String::as_str), expected, "{text}");
    }

    #[test]
    fn references_are_replaced_by_arguments() {
        check("plain $5 ^a$", Ok("plain $5 ^a$"));
        check("Rain in ${args.city} for ${args.days} days", Ok("Rain in Oslo for 3 days"));
        check("${args.list}", Ok(r#"[{"n":1},null]"#));
        check("${args.list[0].n}", Ok("1"));
        check(r#"${args["odd key}"]}"#, Ok("x"));
        check("${args.unit:-C} ${args.city:-x}${args.none:-}", Ok("C Oslo"));
        check("[${args.empty:-x}]", Ok("[]"));
        check("$${args.city} $$", Ok("${args.city} $"));
        check("${args}", Ok(r#"{"city":"Oslo","days":3,"empty":"","list":[{"n":1},null],"odd key}":"x"}"#));
        check("${args.town}", Err("`args.town` is not there: no key \"town\" in an object with 5 keys"));
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
        let scope = Scope::new("args", json!({ "days": 3 }));
        let value = |text: &str| Template::parse(text, "args").unwrap().value(&scope).unwrap();
        assert_eq!(value("${args.days}"), json!(3));
        assert_eq!(value("${args.days} "), json!("3 "));
        assert_eq!(value("${args.none:-7}"), json!("7"));
    }
}
