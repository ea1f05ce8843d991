//! Traces and groups as rows of a report.

use mcptest_core::diag::{Failure, Subject};
use mcptest_core::event::Event;
use mcptest_core::import::Imported;
use mcptest_core::report::{Family, Row, RowVerdict, RunError, row_name};
use mcptest_core::score::{GroupLine, Scored};
use mcptest_core::trace::Trace;

use crate::corpus::{RecordError, place_of};

/// The row of a trace, without a name if its format has none.
pub(super) fn trace(one: &Imported<'_>, trace: Trace, scored: &Scored) -> Box<Row> {
    let mut row = Box::new(Row::named(one.id.as_deref().unwrap_or_default()));
    row.edited = one.is_edited();
    row.model = trace.conversation.model.clone().unwrap_or_default();
    row.verdict = scored.verdict.unwrap_or(RowVerdict::Unjudged);
    row.duration_ms = trace.conversation.duration_ms;
    row.checks.clone_from(&scored.checks);
    for (gate, failure) in &scored.failures {
        match row.checks.iter_mut().find(|check| check.name == *gate) {
            Some(check) => check.failures.push(failure.clone()),
            None => row.error = Some(RunError::new(failure.reason.clone())),
        }
    }
    row.trace = Some(Box::new(trace));
    row
}

/// The row of a record that could not be read.
pub(super) fn fault(fault: &RecordError) -> Box<Row> {
    let mut row = Box::new(Row::named(place_of(fault)));
    row.verdict = RowVerdict::Error;
    row.error = Some(fault.clone().moved(Subject::Test));
    row
}

/// Emits rows for what is wrong with the whole run and with no trace, each with its line in the file, or 0: a report that has only
/// passing traces would be read as a pass.
pub(super) fn problems(file: &str, found: &[(usize, Failure<String>)], emit: &mut dyn FnMut(Event)) {
    if found.is_empty() {
        return;
    }
    emit(Event::SuiteStarted { file: file.to_owned() });
    for (line, failure) in found {
        let mut row = Box::new(Row::named(&failure.place));
        row.line = *line;
        row.verdict = RowVerdict::Error;
        row.error = Some(failure.clone().moved(Subject::Test));
        emit(Event::RowFinished(row));
    }
}

/// Emits the row of the trace number `at` of a source.
pub(super) fn emit(source: &str, mut row: Box<Row>, at: u64, is_first: bool, emit: &mut dyn FnMut(Event)) {
    if is_first {
        emit(Event::SuiteStarted { file: source.to_owned() });
    }
    if row.name.is_empty() {
        row.name = format!("trace {at}");
        row.test.clone_from(&row.name);
    }
    emit(Event::RowFinished(row));
}

/// Emits a row for each gate over the runs of a group.
pub(super) fn group(line: &GroupLine<'_>, is_first: bool, emit: &mut dyn FnMut(Event)) {
    if is_first {
        emit(Event::SuiteStarted { file: "groups".to_owned() });
    }
    for check in &line.checks {
        let mut row = Box::new(Row::named(line.name()));
        row.name = row_name(line.name(), None, None, check.gate);
        row.family = Family::Gate;
        row.gate = check.gate;
        row.verdict = line.verdict_of(check);
        row.checks.push(check.clone());
        emit(Event::RowFinished(row));
    }
}
