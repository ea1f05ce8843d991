//! The output of each reporter for the sample. The texts are in `samples/`; `SAMPLES=overwrite cargo test -p mcptest` updates
//! them. Read the diff as the person whose test failed.

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use mcptest_core::compare::Side;
use mcptest_core::diag::printable;
use mcptest_core::event::Event;
use mcptest_core::report::{Report, Row, RowVerdict};
use serde_json::{Value, json};

use mcptest_runner::file::Trust;

use super::samples::{FILE, cell, events, older, ran, suite, trace, with_ends};
use super::style::Output;
use super::{Choice, Compared, Kind, Named, Reporters, Style, Verbosity, detail};
use crate::console::Stream;

fn style(verbosity: Verbosity) -> Style {
    Style { verbosity, output: Output::PLAIN, step_summary: None, trust: Trust::Trusted }
}

fn normal() -> Style {
    style(Verbosity::Normal)
}

fn quiet() -> Style {
    style(Verbosity::Quiet)
}

fn verbose() -> Style {
    style(Verbosity::Verbose)
}

/// Older runs to compare with.
fn named(events: &[Event]) -> Named {
    let mut report = Report::default();
    events.iter().cloned().for_each(|event| report.take(event));
    Named { name: "old.json".to_owned(), side: Side::of_report(&report) }
}

/// What the chosen reporters print, and what they could not write.
fn report(chosen: &[&str], style: Style, events: &[Event]) -> (String, Vec<String>) {
    report_since(chosen, style, None, events)
}

/// The same with what changed since older runs.
fn report_since(chosen: &[&str], style: Style, older: Option<&Named>, events: &[Event]) -> (String, Vec<String>) {
    let mut out = Vec::new();
    let chosen: Vec<Choice> = chosen.iter().map(|typed| typed.parse().unwrap()).collect();
    let unwritten = report_to(&mut out, &chosen, style, older, events);
    (String::from_utf8(out).unwrap(), unwritten)
}

fn report_to(
    out: &mut dyn Write,
    chosen: &[Choice],
    style: Style,
    older: Option<&Named>,
    events: &[Event],
) -> Vec<String> {
    let mut reporters = Reporters::new(chosen, style, Stream::new(out)).unwrap();
    let mut report = Report::default();
    for event in events {
        reporters.event(event);
        report.take(event.clone());
    }
    let compared = older.map(|older| Compared::with_run(older, &report));
    reporters.finish(&report, compared.as_ref()).iter().map(ToString::to_string).collect()
}

fn printed(reporter: &str, style: Style, events: &[Event]) -> String {
    let (text, unwritten) = report(&[reporter], style, events);
    assert_eq!(unwritten, [""; 0]);
    text
}

/// What one reporter prints since older runs.
fn printed_since(reporter: &str, style: Style, older: Option<&Named>, events: &[Event]) -> String {
    let (text, unwritten) = report_since(&[reporter], style, older, events);
    assert_eq!(unwritten, [""; 0]);
    text
}

/// The outputs for the committed report of the sample.
fn output_of_saved() -> Vec<Event> {
    mcptest_core::report::read(&fs::read_to_string(sample("report.json")).unwrap()).unwrap()
}

fn sample(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("src/report/samples").join(name)
}

#[expect(clippy::disallowed_methods, reason = "a switch for whoever changes a report on purpose")]
fn check(name: &str, found: &str) {
    if std::env::var("SAMPLES").is_ok_and(|word| word == "overwrite") {
        fs::write(sample(name), found).unwrap();
    }
    compare(name, found);
}

fn compare(name: &str, found: &str) {
    let expected = fs::read_to_string(sample(name)).unwrap();
    let differs = expected.lines().zip(found.lines()).position(|(old, new)| old != new);
    assert!(expected == found, "{name} differs, first in line {differs:?} (from 0)\n--- found\n{found}");
}

