//! A score in progress: `mcptest score` on its own thread, which reads records from requests and writes to memory.

use std::io::{self, Read, Write};
use std::path::Path;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, ScopedJoinHandle};

use clap::Parser as _;
use mcptest_core::diag::{self, Code, Failure};
use serde_json::value::RawValue;
use serde_json::{Value, json};

use super::protocol::{Answer, GivenGates, ScoreStart};
use crate::args::{Cli, Command, Score};
use crate::command::score::{self, Loaded};
use crate::command::{Environment, Stop};
use crate::console::{Console, Stream};
use crate::corpus::source::Source;
use crate::exit;

/// Requests whose records wait to be read. Then the next one waits for the scorer.
const AHEAD: usize = 4;

pub(super) struct Scoring<'scope> {
    records: SyncSender<Vec<u8>>,
    out: Buffer,
    thread: ScopedJoinHandle<'scope, (u8, String)>,
    reports: bool,
}

impl<'scope> Scoring<'scope> {
    /// Starts a score. Returns it with warnings about the gates.
    pub(super) fn start<'env>(
        asked: &ScoreStart,
        scope: &'scope thread::Scope<'scope, 'env>,
        environment: Environment<'env>,
    ) -> Result<(Self, String), Stop> {
        let typed = typed(asked)?;
        let (mut out, mut messages) = (io::sink(), Vec::new());
        let mut console = Console { out: Stream::new(&mut out), err: Stream::new(&mut messages) };
        let gates = match &asked.gates {
            Some(given) => Some(load(given, environment, &mut console)?),
            None => None,
        };
        let scorer = score::scorer(&typed, gates)?;
        let (records, chunks) = sync_channel(AHEAD);
        let name = asked.name.clone().unwrap_or_else(|| "-".to_owned());
        let source = Source::stream(name, Box::new(ChunkReader { chunks, chunk: Vec::new(), at: 0 }));
        let out = Buffer::default();
        let mut written = out.clone();
        let work = move || {
            let mut messages = Vec::new();
            let mut console = Console { out: Stream::new(&mut written), err: Stream::new(&mut messages) };
            let code = score::over(&typed, scorer, &[source], environment, &mut console);
            let code = code.unwrap_or_else(|Stop(message)| {
                console.err.complain(message);
                exit::ERROR
            });
            (code, text(&messages))
        };
        let thread = thread::Builder::new().spawn_scoped(scope, work).map_err(|error| {
            Failure::error((), format!("cannot start a thread: {error}")).code(Code::OutOfResources)
        })?;
        Ok((Self { records, out, thread, reports: asked.report }, text(&messages)))
    }

    /// Takes in records. Returns the lines that were finished meanwhile.
    pub(super) fn add(&mut self, records: &[&RawValue]) -> Vec<u8> {
        let mut chunk = Vec::with_capacity(records.iter().map(|record| record.get().len() + 1).sum());
        for record in records {
            let value = record.get();
            match value.starts_with('"').then(|| serde_json::from_str::<String>(value)) {
                // A blank line in a file is not a record, but a blank text here is: a missing trace must be an error.
                Some(Ok(text)) if text.trim_matches(is_blank).is_empty() => chunk.extend_from_slice(b"\"\""),
                // A line break is white space between the values of a record, so that it stays one line.
                Some(Ok(text)) if text.contains('\n') => chunk.extend_from_slice(text.replace('\n', " ").as_bytes()),
                Some(Ok(text)) => chunk.extend_from_slice(text.as_bytes()),
                Some(Err(_)) | None => chunk.extend_from_slice(value.as_bytes()),
            }
            chunk.push(b'\n');
        }
        // A score that has ended says why when it is finished.
        let _ = self.records.send(chunk);
        if self.reports { Vec::new() } else { self.out.take() }
    }

    /// Waits until everything is scored.
    pub(super) fn finish(self) -> Answer {
        drop(self.records);
        let (code, messages) = self.thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        let out = self.out.take();
        let (lines, report) = if self.reports { (Vec::new(), Some(text(&out))) } else { (out, None) };
        Answer::Scored { lines, report, code, messages }
    }
}

fn is_blank(character: char) -> bool {
    character.is_whitespace() || character == '\u{feff}'
}

/// The arguments of `mcptest score` for a request.
fn typed(asked: &ScoreStart) -> Result<Score, Stop> {
    let mut words = vec!["mcptest", "score", "-"];
    words.extend(asked.options.iter().map(String::as_str));
    words.extend(if asked.report { ["--output=none", "--reporter=pretty"].as_slice() } else { &["--output=jsonl"] });
    if asked.gates.is_some() {
        words.push("--gates=gates");
    }
    match Cli::try_parse_from(words).map(|typed| typed.command) {
        Ok(Command::Score(typed)) => Ok(*typed),
        Ok(_) => Err(super::bad_request("these are not options of `mcptest score`".to_owned())),
        Err(error) => Err(crate::command::bad_usage(&error)),
    }
}

/// Gates as JSON, with the warnings about them.
pub(super) fn gates(given: &GivenGates, environment: Environment<'_>) -> Result<Value, Stop> {
    let (mut out, mut messages) = (io::sink(), Vec::new());
    let mut console = Console { out: Stream::new(&mut out), err: Stream::new(&mut messages) };
    let (_, written) = load(given, environment, &mut console)?;
    Ok(json!({ "gates": written, "messages": text(&messages) }))
}

fn load(given: &GivenGates, environment: Environment<'_>, console: &mut Console<'_>) -> Result<Loaded, Stop> {
    match (&given.path, &given.text) {
        (Some(path), None) => score::load_gates(Path::new(path), environment, console),
        (None, Some(text)) => {
            let source = diag::Source::new("gates".to_owned(), text.clone());
            score::read_gates(&source, given.folder.as_deref().unwrap_or("."), environment, console)
        }
        _ => Err(super::bad_request("gates are either a path or a text".to_owned())),
    }
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// What requests brought, as a stream.
struct ChunkReader {
    chunks: Receiver<Vec<u8>>,
    chunk: Vec<u8>,
    at: usize,
}

impl Read for ChunkReader {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        while self.at == self.chunk.len() {
            // The other end is dropped when everything is there.
            let Ok(next) = self.chunks.recv() else { return Ok(0) };
            (self.chunk, self.at) = (next, 0);
        }
        let count = out.len().min(self.chunk.len() - self.at);
        out[..count].copy_from_slice(&self.chunk[self.at..self.at + count]);
        self.at += count;
        Ok(count)
    }
}

/// Output in memory, which is taken while more is written.
#[derive(Clone, Default)]
struct Buffer(Arc<Mutex<Vec<u8>>>);

impl Buffer {
    fn take(&self) -> Vec<u8> {
        std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Write for Buffer {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
