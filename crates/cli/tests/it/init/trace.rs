//! From a trace: the recorded run passes its own suite, and what the trace does not show is not made up.

use std::path::PathBuf;

use serde_json::{Value, json};

use super::{NEXT, files, run};
use crate::{Folder, root};

/// A folder with a trace.
fn with(trace: &Value) -> Folder {
    Folder::with(&[("trace.json", &trace.to_string())])
}

/// Makes a suite of a trace and runs it; the text of its files.
#[track_caller]
fn made(trace: &Value) -> [String; 3] {
    let here = with(trace);
    let output = here.command(&["init", "--from-trace", "trace.json"]).output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    let (code, stdout) = run(&here);
    assert_eq!(code, Some(0), "{stdout}");
    ["mcptest.yml", "mcptest/tools.yml", "mcptest/script.yml"]
        .map(|name| std::fs::read_to_string(here.0.join(name)).unwrap())
}

/// The lines of a suite from its test on.
fn test_of(suite: &str) -> &str {
    let (_, rest) = suite.split_once("    servers: [").unwrap();
    rest.split_once('\n').unwrap().1.split_once("\n# Next: ").unwrap().0
}

/// An order that was looked up and paid back.
fn refund() -> Value {
    json!({
        "tool_calls": [
            { "name": "find_order", "server": "shop", "args": { "order": "1043" }, "turn": 1 },
            { "name": "refund_order", "server": "shop", "args": { "amount": 12.5, "at": "2026-07-28T09:30:00Z", "order": "1043" }, "turn": 3 },
        ],
        "tool_results": [
            { "is_error": false, "content": [{ "type": "text", "text": "total 12.5" }], "structured_content": { "total": 12.5 } },
            { "is_error": false, "content": [{ "type": "text", "text": "${refunded}" }] },
        ],
        "final_response": "I refunded order 1043.",
        "conversation": {
            "turns": [
                { "role": "user", "content": "Refund order 1043." },
                { "role": "assistant", "content": "Looking." },
                { "role": "tool", "content": null },
                { "role": "assistant", "content": null },
                { "role": "tool", "content": null },
                { "role": "assistant", "content": "I refunded order 1043." },
            ],
            "tokens": { "input": 900, "output": 100 },
            "stop_reason": "completed",
        },
    })
}

const HEAD: &str = r#"# Generated from the first trace of trace.json. It passes right away: `mcptest run` needs no key, no
# network and no model.
# A script (mcptest/script.yml) replaces the model and repeats the recorded calls. A mock server
# (mcptest/tools.yml) gives the recorded answers. The recorded run passes all gates below; a changed
# agent must pass them too.

servers:
  # The recorded answers, from a mock server. For the real server, replace `command` with a line
  # such as one of these.
  shop:
    command: [mcptest, mock, --tools-from, "${SUITE_DIR}/mcptest/tools.yml"]
    # command: [npx, -y, "@modelcontextprotocol/server-filesystem", /data]
    # url: https://example.test/mcp

models:
"#;

const REFUND: &str = r#"    prompt: "Refund order 1043."
    # The recorded calls, with the shape of their arguments. See it fail: change a name below. One
    # run does not show which values matter: add the ones that you know, as in
    # `args: { exact: .. }`. `mcptest infer` finds them in several runs.
    trajectory:
      mode: superset
      calls:
        - { name: find_order, args: { schema: { properties: { order: { type: string } }, required: [order], type: object } }, status: ok }  # 1 run
        - { name: refund_order, args: { schema: { properties: { amount: { type: number }, at: { type: string }, order: { type: string } }, required: [amount, at, order], type: object } }, status: ok }  # 1 run
    # Every action that the closing message claims needs a call.
    narrative: {}  # 1 run
    expect:
      - { target: conversation.stop_reason, matcher: { exact: completed } }  # 1 run
"#;

const REFUND_TOOLS: &str = r#"# The answers of the first trace of trace.json, for `mcptest mock`. Each tool gives them in order;
# the last one repeats.
# The trace does not show which arguments the tools take, so they accept any.
mock_server:
  name: shop
  tools:
    - name: find_order
      answer: { structured: { total: 12.5 }, text: "total 12.5" }
    - name: refund_order
      answer: "$${refunded}"
"#;

