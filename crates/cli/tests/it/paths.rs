//! Names and paths that mean harm: nothing is written but below the cassettes of a suite, nothing is read that a recording
//! names, and anything that is not a regular file is rejected at once.

use std::collections::BTreeSet;
use std::fs;
use std::io::Write as _;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::thread;
use std::time::Duration;

use mcptest_core::json;
use mcptest_runner::cassette::{Cassette, Folder as Cassettes};
use serde_json::Value;

use super::one_tool::{SCRIPT, SUITE, TOOLS, world};
use super::{Folder, check};

const AT: &str = "cassettes/suite/t/demo/1.json";

/// Runs a command that must end on its own within half a minute, in an address space of 4 GB.
#[track_caller]
fn bounded(here: &Folder, line: &[&str]) -> Output {
    let mut command = Command::new("sh");
    command.args(["-c", "ulimit -v 4000000; exec \"$0\" \"$@\"", env!("CARGO_BIN_EXE_mcptest")]).args(line);
    command.current_dir(&here.0).env_clear().stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let ended = (0..3000).any(|_| {
        let ended = child.try_wait().unwrap().is_some();
        if !ended {
            thread::sleep(Duration::from_millis(10));
        }
        ended
    });
    if !ended {
        child.kill().unwrap();
    }
    let output = child.wait_with_output().unwrap();
    assert!(ended, "{line:?} did not end");
    output
}

fn pipe(path: &Path) {
    assert!(Command::new("mkfifo").arg(path).status().unwrap().success());
}

/// The paths of all files below a folder; links are not followed.
fn files(folder: &Path) -> BTreeSet<String> {
    let mut out = BTreeSet::new();
    let mut pending = vec![folder.to_owned()];
    while let Some(next) = pending.pop() {
        for entry in fs::read_dir(next).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() && !path.is_symlink() {
                pending.push(path);
            } else {
                out.insert(path.strip_prefix(folder).unwrap().to_str().unwrap().to_owned());
            }
        }
    }
    out
}

/// Hostile names of tests, models and faults.
fn names() -> Vec<String> {
    let mut names: Vec<String> = [
        "../../x",
        "..",
        ".",
        "/etc/passwd",
        "a/b",
        "a\\b",
        "nul\0byte",
        "line\nbreak",
        "\u{e9}t\u{e9}",
        "e\u{301}te\u{301}",
        "CON",
        "con",
        "nul",
        "dots...",
        "space ",
        "A",
        "a",
        "a-559aead0",
        "日本",
        "cf2abf0c",
        "-",
        "~",
        "$HOME",
        "*",
        "\u{202e}gpj",
        ".1.json.new",
        "1.json",
    ]
    .map(str::to_owned)
    .into();
    names.push("long ".repeat(2000));
    names
}

#[test]
fn hostile_names_get_distinct_paths_below_the_cassette_folder() {
    let names = names();
    let quoted = |name: &str| json::canonical(&Value::from(name));
    // A server has a plain name or is refused, so there is one for all.
    let mut suite =
        String::from("servers: { desk: { command: [mcptest, mock, --tools-from, \"${SUITE_DIR}/tools.yml\"] } }\n");
    suite.push_str("models:\n");
    for name in &names {
        suite.push_str(&format!("  ? {}\n  : {{ provider: script, script: script.yml }}\n", quoted(name)));
    }
    suite.push_str("faults:\n");
    for name in &names {
        suite.push_str(&format!("  - {{ name: {}, target: {{ tool: other }}, kind: hang }}\n", quoted(name)));
    }
    suite.push_str("agents:\n");
    for (at, name) in names.iter().enumerate() {
        let (name, next) = (quoted(name), quoted(&names[(at + 1) % names.len()]));
        suite.push_str(&format!("  - name: {name}\n    models: [{name}, {next}]\n    servers: [desk]\n"));
        suite.push_str(&format!("    inject: [{name}]\n    prompt: Do it.\n    recovery: {{ require_hit: false }}\n"));
    }
    let here = Folder::with(&[
        ("work/deep/suite.yml", &suite),
        ("work/deep/tools.yml", TOOLS),
        ("work/deep/script.yml", SCRIPT),
        ("home/.keep", ""),
        ("tmp/.keep", ""),
    ]);
    let before = files(&here.0);
    let command = |line: &[&str]| {
        let mut command = here.command(line);
        command
            .env("HOME", here.0.join("home"))
            .env("TMPDIR", here.0.join("tmp"))
            .current_dir(here.0.join("work/deep"));
        command.output().unwrap()
    };
    let recorded = command(&["run", "suite.yml", "--record", "-q"]);
    assert_eq!(recorded.status.code(), Some(0), "{recorded:?}");
    let new: Vec<String> = files(&here.0).difference(&before).cloned().collect();
    assert_eq!(new.len(), 2 * names.len());
    // Folders that differ in case alone are one folder on some systems, and some characters cannot be in a name on others.
    let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    for path in &new {
        let parts: Vec<&str> = path.split('/').collect();
        assert_eq!((&parts[..4], parts[6]), (&["work", "deep", "cassettes", "suite"][..], "1.json"), "{path}");
        assert!(parts[4..6].iter().all(|part| part.chars().all(plain) && (1..=60).contains(&part.len())), "{path}");
        assert!(parts[4..6].iter().all(|part| !["con", "nul"].contains(part)), "{path}");
    }
    let replayed = command(&["run", "suite.yml", "-q"]);
    assert_eq!(replayed.status.code(), Some(0), "{replayed:?}");
    let listed = command(&["cassette", "list", "suite.yml"]);
    assert_eq!(listed.status.code(), Some(0), "{listed:?}");
    assert!(String::from_utf8(listed.stdout).unwrap().ends_with(&format!("{0} cassettes: {0} ok\n", 2 * names.len())));
    assert_eq!(files(&here.0).len(), before.len() + new.len());
}

