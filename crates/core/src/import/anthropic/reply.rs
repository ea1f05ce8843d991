//! What a reply tells beside its content: tokens, the model, why it ended.

use serde::Deserialize;

use crate::import::wire::Whole;
use crate::trace::{StopReason, Tokens};

/// Tokens as this interface counts them: those of the cache are not among those of the input.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(expecting = "the usage of a reply")]
pub(in crate::import) struct Usage {
    #[serde(rename = "input_tokens")]
    input: Option<Whole>,
    #[serde(rename = "output_tokens")]
    output: Option<Whole>,
    #[serde(rename = "cache_creation_input_tokens")]
    written: Option<Whole>,
    #[serde(rename = "cache_read_input_tokens")]
    cached: Option<Whole>,
}

impl Usage {
    /// The greater of two tellings, count by count: while a reply streams in, its counts only grow.
    pub(in crate::import) fn max(self, other: Self) -> Self {
        let greater = |a: Option<Whole>, b: Option<Whole>| a.map(|n| n.0).max(b.map(|n| n.0)).map(Whole);
        Self {
            input: greater(self.input, other.input),
            output: greater(self.output, other.output),
            written: greater(self.written, other.written),
            cached: greater(self.cached, other.cached),
        }
    }

    /// The same tokens as a trace counts them.
    pub(in crate::import) fn tokens(&self) -> Tokens {
        let cached = self.cached.map(|n| n.0);
        let written = self.written.map(|n| n.0);
        let input = self.input.map(|n| [cached, written].into_iter().flatten().fold(n.0, u64::saturating_add));
        Tokens { input, output: self.output.map(|n| n.0), cached, total: None }
    }
}

/// The model of a trace: the one that all replies name.
#[derive(Debug, Default)]
pub(in crate::import) struct Model {
    name: Option<String>,
    differs: bool,
}

impl Model {
    /// Takes in what one reply says.
    pub(in crate::import) fn told_as(&mut self, name: Option<&str>) {
        match (&self.name, name) {
            (_, None) => {}
            (None, Some(name)) => self.name = Some(name.to_owned()),
            (Some(known), Some(name)) => self.differs |= known != name,
        }
    }

    /// Whether any reply named one.
    pub(in crate::import) fn is_told(&self) -> bool {
        self.name.is_some()
    }

    /// The name; unknown when replies disagree.
    pub(in crate::import) fn name(self) -> Option<String> {
        self.name.filter(|_| !self.differs)
    }
}

/// What a word for the end of a reply means for the run. A reply that wants tools is not the end of one.
pub(in crate::import) fn stopped(word: &str) -> Option<StopReason> {
    match word {
        "end_turn" | "stop_sequence" => Some(StopReason::Completed),
        "max_tokens" | "model_context_window_exceeded" => Some(StopReason::MaxTokens),
        "refusal" => Some(StopReason::Refused),
        _ => None,
    }
}
