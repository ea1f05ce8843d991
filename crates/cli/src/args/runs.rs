//! `mcptest runs`.

use clap::Args;

/// Compute how many runs a pass rate needs, or how precise N runs make it
///
/// A pass rate from a few runs says little: an agent that passes seven of ten runs often passes three
/// of three. This computes the margin of error in the worst case, a pass rate of 50 %.
#[derive(Debug, Args)]
#[command(
    verbatim_doc_comment,
    after_help = "\
Without arguments it prints a table of common numbers. `reliability.wilson_low` and
`reliability.wilson_high` give the interval of a rate that was measured.

Exit codes: 0 it was computed, 2 a number is out of range.

Examples:
  mcptest runs                                   the margin of error of common numbers of runs
  mcptest runs --half-width 5 --confidence 95    how many runs give +-5 % at 95 %
  mcptest runs --runs 100                        the margin of error of 100 runs"
)]
pub(crate) struct Runs {
    /// Margin of error in percent: above 0, at most 50
    #[arg(long, value_name = "PERCENT", conflicts_with = "count")]
    pub(crate) half_width: Option<f64>,

    /// Number of runs
    #[arg(long = "runs", value_name = "N")]
    pub(crate) count: Option<u64>,

    /// Confidence level: 90, 95 or 99 percent
    #[arg(long, value_name = "PERCENT", default_value_t = 95)]
    pub(crate) confidence: u32,
}
