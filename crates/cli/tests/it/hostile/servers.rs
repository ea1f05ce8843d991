//! Servers over stdio.

use std::sync::atomic::Ordering;

use serde_json::Value;

use super::remote::nobody;
use super::{Ends, Row, STEER, check, left, marker, program, world};

const RUN_IT: &str = "run the command by hand: it should wait for messages on standard input";
const SILENT: &str = "check that the command starts an MCP server over stdio, or raise `timeout_ms`";
const ONE_LINE: &str = "a message is one line of JSON; look for other output";
const LAST_PAGE: &str = "the last page of `tools/list` has no `nextCursor`";
const NAMED: &str = "every tool needs a unique `name` and an `inputSchema`";
const LESS: &str = "make the server return less; real replies are far below these limits";
const FEWER: &str = "make the server offer only the tools under test";
const HAS_TOOLS: &str = "check that the command starts an MCP server with tools; set `protocol` if detection fails";

/// `STEER` as standard error and standard output are shown.
const ESCAPED: &str = "\\u{1b}]0;owned\\u{7}\\u{1b}[2J\\u{9b}31m\n  ::error::owned\u{202e}evil\u{2066}\\u{0}\\u{7f}";

/// How a suite starts the server of a mode.
fn command(mode: &str, port: u16) -> String {
    format!("command: [python3, -I, -S, \"{}\", \"{mode}\", \"{port}\", MARKER]", program().display())
}

fn refused(mode: &'static str, message: &str, hint: &'static str) -> Row {
    Row::new(mode, command(mode, 0), Ends::Refused(format!("server `bad`: {message}"), hint))
}

/// `answers` are those to `attack`; the one to `echo` comes after them.
fn goes_on(mode: &'static str, answers: &[&str], echo: &str) -> Row {
    let answers = answers.iter().chain([&echo]).map(|&answer| answer.to_owned()).collect();
    Row::new(mode, command(mode, 0), Ends::Answers(answers))
}

fn fine(mode: &'static str, answers: &[&str]) -> Row {
    goes_on(mode, answers, "ok: still here")
}

#[test]
fn a_server_that_cannot_be_connected_to_is_reported_with_what_it_did() {
    let shown = "Welcome \\u{1b}]0;owned\\u{7}\\u{1b}[2J\\u{9b}31m\\r";
    let too_long = "sent a line of more than 16777216 bytes";
    let ended = format!(
        "exited (exit status: 3) without answering `initialize`\nstandard error ends with:\n  no config{ESCAPED}"
    );
    let silent = "did not answer `initialize` within 2000 ms";
    let talks = format!("{silent}\nstandard output contains a line that is not a message: {shown}");
    let no_list = "responded to `tools/list` with `tools` that is a string \
                   (\"\\u001b]0;owned\\u0007\\u001b[2J\u{9b}31m\\r\\n::…), not a list";
    let too_much = "responded to `tools/list` with a reply that is too large: it would take more than 67108864 bytes \
                    of memory";
    let twice = format!("`tools/list` is invalid: duplicate tool `twice{STEER}`");
    let unnamed = "`tools/list` is invalid: tool 3 has a `name` that is a string (\"\")";
    check(vec![
        refused("exits at once", &ended, RUN_IT),
        refused("never answers", silent, SILENT).patient(2000),
        refused("banner and silence", &talks, SILENT).patient(2000),
        refused("a line without end", too_long, ONE_LINE),
        refused("a hundred thousand tools", too_much, LESS),
        refused("twenty thousand tools", "lists more than 10000 tools", FEWER),
        refused("pages in circles", "`tools/list` loops: the cursor \"a\" was returned twice", LAST_PAGE),
        refused("pages without end", "`tools/list` has more than 1000 pages", LAST_PAGE),
        refused("a name twice", &twice, NAMED),
        refused("an empty name", unnamed, NAMED),
        refused("a description of 50 MB", too_long, ONE_LINE),
        refused("no list", no_list, HAS_TOOLS),
        refused("a list that is refused", &format!("responded to `tools/list` with an error: {STEER}"), HAS_TOOLS),
    ]);
}

#[test]
fn a_server_that_is_only_odd_works() {
    let long = format!("ok: {}…", &"a b@c.de ".repeat(20)[..156]);
    let blob = format!("ok: [{{\"data\":\"{}…", "A".repeat(146));
    check(vec![
        fine("a million notifications", &["ok: attacked"]),
        fine("asks with long ids", &["ok: attacked"]),
        fine("banners", &["ok: attacked"]),
        fine("answers before asked", &["ok: attacked"]),
        fine("ignores the request to end", &["ok: attacked"]),
        fine("floods standard error", &["ok: attacked"]),
        fine("ten thousand tools", &["ok: attacked"]),
        fine("names that steer", &["ok: attacked"]),
        fine("wrong ids", &["ok: yours"]),
        // These two are kept, and a trace is written and shown in several ways.
        fine("a blob", &[&blob]).taking(150),
        fine("a result of 4 MB", &[&long]).taking(150),
        fine("asks in a loop", &["ok: attacked"]),
        fine("a notification of many small objects", &["ok: attacked"]),
    ]);
}

