//! Where a value came from: it stands in what an earlier producer returned, as a JSON scalar or in its text.
//!
//! All values all consumers used are looked for at once: one pass over the producers' results finds the earliest
//! call that shows each value, so the cost is linear in calls and text.

use std::borrow::Cow;

use serde_json::Value;

use super::finder::Finder;
use super::{EdgeState, hidden};
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
    let mut needs: Vec<(usize, String)> = Vec::new();
    for consumer in consumers {
        let place = || format!("tool_calls[{consumer}] ({})", calls[*consumer].name);
        let Some(args) = &calls[*consumer].args else {
            unknown.get_or_insert_with(|| format!("the args of {} were not recorded", place()));
            continue;
        };
        let Selection::Found(value) = via.select(args) else {
            return EdgeState::Broken(format!("{} has no argument `{via}`", place()));
        };
        let before = needs.len();
        each_leaf(&value, &mut |leaf| needs.extend(proof(leaf).map(|text| (*consumer, text.into_owned()))));
        if needs.len() == before {
            let shown = json::excerpt(&value, 40);
            return EdgeState::Broken(format!("{}: `{via}` is {shown}, which proves nothing", place()));
        }
    }
    let mut shown = Shown::nothing(needs.iter().map(|(_, scalar)| scalar.as_str()));
    // What is produced after the last consumer proves nothing.
    let last = consumers.last().copied().unwrap_or(0);
    shown.scan(trace, producers.iter().copied().take_while(|producer| *producer < last));
    for (consumer, scalar) in &needs {
        // Calls of one turn are made together: none of them can have read another's result.
        let together = |call: usize| calls[call].turn.is_some() && calls[call].turn == calls[*consumer].turn;
        if shown.first(scalar).is_some_and(|call| call < *consumer && !together(call)) {
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
    unknown.map_or(EdgeState::Held, EdgeState::Unknown)
}

/// The text of a scalar that can prove something: not an empty string, a boolean or null.
fn proof(leaf: &Value) -> Option<Cow<'_, str>> {
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

/// What the producers' results show.
struct Shown<'a> {
    /// The wanted values, in order and each once.
    words: Vec<&'a str>,
    /// The earliest producer call that shows each of them.
    first: Vec<Option<usize>>,
    /// Those that are numbers, in order.
    numbers: Vec<f64>,
    /// The earliest producer call whose result was not recorded.
    unrecorded: Option<usize>,
}

impl<'a> Shown<'a> {
    fn nothing(wanted: impl Iterator<Item = &'a str>) -> Self {
        let mut words: Vec<&str> = wanted.collect();
        words.sort_unstable();
        words.dedup();
        // Adding zero makes one of the two zeros.
        let mut numbers: Vec<f64> = words.iter().filter_map(|word| Some(word.parse::<f64>().ok()? + 0.0)).collect();
        numbers.sort_unstable_by(f64::total_cmp);
        Self { first: vec![None; words.len()], words, numbers, unrecorded: None }
    }

    fn place(&self, text: &str) -> Option<usize> {
        self.words.binary_search(&text).ok()
    }

    fn wants_number(&self, number: f64) -> bool {
        self.numbers.binary_search_by(|wanted| wanted.total_cmp(&(number + 0.0))).is_ok()
    }

    fn first(&self, word: &str) -> Option<usize> {
        self.first[self.place(word)?]
    }

