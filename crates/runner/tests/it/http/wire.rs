//! The bytes on the wire, and the result of every kind of answer.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use mcptest_core::suite::Protocol;
use mcptest_core::trace::ErrorKind;
use mcptest_runner::mcp::{Counters, MAX_ANSWER, MAX_LINE};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;
use tokio::time::Instant;

use super::scripted::{Answer, Request, STREAM, Scripted, handshake, http, reply, result, saying, stream};
use super::{Remote, until};
use crate::fake::{MEMORY, call, fails, plain, says, text, within};

/// The headers of a request that are of interest, in the order of their names.
fn headers(request: &Request) -> Vec<(&str, &str)> {
    let dull = ["host", "content-length", "accept-encoding"];
    let pairs = request.headers.iter().map(|(name, value)| (name.as_str(), value.as_str()));
    pairs.filter(|(name, _)| !dull.contains(name)).collect()
}

const AGENT: (&str, &str) = ("user-agent", concat!("mcptest/", env!("CARGO_PKG_VERSION")));
const ACCEPT: (&str, &str) = ("accept", "application/json, text/event-stream");
const KIND: (&str, &str) = ("content-type", "application/json");

#[tokio::test]
async fn a_session_is_opened_used_and_ended_with_exactly_these_headers() {
    let server = Scripted::legacy(|request| result(request, &json!({ "content": [] }))).await;
    let remote = server.remote(Protocol::Legacy).with("X-Team", "blue").bearing("token-1");
    let connection = remote.open().await;
    assert_eq!(connection.observed().protocol, "2025-06-18");
    assert_eq!(text(&plain(&connection, "echo").await), "");
    within(connection.close()).await;
    let requests = server.requests();
    let reported: Vec<(&str, &str)> =
        requests.iter().map(|request| (request.line.as_str(), request.method())).collect();
    assert_eq!(
        reported,
        [
            ("POST /mcp", "initialize"),
            ("POST /mcp", "notifications/initialized"),
            ("GET /mcp", ""),
            ("POST /mcp", "tools/list"),
            ("POST /mcp", "tools/call"),
            ("DELETE /mcp", ""),
        ]
    );
    let bearer = ("authorization", "Bearer token-1");
    let team = ("x-team", "blue");
    assert_eq!(headers(&requests[0]), [ACCEPT, bearer, KIND, AGENT, team]);
    let version = ("mcp-protocol-version", "2025-06-18");
    let session = ("mcp-session-id", "s-1");
    for request in requests[1..].iter().filter(|request| !request.line.starts_with("GET")) {
        assert_eq!(headers(request), [ACCEPT, bearer, KIND, version, session, AGENT, team]);
    }
    assert_eq!(headers(&requests[2]), [("accept", "text/event-stream"), bearer, version, session, AGENT, team]);
}

#[tokio::test]
async fn a_request_without_a_session_repeats_itself_in_its_headers() {
    let server = Scripted::modern(|request| result(request, &json!({ "content": [] }))).await;
    let connection = server.remote(Protocol::Auto).bearing("token-1").open().await;
    assert_eq!(text(&plain(&connection, "echo").await), "");
    within(connection.close()).await;
    let requests = server.requests();
    let bearer = ("authorization", "Bearer token-1");
    let version = ("mcp-protocol-version", "2026-07-28");
    let expected = |method| vec![ACCEPT, bearer, KIND, ("mcp-method", method), version, AGENT];
    assert_eq!(headers(&requests[0]), expected("server/discover"));
    assert_eq!(headers(&requests[1]), expected("tools/list"));
    let call = [ACCEPT, bearer, KIND, ("mcp-method", "tools/call"), ("mcp-name", "echo"), version, AGENT];
    assert_eq!(headers(&requests[2]), call);
    assert_eq!(requests.len(), 3);
    assert_eq!(requests[2].body["params"]["_meta"]["io.modelcontextprotocol/protocolVersion"], "2026-07-28");
}

