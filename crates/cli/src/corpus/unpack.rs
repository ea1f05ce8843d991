//! Decompression.
//!
//! Compressed data is recognized by its first bytes, so that a pipe works like a file. Several gzip members or zstd frames in a
//! row are one stream.
//!
//! The streaming decoders of the libraries are not used, for two reasons. Input must not be read while there is output left, so
//! that a slow pipe is processed at once and a fast one in large pieces. And everything before an error must be returned: a
//! decoder that fails drops the output of the failing call.

use std::io::{self, Read};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use flate2::{Decompress, FlushDecompress, Status};
use mcptest_core::diag::{Code, Failure};
use zstd_safe::{DCtx, DParameter, InBuffer, OutBuffer, get_error_name};

/// How much is read at a time.
const CHUNK: usize = 256 * 1024;

/// Bytes that are read to find out how a source is compressed.
const START: usize = 4096;

/// The largest zstd window, as a power of two. It is kept in memory, and a file may require two gigabytes.
pub(super) const WINDOW_LOG: u32 = 26;

/// How much input a zstd decoder needs first.
const FRAME_START: usize = 5;

/// Why the bytes of a source end before their end, inside an [`io::Error`].
fn damaged(message: String, hint: String) -> Failure {
    Failure::error((), message).code(Code::DamagedArchive).hint(hint)
}

/// The bytes of a source.
pub(crate) struct Unpacked {
    input: Box<dyn Read + Send>,
    progress: Arc<AtomicU64>,
    /// What was read and not yet used: `chunk[at..end]`.
    chunk: Vec<u8>,
    at: usize,
    end: usize,
    is_over: bool,
    packing: Packing,
    /// How many bytes were returned.
    given: u64,
    failure: Option<Failure>,
}

enum Packing {
    Undecided,
    None,
    Gzip(Gzip),
    Zstd(Zstd),
}

/// The result of one call of a decoder.
struct Step {
    used: usize,
    written: usize,
    damage: Option<Damage>,
}

/// What is wrong with compressed data.
enum Damage {
    /// A decoder cannot read it.
    Corrupt(String),
    /// It needs too much memory.
    Window,
    Trailing,
}

impl Unpacked {
    pub(super) fn new(input: Box<dyn Read + Send>, progress: Arc<AtomicU64>) -> Self {
        Self::with_chunk(CHUNK, input, progress)
    }

    /// The same for a file, which may be one of thousands.
    pub(super) fn of_file(input: Box<dyn Read + Send>, progress: Arc<AtomicU64>) -> Self {
        Self::with_chunk(START, input, progress)
    }

    fn with_chunk(size: usize, input: Box<dyn Read + Send>, progress: Arc<AtomicU64>) -> Self {
        Self {
            input,
            progress,
            chunk: vec![0; size],
            at: 0,
            end: 0,
            is_over: false,
            packing: Packing::Undecided,
            given: 0,
            failure: None,
        }
    }

    /// Reads once, after the unused bytes.
    fn fetch(&mut self) -> io::Result<()> {
        let count = read(&mut self.input, &mut self.chunk[self.end..], &self.progress)?;
        self.end += count;
        self.is_over = count == 0;
        Ok(())
    }

    /// Reads until the compression is known.
    fn decide(&mut self) -> io::Result<()> {
        while matches!(self.packing, Packing::Undecided) {
            match kind(&self.chunk[..self.end], self.is_over) {
                Some(Kind::Plain) => self.packing = Packing::None,
                Some(Kind::Gzip) => self.packing = Packing::Gzip(Gzip::new()),
                Some(Kind::Zstd) => self.packing = Packing::Zstd(Zstd::new()?),
                Some(Kind::Zip) => {
                    let message = "it is a zip archive, which cannot be read from a pipe".to_owned();
                    let failure =
                        damaged(message, "name the file of a log of Inspect, or unpack the archive".to_owned());
                    self.failure = Some(failure.clone());
                    return Err(io::Error::new(io::ErrorKind::InvalidData, failure));
                }
                None => self.fetch()?,
            }
        }
        if !matches!(self.packing, Packing::None) && self.chunk.len() < CHUNK {
            self.chunk.resize(CHUNK, 0);
        }
        Ok(())
    }

