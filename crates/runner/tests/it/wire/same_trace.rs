//! The loop is one, the wires differ: a conversation leaves the same trace over every interface.

use mcptest_core::trace::ToolResult;
use mcptest_runner::agent::{Agent, Dispatch, Step};
use mcptest_runner::provider::{Client, ModelRequest};
use serde_json::{Value, json};

use super::server::{Answer, Server};
use super::{CHAT, GEMINI, MESSAGES, PATIENCE, RESPONSES, Spoken, access_to, broken, found, tools};
use crate::support::one_test;

/// Two calls at once with a word before them, one call without a word, and the last word.
fn messages() -> [Value; 3] {
    let call =
        |id: &str, name: &str, input: Value| json!({ "type": "tool_use", "id": id, "name": name, "input": input });
    let text = |text: &str| json!({ "type": "text", "text": text });
    [
        json!({ "stop_reason": "tool_use", "usage": { "input_tokens": 1, "output_tokens": 2 }, "content": [
            { "type": "thinking", "thinking": "Hm.", "signature": "s" }, text("Looking."),
            call("toolu_1", "web__search", json!({ "q": "a" })), call("toolu_2", "db__query", json!({})),
        ] }),
        json!({ "stop_reason": "tool_use", "content": [call("toolu_3", "web__search", json!({ "q": "b" }))] }),
        json!({ "stop_reason": "end_turn", "content": [text("Found two.")] }),
    ]
}

fn responses() -> [Value; 3] {
    let call = |id: &str, name: &str, arguments: &str| json!({ "type": "function_call", "call_id": id, "name": name, "arguments": arguments });
    let text = |text: &str| {
        let content = json!([{ "type": "output_text", "text": text, "annotations": [] }]);
        json!({ "type": "message", "id": "msg_1", "role": "assistant", "status": "completed", "content": content })
    };
    [
        json!({ "status": "completed", "output": [
            { "type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "e" }, text("Looking."),
            call("call_1", "web__search", "{\"q\":\"a\"}"), call("call_2", "db__query", "{}"),
        ] }),
        json!({ "status": "completed", "output": [call("call_3", "web__search", "{\"q\":\"b\"}")] }),
        json!({ "status": "completed", "output": [text("Found two.")] }),
    ]
}

fn chat() -> [Value; 3] {
    let call = |name: &str, arguments: &str| json!({ "id": "", "function": { "name": name, "arguments": arguments } });
    let reply = |content: Value, calls: Value, reason: &str| {
        let message = json!({ "role": "assistant", "content": content, "tool_calls": calls });
        json!({ "choices": [{ "message": message, "finish_reason": reason }] })
    };
    [
        reply(json!("Looking."), json!([call("web__search", "{\"q\":\"a\"}"), call("db__query", "{}")]), "tool_calls"),
        reply(Value::Null, json!([call("web__search", "{\"q\":\"b\"}")]), "stop"),
        reply(json!("Found two."), Value::Null, "stop"),
    ]
}

fn gemini() -> [Value; 3] {
    let call = |name: &str, args: Value| json!({ "functionCall": { "name": name, "args": args } });
    let reply = |parts: Value| {
        let content = json!({ "role": "model", "parts": parts });
        json!({ "candidates": [{ "content": content, "finishReason": "STOP" }], "usageMetadata": {} })
    };
    [
        reply(json!([
            { "text": "Hm.", "thought": true }, { "text": "Looking." },
            call("web__search", json!({ "q": "a" })), call("db__query", json!({})),
        ])),
        reply(json!([call("web__search", json!({ "q": "b" }))])),
        reply(json!([{ "text": "Found two." }])),
    ]
}

fn serve(call: &Dispatch) -> ToolResult {
    match (call.tool.as_str(), call.args.get("q").and_then(Value::as_str)) {
        ("search", Some("a")) => found("one"),
        ("search", Some("b")) => found("two"),
        _ => broken("no such table"),
    }
}

/// Plays the conversation and gives its trace without ids and counts.
async fn played(spoken: Spoken, replies: [Value; 3]) -> Value {
    let suite = one_test("");
    let test = &suite.agents[0];
    let catalog = tools();
    let server = Server::start(replies.iter().map(Answer::json).collect()).await;
    let access = access_to(spoken, &server.base());
    let client = Client::with(PATIENCE);
    let mut agent = Agent::new(test, &catalog);
    let mut step = Step::Ask;
    // Three replies and two rounds of calls.
    for _ in 0..5 {
        step = match step {
            Step::Ask => {
                let question = ModelRequest {
                    system: test.system.as_deref(),
                    prompt: &test.prompt,
                    exchanges: agent.exchanges(),
                    tools: catalog.offered(),
                    max_tokens: test.max_tokens,
                    temperature: test.temperature,
                };
                let reply = client.ask(&access, &question, &|note| panic!("{note}")).await.unwrap();
                agent.replied(reply)
            }
            Step::Call(calls) => agent.answered(calls.iter().map(serve).collect()),
            Step::Done => panic!("the conversation ended early"),
        };
    }
    assert_eq!(step, Step::Done);
    assert_eq!(server.requests().len(), 3);
    let mut trace = agent.into_trace("demo").to_envelope();
    for call in trace["tool_calls"].as_array_mut().unwrap() {
        call.as_object_mut().unwrap().remove("id");
    }
    trace["conversation"].as_object_mut().unwrap().remove("tokens");
    trace
}

#[tokio::test]
async fn a_conversation_leaves_the_same_trace_over_every_interface() {
    let error = json!({ "kind": "tool", "message": "no such table" });
    let expected = json!({
        "tool_calls": [
            { "name": "search", "server": "web", "args": { "q": "a" }, "turn": 1 },
            { "name": "query", "server": "db", "args": {}, "turn": 1 },
            { "name": "search", "server": "web", "args": { "q": "b" }, "turn": 4 },
        ],
        "tool_names": ["search", "query", "search"],
        "tool_results": [
            { "is_error": false, "content": [{ "type": "text", "text": "one" }] },
            { "is_error": true, "content": [{ "type": "text", "text": "no such table" }], "error": error },
            { "is_error": false, "content": [{ "type": "text", "text": "two" }] },
        ],
        "final_response": "Found two.",
        "conversation": {
            "model": "demo",
            "turns": [
                { "role": "user", "content": "Find it." },
                { "role": "assistant", "content": "Looking." },
                { "role": "tool", "content": "one" },
                { "role": "tool", "content": "no such table" },
                { "role": "assistant", "content": null },
                { "role": "tool", "content": "two" },
                { "role": "assistant", "content": "Found two." },
            ],
            "stop_reason": "completed",
        },
    });
    for (spoken, replies) in [(MESSAGES, messages()), (RESPONSES, responses()), (CHAT, chat()), (GEMINI, gemini())] {
        assert_eq!(played(spoken, replies).await, expected, "{spoken:?}");
    }
}