const REFUND_SCRIPT: &str = r#"# The replies of the scripted model, turn by turn: the calls and the text of the first trace of
# trace.json.
# The tokens of the whole run are on the first reply.
script: 1
runs:
  - turns:
      - text: Looking.
        calls: [{ tool: find_order, args: { order: "1043" } }]
        usage: { input: 900, output: 100 }
      - calls: [{ tool: refund_order, args: { amount: 12.5, at: "2026-07-28T09:30:00Z", order: "1043" } }]
        usage: { input: 0, output: 0 }
      - text: "I refunded order 1043."
        usage: { input: 0, output: 0 }
"#;

#[test]
fn a_recorded_run_passes_the_suite_generated_from_it() {
    let here = with(&refund());
    let stdout = format!(
        "wrote mcptest.yml         the suite, with the gates that pass\n\
         wrote mcptest/tools.yml   the recorded answers, for the mock server\n\
         wrote mcptest/script.yml  the recorded calls\n\n\
         It passes: trajectory, narrative, expect.\n{NEXT}"
    );
    here.check(&["init", "--from-trace", "trace.json"], 0, &stdout, "");
    here.check(
        &["run"],
        0,
        "mcptest.yml\n✓ PASS      does what the recorded run did  scripted  expect, trajectory, narrative\n\n1 test, 1 run: 1 passed\n",
        "",
    );
    here.check(&["validate", "--deny-warnings", "."], 0, "3 files: 3 valid\n", "");
    let [suite, tools, script] = made(&refund());
    assert!(suite.starts_with(HEAD), "{suite}");
    assert_eq!(test_of(&suite), REFUND);
    assert_eq!(tools, REFUND_TOOLS);
    assert_eq!(script, REFUND_SCRIPT);
}

const DESK: &str = r#"mock_server:
  name: desk
  tools:
    - name: find_room
      description: "Find a room: ${day}"
      input_schema: { type: object, required: [day], properties: { day: { type: string, enum: [Monday, Tuesday] } } }
      answer: { structured: { room: Maple } }
    - name: count_rooms
      input_schema: { type: object, required: [floor], properties: { floor: { type: integer } } }
      answer: "7"
    - name: book_room
      input_schema: { type: object, properties: { room: { type: string } } }
"#;

const DESK_SUITE: &str = r#"servers:
  desk: { command: [mcptest, mock, --tools-from, "${SUITE_DIR}/desk.yml"], cwd: "${SUITE_DIR}" }
models:
  demo: { provider: script, script: demo.yml }
agents:
  - name: finds a room
    model: demo
    servers: [desk]
    prompt: Find a room.
    expect: [{ target: tool_names, matcher: { contains: find_room } }]
"#;

const DESK_SCRIPT: &str = r"script: 1
runs:
  - turns:
      - calls: [{ tool: find_room, args: { day: Tuesday } }]
      - calls: [{ tool: count_rooms, args: { floor: one } }]
      - text: Maple is free.
";

const DESK_TOOLS: &str = r#"# The answers of the first trace of 1.json, for `mcptest mock`. Each tool gives them in order; the
# last one repeats.
# The tools and their arguments are those of the recorded server. Some accept any arguments here,
# because their schema cannot be used or does not match the recorded calls: count_rooms.
# Where the trace has no answer, the text in parentheses is used.
mock_server:
  name: desk
  tools:
    - name: find_room
      description: "Find a room: ${day}"
      input_schema: { properties: { day: { enum: [Monday, Tuesday], type: string } }, required: [day], type: object }
      answer: { structured: { room: Maple } }
    - name: count_rooms
      answer: { error: MESSAGE }
    - name: book_room
      input_schema: { properties: { room: { type: string } }, type: object }
      answer: "(not recorded)"
"#;

#[test]
fn a_cassette_also_provides_tools_and_server() {
    let here = Folder::with(&[("old/ok.yml", DESK_SUITE), ("old/desk.yml", DESK), ("old/demo.yml", DESK_SCRIPT)]);
    assert!(here.command(&["run", "--record", "old/ok.yml"]).output().unwrap().status.success());
    let recorded = files(&here.0.join("old/cassettes"));
    let (name, _) = recorded.iter().find(|(name, _)| name.ends_with("/1.json")).unwrap();
    let output = here.command(&["init", "--from-trace", &format!("old/cassettes/{name}")]).output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    let text = |name: &str| std::fs::read_to_string(here.0.join(name)).unwrap();
    let suite = text("mcptest.yml");
    let server = r#"
  # The recorded answers, from a mock. The real server was this one: put these lines in place of
  # `command`. `${SUITE_DIR}` was the folder of the suite that recorded the run.
  desk:
    command: [mcptest, mock, --tools-from, "${SUITE_DIR}/mcptest/tools.yml"]
    # command: [mcptest, mock, "--tools-from", "${SUITE_DIR}/desk.yml"]
    # cwd: "${SUITE_DIR}"

models:
"#;
    assert!(suite.contains(server), "{suite}");
    let tools = text("mcptest/tools.yml");
    let (_, message) = tools.split_once("answer: { error: ").unwrap();
    let message = message.split_once(" }\n").unwrap().0;
    assert!(message.contains("floor"), "{message}");
    assert_eq!(tools.replace(message, "MESSAGE"), DESK_TOOLS);
    let (code, stdout) = run(&here);
    assert_eq!(code, Some(0), "{stdout}");
    here.check(&["validate", "--deny-warnings", "mcptest.yml", "mcptest"], 0, "3 files: 3 valid\n", "");
}

