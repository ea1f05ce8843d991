//! Splits a stream into JSON values.
//!
//! Nothing is parsed here: values are found by their brackets and passed on as text, many in a [`Batch`], so that they can be
//! parsed elsewhere and in parallel. The beginning of a source decides how it is read.
//!
//! - **Lines**: the first line is one complete value, or it is broken and the second one is an object. Then every line is a
//!   value, and an error affects only its line.
//! - **Document**: anything else. Values follow each other and may span lines. Lists of records, and the lists inside the logs of
//!   some tools, are not kept in memory as a whole; their elements are the values.
//! - **Messages**: exports in protobuf, which become JSON here. Nothing else is changed.
//!
//! The result does not depend on how the source splits its bytes. Complete values are returned before more is read, so that a
//! pipe is processed while its writer is running.

mod document;
mod header;
mod lines;
mod messages;
mod scan;
mod window;

use std::io::Read;
use std::ops::Range;
use std::sync::Arc;

use mcptest_core::diag::Code;
use mcptest_core::import::Unit;
use memchr::memchr;
use serde::de::IgnoredAny;

use super::job::RecordError;
use document::Document;
use lines::Lines;
use messages::Messages;
use scan::{Scan, Step, is_blank, leading_blanks};
use window::{Ended, Window};

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Item {
    Batch(Batch),
    /// Something that is not a value. Reading continues after it if possible.
    Broken(RecordError),
    /// The source has no values; why.
    Nothing(&'static str),
}

/// The hint for an empty source.
pub(crate) const LEAVE_OUT: &str = "leave it out, or check what should have written it";

impl Item {
    fn broken(code: Code, offset: u64, message: impl Into<String>, hint: impl Into<String>) -> Self {
        Self::Broken(RecordError::error(Some(offset), message).code(code).hint(hint))
    }

    fn too_long(offset: u64, most: usize) -> Self {
        Self::broken(
            Code::RecordTooLarge,
            offset,
            format!("the record has more than {most} bytes, the limit"),
            "raise it with --max-record",
        )
    }

    fn no_utf8(offset: u64, byte: u8) -> Self {
        Self::broken(Code::NotUtf8, offset, format!("byte 0x{byte:02x} is not UTF-8"), "save the file as UTF-8")
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Batch {
    /// The text. Return it with [`Frames::recycle`].
    pub(crate) text: Arc<String>,
    /// The bytes of each value in the text, without white space around it.
    pub(crate) values: Vec<Range<usize>>,
    /// Where the text begins in the decompressed bytes.
    pub(crate) offset: u64,
    /// The members before the list of these values, as a JSON object; `None` unless the list is a member of an object.
    pub(crate) header: Option<Arc<str>>,
}

/// The values of one source.
pub(crate) struct Frames<'a, R> {
    window: Window<R>,
    unit_of: &'a dyn Fn(&str) -> Option<Unit>,
    max_record: usize,
    mode: Mode,
    /// Whether anything was returned: a source without records is an error.
    gave_any: bool,
}

enum Mode {
    Undecided,
    Lines(Lines),
    Document(Document),
    Messages(Messages),
    Ended,
}

impl<'a, R: Read> Frames<'a, R> {
    /// The values in `input`, each of at most `max_record` bytes. `unit_of` says what a value is in its format: a list of messages
    /// is one record.
    pub(crate) fn new(input: R, max_record: usize, unit_of: &'a dyn Fn(&str) -> Option<Unit>) -> Self {
        Self { window: Window::new(input, max_record), unit_of, max_record, mode: Mode::Undecided, gave_any: false }
    }

    /// Reads as much as there is at a time. The source has this size, unless it is compressed; a pipe has none.
    pub(crate) fn of_size(mut self, size: Option<u64>) -> Self {
        self.window.fit(size);
        self
    }

    /// Takes back the text of a batch, for reuse unless something shares it.
    pub(crate) fn recycle(&mut self, text: Arc<String>) {
        if let Ok(text) = Arc::try_unwrap(text) {
            self.window.recycle(text.into_bytes());
        }
    }

    /// Chooses the mode by the beginning of the source.
    fn decide(&mut self) -> Result<Mode, Item> {
        if let Some(messages) = Messages::detect(&mut self.window, self.max_record) {
            return Ok(Mode::Messages(messages));
        }
        self.skip_mark()?;
        let start = self.window.offset(0);
        loop {
            let blanks = leading_blanks(self.window.filled());
            self.window.discard(blanks);
            if !self.window.filled().is_empty() {
                break;
            }
            if !self.window.fill() {
                let is_empty = self.window.offset(0) == start;
                let message = if is_empty { "it is empty" } else { "it contains only white space" };
                return Err(self.window.failure().unwrap_or(Item::Nothing(message)));
            }
        }
        let lists_are_values = self.first() != b'[' || !self.is_list_of_records();
        let is_lines = match self.first() {
            b'{' | b'[' => lists_are_values && self.is_line(),
            _ => self.is_scalar_line() || self.is_object_on_second_line(),
        };
        Ok(if is_lines {
            Mode::Lines(Lines::new(self.max_record))
        } else {
            Mode::Document(Document::new(self.max_record, lists_are_values))
        })
    }

    /// The first byte that is not white space, once it was read.
    fn first(&self) -> u8 {
        self.window.filled()[0]
    }

    /// Skips a UTF-8 byte order mark, and rejects UTF-16.
    fn skip_mark(&mut self) -> Result<(), Item> {
        const UTF8: &[u8] = &[0xef, 0xbb, 0xbf];
        const UTF16: [&[u8]; 2] = [&[0xff, 0xfe], &[0xfe, 0xff]];
        let begins = |mark: &[u8], bytes: &[u8]| bytes.len() < mark.len() && mark.starts_with(bytes);
        let is_open = |bytes: &[u8]| begins(UTF8, bytes) || UTF16.iter().any(|mark| begins(mark, bytes));
        while is_open(self.window.filled()) && self.window.fill() {}
        let bytes = self.window.filled();
        if UTF16.iter().any(|mark| bytes.starts_with(mark)) {
            return Err(Item::broken(Code::NotUtf8, 0, "it is UTF-16", "save it as UTF-8"));
        }
        if bytes.starts_with(UTF8) {
            self.window.discard(UTF8.len());
        }
        Ok(())
    }

    /// Whether the object or list at the beginning is alone on its line, and is not an object around a list of records. One that
    /// is too long or too deep counts as a line if it has no line end.
    fn is_line(&mut self) -> bool {
        let mut scan = Scan::value(self.first()).watched();
        loop {
            let bytes = self.window.filled();
            let seen = match scan.run(bytes) {
                Step::End(end) if end <= self.max_record => return self.is_line_of(end),
                Step::List { after, .. } if after <= self.max_record => return false,
                Step::Deep(at) => at.min(self.max_record),
                Step::More if bytes.len() <= self.max_record => {
                    if self.window.fill() {
                        continue;
                    }
                    return self.is_broken_line();
                }
                Step::End(_) | Step::List { .. } | Step::More => self.max_record,
            };
            return memchr(b'\n', &bytes[..seen]).is_none() || self.is_broken_line();
        }
    }

    /// Whether the value that ends at `end` is alone on one line.
    fn is_line_of(&mut self, end: usize) -> bool {
        if memchr(b'\n', &self.window.filled()[..end]).is_some() {
            return false;
        }
        let mut at = end;
        // Any amount of white space may precede the line end.
        while at <= self.max_record {
            match self.window.filled().get(at).copied() {
                Some(b'\n') => return true,
                Some(byte) if is_blank(byte) => at += 1,
                // Another value may follow, but nothing else.
                Some(byte) => return !matches!(byte, b'{' | b'[') && self.is_broken_line(),
                None if self.window.fill() => {}
                None => return matches!(self.window.over(), Some(Ended::Clean)),
            }
        }
        false
    }

    /// Whether the value at the beginning, which has no end or is followed by something else, is a broken line of several. The
    /// list of a truncated document has its elements on lines as well.
    fn is_broken_line(&mut self) -> bool {
        self.first() == b'{' && self.is_object_on_second_line()
    }

    /// Whether the second line that is not blank is one complete object, as far as a record may reach.
    fn is_object_on_second_line(&mut self) -> bool {
        let (mut start, mut is_first) = (0, true);
        loop {
            let bytes = self.window.filled();
            let end = match memchr(b'\n', &bytes[start..]) {
                Some(end) => start + end,
                None if bytes.len() <= self.max_record && self.window.fill() => continue,
                None => self.window.filled().len(),
            };
            if end > self.max_record || end == start && end == self.window.filled().len() {
                return false;
            }
            let line = &self.window.filled()[start..end];
            let blanks = leading_blanks(line);
            if !is_first && blanks < line.len() {
                return line[blanks] == b'{' && serde_json::from_slice::<IgnoredAny>(line).is_ok();
            }
            (start, is_first) = (end + 1, false);
            if start > self.window.filled().len() {
                return false;
            }
        }
    }

    /// Whether the elements of the list at the beginning are records: all except messages are.
    fn is_list_of_records(&mut self) -> bool {
        let mut at = 1;
        loop {
            match self.window.filled().get(at).copied() {
                // What an empty list would contain is unknown. As a value it is not overlooked.
                Some(b']') => return false,
                Some(byte) if is_blank(byte) && at <= self.max_record => at += 1,
                Some(_) => break,
                None if self.window.fill() => {}
                None => return true,
            }
        }
        let mut scan = Scan::value(self.window.filled()[at]);
        loop {
            let element = &self.window.filled()[at..];
            match scan.run(element) {
                Step::End(end) if end <= self.max_record => {
                    let text = std::str::from_utf8(&element[..end]).ok();
                    return text.and_then(self.unit_of) != Some(Unit::Message);
                }
                Step::More if element.len() <= self.max_record && self.window.fill() => {}
                _ => return true,
            }
        }
    }

    /// Whether the first line is a scalar: not a record, but a complete value.
    fn is_scalar_line(&mut self) -> bool {
        if !matches!(self.first(), b'"' | b'-' | b'0'..=b'9' | b't' | b'f' | b'n') {
            return false;
        }
        let mut seen = 0;
        loop {
            let bytes = self.window.filled();
            let end = match memchr(b'\n', &bytes[seen..]) {
                Some(at) => seen + at,
                None if bytes.len() <= self.max_record => {
                    seen = bytes.len();
                    if self.window.fill() {
                        continue;
                    }
                    seen
                }
                None => return false,
            };
            let line = &self.window.filled()[..end];
            return end <= self.max_record && serde_json::from_slice::<IgnoredAny>(line).is_ok();
        }
    }
}

impl<R: Read> Iterator for Frames<'_, R> {
    type Item = Item;

    fn next(&mut self) -> Option<Item> {
        if matches!(self.mode, Mode::Undecided) {
            match self.decide() {
                Ok(mode) => self.mode = mode,
                Err(item) => {
                    self.mode = Mode::Ended;
                    return Some(item);
                }
            }
        }
        let item = match &mut self.mode {
            Mode::Lines(lines) => lines.next(&mut self.window),
            Mode::Document(document) => document.next(&mut self.window),
            Mode::Messages(messages) => messages.next(&mut self.window),
            Mode::Undecided | Mode::Ended => return None,
        };
        let gave_any = std::mem::replace(&mut self.gave_any, true);
        if item.is_none() {
            self.mode = Mode::Ended;
            if !gave_any {
                return Some(Item::Nothing("it contains no record"));
            }
        }
        item
    }
}

#[cfg(test)]
mod tests;
