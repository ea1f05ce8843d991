//! Programs in a suite: recorded, replayed, judged, and what is said about those that test nothing.

use std::fs;
use std::path::PathBuf;
use std::process::Output;

use serde_json::{Value, json};

use super::models::provider::{Answer, Loopback, Request};
use super::{Folder, root};

const TOOLS: &str = "\
mock_server:
  name: desk
  tools:
    - { name: search, answer: { structured: { id: 7 } } }
    - { name: delete_note, answer: { error: it is locked } }
";

/// A model that searches, and then says what it found.
pub(crate) fn model() -> Loopback {
    Loopback::start(|request, _| Answer::json(&reply(request)))
}

fn reply(request: &Request) -> Value {
    let messages = request.body["messages"].as_array().cloned().unwrap_or_default();
    let has_tools = request.body.get("tools").is_some();
    let answered = messages.iter().rfind(|message| message["role"] == "tool");
    let message = match answered {
        None if has_tools => {
            let function = json!({ "name": "search", "arguments": "{\"q\":\"rain\"}" });
            let call = json!({ "id": "call_1", "type": "function", "function": function });
            json!({ "role": "assistant", "content": null, "tool_calls": [call] })
        }
        None => json!({ "role": "assistant", "content": "Hello." }),
        Some(result) if result["content"].as_str().unwrap_or_default().starts_with("error") => {
            json!({ "role": "assistant", "content": "The search did not work." })
        }
        Some(_) => json!({ "role": "assistant", "content": "I found note 7." }),
    };
    let finish = if message.get("tool_calls").is_some() { "tool_calls" } else { "stop" };
    json!({
        "id": "c", "object": "chat.completion", "created": 1, "model": "m",
        "choices": [{ "index": 0, "finish_reason": finish, "message": message }],
        "usage": { "prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15 },
    })
}

/// A suite with one program, which does what these words say, and more keys of it and of its test.
pub(crate) fn suite(words: &str, program: &str, test: &str) -> String {
    let agent = root().join("crates/cli/tests/it/programs/agent.py");
    format!(
        "servers:\n  desk: {{ command: [mcptest, mock, --tools-from, \"${{SUITE_DIR}}/tools.yml\"] }}\n\
         programs:\n  agent:\n    command: [python3, {}{words}]\n{program}\
         agents:\n  - name: finds it\n    program: agent\n    servers: [desk]\n    prompt: Find the note.\n\
         \x20   trajectory: {{ calls: [{{ name: search, args: {{ exact: {{ q: rain }} }} }}] }}\n{test}",
        agent.display(),
    )
}

pub(crate) fn folder(suite: &str) -> Folder {
    Folder::with(&[("s.yml", suite), ("tools.yml", TOOLS)])
}

pub(crate) fn run(here: &Folder, model: &Loopback, flags: &[&str]) -> Output {
    let mut command = here.command(&[&["run"], flags, &["s.yml"]].concat());
    command.env("PATH", option_env!("PATH").unwrap_or("/usr/local/bin:/usr/bin:/bin"));
    command.env("OPENAI_BASE_URL", model.base() + "/v1").env("OPENAI_API_KEY", "sk-test-0123456789abcdef");
    command.output().unwrap()
}

pub(crate) fn text(output: &Output) -> String {
    [&output.stdout, &output.stderr].map(|bytes| String::from_utf8_lossy(bytes).into_owned()).concat()
}

/// The files below `cassettes`.
fn recordings(here: &Folder) -> Vec<PathBuf> {
    let mut out = Vec::new();
    let mut folders = vec![here.0.join("cassettes")];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
            if entry.path().is_dir() { folders.push(entry.path()) } else { out.push(entry.path()) }
        }
    }
    out.sort();
    out
}

#[test]
fn a_program_is_recorded_with_its_ledgers_and_replayed_without_it() {
    let (here, model) = (folder(&suite("", "", "")), model());
    let recorded = run(&here, &model, &["--record", "--reporter", "json"]);
    assert_eq!(recorded.status.code(), Some(0), "{}", text(&recorded));
    let files = recordings(&here);
    let names: Vec<_> = files.iter().map(|path| path.file_name().unwrap().to_str().unwrap()).collect();
    assert_eq!(names, ["1.json", "1.ledger.jsonl"]);
    let written: Value = serde_json::from_str(&fs::read_to_string(&files[0]).unwrap()).unwrap();
    assert_eq!(written["model"], "agent");
    assert_eq!(written["ledger"], sha256(&fs::read(&files[1]).unwrap()));
    assert_eq!(written["inputs"]["program"]["input"], "stdin");
    assert_eq!(written["trace"]["final_response"], "I found note 7.");
    assert_eq!(written["trace"]["tool_calls"][0]["witness"], "both");
    assert_eq!(written["observed"]["servers"]["desk"]["tools"][1]["name"], "search");
    let asked = model.requests().len();
    fs::remove_file(&files[1]).unwrap();
    let replayed = run(&here, &model, &["--reporter", "json"]);
    assert_eq!(replayed.status.code(), Some(0), "{}", text(&replayed));
    assert_eq!(model.requests().len(), asked, "a replay asks nobody");
    let again = run(&here, &model, &["--reporter", "json"]);
    assert_eq!(again.stdout, replayed.stdout);
}

fn sha256(bytes: &[u8]) -> String {
    mcptest_core::redact::hash(bytes)
}

#[test]
fn a_program_gets_its_prompt_and_leaves_its_answer_as_the_suite_says() {
    let model = model();
    for (words, keys) in [
        (", arg", "    input: arg\n"),
        (", env", "    input: env:PROMPT\n"),
        (", json", "    answer: json:reply.text\n"),
        (", file", "    answer: file:answer.txt\n    cwd: \"${SUITE_DIR}\"\n"),
    ] {
        let here = folder(&suite(
            words,
            keys,
            "    expect: [{ target: final_response, matcher: { exact: I found note 7. } }]\n",
        ));
        let output = run(&here, &model, &["--live"]);
        assert_eq!(output.status.code(), Some(0), "{words}: {}", text(&output));
    }
}

#[test]
fn a_changed_program_makes_the_recording_stale() {
    let (here, model) = (folder(&suite("", "", "")), model());
    assert_eq!(run(&here, &model, &["--record"]).status.code(), Some(0));
    here.write("s.yml", suite(", refuses", "", "").as_bytes());
    let output = run(&here, &model, &[]);
    assert_eq!(output.status.code(), Some(2), "{}", text(&output));
    assert!(text(&output).contains("error[stale-cassette]"), "{}", text(&output));
    assert!(text(&output).contains("program.command"), "{}", text(&output));
}

#[test]
fn a_workspace_is_copied_and_its_path_is_not_recorded() {
    let program = "    workspace: \"${SUITE_DIR}/project\"\n";
    let here = folder(&suite(", writes, one", program, ""));
    here.write("project/src/main.txt", b"hello");
    let model = model();
    let output = run(&here, &model, &["--record"]);
    assert_eq!(output.status.code(), Some(1), "{}", text(&output));
    assert!(!here.0.join("project/notes.txt").exists(), "each run has a copy of its own");
    let written = fs::read_to_string(&recordings(&here)[0]).unwrap();
    assert!(written.contains("['notes.txt', 'src'] [redacted:workspace]"), "{written}");
}
