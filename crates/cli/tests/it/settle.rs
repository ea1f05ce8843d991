//! Runs that must show a pass rate: three answers, and runs that stop as soon as there is one.

use std::fs;
use std::path::PathBuf;

use serde_json::Value;

use super::Folder;

/// A suite whose only test needs no server, with these runs and this rate to show.
fn suite(runs: &str, reliability: &str) -> String {
    format!(
        "models: {{ demo: {{ provider: script, script: script.yml }} }}\nagents:\n  - name: t\n    model: demo\n    \
         prompt: Do it.\n    runs: {runs}\n    expect: [{{ target: final_response, matcher: {{ exact: done }} }}]\n    \
         reliability: {reliability}\n"
    )
}

/// A script that passes and fails as written, over and over.
fn script(outcomes: &str) -> String {
    let turns = outcomes.chars().map(|c| if c == 'p' { "done" } else { "gave up" });
    let runs: Vec<String> = turns.map(|text| format!("{{ turns: [{{ text: {text} }}] }}")).collect();
    format!("{{ script: 1, runs: [{}] }}", runs.join(", "))
}

fn folder(runs: &str, reliability: &str, outcomes: &str) -> Folder {
    Folder::with(&[("suite.yml", &suite(runs, reliability)), ("script.yml", &script(outcomes))])
}

const STOPS: &str = "{ min: 2, max: 60, stop: settled }";

/// The exit code and the saved report of a command.
fn report(here: &Folder, args: &[&str]) -> (i32, Value) {
    let line = [&["run", "suite.yml", "--reporter", "json"], args].concat();
    let output = here.command(&line).output().unwrap();
    (output.status.code().unwrap(), serde_json::from_slice(&output.stdout).unwrap())
}

/// How many runs there are, the verdict of the gate, and the notes.
fn summary(report: &Value) -> (usize, String, Vec<String>) {
    let rows = report["suites"][0]["rows"].as_array().unwrap();
    let runs = rows.iter().filter(|row| row["family"] == "RUN").count();
    let gate = rows.iter().find(|row| row["gate"] == "reliability").unwrap();
    let notes = report["notes"].as_array().unwrap().iter().map(|note| note["text"].as_str().unwrap().to_owned());
    (runs, gate["verdict"].as_str().unwrap().to_owned(), notes.collect())
}

fn cassettes(here: &Folder) -> Vec<u64> {
    let mut open = vec![here.0.join("cassettes")];
    let mut out = Vec::new();
    while let Some(folder) = open.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path: PathBuf = entry.unwrap().path();
            if path.is_dir() {
                open.push(path);
            } else if let Some(run) = path.file_stem().and_then(|stem| stem.to_str()?.parse().ok()) {
                out.push(run);
            }
        }
    }
    out.sort_unstable();
    out
}

#[test]
fn a_fixed_number_of_runs_shows_a_rate_or_is_inconclusive() {
    let (code, found) = report(&folder("29", "{ at_least: 0.9 }", "p"), &[]);
    assert_eq!((code, summary(&found)), (0, (29, "pass".to_owned(), vec![])));
    let here = folder("28", "{ at_least: 0.9 }", "p");
    let (code, found) = report(&here, &[]);
    assert_eq!((code, summary(&found)), (1, (28, "inconclusive".to_owned(), vec![])));
    assert_eq!((found["exit_code"].as_u64(), found["totals"]["inconclusive"].as_u64()), (Some(1), Some(1)));
    let (code, found) = report(&here, &["--allow-inconclusive"]);
    assert_eq!((code, summary(&found).1), (0, "inconclusive".to_owned()));
    assert_eq!((found["exit_code"].as_u64(), &found["allow_inconclusive"]), (Some(0), &Value::Bool(true)));
    let (code, found) = report(&folder("29", "{ at_least: 0.9 }", "ppf"), &[]);
    assert_eq!((code, summary(&found).1), (1, "fail".to_owned()));
}

