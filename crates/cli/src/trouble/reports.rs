//! Reports that cannot be made, written or read again.

use super::{Trouble, trouble};

pub(super) static TROUBLES: [Trouble; 5] = [
    trouble(
        "unknown-reporter",
        "There is no such reporter",
        &["there is no reporter `…`", "the path is missing"],
        "error: invalid value 'jsn' for '--reporter <NAME[=PATH]>': there is no reporter `jsn` (hint: did you mean `json`?)",
        "`--reporter` takes a name, and a path behind `=` to write into a file.",
        &[
            "Take one of pretty, json, ndjson, junit, github, markdown and html; `mcptest explain junit` says what each is for.",
        ],
    ),
    trouble(
        "reporters-clash",
        "Two reporters want one place",
        &["two reporters cannot share standard output: …", "two reporters cannot share the file …"],
        "error: two reporters cannot share standard output: json and junit",
        "A report goes to standard output or into a file of its own.",
        &["Give all but one a file: `--reporter junit=report.xml`."],
    ),
    trouble(
        "report-unwritten",
        "A report cannot be written",
        &["cannot write the report …"],
        "error: cannot write the report no/such/r.xml: No such file or directory (os error 2)",
        "Everything was judged, and the file could not be made. The exit code is 2, so that no CI takes a missing report for a good \
         one.",
        &["Make its folder first, and see that it may be written to and has room."],
    ),
    trouble(
        "not-a-report",
        "The file is no saved report",
        &["is no saved report: …", "is a saved report of version …, and this program reads version …"],
        "error: ok.jsonl: is no saved report: it has no `mcptest` with a version beside `suites`",
        "`mcptest report` and `--compare` read what `--reporter json` wrote. `ndjson`, JUnit and the lines of `mcptest score` are \
         something else.",
        &["Write one: `mcptest run --reporter json=run.json`."],
    ),
    trouble(
        "stdout-unwritable",
        "Standard output takes no more",
        &["cannot write to standard output: …", "standard output was closed before everything was scored"],
        "error: cannot write to standard output: No space left on device (os error 28)",
        "What reads the output has ended, or the disk that it goes to is full.",
        &["Make room, or write into a file on another disk."],
    ),
];
