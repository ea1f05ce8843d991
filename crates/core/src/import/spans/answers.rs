//! Answers inside of what frameworks record around them, and what they show about failure.
//!
//! A framework may end a span well although its tool failed, and report the failure only in what it returned. An answer that
//! shows a failure in a shape that is not read with certainty is never a success.

use serde_json::{Map, Value};

use super::super::{gemini, results, wire};

/// Most wrappers around an answer that are opened.
const MAX_LAYERS: usize = 12;

/// What an answer shows about failure. The worst counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub(super) enum Outcome {
    /// The status of the span counts.
    #[default]
    OfSpan,
    /// Something failed, or its failure was not recorded: the call is not known to be a success.
    Unclear,
    Failed,
}

/// The answer to a call, with what the recorder wrote around it.
#[derive(Debug, PartialEq)]
pub(super) struct Answered {
    pub(super) id: Option<String>,
    pub(super) content: Value,
    pub(super) outcome: Outcome,
}

/// The answer inside of what a framework returns for a tool: a message of `LangChain`, an output of `LlamaIndex`, or a response
/// of the Agent Development Kit. `None` for any other answer.
pub(super) fn answer(value: &Value, tool: &str, id: Option<&str>) -> Option<Answered> {
    let parsed;
    let value = match value {
        Value::String(text) => {
            let may_be = ["tool_call_id", "\"raw_output\"", "\"response\""].iter().any(|key| text.contains(key));
            let is_output = text.contains("\"output\"") && text.contains("\"kwargs\"");
            parsed = (may_be || is_output).then(|| wire::parse(text).ok()).flatten()?;
            &parsed
        }
        other => other,
    };
    if let Some(found) = message(value, id, 0) {
        return Some(found);
    }
    let map = opened(value.as_object()?);
    if map.get("tool_name").is_some_and(Value::is_string) && map.contains_key("raw_output") {
        return output_of_llama_index(map);
    }
    let is_response = map.contains_key("response")
        && map.get("name").and_then(Value::as_str) == Some(tool)
        && map.keys().all(|key| matches!(&**key, "id" | "name" | "response" | "will_continue" | "scheduling"));
    if is_response {
        let id = map.get("id").and_then(Value::as_str).map(str::to_owned);
        return Some(Answered { id, ..response(map.get("response")?) });
    }
    // What a callback of `LangChain` got, where the tool returned something else than a message.
    match map.get("output") {
        Some(content) if map.len() == 2 && map.get("kwargs").is_some_and(Value::is_object) => {
            Some(Answered { id: None, content: content.clone(), outcome: outcome(content) })
        }
        _ => None,
    }
}

/// A message of `LangChain` that answers a call, in any of its wrappers. Of several, the one that answers this call.
fn message(value: &Value, id: Option<&str>, layer: usize) -> Option<Answered> {
    let within = |inner: &Value| (layer < MAX_LAYERS).then(|| message(inner, id, layer + 1)).flatten();
    let map = match value {
        Value::String(text) if text.contains("tool_call_id") => return within(&wire::parse(text).ok()?),
        Value::Array(list) => {
            return match list.as_slice() {
                [lone] => within(lone),
                several => several.iter().filter_map(within).find(|found| id.is_some() && found.id.as_deref() == id),
            };
        }
        Value::Object(map) => map,
        _ => return None,
    };
    let Some(Value::String(id)) = map.get("tool_call_id") else { return within(wrapped(map)?) };
    let content = map.get("content")?.clone();
    let outcome = if has_status_error(map) { Outcome::Failed } else { outcome(&content) };
    Some(Answered { id: Some(id.clone()), content, outcome })
}

fn has_status_error(map: &Map<String, Value>) -> bool {
    map.get("status").and_then(Value::as_str) == Some("error")
}

/// What is in a wrapper around messages: one of a recorder, or the update of a state that a tool of `LangGraph` returns.
fn wrapped(map: &Map<String, Value>) -> Option<&Value> {
    if map.get("type").and_then(Value::as_str) == Some("tool") && map.contains_key("data") {
        return map.get("data");
    }
    if map.contains_key("lc") {
        return map.get("kwargs");
    }
    if map.contains_key("goto")
        && let Some(update) = map.get("update")
    {
        return update.get("messages").or(Some(update));
    }
    match map.len() {
        1 => map.get("output").or_else(|| map.get("messages")),
        2 if map.contains_key("kwargs") => map.get("output"),
        _ => None,
    }
}

/// What a recorder wrote around an object, or the same object.
fn opened(map: &Map<String, Value>) -> &Map<String, Value> {
    let inner = if map.len() == 2 && map.contains_key("kwargs") { map.get("output") } else { None };
    inner.and_then(Value::as_object).unwrap_or(map)
}

