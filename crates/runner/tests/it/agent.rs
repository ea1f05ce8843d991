//! The loop of model and tools, without either.

use mcptest_core::trace::{Tokens, ToolResult};
use mcptest_runner::agent::{Agent, Dispatch, Reply, RequestedArgs, RequestedCall, Step, Stop};
use serde_json::{Value, json};

use crate::support::{catalog, one_test};

fn wanted(wire: &str, args: Value) -> RequestedCall {
    let Value::Object(args) = args else { panic!("arguments are an object") };
    RequestedCall { id: format!("id-{wire}"), wire: wire.to_owned(), args: RequestedArgs::Object(args), caller: None }
}

fn asks(calls: Vec<RequestedCall>) -> Reply {
    Reply { calls, ..Reply::default() }
}

fn says(text: &str) -> Reply {
    Reply { texts: vec![text.to_owned()], ..Reply::default() }
}

fn found(text: &str) -> ToolResult {
    ToolResult {
        is_error: Some(false),
        content: Some(vec![json!({ "type": "text", "text": text }).into()]),
        ..ToolResult::default()
    }
}

#[test]
fn parallel_calls_are_dispatched_at_once_and_recorded_in_the_order_they_were_named() {
    let suite = one_test("");
    let catalog = catalog();
    let mut agent = Agent::new(&suite.agents[0], &catalog);
    let step = agent.replied(Reply {
        texts: vec!["Looking.".to_owned(), "Twice.".to_owned()],
        tokens: Tokens { input: Some(10), output: Some(2), ..Tokens::default() },
        ..asks(vec![wanted("web__search", json!({ "q": "a" })), wanted("db__query", json!({ "id": 1 }))])
    });
    let call = |server: &str, tool: &str, args: Value| Dispatch {
        server: server.to_owned(),
        tool: tool.to_owned(),
        args: args.as_object().unwrap().clone(),
    };
    assert_eq!(
        step,
        Step::Call(vec![call("web", "search", json!({ "q": "a" })), call("db", "query", json!({ "id": 1 }))])
    );
    assert_eq!(agent.answered(vec![found("one"), found("two")]), Step::Ask);
    let last = Reply { tokens: Tokens { input: Some(20), output: Some(3), ..Tokens::default() }, ..says("Done.") };
    assert_eq!(agent.replied(last), Step::Done);
    assert_eq!(
        agent.into_trace("demo").to_envelope(),
        json!({
            "tool_calls": [
                { "name": "search", "server": "web", "args": { "q": "a" }, "id": "id-web__search", "turn": 1 },
                { "name": "query", "server": "db", "args": { "id": 1 }, "id": "id-db__query", "turn": 1 },
            ],
            "tool_names": ["search", "query"],
            "tool_results": [
                { "is_error": false, "content": [{ "type": "text", "text": "one" }] },
                { "is_error": false, "content": [{ "type": "text", "text": "two" }] },
            ],
            "final_response": "Done.",
            "conversation": {
                "model": "demo",
                "turns": [
                    { "role": "user", "content": "Find it." },
                    { "role": "assistant", "content": "Looking.\nTwice." },
                    { "role": "tool", "content": "one" },
                    { "role": "tool", "content": "two" },
                    { "role": "assistant", "content": "Done." },
                ],
                "tokens": { "input": 30, "output": 5, "total": 35 },
                "stop_reason": "completed",
            },
        })
    );
}

#[test]
fn a_reply_without_a_count_leaves_the_sum_unknown() {
    let suite = one_test("");
    let catalog = catalog();
    let mut agent = Agent::new(&suite.agents[0], &catalog);
    let counted = Tokens { input: Some(10), output: Some(2), ..Tokens::default() };
    agent.replied(Reply { tokens: counted, ..asks(vec![wanted("nobody", json!({}))]) });
    agent.replied(asks(vec![wanted("nobody", json!({}))]));
    agent.replied(Reply { tokens: counted, ..says("Done.") });
    assert_eq!(agent.into_trace("demo").conversation.tokens, Tokens::default());
}

#[test]
fn unknown_tools_and_unreadable_arguments_are_recorded_and_answered_without_a_server() {
    let suite = one_test("");
    let catalog = catalog();
    let mut agent = Agent::new(&suite.agents[0], &catalog);
    let torn = RequestedArgs::Unreadable { text: "{\"q\":".to_owned(), why: "EOF".to_owned() };
    let step = agent.replied(asks(vec![
        wanted("delete_all", json!({ "x": 1 })),
        wanted("db__erase", json!({})),
        RequestedCall { args: torn, ..wanted("web__search", json!({})) },
    ]));
    assert_eq!(step, Step::Ask, "nothing is left for a server to answer");
    agent.replied(says("Gave up."));
    let envelope = agent.into_trace("demo").to_envelope();
    assert_eq!(
        envelope["tool_calls"],
        json!([
            { "name": "delete_all", "server": "", "args": { "x": 1 }, "id": "id-delete_all", "turn": 1 },
            { "name": "erase", "server": "", "args": {}, "id": "id-db__erase", "turn": 1 },
            { "name": "search", "server": "web", "args": "{\"q\":", "id": "id-web__search", "turn": 1 },
        ])
    );
    let reported: Vec<&str> =
        [0, 1, 2].map(|at| envelope["tool_results"][at]["error"]["message"].as_str().unwrap()).to_vec();
    assert_eq!(
        reported,
        ["unknown tool: delete_all", "unknown tool: db__erase", "the arguments are not a JSON object: EOF"]
    );
}

