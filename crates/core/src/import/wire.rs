//! Reads the JSON of a record into types, borrowed where possible, with errors that have a place.

use std::borrow::{Borrow, Cow};
use std::cell::OnceCell;
use std::cmp::Ordering;
use std::fmt;
use std::marker::PhantomData;
use std::sync::Arc;

use serde::de::{Deserialize, Deserializer, Error as _, SeqAccess, Visitor};
use serde_json::value::RawValue;
use serde_json::{Map, Value};

use super::ImportError;
use crate::json::{self, JsonError};
use crate::trace::{LazyText, share};

/// Shorter texts are copied where they are kept.
const LONG: usize = 256;

/// Text that is borrowed from its record. Escapes in it are replaced on first use. `serde` copies a `Cow` in an `Option` or a
/// list.
#[derive(Clone)]
pub(super) enum Text<'a> {
    Plain(Cow<'a, str>),
    /// What is between the quotes, and what it says.
    Escaped(&'a str, OnceCell<Arc<String>>),
}

impl<'a> Text<'a> {
    /// The text of a part of a record; `None` for a part that is not a text.
    pub(super) fn part(raw: &'a RawValue) -> Option<Self> {
        let (text, has_escapes) = json::string_part(raw.get())?;
        Some(if has_escapes { Self::Escaped(text, OnceCell::new()) } else { text.into() })
    }

    /// The text of a JSON string with escapes, as a visitor of [`json::TEXT_KEY`] is given it.
    pub(super) fn escaped<D: Deserializer<'a>>(raw: D) -> Result<Self, D::Error> {
        <&str>::deserialize(raw).map(|raw| Self::Escaped(raw, OnceCell::new()))
    }

    pub(super) fn into_cow(self) -> Cow<'a, str> {
        match self {
            Self::Plain(text) => text,
            Self::Escaped(raw, mut text) => {
                text.take().map_or_else(|| json::unescape(raw), Arc::unwrap_or_clone).into()
            }
        }
    }

    pub(super) fn into_owned(self) -> String {
        self.into_cow().into_owned()
    }

    /// The text as it is written: its escapes are not replaced.
    pub(super) fn written(&self) -> &str {
        match self {
            Self::Plain(text) => text,
            Self::Escaped(raw, _) => raw,
        }
    }

    /// The text for a trace.
    pub(super) fn lazy(&self) -> LazyText {
        match self {
            Self::Plain(text) => LazyText::from(&**text),
            Self::Escaped(raw, text) => {
                text.get().map_or_else(|| LazyText::escaped(raw), |text| LazyText::from(text.as_str()))
            }
        }
    }

    /// The same, unless it is empty.
    pub(super) fn said(&self) -> Option<LazyText> {
        (!self.is_empty()).then(|| self.lazy())
    }

    /// Whether it has no characters. An escape stands for one.
    pub(super) fn is_empty(&self) -> bool {
        match self {
            Self::Plain(text) => text.is_empty(),
            Self::Escaped(raw, _) => raw.is_empty(),
        }
    }
}

impl<'a, T: Into<Cow<'a, str>>> From<T> for Text<'a> {
    fn from(text: T) -> Self {
        Self::Plain(text.into())
    }
}

impl fmt::Debug for Text<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}

impl std::ops::Deref for Text<'_> {
    type Target = str;
    fn deref(&self) -> &str {
        match self {
            Self::Plain(text) => text,
            Self::Escaped(raw, text) => text.get_or_init(|| {
                let text = Arc::new(json::unescape(raw));
                // It may be JSON, and parts of it may be kept.
                if text.len() >= LONG {
                    share(&text);
                }
                text
            }),
        }
    }
}

impl Borrow<str> for Text<'_> {
    fn borrow(&self) -> &str {
        self
    }
}

impl PartialEq for Text<'_> {
    fn eq(&self, other: &Self) -> bool {
        **self == **other
    }
}

impl Eq for Text<'_> {}