#[tokio::test]
async fn probing_the_era_costs_one_request() {
    let server = Scripted::legacy(|request| result(request, &json!({ "content": [] }))).await;
    let connection = server.remote(Protocol::Auto).open().await;
    within(connection.close()).await;
    let requests = server.requests();
    let methods: Vec<&str> = requests.iter().map(Request::method).collect();
    assert_eq!(methods, ["server/discover", "initialize", "notifications/initialized", "", "tools/list", ""]);
    // Nothing of the era that was refused is left.
    assert_eq!(headers(&requests[1]), [ACCEPT, KIND, AGENT]);
}

/// Every shape of a stream that brings the reply.
#[tokio::test]
async fn a_reply_may_come_as_an_event_of_any_shape() {
    let shapes: [fn(&str) -> String; 6] = [
        |reply| format!("data: {reply}\n\n"),
        |reply| format!("event: message\r\nid: 1\r\ndata:{reply}\r\n\r\n"),
        |reply| format!(": hello\n\nid: 0\nretry: 3000\ndata:\n\ndata: {reply}\n\n"),
        |reply| format!("data: {}\n\n", reply.replacen(',', ",\ndata: ", 2)),
        |reply| {
            let note = json!({ "jsonrpc": "2.0", "method": "notifications/progress", "params": { "progress": 1 } });
            format!("data: {note}\n\n: still there\n\ndata: {note}\n\ndata: {reply}\n\n")
        },
        |reply| format!("event: ping\ndata: not a message\n\ndata: {reply}\n\ndata: cut o"),
    ];
    for (index, shape) in shapes.into_iter().enumerate() {
        let server =
            Scripted::legacy(move |request| Answer::Whole(stream(&shape(&saying(request, "hi").to_string())))).await;
        let connection = server.remote(Protocol::Legacy).open().await;
        assert_eq!(plain(&connection, "echo").await, says("hi"), "shape {index}");
        assert_eq!(connection.counters().not_json_rpc, 0);
        within(connection.close()).await;
    }
}

#[tokio::test]
async fn every_response_may_be_a_stream() {
    let server = Scripted::start(|request| match handshake(request) {
        Answer::Whole(bytes) if !request.body["id"].is_null() => {
            let text = String::from_utf8(bytes).unwrap();
            let (head, body) = text.split_once("\r\n\r\n").unwrap();
            let session = if head.contains("Mcp-Session-Id") { "\r\nMcp-Session-Id: s-1" } else { "" };
            let head = STREAM.replace("\r\n\r\n", &format!("{session}\r\n\r\n"));
            Answer::Whole(format!("{head}data: {body}\n\n").into_bytes())
        }
        other => other,
    })
    .await;
    let connection = server.remote(Protocol::Legacy).open().await;
    assert_eq!(connection.tools().len(), 1);
    within(connection.close()).await;
    assert_eq!(server.requests().last().unwrap().header("mcp-session-id"), Some("s-1"));
}

#[tokio::test]
async fn a_reply_may_come_compressed() {
    // A reply to the first call, packed by gzip.
    let packed =
        b"\x1f\x8b\x08\x00\x00\x00\x00\x00\x02\x03\xab\x56\xca\x2a\xce\xcf\x2b\x2a\x48\x56\xb2\x52\x32\xd2\x33\
        \x50\xd2\x51\xca\x4c\x51\xb2\x32\xd2\x51\x2a\x4a\x2d\x2e\xcd\x29\x51\xb2\xaa\x56\x4a\xce\xcf\x2b\x49\
        \xcd\x03\x32\xa3\xab\x95\x4a\x2a\x0b\x52\x81\x2a\x4b\x52\x2b\x4a\x80\x4a\xc1\x94\x95\x52\x55\x66\x41\
        \x41\x6a\x8a\x52\x6d\x6c\x6d\x2d\x00\xc4\xb8\x6d\x0c\x4f\x00\x00\x00";
    let server = Scripted::legacy(move |_| {
        http("200 OK", "Content-Type: application/json\r\nContent-Encoding: gzip\r\n", packed)
    })
    .await;
    let connection = server.remote(Protocol::Legacy).open().await;
    assert_eq!(plain(&connection, "echo").await, says("zipped"));
    within(connection.close()).await;
    assert!(server.requests().iter().all(|request| request.header("accept-encoding") == Some("gzip")));
}

