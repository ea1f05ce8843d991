//! What to do about a key or a value that does not fit its table.

use super::blocks::AGENT;
use super::check::whole;
use super::slips::is_word;
use super::yaml::{Content, Entry, Node};
use crate::diag::did_you_mean;
use crate::eval::GATES;
use crate::json;
use crate::keys::{ARGS_RULES, Block, Key, Takes};
use crate::matcher;

/// What an unknown key stands for.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Meant {
    /// Nothing that is known.
    Nothing,
    /// Another key of the block.
    Key(&'static str),
    /// The whole block is something else.
    All,
}

fn is_gate(key: &str) -> bool {
    GATES.iter().any(|gate| gate.kind.name() == key)
}

/// What an unknown key may have been meant as.
pub(super) fn unknown(entry: &Entry, name: &str, keys: &[&'static Key], missing: &[&Key]) -> (String, Meant) {
    let key = entry.key.as_str();
    let near = did_you_mean(key, keys.iter().map(|key| key.name));
    if let Some(near) = keys.iter().find(|key| Some(key.name) == near) {
        return (format!("did you mean `{}`?", near.name), Meant::Key(near.name));
    }
    if name == "an assertion" && is_gate(key) {
        return (format!("`{key}:` is a gate: it stands beside `expect:`, not under it"), Meant::All);
    }
    if name == "an assertion" && matcher::NAMES.contains(&key) {
        return (format!("write `matcher: {{ {key}: .. }}`"), Meant::Key("matcher"));
    }
    if name == "a suite" && AGENT.keys.iter().any(|known| known.name == key) {
        return (format!("`{key}:` belongs to a test, under `agents:`"), Meant::Nothing);
    }
    let known: Vec<_> = keys.iter().map(|key| key.name).collect();
    // With one key missing and one unknown, the one is the other.
    if let [only] = missing
        && let Some(only) = keys.iter().find(|key| key.name == only.name)
        && matches!(only.takes, Takes::Text)
        && entry.value.text().is_some()
    {
        return (format!("did you mean `{}`?", only.name), Meant::Key(only.name));
    }
    (format!("one of: {}", known.join(", ")), Meant::Nothing)
}

/// How to add a key that is missing.
pub(super) fn lacking(key: &Key) -> String {
    let example = match (key.example, key.takes) {
        ("", Takes::Word(words)) => {
            return format!("add `{}: {}`, or another of {}", key.name, words[0], words.join(", "));
        }
        ("", Takes::List(..)) => return format!("add `{}:` and its list below", key.name),
        ("", _) => "..".to_owned(),
        (example, takes) if !is_text(&takes) && example.contains(": ") && !example.starts_with('{') => {
            format!("{{ {example} }}")
        }
        (example, _) => example.to_owned(),
    };
    format!("add `{}: {example}`", key.name)
}

fn is_text(takes: &Takes) -> bool {
    matches!(takes, Takes::Text | Takes::AnyText | Takes::Template)
}

/// What to do where keys are due and something else stands.
pub(super) fn not_a_map(node: &Node, keys: &[&'static Key]) -> String {
    let required: Vec<&Key> = keys.iter().filter(|key| key.required).copied().collect();
    match &node.content {
        Content::List(items) => {
            // A list that belongs one level deeper: `trajectory: [calls]`.
            let first = items.first().map_or(&[][..], Node::entries);
            let holds = |key: &&&'static Key| match key.takes {
                Takes::List(_, Takes::Block(block)) if !first.is_empty() => {
                    first.iter().all(|entry| has(block, &entry.key))
                }
                // Names alone: of the calls.
                Takes::List(_, Takes::Block(block)) => {
                    is_gate_block(keys) && has(block, "name") && items.iter().all(|item| item.text().is_some())
                }
                Takes::List(_, Takes::Text) => is_gate_block(keys) && items.iter().all(|item| item.text().is_some()),
                _ => false,
            };
            match keys.iter().find(holds) {
                Some(Key { name, takes: Takes::List(_, Takes::Block(_)), .. }) if first.is_empty() => {
                    format!("put the list under `{name}:`, each item as `- name: ..`")
                }
                Some(key) => format!("put the list under `{}:`", key.name),
                None => "remove the `- `: these are keys, not a list".to_owned(),
            }
        }
        Content::Text { text, plain } => {
            let slip = if *plain { missing_space(text) } else { None };
            slip.unwrap_or_else(|| match (required.as_slice(), keys) {
                ([only], _) if is_text(&only.takes) => format!("write `{}: {text}`", only.name),
                ([], [first, second, ..]) if is_text(&first.takes) => {
                    format!("write `{{ {}: {text} }}` or `{{ {}: .. }}`", first.name, second.name)
                }
                ([], [first, ..]) if matches!(first.takes, Takes::List(_, Takes::Template)) => {
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
        format!("a map with any of {}; or nothing after the colon", names(keys))
    } else if required.is_empty() {
        format!("a map with any of {}", names(keys))
    } else {
        format!("a map with {}", names(required))
    }
}

/// Whether these are the keys of a gate: `expect` closes them.
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
    (is_word(key) && !rest.is_empty() && !rest.starts_with([' ', '/']))
        .then(|| format!("put a space after the colon: `{key}: {rest}`"))
}

/// What to do about a key with nothing behind it.
pub(super) fn nothing(required: bool) -> String {
    if required { "give a value" } else { "give a value, or leave the key out" }.to_owned()
}

/// What to do about a value of the wrong type.
pub(super) fn wrong(node: &Node, what: &str, takes: &Takes, required: bool) -> Option<String> {
    let write = |value: &dyn std::fmt::Display| Some(format!("write `{value}`"));
    match (takes, &node.content) {
        (_, Content::Null) => Some(nothing(required)),
        (Takes::Whole(_) | Takes::Number(..) | Takes::Amount | Takes::OneOf(_), Content::Text { text, plain }) => {
            let is_number = text.trim().parse::<f64>().is_ok();
            if text.contains("${") || (*plain && is_number) {
                // A number without quotes is one, unless a variable put it there.
                Some("`${..}` gives text, and a number is due: write the number".to_owned())
            } else if is_number {
                Some(format!("remove the quotes: `{}`", text.trim()))
            } else {
                number_in(text, what, takes).and_then(|number| write(&number))
            }
        }
        (Takes::OneOf(allowed), Content::Number(number)) => {
            let percent = number.as_f64().and_then(|value| serde_json::Number::from_f64(value * 100.0));
            percent
                .and_then(|percent| whole(&percent))
                .filter(|percent| allowed.contains(percent))
                .and_then(|p| write(&p))
        }
        (Takes::Bool, Content::Text { text, .. }) => match text.to_lowercase().as_str() {
            "yes" | "on" | "y" | "true" => write(&true),
            "no" | "off" | "n" | "false" => write(&false),
            _ => None,
        },
        (Takes::Bool, Content::Number(number)) => match number.as_u64() {
            Some(0) => write(&false),
            Some(1) => write(&true),
            _ => None,
        },
        (
            Takes::Text | Takes::AnyText | Takes::Template | Takes::TextOrList | Takes::TextOr(_),
            Content::Number(_) | Content::Bool(_),
        ) => Some(format!("put it in quotes: `\"{}\"`", json::canonical(&node.to_json()))),
        (Takes::Text, Content::List(_)) if what == "`model`" => Some("several models go under `models:`".to_owned()),
        (Takes::Text | Takes::AnyText | Takes::Template, Content::List(items)) => match items.as_slice() {
            [only] => only.text().and_then(|text| write(&text)),
            _ if matches!(what, "`prompt`" | "`system`") => {
                Some("for text of several lines write `|` after the colon".to_owned())
            }
            _ => Some("give one".to_owned()),
        },
        (Takes::Text | Takes::AnyText | Takes::Template, Content::Map(entries)) => match entries.as_slice() {
            [only] => only.value.text().and_then(|text| write(&text)),
            _ => Some("text that holds `: ` goes in quotes".to_owned()),
        },
        (Takes::Word(_), Content::Text { text, .. }) if text.contains("${") => {
            Some("`${..}` is answered only when a run goes live: write the word".to_owned())
        }
        (Takes::Word(words), Content::Text { text, .. }) => {
            did_you_mean(text, words.iter().copied()).map(|near| format!("did you mean `{near}`?"))
        }
        (Takes::List(_, inner), Content::Map(entries)) => Some(not_a_list(entries, inner)),
        (Takes::List(_, Takes::Block(block)), Content::Text { text, .. }) => missing_space(text).or_else(|| {
            let first = block.keys.iter().find(|key| key.required)?;
            Some(format!("write a list: `- {}: ..`, and the other keys below", first.name))
        }),
        (Takes::List(..), Content::Text { text, .. }) => {
            let list = if what == "`command`" { command(text) } else { format!("[{text}]") };
            Some(missing_space(text).unwrap_or_else(|| format!("write a list: `{list}`")))
        }
        (Takes::Map(Takes::Matcher), Content::List(_) | Content::Text { .. }) => {
            Some("write a path and its matcher: `{ city: { regex: .. } }`".to_owned())
        }
        (Takes::Map(_), Content::List(items)) => {
            let first = items.first();
            let named = first.and_then(|item| item.get("name")?.text());
            let pair = first.and_then(|item| item.text()?.split_once('='));
            Some(match (named, pair) {
                (Some(name), _) => format!("write `{name}:` and its keys below, instead of `- name: {name}`"),
                (_, Some((name, value))) => format!("write `{{ {name}: {value:?} }}`"),
                _ => "remove the `- `: these are names and values, not a list".to_owned(),
            })
        }
        (Takes::Map(_), Content::Text { text, .. }) => missing_space(text).or_else(|| {
            let (name, value) = text.split_once(": ")?;
            Some(format!("write `{{ {name}: {value:?} }}`"))
        }),
        (Takes::CallArgs, Content::Map(entries)) => Some(args_rule(node, entries)),
        (Takes::CallArgs, Content::Text { text, .. }) => Some(did_you_mean(text, ["any", "ignore"]).map_or_else(
            || "write `any`, or `exact: {}` for a call without arguments".to_owned(),
            |near| format!("did you mean `{near}`?"),
        )),
        _ => None,
    }
}

/// What to write for arguments that are a map without a rule in front.
fn args_rule(node: &Node, entries: &[Entry]) -> String {
    let is_matcher = |key: &str| matcher::NAMES.contains(&key);
    let holds_matcher = |entry: &Entry| matches!(entry.value.entries(), [only] if is_matcher(&only.key));
    let whole = || json::excerpt(&node.to_json(), 60);
    match entries {
        [only] if only.key == "contains" && !only.value.entries().is_empty() => {
            format!("write `subset: {}`", json::excerpt(&only.value.to_json(), 60))
        }
        [only] if is_matcher(&only.key) => {
            format!("name the argument that it judges: `match: {{ NAME: {} }}`", whole())
        }
        _ => match entries.iter().find(|entry| ARGS_RULES.contains(&entry.key.as_str())) {
            Some(rule) if entries.len() > 1 => format!("keep one, such as `{}`", rule.key),
            _ if entries.iter().any(holds_matcher) => format!("write `match: {}`", whole()),
            _ => format!("write `subset: {}`, or `exact:`", whole()),
        },
    }
}

/// A map where a list is due.
fn not_a_list(entries: &[Entry], inner: &Takes) -> String {
    if let Some(gate) = entries.iter().find(|entry| is_gate(&entry.key)) {
        return format!("`{}:` is a gate: it stands beside this key, not under it", gate.key);
    }
    match (inner, entries.first()) {
        (Takes::Block(block), Some(first)) if has(block, &first.key) => {
            format!("put `- ` in front of `{}:`, and indent the keys below like it", first.key)
        }
        (Takes::Block(block), Some(first)) if has(block, "name") => {
            format!("write `- name: {}` and its keys below", first.key)
        }
        _ => "put `- ` in front of each item".to_owned(),
    }
}

/// The number in `4_096`, `95%`, `$3`, and for a time in `30s`; `20%` of one is 0.2.
fn number_in(text: &str, what: &str, takes: &Takes) -> Option<String> {
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
    match takes {
        Takes::Number(_, most) if text.ends_with('%') && *most <= 1.0 => Some((value / 100.0).to_string()),
        _ => Some(bare),
    }
}
