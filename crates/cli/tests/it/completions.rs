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
        for command in mcptest::typed().get_subcommands() {
            assert!(text.contains(command.get_name()), "{shell} does not know {}", command.get_name());
        }
        for option in ["partition", "tools-from", "group-by", "half-width"] {
            assert!(text.contains(option), "{shell} does not know --{option}");
        }
    }
}

#[test]
fn shells_that_are_installed_can_read_their_script() {
    for (shell, flag) in [("bash", "-n"), ("zsh", "-n"), ("fish", "-n")] {
        let here = Folder::with(&[("script", &script(shell))]);
        match Command::new(shell).arg(flag).arg(here.0.join("script")).output() {
            Ok(output) => {
                assert!(output.status.success(), "{shell}: {}", String::from_utf8_lossy(&output.stderr));
            }
            // Not every machine has every shell; bash is what the others stand on.
            Err(error) => assert_ne!(shell, "bash", "{error}"),
        }
    }
}

#[test]
fn a_shell_that_is_not_known_is_refused_with_those_that_are() {
    Folder::with(&[]).check(
        &["completions", "nushell"],
        2,
        "",
        "error: invalid value 'nushell' for '<SHELL>'\n  [possible values: bash, elvish, fish, powershell, zsh]\n\n\
         For more information, try '--help'.\n",
    );
}
