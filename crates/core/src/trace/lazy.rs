//! JSON and texts that are read on first use.
//!
//! Most of a recording is what was said and what tools answered, and most gates never look at it. It is checked when the
//! recording is read and kept as it is written; so verdicts do not depend on which reader is used.

use std::fmt;
use std::ops::Deref;
use std::sync::{Arc, OnceLock};

use serde::de::{Deserialize, Deserializer, Error as _, IgnoredAny, MapAccess, Visitor};
use serde::{Serialize, Serializer};
use serde_json::{Value, json};

use super::shared::SharedText;
use crate::json;

/// A JSON value, parsed on first use.
#[derive(Clone)]
pub struct LazyValue {
    source: Source,
    value: OnceLock<Box<Value>>,
}

#[derive(Clone)]
enum Source {
    /// The value was made by a program and not read.
    Made,
    Json(SharedText),
    /// A content block with this text.
    Text(LazyText),
}

impl LazyValue {
    /// A content block with a text.
    pub(crate) fn text_block(text: LazyText) -> Self {
        Self { source: Source::Text(text), value: OnceLock::new() }
    }

    /// The text of a content block.
    pub fn text(&self) -> Option<&str> {
        match &self.source {
            Source::Text(text) => Some(text),
            Source::Made | Source::Json(_) => self.get("text")?.as_str(),
        }
    }

    /// The same to share, where it can be shared.
    pub(crate) fn shared_text(&self) -> Option<LazyText> {
        match &self.source {
            Source::Text(text) => Some(text.clone()),
            Source::Made | Source::Json(_) => self.text().map(LazyText::from),
        }
    }

    /// Whether it is an object. Only checks the first character if it was not parsed yet.
    pub fn is_object(&self) -> bool {
        match &self.source {
            Source::Made => self.value.get().is_some_and(|value| value.is_object()),
            Source::Json(text) => text.starts_with('{'),
            Source::Text(_) => true,
        }
    }
}

impl Deref for LazyValue {
    type Target = Value;

    fn deref(&self) -> &Value {
        self.value.get_or_init(|| {
            Box::new(match &self.source {
                Source::Made => Value::Null,
                // The text comes from a JSON parser, so it is valid.
                Source::Json(text) => json::parse(text).unwrap_or(Value::Null),
                Source::Text(text) => json!({ "type": "text", "text": &**text }),
            })
        })
    }
}

impl From<Value> for LazyValue {
    fn from(value: Value) -> Self {
        Self { source: Source::Made, value: OnceLock::from(Box::new(value)) }
    }
}

impl PartialEq for LazyValue {
    fn eq(&self, other: &Self) -> bool {
        **self == **other
    }
}

impl PartialEq<Value> for LazyValue {
    fn eq(&self, other: &Value) -> bool {
        **self == *other
    }
}

impl fmt::Debug for LazyValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}

impl Serialize for LazyValue {
    fn serialize<S: Serializer>(&self, out: S) -> Result<S::Ok, S::Error> {
        (**self).serialize(out)
    }
}

impl<'de> Deserialize<'de> for LazyValue {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        /// Takes JSON that is kept as text: a part of the text that is read, or a text that was made, as of a `Value`.
        struct Build;
        impl<'de> Visitor<'de> for Build {
            type Value = SharedText;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("any valid JSON value")
            }
            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<SharedText, A::Error> {
                let raw = map.next_entry::<IgnoredAny, LazyText>()?;
                raw.map(|(_, raw)| SharedText::from(&*raw)).ok_or_else(|| A::Error::missing_field(json::RAW_KEY))
            }
        }
        let raw = from.deserialize_newtype_struct(json::RAW_KEY, Build)?;
        Ok(Self { source: Source::Json(raw), value: OnceLock::new() })
    }
}

/// A text that is shared where it is repeated, and whose escapes are replaced on first use.
#[derive(Clone)]
pub struct LazyText(Repr);

