//! The action for GitHub: its scripts are taken out of `action.yml` and run by bash, as a runner would.
//!
//! What a runner fills in is filled in here: the variables of a step, and the files it writes to. The cache is GitHub's own.

use std::collections::BTreeMap;
use std::process::{Command, Output};

use mcptest_core::diag::Source;
use mcptest_core::suite::yaml;
use serde_json::Value;

use super::{Folder, check, root};

/// What the scripts may count on to find.
const PATH: &str = "/usr/local/bin:/usr/bin:/bin";

/// A suite with a passing and a failing test, on a script.
const SUITE: &str = r#"
servers:
  shop: { command: [mcptest, mock, --tools-from, "${SUITE_DIR}/tools.yml"] }
models:
  demo: { provider: script, script: script.yml }
agents:
  - { name: looks, model: demo, servers: [shop], prompt: Look., trajectory: { calls: [{ name: find }] } }
  - { name: pays, model: demo, servers: [shop], prompt: Pay., trajectory: { calls: [{ name: find }, { name: pay }] } }
"#;
const TOOLS: &str = "mock_server:\n  name: shop\n  tools: [{ name: find, answer: found }]\n";
const SCRIPT: &str = "script: 1\nruns:\n  - turns: [{ calls: [{ tool: find, args: {} }] }, { text: Here it is. }]\n";

fn action() -> Value {
    let text = std::fs::read_to_string(root().join("action.yml")).unwrap();
    yaml::read(&Source::new("action.yml", text)).unwrap().to_json()
}

fn steps(action: &Value) -> &[Value] {
    action["runs"]["steps"].as_array().unwrap()
}

/// The script of the step with this name.
fn script(name: &str) -> String {
    let action = action();
    let step = steps(&action).iter().find(|step| step["name"] == name).unwrap();
    step["run"].as_str().unwrap().to_owned()
}

/// A folder in which a step can run, with the files that a runner offers it.
fn workspace() -> Folder {
    let here = Folder::with(&[("suite.yml", SUITE), ("tools.yml", TOOLS), ("script.yml", SCRIPT)]);
    for name in ["of-the-runner/output", "of-the-runner/summary"] {
        here.write(name, b"");
    }
    here
}

/// Runs the script of a step as the shell `bash` of a composite action is run.
fn run(here: &Folder, name: &str, variables: &[(&str, &str)]) -> Output {
    here.write("of-the-runner/script.sh", script(name).as_bytes());
    let mut command = Command::new("bash");
    command.args(["--noprofile", "--norc", "-e", "-o", "pipefail", "of-the-runner/script.sh"]);
    command.current_dir(&here.0).env_clear().env("PATH", PATH).envs(variables.iter().copied());
    command.env("GITHUB_OUTPUT", here.0.join("of-the-runner/output"));
    command.env("GITHUB_STEP_SUMMARY", here.0.join("of-the-runner/summary"));
    command.output().unwrap()
}

/// The step that judges, with the program under test.
fn judge(here: &Folder, files: &str, args: &str, reports: &str) -> Output {
    let program = env!("CARGO_BIN_EXE_mcptest");
    run(here, "Run tests", &[("MCPTEST", program), ("FILES", files), ("ARGS", args), ("REPORTS", reports)])
}

fn read(here: &Folder, name: &str) -> String {
    std::fs::read_to_string(here.0.join(name)).unwrap()
}

/// A program that writes down its folder, a variable and its arguments, one per line and each followed by a mark.
const WITNESS: &str = "#!/bin/sh\n{ pwd; echo \"$RUSTUP_TOOLCHAIN\"; for each; do printf '%s|\\n' \"$each\"; done; }";

/// What it writes of these arguments.
fn marked(words: &[&str]) -> String {
    words.join("|\n") + "|\n"
}

/// Makes a program that writes into `reported` of the folder.
fn witness(here: &Folder, path: &str, reported: &str) {
    use std::os::unix::fs::PermissionsExt;
    here.write(path, format!("{WITNESS} > '{}'\n", here.0.join(reported).display()).as_bytes());
    std::fs::set_permissions(here.0.join(path), std::fs::Permissions::from_mode(0o755)).unwrap();
}

