//! Lists of records, in memory that is bounded by their text.
//!
//! An element takes the same memory whatever it says, so that `{}` is as large as a message with everything. A list of
//! nothing else would be hundreds of times as large as its text.

use std::fmt;
use std::marker::PhantomData;
use std::ops::Deref;

use serde::de::{Deserialize, Deserializer, IgnoredAny, SeqAccess, Visitor};

/// An element of a list.
pub(super) trait Element {
    /// Whether it lacks what makes it one. Whoever reads the list has to refuse it then.
    fn is_void(&self) -> bool;
}

/// The elements of a list, up to and with the first that is void: there the record is refused, so that what comes after it
/// need not be kept.
#[derive(Debug)]
pub(super) struct Listed<T>(pub(super) Vec<T>);

impl<T> Deref for Listed<T> {
    type Target = [T];
    fn deref(&self) -> &[T] {
        &self.0
    }
}

impl<'de, T: Deserialize<'de> + Element> Deserialize<'de> for Listed<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Build<T>(PhantomData<T>);
        impl<'de, T: Deserialize<'de> + Element> Visitor<'de> for Build<T> {
            type Value = Listed<T>;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a list")
            }
            fn visit_seq<A: SeqAccess<'de>>(self, list: A) -> Result<Self::Value, A::Error> {
                elements(list).map(Listed)
            }
        }
        deserializer.deserialize_seq(Build(PhantomData))
    }
}

/// The elements of a list as [`Listed`] keeps them.
pub(super) fn elements<'de, A: SeqAccess<'de>, T: Deserialize<'de> + Element>(mut list: A) -> Result<Vec<T>, A::Error> {
    let mut out: Vec<T> = Vec::new();
    while let Some(element) = list.next_element::<T>()? {
        let is_void = element.is_void();
        out.push(element);
        if is_void {
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
        fn is_void(&self) -> bool {
            self.name.is_none()
        }
    }

    #[test]
    fn a_list_is_kept_up_to_its_first_element_that_is_none() {
        for (text, expected) in [
            ("[]", vec![]),
            (r#"[{"name": 1}, {"name": 2}]"#, vec![Some(1), Some(2)]),
            (r#"[{"name": 1}, {}, {"name": 2}, {}, [3]]"#, vec![Some(1), None]),
        ] {
            let read: Listed<One> = serde_json::from_str(text).unwrap();
            assert_eq!(read.iter().map(|one| one.name).collect::<Vec<_>>(), expected, "{text}");
        }
        assert!(serde_json::from_str::<Listed<One>>("[{}, {]").is_err());
    }
}
