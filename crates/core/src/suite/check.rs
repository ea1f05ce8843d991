//! Validates a tree against key tables: unknown keys, wrong types and missing keys, each with a hint.
//!
//! Used for suites and for every other YAML file that users write.

use std::ops::Range;

use serde_json::Number;

use super::hints::{self, Intended};
use super::yaml::{Content, Node};
use super::{Loaded, yaml};
use crate::diag::{Code, Diagnostic, Problems, Severity, Source};
use crate::keys::{ARGS_RULES, Block, Key, ValueType, gate_keys, with_article};

/// The diagnostics of one file.
#[derive(Debug, Default)]
pub struct Diagnostics {
    pub(super) list: Vec<Diagnostic>,
}

impl Diagnostics {
    /// Reads a file and validates it against a key table. There is no tree when it is not valid YAML.
    pub fn read(source: &Source, name: &str, block: &'static Block) -> (Self, Option<Node>) {
        match yaml::read(source) {
            Ok(root) => {
                let mut diagnostics = Self::default();
                diagnostics.check(&root, name, block);
                (diagnostics, Some(root))
            }
            Err(list) => (Self { list }, None),
        }
    }

    /// Validates a map against a key table.
    pub fn check(&mut self, node: &Node, name: &str, block: &'static Block) {
        self.block(node, name, &block.all());
    }

    pub fn error(&mut self, code: Code, span: Range<usize>, message: impl Into<String>, hint: Option<String>) {
        self.list.push(Diagnostic { hint, ..Diagnostic::error(span, message).code(code) });
    }

    pub fn warning(&mut self, code: Code, span: Range<usize>, message: impl Into<String>, hint: Option<String>) {
        self.list.push(Diagnostic { hint, ..Diagnostic::warning(span, message).code(code) });
    }

    /// Problems of a rule that was compiled from a value, at their places in the file.
    pub fn problems(&mut self, value: &Node, problems: Problems) {
        for problem in problems.0 {
            let span = value.place(&problem.place.pointer, problem.place.on_key);
            // The key tables may have reported it already.
            if !self.list.iter().any(|known| known.place == span) {
                self.list.push(problem.moved(span));
            }
        }
    }

    /// Whether there is no error so far.
    pub fn is_sound(&self) -> bool {
        self.list.iter().all(|diagnostic| diagnostic.severity != Severity::Error)
    }

    /// The value if there is no error, and all diagnostics.
    pub fn finish<T>(self, value: Option<T>) -> Loaded<T> {
        Loaded::new(value, self.list)
    }

