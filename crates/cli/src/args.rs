//! What was typed.

mod completed;
mod explain;
mod init;
mod report;
mod runs;
mod score;

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum, value_parser};
use mcptest_core::suite::MAX_RUNS;

pub(crate) use self::explain::{Completions, Explain};
pub(crate) use self::init::Init;
pub(crate) use self::report::{Render, Reporting};
pub(crate) use self::runs::Runs;
pub(crate) use self::score::{Convert, Output, ReadingArgs, Score};
use crate::select::{Filter, Partition};

/// Most runs at the same time: each is a thread, and the processes of its servers.
const MAX_JOBS: i64 = 1000;

/// Does the recorded execution of an agent hold up?
#[derive(Debug, Parser)]
#[command(
    name = "mcptest",
    version,
    arg_required_else_help = true,
    subcommand_required = true,
    after_help = "\
Where to begin:
  mcptest init                  make a first suite that runs, with a scripted model and no key
  mcptest run                   judge the recorded runs of suites; --record makes the recordings
  mcptest score traces.jsonl    judge traces that were recorded elsewhere
  mcptest explain WHAT          explain a word, a path or a message, such as 'cassette is stale'

Exit codes: 0 all is well, 1 a check said no, 2 something is wrong with the input or could not run.

Example: mcptest run tests/weather.yml"
)]
pub(crate) struct Typed {
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// The commands there are.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    Init(Init),
    Run(Box<Run>),
    Validate(Validate),
    Explain(Explain),
    Cassette(Cassette),
    Report(Render),
    Score(Box<Score>),
    Convert(Convert),
    Mock(Mock),
    Runs(Runs),
    Schema(Schema),
    Completions(Completions),
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
    /// Suite files, or folders: every suite in one and below, but for hidden ones;
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
    #[arg(long, value_name = "N", value_parser = value_parser!(u64).range(1..=MAX_RUNS))]
    pub(crate) runs: Option<u64>,

    /// Runs at the same time; without it as many as there are processors, at most 8
    #[arg(long, short, value_name = "N", value_parser = value_parser!(u16).range(1..=MAX_JOBS))]
    pub(crate) jobs: Option<u16>,

    /// Stop at the first test that does not pass; the others are skipped
    #[arg(long)]
    pub(crate) fail_fast: bool,

    /// Ask models and call servers, and keep no recording
    #[arg(long)]
    pub(crate) live: bool,

    /// Ask models and call servers, and write the cassettes anew
    #[arg(long, conflicts_with = "live")]
    pub(crate) record: bool,

    /// Replay suites of strangers: start no process, open no connection, read no file outside the
    /// folder of a suite, follow no symbolic link, leave references to the environment as written.
    /// A test that needs one of these is an error
    #[arg(long, conflicts_with_all = ["live", "record"], verbatim_doc_comment)]
    pub(crate) untrusted: bool,

    /// Ask no more models when all of them together might exceed so many tokens
    #[arg(long, value_name = "N", value_parser = value_parser!(u64).range(1..))]
    pub(crate) max_tokens_total: Option<u64>,

    /// Ask no more models when all of them together might cost more, by the prices in the suite
    #[arg(long, value_name = "AMOUNT", value_parser = amount)]
    pub(crate) max_cost: Option<f64>,

    #[command(flatten)]
    pub(crate) reporting: Reporting,
}

/// An amount of money.
fn amount(typed: &str) -> Result<f64, BadAmount> {
    typed.parse().ok().filter(|amount: &f64| amount.is_finite() && *amount > 0.0).ok_or(BadAmount)
}

/// An amount that is none.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct BadAmount;

impl std::fmt::Display for BadAmount {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("it takes a number above 0, as in `2.50`")
    }
}

impl std::error::Error for BadAmount {}

/// Look after recorded runs: which there are, what they hold, which may go
#[derive(Debug, Args)]
#[command(
    arg_required_else_help = true,
    subcommand_required = true,
    after_help = "\
The cassettes of tests/weather.yml lie in tests/cassettes/weather/, in a folder for each test and
each model, one file per run. `mcptest run --record` writes them.

Example: mcptest cassette list tests/"
)]
pub(crate) struct Cassette {
    #[command(subcommand)]
    pub(crate) command: CassetteCommand,
}

/// What can be done with cassettes.
#[derive(Debug, Subcommand)]
pub(crate) enum CassetteCommand {
    List(CassetteList),
    Show(CassetteShow),
    Accept(CassetteAccept),
    Rename(CassetteRename),
    Prune(CassettePrune),
    Scan(CassetteScan),
}

/// List the cassettes of suites, and whether they still fit
///
/// Each cassette is one line:
///   ok       it can be replayed
///   edited   it can be replayed; it was edited, and the edit was accepted
///   old      it can be replayed; its format does not detect edits
///   stale    the suite asks for something else now than when it was recorded
///   broken   it cannot be read, holds another run, or was edited
///   unused   no test replays it
///   unknown  the script of its model cannot be used, so nobody can tell
///   missing  a run that is to be replayed was not recorded
/// Tests on scripted models need no cassettes; once one run is recorded, all of them have to be.
#[derive(Debug, Args)]
#[command(
    verbatim_doc_comment,
    after_help = "\
Exit codes: 0 what is needed is there and fits, 1 something is stale or missing, 2 something is
broken or unknown, or a suite cannot be used.

