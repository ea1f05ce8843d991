//! Tasks in gates files, group keys from file names, and the terminal report.

use serde_json::{Value, json};

use super::{Folder, score};

fn trace(id: &str, task: &Value, tool: &str) -> String {
    json!({
        "id": id, "task": task, "tool_calls": [{ "name": tool, "args": {} }],
        "tool_results": [{ "is_error": false, "content": [] }], "final_response": "Done.",
    })
    .to_string()
}

fn traces() -> String {
    [trace("a1", &json!(1), "find"), trace("a2", &json!(1), "book"), trace("b1", &json!("two"), "book")].join("\n")
        + "\n"
}

const TASKS: &str = "\
narrative: {}
tasks:
  - when: { task: { exact: 1 } }
    trajectory: { calls: [{ name: find }] }
  - when: { task: { regex: ^t } }
    trajectory: { calls: [{ name: book }] }
    narrative: { expect: [{ target: narrative.claimed_but_absent, matcher: { exact: 7 } }] }
";

/// The parts of each line that tasks decide.
fn judged(stdout: &str) -> Vec<String> {
    let lines = stdout.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let shown = |line: Value| {
        let gates: Vec<&str> =
            line["failures"].as_array().unwrap().iter().filter_map(|one| one["gate"].as_str()).collect();
        format!("{} {} {} {}", line["id"], line["tasks"], line["verdict"], gates.join(" "))
    };
    lines.map(shown).collect()
}

fn run(here: &Folder, line: &[&str]) -> (i32, String, String) {
    let output = here.command(line).output().unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    (output.status.code().unwrap(), text(output.stdout), text(output.stderr))
}

