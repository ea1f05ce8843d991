//! The rows of a report and the one fold that counts them. Every reporter reads the same rows and the same counts.

mod cell;
mod grid;
mod paths;
mod read;
pub mod schema;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

pub use crate::diag::RunError;
use crate::diag::{Code, Mark};
use crate::eval::{GateKind, Verdict};
use crate::event::Event;
use crate::judge::{CheckResult, Receipt};
use crate::trace::{Trace, words};
pub use cell::{Attempt, Cell, Evidence};
pub use grid::{GridCell, GridLine, grid};
pub use paths::{Branch, Paths, path_of};
pub use read::{ReportError, read};

/// Version of a saved report. New keys may come, and a reader passes over keys it does not know; what is there keeps its
/// meaning while the version is the same. A report of another version is refused.
pub const FORMAT: u32 = 1;

words! {
    RowVerdict {
        Pass = "pass",
        Fail = "fail",
        /// There are too few runs to decide; counts as a failure unless it is allowed.
        Inconclusive = "inconclusive",
        /// The trace lacks the evidence; counts as a failure.
        Unassessable = "unassessable",
        /// It could not be run or evaluated.
        Error = "error",
        /// It failed, and `reliability` judges how often runs may.
        Absorbed = "absorbed",
        Skipped = "skipped",
        /// No gate judges it: a trace where all gates are about groups, or a gate that is only measured. In JSON it is null.
        Unjudged = "unjudged",
    }
}

impl RowVerdict {
    /// Whether it makes a run of the program fail: something failed, was inconclusive, lacked evidence, or could not run.
    pub fn is_bad(self) -> bool {
        matches!(self, Self::Fail | Self::Inconclusive | Self::Unassessable | Self::Error)
    }
}

impl From<Verdict> for RowVerdict {
    fn from(verdict: Verdict) -> Self {
        match verdict {
            Verdict::Pass => Self::Pass,
            Verdict::Inconclusive => Self::Inconclusive,
            Verdict::Unassessable => Self::Unassessable,
            Verdict::Fail => Self::Fail,
            Verdict::Error => Self::Error,
        }
    }
}

words! {
    /// What a row is about.
    Family {
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
        /// From a program, just now, with the answers of a recording.
        Rerun = "rerun",
    }
}

/// One row of a report: a run, a gate over runs, or the recovery of a run.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Row {
    /// A model's review of the final message, made when the run was recorded. It does not affect the verdict.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub advisory: Option<String>,
    pub checks: Vec<CheckResult>,
    /// What its tokens cost at the prices in the suite, where both are known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cost: Option<f64>,
    /// Time the run took when it was recorded.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub duration_ms: Option<u64>,
    /// The evidence was edited after it was recorded, for this run or for any run of a gate over runs.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub edited: bool,
    /// Why it could not be judged.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<RunError>,
    pub family: Family,
    /// The gate of a gate row.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gate: Option<GateKind>,
    /// Line of the test in its suite; 0 where there is no suite.
    pub line: usize,
    /// What the suite says where the row did not pass: the first assertion, expected call or gate that failed, the server that could not be used,
    /// else the test.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mark: Option<Mark>,
    pub model: String,
    /// The full name: test, model, run and gate, as far as they are needed to distinguish rows.
    pub name: String,
    /// Where the trace comes from.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub origin: Option<Origin>,
    /// The outcome of each injected fault, with proof.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub receipts: Vec<Receipt>,
    /// The run was written to a cassette and can be replayed.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub recorded: bool,
    /// A digest of the assertions and gates that a run was judged by.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rules: Option<String>,
    /// The run, from 1; none for a gate over runs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub run: Option<u64>,
    /// Runs of its cell, if the number differs from the suite.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub runs: Option<u64>,
    pub test: String,
    /// The trace of a run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub trace: Option<Box<Trace>>,
    #[serde(serialize_with = "verdict_or_null")]
    pub verdict: RowVerdict,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "the signature that serde calls")]
fn verdict_or_null<S: serde::Serializer>(verdict: &RowVerdict, out: S) -> Result<S::Ok, S::Error> {
    (*verdict != RowVerdict::Unjudged).then_some(verdict).serialize(out)
}

/// The position of a row among the rows of its cell: runs by number, each followed by the results of its faults, then the
/// gates over all runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RowOrder {
    test: String,
    model: String,
    /// None for a row that belongs to no cell, such as a trace that was recorded elsewhere.
    at: Option<(bool, u64, Family, Option<GateKind>)>,
}

impl RowOrder {
    /// The place of a row.
    pub fn of(row: &Row) -> Self {
        Self { test: row.test.clone(), model: row.model.clone(), at: Self::at(row) }
    }

    /// Whether a row that comes next belongs to the same cell.
    pub fn goes_on_with(&self, next: &Row) -> bool {
        // A row that belongs to no cell comes before all others.
        self.at.is_some() && self.at < Self::at(next) && self.test == next.test && self.model == next.model
    }

