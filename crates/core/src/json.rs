//! JSON as evidence: strict parsing, canonical text, equality, depth, and words for what was found.
//!
//! Equality of arguments is equality of canonical text: keys sorted, integers in decimal, an integral float below
//! 2^53 as that integer, `-0.0` as `0`, any other float in its shortest round-trip form. Nothing here recurses
//! deeper than a stated limit, so a deep value cannot exhaust the stack.

mod layout;
mod objects;
mod strict;

use std::fmt::Write as _;
use std::sync::LazyLock;

pub use layout::Layout;
pub(crate) use layout::write_shown;
use serde_json::{Map, Number, Value};
pub use strict::{JsonError, NUMBER_KEY, check, parse};
pub(crate) use strict::{read, read_value};

/// Deepest nesting of lists and objects that a trace or a matched value may have.
pub const MAX_DEPTH: usize = 128;

/// Integral floats below this magnitude are exact integers.
const EXACT_FLOAT: f64 = 9_007_199_254_740_992.0;

/// The canonical text of a value.
pub fn canonical(value: &Value) -> String {
    let mut out = String::new();
    write_canonical(value, &mut out);
    out
}

/// Whether objects keep their keys in order, which a feature of `serde_json` decides for the whole program.
static SORTED: LazyLock<bool> = LazyLock::new(|| {
    let map: Map<String, Value> = ["b", "a"].map(|key| (key.to_owned(), Value::Null)).into_iter().collect();
    map.keys().is_sorted()
});

