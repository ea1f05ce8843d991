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
        let outdated = |why: &str| CassetteError::NoLedger {
            path: self.path(&cassette.test, &cassette.model, cassette.run),
            why: why.to_owned(),
        };
        let Some(named) = &cassette.ledger else {
            return Err(outdated("it has no ledger of the program's requests, so it cannot be rerun"));
        };
        let text = match self.text(&path) {
            Err(CassetteError::Missing { .. }) => {
                let why = "the ledger of the recording is missing. It must be committed with the recording; check that git \
                           does not ignore *.ledger.jsonl";
                return Err(broken(why));
            }
            text => text?,
        };
        if hash(text.as_bytes()) != *named {
            let ends = if text.contains('\r') { "; it has CRLF line ends, which git may have added" } else { "" };
            return Err(broken(&format!(
                "the ledger was changed or cut off after the recording: its SHA-256 is not the recorded one{ends}"
            )));
        }
        let ledger = Ledger::read(&text).map_err(|error| broken(&at_line(&error)))?;
        let faults = cassette.trace.program.as_ref().and_then(|program| program.faults.as_ref());
        if ledger.fault_hits.is_empty() && faults.is_some_and(|faults| !faults.is_empty()) {
            let why = "its ledger was recorded by an older mcptest and does not record which requests the injected faults hit";
            return Err(outdated(why));
        }
        Ok(ledger)
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
