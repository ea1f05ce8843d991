//! `mcptest report`: reads a saved run and passes it to the same reporters.

use std::io::Read;
use std::path::Path;

use mcptest_core::diag::Code;
use mcptest_core::event::Event;
use mcptest_core::report::{self, Baseline, Report, ReportError};

use super::{Environment, Stop};
use crate::args::{Render, Reporting};
use crate::console::Console;
use crate::exit;
use crate::input::{self, FileError, file_error, io_error};
use crate::report::{Compared, Reporters, Style};
use mcptest_runner::file::Trust;

/// Largest saved run that is read.
const MAX_BYTES: u64 = 1 << 30;

pub(super) fn run(typed: &Render, environment: Environment<'_>, console: &mut Console<'_>) -> Result<u8, Stop> {
    let trust = Trust::Trusted;
    let events = events(&typed.run, trust)?;
    let style = style(&typed.reporting, trust, environment)?;
    let mut reporters = Reporters::new(&typed.reporting.reporter, style, console.out.by_ref())?;
    let mut report = Report::default();
    for event in events {
        reporters.event(&event);
        report.take(event);
    }
    let mut code = exit::OK;
    for unwritten in reporters.finish(&report) {
        console.err.complain(unwritten);
        code = exit::ERROR;
    }
    Ok(code)
}

/// The requested style, with the older report to compare with.
pub(super) fn style(typed: &Reporting, trust: Trust, environment: Environment<'_>) -> Result<Style, FileError> {
    let compared = match &typed.compare {
        Some(path) => Some(compared(path, trust)?),
        None => None,
    };
    Ok(Style::new(typed.verbosity(), typed.color, environment).compared_with(compared).trusting(trust))
}

fn compared(path: &Path, trust: Trust) -> Result<Compared, FileError> {
    let mut report = Report::default();
    for event in events(path, trust)? {
        report.take(event);
    }
    Ok(Compared { name: input::shown(path), baseline: Baseline::of(&report) })
}

/// The events of a saved run.
fn events(path: &Path, trust: Trust) -> Result<Vec<Event>, FileError> {
    let bytes = if path.as_os_str() == "-" {
        let mut bytes = Vec::new();
        let read = std::io::stdin().lock().take(MAX_BYTES + 1).read_to_end(&mut bytes);
        read.map(|_| (bytes.len() as u64 <= MAX_BYTES).then_some(bytes))
    } else {
        input::bytes(path, MAX_BYTES, trust)
    };
    let Some(bytes) = bytes.map_err(|error| io_error(path, &error))? else {
        let message = format!("has more than {MAX_BYTES} bytes, the limit");
        return Err(file_error(Code::FileTooLarge, path, message, "save fewer suites or runs in one report"));
    };
    let text = String::from_utf8(bytes).map_err(|error| {
        let at = error.utf8_error().valid_up_to();
        let foreign = ReportError::Foreign(format!("it is not text: byte {at} is not UTF-8"));
        file_error(Code::NotAReport, path, foreign.to_string(), foreign.hint())
    })?;
    report::read(&text).map_err(|error| file_error(Code::NotAReport, path, error.to_string(), error.hint()))
}
