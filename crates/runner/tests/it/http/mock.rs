//! Both eras against the mock, well behaved and not.

use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use mcptest_core::diag::Source;
use mcptest_core::suite::Protocol;
use mcptest_core::trace::{CallError, ErrorKind, ToolResult};
use mcptest_mock::{End, Faults, Log, ServeError, Server, load, serve_http};
use mcptest_runner::mcp::Observed;
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;
use tokio::time::Instant;

use super::{Remote, until};
use crate::fake::{MEMORY, call, fails, plain, says, within};

const TOOLS: &str = "
mock_server:
  name: far
  version: '1.2'
  tools:
    - name: say
      inputSchema:
        type: object
        properties:
          what: { type: string, x-mcp-header: What }
          how: { type: object, properties: { loud: { type: boolean, x-mcp-header: Loud } } }
      answer: 'you said ${args.what}'
    - { name: größe, inputSchema: { type: object }, answer: big }
    - { name: broken, inputSchema: { type: object }, answer: { error: no luck } }
    - name: shaped
      inputSchema: { type: object }
      answer: { structured: { city: Bergen, new: [1] } }
    - { name: bad, inputSchema: { type: object }, answer: never }
";

const ERAS: [Protocol; 2] = [Protocol::Modern, Protocol::Legacy];

pub(crate) struct Mock {
    pub(crate) address: SocketAddr,
    log: tempfile::TempDir,
    stop: oneshot::Sender<()>,
    done: JoinHandle<Result<End, ServeError>>,
}

impl Mock {
    pub(crate) async fn start(faults: &[&str]) -> Self {
        let source = Source::new("tools.yml", TOOLS);
        let loaded = load(&source);
        let rendered: String = loaded.diagnostics.iter().map(|diagnostic| diagnostic.render(&source)).collect();
        let spec = loaded.value.unwrap_or_else(|| panic!("{rendered}"));
        let tools: Vec<&str> = spec.tools.iter().map(|tool| tool.name.as_str()).collect();
        let server = Arc::new(Server::new(spec.clone(), Faults::read(faults, &tools).unwrap()));
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let (stop, stopped) = oneshot::channel::<()>();
        let folder = tempfile::tempdir().unwrap();
        let log = Log::append(&folder.path().join("log")).unwrap();
        let done = tokio::spawn(serve_http(server, log, listener, async move {
            let _ = stopped.await;
        }));
        Self { address, log: folder, stop, done }
    }

    fn remote(&self, protocol: Protocol) -> Remote {
        Remote::at(self.address, protocol)
    }

    /// Every message that came in.
    fn received(&self) -> Vec<Value> {
        let text = std::fs::read_to_string(Path::new(self.log.path()).join("log")).unwrap();
        let lines = text.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
        lines.filter(|line| line["direction"] == "in").map(|line| line["message"].clone()).collect()
    }

    /// The methods of every message that came in.
    fn methods(&self) -> Vec<String> {
        self.received().iter().map(|message| message["method"].as_str().unwrap().to_owned()).collect()
    }

    pub(crate) async fn end(self) {
        let _ = self.stop.send(());
        assert_eq!(within(self.done).await.unwrap().unwrap(), End::Stopped);
    }
}

#[tokio::test]
async fn both_eras_list_and_call() {
    let mock = Mock::start(&[]).await;
    for (protocol, revision) in
        [(Protocol::Modern, "2026-07-28"), (Protocol::Legacy, "2025-11-25"), (Protocol::Auto, "2026-07-28")]
    {
        let connection = mock.remote(protocol).open().await;
        let server = json!({ "name": "far", "version": "1.2" });
        assert_eq!(
            connection.observed(),
            &Observed { server, protocol: revision.to_owned(), instructions: None },
            "{protocol:?}"
        );
        let names: Vec<&str> = connection.tools().iter().map(|tool| tool.name.as_str()).collect();
        assert_eq!(names, ["say", "größe", "broken", "shaped", "bad"]);
        // The mock refuses a modern request whose headers do not repeat name and marked arguments.
        let words = json!({ "what": "hällo", "how": { "loud": true } });
        assert_eq!(call(&connection, "say", words).await, says("you said hällo"));
        assert_eq!(plain(&connection, "größe").await, says("big"));
        within(connection.close()).await;
    }
    mock.end().await;
}

