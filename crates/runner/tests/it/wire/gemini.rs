//! Gemini.

use mcptest_core::trace::Tokens;
use mcptest_runner::agent::{Reply, Stop};
use mcptest_runner::provider::ModelRequest;
use serde_json::{Value, json};

use super::{GEMINI, QUESTION, answered, call, failure, reply, request, tokens, tools};

fn done() -> Value {
    json!({ "candidates": [
        { "content": { "role": "model", "parts": [{ "text": "Done." }] }, "finishReason": "STOP" },
    ] })
}

/// A thought, a call with its signature and without an id, code that ran at the provider, and a call with an id.
fn busy() -> Value {
    json!({
        "candidates": [{
            "content": { "role": "model", "parts": [
                { "text": "Where?", "thought": true },
                { "text": "Looking." },
                { "functionCall": { "name": "web__search", "args": { "q": "a" } }, "thoughtSignature": "CpcB" },
                { "executableCode": { "language": "PYTHON", "code": "1" } },
                { "hologram": [1, 2.5, null] },
                { "functionCall": { "id": "fc_2", "name": "db__query" } },
            ] },
            "finishReason": "STOP", "index": 0,
        }],
        "usageMetadata": { "promptTokenCount": 30, "cachedContentTokenCount": 8, "candidatesTokenCount": 12,
                           "thoughtsTokenCount": 5, "toolUsePromptTokenCount": 2, "totalTokenCount": 49 },
    })
}

#[tokio::test]
async fn the_first_request_has_system_prompt_and_tools() {
    let tools = tools();
    let question =
        ModelRequest { system: Some("Be brief."), tools: tools.offered(), temperature: Some(0.5), ..QUESTION };
    let request = request(GEMINI, &question, done()).await;
    assert_eq!(request.line, "POST /v1beta/models/model-1:generateContent");
    assert_eq!(
        request.head(["x-goog-api-key", "authorization", "content-type"]),
        [Some(super::KEY), None, Some("application/json")]
    );
    assert_eq!(
        request.body(),
        json!({
            "generationConfig": { "maxOutputTokens": 256, "temperature": 0.5 },
            "systemInstruction": { "parts": [{ "text": "Be brief." }] },
            "contents": [{ "role": "user", "parts": [{ "text": "Find it." }] }],
            "tools": [{ "functionDeclarations": [
                { "name": "web__search", "description": "Searches.", "parametersJsonSchema":
                  { "type": "object", "properties": { "q": { "type": "string" } }, "required": ["q"] } },
                { "name": "db__query", "parametersJsonSchema": { "type": "object" } },
            ] }],
        })
    );
}

#[tokio::test]
async fn a_reply_with_parallel_calls_is_read_without_thoughts() {
    assert_eq!(
        reply(GEMINI, busy()).await,
        Reply {
            texts: vec!["Looking.".to_owned()],
            calls: vec![call("", "web__search", json!({ "q": "a" }), None), call("fc_2", "db__query", json!({}), None),],
            tokens: tokens(32, 17, Some(8), Some(49)),
            stop: Stop::End,
            raw: busy(),
        }
    );
}

#[tokio::test]
async fn parts_are_sent_back_unchanged_with_all_answers_in_one_content() {
    let exchanges = answered(reply(GEMINI, busy()).await);
    assert_eq!(
        request(GEMINI, &ModelRequest { exchanges: &exchanges, ..QUESTION }, done()).await.body(),
        json!({
            "generationConfig": { "maxOutputTokens": 256 },
            "contents": [
                { "role": "user", "parts": [{ "text": "Find it." }] },
                busy()["candidates"][0]["content"],
                { "role": "user", "parts": [
                    { "functionResponse": { "name": "web__search", "response": { "output": "one" } } },
                    { "functionResponse":
                      { "id": "fc_2", "name": "db__query", "response": { "error": "no such table" } } },
                ] },
            ],
        })
    );
}

#[tokio::test]
async fn every_finish_reason_is_understood_or_reported() {
    for (reason, expected) in [
        (json!("STOP"), Stop::End),
        (json!("FUNCTION_CALL"), Stop::End),
        (Value::Null, Stop::End),
        (json!("MAX_TOKENS"), Stop::MaxTokens),
        (json!("SAFETY"), Stop::Refused),
        (json!("RECITATION"), Stop::Refused),
        (json!("BLOCKLIST"), Stop::Refused),
        (json!("PROHIBITED_CONTENT"), Stop::Refused),
        (json!("SPII"), Stop::Refused),
        (json!("IMAGE_SAFETY"), Stop::Refused),
        (json!("IMAGE_PROHIBITED_CONTENT"), Stop::Refused),
        (json!("IMAGE_RECITATION"), Stop::Refused),
    ] {
        let mut body = done();
        body["candidates"][0]["finishReason"] = reason.clone();
        assert_eq!(reply(GEMINI, body).await.stop, expected, "{reason}");
    }
    for reason in
        ["MALFORMED_FUNCTION_CALL", "UNEXPECTED_TOOL_CALL", "TOO_MANY_TOOL_CALLS", "MALFORMED_RESPONSE", "OTHER"]
    {
        let mut body = done();
        body["candidates"][0] = json!({ "finishReason": reason, "finishMessage": "print(" });
        assert_eq!(
            failure(GEMINI, body).await,
            format!("the reply ended with `{reason}`: print( | re-record; the model did not finish its reply")
        );
    }
}

#[tokio::test]
async fn a_blocked_prompt_is_a_refusal_and_a_response_without_candidates_is_an_error() {
    let blocked = json!({ "promptFeedback": { "blockReason": "SAFETY" }, "usageMetadata": { "promptTokenCount": 4 } });
    assert_eq!(
        reply(GEMINI, blocked.clone()).await,
        Reply { tokens: tokens(4, 0, Some(0), None), stop: Stop::Refused, raw: blocked, ..Reply::default() }
    );
    assert_eq!(
        failure(GEMINI, json!({ "candidates": [] })).await,
        "cannot read the response: it has no `candidates[0]`: {\"candidates\":[]} \
         | check that `base_url:` points to a server that speaks Gemini generateContent"
    );
}

#[tokio::test]
async fn a_cut_candidate_without_content_is_a_reply_without_text() {
    let mut body = done();
    body["candidates"][0] = json!({ "finishReason": "MAX_TOKENS" });
    assert_eq!(
        reply(GEMINI, body.clone()).await,
        Reply { tokens: Tokens::default(), stop: Stop::MaxTokens, raw: body, ..Reply::default() }
    );
}
