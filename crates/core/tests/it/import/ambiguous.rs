//! Recordings that are incomplete or contradict themselves: what is not recorded stays unknown, and what is unclear is
//! refused. None of them becomes a trace without calls.

use mcptest_core::import::Format;

use super::{read, refusal};

/// The names of the calls of a record with one trace; `None` where they are unknown.
fn calls(format: Format, text: &str) -> Option<Vec<String>> {
    let trace = read(format, text).unwrap().remove(0).trace;
    assert_eq!(trace.tool_calls.as_ref().map(Vec::len), trace.tool_results.as_ref().map(Vec::len), "{text}");
    trace.tool_calls.map(|calls| calls.into_iter().map(|call| call.name).collect())
}

#[test]
fn calls_are_unknown_without_a_message_of_the_model() {
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
fn a_sample_without_messages_keeps_its_other_data() {
    let text = r#"{"id": 1, "epoch": 1, "input": "", "target": "", "messages": [], "output": {"model": "m", "choices": [
        {"message": {"role": "assistant", "content": "Sent."}, "stop_reason": "stop"}]},
        "model_usage": {"m": {"input_tokens": 5, "output_tokens": 2, "total_tokens": 7}}}"#;
    let envelope = read(Format::Inspect, text).unwrap().remove(0).trace.to_envelope();
    let known = r#"{"conversation": {"model": "m", "stop_reason": "completed",
        "tokens": {"input": 5, "output": 2, "total": 7}}}"#;
    assert_eq!(envelope, serde_json::from_str::<serde_json::Value>(known).unwrap());
}

#[test]
fn the_closing_message_is_the_last_of_the_model_and_empty_when_it_has_only_calls() {
    let cases = [
        (
            Format::OpenaiChat,
            r#"[{"role": "assistant", "content": "I will send it."}, {"role": "assistant", "content": null, "tool_calls": [
                {"id": "a", "function": {"name": "f", "arguments": "{}"}}]}, {"role": "tool", "tool_call_id": "a", "content": "x"}]"#,
        ),
        (
            Format::Anthropic,
            r#"[{"role": "assistant", "content": "I will send it."}, {"role": "assistant", "content": [
                {"type": "tool_use", "id": "a", "name": "f", "input": {}}]}]"#,
        ),
        (
            Format::Langchain,
            r#"[{"type": "ai", "content": "I will send it."},
                {"type": "ai", "content": "", "tool_calls": [{"name": "f", "args": {}, "id": "a"}]}]"#,
        ),
        (
            Format::OpenaiResponses,
            r#"[{"type": "message", "role": "assistant", "content": "I will send it."},
                {"type": "message", "role": "user", "content": "Go on."},
                {"type": "function_call", "name": "f", "arguments": "{}", "call_id": "a"}]"#,
        ),
        (
            Format::Inspect,
            r#"{"id": 1, "messages": [{"role": "assistant", "content": "I will send it."},
                {"role": "assistant", "content": "", "tool_calls": [{"id": "a", "function": "f", "arguments": {}}]}]}"#,
        ),
        (
            Format::ClaudeCode,
            r#"[{"type": "assistant", "sessionId": "s", "message": {"id": "m", "content": "I will send it."}},
                {"type": "assistant", "sessionId": "s", "message": {"id": "n", "content": [
                {"type": "tool_use", "id": "a", "name": "f", "input": {}}]}}]"#,
        ),
    ];
    for (format, text) in cases {
        assert_eq!(read(format, text).unwrap()[0].trace.final_response.as_deref(), Some(""), "{text}");
    }
}

