//! Sources whose values follow each other regardless of lines, at the top level or as the elements of a list.

use std::io::Read;
use std::ops::Range;
use std::sync::Arc;

use mcptest_core::diag::Code;

use super::scan::{MAX_DEPTH, Scan, Step, leading_blanks};
use super::window::Window;
use super::{Batch, Item, header};

/// The state of reading a document.
pub(super) struct Document {
    max_record: usize,
    /// Whether a list at the top level is a value, instead of its elements.
    lists_are_values: bool,
    /// The next byte of the window that belongs to no open value.
    at: usize,
    place: Place,
    open: Option<Open>,
    header: Option<Arc<str>>,
    /// What is returned after the values before it.
    queued: Option<Item>,
    is_over: bool,
}

#[derive(Debug, Clone, Copy)]
enum Place {
    Top,
    /// In a list whose elements are values.
    List {
        /// Its offset in the source.
        from: u64,
        /// The offset of the object around it.
        object: Option<u64>,
        next: Next,
    },
}

/// What may come next in a list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Next {
    ElementOrEnd,
    Element,
    CommaOrEnd,
}

/// A value whose end is not yet known.
struct Open {
    /// Its first byte in the window, or the next one if it is skipped.
    begin: usize,
    /// Where it begins in the source.
    from: u64,
    scan: Scan,
    fate: Fate,
}

/// What to do with a value when its end is found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fate {
    Kept,
    /// It is ignored, unless it has no end.
    Skipped,
    /// It was already reported as broken.
    Refused,
}

enum Event {
    /// There are no bytes left.
    Starved,
    /// What follows belongs in another text.
    Turned,
    Broken(Item),
}

impl Document {
    pub(super) fn new(max_record: usize, lists_are_values: bool) -> Self {
        Self {
            max_record,
            lists_are_values,
            at: 0,
            place: Place::Top,
            open: None,
            header: None,
            queued: None,
            is_over: false,
        }
    }

    pub(super) fn next<R: Read>(&mut self, window: &mut Window<R>) -> Option<Item> {
        if self.queued.is_some() {
            return self.queued.take();
        }
        while !self.is_over {
            let resume = self.resume();
            window.discard(resume);
            let header = self.header.clone();
            let mut values = Vec::new();
            let event = loop {
                let event = match self.open.take() {
                    Some(open) => self.inside(open, window, &mut values),
                    None => self.between(window),
                };
                if let Some(event) = event {
                    break event;
                }
            };
            match event {
                Event::Broken(item) if values.is_empty() => return Some(item),
                Event::Broken(item) => self.queued = Some(item),
                Event::Starved if values.is_empty() && !window.fill() => {
                    self.is_over = true;
                    return window.failure().or_else(|| self.unclosed());
                }
                Event::Starved | Event::Turned => {}
            }
            if !values.is_empty() {
                return Some(self.batch(window, values, header));
            }
        }
        None
    }

    /// The first byte of the window that is still needed. It becomes the start of the window.
    fn resume(&mut self) -> usize {
        let resume = self.open.as_ref().map_or(self.at, |open| open.begin);
        self.at = 0;
        if let Some(open) = &mut self.open {
            open.begin = 0;
        }
        resume
    }

    /// Goes on in a value.
    fn inside<R: Read>(&mut self, mut open: Open, window: &Window<R>, values: &mut Vec<Range<usize>>) -> Option<Event> {
        let bytes = &window.filled()[open.begin..];
        let step = open.scan.run(bytes);
        if open.fate != Fate::Kept {
            if let Step::End(end) = step {
                self.close(open.begin + end);
                // Skipped bytes are not checked, so they must not become part of a text.
                return Some(Event::Turned);
            }
            open.begin += open.scan.forget();
            self.open = Some(open);
            return Some(Event::Starved);
        }
        let size = match &step {
            Step::More => bytes.len(),
            Step::End(at) | Step::Deep(at) | Step::List { after: at, .. } => *at,
        };
        if size > self.max_record {
            let item = Item::too_long(open.from, self.max_record);
            return Some(self.refuse(open, &step, item));
        }
        match step {
            Step::More => {
                self.open = Some(open);
                Some(Event::Starved)
            }
            Step::End(end) => {
                values.push(open.begin..open.begin + end);
                self.close(open.begin + end);
                None
            }
            Step::Deep(_) => {
                let message = format!("the record nests deeper than {MAX_DEPTH} levels");
                let item = Item::broken(
                    Code::NestedTooDeep,
                    open.from,
                    message,
                    "check what wrote it; no known format nests this deeply",
                );
                Some(self.refuse(open, &step, item))
            }
            Step::List { key, after } => {
                match std::str::from_utf8(&bytes[..key]) {
                    Ok(start) => self.header = Some(header::of(start).into()),
                    Err(error) => {
                        let bad = error.valid_up_to();
                        return Some(self.give_up(Item::no_utf8(open.from + bad as u64, bytes[bad])));
                    }
                }
                self.at = open.begin + after;
                let from = window.offset(self.at - 1);
                self.place = Place::List { from, object: Some(open.from), next: Next::ElementOrEnd };
                Some(Event::Turned)
            }
        }
    }

