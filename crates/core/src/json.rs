//! JSON as evidence: strict parsing, one layout for writing, canonical text, equality, depth and short descriptions.
//!
//! Equality of arguments is equality of canonical text: keys sorted, integers in decimal, an integral float below
//! 2^53 as that integer, `-0.0` as `0`, any other float in its shortest round-trip form. Nothing here recurses
//! deeper than a stated limit, so a deep value cannot exhaust the stack.

mod layout;
mod reader;
mod strict;
mod strings;

pub use layout::Layout;
pub use reader::NUMBER_KEY;
pub(crate) use reader::{KEPT_KEY, RAW_KEY, TEXT_KEY};
use serde_json::{Number, Value};
pub(crate) use strict::try_checked_seed;
pub use strict::{JsonError, check, parse};
pub(crate) use strict::{Scalar, push_canonical, read, read_checked, read_value, scalars, try_checked, try_read};
pub(crate) use strings::filled;

/// Deepest nesting of lists and objects that a trace or a matched value may have.
pub const MAX_DEPTH: usize = 128;

/// The text of a JSON string with escapes, which were checked. `raw` is what is between the quotes.
pub(crate) fn unescape(raw: &str) -> String {
    let mut bytes = Vec::new();
    strings::unescape(raw, &mut bytes);
    String::from_utf8(bytes).unwrap_or_else(|_| raw.to_owned())
}

/// What is between the quotes of a JSON string that was read before, and whether it has escapes. `None` for anything else.
pub(crate) fn string_part(text: &str) -> Option<(&str, bool)> {
    let raw = text.strip_prefix('"')?.strip_suffix('"')?;
    Some((raw, raw.contains('\\')))
}

/// The closing quote of the string whose first byte after the opening quote is at `begin`. Does not check the string.
pub fn string_end(text: &[u8], begin: usize) -> Option<usize> {
    strings::end(text, begin, false).map(|end| end.at)
}

/// The canonical text of a value.
pub fn canonical(value: &Value) -> String {
    let mut out = String::new();
    write_canonical(value, &mut out);
    out
}

/// Appends the canonical text of `value` to `out`.
pub fn write_canonical(value: &Value, out: &mut String) {
    // Writing into memory cannot fail.
    let _ = Layout::CANONICAL.push_value(value, out);
}

/// The canonical text of a value with every item on its own line and a final newline: for files that are compared line by
/// line.
pub fn pretty(value: &Value) -> String {
    let mut out = String::new();
    let _ = Layout::PRETTY.push_value(value, &mut out);
    out.push('\n');
    out
}

/// The canonical text of a number.
pub fn number_text(number: &Number) -> String {
    layout::canonical_number(number.as_str()).into_owned()
}

/// Whether two values have the same canonical text.
pub fn equal(a: &Value, b: &Value) -> bool {
    let mut pending: Vec<(&Value, &Value)> = Vec::new();
    let mut next = Some((a, b));
    while let Some((a, b)) = next.take().or_else(|| pending.pop()) {
        match (a, b) {
            (Value::Null, Value::Null) => {}
            (Value::Bool(x), Value::Bool(y)) if x == y => {}
            (Value::String(x), Value::String(y)) if x == y => {}
            (Value::Number(x), Value::Number(y)) if numbers_equal(x, y) => {}
            (Value::Array(x), Value::Array(y)) if x.len() == y.len() => {
                pending.extend(x.iter().zip(y));
            }
            (Value::Object(x), Value::Object(y)) if x.len() == y.len() => {
                for (key, left) in x {
                    let Some(right) = y.get(key) else {
                        return false;
                    };
                    pending.push((left, right));
                }
            }
            _ => return false,
        }
    }
    true
}

fn numbers_equal(a: &Number, b: &Number) -> bool {
    a == b || number_text(a) == number_text(b)
}

/// Whether `value` nests lists and objects deeper than `limit` levels. Looks no deeper than that.
pub fn deeper_than(value: &Value, limit: usize) -> bool {
    let inside = |child: &Value| limit == 0 || deeper_than(child, limit - 1);
    match value {
        Value::Array(items) => limit == 0 || items.iter().any(inside),
        Value::Object(map) => limit == 0 || map.values().any(inside),
        _ => false,
    }
}

/// The kind of a value with its article: "a string", "an object".
pub fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "a string",
        Value::Array(_) => "a list",
        Value::Object(_) => "an object",
    }
}

/// The kind of a value and a short look at it: `a string ("abc")`, `a list of 3`.
pub fn describe(value: &Value) -> String {
    match value {
        Value::Null => "null".to_owned(),
        Value::Array(items) => format!("a list of {}", items.len()),
        Value::Object(map) if map.len() == 1 => "an object with 1 key".to_owned(),
        Value::Object(map) => format!("an object with {} keys", map.len()),
        _ => format!("{} ({})", kind(value), excerpt(value, 40)),
    }
}

/// Canonical text cut to `limit` characters, `…` marking the cut.
pub fn excerpt(value: &Value, limit: usize) -> String {
    let text = match value {
        // A megabyte of text is not escaped to show forty characters of it.
        Value::String(long) if long.len() > limit * 4 => {
            let head: String = long.chars().take(limit + 1).collect();
            canonical(&Value::String(head))
        }
        _ => canonical(value),
    };
    cut(&text, limit)
}

