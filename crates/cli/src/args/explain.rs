//! `mcptest explain` and `mcptest completions`.

use clap::Args;
use clap::builder::StringValueParser;
use clap_complete::Shell;

use super::completed::Completed;

/// Explain a term, a path or the code of a message
///
/// WHAT is the code of a message such as `stale-cassette`, a gate, a metric, a target, a matcher, a
/// verdict, a fault, a key of a file, a preset, a reporter, an exit code, or another term of a report
/// such as `replayed`. Without it, a list of what can be explained.
#[derive(Debug, Args)]
#[command(
    verbatim_doc_comment,
    after_help = "\
Exit codes: 0 it was explained, 2 it is unknown, or a path cannot be read.

Examples:
  mcptest explain trajectory
  mcptest explain narrative --all
  mcptest explain stability.weakest_score
  mcptest explain 'tool_calls[*].args.city'
  mcptest explain agents.prompt
  mcptest explain unassessable
  mcptest explain 2
  mcptest explain stale-cassette
  mcptest explain preset claude-code
  mcptest explain codes
  mcptest run tests/ 2>&1 | mcptest explain -"
)]
pub(crate) struct Explain {
    /// What to explain, or - to explain every code in standard input
    #[arg(value_name = "WHAT", hide_possible_values = true,
        value_parser = Completed { reads: StringValueParser::new(), words: crate::explain::completed })]
    pub(crate) what: Vec<String>,

    /// Show everything about a gate, including how its metrics are computed
    #[arg(long, verbatim_doc_comment)]
    pub(crate) all: bool,
}

/// Print a shell completion script
#[derive(Debug, Args)]
#[command(after_help = "\
To install it:
  bash        mcptest completions bash > ~/.local/share/bash-completion/completions/mcptest
  zsh         mcptest completions zsh > ~/.zfunc/_mcptest
              and in ~/.zshrc, before compinit: fpath+=~/.zfunc
  fish        mcptest completions fish > ~/.config/fish/completions/mcptest.fish
  elvish      in ~/.config/elvish/rc.elv: eval (mcptest completions elvish | slurp)
  powershell  mcptest completions powershell >> $PROFILE

Then open a new shell.

Example: mcptest completions bash")]
pub(crate) struct Completions {
    /// The shell
    #[arg(value_enum, value_name = "SHELL")]
    pub(crate) shell: Shell,
}
