//! `mcptest run --rerun`: a program runs again, with its code as it is now and the answers of its recording.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use serde_json::{Value, json};

use super::models::provider::{Answer, Loopback, Request};
use super::programs::{sha256, text};
use super::{Folder, root, skip};

const CLIENT: &str = include_str!("programs/mcp_http.py");
const TOOLS: &str = include_str!("rerun/tools.yml");
const SUITE: &str = include_str!("rerun/suite.yml");

fn source() -> String {
    fs::read_to_string(root().join("crates/cli/tests/it/rerun/agent.py")).unwrap()
}

/// Overloaded at first. Then it asks for both notes at once, and answers.
fn model() -> Loopback {
    Loopback::start(|request, count| match count {
        1 => Answer::status(529, "retry-after: 0\r\n", "{\"error\":{\"message\":\"overloaded\"}}"),
        _ => Answer::json(&reply(request)),
    })
}

fn reply(request: &Request) -> Value {
    let messages = request.body["messages"].as_array().cloned().unwrap_or_default();
    let call = |id: &str, name: &str, args: Value| json!({ "id": id, "type": "function", "function": { "name": name, "arguments": args.to_string() } });
    let message = if messages.iter().any(|message| message["role"] == "tool") {
        json!({ "role": "assistant", "content": "It rains." })
    } else {
        let calls = [call("c1", "search", json!({ "q": "rain" })), call("c2", "read_note", json!({ "id": 7 }))];
        json!({ "role": "assistant", "content": null, "tool_calls": calls })
    };
    let finish = if message.get("tool_calls").is_some() { "tool_calls" } else { "stop" };
    json!({
        "id": "c", "object": "chat.completion", "created": 1, "model": "m",
        "choices": [{ "index": 0, "finish_reason": finish, "message": message }],
        "usage": { "prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15 },
    })
}

/// A folder with the suite, the agent and a recording.
fn recorded() -> Folder {
    let here =
        Folder::with(&[("s.yml", SUITE), ("tools.yml", TOOLS), ("agent.py", &source()), ("mcp_http.py", CLIENT)]);
    let model = model();
    let mut command = mcptest(&here, &["run", "--record", "s.yml"]);
    command.env("OPENAI_BASE_URL", model.base() + "/v1").env("OPENAI_API_KEY", "sk-test-0123456789abcdef");
    let output = command.output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", text(&output));
    assert_eq!(model.requests().len(), 3);
    here
}

fn mcptest(here: &Folder, words: &[&str]) -> Command {
    let mut command = here.command(words);
    command.env("PATH", option_env!("PATH").unwrap_or("/usr/local/bin:/usr/bin:/bin"));
    command
}

fn rerun(here: &Folder, flags: &[&str]) -> Output {
    mcptest(here, &[&["run", "--rerun"], flags, &["s.yml"]].concat()).output().unwrap()
}

/// Changes the code of the agent.
#[track_caller]
fn edit(here: &Folder, from: &str, to: &str) {
    assert!(source().contains(from), "{from}");
    here.write("agent.py", source().replace(from, to).as_bytes());
}

/// A text without its line ends, which depend on the width.
fn words(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// The text of an error, without its context.
#[expect(clippy::panic, reason = "a test that cannot run its subject fails loudly")]
#[track_caller]
fn diverged(output: &Output) -> String {
    let all = text(output);
    assert_eq!(output.status.code(), Some(2), "{all}");
    let start = all.find("error[rerun-diverged]: ").unwrap_or_else(|| panic!("{all}"));
    let end = all[start..].find("hint: ").unwrap_or_else(|| panic!("{all}"));
    words(&all[start..start + end])
}

/// What is printed about a program that diverges.
pub(crate) fn diverging() -> String {
    let here = recorded();
    edit(&here, "\"arguments\": args", "\"arguments\": {}");
    text(&rerun(&here, &[]))
}

const FIX: &str = "fix the program, or if the change is intended, re-record it: mcptest run --record s.yml";

#[test]
fn equivalent_code_passes_without_a_key() {
    let here = recorded();
    let output = rerun(&here, &[]);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output));
    assert!(text(&output).contains("rerun"), "{}", text(&output));
    edit(&here, "results = []", "results = list()  # The same in other words.");
    let output = rerun(&here, &[]);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output));
    let output = rerun(&here, &["--tools", "live"]);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output));
}

#[test]
fn a_renamed_argument_is_found() {
    let here = recorded();
    edit(&here, "\"arguments\": args", "\"arguments\": {\"query\": args[\"q\"]} if \"q\" in args else args");
    let message = "error[rerun-diverged]: program `agent` diverged from its recording: `tools/call search` of server `desk` is not \
                what was recorded\n\
                /arguments/q is now /arguments/query, with the same value";
    let output = rerun(&here, &[]);
    assert_eq!(diverged(&output), words(message));
    assert!(words(&text(&output)).contains(FIX), "{}", text(&output));
    // A server that was started again does not get unrecorded calls either.
    assert_eq!(diverged(&rerun(&here, &["--tools", "live"])), words(message));
}