/// Two values that differ, each in at most about `limit` characters. Long values with a common prefix are shown from
/// shortly before the first difference.
pub fn excerpts(left: &Value, right: &Value, limit: usize) -> (String, String) {
    /// Characters of the common prefix that are shown.
    const LEAD: usize = 20;
    let (left, right) = (canonical(left), canonical(right));
    let alike = left.chars().zip(right.chars()).take_while(|(left, right)| left == right).count();
    if alike < limit / 2 || left.chars().count().max(right.chars().count()) <= limit {
        return (cut(&left, limit), cut(&right, limit));
    }
    let from = |text: &str| {
        let start = text.char_indices().nth(alike.saturating_sub(LEAD)).map_or(text.len(), |(at, _)| at);
        format!("…{}", cut(&text[start..], limit))
    };
    (from(&left), from(&right))
}

/// `text` cut to `limit` characters, `…` marking the cut.
pub fn cut(text: &str, limit: usize) -> String {
    match text.char_indices().nth(limit) {
        None => text.to_owned(),
        Some((at, _)) => format!("{}…", &text[..at]),
    }
}

/// One step of a JSON pointer, escaped.
pub(crate) fn pointer_step(key: &str) -> String {
    key.replace('~', "~0").replace('/', "~1")
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn canonical_text_sorts_keys_and_normalizes_numbers() {
        let value: Value =
            serde_json::from_str(r#"{"b":[1.0,-0.0,1e3,2.5,-7,{}],"a":{"z":"\u0001\"\\","y":[]}}"#).unwrap();
        assert_eq!(canonical(&value), r#"{"a":{"y":[],"z":"\u0001\"\\"},"b":[1,0,1000,2.5,-7,{}]}"#);
    }

    #[test]
    fn pretty_text_is_laid_out_as_usual_with_sorted_keys() {
        let value = json!({
            "b": [1, [], {}, [[2]], "x,:[{\"\\", "\\"],
            "a": { "c": null, "": "{" },
            "d": "[",
        });
        let usual = serde_json::to_string_pretty(&value).unwrap() + "\n";
        assert_eq!(pretty(&value), usual);
        assert_eq!(pretty(&json!("[")), "\"[\"\n");
        assert_eq!(pretty(&json!([])), "[]\n");
    }

    #[test]
    fn strings_that_end_in_a_bracket_do_not_swallow_the_comma() {
        assert_eq!(canonical(&json!(["[", "{", ["{"]])), r#"["[","{",["{"]]"#);
    }

    #[test]
    fn whole_numbers_are_written_with_all_their_digits() {
        for number in [0, 7, 10, -1, 90_071, i64::MAX, i64::MIN] {
            assert_eq!(canonical(&json!(number)), number.to_string());
        }
        assert_eq!(canonical(&json!(u64::MAX)), u64::MAX.to_string());
    }

    #[test]
    fn large_integers_keep_every_digit_and_stay_distinct() {
        let a = json!(9_007_199_254_740_993_u64);
        let b = json!(9_007_199_254_740_992_u64);
        assert_eq!(canonical(&a), "9007199254740993");
        assert!(!equal(&a, &b));
        assert!(!equal(&b, &json!(9_007_199_254_740_992.0_f64)));
        let long = |text: &str| parse(text).unwrap();
        assert!(equal(&long("123456789012345678901234567890"), &long("123456789012345678901234567890")));
        assert!(!equal(&long("123456789012345678901234567890"), &long("123456789012345678901234567891")));
        assert!(!equal(&long("-18446744073709551617"), &long("-18446744073709551616")));
        assert_eq!(canonical(&long("[123456789012345678901234567890]")), "[123456789012345678901234567890]");
    }

    #[test]
    fn spellings_of_one_float_are_equal() {
        for (text, expected) in
            [("1.50", "1.5"), ("1e2", "100"), ("15e-1", "1.5"), ("1e30", "1e+30"), ("-0", "0"), ("-0.0", "0")]
        {
            assert_eq!(canonical(&parse(text).unwrap()), expected, "{text}");
        }
        assert!(equal(&parse("[2.50,1e3]").unwrap(), &parse("[25e-1,1000]").unwrap()));
    }

    #[test]
    fn equality_follows_canonical_text_not_json_types() {
        assert!(equal(&json!({"n": 1, "m": 0}), &json!({"m": -0.0, "n": 1.0})));
        assert!(!equal(&json!(1), &json!(true)));
        assert!(!equal(&json!(1), &json!("1")));
    }

    #[test]
    fn deep_values_are_measured_and_printed_without_recursion() {
        let mut deep = json!(1);
        for _ in 0..500 {
            deep = json!([deep]);
        }
        assert!(deeper_than(&deep, 499));
        assert!(!deeper_than(&deep, 500));
        assert_eq!(canonical(&deep).len(), 1001);
        assert!(equal(&deep, &deep.clone()));
    }

    #[test]
    fn excerpts_cut_at_characters() {
        assert_eq!(excerpt(&json!("åäö"), 3), "\"åä…");
        assert_eq!(describe(&json!("x".repeat(1_000_000))).chars().count(), 52);
    }
}
