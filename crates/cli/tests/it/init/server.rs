//! From a server: its tools are listed and never called, and what it is started with is kept out of the files.

use std::io::{BufRead, BufReader};
use std::process::{Child, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use serde_json::{Value, json};

use super::{NEXT, files, names, run};
use crate::Folder;

/// A server with tools that read, one that does not, and schemas with references.
const TOOLS: &str = r##"{ "tools": [
  { "name": "delete_note", "inputSchema": { "type": "object" }, "annotations": { "destructiveHint": true } },
  { "name": "find_note", "description": "Find a note.", "annotations": { "readOnlyHint": true },
    "inputSchema": { "type": "object", "required": ["id", "tags"], "$defs": { "tag": { "enum": ["${HOME}", "b"] } },
      "properties": { "id": { "type": "integer", "minimum": 7 }, "tags": { "type": "array", "minItems": 1, "items": { "$ref": "#/$defs/tag" } } } } },
  { "name": "list notes: #1", "inputSchema": { "type": "object" }, "annotations": { "readOnlyHint": true }, "x-icon": "é" }
] }"##;

/// The mock as a command line, with a log of what reaches it.
fn mock(tools: &str) -> String {
    format!("'{}' mock --tools-from \"{tools}\" --log log.jsonl", env!("CARGO_BIN_EXE_mcptest"))
}

fn text(here: &Folder, name: &str) -> String {
    std::fs::read_to_string(here.0.join(name)).unwrap()
}

const SUITE: &str = r#"# Generated from the 3 tools of a server. It passes right away: `mcptest run` needs no key, no
# network and no model.
# A script (mcptest/script.yml) replaces the model and calls some of them. A mock server answers
# from a snapshot of the tools (mcptest/tools.json), so no tool of the real server is called.

servers:
  # A mock server with the tools of the real one. The lines below it are the real server: replace
  # the mock with them once you use a real model. The calls of the script have made-up arguments.
  # `cwd` is the folder in which `mcptest init` was run, so that relative paths in the command still
  # work.
  mcptest-mock:
    command: [mcptest, mock, --tools-from, "${SUITE_DIR}/mcptest/tools.json"]
    # command: [MCPTEST, mock, "--tools-from", "my tools.json", "--log", log.jsonl]
    # cwd: "${SUITE_DIR}"

models:
  # A script that replaces a model. A real model needs no entry here: write its name in the test, such
  # as `model: claude-sonnet-4-5`, set its key (ANTHROPIC_API_KEY), and record it once with
  # `mcptest run --record`. From then on, `mcptest run` replays the recording.
  stand-in: { provider: script, script: mcptest/script.yml }

agents:
  - name: calls the requested tools
    model: stand-in # change this line first
    servers: [mcptest-mock]
    # The calls below must have these values. When you use the real server, change them here, below
    # and in mcptest/script.yml together.
    prompt: "Call find_note with the arguments {\"id\":7,\"tags\":[\"$${HOME}\"]}, then list notes: #1 without arguments. Then say what came back."
    # The calls in this order, with these arguments. See it fail: change an argument below.
    trajectory:
      calls:
        - { name: find_note, args: { exact: { id: 7, tags: ["$${HOME}"] } }, status: ok }
        - { name: "list notes: #1", args: { exact: {} }, status: ok }
    # No other calls, and none of these twice.
    golden_path: { calls: [find_note, "list notes: #1"] }
    # Every action that the closing message claims needs a call.
    narrative: {}

# Next: `mcptest explain trajectory` explains a gate, `mcptest validate .` checks these files, and
# `mcptest schema` prints the schema for your editor.
"#;

const SCRIPT: &str = r#"# The replies of the scripted model, turn by turn. The arguments are generated from the schemas of
# the tools; write your own.
script: 1
runs:
  - turns:
      - calls: [{ tool: find_note, args: { id: 7, tags: ["$${HOME}"] } }]
      - calls: [{ tool: "list notes: #1", args: {} }]
      - text: "That is what find_note and list notes: #1 returned."
"#;

