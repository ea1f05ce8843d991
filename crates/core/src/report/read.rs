//! A saved report, read back as the events it was written from, so that every reporter can render it again.
//!
//! Totals, exit code and grid are not read: they follow from the rows. Each trace, and each value of a difference, is read
//! from its own text, because the nesting limit applies to each of them, not to the whole report. The text is read once for
//! its structure and once for its traces: a saved run may have hundreds of megabytes.

use std::collections::BTreeMap;

use serde::de::IgnoredAny;
use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;
use serde_json::{Map, Value};

use super::{FORMAT, Family, Note, Origin, Row, RowOrder, RowVerdict, RunError};
use crate::assertion::AssertionDiff;
use crate::diag::Mark;
use crate::eval::{GATES, GateFailure, GateKind, Metrics, Verdict};
use crate::event::Event;
use crate::json::{self, JsonError};
use crate::judge::{CheckResult, PROGRAM_CHECK, Receipt, Visual};
use crate::trace::Trace;

/// Why a text is not a report that this program can read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ReportError {
    /// It is not a report.
    #[error("is not a saved report: {0}")]
    Foreign(String),
    /// It has a version that this program does not read.
    #[error("is a saved report of version {0}, and this program reads version {FORMAT}")]
    Version(u64),
    /// A part of it is invalid.
    #[error("line {line}, column {column}: {message}")]
    Broken {
        /// Line, from 1.
        line: usize,
        /// Column, from 1.
        column: usize,
        message: String,
    },
}

impl ReportError {
    /// What to do about it.
    pub fn hint(&self) -> &'static str {
        match self {
            Self::Foreign(_) | Self::Version(_) => "`mcptest run --reporter json=FILE` writes one",
            Self::Broken { .. } => "restore the file, or write it again with `mcptest run --reporter json=FILE`",
        }
    }
}

/// Reads a saved report as the events it was written from.
pub fn read(text: &str) -> Result<Vec<Event>, ReportError> {
    let saved: Saved<'_> = serde_json::from_str(text).map_err(|error| refused(text, &error))?;
    let (Some(FORMAT), Some(suites)) = (saved.mcptest, saved.suites) else {
        return Err(foreign(text));
    };
    let reader = Reader { text };
    let mut notes = saved.notes;
    // In the order of their places, regardless of the order of the list.
    notes.sort_by_key(|note| (note.suites, note.rows));
    let mut notes = notes.into_iter().peekable();
    let mut out = Vec::new();
    if !saved.labels.is_empty() {
        out.push(Event::Labeled(saved.labels));
    }
    if saved.allow_inconclusive {
        out.push(Event::InconclusiveAllowed);
    }
    let mut add_notes = |suites: usize, rows: usize, out: &mut Vec<Event>| {
        while let Some(note) = notes.next_if(|note| (note.suites, note.rows) <= (suites, rows)) {
            out.push(if note.is_stop { Event::Stopped(note.text) } else { Event::Note(note.text) });
        }
    };
    add_notes(0, 0, &mut out);
    for (at, suite) in (1..).zip(suites) {
        match suite.refused {
            Some(why) => out.push(Event::SuiteRefused { file: suite.file, why }),
            None => out.push(Event::SuiteStarted { file: suite.file }),
        }
        add_notes(at, 0, &mut out);
        let mut rows = suite.rows.into_iter().map(|row| reader.row(row)).peekable();
        let mut has_run = false;
        let mut count = 0;
        while let Some(row) = rows.next() {
            let row = row?;
            has_run |= row.run.is_some();
            let is_last = match rows.peek() {
                Some(Ok(next)) => !RowOrder::of(&row).goes_on_with(next),
                _ => true,
            };
            let end =
                (is_last && has_run).then(|| Event::CellFinished { test: row.test.clone(), model: row.model.clone() });
            has_run &= !is_last;
            count += 1;
            out.push(Event::RowFinished(Box::new(row)));
            out.extend(end);
            add_notes(at, count, &mut out);
        }
    }
    add_notes(usize::MAX, usize::MAX, &mut out);
    Ok(out)
}

/// Why a text could not be read as a report.
fn refused(text: &str, error: &serde_json::Error) -> ReportError {
    match foreign(text) {
        // It says that it is one, so the mistake is inside.
        ReportError::Version(version) if version == u64::from(FORMAT) => {
            ReportError::Broken { line: error.line(), column: error.column(), message: JsonError::new(error).message }
        }
        other => other,
    }
}

