//! A place in a JSON text: reads what is asked for there and passes over the rest.
//!
//! It knows right from wrong and not what is wrong: `None` says that the text is not what was asked for, and whoever has
//! to say why parses it again.

use std::borrow::Cow;

use serde_json::{Map, Value};

use crate::json::{self, texts};

/// Room for the elements of most lists.
const FEW: usize = 4;

/// Deepest nesting: what the other parser takes.
const MAX_DEPTH: usize = json::MAX_DEPTH - 1;

pub(super) struct Cursor<'a> {
    text: &'a str,
    at: usize,
    depth: usize,
}

/// A string as it is written, with its marks.
struct Raw<'a> {
    quoted: &'a str,
    has_escapes: bool,
}

impl<'a> Raw<'a> {
    fn text(&self) -> &'a str {
        &self.quoted[1..self.quoted.len() - 1]
    }

    /// What it says.
    fn read(self) -> Option<Cow<'a, str>> {
        if self.has_escapes { serde_json::from_str(self.quoted).ok() } else { Some(Cow::Borrowed(self.text())) }
    }
}

impl<'a> Cursor<'a> {
    pub(super) fn new(text: &'a str) -> Self {
        Self { text, at: 0, depth: 0 }
    }

    /// Holds when nothing but white space follows.
    pub(super) fn end(&mut self) -> Option<()> {
        self.peek().is_none().then_some(())
    }

    /// The byte at which the next value or mark begins.
    fn peek(&mut self) -> Option<u8> {
        loop {
            let byte = *self.text.as_bytes().get(self.at)?;
            if !matches!(byte, b' ' | b'\t' | b'\n' | b'\r') {
                return Some(byte);
            }
            self.at += 1;
        }
    }

    /// Passes this mark when it is next.
    fn eat(&mut self, mark: u8) -> bool {
        let is_next = self.peek() == Some(mark);
        self.at += usize::from(is_next);
        is_next
    }

    /// Passes this word when it is next.
    fn word(&mut self, word: &str) -> Option<()> {
        self.peek()?;
        self.text.as_bytes()[self.at..].starts_with(word.as_bytes()).then(|| self.at += word.len())
    }

    /// A value, unless it is `null`.
    #[expect(clippy::option_option, reason = "the outer one is that of every reader here")]
    pub(super) fn known<T>(&mut self, read: impl FnOnce(&mut Self) -> Option<T>) -> Option<Option<T>> {
        if self.peek()? == b'n' {
            return self.word("null").map(|()| None);
        }
        read(self).map(Some)
    }

