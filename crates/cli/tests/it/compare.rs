//! Two sets of runs compared: regressions, chance, and what cannot be compared.

use serde_json::{Value, json};

use super::Folder;

/// Lines as `mcptest score` writes them: each group with its outcomes, `1` for a pass, and the IDs of its runs from `first`.
fn lines(groups: &[(&str, &str)], first: usize) -> String {
    let mut out = String::new();
    for (group, outcomes) in groups {
        for run in 0..outcomes.len() {
            let id = format!("{group}/{}", run + first);
            let line = json!({ "source": "t", "index": run, "id": id, "group": group, "verdict": null, "metrics": {}, "failures": [] });
            out.push_str(&format!("{line}\n"));
        }
        let carry = json!({ "outcomes": outcomes });
        let line = json!({ "group": group, "runs": outcomes.len(), "verdict": null, "metrics": {}, "failures": [], "carry": carry });
        out.push_str(&format!("{line}\n"));
    }
    out
}

/// The exit code and the comparison of two texts.
#[expect(clippy::panic, reason = "a test that cannot run its subject fails loudly")]
fn compared(old: &str, new: &str, args: &[&str]) -> (i32, Value) {
    let here = Folder::with(&[("old.jsonl", old), ("new.jsonl", new)]);
    let line = [&["compare", "old.jsonl", "new.jsonl", "--output", "json"], args].concat();
    let output = here.command(&line).output().unwrap();
    let found = serde_json::from_slice(&output.stdout);
    (output.status.code().unwrap(), found.unwrap_or_else(|_| panic!("{}", String::from_utf8_lossy(&output.stderr))))
}

#[test]
fn six_flips_the_same_way_are_a_regression_and_five_are_not() {
    let old = lines(&[("a", "111"), ("b", "111")], 0);
    let digits = |value: &Value| format!("{:.9}", value.as_f64().unwrap());
    let (code, found) = compared(&old, &lines(&[("a", "000"), ("b", "000")], 0), &[]);
    assert_eq!((code, &found["verdict"]), (1, &json!("regressed")));
    assert_eq!(digits(&found["pooled"]["p_value"]), "0.031250000");
    let test = &found["tests"][0];
    assert_eq!(
        (&test["name"], &test["method"], &test["verdict"]),
        (&json!("a"), &json!("mcnemar"), &json!("inconclusive"))
    );
    assert_eq!(
        (digits(&test["p_value"]), digits(&test["adjusted_p_value"])),
        ("0.250000000".into(), "0.500000000".into())
    );
    assert_eq!(test["flips"], json!({ "lost": ["a/0", "a/1", "a/2"], "gained": [] }));
    assert_eq!((&test["old"]["passed"], &test["new"]["runs"]), (&json!(3), &json!(3)));
    let five = lines(&[("a", "000"), ("b", "001")], 0);
    let (code, found) = compared(&old, &five, &[]);
    assert_eq!((code, &found["verdict"]), (0, &json!("inconclusive")));
    assert_eq!(digits(&found["pooled"]["p_value"]), "0.062500000");
    assert_eq!(compared(&old, &five, &["--fail-on", "flip"]).0, 1);
    assert_eq!(compared(&old, &five, &["--fail-on", "none"]).0, 0);
    // The other way round it is an improvement, which fails nothing.
    let (code, found) = compared(&lines(&[("a", "000"), ("b", "000")], 0), &old, &["--fail-on", "flip"]);
    assert_eq!((code, &found["verdict"]), (0, &json!("improved")));
}

#[test]
fn runs_with_other_ids_are_not_paired() {
    let (code, found) = compared(&lines(&[("a", "1111111111")], 0), &lines(&[("a", "00000000")], 100), &[]);
    assert_eq!((code, &found["tests"][0]["method"], &found["verdict"]), (1, &json!("fisher"), &json!("regressed")));
    assert_eq!(found["tests"][0]["notes"], json!(["10 judged runs before, 8 after"]));
    let (code, found) = compared(&lines(&[("a", "11")], 0), &lines(&[("a", "11")], 100), &["--fail-on", "drift"]);
    assert_eq!((code, &found["verdict"]), (0, &json!("same")));
}

