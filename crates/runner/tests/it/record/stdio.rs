//! HTTP clients of a server that is a child.

use std::time::Duration;

use mcptest_core::ledger::{Message, What};
use mcptest_runner::mcp::MAX_LINE;
use serde_json::{Value, json};

use super::{Answer, Proxy, Raw, Stream, call, modern, read, request, text_result};
use crate::fake::{Fake, MEMORY, within};
use crate::http::until;

fn whole(status: u16, message: Value) -> Answer {
    Answer { status, messages: vec![message], is_stream: false }
}

fn streamed(messages: Vec<Value>) -> Answer {
    Answer { status: 200, messages, is_stream: true }
}

/// A client with a session.
async fn client(proxy: &Proxy) -> Raw {
    let mut client = Raw::new(&proxy.url);
    client.initialize().await;
    client
}

const OPENED: [&str; 3] = ["0 > initialize #0", "0 < result #0 (0)", "0 > notifications/initialized"];

fn after_opening(rest: &[&str]) -> Vec<String> {
    OPENED.iter().chain(rest).map(|entry| (*entry).to_owned()).collect()
}

/// Too large to keep.
const SIZE: usize = MAX_LINE + 1000;

#[tokio::test]
async fn a_session_is_a_child_and_ends_with_it() {
    let fake = Fake::new("legacy");
    let proxy = Proxy::before(&fake).await;
    let client = client(&proxy).await;
    let list = client.post(&request("l", "tools/list", json!({}))).await;
    assert_eq!((list.status, &list.messages[0]["result"]["tools"][0]["x-other"]), (200, &json!([1])));
    assert_eq!(client.post(&call(1, "echo", json!({ "words": "hé" }))).await, whole(200, text_result(1, "hé")));
    let error = json!({ "code": -32602, "message": "Unknown tool: refuses", "data": { "x": 1 } });
    assert_eq!(
        client.post(&call(2, "refuses", json!({}))).await,
        whole(200, json!({ "jsonrpc": "2.0", "id": 2, "error": error }))
    );
    assert_eq!(fake.left().len(), 1);
    assert_eq!(within(client.request("DELETE").send()).await.unwrap().status(), 200);
    fake.is_gone().await;
    let gone = vec![Value::from("mcptest: the session is not known, or has ended\n")];
    for method in ["POST", "GET", "DELETE"] {
        let answer = read(within(client.request(method).body("{}").send()).await.unwrap()).await;
        assert_eq!(answer, Answer { status: 404, messages: gone.clone(), is_stream: false });
    }
    assert_eq!(
        proxy.finish().await,
        after_opening(&[
            "0 > tools/list #\"l\"",
            "0 < result #\"l\" (3)",
            "0 > tools/call #1",
            "0 < result #1 hé (5)",
            "0 > tools/call #2",
            "0 < error #2 -32602 (7)",
            "0 < end: the program ended the session",
        ])
    );
}

#[tokio::test]
async fn messages_before_a_reply_make_it_a_stream() {
    let fake = Fake::new("legacy");
    let proxy = Proxy::before(&fake).await;
    let client = client(&proxy).await;
    let mut asked = call(1, "progress", json!({ "steps": 2 }));
    asked["params"]["_meta"] = json!({ "progressToken": "t" });
    let progress = |step: u64| {
        let params = json!({ "progressToken": "t", "progress": step });
        json!({ "jsonrpc": "2.0", "method": "notifications/progress", "params": params })
    };
    assert_eq!(client.post(&asked).await, streamed(vec![progress(0), progress(1), text_result(1, "done")]));
    assert_eq!(
        proxy.finish().await,
        after_opening(&[
            "0 > tools/call #1",
            "0 < notifications/progress (3)",
            "0 < notifications/progress (3)",
            "0 < result #1 done (3)",
            "0 < end: the recording ended",
        ])
    );
    assert_eq!(fake.left(), [""; 0]);
}

