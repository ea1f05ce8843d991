//! `mcptest cassette scan`: secrets in files that were written before, by their places and never by what they are.

use serde_json::{Value, json};

use super::Folder;

const SUITE: &str = "\
servers:
  desk: { url: \"http://127.0.0.1:1/\", bearer_token_env: DESK_TOKEN, headers: { X-Team: \"${TEAM}\" } }
models:
  demo: { provider: script, script: demo.yml }
agents:
  - { name: books, model: demo, servers: [desk], prompt: Book a seat., trajectory: { calls: [] } }
";

const SCRIPT: &str = "script: 1\nruns:\n  - turns: [{ text: Done. }]\n";
const TOKEN: &str = "violet-otter-1111";
const AT: &str = "t/cassettes/s/books/demo/1.json";

/// A key with a well-known shape; no file in the repository has it.
fn key() -> String {
    format!("gh{}_{}", "p", "a1B2".repeat(9))
}

/// What replaces it.
fn placeholder() -> String {
    format!("[redacted:github-token:{}]", mcptest_core::redact::short_hash(&key()))
}

/// A folder with a suite, and a recording from before anything was taken out.
fn here(recording: &Value) -> Folder {
    let text = recording.to_string();
    Folder::with(&[("t/s.yml", SUITE), ("t/demo.yml", SCRIPT), (AT, &text)])
}

/// A recording with a key of each kind: by shape, by value, escaped, as a key and as a number.
fn leaky() -> Value {
    let escaped = TOKEN.replace('o', "\\u006f");
    json!({
        "mcptest": 1,
        "trace": { "final_response": format!("It is {}, or {}.", key(), TOKEN), "tool_results": [{ TOKEN: [{ "a/b": escaped }] }] },
        "pin": 1_234_567_890,
        "clean": ["8e72926d9bc00524f716aa390ff738e16540bb01", "[redacted:DESK_TOKEN]", 7],
    })
}

const HINT: &str = "hint: revoke them first, since anyone with the files has them; then re-record, or write the\n      \
                    placeholders into the files\n";

#[track_caller]
fn check(here: &Folder, line: &[&str], code: i32, stdout: &str, stderr: &str) {
    let mut command = here.command(&[&["cassette", "scan"], line].concat());
    let output = command.env("DESK_TOKEN", TOKEN).env("TEAM", "1234567890").output().unwrap();
    for secret in [key().as_str(), TOKEN] {
        let all = [output.stdout.clone(), output.stderr.clone()].concat();
        assert!(!String::from_utf8_lossy(&all).contains(&secret[..12]), "{output:?}");
    }
    super::check(&output, code, stdout, stderr);
}

#[test]
fn secrets_are_reported_by_file_place_and_placeholder() {
    let here = here(&leaky());
    let found = format!(
        "{AT}\n  /pin: [redacted:TEAM]\n  /trace/final_response: [redacted:DESK_TOKEN]\n  /trace/final_response: {}\n  \
         /trace/tool_results/0/[redacted:DESK_TOKEN]: [redacted:DESK_TOKEN]\n  \
         /trace/tool_results/0/[redacted:DESK_TOKEN]/0/a~1b: [redacted:DESK_TOKEN]\n\n3 secrets in 1 of 1 file\n{HINT}",
        placeholder()
    );
    for meant in ["t", "t/s.yml", "."] {
        let found = if meant == "." { found.replace(AT, &format!("./{AT}")) } else { found.clone() };
        check(&here, &[meant], 1, &found, "");
    }
    check(&here, &["t", "t/s.yml", AT], 1, &found, "");
    // A file on its own has no suite that names variables.
    let shape = format!("{AT}\n  /trace/final_response: {}\n\n1 secret in 1 of 1 file\n{HINT}", placeholder());
    check(&here, &[AT], 1, &shape, "");
}

#[test]
fn json_output_has_the_same_findings() {
    let here = here(&json!({ "mcptest": 1, "a": { "b": [TOKEN, key()] } }));
    let mut command = here.command(&["cassette", "scan", "t", "--format", "json"]);
    let output = command.env("DESK_TOKEN", TOKEN).output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    let found: Value = serde_json::from_slice(&output.stdout).unwrap();
    let one = |at: u32, kind: &str, placeholder: &str| json!({ "file": AT, "line": null, "pointer": format!("/a/b/{at}"), "kind": kind, "placeholder": placeholder });
    let findings = [one(0, "variable", "[redacted:DESK_TOKEN]"), one(1, "github-token", &placeholder())];
    assert_eq!(found, json!({ "version": 1, "files": 1, "findings": findings, "unset": ["TEAM"] }));
    let note = "note: TEAM is not set, so its value is not searched for\n";
    assert_eq!(String::from_utf8(output.stderr).unwrap(), note);
}

#[test]
fn reports_of_every_kind_and_broken_files_are_searched() {
    let here = Folder::with(&[
        ("r/report.ndjson", &format!("{{\"a\": 1}}\n\n{{\"a\": {{\"b\": \"{}\"}}}}\nnot JSON {}\n", key(), key())),
        ("r/report.xml", &format!("<a>\n<b c=\"{}\"/>\n", key())),
        ("r/broken.json", &format!("{{\"a\":\n\"{}", key())),
        ("r/deep.json", &format!("{}\"{}\"{}", "[".repeat(300), key(), "]".repeat(300))),
        ("r/clean.md", "nothing"),
        ("r/picture.png", &key()),
    ]);
    let one = placeholder();
    let found = format!(
        "r/broken.json\n  line 2: {one}\nr/deep.json\n  line 1: {one}\nr/report.ndjson\n  line 3 /a/b: {one}\n  \
         line 4: {one}\nr/report.xml\n  line 2: {one}\n\n1 secret in 4 of 5 files\n{HINT}"
    );
    check(&here, &["r"], 1, &found, "");
}

#[test]
fn clean_files_are_reported_as_clean() {
    let here = here(&json!({ "mcptest": 1, "a": "[redacted:DESK_TOKEN] and [redacted:github-token:0a1b2c3d]" }));
    check(&here, &["t"], 0, "no secrets in 1 file\n", "");
    let here = Folder::with(&[("mcptest.yml", SUITE), ("demo.yml", SCRIPT)]);
    check(&here, &[], 0, "no secrets in 0 files\n", "");
    check(&here, &["."], 0, "no secrets in 0 files\n", "");
}

#[test]
fn unreadable_files_are_errors_and_the_rest_is_searched() {
    let here = here(&json!({ "a": key() }));
    let missing =
        "error[no-such-file]: t/gone.json: no such file or folder\nhint: paths are relative to the current folder\n";
    let found = format!("{AT}\n  /a: {}\n\n1 secret in 1 of 2 files\n{HINT}", placeholder());
    check(&here, &["t/gone.json", AT], 2, &found, missing);
    // A pipe or an archive is not reported as free of secrets.
    assert!(std::process::Command::new("mkfifo").arg(here.0.join("pipe.json")).status().unwrap().success());
    here.write("packed.json", b"\x1f\x8b\x08\0");
    here.write("wide.json", b"\xff\xfe{\0}\0");
    for (file, why) in [("pipe.json", "a pipe"), ("packed.json", "it is packed"), ("wide.json", "it is UTF-16")] {
        let output = here.command(&["cassette", "scan", file]).output().unwrap();
        let stderr = String::from_utf8(output.stderr).unwrap();
        assert!(output.status.code() == Some(2) && stderr.contains(why), "{stderr}");
    }
    here.write("bad/s.yml", b"agents: 7\n");
    here.write("bad/r.json", b"{}");
    let output = here.command(&["cassette", "scan", "bad"]).output().unwrap();
    assert_eq!((output.status.code(), &*output.stdout), (Some(2), &b"no secrets in 1 file\n"[..]));
    let mistake = "bad/s.yml:1:9: error[wrong-type]: `agents` must be a list of agent tests, found a number (7)\n";
    assert_eq!(String::from_utf8(output.stderr).unwrap().lines().next(), Some(mistake.trim_end()));
    here.write("empty/x.txt", b"");
    let none = "error[empty-folder]: empty: no recording and no report in this folder or below it\n\
                hint: hidden files and folders are skipped; name the file itself\n";
    check(&here, &["empty"], 2, "no secrets in 0 files\n", none);
    let nothing = "error[no-suite-named]: no suite was named, and there is no mcptest.yaml or mcptest.yml in the current folder\n\
                   hint: name a file or a folder, as in `mcptest cassette scan tests/`; `mcptest init` writes a first suite\n";
    check(&here, &[], 2, "", nothing);
}

#[test]
fn scoring_prints_nothing_in_the_shape_of_a_key() {
    let answer = format!("It is {}.", key());
    let good = json!({ "tool_calls": [{ "name": "a", "args": { "k": key() } }], "final_response": answer });
    let bad = json!({ "messages": [{ "role": key(), "content": "x" }] });
    let gates = "trajectory: { calls: [{ name: a, args: { exact: { k: nothing } } }] }\n\
                 expect: [{ target: final_response, matcher: { exact: nothing } }]\n";
    let here =
        Folder::with(&[("gates.yml", gates), ("good.jsonl", &format!("{good}\n")), ("bad.jsonl", &format!("{bad}\n"))]);
    for (file, format, code) in [("good.jsonl", "envelope", 1), ("bad.jsonl", "openai-chat", 2)] {
        let output = here.command(&["score", file, "--from", format, "--gates", "gates.yml"]).output().unwrap();
        let all = String::from_utf8([output.stdout.clone(), output.stderr.clone()].concat()).unwrap();
        assert_eq!(output.status.code(), Some(code), "{all}");
        assert!(all.contains(&placeholder()) && !all.contains(&key()[..12]), "{all}");
    }
}
