//! `cargo xtask tidy`: rules that neither the compiler nor clippy can check.
//!
//! Each check is a pure function of the files and of what cargo says about the packages. ARCHITECTURE.md refers to them as
//! `tidy::name` next to the invariant that each one checks.

mod links;
mod packages;
mod sources;

use std::fmt;
use std::path::Path;

use crate::cargo::{self, Metadata};
use crate::failure::Failure;
use crate::out;
use crate::tree::Tree;
pub(crate) use links::anchor;

/// What the checks look at.
struct Repo {
    tree: Tree,
    metadata: Metadata,
    /// `cargo tree` of core, and of the program on every system it is built for.
    core: String,
    program: String,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Finding {
    /// From the root of the repository.
    path: String,
    /// From 1, where one line is to blame.
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

type Check = fn(&Repo) -> Vec<Finding>;

const CHECKS: [(&str, Check); 11] = [
    ("purity", |repo| packages::purity(&repo.core)),
    ("layers", |repo| packages::layers(&repo.metadata)),
    ("reviewed", |repo| packages::reviewed(&repo.metadata, &repo.program, &repo.tree)),
    ("lints", |repo| packages::lints(&repo.tree)),
    ("module_docs", |repo| sources::module_docs(&repo.tree)),
    ("threads", |repo| sources::threads(&repo.tree)),
    ("file_length", |repo| sources::file_length(&repo.tree)),
    ("banned_words", |repo| sources::banned_words(&repo.tree)),
    ("links", |repo| links::links(&repo.tree)),
    ("orphans", |repo| links::orphans(&repo.tree)),
    ("security_tests", |repo| sources::security_tests(&repo.tree)),
];

pub(crate) fn run(root: &Path) -> Result<(), Failure> {
    let repo = Repo {
        tree: Tree::read(root)?,
        metadata: Metadata::read(root)?,
        core: cargo::output(root, &packages::tree_of("mcptest-core", "normal"))?,
        program: cargo::output(root, &packages::tree_of("mcptest", "normal,build"))?,
    };
    let mut count = 0;
    for (name, check) in &CHECKS {
        for finding in check(&repo) {
            out::complain(&format!("{finding} [{name}]"));
            count += 1;
        }
    }
    match count {
        0 => Ok(()),
        1 => Err(Failure::failed("1 rule is broken, see above".to_owned())),
        many => Err(Failure::failed(format!("{many} rules are broken, see above"))),
    }
}

/// Findings as lines, for tests.
#[cfg(test)]
fn lines(findings: &[Finding]) -> Vec<String> {
    findings.iter().map(ToString::to_string).collect()
}
