//! `mcptest run` for real: recorded with a script against the mock, replayed from the recording alone.

use std::path::PathBuf;
use std::process::{Command, Output, Stdio};
use std::time::Duration;

use serde_json::{Value, json};

use super::examples::{NOT_RECORDED, SUITES};
use super::{Folder, root};

/// A server with three tools. One of them fails.
const TOOLS: &str = r#"
mock_server:
  name: desk
  tools:
    - name: search
      input_schema: { type: object, properties: { q: { type: string } }, required: [q] }
      answer: { structured: { id: 7, about: "${args.q}" } }
    - name: get_invoice
      answer: { structured: { invoice: 7, total: 12.5 } }
    - name: refund
      answer: { error: the bank is closed }
"#;

/// A suite around `agents`, which are indented by two.
fn suite(agents: &str) -> String {
    format!(
        "servers: {{ desk: {{ command: [mcptest, mock, --tools-from, \"${{SUITE_DIR}}/tools.yml\"] }} }}\n\
         models: {{ demo: {{ provider: script, script: script.yml }} }}\n\
         faults:\n\
         \x20 - {{ name: dead, target: {{ tool: search }}, kind: hang }}\n\
         \x20 - {{ name: back, target: {{ tool: search }}, kind: recover_after, failures: 2 }}\n\
         \x20 - {{ name: late, target: {{ tool: search }}, kind: slow, delay_ms: 1000 }}\n\
         agents:\n{agents}"
    )
}

/// One test with these further keys.
fn test(keys: &str) -> String {
    suite(&format!("  - {{ name: t, model: demo, servers: [desk], prompt: Do it., {keys} }}\n"))
}

/// A script of one run with these turns.
fn script(turns: &str) -> String {
    format!("{{ script: 1, runs: [{{ turns: [{turns}] }}] }}")
}

const SEARCH: &str = "{ calls: [{ tool: search, args: { q: rain } }] }";
const CALLED: &str = "trajectory: { mode: superset, calls: [{ name: search }] }";

fn world(suite: &str, script: &str) -> Folder {
    Folder::with(&[("suite.yml", suite), ("script.yml", script), ("tools.yml", TOOLS)])
}

/// Exit code and JSON report of a run.
#[track_caller]
fn report(here: &Folder, flags: &[&str]) -> (i32, Value) {
    let line = [&["run", "suite.yml", "--reporter", "json"], flags].concat();
    let output = here.command(&line).output().unwrap();
    let reported = String::from_utf8_lossy(&output.stderr).into_owned();
    let value = serde_json::from_slice(&output.stdout).unwrap_or_else(|error| unreadable(&error, &output));
    (output.status.code().unwrap_or_else(|| unreadable(&reported, &output)), value)
}

