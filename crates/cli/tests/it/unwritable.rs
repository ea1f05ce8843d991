//! Full disks, folders that cannot be written to, and closed outputs: exit code 2, a message that names the file and the reason, the
//! old content kept, and nothing half-written.

use std::fs::{self, File};
use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use super::one_tool::world;
use super::{Folder, check};

const PASS: &str = "\
suite.yml
✓ PASS      t  replayed  trajectory: 1 of 1 expected calls matched (strict)

1 test, 1 run: 1 passed
";

/// What a recording says that could not be written.
fn unwritten(path: &str, what: &str, why: &str) -> String {
    let hint = "check that the folder is writable and the disk has space";
    let message = format!("error[unusable-cassette-folder]: {path}: cannot be {what}: {why}");
    // Lines have at most 100 columns.
    let mut lines = vec!["   ".to_owned()];
    for word in message.split(' ') {
        if lines[lines.len() - 1].len() + 1 + word.len() > 100 {
            lines.push("     ".to_owned());
        }
        let last = lines.len() - 1;
        lines[last].push_str(&format!(" {word}"));
    }
    format!(
        "suite.yml\n! ERROR     t  scripted\n{}\n    hint: {hint}\n    at suite.yml:4:11\n      \
         |\n    4 |   - name: t\n      |           ^\n\nfor more: mcptest explain unusable-cassette-folder\n1 test, 1 run: 1 error\n",
        lines.join("\n")
    )
}

/// Every file and folder below a folder, with the text of files, sorted.
fn tree(folder: &Path) -> Vec<(String, Option<String>)> {
    let mut out = Vec::new();
    let mut pending = vec![folder.to_owned()];
    while let Some(next) = pending.pop() {
        for entry in fs::read_dir(next).unwrap() {
            let path = entry.unwrap().path();
            let name = path.strip_prefix(folder).unwrap().to_string_lossy().into_owned();
            if path.is_dir() {
                out.push((name, None));
                pending.push(path);
            } else {
                out.push((name, Some(fs::read_to_string(path).unwrap())));
            }
        }
    }
    out.sort();
    out
}

/// Runs a line of shell in which `"$0"` is the program, in a folder.
fn shell(here: &Folder, line: &str, arguments: &[&str]) -> Output {
    let mut command = Command::new("sh");
    command.args(["-c", line, env!("CARGO_BIN_EXE_mcptest")]).args(arguments).current_dir(&here.0).env_clear();
    command.env("PATH", "/usr/sbin:/usr/bin:/sbin:/bin").output().unwrap()
}

/// Runs a shell line with its own mounts; skipped with a note where that is not allowed.
fn with_mounts(here: &Folder, line: &str, arguments: &[&str]) -> Option<Output> {
    let allowed = shell(here, "unshare -rm mount -t tmpfs none /mnt", &[]);
    if !allowed.status.success() {
        let why = String::from_utf8_lossy(&allowed.stderr).into_owned();
        let _ = writeln!(std::io::stderr(), "skipped: nothing can be mounted here ({})", why.trim_end());
        return None;
    }
    let mut all = vec![line, env!("CARGO_BIN_EXE_mcptest")];
    all.extend(arguments);
    Some(shell(here, "shift 0; exec unshare -rm sh -c \"$@\"", &all))
}

/// Files may have 512 bytes from here on; with the signal that says so as it is, and ignored.
const LIMITS: [&str; 2] = ["ulimit -f 1; exec \"$0\" \"$@\"", "trap '' XFSZ; ulimit -f 1; exec \"$0\" \"$@\""];

const TOO_LARGE: &str = "File too large (os error 27)";
const NO_ROOM: &str = "No space left on device (os error 28)";
const READ_ONLY: &str = "Read-only file system (os error 30)";

#[test]
fn a_recording_beyond_the_limit_for_files_is_an_error_and_the_old_one_stays() {
    for limit in LIMITS {
        let here = world();
        let at = "cassettes/suite/t/demo/1.json";
        let refused = unwritten(at, "written", TOO_LARGE);
        check(&shell(&here, limit, &["run", "suite.yml", "--record"]), 2, &refused, "");
        assert!(tree(&here.0.join("cassettes")).iter().all(|(_, text)| text.is_none()));
        assert_eq!(here.command(&["run", "suite.yml", "--record"]).status().unwrap().code(), Some(0));
        let before = tree(&here.0);
        check(&shell(&here, limit, &["run", "suite.yml", "--record"]), 2, &refused, "");
        assert_eq!(tree(&here.0), before);
        here.check(&["run", "suite.yml"], 0, PASS, "");
    }
}

