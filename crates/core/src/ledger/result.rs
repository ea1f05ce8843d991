//! What a server answered to `tools/call`, as a trace keeps it.

use serde_json::{Value, json};

use crate::json;
use crate::trace::{CallError, ErrorKind, LazyValue, ToolResult};

/// How much of a tool's text is repeated in its error message. The content keeps all of it.
const MESSAGE: usize = 2000;

/// A failed call, with its message as the content.
pub fn error_result(kind: ErrorKind, code: Option<i64>, message: &str) -> ToolResult {
    ToolResult {
        is_error: Some(true),
        content: Some(vec![json!({ "type": "text", "text": message }).into()]),
        error: Some(Box::new(CallError { kind, code, message: message.to_owned() })),
        ..ToolResult::default()
    }
}

/// The result in the reply to `tools/call`. What is not a result becomes an error and never an empty success.
pub fn mcp_result(result: Value) -> ToolResult {
    let mut result = match result {
        Value::Object(result) => result,
        other => return invalid_result(&format!("its result is {}, not an object", json::describe(&other))),
    };
    match result.get("resultType") {
        None => {}
        Some(Value::String(word)) => match word.as_str() {
            "complete" => {}
            // That the tool needs more input is its answer, like any other error that it reports, and not a protocol error.
            "input_required" => {
                let message = "the server asked for input (`input_required`) instead of answering";
                return error_result(ErrorKind::Tool, None, message);
            }
            "task" => {
                let message = "the server started a task (`task`) instead of answering";
                return error_result(ErrorKind::Tool, None, message);
            }
            other => return invalid_result(&format!("its `resultType` is `{}`", json::cut(other, 40))),
        },
        Some(other) => return invalid_result(&format!("its `resultType` is {}, not text", json::describe(other))),
    }
    let is_error = match result.get("isError") {
        None | Some(Value::Null) => false,
        Some(Value::Bool(is_error)) => *is_error,
        Some(other) => return invalid_result(&format!("its `isError` is {}, not a boolean", json::describe(other))),
    };
    let content = match result.remove("content") {
        Some(Value::Array(blocks)) => blocks,
        None => return invalid_result("it has no `content`"),
        Some(other) => return invalid_result(&format!("its `content` is {}, not a list", json::describe(&other))),
    };
    if let Some(problem) = content.iter().enumerate().find_map(|(index, block)| wrong_block(index, block)) {
        return invalid_result(&problem);
    }
    let mut out = ToolResult {
        is_error: Some(is_error),
        content: Some(content.into_iter().map(LazyValue::from).collect()),
        // In a trace null means absent; a recording must read back as what was judged.
        structured_content: result.remove("structuredContent").filter(|value| !value.is_null()).map(LazyValue::from),
        ..ToolResult::default()
    };
    if is_error {
        let message = message_of(&out);
        out.error = Some(Box::new(CallError { kind: ErrorKind::Tool, code: None, message }));
    }
    out
}

/// The message of a tool's own error: its text, cut. It is built again after redaction, because a cut secret would not be found.
pub fn message_of(result: &ToolResult) -> String {
    let text = result.texts().collect::<Vec<_>>().join("\n");
    let message = if text.is_empty() { "the tool reported an error without text" } else { &text };
    json::cut(message, MESSAGE)
}

/// What is wrong with a content block. Unknown types are accepted.
fn wrong_block(index: usize, block: &Value) -> Option<String> {
    let Some(map) = block.as_object() else {
        return Some(format!("`content[{index}]` is {}, not an object", json::describe(block)));
    };
    match map.get("type").and_then(Value::as_str) {
        None => Some(format!("`content[{index}]` has no `type`")),
        Some("text") if !map.get("text").is_some_and(Value::is_string) => {
            Some(format!("`content[{index}]` is a text block without text"))
        }
        Some(_) => None,
    }
}