    pub(super) fn block(&mut self, node: &Node, name: &str, keys: &[&'static Key]) {
        let Content::Map(entries) = &node.content else {
            let message = format!("{name} must be a map, found {}", node.describe());
            self.error(Code::WrongType, node.span.clone(), message, Some(hints::not_a_map(node, keys)));
            return;
        };
        let mut missing: Vec<&Key> =
            keys.iter().filter(|key| key.required && node.get(key.name).is_none()).copied().collect();
        for entry in entries {
            match keys.iter().find(|key| key.name == entry.key) {
                Some(key) => self.value(&entry.value, &format!("`{}`", entry.key), &key.value_type, key.required),
                None => {
                    let (hint, intended) = hints::unknown_key(entry, name, keys, &missing);
                    // A misspelled key is not missing as well.
                    missing.retain(|key| intended != Intended::OtherBlock && intended != Intended::Key(key.name));
                    let message = format!("unknown key `{}` in {name}", entry.key);
                    self.error(Code::UnknownKey, entry.key_span.clone(), message, Some(hint));
                }
            }
        }
        for key in missing {
            // Point at the first key, not at the whole block.
            let span = entries.first().map_or(node.span.clone(), |first| first.key_span.clone());
            let message = format!("missing key `{}` in {name}: {}", key.name, key.meaning);
            self.error(Code::MissingKey, span, message, Some(hints::missing_key(key)));
        }
    }

    pub(super) fn value(&mut self, node: &Node, what: &str, value_type: &ValueType, required: bool) {
        let fits = match (value_type, &node.content) {
            (
                ValueType::Text | ValueType::Template | ValueType::TextOrList | ValueType::TextOr(_),
                Content::Text { text, .. },
            ) => {
                if text.trim().is_empty() {
                    self.error(
                        Code::EmptyValue,
                        node.span.clone(),
                        format!("{what} is empty"),
                        Some(hints::no_value(required)),
                    );
                }
                true
            }
            (ValueType::Integer(least) | ValueType::IntegerOr(least, _), Content::Number(number)) => {
                whole(number).is_some_and(|value| value >= *least)
            }
            (ValueType::Number(least, most), Content::Number(number)) => {
                number.as_f64().is_some_and(|value| (*least..=*most).contains(&value))
            }
            (ValueType::NonNegative, Content::Number(number)) => number.as_f64().is_some_and(|value| value >= 0.0),
            (ValueType::OneOf(allowed), Content::Number(number)) => {
                whole(number).is_some_and(|value| allowed.contains(&value))
            }
            (ValueType::AnyText, Content::Text { .. })
            | (ValueType::Bool, Content::Bool(_))
            | (ValueType::Any | ValueType::Matcher | ValueType::Schema, _) => true,
            (ValueType::Word(words), Content::Text { text, .. }) if words.contains(&text.as_str()) => true,
            (ValueType::List(least, inner), Content::List(items)) => {
                if items.len() < *least {
                    let hint =
                        if required { "add at least one item" } else { "add at least one item, or remove the key" };
                    self.error(
                        Code::EmptyValue,
                        node.span.clone(),
                        format!("{what} is an empty list"),
                        Some(hint.to_owned()),
                    );
                }
                for item in items {
                    match inner {
                        ValueType::Object(block) => {
                            self.block(item, &with_article(block.name), &block.all());
                        }
                        _ => self.value(item, &format!("an item of {what}"), inner, true),
                    }
                }
                true
            }
            (ValueType::Map(inner), Content::Map(entries)) => {
                for entry in entries {
                    match inner {
                        ValueType::Object(block) => {
                            let name = format!("{} `{}`", block.name, entry.key);
                            self.block(&entry.value, &name, &block.all());
                        }
                        _ => self.value(&entry.value, &format!("`{}`", entry.key), inner, true),
                    }
                }
                true
            }
            (ValueType::Object(block), _)
            | (ValueType::TextOr(block) | ValueType::IntegerOr(_, block), Content::Map(_)) => {
                self.block(node, what, &block.all());
                true
            }
            (ValueType::Gate(kind), _) => {
                // `stability:` without a value means `stability: {}`.
                if node.content != Content::Null {
                    self.block(node, what, &gate_keys(*kind).collect::<Vec<_>>());
                }
                true
            }
            (ValueType::TextOrList, Content::List(items)) => {
                for item in items {
                    self.value(item, &format!("an item of {what}"), &ValueType::Text, true);
                }
                true
            }
            (ValueType::CallArgs, Content::Text { text, .. }) => matches!(text.as_str(), "any" | "ignore"),
            (ValueType::CallArgs, Content::Map(entries)) => match entries.as_slice() {
                [only] if only.key == "match" => {
                    self.value(&only.value, "`match`", &ValueType::Map(&ValueType::Matcher), true);
                    true
                }
                [only] => ARGS_RULES.contains(&only.key.as_str()),
                _ => false,
            },
            _ => false,
        };
        if !fits {
            let message = format!("{what} must be {}, found {}", value_type.describe(), node.describe());
            self.error(
                Code::WrongType,
                node.span.clone(),
                message,
                hints::wrong_type(node, what, value_type, required),
            );
        }
    }
}

/// A number without a fraction; `3.0` is 3, as in JSON Schema.
pub(super) fn whole(number: &Number) -> Option<u64> {
    // Below 2^53 every whole number has one spelling as a float.
    const LIMIT: f64 = 9_007_199_254_740_992.0;
    let float = |value: f64| {
        let sound = value.fract() == 0.0 && (0.0..LIMIT).contains(&value);
        sound.then(|| format!("{value:.0}").parse().ok()).flatten()
    };
    number.as_u64().or_else(|| number.as_f64().and_then(float))
}