#[tokio::test]
async fn server_requests_are_answered_by_the_client() {
    let fake = Fake::new("legacy");
    let proxy = Proxy::before(&fake).await;
    let client = client(&proxy).await;
    let mut stream = Stream::new(client.send(&call(1, "asks", json!({}))).await);
    for index in 0..4 {
        let asked = stream.next().await.unwrap();
        assert_eq!(asked["id"], format!("q{index}"));
        let answer = json!({ "jsonrpc": "2.0", "id": asked["id"], "result": { "n": index } });
        assert_eq!(client.post(&answer).await, Answer { status: 202, messages: vec![], is_stream: false });
    }
    let text = r#"{"q0": {"n": 0}, "q1": {"n": 1}, "q2": {"n": 2}, "q3": {"n": 3}}"#;
    assert_eq!((stream.next().await, stream.next().await), (Some(text_result(1, text)), None));
    let entries = proxy.finish().await;
    let asked = entries.iter().find(|entry| entry.contains("sampling"));
    assert_eq!(asked.map(String::as_str), Some("0 < sampling/createMessage #\"q2\" (3)"));
    assert!(entries.contains(&"0 > result #\"q2\"".to_owned()), "{entries:#?}");
}

#[tokio::test]
async fn unrelated_messages_go_to_the_stream_of_the_session() {
    let fake = Fake::new("legacy");
    let proxy = Proxy::before(&fake).await;
    let client = client(&proxy).await;
    let changed = json!({ "jsonrpc": "2.0", "method": "notifications/tools/list_changed" });
    // Kept until there is a stream.
    assert_eq!(client.post(&call(1, "notifies", json!({}))).await.messages, [text_result(1, "done")]);
    let mut stream = Stream::new(within(client.request("GET").send()).await.unwrap());
    assert_eq!(stream.next().await, Some(changed.clone()));
    assert_eq!(client.post(&call(2, "notifies", json!({}))).await.messages, [text_result(2, "done")]);
    assert_eq!(stream.next().await, Some(changed));
    assert_eq!(within(client.request("DELETE").send()).await.unwrap().status(), 200);
    assert_eq!(stream.next().await, None);
    let entries = proxy.finish().await;
    assert_eq!(entries[5], "0 < notifications/tools/list_changed");
}

