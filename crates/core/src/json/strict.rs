//! Strict reading of JSON texts, with errors in JSON terms.

use std::fmt;
use std::marker::PhantomData;

use serde::de::{Deserialize, DeserializeSeed, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::Value;

use super::MAX_DEPTH;
use super::reader::{Mode, Reader};

/// A JSON text that could not be read, with its position.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JsonError {
    /// Line, from 1; 0 where a value was read, which has no lines.
    pub line: usize,
    /// Column, from 1; 0 if unknown.
    pub column: usize,
    /// What is wrong there. It begins with the path where the text is JSON of another shape: `turns[2].role: expected ..`.
    pub message: String,
    /// The byte at which it is, from 0; `None` where a value was read.
    pub(crate) offset: Option<usize>,
    /// Whether the text is not JSON. Half of a surrogate pair and deep nesting are JSON.
    pub(crate) is_syntax: bool,
}

impl fmt::Display for JsonError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.line > 0 {
            write!(f, "line {}, column {}: ", self.line, self.column)?;
        }
        f.write_str(&self.message)
    }
}

impl std::error::Error for JsonError {}

impl JsonError {
    pub(crate) fn new(error: &serde_json::Error) -> Self {
        let full = error.to_string();
        let place = format!(" at line {} column {}", error.line(), error.column());
        let message = reworded(full.strip_suffix(&place).unwrap_or(&full));
        Self { line: error.line(), column: error.column(), message, offset: None, is_syntax: !error.is_data() }
    }

    /// The byte of the text at its line and column.
    fn byte(&self, text: &str) -> usize {
        let mut ends = text.bytes().enumerate().filter(|(_, byte)| *byte == b'\n');
        let start = self.line.checked_sub(2).and_then(|line| ends.nth(line)).map_or(0, |(end, _)| end + 1);
        (start + self.column.saturating_sub(1)).min(text.len())
    }

    /// An error without a position.
    pub(crate) fn nowhere(message: String) -> Self {
        Self { line: 0, column: 0, message, offset: None, is_syntax: false }
    }
}

/// Fails for a text that is not JSON or is ambiguous.
pub fn check(text: &str) -> Result<(), JsonError> {
    read_with(text, PhantomData::<IgnoredAny>, Reader::new(text, Mode::Strict)).map(|_| ())
}

/// Reads a JSON text. Unlike `serde_json::from_str`, a duplicate key is an error: keeping the last one silently would make
/// a trace ambiguous.
pub fn parse(text: &str) -> Result<Value, JsonError> {
    read(text)
}

/// Reads a text into a type. A list is not taken for an object. If a part does not fit the type, the whole text is still
/// checked, and an error of the text comes first.
pub(crate) fn read<'de, T: Deserialize<'de>>(text: &'de str) -> Result<T, JsonError> {
    read_with(text, PhantomData, Reader::new(text, Mode::Strict))
        .map_err(|error| if error.is_syntax { error } else { check(text).err().unwrap_or(error) })
}

/// The same where something else is tried next, so that an error needs no description.
pub(crate) fn try_read<'de, T: Deserialize<'de>>(text: &'de str) -> Option<T> {
    Reader::new(text, Mode::Strict).whole(PhantomData).ok()
}

/// Reads a text, or a part of one, that was read strictly before.
pub(crate) fn read_checked<'de, T: Deserialize<'de>>(text: &'de str) -> Result<T, JsonError> {
    Reader::new(text, Mode::Checked).whole(PhantomData).or_else(|_| read(text))
}

/// The same where another type is tried next.
pub(crate) fn try_checked<'de, T: Deserialize<'de>>(text: &'de str) -> Option<T> {
    Reader::new(text, Mode::Checked).whole(PhantomData).ok()
}

/// Appends the canonical text of a text that was read before. False if it must be made from its value: keys are not in order.
pub(crate) fn push_canonical(text: &str, out: &mut String) -> bool {
    Reader::new(text, Mode::Checked).canonical(out).unwrap_or(false)
}

/// The same for a type whose reading depends on a value.
pub(crate) fn try_checked_seed<'de, S: DeserializeSeed<'de>>(text: &'de str, seed: S) -> Option<S::Value> {
    Reader::new(text, Mode::Checked).whole(seed).ok()
}

/// Reads a value into a type; the error names the path and has no position.
pub(crate) fn read_value<T: for<'de> Deserialize<'de>>(value: &Value) -> Result<T, JsonError> {
    let text = value.to_string();
    let reader = Reader::new(&text, Mode::Strict).with_depth(MAX_DEPTH);
    read_with(&text, PhantomData, reader).map_err(|error| JsonError::nowhere(error.message))
}

