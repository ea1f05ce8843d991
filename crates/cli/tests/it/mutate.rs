//! `mcptest mutate`: suites and traces, what is printed, and when it stops.

use std::process::{Output, Stdio};

use serde_json::{Value, json};

use super::Folder;

const TOOLS: &str = "\
mock_server:
  name: shop
  tools:
    - { name: find, answer: { structured: { id: 7 } } }
    - { name: refund, answer: { structured: { ok: true } } }
";

const SCRIPT: &str = "\
script: 1
runs:
  - turns:
      - calls: [{ tool: find, args: { order: 7 } }]
      - calls: [{ tool: refund, args: { order: 7 } }]
      - text: I refunded order 7.
";

/// Checks the names of the calls.
const NAMES: &str = "trajectory: { calls: [{ name: find }, { name: refund }] }";

fn suite(keys: &str) -> String {
    format!(
        "servers:\n  shop: {{ command: [mcptest, mock, --tools-from, \"${{SUITE_DIR}}/tools.yml\"] }}\nmodels:\n  \
         demo: {{ provider: script, script: demo.yml }}\nagents:\n  - name: refunds\n    model: demo\n    servers: [shop]\n    \
         prompt: Refund order 7.\n    {keys}\n"
    )
}

fn shop(keys: &str) -> Folder {
    Folder::with(&[("ok.yml", &suite(keys)), ("demo.yml", SCRIPT), ("tools.yml", TOOLS)])
}

