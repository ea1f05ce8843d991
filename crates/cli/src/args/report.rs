//! What was typed about reports: which, how they look, and which saved run they are made of.

use std::path::PathBuf;
use std::str::FromStr as _;

use clap::Args;
use clap::builder::TypedValueParser;

use super::completed::Completed;
use crate::report::{self, Choice, Colour, Verbosity};

/// Reads `NAME` or `NAME=PATH`; shells offer the names.
pub(super) fn reporters() -> impl TypedValueParser<Value = Choice> {
    Completed { reads: Choice::from_str, words: || report::reporters().map(|(name, _)| name).collect() }
}

/// Which reports are made, and how they look.
#[derive(Debug, Args)]
pub(crate) struct Reporting {
    /// pretty and html for people, json and ndjson for tools, junit for CI servers, github for GitHub
    /// Actions, markdown for pull requests; repeatable. Into the file PATH or to standard output, which
    /// pretty takes when nobody else does
    #[arg(long, value_name = "NAME[=PATH]", hide_possible_values = true, value_parser = reporters(), verbatim_doc_comment, help_heading = "Reports")]
    pub(crate) reporter: Vec<Choice>,

    /// Say what flipped since an older report, which `--reporter json=PATH` wrote
    #[arg(long, value_name = "OLD.json", help_heading = "Reports")]
    pub(crate) compare: Option<PathBuf>,

    /// Show every run and every check on a line of its own
    #[arg(long, short, overrides_with = "verbose", help_heading = "Reports")]
    pub(crate) verbose: bool,

    /// Show only what does not pass
    #[arg(long, short, conflicts_with = "verbose", help_heading = "Reports")]
    pub(crate) quiet: bool,

    /// Colours in what pretty prints; auto: on a terminal, unless `NO_COLOR` is set
    #[arg(long, value_enum, value_name = "auto|always|never", default_value_t = Colour::Auto, hide_possible_values = true, hide_default_value = true, help_heading = "Reports")]
    pub(crate) color: Colour,
}

impl Reporting {
    /// How much the report for people shows.
    pub(crate) fn verbosity(&self) -> Verbosity {
        match (self.quiet, self.verbose) {
            (true, _) => Verbosity::Quiet,
            (false, true) => Verbosity::Verbose,
            (false, false) => Verbosity::Normal,
        }
    }
}

/// Make reports of a saved run again
///
/// RUN.json is what `mcptest run --reporter json=RUN.json` or `mcptest score` wrote. Every report comes
/// out as the run itself would have written it, byte for byte. Nothing is judged anew.
#[derive(Debug, Args)]
#[command(
    verbatim_doc_comment,
    after_help = "\
Exit codes: 0 every report was written, whatever it says, 2 the saved run cannot be read or a report
cannot be written.

Examples:
  mcptest report run.json
  mcptest report run.json --reporter junit=report.xml --reporter markdown=comment.md
  mcptest report run.json --reporter markdown --compare main.json"
)]
pub(crate) struct Render {
    /// The saved run, or - for standard input
    #[arg(value_name = "RUN.json")]
    pub(crate) run: PathBuf,

    #[command(flatten)]
    pub(crate) reporting: Reporting,
}
