//! The reader of JSON texts: one pass that checks, reads and skips.
//!
//! Ambiguous text is rejected: a duplicate key, half of a surrogate pair or a number beyond any range is an error wherever
//! it is, even under keys that are not read. Only an object is read as an object: derived readers also take a list for a
//! struct, its elements for the fields in the order of the declaration.

use std::borrow::Cow;
use std::fmt;

use serde::de::value::{BorrowedStrDeserializer, MapDeserializer};
use serde::de::{DeserializeSeed, Deserializer, Error as _, IgnoredAny, MapAccess, SeqAccess, Unexpected, Visitor};
use serde::forward_to_deserialize_any;

use super::layout::canonical_number;
use super::strings;

/// The key under which `serde_json` presents a float or a long integer to a visitor, as an object with the number's text:
/// with `arbitrary_precision` that is how digits are kept. Input may not contain this key.
pub const NUMBER_KEY: &str = "$serde_json::private::Number";

/// The same for JSON that is kept as text.
pub(crate) const RAW_KEY: &str = "$serde_json::private::RawValue";

/// The name under which a text asks for its JSON string. What is between the quotes of one with escapes is presented as
/// something optional, which a string is not otherwise. Any other value is presented as usual.
pub(crate) const TEXT_KEY: &str = "$mcptest::Text";

/// The name under which a value asks for its JSON too. It is presented as a list of both.
pub(crate) const KEPT_KEY: &str = "$mcptest::Kept";

/// Objects with more keys than this sort them to find a duplicate; fewer are compared pairwise.
const FEW_KEYS: usize = 16;

/// Lists and objects that may be open at the same time, as in `serde_json`.
const MAX_OPEN: usize = 127;

/// A string at least this long is handed over instead of copied.
const LONG: usize = 256;

/// What a reader knows about its text.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Mode {
    /// Nothing. A duplicate key or a number out of range is an error.
    Strict,
    /// Nothing, but duplicate keys and numbers out of range are accepted.
    Lenient,
    /// It was read strictly before, so skipped values are not checked again.
    Checked,
}

pub(super) struct Reader<'de> {
    text: &'de str,
    at: usize,
    /// How many more lists and objects may be opened.
    room: usize,
    mode: Mode,
    /// The keys of the objects that are open.
    keys: Vec<OpenKey<'de>>,
    /// A string without its escapes.
    scratch: String,
}

/// A key of an object that is open.
struct OpenKey<'de> {
    /// Its first bytes, where duplicates are an error.
    start: u64,
    /// The bits of this key and of those before it in its object, as [`bit_of`] has them.
    bits: u64,
    text: Cow<'de, str>,
}

#[derive(Debug)]
pub(super) struct Error(Box<Problem>);

#[derive(Debug, Default)]
pub(super) struct Problem {
    /// Whether the text is not JSON. The message is the one of `serde_json`.
    pub(super) is_syntax: bool,
    /// The byte at which it is.
    pub(super) offset: Option<usize>,
    /// Where it is, from the inside out.
    path: Vec<String>,
    pub(super) message: String,
}

impl Error {
    #[cold]
    fn syntax(offset: usize) -> Self {
        Self(Box::new(Problem { is_syntax: true, offset: Some(offset), ..Problem::default() }))
    }

    #[cold]
    fn data(message: String, offset: usize) -> Self {
        Self(Box::new(Problem { offset: Some(offset), message, ..Problem::default() }))
    }

    /// The error of a value that begins at `offset`, unless it is inside of that value.
    #[cold]
    fn or_at(mut self, offset: usize) -> Self {
        self.0.offset.get_or_insert(offset);
        self
    }

    #[cold]
    fn below(mut self, step: String) -> Self {
        self.0.path.push(step);
        self
    }

    pub(super) fn into_problem(self) -> Problem {
        *self.0
    }
}

impl Problem {
    /// Where it is, as in `turns[2].role`.
    pub(super) fn path(&self) -> String {
        let path: String = self.path.iter().rev().map(String::as_str).collect();
        path.strip_prefix('.').map(str::to_owned).unwrap_or(path)
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.message)
    }
}

impl std::error::Error for Error {}

impl serde::de::Error for Error {
    #[cold]
    fn custom<T: fmt::Display>(message: T) -> Self {
        Self(Box::new(Problem { message: message.to_string(), ..Problem::default() }))
    }
}

