//! The command line: every command, option and help text.

mod compare;
mod completed;
mod explain;
mod infer;
mod init;
mod mutate;
mod record;
mod report;
mod runs;
mod score;
mod serve;

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum, value_parser};
use mcptest_core::suite::MAX_RUNS;

pub(crate) use self::compare::{
    BaselineCapture, BaselineDiff, Compare, CompareOutput, Comparing, FailOnChange, ModelBaseline, ModelBaselineCommand,
};
pub(crate) use self::explain::{Completions, Explain};
pub(crate) use self::infer::Infer;
pub(crate) use self::init::Init;
pub(crate) use self::mutate::{FailOn, Mutate, MutateOutput};
pub(crate) use self::record::{ModelSide, Record};
pub(crate) use self::report::{Render, Reporting, labeled};
pub(crate) use self::runs::Runs;
pub(crate) use self::score::{Convert, Output, ReadingArgs, Score};
pub(crate) use self::serve::ServeJson;
use crate::select::{Filter, Partition};

/// Most runs at the same time: each is a thread, and the processes of its servers.
const MAX_JOBS: i64 = 1000;

/// Test what AI agents did: record their runs once, check them in CI without a model
#[derive(Debug, Parser)]
#[command(
    name = "mcptest",
    version,
    arg_required_else_help = true,
    subcommand_required = true,
    after_help = "\
Where to start:
  mcptest init                  write a first suite that passes, with a scripted model and no API key
  mcptest run                   replay and check the recorded runs of suites; --record records them
  mcptest score traces.jsonl    check traces that another tool recorded
  mcptest explain WHAT          explain a term, a path or the code of a message: stale-cassette

Exit codes: 0 everything passed, 1 a check failed, 2 the input is wrong or something could not run.

Example: mcptest run tests/weather.yml"
)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    Init(Init),
    Run(Box<Run>),
    Record(Record),
    Validate(Validate),
    Explain(Explain),
    Cassette(Cassette),
    Report(Render),
    Compare(Compare),
    ModelBaseline(ModelBaseline),
    Score(Box<Score>),
    Convert(Convert),
    Infer(Box<Infer>),
    Mutate(Box<Mutate>),
    Mock(Mock),
    Shim(Shim),
    ServeJson(ServeJson),
    Runs(Runs),
    Schema(Schema),
    Completions(Completions),
}

/// Run agent tests by replaying their recorded runs
///
/// Replays recorded runs (cassettes) and checks them. No model is called, and the same files give
/// the same report on every machine. --record records the runs, --live runs without recording.
/// Tests with scripted models need neither.
#[expect(clippy::struct_excessive_bools, reason = "each is a flag that can be typed by itself")]
#[derive(Debug, Args)]
#[command(
    verbatim_doc_comment,
    after_help = "\
Exit codes: 0 every test passed, 1 a check failed or lacked the runs or evidence to pass, 2 something
could not run: an invalid suite, a missing cassette, nothing selected, a report that cannot be written.
`mcptest explain CODE` explains the code of an error, such as `stale-cassette`.

Examples:
  mcptest run tests/weather.yml
  mcptest run tests/ --tag smoke --filter '/^books/'
  mcptest run tests/ --reporter junit=report.xml --reporter json=report.json
  mcptest run tests/ --partition 1/3
  mcptest run tests/weather.yml --record --models claude-sonnet-4-5"
)]
pub(crate) struct Run {
    /// Suite files or folders. A folder means every suite in it and below, except hidden ones.
    /// Default: mcptest.yaml or mcptest.yml in the current folder
    #[arg(value_name = "FILE", verbatim_doc_comment)]
    pub(crate) files: Vec<PathBuf>,

    /// A suite file, the same as FILE; repeatable
    #[arg(long, value_name = "FILE")]
    pub(crate) config: Vec<PathBuf>,

    /// Only tests whose name contains TEXT or matches a /pattern/; repeatable, any may match
    #[arg(long, value_name = "TEXT", help_heading = "Selection")]
    pub(crate) filter: Vec<Filter>,

    /// Only tests with this tag; repeatable, any may match
    #[arg(long, value_name = "TAG", help_heading = "Selection")]
    pub(crate) tag: Vec<String>,

    /// Skip tests with this tag; repeatable
    #[arg(long, value_name = "TAG", help_heading = "Selection")]
    pub(crate) skip_tag: Vec<String>,

    /// Only these models, by their names in the suite
    #[arg(long, value_name = "NAME,..", value_delimiter = ',', help_heading = "Selection")]
    pub(crate) models: Vec<String>,

