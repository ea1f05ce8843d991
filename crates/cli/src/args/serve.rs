//! `mcptest serve-json`.

use clap::Args;

/// Answer requests from another program, one line of JSON each
///
/// The engine behind the Python package: one process that lives as long as the program that started
/// it. Reads a request per line from standard input and writes a reply per line to standard output,
/// until standard input ends. docs/python.md describes the protocol.
#[derive(Debug, Args)]
#[command(
    verbatim_doc_comment,
    after_help = "\
Exit codes: 0 standard input ended, 2 standard input or output cannot be used.

Example: echo '{\"id\":1,\"method\":\"hello\"}' | mcptest serve-json"
)]
pub(crate) struct ServeJson {}