#[tokio::test]
async fn a_stream_that_stays_open_after_its_reply_is_left() {
    let server =
        Scripted::modern(|request| Answer::Open(stream(&format!("data: {}\n\n", saying(request, "hi"))))).await;
    let connection = server.remote(Protocol::Modern).open().await;
    let start = Instant::now();
    assert_eq!(plain(&connection, "echo").await, says("hi"));
    assert!(start.elapsed() < Duration::from_millis(800), "{:?}", start.elapsed());
    until(|| server.left() == ["tools/call"]).await;
    within(connection.close()).await;
}

#[tokio::test]
async fn a_server_request_inside_a_stream_is_answered_by_post() {
    let server = Scripted::legacy(|request| {
        let ask = |id: &str, method: &str| json!({ "jsonrpc": "2.0", "id": id, "method": method });
        let (ping, roots) = (ask("q0", "ping"), ask("q1", "roots/list"));
        Answer::Open(stream(&format!("data: {ping}\n\ndata: {roots}\n\ndata: {}\n\n", saying(request, "hi"))))
    })
    .await;
    let connection = server.remote(Protocol::Legacy).open().await;
    assert_eq!(plain(&connection, "echo").await, says("hi"));
    let answers = || {
        let requests = server.requests();
        requests
            .into_iter()
            .filter(|request| request.body.get("id").is_some() && request.method().is_empty())
            .collect::<Vec<_>>()
    };
    until(|| answers().len() == 2).await;
    let bodies: Vec<Value> = answers().into_iter().map(|request| request.body).collect();
    let error = json!({ "code": -32601, "message": "mcptest does not offer `roots/list`" });
    assert_eq!(
        bodies,
        [
            json!({ "jsonrpc": "2.0", "id": "q0", "result": {} }),
            json!({ "jsonrpc": "2.0", "id": "q1", "error": error }),
        ]
    );
    assert_eq!(answers()[0].header("mcp-session-id"), Some("s-1"));
    within(connection.close()).await;
}

/// The result of a call that is answered by this.
async fn outcome(answer: impl Fn(&Request) -> Answer + Send + Sync + 'static) -> (ErrorKind, Option<i64>, String) {
    let server = Scripted::legacy(answer).await;
    let connection =
        server.remote(Protocol::Legacy).bearing("secret-token-1").with("X-Key", "secret-key-2").open().await;
    let result = plain(&connection, "echo").await;
    let error = result.error.clone().unwrap();
    assert_eq!(result, fails(error.kind, error.code, &error.message));
    within(connection.close()).await;
    (error.kind, error.code, error.message.replace(&server.address.to_string(), "HOST"))
}

#[tokio::test]
async fn a_status_without_success_fails_the_call_with_its_number() {
    for (status, body, code, message) in [
        ("401 Unauthorized", "", 401, "the server answered 401 Unauthorized"),
        ("403 Forbidden", "not\n  you", 403, "the server answered 403 Forbidden: not you"),
        ("429 Too Many Requests", "slow down", 429, "the server answered 429 Too Many Requests: slow down"),
        ("500 Internal Server Error", "<b>oops", 500, "the server answered 500 Internal Server Error: <b>oops"),
        ("503 Service Unavailable", "", 503, "the server answered 503 Service Unavailable"),
        ("400 Bad Request", "{\"error\":\"x\"}", 400, "the server answered 400 Bad Request: {\"error\":\"x\"}"),
        (
            "403 Forbidden",
            "got Bearer secret-token-1 and secret-key-2",
            403,
            "the server answered 403 Forbidden: got Bearer [redacted:bearer token] and [redacted:X-Key]",
        ),
    ] {
        assert_eq!(
            outcome(move |_| http(status, "", body.as_bytes())).await,
            (ErrorKind::Http, Some(code), message.to_owned())
        );
    }
    let long = outcome(|_| http("500 Internal Server Error", "", &[b'x'; 3000])).await;
    assert_eq!(long.2, format!("the server answered 500 Internal Server Error: {}…", "x".repeat(200)));
}