#[test]
fn equal_rates_of_few_runs_are_not_within_a_margin() {
    let few = lines(&[("a", "1111")], 0);
    assert_eq!(compared(&few, &few, &[]).1["verdict"], "same");
    assert_eq!(compared(&few, &few, &["--margin", "5"]).1["verdict"], "inconclusive");
    let many = lines(&[("a", &"1".repeat(400))], 0);
    assert_eq!(compared(&many, &many, &["--margin", "5"]).1["verdict"], "same");
}

#[test]
fn incomparable_inputs_are_errors_and_unmatched_tests_are_listed() {
    let (code, found) = compared(&lines(&[("a", "1"), ("b", "1")], 0), &lines(&[("a", "1"), ("c", "1")], 0), &[]);
    assert_eq!((code, &found["only_old"], &found["only_new"]), (0, &json!(["b"]), &json!(["c"])));
    let here = Folder::with(&[
        ("a.jsonl", &lines(&[("a", "1")], 0)),
        ("b.jsonl", &lines(&[("b", "1")], 0)),
        ("notes.txt", "some notes\n"),
        ("old.json", "{\"mcptest\":9,\"suites\":[]}"),
        ("base.json", "{\"mcptest_baseline\":7,\"tests\":[]}"),
    ]);
    let refused = |new: &str, why: &str| here.check(&["compare", "a.jsonl", new], 2, "", why);
    refused(
        "b.jsonl",
        "error[nothing-to-compare]: a.jsonl and b.jsonl have no test in common\nhint: one has `a`, the other `b`\n",
    );
    refused(
        "old.json",
        "error[not-a-report]: old.json: is a saved report of version 9, and this program reads version 1\nhint: `mcptest run --reporter json=FILE` writes one\n",
    );
    refused(
        "base.json",
        "error[not-comparable]: base.json: is a model baseline of version 7, and this program reads version 1\nhint: capture it again with this version of mcptest\n",
    );
    let output = here.command(&["compare", "a.jsonl", "notes.txt"]).output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&output.stderr).starts_with("error[not-comparable]: notes.txt: is neither"));
}

#[test]
fn baselines_are_captured_listed_and_compared() {
    let here = Folder::with(&[("a.jsonl", &lines(&[("a", "111111")], 0)), ("b.jsonl", &lines(&[("a", "000000")], 0))]);
    let capture = |name: &str, runs: &str| here.command(&["model-baseline", "capture", name, runs]).output().unwrap();
    assert_eq!(String::from_utf8(capture("one", "a.jsonl").stdout).unwrap(), "baselines/one.json: 1 test, 6 runs\n");
    let first = std::fs::read(here.0.join("baselines/one.json")).unwrap();
    assert_eq!(capture("one", "b.jsonl").status.code(), Some(2), "an existing baseline is kept");
    assert_eq!(capture("../one", "b.jsonl").status.code(), Some(2));
    assert_eq!(capture("two", "b.jsonl").status.code(), Some(0));
    assert_eq!(capture("three", "baselines/one.json").status.code(), Some(0));
    assert_eq!(std::fs::read(here.0.join("baselines/three.json")).unwrap(), first, "the same runs give the same bytes");
    here.check(&["model-baseline", "list"], 0, "one: 1 test, 6 runs\nthree: 1 test, 6 runs\ntwo: 1 test, 6 runs\n", "");
    assert_eq!(here.command(&["model-baseline", "diff", "one", "two"]).output().unwrap().status.code(), Some(1));
    assert_eq!(here.command(&["model-baseline", "diff", "one", "three"]).output().unwrap().status.code(), Some(0));
    let missing = here.command(&["model-baseline", "diff", "one", "four"]).output().unwrap();
    assert_eq!(missing.status.code(), Some(2));
}