fn read_with<'de, S: DeserializeSeed<'de>>(
    text: &'de str,
    seed: S,
    mut reader: Reader<'de>,
) -> Result<S::Value, JsonError> {
    reader.whole(seed).map_err(|error| {
        let problem = error.into_problem();
        if problem.is_syntax
            && let Err(error) = serde_json::from_str::<Value>(text)
        {
            // Its message describes what is wrong.
            let error = JsonError::new(&error);
            let is_syntax = serde_json::from_str::<IgnoredAny>(text).is_err();
            return JsonError { offset: Some(error.byte(text)), is_syntax, ..error };
        }
        let offset = problem.offset.unwrap_or(0);
        let before = &text.as_bytes()[..text.len().min(offset + 1)];
        let line = 1 + before.split(|byte| *byte == b'\n').count().saturating_sub(1);
        let column = before.len() - before.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
        let (path, message) = (problem.path(), reworded(&problem.message));
        let message = if path.is_empty() { message } else { shorten(format!("{path}: {message}")) };
        JsonError { line, column, message, offset: Some(offset), is_syntax: problem.is_syntax }
    })
}

/// A string or a number.
pub(crate) enum Scalar<'a> {
    Text(&'a str),
    Number(f64),
}

/// Calls `each` with every string and number that is a value of a JSON text. Duplicate keys and numbers of any size are
/// accepted. Returns whether the text could be read: otherwise `each` may have missed some.
pub(crate) fn scalars(text: &str, mut each: impl FnMut(Scalar<'_>)) -> bool {
    Reader::new(text, Mode::Lenient).whole(Scalars(&mut each)).is_ok()
}

struct Scalars<'f, F>(&'f mut F);

impl<'de, F: FnMut(Scalar<'_>)> DeserializeSeed<'de> for Scalars<'_, F> {
    type Value = ();
    fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<(), D::Error> {
        from.deserialize_f64(self)
    }
}

impl<'de, F: FnMut(Scalar<'_>)> Visitor<'de> for Scalars<'_, F> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }
    fn visit_unit<E>(self) -> Result<(), E> {
        Ok(())
    }
    fn visit_bool<E>(self, _: bool) -> Result<(), E> {
        Ok(())
    }
    fn visit_u64<E>(self, number: u64) -> Result<(), E> {
        (self.0)(Scalar::Number(number as f64));
        Ok(())
    }
    fn visit_i64<E>(self, number: i64) -> Result<(), E> {
        (self.0)(Scalar::Number(number as f64));
        Ok(())
    }
    fn visit_f64<E>(self, number: f64) -> Result<(), E> {
        (self.0)(Scalar::Number(number));
        Ok(())
    }
    fn visit_str<E>(self, text: &str) -> Result<(), E> {
        (self.0)(Scalar::Text(text));
        Ok(())
    }
    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<(), A::Error> {
        while list.next_element_seed(Scalars(&mut *self.0))?.is_some() {}
        Ok(())
    }
    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        while map.next_key::<IgnoredAny>()?.is_some() {
            map.next_value_seed(Scalars(&mut *self.0))?;
        }
        Ok(())
    }
}

/// A message in JSON terms: `expected a list, found a string ("x")`.
fn reworded(message: &str) -> String {
    let of_type = message.strip_prefix("invalid type: ");
    let found = of_type.or_else(|| message.strip_prefix("invalid value: "));
    let split = found.and_then(|found| found.rsplit_once(", expected "));
    shorten(split.map_or_else(
        || message.to_owned(),
        |(found, due)| format!("expected {}, found {}", expected(due), kind(found, of_type.is_some())),
    ))
}

fn expected(due: &str) -> &str {
    match due {
        "a sequence" => "a list",
        "a map" => "an object",
        "a boolean" => "true or false",
        "usize" | "u64" | "u32" => "a whole number of at least 0",
        "i64" => "a whole number",
        _ if due.starts_with("struct ") => "an object",
        _ => due,
    }
}

/// What `serde` calls a value, nearly as [`super::describe`] does. For a number in the wrong place it says only that.
fn kind(found: &str, is_type: bool) -> String {
    let inside = |prefix: &str| found.strip_prefix(prefix).map(|rest| rest.trim_matches('`'));
    match found {
        "map" | "Map" => "an object".to_owned(),
        "sequence" => "a list".to_owned(),
        "unit value" => "null".to_owned(),
        _ => {
            let number = inside("integer ").or_else(|| inside("floating point ")).or_else(|| inside("number "));
            if is_type && (number.is_some() || found == "number") {
                "a number".to_owned()
            } else if let Some(number) = number {
                format!("a number ({number})")
            } else if let Some(text) = found.strip_prefix("string ") {
                format!("a string ({})", super::cut(text, 40))
            } else if let Some(flag) = inside("boolean ") {
                format!("a boolean ({flag})")
            } else {
                found.to_owned()
            }
        }
    }
}

