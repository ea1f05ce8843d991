//! Conversations of Chat Completions: fixtures, recognition and refusals.

use mcptest_core::import::{Format, Unit};

use super::{check_fixtures, read, read_with, refusal, sniffed};

#[test]
fn fixtures() {
    check_fixtures(Format::OpenaiChat);
}

#[test]
fn paths_are_looked_up_in_the_record_itself() {
    let text = r#"{"id": "x", "mood": "calm", "messages": [{"role": "user", "content": "Hi"}]}"#;
    assert_eq!(read(Format::OpenaiChat, text).unwrap()[0].fields, text);
}

#[test]
fn servers_are_found_by_the_given_prefixes() {
    let text = r#"[{"role": "assistant", "tool_calls": [
        {"id": "a", "type": "function", "function": {"name": "home_dim", "arguments": "{}"}},
        {"id": "b", "type": "custom", "custom": {"name": "home_note", "input": "x"}}]}]"#;
    let one = read_with(Format::OpenaiChat, text, &["home_"]).unwrap().remove(0);
    let calls = one.trace.tool_calls.unwrap();
    let names: Vec<(Option<&str>, &str)> = calls.iter().map(|call| (call.server.as_deref(), &*call.name)).collect();
    assert_eq!(names, [(Some("home"), "dim"), (Some("home"), "note")]);
}

