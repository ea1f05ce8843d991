//! Suites of strangers: with `--untrusted` nothing is started, reached, read or reported that a pull request from a fork may point
//! at, and recordings are judged as usual. The traps here detect any violation.

use std::fs;
use std::net::TcpListener;
use std::os::unix::fs::symlink;
use std::process::{Output, Stdio};

use mcptest_runner::cassette::Folder as Cassettes;

use super::Folder;
use super::one_tool::{SCRIPT, SUITE, TOOLS, world};

/// In files outside of the suite's folder, and in the environment.
const SECRET: &str = "violet-otter-4711";

/// What a command says, with every report, in an environment with a secret.
fn reported(here: &Folder, line: &[&str]) -> (Option<i32>, String) {
    let mut command = here.command(line);
    command.env("CANARY", SECRET).env("MODEL", "demo").stdin(Stdio::null());
    let Output { status, stdout, stderr } = command.output().unwrap();
    (status.code(), String::from_utf8([stdout, stderr].concat()).unwrap())
}

fn test(name: &str, model: &str, keys: &str) -> String {
    format!("  - {{ name: {name}, model: {model}, prompt: \"Do ${{CANARY}}.\", {keys} }}\n")
}

const GATE: &str = "trajectory: { calls: [{ name: search }] }";

#[test]
fn nothing_is_started_and_nothing_is_reached() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    listener.set_nonblocking(true).unwrap();
    let port = listener.local_addr().unwrap().port();
    let mut suite = format!(
        "servers:\n  desk: {{ command: [touch, \"${{SUITE_DIR}}/marker\"] }}\n  far: {{ url: \"http://127.0.0.1:{port}/mcp\", timeout_ms: 500 }}\n\
         models:\n  demo: {{ provider: script, script: script.yml }}\n  \
         far: {{ provider: openai, base_url: \"http://127.0.0.1:{port}/v1\" }}\nagents:\n"
    );
    suite += &test("by command", "demo", &format!("servers: [desk], {GATE}"));
    suite += &test("by address", "demo", &format!("servers: [far], {GATE}"));
    suite += &test("by model", "far", GATE);
    let here = Folder::with(&[("suite.yml", &suite), ("script.yml", SCRIPT)]);
    let (code, text) = reported(&here, &["run", "suite.yml", "--untrusted", "--reporter", "json=report.json"]);
    assert_eq!(code, Some(2), "{text}");
    let sealed = "`--untrusted` starts no server and calls no model";
    assert_eq!(text.split_whitespace().collect::<Vec<_>>().join(" ").matches(sealed).count(), 2, "{text}");
    assert!(text.ends_with("\n3 tests, 3 runs: 3 errors\n"), "{text}");
    assert!(!here.0.join("marker").exists(), "a server was started");
    assert!(listener.accept().is_err(), "something was reached");
    // The same traps do catch a run that is trusted.
    assert_eq!(reported(&here, &["run", "suite.yml", "--filter", "by command"]).0, Some(2));
    assert!(here.0.join("marker").exists());
    assert_eq!(reported(&here, &["run", "suite.yml", "--live", "--filter", "by address"]).0, Some(2));
    assert!(listener.accept().is_ok());
}

#[test]
fn recordings_are_judged_as_if_they_were_trusted() {
    let here = world();
    assert_eq!(reported(&here, &["run", "suite.yml", "--record"]).0, Some(0));
    let trusted = reported(&here, &["run", "suite.yml"]);
    assert_eq!(trusted.0, Some(0), "{}", trusted.1);
    assert_eq!(reported(&here, &["run", "suite.yml", "--untrusted"]), trusted);
    assert_eq!(reported(&here, &["run", ".", "--untrusted"]).0, Some(0));
    for mode in ["--record", "--live"] {
        let (code, text) = reported(&here, &["run", "suite.yml", "--untrusted", mode]);
        let clash = format!("error[bad-argument]: the argument '--untrusted' cannot be used with '{mode}'\n");
        assert!(code == Some(2) && text.starts_with(&clash), "{text}");
    }
}

#[test]
fn a_scripted_test_without_servers_needs_nothing_and_runs() {
    let suite = SUITE.replace("    servers: [desk]\n", "").replace("calls: [{ name: search }]", "calls: []");
    let script = "{ script: 1, runs: [{ turns: [{ text: done }] }] }";
    let here = Folder::with(&[("suite.yml", &suite), ("script.yml", script), ("tools.yml", TOOLS)]);
    let (code, text) = reported(&here, &["run", "suite.yml", "--untrusted"]);
    assert_eq!(code, Some(0), "{text}");
    assert!(text.starts_with("suite.yml\n✓ PASS      t  scripted  "), "{text}");
}

