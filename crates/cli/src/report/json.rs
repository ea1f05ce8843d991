//! The report for tools: one JSON object with sorted keys, from which every other report can be made.

use std::io::{self, BufWriter, Write};

use mcptest_core::json::Layout;
use mcptest_core::report::Report;

/// Writes the report piece by piece: it contains traces, and is never in memory as one text.
pub(super) fn write(report: &Report, out: &mut dyn Write) -> io::Result<()> {
    let mut out = BufWriter::new(out);
    Layout::PRETTY.write(report, &mut out)?;
    out.write_all(b"\n")?;
    out.flush()
}