    fn plain(&mut self, out: &mut [u8]) -> io::Result<usize> {
        if self.at == self.end {
            return read(&mut self.input, out, &self.progress);
        }
        let count = out.len().min(self.end - self.at);
        out[..count].copy_from_slice(&self.chunk[self.at..self.at + count]);
        self.at += count;
        Ok(count)
    }

    fn unpack(&mut self, out: &mut [u8]) -> io::Result<usize> {
        let mut written = 0;
        while written < out.len() {
            let input = &self.chunk[self.at..self.end];
            let (name, step, is_whole) = match &mut self.packing {
                Packing::Gzip(gzip) => ("gzip", gzip.step(input, &mut out[written..]), !gzip.is_open),
                Packing::Zstd(zstd) => ("zstd", zstd.step(input, &mut out[written..]), zstd.wants == 0),
                Packing::Undecided | Packing::None => break,
            };
            self.at += step.used;
            written += step.written;
            let after = self.given + written as u64;
            if let Some(damage) = step.damage {
                self.failure = Some(damage.failure(name, after));
                break;
            }
            // With room left in `out`, a decoder that did nothing needs more input.
            if step.used > 0 || step.written > 0 {
                continue;
            }
            if written > 0 {
                break;
            }
            if self.is_over {
                if !is_whole {
                    let message = format!("the {name} data ends too early, after {after} decompressed bytes");
                    let hint =
                        "what came before was read; the file was truncated when it was written or copied".to_owned();
                    self.failure = Some(damaged(message, hint));
                }
                break;
            }
            (self.at, self.end) = (0, 0);
            self.fetch()?;
        }
        match &self.failure {
            Some(failure) if written == 0 => Err(io::Error::new(io::ErrorKind::InvalidData, failure.clone())),
            _ => Ok(written),
        }
    }
}

impl Read for Unpacked {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        if let Some(failure) = &self.failure {
            return Err(io::Error::new(io::ErrorKind::InvalidData, failure.clone()));
        }
        self.decide()?;
        let count = if matches!(self.packing, Packing::None) { self.plain(out) } else { self.unpack(out) }?;
        self.given += count as u64;
        Ok(count)
    }
}

