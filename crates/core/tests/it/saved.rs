//! Saved reports: read back as they were written, held against each other, and refused where they are something else.

use mcptest_core::compare::{CompareOptions, Side, compare};
use mcptest_core::diag::{Code, Mark, Source, Subject};
use mcptest_core::event::Event;
use mcptest_core::json::{self, Layout};
use mcptest_core::report::{Attempt, Cell, Evidence, Origin, Report, ReportError, Row, RowVerdict, RunError, read};
use mcptest_core::suite::{self, Suite, Variables};
use mcptest_core::trace::Trace;
use proptest::prelude::*;
use serde_json::{Value, json};

const SUITE: &str = "\
servers: { web: { command: [web] } }
models: { demo: { provider: script, script: demo.yml } }
faults: [{ name: dead, target: { tool: a }, kind: hang }]
agents:
  - name: one
    model: demo
    servers: [web]
    prompt: Go.
    inject: [dead]
    runs: 2
    expect:
      - { target: final_response, matcher: { exact: yes } }
      - { target: \"tool_calls[0].args\", matcher: { exact: { x: 1 } } }
      - { target: final_response, matcher: { contains: a } }
    trajectory: { calls: [{ name: a }] }
    stability: {}
    reliability: {}
    recovery: {}
    narrative: { llm_assisted: true }
";

fn suite() -> Suite {
    let source = Source::new("suite.yml", SUITE);
    let loaded = suite::load(&source, &Variables { suite_dir: ".", outside: &|_| None });
    loaded.value.unwrap_or_else(|| panic!("{:?}", loaded.diagnostics))
}

fn trace(envelope: &Value) -> Trace {
    Trace::from_envelope(envelope).unwrap()
}

fn rows(traces: Vec<Trace>) -> Vec<Row> {
    let suite = suite();
    let cell = Cell::new(&suite, &suite.agents[0], "demo");
    let advisory = || Some(json!({ "answer": "none" }));
    // The first run was recorded just now, and the others come from cassettes that were edited.
    let attempts = traces.into_iter().enumerate().map(|(at, trace)| {
        let (origin, recorded) = if at == 0 { (Origin::Live, true) } else { (Origin::Replayed, false) };
        let evidence = Evidence { trace, advisory: advisory(), recorded, edited: !recorded };
        (Some(origin), Attempt::Traced(Box::new(evidence)))
    });
    cell.rows(attempts.collect())
}

/// A report with these rows, as text.
fn saved(rows: &[Row]) -> String {
    Layout::PRETTY.text(&json!({ "mcptest": 1, "suites": [{ "file": "suite.yml", "rows": rows }] }))
}

fn read_back(text: &str) -> Vec<Row> {
    let rows = read(text).unwrap().into_iter().filter_map(|event| match event {
        Event::RowFinished(row) => Some(*row),
        _ => None,
    });
    rows.collect()
}

#[track_caller]
fn same_again(rows: &[Row]) {
    let text = saved(rows);
    let again = read_back(&text);
    assert_eq!(saved(&again), text);
    assert_eq!(again.len(), rows.len());
    for (again, row) in again.iter().zip(rows) {
        assert!(json::equal(&serde_json::to_value(again).unwrap(), &serde_json::to_value(row).unwrap()));
    }
}

#[test]
fn every_part_of_a_row_is_read_back() {
    let full = json!({
        "tool_calls": [
            { "name": "a", "server": "web", "args": { "x": 1.5, "y": [null] }, "caller": { "type": "code" }, "id": "1", "turn": 1 },
            { "name": "b" },
            { "name": "c" },
        ],
        "tool_results": [
            {
                "is_error": true, "content": [{ "type": "text", "text": "x" }], "structured_content": [1], "duration_ms": 3,
                "error": { "kind": "timeout", "code": -32000, "message": "late" },
                "fault": { "name": "dead", "kind": "hang", "effect": "timeout", "ms": 3000 },
            },
            null,
            {},
        ],
        "final_response": "maybe",
        "conversation": {
            "model": "m", "stop_reason": "completed", "duration_ms": 12,
            "turns": [{ "role": "user", "content": "Go." }, { "role": "assistant", "content": null }],
            "tokens": { "input": 1, "output": 2, "cached": 3, "total": 4 },
        },
    });
    let mut all = rows(vec![trace(&full), trace(&json!({}))]);
    let verdicts: Vec<RowVerdict> = all.iter().map(|row| row.verdict).collect();
    assert_eq!(
        verdicts,
        [
            RowVerdict::Absorbed,
            RowVerdict::Absorbed,
            RowVerdict::Absorbed,
            RowVerdict::Absorbed,
            RowVerdict::Unassessable,
            RowVerdict::Fail
        ]
    );
    all[1].error = Some(RunError::new("broke").code(Code::NoRecording).hint("fix it"));
    all[0].runs = Some(7);
    same_again(&all);
}

#[test]
fn a_trace_without_a_final_response_stays_without_one() {
    // An importer may know the messages and not which of them is the answer.
    let mut unknown = trace(&json!({ "conversation": { "turns": [{ "role": "assistant", "content": "x" }] } }));
    unknown.final_response = None;
    same_again(&rows(vec![unknown, Trace::default()]));
}

#[test]
fn a_report_may_nest_as_deep_as_a_trace() {
    let mut deep = json!(1);
    for _ in 0..(json::MAX_DEPTH - 6) {
        deep = json!([deep]);
    }
    let deep = trace(&json!({ "tool_calls": [{ "name": "a", "args": { "x": deep } }] }));
    let rows = rows(vec![deep.clone(), deep]);
    assert!(
        rows.iter()
            .any(|row| row.checks.iter().any(|check| check.failures.iter().any(|found| !found.diffs.is_empty())))
    );
    same_again(&rows);
}

fn values() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<u64>().prop_map(Value::from),
        any::<f64>().prop_filter("JSON has no others", |number| number.is_finite()).prop_map(Value::from),
        any::<String>().prop_map(Value::from),
    ];
    leaf.prop_recursive(3, 24, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::btree_map(any::<String>(), inner, 0..4).prop_map(Value::from_iter),
        ]
    })
}

