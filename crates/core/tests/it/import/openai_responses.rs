//! Items of Responses: fixtures, recognition and refusals.

use mcptest_core::import::{Format, Unit};

use super::{check_fixtures, read, read_with, refusal, sniffed};

#[test]
fn fixtures() {
    check_fixtures(Format::OpenaiResponses);
}

#[test]
fn paths_are_looked_up_in_the_record_itself() {
    let text = r#"{"object": "response", "mood": "calm", "input": "Hi", "output": []}"#;
    assert_eq!(read(Format::OpenaiResponses, text).unwrap()[0].fields, text);
}

#[test]
fn functions_have_their_server_in_the_name_and_mcp_calls_in_a_label() {
    let text = r#"[{"type": "function_call", "call_id": "a", "name": "mail_send", "arguments": "{}"},
        {"type": "mcp_call", "id": "b", "server_label": "post", "name": "mail_send", "arguments": "{}"},
        {"type": "web_search_call", "id": "c"}]"#;
    let one = read_with(Format::OpenaiResponses, text, &["mail_"]).unwrap().remove(0);
    let calls = one.trace.tool_calls.unwrap();
    let names: Vec<(Option<&str>, &str)> = calls.iter().map(|call| (call.server.as_deref(), &*call.name)).collect();
    assert_eq!(names, [(Some("mail"), "send"), (Some("post"), "mail_send"), (Some(""), "web_search")]);
}

