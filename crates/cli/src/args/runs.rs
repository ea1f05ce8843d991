//! `mcptest runs`.

use clap::{Args, ValueEnum};

/// Compute how many runs a pass rate needs, or how precise N runs make it
///
/// A pass rate from a few runs says little: an agent that passes seven of ten runs often passes three
/// of three. This computes the margin of error in the worst case, a pass rate of 50 %. With --at-least
/// it computes how many runs show a pass rate, and how likely a better agent is to show it.
#[derive(Debug, Args)]
#[command(
    verbatim_doc_comment,
    after_help = "\
Without arguments it prints a table of common numbers. `reliability.wilson_low` and
`reliability.wilson_high` give the interval of a rate that was measured.

Exit codes: 0 the numbers were computed, 2 a number is out of range.

Examples:
  mcptest runs                                   the margin of error of common numbers of runs
  mcptest runs --half-width 5 --confidence 95    how many runs give +-5 % at 95 %
  mcptest runs --runs 100                        the margin of error of 100 runs
  mcptest runs --at-least 90                     how many straight passes show a rate of 90 %
  mcptest runs --at-least 90 --stop settled      the same for runs that stop once it is decided
  mcptest runs --at-least 90 --runs 60 --rate 97    what 60 runs show of an agent that passes 97 %"
)]
pub(crate) struct Runs {
    /// Margin of error in percent: above 0, at most 50
    #[arg(long, value_name = "PERCENT", conflicts_with_all = ["count", "at_least"])]
    pub(crate) half_width: Option<f64>,

    /// Number of runs
    #[arg(long = "runs", value_name = "N")]
    pub(crate) count: Option<u64>,

    /// Pass rate to show, in percent: above 0 and below 100
    #[arg(long, value_name = "PERCENT")]
    pub(crate) at_least: Option<f64>,

    /// settled: runs stop as soon as they show or refute --at-least; --runs is their maximum
    #[arg(long, value_name = "settled", value_enum, requires = "at_least", hide_possible_values = true)]
    pub(crate) stop: Option<StopRule>,

    /// True pass rate of the agent to plan for, in percent. Default: halfway from --at-least to 100
    #[arg(long, value_name = "PERCENT", requires = "at_least")]
    pub(crate) rate: Option<f64>,

    /// Confidence level: 90, 95 or 99 percent
    #[arg(long, value_name = "PERCENT", default_value_t = 95)]
    pub(crate) confidence: u32,
}

/// When runs stop.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum StopRule {
    /// When `reliability` is settled
    Settled,
}
