//! `mcptest cassette`: what is listed, what is shown, what is removed and what never is.

mod rename;

use std::path::PathBuf;

use mcptest_core::diag::Source;
use mcptest_core::suite::{self, Variables};
use mcptest_core::trace::Trace;
use mcptest_runner::cassette::{self, Cassette};
use mcptest_runner::plan::SuiteFile;
use serde_json::{Value, json};

use super::Folder;

const SUITE: &str = "\
models:
  demo: { provider: script, script: demo.yml }
agents:
  - name: books
    models: [gpt-5, demo]
    prompt: Book a seat.
    runs: 3
    trajectory:
      calls: [{ name: book }]
  - name: cancels
    model: demo
    prompt: Cancel it.
    trajectory:
      calls: [{ name: cancel }]
";

const SCRIPT: &str = "script: 1\nruns:\n  - turns: [{ text: Done. }]\n";

/// A folder with the suite and its script.
fn here() -> Folder {
    Folder::with(&[("t/s.yml", SUITE), ("t/demo.yml", SCRIPT)])
}

/// Where the cassettes of the suite lie.
const AT: &str = "t/cassettes/s";

/// Records a run of the suite in its current state.
fn record(here: &Folder, (test, model, run): (&str, &str, u64), trace: &Value) -> PathBuf {
    let path = here.0.join("t/s.yml");
    let source = Source::new("s.yml", std::fs::read_to_string(&path).unwrap());
    let suite = suite::load(&source, &Variables { suite_dir: "t", outside: &|_| None });
    let trust = mcptest_runner::file::Trust::Trusted;
    let file = SuiteFile::new("s.yml".to_owned(), path.clone(), suite.value.unwrap(), trust);
    // A removed test had the prompt of the first one.
    let agents = &file.suite.agents;
    let asked = agents.iter().find(|agent| agent.name == test).unwrap_or(&agents[0]);
    let cassette = Cassette {
        test: test.to_owned(),
        model: model.to_owned(),
        run,
        inputs: file.cell_inputs(asked, model).unwrap().inputs,
        observed: json!({}),
        advisory: None,
        ledger: None,
        trace: Trace::from_envelope(trace).unwrap(),
        version: cassette::VERSION,
        edited: false,
    };
    let folder = cassette::Folder::of(&path);
    folder.save(&cassette).unwrap();
    folder.path(test, model, run)
}

/// Records a run with nothing known about it.
fn record_any(here: &Folder, test: &str, model: &str, run: u64) {
    record(here, (test, model, run), &json!({}));
}

/// Every file and folder below the cassettes, with a slash after folders.
fn tree(here: &Folder) -> Vec<String> {
    fn walk(folder: &std::path::Path, name: &str, out: &mut Vec<String>) {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            let name = format!("{name}{}", path.file_name().unwrap().to_str().unwrap());
            if path.is_dir() && !path.is_symlink() {
                walk(&path, &format!("{name}/"), out);
                out.push(format!("{name}/"));
            } else {
                out.push(name);
            }
        }
    }
    let mut out = Vec::new();
    walk(&here.0.join("t/cassettes"), "", &mut out);
    out.sort();
    out
}

#[test]
fn cassettes_that_fit_are_ok_and_scripted_tests_need_none() {
    let here = here();
    for run in 1..=3 {
        record_any(&here, "books", "gpt-5", run);
    }
    let all = format!(
        "t/s.yml\n  ok       {AT}/books/gpt-5/1.json\n  ok       {AT}/books/gpt-5/2.json\n  \
         ok       {AT}/books/gpt-5/3.json\n\n3 cassettes: 3 ok\n"
    );
    here.check(&["cassette", "list", "t/s.yml"], 0, &all, "");
    // The script next to the suite is not a suite.
    here.check(&["cassette", "list", "t"], 0, &all, "");
    let scripted = SUITE.replace("models: [gpt-5, demo]", "model: demo");
    let here = Folder::with(&[("mcptest.yml", &scripted)]);
    let none = "mcptest.yml\n  no cassettes, and none needed\n\nno cassettes\n";
    here.check(&["cassette", "list"], 0, none, "");
    assert_eq!(std::fs::read_dir(&here.0).unwrap().count(), 1, "looking makes no folder");
}

