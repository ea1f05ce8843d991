//! JSON values of any shape: the outermost level of one, to recognize formats by, and objects where anything else may be.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;
use std::marker::PhantomData;

use serde::de::value::{MapAccessDeserializer, SeqAccessDeserializer};
use serde::de::{Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};
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

/// A value of one shape, where any other is as good as none: [`Object`] or [`List`].
#[derive(Default)]
pub(super) struct Lenient<T, const IS_LIST: bool>(pub(super) T);

/// An object. Anything else is one without keys.
pub(super) type Object<T> = Lenient<T, false>;

/// A list. Anything else is an empty one.
pub(super) type List<T> = Lenient<Vec<T>, true>;

impl<'de, T: Deserialize<'de> + Default, const IS_LIST: bool> Deserialize<'de> for Lenient<T, IS_LIST> {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct Build<T, const IS_LIST: bool>(PhantomData<T>);
        impl<'de, T: Deserialize<'de> + Default, const IS_LIST: bool> Visitor<'de> for Build<T, IS_LIST> {
            type Value = T;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a JSON value")
            }
            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<T, A::Error> {
                if IS_LIST { Ok(T::default()) } else { T::deserialize(MapAccessDeserializer::new(map)) }
            }
            fn visit_seq<A: SeqAccess<'de>>(self, list: A) -> Result<T, A::Error> {
                if IS_LIST { T::deserialize(SeqAccessDeserializer::new(list)) } else { Ok(T::default()) }
            }
            fn visit_unit<E>(self) -> Result<T, E> {
                Ok(T::default())
            }
            fn visit_bool<E>(self, _: bool) -> Result<T, E> {
                Ok(T::default())
            }
            fn visit_u64<E>(self, _: u64) -> Result<T, E> {
                Ok(T::default())
            }
            fn visit_i64<E>(self, _: i64) -> Result<T, E> {
                Ok(T::default())
            }
            fn visit_f64<E>(self, _: f64) -> Result<T, E> {
                Ok(T::default())
            }
            fn visit_str<E>(self, _: &str) -> Result<T, E> {
                Ok(T::default())
            }
        }
        // Otherwise some numbers are presented as objects.
        from.deserialize_f64(Build::<T, IS_LIST>(PhantomData)).map(Self)
    }
}