    /// Run one of N parts, as in 1/3; the name of a test determines its part
    #[arg(long, value_name = "I/N", help_heading = "Selection")]
    pub(crate) partition: Option<Partition>,

    /// List the selected tests without running them
    #[arg(
        long,
        value_name = "FORMAT",
        value_enum,
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "human",
        help_heading = "Selection"
    )]
    pub(crate) list: Option<Format>,

    /// Number of runs of each test; overrides the suite
    #[arg(long, value_name = "N", value_parser = value_parser!(u64).range(1..=MAX_RUNS))]
    pub(crate) runs: Option<u64>,

    /// Number of runs at the same time. Default: the number of processors, at most 8
    #[arg(long, short, value_name = "N", value_parser = value_parser!(u16).range(1..=MAX_JOBS))]
    pub(crate) jobs: Option<u16>,

    /// Stop at the first test that does not pass, and skip the others
    #[arg(long)]
    pub(crate) fail_fast: bool,

    /// Pass inconclusive tests, which have too few runs to decide: exit with 0 instead of 1
    #[arg(long)]
    pub(crate) allow_inconclusive: bool,

    /// Call models and servers without recording
    #[arg(long)]
    pub(crate) live: bool,

    /// Call models and servers, and record the runs
    #[arg(long, conflicts_with = "live")]
    pub(crate) record: bool,

    /// Run programs again offline, with the recorded answers of their model and servers. A request
    /// that was not recorded is an error. Other tests are replayed
    #[arg(long, conflicts_with_all = ["live", "record"], verbatim_doc_comment)]
    pub(crate) rerun: bool,

    /// What to do when a program diverges from its recording: report an error, or judge what it did
    /// before that
    #[arg(long, value_name = "WHAT", requires = "rerun", value_enum, default_value_t, verbatim_doc_comment)]
    pub(crate) on_divergence: OnDivergence,

    /// Where --rerun gets tool results from: the recording, or the real servers
    #[arg(long, value_name = "FROM", requires = "rerun", value_enum, default_value_t)]
    pub(crate) tools: Tools,

    /// Replay suites from people you do not trust: start no process, open no connection, read no
    /// file outside the suite's folder, follow no symbolic link, do not read the environment.
    /// A test that needs one of these is an error
    #[arg(long, conflicts_with_all = ["live", "record", "rerun"], verbatim_doc_comment)]
    pub(crate) untrusted: bool,

    /// Stop calling models before all calls together could exceed N tokens
    #[arg(long, value_name = "N", value_parser = value_parser!(u64).range(1..))]
    pub(crate) max_tokens_total: Option<u64>,

    /// Stop calling models before they could cost more than AMOUNT, by the prices in the suite
    #[arg(long, value_name = "AMOUNT", value_parser = amount)]
    pub(crate) max_cost: Option<f64>,

    #[command(flatten)]
    pub(crate) reporting: Reporting,
}

fn amount(typed: &str) -> Result<f64, BadAmount> {
    typed.parse().ok().filter(|amount: &f64| amount.is_finite() && *amount > 0.0).ok_or(BadAmount)
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct BadAmount;

impl std::fmt::Display for BadAmount {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("it takes a number above 0, as in `2.50`")
    }
}

impl std::error::Error for BadAmount {}

/// List, inspect and prune recorded runs
#[derive(Debug, Args)]
#[command(
    arg_required_else_help = true,
    subcommand_required = true,
    after_help = "\
The cassettes of tests/weather.yml are in tests/cassettes/weather/, in a folder for each test and
each model, one file per run. `mcptest run --record` writes them.

Example: mcptest cassette list tests/"
)]
pub(crate) struct Cassette {
    #[command(subcommand)]
    pub(crate) command: CassetteCommand,
}

#[derive(Debug, Subcommand)]
pub(crate) enum CassetteCommand {
    List(CassetteList),
    Show(CassetteShow),
    Accept(CassetteAccept),
    Rename(CassetteRename),
    Prune(CassettePrune),
    Scan(CassetteScan),
}

/// List the cassettes of suites and their state
///
/// Each cassette is one line:
///   ok       it can be replayed
///   edited   it can be replayed; it was edited, and the edit was accepted
///   old      it can be replayed; its format does not detect edits
///   stale    the suite changed since it was recorded
///   broken   it cannot be read, is of another run, or was edited
///   unused   no test replays it
///   unknown  its state cannot be determined, because the script of its model is invalid
///   missing  a run was not recorded
/// Tests with scripted models need no cassettes. Once one run is recorded, all must be.
#[derive(Debug, Args)]
#[command(
    verbatim_doc_comment,
    after_help = "\
Exit codes: 0 every needed cassette can be replayed, 1 something is stale or missing, 2 something
is broken or unknown, or a suite is invalid.