impl PartialOrd for Text<'_> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Text<'_> {
    fn cmp(&self, other: &Self) -> Ordering {
        (**self).cmp(&**other)
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
                Ok(text.into())
            }
            fn visit_str<E>(self, text: &str) -> Result<Self::Value, E> {
                Ok(text.to_owned().into())
            }
            fn visit_string<E>(self, text: String) -> Result<Self::Value, E> {
                Ok(text.into())
            }
            fn visit_some<D: Deserializer<'de>>(self, raw: D) -> Result<Self::Value, D::Error> {
                Text::escaped(raw)
            }
            fn visit_newtype_struct<D: Deserializer<'de>>(self, from: D) -> Result<Self::Value, D::Error> {
                from.deserialize_str(self)
            }
        }
        deserializer.deserialize_newtype_struct(json::TEXT_KEY, Build)
    }
}

/// A value and its JSON. Only [`crate::json`] can read both at once.
pub(super) struct Kept<'a, T> {
    pub(super) value: T,
    pub(super) json: &'a str,
}

impl<'de: 'a, 'a, T: Deserialize<'de>> Deserialize<'de> for Kept<'a, T> {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct Build<T>(PhantomData<T>);
        impl<'de, T: Deserialize<'de>> Visitor<'de> for Build<T> {
            type Value = Kept<'de, T>;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a JSON value with its text")
            }
            fn visit_seq<A: SeqAccess<'de>>(self, mut both: A) -> Result<Self::Value, A::Error> {
                let value = both.next_element()?;
                let json = both.next_element()?;
                value.zip(json).map(|(value, json)| Kept { value, json }).ok_or_else(|| A::Error::custom("no JSON"))
            }
        }
        from.deserialize_newtype_struct(json::KEPT_KEY, Build(PhantomData))
    }
}

/// An id. Some recorders write the number that it is instead of its digits as text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Id<'a>(pub(super) Cow<'a, str>);

impl<'de: 'a, 'a> Deserialize<'de> for Id<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let raw = <&'de RawValue>::deserialize(deserializer)?.get();
        if raw.bytes().all(|byte| byte.is_ascii_digit()) {
            return Ok(Self(raw.into()));
        }
        serde_json::from_str::<Text<'de>>(raw)
            .map(|text| Self(text.into_cow()))
            .map_err(|_| D::Error::custom("expected a text"))
    }
}

/// A whole number, which may be a text as in OTLP.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Whole(pub(super) u64);

impl<'de> Deserialize<'de> for Whole {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let raw = <&'de RawValue>::deserialize(deserializer)?.get();
        if raw.bytes().all(|byte| byte.is_ascii_digit())
            && let Ok(count) = raw.parse()
        {
            return Ok(Self(count));
        }
        let found: Value = serde_json::from_str(raw).map_err(D::Error::custom)?;
        let text = match &found {
            Value::Number(number) => Cow::Owned(json::number_text(number)),
            Value::String(text) => Cow::Borrowed(text.as_str()),
            _ => Cow::Borrowed(""),
        };
        let wrong =
            || D::Error::custom(format!("expected a whole number of at least 0, found {}", json::describe(&found)));
        text.parse().map(Whole).map_err(|_| wrong())
    }
}

/// A name, which may be a number.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Name(pub(super) String);

impl<'de> Deserialize<'de> for Name {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        match Value::deserialize(deserializer)? {
            Value::String(text) => Ok(Name(text)),
            Value::Number(number) => Ok(Name(json::number_text(&number))),
            other => Err(D::Error::custom(format!("expected a string or a number, found {}", json::describe(&other)))),
        }
    }
}

/// A key that is present even when its value is `null`.
pub(super) fn present<'de, D: Deserializer<'de>, T: Deserialize<'de>>(deserializer: D) -> Result<Option<T>, D::Error> {
    T::deserialize(deserializer).map(Some)
}

/// Refuses a record that is not JSON, or that can be read in two ways.
pub(super) fn check(text: &str) -> Result<(), ImportError> {
    json::check(text).map_err(at_byte)
}

