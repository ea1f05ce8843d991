//! `mcptest run`: which tests are selected, what is refused, and where reports are written.

use super::Folder;

const SEATS: &str = "\
agents:
  - name: books a seat
    models: [gpt-5, claude-sonnet-4-5]
    prompt: Book a seat.
    runs: 2
    tags: [air, slow]
    trajectory:
      calls: [{ name: book }]
  - name: looks up a flight
    model: gpt-5
    prompt: Look it up.
    trajectory:
      calls: [{ name: search }]
";

const MAIL: &str = "\
agents:
  - name: sends a mail
    model: gpt-5
    prompt: Send it.
    tags: [mail]
    trajectory:
      calls: [{ name: send }]
";

const WRONG: &str = "\
agents:
  - name: sends a mail
    model: gpt-5
    promt: Send it.
    trajectory:
      calls: [{ name: send }]
";

const SAID_OF_WRONG: &str = "\
wrong.yml:4:5: error[unknown-key]: unknown key `promt` in an agent test
   |
 4 |     promt: Send it.
   |     ^^^^^
   = hint: did you mean `prompt`?
";

#[test]
fn selected_tests_can_be_listed() {
    let here = Folder::with(&[("t/a.yml", SEATS), ("t/b.yml", MAIL)]);
    let book = "\
t/a.yml:2: books a seat [gpt-5] (2 runs)
t/a.yml:2: books a seat [claude-sonnet-4-5] (2 runs)
";
    let look = "t/a.yml:9: looks up a flight\n";
    let mail = "t/b.yml:2: sends a mail\n";
    let check = |flags: &[&str], listed: &[&str]| {
        here.check(&[&["run", "t", "--list"], flags].concat(), 0, &listed.concat(), "");
    };
    check(&[], &[book, look, mail]);
    check(&["--filter", "a seat"], &[book]);
    check(&["--filter", "/^(looks|sends)/"], &[look, mail]);
    check(&["--filter", "seat", "--filter", "mail"], &[book, mail]);
    check(&["--tag", "mail", "--tag", "air"], &[book, mail]);
    check(&["--skip-tag", "slow"], &[look, mail]);
    check(&["--models", "claude-sonnet-4-5", "--runs", "1"], &["t/a.yml:2: books a seat [claude-sonnet-4-5]\n"]);
    check(&["--models", "gpt-4,gpt-5", "--tag", "mail"], &[mail]);
    here.check(&["run", "--config", "t/b.yml", "--list"], 0, mail, "");
    let json = r#"{
  "version": 1,
  "tests": [
    {
      "file": "t/a.yml",
      "line": 2,
      "name": "books a seat",
      "model": "gpt-5",
      "runs": 2
    },
    {
      "file": "t/b.yml",
      "line": 2,
      "name": "sends a mail",
      "model": "gpt-5",
      "runs": 1
    }
  ]
}
"#;
    here.check(&["run", "t", "--list=json", "--filter", "seat", "--filter", "mail", "--models", "gpt-5"], 0, json, "");
}

#[test]
fn the_shares_of_a_partition_have_every_test_once() {
    let here = Folder::with(&[("a.yml", SEATS), ("b.yml", MAIL)]);
    let listed = |share: &str| {
        let output = here.command(&["run", "a.yml", "b.yml", "--list", "--partition", share]).output().unwrap();
        assert_eq!(output.status.code(), Some(0));
        String::from_utf8(output.stdout).unwrap()
    };
    let mut lines: Vec<String> = ["1/2", "2/2"]
        .iter()
        .flat_map(|share| {
            let text = listed(share);
            text.lines().map(str::to_owned).collect::<Vec<_>>()
        })
        .collect();
    lines.sort();
    assert_eq!(
        lines,
        [
            "a.yml:2: books a seat [claude-sonnet-4-5] (2 runs)",
            "a.yml:2: books a seat [gpt-5] (2 runs)",
            "a.yml:9: looks up a flight",
            "b.yml:2: sends a mail",
        ]
    );
}

