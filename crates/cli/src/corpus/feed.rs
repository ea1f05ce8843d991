//! Splits sources into jobs: detects the format of each, and keeps pieces until their trace is complete.

use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use mcptest_core::diag::{Code, printable};
use mcptest_core::import::{self, Format, Unit};

use super::frames::{Frames, Item, LEAVE_OUT};
use super::job::{Job, Payload, RecordError, in_source};
use super::source::Source;
use super::stitch::{Stitch, WINDOW};

#[derive(Debug, Clone)]
pub(crate) struct ReadOptions {
    /// The format of every source; detected for each source if absent.
    pub(crate) from: Option<Format>,
    /// Most bytes of a record.
    pub(crate) max_record: usize,
    /// Report how formats were detected.
    pub(crate) verbose: bool,
}

/// Returns buffers for reuse.
pub(super) type Recycled<'a> = &'a dyn Fn() -> Option<String>;

impl ReadOptions {
    /// Splits one source into jobs. `put` returns false when no more are needed.
    pub(super) fn feed(
        &self,
        source: &Source,
        progress: &Arc<AtomicU64>,
        recycled: Recycled<'_>,
        put: &mut dyn FnMut(Job) -> bool,
    ) -> bool {
        let name: Arc<str> = source.name.as_str().into();
        let mut is_wanted = true;
        let mut put = |what: Payload| {
            is_wanted = is_wanted && put(Job { source: Arc::clone(&name), what });
            is_wanted
        };
        let input = match source.open(progress) {
            Ok(input) => input,
            Err(refusal) => {
                return put(Payload::Fault(refusal.moved(None)));
            }
        };
        let unit_of = |text: &str| -> Option<Unit> {
            match self.from {
                Some(format) => format.unit_of(text),
                None => import::sniff(text).map(|found| found.unit),
            }
        };
        let mut frames = Frames::new(input, self.max_record, &unit_of);
        let mut format = self.from;
        let mut stitch: Option<Stitch> = None;
        while let Some(item) = frames.next() {
            while let Some(text) = recycled() {
                frames.recycle(text);
            }
            let batch = match item {
                Item::Broken(error) => {
                    if !put(Payload::Fault(error)) {
                        return false;
                    }
                    continue;
                }
                // An empty pipe is a part without records, as when work is split; an empty file is an error.
                Item::Nothing(message) if source.is_pipe() => {
                    if self.verbose {
                        put(Payload::Note(format!("{name}: {message}")));
                    }
                    continue;
                }
                Item::Nothing(message) => {
                    put(Payload::Fault(RecordError::error(Some(0), message).code(Code::EmptyInput).hint(LEAVE_OUT)));
                    continue;
                }
                Item::Batch(batch) => batch,
            };
            if format.is_none()
                && let Some(found) = batch.values.iter().find_map(|range| import::sniff(&batch.text[range.clone()]))
            {
                format = Some(found.format);
                if self.verbose {
                    let name = printable(&name).into_owned();
                    let note = format!("{name}: read as {}: {}", found.format, printable(&found.why));
                    put(Payload::Note(note));
                }
            }
            let Some(pieces_of) = format.filter(|format| format.is_in_pieces()) else {
                if !put(Payload::Records { batch, format, is_guessed: self.from.is_none() }) {
                    return false;
                }
                continue;
            };
            let stitch = stitch.get_or_insert_with(|| Stitch::new(pieces_of, WINDOW, self.max_record));
            for range in &batch.values {
                let start = batch.offset + range.start as u64;
                match pieces_of.split(&batch.text[range.clone()]) {
                    Ok(pieces) => {
                        for piece in &pieces {
                            stitch.add(piece, start, &mut |what| _ = put(what));
                        }
                    }
                    Err(error) => _ = put(Payload::Fault(in_source(error, start))),
                }
            }
            frames.recycle(batch.text);
        }
        if let Some(stitch) = stitch {
            stitch.finish(&mut |what| _ = put(what));
        }
        is_wanted
    }
}
