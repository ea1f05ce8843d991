//! The rows of one cell: its runs, the outcomes of their faults, and the gates over all of them.

use serde_json::Value;

use super::{Family, Origin, Row, RowVerdict, RunError, row_name};
use crate::eval::reliability::Requirement;
use crate::eval::{ExtractionMode, GateKind, Verdict};
use crate::judge::{self, CheckResult};
use crate::suite::{AgentTest, Fault, Suite};
use crate::trace::{Price, Tokens, Trace, cost};

/// What is known of a run.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Evidence {
    pub trace: Trace,
    /// A second opinion of a model about the run; shown, never judged.
    pub advisory: Option<Value>,
    /// It was written into a cassette just now.
    pub recorded: bool,
    /// It comes from a cassette that was edited after it was recorded.
    pub edited: bool,
}

impl From<Trace> for Evidence {
    fn from(trace: Trace) -> Self {
        Self { trace, ..Self::default() }
    }
}

/// What became of one run.
#[derive(Debug, Clone, PartialEq)]
pub enum Attempt {
    Traced(Box<Evidence>),
    /// It could not be run, or its cassette could not be used.
    Broken(RunError),
    Skipped,
}

/// Where the attempts at a cell come from.
#[derive(Debug, Clone, Copy)]
pub struct Cell<'a> {
    pub test: &'a AgentTest,
    /// The faults of its suite.
    pub faults: &'a [Fault],
    pub model: &'a str,
    /// The price of its tokens.
    pub price: Option<Price>,
}

impl<'a> Cell<'a> {
    /// A test of a suite on a model.
    pub fn new(suite: &'a Suite, test: &'a AgentTest, model: &'a str) -> Self {
        // A program may be called like a model, and has no price.
        let priced = suite.models.get(model).filter(|_| !test.is_program);
        Self { test, faults: &suite.faults, model, price: priced.and_then(|model| model.price) }
    }
}

