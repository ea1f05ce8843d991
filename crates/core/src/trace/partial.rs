//! An envelope with missing parts: which absent parts are unknown, and which are known not to be there.
//!
//! Most absent keys are unknown. A few are part of the format when they are absent: a call without a `caller` was made
//! by the model, one without an `id` got none from its provider, one without a `witness` was not recorded from two sides, a
//! result without a `fault` met none, and a good result has no `error`.

use serde_json::{Map, Value};

/// A part of the envelope: decides what an absent key means.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Part {
    Envelope,
    Calls,
    Call,
    Args,
    Results,
    Result,
    Conversation,
    Tokens,
    /// A complete value: a key that is not in it did not exist.
    Whole,
}

impl Part {
    /// The part at a key.
    pub(crate) fn at_key(self, key: &str) -> Self {
        match (self, key) {
            (Self::Envelope, "tool_calls") => Self::Calls,
            (Self::Envelope, "tool_results") => Self::Results,
            (Self::Envelope, "conversation") => Self::Conversation,
            (Self::Call, "args") => Self::Args,
            (Self::Conversation, "tokens") => Self::Tokens,
            _ => Self::Whole,
        }
    }

    /// The part that the items of a list are.
    pub(crate) fn item(self) -> Self {
        match self {
            Self::Calls => Self::Call,
            Self::Results => Self::Result,
            _ => Self::Whole,
        }
    }

    /// The keys whose absence means nothing.
    fn keys(self) -> &'static [&'static str] {
        match self {
            Self::Envelope => &[
                "answer_source",
                "conversation",
                "final_response",
                "program",
                "tool_calls",
                "tool_names",
                "tool_results",
            ],
            Self::Call => &["server", "args", "turn"],
            Self::Result => &["is_error", "content", "structured_content", "error", "duration_ms"],
            Self::Conversation => &["model", "turns", "tokens", "stop_reason", "duration_ms"],
            Self::Tokens => &["input", "output", "cached", "total"],
            Self::Calls | Self::Args | Self::Results | Self::Whole => &[],
        }
    }

    /// Why the value of an object of this part at a key is unknown; none if it is known, or known not to be there.
    pub(crate) fn gap(self, object: &Map<String, Value>, key: &str) -> Option<&'static str> {
        if !self.keys().contains(&key) {
            return None;
        }
        let has = |key: &str| object.get(key).is_some_and(|value| !value.is_null());
        let is_good = object.get("is_error") == Some(&Value::Bool(false));
        let is_gap = match (self, key) {
            (Self::Result, "is_error") if is_good && has("error") => return Some("is false next to an error"),
            // An answer that was recorded shows whether it had a structured part.
            (Self::Result, "structured_content") => !has(key) && !has("content"),
            (Self::Result, "error") => !has(key) && !is_good,
            // A call that an injected fault kept from its server took no time.
            (Self::Result, "duration_ms") => !has(key) && !has("fault"),
            _ => !has(key),
        };
        is_gap.then_some(NOT_RECORDED)
    }

    /// Why the content of a value of this part is unknown.
    pub(crate) fn opaque(self, value: &Value) -> Option<&'static str> {
        match (self, value) {
            (Self::Result, Value::Null) => Some(NOT_RECORDED),
            (Self::Args, Value::String(_)) => Some("could not be parsed"),
            _ => None,
        }
    }
}

const NOT_RECORDED: &str = "was not recorded";