#[test]
fn a_suite_from_a_command_passes_at_once_and_calls_no_tool_of_the_server() {
    let here = Folder::with(&[("my tools.json", TOOLS)]);
    let output = here.command(&["init", "--from-server", &mock("my tools.json")]).output().unwrap();
    let stdout = format!(
        "wrote mcptest.yml         the suite: server, model, test\n\
         wrote mcptest/tools.json  a snapshot of the tools, for the mock server\n\
         wrote mcptest/script.yml  the script that replaces the model\n\n\
         The server `mcptest-mock` has 3 tools; the script calls find_note, list notes: #1.\n\
         It was stopped, and none of its tools was called: the suite runs against the snapshot.\n{NEXT}"
    );
    assert_eq!(String::from_utf8(output.stdout).unwrap(), stdout);
    let stderr = String::from_utf8(output.stderr).unwrap();
    assert!(stderr.contains("warning[invalid-mock-server]: clients may reject this tool name"), "{stderr}");
    assert_eq!(output.status.code(), Some(0));

    let program = format!("[{}", env!("CARGO_BIN_EXE_mcptest"));
    let suite = text(&here, "mcptest.yml");
    assert_eq!(suite.replace(&program, "[MCPTEST").replace(&format!("[\"{}\"", &program[1..]), "[MCPTEST"), SUITE);
    assert_eq!(text(&here, "mcptest/script.yml"), SCRIPT);
    let snapshot: Value = serde_json::from_str(&text(&here, "mcptest/tools.json")).unwrap();
    assert_eq!(snapshot, serde_json::from_str::<Value>(TOOLS).unwrap());

    let log = text(&here, "log.jsonl");
    assert!(log.contains("tools/list"), "{log}");
    let (code, stdout) = run(&here);
    assert_eq!(code, Some(0), "{stdout}");
    assert_eq!(text(&here, "log.jsonl"), log, "a run does not talk to the real server");
    assert!(!log.contains("tools/call"), "{log}");
    here.check(&["validate", "--deny-warnings", "."], 0, "2 files: 2 valid\n", "");

    // The real server is one swap of lines away; its calls arrive then.
    here.write("mcptest.yml", with_the_real_server(&suite).as_bytes());
    here.check(&["validate", "--deny-warnings", "."], 0, "2 files: 2 valid\n", "");
    assert_eq!(run(&here).0, Some(0));
    assert!(text(&here, "log.jsonl").contains("tools/call"));
}

/// A suite with its real server in place of the mock.
fn with_the_real_server(suite: &str) -> String {
    let lines = suite.lines().filter(|line| !line.starts_with("    command: [mcptest, "));
    let lines = lines.map(|line| match line.strip_prefix("    # ") {
        Some(real) if real.starts_with("command: ") || real.starts_with("cwd: ") => format!("    {real}\n"),
        _ => format!("{line}\n"),
    });
    lines.collect()
}

#[test]
fn the_real_server_finds_its_files_wherever_the_suite_is_and_the_run_is_started() {
    for (folder, cwd) in [(".", "${SUITE_DIR}"), ("a/b", "${SUITE_DIR}/../.."), ("./c", "${SUITE_DIR}/..")] {
        let here = Folder::with(&[("tools.json", TOOLS)]);
        assert!(
            here.command(&["init", folder, "--from-server", &mock("tools.json")]).output().unwrap().status.success()
        );
        let name = format!("{folder}/mcptest.yml");
        let suite = text(&here, &name);
        assert!(suite.contains(&format!("    # cwd: \"{cwd}\"\n")), "{suite}");
        here.write(&name, with_the_real_server(&suite).as_bytes());
        let output = here.command(&["run", &name]).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
        assert!(here.command(&["run"]).current_dir(here.0.join(folder)).output().unwrap().status.success());
        assert!(text(&here, "log.jsonl").contains("tools/call"));
    }
    // A path that is not below this folder is shown in full.
    let here = Folder::with(&[("tools.json", TOOLS)]);
    let there = here.0.join("d");
    let line = ["init", there.to_str().unwrap(), "--from-server", &mock("tools.json")];
    assert!(here.command(&line).output().unwrap().status.success());
    let suite = text(&here, "d/mcptest.yml");
    here.write("d/mcptest.yml", with_the_real_server(&suite).as_bytes());
    assert!(here.command(&["run"]).current_dir(&there).output().unwrap().status.success());
    assert!(text(&here, "log.jsonl").contains("tools/call"));
}

#[test]
fn the_same_server_gives_the_same_bytes() {
    let made = || {
        let here = Folder::with(&[("tools.json", TOOLS)]);
        assert!(
            here.command(&["init", "out", "--from-server", &mock("tools.json")]).output().unwrap().status.success()
        );
        files(&here.0.join("out"))
    };
    assert_eq!(made(), made());
}

