//! How JSON is written: one formatter for `serde_json`, with which every file, line and canonical text is made.

use std::borrow::Cow;
use std::io::{self, Write};

use serde::Serialize;
use serde_json::ser::{CharEscape, CompactFormatter, Formatter, Serializer};
use serde_json::{Number, Value};

use crate::diag::acts;

/// Integral floats below this magnitude are exact integers.
const EXACT_FLOAT: f64 = 9_007_199_254_740_992.0;

/// Line breaks, spelling of numbers, and escapes. Keys are in the order in which a type declares them.
#[derive(Debug, Clone, Copy)]
pub struct Layout {
    /// How many brackets are open, if every item is on its own line.
    depth: Option<usize>,
    /// Whether the innermost bracket has an item.
    has_items: bool,
    /// Whether numbers are canonical. Otherwise they keep their spelling.
    has_canonical_numbers: bool,
    /// Whether characters that act on a terminal, or hide, are escaped.
    is_printable: bool,
}

impl Layout {
    /// One line with canonical numbers and unescaped characters: the text used for equality and digests.
    pub(super) const CANONICAL: Self =
        Self { depth: None, has_items: false, has_canonical_numbers: true, is_printable: false };
    /// One line with canonical numbers.
    pub const LINE: Self = Self { is_printable: true, ..Self::CANONICAL };
    /// One line in which numbers keep their spelling.
    pub const EXACT_LINE: Self = Self { has_canonical_numbers: false, ..Self::LINE };
    /// Every item on its own line, with canonical numbers.
    pub const PRETTY: Self = Self { depth: Some(0), ..Self::LINE };
    /// Every item on its own line. Numbers keep their spelling.
    pub const EXACT_PRETTY: Self = Self { depth: Some(0), ..Self::EXACT_LINE };

    /// Writes anything that can be serialized.
    pub fn write(self, value: &(impl Serialize + ?Sized), out: impl Write) -> io::Result<()> {
        value.serialize(&mut Serializer::with_formatter(out, self)).map_err(io::Error::from)
    }

    /// The text of anything that can be serialized.
    pub fn text(self, value: &(impl Serialize + ?Sized)) -> String {
        let mut out = String::new();
        // Writing into memory cannot fail, and no type here has keys that are not strings.
        let _ = self.write(value, Utf8(&mut out));
        out
    }

    /// Appends a value with its keys in order, which a build of `serde_json` may keep in the order of insertion. Does not
    /// recurse, so a deep value cannot exhaust the stack.
    pub(super) fn push_value(mut self, value: &Value, out: &mut String) -> io::Result<()> {
        enum Open<'a> {
            List(std::slice::Iter<'a, Value>),
            Object(std::vec::IntoIter<(&'a String, &'a Value)>),
        }
        let out = &mut Utf8(out);
        let mut stack: Vec<Open<'_>> = Vec::new();
        let mut next = Some(value);
        loop {
            match next.take() {
                Some(Value::Array(items)) => {
                    self.begin_array(out)?;
                    stack.push(Open::List(items.iter()));
                }
                Some(Value::Object(map)) => {
                    self.begin_object(out)?;
                    let mut entries: Vec<_> = map.iter().collect();
                    entries.sort_unstable_by_key(|(key, _)| *key);
                    stack.push(Open::Object(entries.into_iter()));
                }
                Some(Value::String(text)) => self.string(text, out)?,
                Some(Value::Number(number)) => self.write_number_str(out, number.as_str())?,
                Some(scalar) => self.write(scalar, &mut *out)?,
                None => {}
            }
            match stack.last_mut() {
                None => return Ok(()),
                Some(Open::List(items)) => match items.next() {
                    Some(item) => {
                        self.item(out)?;
                        next = Some(item);
                    }
                    None => {
                        self.end_array(out)?;
                        stack.pop();
                    }
                },
                Some(Open::Object(entries)) => match entries.next() {
                    Some((key, item)) => {
                        self.item(out)?;
                        self.string(key, out)?;
                        self.begin_object_value(out)?;
                        next = Some(item);
                    }
                    None => {
                        self.end_object(out)?;
                        stack.pop();
                    }
                },
            }
        }
    }

    /// Writes a text. Most have nothing to escape.
    fn string(self, text: &str, out: &mut Utf8<'_>) -> io::Result<()> {
        let is_plain = |byte: u8| matches!(byte, b' '..=b'~') && !matches!(byte, b'"' | b'\\');
        if !text.bytes().all(is_plain) {
            return self.write(text, out);
        }
        for part in ["\"", text, "\""] {
            out.0.push_str(part);
        }
        Ok(())
    }

    fn open<W: Write + ?Sized>(&mut self, bracket: &[u8], out: &mut W) -> io::Result<()> {
        self.depth = self.depth.map(|depth| depth + 1);
        self.has_items = false;
        out.write_all(bracket)
    }

    fn close<W: Write + ?Sized>(&mut self, bracket: &[u8], out: &mut W) -> io::Result<()> {
        self.depth = self.depth.map(|depth| depth.saturating_sub(1));
        if std::mem::replace(&mut self.has_items, true) {
            self.new_line(out)?;
        }
        out.write_all(bracket)
    }

    /// Begins the next item of the innermost bracket.
    fn item<W: Write + ?Sized>(&mut self, out: &mut W) -> io::Result<()> {
        if std::mem::replace(&mut self.has_items, true) {
            out.write_all(b",")?;
        }
        self.new_line(out)
    }