/// The names of the entries of a folder, in order.
fn names(folder: &std::path::Path) -> Vec<String> {
    let mut names: Vec<String> =
        std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort_unstable();
    names
}

#[test]
fn nothing_from_outside_becomes_part_of_a_script() {
    let action = action();
    let mut scripts = 0;
    for step in steps(&action) {
        let Some(script) = step["run"].as_str() else { continue };
        scripts += 1;
        assert_eq!(step["shell"], "bash", "{step}");
        assert!(!script.contains("${{"), "{script}");
    }
    assert_eq!(scripts, 3);
}

#[test]
fn every_input_reaches_the_step_that_judges_and_none_is_used_elsewhere() {
    let action = action();
    let mut used = BTreeMap::new();
    for step in steps(&action) {
        for value in step["env"].as_object().into_iter().flatten().map(|(_, value)| value.as_str().unwrap()) {
            if let Some(name) = value.strip_prefix("${{ inputs.").and_then(|rest| rest.strip_suffix(" }}")) {
                used.insert(name.to_owned(), step["name"].as_str().unwrap().to_owned());
            }
        }
        let elsewhere = step["with"].to_string() + &step["if"].to_string();
        assert!(!elsewhere.contains("inputs."), "{step}");
    }
    let inputs = action["inputs"].as_object().unwrap().keys().map(|name| (name.clone(), "Run tests".to_owned()));
    assert_eq!(used, inputs.collect());
}

#[test]
fn a_run_prints_the_report_and_the_annotations_and_sets_every_output() {
    let here = workspace();
    let ran = judge(&here, "suite.yml\n", "", "out/reports");
    let plain = here.command(&["run", "suite.yml"]).output().unwrap();
    let noted = here.command(&["report", "out/reports/report.json", "--reporter", "github"]).output().unwrap();
    let both = String::from_utf8([plain.stdout, noted.stdout].concat()).unwrap();
    assert!(both.contains("1 passed, 1 failed") && both.contains("::error file=suite.yml,line="), "{both}");
    check(&ran, 1, &both, "");
    let output = read(&here, "of-the-runner/output");
    assert_eq!(
        output,
        "exit-code=1\nhtml=./out/reports/report.html\njson=./out/reports/report.json\njunit=./out/reports/report.xml\n"
    );
    let mut set: Vec<&str> = output.lines().map(|line| line.split_once('=').unwrap().0).collect();
    set.sort_unstable();
    let action = action();
    let declared = action["outputs"].as_object().unwrap();
    assert_eq!(set, declared.keys().map(String::as_str).collect::<Vec<_>>());
    for (name, output) in declared {
        assert_eq!(output["value"], format!("${{{{ steps.run.outputs.{name} }}}}"));
    }
    let summary = here.command(&["report", "out/reports/report.json", "--reporter", "markdown"]).output().unwrap();
    assert_eq!(read(&here, "of-the-runner/summary"), String::from_utf8(summary.stdout).unwrap());
}

#[test]
fn arguments_select_tests_and_a_passing_run_exits_with_0() {
    let here = workspace();
    let ran = judge(&here, "suite.yml", "--filter\nlooks\n\n", "reports");
    assert_eq!(ran.status.code(), Some(0), "{ran:?}");
    assert!(String::from_utf8_lossy(&ran.stdout).contains("\n1 test, 1 run: 1 passed\n"), "{ran:?}");
    // Nothing named: the suite of the folder.
    here.write("mcptest.yml", SUITE.as_bytes());
    let ran = judge(&here, "", "--filter\r\nlooks\r\n", "reports");
    assert!(String::from_utf8_lossy(&ran.stdout).starts_with("mcptest.yml\n"), "{ran:?}");
    assert_eq!(ran.status.code(), Some(0), "{ran:?}");
}

#[test]
fn an_error_exits_with_2_and_removes_the_previous_report() {
    let here = workspace();
    assert_eq!(judge(&here, "suite.yml", "", "reports").status.code(), Some(1));
    here.write("of-the-runner/output", b"");
    let ran = judge(&here, "suite.yml", "--no-such-flag", "reports");
    assert_eq!(ran.status.code(), Some(2), "{ran:?}");
    assert_eq!(read(&here, "of-the-runner/output"), "exit-code=2\n");
    assert_eq!(names(&here.0.join("reports")), [""; 0]);
}

