//! A raw client over a pipe, with the clock stopped: what arrives, when, byte for byte.

use std::time::Duration;

use mcptest_mock::{End, Log, ServeError, serve_stdio};
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader, DuplexStream, ReadHalf, WriteHalf};
use tokio::task::JoinHandle;
use tokio::time::{Instant, timeout};

use super::{server, server_of};

/// Longer than anything here takes on the paused clock, except a hang.
const LONG: Duration = Duration::from_hours(2);

/// What a modern request carries.
fn meta() -> Value {
    json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28", "io.modelcontextprotocol/clientCapabilities": {},
    })
}

const MODERN_END: &str = r#""_meta":{"io.modelcontextprotocol/serverInfo":{"name":"test","version":"1.2"}}"#;

struct Client {
    to: Option<WriteHalf<DuplexStream>>,
    from: BufReader<ReadHalf<DuplexStream>>,
    done: JoinHandle<Result<End, ServeError>>,
    /// Whether requests carry what the newest revision wants.
    modern: bool,
}

impl Client {
    fn of(server: std::sync::Arc<mcptest_mock::Server>) -> Self {
        let (ours, theirs) = tokio::io::duplex(64 * 1024);
        let (input, output) = tokio::io::split(theirs);
        let done = tokio::spawn(async move {
            serve_stdio(&server, Log::none(), input, output, std::future::pending(), std::future::pending()).await
        });
        let (from, to) = tokio::io::split(ours);
        Self { to: Some(to), from: BufReader::new(from), done, modern: true }
    }

    fn modern(faults: &[&str]) -> Self {
        Self::of(server(faults))
    }

    async fn legacy(faults: &[&str]) -> Self {
        let mut client = Self { modern: false, ..Self::of(server(faults)) };
        client.send("initialize", json!(0), json!({ "protocolVersion": "2025-11-25" })).await;
        assert!(client.line().await.contains("\"2025-11-25\""));
        client.raw(b"{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}\n").await;
        client
    }

    async fn raw(&mut self, bytes: &[u8]) {
        self.to.as_mut().unwrap().write_all(bytes).await.unwrap();
    }

    async fn send(&mut self, method: &str, id: Value, mut params: Value) {
        if self.modern {
            params["_meta"] = meta();
        }
        let line = json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }).to_string() + "\n";
        self.raw(line.as_bytes()).await;
    }

    async fn call(&mut self, id: Value, tool: &str, arguments: Value) {
        self.send("tools/call", id, json!({ "name": tool, "arguments": arguments })).await;
    }

    async fn cancel(&mut self, id: Value) {
        let line = json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": { "requestId": id } });
        self.raw((line.to_string() + "\n").as_bytes()).await;
    }

    /// The next line without its end.
    async fn line(&mut self) -> String {
        let mut line = String::new();
        timeout(LONG, self.from.read_line(&mut line)).await.expect("a line").unwrap();
        line.trim_end_matches('\n').to_owned()
    }

    async fn json(&mut self) -> Value {
        serde_json::from_str(&self.line().await).unwrap()
    }

    /// The next reply without what every reply has.
    async fn result(&mut self) -> Value {
        let mut reply = self.json().await;
        let mut result = reply["result"].take();
        if let Some(map) = result.as_object_mut() {
            map.retain(|key, _| !matches!(key.as_str(), "_meta" | "resultType"));
        }
        result
    }

    async fn error(&mut self) -> (i64, String) {
        let reply = self.json().await;
        (reply["error"]["code"].as_i64().unwrap(), reply["error"]["message"].as_str().unwrap().to_owned())
    }

    /// Whether nothing more arrives, for as long as a hang is waited for.
    async fn silent(&mut self) -> bool {
        let mut byte = [0];
        timeout(LONG, self.from.read(&mut byte)).await.is_err()
    }

    /// Closes the client's end; how the server ended.
    async fn close(mut self) -> End {
        drop(self.to.take());
        let from = self.from;
        // Half of a duplex stream closes only when both halves are dropped or it is shut down.
        drop(from);
        timeout(Duration::from_secs(10), self.done).await.expect("an end").unwrap().unwrap()
    }
}

