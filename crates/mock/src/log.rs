//! The log: one numbered JSON line per message, without times, so that two runs can be compared.

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

/// A log file, or none.
#[derive(Debug, Default)]
pub struct Log {
    file: Option<File>,
    seq: u64,
}

impl Log {
    pub fn none() -> Self {
        Self::default()
    }

    /// Appends to a file, which is created if necessary.
    pub fn append(path: &Path) -> io::Result<Self> {
        let file = OpenOptions::new().append(true).create(true).open(path)?;
        Ok(Self { file: Some(file), seq: 0 })
    }

    pub(crate) fn message(&mut self, direction: Direction, message: &Value) -> io::Result<()> {
        self.line(direction, "message", || message.clone())
    }

    /// Bytes that are not a message.
    pub(crate) fn raw(&mut self, direction: Direction, bytes: &[u8]) -> io::Result<()> {
        self.line(direction, "raw", || json!(String::from_utf8_lossy(bytes)))
    }

    /// Something that is too long for the log.
    pub(crate) fn note(&mut self, direction: Direction, note: &str) -> io::Result<()> {
        self.line(direction, "note", || json!(note))
    }

    /// Writes one line with one write, so that several processes can share a log.
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
