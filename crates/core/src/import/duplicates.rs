//! A record that holds its conversation more than once, such as `messages` next to `output`: recorders keep what was sent,
//! what came back and all of it together under keys of their own. A copy that is the beginning or the end of another one adds
//! nothing, and the longer one is read. Copies that differ are refused, since what one of them lacks could be a call.

use std::borrow::Cow;
use std::cell::OnceCell;
use std::collections::BTreeSet;

use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Map, Value};

use super::shape::Shape;
use super::unread_calls::{self, UnreadCalls};
use super::wire::Text;
use super::{ImportError, wire};
use crate::json;

/// Another key of a record that may hold its conversation.
pub(super) struct Repeat<'a> {
    key: &'static str,
    raw: &'a RawValue,
    /// Whether a text there is the last reply.
    is_reply: bool,
}

/// A list of messages and its key.
pub(super) type List<'a> = (&'static str, &'a RawValue);

/// What a record has at keys that may hold its conversation, and at keys that may hold its last reply.
pub(super) fn repeats<'a>(
    shape: &Shape<'a>,
    conversations: &[&'static str],
    replies: &[&'static str],
) -> Vec<Repeat<'a>> {
    let keys = conversations.iter().map(|key| (*key, false)).chain(replies.iter().map(|key| (*key, true)));
    keys.filter_map(|(key, is_reply)| Some(Repeat { key, raw: shape.find(key)?, is_reply })).collect()
}

impl<'a> Repeat<'a> {
    pub(super) fn list((key, raw): List<'a>) -> Self {
        Self { key, raw, is_reply: false }
    }
}

/// The list that holds the whole conversation and more than the record's own list, whose messages have these keys. `None` when
/// the own list is the longest.
pub(super) fn longest<'k, 'a: 'k>(
    own: &'static str,
    mut keys: Vec<MessageKey<'k>>,
    repeats: &[Repeat<'a>],
) -> Result<Option<List<'a>>, ImportError> {
    let mut longest: Option<List<'a>> = None;
    for Repeat { key, raw, .. } in repeats.iter().filter(|repeat| !is_text(repeat.raw)) {
        let Some(copy) = Conversation::of(raw).map_err(|error| error.at(key))? else {
            unread_calls::refuse(&"record", &[(*key, UnreadCalls::has_nested_calls(key, raw.get()))])?;
            continue;
        };
        if is_end_of(&copy.keys, &keys) {
            continue;
        }
        let Some(list) = copy.list.filter(|_| is_end_of(&keys, &copy.keys)) else {
            return Err(differ(longest.map_or(own, |(key, _)| key), key));
        };
        (longest, keys) = (Some((*key, list)), copy.keys);
    }
    // The last reply is known only once the longest copy is.
    let closing = || keys.last().and_then(|key| key.read().closing.as_deref());
    for Repeat { key, raw, .. } in repeats.iter().filter(|repeat| repeat.is_reply && is_text(repeat.raw)) {
        let text = wire::part::<String>(raw)?;
        let is_same = text.trim().is_empty() || closing().is_some_and(|closing| closing.trim() == text.trim());
        if !is_same {
            return Err(differ(longest.map_or(own, |(key, _)| key), key));
        }
    }
    Ok(longest)
}

/// Refuses a record in which a message of the model or of a tool under one key is missing under another.
pub(super) fn check_included(
    (key, part): List<'_>,
    (whole_key, whole): List<'_>,
    is_of_the_model: impl Fn(&Shape<'_>) -> bool,
) -> Result<(), ImportError> {
    let Some(Shape::List(items)) = Shape::part(part.get()) else { return Ok(()) };
    let checked: Vec<&RawValue> =
        items.into_iter().filter(|item| Shape::part(item.get()).is_some_and(|shape| is_of_the_model(&shape))).collect();
    if checked.is_empty() {
        return Ok(());
    }
    let known = keys(whole)?;
    let known: BTreeSet<&str> = known.iter().map(|key| &*key.read().text).collect();
    for item in checked {
        if !known.contains(&*MessageKey::of(item).read().text) {
            return Err(differ(key, whole_key));
        }
    }
    Ok(())
}

pub(super) fn differ(one: &str, other: &str) -> ImportError {
    ImportError::new(format!("`{one}` and `{other}` hold different conversations"))
        .hint("one must be the beginning or the end of the other; keep the one that is right")
}

/// Whether a list is the beginning or the end of another.
fn is_end_of(short: &[MessageKey<'_>], long: &[MessageKey<'_>]) -> bool {
    short.len() <= long.len() && (long.starts_with(short) || long.ends_with(short))
}

/// A copy of a conversation, or of a part of it.
struct Conversation<'a> {
    /// The list, where it is one.
    list: Option<&'a RawValue>,
    keys: Vec<MessageKey<'a>>,
}

impl<'a> Conversation<'a> {
    /// `None` for a value without messages.
    fn of(raw: &'a RawValue) -> Result<Option<Self>, ImportError> {
        let Some(shape) = Shape::part(raw.get()) else { return Ok(None) };
        let whole = |list: &'a RawValue| Ok(Some(Self { list: Some(list), keys: keys(list)? }));
        if matches!(shape, Shape::List(_)) {
            return if shape.elements().iter().any(is_message) { whole(raw) } else { Ok(None) };
        }
        if let Some(list) = shape.get("messages").filter(|list| list.get().starts_with('[')) {
            return whole(list);
        }
        let replies = match shape.child("choices") {
            Some(choices) => choices.elements().into_iter().filter_map(|choice| choice.get("message")).collect(),
            None if is_message(&shape) => vec![raw],
            None => return Ok(None),
        };
        let keys = replies.into_iter().map(MessageKey::of).collect();
        Ok(Some(Self { list: None, keys }))
    }
}

