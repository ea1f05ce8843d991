//! `mcptest cassette`: recorded runs, looked after. One file per subcommand; this one loads the suites they are held against.

mod list;
mod prune;
mod show;

use std::path::PathBuf;

use mcptest_runner::plan::SuiteFile;

use super::{Answer, Environment};
use crate::args::{Cassette, CassetteCommand};
use crate::exit;
use crate::input::{self, Refusal};
use crate::kind::Kind;
use crate::suites::{self, File};

pub(super) fn run(typed: &Cassette, environment: Environment<'_>) -> Answer {
    match &typed.command {
        CassetteCommand::List(typed) => list::run(typed, environment),
        CassetteCommand::Show(typed) => show::run(typed),
        CassetteCommand::Prune(typed) => prune::run(typed, environment),
    }
}

/// The suites that are meant, and what is wrong with those that cannot be used. `Err` when none is meant.
fn load(named: &[PathBuf], command: &str, environment: Environment<'_>) -> Result<(Vec<File>, String), Answer> {
    // Warnings are about what tests mean, which no cassette depends on.
    let files = match suites::load(named, command, environment, &mut |_| {}) {
        Ok(files) => files,
        Err(complaint) => {
            return Err(Answer { data: String::new(), complaints: complaint + "\n", code: exit::ERROR });
        }
    };
    let files: Vec<File> = files
        .into_iter()
        .map(|file| match file.suite().and_then(shares) {
            Some(refusal) => File::from(refusal),
            None => file,
        })
        .collect();
    let mut complaints = String::new();
    for file in &files {
        if let File::Refused { why, .. } = file {
            complaints.push_str(why);
        }
    }
    Ok((files, complaints))
}

/// Two suites whose names differ in their ending only keep their cassettes in one folder: what one of them does not use, the
/// other may.
fn shares(file: &SuiteFile) -> Option<Refusal> {
    let other = ["yml", "yaml"]
        .map(|ending| file.path.with_extension(ending))
        .into_iter()
        .find(|other| *other != file.path && input::read(other).is_ok_and(|source| Kind::of(&source) == Kind::Suite))?;
    let message = format!("has its cassettes in the same folder as {}", other.display());
    Some(Refusal::new(&file.path, message, "give one of the two another name"))
}