proptest! {
    #[test]
    fn any_arguments_and_results_are_read_back(args in values(), got in values(), text in any::<String>()) {
        let run = trace(&json!({
            "tool_calls": [{ "name": "a", "args": args }],
            "tool_results": [{ "is_error": false, "structured_content": got, "content": [{ "type": "text", "text": text }] }],
            "final_response": text,
        }));
        same_again(&rows(vec![run.clone(), run]));
    }

    #[test]
    fn no_text_makes_the_reader_panic(text in any::<String>(), cut in any::<prop::sample::Index>()) {
        let _ = read(&text);
        let whole = saved(&rows(vec![Trace::default(), Trace::default()]));
        let at = whole.floor_char_boundary(cut.index(whole.len()));
        prop_assert!(read(&whole[..at]).is_err());
    }
}

#[test]
fn events_come_back_in_their_order() {
    let rows = rows(vec![Trace::default(), Trace::default()]);
    let mut events = vec![Event::Note("first".to_owned()), Event::SuiteStarted { file: "a.yml".to_owned() }];
    events.extend(rows.into_iter().map(|row| Event::RowFinished(Box::new(row))));
    events.push(Event::CellFinished { test: "one".to_owned(), model: "demo".to_owned() });
    events.push(Event::Note("between".to_owned()));
    events.push(Event::SuiteRefused { file: "b.yml".to_owned(), why: "no".to_owned() });
    events.push(Event::Stopped("over".to_owned()));
    let mut report = Report::default();
    events.iter().cloned().for_each(|event| report.take(event));
    let reported = |events: &[Event]| -> Vec<String> {
        let short = |event: &Event| match event {
            Event::RowFinished(row) => row.name.clone(),
            other => format!("{other:?}"),
        };
        events.iter().map(short).collect()
    };
    assert_eq!(reported(&read(&Layout::LINE.text(&report)).unwrap()), reported(&events));
}

#[test]
fn read_errors_have_a_position() {
    let broken = |row: &str| {
        let text = format!("{{\"mcptest\": 1,\n\"suites\": [{{\"file\": \"a\", \"rows\": [\n  {row}]}}]}}");
        match read(&text).unwrap_err() {
            ReportError::Broken { line, column, message } => format!("{line}:{column}: {message}"),
            other => other.to_string(),
        }
    };
    let row = |more: &str| {
        format!(
            "{{\"family\":\"RUN\",\"line\":1,\"model\":\"m\",\"name\":\"n\",\"test\":\"t\",\"verdict\":\"pass\",{more}}}"
        )
    };
    let check = |name: &str, verdict: &str| {
        row(&format!(
            "\"checks\":[{{\"failures\":[],\"line\":\"\",\"metrics\":{{}},\"name\":\"{name}\",\"verdict\":\"{verdict}\"}}]"
        ))
    };
    let rows = [
        "{}",
        &row("\"checks\":[],\"gate\":\"magic\""),
        &check("magic", "pass"),
        &check("expect", "absorbed"),
        &row("\"checks\":[],\"trace\":{\"tool_calls\":1}"),
        &row("\"checks\":[],\"trace\":{\"a\":1,\"a\":2}"),
    ];
    assert_eq!(
        rows.map(broken),
        [
            "3:4: missing field `checks`",
            "3:105: there is no gate `magic`",
            "3:140: no check is called `magic`",
            "3:163: no check has the verdict `absorbed`",
            "3:113: tool_calls: expected a list, found a number",
            "3:108: duplicate key \"a\"",
        ]
    );
}

