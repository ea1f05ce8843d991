//! The fenced blocks of a document, and what to do with each.

use std::ops::Range;

use super::Problem;

/// Languages of blocks that are not checked.
const UNCHECKED: [&str; 8] = ["text", "toml", "python", "dockerfile", "xml", "diff", "markdown", "typescript"];
/// Languages of blocks that are checked.
const CHECKED: [&str; 7] = ["console", "sh", "yaml", "json", "jsonl", "rust", "groovy"];
/// File names without a dot or a slash.
const BARE_NAMES: [&str; 3] = ["Jenkinsfile", "Dockerfile", "Makefile"];
/// After `yaml`: a part of a suite.
const PART: &str = "part";
/// After `yaml`: a file for a CI server.
const CI: &str = "ci";

#[derive(Debug, PartialEq, Eq)]
pub(super) struct Block {
    /// The line of its opening fence, from 1.
    pub(super) line: usize,
    pub(super) language: String,
    /// Its lines, without the indentation of the fence.
    pub(super) text: String,
    pub(super) purpose: Purpose,
}

#[derive(Debug, PartialEq, Eq)]
pub(super) enum Purpose {
    /// Commands and what they print.
    Transcript(Vec<Command>),
    /// A file, written into the folder of the document.
    File(String),
    /// A part of a suite.
    Part,
    /// A file for a CI server.
    Ci,
    /// Checked by its language alone.
    Shown,
}

/// A command of a transcript and what it prints on standard output.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Command {
    /// Its line in the document, from 1.
    pub(super) line: usize,
    pub(super) typed: String,
    pub(super) output: String,
    /// The lines of the document that hold the output, from 0.
    pub(super) shown_at: Range<usize>,
    /// The indentation of every line of the block.
    pub(super) indent: String,
}

/// Every block of a document.
pub(super) fn blocks(text: &str) -> Result<Vec<Block>, Problem> {
    let lines: Vec<&str> = text.lines().collect();
    let mut found = Vec::new();
    let mut at = 0;
    while let Some(line) = lines.get(at) {
        let opened = line.trim_start();
        if opened.starts_with("~~~") {
            return Err(Problem::new(at + 1, "fence blocks with ```, not with ~~~".to_owned()));
        }
        let ticks = opened.chars().take_while(|tick| *tick == '`').count();
        if ticks < 3 {
            at += 1;
            continue;
        }
        let indent = line.strip_suffix(opened).unwrap_or("");
        let fence = opened.get(..ticks).unwrap_or("```");
        let closed = lines.iter().skip(at + 1).position(|line| line.trim() == fence);
        let Some(length) = closed else {
            return Err(Problem::new(at + 1, "this block is not closed".to_owned()));
        };
        let inside = at + 1..at + 1 + length;
        found.push(block(&lines, inside.clone(), opened.get(ticks..).unwrap_or(""), indent)?);
        at = inside.end + 1;
    }
    Ok(found)
}

/// The block whose lines, from 0, are `inside`.
fn block(lines: &[&str], inside: Range<usize>, info: &str, indent: &str) -> Result<Block, Problem> {
    // The fence is one line above, counted from 1.
    let line = inside.start;
    let inner = |at: usize| {
        let line = lines.get(at).copied().unwrap_or("");
        line.strip_prefix(indent).unwrap_or_else(|| line.trim_start())
    };
    let (language, after) = match info.split_once(' ') {
        Some((language, after)) => (language, Some(after.trim())),
        None => (info, None),
    };
    if !CHECKED.contains(&language) && !UNCHECKED.contains(&language) {
        let known = [CHECKED.as_slice(), &UNCHECKED].concat().join(", ");
        let what = if language.is_empty() { "has no language".to_owned() } else { format!("is in `{language}`") };
        return Err(Problem::new(line, format!("this block {what}\nhint: use one of {known}")));
    }
    let purpose = match (language, after) {
        ("console", None) => Purpose::Transcript(transcript(inside.clone(), inner, indent)?),
        ("console", Some(_)) => return Err(Problem::new(line, "a `console` block cannot be a file".to_owned())),
        ("yaml", Some(PART)) => Purpose::Part,
        ("yaml", Some(CI)) => Purpose::Ci,
        (_, Some(path)) => Purpose::File(file_name(path).ok_or_else(|| {
            let message = format!("`{path}` is not a file name inside the folder of the document");
            Problem::new(
                line,
                format!("{message}\nhint: after `yaml` write `{PART}`, `{CI}` or a file name such as `a/b.yml`"),
            )
        })?),
        (_, None) => Purpose::Shown,
    };
    let text = inside.flat_map(|at| [inner(at), "\n"]).collect();
    Ok(Block { line, language: language.to_owned(), text, purpose })
}

/// A path that stays in the folder of its document.
fn file_name(path: &str) -> Option<String> {
    let stays = path.split('/').all(|step| !matches!(step, "" | "." | ".."));
    let named = BARE_NAMES.contains(&path) || path.contains(['.', '/']);
    (stays && named && !path.contains(char::is_whitespace)).then(|| path.to_owned())
}

