//! What can be typed after `mcptest explain` and `mcptest completions`.

use clap::Args;
use clap::builder::StringValueParser;
use clap_complete::Shell;

use super::completed::Completed;

/// Explain a word, a path or a message of this program
///
/// WHAT is a gate, a metric, a target, a matcher, a verdict, a fault, a key of a file, a reporter, an
/// exit code, another word of a report such as `replayed`, or a line or a message as it was printed,
/// whole or in part. Without it, a list of what can be explained.
#[derive(Debug, Args)]
#[command(
    verbatim_doc_comment,
    after_help = "\
Put a message in single quotes: in double quotes a shell runs what stands between backticks.

Exit codes: 0 it was explained, 2 nothing is known about it, or a path cannot be read.

Examples:
  mcptest explain trajectory
  mcptest explain narrative --all
  mcptest explain stability.weakest_score
  mcptest explain 'tool_calls[*].args.city'
  mcptest explain agents.prompt
  mcptest explain unassessable
  mcptest explain 2
  mcptest explain 'cassette is stale'
  mcptest run tests/ 2>&1 | mcptest explain -"
)]
pub(crate) struct Explain {
    /// What to explain, or - for a message on standard input
    #[arg(value_name = "WHAT", hide_possible_values = true,
        value_parser = Completed { reads: StringValueParser::new(), words: crate::explain::completed })]
    pub(crate) what: Vec<String>,

    /// Say all there is about a gate, also how its numbers are computed; without it, what fits on a screen
    #[arg(long, verbatim_doc_comment)]
    pub(crate) all: bool,
}

/// Print a script that completes commands and options in a shell
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
    /// Which shell
    #[arg(value_enum, value_name = "SHELL")]
    pub(crate) shell: Shell,
}
