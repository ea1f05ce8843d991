//! `mcptest cassette accept`: accepts edits of cassettes and marks them.

use mcptest_core::diag::printable;
use mcptest_runner::cassette::{Accepted, CassetteError, accept};

use super::super::Stop;
use super::file_error;
use crate::args::CassetteAccept;
use crate::console::Console;
use crate::exit;

pub(super) fn run(typed: &CassetteAccept, console: &mut Console<'_>) -> Result<u8, Stop> {
    let mut code = exit::OK;
    for path in &typed.files {
        let shown = path.to_string_lossy();
        let shown = printable(&shown);
        match accept(path) {
            Ok(found) => {
                let (done, what) = match found {
                    Accepted::Now => ("accepted", "reports say `edited` until it is re-recorded"),
                    Accepted::Before => ("unchanged", "its edits were accepted before"),
                    Accepted::Unedited => ("unchanged", "it was not edited"),
                };
                console.out.print(&format!("{done} {shown}: {what}\n"))?;
            }
            Err(error) => {
                console.err.complain(file_error(&path.to_string_lossy(), &error, hint(&error)));
                code = exit::ERROR;
            }
        }
    }
    Ok(code)
}

fn hint(error: &CassetteError) -> &'static str {
    match error {
        CassetteError::Contradictory { .. } => "edit both places so that they agree, or restore the file",
        CassetteError::Missing { .. } => "`mcptest cassette list` shows where cassettes are",
        CassetteError::Locked { .. } => "wait until it finishes",
        CassetteError::Io { .. } | CassetteError::Linked { .. } => "check that it is a regular file and writable",
        _ => "restore the file, or re-record the run",
    }
}
