//! One stream of events with everything that a report can show. The output of each reporter is in `samples/`.

use mcptest_core::diag::{Code, Source};
use mcptest_core::event::Event;
use mcptest_core::judge;
use mcptest_core::report::{Attempt, Cell, Evidence, Origin, Row, RowOrder, RowVerdict, RunError};
use mcptest_core::suite::{self, Suite, Variables};
use mcptest_core::trace::Trace;
use serde_json::{Value, json};

pub(super) const FILE: &str = "tests/weather.yml";

/// Text that tries to break out, in a terminal, in XML and in JSON.
const HOSTILE: &str = "\u{1b}[2J\u{0}\u{7}]]>&<b a='\"'>\u{202e}\u{9b}31m\u{fffe}\u{ffff}\r\n\t{\"}\\";

pub(super) fn suite() -> Suite {
    let source = Source::new(FILE, include_str!("samples/weather.yml"));
    let loaded = suite::load(&source, &Variables { suite_dir: "tests", outside: &|_| None });
    loaded.value.unwrap_or_else(|| panic!("{:?}", loaded.diagnostics))
}

/// A run that made these calls: name, arguments and structured result; without one the call failed.
pub(super) fn trace(calls: &[(&str, Value, Option<Value>)], answer: &str) -> Trace {
    let results = calls.iter().map(|(_, _, result)| match result {
        Some(value) => json!({ "is_error": false, "content": [], "structured_content": value }),
        None => json!({ "is_error": true, "content": [{ "type": "text", "text": "no such seat" }] }),
    });
    let turns = calls.len();
    Trace::from_envelope(&json!({
        "tool_calls": calls.iter().enumerate().map(|(turn, (name, args, _))| {
            json!({ "name": name, "server": "web", "args": args, "turn": turn })
        }).collect::<Vec<_>>(),
        "tool_results": results.collect::<Vec<_>>(),
        "final_response": answer,
        "conversation": {
            "model": "gpt-5",
            "turns": (0..=turns).map(|at| json!({
                "role": "assistant", "content": if at == turns { Some(answer) } else { None },
            })).collect::<Vec<_>>(),
            "tokens": { "input": 900, "output": 45 },
            "stop_reason": "completed",
            "duration_ms": 1234,
        },
    }))
    .unwrap()
}

/// A run that does everything `books a seat` expects, and one that does almost nothing.
fn seats() -> [Trace; 2] {
    let fare = |class: &str| json!({ "seat": "12A", "fare": { "class": class, "currency": "NOK" } });
    let long = |end: &str| format!("{} {end}", "a sentence that comes before the part that matters,".repeat(2));
    let good = trace(
        &[
            ("search", json!({ "to": "Oslo" }), Some(json!({ "flights": ["DY1"] }))),
            ("book", json!({ "flight": "DY1" }), Some(fare("economy"))),
        ],
        "I booked seat 12A on DY1.",
    );
    let bad = trace(
        &[
            ("search", json!({ "to": "Bergen", "note": long("here") }), Some(json!({ "flights": ["DY2"] }))),
            ("search", json!({ "to": "Bergen" }), Some(fare("business"))),
            ("book", json!({ "flight": "DY2" }), None),
        ],
        "I booked a seat for you and sent the receipt.",
    );
    [good, bad]
}

/// Two calls that get the fault, and one that succeeds.
fn survivor(last: Option<Value>) -> Trace {
    let args = || json!({ "q": "rain" });
    let mut trace = trace(&[("search", args(), None), ("search", args(), None), ("search", args(), last)], "It rains.");
    for at in 0..2 {
        let mark = json!({
            "is_error": true,
            "error": { "kind": "timeout", "message": "no answer within 3000 ms" },
            "fault": { "name": "dead-search", "kind": "recover_after", "effect": "timeout", "ms": 3000 },
        });
        let read =
            Trace::from_envelope(&json!({ "tool_calls": [{ "name": "search" }], "tool_results": [mark] })).unwrap();
        trace.tool_results.as_mut().unwrap()[at] = read.tool_results.unwrap().remove(0);
    }
    trace
}

/// The rows of a cell of the suite with these runs.
pub(super) fn cell(suite: &Suite, test: usize, model: &str, runs: Vec<Attempt>) -> Vec<Row> {
    let cell = Cell::new(suite, &suite.agents[test], model);
    let origin = |run: &Attempt| matches!(run, Attempt::Traced(_)).then_some(Origin::Replayed);
    cell.rows(runs.into_iter().map(|run| (origin(&run), run)).collect())
}