#[test]
fn a_suite_named_with_dots_keeps_its_cassettes_below_cassettes() {
    for name in ["..yml", "...yml", "....yaml"] {
        let here = Folder::with(&[(name, SUITE), ("tools.yml", TOOLS), ("script.yml", SCRIPT)]);
        let before = files(&here.0);
        assert_eq!(here.command(&["run", name, "--record"]).status().unwrap().code(), Some(0));
        let new: Vec<String> = files(&here.0).difference(&before).cloned().collect();
        let parts: Vec<&str> = new[0].split('/').collect();
        assert!(new.len() == 1 && parts[0] == "cassettes" && parts[1].len() == 8 && parts[2] == "t", "{new:?}");
    }
}

#[test]
fn nothing_is_recorded_through_a_symbolic_link() {
    // Each with the text that fits on its line, and the text on the next one.
    for (link, room, rest) in [
        ("cassettes", "not written through", "links"),
        ("cassettes/suite", "not written", "through links"),
        ("cassettes/suite/t", "not written", "through links"),
        ("cassettes/suite/t/demo", "not written", "through links"),
        (AT, "not", "written through links"),
    ] {
        let here = world();
        assert_eq!(here.command(&["run", "suite.yml", "--record"]).status().unwrap().code(), Some(0));
        // What was recorded lies elsewhere, and a link leads there.
        fs::rename(here.0.join(link), here.0.join("elsewhere")).unwrap();
        symlink(here.0.join("elsewhere"), here.0.join(link)).unwrap();
        let before = files(&here.0);
        let recording = here.0.join(AT);
        let text = fs::read_to_string(&recording).unwrap();
        let hint = "replace it with a regular file or folder; only replay follows links";
        let reported = format!(
            "suite.yml\n! ERROR     t  scripted\n    error[symbolic-link]: {link}: is a symbolic link, and recordings are {room}\n      \
             {rest}\n    hint: {hint}\n    at suite.yml:4:11\n      |\n    4 |   - name: t\n      |           ^\n\n\
             for more: mcptest explain symbolic-link\n1 test, 1 run: 1 error\n"
        );
        here.check(&["run", "suite.yml", "--record"], 2, &reported, "");
        assert_eq!((files(&here.0), fs::read_to_string(&recording).unwrap()), (before, text), "{link}");
        assert_eq!(here.command(&["run", "suite.yml"]).status().unwrap().code(), Some(0), "{link}");
    }
    // The folder of the suite may be a link.
    let here = world();
    let other = Folder::with(&[]);
    symlink(&here.0, other.0.join("linked")).unwrap();
    assert_eq!(other.command(&["run", "linked/suite.yml", "--record"]).status().unwrap().code(), Some(0));
    assert!(here.0.join(AT).is_file());
}

