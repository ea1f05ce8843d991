//! The report for tools: one JSON object with sorted keys, from which every other face can be made again.
//!
//! Rows hold whole traces, so they are written one by one: no more than one of them exists as text at a time.

use std::io::{self, Write};

use mcptest_core::json::Layout;
use mcptest_core::report::{FORMAT, Report, SuiteReport};

/// Writes the report, laid out as `json::pretty` would lay out the whole.
pub(super) fn write(report: &Report, out: &mut dyn Write) -> io::Result<()> {
    let mut text = Layout::spread(1);
    write!(out, "{{\n  \"exit_code\": {},\n  \"mcptest\": {FORMAT},\n  \"notes\": ", report.exit_code())?;
    text.list(&report.notes, |out, note| note.write(out));
    out.write_all(text.take().as_bytes())?;
    out.write_all(b",\n  \"suites\": ")?;
    for (at, found) in report.suites.iter().enumerate() {
        out.write_all(if at == 0 { b"[\n    " } else { b",\n    " })?;
        suite(found, out)?;
    }
    out.write_all(if report.suites.is_empty() { b"[]" } else { b"\n  ]" })?;
    out.write_all(b",\n  \"totals\": ")?;
    report.totals.write(&mut text);
    out.write_all(text.take().as_bytes())?;
    out.write_all(b"\n}\n")
}

fn suite(suite: &SuiteReport, out: &mut dyn Write) -> io::Result<()> {
    let mut head = Layout::spread(2);
    head.object(|out| suite.write_head(out));
    // The object stays open for its rows.
    let head = head.take();
    let head = head.strip_suffix("\n    }").unwrap_or(&head);
    write!(out, "{head},\n      \"rows\": ")?;
    let mut text = Layout::spread(4);
    for (at, row) in suite.rows.iter().enumerate() {
        out.write_all(if at == 0 { b"[\n        " } else { b",\n        " })?;
        row.write(&mut text);
        out.write_all(text.text_so_far().as_bytes())?;
        text.clear();
    }
    out.write_all(if suite.rows.is_empty() { b"[]" } else { b"\n      ]" })?;
    out.write_all(b"\n    }")
}
