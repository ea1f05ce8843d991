//! `cargo xtask docs`: runs the examples in the documents.
//!
//! Commands in `console` blocks must print what is shown; `--write` updates the document. They run in the root of the repository,
//! or in a temporary folder when the document has blocks with a file name, which are written there. YAML is validated, JSON is
//! parsed, calls of the program in scripts are given to its own parser, and Rust must be a doctest. `trycmd` does the first part,
//! but without a shell, and the examples use pipes.

mod blocks;
mod commands;
mod run;
mod yaml;

use std::fs;
use std::path::Path;
use std::time::Duration;

use crate::Mode;
use crate::cargo;
use crate::failure::Failure;
use crate::out;
use crate::tree::{Tree, is_document};
use blocks::{Block, Purpose};

/// Something in a document that is wrong.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Problem {
    /// From 1.
    line: usize,
    message: String,
}

impl Problem {
    fn new(line: usize, message: String) -> Self {
        Self { line, message }
    }
}

/// Runs the examples of documents.
struct Runner<'a> {
    root: &'a Path,
    /// The folder of the program.
    programs: &'a Path,
    limit: Duration,
}

#[derive(Debug, Default)]
struct Outcome {
    commands: usize,
    problems: Vec<Problem>,
    /// The text with the current outputs, when they differ.
    rewritten: Option<String>,
}

pub(crate) fn run(root: &Path, mode: Mode) -> Result<(), Failure> {
    let programs = cargo::build_program(root)?;
    let runner = Runner { root, programs: &programs, limit: run::LIMIT };
    let tree = Tree::read(root)?;
    let (mut documents, mut commands, mut count) = (0, 0, 0);
    for (path, text) in tree.files().filter(|(path, _)| has_examples(path)) {
        let mut tried = runner.run(text, &tree, path, mode)?;
        if let Some(text) = &tried.rewritten {
            write(&root.join(path), text)?;
            out::say(&format!("wrote {path}"));
        }
        documents += 1;
        commands += tried.commands;
        count += tried.problems.len();
        tried.problems.sort_by_key(|problem| problem.line);
        for problem in tried.problems {
            out::complain(&format!("{path}:{}: {}", problem.line, problem.message));
        }
    }
    match count {
        _ if commands == 0 => Err(Failure::failed("no document has a command".to_owned())),
        0 => {
            out::say(&format!("{documents} documents are correct: {commands} commands print what is shown"));
            Ok(())
        }
        1 => Err(Failure::failed("1 example is wrong, see above".to_owned())),
        _ => Err(Failure::failed(format!("{count} examples are wrong, see above"))),
    }
}

/// Whether a file is a document for users.
fn has_examples(path: &str) -> bool {
    let below = |folder: &str| path.starts_with(folder);
    let place = matches!(path, "README.md" | "CONTRIBUTING.md") || below("docs/") || below("examples/");
    place && is_document(path) && !below("docs/decisions/")
}

