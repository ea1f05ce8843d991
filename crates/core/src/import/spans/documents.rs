//! Messages in a document whose shape its recorder leaves open: what a function that calls a model got and returned.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::value::RawValue;

use super::super::message::{Message, Part, Place};
use super::super::shape::Shape;
use super::super::unread_calls::UnreadCalls;
use super::super::wire::{self, Text};
use super::super::{ImportError, gemini, langchain, openai_responses};
use super::attributes::Attribute;
use super::lists::Lists;
use super::messages;
use crate::json;
use crate::trace::{LazyText, Role};

/// How deep messages are searched: `{"generations": [[{"message": ..` and some more.
const DEPTH: usize = 8;

/// More bytes than a JSON string takes that says `null`, with four escapes of six bytes.
const LONGEST_NULL: usize = 32;

/// What a document has.
pub(super) enum Found<'s> {
    /// A message; `None` for a system prompt.
    Read(Option<Message>),
    /// What an earlier document has too.
    Repeated(Item<'s>),
}

/// An element of a list, and how deep messages are searched in it. Those of different lengths need no comparison.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Item<'s> {
    depth: usize,
    length: usize,
    text: &'s str,
}

/// Elements of the documents of a trace that were read without an error, and its lists. Every reply comes with the messages
/// before it, so most elements are there again, and then their messages are rarely needed.
#[derive(Default)]
pub(super) struct Seen<'s> {
    /// Each with whether it has a message.
    elements: BTreeMap<Item<'s>, bool>,
    pub(super) lists: Lists<'s>,
}

impl Item<'_> {
    /// Its messages.
    pub(super) fn read(self, role: Role) -> Result<Vec<Option<Message>>, ImportError> {
        let mut walk = Walk { role, seen: None, out: Vec::new() };
        walk.value(self.text, self.depth)?;
        Ok(walk
            .out
            .into_iter()
            .filter_map(|found| if let Found::Read(read) = found { Some(read) } else { None })
            .collect())
    }
}

/// The messages of a document. A document without any is one text.
pub(super) fn messages<'s>(
    document: &'s Attribute<'_>,
    role: Role,
    seen: &mut Seen<'s>,
) -> Result<Vec<Found<'s>>, ImportError> {
    if document.escaped_list().is_some()
        && let Ok(items) = seen.lists.read(document)
    {
        let mut walk = Walk { role, seen: Some(&mut seen.elements), out: Vec::new() };
        return walk.elements(items, DEPTH - 1).map(|()| walk.out);
    }
    let text = document.document();
    let mut walk = Walk { role, seen: Some(&mut seen.elements), out: Vec::new() };
    let is_json = text.trim_start().starts_with(['[', '{', '"']);
    match is_json.then(|| if document.is_checked() { Ok(()) } else { wire::check(text) }) {
        Some(Ok(())) => walk.value(text, DEPTH)?,
        // A recorder that cuts long values may have cut calls.
        Some(Err(error)) if UnreadCalls::is_hinted(text) => {
            return Err(error.hint("a recorder that cuts long values may have cut it: raise its limits"));
        }
        _ => walk.said(text),
    }
    Ok(walk.out)
}

/// The keys of an object that show what it is.
#[derive(Deserialize)]
struct Keys<'s> {
    #[serde(borrow, rename = "type")]
    kind: Option<&'s RawValue>,
    role: Option<&'s RawValue>,
    content: Option<&'s RawValue>,
    parts: Option<&'s RawValue>,
    tool_calls: Option<&'s RawValue>,
    function_call: Option<&'s RawValue>,
    lc: Option<&'s RawValue>,
    data: Option<&'s RawValue>,
    kwargs: Option<&'s RawValue>,
    message: Option<&'s RawValue>,
    messages: Option<&'s RawValue>,
    choices: Option<&'s RawValue>,
    generations: Option<&'s RawValue>,
    output: Option<&'s RawValue>,
    contents: Option<&'s RawValue>,
    candidates: Option<&'s RawValue>,
    text: Option<&'s RawValue>,
    object: Option<&'s RawValue>,
    #[serde(rename = "toolCallId")]
    tool_call_id: Option<&'s RawValue>,
    #[serde(rename = "toolName")]
    tool_name: Option<&'s RawValue>,
}

