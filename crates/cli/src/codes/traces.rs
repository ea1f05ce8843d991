//! Recordings of other programs that cannot be used.

use mcptest_core::diag::Code;

use super::{Entry, entry};

pub(super) static ENTRIES: [Entry; 14] = [
    entry(
        Code::UnknownFormat,
        "The format of a recording is not known",
        "error[unknown-format]: unk.jsonl: byte 0: unknown format: an object with the keys x",
        "The format of a record is told by its keys. This one has none that are typical, or one of its messages has a part that no \
         format has.",
        &[
            "If you know the format, name it: `--from openai-chat`. What does not fit is then told with its place.",
            "`mcptest score --help` lists the formats; `--verbose` says how each was found out.",
            "Otherwise write envelopes: `mcptest explain tool_calls` says what they hold.",
        ],
    ),
    entry(
        Code::InvalidRecord,
        "A record has something that is not understood",
        "error[invalid-record]: role.json: byte 0: messages[1].role must be \"user\" or \"assistant\", found \"robot\"",
        "A part that is skipped could have been a call, and a call that is left out could turn a failure into a pass. So a record \
         that is not understood whole is not scored.",
        &[
            "Look at the place that the message names.",
            "`--from` names the format, where a wrong one was assumed.",
            "The other records are scored all the same, and the exit code is 2.",
        ],
    ),
    entry(
        Code::EmptyInput,
        "An input is empty",
        "error[empty-input]: empty.jsonl: byte 0: it is empty",
        "Nothing was written there. A corpus without traces would look like one without failures, so it is an error.",
        &["Leave the input out, or look at what should have written it."],
    ),
    entry(
        Code::TruncatedRecord,
        "A recording is cut off",
        "error[truncated-record]: cut.json: byte 0: the value that begins here is not closed",
        "The file ends, or something else follows, before a bracket that was opened is closed.",
        &["Fetch or write the file again.", "One that is still being written can be scored when it is done."],
    ),
    entry(
        Code::NotARecord,
        "Something that is no record stands in an input",
        "error[not-a-record]: notes.json: byte 0: a record is an object or a list, found `s`",
        "An input holds JSON objects or lists, one after another with nothing but white space between them.",
        &["Look at the byte that is named: a log line, a comma between records, or a file of another kind."],
    ),
    entry(
        Code::RecordTooLarge,
        "A record is larger than the limit",
        "error[record-too-large]: big.json: byte 0: the record has more than 1048576 bytes, the limit",
        "Memory is bounded by the largest record, so there is a limit: 64 MiB unless `--max-record` says otherwise.",
        &["Raise it: `--max-record 256`.", "See that records are separate: one JSON value of everything is one record."],
    ),
    entry(
        Code::DamagedArchive,
        "A packed file is damaged",
        "error[damaged-archive]: cut.jsonl.gz: byte 11: the gzip data ends too early, after 11 decompressed bytes",
        "The file was cut off or changed when it was written or moved. What came before is scored.",
        &["Fetch it again; `gzip -t FILE` and `zstd -t FILE` test a whole file."],
    ),
    entry(
        Code::LatePiece,
        "Pieces of a trace lie too far apart",
        "this piece of the trace 4bf92f3577b34da6a3ce929d0e0e4736 comes after the trace was closed",
        "Spans and session lines are put together by the key they share. When too much else lies between two pieces of a trace, it \
         is taken for whole.",
        &["Sort the file by trace, or split it, one file per day or service."],
    )
    .unprovoked("it takes an input of many megabytes; the tests of stitching do it with a small bound"),
    entry(
        Code::NoGroup,
        "A record belongs to no group",
        "error[no-group]: ok.jsonl: byte 0: `task` selects nothing in this record, so it belongs to no group",
        "`--group-by` is a path in the record as it stands in the file, not in the envelope that is made of it.",
        &["Look at one record and correct the path, as in `metadata.task_id`."],
    ),
    entry(
        Code::GroupGateWithoutGroup,
        "A gate over runs has no group to judge",
        "the record names no group, and this gate judges groups of runs",
        "`stability` and `reliability` judge several runs of one task together, and nothing says which records those are.",
        &["Name the path that tells the task: `--group-by task_id`.", "Or take the gate out of the file."],
    ),
    entry(
        Code::OutcomeWithoutGroup,
        "Outcomes are given, and there are no groups",
        "note[outcome-without-group]: outcomes are counted per group, and no record names a group",
        "`--outcome` says how a run ended; it counts for the pass rate of its group, and there is no group.",
        &["Add `--group-by`."],
    ),
    entry(
        Code::StdoutInUse,
        "A report and the lines of traces both want standard output",
        "error[stdout-in-use]: standard output is used for trace lines, so junit cannot use it too",
        "`mcptest score` prints one JSON line per trace there.",
        &["Give the report a file: `--reporter junit=report.xml`.", "Or leave the lines out: `--output none`."],
    ),
    entry(
        Code::NotScoreOutput,
        "What should be merged was not written by `mcptest score`",
        "error[not-score-output]: ok.jsonl: byte 0: it is not a line that `mcptest score` writes",
        "`--merge` puts outputs of `mcptest score` together, whole and with groups.",
        &["Score each part with `--group-by` and keep all of its output.", "What a merge printed cannot be merged again."],
    ),
    entry(
        Code::GatesMismatch,
        "Parts were judged by other gates than the merge",
        "it was not scored with the gates and the outcome of this merge",
        "Outcomes of runs are taken from the lines of the parts. Judged by other gates they would mean something else.",
        &["Give every part and the merge the same `--gates` and `--outcome`, or none of them any."],
    ),
];