/// A suite with a test that needs no server. The script decides which runs pass.
const SUITE: &str = "\
models: { demo: { provider: script, script: script.yml } }
agents:
  - name: answers
    model: demo
    prompt: Do it.
    runs: 6
    expect: [{ target: final_response, matcher: { exact: done } }]
    reliability: { expect: [{ target: reliability.runs, matcher: { exact: 6 } }] }
";

const GOOD: &str = "{ script: 1, runs: [{ turns: [{ text: done, usage: { input: 100, output: 10 } }] }] }";
const BAD: &str = "{ script: 1, runs: [{ turns: [{ text: gave up, usage: { input: 300, output: 10 } }] }] }";

/// A folder with the report `old.json` of good runs and their cassettes in `old/`, and a script whose runs fail.
fn regressed() -> Folder {
    let here = Folder::with(&[("suite.yml", SUITE), ("script.yml", GOOD)]);
    here.command(&["run", "suite.yml", "--record", "--reporter", "json=old.json"]).output().unwrap();
    std::fs::rename(here.0.join("cassettes"), here.0.join("old")).unwrap();
    here.write("script.yml", BAD.as_bytes());
    here
}

/// Without times, which differ from run to run.
fn without_times(text: &[u8]) -> String {
    let text = String::from_utf8(text.to_vec()).unwrap();
    text.split_inclusive('\n').filter(|line| !line.contains("time per run: ")).collect()
}

#[test]
fn a_run_that_regressed_fails_although_the_test_passes() {
    let here = regressed();
    let found = "\
regressed, pooled p 0.0312: old.json -> new.json
1 test, 6/6 runs pass (100.0%) before, 0/6 runs pass (0.0%) after; difference -100.0 points, 90%
  interval -100.0 to -72.8
per run: calls 0.0, tokens 110.0 -> 310.0 (+181.8%), cost 0.0012 -> 0.0032 (+166.7%)
✗ regressed     answers, in suite.yml
    6/6 (61.0% to 100.0%) -> 0/6 (0.0% to 39.0%); 6 lost, 0 gained, McNemar p 0.0312, adjusted
      0.0312
    lost: run 1, 2, 3, 4, 5, 6
    per run: calls 0.0, tokens 110.0 -> 310.0 (+181.8%), cost 0.0012 -> 0.0032 (+166.7%)
";
    let saved = here.command(&["run", "suite.yml", "--reporter", "json=new.json"]).output().unwrap();
    assert_eq!(saved.status.code(), Some(0));
    let output = here.command(&["compare", "old.json", "new.json", "--price", "10,20"]).output().unwrap();
    assert_eq!((output.status.code(), &*without_times(&output.stdout)), (Some(1), found));
    // The same as a part of the report of a run, from a report and from cassettes that the suite judges.
    for old in ["old.json", "old"] {
        let output = here.command(&["run", "suite.yml", "-q", "--compare", old]).output().unwrap();
        let text = String::from_utf8(output.stdout).unwrap();
        let since = format!("\nsince {old}: regressed, pooled p 0.0312\n  1 test, 6/6 runs pass (100.0%) before, 0/6");
        assert!(text.contains(&since), "{text}");
        assert!(text.ends_with("1 test, 6 runs: 1 passed\n"), "{text}");
        assert_eq!(output.status.code(), Some(1), "{text}");
    }
    let output =
        here.command(&["report", "new.json", "--compare", "old.json", "--reporter", "github"]).output().unwrap();
    let annotation =
        "::error title=mcptest::1 test, 6 runs: 1 passed; 6 scripted; since old.json: regressed, pooled p 0.0312\n";
    assert_eq!((output.status.code(), &*String::from_utf8(output.stdout).unwrap()), (Some(0), annotation));
    // In the other direction nothing fails.
    let output = here.command(&["compare", "new.json", "old.json"]).output().unwrap();
    assert_eq!(output.status.code(), Some(0));
    assert!(String::from_utf8(output.stdout).unwrap().starts_with("improved, pooled p 0.0312: "));
}