Examples:
  mcptest cassette list tests/weather.yml
  mcptest cassette list tests/ --format json"
)]
pub(crate) struct CassetteList {
    /// Suite files, or folders: every suite in one and below, but for hidden ones;
    /// without any, mcptest.yaml or mcptest.yml in the current folder
    #[arg(value_name = "FILE", verbatim_doc_comment)]
    pub(crate) files: Vec<PathBuf>,

    /// How to print what was found
    #[arg(long, value_enum, default_value_t = Format::Human)]
    pub(crate) format: Format,
}

/// Show what a cassette holds
///
/// What was asked, every call with its arguments and its answer, the faults that were met, and how
/// the run ended. Long values are cut; the file itself has them whole.
#[derive(Debug, Args)]
#[command(
    verbatim_doc_comment,
    after_help = "\
Exit codes: 0 every file was shown, 2 one cannot be read or is no cassette.

Example: mcptest cassette show tests/cassettes/weather/looks-it-up-0a1b2c3d/demo/1.json"
)]
pub(crate) struct CassetteShow {
    /// Cassettes
    #[arg(required = true, value_name = "FILE")]
    pub(crate) files: Vec<PathBuf>,
}

/// Accept edits of cassettes
///
/// A cassette that was edited after it was recorded is an error, because its evidence is not what
/// a run did. Once the edit is accepted, it replays again, and reports say `edited` until the run
/// is recorded again. A cassette of format version 1 counts as edited, since nobody can tell.
/// Contradictions, such as a final response that no turn contains, cannot be accepted.
#[derive(Debug, Args)]
#[command(
    verbatim_doc_comment,
    after_help = "\
Exit codes: 0 the cassettes can be replayed, 2 one cannot be used or written

Examples:
  mcptest cassette accept cassettes/booking/books-a-seat-b7b80f1d/gpt-5/1.json
                                            accept what was edited in this run"
)]
pub(crate) struct CassetteAccept {
    /// Cassettes
    #[arg(required = true, value_name = "FILE")]
    pub(crate) files: Vec<PathBuf>,
}

/// Keep the cassettes of a test that was renamed
///
/// Rename the test in the suite first. Its recordings are moved to where the new name looks for
/// them, and say the new name. What was recorded stays as it is, so nothing counts as edited.
/// Recordings of the new name are not overwritten.
#[derive(Debug, Args)]
#[command(
    verbatim_doc_comment,
    after_help = "\
Exit codes: 0 the cassettes were moved, 2 they were not

Examples:
  mcptest cassette rename tests/booking.yml 'books a seat' 'books one seat'
                                            the test is called `books one seat` now"
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

/// Remove the cassettes that no test replays
///
/// Without --yes nothing is removed, only shown. The cassettes of a suite that cannot be used are
/// left alone, and so is everything a recording would not have written and everything behind a
/// symbolic link. Whole folders of suites that are gone are not looked for: remove them by hand.
#[derive(Debug, Args)]
#[command(
    verbatim_doc_comment,
    after_help = "\
Exit codes: 0 nothing unused is left, or what would go was shown, 2 a suite cannot be used, or
something could not be removed.

Examples:
  mcptest cassette prune tests/
  mcptest cassette prune tests/ --yes"
)]
pub(crate) struct CassettePrune {
    /// Suite files, or folders: every suite in one and below, but for hidden ones;
    /// without any, mcptest.yaml or mcptest.yml in the current folder
    #[arg(value_name = "FILE", verbatim_doc_comment)]
    pub(crate) files: Vec<PathBuf>,

    /// Remove them
    #[arg(long)]
    pub(crate) yes: bool,
}

/// Look for secrets in recordings and saved reports
///
/// A recording that is made now has none. Older ones, and files that were made or edited by other
/// means, are searched for text in the shape of a key or a token, and for the values of the
/// variables that suites name. A suite stands for its cassettes, a folder for every .json, .jsonl,
/// .ndjson, .xml, .html and .md file in it and below, and for the variables of the suites there.
/// Each finding is a line with its place and what a recording would have in it instead. The secret
/// itself is never printed.
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

    /// How to print what was found
    #[arg(long, value_enum, default_value_t = Format::Human)]
    pub(crate) format: Format,
}

