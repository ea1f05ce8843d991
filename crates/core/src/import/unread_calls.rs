//! Calls under keys that a format does not read. Other programs keep the calls of a message under keys of their own; a format
//! without such a key would skip it and the calls in it, so a key that is not empty is refused. Next to a conversation any key
//! may hold calls, so there calls are recognized by their shape.

use std::fmt::Display;

use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;

use super::ImportError;
use super::shape::Shape;
use super::wire::Text;

/// Whether a key holds what could be calls: a list or an object that is not empty, or the JSON of one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct UnreadCalls(bool);

impl<'de> Deserialize<'de> for UnreadCalls {
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

/// Declares the JSON of a message together with keys that its format does not have, but other programs do.
macro_rules! with_unread_calls {
    (
        $(#[$meta:meta])*
        $vis:vis struct $name:ident<'a> { $($(#[$field_meta:meta])* $field_vis:vis $field:ident: $type:ty,)* }
        unread: [$($key:ident),*]
    ) => {
        $(#[$meta])*
        #[expect(non_snake_case, reason = "keys as JSON has them")]
        $vis struct $name<'a> {
            $($(#[$field_meta])* $field_vis $field: $type,)*
            $(#[serde(default)] $key: $crate::import::unread_calls::UnreadCalls,)*
        }

        impl $name<'_> {
            pub(super) fn refuse_unread_calls(&self, place: &dyn std::fmt::Display) -> Result<(), $crate::import::ImportError> {
                $crate::import::unread_calls::refuse(place, &[$((stringify!($key), self.$key)),*])
            }
        }
    };
}
pub(super) use with_unread_calls;

/// Keys of messages that hold their calls.
const CALLS: [&str; 7] =
    ["tool_calls", "function_call", "toolCalls", "functionCall", "toolInvocations", "function_calls", "tool_uses"];

/// Types of parts, items and events that are calls, and keys of which each has at least one.
const TYPES: [&str; 6] = ["tool_use", "tool_call", "tool-call", "toolCall", "function_call", "mcp_call"];
const FIELDS: [&str; 9] = ["id", "name", "tool", "tool_name", "toolName", "function", "arguments", "args", "input"];

/// Every one of those words contains one of these, so a value without any need not be searched.
const HINTS: [&str; 8] =
    ["tool_call", "tool_use", "tool-call", "toolCall", "toolInvocations", "function_call", "functionCall", "mcp_call"];

/// How deep calls are searched: `{"result": {"data": {"messages": [{"content": [{"type": ..` and some more.
const DEPTH: usize = 10;

impl UnreadCalls {
    /// Whether a JSON text could hold a call at all.
    pub(super) fn is_hinted(text: &str) -> bool {
        HINTS.iter().any(|hint| text.contains(hint))
    }

    /// Whether a value holds calls at any depth: a message with calls, or a part, an item or an event that is a call.
    pub(super) fn has_nested_calls(key: &str, text: &str) -> Self {
        Self(is_calls(key, text, false) || (Self::is_hinted(text) && holds_calls(text, DEPTH)))
    }
}

fn holds_calls(text: &str, depth: usize) -> bool {
    let Some(below) = depth.checked_sub(1) else { return false };
    match Shape::of(text) {
        Some(Shape::List(items)) => items.iter().any(|item| holds_calls(item.get(), below)),
        Some(shape @ Shape::Object(_)) => {
            let is_message = shape.has(&["role"]);
            let is_call = shape.text("type").is_some_and(|word| TYPES.contains(&&*word))
                && FIELDS.iter().any(|key| shape.has(&[key]));
            let Shape::Object(map) = shape else { return false };
            is_call
                || map
                    .iter()
                    .any(|(key, value)| is_calls(key, value.get(), is_message) || holds_calls(value.get(), below))
        }
        // A value may be JSON in a text.
        Some(Shape::Other) if text.starts_with('"') => serde_json::from_str::<Text<'_>>(text)
            .is_ok_and(|inner| inner.trim_start().starts_with(['[', '{']) && holds_calls(&inner, below)),
        _ => false,
    }
}

/// Whether the value of a key is calls. Next to a conversation `function_call` may also be a setting of a request, which names
/// a function without arguments.
fn is_calls(key: &str, text: &str, is_in_message: bool) -> bool {
    let is_filled = CALLS.contains(&key) && serde_json::from_str::<UnreadCalls>(text).is_ok_and(|unread| unread.0);
    let is_setting =
        || key == "function_call" && !is_in_message && Shape::of(text).is_none_or(|shape| !shape.has(&["arguments"]));
    is_filled && !is_setting()
}

/// Refuses the first of these keys that holds something.
pub(super) fn refuse(place: &dyn Display, keys: &[(&str, UnreadCalls)]) -> Result<(), ImportError> {
    match keys.iter().find(|(_, unread)| unread.0) {
        None => Ok(()),
        Some((key, _)) => {
            Err(ImportError::new(format!("{place}.{key} is not a key of this format, and could hold calls"))
                .hint("a trace without those calls could pass by mistake; write them as this format does"))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_are_recognized_by_their_shape() {
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
            assert_eq!(UnreadCalls::has_nested_calls(key, text), UnreadCalls(expected), "{key}: {text}");
        }
        let nested = |depth: usize| format!("{}{}{}", "[".repeat(depth), r#"{"tool_calls": [1]}"#, "]".repeat(depth));
        assert_eq!(UnreadCalls::has_nested_calls("a", &nested(DEPTH - 1)), UnreadCalls(true));
        assert_eq!(UnreadCalls::has_nested_calls("a", &nested(DEPTH)), UnreadCalls(false));
    }

    #[test]
    fn only_values_that_could_be_calls_are_refused() {
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
            assert_eq!(serde_json::from_str::<UnreadCalls>(text).unwrap(), UnreadCalls(expected), "{text}");
        }
    }
}
