//! The official server for Python, where it can be had.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use mcptest_core::suite::Protocol;
use mcptest_core::trace::ErrorKind;
use mcptest_runner::mcp::Observed;
use serde_json::json;
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::process::{Child, Command};

use super::Remote;
use crate::fake::{call, fails, text, within};

const WANTED: &str = "mcp>=2.3,<3";

/// Runs a command to its end, or ends it.
async fn bounded(command: &mut Command, limit: Duration) -> Result<(), String> {
    command.stdin(Stdio::null()).kill_on_drop(true);
    match tokio::time::timeout(limit, command.output()).await {
        Err(_) => Err(format!("not done within {} s", limit.as_secs())),
        Ok(Err(error)) => Err(error.to_string()),
        Ok(Ok(output)) if output.status.success() => Ok(()),
        Ok(Ok(output)) => Err(String::from_utf8_lossy(&output.stderr).into_owned()),
    }
}

/// The interpreter of an environment that has the server; made once and kept below the target folder.
async fn interpreter() -> Result<PathBuf, String> {
    let home = Path::new(env!("CARGO_TARGET_TMPDIR")).join("python/mcp2");
    let (interpreter, ready) = (home.join("bin/python"), home.join("ready"));
    if !ready.exists() {
        bounded(Command::new("python3").args(["-m", "venv"]).arg(&home), Duration::from_mins(2)).await?;
        let install = ["-m", "pip", "install", "-q", "--disable-pip-version-check", "--retries", "1", WANTED];
        bounded(Command::new(&interpreter).args(install), Duration::from_mins(5)).await?;
        std::fs::write(&ready, "").map_err(|error| error.to_string())?;
    }
    Ok(interpreter)
}

/// Starts the server, and learns its port.
async fn start(interpreter: &Path, mode: &str) -> (Child, u16) {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/servers/streamable.py");
    let mut command = Command::new(interpreter);
    command.arg("-B").arg(script).arg(mode).stdin(Stdio::null()).stdout(Stdio::piped()).kill_on_drop(true);
    let mut child = command.spawn().unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let port = within(lines.next_line()).await.unwrap().expect("a port").parse().unwrap();
    (child, port)
}

#[tokio::test]
async fn the_python_server_lists_and_calls_in_both_eras_with_streams_and_without() {
    let interpreter = match interpreter().await {
        Ok(interpreter) => interpreter,
        Err(why) => {
            // Written past the capture of the test harness, so that the gap is seen.
            let last = why.lines().last().unwrap_or("").to_owned();
            let _ = writeln!(std::io::stderr(), "skipped: no Python server `{WANTED}` to test with ({last})");
            return;
        }
    };
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
            assert_eq!(names, ["add", "fail", "wait"]);
            let sum = call(&connection, "add", json!({ "a": 2, "b": 3 })).await;
            assert_eq!((sum.is_error, text(&sum).as_str()), (Some(false), "5"));
            assert_eq!(sum.structured_content, Some(json!({ "result": 5 })));
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
        // What is gone is told as such.
        let gone = Remote::new(format!("http://127.0.0.1:{port}/mcp"), Protocol::Modern).error().await;
        assert!(gone.contains("Connection refused"), "{gone}");
    }
}
