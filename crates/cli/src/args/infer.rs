//! `mcptest infer`.

use std::path::PathBuf;

use clap::Args;
use mcptest_core::Target;

use super::score::{GroupKey, ReadingArgs};

/// Write gates from runs that are known to be good
///
/// Reads traces of any format that `mcptest score` reads, and prints a gates file that all good runs
/// pass. Each line ends with its evidence. The gates require what all runs have in common: calls that
/// change something, their arguments and status, the order of calls, and no other changes. What varies
/// is not checked. From a single run, only shapes are required: which calls, arguments of which types,
/// which status. With groups, every group becomes a task in the file. Without --outcome, all runs count
/// as good.
///
/// Every line was checked against the runs it comes from. Review the file before you use it: it
/// describes what the runs did, and only you know what they should do.
#[derive(Debug, Args)]
#[command(
    verbatim_doc_comment,
    after_help = "\
Exit codes: 0 gates were written, 2 there is no good run to infer from, or a record or a file could
not be read; gates are still inferred from the others.

Examples:
  mcptest infer good-run.jsonl
  mcptest infer results.json --group-by task_id --outcome reward --outcome-pass 1 --out gates.yml
  mcptest infer runs/ --group-by '{folder[-1]}'"
)]
pub(crate) struct Infer {
    /// Files, folders, or - for standard input
    #[arg(required = true, value_name = "INPUT")]
    pub(crate) inputs: Vec<PathBuf>,

    /// Path in a record to the name of its task, as in `task_id`; or a part of its input: {file},
    /// {stem}, {folder[0]} for the first folder of the path, {folder[-1]} for the last
    #[arg(long, value_name = "PATH", verbatim_doc_comment)]
    pub(crate) group_by: Option<GroupKey>,

    /// Path in a record to the outcome of its run. Only runs that passed are used
    #[arg(long, value_name = "PATH", requires = "outcome_pass")]
    pub(crate) outcome: Option<Target>,

    /// The value at --outcome that means pass, as JSON or as text
    #[arg(long, value_name = "VALUE", requires = "outcome")]
    pub(crate) outcome_pass: Option<String>,

    /// Also require calls that change nothing, if every good run makes them
    #[arg(long)]
    pub(crate) lookups: bool,

    /// Write the gates to this file, which must not exist. Default: standard output
    #[arg(long, value_name = "FILE")]
    pub(crate) out: Option<PathBuf>,

    #[command(flatten)]
    pub(crate) reading: ReadingArgs,

    /// Show how the format of each input was detected
    #[arg(long, short)]
    pub(crate) verbose: bool,
}
