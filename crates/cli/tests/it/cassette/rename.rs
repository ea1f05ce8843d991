//! `mcptest cassette rename`, and how it is suggested.

use super::super::Folder;
use super::{answered, record, tree};

/// A suite whose model is a real one, so that recordings are needed.
const REAL: &str = "\
agents:
  - name: books a seat
    models: [gpt-5, gpt-4]
    prompt: Book it.
    trajectory: { mode: subset, calls: [] }
";

#[test]
fn a_renamed_test_finds_its_recordings_by_inputs_and_keeps_them() {
    let here = Folder::with(&[("t/s.yml", REAL)]);
    for model in ["gpt-5", "gpt-4"] {
        record(&here, ("books a seat", model, 1), &answered("Done."));
    }
    here.write("t/s.yml", REAL.replace("books a seat", "books it's seat").as_bytes());
    let (gone, new) = ("books a seat", "books it's seat");
    let folder = "t/cassettes/s/books-it-s-seat-63d8db3d";
    let missing = |model: &str| {
        format!(
            "! ERROR     {new} [{model}]  replayed\n    error[renamed-test]: there is no recording of this run:\n      \
             {folder}/{model}/1.json; `{gone}`, which is no longer a\n      test, was recorded with the same inputs\n    \
             hint: if the test was renamed: mcptest cassette rename t/s.yml '{gone}' 'books it'\\''s\n      \
             seat'; otherwise record it: mcptest run --record t/s.yml\n    at t/s.yml:2:11\n      |\n    2 |   - name: {new}\n      \
             |           ^^^^^^^^^^^^^^^\n"
        )
    };
    let output = here.command(&["run", "t/s.yml"]).output().unwrap();
    let reported = String::from_utf8(output.stdout).unwrap();
    let expected = format!("t/s.yml\n{}{}", missing("gpt-5"), missing("gpt-4"));
    assert!(reported.starts_with(&expected), "{reported}\n---\n{expected}");
    assert_eq!(output.status.code(), Some(2));

    let moved = format!(
        "moved {folder}/gpt-4/1.json\nmoved {folder}/gpt-5/1.json\n2 recordings of `{gone}` moved to `{new}`\n"
    );
    here.check(&["cassette", "rename", "t/s.yml", gone, new], 0, &moved, "");
    let listed =
        format!("t/s.yml\n  ok       {folder}/gpt-4/1.json\n  ok       {folder}/gpt-5/1.json\n\n2 cassettes: 2 ok\n");
    here.check(&["cassette", "list", "t/s.yml"], 0, &listed, "");
    assert_eq!(here.command(&["run", "t/s.yml"]).output().unwrap().status.code(), Some(0));
}

#[test]
fn a_renamed_scripted_test_runs_and_names_its_recording() {
    const SUITE: &str = "\
models: { demo: { provider: script, script: demo.yml } }
agents:
  - { name: old name, model: demo, prompt: Say it., expect: [{ target: final_response, matcher: { exact: Done. } }] }
";
    let script = "script: 1\nruns: [{ turns: [{ text: Done. }] }]\n";
    let here = Folder::with(&[("t/s.yml", SUITE), ("t/demo.yml", script)]);
    let run = |line: &[&str]| {
        let output = here.command(line).output().unwrap();
        assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    };
    run(&["run", "t/s.yml", "--record"]);
    here.write("t/s.yml", SUITE.replace("old name", "new name").as_bytes());
    let reported = |origin: &str, note: &str| {
        format!(
            "t/s.yml\n✓ PASS      new name  {origin}  expect: 1 of 1 assertion passed\n{note}\n1 test, 1 run: 1 passed\n"
        )
    };
    let note = "note: new name: it ran its script; `old name`, which is no longer a test, was recorded with the same\n  \
                inputs; if the test was renamed: mcptest cassette rename t/s.yml 'old name' 'new name'\n";
    assert_eq!(run(&["run", "t/s.yml"]), reported("scripted", note));
    run(&["cassette", "rename", "t/s.yml", "old name", "new name"]);
    assert_eq!(run(&["run", "t/s.yml"]), reported("replayed", ""));
}

#[test]
fn a_rename_that_fails_says_why_and_changes_nothing() {
    let here = Folder::with(&[("t/s.yml", REAL), ("t/other.yml", REAL)]);
    record(&here, ("Gone.", "gpt-5", 1), &answered("Done."));
    let before = tree(&here);
    let refused = |line: [&str; 3], why: &str| {
        here.check(&[&["cassette", "rename"], &line[..]].concat(), 2, "", why);
        assert_eq!(tree(&here), before);
    };
    refused(
        ["t/s.yml", "Gone.", "books a seta"],
        "error[bad-argument]: t/s.yml has no test `books a seta`\n\
         hint: rename the test in the suite first; did you mean `books a seat`?\n",
    );
    refused(
        ["t/s.yml", "books a seat", "books a seat"],
        "error[bad-argument]: t/s.yml still has the test `books a seat`\nhint: its recordings stay with it; record the other test\n",
    );
    refused(
        ["t/s.yml", "never was", "books a seat"],
        "error[no-recording]: there are no recordings of `never was` in t/cassettes/s/never-was-6d0d880b\n\
         hint: `mcptest cassette list t/s.yml` lists the recordings\n",
    );
    refused(
        ["t", "Gone.", "books a seat"],
        "error[bad-argument]: the path matches several suites\nhint: name the file of one suite\n",
    );
    let path = record(&here, ("books a seat", "gpt-4", 1), &answered("Done."));
    let before = tree(&here);
    here.check(
        &["cassette", "rename", "t/s.yml", "Gone.", "books a seat"],
        2,
        "",
        "error[file-exists]: t/cassettes/s/books-a-seat-12356d5f: recordings already exist and are not overwritten\n\
         hint: move them away if they are not needed\n",
    );
    assert_eq!(tree(&here), before);
    std::fs::remove_file(path).unwrap();
}