#[test]
fn a_gate_that_fails_is_left_out_and_the_suite_says_why() {
    let mut trace = refund();
    trace["final_response"] = json!("I deleted the account.");
    trace["conversation"]["turns"][5]["content"] = json!("I deleted the account.");
    let [suite, ..] = made(&trace);
    let narrative = "    # Every action that the closing message claims needs a call.\n    narrative: {}  # 1 run\n";
    let expected = REFUND.replace(narrative, "") + "    # narrative is omitted: the run does not pass it\n";
    assert_eq!(test_of(&suite), expected);
}

#[test]
fn missing_parts_of_a_trace_are_not_invented() {
    let [suite, tools, script] = made(&json!({
        "tool_calls": [{ "name": "a" }, { "name": "b", "args": { "x": "text that is no time" } }, { "name": "c", "args": "{ half" }],
        "tool_results": [null, { "content": [{ "type": "text", "text": "fine" }] }, { "is_error": true }],
    }));
    assert_eq!(
        test_of(&suite),
        "    # The trace has no prompt. Write it here before you use a real model.\n    \
         prompt: \"(not recorded)\"\n    \
         max_turns: 3 # the trace has no closing message, so the run ends after its calls\n    \
         # The recorded calls, with the shape of their arguments. See it fail: change a name below. One\n    \
         # run does not show which values matter: add the ones that you know, as in\n    \
         # `args: { exact: .. }`. `mcptest infer` finds them in several runs.\n    \
         trajectory:\n      mode: superset\n      calls:\n        - { name: a }  # 1 run; arguments unknown\n        \
         - { name: b, args: { schema: { properties: { x: { type: string } }, required: [x], type: object } } }  # 1 run\n        \
         - { name: c, status: error }  # 1 run; arguments unknown\n    \
         # narrative is omitted: the run does not pass it\n"
    );
    assert_eq!(
        tools,
        "# The answers of the first trace of trace.json, for `mcptest mock`. Each tool gives them in order;\n# the last one repeats.\n\
         # The trace does not show which arguments the tools take, so they accept any.\n\
         # Where the trace has no answer, the text in parentheses is used.\n\
         # For some calls the trace does not say whether they failed. The mock answers them as successful.\n\
         mock_server:\n  name: recorded\n  tools:\n    - name: a\n      answer: \"(not recorded)\"\n    - name: b\n      answer: fine\n    - name: c\n"
    );
    assert!(script.ends_with(
        "# The trace does not say which calls were made together, so each has its own turn.\n\
         # The trace lacks the arguments of some calls: those are made without any.\nscript: 1\nruns:\n  - turns:\n      \
         - calls: [{ tool: a, args: {} }]\n      - calls: [{ tool: b, args: { x: \"text that is no time\" } }]\n      \
         - calls: [{ tool: c, args: \"{ half\" }]\n"
    ), "{script}");
}

