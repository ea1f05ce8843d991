//! The official server for Python in its two versions, where `cargo xtask servers` has installed them.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use mcptest_core::suite::Protocol;
use mcptest_core::trace::ErrorKind;
use mcptest_runner::mcp::Observed;
use serde_json::json;
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::process::{Child, Command};

use super::Remote;
use crate::fake::{call, fails, text, within};

/// The interpreter of an environment that has the server. Without one the test is skipped with a note, and fails on a CI server.
#[expect(clippy::disallowed_methods, reason = "CI servers say in a variable that they are one")]
fn interpreter(set: &str) -> Option<PathBuf> {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).parent().unwrap().join("servers").join(set);
    if folder.join("installed").exists() {
        return Some(folder.join("bin/python"));
    }
    assert!(std::env::var("CI").as_deref() != Ok("true"), "`{set}` is not installed (run `cargo xtask servers`)");
    // This bypasses the capture of the test harness.
    let note = format!("skipped: `{set}` is not installed (run `cargo xtask servers`)\n");
    std::io::stderr().write_all(note.as_bytes()).unwrap();
    None
}

/// Starts the server, and learns its port.
async fn start(interpreter: &Path, mode: &str) -> (Child, u16) {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/servers/streamable.py");
    let mut command = Command::new(interpreter);
    command.args(["-B", "-W", "ignore"]).arg(script).arg(mode).stdin(Stdio::null()).stdout(Stdio::piped());
    let mut child = command.kill_on_drop(true).spawn().unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let port = within(lines.next_line()).await.unwrap().expect("a port").parse().unwrap();
    (child, port)
}

#[tokio::test]
async fn the_python_server_lists_and_calls_in_both_eras_with_streams_and_without() {
    let Some(interpreter) = interpreter("time") else { return };
    for mode in ["stream", "json"] {
        let (mut child, port) = start(&interpreter, mode).await;
        for (protocol, revision) in
            [(Protocol::Modern, "2026-07-28"), (Protocol::Legacy, "2025-11-25"), (Protocol::Auto, "2026-07-28")]
        {
            let remote = Remote::new(format!("http://127.0.0.1:{port}/mcp"), protocol).patient(1500);
            let connection = remote.open().await;
            let expected = Observed {
                server: json!({ "name": "python", "version": "7.8.9" }),
                protocol: revision.to_owned(),
                instructions: Some("Be kind.".to_owned()),
            };
            assert_eq!(connection.observed(), &expected, "{mode} {protocol:?}");
            let names: Vec<&str> = connection.tools().iter().map(|tool| tool.name.as_str()).collect();
            assert_eq!(names, ["add", "fail", "wait", "ask"]);
            let sum = call(&connection, "add", json!({ "a": 2, "b": 3 })).await;
            assert_eq!((sum.is_error, text(&sum).as_str()), (Some(false), "5"));
            assert_eq!(sum.structured_content, Some(json!({ "result": 5 }).into()));
            let failed = call(&connection, "fail", json!({})).await;
            assert_eq!(failed, fails(ErrorKind::Tool, None, "Error executing tool fail"));
            let late = fails(ErrorKind::Timeout, None, "no answer within 1500 ms");
            let waited = tokio::join!(
                call(&connection, "wait", json!({ "seconds": 0.2 })),
                call(&connection, "wait", json!({ "seconds": 20 })),
                call(&connection, "add", json!({ "a": 1, "b": 1 })),
            );
            assert_eq!((text(&waited.0), waited.1, text(&waited.2)), ("waited".to_owned(), late, "2".to_owned()));
            let counters = connection.counters();
            assert_eq!((counters.not_json_rpc, counters.unsolicited), (0, 0));
            within(connection.close()).await;
        }
        child.kill().await.unwrap();
        // A removed session is reported.
        let gone = Remote::new(format!("http://127.0.0.1:{port}/mcp"), Protocol::Modern).error().await;
        assert!(gone.contains("Connection refused"), "{gone}");
    }
}

#[tokio::test]
async fn a_request_of_a_python_server_during_a_call_is_declined_and_the_call_continues() {
    for set in ["sqlite", "time"] {
        let Some(interpreter) = interpreter(set) else { continue };
        let (_child, port) = start(&interpreter, "stream").await;
        let remote = Remote::new(format!("http://127.0.0.1:{port}/mcp"), Protocol::Legacy);
        let connection = remote.open().await;
        let expected = "decline, mcptest does not offer `sampling/createMessage`, mcptest does not offer `roots/list`";
        let asked = call(&connection, "ask", json!({})).await;
        assert_eq!((asked.is_error, text(&asked).as_str()), (Some(false), expected), "{set}");
        within(connection.close()).await;
    }
    // The newer era has no requests in the middle of a call, and the server reports that.
    let Some(interpreter) = interpreter("time") else { return };
    let (_child, port) = start(&interpreter, "stream").await;
    let connection = Remote::new(format!("http://127.0.0.1:{port}/mcp"), Protocol::Modern).open().await;
    let expected =
        "Cannot send 'elicitation/create': this transport context has no back-channel for server-initiated requests.";
    assert_eq!(call(&connection, "ask", json!({})).await, fails(ErrorKind::Jsonrpc, Some(-32600), expected));
    within(connection.close()).await;
}
