//! Every code of the table, provoked: the program prints the message of the example, with the code.

mod cassettes;
mod score;
mod servers;
mod verdicts;
mod written;

use std::collections::BTreeSet;
use std::process::Stdio;

use mcptest::codes::{AREAS, all};
use mcptest_core::diag::Code;

use super::Folder;

/// A mock server with two tools.
const TOOLS: &str = "\
mock_server:
  name: desk
  tools:
    - { name: search, answer: { structured: { id: 7 } } }
    - { name: delete_note, answer: { error: it is locked } }
";

/// A script that searches and then says that it deleted.
const SCRIPT: &str = "\
script: 1
runs:
  - turns:
      - calls: [{ tool: search, args: { q: rain } }]
      - text: I deleted the note.
";

/// A suite with one test of the script, which has these keys in addition to the usual ones.
fn suite(keys: &str) -> String {
    suite_with("command: [mcptest, mock, --tools-from, \"${SUITE_DIR}/tools.yml\"]", keys)
}

/// The same with another server.
fn suite_with(server: &str, keys: &str) -> String {
    format!(
        "servers:\n  desk: {{ {server} }}\nmodels:\n  demo: {{ provider: script, script: demo.yml }}\nagents:\n  \
         - name: finds it\n    model: demo\n    servers: [desk]\n    prompt: Find the note.\n    {keys}\n"
    )
}

/// A folder with a suite `ok.yml`, its script and its server.
fn desk(suite: &str) -> Folder {
    Folder::with(&[("ok.yml", suite), ("demo.yml", SCRIPT), ("tools.yml", TOOLS)])
}

/// What a command prints, on standard output and standard error.
fn printed(here: &Folder, line: &[&str]) -> String {
    let output = here.command(line).stdin(Stdio::null()).output().unwrap();
    [output.stdout, output.stderr].map(|bytes| String::from_utf8(bytes).unwrap()).concat()
}

/// A text on one line, as no terminal broke it.
fn joined(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Every code that is provoked, with all that is printed then.
fn provoked() -> Vec<(Code, String)> {
    // Most of the time is spent waiting for servers and providers that do not answer.
    let parts = [
        written::provoked,
        cassettes::provoked,
        servers::provoked,
        score::provoked,
        verdicts::provoked,
        super::models::codes::provoked,
    ];
    let running = parts.map(std::thread::spawn);
    running.into_iter().flat_map(|part| part.join().unwrap()).collect()
}

/// Codes that no message carries: they are about a note or a part of a trace.
const UNLABELED: [Code; 6] = [
    Code::EmptyPartition,
    Code::UnusedCassette,
    Code::ToolNotOffered,
    Code::ServerNeedsInput,
    Code::BudgetExceeded,
    Code::GroupGateWithoutGroup,
];

/// Further messages of codes that have more than the example, each provoked as well.
const FURTHER: [(Code, &str); 5] = [
    (
        Code::BrokenCassette,
        "cassettes/ok/finds-it-48ae7370/demo/1.json: lacks `digest`, which recordings have from format version 2 on",
    ),
    (
        Code::BrokenCassette,
        "cassettes/ok/finds-it-48ae7370/demo/1.json: is run 1 of `finds more` on `demo`, not run 1 of `finds it` on `demo`",
    ),
    (Code::InvalidRecord, "error[invalid-record]: dup.jsonl: byte 45: tool_calls[1]: duplicate key \"name\""),
    (
        Code::BadArgument,
        "error[bad-argument]: --server-prefix: `` names no server: write `PREFIX=SERVER`, a prefix such as `mail_`, or `none` alone",
    ),
    (
        Code::BadArgument,
        "error[bad-argument]: invalid value 'jsn' for '--reporter <NAME[=PATH]>': there is no reporter `jsn` (hint: did you mean `json`?)",
    ),
];

#[test]
fn every_code_is_printed_with_its_message() {
    let provoked = provoked();
    let mut wrong = Vec::new();
    let mut messages = Vec::new();
    for (code, text) in &provoked {
        let entry = all().find(|entry| entry.code == *code).unwrap();
        let further = FURTHER.iter().filter(|(of, _)| of == code).map(|(_, message)| *message);
        let printed = further.chain([entry.example]).find(|message| joined(text).contains(&joined(message)));
        messages.extend(printed.map(|message| (*code, message)));
        if printed.is_none() {
            wrong.push(format!("{code}: the example was not printed\n  {}\n  {}", entry.example, text.trim()));
        }
        // Verdicts are explained by the gate and the verdict, so their reasons carry no code.
        let is_verdict = AREAS[AREAS.len() - 1].entries.iter().any(|entry| entry.code == *code);
        if !is_verdict && text.contains(&format!("[{code}]")) == UNLABELED.contains(code) {
            wrong.push(format!("{code}: is it printed?\n  {}", text.trim()));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
    // Each case prints its own message, and every message and example is covered.
    let distinct: BTreeSet<(Code, &str)> = messages.iter().copied().collect();
    assert_eq!(distinct.len(), provoked.len(), "{messages:?}");
    let shown: BTreeSet<Code> = provoked.iter().map(|(code, _)| *code).collect();
    let due: BTreeSet<Code> = all().filter(|entry| entry.unprovoked.is_none()).map(|entry| entry.code).collect();
    assert_eq!(shown, due, "every code is provoked, except those that say why they are not");
}