#[test]
fn stale_and_missing_cassettes_fail_and_unused_ones_do_not() {
    let here = here();
    for (test, model, run) in [("books", "gpt-5", 2), ("books", "demo", 1), ("cancels", "demo", 1)] {
        record_any(&here, test, model, run);
    }
    for (test, model, run) in [("books", "gpt-5", 10), ("cancels", "gpt-5", 1), ("Gone.", "demo", 1)] {
        record_any(&here, test, model, run);
    }
    here.write("t/s.yml", SUITE.replace("Cancel it.", "Cancel it!").as_bytes());
    let all = format!(
        "\
t/s.yml
  ok       {AT}/books/demo/1.json
  missing  {AT}/books/demo/2.json: runs 2 to 3 of `books` on `demo` are not recorded
  missing  {AT}/books/gpt-5/1.json: run 1 of `books` on `gpt-5` is not recorded
  ok       {AT}/books/gpt-5/2.json
  missing  {AT}/books/gpt-5/3.json: run 3 of `books` on `gpt-5` is not recorded
  unused   {AT}/books/gpt-5/10.json: `books` has 3 runs
  stale    {AT}/cancels/demo/1.json: `prompt` was \"Cancel it.\" and is \"Cancel it!\"
  unused   {AT}/cancels/gpt-5/1.json: `cancels` does not run on `gpt-5`
  unused   {AT}/gone-b39d7eda/demo/1.json: there is no test `Gone.`

6 cassettes: 2 ok, 1 stale, 3 unused; 4 missing
hint: to re-record what is stale, broken or missing: mcptest run --record t/s.yml
hint: to remove what is unused: mcptest cassette prune t/s.yml
"
    );
    here.check(&["cassette", "list", "t/s.yml"], 1, &all, "");
    // A script is one of the inputs.
    let here = self::here();
    record_any(&here, "cancels", "demo", 1);
    here.write("t/s.yml", SUITE.replace("models: [gpt-5, demo]", "model: demo").as_bytes());
    here.write("t/demo.yml", SCRIPT.replace("Done.", "Gone.").as_bytes());
    let output = here.command(&["cassette", "list", "t"]).output().unwrap();
    let stdout = String::from_utf8(output.stdout).unwrap();
    let start = format!("t/s.yml\n  stale    {AT}/cancels/demo/1.json: the model's script has changed\n");
    assert!(stdout.starts_with(&start), "{stdout}");
    assert_eq!(output.status.code(), Some(1));
    // Unused cassettes alone are fine.
    let here = self::here();
    record_any(&here, "cancels", "demo", 1);
    record_any(&here, "cancels", "demo", 2);
    here.write("t/s.yml", SUITE.replace("models: [gpt-5, demo]", "model: demo").as_bytes());
    let all = format!(
        "t/s.yml\n  ok       {AT}/cancels/demo/1.json\n  unused   {AT}/cancels/demo/2.json: `cancels` has 1 run\n\n\
         2 cassettes: 1 ok, 1 unused\nhint: to remove what is unused: mcptest cassette prune t/s.yml\n"
    );
    here.check(&["cassette", "list", "t"], 0, &all, "");
}

#[test]
fn a_broken_cassette_says_why() {
    let here = here();
    let path = record(&here, ("cancels", "demo", 1), &json!({}));
    let text = std::fs::read_to_string(path).unwrap();
    here.write(&format!("{AT}/books/gpt-5/1.json"), text.as_bytes());
    here.write(&format!("{AT}/books/gpt-5/2.json"), b"{\"mcptest\": 3}");
    here.write(&format!("{AT}/books/gpt-5/3.json"), b"\xff");
    here.write(&format!("{AT}/cancels/elsewhere/1.json"), text.as_bytes());
    here.write(&format!("{AT}/cancels/other/1.json"), b"[]");
    here.write(&format!("{AT}/gone/demo/1.json"), b"[]");
    // None of these is a name a recorder gives.
    for name in ["books/gpt-5/0.json", "books/gpt-5/01.json", "books/gpt-5/+1.json", "books/gpt-5/notes.txt", "1.json"]
    {
        here.write(&format!("{AT}/{name}"), b"[]");
    }
    let all = format!(
        "\
t/s.yml
  broken   {AT}/books/gpt-5/1.json: is run 1 of `cancels` on `demo`, not run 1 of `books` on `gpt-5`
  broken   {AT}/books/gpt-5/2.json: has format version 3, this program reads versions 1 to 2
  broken   {AT}/books/gpt-5/3.json: is not UTF-8: byte 0
  ok       {AT}/cancels/demo/1.json
  unused   {AT}/cancels/elsewhere/1.json: recordings of `cancels` on `demo` are stored elsewhere
  unused   {AT}/cancels/other/1.json: `cancels` runs on no model that matches its folder
  unused   {AT}/gone/demo/1.json: no test matches its folder

7 cassettes: 1 ok, 3 broken, 3 unused
hint: to re-record what is stale, broken or missing: mcptest run --record t/s.yml
hint: to remove what is unused: mcptest cassette prune t/s.yml
"
    );
    here.check(&["cassette", "list", "t/s.yml"], 2, &all, "");
}

