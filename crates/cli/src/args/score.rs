//! `mcptest score` and `mcptest convert`.

use std::path::PathBuf;
use std::str::FromStr;

use clap::{Args, ValueEnum, value_parser};
use mcptest_core::Target;
use mcptest_core::diag::suggest;
use mcptest_core::import;
use mcptest_core::score::{RecordKey, RecordKeyError};

use super::MAX_JOBS;
use super::completed::Completed;
use super::report::{Label, reporters};
use crate::report::Choice;

/// Check traces that other tools recorded
///
/// Reads every record of every input as a trace and scores it. Prints one line per trace to standard
/// output, in the order of the input, then one per group of runs, and a summary to standard error. The
/// lines are text on a terminal, and JSON in a pipe or a file. No model is called. Traces are not kept
/// in memory, so inputs may have any size.
///
/// Inputs are files, folders (every .json, .jsonl, .ndjson and .binpb file in it and below, also
/// compressed as .gz or .zst, and every .eval and .traj file) and - for standard input, compressed or
/// not. They are JSON Lines, JSON lists, concatenated JSON documents, or OpenTelemetry protobuf.
#[derive(Debug, Args)]
#[command(
    verbatim_doc_comment,
    after_help = score_help()
)]
pub(crate) struct Score {
    /// Files, folders, or - for standard input
    #[arg(required = true, value_name = "INPUT")]
    pub(crate) inputs: Vec<PathBuf>,

    /// File with gates and `expect:`, for all traces or, in `tasks:`, for some of them. Without it, metrics
    /// that need no parameters are computed, and nothing is judged
    #[arg(long, value_name = "FILE", verbatim_doc_comment)]
    pub(crate) gates: Option<PathBuf>,

    #[command(flatten)]
    pub(crate) reading: ReadingArgs,

    /// Path in a record to the name of the group of runs it belongs to, as in `task_id`; or a part of
    /// its input: {file}, {stem}, {folder[0]} for the first folder of the path, {folder[-1]} for the last
    #[arg(long, value_name = "PATH", verbatim_doc_comment)]
    pub(crate) group_by: Option<GroupKey>,

    /// Path in a record to the outcome of its run; in groups it replaces the verdict of the gates
    #[arg(long, value_name = "PATH", requires = "outcome_pass")]
    pub(crate) outcome: Option<Target>,

    /// The value at --outcome that means pass, as JSON or as text
    #[arg(long, value_name = "VALUE", requires = "outcome")]
    pub(crate) outcome_pass: Option<String>,

    /// What to print on standard output. Default: pretty on a terminal, otherwise jsonl
    #[arg(long, value_enum)]
    pub(crate) output: Option<Output>,

    /// Report as `mcptest run` does, with any of its reporters; repeatable. Keeps all traces in memory
    #[arg(long, value_name = "NAME[=PATH]", hide_possible_values = true, value_parser = reporters(), requires = "gates", conflicts_with = "merge")]
    pub(crate) reporter: Vec<Choice>,

    /// Metadata of the run for its reports, such as `commit=1a2b3c4`; repeatable
    #[arg(long, value_name = "NAME=VALUE", requires = "reporter")]
    pub(crate) label: Vec<Label>,

    /// Pass inconclusive groups, which have too few runs to decide: exit with 0 instead of 1
    #[arg(long)]
    pub(crate) allow_inconclusive: bool,

    /// Merge the outputs of this command for parts of a corpus. Groups are re-evaluated as a whole,
    /// from the runs in their lines. Needs the same --gates and --outcome as the parts
    #[arg(long, verbatim_doc_comment, conflicts_with_all = ["group_by", "from", "server_prefix"])]
    pub(crate) merge: bool,