#[test]
fn an_empty_partition_is_reported_and_exits_with_0() {
    let here = Folder::with(&[("b.yml", MAIL)]);
    let empty: Vec<&str> = ["1/2", "2/2"]
        .into_iter()
        .filter(|share| {
            let list = here.command(&["run", "b.yml", "--list", "--partition", share]).output().unwrap();
            list.stdout.is_empty()
        })
        .collect();
    let [empty] = *empty else { panic!("{empty:?}") };
    let note = format!("note: partition {empty} is empty: every selected test is in another partition\n\nno tests\n");
    here.check(&["run", "b.yml", "--partition", empty], 0, &note, "");
    let note = format!("note: partition {empty} is empty: every selected test is in another partition\n");
    here.check(&["run", "b.yml", "--partition", empty, "--list"], 0, "", &note);
}

#[test]
fn without_a_name_the_suite_of_the_folder_is_used() {
    let here = Folder::with(&[("mcptest.yml", MAIL), ("other.yml", SEATS)]);
    here.check(&["run", "--list"], 0, "mcptest.yml:2: sends a mail\n", "");
    here.write("mcptest.yaml", MAIL.as_bytes());
    let both = "\
error[shared-cassettes]: mcptest.yaml: has its cassettes in the same folder as mcptest.yml
hint: give one of the two another name
error[shared-cassettes]: mcptest.yml: has its cassettes in the same folder as mcptest.yaml
hint: give one of the two another name
";
    here.check(&["run", "--list"], 2, "", both);
    let none = "\
error[no-suite-named]: no suite was named, and there is no mcptest.yaml or mcptest.yml in the current folder
hint: name a file or a folder, as in `mcptest run tests/`; `mcptest init` writes a first suite
";
    Folder::with(&[("other.yml", MAIL)]).check(&["run"], 2, "", none);
}

#[test]
fn scripts_and_mock_servers_are_not_suites() {
    let here = Folder::with(&[
        ("t/b.yml", MAIL),
        ("t/demo.yml", "script: 1\nruns: [{ turns: [{ text: Done. }] }]\n"),
        ("t/half.yml", "script: 1\nruns: [\n"),
        ("t/tools.yml", "mock_server: { tools: [{ name: send }] }\n"),
        ("other/demo.yml", "script: 1\nruns: [{ turns: [{ text: Done. }] }]\n"),
    ]);
    // In a folder they are skipped; a named file is an error.
    here.check(&["run", "t", "--list"], 0, "t/b.yml:2: sends a mail\n", "");
    let script = "\
error[not-a-suite]: t/demo.yml: is a script for a model, not a suite
hint: name the suite that uses it as the `script` of a model
";
    let mock = "\
error[not-a-suite]: t/tools.yml: is a mock server, not a suite
hint: name the suite that uses it, or serve it with `mcptest mock`
";
    let listed = "t/b.yml:2: sends a mail\n";
    here.check(&["run", "t", "t/demo.yml", "t/tools.yml", "--list"], 2, listed, &format!("{script}{mock}"));
    // What is named twice is refused once.
    here.check(&["run", "t/demo.yml", "t/b.yml", "t/demo.yml", "--list"], 2, listed, script);
    let nothing = "\
error[empty-folder]: other: no suite in this folder or below it
hint: scripts and mock servers have no tests; name a file with `agents:`
";
    here.check(&["run", "other", "t", "--list"], 2, listed, nothing);
    // A suite with a stray key at its root is not passed over.
    here.write("other/demo.yml", format!("script: demo.yml\n{MAIL}").as_bytes());
    let output = here.command(&["run", "other", "--list"]).output().unwrap();
    let stderr = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert!(
        stderr.starts_with("other/demo.yml:1:1: error[unknown-key]: unknown key `script` in a suite\n"),
        "{stderr}"
    );
}

#[test]
fn nothing_selected_is_an_error_that_suggests_the_nearest_name() {
    let here = Folder::with(&[("a.yml", SEATS), ("b.yml", MAIL)]);
    let check = |flags: &[&str], stderr: &str| here.check(&[&["run", "a.yml", "b.yml"], flags].concat(), 2, "", stderr);
    check(
        &["--filter", "refunds"],
        "error[nothing-selected]: no test is selected: none of 3 tests matches --filter refunds\n\
         hint: `mcptest run --list` without these options lists every test\n",
    );
    check(
        &["--tag", "mial"],
        "error[nothing-selected]: no test is selected: none of 3 tests matches --tag mial\nhint: did you mean `mail`?\n",
    );
    check(
        &["--models", "gtp-5", "--tag", "mail"],
        "error[nothing-selected]: no test is selected: none of 3 tests matches --tag mail --models gtp-5\nhint: did you mean `gpt-5`?\n",
    );
    here.check(
        &["run", "b.yml", "--skip-tag", "mail", "--list"],
        2,
        "",
        "error[nothing-selected]: no test is selected: the only test does not match --skip-tag mail\n\
         hint: `mcptest run --list` without these options lists every test\n",
    );
}

