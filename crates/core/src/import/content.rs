//! The content of a message where it is either one text or a list of parts, and where in a record a message stands.

use std::fmt;
use std::marker::PhantomData;

use serde::de::{Deserialize, Deserializer, SeqAccess, Visitor};

use super::wire::Text;

/// What a message says.
#[derive(Debug)]
pub(super) enum Content<'a, B> {
    /// One text.
    Text(Text<'a>),
    /// Parts, of which each has a type.
    Blocks(Vec<B>),
}

impl<'de: 'a, 'a, B: Deserialize<'de>> Deserialize<'de> for Content<'a, B> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Build<B>(PhantomData<B>);
        impl<'de, B: Deserialize<'de>> Visitor<'de> for Build<B> {
            type Value = Content<'de, B>;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a text or a list of blocks")
            }
            fn visit_borrowed_str<E>(self, text: &'de str) -> Result<Self::Value, E> {
                Ok(Content::Text(Text(text.into())))
            }
            fn visit_str<E>(self, text: &str) -> Result<Self::Value, E> {
                Ok(Content::Text(Text(text.to_owned().into())))
            }
            fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Self::Value, A::Error> {
                let mut blocks = Vec::new();
                while let Some(block) = list.next_element()? {
                    blocks.push(block);
                }
                Ok(Content::Blocks(blocks))
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
