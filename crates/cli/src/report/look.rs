//! How reports look: how much they show, how wide they are, with colour or without, and held against what.
//!
//! A terminal has a say in width and colour, and nothing else has: what goes into a file or a pipe is the same bytes on
//! every machine.

use std::io::IsTerminal;
use std::path::PathBuf;

use clap::ValueEnum;
use mcptest_core::report::Baseline;

/// How much the report for people shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Verbosity {
    /// What is not a pass.
    Quiet,
    /// A line per test on a model and per gate over runs; runs that did not pass with all there is to say of them.
    Normal,
    /// Every row, each check on a line of its own.
    Verbose,
}

/// When the report for people has colours.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Colour {
    /// On a terminal, unless `NO_COLOR` is set
    Auto,
    /// Also into a pipe
    Always,
    /// Nowhere
    Never,
}

/// Columns of a line that goes into a file or a pipe.
pub(super) const WIDTH: usize = 100;

/// Fewest and most columns of a line on a terminal: below, nothing can be read; above, nobody wants to.
const NARROWEST: usize = 40;
const WIDEST: usize = 140;

/// What a text is written on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Paper {
    pub(super) width: usize,
    pub(super) is_coloured: bool,
}

impl Paper {
    /// A file or a pipe.
    pub(super) const PLAIN: Self = Self { width: WIDTH, is_coloured: false };
}

/// An older report that this one is held against.
#[derive(Debug, Clone)]
pub(crate) struct Compared {
    /// Its file, as it was typed.
    pub(crate) name: String,
    pub(crate) baseline: Baseline,
}

/// How the reports of one run look.
#[derive(Debug, Clone)]
pub(crate) struct Look {
    pub(super) verbosity: Verbosity,
    /// Standard output; files are always plain.
    pub(super) paper: Paper,
    pub(super) compared: Option<Compared>,
    /// Where GitHub keeps the summary of a step.
    pub(super) step_summary: Option<PathBuf>,
}

impl Look {
    /// A look for whatever standard output is.
    pub(crate) fn new(verbosity: Verbosity, colour: Colour, environment: &dyn Fn(&str) -> Option<String>) -> Self {
        let set = |name: &str| environment(name).filter(|value| !value.is_empty());
        let is_terminal = std::io::stdout().is_terminal();
        let is_coloured = match colour {
            Colour::Always => true,
            Colour::Never => false,
            Colour::Auto => is_terminal && set("NO_COLOR").is_none() && set("TERM").is_none_or(|term| term != "dumb"),
        };
        let width =
            if is_terminal { columns().map_or(WIDTH, |columns| columns.clamp(NARROWEST, WIDEST)) } else { WIDTH };
        Self {
            verbosity,
            paper: Paper { width, is_coloured },
            compared: None,
            step_summary: set("GITHUB_STEP_SUMMARY").map(PathBuf::from),
        }
    }

    /// The same look, held against an older report.
    pub(crate) fn compared_with(mut self, compared: Option<Compared>) -> Self {
        self.compared = compared;
        self
    }
}

/// Columns of the terminal that standard output is.
#[cfg(unix)]
fn columns() -> Option<usize> {
    let size = rustix::termios::tcgetwinsize(std::io::stdout()).ok()?;
    Some(usize::from(size.ws_col)).filter(|columns| *columns > 0)
}

#[cfg(not(unix))]
fn columns() -> Option<usize> {
    None
}
