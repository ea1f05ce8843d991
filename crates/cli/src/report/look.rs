//! How reports look: how much they show, how wide they are, with colour or without, and held against what.
//!
//! A terminal has a say in width and colour, and nothing else has: what goes into a file or a pipe is the same bytes on
//! every machine.

use std::io::IsTerminal;
use std::path::PathBuf;

use clap::ValueEnum;
use mcptest_core::report::Baseline;
use mcptest_runner::file::Trust;

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

    /// A terminal of so many columns, or something else; `set` answers for variables that are not empty.
    fn new(terminal: Option<usize>, colour: Colour, set: &dyn Fn(&str) -> Option<String>) -> Self {
        let is_coloured = match colour {
            Colour::Always => true,
            Colour::Never => false,
            Colour::Auto => {
                terminal.is_some() && set("NO_COLOR").is_none() && set("TERM").is_none_or(|term| term != "dumb")
            }
        };
        Self { width: terminal.map_or(WIDTH, |columns| columns.clamp(NARROWEST, WIDEST)), is_coloured }
    }
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
    /// Who made the folders that files are written into.
    pub(super) trust: Trust,
}

impl Look {
    /// A look for whatever standard output is.
    pub(crate) fn new(verbosity: Verbosity, colour: Colour, environment: &dyn Fn(&str) -> Option<String>) -> Self {
        let terminal = std::io::stdout().is_terminal().then(|| columns().unwrap_or(WIDTH));
        let set = |name: &str| environment(name).filter(|value| !value.is_empty());
        Self {
            verbosity,
            paper: Paper::new(terminal, colour, &set),
            compared: None,
            step_summary: set("GITHUB_STEP_SUMMARY").map(PathBuf::from),
            trust: Trust::Trusted,
        }
    }

    /// The same look, for files in folders of somebody else.
    pub(crate) fn trusting(self, trust: Trust) -> Self {
        Self { trust, ..self }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_terminal_has_a_say_in_width_and_colour_and_nothing_else_has() {
        let paper = |terminal: Option<usize>, colour: Colour, variable: Option<(&str, &str)>| {
            let set = |name: &str| variable.filter(|(known, _)| *known == name).map(|(_, value)| value.to_owned());
            let Paper { width, is_coloured } = Paper::new(terminal, colour, &set);
            (width, is_coloured)
        };
        assert_eq!(paper(None, Colour::Auto, None), (100, false));
        assert_eq!(paper(None, Colour::Always, Some(("NO_COLOR", "1"))), (100, true));
        assert_eq!(paper(Some(72), Colour::Auto, None), (72, true));
        assert_eq!(paper(Some(72), Colour::Auto, Some(("NO_COLOR", "1"))), (72, false));
        assert_eq!(paper(Some(72), Colour::Auto, Some(("TERM", "dumb"))), (72, false));
        assert_eq!(paper(Some(72), Colour::Never, Some(("TERM", "xterm"))), (72, false));
        assert_eq!(paper(Some(3), Colour::Never, None), (40, false));
        assert_eq!(paper(Some(300), Colour::Never, None), (140, false));
    }
}
