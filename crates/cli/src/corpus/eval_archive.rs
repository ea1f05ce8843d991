//! Logs of Inspect as it writes them by default: a zip archive (`.eval`) with a header and one file per sample.
//!
//! It is read as the document that Inspect writes on request: the header with the samples as a list. One sample is unpacked
//! at a time, so a log can have any size.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::Path;

use flate2::{Crc, Decompress, FlushDecompress, Status};
use mcptest_core::diag::{Code, Failure};
use zstd_safe::{DCtx, DParameter, InBuffer, OutBuffer};

use super::unpack::WINDOW_LOG;

/// How much is read at a time.
const CHUNK: usize = 64 * 1024;

/// Most bytes of a list of files and of a header. Both are kept in memory.
const MAX_KEPT: u64 = 64 * 1024 * 1024;

/// The first bytes of an archive.
pub(super) const MAGIC: &[u8] = b"PK\x03\x04";

const END: u32 = 0x0605_4b50;
const END64: u32 = 0x0606_4b50;
const ENTRY: u32 = 0x0201_4b50;

fn damaged(message: impl Into<String>) -> Failure {
    Failure::error((), message.into())
        .code(Code::DamagedArchive)
        .hint("copy it again, or check it with `unzip -t`; `inspect log dump` writes a log as JSON")
}

fn failed(failure: Failure) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, failure)
}

/// A file of the archive.
#[derive(Debug, Clone)]
struct Entry {
    name: String,
    method: u16,
    crc: u32,
    packed: u64,
    size: u64,
    /// Where its own header begins.
    offset: u64,
}

/// The log as one document.
pub(super) struct EvalArchive {
    file: File,
    /// Text that comes next.
    text: Vec<u8>,
    at: usize,
    /// Samples that come after it, the last one first.
    samples: Vec<Entry>,
    open: Option<Sample>,
    is_first: bool,
    is_over: bool,
}

/// How a file of the archive is compressed.
enum Decoder {
    Stored,
    Deflate(Decompress),
    Zstd(DCtx<'static>),
}

/// What one call of a decoder did: how much it read and wrote, and whether the file is complete.
type Step = (usize, usize, bool);

impl Decoder {
    fn of(method: u16) -> Option<Self> {
        Some(match method {
            0 => Self::Stored,
            8 => Self::Deflate(Decompress::new(false)),
            93 => {
                let mut decoder = DCtx::try_create()?;
                decoder.set_parameter(DParameter::WindowLogMax(WINDOW_LOG)).ok()?;
                Self::Zstd(decoder)
            }
            _ => return None,
        })
    }

    /// `None` for data that cannot be decoded.
    fn step(&mut self, input: &[u8], out: &mut [u8]) -> Option<Step> {
        match self {
            Self::Stored => {
                let count = out.len().min(input.len());
                out[..count].copy_from_slice(&input[..count]);
                Some((count, count, false))
            }
            Self::Deflate(decoder) => {
                let before = (decoder.total_in(), decoder.total_out());
                let status = decoder.decompress(input, out, FlushDecompress::None).ok()?;
                let used = usize::try_from(decoder.total_in() - before.0).ok()?;
                let written = usize::try_from(decoder.total_out() - before.1).ok()?;
                Some((used, written, status == Status::StreamEnd))
            }
            Self::Zstd(decoder) => {
                let (mut from, mut to) = (InBuffer::around(input), OutBuffer::around(out));
                let wants = decoder.decompress_stream(&mut to, &mut from).ok()?;
                Some((from.pos(), to.pos(), wants == 0))
            }
        }
    }
}

/// A sample that is being unpacked.
struct Sample {
    entry: Entry,
    decoder: Decoder,
    chunk: Vec<u8>,
    at: usize,
    end: usize,
    /// Compressed bytes not read yet.
    left: u64,
    crc: Crc,
    given: u64,
}

impl EvalArchive {
    pub(super) fn new(mut file: File) -> Result<Self, Failure> {
        let entries = entries(&mut file)?;
        let find = |name: &str| entries.iter().find(|entry| entry.name == name);
        // A log that was not finished has its beginning in the journal.
        let Some(header) = find("header.json").or_else(|| find("_journal/start.json")) else {
            return Err(Failure::error((), "it is a zip archive, but not an Inspect log: it has no `header.json`")
                .code(Code::UnknownFormat)
                .hint("unpack it and name the files in it"));
        };
        let is_finished = header.name == "header.json";
        let mut samples: Vec<Entry> = entries.iter().filter(|entry| is_sample(&entry.name)).cloned().collect();
        samples.sort_by(|a, b| b.name.cmp(&a.name));
        let mut text = whole(&mut file, header)?;
        let end = text.iter().rposition(|byte| !byte.is_ascii_whitespace()).filter(|&at| text[at] == b'}');
        let Some(end) = end else { return Err(damaged("its header is not a JSON object")) };
        text.truncate(end);
        if !is_finished {
            text.extend_from_slice(b",\"status\":\"started\"");
        }
        text.extend_from_slice(b",\"samples\":[");
        Ok(Self { file, text, at: 0, samples, open: None, is_first: true, is_over: false })
    }

