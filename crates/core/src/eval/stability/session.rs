//! The four sub-scores of one session.
//!
//! Scores are computed first; the reason for a score is formatted only when it is needed.

use std::fmt;

use super::numbers::{self, Call, UNRECORDED};
use crate::eval::gate::plural;
use crate::trace::{Role, Trace, Turn};

/// Tokens per distinct call at which `cost_per_progress` starts to fall.
const TARGET_TOKENS: f64 = 2000.0;

/// Names of the sub-scores, in the order of [`Session::scores`].
pub const SUB_SCORES: [&str; 4] = ["tool_usage_stability", "response_consistency", "redundancy", "cost_per_progress"];

/// The sub-scores that count in the weakest one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Dimensions([bool; 4]);

impl Default for Dimensions {
    fn default() -> Self {
        Self([true; 4])
    }
}

impl Dimensions {
    /// The sub-scores of these names.
    pub fn named(names: &[impl AsRef<str>]) -> Self {
        Self(SUB_SCORES.map(|name| names.iter().any(|named| named.as_ref() == name)))
    }

    pub(super) fn has(self, at: usize) -> bool {
        self.0[at]
    }

    pub(super) fn names(self) -> impl Iterator<Item = &'static str> {
        SUB_SCORES.into_iter().zip(self.0).filter_map(|(name, counts)| counts.then_some(name))
    }
}

/// One sub-score: its value, and the facts behind it or the evidence it lacks.
#[derive(Debug, Clone, PartialEq)]
pub struct SubScore {
    /// From 0 to 1; absent without evidence.
    pub value: Option<f64>,
    /// `3 tools in 3 calls`, or what was not recorded.
    pub reason: String,
}

/// One session's sub-scores.
#[derive(Debug, Clone, PartialEq)]
pub struct Session {
    /// In the order of [`SUB_SCORES`].
    pub scores: [SubScore; 4],
}

impl Session {
    /// Scores a session.
    pub fn of(trace: &Trace) -> Self {
        let numbered = numbers::number(&[trace]);
        Measures::of(trace, numbered.first().and_then(Option::as_deref), Dimensions::default()).into()
    }

    /// The weakest sub-score that has a value, by its place in [`SUB_SCORES`].
    pub fn weakest(&self) -> Option<(usize, f64)> {
        weakest(self.scores.each_ref().map(|score| score.value), Dimensions::default())
    }
}

impl From<Measures> for Session {
    fn from(measures: Measures) -> Self {
        Self { scores: measures.scores.map(|Measure { value, facts }| SubScore { value, reason: facts.to_string() }) }
    }
}

/// A sub-score with its reason not yet formatted.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Measure {
    pub(crate) value: Option<f64>,
    pub(crate) facts: Facts,
}

/// What a sub-score was computed from.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Facts {
    TooShort,
    Tools { tools: usize, calls: usize },
    Texts { texts: usize },
    Lengths { texts: usize, mean: f64, deviation: f64 },
    Repeats { distinct: usize, calls: usize },
    Cost { tokens: u64, distinct: usize },
    Unrecorded(&'static str),
}

impl fmt::Display for Facts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::TooShort => f.write_str("too short to score"),
            Self::Tools { tools, calls } => write!(f, "{} in {}", plural(tools, "tool"), plural(calls, "call")),
            Self::Texts { texts } => write!(f, "{}", plural(texts, "text")),
            Self::Lengths { texts, mean, deviation } => {
                write!(f, "{} of {mean:.0} ± {deviation:.0} characters", plural(texts, "text"))
            }
            Self::Repeats { distinct, calls } => write!(f, "{distinct} distinct of {}", plural(calls, "call")),
            Self::Cost { tokens, distinct } => write!(f, "{tokens} tokens for {}", plural(distinct, "distinct call")),
            Self::Unrecorded(what) => write!(f, "{what} were not recorded"),
        }
    }
}

impl Measure {
    fn of(value: f64, facts: Facts) -> Self {
        Self { value: Some(value.clamp(0.0, 1.0)), facts }
    }

    fn unrecorded(what: &'static str) -> Self {
        Self { value: None, facts: Facts::Unrecorded(what) }
    }
}

/// One session's sub-scores, in the order of [`SUB_SCORES`].
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Measures {
    pub(crate) scores: [Measure; 4],
    dimensions: Dimensions,
}

