//! The four sub-scores of one session.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use crate::json;
use crate::trace::{Role, ToolCall, Trace};

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
        let calls = trace.tool_calls.as_deref();
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

fn tool_usage(calls: &[ToolCall]) -> SubScore {
    let mut names: Vec<&str> = calls.iter().map(|call| call.name.as_str()).collect();
    let total = names.len();
    names.sort_unstable();
    names.dedup();
    let value = if total < 2 { 1.0 } else { 1.0 - (names.len() as f64 - 1.0) / (total as f64 - 1.0) };
    SubScore::of(value, format!("{} in {}", plural(names.len(), "tool"), plural(total, "call")))
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

fn plural(count: usize, what: &str) -> String {
    if count == 1 { format!("1 {what}") } else { format!("{count} {what}s") }
}

/// How many calls differ in name, server or canonical arguments; `None` when unrecorded arguments leave it open.
fn distinct_calls(calls: &[ToolCall]) -> Option<usize> {
    let mut per_tool: BTreeMap<(&str, Option<&str>), (usize, bool)> = BTreeMap::new();
    for call in calls {
        let (count, blind) = per_tool.entry((&call.name, call.server.as_deref())).or_default();
        *count += 1;
        *blind |= call.args.is_none();
    }
    if per_tool.values().any(|(count, blind)| *blind && *count > 1) {
        return None;
    }
    let mut text = String::new();
    let mut keys: Vec<(u64, usize, usize)> = Vec::with_capacity(calls.len());
    for call in calls {
        let start = text.len();
        // Tool names and servers are length-prefixed, so that no two keys run together.
        let _ = write!(text, "{}:{}", call.name.len(), call.name);
        let _ = match &call.server {
            Some(server) => write!(text, "{}:{server}", server.len()),
            None => write!(text, "-"),
        };
        if let Some(args) = &call.args {
            json::write_canonical(args, &mut text);
        }
        keys.push((spread_hash(&text.as_bytes()[start..]), start, text.len()));
    }
    // Sorted by a hash first: equal keys meet, and only equal hashes are compared in full.
    keys.sort_unstable_by(|a, b| a.0.cmp(&b.0).then_with(|| text[a.1..a.2].cmp(&text[b.1..b.2])));
    keys.dedup_by(|a, b| a.0 == b.0 && text[a.1..a.2] == text[b.1..b.2]);
    Some(keys.len())
}

/// FNV-1a over eight bytes at a time. It only orders keys: a collision costs a comparison, never a wrong count.
fn spread_hash(bytes: &[u8]) -> u64 {
    let (words, rest) = bytes.as_chunks::<8>();
    let mut hash = 0xcbf2_9ce4_8422_2325_u64;
    let mut mix = |word: u64| hash = (hash ^ word).wrapping_mul(0x0100_0000_01b3).rotate_left(29);
    for word in words {
        mix(u64::from_le_bytes(*word));
    }
    for byte in rest {
        mix(u64::from(*byte));
    }
    hash
}