/// Every committed text: the face, how it looks, whether it is compared with older runs, and the file.
fn outputs() -> Vec<(&'static str, Style, bool, &'static str)> {
    let narrow = Style { output: Output { width: 72, is_colored: true }, ..normal() };
    vec![
        ("pretty", normal(), false, "normal.txt"),
        ("pretty", quiet(), false, "quiet.txt"),
        ("pretty", verbose(), false, "verbose.txt"),
        ("pretty", narrow, false, "terminal.txt"),
        ("pretty", normal(), true, "compared.txt"),
        ("json", normal(), false, "report.json"),
        ("ndjson", normal(), false, "events.ndjson"),
        ("junit", normal(), false, "report.xml"),
        ("github", normal(), false, "github.txt"),
        ("markdown", normal(), false, "report.md"),
        ("markdown", normal(), true, "compared.md"),
    ]
}

#[test]
fn every_report_of_the_sample_matches_its_reviewed_output() {
    let older = named(&older());
    for (face, style, is_compared, file) in outputs() {
        check(file, &printed_since(face, style, is_compared.then_some(&older), &events()));
    }
}

#[test]
fn every_report_is_recreated_from_a_saved_one_byte_for_byte() {
    let again = output_of_saved();
    let older = named(&older());
    for (face, style, is_compared, file) in outputs() {
        // Never overwrites: what the saved report says may be older than the sample.
        compare(file, &printed_since(face, style, is_compared.then_some(&older), &again));
    }
    assert!(printed("html", normal(), &again) == printed("html", normal(), &events()));
    assert_eq!(again.len(), events().len());
}

/// Rows by verdict, as a face counts them.
type Counted = Vec<(RowVerdict, usize)>;

fn counted(rows: &[&Row]) -> Counted {
    RowVerdict::ALL
        .iter()
        .map(|verdict| (*verdict, rows.iter().filter(|row| row.verdict == *verdict).count()))
        .collect()
}

/// The verdict of each test, which is the worst of its rows, and of each trace that belongs to no test.
fn whole(events: &[Event]) -> (Vec<RowVerdict>, Vec<RowVerdict>) {
    const WORST_FIRST: [RowVerdict; 8] = [
        RowVerdict::Error,
        RowVerdict::Fail,
        RowVerdict::Unassessable,
        RowVerdict::Inconclusive,
        RowVerdict::Skipped,
        RowVerdict::Pass,
        RowVerdict::Absorbed,
        RowVerdict::Unjudged,
    ];
    let worst = |verdicts: &[RowVerdict]| match WORST_FIRST.iter().find(|verdict| verdicts.contains(verdict)).unwrap() {
        RowVerdict::Absorbed => RowVerdict::Pass,
        other => *other,
    };
    let (mut cells, mut traces, mut open) = (Vec::new(), Vec::new(), Vec::new());
    for event in events {
        match event {
            Event::RowFinished(row) if row.run.is_none() && open.is_empty() => traces.push(worst(&[row.verdict])),
            Event::RowFinished(row) => open.push(row.verdict),
            Event::CellFinished { .. } => cells.push(worst(&std::mem::take(&mut open))),
            _ => {}
        }
    }
    assert!(open.is_empty());
    (cells, traces)
}

/// Where the runs of the sample come from.
const ORIGINS: &str = "22 replayed (2 edited), 1 live, 1 scripted";