impl Measures {
    /// Measures a session by its numbered calls.
    pub(super) fn of(trace: &Trace, calls: Option<&[Call]>, dimensions: Dimensions) -> Self {
        let turns = trace.conversation.turns.as_deref();
        let few_calls = calls.map(|calls| calls.len() < 2);
        let few_turns = turns.map(|turns| assistant_turns(turns).nth(1).is_none());
        if few_calls == Some(true) && few_turns == Some(true) {
            // A session this short cannot have degraded.
            return Self { scores: [Measure::of(1.0, Facts::TooShort); 4], dimensions };
        }
        let distinct = calls.map(distinct_calls);
        let cost = match (distinct, trace.conversation.tokens.spent()) {
            (None, _) => Measure::unrecorded("the tool calls"),
            (Some(None), _) => Measure::unrecorded("the args of repeated calls"),
            (_, None) => Measure::unrecorded("the tokens"),
            (Some(Some(distinct)), Some(tokens)) => {
                let score = cost_per_progress(distinct, tokens);
                // One turn and fewer than two calls score 1. Without the turns, only a 1 is certain.
                if few_calls == Some(true) && few_turns.is_none() && score.value != Some(1.0) {
                    Measure::unrecorded("the turns")
                } else {
                    score
                }
            }
        };
        let scores = [
            calls.map_or(Measure::unrecorded("the tool calls"), tool_usage),
            turns.map_or(Measure::unrecorded("the turns"), responses),
            match (calls, distinct) {
                (Some(calls), Some(Some(distinct))) => redundancy(calls.len(), distinct),
                (Some(_), _) => Measure::unrecorded("the args of repeated calls"),
                (None, _) => Measure::unrecorded("the tool calls"),
            },
            cost,
        ];
        Self { scores, dimensions }
    }

    /// The value of each sub-score.
    pub(crate) fn values(&self) -> [Option<f64>; 4] {
        self.scores.map(|measure| measure.value)
    }

    /// The weakest sub-score that counts and has a value, by its place in [`SUB_SCORES`].
    pub(crate) fn weakest(&self) -> Option<(usize, f64)> {
        weakest(self.values(), self.dimensions)
    }
}

fn weakest(values: [Option<f64>; 4], dimensions: Dimensions) -> Option<(usize, f64)> {
    let counted = values.into_iter().enumerate().filter(|(at, _)| dimensions.has(*at));
    let known = counted.filter_map(|(at, value)| Some((at, value?)));
    known.reduce(|best, next| if next.1 < best.1 { next } else { best })
}

fn tool_usage(calls: &[Call]) -> Measure {
    let total = calls.len();
    let mut tools: Vec<u32> = calls.iter().map(|call| call.tool).collect();
    tools.sort_unstable();
    tools.dedup();
    let value = if total < 2 { 1.0 } else { 1.0 - (tools.len() as f64 - 1.0) / (total as f64 - 1.0) };
    Measure::of(value, Facts::Tools { tools: tools.len(), calls: total })
}

fn assistant_turns(turns: &[Turn]) -> impl Iterator<Item = &Turn> {
    turns.iter().filter(|turn| turn.role == Role::Assistant)
}

/// Lengths in characters of the turns that carry text.
fn responses(turns: &[Turn]) -> Measure {
    let texts = assistant_turns(turns).filter_map(|turn| turn.content.as_deref());
    let lengths: Vec<f64> = texts.map(|text| text.chars().count() as f64).collect();
    let count = lengths.len() as f64;
    let mean = lengths.iter().sum::<f64>() / count;
    if lengths.len() < 2 || mean <= 0.0 {
        return Measure::of(1.0, Facts::Texts { texts: lengths.len() });
    }
    let variance = lengths.iter().map(|length| (length - mean) * (length - mean)).sum::<f64>() / count;
    let deviation = variance.sqrt();
    Measure::of(1.0 - (deviation / mean).min(1.0), Facts::Lengths { texts: lengths.len(), mean, deviation })
}

fn redundancy(total: usize, distinct: usize) -> Measure {
    let value = if total == 0 { 1.0 } else { distinct as f64 / total as f64 };
    Measure::of(value, Facts::Repeats { distinct, calls: total })
}

fn cost_per_progress(distinct: usize, tokens: u64) -> Measure {
    let value = match (tokens, distinct) {
        (0, _) => 1.0,
        (_, 0) => 0.0,
        _ => TARGET_TOKENS / TARGET_TOKENS.max(tokens as f64 / distinct as f64),
    };
    Measure::of(value, Facts::Cost { tokens, distinct })
}

/// The number of distinct calls by tool, server and arguments; `None` if it depends on unrecorded arguments.
fn distinct_calls(calls: &[Call]) -> Option<usize> {
    let mut sorted = calls.to_vec();
    sorted.sort_unstable();
    let same_tool = |pair: &[Call]| (pair[0].tool, pair[0].server) == (pair[1].tool, pair[1].server);
    // Unrecorded arguments sort last, so they are second in a pair wherever the tool was called twice.
    if sorted.windows(2).any(|pair| same_tool(pair) && pair[1].args == UNRECORDED) {
        return None;
    }
    sorted.dedup();
    Some(sorted.len())
}
