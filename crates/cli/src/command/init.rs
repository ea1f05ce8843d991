//! `mcptest init`: a first suite that passes at once, made from nothing, from a server or from a trace.
//!
//! However it is made, it is a suite, the tools that a mock server stands in with, and a script that stands in for the
//! model. `starter` has them ready; `server` asks a server for its tools and `snapshot` makes them of those; `recording`
//! reads a trace, with what a `cassette` knows beside it, and `from_trace` makes them of that, with the `gates` it satisfies. `suite` writes suites and scripts, `yaml`
//! the values in them, `words` and `secrets` what is known of a server's command; `draft` reads everything back before
//! `files` writes it.

mod cassette;
mod draft;
mod files;
mod from_trace;
mod gates;
mod recording;
mod secrets;
mod server;
mod snapshot;
mod starter;
mod suite;
mod words;
mod yaml;

use std::path::Path;

use mcptest_core::diag::{Failure, printable};

use super::{Answer, Environment};
use crate::args::Init;
use crate::exit;
use crate::report::rerun;
use draft::Draft;

/// Why nothing was written.
fn stop(message: impl Into<String>, hint: impl Into<String>) -> Failure {
    Failure::error((), message).hint(hint)
}

pub(super) fn run(typed: &Init, environment: Environment<'_>) -> Answer {
    match make(typed, environment) {
        Ok((draft, mut complaints)) => {
            for note in &draft.notes {
                complaints.push_str(&format!("note: {}\n", printable(note)));
            }
            Answer { data: told(&draft, &typed.folder), complaints, code: exit::OK }
        }
        Err(stop) => Answer { data: String::new(), complaints: format!("{stop}\n"), code: exit::ERROR },
    }
}

/// Makes the files and writes them. What the mock server warns of is handed back.
fn make(typed: &Init, environment: Environment<'_>) -> Result<(Draft, String), Failure> {
    let from_server = typed.from_server.is_some() || typed.url.is_some();
    let names: &[&str] = match (&typed.from_trace, from_server) {
        (None, false) => &starter::NAMES,
        (None, true) => &snapshot::NAMES,
        (Some(_), _) => &from_trace::NAMES,
    };
    // Nobody waits for a server to be told afterwards that a file is in the way.
    files::refuse_existing(&typed.folder, names)?;
    let draft = match (&typed.from_trace, from_server) {
        (Some(path), _) => from_trace::draft(recording::first(path)?),
        (None, true) => snapshot::draft(server::ask(typed, environment)?)?,
        (None, false) => starter::draft(),
    };
    let warnings = draft.check()?;
    files::write(&typed.folder, &draft.files)?;
    Ok((draft, warnings))
}

/// What was written, and what to type next.
fn told(draft: &Draft, folder: &Path) -> String {
    let place = |name: &str| files::place(folder, name);
    let width = draft.files.iter().map(|file| place(file.name).chars().count()).max().unwrap_or(0);
    let mut out = String::new();
    for file in &draft.files {
        out.push_str(&format!("wrote {:width$}  {}\n", place(file.name), file.what));
    }
    for line in &draft.told {
        out.push_str(&format!("\n{line}\n"));
    }
    let suite = place(files::SUITE);
    // Found without being named in the current folder only.
    let named = if suite == files::SUITE {
        String::new()
    } else {
        format!(" {}", rerun::path(&suite).unwrap_or_else(|| suite.clone()))
    };
    out.push_str(&format!("\nNext:\n  mcptest run{named}\n  mcptest run{named} --verbose\n"));
    out.push_str(&format!("Then open {suite}: its comments say what to change first.\n"));
    // Paths may hold anything, and what is printed must not act.
    let lines: Vec<_> = out.lines().map(printable).collect();
    lines.join("\n") + "\n"
}
