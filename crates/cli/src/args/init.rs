//! `mcptest init`.

use std::path::PathBuf;

use clap::{Args, value_parser};

/// Write a first suite that passes right away
///
/// Writes three kinds of files and changes no existing file:
///   mcptest.yml         the suite, with comments that say what to change first
///   mcptest/tools.*     the tools of a mock server
///   mcptest/script*.yml the replies of a scripted model
/// `mcptest run` runs them offline and without an API key. Without a source, they are about booking
/// meeting rooms.
///
/// From an agent, it runs the agent once with its model and its servers, records the run, and writes a
/// suite with the gates that this run passes. `mcptest run` replays it.
///
/// From a server, it takes the list of tools and stops the server. Its tools are never called, neither
/// now nor by the suite. From a trace, the suite repeats the recorded calls and serves the recorded
/// answers; it has the gates that the trace passes, and says why others are left out.
#[derive(Debug, Args)]
#[command(
    verbatim_doc_comment,
    after_help = "\
Exit codes: 0 the suite was written, 2 nothing was written: a file already exists, the server, the
agent or the trace cannot be used, or a folder is not writable.

Examples:
  mcptest init
  mcptest init tests/rooms
  mcptest init --from-server 'npx -y @modelcontextprotocol/server-filesystem .'
  mcptest init --url https://example.test/mcp --bearer-token-env MCP_TOKEN
  mcptest init tests/support --from-trace traces.jsonl
  mcptest init --from-agent 'python agent.py' --server shop='python shop.py' --prompt 'Refund it'"
)]
pub(crate) struct Init {
    /// Where to write, created if missing. Default: the current folder
    #[arg(value_name = "FOLDER", default_value = ".", hide_default_value = true)]
    pub(crate) folder: PathBuf,

    /// Run this agent, and test that it repeats what it did. Words are split as for --from-server
    #[arg(long, value_name = "COMMAND", conflicts_with_all = ["from_server", "url", "from_trace"], help_heading = "Sources")]
    pub(crate) from_agent: Option<String>,

    /// A server of the agent: its name, and the command that starts it or its URL; repeatable
    #[arg(long, value_name = "NAME=COMMAND|URL", requires = "from_agent", help_heading = "The agent")]
    pub(crate) server: Vec<String>,

    /// The prompt for the agent. Default: a question about what it can do
    #[arg(long, value_name = "TEXT", requires = "from_agent", help_heading = "The agent")]
    pub(crate) prompt: Option<String>,

    /// How it gets the prompt: stdin, arg for the last argument, or env:NAME. Default: stdin
    #[arg(long, value_name = "HOW", requires = "from_agent", help_heading = "The agent")]
    pub(crate) input: Option<String>,

    /// Where its answer is, as in `mcptest record`: stdout, a file, a path in JSON, or a stream. Default: stdout
    #[arg(long, value_name = "FORMAT", requires = "from_agent", help_heading = "The agent")]
    pub(crate) answer: Option<String>,

    /// Use the tools of the server that this command starts. Words are split as in a shell, with quotes
    /// and backslashes; no shell is started and nothing is expanded. NAME=VALUE in front sets variables
    #[arg(long, value_name = "COMMAND", verbatim_doc_comment, conflicts_with_all = ["url", "from_trace"], help_heading = "Sources")]
    pub(crate) from_server: Option<String>,

    /// Use the tools of the server at this address, over Streamable HTTP
    #[arg(long, value_name = "URL", conflicts_with = "from_trace", help_heading = "Sources")]
    pub(crate) url: Option<String>,

    /// The environment variable with the bearer token for --url
    #[arg(long, value_name = "NAME", requires = "url", help_heading = "Sources")]
    pub(crate) bearer_token_env: Option<String>,

    /// Use the first trace of this file, in any format that `mcptest score` reads; - for standard input
    #[arg(long, value_name = "FILE", verbatim_doc_comment, help_heading = "Sources")]
    pub(crate) from_trace: Option<PathBuf>,

    /// Timeout of each step of connecting to the server
    #[arg(long, value_name = "MS", default_value_t = 30_000, value_parser = value_parser!(u64).range(1..=3_600_000), help_heading = "Sources")]
    pub(crate) timeout_ms: u64,
}
