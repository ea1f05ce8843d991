//! Hints for keys and values that do not fit their table.

use super::blocks::AGENT;
use super::check::whole;
use super::syntax_hints::is_key;
use super::yaml::{Content, Entry, Node};
use crate::diag::did_you_mean;
use crate::eval::GATES;
use crate::json;
use crate::keys::{ARGS_RULES, Block, Key, ValueType};
use crate::matcher;

/// What an unknown key was probably meant to be.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Intended {
    Unknown,
    /// Another key of the block.
    Key(&'static str),
    /// The whole block has another meaning.
    OtherBlock,
}

fn is_gate(key: &str) -> bool {
    GATES.iter().any(|gate| gate.kind.name() == key)
}

pub(super) fn unknown_key(entry: &Entry, name: &str, keys: &[&'static Key], missing: &[&Key]) -> (String, Intended) {
    let key = entry.key.as_str();
    let near = did_you_mean(key, keys.iter().map(|key| key.name));
    if let Some(near) = keys.iter().find(|key| Some(key.name) == near) {
        return (format!("did you mean `{}`?", near.name), Intended::Key(near.name));
    }
    if name == "an assertion" && is_gate(key) {
        return (format!("`{key}:` is a gate: put it next to `expect:`, not under it"), Intended::OtherBlock);
    }
    if name == "an assertion" && matcher::NAMES.contains(&key) {
        return (format!("write `matcher: {{ {key}: .. }}`"), Intended::Key("matcher"));
    }
    if name == "a suite" && AGENT.keys.iter().any(|known| known.name == key) {
        return (format!("`{key}:` belongs to a test, under `agents:`"), Intended::Unknown);
    }
    let known: Vec<_> = keys.iter().map(|key| key.name).collect();
    // With one key missing and one unknown, they are probably the same.
    if let [only] = missing
        && let Some(only) = keys.iter().find(|key| key.name == only.name)
        && matches!(only.value_type, ValueType::Text)
        && entry.value.text().is_some()
    {
        return (format!("did you mean `{}`?", only.name), Intended::Key(only.name));
    }
    (format!("expected one of: {}", known.join(", ")), Intended::Unknown)
}

pub(super) fn missing_key(key: &Key) -> String {
    let example = match (key.example, key.value_type) {
        ("", ValueType::Word(words)) => {
            return format!("add `{}:` with one of {}", key.name, words.join(", "));
        }
        ("", ValueType::List(..)) => return format!("add `{}:` and its list below", key.name),
        ("", _) => "..".to_owned(),
        (example, value_type) if !is_text(&value_type) && example.contains(": ") && !example.starts_with('{') => {
            format!("{{ {example} }}")
        }
        (example, _) => example.to_owned(),
    };
    format!("add `{}: {example}`", key.name)
}

fn is_text(value_type: &ValueType) -> bool {
    matches!(value_type, ValueType::Text | ValueType::AnyText | ValueType::Template)
}

pub(super) fn not_a_map(node: &Node, keys: &[&'static Key]) -> String {
    let required: Vec<&Key> = keys.iter().filter(|key| key.required).copied().collect();
    match &node.content {
        Content::List(items) => {
            // The list belongs one level deeper: `trajectory: [calls]`.
            let first = items.first().map_or(&[][..], Node::entries);
            let holds = |key: &&&'static Key| match key.value_type {
                ValueType::List(_, ValueType::Object(block)) if !first.is_empty() => {
                    first.iter().all(|entry| has(block, &entry.key))
                }
                // A list of names: the calls.
                ValueType::List(_, ValueType::Object(block)) => {
                    is_gate_block(keys) && has(block, "name") && items.iter().all(|item| item.text().is_some())
                }
                ValueType::List(_, ValueType::Text) => {
                    is_gate_block(keys) && items.iter().all(|item| item.text().is_some())
                }
                _ => false,
            };
            match keys.iter().find(holds) {
                Some(Key { name, value_type: ValueType::List(_, ValueType::Object(_)), .. }) if first.is_empty() => {
                    format!("put the list under `{name}:`, each item as `- name: ..`")
                }
                Some(key) => format!("put the list under `{}:`", key.name),
                None => "remove the `- `: these are keys, not a list".to_owned(),
            }
        }
        Content::Text { text, plain } => {
            let no_space = if *plain { missing_space(text) } else { None };
            no_space.unwrap_or_else(|| match (required.as_slice(), keys) {
                ([only], _) if is_text(&only.value_type) => format!("write `{}: {text}`", only.name),
                ([], [first, second, ..]) if is_text(&first.value_type) => {
                    format!("write `{{ {}: {text} }}` or `{{ {}: .. }}`", first.name, second.name)
                }
                ([], [first, ..]) if matches!(first.value_type, ValueType::List(_, ValueType::Template)) => {
                    format!("write `{}: {}`", first.name, command(text))
                }
                _ => known(keys, &required),
            })
        }
        _ => known(keys, &required),
    }
}

fn known(keys: &[&'static Key], required: &[&Key]) -> String {
    let names = |keys: &[&Key]| keys.iter().map(|key| format!("`{}: ..`", key.name)).collect::<Vec<_>>().join(", ");
    if is_gate_block(keys) && required.is_empty() {
        format!("write a map with any of {}, or leave the value empty", names(keys))
    } else if required.is_empty() {
        format!("write a map with any of {}", names(keys))
    } else {
        format!("write a map with {}", names(required))
    }
}

/// Whether these are the keys of a gate: the last one is `expect`.
fn is_gate_block(keys: &[&'static Key]) -> bool {
    keys.last().is_some_and(|last| last.name == "expect")
}

fn has(block: &Block, key: &str) -> bool {
    block.keys.iter().any(|known| known.name == key)
}

/// A command line as a list.
fn command(text: &str) -> String {
    let quoted = |word: &str| {
        let plain = word.chars().all(|c| c.is_alphanumeric() || matches!(c, '-' | '_' | '.' | '/' | '@'));
        if plain && !word.starts_with('@') && word.parse::<f64>().is_err() {
            word.to_owned()
        } else {
            format!("{word:?}")
        }
    };
    format!("[{}]", text.split_whitespace().map(quoted).collect::<Vec<_>>().join(", "))
}

/// `runs:3` where `runs: 3` was meant.
fn missing_space(text: &str) -> Option<String> {
    let (key, rest) = text.split_once(':')?;
    (is_key(key) && !rest.is_empty() && !rest.starts_with([' ', '/']))
        .then(|| format!("put a space after the colon: `{key}: {rest}`"))
}

pub(super) fn no_value(required: bool) -> String {
    if required { "add a value" } else { "add a value, or remove the key" }.to_owned()
}

pub(super) fn wrong_type(node: &Node, what: &str, value_type: &ValueType, required: bool) -> Option<String> {
    let write = |value: &dyn std::fmt::Display| Some(format!("write `{value}`"));
    match (value_type, &node.content) {
        (_, Content::Null) => Some(no_value(required)),
        (
            ValueType::Integer(_)
            | ValueType::IntegerOr(..)
            | ValueType::Number(..)
            | ValueType::NonNegative
            | ValueType::OneOf(_),
            Content::Text { text, plain },
        ) => {
            let is_number = text.trim().parse::<f64>().is_ok();
            if text.contains("${") || (*plain && is_number) {
                // A number without quotes is a number, unless a variable put it there.
                Some("`${..}` always gives a string: write the number itself".to_owned())
            } else if is_number {
                Some(format!("remove the quotes: `{}`", text.trim()))
            } else {
                number_in(text, what, value_type).and_then(|number| write(&number))
            }
        }
        (ValueType::OneOf(allowed), Content::Number(number)) => {
            let percent = number.as_f64().and_then(|value| serde_json::Number::from_f64(value * 100.0));
            percent
                .and_then(|percent| whole(&percent))
                .filter(|percent| allowed.contains(percent))
                .and_then(|p| write(&p))
        }
        (ValueType::Number(_, most), Content::Number(number)) if *most <= 1.0 => {
            // A percentage where a share is meant.
            let share = number.as_f64().filter(|value| *value >= 2.0 && *value < 100.0).map(|value| value / 100.0);
            share.and_then(|share| write(&share))
        }
        (ValueType::Bool, Content::Text { text, .. }) => match text.to_lowercase().as_str() {
            "yes" | "on" | "y" | "true" => write(&true),
            "no" | "off" | "n" | "false" => write(&false),
            _ => None,
        },
        (ValueType::Bool, Content::Number(number)) => match number.as_u64() {
            Some(0) => write(&false),
            Some(1) => write(&true),
            _ => None,
        },
        (
            ValueType::Text | ValueType::AnyText | ValueType::Template | ValueType::TextOrList | ValueType::TextOr(_),
            Content::Number(_) | Content::Bool(_),
        ) => Some(format!("put it in quotes: `\"{}\"`", json::canonical(&node.to_json()))),
        (ValueType::Text, Content::List(_)) if what == "`model`" => {
            Some("several models go under `models:`".to_owned())
        }
        (ValueType::Text | ValueType::AnyText | ValueType::Template, Content::List(items)) => match items.as_slice() {
            [only] => only.text().and_then(|text| write(&text)),
            _ if matches!(what, "`prompt`" | "`system`") => {
                Some("for multi-line text write `|` after the colon".to_owned())
            }
            _ => Some("write a single value".to_owned()),
        },
        (ValueType::Text | ValueType::AnyText | ValueType::Template, Content::Map(entries)) => match entries.as_slice()
        {
            [only] => only.value.text().and_then(|text| write(&text)),
            _ => Some("put text that contains `: ` in quotes".to_owned()),
        },
        (ValueType::Word(_), Content::Text { text, .. }) if text.contains("${") => {
            Some("`${..}` is resolved only when a live run starts: write the value itself".to_owned())
        }
        (ValueType::Word(words), Content::Text { text, .. }) => {
            did_you_mean(text, words.iter().copied()).map(|near| format!("did you mean `{near}`?"))
        }
        (ValueType::List(_, inner), Content::Map(entries)) => Some(not_a_list(entries, inner)),
        (ValueType::List(_, ValueType::Object(block)), Content::Text { text, .. }) => {
            missing_space(text).or_else(|| {
                let first = block.keys.iter().find(|key| key.required)?;
                Some(format!("write a list: `- {}: ..`, with the other keys below", first.name))
            })
        }
        (ValueType::List(..), Content::Text { text, .. }) => {
            let list = if what == "`command`" { command(text) } else { format!("[{text}]") };
            Some(missing_space(text).unwrap_or_else(|| format!("write a list: `{list}`")))
        }
        (ValueType::Map(ValueType::Matcher), Content::List(_) | Content::Text { .. }) => {
            Some("write a path and its matcher: `{ city: { regex: .. } }`".to_owned())
        }
        (ValueType::Map(_), Content::List(items)) => Some(list_for_map(items)),
        (ValueType::Map(_), Content::Text { text, .. }) => missing_space(text).or_else(|| {
            let (name, value) = text.split_once(": ")?;
            Some(format!("write `{{ {name}: {value:?} }}`"))
        }),
        (ValueType::CallArgs, Content::Map(entries)) => Some(args_rule(node, entries)),
        (ValueType::CallArgs, Content::Text { text, .. }) => Some(did_you_mean(text, ["any", "ignore"]).map_or_else(
            || "write `any`, or `exact: {}` for a call without arguments".to_owned(),
            |near| format!("did you mean `{near}`?"),
        )),
        _ => None,
    }
}

/// For a list where names with their values belong.
fn list_for_map(items: &[Node]) -> String {
    let first = items.first();
    let named = first.and_then(|item| item.get("name")?.text());
    let pair = first.and_then(|item| item.text()?.split_once('='));
    match (named, pair) {
        (Some(name), _) => format!("write `{name}:` with its keys below, instead of `- name: {name}`"),
        (_, Some((name, value))) => format!("write `{{ {name}: {value:?} }}`"),
        _ => "remove the `- `: these are names and values, not a list".to_owned(),
    }
}

/// For arguments that are a map without a rule.
fn args_rule(node: &Node, entries: &[Entry]) -> String {
    let is_matcher = |key: &str| matcher::NAMES.contains(&key);
    let holds_matcher = |entry: &Entry| matches!(entry.value.entries(), [only] if is_matcher(&only.key));
    let whole = || json::excerpt(&node.to_json(), 60);
    match entries {
        [only] if only.key == "contains" && !only.value.entries().is_empty() => {
            format!("write `subset: {}`", json::excerpt(&only.value.to_json(), 60))
        }
        [only] if is_matcher(&only.key) => {
            format!("name the argument it applies to: `match: {{ NAME: {} }}`", whole())
        }
        _ => match entries.iter().find(|entry| ARGS_RULES.contains(&entry.key.as_str())) {
            Some(rule) if entries.len() > 1 => format!("keep one, such as `{}`", rule.key),
            _ if entries.iter().any(holds_matcher) => format!("write `match: {}`", whole()),
            _ => format!("write `subset: {}`, or `exact:`", whole()),
        },
    }
}

/// For a map in place of a list.
fn not_a_list(entries: &[Entry], inner: &ValueType) -> String {
    if let Some(gate) = entries.iter().find(|entry| is_gate(&entry.key)) {
        return format!("`{}:` is a gate: put it next to this key, not under it", gate.key);
    }
    match (inner, entries.first()) {
        (ValueType::Object(block), Some(first)) if has(block, &first.key) => {
            format!("put `- ` in front of `{}:`, and indent the following keys to match", first.key)
        }
        (ValueType::Object(block), Some(first)) if has(block, "name") => {
            format!("write `- name: {}` with its keys below", first.key)
        }
        _ => "put `- ` in front of each item".to_owned(),
    }
}

/// The number in `4_096`, `95%`, `$3`, and for times in `30s`. `20%` is 0.2 where at most 1 is allowed.
fn number_in(text: &str, what: &str, value_type: &ValueType) -> Option<String> {
    let text = text.trim();
    if what.ends_with("_ms`") {
        let (digits, unit) = text.split_at(text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len()));
        let factor = match unit.trim() {
            "ms" => 1,
            "s" | "sec" => 1000,
            "m" | "min" => 60_000,
            _ => return None,
        };
        return digits.parse::<u64>().ok()?.checked_mul(factor).map(|number| number.to_string());
    }
    let bare: String = text.trim_start_matches(['$', '€', '£']).trim_end_matches('%').replace(['_', ','], "");
    let value = bare.parse::<f64>().ok().filter(|value| bare.len() < text.len() && value.is_finite())?;
    match value_type {
        ValueType::Number(_, most) if text.ends_with('%') && *most <= 1.0 => Some((value / 100.0).to_string()),
        _ => Some(bare),
    }
}