fn run(here: &Folder, line: &[&str]) -> Output {
    here.command(line).stdin(Stdio::null()).output().unwrap()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

fn objects(output: &Output) -> Vec<Value> {
    text(&output.stdout).lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

const TRACE: &str = r#"{"id":"t","tool_calls":[{"name":"search","server":"web","args":{"q":"rain"}}],"tool_results":[{"is_error":false,"content":[{"type":"text","text":"wet"}]}],"final_response":"It does not rain."}"#;

#[test]
fn a_mutant_is_one_line_into_a_pipe() {
    let here = Folder::with(&[
        ("t.jsonl", &format!("{TRACE}\n")),
        ("gates.yml", "trajectory: { calls: [{ name: search, args: any }] }\n"),
    ]);
    here.check(
        &["mutate", "--gates", "gates.yml", "t.jsonl", "--operators", "drop-call,null-argument,message"],
        0,
        concat!(
            r#"{"trace":"t","operator":"drop-call","change":"tool_calls[0] (search) is not made","status":"caught","by":["trajectory"]}"#,
            "\n",
            r#"{"trace":"t","operator":"null-argument","change":"tool_calls[0] (search): argument q is null instead of \"rain\"","status":"equivalent","by":[],"why":"calls[0] (search) allows any arguments"}"#,
            "\n",
            r#"{"trace":"t","operator":"claim-unmade","change":"the final message adds: I have also deleted the old backup.","status":"missed","by":[],"fix":{"narrative":{}}}"#,
            "\n",
            r#"{"trace":"t","operator":"drop-negation","change":"the final message loses \"not\" at byte 8","status":"missed","by":[],"fix":{"expect":[{"matcher":{"contains":"It does not rain."},"target":"final_response"}]}}"#,
            "\n",
            r#"{"trace":"t","operator":"cut-message","change":"the final message ends after 7 of 17 characters","status":"missed","by":[],"fix":{"expect":[{"matcher":{"contains":"It does not rain."},"target":"final_response"}]}}"#,
            "\n",
        ),
        "5 mutants of 1 trace: 1 caught, 3 missed, 1 equivalent\n",
    );
}

#[test]
fn every_fix_passes_the_original_and_fails_the_mutant_when_it_is_loaded_from_a_file() {
    let here = shop(NAMES);
    let output = run(&here, &["mutate", "ok.yml"]);
    let found = objects(&output);
    assert!(found.len() >= 30, "{}", text(&output.stderr));
    let recorded = run(&here, &["run", "ok.yml", "--reporter", "json"]);
    let report: Value = serde_json::from_slice(&recorded.stdout).unwrap();
    here.write("run.jsonl", report["suites"][0]["rows"][0]["trace"].to_string().as_bytes());
    let mut fixes: Vec<&Value> = found.iter().filter_map(|line| line.get("fix")).collect();
    fixes.sort_unstable_by_key(ToString::to_string);
    fixes.dedup();
    assert!(fixes.len() > 5, "{fixes:?}");
    for fix in fixes {
        here.write("fix.yml", fix.to_string().as_bytes());
        let passed = run(&here, &["score", "run.jsonl", "--gates", "fix.yml", "--output", "none"]);
        assert_eq!(passed.status.code(), Some(0), "{fix}: {}", text(&passed.stderr));
    }
    for line in &found {
        let has_fix = line.get("fix").is_some() || line.get("why").is_some();
        assert_eq!(has_fix, line["status"] != "caught", "{line}");
    }
}

#[test]
fn the_pretty_report_starts_with_counts_and_proposes_checks_to_paste() {
    let here = shop(&format!("{NAMES}\n    narrative: {{}}"));
    here.check(
        &[
            "mutate",
            "ok.yml",
            "--output",
            "pretty",
            "--operators",
            "drop-call,off-by-one,null-argument,generated-caller",
            "--fail-on",
            "missed",
        ],
        1,
        "\
8 mutants of 1 test: 2 caught, 6 missed, 0 equivalent

operator           caught  missed  equivalent
drop-call               2       .           .
null-argument           .       2           .
off-by-one              .       2           .
generated-caller        .       2           .

check              caught   alone
narrative               1       .   other checks caught the same
trajectory              2       1

missed: 3 more checks would catch them, the most useful of each run first

refunds
  null-argument: tool_calls[0] (find): argument order is null instead of 7
    - [0] find {\"order\":7} on shop
    + [0] find {\"order\":null} on shop
    also missed: off-by-one
    add:
      expect:
        - target: \"tool_calls[0].args.order\"
          matcher: { exact: 7 }
  null-argument: tool_calls[1] (refund): argument order is null instead of 7
    - [1] refund {\"order\":7} on shop
    + [1] refund {\"order\":null} on shop
    also missed: off-by-one
    add:
      expect:
        - target: \"tool_calls[1].args.order\"
          matcher: { exact: 7 }
  generated-caller: generated code makes tool_calls[0] (find)
    - [0] find {\"order\":7} on shop
    + [0] find {\"order\":7} on shop, by generated code
    also missed: generated-caller
    add:
      expect:
        - target: tool_calls
          matcher: { schema: { items: { not: { required: [caller] } } } }
",
        "",
    );
}

#[test]
fn output_and_order_do_not_depend_on_threads() {
    let trace = |at: usize| json!({ "id": format!("t{at}"), "tool_calls": [{ "name": "a", "args": { "n": at } }] });
    let traces: Vec<String> = (0..60).map(|at| trace(at).to_string()).collect();
    let traces = traces.join("\n");
    let here = Folder::with(&[("t.jsonl", &traces), ("gates.yml", "trajectory: { calls: [{ name: a }] }\n")]);
    let one = run(&here, &["mutate", "--gates", "gates.yml", "t.jsonl", "--jobs", "1"]);
    let many = run(&here, &["mutate", "--gates", "gates.yml", "t.jsonl", "--jobs", "7"]);
    assert_eq!((text(&one.stdout), text(&one.stderr)), (text(&many.stdout), text(&many.stderr)));
    let found = objects(&one);
    assert_eq!(found.first().unwrap()["trace"], "t0");
    assert_eq!(found.last().unwrap()["trace"], "t59");
    let grouped = traces.replace("{\"id\"", "{\"group\":\"g\",\"id\"");
    here.write("g.jsonl", grouped.as_bytes());
    here.write("groups.yml", b"trajectory: { calls: [{ name: a }] }\nreliability: {}\n");
    let one =
        run(&here, &["mutate", "--gates", "groups.yml", "g.jsonl", "--jobs", "1", "--operators", "calls,session"]);
    let many =
        run(&here, &["mutate", "--gates", "groups.yml", "g.jsonl", "--jobs", "3", "--operators", "calls,session"]);
    assert_eq!(text(&one.stdout), text(&many.stdout));
    assert!(text(&one.stderr).contains("of 1 group: "), "{}", text(&one.stderr));
    assert_eq!(one.status.code(), Some(0));
}

#[test]
fn filters_select_tests_and_traces() {
    let second = TRACE.replace("\"t\"", "\"other\"");
    let here = Folder::with(&[
        ("t.jsonl", &format!("{TRACE}\n{second}\n")),
        ("gates.yml", "trajectory: { calls: [{ name: search }] }\n"),
    ]);
    let line = ["mutate", "--gates", "gates.yml", "t.jsonl", "--operators", "drop-call", "--filter", "oth"];
    let found = objects(&run(&here, &line));
    assert_eq!(found.iter().map(|line| &line["trace"]).collect::<Vec<_>>(), ["other"]);
    let none = run(&here, &["mutate", "--gates", "gates.yml", "t.jsonl", "--filter", "nobody"]);
    assert_eq!(none.status.code(), Some(2));
    assert!(text(&none.stderr).starts_with("error[no-mutants]: there is no run to change\n"), "{}", text(&none.stderr));
    let here = shop(NAMES);
    let none = run(&here, &["mutate", "ok.yml", "--filter", "nobody"]);
    assert_eq!(none.status.code(), Some(2));
    assert!(text(&none.stderr).starts_with("error[nothing-selected]:"), "{}", text(&none.stderr));
}

#[test]
fn unreadable_inputs_are_errors_and_the_rest_is_judged() {
    let lying = TRACE.replace("\"t\"", "\"bad\"").replace("search", "look");
    let here = Folder::with(&[
        ("t.jsonl", &format!("{lying}\nnot json\n{TRACE}\n")),
        ("gates.yml", "trajectory: { calls: [{ name: search }] }\n"),
        ("groups.yml", "trajectory: { calls: [{ name: search }] }\nstability: {}\n"),
        ("lonely.yml", "reliability: {}\n"),
        ("empty.jsonl", ""),
    ]);
    let output = run(&here, &["mutate", "--gates", "gates.yml", "t.jsonl", "--operators", "drop-call"]);
    assert_eq!((output.status.code(), objects(&output).len()), (Some(2), 1), "{}", text(&output.stderr));
    let stderr = text(&output.stderr);
    assert!(
        stderr.contains("error[fails-unchanged]: t.jsonl: bad: `trajectory` fails before any change: "),
        "{stderr}"
    );
    assert!(stderr.contains("error[invalid-record]: t.jsonl: byte "), "{stderr}");
    // A gate over runs needs a group.
    here.write("one.jsonl", TRACE.as_bytes());
    let stderr = text(&run(&here, &["mutate", "--gates", "groups.yml", "one.jsonl"]).stderr);
    assert!(stderr.contains("`stability` is unassessable before any change: it belongs to no group"), "{stderr}");
    let stderr = text(&run(&here, &["mutate", "--gates", "lonely.yml", "one.jsonl"]).stderr);
    assert!(stderr.starts_with("error[reliability-without-checks]: lonely.yml: "), "{stderr}");
    for line in [
        ["mutate", "--gates", "gates.yml", "empty.jsonl"],
        ["mutate", "--gates", "gates.yml", "missing.jsonl"],
        ["mutate", "--gates", "missing.yml", "one.jsonl"],
        ["mutate", "one.jsonl", "--operators", "drop"],
    ] {
        let output = run(&here, &line);
        assert_eq!((output.status.code(), text(&output.stdout).as_str()), (Some(2), ""), "{line:?}");
        assert!(text(&output.stderr).starts_with("error["), "{line:?}: {}", text(&output.stderr));
    }
    assert_eq!(run(&here, &["mutate", "--gates", "gates.yml"]).status.code(), Some(2));
}

#[test]
fn cassettes_that_cannot_be_replayed_are_errors() {
    let here = shop(NAMES);
    assert_eq!(run(&here, &["run", "ok.yml", "--record"]).status.code(), Some(0));
    assert_eq!(run(&here, &["mutate", "ok.yml", "--output", "none"]).status.code(), Some(0));
    here.write("ok.yml", suite(&format!("{NAMES}\n    system: Be quick.")).as_bytes());
    let stale = run(&here, &["mutate", "ok.yml"]);
    assert_eq!((stale.status.code(), text(&stale.stdout).as_str()), (Some(2), ""));
    assert!(text(&stale.stderr).starts_with("error[stale-cassette]: ok.yml: refunds: "), "{}", text(&stale.stderr));
    here.write("ok.yml", suite(NAMES).as_bytes());
    let folder = here.0.join("cassettes/ok/refunds/demo/1.json");
    let recorded = std::fs::read_to_string(&folder).unwrap();
    std::fs::write(&folder, recorded.replace("I refunded order 7.", "I refunded order 8.")).unwrap();
    let edited = run(&here, &["mutate", "ok.yml"]);
    assert_eq!(edited.status.code(), Some(2));
    assert!(text(&edited.stderr).starts_with("error[edited-cassette]: ok.yml: refunds: "), "{}", text(&edited.stderr));
}

#[test]
fn hostile_names_stay_text() {
    let trace = json!({
        "id": "a\u{1b}[31m\n::error::x",
        "tool_calls": [{ "name": "x\u{202e}\n##[error]", "args": { "k\u{7}\n": "</script>\u{1b}" } }],
    });
    let here = Folder::with(&[
        ("t.jsonl", &format!("{trace}\n")),
        ("gates.yml", "expect: [{ target: tool_names, matcher: { schema: { minItems: 0 } } }]\n"),
    ]);
    for output in ["pretty", "jsonl"] {
        let found =
            run(&here, &["mutate", "--gates", "gates.yml", "t.jsonl", "--output", output, "--html", "page.html"]);
        assert_eq!(found.status.code(), Some(0), "{}", text(&found.stderr));
        let out = text(&found.stdout);
        assert!(!out.contains(['\u{1b}', '\u{202e}', '\u{7}']), "{out}");
        assert!(!out.contains("##[") && !out.contains("\n::"), "{out}");
    }
    let page = std::fs::read_to_string(here.0.join("page.html")).unwrap();
    let (_, data) = page.split_once("id=\"data\">").unwrap();
    let data: Value = serde_json::from_str(data.split_once("</script>").unwrap().0).unwrap();
    assert_eq!(data["mutation"]["caught"], 0);
    assert!(data["mutation"]["groups"].as_array().unwrap().len() > 3);
    let unwritable = run(&here, &["mutate", "--gates", "gates.yml", "t.jsonl", "--html", "no/such/p.html"]);
    assert_eq!(unwritable.status.code(), Some(2));
    assert!(text(&unwritable.stderr).contains("error[report-not-written]"), "{}", text(&unwritable.stderr));
}