#[tokio::test]
async fn no_part_of_a_token_in_a_header_is_shown() {
    let body = format!("{} secret-token-1", "x".repeat(190));
    let server = Scripted::legacy(move |_| http("403 Forbidden", "", body.as_bytes())).await;
    let remote = server.remote(Protocol::Legacy).with("Authorization", "Bearer secret-token-1");
    let connection = remote.open().await;
    let message = plain(&connection, "echo").await.error.unwrap().message;
    assert_eq!(message, format!("the server answered 403 Forbidden: {} [redacted…", "x".repeat(190)));
    within(connection.close()).await;
}

#[tokio::test]
async fn a_protocol_error_counts_with_any_http_status() {
    let error = |id: Value| {
        let error = json!({ "code": -32020, "message": "Header mismatch" });
        json!({ "jsonrpc": "2.0", "id": id, "error": error }).to_string()
    };
    let expected = (ErrorKind::Jsonrpc, Some(-32020), "Header mismatch".to_owned());
    let kind = "Content-Type: application/json\r\n";
    for id in [None, Some(Value::Null), Some(json!("server-error"))] {
        let reported = outcome(move |request| {
            let id = id.clone().unwrap_or_else(|| request.body["id"].clone());
            http("400 Bad Request", kind, error(id).as_bytes())
        });
        assert_eq!(reported.await, expected);
    }
    // Whoever is not let in, and a server that failed, are reported by their status.
    for (status, code) in [("401 Unauthorized", 401), ("500 Internal Server Error", 500)] {
        let reported = outcome(move |_| http(status, kind, error(Value::Null).as_bytes())).await;
        assert_eq!((reported.0, reported.1), (ErrorKind::Http, Some(code)));
    }
}

#[tokio::test]
async fn a_method_that_a_modern_server_does_not_know_is_an_error_of_the_protocol() {
    let server = Scripted::modern(|request| {
        let error = json!({ "code": -32601, "message": "Method not found" });
        let body = json!({ "jsonrpc": "2.0", "id": request.body["id"], "error": error }).to_string();
        http("404 Not Found", "Content-Type: application/json\r\n", body.as_bytes())
    })
    .await;
    let connection = server.remote(Protocol::Modern).open().await;
    let expected = fails(ErrorKind::Jsonrpc, Some(-32601), "Method not found");
    assert_eq!(plain(&connection, "echo").await, expected);
    within(connection.close()).await;
}

#[tokio::test]
async fn a_lost_session_is_reported_and_not_reopened() {
    let error = r#"{"jsonrpc":"2.0","id":null,"error":{"code":-32001,"message":"Session not found"}}"#;
    let server =
        Scripted::legacy(move |_| http("404 Not Found", "Content-Type: application/json\r\n", error.as_bytes())).await;
    let connection = server.remote(Protocol::Legacy).open().await;
    let gone = "the server no longer knows the session (404 Not Found), and a run has only one session";
    for _ in 0..2 {
        assert_eq!(plain(&connection, "echo").await, fails(ErrorKind::Transport, None, gone));
    }
    within(connection.close()).await;
    let opened = server.requests().iter().filter(|request| request.method() == "initialize").count();
    assert_eq!(opened, 1);
}

#[tokio::test]
async fn a_redirect_is_not_followed() {
    let elsewhere = Scripted::legacy(|request| result(request, &json!({ "content": [] }))).await;
    let target = format!("Location: http://user:secret@{}/mcp?key=secret\r\n", elsewhere.address);
    let host = elsewhere.address.to_string();
    let location = target.clone();
    assert_eq!(
        outcome(move |_| http("307 Temporary Redirect", &location, b"")).await,
        (
            ErrorKind::Http,
            Some(307),
            format!("the server answered 307 Temporary Redirect and redirects to `{host}`; redirects are not followed")
        )
    );
    assert_eq!(
        outcome(|_| http("302 Found", "", b"")).await.2,
        "the server answered 302 Found and redirects to nowhere; redirects are not followed"
    );
    let server = Scripted::start(move |_| http("308 Permanent Redirect", &target, b"")).await;
    assert_eq!(
        server.remote(Protocol::Auto).bearing("secret-token").error().await,
        format!(
            "server `far`: responded to `server/discover` with 308 Permanent Redirect and redirects to `{host}`; redirects are not followed\nhint: set `url` to the target of the redirect, if you trust it with your headers"
        )
    );
    assert_eq!(server.requests().len(), 1);
    assert_eq!(elsewhere.requests(), []);
}