#[test]
fn the_closing_message_is_unknown_when_the_end_of_a_stream_has_another_text() {
    let stream = |said: &str, end: &str| {
        format!(
            r#"[{{"type": "assistant", "session_id": "t", "message": {{"id": "m", "content": [{said}]}}}},
                {{"type": "result", "session_id": "t", {end}}}]"#
        )
    };
    let (call, said) = (
        r#"{"type": "tool_use", "id": "a", "name": "f", "input": {}}"#,
        r#"{"type": "text", "text": "Looked."}, {"type": "text", "text": "All sent."}"#,
    );
    let good = r#""subtype": "success", "is_error": false, "result": "All sent.""#;
    for (said, end, expected) in [
        (call, good, None),
        (r#"{"type": "text", "text": "Not yet."}"#, good, None),
        (said, good, Some("Looked.\nAll sent.")),
        (said, r#""subtype": "success", "is_error": false, "result": """#, Some("Looked.\nAll sent.")),
        (call, r#""subtype": "error_max_turns", "is_error": true"#, Some("")),
        (call, r#""subtype": "success", "is_error": true, "result": "no more credit""#, Some("")),
    ] {
        let text = stream(said, end);
        let trace = read(Format::ClaudeCode, &text).unwrap().remove(0).trace;
        assert_eq!(trace.final_response.as_deref(), expected, "{text}");
    }
    // What follows the end of a run belongs to the next run, which has not ended.
    let text = stream(call, good).replace("]\n", "").replacen(
        r#""result": "All sent."}]"#,
        r#""result": "All sent."}, {"type": "assistant", "session_id": "t", "message": {"id": "n", "content": "Next."}}]"#,
        1,
    );
    assert_eq!(read(Format::ClaudeCode, &text).unwrap()[0].trace.final_response.as_deref(), Some("Next."));
}

#[test]
fn a_repeated_line_with_one_more_call_adds_that_call_once() {
    let block = |id: &str| format!(r#"{{"type": "tool_use", "id": "{id}", "name": "{id}", "input": {{}}}}"#);
    let text = r#"{"type": "text", "text": "On it."}"#.to_owned();
    let line = |blocks: &[&String]| {
        let blocks: Vec<&str> = blocks.iter().map(|block| block.as_str()).collect();
        format!(
            r#"{{"type": "assistant", "sessionId": "s", "uuid": "u", "message": {{"id": "m", "content": [{}]}}}}"#,
            blocks.join(",")
        )
    };
    let (a, b, c) = (block("a"), block("b"), block("c"));
    for (lines, expected) in [
        ([line(&[&a]), line(&[&a, &b]), line(&[&a, &b])], vec!["a", "b"]),
        ([line(&[&a]), line(&[&b]), line(&[&b, &c, &a])], vec!["a", "b", "c"]),
        ([line(&[&text]), line(&[&text, &a]), line(&[&a, &b])], vec!["a", "b"]),
    ] {
        let text = format!("[{}]", lines.join(","));
        assert_eq!(calls(Format::ClaudeCode, &text).unwrap(), expected, "{text}");
    }
    let lines = format!("[{},{}]", line(&[&text, &a]), line(&[&text, &a, &b]));
    let trace = read(Format::ClaudeCode, &lines).unwrap().remove(0).trace;
    assert_eq!(trace.final_response.as_deref(), Some("On it."));
    // A provider answers in the message with the call.
    let provided = r#"[{"type": "assistant", "sessionId": "s", "uuid": "u", "message": {"id": "m", "content": [
        {"type": "server_tool_use", "id": "a", "name": "web_search", "input": {}},
        {"type": "web_search_tool_result", "tool_use_id": "a", "content": []}]}}]"#;
    let trace = read(Format::ClaudeCode, provided).unwrap().remove(0).trace;
    assert!(trace.result(0).is_some());
}

