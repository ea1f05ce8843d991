//! `mcptest mutate`.

use std::path::PathBuf;

use clap::{Args, ValueEnum, value_parser};
use mcptest_core::diag::suggest;
use mcptest_core::mutate::{Operator, OperatorClass};

use super::completed::Completed;
use super::score::{GroupKey, ReadingArgs};
use crate::select::Filter;

/// Test your tests: break recorded runs and see which broken ones pass
///
/// Changes recorded runs on purpose, one change at a time, and judges each changed run (mutant) with
/// the checks of its test. A mutant is
///   caught      a check fails or becomes unassessable
///   missed      every check still passes; the report proposes a check that catches it
///   equivalent  every check still passes, because the suite allows the change explicitly:
///               `args: any`, `ignore_args`, `optional`, `within_turn: any_order`, `mode: unordered`
/// A proposal is tried before it is shown: it passes every recorded run and fails the mutant. Runs must
/// pass before they are changed. Nothing is written, and no model is called.
#[derive(Debug, Args)]
#[command(
    verbatim_doc_comment,
    after_help = "\
Operators:
  calls      drop-call         a call is missing
             duplicate-call    a call is made twice
             swap-calls        two adjacent calls are swapped
             other-tool        another tool of the same server is called
             other-server      the tool of another server is called
             insert-call       an extra call is made first or last
             cut-tail          the run stops early, without its last calls
  arguments  drop-argument     an argument is missing
             null-argument     an argument is null
             retype-argument   an argument has another type
             off-by-one        a number is one too large
             foreign-value     an argument has a value of another call
  results    fail-result       a call fails
             unfail-result     a failed call succeeds
             empty-result      a result is empty
             foreign-result    a call gets the result of another call
  message    claim-unmade      the final message claims an action that no call made
             drop-negation     the final message loses a \"not\"
             cut-message       the final message ends in the middle
  session    more-tokens       the run takes ten times the tokens
             generated-caller  generated code makes the call, not the model
             flip-outcome      a run of a group fails

Exit codes: 0 the mutants were judged, 1 one was missed and --fail-on missed was given, 2 a run does
not pass unchanged or cannot be replayed or read; the others are still judged.

Examples:
  mcptest mutate tests/weather.yml
  mcptest mutate tests/ --fail-on missed --operators calls,arguments
  mcptest mutate --gates gates.yml traces.jsonl --output jsonl
  mcptest mutate --gates gates.yml results.json --group-by task_id"
)]
pub(crate) struct Mutate {
    /// Suite files or folders. Default: mcptest.yaml or mcptest.yml in the current folder.
    /// With --gates: files or folders with traces, or - for standard input
    #[arg(value_name = "FILE", verbatim_doc_comment)]
    pub(crate) files: Vec<PathBuf>,

    /// Change the traces in FILE, of any format that `mcptest score` reads, and judge them by these
    /// gates
    #[arg(long, value_name = "GATES", requires = "files", verbatim_doc_comment)]
    pub(crate) gates: Option<PathBuf>,

    /// Only these operators, or the operators of a class: calls, arguments, results, message, session
    #[arg(long, value_name = "NAME,..", value_delimiter = ',', hide_possible_values = true,
        value_parser = Completed { reads: operators, words: words })]
    pub(crate) operators: Vec<Operators>,

    /// Only tests, or traces, whose name contains TEXT or matches a /pattern/; repeatable, any may
    /// match
    #[arg(long, value_name = "TEXT", verbatim_doc_comment)]
    pub(crate) filter: Vec<Filter>,

    /// Maximum number of mutants per test, trace or group. If there are more, every operator gets an equal share,
    /// and the report counts the rest. Default: 2000, and fewer for runs of more than 200 calls
    #[arg(long, value_name = "N", value_parser = value_parser!(u32).range(1..), verbatim_doc_comment)]
    pub(crate) max_mutants: Option<u32>,

    /// Exit with 1 if a mutant is missed
    #[arg(long, value_enum, value_name = "missed|none", default_value_t = FailOn::None, hide_possible_values = true, hide_default_value = true)]
    pub(crate) fail_on: FailOn,

    /// What to print on standard output. Default: pretty on a terminal, otherwise jsonl
    #[arg(long, value_enum)]
    pub(crate) output: Option<MutateOutput>,

    /// Also write a page with the runs and their mutants
    #[arg(long, value_name = "PATH")]
    pub(crate) html: Option<PathBuf>,

    /// Show all missed mutants, and why mutants are equivalent
    #[arg(long, short)]
    pub(crate) verbose: bool,

    /// With --gates: path in a record to the name of the group of runs it belongs to, or a part of its
    /// input: {file}, {stem}, {folder[n]}
    #[arg(long, value_name = "PATH", requires = "gates", verbatim_doc_comment)]
    pub(crate) group_by: Option<GroupKey>,

    #[command(flatten)]
    pub(crate) reading: ReadingArgs,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum FailOn {
    /// A missed mutant
    Missed,
    /// Nothing
    None,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum MutateOutput {
    /// Text: counts first, then missed mutants with proposals
    Pretty,
    /// One JSON object per mutant
    Jsonl,
    /// Nothing: only the summary and the exit code
    None,
}

/// One operator, or all operators of a class.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Operators(pub(crate) Vec<Operator>);

fn words() -> Vec<&'static str> {
    let classes = OperatorClass::ALL.iter().map(|class| class.as_str());
    Operator::ALL.iter().map(|operator| operator.as_str()).chain(classes).collect()
}

fn operators(typed: &str) -> Result<Operators, UnknownOperator> {
    if let Some(class) = OperatorClass::from_word(typed) {
        return Ok(Operators(Operator::ALL.iter().copied().filter(|one| one.class() == class).collect()));
    }
    Operator::from_word(typed).map(|one| Operators(vec![one])).ok_or_else(|| UnknownOperator(typed.to_owned()))
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct UnknownOperator(String);

impl std::fmt::Display for UnknownOperator {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&suggest(&self.0, words()))
    }
}

impl std::error::Error for UnknownOperator {}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn the_help_lists_every_operator_of_the_table() {
        let mut command = crate::args::Cli::command();
        let help = command.find_subcommand_mut("mutate").unwrap().render_help().to_string();
        let (_, rest) = help.split_once("Operators:\n").unwrap();
        let listed: Vec<&str> = rest.lines().take_while(|line| !line.is_empty()).collect();
        let mut last = None;
        let table: Vec<String> = Operator::ALL
            .iter()
            .map(|operator| {
                let class = operator.class();
                let shown = if last.replace(class) == Some(class) { "" } else { class.as_str() };
                format!("  {shown:<11}{:<18}{}", operator.as_str(), operator.meaning())
            })
            .collect();
        assert_eq!(listed, table);
    }
}
