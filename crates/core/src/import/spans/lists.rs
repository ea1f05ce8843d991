//! Lists of messages that are JSON in a text. Every reply comes with the messages before it, so most lists begin as an earlier
//! one does, and only the rest is decoded and checked. Some recorders write the definitions of the tools behind the messages,
//! so that lists also end alike.

use serde_json::value::RawValue;

use super::super::ImportError;
use super::attributes::Attribute;
use crate::json;

/// The last list.
#[derive(Default)]
pub(super) struct Lists<'s> {
    last: Option<List<'s>>,
}

#[derive(Clone)]
struct List<'s> {
    written: &'s str,
    items: Vec<&'s RawValue>,
    tail: Tail,
}

/// The end of a list that later lists may end with too, from the comma before its first item or the bracket that closes the list.
#[derive(Debug, Clone, Copy)]
struct Tail {
    items: usize,
    bytes: usize,
}

impl Tail {
    const BRACKET: Self = Self { items: 0, bytes: 1 };
}

impl<'s> Lists<'s> {
    /// The elements of a list.
    pub(super) fn read(&mut self, found: &'s Attribute<'_>) -> Result<Vec<&'s RawValue>, ImportError> {
        let Some(written) = found.escaped_list() else { return found.read() };
        let list = match self.last.as_ref().and_then(|last| last.continued(found, written)) {
            Some(list) => list,
            None => List { written, items: found.read()?, tail: Tail::BRACKET },
        };
        let items = list.items.clone();
        self.last = Some(list);
        Ok(items)
    }
}

impl<'s> List<'s> {
    /// A list that begins with items of this one. `None` for any other, and for one that is not JSON.
    fn continued(&self, found: &'s Attribute<'_>, written: &'s str) -> Option<Self> {
        if written == self.written {
            return Some(self.clone());
        }
        let with_tail = |tail: Tail| self.continued_before(tail, found, written);
        with_tail(Tail::BRACKET).or_else(|| with_tail(self.tail)).or_else(|| with_tail(self.tail_behind(written)?))
    }

    /// A list that has items between those of this one before its tail and the tail, or that has others behind them.
    fn continued_before(&self, tail: Tail, found: &'s Attribute<'_>, written: &'s str) -> Option<Self> {
        let kept = self.items.len().checked_sub(tail.items).filter(|kept| *kept > 0)?;
        let (head, end) = self.written.split_at_checked(self.written.len() - tail.bytes)?;
        let more = written.strip_prefix(head)?.strip_prefix(',')?;
        let tail = if more.ends_with(end) { tail } else { Tail::BRACKET };
        let range = head.len() + 1..written.len() - tail.bytes;
        let items: Vec<&'s RawValue> = json::try_read(found.part_of_list(range)?)?;
        // A comma has an element behind it.
        if items.is_empty() {
            return None;
        }
        let (first, last) = (&self.items[..kept], &self.items[self.items.len() - tail.items..]);
        Some(Self { written, items: [first, &items, last].concat(), tail })
    }

    /// The tail from where another list differs.
    fn tail_behind(&self, written: &str) -> Option<Tail> {
        let same = same_bytes(self.written.as_bytes(), written.as_bytes());
        let comma = self.written.as_bytes()[..same].array_windows().rposition(|bytes| bytes == b"},")? + 1;
        let bytes = self.written.len() - comma;
        // Reading the tail must be worth it.
        if bytes > comma && !written.ends_with(&self.written[comma..]) {
            return None;
        }
        // A tail that is a list by itself begins at an item of this one: from inside of a string it would have a quote too few, and
        // from inside of an item a bracket too many.
        let list = format!("[{}", json::unescape(&self.written[comma + 1..]));
        let items = json::try_read::<Vec<&RawValue>>(&list)?.len();
        Some(Tail { items, bytes })
    }
}

