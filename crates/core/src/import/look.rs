//! A look at the outside of a value, to tell formats apart: its keys or elements, each still as text.

use std::borrow::Cow;
use std::collections::BTreeMap;

use serde_json::value::RawValue;

use super::wire::Text;

/// The outside of a value.
pub(super) enum Look<'a> {
    /// Keys and the text of their values.
    Object(BTreeMap<Cow<'a, str>, &'a RawValue>),
    /// The text of the elements.
    List(Vec<&'a RawValue>),
    /// A scalar.
    Other,
}

impl<'a> Look<'a> {
    /// Looks at a JSON text; `None` when it is none.
    pub(super) fn at(text: &'a str) -> Option<Self> {
        match text.trim_start().as_bytes().first()? {
            b'{' => {
                let map: BTreeMap<Text<'a>, &'a RawValue> = serde_json::from_str(text).ok()?;
                Some(Self::Object(map.into_iter().map(|(key, value)| (key.0, value)).collect()))
            }
            b'[' => serde_json::from_str(text).ok().map(Self::List),
            _ => serde_json::from_str::<serde::de::IgnoredAny>(text).ok().map(|_| Self::Other),
        }
    }

    /// The value of a key; `None` for no object, no key or `null`.
    pub(super) fn get(&self, key: &str) -> Option<&'a RawValue> {
        let Self::Object(map) = self else { return None };
        map.get(key).copied().filter(|value| value.get() != "null")
    }

    /// Whether it is an object with all of these keys.
    pub(super) fn has(&self, keys: &[&str]) -> bool {
        keys.iter().all(|key| self.get(key).is_some())
    }

    /// The text at a key.
    pub(super) fn text(&self, key: &str) -> Option<Cow<'a, str>> {
        serde_json::from_str::<Text<'a>>(self.get(key)?.get()).ok().map(|text| text.0)
    }

    /// A look at the value of a key.
    pub(super) fn inside(&self, key: &str) -> Option<Look<'a>> {
        Look::at(self.get(key)?.get())
    }

    /// A look at every element of a list; nothing for anything else.
    pub(super) fn elements(&self) -> Vec<Look<'a>> {
        let Self::List(items) = self else { return Vec::new() };
        items.iter().filter_map(|item| Look::at(item.get())).collect()
    }
}
