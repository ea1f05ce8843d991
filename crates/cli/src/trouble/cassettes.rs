//! Recorded runs that are missing, do not fit or cannot be written.

use super::{Trouble, trouble};

pub(super) static TROUBLES: [Trouble; 13] = [
    trouble(
        "no-recording",
        "A run was not recorded",
        &["there is no recording of this run: …"],
        "there is no recording of this run: cassettes/key/t/claude-sonnet-4-5/1.json",
        "`mcptest run` judges recordings and never asks a model by itself. This run has none: the test is new, was renamed, has \
         more runs than were recorded, or its cassette is not committed.",
        &[
            "Record it: `mcptest run --record FILE`. That asks the model and needs its key.",
            "Commit the folder `cassettes/`, so that CI can replay it.",
            "For a try without a recording there is `--live`; a model of `provider: script` needs neither.",
        ],
    ),
    trouble(
        "stale-cassette",
        "The cassette is stale",
        &["stale: `…` was … and is …"],
        "cassettes/ok/finds-it-48ae7370/demo/1.json: stale: `prompt` was \"Find the note.\" and is \"Find a note.\"",
        "The suite now asks for something else than when the run was recorded: another prompt, model, server, fault or limit. The \
         old run says nothing about the new question. Gates, `expect:`, tags and `runs` may change without a new recording.",
        &[
            "If the change is meant, record again: `mcptest run --record FILE`.",
            "If not, undo the change of the field that the message names.",
            "`mcptest cassette list` shows every cassette that no longer fits.",
        ],
    ),
    trouble(
        "broken-cassette",
        "A cassette cannot be read",
        &[
            "the file is cut off: …",
            "lacks `mcptest`, the version: this is no cassette",
            "a cassette is an object, found …",
        ],
        "cassettes/ok/finds-it-48ae7370/demo/1.json: the file is cut off: line 10, column 17: EOF while parsing a value",
        "The file is no whole cassette: a merge left its marks in it, or a copy was cut off. Recording writes a file whole or not \
         at all.",
        &["Restore it from version control, or record again: `mcptest run --record FILE`."],
    ),
    trouble(
        "edited-cassette",
        "A cassette was edited",
        &["was edited after it was recorded: its digest does not match"],
        "cassettes/ok/finds-it-48ae7370/demo/1.json: was edited after it was recorded: its digest does not match",
        "A cassette is evidence of what a run did, and its digest vouches for that. This one says something else now: it was \
         edited, or a merge mixed two recordings. What somebody wrote must not pass for what an agent did.",
        &[
            "Restore the file from version control, or record the run again: `mcptest run --record FILE`.",
            "If the edit is meant, `mcptest cassette accept FILE` takes it over; reports say `edited` from then on.",
            "To try a gate on made-up traces use `mcptest score`.",
        ],
    ),
    trouble(
        "contradictory-cassette",
        "A cassette contradicts itself",
        &["contradicts itself: …"],
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
    trouble(
        "no-digest",
        "A cassette has no digest",
        &["lacks `digest`, which recordings have from format version 2 on", "has `digest` or `edited`, which format version 1 does not know"],
        "cassettes/ok/finds-it-48ae7370/demo/1.json: lacks `digest`, which recordings have from format version 2 on",
        "From format version 2 on a cassette has a digest of what was recorded. Without it nobody can tell whether the recording was \
         edited. Cassettes of version 1 replay, and a note says so.",
        &["Restore the file, or record the run again.", "`mcptest cassette accept FILE` takes the file over as edited."],
    ),
    trouble(
        "renamed-test",
        "A test was renamed, its cassettes were not",
        &["`…` was recorded with the same inputs, and is no test now"],
        "there is no recording of this run: cassettes/key/u/claude-sonnet-4-5/1.json; `t` was recorded with the same inputs, and is \
         no test now",
        "Recordings are found by the name of their test. This test has none, but there is a recording that asked for the same under \
         a name that the suite does not have any more.",
        &[
            "If the test was renamed, keep its recordings: `mcptest cassette rename SUITE OLD NEW`.",
            "If it is another test, record it: `mcptest run --record SUITE`.",
        ],
    ),
    trouble(
        "other-run",
        "A cassette holds another run",
        &["holds run … of `…` on `…`, not run … of `…` on `…`"],
        "cassettes/ok/finds-it-48ae7370/demo/1.json: holds run 1 of `finds more` on `demo`, not run 1 of `finds it` on `demo`",
        "The file was copied or renamed. Test, model and run stand in the file as well as in its path, and both have to agree.",
        &["Put the file back where it was, or record again."],
    ),
    trouble(
        "cassette-version",
        "A cassette is of another version of the format",
        &["has format version …, this program reads versions … to …"],
        "cassettes/ok/finds-it-48ae7370/demo/1.json: has format version 9, this program reads versions 1 to 2",
        "It was recorded by a version of the program that writes another format.",
        &["Use the same version everywhere, also in CI.", "Or record again with this one."],
    ),
    trouble(
        "recording-in-progress",
        "Another recording is in progress",
        &["another recording is in progress"],
        "cassettes/ok: another recording is in progress",
        "Two recordings of one suite at the same time would mix their files. The lock goes with the process that holds it, also \
         when that is killed.",
        &["Wait until the other one is done, or end it."],
    ),
    trouble(
        "cassette-folder",
        "The folder of the cassettes cannot be used",
        &["cannot be created: …", "cannot be written: …", "cannot be removed: …", "cannot be locked: …"],
        "cassettes/ok: cannot be created: Not a directory (os error 20)",
        "Recordings are written below `cassettes/`, beside the suite. Something stands in the way: a file of that name, a folder \
         that may not be written to, or a full disk.",
        &[
            "See that the folder exists and may be written to.",
            "In a container, mount the folder of the suite so that it may be written to.",
        ],
    ),
    trouble(
        "unkept-cassette",
        "A recording would be too much to read again",
        &["not written, because it could not be read again: …"],
        "cassettes/ok/finds-it-48ae7370/demo/1.json: not written, because it could not be read again",
        "A tool answered with more than a cassette may hold: 256 MiB, or values nested more than 128 levels deep. A recording that \
         cannot be replayed is not written.",
        &["Have the tools of this test answer with less: a smaller page, fewer fields."],
    )
    .unprovoked("replies of servers are bounded below that; the tests of recordings write one that is too deep"),
    trouble(
        "unused-cassette",
        "Cassettes that no test replays",
        &["to remove what is unused: mcptest cassette prune …"],
        "hint: to remove what is unused: mcptest cassette prune ok.yml",
        "Tests were renamed or removed, or have fewer runs now. The old recordings do no harm, and nobody looks at them.",
        &["`mcptest cassette prune FILE` shows what would go; `--yes` removes it."],
    ),
];
