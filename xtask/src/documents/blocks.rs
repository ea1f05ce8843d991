//! The fenced blocks of a document, and what is to be done with each.

use std::ops::Range;

use super::Flaw;

/// Languages of blocks that are looked at by people only.
const FOR_PEOPLE: [&str; 8] = ["text", "toml", "python", "dockerfile", "xml", "diff", "markdown", "typescript"];
/// Languages of blocks that something is done with.
const USED: [&str; 7] = ["console", "sh", "yaml", "json", "jsonl", "rust", "groovy"];
/// Files that are known by their name alone.
const BARE_NAMES: [&str; 3] = ["Jenkinsfile", "Dockerfile", "Makefile"];
/// After `yaml`: a part of a suite.
const PART: &str = "part";
/// After `yaml`: something for a CI server.
const CI: &str = "ci";

/// A block of a document.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Block {
    /// The line of its opening fence, from 1.
    pub(super) line: usize,
    pub(super) language: String,
    /// Its lines, without the indentation of the fence.
    pub(super) text: String,
    pub(super) purpose: Purpose,
}

/// What a block is for.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Purpose {
    /// Commands and what they print.
    Transcript(Vec<Command>),
    /// A file, written into the folder of the document.
    File(String),
    /// A part of a suite.
    Part,
    /// Something for a CI server.
    Ci,
    /// Nothing but what its language says.
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
    /// What stands before every line of the block.
    pub(super) indent: String,
}

/// Every block of a document.
pub(super) fn blocks(text: &str) -> Result<Vec<Block>, Flaw> {
    let lines: Vec<&str> = text.lines().collect();
    let mut found = Vec::new();
    let mut at = 0;
    while let Some(line) = lines.get(at) {
        let opened = line.trim_start();
        if opened.starts_with("~~~") {
            return Err(Flaw::new(at + 1, "a block is fenced with ``` here, and not with ~~~".to_owned()));
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
            return Err(Flaw::new(at + 1, "this block is not closed".to_owned()));
        };
        let inside = at + 1..at + 1 + length;
        found.push(block(&lines, inside.clone(), opened.get(ticks..).unwrap_or(""), indent)?);
        at = inside.end + 1;
    }
    Ok(found)
}

/// The block whose lines, from 0, are `inside`.
fn block(lines: &[&str], inside: Range<usize>, info: &str, indent: &str) -> Result<Block, Flaw> {
    // The fence stands one line before what is inside, and people count from 1.
    let line = inside.start;
    let inner = |at: usize| {
        let line = lines.get(at).copied().unwrap_or("");
        line.strip_prefix(indent).unwrap_or_else(|| line.trim_start())
    };
    let (language, after) = match info.split_once(' ') {
        Some((language, after)) => (language, Some(after.trim())),
        None => (info, None),
    };
    if !USED.contains(&language) && !FOR_PEOPLE.contains(&language) {
        let known = [USED.as_slice(), &FOR_PEOPLE].concat().join(", ");
        let what = if language.is_empty() { "has no language".to_owned() } else { format!("is in `{language}`") };
        return Err(Flaw::new(line, format!("this block {what}\nhint: a block is in one of {known}")));
    }
    let purpose = match (language, after) {
        ("console", None) => Purpose::Transcript(transcript(inside.clone(), inner, indent)?),
        ("console", Some(_)) => return Err(Flaw::new(line, "a `console` block is no file".to_owned())),
        ("yaml", Some(PART)) => Purpose::Part,
        ("yaml", Some(CI)) => Purpose::Ci,
        (_, Some(path)) => Purpose::File(file_name(path).ok_or_else(|| {
            let message = format!("`{path}` is no name of a file in the folder of the document");
            Flaw::new(line, format!("{message}\nhint: after `yaml` stand `{PART}`, `{CI}` or a file such as `a/b.yml`"))
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

fn transcript<'a>(inside: Range<usize>, inner: impl Fn(usize) -> &'a str, indent: &str) -> Result<Vec<Command>, Flaw> {
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
            return Err(Flaw::new(at + 1, "an output stands before the first `$ command`".to_owned()));
        }
    }
    if commands.is_empty() {
        return Err(Flaw::new(fence, "this `console` block has no `$ command`".to_owned()));
    }
    Ok(commands)
}

/// `text` with other outputs, in the order in which the commands stand; `None` leaves an output as it is.
pub(super) fn rewritten(text: &str, outputs: &[(&Command, Option<&str>)]) -> Result<String, Flaw> {
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
            return Err(Flaw::new(command.line, "this command prints a fence, which would end its block".to_owned()));
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
    fn refuses(text: &str, line: usize, start: &str) {
        let flaw = blocks(text).unwrap_err();
        assert_eq!((flaw.line, flaw.message.starts_with(start)), (line, true), "{flaw:?}");
    }

    #[test]
    fn commands_stand_with_what_they_print() {
        let text = "a\n```sh\n$ no\n```\n```console\n$ one\nx\n\ny\n$ two\n```\nz\n";
        let found = blocks(text).unwrap();
        assert_eq!(found[0].purpose, Purpose::Shown);
        let commands = vec![shown(6, "one", "x\n\ny\n", 6..9), shown(10, "two", "", 10..10)];
        assert_eq!(found[1].purpose, Purpose::Transcript(commands));
    }

    #[test]
    fn a_name_after_the_language_makes_a_file() {
        let purpose = |info: &str| blocks(&format!("```{info}\na: 1\n```\n")).map(|found| found[0].text.clone());
        assert_eq!(purpose("yaml tests/a.yml"), Ok("a: 1\n".to_owned()));
        let file = |info: &str| match blocks(&format!("```{info}\n```\n")).unwrap().remove(0).purpose {
            Purpose::File(path) => path,
            other => panic!("{other:?}"),
        };
        for path in ["tests/a.yml", ".gitlab-ci.yml", "Jenkinsfile", "a.yml"] {
            assert_eq!(file(&format!("groovy {path}")), path);
        }
    }

    #[test]
    fn a_block_in_a_list_loses_its_indentation() {
        let found = blocks("1. a\n   ```console\n   $ one\n     x\n   ```\n").unwrap();
        let command = Command { indent: "   ".into(), ..shown(3, "one", "  x\n", 3..4) };
        assert_eq!(found[0].purpose, Purpose::Transcript(vec![command]));
    }

    #[test]
    fn a_longer_fence_holds_a_shorter_one() {
        let found = blocks("````markdown\n```nonsense\n````\n").unwrap();
        assert_eq!((found.len(), found[0].text.as_str()), (1, "```nonsense\n"));
    }

    #[test]
    fn what_would_not_be_run_by_mistake_is_refused() {
        refuses("a\n```consol\n$ one\n```\n", 2, "this block is in `consol`");
        refuses("```\n$ one\n```\n", 1, "this block has no language");
        refuses("```console\n$ one\n", 1, "this block is not closed");
        refuses("```console\nx\n$ one\n```\n", 2, "an output stands before");
        refuses("```console\n```\n", 1, "this `console` block has no");
        refuses("```console a.txt\n$ one\n```\n", 1, "a `console` block is no file");
        refuses("~~~console\n$ one\n~~~\n", 1, "a block is fenced with");
    }

    #[test]
    fn a_file_outside_of_the_folder_or_a_misspelt_word_is_refused() {
        for name in ["prat", "/etc/a.yml", "../a.yml", "a/../b.yml", "a b.yml"] {
            refuses(&format!("```yaml {name}\n```\n"), 1, &format!("`{name}` is no name of a file"));
        }
    }

    #[test]
    fn outputs_are_replaced_where_they_stand() {
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