#[test]
fn cassettes_are_judged_by_the_suite_and_never_without_one() {
    let here = regressed();
    here.command(&["run", "suite.yml", "--record"]).output().unwrap();
    let json = |args: &[&str]| {
        let line = [&["compare", "old", "cassettes", "--output", "json"], args].concat();
        let output = here.command(&line).output().unwrap();
        let found: Value = serde_json::from_slice(&output.stdout).unwrap();
        (output.status.code().unwrap(), found, String::from_utf8(output.stderr).unwrap())
    };
    let (code, found, _) = json(&["--suite", "suite.yml"]);
    assert_eq!((code, &found["verdict"], &found["notes"]), (1, &json!("regressed"), &json!([])));
    let test = &found["tests"][0];
    assert_eq!((&test["name"], &test["suite"]), (&json!("answers"), &json!("suite.yml")));
    assert_eq!((&test["old"]["passed"], &test["new"]["passed"]), (&json!(6), &json!(0)));
    // Without verdicts neither a regression nor a flip can be found, so that is not a pass.
    let (code, found, why) = json(&[]);
    assert_eq!((code, &found["verdict"], &found["pooled"]["p_value"]), (2, &json!("inconclusive"), &Value::Null));
    assert_eq!(found["tests"][0]["old"], json!({ "passed": 0, "runs": 0 }));
    assert_eq!(
        why,
        "error[nothing-to-compare]: old and cassettes have no verdicts\n\
         hint: judge cassettes with --suite, or compare only what runs did with --fail-on drift or none\n"
    );
    assert_eq!(json(&["--fail-on", "none"]).0, 0);
    // A second copy of a run would silently replace the first.
    let copy = here.0.join("old/copy/suite/answers/demo");
    std::fs::create_dir_all(&copy).unwrap();
    std::fs::copy(here.0.join("old/suite/answers/demo/1.json"), copy.join("1.json")).unwrap();
    let output = here.command(&["compare", "old", "cassettes", "--suite", "suite.yml"]).output().unwrap();
    let stderr = String::from_utf8(output.stderr).unwrap();
    assert_eq!(
        &stderr[stderr.find("error").unwrap()..],
        "error[not-comparable]: old/suite/answers/demo/1.json: run 1 of this test is in the folder twice\n\
         hint: name a folder with one set of recordings\n"
    );
}

#[test]
fn edited_checks_are_noticed() {
    let here = regressed();
    let notes = |suite: &str| {
        here.write("suite.yml", suite.as_bytes());
        here.command(&["run", "suite.yml", "--reporter", "json=new.json"]).output().unwrap();
        let line = ["compare", "old.json", "new.json", "--output", "json"];
        let found: Value = serde_json::from_slice(&here.command(&line).output().unwrap().stdout).unwrap();
        found["tests"][0]["notes"].clone()
    };
    assert_eq!(notes(SUITE), json!([]));
    // Gates over all runs do not change what a pass is.
    assert_eq!(notes(&SUITE.replace("exact: 6", "exact: 7")), json!([]));
    let edited = "judged by other rules: the assertions or gates were edited in between";
    assert_eq!(notes(&SUITE.replace("exact: done", "contains: done")), json!([edited]));
    let other = SUITE.replace("    reliability:", "    narrative: {}\n    reliability:");
    let checks = "judged by other checks: expect, reliability before, expect, narrative, reliability after";
    assert_eq!(notes(&other), json!([checks]));
    let fewer = SUITE.replace("runs: 6", "runs: 4").replace("exact: 6", "exact: 4");
    assert_eq!(notes(&fewer), json!(["6 judged runs before, 4 after"]));
}