/// Maximum characters of a message that is not cut. It quotes the input, which may have any length.
const LONGEST_MESSAGE: usize = 400;

/// The ends of a message that is too long: they say what was found and what was expected.
fn shorten(message: String) -> String {
    let count = message.chars().count();
    if count <= LONGEST_MESSAGE {
        return message;
    }
    let (head, tail) = (LONGEST_MESSAGE / 2, count - LONGEST_MESSAGE / 2);
    message.chars().take(head).chain(['…']).chain(message.chars().skip(tail)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(text: &str) -> String {
        check(text).unwrap_err().to_string()
    }

    #[test]
    fn an_ambiguous_text_is_an_error_at_any_depth() {
        for (text, error) in [
            ("{\"a\": 1,\n \"b\": {\"x\": 1, \"x\": 2}}", "line 2, column 18: b: duplicate key \"x\""),
            (r#"{"a":[0,{"b":{"c":1,"\u0063":2}}]}"#, "line 1, column 28: a[1].b: duplicate key \"c\""),
            (r#"{"a":"\ud800"}"#, "line 1, column 13: unexpected end of hex escape"),
            (r#"{"a":[1e999]}"#, "line 1, column 11: a[0]: number out of range"),
            (
                r#"{"a":{"$serde_json::private::Number":"1"}}"#,
                "line 1, column 36: a: the key \"$serde_json::private::Number\" is reserved",
            ),
            (
                r#"{"\u0024serde_json::private::Number":"1"}"#,
                "line 1, column 36: the key \"$serde_json::private::Number\" is reserved",
            ),
            ("{", "line 1, column 1: EOF while parsing an object"),
            ("{} x", "line 1, column 4: trailing characters"),
        ] {
            assert_eq!(refused(text), error, "{text}");
        }
        let many: Vec<String> = (0..100).map(|key| format!("\"{key}\":0")).collect();
        assert_eq!(check(&format!("{{{}}}", many.join(","))), Ok(()));
        assert!(refused(&format!("{{{},\"42\":1}}", many.join(","))).ends_with("duplicate key \"42\""));
    }

    #[test]
    fn scalars_are_found_however_they_are_spelled() {
        let holds = |text: &str| {
            let mut is_found = false;
            let _ = scalars(text, |scalar| {
                is_found |= match scalar {
                    Scalar::Text(word) => word == "a\"b",
                    Scalar::Number(number) => number.total_cmp(&1000.0).is_eq(),
                };
            });
            is_found
        };
        for text in [
            r#"["a\"b"]"#,
            r#"{"x":{"y":[0,"a\u0022b"]}}"#,
            "[1e3]",
            "[1,1000]",
            r#"{"x":"no","y":1.0E+3}"#,
            r#"{"x":1,"x":2,"y":1000}"#,
            "[1e999,1000]",
        ] {
            assert!(holds(text), "{text}");
        }
        for text in [r#"{"a\"b":1}"#, "[10000]", r#"["1000",-1000,999.5,null,true]"#, r#"["a","b"]"#, "[", "a\"b"] {
            assert!(!holds(text), "{text}");
        }
    }

    #[test]
    fn numbers_of_any_length_are_kept_digit_for_digit() {
        for text in ["123456789012345678901234567890", "-1", "1.50", "1e-7", "[18446744073709551616,0.1]"] {
            assert_eq!(parse(text).unwrap().to_string(), text);
        }
    }

    #[test]
    fn errors_name_the_path_and_what_was_expected_in_json_terms() {
        #[derive(Debug, serde::Deserialize)]
        #[expect(dead_code, reason = "only what cannot be read into it matters here")]
        struct Shape {
            count: usize,
            list: Vec<bool>,
        }
        for (text, message) in [
            ("7", "expected an object, found a number"),
            (r#"{"count": -3}"#, "count: expected a whole number of at least 0, found a number (-3)"),
            (r#"{"list": {}}"#, "list: expected a list, found an object"),
            (r#"{"list": [true, 7]}"#, "list[1]: expected true or false, found a number"),
            (r#"{"list": []}"#, "missing field `count`"),
            ("[1, []]", "expected an object, found a list"),
        ] {
            assert_eq!(read::<Shape>(text).unwrap_err().message, message, "{text}");
        }
    }

    #[test]
    fn a_message_that_repeats_a_long_text_leaves_out_its_middle() {
        let key = "é".repeat(1_000);
        let error = parse(&format!("{{{key:?}:1,{key:?}:2}}")).unwrap_err();
        assert_eq!(error.message, format!("duplicate key \"{}…{}\"", "é".repeat(185), "é".repeat(199)));
    }
}
