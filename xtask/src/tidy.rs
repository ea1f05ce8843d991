//! `cargo xtask tidy`: the house rules that neither the compiler nor clippy can check.
//!
//! Each check is a pure function of the tree and of what cargo says of the packages. [`CHECKS`] is the list of them;
//! ARCHITECTURE.md names every one beside the invariant it guards.

mod config;
mod graph;
mod licence;
mod links;
mod map;
mod markdown;
mod promises;
mod sources;
mod supply;

use std::fmt;
use std::path::Path;

use crate::cargo::cargo;
use crate::failure::Failure;
use crate::out;
use crate::tree::Tree;
use graph::Graph;
pub(crate) use licence::ACCEPTED;
pub(crate) use markdown::anchor;
use supply::Supply;
pub(crate) use supply::{REGISTRY, SEVERAL, SYSTEMS};

/// What the checks look at.
struct Repo {
    tree: Tree,
    graph: Graph,
    supply: Supply,
}

/// One broken rule.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Finding {
    /// File, from the root of the repository.
    path: String,
    /// Line from 1, where one is to blame.
    line: Option<usize>,
    message: String,
}

impl Finding {
    fn in_file(path: &str, message: impl Into<String>) -> Self {
        Self { path: path.to_owned(), line: None, message: message.into() }
    }

    fn at_line(path: &str, line: usize, message: impl Into<String>) -> Self {
        Self { path: path.to_owned(), line: Some(line), message: message.into() }
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.path)?;
        if let Some(line) = self.line {
            write!(f, ":{line}")?;
        }
        write!(f, ": {}", self.message)
    }
}

/// A named rule.
struct Check {
    name: &'static str,
    run: fn(&Repo) -> Vec<Finding>,
}

const CHECKS: [Check; 19] = [
    Check { name: "purity", run: |repo| graph::purity(&repo.graph) },
    Check { name: "arrows", run: |repo| graph::arrows(&repo.graph) },
    Check { name: "reasons", run: |repo| graph::reasons(&repo.graph, &repo.tree) },
    Check { name: "licences", run: |repo| supply::licences(&repo.supply) },
    Check { name: "duplicates", run: |repo| supply::duplicates(&repo.supply) },
    Check { name: "reviewed", run: |repo| supply::reviewed(&repo.supply, &repo.tree) },
    Check { name: "sources", run: |repo| supply::sources(&repo.supply, &repo.tree) },
    Check { name: "no_unsafe", run: |repo| supply::no_unsafe(&repo.tree) },
    Check { name: "module_docs", run: |repo| sources::module_docs(&repo.tree) },
    Check { name: "banned_code", run: |repo| sources::banned_code(&repo.tree) },
    Check { name: "file_length", run: |repo| sources::file_length(&repo.tree) },
    Check { name: "banned_words", run: |repo| sources::banned_words(&repo.tree) },
    Check { name: "lints", run: |repo| config::lints(&repo.tree, &repo.graph) },
    Check { name: "clippy_bans", run: |repo| config::clippy_bans(&repo.tree) },
    Check { name: "links", run: |repo| links::links(&repo.tree) },
    Check { name: "orphans", run: |repo| links::orphans(&repo.tree) },
    Check { name: "promises", run: |repo| promises::promises(&repo.tree) },
    Check { name: "code_map", run: |repo| map::code_map(&repo.tree) },
    Check { name: "named_checks", run: |repo| map::named_checks(&repo.tree, &CHECKS.map(|check| check.name)) },
];

pub(crate) fn run(root: &Path) -> Result<(), Failure> {
    let metadata = metadata(root)?;
    let supply = Supply::parse(&metadata, &supply::tree(root)?)?;
    let repo = Repo { tree: Tree::read(root)?, graph: Graph::parse(&metadata)?, supply };
    let mut broken = 0;
    for finding in supply::deny(|| cargo(root))? {
        out::complain(&format!("{finding} [cargo deny]"));
        broken += 1;
    }
    for check in &CHECKS {
        for finding in (check.run)(&repo) {
            out::complain(&format!("{finding} [{}]", check.name));
            broken += 1;
        }
    }
    match broken {
        0 => Ok(()),
        1 => Err(Failure::refused("1 place breaks a house rule, see above".to_owned())),
        many => Err(Failure::refused(format!("{many} places break house rules, see above"))),
    }
}

/// What cargo says of the packages and what they depend on.
pub(crate) fn metadata(root: &Path) -> Result<String, Failure> {
    let output = cargo(root).args(["metadata", "--format-version", "1", "--locked"]).output();
    let output = output.map_err(|error| Failure::broken(format!("cannot start `cargo metadata`: {error}")))?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        return Err(Failure::broken(format!("`cargo metadata` failed: {}", said.trim_end())));
    }
    String::from_utf8(output.stdout).map_err(|_| Failure::broken("`cargo metadata` printed no text".to_owned()))
}

/// Findings of a check as lines, for tests.
#[cfg(test)]
fn lines(findings: &[Finding]) -> Vec<String> {
    findings.iter().map(ToString::to_string).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_finding_names_file_line_and_rule() {
        assert_eq!(lines(&[Finding::at_line("a.rs", 3, "is wrong")]), ["a.rs:3: is wrong"]);
        assert_eq!(lines(&[Finding::in_file("a.rs", "is wrong")]), ["a.rs: is wrong"]);
    }

    #[test]
    fn no_two_checks_share_a_name() {
        let mut names = CHECKS.map(|check| check.name);
        names.sort_unstable();
        assert!(names.windows(2).all(|pair| pair[0] != pair[1]));
    }
}
