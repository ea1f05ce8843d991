//! Text rules: module docs, code that must not be written, length, words.
//!
//! What is banned is spelled in two halves here, so that this file does not find itself.

use super::Finding;
use crate::tree::Tree;

/// Longest source file that is not a table.
const MAX_LINES: usize = 800;

/// A file that says this near its top is one flat table and may be long.
const TABLE_MARK: &str = "// tidy: table";

/// Lines in which the mark counts.
const MARK_WITHIN: usize = 10;

/// Code that no source file may contain, and what to do instead.
const BANNED: [(&str, &str); 4] = [
    (concat!("#[", "allow("), "use `#[expect(.., reason = \"..\")]`, which goes away when it is no longer needed"),
    (concat!("#![", "allow("), "use `#![expect(.., reason = \"..\")]`, which goes away when it is no longer needed"),
    (concat!("todo", "!"), "write it or leave it out"),
    (concat!("unimplemented", "!"), "write it or leave it out"),
];

/// Code that core may not contain, and what to do instead.
const BANNED_IN_CORE: [(&str, &str); 2] = [
    (concat!("Hash", "Map"), "its order is random: use `BTreeMap`"),
    (concat!("Hash", "Set"), "its order is random: use `BTreeSet`"),
];

/// Code that the program may not contain, because it panics or waits forever where no thread can be started.
const BANNED_IN_PROGRAM: [(&str, &str); 7] = [
    (concat!("thread::", "spawn("), FALLIBLE),
    (concat!("scope.", "spawn("), FALLIBLE),
    (concat!("spawn_", "blocking"), FALLIBLE),
    (concat!("tokio::", "fs"), FALLIBLE),
    (concat!("tokio::io::", "std"), FALLIBLE),
    (concat!("enable_", "steady_tick"), FALLIBLE),
    (concat!("new_multi_", "thread"), "build runtimes with `mcptest_runner::runtime::build`"),
];

const FALLIBLE: &str = "it panics where no thread can be started; use `std::thread::Builder`, which returns an error";

/// Words that no file may contain.
const WORDS: [(&str, &str); 5] = [
    (concat!("TO", "DO"), "open an issue and leave the code as it is meant"),
    (concat!("FIX", "ME"), "open an issue and leave the code as it is meant"),
    (concat!("/ro", "ot/"), "a path of one machine"),
    (concat!("/ho", "me/"), "a path of one machine"),
    (concat!("/Us", "ers/"), "a path of one machine"),
];

fn sources(tree: &Tree) -> impl Iterator<Item = (&str, &str)> {
    tree.files().filter(|(path, _)| std::path::Path::new(path).extension().is_some_and(|ext| ext == "rs"))
}

/// Every source file starts by saying what lives in it.
pub(super) fn module_docs(tree: &Tree) -> Vec<Finding> {
    let without = sources(tree).filter(|(_, text)| !text.starts_with("//! "));
    without
        .map(|(path, _)| Finding::at_line(path, 1, "starts without a `//!` line that says what lives here"))
        .collect()
}

/// No source file has code that the house forbids.
pub(super) fn banned_code(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (path, text) in sources(tree) {
        find(path, text, &BANNED, &mut findings);
        if path.starts_with("crates/core/src/") {
            find(path, text, &BANNED_IN_CORE, &mut findings);
        }
        if path.starts_with("crates/") && path.contains("/src/") && !path.ends_with("/tests.rs") {
            find(path, text, &BANNED_IN_PROGRAM, &mut findings);
        }
    }
    findings
}

/// No file has words that belong on a notepad or to one machine.
pub(super) fn banned_words(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (path, text) in tree.files() {
        find(path, text, &WORDS, &mut findings);
    }
    findings
}

fn find(path: &str, text: &str, banned: &[(&str, &str)], findings: &mut Vec<Finding>) {
    for (at, line) in text.lines().enumerate() {
        for (what, instead) in banned {
            if line.contains(what) {
                findings.push(Finding::at_line(path, at + 1, format!("`{what}` is not used here: {instead}")));
            }
        }
    }
}

/// No source file is longer than one job takes.
pub(super) fn file_length(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (path, text) in sources(tree) {
        let count = text.lines().count();
        let is_table = text.lines().take(MARK_WITHIN).any(|line| line.trim() == TABLE_MARK);
        if count > MAX_LINES && !is_table {
            let message = format!("{count} lines, at most {MAX_LINES}: split it, or mark a flat table `{TABLE_MARK}`");
            findings.push(Finding::in_file(path, message));
        }
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::super::lines;
    use super::*;

    #[test]
    fn a_source_file_without_a_module_doc_is_found() {
        let tree = Tree::from([("a.rs", "//! Good.\n"), ("b.rs", "// not a doc\n"), ("c.rs", ""), ("d.md", "text")]);
        assert_eq!(
            lines(&module_docs(&tree)),
            [
                "b.rs:1: starts without a `//!` line that says what lives here",
                "c.rs:1: starts without a `//!` line that says what lives here",
            ]
        );
    }

    #[test]
    fn every_kind_of_banned_code_is_found_with_its_line() {
        for (what, _) in BANNED {
            let text = format!("//! Doc.\nfn f() {{}}\n    {what}\n");
            let found = banned_code(&Tree::from([("crates/cli/src/a.rs", &*text)]));
            assert_eq!(found.len(), 1, "{what}");
            assert_eq!(found[0].line, Some(3), "{what}");
            assert_eq!(banned_code(&Tree::from([("a.md", &*text)])), [], "{what}");
        }
    }

    #[test]
    fn unordered_maps_are_found_in_core_and_left_to_clippy_elsewhere() {
        for (what, _) in BANNED_IN_CORE {
            let text = format!("//! Doc.\nuse std::collections::{what};\n");
            assert_eq!(banned_code(&Tree::from([("crates/core/src/eval/a.rs", &*text)])).len(), 1);
            assert_eq!(banned_code(&Tree::from([("crates/runner/src/a.rs", &*text)])), []);
        }
    }

    #[test]
    fn threads_that_cannot_fail_to_start_are_found_in_the_program_and_not_in_tests() {
        for (what, _) in BANNED_IN_PROGRAM {
            let text = format!("//! Doc.\n{what};\n");
            assert_eq!(banned_code(&Tree::from([("crates/runner/src/a.rs", &*text)])).len(), 1, "{what}");
            assert_eq!(banned_code(&Tree::from([("crates/runner/tests/it/a.rs", &*text)])), [], "{what}");
        }
    }

    #[test]
    fn every_banned_word_is_found_in_any_file() {
        for (what, _) in WORDS {
            let text = format!("fine\nsee {what}x\n");
            let found = banned_words(&Tree::from([("docs/a.md", &*text)]));
            assert_eq!(found.len(), 1, "{what}");
            assert_eq!(found[0].line, Some(2), "{what}");
        }
        assert_eq!(banned_words(&Tree::from([("a.md", "a todo list at home/user\n")])), []);
    }

    #[test]
    fn long_files_are_found_unless_they_are_marked_near_the_top() {
        let long = "//! Doc.\n".to_owned() + &"x\n".repeat(MAX_LINES);
        let marked = format!("//! Doc.\n{TABLE_MARK}\n{}", "x\n".repeat(MAX_LINES));
        let late = format!("{long}{TABLE_MARK}\n");
        let tree =
            Tree::from([("late.rs", &*late), ("long.rs", &*long), ("marked.rs", &*marked), ("ok.rs", "//! Doc.\n")]);
        let found: Vec<_> = file_length(&tree).into_iter().map(|finding| finding.path).collect();
        assert_eq!(found, ["late.rs", "long.rs"]);
    }
}