#[test]
fn calls_of_one_turn_get_their_own_answers_whichever_arrives_first() {
    let call = |args: Value| json!({ "name": "look", "args": args, "turn": 1 });
    let answer =
        |text: &str, failed: bool| json!({ "is_error": failed, "content": [{ "type": "text", "text": text }] });
    let trace = json!({
        "tool_calls": [call(json!({ "a": 1, "b": 2 })), call(json!({ "a": 1 })), call(json!({})), call(json!({ "a": 1 }))],
        "tool_results": [answer("both", false), answer("one", true), answer("none", false), answer("again", false)],
        "final_response": "Done.",
        "conversation": { "turns": [
            { "role": "user", "content": "Look." }, { "role": "assistant", "content": null }, { "role": "assistant", "content": "Done." },
        ] },
    });
    // Which arrives first is chance: several runs would show it.
    for _ in 0..5 {
        let [suite, tools, script] = made(&trace);
        assert!(suite.contains("- { name: look, args: { schema: { properties: { a: { type: integer } }, required: [a], type: object } }, status: error }  # 1 run\n"), "{suite}");
        assert!(tools.ends_with(
            "    - name: look\n      # Calls of one turn arrive in any order, so they are matched by their arguments.\n      rules:\n        \
             - when: { a: { exact: 1 }, b: { exact: 2 } }\n          answer: both\n        \
             - when: { a: { exact: 1 } }\n          answers:\n            - { error: one }\n            - again\n      \
             answer: none\n"
        ), "{tools}");
        // Two identical calls are answered in order.
        assert!(script.ends_with(
            "          - { tool: look, args: {} }\n      - calls: [{ tool: look, args: { a: 1 } }]\n      - text: Done.\n"
        ), "{script}");
    }
}

#[test]
fn a_long_run_may_take_its_recorded_number_of_turns() {
    let calls: Vec<Value> = (0..12).map(|at| json!({ "name": format!("step_{at}"), "args": {} })).collect();
    let [suite, ..] = made(&json!({ "tool_calls": calls, "final_response": "Done." }));
    assert!(suite.contains("\n    max_turns: 13 # as many as the trace has\n"), "{suite}");
}

#[test]
fn faults_of_the_recorded_run_are_played_as_errors_and_recovery_is_left_out() {
    let fault = json!({ "name": "dead", "kind": "hang", "effect": "timeout", "ms": 3000 });
    let error = json!({ "kind": "fault", "message": "no answer" });
    let [suite, tools, _] = made(&json!({
        "tool_calls": [{ "name": "find", "args": {} }],
        "tool_results": [{ "is_error": true, "content": [], "error": error, "fault": fault }],
        "final_response": "I could not look it up.",
    }));
    assert!(tools.ends_with("    - name: find\n      answer: { error: \"no answer\" }\n"), "{tools}");
    assert!(suite.contains("- { name: find, status: error }  # 1 run\n"), "{suite}");
    assert!(
        suite.contains(
            "    # recovery is omitted: the faults of the recorded run are answered as errors here; inject them\n"
        ),
        "{suite}"
    );
}

#[test]
fn hostile_text_stays_text() {
    let texts = [
        "${HOME}",
        "$$ ${",
        "yes",
        "1e3",
        "- a",
        "# b",
        "a: b",
        "'",
        "\"",
        "\u{0}\u{7f}\u{85}\u{2028}\u{feff}",
        "<<",
        "line\nagents: []\n",
        "${results[0].content}",
        "${args.x}",
        "---",
        "*a &b !c",
    ];
    for text in texts {
        let long = text.repeat(200);
        let trace = json!({
            "tool_calls": [
                { "name": text, "args": { text: text, "list": [text, { text: long }] }, "turn": 1 },
                { "name": "b", "args": { "x": text }, "turn": 1 },
            ],
            "tool_results": [
                { "is_error": true, "content": [{ "type": "text", "text": text }] },
                { "is_error": false, "structured_content": { text: [text] }, "content": [{ "type": "odd", text: text }] },
            ],
            "final_response": text,
            "conversation": { "turns": [
                { "role": "user", "content": text }, { "role": "assistant", "content": text },
                { "role": "tool", "content": null }, { "role": "tool", "content": null }, { "role": "assistant", "content": text },
            ] },
        });
        let [suite, ..] = made(&trace);
        assert!(suite.contains("\n    trajectory:\n") && !suite.contains("More does not hold"), "{suite}");
    }
}

#[test]
fn a_secret_in_a_trace_is_not_written() {
    let secret = format!("sk-ant-{}", "a1B2".repeat(8));
    let here = with(&json!({
        "tool_calls": [{ "name": "login", "args": { "key": secret } }],
        "tool_results": [{ "is_error": false, "content": [{ "type": "text", "text": format!("{secret} accepted") }] }],
    }));
    let output = here.command(&["init", "out", "--from-trace", "trace.json"]).output().unwrap();
    assert_eq!(
        String::from_utf8(output.stderr).unwrap(),
        "note: what looks like a secret is written as `[redacted:..]`\n"
    );
    assert!(files(&here.0.join("out")).iter().all(|(_, text)| !text.contains(&secret)));
}