#[test]
fn conversations_are_recognized_by_their_messages() {
    let cases = [
        (r#"{"role": "user", "content": "Hi"}"#, Some(Unit::Message)),
        (r#"{"role": "assistant", "content": null}"#, Some(Unit::Message)),
        (r#"{"role": "assistant", "refusal": "No."}"#, Some(Unit::Message)),
        (r#"{"role": "tool", "tool_call_id": "a", "content": "x"}"#, Some(Unit::Message)),
        (r#"[{"role": "user", "content": "Hi"}]"#, Some(Unit::Record)),
        (r#"{"messages": [{"role": "user", "content": [{"type": "text", "text": "Hi"}]}]}"#, Some(Unit::Record)),
        (r#"{"object": "chat.completion", "choices": []}"#, Some(Unit::Record)),
        (
            r#"{"request": {"messages": [{"role": "user", "content": "Hi"}]}, "response": {"choices": []}}"#,
            Some(Unit::Record),
        ),
        ("[]", None),
        (r#"{"messages": []}"#, None),
        (r#"{"role": "owner", "content": "Hi"}"#, None),
        (r#"{"role": "user", "parts": [{"type": "text", "content": "Hi"}]}"#, None),
        (r#"{"role": "user", "content": {"text": "Hi"}}"#, None),
        (r#"{"role": "user", "content": [{"type": "tool_result", "tool_use_id": "a"}]}"#, None),
        (r#"{"role": "assistant", "content": [{"type": "tool_use", "id": "a", "name": "f", "input": {}}]}"#, None),
        (r#"{"role": "user", "content": ["Hi"]}"#, None),
        (
            r#"{"role": "assistant", "content": "", "tool_calls": [{"id": "a", "function": "f", "arguments": {}}]}"#,
            None,
        ),
        (r#"{"role": "assistant", "content": "", "tool_calls": [{"id": "a", "name": "f", "args": {}}]}"#, None),
        (r#"{"role": "tool", "id": "a", "requestor": "assistant", "content": "x"}"#, None),
        (r#"{"type": "human", "content": "Hi"}"#, None),
        (r#"{"system": "Be kind.", "messages": [{"role": "user", "content": "Hi"}]}"#, None),
        (r#"{"id": 1, "epoch": 1, "messages": [{"role": "user", "content": "Hi"}]}"#, None),
    ];
    for (text, expected) in cases {
        let found = sniffed(text).filter(|(format, _)| *format == Format::OpenaiChat).map(|(_, unit)| unit);
        assert_eq!(found, expected, "{text}");
    }
}

#[test]
fn unreadable_parts_are_rejected_with_their_path() {
    let cases = [
        (
            r#"[{"role": "user", "content": "Hi"}, {"role": "assistant", "content": [{"type": "text", "text": "x"}, {"type": "tool_use", "id": "a", "name": "f", "input": {}}]}]"#,
            "messages[1].content[1].type is \"tool_use\", which is not understood / this looks like `anthropic`",
        ),
        (
            r#"[{"role": "user", "content": [{"type": "input_text", "text": "x"}]}]"#,
            "messages[0].content[0].type is \"input_text\", which is not understood / this looks like `openai-responses`",
        ),
        (
            r#"[{"role": "user", "content": [{"type": "tool-call", "text": "x"}]}]"#,
            "messages[0].content[0].type is \"tool-call\", which is not understood / known types are text, refusal, image_url, input_audio, video_url, audio_url, file, thinking, reasoning; any other part could hold a call",
        ),
        (
            r#"[{"role": "user", "content": [{"text": "x"}]}]"#,
            "messages[0].content[0] has no `type` / known types are text, refusal, image_url, input_audio, video_url, audio_url, file, thinking, reasoning; any other part could hold a call",
        ),
        (
            r#"[{"role": "user", "content": [{"type": "text"}]}]"#,
            "messages[0].content[0] is \"text\" and has no `text`",
        ),
        (r#"[{"type": "ai", "content": "x"}]"#, "messages[0] has no `role` / this looks like `langchain`"),
        (
            r#"[{"type": "function_call", "name": "f", "call_id": "a"}]"#,
            "messages[0] has no `role` / this looks like `openai-responses`",
        ),
        (r#"{"messages": [{}]}"#, "messages[0] has no `role` / every message of a conversation has a role"),
        (
            r#"[{"role": "human", "content": "x"}]"#,
            "messages[0].role must be system, developer, user, assistant, tool or function, found \"human\" / `--from` names the format of a record",
        ),
        (
            r#"[{"role": "user", "tool_calls": [{"id": "a", "function": {"name": "f", "arguments": "{}"}}]}]"#,
            "messages[0] has calls, but its role is \"user\" / only the assistant calls tools; for the calls of a simulated user use `--from tau`",
        ),
        (
            r#"[{"role": "assistant", "tool_calls": [{"id": "a", "name": "f", "args": {}, "type": "tool_call"}]}]"#,
            "messages[0].tool_calls[0].type must be function or custom, found \"tool_call\" / this looks like `langchain`",
        ),
        (
            r#"[{"role": "assistant", "tool_calls": [{"id": "a", "type": "magic"}]}]"#,
            "messages[0].tool_calls[0].type must be function or custom, found \"magic\"",
        ),
        (
            r#"[{"role": "assistant", "tool_calls": [{"id": "a", "type": "custom", "function": {"name": "f"}}]}]"#,
            "messages[0].tool_calls[0] has no `custom`",
        ),
        (
            r#"[{"role": "assistant", "tool_calls": [{"id": "a", "name": "f", "arguments": {}}]}]"#,
            "messages[0].tool_calls[0] has no `function` / a call has its name and arguments in `function`",
        ),
        (
            r#"[{"role": "assistant", "tool_calls": [{"id": "a", "function": {"name": "f", "arguments": {"n": 1, "n": 2}}}]}]"#,
            "[0].tool_calls[0].function.arguments: duplicate key \"n\"",
        ),
        (
            r#"[{"role": "assistant", "tool_calls": [{"id": "a", "function": "bash", "arguments": {}}]}]"#,
            "[0].tool_calls[0].function: expected an object with `name` and `arguments`, found a string (\"bash\")",
        ),
        (
            r#"[{"role": "user", "content": "Hi"}, {"role": "tool", "tool_call_id": "a", "content": "x"}]"#,
            "messages[1] answers the call \"a\", but no earlier call waits for that answer / the beginning of the record may be missing; a trace must be complete",
        ),
        (
            r#"[{"role": "assistant", "function_call": {"name": "f"}}, {"role": "function", "name": "g", "content": "x"}]"#,
            "messages[1] answers a call of \"g\", but no earlier call waits for that answer / the beginning of the record may be missing; a trace must be complete",
        ),
    ];
    for (text, expected) in cases {
        assert_eq!(refusal(Format::OpenaiChat, text), expected, "{text}");
    }
}

#[test]
fn a_record_that_is_not_one_conversation_with_one_reply_is_refused() {
    let cases = [
        ("[]", "there are no messages / an empty conversation cannot be evaluated"),
        (r#"{"messages": []}"#, "there are no messages / an empty conversation cannot be evaluated"),
        (
            r#"{"object": "chat.completion", "choices": []}"#,
            "it has no `messages`: a message or a reply alone is not a whole run / calls before it would be missing; add everything that was sent as `messages`",
        ),
        (
            r#"{"messages": [{"role": "user", "content": "Hi"}], "choices": [{"message": {"role": "assistant"}}, {"message": {"role": "assistant"}}]}"#,
            "choices must be one reply with a `message`, found 2 / keep the reply that the agent continued with",
        ),
        (
            r#"{"messages": [{"role": "user", "content": "Hi"}], "response": {"choices": [{"text": "x"}]}}"#,
            "response.choices must be one reply with a `message`, found one without / keep the reply that the agent continued with",
        ),
        (
            r#"{"messages": [{"role": "user", "content": "Hi"}], "response": {"output": []}}"#,
            "response has no `choices` / a reply has its message in `choices[0].message`",
        ),
        (
            r#"{"messages": [{"role": "user", "content": "Hi"}], "response": "Hello"}"#,
            "response: expected a completion with `choices`, found a string (\"Hello\")",
        ),
        (
            r#"{"messages": [{"role": "user", "content": "Hi"}], "choices": [], "response": {"choices": []}}"#,
            "it has both `choices` and `response` / keep the one that is the reply",
        ),
    ];
    for (text, expected) in cases {
        assert_eq!(refusal(Format::OpenaiChat, text), expected, "{text}");
    }
    let error = read(Format::OpenaiChat, "[{\"role\": \"user\",\n \"content\": 3}]").unwrap_err();
    assert_eq!(
        (error.message.as_str(), error.place),
        ("[0].content: expected a text or a list, found a number", Some(30))
    );
}

#[test]
fn a_reused_id_belongs_to_the_later_call() {
    let text = r#"[{"role":"assistant","content":null,"tool_calls":[{"id":"c","type":"function","function":{"name":"f","arguments":"{}"}}]},
        {"role":"assistant","content":null,"tool_calls":[{"id":"c","type":"function","function":{"name":"g","arguments":"{}"}}]},
        {"role":"tool","tool_call_id":"c","content":"done"}]"#;
    let trace = read(Format::OpenaiChat, text).unwrap().remove(0).trace;
    let answered: Vec<bool> = trace.tool_results.unwrap().iter().map(Option::is_some).collect();
    assert_eq!(answered, [false, true]);
}
