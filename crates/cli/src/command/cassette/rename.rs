//! `mcptest cassette rename`: the cassettes of a test that has another name now.

use mcptest_core::diag::{printable, suggest};
use mcptest_runner::cassette::{CassetteError, Folder};
use mcptest_runner::plan::SuiteFile;

use super::super::{Answer, Environment};
use crate::args::CassetteRename;
use crate::exit;
use crate::report::text::{many, one_line};
use crate::suites::File;

pub(super) fn run(typed: &CassetteRename, environment: Environment<'_>) -> Answer {
    let (files, complaints) = match super::load(std::slice::from_ref(&typed.file), "cassette rename", environment) {
        Ok(loaded) => loaded,
        Err(answer) => return answer,
    };
    let mut answer = Answer { data: String::new(), complaints, code: exit::OK };
    let failed = |why: &str, hint: &str| format!("error: {}\nhint: {hint}\n", one_line(why));
    match files.as_slice() {
        [File::Suite(file)] => match rename(file, typed) {
            Ok(moved) => answer.data = moved,
            Err((why, hint)) => answer.complaints.push_str(&failed(&why, &hint)),
        },
        [File::Refused { .. }] => {}
        _ => answer.complaints.push_str(&failed("several suites are meant", "name the file of one suite")),
    }
    if !answer.complaints.is_empty() {
        answer.code = exit::ERROR;
    }
    answer
}

/// What was done, or why nothing was, with what to do about it.
fn rename(file: &SuiteFile, typed: &CassetteRename) -> Result<String, (String, String)> {
    let CassetteRename { old, new, .. } = typed;
    let tests = || file.suite.agents.iter().map(|test| test.name.as_str());
    if !tests().any(|test| test == new) {
        let hint = format!("rename the test in the suite first; {}", suggest(new, tests()));
        return Err((format!("{} has no test `{new}`", file.shown), hint));
    }
    if tests().any(|test| test == old) {
        let hint = "its recordings stay with it; record the other test".to_owned();
        return Err((format!("{} still has the test `{old}`", file.shown), hint));
    }
    let folder = Folder::of(&file.path);
    let moved = folder.rename(old, new).map_err(|error| match &error {
        CassetteError::Missing { path } => {
            let hint = format!("`mcptest cassette list {}` tells which recordings there are", file.shown);
            (format!("there are no recordings of `{old}` in {}", path.display()), hint)
        }
        CassetteError::Taken { .. } => (error.to_string(), "move them away if they are not needed".to_owned()),
        CassetteError::Locked { .. } => (error.to_string(), "wait until it is done".to_owned()),
        CassetteError::Io { .. } | CassetteError::Linked { .. } => {
            (error.to_string(), "check that the folder may be read and written".to_owned())
        }
        _ => (error.to_string(), "restore the file, or record the test again; nothing was moved".to_owned()),
    })?;
    let mut out = String::new();
    for path in &moved {
        out.push_str(&format!("moved {}\n", printable(&path.to_string_lossy())));
    }
    out.push_str(&format!("{} of `{}` kept as `{}`\n", many(moved.len(), "recording"), one_line(old), one_line(new)));
    Ok(out)
}
