//! Keys under which other programs keep the calls of a message. A format that does not have such a key would pass over it,
//! and with it over calls; so the key is named here, and refused when there is something in it. Around a conversation keys
//! have any name, so there what counts is what calls look like.

use std::fmt::Display;

use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;

use super::ImportError;
use super::look::Look;
use super::wire::Text;

/// Whether something that could be calls stands at a key: a list or an object with anything in it, or the JSON of one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Stray(bool);

impl<'de> Deserialize<'de> for Stray {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = <&RawValue>::deserialize(deserializer)?.get();
        Ok(Self(match text.as_bytes() {
            [b'[' | b'{', rest @ ..] => !matches!(rest.trim_ascii_start(), [b']' | b'}', ..]),
            [b'"', ..] => {
                serde_json::from_str::<Text<'_>>(text).is_ok_and(|text| text.trim_start().starts_with(['[', '{']))
            }
            _ => false,
        }))
    }
}

/// Keys of messages that hold their calls.
const CALLS: [&str; 7] =
    ["tool_calls", "function_call", "toolCalls", "functionCall", "toolInvocations", "function_calls", "tool_uses"];

/// Types of parts, items and events that are calls, and keys of which such a one has some.
const TYPES: [&str; 6] = ["tool_use", "tool_call", "tool-call", "toolCall", "function_call", "mcp_call"];
const FIELDS: [&str; 9] = ["id", "name", "tool", "tool_name", "toolName", "function", "arguments", "args", "input"];

/// What every one of those words has in it, which spares a value without any the search.
const HINTS: [&str; 8] =
    ["tool_call", "tool_use", "tool-call", "toolCall", "toolInvocations", "function_call", "functionCall", "mcp_call"];

/// How far below a key calls are looked for: `{"result": {"data": {"messages": [{"content": [{"type": ..` and some more.
const DEPTH: usize = 10;

/// Whether a JSON text could tell of a call at all.
pub(super) fn is_hinted(text: &str) -> bool {
    HINTS.iter().any(|hint| text.contains(hint))
}

impl Stray {
    /// Whether calls stand anywhere in a value. Names of keys beside a conversation are anybody's, so that this one is told
    /// by its shape: a message with calls, or a part, an item or an event that is one.
    pub(super) fn below(key: &str, text: &str) -> Self {
        Self(is_calls(key, text, false) || (is_hinted(text) && holds_calls(text, DEPTH)))
    }
}

fn holds_calls(text: &str, depth: usize) -> bool {
    let Some(below) = depth.checked_sub(1) else { return false };
    match Look::at(text) {
        Some(Look::List(items)) => items.iter().any(|item| holds_calls(item.get(), below)),
        Some(look @ Look::Object(_)) => {
            let is_message = look.has(&["role"]);
            let is_call = look.text("type").is_some_and(|word| TYPES.contains(&&*word))
                && FIELDS.iter().any(|key| look.has(&[key]));
            let Look::Object(map) = look else { return false };
            is_call
                || map
                    .iter()
                    .any(|(key, value)| is_calls(key, value.get(), is_message) || holds_calls(value.get(), below))
        }
        // A value may stand as its JSON.
        Some(Look::Other) if text.starts_with('"') => serde_json::from_str::<Text<'_>>(text)
            .is_ok_and(|inner| inner.0.trim_start().starts_with(['[', '{']) && holds_calls(&inner.0, below)),
        _ => false,
    }
}

/// Whether the value of a key is calls. Beside a conversation `function_call` may also be a setting of a request, which names
/// a function and gives it nothing.
fn is_calls(key: &str, text: &str, is_in_message: bool) -> bool {
    let is_filled = CALLS.contains(&key) && serde_json::from_str::<Stray>(text).is_ok_and(|stray| stray.0);
    let is_setting =
        || key == "function_call" && !is_in_message && Look::at(text).is_none_or(|look| !look.has(&["arguments"]));
    is_filled && !is_setting()
}

/// Refuses the first of these keys of the value at `place` that holds something.
pub(super) fn refuse(place: &dyn Display, keys: &[(&str, Stray)]) -> Result<(), ImportError> {
    match keys.iter().find(|(_, stray)| stray.0) {
        None => Ok(()),
        Some((key, _)) => {
            Err(ImportError::new(format!("{place}.{key} is no key of this format, and could hold calls"))
                .hint("a trace without those calls could be judged wrongly; write them as this format has them"))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_are_told_by_their_shape() {
        for (key, text, expected) in [
            ("trajectory", r#"[{"role": "assistant", "tool_calls": [{"id": "a"}]}]"#, true),
            ("trace", r#"[{"step": 1, "toolCalls": [{"id": "a"}]}]"#, true),
            ("result", r#"{"data": {"messages": [{"role": "assistant", "function_call": {"name": "f"}}]}}"#, true),
            ("turns", r#"[{"content": [{"type": "tool_use", "name": "f"}]}]"#, true),
            ("events", r#"[{"type": "tool_call", "tool": "f"}]"#, true),
            ("log", r#""[{\"tool_calls\": [{\"id\": \"a\"}]}]""#, true),
            ("function_call", r#"{"name": "f", "arguments": "{}"}"#, true),
            ("function_calls", r#"[{"name": "f"}]"#, true),
            ("function_calls", "[]", false),
            ("function_call", r#"{"name": "f"}"#, false),
            ("function_call", "\"auto\"", false),
            ("params", r#"{"function_call": {"name": "f"}, "tool_choice": {"type": "tool", "name": "f"}}"#, false),
            ("trajectory", r#"[{"role": "assistant", "tool_calls": []}, {"tool_calls": null}]"#, false),
            ("usage", r#"{"tool_calls": 3}"#, false),
            ("stop", r#"{"type": "tool_use"}"#, false),
            ("note", "\"it wanted tool_calls: [1]\"", false),
            ("task", r#"{"actions": [{"name": "f", "arguments": {}}]}"#, false),
        ] {
            assert_eq!(Stray::below(key, text), Stray(expected), "{key}: {text}");
        }
        let nested = |depth: usize| format!("{}{}{}", "[".repeat(depth), r#"{"tool_calls": [1]}"#, "]".repeat(depth));
        assert_eq!(Stray::below("a", &nested(DEPTH - 1)), Stray(true));
        assert_eq!(Stray::below("a", &nested(DEPTH)), Stray(false));
    }

    #[test]
    fn only_what_could_be_calls_is_something() {
        for (text, expected) in [
            ("null", false),
            ("true", false),
            ("3", false),
            ("-3", false),
            ("1.5", false),
            ("\"\"", false),
            ("\"three\"", false),
            ("[]", false),
            ("{}", false),
            ("\"[{}]\"", true),
            ("[[]]", true),
            ("[1, {\"a\": [2]}]", true),
            ("{\"a\": null}", true),
        ] {
            assert_eq!(serde_json::from_str::<Stray>(text).unwrap(), Stray(expected), "{text}");
        }
    }
}