impl Runner<'_> {
    fn run(&self, text: &str, tree: &Tree, path: &str, mode: Mode) -> Result<Outcome, Failure> {
        let blocks = match blocks::blocks(text) {
            Ok(blocks) => blocks,
            Err(problem) => return Ok(Outcome { problems: vec![problem], ..Outcome::default() }),
        };
        let scratch = tempfile::tempdir()
            .map_err(|error| Failure::broken(format!("cannot create a temporary folder: {error}")))?;
        let own = scratch.path().join("document");
        fs::create_dir(&own).map_err(|error| Failure::io("create", &own, &error))?;
        let has_files = blocks.iter().any(|block| matches!(block.purpose, Purpose::File(_)));
        let folder = if has_files { own.as_path() } else { self.root };
        let mut tried = Outcome::default();
        let mut outputs = Vec::new();
        for block in &blocks {
            tried.problems.extend(check(block, scratch.path(), tree, path)?);
            match &block.purpose {
                Purpose::File(name) => write(&own.join(name), &block.text)?,
                Purpose::Transcript(commands) => {
                    for shown in commands {
                        tried.commands += 1;
                        let (problem, printed) = self.run_command(shown, folder, mode)?;
                        tried.problems.extend(problem);
                        outputs.push((shown, printed));
                    }
                }
                _ => {}
            }
        }
        if outputs.iter().any(|(_, printed)| printed.is_some()) {
            let outputs: Vec<_> = outputs.iter().map(|(shown, printed)| (*shown, printed.as_deref())).collect();
            match blocks::rewritten(text, &outputs) {
                Ok(text) => tried.rewritten = Some(text),
                Err(problem) => tried.problems.push(problem),
            }
        }
        Ok(tried)
    }

    /// What is wrong with a command and, in write mode, what it prints instead.
    fn run_command(
        &self,
        shown: &blocks::Command,
        folder: &Path,
        mode: Mode,
    ) -> Result<(Option<Problem>, Option<String>), Failure> {
        let command = &shown.typed;
        let run = run::run(command, folder, self.programs, self.limit);
        let run = run.map_err(|error| Failure::broken(format!("cannot start `{command}`: {error}")))?;
        let Some(printed) = run else {
            let message = format!("`{command}` did not finish within {} s", self.limit.as_secs());
            return Ok((Some(Problem::new(shown.line, message)), None));
        };
        if printed.stdout == shown.output {
            return Ok((None, None));
        }
        if mode == Mode::Write {
            return Ok((None, Some(printed.stdout)));
        }
        let same = shown.output.lines().zip(printed.stdout.lines()).take_while(|(shown, printed)| shown == printed);
        let message = format!(
            "`{command}` does not print what is shown, from line {} on\n--- shown\n{}--- printed ({})\n{}{}\
             --- hint: `cargo xtask docs --write` updates the document",
            shown.shown_at.start + same.count() + 1,
            shown.output,
            printed.status,
            printed.stdout,
            printed.stderr
        );
        Ok((Some(Problem::new(shown.line, message)), None))
    }
}

/// What is wrong with a block without running it. `folder` is for temporary files.
fn check(block: &Block, folder: &Path, tree: &Tree, path: &str) -> Result<Vec<Problem>, Failure> {
    let problem = |message: String| Problem::new(block.line, message);
    let mut problems = commands::check(block);
    match (block.language.as_str(), &block.purpose) {
        ("yaml", Purpose::Shown) => {
            problems.extend(yaml::validate(folder, &block.text)?.map(|message| {
                let hint = "hint: mark a part of a suite with `yaml part`, a file for a CI server with `yaml ci`";
                problem(format!("`mcptest validate` rejects this block\n{message}\n{hint}"))
            }));
        }
        ("yaml", Purpose::Part) => match yaml::whole(&block.text) {
            Ok(whole) => {
                let message = yaml::validate(folder, &whole)?;
                problems.extend(
                    message
                        .map(|message| problem(format!("`mcptest validate` rejects this part of a suite\n{message}"))),
                );
            }
            Err(message) => problems.push(problem(message)),
        },
        ("yaml", Purpose::Ci) => problems.extend(yaml::unreadable(&block.text).map(problem)),
        ("yaml", Purpose::File(name)) if name.starts_with('.') => {
            problems.extend(yaml::unreadable(&block.text).map(problem));
        }
        ("json", _) => {
            let read = mcptest_core::json::parse(&block.text);
            problems.extend(read.err().map(|error| problem(format!("this block is not JSON: {error}"))));
        }
        ("jsonl", _) => {
            for (line, number) in block.text.lines().zip(block.line + 1..) {
                let read = mcptest_core::json::parse(line);
                problems
                    .extend(read.err().map(|error| Problem::new(number, format!("this line is not JSON: {error}"))));
            }
        }
        ("rust", _) if !is_doctest(tree, path) => {
            let hint = "hint: Rust belongs in documents that a crate includes as doctests";
            problems.push(problem(format!("this block is not compiled\n{hint}")));
        }
        _ => {}
    }
    Ok(problems)
}

/// Whether a crate includes the document, so that the tests compile and run its code.
fn is_doctest(tree: &Tree, path: &str) -> bool {
    let included = format!("#[doc = include_str!(\"../../../{path}\")]");
    tree.files().any(|(source, text)| {
        source.starts_with("crates/") && source.ends_with("/src/lib.rs") && text.contains(&included)
    })
}

