//! A raw client over HTTP: status, headers and body of every answer.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use mcptest_mock::{End, Log, ServeError, Server, serve_http};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::oneshot;
use tokio::task::JoinHandle;
use tokio::time::{Instant, timeout};

use super::server;

/// Longer than any answer takes here.
const LIMIT: Duration = Duration::from_secs(20);

pub(crate) struct Running {
    pub(crate) address: SocketAddr,
    stop: oneshot::Sender<()>,
    pub(crate) done: JoinHandle<Result<End, ServeError>>,
}

pub(crate) async fn start(server: Arc<Server>) -> Running {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let (stop, stopped) = oneshot::channel::<()>();
    let done = tokio::spawn(serve_http(server, Log::none(), listener, async move {
        let _ = stopped.await;
    }));
    Running { address, stop, done }
}

impl Running {
    pub(crate) async fn stop(self) -> End {
        let _ = self.stop.send(());
        timeout(LIMIT, self.done).await.expect("an end").unwrap().unwrap()
    }

    /// Sends a request and returns everything up to the end of the connection.
    async fn exchange(&self, head: &str, body: &[u8]) -> Answer {
        let mut stream = TcpStream::connect(self.address).await.unwrap();
        let head = format!("{head}\r\nContent-Length: {}\r\nConnection: close\r\n\r\n", body.len());
        stream.write_all(head.as_bytes()).await.unwrap();
        // A server that refuses a long body may close before it is sent.
        let _ = stream.write_all(body).await;
        let mut all = Vec::new();
        let _ = timeout(LIMIT, stream.read_to_end(&mut all)).await.expect("an answer");
        Answer::read(&all)
    }

    async fn post(&self, headers: &[(&str, &str)], body: &Value) -> Answer {
        let mut head = POST.to_owned();
        for (name, value) in headers {
            head.push_str(&format!("\r\n{name}: {value}"));
        }
        self.exchange(&head, body.to_string().as_bytes()).await
    }

    /// A modern request with the headers it must have.
    async fn modern(&self, method: &str, params: Value) -> Answer {
        let name = params.get("name").or(params.get("uri")).and_then(Value::as_str).map(str::to_owned);
        let mut headers = vec![("MCP-Protocol-Version", "2026-07-28"), ("Mcp-Method", method)];
        headers.extend(name.as_deref().map(|name| ("Mcp-Name", name)));
        self.post(&headers, &request(method, params)).await
    }

    async fn session(&self) -> String {
        let params = json!({ "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": { "name": "t", "version": "1" } });
        let hello = json!({ "jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params });
        let answer = self.post(&[], &hello).await;
        assert_eq!((answer.status, &answer.json()["result"]["protocolVersion"]), (200, &json!("2025-11-25")));
        answer.header("mcp-session-id").unwrap()
    }
}

const POST: &str = "POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nAccept: application/json, text/event-stream";

fn request(method: &str, mut params: Value) -> Value {
    params["_meta"] = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28", "io.modelcontextprotocol/clientCapabilities": {},
    });
    json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params })
}

#[derive(Debug)]
struct Answer {
    /// 0 where the connection closed without an answer.
    status: u16,
    head: String,
    body: Vec<u8>,
}

impl Answer {
    fn read(all: &[u8]) -> Self {
        let Some(at) = all.windows(4).position(|four| four == b"\r\n\r\n") else {
            assert_eq!(all, b"", "half an answer");
            return Self { status: 0, head: String::new(), body: Vec::new() };
        };
        let head = String::from_utf8(all[..at].to_vec()).unwrap();
        let status = head.split(' ').nth(1).unwrap().parse().unwrap();
        Self { status, head, body: all[at + 4..].to_vec() }
    }

    fn header(&self, name: &str) -> Option<String> {
        let mut lines = self.head.lines().filter_map(|line| line.split_once(": "));
        lines.find(|(key, _)| key.eq_ignore_ascii_case(name)).map(|(_, value)| value.to_owned())
    }

    fn text(&self) -> &str {
        std::str::from_utf8(&self.body).unwrap()
    }

    fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap()
    }

    fn code(&self) -> (u16, i64) {
        (self.status, self.json()["error"]["code"].as_i64().unwrap())
    }
}

#[tokio::test]
async fn invalid_messages_to_the_endpoint_are_rejected() {
    let server = start(server(&[])).await;
    let list = request("tools/list", json!({})).to_string();
    for (head, body, status, text) in [
        ("POST / HTTP/1.1\r\nHost: localhost", &b""[..], 404, "not found: messages go to /mcp\n"),
        ("GET /mcp HTTP/1.1\r\nHost: localhost", b"", 405, "messages are sent by POST\n"),
        ("POST /mcp HTTP/1.1\r\nHost: example.test", b"", 403, "the Host is not local\n"),
        ("POST /mcp HTTP/1.1\r\nHost: localhost\r\nOrigin: http://example.test", b"", 403, "the Origin is not local\n"),
        (
            "POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: text/plain",
            b"{}",
            415,
            "the body must be application/json\n",
        ),
        (
            "POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nAccept: text/html",
            b"{}",
            406,
            "the response is application/json\n",
        ),
    ] {
        let answer = server.exchange(head, body).await;
        assert_eq!((answer.status, answer.text()), (status, text), "{head}");
    }
    assert_eq!(
        server.exchange("GET /mcp HTTP/1.1\r\nHost: localhost", b"").await.header("allow").unwrap(),
        "POST, DELETE"
    );
    let parse = server.exchange(POST, b"{nonsense").await;
    assert_eq!(parse.code(), (400, -32700));
    let duplicate = server.exchange(POST, br#"{"jsonrpc":"2.0","id":1,"id":2,"method":"ping"}"#).await;
    assert_eq!(duplicate.code(), (400, -32700));
    assert_eq!(server.exchange(POST, b"[]").await.code(), (400, -32600));
    // The same from a page of this machine is fine.
    let headers =
        [("Origin", "http://localhost:3000"), ("MCP-Protocol-Version", "2026-07-28"), ("Mcp-Method", "tools/list")];
    assert_eq!(server.post(&headers, &serde_json::from_str(&list).unwrap()).await.status, 200);
    assert_eq!(server.stop().await, End::Stopped);
}

#[tokio::test]
async fn a_body_that_is_too_long_is_refused() {
    let server = start(server(&[])).await;
    let mut stream = TcpStream::connect(server.address).await.unwrap();
    let head = format!("{POST}\r\nContent-Length: {}\r\n\r\n", 16 * 1024 * 1024 + 1);
    stream.write_all(head.as_bytes()).await.unwrap();
    let (mut from, mut to) = stream.into_split();
    let writer = tokio::spawn(async move {
        // It may be refused before all of it is sent.
        let _ = to.write_all(&vec![b' '; 16 * 1024 * 1024 + 1]).await;
        to
    });
    let mut start = [0; 12];
    timeout(LIMIT, from.read_exact(&mut start)).await.unwrap().unwrap();
    assert_eq!(&start, b"HTTP/1.1 413");
    drop(writer);
}

#[tokio::test]
async fn an_incomplete_request_is_dropped_after_ten_seconds() {
    let running = start(server(&[])).await;
    let half = |bytes: String| {
        let address = running.address;
        async move {
            let mut stream = TcpStream::connect(address).await.unwrap();
            stream.write_all(bytes.as_bytes()).await.unwrap();
            let (started, mut all) = (Instant::now(), Vec::new());
            timeout(LIMIT, stream.read_to_end(&mut all)).await.expect("an end").unwrap();
            let took = started.elapsed();
            assert!((9..15).contains(&took.as_secs()), "{took:?}");
            Answer::read(&all)
        }
    };
    let get = "GET /mcp HTTP/1.1\r\nHost: localhost\r\n\r\n".to_owned();
    let (nothing, head, body, idle) = tokio::join!(
        half(String::new()),
        half("POST /mcp HTTP/1.1\r\nHost: loc".to_owned()),
        half(format!("{POST}\r\nContent-Length: 9\r\n\r\n{{")),
        half(get),
    );
    assert_eq!((nothing.status, head.status), (0, 0));
    assert_eq!((body.status, body.text()), (408, "the body was not complete after 10 s\n"));
    // The answer is there at once; the connection that waits for more ends.
    assert_eq!(idle.status, 405);
    let mut waits = TcpStream::connect(running.address).await.unwrap();
    waits.write_all(b"POST /mcp HT").await.unwrap();
    let started = Instant::now();
    assert_eq!(running.stop().await, End::Stopped);
    assert!(started.elapsed() < Duration::from_secs(2), "{:?}", started.elapsed());
}

#[tokio::test]
async fn headers_of_a_modern_request_must_repeat_its_body() {
    let server = start(server(&[])).await;
    let version = ("MCP-Protocol-Version", "2026-07-28");
    let method = ("Mcp-Method", "tools/call");
    let call = request("tools/call", json!({ "name": "echo" }));
    let ok = server.post(&[version, method, ("Mcp-Name", "echo")], &call).await;
    assert_eq!((ok.status, ok.header("content-type").unwrap().as_str()), (200, "application/json"));
    assert_eq!(server.post(&[version, method, ("Mcp-Name", "=?base64?ZWNobw==?=")], &call).await.status, 200);
    for headers in [
        &[method, ("Mcp-Name", "echo")][..],
        &[version, ("Mcp-Name", "echo")],
        &[version, method],
        &[version, method, ("Mcp-Name", "say")],
        &[version, ("Mcp-Method", "tools/list"), ("Mcp-Name", "echo")],
        &[version, method, ("Mcp-Name", "echo"), ("Mcp-Name", "echo")],
        &[("MCP-Protocol-Version", "2025-11-25"), method, ("Mcp-Name", "echo")],
    ] {
        assert_eq!(server.post(headers, &call).await.code(), (400, -32020), "{headers:?}");
    }
    // What it must carry comes first, and its revision last.
    let bare = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/list" });
    assert_eq!(server.post(&[version, ("Mcp-Method", "tools/list")], &bare).await.code(), (400, -32602));
    let mut newer = request("tools/list", json!({}));
    newer["params"]["_meta"]["io.modelcontextprotocol/protocolVersion"] = json!("2027-01-01");
    let headers = [("MCP-Protocol-Version", "2027-01-01"), ("Mcp-Method", "tools/list")];
    let answer = server.post(&headers, &newer).await;
    assert_eq!(answer.code(), (400, -32022));
    assert_eq!(answer.json()["error"]["data"], json!({ "supported": ["2026-07-28"], "requested": "2027-01-01" }));
    assert_eq!(server.post(&headers, &bare).await.code(), (400, -32022));
    assert_eq!(server.modern("no/such", json!({})).await.code(), (404, -32601));
    assert_eq!(server.modern("tools/call", json!({ "name": "nope" })).await.code(), (200, -32602));
    let note = json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": { "requestId": 1 } });
    let noted = server.post(&[version], &note).await;
    assert_eq!((noted.status, noted.text()), (202, ""));
    let response = json!({ "jsonrpc": "2.0", "id": 1, "result": {} });
    assert_eq!(server.post(&[version], &response).await.code(), (400, -32600));
}

#[tokio::test]
async fn arguments_that_a_schema_marks_must_be_repeated_in_a_header() {
    let file = r#"{"tools":[{"name":"q","inputSchema":{"type":"object","properties":{"region":{"type":"string","x-mcp-header":"Region"}}}}]}"#;
    let server = start(super::server_of(file, &[])).await;
    let call = request("tools/call", json!({ "name": "q", "arguments": { "region": "eu" } }));
    let base = [("MCP-Protocol-Version", "2026-07-28"), ("Mcp-Method", "tools/call"), ("Mcp-Name", "q")];
    let with = |value| [base[0], base[1], base[2], ("Mcp-Param-Region", value)];
    assert_eq!(server.post(&with("eu"), &call).await.status, 200);
    assert_eq!(server.post(&with("us"), &call).await.code(), (400, -32020));
    assert_eq!(server.post(&base, &call).await.code(), (400, -32020));
    let without = request("tools/call", json!({ "name": "q" }));
    assert_eq!(server.post(&base, &without).await.status, 200);
    assert_eq!(server.post(&with("eu"), &without).await.code(), (400, -32020));
}

#[tokio::test]
async fn the_older_handshake_opens_a_session_that_can_be_ended() {
    let server = start(server(&[])).await;
    let session = server.session().await;
    assert_ne!(server.session().await, session);
    let of = ("Mcp-Session-Id", session.as_str());
    let ping = json!({ "jsonrpc": "2.0", "id": 1, "method": "ping" });
    let answer = server.post(&[of, ("MCP-Protocol-Version", "2025-11-25")], &ping).await;
    assert_eq!((answer.status, answer.text()), (200, r#"{"id":1,"jsonrpc":"2.0","result":{}}"#));
    let ready = json!({ "jsonrpc": "2.0", "method": "notifications/initialized" });
    assert_eq!(server.post(&[of], &ready).await.status, 202);
    assert_eq!(server.post(&[], &ping).await.code(), (400, -32600));
    assert_eq!(server.post(&[("Mcp-Session-Id", "mock-77")], &ping).await.code(), (404, -32600));
    assert_eq!(server.post(&[of, ("MCP-Protocol-Version", "1999-01-01")], &ping).await.code(), (400, -32022));
    let unknown = json!({ "jsonrpc": "2.0", "id": 1, "method": "no/such" });
    assert_eq!(server.post(&[of], &unknown).await.code(), (200, -32601));
    let delete = |id: &str| format!("DELETE /mcp HTTP/1.1\r\nHost: localhost\r\nMcp-Session-Id: {id}");
    assert_eq!(server.exchange(&delete(&session), b"").await.status, 204);
    assert_eq!(server.exchange(&delete(&session), b"").await.status, 404);
    assert_eq!(server.exchange("DELETE /mcp HTTP/1.1\r\nHost: localhost", b"").await.status, 400);
    assert_eq!(server.post(&[of], &ping).await.code(), (404, -32600));
}

#[tokio::test]
async fn faults_are_seen_in_the_response() {
    let call = json!({ "name": "echo", "arguments": {} });
    let reply = {
        let healthy = start(server(&[])).await;
        healthy.modern("tools/call", call.clone()).await.text().to_owned()
    };
    for (fault, status, kind, body) in [
        ("slow:20", 200, Some("application/json"), reply.clone().into_bytes()),
        ("reply-after-cancel:20", 200, Some("application/json"), reply.clone().into_bytes()),
        ("wrong-id", 200, Some("application/json"), reply.replace("\"id\":1,", "\"id\":1000001,").into_bytes()),
        ("garbage", 200, Some("application/json"), b"\xff\xfe{\"jsonrpc\": not json \xc3\x28".to_vec()),
        (
            "duplicate",
            200,
            Some("text/event-stream"),
            format!("event: message\ndata: {reply}\n\n").repeat(2).into_bytes(),
        ),
        (
            "error:-32601",
            200,
            Some("application/json"),
            br#"{"error":{"code":-32601,"message":"fault error:-32601"},"id":1,"jsonrpc":"2.0"}"#.to_vec(),
        ),
        ("drop", 0, None, Vec::new()),
    ] {
        let server = start(server(&[fault])).await;
        let answer = server.modern("tools/call", call.clone()).await;
        let found = (answer.status, answer.header("content-type"), answer.body.as_slice());
        assert_eq!(found, (status, kind.map(str::to_owned), body.as_slice()), "{fault}");
        assert_eq!(server.modern("tools/list", json!({})).await.status, 200, "{fault}");
        assert_eq!(server.stop().await, End::Stopped, "{fault}");
    }
}

#[tokio::test]
async fn a_flood_over_http_has_its_length() {
    let server = start(server(&["flood:2"])).await;
    let answer = server.modern("tools/call", json!({ "name": "echo" })).await;
    assert_eq!(answer.header("content-length").unwrap(), answer.body.len().to_string());
    let text = answer.json()["result"]["content"][0]["text"].as_str().unwrap().len();
    assert_eq!(text, 2 * 1024 * 1024);
}

#[tokio::test]
async fn crash_ends_the_server_and_every_connection() {
    let server = start(server(&["crash"])).await;
    assert_eq!(server.modern("tools/call", json!({ "name": "echo" })).await.status, 0);
    assert_eq!(timeout(LIMIT, server.done).await.unwrap().unwrap().unwrap(), End::Crashed);
}

#[tokio::test]
async fn a_hundred_hanging_calls_block_neither_others_nor_the_end() {
    let server = start(server(&["hang", "say=none"])).await;
    let mut held = Vec::new();
    for _ in 0..100 {
        let mut stream = TcpStream::connect(server.address).await.unwrap();
        let body = request("tools/call", json!({ "name": "echo" })).to_string();
        let names = "MCP-Protocol-Version: 2026-07-28\r\nMcp-Method: tools/call\r\nMcp-Name: echo";
        let text = format!("{POST}\r\n{names}\r\nContent-Length: {}\r\n\r\n{body}", body.len());
        stream.write_all(text.as_bytes()).await.unwrap();
        held.push(stream);
    }
    let answer = server.modern("tools/call", json!({ "name": "say", "arguments": { "what": "x" } })).await;
    assert_eq!(answer.status, 200);
    assert_eq!(timeout(Duration::from_secs(1), server.stop()).await.expect("an end in time"), End::Stopped);
    // All of them are closed without a response.
    for mut stream in held {
        let mut all = Vec::new();
        let _ = timeout(LIMIT, stream.read_to_end(&mut all)).await.unwrap();
        assert_eq!(all, b"");
    }
}

#[tokio::test]
async fn a_canceled_call_of_the_older_handshake_ends_without_an_answer() {
    for (fault, ends) in [("slow:600000", true), ("hang", true), ("reply-after-cancel:300", false)] {
        let server = Arc::new(start(server(&[fault])).await);
        let session = server.session().await;
        let call = json!({ "jsonrpc": "2.0", "id": 9, "method": "tools/call", "params": { "name": "echo" } });
        let caller = {
            let (server, session) = (Arc::clone(&server), session.clone());
            tokio::spawn(async move { server.post(&[("Mcp-Session-Id", &session)], &call).await })
        };
        let cancel = json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": { "requestId": 9 } });
        // The call may not have arrived yet.
        for _ in 0..200 {
            assert_eq!(server.post(&[("Mcp-Session-Id", &session)], &cancel).await.status, 202);
            if caller.is_finished() {
                break;
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        let answer = timeout(LIMIT, caller).await.unwrap().unwrap();
        assert_eq!(answer.status, 200, "{fault}");
        if ends {
            assert_eq!(
                (answer.header("content-type").as_deref(), answer.text()),
                (Some("text/event-stream"), ""),
                "{fault}"
            );
        } else {
            assert_eq!(answer.json()["result"]["content"][0]["text"], json!("echo called with {}"), "{fault}");
        }
    }
}

#[tokio::test]
async fn a_session_cannot_cancel_calls_of_another() {
    let server = Arc::new(start(server(&["slow:500"])).await);
    let (session, other) = (server.session().await, server.session().await);
    let call = json!({ "jsonrpc": "2.0", "id": 9, "method": "tools/call", "params": { "name": "echo" } });
    let caller = {
        let server = Arc::clone(&server);
        tokio::spawn(async move { server.post(&[("Mcp-Session-Id", &session)], &call).await })
    };
    let cancel = json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": { "requestId": 9 } });
    for _ in 0..1000 {
        assert_eq!(server.post(&[("Mcp-Session-Id", &other)], &cancel).await.status, 202);
        if caller.is_finished() {
            break;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    let answer = timeout(LIMIT, caller).await.unwrap().unwrap();
    assert_eq!(answer.json()["result"]["content"][0]["text"], json!("echo called with {}"));
}
