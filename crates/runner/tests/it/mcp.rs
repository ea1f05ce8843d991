//! Connecting, listing and calling, with servers of both eras and of bad manners.

use std::time::Duration;

use mcptest_core::suite::Protocol;
use mcptest_core::trace::{CallError, ErrorKind, ToolResult};
use mcptest_runner::catalog::Tool;
use mcptest_runner::mcp::{Counters, Observed};
use mcptest_runner::process::STDERR_LIMIT;
use serde_json::{Map, Value, json};
use tokio::time::Instant;

use crate::fake::{Fake, MEMORY, call, fails, plain, says, text, within};

fn echo() -> Tool {
    Tool {
        name: "echo".to_owned(),
        description: Some("Says it again.".to_owned()),
        input_schema: json!({ "type": "object", "properties": { "words": { "type": "string" } }, "x-new": true }),
        annotations: Some(json!({ "readOnlyHint": true, "futureHint": "yes" })),
        other: json!({ "outputSchema": { "type": "object" }, "x-other": [1] }).as_object().cloned().unwrap(),
    }
}

fn legacy() -> Observed {
    Observed {
        server: json!({ "name": "fake", "version": "1.2.3" }),
        protocol: "2025-11-25".to_owned(),
        instructions: Some("Be kind.".to_owned()),
    }
}

fn modern() -> Observed {
    Observed {
        server: json!({ "name": "fake-modern", "version": "4.5.6" }),
        protocol: "2026-07-28".to_owned(),
        instructions: None,
    }
}

/// Connects, calls, closes; nothing is left.
async fn check(fake: &Fake, observed: &Observed) {
    let connection = fake.open().await;
    assert_eq!(connection.observed(), observed);
    assert_eq!(connection.tools(), [echo()]);
    assert_eq!(call(&connection, "echo", json!({ "words": "hi" })).await, says("hi"));
    within(connection.close()).await;
    assert_eq!(fake.left(), [""; 0]);
}

#[tokio::test]
async fn servers_of_both_eras_are_understood() {
    check(&Fake::new("legacy"), &legacy()).await;
    check(&Fake::new("legacy").speaking(Protocol::Auto), &legacy()).await;
    check(&Fake::new("modern").speaking(Protocol::Modern), &modern()).await;
    check(&Fake::new("modern").speaking(Protocol::Auto), &modern()).await;
    check(&Fake::new("both").speaking(Protocol::Auto), &modern()).await;
    check(&Fake::new("both"), &legacy()).await;
}

#[tokio::test]
async fn a_request_of_the_modern_era_has_revision_and_client_info() {
    let connection = Fake::new("modern").speaking(Protocol::Modern).open().await;
    let meta: Value = serde_json::from_str(&text(&plain(&connection, "meta").await)).unwrap();
    assert_eq!(meta["io.modelcontextprotocol/protocolVersion"], "2026-07-28");
    assert_eq!(meta["io.modelcontextprotocol/clientInfo"]["name"], "mcptest");
    assert_eq!(meta["io.modelcontextprotocol/clientCapabilities"], json!({}));
    within(connection.close()).await;
}

#[tokio::test]
async fn a_server_that_ignores_the_probe_costs_two_seconds_and_not_its_time_limit() {
    let start = Instant::now();
    check(&Fake::new("ignores-discover").speaking(Protocol::Auto).patient(20_000), &legacy()).await;
    let took = start.elapsed();
    assert!(took > Duration::from_secs(2) && took < Duration::from_secs(7), "{took:?}");
}

#[tokio::test]
async fn a_late_answer_to_the_probe_is_not_mistaken_for_the_answer_to_the_handshake() {
    let fake = Fake::new("late-discover").speaking(Protocol::Auto).patient(1500);
    let connection = fake.open().await;
    assert_eq!(connection.observed(), &legacy());
    assert_eq!(connection.counters().unsolicited, 1);
    within(connection.close()).await;
}

#[tokio::test]
async fn a_server_that_exits_at_the_probe_is_restarted() {
    check(&Fake::new("dies-on-discover").speaking(Protocol::Auto), &legacy()).await;
}