/// The line that answers a call of `echo` without arguments.
fn echoed(id: &str, modern: bool) -> String {
    let content = r#"[{"text":"echo called with {}","type":"text"}]"#;
    if modern {
        format!(
            r#"{{"id":{id},"jsonrpc":"2.0","result":{{{MODERN_END},"content":{content},"resultType":"complete"}}}}"#
        )
    } else {
        format!(r#"{{"id":{id},"jsonrpc":"2.0","result":{{"content":{content}}}}}"#)
    }
}

/// Calls `echo` under a fault in both eras: the lines that arrive at once or after this many milliseconds, and nothing more.
async fn check(fault: &str, id: Value, after_ms: u64, expected: impl Fn(bool) -> Vec<String>) {
    for modern in [true, false] {
        let mut client = if modern { Client::modern(&[fault]) } else { Client::legacy(&[fault]).await };
        let start = Instant::now();
        client.call(id.clone(), "echo", json!({})).await;
        for (at, line) in expected(modern).into_iter().enumerate() {
            assert_eq!(client.line().await, line, "{fault}, modern: {modern}, line {at}");
        }
        // The clock of the runtime counts in whole milliseconds.
        let took = u64::try_from(start.elapsed().as_millis()).unwrap();
        assert!((after_ms..=after_ms + 1).contains(&took), "{fault} took {took} ms");
        assert!(client.silent().await, "{fault}");
        // Everything else continues.
        for method in ["tools/list", "resources/list"] {
            client.send(method, json!("next"), json!({})).await;
            assert!(client.line().await.starts_with(r#"{"id":"next","jsonrpc":"2.0","result":{"#), "{fault} {method}");
        }
        assert_eq!(client.close().await, End::InputClosed, "{fault}");
    }
}

#[tokio::test(start_paused = true)]
async fn faults_that_answer_do_so_byte_for_byte_and_on_time() {
    check("none", json!(1), 0, |modern| vec![echoed("1", modern)]).await;
    check("slow:1500", json!("a"), 1500, |modern| vec![echoed("\"a\"", modern)]).await;
    check("reply-after-cancel:700", json!(1), 700, |modern| vec![echoed("1", modern)]).await;
    check("wrong-id", json!(7), 0, |modern| vec![echoed("1000007", modern)]).await;
    check("wrong-id", json!("q"), 0, |modern| vec![echoed("\"q-wrong\"", modern)]).await;
    check("duplicate", json!(1), 0, |modern| vec![echoed("1", modern), echoed("1", modern)]).await;
    check("error:-32050", json!(1), 0, |_| {
        vec![r#"{"error":{"code":-32050,"message":"fault error:-32050"},"id":1,"jsonrpc":"2.0"}"#.to_owned()]
    })
    .await;
    check("is-error", json!(1), 0, |modern| {
        let content = r#""content":[{"text":"fault is-error","type":"text"}],"isError":true"#;
        vec![if modern {
            format!(r#"{{"id":1,"jsonrpc":"2.0","result":{{{MODERN_END},{content},"resultType":"complete"}}}}"#)
        } else {
            format!(r#"{{"id":1,"jsonrpc":"2.0","result":{{{content}}}}}"#)
        }]
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn a_call_that_hangs_is_never_answered() {
    for fault in ["hang", "wedged", "recover-after:1"] {
        check(fault, json!(1), 0, |_| Vec::new()).await;
    }
}

#[tokio::test(start_paused = true)]
async fn garbage_is_a_line_that_is_neither_json_nor_utf_8() {
    let mut client = Client::modern(&["garbage"]);
    client.call(json!(1), "echo", json!({})).await;
    let mut line = Vec::new();
    client.from.read_until(b'\n', &mut line).await.unwrap();
    assert_eq!(line, b"\xff\xfe{\"jsonrpc\": not json \xc3\x28\n");
    assert!(serde_json::from_slice::<Value>(&line).is_err() && std::str::from_utf8(&line).is_err());
    client.send("tools/list", json!(2), json!({})).await;
    assert_eq!(client.json().await["id"], json!(2));
}

#[tokio::test(start_paused = true)]
async fn drop_closes_the_output_and_keeps_reading() {
    let mut client = Client::modern(&["drop"]);
    client.send("tools/list", json!(1), json!({})).await;
    client.call(json!(2), "echo", json!({})).await;
    client.send("tools/list", json!(3), json!({})).await;
    let mut all = String::new();
    client.from.read_to_string(&mut all).await.unwrap();
    assert_eq!(all.lines().count(), 1);
    assert!(all.starts_with(r#"{"id":1,"#) && all.ends_with('\n'));
    assert!(!client.done.is_finished());
    assert_eq!(client.close().await, End::InputClosed);
}

#[tokio::test(start_paused = true)]
async fn crash_ends_the_server_without_an_answer() {
    let mut client = Client::modern(&["crash"]);
    client.call(json!(1), "echo", json!({})).await;
    let mut all = Vec::new();
    client.from.read_to_end(&mut all).await.unwrap();
    assert_eq!(all, b"");
    assert_eq!(client.done.await.unwrap().unwrap(), End::Crashed);
}

#[tokio::test(start_paused = true)]
async fn a_flood_is_one_valid_reply_of_the_requested_size() {
    let mut client = Client::modern(&["flood:3"]);
    client.call(json!(1), "echo", json!({})).await;
    let reply = client.json().await;
    let text = reply["result"]["content"][0]["text"].as_str().unwrap();
    assert_eq!(text.len(), 3 * 1024 * 1024);
    assert!(text.bytes().all(|byte| byte == b'x'));
    client.send("tools/list", json!(2), json!({})).await;
    assert_eq!(client.json().await["id"], json!(2));
}

#[tokio::test(start_paused = true)]
async fn the_first_calls_hang_and_the_ones_after_are_answered() {
    let mut client = Client::modern(&["recover-after:2"]);
    for id in 1..=4 {
        client.call(json!(id), "count", json!({})).await;
    }
    // What hangs uses up no answer.
    assert_eq!(client.json().await["id"], json!(3));
    let fourth = client.json().await;
    assert_eq!((&fourth["id"], &fourth["result"]["content"][0]["text"]), (&json!(4), &json!("two")));
    assert!(client.silent().await);
}

#[tokio::test(start_paused = true)]
async fn a_fault_of_one_tool_leaves_the_others_alone() {
    let mut client = Client::modern(&["hang", "echo=none", "say=error:5"]);
    client.call(json!(1), "count", json!({})).await;
    client.call(json!(2), "say", json!({ "what": "x" })).await;
    client.call(json!(3), "echo", json!({})).await;
    assert_eq!(client.json().await["error"]["code"], json!(5));
    assert_eq!(client.line().await, echoed("3", true));
    assert!(client.silent().await);
}

#[tokio::test(start_paused = true)]
async fn a_canceled_slow_call_is_not_answered_and_reply_after_cancel_is() {
    for modern in [true, false] {
        let faults = ["echo=slow:1000", "count=reply-after-cancel:1000"];
        let mut client = if modern { Client::modern(&faults) } else { Client::legacy(&faults).await };
        let start = Instant::now();
        client.call(json!(1), "echo", json!({})).await;
        client.call(json!(2), "count", json!({})).await;
        client.call(json!("1"), "echo", json!({})).await;
        tokio::time::sleep(Duration::from_millis(300)).await;
        for id in [json!(1), json!(2), json!(99), json!(null)] {
            client.cancel(id).await;
        }
        assert_eq!(client.json().await["id"], json!(2));
        assert_eq!(client.json().await["id"], json!("1"), "an id is not another of a different type");
        assert!(start.elapsed() < Duration::from_millis(1002));
        assert!(client.silent().await);
    }
}

#[tokio::test(start_paused = true)]
async fn of_two_calls_with_one_id_the_later_one_can_be_canceled_after_the_first_is_answered() {
    let mut client = Client::modern(&["slow:1000"]);
    client.call(json!(1), "echo", json!({})).await;
    tokio::time::sleep(Duration::from_millis(500)).await;
    client.call(json!(1), "echo", json!({})).await;
    assert_eq!(client.line().await, echoed("1", true));
    client.cancel(json!(1)).await;
    assert!(client.silent().await);
}

#[tokio::test(start_paused = true)]
async fn a_hundred_hanging_calls_do_not_slow_down_others() {
    let mut client = Client::legacy(&["hang", "say=none"]).await;
    for id in 0..100 {
        client.call(json!(id), "echo", json!({})).await;
    }
    let start = Instant::now();
    for (method, params) in [
        ("ping", json!({})),
        ("initialize", json!({ "protocolVersion": "2025-06-18" })),
        ("tools/list", json!({})),
        ("resources/read", json!({ "uri": "file:///a.txt" })),
        ("tools/call", json!({ "name": "say", "arguments": { "what": "x" } })),
    ] {
        client.send(method, json!(method), params).await;
        let reply = client.json().await;
        assert!(reply["id"] == json!(method) && reply["result"].is_object(), "{reply}");
    }
    assert!(start.elapsed() < Duration::from_millis(2));
    assert_eq!(client.close().await, End::InputClosed);
}

#[tokio::test(start_paused = true)]
async fn the_end_of_the_input_ends_the_server_with_hanging_or_late_calls() {
    let server = server(&["hang", "say=slow:3600000"]);
    let (mut to, input) = tokio::io::duplex(64 * 1024);
    let (output, mut from) = tokio::io::duplex(1024 * 1024);
    let start = Instant::now();
    for (id, tool) in [(1, "echo"), (2, "say")] {
        let params = json!({ "name": tool, "arguments": { "what": "x" }, "_meta": meta() });
        let line = json!({ "jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params });
        to.write_all(format!("{line}\n").as_bytes()).await.unwrap();
    }
    // The last line has no line feed and is still answered.
    let last = json!({ "jsonrpc": "2.0", "id": 3, "method": "tools/list", "params": { "_meta": meta() } });
    to.write_all(last.to_string().as_bytes()).await.unwrap();
    drop(to);
    let end =
        serve_stdio(&server, Log::none(), input, output, std::future::pending(), std::future::pending()).await.unwrap();
    assert_eq!(end, End::InputClosed);
    assert!(start.elapsed() < Duration::from_secs(1));
    let mut all = String::new();
    from.read_to_string(&mut all).await.unwrap();
    assert_eq!(all.lines().count(), 1, "{all}");
    assert!(all.starts_with(r#"{"id":3,"#));
}

#[tokio::test(start_paused = true)]
async fn a_client_that_never_reads_blocks_neither_the_end_nor_a_stop() {
    let request = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": { "_meta": meta() } });
    let lines = format!("{request}\n").repeat(2000);
    for stopped in [false, true] {
        let server = server(&[]);
        let (mut to, input) = tokio::io::duplex(16 * 1024 * 1024);
        // Nothing is ever read from here, and far less fits than is answered.
        let (output, _from) = tokio::io::duplex(1024);
        to.write_all(lines.as_bytes()).await.unwrap();
        let kept = stopped.then_some(to);
        let start = Instant::now();
        let stop = async move {
            tokio::time::sleep(if stopped { Duration::from_millis(100) } else { LONG }).await;
        };
        let end = serve_stdio(&server, Log::none(), input, output, stop, std::future::pending()).await.unwrap();
        assert_eq!(end, if stopped { End::Stopped } else { End::InputClosed });
        assert!(start.elapsed() < Duration::from_secs(1));
        drop(kept);
    }
}

#[tokio::test(start_paused = true)]
async fn a_client_that_sends_more_than_is_read_ahead_and_hangs_up_is_not_waited_for() {
    let request = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": { "_meta": meta() } });
    let lines = format!("{request}\n").repeat(150_000);
    let (mut to, input) = tokio::io::duplex(lines.len());
    let (output, _from) = tokio::io::duplex(1024);
    to.write_all(lines.as_bytes()).await.unwrap();
    drop(to);
    let start = Instant::now();
    let hung_up = tokio::time::sleep(Duration::from_millis(100));
    let end = serve_stdio(&server(&[]), Log::none(), input, output, tokio::time::sleep(LONG), hung_up).await.unwrap();
    assert_eq!(end, End::InputClosed);
    assert!(start.elapsed() < Duration::from_secs(1));
}

#[tokio::test(start_paused = true)]
async fn a_client_that_reads_slowly_gets_every_answer_after_the_end_of_its_input() {
    let request = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": { "_meta": meta() } });
    let lines = format!("{request}\n").repeat(1000);
    for hangs_up in [false, true] {
        let (mut to, input) = tokio::io::duplex(lines.len());
        let (output, from) = tokio::io::duplex(1024);
        to.write_all(lines.as_bytes()).await.unwrap();
        drop(to);
        let reader = tokio::spawn(async move {
            let mut lines = BufReader::new(from).lines();
            let mut count = 0;
            while lines.next_line().await.unwrap().is_some() {
                count += 1;
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
            count
        });
        let (stop, hung_up) = (tokio::time::sleep(LONG), async move {
            if !hangs_up {
                std::future::pending::<()>().await;
            }
        });
        let end = serve_stdio(&server(&[]), Log::none(), input, output, stop, hung_up).await.unwrap();
        assert_eq!((end, reader.await.unwrap()), (End::InputClosed, 1000));
    }
}

#[tokio::test(start_paused = true)]
async fn a_client_that_disconnects_ends_the_server() {
    let server = server(&[]);
    let (mut to, input) = tokio::io::duplex(64 * 1024);
    let (output, from) = tokio::io::duplex(64);
    drop(from);
    to.write_all(b"nonsense\n").await.unwrap();
    let end =
        timeout(LONG, serve_stdio(&server, Log::none(), input, output, std::future::pending(), std::future::pending()))
            .await
            .unwrap();
    assert_eq!(end.unwrap(), End::OutputClosed);
}

#[tokio::test(start_paused = true)]
async fn an_invalid_message_is_rejected_and_the_next_one_is_answered() {
    let mut client = Client::modern(&[]);
    let deep = format!("{}{}", "[".repeat(100_000), "]".repeat(100_000));
    for (line, code) in [
        (&b"nonsense"[..], -32700),
        (b"{\"jsonrpc\": \"2.0\", \"id\": 1, \"method\": \"\xff\"}", -32700),
        (deep.as_bytes(), -32700),
        (b"{\"jsonrpc\": \"2.0\"", -32700),
        (b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\",\"method\":\"tools/list\"}", -32700),
        (b"[]", -32600),
        (b"7", -32600),
        (b"{\"jsonrpc\":\"2.0\",\"id\":{},\"method\":\"ping\"}", -32600),
    ] {
        client.raw(line).await;
        client.raw(b"\n").await;
        let reply = client.json().await;
        assert_eq!((&reply["error"]["code"], &reply["id"]), (&json!(code), &Value::Null), "{reply}");
    }
    client
        .raw(b"\n \r\n{\"jsonrpc\":\"2.0\",\"id\":5,\"result\":{}}\n{\"jsonrpc\":\"2.0\",\"method\":\"no/such\"}\n")
        .await;
    client.call(json!(1), "echo", json!({})).await;
    assert_eq!(client.line().await, echoed("1", true));
}

#[tokio::test(start_paused = true)]
async fn a_line_that_is_too_long_is_refused_and_skipped() {
    let mut client = Client::modern(&[]);
    let mut to = client.to.take().unwrap();
    let writer = tokio::spawn(async move {
        let piece = vec![b'x'; 1024 * 1024];
        for _ in 0..40 {
            to.write_all(&piece).await.unwrap();
        }
        to.write_all(b"\n").await.unwrap();
        to
    });
    assert_eq!(
        client.line().await,
        r#"{"error":{"code":-32700,"message":"Parse error: a line has more than 16777216 bytes"},"id":null,"jsonrpc":"2.0"}"#
    );
    client.to = Some(writer.await.unwrap());
    client.call(json!(1), "echo", json!({})).await;
    assert_eq!(client.line().await, echoed("1", true));
}

#[tokio::test(start_paused = true)]
async fn the_older_handshake_agrees_on_a_revision() {
    for (asked, answered) in [
        ("2024-11-05", "2024-11-05"),
        ("2025-03-26", "2025-03-26"),
        ("2025-06-18", "2025-06-18"),
        ("2025-11-25", "2025-11-25"),
        ("2026-07-28", "2025-11-25"),
        ("1999-01-01", "2025-11-25"),
    ] {
        let mut client = Client { modern: false, ..Client::modern(&[]) };
        client.send("initialize", json!(1), json!({ "protocolVersion": asked })).await;
        let expected = format!(
            r#"{{"id":1,"jsonrpc":"2.0","result":{{"capabilities":{{"prompts":{{}},"resources":{{}},"tools":{{}}}},"protocolVersion":"{answered}","serverInfo":{{"name":"test","version":"1.2"}}}}}}"#
        );
        assert_eq!(client.line().await, expected, "{asked}");
    }
    let mut client = Client { modern: false, ..Client::modern(&[]) };
    client.send("initialize", json!(1), json!({})).await;
    assert_eq!(client.error().await.0, -32602);
}

#[tokio::test(start_paused = true)]
async fn before_the_handshake_only_ping_is_answered() {
    let mut client = Client { modern: false, ..Client::modern(&[]) };
    client.send("ping", json!(1), json!({})).await;
    assert_eq!(client.line().await, r#"{"id":1,"jsonrpc":"2.0","result":{}}"#);
    client.send("tools/list", json!(2), json!({})).await;
    let refused =
        r#"{"error":{"code":-32602,"data":"","message":"Invalid request parameters"},"id":2,"jsonrpc":"2.0"}"#;
    assert_eq!(client.line().await, refused);
    client.send("no/such", json!(3), json!({})).await;
    let unknown = r#"{"error":{"code":-32601,"data":"no/such","message":"Method not found"},"id":3,"jsonrpc":"2.0"}"#;
    assert_eq!(client.line().await, unknown);
}

#[tokio::test(start_paused = true)]
async fn a_modern_request_must_carry_its_revision_and_capabilities() {
    let mut client = Client { modern: false, ..Client::modern(&[]) };
    let version = "io.modelcontextprotocol/protocolVersion";
    let capabilities = "io.modelcontextprotocol/clientCapabilities";
    for (method, meta, error) in [
        (
            "server/discover",
            json!({}),
            json!({ "code": -32602,
            "message": format!("Invalid params: `_meta` lacks {version} and {capabilities}") }),
        ),
        (
            "tools/list",
            json!({ version: "2026-07-28" }),
            json!({ "code": -32602,
            "message": format!("Invalid params: `_meta` lacks {capabilities}") }),
        ),
        (
            "tools/list",
            json!({ capabilities: {} }),
            json!({ "code": -32602,
            "message": format!("Invalid params: `_meta` lacks {version}") }),
        ),
        (
            "tools/list",
            json!({ version: 7, capabilities: {} }),
            json!({ "code": -32602,
            "message": format!("Invalid params: {version} must be a string") }),
        ),
        (
            "tools/list",
            json!({ version: "2026-07-28", capabilities: 1 }),
            json!({ "code": -32602,
            "message": format!("Invalid params: {capabilities} must be an object") }),
        ),
        (
            "tools/list",
            json!({ version: "2027-01-01", capabilities: {} }),
            json!({ "code": -32022,
            "message": "Unsupported protocol version",
            "data": { "supported": ["2026-07-28"], "requested": "2027-01-01" } }),
        ),
    ] {
        client.send(method, json!(1), json!({ "_meta": meta })).await;
        assert_eq!(client.json().await, json!({ "jsonrpc": "2.0", "id": 1, "error": error }), "{meta}");
    }
}

#[tokio::test(start_paused = true)]
async fn lists_and_reads_have_a_cache_lifetime() {
    let mut client = Client::modern(&[]);
    client.send("server/discover", json!(1), json!({})).await;
    let expected = format!(
        r#"{{"id":1,"jsonrpc":"2.0","result":{{{MODERN_END},"cacheScope":"private","capabilities":{{"prompts":{{}},"resources":{{}},"tools":{{}}}},"resultType":"complete","supportedVersions":["2026-07-28"],"ttlMs":0}}}}"#
    );
    assert_eq!(client.line().await, expected);
    for (method, params) in [
        ("tools/list", json!({})),
        ("resources/list", json!({})),
        ("resources/templates/list", json!({})),
        ("resources/read", json!({ "uri": "file:///a.txt" })),
        ("prompts/list", json!({})),
    ] {
        client.send(method, json!(1), params).await;
        let result = &client.json().await["result"];
        assert_eq!((&result["ttlMs"], &result["cacheScope"]), (&json!(0), &json!("private")), "{method}");
        assert_eq!(result["resultType"], json!("complete"), "{method}");
    }
    for method in ["initialize", "ping", "initialize/x", "logging/setLevel"] {
        client.send(method, json!(1), json!({})).await;
        assert_eq!(client.error().await, (-32601, "Method not found".to_owned()), "{method}");
    }
}

#[tokio::test(start_paused = true)]
async fn tools_are_listed_as_written_and_as_the_era_knows_them() {
    let schema = json!({ "type": "object" });
    for modern in [true, false] {
        let mut client = if modern { Client::modern(&[]) } else { Client::legacy(&[]).await };
        client.send("tools/list", json!(1), json!({})).await;
        let tools = client.result().await["tools"].clone();
        assert_eq!(tools[0], json!({ "name": "echo", "inputSchema": schema }));
        assert_eq!(
            tools[1],
            json!({
                "name": "say", "title": "Say", "description": "Says something", "annotations": { "readOnlyHint": true },
                "inputSchema": {
                    "type": "object", "required": ["what"],
                    "properties": { "what": { "type": "string" }, "times": { "type": "integer", "minimum": 1 } },
                },
            })
        );
        let list = json!({ "type": "array", "items": { "type": "integer" }, "minItems": 2 });
        assert_eq!(tools[5].get("outputSchema"), modern.then_some(&list));
        client.call(json!(2), "list", json!({})).await;
        let text = json!([{ "type": "text", "text": "[0,0]" }]);
        let mut expected = json!({ "content": text });
        if modern {
            expected["structuredContent"] = json!([0, 0]);
        }
        assert_eq!(client.result().await, expected);
    }
}

#[tokio::test(start_paused = true)]
async fn answers_are_made_from_the_arguments() {
    let text = |text: &str| json!({ "content": [{ "type": "text", "text": text }] });
    let failed = |text: &str| json!({ "content": [{ "type": "text", "text": text }], "isError": true });
    let both =
        |value: Value, text: &str| json!({ "content": [{ "type": "text", "text": text }], "structuredContent": value });
    let mut client = Client::modern(&[]);
    for (tool, arguments, expected) in [
        ("echo", json!({ "b": [1.0], "a": "x" }), text(r#"echo called with {"a":"x","b":[1]}"#)),
        ("say", json!({ "what": "hi" }), text("you said hi, 1 times")),
        ("say", json!({ "what": "${args.what}", "times": 3 }), text("you said ${args.what}, 3 times")),
        (
            "say",
            json!({ "times": 0 }),
            failed(
                "Invalid arguments for `say`: \"what\" is a required property; /times: value is less than the minimum of 1",
            ),
        ),
        ("count", json!({}), text("one")),
        ("count", json!({}), text("two")),
        ("count", json!({}), text("three")),
        ("count", json!({}), text("three")),
        (
            "place",
            json!({ "city": "Oslo" }),
            both(json!({ "city": "Oslo", "depth": "none" }), r#"{"city":"Oslo","depth":"none"}"#),
        ),
        (
            "place",
            json!({ "city": "Oslo", "depth": [2] }),
            both(json!({ "city": "Oslo", "depth": [2] }), r#"{"city":"Oslo","depth":[2]}"#),
        ),
        ("place", json!({ "city": "Atlantis" }), failed("no Atlantis")),
        ("place", json!({ "city": "Bo", "depth": 4 }), both(json!({ "city": "deep" }), "first")),
        ("place", json!({ "city": "Bo", "depth": 4 }), both(json!({ "city": "deeper" }), "then")),
        // A condition that cannot be judged does not match.
        (
            "place",
            json!({ "city": "Bo", "depth": "4" }),
            both(json!({ "city": "Bo", "depth": "4" }), r#"{"city":"Bo","depth":"4"}"#),
        ),
        (
            "place",
            json!({ "city": "B" }),
            failed("the answer does not match the output schema of `place`: /city: value is shorter than 2 characters"),
        ),
        ("place", json!({}), failed("the answer refers to `args.city`, which the call does not have")),
        ("ruled", json!({ "a": 1.0 }), text("yes")),
        ("ruled", json!({ "a": 2 }), failed("no rule of `ruled` matches {\"a\":2}")),
        (
            "blocks",
            json!({}),
            json!({ "content": [
            { "type": "text", "text": "a b" }, { "type": "image", "data": "aGk=", "mimeType": "image/png" } ] }),
        ),
    ] {
        client.call(json!(1), tool, arguments.clone()).await;
        assert_eq!(client.result().await, expected, "{tool} {arguments}");
    }
}

#[tokio::test(start_paused = true)]
async fn invalid_requests_get_the_errors_of_a_correct_server() {
    for modern in [true, false] {
        let mut client = if modern { Client::modern(&["hang"]) } else { Client::legacy(&["hang"]).await };
        let not_found = if modern { -32602 } else { -32002 };
        for (method, params, code, message) in [
            ("tools/call", json!({ "name": "nope" }), -32602, "Unknown tool: nope"),
            ("tools/call", json!({}), -32602, "Invalid params: `name` must be a string"),
            (
                "tools/call",
                json!({ "name": "echo", "arguments": [] }),
                -32602,
                "Invalid params: `arguments` must be an object",
            ),
            ("resources/read", json!({ "uri": "file:///c" }), not_found, "Resource not found: file:///c"),
            ("prompts/get", json!({ "name": "nope" }), -32602, "Unknown prompt: nope"),
            ("prompts/get", json!({ "name": "greet" }), -32602, "Missing required argument: who"),
            (
                "prompts/get",
                json!({ "name": "greet", "arguments": { "who": 1 } }),
                -32602,
                "Invalid params: `arguments` must be an object of strings",
            ),
            ("tools/list", json!({ "cursor": "x" }), -32602, "Unknown cursor: \"x\""),
            ("completion/complete", json!({}), -32601, "Method not found"),
        ] {
            client.send(method, json!(1), params.clone()).await;
            assert_eq!(client.error().await, (code, message.to_owned()), "{method} {params}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn resources_and_prompts_are_served() {
    let mut client = Client::modern(&[]);
    client.send("resources/read", json!(1), json!({ "uri": "file:///b.bin" })).await;
    assert_eq!(client.result().await["contents"], json!([{ "uri": "file:///b.bin", "blob": "aGk=" }]));
    client.send("resources/list", json!(1), json!({})).await;
    let listed = client.result().await["resources"].clone();
    assert_eq!(listed[0], json!({ "uri": "file:///a.txt", "name": "a", "mimeType": "text/plain" }));
    client.send("prompts/get", json!(1), json!({ "name": "greet", "arguments": { "who": "Ada" } })).await;
    let content = json!({ "type": "text", "text": "say hello to Ada" });
    assert_eq!(
        client.result().await,
        json!({ "description": "Greets", "messages": [{ "role": "user", "content": content }] })
    );
}

#[tokio::test(start_paused = true)]
async fn missing_features_are_not_announced() {
    let mut client = Client::of(server_of("mock_server: { name: bare }", &[]));
    client.send("server/discover", json!(1), json!({})).await;
    assert_eq!(client.result().await["capabilities"], json!({ "tools": {} }));
    for method in ["resources/list", "prompts/list"] {
        client.send(method, json!(1), json!({})).await;
        assert_eq!(client.error().await.0, -32601, "{method}");
    }
    client.send("tools/list", json!(1), json!({})).await;
    assert_eq!(client.result().await["tools"], json!([]));
}

#[tokio::test(start_paused = true)]
async fn a_snapshot_is_listed_unchanged() {
    let tool = json!({
        "name": "a", "icons": [{ "src": "x" }], "_meta": { "k": 1 }, "execution": {}, "inputSchema": {
            "type": "object", "properties": { "q": { "type": "string", "pattern": "^(?!no)", "odd": 1 } },
        },
        "outputSchema": { "type": "object", "required": ["n"], "properties": { "n": { "type": "integer", "minimum": 4 } } },
    });
    for text in
        [json!({ "tools": [tool] }), json!([tool]), json!({ "jsonrpc": "2.0", "id": 1, "result": { "tools": [tool] } })]
    {
        let mut client = Client::of(server_of(&text.to_string(), &[]));
        client.send("tools/list", json!(1), json!({})).await;
        assert_eq!(client.result().await["tools"], json!([tool]));
        client.call(json!(1), "a", json!({ "q": "yes" })).await;
        assert_eq!(client.result().await["structuredContent"], json!({ "n": 4 }));
        client.call(json!(1), "a", json!({ "q": "no" })).await;
        assert_eq!(client.result().await["isError"], json!(true));
    }
}
