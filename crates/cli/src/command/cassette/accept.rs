//! `mcptest cassette accept`: accepts edits of cassettes and marks them.

use mcptest_core::diag::printable;
use mcptest_runner::cassette::{Accepted, CassetteError, accept};

use super::super::Answer;
use super::file_error;
use crate::args::CassetteAccept;
use crate::exit;

pub(super) fn run(typed: &CassetteAccept) -> Answer {
    let (mut data, mut complaints) = (String::new(), String::new());
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
                data.push_str(&format!("{done} {shown}: {what}\n"));
            }
            Err(error) => {
                let error = file_error(&path.to_string_lossy(), &error, hint(&error));
                complaints.push_str(&format!("{error}\n"));
            }
        }
    }
    let code = if complaints.is_empty() { exit::OK } else { exit::ERROR };
    Answer { data, complaints, code }
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
