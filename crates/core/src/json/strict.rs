//! Strict reading. A JSON text says one thing or is refused: a duplicate key, half of a surrogate pair or a number beyond
//! any range is an error wherever it is, even under keys that are not read.
//!
//! [`check`] looks at every byte once and builds nothing. A text that passed it can be read with plain `serde`, which
//! skips what it does not need.

use std::borrow::Cow;
use std::cell::RefCell;
use std::fmt;

use serde::de::{Deserialize, DeserializeSeed, Deserializer, Error as _, MapAccess, SeqAccess, Visitor};
use serde_json::Value;

use super::objects::Objects;

/// The key under which `serde_json` presents a float or a long integer to a visitor, as an object with the number's text:
/// with `arbitrary_precision` that is how digits are kept. No text may have this key.
pub const NUMBER_KEY: &str = "$serde_json::private::Number";

/// Objects with more keys than this sort them to find a duplicate; fewer are compared pairwise.
const FEW_KEYS: usize = 16;

/// A JSON text that could not be read, with its position.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JsonError {
    /// Line, from 1; 0 where a value was read, which has no lines.
    pub line: usize,
    /// Column, from 1; 0 likewise.
    pub column: usize,
    /// What is wrong there. It begins with the path where the text is JSON of another shape: `turns[2].role: expected ..`.
    pub message: String,
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
        Self { line: error.line(), column: error.column(), message: message(error) }
    }

    /// The byte in `text` at which it is; `None` when the position is not known.
    pub(crate) fn offset(&self, text: &str) -> Option<usize> {
        let start = match self.line {
            0 => return None,
            1 => 0,
            line => text.bytes().enumerate().filter(|(_, byte)| *byte == b'\n').nth(line - 2)?.0 + 1,
        };
        // The position is the last byte that was read. A list or an object of the wrong kind is not read: it comes next.
        let next = start + self.column;
        let is_next = match text.as_bytes().get(next) {
            Some(b'{') => self.message.ends_with(", found an object"),
            Some(b'[') => self.message.ends_with(", found a list"),
            _ => false,
        };
        Some(if is_next { next } else { (start + self.column.saturating_sub(1)).min(text.len()) })
    }
}

/// Fails for a text that is not JSON or is ambiguous.
pub fn check(text: &str) -> Result<(), JsonError> {
    let mut source = serde_json::Deserializer::from_str(text);
    let walk = Walk::new(text, true, |_| {});
    let checked = (&walk).deserialize(&mut source).and_then(|()| source.end());
    checked.map_err(|error| {
        // If JSON ends too early or goes wrong, the position is enough.
        let path = if error.is_data() { walk.path() } else { String::new() };
        at_path(&path, JsonError::new(&error))
    })
}

/// A string or a number.
pub(crate) enum Scalar<'a> {
    Text(&'a str),
    Number(f64),
}

/// Calls `each` with every string and number that is a value of a JSON text. Duplicate keys and numbers of any size are
/// accepted. After an error, `each` may have missed some.
pub(crate) fn scalars(text: &str, each: impl FnMut(Scalar<'_>)) -> serde_json::Result<()> {
    (&Walk::new(text, false, each)).deserialize(&mut serde_json::Deserializer::from_str(text))
}

/// Reads a JSON text. Unlike `serde_json::from_str`, a duplicate key is an error: keeping the last one silently would let
/// a trace say two things at once.
pub fn parse(text: &str) -> Result<Value, JsonError> {
    check(text)?;
    serde_json::from_str(text).map_err(|error| JsonError::new(&error))
}

/// Reads a text that passed [`check`] into a type. A list is not taken for an object.
pub(crate) fn read<'de, T: Deserialize<'de>>(text: &'de str) -> Result<T, JsonError> {
    let mut source = serde_json::Deserializer::from_str(text);
    match T::deserialize(Objects(&mut source)).and_then(|read| source.end().map(|()| read)) {
        Ok(read) => Ok(read),
        Err(error) => Err(with_path::<T>(text, &error)),
    }
}

/// Reads a value into a type; the error names the path and has no position.
pub(crate) fn read_value<'de, T: Deserialize<'de>>(value: &'de Value) -> Result<T, JsonError> {
    let mut track = serde_path_to_error::Track::new();
    let source = serde_path_to_error::Deserializer::new(value, &mut track);
    T::deserialize(Objects(source)).map_err(|error| at_path(&shown(&track.path()), JsonError::new(&error)))
}

/// Reads again what could not be read, to learn where: keeping track of the path costs time that good input need not pay.
fn with_path<'de, T: Deserialize<'de>>(text: &'de str, error: &serde_json::Error) -> JsonError {
    let error = JsonError::new(error);
    let mut source = serde_json::Deserializer::from_str(text);
    let mut track = serde_path_to_error::Track::new();
    match T::deserialize(Objects(serde_path_to_error::Deserializer::new(&mut source, &mut track))) {
        Ok(_) => error,
        Err(_) => at_path(&shown(&track.path()), error),
    }
}

fn shown(path: &serde_path_to_error::Path) -> String {
    if path.iter().next().is_none() { String::new() } else { path.to_string() }
}

fn at_path(path: &str, error: JsonError) -> JsonError {
    if path.is_empty() {
        return error;
    }
    JsonError { message: shorten(format!("{path}: {}", error.message)), ..error }
}

/// A message of the parser without its place, in the words of JSON: `expected a list, found a string ("x")`.
pub(crate) fn message(error: &serde_json::Error) -> String {
    let full = error.to_string();
    let place = format!(" at line {} column {}", error.line(), error.column());
    let message = full.strip_suffix(&place).unwrap_or(&full);
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

/// What `serde` calls a value, nearly as [`super::describe`] does. Of a number in the wrong place it says no more than that.
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

/// Longest message that is shown whole, in characters. It repeats what was found, which has any length.
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

/// Walks a value. Keeps nothing but the keys of the objects that are open.
struct Walk<'de, F> {
    text: &'de str,
    /// Whether a duplicate key or a number out of range is an error.
    is_strict: bool,
    each: RefCell<F>,
    keys: RefCell<Vec<Cow<'de, str>>>,
    /// Where the first error is, from the inside out.
    path: RefCell<Vec<String>>,
}

impl<'de, F: FnMut(Scalar<'_>)> Walk<'de, F> {
    fn new(text: &'de str, is_strict: bool, each: F) -> Self {
        let (keys, path) = (RefCell::new(Vec::new()), RefCell::new(Vec::new()));
        Self { text, is_strict, each: RefCell::new(each), keys, path }
    }

    fn scalar(&self, found: Scalar<'_>) {
        (self.each.borrow_mut())(found);
    }

    /// Remembers a key of the object that began at `from`. Fails if that object has it already; with many keys,
    /// [`Walk::close`] finds that out.
    fn open<E: serde::de::Error>(&self, from: usize, key: Cow<'de, str>) -> Result<(), E> {
        let mut all = self.keys.borrow_mut();
        let keys = &all[from..];
        if keys.len() < FEW_KEYS && keys.contains(&key) {
            return Err(duplicate(&key));
        }
        all.push(key);
        Ok(())
    }

    /// Adds a step to the path of an error on its way out.
    fn step<T, E>(&self, read: Result<T, E>, step: impl FnOnce() -> String) -> Result<T, E> {
        if read.is_err() {
            self.path.borrow_mut().push(step());
        }
        read
    }

    fn path(&self) -> String {
        let path: String = self.path.borrow().iter().rev().map(String::as_str).collect();
        path.strip_prefix('.').map(str::to_owned).unwrap_or(path)
    }

    /// Forgets the keys of an object that ends. Fails when one of many keys is there twice.
    fn close<E: serde::de::Error>(&self, from: usize) -> Result<(), E> {
        let mut all = self.keys.borrow_mut();
        let keys = &mut all[from..];
        if keys.len() > FEW_KEYS {
            keys.sort_unstable();
            if let Some([key, _]) = keys.array_windows().find(|[key, next]| key == next) {
                return Err(duplicate(key));
            }
        }
        all.truncate(from);
        Ok(())
    }
}

