//! Holding a tree against the key tables: unknown keys, wrong types, missing keys, each with what to do about it.
//!
//! Suites are read through it, and so is every other file that a user of the crates around writes.

use std::ops::Range;

use serde_json::Number;

use super::hints::{self, Meant};
use super::yaml::{Content, Node};
use super::{Loaded, yaml};
use crate::diag::{Diagnostic, Problems, Severity, Source};
use crate::keys::{ARGS_RULES, Block, Key, Takes, article, gate_keys};

/// Everything there is to say about a file.
#[derive(Debug, Default)]
pub struct Notes {
    pub(super) diagnostics: Vec<Diagnostic>,
}

impl Notes {
    /// Reads a file and holds it against a key table. Without a tree there is nothing but what [`Notes::finish`] tells.
    pub fn read(source: &Source, name: &str, block: &'static Block) -> (Self, Option<Node>) {
        match yaml::read(source) {
            Ok(root) => {
                let mut notes = Self::default();
                notes.check(&root, name, block);
                (notes, Some(root))
            }
            Err(diagnostics) => (Self { diagnostics }, None),
        }
    }

    /// Holds a map against a key table.
    pub fn check(&mut self, node: &Node, name: &str, block: &'static Block) {
        self.block(node, name, &block.all());
    }

    /// Something that makes the file unusable.
    pub fn error(&mut self, span: Range<usize>, message: impl Into<String>, hint: Option<String>) {
        self.diagnostics.push(Diagnostic { severity: Severity::Error, span, message: message.into(), hint });
    }

    /// Something that loads but hardly means what it says.
    pub fn warning(&mut self, span: Range<usize>, message: impl Into<String>, hint: Option<String>) {
        self.diagnostics.push(Diagnostic { severity: Severity::Warning, span, message: message.into(), hint });
    }

    /// Problems of a rule that was compiled from a value, at their places in the file.
    pub fn problems(&mut self, value: &Node, problems: Problems) {
        for problem in problems.0 {
            let span = value.place(&problem.path, problem.on_key);
            // The key tables may have said so already.
            if !self.diagnostics.iter().any(|known| known.span == span) {
                self.error(span, problem.message, problem.hint);
            }
        }
    }

    /// Whether nothing so far makes the file unusable.
    pub fn is_sound(&self) -> bool {
        self.diagnostics.iter().all(|diagnostic| diagnostic.severity != Severity::Error)
    }

    /// What was made of the file, and everything there is to say about it.
    pub fn finish<T>(self, value: Option<T>) -> Loaded<T> {
        Loaded::new(value, self.diagnostics)
    }

    /// Checks a map against its keys.
    pub(super) fn block(&mut self, node: &Node, name: &str, keys: &[&'static Key]) {
        let Content::Map(entries) = &node.content else {
            let message = format!("{name} must be a map, found {}", node.describe());
            self.error(node.span.clone(), message, Some(hints::not_a_map(node, keys)));
            return;
        };
        let mut missing: Vec<&Key> =
            keys.iter().filter(|key| key.required && node.get(key.name).is_none()).copied().collect();
        for entry in entries {
            match keys.iter().find(|key| key.name == entry.key) {
                Some(key) => self.value(&entry.value, &format!("`{}`", entry.key), &key.takes, key.required),
                None => {
                    let (hint, meant) = hints::unknown(entry, name, keys, &missing);
                    // A key that is there under a wrong name is not missing as well.
                    missing.retain(|key| meant != Meant::All && meant != Meant::Key(key.name));
                    let message = format!("unknown key `{}` in {name}", entry.key);
                    self.error(entry.key_span.clone(), message, Some(hint));
                }
            }
        }
        for key in missing {
            // Point at the first key, where the block can be seen, not at all of it.
            let span = entries.first().map_or(node.span.clone(), |first| first.key_span.clone());
            let message = format!("{name} lacks the key `{}`: {}", key.name, key.meaning);
            self.error(span, message, Some(hints::lacking(key)));
        }
    }

    /// Checks one value.
    pub(super) fn value(&mut self, node: &Node, what: &str, takes: &Takes, required: bool) {
        let fits = match (takes, &node.content) {
            (Takes::Text | Takes::Template | Takes::TextOrList | Takes::TextOr(_), Content::Text { text, .. }) => {
                if text.trim().is_empty() {
                    self.error(node.span.clone(), format!("{what} is empty"), Some(hints::nothing(required)));
                }
                true
            }
            (Takes::Whole(least), Content::Number(number)) => whole(number).is_some_and(|value| value >= *least),
            (Takes::Number(least, most), Content::Number(number)) => {
                number.as_f64().is_some_and(|value| (*least..=*most).contains(&value))
            }
            (Takes::Amount, Content::Number(number)) => number.as_f64().is_some_and(|value| value >= 0.0),
            (Takes::OneOf(allowed), Content::Number(number)) => {
                whole(number).is_some_and(|value| allowed.contains(&value))
            }
            (Takes::AnyText, Content::Text { .. })
            | (Takes::Bool, Content::Bool(_))
            | (Takes::Any | Takes::Matcher | Takes::Schema, _) => true,
            (Takes::Word(words), Content::Text { text, .. }) if words.contains(&text.as_str()) => true,
            (Takes::List(least, inner), Content::List(items)) => {
                if items.len() < *least {
                    self.error(
                        node.span.clone(),
                        format!("{what} is an empty list"),
                        Some(
                            if required { "give at least one" } else { "give at least one, or leave the key out" }
                                .to_owned(),
                        ),
                    );
                }
                for item in items {
                    match inner {
                        Takes::Block(block) => {
                            self.block(item, &article(block.name), &block.all());
                        }
                        _ => self.value(item, &format!("an item of {what}"), inner, true),
                    }
                }
                true
            }
            (Takes::Map(inner), Content::Map(entries)) => {
                for entry in entries {
                    match inner {
                        Takes::Block(block) => {
                            let name = format!("{} `{}`", block.name, entry.key);
                            self.block(&entry.value, &name, &block.all());
                        }
                        _ => self.value(&entry.value, &format!("`{}`", entry.key), inner, true),
                    }
                }
                true
            }
            (Takes::Block(block), _) | (Takes::TextOr(block), Content::Map(_)) => {
                self.block(node, what, &block.all());
                true
            }
            (Takes::Gate(kind), _) => {
                // `stability:` with nothing behind it reads like `stability: {}`.
                if node.content != Content::Null {
                    self.block(node, what, &gate_keys(*kind).collect::<Vec<_>>());
                }
                true
            }
            (Takes::TextOrList, Content::List(items)) => {
                for item in items {
                    self.value(item, &format!("an item of {what}"), &Takes::Text, true);
                }
                true
            }
            (Takes::CallArgs, Content::Text { text, .. }) => matches!(text.as_str(), "any" | "ignore"),
            (Takes::CallArgs, Content::Map(entries)) => match entries.as_slice() {
                [only] if only.key == "match" => {
                    self.value(&only.value, "`match`", &Takes::Map(&Takes::Matcher), true);
                    true
                }
                [only] => ARGS_RULES.contains(&only.key.as_str()),
                _ => false,
            },
            _ => false,
        };
        if !fits {
            let message = format!("{what} takes {}, found {}", takes.describe(), node.describe());
            self.error(node.span.clone(), message, hints::wrong(node, what, takes, required));
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