    /// Reports an open value as broken and skips the rest of it.
    fn refuse(&mut self, mut open: Open, step: &Step, item: Item) -> Event {
        if let Step::End(end) = step {
            self.close(open.begin + end);
        } else {
            open.begin += open.scan.forget();
            open.fate = Fate::Refused;
            self.open = Some(open);
        }
        Event::Broken(item)
    }

    /// Goes on after a value that ends here.
    fn close(&mut self, end: usize) {
        self.at = end;
        if let Place::List { next, .. } = &mut self.place {
            *next = Next::CommaOrEnd;
        }
    }

    /// Goes on where no value is open.
    fn between<R: Read>(&mut self, window: &Window<R>) -> Option<Event> {
        let bytes = window.filled();
        self.at += leading_blanks(&bytes[self.at..]);
        let Some(&byte) = bytes.get(self.at) else { return Some(Event::Starved) };
        let offset = window.offset(self.at);
        let open = Open { begin: self.at, from: offset, scan: Scan::value(byte), fate: Fate::Kept };
        match &mut self.place {
            Place::Top => match byte {
                b'{' => self.open = Some(Open { scan: open.scan.watched(), ..open }),
                b'[' if self.lists_are_values => self.open = Some(open),
                b'[' => {
                    self.place = Place::List { from: offset, object: None, next: Next::ElementOrEnd };
                    self.at += 1;
                }
                _ => {
                    let message = format!("a record is an object or a list, found {}", shown(byte));
                    let hint = "only white space may separate records";
                    return Some(self.give_up(Item::broken(Code::NotARecord, offset, message, hint)));
                }
            },
            Place::List { object, next, .. } => match (*next, byte) {
                (Next::ElementOrEnd | Next::CommaOrEnd, b']') => {
                    let object = *object;
                    self.at += 1;
                    self.place = Place::Top;
                    if let Some(from) = object {
                        self.header = None;
                        let scan = Scan::rest_of_object();
                        self.open = Some(Open { begin: self.at, from, scan, fate: Fate::Skipped });
                        return Some(Event::Turned);
                    }
                }
                (Next::CommaOrEnd, b',') => {
                    *next = Next::Element;
                    self.at += 1;
                }
                (Next::CommaOrEnd, _) => {
                    let message = format!("expected `,` or `]` after a list element, found {}", shown(byte));
                    return Some(self.give_up(Item::broken(
                        Code::NotARecord,
                        offset,
                        message,
                        "what comes after it is not read",
                    )));
                }
                (_, b']' | b'}' | b',' | b':') => {
                    let message = format!("expected a list element, found {}", shown(byte));
                    return Some(self.give_up(Item::broken(
                        Code::NotARecord,
                        offset,
                        message,
                        "what comes after it is not read",
                    )));
                }
                _ => self.open = Some(open),
            },
        }
        None
    }

    /// Ends the source, because the start of the next value is unknown.
    fn give_up(&mut self, item: Item) -> Event {
        self.is_over = true;
        Event::Broken(item)
    }

    /// What is not closed at the end of the source.
    fn unclosed(&self) -> Option<Item> {
        let (from, what) = match (&self.open, self.place) {
            (Some(open), _) if open.fate != Fate::Refused => (open.from, "value"),
            (None, Place::List { from, .. }) => (from, "list"),
            (Some(_), _) | (None, Place::Top) => return None,
        };
        let hint = "the file is truncated: write or copy it again";
        Some(Item::broken(Code::TruncatedRecord, from, format!("the {what} that begins here is not closed"), hint))
    }

    /// Returns the values that are UTF-8.
    fn batch<R: Read>(
        &mut self,
        window: &mut Window<R>,
        mut values: Vec<Range<usize>>,
        header: Option<Arc<str>>,
    ) -> Item {
        let cut = values.last().map_or(0, |last| last.end);
        let resume = self.resume();
        let (offset, bytes) = window.take(cut, resume);
        let text = match String::from_utf8(bytes) {
            Ok(text) => text,
            Err(error) => {
                let bad = error.utf8_error().valid_up_to();
                let mut bytes = error.into_bytes();
                let item = Item::no_utf8(offset + bad as u64, bytes[bad]);
                self.is_over = true;
                self.queued = None;
                values.retain(|value| value.end <= bad);
                let Some(last) = values.last() else { return item };
                self.queued = Some(item);
                bytes.truncate(last.end);
                String::from_utf8_lossy(&bytes).into_owned()
            }
        };
        Item::Batch(Batch { text: text.into(), values, offset, header })
    }
}

/// A byte for a message.
fn shown(byte: u8) -> String {
    if byte.is_ascii_graphic() { format!("`{}`", char::from(byte)) } else { format!("byte 0x{byte:02x}") }
}
