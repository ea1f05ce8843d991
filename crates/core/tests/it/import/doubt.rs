//! Recordings that leave something open or contradict themselves: what is not known stays unknown, and what cannot be told
//! is refused. None of it becomes a trace without calls.

use mcptest_core::import::Format;

use super::read;

/// The names of the calls of a record with one trace; `None` where they are unknown.
fn calls(format: Format, text: &str) -> Option<Vec<String>> {
    let trace = read(format, text).unwrap().remove(0).trace;
    assert_eq!(trace.tool_calls.as_ref().map(Vec::len), trace.tool_results.as_ref().map(Vec::len), "{text}");
    trace.tool_calls.map(|calls| calls.into_iter().map(|call| call.name).collect())
}

#[test]
fn where_the_model_never_spoke_calls_are_unknown() {
    let alone = [
        (Format::OpenaiChat, r#"[{"role": "system", "content": "Be kind."}, {"role": "user", "content": "Hi"}]"#),
        (Format::OpenaiChat, r#"{"messages": [{"role": "user", "content": "Hi"}]}"#),
        (Format::Anthropic, r#"[{"role": "user", "content": "Hi"}]"#),
        (Format::OpenaiResponses, r#"[{"type": "message", "role": "user", "content": "Hi"}]"#),
        (Format::OpenaiResponses, r#"{"object": "response", "input": "Hi", "output": []}"#),
        (Format::Langchain, r#"[{"type": "human", "content": "Hi"}]"#),
        (Format::ClaudeCode, r#"{"type": "user", "sessionId": "s", "message": {"content": "Hi"}}"#),
        (Format::Tau, r#"{"task_id": 1, "traj": [{"role": "user", "content": "Hi"}]}"#),
        (Format::Tau, r#"{"task_id": 1, "termination_reason": "x", "messages": [{"role": "user", "content": "Hi"}]}"#),
        (Format::Inspect, r#"{"id": 1, "messages": [{"role": "user", "content": "Hi"}]}"#),
    ];
    for (format, text) in alone {
        assert_eq!(calls(format, text), None, "{text}");
    }
    let answered = r#"[{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Hello"}]"#;
    assert_eq!(calls(Format::OpenaiChat, answered), Some(vec![]));
}

#[test]
fn a_sample_that_kept_no_messages_is_one_of_which_only_the_rest_is_known() {
    let text = r#"{"id": 1, "epoch": 1, "input": "", "target": "", "messages": [], "output": {"model": "m", "choices": [
        {"message": {"role": "assistant", "content": "Sent."}, "stop_reason": "stop"}]},
        "model_usage": {"m": {"input_tokens": 5, "output_tokens": 2, "total_tokens": 7}}}"#;
    let envelope = read(Format::Inspect, text).unwrap().remove(0).trace.to_envelope();
    let known = r#"{"conversation": {"model": "m", "stop_reason": "completed",
        "tokens": {"input": 5, "output": 2, "total": 7}}}"#;
    assert_eq!(envelope, serde_json::from_str::<serde_json::Value>(known).unwrap());
}