fn read(input: &mut impl Read, out: &mut [u8], progress: &AtomicU64) -> io::Result<usize> {
    loop {
        match input.read(out) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
            Ok(count) => {
                progress.fetch_add(count as u64, Ordering::Relaxed);
                return Ok(count);
            }
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Plain,
    Gzip,
    Zstd,
    /// Its files can be read only if the complete archive is available.
    Zip,
}

pub(crate) fn is_packed(bytes: &[u8]) -> bool {
    kind(bytes, true) != Some(Kind::Plain)
}

/// The compression of data with this start; `None` if more is needed.
fn kind(start: &[u8], is_over: bool) -> Option<Kind> {
    const MAGICS: [(&[u8], Kind); 4] = [
        (b"PK\x03\x04", Kind::Zip),
        (&[0x1f, 0x8b], Kind::Gzip),
        (&[0x28, 0xb5, 0x2f, 0xfd], Kind::Zstd),
        // A skippable zstd frame.
        (&[0x50, 0x2a, 0x4d, 0x18], Kind::Zstd),
    ];
    // In a skippable frame the lower half of the first byte is arbitrary.
    let same = |(at, (byte, magic)): (usize, (&u8, &u8))| byte == magic || at == 0 && *magic == 0x50 && byte >> 4 == 5;
    let mut candidates = MAGICS.iter().filter(|(magic, _)| start.iter().zip(*magic).enumerate().all(same));
    match candidates.next() {
        Some((magic, kind)) if start.len() >= magic.len() => Some(*kind),
        Some(_) if !is_over => None,
        _ => Some(Kind::Plain),
    }
}

impl Damage {
    fn failure(self, name: &str, after: u64) -> Failure {
        let (message, hint) = match self {
            Self::Corrupt(reason) => (
                format!("the {name} data is corrupt after {after} decompressed bytes: {reason}"),
                format!("what came before was read; `{name} -t` checks the file"),
            ),
            Self::Window => (
                format!("the {name} data after {after} decompressed bytes needs a window of more than 64 MiB"),
                format!("compress it again with `zstd --long={WINDOW_LOG}` or less"),
            ),
            Self::Trailing => (
                format!("data that is not {name} follows after {after} decompressed bytes"),
                "what came before was read; compress the whole file or none of it".to_owned(),
            ),
        };
        damaged(message, hint)
    }
}

/// Members of gzip, one after another.
struct Gzip {
    member: Decompress,
    /// Whether a member has begun and not ended.
    is_open: bool,
}

impl Gzip {
    fn new() -> Self {
        Self { member: Decompress::new_gzip(15), is_open: true }
    }

    fn step(&mut self, input: &[u8], out: &mut [u8]) -> Step {
        let mut step = Step { used: 0, written: 0, damage: None };
        if !self.is_open {
            match input.first() {
                None => return step,
                Some(0x1f) => *self = Self::new(),
                Some(_) => {
                    step.damage = Some(Damage::Trailing);
                    return step;
                }
            }
        }
        let (used, written) = (self.member.total_in(), self.member.total_out());
        let result = self.member.decompress(input, out, FlushDecompress::None);
        step.used = difference(self.member.total_in(), used);
        step.written = difference(self.member.total_out(), written);
        match result {
            Ok(Status::StreamEnd) => self.is_open = false,
            Ok(Status::Ok | Status::BufError) => {}
            Err(error) => {
                let reason = error.message().unwrap_or("it cannot be decoded").to_owned();
                step.damage = Some(Damage::Corrupt(reason));
            }
        }
        step
    }
}

/// How much a counter grew in one call, which is never more than the size of a buffer.
fn difference(after: u64, before: u64) -> usize {
    usize::try_from(after - before).unwrap_or(usize::MAX)
}

/// Frames of zstd, one after another.
struct Zstd {
    decoder: DCtx<'static>,
    /// How much input the decoder needs next; zero between frames.
    wants: usize,
}

impl Zstd {
    fn new() -> io::Result<Self> {
        let failed = |code| io::Error::other(get_error_name(code));
        let mut decoder = DCtx::try_create().ok_or(io::ErrorKind::OutOfMemory)?;
        decoder.init().map_err(failed)?;
        decoder.set_parameter(DParameter::WindowLogMax(WINDOW_LOG)).map_err(failed)?;
        Ok(Self { decoder, wants: FRAME_START })
    }

    fn step(&mut self, input: &[u8], out: &mut [u8]) -> Step {
        if self.wants == 0 && input.is_empty() {
            return Step { used: 0, written: 0, damage: None };
        }
        // With just the input it needs, a decoder handles one block per call, and a failing call loses no other block.
        let most = if self.wants == 0 { FRAME_START } else { self.wants };
        let mut input = InBuffer::around(&input[..input.len().min(most)]);
        let mut out = OutBuffer::around(out);
        let result = self.decoder.decompress_stream(&mut out, &mut input);
        let mut step = Step { used: input.pos(), written: out.pos(), damage: None };
        match result {
            Ok(wants) => self.wants = wants,
            Err(code) => {
                let reason = get_error_name(code).to_owned();
                let is_window = reason.contains("too much memory");
                step.damage = Some(if is_window { Damage::Window } else { Damage::Corrupt(reason) });
            }
        }
        step
    }
}

#[cfg(test)]
mod tests;
