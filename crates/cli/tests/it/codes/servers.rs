//! Servers that cannot be started or talked to, scripts that do not fit, and the mock.

use mcptest_core::diag::Code;
use std::process::Command;

use super::{TOOLS, desk, printed, suite_with};
use crate::Folder;

const GATE: &str = "trajectory: { calls: [{ name: search }] }";

/// What is printed with this server.
fn served(server: &str) -> String {
    printed(&desk(&suite_with(server, GATE)), &["run", "ok.yml"])
}

/// What is printed when a server answers the handshake and then with this to `tools/list`, or with another revision.
fn spoken(revision: &str, tools: &str) -> String {
    let server = format!(
        r#"while read -r line; do case "$line" in *'"initialize"'*) id=${{line#*\"id\":}}; id=${{id%%[,\}}]*}}; echo '{{"jsonrpc":"2.0","id":'$id',"result":{{"protocolVersion":"{revision}","capabilities":{{"tools":{{}}}},"serverInfo":{{"name":"x","version":"1"}}}}}}' ;; *'"tools/list"'*) id=${{line#*\"id\":}}; id=${{id%%[,\}}]*}}; echo '{{"jsonrpc":"2.0","id":'$id',"result":{{"tools":{tools}}}}}' ;; esac; done"#
    );
    let here =
        desk(&suite_with("command: [/bin/sh, \"${SUITE_DIR}/server.sh\"], protocol: legacy, timeout_ms: 5000", GATE));
    here.write("server.sh", server.as_bytes());
    printed(&here, &["run", "ok.yml"])
}

/// What is printed with this script.
fn scripted(turns: &str) -> String {
    let here = desk(&suite_with("command: [mcptest, mock, --tools-from, \"${SUITE_DIR}/tools.yml\"]", GATE));
    here.write("demo.yml", format!("script: 1\nruns: [{{ turns: [{turns}] }}]\n").as_bytes());
    printed(&here, &["run", "ok.yml"])
}

/// A mock server that may open few files.
fn few_open_files() -> String {
    let here = Folder::with(&[("tools.yml", TOOLS)]);
    let line = "ulimit -n 8; exec \"$0\" mock --tools-from tools.yml";
    let output = Command::new("sh").args(["-c", line, env!("CARGO_BIN_EXE_mcptest")]).current_dir(&here.0).output();
    String::from_utf8(output.unwrap().stderr).unwrap()
}

/// A suite from a server without tools.
fn toolless() -> String {
    let here = Folder::with(&[("none.json", "{ \"tools\": [] }")]);
    let server = format!("{} mock --tools-from none.json", env!("CARGO_BIN_EXE_mcptest"));
    printed(&here, &["init", "new", "--from-server", &server])
}

/// What is printed about a program that does this.
fn program(word: &str) -> String {
    let model = crate::programs::model();
    let here = crate::programs::folder(&crate::programs::suite(&format!(", {word}"), "", ""));
    crate::programs::text(&crate::programs::run(&here, &model, &["--live"]))
}

pub(super) fn provoked() -> Vec<(Code, String)> {
    let mock = |line: &[&str]| {
        let here = Folder::with(&[("tools.yml", TOOLS)]);
        printed(&here, &[&["mock", "--tools-from", "tools.yml"], line].concat())
    };
    let two = "servers:\n  desk: &mock { command: [mcptest, mock, --tools-from, \"${SUITE_DIR}/tools.yml\"] }\n  shop: *mock\n\
               models: { demo: { provider: script, script: demo.yml } }\nagents:\n  - name: finds it\n    model: demo\n    \
               servers: [desk, shop]\n    prompt: Find the note.\n    trajectory: { calls: [{ name: search }] }\n";
    let rain = "mock_server:\n  name: w\n  tools:\n    - name: get\n      output_schema: { type: object, properties: { rain: { type: boolean } } }\n      answer: { structured: { rain: 7 } }\n";
    vec![
        (Code::ProgramNotFound, served("command: [no-such-program]")),
        (Code::ProgramNotStarted, served("command: [./tools.yml]")),
        (Code::NoWorkingFolder, served("command: [sleep, \"9\"], cwd: /nowhere")),
        (Code::ServerExited, served("command: [/bin/sh, -c, \"exit 3\"], protocol: legacy")),
        (Code::ServerTimeout, served("command: [/bin/sleep, \"9\"], timeout_ms: 200")),
        (Code::ServerClosedStdout, served("command: [/bin/sh, -c, \"exec >&-; exec sleep 5\"]")),
        (Code::ServerStdoutNoise, served("command: [/bin/sh, -c, \"echo hello; exec sleep 9\"], timeout_ms: 200")),
        (Code::ServerUnreachable, served("url: \"http://127.0.0.1:1/mcp\"")),
        (Code::BadUrl, served("url: mcp.example.test/mcp")),
        (Code::BadHeader, served("url: \"http://127.0.0.1:1/mcp\", headers: { X-Team: \"a\\nb\" }")),
        (Code::BadToolList, spoken("2025-06-18", r#"[{"name":"search"}]"#)),
        (Code::NoTools, toolless()),
        (Code::MalformedReply, spoken("2025-06-18", r#"[{"name":"a","name":"b","inputSchema":{}}]"#)),
        (Code::UnknownRevision, spoken("1999-01-01", "[]")),
        (Code::BadMockFault, mock(&["--fault", "explode"])),
        (Code::MockAddress, mock(&["--http", "nowhere"])),
        (Code::OutOfResources, few_open_files()),
        (Code::InvalidMockServer, printed(&Folder::with(&[("tools.yml", rain)]), &["validate", "tools.yml"])),
        (Code::ProgramEndedEarly, program("early")),
        (Code::ServerNotUsed, program("deaf")),
        (Code::ToolsNotOffered, program("late")),
        (Code::Diverged, crate::rerun::diverging()),
        (Code::ModelUnseen, printed(&Folder::with(&[]), &["record", "--", "true"])),
        (
            Code::NoAnswer,
            printed(&Folder::with(&[]), &["record", "--answer", "codex-exec", "--model", "unseen", "--", "true"]),
        ),
        (Code::ScriptTooShort, scripted("{ calls: [{ tool: search }] }")),
        (Code::AmbiguousTool, printed(&desk(two), &["run", "ok.yml"])),
        (
            Code::ScriptReference,
            scripted("{ calls: [{ tool: search, args: { q: \"${results[4].x}\" } }] }, { text: Done. }"),
        ),
        (Code::ScriptUnusable, scripted("{ usage: { input: 1, output: 1 } }")),
    ]
}
