//! Holding a tree against the key tables: unknown keys, wrong types, missing keys, each with what to do about it.

use std::ops::Range;

use super::yaml::{Content, Node};
use crate::diag::{Diagnostic, Severity, did_you_mean};
use crate::eval::GATES;
use crate::keys::{Key, Takes, gate_keys};

/// Collects what is wrong.
pub(super) struct Check<'a> {
    pub(super) out: &'a mut Vec<Diagnostic>,
}

impl Check<'_> {
    fn problem(&mut self, span: Range<usize>, message: String, hint: Option<String>) {
        self.out.push(Diagnostic { severity: Severity::Error, span, message, hint });
    }

    /// Checks a map against its keys.
    pub(super) fn block(&mut self, node: &Node, name: &str, keys: &[&'static Key]) {
        let Content::Map(entries) = &node.content else {
            let hint = match &node.content {
                Content::List(_) => Some("remove the `- `: these are keys, not a list".to_owned()),
                Content::Text { text, plain: true } => missing_space(text)
                    .or_else(|| Some(format!("write `{}: {text}`", keys.iter().find(|key| key.required)?.name))),
                _ => None,
            };
            let names: Vec<_> = keys.iter().filter(|key| key.required).map(|key| key.name).collect();
            let hint = hint.or_else(|| (!names.is_empty()).then(|| format!("a map with {}", names.join(", "))));
            self.problem(node.span.clone(), format!("{name} must be a map, found {}", node.describe()), hint);
            return;
        };
        let mut meant: Vec<&str> = Vec::new();
        for entry in entries {
            match keys.iter().find(|key| key.name == entry.key) {
                Some(key) => self.value(&entry.value, &format!("`{}`", entry.key), &key.takes),
                None => {
                    let message = format!("unknown key `{}` in {name}", entry.key);
                    meant.extend(did_you_mean(&entry.key, keys.iter().map(|key| key.name)));
                    if is_gate(&entry.key) {
                        meant.extend(keys.iter().map(|key| key.name));
                    }
                    self.problem(entry.key_span.clone(), message, Some(unknown(&entry.key, name, keys)));
                }
            }
        }
        // A key that is there under a wrong name is not missing as well.
        let missing = |key: &&&Key| key.required && node.get(key.name).is_none() && !meant.contains(&key.name);
        for key in keys.iter().filter(missing) {
            // Point at the first key, where the block can be seen, not at all of it.
            let span = entries.first().map_or(node.span.clone(), |first| first.key_span.clone());
            let hint = format!("add `{}: {}`", key.name, if key.example.is_empty() { "..." } else { key.example });
            self.problem(span, format!("{name} lacks the key `{}`: {}", key.name, key.meaning), Some(hint));
        }
    }

    /// Checks one value.
    pub(super) fn value(&mut self, node: &Node, what: &str, takes: &Takes) {
        let fits = match (takes, &node.content) {
            (Takes::Text | Takes::Template, Content::Text { text, .. }) => {
                if text.trim().is_empty() {
                    self.problem(node.span.clone(), format!("{what} is empty"), None);
                }
                true
            }
            (Takes::Whole(least), Content::Number(number)) => number.as_u64().is_some_and(|value| value >= *least),
            (Takes::Number(least, most), Content::Number(number)) => {
                number.as_f64().is_some_and(|value| (*least..=*most).contains(&value))
            }
            (Takes::Amount, Content::Number(number)) => number.as_f64().is_some_and(|value| value >= 0.0),
            (Takes::OneOf(allowed), Content::Number(number)) => {
                number.as_u64().is_some_and(|value| allowed.contains(&value))
            }
            (Takes::Bool, Content::Bool(_))
            | (Takes::TextOrList, Content::Text { .. })
            | (Takes::Any | Takes::Matcher | Takes::Schema, _) => true,
            (Takes::Word(words), Content::Text { text, .. }) if words.contains(&text.as_str()) => true,
            (Takes::List(least, inner), Content::List(items)) => {
                if items.len() < *least {
                    self.problem(
                        node.span.clone(),
                        format!("{what} is an empty list"),
                        Some("give at least one, or leave the key out".to_owned()),
                    );
                }
                for item in items {
                    match inner {
                        Takes::Block(block) => {
                            self.block(item, &article(block.name), &block.keys.iter().collect::<Vec<_>>());
                        }
                        _ => self.value(item, &format!("an item of {what}"), inner),
                    }
                }
                true
            }
            (Takes::Map(inner), Content::Map(entries)) => {
                for entry in entries {
                    match inner {
                        Takes::Block(block) => {
                            let name = format!("{} `{}`", block.name, entry.key);
                            self.block(&entry.value, &name, &block.keys.iter().collect::<Vec<_>>());
                        }
                        _ => self.value(&entry.value, &format!("`{}`", entry.key), inner),
                    }
                }
                true
            }
            (Takes::Block(block), _) => {
                self.block(node, what, &block.keys.iter().collect::<Vec<_>>());
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
                    self.value(item, &format!("an item of {what}"), &Takes::Text);
                }
                true
            }
            (Takes::CallArgs, Content::Text { text, .. }) => matches!(text.as_str(), "any" | "ignore"),
            (Takes::CallArgs, Content::Map(entries)) => {
                matches!(entries.as_slice(), [only] if matches!(only.key.as_str(), "exact" | "subset" | "schema"))
            }
            _ => false,
        };
        if !fits {
            let message = format!("{what} takes {}, found {}", takes.describe(), node.describe());
            self.problem(node.span.clone(), message, wrong(node, takes));
        }
    }
}