#[test]
fn an_inconclusive_test_is_a_failure_in_junit_unless_it_is_allowed() {
    let here = folder("2", "{ at_least: 0.9 }", "p");
    let junit = |args: &[&str]| {
        let line = [&["run", "suite.yml", "--reporter", "junit"], args].concat();
        String::from_utf8(here.command(&line).output().unwrap().stdout).unwrap()
    };
    let reason = "reliability: 2 of 2 runs passed; the true rate is between 22.4% and 100.0% at 95% confidence (required: at least \
                  90%): not enough to tell; 27 more straight passes would show 90%";
    let found = junit(&[]);
    assert!(found.contains("failures=\"1\""), "{found}");
    assert!(found.contains(&format!("<failure message=\"{reason}\" type=\"inconclusive\">")), "{found}");
    let found = junit(&["--allow-inconclusive"]);
    assert!(found.contains("failures=\"0\""), "{found}");
    assert!(found.contains(&format!("<skipped message=\"inconclusive, which is allowed: {reason}\"/>")), "{found}");
    let pretty = here.command(&["run", "suite.yml", "--allow-inconclusive"]).output().unwrap();
    assert!(String::from_utf8(pretty.stdout).unwrap().ends_with("\n1 test, 2 runs: 1 inconclusive (allowed)\n"));
}

#[test]
fn runs_stop_when_they_settle_the_rate_regardless_of_parallel_runs() {
    for (outcomes, due) in [("p", (7, "pass")), ("f", (7, "fail"))] {
        let here = folder(STOPS, "{ at_least: 0.5 }", outcomes);
        let (_, alone) = report(&here, &["--jobs", "1"]);
        let saved = "1 test settled early: 53 of 60 runs saved".to_owned();
        assert_eq!(summary(&alone), (due.0, due.1.to_owned(), vec![saved]), "{outcomes}");
        for _ in 0..5 {
            assert_eq!(
                summary(&report(&here, &["--jobs", "8"]).1),
                summary(&alone),
                "the number of runs at once changes nothing"
            );
        }
    }
    let (code, open) = report(&folder("{ max: 20, stop: settled }", "{ at_least: 0.5 }", "pf"), &[]);
    assert_eq!((code, summary(&open)), (1, (20, "inconclusive".to_owned(), vec![])));
}

#[test]
fn runs_do_not_start_far_ahead_of_a_slow_one() {
    // The first run takes longer than all others together; each run leaves a mark when its server starts.
    let quick = "{ turns: [{ text: done }] }".to_owned();
    let slow = "{ turns: [{ calls: [{ tool: wait, args: {} }] }, { text: done }] }".to_owned();
    let runs: Vec<String> = std::iter::once(slow).chain(std::iter::repeat_n(quick, 59)).collect();
    let mock = format!(
        "exec '{}' mock --tools-from \\\"$$0/tools.yml\\\" --fault wait=slow:4000",
        env!("CARGO_BIN_EXE_mcptest")
    );
    let server = format!(
        "servers:\n  desk: {{ command: [/bin/sh, -c, \"echo >> \\\"$$0/starts\\\"; {mock}\", \"${{SUITE_DIR}}\"] }}\n"
    );
    let test = suite(STOPS, "{ at_least: 0.5 }").replace("model: demo", "model: demo\n    servers: [desk]");
    let suite = format!("{server}{test}");
    let here = Folder::with(&[
        ("suite.yml", &suite),
        ("script.yml", &format!("{{ script: 1, runs: [{}] }}", runs.join(", "))),
        ("tools.yml", "mock_server: { name: desk, tools: [{ name: wait }] }\n"),
    ]);
    let (code, found) = report(&here, &["--jobs", "4"]);
    assert_eq!((code, summary(&found).0, summary(&found).1), (0, 7, "pass".to_owned()));
    let started = fs::read_to_string(here.0.join("starts")).unwrap().lines().count();
    assert!((7..=11).contains(&started), "7 runs settle it, and at most 4 start ahead: {started}");
}

#[test]
fn recorded_runs_replay_to_the_same_verdict() {
    let here = folder(STOPS, "{ at_least: 0.7 }", "p");
    let (code, recorded) = report(&here, &["--record", "--jobs", "8"]);
    assert_eq!((code, summary(&recorded).0, summary(&recorded).1), (0, 13, "pass".to_owned()));
    assert_eq!(cassettes(&here), (1..=13).collect::<Vec<_>>());
    let (code, replayed) = report(&here, &[]);
    assert_eq!((code, summary(&replayed)), (0, summary(&recorded)));
    // A lower rate is settled earlier; the runs after that are shown and do not count.
    here.write("suite.yml", suite(STOPS, "{ at_least: 0.5 }").as_bytes());
    let (code, lower) = report(&here, &[]);
    assert_eq!((code, summary(&lower).0, summary(&lower).1), (0, 13, "pass".to_owned()));
    // Recorded again, what is beyond the last run is removed.
    report(&here, &["--record"]);
    assert_eq!(cassettes(&here), (1..=7).collect::<Vec<_>>());
    let listed = here.command(&["cassette", "list", "suite.yml"]).output().unwrap();
    assert_eq!(listed.status.code(), Some(0), "{}", String::from_utf8_lossy(&listed.stdout));
}