fn transcript<'a>(
    inside: Range<usize>,
    inner: impl Fn(usize) -> &'a str,
    indent: &str,
) -> Result<Vec<Command>, Problem> {
    let fence = inside.start;
    let mut commands: Vec<Command> = Vec::new();
    for at in inside {
        let line = inner(at);
        if let Some(command) = line.strip_prefix("$ ") {
            commands.push(Command {
                line: at + 1,
                typed: command.to_owned(),
                output: String::new(),
                shown_at: at + 1..at + 1,
                indent: indent.to_owned(),
            });
        } else if let Some(last) = commands.last_mut() {
            last.output.push_str(line);
            last.output.push('\n');
            last.shown_at.end = at + 1;
        } else {
            return Err(Problem::new(at + 1, "there is output before the first `$ command`".to_owned()));
        }
    }
    if commands.is_empty() {
        return Err(Problem::new(fence, "this `console` block has no `$ command`".to_owned()));
    }
    Ok(commands)
}

/// `text` with other outputs, in the order of the commands; `None` leaves an output unchanged.
pub(super) fn rewritten(text: &str, outputs: &[(&Command, Option<&str>)]) -> Result<String, Problem> {
    let lines: Vec<&str> = text.lines().collect();
    let mut new = String::new();
    let mut kept = 0;
    let copy = |range: Range<usize>, new: &mut String| {
        for line in lines.get(range).unwrap_or(&[]) {
            new.push_str(line);
            new.push('\n');
        }
    };
    for (command, output) in outputs {
        let Some(output) = output else { continue };
        if output.lines().any(|line| line.trim_start().starts_with("```")) {
            return Err(Problem::new(
                command.line,
                "this command prints a fence, which would close its block".to_owned(),
            ));
        }
        copy(kept..command.shown_at.start, &mut new);
        for line in output.lines() {
            new.push_str(format!("{}{line}", command.indent).trim_end());
            new.push('\n');
        }
        kept = command.shown_at.end;
    }
    copy(kept..lines.len(), &mut new);
    Ok(new)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(line: usize, command: &str, output: &str, shown_at: Range<usize>) -> Command {
        Command { line, typed: command.into(), output: output.into(), shown_at, indent: String::new() }
    }

    #[track_caller]
    fn rejects(text: &str, line: usize, start: &str) {
        let problem = blocks(text).unwrap_err();
        assert_eq!((problem.line, problem.message.starts_with(start)), (line, true), "{problem:?}");
    }

    #[test]
    fn commands_are_read_with_their_output() {
        let text = "a\n```sh\n$ no\n```\n```console\n$ one\nx\n\ny\n$ two\n```\nz\n";
        let found = blocks(text).unwrap();
        assert_eq!(found[0].purpose, Purpose::Shown);
        let commands = vec![shown(6, "one", "x\n\ny\n", 6..9), shown(10, "two", "", 10..10)];
        assert_eq!(found[1].purpose, Purpose::Transcript(commands));
    }

    #[test]
    fn a_name_after_the_language_makes_a_file() {
        for path in ["tests/a.yml", ".gitlab-ci.yml", "Jenkinsfile", "a.yml"] {
            let found = blocks(&format!("```groovy {path}\na: 1\n```\n")).unwrap().remove(0);
            assert_eq!((found.text.as_str(), found.purpose), ("a: 1\n", Purpose::File(path.to_owned())));
        }
    }

    #[test]
    fn a_block_may_be_indented_and_a_longer_fence_contains_a_shorter_one() {
        let found = blocks("1. a\n   ```console\n   $ one\n     x\n   ```\n").unwrap();
        let command = Command { indent: "   ".into(), ..shown(3, "one", "  x\n", 3..4) };
        assert_eq!(found[0].purpose, Purpose::Transcript(vec![command]));
        let found = blocks("````markdown\n```nonsense\n````\n").unwrap();
        assert_eq!((found.len(), found[0].text.as_str()), (1, "```nonsense\n"));
    }

    #[test]
    fn a_block_that_would_silently_not_run_is_an_error() {
        rejects("a\n```consol\n$ one\n```\n", 2, "this block is in `consol`");
        rejects("```\n$ one\n```\n", 1, "this block has no language");
        rejects("```console\n$ one\n", 1, "this block is not closed");
        rejects("```console\nx\n$ one\n```\n", 2, "there is output before");
        rejects("```console\n```\n", 1, "this `console` block has no");
        rejects("```console a.txt\n$ one\n```\n", 1, "a `console` block cannot be a file");
        rejects("~~~console\n$ one\n~~~\n", 1, "fence blocks with");
    }

    #[test]
    fn a_file_outside_of_the_folder_or_a_misspelled_word_is_an_error() {
        for name in ["prat", "/etc/a.yml", "../a.yml", "a/../b.yml", "a b.yml"] {
            rejects(&format!("```yaml {name}\n```\n"), 1, &format!("`{name}` is not a file name"));
        }
    }

    #[test]
    fn outputs_are_replaced_in_place() {
        let text = "a\n```console\n$ one\nx\ny\n$ two\n```\nb\n  ```console\n  $ three\n  old\n  ```\n";
        let found = blocks(text).unwrap();
        let commands: Vec<&Command> = found
            .iter()
            .flat_map(|block| match &block.purpose {
                Purpose::Transcript(commands) => commands.iter().collect(),
                _ => Vec::new(),
            })
            .collect();
        let outputs = [(commands[0], Some("z\n")), (commands[1], None), (commands[2], Some("new\n\nest\n"))];
        assert_eq!(
            rewritten(text, &outputs),
            Ok("a\n```console\n$ one\nz\n$ two\n```\nb\n  ```console\n  $ three\n  new\n\n  est\n  ```\n".to_owned())
        );
        assert_eq!(rewritten(text, &[(commands[0], Some("```\n"))]).unwrap_err().line, 3);
    }
}
