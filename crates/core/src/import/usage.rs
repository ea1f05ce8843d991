//! Reads the tokens of a reply in one pass. Most replies report them, so this must not build a map of everything there.

use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, IgnoredAny, MapAccess, Visitor};

use super::message::{Usage, UsageKeys};
use super::wire::{Text, Whole};

/// The counts at the keys of an API.
pub(super) struct Counts<'k>(pub(super) &'k UsageKeys);

impl<'de> DeserializeSeed<'de> for Counts<'_> {
    type Value = Usage;
    fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<Usage, D::Error> {
        from.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for Counts<'_> {
    type Value = Usage;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object with counts of tokens")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Usage, A::Error> {
        let Self(keys) = self;
        let mut usage = Usage::default();
        while let Some(key) = map.next_key::<Text<'de>>()? {
            let key = &*key;
            let count = if key == keys.input {
                &mut usage.input
            } else if key == keys.output {
                &mut usage.output
            } else if Some(key) == keys.total {
                &mut usage.total
            } else if Some(key) == keys.written {
                &mut usage.written
            } else if Some(key) == keys.cached.first().copied() {
                if let [_, inner] = keys.cached {
                    usage.cached = map.next_value_seed(Count(inner))?;
                    continue;
                }
                &mut usage.cached
            } else {
                map.next_value::<IgnoredAny>()?;
                continue;
            };
            *count = map.next_value::<Option<Whole>>()?.map(|count| count.0);
        }
        Ok(usage)
    }
}

/// The count at one key of an object, which may be `null`.
struct Count(&'static str);

impl<'de> DeserializeSeed<'de> for Count {
    type Value = Option<u64>;
    fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<Option<u64>, D::Error> {
        from.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for Count {
    type Value = Option<u64>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object with counts of tokens")
    }

    fn visit_unit<E>(self) -> Result<Option<u64>, E> {
        Ok(None)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Option<u64>, A::Error> {
        let mut count = None;
        while let Some(key) = map.next_key::<Text<'de>>()? {
            if &*key == self.0 {
                count = map.next_value::<Option<Whole>>()?.map(|count| count.0);
            } else {
                map.next_value::<IgnoredAny>()?;
            }
        }
        Ok(count)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::value::RawValue;

    use super::*;
    use crate::json;

    const NESTED: UsageKeys = UsageKeys {
        input: "input",
        output: "output",
        total: Some("total"),
        cached: &["details", "cached"],
        written: Some("written"),
    };
    const FLAT: UsageKeys = UsageKeys { total: None, cached: &["cached"], written: None, ..NESTED };

    #[test]
    fn one_pass_finds_what_a_map_of_all_keys_has() {
        for text in [
            "{}",
            r#"{"input":1,"output":"2","total":3,"details":{"cached":4,"other":[5]},"written":6,"more":{"input":7}}"#,
            r#"{"in\u0070ut":1,"output":null,"details":null,"cached":8}"#,
            r#"{"details":{"cached":null}}"#,
            r#"{"details":{}}"#,
            r#"{"details":[4]}"#,
            r#"{"details":4}"#,
            r#"{"input":-1}"#,
            r#"{"input":1.5,"output":true}"#,
            r#"{"cached":{}}"#,
            "null",
            "[]",
            "3",
        ] {
            let raw: &RawValue = serde_json::from_str(text).unwrap();
            for keys in [&NESTED, &FLAT] {
                let counts = json::try_checked_seed(raw.get(), Counts(keys));
                if let Some(counts) = counts {
                    assert_eq!(Ok(counts), keys.counts(raw), "{text}");
                }
            }
        }
        let raw: &RawValue = serde_json::from_str(r#"{"input":1,"details":{"cached":2}}"#).unwrap();
        let expected = Usage { input: Some(1), cached: Some(2), ..Usage::default() };
        assert_eq!(json::try_checked_seed(raw.get(), Counts(&NESTED)), Some(expected));
        assert_eq!(NESTED.read(None, "usage"), Ok(None));
    }
}
