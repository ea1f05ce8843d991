//! HTTP clients of a server at a URL.

use std::time::Duration;

use mcptest_core::suite::Protocol;
use mcptest_runner::mcp::{Connection, Endpoint, MAX_LINE, Target};
use mcptest_runner::process::Processes;
use serde_json::{Value, json};

use super::{Answer as Read, Proxy, Raw, Stream, call, modern, read, request, text_result};
use crate::fake::{MEMORY, plain, says, within};
use crate::http::mock::Mock;
use crate::http::scripted::{Answer, Scripted, http, result, stream};
use crate::http::until;

async fn open(proxy: &Proxy, protocol: Protocol) -> Connection {
    let (processes, timeout) = (Processes::default(), Duration::from_secs(10));
    let target = Target { name: "fake", endpoint: proxy.endpoint(), timeout, protocol, processes: &processes };
    within(Connection::open(&target)).await.unwrap()
}

/// Too large to keep.
const SIZE: usize = MAX_LINE + 1000;

#[tokio::test]
async fn both_eras_pass_through_to_the_mock() {
    let mock = Mock::start(&[]).await;
    let proxy = Proxy::in_front_of(mock.address).await;
    for protocol in [Protocol::Modern, Protocol::Legacy] {
        let connection = open(&proxy, protocol).await;
        // The mock refuses a modern request whose headers do not repeat the name.
        assert_eq!(plain(&connection, "größe").await, says("big"));
        within(connection.close()).await;
    }
    assert_eq!(
        proxy.finish().await,
        [
            "0 > server/discover #0",
            "0 < result #0 (0)",
            "0 > tools/list #1",
            "0 < result #1 (2)",
            "0 > tools/call #2",
            "0 < result #2 big (4)",
            "1 > initialize #0",
            "1 < result #0 (6)",
            "1 > notifications/initialized",
            "1 > tools/list #1",
            "1 < result #1 (9)",
            "1 > tools/call #2",
            "1 < result #2 big (11)",
            "1 < end: the program ended the session",
        ]
    );
    mock.end().await;
}

#[tokio::test]
async fn nothing_is_changed_on_the_way() {
    let server = Scripted::start(|request| {
        let head = "X-Server: yes\r\nMcp-Session-Id: s-9\r\nWWW-Authenticate: Bearer realm=\"x\"\r\n";
        match request.method() {
            "deny" => http("401 Unauthorized", head, b"who are you"),
            _ => http(
                "200 OK",
                &format!("{head}Content-Type: application/json\r\n"),
                b"  {\"jsonrpc\":\"2.0\", \"id\":7,\"result\":{\"a\":1.50}} ",
            ),
        }
    })
    .await;
    let endpoint = Endpoint::Url {
        url: format!("http://{}/deep/mcp?tenant=t", server.address),
        headers: [("X-Team".to_owned(), "blue".to_owned())].into(),
        bearer: None,
    };
    let proxy = Proxy::start(endpoint, &Processes::default()).await;
    let mut client = Raw::new(&proxy.url);
    client.headers = vec![
        ("authorization", "Bearer s3cret-token-1234".to_owned()),
        ("mcp-protocol-version", "2025-06-18".to_owned()),
        ("last-event-id", "17".to_owned()),
        ("x-own", "kept".to_owned()),
    ];
    let response = client.send(&request(7, "anything", json!({ "key": "s3cret-token-1234" }))).await;
    assert_eq!(response.headers()["x-server"], "yes");
    assert_eq!(within(response.text()).await.unwrap(), "  {\"jsonrpc\":\"2.0\", \"id\":7,\"result\":{\"a\":1.50}} ");
    let response = client.send(&request(8, "deny", json!({}))).await;
    assert_eq!(
        (response.status().as_u16(), &response.headers()["www-authenticate"]),
        (401, &"Bearer realm=\"x\"".parse().unwrap())
    );
    assert_eq!(within(response.text()).await.unwrap(), "who are you");
    let sent = &server.requests()[0];
    assert_eq!(sent.line, "POST /deep/mcp?tenant=t");
    for (name, value) in [
        ("authorization", "Bearer s3cret-token-1234"),
        ("mcp-protocol-version", "2025-06-18"),
        ("last-event-id", "17"),
        ("x-own", "kept"),
        ("x-team", "blue"),
        ("accept-encoding", "identity"),
        ("accept", "application/json, text/event-stream"),
    ] {
        assert_eq!(sent.header(name), Some(value), "{name}");
    }
    assert_eq!(sent.header("host"), Some(server.address.to_string().as_str()));
    let ledger = proxy.ledger().await;
    let entries: Vec<String> = ledger.entries.iter().map(super::short).collect();
    assert_eq!(entries, ["0 > anything #7", "0 < result #7 (0)", "0 > deny #8", "0 < status 401 (2)"]);
    assert!(!format!("{ledger:?}").contains("s3cret-token-1234"));
}

