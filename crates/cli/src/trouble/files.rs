//! Files that cannot be used, and tests that are not found.

use super::{Trouble, trouble};

pub(super) static TROUBLES: [Trouble; 14] = [
    trouble(
        "no-such-file",
        "There is no such file or folder",
        &["there is no such file or folder"],
        "error: nope.yml: there is no such file or folder",
        "Paths are taken from the current folder. A link that leads nowhere counts as no file.",
        &["Take the name that the hint suggests, or run the command from another folder."],
    ),
    trouble(
        "no-permission",
        "A file may not be read",
        &["may not be read"],
        "error: tests/weather.yml: may not be read",
        "The file is there, and the user who runs the command has no right to read it.",
        &["Check the permissions of the file and of its folders."],
    )
    .unprovoked("whoever runs tests as the superuser may read every file"),
    trouble(
        "not-utf8",
        "A file is not UTF-8",
        &["is not UTF-8", "it is UTF-16"],
        "error: latin.yml: is not UTF-8: byte 8 (0xe9), on line 1",
        "Files are read as UTF-8. Some editors and shells of Windows save UTF-16 or the character set of a country.",
        &["Save the file as UTF-8."],
    ),
    trouble(
        "file-too-large",
        "A file is too large",
        &["has more than … bytes, the limit", "the file has … bytes, more than the limit of …"],
        "error: large.yml: has more than 16777216 bytes, the limit",
        "A suite is written by people and has up to 16 MiB. Something else has probably been named.",
        &["Name the right file, or split it into several.", "Recordings are judged with `mcptest score`, which has no such limit."],
    ),
    trouble(
        "empty-folder",
        "A folder holds no file that fits",
        &[
            "no .yml or .yaml file in this folder or below it",
            "no .json, .jsonl or .ndjson file in this folder or below it",
            "no suite in this folder or below it",
        ],
        "error: empty: no .yml or .yaml file in this folder or below it",
        "Of a folder all files below it are taken that end as suites or recordings do; hidden files and folders are left out. \
         Scripts and mock servers have no tests and are no suites.",
        &["Name another folder, or the file itself."],
    ),
    trouble(
        "not-a-suite",
        "The file is something else",
        &[
            "is a script, which says what a model answers, and no suite",
            "describes a mock server, and is no suite",
            "holds gates for traces that were recorded elsewhere, and is no suite",
            "this is a suite, not a mock server",
            "the file has no `mock_server` and no tools, found …",
        ],
        "error: demo.yml: is a script, which says what a model answers, and no suite",
        "Files are told apart by the keys at their root: `agents:` is a suite, `script:` what a model answers, `mock_server:` a \
         mock server, and gates alone are for `mcptest score`.",
        &["Name the file that the command takes, as the hint says.", "`mcptest validate` takes all four."],
    ),
    trouble(
        "shared-cassettes",
        "Two suites would share their recordings",
        &["has its cassettes in the same folder as …"],
        "error: ok.yml: has its cassettes in the same folder as ok.yaml",
        "The recordings of a suite lie in `cassettes/` below the name of the file without its ending. Two files that differ in \
         the ending alone would overwrite each other's.",
        &["Give one of the two another name."],
    ),
    trouble(
        "no-suite-named",
        "No suite was named",
        &["no suite was named, and there is no mcptest.yaml or mcptest.yml in the current folder"],
        "error: no suite was named, and there is no mcptest.yaml or mcptest.yml in the current folder",
        "Without a file or a folder the command looks for `mcptest.yaml` and `mcptest.yml` where it is started, and nowhere else.",
        &["Name a file or a folder: `mcptest run tests/`.", "Or make a first suite with `mcptest init`."],
    ),
    trouble(
        "nothing-selected",
        "Nothing is selected",
        &["nothing is selected: …", "nothing to run: the suites have no tests"],
        "error: nothing is selected: the one test there is does not fit --tag smoke",
        "No test fits `--filter`, `--tag`, `--skip-tag` and `--models` together. A run of no tests would look like a success, so \
         it is an error.",
        &["`mcptest run --list` without these options shows every test with its name.", "Correct the option that fits nothing."],
    ),
    trouble(
        "empty-share",
        "A share of the tests is empty",
        &["share … is empty: every selected test is in another one"],
        "note: share 2/2 is empty: every selected test is in another one",
        "`--partition` puts tests into shares by their names, so that a new test moves no other. With few tests a share can stay \
         empty; that is no failure.",
        &["Use fewer shares, or leave it: the exit code is 0."],
    ),
    trouble(
        "bad-option",
        "An option cannot be understood",
        &[
            "it would select every test",
            "what stands between the slashes is no pattern",
            "there is no share … of …",
            "it takes two whole numbers, as in `1/3`",
            "shares count from 1",
            "tests cannot be split into 0 shares",
            "it takes a number above 0, as in `2.50`",
            "unexpected argument …found",
            "unrecognized subcommand",
        ],
        "error: invalid value '4/3' for '--partition <I/N>': there is no share 4 of 3 (hint: the last is `3/3`)",
        "The command line has a word or a value that means nothing there.",
        &["Do what the hint says; `mcptest COMMAND --help` shows every option with examples."],
    ),
    trouble(
        "reading-failed",
        "A file cannot be read to its end",
        &["cannot be read: …"],
        "error: tests: cannot be read: Is a directory (os error 21)",
        "The system refused to give the bytes of the file: a broken disk, a network share that is gone, or something that is no \
         file.",
        &["Check the path, and read the file with another program."],
    )
    .unprovoked("it takes a disk or a network that fails"),
    trouble(
        "needs-trust",
        "A test of a stranger needs what --untrusted does not do",
        &[
            "`--untrusted` starts no server and asks no model",
            "it depends on the environment, which `--untrusted` does not read: …",
            "it is outside of the folder of the suite, where `--untrusted` reads nothing",
            "it is outside of the folder of the suite, and is not read",
        ],
        "it depends on the environment, which `--untrusted` does not read: `${CITY}`",
        "With `--untrusted` suites are those of strangers: what was recorded is judged, and nothing else is done. This test has no \
         recording, or something outside of its folder has a say in it.",
        &[
            "Record the test and commit its cassettes.",
            "Set the value under `variables:`, or write a default: `${CITY:-Oslo}`. Put the script beside the suite.",
            "Leave `--untrusted` out only where everybody who can change the suite may run programs on this machine.",
        ],
    ),
    trouble(
        "symbolic-link",
        "A symbolic link is not followed",
        &[
            "is a symbolic link, and none is followed here",
            "it is a symbolic link, and reports are not written through one",
        ],
        "error: link.yml: cannot be read: `link.yml` is a symbolic link, and none is followed here",
        "A link can lead to any file of the machine. With `--untrusted` none is followed, and reports are never written through \
         one, because whoever puts a link there would choose the file that is replaced.",
        &["Put the file itself in the place of the link.", "Name the place that the link leads to."],
    ),
];
