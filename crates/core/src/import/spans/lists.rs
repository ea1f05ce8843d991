//! Lists of messages that are JSON in a text. Every reply comes with the messages before it, so most lists begin as an earlier
//! one does, and only the rest is decoded and checked.

use serde_json::value::RawValue;

use super::super::ImportError;
use super::attributes::Attribute;
use crate::json;

/// The last list, as its text is written, and its elements.
#[derive(Default)]
pub(super) struct Lists<'s> {
    last: Option<(&'s str, Vec<&'s RawValue>)>,
}

impl<'s> Lists<'s> {
    /// The elements of a list.
    pub(super) fn read(&mut self, found: &'s Attribute<'_>) -> Result<Vec<&'s RawValue>, ImportError> {
        let Some(written) = found.escaped_list() else { return found.read() };
        let items = match self.continued(found, written) {
            Some(items) => items,
            None => found.read()?,
        };
        self.last = Some((written, items.clone()));
        Ok(items)
    }

    /// The elements of a list that begins with those of the last one; `None` for any other, and for one that is not JSON.
    fn continued(&self, found: &'s Attribute<'_>, written: &str) -> Option<Vec<&'s RawValue>> {
        let (known, items) = self.last.as_ref().filter(|(_, items)| !items.is_empty())?;
        if written == *known {
            return Some(items.clone());
        }
        let rest = written.strip_prefix(known.strip_suffix(']')?)?.strip_prefix(',')?;
        let more: Vec<&'s RawValue> = json::read(found.rest_of_list(rest)?).ok()?;
        // A comma has an element behind it.
        (!more.is_empty()).then(|| [&**items, &more].concat())
    }
}

#[cfg(test)]
mod tests {
    use std::cell::OnceCell;

    use super::super::super::wire::Text;
    use super::*;

    fn attribute(document: &str) -> Attribute<'static> {
        let written = serde_json::to_string(document).unwrap();
        let written: &'static str = written[1..written.len() - 1].to_owned().leak();
        Attribute::Text(Text::Escaped(written, OnceCell::new()), OnceCell::new())
    }

    fn elements<'s>(lists: &mut Lists<'s>, found: &'s Attribute<'_>) -> Result<Vec<&'s str>, ImportError> {
        lists.read(found).map(|items| items.into_iter().map(RawValue::get).collect())
    }

    #[test]
    fn a_list_that_continues_another_has_the_same_elements_as_when_it_is_read_alone() {
        let known = r#"["a\n", {"b": "]"}]"#;
        for after in [
            known,
            r#"["a\n", {"b": "]"}, "c"]"#,
            r#"["a\n", {"b": "]"},[1],"\u00e9",{}]"#,
            r#"["a\n", {"b": "]"} , "c"]"#,
            r#"["a\n", "c"]"#,
            r#"["a\n"]"#,
        ] {
            let (first, second) = (attribute(known), attribute(after));
            let mut lists = Lists::default();
            elements(&mut lists, &first).unwrap();
            let found = elements(&mut lists, &second).unwrap();
            assert_eq!(found, elements(&mut Lists::default(), &attribute(after)).unwrap(), "{after}");
        }
    }

    #[test]
    fn a_list_that_continues_another_and_is_broken_is_refused_as_when_it_is_read_alone() {
        for (known, after) in [
            (r#"["a\n"]"#, r#"["a\n",]"#),
            (r#"["a\n"]"#, r#"["a\n",{"b":1,"b":2}]"#),
            (r#"["a\n"]"#, r#"["a\n","b"]]"#),
            (r#"["a\n"]"#, r#"["a\n",1 2]"#),
            ("[\n]", "[\n,1]"),
        ] {
            let (first, second) = (attribute(known), attribute(after));
            let mut lists = Lists::default();
            elements(&mut lists, &first).unwrap();
            let error = elements(&mut lists, &second).unwrap_err();
            assert_eq!(error, elements(&mut Lists::default(), &attribute(after)).unwrap_err(), "{after}");
        }
    }
}
