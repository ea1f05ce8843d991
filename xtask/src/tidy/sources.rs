//! Rules about the text of files: module docs, length, threads, words, and tests that the documents name.
//!
//! What is banned is spelled in two halves here, so that this file does not find itself.

use super::Finding;
use crate::tree::{Tree, has_extension};

/// Longest source file that is not a table.
const MAX_LINES: usize = 800;

/// A file with this line among its first ten is one flat table and may be long.
const TABLE_MARK: &str = "// tidy: table";

/// Calls that panic or wait forever where no thread can be started. Clippy cannot ban them, because tests may use them.
const THREADS: [&str; 7] = [
    concat!("thread::", "spawn("),
    concat!("scope.", "spawn("),
    concat!("spawn_", "blocking"),
    concat!("tokio::", "fs"),
    concat!("tokio::io::", "std"),
    concat!("enable_", "steady_tick"),
    concat!("new_multi_", "thread"),
];

/// Words that no file may contain, and why.
const WORDS: [(&str, &str); 5] = [
    (concat!("TO", "DO"), "open an issue instead"),
    (concat!("FIX", "ME"), "open an issue instead"),
    (concat!("/ro", "ot/"), "this is a path of one machine"),
    (concat!("/ho", "me/"), "this is a path of one machine"),
    (concat!("/Us", "ers/"), "this is a path of one machine"),
];

const SECURITY_PAGE: &str = "docs/security.md";

fn sources(tree: &Tree) -> impl Iterator<Item = (&str, &str)> {
    tree.files().filter(|(path, _)| has_extension(path, "rs"))
}

/// Every source file begins by saying what it is for.
pub(super) fn module_docs(tree: &Tree) -> Vec<Finding> {
    let without = sources(tree).filter(|(_, text)| !text.starts_with("//! "));
    without.map(|(path, _)| Finding::at_line(path, 1, "does not begin with a `//!` module doc")).collect()
}

/// The program starts threads only in ways that can fail.
pub(super) fn threads(tree: &Tree) -> Vec<Finding> {
    let program = sources(tree)
        .filter(|(path, _)| path.starts_with("crates/") && path.contains("/src/") && !path.ends_with("/tests.rs"));
    let instead =
        "panics where no thread can be started: use `std::thread::Builder` or `mcptest_runner::runtime::build`";
    program.flat_map(|(path, text)| find(path, text, THREADS.map(|banned| (banned, instead)))).collect()
}

/// No file has notes to self or paths of one machine.
pub(super) fn banned_words(tree: &Tree) -> Vec<Finding> {
    tree.files().flat_map(|(path, text)| find(path, text, WORDS)).collect()
}

fn find<const N: usize>(path: &str, text: &str, banned: [(&str, &str); N]) -> Vec<Finding> {
    let lines =
        text.lines().zip(1..).flat_map(|(line, number)| banned.iter().map(move |banned| (line, number, banned)));
    let found = lines.filter(|(line, _, (what, _))| line.contains(what));
    found.map(|(_, number, (what, why))| Finding::at_line(path, number, format!("`{what}`: {why}"))).collect()
}

/// No source file is too long to read.
pub(super) fn file_length(tree: &Tree) -> Vec<Finding> {
    let is_table = |text: &str| text.lines().take(10).any(|line| line.trim() == TABLE_MARK);
    let long = sources(tree).filter(|(_, text)| text.lines().count() > MAX_LINES && !is_table(text));
    let message = format!("has more than {MAX_LINES} lines: split it, or mark a flat table with `{TABLE_MARK}`");
    long.map(|(path, _)| Finding::in_file(path, message.clone())).collect()
}

/// Every `cargo test` command of the security page runs at least one test.
pub(super) fn security_tests(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (line, number) in tree.get(SECURITY_PAGE).unwrap_or("").lines().zip(1..) {
        for command in line.split('`').filter(|code| code.starts_with("cargo test ") && !runs_a_test(tree, code)) {
            findings.push(Finding::at_line(SECURITY_PAGE, number, format!("`{command}` would run no test")));
        }
    }
    findings
}

