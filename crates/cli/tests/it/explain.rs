//! `mcptest explain`: words, paths and keys. Codes are in `codes`.

use std::io::Write;
use std::process::Stdio;

use super::{Folder, check};

fn explains(what: &str, text: &str) {
    Folder::with(&[]).check(&["explain", what], 0, text, "");
}

#[test]
fn without_arguments_it_lists_all_entries() {
    let output = Folder::with(&[]).command(&["explain"]).output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    assert_eq!(output.status.code(), Some(0));
    for name in
        ["trajectory_axes", "contains-all", "unassessable", "recover_after", "reply-after-cancel", "junit", "130"]
    {
        assert!(text.contains(name), "{name}");
    }
    assert!(text.lines().count() <= 40, "{text}");
}

#[test]
fn a_gate_is_explained_in_short_or_in_full() {
    let here = Folder::with(&[]);
    let reported = |line: &[&str]| String::from_utf8(here.command(line).output().unwrap().stdout).unwrap();
    let (short, all) = (reported(&["explain", "stability"]), reported(&["explain", "stability", "--all"]));
    let start = "stability (a gate, reads all runs together)\n\nDid the sessions stay consistent, and did all runs take the same path?\n";
    assert!(short.starts_with(start) && all.starts_with(start), "{short}{all}");
    let more =
        "`mcptest explain stability --all` shows everything; `mcptest explain stability.score` explains a\nmetric.\n";
    assert!(short.ends_with(more) && !all.contains("--all"), "{short}{all}");
    assert_eq!(reported(&["explain", "--all", "stability"]), all);
}

#[test]
fn a_metric_is_explained_with_an_assertion_on_it() {
    let output = Folder::with(&[]).command(&["explain", "stability.weakest_score"]).output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    let start = "\
stability.weakest_score (a metric of stability)

The worst run's weakest sub-score.

About it:
  value         0 to 1
  computed of   all runs of a test
  when absent   the recording lacks what it is computed from, and an assertion on it is
                `unassessable`
  by default    the gate passes when it is at least 0.5

An assertion on it:
  stability:
    expect:
      - { target: stability.weakest_score, matcher: { schema: { minimum: 0.7 } } }
";
    assert!(text.starts_with(start), "{text}");
}

#[test]
fn a_target_is_explained_with_what_its_absence_means() {
    explains(
        "tool_calls[*].args.city",
        "\
tool_calls[*].args.city (a target, reads the trace)

Below `tool_calls[*].args`: The arguments as the model wrote them; of a recorded program, as the
server got them. Text that is not JSON stays text. Its structure depends on the tool.

About it:
  reads         tool_calls[*].args
  value         a list of what was recorded there
  [*]           selects from every item that has the rest; an empty list gives an empty list
  when absent   the arguments were not recorded: a `trajectory` that compares them is `unassessable`
                An assertion on a path that selects nothing fails, also under `not`, and says how
                far it got. Where the answer depends on something that was not recorded, it is
                `unassessable`.

An assertion on it:
  expect:
    - { target: 'tool_calls[*].args.city', matcher: { contains: Oslo } }
",
    );
}

#[test]
fn a_key_is_explained_by_its_name_and_by_its_path() {
    let text = "\
max_extra (a key of a suite)

Maximum number of extra calls; not with strict or subset.

About it:
  path          agents[*].trajectory.max_extra
  takes         a whole number
  left out      nothing is set
";
    explains("max_extra", text);
    explains("trajectory.max_extra", text);
    explains("agents[0].trajectory.max_extra", text);
    explains(
        "servers.weather.url",
        "\
url (a key of a suite)

URL of a Streamable HTTP server.

About it:
  path          servers.NAME.url
  takes         a string
  left out      nothing is set
  example       url: https://mcp.example.test/mcp
",
    );
}

#[test]
fn a_verdict_and_an_exit_code_are_explained() {
    explains(
        "absorbed",
        "\
absorbed (a verdict)

The run failed, and the test has a `reliability:` block that says how often runs may fail. It does
not fail the test by itself; the line with `(reliability)` decides.

See also, with `mcptest explain`: `absorbed-run`, `reliability-failed`.
",
    );
    explains(
        "1",
        "\
1 (an exit code)

A check failed, or evidence was missing: a verdict is `fail`, `inconclusive` or `unassessable`.

The worst result decides: 2 over 1 over 0.
",
    );
}

#[test]
fn a_word_that_means_several_things_is_explained_with_all_of_them() {
    let output = Folder::with(&[]).command(&["explain", "error"]).output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    let subjects: Vec<&str> = text.lines().filter(|line| line.starts_with("error")).collect();
    assert_eq!(
        subjects,
        [
            "error (a verdict)",
            "error (a fault that a suite injects)",
            "error:<code> (a fault of `mcptest mock`)",
            "error (why a run ended, `conversation.stop_reason`)",
            "error (a key of a mock server)",
        ]
    );
}

#[test]
fn an_unknown_entry_is_rejected_with_a_suggestion() {
    let here = Folder::with(&[]);
    let list = "`mcptest explain` without a name lists all entries";
    let refused = |what: &[&str], reported: &str| here.check(&[&["explain"], what].concat(), 2, "", reported);
    refused(
        &["trajectry"],
        &format!("error: there is no entry `trajectry`\nhint: did you mean `trajectory`? {list}\n"),
    );
    refused(&["xyzzy"], &format!("error: there is no entry `xyzzy`\nhint: {list}\n"));
    refused(
        &["tool_calls[0.args"],
        "error: `tool_calls[0.args` is not a path: column 13: expected `]`, found `.`\n\
         hint: a path is names with `.` between them, `[0]`, `[-1]`, `[*]` and `[\"odd key\"]`\n",
    );
    refused(
        &["stability.scor"],
        "error: `stability` has no metric and no parameter `scor`\nhint: did you mean `stability.score`?\n",
    );
}

#[test]
fn a_message_may_be_an_argument_or_piped() {
    let here = Folder::with(&[]);
    let whole = here.command(&["explain", "error[stale-cassette]: cassette is stale"]).output().unwrap();
    assert!(whole.stdout.starts_with(b"The cassette is stale (stale-cassette)\n"));
    assert_eq!(
        here.command(&["explain", "error[stale-cassette]:", "cassette", "is", "stale"]).output().unwrap(),
        whole
    );
    assert_eq!(here.command(&["explain", "stale-cassette"]).output().unwrap(), whole);
    let piped = |text: &[u8]| {
        let mut command = here.command(&["explain", "-"]);
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        child.stdin.take().unwrap().write_all(text).unwrap();
        child.wait_with_output().unwrap()
    };
    assert_eq!(piped(b"error[stale-cassette]: cassette is stale\n"), whole);
    // A message is found by its code alone.
    let coded = "error: there is no entry `cassette is stale`\nhint: name the code of a message, which is in brackets; \
                 `mcptest explain` without a name lists all entries\n";
    here.check(&["explain", "cassette is stale"], 2, "", coded);
    check(&piped(b"cassette is stale\n"), 2, "", coded);
    let nothing = "error: there is no entry `\u{fffd}`\nhint: `mcptest explain` without a name lists all entries\n";
    check(&piped(b"\xff"), 2, "", nothing);
}
