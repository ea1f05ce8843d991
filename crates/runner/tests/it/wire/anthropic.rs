//! Anthropic Messages.

use mcptest_runner::agent::{Reply, Stop};
use mcptest_runner::provider::ModelRequest;
use serde_json::{Value, json};

use super::{MESSAGES, QUESTION, answered, call, failure, found, reply, request, tokens, tools};

fn done() -> Value {
    json!({ "type": "message", "role": "assistant", "content": [{ "type": "text", "text": "Done." }],
            "stop_reason": "end_turn", "usage": { "input_tokens": 1, "output_tokens": 1 } })
}

/// Thinking, a tool that ran at the provider, an unknown type, and two calls.
fn busy() -> Value {
    json!({
        "id": "msg_1", "type": "message", "role": "assistant", "model": "model-1",
        "container": { "id": "container_1", "expires_at": "2026-11-16T00:00:00Z" },
        "content": [
            { "type": "thinking", "thinking": "Where?", "signature": "EqQB" },
            { "type": "redacted_thinking", "data": "abc" },
            { "type": "text", "text": "Looking." },
            { "type": "server_tool_use", "id": "srvtoolu_1", "name": "code_execution", "input": { "code": "1" } },
            { "type": "code_execution_tool_result", "tool_use_id": "srvtoolu_1", "content": { "stdout": "1" } },
            { "type": "hologram", "shape": [1, 2.5, null] },
            { "type": "text", "text": "" },
            { "type": "tool_use", "id": "toolu_1", "name": "web__search", "input": { "q": "a" },
              "caller": { "type": "code_execution_20260120", "tool_id": "srvtoolu_1" } },
            { "type": "tool_use", "id": "toolu_2", "name": "db__query", "input": {}, "caller": { "type": "direct" } },
        ],
        "stop_reason": "tool_use", "stop_sequence": null,
        "usage": { "input_tokens": 10, "cache_creation_input_tokens": 5, "cache_read_input_tokens": 7,
                   "output_tokens": 20, "output_tokens_details": { "thinking_tokens": 4 } },
    })
}

#[tokio::test]
async fn the_first_request_has_system_prompt_and_tools() {
    let tools = tools();
    let question = ModelRequest { system: Some("Be brief."), tools: tools.offered(), ..QUESTION };
    let request = request(MESSAGES, &question, done()).await;
    assert_eq!(request.line, "POST /v1/messages");
    assert_eq!(
        request.head(["x-api-key", "authorization", "anthropic-version", "content-type", "cookie", "referer"]),
        [Some(super::KEY), None, Some("2026-10-21"), Some("application/json"), None, None]
    );
    assert_eq!(
        request.body(),
        json!({
            "model": "model-1",
            "max_tokens": 256,
            "system": "Be brief.",
            "messages": [{ "role": "user", "content": "Find it." }],
            "tools": [
                { "name": "web__search", "description": "Searches.", "input_schema":
                  { "type": "object", "properties": { "q": { "type": "string" } }, "required": ["q"] } },
                { "name": "db__query", "input_schema": { "type": "object" } },
            ],
        })
    );
}

#[tokio::test]
async fn a_reply_with_parallel_calls_is_read_without_thinking_and_without_tools_that_ran_already() {
    let code = json!({ "type": "code_execution_20260120", "tool_id": "srvtoolu_1" });
    assert_eq!(
        reply(MESSAGES, busy()).await,
        Reply {
            texts: vec!["Looking.".to_owned()],
            calls: vec![
                call("toolu_1", "web__search", json!({ "q": "a" }), Some(code)),
                call("toolu_2", "db__query", json!({}), Some(json!({ "type": "direct" }))),
            ],
            tokens: tokens(22, 20, Some(7), None),
            stop: Stop::End,
            raw: busy(),
        }
    );
}

#[tokio::test]
async fn content_is_returned_unchanged_with_all_results_in_one_message_and_the_container() {
    let exchanges = answered(reply(MESSAGES, busy()).await);
    let question = ModelRequest { exchanges: &exchanges, temperature: Some(0.5), ..QUESTION };
    assert_eq!(
        request(MESSAGES, &question, done()).await.body(),
        json!({
            "model": "model-1",
            "max_tokens": 256,
            "temperature": 0.5,
            "container": "container_1",
            "messages": [
                { "role": "user", "content": "Find it." },
                { "role": "assistant", "content": busy()["content"] },
                { "role": "user", "content": [
                    { "type": "tool_result", "tool_use_id": "toolu_1", "content": "one" },
                    { "type": "tool_result", "tool_use_id": "toolu_2", "content": "no such table", "is_error": true },
                ] },
            ],
        })
    );
}