#[derive(Clone)]
enum Repr {
    /// A text as it is in its record.
    Part(SharedText),
    Owned(Arc<String>),
    Escaped(Arc<Escaped>),
}

/// A text with escapes.
#[derive(Clone)]
struct Escaped {
    /// What was between the quotes of the JSON string.
    raw: SharedText,
    text: OnceLock<String>,
}

impl LazyText {
    /// The text of a JSON string with escapes, which were checked. `raw` is what is between the quotes.
    pub(crate) fn escaped(raw: &str) -> Self {
        Self(Repr::Escaped(Arc::new(Escaped { raw: raw.into(), text: OnceLock::new() })))
    }

    /// What was between the quotes of the JSON string, if its escapes were not replaced yet.
    pub(crate) fn raw(&self) -> Option<&str> {
        match &self.0 {
            Repr::Escaped(text) => text.text.get().is_none().then_some(&*text.raw),
            Repr::Part(_) | Repr::Owned(_) => None,
        }
    }

    /// What a JSON string of the text has between its quotes, if that is known without writing it.
    fn as_json(&self) -> Option<&SharedText> {
        match &self.0 {
            // It had no escapes.
            Repr::Part(text) => Some(text),
            Repr::Owned(_) => None,
            Repr::Escaped(text) => text.text.get().is_none().then_some(&text.raw),
        }
    }

    /// Whether the text is empty. An escape stands for a character.
    pub fn is_empty(&self) -> bool {
        match &self.0 {
            Repr::Escaped(text) => text.raw.is_empty(),
            Repr::Part(_) | Repr::Owned(_) => (**self).is_empty(),
        }
    }

    /// Appends a text.
    pub(crate) fn push_str(&mut self, more: &str) {
        let mut whole = std::mem::take(self).into_string();
        whole.push_str(more);
        *self = whole.into();
    }

    /// The texts of one message, a line each; `None` when there are none.
    pub(crate) fn joined(texts: impl Iterator<Item = Self>) -> Option<Self> {
        let mut all = None;
        texts.for_each(|text| Self::join(&mut all, text));
        all
    }

    /// Adds a text of the same message.
    pub(crate) fn join(all: &mut Option<Self>, text: Self) {
        let Some(first) = all else {
            *all = Some(text);
            return;
        };
        // A joined text is not part of another one, so the next text is appended: joining many this way would take too long.
        if let (Some(one), Some(other)) = (first.as_json().filter(|one| one.is_part()), text.as_json()) {
            let raw = SharedText::from([one, "\\n", other].concat());
            *first = Self(Repr::Escaped(Arc::new(Escaped { raw, text: OnceLock::new() })));
        } else {
            first.push_str("\n");
            first.push_str(&text);
        }
    }

    /// The text as one that nobody else has.
    pub fn into_string(self) -> String {
        match self.0 {
            Repr::Part(text) => (*text).to_owned(),
            Repr::Owned(text) => Arc::unwrap_or_clone(text),
            Repr::Escaped(text) => match Arc::try_unwrap(text) {
                Ok(Escaped { raw, mut text }) => text.take().unwrap_or_else(|| json::unescape(&raw)),
                Err(shared) => Self(Repr::Escaped(shared)).to_string(),
            },
        }
    }
}

impl Deref for LazyText {
    type Target = str;

    fn deref(&self) -> &str {
        match &self.0 {
            Repr::Part(text) => text,
            Repr::Owned(text) => text,
            Repr::Escaped(text) => text.text.get_or_init(|| json::unescape(&text.raw)),
        }
    }
}

impl Default for LazyText {
    fn default() -> Self {
        Self::from(String::new())
    }
}

impl From<String> for LazyText {
    fn from(text: String) -> Self {
        Self(Repr::Owned(Arc::new(text)))
    }
}

impl From<&str> for LazyText {
    fn from(text: &str) -> Self {
        SharedText::part(text).map_or_else(|| text.to_owned().into(), |part| Self(Repr::Part(part)))
    }
}