    /// An object. `read` is given each of these keys that it has; the others are passed over. No key stands twice.
    pub(super) fn object<const N: usize>(
        &mut self,
        keys: [&'static str; N],
        mut read: impl FnMut(&mut Self, &'static str) -> Option<()>,
    ) -> Option<()> {
        let mut seen = [false; N];
        self.members(|cursor, name| {
            // Names are short: comparing them byte by byte is cheaper than a call.
            let text = name.text();
            let Some(at) = keys.iter().position(|key| key.len() == text.len() && key.bytes().eq(text.bytes())) else {
                // An escaped name may be one of the keys.
                return if name.has_escapes { None } else { cursor.pass() };
            };
            if std::mem::replace(&mut seen[at], true) {
                return None;
            }
            read(cursor, keys[at])
        })
    }

    /// An object, with its names as they are written.
    fn members(&mut self, mut member: impl FnMut(&mut Self, Raw<'a>) -> Option<()>) -> Option<()> {
        self.between(b'{', b'}', |cursor| {
            let name = cursor.raw_text()?;
            if !cursor.eat(b':') {
                return None;
            }
            member(cursor, name)
        })
    }

    /// A list.
    pub(super) fn list<T>(&mut self, mut read: impl FnMut(&mut Self) -> Option<T>) -> Option<Vec<T>> {
        let mut out = Vec::with_capacity(FEW);
        self.between(b'[', b']', |cursor| {
            out.push(read(cursor)?);
            Some(())
        })?;
        Some(out)
    }

    /// What stands between two brackets, separated by commas.
    fn between(&mut self, open: u8, close: u8, mut each: impl FnMut(&mut Self) -> Option<()>) -> Option<()> {
        self.depth += 1;
        if !self.eat(open) || self.depth > MAX_DEPTH {
            return None;
        }
        if !self.eat(close) {
            loop {
                each(self)?;
                if self.eat(close) {
                    break;
                }
                if !self.eat(b',') {
                    return None;
                }
            }
        }
        self.depth -= 1;
        Some(())
    }

    /// A string as it is written.
    fn raw_text(&mut self) -> Option<Raw<'a>> {
        if self.peek() != Some(b'"') {
            return None;
        }
        let start = self.at;
        let end = texts::end(self.text.as_bytes(), start + 1)?;
        self.at = end.at + 1;
        Some(Raw { quoted: &self.text[start..self.at], has_escapes: end.has_escapes })
    }

    /// A string.
    pub(super) fn text(&mut self) -> Option<Cow<'a, str>> {
        self.raw_text()?.read()
    }

    /// A string of its own.
    pub(super) fn owned(&mut self) -> Option<String> {
        self.text().map(Cow::into_owned)
    }

    pub(super) fn bool(&mut self) -> Option<bool> {
        if self.peek()? == b't' { self.word("true").map(|()| true) } else { self.word("false").map(|()| false) }
    }

    /// A whole number. The other parser takes `-0` for a fraction.
    pub(super) fn whole<T: std::str::FromStr>(&mut self) -> Option<T> {
        self.raw().filter(|raw| *raw != "-0")?.parse().ok()
    }

    /// Any value, in which no key stands twice.
    pub(super) fn value(&mut self) -> Option<Value> {
        Some(match self.peek()? {
            b'"' => Value::String(self.owned()?),
            b'{' => {
                let mut map = Map::new();
                self.members(|cursor, name| {
                    let value = cursor.value()?;
                    map.insert(name.read()?.into_owned(), value).is_none().then_some(())
                })?;
                Value::Object(map)
            }
            b'[' => Value::Array(self.list(Self::value)?),
            b't' | b'f' => Value::Bool(self.bool()?),
            b'n' => self.word("null").map(|()| Value::Null)?,
            _ => {
                let raw = self.raw()?;
                raw.parse::<u64>().map_or_else(|_| serde_json::from_str(raw).ok(), |whole| Some(whole.into()))?
            }
        })
    }

    /// Any value as it is written.
    pub(super) fn raw(&mut self) -> Option<&'a str> {
        self.peek()?;
        let start = self.at;
        self.pass()?;
        Some(&self.text[start..self.at])
    }

    /// Passes over a value.
    pub(super) fn pass(&mut self) -> Option<()> {
        match self.peek()? {
            b'"' => self.raw_text().map(|_| ()),
            b'{' => self.members(|cursor, _| cursor.pass()),
            b'[' => self.between(b'[', b']', Self::pass),
            b't' => self.word("true"),
            b'f' => self.word("false"),
            b'n' => self.word("null"),
            _ => self.pass_number(),
        }
    }

    fn pass_number(&mut self) -> Option<()> {
        let bytes = self.text.as_bytes();
        let digits = |from: usize| bytes[from..].iter().take_while(|byte| byte.is_ascii_digit()).count();
        let mut at = self.at + usize::from(bytes.get(self.at) == Some(&b'-'));
        let whole = digits(at);
        if whole == 0 || (whole > 1 && bytes[at] == b'0') {
            return None;
        }
        at += whole;
        if bytes.get(at) == Some(&b'.') {
            let behind = digits(at + 1);
            at += 1 + behind;
            if behind == 0 {
                return None;
            }
        }
        if matches!(bytes.get(at), Some(b'e' | b'E')) {
            at += 1 + usize::from(matches!(bytes.get(at + 1), Some(b'+' | b'-')));
            let power = digits(at);
            at += power;
            if power == 0 {
                return None;
            }
        }
        self.at = at;
        Some(())
    }
}
