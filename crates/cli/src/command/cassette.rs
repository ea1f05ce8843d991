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

/// The suites that are meant, and what has to be said about them. `Err` when there is none.
fn load(named: &[PathBuf], command: &str, environment: Environment<'_>) -> Result<(Vec<File>, String), Answer> {
    let mut complaints = String::new();
    let mut complain = |text: &str| complaints.push_str(&format!("{}\n", text.trim_end()));
    let files = match suites::load(named, command, environment, &mut complain) {
        Ok(files) => files,
        Err(complaint) => {
            complain(&complaint);
            return Err(Answer { data: String::new(), complaints, code: exit::ERROR });
        }
    };
    let files: Vec<File> = files
        .into_iter()
        .map(|file| match file.suite().and_then(shares) {
            Some(refusal) => File::from(refusal),
            None => file,
        })
        .collect();
    for file in &files {
        if let File::Refused { why, .. } = file {
            complain(why);
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
