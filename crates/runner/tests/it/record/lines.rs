//! Clients that only start programs: what their shim sends and gets.

use std::time::Duration;

use mcptest_runner::mcp::MAX_LINE;
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::TcpStream;

use super::{Proxy, call, modern, request, text_result};
use crate::fake::{Fake, MEMORY, within};
use crate::http::mock::Mock;
use crate::http::scripted::{Answer, Scripted, http, stream};
use crate::http::until;

/// A connection as a shim makes it.
pub(super) struct Shim(BufReader<TcpStream>);

impl Shim {
    pub(super) async fn connect(proxy: &Proxy) -> Self {
        let (status, shim) = Self::try_connect(proxy).await;
        assert_eq!(status, "HTTP/1.1 101 Switching Protocols");
        shim
    }

    async fn try_connect(proxy: &Proxy) -> (String, Self) {
        let (address, path) = proxy.url.strip_prefix("http://").unwrap().split_once('/').unwrap();
        let mut stream = BufReader::new(TcpStream::connect(address).await.unwrap());
        let path = path.replace("/mcp/", "/lines/");
        let head =
            format!("GET /{path} HTTP/1.1\r\nHost: {address}\r\nConnection: Upgrade\r\nUpgrade: mcptest-lines\r\n\r\n");
        stream.write_all(head.as_bytes()).await.unwrap();
        let mut shim = Self(stream);
        let status = shim.line().await.trim_end().to_owned();
        while !shim.line().await.trim_end().is_empty() {}
        (status, shim)
    }

    pub(super) async fn send(&mut self, text: &str) {
        within(self.0.write_all(text.as_bytes())).await.unwrap();
    }

    async fn line(&mut self) -> String {
        let mut line = String::new();
        within(self.0.read_line(&mut line)).await.unwrap();
        line
    }

    pub(super) async fn message(&mut self) -> Value {
        self.line().await.parse().unwrap()
    }

    pub(super) async fn ask(&mut self, message: &Value) -> Value {
        self.send(&format!("{message}\n")).await;
        self.message().await
    }

    pub(super) async fn rest(mut self) -> String {
        let mut rest = String::new();
        within(self.0.read_to_string(&mut rest)).await.unwrap();
        rest
    }
}

pub(super) fn hello() -> Value {
    let client = json!({ "name": "raw", "version": "1" });
    request(0, "initialize", json!({ "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": client }))
}

pub(super) const GREETING: &str = "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}\n";

/// Too large to keep.
const SIZE: usize = MAX_LINE + 1000;

#[tokio::test]
async fn lines_pass_unchanged_and_in_order_to_a_child_of_their_own() {
    let fake = Fake::new("banner");
    let proxy = Proxy::before(&fake).await;
    let mut shim = Shim::connect(&proxy).await;
    assert_eq!(
        (shim.line().await, shim.line().await, shim.line().await),
        ("Fake server 1.2.3\n".to_owned(), "\n".to_owned(), "ready\n".to_owned())
    );
    let mut bytes = [0; 4];
    within(shim.0.read_exact(&mut bytes)).await.unwrap();
    assert_eq!(bytes, *b"\xff\xfe\x00\n");
    assert_eq!(shim.ask(&hello()).await["result"]["protocolVersion"], "2025-11-25");
    shim.send(GREETING).await;
    shim.send(" {\"id\" : 1, \"jsonrpc\":\"2.0\",\"method\":\"tools/call\",\"params\":{\"name\":\"echo\",\"arguments\":{\"words\":\"hi\"}}}\r\n").await;
    // The server writes a blank after each colon, which is still there.
    assert_eq!(
        shim.line().await,
        "{\"jsonrpc\": \"2.0\", \"id\": 1, \"result\": {\"content\": [{\"type\": \"text\", \"text\": \"hi\"}]}}\n"
    );
    assert_eq!(fake.left().len(), 1);
    drop(shim);
    fake.is_gone().await;
    let entries = proxy.finish().await;
    assert_eq!(entries.iter().filter(|entry| entry.starts_with("0 < unread")).count(), 3, "{entries:#?}");
    let messages: Vec<&str> = entries.iter().map(String::as_str).filter(|entry| !entry.contains("unread")).collect();
    assert_eq!(
        messages,
        [
            "0 > initialize #0",
            "0 < result #0",
            "0 > notifications/initialized",
            "0 > tools/call #1",
            "0 < result #1 hi",
            "0 < end: the program closed the connection",
        ]
    );
}

#[tokio::test]
async fn a_client_that_closes_half_still_gets_its_replies() {
    let fake = Fake::new("legacy");
    let proxy = Proxy::before(&fake).await;
    let mut shim = Shim::connect(&proxy).await;
    shim.ask(&hello()).await;
    shim.send(&format!("{}\n", call(1, "wait", json!({ "seconds": 3, "words": "late" })))).await;
    shim.0.get_mut().shutdown().await.unwrap();
    assert_eq!(shim.rest().await.parse::<Value>().unwrap(), text_result(1, "late"));
    fake.is_gone().await;
    let entries = proxy.finish().await;
    assert_eq!(entries[3], "0 < result #1 late");
}

#[tokio::test]
async fn a_child_that_dies_closes_the_connection_and_so_does_the_end_of_the_recording() {
    let fake = Fake::new("legacy");
    let proxy = Proxy::before(&fake).await;
    let mut shim = Shim::connect(&proxy).await;
    shim.ask(&hello()).await;
    shim.send(&format!("{}\n", call(1, "dies", json!({})))).await;
    assert_eq!(shim.rest().await, "");
    let mut other = Shim::connect(&proxy).await;
    other.ask(&hello()).await;
    until(|| fake.left().len() == 1).await;
    let (entries, rest) = tokio::join!(proxy.finish(), other.rest());
    assert_eq!((rest.as_str(), fake.left()), ("", vec![]));
    // Its end is recorded when its exit status is known, which may be after the next client connects.
    let exited = "0 < end: the server exited (exit status: 3); standard error ends with:\ntwo\n";
    assert!(entries.iter().any(|entry| entry.starts_with(exited)), "{entries:#?}");
    assert_eq!(entries.last().map(String::as_str), Some("1 < end: the recording ended"));
}

