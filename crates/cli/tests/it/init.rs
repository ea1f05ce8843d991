//! `mcptest init`: what it writes passes at once, and nothing else is touched.

#[cfg(target_os = "linux")]
mod agent;
mod server;
mod trace;

use std::fs;
use std::path::Path;

use super::Folder;

/// What the command says after it has written a suite to the current folder.
const NEXT: &str =
    "\nNext:\n  mcptest run\n  mcptest run --verbose\nThen open mcptest.yml: its comments say what to change first.\n";

const STARTER: &str = "\
wrote mcptest.yml               the suite: servers, models, tests
wrote mcptest/tools.yml         the tools of the mock server
wrote mcptest/script.yml        the script that replaces the model
wrote mcptest/script-retry.yml  the same, when the desk does not answer at first
";

/// Every file below a folder with its text, sorted.
fn files(folder: &Path) -> Vec<(String, String)> {
    let mut out = Vec::new();
    let mut pending = vec![folder.to_owned()];
    while let Some(next) = pending.pop() {
        for entry in fs::read_dir(next).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                pending.push(path);
            } else {
                let name = path.strip_prefix(folder).unwrap().to_str().unwrap().to_owned();
                out.push((name, fs::read_to_string(path).unwrap()));
            }
        }
    }
    out.sort();
    out
}

fn names(folder: &Path) -> Vec<String> {
    files(folder).into_iter().map(|(name, _)| name).collect()
}

/// Runs the suite of a folder; the exit code and everything that was printed.
fn run(here: &Folder) -> (Option<i32>, String) {
    let output = here.command(&["run"]).output().unwrap();
    (output.status.code(), String::from_utf8([output.stdout, output.stderr].concat()).unwrap())
}

#[test]
fn a_suite_from_scratch_passes_and_has_no_warnings() {
    let here = Folder::with(&[]);
    here.check(&["init"], 0, &format!("{STARTER}{NEXT}"), "");
    here.check(
        &["run"],
        0,
        "mcptest.yml\n\
         ✓ PASS      books the room that was found  scripted  trajectory, trajectory_axes, narrative\n\
         ✓ PASS      asks again when the desk does not answer  scripted  trajectory, narrative\n    \
         fault desk-asleep (recover_after): injected into call 0; hit once; recovered by call 1\n\
         ✓ PASS      asks again when the desk does not answer (recovery)  scripted\n    \
         1 fault hit, 0 delays, detected after 3000 ms, recovered after 3000 ms\n\n2 tests, 2 runs: 2 passed\n",
        "",
    );
    here.check(&["validate", "--deny-warnings", "."], 0, "4 files: 4 valid\n", "");
}

#[test]
fn the_same_request_writes_the_same_bytes() {
    let [first, second] = [Folder::with(&[]), Folder::with(&[])];
    for here in [&first, &second] {
        assert!(here.command(&["init"]).output().unwrap().status.success());
    }
    assert_eq!(files(&first.0), files(&second.0));
}

#[test]
fn every_way_to_see_a_gate_fail_fails_that_gate() {
    let suite = "mcptest.yml";
    let script = "mcptest/script.yml";
    for (file, from, to, gate) in [
        (suite, "people: 6 } }, status", "people: 8 } }, status", "trajectory"),
        (script, "room: \"${results[0].structured_content.room}\"", "room: Maple", "trajectory_axes"),
        (script, "      - calls: [{ tool: book_room", "      # - calls: [{ tool: book_room", "narrative"),
        (suite, "    failures: 1", "    failures: 3", "recovery"),
    ] {
        let here = Folder::with(&[]);
        assert!(here.command(&["init"]).output().unwrap().status.success());
        let text = fs::read_to_string(here.0.join(file)).unwrap();
        assert_eq!(text.matches(from).count(), 1, "{from}");
        here.write(file, text.replace(from, to).as_bytes());
        let (code, stdout) = run(&here);
        assert_eq!(code, Some(1), "{stdout}");
        assert!(stdout.contains(&format!("✗ {gate}: ")), "{gate}: {stdout}");
    }
}

