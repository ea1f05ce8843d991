//! Where a value came from: an earlier producer returned it, as a JSON scalar or in its text.
//!
//! Calls of one turn are made together, so none of them can use the result of another. If a turn was not recorded, the
//! order is unknown.
//!
//! All values of all consumers are searched for at once: one pass over the producers' results finds the earliest call that
//! returned each value, so the cost is linear in calls and text.

use std::borrow::Cow;

use serde_json::Value;

use super::EdgeState;
use super::finder::{Finder, is_too_short};
use crate::json::{self, Scalar};
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
    let mut needs: Vec<(usize, String)> = Vec::new();
    for consumer in consumers {
        let place = || format!("tool_calls[{consumer}] ({})", calls[*consumer].name);
        let args = match &calls[*consumer].args {
            Some(args) if !args.is_string() => args,
            other => {
                let why = if other.is_some() { "could not be parsed" } else { "were not recorded" };
                unknown.get_or_insert_with(|| format!("the args of {} {why}", place()));
                continue;
            }
        };
        let Selection::Found(value) = via.select(args) else {
            return EdgeState::Broken(format!("{} has no argument `{via}`", place()));
        };
        let before = needs.len();
        each_leaf(&value, &mut |leaf| needs.extend(provable_text(leaf).map(|text| (*consumer, text.into_owned()))));
        if needs.len() == before {
            let shown = json::excerpt(&value, 40);
            return EdgeState::Broken(format!(
                "{}: `{via}` is {shown}, which cannot prove where it came from",
                place()
            ));
        }
    }
    let mut returned = Returned::nothing(needs.iter().map(|(_, scalar)| scalar.as_str()));
    // Results after the last consumer prove nothing.
    let last = consumers.last().copied().unwrap_or(0);
    returned.scan(trace, calls, producers.iter().copied().take_while(|producer| *producer < last));
    for (consumer, scalar) in &needs {
        let value = json::cut(scalar, 40);
        match returned.by(scalar).before(*consumer, calls) {
            Before::Surely(_) => continue,
            Before::Perhaps(call) => {
                let untimed = if calls[call].turn.is_none() { call } else { *consumer };
                unknown.get_or_insert_with(|| {
                    format!(
                        "`{via}` of tool_calls[{consumer}] ({value}) is in the result of tool_calls[{call}], but whether that call \
                         came earlier is unknown: the turn of tool_calls[{untimed}] was not recorded"
                    )
                });
                continue;
            }
            Before::No => {}
        }
        match returned.unrecorded.before(*consumer, calls) {
            Before::Surely(call) | Before::Perhaps(call) => {
                unknown.get_or_insert_with(|| {
                    // A result without a status may be that of a failed call.
                    let lacks = if trace.result(call).is_some_and(shows) { "status" } else { "result" };
                    format!("`{via}` of tool_calls[{consumer}] ({value}) may come from tool_calls[{call}], whose {lacks} was not recorded")
                });
            }
            Before::No => {
                return EdgeState::Broken(format!(
                    "`{via}` of tool_calls[{consumer}] ({value}) is not in any earlier successful result of {}",
                    calls[producers[0]].name
                ));
            }
        }
    }
    unknown.map_or(EdgeState::Held, EdgeState::Unknown)
}

/// The earliest of some producer calls.
#[derive(Debug, Clone, Copy, Default)]
struct Earliest {
    /// Among those whose turn was recorded.
    timed: Option<usize>,
    /// Among the others.
    untimed: Option<usize>,
}

/// Whether a call came before another, in an earlier turn.
enum Before {
    Surely(usize),
    Perhaps(usize),
    No,
}

impl Earliest {
    fn before(self, consumer: usize, calls: &[ToolCall]) -> Before {
        let dispatched = |call: &usize| *call < consumer;
        let (timed, untimed) = (self.timed.filter(dispatched), self.untimed.filter(dispatched));
        match (timed, calls[consumer].turn) {
            (Some(call), Some(turn)) if calls[call].turn < Some(turn) => Before::Surely(call),
            (Some(call), None) => Before::Perhaps(call),
            _ => untimed.map_or(Before::No, Before::Perhaps),
        }
    }
}

/// The text of a scalar that can prove its origin: not an empty string, a boolean or null.
fn provable_text(leaf: &Value) -> Option<Cow<'_, str>> {
    match leaf {
        Value::String(text) if !text.trim().is_empty() => Some(Cow::Borrowed(text)),
        Value::Number(number) => Some(Cow::Owned(json::number_text(number))),
        _ => None,
    }
}

/// Calls `found` with every scalar of a value.
fn each_leaf(value: &Value, found: &mut impl FnMut(&Value)) {
    let mut pending = Vec::new();
    let mut next = Some(value);
    while let Some(value) = next.take().or_else(|| pending.pop()) {
        match value {
            Value::Array(items) => pending.extend(items.iter().rev()),
            Value::Object(map) => pending.extend(map.values()),
            leaf => found(leaf),
        }
    }
}

