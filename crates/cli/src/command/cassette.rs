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

use super::{Answer, Environment};
use crate::args::{Cassette, CassetteCommand};
use crate::exit;
use crate::report::text::one_line;
use crate::suites::{self, File};

pub(super) fn run(typed: &Cassette, environment: Environment<'_>) -> Answer {
    match &typed.command {
        CassetteCommand::List(typed) => list::run(typed, environment),
        CassetteCommand::Show(typed) => show::run(typed),
        CassetteCommand::Accept(typed) => accept::run(typed),
        CassetteCommand::Rename(typed) => rename::run(typed, environment),
        CassetteCommand::Prune(typed) => prune::run(typed, environment),
        CassetteCommand::Scan(typed) => scan::run(typed, environment),
    }
}

/// What to do about a folder of cassettes that cannot be listed.
const HINT_FOLDER: &str = "check that it is a readable folder";

fn cassette_error(error: &CassetteError, hint: impl Into<String>) -> Failure {
    Failure { code: error.code(), ..Failure::error((), one_line(&error.to_string())).hint(hint) }
}

/// What is wrong with a cassette that was named.
fn file_error(path: &str, error: &CassetteError, hint: &str) -> Failure<String> {
    let (code, why) = match error {
        CassetteError::Missing { .. } => (Some(Code::NoSuchFile), "no such file".to_owned()),
        _ => (error.code(), error.why()),
    };
    Failure { code, ..Failure::error(path.to_owned(), one_line(&why)).hint(hint) }
}

/// The suites, and the errors of those that cannot be used. `Err` if there is none.
fn load(named: &[PathBuf], command: &str, environment: Environment<'_>) -> Result<(Vec<File>, String), Answer> {
    // Warnings are about tests, and do not affect cassettes.
    let files = match suites::load(named, command, Trust::Trusted, environment, &mut |_| {}) {
        Ok(files) => files,
        Err(complaint) => {
            return Err(Answer { data: String::new(), complaints: format!("{complaint}\n"), code: exit::ERROR });
        }
    };
    let mut complaints = String::new();
    for file in &files {
        if let File::Refused { why, .. } = file {
            complaints.push_str(why);
        }
    }
    Ok((files, complaints))
}
