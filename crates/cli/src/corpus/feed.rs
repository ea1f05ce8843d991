//! Splits sources into jobs: detects the format of each, and keeps pieces until their trace is complete.

use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use mcptest_core::diag::{Code, printable};
use mcptest_core::import::{self, Format, Unit};
use mcptest_core::trace::sharing;

use super::frames::{Batch, Frames, Item, LEAVE_OUT};
use super::job::{Job, Payload, RecordError, in_source};
use super::source::Source;
use super::stitch::{Stitch, WINDOW};
use crate::pages;

#[derive(Debug, Clone)]
pub(crate) struct ReadOptions {
    /// The format of every source; detected for each source if absent.
    pub(crate) from: Option<Format>,
    /// Most bytes of a record.
    pub(crate) max_record: usize,
    /// Report how formats were detected.
    pub(crate) verbose: bool,
}

/// What is wrong with a source whose traces are all left out.
pub(super) const NO_AGENT: &str = "no span in it is of a model, an agent or a tool in a known vocabulary";

/// The vocabularies of spans that are understood.
const VOCABULARIES: &str =
    "OpenTelemetry GenAI, MCP, OpenInference, Traceloop (OpenLLMetry), Vercel AI SDK, Langfuse, MLflow";

/// Most bytes before the first record of a known format that are kept until it is found, so that detection does not depend on how
/// much is read at a time.
const HELD: usize = 1024 * 1024;

/// Returns buffers for reuse.
pub(super) type Recycled<'a> = &'a dyn Fn() -> Option<Arc<String>>;

/// What is known about the records of a source so far.
struct Progress {
    format: Option<Format>,
    stitch: Option<Stitch>,
    /// Pieces, whether any of them has anything of an agent, and whether something could not be read.
    pieces: usize,
    has_agent: bool,
    is_broken: bool,
}

impl ReadOptions {
    /// Splits one source into jobs. `put` returns false when no more are needed.
    pub(super) fn feed(
        &self,
        source: &Source,
        progress: &Arc<AtomicU64>,
        recycled: Recycled<'_>,
        put: &mut dyn FnMut(Job) -> bool,
    ) -> bool {
        let mut known = Progress { format: self.from, stitch: None, pieces: 0, has_agent: false, is_broken: false };
        let mut is_wanted = self.feed_file(source, progress, recycled, put, &mut known);
        let (joined, apart): (Vec<&Source>, Vec<&Source>) =
            source.companions.iter().partition(|_| known.format == Some(Format::ClaudeCode));
        for companion in joined {
            is_wanted = is_wanted && self.feed_file(companion, progress, recycled, put, &mut known);
        }
        let name: Arc<str> = source.name.as_str().into();
        let mut done = |what: Payload| is_wanted = is_wanted && put(Job { source: Arc::clone(&name), what });
        if let Some(mut stitch) = known.stitch {
            stitch.is_broken = known.is_broken;
            stitch.finish(&mut done);
        }
        if known.pieces > 0 && !known.has_agent {
            let hint = format!("known vocabularies: {VOCABULARIES}; leave the file out if no agent ran in it");
            done(Payload::Fault(RecordError::error(Some(0), NO_AGENT).code(Code::UnknownFormat).hint(hint)));
        }
        apart.into_iter().all(|companion| is_wanted && self.feed(companion, progress, recycled, put)) && is_wanted
    }