/// The declared format of a text: a report of some version, or something else.
fn foreign(text: &str) -> ReportError {
    let head: Head<'_> = match serde_json::from_str(text) {
        Ok(head) => head,
        Err(error) => {
            let JsonError { line, column, message, .. } = JsonError::new(&error);
            return ReportError::Foreign(format!("not a JSON object at line {line}, column {column}: {message}"));
        }
    };
    match (head.mcptest.and_then(|raw| raw.get().parse().ok()), head.suites) {
        (Some(version), Some(_)) => ReportError::Version(version),
        _ => ReportError::Foreign("it does not have the keys `mcptest` (a version) and `suites`".to_owned()),
    }
}

#[derive(Deserialize)]
#[serde(expecting = "an object")]
struct Head<'a> {
    #[serde(borrow)]
    mcptest: Option<&'a RawValue>,
    suites: Option<IgnoredAny>,
}

#[derive(Deserialize)]
struct Saved<'a> {
    #[serde(default)]
    allow_inconclusive: bool,
    #[serde(default)]
    labels: BTreeMap<String, String>,
    mcptest: Option<u32>,
    #[serde(default)]
    notes: Vec<Note>,
    #[serde(borrow)]
    suites: Option<Vec<SavedSuite<'a>>>,
}

#[derive(Deserialize)]
struct SavedSuite<'a> {
    file: String,
    refused: Option<String>,
    #[serde(borrow)]
    rows: Vec<SavedRow<'a>>,
}

#[derive(Deserialize)]
struct SavedRow<'a> {
    advisory: Option<String>,
    #[serde(borrow)]
    checks: Vec<SavedCheck<'a>>,
    cost: Option<f64>,
    duration_ms: Option<u64>,
    #[serde(default)]
    edited: bool,
    error: Option<RunError>,
    family: Family,
    #[serde(default, deserialize_with = "gate")]
    gate: Option<GateKind>,
    line: usize,
    mark: Option<Mark>,
    model: String,
    name: String,
    origin: Option<Origin>,
    #[serde(default)]
    receipts: Vec<Receipt>,
    #[serde(default)]
    recorded: bool,
    rules: Option<String>,
    run: Option<u64>,
    runs: Option<u64>,
    test: String,
    #[serde(borrow)]
    trace: Option<&'a RawValue>,
    #[serde(deserialize_with = "row_verdict")]
    verdict: RowVerdict,
}

#[derive(Deserialize)]
struct SavedCheck<'a> {
    #[serde(borrow)]
    failures: Vec<SavedFailure<'a>>,
    line: String,
    metrics: Map<String, Value>,
    #[serde(deserialize_with = "check")]
    name: (&'static str, Option<GateKind>),
    picture: Option<Visual>,
    #[serde(deserialize_with = "verdict")]
    verdict: Verdict,
}

#[derive(Deserialize)]
struct SavedFailure<'a> {
    #[serde(borrow, default)]
    diffs: Vec<SavedDiff<'a>>,
    reason: String,
    target: String,
}

#[derive(Deserialize)]
struct SavedDiff<'a> {
    #[serde(borrow, default, deserialize_with = "present")]
    actual: Option<&'a RawValue>,
    #[serde(borrow, default, deserialize_with = "present")]
    expected: Option<&'a RawValue>,
    note: String,
    path: String,
}

/// A value that is there, also when it is null: null may be what was recorded.
fn present<'de: 'a, 'a, D: Deserializer<'de>>(from: D) -> Result<Option<&'a RawValue>, D::Error> {
    <&RawValue>::deserialize(from).map(Some)
}

fn gate<'de, D: Deserializer<'de>>(from: D) -> Result<Option<GateKind>, D::Error> {
    let Some(name) = Option::<String>::deserialize(from)? else { return Ok(None) };
    known_gate(&name).map(Some).ok_or_else(|| serde::de::Error::custom(format!("there is no gate `{name}`")))
}

/// The name of a check, and its gate; assertions of a test and the end of a program have none.
fn check<'de, D: Deserializer<'de>>(from: D) -> Result<(&'static str, Option<GateKind>), D::Error> {
    let name = String::deserialize(from)?;
    match known_gate(&name) {
        Some(kind) => Ok((kind.name(), Some(kind))),
        None if name == "expect" => Ok(("expect", None)),
        None if name == PROGRAM_CHECK => Ok((PROGRAM_CHECK, None)),
        None => Err(serde::de::Error::custom(format!("no check is called `{name}`"))),
    }
}

