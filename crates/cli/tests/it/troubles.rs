//! Every trouble of the table, provoked: the program really prints the message, and explains it when it is pasted back.

mod cassettes;
mod score;
mod servers;
mod verdicts;
mod written;

use std::collections::BTreeSet;
use std::io::Write;
use std::process::Stdio;

use mcptest::trouble::{Trouble, all};

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

/// A suite with one test of the script, which has these keys beside the usual ones.
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

/// What `mcptest explain -` says of a text.
fn explained(text: &str) -> String {
    let here = Folder::with(&[]);
    let mut command = here.command(&["explain", "-"]);
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(text.as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    [output.stdout, output.stderr].map(|bytes| String::from_utf8(bytes).unwrap()).concat()
}

/// A text on one line, as no terminal broke it.
fn joined(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Every trouble that is provoked, with all that is printed then.
fn provoked() -> Vec<(&'static str, String)> {
    // Most of the time is spent waiting for servers and providers that do not answer.
    let parts = [
        written::provoked,
        cassettes::provoked,
        servers::provoked,
        score::provoked,
        verdicts::provoked,
        super::models::troubles::provoked,
    ];
    let running = parts.map(std::thread::spawn);
    running.into_iter().flat_map(|part| part.join().unwrap()).collect()
}

#[test]
fn every_trouble_is_really_printed_and_explained_from_what_was_printed() {
    let provoked = provoked();
    let mut wrong = Vec::new();
    for (name, text) in &provoked {
        let Some(trouble) = all().find(|trouble| trouble.name == *name) else {
            wrong.push(format!("{name} is not in the table"));
            continue;
        };
        if !joined(text).contains(&joined(trouble.example)) {
            wrong.push(format!("{name}: the example was not printed\n  {}\n  {}", trouble.example, text.trim()));
        }
        let told = explained(text);
        if !joined(&told).starts_with(&format!("{} ({name}) As in:", trouble.title)) {
            wrong.push(format!("{name}: explained as\n  {}\n  {}", told.lines().next().unwrap_or(""), text.trim()));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
    let shown: BTreeSet<&str> = provoked.iter().map(|(name, _)| *name).collect();
    let due: BTreeSet<&str> =
        all().filter(|trouble| trouble.unprovoked.is_none()).map(|trouble| trouble.name).collect();
    assert_eq!(shown, due, "every trouble is provoked, but for those that say why they are not");
}

#[test]
fn an_entry_is_found_by_its_name_its_title_and_a_part_of_its_message() {
    let here = Folder::with(&[]);
    let title = |what: &str| printed(&here, &["explain", what]).lines().next().unwrap().to_owned();
    for name in ["stale-cassette", "no-key", "claimed-not-done"] {
        let trouble: &Trouble = all().find(|trouble| trouble.name == name).unwrap();
        let expected = format!("{} ({name})", trouble.title);
        assert_eq!(title(name), expected);
        assert_eq!(title(trouble.title), expected);
        assert_eq!(title(trouble.example), expected);
    }
    assert_eq!(title("cassette is stale"), "The cassette is stale (stale-cassette)");
}
