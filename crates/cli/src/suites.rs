//! Loads the suites named on the command line. One that cannot be used keeps its place in the order.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::slice;

use mcptest_core::diag::{Code, Failure};
use mcptest_core::suite::{self, Variables};
use mcptest_runner::file::Trust;
use mcptest_runner::plan::SuiteFile;

use crate::command::Environment;
use crate::input::{self, FileError, file_error};
use crate::kind::Kind;

/// A file that was named: a suite, or why it is not one.
pub(crate) enum File {
    Suite(Box<SuiteFile>),
    Refused { name: String, why: String },
}

impl File {
    pub(crate) fn suite(&self) -> Option<&SuiteFile> {
        match self {
            Self::Suite(file) => Some(file),
            Self::Refused { .. } => None,
        }
    }
}

impl From<FileError> for File {
    fn from(error: FileError) -> Self {
        Self::Refused { why: format!("{error}\n"), name: error.place }
    }
}

/// Loads the suites that were named, those in folders that were named, or, without any name, the one in the current folder. An
/// error if there is none; `command` is what was typed, for its hint.
pub(crate) fn load(
    named: &[PathBuf],
    command: &str,
    trust: Trust,
    environment: Environment<'_>,
    complain: &mut dyn FnMut(&str),
) -> Result<Vec<File>, Failure> {
    let mut out = Vec::new();
    let mut seen = BTreeSet::new();
    for name in &default_suites(named, command)? {
        let mut has_suites = false;
        for path in input::expand(slice::from_ref(name), trust, complain) {
            let file = match path {
                Ok(path) if seen.contains(&input::place(&path)) => {
                    has_suites = true;
                    continue;
                }
                Ok(path) => {
                    let loaded = load_one(&path, path == *name, trust, environment, complain).transpose();
                    // Scripts and mock servers may be in the folders of suites.
                    let Some(loaded) = loaded else { continue };
                    seen.insert(input::place(&path));
                    loaded.unwrap_or_else(File::from)
                }
                Err(refusal) => File::from(refusal),
            };
            has_suites = true;
            out.push(file);
        }
        if !has_suites {
            let message = "no suite in this folder or below it";
            let hint = "scripts and mock servers have no tests; name a file with `agents:`";
            out.push(File::from(file_error(Code::EmptyFolder, name, message, hint)));
        }
    }
    Ok(out)
}

/// The files and folders that were named, or the default suite.
pub(crate) fn default_suites(named: &[PathBuf], command: &str) -> Result<Vec<PathBuf>, Failure> {
    if !named.is_empty() {
        return Ok(named.to_vec());
    }
    let found: Vec<PathBuf> =
        ["mcptest.yaml", "mcptest.yml"].map(PathBuf::from).into_iter().filter(|path| path.is_file()).collect();
    if found.is_empty() {
        let what = "no suite was named, and there is no mcptest.yaml or mcptest.yml in the current folder";
        let hint =
            format!("name a file or a folder, as in `mcptest {command} tests/`; `mcptest init` writes a first suite");
        return Err(Failure::error((), what).code(Code::NoSuiteNamed).hint(hint));
    }
    Ok(found)
}

/// Loads a file; nothing if it is in a folder that was named and is not a suite. Errors of a suite become part of the report;
/// warnings are printed at once.
fn load_one(
    path: &Path,
    is_named: bool,
    trust: Trust,
    environment: Environment<'_>,
    complain: &mut dyn FnMut(&str),
) -> Result<Option<File>, FileError> {
    let source = input::read(path, trust)?;
    if let Some((message, hint)) = Kind::of(&source).instead_of_suite() {
        return if is_named { Err(file_error(Code::NotASuite, path, message, hint)) } else { Ok(None) };
    }
    let folder = input::folder(path);
    let loaded = match trust {
        Trust::Trusted => suite::load(&source, &Variables { suite_dir: &folder, outside: environment }),
        Trust::Untrusted => suite::load_untrusted(&source, &folder),
    };
    let rendered: Vec<String> = loaded.diagnostics.iter().map(|diagnostic| diagnostic.render(&source)).collect();
    let shown = source.name().to_owned();
    let Some(suite) = loaded.value else { return Ok(Some(File::Refused { name: shown, why: rendered.join("\n") })) };
    for warning in &rendered {
        complain(warning);
    }
    let file = SuiteFile::new(shown, path.to_owned(), suite, trust);
    cassette_clash(&file).map_or(Ok(Some(File::Suite(Box::new(file)))), Err)
}

/// Two suites whose names differ only in their extension share a folder for cassettes: one would overwrite what the other
/// recorded.
fn cassette_clash(file: &SuiteFile) -> Option<FileError> {
    let other = ["yml", "yaml"].map(|ending| file.path.with_extension(ending)).into_iter().find(|other| {
        *other != file.path && input::read(other, file.trust).is_ok_and(|source| Kind::of(&source) == Kind::Suite)
    })?;
    let message = format!("has its cassettes in the same folder as {}", other.display());
    Some(file_error(Code::SharedCassettes, &file.path, message, "give one of the two another name"))
}
