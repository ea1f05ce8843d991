//! `mcptest cassette`: recorded runs, looked after. One file per subcommand; this one loads the suites they are held against.

mod accept;
mod list;
mod prune;
mod rename;
mod scan;
mod show;

use std::path::PathBuf;

use mcptest_runner::file::Trust;

use super::{Answer, Environment};
use crate::args::{Cassette, CassetteCommand};
use crate::exit;
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

/// The suites that are meant, and what is wrong with those that cannot be used. `Err` when none is meant.
fn load(named: &[PathBuf], command: &str, environment: Environment<'_>) -> Result<(Vec<File>, String), Answer> {
    // Warnings are about what tests mean, which no cassette depends on.
    let files = match suites::load(named, command, Trust::Trusted, environment, &mut |_| {}) {
        Ok(files) => files,
        Err(complaint) => {
            return Err(Answer { data: String::new(), complaints: complaint + "\n", code: exit::ERROR });
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
