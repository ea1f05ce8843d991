//! `mcptest report`: a saved run, reported again to every reporter; and what a run says about an older one.

use std::path::Path;
use std::process::Output;

use super::{Folder, check};

const SUITE: &str = "\
models: { demo: { provider: script, script: demo.yml }, other: { provider: script, script: other.yml } }
servers: { shop: { command: [mcptest, mock, --tools-from, tools.yml] } }
faults:
  - { name: flaky, target: { tool: find }, kind: recover_after, failures: 1 }
agents:
  - name: finds it
    models: [demo, other]
    servers: [shop]
    prompt: Find it.
    runs: 3
    trajectory: { mode: superset, calls: [{ name: find, args: { exact: { q: 1 } } }] }
    stability: {}
  - name: comes back
    model: demo
    servers: [shop]
    inject: [flaky]
    prompt: Find it.
    expect:
      - { target: tool_names, matcher: { contains: find } }
      - { target: \"tool_calls[0].args.q\", matcher: { exact: 2 } }
    recovery: {}
";

const TOOLS: &str = "mock_server: { name: shop, tools: [{ name: find, answer: here }] }\n";

/// Two runs find it and one does not.
const DEMO: &str = "\
script: 1
runs:
  - turns: [{ calls: [{ tool: find, args: { q: 1 } }] }, { text: \"Found \\e[2J.\" }]
  - turns: [{ calls: [{ tool: find, args: { q: 1 } }] }, { text: Found. }]
  - turns: [{ text: No. }]
";

const OTHER: &str = "script: 1\nruns: [{ turns: [{ calls: [{ tool: find, args: { q: 1 } }] }, { text: Found. }] }]\n";

fn world() -> Folder {
    Folder::with(&[("suite.yml", SUITE), ("tools.yml", TOOLS), ("demo.yml", DEMO), ("other.yml", OTHER)])
}

const FACES: [&str; 6] = ["pretty", "json", "ndjson", "junit", "github", "markdown"];

/// Runs a command that writes every report into its own folder.
fn all_faces(here: &Folder, folder: &str, command: &[&str]) -> Output {
    std::fs::create_dir_all(here.0.join(folder)).unwrap();
    let mut line: Vec<String> = command.iter().map(|&word| word.to_owned()).collect();
    for face in FACES {
        line.extend(["--reporter".to_owned(), format!("{face}={folder}/{face}")]);
    }
    here.command(&line.iter().map(String::as_str).collect::<Vec<_>>()).output().unwrap()
}

fn read(path: &Path) -> String {
    std::fs::read_to_string(path).unwrap()
}

#[test]
fn a_saved_run_is_reported_again_byte_for_byte() {
    let here = world();
    here.write("broken.yml", b"agents: 1\n");
    let ran = all_faces(&here, "ran", &["run", "suite.yml", "broken.yml", "--label", "commit=1a2b3c4"]);
    assert_eq!(ran.status.code(), Some(2));
    let again = all_faces(&here, "again", &["report", "ran/json"]);
    // Reporting a failed run is not a failure.
    check(&again, 0, &String::from_utf8(ran.stdout).unwrap(), "");
    for face in FACES {
        let (ran, again) = (read(&here.0.join("ran").join(face)), read(&here.0.join("again").join(face)));
        assert!(!ran.is_empty() && ran == again, "{face}\n--- run\n{ran}\n--- again\n{again}");
    }
    // From a pipe as well, and for each face on standard output.
    for face in FACES {
        let piped = std::fs::File::open(here.0.join("ran/json")).unwrap();
        let output = here.command(&["report", "-", "--reporter", face]).stdin(piped).output().unwrap();
        check(&output, 0, &read(&here.0.join("ran").join(face)), "");
    }
    // The reader chooses how much is shown.
    let verbose = here.command(&["run", "suite.yml", "broken.yml", "-v"]).output().unwrap();
    let again = here.command(&["report", "ran/json", "-v"]).output().unwrap();
    check(&again, 0, &String::from_utf8(verbose.stdout).unwrap(), "");
}

#[test]
fn a_scored_corpus_is_reported_again_byte_for_byte() {
    let here = Folder::with(&[
        ("gates.yml", "trajectory: { calls: [{ name: find }] }\nstability: {}\n"),
        (
            "t.jsonl",
            "{\"id\":\"a\",\"group\":\"g\",\"tool_calls\":[{\"name\":\"find\",\"args\":{\"x\":0.1234567890123456789}}]}\n\
             {\"id\":\"b\",\"group\":\"g\",\"tool_calls\":[],\"conversation\":{\"turns\":[{\"role\":\"assistant\",\"content\":\"x\"}]}}\n\
             {oops\n",
        ),
    ]);
    let score =
        ["score", "t.jsonl", "--gates", "gates.yml", "--group-by", "group", "--output", "none", "--label", "commit=1"];
    let scored = all_faces(&here, "ran", &score);
    assert_eq!(scored.status.code(), Some(2), "{scored:?}");
    let again = all_faces(&here, "again", &["report", "ran/json"]);
    assert_eq!(again.status.code(), Some(0));
    for face in FACES {
        assert_eq!(read(&here.0.join("ran").join(face)), read(&here.0.join("again").join(face)), "{face}");
    }
}

#[test]
fn the_pretty_report_has_one_line_per_cell_paths_and_next_steps() {
    let expected = "\
suite.yml
✗ FAIL      finds it [demo]  scripted  2/3 runs pass
    paths of 3 runs, which first diverge at call 0:
      ├─ 2/3 find: all pass
      └─ 1/3 no call: none pass
✗ FAIL      finds it [demo] #3  scripted
    ✗ trajectory: 1 mismatch (superset)
      calls[0] (find) is missing: that tool was not called
    evidence in #3: no tool call was recorded
    at suite.yml:11:43
       |
    11 |     trajectory: { mode: superset, calls: [{ name: find, args: { exact: { q: 1 } } }] }
       |                                           ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
    rerun: mcptest run suite.yml --filter 'finds it' --models demo --live
✓ PASS      finds it [demo] (stability)
    weakest score 1.00 of 1.00; without cost_per_progress (run 1: the tokens were not recorded)
✓ PASS      finds it [other]  scripted  3/3 runs pass; path of all 3 runs: find
✓ PASS      finds it [other] (stability)
    weakest score 1.00 of 1.00; without cost_per_progress (run 1: the tokens were not recorded)
✗ FAIL      comes back  scripted
    ✗ expect: 1 of 2 assertions passed
      `tool_calls[0].args.q` is 1, expected exact 2
    fault flaky (recover_after): injected into call 0; hit once; answered without the tool
    evidence, of 1 call:
      [0] find {\"q\":1} → failed (fault flaky, timeout): no answer within 3000 ms
    at suite.yml:20:9
       |
    20 |       - { target: \"tool_calls[0].args.q\", matcher: { exact: 2 } }
       |         ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
    rerun: mcptest run suite.yml --filter 'comes back' --live
✓ PASS      comes back (recovery)  scripted
    1 fault hit, 0 delays, detected after 3000 ms, answered without the tool after 3000 ms

passed runs  demo   other
finds it     ✗ 2/3  ✓ 3/3

3 tests, 7 runs: 1 passed, 2 failed
";
    world().check(&["run", "suite.yml"], 1, expected, "");
}

#[test]
fn the_rerun_command_judges_the_same_row() {
    let here = world();
    let output = here.command(&["run", "suite.yml", "-q"]).output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    let commands: Vec<&str> =
        text.lines().filter_map(|line| line.trim_start().strip_prefix("rerun: mcptest ")).collect();
    assert_eq!(commands.len(), 2);
    for (command, row) in commands.iter().zip(["finds it [demo] #3", "comes back"]) {
        let program = env!("CARGO_BIN_EXE_mcptest");
        let mut shell = std::process::Command::new("sh");
        shell.args(["-c", &format!("'{program}' {command} -q")]).current_dir(&here.0).env_clear();
        let output = shell.output().unwrap();
        assert_eq!(output.status.code(), Some(1), "{command}");
        assert!(
            String::from_utf8(output.stdout).unwrap().contains(&format!("✗ FAIL      {row}  scripted\n")),
            "{command}"
        );
    }
}

#[test]
fn changed_verdicts_are_first_in_a_comment_and_last_in_the_pretty_report() {
    let here = world();
    let save =
        |path: &str| here.command(&["run", "suite.yml", "--reporter", &format!("json={path}")]).output().unwrap();
    save("old.json");
    here.write("other.yml", DEMO.as_bytes());
    here.write("suite.yml", SUITE.replace("{ exact: 2 }", "{ exact: 1 }").as_bytes());
    let reported = "\
since old.json: inconclusive, pooled p 1.0000
  3 tests, 5/7 runs pass (71.4%) before, 5/7 runs pass (71.4%) after; difference +0.0 points, 90%
    interval -30.9 to +30.9
";
    let output = here.command(&["run", "suite.yml", "-q", "--compare", "old.json"]).output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    let last = text.rsplit("\n\n").next().unwrap();
    assert!(last.starts_with(reported) && last.ends_with("\n3 tests, 7 runs: 1 passed, 2 failed\n"), "{last}");
    assert!(last.contains("\n      lost: run 3\n") && last.contains("\n      gained: run 1\n"), "{last}");
    assert_eq!(output.status.code(), Some(1));
    save("new.json");
    let comment =
        here.command(&["report", "new.json", "--compare", "old.json", "--reporter", "markdown"]).output().unwrap();
    let text = String::from_utf8(comment.stdout).unwrap();
    let head = "\
## ✗ mcptest: 2 tests failed

3 tests, 7 runs: 1 passed, 2 failed

Runs: 7 scripted.

### ≈ Since `old.json`: inconclusive, pooled p 1.0000

3 tests, 5/7 runs pass (71.4%) before, 5/7 runs pass (71.4%) after; difference +0.0 points, 90% interval -30.9 to +30.9.
";
    assert!(text.starts_with(head), "{text}");
    // Nothing else flips a verdict: the same run against itself.
    let unchanged = here.command(&["report", "new.json", "-q", "--compare", "new.json"]).output().unwrap();
    let text = String::from_utf8(unchanged.stdout).unwrap();
    assert!(text.contains("\nsince new.json: same, pooled p 1.0000\n"), "{text}");
    assert!(text.contains("\n  = 3 tests without a change\n"), "{text}");
    // A report of something else is not a comparison without a difference.
    here.write("empty.json", b"{ \"mcptest\": 1, \"suites\": [] }");
    let output = here.command(&["run", "suite.yml", "-q", "--compare", "empty.json"]).output().unwrap();
    let nothing =
        "error[nothing-to-compare]: empty.json and this run have no test in common\nhint: one of them has no tests\n";
    assert_eq!((output.status.code(), &*String::from_utf8(output.stderr).unwrap()), (Some(2), nothing));
}

#[test]
fn a_file_that_is_not_a_saved_run_is_rejected_with_its_position() {
    let here = Folder::with(&[
        ("cassette.json", "{ \"mcptest\": 1, \"trace\": {} }"),
        ("newer.json", "{ \"mcptest\": 2, \"suites\": [] }"),
        ("text.json", "hello"),
        (
            "row.json",
            "{ \"mcptest\": 1, \"notes\": [],\n  \"suites\": [\n    { \"file\": \"a\",\n      \"rows\": [{\n        \"verdict\": \"fine\" }] }] }",
        ),
    ]);
    here.write("bytes.json", b"{\xff");
    let made = "hint: `mcptest run --reporter json=FILE` writes one\n";
    let refused_as = |code: &str, file: &str, reported: &str| {
        let reported = format!("error[{code}]: {file}: {reported}");
        here.check(&["report", file], 2, "", &reported);
        here.check(&["report", "ok.json", "--compare", file], 2, "", &reported);
    };
    let refused = |file: &str, reported: &str| refused_as("not-a-report", file, reported);
    // Runs can be compared with other things than reports, too.
    let foreign = |file: &str, why: &str| {
        let reported = format!("error[not-a-report]: {file}: is not a saved report: {why}\n{made}");
        here.check(&["report", file], 2, "", &reported);
        let reported = format!(
            "error[not-comparable]: {file}: is neither a saved report, nor output of `mcptest score`, nor a model baseline: {why}\nhint: "
        );
        let output = here.command(&["report", "ok.json", "--compare", file]).output().unwrap();
        let stderr = String::from_utf8(output.stderr).unwrap();
        assert!(output.status.code() == Some(2) && stderr.starts_with(&reported), "{stderr}");
    };
    here.write("ok.json", b"{ \"mcptest\": 1, \"suites\": [], \"new key\": 1 }");
    here.check(&["report", "ok.json"], 0, "no tests\n", "");
    foreign("cassette.json", "it does not have the keys `mcptest` (a version) and `suites`");
    refused("newer.json", &format!("is a saved report of version 2, and this program reads version 1\n{made}"));
    foreign("text.json", "not a JSON object at line 1, column 1: expected value");
    foreign("bytes.json", "it is not text: byte 1 is not UTF-8");
    let again = "hint: restore the file, or write it again with `mcptest run --reporter json=FILE`\n";
    let words = "pass, fail, inconclusive, unassessable, error, absorbed, skipped, unjudged";
    refused("row.json", &format!("line 5, column 27: expected one of {words}, found a string (\"fine\")\n{again}"));
    refused_as("no-such-file", "gone.json", "no such file or folder\nhint: did you mean `ok.json`?\n");
}

#[test]
fn a_report_that_cannot_be_written_is_an_error_and_the_verdict_is_still_printed() {
    let here = Folder::with(&[("ok.json", "{ \"mcptest\": 1, \"suites\": [] }")]);
    let output = here.command(&["report", "ok.json", "--reporter", "markdown=no/a.md"]).output().unwrap();
    let stderr = String::from_utf8(output.stderr).unwrap();
    assert_eq!((output.status.code(), &*output.stdout), (Some(2), &b"no tests\n"[..]));
    assert!(stderr.starts_with("error[report-not-written]: cannot write the report no/a.md: "), "{stderr}");
    let clash = "error[reporters-clash]: two reporters cannot share standard output: github and markdown\n\
                 hint: give one of them a file: --reporter markdown=PATH\n";
    here.check(&["report", "ok.json", "--reporter", "github", "--reporter", "markdown"], 2, "", clash);
}

#[test]
fn color_is_used_on_request_and_never_in_a_pipe() {
    let here = Folder::with(&[("ok.json", "{ \"mcptest\": 1, \"suites\": [] }")]);
    let colored = "\u{1b}[1m\u{1b}[32mno tests\u{1b}[0m\u{1b}[0m\n";
    here.check(&["report", "ok.json", "--color", "always"], 0, colored, "");
    here.check(&["report", "ok.json", "--color", "never"], 0, "no tests\n", "");
    let output = here.command(&["report", "ok.json"]).env("COLUMNS", "10").env("CLICOLOR", "1").output().unwrap();
    check(&output, 0, "no tests\n", "");
}

#[test]
fn github_gets_the_summary_of_its_step() {
    let here = Folder::with(&[("ok.json", "{ \"mcptest\": 1, \"suites\": [] }")]);
    let mut command = here.command(&["report", "ok.json", "--reporter", "github"]);
    let output = command.env("GITHUB_STEP_SUMMARY", here.0.join("summary.md")).output().unwrap();
    check(&output, 0, "::notice title=mcptest::no tests\n", "");
    assert_eq!(read(&here.0.join("summary.md")), "## ✓ mcptest: everything passed\n\nno tests\n");
}

#[test]
fn labels_are_saved_and_can_be_added_or_replaced() {
    let here = world();
    let run = [
        "run",
        "suite.yml",
        "--label",
        "commit=1a2b3c4",
        "--label",
        "build=7",
        "--label",
        "note=",
        "--reporter",
        "json=run.json",
    ];
    assert_eq!(here.command(&run).output().unwrap().status.code(), Some(1));
    let labels = |file: &str| -> serde_json::Value {
        let text = std::fs::read_to_string(here.0.join(file)).unwrap();
        serde_json::from_str::<serde_json::Value>(&text).unwrap()["labels"].clone()
    };
    assert_eq!(labels("run.json"), serde_json::json!({ "build": "7", "commit": "1a2b3c4" }));
    let again = [
        "report",
        "run.json",
        "--label",
        "build=8",
        "--label",
        "build=9",
        "--reporter",
        "json=again.json",
        "--reporter",
        "markdown",
    ];
    let again = here.command(&again).output().unwrap();
    assert_eq!(labels("again.json"), serde_json::json!({ "build": "9", "commit": "1a2b3c4" }));
    let text = String::from_utf8(again.stdout).unwrap();
    assert!(text.contains("\nbuild: `9`, commit: `1a2b3c4`\n"), "{text}");
    for label in ["commit", "=x", "a b=x", "naïve=x"] {
        let refused = here.command(&["report", "run.json", "--label", label]).output().unwrap();
        let why = format!(
            "error[bad-argument]: invalid value '{label}' for '--label <NAME=VALUE>': not NAME=VALUE, with a name of at most 40 letters, digits, \
             `_`, `-` and `.` (hint: commit=1a2b3c4)\n\nFor more information, try '--help'.\n"
        );
        check(&refused, 2, "", &why);
    }
}