#[test]
fn every_reporter_counts_the_same_and_keeps_the_order_of_events() {
    let events = events();
    let rows: Vec<&Row> = events
        .iter()
        .filter_map(|event| match event {
            Event::RowFinished(row) => Some(&**row),
            _ => None,
        })
        .collect();
    let counts = counted(&rows);
    let count = |verdict| counts.iter().find(|(found, _)| *found == verdict).unwrap().1;
    assert!(counts.iter().all(|(_, count)| *count > 0));
    let totals: serde_json::Map<String, Value> =
        counts.iter().map(|(verdict, count)| (verdict.to_string(), json!(count))).collect();
    let names: Vec<&str> = rows.iter().map(|row| &*row.name).collect();

    let json: Value = serde_json::from_str(&printed("json", normal(), &events)).unwrap();
    assert_eq!(json["totals"], Value::Object(totals.clone()));
    let in_json = json["suites"].as_array().unwrap().iter().flat_map(|suite| suite["rows"].as_array().unwrap());
    let in_json: Vec<&Value> = in_json.collect();
    assert_eq!(in_json.iter().map(|row| row["name"].as_str().unwrap()).collect::<Vec<_>>(), names);
    // What is written piece by piece is what serde would have written.
    for (written, row) in in_json.iter().zip(&rows) {
        assert!(mcptest_core::json::equal(written, &serde_json::to_value(row).unwrap()), "{written}");
    }

    let ndjson = printed("ndjson", normal(), &events);
    let lines: Vec<Value> = ndjson.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(lines.len(), events.len() + 2);
    assert_eq!(lines[0], json!({ "event": "begin", "mcptest": 1 }));
    assert_eq!(lines[lines.len() - 1], json!({ "event": "end", "exit_code": 2, "totals": totals }));
    let in_lines = lines.iter().filter(|line| line["event"] == "row_finished").map(|line| &line["row"]);
    assert!(in_lines.eq(in_json));

    let verbose = printed("pretty", verbose(), &events);
    let mut rest = &*verbose;
    for row in &rows {
        let line = format!("{:8}  {}", detail::mark(row.verdict).1, printable(&row.name));
        let at = rest.find(&line).unwrap_or_else(|| panic!("{line} is missing or too early"));
        rest = &rest[at + line.len()..];
    }
    let (cells, traces) = whole(&events);
    let runs = rows.iter().filter(|row| row.run.is_some() && row.gate.is_none());
    let runs = runs.filter(|row| row.verdict != RowVerdict::Skipped).count();
    let verdicts: Vec<RowVerdict> = cells.iter().chain(&traces).copied().collect();
    let of = |wanted: RowVerdict| verdicts.iter().filter(|verdict| **verdict == wanted).count();
    let summary = format!(
        "{} tests, {runs} runs, {} traces: {} passed, {} failed, {} inconclusive, {} unassessable, {} errors, {} skipped, \
         {} not judged; 2 suites could not be used",
        cells.len(),
        traces.len(),
        of(RowVerdict::Pass),
        of(RowVerdict::Fail),
        of(RowVerdict::Inconclusive),
        of(RowVerdict::Unassessable),
        of(RowVerdict::Error),
        of(RowVerdict::Skipped),
        of(RowVerdict::Unjudged),
    );
    for style in [normal(), quiet(), self::verbose()] {
        assert_eq!(printed("pretty", style, &events).lines().last().unwrap(), summary);
    }
    let github = printed("github", normal(), &events);
    assert_eq!(github.lines().next().unwrap(), format!("::error title=mcptest::{summary}; {ORIGINS}"));
    let markdown = printed("markdown", normal(), &events);
    assert_eq!(markdown.lines().nth(2).unwrap(), summary);
    assert_eq!(markdown.lines().nth(4).unwrap(), format!("Runs: {ORIGINS}."));
    let failed = count(RowVerdict::Fail) + count(RowVerdict::Inconclusive) + count(RowVerdict::Unassessable);
    let bad = failed + count(RowVerdict::Error);
    let refused = 2;
    // Two pairs of runs fail in the same way.
    assert_eq!(markdown.matches("<details>").count(), bad + refused - 2);
    let bad = verdicts.iter().filter(|verdict| verdict.is_bad()).count();
    assert_eq!(markdown.lines().next().unwrap(), format!("## ! mcptest: {bad} tests failed or could not run"));

    let junit = printed("junit", normal(), &events);
    let head = format!(
        "<testsuites name=\"mcptest\" tests=\"{}\" failures=\"{}\" errors=\"{}\">",
        rows.len() + refused,
        failed,
        count(RowVerdict::Error) + refused,
    );
    assert_eq!(junit.lines().nth(1).unwrap(), head);
    assert_eq!(junit.matches("<testcase ").count(), rows.len() + refused);
    assert_eq!(junit.matches("<skipped/>").count(), count(RowVerdict::Skipped) + count(RowVerdict::Unjudged));
    // Parsed with a third-party parser, names are complete and counts match the elements.
    let read = quick_junit::Report::deserialize_from_str(&junit).unwrap();
    let cases = || read.test_suites.iter().flat_map(|suite| &suite.test_cases);
    assert_eq!(cases().count(), rows.len() + refused);
    assert_eq!(cases().filter(|case| case.name.as_str().len() > 5_000).count(), 1);
}