    /// Show how the format of each input was detected
    #[arg(long, short)]
    pub(crate) verbose: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Output {
    /// Text: a line per trace and group, and why some did not pass
    Pretty,
    /// One JSON object per line
    Jsonl,
    /// Nothing: only the summary and the exit code
    None,
}

#[derive(Debug, Args)]
pub(crate) struct ReadingArgs {
    /// Format of all inputs; auto detects the format of each
    #[arg(long, value_name = "FORMAT", default_value = "auto", hide_possible_values = true,
        value_parser = Completed { reads: format, words: formats })]
    pub(crate) from: From,

    /// Prefix of tool names that identifies their server, as in `mail_` or `m.=mail`; repeatable.
    /// Default: `mcp__mail__send` and `mail__send` are `send` of `mail`; `none` keeps names whole
    #[arg(long, value_name = "PREFIX[=SERVER]", verbatim_doc_comment)]
    pub(crate) server_prefix: Vec<String>,

    /// Size limit of a record, in MiB
    #[arg(long, value_name = "MIB", default_value_t = 64, value_parser = value_parser!(u64).range(1..=4096))]
    pub(crate) max_record: u64,

    /// Worker threads. Default: the number of processors, at most 32
    #[arg(long, short, value_name = "N", value_parser = value_parser!(u16).range(1..=MAX_JOBS))]
    pub(crate) jobs: Option<u16>,
}

impl ReadingArgs {
    /// Most bytes of one record.
    pub(crate) fn max_record_bytes(&self) -> usize {
        usize::try_from(self.max_record << 20).unwrap_or(usize::MAX)
    }
}

/// What names the group of a record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct GroupKey(pub(crate) RecordKey);

impl FromStr for GroupKey {
    type Err = RecordKeyError;

    fn from_str(typed: &str) -> Result<Self, RecordKeyError> {
        match RecordKey::parse(typed)? {
            // `{group}` would refer to itself.
            RecordKey::Group => Err(RecordKeyError::Part(typed.to_owned())),
            key => Ok(Self(key)),
        }
    }
}

/// The requested format; none for `auto`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct From(pub(crate) Option<import::Format>);

/// What follows the options in the help of `mcptest score`.
fn score_help() -> String {
    let line = |format: &import::Format| format!("  {:<17} {}\n", format.as_str(), format.about());
    let formats: String = import::Format::ALL.iter().map(line).collect();
    format!("Formats:\n{formats}\n{SCORE_NOTES}")
}

const SCORE_NOTES: &str = "\
Exit codes: 0 everything passed or nothing was judged, 1 a check failed or lacked the evidence to
pass, 2 a record or a file could not be read; the others are still scored.

Examples:
  mcptest score traces.jsonl
  mcptest score traces/ --gates gates.yml
  mcptest score results.json --group-by task_id --outcome reward --outcome-pass 1
  fetch-traces | mcptest score - --gates gates.yml --output none
  mcptest score --merge part-1.jsonl part-2.jsonl --gates gates.yml";

/// The words that `--from` takes.
fn formats() -> Vec<&'static str> {
    std::iter::once("auto").chain(import::Format::ALL.iter().map(|format| format.as_str())).collect()
}

/// Reads the name of a format.
fn format(typed: &str) -> Result<From, UnknownFormat> {
    match typed {
        "auto" => Ok(From(None)),
        _ => import::Format::from_word(typed)
            .map(|format| From(Some(format)))
            .ok_or_else(|| UnknownFormat(typed.to_owned())),
    }
}

/// A format that is not known.
#[derive(Debug, Clone, PartialEq, Eq)]
struct UnknownFormat(String);

impl std::fmt::Display for UnknownFormat {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&suggest(&self.0, formats()))
    }
}

impl std::error::Error for UnknownFormat {}

/// Convert traces of other tools to envelopes
///
/// Prints one JSON object per trace, in the order of the input, with the `id` of the trace. It shows
/// how a recording is read, and `mcptest score` reads it like any other format. Inputs and
/// formats are the same as for `mcptest score`.
#[derive(Debug, Args)]
#[command(
    verbatim_doc_comment,
    after_help = "\
Exit codes: 0 every record was converted, 2 a record or a file could not be read; the others are
still converted.

Examples:
  mcptest convert session.jsonl > trace.jsonl
  mcptest convert spans/ --from otlp --group-by trace_id > traces.jsonl"
)]
pub(crate) struct Convert {
    /// Files, folders, or - for standard input
    #[arg(required = true, value_name = "INPUT")]
    pub(crate) inputs: Vec<PathBuf>,

    #[command(flatten)]
    pub(crate) reading: ReadingArgs,

    /// Path in a record to the name of its group of runs, which is written as `group`
    #[arg(long, value_name = "PATH", verbatim_doc_comment)]
    pub(crate) group_by: Option<GroupKey>,

    /// Show how the format of each input was detected
    #[arg(long, short)]
    pub(crate) verbose: bool,
}