Examples:
  mcptest cassette list tests/weather.yml
  mcptest cassette list tests/ --format json"
)]
pub(crate) struct CassetteList {
    /// Suite files or folders. A folder means every suite in it and below, except hidden ones.
    /// Default: mcptest.yaml or mcptest.yml in the current folder
    #[arg(value_name = "FILE", verbatim_doc_comment)]
    pub(crate) files: Vec<PathBuf>,

    /// Output format
    #[arg(long, value_enum, default_value_t = Format::Human)]
    pub(crate) format: Format,
}

/// Show the content of a cassette
///
/// Shows the prompt, every call with its arguments and its result, the injected faults, and how the
/// run ended. Long values are truncated; the file has them in full.
#[derive(Debug, Args)]
#[command(
    verbatim_doc_comment,
    after_help = "\
Exit codes: 0 every file was shown, 2 a file cannot be read or is not a cassette.

Example: mcptest cassette show tests/cassettes/weather/looks-it-up-0a1b2c3d/demo/1.json"
)]
pub(crate) struct CassetteShow {
    /// Cassettes
    #[arg(required = true, value_name = "FILE")]
    pub(crate) files: Vec<PathBuf>,
}

/// Accept edited cassettes
///
/// A cassette that was edited after recording is an error, because it no longer shows what a run
/// did. Once the edit is accepted, it replays again, and reports say `edited` until the run is
/// re-recorded. A cassette of format version 1 counts as edited, because it has no digest.
/// Inconsistent files, such as one whose final response is in no turn, cannot be accepted.
#[derive(Debug, Args)]
#[command(
    verbatim_doc_comment,
    after_help = "\
Exit codes: 0 the cassettes can be replayed, 2 one cannot be read or written.

Examples:
  mcptest cassette accept cassettes/booking/books-a-seat-b7b80f1d/gpt-5/1.json
                                            accept the edits of this run"
)]
pub(crate) struct CassetteAccept {
    /// Cassettes
    #[arg(required = true, value_name = "FILE")]
    pub(crate) files: Vec<PathBuf>,
}

/// Keep the cassettes of a test that was renamed
///
/// Rename the test in the suite first. Its recordings are then moved to the folder of the new name.
/// Their content does not change, so they do not count as edited. Recordings of the new name are not
/// overwritten.
#[derive(Debug, Args)]
#[command(
    verbatim_doc_comment,
    after_help = "\
Exit codes: 0 the cassettes were moved, 2 they were not.

Examples:
  mcptest cassette rename tests/booking.yml 'books a seat' 'books one seat'
                                            the test is now called `books one seat`"
)]
pub(crate) struct CassetteRename {
    /// The suite
    #[arg(value_name = "SUITE")]
    pub(crate) file: PathBuf,

    /// The name the test had when it was recorded
    #[arg(value_name = "OLD")]
    pub(crate) old: String,

    /// The name it has in the suite now
    #[arg(value_name = "NEW")]
    pub(crate) new: String,
}

/// Remove cassettes that no test replays
///
/// Without --yes it only shows what it would remove. It leaves the cassettes of invalid suites alone,
/// and every file that recording did not write or that is behind a symbolic link. Remove the folders
/// of deleted suites by hand.
#[derive(Debug, Args)]
#[command(
    verbatim_doc_comment,
    after_help = "\
Exit codes: 0 no unused cassette is left, or they were shown, 2 a suite is invalid, or something
could not be removed.

Examples:
  mcptest cassette prune tests/
  mcptest cassette prune tests/ --yes"
)]
pub(crate) struct CassettePrune {
    /// Suite files or folders. A folder means every suite in it and below, except hidden ones.
    /// Default: mcptest.yaml or mcptest.yml in the current folder
    #[arg(value_name = "FILE", verbatim_doc_comment)]
    pub(crate) files: Vec<PathBuf>,

    /// Remove them
    #[arg(long)]
    pub(crate) yes: bool,
}

