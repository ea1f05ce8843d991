//! A corpus that is scored in parts, against the same corpus in one piece; and what counts besides traces.

use std::process::Output;

use serde_json::{Value, json};

use super::score::{lines, objects, stderr};
use super::{Folder, check, root};

const RUNS: &str = "gates-of-runs.yml";
const GROUPED: [&str; 4] = ["--group-by", "task_id", "--gates", RUNS];

/// The recordings of the example.
fn recordings() -> Folder {
    let read = |name: &str| std::fs::read(root().join("examples/score-your-traces").join(name)).unwrap();
    let here = Folder::with(&[]);
    for name in ["support-1.jsonl", "support-2.jsonl", RUNS] {
        here.write(name, &read(name));
    }
    here
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

/// The lines of groups in an output.
fn groups(output: &Output) -> Vec<String> {
    text(&output.stdout).lines().filter(|line| line.starts_with("{\"group\":")).map(str::to_owned).collect()
}

/// Scores these inputs together and separately, and compares the merged result with the whole.
#[track_caller]
fn check_parts(here: &Folder, inputs: &[&str], code: i32) {
    let score = |inputs: &[&str]| here.command(&[&["score"], inputs, &GROUPED].concat()).output().unwrap();
    let whole = score(inputs);
    let parts: Vec<String> = inputs.iter().map(|input| format!("scored/{input}")).collect();
    for (input, part) in inputs.iter().zip(&parts) {
        here.write(part, &score(&[input]).stdout);
    }
    let merged = here.command(&["score", "--merge", "scored", "--gates", RUNS]).output().unwrap();
    assert_eq!(text(&merged.stdout).lines().collect::<Vec<_>>(), groups(&whole));
    assert_eq!((merged.status.code(), whole.status.code()), (Some(code), Some(code)));
    // What could not be read is reported where it was read; its count is reported again.
    let whole_summary: Vec<String> = text(&whole.stderr)
        .lines()
        .filter(|line| !line.starts_with("error[") && !line.starts_with("hint: "))
        .map(str::to_owned)
        .collect();
    assert_eq!(text(&merged.stderr).lines().collect::<Vec<_>>(), whole_summary);
}

#[test]
fn merged_parts_give_the_groups_summary_and_exit_code_of_one_process() {
    let here = recordings();
    check_parts(&here, &["support-1.jsonl", "support-2.jsonl"], 0);
    let strict = std::fs::read_to_string(here.0.join(RUNS)).unwrap().replace("exclusiveMinimum: 50", "minimum: 100");
    here.write(RUNS, strict.as_bytes());
    check_parts(&here, &["support-1.jsonl", "support-2.jsonl"], 1);
}

#[test]
fn a_record_that_a_part_could_not_read_counts_in_the_merge() {
    let here = recordings();
    let mut torn = std::fs::read(here.0.join("support-2.jsonl")).unwrap();
    torn.truncate(torn.len() - 200);
    here.write("support-2.jsonl", &torn);
    check_parts(&here, &["support-1.jsonl", "support-2.jsonl"], 2);
}

#[test]
fn a_record_of_a_group_that_a_part_could_not_read_is_an_error_of_the_group_in_the_merge() {
    let here = recordings();
    let mut runs = std::fs::read_to_string(here.0.join("support-2.jsonl")).unwrap();
    let first: Value = serde_json::from_str(runs.lines().next().unwrap()).unwrap();
    for task in [first["task_id"].clone(), "none of it is read".into()] {
        runs.push_str(&format!("{}\n", json!({ "task_id": task, "messages": 7 })));
    }
    here.write("support-2.jsonl", runs.as_bytes());
    check_parts(&here, &["support-1.jsonl", "support-2.jsonl"], 2);
    let merged = here.command(&["score", "--merge", "scored", "--gates", RUNS]).output().unwrap();
    assert_eq!(text(&merged.stdout).matches("\"verdict\":\"error\"").count(), 2);
}

#[test]
fn a_line_with_an_unknown_verdict_is_refused() {
    let line = r#"{"source":"a","index":0,"id":null,"group":null,"verdict":"fine","metrics":{},"failures":[]}"#;
    let here = Folder::with(&[("a.jsonl", line)]);
    let stderr = "\
error[not-score-output]: a.jsonl: byte 0: it is not a line that `mcptest score` writes
hint: inputs must be outputs of `mcptest score`; merged output cannot be merged again
0 traces
1 record or input could not be read
";
    here.check(&["score", "--merge", "a.jsonl"], 2, "", stderr);
}

#[test]
fn an_unreadable_record_has_a_line_with_the_keys_of_a_trace() {
    let here = Folder::with(&[
        ("a.jsonl", r#"{"messages":[{"role":"wizard","content":"Hi"}]}"#),
        ("gates.yml", "narrative: {}\n"),
    ]);
    let reason = r#"messages[0].role must be system, developer, user, assistant, tool or function, found \"wizard\""#;
    let stdout = format!(
        "{{\"source\":\"a.jsonl\",\"index\":0,\"id\":null,\"group\":null,\"verdict\":\"error\",\"metrics\":{{}},\
         \"failures\":[{{\"gate\":\"input\",\"target\":\"byte 0\",\"reason\":\"{reason}\"}}]}}\n"
    );
    let stderr = format!(
        "error[invalid-record]: a.jsonl: byte 0: {}\nhint: `--from` names the format of a record\n0 traces\n1 record or input could not be read\n",
        reason.replace("\\\"", "\"")
    );
    let line = ["score", "a.jsonl", "--from", "openai-chat", "--gates", "gates.yml"];
    here.check(&line, 2, &stdout, &stderr);
    here.check(&[&line[..], &["--reporter", "json=report.json"]].concat(), 2, &stdout, &stderr);
}

#[test]
fn outcomes_without_a_group_are_noted() {
    let here = Folder::with(&[("a.jsonl", "{\"reward\":1,\"tool_calls\":[]}\n")]);
    let stderr = "\
1 trace: 1 not judged
note[outcome-without-group]: outcomes are counted per group, and no record names a group
hint: say where it is with --group-by
";
    here.check(&["score", "a.jsonl", "--outcome", "reward", "--outcome-pass", "1", "--output", "none"], 0, "", stderr);
}

#[test]
fn a_trace_without_a_group_says_which_gates_judged_it() {
    let here = Folder::with(&[
        ("in.jsonl", "{\"tool_calls\":[{\"name\":\"a\"}],\"tool_results\":[null]}\n"),
        ("lenient.yml", "trajectory: { calls: [{ name: a }] }\n"),
        ("laid-out.yml", "trajectory:\n  calls:\n    - name: a\n"),
        ("strict.yml", "trajectory: { calls: [{ name: b }] }\n"),
        ("variable.yml", "trajectory: { calls: [{ name: \"${TOOL}\" }] }\n"),
    ]);
    let score = |gates: &str, part: &str| {
        let output = here.command(&["score", "in.jsonl", "--gates", gates]).env("TOOL", "a").output().unwrap();
        here.write(part, &output.stdout);
        text(&output.stdout)
    };
    let line = score("lenient.yml", "lenient.out");
    let (before, rules) = line.split_once(",\"rules\":").unwrap();
    assert!(before.ends_with("\"failures\":[]") && rules.len() == "\"12345678\"}\n".len(), "{line}");
    score("variable.yml", "variable.out");
    here.write("unmarked.out", format!("{before}}}\n").as_bytes());
    let merged = "{\"merged\":true,\"traces\":1}\n";
    let passed = "1 trace: 1 passed\n";
    here.check(&["score", "--merge", "lenient.out", "--gates", "lenient.yml"], 0, merged, passed);
    here.check(&["score", "--merge", "lenient.out", "--gates", "laid-out.yml"], 0, merged, passed);
    let end = "1 trace: 1 passed\n1 record or input could not be read\n";
    let other = "it was not scored with the gates and the outcome of this merge\n\
         hint: score every part with the same --gates and --outcome as the merge, or all without\n";
    let unmarked = "it has traces that do not say which gates judged them\n\
         hint: score this part again with the gates of the merge; its lines are edited or from an older version\n";
    let outcome = ["--outcome", "reward", "--outcome-pass", "1"];
    for (part, gates, more, why) in [
        ("lenient.out", &["--gates", "strict.yml"][..], &[][..], other),
        ("lenient.out", &["--gates", "lenient.yml"], &outcome, other),
        ("lenient.out", &[], &[], other),
        ("unmarked.out", &["--gates", "lenient.yml"], &[], unmarked),
    ] {
        let note = if more.is_empty() {
            ""
        } else {
            "note[outcome-without-group]: outcomes are counted per group, and no record names a group\n\
             hint: say where it is with --group-by\n"
        };
        let stderr = format!("error[gates-mismatch]: {part}: {why}{end}{note}");
        here.check(&[&["score", "--merge", part], gates, more].concat(), 2, merged, &stderr);
    }
    // A variable with another value makes other gates.
    let merge = |tool: &str| {
        let merge = ["score", "--merge", "variable.out", "--gates", "variable.yml"];
        here.command(&merge).env("TOOL", tool).output().unwrap().status.code()
    };
    assert_eq!((merge("a"), merge("b")), (Some(0), Some(2)));
}

#[test]
fn merged_output_is_refused_as_a_part() {
    let folder = Folder::with(&[
        ("g.yml", "trajectory: { mode: superset, calls: [{ name: find }] }\n"),
        ("a.jsonl", "{\"tool_calls\":[]}\n"),
        ("b.jsonl", "{\"tool_calls\":[{\"name\":\"find\"}]}\n"),
    ]);
    let score = |line: &[&str]| folder.command(&[&["score", "--gates", "g.yml"], line].concat()).output().unwrap();
    for (part, code) in [("a", 1), ("b", 0)] {
        let output = score(&[&format!("{part}.jsonl")]);
        assert_eq!(output.status.code(), Some(code));
        folder.write(&format!("{part}.part"), &output.stdout);
    }
    let merged = score(&["--merge", "a.part"]);
    check(&merged, 1, "{\"merged\":true,\"traces\":1}\n", "1 trace: 1 failed\n");
    folder.write("m.part", &merged.stdout);
    let refused = "error[not-score-output]: m.part: byte 0: it is not a line that `mcptest score` writes\n\
                   hint: inputs must be outputs of `mcptest score`; merged output cannot be merged again\n\
                   1 trace: 1 passed\n1 record or input could not be read\n";
    check(&score(&["--merge", "m.part", "b.part"]), 2, "{\"merged\":true,\"traces\":1}\n", refused);
}

#[test]
fn a_run_that_cannot_be_read_is_an_error_of_its_group() {
    let run = |id: &str, calls: &str| format!(r#"{{"id":"{id}","group":"A","tool_calls":{calls},"tool_results":[]}}"#);
    let (good, lost) = (run("a1", "[]"), run("a2", "\"broken\""));
    let (cut, torn) = (run("a3", "["), r#"{"id":"b1","gro"#);
    let folder = Folder::with(&[
        ("t.jsonl", &lines(&[&good, &lost, &good])),
        ("only.jsonl", &lost),
        ("cut.jsonl", &lines(&[&cut, &good])),
        ("torn.jsonl", &lines(&[&good, torn])),
        ("g.yml", "trajectory: { mode: subset, calls: [] }\nreliability: {}\n"),
        ("runs.yml", "trajectory: { mode: subset, calls: [] }\n"),
    ]);
    let check = |file: &str, gates: &str, found: &Value, last: &str| {
        let output = folder.command(&["score", file, "--gates", gates]).output().unwrap();
        let all = objects(&output);
        let group = all.last().unwrap();
        let ids: Vec<&Value> = all.iter().filter_map(|line| line.get("id")).collect();
        let shown = json!([ids, group["runs"], group["verdict"], group["failures"][0]["reason"], group["notes"]]);
        assert_eq!((&shown, output.status.code()), (found, Some(2)), "{file}");
        assert_eq!(stderr(&output).lines().last(), Some(last), "{file}");
    };
    let why = "1 record of this group could not be read or evaluated";
    let unread = "1 record or input could not be read";
    check("t.jsonl", "g.yml", &json!([["a1", "a2", "a1"], 2, "error", why, [why]]), unread);
    check("only.jsonl", "g.yml", &json!([["a2"], 0, "error", why, [why]]), unread);
    check("cut.jsonl", "g.yml", &json!([["a3", "a1"], 1, "error", why, [why]]), unread);
    check("t.jsonl", "runs.yml", &json!([["a1", "a2", "a1"], 2, null, null, [why]]), unread);
    let note =
        "note: 1 unreadable record or input may belong to any group, so groups are judged without what is in there";
    check("torn.jsonl", "g.yml", &json!([["a1", "b1"], 1, "pass", null, null]), note);
}
