//! The log: one JSON line per message received or sent, numbered, without a clock, so that two runs can be compared.

use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::path::Path;

use mcptest_core::json;
use serde_json::{Value, json};

/// Which way a message went.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Direction {
    In,
    Out,
}

/// Where messages are written down, or nowhere.
#[derive(Debug, Default)]
pub struct Log {
    file: Option<File>,
    seq: u64,
}

impl Log {
    /// A log that nobody reads.
    pub fn none() -> Self {
        Self::default()
    }

    /// A log at the end of a file, which is made when there is none.
    pub fn append(path: &Path) -> io::Result<Self> {
        let file = OpenOptions::new().append(true).create(true).open(path)?;
        Ok(Self { file: Some(file), seq: 0 })
    }

    pub(crate) fn message(&mut self, direction: Direction, message: &Value) -> io::Result<()> {
        self.line(direction, "message", || message.clone())
    }

    /// Bytes that are no message.
    pub(crate) fn raw(&mut self, direction: Direction, bytes: &[u8]) -> io::Result<()> {
        self.line(direction, "raw", || json!(String::from_utf8_lossy(bytes)))
    }

    /// Something that is too long to be written down.
    pub(crate) fn note(&mut self, direction: Direction, note: &str) -> io::Result<()> {
        self.line(direction, "note", || json!(note))
    }

    /// One line by one write, so that several logs in one file do not mix within a line.
    fn line(&mut self, direction: Direction, key: &str, value: impl FnOnce() -> Value) -> io::Result<()> {
        let Some(file) = &mut self.file else { return Ok(()) };
        self.seq += 1;
        let word = match direction {
            Direction::In => "in",
            Direction::Out => "out",
        };
        let value = json::canonical(&value());
        let line = format!("{{\"seq\":{},\"direction\":\"{word}\",\"{key}\":{value}}}\n", self.seq);
        file.write_all(line.as_bytes())
    }
}
