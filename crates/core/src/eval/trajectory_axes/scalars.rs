//! Whether a JSON text contains a wanted scalar, without building values for all of it.

use std::borrow::Cow;
use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, MapAccess, SeqAccess, Visitor};

use crate::json::NUMBER_KEY;

/// Whether a JSON text contains a wanted scalar: `word` decides for strings, `number` for numbers. For text that is not JSON
/// the answer is arbitrary.
pub(super) fn any(text: &str, word: impl Fn(&str) -> bool, number: impl Fn(f64) -> bool) -> bool {
    let mut found = false;
    let search = Search { word: &word, number: &number, found: &mut found };
    // An error means the text is not JSON.
    let _ = search.deserialize(&mut serde_json::Deserializer::from_str(text));
    found
}

struct Search<'a, W, N> {
    word: &'a W,
    number: &'a N,
    found: &'a mut bool,
}

impl<W, N> Search<'_, W, N> {
    fn again(&mut self) -> Search<'_, W, N> {
        Search { word: self.word, number: self.number, found: self.found }
    }
}

impl<'de, W: Fn(&str) -> bool, N: Fn(f64) -> bool> DeserializeSeed<'de> for Search<'_, W, N> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de, W: Fn(&str) -> bool, N: Fn(f64) -> bool> Visitor<'de> for Search<'_, W, N> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_unit<E>(self) -> Result<(), E> {
        Ok(())
    }

    fn visit_bool<E>(self, _: bool) -> Result<(), E> {
        Ok(())
    }

    fn visit_u64<E>(self, value: u64) -> Result<(), E> {
        *self.found |= (self.number)(value as f64);
        Ok(())
    }

    fn visit_i64<E>(self, value: i64) -> Result<(), E> {
        *self.found |= (self.number)(value as f64);
        Ok(())
    }

    fn visit_f64<E>(self, value: f64) -> Result<(), E> {
        *self.found |= (self.number)(value);
        Ok(())
    }

    fn visit_str<E>(self, value: &str) -> Result<(), E> {
        *self.found |= (self.word)(value);
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(mut self, mut seq: A) -> Result<(), A::Error> {
        while seq.next_element_seed(self.again())?.is_some() {}
        Ok(())
    }

    fn visit_map<A: MapAccess<'de>>(mut self, mut map: A) -> Result<(), A::Error> {
        while let Some(key) = map.next_key::<Cow<'de, str>>()? {
            if key == NUMBER_KEY {
                let number: String = map.next_value()?;
                *self.found |= number.parse().is_ok_and(|number| (self.number)(number));
            } else {
                map.next_value_seed(self.again())?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::any;

    #[test]
    fn scalars_are_found_in_every_spelling() {
        let holds = |text: &str| any(text, |word| word == "a\"b", |number| number.total_cmp(&1000.0).is_eq());
        for text in [r#"["a\"b"]"#, r#"{"x":{"y":[0,"a\u0022b"]}}"#, "[1e3]", "[1,1000]", r#"{"x":"no","y":1.0E+3}"#] {
            assert!(holds(text), "{text}");
        }
        for text in [r#"{"a\"b":1}"#, "[10000]", r#"["1000",-1000,999.5,null,true]"#, r#"["a","b"]"#, "[", "a\"b"] {
            assert!(!holds(text), "{text}");
        }
    }
}
