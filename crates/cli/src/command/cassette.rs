//! `mcptest cassette`: manages recordings. One file per subcommand; this one loads the suites.

mod accept;
mod list;
mod prune;
mod rename;
mod scan;
mod show;

use std::path::PathBuf;

use mcptest_core::diag::{Code, Failure};
use mcptest_runner::cassette::CassetteError;
use mcptest_runner::file::Trust;

use super::{Environment, Stop};
use crate::args::{Cassette, CassetteCommand};
use crate::console::Console;
use crate::report::text::one_line;
use crate::suites::{self, File};

pub(super) fn run(typed: &Cassette, environment: Environment<'_>, console: &mut Console<'_>) -> Result<u8, Stop> {
    match &typed.command {
        CassetteCommand::List(typed) => list::run(typed, environment, console),
        CassetteCommand::Show(typed) => show::run(typed, console),
        CassetteCommand::Accept(typed) => accept::run(typed, console),
        CassetteCommand::Rename(typed) => rename::run(typed, environment, console),
        CassetteCommand::Prune(typed) => prune::run(typed, environment, console),
        CassetteCommand::Scan(typed) => scan::run(typed, environment, console),
    }
}

/// What to do about a folder of cassettes that cannot be listed.
const HINT_FOLDER: &str = "check that it is a readable folder";

fn cassette_error(error: &CassetteError, hint: impl Into<String>) -> Failure {
    Failure::error((), one_line(&error.to_string())).code(error.code()).hint(hint)
}

/// What is wrong with a cassette that was named.
fn file_error(path: &str, error: &CassetteError, hint: &str) -> Failure<String> {
    let (code, why) = match error {
        CassetteError::Missing { .. } => (Code::NoSuchFile, "no such file".to_owned()),
        _ => (error.code(), error.why()),
    };
    Failure::error(path.to_owned(), one_line(&why)).code(code).hint(hint)
}

/// Loads the suites and prints the errors of those that cannot be used.
fn load(
    named: &[PathBuf],
    command: &str,
    environment: Environment<'_>,
    console: &mut Console<'_>,
) -> Result<Vec<File>, Failure> {
    // Warnings are about tests, and do not affect cassettes.
    let files = suites::load(named, command, Trust::Trusted, environment, &mut |_| {})?;
    for file in &files {
        if let File::Refused { why, .. } = file {
            console.err.complain(why);
        }
    }
    Ok(files)
}