#[test]
fn a_misanswered_call_is_an_error_and_the_run_continues() {
    let none = "timeout: no answer within 2000 ms";
    let noise = |lines: u32| format!("{none}; meanwhile the server sent lines that are not messages: {lines}");
    let invalid = |why: &str| format!("jsonrpc: the server's reply is not a valid tools/call result: {why}");
    let unnamed = |error: &str| format!("jsonrpc: an error without a message: {error}");
    let too_long = "transport: the server sent a line of more than 16777216 bytes";
    let died = format!(
        "transport: the server exited (exit status: 3); standard error ends with:\nout of luck{}",
        ESCAPED.replace("\n  ", "\n")
    );
    let closed = "transport: the server closed its standard output";
    let ended = "transport: the server exited (exit status: 4)";
    let errors = [
        unnamed("\"no\""),
        unnamed("5"),
        unnamed("[]"),
        unnamed("{}"),
        unnamed("{\"code\":\"x\",\"message\":{}}"),
        format!("jsonrpc: {STEER}"),
        "jsonrpc: m".to_owned(),
    ];
    let results = [
        invalid("its result is a number (5), not an object"),
        invalid("its result is null, not an object"),
        invalid("its `content` is an object with 1 key, not a list"),
        invalid("`content[0]` is a list of 1, not an object"),
        invalid("its `isError` is a string (\"yes\"), not a boolean"),
        invalid("`content[0]` is a text block without text"),
        "ok: {\"big\":123456789012345678901234567890,\"small\":0}".to_owned(),
    ];
    let range = invalid("malformed JSON: result.structuredContent: number out of range");
    check(vec![
        goes_on("asks without end", &[none], none).patient(2000),
        goes_on("a line of a gigabyte", &[too_long], too_long),
        fine("many small objects", &[&invalid("it would take more than 67108864 bytes of memory")]),
        fine("late", &["timeout: no answer within 3000 ms", "ok: in time"]).patient(3000),
        goes_on("dies in a call", &[&died], &died),
        fine("no UTF-8", &[&noise(1)]).patient(2000),
        fine("no JSON", &[&noise(4)]).patient(2000),
        fine("errors of any shape", &errors.each_ref().map(String::as_str)),
        fine("results of any shape", &results.each_ref().map(String::as_str)),
        fine("numbers that are none", &[&noise(1), &noise(1), &range, &range]).patient(2000),
        fine("words that steer", &[&format!("tool: {STEER}")]),
        fine("100,000 levels", &[&invalid("it has more than 100 levels")]),
        fine("100 levels", &[&format!("ok: {}{}", "[".repeat(99), "]".repeat(57) + "…")]),
        goes_on("a result of 50 MB", &[too_long], too_long),
        goes_on("closes its output", &[closed], closed),
        // The reply to the second call is in the middle of the slow one.
        goes_on("byte by byte", &[none], &noise(1)).patient(2000),
        goes_on("leaves a holder of its pipes", &[ended], ended),
        // A process in its own session cannot be stopped; that it keeps the pipes open delays nothing.
        goes_on("leaves a holder in a session of its own", &[ended], ended).leaving(1),
    ]);
}

#[test]
fn a_schema_that_points_elsewhere_is_kept_and_nothing_is_fetched() {
    let (elsewhere, visits) = nobody();
    let server = command("schemas", elsewhere.port());
    let answers = ["ok: attacked", "ok: still here"].map(str::to_owned).to_vec();
    check(vec![Row::new("schemas", server.clone(), Ends::Answers(answers.clone()))]);
    check(vec![Row { flag: "--record", ..Row::new("schemas", server, Ends::Answers(answers)) }]);
    // `init` makes arguments that match the schemas, so it must read them.
    let here = world(&refused("schemas", "", ""), "");
    let words = format!("python3 -I -S {} schemas {} {}", program().display(), elsewhere.port(), marker());
    let output = here.command(&["init", "--from-server", &words, "made"]).output().unwrap();
    crate::check(
        &output,
        2,
        "",
        "error: the generated files are not valid, so nothing was written\n\
         mcptest/tools.json:4:22: error[malformed-schema]: the schema refers to another document; schemas are never fetched\n\
         \x20  |\n\
         \x204 |       \"inputSchema\": {\n\
         \x20  |                      ^\n\
         \x20  = hint: copy the definition under `$defs` and refer to it as `#/$defs/name`\n\
         hint: start with plain `mcptest init`, and copy what you need\n",
    );
    assert_eq!(visits.load(Ordering::Relaxed), 0, "something was fetched");
}

#[test]
fn a_recording_of_what_a_server_did_is_judged_like_the_run_and_a_broken_run_leaves_none() {
    for (row, files) in [
        (fine("100 levels", &["x"]), 1),
        (fine("words that steer", &["x"]), 1),
        (fine("names that steer", &["x"]), 1),
        (fine("a name twice", &["x"]), 0),
    ] {
        let marker = marker();
        let here = world(&row, &marker);
        let rows = |flags: &[&str]| {
            let line = [&["run", "suite.yml", "--reporter", "json", "--filter", "attacked"], flags].concat();
            let output = here.command(&line).output().unwrap();
            let report: Value = serde_json::from_slice(&output.stdout).unwrap();
            let row = &report["suites"][0]["rows"][0];
            (output.status.code(), row["verdict"].clone(), row["trace"].clone(), row["error"]["message"].clone())
        };
        let recorded = rows(&["--record"]);
        assert_eq!(here.0.join("cassettes/suite/attacked/attacker/1.json").is_file(), files == 1, "{}", row.mode);
        assert_eq!(left(&marker), [0; 0], "{}", row.mode);
        if files == 1 {
            assert_eq!(recorded.0, Some(1), "{}: {}", row.mode, recorded.3);
            assert_eq!(rows(&[]), recorded, "{}", row.mode);
        }
    }
}
