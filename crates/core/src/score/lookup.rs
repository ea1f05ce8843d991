//! A path followed through JSON text: only what it selects is ever made into a value.

use serde::de::{DeserializeSeed, Deserializer, Error as _, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::Value;
use serde_json::value::RawValue;

use crate::target::{Selection, Step, Target};

/// What a path selects in a JSON text; `None` for nothing, or for text that is no JSON.
pub fn find(text: &str, path: &Target) -> Option<Value> {
    let mut at: &str = text;
    for (taken, step) in path.steps().iter().enumerate() {
        match step {
            Step::Key(_) | Step::Index(0..) => at = follow(at, step)?,
            // A list that is counted from its end or gathered has to be read whole.
            Step::Index(_) | Step::Every => {
                let value: Value = serde_json::from_str(at).ok()?;
                return match path.select_from(&value, taken) {
                    Selection::Found(found) => Some(found.into_owned()),
                    Selection::Nothing { .. } => None,
                };
            }
        }
    }
    serde_json::from_str(at).ok()
}

/// The text of a member or an element.
fn follow<'a>(text: &'a str, step: &Step) -> Option<&'a str> {
    let mut found = None;
    let seed = Follow { step, found: &mut found };
    // Reading stops with an error as soon as the part is found: the rest is not looked at.
    let _ = seed.deserialize(&mut serde_json::Deserializer::from_str(text));
    found
}

struct Follow<'f, 'de> {
    step: &'f Step,
    found: &'f mut Option<&'de str>,
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
                *self.found = Some(map.next_value::<&'de RawValue>()?.get());
                return Err(A::Error::custom("found"));
            }
            map.next_value::<IgnoredAny>()?;
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
    fn a_path_selects_in_text_what_it_selects_in_the_value() {
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
            assert_eq!(find(text, &path), expected, "{path}");
        }
        assert_eq!(find("{\"a\": tru", &Target::parse("a").unwrap()), None);
        assert_eq!(find("{\"a\": 1, oops", &Target::parse("a").unwrap()), Some(json!(1)));
    }
}
