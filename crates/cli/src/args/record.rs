//! `mcptest record`.
#![expect(clippy::doc_markdown, reason = "the comments are printed as help, as they are")]

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use mcptest_core::answer::AnswerFormat;

/// Record any agent: run a command with proxies to its tools and its model
///
/// Runs COMMAND once and appends its trace to a file, ready for `mcptest score`. The code of the
/// agent does not change: environment variables point it to two proxies on this machine, which
/// forward everything unchanged and record it. The command keeps its output and its exit code.
///
/// The agent finds its MCP servers by these variables:
///   MCPTEST_URL_<SERVER>      the server over Streamable HTTP; - in its name becomes _
///   MCPTEST_MCP_CONFIG        a file with all servers, in the `mcpServers` format
///   MCPTEST_MCP_CONFIG_STDIO  the same for clients that support only stdio
/// and its model by OPENAI_BASE_URL, OPENAI_API_BASE, ANTHROPIC_BASE_URL, ANTHROPIC_API_URL,
/// GOOGLE_GEMINI_BASE_URL and AZURE_OPENAI_ENDPOINT, which most SDKs read. Requests are forwarded
/// to the URL that each variable had, else to the provider. API keys pass through and are not written.
#[derive(Debug, Args)]
#[command(
    verbatim_doc_comment,
    after_help = "\
Exit codes: the command's own, 128+N if signal N ended it, 127 if it was not found, 125 if the
recording failed.

Examples:
  mcptest record --server shop='python shop.py' -- python my_agent.py 'Refund order 1042'
  mcptest record --server docs=https://example.test/mcp --out docs.jsonl -- node agent.mjs
  mcptest record --answer json:reply.text -- ./agent --json"
)]
pub(crate) struct Record {
    /// A server of the agent: its name, and the command that starts it or its URL; repeatable.
    /// Words of a command are split as in a shell, and NAME=VALUE in front sets variables
    #[arg(long, value_name = "NAME=COMMAND|URL", verbatim_doc_comment)]
    pub(crate) server: Vec<String>,

    /// Where the answer of the agent is: stdout, file:PATH, json:PATH for text inside JSON on
    /// standard output, claude-stream, codex-exec or gemini-stream
    #[arg(long, value_name = "FORMAT", default_value = "stdout", verbatim_doc_comment)]
    pub(crate) answer: AnswerFormat,

    /// Append the trace to this file
    #[arg(long, value_name = "FILE", default_value = "traces.jsonl")]
    pub(crate) out: PathBuf,

    /// Also write both ledgers, with everything that the proxies forwarded, to this file
    #[arg(long, value_name = "FILE")]
    pub(crate) ledger: Option<PathBuf>,

    /// What to do if no model request passes through the proxy: `required` reports an error,
    /// `unseen` records only the tool calls
    #[arg(long, value_name = "HOW", value_enum, default_value = "required", verbatim_doc_comment)]
    pub(crate) model: ModelSide,

    /// The command and its arguments
    #[arg(last = true, required = true, value_name = "COMMAND")]
    pub(crate) command: Vec<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ModelSide {
    Required,
    Unseen,
}
