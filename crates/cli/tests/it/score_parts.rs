//! A corpus that is scored in parts, against the same corpus in one piece; and what counts besides traces.

use std::process::Output;

use super::{Folder, root};

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

/// Scores these inputs in one piece and each by itself, and holds what merging gives against the whole.
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
fn a_line_of_no_known_verdict_is_refused() {
    let line = r#"{"source":"a","index":0,"id":null,"group":null,"verdict":"fine","metrics":{},"failures":[]}"#;
    let here = Folder::with(&[("a.jsonl", line)]);
    let stderr = "\
error[not-score-output]: a.jsonl: byte 0: it is not a line that `mcptest score` writes
hint: inputs must be outputs of `mcptest score`
0 traces
1 record or input could not be read
";
    here.check(&["score", "--merge", "a.jsonl"], 2, "", stderr);
}

#[test]
fn an_unreadable_record_has_a_line_with_the_keys_of_a_trace_but_no_trace() {
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
