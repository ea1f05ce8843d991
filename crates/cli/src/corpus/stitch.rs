//! Traces in pieces: pieces are kept until their trace is complete.
//!
//! Nothing in a file marks a trace as complete, so it is complete when the file ends. If too much is kept before that, the trace
//! that has waited longest for its next piece is closed. A piece that comes later is an error, never a second trace.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::{Arc, Weak};

use mcptest_core::diag::Code;
use mcptest_core::import::{Format, Piece};
use mcptest_core::trace::SharedText;

use super::job::{Payload, RecordError};

/// Most bytes of pieces that are kept.
pub(super) const WINDOW: usize = 24 * 1024 * 1024;

/// The pieces of one source.
pub(super) struct Stitch {
    format: Format,
    window: usize,
    /// Most bytes of one trace.
    max_record: usize,
    open: BTreeMap<String, Open>,
    /// The trace of the latest piece, which is not in `open`: the pieces of a trace often follow each other.
    latest: Option<(String, Open)>,
    /// Keys by the arrival of their latest piece, oldest first.
    by_age: BTreeMap<u64, String>,
    /// The keys of traces that are closed, and whether a later piece of each was reported.
    closed: BTreeMap<String, bool>,
    kept: usize,
    /// The texts that pieces may be parts of, and their bytes when they were added.
    shared: Vec<Weak<String>>,
    shared_bytes: usize,
    clock: u64,
    /// Whether something in the source could not be read, which may be a piece of any of its traces.
    pub(super) is_broken: bool,
}

struct Open {
    texts: Vec<SharedText>,
    bytes: usize,
    /// The offset of its first piece, and when it arrived.
    offset: u64,
    began: u64,
    /// When its latest piece arrived.
    touched: u64,
    is_too_long: bool,
}

impl Stitch {
    pub(super) fn new(format: Format, window: usize, max_record: usize) -> Self {
        Self {
            format,
            window,
            max_record,
            open: BTreeMap::new(),
            latest: None,
            by_age: BTreeMap::new(),
            closed: BTreeMap::new(),
            kept: 0,
            shared: Vec::new(),
            shared_bytes: 0,
            clock: 0,
            is_broken: false,
        }
    }

    /// Notes a text that pieces are parts of. A few pieces may keep much text in memory: then they are copied out of it.
    pub(super) fn keep(&mut self, text: &Arc<String>) {
        self.shared.push(Arc::downgrade(text));
        self.shared_bytes += text.capacity();
        if self.shared_bytes <= 2 * self.window {
            return;
        }
        self.shared.retain(|one| one.strong_count() > 0);
        self.shared_bytes = self.shared.iter().filter_map(Weak::upgrade).map(|one| one.capacity()).sum();
        // There may be many small texts, so they are not looked at again before enough others were added.
        if self.shared_bytes > self.window / 2 * 3 {
            let latest = self.latest.iter_mut().map(|(_, open)| open);
            let texts = self.open.values_mut().chain(latest).flat_map(|open| &mut open.texts);
            for text in texts.filter(|text| text.is_part()) {
                *text = text.alone();
            }
            self.shared.clear();
            self.shared_bytes = 0;
        }
    }

    /// Adds a piece from `offset`, and passes on traces that are closed to make room for it.
    pub(super) fn add(&mut self, piece: Piece<'_>, offset: u64, closed: &mut dyn FnMut(Payload)) {
        let is_latest = self.latest.as_ref().is_some_and(|(key, _)| *key == *piece.key);
        if !is_latest && !self.turn_to(&piece.key, offset, closed) {
            return;
        }
        let Some((_, open)) = &mut self.latest else { return };
        open.bytes += piece.text.len();
        if open.bytes > self.max_record {
            // Its pieces are dropped, and it is reported as an error at the end.
            open.is_too_long = true;
            self.kept -= open.texts.iter().map(|text| text.len()).sum::<usize>();
            open.texts.clear();
        } else {
            self.kept += piece.text.len();
            open.texts.push(match piece.text {
                Cow::Borrowed(text) => text.into(),
                Cow::Owned(text) => text.into(),
            });
        }
        while self.kept > self.window
            && self.by_age.len() > 1
            && let Some((_, key)) = self.by_age.pop_first()
        {
            if let Some(open) = self.open.remove(&key) {
                self.kept -= open.texts.iter().map(|text| text.len()).sum::<usize>();
                closed(self.whole(key.clone(), open));
                self.closed.insert(key, false);
            }
        }
    }