#[test]
fn reports_and_init_beyond_the_file_size_limit_keep_existing_files() {
    for limit in LIMITS {
        let here = world();
        assert_eq!(here.command(&["run", "suite.yml", "--record"]).status().unwrap().code(), Some(0));
        here.write("report.json", b"old");
        let before = tree(&here.0);
        let line = ["run", "suite.yml", "--reporter", "json=report.json", "--reporter", "html=report.html"];
        let reported = |name: &str| {
            format!(
                "error[report-not-written]: cannot write the report {name}: {TOO_LARGE}\nhint: check that the folder is writable and the disk has space\n"
            )
        };
        check(&shell(&here, limit, &line), 2, PASS, &(reported("report.json") + &reported("report.html")));
        assert_eq!(tree(&here.0), before);
        let reported = format!(
            "error[file-not-written]: new/mcptest.yml cannot be written: {TOO_LARGE}\nhint: check the folder and its permissions, or name another \
             folder; nothing was left behind\n"
        );
        check(&shell(&here, limit, &["init", "new"]), 2, "", &reported);
        assert_eq!(tree(&here.0), before);
    }
}

#[test]
fn a_full_disk_is_an_error_that_names_the_file_and_the_old_recording_stays() {
    let here = world();
    fs::create_dir(here.0.join("disk")).unwrap();
    // Everything is checked inside, because the disk disappears with the shell that mounted it.
    let line = "\
        mount -t tmpfs -o size=128k none disk && cp *.yml disk && cd disk && \"$0\" run suite.yml --record > /dev/null || exit 9
        dd if=/dev/zero of=fill bs=1k 2> /dev/null; dd if=/dev/zero of=fill bs=1 seek=$(stat -c %s fill) 2> /dev/null
        before=$(find . -type f ! -name fill | sort | xargs sha256sum)
        \"$0\" run suite.yml --record; echo \"code $?\"
        \"$0\" run suite.yml --reporter json=report.json > /dev/null; echo \"code $?\"
        \"$0\" init new; echo \"code $?\"
        [ \"$before\" = \"$(find . -type f ! -name fill | sort | xargs sha256sum)\" ] && echo as before
        \"$0\" run suite.yml > /dev/null; echo \"code $?\"
        rm fill && \"$0\" run suite.yml --record > /dev/null; echo \"code $?\"";
    let Some(output) = with_mounts(&here, line, &[]) else { return };
    let refused = unwritten("cassettes/suite/t/demo/1.json", "written", NO_ROOM);
    let reported = format!(
        "error[report-not-written]: cannot write the report report.json: {NO_ROOM}\nhint: check that the folder is writable and the disk has space\n\
         error[file-not-written]: new/mcptest.yml cannot be written: {NO_ROOM}\nhint: check the folder and its permissions, or name another folder; \
         nothing was left behind\n"
    );
    check(&output, 0, &format!("{refused}code 2\ncode 2\ncode 2\nas before\ncode 0\ncode 0\n"), &reported);
}

#[test]
fn a_read_only_folder_can_be_replayed_but_not_recorded() {
    let here = world();
    let line = "mount --bind . . && mount -o remount,ro,bind . . && cd \"$PWD\" && exec \"$0\" \"$@\"";
    let Some(first) = with_mounts(&here, line, &["run", "suite.yml", "--record"]) else { return };
    check(&first, 2, &unwritten("cassettes/suite", "created", READ_ONLY), "");
    assert_eq!(here.command(&["run", "suite.yml", "--record"]).status().unwrap().code(), Some(0));
    // Nothing is started for a recording that could not be kept.
    let suite = fs::read_to_string(here.0.join("suite.yml")).unwrap();
    here.write("suite.yml", suite.replace("mcptest, mock", "no-such-program, mock").as_bytes());
    let again = with_mounts(&here, line, &["run", "suite.yml", "--record"]).unwrap();
    check(&again, 2, &unwritten("cassettes/suite/t/demo/1.json", "written", READ_ONLY), "");
    here.write("suite.yml", suite.as_bytes());
    let before = tree(&here.0);
    let again = with_mounts(&here, line, &["run", "suite.yml", "--record"]).unwrap();
    check(&again, 2, &unwritten("cassettes/suite/t/demo/1.json", "written", READ_ONLY), "");
    let report = with_mounts(&here, line, &["run", "suite.yml", "--reporter", "json=report.json"]).unwrap();
    let reported = format!(
        "error[report-not-written]: cannot write the report report.json: {READ_ONLY}\nhint: check that the folder is writable and the disk has space\n"
    );
    check(&report, 2, PASS, &reported);
    let init = with_mounts(&here, line, &["init"]).unwrap();
    let reported = format!(
        "error[file-not-written]: mcptest.yml cannot be written: {READ_ONLY}\nhint: check the folder and its permissions, or name another folder; \
         nothing was left behind\n"
    );
    check(&init, 2, "", &reported);
    check(&with_mounts(&here, line, &["run", "suite.yml"]).unwrap(), 0, PASS, "");
    assert_eq!(tree(&here.0), before);
}

#[test]
fn a_full_output_is_an_error_of_every_command() {
    let here = world();
    assert_eq!(here.command(&["run", "suite.yml", "--record"]).status().unwrap().code(), Some(0));
    assert_eq!(here.command(&["run", "suite.yml", "--reporter", "json=run.json"]).status().unwrap().code(), Some(0));
    let cassette = "cassettes/suite/t/demo/1.json";
    let reported = format!("error[stdout-failed]: cannot write to standard output: {NO_ROOM}\n");
    let lines: [&[&str]; 15] = [
        &["run", "suite.yml"],
        &["run", "suite.yml", "--reporter", "json"],
        &["run", "suite.yml", "--list"],
        &["report", "run.json"],
        &["report", "run.json", "--reporter", "html"],
        &["score", cassette],
        &["convert", cassette],
        &["validate", "suite.yml", "--format", "json"],
        &["cassette", "list", "suite.yml"],
        &["cassette", "show", cassette],
        &["cassette", "prune", "suite.yml"],
        &["schema"],
        &["runs"],
        &["explain", "recovery"],
        &["--help"],
    ];
    for line in lines {
        let full = File::options().write(true).open("/dev/full").unwrap();
        let output = here.command(line).stdout(full).output().unwrap();
        let stderr = String::from_utf8(output.stderr).unwrap();
        assert!(
            output.status.code() == Some(2) && stderr.ends_with(&reported),
            "{line:?}: {:?}: {stderr}",
            output.status
        );
    }
    let reported = format!(
        "error[report-not-written]: cannot write the report /dev/full: {NO_ROOM}\nhint: check that the folder is writable and the disk has space\n"
    );
    here.check(&["run", "suite.yml", "--reporter", "json=/dev/full"], 2, PASS, &reported);
}

#[test]
fn streams_that_are_closed_do_not_end_up_in_a_file() {
    let here = world();
    assert_eq!(here.command(&["run", "suite.yml", "--record"]).status().unwrap().code(), Some(0));
    assert_eq!(here.command(&["run", "suite.yml", "--reporter", "json=known.json"]).status().unwrap().code(), Some(0));
    let known = fs::read_to_string(here.0.join("known.json")).unwrap();
    for closed in [">&-", "2>&-", "<&-", "<&- >&- 2>&-"] {
        for mode in ["", "--record"] {
            let line = format!("exec \"$0\" run suite.yml {mode} --reporter json=report.json {closed}");
            assert_eq!(shell(&here, &line, &[]).status.code(), Some(0), "{line}");
        }
        // The last of the two wrote a report of a run for real; a replay gives the known one again.
        check(
            &shell(&here, "exec \"$0\" run suite.yml -q --reporter json=report.json", &[]),
            0,
            "1 test, 1 run: 1 passed\n",
            "",
        );
        let report = fs::read_to_string(here.0.join("report.json")).unwrap();
        let same =
            |text: &str| text.lines().filter(|line| !line.contains("duration_ms")).collect::<Vec<_>>().join("\n");
        assert_eq!(same(&report), same(&known), "{closed}");
    }
}

#[test]
fn a_closed_pipe_ends_neither_a_recording_nor_a_report() {
    let here = world();
    for line in [
        &["run", "suite.yml", "--record", "--reporter", "junit=a.xml"][..],
        &["run", "suite.yml", "--reporter", "json"],
    ] {
        let mut child = here.command(line).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        drop(child.stdout.take());
        check(&child.wait_with_output().unwrap(), 0, "", "");
    }
    assert!(fs::read_to_string(here.0.join("a.xml")).unwrap().ends_with("</testsuites>\n"));
    here.check(&["run", "suite.yml"], 0, PASS, "");
}
