//! The report for CI servers: `JUnit` XML, a testsuite per file and a testcase per row.
//!
//! A failed check is a `<failure>`, a run that could not be judged is an `<error>`. Times are the recorded ones, and the
//! report does not depend on when or where it is written. Only elements and attributes of the Jenkins schemas are used, in
//! their order; a test checks every report.

use std::io::{self, Write};
use std::path::Path;

use mcptest_core::diag::printable;
use mcptest_core::report::{Family, Report, Row, RowVerdict, SuiteReport, Totals};
use quick_xml::Writer;
use quick_xml::events::{BytesDecl, BytesText, Event};

use super::detail::{explain, reason};
use super::style::WIDTH;

type Xml<'a> = Writer<&'a mut dyn Write>;

/// How many testcases there are of each kind.
struct Counts {
    tests: usize,
    failures: usize,
    errors: usize,
    skipped: usize,
}

impl Counts {
    /// A file that could not be used is its own testcase.
    fn new(totals: &Totals, refused: usize, allows_inconclusive: bool) -> Self {
        let (allowed, inconclusive) =
            if allows_inconclusive { (totals.inconclusive, 0) } else { (0, totals.inconclusive) };
        Self {
            tests: totals.rows() + refused,
            failures: totals.fail + totals.unassessable + inconclusive,
            errors: totals.error + refused,
            // CI servers only know passes, failures and skips, and a run that was not judged must not count as a pass.
            skipped: totals.skipped + totals.unjudged + allowed,
        }
    }
}

pub(super) fn write(report: &Report, out: &mut dyn Write) -> io::Result<()> {
    let mut xml: Xml<'_> = Writer::new_with_indent(out, b' ', 4);
    xml.write_event(Event::Decl(BytesDecl::new("1.0", Some("UTF-8"), None)))?;
    let Counts { tests, failures, errors, .. } =
        Counts::new(&report.totals, report.refused, report.allows_inconclusive);
    let root = xml.create_element("testsuites").with_attributes([
        ("name", "mcptest"),
        ("tests", &tests.to_string()),
        ("failures", &failures.to_string()),
        ("errors", &errors.to_string()),
    ]);
    if report.suites.is_empty() {
        root.write_empty()?;
    } else {
        let allows = report.allows_inconclusive;
        root.write_inner_content(|xml| report.suites.iter().try_for_each(|found| suite(found, allows, xml)))?;
    }
    out.write_all(b"\n")
}

fn suite(suite: &SuiteReport, allows_inconclusive: bool, xml: &mut Xml<'_>) -> io::Result<()> {
    let mut totals = Totals::default();
    for row in &suite.rows {
        totals.count(row.verdict);
    }
    let refused = usize::from(suite.refused.is_some());
    let Counts { tests, failures, errors, skipped } = Counts::new(&totals, refused, allows_inconclusive);
    let mut element = xml.create_element("testsuite").with_attributes([
        ("name", &*legal(&suite.file)),
        ("tests", &tests.to_string()),
        ("failures", &failures.to_string()),
        ("errors", &errors.to_string()),
        ("skipped", &skipped.to_string()),
    ]);
    // Gates over runs have no time of their own: it is already counted in the rows of the runs.
    let runs = suite.rows.iter().filter(|row| row.family == Family::Run);
    if let Some(ms) = runs.filter_map(|row| row.duration_ms).reduce(u64::saturating_add) {
        element = element.with_attribute(("time", &*seconds(ms)));
    }
    if tests == 0 {
        return element.write_empty().map(drop);
    }
    let class = legal(&Path::new(&suite.file).with_extension("").to_string_lossy());
    element
        .write_inner_content(|xml| {
            if let Some(why) = &suite.refused {
                let case = xml
                    .create_element("testcase")
                    .with_attributes([("name", &*legal(&suite.file)), ("classname", &*class)]);
                case.write_inner_content(|xml| {
                    let error = xml
                        .create_element("error")
                        .with_attributes([("message", "the suite could not be used"), ("type", "refused")]);
                    error.write_text_content(BytesText::new(&body(why.lines()))).map(drop)
                })?;
            }
            suite.rows.iter().try_for_each(|row| case(row, &suite.file, &class, allows_inconclusive, xml))
        })
        .map(drop)
}

fn case(row: &Row, file: &str, class: &str, allows_inconclusive: bool, xml: &mut Xml<'_>) -> io::Result<()> {
    let mut element =
        xml.create_element("testcase").with_attributes([("name", &*legal(&row.name)), ("classname", class)]);
    if let Some(ms) = row.duration_ms {
        element = element.with_attribute(("time", &*seconds(ms)));
    }
    let (name, first) = match row.verdict {
        RowVerdict::Skipped | RowVerdict::Unjudged => {
            return element.write_inner_content(|xml| xml.create_element("skipped").write_empty().map(drop)).map(drop);
        }
        RowVerdict::Pass => ("system-out", None),
        RowVerdict::Absorbed => ("system-out", Some("this run failed; `reliability` judges how many may")),
        RowVerdict::Inconclusive if allows_inconclusive => {
            let reason = legal(&format!("inconclusive, which is allowed: {}", reason(row)));
            return element
                .write_inner_content(|xml| {
                    xml.create_element("skipped").with_attribute(("message", &*reason)).write_empty().map(drop)
                })
                .map(drop);
        }
        RowVerdict::Fail | RowVerdict::Inconclusive | RowVerdict::Unassessable => ("failure", None),
        RowVerdict::Error => ("error", None),
    };
    let lines = explain(row, file, WIDTH);
    let lines = lines.iter().map(super::detail::Line::plain);
    let origin = Some(row.source()).filter(|source| !source.is_empty()).map(|source| format!("origin: {source}"));
    let text = body(first.map(str::to_owned).into_iter().chain(lines).chain(origin));
    if text.is_empty() && name == "system-out" {
        return element.write_empty().map(drop);
    }
    element
        .write_inner_content(|xml| {
            let mut element = xml.create_element(name);
            if name != "system-out" {
                element = element.with_attributes([("message", &*legal(&reason(row))), ("type", row.verdict.as_str())]);
            }
            element.write_text_content(BytesText::new(&text)).map(drop)
        })
        .map(drop)
}

fn seconds(ms: u64) -> String {
    format!("{}.{:03}", ms / 1000, ms % 1000)
}

/// Lines of text, each legal.
fn body(lines: impl IntoIterator<Item = impl AsRef<str>>) -> String {
    lines.into_iter().map(|line| legal(line.as_ref())).collect::<Vec<_>>().join("\n")
}

/// A line that XML can contain, with control characters escaped.
fn legal(line: &str) -> String {
    let mut out = String::with_capacity(line.len());
    for c in printable(line).chars() {
        match c {
            '\t' => out.push(' '),
            // Not control characters, but not allowed in XML either.
            '\u{fffe}' | '\u{ffff}' => out.extend(c.escape_unicode()),
            _ => out.push(c),
        }
    }
    out
}
