//! A text with its escapes undone: JSON inside text, and percent-encoding. Each view knows where its bytes are in the
//! text itself, so that what is found in a view can be replaced there.

use std::ops::Range;

/// How often escapes are undone: text in JSON in JSON, or an address in JSON.
const DEPTH: usize = 2;

/// A text without one kind of escapes, or with all of them.
pub(super) struct View {
    pub(super) bytes: Vec<u8>,
    /// From the first offset on, bytes of the view come from the second offset on in the text.
    jumps: Vec<(usize, usize)>,
}

impl View {
    /// Where bytes of the view are in the text.
    pub(super) fn place(&self, range: &Range<usize>) -> Range<usize> {
        self.at(range.start)..self.at(range.end)
    }

    fn at(&self, byte: usize) -> usize {
        let before = self.jumps.partition_point(|(from, _)| *from <= byte);
        match before.checked_sub(1).and_then(|last| self.jumps.get(last)) {
            Some((from, to)) => to + (byte - from),
            None => byte,
        }
    }

    /// Copies text without escapes. Its offset may jump if it comes from another view.
    fn copy(&mut self, bytes: &[u8], range: Range<usize>, parent: Option<&Self>) {
        if let Some(parent) = parent {
            let first = parent.jumps.partition_point(|(from, _)| *from < range.start);
            for (from, to) in parent.jumps[first..].iter().take_while(|(from, _)| *from < range.end) {
                self.jumps.push((self.bytes.len() + from - range.start, *to));
            }
        }
        self.bytes.extend_from_slice(&bytes[range]);
    }
}

/// The ways to undo escapes: what an escape begins with, and what one means, with its length.
type Undo = (u8, fn(&[u8]) -> Option<(Unescaped, usize)>);
const WAYS: [Undo; 2] = [(b'\\', json), (b'%', percent)];

/// What an escape means.
struct Unescaped {
    bytes: [u8; 4],
    length: usize,
}

impl Unescaped {
    fn of(letter: char) -> Self {
        let mut bytes = [0; 4];
        let length = letter.encode_utf8(&mut bytes).len();
        Self { bytes, length }
    }
}

/// Every way to read a text whose escapes are undone. A text without escapes has none.
pub(super) fn views(text: &str) -> Vec<View> {
    let mut out: Vec<View> = WAYS.iter().filter_map(|way| undone(text.as_bytes(), None, *way)).collect();
    let mut from = 0;
    for _ in 1..DEPTH {
        let to = out.len();
        for at in from..to {
            let parent = &out[at];
            let deeper: Vec<View> = WAYS.iter().filter_map(|way| undone(&parent.bytes, Some(parent), *way)).collect();
            out.extend(deeper);
        }
        from = to;
    }
    out
}

/// Undoes one kind of escapes in a text, or in a view of it; nothing where there are none.
fn undone(bytes: &[u8], parent: Option<&View>, (sign, undo): Undo) -> Option<View> {
    let place = |byte| parent.map_or(byte, |parent| parent.at(byte));
    let mut view: Option<View> = None;
    // What has been copied, and where the next sign is looked for.
    let (mut done, mut at) = (0, 0);
    while let Some(found) = bytes.get(at..).and_then(|rest| rest.iter().position(|byte| *byte == sign)) {
        let start = at + found;
        let Some((meaning, length)) = undo(&bytes[start + 1..]) else {
            at = start + 1;
            continue;
        };
        let end = start + 1 + length;
        let view = view.get_or_insert_with(|| View { bytes: Vec::with_capacity(bytes.len()), jumps: Vec::new() });
        view.copy(bytes, done..start, parent);
        view.jumps.push((view.bytes.len(), place(start)));
        view.bytes.extend_from_slice(&meaning.bytes[..meaning.length]);
        view.jumps.push((view.bytes.len(), place(end)));
        (done, at) = (end, end);
    }
    if let Some(view) = &mut view {
        view.copy(bytes, done..bytes.len(), parent);
    }
    view
}

/// An escape of JSON, without its backslash. Other languages escape an apostrophe too.
fn json(rest: &[u8]) -> Option<(Unescaped, usize)> {
    let letter = match rest.first()? {
        b'"' => '"',
        b'\'' => '\'',
        b'\\' => '\\',
        b'/' => '/',
        b'b' => '\u{8}',
        b'f' => '\u{c}',
        b'n' => '\n',
        b'r' => '\r',
        b't' => '\t',
        b'u' => return unicode(&rest[1..]).map(|(letter, length)| (Unescaped::of(letter), length + 1)),
        _ => return None,
    };
    Some((Unescaped::of(letter), 1))
}

fn unicode(rest: &[u8]) -> Option<(char, usize)> {
    let first = hex(rest.get(..4)?)?;
    if let Some(letter) = char::from_u32(first) {
        return Some((letter, 4));
    }
    // Beyond the first plane a letter is written as two halves.
    let second = rest.get(4..10).and_then(|rest| rest.strip_prefix(b"\\u")).and_then(hex)?;
    let (high, low) = (first.checked_sub(0xd800)?, second.checked_sub(0xdc00)?);
    let letter = char::from_u32(0x1_0000 + (high << 10) + low).filter(|_| high < 0x400 && low < 0x400)?;
    Some((letter, 10))
}

/// A byte in percent-encoding, without its sign.
fn percent(rest: &[u8]) -> Option<(Unescaped, usize)> {
    let byte = u8::try_from(hex(rest.get(..2)?)?).ok()?;
    Some((Unescaped { bytes: [byte, 0, 0, 0], length: 1 }, 2))
}

fn hex(digits: &[u8]) -> Option<u32> {
    digits.iter().try_fold(0, |sum, digit| Some(sum * 16 + char::from(*digit).to_digit(16)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Looks for a text in all views, and returns what is there.
    #[track_caller]
    fn check(text: &str, inner: &str, expected: &str) {
        let found = views(text).into_iter().find_map(|view| {
            let at = view.bytes.windows(inner.len()).position(|window| window == inner.as_bytes())?;
            Some(view.place(&(at..at + inner.len())))
        });
        assert_eq!(found.map(|range| &text[range]), Some(expected), "{text}");
    }

    #[test]
    fn matches_in_unescaped_text_are_located_in_the_original() {
        check(r#"{"a":"x\"yz"}"#, "x\"y", r#"x\"y"#);
        check(r"<\u0061bc>", "abc", r"\u0061bc");
        check(r"<ab\u0063>", "abc", r"ab\u0063");
        check(r"<a\ud83d\ude00b>", "a😀b", r"a\ud83d\ude00b");
        check(r"http:\/\/h\/p", "/h/", r"\/h\/");
        check("?a=p%20q%2F", "p q/", "p%20q%2F");
        check("caf%C3%A9!", "café", "caf%C3%A9");
    }

    #[test]
    fn escapes_inside_of_escapes_are_undone_too() {
        check(r#"{\"a\":\"x\\\"y\"}"#, "x\"y", r#"x\\\"y"#);
        check(r"a=p\u002520q;", "p q", r"p\u002520q");
        check("%5Cu0061b-", "ab-", "%5Cu0061b-");
        check("%2541b", "Ab", "%2541b");
    }

    #[test]
    fn invalid_escapes_are_not_decoded() {
        for text in ["", "plain", r"C:\dir", "100% of", "%", r"\", r"\u12", r"\ud83d", r"\ud83dA", "%zz"] {
            assert_eq!(views(text).len(), 0, "{text}");
        }
    }
}