fn article(name: &str) -> String {
    let vowel = name.starts_with(['a', 'e', 'i', 'o', 'u']);
    format!("{} {name}", if vowel { "an" } else { "a" })
}

fn is_gate(key: &str) -> bool {
    GATES.iter().any(|gate| gate.kind.name() == key)
}

/// What an unknown key may have been meant as.
fn unknown(key: &str, name: &str, keys: &[&'static Key]) -> String {
    if let Some(near) = did_you_mean(key, keys.iter().map(|key| key.name)) {
        return format!("did you mean `{near}`?");
    }
    if name == "an assertion" && is_gate(key) {
        return format!("`{key}:` is a gate: it stands beside `expect:`, not under it");
    }
    let mut all: Vec<_> = keys.iter().map(|key| key.name).collect();
    all.sort_unstable();
    format!("one of: {}", all.join(", "))
}

/// `runs:3` where `runs: 3` was meant.
fn missing_space(text: &str) -> Option<String> {
    let (key, rest) = text.split_once(':')?;
    let word = !key.is_empty() && key.chars().all(|c| c.is_alphanumeric() || c == '_' || c == '-');
    (word && !rest.is_empty() && !rest.starts_with([' ', '/']))
        .then(|| format!("put a space after the colon: `{key}: {rest}`"))
}

/// What to do about a value of the wrong type.
fn wrong(node: &Node, takes: &Takes) -> Option<String> {
    match (takes, &node.content) {
        (Takes::Whole(_) | Takes::Number(..) | Takes::Amount | Takes::OneOf(_), Content::Text { text, plain }) => {
            if text.contains("${") {
                Some("`${..}` gives text, and a number is due: write the number".to_owned())
            } else if !plain && text.trim().parse::<f64>().is_ok() {
                Some(format!("remove the quotes: `{}`", text.trim()))
            } else {
                None
            }
        }
        (Takes::Bool, Content::Text { text, .. }) => match text.to_lowercase().as_str() {
            "yes" | "on" | "y" | "true" => Some("write `true`".to_owned()),
            "no" | "off" | "n" | "false" => Some("write `false`".to_owned()),
            _ => None,
        },
        (Takes::Text | Takes::Template, Content::Number(_) | Content::Bool(_)) => {
            Some(format!("put it in quotes: `\"{}\"`", crate::json::canonical(&node.to_json())))
        }
        (Takes::Text | Takes::Template, Content::List(items)) if items.len() == 1 => Some("remove the `- `".to_owned()),
        (Takes::Word(words), Content::Text { text, .. }) => {
            did_you_mean(text, words.iter().copied()).map(|near| format!("did you mean `{near}`?"))
        }
        (Takes::List(..), Content::Map(entries)) => {
            let gate = entries.iter().find(|entry| is_gate(&entry.key));
            match gate {
                Some(gate) => Some(format!("`{}:` is a gate: it stands beside this key, not under it", gate.key)),
                None => Some("put `- ` in front of each item".to_owned()),
            }
        }
        (Takes::List(..), Content::Text { text, .. }) => {
            Some(missing_space(text).unwrap_or_else(|| format!("write a list: `[{text}]`")))
        }
        (Takes::Map(_), Content::List(_)) => Some("remove the `- `: these are names and values, not a list".to_owned()),
        (Takes::Map(_), Content::Text { text, .. }) => missing_space(text),
        (Takes::CallArgs, Content::Map(_)) => Some("write `exact: {..}`, `subset: {..}` or `schema: {..}`".to_owned()),
        (_, Content::Null) => Some("give a value, or leave the key out".to_owned()),
        _ => None,
    }
}
