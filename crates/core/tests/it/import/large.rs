//! Inputs that are deep, or that refer to one part many times: reading ends, with little memory.

use mcptest_core::import::{Format, describe, sniff};
use serde_json::json;

use super::{read, refusal};

const DEEP: usize = 5_000;

/// A deeply nested text.
fn nested(open: &str, inner: &str, close: &str) -> String {
    format!("{}{inner}{}", open.repeat(DEEP), close.repeat(DEEP))
}

#[test]
fn a_value_of_any_depth_is_described_without_descending() {
    for (text, words) in [
        (nested("[", "", "]"), "a list of 1"),
        (nested("[{\"type\":", "1", "}]"), "a list of 1"),
        (nested("{\"messages\":", "1", "}"), "an object with the keys messages"),
        (nested("{\"message\":", "1", "}"), "an object with the keys message"),
    ] {
        assert_eq!(sniff(&text), None, "{words}");
        assert_eq!(describe(&text), words);
        // Other keys of an envelope are not read.
        for format in Format::ALL.iter().filter(|format| **format != Format::Envelope) {
            assert!(read(*format, &text).is_err(), "{format:?} takes {words}");
        }
    }
}

#[test]
fn messages_nested_beyond_the_limit_of_the_parser_are_refused() {
    let open = |open: &str, times: usize, close: &str| format!("[{}{}]", open.repeat(times), close.repeat(times));
    let data = open("{\"type\":\"ai\",\"data\":", 130, "}").replace(":}", ":{}}");
    assert_eq!(refusal(Format::Langchain, &data), "recursion limit exceeded");
    let progress = open("{\"type\":\"progress\",\"data\":{\"message\":", 70, "}}").replace(":}", ":{}}");
    assert_eq!(refusal(Format::ClaudeCode, &progress), "recursion limit exceeded");
}

#[test]
fn arguments_too_deep_for_an_envelope_are_refused_but_kept_inside_text() {
    let deep = |levels: usize| format!("{}1{}", "[".repeat(levels), "]".repeat(levels));
    let call = |arguments: &str| {
        let function = format!("{{\"name\":\"f\",\"arguments\":{arguments}}}");
        format!("[{{\"role\":\"assistant\",\"tool_calls\":[{{\"function\":{function}}}]}}]")
    };
    assert_eq!(
        refusal(Format::OpenaiChat, &call(&deep(121))),
        "messages[0].tool_calls[0].function.arguments: it is nested more than 120 levels deep"
    );
    let args =
        |text: &str| read(Format::OpenaiChat, text).unwrap()[0].trace.tool_calls.as_ref().unwrap()[0].args.clone();
    assert_eq!(args(&call(&deep(120))), Some(serde_json::from_str(&deep(120)).unwrap()));
    let quoted = json!(deep(121)).to_string();
    assert_eq!(args(&call(&quoted)), Some(json!(deep(121))));
}

#[test]
fn choices_inside_choices_are_refused() {
    let message = r#"{"message":{"message":{}}}"#;
    let text = json!({
        "trace_id": "t", "span_id": "s", "name": "chat", "start_time": 1,
        "attributes": { "gen_ai.operation.name": "chat", "gen_ai.output.messages": format!("[{message}]") },
    });
    assert_eq!(
        refusal(Format::Otel, &text.to_string()),
        "span \"chat\" (s): gen_ai.output.messages[0]: message.message is not part of a message, and could hold a call"
    );
}

#[test]
fn a_text_that_would_be_copied_too_often_is_refused() {
    let long = "x".repeat(100_000);
    let often = |one: serde_json::Value| vec![one; 200];
    let hint =
        " is used so often that its copies would not fit into memory / split the record, or remove what is repeated";
    let sample = json!({
        "attachments": { "a": long },
        "messages": often(json!({ "role": "user", "content": "attachment://a" })),
    });
    let reported = refusal(Format::Inspect, &sample.to_string());
    assert_eq!(reported, format!("messages[167].content: the text of \"attachment://a\"{hint}"));
    let samples = json!({ "eval": { "model": long }, "samples": often(json!({ "messages": [] })) });
    assert_eq!(refusal(Format::Inspect, &samples.to_string()), format!("eval.model{hint}"));
    let runs = json!({ "info": { "agent_info": { "llm": long } }, "simulations": often(json!({ "messages": [] })) });
    assert_eq!(refusal(Format::Tau, &runs.to_string()), format!("info.agent_info.llm{hint}"));
    let span = |at: usize| json!({ "traceId": format!("t{at}"), "spanId": "s", "name": "x" });
    let spans: Vec<_> = (0..200).map(span).collect();
    let export = json!({ "resourceSpans": [{ "resource": { "x": long }, "scopeSpans": [{ "spans": spans }] }] });
    assert_eq!(refusal(Format::Otlp, &export.to_string()), format!("resourceSpans[0].resource{hint}"));
}