#[test]
fn exchanges_are_recognized_by_their_items() {
    let cases = [
        (r#"{"object": "response", "output": []}"#, Some(Unit::Record)),
        (r#"{"object": "response", "conversation": {"id": "c"}, "output": []}"#, Some(Unit::Record)),
        (r#"{"input": "x", "output": [{"type": "function_call", "call_id": "a", "name": "f"}]}"#, Some(Unit::Record)),
        (r#"[{"role": "user", "content": "Hi"}, {"type": "reasoning", "id": "r", "summary": []}]"#, Some(Unit::Record)),
        (r#"{"type": "function_call", "call_id": "a", "name": "f", "arguments": "{}"}"#, Some(Unit::Message)),
        (r#"{"type": "function_call_output", "call_id": "a", "output": "x"}"#, Some(Unit::Message)),
        (r#"{"type": "mcp_call", "id": "a", "name": "f"}"#, Some(Unit::Message)),
        (r#"{"type": "web_search_call", "id": "a"}"#, Some(Unit::Message)),
        (r#"{"type": "message", "role": "user", "content": "Hi"}"#, Some(Unit::Message)),
        (
            r#"{"type": "message", "role": "user", "content": [{"type": "input_text", "text": "Hi"}]}"#,
            Some(Unit::Message),
        ),
        (r#"{"role": "user", "content": [{"type": "input_text", "text": "Hi"}]}"#, None),
        (r#"{"type": "message", "role": "assistant", "content": [{"type": "text", "text": "Hi"}]}"#, None),
        (r#"{"type": "message", "role": "assistant", "content": [], "stop_reason": "end_turn"}"#, None),
        (r#"{"type": "tool_call", "id": "a", "name": "f", "arguments": "{}"}"#, None),
        (r#"{"type": "assistant", "uuid": "a", "message": {"role": "assistant", "content": "x"}}"#, None),
        (r#"{"type": "ai", "content": "x"}"#, None),
        (r#"{"input": "x", "output": {"choices": []}}"#, None),
        (r#"{"input": "x", "output": []}"#, None),
        (r#"[{"role": "user", "content": "Hi"}, {"type": "ai", "content": "x"}]"#, None),
    ];
    for (text, expected) in cases {
        let found = sniffed(text).filter(|(format, _)| *format == Format::OpenaiResponses).map(|(_, unit)| unit);
        assert_eq!(found, expected, "{text}");
    }
}

#[test]
fn unreadable_parts_are_rejected_with_their_path() {
    let cases = [
        (
            r#"[{"role": "user", "content": "Hi"}, {"type": "levitation_call", "id": "a"}]"#,
            "items[1].type is \"levitation_call\", which is not understood / an unknown item could be a call, and calls are never left out",
        ),
        (
            r#"{"input": [{"type": "item_reference", "id": "msg_1"}], "output": []}"#,
            "input[0].type is \"item_reference\", which is not understood / the item it refers to is not in the record; a trace must be complete",
        ),
        (
            r#"{"output": [{"type": "compaction", "encrypted_content": "x"}]}"#,
            "output[0].type is \"compaction\", which is not understood / calls before it are not in the record; a trace must be complete",
        ),
        (
            r#"[{"type": "ai", "content": "x"}]"#,
            "items[0].type is \"ai\", which is not understood / this looks like `langchain`",
        ),
        (
            r#"[{"type": "assistant", "uuid": "a"}]"#,
            "items[0].type is \"assistant\", which is not understood / this looks like `claude-code`",
        ),
        (r#"[{"id": "a"}]"#, "items[0] has no `type` / every item except a message has a type"),
        (
            r#"[{"role": "tool", "tool_call_id": "a", "content": "x"}]"#,
            "items[0].role must be system, developer, user or assistant, found \"tool\" / this looks like `openai-chat`",
        ),
        (
            r#"[{"type": "message", "content": "x"}]"#,
            "items[0].role must be system, developer, user or assistant, found no such key / `--from` names the format of a record",
        ),
        (
            r#"[{"role": "assistant", "content": [{"type": "tool_use", "id": "a"}]}]"#,
            "items[0].content[0].type is \"tool_use\", which is not understood / this looks like `anthropic`",
        ),
        (
            r#"[{"role": "user", "content": [{"type": "image_url"}]}]"#,
            "items[0].content[0].type is \"image_url\", which is not understood / this looks like `openai-chat`",
        ),
        (
            r#"[{"role": "assistant", "content": null, "tool_calls": [{"id": "a", "function": {"name": "f"}}]}]"#,
            "items[0] has `tool_calls` / this looks like `openai-chat`",
        ),
        (r#"[{"type": "function_call", "call_id": "a"}]"#, "items[0] has no `name` / a call names its tool"),
        (r#"[{"type": "mcp_call", "id": "a"}]"#, "items[0] has no `name` / a call names its tool"),
        (r#"[{"type": "shell_call", "call_id": "a", "action": {"n": 1, "n": 2}}]"#, "[0].action: duplicate key \"n\""),
        (
            r#"[{"type": "function_call", "call_id": "a", "name": "f", "arguments": {"n": 1, "n": 2}}]"#,
            "[0].arguments: duplicate key \"n\"",
        ),
        (
            r#"[{"type": "function_call_output", "call_id": "a", "output": "x"}]"#,
            "items[0] answers the call \"a\", but no earlier call waits for that answer / the beginning of the record may be missing; a trace must be complete",
        ),
        ("[]", "there are no items / an empty conversation cannot be evaluated"),
        (
            r#"{"object": "response", "output": [{"type": "function_call", "call_id": "a", "name": "f", "arguments": "{}"}]}"#,
            "it has no `input`: a message or a reply alone is not a whole run / calls before it would be missing; add everything that was sent as `input`",
        ),
        (r#"{"object": "response"}"#, "it has no `output` / a reply has its items in `output`"),
        (
            r#"{"object": "response", "previous_response_id": "resp_0", "output": []}"#,
            "it continues the reply \"resp_0\", which is not in the record / a trace must be complete: put everything that was sent and received in `input` and `output`",
        ),
    ];
    for (text, expected) in cases {
        assert_eq!(refusal(Format::OpenaiResponses, text), expected, "{text}");
    }
    let error = read(Format::OpenaiResponses, r#"{"output": "none"}"#).unwrap_err();
    assert_eq!((error.message.as_str(), error.place), ("output: expected a list, found a string (\"none\")", Some(11)));
}
