//! How a server ends.

use std::io;

/// Why a server ended normally.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum End {
    /// The client closed the input.
    InputClosed,
    /// The client closed the output.
    OutputClosed,
    Stopped,
    Crashed,
}

#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    /// The log cannot be written.
    #[error("cannot write the log: {0}")]
    Log(io::Error),
    /// Standard input cannot be read.
    #[error("cannot read standard input: {0}")]
    Input(io::Error),
    /// Standard output cannot be written, although it is open.
    #[error("cannot write standard output: {0}")]
    Output(io::Error),
}
