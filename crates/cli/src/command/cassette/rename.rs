//! `mcptest cassette rename`: moves the cassettes of a renamed test.

use mcptest_core::diag::{Code, Failure, printable, suggest};
use mcptest_runner::cassette::{CassetteError, Folder};
use mcptest_runner::plan::SuiteFile;

use super::super::{Environment, Stop};
use super::cassette_error;
use crate::args::CassetteRename;
use crate::console::Console;
use crate::exit;
use crate::report::text::{many, one_line};
use crate::suites::File;

pub(super) fn run(typed: &CassetteRename, environment: Environment<'_>, console: &mut Console<'_>) -> Result<u8, Stop> {
    let files = super::load(std::slice::from_ref(&typed.file), "cassette rename", environment, console)?;
    match files.as_slice() {
        [File::Suite(file)] => {
            console.out.print(&rename(file, typed)?)?;
            Ok(exit::OK)
        }
        [File::Refused { .. }] => Ok(exit::ERROR),
        _ => {
            let error = Failure::error((), "the path matches several suites").code(Code::BadArgument);
            Err(error.hint("name the file of one suite").into())
        }
    }
}

/// What was moved, or an error with its hint.
fn rename(file: &SuiteFile, typed: &CassetteRename) -> Result<String, Failure> {
    let CassetteRename { old, new, .. } = typed;
    let tests = || file.suite.agents.iter().map(|test| test.name.as_str());
    if !tests().any(|test| test == new) {
        let hint = format!("rename the test in the suite first; {}", suggest(new, tests()));
        return Err(Failure::error((), one_line(&format!("{} has no test `{new}`", file.shown)))
            .code(Code::BadArgument)
            .hint(hint));
    }
    if tests().any(|test| test == old) {
        let hint = "its recordings stay with it; record the other test";
        return Err(Failure::error((), one_line(&format!("{} still has the test `{old}`", file.shown)))
            .code(Code::BadArgument)
            .hint(hint));
    }
    let folder = Folder::of(&file.path);
    let moved = folder.rename(old, new).map_err(|error| match &error {
        CassetteError::Missing { path } => {
            let hint = format!("`mcptest cassette list {}` lists the recordings", file.shown);
            Failure::error((), one_line(&format!("there are no recordings of `{old}` in {}", path.display())))
                .code(Code::NoRecording)
                .hint(hint)
        }
        CassetteError::Taken { .. } => cassette_error(&error, "move them away if they are not needed"),
        CassetteError::Locked { .. } => cassette_error(&error, "wait until it finishes"),
        CassetteError::Io { .. } | CassetteError::Linked { .. } => {
            cassette_error(&error, "check that the folder is readable and writable")
        }
        _ => cassette_error(&error, "restore the file, or record the test again; nothing was moved"),
    })?;
    let mut out = String::new();
    for path in &moved {
        out.push_str(&format!("moved {}\n", printable(&path.to_string_lossy())));
    }
    out.push_str(&format!("{} of `{}` moved to `{}`\n", many(moved.len(), "recording"), one_line(old), one_line(new)));
    Ok(out)
}