#[test]
fn a_call_that_cannot_be_sent_keeps_its_place_among_those_that_are() {
    let suite = one_test("");
    let catalog = catalog();
    let mut agent = Agent::new(&suite.agents[0], &catalog);
    agent.replied(asks(vec![
        wanted("web__search", json!({})),
        wanted("nobody", json!({})),
        wanted("web__open", json!({})),
    ]));
    agent.answered(vec![found("first"), found("third")]);
    let texts: Vec<String> = agent.results().iter().map(|result| result.texts().collect()).collect();
    assert_eq!(texts, ["first", "unknown tool: nobody", "third"]);
}

#[test]
fn callers_are_kept_for_calls_from_generated_code_only() {
    let suite = one_test("");
    let catalog = catalog();
    let mut agent = Agent::new(&suite.agents[0], &catalog);
    let code = json!({ "type": "code_execution_20260120", "tool_id": "srvtoolu_1" });
    agent.replied(asks(vec![
        RequestedCall { caller: Some(code.clone()), ..wanted("web__search", json!({})) },
        RequestedCall { caller: Some(json!({ "type": "direct" })), ..wanted("web__open", json!({})) },
        wanted("db__query", json!({})),
    ]));
    let calls = agent.into_trace("demo").tool_calls.unwrap();
    assert_eq!(calls.into_iter().map(|call| call.caller).collect::<Vec<_>>(), [Some(code), None, None]);
}

#[test]
fn every_way_to_end_has_its_stop_reason() {
    let ends = |more: &str, replies: Vec<Reply>| {
        let suite = one_test(more);
        let catalog = catalog();
        let mut agent = Agent::new(&suite.agents[0], &catalog);
        let mut steps = Vec::new();
        for reply in replies {
            let step = agent.replied(reply);
            steps.push(match step {
                Step::Call(calls) => agent.answered(calls.iter().map(|_| found("ok")).collect()),
                other => other,
            });
        }
        let trace = agent.into_trace("demo");
        (steps.pop().unwrap(), trace.conversation.stop_reason.unwrap().as_str(), trace.tool_calls.unwrap().len())
    };
    let search = || wanted("web__search", json!({}));
    assert_eq!(ends("", vec![says("Done.")]), (Step::Done, "completed", 0));
    assert_eq!(ends("", vec![Reply::default()]), (Step::Done, "completed", 0));
    assert_eq!(ends("", vec![Reply { stop: Stop::Refused, ..says("No.") }]), (Step::Done, "refused", 0));
    assert_eq!(ends("", vec![Reply { stop: Stop::Pause, ..says("Wait.") }]), (Step::Ask, "error", 0));
    let cut = Reply { stop: Stop::MaxTokens, ..asks(vec![search()]) };
    assert_eq!(ends("", vec![cut]), (Step::Done, "max_tokens", 1));
    let refused = Reply { stop: Stop::Refused, ..asks(vec![search()]) };
    assert_eq!(ends("", vec![refused]), (Step::Done, "refused", 1));
    // The calls of the last turn are made: what was done is evidence, though the model never sees the answers.
    let turns = vec![asks(vec![search()]), asks(vec![search()])];
    assert_eq!(ends("    max_turns: 2\n", turns), (Step::Done, "max_turns", 2));
}

#[test]
fn calls_of_a_reply_that_was_broken_off_are_recorded_and_not_made() {
    let suite = one_test("");
    let catalog = catalog();
    for (stop, why) in [
        (Stop::MaxTokens, "not sent: the reply was cut at its token limit, so the call may be incomplete"),
        (Stop::Refused, "not sent: the reply ended in a refusal, so the call may be incomplete"),
    ] {
        let mut agent = Agent::new(&suite.agents[0], &catalog);
        let reply = Reply { stop, ..asks(vec![wanted("web__search", json!({}))]) };
        assert_eq!(agent.replied(reply), Step::Done);
        let results = agent.into_trace("demo").tool_results.unwrap();
        let errors: Vec<_> = results.into_iter().map(|result| result.unwrap().error.unwrap().message).collect();
        assert_eq!(errors, [why]);
    }
}
