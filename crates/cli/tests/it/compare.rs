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
