//! A recording that answers: what clients of servers and models get, and what happens on other requests.

use std::fmt::Write as _;

use mcptest_core::json;
use mcptest_core::ledger::Ledger;
use mcptest_core::ledger::rerun::Rerun;
use mcptest_core::redact::hash;
use mcptest_runner::mcp::Endpoint;
use mcptest_runner::process::Processes;
use mcptest_runner::record::Player;
use serde_json::{Value, json};

use super::lines::{GREETING, Shim, hello};
use super::{Answer, Proxy, Raw, Stream, call, modern, read, text_result};
use crate::fake::{Fake, within};
use crate::http::scripted::{Scripted, http};

/// A ledger of these entries.
fn ledger(entries: &[Value]) -> Ledger {
    let mut text = "{\"mcptest_ledger\":1,\"servers\":[\"fake\"]}\n".to_owned();
    let (mut seq, mut blobs) = (0, Vec::new());
    for entry in entries {
        let mut entry = entry.clone();
        if entry.get("blob").is_none() {
            entry["seq"] = json!(seq);
            entry["ms"] = json!(seq);
            seq += 1;
        } else if blobs.contains(&entry) {
            continue;
        } else {
            blobs.push(entry.clone());
        }
        writeln!(text, "{entry}").unwrap();
    }
    Ledger::read(&text).unwrap()
}

fn player(entries: &[Value]) -> Player {
    Player::new(Rerun::new(ledger(entries), Vec::new()))
}

fn sent(message: &Value) -> Value {
    json!({ "mcp": { "server": "fake", "connection": 0, "from": "program", "message": { "json": message } } })
}

fn got(message: &Value) -> Value {
    json!({ "mcp": { "server": "fake", "connection": 0, "from": "server", "message": { "json": message } } })
}

/// A handshake, and what follows it.
fn opened(rest: Vec<Value>) -> Vec<Value> {
    let info =
        json!({ "protocolVersion": "2025-11-25", "capabilities": {}, "serverInfo": { "name": "f", "version": "1" } });
    let mut all = vec![
        sent(&hello()),
        got(&json!({ "jsonrpc": "2.0", "id": 0, "result": info })),
        sent(&json!({ "jsonrpc": "2.0", "method": "notifications/initialized" })),
    ];
    all.extend(rest);
    all
}

/// A call during which the server reports progress and sends a request.
fn asking() -> Vec<Value> {
    let mut asks = call(7, "echo", json!({ "text": "hi" }));
    asks["params"]["_meta"] = json!({ "progressToken": 7 });
    opened(vec![
        got(&json!({ "jsonrpc": "2.0", "method": "notifications/tools/list_changed" })),
        sent(&asks),
        got(
            &json!({ "jsonrpc": "2.0", "method": "notifications/progress", "params": { "progressToken": 7, "progress": 1 } }),
        ),
        got(&json!({ "jsonrpc": "2.0", "id": "q", "method": "roots/list" })),
        sent(&json!({ "jsonrpc": "2.0", "id": "q", "result": { "roots": [] } })),
        got(&text_result(7, "hi")),
    ])
}

/// The same call, with its own token.
fn asks() -> Value {
    let mut asks = call(21, "echo", json!({ "text": "hi" }));
    asks["params"]["_meta"] = json!({ "progressToken": "now" });
    asks
}

fn report() -> Value {
    json!({ "jsonrpc": "2.0", "method": "notifications/progress", "params": { "progressToken": "now", "progress": 1 } })
}

#[tokio::test]
async fn recorded_notifications_and_requests_within_a_call_are_repeated() {
    let player = player(&asking());
    let proxy = Proxy::rerun(&player).await;
    let mut client = Raw::new(&proxy.url);
    client.initialize().await;
    let mut loose = Stream::new(within(client.request("GET").send()).await.unwrap());
    assert_eq!(loose.next().await.unwrap()["method"], "notifications/tools/list_changed");
    let mut stream = Stream::new(client.send(&asks()).await);
    assert_eq!(stream.next().await, Some(report()));
    assert_eq!(stream.next().await, Some(json!({ "jsonrpc": "2.0", "id": "q", "method": "roots/list" })));
    assert_eq!(client.post(&json!({ "jsonrpc": "2.0", "id": "q", "result": { "roots": [] } })).await.status, 202);
    assert_eq!(stream.next().await, Some(text_result(21, "hi")));
    assert_eq!(stream.next().await, None);
    assert_eq!((player.finish(), player.divergence()), (Vec::new(), None));
    assert_eq!(player.happened(None), ledger(&asking()));
}