/// The mock over HTTP. It is ended with the test.
struct Remote(Child, String);

impl Remote {
    fn start(here: &Folder) -> Self {
        let mut command = here.command(&["mock", "--tools-from", "tools.json", "--http", "0", "--log", "log.jsonl"]);
        // Its input stays open, because its end would be the end of the server.
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
        let output = child.stdout.take().unwrap();
        let mut remote = Self(child, String::new());
        let (send, receive) = mpsc::channel();
        thread::spawn(move || {
            let mut line = String::new();
            let read = BufReader::new(output).read_line(&mut line);
            send.send(read.map(|_| line))
        });
        receive.recv_timeout(Duration::from_secs(30)).unwrap().unwrap().trim().clone_into(&mut remote.1);
        remote
    }
}

impl Drop for Remote {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn a_suite_from_an_address_keeps_token_and_secrets_out_of_its_files() {
    let here = Folder::with(&[("tools.json", TOOLS)]);
    let remote = Remote::start(&here);
    let mut command = here.command(&["init", "open", "--url", &remote.1, "--bearer-token-env", "TOKEN"]);
    let output = command.env("TOKEN", "hunter2hunter2").output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    let suite = text(&here, "open/mcptest.yml");
    assert!(suite.contains(&format!("    # url: \"{}\"\n    # bearer_token_env: TOKEN\n", remote.1)), "{suite}");

    let secret = format!("{}?key=hunter2hunter2", remote.1);
    let output = here.command(&["init", "hidden", "--url", &secret]).output().unwrap();
    let stderr = String::from_utf8(output.stderr).unwrap();
    assert!(
        stderr.ends_with("note: values that may be secret were not written; the suite reads them from ${MCP_URL}\n"),
        "{stderr}"
    );
    let suite = text(&here, "hidden/mcptest.yml");
    assert!(suite.contains("    # url: \"${MCP_URL}\"\n"), "{suite}");