    fn at(row: &Row) -> Option<(bool, u64, Family, Option<GateKind>)> {
        match (row.run, row.family) {
            (None, Family::Run) => None,
            (run, family) => Some((run.is_none(), run.unwrap_or(0), family, row.gate)),
        }
    }
}

impl Row {
    /// The code of the error of a row that is about no trace: a record that could not be read as one, or a task that no trace belongs to.
    fn code_without_trace(&self) -> Option<Code> {
        // Traces have checks, and runs of tests have a number.
        let is_record = self.family == Family::Run && self.run.is_none() && self.checks.is_empty();
        self.error.as_ref().filter(|_| is_record)?.code
    }

    /// A row of a run that passed, with only its name set.
    pub fn named(name: impl Into<String>) -> Self {
        let name = name.into();
        Self {
            test: name.clone(),
            name,
            family: Family::Run,
            model: String::new(),
            run: None,
            runs: None,
            gate: None,
            line: 0,
            mark: None,
            verdict: RowVerdict::Pass,
            origin: None,
            recorded: false,
            rules: None,
            edited: false,
            checks: Vec::new(),
            error: None,
            receipts: Vec::new(),
            advisory: None,
            cost: None,
            duration_ms: None,
            trace: None,
        }
    }

    /// Where the evidence comes from, as reports show it, such as `replayed, edited`; empty if unknown.
    pub fn source(&self) -> &'static str {
        match (self.origin, self.edited) {
            (Some(Origin::Replayed), true) => "replayed, edited",
            (Some(Origin::Rerun), true) => "rerun, edited",
            (None, true) => "edited",
            (Some(origin), _) => origin.as_str(),
            (None, false) => "",
        }
    }

    /// The name without the number of its run; none where the name has no number. A test may itself be called `x #1`.
    pub fn name_without_run(&self) -> Option<String> {
        let run = self.run?;
        let models = [None, Some(self.model.as_str())];
        let model = models.into_iter().find(|model| row_name(&self.test, *model, Some(run), self.gate) == self.name)?;
        Some(row_name(&self.test, model, None, self.gate))
    }
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
    /// Failed runs that `reliability` judges.
    pub absorbed: usize,
    pub error: usize,
    pub fail: usize,
    /// Had too few runs to decide.
    pub inconclusive: usize,
    pub pass: usize,
    pub skipped: usize,
    pub unassessable: usize,
    /// Judged by no gate.
    pub unjudged: usize,
}

impl Totals {
    pub fn count(&mut self, verdict: RowVerdict) {
        *match verdict {
            RowVerdict::Pass => &mut self.pass,
            RowVerdict::Fail => &mut self.fail,
            RowVerdict::Inconclusive => &mut self.inconclusive,
            RowVerdict::Unassessable => &mut self.unassessable,
            RowVerdict::Error => &mut self.error,
            RowVerdict::Absorbed => &mut self.absorbed,
            RowVerdict::Skipped => &mut self.skipped,
            RowVerdict::Unjudged => &mut self.unjudged,
        } += 1;
    }

    /// How many rows have a verdict.
    pub fn of(&self, verdict: RowVerdict) -> usize {
        match verdict {
            RowVerdict::Pass => self.pass,
            RowVerdict::Fail => self.fail,
            RowVerdict::Inconclusive => self.inconclusive,
            RowVerdict::Unassessable => self.unassessable,
            RowVerdict::Error => self.error,
            RowVerdict::Absorbed => self.absorbed,
            RowVerdict::Skipped => self.skipped,
            RowVerdict::Unjudged => self.unjudged,
        }
    }

    pub fn rows(&self) -> usize {
        RowVerdict::ALL.iter().map(|verdict| self.of(*verdict)).sum()
    }
}

/// The counts that reports show.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Counts {
    /// Tests; each model of a test counts separately.
    pub tests: usize,
    /// Runs of tests, without those that were skipped.
    pub runs: usize,
    /// Traces that were recorded elsewhere.
    pub traces: usize,
    /// Records that could not be read as traces.
    pub unread: usize,
    /// Tasks that no trace belongs to.
    pub unmet: usize,
    /// Groups of such traces that gates judge.
    pub groups: usize,
    /// How many tests, traces and groups have each verdict: the worst of their rows.
    pub verdicts: Totals,
}

/// One suite file in a report.
#[derive(Debug, Clone, PartialEq)]
pub struct SuiteReport {
    /// The file, as typed.
    pub file: String,
    /// Why the file could not be used.
    pub refused: Option<String>,
    /// Its rows, in the order of the file.
    pub rows: Vec<Row>,
}