#[test]
fn no_file_outside_the_suite_is_read_and_no_link_is_followed() {
    let outside = format!("{SECRET}: [ {SECRET}\n");
    let here = Folder::with(&[("secret.yml", &outside), ("secret.json", &format!("{{\"{SECRET}\":1}}"))]);
    let at = |name: &str| here.0.join(name);
    let absolute = at("secret.yml");
    let mut suite = format!(
        "servers: {{ desk: {{ command: [cat] }} }}\nmodels:\n  up: {{ provider: script, script: ../secret.yml }}\n  \
         far: {{ provider: script, script: \"{}\" }}\n  link: {{ provider: script, script: link.yml }}\n  \
         deep: {{ provider: script, script: linked/secret.yml }}\nagents:\n",
        absolute.display()
    );
    for model in ["up", "far", "link", "deep", "claude-x"] {
        suite += &test(&format!("on {model}"), model, GATE);
    }
    here.write("s/suite.yml", suite.as_bytes());
    symlink("../secret.yml", at("s/link.yml")).unwrap();
    symlink("../secret.yml", at("s/other.yml")).unwrap();
    symlink("..", at("s/linked")).unwrap();
    symlink("s", at("t")).unwrap();
    let cassette = Cassettes::of(&at("s/suite.yml")).path("on claude-x", "claude-x", 1);
    fs::create_dir_all(cassette.parent().unwrap()).unwrap();
    symlink(at("secret.json"), &cassette).unwrap();
    symlink("../secret.json", at("s/report.json")).unwrap();
    let link = |path: &str| format!("`{path}` is a symbolic link, and links are not followed here");
    for (line, expected) in [
        (&["run", "s"][..], &["5 error", "2 suites could not be used"][..]),
        (
            &["run", "s/suite.yml", "--verbose"],
            &["1.json` is a symbolic link", "outside the suite's folder, and `--untrusted` reads nothing there"],
        ),
        (&["run", "s/other.yml"], &[&link("s/other.yml")]),
        (&["run", "t/suite.yml"], &[&link("t")]),
        (&["run", "t"], &[&link("t")]),
        (&["run", "s/suite.yml", "--compare", "s/report.json"], &[&link("s/report.json")]),
        (&["run", "s/suite.yml", "--list"], &["on deep"]),
        (&["validate", "s"], &[&link("s/other.yml"), "outside the suite's folder and is not read"]),
    ] {
        let (code, text) = reported(&here, &[line, &["--untrusted"]].concat());
        let joined = text.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(!text.contains(SECRET), "{line:?}: {text}");
        assert_eq!(code, Some(if line.contains(&"--list") { 0 } else { 2 }), "{line:?}: {text}");
        for expected in expected {
            assert!(joined.contains(expected), "{line:?}: {expected}: {text}");
        }
    }
    // A folder of recordings that is a link is not looked into either.
    fs::remove_dir_all(at("s/cassettes")).unwrap();
    symlink("..", at("s/cassettes")).unwrap();
    let (code, text) = reported(&here, &["run", "s/suite.yml", "--filter", "on claude-x", "--untrusted"]);
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(code == Some(2) && text.contains(&link("s/cassettes")), "{text}");
}

