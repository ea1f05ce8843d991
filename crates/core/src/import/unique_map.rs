//! An object with arbitrary keys, each of them once. `serde` alone would silently keep the last of several values.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::fmt;
use std::marker::PhantomData;

use serde::de::{Deserialize, Deserializer, Error as _, MapAccess, Visitor};

use super::wire::Text;

#[derive(Debug, Clone)]
pub(super) struct UniqueMap<'a, V>(pub(super) BTreeMap<Text<'a>, V>);

impl<V> Default for UniqueMap<'_, V> {
    fn default() -> Self {
        Self(BTreeMap::new())
    }
}

impl<'de: 'a, 'a, V: Deserialize<'de>> Deserialize<'de> for UniqueMap<'a, V> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Build<V>(PhantomData<V>);
        impl<'de, V: Deserialize<'de>> Visitor<'de> for Build<V> {
            type Value = UniqueMap<'de, V>;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }
            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut out = BTreeMap::new();
                while let Some(key) = map.next_key::<Text<'de>>()? {
                    match out.entry(key) {
                        Entry::Vacant(place) => {
                            place.insert(map.next_value()?);
                        }
                        Entry::Occupied(place) => {
                            return Err(A::Error::custom(format!("duplicate key {:?}", &**place.key())));
                        }
                    }
                }
                Ok(UniqueMap(out))
            }
        }
        deserializer.deserialize_map(Build(PhantomData))
    }
}