#[test]
fn a_duplicate_key_is_refused_everywhere() {
    let call = r#"{"id": "a", "function": {"name": "f", "arguments": "{}"}}"#;
    let cases = [
        (
            Format::OpenaiChat,
            format!(r#"[{{"role": "assistant", "tool_calls": [{call}], "tool_calls": []}}]"#),
            "[0]: duplicate key \"tool_calls\"",
        ),
        (
            Format::OpenaiChat,
            r#"{"messages": [{"role": "user", "content": "Hi"}], "messages": []}"#.to_owned(),
            "duplicate key \"messages\"",
        ),
        (
            Format::OpenaiChat,
            r#"[{"role": "assistant", "tool_calls": [{"function": {"name": "f", "name": "g"}}]}]"#.to_owned(),
            "[0].tool_calls[0].function: duplicate key \"name\"",
        ),
        (
            Format::Anthropic,
            r#"[{"role": "assistant", "content": [{"type": "tool_use", "name": "f", "name": "g", "input": {}}]}]"#.to_owned(),
            "[0].content[0]: duplicate key \"name\"",
        ),
        (
            Format::OpenaiResponses,
            r#"[{"type": "function_call", "name": "f", "name": "g", "call_id": "a"}]"#.to_owned(),
            "[0]: duplicate key \"name\"",
        ),
        (
            Format::Langchain,
            r#"[{"type": "ai", "content": "", "tool_calls": [{"name": "f", "args": {}}], "tool_calls": []}]"#.to_owned(),
            "[0]: duplicate key \"tool_calls\"",
        ),
        (
            Format::Langchain,
            r#"{"values": {"messages": [{"type": "ai", "content": "x"}], "messages": []}, "outputs": {"messages": []}}"#.to_owned(),
            "values: duplicate key \"messages\"",
        ),
        (
            Format::Inspect,
            r#"{"id": 1, "messages": [{"role": "assistant", "content": "", "tool_calls": [], "tool_calls": []}]}"#.to_owned(),
            "messages[0]: duplicate key \"tool_calls\"",
        ),
        (
            Format::Inspect,
            r#"{"id": 1, "messages": [], "model_usage": {"m": {"input_tokens": 1}, "m": {"input_tokens": 2}}}"#.to_owned(),
            "model_usage: duplicate key \"m\"",
        ),
        (
            Format::Inspect,
            r#"{"id": 1, "messages": [{"role": "user", "content": "attachment://a"}], "attachments": {"a": "x", "a": "y"}}"#
                .to_owned(),
            "attachments: duplicate key \"a\"",
        ),
        (
            Format::Otel,
            r#"{"trace_id": "ab", "span_id": "1", "name": "x", "start_time": 1,
                "attributes": {"gen_ai.tool.name": "a", "gen_ai.tool.name": "b"}}"#.to_owned(),
            "attributes: duplicate key \"gen_ai.tool.name\"",
        ),
        (
            Format::Otlp,
            r#"{"resourceSpans": [{"scopeSpans": [{"spans": [{"traceId": "ab", "spanId": "1", "name": "x", "attributes": [
                {"key": "gen_ai.tool.name", "value": {"stringValue": "a"}},
                {"key": "gen_ai.tool.name", "value": {"stringValue": "b"}}]}]}]}]}"#.to_owned(),
            "a span (1): attribute `gen_ai.tool.name` occurs twice with different values",
        ),
        (
            Format::Otlp,
            r#"{"resourceSpans": [{"scopeSpans": [{"spans": [{"traceId": "ab", "spanId": "1", "name": "execute_tool t",
                "startTimeUnixNano": "1", "attributes": [{"key": "gen_ai.tool.call.arguments", "value": {"kvlistValue": {"values": [
                {"key": "n", "value": {"intValue": "1"}}, {"key": "n", "value": {"intValue": "2"}}]}}}]}]}]}]}"#.to_owned(),
            "span \"execute_tool t\" (1): attribute `gen_ai.tool.call.arguments`: duplicate key \"n\"",
        ),
        (
            Format::ClaudeCode,
            r#"{"type": "assistant", "sessionId": "s", "message": {"content": [], "content": "x"}}"#.to_owned(),
            "message: duplicate key \"content\"",
        ),
        (
            Format::Tau,
            r#"{"task_id": 1, "termination_reason": "x",
                "messages": [{"role": "assistant", "tool_calls": [{"name": "f"}], "tool_calls": []}]}"#.to_owned(),
            "messages[0]: duplicate key \"tool_calls\"",
        ),
    ];
    for (format, text, expected) in cases {
        assert_eq!(refusal(format, &text), expected, "{text}");
    }
    // Also under a key that is not read.
    for format in Format::ALL {
        let text = r#"{"unread": [{"x": 1, "x": 1}], "tool_calls": [], "trace": {}, "messages": []}"#;
        assert_eq!(refusal(*format, text), "unread[0]: duplicate key \"x\"", "{format}");
        let text = r#"{"unread": "\ud800", "tool_calls": [], "trace": {}, "messages": []}"#;
        assert_eq!(refusal(*format, text), "unexpected end of hex escape", "{format}");
    }
    let same = r#"{"resourceSpans": [{"scopeSpans": [{"spans": [{"traceId": "ab", "spanId": "1", "name": "execute_tool t",
        "startTimeUnixNano": "1", "attributes": [{"key": "k", "value": {"intValue": "1"}},
        {"key": "k", "value": {"intValue": "1"}}]}]}]}]}"#;
    assert_eq!(calls(Format::Otlp, same).unwrap(), ["t"]);
}

