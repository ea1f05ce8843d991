//! What stands as one text or as a list, as the content of a message does, and where in a record a message stands.

use std::fmt;
use std::marker::PhantomData;

use serde::de::{Deserialize, Deserializer, SeqAccess, Visitor};

use super::listed::{Element, elements};
use super::wire::Text;

/// What a message says.
#[derive(Debug)]
pub(super) enum Content<'a, T> {
    /// One text.
    Text(Text<'a>),
    /// Parts, of which each has a type.
    List(Vec<T>),
}

impl<'de: 'a, 'a, T: Deserialize<'de> + Element> Deserialize<'de> for Content<'a, T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Build<T>(PhantomData<T>);
        impl<'de, T: Deserialize<'de> + Element> Visitor<'de> for Build<T> {
            type Value = Content<'de, T>;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a text or a list")
            }
            fn visit_borrowed_str<E>(self, text: &'de str) -> Result<Self::Value, E> {
                Ok(Content::Text(Text(text.into())))
            }
            fn visit_str<E>(self, text: &str) -> Result<Self::Value, E> {
                Ok(Content::Text(Text(text.to_owned().into())))
            }
            fn visit_seq<A: SeqAccess<'de>>(self, list: A) -> Result<Self::Value, A::Error> {
                elements(list).map(Content::List)
            }
        }
        deserializer.deserialize_any(Build(PhantomData))
    }
}

/// Where a message stands, for messages to people.
#[derive(Debug, Clone, Copy)]
pub(super) enum Place<'a> {
    /// At a key.
    Key(&'a str),
    /// In a list, which is the whole record when it has no name.
    Element(&'a str, usize),
}

impl fmt::Display for Place<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Key(key) => f.write_str(key),
            Self::Element(list, at) => write!(f, "{list}[{at}]"),
        }
    }
}

/// Joins the texts of one message; nothing when it has none.
pub(super) fn joined<'t>(texts: impl Iterator<Item = &'t str>) -> Option<String> {
    let mut all: Option<String> = None;
    for text in texts.filter(|text| !text.is_empty()) {
        match &mut all {
            Some(said) => said.extend(["\n", text]),
            None => all = Some(text.to_owned()),
        }
    }
    all
}
