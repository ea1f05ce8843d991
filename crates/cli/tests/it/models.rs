//! `mcptest run` with models and servers over the network: a loopback server speaks for every provider, the mock for every
//! remote server, and the binary between them is the one that ships.

mod advice;
mod budget;
pub(crate) mod codes;
pub(crate) mod dialect;
mod keys;
mod matrix;
pub(crate) mod provider;
pub(crate) mod remote;
mod same_trace;
mod secrets;
pub(crate) mod streamed;
mod trouble;

use std::path::PathBuf;
use std::process::{Command, Output, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use dialect::{answer, turn};
use provider::Loopback;
use serde_json::Value;

use super::Folder;

/// Longer than any run here takes.
pub(crate) const LIMIT: Duration = Duration::from_secs(90);

/// The closing message of the conversation; no verb in it claims an action.
const LAST: &str = "Invoice 7 is about rain. The bank is closed.";

/// A server with three tools. One of them fails.
pub(crate) const TOOLS: &str = r#"
mock_server:
  name: desk
  tools:
    - name: search
      description: Finds invoices.
      input_schema: { type: object, properties: { q: { type: string } }, required: [q] }
      answer: { structured: { id: 7, about: "${args.q}" } }
    - name: get_invoice
      answer: { text: "invoice 7: 12.50" }
    - name: refund
      answer: { error: the bank is closed }
"#;

/// The mock as the suites start it.
const MOCK: &str = "command: [mcptest, mock, --tools-from, \"${SUITE_DIR}/tools.yml\"]";

/// What the conversation does, as a gate.
const DONE: &str = "trajectory: { calls: [{ name: search, status: ok }, { name: refund, status: error }, { name: get_invoice, status: ok }] }";

/// A provider that has the conversation over every interface.
fn conversation() -> Loopback {
    Loopback::start(|request, _| answer(request, |answered| turn(answered, LAST)))
}

/// A suite with one server, these models and these tests.
fn suite(server: &str, models: &[String], tests: &[String]) -> String {
    let list = |items: &[String], mark: &str| {
        items.iter().map(|item| format!("  {mark}{item}\n")).collect::<Vec<_>>().concat()
    };
    format!("servers: {{ desk: {{ {server} }} }}\nmodels:\n{}agents:\n{}", list(models, ""), list(tests, "- "))
}

/// An entry of `models:` that the loopback server answers for over Anthropic Messages.
fn claude(name: &str, at: &Loopback, more: &str) -> String {
    format!("{name}: {{ provider: anthropic, model: model-1, base_url: \"{}\"{more} }}", at.base())
}

/// A test of the conversation.
fn test(name: &str, keys: &str) -> String {
    format!("{{ name: {name}, servers: [desk], prompt: Do it., {keys} }}")
}

pub(crate) fn world(suite: &str) -> Folder {
    Folder::with(&[("suite.yml", suite), ("tools.yml", TOOLS)])
}

/// Runs a command that must end on its own.
#[track_caller]
pub(crate) fn finish(mut command: Command) -> Output {
    let child = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let id = child.id().to_string();
    let (send, receive) = mpsc::channel();
    thread::spawn(move || send.send(child.wait_with_output()));
    let output = receive.recv_timeout(LIMIT);
    if output.is_err() {
        let _ = Command::new("kill").args(["-s", "KILL", &id]).status();
    }
    output.unwrap().unwrap()
}

/// Runs the suite without any variable.
#[track_caller]
pub(crate) fn run(here: &Folder, flags: &[&str]) -> Output {
    finish(here.command(&[&["run", "suite.yml"], flags].concat()))
}

/// Exit code and JSON report of a run.
#[track_caller]
fn report(here: &Folder, flags: &[&str]) -> (Option<i32>, Value) {
    let output = run(here, &[&["--reporter", "json"], flags].concat());
    assert!(!output.stdout.is_empty(), "{}", err(&output));
    (output.status.code(), serde_json::from_slice(&output.stdout).unwrap())
}

pub(crate) fn out(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).unwrap()
}

pub(crate) fn err(output: &Output) -> String {
    String::from_utf8(output.stderr.clone()).unwrap()
}

/// The rows as `name: verdict`.
pub(crate) fn rows(report: &Value) -> Vec<String> {
    let rows = report["suites"][0]["rows"].as_array().unwrap();
    rows.iter().map(|row| format!("{}: {}", row["name"].as_str().unwrap(), row["verdict"].as_str().unwrap())).collect()
}

/// What is reported of the first row, which could not run.
fn trouble_of(report: &Value) -> (&str, &str) {
    let error = &report["suites"][0]["rows"][0]["error"];
    (error["message"].as_str().unwrap(), error["hint"].as_str().unwrap())
}

/// The cassettes, by their paths from the folder of the recordings.
pub(crate) fn cassettes(here: &Folder) -> Vec<String> {
    fn walk(folder: &std::path::Path, out: &mut Vec<PathBuf>) {
        for entry in std::fs::read_dir(folder).into_iter().flatten() {
            let path = entry.unwrap().path();
            if path.is_dir() { walk(&path, out) } else { out.push(path) }
        }
    }
    let root = here.0.join("cassettes/suite");
    let mut out = Vec::new();
    walk(&root, &mut out);
    let mut names: Vec<String> =
        out.iter().map(|path| path.strip_prefix(&root).unwrap().display().to_string()).collect();
    names.sort();
    names
}

pub(crate) fn cassette(here: &Folder, name: &str) -> Value {
    serde_json::from_slice(&std::fs::read(here.0.join("cassettes/suite").join(name)).unwrap()).unwrap()
}
