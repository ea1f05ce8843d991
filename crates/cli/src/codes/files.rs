//! Files that cannot be used, and tests that are not found.

use mcptest_core::diag::Code;

use super::{Entry, entry};

pub(super) static ENTRIES: [Entry; 17] = [
    entry(
        Code::NoSuchFile,
        "There is no such file or folder",
        "error[no-such-file]: nope.yml: no such file or folder",
        "Paths are relative to the current folder. A broken symbolic link counts as missing.",
        &["Use the name that the hint suggests, or run the command in another folder."],
    ),
    entry(
        Code::PermissionDenied,
        "A file is not readable",
        "error[permission-denied]: tests/weather.yml: permission denied",
        "The file exists, but the user who runs the command may not read it.",
        &["Check the permissions of the file and of its folders."],
    )
    .unprovoked("tests may run as the superuser, who can read every file"),
    entry(
        Code::NotUtf8,
        "A file is not UTF-8",
        "error[not-utf8]: latin.yml: is not UTF-8: byte 8 (0xe9), on line 1",
        "Files must be UTF-8. Some Windows editors and shells save UTF-16 or a regional encoding.",
        &["Save the file as UTF-8."],
    ),
    entry(
        Code::FileTooLarge,
        "A file is too large",
        "error[file-too-large]: large.yml: has more than 16777216 bytes, the limit",
        "A suite may have up to 16 MiB. This file is probably something else.",
        &[
            "Name the right file, or split it into several.",
            "To judge recordings, use `mcptest score`, which has no such limit.",
        ],
    ),
    entry(
        Code::EmptyFolder,
        "A folder has no matching file",
        "error[empty-folder]: empty: no .yml or .yaml file in this folder or below it",
        "A folder means all suites, or recordings, in and below it, by file extension. Hidden files and folders are \
         skipped. Scripts and mock servers are not suites: they have no tests.",
        &["Name another folder, or the file itself."],
    ),
    entry(
        Code::NotASuite,
        "The file is not a suite",
        "error[not-a-suite]: demo.yml: is a script for a model, not a suite",
        "The keys at the top level say what a file is: `agents:` makes it a suite, `script:` a script for a model, \
         `mock_server:` a mock server, and gates alone a gates file for `mcptest score`.",
        &["Name a file of the right kind, as the hint says.", "`mcptest validate` accepts all four kinds."],
    ),
    entry(
        Code::SharedCassettes,
        "Two suites would share their recordings",
        "error[shared-cassettes]: ok.yml: has its cassettes in the same folder as ok.yaml",
        "The recordings of a suite are in `cassettes/` under the file name without its extension. Two files that differ only \
         in the extension would overwrite each other's recordings.",
        &["Rename one of them."],
    ),
    entry(
        Code::NoSuiteNamed,
        "No suite was named",
        "error[no-suite-named]: no suite was named, and there is no mcptest.yaml or mcptest.yml in the current folder",
        "Without arguments the command looks for `mcptest.yaml` and `mcptest.yml` in the current folder, and nowhere else.",
        &["Name a file or a folder: `mcptest run tests/`.", "Or create a first suite with `mcptest init`."],
    ),
    entry(
        Code::NothingSelected,
        "No test is selected",
        "error[nothing-selected]: no test is selected: the only test does not match --tag smoke",
        "No test matches `--filter`, `--tag`, `--skip-tag` and `--models` together. A run without tests would look like a \
         success, so it is an error.",
        &["`mcptest run --list` without these options lists every test.", "Fix the option that matches nothing."],
    ),
    entry(
        Code::EmptyPartition,
        "A partition is empty",
        "note: partition 2/2 is empty: every selected test is in another partition",
        "`--partition` assigns tests by name, so that a new test does not move the others. With few tests a partition can be \
         empty. That is not a failure.",
        &["Use fewer partitions, or ignore it: the exit code is 0."],
    ),
    entry(
        Code::BadArgument,
        "An option is invalid",
        "error[bad-argument]: invalid value '4/3' for '--partition <I/N>': there is no partition 4 of 3 (hint: the last is \
         `3/3`)",
        "The command line has an unknown option or an invalid value.",
        &["Follow the hint. `mcptest COMMAND --help` lists every option with examples."],
    ),
    entry(
        Code::ReadFailed,
        "A file cannot be read",
        "error[read-failed]: tests: cannot be read: Is a directory (os error 21)",
        "The operating system reported an error: a broken disk, a lost network share, or a path that is not a file.",
        &["Check the path, and try to read the file with another program."],
    )
    .unprovoked("it takes a disk or a network that fails"),
    entry(
        Code::UntrustedSuite,
        "A test needs something that --untrusted forbids",
        "it depends on environment variables, which `--untrusted` does not read: `${CITY}`",
        "`--untrusted` only replays recordings of suites from untrusted authors: it starts no program, opens no connection and \
         reads nothing outside the folder of the suite. This test has no recording, or it depends on something outside that \
         folder.",
        &[
            "Record the test and commit its cassettes.",
            "Set the value under `variables:`, or write a default: `${CITY:-Oslo}`. Put the script next to the suite.",
            "Omit `--untrusted` only if everyone who can change the suite may run programs on this machine.",
        ],
    ),
    entry(
        Code::SymbolicLink,
        "A symbolic link is not followed",
        "error[symbolic-link]: link.yml: cannot be read: `link.yml` is a symbolic link, and links are not followed here",
        "A link can point to any file on the machine. With `--untrusted` no link is followed. Reports are never written \
         through links, because whoever created the link would choose which file is overwritten.",
        &["Replace the link with the file.", "Name the target of the link."],
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
        "The command received Ctrl-C, SIGTERM or SIGHUP. After the first signal, runs have five seconds to end and reports are \
         written. A second signal ends everything at once.",
        &[
            "Run the command again.",
            "If CI stopped the job, raise its time limit, or split the tests with `--partition`.",
        ],
    )
    .unprovoked("it takes a signal; the tests of signals check the message"),
];