#[test]
fn a_report_folder_that_is_a_file_is_refused() {
    for (reports, reason) in [
        ("", "the input `reports` is empty; hint: name a folder, or omit the input"),
        ("a\nhtml=/etc/passwd", "the input `reports` has several lines; hint: name one folder"),
        ("a\rb", "the input `reports` has several lines; hint: name one folder"),
    ] {
        let here = workspace();
        check(&judge(&here, "suite.yml", "", reports), 2, &format!("::error title=mcptest::{reason}\n"), "");
        assert_eq!(read(&here, "of-the-runner/output"), "exit-code=2\n", "{reports:?}");
    }
}

/// Two traces; the second lacks a call.
const TRACES: &str = r#"{"id":"a","tool_calls":[{"name":"find"}],"tool_results":[null],"final_response":"Found."}
{"id":"b","tool_calls":[],"tool_results":[],"final_response":"Found."}
"#;

#[test]
fn with_gates_traces_are_scored_and_reported_the_same_way() {
    let here = workspace();
    here.write("traces.jsonl", TRACES.as_bytes());
    here.write("gates.yml", b"trajectory: { calls: [{ name: find }] }\n");
    let program = env!("CARGO_BIN_EXE_mcptest");
    let score = |files: &str, gates: &str, untrusted: &str| {
        here.write("of-the-runner/output", b"");
        let variables = [
            ("MCPTEST", program),
            ("FILES", files),
            ("GATES", gates),
            ("REPORTS", "reports"),
            ("UNTRUSTED", untrusted),
        ];
        run(&here, "Run tests", &variables)
    };
    let ran = score("traces.jsonl", "gates.yml", "false");
    let line = ["score", "--output", "pretty", "--gates=gates.yml", "traces.jsonl"];
    let plain = here.command(&line).output().unwrap();
    let noted = here.command(&["report", "reports/report.json", "--reporter", "github"]).output().unwrap();
    let both = String::from_utf8([plain.stdout, noted.stdout].concat()).unwrap();
    assert!(both.contains("PASS      a") && both.contains("FAIL      b") && both.contains("::error "), "{both}");
    check(&ran, 1, &both, "2 traces: 1 passed, 1 failed\n");
    assert_eq!(
        read(&here, "of-the-runner/output"),
        "exit-code=1\nhtml=./reports/report.html\njson=./reports/report.json\njunit=./reports/report.xml\n"
    );
    // A gates file of a stranger reads no variable.
    here.write("secret.yml", b"expect: [{ target: final_response, matcher: { exact: \"${REPORTS}\" } }]\n");
    let ran = score("traces.jsonl", "secret.yml", "true");
    assert_eq!(ran.status.code(), Some(2), "{ran:?}");
    assert!(String::from_utf8_lossy(&ran.stderr).contains("error[variable-not-set]"), "{ran:?}");
    for (files, gates, why) in [
        ("", "gates.yml", "the input `files` is empty; hint: name the traces that `gates` judges"),
        ("traces.jsonl", "a\nb", "the input `gates` has several lines; hint: name one file"),
    ] {
        check(&score(files, gates, "auto"), 2, &format!("::error title=mcptest::{why}\n"), "");
    }
}

/// Texts that would do something if a shell, or the program, took them for more than a name.
const HOSTILE: [&str; 9] = [
    "; touch pwned",
    "$(touch pwned)",
    "`touch pwned`",
    "x' ; touch pwned ; '",
    "x\" ; touch pwned ; \"",
    "&& touch pwned #",
    "* ?[a]",
    "\\",
    "a  b\t c",
];

/// The text with `DATE` in place of the date of a label.
fn dateless(text: &str) -> String {
    let (before, after) = text.split_once("date=").unwrap();
    let (date, after) = after.split_at(10);
    let digits = date.bytes().filter(u8::is_ascii_digit).count();
    assert!(digits == 8 && date.matches('-').count() == 2, "{date}");
    format!("{before}date=DATE{after}")
}