/// A string of the text.
enum Text<'de> {
    Borrowed(&'de str),
    /// It has escapes, so what it says is in `scratch`.
    Copied,
}

/// A number of the text.
struct Number<'de> {
    text: &'de str,
    is_whole: bool,
}

impl<'de> Reader<'de> {
    pub(super) fn new(text: &'de str, mode: Mode) -> Self {
        Self { text, at: 0, room: MAX_OPEN, mode, keys: Vec::new(), scratch: String::new() }
    }

    /// Lets more lists and objects be open at the same time.
    pub(super) fn with_depth(self, depth: usize) -> Self {
        Self { room: depth, ..self }
    }

    pub(super) fn whole<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<S::Value, Error> {
        self.skip_space();
        let begin = self.at;
        let value = seed.deserialize(&mut *self).map_err(|error| error.or_at(begin))?;
        self.skip_space();
        if self.at == self.text.len() { Ok(value) } else { Err(Error::syntax(self.at)) }
    }

    fn byte(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    fn skip_space(&mut self) {
        while let Some(b' ' | b'\n' | b'\t' | b'\r') = self.byte() {
            self.at += 1;
        }
    }

    /// The next byte that is not a space.
    fn peek(&mut self) -> Result<u8, Error> {
        self.skip_space();
        self.byte().ok_or_else(|| Error::syntax(self.at))
    }

    /// Takes one byte after spaces.
    fn take(&mut self, wanted: u8) -> Result<(), Error> {
        if self.peek()? != wanted {
            return Err(Error::syntax(self.at));
        }
        self.at += 1;
        Ok(())
    }

    fn word(&mut self, word: &str) -> Result<(), Error> {
        if !self.text.as_bytes()[self.at..].starts_with(word.as_bytes()) {
            return Err(Error::syntax(self.at));
        }
        self.at += word.len();
        Ok(())
    }

    /// Takes a bracket that opens.
    fn open(&mut self) -> Result<(), Error> {
        self.room = self.room.checked_sub(1).ok_or_else(|| Error::syntax(self.at))?;
        self.at += 1;
        Ok(())
    }

    /// Whether an item follows before the bracket that closes, which is taken. `is_first` says that none came before.
    fn has_item(&mut self, close: u8, is_first: bool) -> Result<bool, Error> {
        let next = self.peek()?;
        if next == close {
            self.at += 1;
            self.room += 1;
            return Ok(false);
        }
        if !is_first {
            self.take(b',')?;
            self.skip_space();
        }
        Ok(true)
    }

    /// Goes to the end of a string. Returns what is between its quotes, and whether that has escapes.
    fn raw_string(&mut self) -> Result<(&'de str, bool), Error> {
        self.string_end(self.mode != Mode::Checked).map(|(raw, end)| (raw, end.has_escapes))
    }

    /// The same with all that is known of its escapes.
    #[inline]
    fn string_end(&mut self, is_strict: bool) -> Result<(&'de str, strings::End), Error> {
        let begin = self.at + 1;
        let end = self.pass_string(is_strict)?;
        Ok((&self.text[begin..end.at], end))
    }

    /// Goes to the end of a string.
    #[inline]
    fn pass_string(&mut self, is_strict: bool) -> Result<strings::End, Error> {
        let begin = self.at + 1;
        let end = strings::end(self.text.as_bytes(), begin, is_strict).ok_or_else(|| Error::syntax(begin))?;
        self.at = end.at + 1;
        Ok(end)
    }

    fn string(&mut self) -> Result<Text<'de>, Error> {
        let (raw, has_escapes) = self.raw_string()?;
        if !has_escapes {
            return Ok(Text::Borrowed(raw));
        }
        self.copy(raw)?;
        Ok(Text::Copied)
    }

    /// Copies a string without its escapes to `scratch`.
    fn copy(&mut self, raw: &str) -> Result<(), Error> {
        let mut bytes = std::mem::take(&mut self.scratch).into_bytes();
        bytes.clear();
        strings::unescape(raw, &mut bytes);
        self.scratch = String::from_utf8(bytes).map_err(|_| Error::syntax(self.at))?;
        Ok(())
    }

