//! `mcptest record`: programs that end well or badly, what their model answers, and what is written.

mod ends;

use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::time::Duration;
use std::{fs, thread};

use serde_json::{Value, json};

use super::models::provider::{Answer, Loopback};
use super::{Folder, root};

const KEY: &str = "sk-test-0123456789abcdef";

/// A model that always says the same.
fn model() -> Loopback {
    Loopback::start(|_, _| Answer::json(&reply("All done.")))
}

fn reply(text: &str) -> Value {
    let message = json!({ "role": "assistant", "content": text });
    json!({
        "id": "c", "object": "chat.completion", "created": 1, "model": "m",
        "choices": [{ "index": 0, "finish_reason": "stop", "message": message }],
        "usage": { "prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15 },
    })
}

/// The command line that records the agent doing these things.
fn record(here: &Folder, model: &Loopback, flags: &[&str], words: &[&str]) -> Command {
    let agent = root().join("crates/cli/tests/it/record_program/agent.py");
    let mut command = here.command(&[&["record"], flags, &["--", "python3", agent.to_str().unwrap()], words].concat());
    command.env("PATH", "/usr/local/bin:/usr/bin:/bin").env("OPENAI_BASE_URL", model.base() + "/v1");
    command.env("OPENAI_API_KEY", KEY);
    if let Some(path) = option_env!("PATH") {
        command.env("PATH", path);
    }
    command
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

#[track_caller]
fn traces(here: &Folder) -> Vec<Value> {
    let text = fs::read_to_string(here.0.join("traces.jsonl")).unwrap();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[track_caller]
fn recorded(here: &Folder, model: &Loopback, flags: &[&str], words: &[&str]) -> (Output, Value) {
    let output = record(here, model, flags, words).output().unwrap();
    let mut all = traces(here);
    assert_eq!(all.len(), 1, "{}", text(&output.stderr));
    (output, all.remove(0))
}

#[test]
fn a_program_keeps_its_output_and_its_exit_code() {
    let (here, model) = (Folder::with(&[]), model());
    let (output, trace) = recorded(&here, &model, &[], &["ask", "7"]);
    assert_eq!((output.status.code(), &*text(&output.stdout)), (Some(7), "All done.\n"), "{}", text(&output.stderr));
    let expected = "mcptest: the command failed with exit status 7\n\
         mcptest: recorded a trace with 0 tool calls in traces.jsonl\n";
    assert_eq!(text(&output.stderr), expected);
    assert_eq!(trace["program"]["exit"], 7);
    let timeline = trace["program"]["timeline"].as_array().unwrap();
    let seen: Vec<_> = timeline.iter().map(|entry| (&entry["side"], &entry["what"], &entry["status"])).collect();
    assert_eq!(seen, [(&json!("model"), &json!("POST /v1/chat/completions"), &json!("200"))]);
    assert_eq!((&trace["final_response"], &trace["answer_source"]), (&json!("All done."), &json!("program")));
    assert_eq!(trace["conversation"]["tokens"], json!({ "input": 10, "output": 5, "total": 15 }));
    let requests = model.requests();
    assert_eq!(
        (requests[0].path.as_str(), requests[0].header("authorization")),
        ("/v1/chat/completions", format!("Bearer {KEY}").as_str())
    );
}

#[test]
fn a_signal_a_missing_program_and_an_unseen_model_have_their_own_exit_codes() {
    let (here, model) = (Folder::with(&[]), model());
    let (output, trace) = recorded(&here, &model, &[], &["ask", "die"]);
    assert_eq!((output.status.code(), &trace["program"]["exit"]), (Some(137), &json!(137)));
    let output = here.command(&["record", "--", "no-such-program"]).output().unwrap();
    assert_eq!(output.status.code(), Some(127), "{}", text(&output.stderr));
    for wrong in [&["record"][..], &["record", "--bogus", "--", "true"], &["record", "--server", "x", "--", "true"]] {
        let output = here.command(wrong).output().unwrap();
        assert_eq!(output.status.code(), Some(125), "{}", text(&output.stderr));
        assert!(text(&output.stderr).starts_with("error[bad-argument]: "), "{}", text(&output.stderr));
    }
    let output = record(&here, &model, &["--out", "other.jsonl"], &["0"]).output().unwrap();
    assert_eq!(output.status.code(), Some(125), "{}", text(&output.stderr));
    assert!(text(&output.stderr).starts_with("error[model-unseen]: "), "{}", text(&output.stderr));
    let output = record(&here, &model, &["--out", "other.jsonl"], &["3"]).output().unwrap();
    assert_eq!(output.status.code(), Some(3), "the program failed before it called its model");
    assert!(!here.0.join("other.jsonl").exists());
    let output = record(&here, &model, &["--out", "no/such/folder.jsonl"], &["ask"]).output().unwrap();
    assert_eq!((output.status.code(), model.requests().len()), (Some(125), 1), "nothing runs that cannot be recorded");
}

#[test]
fn model_responses_arrive_byte_for_byte() {
    let events = "event: odd\r\ndata: {\"choices\":[]}\n\n: comment\ndata: not json\n\ndata: [DONE]\n\n";
    let model = Loopback::start(move |_, count| match count {
        1 => Answer::status(200, "content-type: text/event-stream\r\n", events),
        _ => Answer::status(429, "retry-after: 7\r\n", "{\"error\":{\"message\":\"slow down\"}}"),
    });
    let here = Folder::with(&[]);
    let (output, _) = recorded(&here, &model, &["--ledger", "ledger.jsonl"], &["raw", "status"]);
    assert_eq!(text(&output.stdout), format!("{events}429 7 {{\"error\":{{\"message\":\"slow down\"}}}}\n"));
    let ledger = fs::read_to_string(here.0.join("ledger.jsonl")).unwrap();
    assert!(ledger.contains("\"retry-after\":\"7\"") && ledger.contains("\"status\":429"), "{ledger}");
}

#[test]
fn proxies_answer_only_on_their_path_and_only_to_this_machine() {
    let (here, model) = (Folder::with(&[]), model());
    let (output, _) = recorded(&here, &model, &[], &["guards"]);
    assert_eq!(text(&output.stdout), "200\n404\n403\n403\n200\n404\n426\n200\n");
    assert_eq!(model.requests().len(), 3);
}

#[test]
fn a_model_that_cannot_be_reached_is_an_error_of_the_gateway() {
    let here = Folder::with(&[]);
    let model = model();
    let mut command = record(&here, &model, &[], &["status"]);
    let output = command.env("OPENAI_BASE_URL", "http://127.0.0.1:1/v1").output().unwrap();
    assert!(text(&output.stdout).starts_with("502 None mcptest: cannot reach 127.0.0.1: "), "{}", text(&output.stdout));
}

/// Processes with these words in their command line.
fn running(words: &str) -> usize {
    let wanted = words.replace(' ', "\0");
    let processes =
        fs::read_dir("/proc").unwrap().filter_map(|entry| fs::read(entry.ok()?.path().join("cmdline")).ok());
    processes.filter(|line| text(line).contains(&wanted)).count()
}

#[test]
fn leftover_processes_are_ended_and_block_nothing() {
    let (here, model) = (Folder::with(&[]), model());
    let (output, _) = recorded(&here, &model, &[], &["ask", "fork", "escape"]);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    assert_eq!(running("sleep 987"), 0);
}

#[test]
fn a_flood_of_output_passes_and_is_not_kept() {
    let (here, model) = (Folder::with(&[]), model());
    let (output, trace) = recorded(&here, &model, &[], &["ask", "flood"]);
    assert_eq!(output.stdout.len(), "All done.\n".len() + (20 << 20));
    assert!(text(&output.stderr).starts_with("warning[no-answer]: "), "{}", text(&output.stderr));
    assert_eq!((trace.get("final_response"), trace.get("answer_source")), (None, None));
}

fn send(signal: &str, to: &std::process::Child) {
    assert!(Command::new("kill").args([signal, &to.id().to_string()]).status().unwrap().success());
}

/// Interrupts a recording when its program says that it is ready, and returns what it leaves.
#[track_caller]
fn interrupted(here: &Folder, mut command: Command, signal: &str) -> Value {
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let lines = BufReader::new(child.stdout.take().unwrap()).lines();
    assert!(lines.map_while(Result::ok).any(|line| line == "ready"));
    send(signal, &child);
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(130), "{}", text(&output.stderr));
    let trace = traces(here).remove(0);
    assert_eq!(trace["program"]["incomplete"], "it was stopped", "{trace}");
    trace
}

#[test]
fn ctrl_c_ends_the_group_and_keeps_an_incomplete_recording() {
    let (here, model) = (Folder::with(&[]), model());
    let trace = interrupted(&here, record(&here, &model, &[], &["ask", "fork", "hang"]), "-INT");
    assert_eq!(trace["conversation"]["tokens"]["total"], 15);
    assert_eq!(running("agent.py ask fork hang"), 0);
    here.write("gates.yml", b"narrative: {}\ntrajectory: { mode: subset, calls: [] }\n");
    let scored = here.command(&["score", "traces.jsonl", "--gates", "gates.yml"]).output().unwrap();
    assert_eq!(scored.status.code(), Some(1), "{}", text(&scored.stderr));
    assert!(text(&scored.stdout).contains("unassessable"), "{}", text(&scored.stdout));
}

#[test]
fn a_closed_terminal_ends_a_recording_like_ctrl_c_unless_hangups_are_ignored() {
    let (here, model) = (Folder::with(&[]), model());
    // The tests themselves may run where hangups are ignored.
    let with = |option: &str, words: &[&str]| {
        let typed = record(&here, &model, &[], words);
        let mut command = Command::new("env");
        command.arg(option).arg(typed.get_program()).args(typed.get_args());
        command.envs(typed.get_envs().filter_map(|(name, value)| Some((name, value?))));
        command.current_dir(typed.get_current_dir().unwrap());
        command
    };
    interrupted(&here, with("--default-signal=HUP", &["ask", "hang"]), "-HUP");
    assert_eq!(running("agent.py ask hang"), 0);

    let mut command = with("--ignore-signal=HUP", &["ask", "fork", "hang"]);
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let lines = BufReader::new(child.stdout.take().unwrap()).lines();
    assert!(lines.map_while(Result::ok).any(|line| line == "ready"));
    send("-HUP", &child);
    thread::sleep(Duration::from_millis(500));
    assert_eq!(child.try_wait().unwrap(), None);
    send("-INT", &child);
    assert_eq!(child.wait().unwrap().code(), Some(130));
}

#[test]
fn recordings_at_the_same_time_share_a_file_without_loss() {
    let (here, model) =
        (Folder::with(&[("traces.jsonl", "{\"final_response\":\"old, without a line end\"}")]), model());
    thread::scope(|scope| {
        for code in 1..=8 {
            let (here, model) = (&here, &model);
            scope.spawn(move || record(here, model, &[], &["ask", &code.to_string()]).output().unwrap());
        }
    });
    let mut exits: Vec<i64> = traces(&here).iter().filter_map(|trace| trace["program"]["exit"].as_i64()).collect();
    exits.sort_unstable();
    assert_eq!((exits, traces(&here).len()), ((1..=8).collect(), 9));
}

/// Every file below a folder with its bytes.
fn files(folder: &Path, found: &mut Vec<(String, Vec<u8>)>) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            files(&entry.path(), found);
        } else {
            found.push((entry.path().display().to_string(), fs::read(entry.path()).unwrap_or_default()));
        }
    }
}

