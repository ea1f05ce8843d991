//! Sources with exports of OpenTelemetry in protobuf, which become OTLP/JSON.
//!
//! Such a file does not name its format. It is recognized by its first fields, whose lengths must nest, and by bytes that never
//! occur in text.

use std::io::{self, Cursor, Read};
use std::sync::Arc;

use mcptest_core::diag::Code;
use mcptest_core::import::otlp_json;

use super::super::unpack::{Unpacked, is_packed};
use super::window::Window;
use super::{Batch, Item};
use crate::corpus::in_source;

/// How messages are framed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Framing {
    /// The body of a request, or several in a row: one `resource_spans` field after another.
    Fields,
    /// A big-endian length of four bytes before each message, as the OpenTelemetry Collector writes it.
    FixedLength,
    /// A varint length before each message, as protobuf libraries write it.
    VarintLength,
}

/// The tag of `resource_spans` in an export, and of the first field of most of its parts.
const FIRST_FIELD: u8 = 0x0a;

/// How many bytes are searched for one that never occurs in text.
const SNIFF_BYTES: usize = 4096;

/// The state of reading messages. The window begins at a message, or inside a skipped one.
pub(super) struct Messages {
    framing: Framing,
    max_record: usize,
    skipping: u64,
    is_over: bool,
}

/// Whether bytes begin with an export.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Guess {
    Yes,
    No,
    /// More bytes are needed to tell.
    NeedMore,
}

impl Messages {
    /// `None` if the window does not begin with such a message.
    pub(super) fn detect<R: Read>(window: &mut Window<R>, max_record: usize) -> Option<Self> {
        loop {
            let guesses = [Framing::Fields, Framing::FixedLength, Framing::VarintLength]
                .map(|framing| (framing, guess(framing, window.filled())));
            if let Some((framing, _)) = guesses.iter().find(|(_, guess)| *guess == Guess::Yes) {
                return Some(Self { framing: *framing, max_record, skipping: 0, is_over: false });
            }
            if guesses.iter().all(|(_, guess)| *guess == Guess::No) || !window.fill() {
                return None;
            }
        }
    }

    pub(super) fn next<R: Read>(&mut self, window: &mut Window<R>) -> Option<Item> {
        loop {
            if self.skipping > 0 && !window.filled().is_empty() {
                let count = window.filled().len().min(usize::try_from(self.skipping).unwrap_or(usize::MAX));
                window.discard(count);
                self.skipping -= count as u64;
                continue;
            }
            if self.is_over {
                return window.failure();
            }
            let is_at_end = window.filled().is_empty() && !window.fill();
            if is_at_end {
                self.is_over = true;
                continue;
            }
            if self.skipping > 0 {
                continue;
            }
            let offset = window.offset(0);
            let (from, to) = match self.bounds(window.filled()) {
                Ok(Some(bounds)) => bounds,
                Ok(None) if window.fill() => continue,
                Ok(None) => return Some(self.truncated(window, "the bytes of its length")),
                Err(message) => {
                    self.is_over = true;
                    let hint = "what came before was read; check what wrote the file";
                    return Some(Item::broken(Code::InvalidRecord, offset, message, hint));
                }
            };
            if to > self.max_record as u64 {
                self.skipping = to;
                return Some(Item::too_long(offset, self.max_record));
            }
            let to = usize::try_from(to).unwrap_or(usize::MAX);
            while window.filled().len() < to {
                if !window.fill() {
                    return Some(self.truncated(window, &format!("its {to} bytes")));
                }
            }
            let (offset, bytes) = window.take(to, to);
            if from < to {
                return Some(self.message(offset, &bytes[from..], from));
            }
            // No exporter writes one. Zeros are what a crash leaves in a file.
            self.is_over = true;
            let hint = "what came before was read; the file is damaged from here on";
            return Some(Item::broken(Code::InvalidRecord, offset, "a message has a length of 0", hint));
        }
    }

    /// Where the message at the beginning starts and ends; `None` if that is not known yet.
    fn bounds(&self, bytes: &[u8]) -> Result<Option<(usize, u64)>, String> {
        let tag = usize::from(self.framing == Framing::Fields);
        if tag == 1 && bytes[0] != FIRST_FIELD {
            return Err(format!("byte 0x{:02x} does not begin the spans of a resource", bytes[0]));
        }
        let header = match self.framing {
            Framing::FixedLength => fixed(bytes),
            Framing::Fields | Framing::VarintLength => varint(&bytes[tag..]),
        };
        let Some((length, size)) = header else {
            let is_number = bytes.len() <= MAX_VARINT;
            return if is_number { Ok(None) } else { Err("a length is longer than four bytes".to_owned()) };
        };
        // The tag is part of the message.
        let from = if tag == 1 { 0 } else { size };
        Ok(Some((from, (tag + size) as u64 + length)))
    }

    /// The error for a message that the end of the source cuts off.
    fn truncated<R: Read>(&mut self, window: &mut Window<R>, of: &str) -> Item {
        self.is_over = true;
        let failure = window.failure();
        let (offset, there) = (window.offset(0), window.filled().len());
        window.discard(there);
        failure.unwrap_or_else(|| {
            let message = format!("the message ends too early, after {there} of {of}");
            let hint = "what came before was read; the file was truncated when it was written or copied";
            Item::broken(Code::InvalidRecord, offset, message, hint)
        })
    }