/// Check suites, gates, scripts and mock servers without running anything
///
/// Every mistake of every file is shown at once: its place, its line, and what to do about it.
/// Files with `script:` at their root are scripts of models, those with `mock_server:` mock servers,
/// those with gates and no tests are for `mcptest score`, all others suites. No server is started and
/// no model is asked. Warnings are for what loads but hardly means what it says.
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
    /// Files, or folders: every .yml and .yaml file in one and below, but for hidden ones;
    /// without any, mcptest.yaml or mcptest.yml in the current folder
    #[arg(value_name = "FILE", verbatim_doc_comment)]
    pub(crate) files: Vec<PathBuf>,

    /// How to print what was found
    #[arg(long, value_enum, default_value_t = Format::Human)]
    pub(crate) format: Format,

    /// Count warnings as errors
    #[arg(long)]
    pub(crate) deny_warnings: bool,

    /// Take every file for one of gates, whatever stands at its root
    #[arg(long)]
    pub(crate) gates: bool,

    /// Check suites of strangers: read no script outside the folder of a suite, follow no symbolic
    /// link, leave references to the environment as written
    #[arg(long, conflicts_with = "gates", verbatim_doc_comment)]
    pub(crate) untrusted: bool,
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
    #[arg(value_enum, value_name = "suite|gates|script|mock|report", default_value_t = Which::Suite)]
    pub(crate) which: Which,
}

/// A file that has a schema.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Which {
    /// A suite: servers, faults, models and agent tests
    Suite,
    /// A gates file: gates and assertions alone
    Gates,
    /// A script: what stands in for a model answers
    Script,
    /// A file of `mcptest mock`: a server and its answers
    Mock,
    /// A saved report: what `--reporter json` writes
    Report,
}

/// Serve MCP from a file, and misbehave on request
///
/// A server to test agents and clients against: the tools, resources and prompts of a file, over
/// standard input and output or over HTTP, for the newest revision of the protocol and for the older
/// handshake. Without a fault it is a good server. A fault strikes `tools/call` and nothing else.
#[derive(Debug, Args)]
#[command(
    verbatim_doc_comment,
    after_help = "\
Faults:
  none                    no fault; spares a tool from a fault that strikes every tool
  hang                    never answers; a cancelled call is let go
  wedged                  never answers, and does not heed a cancellation either
  slow:<ms>               answers after so many milliseconds, unless the call was cancelled
  recover-after:<n>       the first n calls hang, the ones after are answered
  reply-after-cancel:<ms> answers after so many milliseconds even if the call was cancelled
  drop                    closes the connection instead of answering
  garbage                 sends bytes that are no JSON and no UTF-8 instead of the answer
  wrong-id                answers under an id that nobody sent
  duplicate               answers twice
  flood:<mb>              answers with so many mebibytes of text
  crash                   ends the process at once, with exit code 101
  error:<code>            answers with a JSON-RPC error of this code
  is-error                answers with an error result (`isError`)

Exit codes: 0 the client is done or the process was told to end, 2 a file, an argument, the address
or the log cannot be used, 101 the fault `crash`.

Examples:
  mcptest mock --tools-from examples/weather-tools.yml
  mcptest mock --tools-from examples/weather-tools.yml --http 8080
  mcptest mock --tools-from tools.json --fault slow:2000 --fault get_alerts=none
  mcptest mock --tools-from tools.json --fault search=recover-after:2 --log messages.jsonl"
)]
pub(crate) struct Mock {
    /// What to serve: a YAML file with `mock_server`, or the `tools/list` reply of a real server
    #[arg(long, value_name = "FILE")]
    pub(crate) tools_from: PathBuf,

    /// What goes wrong with calls: of every tool, or of one, which goes before the general one
    #[arg(long, value_name = "[TOOL=]KIND")]
    pub(crate) fault: Vec<String>,

    /// Serve over HTTP on PORT, :PORT or ADDRESS:PORT; 127.0.0.1 unless an address is given
    #[arg(long, value_name = "ADDR")]
    pub(crate) http: Option<String>,

    /// Append every message to this file, one JSON line each
    #[arg(long, value_name = "FILE")]
    pub(crate) log: Option<PathBuf>,
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
        let mut left = vec![Typed::command()];
        while let Some(command) = left.pop() {
            left.extend(command.get_subcommands().cloned());
            let after = format!("\n{}", command.get_after_help().map(ToString::to_string).unwrap_or_default());
            let (_, examples) = after.split_once("\nExample").unwrap_or_else(|| panic!("{}", command.get_name()));
            let lines: Vec<&str> =
                examples.lines().filter_map(|line| line.find("mcptest ").map(|at| &line[at..])).collect();
            assert!(!lines.is_empty(), "{}: {examples}", command.get_name());
            for line in lines {
                if let Err(error) = Typed::try_parse_from(words(line)) {
                    panic!("{line}: {error}");
                }
            }
        }
    }

    #[test]
    fn the_help_of_the_mock_lists_every_fault_of_the_table() {
        let mut command = Typed::command();
        let mock = command.find_subcommand_mut("mock").unwrap();
        let help = mock.render_help().to_string();
        let (_, rest) = help.split_once("Faults:\n").unwrap();
        let listed: Vec<&str> = rest.lines().take_while(|line| !line.is_empty()).collect();
        let table: Vec<String> =
            mcptest_mock::KINDS.iter().map(|kind| format!("  {:<24}{}", kind.spelling(), kind.meaning)).collect();
        assert_eq!(listed, table);
    }
}