#[test]
fn a_secret_is_never_written_even_if_it_is_split_or_the_recorder_is_killed() {
    let pieces: Vec<String> = KEY.as_bytes().chunks(5).map(text).collect();
    let event = |piece| json!({ "choices": [{ "index": 0, "delta": { "content": piece } }] });
    let events = pieces.iter().fold(String::new(), |all, piece| format!("{all}data: {}\n\n", event(piece)));
    let model = Loopback::start(move |request, _| {
        if request.body["stream"] == json!(true) {
            Answer::status(200, "content-type: text/event-stream\r\n", format!("{events}data: [DONE]\n\n"))
        } else {
            Answer::json(&reply(&format!("Your key is {KEY}.")))
        }
    });
    let here = Folder::with(&[("tmp/x", "")]);
    let temp = here.0.join("tmp");
    let (output, trace) = {
        let mut command = record(&here, &model, &["--ledger", "ledger.jsonl"], &["raw", "ask"]);
        let output = command.env("TMPDIR", &temp).output().unwrap();
        (output, traces(&here).remove(0))
    };
    assert!(text(&output.stdout).contains(KEY), "the program sees the reply of its model");
    assert!(trace.to_string().contains("[redacted:OPENAI_API_KEY]"), "{trace}");
    let mut command = record(&here, &model, &["--ledger", "ledger.jsonl"], &["raw", "ask", "hang"]);
    let mut child = command.env("TMPDIR", &temp).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    let lines = BufReader::new(child.stdout.take().unwrap()).lines();
    assert!(lines.map_while(Result::ok).any(|line| line == "ready"));
    child.kill().unwrap();
    child.wait().unwrap();
    thread::sleep(Duration::from_millis(50));
    let mut found = Vec::new();
    files(&here.0, &mut found);
    assert!(found.len() >= 3, "{found:?}");
    for (name, bytes) in found {
        assert!(!text(&bytes).contains(KEY), "{name}");
        let joined = text(&bytes).replace("\"},\"index\":0}]}},{\"data\":{\"choices\":[{\"delta\":{\"content\":\"", "");
        assert!(!joined.contains(KEY), "{name}");
    }
}

#[test]
fn a_secret_of_a_server_is_never_written() {
    let secret = "planted-server-token-77aa";
    let tools =
        "mock_server: { name: shop, tools: [{ name: refund, answer: the token is planted-server-token-77aa }] }\n";
    let (here, model) = (Folder::with(&[("in/tools.yml", tools)]), model());
    let server = format!("shop=SHOP_TOKEN={secret} {} mock --tools-from in/tools.yml", env!("CARGO_BIN_EXE_mcptest"));
    let (output, trace) = recorded(&here, &model, &["--server", &server, "--ledger", "l.jsonl"], &["ask", "call"]);
    assert!(text(&output.stdout).contains(secret), "the program sees the result of its server");
    let text = &trace["tool_results"][0]["content"][0]["text"];
    assert_eq!(text, "the token is [redacted:SHOP_TOKEN]", "{trace}");
    for file in ["traces.jsonl", "l.jsonl"] {
        assert!(!fs::read_to_string(here.0.join(file)).unwrap().contains(secret), "{file}");
    }
}
