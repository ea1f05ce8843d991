//! The four sub-scores of one session.

use super::numbers::{self, Call, UNRECORDED};
use crate::eval::gate::plural;
use crate::trace::{Role, Trace};

/// Tokens per distinct call at which `cost_per_progress` starts to fall.
const TARGET_TOKENS: f64 = 2000.0;

/// Names of the sub-scores, in the order of [`Session::scores`].
pub const SUB_SCORES: [&str; 4] = ["tool_usage_stability", "response_consistency", "redundancy", "cost_per_progress"];

/// One sub-score: its value, and the facts behind it or the evidence it lacks.
#[derive(Debug, Clone, PartialEq)]
pub struct SubScore {
    /// From 0 to 1; absent without evidence.
    pub value: Option<f64>,
    /// `3 tools in 3 calls`, or what was not recorded.
    pub reason: String,
}

impl SubScore {
    fn of(value: f64, reason: String) -> Self {
        Self { value: Some(value.clamp(0.0, 1.0)), reason }
    }

    fn unknown(reason: &str) -> Self {
        Self { value: None, reason: reason.to_owned() }
    }
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
        Self::of_numbered(trace, numbered.first().and_then(Option::as_deref))
    }

    pub(super) fn of_numbered(trace: &Trace, calls: Option<&[Call]>) -> Self {
        let turns = trace.conversation.turns.as_ref().map(|turns| {
            let spoken = turns.iter().filter(|turn| turn.role == Role::Assistant);
            spoken.map(|turn| turn.content.as_deref()).collect::<Vec<_>>()
        });
        let few_calls = calls.map(|calls| calls.len() < 2);
        let few_turns = turns.as_ref().map(|turns| turns.len() < 2);
        if few_calls == Some(true) && few_turns == Some(true) {
            // Nothing progressed, so nothing can have degraded.
            return Self { scores: std::array::from_fn(|_| SubScore::of(1.0, "too short to degrade".to_owned())) };
        }
        let distinct = calls.map(distinct_calls);
        let cost = match (distinct, trace.conversation.tokens.spent()) {
            (None, _) => SubScore::unknown("the tool calls were not recorded"),
            (Some(None), _) => SubScore::unknown("the args of repeated calls were not recorded"),
            (_, None) => SubScore::unknown("the tokens were not recorded"),
            (Some(Some(distinct)), Some(tokens)) => {
                let score = cost_per_progress(distinct, tokens);
                // One turn and less than two calls would score 1: without the turns, only a 1 is certain.
                if few_calls == Some(true) && few_turns.is_none() && score.value != Some(1.0) {
                    SubScore::unknown("the turns were not recorded")
                } else {
                    score
                }
            }
        };
        Self {
            scores: [
                calls.map_or_else(|| SubScore::unknown("the tool calls were not recorded"), tool_usage),
                turns.map_or_else(|| SubScore::unknown("the turns were not recorded"), |turns| responses(&turns)),
                match (calls, distinct) {
                    (Some(calls), Some(Some(distinct))) => redundancy(calls.len(), distinct),
                    (Some(_), _) => SubScore::unknown("the args of repeated calls were not recorded"),
                    (None, _) => SubScore::unknown("the tool calls were not recorded"),
                },
                cost,
            ],
        }
    }

    /// The weakest sub-score that has a value, by its place in [`SUB_SCORES`].
    pub fn weakest(&self) -> Option<(usize, f64)> {
        let known = self.scores.iter().enumerate().filter_map(|(at, score)| Some((at, score.value?)));
        known.reduce(|best, next| if next.1 < best.1 { next } else { best })
    }
}

fn tool_usage(calls: &[Call]) -> SubScore {
    let total = calls.len();
    let mut tools: Vec<u32> = calls.iter().map(|call| call.tool).collect();
    tools.sort_unstable();
    tools.dedup();
    let value = if total < 2 { 1.0 } else { 1.0 - (tools.len() as f64 - 1.0) / (total as f64 - 1.0) };
    SubScore::of(value, format!("{} in {}", plural(tools.len(), "tool"), plural(total, "call")))
}

/// Lengths in characters of the turns that carry text.
fn responses(turns: &[Option<&str>]) -> SubScore {
    let lengths: Vec<f64> = turns.iter().flatten().map(|text| text.chars().count() as f64).collect();
    let count = lengths.len() as f64;
    let mean = lengths.iter().sum::<f64>() / count;
    if lengths.len() < 2 || mean <= 0.0 {
        return SubScore::of(1.0, plural(lengths.len(), "text"));
    }
    let variance = lengths.iter().map(|length| (length - mean) * (length - mean)).sum::<f64>() / count;
    let variation = variance.sqrt() / mean;
    SubScore::of(
        1.0 - variation.min(1.0),
        format!("{} of {mean:.0} ± {:.0} characters", plural(lengths.len(), "text"), variance.sqrt()),
    )
}

fn redundancy(total: usize, distinct: usize) -> SubScore {
    let value = if total == 0 { 1.0 } else { distinct as f64 / total as f64 };
    SubScore::of(value, format!("{distinct} distinct of {}", plural(total, "call")))
}

fn cost_per_progress(distinct: usize, tokens: u64) -> SubScore {
    let value = match (tokens, distinct) {
        (0, _) => 1.0,
        (_, 0) => 0.0,
        _ => TARGET_TOKENS / TARGET_TOKENS.max(tokens as f64 / distinct as f64),
    };
    SubScore::of(value, format!("{tokens} tokens for {}", plural(distinct, "distinct call")))
}

/// How many calls differ in tool, server or arguments; `None` when unrecorded arguments leave it open.
fn distinct_calls(calls: &[Call]) -> Option<usize> {
    let mut sorted = calls.to_vec();
    sorted.sort_unstable();
    let same_tool = |pair: &[Call]| (pair[0].tool, pair[0].server) == (pair[1].tool, pair[1].server);
    // Unrecorded arguments sort last, so they stand second in a pair wherever the tool was called twice.
    if sorted.windows(2).any(|pair| same_tool(pair) && pair[1].args == UNRECORDED) {
        return None;
    }
    sorted.dedup();
    Some(sorted.len())
}
