//! Programs in a suite: recorded, replayed, judged, and the errors of those that test nothing.

mod load;
mod mistakes;

use std::fs;
use std::path::PathBuf;
use std::process::{Command, Output};

use serde_json::{Value, json};

use super::models::provider::{Answer, Loopback, Request};
use super::{Folder, root};

pub(crate) const TOOLS: &str = "\
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

/// A suite with one program that gets these arguments, and more keys for it and its test.
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
    command(here, model, flags).output().unwrap()
}

fn command(here: &Folder, model: &Loopback, flags: &[&str]) -> Command {
    let mut command = here.command(&[&["run"], flags, &["s.yml"]].concat());
    command.env("PATH", option_env!("PATH").unwrap_or("/usr/local/bin:/usr/bin:/bin"));
    command.env("OPENAI_BASE_URL", model.base() + "/v1").env("OPENAI_API_KEY", "sk-test-0123456789abcdef");
    command
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

pub(crate) fn sha256(bytes: &[u8]) -> String {
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

/// A suite whose test injects one fault, with this gate.
fn faulty(words: &str, fault: &str, recovery: &str) -> String {
    let tests = format!("    inject: [bad]\n    recovery: {{ {recovery} }}\n");
    let program = "    timeout_ms: 8000\n    env: { CALL_TIMEOUT: \"1\" }\n";
    let suite = suite(words, program, &tests);
    let trajectory = suite.find("    trajectory:").unwrap();
    let after = suite[trajectory..].find('\n').unwrap() + trajectory + 1;
    format!("faults:\n  - {{ name: bad, {fault} }}\n{}{}", &suite[..trajectory], &suite[after..])
}

#[test]
fn faults_hit_a_program_in_real_time_and_their_marks_are_replayed() {
    let model = model();
    let tool = "target: { tool: search }";
    let of_model = "target: { model: true }";
    for (fault, effect, least_ms) in [
        (format!("{tool}, kind: hang"), "timeout", 900),
        (format!("{tool}, kind: wedged"), "timeout", 900),
        (format!("{tool}, kind: recover_after, failures: 1"), "timeout", 900),
        (format!("{tool}, kind: slow, delay_ms: 200"), "delay", 190),
        (format!("{tool}, kind: error"), "error", 0),
        (format!("{tool}, kind: is_error"), "error", 0),
        (format!("{tool}, kind: drop"), "error", 0),
        (format!("{of_model}, kind: model_error, status: 529, failures: 1"), "error", 0),
        (format!("{of_model}, kind: model_slow, delay_ms: 200, failures: 1"), "delay", 190),
        (format!("{of_model}, kind: model_cut, events: 1, failures: 1"), "error", 0),
        (format!("{of_model}, kind: model_garbage, failures: 1"), "error", 0),
    ] {
        let here = folder(&faulty("", &fault, "max_detection_ms: 2000, require_clean_timeout: true"));
        let recorded = run(&here, &model, &["--record"]);
        assert_eq!(recorded.status.code(), Some(0), "{fault}: {}", text(&recorded));
        let written: Value = serde_json::from_slice(&fs::read(&recordings(&here)[0]).unwrap()).unwrap();
        let marks = written["trace"]["program"]["faults"].as_array().unwrap();
        assert_eq!(marks.len(), 1, "{fault}: {marks:?}");
        assert_eq!(marks[0]["effect"], effect, "{fault}");
        assert!(marks[0]["duration_ms"].as_u64().unwrap() >= least_ms, "{fault}: {marks:?}");
        let has_call = written["trace"]["tool_calls"].as_array().unwrap().len() == 1;
        assert!(has_call, "the call that was hit is evidence: {fault}");
        let is_marked = written["trace"]["tool_results"][0]["fault"]["name"] == "bad";
        assert_eq!(is_marked, fault.contains("tool:"), "{fault}");
        reruns_as_it_replays(&here, &model, fault.contains("tool:"));
    }
}

/// A rerun judges what a replay judges: faults are injected again, and their marks are the recorded ones.
#[track_caller]
fn reruns_as_it_replays(here: &Folder, model: &Loopback, also_live: bool) {
    let replayed = run(here, model, &["--reporter", "json"]);
    let asked = model.requests().len();
    let expected = text(&replayed).replace("\"replayed\"", "\"rerun\"");
    for flags in [&["--rerun"][..], &["--rerun", "--tools", "live"]].into_iter().take(1 + usize::from(also_live)) {
        let rerun = run(here, model, &[flags, &["--reporter", "json"]].concat());
        assert_eq!(text(&rerun).replace(" --rerun", ""), expected, "{flags:?}");
        assert_eq!(rerun.status.code(), replayed.status.code(), "{flags:?}");
    }
    assert_eq!(model.requests().len(), asked, "a rerun asks no model");
}

#[test]
fn a_fault_that_a_shim_cannot_inject_is_an_error() {
    let model = model();
    let here = folder(&suite(", shim", "", ""));
    let output = run(&here, &model, &["--live"]);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output));
    let faults = "faults: [{ name: bad, target: { tool: search }, kind: error }]\n";
    let here = folder(&(faults.to_owned() + &suite(", shim", "", "    inject: [bad]\n")));
    let output = run(&here, &model, &["--live"]);
    assert_eq!(output.status.code(), Some(2), "{}", text(&output));
    let words: Vec<String> = text(&output).split_whitespace().map(str::to_owned).collect();
    assert!(words.join(" ").contains("`mcptest shim` cannot inject it"), "{}", text(&output));
}