    fn new_line<W: Write + ?Sized>(&self, out: &mut W) -> io::Result<()> {
        const INDENT: &[u8] = &[b' '; 64];
        let Some(depth) = self.depth else { return Ok(()) };
        out.write_all(b"\n")?;
        let mut columns = 2 * depth;
        while columns > 0 {
            let some = columns.min(INDENT.len());
            out.write_all(&INDENT[..some])?;
            columns -= some;
        }
        Ok(())
    }
}

impl Formatter for Layout {
    fn write_f64<W: Write + ?Sized>(&mut self, out: &mut W, value: f64) -> io::Result<()> {
        match Number::from_f64(value) {
            Some(number) => self.write_number_str(out, number.as_str()),
            None => self.write_null(out),
        }
    }

    fn write_number_str<W: Write + ?Sized>(&mut self, out: &mut W, number: &str) -> io::Result<()> {
        let number = if self.has_canonical_numbers { canonical_number(number) } else { Cow::Borrowed(number) };
        out.write_all(number.as_bytes())
    }

    fn write_string_fragment<W: Write + ?Sized>(&mut self, out: &mut W, text: &str) -> io::Result<()> {
        if !self.is_printable || (text.is_ascii() && !text.contains('\x7f')) {
            return out.write_all(text.as_bytes());
        }
        let mut plain = 0;
        for (at, acting) in text.char_indices().filter(|(_, c)| acts(*c)) {
            out.write_all(&text.as_bytes()[plain..at])?;
            plain = at + acting.len_utf8();
            for unit in acting.encode_utf16(&mut [0; 2]) {
                write!(out, "\\u{unit:04x}")?;
            }
        }
        out.write_all(&text.as_bytes()[plain..])
    }

    fn write_char_escape<W: Write + ?Sized>(&mut self, out: &mut W, escape: CharEscape) -> io::Result<()> {
        match escape {
            // Digests of recordings are taken from this spelling.
            CharEscape::Backspace => out.write_all(b"\\u0008"),
            CharEscape::FormFeed => out.write_all(b"\\u000c"),
            other => CompactFormatter.write_char_escape(out, other),
        }
    }

    fn begin_array<W: Write + ?Sized>(&mut self, out: &mut W) -> io::Result<()> {
        self.open(b"[", out)
    }

    fn end_array<W: Write + ?Sized>(&mut self, out: &mut W) -> io::Result<()> {
        self.close(b"]", out)
    }

    fn begin_array_value<W: Write + ?Sized>(&mut self, out: &mut W, _: bool) -> io::Result<()> {
        self.item(out)
    }

    fn begin_object<W: Write + ?Sized>(&mut self, out: &mut W) -> io::Result<()> {
        self.open(b"{", out)
    }

    fn end_object<W: Write + ?Sized>(&mut self, out: &mut W) -> io::Result<()> {
        self.close(b"}", out)
    }

    fn begin_object_key<W: Write + ?Sized>(&mut self, out: &mut W, _: bool) -> io::Result<()> {
        self.item(out)
    }

    fn begin_object_value<W: Write + ?Sized>(&mut self, out: &mut W) -> io::Result<()> {
        out.write_all(if self.depth.is_some() { b": " } else { b":" })
    }
}

/// A string to write to. Serializers write complete characters.
struct Utf8<'a>(&'a mut String);

impl Write for Utf8<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.push_str(str::from_utf8(bytes).map_err(io::Error::other)?);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// The canonical spelling of a number. An integer of any length keeps its digits; a float has many spellings and one shortest.
#[expect(clippy::cast_possible_truncation, reason = "the float is integral and below 2^53")]
pub(super) fn canonical_number(text: &str) -> Cow<'_, str> {
    if !text.contains(['.', 'e', 'E']) {
        return Cow::Borrowed(if text == "-0" { "0" } else { text });
    }
    match text.parse::<f64>() {
        Ok(float) if float.fract() == 0.0 && float.abs() < EXACT_FLOAT => Cow::Owned((float as i64).to_string()),
        Ok(float) => Number::from_f64(float).map_or(Cow::Borrowed(text), |shortest| Cow::Owned(shortest.to_string())),
        Err(_) => Cow::Borrowed(text),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn each_layout_has_its_own_layout_and_spelling_of_numbers() {
        let value = json!({ "b": [1.0, [], {}, [null, true]], "a\n": { "x": "[", "w": 2.5 } });
        assert_eq!(Layout::LINE.text(&value), r#"{"a\n":{"w":2.5,"x":"["},"b":[1,[],{},[null,true]]}"#);
        assert_eq!(Layout::EXACT_LINE.text(&value), value.to_string());
        let pretty = serde_json::to_string_pretty(&value).unwrap();
        assert_eq!(Layout::PRETTY.text(&value), pretty.replace("1.0", "1"));
        for float in [1.0, 0.1, 1e300, -0.0] {
            assert_eq!(Layout::EXACT_LINE.text(&float), json!(float).to_string());
            assert_eq!(Layout::LINE.text(&float), super::super::canonical(&json!(float)));
        }
    }

    #[test]
    fn nothing_acts_on_a_terminal_and_every_text_reads_back() {
        let text = "\u{1b}\u{7f}\u{9b}é\u{202e}\n\u{2028}😀\\\u{200b}\u{e0041}\u{8}\u{c}";
        let written = Layout::LINE.text(text);
        assert_eq!(written, "\"\\u001b\\u007f\\u009bé\\u202e\\n\\u2028😀\\\\\\u200b\\udb40\\udc41\\u0008\\u000c\"");
        assert_eq!(serde_json::from_str::<Value>(&written).unwrap(), json!(text));
        assert_eq!(super::super::canonical(&json!("\u{7f}é\u{202e}")), "\"\u{7f}é\u{202e}\"");
    }
}