#[test]
fn a_link_or_pipe_in_place_of_a_temporary_file_is_not_followed() {
    let here = world();
    assert_eq!(here.command(&["run", "suite.yml", "--record"]).status().unwrap().code(), Some(0));
    here.write("precious", b"mine");
    let other = here.0.join("cassettes/suite/t/demo/.1.json.new");
    symlink(here.0.join("precious"), &other).unwrap();
    assert_eq!(bounded(&here, &["run", "suite.yml", "--record"]).status.code(), Some(0));
    fs::hard_link(here.0.join("precious"), &other).unwrap();
    assert_eq!(bounded(&here, &["run", "suite.yml", "--record"]).status.code(), Some(0));
    pipe(&other);
    assert_eq!(bounded(&here, &["run", "suite.yml", "--record"]).status.code(), Some(0));
    assert_eq!(fs::read(here.0.join("precious")).unwrap(), b"mine");
    // A recording with a second name is replaced under its own, and stays what it was under the other.
    fs::remove_file(here.0.join(AT)).unwrap();
    fs::hard_link(here.0.join("precious"), here.0.join(AT)).unwrap();
    assert_eq!(bounded(&here, &["run", "suite.yml", "--record"]).status.code(), Some(0));
    assert_eq!(fs::read(here.0.join("precious")).unwrap(), b"mine");
    assert_eq!(bounded(&here, &["run", "suite.yml"]).status.code(), Some(0));
}

#[test]
fn no_path_in_a_recording_is_ever_opened() {
    let here = world();
    assert_eq!(here.command(&["run", "suite.yml", "--record"]).status().unwrap().code(), Some(0));
    // Whoever opens this waits for ever.
    let trap = here.0.join("trap");
    pipe(&trap);
    let trap = trap.to_str().unwrap();
    let recording = here.0.join(AT);
    let mut cassette = Cassette::open(&recording).unwrap();
    let text = cassette.to_text();
    for key in ["script", "path", "file", "$ref", "cwd"] {
        cassette.observed[key] = trap.into();
    }
    cassette.advisory = Some(serde_json::json!({ "script": trap, "url": format!("file://{trap}") }));
    cassette.trace.final_response = Some(format!("@{trap}").into());
    cassette.trace.conversation.turns = None;
    fs::write(&recording, cassette.to_text()).unwrap();
    let lines: [&[&str]; 6] = [
        &["run", "suite.yml", "--reporter", "html=a.html", "--reporter", "json=a.json"],
        &["report", "a.json"],
        &["cassette", "list", "suite.yml"],
        &["cassette", "show", AT],
        &["cassette", "prune", "suite.yml", "--yes"],
        &["score", AT],
    ];
    for line in lines {
        let output = bounded(&here, line);
        assert_eq!(output.status.code(), Some(0), "{line:?}: {output:?}");
    }
    // Inputs that name the trap are stale, and no more.
    cassette.inputs["model"]["script"] = trap.into();
    cassette.inputs["servers"]["desk"]["cwd"] = trap.into();
    Cassettes::of(&here.0.join("suite.yml")).save(&cassette).unwrap();
    let stale = bounded(&here, &["run", "suite.yml"]);
    let reported = String::from_utf8(stale.stdout).unwrap();
    assert!(stale.status.code() == Some(2) && reported.contains("1.json: stale: `model.script` was"), "{reported}");
    // A recording whose test is named like the trap is that of another test.
    fs::write(&recording, text.replace("\"test\": \"t\"", &format!("\"test\": \"{trap}\""))).unwrap();
    let moved = bounded(&here, &["run", "suite.yml"]);
    assert_eq!(moved.status.code(), Some(2), "{moved:?}");
}

