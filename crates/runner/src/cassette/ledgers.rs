//! The ledgers of recorded programs: `<run>.ledger.jsonl` next to `<run>.json`. They are written first and named by their
//! hash, so that a recording is never paired with the ledgers of another.

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use mcptest_core::ledger::{Ledger, LedgerError};
use mcptest_core::redact::hash;

use super::store::{self, Folder};
use super::{Cassette, CassetteError};

/// The ledgers next to a recording.
pub fn ledger_path(recording: &Path) -> PathBuf {
    recording.with_extension("ledger.jsonl")
}

impl Folder {
    /// Writes the ledgers of a run. Returns the hash that its recording names them by.
    pub fn save_ledger(&self, test: &str, model: &str, run: u64, ledger: &Ledger) -> Result<String, CassetteError> {
        let path = ledger_path(&self.path(test, model, run));
        let lines = ledger.to_lines();
        if let Err(error) = Ledger::read(&lines) {
            return Err(CassetteError::Unkept { path, why: at_line(&error) });
        }
        self.write(&path, &lines)?;
        Ok(hash(lines.as_bytes()))
    }

    /// The ledgers of a recording.
    pub fn load_ledger(&self, cassette: &Cassette) -> Result<Ledger, CassetteError> {
        let path = ledger_path(&self.path(&cassette.test, &cassette.model, cassette.run));
        let broken = |why: &str| CassetteError::Ledger { path: path.clone(), why: why.to_owned() };
        let Some(named) = &cassette.ledger else {
            return Err(broken("the recording has no ledgers: it is not one of a program"));
        };
        let text = match self.text(&path) {
            Err(CassetteError::Missing { .. }) => return Err(broken("the ledgers of the recording are missing")),
            text => text?,
        };
        if hash(text.as_bytes()) != *named {
            return Err(broken("these are not the ledgers of the recording: their hash does not match"));
        }
        Ledger::read(&text).map_err(|error| broken(&at_line(&error)))
    }
}

fn at_line(error: &LedgerError) -> String {
    format!("line {}: {}", error.place, error.message)
}

/// Removes the ledgers of a recording, if it has any.
pub(super) fn remove(recording: &Path) -> Result<(), CassetteError> {
    let path = ledger_path(recording);
    match fs::remove_file(&path) {
        Err(error) if error.kind() != ErrorKind::NotFound => Err(store::failed(&path, "removed", &error)),
        _ => Ok(()),
    }
}

/// Copies the ledgers of a recording next to its copy, if it has any.
pub(super) fn copy(recording: &Path, to: &Path) -> Result<(), CassetteError> {
    let (from, to) = (ledger_path(recording), ledger_path(to));
    match fs::copy(&from, &to) {
        Err(error) if error.kind() != ErrorKind::NotFound => Err(store::failed(&to, "written", &error)),
        _ => Ok(()),
    }
}
