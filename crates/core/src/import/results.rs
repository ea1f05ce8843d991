//! Answers of tools as recorders write them.
//!
//! Answers of MCP tools are often wrapped: the result object or its list of blocks is JSON inside a text. They are unwrapped,
//! so that a gate sees what the tool answered and whether it failed.

use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Map, Value, json};

use super::ImportError;
use super::wire::{self, Text};
use crate::json;
use crate::trace::{CallError, ErrorKind, LazyText, LazyValue, ToolResult};

/// Most layers of JSON inside of text that are unwrapped.
const MAX_LAYERS: usize = 3;

/// An answer that is one text. `is_error` is what the format says, if anything.
pub(super) fn of_text(text: LazyText, is_error: Option<bool>) -> ToolResult {
    finish(inside(&text).unwrap_or_else(|| plain(text)), is_error)
}

/// Whether a text may be a wrapped result. Most answers are JSON of the tool's own; parsing all of them would be half the cost
/// of an import.
fn may_be_wrapped(text: &str) -> bool {
    let has = |word: &str| text.contains(word);
    match text.trim_start().as_bytes().first() {
        Some(b'{') => has("\"content\"") || (has("\"type\"") && has("\"text\"")),
        Some(b'[') => has("\"type\""),
        Some(b'"') => true,
        _ => false,
    }
}

/// The same for what is between the quotes of a JSON string.
fn raw_may_be_wrapped(raw: &str) -> bool {
    let has = |word: &str| raw.contains(word);
    match raw.trim_start_matches(' ').as_bytes().first() {
        // A letter or a quote may be spelled by its number.
        _ if has("\\u00") => true,
        Some(b'{') => has("\\\"content\\\"") || (has("\\\"type\\\"") && has("\\\"text\\\"")),
        Some(b'[') => has("\\\"type\\\""),
        // Anything else may be white space or a quote.
        Some(first) => *first == b'\\' || !first.is_ascii_graphic(),
        None => false,
    }
}

/// An answer that is a JSON value: a text, a list of blocks, a result of MCP, or anything else, which becomes its JSON.
pub(super) fn of_value(value: Value, is_error: Option<bool>) -> ToolResult {
    match value {
        Value::String(text) => of_text(text.into(), is_error),
        Value::Null => finish(ToolResult { content: Some(Vec::new()), ..ToolResult::default() }, is_error),
        other => {
            let text = json::canonical(&other);
            let inner = unwrapped(other, 0).unwrap_or_else(|| plain(text.into()));
            finish(inner, is_error)
        }
    }
}

/// An answer that is a value of the record.
pub(super) fn of_raw(raw: &RawValue, is_error: Option<bool>) -> Result<ToolResult, ImportError> {
    if let Some(text) = Text::part(raw) {
        return Ok(of_text(text.lazy(), is_error));
    }
    match text_blocks(raw) {
        Some(blocks) => Ok(finish(with_texts(blocks), is_error)),
        None => Ok(of_value(wire::value(raw)?, is_error)),
    }
}

/// A content block that has only a text, as most have.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct TextBlock<'a> {
    #[serde(borrow, rename = "type")]
    kind: Text<'a>,
    text: Text<'a>,
}

/// The texts of a list of such blocks; `None` for anything else.
fn text_blocks(raw: &RawValue) -> Option<Vec<LazyText>> {
    if !raw.get().starts_with("[{") {
        return None;
    }
    let blocks: Vec<TextBlock<'_>> = json::try_checked(raw.get())?;
    blocks.iter().map(|block| (&*block.kind == "text").then(|| block.text.lazy())).collect()
}

/// An answer that is a list of such blocks, as [`of_list`] reads it; `None` for anything else.
pub(super) fn of_text_blocks(raw: &RawValue, is_error: Option<bool>) -> Option<ToolResult> {
    let blocks = text_blocks(raw)?;
    let lone = if let [text] = &*blocks { inside(text) } else { None };
    Some(finish(lone.unwrap_or_else(|| with_texts(blocks)), is_error))
}

fn with_texts(blocks: Vec<LazyText>) -> ToolResult {
    let content = blocks.into_iter().map(LazyValue::text_block).collect();
    ToolResult { content: Some(content), ..ToolResult::default() }
}

/// An answer that is a list of content blocks. Blocks that MCP does not have become their JSON. A single text may be a wrapped
/// result.
pub(super) fn of_blocks(blocks: Vec<Value>, is_error: Option<bool>) -> ToolResult {
    let lone = match blocks.as_slice() {
        [block] if block.get("type").and_then(Value::as_str) == Some("text") => {
            block.get("text").and_then(Value::as_str)
        }
        _ => None,
    };
    let inner = lone.and_then(inside_text).unwrap_or_else(|| {
        let known = |block: Value| {
            if is_block(&block) { block } else { json!({ "type": "text", "text": json::canonical(&block) }) }
        };
        ToolResult {
            content: Some(blocks.into_iter().map(known).map(LazyValue::from).collect()),
            ..ToolResult::default()
        }
    });
    finish(inner, is_error)
}

