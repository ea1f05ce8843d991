//! What is to be run: suites and their cells. Nothing is started here.

use std::path::PathBuf;

use mcptest_core::report::Cell;
use mcptest_core::suite::{Provider, Suite};

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

/// A cell that is meant, and how often.
#[derive(Debug, Clone, Copy)]
pub struct Planned<'a> {
    /// Its suite.
    pub file: &'a SuiteFile,
    /// Test and model.
    pub cell: Cell<'a>,
    /// How many runs.
    pub runs: u64,
}

impl Planned<'_> {
    /// Whether a script answers for the model.
    pub fn is_scripted(&self) -> bool {
        self.file.suite.models.get(self.cell.model).is_some_and(|model| model.provider == Provider::Script)
    }
}