#[tokio::test]
async fn a_paused_reply_is_returned_alone_and_an_empty_one_is_not() {
    let mut paused = done();
    paused["stop_reason"] = json!("pause_turn");
    let mut empty = paused.clone();
    empty["content"] = json!([]);
    let mut exchanges = Vec::new();
    for body in [paused.clone(), empty] {
        let reply = reply(MESSAGES, body).await;
        assert_eq!(reply.stop, Stop::Pause);
        exchanges.push(mcptest_runner::agent::Exchange { reply, results: vec![] });
    }
    let body = request(MESSAGES, &ModelRequest { exchanges: &exchanges, ..QUESTION }, done()).await.body();
    assert_eq!(
        body["messages"],
        json!([
            { "role": "user", "content": "Find it." },
            { "role": "assistant", "content": [{ "type": "text", "text": "Done." }] },
        ])
    );
}

#[tokio::test]
async fn every_stop_reason_is_understood_or_reported() {
    for (reason, expected) in [
        (json!("end_turn"), Stop::End),
        (json!("stop_sequence"), Stop::End),
        (json!("tool_use"), Stop::End),
        (json!("pause_turn"), Stop::Pause),
        (json!("max_tokens"), Stop::MaxTokens),
        (json!("model_context_window_exceeded"), Stop::MaxTokens),
        (json!("refusal"), Stop::Refused),
        (Value::Null, Stop::End),
    ] {
        let mut body = done();
        body["stop_reason"] = reason.clone();
        let reply = reply(MESSAGES, body).await;
        assert_eq!((reply.stop, reply.texts), (expected, vec!["Done.".to_owned()]), "{reason}");
    }
    let mut body = done();
    body["stop_reason"] = json!("compaction");
    assert_eq!(
        failure(MESSAGES, body).await,
        "the reply ended with `compaction` | re-record; the model did not finish its reply"
    );
}

#[tokio::test]
async fn a_response_that_is_not_a_message_is_shown() {
    assert_eq!(
        failure(MESSAGES, json!({ "object": "list" })).await,
        "cannot read the response: it has no `content` list: {\"object\":\"list\"} \
         | check that `base_url:` points to a server that speaks Anthropic Messages"
    );
    let error = json!({ "type": "error", "error": { "type": "overloaded_error", "message": "Overloaded\u{1b}[31m" } });
    assert_eq!(
        failure(MESSAGES, error).await,
        "the provider returned an error: Overloaded [31m | read the provider's message, and try again"
    );
}

#[tokio::test]
async fn ids_that_a_compatible_server_repeats_are_replaced_in_reply_and_echo() {
    let mut body = busy();
    body["content"][8]["id"] = json!("toolu_1");
    let reply = reply(MESSAGES, body.clone()).await;
    let ids: Vec<_> = reply.calls.iter().map(|call| call.id.as_str()).collect();
    assert_eq!(ids, ["toolu_1", "call00002"]);
    let exchanges = answered(reply);
    let sent = request(MESSAGES, &ModelRequest { exchanges: &exchanges, ..QUESTION }, done()).await.body();
    body["content"][8]["id"] = json!("call00002");
    assert_eq!(sent["messages"][1]["content"], body["content"]);
    assert_eq!(sent["messages"][2]["content"][1]["tool_use_id"], "call00002");
}

#[tokio::test]
async fn results_without_text_are_reported_in_json_without_their_data() {
    let mut exchanges = answered(reply(MESSAGES, busy()).await);
    let image = json!({ "type": "image", "mimeType": "image/png", "data": "AAAA" });
    let mut structured = found("");
    structured.content = Some(vec![]);
    structured.structured_content = Some(json!({ "b": 1, "a": [2] }).into());
    let mut mixed = found("seen");
    mixed.content.as_mut().unwrap().push(image.clone().into());
    mixed.structured_content = Some(json!({ "ignored": true }).into());
    let mut silent = super::broken("");
    silent.content = None;
    for (first, second, expected) in [
        (
            structured,
            mixed,
            json!([
                { "type": "tool_result", "tool_use_id": "toolu_1", "content": "{\"a\":[2],\"b\":1}" },
                { "type": "tool_result", "tool_use_id": "toolu_2",
                  "content": "seen\n{\"data\":\"[4 characters]\",\"mimeType\":\"image/png\",\"type\":\"image\"}" },
            ]),
        ),
        (
            found(""),
            silent,
            json!([
                { "type": "tool_result", "tool_use_id": "toolu_1", "content": "" },
                { "type": "tool_result", "tool_use_id": "toolu_2", "content": "error", "is_error": true },
            ]),
        ),
    ] {
        exchanges[0].results = vec![first, second];
        let sent = request(MESSAGES, &ModelRequest { exchanges: &exchanges, ..QUESTION }, done()).await.body();
        assert_eq!(sent["messages"][2]["content"], expected);
    }
}