/// Appends the canonical text of `value` to `out`.
pub fn write_canonical(value: &Value, out: &mut String) {
    enum Open<'a> {
        List(std::slice::Iter<'a, Value>),
        /// Keys in order as they come.
        Object(serde_json::map::Iter<'a>),
        /// Keys put in order, for a build of `serde_json` that keeps the order of insertion.
        Sorted(std::vec::IntoIter<(&'a String, &'a Value)>),
    }
    let mut outer: Vec<Open<'_>> = Vec::new();
    // The innermost stands apart, so that a flat object needs no list of what is around it.
    let mut inner: Option<Open<'_>> = None;
    let mut next = Some(value);
    loop {
        let opened = match next.take() {
            Some(Value::Null) => {
                out.push_str("null");
                None
            }
            Some(Value::Bool(b)) => {
                out.push_str(if *b { "true" } else { "false" });
                None
            }
            Some(Value::Number(n)) => {
                write_number(n, out);
                None
            }
            Some(Value::String(s)) => {
                write_string(s, out);
                None
            }
            Some(Value::Array(items)) => {
                out.push('[');
                Some(Open::List(items.iter()))
            }
            Some(Value::Object(map)) => {
                out.push('{');
                Some(if *SORTED || map.keys().is_sorted() {
                    Open::Object(map.iter())
                } else {
                    let mut entries: Vec<_> = map.iter().collect();
                    entries.sort_unstable_by_key(|(key, _)| *key);
                    Open::Sorted(entries.into_iter())
                })
            }
            None => None,
        };
        if let Some(opened) = opened {
            outer.extend(inner.replace(opened));
        }
        let Some(open) = &mut inner else { return };
        // A closed string ends in a quote, so an opening bracket at the end is always structure.
        let first = matches!(out.as_bytes().last(), Some(b'[' | b'{'));
        let more = match open {
            Open::List(items) => items.next().map(|item| (None, item)),
            Open::Object(entries) => entries.next().map(|(key, item)| (Some(key), item)),
            Open::Sorted(entries) => entries.next().map(|(key, item)| (Some(key), item)),
        };
        let Some((key, item)) = more else {
            out.push(if matches!(open, Open::List(_)) { ']' } else { '}' });
            inner = outer.pop();
            continue;
        };
        if !first {
            out.push(',');
        }
        if let Some(key) = key {
            write_string(key, out);
            out.push(':');
        }
        next = Some(item);
    }
}

/// The canonical text of a value laid out for people, with a final newline: for files that are compared line by line.
pub fn pretty(value: &Value) -> String {
    let mut out = Layout::spread(0);
    out.value(value);
    let mut text = out.take();
    text.push('\n');
    text
}

/// The canonical text of a number.
pub fn number_text(number: &Number) -> String {
    let mut out = String::new();
    write_number(number, &mut out);
    out
}

#[expect(clippy::cast_possible_truncation, reason = "the float is integral and below 2^53")]
fn write_number(number: &Number, out: &mut String) {
    if let Some(whole) = number.as_i64() {
        return write_whole(whole, out);
    }
    // An integer of any length keeps its digits; a float has many spellings and one shortest.
    let float = number.as_f64().filter(|_| number.is_f64());
    // Writing into a String cannot fail.
    let _ = match (float, float.and_then(Number::from_f64)) {
        (Some(float), _) if float.fract() == 0.0 && float.abs() < EXACT_FLOAT => {
            write_whole(float as i64, out);
            Ok(())
        }
        (_, Some(shortest)) => write!(out, "{shortest}"),
        _ => write!(out, "{number}"),
    };
}

/// Digits, without the machinery of formatting, which takes longer than they do.
fn write_whole(whole: i64, out: &mut String) {
    if whole < 0 {
        out.push('-');
    }
    let mut digits = [0; 20];
    let mut start = digits.len();
    let mut left = whole.unsigned_abs();
    loop {
        start -= 1;
        digits[start] = b'0' + (left % 10) as u8;
        left /= 10;
        if left == 0 {
            break;
        }
    }
    out.push_str(str::from_utf8(&digits[start..]).unwrap_or(""));
}

/// Whether a text stands between quotes as it is.
pub(crate) fn is_plain(text: &str) -> bool {
    const EACH: u64 = u64::MAX / 255;
    const TOP: u64 = EACH << 7;
    // The top bit of a byte below a limit. A borrow sets bits only above a byte that was found anyway.
    let below = |word: u64, limit: u64| word.wrapping_sub(EACH * limit) & !word & TOP;
    let odd = |bytes: &[u8; 8]| {
        let word = u64::from_le_bytes(*bytes);
        let is = |byte: u8| below(word ^ (EACH * u64::from(byte)), 1);
        below(word, 0x20) | is(b'"') | is(b'\\')
    };
    let Some(last) = text.as_bytes().last_chunk() else { return !text.bytes().any(is_escaped) };
    // Most texts need no escape: looking at all of it is quicker than stopping at the first.
    let (words, _) = text.as_bytes().as_chunks();
    words.iter().fold(odd(last), |found, word| found | odd(word)) == 0
}

fn is_escaped(byte: u8) -> bool {
    byte < 0x20 || byte == b'"' || byte == b'\\'
}

fn write_string(text: &str, out: &mut String) {
    out.reserve(text.len() + 2);
    out.push('"');
    if is_plain(text) {
        out.push_str(text);
        out.push('"');
        return;
    }
    let mut plain = 0;
    for (at, byte) in text.bytes().enumerate() {
        if !is_escaped(byte) {
            continue;
        }
        out.push_str(&text[plain..at]);
        plain = at + 1;
        let _ = match byte {
            b'"' => out.write_str("\\\""),
            b'\\' => out.write_str("\\\\"),
            b'\n' => out.write_str("\\n"),
            b'\r' => out.write_str("\\r"),
            b'\t' => out.write_str("\\t"),
            control => write!(out, "\\u{control:04x}"),
        };
    }
    out.push_str(&text[plain..]);
    out.push('"');
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

/// Two values that differ, each in at most about `limit` characters. Long ones that start alike are shown from shortly before
/// the place where they part.
pub fn excerpts(left: &Value, right: &Value, limit: usize) -> (String, String) {
    /// Characters that both have in common before that place, as far as they are shown.
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
    fn canonical_text_sorts_keys_and_normalises_numbers() {
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
    fn a_text_is_plain_unless_any_of_its_characters_is_escaped() {
        for odd in ['"', '\\', '\u{0}', '\n', '\u{1f}'] {
            for (before, after) in [(0, 0), (3, 0), (7, 5), (8, 0), (15, 9), (40, 41)] {
                let text = "a".repeat(before) + &odd.to_string() + &"é".repeat(after);
                assert!(!is_plain(&text), "{text:?}");
            }
        }
        for plain in ["", "a", " !#[]~\u{7f}\u{80}", "åäö, twenty and more bytes", "\u{10ffff}"] {
            assert!(is_plain(plain), "{plain:?}");
        }
    }

    #[test]
    fn whole_numbers_are_written_with_all_their_digits() {
        for number in [0, 7, 10, -1, 90_071, i64::MAX, i64::MIN] {
            assert_eq!(canonical(&json!(number)), number.to_string());
        }
        assert_eq!(canonical(&json!(u64::MAX)), u64::MAX.to_string());
    }

    #[test]
    fn large_integers_keep_every_digit_and_stay_apart() {
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
