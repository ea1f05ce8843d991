//! Streams that end before their reply, what a server requests on its own stream, and the transport of streams that
//! Streamable HTTP replaced.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use mcptest_core::suite::Protocol;
use mcptest_core::trace::ErrorKind;
use serde_json::{Value, json};
use tokio::time::Instant;

use super::scripted::{Answer, Request, Scripted, handshake, http, reply, saying, stream};
use super::until;
use crate::fake::{call, fails, plain, says, within};

fn asks_for_a_stream(request: &Request) -> bool {
    request.line.starts_with("GET")
}

/// The event ids from which streams were resumed; requests from the start are left out.
fn resumed(server: &Scripted) -> Vec<String> {
    let ids = server.requests().into_iter().filter(asks_for_a_stream);
    ids.filter_map(|request| request.header("last-event-id").map(str::to_owned)).collect()
}

/// A server that answers a call by this, and requests for the rest of the stream by `rest`.
async fn closing(first: &'static str, rest: impl Fn(&str) -> Answer + Send + Sync + 'static) -> Scripted {
    Scripted::start(move |request| match (request.method(), request.header("last-event-id")) {
        ("tools/call", _) => Answer::Whole(stream(first)),
        (_, Some(id)) => rest(id),
        _ => handshake(request),
    })
    .await
}

/// The reply to the first call.
fn third(words: &str) -> Value {
    json!({ "jsonrpc": "2.0", "id": 2, "result": { "content": [{ "type": "text", "text": words }] } })
}

#[tokio::test]
async fn a_stream_that_the_server_closes_is_resumed_after_the_requested_time() {
    let closed = Arc::new(Mutex::new(None));
    let (sooner, waited) = (Arc::clone(&closed), Arc::new(Mutex::new(Vec::new())));
    let times = Arc::clone(&waited);
    let server = Scripted::start(move |request| match (request.method(), request.header("last-event-id")) {
        ("tools/call", _) => {
            *sooner.lock().unwrap() = Some(Instant::now());
            Answer::Whole(stream("id: a-1\nretry: 300\ndata: \n\n"))
        }
        (_, Some(id)) => {
            let before = sooner.lock().unwrap().replace(Instant::now()).unwrap();
            times.lock().unwrap().push(before.elapsed());
            // The second stream sets no time, so that of the first still applies.
            Answer::Whole(stream(&match id {
                "a-1" => "id: a-2\ndata: \n\n".to_owned(),
                _ => format!("id: a-3\ndata: {}\n\n", third("hi")),
            }))
        }
        _ => handshake(request),
    })
    .await;
    let connection = server.remote(Protocol::Legacy).with("X-Team", "blue").open().await;
    assert_eq!(plain(&connection, "echo").await, says("hi"));
    within(connection.close()).await;
    assert_eq!(resumed(&server), ["a-1", "a-2"]);
    for wait in waited.lock().unwrap().iter() {
        assert!((300..1500).contains(&wait.as_millis()), "{wait:?}");
    }
    let requests = server.requests();
    let last = requests.iter().rfind(|request| asks_for_a_stream(request)).unwrap();
    let expected = [
        ("accept", "text/event-stream"),
        ("last-event-id", "a-2"),
        ("mcp-protocol-version", "2025-06-18"),
        ("mcp-session-id", "s-1"),
        ("x-team", "blue"),
    ];
    let dull = ["host", "accept-encoding", "user-agent"];
    let headers = last.headers.iter().map(|(name, value)| (name.as_str(), value.as_str()));
    assert_eq!(headers.filter(|(name, _)| !dull.contains(name)).collect::<Vec<_>>(), expected);
    // One call was made, regardless of its stream.
    assert_eq!(requests.iter().filter(|request| request.method() == "tools/call").count(), 1);
}

#[tokio::test]
async fn a_stream_that_breaks_is_resumed_where_its_events_have_ids() {
    let cut = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n";
    let whole = format!("{cut}1a\r\nid: 7\nretry: 1\ndata: \n\ndata\r\n");
    let server = Scripted::start(move |request| match (request.method(), request.header("last-event-id")) {
        ("tools/call", _) => Answer::Whole(whole.clone().into_bytes()),
        (_, Some(_)) => Answer::Whole(stream(&format!("data: {}\n\n", third("hi")))),
        _ => handshake(request),
    })
    .await;
    let connection = server.remote(Protocol::Legacy).open().await;
    assert_eq!(plain(&connection, "echo").await, says("hi"));
    within(connection.close()).await;
    assert_eq!(resumed(&server), ["7"]);
}

