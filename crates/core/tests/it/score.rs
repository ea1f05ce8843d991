//! Scores of traces and of groups of runs.

use mcptest_core::Trace;
use mcptest_core::diag::Source;
use mcptest_core::import::Imported;
use mcptest_core::judge;
use mcptest_core::report::RowVerdict;
use mcptest_core::score::{Groups, Merged, Scorer, TraceLine};
use mcptest_core::suite::{self, GateFile, Variables};
use serde_json::{Value, json};

fn gates(text: &str) -> GateFile {
    let source = Source::new("gates.yml", text);
    suite::load_gates(&source, &Variables { suite_dir: ".", outside: &|_| None }).value.unwrap()
}

/// A run that makes these calls, each with its number as the argument.
fn run(calls: &[(&str, u64)]) -> Trace {
    let calls: Vec<Value> = calls.iter().map(|(name, n)| json!({ "name": name, "args": { "n": n } })).collect();
    let turns = json!([{ "role": "assistant", "content": "a" }, { "role": "assistant", "content": "bcd" }]);
    let talk = json!({ "turns": turns, "tokens": { "total": 9000 } });
    Trace::from_envelope(&json!({ "tool_calls": calls, "conversation": talk })).unwrap()
}

fn grouped(scorer: &Scorer, runs: Vec<Trace>) -> Groups {
    let mut groups = Groups::default();
    for trace in runs {
        let imported = Imported { id: None, group: Some("g".to_owned()), seal: None, fields: "{}".into(), trace };
        groups.add("g", scorer.score(&imported, Some("g"), "-").unwrap().run.unwrap());
    }
    groups
}

#[test]
fn a_group_is_judged_as_the_runs_of_a_suite_are() {
    let runs = vec![
        run(&[("search", 1), ("open", 2)]),
        run(&[("search", 1), ("open", 3)]),
        run(&[("open", 2)]),
        run(&[("search", 1), ("open", 2)]),
        run(&[]),
    ];
    let GateFile { expect, gates, .. } =
        gates("trajectory: { mode: superset, calls: [{ name: open }] }\nstability: {}\nreliability: {}\n");
    let outcomes: Vec<bool> = runs
        .iter()
        .map(|trace| {
            judge::run(&expect, &gates, trace).iter().all(|check| check.verdict == mcptest_core::Verdict::Pass)
        })
        .collect();
    let in_suite = judge::runs(&gates, &runs.iter().collect::<Vec<_>>(), &outcomes);
    let scorer = Scorer::new(Some(GateFile { expect, gates, ..GateFile::default() }), None).unwrap();
    let groups = grouped(&scorer, runs);
    let line = groups.lines(&scorer).next().unwrap();
    assert_eq!(line.checks, in_suite);
}

#[test]
fn beyond_two_thousand_different_paths_runs_are_not_compared() {
    let scorer = Scorer::new(Some(gates("stability: {}\n")), None).unwrap();
    let different =
        |count: u64| grouped(&scorer, (0..count).map(|n| run(&[("search", n), ("search", n + 1)])).collect());
    let known = |groups: &Groups| {
        let line = groups.lines(&scorer).next().unwrap();
        let check = &line.checks[0];
        let metrics = ["score", "tool_sequence_similarity", "argument_consistency"];
        (metrics.map(|name| check.metrics.get(name).is_some()), line.notes().to_vec())
    };
    assert_eq!(known(&different(2000)), ([true, true, true], vec![]));
    let note = "some runs were not compared: there are more than 2000 different paths to compare";
    assert_eq!(known(&different(2001)), ([true, true, false], vec![note.to_owned()]));
}

#[test]
fn lines_put_gates_that_share_a_prefix_into_one_object() {
    let scorer = Scorer::new(
        Some(gates(
            "trajectory: { calls: [{ name: search }] }\ntrajectory_axes: { order: [{ first: search, second: open }] }\n",
        )),
        None,
    )
    .unwrap();
    let trace = run(&[("search", 1)]);
    let imported = Imported { id: Some("i".to_owned()), group: None, seal: None, fields: "{}".into(), trace };
    let found = scorer.score(&imported, None, "-").unwrap();
    let line = serde_json::to_value(TraceLine::new(&imported, None, &found, None)).unwrap();
    assert_eq!(
        line,
        json!({
            "id": "i", "group": null, "verdict": "pass", "failures": [],
            "metrics": { "trajectory": {
                "dependency_satisfaction": 100, "edges_exercised": 0, "mismatch_count": 0, "order_satisfaction": 100,
                "passed": 1,
            } },
        })
    );
}

#[test]
fn a_merged_line_needs_the_data_of_its_runs() {
    let scorer = Scorer::new(None, None).unwrap();
    let line = |groups: &Groups| {
        let lines: Vec<String> = groups.lines(&scorer).map(|line| serde_json::to_string(&line).unwrap()).collect();
        lines.join("\n")
    };
    let whole = grouped(&scorer, vec![run(&[("a", 1)]), run(&[("b", 1), ("a", 2)]), Trace::default()]);
    let mut again = Groups::default();
    assert_eq!(
        again.merge(&line(&whole)).unwrap(),
        Merged::Group { group: "g".to_owned(), runs: 3, unread: 0, rules: None }
    );
    assert_eq!(line(&again), line(&whole));
    for (text, expected) in [
        ("[", "EOF while parsing a list at line 1 column 1"),
        ("{}", "it is not a line that `mcptest score` writes"),
        (r#"{"failures":[]}"#, "it is not a line that `mcptest score` writes"),
        (r#"{"index":0,"verdict":"fine","failures":[]}"#, "it is not a line that `mcptest score` writes"),
        (r#"{"group":"g","runs":1,"failures":[],"carry":{}}"#, "the group \"g\" carries 0 runs for 1 runs"),
        (
            r#"{"group":"g","runs":1,"failures":[],"carry":{"weakest":[1.0],"tools":["a"],"calls":["1:-"]}}"#,
            "the group \"g\" has \"1:-\", which is not a call",
        ),
    ] {
        assert_eq!(again.merge(text).unwrap_err().to_string(), expected);
    }
    let trace = again
        .merge(r#"{"source":"s","index":0,"group":null,"verdict":"fail","failures":[{"gate":"narrative"}]}"#)
        .unwrap();
    assert_eq!(trace, Merged::Trace { group: None, tasks: Vec::new(), rules: None, verdict: Some(RowVerdict::Fail) });
    let trace = again.merge(r#"{"source":"s","index":0,"group":"g","failures":[],"tasks":[1],"rules":"r"}"#).unwrap();
    let (group, rules) = (Some("g".to_owned()), Some("r".to_owned()));
    assert_eq!(trace, Merged::Trace { group, tasks: vec![1], rules, verdict: None });
    let unread = again.merge(r#"{"source":"s","index":0,"verdict":"error","failures":[{"gate":"input"}]}"#).unwrap();
    assert_eq!(unread, Merged::Unread { group: None });
}