/// The place of a mark, and the text that it underlines.
fn marked(mark: &Mark) -> String {
    let Mark { line, column, text, start, length } = mark;
    let underlined: String = text.chars().skip(*start).take(*length).collect();
    format!("{line}:{column} {underlined}")
}

#[test]
fn a_row_points_at_the_expected_call_that_failed_or_at_the_server() {
    let source = "\
servers: { web: { command: [web] }, mail: { command: [mail] } }
models: { demo: { provider: script, script: demo.yml } }
agents:
  - name: one
    model: demo
    servers: [mail, web]
    prompt: Go.
    trajectory:
      mode: subsequence
      max_extra: 1
      calls:
        - name: a
        - name: b
          args: { exact: { x: 1 } }
        - { name: c }
  - name: own
    model: demo
    prompt: Go.
    trajectory: { calls: [{ name: a }], expect: [{ target: trajectory.passed, matcher: { exact: 1 } }] }
";
    let loaded = suite::load(&Source::new("suite.yml", source), &Variables { suite_dir: ".", outside: &|_| None });
    let suite = loaded.value.unwrap_or_else(|| panic!("{:?}", loaded.diagnostics));
    let mark = |test: usize, attempt: Attempt| {
        let cell = Cell::new(&suite, &suite.agents[test], "demo");
        cell.rows(vec![(Some(Origin::Live), attempt)])[0].mark.as_ref().map(marked)
    };
    let calls = |test: usize, calls: Value| {
        let results = vec![json!({ "is_error": false }); calls.as_array().unwrap().len()];
        let trace = trace(&json!({ "tool_calls": calls, "tool_results": results }));
        mark(test, Attempt::Traced(Box::new(trace.into())))
    };
    let (a, b, c) = (json!({ "name": "a" }), json!({ "name": "b", "args": { "x": 1 } }), json!({ "name": "c" }));
    assert_eq!(calls(0, json!([a, b, c])), None);
    assert_eq!(calls(0, json!([a, b])).as_deref(), Some("15:11 { name: c }"));
    assert_eq!(calls(0, json!([a, c])).as_deref(), Some("13:11 name: b"));
    assert_eq!(calls(0, json!([b])).as_deref(), Some("12:11 name: a"));
    // No entry is wrong: there are too many calls, the args are unknown, or the gate has its own assertions.
    assert_eq!(calls(0, json!([a, a, a, b, c])).as_deref(), Some("8:5 trajectory"));
    assert_eq!(calls(0, json!([a, { "name": "b" }, c])).as_deref(), Some("8:5 trajectory"));
    assert_eq!(calls(1, json!([b])).as_deref(), Some("19:5 trajectory"));
    let broken = |subject| mark(0, Attempt::Broken(RunError::new("gone").moved(subject)));
    assert_eq!(broken(Subject::Server("web".to_owned())).as_deref(), Some("1:12 web"));
    assert_eq!(broken(Subject::Server("mail".to_owned())).as_deref(), Some("1:37 mail"));
    assert_eq!(broken(Subject::Test).as_deref(), Some("4:11 one"));
}

#[test]
fn a_failed_row_points_at_the_failed_line_of_the_suite() {
    let found = |text: &str, args: Value| {
        let run = trace(&json!({
            "tool_calls": [{ "name": "a", "args": args }],
            "tool_results": [{ "is_error": false }],
            "final_response": text,
        }));
        rows(vec![run.clone(), run])[0].mark.as_ref().map(marked)
    };
    // The first assertion that fails, also if an earlier one has the same target.
    assert_eq!(
        found("yes a", json!({ "x": 2 })).as_deref(),
        Some("12:9 { target: final_response, matcher: { exact: yes } }")
    );
    assert_eq!(
        found("yes", json!({ "x": 1 })).as_deref(),
        Some("14:9 { target: final_response, matcher: { contains: a } }")
    );
    let rows = rows(vec![Trace::default(), Trace::default()]);
    let of_gates: Vec<(String, usize)> = rows
        .iter()
        .filter(|row| row.gate.is_some())
        .map(|row| (row.name.clone(), row.mark.as_ref().unwrap().line))
        .collect();
    let lines =
        [("one #1 (recovery)", 18), ("one #2 (recovery)", 18), ("one (stability)", 16), ("one (reliability)", 17)];
    assert_eq!(of_gates, lines.map(|(name, line)| (name.to_owned(), line)));
}

