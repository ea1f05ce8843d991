//! `mcptest infer`: what is printed, and that the input passes it.

use serde_json::json;

use super::Folder;

fn run(here: &Folder, line: &[&str]) -> (i32, String, String) {
    let output = here.command(line).output().unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    (output.status.code().unwrap(), text(output.stdout), text(output.stderr))
}

/// A run that finds an order, and refunds it with a note.
fn refund(task: &str, note: &str, reward: u8) -> String {
    let result = json!({ "is_error": false, "content": [] });
    json!({
        "task": task, "reward": reward,
        "tool_calls": [
            { "name": "find_order", "args": { "id": 7 } },
            { "name": "refund_order", "args": { "id": 7, "note": note } },
        ],
        "tool_results": [result, result], "final_response": "I refunded the order 7.",
    })
    .to_string()
        + "\n"
}

fn cancel(reward: u8) -> String {
    json!({
        "task": "c", "reward": reward, "tool_calls": [{ "name": "cancel_order", "args": {} }],
        "tool_results": [{ "is_error": false, "content": [] }], "final_response": "I cancelled the order.",
    })
    .to_string()
        + "\n"
}

#[test]
fn every_group_becomes_a_task_with_its_evidence_and_its_runs_pass() {
    let all =
        [refund("r", "late", 1), refund("r", "cold", 1), refund("r", "", 0), cancel(1), refund("x", "", 0)].concat();
    let here = Folder::with(&[("t.jsonl", &all)]);
    let learned = ["infer", "t.jsonl", "--group-by", "task", "--outcome", "reward", "--outcome-pass", "1"];
    let (code, out, err) = run(&here, &learned);
    assert_eq!(
        out,
        "\
# Inferred from 3 good of 5 runs in t.jsonl.
# Every good run passes these gates. Each line ends with its evidence: the fewer runs, the weaker it
# is. Remove what is true by accident.
tasks:
  - when: { task: { exact: r } }  # 2 good of 3 runs
    trajectory:
      mode: superset
      calls:
        - { name: refund_order, args: { schema: { properties: { id: { const: 7 }, note: { type: string } }, required: [id, note], type: object } }, status: ok }  # 2 of 2 runs; varies: note
    trajectory_axes:
      order:
        - { first: find_order, second: refund_order }  # 2 of 2 runs
    narrative: {}  # 2 of 2 runs
    expect:
      - { target: \"tool_calls[*].name\", matcher: { schema: { items: { not: { enum: [cancel_order] } } } } }  # called in other runs of the input, not in 2 of 2 runs
      - { target: \"tool_calls[*].name\", matcher: { schema: { contains: { const: refund_order }, maxContains: 1, minContains: 0 } } }  # 1 call in each of 2 runs
  - when: { task: { exact: c } }  # 1 good run
    trajectory:
      mode: superset
      calls:
        - { name: cancel_order, status: ok }  # 1 run
    narrative: {}  # 1 run
    expect:
      - { target: \"tool_calls[*].name\", matcher: { schema: { items: { not: { enum: [refund_order] } } } } }  # called in other runs of the input, not in 1 run
  # task x: 0 good of 1 run, nothing to require
"
    );
    assert_eq!((code, err.as_str()), (0, "3 good runs of 3 tasks: 8 lines; 1 task without one\n"));
    assert_eq!(run(&here, &learned).1, out);
    here.write("g.yml", out.as_bytes());
    let (_, lines, _) = run(&here, &["score", "t.jsonl", "--gates", "g.yml"]);
    let verdicts: Vec<&str> =
        lines.lines().map(|line| line.split("\"verdict\":\"").nth(1).unwrap().split('"').next().unwrap()).collect();
    assert_eq!(verdicts, ["pass", "pass", "pass", "pass", "unassessable"]);
    let (code, _, err) = run(&here, &["validate", "g.yml"]);
    assert_eq!(code, 0, "{err}");
}

#[test]
fn without_groups_the_gates_are_for_all_and_a_file_is_never_overwritten() {
    let here = Folder::with(&[("t.jsonl", &refund("r", "late", 1))]);
    let (code, out, err) = run(&here, &["infer", "t.jsonl", "--out", "g.yml"]);
    assert_eq!((code, out.as_str(), err.as_str()), (0, "", "1 good run: 2 lines\n"));
    let (code, _, err) = run(&here, &["score", "t.jsonl", "--gates", "g.yml", "--output", "none"]);
    assert_eq!((code, err.as_str()), (0, "1 trace: 1 passed\n"));
    let before = std::fs::read_to_string(here.0.join("g.yml")).unwrap();
    let (code, _, err) = run(&here, &["infer", "t.jsonl", "--out", "g.yml"]);
    assert_eq!(code, 2);
    assert!(err.starts_with("error[file-exists]: g.yml already exists, and nothing is overwritten"), "{err}");
    assert_eq!(std::fs::read_to_string(here.0.join("g.yml")).unwrap(), before);
}

#[test]
fn a_record_that_cannot_be_read_is_reported_and_the_others_are_learned_from() {
    let here = Folder::with(&[("t.jsonl", &(refund("r", "late", 1) + "{\"x\": 1}\n"))]);
    let (code, out, err) = run(&here, &["infer", "t.jsonl"]);
    assert_eq!((code, out.contains("refund_order")), (2, true));
    assert!(err.contains("error[invalid-record]") && err.ends_with("1 good run: 2 lines\n"), "{err}");
}

#[test]
fn good_runs_with_nothing_in_common_still_pass() {
    let run_of = |id: &str, task: &str, more: &str| format!("{{\"id\":\"{id}\",\"task\":\"{task}\"{more}}}\n");
    let untrue = r#","final_response":"I refunded it.","tool_calls":[{"name":"find_order"}],"tool_results":[{"is_error":false}]"#;
    let bare = r#","final_response":"Done.""#;
    let blank = r#","conversation":{"turns":[{"role":"user","content":"Hi"}]}"#;
    let traces = refund("r", "late", 1) + &run_of("a", "odd", untrue) + &run_of("b", "odd", bare);
    let here = Folder::with(&[
        ("t.jsonl", &traces),
        ("blank.jsonl", &(traces.clone() + &run_of("c", "odd", blank))),
        ("bare.jsonl", &run_of("b", "odd", blank)),
    ]);
    let infer = |file: &str| run(&here, &["infer", file, "--group-by", "task"]);
    let (code, out, err) = infer("t.jsonl");
    let line = "- { target: final_response, matcher: { schema: { minLength: 1, type: string } } }  # 2 of 2 runs, nothing else to require";
    assert!((code, out.contains(line)) == (0, true), "{out}{err}");
    here.write("g.yml", out.as_bytes());
    let (code, out, err) = run(&here, &["score", "t.jsonl", "--gates", "g.yml"]);
    assert_eq!(code, 0, "{out}{err}");
    let (_, out, _) = infer("blank.jsonl");
    assert!(out.contains("passes these gates, except those of tasks with nothing to require."), "{out}");
    let (code, _, err) = infer("bare.jsonl");
    let why = "error[nothing-inferred]: there is nothing to require: the calls of the good runs were not all recorded\nhint: ";
    assert!(code == 2 && err.starts_with(why), "{err}");
}

#[test]
fn lookups_are_required_on_request() {
    let here = Folder::with(&[("t.jsonl", &refund("r", "late", 1))]);
    let names = |line: &[&str]| {
        let (_, out, _) = run(&here, line);
        (out.contains("name: find_order"), out.contains("name: refund_order"))
    };
    assert_eq!(names(&["infer", "t.jsonl"]), (false, true));
    assert_eq!(names(&["infer", "t.jsonl", "--lookups"]), (true, true));
}