#[test]
fn nothing_that_is_printed_acts_on_a_terminal() {
    for kind in Kind::ALL {
        let older = named(&older());
        let styles = [(normal(), None), (quiet(), None), (verbose(), None), (normal(), Some(&older))];
        for (style, older) in styles {
            let text = printed_since(kind.name(), style, older, &events());
            let acts = |c: char| (c.is_control() && !matches!(c, '\n' | '\t')) || c == '\u{202e}';
            assert_eq!(text.find(acts), None, "{}", kind.name());
        }
    }
    let junit = printed("junit", normal(), &events());
    assert_eq!(junit.find(['\u{fffe}', '\u{ffff}']), None);
}

#[test]
fn color_does_not_change_the_text() {
    let colored = Style { output: Output { is_colored: true, ..Output::PLAIN }, ..normal() };
    let text = printed("pretty", colored, &events());
    let mut plain = String::new();
    let mut rest = &*text;
    while let Some((before, after)) = rest.split_once("\u{1b}[") {
        plain.push_str(before);
        rest = after.split_once('m').unwrap().1;
    }
    plain.push_str(rest);
    assert_eq!(plain, printed("pretty", normal(), &events()));
    // Files have no color, regardless of standard output.
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.txt");
    let colored = Style { output: Output { is_colored: true, width: 40 }, ..normal() };
    report(&[&format!("pretty={}", path.display())], colored, &events());
    assert_eq!(fs::read_to_string(path).unwrap(), plain);
}

#[test]
fn an_empty_run_is_reported() {
    assert_eq!(printed("pretty", normal(), &[]), "no tests\n");
    assert_eq!(printed("github", normal(), &[]), "::notice title=mcptest::no tests\n");
    assert_eq!(printed("markdown", normal(), &[]), "## ✓ mcptest: everything passed\n\nno tests\n");
    assert_eq!(
        printed("junit", normal(), &[]),
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites name=\"mcptest\" tests=\"0\" failures=\"0\" errors=\"0\"/>\n"
    );
    let once = trace(&[("search", json!({ "to": "Oslo" }), None), ("book", json!({}), None)], "Booked.");
    let row = cell(&suite(), 1, "gpt-5", vec![ran(&once), ran(&once)]).remove(0);
    let passed = [Event::SuiteStarted { file: FILE.to_owned() }, Event::RowFinished(Box::new(row))];
    assert_eq!(printed("pretty", quiet(), &passed), "1 test, 1 run: 1 passed\n");
    let unchanged = printed_since("pretty", normal(), Some(&named(&passed)), &passed);
    assert_eq!(unchanged.lines().nth(3).unwrap(), "since old.json: same, pooled p 1.0000");
}

#[test]
fn runs_with_the_same_failure_are_grouped_and_the_rest_is_counted() {
    let suite = suite();
    let failing_case =
        |at: u64| trace(&[("look", json!({ "at": at }), None)], &"word ".repeat(usize::try_from(at).unwrap() + 1));
    let mut runs: Vec<_> = (0..12).map(|at| ran(&failing_case(at % 2))).collect();
    let rows = cell(&suite, 2, "gpt-5", std::mem::take(&mut runs));
    let failed = |rows: Vec<Row>| {
        let mut events = vec![Event::SuiteStarted { file: FILE.to_owned() }];
        events.extend(rows.into_iter().map(|row| Event::RowFinished(Box::new(row))));
        let text = printed("pretty", normal(), &with_ends(events));
        text.lines()
            .filter(|line| line.contains("FAIL") || line.contains("in other ways"))
            .map(str::to_owned)
            .collect::<Vec<_>>()
    };
    assert_eq!(
        failed(rows.clone().into_iter().filter(|row| row.gate.is_none()).collect()),
        [
            "✗ FAIL      survives a dead search  replayed  0/12 runs pass",
            "✗ FAIL      survives a dead search #1 to #12  replayed",
        ]
    );
    // Each has its own message.
    let numbered = rows.into_iter().filter(|row| row.gate.is_none()).map(|mut row| {
        row.checks[0].failures[0].reason = format!("reason {}", row.run.unwrap());
        row
    });
    let lines = failed(numbered.collect());
    assert_eq!(lines.len(), 7);
    assert_eq!(lines[6], "    and 7 runs that failed in other ways; -v shows them: #6 to #12");
}