#[tokio::test]
async fn a_server_that_cannot_be_started_is_reported_before_the_connection_is_made() {
    let mut fake = Fake::new("legacy");
    fake.launch.argv = vec!["no-such-program".to_owned()];
    let proxy = Proxy::before(&fake).await;
    let (status, _) = Shim::try_connect(&proxy).await;
    assert_eq!(status, "HTTP/1.1 502 Bad Gateway");
    assert_eq!(proxy.finish().await, ["0 < end: program `no-such-program` not found"]);
}

#[tokio::test]
async fn messages_too_large_to_keep_are_forwarded() {
    let _alone = MEMORY.lock().await;
    let fake = Fake::new("legacy");
    let proxy = Proxy::before(&fake).await;
    let mut shim = Shim::connect(&proxy).await;
    assert_eq!(
        shim.ask(&call(1, "counts", json!({ "words": "x".repeat(SIZE) }))).await,
        text_result(1, &SIZE.to_string())
    );
    assert!(shim.ask(&call(2, "large", json!({ "bytes": SIZE }))).await == text_result(2, &"x".repeat(SIZE)));
    let entries = proxy.finish().await;
    let large = entries.iter().filter(|entry| entry.contains("unread 16")).count();
    assert_eq!((entries.len(), large), (5, 2), "{entries:#?}");
}

#[tokio::test]
async fn a_server_at_a_url_is_reached_in_both_eras() {
    let mock = Mock::start(&[]).await;
    let proxy = Proxy::in_front_of(mock.address).await;
    let mut shim = Shim::connect(&proxy).await;
    assert_eq!(shim.ask(&hello()).await["result"]["serverInfo"]["name"], "far");
    shim.send(GREETING).await;
    let list = shim.ask(&request("l", "tools/list", json!({}))).await;
    assert_eq!((&list["id"], &list["result"]["tools"][1]["name"]), (&json!("l"), &json!("größe")));
    assert_eq!(shim.ask(&call(0, "say", json!({ "what": "hi" }))).await, text_result(0, "you said hi"));
    drop(shim);
    let mut shim = Shim::connect(&proxy).await;
    let mut list = modern(1, "", json!({}));
    list["method"] = "tools/list".into();
    shim.ask(&list).await;
    // The mock refuses a modern request whose headers do not repeat name and marked arguments.
    let reply = shim.ask(&modern(2, "say", json!({ "what": "hé", "how": { "loud": true } }))).await;
    assert_eq!((&reply["id"], &reply["result"]["content"][0]["text"]), (&json!(2), &json!("you said hé")));
    shim.0.get_mut().shutdown().await.unwrap();
    assert_eq!(shim.rest().await, "");
    let mut entries = proxy.finish().await;
    entries.sort_by_key(|entry| entry.starts_with('1'));
    assert_eq!(
        entries,
        [
            "0 > initialize #0",
            "0 < result #0 (0)",
            "0 > notifications/initialized",
            "0 > tools/list #\"l\"",
            "0 < result #\"l\" (3)",
            "0 > tools/call #0",
            "0 < result #0 you said hi (5)",
            "0 > end: the program closed the connection",
            "1 > tools/list #1",
            "1 < result #1 (8)",
            "1 > tools/call #2",
            "1 < result #2 you said hé (10)",
            "1 > end: the program closed the connection",
        ]
    );
    mock.end().await;
}

#[tokio::test]
async fn a_server_at_a_url_may_ask_report_and_fail() {
    let server = Scripted::start(|request| match request.method() {
        "asks" => Answer::Open(stream(
            "data: {\"jsonrpc\":\"2.0\",\"id\":\"q\",\"method\":\"sampling/createMessage\"}\n\ndata: {\"jsonrpc\":\"2.0\",\ndata: \"id\":\"a\",\"result\":{}}\n\n",
        )),
        "fails" => http("503 Service Unavailable", "", b"later"),
        _ => http("202 Accepted", "", b""),
    })
    .await;
    let proxy = Proxy::in_front_of(server.address).await;
    let mut shim = Shim::connect(&proxy).await;
    let asked = shim.ask(&request("a", "asks", json!({}))).await;
    assert_eq!(asked["method"], "sampling/createMessage");
    // An event of two lines is one line.
    assert_eq!(shim.message().await, json!({ "jsonrpc": "2.0", "id": "a", "result": {} }));
    shim.send("{\"jsonrpc\":\"2.0\",\"id\":\"q\",\"result\":{\"x\":1}}\n").await;
    let error = json!({ "code": -32000, "message": "mcptest: the server answered 503 Service Unavailable: later" });
    assert_eq!(shim.ask(&request(2, "fails", json!({}))).await, json!({ "jsonrpc": "2.0", "id": 2, "error": error }));
    let posted = server.requests();
    assert_eq!(posted[1].body, json!({ "jsonrpc": "2.0", "id": "q", "result": { "x": 1 } }));
    tokio::time::sleep(Duration::from_millis(50)).await;
    let entries = proxy.finish().await;
    assert_eq!(
        entries,
        [
            "0 > asks #\"a\"",
            "0 < sampling/createMessage #\"q\"",
            "0 < result #\"a\" (0)",
            "0 > result #\"q\"",
            "0 > fails #2",
            "0 < status 503 (4)",
            "0 > end: the recording ended",
        ]
    );
}
