//! Messages in a document whose shape its recorder leaves open: what a function that calls a model got and returned.

use serde_json::value::RawValue;

use super::super::message::{Message, Part, Place};
use super::super::shape::Shape;
use super::super::unread_calls::UnreadCalls;
use super::super::wire::{self, Text};
use super::super::{ImportError, gemini, langchain, openai_responses};
use super::messages;
use crate::trace::Role;

/// How deep messages are searched: `{"generations": [[{"message": ..` and some more.
const DEPTH: usize = 8;

/// The messages of a document; `None` for a system prompt. A document without any is one text.
pub(super) fn messages(text: &str, role: Role) -> Result<Vec<Option<Message>>, ImportError> {
    let mut out = Vec::new();
    let is_json = text.trim_start().starts_with(['[', '{', '"']);
    match is_json.then(|| wire::check(text)) {
        Some(Ok(())) => walk(text, role, DEPTH, &mut out)?,
        // A recorder that cuts long values may have cut calls.
        Some(Err(error)) if UnreadCalls::is_hinted(text) => {
            return Err(error.hint("a recorder that cuts long values may have cut it: raise its limits"));
        }
        _ => out.push(Some(said(text, role))),
    }
    Ok(out)
}

fn said(text: &str, role: Role) -> Message {
    Message::with_parts(role, vec![Part::Text(text.into())])
}

fn walk(text: &str, role: Role, depth: usize, out: &mut Vec<Option<Message>>) -> Result<(), ImportError> {
    let Some(below) = depth.checked_sub(1) else {
        return Err(ImportError::new(format!("messages are nested more than {DEPTH} levels deep")));
    };
    let shape = Shape::part(text).unwrap_or(Shape::Other);
    if let Shape::List(items) = &shape {
        for (at, item) in items.iter().enumerate() {
            walk(item.get(), role, below, out).map_err(|error| error.at(format_args!("[{at}]")))?;
        }
        return Ok(());
    }
    if !matches!(shape, Shape::Object(_)) {
        let text = serde_json::from_str::<Text<'_>>(text).map_or_else(|_| text.to_owned(), Text::into_owned);
        out.extend((text != "null" && !text.is_empty()).then(|| Some(said(&text, role))));
        return Ok(());
    }
    // Calls of the AI SDK without their message.
    if shape.has(&["toolCallId", "toolName"]) {
        out.push(messages::checked(&format!(r#"{{"tool_calls":[{text}]}}"#), Some(role))?);
        return Ok(());
    }
    // The reply of a model in the Agent Development Kit.
    let content = shape.get("content").filter(|raw| raw.get().starts_with('{'));
    if let Some(content) = content.filter(|raw| Shape::part(raw.get()).is_some_and(|inner| inner.has(&["parts"]))) {
        out.push(gemini::message(content.get(), Place::Key("content"))?);
        return Ok(());
    }
    // What a model returned in `LangChain`.
    let kind = shape.text("type");
    let is_result = kind.as_deref().is_some_and(|kind| kind == "LLMResult" || kind.contains("Generation"));
    let is_message = !is_result
        && ["role", "type", "lc", "tool_calls", "function_call", "parts"].iter().any(|key| shape.has(&[key]));
    let list = |key: &&str| shape.get(key).filter(|raw| raw.get().starts_with(['[', '{']));
    if !is_message || shape.text("object").is_some() {
        for key in ["messages", "choices", "generations", "message", "output"] {
            if let Some(raw) = list(&key) {
                return walk(raw.get(), role, below, out).map_err(|error| error.at(key));
            }
        }
        for key in ["contents", "candidates"] {
            if let Some(raw) = list(&key) {
                return gemini_contents(raw, key, out);
            }
        }
        if let Some(text) = shape.text("text").filter(|_| is_result) {
            out.push(Some(said(&text, role)));
            return Ok(());
        }
        if !is_message && !shape.has(&["content"]) {
            refuse_calls(text)?;
            out.push(Some(said(text, role)));
            return Ok(());
        }
    }
    let keys = ["role", "content", "parts", "tool_calls", "function_call", "lc", "data", "kwargs", "message"];
    let is_known = |kind: &str| openai_responses::is_item_type(kind) || langchain::is_message_type(kind);
    if !keys.iter().any(|key| shape.has(&[key])) && !kind.as_deref().is_some_and(is_known) {
        refuse_calls(text)?;
    }
    out.push(messages::checked(text, Some(role))?);
    Ok(())
}

/// Refuses a value of an unknown shape that could hold calls.
fn refuse_calls(text: &str) -> Result<(), ImportError> {
    if UnreadCalls::has_nested_calls("", text) == UnreadCalls::default() {
        return Ok(());
    }
    Err(ImportError::new("it could hold calls, and its shape is not known")
        .hint("messages are a list, or under `messages`, `choices`, `generations` or `output`"))
}

/// Contents of the Gemini API, which are inside of candidates in a reply.
fn gemini_contents(list: &RawValue, key: &str, out: &mut Vec<Option<Message>>) -> Result<(), ImportError> {
    let items: Vec<&RawValue> = wire::part(list).map_err(|error| error.at(key))?;
    for (at, item) in items.into_iter().enumerate() {
        let inner = Shape::part(item.get()).filter(|_| key == "candidates").and_then(|shape| shape.get("content"));
        out.push(gemini::message(inner.unwrap_or(item).get(), Place::Element(key, at))?);
    }
    Ok(())
}
