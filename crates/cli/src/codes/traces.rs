//! Recordings of other programs that cannot be used.

use mcptest_core::diag::Code;

use super::{Entry, entry};

pub(super) static ENTRIES: [Entry; 18] = [
    entry(
        Code::NothingInferred,
        "There is nothing to infer gates from",
        "error[nothing-inferred]: no run passed",
        "`mcptest infer` writes gates that every good run passes. There is no good run, or the runs have nothing in common.",
        &[
            "Compare `--outcome` and `--outcome-pass` with a record: the path is that of the record as it is in its file.",
            "Runs of different tasks have little in common: `--group-by` infers gates for each task.",
        ],
    ),
    entry(
        Code::UnmetTask,
        "No record belongs to a task",
        "error[unmet-task]: tasks.yml:2: no record belongs to this task: {\"task\":{\"exact\":\"a\"}}",
        "The checks of the task were not applied to anything. Usually its `when:` has a typo, or the records changed. The lines \
         of all traces are printed regardless.",
        &[
            "Compare `when:` with a record: paths are those of the record as it is in its file.",
            "A task that some inputs lack is `optional: true`.",
            "If a corpus is scored in parts, a part may lack tasks. `mcptest score --merge` knows those of all parts.",
        ],
    ),
    entry(
        Code::TaskConflict,
        "Two tasks of a record have the same gate",
        "error[task-conflict]: ok.jsonl: byte 0: two tasks of this record have `trajectory`: lines 2 and 4 of the gates file",
        "All tasks whose `when:` matches apply to a record, and each of their gates replaces the same gate for all records. If two \
         of them have the same gate, it is not clear which one counts. The other records are still scored; the exit code is 2.",
        &["Make the `when:` of one task exclude the other.", "Or merge the two tasks."],
    ),
    entry(
        Code::UnknownFormat,
        "The format of a recording is unknown",
        "error[unknown-format]: unk.jsonl: byte 0: unknown format: an object with the keys x",
        "mcptest detects the format of a record by its keys. This record has none that are typical, or one of its messages has \
         a part that no format has.",
        &[
            "If you know the format, name it: `--from openai-chat`. Errors then say which part does not match and where.",
            "`mcptest score --help` lists the formats; `--verbose` shows how each was detected.",
            "Otherwise write envelopes: `mcptest explain tool_calls` describes them.",
        ],
    ),
    entry(
        Code::InvalidRecord,
        "A record has an unknown part",
        "error[invalid-record]: role.json: byte 0: messages[1].role must be \"user\" or \"assistant\", found \"robot\"",
        "A part that mcptest skips could be a call, and a missing call could turn a failure into a pass. So a record that is \
         not fully understood is not scored.",
        &[
            "Check the place that the message names.",
            "If the format was detected wrongly, name it with `--from`.",
            "The other records are still scored; the exit code is 2.",
        ],
    ),
    entry(
        Code::EmptyInput,
        "An input is empty",
        "error[empty-input]: empty.jsonl: byte 0: it is empty",
        "The input contains no traces. That would look like an input without failures, so it is an error.",
        &["Leave out the input, or check the program that should have written it."],
    ),
    entry(
        Code::TruncatedRecord,
        "A recording is truncated",
        "error[truncated-record]: cut.json: byte 0: the value that begins here is not closed",
        "The file ends, or something else follows, before an open bracket is closed.",
        &["Download or write the file again.", "If another program is still writing it, wait until it finishes."],
    ),
    entry(
        Code::NotARecord,
        "An input contains something that is not a record",
        "error[not-a-record]: notes.json: byte 0: a record is an object or a list, found `s`",
        "An input consists of JSON objects or lists, separated by white space only.",
        &["Check the byte that is named: it may be a log line, a comma between records, or another kind of file."],
    ),
    entry(
        Code::RecordTooLarge,
        "A record is larger than the limit",
        "error[record-too-large]: big.json: byte 0: the record has more than 1048576 bytes, the limit",
        "The largest record determines how much memory is needed, so there is a limit: 64 MiB, unless `--max-record` sets \
         another.",
        &["Raise it: `--max-record 256`.", "Check that records are separate values: one JSON value is one record."],
    ),
    entry(
        Code::DamagedArchive,
        "A compressed file is damaged",
        "error[damaged-archive]: cut.jsonl.gz: byte 11: the gzip data ends too early, after 11 decompressed bytes",
        "The file was truncated or changed after it was written. Everything before the damage is scored.",
        &["Download it again. `gzip -t FILE` or `zstd -t FILE` tests a file."],
    ),
    entry(
        Code::LatePiece,
        "Pieces of a trace are too far apart",
        "this piece of the trace 4bf92f3577b34da6a3ce929d0e0e4736 comes after the trace was closed",
        "Spans and session lines with the same key form one trace. If too much other data comes between two pieces, the trace \
         is considered complete.",
        &["Sort the file by trace, or split it, one file per day or service."],
    )
    .unprovoked("it takes an input of many megabytes; the tests of stitching do it with a small bound"),
    entry(
        Code::NoGroup,
        "A record belongs to no group",
        "error[no-group]: ok.jsonl: byte 0: `task` selects nothing in this record, so it belongs to no group",
        "`--group-by` is a path in the record as it is in the file, not in the converted envelope.",
        &["Check a record and fix the path, as in `metadata.task_id`."],
    ),
    entry(
        Code::GroupGateWithoutGroup,
        "A gate over runs has no group",
        "the record has no group, and `stability` and `reliability` judge groups of runs",
        "`stability` and `reliability` judge several runs of one task together, and nothing says which records belong \
         together.",
        &["Give the path that identifies the task: `--group-by task_id`.", "Or remove the gate from the file."],
    ),
    entry(
        Code::OutcomeWithoutGroup,
        "Outcomes are given, but there are no groups",
        "note[outcome-without-group]: outcomes are counted per group, and no record names a group",
        "`--outcome` gives the outcome of a run. It counts toward the pass rate of its group, and there is no group.",
        &["Add `--group-by`."],
    ),
    entry(
        Code::NoOutcome,
        "No record has an outcome",
        "error[no-outcome]: no record has a value at `x`",
        "`--outcome` is a path in the record as it is in the file, not in the converted envelope. It selects nothing in any \
         record, so no pass rate is known.",
        &["Check a record and fix the path, as in `reward_info.reward`."],
    ),
    entry(
        Code::StdoutInUse,
        "A report and the trace lines both use standard output",
        "error[stdout-in-use]: standard output is used for trace lines, so junit cannot use it too",
        "`mcptest score` prints one JSON line per trace to standard output.",
        &["Write the report to a file: `--reporter junit=report.xml`.", "Or omit the lines: `--output none`."],
    ),
    entry(
        Code::NotScoreOutput,
        "The input of a merge is not output of `mcptest score`",
        "error[not-score-output]: ok.jsonl: byte 0: it is not a line that `mcptest score` writes",
        "`--merge` combines complete outputs of `mcptest score` with groups.",
        &["Score each part with `--group-by`, and pass its complete output.", "The output of a merge cannot be merged again."],
    ),
    entry(
        Code::GatesMismatch,
        "Parts were judged by different gates",
        "it was not scored with the gates and the outcome of this merge",
        "A merge takes the verdicts of traces and the outcomes of runs from the lines of its parts. With different gates they would mean something else. Every line has a fingerprint of its gates, `rules`.",
        &["Use the same `--gates` and `--outcome` for every part and for the merge, or omit both everywhere."],
    ),
];
