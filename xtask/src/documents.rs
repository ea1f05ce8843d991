//! `cargo xtask docs`: what documents show is tried out.
//!
//! Commands in `console` blocks are run and have to print what is shown; `--write` shows what they print. They run in the
//! root of the repository, or in a folder of their own when the document has blocks with the name of a file, which are
//! written there. YAML is validated, JSON parsed, calls of the program in scripts are given to its own parser, and Rust has
//! to be a doctest.

mod blocks;
mod commands;
mod run;
mod yaml;

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde_json::Value;

use crate::cargo::cargo;
use crate::failure::Failure;
use crate::tree::{Tree, is_document};
use crate::{out, tidy};
use blocks::{Block, Purpose};

/// What to do with an output that is not the one shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Mode {
    Check,
    Write,
}

/// Something in a document that does not hold.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Flaw {
    /// From 1.
    line: usize,
    message: String,
}

impl Flaw {
    fn new(line: usize, message: String) -> Self {
        Self { line, message }
    }
}

/// Where documents are tried out.
struct Bench<'a> {
    root: &'a Path,
    /// The folder of the program.
    programs: &'a Path,
    limit: Duration,
}

/// What came of a document.
#[derive(Debug, Default)]
struct Tried {
    commands: usize,
    flaws: Vec<Flaw>,
    /// Its text with the outputs of now, where they differ.
    rewritten: Option<String>,
}

pub(crate) fn run(root: &Path, mode: Mode) -> Result<(), Failure> {
    let programs = build(root)?;
    let bench = Bench { root, programs: &programs, limit: run::LIMIT };
    let tree = Tree::read(root)?;
    let (mut documents, mut commands, mut broken) = (0, 0, 0);
    for (path, text) in tree.files().filter(|(path, _)| is_tried(path)) {
        let mut tried = bench.try_out(text, &tree, path, mode)?;
        if let Some(text) = &tried.rewritten {
            write(&root.join(path), text)?;
            out::say(&format!("wrote {path}"));
        }
        documents += 1;
        commands += tried.commands;
        broken += tried.flaws.len();
        tried.flaws.sort_by_key(|flaw| flaw.line);
        for flaw in tried.flaws {
            out::complain(&format!("{path}:{}: {}", flaw.line, flaw.message));
        }
    }
    match broken {
        _ if commands == 0 => Err(Failure::refused("no document shows a command, so none was tried".to_owned())),
        0 => {
            out::say(&format!("{documents} documents hold: {commands} commands print what is shown"));
            Ok(())
        }
        1 => Err(Failure::refused("what a document shows does not hold in 1 place, see above".to_owned())),
        _ => Err(Failure::refused(format!("what documents show does not hold in {broken} places, see above"))),
    }
}

/// Whether a file is a document whose blocks are tried out.
fn is_tried(path: &str) -> bool {
    let below = |folder: &str| path.starts_with(folder);
    let place = matches!(path, "README.md" | "CONTRIBUTING.md") || below("docs/") || below("examples/");
    place && is_document(path) && !below("docs/decisions/")
}

/// Builds the program and says in which folder it is.
fn build(root: &Path) -> Result<PathBuf, Failure> {
    let status = cargo(root).args(["build", "-q", "-p", "mcptest", "--locked"]).status();
    let status = status.map_err(|error| Failure::broken(format!("cannot start `cargo build`: {error}")))?;
    if !status.success() {
        return Err(Failure::broken(format!("`cargo build -p mcptest` failed ({status})")));
    }
    let metadata: Value = serde_json::from_str(&tidy::metadata(root)?)
        .map_err(|error| Failure::broken(format!("`cargo metadata` printed no JSON: {error}")))?;
    let target = metadata.get("target_directory").and_then(Value::as_str);
    let target = target.ok_or_else(|| Failure::broken("`cargo metadata` names no `target_directory`".to_owned()))?;
    Ok(Path::new(target).join("debug"))
}

