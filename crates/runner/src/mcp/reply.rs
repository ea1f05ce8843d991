//! From a raw reply to what a trace keeps. Pure.
//!
//! A reply that is not a result of `tools/call` becomes an error and never an empty success.

use mcptest_core::ledger::{error_result, invalid_result, mcp_result};
use mcptest_core::trace::{ErrorKind, ToolResult};
use serde_json::Value;

use super::exchange::{Failure, Reply, error_parts};

/// The result in a reply to `tools/call`.
pub(super) fn tool_result(reply: Reply) -> ToolResult {
    match reply {
        Reply::Error(error) => {
            let (code, message) = error_parts(&error);
            error_result(ErrorKind::Jsonrpc, code, &message)
        }
        Reply::Failed(Failure::Status(status, what)) => {
            error_result(ErrorKind::Http, Some(i64::from(status)), &format!("the server answered {what}"))
        }
        Reply::Failed(Failure::Broken(what)) => error_result(ErrorKind::Transport, None, &what),
        Reply::Failed(Failure::Unreadable(why)) => invalid_result(&why),
        Reply::Failed(Failure::Malformed(why)) => invalid_result(&format!("malformed JSON: {why}")),
        Reply::Result(result) => declined(&result).unwrap_or_else(|| mcp_result(result)),
    }
}

/// What a server wants instead of answering. That is the answer of the tool, like any other error that it reports, and not a
/// protocol error.
fn declined(result: &Value) -> Option<ToolResult> {
    let message = match result.get("resultType")?.as_str()? {
        "input_required" => "the server asked for input (`input_required`), which mcptest declines",
        "task" => "the server started a task instead of answering (`task`), which mcptest declines",
        _ => return None,
    };
    Some(error_result(ErrorKind::Tool, None, message))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_json_rpc_error_keeps_its_code() {
        let reply = Reply::Error(json!({ "code": -32602, "message": "Unknown tool: x", "data": {} }));
        let expected = error_result(ErrorKind::Jsonrpc, Some(-32602), "Unknown tool: x");
        assert_eq!(tool_result(reply), expected);
    }

    #[test]
    fn input_and_tasks_are_declined_as_errors_of_the_tool() {
        for (result, message) in [
            (
                json!({ "resultType": "input_required", "inputRequests": {} }),
                "the server asked for input (`input_required`), which mcptest declines",
            ),
            (
                json!({ "resultType": "task", "content": [], "task": {} }),
                "the server started a task instead of answering (`task`), which mcptest declines",
            ),
        ] {
            assert_eq!(tool_result(Reply::Result(result)), error_result(ErrorKind::Tool, None, message));
        }
    }
}
