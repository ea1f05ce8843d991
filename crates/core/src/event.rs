//! The one stream that every reporter reads. Events come in the order of the files, however the work was done.
//!
//! A saved report contains the complete stream: `report::read` returns the same events.

use std::collections::BTreeMap;

use crate::report::Row;

/// Something a reporter may want to show.
#[derive(Debug, Clone, PartialEq)]
pub enum Event {
    /// Facts about the run by their names. They come before everything else.
    Labeled(BTreeMap<String, String>),
    /// The rows that follow belong to this file.
    SuiteStarted {
        /// The file, as typed.
        file: String,
    },
    /// A file could not be used.
    SuiteRefused {
        /// The file, as typed.
        file: String,
        /// Every reason, as a person reads it.
        why: String,
    },
    /// A row has its verdict.
    RowFinished(Box<Row>),
    /// All rows of a test on a model were reported.
    CellFinished { test: String, model: String },
    /// Rows that are inconclusive do not make the run fail. It comes before all rows.
    InconclusiveAllowed,
    /// A note that is not a verdict.
    Note(String),
    /// It ended before everything was run, and why.
    Stopped(String),
}