#[tokio::test]
async fn a_shim_gets_the_same_replies() {
    let player = player(&asking());
    let proxy = Proxy::rerun(&player).await;
    let mut shim = Shim::connect(&proxy).await;
    assert_eq!(shim.ask(&hello()).await["result"]["serverInfo"]["name"], "f");
    shim.send(GREETING).await;
    assert_eq!(shim.message().await["method"], "notifications/tools/list_changed");
    assert_eq!(shim.ask(&asks()).await, report());
    assert_eq!(shim.message().await["method"], "roots/list");
    let last = shim.ask(&json!({ "jsonrpc": "2.0", "id": "q", "result": { "roots": [] } })).await;
    assert_eq!(last, text_result(21, "hi"));
    player.finish();
    assert_eq!(player.divergence(), None);
}

#[tokio::test]
async fn clients_without_a_session_are_answered_too() {
    let player = player(&[sent(&modern(1, "echo", json!({ "text": "hi" }))), got(&text_result(1, "hi"))]);
    let proxy = Proxy::rerun(&player).await;
    let client = Raw::new(&proxy.url);
    let answer = client.post(&modern("x", "echo", json!({ "text": "hi" }))).await;
    assert_eq!(answer, Answer { status: 200, messages: vec![text_result("x", "hi")], is_stream: false });
    player.finish();
    assert_eq!(player.divergence(), None);
}

#[tokio::test]
async fn an_error_keeps_its_recorded_status() {
    let server = Scripted::start(|request| {
        let error = json!({ "code": -32602, "message": "no such tool" });
        let reply = json!({ "jsonrpc": "2.0", "id": request.body["id"], "error": error });
        let (status, body) = match request.body["params"]["name"].as_str() {
            Some("bad") => ("400 Bad Request", reply.to_string()),
            Some("gone") => ("404 Not Found", reply.to_string()),
            Some("plain") => ("403 Forbidden", "no".to_owned()),
            _ => ("200 OK", text_result(request.body["id"].clone(), "fine").to_string()),
        };
        let kind = if body == "no" { "text/plain" } else { "application/json" };
        http(status, &format!("Content-Type: {kind}\r\n"), body.as_bytes())
    })
    .await;
    let url = format!("http://{}/mcp", server.address);
    let endpoint = Endpoint::Url { url, headers: std::collections::BTreeMap::new(), bearer: None };
    let recorded = Proxy::start(endpoint, &Processes::default()).await;
    let calls = ["bad", "gone", "plain", "fine"].map(|tool| modern(tool, tool, json!({})));
    let mut statuses = Vec::new();
    let mut answers = Vec::new();
    let client = Raw::new(&recorded.url);
    for call in &calls {
        let answer = client.post(call).await;
        statuses.push(answer.status);
        answers.push(answer.messages.into_iter().filter(Value::is_object).collect::<Vec<_>>());
    }
    assert_eq!(statuses, [400, 404, 403, 200]);
    let ledger = recorded.ledger().await;
    let ledger = Ledger::read(&ledger.to_lines()).unwrap();
    let proxy = Proxy::rerun(&Player::new(Rerun::new(ledger, Vec::new()))).await;
    let client = Raw::new(&proxy.url);
    for (at, call) in calls.iter().enumerate() {
        let answer = client.post(call).await;
        let messages: Vec<Value> = answer.messages.into_iter().filter(Value::is_object).collect();
        assert_eq!((answer.status, &messages), (statuses[at], &answers[at]));
    }
}

#[tokio::test]
async fn a_recorded_exit_of_a_server_is_repeated() {
    let gone = json!({ "mcp": { "server": "fake", "connection": 0, "from": "server", "message": { "end": "the server exited" } } });
    let entries = opened(vec![sent(&call(1, "die", json!({}))), gone]);
    let proxy = Proxy::rerun(&player(&entries)).await;
    let mut client = Raw::new(&proxy.url);
    client.initialize().await;
    assert_eq!(client.post(&call(5, "die", json!({}))).await.status, 502);
    let proxy = Proxy::rerun(&player(&entries)).await;
    let mut shim = Shim::connect(&proxy).await;
    shim.ask(&hello()).await;
    shim.send(&format!("{GREETING}{}\n", call(5, "die", json!({})))).await;
    assert_eq!(shim.rest().await, "");
}