#[test]
fn the_verdict_of_a_gate_over_runs_is_compared_too() {
    let suite = SUITE.replace("exact: 6 } }] }", "exact: 6 } }] }\n    stability: { expect: [{ target: stability.score, matcher: { schema: { minimum: 0 } } }] }");
    let here = Folder::with(&[("suite.yml", &suite), ("script.yml", GOOD)]);
    here.command(&["run", "suite.yml", "--reporter", "json=old.json"]).output().unwrap();
    here.write("suite.yml", suite.replace("minimum: 0", "minimum: 2").as_bytes());
    here.command(&["run", "suite.yml", "--reporter", "json=new.json"]).output().unwrap();
    let compared = |args: &[&str]| {
        let output = here.command(&[&["compare", "old.json", "new.json"], args].concat()).output().unwrap();
        (output.status.code().unwrap(), String::from_utf8(output.stdout).unwrap())
    };
    let (code, text) = compared(&[]);
    assert!(text.contains("\n    stability over all runs: pass -> fail\n"), "{text}");
    assert!(text.starts_with("same, pooled p 1.0000: old.json -> new.json\n"), "{text}");
    assert_eq!(code, 0);
    assert_eq!((compared(&["--fail-on", "flip"]).0, compared(&["--fail-on", "drift"]).0), (1, 1));
}

#[test]
fn tests_of_one_name_match_in_order_if_both_sides_have_the_same_number() {
    let trace = |verdict: &str| {
        format!(
            "{}\n",
            json!({ "source": "t", "index": 0, "id": "x", "group": null, "verdict": verdict, "metrics": {}, "failures": [] })
        )
    };
    let twice = trace("pass") + &trace("fail");
    let (code, found) = compared(&twice, &twice, &["--fail-on", "drift"]);
    assert_eq!((code, &found["verdict"], found["tests"].as_array().unwrap().len()), (0, &json!("same"), 2));
    let (_, found) =
        compared(&(twice.clone() + &lines(&[("a", "1")], 0)), &(trace("pass") + &lines(&[("a", "1")], 0)), &[]);
    assert_eq!(found["notes"], json!(["`x` is there 2 times before and 1 after, so it is not compared"]));
    assert_eq!((&found["only_old"], &found["only_new"]), (&json!(["x", "x"]), &json!(["x"])));
}

#[test]
fn each_model_is_compared_separately_and_one_regression_is_enough() {
    let suite = SUITE
        .replace("runs: 6", "runs: 8")
        .replace("exact: 6", "exact: 8")
        .replace("model: demo", "models: [demo, other]")
        .replace("script.yml } }", "script.yml }, other: { provider: script, script: other.yml } }");
    let here = Folder::with(&[("suite.yml", &suite), ("script.yml", GOOD), ("other.yml", BAD)]);
    let capture = |name: &str| {
        here.command(&["run", "suite.yml", "--reporter", "json=run.json"]).output().unwrap();
        here.command(&["model-baseline", "capture", name, "run.json"]).output().unwrap()
    };
    capture("before");
    // One gets worse, the other as much better: over all nothing changed.
    here.write("script.yml", BAD.as_bytes());
    here.write("other.yml", GOOD.as_bytes());
    capture("after");
    let diff = |output: &str| {
        let output = here.command(&["model-baseline", "diff", "before", "after", "--output", output]).output().unwrap();
        (output.status.code().unwrap(), String::from_utf8(output.stdout).unwrap())
    };
    let (code, text) = diff("json");
    let found: Value = serde_json::from_str(&text).unwrap();
    assert_eq!((code, &found["verdict"], found["pooled"]["p_value"].as_f64()), (1, &json!("regressed"), Some(1.0)));
    let models: Vec<_> =
        found["models"].as_array().unwrap().iter().map(|one| (&one["name"], &one["verdict"])).collect();
    assert_eq!(models, [(&json!("demo"), &json!("regressed")), (&json!("other"), &json!("improved"))]);
    let (_, page) = diff("html");
    assert_eq!((page.matches("<!doctype html>").count(), page.matches("<table>").count()), (1, 2));
}
