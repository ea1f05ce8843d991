//! Commands in `docs/security.md`: each names tests that are there, so that no promise is tried by nothing.

use super::Finding;
use crate::tree::Tree;

const PAGE: &str = "docs/security.md";

/// Every `cargo test` of the page names a test, the beginning of one, or a module of tests.
pub(super) fn promises(tree: &Tree) -> Vec<Finding> {
    let Some(text) = tree.get(PAGE) else { return vec![Finding::in_file(PAGE, "there is no such page")] };
    let mut findings = Vec::new();
    for (line, at) in text.lines().zip(1..) {
        for command in line.split('`').filter(|code| code.starts_with("cargo test ")) {
            if !is_tried(tree, command) {
                findings.push(Finding::at_line(PAGE, at, format!("`{command}` would run no test")));
            }
        }
    }
    findings
}

fn is_tried(tree: &Tree, command: &str) -> bool {
    let words: Vec<&str> = command.split(' ').collect();
    let (Some(package), Some(name)) = (words.iter().position(|word| *word == "-p"), words.last()) else { return false };
    let folder = match words.get(package + 1).copied() {
        Some("mcptest") => "crates/cli/",
        Some("mcptest-core") => "crates/core/",
        Some("mcptest-runner") => "crates/runner/",
        Some("mcptest-mock") => "crates/mock/",
        _ => return false,
    };
    let part = if words.contains(&"--lib") { "src/" } else { "tests/it/" };
    let root = format!("{folder}{part}");
    let last = name.trim_end_matches("::").rsplit("::").next().unwrap_or(name);
    let module = format!("mod {last};");
    // A test may be named from its middle, as cargo allows.
    let names_it = |line: &str| (line.starts_with("fn ") && line.contains(last)) || line == module;
    let mut sources = tree.files().filter(|(path, _)| path.starts_with(&root));
    sources.any(|(_, text)| text.lines().any(|line| names_it(line.trim_start())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_promise_that_nothing_tries_is_found() {
        let page = "| a | `cargo test -p mcptest --test it crash::a_rec` |\n\
                    | b | `cargo test -p mcptest --test it gone::x` |\n\
                    | c | `cargo test -p mcptest --test it crash::` |\n\
                    | d | `cargo test -p mcptest-core --lib crash` |\n";
        let test = "#[test]\nfn a_recorder_that_is_killed() {}\n";
        let tree = Tree::from([
            (PAGE, page),
            ("crates/cli/tests/it/main.rs", "mod crash;\n"),
            ("crates/cli/tests/it/crash.rs", test),
        ]);
        let found: Vec<String> = promises(&tree).iter().map(ToString::to_string).collect();
        assert_eq!(
            found,
            [
                "docs/security.md:2: `cargo test -p mcptest --test it gone::x` would run no test",
                "docs/security.md:4: `cargo test -p mcptest-core --lib crash` would run no test",
            ]
        );
    }
}
