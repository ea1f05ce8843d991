//! `mcptest score` and `mcptest convert`: traces of other programs, good and bad, one and many.

use std::io::{BufRead, BufReader, Write};
use std::process::{Command, Output, Stdio};
use std::sync::mpsc;
use std::time::Duration;

use serde_json::{Value, json};

use super::{Folder, check};

/// The note when there are no gates.
const MEASURED: &str = "note: metrics only; --gates FILE adds verdicts, with gates such as `narrative: {}` (`mcptest explain narrative`)\n";

/// A trace that searches and answers.
const GOOD: &str = r#"{"id":"good","tool_calls":[{"name":"search","server":"web","args":{"q":"rain"}}],"tool_results":[{"is_error":false,"content":[{"type":"text","text":"wet"}]}],"final_response":"It rains."}"#;
/// A trace that never searches and says it sent something.
const LYING: &str = r#"{"id":"lying","tool_calls":[],"tool_results":[],"final_response":"I sent the email."}"#;
/// A trace with only the closing message.
const BLIND: &str = r#"{"id":"blind","conversation":{"turns":[{"role":"assistant","content":"Done."}]}}"#;

const GATES: &str = "trajectory: { calls: [{ name: search }] }\nnarrative: {}\n";

const CHAT: &str = r#"{"id":"c","messages":[{"role":"user","content":"rain?"},{"role":"assistant","content":null,"tool_calls":[{"id":"1","type":"function","function":{"name":"web__search","arguments":"{\"q\":\"rain\"}"}}]},{"role":"tool","tool_call_id":"1","content":"wet"},{"role":"assistant","content":"It rains."}]}"#;
const ANTHROPIC: &str = r#"{"id":"a","messages":[{"role":"user","content":"rain?"},{"role":"assistant","content":[{"type":"tool_use","id":"1","name":"mcp__web__search","input":{"q":"rain"}}]},{"role":"user","content":[{"type":"tool_result","tool_use_id":"1","content":"wet"}]},{"role":"assistant","content":[{"type":"text","text":"It rains."}]}]}"#;

pub(super) fn lines(of: &[&str]) -> String {
    of.join("\n") + "\n"
}

pub(super) fn run(folder: &Folder, line: &[&str], stdin: &[u8]) -> Output {
    let mut child = piped(folder, line);
    let mut input = child.stdin.take().unwrap();
    std::thread::scope(|scope| {
        // A program that needs no more input closes its end.
        scope.spawn(move || _ = input.write_all(stdin));
        child.wait_with_output().unwrap()
    })
}

fn piped(folder: &Folder, line: &[&str]) -> std::process::Child {
    let mut command: Command = folder.command(line);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
}

