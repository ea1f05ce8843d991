//! Sources with one value per line.

use std::io::Read;
use std::ops::Range;

use memchr::{memchr, memchr_iter, memrchr};

use super::scan::is_blank;
use super::window::Window;
use super::{Batch, Item};

/// The state of reading lines. The window begins at the start of a line, or inside a skipped line.
pub(super) struct Lines {
    max_record: usize,
    /// How much of the window is known to contain no line end.
    seen: usize,
    is_skipping: bool,
    mixed: Option<MixedLines>,
}

impl Lines {
    pub(super) fn new(max_record: usize) -> Self {
        Self { max_record, seen: 0, is_skipping: false, mixed: None }
    }

    pub(super) fn next<R: Read>(&mut self, window: &mut Window<R>) -> Option<Item> {
        loop {
            if let Some(mixed) = &mut self.mixed {
                if let Some(item) = mixed.next(self.max_record) {
                    return Some(item);
                }
                self.mixed = None;
            }
            if self.is_skipping {
                let end = memchr(b'\n', window.filled());
                window.discard(end.map_or(window.filled().len(), |at| at + 1));
                self.is_skipping = end.is_none();
                if self.is_skipping && !window.fill() {
                    return window.failure();
                }
                continue;
            }
            let bytes = window.filled();
            if let Some(last) = memrchr(b'\n', &bytes[self.seen..]) {
                let cut = self.seen + last + 1;
                let (offset, bytes) = window.take(cut, cut);
                self.seen = window.filled().len();
                if let Some(item) = self.frame(offset, bytes, window) {
                    return Some(item);
                }
                continue;
            }
            self.seen = bytes.len();
            // One more byte may be the carriage return of a line of maximum length.
            if bytes.len() > self.max_record.saturating_add(1) {
                let item = Item::too_long(window.offset(0), self.max_record);
                (self.seen, self.is_skipping) = (0, true);
                return Some(item);
            }
            if !window.fill() {
                let failure = window.failure();
                let (offset, bytes) = window.take(self.seen, self.seen);
                self.seen = 0;
                // A partial line after a read error is not a line.
                if failure.is_some() {
                    return failure;
                }
                if bytes.is_empty() {
                    return None;
                }
                if let Some(item) = self.frame(offset, bytes, window) {
                    return Some(item);
                }
            }
        }
    }

    /// The values on complete lines; `None` if all of them are blank, or if some are broken and have to be handled one by one.
    fn frame<R: Read>(&mut self, offset: u64, bytes: Vec<u8>, window: &mut Window<R>) -> Option<Item> {
        let text = match String::from_utf8(bytes) {
            Ok(text) => text,
            Err(error) => {
                self.mixed = Some(MixedLines { bytes: error.into_bytes(), at: 0, offset });
                return None;
            }
        };
        let mut values = Vec::new();
        let mut at = 0;
        for end in memchr_iter(b'\n', text.as_bytes()).chain([text.len()]) {
            if is_too_long(&text.as_bytes()[at..end], self.max_record) {
                self.mixed = Some(MixedLines { bytes: text.into_bytes(), at: 0, offset });
                return None;
            }
            values.extend(trimmed(text.as_bytes(), at..end));
            at = end + 1;
            if at >= text.len() {
                break;
            }
        }
        if values.is_empty() {
            window.recycle(text.into_bytes());
            return None;
        }
        Some(Item::Batch(Batch { text: text.into(), values, offset, header: None }))
    }
}

/// Lines, some of which are broken.
struct MixedLines {
    bytes: Vec<u8>,
    at: usize,
    offset: u64,
}

impl MixedLines {
    /// The next valid lines, or the next broken one.
    fn next(&mut self, max_record: usize) -> Option<Item> {
        let (start, mut text) = (self.at, String::new());
        let mut values = Vec::new();
        while self.at < self.bytes.len() {
            let end = memchr(b'\n', &self.bytes[self.at..]).map_or(self.bytes.len(), |at| self.at + at);
            let line = &self.bytes[self.at..end];
            let at = self.offset + self.at as u64;
            let broken = if is_too_long(line, max_record) {
                Item::too_long(at, max_record)
            } else {
                match std::str::from_utf8(line) {
                    Ok(line) => {
                        let from = self.at - start;
                        text.push_str(line);
                        text.push('\n');
                        values.extend(trimmed(text.as_bytes(), from..from + line.len()));
                        self.at = end + 1;
                        continue;
                    }
                    Err(error) => {
                        let bad = error.valid_up_to();
                        Item::no_utf8(at + bad as u64, line[bad])
                    }
                }
            };
            if !values.is_empty() {
                break;
            }
            self.at = end + 1;
            return Some(broken);
        }
        let offset = self.offset + start as u64;
        (!values.is_empty()).then_some(Item::Batch(Batch { text: text.into(), values, offset, header: None }))
    }
}

/// Whether a line, without its line end, is longer than a record may be.
fn is_too_long(line: &[u8], most: usize) -> bool {
    line.len() > most && line.strip_suffix(b"\r").unwrap_or(line).len() > most
}

/// The part of a line that is not white space, where there is one.
fn trimmed(text: &[u8], line: Range<usize>) -> Option<Range<usize>> {
    let bytes = &text[line.clone()];
    let first = bytes.iter().position(|byte| !is_blank(*byte))?;
    let last = bytes.iter().rposition(|byte| !is_blank(*byte))?;
    Some(line.start + first..line.start + last + 1)
}