    /// Presents what [`Self::string`] copied.
    fn copied<V: Visitor<'de>>(&mut self, visitor: V) -> Result<V::Value, Error> {
        if self.scratch.len() < LONG {
            return visitor.visit_str(&self.scratch);
        }
        let mut text = std::mem::take(&mut self.scratch);
        // Escapes are short, so little is left over unless the text has few other characters.
        if text.capacity() > 2 * text.len() {
            text.shrink_to_fit();
        }
        visitor.visit_string(text)
    }

    fn number(&mut self) -> Result<Number<'de>, Error> {
        let begin = self.at;
        self.at += usize::from(self.byte() == Some(b'-'));
        match self.byte() {
            Some(b'0') => self.at += 1,
            _ => self.digits()?,
        }
        let whole = self.at;
        if self.byte() == Some(b'.') {
            self.at += 1;
            self.digits()?;
        }
        let has_exponent = matches!(self.byte(), Some(b'e' | b'E'));
        if has_exponent {
            self.at += 1;
            self.at += usize::from(matches!(self.byte(), Some(b'+' | b'-')));
            self.digits()?;
        }
        if let Some(b'0'..=b'9') = self.byte() {
            return Err(Error::syntax(self.at));
        }
        let number = Number { text: &self.text[begin..self.at], is_whole: whole == self.at };
        // A number of few bytes without an exponent is in range.
        let is_plain = number.is_whole || (number.text.len() < 300 && !has_exponent);
        if self.mode == Mode::Strict && !is_plain && !number.float().is_finite() {
            return Err(Error::data("number out of range".to_owned(), self.at - 1));
        }
        Ok(number)
    }

    /// Takes one digit or more.
    fn digits(&mut self) -> Result<(), Error> {
        let begin = self.at;
        while let Some(b'0'..=b'9') = self.byte() {
            self.at += 1;
        }
        if self.at > begin { Ok(()) } else { Err(Error::syntax(begin)) }
    }

    /// Reads the key of an object that has the keys from `from` on, and remembers it where it may be in an error. Fails if the
    /// object has it already; with many keys, [`Self::close`] finds that out.
    fn key(&mut self, from: usize) -> Result<Cow<'de, str>, Error> {
        if self.byte() != Some(b'"') {
            return Err(Error::syntax(self.at));
        }
        let (raw, found) = self.string_end(self.mode != Mode::Checked)?;
        let key = if found.has_escapes {
            self.copy(raw)?;
            Cow::Owned(self.scratch.clone())
        } else {
            Cow::Borrowed(raw)
        };
        let end = self.at - 1;
        if key.starts_with('$') && [NUMBER_KEY, RAW_KEY].contains(&&*key) {
            return Err(Error::data(format!("the key {key:?} is reserved"), end));
        }
        if self.mode == Mode::Strict {
            // Most keys differ in their first bytes, and few share a bit.
            let start = start_of(&key);
            let (keys, bit) = (&self.keys[from..], bit_of(start, key.len()));
            let before = keys.last().map_or(0, |last| last.bits);
            let is_like = |other: &OpenKey<'_>| other.start == start && other.text == key;
            if before & bit != 0 && keys.len() < FEW_KEYS && keys.iter().any(is_like) {
                return Err(duplicate(&key, end));
            }
            if self.keys.capacity() == 0 {
                self.keys.reserve(FEW_KEYS);
            }
            self.keys.push(OpenKey { start, bits: before | bit, text: key.clone() });
        }
        self.take(b':')?;
        Ok(key)
    }

    /// Adds the last key of an open object to an error. What was checked is read again after an error.
    #[cold]
    fn below_key(&self, error: Error, count: usize) -> Error {
        match self.keys.get(count.wrapping_sub(1)) {
            Some(key) => error.below(format!(".{}", key.text)),
            None => error,
        }
    }

    /// Forgets the keys of an object that ends. Fails if one of many keys is there twice.
    fn close(&mut self, from: usize) -> Result<(), Error> {
        let keys = &mut self.keys[from..];
        if self.mode == Mode::Strict && keys.len() > FEW_KEYS {
            keys.sort_unstable_by(|one, other| one.text.cmp(&other.text));
            if let Some([key, _]) = keys.array_windows().find(|[key, next]| key.text == next.text) {
                return Err(duplicate(&key.text, self.at - 2));
            }
        }
        self.keys.truncate(from);
        Ok(())
    }

    /// Skips a value of a text that was checked before: only quotes and brackets matter.
    fn skip_unchecked(&mut self) -> Result<(), Error> {
        let mut open = 0_usize;
        loop {
            match self.peek()? {
                b'"' => {
                    self.pass_string(false)?;
                }
                b'{' | b'[' => {
                    open += 1;
                    self.at += 1;
                }
                b'}' | b']' => {
                    open = open.saturating_sub(1);
                    self.at += 1;
                }
                b',' | b':' => self.at += 1,
                _ => {
                    while !matches!(self.byte(), None | Some(b',' | b'}' | b']' | b' ' | b'\n' | b'\t' | b'\r')) {
                        self.at += 1;
                    }
                }
            }
            if open == 0 {
                return Ok(());
            }
        }
    }

    /// Checks a value and builds nothing.
    fn skip(&mut self) -> Result<(), Error> {
        if self.mode == Mode::Checked { self.skip_unchecked() } else { self.check() }
    }

    fn check(&mut self) -> Result<(), Error> {
        match self.peek()? {
            b'"' => self.pass_string(true).map(|_| ()),
            b'{' => {
                self.open()?;
                let (from, mut is_first) = (self.keys.len(), true);
                while self.has_item(b'}', std::mem::take(&mut is_first))? {
                    self.key(from)?;
                    let count = self.keys.len();
                    self.check().map_err(|error| self.below_key(error, count))?;
                }
                self.close(from)
            }
            b'[' => {
                self.open()?;
                let mut count = 0;
                while self.has_item(b']', count == 0)? {
                    self.check().map_err(|error| error.below(format!("[{count}]")))?;
                    count += 1;
                }
                Ok(())
            }
            b'n' => self.word("null"),
            b't' => self.word("true"),
            b'f' => self.word("false"),
            _ => self.number().map(|_| ()),
        }
    }

    /// Appends the canonical text of a value without building it. False if the keys of an object are not in order.
    pub(super) fn canonical(&mut self, out: &mut String) -> Result<bool, Error> {
        self.skip_space();
        let mut copied = self.at;
        let is_ordered = self.canonical_value(&mut copied, out)?;
        out.push_str(&self.text[copied..self.at]);
        Ok(is_ordered)
    }

    /// The same. What is as in canonical text is copied in one go, from `copied` on.
    fn canonical_value(&mut self, copied: &mut usize, out: &mut String) -> Result<bool, Error> {
        match self.byte().ok_or_else(|| Error::syntax(self.at))? {
            b'"' => {
                let begin = self.at;
                let (raw, end) = self.string_end(true)?;
                if !end.is_canonical {
                    out.push_str(&self.text[*copied..begin]);
                    super::write_canonical(&super::unescape(raw).into(), out);
                    *copied = self.at;
                }
            }
            open @ (b'{' | b'[') => {
                let close = if open == b'{' { b'}' } else { b']' };
                self.open()?;
                let (mut is_first, mut last) = (true, None);
                loop {
                    self.leave_out_space(copied, out);
                    if is_first && self.byte() == Some(close) {
                        break;
                    }
                    is_first = false;
                    if open == b'{' {
                        if self.byte() != Some(b'"') {
                            return Err(Error::syntax(self.at));
                        }
                        let (key, has_escapes) = self.raw_string()?;
                        if has_escapes || last.is_some_and(|last| last >= key) {
                            return Ok(false);
                        }
                        last = Some(key);
                        self.leave_out_space(copied, out);
                        self.take(b':')?;
                        self.leave_out_space(copied, out);
                    }
                    if !self.canonical_value(copied, out)? {
                        return Ok(false);
                    }
                    self.leave_out_space(copied, out);
                    match self.byte() {
                        Some(b',') => self.at += 1,
                        Some(byte) if byte == close => break,
                        _ => return Err(Error::syntax(self.at)),
                    }
                }
                self.at += 1;
                self.room += 1;
            }
            b'n' => self.word("null")?,
            b't' => self.word("true")?,
            b'f' => self.word("false")?,
            _ => {
                let begin = self.at;
                let number = self.number()?;
                let canonical = canonical_number(number.text);
                if canonical != number.text {
                    out.push_str(&self.text[*copied..begin]);
                    out.push_str(&canonical);
                    *copied = self.at;
                }
            }
        }
        Ok(true)
    }

    /// Skips space that canonical text does not have.
    fn leave_out_space(&mut self, copied: &mut usize, out: &mut String) {
        let begin = self.at;
        self.skip_space();
        if self.at > begin {
            out.push_str(&self.text[*copied..begin]);
            *copied = self.at;
        }
    }

    /// Reads a value. Numbers keep their digits if `is_exact`.
    fn value<V: Visitor<'de>>(&mut self, visitor: V, is_exact: bool) -> Result<V::Value, Error> {
        match self.peek()? {
            b'"' => match self.string()? {
                Text::Borrowed(text) => visitor.visit_borrowed_str(text),
                Text::Copied => self.copied(visitor),
            },
            b'{' => {
                self.open()?;
                let from = self.keys.len();
                let mut entries = Entries { reader: self, from, is_first: true, is_done: false };
                let value = visitor.visit_map(&mut entries)?;
                // A visitor that has what it wants may leave the rest.
                while entries.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
                Ok(value)
            }
            b'[' => {
                self.open()?;
                let mut items = Items { reader: self, count: 0, is_done: false };
                let value = visitor.visit_seq(&mut items)?;
                while items.next_element::<IgnoredAny>()?.is_some() {}
                Ok(value)
            }
            b'n' => self.word("null").and_then(|()| visitor.visit_unit()),
            b't' => self.word("true").and_then(|()| visitor.visit_bool(true)),
            b'f' => self.word("false").and_then(|()| visitor.visit_bool(false)),
            _ => self.number()?.visit(visitor, is_exact),
        }
    }

    fn object<V: Visitor<'de>>(&mut self, visitor: V) -> Result<V::Value, Error> {
        match self.peek()? {
            b'[' => Err(Error::invalid_type(Unexpected::Seq, &visitor)),
            _ => self.value(visitor, false),
        }
    }
}

