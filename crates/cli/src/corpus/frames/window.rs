//! The part of a source that is in memory.

use std::io::{ErrorKind, Read};

use super::Item;
use mcptest_core::diag::{Code, Failure};

/// How much text a batch has, and how much is read at a time.
pub(super) const BATCH: usize = 512 * 1024;

/// The size of a new buffer. Most files are small, and a folder may have thousands of them.
pub(super) const FIRST: usize = 16 * 1024;

/// How many buffers are kept for reuse.
const SPARE: usize = 8;

/// A buffer that moves over a source. Its filled part begins at `base` in the source.
pub(super) struct Window<R> {
    input: R,
    /// Fully initialized, so reading into it needs no further initialization; `bytes[start..end]` is filled.
    bytes: Vec<u8>,
    start: usize,
    end: usize,
    base: u64,
    /// The maximum size of the buffer.
    most: usize,
    /// How many bytes the source has, as far as that is known. It has more if it is compressed.
    size: Option<u64>,
    over: Option<Ended>,
    spare: Vec<Vec<u8>>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Ended {
    /// The source is at its end.
    Clean,
    Failed(Failure),
}

impl<R: Read> Window<R> {
    pub(super) fn new(input: R, max_record: usize) -> Self {
        // Room for a value of the maximum size, and for finding that it is too large.
        let most = max_record.saturating_add(2 * BATCH);
        Self { input, bytes: Vec::new(), start: 0, end: 0, base: 0, most, size: None, over: None, spare: Vec::new() }
    }

    /// Makes room for a whole batch, or for the whole source where that is less.
    pub(super) fn fit(&mut self, size: Option<u64>) {
        self.size = size;
        self.bytes.resize(self.wanted(), 0);
    }

    /// The size of a buffer for what comes next.
    fn wanted(&self) -> usize {
        let seen = self.offset(self.end - self.start);
        match self.size.and_then(|size| usize::try_from(size.checked_sub(seen)?).ok()) {
            // One more byte shows that the source has ended.
            Some(left) => left.saturating_add(1).min(BATCH),
            None => BATCH,
        }
    }

    /// What was read and not taken.
    pub(super) fn filled(&self) -> &[u8] {
        &self.bytes[self.start..self.end]
    }

    /// The offset of a filled byte in the source.
    pub(super) fn offset(&self, at: usize) -> u64 {
        self.base + at as u64
    }

    /// Reads once. False at the end.
    pub(super) fn fill(&mut self) -> bool {
        if self.over.is_some() {
            return false;
        }
        let len = self.bytes.len();
        let is_full = self.end == len;
        self.bytes.copy_within(self.start..self.end, 0);
        (self.start, self.end) = (0, self.end - self.start);
        if len < BATCH && is_full {
            self.bytes.resize((4 * len).clamp(FIRST, BATCH), 0);
        } else if len >= BATCH && len - self.end < BATCH / 2 {
            let larger = (2 * len).min(self.most).max(self.end + BATCH);
            self.bytes.resize(larger, 0);
        }
        let to = self.bytes.len().min(self.end + BATCH);
        loop {
            match self.input.read(&mut self.bytes[self.end..to]) {
                Ok(0) => self.over = Some(Ended::Clean),
                Ok(count) => self.end += count,
                Err(error) if error.kind() == ErrorKind::Interrupted => continue,
                Err(error) => {
                    let known = error.get_ref().and_then(|inner| inner.downcast_ref::<Failure>());
                    let failure = known.cloned().unwrap_or_else(|| {
                        Failure::error((), format!("reading failed: {error}"))
                            .code(Code::ReadFailed)
                            .hint("what came before was read; check the disk or the writer")
                    });
                    self.over = Some(Ended::Failed(failure));
                }
            }
            return self.over.is_none();
        }
    }

    pub(super) fn over(&self) -> Option<&Ended> {
        self.over.as_ref()
    }

    /// The read error, reported once.
    pub(super) fn failure(&mut self) -> Option<Item> {
        if self.over == Some(Ended::Clean) {
            return None;
        }
        let Some(Ended::Failed(failure)) = self.over.replace(Ended::Clean) else { return None };
        Some(Item::Broken(failure.moved(Some(self.offset(self.end - self.start)))))
    }

    pub(super) fn discard(&mut self, count: usize) {
        self.start += count;
        self.base += count as u64;
    }

    /// Takes the bytes before `cut`, with their offset, and continues at `resume`.
    pub(super) fn take(&mut self, cut: usize, resume: usize) -> (u64, Vec<u8>) {
        let offset = self.base;
        // What is short is copied. For a long text the buffer itself is passed on, and the rest is copied into another one.
        if self.start > 0 || cut < self.bytes.len() / 2 {
            let taken = self.filled()[..cut].to_vec();
            self.discard(resume);
            return (offset, taken);
        }
        let tail = &self.bytes[resume..self.end];
        let wanted = self.wanted();
        let len = wanted.max(tail.len() + wanted / 2);
        let mut fresh = match self.spare.pop().filter(|_| len >= BATCH) {
            Some(mut spare) => {
                spare.resize(len, 0);
                spare
            }
            // Fresh memory is zero already.
            None => vec![0; len],
        };
        fresh[..tail.len()].copy_from_slice(tail);
        self.end = tail.len();
        let mut taken = std::mem::replace(&mut self.bytes, fresh);
        taken.truncate(cut);
        self.base += resume as u64;
        (offset, taken)
    }

    /// Takes a buffer back for reuse. A small or a large one is not kept.
    pub(super) fn recycle(&mut self, bytes: Vec<u8>) {
        if self.spare.len() < SPARE && (BATCH..=2 * BATCH).contains(&bytes.capacity()) {
            self.spare.push(bytes);
        }
    }

    #[cfg(test)]
    pub(super) fn capacity(&self) -> usize {
        self.bytes.capacity() + self.spare.iter().map(Vec::capacity).sum::<usize>()
    }
}