impl PartialEq for LazyText {
    fn eq(&self, other: &Self) -> bool {
        let is_one = match (&self.0, &other.0) {
            (Repr::Escaped(one), Repr::Escaped(other)) => Arc::ptr_eq(one, other) || *one.raw == *other.raw,
            _ => false,
        };
        is_one || **self == **other
    }
}

impl Eq for LazyText {}

impl PartialEq<str> for LazyText {
    fn eq(&self, other: &str) -> bool {
        **self == *other
    }
}

impl PartialEq<&str> for LazyText {
    fn eq(&self, other: &&str) -> bool {
        **self == **other
    }
}

impl fmt::Debug for LazyText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}

impl fmt::Display for LazyText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self)
    }
}

impl Serialize for LazyText {
    fn serialize<S: Serializer>(&self, out: S) -> Result<S::Ok, S::Error> {
        (**self).serialize(out)
    }
}

impl<'de> Deserialize<'de> for LazyText {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct Build;
        impl<'de> Visitor<'de> for Build {
            type Value = LazyText;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a string")
            }
            fn visit_str<E>(self, text: &str) -> Result<LazyText, E> {
                Ok(text.into())
            }
            fn visit_string<E>(self, text: String) -> Result<LazyText, E> {
                Ok(text.into())
            }
            fn visit_some<D: Deserializer<'de>>(self, raw: D) -> Result<LazyText, D::Error> {
                <&str>::deserialize(raw).map(LazyText::escaped)
            }
            fn visit_newtype_struct<D: Deserializer<'de>>(self, from: D) -> Result<LazyText, D::Error> {
                from.deserialize_str(self)
            }
        }
        from.deserialize_newtype_struct(json::TEXT_KEY, Build)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> LazyText {
        json::read(text).unwrap()
    }

    #[test]
    fn a_text_is_the_same_however_it_was_made() {
        let escaped = read(r#""a \"b\" \u00e9\n""#);
        assert_eq!(escaped.raw(), Some(r#"a \"b\" \u00e9\n"#));
        assert!(!escaped.is_empty());
        let copy = escaped.clone();
        assert_eq!(escaped, "a \"b\" é\n");
        assert_eq!((escaped.raw(), copy.raw()), (None, None));
        assert_eq!(copy.into_string(), "a \"b\" é\n");
        assert_eq!(serde_json::from_str::<LazyText>(r#""a \"b\" é\n""#).unwrap(), escaped);
        let (mut empty, plain) = (read("\"\""), read("\"plain\""));
        assert!(empty.is_empty() && LazyText::default().is_empty());
        assert_eq!(plain, LazyText::from("plain"));
        empty.push_str("more");
        assert_eq!(empty, "more");
        let mut appended = escaped.clone();
        appended.push_str("!");
        assert_eq!((&*appended, &*escaped), ("a \"b\" é\n!", "a \"b\" é\n"));
    }

    #[test]
    fn a_block_of_text_is_the_value_that_it_stands_for() {
        let block = LazyValue::text_block(read(r#""two\nlines""#));
        assert_eq!(block.text(), Some("two\nlines"));
        assert!(block.is_object());
        assert_eq!(block, json!({ "type": "text", "text": "two\nlines" }));
    }

    #[test]
    fn a_value_is_read_from_a_text_a_value_or_a_stream() {
        let expected = json!({ "a": ["x\n", 1.5] });
        let text = expected.to_string();
        assert_eq!(read_value(&text), expected);
        assert_eq!(serde_json::from_str::<LazyValue>(&text).unwrap(), expected);
        assert_eq!(serde_json::from_value::<LazyValue>(expected.clone()).unwrap(), expected);
        assert_eq!(serde_json::from_reader::<_, LazyValue>(text.as_bytes()).unwrap(), expected);
    }

    fn read_value(text: &str) -> LazyValue {
        json::read(text).unwrap()
    }

    #[test]
    fn only_a_string_is_a_text() {
        let error = json::read::<LazyText>("[1]").unwrap_err();
        assert_eq!(error.message, "expected a string, found a list");
    }
}
