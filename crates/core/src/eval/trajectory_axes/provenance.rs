//! Where a value came from: it stands in what an earlier producer returned, as a JSON scalar or in its text.
//!
//! All values all consumers used are looked for at once: one pass over the producers' results finds the earliest
//! call that shows each value, so the cost is linear in calls and text.

use std::collections::{BTreeMap, BTreeSet};

use aho_corasick::{AhoCorasick, AhoCorasickKind, MatchKind};
use serde_json::Value;

use super::EdgeState;
use crate::json;
use crate::target::{Selection, Target};
use crate::trace::{ToolCall, ToolResult, Trace};

/// Whether every value at `via` in the consumers' arguments came from an earlier producer.
pub(super) fn check(
    trace: &Trace,
    calls: &[ToolCall],
    producers: &[usize],
    consumers: &[usize],
    via: &Target,
) -> EdgeState {
    let mut unknown = None;
    let mut needs: Vec<(usize, Vec<String>)> = Vec::new();
    for consumer in consumers {
        let place = || format!("tool_calls[{consumer}] ({})", calls[*consumer].name);
        let Some(args) = &calls[*consumer].args else {
            unknown.get_or_insert_with(|| format!("the args of {} were not recorded", place()));
            continue;
        };
        let Selection::Found(value) = via.select(args) else {
            return EdgeState::Broken(format!("{} has no argument `{via}`", place()));
        };
        let scalars = scalars(&value);
        if scalars.is_empty() {
            let shown = json::excerpt(&value, 40);
            return EdgeState::Broken(format!("{}: `{via}` is {shown}, which proves nothing", place()));
        }
        needs.push((*consumer, scalars));
    }
    let wanted: BTreeSet<&str> = needs.iter().flat_map(|(_, scalars)| scalars).map(String::as_str).collect();
    let shown = Shown::scan(trace, producers, &wanted);
    for (consumer, scalars) in &needs {
        for scalar in scalars {
            // Calls of one turn are made together: none of them can have read another's result.
            let together = |call: usize| calls[call].turn.is_some() && calls[call].turn == calls[*consumer].turn;
            if shown.first.get(scalar.as_str()).is_some_and(|call| call < consumer && !together(*call)) {
                continue;
            }
            let value = json::cut(scalar, 40);
            if let Some(call) = shown.unrecorded.filter(|call| call < consumer) {
                unknown.get_or_insert_with(|| {
                    format!("`{via}` of tool_calls[{consumer}] ({value}) may come from tool_calls[{call}], whose result was not recorded")
                });
            } else {
                return EdgeState::Broken(format!(
                    "`{via}` of tool_calls[{consumer}] ({value}) stands in no earlier good result of {}",
                    calls[producers[0]].name
                ));
            }
        }
    }
    unknown.map_or(EdgeState::Held, EdgeState::Unknown)
}

/// The texts of the scalars that can prove something: not empty strings, booleans or null.
fn scalars(value: &Value) -> Vec<String> {
    let mut out = Vec::new();
    each_scalar(value, &mut |text| out.push(text.to_owned()));
    out
}

fn each_scalar(value: &Value, found: &mut impl FnMut(&str)) {
    let mut pending = vec![value];
    while let Some(value) = pending.pop() {
        match value {
            Value::String(text) if !text.trim().is_empty() => found(text),
            Value::Number(number) => found(&json::number_text(number)),
            Value::Array(items) => pending.extend(items.iter().rev()),
            Value::Object(map) => pending.extend(map.values()),
            _ => {}
        }
    }
}

/// What the producers' results show.
struct Shown<'a> {
    /// The earliest producer call that shows each wanted value.
    first: BTreeMap<&'a str, usize>,
    /// The earliest producer call whose result was not recorded.
    unrecorded: Option<usize>,
}