#[tokio::test]
async fn a_handshake_is_made_in_order_and_its_session_is_ended() {
    let mock = Mock::start(&[]).await;
    let connection = mock.remote(Protocol::Legacy).open().await;
    assert_eq!(plain(&connection, "größe").await, says("big"));
    within(connection.close()).await;
    assert_eq!(mock.methods(), ["initialize", "notifications/initialized", "tools/list", "tools/call"]);
    let connection = mock.remote(Protocol::Modern).open().await;
    within(connection.close()).await;
    assert_eq!(mock.methods()[4..], ["server/discover", "tools/list"]);
    mock.end().await;
}

#[tokio::test]
async fn results_are_kept_as_received_and_errors_keep_their_kind() {
    let mock = Mock::start(&["bad=error:-32050"]).await;
    for protocol in ERAS {
        let connection = mock.remote(protocol).open().await;
        let shaped = plain(&connection, "shaped").await;
        assert_eq!(shaped.structured_content, Some(json!({ "city": "Bergen", "new": [1] }).into()));
        let content = vec![json!({ "type": "text", "text": "no luck" }).into()];
        let error = CallError { kind: ErrorKind::Tool, code: None, message: "no luck".to_owned() };
        assert_eq!(
            plain(&connection, "broken").await,
            ToolResult {
                is_error: Some(true),
                content: Some(content),
                error: Some(Box::new(error)),
                ..ToolResult::default()
            }
        );
        let unknown = plain(&connection, "nope").await.error.unwrap();
        assert_eq!((unknown.kind, unknown.code), (ErrorKind::Jsonrpc, Some(-32602)));
        let bad = plain(&connection, "bad").await.error.unwrap();
        assert_eq!((bad.kind, bad.code), (ErrorKind::Jsonrpc, Some(-32050)));
        within(connection.close()).await;
    }
    mock.end().await;
}

#[tokio::test]
async fn calls_at_the_same_time_get_their_own_replies() {
    let mock = Mock::start(&["say=slow:300"]).await;
    for protocol in ERAS {
        let connection = mock.remote(protocol).open().await;
        let start = Instant::now();
        let one = |number: usize| call(&connection, "say", json!({ "what": number.to_string() }));
        let results = tokio::join!(one(0), one(1), one(2), one(3), one(4), one(5), one(6), one(7));
        let answer = |number: usize| says(&format!("you said {number}"));
        let expected = (answer(0), answer(1), answer(2), answer(3), answer(4), answer(5), answer(6), answer(7));
        assert_eq!(results, expected);
        let took = start.elapsed();
        assert!(took >= Duration::from_millis(300) && took < Duration::from_millis(1500), "{took:?}");
        within(connection.close()).await;
    }
    mock.end().await;
}

#[tokio::test]
async fn a_hanging_call_times_out_and_is_canceled_as_its_era_requires() {
    for protocol in ERAS {
        let mock = Mock::start(&["say=recover-after:1"]).await;
        let connection = mock.remote(protocol).patient(500).open().await;
        let late = fails(ErrorKind::Timeout, None, "no answer within 500 ms");
        assert_eq!(call(&connection, "say", json!({ "what": "a" })).await, late);
        assert_eq!(call(&connection, "say", json!({ "what": "b" })).await, says("you said b"));
        let cancelled = || {
            let received = mock.received();
            let of = received.iter().filter(|message| message["method"] == "notifications/cancelled");
            of.map(|message| message["params"].clone()).collect::<Vec<_>>()
        };
        if protocol == Protocol::Legacy {
            until(|| !cancelled().is_empty()).await;
            assert_eq!(cancelled(), [json!({ "requestId": 2, "reason": "no answer within 500 ms" })]);
        } else {
            assert_eq!(cancelled(), [json!(null); 0]);
        }
        within(connection.close()).await;
        mock.end().await;
    }
}

