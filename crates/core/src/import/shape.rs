//! The outermost level of a JSON value, to recognize formats by: its keys or elements, each still as text.

use std::borrow::Cow;
use std::collections::BTreeMap;

use serde_json::value::RawValue;

use super::wire::Text;
use crate::json;

pub(super) enum Shape<'a> {
    Object(BTreeMap<Text<'a>, &'a RawValue>),
    List(Vec<&'a RawValue>),
    Other,
}

impl<'a> Shape<'a> {
    /// Looks at a JSON text; `None` when it is none.
    pub(super) fn of(text: &'a str) -> Option<Self> {
        // A text that is ambiguous is JSON too.
        match text.trim_start().as_bytes().first()? {
            b'{' => json::try_read(text).or_else(|| serde_json::from_str(text).ok()).map(Self::Object),
            b'[' => json::try_read(text).or_else(|| serde_json::from_str(text).ok()).map(Self::List),
            _ => serde_json::from_str::<serde::de::IgnoredAny>(text).ok().map(|_| Self::Other),
        }
    }

    /// The same for a text that was read before, or a part of it.
    pub(super) fn part(text: &'a str) -> Option<Self> {
        match text.trim_start().as_bytes().first()? {
            b'{' => json::read_checked(text).ok().map(Self::Object),
            b'[' => json::read_checked(text).ok().map(Self::List),
            _ => Some(Self::Other),
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
        Text::part(self.get(key)?).map(Text::into_cow)
    }

    /// The value at a path such as `request.messages`.
    pub(super) fn find(&self, path: &str) -> Option<&'a RawValue> {
        match path.split_once('.') {
            Some((key, rest)) => self.child(key)?.find(rest),
            None => self.get(path),
        }
    }

    pub(super) fn child(&self, key: &str) -> Option<Shape<'a>> {
        Shape::part(self.get(key)?.get())
    }

    /// The elements of a list; none for anything else.
    pub(super) fn elements(&self) -> Vec<Shape<'a>> {
        let Self::List(items) = self else { return Vec::new() };
        items.iter().filter_map(|item| Shape::part(item.get())).collect()
    }
}