/// An output of `LlamaIndex`. A result of MCP in it has a flag of its own.
fn output_of_llama_index(map: &Map<String, Value>) -> Option<Answered> {
    let (flag, raw) = (map.get("is_error").and_then(Value::as_bool)?, map.get("raw_output")?);
    let is_set = |key: &str| raw.get(key).and_then(Value::as_bool) == Some(true);
    let content = texts(map.get("blocks")).or_else(|| map.get("content").cloned()).unwrap_or_else(|| raw.clone());
    let has_failed = flag || is_set("isError") || is_set("is_error");
    let outcome = if has_failed { Outcome::Failed } else { outcome(&content).max(outcome(raw)) };
    Some(Answered { id: None, content, outcome })
}

/// The texts of blocks, where they are all texts.
fn texts(blocks: Option<&Value>) -> Option<Value> {
    let blocks = blocks?.as_array()?;
    let all: Option<Vec<&str>> = blocks.iter().map(|block| block.get("text").and_then(Value::as_str)).collect();
    all.filter(|texts| !texts.is_empty()).map(|texts| Value::String(texts.join("\n")))
}

/// A response of the Agent Development Kit, with the failures that its sessions have. A tool also reports errors of its own in
/// it.
pub(super) fn response(value: &Value) -> Answered {
    let is_word = |word: &str| ["error", "failed", "failure"].iter().any(|known| word.eq_ignore_ascii_case(known));
    let shows_error = value.get("error").is_some_and(|error| !error.is_null() && error != false)
        || value.get("status").and_then(Value::as_str).is_some_and(is_word);
    let (content, is_error) = gemini::opened(value.clone());
    if is_error {
        return Answered { id: None, content, outcome: Outcome::Failed };
    }
    let outcome = match results::of_value(content, None).is_error {
        Some(true) => Outcome::Failed,
        _ if shows_error => Outcome::Unclear,
        _ => outcome(value),
    };
    Answered { id: None, content: value.clone(), outcome }
}

/// What an answer that is in no known wrapper shows about failure.
pub(super) fn outcome(value: &Value) -> Outcome {
    shown(value, 0)
}

fn shown(value: &Value, layer: usize) -> Outcome {
    if layer > MAX_LAYERS {
        return Outcome::OfSpan;
    }
    match value {
        Value::String(text) => shown_in_text(text, layer),
        Value::Array(list) => {
            let worst = list.iter().map(|one| shown(one, layer + 1)).max().unwrap_or_default();
            // Among other messages, that of a failed tool may be of another call.
            let are_answers = list
                .iter()
                .filter_map(Value::as_object)
                .all(|map| map.contains_key("tool_call_id") || wrapped(map).is_some());
            if are_answers { worst } else { worst.min(Outcome::Unclear) }
        }
        Value::Object(map) if map.get("tool_call_id").is_some_and(Value::is_string) => {
            if has_status_error(map) {
                Outcome::Failed
            } else {
                Outcome::OfSpan
            }
        }
        Value::Object(map) => match wrapped(map) {
            Some(inner) => shown(inner, layer + 1),
            None => map.values().map(|one| shown(one, layer + 1)).max().unwrap_or_default().min(Outcome::Unclear),
        },
        _ => Outcome::OfSpan,
    }
}

/// The same for a text: JSON, or an object as Python prints it.
fn shown_in_text(text: &str, layer: usize) -> Outcome {
    let has = |word: &str| text.contains(word);
    let (is_message, is_flag) = (has("tool_call_id"), has("rror=True") || has("rror': True"));
    if !is_message && !is_flag {
        return Outcome::OfSpan;
    }
    if text.trim_start().starts_with(['{', '[', '"'])
        && let Ok(value) = wire::parse(text)
    {
        return shown(&value, layer + 1);
    }
    let is_printed_result = is_flag && (has("content=[") || has("'content':"));
    let is_printed_message = is_message && (has("status='error'") || has("'status': 'error'"));
    match is_printed_result || is_printed_message {
        true if is_result_with_flag(text) => Outcome::Failed,
        true => Outcome::Unclear,
        false => Outcome::OfSpan,
    }
}

/// Whether a text is a failed result of MCP as Python prints it: its flag is not in the text of the answer but at the end.
fn is_result_with_flag(text: &str) -> bool {
    let is_result = ["meta=", "content=[", "CallToolResult("].iter().any(|start| text.starts_with(start));
    let Some((before, after)) = text.rsplit_once("rror=True") else { return false };
    let ends = after.trim_end_matches(')');
    is_result
        && (before.ends_with(" isE") || before.ends_with(" is_e"))
        && (ends.is_empty() || ends == " result_type='complete'")
}

/// Whether an answer is the content of a result of MCP without its flag: the `OpenAI` Agents SDK leaves it out, and a failed
/// tool looks like any other.
pub(super) fn is_content_without_flag(value: &Value) -> bool {
    match value {
        Value::String(text) => {
            let start: String = text.chars().filter(|char| !char.is_whitespace()).take(8).collect();
            let may_be = start.starts_with("{\"") || start.starts_with("[{\"");
            may_be
                && text.contains("\"type\"")
                && wire::parse(text).is_ok_and(|value| !value.is_string() && is_content_without_flag(&value))
        }
        Value::Array(blocks) => !blocks.is_empty() && blocks.iter().all(results::is_block),
        other => results::is_block(other),
    }
}
