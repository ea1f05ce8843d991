//! What was typed for a first suite.

use std::path::PathBuf;

use clap::{Args, value_parser};

/// Write a first suite that passes at once
///
/// Three kinds of files, and nothing that was there before is touched:
///   mcptest.yml         the suite, with comments that say what to change first
///   mcptest/tools.*     the tools that a mock server stands in with
///   mcptest/script*.yml what stands in for the model; no model wrote it
/// `mcptest run` judges them offline and without a key. Without a source they describe a desk that
/// books meeting rooms.
///
/// From a server, its list of tools is taken and the server is ended; none of its tools is called,
/// neither now nor by the suite. From a trace, its calls are played again, its answers are served as
/// recorded, and the suite has those gates that the trace satisfies and says why others are left out.
#[derive(Debug, Args)]
#[command(
    verbatim_doc_comment,
    after_help = "\
Exit codes: 0 the suite was written, 2 nothing was: a file is in the way, the server or the trace
cannot be used, or a folder may not be written.

Examples:
  mcptest init
  mcptest init tests/rooms
  mcptest init --from-server 'npx -y @modelcontextprotocol/server-filesystem .'
  mcptest init --url https://example.test/mcp --bearer-token-env MCP_TOKEN
  mcptest init tests/support --from-trace traces.jsonl"
)]
pub(crate) struct Init {
    /// Where to write: the current folder unless given, made where it is missing
    #[arg(value_name = "FOLDER", default_value = ".", hide_default_value = true)]
    pub(crate) folder: PathBuf,

    /// Take the tools of the server that this command starts. Words are split as in a shell, with quotes
    /// and backslashes; no shell is started and nothing is expanded. NAME=VALUE in front sets variables
    #[arg(long, value_name = "COMMAND", verbatim_doc_comment, conflicts_with_all = ["url", "from_trace"], help_heading = "Sources")]
    pub(crate) from_server: Option<String>,

    /// Take the tools of the server at this address, which speaks Streamable HTTP
    #[arg(long, value_name = "URL", conflicts_with = "from_trace", help_heading = "Sources")]
    pub(crate) url: Option<String>,

    /// The variable that holds the bearer token for --url
    #[arg(long, value_name = "NAME", requires = "url", help_heading = "Sources")]
    pub(crate) bearer_token_env: Option<String>,

    /// Take the first trace of this file, of any format that `mcptest score` reads, or of - for standard
    /// input
    #[arg(long, value_name = "FILE", verbatim_doc_comment, help_heading = "Sources")]
    pub(crate) from_trace: Option<PathBuf>,

    /// How long the server may take for each step of connecting
    #[arg(long, value_name = "MS", default_value_t = 30_000, value_parser = value_parser!(u64).range(1..=3_600_000), help_heading = "Sources")]
    pub(crate) timeout_ms: u64,
}