pub(super) fn ran(trace: &Trace) -> Attempt {
    Attempt::Traced(Box::new(trace.clone().into()))
}

/// The same from a recording that was edited.
fn edited(trace: &Trace) -> Attempt {
    Attempt::Traced(Box::new(Evidence { trace: trace.clone(), edited: true, ..Evidence::default() }))
}

fn finished(row: Row) -> Event {
    Event::RowFinished(Box::new(row))
}

/// Everything that a report can show.
pub(super) fn events() -> Vec<Event> {
    const BOOKS: usize = 0;
    const STEADY: usize = 1;
    const SURVIVES: usize = 2;
    const PROVES: usize = 3;
    let suite = suite();
    let labels = [("commit", "1a2b3c4"), ("date", "2026-11-18"), ("title", HOSTILE)];
    let labels = labels.map(|(name, value)| (name.to_owned(), value.to_owned()));
    let mut out = vec![
        Event::Labeled(labels.into()),
        Event::Note("the first of two notes".to_owned()),
        Event::SuiteStarted { file: FILE.to_owned() },
    ];
    let mut add = |rows: Vec<Row>| out.extend(rows.into_iter().map(finished));
    let [good, bad] = seats();
    let unknown = Trace::from_envelope(&json!({ "final_response": "Done." })).unwrap();
    for run in [edited(&good), ran(&bad), ran(&unknown)] {
        add(cell(&suite, BOOKS, "gpt-5", vec![run]));
    }
    let found = |city: &str| ("search", json!({ "q": city }), Some(json!({ "rain": true })));
    let once = trace(&[found("Oslo")], "Rain.");
    let twice = trace(&[found("Oslo"), found("Bergen")], "Rain.");
    let idle = trace(&[], "");
    add(cell(&suite, STEADY, "gpt-5", vec![ran(&once), edited(&once), ran(&once)]));
    add(cell(
        &suite,
        STEADY,
        "gpt-4",
        vec![ran(&once), ran(&idle), ran(&twice), ran(&once), ran(&idle), ran(&unknown)],
    ));
    for last in [Some(json!({ "rain": true })), None] {
        add(cell(&suite, SURVIVES, "gpt-5", vec![ran(&survivor(last))]));
    }
    let several = [Some(json!({ "rain": true })), None, None].map(|last| ran(&survivor(last)));
    add(cell(&suite, SURVIVES, "gpt-4", several.to_vec()));
    let missing = RunError::new("there is no recording of this run: tests/cassettes/weather/books-a-seat/gpt-5/1.json")
        .code(Code::NoRecording)
        .hint("record it: mcptest run --record tests/weather.yml");
    add(cell(&suite, BOOKS, "gpt-5", vec![Attempt::Broken(missing.clone())]));
    add(cell(&suite, STEADY, "gpt-6", vec![ran(&once), Attempt::Broken(missing), Attempt::Skipped]));
    add(cell(&suite, SURVIVES, "gpt-5", vec![Attempt::Skipped]));
    add(cell(&suite, PROVES, "gpt-5", vec![ran(&once), ran(&idle), ran(&once)]));

    out.push(Event::SuiteRefused {
        file: "tests/broken.yml".to_owned(),
        why: "tests/broken.yml:4:5: error[unknown-key]: unknown key `promt` in an agent test\n   |\n 4 | \tpromt: Hi.\n   | \t^^^^^\n   \
              = hint: did you mean `prompt`?\n"
            .to_owned(),
    });
    out.push(Event::SuiteRefused {
        file: format!("{HOSTILE}.yml"),
        why: format!(
            "error[no-such-file]: {HOSTILE}: no such file or folder\nhint: paths are relative to the current folder\n"
        ),
    });
    out.push(Event::Note(format!("a note with {HOSTILE}")));
    out.push(Event::SuiteStarted { file: format!("tests/{HOSTILE}.yaml") });
    out.push(finished(hostile(&suite)));
    let plain = cell(&suite, BOOKS, "gpt-5", vec![ran(&good)]).remove(0);
    out.push(finished(Row {
        name: format!("{}end", "a name of five kilobytes ".repeat(205)),
        origin: Some(Origin::Live),
        verdict: RowVerdict::Error,
        checks: Vec::new(),
        error: Some(RunError::new(format!("::error::x {}", "word ".repeat(1000))).hint("x".repeat(5000))),
        trace: None,
        ..plain.clone()
    }));
    // A trace that another program recorded belongs to no cell and no suite.
    out.push(finished(Row {
        name: "trace-1".into(),
        test: "trace-1".into(),
        run: None,
        line: 0,
        origin: None,
        ..plain.clone()
    }));
    // If all gates are about groups, a single trace has no verdict.
    out.push(finished(Row {
        name: "trace-2".into(),
        test: "trace-2".into(),
        run: None,
        line: 0,
        origin: None,
        verdict: RowVerdict::Unjudged,
        checks: Vec::new(),
        ..plain.clone()
    }));
    out.push(finished(Row { origin: Some(Origin::Scripted), checks: Vec::new(), trace: None, ..plain }));
    out.push(Event::Stopped("stopped before the end".to_owned()));
    with_ends(out)
}