#[tokio::test]
async fn a_client_with_a_session_cancels_by_a_message_and_not_by_leaving() {
    let fake = Fake::new("legacy");
    let proxy = Proxy::before(&fake).await;
    let client = client(&proxy).await;
    let wait = call(1, "wait", json!({ "seconds": 0.3 }));
    let left = tokio::time::timeout(Duration::from_millis(100), client.send(&wait)).await;
    assert!(left.is_err());
    let params = json!({ "requestId": 7, "reason": "late" });
    let cancel = json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": params });
    assert_eq!(client.post(&cancel).await.status, 202);
    tokio::time::sleep(Duration::from_millis(400)).await;
    let cancelled = client.post(&call(2, "cancelled", json!({}))).await;
    assert_eq!(cancelled.messages, [text_result(2, r#"[{"reason": "late", "requestId": 7}]"#)]);
    // The reply came although no client waited for it.
    let entries = proxy.finish().await;
    assert_eq!(entries[5], "0 < result #1 waited (3)");
}

#[tokio::test]
async fn a_client_without_a_session_cancels_by_leaving() {
    let fake = Fake::new("modern");
    let proxy = Proxy::before(&fake).await;
    let client = Raw::new(&proxy.url);
    let wait = modern(5, "wait", json!({ "seconds": 20 }));
    let left = tokio::time::timeout(Duration::from_millis(500), client.send(&wait)).await;
    assert!(left.is_err());
    let mut cancellations = String::new();
    for id in 100..150 {
        let cancelled = client.post(&modern(id, "cancelled", json!({}))).await;
        cancellations = cancelled.messages[0]["result"]["content"][0]["text"].as_str().unwrap().to_owned();
        if cancellations != "[]" {
            break;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    assert_eq!(cancellations, r#"[{"reason": "the client closed the connection", "requestId": 5}]"#);
    let entries = proxy.finish().await;
    assert_eq!(entries[0], "0 > tools/call #5");
    assert!(entries.contains(&"0 > end: the program closed the connection (0)".to_owned()), "{entries:#?}");
}

#[tokio::test]
async fn clients_without_a_session_share_a_child_and_may_use_the_same_ids() {
    let fake = Fake::new("modern");
    let proxy = Proxy::before(&fake).await;
    let client = Raw::new(&proxy.url);
    let first = modern(1, "wait", json!({ "seconds": 0.5, "words": "first" }));
    let second = modern(1, "progress", json!({ "steps": 1 }));
    let third = modern(1, "meta", json!({}));
    let both = async {
        tokio::time::sleep(Duration::from_millis(200)).await;
        (client.post(&second).await, client.post(&third).await)
    };
    let (one, (two, three)) = tokio::join!(client.post(&first), both);
    assert_eq!(one, whole(200, text_result(1, "first")));
    let progress = json!({ "progressToken": 0, "progress": 0 });
    let progress = json!({ "jsonrpc": "2.0", "method": "notifications/progress", "params": progress });
    assert_eq!(two, streamed(vec![progress, text_result(1, "done")]));
    let meta: Value = three.messages[0]["result"]["content"][0]["text"].as_str().unwrap().parse().unwrap();
    assert_eq!((&three.messages[0]["id"], &meta["progressToken"]), (&json!(1), &json!("mcptest-2")));
    assert_eq!(fake.left().len(), 1);
    let entries = proxy.finish().await;
    assert_eq!(
        entries[..4],
        ["0 > tools/call #1", "0 > tools/call #1", "0 < notifications/progress (1)", "0 < result #1 done (1)"]
    );
    assert_eq!(entries[6], "0 < result #1 first (0)");
    assert_eq!(fake.left(), [""; 0]);
}

#[tokio::test]
async fn a_server_that_exits_during_a_call_is_an_error_for_the_client() {
    let fake = Fake::new("legacy");
    let proxy = Proxy::before(&fake).await;
    let client = client(&proxy).await;
    let error = |id: u64, why: &str| json!({ "jsonrpc": "2.0", "id": id, "error": { "code": -32000, "message": why } });
    let (wait, dies) = (call(1, "wait", json!({ "seconds": 20 })), call(2, "dies", json!({})));
    let (wait, dies) = tokio::join!(client.post(&wait), client.post(&dies));
    let why = "mcptest: the server exited (exit status: 3)";
    assert_eq!((wait, dies), (whole(502, error(1, why)), whole(502, error(2, why))));
    assert_eq!(client.post(&call(3, "echo", json!({}))).await.status, 404);
    // Where a stream has begun, it ends with the error.
    let again = self::client(&proxy).await;
    let mut asked = call(1, "progress", json!({ "steps": 1, "dies": true }));
    asked["params"]["_meta"] = json!({ "progressToken": 1 });
    let answer = again.post(&asked).await;
    assert_eq!((answer.is_stream, answer.messages.len()), (true, 2));
    assert_eq!(answer.messages[1], error(1, why));
    let entries = proxy.finish().await;
    assert_eq!(
        entries[5],
        "0 < end: the server exited (exit status: 3); standard error ends with:\ntwo\nthree\nfour\nfive\nsix: out of luck"
    );
    assert_eq!(fake.left(), [""; 0]);
}

#[tokio::test]
async fn a_server_that_cannot_be_started_is_an_error_that_the_client_sees() {
    let mut fake = Fake::new("legacy");
    fake.launch.argv = vec!["no-such-program".to_owned()];
    let proxy = Proxy::before(&fake).await;
    let answer = Raw::new(&proxy.url).post(&request(0, "initialize", json!({}))).await;
    let why = "mcptest: program `no-such-program` not found";
    let error = json!({ "jsonrpc": "2.0", "id": 0, "error": { "code": -32000, "message": why } });
    assert_eq!(answer, whole(502, error));
    assert_eq!(proxy.finish().await, ["0 < end: program `no-such-program` not found"]);
}

#[tokio::test]
async fn a_request_that_belongs_to_no_session_is_refused() {
    let fake = Fake::new("legacy");
    let proxy = Proxy::before(&fake).await;
    let mut client = Raw::new(&proxy.url);
    assert_eq!(client.post(&call(1, "echo", json!({}))).await.status, 400);
    assert_eq!(client.post(&json!([])).await.status, 400);
    assert_eq!(within(client.request("GET").send()).await.unwrap().status(), 405);
    assert_eq!(within(client.request("PUT").send()).await.unwrap().status(), 405);
    client.headers.push(("mcp-session-id", "x".to_owned()));
    assert_eq!(client.post(&call(1, "echo", json!({}))).await.status, 404);
    let other = Raw::new(&proxy.url.replace("/mcp/fake", "/mcp/other"));
    assert_eq!(other.post(&call(1, "echo", json!({}))).await.status, 404);
    assert_eq!(proxy.finish().await, [""; 0]);
    assert_eq!(fake.left(), [""; 0]);
}

#[tokio::test]
async fn a_client_that_probes_the_era_first_keeps_its_child() {
    let fake = Fake::new("legacy");
    let proxy = Proxy::before(&fake).await;
    let mut client = Raw::new(&proxy.url);
    let refused = client.post(&request(0, "server/discover", json!({}))).await;
    assert_eq!((refused.status, &refused.messages[0]["error"]["code"]), (200, &json!(-32601)));
    client.initialize().await;
    assert_eq!(fake.left().len(), 1);
    assert_eq!(client.post(&call(1, "echo", json!({ "words": "hi" }))).await.messages, [text_result(1, "hi")]);
    // Two sessions are two children.
    let mut other = Raw::new(&proxy.url);
    other.initialize().await;
    assert_eq!(fake.left().len(), 2);
    proxy.finish().await;
    assert_eq!(fake.left(), [""; 0]);
}

#[tokio::test]
async fn invalid_messages_are_recorded_and_not_forwarded() {
    let fake = Fake::new("banner");
    let proxy = Proxy::before(&fake).await;
    let client = client(&proxy).await;
    assert_eq!(client.post(&call(1, "echo", json!({ "words": "hi" }))).await, whole(200, text_result(1, "hi")));
    let answer = client.post(&call(2, "duplicate-key", json!({}))).await;
    assert_eq!(answer.messages[0]["id"], 2);
    let mut entries = proxy.finish().await;
    // The banner comes before or after the first message, as it happens.
    entries.sort_by_key(|entry| !entry.contains("unread"));
    let malformed = entries.iter().filter(|entry| entry.starts_with("0 < unread")).count();
    assert_eq!(malformed, 4, "{entries:#?}");
    assert!(entries.iter().any(|entry| entry.contains("duplicate key")), "{entries:#?}");
}

#[tokio::test]
async fn messages_too_large_to_keep_are_forwarded() {
    let _alone = MEMORY.lock().await;
    let fake = Fake::new("legacy");
    let proxy = Proxy::before(&fake).await;
    let client = client(&proxy).await;
    let counts = client.post(&call(1, "counts", json!({ "words": "x".repeat(SIZE) }))).await;
    assert_eq!(counts.messages, [text_result(1, &SIZE.to_string())]);
    let large = client.post(&call(2, "large", json!({ "bytes": SIZE }))).await;
    assert!(large == whole(200, text_result(2, &"x".repeat(SIZE))));
    let ledger = proxy.ledger().await;
    let unread: Vec<u64> = ledger
        .entries
        .iter()
        .filter_map(|entry| match &entry.what {
            What::Mcp(mcp) => match &mcp.message {
                Message::Unread(unread) => Some(unread.bytes),
                _ => None,
            },
            _ => None,
        })
        .collect();
    assert!(unread.len() == 2 && unread.iter().all(|bytes| *bytes > SIZE as u64), "{unread:?}");
}

#[tokio::test]
async fn the_end_of_a_recording_ends_everything_at_once() {
    let fake = Fake::new("family");
    let proxy = Proxy::before(&fake).await;
    let client = client(&proxy).await;
    let waiting = tokio::spawn(async move {
        let stream = within(client.request("GET").send()).await.unwrap();
        let wait = client.request("POST").body(call(1, "wait", json!({ "seconds": 600 })).to_string());
        let (call, stream) = tokio::join!(wait.send(), stream.text());
        (call.is_err(), stream.is_err())
    });
    until(|| fake.left().len() == 2).await;
    tokio::time::sleep(Duration::from_millis(200)).await;
    let entries = proxy.finish().await;
    assert_eq!(entries.last().map(String::as_str), Some("0 < end: the recording ended"));
    assert_eq!(within(waiting).await.unwrap(), (true, true));
    assert_eq!(fake.left(), [""; 0]);
}