impl<'de> Number<'de> {
    fn float(&self) -> f64 {
        // The grammar of floats includes that of JSON.
        self.text.parse().unwrap_or(f64::NAN)
    }

    fn visit<V: Visitor<'de>>(&self, visitor: V, is_exact: bool) -> Result<V::Value, Error> {
        if self.is_whole && self.text != "-0" {
            if let Ok(number) = self.text.parse() {
                return visitor.visit_u64(number);
            }
            if let Ok(number) = self.text.parse() {
                return visitor.visit_i64(number);
            }
        }
        if is_exact { presented(NUMBER_KEY, self.text, visitor) } else { visitor.visit_f64(self.float()) }
    }
}

/// Presents a text under a key that `serde_json` knows.
fn presented<'de, V: Visitor<'de>>(key: &'static str, text: &'de str, visitor: V) -> Result<V::Value, Error> {
    visitor.visit_map(MapDeserializer::new(std::iter::once((key, BorrowedStrDeserializer::new(text)))))
}

/// The first eight bytes of a key, or all bytes of a shorter one. Different keys may have the same.
fn start_of(key: &str) -> u64 {
    let bytes = key.as_bytes();
    if let Some(first) = bytes.first_chunk() {
        return u64::from_le_bytes(*first);
    }
    match (bytes.first_chunk(), bytes.last_chunk()) {
        (Some(first), Some(last)) => {
            u64::from(u32::from_le_bytes(*first)) | (u64::from(u32::from_le_bytes(*last)) << 32)
        }
        _ => bytes.iter().fold(0, |start, byte| (start << 8) | u64::from(*byte)),
    }
}

