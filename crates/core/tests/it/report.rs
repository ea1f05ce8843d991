//! Rows: names, verdicts, absorption, receipts, and the one fold that counts them.

use mcptest_core::diag::Source;
use mcptest_core::event::Event;
use mcptest_core::judge::{Receipt, Recovered};
use mcptest_core::report::{Attempt, Cell, Evidence, Origin, Report, Row, RunError, Totals, grid};
use mcptest_core::suite::{self, Suite, Variables};
use mcptest_core::trace::{FaultKind, Trace};
use serde_json::{Value, json};

fn suite(agent: &str) -> Suite {
    let text = format!(
        "servers: {{ web: {{ command: [web] }} }}\n\
         models: {{ demo: {{ provider: script, script: demo.yml }} }}\n\
         faults:\n\
         \x20 - {{ name: dead, target: {{ tool: search }}, kind: hang }}\n\
         \x20 - {{ name: late, target: {{ tool: open }}, kind: slow, delay_ms: 10 }}\n\
         agents:\n\
         \x20 - name: finds it\n\
         \x20   servers: [web]\n\
         \x20   prompt: Find it.\n{agent}"
    );
    let source = Source::new("suite.yml", text);
    let loaded = suite::load(&source, &Variables { suite_dir: ".", outside: &|_| None });
    let reported: Vec<String> = loaded.diagnostics.iter().map(|diagnostic| diagnostic.render(&source)).collect();
    loaded.value.unwrap_or_else(|| panic!("{}", reported.join("\n")))
}

fn rows(suite: &Suite, attempts: Vec<Attempt>) -> Vec<Row> {
    let cell = Cell::new(suite, &suite.agents[0], "demo");
    cell.rows(attempts.into_iter().map(|attempt| (Some(Origin::Replayed), attempt)).collect())
}

/// Each row as `name: verdict`.
fn reported(rows: &[Row]) -> Vec<String> {
    rows.iter().map(|row| format!("{} {}: {}", row.family, row.name, row.verdict)).collect()
}

/// A run that called these tools and answered with this message.
fn ran(tools: &[&str], message: &str) -> Attempt {
    Attempt::Traced(Box::new(traced(&json!({
        "tool_calls": tools.iter().map(|tool| json!({ "name": tool, "server": "web", "args": {} })).collect::<Value>(),
        "tool_results": tools.iter().map(|_| json!({ "is_error": false, "content": [] })).collect::<Value>(),
        "final_response": message,
        "conversation": {
            "turns": [{ "role": "user", "content": "Find it." }, { "role": "assistant", "content": message }],
            "stop_reason": "completed",
            "duration_ms": 5,
        },
    }))))
}

fn traced(envelope: &Value) -> Evidence {
    Trace::from_envelope(envelope).unwrap().into()
}

fn broken() -> Attempt {
    Attempt::Broken(RunError::new("the server died"))
}

const ONE: &str = "    model: demo\n    trajectory: { calls: [{ name: search }] }\n";
const MANY: &str =
    "    models: [demo]\n    runs: 3\n    trajectory: { calls: [{ name: search }] }\n    stability: {}\n";

#[test]
fn a_row_name_has_only_what_distinguishes_it() {
    assert_eq!(reported(&rows(&suite(ONE), vec![ran(&["search"], "ok")])), ["RUN finds it: pass"]);
    assert_eq!(
        reported(&rows(&suite(MANY), vec![ran(&["search"], "ok"), ran(&["open"], "ok"), ran(&["search"], "ok")])),
        [
            "RUN finds it [demo] #1: pass",
            "RUN finds it [demo] #2: fail",
            "RUN finds it [demo] #3: pass",
            "GATE finds it [demo] (stability): pass",
        ]
    );
}

#[test]
fn reliability_absorbs_failed_runs_and_decides_itself() {
    let block =
        "    reliability: { expect: [{ target: reliability.pass_rate, matcher: { schema: { minimum: 60 } } }] }\n";
    let suite = suite(&MANY.replace("    stability: {}\n", block));
    let good = || ran(&["search"], "ok");
    assert_eq!(
        reported(&rows(&suite, vec![good(), ran(&[], "ok"), good()])),
        [
            "RUN finds it [demo] #1: pass",
            "RUN finds it [demo] #2: absorbed",
            "RUN finds it [demo] #3: pass",
            "GATE finds it [demo] (reliability): pass",
        ]
    );
    let mostly_bad = rows(&suite, vec![good(), ran(&[], "ok"), ran(&[], "ok")]);
    assert_eq!(reported(&mostly_bad)[3], "GATE finds it [demo] (reliability): fail");
}

