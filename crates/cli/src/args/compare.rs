//! `mcptest compare` and `mcptest model-baseline`.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};

/// Compare two sets of runs: is NEW worse than OLD, or is it chance?
///
/// OLD and NEW are each a saved report (`mcptest run --reporter json=FILE`), a folder of cassettes, the
/// output of `mcptest score`, or a model baseline. Runs are paired where both sides have runs with the
/// same numbers or IDs; then only runs that changed count (exact McNemar test). Otherwise pass rates are
/// compared (Fisher's exact test). The p-values of tests are adjusted for multiple comparisons (Holm), and
/// a pooled test covers all tests, stratified by test. Results:
///   regressed     worse, with an adjusted or pooled p-value below 0.05
///   improved      better, with an adjusted or pooled p-value below 0.05
///   same          the rates are equal or, with --margin, differ by no more than that
///   inconclusive  there is a difference, but it may be chance
#[derive(Debug, Args)]
#[command(
    verbatim_doc_comment,
    after_help = "\
Cassettes contain no verdicts: --suite judges both sides with the checks of a suite. Without it, only
what the runs did is compared, with --fail-on drift or none. Rates have Wilson intervals at 95 %.
Differences have intervals at 90 %, so that a difference within --margin is significant at 5 % (two
one-sided tests).

Exit codes: 0 nothing that --fail-on names happened, 1 something did, 2 a side cannot be read, or the two
have no test in common, or no test in common has a verdict.

Examples:
  mcptest compare main.json branch.json
  mcptest compare old.jsonl new.jsonl --output markdown
  mcptest compare old/cassettes cassettes --suite tests/weather.yml --fail-on flip
  mcptest compare main.json branch.json --margin 5 --price 3,15"
)]
pub(crate) struct Compare {
    /// The older runs, or - for standard input
    #[arg(value_name = "OLD")]
    pub(crate) old: PathBuf,

    /// The newer runs, or - for standard input
    #[arg(value_name = "NEW")]
    pub(crate) new: PathBuf,

    #[command(flatten)]
    pub(crate) comparing: Comparing,
}

#[derive(Debug, Args)]
pub(crate) struct Comparing {
    /// Judge cassettes by the tests of this suite; repeatable
    #[arg(long, value_name = "FILE")]
    pub(crate) suite: Vec<PathBuf>,

    /// When to exit with 1
    #[arg(long, value_enum, value_name = "WHAT", default_value_t = FailOnChange::Regression)]
    pub(crate) fail_on: FailOnChange,

    /// Largest difference of pass rates that counts as the same, in percentage points
    #[arg(long, value_name = "POINTS", value_parser = margin)]
    pub(crate) margin: Option<f64>,

    /// Price of a million input and output tokens, to compare costs
    #[arg(long, value_name = "INPUT,OUTPUT", value_parser = price)]
    pub(crate) price: Option<(f64, f64)>,

    /// What to print
    #[arg(long, value_enum, value_name = "FORMAT", default_value_t = CompareOutput::Pretty)]
    pub(crate) output: CompareOutput,

    /// Show every test, and everything that drifted
    #[arg(long, short)]
    pub(crate) verbose: bool,
}

/// Record what a model does now, to see later what a new release changed
///
/// A baseline is a small file with the facts of each run: whether it passed, its path, calls, tokens and
/// time, but no message and no argument values. The same runs give the same bytes, so it can be committed.
#[derive(Debug, Args)]
#[command(
    verbatim_doc_comment,
    arg_required_else_help = true,
    subcommand_required = true,
    after_help = "\
Examples:
  mcptest run tests/ --record --reporter json=run.json
  mcptest model-baseline capture 2026-10 run.json
  mcptest model-baseline diff 2026-10 2026-11"
)]
pub(crate) struct ModelBaseline {
    #[command(subcommand)]
    pub(crate) command: ModelBaselineCommand,

    /// Folder of the baselines
    #[arg(long, value_name = "FOLDER", default_value = "baselines", global = true)]
    pub(crate) dir: PathBuf,
}

#[derive(Debug, Subcommand)]
pub(crate) enum ModelBaselineCommand {
    Capture(BaselineCapture),
    Diff(BaselineDiff),
    List(BaselineList),
}

/// Write a baseline from runs
#[derive(Debug, Args)]
#[command(after_help = "\
Exit codes: 0 the baseline was written, 2 the runs cannot be read, or the baseline exists.

Example: mcptest model-baseline capture 2026-10 run.json")]
pub(crate) struct BaselineCapture {
    /// Name of the baseline: letters, digits, `.`, `_` and `-`
    #[arg(value_name = "NAME")]
    pub(crate) name: String,

    /// A saved report, a folder of cassettes, or the output of `mcptest score`
    #[arg(value_name = "RUNS")]
    pub(crate) runs: PathBuf,

    /// Judge cassettes by the tests of this suite; repeatable
    #[arg(long, value_name = "FILE")]
    pub(crate) suite: Vec<PathBuf>,

    /// Replace a baseline of this name
    #[arg(long)]
    pub(crate) force: bool,
}

/// Compare two baselines, model by model
#[derive(Debug, Args)]
#[command(after_help = "\
Exit codes: 0 nothing that --fail-on names happened, 1 something did, 2 a baseline cannot be read, or there
is nothing to compare.

Example: mcptest model-baseline diff 2026-10 2026-11 --fail-on drift")]
pub(crate) struct BaselineDiff {
    /// The older baseline: a name, or a file
    #[arg(value_name = "A")]
    pub(crate) old: PathBuf,

    /// The newer one
    #[arg(value_name = "B")]
    pub(crate) new: PathBuf,

    #[command(flatten)]
    pub(crate) comparing: Comparing,
}

/// List the baselines
#[derive(Debug, Args)]
#[command(after_help = "\
Exit codes: 0 they were listed, 2 one of them cannot be read.

Example: mcptest model-baseline list")]
pub(crate) struct BaselineList {}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum FailOnChange {
    /// Tests pass significantly less often
    Regression,
    /// A run that passed fails, or a gate over runs that passed fails
    Flip,
    /// Anything changed: passes, paths, tools, shapes of arguments, refusals, gates over runs, tests
    Drift,
    /// Nothing
    None,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum CompareOutput {
    /// Text
    Pretty,
    /// One JSON object
    Json,
    /// A comment for pull requests
    Markdown,
    /// A page for browsers
    Html,
}

fn margin(typed: &str) -> Result<f64, BadNumber> {
    typed
        .parse()
        .ok()
        .filter(|points: &f64| *points > 0.0 && *points < 100.0)
        .ok_or(BadNumber("a number above 0 and below 100, as in `5`"))
}

fn price(typed: &str) -> Result<(f64, f64), BadNumber> {
    let number = |text: &str| text.trim().parse().ok().filter(|price: &f64| price.is_finite() && *price >= 0.0);
    typed
        .split_once(',')
        .and_then(|(input, output)| Some((number(input)?, number(output)?)))
        .ok_or(BadNumber("two numbers, as in `3,15`"))
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct BadNumber(&'static str);

impl std::fmt::Display for BadNumber {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "it takes {}", self.0)
    }
}

impl std::error::Error for BadNumber {}