#[test]
fn hostile_inputs_are_passed_on_unchanged() {
    for text in HOSTILE {
        let here = workspace();
        witness(&here, "of-the-runner/mcptest", "of-the-runner/reported");
        let program = here.0.join("of-the-runner/mcptest");
        let before = names(&here.0);
        let variables = [
            ("MCPTEST", program.to_str().unwrap()),
            ("FILES", text),
            ("ARGS", text),
            ("REPORTS", text),
            ("COMMIT", "1a2b3c4"),
        ];
        let ran = run(&here, "Run tests", &variables);
        check(&ran, 0, "", "");
        let reports = format!("./{text}");
        let expected = [
            "run",
            "--label",
            "commit=1a2b3c4",
            "--label",
            "date=DATE",
            text,
            "--reporter",
            &format!("html={reports}/report.html"),
            "--reporter",
            &format!("json={reports}/report.json"),
            "--reporter",
            &format!("junit={reports}/report.xml"),
            "--",
            text,
        ];
        let reported = read(&here, "of-the-runner/reported");
        assert_eq!(dateless(reported.splitn(3, '\n').nth(2).unwrap()), marked(&expected), "{text}");
        // The report folder has the hostile name, and nothing else was created.
        let mut after = before;
        after.push(text.to_owned());
        after.sort_unstable();
        assert_eq!(names(&here.0), after, "{text}");
    }
}

#[test]
fn hostile_inputs_are_treated_as_missing_files() {
    for text in HOSTILE.into_iter().chain(["--record", "-"]) {
        let here = workspace();
        let ran = judge(&here, text, "", text);
        assert_eq!(ran.status.code(), Some(2), "{text}: {ran:?}");
        assert!(!here.0.join("pwned").exists() && !here.0.join("cassettes").exists(), "{text}: {ran:?}");
        assert!(read(&here, "of-the-runner/output").starts_with("exit-code=2\n"), "{text}");
    }
}

#[test]
fn pull_requests_from_forks_are_not_trusted() {
    let action = action();
    let judge = steps(&action).iter().find(|step| step["name"] == "Run tests").unwrap();
    let fork =
        "github.event.pull_request != null && github.event.pull_request.head.repo.full_name != github.repository";
    assert_eq!(judge["env"]["FORK"], format!("${{{{ {fork} }}}}"));
    let here = workspace();
    witness(&here, "of-the-runner/mcptest", "reported");
    let program = here.0.join("of-the-runner/mcptest");
    for (untrusted, fork, expected) in [
        ("auto", "true", true),
        ("auto", "false", false),
        ("true", "false", true),
        ("true", "true", true),
        ("false", "true", false),
    ] {
        let variables =
            [("MCPTEST", program.to_str().unwrap()), ("REPORTS", "out"), ("UNTRUSTED", untrusted), ("FORK", fork)];
        assert_eq!(run(&here, "Run tests", &variables).status.code(), Some(0));
        assert_eq!(read(&here, "reported").contains("--untrusted|\n"), expected, "{untrusted} {fork}");
    }
    let odd = run(&here, "Run tests", &[("REPORTS", "out"), ("UNTRUSTED", "yes")]);
    let why = "::error title=mcptest::the input `untrusted` must be `auto`, `true` or `false`\n";
    check(&odd, 2, why, "");
    std::os::unix::fs::symlink("out", here.0.join("link")).unwrap();
    for folder in ["link", "link/"] {
        let linked = run(&here, "Run tests", &[("REPORTS", folder)]);
        let why = "the folder of the input `reports` is a symbolic link; hint: name another folder";
        check(&linked, 2, &format!("::error title=mcptest::{why}\n"), "");
    }
}

#[test]
fn the_program_is_built_from_the_sources_of_the_action_in_any_folder() {
    let here = Folder::with(&[("a 'folder' $(touch pwned)/Cargo.toml", "")]);
    let source = here.0.join("a 'folder' $(touch pwned)");
    for tool in ["cargo", "rustup"] {
        witness(&here, &format!("tools/{tool}"), &format!("{tool}.reported"));
    }
    here.write("of-the-runner/output", b"");
    let path = format!("{}:{PATH}", here.0.join("tools").display());
    let variables =
        [("PATH", &*path), ("SOURCE", source.to_str().unwrap()), ("PLACE", "/some place/x"), ("RUST", "1.2")];
    check(&run(&here, "Build", &variables), 0, "", "");
    assert_eq!(
        read(&here, "rustup.reported"),
        format!(
            "{}\n\n{}",
            here.0.display(),
            marked(&["toolchain", "install", "1.2", "--profile", "minimal", "--no-self-update"])
        )
    );
    let install = marked(&["install", "--locked", "--path", "crates/cli", "--root", "/some place/x"]);
    assert_eq!(read(&here, "cargo.reported"), format!("{}\n1.2\n{install}", source.display()));
    assert_eq!(names(&here.0).len(), 5, "{:?}", names(&here.0));
}