/// Search recordings and saved reports for secrets
///
/// Recording redacts secrets. Older recordings, and files that other tools wrote or edited, may contain
/// some. This searches for text that looks like a key or a token, and for the values of the
/// variables that suites name. A suite means its cassettes; a folder means every .json, .jsonl,
/// .ndjson, .xml, .html and .md file in it and below, and the variables of the suites there. Each
/// finding is a line with its location and the redacted text. The secret itself is never printed.
#[derive(Debug, Args)]
#[command(
    verbatim_doc_comment,
    after_help = "\
Exit codes: 0 nothing was found, 1 a secret was found, 2 something cannot be read.

Examples:
  mcptest cassette scan tests/
  mcptest cassette scan tests/weather.yml report.json
  mcptest cassette scan tests/ --format json"
)]
pub(crate) struct CassetteScan {
    /// Suites, recordings, reports, or folders; without any, mcptest.yaml or mcptest.yml in the
    /// current folder
    #[arg(value_name = "FILE", verbatim_doc_comment)]
    pub(crate) files: Vec<PathBuf>,

    /// Output format
    #[arg(long, value_enum, default_value_t = Format::Human)]
    pub(crate) format: Format,
}

/// Check suites, gates, scripts and mock servers without running anything
///
/// Reports all errors in all files at once, with their location and a fix. A file with `script:` at
/// its root is a script, one with `mock_server:` a mock server, one with gates and no tests a gates
/// file for `mcptest score`, any other a suite. No server is started and no model is called. Warnings
/// mark files that load but probably do not check what you meant.
#[derive(Debug, Args)]
#[command(
    verbatim_doc_comment,
    after_help = "\
Exit codes: 0 every file is valid, 2 a file has an error or cannot be read.

Examples:
  mcptest validate tests/weather.yml
  mcptest validate tests/ --deny-warnings
  mcptest validate tests/ --format json
  mcptest validate --gates gates.yml"
)]
pub(crate) struct Validate {
    /// Files or folders. A folder means every .yml and .yaml file in it and below, except hidden
    /// ones. Default: mcptest.yaml or mcptest.yml in the current folder
    #[arg(value_name = "FILE", verbatim_doc_comment)]
    pub(crate) files: Vec<PathBuf>,

    /// Output format
    #[arg(long, value_enum, default_value_t = Format::Human)]
    pub(crate) format: Format,

    /// Count warnings as errors
    #[arg(long)]
    pub(crate) deny_warnings: bool,

    /// Treat every file as a gates file
    #[arg(long)]
    pub(crate) gates: bool,

    /// Check suites from people you do not trust: read no script outside the suite's folder, follow
    /// no symbolic link, do not read the environment
    #[arg(long, conflicts_with = "gates", verbatim_doc_comment)]
    pub(crate) untrusted: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    /// Text
    Human,
    /// One JSON object
    Json,
}

/// Connect a stdio-only client to a server that is being recorded
///
/// `mcptest record` writes a file for each server and names this command in the configuration at
/// `MCPTEST_MCP_CONFIG_STDIO`. The client starts it like the server itself. It copies standard input
/// and output to the recording, and ends when either side ends.
#[derive(Debug, Args)]
#[command(
    verbatim_doc_comment,
    after_help = "\
Exit codes: 0 one side ended, 2 the recording cannot be reached or the server cannot be started.

Example: mcptest shim /tmp/mcptest-0a1b2c3d/shop.shim.json"
)]
pub(crate) struct Shim {
    /// The file that `mcptest record` wrote
    #[arg(value_name = "FILE")]
    pub(crate) file: PathBuf,
}

