//! JSON that is parsed on first use.
//!
//! Most of a recording is what tools answered, and most gates never look at it. It is checked when the recording is read and
//! kept as text; so verdicts do not depend on which reader is used.

use std::fmt;
use std::ops::Deref;
use std::sync::OnceLock;

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::Value;
use serde_json::value::RawValue;

use crate::json;

/// A JSON value, parsed on first use.
#[derive(Clone)]
pub struct LazyValue {
    /// Empty when the value was made by a program and not read.
    text: Box<str>,
    value: OnceLock<Box<Value>>,
}

impl LazyValue {
    /// Whether it is an object. Only checks the first character if it was not parsed yet.
    pub fn is_object(&self) -> bool {
        match self.value.get() {
            Some(value) => value.is_object(),
            None => self.text.starts_with('{'),
        }
    }
}

impl Deref for LazyValue {
    type Target = Value;

    fn deref(&self) -> &Value {
        // The text comes from a JSON parser, so it is valid.
        self.value.get_or_init(|| Box::new(json::parse(&self.text).unwrap_or(Value::Null)))
    }
}

impl From<Value> for LazyValue {
    fn from(value: Value) -> Self {
        Self { text: Box::from(""), value: OnceLock::from(Box::new(value)) }
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
        let raw = Box::<RawValue>::deserialize(from)?;
        Ok(Self { text: raw.into(), value: OnceLock::new() })
    }
}
