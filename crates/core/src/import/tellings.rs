//! Several tellings of one conversation in one record, such as `messages` beside `output`: recorders keep what was sent, what
//! came back and all of it together under keys of their own. A telling that is the beginning or the end of another adds
//! nothing to it, and the longer one is read. Tellings that differ are refused, since what one of them lacks could be a call.

use std::collections::BTreeSet;

use serde_json::value::RawValue;
use serde_json::{Map, Value};

use super::look::Look;
use super::stray::{self, Stray};
use super::{ImportError, wire};
use crate::json;

/// What stands in a record beside the conversation that its format has.
pub(super) struct Also<'a> {
    pub(super) key: &'static str,
    pub(super) raw: Option<&'a RawValue>,
    /// Whether a text there is what the model said last.
    pub(super) is_reply: bool,
}

impl<'a> Also<'a> {
    /// A key under which a conversation may stand.
    pub(super) fn whole(key: &'static str, raw: Option<&'a RawValue>) -> Self {
        Self { key, raw, is_reply: false }
    }

    /// A key under which the last reply may stand, or a conversation.
    pub(super) fn reply(key: &'static str, raw: Option<&'a RawValue>) -> Self {
        Self { key, raw, is_reply: true }
    }
}

/// A list of messages and where it stands.
pub(super) type Place<'a> = (&'static str, &'a RawValue);

/// Holds what stands beside a conversation against it, and gives the list that holds the conversation and more. `None` is the
/// conversation itself, whose messages are told by their gist.
pub(super) fn longest<'a>(
    own: &'static str,
    mut gists: Vec<Gist>,
    beside: &[Also<'a>],
) -> Result<Option<Place<'a>>, ImportError> {
    let mut longest: Option<Place<'a>> = None;
    for Also { key, raw, .. } in beside {
        let Some(raw) = raw.filter(|raw| !is_text(raw)) else { continue };
        let Some(told) = Told::of(raw).map_err(|error| error.at(key))? else {
            stray::refuse(&"record", &[(*key, Stray::below(key, raw.get()))])?;
            continue;
        };
        if is_end_of(&told.gists, &gists) {
            continue;
        }
        let Some(list) = told.list.filter(|_| is_end_of(&gists, &told.gists)) else {
            return Err(differ(longest.map_or(own, |(key, _)| key), key));
        };
        (longest, gists) = (Some((*key, list)), told.gists);
    }
    // What the model said last is known only once the longest telling is.
    let closing = gists.last().and_then(|gist| gist.closing.as_deref());
    for Also { key, raw, .. } in beside.iter().filter(|also| also.is_reply) {
        let Some(raw) = raw.filter(|raw| is_text(raw)) else { continue };
        let text = wire::typed::<String>(raw.get())?;
        let is_told = text.trim().is_empty() || closing.is_some_and(|said| said.trim() == text.trim());
        if !is_told {
            return Err(differ(longest.map_or(own, |(key, _)| key), key));
        }
    }
    Ok(longest)
}

/// Refuses a record in which messages of the model or of tools under one key are not among those under another.
pub(super) fn check_among(
    (key, part): Place<'_>,
    (whole_key, whole): Place<'_>,
    is_of_the_model: impl Fn(&Look<'_>) -> bool,
) -> Result<(), ImportError> {
    let Some(Look::List(items)) = Look::at(part.get()) else { return Ok(()) };
    let words: Vec<&RawValue> =
        items.into_iter().filter(|item| Look::at(item.get()).is_some_and(|look| is_of_the_model(&look))).collect();
    if words.is_empty() {
        return Ok(());
    }
    let known: BTreeSet<String> = gists(whole)?.into_iter().map(|gist| gist.text).collect();
    for word in words {
        if !known.contains(&Gist::of(word)?.text) {
            return Err(differ(key, whole_key));
        }
    }
    Ok(())
}

pub(super) fn differ(one: &str, other: &str) -> ImportError {
    ImportError::new(format!("`{one}` and `{other}` do not tell one conversation")).hint(
        "one has to hold all of the other, from its beginning or to its end; keep the one that tells what happened",
    )
}

/// Whether a list is the beginning or the end of another.
fn is_end_of(short: &[Gist], long: &[Gist]) -> bool {
    let is_same = |(a, b): (&Gist, &Gist)| a.text == b.text;
    short.len() <= long.len()
        && (short.iter().zip(long).all(is_same) || short.iter().rev().zip(long.iter().rev()).all(is_same))
}

/// What a value beside a conversation tells.
struct Told<'a> {
    /// The list, where it is one.
    list: Option<&'a RawValue>,
    gists: Vec<Gist>,
}

impl<'a> Told<'a> {
    /// `None` for a value that tells no conversation.
    fn of(raw: &'a RawValue) -> Result<Option<Self>, ImportError> {
        let look = Look::at(raw.get());
        if matches!(look, Some(Look::List(_))) {
            let is_some = look.is_some_and(|look| look.elements().iter().any(is_message));
            return if is_some { Ok(Some(Self { list: Some(raw), gists: gists(raw)? })) } else { Ok(None) };
        }
        let Some(look) = look else { return Ok(None) };
        if let Some(list) = look.get("messages").filter(|list| list.get().starts_with('[')) {
            return Ok(Some(Self { list: Some(list), gists: gists(list)? }));
        }
        if let Some(choices) = look.inside("choices") {
            let replies = choices.elements().into_iter().filter_map(|choice| choice.get("message"));
            let gists = replies.map(Gist::of).collect::<Result<Vec<_>, _>>()?;
            return Ok(Some(Self { list: None, gists }));
        }
        if is_message(&look) {
            return Ok(Some(Self { list: None, gists: vec![Gist::of(raw)?] }));
        }
        Ok(None)
    }
}