#[test]
fn a_reply_alone_is_refused_but_not_a_conversation_that_begins_with_one() {
    let why = "a message or a reply alone is not a whole run / calls before it would be missing;";
    let of = |format: Format, text: &str| {
        assert_eq!(
            refusal(format, text),
            format!(
                "the list has only a message of the model: {why} put everything that was sent before it into the list"
            ),
            "{text}"
        );
    };
    let greeting = r#"{"role": "assistant", "content": "Anything else?"}"#;
    let question = r#"{"role": "user", "content": "No"}"#;
    for format in [Format::OpenaiChat, Format::Anthropic, Format::VercelAi, Format::OpenaiResponses] {
        of(format, &format!("[{greeting}]"));
        assert_eq!(calls(format, &format!("[{greeting}, {question}]")), Some(vec![]), "{format}");
    }
    let item = r#"{"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "Done."}]}"#;
    of(Format::OpenaiResponses, &format!(r#"[{{"type": "reasoning", "summary": []}}, {item}]"#));
    let system = r#"{"role": "system", "content": "Be brief."}"#;
    assert_eq!(calls(Format::OpenaiResponses, &format!("[{system}, {item}]")), Some(vec![]));
    of(Format::Bedrock, r#"[{"role": "assistant", "content": [{"text": "Done."}]}]"#);
    of(Format::PydanticAi, r#"[{"kind": "response", "parts": [{"part_kind": "text", "content": "Done."}]}]"#);
    let message = r#"{"type": "ai", "content": "Done.", "tool_calls": []}"#;
    of(Format::Langchain, &format!("[{message}]"));
    assert_eq!(
        refusal(Format::Langchain, message),
        format!("it has no `messages`: {why} add everything that was sent as `messages`")
    );
    assert_eq!(
        calls(Format::Langchain, &format!(r#"[{message}, {{"type": "human", "content": "No"}}]"#)),
        Some(vec![])
    );
}

#[test]
fn calls_under_a_key_of_another_program_are_refused_but_an_empty_key_is_not() {
    let chat =
        |key: &str| format!(r#"[{{"role": "assistant", "content": "", {key}}}, {{"role": "user", "content": "Hi"}}]"#);
    let hint = " / a trace without those calls could pass by mistake; write them as this format does";
    for (format, around, place) in [
        (Format::OpenaiChat, ["", ""], "messages[0]"),
        (Format::Anthropic, ["", ""], "[0]"),
        (Format::OpenaiResponses, ["", ""], "items[0]"),
        (Format::Inspect, [r#"{"id": 1, "messages": "#, "}"], "messages[0]"),
        (Format::Tau, [r#"{"task_id": 1, "traj": "#, "}"], "traj[0]"),
        (Format::Tau, [r#"{"task_id": 1, "termination_reason": "x", "messages": "#, "}"], "messages[0]"),
    ] {
        for (key, filled) in [
            ("toolCalls", r#"[{"id": "a", "name": "f"}]"#),
            (
                "toolInvocations",
                r#"[{"state": "result", "toolCallId": "a", "toolName": "f", "args": {}, "result": 1}]"#,
            ),
        ] {
            let of = |value: &str| format!("{}{}{}", around[0], chat(&format!("\"{key}\": {value}")), around[1]);
            let expected = format!("{place}.{key} is not a key of this format, and could hold calls{hint}");
            assert_eq!(refusal(format, &of(filled)), expected);
            for empty in ["[]", "null"] {
                assert_eq!(calls(format, &of(empty)), Some(vec![]), "{format:?} {key}");
            }
        }
    }
    let of = |key: &str, value: &str| chat(&format!("\"{key}\": {value}"));
    let call = r#"{"name": "f", "arguments": "{}"}"#;
    for (format, text, expected) in [
        (Format::OpenaiChat, of("functionCall", call), "messages[0].functionCall"),
        (Format::OpenaiChat, of("parts", r#"[{"type": "tool-f", "toolCallId": "a"}]"#), "messages[0].parts"),
        (
            Format::OpenaiChat,
            of("additional_kwargs", &format!(r#"{{"tool_calls": [{call}]}}"#)),
            "messages[0].additional_kwargs.tool_calls",
        ),
        (Format::OpenaiChat, of("blocks", r#"[{"block_type": "tool_call"}]"#), "messages[0].blocks"),
        (Format::Anthropic, of("function_call", call), "[0].function_call"),
        (Format::OpenaiResponses, of("function_call", call), "items[0].function_call"),
        (
            Format::OpenaiChat,
            format!(r#"{{"messages": {}, "steps": [{{"toolCalls": [{call}]}}]}}"#, chat("\"name\": null")),
            "record.steps",
        ),
        (
            Format::OpenaiChat,
            format!(r#"{{"messages": {}, "toolCalls": [{call}]}}"#, chat("\"name\": null")),
            "record.toolCalls",
        ),
        (Format::Langchain, format!(r#"[{{"type": "ai", "content": "", "toolCalls": [{call}]}}]"#), "[0].toolCalls"),
        (
            Format::Langchain,
            format!(r#"[{{"type": "ai", "data": {{"content": "", "function_call": {call}}}}}]"#),
            "[0].function_call",
        ),
    ] {
        assert_eq!(
            refusal(format, &text),
            format!("{expected} is not a key of this format, and could hold calls{hint}")
        );
    }
    assert_eq!(calls(Format::OpenaiChat, &of("additional_kwargs", r#"{"refusal": null}"#)), Some(vec![]));
    let steps = format!(r#"{{"messages": {}, "steps": 3}}"#, chat("\"name\": null"));
    assert_eq!(calls(Format::OpenaiChat, &steps), Some(vec![]));
    let span = serde_json::json!({
        "trace_id": "ab", "span_id": "1", "name": "chat", "start_time": 1,
        "attributes": { "gen_ai.operation.name": "chat",
            "gen_ai.output.messages": [{ "role": "assistant", "toolInvocations": [{ "toolName": "f" }] }] },
    });
    assert_eq!(
        refusal(Format::Otel, &span.to_string()),
        format!(
            "span \"chat\" (1): gen_ai.output.messages[0]: message.toolInvocations is not a key of this format, and could hold calls{hint}"
        )
    );
}

#[test]
fn tools_that_ran_inside_a_run_must_be_calls_of_its_messages() {
    let run = |calls: &str, runs: &str| {
        format!(
            r#"{{"id": "r", "run_type": "chain", "inputs": {{"messages": [{{"type": "human", "content": "Hi"}}]}}, "outputs": {{"messages": [
                {{"type": "human", "content": "Hi"}}, {{"type": "ai", "content": "", "tool_calls": [{calls}]}}]}}, "child_runs": [{runs}]}}"#
        )
    };
    let call = r#"{"name": "mcp__s__f", "args": {}, "id": "a"}"#;
    let inside = |name: &str| {
        format!(
            r#"{{"run_type": "chain", "name": "tools", "child_runs": [{{"run_type": "tool", "name": "{name}", "child_runs": []}}]}}"#
        )
    };
    assert_eq!(calls(Format::Langchain, &run(call, &inside("mcp__s__f"))).unwrap(), ["f"]);
    assert_eq!(calls(Format::Langchain, &run(call, "")).unwrap(), ["f"]);
    let hint = "a trace without those calls could pass by mistake; runs with messages can be scored by themselves";
    for (calls, runs, [ran, called]) in [("", inside("f"), [1, 0]), (call, format!("{0},{0}", inside("f")), [2, 1])] {
        assert_eq!(
            refusal(Format::Langchain, &run(calls, &runs)),
            format!("child_runs has {ran} runs of the tool \"f\", but the messages have {called} calls of it / {hint}")
        );
    }
}

#[test]
fn a_repeated_conversation_is_read_once_from_its_longest_copy() {
    let (hi, bye) =
        (r#"{"role": "user", "content": "Hi"}"#, r#"{"role": "assistant", "content": "Bye", "refusal": null}"#);
    let call = |id: &str| {
        format!(
            r#"{{"role": "assistant", "content": null, "tool_calls": [{{"id": "{id}", "function": {{"name": "{id}"}}}}]}}"#
        )
    };
    let (a, b) = (call("a"), call("b"));
    let answer = r#"{"role": "tool", "tool_call_id": "a", "content": "x"}"#;
    let whole = format!("[{hi}, {a}, {answer}, {bye}]");
    let chat = [
        (format!(r#"{{"messages": {whole}, "output": "Bye"}}"#), vec!["a"]),
        (format!(r#"{{"messages": {whole}, "output": {bye}, "input": "Hi"}}"#), vec!["a"]),
        (format!(r#"{{"messages": {whole}, "output": [{answer}, {bye}], "input": [{hi}]}}"#), vec!["a"]),
        (format!(r#"{{"messages": [{hi}], "output": {whole}}}"#), vec!["a"]),
        (format!(r#"{{"messages": [{hi}], "outputs": {{"messages": {whole}}}, "output": "Bye"}}"#), vec!["a"]),
        (format!(r#"{{"messages": {whole}, "request": {{"messages": [{hi}]}}}}"#), vec!["a"]),
        (format!(r#"{{"messages": [{hi}], "request": {{"messages": {whole}}}}}"#), vec!["a"]),
        (
            format!(
                r#"{{"messages": {whole}, "request": {{"messages": [{hi}]}}, "response": {{"choices": [{{"message": {a}}}]}}}}"#
            ),
            vec!["a"],
        ),
        (
            format!(
                r#"{{"messages": [{hi}], "request": {{"messages": [{hi}]}}, "response": {{"choices": [{{"message": {b}}}]}}}}"#
            ),
            vec!["b"],
        ),
        (format!(r#"{{"messages": {whole}, "output": {{"score": 3}}, "history": [], "outputs": [1, 2]}}"#), vec!["a"]),
    ];
    for (text, expected) in chat {
        assert_eq!(calls(Format::OpenaiChat, &text).unwrap(), expected, "{text}");
    }
    let (ask, use_a) = (
        r#"{"role": "user", "content": "Hi"}"#,
        r#""role": "assistant", "content": [{"type": "text", "text": "So"}, {"type": "tool_use", "id": "a", "name": "a", "input": {}}]"#,
    );
    let reply =
        format!(r#"{{"id": "m", "type": "message", {use_a}, "usage": {{"input_tokens": 1, "output_tokens": 2}}}}"#);
    for text in [
        format!(r#"{{"messages": [{ask}, {{{use_a}}}], "response": {reply}}}"#),
        format!(r#"{{"messages": [{ask}, {{{use_a}}}], {use_a}}}"#),
        format!(r#"{{"messages": [{ask}], "response": {reply}, {use_a}}}"#),
        format!(r#"{{"messages": [{ask}, {{{use_a}}}], "request": {{"messages": [{ask}]}}, "response": {reply}}}"#),
        format!(r#"{{"messages": [{ask}], "output": [{ask}, {{{use_a}}}]}}"#),
    ] {
        assert_eq!(calls(Format::Anthropic, &text).unwrap(), ["a"], "{text}");
    }
    let (human, ai) = (
        r#"{"type": "human", "content": "Hi"}"#,
        r#"{"type": "ai", "content": "", "tool_calls": [{"name": "a", "args": {}, "id": "a"}]}"#,
    );
    for text in [
        format!(r#"{{"messages": [{human}], "outputs": {{"messages": [{human}, {ai}]}}}}"#),
        format!(
            r#"{{"messages": [{human}, {ai}], "values": {{"messages": [{human}]}}, "outputs": {{"messages": [{ai}]}}}}"#
        ),
        format!(r#"{{"inputs": {{"messages": [{human}, {ai}]}}, "outputs": {{"messages": [{human}, {ai}]}}}}"#),
        format!(r#"{{"inputs": {{"messages": [["user", "Hey"]]}}, "outputs": {{"messages": [{human}, {ai}]}}}}"#),
    ] {
        assert_eq!(calls(Format::Langchain, &text).unwrap(), ["a"], "{text}");
    }
    let item = r#"{"type": "function_call", "name": "a", "call_id": "a", "arguments": "{}"}"#;
    for text in [
        format!(r#"{{"input": "Hi", "output": [{item}], "messages": [{hi}, {item}]}}"#),
        format!(r#"{{"output": [{item}], "messages": [{hi}, {item}], "conversation": {{"id": "c"}}}}"#),
        format!(r#"{{"input": [{hi}], "output": [{item}], "messages": [{hi}]}}"#),
    ] {
        assert_eq!(calls(Format::OpenaiResponses, &text).unwrap(), ["a"], "{text}");
    }
}

#[test]
fn a_record_with_two_conversations_is_refused_with_both_keys() {
    let call = r#"{"role": "assistant", "content": null, "tool_calls": [{"id": "a", "function": {"name": "f"}}]}"#;
    let (hi, bye) = (r#"{"role": "user", "content": "Hi"}"#, r#"{"role": "assistant", "content": "Bye"}"#);
    let messages = format!(r#""messages": [{hi}, {bye}]"#);
    let item = r#"{"type": "function_call", "name": "f", "call_id": "a"}"#;
    let (human, ai) = (r#"{"type": "human", "content": "Hi"}"#, r#"{"type": "ai", "content": "Bye"}"#);
    let used = r#""role": "assistant", "content": [{"type": "tool_use", "id": "a", "name": "f", "input": {}}]"#;
    let sample = r#""id": 1, "messages": [{"role": "assistant", "content": "Bye"}], "output": {"choices": [
        {"message": {"role": "assistant", "content": "", "tool_calls": [{"id": "a", "function": "f", "arguments": {}}]}}]}"#;
    let cases = [
        (Format::OpenaiChat, format!(r#"{{{messages}, "output": {call}}}"#), ["messages", "output"]),
        (Format::OpenaiChat, format!(r#"{{{messages}, "output": [{hi}, {call}]}}"#), ["messages", "output"]),
        (Format::OpenaiChat, format!(r#"{{{messages}, "output": [{item}]}}"#), ["messages", "output"]),
        (Format::OpenaiChat, format!(r#"{{{messages}, "output": "Sent."}}"#), ["messages", "output"]),
        (Format::OpenaiChat, format!(r#"{{"messages": [{hi}], "completion": "Sent."}}"#), ["messages", "completion"]),
        (
            Format::OpenaiChat,
            format!(r#"{{{messages}, "output": {{"choices": [{{"message": {call}}}]}}}}"#),
            ["messages", "output"],
        ),
        (
            Format::OpenaiChat,
            format!(r#"{{{messages}, "request": {{"messages": [{hi}, {call}]}}}}"#),
            ["messages", "request.messages"],
        ),
        (
            Format::OpenaiChat,
            format!(r#"{{"request": {{"messages": [{hi}, {bye}]}}, "conversation": [{hi}, {call}]}}"#),
            ["request.messages", "conversation"],
        ),
        (
            Format::Anthropic,
            format!(r#"{{{messages}, "request": {{"messages": [{{{used}}}]}}}}"#),
            ["messages", "request"],
        ),
        (Format::Anthropic, format!(r#"{{"messages": [{hi}], "response": {bye}, {used}}}"#), ["response", "content"]),
        (
            Format::Langchain,
            format!(
                r#"{{"messages": [{human}, {ai}], "outputs": {{"messages": [{human}]}}, "values": {{"messages": [{ai}, {human}]}}}}"#
            ),
            ["messages", "values.messages"],
        ),
        (
            Format::Langchain,
            format!(r#"{{"inputs": {{"messages": [{human}, {call}]}}, "outputs": {{"messages": [{human}, {ai}]}}}}"#),
            ["inputs.messages", "outputs.messages"],
        ),
        (
            Format::OpenaiResponses,
            format!(
                r#"{{"messages": [{hi}, {call}], "output": [{{"type": "message", "role": "assistant", "content": "Bye"}}]}}"#
            ),
            ["output", "messages"],
        ),
        (Format::Tau, format!(r#"{{"task_id": 1, "traj": [{hi}], "messages": [{bye}]}}"#), ["traj", "messages"]),
        (Format::Tau, format!(r#"{{"simulations": [], "messages": [{bye}]}}"#), ["simulations", "messages"]),
        (Format::Inspect, format!("{{{sample}}}"), ["messages", "output"]),
    ];
    let hint = "one must be the beginning or the end of the other; keep the one that is right";
    for (format, text, [one, other]) in cases {
        let expected = format!("`{one}` and `{other}` hold different conversations / {hint}");
        assert_eq!(refusal(format, &text), expected, "{text}");
    }
    // A limit stops a sample before the calls of its last reply.
    let stopped = format!(r#"{{{sample}, "limit": {{"type": "message", "limit": 1}}}}"#);
    assert_eq!(calls(Format::Inspect, &stopped), Some(vec![]));
    let steps = format!(r#"{{"messages": [{human}, {ai}], "intermediate_steps": [[{{"tool": "f"}}, "x"]]}}"#);
    assert_eq!(
        refusal(Format::Langchain, &steps),
        "record.intermediate_steps is not a key of this format, and could hold calls / a trace without those calls could pass by \
         mistake; write them as this format does"
    );
}

#[test]
fn copies_that_differ_in_whether_a_call_failed_are_refused() {
    let hint = "one must be the beginning or the end of the other; keep the one that is right";
    let langchain = |one: &str, other: &str| {
        let list = |state: &str| {
            format!(
                r#"[{{"type": "ai", "content": "", "tool_calls": [{{"name": "f", "args": {{}}, "id": "a"}}]}},
                    {{"type": "tool", "tool_call_id": "a", "content": "x"{state}}}]"#
            )
        };
        format!(r#"{{"messages": {}, "outputs": {{"messages": {}}}}}"#, list(one), list(other))
    };
    let responses = |one: &str, other: &str| {
        let list = |state: &str| {
            format!(
                r#"[{{"type": "mcp_call", "id": "a", "name": "f", "arguments": "{{}}", "output": "x"{state}}},
                    {{"type": "message", "role": "assistant", "status": "incomplete", "content": "Bye"}}]"#
            )
        };
        // The status of a reply says nothing about a call.
        let again = list(other).replace(r#""status": "incomplete", "#, "");
        format!(r#"{{"output": {}, "messages": {again}}}"#, list(one))
    };
    let (good, bad) = (r#", "status": "success""#, r#", "status": "error""#);
    let (done, failed) = (r#", "status": "completed""#, r#", "status": "failed""#);
    let (none, lost) = (r#", "error": null"#, r#", "error": "lost""#);
    for (one, other, agree) in [
        (good, good, true),
        (bad, bad, true),
        (good, "", true),
        (good, bad, false),
        ("", bad, false),
        (good, r#", "status": "odd""#, false),
    ] {
        for text in [langchain(one, other), langchain(other, one)] {
            if agree {
                assert_eq!(calls(Format::Langchain, &text).unwrap(), ["f"], "{text}");
            } else {
                let expected = format!("`messages` and `outputs.messages` hold different conversations / {hint}");
                assert_eq!(refusal(Format::Langchain, &text), expected, "{text}");
            }
        }
    }
    for (one, other, agree) in [
        (done, done, true),
        (failed, failed, true),
        (lost, lost, true),
        (done, "", true),
        (none, "", true),
        (r#", "status": "in_progress""#, done, true),
        (done, failed, false),
        ("", failed, false),
        (done, r#", "status": "incomplete""#, false),
        (none, lost, false),
        ("", lost, false),
        (lost, r#", "error": "late""#, false),
    ] {
        for text in [responses(one, other), responses(other, one)] {
            if agree {
                assert_eq!(calls(Format::OpenaiResponses, &text).unwrap(), ["f"], "{text}");
            } else {
                let expected = format!("`output` and `messages` hold different conversations / {hint}");
                assert_eq!(refusal(Format::OpenaiResponses, &text), expected, "{text}");
            }
        }
    }
}

#[test]
fn calls_next_to_a_conversation_are_refused_under_any_key() {
    let said = r#""messages": [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Bye"}]"#;
    let call = r#"{"role": "assistant", "content": null, "tool_calls": [{"id": "a", "function": {"name": "f"}}]}"#;
    let used = r#"{"role": "assistant", "content": [{"type": "tool_use", "id": "a", "name": "f", "input": {}}]}"#;
    let old = r#"{"role": "assistant", "content": null, "function_call": {"name": "f"}}"#;
    let list = format!("[{call}]");
    let cases = [
        ("output", format!(r#"{{"message": {call}}}"#)),
        ("outputs", format!(r#"{{"result": {{"message": {old}}}}}"#)),
        ("result", format!(r#"{{"messages": {list}}}"#)),
        ("trajectory", list.clone()),
        ("turns", format!(r#"[{{"message": {used}}}]"#)),
        ("trace", format!("[{old}]")),
        ("chat_history", list.clone()),
        ("conversation_history", list.clone()),
        ("all_messages", list.clone()),
        ("new_messages", list.clone()),
        ("function_calls", r#"[{"name": "f", "arguments": "{}"}]"#.to_owned()),
        ("tool_uses", r#"[{"name": "f", "input": {}}]"#.to_owned()),
        ("actions", r#"[{"type": "tool_call", "name": "f"}]"#.to_owned()),
        ("events", r#"[{"type": "function_call", "name": "f", "arguments": "{}"}]"#.to_owned()),
        ("any_other", serde_json::to_string(&list).unwrap()),
    ];
    for (key, value) in cases {
        let text = format!(r#"{{{said}, "{key}": {value}}}"#);
        assert_eq!(
            refusal(Format::OpenaiChat, &text),
            format!(
                "record.{key} is not a key of this format, and could hold calls / a trace without those calls could pass by \
                 mistake; write them as this format does"
            )
        );
    }
    // Tools to call and expected calls are not calls that were made.
    for other in [
        r#""tools": [{"type": "function", "function": {"name": "f", "parameters": {"tool_calls": [1]}}}]"#.to_owned(),
        format!(r#""functions": {list}"#),
        format!(r#""metadata": {{"of": {list}}}"#),
        format!(r#""expected": {list}, "ground_truth": {call}"#),
        r#""info": {"task": {"actions": [{"name": "f", "arguments": {}}]}}"#.to_owned(),
        r#""function_call": {"name": "f"}, "tool_choice": "auto""#.to_owned(),
        r#""trajectory": [{"role": "assistant", "content": "Bye", "tool_calls": [], "function_call": null}]"#
            .to_owned(),
        r#""counts": {"tool_calls": 0}, "note": "no tool_calls""#.to_owned(),
    ] {
        let text = format!("{{{said}, {other}}}");
        assert_eq!(calls(Format::OpenaiChat, &text), Some(vec![]), "{text}");
    }
}