impl Cell<'_> {
    /// The name of a row of this cell with `runs` runs.
    pub fn row_name(&self, runs: usize, run: Option<u64>, gate: Option<GateKind>) -> String {
        let model = self.test.is_matrix.then_some(self.model);
        row_name(&self.test.name, model, run.filter(|_| runs > 1), gate)
    }

    /// Whether a run passes the assertions and the per-run gates.
    pub fn passes(&self, trace: &Trace) -> bool {
        let checks = judge::run_tersely(&self.test.expect, &self.test.gates, trace);
        checks.iter().all(|check| check.verdict == Verdict::Pass)
    }

    /// What settles the number of runs, where they stop early.
    pub fn settles(&self) -> Option<Requirement> {
        self.test.gates.reliability.as_ref()?.requirement().filter(|rule| rule.settles_from.is_some())
    }

    /// The rows: each run, its recovery, then the gates over runs.
    pub fn rows(&self, attempts: Vec<(Option<Origin>, Attempt)>) -> Vec<Row> {
        let count = attempts.len();
        let absorbs = self.test.gates.reliability.is_some();
        let mut rows = Vec::new();
        let mut outcomes = Vec::new();
        let (mut broken, mut skipped, mut any_edited) = (0_usize, 0_usize, false);
        for (run, (origin, attempt)) in (1_u64..).zip(attempts) {
            let mut row = self.row(count, Some(run), None);
            row.origin = origin;
            match attempt {
                Attempt::Traced(evidence) => {
                    let Evidence { trace, advisory, recorded, edited } = *evidence;
                    (row.recorded, row.edited) = (recorded, edited);
                    any_edited |= edited;
                    row.advisory = self.advisory(advisory.as_ref());
                    let checks = judge::run(&self.test.expect, &self.test.gates, &trace);
                    outcomes.push(checks.iter().all(|check| check.verdict == Verdict::Pass));
                    let (edge, own): (Vec<_>, Vec<_>) =
                        checks.into_iter().partition(|check| check.gate == Some(GateKind::Recovery));
                    let Tokens { input, output, .. } = trace.conversation.tokens;
                    let tokens = input.zip(output).zip(self.price);
                    row.cost = tokens.map(|((input, output), price)| cost(input, output, price));
                    row.duration_ms = trace.conversation.duration_ms;
                    row.receipts = judge::receipts(self.test, self.faults, &trace);
                    self.judge(&mut row, own, absorbs);
                    row.trace = Some(Box::new(trace));
                    rows.push(row);
                    for check in edge {
                        let mut row = self.row(count, Some(run), Some(GateKind::Recovery));
                        (row.origin, row.recorded, row.edited) = (origin, recorded, edited);
                        self.judge(&mut row, vec![check], absorbs);
                        rows.push(row);
                    }
                }
                Attempt::Broken(error) => {
                    broken += 1;
                    row.verdict = RowVerdict::Error;
                    row.mark = Some(self.test.marks.subject(&error.place).clone());
                    row.error = Some(error);
                    rows.push(row);
                }
                Attempt::Skipped => {
                    skipped += 1;
                    row.verdict = RowVerdict::Skipped;
                    rows.push(row);
                }
            }
        }
        if self.settles().is_some_and(|rule| rule.settled(&outcomes).is_some()) {
            // The suite sets no number, so no number is reported.
            for row in &mut rows {
                row.runs = None;
            }
        }
        let gates = &self.test.gates;
        let over_runs = if broken > 0 {
            judge::without_runs(gates, &format!("{broken} of {count} runs could not be judged"))
        } else {
            let traces: Vec<&Trace> = rows.iter().filter_map(|row: &Row| row.trace.as_deref()).collect();
            judge::runs(gates, &traces, &outcomes)
        };
        for check in over_runs {
            let mut row = self.row(count, None, check.gate);
            row.runs = rows.first().and_then(|row| row.runs);
            row.edited = any_edited;
            self.judge(&mut row, vec![check], false);
            if skipped > 0 {
                // Runs that are missing may hide anything.
                row.verdict = RowVerdict::Skipped;
                row.edited = false;
                row.mark = None;
                row.checks.clear();
            }
            rows.push(row);
        }
        rows
    }

    /// The second opinion to show with the verdicts of a run, if the test has one.
    fn advisory(&self, recorded: Option<&Value>) -> Option<String> {
        let narrative = self.test.gates.narrative.as_ref()?;
        (narrative.mode() == ExtractionMode::LlmAssisted).then(|| {
            let answer = recorded.and_then(|recorded| recorded.get("answer")?.as_str());
            answer.unwrap_or("not recorded").to_owned()
        })
    }

    fn row(&self, runs: usize, run: Option<u64>, gate: Option<GateKind>) -> Row {
        Row {
            family: match (run, gate) {
                (_, None) => Family::Run,
                (Some(_), Some(_)) => Family::Edge,
                (None, Some(_)) => Family::Gate,
            },
            test: self.test.name.clone(),
            model: self.model.to_owned(),
            run,
            runs: (runs as u64 != self.test.runs).then_some(runs as u64),
            gate,
            line: self.test.line,
            rules: gate.is_none().then(|| self.test.rules.clone()),
            ..Row::named(self.row_name(self.test.settles_from.map_or(runs, |_| 2), run, gate))
        }
    }

    /// Takes the worst verdict of the checks; a failure that `reliability` judges is absorbed.
    fn judge(&self, row: &mut Row, checks: Vec<CheckResult>, absorbs: bool) {
        let worst = checks.iter().map(|check| check.verdict).max().unwrap_or(Verdict::Pass);
        row.verdict = match worst {
            Verdict::Fail | Verdict::Unassessable if absorbs => RowVerdict::Absorbed,
            other => other.into(),
        };
        row.mark = checks.iter().find(|check| check.verdict == worst).filter(|_| worst != Verdict::Pass).map(|check| {
            let marks = &self.test.marks;
            let gate = |kind| marks.gates.iter().find(|(gate, _)| *gate == kind).map(|(_, mark)| mark);
            let found = match (check.gate, check.first) {
                (Some(GateKind::Trajectory), Some(at)) => marks.calls.get(at),
                (Some(kind), _) => gate(kind),
                (None, first) => first.and_then(|at| marks.expect.get(at)),
            };
            found.unwrap_or(&marks.name).clone()
        });
        row.checks = checks;
    }
}