/// Reads a record, or JSON inside a text of it, into the types of its format. Refuses what [`check`] refuses.
pub(super) fn typed<'a, T: Deserialize<'a>>(text: &'a str) -> Result<T, ImportError> {
    json::read(text).map_err(at_byte)
}

/// Reads a piece of a trace. It was checked when it was split off.
pub(super) fn piece<'a, T: Deserialize<'a>>(text: &'a str) -> Result<T, ImportError> {
    json::read_checked(text).map_err(at_byte)
}

/// Reads a part of what was read before.
pub(super) fn part<'a, T: Deserialize<'a>>(raw: &'a RawValue) -> Result<T, ImportError> {
    piece(raw.get())
}

fn at_byte(error: JsonError) -> ImportError {
    let message = if error.is_syntax { format!("it is not JSON: {}", error.message) } else { error.message };
    ImportError { place: error.offset, ..ImportError::new(message) }
}

/// Deepest nesting of a value in a record. An envelope adds some levels around it, and must be readable again.
const MAX_DEPTH: usize = json::MAX_DEPTH - 8;

/// Parses JSON inside a text of the record. A value that would be too deep in an envelope is an error.
pub(super) fn parse(text: &str) -> Result<Value, ImportError> {
    bounded(json::read(text)?, text)
}

fn bounded(value: Value, text: &str) -> Result<Value, ImportError> {
    // Every level takes two bytes, so most values need no walk.
    if text.len() > 2 * MAX_DEPTH && json::deeper_than(&value, MAX_DEPTH) {
        return Err(ImportError::new(format!("it is nested more than {MAX_DEPTH} levels deep")));
    }
    Ok(value)
}

pub(super) fn value(raw: &RawValue) -> Result<Value, ImportError> {
    bounded(json::read_checked(raw.get())?, raw.get())
}

/// Arguments that are JSON in a text. Text that is not JSON is kept, and matches nothing. Empty text and `null` are common for
/// a call without arguments.
pub(super) fn arguments_in_text(text: &str) -> Value {
    if matches!(text.trim(), "" | "null") {
        return Value::Object(Map::new());
    }
    parse(text).unwrap_or_else(|_| Value::String(text.to_owned()))
}

/// Arguments that are a JSON value, or JSON in a text. `null` is a call without arguments.
pub(super) fn arguments(raw: &RawValue) -> Result<Value, ImportError> {
    match value(raw)? {
        Value::Null => Ok(Value::Object(Map::new())),
        Value::String(text) => Ok(arguments_in_text(&text)),
        other => Ok(other),
    }
}

/// Reads a part of a record that may be missing. An error gets the place of the part.
pub(super) fn optional<'a, T>(
    raw: Option<&'a RawValue>,
    read: impl FnOnce(&'a RawValue) -> Result<T, ImportError>,
    place: impl fmt::Display,
) -> Result<Option<T>, ImportError> {
    raw.map(read).transpose().map_err(|error| error.at(place))
}

/// A text or a number as a name; `None` for anything else.
pub(super) fn name(raw: &RawValue) -> Option<String> {
    match serde_json::from_str(raw.get()).ok()? {
        Value::String(text) => Some(text),
        Value::Number(number) => Some(json::number_text(&number)),
        _ => None,
    }
}

/// `null` is read like a missing key.
pub(super) fn null_as_default<'de, D: Deserializer<'de>, T: Deserialize<'de> + Default>(
    deserializer: D,
) -> Result<T, D::Error> {
    Option::<T>::deserialize(deserializer).map(Option::unwrap_or_default)
}

/// Whole milliseconds of a time in seconds.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "neither negative nor beyond 2^53")]
pub(super) fn milliseconds(seconds: f64) -> Option<u64> {
    let ms = (seconds * 1000.0).round();
    (0.0..9_007_199_254_740_992.0).contains(&ms).then_some(ms as u64)
}