/// One of 64 bits for a key of these first bytes and this length. Different keys may have the same.
fn bit_of(start: u64, length: usize) -> u64 {
    1 << ((start ^ length as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 58)
}

#[cold]
fn duplicate(key: &str, offset: usize) -> Error {
    Error::data(format!("duplicate key {key:?}"), offset)
}

macro_rules! inexact {
    ($($name:ident)+) => { $(
        fn $name<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
            self.value(visitor, false)
        }
    )+ };
}

impl<'de> Deserializer<'de> for &mut Reader<'de> {
    type Error = Error;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        self.value(visitor, true)
    }

    inexact! {
        deserialize_bool deserialize_i8 deserialize_i16 deserialize_i32 deserialize_i64 deserialize_i128
        deserialize_u8 deserialize_u16 deserialize_u32 deserialize_u64 deserialize_u128 deserialize_f32 deserialize_f64
        deserialize_char deserialize_str deserialize_string deserialize_bytes deserialize_byte_buf
        deserialize_unit deserialize_seq deserialize_identifier
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        if self.peek()? == b'n' {
            self.word("null").and_then(|()| visitor.visit_none())
        } else {
            visitor.visit_some(self)
        }
    }

    fn deserialize_ignored_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        self.skip().and_then(|()| visitor.visit_unit())
    }

    fn deserialize_map<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        self.object(visitor)
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Error> {
        self.object(visitor)
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(self, name: &'static str, visitor: V) -> Result<V::Value, Error> {
        if name == TEXT_KEY && self.peek()? == b'"' {
            return match self.raw_string()? {
                (raw, true) => visitor.visit_some(BorrowedStrDeserializer::new(raw)),
                (text, false) => visitor.visit_borrowed_str(text),
            };
        }
        if name != RAW_KEY && name != KEPT_KEY {
            return visitor.visit_newtype_struct(self);
        }
        self.skip_space();
        if name == KEPT_KEY {
            return visitor.visit_seq(Kept { begin: self.at, reader: self, is_read: false });
        }
        let begin = self.at;
        self.skip()?;
        presented(RAW_KEY, &self.text[begin..self.at], visitor)
    }

    forward_to_deserialize_any! { unit_struct tuple tuple_struct enum }
}

