//! One stream of events with everything a report may have to show, and what each face makes of it.
//!
//! The texts are in `samples/`; `SAMPLES=overwrite cargo test -p mcptest` writes them anew. Read them as the person whose
//! test failed before keeping them.

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use mcptest_core::diag::Source;
use mcptest_core::eval::GateKind;
use mcptest_core::event::Event;
use mcptest_core::judge::{self, Checked};
use mcptest_core::report::{Family, Origin, Report, Row, RowVerdict, Trouble, row_name};
use mcptest_core::suite::{self, AgentTest, Suite, Variables};
use mcptest_core::{Trace, Verdict};
use serde_json::{Value, json};

use super::{Choice, Reporters, Verbosity, detail};

const FILE: &str = "tests/weather.yml";

/// Text that tries to leave its place, in a terminal, in XML and in JSON.
const HOSTILE: &str = "\u{1b}[2J\u{0}\u{7}]]>&<b a='\"'>\u{202e}\u{9b}31m\u{fffe}\u{ffff}\r\n\t{\"}\\";

fn suite() -> Suite {
    let source = Source::new(FILE, include_str!("samples/weather.yml"));
    let loaded = suite::load(&source, &Variables { suite_dir: "tests", outside: &|_| None });
    loaded.value.unwrap_or_else(|| panic!("{:?}", loaded.diagnostics))
}

