//! Words that shells complete, of options that read more than those words or say more about a wrong one than a list.

use std::ffi::OsStr;

use clap::builder::{PossibleValue, TypedValueParser};
use clap::{Arg, Command, Error};

/// Reads as another parser does, and offers words to shells.
#[derive(Debug, Clone)]
pub(super) struct Completed<P> {
    /// What reads the value, and refuses it in its own words.
    pub(super) reads: P,
    /// What is offered.
    pub(super) words: fn() -> Vec<&'static str>,
}

impl<P: TypedValueParser> TypedValueParser for Completed<P> {
    type Value = P::Value;

    fn parse_ref(&self, command: &Command, arg: Option<&Arg>, value: &OsStr) -> Result<P::Value, Error> {
        self.reads.parse_ref(command, arg, value)
    }

    fn possible_values(&self) -> Option<Box<dyn Iterator<Item = PossibleValue> + '_>> {
        Some(Box::new((self.words)().into_iter().map(PossibleValue::new)))
    }
}