#[test]
fn a_suite_that_cannot_be_used_is_refused_in_every_report() {
    let here = Folder::with(&[("wrong.yml", WRONG)]);
    let missing = "error[no-such-file]: worng.yml: no such file or folder\nhint: did you mean `wrong.yml`?\n";
    let pretty = format!(
        "! REFUSED   wrong.yml\n{SAID_OF_WRONG}\n! REFUSED   worng.yml\n{missing}\nno tests; 2 suites could not be used\n"
    );
    let line = ["run", "wrong.yml", "worng.yml", "--reporter", "json=r.json", "--reporter", "junit=r.xml"];
    here.check(&line, 2, &pretty, "");
    let read = |name: &str| std::fs::read_to_string(here.0.join(name)).unwrap();
    let json: serde_json::Value = serde_json::from_str(&read("r.json")).unwrap();
    assert_eq!(
        json,
        serde_json::json!({
            "exit_code": 2,
            "mcptest": 1,
            "notes": [],
            "suites": [
                { "file": "wrong.yml", "refused": SAID_OF_WRONG, "rows": [] },
                { "file": "worng.yml", "refused": missing, "rows": [] },
            ],
            "totals": { "absorbed": 0, "error": 0, "fail": 0, "inconclusive": 0, "pass": 0, "skipped": 0, "unassessable": 0, "unjudged": 0 },
        })
    );
    let xml = "\
<?xml version=\"1.0\" encoding=\"UTF-8\"?>
<testsuites name=\"mcptest\" tests=\"2\" failures=\"0\" errors=\"2\">
    <testsuite name=\"wrong.yml\" tests=\"1\" failures=\"0\" errors=\"1\" skipped=\"0\">
        <testcase name=\"wrong.yml\" classname=\"wrong\">
            <error message=\"the suite could not be used\" type=\"refused\">\
wrong.yml:4:5: error[unknown-key]: unknown key `promt` in an agent test
   |
 4 |     promt: Send it.
   |     ^^^^^
   = hint: did you mean `prompt`?</error>
        </testcase>
    </testsuite>
    <testsuite name=\"worng.yml\" tests=\"1\" failures=\"0\" errors=\"1\" skipped=\"0\">
        <testcase name=\"worng.yml\" classname=\"worng\">
            <error message=\"the suite could not be used\" type=\"refused\">\
error[no-such-file]: worng.yml: no such file or folder
hint: did you mean `wrong.yml`?</error>
        </testcase>
    </testsuite>
</testsuites>
";
    assert_eq!(read("r.xml"), xml);
    // No other file is left behind.
    assert_eq!(std::fs::read_dir(&here.0).unwrap().count(), 3);
}

#[test]
fn a_report_that_cannot_be_written_is_an_error_and_the_verdict_is_still_printed() {
    let here = Folder::with(&[("b.yml", MAIL)]);
    let shares = ["1/2", "2/2"];
    let line = |share| ["run", "b.yml", "--partition", share, "-q", "--reporter", "json=no/r.json"];
    let outputs = shares.map(|share| here.command(&line(share)).output().unwrap());
    for output in outputs {
        assert_eq!(output.status.code(), Some(2));
        assert!(String::from_utf8(output.stdout).unwrap().contains("test"));
        let stderr = String::from_utf8(output.stderr).unwrap();
        let complaint = "error[report-not-written]: cannot write the report no/r.json: ";
        assert!(stderr.starts_with(complaint) && stderr.ends_with("\nhint: create its folder first\n"), "{stderr}");
    }
}