    /// Goes on to the next sample, or to the end.
    fn advance(&mut self) -> Result<(), Failure> {
        (self.text, self.at) = (Vec::new(), 0);
        let Some(entry) = self.samples.pop() else {
            if !self.is_over {
                self.text = b"]}".to_vec();
            }
            self.is_over = true;
            return Ok(());
        };
        if !std::mem::take(&mut self.is_first) {
            self.text = b",\n".to_vec();
        }
        self.open = Some(Sample::open(&mut self.file, entry)?);
        Ok(())
    }
}

fn is_sample(name: &str) -> bool {
    name.starts_with("samples/") && Path::new(name).extension().is_some_and(|kind| kind == "json")
}

impl Read for EvalArchive {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        loop {
            if self.at < self.text.len() {
                let count = out.len().min(self.text.len() - self.at);
                out[..count].copy_from_slice(&self.text[self.at..self.at + count]);
                self.at += count;
                return Ok(count);
            }
            if let Some(sample) = &mut self.open {
                let count = sample.read(&mut self.file, out)?;
                if count > 0 || out.is_empty() {
                    return Ok(count);
                }
                self.open = None;
            }
            if self.is_over {
                return Ok(0);
            }
            self.advance().map_err(failed)?;
        }
    }
}

impl Sample {
    fn open(file: &mut File, entry: Entry) -> Result<Self, Failure> {
        let damaged = || damaged(format!("its file {:?} cannot be found", entry.name));
        let header: [u8; 30] = read_at(file, entry.offset).map_err(|_| damaged())?;
        if !header.starts_with(MAGIC) {
            return Err(damaged());
        }
        let skip = u64::from(two(&header, 26)) + u64::from(two(&header, 28));
        let start = entry.offset.checked_add(30 + skip).ok_or_else(damaged)?;
        file.seek(SeekFrom::Start(start)).map_err(|_| damaged())?;
        let Some(decoder) = Decoder::of(entry.method) else {
            let message =
                format!("its file {:?} is compressed with method {}, which is not known", entry.name, entry.method);
            return Err(Failure::error((), message)
                .code(Code::DamagedArchive)
                .hint("`inspect log dump` writes a log as JSON"));
        };
        let (left, chunk) = (entry.packed, vec![0; CHUNK]);
        Ok(Self { entry, decoder, chunk, at: 0, end: 0, left, crc: Crc::new(), given: 0 })
    }

    fn read(&mut self, file: &mut File, out: &mut [u8]) -> io::Result<usize> {
        let broken = |reason: &str, name: &str| failed(damaged(format!("its file {name:?} {reason}")));
        loop {
            if self.at == self.end && self.left > 0 {
                let most = usize::try_from(self.left).unwrap_or(CHUNK).min(CHUNK);
                let count = file.read(&mut self.chunk[..most])?;
                if count == 0 {
                    return Err(broken("ends too early", &self.entry.name));
                }
                (self.at, self.end) = (0, count);
                self.left -= count as u64;
            }
            let input = &self.chunk[self.at..self.end];
            let step = self.decoder.step(input, out);
            let (used, written, is_end) = step.ok_or_else(|| broken("is damaged", &self.entry.name))?;
            self.at += used;
            self.crc.update(&out[..written]);
            self.given += written as u64;
            if self.given > self.entry.size {
                return Err(broken("is longer than the archive says", &self.entry.name));
            }
            if written > 0 {
                return Ok(written);
            }
            let is_used_up = self.left == 0 && self.at == self.end;
            if is_end || is_used_up || used == 0 {
                if self.given != self.entry.size || self.crc.sum() != self.entry.crc {
                    return Err(broken("is damaged", &self.entry.name));
                }
                return Ok(0);
            }
        }
    }
}