#[test]
fn a_changed_prompt_is_found() {
    let here = recorded();
    edit(&here, "Be brief.", "Be brief and kind.");
    let message = diverged(&rerun(&here, &[]));
    let expected = "error[rerun-diverged]: program `agent` diverged from its recording: model request 1 of 3 (POST \
                    /v1/chat/completions) is not what was recorded\n\
                    first difference: /messages/0/content\nline 2:\n- \"Be brief.\"\n+ \"Be brief and kind.\"";
    assert_eq!(message, words(expected));
}

#[test]
fn swapped_calls_are_found() {
    let here = recorded();
    edit(&here, "in message[\"tool_calls\"]:", "in reversed(message[\"tool_calls\"]):");
    let message = diverged(&rerun(&here, &[]));
    let expected = "error[rerun-diverged]: program `agent` diverged from its recording: `tools/call read_note` of server `desk` \
                    came before `tools/call search` of server `desk`; in the recording it came after";
    assert_eq!(message, words(expected));
}

#[test]
fn a_removed_retry_is_found() {
    let here = recorded();
    edit(&here, "RETRIES = 2", "RETRIES = 1");
    let message = diverged(&rerun(&here, &[]));
    let expected = "error[rerun-diverged]: program `agent` diverged from its recording: the program no longer makes 4 \
                    recorded requests, the first of them model request 2 of 3 (POST /v1/chat/completions)\n\
                    it was recorded as a retry: HTTP status 529 answered the same request before it\n\
                    it ended with exit code 1; its last lines:";
    assert!(message.starts_with(&words(expected)), "{message}");
    assert!(message.contains("HTTP Error 529"), "{message}");
}

#[test]
fn a_server_that_answers_differently_is_found_with_live_tools() {
    let here = recorded();
    here.write("tools.yml", TOOLS.replace("It rains.", "It pours.").as_bytes());
    assert_eq!(rerun(&here, &[]).status.code(), Some(0), "the recording does not know of it");
    let message = diverged(&rerun(&here, &["--tools", "live"]));
    assert!(message.contains("model request 3 of 3"), "{message}");
    let at = "first difference: /messages/4/content ";
    assert!(message.contains(at) && message.contains("It rains.") && message.contains("It pours."), "{message}");
    let cause = "its cause may be a server: the answer to `tools/call read_note` of server `desk` is not the recorded one first \
                 difference: /result/content/0/text recorded: \"It rains.\" now: \"It pours.\"";
    assert!(message.contains(cause), "{message}");
}

#[test]
fn what_happened_is_judged_by_the_gates() {
    let here = recorded();
    // Its requests are the same, and its answer differs.
    edit(&here, "print(message[\"content\"])", "print(\"All is well.\")");
    let output = rerun(&here, &[]);
    assert_eq!(output.status.code(), Some(1), "{}", text(&output));
    assert!(text(&output).contains("All is well."), "{}", text(&output));
    assert!(text(&output).contains("--rerun"), "the command to judge it again: {}", text(&output));
    // Up to the divergence.
    edit(&here, "Be brief.", "Be kind.");
    let output = rerun(&here, &["--on-divergence", "judge"]);
    assert_eq!(output.status.code(), Some(1), "{}", text(&output));
    assert!(words(&text(&output)).contains("it was judged up to where program `agent` diverged"), "{}", text(&output));
    edit(&here, "    messages.extend(results)\n", "    messages.extend(results)\n        break\n");
    here.write(
        "agent.py",
        fs::read_to_string(here.0.join("agent.py"))
            .unwrap()
            .replace("print(message[\"content\"])", "print(\"It rains.\")")
            .as_bytes(),
    );
    assert!(
        diverged(&rerun(&here, &[])).contains(
            "model request 3 of 3 (POST /v1/chat/completions) was recorded, and the program no longer makes it"
        )
    );
    let output = rerun(&here, &["--on-divergence", "judge"]);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output));
}

/// The reports of one rerun: JSON and `JUnit`.
fn reports(here: &Folder, command: &mut Command, name: &str) -> (Vec<u8>, Vec<u8>) {
    let paths: Vec<PathBuf> = ["json", "xml"].iter().map(|end| here.0.join(format!("{name}.{end}"))).collect();
    command.args(["--reporter", &format!("json={}", paths[0].display())]);
    let output = command.args(["--reporter", &format!("junit={}", paths[1].display())]).output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", text(&output));
    (fs::read(&paths[0]).unwrap(), fs::read(&paths[1]).unwrap())
}