#[tokio::test]
async fn a_reply_after_its_cancellation_is_counted_and_dropped() {
    let mock = Mock::start(&["say=reply-after-cancel:900"]).await;
    let connection = mock.remote(Protocol::Legacy).patient(400).open().await;
    let late = fails(ErrorKind::Timeout, None, "no answer within 400 ms");
    assert_eq!(call(&connection, "say", json!({ "what": "a" })).await, late);
    until(|| connection.counters().unsolicited == 1).await;
    assert_eq!(plain(&connection, "größe").await, says("big"));
    within(connection.close()).await;
    mock.end().await;
}

#[tokio::test]
async fn a_response_without_a_reply_fails_only_its_call() {
    let faults = ["say=garbage", "größe=wrong-id", "shaped=drop"];
    for protocol in ERAS {
        let mock = Mock::start(&faults).await;
        let connection = mock.remote(protocol).open().await;
        let start = Instant::now();
        assert_eq!(
            call(&connection, "say", json!({ "what": "a" })).await,
            fails(
                ErrorKind::Transport,
                None,
                "the server's response is not a reply to the request: \u{fffd}\u{fffd}{\"jsonrpc\": not json \u{fffd}("
            )
        );
        let wrong = plain(&connection, "größe").await.error.unwrap();
        assert_eq!((wrong.kind, wrong.code), (ErrorKind::Transport, None));
        let starts = "the server's response is not a reply to the request: {\"id\":";
        assert!(wrong.message.starts_with(starts), "{}", wrong.message);
        let counters = connection.counters();
        assert_eq!((counters.not_json_rpc, counters.unsolicited), (1, 1));
        let broke = format!(
            "the connection to {} was lost before a response arrived: connection closed before message completed",
            mock.address
        );
        assert_eq!(plain(&connection, "shaped").await, fails(ErrorKind::Transport, None, &broke));
        assert_eq!(plain(&connection, "bad").await, says("never"));
        assert!(start.elapsed() < Duration::from_secs(5), "{:?}", start.elapsed());
        within(connection.close()).await;
        mock.end().await;
    }
}

#[tokio::test]
async fn a_second_reply_is_counted_and_dropped() {
    for protocol in ERAS {
        let mock = Mock::start(&["say=duplicate"]).await;
        let connection = mock.remote(protocol).open().await;
        assert_eq!(call(&connection, "say", json!({ "what": "a" })).await, says("you said a"));
        until(|| connection.counters().unsolicited == 1).await;
        within(connection.close()).await;
        mock.end().await;
    }
}

#[tokio::test]
async fn a_flood_is_read_up_to_the_limit_and_refused_beyond() {
    let _alone = MEMORY.lock().await;
    let mock = Mock::start(&["say=flood:8", "größe=flood:17"]).await;
    let connection = mock.remote(Protocol::Modern).patient(20_000).open().await;
    let length: usize = call(&connection, "say", json!({ "what": "a" })).await.texts().map(str::len).sum();
    assert_eq!(length, 8 << 20);
    let too_long = fails(ErrorKind::Transport, None, "the server's response has more than 16777216 bytes");
    assert_eq!(plain(&connection, "größe").await, too_long);
    assert_eq!(plain(&connection, "bad").await, says("never"));
    within(connection.close()).await;
    mock.end().await;
}

#[tokio::test]
async fn an_exited_server_fails_each_call() {
    let mock = Mock::start(&["say=crash"]).await;
    let address = mock.address;
    let connection = mock.remote(Protocol::Modern).open().await;
    let error = call(&connection, "say", json!({ "what": "a" })).await.error.unwrap();
    assert_eq!((error.kind, error.code), (ErrorKind::Transport, None));
    assert_eq!(within(mock.done).await.unwrap().unwrap(), End::Crashed);
    let gone = format!("cannot connect to {address}: Connection refused (os error 111)");
    assert_eq!(plain(&connection, "bad").await, fails(ErrorKind::Transport, None, &gone));
    within(connection.close()).await;
}