#[tokio::test]
async fn an_unrecorded_request_and_everything_after_it_is_rejected() {
    let player = player(&opened(vec![sent(&call(1, "echo", json!({ "text": "hi" }))), got(&text_result(1, "hi"))]));
    let proxy = Proxy::rerun(&player).await;
    let mut client = Raw::new(&proxy.url);
    client.initialize().await;
    let refused = client.post(&call(2, "echo", json!({ "text": "ho" }))).await;
    assert_eq!(refused.status, 400);
    let message = "mcptest: the program diverged from its recording: `tools/call echo` of server `fake` is not what was \
                recorded";
    assert_eq!(refused.messages[0]["error"]["message"], message);
    within(player.diverged()).await;
    let why = player.divergence().unwrap();
    assert!(why.ends_with("first difference: /arguments/text\n  recorded: \"hi\"\n  now:      \"ho\""), "{why}");
    assert_eq!(client.post(&call(3, "echo", json!({ "text": "hi" }))).await.status, 400);
    let mut shim = Shim::connect(&proxy).await;
    assert_eq!(shim.ask(&call(3, "echo", json!({ "text": "hi" }))).await["error"]["message"], message);
}

/// A request to the model and its response.
fn exchange(number: u64, text: &str, response: Value) -> [Value; 3] {
    let mut response = response;
    response["exchange"] = json!(number);
    response["first_ms"] = json!(0);
    if response.get("headers").is_none() {
        response["headers"] = json!({});
    }
    let message = json!({ "role": "user", "content": text });
    let hash = hash(json::canonical(&message).as_bytes());
    let body = json!({ "json": { "model": "m" }, "parts": { "messages": [hash] } });
    let (path, interface) = ("/v1/chat/completions", "openai-chat");
    let request = json!({ "exchange": number, "interface": interface, "method": "POST", "path": path, "body": body });
    [json!({ "blob": hash, "value": message }), json!({ "request": request }), json!({ "response": response })]
}

async fn ask(proxy: &Proxy, text: &str) -> reqwest::Response {
    let http = reqwest::Client::builder().no_proxy().tls_certs_only([]).build().unwrap();
    let url = format!("{}/chat/completions", proxy.variable("OPENAI_BASE_URL"));
    let body = json!({ "messages": [{ "role": "user", "content": text }], "model": "m" }).to_string();
    within(http.post(url).header("content-type", "application/json").body(body).send()).await.unwrap()
}

#[tokio::test]
async fn a_model_answers_in_the_recorded_form() {
    let stream = json!({ "content-type": "text/event-stream" });
    let events = json!({ "events": [{ "name": "a", "data": { "x": 1 } }, { "data": "[DONE]" }] });
    let responses = [
        json!({ "status": 529, "headers": { "retry-after": "30" }, "body": { "json": { "error": "overloaded" } } }),
        json!({ "status": 200, "headers": stream, "body": events }),
        json!({ "status": 200, "body": { "json": { "ok": true } } }),
        json!({ "status": 200, "headers": stream, "body": { "events": [{ "data": 1 }] }, "cut": { "by": "upstream", "why": "reset" } }),
        json!({ "headers": {}, "cut": { "by": "upstream", "why": "cannot reach host" } }),
    ];
    let entries: Vec<Value> =
        (0..).zip(responses).flat_map(|(at, response)| exchange(at, &format!("m{}", at.max(1)), response)).collect();
    let player = player(&entries);
    let proxy = Proxy::rerun(&player).await;
    // Equal requests are answered in recorded order.
    let overloaded = ask(&proxy, "m1").await;
    let headers = overloaded.headers().clone();
    assert_eq!(
        (overloaded.status().as_u16(), headers.get("retry-after"), &headers["retry-after-ms"]),
        (529, None, &"1".parse().unwrap())
    );
    assert_eq!(overloaded.text().await.unwrap(), "{\"error\":\"overloaded\"}");
    let streamed = ask(&proxy, "m1").await;
    assert_eq!(
        (streamed.status().as_u16(), &streamed.headers()["content-type"]),
        (200, &"text/event-stream".parse().unwrap())
    );
    assert_eq!(streamed.text().await.unwrap(), "event: a\ndata: {\"x\":1}\n\ndata: [DONE]\n\n");
    assert_eq!(read(ask(&proxy, "m2").await).await.messages, [json!({ "ok": true })]);
    let mut cut = ask(&proxy, "m3").await;
    assert_eq!(cut.chunk().await.unwrap().unwrap(), "data: 1\n\n");
    assert!(cut.chunk().await.is_err(), "it broke off then, and must now");
    let unreachable = ask(&proxy, "m4").await;
    assert_eq!((unreachable.status().as_u16(), &unreachable.headers()["retry-after-ms"]), (502, &"1".parse().unwrap()));
    assert_eq!((player.finish(), player.divergence()), (Vec::new(), None));
    let other = ask(&proxy, "m5").await;
    assert_eq!((other.status().as_u16(), &other.headers()["x-should-retry"]), (400, &"false".parse().unwrap()));
    let message = other.text().await.unwrap();
    assert!(message.contains("mcptest: the program diverged from its recording: model request 6"), "{message}");
}