    /// Makes a trace the latest one. False if it is closed, which is reported.
    fn turn_to(&mut self, key: &str, offset: u64, closed: &mut dyn FnMut(Payload)) -> bool {
        if let Some(is_reported) = self.closed.get_mut(key) {
            if !std::mem::replace(is_reported, true) {
                let message = format!("this piece of the trace {key} comes after the trace was closed");
                let hint = format!(
                    "more than {} MiB of other traces are between its pieces; sort the file by trace, or split it",
                    self.window >> 20
                );
                closed(Payload::Fault(RecordError::error(Some(offset), message).code(Code::LatePiece).hint(hint)));
            }
            return false;
        }
        self.open.extend(self.latest.take());
        self.clock += 1;
        let now = self.clock;
        let (key, mut open) = self.open.remove_entry(key).unwrap_or_else(|| {
            let open = Open { texts: Vec::new(), bytes: 0, offset, began: now, touched: now, is_too_long: false };
            (key.to_owned(), open)
        });
        let aged = self.by_age.remove(&open.touched).unwrap_or_else(|| key.clone());
        self.by_age.insert(now, aged);
        open.touched = now;
        self.latest = Some((key, open));
        true
    }

    /// Passes on the traces that are still open, in the order they began.
    pub(super) fn finish(mut self, closed: &mut dyn FnMut(Payload)) {
        self.open.extend(self.latest.take());
        let mut open: Vec<(String, Open)> = std::mem::take(&mut self.open).into_iter().collect();
        open.sort_by_key(|(_, open)| open.began);
        for (key, open) in open {
            closed(self.whole(key, open));
        }
    }

    fn whole(&self, key: String, open: Open) -> Payload {
        if open.is_too_long {
            let message = format!("the trace {key} has more than {} bytes, the limit", self.max_record);
            let error = RecordError::error(Some(open.offset), message).code(Code::RecordTooLarge);
            return Payload::Fault(error.hint("raise it with --max-record"));
        }
        let is_broken = self.is_broken;
        Payload::Pieces { format: self.format, key, texts: open.texts, offset: open.offset, is_broken }
    }
}

#[cfg(test)]
mod tests {
    use mcptest_core::trace::sharing;

    use super::*;

    fn piece<'a>(key: &'a str, text: &'a str) -> Piece<'a> {
        Piece { key: key.into(), text: text.into() }
    }

    fn described(what: Payload) -> String {
        match what {
            Payload::Pieces { key, texts, offset, .. } => {
                format!("{key}@{offset} {}", texts.iter().map(|text| &**text).collect::<Vec<_>>().join("+"))
            }
            Payload::Fault(fault) => format!("fault@{:?} {}", fault.place, fault.message),
            _ => "?".to_owned(),
        }
    }

    #[test]
    fn pieces_are_put_together_by_their_key_in_the_order_traces_began() {
        let mut stitch = Stitch::new(Format::Otel, 100, 100);
        let mut out = Vec::new();
        for (at, (key, text)) in [("b", "1"), ("a", "2"), ("b", "3")].into_iter().enumerate() {
            stitch.add(piece(key, text), at as u64, &mut |what| out.push(described(what)));
        }
        assert!(out.is_empty());
        stitch.finish(&mut |what| out.push(described(what)));
        assert_eq!(out, ["b@0 1+3", "a@1 2"]);
    }

    #[test]
    fn the_trace_that_waited_longest_makes_room_and_its_late_pieces_are_faults() {
        let mut stitch = Stitch::new(Format::Otel, 9, 100);
        let mut out = Vec::new();
        for (at, (key, text)) in
            [("a", "1234"), ("b", "1234"), ("a", "1"), ("c", "12"), ("b", "9"), ("b", "8")].into_iter().enumerate()
        {
            stitch.add(piece(key, text), at as u64, &mut |what| out.push(described(what)));
        }
        stitch.finish(&mut |what| out.push(described(what)));
        let late = "fault@Some(4) this piece of the trace b comes after the trace was closed";
        assert_eq!(out, ["b@1 1234", late, "a@0 1234+1", "c@3 12"]);
    }

    #[test]
    fn pieces_do_not_keep_much_more_text_than_their_own() {
        let mut stitch = Stitch::new(Format::Otel, 1000, 1000);
        let mut texts = Vec::new();
        for _ in 0..40 {
            let text = Arc::new("x".repeat(100));
            texts.push(Arc::downgrade(&text));
            stitch.keep(&text);
            sharing([&text], || stitch.add(piece("a", &text[..1]), 0, &mut |_| panic!("nothing is closed")));
        }
        let kept = texts.iter().filter(|text| text.strong_count() > 0).count();
        assert!((1..=20).contains(&kept), "{kept}");
        let mut out = Vec::new();
        stitch.finish(&mut |what| out.push(described(what)));
        assert_eq!(out, [format!("a@0 {}", vec!["x"; 40].join("+"))]);
    }

    #[test]
    fn a_trace_that_is_too_long_is_reported_once_and_not_kept() {
        let mut stitch = Stitch::new(Format::Otel, 100, 5);
        let mut out = Vec::new();
        for text in ["123", "456", "789"] {
            stitch.add(piece("a", text), 7, &mut |what| out.push(described(what)));
        }
        assert_eq!(stitch.kept, 0);
        stitch.finish(&mut |what| out.push(described(what)));
        assert_eq!(out, ["fault@Some(7) the trace a has more than 5 bytes, the limit"]);
    }
}
