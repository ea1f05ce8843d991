//! Messages of `LangChain` and states of `LangGraph`.

use mcptest_core::import::{Format, Unit};

use super::{check_fixtures, folder, read, refusal, sniffed};

#[test]
fn fixtures() {
    check_fixtures(Format::Langchain);
}

#[test]
fn one_conversation_in_three_shapes_is_the_same_trace() {
    let text = std::fs::read_to_string(folder().join("langchain/shapes.jsonl")).unwrap();
    let traces: Vec<_> = text.lines().map(|line| read(Format::Langchain, line).unwrap().remove(0).trace).collect();
    assert_eq!(traces.len(), 3);
    assert!(traces.iter().all(|trace| *trace == traces[0]), "{traces:#?}");
}

#[test]
fn values_are_recognized_by_the_types_of_their_messages() {
    let record = Some((Format::Langchain, Unit::Record));
    let message = Some((Format::Langchain, Unit::Message));
    let cases = [
        (r#"{"type":"human","content":"a"}"#, message),
        (r#"{"type":"ai","data":{"content":"a"}}"#, message),
        (r#"{"lc":1,"type":"constructor","id":["langchain","AIMessage"],"kwargs":{}}"#, message),
        (r#"{"type":"chat","role":"user","content":"a"}"#, message),
        (r#"[{"type":"human","content":"a"}]"#, record),
        (r#"{"messages":[{"type":"human","content":"a"}]}"#, record),
        (r#"{"values":{"messages":[{"type":"human","content":"a"}]}}"#, record),
        (r#"{"inputs":{"messages":[["user","a"]]},"outputs":{"messages":[{"type":"ai","content":"a"}]}}"#, record),
        (r#"{"role":"user","content":"a"}"#, None),
        (r#"{"type":"message","role":"user","content":"a"}"#, None),
        (r#"{"type":"function","function":{"name":"f"}}"#, None),
        (r#"{"type":"system","content":"a","session_id":"s"}"#, None),
        (r#"{"lc":1,"type":"constructor","id":["langchain","PromptTemplate"],"kwargs":{}}"#, None),
    ];
    for (text, expected) in cases {
        let found = sniffed(text).filter(|(format, _)| *format == Format::Langchain);
        assert_eq!(found, expected, "{text}");
    }
}

#[test]
fn anything_that_could_be_a_call_is_refused_with_its_path() {
    let hidden = ", and could be a call or an answer / a trace without it could pass by mistake";
    let cases = [
        (
            r#"[{"role":"user","content":"a"}]"#,
            "[0].type must be a type of message, found no such key / messages with a role are `openai-chat` or `anthropic`".to_owned(),
        ),
        (
            r#"{"messages":[{"type":"human","content":"a"},{"type":"robot","content":"a"}]}"#,
            "messages[1].type must be a type of message, found \"robot\" / messages of this format have a type such as `human`, `ai` or `tool`".to_owned(),
        ),
        (
            r#"[{"lc":1,"type":"not_implemented","id":["langchain","AIMessage"],"repr":"AIMessage()"}]"#,
            "[0] was not serialized: only its `repr` was kept / such a message may hold calls; a trace without them could pass by mistake".to_owned(),
        ),
        (
            r#"[{"type":"chat","role":"robot","content":"a"}]"#,
            "[0].role must be \"user\", \"assistant\" or \"system\", found \"robot\" / a message of an unknown speaker may hold calls or answers".to_owned(),
        ),
        (
            r#"[{"type":"ai","content":[{"type":"text","text":"a"},{"type":"web_search_call"}]}]"#,
            format!("[0].content[1].type \"web_search_call\" is not known{hidden}"),
        ),
        (
            r#"[{"type":"ai","content":[{"type":"non_standard","value":{"type":"mcp_call"}}]}]"#,
            format!("[0].content[0].type \"non_standard\" is not known{hidden}"),
        ),
        (
            r#"[{"type":"human","content":[{"type":"tool_use","name":"f","input":{}}]}]"#,
            "[0].content[0] is a call or an answer in a message of the user / this looks like `anthropic`".to_owned(),
        ),
        (
            r#"[{"type":"ai","content":"","additional_kwargs":{"tool_outputs":[{"type":"web_search_call"}]}}]"#,
            "[0].additional_kwargs.tool_outputs is not read / it holds calls of tools that the provider ran; a trace without them could pass by mistake".to_owned(),
        ),
        (
            r#"[{"type":"ai","content":"","additional_kwargs":{"tool_calls":[{"id":"a"}]}}]"#,
            "[0].additional_kwargs.tool_calls[0] has no `function` / a call has its name and arguments in `function`".to_owned(),
        ),
        (
            r#"[{"type":"ai","content":"","invalid_tool_calls":[{"args":"{","id":"a"}]}]"#,
            "[0].invalid_tool_calls[0].name must be a text, but the key is missing".to_owned(),
        ),
        (
            r#"[{"type":"ai","content":"","tool_calls":[{"name":"f","args":{"a":1,"a":2}}]}]"#,
            "[0].tool_calls[0].args: duplicate key \"a\"".to_owned(),
        ),
        (
            r#"[{"type":"ai","content":[{"text":"a"}]}]"#,
            "[0].content[0].type must be a text, but the key is missing / a block without a type may hold a call, an answer or the last words of the model".to_owned(),
        ),
        (r#"[{"type":"ai","content":{}}]"#, "[0].content: expected a text or a list, found an object".to_owned()),
        (
            r#"[{"type":"tool","content":"a","tool_call_id":"x"}]"#,
            "[0] answers the call \"x\", but no earlier call waits for that answer / the beginning of the record may be missing; a trace must be complete".to_owned(),
        ),
        (
            r#"{"outputs":{"messages":[{"type":"ai","content":"a"}]},"inputs":{"messages":[{"role":"user","content":"a"}]}}"#,
            "inputs.messages[0].type must be a type of message, found no such key / messages with a role are `openai-chat` or `anthropic`".to_owned(),
        ),
        (r#"{"messages":{}}"#, "messages: expected a list, found an object".to_owned()),
        (
            r#"{"inputs":{}}"#,
            "it has no `messages`, and none in `values` or `outputs` / a record is a list of messages or an object with one; `--from` names the format of a file".to_owned(),
        ),
    ];
    for (text, expected) in cases {
        assert_eq!(refusal(Format::Langchain, text), expected, "{text}");
    }
}
