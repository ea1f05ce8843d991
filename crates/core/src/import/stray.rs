//! Keys under which other programs keep the calls of a message. A format that does not have such a key would pass over it,
//! and with it over calls; so the key is named here, and refused when there is something in it.

use std::fmt::{self, Display};

use serde::de::{Deserialize, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};

use super::ImportError;

/// Whether something that could be calls stands at a key: a list or an object with anything in it, or the JSON of one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Stray(bool);

impl<'de> Deserialize<'de> for Stray {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Build;
        impl<'de> Visitor<'de> for Build {
            type Value = Stray;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("anything")
            }
            fn visit_unit<E>(self) -> Result<Stray, E> {
                Ok(Stray(false))
            }
            fn visit_bool<E>(self, _: bool) -> Result<Stray, E> {
                Ok(Stray(false))
            }
            fn visit_i64<E>(self, _: i64) -> Result<Stray, E> {
                Ok(Stray(false))
            }
            fn visit_u64<E>(self, _: u64) -> Result<Stray, E> {
                Ok(Stray(false))
            }
            fn visit_f64<E>(self, _: f64) -> Result<Stray, E> {
                Ok(Stray(false))
            }
            fn visit_str<E>(self, text: &str) -> Result<Stray, E> {
                Ok(Stray(text.trim_start().starts_with(['[', '{'])))
            }
            fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Stray, A::Error> {
                let mut any = false;
                while list.next_element::<IgnoredAny>()?.is_some() {
                    any = true;
                }
                Ok(Stray(any))
            }
            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Stray, A::Error> {
                let mut any = false;
                while map.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {
                    any = true;
                }
                Ok(Stray(any))
            }
        }
        deserializer.deserialize_any(Build)
    }
}

/// Refuses the first of these keys of the value at `place` that holds something.
pub(super) fn refuse(place: &dyn Display, keys: &[(&str, Stray)]) -> Result<(), ImportError> {
    match keys.iter().find(|(_, stray)| stray.0) {
        None => Ok(()),
        Some((key, _)) => {
            Err(ImportError::new(format!("{place}.{key} is no key of this format, and could hold calls"))
                .hint("a trace without those calls could be judged wrongly; write them as this format has them"))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_could_be_calls_is_something() {
        for (text, expected) in [
            ("null", false),
            ("true", false),
            ("3", false),
            ("-3", false),
            ("1.5", false),
            ("\"\"", false),
            ("\"three\"", false),
            ("[]", false),
            ("{}", false),
            ("\"[{}]\"", true),
            ("[[]]", true),
            ("[1, {\"a\": [2]}]", true),
            ("{\"a\": null}", true),
        ] {
            assert_eq!(serde_json::from_str::<Stray>(text).unwrap(), Stray(expected), "{text}");
        }
    }
}
