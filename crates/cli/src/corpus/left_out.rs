//! Traces of spans of other programs. They are left out, and the user is told: a misspelled or unknown vocabulary looks the same.

use std::sync::Arc;

use super::feed::NO_AGENT;
use super::job::RecordError;

#[derive(Default)]
pub(crate) struct LeftOut {
    /// The source that is being read, and how many of its traces were left out.
    current: Option<(Arc<str>, usize)>,
    done: usize,
}

impl LeftOut {
    /// Takes in the next batch. The batches of a source follow one another.
    pub(crate) fn add(&mut self, source: &Arc<str>, count: usize, faults: &[RecordError]) {
        match &mut self.current {
            Some((last, sum)) if last == source => *sum += count,
            current => self.done += current.replace((Arc::clone(source), count)).map_or(0, |(_, sum)| sum),
        }
        // A source without any other trace is an error of its own.
        if faults.iter().any(|fault| fault.message == NO_AGENT) {
            self.current = None;
        }
    }

    pub(crate) fn note(&self) -> Option<String> {
        let (count, traces, were) = match self.done + self.current.as_ref().map_or(0, |(_, sum)| *sum) {
            0 => return None,
            1 => (1, "trace", "was"),
            count => (count, "traces", "were"),
        };
        Some(format!("note: {count} {traces} of spans without a model, an agent or a tool {were} left out"))
    }
}
