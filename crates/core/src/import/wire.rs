//! Reading the JSON of a record: typed, borrowed where it can be, with errors that say where.

mod objects;

use std::borrow::Cow;
use std::fmt;

use serde::de::{Deserialize, Deserializer, Error as _, IgnoredAny, Visitor};
use serde_json::value::RawValue;
use serde_json::{Map, Number, Value};

use super::ImportError;
use crate::json;
use objects::Objects;

/// Text that stays in its record unless it has escapes. `Cow` alone is copied inside an `Option` or a list.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Text<'a>(pub(super) Cow<'a, str>);

impl std::ops::Deref for Text<'_> {
    type Target = str;
    fn deref(&self) -> &str {
        &self.0
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for Text<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Build;
        impl<'de> Visitor<'de> for Build {
            type Value = Text<'de>;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a text")
            }
            fn visit_borrowed_str<E>(self, text: &'de str) -> Result<Self::Value, E> {
                Ok(Text(Cow::Borrowed(text)))
            }
            fn visit_str<E>(self, text: &str) -> Result<Self::Value, E> {
                Ok(Text(Cow::Owned(text.to_owned())))
            }
            fn visit_string<E>(self, text: String) -> Result<Self::Value, E> {
                Ok(Text(Cow::Owned(text)))
            }
        }
        deserializer.deserialize_str(Build)
    }
}

/// A whole number that may stand as a number or, as 64-bit numbers do on some wires, as text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Whole(pub(super) u64);

impl<'de> Deserialize<'de> for Whole {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Build;
        impl Visitor<'_> for Build {
            type Value = Whole;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a whole number")
            }
            fn visit_u64<E>(self, number: u64) -> Result<Whole, E> {
                Ok(Whole(number))
            }
            fn visit_i64<E: serde::de::Error>(self, number: i64) -> Result<Whole, E> {
                u64::try_from(number).map(Whole).map_err(|_| E::custom(format!("{number} is below 0")))
            }
            #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "whole and below 2^53")]
            fn visit_f64<E: serde::de::Error>(self, number: f64) -> Result<Whole, E> {
                let is_whole = number.fract() == 0.0 && (0.0..9_007_199_254_740_992.0).contains(&number);
                if is_whole { Ok(Whole(number as u64)) } else { Err(E::custom(format!("{number} is no whole number"))) }
            }
            fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<Whole, E> {
                text.parse().map(Whole).map_err(|_| E::custom(format!("{text:?} is no whole number")))
            }
        }
        deserializer.deserialize_any(Build)
    }
}

/// A name that may stand as a text or as a number.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Name(pub(super) String);

impl<'de> Deserialize<'de> for Name {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Build;
        impl Visitor<'_> for Build {
            type Value = Name;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a text or a number")
            }
            fn visit_u64<E>(self, number: u64) -> Result<Name, E> {
                Ok(Name(number.to_string()))
            }
            fn visit_i64<E>(self, number: i64) -> Result<Name, E> {
                Ok(Name(number.to_string()))
            }
            fn visit_f64<E: serde::de::Error>(self, number: f64) -> Result<Name, E> {
                let number = Number::from_f64(number).ok_or_else(|| E::custom(format!("{number} is no number")))?;
                Ok(Name(json::number_text(&number)))
            }
            fn visit_str<E>(self, text: &str) -> Result<Name, E> {
                Ok(Name(text.to_owned()))
            }
        }
        deserializer.deserialize_any(Build)
    }
}

/// A value that is there even when it is `null`, for keys where that differs from no key.
pub(super) fn even_null<'de, D: Deserializer<'de>, T: Deserialize<'de>>(
    deserializer: D,
) -> Result<Option<T>, D::Error> {
    T::deserialize(deserializer).map(Some)
}

/// Reads JSON into a shape, in which only objects are objects.
pub(super) fn shaped<'a, T: Deserialize<'a>>(text: &'a str) -> serde_json::Result<T> {
    let mut json = serde_json::Deserializer::from_str(text);
    let read = T::deserialize(Objects(&mut json))?;
    json.end()?;
    Ok(read)
}

/// Reads a record, or a part of one, into the shape its format has.
pub(super) fn typed<'a, T: Deserialize<'a>>(text: &'a str) -> Result<T, ImportError> {
    shaped(text).map_err(|error| {
        let message = told(text, &json::told(&error));
        ImportError { offset: offset(text, error.line(), error.column()), message, hint: None }
    })
}

/// A message of the parser, in which text that is no JSON is told apart from JSON of another shape.
pub(super) fn told(text: &str, message: &str) -> String {
    let is_json = serde_json::from_str::<IgnoredAny>(text).is_ok();
    format!("{}{}", if is_json { "" } else { "it is no JSON: " }, message)
}

/// The byte at a line and a column (counted in bytes, as `serde_json` does), both from 1.
pub(super) fn offset(text: &str, line: usize, column: usize) -> Option<usize> {
    if line == 0 {
        return None;
    }
    let start = match line {
        1 => 0,
        _ => text.bytes().enumerate().filter(|(_, byte)| *byte == b'\n').nth(line - 2)?.0 + 1,
    };
    Some((start + column.saturating_sub(1)).min(text.len()))
}

/// Deepest nesting of a value in a record. An envelope lays some levels around a value, and has to be read again.
const MAX_DEPTH: usize = json::MAX_DEPTH - 8;

/// A JSON text that holds a value of a trace. A key that stands twice is an error, and so is a value that would be too
/// deep in an envelope.
pub(super) fn parse(text: &str) -> Result<Value, ImportError> {
    let value = json::parse(text).map_err(|error| ImportError::new(error.message))?;
    // Every level takes two bytes, which spares most values the walk.
    if text.len() > 2 * MAX_DEPTH && json::deeper_than(&value, MAX_DEPTH) {
        return Err(ImportError::new(format!("it is nested more than {MAX_DEPTH} levels deep")));
    }
    Ok(value)
}

/// A JSON value in full.
pub(super) fn value(raw: &RawValue) -> Result<Value, ImportError> {
    parse(raw.get())
}

/// Arguments that stand as a JSON text. Text that is no JSON is kept as it is, and matches nothing; nothing at all and
/// `null` are how many write a call without arguments.
pub(super) fn arguments_in_text(text: &str) -> Value {
    if matches!(text.trim(), "" | "null") {
        return Value::Object(Map::new());
    }
    parse(text).unwrap_or_else(|_| Value::String(text.to_owned()))
}

/// Arguments in either form: a JSON value, or a JSON text that holds one. `null` is a call without arguments.
pub(super) fn arguments(raw: &RawValue) -> Result<Value, ImportError> {
    match value(raw)? {
        Value::Null => Ok(Value::Object(Map::new())),
        Value::String(text) => Ok(arguments_in_text(&text)),
        other => Ok(other),
    }
}

/// The name a record gives itself: a text or a number. Anything else names nothing.
pub(super) fn name(raw: &RawValue) -> Option<String> {
    match json::parse(raw.get()).ok()? {
        Value::String(text) => Some(text),
        Value::Number(number) => Some(json::number_text(&number)),
        _ => None,
    }
}

/// `null` is the same as nothing.
pub(super) fn nothing_for_null<'de, D: Deserializer<'de>, T: Deserialize<'de> + Default>(
    deserializer: D,
) -> Result<T, D::Error> {
    Option::<T>::deserialize(deserializer).map(Option::unwrap_or_default).map_err(D::Error::custom)
}