fn is_message(look: &Look<'_>) -> bool {
    let calls = ["tool_calls", "function_call", "toolCalls", "toolInvocations"];
    look.has(&["role"]) || look.has(&["type"]) || calls.iter().any(|key| look.has(&[key]))
}

fn is_text(raw: &RawValue) -> bool {
    raw.get().starts_with('"')
}

/// The gists of a conversation that it takes to hold against it what stands beside it. Against texts that is the last one, and
/// records with a text beside their messages are many.
pub(super) fn gists_for(list: &RawValue, beside: &[Also<'_>]) -> Result<Vec<Gist>, ImportError> {
    if !beside.iter().filter_map(|also| also.raw).all(is_text) {
        return gists(list);
    }
    let items: Vec<&RawValue> = wire::typed(list.get())?;
    items.last().map(|last| Gist::of(last)).into_iter().collect()
}

/// The gists of the messages of a list.
pub(super) fn gists(list: &RawValue) -> Result<Vec<Gist>, ImportError> {
    let items: Vec<&RawValue> = wire::typed(list.get())?;
    items.into_iter().map(Gist::of).collect()
}

/// What a message says and calls, without what only some tellings add to it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Gist {
    text: String,
    /// What the model says in it, where it is the model's.
    closing: Option<String>,
}

/// Keys of a message that are evidence, in the formats that write lists of messages.
const EVIDENCE: [&str; 16] = [
    "content",
    "tool_calls",
    "invalid_tool_calls",
    "function_call",
    "tool_call_id",
    "call_id",
    "refusal",
    "arguments",
    "input",
    "output",
    "action",
    "parts",
    "toolCalls",
    "toolInvocations",
    "name",
    "error",
];

/// States of a call that has not failed so far, which only some tellings add. Any other state is evidence.
const NOT_FAILED: [&str; 6] = ["success", "completed", "in_progress", "searching", "interpreting", "generating"];

impl Gist {
    pub(super) fn of(raw: &RawValue) -> Result<Self, ImportError> {
        Ok(Self::of_value(wire::value(raw)?))
    }

    /// The gist of a message of the user that is one text.
    pub(super) fn of_user(text: &str) -> Self {
        Self::of_value(serde_json::json!({ "role": "user", "content": text }))
    }

    /// The gist of a reply of the model with this content.
    pub(super) fn of_reply(content: &RawValue) -> Result<Self, ImportError> {
        Ok(Self::of_value(serde_json::json!({ "role": "assistant", "content": wire::value(content)? })))
    }

    fn of_value(value: Value) -> Self {
        let Value::Object(mut map) = value else {
            return Self { text: json::canonical(&value), closing: None };
        };
        let outer = map.remove("type");
        let inner = ["data", "kwargs"].iter().find_map(|key| match map.remove(*key) {
            Some(Value::Object(inner)) => Some(inner),
            _ => None,
        });
        // The path of a class is the type of a message that is a constructor.
        let class = map.remove("id").filter(Value::is_array);
        let mut fields = inner.unwrap_or(map);
        let kind = fields.remove("role").or(class).or(outer).unwrap_or(Value::Null);
        let is_of_the_model = match &kind {
            Value::String(word) => matches!(&**word, "assistant" | "ai" | "AIMessage" | "AIMessageChunk"),
            Value::Array(path) => {
                path.last().and_then(Value::as_str).is_some_and(|class| class.starts_with("AIMessage"))
            }
            _ => false,
        };
        let mut kept = Map::new();
        // How a reply of the model ended is not how a call went.
        let state = fields.remove("status").filter(|state| !is_of_the_model && !is_nothing(state));
        if let Some(state) = state.filter(|state| !state.as_str().is_some_and(|word| NOT_FAILED.contains(&word))) {
            kept.insert("status".to_owned(), state);
        }
        for key in EVIDENCE {
            if let Some(value) = fields.remove(key).map(plain).filter(|value| !is_nothing(value)) {
                kept.insert(key.to_owned(), value);
            }
        }
        let said = kept.get("content").and_then(Value::as_str).unwrap_or_default();
        let closing = is_of_the_model.then(|| said.to_owned());
        kept.insert("role".to_owned(), kind);
        Self { text: json::canonical(&Value::Object(kept)), closing }
    }
}

fn is_nothing(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::String(text) => text.is_empty(),
        Value::Array(list) => list.is_empty(),
        _ => false,
    }
}

/// Parts that are nothing but text as that text, and others without keys that hold nothing.
fn plain(value: Value) -> Value {
    let Value::Array(mut parts) = value else { return value };
    let text = |part: &Value| {
        part.get("text").filter(|_| part.get("type").is_some()).and_then(Value::as_str).map(str::to_owned)
    };
    if let Some(texts) = parts.iter().map(text).collect::<Option<Vec<String>>>() {
        return Value::String(texts.join("\n"));
    }
    for part in &mut parts {
        if let Value::Object(map) = part {
            map.retain(|_, value| !is_nothing(value));
        }
    }
    Value::Array(parts)
}
