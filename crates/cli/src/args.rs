//! What was typed.

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum, value_parser};

use crate::report::{Choice, Verbosity};
use crate::select::{Filter, Partition};

/// Does the recorded execution of an agent hold up?
#[derive(Debug, Parser)]
#[command(
    name = "mcptest",
    version,
    arg_required_else_help = true,
    subcommand_required = true,
    after_help = "\
Commands arrive one by one, each when it is complete.
Exit codes: 0 all is well, 1 a check said no, 2 something is wrong with the input or could not run.

Example: mcptest validate tests/weather.yml"
)]
pub(crate) struct Typed {
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// The commands there are.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    Run(Box<Run>),
    Validate(Validate),
    Schema(Schema),
}

/// Judge the recorded runs of agent tests
///
/// Runs are replayed from their cassettes: no model is asked, and the same files give the same
/// report on every machine. --record makes the cassettes, --live does without them. Tests on
/// scripted models need neither.
#[expect(clippy::struct_excessive_bools, reason = "each is a flag that can be typed by itself")]
#[derive(Debug, Args)]
#[command(
    verbatim_doc_comment,
    after_help = "\
Exit codes: 0 everything holds, 1 a check said no or lacked the evidence to say yes, 2 something
could not run: a wrong suite, a missing cassette, nothing selected, a report that cannot be written.

Examples:
  mcptest run tests/weather.yml
  mcptest run tests/ --tag smoke --filter '/^books/'
  mcptest run tests/ --reporter junit=report.xml --reporter json=report.json
  mcptest run tests/ --partition 1/3
  mcptest run tests/weather.yml --record --models claude-sonnet-4-5"
)]
pub(crate) struct Run {
    /// Suite files, or folders: every .yml and .yaml file in one and below, but for hidden ones;
    /// without any, mcptest.yaml or mcptest.yml in the current folder
    #[arg(value_name = "FILE", verbatim_doc_comment)]
    pub(crate) files: Vec<PathBuf>,

    /// A suite file, as if it stood among the others
    #[arg(long, value_name = "FILE", hide = true)]
    pub(crate) config: Vec<PathBuf>,

    /// Only tests whose name has TEXT in it, or matches a /pattern/; repeatable, one is enough
    #[arg(long, value_name = "TEXT", help_heading = "Selection")]
    pub(crate) filter: Vec<Filter>,

    /// Only tests with this tag; repeatable, one is enough
    #[arg(long, value_name = "TAG", help_heading = "Selection")]
    pub(crate) tag: Vec<String>,

    /// No tests with this tag; repeatable
    #[arg(long, value_name = "TAG", help_heading = "Selection")]
    pub(crate) skip_tag: Vec<String>,

    /// Only on these models, by their names in the suite
    #[arg(long, value_name = "NAME,..", value_delimiter = ',', help_heading = "Selection")]
    pub(crate) models: Vec<String>,

    /// One of several shares, as in 1/3; the name of a test decides in which it is
    #[arg(long, value_name = "I/N", help_heading = "Selection")]
    pub(crate) partition: Option<Partition>,

    /// Show what is selected, and run nothing
    #[arg(long, help_heading = "Selection")]
    pub(crate) list: bool,

    /// Runs of each test, whatever the suite says
    #[arg(long, value_name = "N", value_parser = value_parser!(u64).range(1..))]
    pub(crate) runs: Option<u64>,

    /// Runs at the same time
    #[arg(long, short, value_name = "N", value_parser = value_parser!(u64).range(1..))]
    pub(crate) jobs: Option<u64>,

    /// Stop at the first test that does not pass; the others are skipped
    #[arg(long)]
    pub(crate) fail_fast: bool,

    /// Ask models and call servers, and keep no recording
    #[arg(long)]
    pub(crate) live: bool,

    /// Ask models and call servers, and write the cassettes anew
    #[arg(long, conflicts_with = "live")]
    pub(crate) record: bool,

    /// pretty for people, json for tools, junit for CI servers; repeatable.
    /// Into the file PATH or to standard output, which pretty takes when nobody else does
    #[arg(long, value_name = "NAME[=PATH]", verbatim_doc_comment)]
    pub(crate) reporter: Vec<Choice>,

    /// Show every run and every check on a line of its own
    #[arg(long, short)]
    pub(crate) verbose: bool,

    /// Show only what does not pass
    #[arg(long, short, conflicts_with = "verbose")]
    pub(crate) quiet: bool,
}

impl Run {
    /// How much the report for people shows.
    pub(crate) fn verbosity(&self) -> Verbosity {
        match (self.quiet, self.verbose) {
            (true, _) => Verbosity::Quiet,
            (false, true) => Verbosity::Verbose,
            (false, false) => Verbosity::Normal,
        }
    }
}

/// Check suite files without running anything
///
/// Every mistake of every file is shown at once: its place, its line, and what to do about it.
/// No server is started and no model is asked. Warnings are for what loads but hardly means what
/// it says.
#[derive(Debug, Args)]
#[command(
    verbatim_doc_comment,
    after_help = "\
Exit codes: 0 every file is fine, 2 a file has an error or cannot be read.

Examples:
  mcptest validate tests/weather.yml
  mcptest validate tests/ --deny-warnings
  mcptest validate tests/ --format json
  mcptest validate --gates gates.yml"
)]
pub(crate) struct Validate {
    /// Suite files, or folders: every .yml and .yaml file in one and below, but for hidden ones
    #[arg(required = true, value_name = "FILE")]
    pub(crate) files: Vec<PathBuf>,

    /// How to print what was found
    #[arg(long, value_enum, default_value_t = Format::Human)]
    pub(crate) format: Format,

    /// Count warnings as errors
    #[arg(long)]
    pub(crate) deny_warnings: bool,

    /// The files hold gates without a suite, for traces that were recorded elsewhere
    #[arg(long)]
    pub(crate) gates: bool,
}

/// How findings are printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    /// For people: place, message, line and hint
    Human,
    /// For tools: one JSON object
    Json,
}

/// Print the JSON Schema of a file, for editors
///
/// An editor that knows the schema completes keys and marks mistakes while you type. The schema
/// holds the rules that a schema can say; `mcptest validate` checks the others too.
#[derive(Debug, Args)]
#[command(
    verbatim_doc_comment,
    after_help = "\
Example, for editors that use yaml-language-server:
  mcptest schema > suite.schema.json
  and as the first line of a suite: # yaml-language-server: $schema=suite.schema.json"
)]
pub(crate) struct Schema {
    /// Which file
    #[arg(value_enum, value_name = "suite|gates", default_value_t = Which::Suite)]
    pub(crate) which: Which,
}

/// A file that has a schema.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Which {
    /// A suite: servers, faults, models and agent tests
    Suite,
    /// A gates file: gates and assertions alone
    Gates,
}