/// What was printed, line by line.
pub(super) fn objects(output: &Output) -> Vec<Value> {
    let text = std::str::from_utf8(&output.stdout).unwrap();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

pub(super) fn stderr(output: &Output) -> &str {
    std::str::from_utf8(&output.stderr).unwrap()
}

#[test]
fn without_gates_default_metrics_are_measured_and_nothing_is_judged() {
    let folder = Folder::with(&[("t.jsonl", &lines(&[GOOD, LYING]))]);
    folder.check(
        &["score", "t.jsonl"],
        0,
        &lines(&[
            r#"{"source":"t.jsonl","index":0,"id":"good","group":null,"verdict":null,"metrics":{"narrative":{"arg_mismatch":0,"claimed_but_absent":0,"divergence_score":1.0,"gate_passed":1,"present_but_unclaimed":1,"unclaimed_mutating":0,"unverifiable":0},"stability":{"redundancy":1.0,"tool_usage_stability":1.0,"weakest_score":1.0}},"failures":[]}"#,
            r#"{"source":"t.jsonl","index":1,"id":"lying","group":null,"verdict":null,"metrics":{"narrative":{"arg_mismatch":0,"claimed_but_absent":1,"divergence_score":1.0,"gate_passed":0,"present_but_unclaimed":0,"unclaimed_mutating":0,"unverifiable":0},"stability":{"redundancy":1.0,"tool_usage_stability":1.0,"weakest_score":1.0}},"failures":[]}"#,
        ]),
        &format!("2 traces: 2 not judged\n{MEASURED}"),
    );
}

#[test]
fn gates_give_verdicts_with_reasons_and_missing_evidence_never_passes() {
    let folder = Folder::with(&[("t.jsonl", &lines(&[GOOD, LYING, BLIND])), ("g.yml", GATES)]);
    folder.check(
        &["score", "t.jsonl", "--gates", "g.yml"],
        1,
        &lines(&[
            r#"{"source":"t.jsonl","index":0,"id":"good","group":null,"verdict":"pass","metrics":{"narrative":{"arg_mismatch":0,"claimed_but_absent":0,"divergence_score":1.0,"gate_passed":1,"present_but_unclaimed":1,"unclaimed_mutating":0,"unverifiable":0},"trajectory":{"mismatch_count":0,"passed":1}},"failures":[],"rules":"Cb14gHW5"}"#,
            r#"{"source":"t.jsonl","index":1,"id":"lying","group":null,"verdict":"fail","metrics":{"narrative":{"arg_mismatch":0,"claimed_but_absent":1,"divergence_score":1.0,"gate_passed":0,"present_but_unclaimed":0,"unclaimed_mutating":0,"unverifiable":0},"trajectory":{"mismatch_count":1,"passed":0}},"failures":[{"gate":"trajectory","target":"trajectory.passed","reason":"calls[0] (search) is missing: the trace has no calls"},{"gate":"narrative","target":"narrative.gate_passed","reason":"\"sent the email\": no tool was called"}],"rules":"Cb14gHW5"}"#,
            r#"{"source":"t.jsonl","index":2,"id":"blind","group":null,"verdict":"unassessable","metrics":{"narrative":{},"trajectory":{}},"failures":[{"gate":"trajectory","target":"trajectory.passed","reason":"not assessable: the tool calls were not recorded"},{"gate":"narrative","target":"narrative","reason":"not assessable: the tool calls were not recorded"}],"rules":"Cb14gHW5"}"#,
        ]),
        "3 traces: 1 passed, 1 failed, 1 unassessable\n",
    );
    folder.check(
        &["score", "t.jsonl", "--gates", "g.yml", "--output", "none"],
        1,
        "",
        "3 traces: 1 passed, 1 failed, 1 unassessable\n",
    );
}

#[test]
fn assertions_of_the_gates_file_read_the_complete_trace() {
    let gates = "expect:\n  - { target: \"tool_results[0].content[0].text\", matcher: { exact: wet } }\n";
    let folder = Folder::with(&[("t.jsonl", &lines(&[CHAT, GOOD])), ("g.yml", gates)]);
    let output = folder.command(&["score", "t.jsonl", "--gates", "g.yml"]).output().unwrap();
    let verdicts: Vec<Value> = objects(&output).into_iter().map(|line| line["verdict"].clone()).collect();
    assert_eq!((verdicts, output.status.code()), (vec![json!("pass"), json!("pass")], Some(0)));
}

#[test]
fn a_gates_file_with_mistakes_is_refused_before_anything_is_read() {
    let folder =
        Folder::with(&[("t.jsonl", GOOD), ("g.yml", "trajectory: { cals: [] }\n"), ("e.yml", "reliability: {}\n")]);
    folder.check(
        &["score", "t.jsonl", "--gates", "g.yml"],
        2,
        "",
        "\
g.yml:1:15: error[unknown-key]: unknown key `cals` in `trajectory`
   |
 1 | trajectory: { cals: [] }
   |               ^^^^
   = hint: did you mean `calls`?
",
    );
    folder.check(
        &["score", "t.jsonl", "--gates", "e.yml"],
        2,
        "",
        "error[reliability-without-checks]: e.yml: `reliability` counts runs that pass, but no gate or assertion judges a single run\n\
         hint: add a gate for single runs, or say where records state their outcome: --outcome\n",
    );
    folder.check(
        &["score", "t.jsonl", "--gates", "none.yml"],
        2,
        "",
        "error[no-such-file]: none.yml: no such file or folder\nhint: did you mean `e.yml`?\n",
    );
}

#[test]
fn score_and_validate_warn_about_a_gates_file_that_requires_nothing() {
    let warning = "\
gates.yml:1:1: warning[empty-trajectory]: `trajectory` without calls passes on every trace
   |
 1 | trajectory: { calls: [] }
   | ^^^^^^^^^^
   = hint: list the calls in `calls:`; to allow no calls at all, write `mode: subset`
";
    let here = Folder::with(&[("t.jsonl", &lines(&[GOOD])), ("gates.yml", "trajectory: { calls: [] }\n")]);
    let summary = "1 trace: 1 passed\n";
    here.check(
        &["score", "t.jsonl", "--gates", "gates.yml", "--output", "none"],
        0,
        "",
        &format!("{warning}{summary}"),
    );
    let more = "for more: mcptest explain empty-trajectory\n";
    here.check(&["validate", "gates.yml"], 0, &format!("{warning}\n{more}1 file: 1 valid, 1 warning\n"), "");
    here.check(
        &["validate", "--deny-warnings", "gates.yml"],
        2,
        &format!("{}\n{more}1 file: 1 with 1 error\n", warning.replace("warning[", "error[")),
        "",
    );
}

#[test]
fn a_broken_line_is_reported_with_its_byte_and_the_others_are_scored() {
    let broken = r#"{"id":"x","tool_calls":[}"#;
    let folder = Folder::with(&[("t.jsonl", &lines(&[GOOD, broken, r#"{"tool_calls":7}"#, LYING]))]);
    let output = folder.command(&["score", "t.jsonl"]).output().unwrap();
    let (first, second) = (GOOD.len() + 1 + 24, GOOD.len() + 1 + broken.len() + 1 + 14);
    assert_eq!(
        stderr(&output),
        format!(
            "error[invalid-record]: t.jsonl: byte {first}: it is not JSON: expected value\n\
             error[invalid-record]: t.jsonl: byte {second}: tool_calls: expected a list, found a number\n\
             2 traces: 2 not judged\n2 records or inputs could not be read\n"
        )
    );
    assert_eq!(output.status.code(), Some(2));
    let shown: Vec<Value> = objects(&output)
        .iter()
        .map(|line| json!([line["index"], line["id"], line["verdict"], line["failures"]]))
        .collect();
    let input =
        |byte: usize, reason: &str| json!([{ "gate": "input", "target": format!("byte {byte}"), "reason": reason }]);
    assert_eq!(
        shown,
        [
            json!([0, "good", null, []]),
            json!([1, "x", "error", input(first, "it is not JSON: expected value")]),
            json!([2, null, "error", input(second, "tool_calls: expected a list, found a number")]),
            json!([3, "lying", null, []]),
        ]
    );
}

#[test]
fn an_input_that_is_not_there_has_a_line_and_a_row_like_any_record_that_cannot_be_read() {
    let folder = Folder::with(&[("a.jsonl", GOOD), ("gates.yml", "trajectory: { mode: subset, calls: [] }\n")]);
    let line = ["score", "gone.jsonl", "--gates", "gates.yml", "--reporter", "json=report.json"];
    let stderr = "\
error[no-such-file]: gone.jsonl: no such file or folder
hint: paths are relative to the current folder
0 traces
1 record or input could not be read
";
    let stdout = "{\"source\":\"gone.jsonl\",\"index\":0,\"id\":null,\"group\":null,\"verdict\":\"error\",\"metrics\":{},\
        \"failures\":[{\"gate\":\"input\",\"target\":\"input\",\"reason\":\"no such file or folder\"}]}\n";
    folder.check(&line, 2, stdout, stderr);
    let report: Value = serde_json::from_slice(&std::fs::read(folder.0.join("report.json")).unwrap()).unwrap();
    assert_eq!(report["exit_code"], 2);
    assert_eq!(report["suites"][0]["file"], "gone.jsonl");
    assert_eq!(report["suites"][0]["rows"][0]["error"]["message"], "no such file or folder");
}

#[test]
fn an_unjudged_trace_passes_in_no_report() {
    let run =
        |id: &str| format!(r#"{{"id":"{id}","group":"g","tool_calls":[{{"name":"a"}},{{"name":"a"}}],"reward":1}}"#);
    let folder = Folder::with(&[("t.jsonl", &lines(&[&run("x"), &run("y")])), ("gates.yml", "stability: {}\n")]);
    let outcome = ["--outcome", "reward", "--outcome-pass", "1"];
    let line = [&["score", "t.jsonl", "--gates", "gates.yml"][..], &outcome].concat();
    let report = |reporter: &str| {
        let output =
            folder.command(&[&line[..], &["--output", "none", "--reporter", reporter]].concat()).output().unwrap();
        assert_eq!(output.status.code(), Some(0));
        String::from_utf8(output.stdout).unwrap()
    };
    let printed = objects(&folder.command(&line).output().unwrap());
    let verdicts: Vec<&Value> = printed.iter().map(|line| &line["verdict"]).collect();
    assert_eq!(verdicts, [&Value::Null, &Value::Null, &json!("pass")]);
    // `reliability` is measured, because there are outcomes, and not judged, because the file does not have the gate.
    let pretty = "\
note: the gates judge groups of runs only, so single traces have no verdict

t.jsonl
· UNJUDGED  x
· UNJUDGED  y

groups
✓ PASS      g (stability)
    weakest score 1.00 of 1.00; without response_consistency (run 1: the turns were not recorded);
      without redundancy (run 1: the args of repeated calls were not recorded); without
      cost_per_progress (run 1: the args of repeated calls were not recorded)
· UNJUDGED  g (reliability)  2 of 2 runs passed, 100.0% (95% interval 34.2% to 100.0%)

2 traces, 1 group: 1 passed, 2 not judged
";
    assert_eq!(report("pretty"), pretty);
    let saved: Value = serde_json::from_str(&report("json")).unwrap();
    let rows = saved["suites"].as_array().unwrap().iter().flat_map(|suite| suite["rows"].as_array().unwrap());
    let verdicts: Vec<&Value> = rows.map(|row| &row["verdict"]).collect();
    assert_eq!(verdicts, [&Value::Null, &Value::Null, &json!("pass"), &Value::Null]);
    assert_eq!(saved["totals"]["unjudged"], 3);
    let junit = report("junit");
    assert_eq!((junit.matches("<skipped/>").count(), junit.matches("<testcase").count()), (3, 4), "{junit}");
}

#[cfg(unix)]
#[test]
fn skipped_files_of_a_folder_are_reported() {
    use std::os::unix::fs::symlink;

    let folder = Folder::with(&[("t/a.jsonl", GOOD), ("other/b.jsonl", GOOD), ("suites/s.yml", SUITE)]);
    let at = |name: &str| folder.0.join(name);
    for name in ["t/link", "suites/link"] {
        symlink(at("other"), at(name)).unwrap();
    }
    assert!(Command::new("mkfifo").arg(at("t/pipe.jsonl")).status().unwrap().success());
    let link = |path: &str| format!("note: {path}: skipped: it is a link to a folder; name it to read it\n");
    let pipe = "note: t/pipe.jsonl: skipped: it is not a regular file, and reading it could block forever\n";
    let left_out = format!("{}{pipe}", link("t/link"));
    let summary = "1 trace: 1 not judged\n\
        note: metrics only; --gates FILE adds verdicts, with gates such as `narrative: {}` (`mcptest explain narrative`)\n";
    folder.check(&["score", "t", "--output", "none"], 0, "", &format!("{left_out}{summary}"));
    assert_eq!(stderr(&folder.command(&["convert", "t"]).output().unwrap()), left_out);
    folder.check(&["run", "suites", "--list"], 0, "suites/s.yml:2: a\n", &link("suites/link"));
    assert_eq!(stderr(&folder.command(&["validate", "suites"]).output().unwrap()), link("suites/link"));
    let scanned = folder.command(&["cassette", "scan", "other", "t"]).output().unwrap();
    assert!(stderr(&scanned).starts_with(&link("t/link")), "{scanned:?}");
    // Many are counted.
    for at in 0..7 {
        symlink(folder.0.join("other"), folder.0.join(format!("suites/x{at}"))).unwrap();
    }
    let named: String = ["link", "x0", "x1", "x2", "x3"].map(|name| link(&format!("suites/{name}"))).concat();
    let more = "note: suites: 3 more links and pipes were skipped\n";
    folder.check(&["run", "suites", "--list"], 0, "suites/s.yml:2: a\n", &format!("{named}{more}"));
}

/// A suite with one test.
const SUITE: &str = "\
agents:
  - name: a
    model: gpt-5
    prompt: Hi.
    trajectory: { calls: [{ name: x }] }
";

#[test]
fn empty_and_unreadable_inputs_are_reported_and_the_others_are_scored() {
    let folder = Folder::with(&[("empty.json", ""), ("good.json", GOOD), ("odd.json", "{\"a\": 1, \"b\": 2}\n")]);
    std::fs::create_dir(folder.0.join("none")).unwrap();
    folder.check(
        &["score", "empty.json", "missing.json", "none", "odd.json", "good.json", "--output", "none"],
        2,
        "",
        "\
error[empty-input]: empty.json: byte 0: it is empty
hint: leave it out, or check what should have written it
error[no-such-file]: missing.json: no such file or folder
hint: paths are relative to the current folder
error[empty-folder]: none: no .json, .jsonl, .ndjson, .binpb (plain, .gz or .zst), .eval or .traj file in this folder or below it
hint: hidden files and folders are skipped; name the file itself
error[unknown-format]: odd.json: byte 0: unknown format: an object with the keys a, b
hint: set it with --from: envelope, cassette, openai-chat, anthropic, claude-code, otlp, tau, openai-responses, langchain, otel, inspect, vercel-ai, pydantic-ai, bedrock, adk, atif, openai-agents, langfuse, langsmith, openhands, swe-agent, codex, gemini-cli, mock-log
1 trace: 1 not judged
4 records or inputs could not be read
",
    );
}

#[test]
fn a_share_without_records_prints_nothing_and_is_reported() {
    let folder = Folder::with(&[("none.out", "")]);
    let none = "0 traces\nerror[empty-input]: no traces in these inputs\n";
    check(&run(&folder, &["score", "-"], b""), 2, "", none);
    let reported = format!("note: -: it contains only white space\n{none}");
    check(&run(&folder, &["score", "-", "-v"], b"\n"), 2, "", &reported);
    // What it printed, which is nothing, is a part that a merge can do without.
    let trials = trials();
    let all = lines(&trials.iter().map(String::as_str).collect::<Vec<_>>());
    folder.write("all.out", &run(&folder, &["score", "-", "--group-by", "task.id"], all.as_bytes()).stdout);
    let merged = folder.command(&["score", "--merge", "none.out", "all.out"]).output().unwrap();
    assert_eq!(merged.status.code(), Some(0), "{}", stderr(&merged));
}

#[test]
fn formats_are_detected_per_file_and_per_record() {
    let folder = Folder::with(&[("all/a.jsonl", &lines(&[CHAT, ANTHROPIC])), ("all/b.json", GOOD), ("g.yml", GATES)]);
    let output = folder.command(&["score", "all", "--gates", "g.yml", "-v"]).output().unwrap();
    let shown: Vec<Value> = objects(&output)
        .iter()
        .map(|line| json!([line["source"], line["index"], line["id"], line["verdict"]]))
        .collect();
    assert_eq!(
        shown,
        [
            json!(["all/a.jsonl", 0, "c", "pass"]),
            json!(["all/a.jsonl", 1, "a", "pass"]),
            json!(["all/b.json", 0, "good", "pass"]),
        ]
    );
    let reported: Vec<&str> = stderr(&output).lines().filter(|line| line.starts_with("note: ")).collect();
    assert_eq!(reported.len(), 2, "{reported:?}");
    assert!(reported[0].starts_with("note: all/a.jsonl: read as openai-chat: "), "{reported:?}");
    assert_eq!(reported[1], "note: all/b.json: read as envelope: it has `tool_calls`");
    // A record that is not in the named format is rejected, not read in part.
    let output =
        folder.command(&["score", "all/a.jsonl", "--from", "openai-chat", "--output", "none"]).output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert!(stderr(&output).contains("anthropic"), "{}", stderr(&output));
    folder.check(
        &["score", "all", "--from", "open-ai"],
        2,
        "",
        "error[bad-argument]: invalid value 'open-ai' for '--from <FORMAT>': expected one of: auto, envelope, cassette, openai-chat, anthropic, claude-code, otlp, tau, openai-responses, langchain, otel, inspect, vercel-ai, pydantic-ai, bedrock, adk, atif, openai-agents, langfuse, langsmith, openhands, swe-agent, codex, gemini-cli, mock-log\n\nFor more information, try '--help'.\n",
    );
}

#[test]
fn compressed_inputs_are_decompressed_and_a_truncated_one_is_reported() {
    let text = lines(&[GOOD, LYING]).repeat(200);
    let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    gzip.write_all(text.as_bytes()).unwrap();
    let packed = gzip.finish().unwrap();
    let folder = Folder::with(&[]);
    folder.write("t.jsonl.gz", &packed);
    folder.write("t.jsonl.zst", &zstd::encode_all(text.as_bytes(), 3).unwrap());
    folder.write("cut.jsonl.gz", &packed[..packed.len() - 20]);
    for source in ["t.jsonl.gz", "t.jsonl.zst"] {
        folder.check(&["score", source, "--output", "none"], 0, "", &format!("400 traces: 400 not judged\n{MEASURED}"));
    }
    check(
        &run(&folder, &["score", "-", "--output", "none"], &packed),
        0,
        "",
        &format!("400 traces: 400 not judged\n{MEASURED}"),
    );
    let output = folder.command(&["score", "cut.jsonl.gz", "--output", "none"]).output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert!(stderr(&output).contains("error[damaged-archive]: cut.jsonl.gz: byte "), "{}", stderr(&output));
}

#[test]
fn a_record_beyond_the_limit_is_refused_and_the_next_one_is_scored() {
    let folder = Folder::with(&[]);
    let long = format!("{{\"id\":\"{}\"}}\n{GOOD}\n", "x".repeat(3 << 20));
    check(
        &run(&folder, &["score", "-", "--max-record", "1", "--output", "none"], format!("{GOOD}\n{long}").as_bytes()),
        2,
        "",
        &format!(
            "error[record-too-large]: -: byte {}: the record has more than 1048576 bytes, the limit\nhint: raise it with --max-record\n\
             2 traces: 2 not judged\n1 record or input could not be read\n",
            GOOD.len() + 1
        ),
    );
}

#[test]
fn the_first_verdict_is_there_before_the_input_ends() {
    let folder = Folder::with(&[("one.jsonl", GOOD)]);
    for inputs in [&["-"][..], &["/dev/stdin"], &["one.jsonl", "-"]] {
        let mut child = piped(&folder, &[&["score"], inputs].concat());
        let mut input = child.stdin.take().unwrap();
        let output = BufReader::new(child.stdout.take().unwrap());
        let (send, seen) = mpsc::channel();
        let reader = std::thread::spawn(move || {
            for line in output.lines() {
                let _ = send.send(line.unwrap());
            }
        });
        let check = |index: usize| {
            let line = seen.recv_timeout(Duration::from_mins(1)).unwrap();
            assert_eq!(serde_json::from_str::<Value>(&line).unwrap()["index"], json!(index), "{inputs:?}");
        };
        if inputs.len() > 1 {
            check(0);
        }
        for index in 0..3 {
            input.write_all(format!("{GOOD}\n").as_bytes()).unwrap();
            input.flush().unwrap();
            check(index);
        }
        drop(input);
        assert_eq!(child.wait().unwrap().code(), Some(0));
        reader.join().unwrap();
    }
}

/// Runs of two tasks: calls, and whether the harness was content.
fn trials() -> Vec<String> {
    let trial = |task: &str, at: usize, tools: &[&str], reward: u8| {
        let calls: Vec<Value> =
            tools.iter().map(|tool| json!({ "name": tool, "server": "s", "args": { "n": at % 2 } })).collect();
        json!({
            "id": format!("{task}/{at}"), "task": { "id": task }, "reward": reward, "tool_calls": calls,
            "conversation": { "turns": [{ "role": "assistant", "content": "Fine." }], "tokens": { "total": 100 * at } },
        })
        .to_string()
    };
    vec![
        trial("a", 0, &["search", "open"], 1),
        trial("b", 0, &["search"], 0),
        trial("a", 1, &["search", "open"], 1),
        trial("b", 1, &["open", "search"], 1),
        trial("a", 2, &["search"], 1),
        trial("b", 2, &["open"], 0),
    ]
}

#[test]
fn groups_are_judged_over_their_runs_in_the_order_of_the_input() {
    let folder = Folder::with(&[("t.jsonl", &lines(&trials().iter().map(String::as_str).collect::<Vec<_>>()))]);
    let output = folder
        .command(&["score", "t.jsonl", "--group-by", "task.id", "--outcome", "reward", "--outcome-pass", "1"])
        .output()
        .unwrap();
    assert_eq!(
        stderr(&output),
        "6 traces: 6 not judged\n2 groups: 2 not judged\n\
         stability, mean over groups: score 0.500, weakest 0.000, similarity of paths 0.611, consistency of arguments 0.500\n\
         reliability, mean over groups: pass^1 0.667, pass^2 0.500, pass^3 0.500\n"
    );
    let all = objects(&output);
    assert_eq!(all.len(), 8);
    let b = &all[7];
    assert_eq!(json!([b["group"], b["runs"], b["verdict"], b["failures"]]), json!(["b", 3, null, []]));
    assert_eq!(b["metrics"]["reliability"]["pass_rate"], json!(100.0 / 3.0));
    assert_eq!(b["metrics"]["stability"]["early_divergence"], json!(1));
    assert_eq!(b["carry"]["outcomes"], json!("010"));
}

#[test]
fn merged_parts_of_groups_equal_the_result_of_one_process() {
    let trials = trials();
    let folder =
        Folder::with(&[("g.yml", "trajectory: { calls: [{ name: search }] }\nstability: {}\nreliability: {}\n")]);
    let flags = ["--group-by", "task.id", "--gates", "g.yml"];
    let score = |records: &[String]| {
        let text = lines(&records.iter().map(String::as_str).collect::<Vec<_>>());
        run(&folder, &[&["score", "-"], &flags[..]].concat(), text.as_bytes())
    };
    let whole = score(&trials);
    assert_eq!(whole.status.code(), Some(1));
    for cut in 1..trials.len() {
        folder.write("1.out", &score(&trials[..cut]).stdout);
        folder.write("2.out", &score(&trials[cut..]).stdout);
        let merged = folder.command(&["score", "--merge", "--gates", "g.yml", "1.out", "2.out"]).output().unwrap();
        let groups: Vec<Value> = objects(&whole).into_iter().filter(|line| line.get("carry").is_some()).collect();
        assert_eq!(objects(&merged), groups, "cut at {cut}");
        assert_eq!(merged.status.code(), Some(1));
        let summary: Vec<&str> = stderr(&whole).lines().skip(1).collect();
        assert_eq!(stderr(&merged).lines().skip(1).collect::<Vec<_>>(), summary);
    }
    folder.write("odd.out", b"{\"group\":\"a\",\"runs\":2,\"failures\":[],\"carry\":{\"outcomes\":\"1\"}}\n[]\n");
    let merged = folder.command(&["score", "--merge", "odd.out"]).output().unwrap();
    assert_eq!(merged.status.code(), Some(2));
    assert!(stderr(&merged).contains("byte 0: the group \"a\" carries 1 outcomes for 2 runs"), "{}", stderr(&merged));
}

#[test]
fn parts_that_are_truncated_or_judged_by_other_gates_are_not_merged_silently() {
    let trials = trials();
    let text = lines(&trials.iter().map(String::as_str).collect::<Vec<_>>());
    let gates = "trajectory: { mode: superset, calls: [{ name: search }] }\nreliability: {}\n";
    let folder = Folder::with(&[("g.yml", gates)]);
    let part = run(&folder, &["score", "-", "--group-by", "task.id", "--gates", "g.yml"], text.as_bytes());
    let printed = String::from_utf8(part.stdout.clone()).unwrap();
    folder.write("whole.out", &part.stdout);
    let cut: Vec<&str> = printed.lines().take(7).collect();
    folder.write("cut.out", lines(&cut).as_bytes());
    folder.write("plain.out", &run(&folder, &["score", "-", "--group-by", "task.id"], text.as_bytes()).stdout);
    let merged = folder.command(&["score", "--merge", "--gates", "g.yml", "whole.out"]).output().unwrap();
    folder.write("merged.out", &merged.stdout);
    let merge = |source: &str| {
        let output =
            folder.command(&["score", "--merge", "--gates", "g.yml", source, "--output", "none"]).output().unwrap();
        (output.status.code(), stderr(&output).lines().next().unwrap().to_owned())
    };
    assert_eq!(merge("whole.out"), (Some(1), "6 traces: 5 passed, 1 absorbed".to_owned()));
    let apart = |source: &str, group: &str| {
        (
            Some(2),
            format!("error[not-score-output]: {source}: the traces and the line of the group {group:?} do not match"),
        )
    };
    assert_eq!(merge("cut.out"), apart("cut.out", "b"));
    assert_eq!(merge("merged.out"), apart("merged.out", "a"));
    // The same gates laid out in another way are the same; others are not, and neither is another outcome.
    let gates = std::fs::read_to_string(folder.0.join("g.yml")).unwrap();
    folder.write("laid-out.yml", format!("# The same.\n{gates}\n").as_bytes());
    folder.write("other.yml", format!("{gates}golden_path: {{ calls: [search] }}\n").as_bytes());
    let part = |gates: &str, more: &[&str]| {
        run(&folder, &[&["score", "-", "--group-by", "task.id", "--gates", gates], more].concat(), text.as_bytes())
            .stdout
    };
    folder.write("laid-out.out", &part("laid-out.yml", &[]));
    folder.write("other.out", &part("other.yml", &[]));
    folder.write("outcome.out", &part("g.yml", &["--outcome", "task.id", "--outcome-pass", "a"]));
    assert_eq!(merge("laid-out.out"), (Some(1), "6 traces: 5 passed, 1 absorbed".to_owned()));
    for source in ["plain.out", "other.out", "outcome.out"] {
        let otherwise =
            format!("error[gates-mismatch]: {source}: it was not scored with the gates and the outcome of this merge");
        assert_eq!(merge(source), (Some(2), otherwise));
    }
}

#[test]
fn gates_over_runs_need_groups_and_groups_need_runs() {
    let trials = trials();
    let folder =
        Folder::with(&[("g.yml", "stability: {}\n"), ("t.jsonl", &format!("{GOOD}\n")), ("one.jsonl", &trials[0])]);
    let output = folder.command(&["score", "t.jsonl", "--gates", "g.yml"]).output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    let line = &objects(&output)[0];
    assert_eq!(
        json!([line["verdict"], line["failures"][0]["reason"]]),
        json!(["unassessable", "the record has no group, and `stability` and `reliability` judge groups of runs"])
    );
    let output = folder.command(&["score", "one.jsonl", "--gates", "g.yml", "--group-by", "task.id"]).output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert_eq!(
        objects(&output)[1]["failures"][0]["reason"],
        json!("not assessable: one run shows no stability across runs")
    );
    folder.check(
        &["score", "one.jsonl", "--gates", "g.yml", "--group-by", "task.name", "--output", "none"],
        2,
        "",
        "error[no-group]: one.jsonl: byte 0: `task.name` selects nothing in this record, so it belongs to no group\n\
         hint: `--group-by` is a path in the record as it is in the file\n\
         0 traces\n1 record or input could not be read\n",
    );
}

#[test]
fn runs_without_an_outcome_make_their_group_unassessable() {
    let folder = Folder::with(&[
        ("g.yml", "reliability: {}\n"),
        (
            "t.jsonl",
            &lines(&[r#"{"group":"g","tool_calls":[],"ok":true}"#, r#"{"group":"g","tool_calls":[],"ok":null}"#]),
        ),
    ]);
    let line = ["score", "t.jsonl", "--gates", "g.yml", "--outcome", "ok", "--outcome-pass", "true"];
    let output = folder.command(&line).output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    let group = &objects(&output)[2];
    assert_eq!(
        json!([group["verdict"], group["failures"][0]["reason"]]),
        json!(["unassessable", "not assessable: run 2 has no outcome"])
    );
}

#[test]
fn many_threads_print_the_same_as_one() {
    let text: String = (0..3000)
        .map(|at| match at % 5 {
            0 => format!("{LYING}\n"),
            1 => "{oops\n".to_owned(),
            _ => format!(
                "{{\"id\":\"{at}\",\"group\":\"{}\",\"pad\":\"{}\",{}\n",
                at % 7,
                "x".repeat(at % 900),
                &GOOD[13..]
            ),
        })
        .collect();
    let folder = Folder::with(&[("t.jsonl", &text), ("g.yml", GATES)]);
    let outputs: Vec<Output> = ["1", "2", "7"]
        .iter()
        .map(|jobs| folder.command(&["score", "t.jsonl", "--gates", "g.yml", "--jobs", jobs]).output().unwrap())
        .collect();
    let indices: Vec<Value> = objects(&outputs[0]).iter().filter_map(|line| line.get("index").cloned()).collect();
    assert_eq!(indices, (0..3000).map(|at| json!(at)).collect::<Vec<_>>());
    assert_eq!(outputs[0], outputs[1]);
    assert_eq!(outputs[0], outputs[2]);
    assert!(stderr(&outputs[0]).contains("error: and 580 more\n"), "{}", stderr(&outputs[0]));
}

#[test]
fn many_groups_get_the_same_verdicts_on_one_thread_and_on_several() {
    let run = |n: usize| {
        let (group, tool) = (n % 2500, n % 7);
        format!(r#"{{"group":"g{group}","tool_calls":[{{"name":"t{tool}","args":{{"n":{n}}}}}]}}"#)
    };
    let runs: Vec<String> = (0..9000).map(run).collect();
    let folder = Folder::with(&[("t.jsonl", &(runs.join("\n") + "\n")), ("g.yml", "stability: {}\n")]);
    let scored = ["1", "3"].map(|jobs| {
        let output = folder.command(&["score", "t.jsonl", "--gates", "g.yml", "--jobs", jobs]).output().unwrap();
        folder.write("part.out", &output.stdout);
        let merge = ["score", "part.out", "--merge", "--gates", "g.yml", "--jobs", jobs];
        (output, folder.command(&merge).output().unwrap())
    });
    let groups = objects(&scored[0].0).split_off(9000);
    let names: Vec<Value> = groups.iter().map(|line| line["group"].clone()).collect();
    assert_eq!(names, (0..2500).map(|group| json!(format!("g{group}"))).collect::<Vec<_>>());
    assert_eq!(objects(&scored[0].1), groups);
    assert_eq!(scored[0], scored[1]);
}

#[test]
fn a_scored_corpus_can_be_reported() {
    let folder = Folder::with(&[("t.jsonl", &lines(&[GOOD, LYING, "{oops"])), ("g.yml", GATES)]);
    let output =
        folder.command(&["score", "t.jsonl", "--gates", "g.yml", "--reporter", "junit=r.xml"]).output().unwrap();
    assert_eq!((output.status.code(), objects(&output).len()), (Some(2), 3));
    let xml = std::fs::read_to_string(folder.0.join("r.xml")).unwrap();
    assert!(xml.contains(r#"tests="3" failures="1" errors="1""#), "{xml}");
    assert!(xml.contains("calls[0] (search) is missing: the trace has no calls"), "{xml}");
    let line = ["score", "t.jsonl", "--gates", "g.yml", "--reporter", "pretty", "--output", "none"];
    let output = folder.command(&line).output().unwrap();
    assert!(String::from_utf8_lossy(&output.stdout).contains("lying"), "{}", String::from_utf8_lossy(&output.stdout));
    folder.check(
        &["score", "t.jsonl", "--gates", "g.yml", "--reporter", "json"],
        2,
        "",
        "error[stdout-in-use]: standard output is used for trace lines, so json cannot use it too\n\
         hint: --output none, or --reporter json=PATH\n",
    );
}

#[test]
fn a_report_in_a_file_leaves_standard_output_to_the_lines_or_to_nothing() {
    let folder = Folder::with(&[("t.jsonl", &lines(&[GOOD])), ("g.yml", GATES)]);
    let line = ["score", "t.jsonl", "--gates", "g.yml", "--reporter", "junit=r.xml", "--output", "none"];
    folder.check(&line, 0, "", "1 trace: 1 passed\n");
    let xml = std::fs::read_to_string(folder.0.join("r.xml")).unwrap();
    assert!(xml.contains(r#"<testsuites name="mcptest" tests="1" failures="0" errors="0">"#), "{xml}");
}

#[test]
fn measured_gates_fail_in_no_report() {
    let run = |reward: u8| format!(r#"{{"group":"g","reward":{reward},"tool_calls":[],"final_response":"Done."}}"#);
    let folder = Folder::with(&[("t.jsonl", &lines(&[&run(0), &run(1)])), ("g.yml", "narrative: {}\n")]);
    let line = ["score", "t.jsonl", "--gates", "g.yml", "--outcome", "reward", "--outcome-pass", "1"];
    let report = ["--reporter", "json", "--output", "none"];
    let output = folder.command(&[&line[..], &report[..]].concat()).output().unwrap();
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    let rows = report["suites"].as_array().unwrap().iter().flat_map(|suite| suite["rows"].as_array().unwrap());
    let verdicts = rows.map(|row| {
        let check = &row["checks"][0];
        json!([row["name"], row["verdict"], check["name"], check["verdict"], check["failures"]])
    });
    let verdicts: Vec<Value> = verdicts.collect();
    assert_eq!(
        (report["exit_code"].as_i64(), json!(verdicts)),
        (
            Some(0),
            json!([
                ["trace 0", "pass", "narrative", "pass", []],
                ["trace 1", "pass", "narrative", "pass", []],
                ["g (reliability)", null, "reliability", "pass", []],
            ])
        )
    );
}

#[test]
fn a_record_that_cannot_be_read_is_not_counted_as_a_trace() {
    let folder = Folder::with(&[("t.jsonl", "{\"tool_calls\":[]}\n{\"x\":1}\n"), ("x.jsonl", "{\"x\":1}\n")]);
    folder.write("g.yml", b"trajectory: { mode: subset, calls: [] }\n");
    for (file, pretty, markdown) in [
        ("t.jsonl", "1 trace: 1 passed; 1 record could not be read", "! mcptest: 1 record failed or could not run"),
        ("x.jsonl", "no traces; 1 record could not be read", "! mcptest: 1 record failed or could not run"),
    ] {
        for (reporter, line) in [("pretty", pretty), ("markdown", markdown)] {
            let output = folder
                .command(&["score", file, "--gates", "g.yml", "--output", "none", "--reporter", reporter])
                .output()
                .unwrap();
            let text = String::from_utf8(output.stdout).unwrap();
            assert!(output.status.code() == Some(2) && text.contains(line), "{file}: {text}");
        }
    }
}

#[test]
fn a_converted_cassette_keeps_which_tools_only_read() {
    let read_only = crate::root().join("examples/cassettes/narrative-divergence");
    let cassettes = read_only.to_str().unwrap();
    let folder = Folder::with(&[("g.yml", "narrative: {}\n")]);
    let converted = folder.command(&["convert", cassettes]).output().unwrap();
    assert!(objects(&converted).iter().all(|record| record["read_only_tools"].is_object()));
    folder.write("e.jsonl", &converted.stdout);
    let scores = |source: &str| {
        let output = folder.command(&["score", source, "--gates", "g.yml"]).output().unwrap();
        let of = |line: &Value| json!([line["id"], line["verdict"], line["metrics"], line["failures"]]);
        objects(&output).iter().map(of).collect::<Vec<Value>>()
    };
    assert_eq!(scores("e.jsonl"), scores(cassettes));
    // A call of a tool that only reads does not back a claim.
    let lookup = json!({
        "tool_calls": [{ "name": "issue_refund", "server": "shop", "args": {} }],
        "tool_results": [{ "is_error": false, "content": [] }],
        "final_response": "I issued a refund.",
        "read_only_tools": { "shop": ["issue_refund"] },
    });
    let mut unmarked = lookup.clone();
    unmarked.as_object_mut().unwrap().remove("read_only_tools");
    folder.write("m.jsonl", format!("{lookup}\n{unmarked}\n").as_bytes());
    let absent: Vec<_> =
        scores("m.jsonl").iter().map(|line| line[2]["narrative"]["claimed_but_absent"].clone()).collect();
    assert_eq!(absent[0], json!(1));
    assert_eq!(absent[1], json!(0));
}

#[test]
fn converted_traces_score_as_they_did_before() {
    let folder = Folder::with(&[("t.jsonl", &lines(&[CHAT, ANTHROPIC, GOOD])), ("g.yml", GATES)]);
    let converted = folder.command(&["convert", "t.jsonl", "--group-by", "id"]).output().unwrap();
    check(&Output { stdout: Vec::new(), ..converted.clone() }, 0, "", "");
    let envelopes = objects(&converted);
    assert_eq!(
        envelopes[0]["tool_calls"][0],
        json!({ "name": "search", "server": "web", "args": { "q": "rain" }, "id": "1", "turn": 1 })
    );
    assert_eq!(json!([envelopes[1]["id"], envelopes[1]["group"]]), json!(["a", "a"]));
    folder.write("e.jsonl", &converted.stdout);
    let scores = |source: &str| {
        let output =
            folder.command(&["score", source, "--gates", "g.yml", "--server-prefix", "none"]).output().unwrap();
        let of = |line: &Value| json!([line["id"], line["verdict"], line["metrics"], line["failures"]]);
        objects(&output).iter().filter(|line| line.get("index").is_some()).map(of).collect::<Vec<Value>>()
    };
    let direct = folder.command(&["score", "t.jsonl", "--gates", "g.yml"]).output().unwrap();
    let direct: Vec<Value> = objects(&direct)
        .iter()
        .map(|line| json!([line["id"], line["verdict"], line["metrics"], line["failures"]]))
        .collect();
    assert_eq!(scores("e.jsonl"), direct);
    // A tool whose name is left whole is another tool.
    assert_eq!(scores("t.jsonl")[0][1], json!("fail"));
    let output = run(&folder, &["convert", "-"], b"{\"tool_calls\":[]}\n{\"x\":1}\n");
    assert_eq!(
        (output.status.code(), objects(&output)),
        (Some(2), vec![json!({ "tool_calls": [], "tool_names": [] })])
    );
}

#[test]
fn a_reader_that_stops_early_ends_it_and_the_rest_does_not_count_as_passed() {
    let text = format!("{GOOD}\n").repeat(20_000);
    let folder = Folder::with(&[("t.jsonl", &text)]);
    let mut child = piped(&folder, &["score", "t.jsonl"]);
    let mut first = String::new();
    let mut output = BufReader::new(child.stdout.take().unwrap());
    output.read_line(&mut first).unwrap();
    drop(output);
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(2), "{}", stderr(&output));
    assert!(
        stderr(&output).ends_with("error[stdout-failed]: standard output was closed before everything was scored\n")
    );
}