#[test]
fn a_report_fits_its_schema_and_has_no_key_that_the_schema_does_not_describe() {
    /// Forbids everything that is not described.
    fn close(schema: &mut Value) {
        match schema {
            Value::Object(map) => {
                let is_branch = map.contains_key("if");
                for (key, inner) in map.iter_mut() {
                    // What a condition names are not all the keys of what it looks at.
                    if !is_branch || key == "then" {
                        close(inner);
                    }
                }
                if map.contains_key("properties") && map.get("type").is_some_and(|kind| kind == "object") {
                    map.insert("additionalProperties".to_owned(), false.into());
                }
            }
            Value::Array(items) => items.iter_mut().for_each(close),
            _ => {}
        }
    }
    let mut schema = mcptest_core::report::schema::report();
    let errors = |schema: &Value, report: &Value| -> Vec<String> {
        let validator = jsonschema::draft202012::new(schema).unwrap();
        validator.iter_errors(report).map(|error| format!("{}: {error}", error.instance_path())).collect()
    };
    let mut report: Value = serde_json::from_str(&printed("json", normal(), &events())).unwrap();
    assert_eq!(errors(&schema, &report), [""; 0]);
    let mut newer = report.clone();
    newer["suites"][0]["rows"][0]["mood"] = "good".into();
    assert_eq!(errors(&schema, &newer), [""; 0]);
    close(&mut schema);
    assert_eq!(errors(&schema, &report), [""; 0]);
    assert_eq!(errors(&schema, &newer).len(), 1);
    report["suites"][0]["rows"][0]["verdict"] = "good".into();
    assert_eq!(errors(&schema, &report).len(), 1);
}

#[test]
fn github_shows_only_the_annotations_that_the_platform_shows_and_counts_the_rest() {
    let suite = suite();
    let idle = trace(&[], "Nothing.");
    let mut events = vec![Event::SuiteStarted { file: FILE.to_owned() }];
    for model in 0..12 {
        // Two runs of a test share an annotation.
        let rows = cell(&suite, 2, &format!("m{model}"), vec![ran(&idle), ran(&idle)]);
        events.extend(rows.into_iter().map(|row| Event::RowFinished(Box::new(row))));
    }
    let text = printed("github", normal(), &events);
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines.len(), 10);
    assert!(lines.iter().all(|line| line.starts_with("::error ")));
    assert_eq!(lines[0], "::error title=mcptest::12 tests, 24 runs: 12 failed; 24 replayed");
    assert_eq!(lines[9], "::error title=mcptest::4 more tests without an annotation: the summary of the step has them");
    assert!(lines[1].ends_with("%0Aand 3 more failures of this test"), "{}", lines[1]);
}

#[test]
fn the_github_step_summary_is_appended() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("summary.md");
    fs::write(&path, "before\n").unwrap();
    let style = || Style { step_summary: Some(path.clone()), ..normal() };
    printed("github", style(), &events());
    let markdown = printed("markdown", normal(), &events());
    assert_eq!(fs::read_to_string(&path).unwrap(), format!("before\n{markdown}"));
    // Only this test writes it.
    printed("markdown", style(), &events());
    assert_eq!(fs::read_to_string(&path).unwrap(), format!("before\n{markdown}"));
    let unwritten = report(&["github"], Style { step_summary: Some(folder.path().to_owned()), ..normal() }, &[]).1;
    assert_eq!(unwritten.len(), 1);
    assert!(unwritten[0].ends_with("\nhint: name a file in it"), "{unwritten:?}");
}

#[test]
fn a_comment_is_cut_to_the_size_limit() {
    let suite = suite();
    let idle = trace(&[], "Nothing.");
    let mut report = Report::default();
    report.take(Event::SuiteStarted { file: FILE.to_owned() });
    for mut row in cell(&suite, 2, "m", vec![ran(&idle); 400]) {
        let own = format!("reason {}", row.run.unwrap());
        row.checks[0].failures[0].reason = own;
        report.take(Event::RowFinished(Box::new(row)));
    }
    let text = super::markdown::text(&report, None, super::markdown::COMMENT);
    assert!(text.len() <= super::markdown::COMMENT + 200, "{}", text.len());
    let shown = text.matches("<details>").count();
    assert!(text.contains(&format!("\nand {} more failures, omitted for space\n", 800 - shown)));
    assert!(shown > 50);
}