fn is_message(shape: &Shape<'_>) -> bool {
    let calls = ["tool_calls", "function_call", "toolCalls", "toolInvocations"];
    shape.has(&["role"]) || shape.has(&["type"]) || calls.iter().any(|key| shape.has(&[key]))
}

fn is_text(raw: &RawValue) -> bool {
    raw.get().starts_with('"')
}

/// The keys of those messages of a list that have to be compared. Texts are compared with the last message alone, and many
/// records have one next to their messages.
pub(super) fn keys_for<'a>(list: &'a RawValue, repeats: &[Repeat<'_>]) -> Result<Vec<MessageKey<'a>>, ImportError> {
    if !repeats.iter().all(|repeat| is_text(repeat.raw)) {
        return keys(list);
    }
    let items: Vec<&RawValue> = wire::part(list)?;
    Ok(items.last().map(|last| MessageKey::of(last)).into_iter().collect())
}

pub(super) fn keys(list: &RawValue) -> Result<Vec<MessageKey<'_>>, ImportError> {
    let items: Vec<&RawValue> = wire::part(list)?;
    Ok(items.into_iter().map(MessageKey::of).collect())
}

/// What a message says and calls, without the keys that only some recorders add. It is read when it has to be compared with a
/// message that is written differently.
#[derive(Debug)]
pub(super) struct MessageKey<'a> {
    source: Source<'a>,
    read: OnceCell<ReadKey>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Source<'a> {
    Message(&'a str),
    /// What the model said.
    Content(&'a str),
    /// What the user said.
    Question(&'a str),
}

#[derive(Debug)]
struct ReadKey {
    text: String,
    /// The text of a message of the model.
    closing: Option<String>,
}

impl PartialEq for MessageKey<'_> {
    fn eq(&self, other: &Self) -> bool {
        self.source == other.source || (!self.has_other_role(other) && self.read().text == other.read().text)
    }
}

/// A message, as far as its role needs it.
#[derive(Deserialize)]
struct OfRole<'a> {
    #[serde(borrow)]
    role: Option<&'a RawValue>,
    data: Option<&'a RawValue>,
    kwargs: Option<&'a RawValue>,
}

/// Keys of a message that say or call something, in the formats that write lists of messages.
const EVIDENCE: &str = "content tool_calls invalid_tool_calls function_call tool_call_id call_id refusal arguments input output \
    action parts toolCalls toolInvocations name error";

/// States of a call that has not failed so far, which only some recorders add. Any other state counts.
const NOT_FAILED: [&str; 6] = ["success", "completed", "in_progress", "searching", "interpreting", "generating"];

impl<'a> MessageKey<'a> {
    fn new(source: Source<'a>) -> Self {
        Self { source, read: OnceCell::new() }
    }

    pub(super) fn of(raw: &'a RawValue) -> Self {
        Self::new(Source::Message(raw.get()))
    }

    pub(super) fn of_user(text: &'a str) -> Self {
        Self::new(Source::Question(text))
    }

    pub(super) fn of_reply(content: &'a RawValue) -> Self {
        Self::new(Source::Content(content.get()))
    }

    /// Whether another message has another role, which is seen without reading them.
    fn has_other_role(&self, other: &MessageKey<'_>) -> bool {
        self.role().zip(other.role()).is_some_and(|(one, other)| one != other)
    }

    /// The role of a message; `None` if it has none, or if it may be inside of another object.
    fn role(&self) -> Option<Cow<'a, str>> {
        match self.source {
            Source::Message(text) => {
                let message: OfRole<'a> = json::try_checked(text)?;
                let is_flat = message.data.is_none() && message.kwargs.is_none();
                message.role.filter(|_| is_flat).and_then(|role| json::try_checked(role.get())).map(Text::into_cow)
            }
            Source::Content(_) => Some("assistant".into()),
            Source::Question(_) => Some("user".into()),
        }
    }

    fn read(&self) -> &ReadKey {
        // What is too deep to be read is the same as itself.
        let value = |text: &str| json::read_checked::<Value>(text).unwrap_or_else(|_| text.into());
        self.read.get_or_init(|| {
            ReadKey::of(match self.source {
                Source::Message(text) => value(text),
                Source::Content(text) => serde_json::json!({ "role": "assistant", "content": value(text) }),
                Source::Question(text) => serde_json::json!({ "role": "user", "content": text }),
            })
        })
    }
}

impl ReadKey {
    fn of(value: Value) -> Self {
        let Value::Object(mut map) = value else {
            return Self { text: json::canonical(&value), closing: None };
        };
        let outer = map.remove("type");
        let inner = ["data", "kwargs"].iter().find_map(|key| match map.remove(*key) {
            Some(Value::Object(inner)) => Some(inner),
            _ => None,
        });
        // Where a message is a constructor, the path of its class is its type.
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
        for key in EVIDENCE.split(' ') {
            if let Some(value) = fields.remove(key).map(plain).filter(|value| !is_nothing(value)) {
                kept.insert(key.to_owned(), value);
            }
        }
        let text = kept.get("content").and_then(Value::as_str).unwrap_or_default();
        let closing = is_of_the_model.then(|| text.to_owned());
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

/// Parts that are all text as that text; other parts without their empty keys.
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