#[test]
fn without_the_script_the_state_of_a_cassette_is_unknown() {
    let here = Folder::with(&[("t/demo.yml", SCRIPT)]);
    here.write("t/s.yml", SUITE.replace("models: [gpt-5, demo]", "model: demo").as_bytes());
    for run in 1..=3 {
        record_any(&here, "books", "demo", run);
    }
    here.write("t/demo.yml", b"script: 1\nrun: []\n");
    let line = |run| format!("  unknown  {AT}/books/demo/{run}.json: its model's script has errors\n");
    let all = format!("t/s.yml\n{}{}{}\n3 cassettes: 3 unknown\n", line(1), line(2), line(3));
    let stderr = "\
error[script-unusable]: t/s.yml: the script has errors
t/demo.yml:2:1: error[unknown-key]: unknown key `run` in a script
   |
 2 | run: []
   | ^^^
   = hint: did you mean `runs`?
";
    here.check(&["cassette", "list", "t/s.yml"], 2, &all, stderr);
    std::fs::remove_file(here.0.join("t/demo.yml")).unwrap();
    let stderr = "\
error[no-such-file]: t/s.yml: script t/demo.yml: cannot be read: No such file or directory (os error 2)
hint: `script:` is a path relative to the suite's folder
";
    here.check(&["cassette", "list", "t/s.yml"], 2, &all, stderr);
    // It is still used.
    here.check(&["cassette", "prune", "t/s.yml", "--yes"], 0, "nothing to remove\n", "");
}

#[test]
fn json_output_is_one_object_with_every_suite() {
    let here = here();
    here.write("t/bad.yml", b"agents: 1\n");
    record_any(&here, "books", "gpt-5", 1);
    record_any(&here, "Gone.", "demo", 1);
    here.write("t/cassettes/s/gone/demo/2.json", b"[]");
    let output = here.command(&["cassette", "list", "t", "--format", "json"]).output().unwrap();
    let refused = String::from_utf8(output.stderr).unwrap();
    assert!(refused.starts_with("t/bad.yml:1:9: error[wrong-type]: "), "{refused}");
    let stdout: Value = serde_json::from_slice(&output.stdout).unwrap();
    let entry = |state: &str, path: &str, test: Value, model: Value, runs: (u64, u64), why: Value| {
        let path = format!("{AT}/{path}");
        json!({
            "state": state, "path": path, "test": test, "model": model, "run": runs.0, "last_run": runs.1, "why": why,
        })
    };
    let (books, gpt) = (json!("books"), json!("gpt-5"));
    assert_eq!(
        stdout,
        json!({
            "version": 1,
            "suites": [
                { "file": "t/bad.yml", "refused": refused.trim_end(), "cassettes": [] },
                {
                    "file": "t/s.yml",
                    "refused": null,
                    "cassettes": [
                        entry("ok", "books/gpt-5/1.json", books.clone(), gpt.clone(), (1, 1), Value::Null),
                        entry(
                            "missing",
                            "books/gpt-5/2.json",
                            books,
                            gpt,
                            (2, 3),
                            json!("runs 2 to 3 of `books` on `gpt-5` are not recorded"),
                        ),
                        entry(
                            "unused",
                            "gone/demo/2.json",
                            Value::Null,
                            Value::Null,
                            (2, 2),
                            json!("no test matches its folder"),
                        ),
                        entry(
                            "unused",
                            "gone-b39d7eda/demo/1.json",
                            json!("Gone."),
                            json!("demo"),
                            (1, 1),
                            json!("there is no test `Gone.`"),
                        ),
                    ],
                },
            ],
            "counts": {
                "ok": 1, "edited": 0, "old": 0, "stale": 0, "broken": 0, "unused": 2, "unknown": 0, "missing": 2,
            },
        })
    );
    assert_eq!(output.status.code(), Some(2));
}