impl<'a> Shown<'a> {
    fn scan(trace: &Trace, producers: &[usize], wanted: &BTreeSet<&'a str>) -> Self {
        let mut out = Self { first: BTreeMap::new(), unrecorded: None };
        let words: Vec<&str> = wanted.iter().copied().collect();
        let finder = AhoCorasick::builder()
            .match_kind(MatchKind::Standard)
            .kind(Some(AhoCorasickKind::ContiguousNFA))
            .build(&words)
            .ok();
        for producer in producers {
            let result = trace.result(*producer);
            let Some(failed) = result.and_then(ToolResult::failed) else {
                out.unrecorded = out.unrecorded.or(Some(*producer));
                continue;
            };
            let Some(result) = result.filter(|_| !failed) else {
                continue;
            };
            if result.content.is_none() && result.structured_content.is_none() {
                out.unrecorded = out.unrecorded.or(Some(*producer));
                continue;
            }
            let mut note = |text: &str| {
                if let Some(word) = wanted.get(text) {
                    out.first.entry(word).or_insert(*producer);
                }
            };
            if let Some(structured) = &result.structured_content {
                each_scalar(structured, &mut note);
            }
            for (key, part) in result.content.iter().flatten().filter_map(Value::as_object).flatten() {
                // What a block is says nothing about what it carries.
                if !matches!(key.as_str(), "type" | "mimeType" | "annotations" | "_meta") {
                    each_scalar(part, &mut note);
                }
            }
            for text in result.texts() {
                if text.trim_start().starts_with(['{', '['])
                    && let Ok(inner) = serde_json::from_str(text)
                {
                    each_scalar(&inner, &mut note);
                }
                for found in finder.iter().flat_map(|finder| finder.find_overlapping_iter(text)) {
                    if stands_alone(text, found.start(), found.end()) {
                        note(words[found.pattern().as_usize()]);
                    }
                }
            }
        }
        out
    }
}

/// Whether a piece of text is a token of its own: no letter, digit or `_` touches it, and no `-` or `.` ties it to
/// one (`12` is not in `12.5` or `A-12`).
fn stands_alone(text: &str, start: usize, end: usize) -> bool {
    let word = |c: char| c.is_alphanumeric() || c == '_';
    let tied = |mut side: &mut dyn Iterator<Item = char>| {
        let next = side.next();
        match next {
            Some('-' | '.') => (&mut side).next().is_some_and(word),
            Some(c) => word(c),
            None => false,
        }
    };
    // A minus sign in front of a number changes it, whatever stands before the sign.
    let digit_first = text[start..end].starts_with(|c: char| c.is_ascii_digit());
    let negated = digit_first && text[..start].ends_with('-');
    let piece_edges_are_words = (text[start..].starts_with(word), text[..end].ends_with(word));
    let left = piece_edges_are_words.0 && (negated || tied(&mut text[..start].chars().rev()));
    let right = piece_edges_are_words.1 && tied(&mut text[end..].chars());
    !left && !right
}

#[cfg(test)]
mod tests {
    use super::stands_alone;

    fn alone(text: &str, piece: &str) -> bool {
        text.match_indices(piece).any(|(at, _)| stands_alone(text, at, at + piece.len()))
    }

    #[test]
    fn a_value_counts_only_as_a_token_of_its_own() {
        for (text, piece, expected) in [
            ("flight HAT042 found", "HAT042", true),
            ("flight XHAT042", "HAT042", false),
            ("flight HAT042B", "HAT042", false),
            ("id:42, next", "42", true),
            ("costs 42.50", "42", false),
            ("costs 42.", "42", true),
            ("delta -42", "42", false),
            ("room A-42", "42", false),
            ("see https://x.test/a?b=1.", "https://x.test/a?b=1", true),
            ("user_id", "id", false),
            ("\"San José\"", "San José", true),
            ("San Joséphine", "San José", false),
            ("report.pdf", "report", false),
        ] {
            assert_eq!(alone(text, piece), expected, "{piece} in {text}");
        }
    }
}