/// A run that made these calls: name, arguments and structured result; without one the call failed.
fn trace(calls: &[(&str, Value, Option<Value>)], answer: &str) -> Trace {
    let results = calls.iter().map(|(_, _, result)| match result {
        Some(value) => json!({ "is_error": false, "content": [], "structured_content": value }),
        None => json!({ "is_error": true, "content": [{ "type": "text", "text": "no such seat" }] }),
    });
    let turns = calls.len();
    Trace::read(&json!({
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

/// A row about a test, without anything that only some rows have.
fn row(test: &AgentTest, model: &str, run: Option<u64>, verdict: RowVerdict) -> Row {
    let shown = test.is_matrix.then_some(model);
    Row {
        name: row_name(&test.name, shown, run.filter(|_| test.runs > 1), None),
        family: Family::Run,
        test: test.name.clone(),
        model: model.to_owned(),
        run,
        gate: None,
        line: test.line,
        verdict,
        origin: Some(Origin::Replayed),
        checks: Vec::new(),
        error: None,
        receipts: Vec::new(),
        advisory: None,
        duration_ms: None,
        trace: None,
    }
}

fn worst(checks: &[Checked]) -> RowVerdict {
    checks.iter().map(|checked| checked.verdict).max().unwrap_or(Verdict::Pass).into()
}

/// A run as its gates judge it, but for recovery, which has a row of its own.
fn run(test: &AgentTest, model: &str, number: u64, trace: &Trace) -> Row {
    let mut checks = judge::run(&test.expect, &test.gates, trace);
    checks.retain(|checked| checked.gate != Some(GateKind::Recovery));
    Row {
        verdict: worst(&checks),
        checks,
        duration_ms: trace.conversation.duration_ms,
        trace: Some(Box::new(trace.clone())),
        ..row(test, model, Some(number), RowVerdict::Pass)
    }
}

fn gate_row(test: &AgentTest, model: &str, run: Option<u64>, family: Family, checked: Checked) -> Row {
    let shown = test.is_matrix.then_some(model);
    Row {
        name: row_name(&test.name, shown, run.filter(|_| test.runs > 1), checked.gate),
        family,
        gate: checked.gate,
        verdict: checked.verdict.into(),
        checks: vec![checked],
        ..row(test, model, run, RowVerdict::Pass)
    }
}

fn finished(row: Row) -> Event {
    Event::RowFinished(Box::new(row))
}

/// A run that does all that `books a seat` asks for, and one that does hardly anything of it.
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

/// Two calls that meet the fault, and one that gets through.
fn survivor(last: Option<Value>) -> Trace {
    let args = || json!({ "q": "rain" });
    let mut trace = trace(&[("search", args(), None), ("search", args(), None), ("search", args(), last)], "It rains.");
    for at in 0..2 {
        let mark = json!({
            "is_error": true,
            "error": { "kind": "timeout", "message": "no answer within 3000 ms" },
            "fault": { "name": "dead-search", "kind": "recover_after", "effect": "timeout", "ms": 3000 },
        });
        let read = Trace::read(&json!({ "tool_calls": [{ "name": "search" }], "tool_results": [mark] })).unwrap();
        trace.tool_results.as_mut().unwrap()[at] = read.tool_results.unwrap().remove(0);
    }
    trace
}

/// Rows of the runs of a cell and of its gates over runs; with `reliability` runs may fail.
fn cell(test: &AgentTest, model: &str, traces: &[&Trace], out: &mut Vec<Event>) {
    let rows: Vec<Row> = (1..).zip(traces).map(|(number, trace)| run(test, model, number, trace)).collect();
    let outcomes: Vec<bool> = rows.iter().map(|row| row.verdict == RowVerdict::Pass).collect();
    for mut row in rows {
        if row.verdict == RowVerdict::Fail {
            row.verdict = RowVerdict::Absorbed;
        }
        out.push(finished(row));
    }
    let over = judge::runs(&test.gates, traces, &outcomes);
    out.extend(over.into_iter().map(|checked| finished(gate_row(test, model, None, Family::Gate, checked))));
}

fn events() -> Vec<Event> {
    let suite = suite();
    let [books, steady, survives] = &*suite.agents else { panic!("three tests") };
    let [good, bad] = seats();
    let mut out = vec![Event::SuiteStarted { file: FILE.to_owned() }];
    out.push(finished(run(books, "gpt-5", 1, &good)));
    out.push(finished(run(books, "gpt-5", 1, &bad)));
    let unknown = Trace::read(&json!({ "final_response": "Done." })).unwrap();
    out.push(finished(run(books, "gpt-5", 1, &unknown)));
    out.push(finished(run(survives, "gpt-5", 1, &unknown)));

    let found = |city: &str| ("search", json!({ "q": city }), Some(json!({ "rain": true })));
    let once = trace(&[found("Oslo")], "Rain.");
    let idle = trace(&[], "I do not know.");
    cell(steady, "gpt-5", &[&once, &once, &once], &mut out);
    cell(steady, "gpt-4", &[&once, &idle, &once], &mut out);

    for last in [Some(json!({ "rain": true })), None] {
        let survivor = survivor(last);
        let mut checks = judge::run(&[], &survives.gates, &survivor);
        let recovery = checks.iter().position(|checked| checked.gate == Some(GateKind::Recovery)).unwrap();
        let edge = gate_row(survives, "gpt-5", Some(1), Family::Edge, checks.remove(recovery));
        let receipts = judge::receipts(survives, &suite.faults, &survivor);
        out.push(finished(run(survives, "gpt-5", 1, &survivor)));
        out.push(finished(Row { receipts, trace: None, ..edge }));
    }

    out.push(finished(Row {
        error: Some(Trouble {
            message: "there is no cassette tests/cassettes/weather/books-a-seat/gpt-5/1.json".to_owned(),
            hint: Some("record it: mcptest run tests/weather.yml --filter 'books a seat' --record".to_owned()),
        }),
        origin: None,
        ..row(books, "gpt-5", Some(1), RowVerdict::Error)
    }));
    let stopped = judge::without_runs(&steady.gates, "run 2 could not be judged").remove(0);
    out.push(finished(gate_row(steady, "gpt-5", None, Family::Gate, stopped)));
    out.push(finished(Row { origin: None, ..row(survives, "gpt-5", Some(1), RowVerdict::Skipped) }));

    out.push(Event::SuiteRefused {
        file: "tests/broken.yml".to_owned(),
        why: "tests/broken.yml:4:5: error: unknown key `promt` in an agent test\n   |\n 4 | \tpromt: Hi.\n   | \t^^^^^\n   \
              = hint: did you mean `prompt`?\n"
            .to_owned(),
    });
    out.push(Event::SuiteRefused {
        file: format!("{HOSTILE}.yml"),
        why: format!(
            "error: {HOSTILE}: there is no such file or folder\nhint: paths are taken from the current folder\n"
        ),
    });
    out.push(Event::Note(format!("a note with {HOSTILE}")));
    out.push(Event::SuiteStarted { file: format!("tests/{HOSTILE}.yaml") });
    out.push(finished(hostile(books)));
    out.push(finished(Row {
        name: format!("{}end", "a name of five kilobytes ".repeat(205)),
        origin: Some(Origin::Live),
        error: Some(Trouble { message: "word ".repeat(1000), hint: Some("x".repeat(5000)) }),
        ..row(books, "gpt-5", Some(1), RowVerdict::Error)
    }));
    out.push(finished(Row { origin: Some(Origin::Scripted), ..row(books, "gpt-5", Some(1), RowVerdict::Pass) }));
    out
}

/// A run all of whose texts are hostile.
fn hostile(test: &AgentTest) -> Row {
    let args = json!({ "to": HOSTILE, HOSTILE: [HOSTILE] });
    let trace = trace(&[("search", args, Some(json!(HOSTILE))), (HOSTILE, json!({}), None)], HOSTILE);
    let mut found = run(test, HOSTILE, 1, &trace);
    let receipts = judge::receipts(&suite().agents[2], &suite().faults, &survivor(None));
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
    Row {
        name: HOSTILE.to_owned(),
        error: Some(Trouble { message: HOSTILE.into(), hint: Some(HOSTILE.into()) }),
        ..found
    }
}

/// What the chosen reporters print, and what they could not write.
fn report(chosen: &[&str], verbosity: Verbosity, events: &[Event]) -> (String, Vec<String>) {
    let mut out = Vec::new();
    let chosen: Vec<Choice> = chosen.iter().map(|typed| typed.parse().unwrap()).collect();
    let unwritten = report_to(&mut out, &chosen, verbosity, events);
    (String::from_utf8(out).unwrap(), unwritten)
}

fn report_to(out: &mut dyn Write, chosen: &[Choice], verbosity: Verbosity, events: &[Event]) -> Vec<String> {
    let mut reporters = Reporters::new(chosen, verbosity, out).unwrap();
    let mut report = Report::default();
    for event in events {
        reporters.event(event);
        report.take(event.clone());
    }
    reporters.finish(&report).iter().map(ToString::to_string).collect()
}

/// What one reporter prints.
fn printed(reporter: &str, verbosity: Verbosity, events: &[Event]) -> String {
    let (text, unwritten) = report(&[reporter], verbosity, events);
    assert_eq!(unwritten, [""; 0]);
    text
}

fn sample(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("src/report/samples").join(name)
}

#[expect(clippy::disallowed_methods, reason = "a switch for whoever changes a report on purpose")]
fn check(name: &str, found: &str) {
    if std::env::var("SAMPLES").is_ok_and(|word| word == "overwrite") {
        fs::write(sample(name), found).unwrap();
    }
    let expected = fs::read_to_string(sample(name)).unwrap();
    let differs = expected.lines().zip(found.lines()).position(|(old, new)| old != new);
    assert!(expected == found, "{name} differs, first in line {differs:?} (from 0)\n--- found\n{found}");
}

#[test]
fn people_see_every_row_and_what_to_do_about_it() {
    let events = events();
    check("normal.txt", &printed("pretty", Verbosity::Normal, &events));
    check("quiet.txt", &printed("pretty", Verbosity::Quiet, &events));
    check("verbose.txt", &printed("pretty", Verbosity::Verbose, &events));
}

#[test]
fn tools_get_everything() {
    check("report.json", &printed("json", Verbosity::Normal, &events()));
}

#[test]
fn ci_servers_get_a_case_per_row() {
    check("report.xml", &printed("junit", Verbosity::Normal, &events()));
}

#[test]
fn every_face_counts_the_same_and_keeps_the_order_of_events() {
    let events = events();
    let rows: Vec<&Row> = events
        .iter()
        .filter_map(|event| match event {
            Event::RowFinished(row) => Some(&**row),
            _ => None,
        })
        .collect();
    let count = |verdict| rows.iter().filter(|row| row.verdict == verdict).count();
    assert!(RowVerdict::ALL.iter().all(|verdict| count(*verdict) > 0));

    let json: Value = serde_json::from_str(&printed("json", Verbosity::Normal, &events)).unwrap();
    let totals = &json["totals"];
    assert_eq!(totals.as_object().unwrap().len(), RowVerdict::ALL.len());
    for verdict in RowVerdict::ALL {
        assert_eq!(totals[verdict.as_str()], count(*verdict), "{verdict}");
    }
    let in_json = json["suites"].as_array().unwrap().iter().flat_map(|suite| suite["rows"].as_array().unwrap());
    let in_json: Vec<&str> = in_json.map(|row| row["name"].as_str().unwrap()).collect();
    let names: Vec<&str> = rows.iter().map(|row| &*row.name).collect();
    assert_eq!(in_json, names);

    let verbose = printed("pretty", Verbosity::Verbose, &events);
    let mut rest = &*verbose;
    for row in &rows {
        let line = format!("{:8}  {}", detail::mark(row.verdict).1, mcptest_core::diag::printable(&row.name));
        let at = rest.find(&line).unwrap_or_else(|| panic!("{line} is missing or too early"));
        rest = &rest[at + line.len()..];
    }
    let summary = verbose.lines().last().unwrap();
    let counts: Vec<String> = RowVerdict::ALL.iter().map(|verdict| format!("{} {verdict}", count(*verdict))).collect();
    assert_eq!(summary, format!("{} rows: {}; 2 suites could not be used", rows.len(), counts.join(", ")));

    let junit = printed("junit", Verbosity::Normal, &events);
    let refused = 2;
    let head = format!(
        "<testsuites name=\"mcptest\" tests=\"{}\" skipped=\"{}\" failures=\"{}\" errors=\"{}\">",
        rows.len() + refused,
        count(RowVerdict::Skipped),
        count(RowVerdict::Fail) + count(RowVerdict::Unassessable),
        count(RowVerdict::Error) + refused,
    );
    assert_eq!(junit.lines().nth(1).unwrap(), head);
    assert_eq!(junit.matches("<testcase ").count(), rows.len() + refused);
}

#[test]
fn the_same_events_give_the_same_bytes() {
    for face in ["pretty", "json", "junit"] {
        assert_eq!(printed(face, Verbosity::Normal, &events()), printed(face, Verbosity::Normal, &events()));
    }
}

#[test]
fn json_that_is_written_piece_by_piece_is_laid_out_as_a_whole() {
    for events in [events(), Vec::new(), vec![Event::SuiteStarted { file: "a.yml".to_owned() }]] {
        let text = printed("json", Verbosity::Normal, &events);
        assert_eq!(text, mcptest_core::json::pretty(&serde_json::from_str(&text).unwrap()));
    }
}

#[test]
fn nothing_in_a_report_for_people_or_ci_servers_acts_on_a_terminal_or_breaks_xml() {
    for face in ["pretty", "junit"] {
        let text = printed(face, Verbosity::Verbose, &events());
        let acts = |c: char| (c.is_control() && !matches!(c, '\n' | '\t')) || c == '\u{202e}';
        assert_eq!(text.find(acts), None, "{face}");
    }
    let junit = printed("junit", Verbosity::Normal, &events());
    assert_eq!(junit.find(['\u{fffe}', '\u{ffff}']), None);
    // Read back by the parser of the same crate, names are whole.
    let read = quick_junit::Report::deserialize_from_str(&junit).unwrap();
    let names = read.test_suites.iter().flat_map(|suite| &suite.test_cases).map(|case| case.name.as_str());
    assert_eq!(names.filter(|name| name.len() > 5_000).count(), 1);
}

#[test]
fn nothing_to_report_is_said() {
    assert_eq!(printed("pretty", Verbosity::Normal, &[]), "no rows\n");
    let passed = [Event::SuiteStarted { file: FILE.to_owned() }, events().swap_remove(1)];
    assert_eq!(printed("pretty", Verbosity::Quiet, &passed), "1 row: 1 pass\n");
}

#[test]
fn runs_are_told_together_only_when_they_say_the_same() {
    let suite = suite();
    let steady = &suite.agents[1];
    let numbered = |number: u64, line: &str, origin: Origin| {
        let checked = judge::run(&[], &steady.gates, &trace(&[], "")).remove(0);
        let checked = Checked { verdict: Verdict::Pass, failures: Vec::new(), line: line.to_owned(), ..checked };
        let row = row(steady, "gpt-5", Some(number), RowVerdict::Pass);
        finished(Row { checks: vec![checked], origin: Some(origin), ..row })
    };
    let events = [
        Event::SuiteStarted { file: FILE.to_owned() },
        numbered(1, "a", Origin::Replayed),
        numbered(2, "a", Origin::Replayed),
        numbered(3, "b", Origin::Replayed),
        numbered(4, "b", Origin::Live),
        numbered(6, "b", Origin::Live),
        numbered(7, "b", Origin::Live),
        Event::Note("that is all".to_owned()),
    ];
    let text = "\
tests/weather.yml
✓ PASS      stays steady [gpt-5] #1 to #2  replayed  trajectory: a
✓ PASS      stays steady [gpt-5] #3  replayed  trajectory: b
✓ PASS      stays steady [gpt-5] #4  live  trajectory: b
✓ PASS      stays steady [gpt-5] #6 to #7  live  trajectory: b
note: that is all

6 rows: 6 pass
";
    assert_eq!(printed("pretty", Verbosity::Normal, &events), text);
}

#[test]
fn reports_go_to_files_and_people_still_see_the_verdict() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    let events = events();
    let to = |face: &str, name: &str| format!("{face}={}", path(name).display());
    let chosen = [to("junit", "a.xml"), to("json", "a.json"), to("pretty", "a.txt")];
    let (out, unwritten) = report(&chosen.each_ref().map(String::as_str), Verbosity::Normal, &events);
    assert_eq!(unwritten, [""; 0]);
    let pretty = printed("pretty", Verbosity::Normal, &events);
    assert_eq!(out, pretty);
    assert_eq!(fs::read_to_string(path("a.txt")).unwrap(), pretty);
    assert_eq!(fs::read_to_string(path("a.json")).unwrap(), printed("json", Verbosity::Normal, &events));
    assert_eq!(fs::read_to_string(path("a.xml")).unwrap(), printed("junit", Verbosity::Normal, &events));
}

#[test]
fn a_report_that_cannot_be_written_is_told_and_the_others_are_written() {
    let folder = tempfile::tempdir().unwrap();
    let missing = folder.path().join("no/a.json");
    let written = folder.path().join("a.xml");
    let chosen = [format!("json={}", missing.display()), format!("junit={}", written.display())];
    let (out, unwritten) = report(&chosen.each_ref().map(String::as_str), Verbosity::Normal, &[]);
    assert_eq!(out, "no rows\n");
    let [complaint] = &*unwritten else { panic!("{unwritten:?}") };
    let start = format!("cannot write the report {}: ", missing.display());
    assert!(complaint.starts_with(&start) && complaint.ends_with("\nhint: make its folder first"), "{complaint}");
    assert_eq!(fs::read_to_string(written).unwrap(), printed("junit", Verbosity::Normal, &[]));
}

/// An output that fails after some writes.
struct Closed(u32, io::ErrorKind);

impl Write for Closed {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0 = self.0.checked_sub(1).ok_or_else(|| io::Error::new(self.1, "closed"))?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[test]
fn an_output_that_is_closed_is_an_error_unless_its_reader_has_seen_enough() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.json");
    let chosen = [format!("json={}", path.display()).parse().unwrap()];
    let events = events();
    let full = report_to(&mut Closed(2, io::ErrorKind::StorageFull), &chosen, Verbosity::Normal, &events);
    assert_eq!(full, ["cannot write to standard output: closed"]);
    let piped = report_to(&mut Closed(2, io::ErrorKind::BrokenPipe), &chosen, Verbosity::Normal, &events);
    assert_eq!(piped, [""; 0]);
    assert_eq!(fs::read_to_string(path).unwrap(), printed("json", Verbosity::Normal, &events));
}

#[test]
fn a_reporter_that_cannot_be_had_is_refused() {
    let refused = |typed: &str| typed.parse::<Choice>().unwrap_err().to_string();
    assert_eq!(refused("jsn=a"), "there is no reporter `jsn` (hint: did you mean `json`?)");
    assert_eq!(refused(""), "there is no reporter `` (hint: one of: pretty, json, junit)");
    assert_eq!(refused("junit="), "the path is missing (hint: `junit=PATH`, or `junit` alone for standard output)");
    let clash = |chosen: [&str; 2]| {
        let chosen = chosen.map(|typed| typed.parse().unwrap());
        Reporters::new(&chosen, Verbosity::Normal, &mut Vec::new()).err().map(|bad| bad.to_string())
    };
    assert_eq!(
        clash(["pretty", "json"]).unwrap(),
        "two reporters cannot share standard output: pretty and json\nhint: give one of them a file: --reporter json=PATH"
    );
    assert_eq!(
        clash(["json=a", "junit=a"]).unwrap(),
        "two reporters cannot share the file a: json and junit\nhint: give each a file of its own"
    );
    assert_eq!(clash(["json", "junit=a"]), None);
}