#[test]
fn a_program_that_does_not_recover_or_never_hits_the_fault_fails() {
    let model = model();
    let dead = "target: { tool: search }, kind: error";
    for (words, fault, recovery, reason) in [
        ("", "target: { tool: nothing }, kind: hang", "", "no call hit a fault"),
        (
            ", fragile",
            "target: { model: true }, kind: model_error, status: 529",
            "",
            "its exit code is 1, expected 0 (`exit:`)",
        ),
        (", silent", dead, "", "the run did not complete with an answer"),
        ("", dead, "require_call: true", "no call succeeded after the first fault"),
        (
            "",
            "target: { tool: search }, kind: hang",
            "max_detection_ms: 100, require_clean_timeout: true",
            "was detected after",
        ),
    ] {
        let here = folder(&faulty(words, fault, recovery));
        let output = run(&here, &model, &["--record"]);
        assert_eq!(output.status.code(), Some(1), "{fault}: {}", text(&output));
        assert!(text(&output).contains(reason), "{fault}: {}", text(&output));
        reruns_as_it_replays(&here, &model, fault.contains("tool:"));
    }
}

#[test]
fn a_program_that_hangs_is_stopped_on_time_and_has_failed() {
    let (here, model) = (folder(&suite(", hangs", "    timeout_ms: 6000\n", "")), model());
    let output = run(&here, &model, &["--live"]);
    assert_eq!(output.status.code(), Some(1), "{}", text(&output));
    assert!(text(&output).contains("it did not end within 6000 ms and was stopped"), "{}", text(&output));
}

/// A tool, its arguments, and whether the agent CLI reports that the call succeeded.
type ReportedCall = (&'static str, Value, bool);

/// The events of an agent CLI that reports these calls of tools of the server `desk`.
fn events(format: &str, calls: &[ReportedCall]) -> String {
    let mut lines: Vec<Value> = Vec::new();
    for (at, (tool, args, is_good)) in calls.iter().enumerate() {
        let id = format!("c{at}");
        match format {
            "claude-stream" => {
                let call = json!({ "type": "tool_use", "id": id, "name": format!("mcp__desk__{tool}"), "input": args });
                let message = json!({ "id": format!("m{at}"), "role": "assistant", "content": [call] });
                lines.push(json!({ "type": "assistant", "session_id": "s", "message": message }));
                let answer = json!({ "type": "tool_result", "tool_use_id": id, "content": "x", "is_error": !is_good });
                let message = json!({ "role": "user", "content": [answer] });
                lines.push(json!({ "type": "user", "session_id": "s", "message": message }));
            }
            "codex-exec" => {
                let status = if *is_good { "completed" } else { "failed" };
                let item = json!({
                    "id": id, "type": "mcp_tool_call", "server": "desk", "tool": tool, "arguments": args, "status": status,
                });
                lines.push(json!({ "type": "item.completed", "item": item }));
            }
            _ => {
                let name = format!("mcp_desk_{tool}");
                lines.push(json!({ "type": "tool_use", "tool_name": name, "tool_id": id, "parameters": args }));
                let status = if *is_good { "success" } else { "error" };
                lines.push(json!({ "type": "tool_result", "tool_id": id, "status": status, "output": "x" }));
            }
        }
    }
    lines.push(match format {
        "claude-stream" => {
            json!({ "type": "result", "subtype": "success", "session_id": "s", "result": "I found note 7." })
        }
        "codex-exec" => {
            json!({ "type": "item.completed", "item": { "type": "agent_message", "text": "I found note 7." } })
        }
        _ => json!({ "type": "message", "role": "assistant", "content": "I found note 7.", "delta": true }),
    });
    lines.iter().map(|line| format!("{line}\n")).collect::<Vec<_>>().concat()
}

#[test]
fn calls_that_an_agent_cli_reports_are_compared_with_the_recording() {
    let rain = || json!({ "q": "rain" });
    let cases: [(Vec<ReportedCall>, Value); 4] = [
        (vec![("search", rain(), true)], Value::Null),
        (
            vec![("search", rain(), true), ("delete_note", json!({}), true)],
            json!(["the program reports a call of `delete_note` of server `desk` that was not recorded"]),
        ),
        (
            vec![("search", rain(), false)],
            json!([
                "the program reports that the call of `search` of server `desk` failed, but the server answered it"
            ]),
        ),
        (
            vec![("search", json!({ "q": "snow" }), true)],
            json!([
                "the program reports other arguments of `search` of server `desk`: {\"q\":\"snow\"}, recorded {\"q\":\"rain\"}"
            ]),
        ),
    ];
    let model = model();
    let cli = root().join("crates/cli/tests/it/programs/cli.py");
    for format in ["claude-stream", "codex-exec", "gemini-stream"] {
        for (calls, expected) in &cases {
            let keys = format!("    answer: {format}\n");
            let suite = suite(", \"${SUITE_DIR}/events.jsonl\"", &keys, "")
                .replace("[python3, ", &format!("[python3, {}, ", cli.display()));
            let here = folder(&suite);
            here.write("events.jsonl", events(format, calls).as_bytes());
            let recorded = run(&here, &model, &["--record", "--reporter", "json"]);
            assert_eq!(recorded.status.code(), Some(0), "{format} {calls:?}: {}", text(&recorded));
            let written = fs::read_to_string(&recordings(&here)[0]).unwrap();
            let written: Value = serde_json::from_str(&written).unwrap();
            assert_eq!(written["trace"]["final_response"], "I found note 7.", "{format}");
            assert_eq!(written["trace"]["program"]["notes"], *expected, "{format} {calls:?}");
            let replays = [(); 2].map(|()| run(&here, &model, &[]));
            assert_eq!(replays[0].stdout, replays[1].stdout);
            let shown = text(&replays[0]);
            for note in expected.as_array().into_iter().flatten() {
                let start = note.as_str().unwrap().split_whitespace().take(4).collect::<Vec<_>>().join(" ");
                assert!(shown.contains(&start), "{format}: {shown}");
            }
        }
    }
}