/// A value that may have missing parts.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Partial<'a> {
    /// Recorded completely.
    Known(&'a Value),
    /// Not recorded.
    Unknown,
    /// Arguments that could not be parsed: a text with unknown content.
    Unparsed(&'a Value),
    /// A list.
    List {
        items: Vec<Partial<'a>>,
        /// Whether there may be more items, anywhere between these.
        is_open: bool,
    },
    /// An object.
    Object { known: Vec<(&'a str, Partial<'a>)>, unknown: Vec<&'static str> },
}

impl<'a> Partial<'a> {
    /// A value of a part of the envelope. `path` is where it is; everything unknown in it is added to `gaps`.
    pub(crate) fn of(value: &'a Value, part: Part, path: &dyn Fn() -> String, gaps: &mut Gaps) -> Self {
        if let Some(why) = part.opaque(value) {
            gaps.add(|| format!("`{}` {why}", path()));
            return if value.is_null() { Self::Unknown } else { Self::Unparsed(value) };
        }
        match (part, value) {
            (Part::Whole, _) => Self::Known(value),
            (_, Value::Array(list)) => {
                let item = |(at, item)| Self::of(item, part.item(), &|| format!("{}[{at}]", path()), gaps);
                let items: Vec<_> = list.iter().enumerate().map(item).collect();
                let is_known = items.iter().all(|item| matches!(item, Self::Known(_)));
                if is_known { Self::Known(value) } else { Self::List { items, is_open: false } }
            }
            (_, Value::Object(map)) => {
                let mut unknown = Vec::new();
                for key in part.keys() {
                    if let Some(why) = part.gap(map, key) {
                        gaps.add(|| format!("`{}.{key}` {why}", path()));
                        unknown.push(*key);
                    }
                }
                let recorded = map.iter().filter(|(key, _)| !unknown.contains(&key.as_str()));
                let below = |(key, value): (&'a String, _)| {
                    (key.as_str(), Self::of(value, part.at_key(key), &|| format!("{}.{key}", path()), gaps))
                };
                let known: Vec<_> = recorded.map(below).collect();
                let is_known = unknown.is_empty() && known.iter().all(|(_, value)| matches!(value, Self::Known(_)));
                if is_known { Self::Known(value) } else { Self::Object { known, unknown } }
            }
            _ => Self::Known(value),
        }
    }
}

/// The missing parts that were encountered: a description of the first, and the number of others.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Gaps {
    first: String,
    count: usize,
}

impl Gaps {
    pub(crate) fn is_empty(&self) -> bool {
        self.count == 0
    }

    pub(crate) fn add(&mut self, what: impl FnOnce() -> String) {
        if self.count == 0 {
            self.first = what();
        }
        self.count += 1;
    }
}

impl std::fmt::Display for Gaps {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.first)?;
        match self.count {
            0 | 1 => Ok(()),
            more => write!(f, " (and {} more)", more - 1),
        }
    }
}

/// Puts null where a recorded call has no result, so that the list of results is as long as the list of calls.
pub(crate) fn fill_results(envelope: &mut Map<String, Value>) {
    let Some(calls) = envelope.get("tool_calls").and_then(Value::as_array).map(Vec::len) else { return };
    match envelope.get_mut("tool_results") {
        Some(Value::Array(results)) if results.len() < calls => results.resize(calls, Value::Null),
        Some(Value::Null) | None => {
            envelope.insert("tool_results".to_owned(), Value::Array(vec![Value::Null; calls]));
        }
        Some(_) => {}
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::trace::FIELDS;

    /// Where each part is, as the table of a trace writes it.
    const PARTS: [(Part, &str); 8] = [
        (Part::Envelope, ""),
        (Part::Calls, "tool_calls"),
        (Part::Call, "tool_calls[*]"),
        (Part::Args, "tool_calls[*].args"),
        (Part::Results, "tool_results"),
        (Part::Result, "tool_results[*]"),
        (Part::Conversation, "conversation"),
        (Part::Tokens, "conversation.tokens"),
    ];

    #[test]
    fn an_absent_part_is_unknown_except_those_whose_absence_has_a_meaning() {
        let mut unknown = BTreeSet::new();
        for (part, path) in PARTS {
            let dot = if path.is_empty() { "" } else { "." };
            unknown.extend(part.keys().iter().map(|key| format!("{path}{dot}{key}")));
        }
        let known = [
            "program.exit",
            "program.failed",
            "program.faults",
            "program.incomplete",
            "program.notes",
            "program.output",
            "program.timeline",
            "program.timeline[*].duration_ms",
            "program.timeline[*].server",
            "tool_calls[*].asked_args",
            "tool_calls[*].caller",
            "tool_calls[*].id",
            "tool_calls[*].retry_of",
            "tool_calls[*].witness",
            "tool_results[*].error.code",
            "tool_results[*].fault",
            "tool_results[*].shown",
        ];
        let table = FIELDS.iter().filter(|field| !field.path.ends_with("[*]") && !field.absent.starts_with("never"));
        let due: BTreeSet<String> =
            table.map(|field| field.path.clone()).filter(|path| !known.contains(&path.as_str())).collect();
        assert_eq!(unknown, due);
    }

    #[test]
    fn parts_are_found_at_their_keys() {
        let found = [
            Part::Envelope.at_key("tool_calls"),
            Part::Envelope.at_key("tool_calls").item(),
            Part::Envelope.at_key("tool_calls").item().at_key("args"),
            Part::Envelope.at_key("tool_results"),
            Part::Envelope.at_key("tool_results").item(),
            Part::Envelope.at_key("conversation"),
            Part::Envelope.at_key("conversation").at_key("tokens"),
        ];
        assert_eq!(found, [1, 2, 3, 4, 5, 6, 7].map(|at| PARTS[at].0));
        assert_eq!(Part::Envelope.at_key("tool_names").item(), Part::Whole);
        assert_eq!(Part::Args.at_key("args"), Part::Whole);
    }
}
