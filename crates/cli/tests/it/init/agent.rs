//! From an agent: it runs once, and what is written replays, runs again and passes. When it does not work, nothing is left.

use std::process::Output;

use super::names;
use crate::Folder;
use crate::programs::{model, text};
use crate::root;

fn init(here: &Folder, flags: &[&str], words: &str) -> Output {
    let model = model();
    let agent = format!("python3 {} {words}", root().join("crates/cli/tests/it/programs/agent.py").display());
    let mut command = here.command(&[&["init", "new", "--from-agent", &agent], flags].concat());
    path(&mut command).env("OPENAI_BASE_URL", model.base() + "/v1").env("OPENAI_API_KEY", "sk-test-0123456789abcdef");
    command.output().unwrap()
}

fn path(command: &mut std::process::Command) -> &mut std::process::Command {
    command.env("PATH", option_env!("PATH").unwrap_or("/usr/local/bin:/usr/bin:/bin"))
}

fn world() -> Folder {
    Folder::with(&[("tools.yml", crate::programs::TOOLS)])
}

fn server() -> String {
    format!("desk={} mock --tools-from tools.yml", env!("CARGO_BIN_EXE_mcptest"))
}

#[test]
fn a_suite_from_an_agent_can_be_replayed_and_rerun() {
    let here = world();
    let output = init(&here, &["--server", &server(), "--prompt", "Find the note about ${rain}."], "");
    assert_eq!(output.status.code(), Some(0), "{}", text(&output));
    let expected = "\
wrote new/mcptest.yml  the suite, with the gates that pass

The agent made 1 call: search.

The run is recorded below new/cassettes/mcptest. Commit it with the suite.

`mcptest run` replays it. `mcptest run --rerun` runs the agent again without a key or a network,
and `mcptest run --record` records it again.

Next:
  mcptest run new/mcptest.yml
  mcptest run new/mcptest.yml --verbose
Then open new/mcptest.yml: its comments say what to change first.
";
    assert_eq!(text(&output), expected);
    for flags in [&["run", "new/mcptest.yml"][..], &["run", "--rerun", "new/mcptest.yml"]] {
        let output = path(&mut here.command(flags)).output().unwrap();
        assert_eq!(output.status.code(), Some(0), "{}", text(&output));
        assert!(text(&output).ends_with("1 test, 1 run: 1 passed\n"), "{}", text(&output));
    }
    here.check(&["validate", "--deny-warnings", "new/mcptest.yml"], 0, "1 file: 1 valid\n", "");
    let again = init(&here, &[], "");
    let message =
        "error[file-exists]: new/mcptest.yml, new/cassettes/mcptest already exist, and nothing is overwritten";
    assert!(text(&again).starts_with(message), "{}", text(&again));
}

#[test]
fn an_agent_that_fails_leaves_no_files() {
    let (here, server) = (world(), server());
    let with_server = ["--server", server.as_str()];
    for (words, flags, found) in [
        ("early", &with_server[..], "error[program-ended-early]: program `agent` ended with exit code 3"),
        ("deaf", &with_server, "error[server-not-used]: program `agent` never connected to server `desk`"),
        ("mute", &with_server, "error[model-unseen]: program `agent` ended, but no request to its model"),
        (
            "one",
            &with_server,
            "error: the agent failed: its exit code is 1, expected 0 (`exit:`); its last lines:\n  I found note 7.",
        ),
        (
            "deaf",
            &[],
            "error[empty-input]: the agent made no call, and a suite checks calls\nhint: name its servers with --server",
        ),
        ("", &["--input", "argv"], "error: the suite would not be valid, so nothing was written"),
        ("'", &with_server, "error[bad-argument]: --from-agent: the quote ' at column"),
    ] {
        let output = init(&here, flags, words);
        assert_eq!(output.status.code(), Some(2), "{words}: {}", text(&output));
        assert!(text(&output).starts_with(found), "{words}: {}", text(&output));
        assert_eq!(names(&here.0), ["tools.yml"], "{words}");
    }
}