/// Whether the last word of a command is part of the name of a test, or of a module of tests.
fn runs_a_test(tree: &Tree, command: &str) -> bool {
    let package = command.split_once(" -p ").and_then(|(_, rest)| rest.split(' ').next()).unwrap_or("");
    let folder = if package == "mcptest" { "cli" } else { package.trim_start_matches("mcptest-") };
    let part = if command.contains(" --lib") { "src" } else { "tests/it" };
    let below = format!("crates/{folder}/{part}/");
    let name = command.rsplit([' ', ':']).find(|word| !word.is_empty()).unwrap_or("");
    let module = format!("mod {name};");
    let names_it = |line: &str| (line.starts_with("fn ") && line.contains(name)) || line == module;
    let mut sources = tree.files().filter(|(path, _)| path.starts_with(&below));
    sources.any(|(_, text)| text.lines().any(|line| names_it(line.trim_start())))
}

#[cfg(test)]
mod tests {
    use super::super::lines;
    use super::*;

    #[test]
    fn a_source_file_without_a_module_doc_is_found() {
        let tree = Tree::from([("a.rs", "//! Good.\n"), ("b.rs", "// not a doc\n"), ("d.md", "text")]);
        assert_eq!(lines(&module_docs(&tree)), ["b.rs:1: does not begin with a `//!` module doc"]);
    }

    #[test]
    fn threads_that_cannot_fail_to_start_are_found_in_the_program_and_not_in_tests() {
        for what in THREADS {
            let text = format!("//! Doc.\n{what};\n");
            let found =
                |path: &str| threads(&Tree::from([(path, &*text)])).iter().map(|one| one.line).collect::<Vec<_>>();
            assert_eq!(found("crates/runner/src/a.rs"), [Some(2)], "{what}");
            assert_eq!(found("crates/runner/tests/it/a.rs"), [], "{what}");
        }
    }

    #[test]
    fn every_banned_word_is_found_in_any_file() {
        for (what, why) in WORDS {
            let text = format!("fine\nsee {what}x\n");
            let found = banned_words(&Tree::from([("docs/a.md", &*text)]));
            assert_eq!(lines(&found), [format!("docs/a.md:2: `{what}`: {why}")]);
        }
        assert_eq!(banned_words(&Tree::from([("a.md", "a todo list at home/user\n")])), []);
    }

    #[test]
    fn long_files_are_found_unless_they_are_marked_near_the_top() {
        let long = "//! Doc.\n".to_owned() + &"x\n".repeat(MAX_LINES);
        let marked = format!("//! Doc.\n{TABLE_MARK}\n{}", "x\n".repeat(MAX_LINES));
        let tree = Tree::from([("long.rs", &*long), ("marked.rs", &*marked), ("ok.rs", "//! Doc.\n")]);
        let found: Vec<_> = file_length(&tree).into_iter().map(|finding| finding.path).collect();
        assert_eq!(found, ["long.rs"]);
    }

    #[test]
    fn a_command_on_the_security_page_that_runs_no_test_is_found() {
        let page = "| a | `cargo test -p mcptest --test it crash::a_rec` |\n\
                    | b | `cargo test -p mcptest --test it gone::x` |\n\
                    | c | `cargo test -p mcptest --test it crash::` |\n\
                    | d | `cargo test -p mcptest-core --lib crash` |\n";
        let tree = Tree::from([
            (SECURITY_PAGE, page),
            ("crates/cli/tests/it/main.rs", "mod crash;\n"),
            ("crates/cli/tests/it/crash.rs", "#[test]\nfn a_recorder_that_is_killed() {}\n"),
        ]);
        assert_eq!(
            lines(&security_tests(&tree)),
            [
                "docs/security.md:2: `cargo test -p mcptest --test it gone::x` would run no test",
                "docs/security.md:4: `cargo test -p mcptest-core --lib crash` would run no test",
            ]
        );
    }
}
