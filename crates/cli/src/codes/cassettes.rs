//! Recorded runs that are missing, do not fit or cannot be written.

use mcptest_core::diag::Code;

use super::{Entry, entry};

pub(super) static ENTRIES: [Entry; 11] = [
    entry(
        Code::NoRecording,
        "A run was not recorded",
        "there is no recording of this run: cassettes/key/t/claude-sonnet-4-5/1.json",
        "`mcptest run` replays recordings and never calls a model. This run has no recording: the test is new or was renamed, \
         it has more runs than were recorded, or its cassette is not committed.",
        &[
            "Record it: `mcptest run --record FILE`. This calls the model and needs its API key.",
            "Commit `cassettes/` so that CI can replay it.",
            "To try the test without recording, use `--live`. A model with `provider: script` needs neither.",
        ],
    ),
    entry(
        Code::StaleCassette,
        "The cassette is stale",
        "cassettes/ok/finds-it-48ae7370/demo/1.json: stale: `prompt` was \"Find the note.\" and is \"Find a note.\"",
        "The suite has changed since the run was recorded: the prompt, the model, a server, a fault or a limit. The old \
         recording does not show how the agent handles the new inputs. Gates, `expect:`, tags and `runs` may change without a \
         new recording.",
        &[
            "If the change is intended, re-record: `mcptest run --record FILE`.",
            "Otherwise undo the change to the field that the message names.",
            "`mcptest cassette list` shows every stale cassette.",
        ],
    ),
    entry(
        Code::BrokenCassette,
        "A cassette cannot be read",
        "cassettes/ok/finds-it-48ae7370/demo/1.json: the file is truncated: line 10, column 17: EOF while parsing a value",
        "The file is not a complete cassette of this run: it has merge conflict markers, it was truncated, it was moved (test, \
         model and run are in the file as well as in its path), or it has no `digest`, which format version 2 requires. A \
         recording is written completely or not at all.",
        &[
            "Restore it from version control, or re-record: `mcptest run --record FILE`.",
            "`mcptest cassette accept FILE` accepts a file without a digest as edited.",
        ],
    ),
    entry(
        Code::EditedCassette,
        "A cassette was edited",
        "cassettes/ok/finds-it-48ae7370/demo/1.json: was edited after it was recorded: its digest does not match",
        "A cassette is evidence of what a run did, and its digest protects it. The digest of this file does not match: it was \
         edited, or a merge mixed two recordings. Edited text must not pass for recorded behavior.",
        &[
            "Restore the file from version control, or re-record the run: `mcptest run --record FILE`.",
            "If the edit is intended, accept it with `mcptest cassette accept FILE`. Reports say `edited` from then on.",
            "To try a gate on handwritten traces, use `mcptest score`.",
        ],
    ),
    entry(
        Code::InconsistentCassette,
        "A cassette contradicts itself",
        "cassettes/ok/finds-it-48ae7370/demo/1.json: contradicts itself: `trace.final_response` is not the text of the last \
         assistant turn, `trace.conversation.turns[3]`",
        "A recording states some facts twice: the final response is the text of the last assistant turn, every call belongs to \
         an assistant turn and to a server of the test, and `tool_names` lists the names of the calls. A recorded run is \
         always consistent; an edit in only one place is not.",
        &[
            "Restore the file from version control, or re-record the run: `mcptest run --record FILE`.",
            "To keep an edit, make it in both places and accept it with `mcptest cassette accept FILE`.",
        ],
    ),
    entry(
        Code::RenamedTest,
        "A test was renamed, its cassettes were not",
        "there is no recording of this run: cassettes/key/u/claude-sonnet-4-5/1.json; `t`, which is no longer a test, was recorded with the same inputs",
        "Recordings are found by test name. This test has none, but a recording with the same inputs exists under a name that \
         is no longer in the suite.",
        &[
            "If the test was renamed, keep its recordings: `mcptest cassette rename SUITE OLD NEW`.",
            "If it is another test, record it: `mcptest run --record SUITE`.",
        ],
    ),
    entry(
        Code::CassetteVersion,
        "A cassette has another format version",
        "cassettes/ok/finds-it-48ae7370/demo/1.json: has format version 9, this program reads versions 1 to 2",
        "It was recorded by a version of mcptest that writes another format, or one that kept less than `--rerun` needs.",
        &["Use the same version of mcptest everywhere, including CI.", "Or re-record with this version."],
    ),
    entry(
        Code::RecordingInProgress,
        "Another recording is in progress",
        "cassettes/ok: another recording is in progress",
        "Two recordings of one suite at the same time would mix their files. The lock is released when its process ends, even \
         if it is killed.",
        &["Wait until the other recording finishes, or stop it."],
    ),
    entry(
        Code::UnusableCassetteFolder,
        "The cassette folder cannot be used",
        "cassettes/ok: cannot be created: Not a directory (os error 20)",
        "Recordings are written to `cassettes/` next to the suite. That failed: there is a file with that name, the folder is \
         not writable, or the disk is full.",
        &[
            "Check that the folder exists and is writable.",
            "In a container, mount the folder of the suite as writable.",
        ],
    ),
    entry(
        Code::RecordingTooLarge,
        "A recording is too large to replay",
        "cassettes/ok/finds-it-48ae7370/demo/1.json: not written, because it could not be read back",
        "A tool result exceeds what a cassette may contain: 256 MiB, or values nested more than 128 levels deep. A recording \
         that cannot be replayed is not written.",
        &["Make the tools of this test return less: smaller pages, fewer fields."],
    )
    .unprovoked("replies of servers are bounded below that; the tests of recordings write one that is too deep"),
    entry(
        Code::UnusedCassette,
        "Cassettes are unused",
        "hint: to remove what is unused: mcptest cassette prune ok.yml",
        "Tests were renamed or removed, or have fewer runs than before. The old recordings are harmless, but nothing reads \
         them.",
        &["`mcptest cassette prune FILE` shows what would be removed; `--yes` removes it."],
    ),
];
