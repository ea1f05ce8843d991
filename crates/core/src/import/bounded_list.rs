//! Lists that take memory in proportion to their text.
//!
//! In memory every element has the same size: `{}` is as large as a message with all its keys. A list of many `{}` would be
//! hundreds of times as large as its text.

use std::fmt;
use std::marker::PhantomData;
use std::ops::Deref;

use serde::de::{Deserialize, Deserializer, IgnoredAny, SeqAccess, Visitor};

pub(super) trait Element {
    /// Whether it lacks a key that it must have. The reader of the list has to refuse it.
    fn is_incomplete(&self) -> bool;
}

/// The elements of a list, up to and including the first incomplete one. The record is refused there, so the rest need not be
/// kept.
#[derive(Debug)]
pub(super) struct BoundedList<T>(pub(super) Vec<T>);

impl<T> Deref for BoundedList<T> {
    type Target = [T];
    fn deref(&self) -> &[T] {
        &self.0
    }
}

impl<'de, T: Deserialize<'de> + Element> Deserialize<'de> for BoundedList<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Build<T>(PhantomData<T>);
        impl<'de, T: Deserialize<'de> + Element> Visitor<'de> for Build<T> {
            type Value = BoundedList<T>;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a list")
            }
            fn visit_seq<A: SeqAccess<'de>>(self, list: A) -> Result<Self::Value, A::Error> {
                elements(list).map(BoundedList)
            }
        }
        deserializer.deserialize_seq(Build(PhantomData))
    }
}

/// The elements of a list as [`BoundedList`] keeps them.
pub(super) fn elements<'de, A: SeqAccess<'de>, T: Deserialize<'de> + Element>(mut list: A) -> Result<Vec<T>, A::Error> {
    let mut out: Vec<T> = Vec::new();
    while let Some(element) = list.next_element::<T>()? {
        let is_incomplete = element.is_incomplete();
        if out.is_empty() {
            // Elements are large, and many lists have only one.
            out.reserve_exact(1);
        }
        out.push(element);
        if is_incomplete {
            while list.next_element::<IgnoredAny>()?.is_some() {}
            break;
        }
    }
    Ok(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(serde::Deserialize)]
    struct One {
        name: Option<u8>,
    }

    impl Element for One {
        fn is_incomplete(&self) -> bool {
            self.name.is_none()
        }
    }

    #[test]
    fn a_list_is_read_up_to_its_first_incomplete_element() {
        for (text, expected) in [
            ("[]", vec![]),
            (r#"[{"name": 1}, {"name": 2}]"#, vec![Some(1), Some(2)]),
            (r#"[{"name": 1}, {}, {"name": 2}, {}, [3]]"#, vec![Some(1), None]),
        ] {
            let read: BoundedList<One> = serde_json::from_str(text).unwrap();
            assert_eq!(read.iter().map(|one| one.name).collect::<Vec<_>>(), expected, "{text}");
        }
        assert!(serde_json::from_str::<BoundedList<One>>("[{}, {]").is_err());
    }
}