/// The entries of an object.
struct Entries<'r, 'de> {
    reader: &'r mut Reader<'de>,
    /// The first of its keys.
    from: usize,
    is_first: bool,
    is_done: bool,
}

impl<'de> MapAccess<'de> for Entries<'_, 'de> {
    type Error = Error;

    fn next_key_seed<K: DeserializeSeed<'de>>(&mut self, seed: K) -> Result<Option<K::Value>, Error> {
        let Self { reader, from, is_first, is_done } = self;
        if *is_done || !reader.has_item(b'}', std::mem::take(is_first))? {
            if !std::mem::replace(is_done, true) {
                reader.close(*from)?;
            }
            return Ok(None);
        }
        let key = reader.key(*from)?;
        seed.deserialize(Key(&key)).map(Some)
    }

    fn next_value_seed<T: DeserializeSeed<'de>>(&mut self, seed: T) -> Result<T::Value, Error> {
        let reader = &mut *self.reader;
        reader.skip_space();
        let (begin, count) = (reader.at, reader.keys.len());
        seed.deserialize(&mut *reader).map_err(|error| reader.below_key(error.or_at(begin), count))
    }
}

/// The items of a list.
struct Items<'r, 'de> {
    reader: &'r mut Reader<'de>,
    count: usize,
    is_done: bool,
}

impl<'de> SeqAccess<'de> for Items<'_, 'de> {
    type Error = Error;

    fn next_element_seed<T: DeserializeSeed<'de>>(&mut self, seed: T) -> Result<Option<T::Value>, Error> {
        let Self { reader, count, is_done } = self;
        if *is_done || !reader.has_item(b']', *count == 0)? {
            *is_done = true;
            return Ok(None);
        }
        reader.skip_space();
        let begin = reader.at;
        let item = seed.deserialize(&mut **reader).map_err(|error| error.or_at(begin).below(format!("[{count}]")))?;
        *count += 1;
        Ok(Some(item))
    }
}

/// A value and its JSON.
struct Kept<'r, 'de> {
    reader: &'r mut Reader<'de>,
    begin: usize,
    is_read: bool,
}

impl<'de> SeqAccess<'de> for Kept<'_, 'de> {
    type Error = Error;

    fn next_element_seed<T: DeserializeSeed<'de>>(&mut self, seed: T) -> Result<Option<T::Value>, Error> {
        if !std::mem::replace(&mut self.is_read, true) {
            return seed.deserialize(&mut *self.reader).map(Some);
        }
        let json = &self.reader.text[self.begin..self.reader.at];
        seed.deserialize(BorrowedStrDeserializer::new(json)).map(Some)
    }
}

/// A key of an object.
struct Key<'r, 'de>(&'r Cow<'de, str>);

impl<'de> Deserializer<'de> for Key<'_, 'de> {
    type Error = Error;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        match self.0 {
            Cow::Borrowed(key) => visitor.visit_borrowed_str(key),
            Cow::Owned(key) => visitor.visit_str(key),
        }
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(self, _: &'static str, visitor: V) -> Result<V::Value, Error> {
        visitor.visit_newtype_struct(self)
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf option unit unit_struct seq tuple
        tuple_struct map struct enum identifier ignored_any
    }
}

#[cfg(test)]
mod tests;
