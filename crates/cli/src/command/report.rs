//! `mcptest report`: reads a saved run and passes it to the same reporters.

use std::io::Read;
use std::path::Path;

use mcptest_core::diag::{Code, Failure};
use mcptest_core::event::Event;
use mcptest_core::report::{self, Report, ReportError};

use super::compare::{self, sides};
use super::{Environment, Stop};
use crate::args::{Render, Reporting, labeled};
use crate::console::Console;
use crate::exit;
use crate::input::{self, FileError, file_error, io_error};
use crate::report::{Compared, Named, Reporters, Style};
use crate::suites::File;
use mcptest_runner::file::Trust;

/// Largest saved run that is read.
const MAX_BYTES: u64 = 1 << 30;

pub(super) fn run(typed: &Render, environment: Environment<'_>, console: &mut Console<'_>) -> Result<u8, Stop> {
    let trust = Trust::Trusted;
    let events = events(&typed.run, trust)?;
    let older = older(&typed.reporting, &[], trust)?;
    let style = style(&typed.reporting, trust, environment);
    let mut reporters = Reporters::new(&typed.reporting.reporter, style, console.out.by_ref())?;
    let mut report = Report::default();
    for event in labels(events, &typed.reporting) {
        reporters.event(&event);
        report.take(event);
    }
    let (unwritten, _) = finish(reporters, &report, older.as_ref());
    let code = if unwritten.is_empty() { exit::OK } else { exit::ERROR };
    for failure in unwritten {
        console.err.complain(failure);
    }
    Ok(code)
}

/// The events with more labels; one that was saved under the same name is replaced.
fn labels(mut events: Vec<Event>, typed: &Reporting) -> Vec<Event> {
    match (events.first_mut(), labeled(&typed.label)) {
        (_, None) => {}
        (Some(Event::Labeled(saved)), Some(Event::Labeled(more))) => saved.extend(more),
        (_, Some(new)) => events.insert(0, new),
    }
    events
}

pub(super) fn style(typed: &Reporting, trust: Trust, environment: Environment<'_>) -> Style {
    Style::new(typed.verbosity(), typed.color, environment).trusting(trust)
}

/// The older runs to compare with; `suites` judge them if they are cassettes.
pub(super) fn older(typed: &Reporting, suites: &[File], trust: Trust) -> Result<Option<Named>, FileError> {
    typed.compare.as_deref().map(|path| sides::read(path, suites, trust)).transpose()
}

/// Finishes the reports of a run, compared with older ones. Returns what went wrong, and whether tests regressed.
pub(super) fn finish(reporters: Reporters<'_>, report: &Report, older: Option<&Named>) -> (Vec<Failure>, bool) {
    let compared = older.map(|older| Compared::with_run(older, report));
    let mut failures = reporters.finish(report, compared.as_ref());
    failures.extend(compared.as_ref().and_then(compare::nothing));
    (failures, compared.as_ref().is_some_and(Compared::has_regressed))
}

/// The events of a saved run.
fn events(path: &Path, trust: Trust) -> Result<Vec<Event>, FileError> {
    let text = String::from_utf8(bytes(path, trust)?).map_err(|error| {
        let at = error.utf8_error().valid_up_to();
        let foreign = ReportError::Foreign(format!("it is not text: byte {at} is not UTF-8"));
        file_error(Code::NotAReport, path, foreign.to_string(), foreign.hint())
    })?;
    report::read(&text).map_err(|error| file_error(Code::NotAReport, path, error.to_string(), error.hint()))
}

/// The bytes of saved runs, from a file or from standard input.
pub(super) fn bytes(path: &Path, trust: Trust) -> Result<Vec<u8>, FileError> {
    let bytes = if path.as_os_str() == "-" {
        let mut bytes = Vec::new();
        let read = std::io::stdin().lock().take(MAX_BYTES + 1).read_to_end(&mut bytes);
        read.map(|_| (bytes.len() as u64 <= MAX_BYTES).then_some(bytes))
    } else {
        input::bytes(path, MAX_BYTES, trust)
    };
    bytes.map_err(|error| io_error(path, &error))?.ok_or_else(|| {
        let message = format!("has more than {MAX_BYTES} bytes, the limit");
        file_error(Code::FileTooLarge, path, message, "save fewer suites or runs in one report")
    })
}