#[tokio::test]
async fn a_modern_server_that_starts_slowly_gets_a_retry() {
    check(&Fake::new("slow-modern").speaking(Protocol::Auto), &modern()).await;
}

#[tokio::test]
async fn banners_and_chatter_are_ignored_and_counted() {
    let connection = Fake::new("banner").open().await;
    assert_eq!(plain(&connection, "echo").await, says(""));
    // Three lines of text, one of them empty, and one without text.
    assert_eq!(connection.counters().not_json_rpc, 3);
    within(connection.close()).await;
}

#[tokio::test]
async fn all_pages_are_listed_in_order() {
    let connection = Fake::new("pages").open().await;
    let names: Vec<&str> = connection.tools().iter().map(|tool| tool.name.as_str()).collect();
    assert_eq!(names, ["tool-0-0", "tool-0-1", "tool-1-0", "tool-1-1", "tool-2-0", "tool-2-1"]);
    within(connection.close()).await;
}

#[tokio::test]
async fn each_connection_failure_has_its_own_message() {
    let silent = "check that the command starts an MCP server over stdio, or raise `timeout_ms`";
    let refused = "check that the command starts an MCP server with tools; set `protocol` if detection fails";
    let ended = "run the command by hand: it should wait for messages on standard input";
    let cases = [
        (
            "dies-at-once",
            format!(
                "exited (exit status: 7) without answering `initialize`\n\
                 standard error ends with:\n  cannot open the database\\u{{1b}}[0m\nhint: {ended}"
            ),
        ),
        ("silent", format!("did not answer `initialize` within 800 ms\nhint: {silent}")),
        (
            "talks",
            format!(
                "did not answer `initialize` within 4000 ms\nstandard output contains a line that is not a message: Welcome to \\u{{1b}}[1mFake\\u{{1b}}[0m!\nhint: {silent}"
            ),
        ),
        (
            "huge-line",
            "sent a line of more than 16777216 bytes\n\
             hint: a message is one line of JSON; look for other output"
                .to_owned(),
        ),
        (
            "refuses",
            format!("responded to `initialize` with error -32601: Method not found: initialize\nhint: {refused}"),
        ),
        (
            "malformed",
            format!(
                "responded to `initialize` with an unexpected result: {{\"hello\":\"world\",\"instructions\":\"Be kind.\"}}\nhint: {refused}"
            ),
        ),
        (
            "unknown-revision",
            "uses protocol revision `1999-01-01`, which mcptest does not support\n\
             hint: update the server, or mcptest"
                .to_owned(),
        ),
        ("list-error", format!("responded to `tools/list` with error -32603: no list today\nhint: {refused}")),
        ("list-silent", format!("did not answer `tools/list` within 4000 ms\nhint: {silent}")),
        (
            "list-duplicate-key",
            "responded to `tools/list` with malformed JSON: result.tools[0]: duplicate key \"name\"\n\
             hint: fix the server: a JSON object must not have duplicate keys"
                .to_owned(),
        ),
        (
            "cycle",
            "`tools/list` loops: the cursor \"a\" was returned twice\n\
             hint: the last page of `tools/list` has no `nextCursor`"
                .to_owned(),
        ),
    ];
    // Started side by side: most of them take their whole time limit.
    let mut tasks = Vec::new();
    for (mode, expected) in cases {
        tasks.push(tokio::spawn(async move {
            // A machine under load may take longer to start a server than the silent ones are given.
            let patience = match mode {
                "silent" => 800,
                "talks" | "list-silent" => 4000,
                _ => 10_000,
            };
            let fake = Fake::new(mode).patient(patience);
            (mode, fake.error().await, expected)
        }));
    }
    for task in tasks {
        let (mode, error, expected) = within(task).await.unwrap();
        assert_eq!(error, format!("server `fake`: {expected}"), "{mode}");
    }
}