#[test]
fn the_first_trace_is_taken_and_the_others_are_counted() {
    let lines = format!("{}\n{}\n{}\n{{ \"tool_calls\": 1 }}\n", refund(), json!({ "tool_calls": [] }), refund());
    let here = Folder::with(&[("traces.jsonl", &lines)]);
    let output = here.command(&["init", "--from-trace", "traces.jsonl"]).output().unwrap();
    assert_eq!(
        String::from_utf8(output.stderr).unwrap(),
        "note: traces.jsonl contains 2 traces more; the first was used\n\
         note: 1 record of traces.jsonl could not be read; `mcptest score` shows why\n"
    );
    assert_eq!(run(&here).0, Some(0));
}

#[test]
fn a_trace_without_calls_is_rejected() {
    let hint = "hint: put a trace with calls first; `mcptest convert` writes one trace per line\n";
    let here = Folder::with(&[
        ("none.json", "{ \"tool_calls\": [] }"),
        ("mute.json", "{ \"final_response\": \"Done.\", \"conversation\": { \"turns\": [] } }"),
        ("odd.json", "{ \"x\": 1 }"),
        ("folder/a.json", "{}"),
    ]);
    let before = files(&here.0);
    here.check(
        &["init", "--from-trace", "none.json"],
        2,
        "",
        &format!("error[empty-input]: none.json: the first trace makes no call, and a suite checks calls\n{hint}"),
    );
    here.check(
        &["init", "--from-trace", "mute.json"],
        2,
        "",
        &format!(
            "error[empty-input]: mute.json: the first trace does not record its calls, and a suite checks calls\n{hint}"
        ),
    );
    here.check(
        &["init", "--from-trace", "folder"],
        2,
        "",
        "error[bad-argument]: folder: is a folder\nhint: name one file\n",
    );
    here.check(
        &["init", "--from-trace", "no.json"],
        2,
        "",
        "error[no-such-file]: no.json: no such file or folder\nhint: did you mean `none.json`?\n",
    );
    let output = here.command(&["init", "--from-trace", "odd.json"]).output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    let stderr = String::from_utf8(output.stderr).unwrap();
    assert_eq!(
        stderr,
        "error[unknown-format]: odd.json: byte 0: unknown format: an object with the keys x\n\
         hint: `mcptest convert --from FORMAT odd.json > trace.jsonl` converts it to a file that can be read\n"
    );
    assert_eq!(files(&here.0), before);
}

/// Every recording of the project, sorted: of each format that is read.
fn recordings() -> Vec<PathBuf> {
    let mut out = Vec::new();
    let mut pending = ["crates/core/tests/it/import", "examples/score-your-traces", "examples/cassettes/quickstart"]
        .map(|name| root().join(name))
        .to_vec();
    while let Some(folder) = pending.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                pending.push(path);
            } else if path.extension().is_some_and(|ext| ext == "json" || ext == "jsonl") {
                out.push(path);
            }
        }
    }
    out.sort();
    out
}

#[test]
fn every_recording_of_every_format_makes_a_suite_that_passes_and_the_same_each_time() {
    let mut refused = Vec::new();
    let mut green = 0;
    for path in recordings() {
        let shown = path.strip_prefix(root()).unwrap().display().to_string();
        let here = Folder::with(&[]);
        let make =
            |folder: &str| here.command(&["init", folder, "--from-trace", path.to_str().unwrap()]).output().unwrap();
        let output = make("a");
        if output.status.code() == Some(2) {
            let stderr = String::from_utf8(output.stderr).unwrap();
            assert!(stderr.contains(": the first trace "), "{shown}: {stderr}");
            refused.push(shown);
            continue;
        }
        let ran = here.command(&["run", "a/mcptest.yml"]).output().unwrap();
        assert_eq!(ran.status.code(), Some(0), "{shown}: {}", String::from_utf8_lossy(&ran.stdout));
        here.check(&["validate", "--deny-warnings", "a"], 0, "3 files: 3 valid\n", "");
        assert!(make("b").status.success(), "{shown}");
        assert_eq!(files(&here.0.join("a")), files(&here.0.join("b")), "{shown}");
        green += 1;
    }
    assert_eq!(
        refused,
        [
            "crates/core/tests/it/import/anthropic/request_and_reply.jsonl",
            "crates/core/tests/it/import/langchain/around.jsonl",
            "crates/core/tests/it/import/tau/runs.jsonl",
        ],
        "their first trace has no call"
    );
    assert!(green >= 38, "{green}");
}
