//! Reports that cannot be made, written or read again.

use mcptest_core::diag::Code;

use super::{Entry, entry};

pub(super) static ENTRIES: [Entry; 6] = [
    entry(
        Code::ReportersClash,
        "Two reporters use the same output",
        "error[reporters-clash]: two reporters cannot share standard output: json and junit",
        "Each report needs its own output: standard output or a file.",
        &["Write all but one to a file: `--reporter junit=report.xml`."],
    ),
    entry(
        Code::ReportNotWritten,
        "A report cannot be written",
        "error[report-not-written]: cannot write the report no/such/r.xml: No such file or directory (os error 2)",
        "All tests were judged, but the file could not be written. The exit code is 2, so that CI does not mistake a missing \
         report for success.",
        &["Create its folder first, and check that it is writable and the disk has space."],
    ),
    entry(
        Code::NotAReport,
        "The file is not a saved report",
        "error[not-a-report]: ok.jsonl: is not a saved report: it does not have the keys `mcptest` (a version) and `suites`",
        "`mcptest report` and `--compare` read the output of `--reporter json`. The `ndjson` and JUnit reports and the lines \
         of `mcptest score` are different formats.",
        &["Write one: `mcptest run --reporter json=run.json`."],
    ),
    entry(
        Code::StdoutFailed,
        "Standard output cannot be written",
        "error[stdout-failed]: cannot write to standard output: No space left on device (os error 28)",
        "The disk that the output goes to is full, or the program that reads it has exited.",
        &["Free some space, or write to a file on another disk."],
    ),
    entry(
        Code::NotComparable,
        "A file cannot be compared",
        "error[not-comparable]: runs.txt: is neither a saved report, nor output of `mcptest score`, nor a model baseline: not a JSON object at line 1, column 1: expected value",
        "`mcptest compare` reads saved reports, folders of cassettes, the output of `mcptest score`, and model baselines of this \
         version.",
        &[
            "Save a run with `mcptest run --reporter json=FILE`, or score traces with `mcptest score TRACES > FILE`.",
            "Capture a baseline of another version again.",
        ],
    ),
    entry(
        Code::NothingToCompare,
        "Two sides have no test in common",
        "error[nothing-to-compare]: old.jsonl and new.jsonl have no test in common",
        "Tests are matched by suite, name and model, and if that fails by name alone. A comparison of nothing would always \
         look fine.",
        &["Compare runs of the same tests.", "Score both sides with the same `--group-by`."],
    ),
];
