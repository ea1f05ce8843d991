//! Files that cannot be used, and tests that are not found.

use mcptest_core::diag::Code;

use super::{Entry, entry};

pub(super) static ENTRIES: [Entry; 17] = [
    entry(
        Code::NoSuchFile,
        "There is no such file or folder",
        "error[no-such-file]: nope.yml: no such file or folder",
        "Paths are taken from the current folder. A link that leads nowhere counts as no file.",
        &["Take the name that the hint suggests, or run the command from another folder."],
    ),
    entry(
        Code::PermissionDenied,
        "A file may not be read",
        "error[permission-denied]: tests/weather.yml: may not be read",
        "The file is there, and the user who runs the command has no right to read it.",
        &["Check the permissions of the file and of its folders."],
    )
    .unprovoked("whoever runs tests as the superuser may read every file"),
    entry(
        Code::NotUtf8,
        "A file is not UTF-8",
        "error[not-utf8]: latin.yml: is not UTF-8: byte 8 (0xe9), on line 1",
        "Files are read as UTF-8. Some editors and shells of Windows save UTF-16 or the character set of a country.",
        &["Save the file as UTF-8."],
    ),
    entry(
        Code::FileTooLarge,
        "A file is too large",
        "error[file-too-large]: large.yml: has more than 16777216 bytes, the limit",
        "A suite is written by people and has up to 16 MiB. Something else has probably been named.",
        &["Name the right file, or split it into several.", "Recordings are judged with `mcptest score`, which has no such limit."],
    ),
    entry(
        Code::EmptyFolder,
        "A folder holds no file that fits",
        "error[empty-folder]: empty: no .yml or .yaml file in this folder or below it",
        "Of a folder all files below it are taken that end as suites or recordings do; hidden files and folders are left out. \
         Scripts and mock servers have no tests and are no suites.",
        &["Name another folder, or the file itself."],
    ),
    entry(
        Code::NotASuite,
        "The file is something else",
        "error[not-a-suite]: demo.yml: is a script, which says what a model answers, and no suite",
        "Files are told apart by the keys at their root: `agents:` is a suite, `script:` what a model answers, `mock_server:` a \
         mock server, and gates alone are for `mcptest score`.",
        &["Name the file that the command takes, as the hint says.", "`mcptest validate` takes all four."],
    ),
    entry(
        Code::SharedCassettes,
        "Two suites would share their recordings",
        "error[shared-cassettes]: ok.yml: has its cassettes in the same folder as ok.yaml",
        "The recordings of a suite lie in `cassettes/` below the name of the file without its ending. Two files that differ in \
         the ending alone would overwrite each other's.",
        &["Give one of the two another name."],
    ),
    entry(
        Code::NoSuiteNamed,
        "No suite was named",
        "error[no-suite-named]: no suite was named, and there is no mcptest.yaml or mcptest.yml in the current folder",
        "Without a file or a folder the command looks for `mcptest.yaml` and `mcptest.yml` where it is started, and nowhere else.",
        &["Name a file or a folder: `mcptest run tests/`.", "Or make a first suite with `mcptest init`."],
    ),
    entry(
        Code::NothingSelected,
        "Nothing is selected",
        "error[nothing-selected]: nothing is selected: the one test there is does not fit --tag smoke",
        "No test fits `--filter`, `--tag`, `--skip-tag` and `--models` together. A run of no tests would look like a success, so \
         it is an error.",
        &["`mcptest run --list` without these options shows every test with its name.", "Correct the option that fits nothing."],
    ),
    entry(
        Code::EmptyPartition,
        "A share of the tests is empty",
        "note: share 2/2 is empty: every selected test is in another one",
        "`--partition` puts tests into shares by their names, so that a new test moves no other. With few tests a share can stay \
         empty; that is no failure.",
        &["Use fewer shares, or leave it: the exit code is 0."],
    ),
    entry(
        Code::BadArgument,
        "An option cannot be understood",
        "error[bad-argument]: invalid value '4/3' for '--partition <I/N>': there is no share 4 of 3 (hint: the last is `3/3`)",
        "The command line has a word or a value that means nothing there.",
        &["Do what the hint says; `mcptest COMMAND --help` shows every option with examples."],
    ),
    entry(
        Code::ReadFailed,
        "A file cannot be read to its end",
        "error[read-failed]: tests: cannot be read: Is a directory (os error 21)",
        "The system refused to give the bytes of the file: a broken disk, a network share that is gone, or something that is no \
         file.",
        &["Check the path, and read the file with another program."],
    )
    .unprovoked("it takes a disk or a network that fails"),
    entry(
        Code::UntrustedSuite,
        "A test of a stranger needs what --untrusted does not do",
        "it depends on environment variables, which `--untrusted` does not read: `${CITY}`",
        "With `--untrusted` suites are those of strangers: what was recorded is judged, and nothing else is done. This test has no \
         recording, or something outside of its folder has a say in it.",
        &[
            "Record the test and commit its cassettes.",
            "Set the value under `variables:`, or write a default: `${CITY:-Oslo}`. Put the script beside the suite.",
            "Leave `--untrusted` out only where everybody who can change the suite may run programs on this machine.",
        ],
    ),
    entry(
        Code::SymbolicLink,
        "A symbolic link is not followed",
        "error[symbolic-link]: link.yml: cannot be read: `link.yml` is a symbolic link, and links are not followed here",
        "A link can lead to any file of the machine. With `--untrusted` none is followed, and reports are never written through \
         one, because whoever puts a link there would choose the file that is replaced.",
        &["Put the file itself in the place of the link.", "Name the place that the link leads to."],
    ),
    entry(
        Code::FileExists,
        "A file already exists",
        "error[file-exists]: mcptest.yml already exists, and nothing is overwritten",
        "`mcptest init` never overwrites a file. `mcptest.yaml` counts too, because `mcptest run` would find both.",
        &["Name another folder: `mcptest init tests/first`.", "Or move the existing file."],
    ),
    entry(
        Code::FileNotWritten,
        "A file cannot be written",
        "error[file-not-written]: taken/mcptest.yml cannot be written: its folder is a file",
        "The folder does not exist or is not writable, or the disk is full. Nothing is left half-written.",
        &["Check the path, its permissions and the free space, or name another folder."],
    ),
    entry(
        Code::RunStopped,
        "The command was stopped",
        "error[run-stopped]: stopped: the runs did not end in time",
        "The command received Ctrl-C or SIGTERM. The first signal lets runs end and reports be written, for five seconds. The \
         second one ends everything at once.",
        &["Run the command again.", "If CI stopped the job, raise its time limit, or split the tests with `--partition`."],
    )
    .unprovoked("it takes a signal; the tests of signals check the message"),
];