#[test]
fn a_rerun_gives_the_same_bytes_every_time() {
    let here = recorded();
    let first = reports(&here, &mut mcptest(&here, &["run", "--rerun", "s.yml"]), "first");
    for (at, zone) in ["UTC", "Asia/Tokyo", "America/New_York"].into_iter().enumerate() {
        let mut command = mcptest(&here, &["run", "--rerun", "--jobs", "8", "s.yml"]);
        command.env("TZ", zone).env("LANG", "tr_TR.UTF-8").env("OPENAI_API_KEY", "sk-test-another-key-0000");
        assert!(reports(&here, &mut command, &format!("again{at}")) == first, "{zone}");
    }
    // It is the report of a replay, except for where the evidence comes from.
    let replayed = reports(&here, &mut mcptest(&here, &["run", "s.yml"]), "replayed");
    let as_replay = String::from_utf8(first.0).unwrap().replace("\"rerun\"", "\"replayed\"");
    assert_eq!(as_replay, String::from_utf8(replayed.0).unwrap());
}

#[test]
fn a_request_to_another_host_is_refused_by_name() {
    let here = recorded();
    let elsewhere = "    try:\n        urllib.request.urlopen(\"http://example.test/\")\n    except urllib.error.HTTPError as error:\n        \
                     print(error.code, error.read().decode())\n";
    edit(&here, "    print(message[\"content\"])\n", &format!("{elsewhere}    print(message[\"content\"])\n"));
    let output = rerun(&here, &["--reporter", "json"]);
    let refused = "403 mcptest: a rerun reaches only its recording, not example.test";
    assert!(words(&text(&output)).contains(refused), "{}", text(&output));
}

#[test]
fn a_rerun_works_with_only_the_loopback_interface() {
    let here = recorded();
    let probe = Command::new("unshare").args(["-rn", "sh", "-c", "ip link set lo up"]).output();
    if !probe.is_ok_and(|probe| probe.status.success()) {
        skip(
            "no network namespace can be made here (`unshare -rn`, `ip`), so nobody saw that a rerun needs no network",
        );
        return;
    }
    let isolated = |line: &str| {
        let script = format!("ip link set lo up && {line}");
        let mut command = Command::new("unshare");
        command.args(["-rn", "sh", "-c", &script, env!("CARGO_BIN_EXE_mcptest")]).current_dir(&here.0).env_clear();
        command.env("PATH", option_env!("PATH").unwrap_or("/usr/bin:/bin")).output().unwrap()
    };
    let outside = isolated("exec python3 -c 'import socket; socket.create_connection((\"192.0.2.1\", 9), 5)'");
    assert!(text(&outside).contains("Network is unreachable"), "{}", text(&outside));
    for flags in ["", " --tools live"] {
        let output = isolated(&format!("exec \"$0\" run --rerun{flags} s.yml"));
        assert_eq!(output.status.code(), Some(0), "{}", text(&output));
    }
}

/// Aborts a process that connects to another host, and logs the address.
#[cfg(target_os = "linux")]
#[test]
fn no_process_of_a_rerun_connects_to_another_host() {
    let here = recorded();
    let library = here.0.join("loopback_only.so");
    let source = root().join("crates/cli/tests/it/rerun/loopback_only.c");
    let built = Command::new("cc").args(["-shared", "-fPIC", "-o"]).arg(&library).arg(source).arg("-ldl").output();
    if !built.as_ref().is_ok_and(|built| built.status.success()) {
        skip(&format!("no C compiler: {built:?}"));
        return;
    }
    let log = here.0.join("connections.log");
    let watched = |flags: &[&str]| {
        let mut command = mcptest(&here, &[&["run", "--rerun"], flags, &["s.yml"]].concat());
        command.env("LD_PRELOAD", &library).env("LOOPBACK_ONLY_LOG", &log).output().unwrap()
    };
    for flags in [&[][..], &["--tools", "live"]] {
        let output = watched(flags);
        assert_eq!(output.status.code(), Some(0), "{}", text(&output));
        assert!(!log.exists(), "{}", fs::read_to_string(&log).unwrap());
    }
    // It does see the program.
    for (line, address) in [
        ("__import__(\"socket\").create_connection((\"192.0.2.1\", 9), 5)", "192.0.2.1"),
        ("__import__(\"socket\").getaddrinfo(\"example.test\", 80)", "example.test"),
    ] {
        edit(&here, "    print(message[\"content\"])\n", &format!("    {line}\n    print(message[\"content\"])\n"));
        let output = watched(&[]);
        assert_eq!(output.status.code(), Some(1), "{}", text(&output));
        assert_eq!(fs::read_to_string(&log).unwrap().trim_end(), address);
        fs::remove_file(&log).unwrap();
    }
}

