//! The style of reports: how much they show, their width and color.
//!
//! Only a terminal affects width and color: files and pipes get the same bytes on every machine.

use std::io::IsTerminal;
use std::path::PathBuf;

use clap::ValueEnum;
use mcptest_core::report::RowVerdict;
use mcptest_runner::file::Trust;

use super::paint;

/// How much the terminal report shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Verbosity {
    /// What is not a pass.
    Quiet,
    /// A line per test on a model and per gate over runs; details of runs that did not pass.
    Normal,
    /// Every row, each check on its own line.
    Verbose,
}

/// When the terminal report has colors.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Color {
    /// On a terminal, unless `NO_COLOR` is set
    Auto,
    /// Also into a pipe
    Always,
    /// Nowhere
    Never,
}

/// Columns of a line in a file or a pipe.
pub(super) const WIDTH: usize = 100;

/// Fewest and most columns of a line on a terminal.
const NARROWEST: usize = 40;
const WIDEST: usize = 140;

/// Where a text is printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Output {
    pub(super) width: usize,
    pub(super) is_colored: bool,
}

impl Output {
    /// A file or a pipe.
    pub(super) const PLAIN: Self = Self { width: WIDTH, is_colored: false };

    /// A terminal of this width, or not a terminal; `set` reads variables that are not empty.
    fn new(terminal: Option<usize>, color: Color, set: &dyn Fn(&str) -> Option<String>) -> Self {
        let is_colored = match color {
            Color::Always => true,
            Color::Never => false,
            Color::Auto => {
                terminal.is_some() && set("NO_COLOR").is_none() && set("TERM").is_none_or(|term| term != "dumb")
            }
        };
        Self { width: terminal.map_or(WIDTH, |columns| columns.clamp(NARROWEST, WIDEST)), is_colored }
    }
}

/// How the reports of one run look.
#[derive(Debug, Clone)]
pub(crate) struct Style {
    pub(super) verbosity: Verbosity,
    /// Standard output; files are always plain.
    pub(super) output: Output,
    /// Where GitHub keeps the summary of a step.
    pub(super) step_summary: Option<PathBuf>,
    /// Whether the folders of the files are trusted.
    pub(super) trust: Trust,
}

impl Style {
    /// The style for this standard output.
    pub(crate) fn new(verbosity: Verbosity, color: Color, environment: &dyn Fn(&str) -> Option<String>) -> Self {
        let terminal = std::io::stdout().is_terminal().then(|| columns().unwrap_or(WIDTH));
        let set = |name: &str| environment(name).filter(|value| !value.is_empty());
        Self {
            verbosity,
            output: Output::new(terminal, color, &set),
            step_summary: set("GITHUB_STEP_SUMMARY").map(PathBuf::from),
            trust: Trust::Trusted,
        }
    }

    pub(crate) fn bold(&self, text: &str) -> String {
        paint::bold(text, self.output.is_colored)
    }

    /// A text in the color of a pass.
    pub(crate) fn good(&self, text: &str) -> String {
        paint::verdict(RowVerdict::Pass, text, self.output.is_colored)
    }

    /// A text in the color of a failure.
    pub(crate) fn bad(&self, text: &str) -> String {
        paint::verdict(RowVerdict::Fail, text, self.output.is_colored)
    }

    /// The same style, for files in untrusted folders.
    pub(crate) fn trusting(self, trust: Trust) -> Self {
        Self { trust, ..self }
    }
}

/// Width of the terminal, if standard output is one.
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
    fn only_terminals_decide_width_and_color() {
        let output = |terminal: Option<usize>, color: Color, variable: Option<(&str, &str)>| {
            let set = |name: &str| variable.filter(|(known, _)| *known == name).map(|(_, value)| value.to_owned());
            let Output { width, is_colored } = Output::new(terminal, color, &set);
            (width, is_colored)
        };
        assert_eq!(output(None, Color::Auto, None), (100, false));
        assert_eq!(output(None, Color::Always, Some(("NO_COLOR", "1"))), (100, true));
        assert_eq!(output(Some(72), Color::Auto, None), (72, true));
        assert_eq!(output(Some(72), Color::Auto, Some(("NO_COLOR", "1"))), (72, false));
        assert_eq!(output(Some(72), Color::Auto, Some(("TERM", "dumb"))), (72, false));
        assert_eq!(output(Some(72), Color::Never, Some(("TERM", "xterm"))), (72, false));
        assert_eq!(output(Some(3), Color::Never, None), (40, false));
        assert_eq!(output(Some(300), Color::Never, None), (140, false));
    }
}
