//! The one stream that every reporter reads. Events come in the order of the files, however the work was done.

use crate::report::Row;

/// Something a reporter may want to show.
#[derive(Debug, Clone, PartialEq)]
pub enum Event {
    /// The rows that follow belong to this file.
    SuiteStarted {
        /// The file, as it was typed.
        file: String,
    },
    /// A file could not be used.
    SuiteRefused {
        /// The file, as it was typed.
        file: String,
        /// Every reason, as a person reads it.
        why: String,
    },
    /// A row has its verdict.
    RowFinished(Box<Row>),
    /// Something to know that is no verdict.
    Note(String),
    /// It ended before everything was run, and why.
    Stopped(String),
}