/// How many bytes two texts begin with alike.
fn same_bytes(one: &[u8], other: &[u8]) -> usize {
    let blocks = one.as_chunks::<64>().0.iter().zip(other.as_chunks::<64>().0);
    let from = 64 * blocks.take_while(|(one, other)| one == other).count();
    from + one[from..].iter().zip(&other[from..]).take_while(|(one, other)| one == other).count()
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

    /// The elements of the last of some lists, which is read after the others, and when it is read alone.
    fn after_and_alone(documents: &[&str]) -> [Result<Vec<String>, ImportError>; 2] {
        let found: Vec<Attribute<'_>> = documents.iter().map(|document| attribute(document)).collect();
        let last = attribute(documents[documents.len() - 1]);
        let mut lists = Lists::default();
        let mut after = Ok(Vec::new());
        for one in &found {
            after = elements(&mut lists, one);
        }
        let owned =
            |read: Result<Vec<&str>, ImportError>| read.map(|items| items.into_iter().map(str::to_owned).collect());
        [owned(after), owned(elements(&mut Lists::default(), &last))]
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
            let [after, alone] = after_and_alone(&[known, after]);
            assert_eq!(after.unwrap(), alone.unwrap());
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
            let [after, alone] = after_and_alone(&[known, after]);
            assert_eq!(after.unwrap_err(), alone.unwrap_err());
        }
    }

    #[test]
    fn a_list_that_continues_two_others_has_the_same_elements_behind_both() {
        let found = attribute(r#"["a\n", 1, 2, 3]"#);
        for known in [r#"["a\n"]"#, r#"["a\n", 1]"#] {
            let first = attribute(known);
            let mut lists = Lists::default();
            elements(&mut lists, &first).unwrap();
            assert_eq!(elements(&mut lists, &found).unwrap(), [r#""a\n""#, "1", "2", "3"], "{known}");
        }
    }

    /// Messages, and definitions of tools behind them.
    const WITH_TOOLS: &str = r#"[{"u": "a \"question\", with },"},{"t": [{"x":1},{"y":"},{"}]}, {"t": 2}]"#;

    #[test]
    fn a_list_with_the_same_beginning_and_end_has_the_same_elements_as_when_it_is_read_alone() {
        for (last, kept) in [
            (r#"[{"u": "a \"question\", with },"},{"new": "\u00e9"},{"t": [{"x":1},{"y":"},{"}]}, {"t": 2}]"#, 2),
            (r#"[{"u": "a \"question\", with },"}, {"new": 1}, [2] ,{"t": [{"x":1},{"y":"},{"}]}, {"t": 2}]"#, 2),
            // Another end, and none.
            (r#"[{"u": "a \"question\", with },"},{"new": 1},{"t": 2}]"#, 0),
            (r#"[{"u": "a \"question\", with },"},{"new": 1}]"#, 0),
            // The end comes twice.
            (
                r#"[{"u": "a \"question\", with },"},{"t": [{"x":1},{"y":"},{"}]}, {"t": 2},{"t": [{"x":1},{"y":"},{"}]}, {"t": 2}]"#,
                0,
            ),
            // A list that differs within an item.
            (r#"[{"u": "a \"question\", with },"},{"t": [{"x":1},{"y":"},{","n":0}]}, {"t": 2}]"#, 0),
            (r#"[{"u": "a \"question\", with },"},{"t": [{"x":1},{"z":0},{"y":"},{"}]}, {"t": 2}]"#, 0),
        ] {
            let (first, second) = (attribute(WITH_TOOLS), attribute(last));
            let mut lists = Lists::default();
            elements(&mut lists, &first).unwrap();
            let found = elements(&mut lists, &second).unwrap();
            assert_eq!(found, elements(&mut Lists::default(), &attribute(last)).unwrap(), "{last}");
            assert_eq!(lists.last.map(|list| list.tail.items), Some(kept), "{last}");
        }
    }

    #[test]
    fn every_list_that_differs_in_one_place_is_read_as_when_it_is_read_alone() {
        let grown = r#"[{"u": "a \"question\", with },"},{"new": [{"m":1},{"n":"\n"}]},{"t": [{"x":1},{"y":"},{"}]}, {"t": 2}]"#;
        for (at, _) in grown.char_indices() {
            for piece in ["", ",", "]", "}", "\"", "[", "{", "},", "\\", "},{", "{\"new\":0},", " "] {
                // Something is inserted, or instead of what is there.
                for length in [0, 1, 8] {
                    let Some(rest) = grown.get(at + length..) else { continue };
                    let last = format!("{}{piece}{rest}", &grown[..at]);
                    if !(last.starts_with('[') && last.ends_with(']')) {
                        continue;
                    }
                    for known in [&[WITH_TOOLS][..], &[WITH_TOOLS, grown][..]] {
                        let [after, alone] = after_and_alone(&[known, &[&*last]].concat());
                        assert_eq!(after, alone, "{last}");
                    }
                }
            }
        }
    }
}