#[tokio::test]
async fn a_server_that_refuses_both_eras_is_shown_with_both_answers() {
    assert_eq!(
        Fake::new("refuses").speaking(Protocol::Auto).error().await,
        "server `fake`: responded to `server/discover` with error -32601: Method not found: server/discover, and to `initialize` with error -32601: Method not found: initialize\n\
         hint: check that the command starts an MCP server with tools; set `protocol` if detection fails"
    );
    assert_eq!(
        Fake::new("legacy").speaking(Protocol::Modern).error().await,
        "server `fake`: responded to `server/discover` with error -32601: Method not found: server/discover\n\
         hint: check that the command starts an MCP server with tools; set `protocol` if detection fails"
    );
}

#[tokio::test]
async fn of_much_standard_error_the_end_is_shown() {
    let error = Fake::new("stderr").connect().await.unwrap_err();
    let lines: Vec<&str> = error.stderr.lines().collect();
    assert_eq!(lines.last(), Some(&"line 099999"));
    assert_eq!(lines.len(), STDERR_LIMIT / 12);
    assert_eq!(lines[0], format!("line {:06}", 100_000 - lines.len()));
}

#[tokio::test]
async fn results_are_kept_as_received() {
    let connection = Fake::new("legacy").open().await;
    let structured = ToolResult {
        is_error: Some(false),
        content: Some(vec![
            json!({ "type": "text", "text": "{}", "x-block": 1 }).into(),
            json!({ "type": "hologram", "depth": 2.5 }).into(),
        ]),
        structured_content: Some(json!({ "t": 1.5, "deep": [{ "n": null }] }).into()),
        ..ToolResult::default()
    };
    assert_eq!(plain(&connection, "structured").await, structured);
    let error = CallError { kind: ErrorKind::Tool, code: None, message: "no such city".to_owned() };
    let failed = ToolResult { is_error: Some(true), error: Some(Box::new(error)), ..says("no such city") };
    assert_eq!(plain(&connection, "fails").await, failed);
    assert_eq!(plain(&connection, "refuses").await, fails(ErrorKind::Jsonrpc, Some(-32602), "Unknown tool: refuses"));
    within(connection.close()).await;
}

#[tokio::test]
async fn failed_calls_are_error_results() {
    let connection = Fake::new("modern").speaking(Protocol::Modern).open().await;
    assert_eq!(
        plain(&connection, "input").await,
        fails(ErrorKind::Tool, None, "the server asked for input (`input_required`), which mcptest declines")
    );
    assert_eq!(
        plain(&connection, "empty").await,
        fails(ErrorKind::Jsonrpc, None, "the server's reply is not a valid tools/call result: it has no `content`")
    );
    assert_eq!(
        plain(&connection, "duplicate-key").await,
        fails(
            ErrorKind::Jsonrpc,
            None,
            "the server's reply is not a valid tools/call result: malformed JSON: result: duplicate key \"isError\""
        )
    );
    within(connection.close()).await;
}

#[tokio::test]
async fn a_child_gets_its_variables_and_its_folder() {
    let mut fake = Fake::new("legacy");
    let folder = std::env::temp_dir().canonicalize().unwrap();
    fake.launch.env.insert("FAKE_TOKEN".to_owned(), "s3cret".to_owned());
    fake.launch.cwd = Some(folder.clone());
    let connection = fake.open().await;
    let given = call(&connection, "environment", json!({ "name": "FAKE_TOKEN" })).await;
    assert_eq!(given, says(&format!("s3cret {}", folder.display())));
    // Inherited as well: without it the interpreter would not have been found.
    let inherited = call(&connection, "environment", json!({ "name": "PATH" })).await;
    assert_ne!(inherited, says(&format!(" {}", folder.display())));
    within(connection.close()).await;
}

#[tokio::test]
async fn calls_overlap_and_each_gets_its_own_reply() {
    let connection = Fake::new("legacy").open().await;
    let order = std::sync::Mutex::new(Vec::new());
    let wait = async |tenths: u32| {
        let args = json!({ "seconds": f64::from(tenths) / 10.0, "words": tenths.to_string() });
        let result = call(&connection, "wait", args).await;
        order.lock().unwrap().push(tenths);
        result
    };
    let results = tokio::join!(wait(12), wait(8), wait(4), wait(0));
    assert_eq!(results, (says("12"), says("8"), says("4"), says("0")));
    assert_eq!(order.into_inner().unwrap(), [0, 4, 8, 12]);
    within(connection.close()).await;
}

