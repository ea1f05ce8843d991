//! The report for tools: one JSON object with sorted keys.
//!
//! Rows hold whole traces, so they are written one by one: no more than one of them exists as JSON at a time.

use std::io::{self, Write};

use mcptest_core::json;
use mcptest_core::report::{Report, SuiteReport, grid};
use serde::Serialize;

/// Version of the format. New keys may come; what is there keeps its meaning while this is the same.
const FORMAT: u32 = 1;

/// Writes the report, laid out as [`json::pretty`] would lay out the whole.
pub(super) fn write(report: &Report, out: &mut dyn Write) -> io::Result<()> {
    write!(out, "{{\n  \"exit_code\": {},\n  \"mcptest\": {FORMAT},\n  \"notes\": ", report.exit_code())?;
    value(&report.notes, 1, out)?;
    write!(out, ",\n  \"suites\": ")?;
    list(&report.suites, 1, out, suite)?;
    write!(out, ",\n  \"totals\": ")?;
    value(&report.totals, 1, out)?;
    out.write_all(b"\n}\n")
}

fn suite(suite: &SuiteReport, out: &mut dyn Write) -> io::Result<()> {
    write!(out, "{{\n      \"file\": ")?;
    value(&suite.file, 3, out)?;
    let grid = grid(&suite.rows);
    if !grid.is_empty() {
        write!(out, ",\n      \"grid\": ")?;
        value(&grid, 3, out)?;
    }
    if let Some(why) = &suite.refused {
        write!(out, ",\n      \"refused\": ")?;
        value(why, 3, out)?;
    }
    write!(out, ",\n      \"rows\": ")?;
    list(&suite.rows, 3, out, |row, out| value(row, 4, out))?;
    write!(out, "\n    }}")
}

/// A list whose bracket stands at `depth`, each item written by `item`.
fn list<T>(
    items: &[T],
    depth: usize,
    out: &mut dyn Write,
    item: impl Fn(&T, &mut dyn Write) -> io::Result<()>,
) -> io::Result<()> {
    if items.is_empty() {
        return write!(out, "[]");
    }
    let indent = "  ".repeat(depth + 1);
    for (at, found) in items.iter().enumerate() {
        write!(out, "{}\n{indent}", if at == 0 { "[" } else { "," })?;
        item(found, out)?;
    }
    write!(out, "\n{}]", "  ".repeat(depth))
}

/// A value that stands at `depth`. A line break inside a text is escaped, so every line of the layout may be moved.
fn value(value: &impl Serialize, depth: usize, out: &mut dyn Write) -> io::Result<()> {
    let text = json::pretty(&serde_json::to_value(value)?);
    let indent = "  ".repeat(depth);
    for (at, line) in text.lines().enumerate() {
        if at > 0 {
            write!(out, "\n{indent}")?;
        }
        out.write_all(line.as_bytes())?;
    }
    Ok(())
}
