//! A path followed through JSON text: only what it selects is ever made into a value.

use serde::de::{DeserializeSeed, Deserializer, Error as _, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::Value;
use serde_json::value::RawValue;

use crate::json;
use crate::target::{Selection, Step, Target};

/// A key on the path is in its object twice, so what the path selects is ambiguous.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("a key on the path is there twice")]
pub struct DuplicateKey;

/// What a path selects in a JSON text; `None` for nothing, or for text that is not JSON.
pub fn find(text: &str, path: &Target) -> Result<Option<Value>, DuplicateKey> {
    let mut at: &str = text;
    for (taken, step) in path.steps().iter().enumerate() {
        match step {
            Step::Key(_) | Step::Index(0..) => match follow(at, step)? {
                Some(found) => at = found,
                None => return Ok(None),
            },
            // A list that is indexed from its end or collected must be read completely.
            Step::Index(_) | Step::Every => {
                let Ok(value) = serde_json::from_str::<Value>(at) else { return Ok(None) };
                // The value would keep one of two duplicate keys.
                if json::parse(at).is_err() {
                    return Err(DuplicateKey);
                }
                return Ok(match path.select_from(&value, taken) {
                    Selection::Found(found) => Some(found.into_owned()),
                    Selection::Nothing { .. } => None,
                });
            }
        }
    }
    Ok(serde_json::from_str(at).ok())
}

/// The text of a member or an element.
fn follow<'a>(text: &'a str, step: &Step) -> Result<Option<&'a str>, DuplicateKey> {
    let (mut found, mut is_duplicate) = (None, false);
    let seed = Follow { step, found: &mut found, is_duplicate: &mut is_duplicate };
    // What is behind an element is not looked at, and reading stops with an error.
    let _ = seed.deserialize(&mut serde_json::Deserializer::from_str(text));
    if is_duplicate { Err(DuplicateKey) } else { Ok(found) }
}

struct Follow<'f, 'de> {
    step: &'f Step,
    found: &'f mut Option<&'de str>,
    is_duplicate: &'f mut bool,
}

impl<'de> DeserializeSeed<'de> for Follow<'_, 'de> {
    type Value = ();
    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Follow<'_, 'de> {
    type Value = ();

    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("an object or a list")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        let Step::Key(wanted) = self.step else { return Err(A::Error::custom("no list")) };
        while let Some(is_wanted) = map.next_key_seed(Is(wanted))? {
            if is_wanted {
                let found = map.next_value::<&'de RawValue>()?.get();
                *self.is_duplicate |= self.found.replace(found).is_some();
            } else {
                map.next_value::<IgnoredAny>()?;
            }
        }
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<(), A::Error> {
        let Step::Index(wanted) = self.step else { return Err(A::Error::custom("no object")) };
        for _ in 0..*wanted {
            if list.next_element::<IgnoredAny>()?.is_none() {
                return Ok(());
            }
        }
        *self.found = list.next_element::<&'de RawValue>()?.map(RawValue::get);
        Err(A::Error::custom("found"))
    }
}

/// Whether a key is the wanted one.
struct Is<'a>(&'a str);

impl<'de> DeserializeSeed<'de> for Is<'_> {
    type Value = bool;
    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<bool, D::Error> {
        deserializer.deserialize_str(self)
    }
}

impl Visitor<'_> for Is<'_> {
    type Value = bool;
    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("a key")
    }
    fn visit_str<E>(self, key: &str) -> Result<bool, E> {
        Ok(key == self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_path_selects_the_same_in_text_and_value() {
        let text = r#"{"a": {"b": [1, {"c\n": "x"}, [2, 3]], "n": null}, "list": [{"k": 1}, {"k": 2}], "e": []}"#;
        let value: Value = serde_json::from_str(text).unwrap();
        let paths = [
            "a",
            "a.b[1]",
            "a.b[1][\"c\\n\"]",
            "a.b[2][1]",
            "a.b[-1]",
            "list[*].k",
            "a.n",
            "e[*]",
            "e[0]",
            "a.b.c",
            "a[0]",
            "zz",
            "a.b[3]",
        ];
        for path in paths {
            let path = Target::parse(path).unwrap();
            let expected = match path.select(&value) {
                Selection::Found(found) => Some(found.into_owned()),
                Selection::Nothing { .. } => None,
            };
            assert_eq!(find(text, &path), Ok(expected), "{path}");
        }
        assert_eq!(find("{\"a\": tru", &Target::parse("a").unwrap()), Ok(None));
        assert_eq!(find("{\"a\": 1, oops", &Target::parse("a").unwrap()), Ok(Some(json!(1))));
    }

    #[test]
    fn a_duplicate_key_on_the_path_is_an_error() {
        let text = r#"{"a": {"b": 1, "b": 2}, "c": [{"d": 1, "d": 2}], "e": 1, "\u0065": 1, "f": 3}"#;
        for path in ["a.b", "c[0].d", "c[-1].d", "c[*].d", "e"] {
            assert_eq!(find(text, &Target::parse(path).unwrap()), Err(DuplicateKey), "{path}");
        }
        assert_eq!(find(text, &Target::parse("f").unwrap()), Ok(Some(json!(3))));
    }
}