#[expect(clippy::panic, reason = "a test that cannot run its subject fails loudly")]
#[track_caller]
fn unreadable<T>(why: &dyn std::fmt::Display, output: &Output) -> T {
    panic!("{why}\n{}\n{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr))
}

/// The rows as `name: verdict`.
fn rows(report: &Value) -> Vec<String> {
    let rows = report["suites"][0]["rows"].as_array().unwrap();
    rows.iter().map(|row| format!("{}: {}", row["name"].as_str().unwrap(), row["verdict"].as_str().unwrap())).collect()
}

/// The first reason of the first row that is not a pass.
fn reason(report: &Value) -> String {
    let rows = report["suites"][0]["rows"].as_array().unwrap();
    let row = rows.iter().find(|row| row["verdict"] != "pass").unwrap();
    let check = row["checks"].as_array().unwrap().iter().find(|check| check["verdict"] != "pass");
    let reason = check.map_or(&row["error"]["message"], |check| &check["failures"][0]["reason"]);
    reason.as_str().unwrap().to_owned()
}

/// The paths of all cassettes.
fn cassettes(here: &Folder) -> Vec<PathBuf> {
    fn walk(folder: &std::path::Path, out: &mut Vec<PathBuf>) {
        for entry in std::fs::read_dir(folder).into_iter().flatten() {
            let path = entry.unwrap().path();
            if path.is_dir() { walk(&path, out) } else { out.push(path) }
        }
    }
    let mut out = Vec::new();
    walk(&here.0.join("cassettes"), &mut out);
    out.sort();
    out
}

#[test]
fn three_runs_are_three_cassettes_and_three_traces() {
    let script = "{ script: 1, runs: [\
        { turns: [{ calls: [{ tool: search, args: { q: a } }] }, { text: one }] },\
        { turns: [{ calls: [{ tool: search, args: { q: b } }] }, { text: two }] },\
        { turns: [{ calls: [{ tool: get_invoice }] }, { text: three }] } ] }";
    let here =
        world(&test("runs: 3, stability: {}, expect: [{ target: final_response, matcher: { regex: . } }]"), script);
    let (recorded, live) = report(&here, &["--record"]);
    assert_eq!(recorded, 0);
    let names: Vec<String> =
        cassettes(&here).iter().map(|path| path.strip_prefix(&here.0).unwrap().display().to_string()).collect();
    let at = |run: u32| format!("cassettes/suite/t/demo/{run}.json");
    assert_eq!(names, [at(1), at(2), at(3)]);
    let (replayed, report) = report(&here, &[]);
    assert_eq!(replayed, 0);
    assert_eq!(rows(&report), ["t #1: pass", "t #2: pass", "t #3: pass", "t (stability): pass"]);
    let answers: Vec<&Value> = (0..3).map(|at| &report["suites"][0]["rows"][at]["trace"]["final_response"]).collect();
    assert_eq!(answers, ["one", "two", "three"]);
    // Numbers over three different runs: two agree on the tool, none on the arguments.
    let metrics = &report["suites"][0]["rows"][3]["checks"][0]["metrics"];
    assert_eq!(metrics["tool_sequence_similarity"], json!(1.0 / 3.0));
    assert_eq!(metrics["argument_consistency"], json!(2.0 / 3.0));
    assert_eq!(metrics, &live["suites"][0]["rows"][3]["checks"][0]["metrics"]);
    let origins = |report: &Value| report["suites"][0]["rows"][0]["origin"].clone();
    assert_eq!((origins(&live), origins(&report)), (json!("scripted"), json!("replayed")));
}

/// A library that ends the program when it starts another one or opens a connection.
const GUARD: &str = r#"
long write(int, const void *, unsigned long);
void _exit(int) __attribute__((noreturn));
static int caught(const char *what, int length) { write(2, what, length); _exit(99); }
#define CATCH(name) int name() { return caught("caught: " #name "\n", sizeof("caught: " #name "\n") - 1); }
CATCH(socket) CATCH(connect) CATCH(bind) CATCH(fork) CATCH(vfork) CATCH(execve) CATCH(execvp) CATCH(posix_spawn) CATCH(posix_spawnp)
"#;

#[test]
fn a_replay_starts_no_process_opens_no_connection_and_needs_no_variable() {
    let suite = test(&format!("runs: 2, stability: {{}}, {CALLED}"))
        .replace("command: [", "env: { TOKEN: \"${DESK_TOKEN}\" }, command: [");
    let here = world(&suite, &script(&format!("{SEARCH}, {{ text: done }}")));
    let recorded = here.command(&["run", "suite.yml", "--record"]).env("DESK_TOKEN", "t0ps3cret-t0ps3cret").output();
    assert_eq!(recorded.unwrap().status.code(), Some(0));
    here.write("guard.c", GUARD.as_bytes());
    let built =
        Command::new("gcc").args(["-shared", "-fPIC", "-w", "-o", "guard.so", "guard.c"]).current_dir(&here.0).status();
    assert!(built.unwrap().success());
    let guarded = |flags: &[&str]| {
        let line = [&["run", "suite.yml"], flags].concat();
        here.command(&line).env("LD_PRELOAD", here.0.join("guard.so")).output().unwrap()
    };
    let replayed = guarded(&[]);
    let reported = String::from_utf8_lossy(&replayed.stderr).into_owned();
    assert!(replayed.status.code() == Some(0) && !reported.contains("caught"), "{reported}");
    // The guard works: a run for real is caught.
    let mut live = here.command(&["run", "suite.yml", "--live"]);
    live.env("LD_PRELOAD", here.0.join("guard.so")).env("DESK_TOKEN", "t0ps3cret-t0ps3cret");
    let live = live.output().unwrap();
    assert!(String::from_utf8_lossy(&live.stderr).contains("caught: "), "{live:?}");
    // And without its variable a run for real says which one it is.
    let (code, reported) = report(&here, &["--live"]);
    assert_eq!((code, reason(&reported)), (2, "server `desk`: variable `DESK_TOKEN` is not set".to_owned()));
}

#[test]
fn every_example_replays_to_the_same_bytes_in_another_place_at_another_time() {
    let examples = root().join("examples");
    let outputs = [&["--reporter", "pretty"][..], &["--reporter", "json"], &["--reporter", "junit"], &["-v"], &["-q"]];
    for (name, code, _) in SUITES.iter().filter(|(name, ..)| *name != NOT_RECORDED) {
        let path = examples.join(format!("{name}.yml"));
        for face in outputs {
            let replay = |zone: &str, locale: &str, home: &str, folder: &std::path::Path| {
                let mut command = Command::new(env!("CARGO_BIN_EXE_mcptest"));
                command.arg("run").arg(&path).args(face).current_dir(folder).env_clear();
                command.env("TZ", zone).env("LC_ALL", locale).env("LANG", locale).env("HOME", home);
                let output = command.output().unwrap();
                assert_eq!(String::from_utf8_lossy(&output.stderr), "", "{name}");
                let text = String::from_utf8(output.stdout).unwrap();
                assert!(!text.is_empty() && !text.contains("scripted"), "{name}: {text}");
                (output.status.code(), text)
            };
            let first = replay("UTC", "C", "/nowhere", root());
            let second = replay("Pacific/Auckland", "tr_TR.UTF-8", "/", std::path::Path::new("/"));
            assert!(first == second, "{name} {face:?}");
            assert_eq!(first.0, Some(*code), "{name}\n{}", first.1);
        }
    }
}

#[test]
fn the_outcome_of_a_fault_decides_the_exit_code_without_waiting() {
    // Hours pass on the virtual clock: were any of it waited for, this test would show.
    let retry = script(&format!("{SEARCH}, {SEARCH}, {SEARCH}, {{ text: done }}"));
    let once = script(&format!("{SEARCH}, {{ text: it is down }}"));
    let check = |keys: &str, script: &str, code: i32, expected: &str| {
        let here = world(&test(keys), script);
        let (found, reported) = report(&here, &["--record"]);
        let why = if found == 0 {
            reported["suites"][0]["rows"][1]["checks"][0]["line"].as_str().unwrap().to_owned()
        } else {
            reason(&reported)
        };
        assert_eq!((found, &*why), (code, expected), "{keys}");
        let (again, replayed) = report(&here, &[]);
        assert_eq!((again, replayed["totals"].clone()), (code, reported["totals"].clone()), "{keys}");
    };
    check(
        "inject: [back], recovery: {}",
        &retry,
        0,
        "2 fault hits, 0 delays, detected after 3000 ms, recovered after 6000 ms",
    );
    check(
        "inject: [back], recovery: { max_detection_ms: 3600000 }",
        &retry,
        0,
        "2 fault hits, 0 delays, detected after 3600000 ms, recovered after 7200000 ms",
    );
    let without = "1 fault hit, 0 delays, detected after 3000 ms, answered without the tool after 3000 ms";
    check("inject: [dead], recovery: {}", &once, 0, without);
    check("inject: [late], recovery: {}", &once, 0, "0 fault hits, 1 delay, never detected, recovered after 1000 ms");
    check("inject: [dead], recovery: {}, max_turns: 2", &retry, 1, "the run did not complete with an answer");
    check(
        "inject: [dead], recovery: { max_recovery_ms: 2999 }",
        &once,
        1,
        "recovery took 3000 ms, at most 2999 ms allowed",
    );
    check("inject: [dead], recovery: { require_call: true }", &once, 1, "no call succeeded after the first fault");
    let never = script("{ calls: [{ tool: get_invoice }] }, { text: done }");
    check("inject: [dead], recovery: {}", &never, 1, "no call hit a fault, so nothing was tested");
}

#[test]
fn a_recording_is_judged_by_the_current_budget() {
    let once = script(&format!("{SEARCH}, {{ text: it is down }}"));
    let keys = |ms: u64| format!("inject: [dead], recovery: {{ max_detection_ms: {ms}, require_clean_timeout: true }}");
    let here = world(&test(&keys(9000)), &once);
    assert_eq!(report(&here, &["--record"]).0, 0);
    here.write("suite.yml", test(&keys(3000)).as_bytes());
    let (code, reported) = report(&here, &[]);
    assert_eq!(
        (code, reason(&reported)),
        (1, "the fault was detected after 9000 ms, at most 3000 ms allowed".to_owned())
    );
}

#[test]
fn a_test_that_cannot_run_is_an_error_with_a_hint_and_others_run() {
    let good =
        "  - { name: good, model: demo, servers: [desk], prompt: p, trajectory: { calls: [{ name: search }] } }\n";
    let script = script(&format!("{SEARCH}, {{ text: done }}"));
    let check = |extra: &str, bad: &str, expected: &str, hint: &str| {
        let text = suite(&format!("{bad}{good}")).replace("servers: { desk", &format!("servers: {{ {extra}desk"));
        let lost = "models: { lost: { provider: script, script: missing.yml }, ";
        let here = world(&text.replace("models: { ", lost), &script);
        let (code, reported) = report(&here, &["--record"]);
        assert_eq!((code, rows(&reported)), (2, vec!["bad: error".to_owned(), "good: pass".to_owned()]));
        let error = &reported["suites"][0]["rows"][0]["error"];
        let found = error["message"].as_str().unwrap().replace(&here.0.display().to_string(), "");
        assert_eq!((&*found, error["hint"].as_str().unwrap()), (expected, hint));
        let names: Vec<_> =
            cassettes(&here).iter().map(|path| path.strip_prefix(&here.0).unwrap().to_owned()).collect();
        assert_eq!(names, [PathBuf::from("cassettes/suite/good/demo/1.json")], "an errored run writes nothing");
    };
    let uses = |server: &str| {
        format!(
            "  - {{ name: bad, model: demo, servers: [{server}], prompt: p, trajectory: {{ calls: [{{ name: search }}] }} }}\n"
        )
    };
    check(
        "gone: { command: [sh, -c, \"echo no config >&2; exit 3\"] }, ",
        &uses("gone"),
        "server `gone`: exited (exit status: 3) without answering `initialize`\nstandard error ends with:\n  no config",
        "run the command by hand: it should wait for messages on standard input",
    );
    check(
        "mute: { command: [sh, -c, \"cat >/dev/null\"], timeout_ms: 300 }, ",
        &uses("mute"),
        "server `mute`: did not answer `initialize` within 300 ms",
        "check that the command starts an MCP server over stdio, or raise `timeout_ms`",
    );
    check(
        "none: { command: [no-such-program-here] }, ",
        &uses("none"),
        "server `none`: program `no-such-program-here` not found",
        "install it, or check that its folder is in PATH",
    );
    check(
        "",
        &uses("desk").replace("model: demo", "model: lost"),
        "script missing.yml: cannot be read: No such file or directory (os error 2)",
        "`script:` is a path relative to the suite's folder",
    );
}

#[test]
fn a_script_that_ends_too_early_is_an_error_of_its_run_only() {
    let here = world(&test(CALLED), &script(SEARCH));
    let (code, reported) = report(&here, &["--record"]);
    assert_eq!(code, 2);
    assert_eq!(reason(&reported), "the script of run 1 has 1 turns, but the model was called once more");
    assert!(cassettes(&here).is_empty());
}

#[test]
fn a_missing_stale_truncated_or_foreign_cassette_is_reported_with_a_fix() {
    let here = world(&test(&format!("runs: 2, {CALLED}")), &script(&format!("{SEARCH}, {{ text: done }}")));
    assert_eq!(report(&here, &["--record"]).0, 0);
    let path = here.0.join("cassettes/suite/t/demo/2.json");
    let text = std::fs::read_to_string(&path).unwrap();
    let check = |expected: &str, hint: &str| {
        let (code, reported) = report(&here, &[]);
        assert_eq!((code, rows(&reported)), (2, vec!["t #1: pass".to_owned(), "t #2: error".to_owned()]));
        let error = &reported["suites"][0]["rows"][1]["error"];
        assert_eq!((error["message"].as_str().unwrap(), error["hint"].as_str().unwrap()), (expected, hint));
    };
    let at = "cassettes/suite/t/demo/2.json";
    std::fs::remove_file(&path).unwrap();
    check(&format!("there is no recording of this run: {at}"), "record it: mcptest run --record suite.yml");
    std::fs::write(&path, &text[..20]).unwrap();
    check(
        &format!("{at}: the file is truncated: line 2, column 18: EOF while parsing a string"),
        "restore the file, or re-record it: mcptest run --record suite.yml",
    );
    std::fs::write(&path, text.replace("\"mcptest\": 2", "\"mcptest\": 9")).unwrap();
    check(
        &format!("{at}: has format version 9, this program reads versions 1 to 2"),
        "re-record it: mcptest run --record suite.yml",
    );
    std::fs::write(&path, &text).unwrap();
    here.write("suite.yml", test(&format!("runs: 2, {CALLED}")).replace("Do it.", "Do that.").as_bytes());
    let (code, reported) = report(&here, &[]);
    assert_eq!(code, 2);
    assert_eq!(reason(&reported), "cassettes/suite/t/demo/1.json: stale: `prompt` was \"Do it.\" and is \"Do that.\"");
}

#[test]
fn an_unwritable_folder_and_a_second_recorder_are_refused_and_nothing_is_lost() {
    let here = world(&test(CALLED), &script(&format!("{SEARCH}, {{ text: done }}")));
    // There is a file where the folder should be, which also stops the superuser.
    here.write("cassettes", b"");
    let (code, reported) = report(&here, &["--record"]);
    assert_eq!((code, &*reason(&reported)), (2, "cassettes/suite: cannot be created: Not a directory (os error 20)"));
    std::fs::remove_file(here.0.join("cassettes")).unwrap();

    std::fs::create_dir_all(here.0.join("cassettes/suite")).unwrap();
    let held = std::fs::File::open(here.0.join("cassettes/suite")).unwrap();
    held.lock().unwrap();
    let (code, reported) = report(&here, &["--record"]);
    assert_eq!((code, &*reason(&reported)), (2, "cassettes/suite: another recording is in progress"));
    drop(held);
    assert_eq!(report(&here, &["--record"]).0, 0);
}

#[test]
fn a_suite_has_one_recording_for_every_path_spelling() {
    let suite = test(CALLED).replace("Do it.", "\"Do ${SUITE_DIR}.\"");
    let here = world(&suite, &script(&format!("{SEARCH}, {{ text: done }}")));
    let absolute = here.0.join("suite.yml").display().to_string();
    let (code, reported) = report(&here, &["./suite.yml", &absolute, ".", "--record"]);
    assert_eq!((code, rows(&reported)), (0, vec!["t: pass".to_owned()]));
    assert_eq!(reported["suites"].as_array().map(Vec::len), Some(1));
    for path in ["./suite.yml", &absolute] {
        let stdout = format!(
            "{path}\n✓ PASS      t  replayed  trajectory: 1 of 1 expected calls matched (superset)\n\n1 test, 1 run: 1 passed\n"
        );
        let output = here.command(&["run", path]).output().unwrap();
        assert_eq!((output.status.code(), &*String::from_utf8_lossy(&output.stdout)), (Some(0), &*stdout));
    }
}

#[test]
fn a_script_does_not_replace_recordings_that_cannot_be_listed() {
    let here = world(&test(CALLED), &script(&format!("{SEARCH}, {{ text: done }}")));
    here.write("cassettes/suite/t", b"");
    let (code, reported) = report(&here, &[]);
    let message = "cassettes/suite/t/demo: cannot be read: Not a directory (os error 20)";
    assert_eq!((code, rows(&reported), &*reason(&reported)), (2, vec!["t: error".to_owned()], message));
}

#[test]
fn the_record_command_in_the_hint_covers_the_missing_runs() {
    let here = world(&test(CALLED), &script(&format!("{SEARCH}, {{ text: done }}")));
    assert_eq!(report(&here, &["--record"]).0, 0);
    let (code, reported) = report(&here, &["--runs", "2"]);
    assert_eq!((code, rows(&reported)), (2, vec!["t #1: pass".to_owned(), "t #2: error".to_owned()]));
    let hint = &reported["suites"][0]["rows"][1]["error"]["hint"];
    assert_eq!(hint, "record it: mcptest run --record --runs 2 suite.yml");
    assert_eq!(report(&here, &["--record", "--runs", "2"]).0, 0);
    assert_eq!(report(&here, &["--runs", "2"]).0, 0);
}

#[test]
fn an_error_ends_a_run_with_fail_fast() {
    let tests = format!(
        "  - {{ name: a, model: demo, servers: [desk], prompt: Do it., {CALLED} }}\n\
         \x20 - {{ name: b, model: demo, servers: [desk], prompt: Do it., {CALLED} }}\n"
    );
    let here = world(&suite(&tests), "script: 2\n");
    let (code, reported) = report(&here, &["--fail-fast", "--jobs", "1"]);
    assert_eq!((code, rows(&reported)), (2, vec!["a: error".to_owned(), "b: skipped".to_owned()]));
}

#[test]
fn secrets_never_reach_a_recording_a_report_or_a_message() {
    let suite = test(CALLED)
        .replace("command: [", "env: { TOKEN: \"${DESK_TOKEN}\" }, command: [")
        .replace("Do it.", "\"With ${DESK_TOKEN:-no token}.\"");
    let secret = "t0ps3cret-t0ps3cret";
    let key = "sk-ant-api03-AAAAAAAAAAAAAAAAAAAAAAAA";
    let turns =
        format!("{{ calls: [{{ tool: search, args: {{ q: \"{secret} {key}\" }} }}] }}, {{ text: \"used {secret}\" }}");
    let here = world(&suite, &script(&turns));
    let record = |flags: &[&str]| {
        let line = [&["run", "suite.yml", "--reporter", "json"], flags].concat();
        here.command(&line).env("DESK_TOKEN", secret).output().unwrap()
    };
    let output = record(&["--record", "-vv"]);
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    let text = std::fs::read_to_string(here.0.join("cassettes/suite/t/demo/1.json")).unwrap();
    for shown in [&*String::from_utf8_lossy(&output.stdout), &*String::from_utf8_lossy(&output.stderr), &text] {
        assert!(!shown.contains(secret) && !shown.contains(key), "{shown}");
    }
    assert!(text.contains("\"q\": \"[redacted:DESK_TOKEN] [redacted:anthropic-key:"), "{text}");
    assert!(text.contains("\"final_response\": \"used [redacted:DESK_TOKEN]\""), "{text}");
    assert!(text.contains("\"prompt\": \"With ${DESK_TOKEN:-no token}.\""), "{text}");
    // The replay says the same, without knowing the secret.
    let again = here.command(&["run", "suite.yml", "--reporter", "json"]).output().unwrap();
    let trace = |bytes: &[u8]| serde_json::from_slice::<Value>(bytes).unwrap()["suites"][0]["rows"][0]["trace"].clone();
    assert_eq!(trace(&again.stdout), trace(&output.stdout));
}

#[test]
fn a_variable_in_a_command_is_a_secret_although_it_begins_with_a_slash_unless_it_is_public() {
    let suite = test(CALLED).replace("${SUITE_DIR}/tools.yml", "${TOOLS_FILE}");
    let recorded = |suite: &str| {
        let here = world(suite, "");
        let path = here.0.join("tools.yml").to_str().unwrap().to_owned();
        assert!(path.starts_with('/'), "{path}");
        let turns = format!("{{ calls: [{{ tool: search, args: {{ q: \"{path}\" }} }}] }}, {{ text: {path} }}");
        here.write("script.yml", script(&turns).as_bytes());
        let output = here.command(&["run", "--record", "suite.yml"]).env("TOOLS_FILE", &path).output().unwrap();
        assert_eq!(output.status.code(), Some(0), "{output:?}");
        let text = std::fs::read_to_string(here.0.join("cassettes/suite/t/demo/1.json")).unwrap();
        let cassette: Value = serde_json::from_str(&text).unwrap();
        let trace = &cassette["trace"];
        let about = &trace["tool_results"][0]["structured_content"]["about"];
        let values = [&trace["tool_calls"][0]["args"]["q"], about, &trace["final_response"]];
        (path, values.map(|value| value.as_str().unwrap().to_owned()))
    };
    let (_, secret) = recorded(&suite);
    assert_eq!(secret, ["[redacted:TOOLS_FILE]"; 3]);
    let (path, public) = recorded(&format!("public: [TOOLS_FILE]\n{suite}"));
    assert_eq!(public, [&*path; 3]);
}

#[test]
fn a_run_passes_by_its_calls_and_never_by_its_message() {
    // The text claims a refund; the trace has only a lookup, and that is what the check requires.
    let lookup = "trajectory: { calls: [{ name: get_invoice, status: ok }] }";
    let turns = "{ calls: [{ tool: get_invoice }] }, { text: I refunded the invoice. }";
    assert_eq!(report(&world(&test(lookup), &script(turns)), &["--record"]).0, 0);
    // Twelve ways to claim that a failed refund succeeded: none of them passes.
    let claims = [
        "The refund went through.",
        "I refunded it.",
        "All done, refund complete!",
        "Refund: SUCCESS",
        "status: ok",
        "{\\\"is_error\\\": false}",
        "The tool returned success.",
        "I have verified that the refund was paid.",
        "No errors occurred.",
        "The bank confirmed it.",
        "tool_results[0].is_error is false",
        "PASS",
        "",
    ];
    for claim in claims {
        let answer = if claim.is_empty() { "{ text: '-' }".to_owned() } else { format!("{{ text: \"{claim}\" }}") };
        let here = world(
            &test(
                "trajectory: { calls: [{ name: refund, status: ok }] }, expect: [{ target: \"tool_results[0].is_error\", matcher: { exact: false } }]",
            ),
            &script(&format!("{{ calls: [{{ tool: refund }}] }}, {answer}")),
        );
        let (code, reported) = report(&here, &["--record"]);
        let verdicts: Vec<&str> = reported["suites"][0]["rows"][0]["checks"]
            .as_array()
            .unwrap()
            .iter()
            .map(|check| check["verdict"].as_str().unwrap())
            .collect();
        assert_eq!((code, verdicts), (1, vec!["fail", "fail"]), "{claim}");
    }
}

#[test]
fn a_call_from_generated_code_is_evidence_like_any_other_and_cannot_hide_behind_a_sibling() {
    let turns = "{ calls: [{ tool: search, args: { q: a } }, { tool: refund, caller: { type: code_execution_20260120, tool_id: s1 } }] }, { text: done }";
    let expect = "expect: [{ target: \"tool_calls[1].name\", matcher: { exact: refund } }, \
                  { target: \"tool_calls[1].caller.type\", matcher: { contains: code_execution } }, \
                  { target: \"tool_results[1].is_error\", matcher: { exact: true } }]";
    assert_eq!(report(&world(&test(expect), &script(turns)), &["--record"]).0, 0);
    let clean = "trajectory: { mode: unordered, calls: [{ name: search, status: ok }, { name: refund, status: ok }] }";
    let (code, reported) = report(&world(&test(clean), &script(turns)), &["--record"]);
    assert_eq!(code, 1);
    assert_eq!(
        reason(&reported),
        "calls[1] (refund) is missing: the nearest call is tool_calls[1], which differs at /status"
    );
}

#[test]
fn unknown_tools_and_malformed_arguments_are_part_of_the_trace() {
    let turns = "{ calls: [{ tool: erase_all }, { tool: search, args: '{\"q\": ' }, { tool: search, args: { q: 5 } }] }, { text: done }";
    let here = world(
        &test("expect: [{ target: tool_names, matcher: { exact: [erase_all, search, search] } }]"),
        &script(turns),
    );
    let (code, reported) = report(&here, &["--record"]);
    assert_eq!(code, 0);
    let trace = &reported["suites"][0]["rows"][0]["trace"];
    assert_eq!(trace["tool_calls"][0]["server"], "");
    assert_eq!(trace["tool_calls"][1]["args"], "{\"q\": ");
    let messages: Vec<&str> =
        (0..3).map(|at| trace["tool_results"][at]["error"]["message"].as_str().unwrap()).collect();
    assert_eq!(
        messages[..2],
        ["unknown tool: erase_all", "the arguments are not a JSON object: line 1, column 6: EOF while parsing a value"]
    );
    assert_eq!(
        trace["tool_results"][2]["error"]["kind"], "tool",
        "the server itself refuses what its schema does not allow"
    );
}

#[test]
fn fail_fast_ends_at_the_first_failure_and_skips_the_rest() {
    let one = |name: &str| {
        format!(
            "  - {{ name: {name}, model: demo, servers: [desk], prompt: p, runs: 2, \
             trajectory: {{ calls: [{{ name: refund }}] }} }}\n"
        )
    };
    let agents = ["a", "b", "c"].map(one).concat();
    let passing = agents.replacen("name: refund", "name: search", 1);
    let here = world(&suite(&passing), &script(&format!("{SEARCH}, {{ text: done }}")));
    for jobs in ["1", "8"] {
        let (code, reported) = report(&here, &["--live", "--fail-fast", "--jobs", jobs]);
        assert_eq!(code, 1);
        assert_eq!(
            rows(&reported),
            ["a #1: pass", "a #2: pass", "b #1: fail", "b #2: fail", "c #1: skipped", "c #2: skipped"]
        );
    }
}

#[test]
fn ctrl_c_ends_a_run_with_exit_code_2_and_leaves_no_server_behind() {
    let marker = format!("mcptest-marker-{}", std::process::id());
    let text = test(CALLED)
        .replace(
            "servers: { desk: {",
            &format!(
                "servers: {{ slow: {{ command: [sh, -c, \"sleep 600; : {marker}\"], timeout_ms: 600000 }}, desk: {{"
            ),
        )
        .replace("servers: [desk]", "servers: [slow]");
    let here = world(&text, &script(&format!("{SEARCH}, {{ text: done }}")));
    let child =
        here.command(&["run", "suite.yml", "--live"]).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    let alive = || {
        let lines = std::fs::read_dir("/proc")
            .unwrap()
            .flatten()
            .filter_map(|entry| std::fs::read(entry.path().join("cmdline")).ok());
        lines.filter(|line| String::from_utf8_lossy(line).contains(&marker)).count()
    };
    let until = |wanted: &dyn Fn() -> bool| {
        for _ in 0..500 {
            if wanted() {
                return true;
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        false
    };
    assert!(until(&|| alive() > 0), "the server never started");
    let sent = Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap();
    assert!(sent.success());
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert_eq!(
        String::from_utf8(output.stdout).unwrap(),
        "suite.yml\n- SKIPPED   t\nnote: stopped before the end\n\n1 test: 1 skipped\n"
    );
    assert!(until(&|| alive() == 0), "the server lives on");
}
