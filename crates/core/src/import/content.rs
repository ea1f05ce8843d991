//! A value that is one text or a list, as the content of a message is.

use std::fmt;
use std::marker::PhantomData;

use serde::de::{Deserialize, Deserializer, SeqAccess, Visitor};

use super::bounded_list::{Element, elements};
use super::wire::Text;
use crate::json;

#[derive(Debug)]
pub(super) enum Content<'a, T> {
    Text(Text<'a>),
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
                Ok(Content::Text(text.into()))
            }
            fn visit_str<E>(self, text: &str) -> Result<Self::Value, E> {
                Ok(Content::Text(text.to_owned().into()))
            }
            fn visit_string<E>(self, text: String) -> Result<Self::Value, E> {
                Ok(Content::Text(text.into()))
            }
            fn visit_some<D: Deserializer<'de>>(self, raw: D) -> Result<Self::Value, D::Error> {
                Text::escaped(raw).map(Content::Text)
            }
            fn visit_newtype_struct<D: Deserializer<'de>>(self, from: D) -> Result<Self::Value, D::Error> {
                from.deserialize_any(self)
            }
            fn visit_seq<A: SeqAccess<'de>>(self, list: A) -> Result<Self::Value, A::Error> {
                elements(list).map(Content::List)
            }
        }
        deserializer.deserialize_newtype_struct(json::TEXT_KEY, Build(PhantomData))
    }
}