/// How a stream begins, how a request for the rest is answered, and what is recorded of the call.
type Case = (&'static str, fn() -> Answer, String);

#[tokio::test]
async fn a_stream_that_cannot_be_resumed_fails_the_call_with_the_reason() {
    let lost = "the server's stream ended without a reply";
    let refused = format!("{lost}, and the request to resume it was answered with ");
    let cases: [Case; 6] = [
        ("data: \n\n", || http("200 OK", "", b""), lost.to_owned()),
        ("id: \u{1}\ndata: \n\n", || http("200 OK", "", b""), lost.to_owned()),
        (
            "id: 1\nretry: 1\n\n",
            || http("405 Method Not Allowed", "", b"no\nGET"),
            format!("{refused}405 Method Not Allowed: no GET"),
        ),
        (
            "id: 1\nretry: 1\n\n",
            || http("404 Not Found", "", b""),
            "the server no longer knows the session (404 Not Found), and a run has only one session".to_owned(),
        ),
        (
            "id: 1\nretry: 1\n\n",
            || http("200 OK", "Content-Type: application/json\r\n", b"{}"),
            format!("{refused}200 OK and no event stream"),
        ),
        ("id: 1\nretry: 1\n\n", || Answer::Whole(stream("id\n\n")), lost.to_owned()),
    ];
    for (first, rest, expected) in cases {
        let server = closing(first, move |_| rest()).await;
        let connection = server.remote(Protocol::Legacy).open().await;
        assert_eq!(plain(&connection, "echo").await, fails(ErrorKind::Transport, None, &expected));
        within(connection.close()).await;
    }
}

#[tokio::test]
async fn a_server_that_closes_every_stream_is_polled_slowly_until_the_time_limit() {
    let server = closing("id: 1\nretry: 0\n\n", |_| Answer::Whole(stream("id: 1\n\n"))).await;
    let connection = server.remote(Protocol::Legacy).patient(1000).open().await;
    let late = fails(ErrorKind::Timeout, None, "no answer within 1000 ms");
    assert_eq!(plain(&connection, "echo").await, late);
    let asked = resumed(&server).len();
    assert!((2..=20).contains(&asked), "{asked}");
    tokio::time::sleep(Duration::from_millis(300)).await;
    assert!(resumed(&server).len() <= asked + 1);
    within(connection.close()).await;
}

#[tokio::test]
async fn a_long_retry_time_is_ended_by_the_time_limit() {
    let server = closing("id: 1\nretry: 99999999999999999999\n\n", |_| Answer::Whole(stream("id: 1\n\n"))).await;
    let connection = server.remote(Protocol::Legacy).patient(500).open().await;
    assert_eq!(plain(&connection, "echo").await, fails(ErrorKind::Timeout, None, "no answer within 500 ms"));
    within(connection.close()).await;
    assert_eq!(resumed(&server), [""; 0]);
}

#[tokio::test]
async fn the_era_without_sessions_resumes_nothing_and_opens_no_stream() {
    let server = Scripted::modern(|_| Answer::Whole(stream("id: 1\nretry: 1\n\n"))).await;
    let connection = server.remote(Protocol::Modern).open().await;
    let lost = fails(ErrorKind::Transport, None, "the server's stream ended without a reply");
    assert_eq!(plain(&connection, "echo").await, lost);
    within(connection.close()).await;
    assert_eq!(server.requests().iter().filter(|request| asks_for_a_stream(request)).count(), 0);
}

/// The answers to requests of a server.
fn answers(server: &Scripted) -> Vec<Value> {
    let bodies = server.requests().into_iter().map(|request| request.body);
    bodies.filter(|body| body.get("method").is_none() && !body.is_null()).collect()
}

#[tokio::test]
async fn unsolicited_server_requests_are_answered_immediately() {
    // Like official servers with a request during a call: on another stream, and the call waits for the answer.
    let server = Scripted::start(|request| {
        let ask = |id: i64, method: &str| {
            let message = json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": {} });
            format!("data: {message}\n\n")
        };
        if asks_for_a_stream(request) {
            let asked = ["elicitation/create", "sampling/createMessage", "roots/list", "ping", "tasks/list"];
            let asked: String = (0..).zip(asked).map(|(id, method)| ask(id, method)).collect();
            return Answer::Open(stream(&asked));
        }
        handshake(request)
    })
    .await;
    let start = Instant::now();
    let connection = server.remote(Protocol::Legacy).open().await;
    until(|| answers(&server).len() == 5).await;
    assert!(start.elapsed() < Duration::from_secs(3), "{:?}", start.elapsed());
    let error = |id: i64, method: &str| {
        let error = json!({ "code": -32601, "message": format!("mcptest does not offer `{method}`") });
        json!({ "jsonrpc": "2.0", "id": id, "error": error })
    };
    assert_eq!(
        answers(&server),
        [
            json!({ "jsonrpc": "2.0", "id": 0, "result": { "action": "decline" } }),
            error(1, "sampling/createMessage"),
            error(2, "roots/list"),
            json!({ "jsonrpc": "2.0", "id": 3, "result": {} }),
            error(4, "tasks/list"),
        ]
    );
    within(connection.close()).await;
    assert_eq!(server.left(), [""]);
}

#[tokio::test]
async fn the_stream_of_server_messages_is_reopened_and_has_no_replies() {
    let opened = AtomicUsize::new(0);
    let server = Scripted::start(move |request| {
        if !asks_for_a_stream(request) {
            return match request.method() {
                "tools/call" => Answer::Open(stream(": nothing yet\n\n")),
                _ => handshake(request),
            };
        }
        match opened.fetch_add(1, Ordering::Relaxed) {
            // A reply to the call that is to come belongs into the answer to it.
            0 => Answer::Whole(stream(&format!("id: 5\nretry: 100\ndata: {}\n\n", third("not here")))),
            _ => Answer::Open(stream(&format!("data: {}\n\n", third("not here")))),
        }
    })
    .await;
    let connection = server.remote(Protocol::Legacy).patient(1000).open().await;
    until(|| resumed(&server) == ["5"]).await;
    let late = fails(ErrorKind::Timeout, None, "no answer within 1000 ms");
    assert_eq!(call(&connection, "echo", json!({})).await, late);
    assert_eq!(connection.counters().unsolicited, 2);
    within(connection.close()).await;
}

#[tokio::test]
async fn a_server_that_never_answers_the_stream_request_costs_little_time() {
    let server = Scripted::start(|request| match request.method() {
        "" if asks_for_a_stream(request) => Answer::Open(Vec::new()),
        "tools/call" => Answer::Whole(stream(&format!("data: {}\n\n", saying(request, "hi")))),
        _ => handshake(request),
    })
    .await;
    let start = Instant::now();
    let connection = server.remote(Protocol::Legacy).open().await;
    assert_eq!(plain(&connection, "echo").await, says("hi"));
    within(connection.close()).await;
    assert!(start.elapsed() < Duration::from_millis(1500), "{:?}", start.elapsed());
}

/// The message about an address that refuses messages like this, and opens this stream.
async fn refusing(status: &'static str, body: &'static str, opens: &'static str, protocol: Protocol) -> String {
    let server = Scripted::start(move |request| {
        if asks_for_a_stream(request) {
            Answer::Open(stream(opens))
        } else {
            http(status, "Content-Type: application/json\r\n", body.as_bytes())
        }
    })
    .await;
    server.remote(protocol).error().await
}

#[tokio::test]
async fn the_legacy_sse_transport_is_reported_with_what_to_do() {
    let old = "server `far`: `url` is an endpoint of the HTTP+SSE transport (revision 2024-11-05), which mcptest does \
               not support\nhint: set `url` to the server's Streamable HTTP endpoint, often `/mcp` instead of `/sse`; if it has none, update the server, or start it over stdio with `command`";
    let error = r#"{"jsonrpc":"2.0","id":null,"error":{"code":-32000,"message":"Method not allowed."}}"#;
    let endpoint = "event: endpoint\ndata: /messages?session_id=1\n\n";
    for (status, body, opens) in [
        ("405 Method Not Allowed", "", endpoint),
        ("404 Not Found", "Cannot POST /sse", endpoint),
        ("400 Bad Request", "", ": hello\r\nevent:endpoint\r\ndata: /messages\r\n\r\n"),
        ("405 Method Not Allowed", error, endpoint),
    ] {
        for protocol in [Protocol::Auto, Protocol::Legacy, Protocol::Modern] {
            assert_eq!(refusing(status, body, opens, protocol).await, old, "{status} {protocol:?}");
        }
    }
    // A server that refuses for another reason is reported as before, regardless of what it offers.
    let other = "server `far`: responded to `initialize` with 404 Not Found\nhint: check the path in `url`: it is that of the \
                 endpoint, often `/mcp`";
    let start = Instant::now();
    assert_eq!(refusing("404 Not Found", "", "data: endpoint\n\n", Protocol::Legacy).await, other);
    assert!(start.elapsed() < Duration::from_secs(4), "{:?}", start.elapsed());
}

#[tokio::test]
async fn a_server_request_inside_a_response_is_declined_and_the_call_continues() {
    let server = Scripted::legacy(|request| {
        let elicit =
            json!({ "jsonrpc": "2.0", "id": "e", "method": "elicitation/create", "params": { "mode": "url" } });
        let reply = reply(request, &json!({ "content": [] }));
        Answer::Whole(stream(&format!("data: {elicit}\n\ndata: {reply}\n\n")))
    })
    .await;
    let connection = server.remote(Protocol::Legacy).open().await;
    assert_eq!(plain(&connection, "echo").await.is_error, Some(false));
    until(|| answers(&server) == [json!({ "jsonrpc": "2.0", "id": "e", "result": { "action": "decline" } })]).await;
    within(connection.close()).await;
}