#[test]
fn a_changed_recording_is_refused() {
    let here = recorded();
    let folder = found(&here);
    let (cassette, ledger) = (folder.join("1.json"), folder.join("1.ledger.jsonl"));
    let (whole, lines) = (fs::read_to_string(&cassette).unwrap(), fs::read_to_string(&ledger).unwrap());
    let check_error = |what: &str| {
        let output = rerun(&here, &[]);
        assert_eq!(output.status.code(), Some(2), "{}", text(&output));
        assert!(words(&text(&output)).contains(what), "{what}: {}", text(&output));
    };
    let changed =
        "1.ledger.jsonl: the ledger was changed or cut off after the recording: its SHA-256 is not the recorded one";
    fs::write(&ledger, lines.replace("It rains.", "It pours.")).unwrap();
    check_error(changed);
    fs::write(&ledger, &lines[..lines.len() / 2]).unwrap();
    check_error(changed);
    fs::write(&ledger, lines.replace('\n', "\r\n")).unwrap();
    check_error(&format!("{changed}; it has CRLF line ends, which git may have added"));
    fs::remove_file(&ledger).unwrap();
    check_error(
        "the ledger of the recording is missing. It must be committed with the recording; check that git does not ignore \
          *.ledger.jsonl",
    );
    check_error("restore the file, or re-record it: mcptest run --record s.yml");
    // A ledger of a later format, under its own hash.
    let renamed = |lines: &str| {
        fs::write(&ledger, lines).unwrap();
        let mut changed: Value = serde_json::from_str(&whole).unwrap();
        changed["ledger"] = sha256(lines.as_bytes()).into();
        accept(&here, &cassette, &changed);
    };
    renamed(&lines.replacen("\"mcptest_ledger\":2", "\"mcptest_ledger\":3", 1));
    check_error("line 1: it has version 3 of the format, and this mcptest reads 1 to 2");
    renamed(&lines[..lines.len() / 2]);
    check_error("1.ledger.jsonl: line ");
    // The oldest format has all that a rerun without injected faults needs.
    renamed(&lines.replacen("\"mcptest_ledger\":2", "\"mcptest_ledger\":1", 1));
    assert_eq!(rerun(&here, &[]).status.code(), Some(0));
    let mut without: Value = serde_json::from_str(&whole).unwrap();
    without.as_object_mut().unwrap().remove("ledger");
    accept(&here, &cassette, &without);
    check_error("1.json: it has no ledger of the program's requests, so it cannot be rerun");
    check_error("hint: re-record it: mcptest run --record s.yml");
    assert_eq!(mcptest(&here, &["run", "s.yml"]).output().unwrap().status.code(), Some(0), "it can be replayed");
    let mut faulty: Value = serde_json::from_str(&whole).unwrap();
    faulty["trace"]["program"]["faults"] =
        json!([{ "duration_ms": 1, "effect": "error", "kind": "error", "ms": 1, "name": "bad" }]);
    fs::write(&ledger, &lines).unwrap();
    accept(&here, &cassette, &faulty);
    check_error(
        "its ledger was recorded by an older mcptest and does not record which requests the injected faults hit",
    );
    fs::write(&cassette, whole.replace("It rains.", "It pours.")).unwrap();
    check_error("error[edited-cassette]");
    fs::write(&cassette, &whole[..whole.len() / 2]).unwrap();
    check_error("error[broken-cassette]");
    fs::write(&cassette, whole.replacen("\"mcptest\": 2", "\"mcptest\": 9", 1)).unwrap();
    check_error("has format version 9, this program reads versions 1 to 2");
    fs::remove_file(&cassette).unwrap();
    check_error("error[no-recording]");
    fs::write(&cassette, &whole).unwrap();
    assert_eq!(rerun(&here, &[]).status.code(), Some(0));
    let refused = rerun(&here, &["--untrusted"]);
    assert_eq!(refused.status.code(), Some(2), "{}", text(&refused));
    let alone = mcptest(&here, &["run", "--tools", "live", "s.yml"]).output().unwrap();
    assert_eq!(alone.status.code(), Some(2), "{}", text(&alone));
}

/// Writes a changed recording, and accepts the change.
#[track_caller]
fn accept(here: &Folder, cassette: &Path, changed: &Value) {
    fs::write(cassette, serde_json::to_string_pretty(changed).unwrap() + "\n").unwrap();
    let output = here.command(&["cassette", "accept", &cassette.to_string_lossy()]).output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", text(&output));
}

/// The folder with the only recording.
fn found(here: &Folder) -> PathBuf {
    let mut folder = here.0.join("cassettes");
    loop {
        let inside: Vec<PathBuf> = fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().path()).collect();
        match inside.into_iter().find(|path| path.is_dir()) {
            Some(next) => folder = next,
            None => return folder,
        }
    }
}
