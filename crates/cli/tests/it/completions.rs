//! Scripts that complete commands and options.

use std::process::Command;

use super::Folder;

const SHELLS: [&str; 5] = ["bash", "zsh", "fish", "elvish", "powershell"];

/// The script for a shell.
fn script(shell: &str) -> String {
    let output = Folder::with(&[]).command(&["completions", shell]).output().unwrap();
    assert_eq!((output.status.code(), &*output.stderr), (Some(0), &b""[..]), "{shell}");
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn the_script_for_each_shell_knows_every_command_and_its_options() {
    for shell in SHELLS {
        let text = script(shell);
        for command in mcptest::cli().get_subcommands() {
            assert!(text.contains(command.get_name()), "{shell} does not know {}", command.get_name());
        }
        for option in ["partition", "tools-from", "group-by", "half-width"] {
            assert!(text.contains(option), "{shell} does not know --{option}");
        }
    }
}

#[test]
fn closed_lists_are_completed_and_wrong_words_are_refused() {
    let offered = |path: &str, option: &str| {
        let typed = mcptest::cli();
        let command = typed.find_subcommand(path).unwrap();
        let arg = command.get_arguments().find(|arg| arg.get_id() == option).unwrap();
        arg.get_possible_values().iter().map(|value| value.get_name().to_owned()).collect::<Vec<_>>()
    };
    let formats = [
        "auto",
        "envelope",
        "cassette",
        "openai-chat",
        "anthropic",
        "claude-code",
        "otlp",
        "tau",
        "openai-responses",
        "langchain",
        "otel",
        "inspect",
        "vercel-ai",
        "pydantic-ai",
        "bedrock",
        "adk",
        "atif",
        "openai-agents",
        "langfuse",
        "langsmith",
        "openhands",
        "swe-agent",
        "codex",
        "gemini-cli",
        "mock-log",
    ];
    for command in ["score", "convert"] {
        assert_eq!(offered(command, "from"), formats);
    }
    for command in ["run", "score", "report"] {
        assert_eq!(
            offered(command, "reporter"),
            ["pretty", "json", "ndjson", "junit", "github", "markdown", "html"],
            "{command}"
        );
    }
    for shell in SHELLS {
        let text = script(shell);
        // Not every shell completes positional arguments.
        let words = if ["bash", "zsh"].contains(&shell) { &["golden_path", "scripted"][..] } else { &[] };
        for word in words {
            assert!(text.contains(word), "{shell} does not offer {word}");
        }
    }
    let here = Folder::with(&[("a.json", "{}")]);
    here.check(
        &["score", "--from", "openai", "a.json"],
        2,
        "",
        "error[bad-argument]: invalid value 'openai' for '--from <FORMAT>': expected one of: auto, envelope, cassette, openai-chat, \
         anthropic, claude-code, otlp, tau, openai-responses, langchain, otel, inspect, vercel-ai, pydantic-ai, bedrock, adk, atif, openai-agents, langfuse, langsmith, openhands, swe-agent, codex, gemini-cli, mock-log\n\nFor more information, try '--help'.\n",
    );
    // A reporter may have a path, and `explain` takes a whole message.
    assert_eq!(
        here.command(&["run", "--reporter", "json=out.json", "none.yml"]).output().unwrap().status.code(),
        Some(2)
    );
    let message = ["explain", "error[stale-cassette]:", "cassette", "is", "stale"];
    assert_eq!(here.command(&message).output().unwrap().status.code(), Some(0));
}

#[test]
fn shells_that_are_installed_can_read_their_script() {
    for (shell, flag) in [("bash", "-n"), ("zsh", "-n"), ("fish", "-n")] {
        let here = Folder::with(&[("script", &script(shell))]);
        match Command::new(shell).arg(flag).arg(here.0.join("script")).output() {
            Ok(output) => {
                assert!(output.status.success(), "{shell}: {}", String::from_utf8_lossy(&output.stderr));
            }
            // Not every machine has every shell; bash is required.
            Err(error) => assert_ne!(shell, "bash", "{error}"),
        }
    }
}

#[test]
fn an_unknown_shell_is_refused_with_a_list_of_known_ones() {
    Folder::with(&[]).check(
        &["completions", "nushell"],
        2,
        "",
        "error[bad-argument]: invalid value 'nushell' for '<SHELL>'\n  [possible values: bash, elvish, fish, powershell, zsh]\n\n\
         For more information, try '--help'.\n",
    );
}
