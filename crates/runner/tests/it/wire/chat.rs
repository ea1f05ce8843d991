//! `OpenAI` Chat Completions, and the habits of servers that speak it.

use mcptest_core::trace::Tokens;
use mcptest_runner::agent::{Reply, RequestedArgs, Stop};
use mcptest_runner::provider::ModelRequest;
use serde_json::{Value, json};

use super::{CHAT, QUESTION, answered, call, failure, reply, request, tokens, tools};

fn done() -> Value {
    json!({ "choices": [
        { "index": 0, "message": { "role": "assistant", "content": "Done." }, "finish_reason": "stop" },
    ] })
}

fn busy() -> Value {
    json!({
        "id": "chatcmpl-1", "object": "chat.completion",
        "choices": [{ "index": 0, "finish_reason": "tool_calls", "message": {
            "role": "assistant", "content": "Looking.", "refusal": null, "reasoning_content": "Where?",
            "tool_calls": [
                { "id": "call_1", "type": "function", "function":
                  { "name": "web__search", "arguments": "{\"q\":\"a\"}" } },
                { "id": "call_2", "type": "function", "function": { "name": "db__query", "arguments": "{}" } },
            ],
        } }],
        "usage": { "prompt_tokens": 30, "prompt_tokens_details": { "cached_tokens": 8 }, "completion_tokens": 12,
                   "total_tokens": 42 },
    })
}

#[tokio::test]
async fn the_first_request_has_system_prompt_and_tools() {
    let tools = tools();
    let question =
        ModelRequest { system: Some("Be brief."), tools: tools.offered(), temperature: Some(0.5), ..QUESTION };
    let request = request(CHAT, &question, done()).await;
    assert_eq!(request.line, "POST /chat/completions");
    assert_eq!(
        request.head(["authorization", "content-type"]),
        [Some(&*format!("Bearer {}", super::KEY)), Some("application/json")]
    );
    assert_eq!(
        request.body(),
        json!({
            "model": "model-1",
            "max_tokens": 256,
            "temperature": 0.5,
            "messages": [
                { "role": "system", "content": "Be brief." },
                { "role": "user", "content": "Find it." },
            ],
            "tools": [
                { "type": "function", "function": { "name": "web__search", "description": "Searches.", "parameters":
                  { "type": "object", "properties": { "q": { "type": "string" } }, "required": ["q"] } } },
                { "type": "function", "function":
                  { "name": "db__query", "parameters": { "type": "object", "properties": {} } } },
            ],
        })
    );
}

#[tokio::test]
async fn a_reply_with_parallel_calls_is_read_without_reasoning() {
    assert_eq!(
        reply(CHAT, busy()).await,
        Reply {
            texts: vec!["Looking.".to_owned()],
            calls: vec![
                call("call_1", "web__search", json!({ "q": "a" }), None),
                call("call_2", "db__query", json!({}), None),
            ],
            tokens: tokens(30, 12, Some(8), Some(42)),
            stop: Stop::End,
            raw: busy(),
        }
    );
}

#[tokio::test]
async fn the_message_is_returned_unchanged_with_one_answer_per_call() {
    let exchanges = answered(reply(CHAT, busy()).await);
    assert_eq!(
        request(CHAT, &ModelRequest { exchanges: &exchanges, ..QUESTION }, done()).await.body(),
        json!({
            "model": "model-1",
            "max_tokens": 256,
            "messages": [
                { "role": "user", "content": "Find it." },
                busy()["choices"][0]["message"],
                { "role": "tool", "tool_call_id": "call_1", "content": "one" },
                { "role": "tool", "tool_call_id": "call_2", "content": "error: no such table" },
            ],
        })
    );
}