/// A complete file of the archive.
fn whole(file: &mut File, entry: &Entry) -> Result<Vec<u8>, Failure> {
    if entry.size > MAX_KEPT {
        return Err(damaged(format!("its file {:?} has more than {MAX_KEPT} bytes", entry.name)));
    }
    let mut sample = Sample::open(file, entry.clone())?;
    let mut out = Vec::new();
    let mut chunk = vec![0; CHUNK];
    loop {
        match sample.read(file, &mut chunk) {
            Ok(0) => return Ok(out),
            Ok(count) => out.extend_from_slice(&chunk[..count]),
            Err(error) => return Err(damaged(format!("its file {:?} cannot be read: {error}", entry.name))),
        }
    }
}

/// The list of files at the end of the archive.
fn entries(file: &mut File) -> Result<Vec<Entry>, Failure> {
    let cut = || damaged("it is a zip archive without its list of files: it was truncated, or is still being written");
    let length = file.seek(SeekFrom::End(0)).map_err(|_| cut())?;
    // A comment of up to 64 KiB may follow the end record.
    let tail_length = length.min(66 * 1024);
    let mut tail = vec![0; usize::try_from(tail_length).unwrap_or(0)];
    file.seek(SeekFrom::Start(length - tail_length)).and_then(|_| file.read_exact(&mut tail)).map_err(|_| cut())?;
    let last = tail.len().checked_sub(22).ok_or_else(cut)?;
    let at = (0..=last).rev().find(|&at| four(&tail, at) == END).ok_or_else(cut)?;
    let (mut size, mut start) = (u64::from(four(&tail, at + 12)), u64::from(four(&tail, at + 16)));
    if let Some(locator) = at.checked_sub(20).filter(|&at| tail[at..].starts_with(b"PK\x06\x07")) {
        let place = eight(&tail, locator + 8);
        let record: [u8; 56] = read_at(file, place).map_err(|_| cut())?;
        if four(&record, 0) != END64 {
            return Err(cut());
        }
        (size, start) = (eight(&record, 40), eight(&record, 48));
    }
    if size > MAX_KEPT || start.checked_add(size).is_none_or(|end| end > length) {
        return Err(cut());
    }
    let mut records = vec![0; usize::try_from(size).unwrap_or(0)];
    file.seek(SeekFrom::Start(start)).and_then(|_| file.read_exact(&mut records)).map_err(|_| cut())?;
    let (mut out, mut rest) = (Vec::new(), &records[..]);
    while rest.len() >= 46 && four(rest, 0) == ENTRY {
        let lengths = [28, 30, 32].map(|at| usize::from(two(rest, at)));
        let end = 46 + lengths.iter().sum::<usize>();
        let record = rest.get(..end).ok_or_else(cut)?;
        out.push(entry(record, lengths));
        rest = &rest[end..];
    }
    Ok(out)
}

fn entry(record: &[u8], [name, extra, _]: [usize; 3]) -> Entry {
    let mut entry = Entry {
        name: String::from_utf8_lossy(&record[46..46 + name]).into_owned(),
        method: two(record, 10),
        crc: four(record, 16),
        packed: u64::from(four(record, 20)),
        size: u64::from(four(record, 24)),
        offset: u64::from(four(record, 42)),
    };
    // Numbers that do not fit into 32 bits are in an extra field, in this order.
    let mut fields = &record[46 + name..46 + name + extra];
    while fields.len() >= 4 {
        let length = usize::from(two(fields, 2)).min(fields.len() - 4);
        let (kind, mut field) = (two(fields, 0), &fields[4..4 + length]);
        fields = &fields[4 + length..];
        for number in [&mut entry.size, &mut entry.packed, &mut entry.offset] {
            if kind == 1 && *number == u64::from(u32::MAX) && field.len() >= 8 {
                *number = eight(field, 0);
                field = &field[8..];
            }
        }
    }
    entry
}

fn read_at<const N: usize>(file: &mut File, at: u64) -> io::Result<[u8; N]> {
    let mut out = [0; N];
    file.seek(SeekFrom::Start(at))?;
    file.read_exact(&mut out)?;
    Ok(out)
}

/// A number of some bytes; zero beyond the end.
fn number(bytes: &[u8], at: usize, length: usize) -> u64 {
    let bytes = bytes.get(at..at + length).unwrap_or_default();
    bytes.iter().rev().fold(0, |sum, byte| sum << 8 | u64::from(*byte))
}

fn two(bytes: &[u8], at: usize) -> u16 {
    u16::try_from(number(bytes, at, 2)).unwrap_or(0)
}

fn four(bytes: &[u8], at: usize) -> u32 {
    u32::try_from(number(bytes, at, 4)).unwrap_or(0)
}

fn eight(bytes: &[u8], at: usize) -> u64 {
    number(bytes, at, 8)
}