/// Writes a file, and creates its folder.
fn write(path: &Path, text: &str) -> Result<(), Failure> {
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder).map_err(|error| Failure::io("create", folder, &error))?;
    }
    fs::write(path, text).map_err(|error| Failure::io("write", path, &error))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Runs a document in its own repository.
    fn tried(text: &str, mode: Mode) -> Outcome {
        let root = tempfile::tempdir().unwrap();
        fs::write(root.path().join("in-the-root"), "").unwrap();
        let runner = Runner { root: root.path(), programs: Path::new("/"), limit: Duration::from_secs(20) };
        runner.run(text, &Tree::from([("docs/a.md", text)]), "docs/a.md", mode).unwrap()
    }

    #[track_caller]
    fn passes(text: &str) {
        assert_eq!(tried(text, Mode::Check).problems, [], "{text}");
    }

    #[track_caller]
    fn fails(text: &str, line: usize, start: &str) {
        let problems = tried(text, Mode::Check).problems;
        assert_eq!(problems.iter().map(|problem| problem.line).collect::<Vec<_>>(), [line], "{problems:?}");
        assert!(problems[0].message.starts_with(start), "{}", problems[0].message);
    }

    #[test]
    fn a_changed_output_is_reported_with_expected_and_actual() {
        passes("```console\n$ echo one; echo more\none\nmore\n```\n");
        let problems =
            tried("a\n\n```console\n$ echo one; echo two; echo why >&2; exit 3\none\n2\n```\n", Mode::Check).problems;
        let message = "`echo one; echo two; echo why >&2; exit 3` does not print what is shown, from line 6 on\n\
                       --- shown\none\n2\n--- printed (exit status: 3)\none\ntwo\nwhy\n\
                       --- hint: `cargo xtask docs --write` updates the document";
        assert_eq!(problems, [Problem::new(4, message.to_owned())]);
    }

    #[test]
    fn every_difference_is_reported_or_written() {
        let text = "```console\n$ echo 1\n2\n$ echo 3\n3\n```\n```console\n$ echo 4\n```\n";
        let checked = tried(text, Mode::Check);
        assert_eq!(checked.problems.iter().map(|problem| problem.line).collect::<Vec<_>>(), [2, 8]);
        assert_eq!((checked.commands, checked.rewritten), (3, None));
        let written = tried(text, Mode::Write);
        let expected = "```console\n$ echo 1\n1\n$ echo 3\n3\n```\n```console\n$ echo 4\n4\n```\n";
        assert_eq!((written.rewritten.as_deref(), written.problems), (Some(expected), vec![]));
        assert_eq!(tried(expected, Mode::Write).rewritten, None);
    }

    #[test]
    fn commands_run_in_the_root_or_next_to_the_files_of_the_document() {
        passes("```console\n$ ls\nin-the-root\n```\n");
        passes("```console\n$ ls\n```\n```text a/b.txt\nx\n```\n```console\n$ ls; cat a/b.txt\na\nx\n```\n");
    }

    #[test]
    fn a_command_without_an_end_is_fails() {
        let root = tempfile::tempdir().unwrap();
        let runner = Runner { root: root.path(), programs: Path::new("/"), limit: Duration::from_secs(1) };
        let text = "```console\n$ sleep 600\n```\n";
        let tried = runner.run(text, &Tree::from([]), "docs/a.md", Mode::Write).unwrap();
        assert_eq!(tried.problems, [Problem::new(2, "`sleep 600` did not finish within 1 s".to_owned())]);
        assert_eq!(tried.rewritten, None);
    }

    #[test]
    fn yaml_json_scripts_and_rust_are_checked() {
        passes("```yaml\nnarrative: {}\n```\n```yaml part\nmodels: {}\n```\n```yaml ci\nsteps: []\n```\n");
        fails("```yaml\nmodels: {}\n```\n", 1, "`mcptest validate` rejects this block");
        fails("```yaml part\nmodels: 7\n```\n", 1, "`mcptest validate` rejects this part");
        fails("```yaml ci\nsteps: [\n```\n", 1, "the block:1:8: error[not-yaml]: invalid YAML");
        fails("```yaml .github/workflows/a.yml\nsteps: [\n```\n", 1, "the block:1:8: error[not-yaml]: invalid YAML");
        fails("```json\n{ \"a\": 1, }\n```\n", 1, "this block is not JSON: ");
        fails("```jsonl\n{ \"a\": 1 }\n{ \"a\": 1\n```\n", 3, "this line is not JSON: ");
        fails("```sh\nls\nmcptest rum\n```\n", 3, "`mcptest rum` is not a valid call");
        fails("```rust\nfn main() {}\n```\n", 1, "this block is not compiled");
        fails("```console\n$ echo 1\n", 1, "this block is not closed");
    }
}