#[tokio::test]
async fn calls_without_a_usable_id_get_one_that_the_echo_has_too() {
    let mut body = busy();
    // Ends with `stop` although there are calls, does not count, and leaves out the role.
    body["choices"][0]["finish_reason"] = json!("stop");
    body.as_object_mut().unwrap().remove("usage");
    body["choices"][0]["message"].as_object_mut().unwrap().remove("role");
    body["choices"][0]["message"]["tool_calls"] = json!([
        { "id": "", "type": "function", "function": { "name": "web__search", "arguments": { "q": "a" } } },
        { "type": "function", "function": { "name": "db__query", "arguments": "" } },
    ]);
    let first = reply(CHAT, body.clone()).await;
    assert_eq!(
        first,
        Reply {
            texts: vec!["Looking.".to_owned()],
            calls: vec![
                call("call00001", "web__search", json!({ "q": "a" }), None),
                call("call00002", "db__query", json!({}), None),
            ],
            tokens: Tokens::default(),
            stop: Stop::End,
            raw: body.clone(),
        }
    );
    let mut exchanges = answered(first);
    let question = ModelRequest { exchanges: &exchanges, ..QUESTION };
    // A server that counts from the start in every reply uses an id again, which is one too many.
    let mut again = busy();
    again["choices"][0]["message"]["tool_calls"][0]["id"] = json!("call00002");
    let (second, requests, _) = super::ask_at(CHAT, vec![super::Answer::json(&again)], &question).await;
    let mut message = body["choices"][0]["message"].clone();
    message["role"] = json!("assistant");
    message["tool_calls"][0]["id"] = json!("call00001");
    message["tool_calls"][1]["id"] = json!("call00002");
    assert_eq!(
        requests[0].body()["messages"],
        json!([
            { "role": "user", "content": "Find it." },
            message,
            { "role": "tool", "tool_call_id": "call00001", "content": "one" },
            { "role": "tool", "tool_call_id": "call00002", "content": "error: no such table" },
        ])
    );
    let second = second.unwrap();
    let ids: Vec<_> = second.calls.iter().map(|call| call.id.as_str()).collect();
    assert_eq!(ids, ["call00003", "call_2"]);
    exchanges.extend(answered(second));
    let sent = request(CHAT, &ModelRequest { exchanges: &exchanges, ..QUESTION }, done()).await.body();
    let mut echoed = again["choices"][0]["message"].clone();
    echoed["tool_calls"][0]["id"] = json!("call00003");
    assert_eq!(sent["messages"][4], echoed);
}

#[tokio::test]
async fn arguments_that_are_not_an_object_are_kept_as_text() {
    for (arguments, text, why) in [
        (json!("{\"q\":"), "{\"q\":", "line 1, column 5: EOF while parsing a value"),
        (json!("[1]"), "[1]", "found a list of 1"),
        (json!([1]), "[1]", "found a list of 1"),
    ] {
        let mut body = busy();
        body["choices"][0]["message"]["tool_calls"][0]["function"]["arguments"] = arguments;
        assert_eq!(
            reply(CHAT, body).await.calls[0].args,
            RequestedArgs::Unreadable { text: text.to_owned(), why: why.to_owned() }
        );
    }
}

#[tokio::test]
async fn every_finish_reason_is_understood_or_reported() {
    for (reason, expected) in [
        (json!("stop"), Stop::End),
        (json!("tool_calls"), Stop::End),
        (json!("function_call"), Stop::End),
        (json!(""), Stop::End),
        (Value::Null, Stop::End),
        (json!("length"), Stop::MaxTokens),
        (json!("content_filter"), Stop::Refused),
    ] {
        let mut body = done();
        body["choices"][0]["finish_reason"] = reason.clone();
        assert_eq!(reply(CHAT, body).await.stop, expected, "{reason}");
    }
    let mut body = done();
    body["choices"][0]["finish_reason"] = json!("error");
    assert_eq!(
        failure(CHAT, body).await,
        "the reply ended with `error` | re-record; the model did not finish its reply"
    );
    assert_eq!(
        failure(CHAT, json!({ "choices": [] })).await,
        "cannot read the response: it has no `choices[0].message`: {\"choices\":[]} \
         | check that `base_url:` points to a server that speaks OpenAI Chat Completions"
    );
    assert_eq!(
        failure(CHAT, json!({ "error": "model is loading" })).await,
        "the provider returned an error: model is loading | read the provider's message, and try again"
    );
}

#[tokio::test]
async fn a_refusal_is_kept_as_text() {
    let mut body = done();
    body["choices"][0]["message"] = json!({ "role": "assistant", "content": null, "refusal": "I will not." });
    let refused = reply(CHAT, body).await;
    assert_eq!((refused.stop, refused.texts), (Stop::Refused, vec!["I will not.".to_owned()]));
}

#[tokio::test]
async fn content_in_parts_is_read_and_empty_content_is_absent() {
    for (content, expected) in [
        (json!(""), &[][..]),
        (Value::Null, &[]),
        (json!([{ "type": "thinking", "text": "Hm." }, { "type": "text", "text": "Done." }]), &["Done."]),
    ] {
        let mut body = done();
        body["choices"][0]["message"]["content"] = content;
        assert_eq!(reply(CHAT, body).await.texts, expected);
    }
}