/// A report with rows of these names and verdicts; `name #1` and its like are runs of one cell.
fn report(file: &str, all: &[(&str, RowVerdict)]) -> Report {
    let mut out = Report::default();
    out.take(Event::SuiteStarted { file: file.to_owned() });
    let blank = rows(vec![Trace::default(), Trace::default()]).remove(0);
    for (name, verdict) in all {
        let (test, run) = match name.split_once(" #") {
            Some((test, run)) => (test, Some(run.parse().unwrap())),
            None => (*name, None),
        };
        let row = Row { name: (*name).to_owned(), test: test.to_owned(), verdict: *verdict, run, ..blank.clone() };
        out.take(Event::RowFinished(Box::new(row)));
    }
    out
}

#[test]
fn a_test_may_be_called_like_a_run() {
    let blank = rows(vec![Trace::default(), Trace::default()]).remove(0);
    let name = |test: &str, name: &str| {
        let row = Row { name: name.to_owned(), test: test.to_owned(), run: Some(1), ..blank.clone() };
        row.name_without_run()
    };
    assert_eq!(name("issue #1", "issue #1"), None);
    assert_eq!(name("issue #1", "issue #1 #1").as_deref(), Some("issue #1"));
    assert_eq!(name("x", "x [demo] #1").as_deref(), Some("x [demo]"));
    assert_eq!(name("x", "x"), None);
}

#[test]
fn runs_of_reports_are_paired_where_both_have_them() {
    use RowVerdict::{Absorbed, Error, Fail, Pass, Skipped, Unassessable};
    let old = report(
        "./t/a.yml",
        &[
            ("worse", Pass),
            ("better", Error),
            ("same", Fail),
            ("otherwise", Fail),
            ("open", Pass),
            ("gone", Pass),
            ("twice", Pass),
            ("twice", Pass),
            ("cell #1", Pass),
            ("cell #2", Pass),
            ("steady #1", Pass),
            ("steady #2", Absorbed),
        ],
    );
    let new = report(
        "t/a.yml",
        &[
            ("worse", Unassessable),
            ("better", Pass),
            ("same", Fail),
            ("otherwise", Error),
            ("open", Skipped),
            ("new", Pass),
            ("twice", Pass),
            ("twice", Fail),
            ("cell #1", Pass),
            ("cell #2", Absorbed),
            ("steady #1", Absorbed),
            ("steady #2", Pass),
            ("steady #3", Pass),
            ("steady #4", Absorbed),
        ],
    );
    let (old, new) = (Side::of_report(&old), Side::of_report(&new));
    let compared = compare(&old, &new, &CompareOptions::default());
    let tests: Vec<String> = compared
        .tests
        .iter()
        .map(|test| {
            let flips = test.flips.as_ref().map(|(lost, gained)| format!("-{} +{}", lost.join(" "), gained.join(" ")));
            let (old, new) = (test.old, test.new);
            let counts = format!("{}/{} {}/{}", old.passed, old.runs, new.passed, new.runs);
            format!("{} {counts} {}", test.name, flips.as_deref().unwrap_or("not paired"))
        })
        .collect();
    assert_eq!(
        tests,
        [
            "worse 1/1 0/1 -worse +",
            // A run with an error, or one that was skipped, has no outcome.
            "better 0/0 1/1 not paired",
            "same 0/1 0/1 - +",
            "otherwise 0/1 0/0 not paired",
            "open 1/1 0/0 not paired",
            "twice 1/1 1/1 - +",
            "twice 1/1 0/1 -twice +",
            "cell 2/2 1/2 -2 +",
            "steady 1/2 2/4 not paired",
        ]
    );
    assert_eq!((&*compared.gone, &*compared.added), (&["gone".to_owned()][..], &["new".to_owned()][..]));
    let notes = ["OLD: 1 run has an error and does not count", "NEW: 1 run has an error and does not count"];
    assert_eq!(compared.notes, notes);
    assert!(compared.has_flips() && compared.has_drift());
    assert!(!compare(&new, &new, &CompareOptions::default()).has_drift());
}
