//! The rows of a report and the one fold that counts them. Every reporter reads the same rows and the same counts.

mod cell;
mod grid;

use serde::Serialize;

use crate::eval::{GateKind, Verdict};
use crate::event::Event;
use crate::judge::{Checked, Receipt};
use crate::trace::{Trace, words};
pub use cell::{Attempt, Cell, Evidence};
pub use grid::{GridCell, GridLine, grid};

words! {
    /// What a row says.
    RowVerdict {
        /// Everything asserted holds.
        Pass = "pass",
        /// Something asserted does not hold.
        Fail = "fail",
        /// The trace lacks the evidence; counts as a failure.
        Unassessable = "unassessable",
        /// It could not be run or evaluated.
        Error = "error",
        /// It failed, and `reliability` judges how often runs may.
        Absorbed = "absorbed",
        /// It was not run.
        Skipped = "skipped",
    }
}

impl From<Verdict> for RowVerdict {
    fn from(verdict: Verdict) -> Self {
        match verdict {
            Verdict::Pass => Self::Pass,
            Verdict::Unassessable => Self::Unassessable,
            Verdict::Fail => Self::Fail,
            Verdict::Error => Self::Error,
        }
    }
}

words! {
    /// What a row is about.
    Family {
        /// One run.
        Run = "RUN",
        /// All runs of a cell.
        Gate = "GATE",
        /// What became of an injected fault in one run.
        Edge = "EDGE",
    }
}

words! {
    /// Where the trace of a run comes from.
    Origin {
        /// From a cassette.
        Replayed = "replayed",
        /// From a model and servers, just now.
        Live = "live",
        /// From a script and servers, just now.
        Scripted = "scripted",
    }
}

/// Why a run could not be judged.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Trouble {
    /// What went wrong.
    pub message: String,
    /// What to do about it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
}

/// One row of a report: a run, a gate over runs, or the recovery of a run.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Row {
    /// The full name: test, model, run and gate, as far as they tell rows apart.
    pub name: String,
    /// What it is about.
    pub family: Family,
    /// The test.
    pub test: String,
    /// The model.
    pub model: String,
    /// The run, from 1; none for a gate over runs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub run: Option<u64>,
    /// The gate of a gate row.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gate: Option<GateKind>,
    /// Line of the test in its suite; 0 where there is no suite.
    pub line: usize,
    /// The verdict.
    pub verdict: RowVerdict,
    /// Where the trace comes from.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub origin: Option<Origin>,
    /// What was checked.
    pub checks: Vec<Checked>,
    /// Why it could not be judged.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<Trouble>,
    /// Proof of what became of each injected fault.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub receipts: Vec<Receipt>,
    /// What a model said of the closing message when the run was recorded. It decides nothing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub advisory: Option<String>,
    /// Time the run took when it was recorded.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub duration_ms: Option<u64>,
    /// The trace of a run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub trace: Option<Box<Trace>>,
}

/// The name of a row.
pub fn row_name(test: &str, model: Option<&str>, run: Option<u64>, gate: Option<GateKind>) -> String {
    let mut name = test.to_owned();
    if let Some(model) = model {
        name.push_str(&format!(" [{model}]"));
    }
    if let Some(run) = run {
        name.push_str(&format!(" #{run}"));
    }
    if let Some(gate) = gate {
        name.push_str(&format!(" ({gate})"));
    }
    name
}

/// How many rows have each verdict.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
pub struct Totals {
    /// Passed.
    pub pass: usize,
    /// Failed.
    pub fail: usize,
    /// Lacked evidence.
    pub unassessable: usize,
    /// Could not be judged.
    pub error: usize,
    /// Failed runs that `reliability` judges.
    pub absorbed: usize,
    /// Not run.
    pub skipped: usize,
}

impl Totals {
    /// Counts one row.
    pub fn count(&mut self, verdict: RowVerdict) {
        *match verdict {
            RowVerdict::Pass => &mut self.pass,
            RowVerdict::Fail => &mut self.fail,
            RowVerdict::Unassessable => &mut self.unassessable,
            RowVerdict::Error => &mut self.error,
            RowVerdict::Absorbed => &mut self.absorbed,
            RowVerdict::Skipped => &mut self.skipped,
        } += 1;
    }

    /// All rows.
    pub fn rows(&self) -> usize {
        self.pass + self.fail + self.unassessable + self.error + self.absorbed + self.skipped
    }
}

/// One suite file in a report.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct SuiteReport {
    /// The file, as it was typed.
    pub file: String,
    /// Why the file could not be used.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub refused: Option<String>,
    /// Its rows, in the order of the file.
    pub rows: Vec<Row>,
}

/// Everything that was judged.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Report {
    /// Suite files in the order they were given.
    pub suites: Vec<SuiteReport>,
    /// How many rows have each verdict.
    pub totals: Totals,
    /// Suites that could not be used.
    pub refused: usize,
    /// Things to know that are no verdict.
    pub notes: Vec<String>,
    /// It ended before everything was run.
    pub is_stopped: bool,
}

impl Report {
    /// Takes in one event.
    pub fn take(&mut self, event: Event) {
        match event {
            Event::SuiteStarted { file } => self.suites.push(SuiteReport { file, refused: None, rows: Vec::new() }),
            Event::SuiteRefused { file, why } => {
                self.refused += 1;
                self.suites.push(SuiteReport { file, refused: Some(why), rows: Vec::new() });
            }
            Event::RowFinished(row) => {
                self.totals.count(row.verdict);
                if let Some(suite) = self.suites.last_mut() {
                    suite.rows.push(*row);
                }
            }
            Event::Note(note) => self.notes.push(note),
            Event::Stopped(why) => {
                self.is_stopped = true;
                self.notes.push(why);
            }
        }
    }

    /// The exit code: 2 when something could not run, 1 when something was found wanting, else 0.
    pub fn exit_code(&self) -> u8 {
        if self.totals.error > 0 || self.refused > 0 || self.is_stopped {
            2
        } else {
            u8::from(self.totals.fail + self.totals.unassessable > 0)
        }
    }
}
