//! `mcptest cassette prune`: removes the cassettes that no test replays.

use mcptest_core::diag::printable;
use mcptest_runner::cassette::{CassetteError, State, inventory};
use mcptest_runner::plan::SuiteFile;

use super::super::{Environment, Stop};
use super::cassette_error;
use crate::args::CassettePrune;
use crate::console::Console;
use crate::exit;
use crate::report::text::{many, one_line};
use crate::suites::File;

#[derive(Default)]
struct Pruned {
    data: String,
    /// Removed, or to be removed.
    gone: usize,
    kept: usize,
    failed: bool,
}

pub(super) fn run(typed: &CassettePrune, environment: Environment<'_>, console: &mut Console<'_>) -> Result<u8, Stop> {
    let files = super::load(&typed.files, "cassette prune", environment, console)?;
    let mut pruned = Pruned::default();
    for file in &files {
        match file {
            // What an unreadable suite uses is unknown.
            File::Refused { .. } => pruned.failed = true,
            File::Suite(file) => {
                if let Err(error) = prune(file, typed.yes, &mut pruned, console) {
                    pruned.complain(&error, console);
                }
            }
        }
    }
    console.out.print(&(pruned.data.clone() + &pruned.summary(typed.yes)))?;
    Ok(if pruned.failed { exit::ERROR } else { exit::OK })
}

fn prune(
    file: &SuiteFile,
    for_good: bool,
    pruned: &mut Pruned,
    console: &mut Console<'_>,
) -> Result<(), CassetteError> {
    let folder = file.cassettes();
    // Locked until done, so that nothing is recorded meanwhile. Locking would create a missing folder.
    let _lock = if for_good && folder.root().is_dir() { Some(folder.lock()?) } else { None };
    for entry in inventory(file)? {
        let State::Unused(why) = &entry.state else { continue };
        let shown = entry.path.to_string_lossy();
        let shown = printable(&shown);
        if let Some(kept) = folder.kept(&entry.path) {
            pruned.kept += 1;
            pruned.data.push_str(&format!("kept {shown}: {kept}\n"));
            continue;
        }
        let done = if for_good {
            match folder.remove(&entry.path) {
                Ok(()) => "removed",
                Err(error) => {
                    pruned.complain(&error, console);
                    continue;
                }
            }
        } else {
            "would remove"
        };
        pruned.gone += 1;
        pruned.data.push_str(&format!("{done} {shown}: {}\n", one_line(why)));
    }
    Ok(())
}

impl Pruned {
    fn complain(&mut self, error: &CassetteError, console: &mut Console<'_>) {
        let hint = match error {
            CassetteError::Locked { .. } => "wait until it finishes",
            _ => "check that the folder is readable and writable",
        };
        console.err.complain(cassette_error(error, hint));
        self.failed = true;
    }

    fn summary(&self, for_good: bool) -> String {
        let kept = match self.kept {
            0 => String::new(),
            kept => format!("; {kept} kept"),
        };
        let gone = many(self.gone, "unused cassette");
        match (self.gone, for_good) {
            (0, _) if self.failed => format!("nothing was removed{kept}\n"),
            (0, _) => format!("nothing to remove{kept}\n"),
            (_, true) => format!("{gone} removed{kept}\n"),
            (1, false) => format!("{gone}{kept}; nothing was removed\nhint: --yes removes it\n"),
            (_, false) => format!("{gone}{kept}; nothing was removed\nhint: --yes removes them\n"),
        }
    }
}