fn known_gate(name: &str) -> Option<GateKind> {
    GATES.iter().map(|gate| gate.kind).find(|kind| kind.name() == name)
}

fn row_verdict<'de, D: Deserializer<'de>>(from: D) -> Result<RowVerdict, D::Error> {
    Ok(Option::deserialize(from)?.unwrap_or(RowVerdict::Unjudged))
}

fn verdict<'de, D: Deserializer<'de>>(from: D) -> Result<Verdict, D::Error> {
    let word = String::deserialize(from)?;
    let known = Verdict::ALL.into_iter().find(|verdict| verdict.as_str() == word);
    known.ok_or_else(|| serde::de::Error::custom(format!("no check has the verdict `{word}`")))
}

/// Whether a trace says what the final response was.
fn has_answer(text: &str) -> bool {
    #[derive(Deserialize)]
    struct Answer {
        final_response: Option<IgnoredAny>,
    }
    text.contains("\"final_response\"")
        && serde_json::from_str::<Answer>(text).is_ok_and(|answer| answer.final_response.is_some())
}

/// The complete text, to locate its parts.
struct Reader<'a> {
    text: &'a str,
}

impl<'a> Reader<'a> {
    /// What is wrong at a place inside a part of the text.
    fn broken(&self, part: &RawValue, line: usize, column: usize, message: &str) -> ReportError {
        // The part borrows from the text, so what is before it can be counted.
        let offset = (part.get().as_ptr() as usize).saturating_sub(self.text.as_ptr() as usize);
        let before = self.text.get(..offset).unwrap_or("");
        let lines = before.matches('\n').count();
        let on_line = before.len() - before.rfind('\n').map_or(0, |at| at + 1);
        let column = if line <= 1 { on_line + column } else { column };
        ReportError::Broken { line: lines + line.max(1), column: column.max(1), message: message.to_owned() }
    }

    fn value(&self, raw: &'a RawValue) -> Result<Value, ReportError> {
        json::parse(raw.get()).map_err(|error| self.broken(raw, error.line, error.column, &error.message))
    }

    fn row(&self, saved: SavedRow<'a>) -> Result<Row, ReportError> {
        let trace = match saved.trace {
            Some(trace) => Some(Box::new(self.trace(trace)?)),
            None => None,
        };
        let mut checks = Vec::with_capacity(saved.checks.len());
        for check in saved.checks {
            checks.push(self.check(check)?);
        }
        Ok(Row {
            name: saved.name,
            family: saved.family,
            test: saved.test,
            model: saved.model,
            run: saved.run,
            runs: saved.runs,
            gate: saved.gate,
            line: saved.line,
            mark: saved.mark,
            verdict: saved.verdict,
            origin: saved.origin,
            recorded: saved.recorded,
            rules: saved.rules,
            edited: saved.edited,
            checks,
            error: saved.error,
            receipts: saved.receipts,
            advisory: saved.advisory,
            cost: saved.cost,
            duration_ms: saved.duration_ms,
            trace,
        })
    }

    fn trace(&self, raw: &'a RawValue) -> Result<Trace, ReportError> {
        let text = raw.get();
        let read = Trace::from_json(text);
        let mut trace = read.map_err(|error| self.broken(raw, error.line, error.column, &error.message))?;
        // Readers of recordings use the last message if there is no answer; this trace was already read.
        if trace.conversation.turns.is_some() && !has_answer(text) {
            trace.final_response = None;
        }
        Ok(trace)
    }

    fn check(&self, saved: SavedCheck<'a>) -> Result<CheckResult, ReportError> {
        let (name, gate) = saved.name;
        let mut metrics = Metrics::default();
        for metric in gate.map_or(&[][..], |kind| kind.info().metrics) {
            metrics.set_known(metric.name, saved.metrics.get(metric.name).cloned());
        }
        let mut failures = Vec::with_capacity(saved.failures.len());
        for failure in saved.failures {
            let mut diffs = Vec::with_capacity(failure.diffs.len());
            for diff in failure.diffs {
                diffs.push(AssertionDiff {
                    path: diff.path,
                    expected: diff.expected.map(|raw| self.value(raw)).transpose()?,
                    actual: diff.actual.map(|raw| self.value(raw)).transpose()?,
                    note: diff.note,
                });
            }
            failures.push(GateFailure { target: failure.target, reason: failure.reason, diffs });
        }
        let (verdict, line, picture) = (saved.verdict, saved.line, saved.picture);
        Ok(CheckResult { gate, name, verdict, line, metrics, failures, picture, first: None })
    }
}