/// An answer that is a list: of content blocks where all of them have a type.
pub(super) fn of_list(list: Vec<Value>, is_error: Option<bool>) -> ToolResult {
    if list.iter().all(|block| block.get("type").is_some_and(Value::is_string)) {
        of_blocks(list, is_error)
    } else {
        of_value(Value::Array(list), is_error)
    }
}

/// The result of MCP that a text holds.
fn inside(text: &LazyText) -> Option<ToolResult> {
    if text.raw().is_some_and(|raw| !raw_may_be_wrapped(raw)) { None } else { inside_text(text) }
}

fn inside_text(text: &str) -> Option<ToolResult> {
    if may_be_wrapped(text) { wire::parse(text).ok().and_then(|value| unwrapped(value, 0)) } else { None }
}

fn plain(text: LazyText) -> ToolResult {
    with_texts(vec![text])
}

/// Adds what the format says about failure to an answer that was read before.
pub(super) fn with_error_flag(result: ToolResult, is_error: Option<bool>) -> ToolResult {
    finish(result, is_error)
}

/// A call has failed if the format or the answer reports it: a harness may fail a call that answered.
fn finish(mut result: ToolResult, is_error: Option<bool>) -> ToolResult {
    result.is_error = match (is_error, result.is_error) {
        (Some(true), _) | (_, Some(true)) => Some(true),
        (format, own) => format.or(own),
    };
    if result.is_error == Some(true) && result.error.is_none() {
        let message = result.text().unwrap_or_default().into_string();
        result.error = Some(Box::new(CallError { kind: ErrorKind::Tool, code: None, message }));
    }
    result
}

/// The result of MCP that a value is or contains; `None` when it is something else.
fn unwrapped(value: Value, layer: usize) -> Option<ToolResult> {
    match value {
        Value::Object(map) if is_result(&map) => Some(result(map)),
        // A list of blocks with only one may be written without the list.
        Value::Object(map) if map.len() == 2 && map.get("type").and_then(Value::as_str) == Some("text") => {
            let inner = map.get("text")?.as_str().and_then(inside_text);
            Some(inner.unwrap_or_else(|| ToolResult {
                content: Some(vec![Value::Object(map).into()]),
                ..ToolResult::default()
            }))
        }
        Value::Array(blocks) if !blocks.is_empty() && blocks.iter().all(is_block) => {
            let lone = if let [block] = &*blocks { block.get("text").and_then(Value::as_str) } else { None };
            Some(lone.and_then(inside_text).unwrap_or_else(|| ToolResult {
                content: Some(blocks.into_iter().map(LazyValue::from).collect()),
                ..ToolResult::default()
            }))
        }
        Value::String(text) if layer < MAX_LAYERS => unwrapped(wire::parse(&text).ok()?, layer + 1),
        _ => None,
    }
}

fn is_result(map: &Map<String, Value>) -> bool {
    let blocks = map.get("content").and_then(Value::as_array);
    let known =
        ["content", "isError", "structuredContent", "_meta", "is_error", "structured_content", "meta", "resultType"];
    let is_flag = |key: &str| map.get(key).is_none_or(|flag| flag.is_boolean() || flag.is_null());
    // An empty list is a result only where another key shows it.
    blocks.is_some_and(|blocks| blocks.iter().all(is_block) && (!blocks.is_empty() || map.len() > 1))
        && map.keys().all(|key| known.contains(&key.as_str()))
        && is_flag("isError")
        && is_flag("is_error")
}

/// Whether a value is a content block of MCP.
pub(super) fn is_block(value: &Value) -> bool {
    let Some(kind) = value.get("type").and_then(Value::as_str) else { return false };
    match kind {
        "text" => value.get("text").is_some_and(Value::is_string),
        "image" | "audio" => value.get("data").is_some(),
        "resource" => value.get("resource").is_some(),
        "resource_link" => value.get("uri").is_some(),
        _ => false,
    }
}

