//! Options of reports, and `mcptest report`.

use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;

use clap::Args;
use clap::builder::TypedValueParser;
use mcptest_core::event::Event;

use super::completed::Completed;
use crate::report::{self, Choice, Color, Verbosity};

/// Reads `NAME` or `NAME=PATH`; shells offer the names.
pub(super) fn reporters() -> impl TypedValueParser<Value = Choice> {
    Completed { reads: Choice::from_str, words: || report::reporters().map(|(name, _)| name).collect() }
}

/// Most characters of the name of a label.
const MAX_LABEL: usize = 40;

/// A fact about a run: `NAME=VALUE`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Label(String, String);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct BadLabel;

impl fmt::Display for BadLabel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "not NAME=VALUE, with a name of at most {MAX_LABEL} letters, digits, `_`, `-` and `.` (hint: commit=1a2b3c4)"
        )
    }
}

impl std::error::Error for BadLabel {}

impl FromStr for Label {
    type Err = BadLabel;

    fn from_str(typed: &str) -> Result<Self, BadLabel> {
        let (name, value) = typed.split_once('=').ok_or(BadLabel)?;
        let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.');
        if name.is_empty() || name.len() > MAX_LABEL || !name.chars().all(is_plain) {
            return Err(BadLabel);
        }
        Ok(Self(name.to_owned(), value.trim().to_owned()))
    }
}

/// What the labels say; the last one of a name counts, and one without a value says nothing.
pub(crate) fn labeled(labels: &[Label]) -> Option<Event> {
    let labels: BTreeMap<String, String> =
        labels.iter().map(|Label(name, value)| (name.clone(), value.clone())).collect();
    let labels: BTreeMap<_, _> = labels.into_iter().filter(|(_, value)| !value.is_empty()).collect();
    (!labels.is_empty()).then_some(Event::Labeled(labels))
}

#[derive(Debug, Args)]
pub(crate) struct Reporting {
    /// pretty for terminals, html for browsers, json and ndjson for tools, junit for CI servers, github
    /// for GitHub Actions, markdown for pull requests; repeatable. Writes to the file PATH or to standard
    /// output.
    /// Default: pretty on standard output, unless another reporter writes there
    #[arg(long, value_name = "NAME[=PATH]", hide_possible_values = true, value_parser = reporters(), verbatim_doc_comment, help_heading = "Reports")]
    pub(crate) reporter: Vec<Choice>,

    /// Metadata of the run, as in `commit=1a2b3c4`; repeatable. The html and markdown reports show it,
    /// json and ndjson save it
    #[arg(long, value_name = "NAME=VALUE", verbatim_doc_comment, help_heading = "Reports")]
    pub(crate) label: Vec<Label>,

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

/// Write reports from a saved run
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