#[test]
fn an_edited_recording_is_marked_in_its_run_and_in_gates_over_it() {
    let suite = suite(
        "    model: demo\n    runs: 3\n    stability: {}\n    inject: [dead]\n    recovery: { require_hit: false }\n    \
         trajectory: { calls: [{ name: a }] }\n",
    );
    let mut attempts = vec![ran(&["a"], "Done."); 3];
    let sources = |attempts: &[Attempt]| {
        let named = |row: &Row| format!("{}: {}", row.name, row.source());
        rows(&suite, attempts.to_vec()).iter().map(named).collect::<Vec<_>>()
    };
    let plain = [
        "finds it #1: replayed",
        "finds it #1 (recovery): replayed",
        "finds it #2: replayed",
        "finds it #2 (recovery): replayed",
    ];
    assert_eq!(sources(&attempts)[..4], plain);
    if let Attempt::Traced(evidence) = &mut attempts[1] {
        evidence.edited = true;
    }
    assert_eq!(
        sources(&attempts),
        [
            "finds it #1: replayed",
            "finds it #1 (recovery): replayed",
            "finds it #2: replayed, edited",
            "finds it #2 (recovery): replayed, edited",
            "finds it #3: replayed",
            "finds it #3 (recovery): replayed",
            "finds it (stability): edited",
        ]
    );
}

#[test]
fn a_run_that_could_not_be_judged_leaves_the_gates_over_runs_without_a_verdict() {
    let made = rows(&suite(MANY), vec![ran(&["search"], "ok"), broken(), ran(&["search"], "ok")]);
    assert_eq!(
        reported(&made)[1..],
        ["RUN finds it [demo] #2: error", "RUN finds it [demo] #3: pass", "GATE finds it [demo] (stability): error"]
    );
    assert_eq!(made[3].checks[0].line, "1 of 3 runs could not be judged");
    let skipped = rows(&suite(MANY), vec![ran(&["search"], "ok"), Attempt::Skipped, ran(&["search"], "ok")]);
    assert_eq!(reported(&skipped)[3], "GATE finds it [demo] (stability): skipped");
}

const INJECTED: &str = "    model: demo\n    inject: [dead, late]\n    recovery: {}\n    trajectory: { mode: superset, calls: [{ name: search }] }\n";

fn attempt_with_fault(second: &Value, stop: &str, message: &str) -> Attempt {
    let hit = json!({
        "is_error": true, "content": [{ "type": "text", "text": "no answer within 3000 ms" }],
        "error": { "kind": "timeout", "message": "no answer within 3000 ms" },
        "fault": { "name": "dead", "kind": "hang", "effect": "timeout", "ms": 3000 },
    });
    Attempt::Traced(Box::new(traced(&json!({
        "tool_calls": [
            { "name": "search", "server": "web", "args": {}, "turn": 1 },
            { "name": "open", "server": "web", "args": {}, "turn": 3 },
        ],
        "tool_results": [hit, second],
        "final_response": message,
        "conversation": {
            "turns": [
                { "role": "user", "content": "Find it." }, { "role": "assistant", "content": null },
                { "role": "tool", "content": "no answer within 3000 ms" }, { "role": "assistant", "content": null },
                { "role": "tool", "content": null }, { "role": "assistant", "content": message },
            ],
            "stop_reason": stop,
        },
    }))))
}

#[test]
fn recovery_has_its_own_row_and_receipts_show_each_fault() {
    let suite = suite(INJECTED);
    let receipt = |fault: &str, kind, injected: &[usize], met: &[usize], ms, recovered| Receipt {
        fault: fault.to_owned(),
        kind,
        injected: injected.to_vec(),
        met: met.to_vec(),
        ms,
        recovered,
    };
    let late = json!({
        "is_error": false, "content": [],
        "fault": { "name": "late", "kind": "slow", "effect": "delay", "ms": 10 },
    });
    let made = rows(&suite, vec![attempt_with_fault(&late, "completed", "Found elsewhere.")]);
    assert_eq!(reported(&made), ["RUN finds it: pass", "EDGE finds it (recovery): pass"]);
    let delayed = receipt("late", FaultKind::Slow, &[1], &[], 10, Recovered::Unmet);
    let dead = |recovered| receipt("dead", FaultKind::Hang, &[0], &[0], 3000, recovered);
    assert_eq!(made[0].receipts, [dead(Recovered::Call(1)), delayed]);

    let failed = json!({ "is_error": true, "content": [] });
    let unmet = receipt("late", FaultKind::Slow, &[], &[], 0, Recovered::Unmet);
    let made = rows(&suite, vec![attempt_with_fault(&failed, "completed", "Sorry.")]);
    assert_eq!(made[0].receipts, [dead(Recovered::Answer), unmet.clone()]);
    let made = rows(&suite, vec![attempt_with_fault(&failed, "max_turns", "")]);
    assert_eq!(reported(&made), ["RUN finds it: pass", "EDGE finds it (recovery): fail"]);
    assert_eq!(made[0].receipts, [dead(Recovered::Not), unmet]);
}

