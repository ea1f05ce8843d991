//! `mcptest validate`: valid and invalid files, one and many, as text and as JSON.

use super::{Folder, check};

const GOOD: &str = "\
agents:
  - name: looks it up
    model: claude-sonnet-4-5
    prompt: Look it up.
    trajectory:
      calls: [{ name: search }]
";

/// Two mistakes.
const WRONG: &str = "\
agents:
  - name: looks it up
    model: claude-sonnet-4-5
    promt: Look it up.
    runs: \"3\"
    trajectory:
      calls: [{ name: search }]
";

const PROSE: &str = "\
agents:
  - name: says yes
    model: claude-sonnet-4-5
    prompt: Say yes.
    expect:
      - target: final_response
        matcher: { icontains: \"yes\" }
";

/// The errors in [`WRONG`] under this name.
fn wrong(file: &str) -> String {
    format!(
        "\
{file}:4:5: error[unknown-key]: unknown key `promt` in an agent test
   |
 4 |     promt: Look it up.
   |     ^^^^^
   = hint: did you mean `prompt`?

{file}:5:11: error[wrong-type]: `runs` must be a whole number of at least 1 or a map (runs), found a string (\"3\")
   |
 5 |     runs: \"3\"
   |           ^^^
   = hint: remove the quotes: `3`

"
    )
}

/// The diagnostics of [`PROSE`] under this name.
fn prose(file: &str, severity: &str) -> String {
    format!(
        "\
{file}:5:5: {severity}[relies-on-prose]: the verdict of `says yes` rests on prose
   |
 5 |     expect:
   |     ^^^^^^
   = hint: assert on tool_calls or tool_results: they show what the agent did

"
    )
}

/// The line that says how to read more about a code, before the last one.
fn more(code: &str) -> String {
    format!("for more: mcptest explain {code}\n")
}

#[test]
fn a_valid_file_has_no_errors() {
    Folder::with(&[("a.yml", GOOD)]).check(&["validate", "a.yml"], 0, "1 file: 1 valid\n", "");
}

#[test]
fn every_mistake_of_every_file_is_shown() {
    let here = Folder::with(&[("a.yml", WRONG), ("b.yml", GOOD), ("c.yml", WRONG)]);
    here.check(&["validate", "a.yml"], 2, &(wrong("a.yml") + &more("unknown-key") + "1 file: 1 with 2 errors\n"), "");
    let all = wrong("a.yml") + &wrong("c.yml") + &more("unknown-key") + "3 files: 1 valid, 2 with 4 errors\n";
    here.check(&["validate", "a.yml", "b.yml", "c.yml"], 2, &all, "");
}

#[test]
fn a_folder_means_all_yaml_files_in_it_and_below_except_hidden_ones() {
    let here = Folder::with(&[
        ("t/b.yaml", WRONG),
        ("t/a/z.yml", PROSE),
        ("t/c.yml", GOOD),
        ("t/notes.txt", "not a suite"),
        ("t/.hidden.yml", "not a suite"),
        ("t/.git/x.yml", "not a suite"),
    ]);
    let all = prose("t/a/z.yml", "warning")
        + &wrong("t/b.yaml")
        + &more("unknown-key")
        + "3 files: 2 valid, 1 with 2 errors, 1 warning\n";
    here.check(&["validate", "t"], 2, &all, "");
    // A file that is named twice is checked once.
    here.check(&["validate", "t", "t/b.yaml"], 2, &all, "");
}

#[cfg(unix)]
#[test]
fn a_link_that_leads_back_does_not_cause_a_loop() {
    let here = Folder::with(&[("t/a.yml", GOOD)]);
    std::os::unix::fs::symlink(here.0.join("t"), here.0.join("t/again")).unwrap();
    here.check(
        &["validate", "t"],
        0,
        "1 file: 1 valid\n",
        "note: t/again: skipped: it is a link to a folder; name it to read it\n",
    );
}

#[test]
fn warnings_alone_pass_unless_they_are_denied() {
    let here = Folder::with(&[("a.yml", PROSE)]);
    let more = more("relies-on-prose");
    let warned = prose("a.yml", "warning") + &more + "1 file: 1 valid, 1 warning\n";
    here.check(&["validate", "a.yml"], 0, &warned, "");
    let denied = prose("a.yml", "error") + &more + "1 file: 1 with 1 error\n";
    here.check(&["validate", "--deny-warnings", "a.yml"], 2, &denied, "");
}

#[test]
fn json_output_is_one_object_with_every_file() {
    let here = Folder::with(&[("good.yml", GOOD), ("prose.yml", PROSE), ("wrong.yml", WRONG)]);
    let stderr = "error[no-such-file]: gone.yml: no such file or folder\nhint: did you mean `good.yml`?\n";
    let line = ["validate", "--format", "json", "good.yml", "prose.yml", "wrong.yml", "gone.yml"];
    here.check(&line, 2, include_str!("report.json"), stderr);
}

#[test]
fn a_gates_file_is_not_a_suite() {
    let here = Folder::with(&[("gates.yml", "trajectory:\n  calls: [{ name: search }]\n"), ("suite.yml", GOOD)]);
    here.check(&["validate", "--gates", "gates.yml"], 0, "1 file: 1 valid\n", "");
    here.check(&["validate", "."], 0, "2 files: 2 valid\n", "");
    let refusal = "\
! REFUSED   gates.yml
error[not-a-suite]: gates.yml: is a gates file for `mcptest score`, not a suite
hint: use it with `mcptest score TRACES --gates FILE`

no tests; 1 suite could not be used
";
    here.check(&["run", "gates.yml"], 2, refusal, "");
    let wrong = "\
suite.yml:1:1: error[unknown-key]: unknown key `agents` in a gates file
   |
 1 | agents:
   | ^^^^^^
   = hint: expected one of: expect, trajectory, trajectory_axes, golden_path, stability, reliability, recovery, narrative, tasks

for more: mcptest explain unknown-key
1 file: 1 with 1 error
";
    here.check(&["validate", "--gates", "suite.yml"], 2, wrong, "");
}

const SCRIPT: &str = "script: 1\nruns:\n  - turns: [{ text: Done. }]\n";

/// A suite on the script `demo.yml`.
const SCRIPTED: &str = "\
models:
  demo: { provider: script, script: demo.yml }
agents:
  - name: looks it up
    model: demo
    prompt: Look it up.
    trajectory:
      calls: [{ name: search }]
";

#[test]
fn every_file_is_checked_as_the_kind_its_root_declares() {
    let here = Folder::with(&[
        ("t/demo.yml", "script: 1\nruns:\n  - turn: []\n"),
        ("t/suite.yml", GOOD),
        ("t/tools.yml", "mock_server:\n  name: t\n  tool: []\n"),
    ]);
    let script = "\
t/demo.yml:3:5: error[unknown-key]: unknown key `turn` in a scripted run
   |
 3 |   - turn: []
   |     ^^^^
   = hint: did you mean `turns`?

";
    let mock = "\
t/tools.yml:3:3: error[unknown-key]: unknown key `tool` in `mock_server`
   |
 3 |   tool: []
   |   ^^^^
   = hint: did you mean `tools`?

";
    let more = more("unknown-key");
    let all = format!("{script}{mock}{more}3 files: 1 valid, 2 with 2 errors\n");
    here.check(&["validate", "t"], 2, &all, "");
    here.check(&["validate", "t/demo.yml"], 2, &format!("{script}{more}1 file: 1 with 1 error\n"), "");
    here.write("t/demo.yml", SCRIPT.as_bytes());
    here.check(&["validate", "t/demo.yml", "t/suite.yml"], 0, "2 files: 2 valid\n", "");
}

#[test]
fn an_unusable_script_is_an_error_at_its_place_in_the_suite() {
    let here = Folder::with(&[("t/suite.yml", SCRIPTED), ("t/demo.yml", SCRIPT)]);
    here.check(&["validate", "t/suite.yml"], 0, "1 file: 1 valid\n", "");
    let wrong = |code: &str, message: &str, hint: &str| {
        format!(
            "\
t/suite.yml:2:37: error[{code}]: the script t/demo.yml{message}
   |
 2 |   demo: {{ provider: script, script: demo.yml }}
   |                                     ^^^^^^^^
   = hint: {hint}

for more: mcptest explain {code}
1 file: 1 with 1 error
"
        )
    };
    here.write("t/demo.yml", b"script: 2\nruns: []\n");
    let mistakes = wrong("script-unusable", " has errors", "`mcptest validate t/demo.yml` shows them");
    here.check(&["validate", "t/suite.yml"], 2, &mistakes, "");
    std::fs::remove_file(here.0.join("t/demo.yml")).unwrap();
    let gone = wrong("no-such-file", ": no such file or folder", "`script:` is a path relative to the suite's folder");
    here.check(&["validate", "t/suite.yml"], 2, &gone, "");
}

#[test]
fn unreadable_files_are_reported_and_the_rest_is_checked() {
    let here = Folder::with(&[("good.yml", GOOD), ("none/notes.txt", "")]);
    here.write("latin.yml", b"agents:\n  - name: caf\xe9\n");
    here.write("wide.yml", b"\xff\xfea\0g\0");
    let stderr = "\
error[no-such-file]: far/away.yml: no such file or folder
hint: paths are relative to the current folder
error[empty-folder]: none: no .yml or .yaml file in this folder or below it
hint: hidden files and folders are skipped; name the file itself
error[not-utf8]: latin.yml: is not UTF-8: byte 21 (0xe9), on line 2
hint: save it as UTF-8
error[not-utf8]: wide.yml: is not UTF-8: byte 0 (0xff), on line 1
hint: it starts like UTF-16; save it as UTF-8
";
    let line = ["validate", "far/away.yml", "none", "latin.yml", "good.yml", "wide.yml"];
    here.check(&line, 2, "1 file: 1 valid; 4 paths could not be checked\n", stderr);
    let stderr = "error[no-such-file]: goud.yml: no such file or folder\nhint: did you mean `good.yml`?\n";
    here.check(&["validate", "goud.yml"], 2, "no file checked; 1 path could not be checked\n", stderr);
}

#[test]
fn a_file_beyond_the_limit_is_not_read_to_its_end() {
    let here = Folder::with(&[("big.yml", &"#".repeat(16 * 1024 * 1024 + 1))]);
    let stderr =
        "error[file-too-large]: big.yml: has more than 16777216 bytes, the limit\nhint: split it into several files\n";
    here.check(&["validate", "big.yml"], 2, "no file checked; 1 path could not be checked\n", stderr);
}

#[test]
fn windows_line_ends_and_a_byte_order_mark_change_no_place() {
    let windows = |text: &str| format!("\u{feff}{}", text.replace('\n', "\r\n"));
    let here = Folder::with(&[("a.yml", &windows(GOOD)), ("b.yml", &windows(WRONG))]);
    let all = wrong("b.yml") + &more("unknown-key") + "2 files: 1 valid, 1 with 2 errors\n";
    here.check(&["validate", "a.yml", "b.yml"], 2, &all, "");
}

const GREETS: &str = "\
agents:
  - name: greets
    model: claude-sonnet-4-5
    prompt: Greet ${PERSON}.
    trajectory:
      calls: [{ name: greet }]
";

#[test]
fn an_unset_variable_is_an_error_and_the_environment_can_set_it() {
    let here = Folder::with(&[("a.yml", GREETS)]);
    let unset = "\
a.yml:4:13: error[variable-not-set]: variable `PERSON` is not set
   |
 4 |     prompt: Greet ${PERSON}.
   |             ^^^^^^^^^^^^^^^^
   = hint: set it under `variables:`, or write `${PERSON:-default}`

for more: mcptest explain variable-not-set
1 file: 1 with 1 error
";
    here.check(&["validate", "a.yml"], 2, unset, "");
    let output = here.command(&["validate", "a.yml"]).env("PERSON", "Ada").output().unwrap();
    check(&output, 0, "1 file: 1 valid\n", "");
}

#[test]
fn the_folder_of_the_suite_is_as_typed() {
    let suite = |folder: &str| GOOD.replace("{ name: search }", &format!("{{ name: search, status: {folder} }}"));
    // A value that is refused shows what `${SUITE_DIR}` stood for.
    let here = Folder::with(&[("a.yml", &suite("\"${SUITE_DIR}\"")), ("t/b.yml", &suite("\"${SUITE_DIR}\""))]);
    for (file, folder) in [("a.yml", "."), ("./a.yml", "."), ("t/b.yml", "t"), ("./t/b.yml", "./t")] {
        let output = here.command(&["validate", file]).output().unwrap();
        let text = String::from_utf8(output.stdout).unwrap();
        let first = text.lines().next().unwrap();
        let expected = format!(
            "{file}:6:39: error[wrong-type]: `status` must be one of any, ok, error, found a string (\"{folder}\")"
        );
        assert_eq!(first, expected);
    }
}

#[test]
fn control_characters_never_reach_the_terminal() {
    let here = Folder::with(&[("a.yml", "agents:\n  - name: \"a\"\n    \u{1b}[2Jmodel: x\n")]);
    here.write("b\u{1b}[2J.yml", b"\xff");
    let output = here.command(&["validate", "."]).output().unwrap();
    for bytes in [output.stdout, output.stderr] {
        let text = String::from_utf8(bytes).unwrap();
        assert!(text.contains("\\u{1b}[2J") && !text.contains('\u{1b}'), "{text}");
    }
}

#[cfg(target_os = "linux")]
#[test]
fn a_file_whose_name_is_not_utf8_is_found() {
    use std::os::unix::ffi::OsStrExt;
    let here = Folder::with(&[("t/a.yml", GOOD)]);
    std::fs::copy(here.0.join("t/a.yml"), here.0.join("t").join(std::ffi::OsStr::from_bytes(b"\xe9.yml"))).unwrap();
    here.check(&["validate", "t"], 0, "2 files: 2 valid\n", "");
}