#[test]
fn a_folder_is_created_and_the_next_command_names_it() {
    let here = Folder::with(&[]);
    here.check(
        &["init", "tests/rooms"],
        0,
        "wrote tests/rooms/mcptest.yml               the suite: servers, models, tests\n\
         wrote tests/rooms/mcptest/tools.yml         the tools of the mock server\n\
         wrote tests/rooms/mcptest/script.yml        the script that replaces the model\n\
         wrote tests/rooms/mcptest/script-retry.yml  the same, when the desk does not answer at first\n\n\
         Next:\n  mcptest run tests/rooms/mcptest.yml\n  mcptest run tests/rooms/mcptest.yml --verbose\n\
         Then open tests/rooms/mcptest.yml: its comments say what to change first.\n",
        "",
    );
    assert!(here.command(&["run", "tests/rooms/mcptest.yml"]).output().unwrap().status.success());
}

#[test]
fn the_next_command_can_be_pasted_for_any_folder_name() {
    for (folder, typed) in [("Zweiter Ördner", "'Zweiter Ördner/mcptest.yml'"), ("-v", "./-v/mcptest.yml")] {
        let here = Folder::with(&[]);
        let output = here.command(&["init", "--", folder]).output().unwrap();
        let stdout = String::from_utf8(output.stdout).unwrap();
        let next = format!(
            "\nNext:\n  mcptest run {typed}\n  mcptest run {typed} --verbose\n\
             Then open {folder}/mcptest.yml: its comments say what to change first.\n"
        );
        assert!(stdout.ends_with(&next), "{stdout}");
        assert!(here.command(&["run", typed.trim_matches('\'')]).output().unwrap().status.success());
    }
}

#[test]
fn nothing_is_overwritten_and_nothing_else_is_written() {
    for taken in ["mcptest.yml", "mcptest.yaml", "mcptest/tools.yml", "mcptest/script-retry.yml"] {
        let here = Folder::with(&[(taken, "mine")]);
        let stderr = format!(
            "error[file-exists]: {taken} already exists, and nothing is overwritten\n\
             hint: move it away, or name another folder, as in `mcptest init tests/first`\n"
        );
        here.check(&["init"], 2, "", &stderr);
        assert_eq!(files(&here.0), [(taken.to_owned(), "mine".to_owned())]);
    }
    let here = Folder::with(&[]);
    assert!(here.command(&["init"]).output().unwrap().status.success());
    let before = files(&here.0);
    here.check(
        &["init"],
        2,
        "",
        "error[file-exists]: mcptest.yml, mcptest/tools.yml, mcptest/script.yml, mcptest/script-retry.yml already exist, and nothing is overwritten\nhint: move them away, or name another folder, as in `mcptest init tests/first`\n",
    );
    assert_eq!(files(&here.0), before);
}

#[test]
fn a_file_where_a_folder_should_be_leaves_nothing_behind() {
    let here = Folder::with(&[("mcptest", "mine")]);
    let output = here.command(&["init"]).output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    let stderr = String::from_utf8(output.stderr).unwrap();
    assert!(stderr.starts_with("error[file-not-written]: mcptest/tools.yml cannot be written: "), "{stderr}");
    assert_eq!(files(&here.0), [("mcptest".to_owned(), "mine".to_owned())]);
}

#[test]
fn the_sources_exclude_each_other() {
    let here = Folder::with(&[]);
    for line in [
        &["init", "--from-server", "a", "--url", "b"][..],
        &["init", "--from-server", "a", "--from-trace", "b"],
        &["init", "--url", "a", "--from-trace", "b"],
        &["init", "--bearer-token-env", "A"],
    ] {
        let output = here.command(line).output().unwrap();
        assert_eq!(output.status.code(), Some(2), "{line:?}");
    }
    assert_eq!(names(&here.0), [""; 0]);
}