/// Whether the content of a result was recorded.
fn shows(result: &ToolResult) -> bool {
    result.content.is_some() || result.structured_content.is_some()
}

/// Which of the wanted values the producers' results contain.
struct Returned<'a> {
    /// The wanted values, sorted, each once.
    words: Vec<&'a str>,
    /// The earliest producer call with a recorded turn that returned each of them.
    timed: Vec<Option<usize>>,
    /// The same for calls without a recorded turn.
    untimed: Vec<Option<usize>>,
    /// The wanted numbers, sorted.
    numbers: Vec<f64>,
    /// Whether some are too short to search for in text.
    any_too_short: bool,
    /// The earliest producer calls whose result was not recorded.
    unrecorded: Earliest,
}

impl<'a> Returned<'a> {
    fn nothing(wanted: impl Iterator<Item = &'a str>) -> Self {
        let mut words: Vec<&str> = wanted.collect();
        words.sort_unstable();
        words.dedup();
        // Adding zero turns -0 into 0.
        let mut numbers: Vec<f64> = words.iter().filter_map(|word| Some(word.parse::<f64>().ok()? + 0.0)).collect();
        numbers.sort_unstable_by(f64::total_cmp);
        Self {
            timed: vec![None; words.len()],
            untimed: vec![None; words.len()],
            any_too_short: words.iter().any(|word| is_too_short(word)),
            words,
            numbers,
            unrecorded: Earliest::default(),
        }
    }

    fn place(&self, text: &str) -> Option<usize> {
        self.words.binary_search(&text).ok()
    }

    fn wants_number(&self, number: f64) -> bool {
        self.numbers.binary_search_by(|wanted| wanted.total_cmp(&(number + 0.0))).is_ok()
    }

    /// The earliest calls that returned a word.
    fn by(&self, word: &str) -> Earliest {
        self.place(word)
            .map_or_else(Earliest::default, |at| Earliest { timed: self.timed[at], untimed: self.untimed[at] })
    }

    fn scan(&mut self, trace: &Trace, calls: &[ToolCall], producers: impl Iterator<Item = usize>) {
        let finder = Finder::new(&self.words);
        for producer in producers {
            let is_timed = calls[producer].turn.is_some();
            let result = trace.result(producer);
            let failed = result.and_then(ToolResult::failed);
            if failed == Some(true) {
                continue;
            }
            let Some(result) = result.filter(|result| failed.is_some() && shows(result)) else {
                let Earliest { timed, untimed } = &mut self.unrecorded;
                if is_timed { timed } else { untimed }.get_or_insert(producer);
                continue;
            };
            let mut first = std::mem::take(if is_timed { &mut self.timed } else { &mut self.untimed });
            self.note(result, producer, &finder, &mut first);
            *(if is_timed { &mut self.timed } else { &mut self.untimed }) = first;
        }
    }

    /// Records the words that this result contains and no earlier one did.
    fn note(&self, result: &ToolResult, producer: usize, finder: &Finder, first: &mut [Option<usize>]) {
        let is_done = |first: &[Option<usize>]| first.iter().all(Option::is_some);
        if is_done(first) {
            return;
        }
        if let Some(structured) = &result.structured_content {
            self.note_value(structured, producer, first);
        }
        for (key, part) in result.content.iter().flatten().filter_map(|block| block.as_object()).flatten() {
            // The kind of a block is not a value it carries.
            if !matches!(key.as_str(), "type" | "mimeType" | "annotations" | "_meta") {
                self.note_value(part, producer, first);
            }
        }
        for text in result.texts() {
            finder.find(text, &self.words, first, producer);
            if !is_done(first)
                && self.may_have_more(text)
                && let Ok(inner) = serde_json::from_str(text)
            {
                self.note_value(&inner, producer, first);
            }
        }
    }

    /// Records the scalars of a value.
    fn note_value(&self, value: &Value, producer: usize, first: &mut [Option<usize>]) {
        each_leaf(value, &mut |leaf| {
            if leaf.is_number() && self.numbers.is_empty() {
                return;
            }
            if let Some(at) = provable_text(leaf).and_then(|text| self.place(&text)) {
                first[at].get_or_insert(producer);
            }
        });
    }

    /// Whether a text may be JSON with scalars that a text search misses: escaped, spelled differently, too short, or in a
    /// list of numbers.
    fn may_have_more(&self, text: &str) -> bool {
        text.trim_start().starts_with(['{', '[', '"'])
            && (text.contains('\\') || !self.numbers.is_empty() || self.any_too_short)
            && self.may_be_scalar_of(text)
    }

    fn may_be_scalar_of(&self, text: &str) -> bool {
        let mut is_found = false;
        let is_read = json::scalars(text, |scalar| {
            is_found |= match scalar {
                Scalar::Text(word) => self.place(word).is_some(),
                Scalar::Number(number) => self.wants_number(number),
            };
        });
        // A reserved key is an error here, but `serde_json` may read the text.
        is_found || !is_read
    }
}