#[test]
fn a_task_replaces_the_same_gate_and_adds_the_others() {
    let here = Folder::with(&[("t.jsonl", &traces()), ("g.yml", TASKS)]);
    let (code, out, err) = run(&here, &["score", "t.jsonl", "--gates", "g.yml"]);
    assert_eq!(judged(&out), [r#""a1" [0] "pass" "#, r#""a2" [0] "fail" trajectory"#, r#""b1" [1] "fail" narrative"#]);
    assert_eq!((code, err.as_str()), (1, "3 traces: 1 passed, 2 failed\n"));
}

#[test]
fn a_record_without_a_task_is_reported_and_without_any_gate_it_is_unassessable() {
    let only = "tasks:\n  - when: { task: { exact: 1 } }\n    trajectory: { calls: [{ name: find }] }\n";
    let here = Folder::with(&[("t.jsonl", &traces()), ("g.yml", only)]);
    let (code, out, err) = run(&here, &["score", "t.jsonl", "--gates", "g.yml"]);
    assert_eq!(
        judged(&out),
        [r#""a1" [0] "pass" "#, r#""a2" [0] "fail" trajectory"#, r#""b1" [] "unassessable" tasks"#]
    );
    let note = "3 traces: 1 passed, 1 failed, 1 unassessable\nnote: 1 trace belongs to no task\n";
    assert_eq!((code, err.as_str()), (1, note));
}

#[test]
fn a_task_without_a_record_is_an_error_unless_it_is_optional() {
    let task = |more: &str| {
        format!(
            "narrative: {{}}\ntasks:\n  - when: {{ task: {{ exact: \"1\" }} }}\n    golden_path: {{ calls: [find] }}\n{more}"
        )
    };
    let here = Folder::with(&[("t.jsonl", &traces()), ("g.yml", &task("")), ("o.yml", &task("    optional: true\n"))]);
    let (code, out, err) = run(&here, &["score", "t.jsonl", "--gates", "g.yml"]);
    assert_eq!((code, out.lines().count()), (2, 3));
    assert_eq!(
        err,
        "3 traces: 3 passed\nnote: 3 traces belong to no task\nerror[unmet-task]: g.yml:3: no record belongs to this task: \
         {\"task\":{\"exact\":\"1\"}}\nhint: correct its `when:`, or write `optional: true`\n"
    );
    let (code, _, err) = run(&here, &["score", "t.jsonl", "--gates", "o.yml", "--output", "none"]);
    assert_eq!((code, err.as_str()), (0, "3 traces: 3 passed\nnote: 3 traces belong to no task\n"));
}

#[test]
fn a_task_without_a_record_is_an_error_in_every_report() {
    let task = "narrative: {}\ntasks:\n  - when: { task: { exact: typo } }\n    golden_path: { calls: [find] }\n";
    let here = Folder::with(&[("t.jsonl", &traces()), ("g.yml", task)]);
    for (reporter, expected) in [
        ("junit", "<error message=\"no record belongs to this task: "),
        ("github", "::error file=g.yml,line=3,title=g.yml%3A3::error[unmet-task]: no record belongs to this task: "),
        ("json", "\"code\": \"unmet-task\""),
        ("markdown", "no record belongs to this task: "),
        ("html", "no record belongs to this task: "),
    ] {
        let to = format!("{reporter}=report");
        let (code, _, err) =
            run(&here, &["score", "t.jsonl", "--gates", "g.yml", "--reporter", &to, "--output", "none"]);
        let report = std::fs::read_to_string(here.0.join("report")).unwrap();
        assert_eq!((code, report.contains(expected)), (2, true), "{report}\n{err}");
    }
    let (code, out, _) = run(&here, &["score", "t.jsonl", "--gates", "g.yml", "--output", "pretty"]);
    assert_eq!((code, out.contains("! ERROR     g.yml:3\n    error[unmet-task]: ")), (2, true), "{out}");
}

#[test]
fn an_outcome_that_no_record_has_is_an_error_in_reports() {
    let here = Folder::with(&[("t.jsonl", &traces()), ("g.yml", "narrative: {}\n")]);
    let outcome = ["--gates", "g.yml", "--group-by", "task", "--outcome", "reward", "--outcome-pass", "1"];
    let report = ["--reporter", "junit", "--output", "none"];
    let (code, out, err) = run(&here, &[&["score", "t.jsonl"][..], &outcome, &report].concat());
    assert_eq!((code, out.contains("<error message=\"no record has a value at `reward`\"")), (2, true), "{out}");
    assert!(err.contains("error[no-outcome]: no record has a value at `reward`\nhint: "), "{err}");
}

#[test]
fn two_tasks_with_the_same_gate_are_an_error_of_the_record() {
    let gates = "tasks:\n  - when: { task: { exact: 1 } }\n    narrative: {}\n  - when: { id: { regex: a } }\n    narrative: {}\n  - when: { id: { exact: b1 } }\n    narrative: {}\n";
    let here = Folder::with(&[("t.jsonl", &traces()), ("g.yml", gates)]);
    let (code, out, err) = run(&here, &["score", "t.jsonl", "--gates", "g.yml"]);
    assert_eq!(judged(&out), ["\"a1\" null \"error\" input", "\"a2\" null \"error\" input", "\"b1\" [2] \"pass\" "]);
    assert_eq!(code, 2);
    assert!(
        err.starts_with(
            "error[task-conflict]: t.jsonl: byte 0: two tasks of this record have `narrative`: lines 2 and 4"
        ),
        "{err}"
    );
    // Records belong to the first two tasks, but none that was evaluated.
    let unmet = "error[unmet-task]: g.yml:2: no record without an error belongs to this task: {\"task\":{\"exact\":1}}";
    assert!(err.contains(unmet), "{err}");
}

#[test]
fn gates_over_runs_can_differ_by_task_and_parts_merge_to_the_same_groups() {
    let gates = "trajectory: { mode: superset, calls: [{ name: find }] }\ntasks:\n  - when: { task: { exact: 1 } }\n    reliability: { expect: [{ target: reliability.pass_rate, matcher: { schema: { minimum: 50 } } }] }\n  - when: { task: { exact: two } }\n    reliability: {}\n";
    let all = traces();
    let (first, rest) = all.split_at(all.find('\n').unwrap() + 1);
    let here = Folder::with(&[("all.jsonl", &all), ("1.jsonl", first), ("2.jsonl", rest), ("g.yml", gates)]);
    let groups =
        |out: &str| out.lines().filter(|line| line.contains("\"carry\"")).map(str::to_owned).collect::<Vec<_>>();
    let with = |file: &str| ["score", file, "--gates", "g.yml", "--group-by", "task"].map(str::to_owned);
    let as_strs = |line: &[String; 6]| line.clone();
    let score = |file: &str| {
        let line = as_strs(&with(file));
        run(&here, &line.iter().map(String::as_str).collect::<Vec<_>>())
    };
    let (code, whole, _) = score("all.jsonl");
    let verdicts: Vec<Value> =
        groups(&whole).iter().map(|line| serde_json::from_str::<Value>(line).unwrap()["verdict"].clone()).collect();
    assert_eq!((code, verdicts), (1, vec![json!("pass"), json!("fail")]));
    for part in ["1", "2"] {
        here.write(&format!("{part}.out"), score(&format!("{part}.jsonl")).1.as_bytes());
    }
    let (code, merged, err) = run(&here, &["score", "--merge", "1.out", "2.out", "--gates", "g.yml"]);
    assert_eq!(groups(&merged), groups(&whole));
    assert_eq!((code, err.contains("unmet-task")), (1, false), "{err}");
}

#[test]
fn a_group_of_runs_of_different_tasks_is_an_error() {
    let gates = "narrative: {}\ntasks:\n  - when: { task: { exact: 1 } }\n    reliability: {}\n";
    let here = Folder::with(&[("t.jsonl", &traces()), ("g.yml", gates)]);
    let (code, out, err) = run(&here, &["score", "t.jsonl", "--gates", "g.yml", "--group-by", "final_response"]);
    let expected = "error[task-conflict]: group \"Done.\": its runs belong to tasks with different gates over runs\n\
                    hint: group the runs of one task: name the key of `when:` with --group-by\n";
    assert!(err.contains(expected), "{err}");
    let group: Value = serde_json::from_str(out.lines().last().unwrap()).unwrap();
    assert_eq!((code, &group["verdict"]), (2, &json!("error")));
    assert_eq!(group["failures"][0]["reason"], "the runs of this group belong to tasks with different gates over runs");
}

#[test]
fn groups_and_tasks_can_be_named_by_files_and_folders() {
    let gates = "tasks:\n  - when: { \"{folder[-1]}\": { exact: find } }\n    trajectory: { calls: [{ name: find }] }\n  - when: { \"{stem}\": { exact: b } }\n    trajectory: { calls: [{ name: book }] }\n";
    let here = Folder::with(&[
        ("runs/find/1.jsonl", &(trace("x", &json!(1), "find") + "\n")),
        ("runs/book/b.jsonl", &(trace("y", &json!(1), "book") + "\n")),
        ("g.yml", gates),
    ]);
    let (code, out, err) = run(&here, &["score", "runs", "--gates", "g.yml", "--group-by", "{folder[1]}"]);
    assert_eq!(
        judged(&out.lines().take(2).collect::<Vec<_>>().join("\n")),
        ["\"y\" [1] \"pass\" ", "\"x\" [0] \"pass\" "]
    );
    assert_eq!((code, err.as_str()), (0, "2 traces: 2 passed\n2 groups: 2 not judged\n"));
    let (code, _, err) = run(&here, &["score", "-", "--group-by", "{stem}"]);
    assert_eq!(code, 2);
    assert!(err.contains("empty") || err.contains("no-group"), "{err}");
    let grouped = |line: &str, key: &str| {
        let output = score::run(&here, &["score", "-", "--group-by", key], line.as_bytes());
        assert_eq!(output.status.code(), Some(2));
        score::stderr(&output).lines().take(2).collect::<Vec<_>>().join("\n")
    };
    assert_eq!(
        grouped("{\"tool_calls\":[],\"task\":null}", "{folder[0]}"),
        "error[no-group]: -: byte 0: standard input has no `{folder[0]}`, so the record belongs to no group\n\
         hint: name files instead of `-`, or group by a path in the records"
    );
    assert_eq!(
        grouped("{\"tool_calls\":[],\"task\":null}", "task"),
        "error[no-group]: -: byte 0: `task` is null in this record, so it belongs to no group\n\
         hint: give the record a group, or leave it out"
    );
    let (code, _, err) = run(&here, &["score", "runs", "--group-by", "{name}"]);
    assert_eq!(code, 2);
    assert!(err.contains("`{name}` is not a part of an input: use {file}, {stem}, {folder[n]} or {group}"), "{err}");
}

#[test]
fn mutate_judges_each_trace_by_its_task() {
    let here = Folder::with(&[
        ("t.jsonl", &traces()),
        (
            "g.yml",
            "tasks:\n  - when: { task: { exact: 1 } }\n    trajectory: { mode: superset, calls: [{ name: find }] }\n",
        ),
    ]);
    let (code, out, err) = run(&here, &["mutate", "--gates", "g.yml", "t.jsonl", "--operators", "drop-call"]);
    let line: Value = serde_json::from_str(out.lines().next().unwrap()).unwrap();
    assert_eq!((code, out.lines().count(), &line["trace"], &line["status"]), (2, 1, &json!("a1"), &json!("caught")));
    assert!(err.contains("b1: `tasks` is unassessable before any change: it belongs to no task"), "{err}");
}

#[test]
fn the_terminal_report_lists_traces_and_groups() {
    let gates = "stability: {}\n";
    let here = Folder::with(&[("t.jsonl", &traces()), ("g.yml", gates), ("tasks.yml", TASKS)]);
    let (code, out, err) = run(&here, &["score", "t.jsonl", "--gates", "tasks.yml", "--output", "pretty"]);
    assert_eq!((code, err.as_str()), (1, "3 traces: 1 passed, 2 failed\n"));
    assert!(out.starts_with("t.jsonl\n✓ PASS      a1  trajectory"), "{out}");
    assert!(out.contains("✗ FAIL      a2\n"), "{out}");
    let (_, out, _) = run(&here, &["score", "t.jsonl", "--gates", "g.yml", "--group-by", "task", "--output", "pretty"]);
    assert!(out.starts_with("note: the gates judge groups of runs only, so single traces have no verdict\n"), "{out}");
    assert!(out.contains("· UNJUDGED  a1\n") && !out.contains("✓ PASS      a1"), "{out}");
}

#[test]
fn a_long_printed_list_ends_with_a_count() {
    let many: String = (0..80).map(|at| trace(&format!("r{at}"), &json!(1), "find") + "\n").collect();
    let here = Folder::with(&[("t.jsonl", &many), ("g.yml", "narrative: {}\n")]);
    let (code, out, _) = run(&here, &["score", "t.jsonl", "--gates", "g.yml", "--output", "pretty"]);
    assert_eq!((code, out.matches("✓ PASS").count()), (0, 50));
    assert!(out.ends_with("note: 30 more rows not listed; --output jsonl has a line for each\n\n"), "{out}");
}

#[test]
fn reports_count_a_task_without_a_trace_as_such() {
    let gates = "trajectory: { mode: subset, calls: [] }\ntasks: [{ when: { x: { exact: 1 } }, narrative: {} }]\n";
    let here = Folder::with(&[("t.jsonl", "{\"tool_calls\":[]}\n"), ("g.yml", gates)]);
    for (reporter, line) in [
        ("pretty", "1 trace: 1 passed; 1 task without a trace"),
        ("markdown", "! mcptest: 1 task failed or could not run"),
    ] {
        let args = ["score", "t.jsonl", "--gates", "g.yml", "--output", "none", "--reporter", reporter];
        let (code, out, _) = run(&here, &args);
        assert!(code == 2 && out.contains(line), "{out}");
    }
}