    /// Splits one file into jobs, and keeps the pieces of traces.
    fn feed_file(
        &self,
        source: &Source,
        progress: &Arc<AtomicU64>,
        recycled: Recycled<'_>,
        put: &mut dyn FnMut(Job) -> bool,
        known: &mut Progress,
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
                known.is_broken = true;
                return put(Payload::Fault(refusal.moved(None)));
            }
        };
        let unit_of = |text: &str| -> Option<Unit> {
            match self.from {
                Some(format) => format.unit_of(text),
                None => import::sniff(text).map(|found| found.unit),
            }
        };
        // The writer of a pipe may be waiting for the results of what it has sent so far.
        let most_held = if source.size.is_some() { HELD } else { 0 };
        let mut frames = Frames::new(input, self.max_record, &unit_of).of_size(source.size);
        // Batches before the first record of a known format.
        let mut held: Vec<Batch> = Vec::new();
        while let Some(item) = frames.next() {
            while let Some(text) = recycled() {
                frames.recycle(text);
            }
            let fault = match item {
                Item::Batch(batch) => {
                    self.detect(&batch, &name, known, &mut put);
                    held.push(batch);
                    let size = |batch: &Batch| batch.text.len();
                    if known.format.is_none() && held.iter().map(size).sum::<usize>() < most_held {
                        continue;
                    }
                    None
                }
                Item::Broken(error) => {
                    known.is_broken = true;
                    Some(Payload::Fault(error))
                }
                // An empty pipe is a part without records, as when work is split; an empty file is an error.
                Item::Nothing(message) if source.is_pipe() => {
                    self.verbose.then(|| Payload::Note(format!("{name}: {message}")))
                }
                Item::Nothing(message) => {
                    let error = RecordError::error(Some(0), message).code(Code::EmptyInput);
                    Some(Payload::Fault(error.hint(LEAVE_OUT)))
                }
            };
            let mut recycle = |text: Arc<String>| frames.recycle(text);
            if !held.drain(..).all(|batch| self.feed_batch(batch, known, &mut put, &mut recycle)) {
                return false;
            }
            if let Some(fault) = fault
                && !put(fault)
            {
                return false;
            }
        }
        held.into_iter().all(|batch| self.feed_batch(batch, known, &mut put, &mut |_| {})) && is_wanted
    }

    /// Detects the format by the first record that shows it.
    fn detect(&self, batch: &Batch, name: &str, known: &mut Progress, put: &mut dyn FnMut(Payload) -> bool) {
        if known.format.is_some() {
            return;
        }
        let Some(found) = batch.values.iter().find_map(|range| import::sniff(&batch.text[range.clone()])) else {
            return;
        };
        known.format = Some(found.format);
        if self.verbose {
            let note = format!("{}: read as {}: {}", printable(name), found.format, printable(&found.why));
            put(Payload::Note(note));
        }
    }

    /// Passes on the records of a batch, or keeps the pieces in it. False when no more are needed.
    fn feed_batch(
        &self,
        batch: Batch,
        known: &mut Progress,
        put: &mut dyn FnMut(Payload) -> bool,
        recycle: &mut dyn FnMut(Arc<String>),
    ) -> bool {
        let format = known.format;
        let Some(pieces_of) = format.filter(|format| format.is_in_pieces()) else {
            return put(Payload::Records { batch, format, is_guessed: self.from.is_none() });
        };
        let mut is_wanted = true;
        let stitch = known.stitch.get_or_insert_with(|| {
            pages::allow_large();
            Stitch::new(pieces_of, WINDOW, self.max_record)
        });
        // Pieces are parts of the batch. Where they would keep much more of it in memory than themselves, they are copied.
        stitch.keep(&batch.text);
        sharing([&batch.text], || {
            for range in &batch.values {
                let start = batch.offset + range.start as u64;
                match pieces_of.split(&batch.text[range.clone()]) {
                    Ok(pieces) => {
                        known.pieces += pieces.len();
                        for piece in pieces {
                            known.has_agent = known.has_agent || pieces_of.has_agent(&piece.text);
                            stitch.is_broken = known.is_broken;
                            stitch.add(piece, start, &mut |what| is_wanted &= put(what));
                        }
                    }
                    Err(error) => {
                        (known.has_agent, known.is_broken) = (true, true);
                        is_wanted &= put(Payload::Fault(in_source(error, start)));
                    }
                }
            }
        });
        recycle(batch.text);
        is_wanted
    }
}