#[cfg(test)]
mod tests {
    use super::super::finder::{SHORT, is_whole};
    use super::*;
    use proptest::prelude::*;
    use serde_json::json;

    /// Looks for words in the result of one call, a text.
    fn scan(text: &str, words: &[&str]) -> Vec<bool> {
        let envelope = json!({
            "tool_calls": [{ "name": "p" }],
            "tool_results": [{ "is_error": false, "content": [{ "type": "text", "text": text }] }],
        });
        let mut returned = Returned::nothing(words.iter().copied());
        let trace = Trace::from_envelope(&envelope).unwrap();
        returned.scan(&trace, trace.tool_calls.as_deref().unwrap(), std::iter::once(0));
        words.iter().map(|word| returned.by(word).untimed.is_some()).collect()
    }

    /// The same the long way: every text is read as JSON, every place in it is tried.
    fn scan_slowly(text: &str, words: &[&str]) -> Vec<bool> {
        let mut scalars = vec![text.to_owned()];
        if let (true, Ok(inner)) = (text.trim_start().starts_with(['{', '[', '"']), serde_json::from_str::<Value>(text))
        {
            each_leaf(&inner, &mut |leaf| scalars.extend(provable_text(leaf).map(Cow::into_owned)));
        }
        let is_in_text = |word: &str| {
            let mut starts = text.char_indices().map(|(at, _)| at);
            !is_too_short(word) && starts.any(|at| text[at..].starts_with(word) && is_whole(text, at, at + word.len()))
        };
        words.iter().map(|word| scalars.iter().any(|scalar| scalar == word) || is_in_text(word)).collect()
    }

    #[test]
    fn a_value_is_found_in_every_json_spelling() {
        let huge = "1".repeat(400);
        for (text, word) in [
            (r#"{"a":1.0}"#, "1"),
            (r#"{"a":[1e3]}"#, "1000"),
            ("[-0]", "0"),
            ("[0.50]", "0.5"),
            (r#"["San Jos\u00e9"]"#, "San José"),
            (r#"["a\/b"]"#, "a/b"),
            ("[1,200,3]", "200"),
            (r#"["A7"]"#, "A7"),
            (r#""A7""#, "A7"),
            ("[7]", "7"),
            ("[123456789012345678901]", "123456789012345678901"),
            (&format!("[1,{huge},2]"), &huge),
            (r#"{"a":1,"$serde_json::private::Number":"x","b":[7]}"#, "7"),
            (r#"{"a":1,"$serde_json::private::Number":5,"b":"\u0061"}"#, "a"),
            (r#"[{"$serde_json::private::Number":"7.0"}]"#, "7"),
        ] {
            assert_eq!((scan(text, &[word]), scan_slowly(text, &[word])), (vec![true], vec![true]), "{word} in {text}");
        }
        for (text, word) in [(r#"{"a":1.0,"a":2}"#, "1"), (r#"["San Jos\u00e9""#, "San José"), ("1.0", "1")] {
            assert_eq!(
                (scan(text, &[word]), scan_slowly(text, &[word])),
                (vec![false], vec![false]),
                "{word} in {text}"
            );
        }
    }

    #[test]
    fn a_long_value_is_found_among_short_ones() {
        let long = "x y ".repeat(SHORT) + "z";
        let text = format!("a {long}, {}", &long[4..]);
        let words = [long.as_str(), &long[4..], &long[2..], "a", "z", "zz"];
        assert_eq!(scan(&text, &words), [true, true, true, false, false, false]);
        assert_eq!(scan_slowly(&text, &words), scan(&text, &words));
    }

    /// Values in many spellings, and text that is not a value.
    const PARTS: [&str; 18] = [
        "1",
        "1.0",
        "1e1",
        "-0",
        "1.50",
        "-7.0",
        "[1.0]",
        r#""a""#,
        r#""\u0061""#,
        r#""a\"b""#,
        r#""\\""#,
        r#"{"a":"\u0062"}"#,
        r#"{"a":1,"$serde_json::private::Number":"7","b":12}"#,
        r#"{"$serde_json::private::Number":"7.0"}"#,
        "null",
        "true",
        "a",
        "-",
    ];

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(2_000) })]

        #[test]
        fn parsing_json_only_where_needed_finds_the_same(
            parts in prop::collection::vec(prop::sample::select(&PARTS), 0..5),
            shape in 0..3,
            words in prop::collection::vec(r#"[ab"\\]{1,4}|-?[0-9]{1,3}|1\.5"#, 1..6),
        ) {
            let text = match shape {
                0 => format!("[{}]", parts.join(",")),
                1 => format!(r#"{{"k":{}}}"#, parts.join(r#","k":"#)),
                _ => parts.join(" "),
            };
            let words: Vec<&str> = words.iter().map(String::as_str).collect();
            prop_assert_eq!(scan(&text, &words), scan_slowly(&text, &words));
        }
    }
}
