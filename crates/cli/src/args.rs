//! What was typed.

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};

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
    Validate(Validate),
    Schema(Schema),
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