#[test]
fn references_to_the_environment_stay_as_written() {
    let suite = "\
variables: { own: done, tainted: \"x ${CANARY}\" }
models: { demo: { provider: script, script: script.yml } }
faults: [{ name: f, target: { tool: \"${CANARY}\" }, kind: hang }]
agents:
";
    let says = |matcher: &str| format!("expect: [{{ target: final_response, matcher: {{ {matcher} }} }}]");
    let suite = [
        suite.to_owned(),
        test("asked", "demo", &says("contains: \"${own}\"")),
        test("by default", "demo", &says("contains: \"${CANARY:-done}\"")),
        test("judged", "demo", &says("regex: \"^${CANARY}(\"")),
        test("behind a variable", "demo", &says("contains: \"${tainted}\"")),
        test("\"named ${CANARY}\"", "demo", &says("contains: done")),
        test("on a model", "\"${MODEL}\"", &says("contains: done")),
        test("with a fault", "demo", &format!("inject: [f], {}", says("contains: done"))),
    ];
    let script = "{ script: 1, runs: [{ turns: [{ text: done }] }] }";
    let here = Folder::with(&[("suite.yml", &suite.concat()), ("script.yml", script)]);
    let (code, text) = reported(&here, &["run", "suite.yml", "--untrusted", "--reporter", "json"]);
    assert_eq!(code, Some(2), "{text}");
    assert!(!text.contains(SECRET), "{text}");
    let json = &text[..text.rfind("\n}\n").unwrap() + 3];
    let report: serde_json::Value = serde_json::from_str(&json[json.find('{').unwrap()..]).unwrap();
    let rows = report["suites"][0]["rows"].as_array().or_else(|| report["rows"].as_array()).unwrap();
    let found: Vec<(&str, &str, &str)> = rows
        .iter()
        .map(|row| {
            (
                row["name"].as_str().unwrap(),
                row["verdict"].as_str().unwrap(),
                row["error"]["message"].as_str().unwrap_or(""),
            )
        })
        .collect();
    let canary = "it depends on environment variables, which `--untrusted` does not read: `${CANARY}`";
    let model = "it depends on environment variables, which `--untrusted` does not read: `${MODEL}`";
    assert_eq!(
        found,
        [
            ("asked", "pass", ""),
            ("by default", "pass", ""),
            ("judged", "error", canary),
            ("behind a variable", "error", canary),
            ("named ${CANARY}", "error", canary),
            ("on a model", "error", model),
            ("with a fault", "error", canary),
        ]
    );
    let (code, text) = reported(&here, &["validate", "suite.yml", "--untrusted"]);
    assert!(code == Some(2) && !text.contains(SECRET), "{text}");
    assert_eq!(text.matches(canary).count() + text.matches(model).count(), 5, "{text}");
}

#[test]
fn a_script_outside_the_suite_is_never_quoted() {
    let outside = format!("script: 1\nruns: [{{ {SECRET}: 1 }}]\n");
    let suite = SUITE.replace("script: script.yml", "script: ../secret.yml");
    let linked = SUITE.replace("script: script.yml", "script: link.yml");
    let own = SUITE.replace("script: script.yml", "script: own.yml");
    let here = Folder::with(&[("secret.yml", &outside), ("s/a.yml", &suite), ("s/b.yml", &linked), ("s/c.yml", &own)]);
    here.write("s/own.yml", outside.as_bytes());
    symlink("../secret.yml", here.0.join("s/link.yml")).unwrap();
    for (suite, script) in [("s/a.yml", "s/../secret.yml"), ("s/b.yml", "s/link.yml")] {
        for line in [["run", suite], ["validate", suite]] {
            let (code, text) = reported(&here, &line);
            assert!(code != Some(0) && !text.contains(SECRET), "{line:?}: {text}");
            assert!(text.contains(&format!("`mcptest validate {script}` shows them")), "{line:?}: {text}");
        }
    }
    // What is a part of the suite is quoted, and so is a file that the user names.
    assert!(reported(&here, &["run", "s/c.yml"]).1.contains(SECRET));
    assert!(reported(&here, &["validate", "secret.yml"]).1.contains(SECRET));
}

#[test]
fn reports_are_not_written_through_links() {
    let here = world();
    assert_eq!(reported(&here, &["run", "suite.yml", "--record"]).0, Some(0));
    here.write("victim", b"old");
    fs::create_dir(here.0.join("folder")).unwrap();
    symlink("victim", here.0.join("report.json")).unwrap();
    symlink("folder", here.0.join("reports")).unwrap();
    let why = "it is a symbolic link, and reports are not written through one";
    let hint = "remove the link, or name another file";
    let refused = format!("error[report-not-written]: cannot write the report report.json: {why}\nhint: {hint}\n");
    let (code, text) = reported(&here, &["run", "suite.yml", "--reporter", "json=report.json"]);
    assert!(code == Some(2) && text.ends_with(&refused), "{text}");
    assert_eq!(fs::read_to_string(here.0.join("victim")).unwrap(), "old");
    // Folders may be links where the suite is trusted: where reports go is up to who names them.
    assert_eq!(reported(&here, &["run", "suite.yml", "--reporter", "json=reports/a.json"]).0, Some(0));
    let (code, text) = reported(&here, &["run", "suite.yml", "--untrusted", "--reporter", "json=reports/b.json"]);
    assert!(
        code == Some(2) && text.contains("`reports` is a symbolic link, and links are not followed here"),
        "{text}"
    );
    assert!(here.0.join("folder/a.json").is_file() && !here.0.join("folder/b.json").exists());
    // What the shell hands over is a link by its looks only.
    let (code, text) =
        reported(&here, &["run", "suite.yml", "--untrusted", "--quiet", "--reporter", "junit=/dev/stdout"]);
    assert!(code == Some(0) && text.contains("<testsuites"), "{text}");
}