#[tokio::test]
async fn a_late_call_is_canceled_and_its_reply_is_dropped_and_counted() {
    let connection = Fake::new("legacy").patient(1000).open().await;
    let before = connection.counters().unsolicited;
    let late = call(&connection, "wait", json!({ "seconds": 1.5 })).await;
    assert_eq!(late, fails(ErrorKind::Timeout, None, "no answer within 1000 ms"));
    let cancelled: Value = serde_json::from_str(&text(&plain(&connection, "cancelled").await)).unwrap();
    // 0 was the handshake, 1 the list.
    assert_eq!(cancelled, json!([{ "requestId": 2, "reason": "no answer within 1000 ms" }]));
    assert_eq!((before, connection.counters().unsolicited), (0, 0));
    tokio::time::sleep(Duration::from_millis(800)).await;
    assert_eq!(plain(&connection, "echo").await, says(""));
    assert_eq!(connection.counters().unsolicited, 1);
    within(connection.close()).await;
}

#[tokio::test]
async fn a_call_that_its_caller_drops_is_canceled() {
    let connection = Fake::new("legacy").open().await;
    let args = json!({ "seconds": 20 }).as_object().cloned().unwrap();
    let given_up = tokio::time::timeout(Duration::from_millis(200), connection.call("wait", args)).await;
    assert!(given_up.is_err());
    let mut cancelled = String::new();
    for _ in 0..50 {
        cancelled = text(&plain(&connection, "cancelled").await);
        if cancelled != "[]" {
            break;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    let cancelled: Value = serde_json::from_str(&cancelled).unwrap();
    assert_eq!(cancelled, json!([{ "requestId": 2, "reason": "the caller gave up" }]));
}

#[tokio::test]
async fn a_timeout_mentions_unreadable_lines() {
    let connection = Fake::new("legacy").patient(1000).open().await;
    assert_eq!(
        plain(&connection, "noise").await,
        fails(
            ErrorKind::Timeout,
            None,
            "no answer within 1000 ms; meanwhile the server sent lines that are not messages: 1"
        )
    );
    within(connection.close()).await;
}

#[tokio::test]
async fn replies_with_wrong_numbers_and_second_replies_are_counted_and_dropped() {
    let connection = Fake::new("legacy").open().await;
    assert_eq!(plain(&connection, "wrong-id").await, says("yours"));
    assert_eq!(connection.counters().unsolicited, 1);
    assert_eq!(plain(&connection, "twice").await, says("first"));
    assert_eq!(plain(&connection, "echo").await, says(""));
    assert_eq!(connection.counters().unsolicited, 2);
    within(connection.close()).await;
}

#[tokio::test]
async fn a_flood_of_notifications_is_counted_and_kept_nowhere() {
    let _alone = MEMORY.lock().await;
    let connection = Fake::new("legacy").open().await;
    let before = connection.counters();
    let memory = resident();
    assert_eq!(call(&connection, "flood", json!({ "count": 400_000 })).await, says("done"));
    let grown = resident().saturating_sub(memory);
    let counters = connection.counters();
    assert_eq!(counters.lines_in - before.lines_in, 400_001);
    assert!(counters.bytes_in - before.bytes_in > 200_000_000);
    // Other tests run in the same process, two of them with a line of 16 MiB.
    assert!(grown < 150 << 20, "{grown} bytes more");
    within(connection.close()).await;
}

/// Memory of this process, in bytes.
fn resident() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
    line.trim().trim_end_matches(" kB").parse::<u64>().unwrap() * 1024
}

#[tokio::test]
async fn raw_traffic_is_counted() {
    let connection = Fake::new("legacy").open().await;
    let before = connection.counters();
    assert_eq!(call(&connection, "echo", json!({ "words": "é" })).await, says("é"));
    let after = connection.counters();
    let reply = r#"{"jsonrpc": "2.0", "id": 2, "result": {"content": [{"type": "text", "text": "\u00e9"}]}}"#;
    let request = r#"{"id":2,"jsonrpc":"2.0","method":"tools/call","params":{"_meta":{"progressToken":2},"arguments":{"words":"é"},"name":"echo"}}"#;
    assert_eq!(
        after,
        Counters {
            lines_in: before.lines_in + 1,
            bytes_in: before.bytes_in + reply.len() as u64,
            lines_out: before.lines_out + 1,
            bytes_out: before.bytes_out + request.len() as u64,
            not_json_rpc: 0,
            unsolicited: 0,
        }
    );
    within(connection.close()).await;
}

#[tokio::test]
async fn server_requests_are_answered() {
    let connection = Fake::new("legacy").open().await;
    let answers = plain(&connection, "asks").await;
    assert_eq!(answers, says(r#"{"q0": {}, "q1": -32601, "q2": -32601, "q3": {"action": "decline"}}"#));
    within(connection.close()).await;
}

#[tokio::test]
async fn a_server_that_sends_requests_without_reading_blocks_nothing() {
    let fake = Fake::new("legacy").patient(3000);
    let connection = fake.open().await;
    // More answers than a pipe and the queue can hold.
    let asked = call(&connection, "asks-without-reading", json!({ "count": 5000 })).await;
    assert_eq!(asked, says("asked"));
    let args = json!({ "words": "x".repeat(200_000) });
    let start = Instant::now();
    assert_eq!(call(&connection, "echo", args).await, fails(ErrorKind::Timeout, None, "no answer within 3000 ms"));
    assert!(start.elapsed() < Duration::from_secs(6), "{:?}", start.elapsed());
    within(connection.close()).await;
    assert_eq!(fake.left(), [""; 0]);
}

#[tokio::test]
async fn a_call_that_kills_the_server_fails_at_once_and_so_does_the_next() {
    let fake = Fake::new("legacy");
    let connection = fake.open().await;
    let start = Instant::now();
    let ended = fails(
        ErrorKind::Transport,
        None,
        "the server exited (exit status: 3); standard error ends with:\n\
         two\nthree\nfour\nfive\nsix: out of luck",
    );
    // A call under way, the one that kills, and one afterwards.
    let results = tokio::join!(call(&connection, "wait", json!({ "seconds": 20 })), plain(&connection, "dies"));
    assert_eq!(results, (ended.clone(), ended.clone()));
    assert_eq!(plain(&connection, "echo").await, ended);
    assert!(start.elapsed() < Duration::from_secs(4), "{:?}", start.elapsed());
    within(connection.close()).await;
    assert_eq!(fake.left(), [""; 0]);
}

#[tokio::test]
async fn a_server_that_exits_and_leaves_its_pipes_open_is_noticed() {
    let fake = Fake::new("legacy");
    let connection = fake.open().await;
    let ended = fails(ErrorKind::Transport, None, "the server exited (exit status: 4)");
    assert_eq!(plain(&connection, "dies-and-leaves").await, ended);
    fake.is_gone().await;
    within(connection.close()).await;
}

#[tokio::test]
async fn the_last_reply_of_a_dying_server_counts() {
    let connection = Fake::new("legacy").open().await;
    assert_eq!(plain(&connection, "answers-and-dies").await, says("goodbye"));
    within(connection.close()).await;
}

#[tokio::test]
async fn a_server_that_closes_its_output_is_noticed() {
    let fake = Fake::new("legacy");
    let connection = fake.open().await;
    let closed = fails(ErrorKind::Transport, None, "the server closed its standard output");
    assert_eq!(plain(&connection, "closes").await, closed);
    within(connection.close()).await;
    assert_eq!(fake.left(), [""; 0]);
}

#[tokio::test]
async fn a_line_beyond_the_limit_ends_the_connection() {
    let fake = Fake::new("legacy");
    let connection = fake.open().await;
    let too_long = fails(ErrorKind::Transport, None, "the server sent a line of more than 16777216 bytes");
    assert_eq!(plain(&connection, "huge").await, too_long);
    assert_eq!(within(connection.call("echo", Map::new())).await, too_long);
    within(connection.close()).await;
    assert_eq!(fake.left(), [""; 0]);
}
