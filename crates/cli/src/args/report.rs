//! Options of reports, and `mcptest report`.

use std::path::PathBuf;
use std::str::FromStr as _;

use clap::Args;
use clap::builder::TypedValueParser;

use super::completed::Completed;
use crate::report::{self, Choice, Color, Verbosity};

/// Reads `NAME` or `NAME=PATH`; shells offer the names.
pub(super) fn reporters() -> impl TypedValueParser<Value = Choice> {
    Completed { reads: Choice::from_str, words: || report::reporters().map(|(name, _)| name).collect() }
}

#[derive(Debug, Args)]
pub(crate) struct Reporting {
    /// pretty and html for people, json and ndjson for tools, junit for CI servers, github for GitHub
    /// Actions, markdown for pull requests; repeatable. Writes to the file PATH or to standard output.
    /// Default: pretty on standard output, unless another reporter writes there
    #[arg(long, value_name = "NAME[=PATH]", hide_possible_values = true, value_parser = reporters(), verbatim_doc_comment, help_heading = "Reports")]
    pub(crate) reporter: Vec<Choice>,

    /// Compare with older runs, as `mcptest compare` does: a report saved with `--reporter json=PATH`, a
    /// folder of cassettes, or a model baseline. `mcptest run` exits with 1 if tests regressed
    #[arg(long, value_name = "OLD", verbatim_doc_comment, help_heading = "Reports")]
    pub(crate) compare: Option<PathBuf>,

    /// Show every run and every check on its own line
    #[arg(long, short, overrides_with = "verbose", help_heading = "Reports")]
    pub(crate) verbose: bool,

    /// Show only what does not pass
    #[arg(long, short, conflicts_with = "verbose", help_heading = "Reports")]
    pub(crate) quiet: bool,

    /// Colors of the pretty report; auto: on a terminal, unless `NO_COLOR` is set
    #[arg(long, value_enum, value_name = "auto|always|never", default_value_t = Color::Auto, hide_possible_values = true, hide_default_value = true, help_heading = "Reports")]
    pub(crate) color: Color,
}

impl Reporting {
    pub(crate) fn verbosity(&self) -> Verbosity {
        match (self.quiet, self.verbose) {
            (true, _) => Verbosity::Quiet,
            (false, true) => Verbosity::Verbose,
            (false, false) => Verbosity::Normal,
        }
    }
}

/// Make reports from a saved run
///
/// RUN.json was written by `mcptest run --reporter json=RUN.json` or `mcptest score`. Every report is
/// the same, byte for byte, as if the run itself had written it. Nothing is re-evaluated.
#[derive(Debug, Args)]
#[command(
    verbatim_doc_comment,
    after_help = "\
Exit codes: 0 every report was written, regardless of its verdicts, 2 the saved run cannot be read or
a report cannot be written.

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