#[tokio::test]
async fn a_request_waits_for_those_that_were_answered_before_it() {
    let mut entries = Vec::from(exchange(0, "first", json!({ "status": 200, "body": { "text": "1" } })));
    entries.extend(exchange(1, "second", json!({ "status": 200, "body": { "text": "2" } })));
    let player = player(&entries);
    let proxy = Proxy::rerun(&player).await;
    let (second, first) = tokio::join!(ask(&proxy, "second"), async {
        tokio::time::sleep(std::time::Duration::from_millis(300)).await;
        ask(&proxy, "first").await
    });
    assert_eq!((first.text().await.unwrap(), second.text().await.unwrap()), ("1".to_owned(), "2".to_owned()));
    assert_eq!(player.divergence(), None);
    // Nothing that it waits for comes.
    let alone = self::player(&entries);
    let proxy = Proxy::rerun(&alone).await;
    assert_eq!(ask(&proxy, "second").await.status().as_u16(), 400);
    let message = "model request 2 of 2 (POST /v1/chat/completions) came before model request 1 of 2 (POST \
                /v1/chat/completions); in the recording it came after";
    assert_eq!(alone.divergence().as_deref(), Some(message));
}

#[tokio::test]
async fn a_call_that_never_had_a_reply_waits_for_the_client_to_leave() {
    let left = json!({ "mcp": { "server": "fake", "connection": 0, "from": "program", "reply_to": 3, "message": { "end": "the program closed the connection" } } });
    let player = player(&opened(vec![sent(&call(1, "hang", json!({}))), left]));
    let proxy = Proxy::rerun(&player).await;
    let mut client = Raw::new(&proxy.url);
    client.initialize().await;
    let request = client.request("POST").header("accept", "application/json, text/event-stream");
    let waiting = request.body(call(4, "hang", json!({})).to_string()).timeout(std::time::Duration::from_millis(300));
    assert!(waiting.send().await.unwrap_err().is_timeout());
    player.finish();
    assert_eq!(player.divergence(), None);
}

#[tokio::test]
async fn restarted_servers_get_only_recorded_messages() {
    let fake = Fake::new("legacy");
    let recorded = Proxy::before(&fake).await;
    let mut client = Raw::new(&recorded.url);
    client.initialize().await;
    let first = client.post(&call(2, "echo", json!({ "words": "hi" }))).await;
    let ledger = recorded.ledger().await;
    let player = Player::new(Rerun::new(ledger, Vec::new()));
    let live = Proxy::live(&fake, &player).await;
    let mut client = Raw::new(&live.url);
    client.initialize().await;
    assert_eq!(client.post(&call(2, "echo", json!({ "words": "hi" }))).await, first);
    assert_eq!(client.post(&call(3, "echo", json!({ "words": "ho" }))).await.status, 400);
    let message =
        "`tools/call echo` of server `fake` was not recorded, and no recorded request that is left is like it";
    assert_eq!(player.divergence().as_deref(), Some(message));
    let seen = live.finish().await;
    assert_eq!(seen.iter().filter(|line| line.contains("tools/call")).count(), 1, "{seen:#?}");
    fake.is_gone().await;
}
