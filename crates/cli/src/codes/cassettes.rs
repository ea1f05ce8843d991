//! Recorded runs that are missing, do not fit or cannot be written.

use mcptest_core::diag::Code;

use super::{Entry, entry};

pub(super) static ENTRIES: [Entry; 11] = [
    entry(
        Code::NoRecording,
        "A run was not recorded",
        "there is no recording of this run: cassettes/key/t/claude-sonnet-4-5/1.json",
        "`mcptest run` judges recordings and never asks a model by itself. This run has none: the test is new, was renamed, has \
         more runs than were recorded, or its cassette is not committed.",
        &[
            "Record it: `mcptest run --record FILE`. That asks the model and needs its key.",
            "Commit the folder `cassettes/`, so that CI can replay it.",
            "For a try without a recording there is `--live`; a model of `provider: script` needs neither.",
        ],
    ),
    entry(
        Code::StaleCassette,
        "The cassette is stale",
        "cassettes/ok/finds-it-48ae7370/demo/1.json: stale: `prompt` was \"Find the note.\" and is \"Find a note.\"",
        "The suite now asks for something else than when the run was recorded: another prompt, model, server, fault or limit. The \
         old run says nothing about the new question. Gates, `expect:`, tags and `runs` may change without a new recording.",
        &[
            "If the change is meant, record again: `mcptest run --record FILE`.",
            "If not, undo the change of the field that the message names.",
            "`mcptest cassette list` shows every cassette that no longer fits.",
        ],
    ),
    entry(
        Code::BrokenCassette,
        "A cassette cannot be read",
        "cassettes/ok/finds-it-48ae7370/demo/1.json: the file is truncated: line 10, column 17: EOF while parsing a value",
        "The file is not a whole cassette of this run: a merge left its marks in it, a copy was cut off, the file was moved (test, \
         model and run are in the file as well as in its path), or its `digest` is gone, which every recording has from format \
         version 2 on. Recording writes a file whole or not at all.",
        &[
            "Restore it from version control, or record again: `mcptest run --record FILE`.",
            "`mcptest cassette accept FILE` accepts a file without a digest as edited.",
        ],
    ),
    entry(
        Code::EditedCassette,
        "A cassette was edited",
        "cassettes/ok/finds-it-48ae7370/demo/1.json: was edited after it was recorded: its digest does not match",
        "A cassette is evidence of what a run did, and its digest vouches for that. This one says something else now: it was \
         edited, or a merge mixed two recordings. What somebody wrote must not pass for what an agent did.",
        &[
            "Restore the file from version control, or record the run again: `mcptest run --record FILE`.",
            "If the edit is meant, `mcptest cassette accept FILE` takes it over; reports say `edited` from then on.",
            "To try a gate on made-up traces use `mcptest score`.",
        ],
    ),
    entry(
        Code::InconsistentCassette,
        "A cassette contradicts itself",
        "cassettes/ok/finds-it-48ae7370/demo/1.json: contradicts itself: `trace.final_response` is not the text of the last \
         assistant turn, `trace.conversation.turns[3]`",
        "Some things are in a recording twice: the final response is the text of the last assistant turn, calls belong to turns \
         of the assistant and to servers of the test, and `tool_names` are the names of the calls. No run writes them so that they \
         disagree; an edit in one place does.",
        &[
            "Restore the file from version control, or record the run again: `mcptest run --record FILE`.",
            "To keep an edit, make it in both places; then `mcptest cassette accept FILE` takes it over.",
        ],
    ),
    entry(
        Code::RenamedTest,
        "A test was renamed, its cassettes were not",
        "there is no recording of this run: cassettes/key/u/claude-sonnet-4-5/1.json; `t`, which is no longer a test, was recorded with the same inputs",
        "Recordings are found by the name of their test. This test has none, but there is a recording that asked for the same under \
         a name that the suite does not have any more.",
        &[
            "If the test was renamed, keep its recordings: `mcptest cassette rename SUITE OLD NEW`.",
            "If it is another test, record it: `mcptest run --record SUITE`.",
        ],
    ),
    entry(
        Code::CassetteVersion,
        "A cassette is of another version of the format",
        "cassettes/ok/finds-it-48ae7370/demo/1.json: has format version 9, this program reads versions 1 to 2",
        "It was recorded by a version of the program that writes another format.",
        &["Use the same version everywhere, also in CI.", "Or record again with this one."],
    ),
    entry(
        Code::RecordingInProgress,
        "Another recording is in progress",
        "cassettes/ok: another recording is in progress",
        "Two recordings of one suite at the same time would mix their files. The lock goes with the process that holds it, also \
         when that is killed.",
        &["Wait until the other one is done, or end it."],
    ),
    entry(
        Code::UnusableCassetteFolder,
        "The folder of the cassettes cannot be used",
        "cassettes/ok: cannot be created: Not a directory (os error 20)",
        "Recordings are written below `cassettes/`, beside the suite. Something stands in the way: a file of that name, a folder \
         that may not be written to, or a full disk.",
        &[
            "See that the folder exists and may be written to.",
            "In a container, mount the folder of the suite so that it may be written to.",
        ],
    ),
    entry(
        Code::RecordingTooLarge,
        "A recording would be too much to read again",
        "cassettes/ok/finds-it-48ae7370/demo/1.json: not written, because it could not be read back",
        "A tool answered with more than a cassette may hold: 256 MiB, or values nested more than 128 levels deep. A recording that \
         cannot be replayed is not written.",
        &["Have the tools of this test answer with less: a smaller page, fewer fields."],
    )
    .unprovoked("replies of servers are bounded below that; the tests of recordings write one that is too deep"),
    entry(
        Code::UnusedCassette,
        "Cassettes that no test replays",
        "hint: to remove what is unused: mcptest cassette prune ok.yml",
        "Tests were renamed or removed, or have fewer runs now. The old recordings do no harm, and nobody looks at them.",
        &["`mcptest cassette prune FILE` shows what would go; `--yes` removes it."],
    ),
];