/// The same stream with the end of each cell.
pub(super) fn with_ends(events: Vec<Event>) -> Vec<Event> {
    let mut out: Vec<Event> = Vec::new();
    let mut open: Option<(RowOrder, String, String)> = None;
    for event in events {
        let next = match &event {
            Event::RowFinished(row) => Some(&**row),
            _ => None,
        };
        let goes_on = |(place, _, _): &(RowOrder, String, String)| next.is_some_and(|row| place.goes_on_with(row));
        if !open.as_ref().is_some_and(goes_on)
            && let Some((_, test, model)) = open.take()
        {
            out.push(Event::CellFinished { test, model });
        }
        // A cell begins with its first run.
        open = next
            .filter(|row| row.run.is_some() || open.is_some())
            .map(|row| (RowOrder::of(row), row.test.clone(), row.model.clone()));
        out.push(event);
    }
    out.extend(open.map(|(_, test, model)| Event::CellFinished { test, model }));
    out
}

/// The same run a week earlier: one verdict flipped, one row more, one less, another rate.
pub(super) fn older() -> Vec<Event> {
    let suite = suite();
    let [good, bad] = seats();
    let found = ("search", json!({ "q": "Oslo" }), Some(json!({ "rain": true })));
    let once = trace(&[found], "Rain.");
    let mut rows = cell(&suite, 0, "gpt-5", vec![ran(&bad)]);
    rows.extend(cell(&suite, 0, "gpt-5", vec![ran(&good)]));
    rows.extend(cell(&suite, 1, "gpt-5", vec![ran(&once), ran(&once), ran(&once)]));
    rows.extend(cell(&suite, 1, "gpt-4", vec![ran(&once), ran(&once), ran(&once)]));
    rows.extend(cell(&suite, 2, "gpt-5", vec![Attempt::Skipped]));
    rows.extend(cell(&suite, 2, "gpt-3", vec![ran(&survivor(Some(json!(1)))), Attempt::Skipped]));
    let mut out = vec![Event::SuiteStarted { file: format!("./{FILE}") }];
    out.extend(rows.into_iter().map(finished));
    with_ends(out)
}

/// A run in which all texts are hostile.
fn hostile(suite: &Suite) -> Row {
    let args = json!({ "to": HOSTILE, HOSTILE: [HOSTILE] });
    let trace = trace(&[("search", args, Some(json!(HOSTILE))), (HOSTILE, json!({}), None)], HOSTILE);
    let mut found = cell(suite, 0, HOSTILE, vec![ran(&trace)]).remove(0);
    let receipts = judge::receipts(&suite.agents[2], &suite.faults, &survivor(None));
    found.receipts =
        receipts.into_iter().map(|receipt| judge::Receipt { fault: HOSTILE.to_owned(), ..receipt }).collect();
    for checked in &mut found.checks {
        checked.line.push_str(HOSTILE);
        for failure in &mut checked.failures {
            failure.reason.push_str(HOSTILE);
            for diff in &mut failure.diffs {
                diff.path.push_str(HOSTILE);
                diff.note.push_str(HOSTILE);
            }
        }
    }
    if let Some(mark) = &mut found.mark {
        mark.text.push_str(HOSTILE);
    }
    Row {
        name: HOSTILE.to_owned(),
        test: HOSTILE.to_owned(),
        error: Some(RunError::new(HOSTILE).hint(HOSTILE)),
        advisory: Some(HOSTILE.into()),
        ..found
    }
}
