//! Which runs are meant: suites and what was asked for, as a list of cells. Nothing is started here.

use std::path::PathBuf;

use mcptest_core::redact::short_hash;
use mcptest_core::report::Cell;
use mcptest_core::suite::Suite;

/// A suite that can be used.
#[derive(Debug)]
pub struct SuiteFile {
    /// The file, as it was typed.
    pub shown: String,
    /// The file.
    pub path: PathBuf,
    /// What it says.
    pub suite: Suite,
}

/// What was asked for.
#[derive(Default)]
pub struct Selection<'a> {
    /// Whether a test of this name is meant; all are without it.
    pub named: Option<&'a dyn Fn(&str) -> bool>,
    /// Tests with any of these tags; all without one.
    pub tags: Vec<String>,
    /// But none with any of these.
    pub skip_tags: Vec<String>,
    /// Only on these models; on all without one.
    pub models: Vec<String>,
    /// This share of so many, from 1.
    pub partition: Option<(u64, u64)>,
    /// So many runs, whatever the suites say.
    pub runs: Option<u64>,
}

impl std::fmt::Debug for Selection<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Selection").field("tags", &self.tags).field("models", &self.models).finish_non_exhaustive()
    }
}

/// A cell that is meant.
#[derive(Debug, Clone, Copy)]
pub struct Planned<'a> {
    /// Its suite.
    pub file: &'a SuiteFile,
    /// Test and model.
    pub cell: Cell<'a>,
    /// How many runs.
    pub runs: u64,
}

/// What a selection comes to.
#[derive(Debug)]
pub struct Plan<'a> {
    /// The cells, in the order of the files.
    pub cells: Vec<Planned<'a>>,
    /// Tests that were selected, but belong to another share.
    pub elsewhere: usize,
}

/// The cells of these suites that are meant.
pub fn plan<'a>(files: &'a [SuiteFile], selection: &Selection<'_>) -> Plan<'a> {
    let mut out = Plan { cells: Vec::new(), elsewhere: 0 };
    for file in files {
        for test in &file.suite.agents {
            let tagged = |tags: &[String]| test.tags.iter().any(|tag| tags.contains(tag));
            if selection.named.is_some_and(|named| !named(&test.name))
                || (!selection.tags.is_empty() && !tagged(&selection.tags))
                || tagged(&selection.skip_tags)
            {
                continue;
            }
            let models: Vec<&String> = test
                .models
                .iter()
                .filter(|model| selection.models.is_empty() || selection.models.contains(model))
                .collect();
            if models.is_empty() {
                continue;
            }
            if selection.partition.is_some_and(|(share, of)| share_of(&test.name, of) != share) {
                out.elsewhere += 1;
                continue;
            }
            out.cells.extend(models.into_iter().map(|model| Planned {
                file,
                cell: Cell { test, faults: &file.suite.faults, model },
                runs: selection.runs.unwrap_or(test.runs),
            }));
        }
    }
    out
}

/// The share, from 1, that a test belongs to: by its name alone, so that adding a test moves no other.
fn share_of(name: &str, of: u64) -> u64 {
    u64::from_str_radix(&short_hash(name), 16).unwrap_or(0) % of.max(1) + 1
}