#[tokio::test]
async fn a_stream_is_passed_on_while_it_arrives() {
    let server = Scripted::start(|request| match request.method() {
        "open" => Answer::Open(stream("id: 4\ndata: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/message\"}\n\n: more\n\n")),
        "cut" => Answer::Whole(b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nContent-Length: 900\r\n\r\ndata: {\"jsonrpc\":\"2.0\",\"method\":\"a\"}\n\n".to_vec()),
        _ => Answer::Open(stream("data: {\"jsonrpc\":\"2.0\",\"id\":\"q\",\"method\":\"sampling/createMessage\"}\n\n")),
    })
    .await;
    let proxy = Proxy::in_front_of(server.address).await;
    let client = Raw::new(&proxy.url);
    let mut open = Stream::new(client.send(&request(1, "open", json!({}))).await);
    assert_eq!(open.next().await, Some(json!({ "jsonrpc": "2.0", "method": "notifications/message" })));
    let mut own = Stream::new(within(client.request("GET").send()).await.unwrap());
    assert_eq!(own.next().await.unwrap()["method"], "sampling/createMessage");
    // Leaving reaches the server.
    drop(open);
    until(|| server.left() == ["open"]).await;
    let mut cut = client.send(&request(2, "cut", json!({}))).await;
    assert!(within(cut.chunk()).await.unwrap().is_some());
    assert!(within(cut.chunk()).await.is_err());
    drop(own);
    let entries = proxy.finish().await;
    assert_eq!(
        entries[..5],
        [
            "0 > open #1",
            "0 < notifications/message (0)",
            "0 < sampling/createMessage #\"q\"",
            "0 > end: the program closed the connection (0)",
            "0 > cut #2",
        ]
    );
    assert_eq!(entries[5], "0 < a (4)");
    assert!(entries[6].starts_with("0 < end: the response broke off: ") && entries[6].ends_with("(4)"), "{entries:#?}");
}

#[tokio::test]
async fn a_server_that_cannot_be_reached_is_an_error_that_the_client_sees() {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    drop(listener);
    let proxy = Proxy::in_front_of(address).await;
    let answer = Raw::new(&proxy.url).post(&modern(1, "echo", json!({}))).await;
    let why = answer.messages[0]["error"]["message"].as_str().unwrap().to_owned();
    assert!(answer.status == 502 && why.starts_with(&format!("mcptest: cannot reach {address}: ")), "{answer:?}");
    let entries = proxy.finish().await;
    assert_eq!(
        entries,
        ["0 > tools/call #1".to_owned(), format!("0 < end: {} (0)", why.trim_start_matches("mcptest: "))]
    );
}

#[tokio::test]
async fn messages_too_large_to_keep_are_forwarded() {
    let _alone = MEMORY.lock().await;
    let server = Scripted::start(|request| {
        let text = "x".repeat(SIZE);
        let reply = json!({ "jsonrpc": "2.0", "id": request.body["id"], "result": { "content": [{ "type": "text", "text": text }] } });
        match request.method() {
            "streamed" => Answer::Whole(stream(&format!("data: {reply}\n\n"))),
            _ => result(request, &reply["result"]),
        }
    })
    .await;
    let proxy = Proxy::in_front_of(server.address).await;
    let client = Raw::new(&proxy.url);
    let expected = text_result(1, &"x".repeat(SIZE));
    for (method, words) in [("whole", "y".repeat(SIZE)), ("streamed", String::new())] {
        let answer = client.post(&request(1, method, json!({ "words": words }))).await;
        assert!(answer.messages == [expected.clone()], "{method}");
    }
    let entries = proxy.finish().await;
    let large = |side: &str| entries.iter().filter(|entry| entry.starts_with(&format!("0 {side} unread 16"))).count();
    assert_eq!((entries.len(), large(">"), large("<")), (4, 1, 2), "{entries:#?}");
}

#[tokio::test]
async fn an_encoded_body_passes_untouched_and_is_read() {
    let gzip: Vec<u8> = GZIPPED.to_vec();
    let server =
        Scripted::start(move |_| http("200 OK", "Content-Type: application/json\r\nContent-Encoding: gzip\r\n", &gzip))
            .await;
    let proxy = Proxy::in_front_of(server.address).await;
    let http = reqwest::Client::builder().no_gzip().no_proxy().tls_certs_only([]).build().unwrap();
    let sent = http.post(&proxy.url).body(call(1, "x", json!({})).to_string()).send();
    let response = within(sent).await.unwrap();
    assert_eq!(response.headers()["content-encoding"], "gzip");
    assert_eq!(within(response.bytes()).await.unwrap(), GZIPPED);
    assert_eq!(proxy.finish().await, ["0 > tools/call #1", "0 < result #1 (0)"]);
}

/// `{"jsonrpc":"2.0","id":1,"result":{}}`
const GZIPPED: &[u8] = &[
    0x1f, 0x8b, 0x08, 0x00, 0x00, 0x00, 0x00, 0x00, 0x02, 0xff, 0xab, 0x56, 0xca, 0x2a, 0xce, 0xcf, 0x2b, 0x2a, 0x48,
    0x56, 0xb2, 0x52, 0x32, 0xd2, 0x33, 0x50, 0xd2, 0x51, 0xca, 0x4c, 0x51, 0xb2, 0x32, 0xd4, 0x51, 0x2a, 0x4a, 0x2d,
    0x2e, 0xcd, 0x29, 0x51, 0xb2, 0xaa, 0xae, 0xad, 0x05, 0x00, 0x6c, 0xbd, 0x59, 0xc0, 0x24, 0x00, 0x00, 0x00,
];

#[tokio::test]
async fn a_page_in_a_browser_cannot_reach_a_server() {
    let mock = Mock::start(&[]).await;
    let proxy = Proxy::in_front_of(mock.address).await;
    let mut client = Raw::new(&proxy.url);
    client.headers.push(("origin", "https://evil.example".to_owned()));
    assert_eq!(client.post(&modern(1, "größe", json!({}))).await.status, 403);
    let wrong = proxy.url.replacen("/mcp/", "x/mcp/", 1);
    let answer = read(Raw::new(&wrong).send(&modern(1, "größe", json!({}))).await).await;
    assert_eq!(answer, Read { status: 404, messages: vec![Value::from("mcptest: not found\n")], is_stream: false });
    assert_eq!(proxy.finish().await, [""; 0]);
    mock.end().await;
}