    fn scan(&mut self, trace: &Trace, producers: impl Iterator<Item = usize>) {
        let finder = Finder::new(&self.words);
        for producer in producers {
            let result = trace.result(producer);
            let Some(failed) = result.and_then(ToolResult::failed) else {
                self.unrecorded = self.unrecorded.or(Some(producer));
                continue;
            };
            let Some(result) = result.filter(|_| !failed) else {
                continue;
            };
            if result.content.is_none() && result.structured_content.is_none() {
                self.unrecorded = self.unrecorded.or(Some(producer));
                continue;
            }
            if self.first.iter().all(Option::is_some) {
                continue;
            }
            if let Some(structured) = &result.structured_content {
                self.note_value(structured, producer);
            }
            for (key, part) in result.content.iter().flatten().filter_map(|block| block.as_object()).flatten() {
                // What a block is says nothing about what it carries.
                if !matches!(key.as_str(), "type" | "mimeType" | "annotations" | "_meta") {
                    self.note_value(part, producer);
                }
            }
            for text in result.texts() {
                finder.find(text, &self.words, &mut self.first, producer);
                if self.first.iter().any(Option::is_none)
                    && self.hides_something(text)
                    && let Ok(inner) = serde_json::from_str(text)
                {
                    self.note_value(&inner, producer);
                }
            }
        }
    }

    /// Notes the scalars of a value.
    fn note_value(&mut self, value: &Value, producer: usize) {
        each_leaf(value, &mut |leaf| {
            if leaf.is_number() && self.numbers.is_empty() {
                return;
            }
            if let Some(at) = proof(leaf).and_then(|text| self.place(&text)) {
                self.first[at].get_or_insert(producer);
            }
        });
    }

    /// Whether a text is worth reading as JSON: what its characters show is found without.
    fn hides_something(&self, text: &str) -> bool {
        text.trim_start().starts_with(['{', '['])
            && (text.contains('\\') || !self.numbers.is_empty())
            && hidden::any(text, |word| self.place(word).is_some(), |number| self.wants_number(number))
    }
}

#[cfg(test)]
mod tests {
    use super::super::finder::{SHORT, stands_alone};
    use super::*;
    use proptest::prelude::*;
    use serde_json::json;

    /// Looks for words in the result of one call, a text.
    fn scan(text: &str, words: &[&str]) -> Vec<bool> {
        let envelope = json!({
            "tool_calls": [{ "name": "p" }],
            "tool_results": [{ "is_error": false, "content": [{ "type": "text", "text": text }] }],
        });
        let mut shown = Shown::nothing(words.iter().copied());
        shown.scan(&Trace::read(&envelope).unwrap(), std::iter::once(0));
        words.iter().map(|word| shown.first(word).is_some()).collect()
    }

    /// The same the long way: every text is read as JSON, every place in it is tried.
    fn scan_slowly(text: &str, words: &[&str]) -> Vec<bool> {
        let mut scalars = vec![text.to_owned()];
        if let (true, Ok(inner)) = (text.trim_start().starts_with(['{', '[']), serde_json::from_str::<Value>(text)) {
            each_leaf(&inner, &mut |leaf| scalars.extend(proof(leaf).map(Cow::into_owned)));
        }
        let stands = |word: &str| {
            let mut starts = text.char_indices().map(|(at, _)| at);
            starts.any(|at| text[at..].starts_with(word) && stands_alone(text, at, at + word.len()))
        };
        words.iter().map(|word| scalars.iter().any(|scalar| scalar == word) || stands(word)).collect()
    }

    #[test]
    fn a_value_is_found_however_its_json_spells_it() {
        for (text, word) in [
            (r#"{"a":1.0}"#, "1"),
            (r#"{"a":[1e3]}"#, "1000"),
            ("[-0]", "0"),
            ("[0.50]", "0.5"),
            (r#"["San Jos\u00e9"]"#, "San José"),
            (r#"["a\/b"]"#, "a/b"),
            ("[123456789012345678901]", "123456789012345678901"),
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
        assert_eq!(scan(&text, &words), [true, true, true, true, true, false]);
        assert_eq!(scan_slowly(&text, &words), scan(&text, &words));
    }

    /// Values in many spellings, and what is none.
    const PARTS: [&str; 16] = [
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
        "null",
        "true",
        "a",
        "-",
    ];

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(2_000) })]

        #[test]
        fn reading_json_only_where_it_hides_something_finds_the_same(
            parts in prop::collection::vec(prop::sample::select(&PARTS), 0..5),
            shape in 0..3,
            words in prop::collection::vec(r#"[ab"\\]{1,2}|-?[0-9]{1,2}|1\.5"#, 1..6),
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