impl Serialize for SuiteReport {
    fn serialize<S: serde::Serializer>(&self, out: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        struct Written<'a> {
            file: &'a str,
            #[serde(skip_serializing_if = "Vec::is_empty")]
            grid: Vec<GridLine>,
            #[serde(skip_serializing_if = "Option::is_none")]
            refused: Option<&'a str>,
            rows: &'a [Row],
        }
        let Self { file, refused, rows } = self;
        Written { file, grid: grid(rows), refused: refused.as_deref(), rows }.serialize(out)
    }
}

/// A note that is not a verdict, and when it was reported.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Note {
    /// Rows of the last of them before it.
    pub rows: usize,
    /// It is why the run ended before everything was run.
    #[serde(rename = "stopped", default, skip_serializing_if = "std::ops::Not::not")]
    pub is_stop: bool,
    /// Suites that were begun or refused before it.
    pub suites: usize,
    /// The text of the note.
    pub text: String,
}

/// Everything that was judged. It is written as a saved report, which [`read`] reads back.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Report {
    /// Facts about the run by their names, such as its commit.
    pub labels: BTreeMap<String, String>,
    /// Suite files in the order they were given.
    pub suites: Vec<SuiteReport>,
    /// How many rows have each verdict.
    pub totals: Totals,
    /// Suites that could not be used.
    pub refused: usize,
    /// Notes that are not verdicts.
    pub notes: Vec<Note>,
    /// It ended before everything was run.
    pub is_stopped: bool,
    /// Inconclusive rows do not make the run fail.
    pub allows_inconclusive: bool,
}

impl Serialize for Report {
    fn serialize<S: serde::Serializer>(&self, out: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        struct Written<'a> {
            #[serde(skip_serializing_if = "std::ops::Not::not")]
            allow_inconclusive: bool,
            exit_code: u8,
            #[serde(skip_serializing_if = "BTreeMap::is_empty")]
            labels: &'a BTreeMap<String, String>,
            mcptest: u32,
            notes: &'a [Note],
            suites: &'a [SuiteReport],
            totals: &'a Totals,
        }
        let Self { labels, suites, totals, notes, allows_inconclusive, .. } = self;
        Written {
            allow_inconclusive: *allows_inconclusive,
            exit_code: self.exit_code(),
            labels,
            mcptest: FORMAT,
            notes,
            suites,
            totals,
        }
        .serialize(out)
    }
}

impl Report {
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
            Event::CellFinished { .. } => {}
            Event::Labeled(labels) => self.labels.extend(labels),
            Event::InconclusiveAllowed => self.allows_inconclusive = true,
            Event::Note(text) => self.note(text, false),
            Event::Stopped(why) => {
                self.is_stopped = true;
                self.note(why, true);
            }
        }
    }

    fn note(&mut self, text: String, is_stop: bool) {
        let rows = self.suites.last().map_or(0, |suite| suite.rows.len());
        self.notes.push(Note { text, suites: self.suites.len(), rows, is_stop });
    }

    /// Tests and runs, traces and groups.
    pub fn counts(&self) -> Counts {
        let mut out = Counts::default();
        for suite in &self.suites {
            let mut rows = suite.rows.iter().peekable();
            // A gate that is only measured does not affect the verdict, and neither does an absorbed run.
            let rank = |verdict| if verdict == RowVerdict::Unjudged { 0 } else { 1 + grid::severity(verdict) };
            let (mut worst, mut has_runs) = (RowVerdict::Unjudged, false);
            while let Some(row) = rows.next() {
                if rank(row.verdict) > rank(worst) {
                    worst = row.verdict;
                }
                let is_run = row.run.is_some();
                has_runs |= is_run;
                out.runs += usize::from(is_run && row.family == Family::Run && row.verdict != RowVerdict::Skipped);
                let order = RowOrder::of(row);
                if rows.peek().is_some_and(|next| order.goes_on_with(next)) {
                    continue;
                }
                if !has_runs && let Some(code) = row.code_without_trace() {
                    *(if code == Code::UnmetTask { &mut out.unmet } else { &mut out.unread }) += 1;
                    (worst, has_runs) = (RowVerdict::Unjudged, false);
                    continue;
                }
                *match (has_runs, row.family) {
                    (true, _) => &mut out.tests,
                    (false, Family::Run) => &mut out.traces,
                    (false, _) => &mut out.groups,
                } += 1;
                out.verdicts.count(if worst == RowVerdict::Absorbed { RowVerdict::Pass } else { worst });
                (worst, has_runs) = (RowVerdict::Unjudged, false);
            }
        }
        out
    }

    /// The exit code: 2 when something could not run, 1 when something failed, else 0.
    pub fn exit_code(&self) -> u8 {
        if self.totals.error > 0 || self.refused > 0 || self.is_stopped {
            2
        } else {
            let Totals { fail, unassessable, inconclusive, .. } = self.totals;
            let inconclusive = if self.allows_inconclusive { 0 } else { inconclusive };
            u8::from(fail + unassessable + inconclusive > 0)
        }
    }
}
