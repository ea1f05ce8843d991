//! What can be typed after `mcptest runs`.

use clap::Args;

/// Say how many runs a pass rate needs, or how sure so many make it
///
/// A pass rate from a few runs says little: three of three may well be seven of ten. This says
/// how far the rate may be off, in the worst case, which is a rate of one half.
#[derive(Debug, Args)]
#[command(
    verbatim_doc_comment,
    after_help = "\
Without any argument a table of common numbers is printed. `reliability.wilson_low` and
`reliability.wilson_high` give the interval of a rate that was measured.

Exit codes: 0 it was computed, 2 a number is out of range.

Examples:
  mcptest runs                                   how far off common numbers of runs may be
  mcptest runs --half-width 5 --confidence 95    how many runs give +-5 % at 95 %
  mcptest runs --runs 100                        what 100 runs give"
)]
pub(crate) struct Runs {
    /// How far the rate may be off, in percent: above 0, at most 50
    #[arg(long, value_name = "PERCENT", conflicts_with = "count")]
    pub(crate) half_width: Option<f64>,

    /// How many runs there are
    #[arg(long = "runs", value_name = "N")]
    pub(crate) count: Option<u64>,

    /// How sure to be: 90, 95 or 99 percent
    #[arg(long, value_name = "PERCENT", default_value_t = 95)]
    pub(crate) confidence: u32,
}