#[test]
fn a_list_is_not_a_message() {
    for (format, text) in [
        (Format::Inspect, r#"{"messages":[["assistant","done"]]}"#),
        (Format::OpenaiChat, r#"[["assistant",null,"done",null,null,null,null,null,null]]"#),
        (Format::Anthropic, r#"[["assistant","done",null,null,null,null,null]]"#),
        (Format::Otlp, r#"{"resourceSpans":[[null,[[[{"traceId":"t","name":"execute_tool f"}]]]]]}"#),
        (Format::Envelope, "[null,null,null,[],null,null,null]"),
    ] {
        assert!(read(format, text).is_err(), "{format:?} takes a list");
    }
    let envelope = r#"{"tool_calls":[["send","mail",null,null,null,null,null]]}"#;
    assert_eq!(refusal(Format::Envelope, envelope), "tool_calls[0]: expected an object, found a list");
}

#[test]
fn a_list_of_empty_objects_is_refused_at_its_first_item() {
    let many = format!("[{}{{}}]", "{},".repeat(300_000));
    let within = |before: &str, after: &str| format!("{before}{many}{after}");
    let cases = [
        (Format::OpenaiChat, many.clone(), "messages[0] has no `role` / every message of a conversation has a role"),
        (
            Format::OpenaiChat,
            within(r#"[{"role":"assistant","tool_calls":"#, "}]"),
            "messages[0].tool_calls[0] has no `function` / a call has its name and arguments in `function`",
        ),
        (
            Format::OpenaiChat,
            within(r#"[{"role":"user","content":"#, "}]"),
            "messages[0].content[0] has no `type` / known types are text, refusal, image_url, input_audio, video_url, audio_url, file, thinking, reasoning; any other part could hold a call",
        ),
        (Format::OpenaiResponses, many.clone(), "items[0] has no `type` / every item except a message has a type"),
        (
            Format::Anthropic,
            many.clone(),
            "[0].content must be a text or a list of blocks, but the key is missing / messages of this format have a role and a content; `--from` names the format of a file",
        ),
        (
            Format::Anthropic,
            within(r#"[{"role":"user","content":"#, "}]"),
            "[0].content[0].type must be a text, but the key is missing / blocks of this format have a type; `--from` names the format of a file",
        ),
        (
            Format::Langchain,
            many.clone(),
            "[0].type must be a type of message, found no such key / messages of this format have a type such as `human`, `ai` or `tool`",
        ),
        (
            Format::Langchain,
            within(r#"[{"type":"ai","content":"","tool_calls":"#, "}]"),
            "[0].tool_calls[0].name must be a text, but the key is missing",
        ),
        (
            Format::Langchain,
            within(r#"[{"type":"ai","content":"","tool_call_chunks":"#, "}]"),
            "[0].tool_call_chunks[0].name must be a text, but the key is missing",
        ),
        (
            Format::Langchain,
            within(r#"[{"type":"ai","content":"#, "}]"),
            "[0].content[0].type must be a text, but the key is missing / a block without a type may hold a call, an answer or the last words of the model",
        ),
        (
            Format::Tau,
            within(r#"{"task_id":1,"termination_reason":"x","messages":"#, "}"),
            "messages[0].role must be system, user, assistant or tool, found no such key / `--from` names the format of a record",
        ),
    ];
    for (format, text, expected) in cases {
        assert_eq!(refusal(format, &text), expected);
    }
    // A reply that repeats the last message does not hide an incomplete message before it.
    let reply = r#"{"role":"assistant","content":"Bye"}"#;
    let text = format!(r#"{{"messages":[{{"role":"user","content":"Hi"}},{{}},{reply}],"response":{reply}}}"#);
    assert_eq!(
        refusal(Format::Anthropic, &text),
        "messages[1].content must be a text or a list of blocks, but the key is missing / messages of this format have a role and a content; `--from` names the format of a file"
    );
}