fn result(mut map: Map<String, Value>) -> ToolResult {
    let mut take = |names: [&str; 2]| names.iter().find_map(|name| map.remove(*name)).filter(|value| !value.is_null());
    let flags =
        [take(["isError", "isError"]), take(["is_error", "is_error"])].map(|flag| flag.and_then(|flag| flag.as_bool()));
    let is_error = flags.iter().flatten().copied().reduce(|a, b| a || b);
    let structured_content = take(["structuredContent", "structured_content"]);
    let Some(Value::Array(content)) = take(["content", "content"]) else { return ToolResult::default() };
    // The result of another tool may be inside: if that failed, this failed.
    let inner = match &*content {
        [block] => block.get("text").and_then(Value::as_str).and_then(inside_text).and_then(|inner| inner.is_error),
        _ => None,
    };
    // MCP leaves `isError` out when it is false.
    ToolResult {
        is_error: Some(is_error.unwrap_or(false) || inner.unwrap_or(false)),
        content: Some(content.into_iter().map(LazyValue::from).collect()),
        structured_content: structured_content.map(LazyValue::from),
        ..ToolResult::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn content(text: &str) -> Vec<LazyValue> {
        vec![json!({ "type": "text", "text": text }).into()]
    }

    #[test]
    fn results_of_mcp_are_unwrapped_and_everything_else_is_text() {
        let object = json!({ "content": [{ "type": "text", "text": "no" }], "isError": true });
        let twice = Value::String(Value::String(object.to_string()).to_string()).to_string();
        for value in [object.clone(), Value::String(object.to_string()), Value::String(twice)] {
            let result = of_value(value, None);
            assert_eq!((result.is_error, result.content.clone()), (Some(true), Some(content("no"))), "{result:?}");
            assert_eq!(result.error.unwrap().message, "no");
        }
        let listed = of_text(r#"[{"type":"text","text":"{\"n\":1}"}]"#.into(), Some(false));
        assert_eq!((listed.is_error, listed.content), (Some(false), Some(content("{\"n\":1}"))));
        for other in
            [json!({ "content": "x" }), json!([]), json!([{ "type": "car" }]), json!({ "content": [], "n": 1 })]
        {
            let result = of_value(other.clone(), None);
            assert_eq!((result.is_error, result.content), (None, Some(content(&other.to_string()))));
        }
        assert_eq!(of_text("{ not json".into(), None).content, Some(content("{ not json")));
        let structured = of_value(json!({ "content": [], "structuredContent": { "n": 1 } }), None);
        assert_eq!(structured.structured_content, Some(json!({ "n": 1 }).into()));
        assert_eq!(structured.is_error, Some(false));
    }

    #[test]
    fn a_single_text_block_is_unwrapped_and_unknown_blocks_become_text() {
        let wrapped = json!({ "content": [{ "type": "text", "text": "no" }], "isError": true }).to_string();
        let lone = of_blocks(vec![json!({ "type": "text", "text": wrapped })], Some(false));
        assert_eq!((lone.is_error, lone.content), (Some(true), Some(content("no"))));
        let text = json!({ "type": "text", "text": wrapped });
        let several = of_blocks(vec![text.clone(), json!({ "type": "car" })], None);
        let car = json!({ "type": "text", "text": "{\"type\":\"car\"}" });
        assert_eq!((several.is_error, several.content), (None, Some(vec![text.into(), car.into()])));
    }

    #[test]
    fn a_block_is_unwrapped_with_and_without_a_list() {
        let wrapped = json!({ "content": [{ "type": "text", "text": "no" }], "isError": true }).to_string();
        let block = json!({ "type": "text", "text": wrapped });
        for value in [block.clone(), Value::String(block.to_string())] {
            let result = of_value(value, None);
            assert_eq!((result.is_error, result.content), (Some(true), Some(content("no"))));
        }
        let listed = of_text(Value::Array(vec![block]).to_string().into(), Some(false));
        assert_eq!((listed.is_error, listed.content), (Some(true), Some(content("no"))));
        let plain = of_text(r#"{"type":"text","text":"ok"}"#.into(), None);
        assert_eq!((plain.is_error, plain.content), (None, Some(content("ok"))));
        let more = r#"{"type":"text","text":"ok","n":1}"#;
        assert_eq!(of_text(more.into(), None).content, Some(content(more)));
    }

    #[test]
    fn a_call_failed_if_the_format_or_the_answer_says_so() {
        let good = json!({ "content": [{ "type": "text", "text": "ok" }] });
        assert_eq!(of_value(good, Some(true)).is_error, Some(true));
        let bad = json!({ "content": [{ "type": "text", "text": "no" }], "isError": true });
        assert_eq!(of_value(bad, Some(false)).is_error, Some(true));
    }

    #[test]
    fn an_invalid_flag_and_a_failed_result_inside_a_result_are_not_a_success() {
        assert_eq!(of_text(r#"{"content":[],"isError":"true"}"#.into(), None).is_error, None);
        assert_eq!(of_text(r#"{"content":[]}"#.into(), None).is_error, None);
        assert_eq!(of_text(r#"{"content":[],"isError":false,"is_error":true}"#.into(), None).is_error, Some(true));
        let inner = r#"{"content":[],"isError":true}"#;
        let outer = json!({ "content": [{ "type": "text", "text": inner }] });
        assert_eq!(of_value(outer, None).is_error, Some(true));
    }
}