#[test]
fn warnings_of_a_suite_go_to_standard_error() {
    let prose = "\
agents:
  - name: says yes
    model: gpt-5
    prompt: Say yes.
    expect:
      - { target: final_response, matcher: { icontains: \"yes\" } }
";
    let stderr = "\
prose.yml:5:5: warning[relies-on-prose]: the verdict of `says yes` rests on prose
   |
 5 |     expect:
   |     ^^^^^^
   = hint: assert on tool_calls or tool_results: they show what the agent did
";
    let here = Folder::with(&[("prose.yml", prose)]);
    here.check(&["run", "prose.yml", "--list"], 0, "prose.yml:2: says yes\n", stderr);
}

#[test]
fn a_server_that_hangs_at_start_up_is_named_while_it_is_waited_for() {
    let here = crate::one_tool::world();
    let servers = "\
servers:
  desk: { command: [mcptest, mock, --tools-from, \"${SUITE_DIR}/tools.yml\"] }
  mute: { command: [sleep, \"60\"], timeout_ms: 6500, protocol: legacy }
";
    let (_, rest) = crate::one_tool::SUITE.split_once('\n').unwrap();
    here.write("suite.yml", format!("{servers}{rest}").replace("[desk]", "[desk, mute]").as_bytes());
    let output = here.command(&["run", "suite.yml"]).output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    let stderr = String::from_utf8(output.stderr).unwrap();
    assert_eq!(stderr, "note: t: waiting for server `mute` to start (5 s)\n");
}

#[test]
fn invalid_arguments_are_refused() {
    let here = Folder::with(&[("b.yml", MAIL)]);
    let check = |flags: &[&str], complaint: &str| {
        let stderr = format!("error[bad-argument]: {complaint}\n\nFor more information, try '--help'.\n");
        here.check(&[&["run", "b.yml"], flags].concat(), 2, "", &stderr);
    };
    check(
        &["--partition", "0/3"],
        "invalid value '0/3' for '--partition <I/N>': partitions are numbered from 1 (hint: the first of three is `1/3`)",
    );
    check(
        &["--partition", "one"],
        "invalid value 'one' for '--partition <I/N>': expected two numbers, as in `1/3` (hint: the first of three \
         partitions)",
    );
    check(
        &["--filter", "/(/"],
        "invalid value '/(/' for '--filter <TEXT>': invalid regex between the slashes: regex parse error:\n    \
         (\n    ^\nerror: unclosed group\nhint: to search for text between slashes, escape one: /\\/text\\//",
    );
    check(&["--runs", "0"], "invalid value '0' for '--runs <N>': 0 is not in 1..=100000");
    check(&["--runs", "100001"], "invalid value '100001' for '--runs <N>': 100001 is not in 1..=100000");
    check(&["--jobs", "0"], "invalid value '0' for '--jobs <N>': 0 is not in 1..=1000");
    check(&["--jobs", "1001"], "invalid value '1001' for '--jobs <N>': 1001 is not in 1..=1000");
    check(
        &["--reporter", "junti=a"],
        "invalid value 'junti=a' for '--reporter <NAME[=PATH]>': there is no reporter `junti` (hint: did you mean `junit`?)",
    );
    let usage = "\n\nUsage: mcptest run";
    check(
        &["--live", "--record"],
        &format!("the argument '--live' cannot be used with '--record'{usage} --live <FILE>..."),
    );
    check(&["-q", "-v"], &format!("the argument '--quiet' cannot be used with '--verbose'{usage} --quiet <FILE>..."));
    here.check(
        &["run", "b.yml", "--reporter", "json", "--reporter", "junit"],
        2,
        "",
        "error[reporters-clash]: two reporters cannot share standard output: json and junit\n\
         hint: give one of them a file: --reporter junit=PATH\n",
    );
    here.check(
        &["run", "b.yml", "--reporter", "json=-", "--reporter", "junit"],
        2,
        "",
        "error[reporters-clash]: two reporters cannot share standard output: json and junit\n\
         hint: give one of them a file: --reporter junit=PATH\n",
    );
    here.check(
        &["run", "b.yml", "--reporter", "json=out", "--reporter", "junit=./out"],
        2,
        "",
        "error[reporters-clash]: two reporters cannot share the file ./out: json and junit\nhint: write each to its own file\n",
    );
}
