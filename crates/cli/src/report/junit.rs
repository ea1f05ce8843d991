//! The report for CI servers: `JUnit` XML, a testsuite per file and a testcase per row.
//!
//! "Said no" is a `<failure>`, "could not run" an `<error>`. Times are the recorded ones and nothing else depends on when
//! or where a report is made.

use std::io::{self, Write};
use std::path::Path;
use std::time::Duration;

use mcptest_core::diag::printable;
use mcptest_core::report::{Family, Report, Row, RowVerdict, SuiteReport};
use quick_junit::{NonSuccessKind, TestCase, TestCaseStatus, TestSuite};

use super::detail::explain;
use super::text::one_line;

/// Writes the report.
pub(super) fn write(report: &Report, out: &mut dyn Write) -> io::Result<()> {
    let mut document = quick_junit::Report::new("mcptest");
    document.add_test_suites(report.suites.iter().map(suite));
    document.serialize(out).map_err(io::Error::other)
}

fn suite(suite: &SuiteReport) -> TestSuite {
    let mut out = TestSuite::new(legal(&suite.file));
    let class = legal(&Path::new(&suite.file).with_extension("").to_string_lossy());
    if let Some(why) = &suite.refused {
        let mut status = TestCaseStatus::non_success(NonSuccessKind::Error);
        status.set_type("refused").set_message("the suite could not be used").set_description(body(why.lines()));
        let mut case = TestCase::new(legal(&suite.file), status);
        case.set_classname(&class);
        out.add_test_case(case);
    }
    for row in &suite.rows {
        out.add_test_case(case(row, &suite.file, &class));
    }
    // Rows of gates are about runs that have rows of their own: their time is not spent twice.
    let runs = suite.rows.iter().filter(|row| row.family == Family::Run);
    if let Some(ms) = runs.filter_map(|row| row.duration_ms).reduce(u64::saturating_add) {
        out.set_time(Duration::from_millis(ms));
    }
    out
}

fn case(row: &Row, file: &str, class: &str) -> TestCase {
    let details = || {
        let lines = explain(row, file);
        body(lines.iter().map(|line| format!("{}{}", "  ".repeat(line.depth), line.text)))
    };
    let status = match row.verdict {
        RowVerdict::Pass | RowVerdict::Absorbed => TestCaseStatus::success(),
        RowVerdict::Skipped => {
            let mut status = TestCaseStatus::skipped();
            if let Some(why) = &row.error {
                status.set_message(legal(&one_line(&why.message)));
            }
            status
        }
        RowVerdict::Fail | RowVerdict::Unassessable | RowVerdict::Error => {
            let kind = if row.verdict == RowVerdict::Error { NonSuccessKind::Error } else { NonSuccessKind::Failure };
            let mut status = TestCaseStatus::non_success(kind);
            status.set_type(row.verdict.as_str()).set_message(legal(&message(row))).set_description(details());
            status
        }
    };
    let mut case = TestCase::new(legal(&row.name), status);
    case.set_classname(class);
    if let Some(ms) = row.duration_ms {
        case.set_time(Duration::from_millis(ms));
    }
    case.add_property(("family", row.family.as_str()));
    if let Some(origin) = row.origin {
        case.add_property(("origin", origin.as_str()));
    }
    match row.verdict {
        RowVerdict::Absorbed => {
            case.set_system_out(format!("this run failed; `reliability` judges how many may\n{}", details()));
        }
        RowVerdict::Pass if !row.checks.is_empty() || !row.receipts.is_empty() => {
            case.set_system_out(details());
        }
        _ => {}
    }
    case
}

/// The first thing that is wrong, on one line.
fn message(row: &Row) -> String {
    if let Some(trouble) = &row.error {
        return one_line(&trouble.message);
    }
    let worst = row.checks.iter().find(|checked| RowVerdict::from(checked.verdict) == row.verdict);
    worst.map_or_else(String::new, |checked| {
        let why = checked.failures.first().map_or(&checked.line, |failure| &failure.reason);
        format!("{}: {}", checked.name, one_line(why))
    })
}

/// Lines of text, each legal.
fn body(lines: impl Iterator<Item = impl AsRef<str>>) -> String {
    lines.map(|line| legal(line.as_ref())).collect::<Vec<_>>().join("\n")
}

/// A line that XML may hold. Control characters are shown by their code here, because the writer would remove them, and
/// with them what they try to hide. It would also remove tabs.
fn legal(line: &str) -> String {
    let mut out = String::with_capacity(line.len());
    for c in printable(line).chars() {
        match c {
            '\t' => out.push(' '),
            // No control characters, and yet no characters of XML either.
            '\u{fffe}' | '\u{ffff}' => out.extend(c.escape_unicode()),
            _ => out.push(c),
        }
    }
    out
}