#[test]
fn only_regular_files_are_read() {
    let here = world();
    assert_eq!(here.command(&["run", "suite.yml", "--record"]).status().unwrap().code(), Some(0));
    assert_eq!(here.command(&["run", "suite.yml", "--reporter", "json=run.json"]).status().unwrap().code(), Some(0));
    fs::copy(here.0.join(AT), here.0.join("trace.json")).unwrap();
    pipe(&here.0.join("pipe"));
    symlink("/dev/zero", here.0.join("device")).unwrap();
    fs::File::create(here.0.join("endless")).unwrap().set_len(10 << 30).unwrap();
    here.write("scripted.yml", SUITE.replace("script.yml", "odd").as_bytes());
    let limit = |bytes: u64| format!("has more than {bytes} bytes, the limit");
    for (odd, why) in [("pipe", "a pipe"), ("device", "a device"), ("endless", "")] {
        let refusal = |bytes: u64| match why {
            "" => limit(bytes),
            why => format!("cannot be read: it is {why}, and only regular files are read"),
        };
        let place = |at: &str| {
            let _ = fs::remove_file(here.0.join(at));
            fs::rename(here.0.join(odd), here.0.join(at)).unwrap();
        };
        // What is written by people.
        place("odd");
        let written = refusal(16 << 20);
        let lines: [&[&str]; 6] = [
            &["run", "odd"],
            &["validate", "odd"],
            &["run", "scripted.yml"],
            &["validate", "scripted.yml"],
            &["mock", "--tools-from", "odd"],
            &["score", "trace.json", "--gates", "odd"],
        ];
        let reported = |line: &[&str], wanted: &str| {
            let output = bounded(&here, line);
            let reported = String::from_utf8([output.stdout, output.stderr].concat()).unwrap();
            let flat = reported.split_whitespace().collect::<Vec<_>>().join(" ");
            assert!(
                output.status.code() == Some(2) && flat.contains(wanted) && flat.contains("hint: "),
                "{line:?}: {reported}"
            );
        };
        for line in lines {
            reported(line, &format!("odd: {written}"));
        }
        // What the program wrote.
        reported(&["report", "odd"], &format!("odd: {}", refusal(1 << 30)));
        reported(&["run", "suite.yml", "--compare", "odd"], &format!("odd: {}", refusal(1 << 30)));
        reported(&["cassette", "show", "odd"], &format!("odd: {}", refusal(256 << 20)));
        // Traces have no size limit, and a file that is not a record is rejected at once.
        let record = if why.is_empty() {
            "byte 0: a record is an object or a list, found byte 0x00".to_owned()
        } else {
            written
        };
        reported(&["score", "odd"], &format!("odd: {record}"));
        reported(&["convert", "odd"], &format!("odd: {record}"));
        fs::rename(here.0.join("odd"), here.0.join(odd)).unwrap();
        // A recording in its place.
        fs::rename(here.0.join(AT), here.0.join("kept")).unwrap();
        place(AT);
        reported(&["run", "suite.yml"], &format!("{AT}: {}", refusal(256 << 20)));
        let listed = bounded(&here, &["cassette", "list", "suite.yml"]);
        let shown = format!("suite.yml\n  broken   {AT}: {}\n\n1 cassette: 1 broken\n", refusal(256 << 20));
        let hint = "hint: to re-record what is stale, broken or missing: mcptest run --record suite.yml\n";
        check(&listed, 2, &(shown + hint), "");
        fs::rename(here.0.join(AT), here.0.join(odd)).unwrap();
        fs::rename(here.0.join("kept"), here.0.join(AT)).unwrap();
    }
    // A folder in the place of a recording.
    fs::remove_file(here.0.join(AT)).unwrap();
    fs::create_dir(here.0.join(AT)).unwrap();
    let output = bounded(&here, &["run", "suite.yml"]);
    let reported = String::from_utf8(output.stdout).unwrap();
    assert!(
        output.status.code() == Some(2) && reported.contains("1.json: cannot be read: Is a directory"),
        "{reported}"
    );
}

#[test]
fn process_substitution_is_read_like_a_file() {
    let here = world();
    for (line, file) in [
        (&["validate", "/dev/stdin"][..], "script.yml"),
        (&["validate", "/dev/fd/0"], "tools.yml"),
        (&["score", "/dev/fd/0"], AT),
    ] {
        assert_eq!(here.command(&["run", "suite.yml", "--record"]).status().unwrap().code(), Some(0));
        let mut command = here.command(line);
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
        child.stdin.take().unwrap().write_all(&fs::read(here.0.join(file)).unwrap()).unwrap();
        let output = child.wait_with_output().unwrap();
        assert_eq!(output.status.code(), Some(0), "{line:?}: {output:?}");
    }
}

#[test]
fn a_script_may_be_outside_the_folder_of_its_suite() {
    let here = Folder::with(&[
        ("tests/deep/suite.yml", &SUITE.replace("script.yml", "../../shared/script.yml")),
        ("tests/deep/tools.yml", TOOLS),
        ("shared/script.yml", SCRIPT),
    ]);
    assert_eq!(here.command(&["run", "tests/deep/suite.yml", "--record"]).status().unwrap().code(), Some(0));
    assert_eq!(here.command(&["run", "tests/deep/suite.yml"]).status().unwrap().code(), Some(0));
    assert_eq!(files(&here.0.join("shared")), BTreeSet::from(["script.yml".to_owned()]));
}

#[test]
fn a_named_pipe_is_refused_with_the_way_to_read_it() {
    let folder = Folder::with(&[]);
    pipe(&folder.0.join("pipe"));
    let stderr = "\
error[read-failed]: pipe: cannot be read: it is a pipe, and only regular files are read
hint: to read a pipe, make it standard input: `- < pipe`
0 traces
1 record or input could not be read
";
    folder.check(&["score", "pipe", "--output", "none"], 2, "", stderr);
}
