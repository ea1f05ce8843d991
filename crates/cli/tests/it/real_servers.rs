//! `mcptest run` against real MCP servers over stdio: what they answer is recorded as it came, and replayed without them.
//!
//! The servers are those that `cargo xtask servers` installs. Where they are not, each test says that it is skipped.

pub(crate) mod harness;

use harness::{NPM, Real, SQLITE, TIME, calls, observed, results};
use serde_json::{Value, json};

fn text(text: &str) -> Value {
    json!([{ "type": "text", "text": text }])
}

fn ok(message: &str) -> Value {
    json!({ "is_error": false, "content": text(message) })
}

fn error(message: &str) -> Value {
    json!({ "is_error": true, "content": text(message), "error": { "kind": "tool", "message": message } })
}

const EVERYTHING: &str = "\
servers:
  everything: { command: [\"${SERVERS}/npm/node_modules/.bin/mcp-server-everything\", stdio] }
agents:
  - name: test
    model: demo
    servers: [everything]
    prompt: Go.
";

#[test]
fn parallel_calls_and_structured_content_are_recorded_in_request_order() {
    let suite = "    trajectory:
      calls:
        - { name: echo, server: everything, args: { exact: { message: hi } }, status: ok }
        - { name: get-sum, args: { exact: { a: 2, b: 3 } }, status: ok }
        - { name: get-structured-content, status: ok }
    expect:
      - { target: \"tool_results[2].structured_content.humidity\", matcher: { exact: 82 } }
";
    let script = "      - calls:
          - { tool: echo, args: { message: hi } }
          - { tool: get-sum, args: { a: 2, b: 3 } }
      - calls: [{ tool: get-structured-content, args: { location: Chicago } }]
      - text: Done.
";
    let Some(real) = Real::new(NPM, &format!("{EVERYTHING}{suite}"), &[script]) else { return };
    let cassette = &real.passes("expect, trajectory");
    let weather = json!({ "temperature": 36, "conditions": "Light rain / drizzle", "humidity": 82 });
    let message = "{\"temperature\":36,\"conditions\":\"Light rain / drizzle\",\"humidity\":82}";
    assert_eq!(
        results(cassette),
        json!([
            ok("Echo: hi"),
            ok("The sum of 2 and 3 is 5."),
            { "is_error": false, "content": text(message), "structured_content": weather },
        ])
    );
    let turns: Vec<&Value> =
        cassette["trace"]["tool_calls"].as_array().unwrap().iter().map(|call| &call["turn"]).collect();
    assert_eq!(turns, [1, 1, 4]);
    assert_eq!(observed(cassette, "everything"), ["mcp-servers/everything", "2.0.0", "2025-11-25"]);
}

#[test]
fn bad_arguments_are_the_servers_error_and_an_unknown_tool_reaches_no_server() {
    let suite = "    trajectory:
      calls:
        - { name: get-sum, server: everything, status: error }
        - { name: divide, status: error }
        - { name: get-annotated-message, status: ok }
";
    let script = "      - calls:
          - { tool: get-sum, args: { a: two, b: 3 } }
          - { tool: divide, args: { a: 6, b: 3 } }
          - { tool: get-annotated-message, args: { messageType: error } }
      - text: It did not work.
";
    let Some(real) = Real::new(NPM, &format!("{EVERYTHING}{suite}"), &[script]) else { return };
    let cassette = &real.passes("trajectory: 3 of 3 expected calls matched (strict)");
    let message = "MCP error -32602: Input validation error: Invalid arguments for tool get-sum: Invalid input: expected \
                number, received string at a";
    let annotations = json!({ "audience": ["user", "assistant"], "priority": 1 });
    let block = json!({ "type": "text", "text": "Error: Operation failed", "annotations": annotations });
    assert_eq!(
        results(cassette),
        json!([error(message), error("unknown tool: divide"), { "is_error": false, "content": [block] }])
    );
    assert_eq!(calls(cassette), [("get-sum", "everything"), ("divide", ""), ("get-annotated-message", "everything")]);
}

#[test]
fn a_slow_call_times_out_and_the_server_keeps_running_until_the_end() {
    // The limit also applies to connecting, so it cannot be much shorter.
    let suite = "\
servers:
  everything:
    command: [\"${SERVERS}/npm/node_modules/.bin/mcp-server-everything\", stdio]
    timeout_ms: 8000
    protocol: legacy
agents:
  - name: test
    model: demo
    servers: [everything]
    prompt: Go.
    trajectory:
      calls:
        - { name: trigger-long-running-operation, status: error }
        - { name: echo, status: ok }
    expect:
      - { target: \"tool_results[0].error.kind\", matcher: { exact: timeout } }
";
    let script = "      - calls: [{ tool: trigger-long-running-operation, args: { duration: 600, steps: 2 } }]
      - calls: [{ tool: echo, args: { message: still here } }]
      - text: It took too long.
";
    let Some(real) = Real::new(NPM, suite, &[script]) else { return };
    let cassette = &real.passes("expect, trajectory");
    let message = "no answer within 8000 ms";
    let late =
        json!({ "is_error": true, "content": text(message), "error": { "kind": "timeout", "message": message } });
    assert_eq!(results(cassette), json!([late, ok("Echo: still here")]));
    let took = |value: &Value| value["duration_ms"].as_u64().unwrap();
    assert!((8000..16_000).contains(&took(&cassette["trace"]["tool_results"][0])), "{cassette}");
    assert!(took(&cassette["trace"]["conversation"]) < 60_000, "the operation was waited for");
}

#[test]
fn files_are_read_in_request_order_and_a_refusal_is_an_error() {
    let suite = "\
servers:
  files: { command: [\"${SERVERS}/npm/node_modules/.bin/mcp-server-filesystem\", \"${SUITE_DIR}/files\"] }
agents:
  - name: test
    model: demo
    servers: [files]
    prompt: Go.
    trajectory:
      calls:
        - { name: read_text_file, status: ok }
        - { name: read_text_file, status: ok }
        - { name: read_text_file, status: error }
";
    let script = "      - calls:
          - { tool: read_text_file, args: { path: HERE/files/long.txt } }
          - { tool: read_text_file, args: { path: HERE/files/short.txt } }
      - calls: [{ tool: read_text_file, args: { path: HERE/suite.yml } }]
      - text: Done.
";
    let Some(real) = Real::new(NPM, suite, &[script]) else { return };
    // The second is done long before the first, which is too long for one pipe buffer.
    let long = "line of a long file\n".repeat(20_000);
    real.here.write("files/long.txt", long.as_bytes());
    real.here.write("files/short.txt", b"short\n");
    let cassette = &real.passes("trajectory: 3 of 3 expected calls matched (strict)");
    let file = |message: &str| json!({ "is_error": false, "content": text(message), "structured_content": { "content": message } });
    let here = real.here.0.to_string_lossy();
    let message = format!("Access denied - path outside allowed directories: {here}/suite.yml not in {here}/files");
    let found = results(cassette);
    assert!(found == json!([file(&long), file("short\n"), error(&message)]), "{}", found[2]);
    assert_eq!(observed(cassette, "files"), ["secure-filesystem-server", "0.2.0", "2025-11-25"]);
}

#[test]
fn of_two_servers_with_the_same_tools_each_gets_its_own_calls() {
    let suite = "\
servers:
  left: { command: [\"${SERVERS}/npm/node_modules/.bin/mcp-server-filesystem\", \"${SUITE_DIR}/a\"] }
  right: { command: [\"${SERVERS}/npm/node_modules/.bin/mcp-server-filesystem\", \"${SUITE_DIR}/b\"] }
agents:
  - name: test
    model: demo
    servers: [left, right]
    prompt: Go.
    trajectory:
      calls:
        - { name: read_text_file, server: right, status: ok }
        - { name: read_text_file, server: left, status: ok }
";
    let script = "      - calls:
          - { tool: read_text_file, server: right, args: { path: HERE/b/f.txt } }
          - { tool: read_text_file, server: left, args: { path: HERE/a/f.txt } }
      - text: Done.
";
    let Some(real) = Real::new(NPM, suite, &[script]) else { return };
    real.here.write("a/f.txt", b"of the left");
    real.here.write("b/f.txt", b"of the right");
    let cassette = &real.passes("trajectory: 2 of 2 expected calls matched (strict)");
    assert_eq!(calls(cassette), [("read_text_file", "right"), ("read_text_file", "left")]);
    let message = [&results(cassette)[0]["content"], &results(cassette)[1]["content"]].map(Clone::clone);
    assert_eq!(message, [text("of the right"), text("of the left")]);
    assert_eq!(observed(cassette, "left"), observed(cassette, "right"));

    // Without `server:` the tool is ambiguous: the run is an error, the servers end, the recording stays as it was.
    let script = std::fs::read_to_string(real.here.0.join("script.yml")).unwrap();
    real.here.write("script.yml", script.replace(" server: right,", "").as_bytes());
    let stdout = "\
suite.yml
! ERROR     test  scripted
    error[ambiguous-tool]: the script calls `read_text_file`, which several servers have: left,
      right
    hint: add `server:` to the call
    at suite.yml:7:11
      |
    7 |   - name: test
      |           ^^^^

for more: mcptest explain ambiguous-tool
1 test, 1 run: 1 error
";
    crate::check(&real.record(&[]), 2, stdout, "");
    assert_eq!(real.cassettes(), std::slice::from_ref(cassette));
}

const TIME_SUITE: &str = "\
servers:
  time:
    command: [\"${SERVERS}/time/bin/mcp-server-time\", --local-timezone, UTC]
    protocol: modern
agents:
  - name: test
    model: demo
    servers: [time]
    prompt: Go.
";

#[test]
fn a_server_of_the_era_without_handshake_is_recorded_like_any_other() {
    let suite = "    trajectory:
      mode: superset
      calls:
        - { name: convert_time, server: time, status: ok }
        - { name: convert_time, server: time, status: error }
    expect:
      - { target: \"tool_names[2]\", matcher: { exact: set_time } }
      - { target: \"tool_results[0].structured_content.time_difference\", matcher: { exact: -3.5h } }
";
    let script = "      - calls:
          - tool: convert_time
            args: { source_timezone: Asia/Tokyo, time: \"12:00\", target_timezone: Asia/Kolkata }
          - tool: convert_time
            args: { source_timezone: Asia/Atlantis, time: \"12:00\", target_timezone: Asia/Kolkata }
          - { tool: set_time, server: time, args: { time: \"12:00\" } }
      - text: Done.
";
    let Some(real) = Real::new(TIME, &format!("{TIME_SUITE}{suite}"), &[script]) else { return };
    let cassette = &real.passes("expect, trajectory");
    assert_eq!(calls(cassette), [("convert_time", "time"), ("convert_time", "time"), ("set_time", "")]);
    let mut results = results(cassette);
    // The text equals the structured content. Both have today's date, and nothing else varies.
    let converted = &mut results[0];
    let message: Value = serde_json::from_str(converted["content"][0]["text"].as_str().unwrap()).unwrap();
    assert_eq!(message, converted["structured_content"]);
    for side in ["source", "target"] {
        let side = &mut converted["structured_content"][side];
        let time = side["datetime"].as_str().unwrap().split_once('T').unwrap().1.to_owned();
        side["datetime"] = time.into();
        assert!(side.as_object_mut().unwrap().remove("day_of_week").is_some_and(|day| day.is_string()));
    }
    assert_eq!(
        converted["structured_content"],
        json!({
            "source": { "timezone": "Asia/Tokyo", "datetime": "12:00:00+09:00", "is_dst": false },
            "target": { "timezone": "Asia/Kolkata", "datetime": "08:30:00+05:30", "is_dst": false },
            "time_difference": "-3.5h",
        })
    );
    let message = "Error executing tool convert_time: Invalid timezone: 'No time zone found with key Asia/Atlantis'";
    assert_eq!(results[1], error(message));
    assert_eq!(results[2], error("unknown tool: time__set_time"));
    assert_eq!(observed(cassette, "time"), ["mcp-time", "2026.10.19", "2026-07-28"]);
}

#[test]
fn an_error_of_the_protocol_keeps_its_code() {
    // None of these servers answers a call of a tool it lists with an error of the protocol. One that lists a tool it does
    // not have would; here a filter renames a tool on the way out, as a gateway with an old list does.
    let suite = "\
servers:
  time:
    command:
      - sh
      - -c
      - \"\\\"$$0\\\" --local-timezone UTC | sed -u s/get_current_time/get_the_time/g\"
      - \"${SERVERS}/time/bin/mcp-server-time\"
    protocol: modern
agents:
  - name: test
    model: demo
    servers: [time]
    prompt: Go.
    trajectory:
      calls: [{ name: get_the_time, server: time, status: error }]
    expect:
      - { target: \"tool_results[0].error.code\", matcher: { exact: -32602 } }
";
    let script = "      - calls: [{ tool: get_the_time, args: { timezone: UTC } }]
      - text: I could not find out.
";
    let Some(real) = Real::new(TIME, suite, &[script]) else { return };
    let cassette = &real.passes("expect, trajectory");
    let message = "Unknown tool: get_the_time";
    let refused = json!({ "kind": "jsonrpc", "code": -32602, "message": message });
    assert_eq!(results(cassette), json!([{ "is_error": true, "content": text(message), "error": refused }]));
}

#[test]
fn a_slow_server_of_both_eras_is_used_in_the_newer_one() {
    let suite = "\
servers:
  time:
    command: [sh, -c, \"sleep 3; exec \\\"$$0\\\" --local-timezone UTC\", \"${SERVERS}/time/bin/mcp-server-time\"]
agents:
  - name: test
    model: demo
    servers: [time]
    prompt: Go.
    trajectory:
      calls: [{ name: get_current_time, status: ok }]
";
    let script = "      - calls: [{ tool: get_current_time, args: { timezone: UTC } }]
      - text: Done.
";
    let Some(real) = Real::new(TIME, suite, &[script]) else { return };
    let cassette = &real.passes("trajectory: 1 of 1 expected calls matched (strict)");
    assert_eq!(observed(cassette, "time"), ["mcp-time", "2026.10.19", "2026-07-28"]);
}

#[test]
fn parallel_runs_have_their_own_servers_and_are_reported_in_order() {
    let suite = TIME_SUITE.replace("    prompt: Go.\n", "    prompt: Go.\n    runs: 3\n")
        + "    trajectory:
      calls: [{ name: convert_time, args: any, status: ok }]
";
    let turns = |zone: &str| {
        let args = format!("{{ source_timezone: UTC, time: \"12:00\", target_timezone: {zone} }}");
        format!("      - calls: [{{ tool: convert_time, args: {args} }}]\n      - text: Done.\n")
    };
    let turns = ["Asia/Tokyo", "Asia/Kolkata", "Asia/Atlantis"].map(turns);
    let Some(real) = Real::new(TIME, &suite, &turns.each_ref().map(String::as_str)) else { return };
    let stdout = "\
suite.yml
✗ FAIL      test  ORIGIN  2/3 runs pass
    paths of 3 runs, which first diverge at call 0:
      ├─ 2/3 convert_time: all pass
      └─ 1/3 convert_time (failed): none pass
✗ FAIL      test #3  ORIGIN
    ✗ trajectory: 1 mismatch (strict)
      tool_calls[0] (convert_time) differs from calls[0] at /status
        /status: differs, expected \"ok\", recorded \"error\"
    evidence in #3, of 1 call:
      [0] convert_time {\"source_timezone\":\"UTC\",\"target_timezone\":\"Asia/Atlantis\",\"… → failed: Error
        executing tool convert_time: Invalid timezone: 'No tim…
    at suite.yml:14:15
       |
    14 |       calls: [{ name: convert_time, args: any, status: ok }]
       |               ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
    rerun: mcptest run suite.yml --filter test

1 test, 3 runs: 1 failed
";
    let cassettes = real.check(&["--jobs", "3"], 1, stdout);
    let found: Vec<Value> = cassettes
        .iter()
        .map(|cassette| {
            let result = &cassette["trace"]["tool_results"][0];
            json!([cassette["run"], result["is_error"], result["structured_content"]["time_difference"]])
        })
        .collect();
    assert_eq!(found, [json!([1, false, "+9.0h"]), json!([2, false, "+5.5h"]), json!([3, true, null])]);
}

const DB: &str = "\
servers:
  db: { command: [\"${SERVERS}/sqlite/bin/mcp-server-sqlite\", --db-path, \"${SUITE_DIR}/shop.db\"] }
agents:
  - name: test
    model: demo
    servers: [db]
    prompt: Go.
";

#[test]
fn a_success_whose_text_says_error_passes_a_status_and_is_seen_by_an_assertion_on_the_text() {
    let suite = "    trajectory:
      calls:
        - { name: create_table, status: ok }
        - { name: write_query, status: ok }
        - { name: read_query, status: ok }
        - { name: read_query, status: ok }
    expect:
      - { target: \"tool_results[2].content[0].text\", matcher: { not: { icontains: error } } }
      - { target: \"tool_results[3].content[0].text\", matcher: { not: { icontains: error } } }
";
    let script =
        "      - calls: [{ tool: create_table, args: { query: \"CREATE TABLE orders (id INTEGER, item TEXT)\" } }]
      - calls: [{ tool: write_query, args: { query: \"INSERT INTO orders VALUES (1, 'tea'), (2, 'cup')\" } }]
      - calls:
          - { tool: read_query, args: { query: \"SELECT item FROM orders ORDER BY id\" } }
          - { tool: read_query, args: { query: \"SELECT item FROM odrers\" } }
      - text: Done.
";
    let Some(real) = Real::new(SQLITE, &format!("{DB}{suite}"), &[script]) else { return };
    let stdout = "\
suite.yml
✗ FAIL      test  ORIGIN
    ✗ expect: 1 of 2 assertions passed
      `tool_results[3].content[0].text` is \"Database error: no such table: odrers\", expected not
        icontains \"error\"
    ✓ trajectory: 4 of 4 expected calls matched (strict)
    evidence, of 4 calls:
      [3] read_query {\"query\":\"SELECT item FROM odrers\"} → ok: Database error: no such table: odrers
    at suite.yml:18:9
       |
    18 |       - { target: \"tool_results[3].content[0].text\", matcher: { not: { icontains: error } …
       |         ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
    rerun: mcptest run suite.yml --filter test

1 test, 1 run: 1 failed
";
    let cassettes = real.check(&[], 1, stdout);
    assert_eq!(cassettes.len(), 1);
    let cassette = &cassettes[0];
    assert_eq!(
        results(cassette),
        json!([
            ok("Table created successfully"),
            ok("[{'affected_rows': 2}]"),
            ok("[{'item': 'tea'}, {'item': 'cup'}]"),
            ok("Database error: no such table: odrers"),
        ])
    );
    assert_eq!(observed(cassette, "db"), ["sqlite", "0.1.0", "2025-11-25"]);
}

#[test]
fn a_busy_server_is_stopped_with_the_run_and_nothing_is_recorded() {
    let suite = "    trajectory: { calls: [{ name: create_table }, { name: read_query }] }\n";
    let endless =
        "SELECT max(n) FROM (WITH RECURSIVE c(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c) SELECT n FROM c)";
    let script = format!(
        "      - calls: [{{ tool: create_table, args: {{ query: \"CREATE TABLE orders (id INTEGER)\" }} }}]
      - calls: [{{ tool: read_query, args: {{ query: \"{endless}\" }} }}]
      - text: Done.
"
    );
    let Some(real) = Real::new(SQLITE, &format!("{DB}{suite}"), &[&script]) else { return };
    // Once the table is there, the next call is under way or about to be.
    let file = real.here.0.join("shop.db");
    let has_table = || std::fs::metadata(&file).is_ok_and(|file| file.len() > 0);
    let stdout = "\
suite.yml
- SKIPPED   test
note: stopped before the end

1 test: 1 skipped
";
    crate::check(&real.record_until(has_table), 2, stdout, "");
    assert_eq!(real.cassettes(), [Value::Null; 0]);
}