#[tokio::test]
async fn a_response_that_is_not_a_reply_fails_the_call() {
    let transport = |message: &str| (ErrorKind::Transport, None, message.to_owned());
    assert_eq!(
        outcome(|_| http("200 OK", "Content-Type: text/html\r\n", b"<html>\n<p>Welcome</html>")).await,
        transport(
            "the server answered 200 OK with `text/html`, which is neither JSON nor an event stream: <html> <p>Welcome</html>"
        )
    );
    assert_eq!(
        outcome(|_| http("202 Accepted", "", b"")).await,
        transport("the server answered 202 Accepted without a reply")
    );
    assert_eq!(
        outcome(|_| http("200 OK", "Content-Type: application/json\r\n", b"[]")).await,
        transport("the server's response is not a reply to the request: []")
    );
    assert_eq!(
        outcome(|_| Answer::Whole(stream(": nothing\n\n"))).await,
        transport("the server's stream ended without a reply")
    );
    assert_eq!(
        outcome(|request| Answer::Whole(stream(&format!("data: {}\n", saying(request, "cut"))))).await,
        transport("the server's stream ended without a reply")
    );
}

#[tokio::test]
async fn a_reply_with_a_duplicate_key_fails_the_call_as_json_or_as_an_event() {
    let reply = |request: &Request| {
        let reply = saying(request, "all good").to_string();
        reply.replacen("\"result\":{", "\"result\":{\"isError\":true,\"isError\":false,", 1)
    };
    let expected = (
        ErrorKind::Jsonrpc,
        None,
        "the server's reply is not a valid tools/call result: malformed JSON: result: duplicate key \"isError\""
            .to_owned(),
    );
    let whole =
        move |request: &Request| http("200 OK", "Content-Type: application/json\r\n", reply(request).as_bytes());
    assert_eq!(outcome(whole).await, expected);
    let event = move |request: &Request| Answer::Whole(stream(&format!("data: {}\n\n", reply(request))));
    assert_eq!(outcome(event).await, expected);
    // An event may be written in several lines.
    let lines = move |request: &Request| {
        let reply = reply(request).replacen("\"isError\":false", "\ndata: \"isError\":false", 1);
        Answer::Whole(stream(&format!("data: {reply}\n\n")))
    };
    assert_eq!(outcome(lines).await, expected);
}