impl<'de, F: FnMut(Scalar<'_>)> DeserializeSeed<'de> for &Walk<'de, F> {
    type Value = ();
    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de, F: FnMut(Scalar<'_>)> Visitor<'de> for &Walk<'de, F> {
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
        self.scalar(Scalar::Number(number as f64));
        Ok(())
    }
    fn visit_i64<E>(self, number: i64) -> Result<(), E> {
        self.scalar(Scalar::Number(number as f64));
        Ok(())
    }
    fn visit_f64<E>(self, number: f64) -> Result<(), E> {
        self.scalar(Scalar::Number(number));
        Ok(())
    }
    fn visit_str<E>(self, text: &str) -> Result<(), E> {
        self.scalar(Scalar::Text(text));
        Ok(())
    }
    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<(), A::Error> {
        let mut at = 0;
        while self.step(list.next_element_seed(self), || format!("[{at}]"))?.is_some() {
            at += 1;
        }
        Ok(())
    }
    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        let from = self.keys.borrow().len();
        while let Some(key) = map.next_key_seed(Key)? {
            if key == NUMBER_KEY {
                // A number that is presented as an object has a key that is not in the text.
                let written = self.text.as_bytes().as_ptr_range();
                if matches!(key, Cow::Owned(_)) || written.contains(&key.as_ptr()) {
                    return Err(A::Error::custom(format!("the key {NUMBER_KEY:?} is reserved")));
                }
                let number: String = map.next_value()?;
                let float = number.parse::<f64>().ok();
                if let Some(float) = float {
                    self.scalar(Scalar::Number(float));
                }
                let is_whole = !number.contains(['.', 'e', 'E']);
                return if is_whole || float.is_some_and(f64::is_finite) || !self.is_strict {
                    Ok(())
                } else {
                    Err(A::Error::custom("number out of range"))
                };
            }
            if !self.is_strict {
                map.next_value_seed(self)?;
                continue;
            }
            self.open(from, key)?;
            let at = self.keys.borrow().len() - 1;
            self.step(map.next_value_seed(self), || format!(".{}", self.keys.borrow()[at]))?;
        }
        self.close(from)
    }
}

fn duplicate<E: serde::de::Error>(key: &str) -> E {
    E::custom(format!("duplicate key {key:?}"))
}

/// A key of an object, borrowed where it has no escapes.
struct Key;

impl<'de> DeserializeSeed<'de> for Key {
    type Value = Cow<'de, str>;
    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        deserializer.deserialize_str(self)
    }
}

impl<'de> Visitor<'de> for Key {
    type Value = Cow<'de, str>;
    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a key")
    }
    fn visit_borrowed_str<E>(self, key: &'de str) -> Result<Self::Value, E> {
        Ok(Cow::Borrowed(key))
    }
    fn visit_str<E>(self, key: &str) -> Result<Self::Value, E> {
        Ok(Cow::Owned(key.to_owned()))
    }
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
