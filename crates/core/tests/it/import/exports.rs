//! Formats of frameworks and platforms: their fixtures, how they are recognized, and what is refused.

use mcptest_core::import::{Format, Options, Unit, hint_for_unknown, sniff};
use serde_json::{Value, json};

use super::{check_fixtures, read, refusal, sniffed};

#[test]
fn fixtures() {
    for format in [
        Format::VercelAi,
        Format::PydanticAi,
        Format::Bedrock,
        Format::Adk,
        Format::Atif,
        Format::OpenaiAgents,
        Format::Langfuse,
        Format::Langsmith,
        Format::Openhands,
        Format::SweAgent,
        Format::Codex,
        Format::GeminiCli,
        Format::MockLog,
    ] {
        check_fixtures(format);
    }
}

#[test]
fn formats_are_recognized_by_unique_keys() {
    for (text, expected) in [
        (
            r#"[{"role": "user", "content": "Hi"}, {"role": "tool", "content": [{"type": "tool-result", "toolCallId": "a", "toolName": "f", "output": {"type": "text", "value": "x"}}]}]"#,
            (Format::VercelAi, Unit::Record),
        ),
        (r#"{"role": "assistant", "parts": [{"type": "step-start"}]}"#, (Format::VercelAi, Unit::Message)),
        (
            r#"[{"kind": "request", "parts": [{"part_kind": "user-prompt", "content": "Hi"}]}]"#,
            (Format::PydanticAi, Unit::Record),
        ),
        (r#"[{"role": "user", "content": [{"text": "Hi"}]}]"#, (Format::Bedrock, Unit::Record)),
        (r#"{"appName": "a", "id": "s", "userId": "u", "events": []}"#, (Format::Adk, Unit::Record)),
        (r#"{"schema_version": "ATIF-v1.0", "steps": []}"#, (Format::Atif, Unit::Record)),
        (r#"{"object": "trace", "id": "t", "workflow_name": "w"}"#, (Format::OpenaiAgents, Unit::Piece)),
        (
            r#"{"id": "o", "traceId": "t", "type": "SPAN", "startTime": "x", "parentObservationId": null}"#,
            (Format::Langfuse, Unit::Piece),
        ),
        (
            r#"{"id": "r", "trace_id": "t", "run_type": "llm", "name": "n", "start_time": "x", "dotted_order": "d"}"#,
            (Format::Langsmith, Unit::Piece),
        ),
        (
            r#"{"id": 1, "timestamp": "x", "source": "user", "action": "message", "args": {}}"#,
            (Format::Openhands, Unit::Message),
        ),
        (
            r#"[{"id": "e", "timestamp": "x", "source": "agent", "kind": "ActionEvent", "tool_name": "f"}]"#,
            (Format::Openhands, Unit::Record),
        ),
        (
            r#"{"history": [{"id": 1, "timestamp": "x", "source": "agent", "observation": "run"}]}"#,
            (Format::Openhands, Unit::Record),
        ),
        (r#"{"history": [{"role": "system", "content": "s", "agent": "main"}]}"#, (Format::SweAgent, Unit::Record)),
        (r#"{"type": "turn.started"}"#, (Format::Codex, Unit::Piece)),
        (r#"{"timestamp": "t", "type": "session_meta", "payload": {"id": "a"}}"#, (Format::Codex, Unit::Piece)),
        (r#"{"type": "init", "timestamp": "t", "session_id": "a", "model": "m"}"#, (Format::GeminiCli, Unit::Piece)),
        (r#"{"sessionId": "a", "projectHash": "b", "startTime": "t"}"#, (Format::GeminiCli, Unit::Piece)),
        (r#"{"seq": 1, "direction": "in", "raw": "x"}"#, (Format::MockLog, Unit::Piece)),
        // Phoenix and MLflow write spans inside a document.
        (
            r#"{"data": [{"id": "1", "context": {"trace_id": "t", "span_id": "s"}, "name": "n", "span_kind": "TOOL", "start_time": "x"}], "next_cursor": null}"#,
            (Format::Otel, Unit::Piece),
        ),
        (
            r#"{"info": {}, "data": {"spans": [{"trace_id": "t", "span_id": "s", "name": "n", "start_time_unix_nano": 1}]}}"#,
            (Format::Otel, Unit::Piece),
        ),
    ] {
        assert_eq!(sniffed(text), Some(expected), "{text}");
    }
    // Content without a type is Bedrock's; with one it is that of others.
    let others = r#"[{"role": "user", "content": [{"type": "text", "text": "Hi"}]}]"#;
    assert_eq!(sniff(others).map(|found| found.format), Some(Format::OpenaiChat));
}

#[test]
fn the_kind_of_a_span_may_be_outside_its_attributes() {
    let span = |kind: &str, id: &str, name: &str, attributes: Value| {
        json!({ "name": name, "span_kind": kind, "context": { "trace_id": "ab", "span_id": id }, "parent_id": null,
            "start_time": "2026-01-01T00:00:00+00:00", "end_time": "2026-01-01T00:00:01+00:00", "status_code": "OK", "attributes": attributes })
    };
    let document = json!({ "data": [
        span("TOOL", "a1", "get_weather", json!({ "input.value": "{\"city\": \"Oslo\"}", "output.value": "12" })),
        span("UNKNOWN", "a2", "other", json!({})),
    ] });
    let trace = read(Format::Otel, &document.to_string()).unwrap().remove(0).trace;
    let calls = trace.tool_calls.unwrap();
    assert_eq!(
        (calls.len(), &*calls[0].name, calls[0].args.clone()),
        (1, "get_weather", Some(json!({ "city": "Oslo" })))
    );
}

#[test]
fn an_unreadable_possible_call_is_rejected() {
    for (format, text, expected) in [
        (
            Format::VercelAi,
            r#"[{"role": "assistant", "content": [{"type": "tool-thing"}]}]"#,
            "[0]: content[0]: type \"tool-thing\" is not known, and could be a call or an answer / parts are `text`, `tool-call`, `tool-result`, `tool-` and a name, reasoning, data and files",
        ),
        (
            Format::VercelAi,
            r#"[{"role": "assistant", "parts": [{"type": "tool-f", "toolCallId": "a", "state": "lost"}]}]"#,
            "[0]: parts[0]: state must be the state of a call, found \"lost\"",
        ),
        (
            Format::VercelAi,
            r#"{"role": "assistant", "parts": [{"type": "step-start"}]}"#,
            "it has no `messages`: a message or a reply alone is not a whole run / calls before it would be missing; add everything that was sent as `messages`",
        ),
        (
            Format::PydanticAi,
            r#"[{"kind": "response", "parts": [{"part_kind": "spell", "tool_name": "f"}]}]"#,
            "[0]: parts[0]: part_kind \"spell\" is not known, and could be a call or an answer / calls are `tool-call`, answers are `tool-return` and `retry-prompt`",
        ),
        (
            Format::Bedrock,
            r#"[{"role": "assistant", "content": [{"toolSpell": {"name": "f"}}]}]"#,
            "[0]: content[0]: it has the key \"toolSpell\", which is not known and could be a call / blocks are `text`, `toolUse`, `toolResult`, `reasoningContent` and media",
        ),
        (
            Format::Atif,
            r#"{"schema_version": "ATIF-v1.0", "steps": [{"source": "system", "tool_calls": [{"function_name": "f"}]}]}"#,
            "steps[0]: it is a step of the system and has calls",
        ),
        (
            Format::OpenaiAgents,
            r#"{"object": "trace.span", "id": "s", "trace_id": "t", "span_data": {"type": "spell", "name": "f"}}"#,
            "the span \"s\": span_data.type must be a type of span, found \"spell\" / an unknown span could be a call, and calls are never left out",
        ),
        (
            Format::Langfuse,
            r#"{"id": "o", "traceId": "t", "type": "GENERATION", "startTime": "2026-01-01T00:00:00Z", "parentObservationId": null, "toolCalls": ["{\"name\": \"f\"}"]}"#,
            "the observation \"o\": observation.tool_calls is not a key of this format, and could hold calls / export the observations with their `output`",
        ),
        (
            Format::Langfuse,
            r#"{"id": "o", "traceId": "t", "type": "GENERATION", "startTime": "2026-01-01T00:00:00Z", "parentObservationId": null, "output": {"reply": {"tool_calls": [{"name": "f"}]}}}"#,
            "span \"\" (o): attribute `langfuse.observation.output`: it could hold calls, and its shape is not known / messages are a list, or under `messages`, `choices`, `generations` or `output`",
        ),
        (
            Format::Anthropic,
            r#"{"id": "m", "type": "message", "role": "assistant", "content": [{"type": "tool_use", "id": "a", "name": "f", "input": {}}], "usage": {"input_tokens": 1, "output_tokens": 1}}"#,
            "it has no `messages`: a message or a reply alone is not a whole run / calls before it would be missing; add everything that was sent as `messages`",
        ),
    ] {
        assert_eq!(refusal(format, text), expected, "{text}");
    }
}

#[test]
fn a_message_is_one_also_where_its_format_is_given() {
    let plain = r#"{"role": "user", "content": "Hi"}"#;
    for format in [Format::OpenaiChat, Format::OpenaiResponses, Format::Anthropic, Format::VercelAi, Format::Bedrock] {
        assert_eq!(format.unit_of(plain), Some(Unit::Message), "{format}");
    }
    assert_eq!(Format::Otel.unit_of(plain), None);
}

#[test]
fn a_log_of_the_mock_must_have_all_its_messages() {
    let join = |numbers: &[u64]| {
        let lines: Vec<String> = numbers
            .iter()
            .map(|seq| format!(r#"{{"seq": {seq}, "direction": "in", "message": {{"method": "notifications/x"}}}}"#))
            .collect();
        let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
        let joined = Format::MockLog.join("", &lines, &Options::default());
        joined.map_err(|error| (error.message, error.hint)).map(|traces| traces.len())
    };
    // One server, one after the other, and two at the same time.
    for whole in [[1, 2, 3, 4, 5, 6].as_slice(), &[1, 2, 3, 1, 2, 1], &[1, 2, 1, 3, 2, 3], &[1, 1, 2, 2, 3, 4]] {
        assert_eq!(join(whole), Ok(1), "{whole:?}");
    }
    for (cut, at) in
        [([2, 3].as_slice(), 2), (&[1, 2, 5, 6], 5), (&[1, 2, 3, 1, 3, 4], 3), (&[1, 3, 2], 3), (&[1, 2, 2], 2)]
    {
        let hint = "calls could be missing; a log must be complete, from message 1 of each server on".to_owned();
        let message = format!("message {at}: there is no message {} before it", at - 1);
        assert_eq!(join(cut), Err((message, Some(hint))), "{cut:?}");
    }
}

#[test]
fn a_trajectory_must_have_all_its_actions_in_its_history() {
    let run = json!({
        "trajectory": [{ "action": "ls" }, { "action": "rm a" }],
        "history": [
            { "role": "user", "content": "Go", "agent": "main" },
            { "role": "assistant", "content": "ls", "action": "ls", "agent": "main" },
        ],
    });
    let refused = refusal(Format::SweAgent, &run.to_string());
    assert_eq!(
        refused,
        "its `trajectory` has 2 actions, but its `history` has 1 of them / a trace without those calls could pass by mistake"
    );
}

#[test]
fn events_that_a_recorder_writes_as_spans_are_not_counted_as_calls() {
    let row = json!({ "id": "a", "traceId": "t", "type": "SPAN", "name": "update-1", "parentObservationId": null,
        "startTime": "2026-01-01T00:00:00Z", "endTime": "2026-01-01T00:00:00Z",
        "metadata": { "attributes": { "openinference.span.kind": "AGENT", "tool.name": "Wikipedia" } } });
    let refused = refusal(Format::Langfuse, &row.to_string());
    let expected = "span \"update-1\" (a): it is a span of an agent and names a tool: its recorder writes events as spans / which of them are calls is unclear; a newer version of the recorder has one span for each call";
    assert_eq!(refused, expected);
}

#[test]
fn a_message_that_cannot_be_read_is_refused_also_before_known_messages() {
    let row = |id: &str, input: &Value, output: &str| {
        json!({ "id": id, "traceId": "t", "type": "GENERATION", "name": "llm", "parentObservationId": null,
            "startTime": format!("2026-01-01T00:00:0{id}Z"), "endTime": format!("2026-01-01T00:00:0{id}Z"),
            "input": input, "output": { "role": "assistant", "content": output } })
    };
    let said = |role: &str, text: &str| json!({ "role": role, "content": text });
    let call = json!({ "role": "assisttant", "tool_calls": [{ "id": "c", "type": "function",
        "function": { "name": "delete_all", "arguments": "{}" } }] });
    let history = |odd: Option<&Value>| {
        let known = [said("user", "Delete it?"), said("assistant", "No."), said("user", "Sure?")];
        let [question, answer, again] = &known;
        let list: Vec<&Value> = [Some(question), odd, Some(answer), Some(again)].into_iter().flatten().collect();
        json!([row("1", &json!([question]), "No."), row("2", &json!(list), "Yes.")]).to_string()
    };
    assert!(read(Format::Langfuse, &history(None)).is_ok());
    let refused = refusal(Format::Langfuse, &history(Some(&call)));
    assert!(refused.contains("role must be user, assistant, tool or system, found \"assisttant\""), "{refused}");
}

#[test]
fn known_shapes_that_are_not_read_have_a_hint() {
    for (text, expected) in [
        (r#"{"name": {"0": "a"}, "context.trace_id": {"0": "7a"}, "context.span_id": {"0": "1b"}}"#, Some("columns")),
        (r#"{"trace_id": {"0": "7a"}, "spans": {"0": []}}"#, Some("columns")),
        (r#"{"context.trace_id": "7a", "name": "a", "start_time": 1}"#, Some("reset_index")),
        (r#"{"message": {"role": "user"}, "message_id": 0, "redact_message": null}"#, Some("jq")),
        (r#"{"trace_id": "7a", "spans": []}"#, None),
        (r#"{"message": "hi", "message_id": 0}"#, None),
    ] {
        assert_eq!(sniff(text), None, "{text}");
        let hint = hint_for_unknown(text);
        assert_eq!(
            hint.is_some_and(|hint| hint.contains(expected.unwrap_or("?"))),
            expected.is_some(),
            "{text}: {hint:?}"
        );
    }
}

#[test]
fn the_answer_in_a_call_of_finish_is_the_closing_message() {
    let event = |kind: &str, source: &str, more: &Value| {
        let mut event = json!({ "id": kind, "timestamp": "2026-01-02T03:04:05", "source": source, "kind": kind });
        event.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        event
    };
    let said = |text: &str| json!({ "llm_message": { "role": "user", "content": text } });
    let call = |text: &str| {
        let arguments = json!({ "message": text }).to_string();
        let call = json!({ "id": text, "name": "finish", "arguments": arguments });
        json!({ "tool_name": "finish", "tool_call_id": text, "tool_call": call, "llm_response_id": text, "thought": [] })
    };
    let answered = |id: &str| json!({ "tool_name": "finish", "tool_call_id": id, "observation": { "content": [] } });
    let events = json!([
        event("MessageEvent", "user", &said("Delete it.")),
        event("ActionEvent", "agent", &call("I deleted it.")),
        event("ObservationEvent", "environment", &answered("I deleted it.")),
        event("MessageEvent", "user", &said("And now?")),
        event("ActionEvent", "agent", &call("Nothing to do.")),
        event("ObservationEvent", "environment", &answered("Nothing to do.")),
    ])
    .to_string();
    let trace = read(Format::Openhands, &events).unwrap().remove(0).trace;
    assert_eq!(trace.final_response.as_deref(), Some("Nothing to do."));
    let turns: Vec<Option<String>> =
        trace.conversation.turns.unwrap().into_iter().map(|turn| turn.content.map(|text| text.to_string())).collect();
    let text = |text: &str| Some(text.to_owned());
    let expected =
        [text("Delete it."), None, None, text("I deleted it."), text("And now?"), None, None, text("Nothing to do.")];
    assert_eq!(turns, expected);
}

#[test]
fn the_answer_of_finish_is_the_last_message_unless_another_follows() {
    let call = |name: &str, arguments: &str, reply: &str, id: &str| {
        format!(
            r#"{{"kind":"ActionEvent","source":"agent","tool_name":"{name}","tool_call_id":"{id}","llm_response_id":"{reply}","tool_call":{{"id":"{id}","name":"{name}","arguments":{arguments}}}}}"#
        )
    };
    let finish = call("finish", r#"{"message":"All done."}"#, "r1", "c1");
    let look = |reply: &str| call("look", "{}", reply, "c2");
    let said =
        r#"{"kind":"MessageEvent","source":"agent","llm_message":{"role":"assistant","content":"One more thing."}}"#;
    let user = r#"{"kind":"MessageEvent","source":"user","llm_message":{"role":"user","content":"Clean up."}}"#;
    for (events, expected) in [
        (vec![&*finish], "All done."),
        (vec![&*finish, &look("r1")], "All done."),
        (vec![&*look("r1"), &finish], "All done."),
        (vec![&*finish, said], "One more thing."),
        (vec![&*finish, said, &finish.replace("r1", "r2").replace("c1", "c3")], "All done."),
    ] {
        let text = format!("[{user},{}]", events.join(","));
        let trace = read(Format::Openhands, &text).unwrap().remove(0).trace;
        assert_eq!(trace.final_response.as_deref(), Some(expected), "{text}");
    }
}