/// The search for messages.
struct Walk<'s, 'k> {
    role: Role,
    /// `None` where repeated elements are read again.
    seen: Option<&'k mut BTreeMap<Item<'s>, bool>>,
    out: Vec<Found<'s>>,
}

impl<'s> Walk<'s, '_> {
    fn push(&mut self, message: Option<Message>) {
        self.out.push(Found::Read(message));
    }

    fn said(&mut self, text: impl Into<LazyText>) {
        self.push(Some(Message::with_parts(self.role, vec![Part::Text(text.into())])));
    }

    /// Adds the messages of a value.
    fn value(&mut self, text: &'s str, depth: usize) -> Result<(), ImportError> {
        let Some(below) = depth.checked_sub(1) else {
            return Err(ImportError::new(format!("messages are nested more than {DEPTH} levels deep")));
        };
        match text.trim_start().as_bytes().first() {
            Some(b'[') => self.elements(wire::piece(text)?, below),
            Some(b'{') => self.object(text, below),
            _ => {
                match json::try_checked::<Text<'s>>(text) {
                    Some(said) if said.is_empty() || (text.len() < LONGEST_NULL && &*said == "null") => {}
                    Some(said) => self.said(said.lazy()),
                    None if text == "null" => {}
                    None => self.said(text),
                }
                Ok(())
            }
        }
    }

    /// Adds the messages of the elements of a list.
    fn elements(&mut self, items: Vec<&'s RawValue>, depth: usize) -> Result<(), ImportError> {
        for (at, item) in items.into_iter().enumerate() {
            self.element(item.get(), depth).map_err(|error| error.at(format_args!("[{at}]")))?;
        }
        Ok(())
    }

    /// Adds the messages of an element of a list, unless they are known.
    fn element(&mut self, text: &'s str, depth: usize) -> Result<(), ImportError> {
        let item = Item { depth, length: text.len(), text };
        if let Some(has_message) = self.seen.as_ref().and_then(|seen| seen.get(&item)) {
            if *has_message {
                self.out.push(Found::Repeated(item));
            }
            return Ok(());
        }
        let before = self.out.len();
        self.value(text, depth)?;
        // Lists of messages grow, so they are not repeated.
        if let Some(seen) = self.seen.as_mut().filter(|_| !text.starts_with('[')) {
            // System prompts and definitions of tools are no messages.
            seen.insert(item, self.out[before..].iter().any(|found| !matches!(found, Found::Read(None))));
        }
        Ok(())
    }

    fn object(&mut self, text: &'s str, below: usize) -> Result<(), ImportError> {
        let role = self.role;
        // What a model got is most often a list below a key. Elements of lists and what it returned are most often messages.
        let may_be_message = below < DEPTH - 1 || role == Role::Assistant;
        if let Some(message) = may_be_message.then(|| messages::plain(text, role)).flatten() {
            self.push(message?);
            return Ok(());
        }
        let keys: Keys<'s> = wire::piece(text)?;
        // Calls of the AI SDK without their message.
        if keys.tool_call_id.is_some() && keys.tool_name.is_some() {
            let read = messages::checked(&format!(r#"{{"tool_calls":[{text}]}}"#), Some(role))?;
            self.push(read);
            return Ok(());
        }
        // The reply of a model in the Agent Development Kit.
        let content = keys.content.filter(|raw| raw.get().starts_with('{'));
        if let Some(content) = content.filter(|raw| Shape::part(raw.get()).is_some_and(|inner| inner.has(&["parts"]))) {
            self.push(gemini::message(content.get(), Place::Key("content"))?);
            return Ok(());
        }
        // What a model returned in `LangChain`.
        let word = |raw: Option<&'s RawValue>| Text::part(raw?);
        let kind = word(keys.kind);
        let is_result = kind.as_deref().is_some_and(|kind| kind == "LLMResult" || kind.contains("Generation"));
        let own = [keys.role, keys.kind, keys.lc, keys.tool_calls, keys.function_call, keys.parts];
        let is_message = !is_result && own.iter().any(Option::is_some);
        if !is_message || word(keys.object).is_some() {
            let is_list = |raw: &&RawValue| raw.get().starts_with(['[', '{']);
            let lists = [
                ("messages", keys.messages),
                ("choices", keys.choices),
                ("generations", keys.generations),
                ("message", keys.message),
                ("output", keys.output),
            ];
            if let Some((key, raw)) = lists.into_iter().find_map(|(key, raw)| Some((key, raw.filter(is_list)?))) {
                return self.value(raw.get(), below).map_err(|error| error.at(key));
            }
            let contents = [("contents", keys.contents), ("candidates", keys.candidates)];
            if let Some((key, raw)) = contents.into_iter().find_map(|(key, raw)| Some((key, raw.filter(is_list)?))) {
                return self.gemini_contents(raw, key);
            }
            if let Some(text) = word(keys.text).filter(|_| is_result) {
                self.said(text.lazy());
                return Ok(());
            }
            if !is_message && keys.content.is_none() {
                refuse_calls(text)?;
                self.said(text);
                return Ok(());
            }
        }
        let known = [
            keys.role,
            keys.content,
            keys.parts,
            keys.tool_calls,
            keys.function_call,
            keys.lc,
            keys.data,
            keys.kwargs,
            keys.message,
        ];
        let is_known = |kind: &str| openai_responses::is_item_type(kind) || langchain::is_message_type(kind);
        if known.iter().all(Option::is_none) && !kind.as_deref().is_some_and(is_known) {
            refuse_calls(text)?;
        }
        self.push(messages::checked(text, Some(role))?);
        Ok(())
    }

    /// Adds contents of the Gemini API, which are inside of candidates in a reply.
    fn gemini_contents(&mut self, list: &RawValue, key: &str) -> Result<(), ImportError> {
        let items: Vec<&RawValue> = wire::part(list).map_err(|error| error.at(key))?;
        for (at, item) in items.into_iter().enumerate() {
            let inner = Shape::part(item.get()).filter(|_| key == "candidates").and_then(|shape| shape.get("content"));
            self.push(gemini::message(inner.unwrap_or(item).get(), Place::Element(key, at))?);
        }
        Ok(())
    }
}

/// Refuses a value of an unknown shape that could hold calls.
fn refuse_calls(text: &str) -> Result<(), ImportError> {
    if UnreadCalls::has_nested_calls("", text) == UnreadCalls::default() {
        return Ok(());
    }
    Err(ImportError::new("it could hold calls, and its shape is not known")
        .hint("messages are a list, or under `messages`, `choices`, `generations` or `output`"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn repeated_elements_are_kept_to_be_read_again_only_if_they_have_a_message() {
        let user = r#"{"role": "user", "content": "x"}"#;
        let silent = [
            r#"{"role": "system", "content": "s"}"#,
            r#"{"role": "tool", "content": {"type": "function", "function": {"name": "f"}}}"#,
        ];
        let list = format!("[{}, {user}, {}]", silent[0], silent[1]);
        let documents = [Attribute::Json(list.as_str().into()), Attribute::Json(list.as_str().into())];
        let mut seen = Seen::default();
        let [first, second] = documents.each_ref().map(|document| messages(document, Role::User, &mut seen).unwrap());
        let read = |found: &Found<'_>| match found {
            Found::Read(message) => vec![message.clone()],
            Found::Repeated(item) => item.read(Role::User).unwrap(),
        };
        let all = |found: &[Found<'_>]| found.iter().flat_map(read).flatten().collect::<Vec<_>>();
        assert_eq!((first.len(), second.len()), (3, 1));
        assert_eq!(all(&first), all(&second));
        assert_eq!(all(&second).len(), 1);
    }
}
