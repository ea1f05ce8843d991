//! Reports that cannot be made, written or read again.

use mcptest_core::diag::Code;

use super::{Entry, entry};

pub(super) static ENTRIES: [Entry; 4] = [
    entry(
        Code::ReportersClash,
        "Two reporters want one place",
        "error[reporters-clash]: two reporters cannot share standard output: json and junit",
        "A report goes to standard output or into a file of its own.",
        &["Give all but one a file: `--reporter junit=report.xml`."],
    ),
    entry(
        Code::ReportNotWritten,
        "A report cannot be written",
        "error[report-not-written]: cannot write the report no/such/r.xml: No such file or directory (os error 2)",
        "Everything was judged, and the file could not be made. The exit code is 2, so that no CI takes a missing report for a good \
         one.",
        &["Make its folder first, and see that it may be written to and has room."],
    ),
    entry(
        Code::NotAReport,
        "The file is not a saved report",
        "error[not-a-report]: ok.jsonl: is not a saved report: it has no `mcptest` with a version next to `suites`",
        "`mcptest report` and `--compare` read what `--reporter json` wrote. `ndjson`, JUnit and the lines of `mcptest score` are \
         something else.",
        &["Write one: `mcptest run --reporter json=run.json`."],
    ),
    entry(
        Code::StdoutFailed,
        "Standard output takes no more",
        "error[stdout-failed]: cannot write to standard output: No space left on device (os error 28)",
        "What reads the output has ended, or the disk that it goes to is full.",
        &["Make room, or write into a file on another disk."],
    ),
];