    /// A message as JSON. It begins `skipped` bytes after `offset`.
    fn message(&self, offset: u64, bytes: &[u8], skipped: usize) -> Item {
        let start = offset + skipped as u64;
        let text = if self.framing == Framing::FixedLength && is_packed(bytes) {
            decompress(bytes, self.max_record).map_err(|error| {
                let message = format!("the compressed message cannot be read: {error}");
                Item::broken(Code::DamagedArchive, start, message, "what came before was read; copy the file again")
            })
        } else {
            Ok(None)
        };
        let text = match text {
            Ok(Some(bytes)) if bytes.len() > self.max_record => return Item::too_long(offset, self.max_record),
            // JSON is compressed in the same way.
            Ok(Some(bytes)) if bytes.starts_with(b"{") => String::from_utf8(bytes).map_err(|bad| {
                let at = bad.utf8_error().valid_up_to();
                Item::no_utf8(start, bad.as_bytes()[at])
            }),
            Ok(Some(bytes)) => otlp_json(&bytes, self.max_record).map_err(|mut error| {
                // Its offset is in the decompressed bytes, not in the source.
                error.place = None;
                Item::Broken(in_source(error, start))
            }),
            Ok(None) => otlp_json(bytes, self.max_record).map_err(|error| Item::Broken(in_source(error, start))),
            Err(item) => Err(item),
        };
        match text {
            Ok(text) => Item::Batch(Batch {
                values: std::iter::once(0..text.len()).collect(),
                text: text.into(),
                offset,
                header: None,
            }),
            Err(item) => item,
        }
    }
}

/// Decompresses a message, up to one byte more than `most`.
fn decompress(bytes: &[u8], most: usize) -> io::Result<Option<Vec<u8>>> {
    let input = Unpacked::new(Box::new(Cursor::new(bytes.to_vec())), Arc::default());
    let mut out = Vec::new();
    input.take(most as u64 + 1).read_to_end(&mut out)?;
    Ok(Some(out))
}

/// Maximum number of bytes of a tag and a length.
const MAX_VARINT: usize = 6;

/// A length, and how many bytes it has; `None` for one that is not complete, or longer than 32 bits.
fn varint(bytes: &[u8]) -> Option<(u64, usize)> {
    let mut value = 0;
    for (at, byte) in bytes.iter().take(5).enumerate() {
        value |= u64::from(byte & 0x7f) << (7 * at);
        if *byte < 0x80 {
            return Some((value, at + 1));
        }
    }
    None
}

fn fixed(bytes: &[u8]) -> Option<(u64, usize)> {
    let bytes: [u8; 4] = bytes.get(..4)?.try_into().ok()?;
    Some((u64::from(u32::from_be_bytes(bytes)), 4))
}

/// Whether bytes begin with a message in this framing. No more bytes are read than needed: a pipe may wait.
fn guess(framing: Framing, bytes: &[u8]) -> Guess {
    // The first byte of an allowed length never occurs in text.
    if framing == Framing::FixedLength && bytes.first().is_some_and(|byte| !is_never_in_text(*byte)) {
        return Guess::No;
    }
    let header = match framing {
        Framing::Fields => Some((u64::MAX, 0)),
        Framing::FixedLength => fixed(bytes),
        Framing::VarintLength => varint(bytes),
    };
    let Some((length, size)) = header else {
        return if bytes.len() < 5 { Guess::NeedMore } else { Guess::No };
    };
    let message = &bytes[size..];
    if framing == Framing::FixedLength {
        if message.len() < 4 {
            return Guess::NeedMore;
        }
        if is_packed(message) {
            return Guess::Yes;
        }
    }
    match begins_like_export(message, length) {
        Guess::Yes if bytes.iter().take(SNIFF_BYTES).any(|byte| is_never_in_text(*byte)) => Guess::Yes,
        Guess::Yes if bytes.len() < SNIFF_BYTES => Guess::NeedMore,
        Guess::Yes => Guess::No,
        other => other,
    }
}

fn is_never_in_text(byte: u8) -> bool {
    byte < b' ' && !matches!(byte, b'\t' | b'\n' | b'\r')
}

/// Whether a message of some length begins with the spans of a resource: the resource or the spans of a scope in it, and the
/// first field of those.
fn begins_like_export(bytes: &[u8], length: u64) -> Guess {
    const RESOURCE: u8 = 0x0a;
    const SCOPE_SPANS: u8 = 0x12;
    let (mut rest, mut length) = (bytes, length);
    let mut expected: &[u8] = &[FIRST_FIELD];
    for level in 0..3 {
        let Some((&tag, after)) = rest.split_first() else { return Guess::NeedMore };
        if !expected.contains(&tag) {
            return Guess::No;
        }
        if level == 2 {
            break;
        }
        let Some((inner, size)) = varint(after) else {
            return if after.len() < 5 { Guess::NeedMore } else { Guess::No };
        };
        if length < 1 + size as u64 || inner > length - 1 - size as u64 {
            return Guess::No;
        }
        expected = match (level, tag) {
            (0, _) => &[RESOURCE, SCOPE_SPANS],
            // The resource may be empty: then the spans follow.
            (_, RESOURCE) if inner == 0 => &[SCOPE_SPANS],
            // Attributes, a count of dropped ones, or references to entities.
            (_, RESOURCE) => &[0x0a, 0x10, 0x1a],
            // The scope, a span, or the address of a schema.
            _ => &[0x0a, 0x12, 0x1a],
        };
        (rest, length) = (&after[size..], inner);
    }
    Guess::Yes
}