impl Bench<'_> {
    fn try_out(&self, text: &str, tree: &Tree, path: &str, mode: Mode) -> Result<Tried, Failure> {
        let blocks = match blocks::blocks(text) {
            Ok(blocks) => blocks,
            Err(flaw) => return Ok(Tried { flaws: vec![flaw], ..Tried::default() }),
        };
        let scratch = tempfile::tempdir()
            .map_err(|error| Failure::broken(format!("cannot make a folder for documents: {error}")))?;
        let own = scratch.path().join("document");
        fs::create_dir(&own).map_err(|error| Failure::io("create", &own, &error))?;
        let has_files = blocks.iter().any(|block| matches!(block.purpose, Purpose::File(_)));
        let folder = if has_files { own.as_path() } else { self.root };
        let mut tried = Tried::default();
        let mut outputs = Vec::new();
        for block in &blocks {
            tried.flaws.extend(still(block, scratch.path(), tree, path)?);
            match &block.purpose {
                Purpose::File(name) => write(&own.join(name), &block.text)?,
                Purpose::Transcript(commands) => {
                    for shown in commands {
                        tried.commands += 1;
                        let (flaw, printed) = self.try_command(shown, folder, mode)?;
                        tried.flaws.extend(flaw);
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
                Err(flaw) => tried.flaws.push(flaw),
            }
        }
        Ok(tried)
    }

    /// What is wrong with a command, and, when outputs are to be written, what it prints instead of what is shown.
    fn try_command(
        &self,
        shown: &blocks::Command,
        folder: &Path,
        mode: Mode,
    ) -> Result<(Option<Flaw>, Option<String>), Failure> {
        let command = &shown.typed;
        let run = run::run(command, folder, self.programs, self.limit);
        let run = run.map_err(|error| Failure::broken(format!("cannot start `{command}`: {error}")))?;
        let Some(printed) = run else {
            let message = format!("`{command}` was not done after {} s", self.limit.as_secs());
            return Ok((Some(Flaw::new(shown.line, message)), None));
        };
        if printed.data == shown.output {
            return Ok((None, None));
        }
        if mode == Mode::Write {
            return Ok((None, Some(printed.data)));
        }
        let alike = shown.output.lines().zip(printed.data.lines()).take_while(|(shown, printed)| shown == printed);
        let message = format!(
            "`{command}` prints something else than shown, from line {} on\n--- shown\n{}--- printed ({})\n{}{}\
             --- hint: `cargo xtask docs --write` shows what it prints now",
            shown.shown_at.start + alike.count() + 1,
            shown.output,
            printed.status,
            printed.data,
            printed.complaints
        );
        Ok((Some(Flaw::new(shown.line, message)), None))
    }
}

/// What can be said against a block without running it. `folder` is for files on the way.
fn still(block: &Block, folder: &Path, tree: &Tree, path: &str) -> Result<Vec<Flaw>, Failure> {
    let flaw = |message: String| Flaw::new(block.line, message);
    let mut flaws = commands::check(block);
    match (block.language.as_str(), &block.purpose) {
        ("yaml", Purpose::Shown) => {
            flaws.extend(yaml::complaint(folder, &block.text)?.map(|said| {
                let hint = "hint: a part of a suite is `yaml part`, something for a CI server `yaml ci`";
                flaw(format!("`mcptest validate` refuses this block\n{said}\n{hint}"))
            }));
        }
        ("yaml", Purpose::Part) => match yaml::whole(&block.text) {
            Ok(whole) => {
                let said = yaml::complaint(folder, &whole)?;
                flaws.extend(said.map(|said| flaw(format!("`mcptest validate` refuses this part of a suite\n{said}"))));
            }
            Err(message) => flaws.push(flaw(message)),
        },
        ("yaml", Purpose::Ci) => flaws.extend(yaml::unreadable(&block.text).map(flaw)),
        ("yaml", Purpose::File(name)) if name.starts_with('.') => flaws.extend(yaml::unreadable(&block.text).map(flaw)),
        ("json", _) => {
            let read = mcptest_core::json::parse(&block.text);
            flaws.extend(read.err().map(|error| flaw(format!("this block is no JSON: {error}"))));
        }
        ("jsonl", _) => {
            for (line, number) in block.text.lines().zip(block.line + 1..) {
                let read = mcptest_core::json::parse(line);
                flaws.extend(read.err().map(|error| Flaw::new(number, format!("this line is no JSON: {error}"))));
            }
        }
        ("rust", _) if !is_doctest(tree, path) => {
            let message =
                "this block is not compiled\nhint: Rust stands in documents that a crate includes as doctests";
            flaws.push(flaw(message.to_owned()));
        }
        _ => {}
    }
    Ok(flaws)
}

/// Whether a crate includes the document, so that its code is compiled and run with the tests.
fn is_doctest(tree: &Tree, path: &str) -> bool {
    let included = format!("#[doc = include_str!(\"../../../{path}\")]");
    tree.files().any(|(source, text)| {
        source.starts_with("crates/") && source.ends_with("/src/lib.rs") && text.contains(&included)
    })
}

/// Writes a file and the folders it lies in.
fn write(path: &Path, text: &str) -> Result<(), Failure> {
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder).map_err(|error| Failure::io("create", folder, &error))?;
    }
    fs::write(path, text).map_err(|error| Failure::io("write", path, &error))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What comes of a document in a repository of nothing else.
    fn tried(text: &str, mode: Mode) -> Tried {
        let root = tempfile::tempdir().unwrap();
        fs::write(root.path().join("in-the-root"), "").unwrap();
        let bench = Bench { root: root.path(), programs: Path::new("/"), limit: Duration::from_secs(20) };
        bench.try_out(text, &Tree::from([("docs/a.md", text)]), "docs/a.md", mode).unwrap()
    }

    #[track_caller]
    fn holds(text: &str) {
        assert_eq!(tried(text, Mode::Check).flaws, [], "{text}");
    }

    #[track_caller]
    fn refused(text: &str, line: usize, start: &str) {
        let flaws = tried(text, Mode::Check).flaws;
        assert_eq!(flaws.iter().map(|flaw| flaw.line).collect::<Vec<_>>(), [line], "{flaws:?}");
        assert!(flaws[0].message.starts_with(start), "{}", flaws[0].message);
    }

    #[test]
    fn a_changed_output_is_refused_with_what_is_shown_and_what_is_printed() {
        holds("```console\n$ echo one; echo more\none\nmore\n```\n");
        let flaws =
            tried("a\n\n```console\n$ echo one; echo two; echo why >&2; exit 3\none\n2\n```\n", Mode::Check).flaws;
        let message = "`echo one; echo two; echo why >&2; exit 3` prints something else than shown, from line 6 on\n\
                       --- shown\none\n2\n--- printed (exit status: 3)\none\ntwo\nwhy\n\
                       --- hint: `cargo xtask docs --write` shows what it prints now";
        assert_eq!(flaws, [Flaw::new(4, message.to_owned())]);
    }

    #[test]
    fn every_difference_of_a_document_is_told() {
        let text = "```console\n$ echo 1\n2\n$ echo 3\n3\n```\n```console\n$ echo 4\n```\n";
        let tried = tried(text, Mode::Check);
        assert_eq!(tried.flaws.iter().map(|flaw| flaw.line).collect::<Vec<_>>(), [2, 8]);
        assert_eq!((tried.commands, tried.rewritten), (3, None));
    }

    #[test]
    fn written_outputs_hold_afterwards() {
        let text = "```console\n$ echo 1\n2\n$ echo 3\n```\n";
        let tried = tried(text, Mode::Write);
        let text = tried.rewritten.unwrap();
        assert_eq!((text.as_str(), tried.flaws), ("```console\n$ echo 1\n1\n$ echo 3\n3\n```\n", vec![]));
        holds(&text);
    }

    #[test]
    fn what_holds_is_not_written_again() {
        assert_eq!(tried("```console\n$ echo 1\n1\n```\n", Mode::Write).rewritten, None);
    }

    #[test]
    fn commands_run_in_the_root_and_beside_files_where_there_are_some() {
        holds("```console\n$ ls\nin-the-root\n```\n");
        holds("```console\n$ ls\n```\n```text a/b.txt\nx\n```\n```console\n$ ls; cat a/b.txt\na\nx\n```\n");
    }

    #[test]
    fn a_file_is_replaced_by_a_later_block_of_its_name() {
        holds(
            "```text a.txt\n1\n```\n```console\n$ cat a.txt\n1\n```\n```text a.txt\n2\n```\n```console\n$ cat a.txt\n2\n```\n",
        );
    }

    #[test]
    fn a_command_without_an_end_is_refused() {
        let root = tempfile::tempdir().unwrap();
        let bench = Bench { root: root.path(), programs: Path::new("/"), limit: Duration::from_secs(1) };
        let text = "```console\n$ sleep 600\n```\n";
        let tried = bench.try_out(text, &Tree::from([]), "docs/a.md", Mode::Write).unwrap();
        assert_eq!(tried.flaws, [Flaw::new(2, "`sleep 600` was not done after 1 s".to_owned())]);
        assert_eq!(tried.rewritten, None);
    }

    #[test]
    fn yaml_json_scripts_and_rust_are_checked() {
        holds("```yaml\nnarrative: {}\n```\n```yaml part\nmodels: {}\n```\n```yaml ci\nsteps: []\n```\n");
        refused("```yaml\nmodels: {}\n```\n", 1, "`mcptest validate` refuses this block");
        refused("```yaml part\nmodels: 7\n```\n", 1, "`mcptest validate` refuses this part");
        refused("```yaml ci\nsteps: [\n```\n", 1, "the block:1:8: error: not YAML");
        refused("```yaml .github/workflows/a.yml\nsteps: [\n```\n", 1, "the block:1:8: error: not YAML");
        refused("```json\n{ \"a\": 1, }\n```\n", 1, "this block is no JSON: ");
        refused("```jsonl\n{ \"a\": 1 }\n{ \"a\": 1\n```\n", 3, "this line is no JSON: ");
        refused("```sh\nls\nmcptest rum\n```\n", 3, "`mcptest rum` is not understood");
        refused("```rust\nfn main() {}\n```\n", 1, "this block is not compiled");
        refused("```console\n$ echo 1\n", 1, "this block is not closed");
    }

    #[test]
    fn rust_in_a_document_that_a_crate_includes_is_a_doctest() {
        let tree =
            Tree::from([("crates/core/src/lib.rs", "#[doc = include_str!(\"../../../docs/a.md\")]\nstruct A;\n")]);
        assert!(is_doctest(&tree, "docs/a.md") && !is_doctest(&tree, "docs/b.md"));
    }

    #[test]
    fn documents_for_users_are_tried_and_reasons_are_not() {
        for path in ["README.md", "CONTRIBUTING.md", "docs/a.md", "docs/gates/a.md", "examples/a/README.md"] {
            assert!(is_tried(path), "{path}");
        }
        for path in ["ARCHITECTURE.md", "CHANGELOG.md", "docs/decisions/0001-a.md", "docs/a.png", "crates/a/README.md"]
        {
            assert!(!is_tried(path), "{path}");
        }
    }
}