    let all: String =
        ["open", "hidden"].iter().flat_map(|name| files(&here.0.join(name))).map(|(_, text)| text).collect();
    assert!(!all.contains("hunter2"), "{all}");
    for folder in ["open", "hidden"] {
        let output = here.command(&["run", &format!("{folder}/mcptest.yml")]).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
    }
    assert!(!text(&here, "log.jsonl").contains("tools/call"));
}

#[test]
fn variables_in_front_of_a_command_reach_the_server_and_no_file() {
    let here = Folder::with(&[("tools.json", TOOLS)]);
    let script = "exec \"$MOCK\" mock --tools-from \"$WHICH\"";
    let line = format!("WHICH=tools.json MOCK='{}' sh -c '{script}'", env!("CARGO_BIN_EXE_mcptest"));
    let output = here.command(&["init", "--from-server", &line]).env("PATH", "/usr/bin:/bin").output().unwrap();
    let stderr = String::from_utf8(output.stderr).unwrap();
    assert!(stderr.ends_with("the suite reads them from ${MOCK}, ${WHICH}\n"), "{stderr}");
    let suite = text(&here, "mcptest.yml");
    assert!(suite.contains("    # env: { MOCK: \"${MOCK}\", WHICH: \"${WHICH}\" }\n"), "{suite}");
    assert_eq!(run(&here).0, Some(0));
}

#[test]
fn a_failing_server_is_reported_with_its_own_message_and_nothing_is_written() {
    let here = Folder::with(&[("none.json", "{ \"tools\": [] }")]);
    let check = |line: &str, stderr: &str| {
        let mut command = here.command(&["init", "--timeout-ms", "400", "--from-server", line]);
        let output = command.env("PATH", "/usr/bin:/bin").output().unwrap();
        crate::check(&output, 2, "", stderr);
        assert_eq!(names(&here.0), ["none.json"]);
    };
    check(
        "sh -c 'echo no configuration >&2; exit 3'",
        "error[server-exited]: server `sh`: exited (exit status: 3) without answering `initialize`\nstandard error ends with:\n  no configuration\n\
         hint: run the command by hand: it should wait for messages on standard input\n",
    );
    check(
        "sh -c 'exec sleep 600'",
        "error[server-timeout]: server `sh`: did not answer `initialize` within 400 ms\n\
         hint: check that the command starts an MCP server over stdio, or raise --timeout-ms\n",
    );
    check(
        "no-such-program-anywhere",
        "error[program-not-found]: server `no-such-program-anywhere`: program `no-such-program-anywhere` not found\n\
         hint: install it, or check that its folder is in PATH\n",
    );
    check(
        "run 'half a word",
        "error[bad-argument]: --from-server: the quote ' at column 5 is not closed\n\
         hint: write it as in a shell: --from-server 'program argument \"two words\"'\n",
    );
    let toolless = format!("'{}' mock --tools-from none.json", env!("CARGO_BIN_EXE_mcptest"));
    let output = here.command(&["init", "--from-server", &toolless]).output().unwrap();
    crate::check(
        &output,
        2,
        "",
        "error[no-tools]: the server has no tools, and a suite checks calls\nhint: check how it is started or configured\n",
    );
    here.check(
        &["init", "--url", "http://127.0.0.1:9/mcp", "--bearer-token-env", "NOBODY"],
        2,
        "",
        "error[variable-not-set]: variable `NOBODY` is not set (--bearer-token-env)\n\
         hint: set NOBODY, or leave --bearer-token-env out\n",
    );
    assert_eq!(names(&here.0), ["none.json"]);
}

#[cfg(target_os = "linux")]
#[test]
fn a_server_that_does_not_answer_is_ended() {
    let here = Folder::with(&[]);
    // A number that no other process has among its arguments.
    let seconds = format!("6{:05}", std::process::id() % 100_000);
    let line = format!("sh -c 'sleep {seconds}; true'");
    let mut command = here.command(&["init", "--timeout-ms", "300", "--from-server", &line]);
    assert_eq!(command.env("PATH", "/usr/bin:/bin").output().unwrap().status.code(), Some(2));
    for entry in std::fs::read_dir("/proc").unwrap() {
        let words = std::fs::read(entry.unwrap().path().join("cmdline")).unwrap_or_default();
        let words: Vec<&[u8]> = words.split(|byte| *byte == 0).collect();
        assert!(!words.contains(&seconds.as_bytes()), "the server is still there");
    }
}

#[test]
fn odd_and_long_catalogs_work() {
    let hostile = ["yes", "a\nb", "- x", "${HOME}", "søk", "\"quoted\"", "a: {b}", "tab\there", "\u{2028}", "<<"];
    let mut tools: Vec<Value> = hostile
        .iter()
        .map(|name| {
            json!({
                "name": name,
                "description": "$${x}\n# y\u{7f}",
                "annotations": { "readOnlyHint": true },
                "inputSchema": { "type": "object", "required": [name], "properties": { *name: { "const": name } } },
            })
        })
        .collect();
    tools.extend((0..300).map(|at| json!({ "name": format!("tool_{at}"), "inputSchema": { "type": "object" } })));
    // Each of the odd ones is called once: the first tools that only read are chosen.
    for start in 0..hostile.len() {
        let part: Vec<&Value> = tools[start..].iter().chain(&tools[..start]).collect();
        // The mock reads JSON as YAML, which wants some characters as codes.
        let list = json!({ "tools": part }).to_string().replace('\u{7f}', "\\u007f").replace('\u{2028}', "\\u2028");
        let here = Folder::with(&[("tools.json", &list)]);
        let output = here.command(&["init", "--from-server", &mock("tools.json")]).output().unwrap();
        assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
        let (code, stdout) = run(&here);
        assert_eq!(code, Some(0), "{stdout}");
        let snapshot: Value = serde_json::from_str(&text(&here, "mcptest/tools.json")).unwrap();
        assert_eq!(snapshot, json!({ "tools": part }));
    }
}

#[test]
fn a_tool_without_generated_arguments_is_called_anyway_with_a_comment() {
    let tools = r#"{ "tools": [{ "name": "get", "inputSchema": { "type": "object", "required": ["a"],
        "properties": { "a": { "type": "string", "pattern": "^[0-9]{9}$" } } } }] }"#;
    let here = Folder::with(&[("tools.json", tools)]);
    assert!(here.command(&["init", "--from-server", &mock("tools.json")]).output().unwrap().status.success());
    let suite = text(&here, "mcptest.yml");
    assert!(
        suite.contains("# No arguments that fit its schema could be made up, so the mock answers with an error.\n"),
        "{suite}"
    );
    assert!(suite.contains("- { name: get, args: { exact: { a: text } }, status: error }\n"), "{suite}");
    assert_eq!(run(&here).0, Some(0));
}
