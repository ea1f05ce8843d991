//! `OpenAI` Responses.

use mcptest_runner::agent::{Reply, Stop};
use mcptest_runner::provider::ModelRequest;
use serde_json::{Value, json};

use super::{QUESTION, RESPONSES, answered, call, failure, reply, request, tokens, tools};

fn done() -> Value {
    json!({ "object": "response", "status": "completed", "error": null, "incomplete_details": null, "output": [
        { "type": "message", "role": "assistant", "content": [{ "type": "output_text", "text": "Done." }] },
    ] })
}

/// Encrypted reasoning, a program that makes a call, a tool that ran at the provider, and a call of the model itself.
fn busy() -> Value {
    json!({
        "id": "resp_1", "object": "response", "status": "completed", "error": null,
        "output": [
            { "type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "gAAA" },
            { "type": "program", "id": "pg_1", "call_id": "call_p", "code": "search()", "fingerprint": "f00" },
            { "type": "message", "id": "msg_1", "role": "assistant", "status": "completed", "content": [
                { "type": "output_text", "text": "Looking.", "annotations": [], "logprobs": [] },
            ] },
            { "type": "function_call", "id": "fc_1", "call_id": "call_1", "name": "web__search",
              "arguments": "{\"q\":\"a\"}", "status": "completed",
              "caller": { "type": "program", "caller_id": "call_p" } },
            { "type": "mcp_call", "id": "mcp_1", "server_label": "x", "name": "y", "arguments": "{}", "output": "z" },
            { "type": "function_call", "id": "fc_2", "call_id": "call_2", "name": "db__query", "arguments": "{}" },
            { "type": "hologram", "shape": [1, 2.5, null] },
        ],
        "usage": { "input_tokens": 30, "input_tokens_details": { "cached_tokens": 8 }, "output_tokens": 12,
                   "output_tokens_details": { "reasoning_tokens": 6 }, "total_tokens": 42 },
    })
}

#[tokio::test]
async fn the_first_request_has_system_prompt_and_tools() {
    let tools = tools();
    let question =
        ModelRequest { system: Some("Be brief."), tools: tools.offered(), temperature: Some(0.5), ..QUESTION };
    let request = request(RESPONSES, &question, done()).await;
    assert_eq!(request.line, "POST /responses");
    assert_eq!(
        request.head(["authorization", "x-api-key", "content-type", "openai-organization"]),
        [Some(&*format!("Bearer {}", super::KEY)), None, Some("application/json"), None]
    );
    assert_eq!(
        request.body(),
        json!({
            "model": "model-1",
            "max_output_tokens": 256,
            "temperature": 0.5,
            "store": false,
            "include": ["reasoning.encrypted_content"],
            "instructions": "Be brief.",
            "input": [{ "role": "user", "content": "Find it." }],
            "tools": [
                { "type": "function", "name": "web__search", "description": "Searches.", "strict": false, "parameters":
                  { "type": "object", "properties": { "q": { "type": "string" } }, "required": ["q"] } },
                { "type": "function", "name": "db__query", "strict": false,
                  "parameters": { "type": "object", "properties": {} } },
            ],
        })
    );
}

#[tokio::test]
async fn a_reply_with_parallel_calls_is_read_with_the_program_that_made_one() {
    let program = json!({ "type": "program", "caller_id": "call_p" });
    assert_eq!(
        reply(RESPONSES, busy()).await,
        Reply {
            texts: vec!["Looking.".to_owned()],
            calls: vec![
                call("call_1", "web__search", json!({ "q": "a" }), Some(program)),
                call("call_2", "db__query", json!({}), None),
            ],
            tokens: tokens(30, 12, Some(8), Some(42)),
            stop: Stop::End,
            raw: busy(),
        }
    );
}

#[tokio::test]
async fn output_is_returned_unchanged_and_each_call_is_answered_to_its_caller() {
    let exchanges = answered(reply(RESPONSES, busy()).await);
    let mut input = vec![json!({ "role": "user", "content": "Find it." })];
    input.extend(busy()["output"].as_array().unwrap().clone());
    input.push(json!({ "type": "function_call_output", "call_id": "call_1", "output": "one",
                       "caller": { "type": "program", "caller_id": "call_p" } }));
    input.push(json!({ "type": "function_call_output", "call_id": "call_2", "output": "error: no such table" }));
    assert_eq!(
        request(RESPONSES, &ModelRequest { exchanges: &exchanges, ..QUESTION }, done()).await.body(),
        json!({
            "model": "model-1",
            "max_output_tokens": 256,
            "store": false,
            "include": ["reasoning.encrypted_content"],
            "input": input,
        })
    );
}

#[tokio::test]
async fn every_way_to_end_is_understood_or_reported() {
    for (status, details, expected) in [
        (json!("completed"), Value::Null, Stop::End),
        (Value::Null, Value::Null, Stop::End),
        (json!("incomplete"), json!({ "reason": "max_output_tokens" }), Stop::MaxTokens),
        (json!("incomplete"), json!({ "reason": "content_filter" }), Stop::Refused),
    ] {
        let mut body = done();
        body["status"] = status;
        body["incomplete_details"] = details.clone();
        assert_eq!(reply(RESPONSES, body).await.stop, expected, "{details}");
    }
    for (status, details, expected) in [
        ("incomplete", json!({ "reason": "sunset" }), "the reply ended with `sunset`"),
        ("incomplete", Value::Null, "the reply ended with `incomplete`"),
        ("queued", Value::Null, "the reply ended with `queued`"),
    ] {
        let mut body = done();
        body["status"] = json!(status);
        body["incomplete_details"] = details;
        let hint = "re-record; the model did not finish its reply";
        assert_eq!(failure(RESPONSES, body).await, format!("{expected} | {hint}"));
    }
    let mut body = done();
    body["status"] = json!("failed");
    body["error"] = json!({ "code": "server_error", "message": "The model fell over." });
    assert_eq!(
        failure(RESPONSES, body).await,
        "the provider returned an error: The model fell over. | read the provider's message, and try again"
    );
    assert_eq!(
        failure(RESPONSES, json!({ "choices": [] })).await,
        "cannot read the response: it has no `output` list: {\"choices\":[]} \
         | check that `base_url:` points to a server that speaks OpenAI Responses"
    );
}

#[tokio::test]
async fn a_refusal_is_kept_as_text() {
    let mut body = done();
    body["output"][0]["content"] = json!([{ "type": "refusal", "refusal": "I will not." }]);
    let reply = reply(RESPONSES, body).await;
    assert_eq!((reply.stop, reply.texts), (Stop::Refused, vec!["I will not.".to_owned()]));
}
