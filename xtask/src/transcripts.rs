//! Commands shown in the documents, run again: a `console` block is a command and exactly what it prints.

use std::path::Path;
use std::process::Command;

use crate::failure::Failure;
use crate::out;

/// Documents whose `console` blocks are run.
pub(crate) const DOCUMENTS: [&str; 5] =
    ["README.md", "CONTRIBUTING.md", "docs/running.md", "docs/scoring.md", "docs/reports.md"];

/// A command and what it prints on standard output.
#[derive(Debug, PartialEq, Eq)]
struct Transcript {
    command: String,
    output: String,
}

pub(crate) fn run(root: &Path) -> Result<(), Failure> {
    let mut count = 0;
    for document in DOCUMENTS {
        let path = root.join(document);
        let text = std::fs::read_to_string(&path).map_err(|error| Failure::io("read", &path, &error))?;
        for shown in transcripts(&text) {
            check(root, document, &shown)?;
            count += 1;
        }
    }
    if count == 0 {
        return Err(Failure::refused("no document shows a command, so none was tried".to_owned()));
    }
    out::say(&format!("{count} commands print what the documents show"));
    Ok(())
}

fn check(root: &Path, document: &str, shown: &Transcript) -> Result<(), Failure> {
    let run = Command::new("sh").args(["-c", &shown.command]).current_dir(root).output();
    let run = run.map_err(|error| Failure::broken(format!("cannot start `{}`: {error}", shown.command)))?;
    let printed = String::from_utf8_lossy(&run.stdout);
    if printed == shown.output.as_str() {
        return Ok(());
    }
    let errors = String::from_utf8_lossy(&run.stderr);
    Err(Failure::refused(format!(
        "{document}: `{}` prints something else than shown\n--- shown\n{}--- printed ({})\n{printed}{errors}",
        shown.command, shown.output, run.status
    )))
}

/// The commands of all `console` blocks, each with the lines up to the next command.
fn transcripts(text: &str) -> Vec<Transcript> {
    let mut out: Vec<Transcript> = Vec::new();
    let mut inside = false;
    for line in text.lines() {
        if line.starts_with("```") {
            inside = line == "```console";
        } else if !inside {
        } else if let Some(command) = line.strip_prefix("$ ") {
            out.push(Transcript { command: command.to_owned(), output: String::new() });
        } else if let Some(last) = out.last_mut() {
            last.output.push_str(line);
            last.output.push('\n');
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_and_their_output_are_found() {
        let text = "a\n```sh\n$ no\n```\n```console\n$ one\nx\n\ny\n$ two\n```\nz\n";
        let found = transcripts(text);
        let shown = |command: &str, output: &str| Transcript { command: command.into(), output: output.into() };
        assert_eq!(found, [shown("one", "x\n\ny\n"), shown("two", "")]);
    }

    #[test]
    fn a_command_that_prints_something_else_is_refused() {
        let root = crate::root().unwrap();
        let shown = Transcript { command: "echo one".into(), output: "one\n".into() };
        assert!(check(root, "x.md", &shown).is_ok());
        let shown = Transcript { command: "echo two".into(), output: "one\n".into() };
        let failure = check(root, "x.md", &shown).unwrap_err();
        assert!(failure.to_string().starts_with("x.md: `echo two` prints something else"), "{failure}");
    }
}
