//! The log: every message once, numbered, the same from run to run.

use mcptest_mock::{Log, serve_stdio};
use tokio::io::{AsyncReadExt, AsyncWriteExt};

use super::server;

#[tokio::test(start_paused = true)]
async fn every_message_is_one_numbered_line_and_a_second_run_is_appended() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("log.jsonl");
    let meta = r#""_meta":{"io.modelcontextprotocol/clientCapabilities":{},"io.modelcontextprotocol/protocolVersion":"2026-07-28"}"#;
    let ping = r#"{"id":1,"jsonrpc":"2.0","method":"ping"}"#;
    let call = format!(r#"{{"id":2,"jsonrpc":"2.0","method":"tools/call","params":{{{meta},"name":"echo"}}}}"#);
    for _ in 0..2 {
        let server = server(&["echo=flood:1"]);
        let (mut to, input) = tokio::io::duplex(64 * 1024);
        let (output, mut from) = tokio::io::duplex(4 * 1024 * 1024);
        to.write_all(format!("{ping}\nnoå json\n{call}\n").as_bytes()).await.unwrap();
        drop(to);
        let log = Log::append(&path).unwrap();
        serve_stdio(&server, log, input, output, std::future::pending(), std::future::pending()).await.unwrap();
        let mut all = Vec::new();
        from.read_to_end(&mut all).await.unwrap();
    }
    let run = format!(
        r#"{{"seq":1,"direction":"in","message":{ping}}}
{{"seq":2,"direction":"out","message":{{"id":1,"jsonrpc":"2.0","result":{{}}}}}}
{{"seq":3,"direction":"in","raw":"noå json"}}
{{"seq":4,"direction":"out","message":{{"error":{{"code":-32700,"message":"Parse error: line 1, column 2: expected ident"}},"id":null,"jsonrpc":"2.0"}}}}
{{"seq":5,"direction":"in","message":{call}}}
{{"seq":6,"direction":"out","note":"a reply with 1 MiB of text"}}
"#
    );
    assert_eq!(std::fs::read_to_string(&path).unwrap(), run.repeat(2));
}

#[cfg(target_os = "linux")]
#[tokio::test(start_paused = true)]
async fn a_log_that_cannot_be_written_ends_the_server() {
    let server = server(&[]);
    let (mut to, input) = tokio::io::duplex(1024);
    let (output, _from) = tokio::io::duplex(1024);
    to.write_all(b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}\n").await.unwrap();
    let log = Log::append(std::path::Path::new("/dev/full")).unwrap();
    let error =
        serve_stdio(&server, log, input, output, std::future::pending(), std::future::pending()).await.unwrap_err();
    assert!(error.to_string().starts_with("cannot write the log: "), "{error}");
}