#[test]
fn the_fold_counts_rows_and_the_worst_decides_the_exit_code() {
    let report = |attempts: Vec<Attempt>| {
        let mut report = Report::default();
        report.take(Event::SuiteStarted { file: "suite.yml".to_owned() });
        for row in rows(&suite(&MANY.replace("    stability: {}\n", "")), attempts) {
            report.take(Event::RowFinished(Box::new(row)));
        }
        report
    };
    let (good, bad) = (|| ran(&["search"], "ok"), || ran(&[], "ok"));
    let all = report(vec![good(), good(), good()]);
    assert_eq!((all.totals, all.exit_code()), (Totals { pass: 3, ..Totals::default() }, 0));
    let some = report(vec![good(), bad(), good()]);
    assert_eq!((some.totals, some.exit_code()), (Totals { pass: 2, fail: 1, ..Totals::default() }, 1));
    let worst = report(vec![good(), bad(), broken()]);
    assert_eq!((worst.totals, worst.exit_code()), (Totals { pass: 1, fail: 1, error: 1, ..Totals::default() }, 2));
    assert_eq!((worst.totals.rows(), worst.suites[0].rows.len()), (3, 3));
    let mut refused = Report::default();
    refused.take(Event::SuiteRefused { file: "bad.yml".to_owned(), why: "it is empty".to_owned() });
    assert_eq!(refused.exit_code(), 2);
}

#[test]
fn missing_evidence_never_passes() {
    let untold = Attempt::Traced(Box::default());
    let made = rows(&suite(ONE), vec![untold]);
    assert_eq!(reported(&made), ["RUN finds it: unassessable"]);
    let mut report = Report::default();
    report.take(Event::RowFinished(Box::new(made.into_iter().next().unwrap())));
    assert_eq!(report.exit_code(), 1);
}

#[test]
fn a_run_without_the_evidence_is_absorbed_like_one_that_failed() {
    let test =
        suite("    model: demo\n    trajectory: { calls: [{ name: search, status: ok }] }\n    reliability: {}\n");
    let blind = Attempt::Traced(Box::new(traced(&json!({ "tool_calls": [{ "name": "search", "args": {} }] }))));
    assert_eq!(reported(&rows(&test, vec![blind])), ["RUN finds it: absorbed", "GATE finds it (reliability): fail"]);
}

#[test]
fn a_successful_parallel_call_is_not_a_recovery() {
    let test = suite("    model: demo\n    inject: [dead]\n    trajectory: { calls: [] }\n");
    let fault = json!({ "name": "dead", "kind": "hang", "effect": "timeout", "ms": 3000 });
    let call = |tool: &str| json!({ "name": tool, "server": "web", "args": {}, "turn": 1 });
    let trace = traced(&json!({
        "tool_calls": [call("search"), call("open")],
        "tool_results": [{ "is_error": true, "content": [], "fault": fault }, { "is_error": false, "content": [] }],
        "final_response": "",
        "conversation": { "stop_reason": "completed" },
    }));
    let rows = rows(&test, vec![Attempt::Traced(Box::new(trace))]);
    assert_eq!(rows[0].receipts[0].recovered, Recovered::Not);
}

#[test]
fn a_grid_shows_the_worst_row_of_each_test_and_model() {
    let made = |test: &str, model: &str, attempts: Vec<Attempt>| {
        let mut suite = suite(&MANY.replace("    stability: {}\n", ""));
        suite.agents[0].name = test.to_owned();
        let cell = Cell::new(&suite, &suite.agents[0], model);
        cell.rows(attempts.into_iter().map(|attempt| (None, attempt)).collect())
    };
    let (good, bad) = (|| ran(&["search"], "ok"), || ran(&[], "ok"));
    let rows = [
        made("finds it", "a", vec![good(), good()]),
        made("finds it", "b", vec![good(), bad(), broken()]),
        made("alone", "a", vec![good()]),
        made("late", "a", vec![Attempt::Skipped, good()]),
        made("late", "b", vec![bad()]),
    ]
    .concat();
    let reported: Vec<String> = grid(&rows)
        .iter()
        .flat_map(|line| line.cells.iter().map(move |cell| (line, cell)))
        .map(|(line, cell)| format!("{} on {}: {} {}/{}", line.test, cell.model, cell.verdict, cell.passed, cell.runs))
        .collect();
    assert_eq!(
        reported,
        ["finds it on a: pass 2/2", "finds it on b: error 1/3", "late on a: skipped 1/2", "late on b: fail 0/1"]
    );
}

#[test]
fn an_advisory_answer_is_shown_and_decides_nothing() {
    let suite = suite("    model: demo\n    narrative: { llm_assisted: true }\n");
    let advisory_of = |advisory: Option<Value>| {
        let Attempt::Traced(evidence) = ran(&["search"], "I looked.") else { panic!("it has a trace") };
        let row = rows(&suite, vec![Attempt::Traced(Box::new(Evidence { advisory, ..*evidence }))]).remove(0);
        (row.verdict.as_str(), row.advisory.unwrap())
    };
    let answer = "The message claims a refund that no call shows.";
    assert_eq!(advisory_of(Some(json!({ "question": "?", "answer": answer }))), ("pass", answer.to_owned()));
    assert_eq!(advisory_of(None), ("pass", "not recorded".to_owned()));
    assert_eq!(rows(&self::suite(ONE), vec![ran(&["search"], "ok")])[0].advisory, None);
}
