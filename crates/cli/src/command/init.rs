//! `mcptest init`: a first suite that passes right away, from a template, a server, an agent or a trace.
//!
//! Each consists of a suite, the tools of a mock server, and a script in place of the model. `starter` has templates; `server`
//! lists the tools of a server and `snapshot` generates files from them; `recording` reads a trace, with what a `cassette` adds,
//! and `from_trace` generates files from it, with the gates that `mcptest infer` finds in it. `suite` writes suites and scripts, `yaml` values,
//! `from_agent` runs an agent once and records it. `words` and `secrets` handle commands; `draft` validates everything before `files` writes it.

mod cassette;
mod draft;
mod files;
mod from_agent;
mod from_trace;
mod gates;
mod recording;
mod secrets;
mod server;
mod snapshot;
mod starter;
mod suite;
pub(super) mod yaml;

use std::path::Path;

use mcptest_core::diag::{Code, Failure, printable};

use super::{Environment, Stop};
use crate::args::Init;
use crate::console::Console;
use crate::exit;
use crate::report::rerun_command;
use draft::Draft;

fn stop(code: Code, message: impl Into<String>, hint: impl Into<String>) -> Failure {
    Failure::error((), message).code(code).hint(hint)
}

pub(super) fn run(
    typed: &Init,
    environment: Environment<'_>,
    names: &[String],
    console: &mut Console<'_>,
) -> Result<u8, Stop> {
    let (draft, warnings) = make(typed, environment, names)?;
    console.err.complain(warnings);
    for note in &draft.notes {
        console.err.complain(format!("note: {}", printable(note)));
    }
    console.out.print(&summary(&draft, &typed.folder))?;
    Ok(exit::OK)
}

/// Generates the files and writes them. Returns the warnings of the mock server.
fn make(typed: &Init, environment: Environment<'_>, names: &[String]) -> Result<(Draft, String), Failure> {
    if let Some(line) = &typed.from_agent {
        files::refuse_existing(&typed.folder, &from_agent::NAMES)?;
        let (draft, recorded) = from_agent::draft(typed, line, (environment, names))?;
        let warnings = draft.check()?;
        files::write(&typed.folder, &draft.files)?;
        recorded.keep();
        return Ok((draft, warnings));
    }
    let from_server = typed.from_server.is_some() || typed.url.is_some();
    let names: &[&str] = match (&typed.from_trace, from_server) {
        (None, false) => &starter::NAMES,
        (None, true) => &snapshot::NAMES,
        (Some(_), _) => &from_trace::NAMES,
    };
    // Check for existing files before waiting for a server.
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
fn summary(draft: &Draft, folder: &Path) -> String {
    let place = |name: &str| files::place(folder, name);
    let width = draft.files.iter().map(|file| place(file.name).chars().count()).max().unwrap_or(0);
    let mut out = String::new();
    for file in &draft.files {
        out.push_str(&format!("wrote {:width$}  {}\n", place(file.name), file.what));
    }
    for line in &draft.lines {
        out.push_str(&format!("\n{line}\n"));
    }
    let suite = place(files::SUITE);
    // Only a suite in the current folder is found without its name.
    let named = if suite == files::SUITE {
        String::new()
    } else {
        format!(" {}", rerun_command::path(&suite).unwrap_or_else(|| suite.clone()))
    };
    out.push_str(&format!("\nNext:\n  mcptest run{named}\n  mcptest run{named} --verbose\n"));
    out.push_str(&format!("Then open {suite}: its comments say what to change first.\n"));
    // Paths may contain control characters.
    let lines: Vec<_> = out.lines().map(printable).collect();
    lines.join("\n") + "\n"
}