#[test]
fn recorded_runs_that_settle_nothing_are_not_a_verdict() {
    let here = folder(STOPS, "{ at_least: 0.5 }", "p");
    report(&here, &["--record"]);
    here.write("suite.yml", suite(STOPS, "{ at_least: 0.9 }").as_bytes());
    let (code, found) = report(&here, &[]);
    assert_eq!((code, summary(&found)), (2, (8, "error".to_owned(), vec![])));
    let error = &found["suites"][0]["rows"][7]["error"];
    assert_eq!(error["message"], "the recorded runs end after 7, neither settled nor at the maximum of 60",);
    assert_eq!(
        (&error["code"], &error["hint"]),
        (&"no-recording".into(), &"record it: mcptest run --record suite.yml".into(),)
    );
    let listed = here.command(&["cassette", "list", "suite.yml"]).output().unwrap();
    assert_eq!(listed.status.code(), Some(1), "{}", String::from_utf8_lossy(&listed.stdout));
    // As many runs as are recorded may be all there are to be.
    let (code, found) = report(&here, &["--runs", "7"]);
    assert_eq!((code, summary(&found).1), (1, "inconclusive".to_owned()));
    // A gap is a missing recording.
    here.write("suite.yml", suite(STOPS, "{ at_least: 0.5 }").as_bytes());
    let third = fs::read_dir(here.0.join("cassettes/suite/t/demo")).unwrap();
    let third = third.map(|entry| entry.unwrap().path()).find(|path| path.ends_with("3.json")).unwrap();
    fs::remove_file(third).unwrap();
    assert_eq!(report(&here, &[]).0, 2);
}

#[test]
fn groups_of_scored_traces_have_the_third_answer_too() {
    let trace =
        |run: u32| format!("{{\"id\":\"t/{run}\",\"group\":\"t\",\"tool_calls\":[],\"final_response\":\"done\"}}\n");
    let traces: String = (0..28).map(trace).collect();
    let gates = "expect: [{ target: final_response, matcher: { exact: done } }]\nreliability: { at_least: 0.9 }\n";
    let here = Folder::with(&[("traces.jsonl", &traces), ("gates.yml", gates), ("one.jsonl", &trace(28))]);
    let score = |args: &[&str]| here.command(&[&["score", "--gates", "gates.yml"], args].concat()).output().unwrap();
    let output = score(&["traces.jsonl"]);
    let text = String::from_utf8(output.stdout).unwrap();
    assert_eq!(output.status.code(), Some(1), "{}", String::from_utf8_lossy(&output.stderr));
    let line: Value = serde_json::from_str(text.lines().last().unwrap()).unwrap();
    assert_eq!((&line["group"], &line["verdict"]), (&"t".into(), &"inconclusive".into()));
    let allowed = score(&["traces.jsonl", "--allow-inconclusive"]);
    assert_eq!(allowed.status.code(), Some(0));
    let stderr = String::from_utf8(allowed.stderr).unwrap();
    assert!(stderr.contains("1 group: 1 inconclusive\n"), "{stderr}");
    assert!(stderr.contains("note: 1 inconclusive group allowed by --allow-inconclusive\n"), "{stderr}");
    // One more run of the same group, scored elsewhere, makes it conclusive.
    here.write("a.jsonl", text.as_bytes());
    here.write("b.jsonl", &score(&["one.jsonl"]).stdout);
    let merged = score(&["--merge", "a.jsonl", "b.jsonl"]);
    assert_eq!(merged.status.code(), Some(0), "{}", String::from_utf8_lossy(&merged.stderr));
    let text = String::from_utf8(merged.stdout).unwrap();
    let line: Value = serde_json::from_str(text.lines().last().unwrap()).unwrap();
    assert_eq!((&line["verdict"], &line["runs"]), (&"pass".into(), &29.into()));
}