/// An element, the attributes it must have, those it may have, and its children in order.
type Allowed = (&'static str, &'static [&'static str], &'static [&'static str], &'static [&'static str]);

/// What the schemas of Jenkins allow: `junit-4.xsd`, which `JUnit` itself tests against, and `junit-10.xsd` of the
/// xUnit plugin. Attributes that both know, those that one of them requires, and children in the order of the first.
const JENKINS: [Allowed; 7] = [
    ("testsuites", &[], &["name", "time", "tests", "failures", "errors"], &["testsuite"]),
    (
        "testsuite",
        &["name", "tests", "failures", "errors"],
        &["time", "skipped", "timestamp", "hostname", "id", "package"],
        &["properties", "testcase", "system-out", "system-err"],
    ),
    ("testcase", &["name"], &["time", "classname"], &["skipped", "error", "failure", "system-out", "system-err"]),
    ("failure", &[], &["type", "message"], &[]),
    ("error", &[], &["type", "message"], &[]),
    ("skipped", &[], &[], &[]),
    ("system-out", &[], &[], &[]),
];

/// Everything about a report that those schemas do not allow.
fn jenkins(xml: &str) -> Vec<String> {
    use quick_xml::events::Event as Xml;
    let mut reader = quick_xml::Reader::from_str(xml);
    let mut problems = Vec::new();
    // Open elements, each with the place of its last child among those it may have.
    let mut open: Vec<(String, usize)> = Vec::new();
    loop {
        let event = reader.read_event().unwrap();
        let (element, is_empty) = match &event {
            Xml::Start(element) => (element, false),
            Xml::Empty(element) => (element, true),
            Xml::End(_) => {
                open.pop();
                continue;
            }
            Xml::Text(text) => {
                let may_have_text =
                    open.last().is_none_or(|(name, _)| !["testsuites", "testsuite", "testcase"].contains(&&**name));
                if !may_have_text && !text.iter().all(u8::is_ascii_whitespace) {
                    problems.push(format!("text in {open:?}"));
                }
                continue;
            }
            Xml::Eof => break,
            _ => continue,
        };
        let name = String::from_utf8(element.name().as_ref().to_vec()).unwrap();
        let Some((_, required, optional, _)) = JENKINS.iter().find(|(known, ..)| *known == name) else {
            problems.push(format!("<{name}> is not known"));
            continue;
        };
        let found: Vec<String> = element
            .attributes()
            .map(|attribute| String::from_utf8(attribute.unwrap().key.as_ref().to_vec()).unwrap())
            .collect();
        let is_known = |key: &String| required.contains(&&**key) || optional.contains(&&**key);
        problems.extend(found.iter().filter(|key| !is_known(key)).map(|key| format!("<{name} {key}> is not known")));
        problems.extend(
            required
                .iter()
                .filter(|key| !found.iter().any(|has| has == *key))
                .map(|key| format!("<{name}> has no {key}")),
        );
        match open.last_mut() {
            Some((parent, last)) => {
                let children = JENKINS.iter().find(|(known, ..)| known == parent).unwrap().3;
                match children.iter().position(|child| *child == name) {
                    Some(at) if at >= *last => *last = at,
                    _ => problems.push(format!("<{name}> is not allowed here in <{parent}>")),
                }
            }
            None if name == "testsuites" => {}
            None => problems.push(format!("<{name}> is not a root")),
        }
        if !is_empty {
            open.push((name, 0));
        }
    }
    problems
}

#[test]
fn junit_keeps_to_the_schemas_of_jenkins() {
    for events in [events(), older(), Vec::new()] {
        assert_eq!(jenkins(&printed("junit", normal(), &events)), [""; 0]);
    }
    let bad = "<testsuites skipped='1'><testsuite name='a' tests='1' failures='0'><testcase><system-out/><failure/>x</testcase>\
               <properties/></testsuite></testsuites>";
    assert_eq!(
        jenkins(bad),
        [
            "<testsuites skipped> is not known",
            "<testsuite> has no errors",
            "<testcase> has no name",
            "<failure> is not allowed here in <testcase>",
            "text in [(\"testsuites\", 0), (\"testsuite\", 1), (\"testcase\", 3)]",
            "<properties> is not known",
        ]
    );
}

#[test]
fn json_written_in_pieces_equals_json_written_at_once() {
    for events in [events(), Vec::new(), vec![Event::SuiteStarted { file: "a.yml".to_owned() }]] {
        let text = printed("json", normal(), &events);
        assert_eq!(text, mcptest_core::json::pretty(&serde_json::from_str(&text).unwrap()));
    }
}

#[test]
fn reports_in_files_leave_the_verdict_on_the_terminal() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    let events = events();
    let to = |face: &str, name: &str| format!("{face}={}", path(name).display());
    let chosen = [to("junit", "a.xml"), to("json", "a.json"), to("pretty", "a.txt")];
    let (out, unwritten) = report(&chosen.each_ref().map(String::as_str), normal(), &events);
    assert_eq!(unwritten, [""; 0]);
    let pretty = printed("pretty", normal(), &events);
    assert_eq!(out, pretty);
    assert_eq!(fs::read_to_string(path("a.txt")).unwrap(), pretty);
    assert_eq!(fs::read_to_string(path("a.json")).unwrap(), printed("json", normal(), &events));
    assert_eq!(fs::read_to_string(path("a.xml")).unwrap(), printed("junit", normal(), &events));
}

#[test]
fn a_report_that_cannot_be_written_is_an_error_and_the_others_are_written() {
    let folder = tempfile::tempdir().unwrap();
    let missing = folder.path().join("no/a.json");
    let written = folder.path().join("a.xml");
    let chosen = [format!("json={}", missing.display()), format!("junit={}", written.display())];
    let (out, unwritten) = report(&chosen.each_ref().map(String::as_str), normal(), &[]);
    assert_eq!(out, "no tests\n");
    let [complaint] = &*unwritten else { panic!("{unwritten:?}") };
    let start = format!("error[report-not-written]: cannot write the report {}: ", missing.display());
    assert!(complaint.starts_with(&start) && complaint.ends_with("\nhint: create its folder first"), "{complaint}");
    assert_eq!(fs::read_to_string(written).unwrap(), printed("junit", normal(), &[]));
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
fn a_closed_output_is_an_error_unless_its_reader_closed_it() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.json");
    let chosen = [format!("json={}", path.display()).parse().unwrap()];
    let events = events();
    let full = report_to(&mut Closed(2, io::ErrorKind::StorageFull), &chosen, normal(), None, &events);
    assert_eq!(full, ["error[stdout-failed]: cannot write to standard output: closed"]);
    let piped = report_to(&mut Closed(2, io::ErrorKind::BrokenPipe), &chosen, normal(), None, &events);
    assert_eq!(piped, [""; 0]);
    assert_eq!(fs::read_to_string(path).unwrap(), printed("json", normal(), &events));
}

#[test]
fn an_unavailable_reporter_is_refused() {
    let refused = |typed: &str| typed.parse::<Choice>().unwrap_err().to_string();
    assert_eq!(refused("jsn=a"), "there is no reporter `jsn` (hint: did you mean `json`?)");
    assert_eq!(
        refused(""),
        "there is no reporter `` (hint: expected one of: pretty, json, ndjson, junit, github, markdown, html)"
    );
    assert_eq!(refused("junit="), "the path is missing (hint: `junit=PATH`, or `junit` alone for standard output)");
    let clash = |chosen: [&str; 2]| {
        let chosen = chosen.map(|typed| typed.parse().unwrap());
        Reporters::new(&chosen, normal(), Stream::new(&mut Vec::new())).err().map(|bad| bad.to_string())
    };
    assert_eq!(
        clash(["pretty", "json"]).unwrap(),
        "error[reporters-clash]: two reporters cannot share standard output: pretty and json\nhint: give one of them a file: --reporter json=PATH"
    );
    assert_eq!(
        clash(["json=a", "junit=a"]).unwrap(),
        "error[reporters-clash]: two reporters cannot share the file a: json and junit\nhint: write each to its own file"
    );
    assert_eq!(clash(["json", "junit=a"]), None);
}