/// Print the JSON Schema of a file, for editors
///
/// With the schema, an editor completes keys and marks mistakes while you type. `mcptest validate`
/// also checks the rules that a schema cannot express.
#[derive(Debug, Args)]
#[command(
    verbatim_doc_comment,
    after_help = "\
Example, for editors that use yaml-language-server:
  mcptest schema > suite.schema.json
  and as the first line of a suite: # yaml-language-server: $schema=suite.schema.json"
)]
pub(crate) struct Schema {
    /// The kind of file
    #[arg(value_enum, value_name = "suite|gates|script|mock|report", default_value_t = Which::Suite)]
    pub(crate) which: Which,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Which {
    /// A suite: servers, faults, models and agent tests
    Suite,
    /// A gates file: gates and assertions alone
    Gates,
    /// A script: the replies of a scripted model
    Script,
    /// A file of `mcptest mock`: a server and its answers
    Mock,
    /// A saved report: what `--reporter json` writes
    Report,
}

/// Run a mock MCP server from a file, with faults on request
///
/// A server to test agents and clients against. It serves the tools, resources and prompts of a file
/// over standard input and output or over HTTP, and supports the newest protocol revision and the
/// older handshake. Without a fault it behaves correctly. Faults affect `tools/call` only.
#[derive(Debug, Args)]
#[command(
    verbatim_doc_comment,
    after_help = "\
Faults:
  none                    no fault; exempts a tool from a fault that applies to every tool
  hang                    never answers; a canceled call is dropped
  wedged                  never answers, and ignores cancellation
  slow:<ms>               answers after this many milliseconds, unless the call was canceled
  recover-after:<n>       the first n calls hang, the ones after are answered
  reply-after-cancel:<ms> answers after this many milliseconds even if the call was canceled
  drop                    closes the connection instead of answering
  garbage                 sends bytes that are neither JSON nor UTF-8 instead of the answer
  wrong-id                answers with an id that was never sent
  duplicate               answers twice
  flood:<mb>              answers with this many mebibytes of text
  crash                   exits at once with code 101
  error:<code>            answers with a JSON-RPC error of this code
  is-error                answers with an error result (`isError`)

Exit codes: 0 the client disconnected or the process was asked to stop, 2 a file, an argument, the
address or the log cannot be used, 101 the fault `crash`.

Examples:
  mcptest mock --tools-from examples/weather-tools.yml
  mcptest mock --tools-from examples/weather-tools.yml --http 8080
  mcptest mock --tools-from tools.json --fault slow:2000 --fault get_alerts=none
  mcptest mock --tools-from tools.json --fault search=recover-after:2 --log messages.jsonl"
)]
pub(crate) struct Mock {
    /// The file to serve: YAML with `mock_server`, or the `tools/list` reply of a real server
    #[arg(long, value_name = "FILE")]
    pub(crate) tools_from: PathBuf,

    /// A fault for all tools, or for one TOOL, which takes precedence; repeatable
    #[arg(long, value_name = "[TOOL=]KIND")]
    pub(crate) fault: Vec<String>,

    /// Serve over HTTP on PORT, :PORT or ADDRESS:PORT; 127.0.0.1 unless an address is given
    #[arg(long, value_name = "ADDR")]
    pub(crate) http: Option<String>,

    /// Append every message to this file, one JSON line each
    #[arg(long, value_name = "FILE")]
    pub(crate) log: Option<PathBuf>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
pub(crate) enum OnDivergence {
    /// Report an error
    #[default]
    Error,
    /// Judge what it did before that
    Judge,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
pub(crate) enum Tools {
    /// The recorded results
    #[default]
    Recorded,
    /// The real servers, which are started
    Live,
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    /// The words of a line as a shell makes them: without quotes, up to the first redirection or remark.
    fn words(line: &str) -> Vec<String> {
        let line = line.trim().split("    ").next().unwrap();
        let mut words = vec![String::new()];
        let mut quoted = false;
        for c in line.chars() {
            match c {
                '\'' => quoted = !quoted,
                ' ' if !quoted => words.push(String::new()),
                _ => words.last_mut().unwrap().push(c),
            }
        }
        words.into_iter().take_while(|word| !matches!(word.as_str(), ">" | ">>" | "|" | "2>&1" | "#")).collect()
    }

    #[test]
    fn every_command_has_an_example_and_every_example_can_be_typed() {
        let mut left = vec![Cli::command()];
        while let Some(command) = left.pop() {
            left.extend(command.get_subcommands().cloned());
            let after = format!("\n{}", command.get_after_help().map(ToString::to_string).unwrap_or_default());
            let (_, examples) = after.split_once("\nExample").unwrap_or_else(|| panic!("{}", command.get_name()));
            let lines: Vec<&str> =
                examples.lines().filter_map(|line| line.find("mcptest ").map(|at| &line[at..])).collect();
            assert!(!lines.is_empty(), "{}: {examples}", command.get_name());
            for line in lines {
                if let Err(error) = Cli::try_parse_from(words(line)) {
                    panic!("{line}: {error}");
                }
            }
        }
    }

    #[test]
    fn the_help_of_the_mock_lists_every_fault_of_the_table() {
        let mut command = Cli::command();
        let mock = command.find_subcommand_mut("mock").unwrap();
        let help = mock.render_help().to_string();
        let (_, rest) = help.split_once("Faults:\n").unwrap();
        let listed: Vec<&str> = rest.lines().take_while(|line| !line.is_empty()).collect();
        let table: Vec<String> =
            mcptest_mock::KINDS.iter().map(|kind| format!("  {:<24}{}", kind.spelling(), kind.meaning)).collect();
        assert_eq!(listed, table);
    }
}