/// What the first step finds out about sources.
fn found_out(source: &str) -> BTreeMap<String, String> {
    let here = workspace();
    let ran = run(&here, "Identify the sources", &[("SOURCE", source), ("PLACE", "/some place")]);
    check(&ran, 0, "", "");
    let output = read(&here, "of-the-runner/output");
    output.lines().map(|line| line.split_once('=').unwrap()).map(|(key, value)| (key.into(), value.into())).collect()
}

#[test]
fn the_key_of_the_cache_follows_the_sources_and_nothing_else() {
    let manifest = "[workspace.package]\nrust-version = \"1.2\"\n";
    let here = Folder::with(&[("Cargo.toml", manifest), ("Cargo.lock", "a"), ("crates/a b/x.rs", "x")]);
    let source = here.0.to_str().unwrap();
    let first = found_out(source);
    assert_eq!((&*first["rust"], &*first["place"], first.len()), ("1.2", "/some place", 3));
    here.write("README.md", b"other words");
    assert_eq!(found_out(source), first);
    let mut seen = vec![first["hash"].clone()];
    here.write("crates/a b/x.rs", b"y");
    seen.push(found_out(source)["hash"].clone());
    std::fs::rename(here.0.join("crates/a b/x.rs"), here.0.join("crates/a b/y.rs")).unwrap();
    seen.push(found_out(source)["hash"].clone());
    here.write("Cargo.lock", b"b");
    seen.push(found_out(source)["hash"].clone());
    let mut distinct = seen.clone();
    distinct.sort_unstable();
    distinct.dedup();
    assert_eq!(distinct.len(), 4, "{seen:?}");
    assert!(seen.iter().all(|hash| hash.len() >= 40 && hash.bytes().all(|byte| byte.is_ascii_hexdigit())), "{seen:?}");
}

#[test]
fn the_repository_pins_its_rust_version() {
    let found = found_out(root().to_str().unwrap());
    let text = std::fs::read_to_string(root().join("Cargo.toml")).unwrap();
    assert!(text.contains(&format!("\nrust-version = \"{}\"\n", found["rust"])), "{found:?}");
}

#[test]
fn programs_run_again_only_where_suites_are_trusted() {
    let here = workspace();
    here.write("program", b"#!/bin/sh\necho \"$@\" > arguments\n");
    let program = here.0.join("program");
    std::fs::set_permissions(&program, std::os::unix::fs::PermissionsExt::from_mode(0o700)).unwrap();
    let step = |rerun: &str, untrusted: &str| {
        let program = program.to_str().unwrap();
        let variables =
            [("MCPTEST", program), ("FILES", "s.yml"), ("REPORTS", "r"), ("RERUN", rerun), ("UNTRUSTED", untrusted)];
        let output = run(&here, "Run tests", &variables);
        (output.status.code(), String::from_utf8(output.stdout).unwrap())
    };
    let arguments = || dateless(&read(&here, "arguments"));
    let rest = "--label commit= --label date=DATE --reporter html=./r/report.html --reporter json=./r/report.json --reporter junit=./r/report.xml -- s.yml\n";
    assert_eq!(step("true", "auto"), (Some(0), String::new()));
    assert_eq!(arguments(), format!("run --rerun {rest}"));
    assert_eq!(step("false", "auto"), (Some(0), String::new()));
    assert_eq!(arguments(), format!("run {rest}"));
    let warning = "::warning title=mcptest::the suites are untrusted, so recordings are replayed and no program runs\n"
        .to_owned();
    assert_eq!(step("true", "true"), (Some(0), warning));
    assert_eq!(arguments(), format!("run --untrusted {rest}"));
    let refused = "::error title=mcptest::the input `rerun` must be `true` or `false`\n".to_owned();
    assert_eq!(step("maybe", "auto"), (Some(2), refused));
}