#[tokio::test]
async fn an_answer_that_is_cut_fails_the_call() {
    let chunked =
        "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n8\r\ndata: {}\r\n";
    let reported = outcome(move |_| Answer::Whole(chunked.as_bytes().to_vec())).await;
    assert_eq!((reported.0, reported.1), (ErrorKind::Transport, None));
    assert!(reported.2.starts_with("the connection to HOST was lost during the response: "), "{}", reported.2);
    let short = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 50\r\n\r\n{\"jsonrpc\"";
    let reported = outcome(move |_| Answer::Whole(short.as_bytes().to_vec())).await;
    assert_eq!(
        reported,
        (
            ErrorKind::Transport,
            None,
            "the connection to HOST was lost during the response: end of file before message length reached".to_owned()
        )
    );
    let reported = outcome(|_| Answer::Whole(b"what is HTTP?\r\n\r\n".to_vec())).await;
    assert_eq!((reported.0, reported.1), (ErrorKind::Transport, None));
}

#[tokio::test]
async fn an_endless_answer_is_read_up_to_a_limit() {
    let _alone = MEMORY.lock().await;
    let piece = || vec![b' '; 1 << 20];
    let json = |_: &Request| {
        let head = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n\r\n";
        Answer::Endless(head.to_vec(), vec![b' '; 1 << 20])
    };
    let too_long =
        |most: usize| (ErrorKind::Transport, None, format!("the server's response has more than {most} bytes"));
    assert_eq!(outcome(json).await, too_long(MAX_LINE));
    let comments = move |_: &Request| Answer::Endless(stream(""), [b":".to_vec(), piece(), b"\n\n".to_vec()].concat());
    assert_eq!(outcome(comments).await, too_long(MAX_ANSWER));
    let event = (ErrorKind::Transport, None, "the server sent an event of more than 16777216 bytes".to_owned());
    assert_eq!(outcome(move |_| Answer::Endless(stream("data: "), piece())).await, event);
}

#[tokio::test]
async fn a_timeout_closes_the_connection_in_the_stateless_era() {
    let count = AtomicUsize::new(0);
    let server = Scripted::modern(move |request| match count.fetch_add(1, Ordering::Relaxed) {
        0 => Answer::Open(Vec::new()),
        1 => Answer::Open(stream(": wait\n\ndata: no message\n\n")),
        _ => result(request, &json!({ "content": [{ "type": "text", "text": "hi" }] })),
    })
    .await;
    let connection = server.remote(Protocol::Modern).patient(400).open().await;
    let late = "no answer within 400 ms";
    assert_eq!(plain(&connection, "echo").await, fails(ErrorKind::Timeout, None, late));
    until(|| server.left() == ["tools/call"]).await;
    let noisy = format!("{late}; meanwhile the server sent lines that are not messages: 1");
    assert_eq!(plain(&connection, "echo").await, fails(ErrorKind::Timeout, None, &noisy));
    until(|| server.left() == ["tools/call", "tools/call"]).await;
    assert_eq!(plain(&connection, "echo").await, says("hi"));
    within(connection.close()).await;
    assert!(server.requests().iter().all(|request| request.method() != "notifications/cancelled"));
}

#[tokio::test]
async fn a_call_that_its_caller_drops_is_canceled() {
    let server = Scripted::modern(|_| Answer::Open(Vec::new())).await;
    let connection = server.remote(Protocol::Modern).open().await;
    let call = connection.call("echo", serde_json::Map::new());
    assert!(tokio::time::timeout(Duration::from_millis(200), call).await.is_err());
    until(|| server.left() == ["tools/call"]).await;
    within(connection.close()).await;
}

#[tokio::test]
async fn dropping_a_connection_drops_requests_in_progress() {
    let server = Scripted::legacy(|_| Answer::Open(Vec::new())).await;
    let connection = server.remote(Protocol::Legacy).open().await;
    let call = connection.call("echo", serde_json::Map::new());
    assert!(tokio::time::timeout(Duration::from_millis(200), call).await.is_err());
    assert_eq!(server.left(), [""; 0]);
    drop(connection);
    until(|| server.left() == ["tools/call"]).await;
}

#[tokio::test]
async fn a_server_that_does_not_answer_the_end_of_its_session_blocks_nothing() {
    let server = Scripted::start(|request| match request.line.as_str() {
        "DELETE /mcp" => Answer::Open(Vec::new()),
        _ => handshake(request),
    })
    .await;
    let connection = server.remote(Protocol::Legacy).open().await;
    let start = Instant::now();
    within(connection.close()).await;
    assert!(start.elapsed() < Duration::from_secs(3), "{:?}", start.elapsed());
    assert_eq!(server.requests().last().unwrap().line, "DELETE /mcp");
}

#[tokio::test]
async fn raw_traffic_is_counted() {
    let server = Scripted::legacy(|request| {
        let note = json!({ "jsonrpc": "2.0", "method": "notifications/progress" });
        Answer::Whole(stream(&format!("data: {note}\n\ndata: {}\n\n", saying(request, "é"))))
    })
    .await;
    let connection = server.remote(Protocol::Legacy).open().await;
    let before = connection.counters();
    assert_eq!(call(&connection, "echo", json!({ "words": "é" })).await, says("é"));
    let after = connection.counters();
    let request = r#"{"id":2,"jsonrpc":"2.0","method":"tools/call","params":{"_meta":{"progressToken":2},"arguments":{"words":"é"},"name":"echo"}}"#;
    let note = r#"{"jsonrpc":"2.0","method":"notifications/progress"}"#;
    let reply = r#"{"id":2,"jsonrpc":"2.0","result":{"content":[{"text":"é","type":"text"}],"resultType":"complete"}}"#;
    assert_eq!(
        after,
        Counters {
            lines_in: before.lines_in + 2,
            bytes_in: before.bytes_in + (note.len() + reply.len()) as u64,
            lines_out: before.lines_out + 1,
            bytes_out: before.bytes_out + request.len() as u64,
            not_json_rpc: 0,
            unsolicited: 0,
        }
    );
    within(connection.close()).await;
}

#[tokio::test]
async fn why_a_server_could_not_be_connected_to_is_reported_with_what_to_do() {
    let not_http = "write the URL of the server's endpoint, such as `https://example.com/mcp`";
    let endpoint = "check that `url` is the endpoint of an MCP server over Streamable HTTP, and that it runs";
    let path = "check the path in `url`: it is that of the endpoint, often `/mcp`";
    let token = "set `bearer_token_env` to a variable that holds a token the server accepts";
    let rights = "the server denies access: check the permissions of the token, and `headers`";
    let fewer = "the server is rate limiting: wait, or run fewer tests at once";
    for (status, protocol, step, hint) in [
        ("401 Unauthorized", Protocol::Auto, "server/discover", token),
        ("401 Unauthorized", Protocol::Legacy, "initialize", token),
        ("403 Forbidden", Protocol::Modern, "server/discover", rights),
        ("404 Not Found", Protocol::Auto, "initialize", path),
        ("404 Not Found", Protocol::Modern, "server/discover", path),
        ("405 Method Not Allowed", Protocol::Legacy, "initialize", path),
        ("429 Too Many Requests", Protocol::Auto, "server/discover", fewer),
        ("500 Internal Server Error", Protocol::Auto, "initialize", "check the server's log"),
        ("418 I'm a teapot", Protocol::Legacy, "initialize", "check `url` and `headers`"),
    ] {
        let server = Scripted::start(move |_| http(status, "", b"said secret-token-1")).await;
        assert_eq!(
            server.remote(protocol).bearing("secret-token-1").error().await,
            format!("server `far`: responded to `{step}` with {status}: said [redacted:bearer token]\nhint: {hint}")
        );
    }
    let echo = Scripted::start(|request| http("404 Not Found", "", format!("no {}", request.line).as_bytes())).await;
    let url = format!("http://user:password-1@{}/there?api=query-value-1", echo.address);
    assert_eq!(
        Remote::new(url, Protocol::Legacy).error().await,
        format!(
            "server `far`: responded to `initialize` with 404 Not Found: no POST /there?api=[redacted:url]\nhint: {path}"
        )
    );
    let silent = Scripted::start(|_| Answer::Open(Vec::new())).await;
    assert_eq!(
        silent.remote(Protocol::Legacy).patient(300).error().await,
        "server `far`: did not answer `initialize` within 300 ms\nhint: check `url`, or raise `timeout_ms`"
    );
    let page = Scripted::start(|_| http("200 OK", "Content-Type: text/html\r\n", b"<p>Hi")).await;
    assert_eq!(
        page.remote(Protocol::Auto).error().await,
        format!(
            "server `far`: no reply to `initialize`: the server answered 200 OK with `text/html`, which is neither JSON nor an event stream: <p>Hi\nhint: {endpoint}"
        )
    );
    let gone = Scripted::start(|_| Answer::Whole(Vec::new())).await.address;
    tokio::time::sleep(Duration::from_millis(50)).await;
    assert_eq!(
        Remote::at(gone, Protocol::Auto).error().await,
        format!(
            "server `far`: no reply to `initialize`: cannot connect to {gone}: Connection refused (os error 111)\n\
             hint: {endpoint}"
        )
    );
    assert_eq!(
        Remote::new("ftp://user:secret@127.0.0.1/mcp".to_owned(), Protocol::Auto).error().await,
        format!("server `far`: `url` starts with `ftp:` instead of `http:` or `https:`\nhint: {not_http}")
    );
    assert_eq!(
        Remote::at(gone, Protocol::Auto).with("X-Key", "sec\nret").error().await,
        "server `far`: the header `X-Key` has a value that is not allowed in a header\nhint: fix `headers`, or the value of a variable in them"
    );
}

#[tokio::test]
async fn a_server_without_tls_is_reported() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let server = tokio::spawn(async move {
        let (mut stream, _) = listener.accept().await.unwrap();
        stream.write_all(b"HTTP/1.1 400 Bad Request\r\n\r\n").await.unwrap();
        // Open until the client leaves, so that it reads the answer and not a reset.
        let _ = stream.read_to_end(&mut Vec::new()).await;
    });
    assert_eq!(
        Remote::new(format!("https://{address}/mcp"), Protocol::Modern).error().await,
        format!(
            "server `far`: no reply to `server/discover`: cannot connect to {address}: received corrupt message of type \
             InvalidContentType\nhint: check that `url` is the endpoint of an MCP server over Streamable HTTP, and that \
             it runs"
        )
    );
    within(server).await.unwrap();
}