/// The result of a reply that is not a result.
pub fn invalid_result(problem: &str) -> ToolResult {
    error_result(ErrorKind::Jsonrpc, None, &format!("the server's reply is not a valid tools/call result: {problem}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn error(result: Value) -> (ErrorKind, Option<i64>, String) {
        let result = mcp_result(result);
        assert_eq!((result.is_error, &result.structured_content), (Some(true), &None));
        assert_eq!(result.texts().collect::<Vec<_>>(), [result.error.as_ref().unwrap().message.as_str()]);
        let error = result.error.unwrap();
        (error.kind, error.code, error.message)
    }

    #[test]
    fn a_success_keeps_the_received_content() {
        let content = json!([
            { "type": "text", "text": "hi", "annotations": { "x": 1 } },
            { "type": "hologram", "depth": 3.5 },
        ]);
        let reply = json!({ "content": content, "structuredContent": [1, { "a": null }], "_meta": {}, "new": 1 });
        let expected = ToolResult {
            is_error: Some(false),
            content: content.as_array().map(|blocks| blocks.iter().cloned().map(LazyValue::from).collect()),
            structured_content: Some(json!([1, { "a": null }]).into()),
            ..ToolResult::default()
        };
        assert_eq!(mcp_result(reply), expected);
    }

    #[test]
    fn an_error_result_keeps_its_content_and_says_its_text() {
        let content = json!([{ "type": "text", "text": "no such city" }, { "type": "text", "text": "try Oslo" }]);
        let reply = json!({ "content": content, "isError": true, "resultType": "complete", "structuredContent": null });
        let message = "no such city\ntry Oslo".to_owned();
        let expected = ToolResult {
            is_error: Some(true),
            content: content.as_array().map(|blocks| blocks.iter().cloned().map(LazyValue::from).collect()),
            error: Some(Box::new(CallError { kind: ErrorKind::Tool, code: None, message })),
            ..ToolResult::default()
        };
        assert_eq!(mcp_result(reply), expected);
    }

    #[test]
    fn an_error_result_without_text_says_so_and_a_long_text_is_cut_in_the_message_only() {
        let message = |reply: Value| mcp_result(reply).error.unwrap().message;
        assert_eq!(message(json!({ "content": [], "isError": true })), "the tool reported an error without text");
        let long = "é".repeat(MESSAGE + 1);
        let reply = json!({ "content": [{ "type": "text", "text": long }], "isError": true });
        assert_eq!(message(reply.clone()), "é".repeat(MESSAGE) + "…");
        assert_eq!(mcp_result(reply).texts().collect::<Vec<_>>(), [long]);
    }

    #[test]
    fn input_and_tasks_are_errors_of_the_tool() {
        assert_eq!(
            error(json!({ "resultType": "input_required", "inputRequests": {} })),
            (ErrorKind::Tool, None, "the server asked for input (`input_required`) instead of answering".to_owned())
        );
        assert_eq!(
            error(json!({ "resultType": "task", "content": [], "task": {} })),
            (ErrorKind::Tool, None, "the server started a task (`task`) instead of answering".to_owned())
        );
    }

    #[test]
    fn an_invalid_result_is_an_error_that_says_why() {
        let cases = [
            (json!([]), "its result is a list of 0, not an object"),
            (json!({}), "it has no `content`"),
            (json!({ "content": null }), "its `content` is null, not a list"),
            (json!({ "content": "hi" }), "its `content` is a string (\"hi\"), not a list"),
            (json!({ "content": ["hi"] }), "`content[0]` is a string (\"hi\"), not an object"),
            (json!({ "content": [{ "type": "image" }, {}] }), "`content[1]` has no `type`"),
            (json!({ "content": [{ "type": "text" }] }), "`content[0]` is a text block without text"),
            (json!({ "content": [], "isError": "yes" }), "its `isError` is a string (\"yes\"), not a boolean"),
            (json!({ "content": [], "resultType": 5 }), "its `resultType` is a number (5), not text"),
            (json!({ "content": [], "resultType": "maybe" }), "its `resultType` is `maybe`"),
        ];
        for (reply, why) in cases {
            let message = format!("the server's reply is not a valid tools/call result: {why}");
            assert_eq!(error(reply), (ErrorKind::Jsonrpc, None, message));
        }
    }
}
