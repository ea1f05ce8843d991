//! Messages of the Messages API of Anthropic.

use mcptest_core::import::{Format, Unit};
use mcptest_core::trace::ToolResult;

use super::{check_fixtures, read, read_with, refusal, sniffed};

#[test]
fn fixtures() {
    check_fixtures(Format::Anthropic);
}

#[test]
fn values_are_recognized_by_blocks_replies_and_requests() {
    let record = Some((Format::Anthropic, Unit::Record));
    let message = Some((Format::Anthropic, Unit::Message));
    let cases = [
        (r#"{"role":"assistant","content":[{"type":"tool_use","id":"t","name":"f","input":{}}]}"#, message),
        (r#"{"role":"user","content":[{"type":"tool_result","tool_use_id":"t"}]}"#, message),
        (r#"{"type":"message","role":"assistant","content":[],"usage":{"input_tokens":1}}"#, message),
        (
            r#"[{"role":"user","content":"a"},{"role":"assistant","content":[{"type":"thinking","thinking":""}]}]"#,
            record,
        ),
        (r#"{"messages":[{"role":"user","content":"a"}],"system":"b"}"#, record),
        (
            r#"{"messages":[{"role":"user","content":"a"}],"response":{"role":"assistant","content":[{"type":"redacted_thinking","data":"x"}]}}"#,
            record,
        ),
        (r#"{"role":"assistant","content":[{"type":"text","text":"says nothing"}]}"#, None),
        (r#"{"role":"assistant","content":[{"type":"tool_use","id":"t","function":"f"}]}"#, None),
        (r#"{"messages":[{"role":"user","content":"a"}]}"#, None),
        (r#"{"messages":[{"role":"assistant","content":null,"tool_calls":[]}],"system":"b"}"#, None),
    ];
    for (text, expected) in cases {
        let found = sniffed(text).filter(|(format, _)| *format == Format::Anthropic);
        assert_eq!(found, expected, "{text}");
    }
}

#[test]
fn prefixes_name_the_server_of_plain_tools_only() {
    let text = r#"[{"role":"assistant","content":[
        {"type":"tool_use","id":"a","name":"tap_open","input":{}},
        {"type":"server_tool_use","id":"b","name":"tap_search","input":{}},
        {"type":"mcp_tool_use","id":"c","name":"tap_shut","server_name":"water","input":{}}]}]"#;
    let trace = read_with(Format::Anthropic, text, &["tap_"]).unwrap().remove(0).trace;
    let named: Vec<(Option<String>, String)> =
        trace.tool_calls.unwrap().into_iter().map(|call| (call.server, call.name)).collect();
    let expected = [(Some("tap"), "open"), (Some(""), "tap_search"), (Some("water"), "tap_shut")];
    assert_eq!(named, expected.map(|(server, name)| (server.map(str::to_owned), name.to_owned())));
}

#[test]
fn a_call_without_an_answer_stays_unanswered_and_arguments_may_be_a_text() {
    let text = r#"[{"role":"assistant","content":[{"type":"tool_use","name":"f","input":"{\"a\": 1}"},
        {"type":"tool_use","name":"g","input":"{a"}]},{"role":"user","content":[{"type":"tool_result","content":[]}]}]"#;
    let trace = read(Format::Anthropic, text).unwrap().remove(0).trace;
    let args: Vec<String> = trace.tool_calls.unwrap().into_iter().map(|call| call.args.unwrap().to_string()).collect();
    assert_eq!(args, [r#"{"a":1}"#, r#""{a""#]);
    let empty = ToolResult { is_error: Some(false), content: Some(Vec::new()), ..ToolResult::default() };
    assert_eq!(trace.tool_results.unwrap(), [Some(empty), None]);
}

#[test]
fn anything_that_could_be_a_call_is_refused_with_its_path() {
    let chat = " / this looks like `openai-chat`";
    let hidden = ", and could be a call or an answer / a trace without it could pass by mistake";
    let cases = [
        (
            r#"{"messages":[{"role":"user","content":"a"},{"role":"assistant","content":[{"type":"text","text":"b"},{"type":"robot_call"}]}]}"#,
            format!("messages[1].content[1].type \"robot_call\" is not known{hidden}"),
        ),
        (
            r#"[{"role":"assistant","content":[{"type":"new","input":{}}]}]"#,
            format!("[0].content[0].type \"new\" is not known{hidden}"),
        ),
        (
            r#"[{"role":"assistant","content":[{"toolUse":{}}]}]"#,
            "[0].content[0].type must be a text, but the key is missing / blocks of this format have a type; `--from` names the format of a file".to_owned(),
        ),
        (
            r#"[{"role":"assistant","content":null,"tool_calls":[]}]"#,
            format!("[0].tool_calls is not a key of this format{chat}"),
        ),
        (
            r#"[{"role":"tool","tool_call_id":"a","content":"b"}]"#,
            format!("[0].role must be \"user\" or \"assistant\", found \"tool\"{chat}"),
        ),
        (
            r#"[{"type":"ai","content":"b"}]"#,
            "[0].role must be \"user\" or \"assistant\", found no such key / this looks like `langchain` or `openai-responses`".to_owned(),
        ),
        (
            r#"[{"role":"assistant"}]"#,
            format!("[0].content must be a text or a list of blocks, but the key is missing{chat}"),
        ),
        (
            r#"[{"role":"user","content":[{"type":"tool_use","name":"f"}]}]"#,
            "[0].content[0] is a call in a message of the user / only the model makes calls; the messages of the record may be in the wrong order".to_owned(),
        ),
        (
            r#"[{"role":"system","content":[{"type":"tool_result","tool_use_id":"f"}]}]"#,
            "[0].content[0] is a call or an answer in a message of the system".to_owned(),
        ),
        (
            r#"[{"role":"assistant","content":[{"type":"tool_use","id":"a"}]}]"#,
            "[0].content[0].name must be a text, but the key is missing".to_owned(),
        ),
        (
            r#"[{"role":"assistant","content":[{"type":"tool_use","name":"f","caller":"me"}]}]"#,
            "[0].content[0].caller must be an object, found a string (\"me\")".to_owned(),
        ),
        (
            r#"[{"role":"assistant","content":[{"type":"tool_use","name":"f","input":{"a":1,"a":2}}]}]"#,
            "[0].content[0].input: duplicate key \"a\"".to_owned(),
        ),
        (
            r#"[{"role":"user","content":[{"type":"tool_result","tool_use_id":"x","content":"b"}]}]"#,
            "[0].content[0] answers the call \"x\", but no earlier call waits for that answer / the beginning of the record may be missing; a trace must be complete".to_owned(),
        ),
        (
            r#"{"message":[]}"#,
            "it has no `messages` / a record is a list of messages or an object with `messages`; `--from` names the format of a file".to_owned(),
        ),
        (r#"{"messages":[{"role":"user","content":3}]}"#, "messages[0].content: expected a text or a list, found a number".to_owned()),
        (r#"{"messages":["a"]}"#, "messages[0]: expected a message, found a string (\"a\")".to_owned()),
    ];
    for (text, expected) in cases {
        assert_eq!(refusal(Format::Anthropic, text), expected, "{text}");
    }
    assert_eq!(read(Format::Anthropic, r#"[{"role":"user","content":3}]"#).unwrap_err().place, Some(26));
}