#[tokio::test]
async fn a_handshake_refused_halfway_is_reported_and_its_session_ended() {
    let server = Scripted::start(|request| match request.method() {
        "notifications/initialized" => http("500 Internal Server Error", "", b"oops"),
        _ => handshake(request),
    })
    .await;
    assert_eq!(
        server.remote(Protocol::Legacy).error().await,
        "server `far`: responded to `initialize` with 500 Internal Server Error: oops\nhint: check the server's log"
    );
    assert_eq!(server.requests().last().unwrap().line, "DELETE /mcp");
    let server = Scripted::start(|request| match request.method() {
        "tools/list" => http("503 Service Unavailable", "", b""),
        _ => handshake(request),
    })
    .await;
    assert_eq!(
        server.remote(Protocol::Legacy).error().await,
        "server `far`: responded to `tools/list` with 503 Service Unavailable\nhint: check the server's log"
    );
}

#[tokio::test]
async fn two_different_refusals_are_both_reported() {
    let server = Scripted::start(|request| match request.method() {
        "initialize" => {
            let error = json!({ "code": -32022, "message": "no handshake here" });
            let body = json!({ "jsonrpc": "2.0", "id": request.body["id"], "error": error }).to_string();
            http("400 Bad Request", "Content-Type: application/json\r\n", body.as_bytes())
        }
        _ => http("501 Not Implemented", "", b""),
    })
    .await;
    assert_eq!(
        server.remote(Protocol::Auto).error().await,
        "server `far`: responded to `server/discover` with 501 Not Implemented, and to `initialize` with error -32022: no \
         handshake here\nhint: check that `url` is the endpoint of an MCP server with tools; set `protocol` if detection fails"
    );
}

#[tokio::test]
async fn no_printed_form_of_a_connection_has_a_secret() {
    let server = Scripted::legacy(|request| {
        let body = reply(request, &json!({ "content": [] }));
        http("200 OK", "Content-Type: application/json\r\n", body.to_string().as_bytes())
    })
    .await;
    let url = format!("http://user:hidden@{}/mcp?key=hidden", server.address);
    let connection = Remote::new(url, Protocol::Legacy).with("X-Key", "hidden").bearing("hidden").open().await;
    assert_eq!(text(&plain(&connection, "echo").await), "");
    let shown = format!("{connection:?}");
    assert!(shown.contains(&server.address.to_string()) && !shown.contains("hidden"), "{shown}");
    within(connection.close()).await;
    let requests = server.requests();
    assert_eq!(requests[0].line, "POST /mcp?key=hidden");
    // The token takes precedence over credentials in the URL.
    assert_eq!(requests[0].header("authorization"), Some("Bearer hidden"));
}
