//! How serving ends.

use std::io;

/// Why a server ended without anything being wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum End {
    /// The client closed its end.
    InputClosed,
    /// Nobody reads the answers any more.
    OutputClosed,
    Stopped,
    Crashed,
}

/// Why a server could not go on.
#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    /// The log cannot be written.
    #[error("cannot write the log: {0}")]
    Log(io::Error),
    /// Standard input cannot be read.
    #[error("cannot read standard input: {0}")]
    Input(io::Error),
    /// Standard output cannot be written, though somebody holds it.
    #[error("cannot write standard output: {0}")]
    Output(io::Error),
}