#[test]
fn a_cassette_is_shown_with_its_calls_faults_answer_and_end() {
    let here = here();
    let trace = json!({
        "tool_calls": [
            { "name": "find", "server": "shop", "args": { "order": "1043", "big": "x".repeat(300) } },
            { "name": "pay\u{1b}[2J", "server": "", "args": { "order": "1043" }, "caller": { "type": "code" } },
            { "name": "mail", "server": "shop" },
            { "name": "log", "server": "shop", "args": {} },
            { "name": "log", "server": "shop", "args": {} },
        ],
        "tool_results": [
            { "is_error": false, "content": [], "structured_content": { "total": "12\u{202e}" } },
            {
                "is_error": true,
                "content": [],
                "error": { "kind": "timeout", "message": "no answer\nin time" },
                "fault": { "name": "dead", "kind": "hang", "effect": "timeout", "ms": 3000 },
            },
            { "is_error": true, "content": [], "error": { "kind": "http", "code": 503, "message": "busy" } },
            { "is_error": false, "content": [{ "type": "text", "text": "logged" }] },
            null,
        ],
        "final_response": "I looked it up.\n\u{1b}[31mThe rest failed.",
        "conversation": {
            "tokens": { "input": 10, "output": 5, "cached": 2 },
            "stop_reason": "completed",
            "duration_ms": 42,
        },
    });
    let suite = SUITE.replace("    prompt: Book", "    servers: [shop]\n    prompt: Book");
    here.write("t/s.yml", format!("servers: {{ shop: {{ command: [shop] }} }}\n{suite}").as_bytes());
    record(&here, ("books", "demo", 2), &trace);
    record_any(&here, "cancels", "demo", 1);
    let inputs = |prompt: &str, servers: &str| {
        let script = mcptest_core::redact::hash(SCRIPT.as_bytes());
        let model =
            json!({ "max_tokens": 1024, "name": "demo", "provider": "script", "script_sha256": script }).to_string();
        format!(
            "  inputs\n    inject    []\n    max_turns 10\n    model     {model}\n    prompt    {prompt}\n    \
             servers   {servers}\n"
        )
    };
    let full = format!(
        "\
{AT}/books/demo/2.json
  test     books
  model    demo
  run      2
{}  calls
    [0] find on shop {{\"big\":\"{}…
        ok: {{\"total\":\"12\\u{{202e}}\"}}
    [1] pay\\u{{1b}}[2J on no server {{\"order\":\"1043\"}}, called by {{\"type\":\"code\"}}
        failed (timeout): no answer\\nin time
        fault dead (hang): timeout, 3000 ms
    [2] mail on shop arguments not recorded
        failed (http 503): busy
    [3] log on shop {{}}
        ok: \"logged\"
    [4] log on shop {{}}
        answer not recorded
  answer
    I looked it up.
    \\u{{1b}}[31mThe rest failed.
  tokens   10 input, 2 cached, 5 output, 15 total
  end      completed after 42 ms
",
        inputs("\"Book a seat.\"", r#"{"shop":{"command":["shop"],"protocol":"auto","timeout_ms":30000}}"#),
        "x".repeat(152),
    );
    let empty = format!(
        "\
{AT}/cancels/demo/1.json
  test     cancels
  model    demo
  run      1
{}  calls    not recorded
  answer   not recorded
  tokens   not recorded
  end      not recorded
",
        inputs("\"Cancel it.\"", "{}")
    );
    let line = ["cassette", "show", &format!("{AT}/books/demo/2.json"), &format!("{AT}/cancels/demo/1.json")];
    here.check(&line, 0, &format!("{full}\n{empty}"), "");
}

#[test]
fn only_cassettes_are_shown() {
    let here = here();
    let stderr = "\
error[broken-cassette]: t/s.yml: line 1, column 1: expected value
hint: `mcptest cassette list` shows where cassettes are and what is wrong with them
error[no-such-file]: gone.json: no such file
hint: `mcptest cassette list` shows where cassettes are and what is wrong with them
";
    here.check(&["cassette", "show", "t/s.yml", "gone.json"], 2, "", stderr);
}

#[test]
fn unused_cassettes_are_removed_only_on_request() {
    let here = here();
    for (test, model, run) in [("books", "gpt-5", 1), ("books", "gpt-5", 4), ("cancels", "gpt-5", 1)] {
        record_any(&here, test, model, run);
    }
    let before = tree(&here);
    let what = |word: &str| {
        format!(
            "{word} {AT}/books/gpt-5/4.json: `books` has 3 runs\n\
             {word} {AT}/cancels/gpt-5/1.json: `cancels` does not run on `gpt-5`\n"
        )
    };
    let dry = what("would remove") + "2 unused cassettes; nothing was removed\nhint: --yes removes them\n";
    here.check(&["cassette", "prune", "t"], 0, &dry, "");
    assert_eq!(tree(&here), before);
    let done = what("removed") + "2 unused cassettes removed\n";
    here.check(&["cassette", "prune", "t", "--yes"], 0, &done, "");
    assert_eq!(tree(&here), ["s/", "s/books/", "s/books/gpt-5/", "s/books/gpt-5/1.json"]);
    here.check(&["cassette", "prune", "t", "--yes"], 0, "nothing to remove\n", "");
    here.write("t/s.yml", SUITE.replace("name: books", "name: books a seat").as_bytes());
    let last = format!("removed {AT}/books/gpt-5/1.json: there is no test `books`\n1 unused cassette removed\n");
    here.check(&["cassette", "prune", "t", "--yes"], 0, &last, "");
    assert_eq!(tree(&here), [""; 0]);
    here.check(&["cassette", "prune", "t", "--yes"], 0, "nothing to remove\n", "");
    assert_eq!(tree(&here), [""; 0], "where nothing lies, no folder is made");
}

#[test]
fn files_that_were_not_recorded_are_never_removed() {
    let here = here();
    let kept = [
        "s/books/gpt-5/04.json",
        "s/books/gpt-5/4.json.bak",
        "s/books/gpt-5/deeper/4.json",
        "s/Gone/gpt-5/1.json",
        "s/gone/a_b/1.json",
        "s/gone/1.json",
        "s/1.json",
        "other/gone/gpt-5/1.json",
        "notes.json",
    ];
    for name in kept {
        here.write(&format!("t/cassettes/{name}"), b"[]");
    }
    let before = tree(&here);
    here.check(&["cassette", "prune", "t", "--yes"], 0, "nothing to remove\n", "");
    assert_eq!(tree(&here), before);
}

#[cfg(unix)]
#[test]
fn nothing_behind_a_link_is_removed() {
    use std::os::unix::fs::symlink;

    let here = here();
    record_any(&here, "gone", "demo", 1);
    here.write("far/gpt-5/4.json", b"[]");
    here.write("far/demo/1.json", b"[]");
    // A linked test, a linked model, a linked file.
    symlink(here.0.join("far"), here.0.join("t/cassettes/s/books")).unwrap();
    symlink(here.0.join("far/demo"), here.0.join("t/cassettes/s/gone/linked")).unwrap();
    symlink(here.0.join("far/demo/1.json"), here.0.join("t/cassettes/s/gone/demo/2.json")).unwrap();
    let kept = "a symbolic link leads to it";
    let list = |done: &str, end: &str| {
        format!(
            "kept {AT}/books/gpt-5/4.json: {kept}\n{done} {AT}/gone/demo/1.json: there is no test `gone`\n\
             kept {AT}/gone/demo/2.json: {kept}\n1 unused cassette{end}"
        )
    };
    let dry = list("would remove", "; 2 kept; nothing was removed\nhint: --yes removes it\n");
    here.check(&["cassette", "prune", "t"], 0, &dry, "");
    here.check(&["cassette", "prune", "t", "--yes"], 0, &list("removed", " removed; 2 kept\n"), "");
    assert_eq!(tree(&here), ["s/", "s/books", "s/gone/", "s/gone/demo/", "s/gone/demo/2.json", "s/gone/linked"]);
    // The folder of all cassettes is a link.
    let here = self::here();
    here.write("far/s/gone/demo/1.json", b"[]");
    symlink(here.0.join("far"), here.0.join("t/cassettes")).unwrap();
    let all = format!("kept {AT}/gone/demo/1.json: {kept}\nnothing to remove; 1 kept\n");
    here.check(&["cassette", "prune", "t", "--yes"], 0, &all, "");
    assert!(here.0.join("far/s/gone/demo/1.json").exists());
}

#[test]
fn nothing_is_removed_while_a_recording_is_in_progress() {
    let here = here();
    record_any(&here, "gone", "demo", 1);
    let before = tree(&here);
    let lock = cassette::Folder::of(&here.0.join("t/s.yml")).lock().unwrap();
    let stderr =
        "error[recording-in-progress]: t/cassettes/s: another recording is in progress\nhint: wait until it finishes\n";
    here.check(&["cassette", "prune", "t", "--yes"], 2, "nothing was removed\n", stderr);
    assert_eq!(tree(&here), before);
    drop(lock);
    let done = format!("removed {AT}/gone/demo/1.json: there is no test `gone`\n1 unused cassette removed\n");
    here.check(&["cassette", "prune", "t", "--yes"], 0, &done, "");
}

#[test]
fn the_cassettes_of_a_suite_that_cannot_be_used_are_left_alone() {
    let here = here();
    record_any(&here, "gone", "demo", 1);
    let before = tree(&here);
    here.write("t/s.yml", b"agents:\n");
    let output = here.command(&["cassette", "prune", "t", "--yes"]).output().unwrap();
    let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
    assert_eq!((output.status.code(), &*text(&output.stdout)), (Some(2), "nothing was removed\n"));
    assert!(text(&output.stderr).starts_with("t/s.yml:1:7: error[wrong-type]: "), "{}", text(&output.stderr));
    assert_eq!(tree(&here), before);
    // Nor those that another suite may use.
    here.write("t/s.yml", SUITE.as_bytes());
    here.write("t/s.yaml", SUITE.as_bytes());
    let stderr = "\
error[shared-cassettes]: t/s.yml: has its cassettes in the same folder as t/s.yaml
hint: give one of the two another name
";
    here.check(&["cassette", "prune", "t/s.yml", "--yes"], 2, "nothing was removed\n", stderr);
    assert_eq!(tree(&here), before);
    here.check(&["cassette", "list", "t/s.yml"], 2, "no cassettes\n", stderr);
}

#[test]
fn a_file_in_place_of_the_folder_is_an_error() {
    let here = here();
    here.write(AT, b"");
    let check = |line: &[&str], stdout: &str, hint: &str| {
        let output = here.command(line).output().unwrap();
        let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
        let stderr = text(&output.stderr);
        assert_eq!((output.status.code(), &*text(&output.stdout)), (Some(2), stdout));
        let start = format!("error[read-failed]: {AT}/books/gpt-5: cannot be read: ");
        assert!(stderr.starts_with(&start) && stderr.ends_with(&format!("\nhint: {hint}\n")), "{stderr}");
    };
    check(&["cassette", "list", "t"], "no cassettes\n", "check that it is a readable folder");
    let hint = "check that the folder is readable and writable";
    check(&["cassette", "prune", "t", "--yes"], "nothing was removed\n", hint);
}

#[test]
fn without_a_suite_there_is_nothing_to_search() {
    for command in ["list", "prune"] {
        let stderr = format!(
            "error[no-suite-named]: no suite was named, and there is no mcptest.yaml or mcptest.yml in the current folder\n\
             hint: name a file or a folder, as in `mcptest cassette {command} tests/`; `mcptest init` writes a first suite\n"
        );
        Folder::with(&[]).check(&["cassette", command], 2, "", &stderr);
    }
}

/// The trace of a run that answered and called nothing.
fn answered(text: &str) -> Value {
    json!({
        "tool_calls": [], "tool_names": [], "tool_results": [], "final_response": text,
        "conversation": { "turns": [{ "role": "user", "content": "Cancel it." }, { "role": "assistant", "content": text }] },
    })
}

/// The suite with one test of one run.
const ONE: &str = "\
models:
  demo: { provider: script, script: demo.yml }
agents:
  - name: cancels
    model: demo
    prompt: Cancel it.
    trajectory: { mode: subset, calls: [] }
";

/// The warning about the suite: it tests recordings, so it has no assertion on the agent.
const WARNING: &str = "\
t/s.yml:4:11: warning[passes-on-empty-trace]: `cancels` passes when the agent makes no calls
   |
 4 |   - name: cancels
   |           ^^^^^^^
   = hint: add a `trajectory:` or an `expect:` that fails when the agent does nothing
";

#[test]
fn an_edit_is_an_error_until_it_is_accepted_and_is_then_shown_in_every_report() {
    let here = Folder::with(&[("t/s.yml", ONE), ("t/demo.yml", SCRIPT)]);
    let path = record(&here, ("cancels", "demo", 1), &answered("Done."));
    let at = "t/cassettes/s/cancels/demo/1.json";
    let text = std::fs::read_to_string(&path).unwrap();
    std::fs::write(&path, text.replace("\"content\": \"Done.\"", "\"content\": \"I did not.\"")).unwrap();
    let place = |code: &str| {
        format!(
            "    at t/s.yml:4:11\n      |\n    4 |   - name: cancels\n      |           ^^^^^^^\n\n\
             for more: mcptest explain {code}\n1 test, 1 run: 1 error\n"
        )
    };
    let contradicts = format!(
        "t/s.yml\n! ERROR     cancels  replayed\n    error[inconsistent-cassette]: {at}: contradicts itself:\n      \
         `trace.final_response` is not the text of the last assistant turn,\n      `trace.conversation.turns[1]`\n    \
         hint: restore the file, or re-record it: mcptest run --record t/s.yml\n{}",
        place("inconsistent-cassette")
    );
    here.check(&["run", "t/s.yml"], 2, &contradicts, WARNING);
    let why = "contradicts itself: `trace.final_response` is not the text of the last assistant turn, \
               `trace.conversation.turns[1]`";
    let refused = format!(
        "error[inconsistent-cassette]: {at}: {why}\nhint: edit both places so that they agree, or restore the file\n"
    );
    here.check(&["cassette", "accept", at], 2, "", &refused);
    std::fs::write(&path, text.replace("Done.", "I did not.")).unwrap();
    let edited = format!(
        "t/s.yml\n! ERROR     cancels  replayed\n    error[edited-cassette]: {at}: was edited after it was recorded: its\n      \
         digest does not match\n    \
         hint: restore the file, or re-record it: mcptest run --record t/s.yml; to keep the edit: mcptest\n      \
         cassette accept {at}\n{}",
        place("edited-cassette")
    );
    here.check(&["run", "t/s.yml"], 2, &edited, WARNING);
    let broken = format!(
        "t/s.yml\n  broken   {at}: was edited after it was recorded: its digest does not match\n\n1 cassette: 1 broken\n\
         hint: to re-record what is stale, broken or missing: mcptest run --record t/s.yml\n"
    );
    here.check(&["cassette", "list", "t/s.yml"], 2, &broken, "");

    let accepted = format!("accepted {at}: reports say `edited` until it is re-recorded\n");
    here.check(&["cassette", "accept", at], 0, &accepted, "");
    here.check(&["cassette", "accept", at], 0, &format!("unchanged {at}: its edits were accepted before\n"), "");
    let note = "1 recording was edited after recording and accepted with `mcptest cassette accept`";
    let pretty = format!(
        "t/s.yml\n✓ PASS      cancels  replayed, edited  trajectory: 0 of 0 expected calls matched (subset)\nnote: {note}\n\n1 test, 1 run: 1 passed\n"
    );
    here.check(&["run", "t/s.yml"], 0, &pretty, WARNING);
    for (reporter, reported) in [
        ("json", "\"edited\": true,"),
        ("ndjson", "\"edited\":true,"),
        ("junit", "origin: replayed, edited"),
        ("html", "\"edited\":true,"),
        ("github", &*format!("::notice title=mcptest::{note}")),
        ("markdown", &*format!("> `` {note} ``")),
    ] {
        let output = here.command(&["run", "t/s.yml", "--reporter", reporter]).output().unwrap();
        let text = String::from_utf8(output.stdout).unwrap();
        assert_eq!((output.status.code(), text.matches(reported).count()), (Some(0), 1), "{reporter}: {text}");
    }
    // So does the line of `score`, also after `convert`.
    let converted = here.command(&["convert", at]).output().unwrap();
    here.write("converted.jsonl", &converted.stdout);
    for source in [at, "converted.jsonl"] {
        let output = here.command(&["score", source]).output().unwrap();
        let text = String::from_utf8(output.stdout).unwrap();
        assert!(text.contains("\"group\":null,\"edited\":true,\"verdict\":"), "{source}: {text}");
    }
    // A saved report says it again.
    here.check(
        &["run", "t/s.yml", "--reporter", "json=r.json", "-q"],
        0,
        &format!("note: {note}\n\n1 test, 1 run: 1 passed\n"),
        WARNING,
    );
    here.check(&["report", "r.json"], 0, &pretty, "");
    let listed =
        format!("t/s.yml\n  edited   {at}: it was edited, and the edit was accepted\n\n1 cassette: 1 edited\n");
    here.check(&["cassette", "list", "t/s.yml"], 0, &listed, "");
    // Recording the run again clears it.
    let passed = |origin: &str| {
        format!(
            "t/s.yml\n✓ PASS      cancels  {origin}  trajectory: 0 of 0 expected calls matched (subset)\n\n1 test, 1 run: 1 passed\n"
        )
    };
    here.check(&["run", "t/s.yml", "--record"], 0, &passed("scripted"), WARNING);
    here.check(&["run", "t/s.yml"], 0, &passed("replayed"), WARNING);
    here.check(&["cassette", "accept", at], 0, &format!("unchanged {at}: it was not edited\n"), "");
}

#[test]
fn a_cassette_of_the_first_version_replays_with_a_note() {
    let here =
        Folder::with(&[("t/s.yml", &ONE.replace("    prompt", "    runs: 2\n    prompt")), ("t/demo.yml", SCRIPT)]);
    for run in 1..=2 {
        let path = record(&here, ("cancels", "demo", run), &answered("Done."));
        let mut value: Value = serde_json::from_str(&std::fs::read_to_string(&path).unwrap()).unwrap();
        value["mcptest"] = json!(1);
        value.as_object_mut().unwrap().remove("digest").unwrap();
        std::fs::write(&path, value.to_string()).unwrap();
    }
    let reported = "t/s.yml\n✓ PASS      cancels  replayed  2/2 runs pass; path of all 2 runs: no call\n\
                note: 2 recordings are in format version 1, which does not detect edits; `--record` writes version 2\n\n\
                1 test, 2 runs: 1 passed\n";
    here.check(&["run", "t/s.yml"], 0, reported, WARNING);
    let at = "t/cassettes/s/cancels/demo";
    let noted = "2 traces: 2 not judged\n\
                 note: metrics only; --gates FILE adds verdicts, with gates such as `narrative: {}` (`mcptest explain narrative`)\n\
                 note: 2 recordings are in format version 1, which does not detect edits; `--record` writes version 2\n";
    here.check(&["score", at, "--output", "none"], 0, "", noted);
    let old = "format version 1 does not detect edits";
    let listed =
        format!("t/s.yml\n  old      {at}/1.json: {old}\n  old      {at}/2.json: {old}\n\n2 cassettes: 2 old\n");
    here.check(&["cassette", "list", "t/s.yml"], 0, &listed, "");
    here.check(
        &["cassette", "accept", &format!("{at}/2.json")],
        0,
        &format!("accepted {at}/2.json: reports say `edited` until it is re-recorded\n"),
        "",
    );
    // One of two runs was accepted, and the line for both shows it.
    let reported = "t/s.yml\n✓ PASS      cancels  replayed, 1 edited  2/2 runs pass; path of all 2 runs: no call\n\
                note: 1 recording was edited after recording and accepted with `mcptest cassette accept`\n\
                note: 1 recording is in format version 1, which does not detect edits; `--record` writes version 2\n\n\
                1 test, 2 runs: 1 passed\n";
    here.check(&["run", "t/s.yml"], 0, reported, WARNING);
}
