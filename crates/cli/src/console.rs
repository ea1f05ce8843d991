//! Standard output and standard error. Everything that is printed passes through here, so that no text from an agent or a
//! server is executed as a command by the CI server that reads the log.
//!
//! Runners look for `##[name]` (GitHub Actions), `##vso[area.event]` (Azure Pipelines) and `##teamcity[name]` anywhere in
//! a line, and for `::name::` (GitHub Actions) at its beginning, after white space. One character of the sequence is
//! written as a JSON escape instead. A person can still read it, and in JSON output, where the sequence can only be inside
//! a string, it means the same.

#[cfg(test)]
pub(crate) mod runners;

use std::borrow::Cow;
use std::fmt::Display;
use std::io::{self, ErrorKind, Write};

use mcptest_core::diag::{Code, Failure};
use memchr::memchr3;

/// Where a command prints: data to `out`, everything else to `err`.
pub(crate) struct Console<'a> {
    pub(crate) out: Stream<'a>,
    pub(crate) err: Stream<'a>,
}

/// A stream that may end up in the log of a CI server.
pub(crate) struct Stream<'a> {
    out: &'a mut dyn Write,
    state: State,
}

/// The result of writing to standard output. A reader that has closed the pipe, as in `mcptest schema | head -1`, is fine.
pub(crate) fn printed(result: io::Result<()>) -> Result<(), Failure> {
    match result {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => {
            let message = format!("cannot write to standard output: {error}");
            Err(Failure::error((), message).code(Code::StdoutFailed))
        }
        _ => Ok(()),
    }
}

impl<'a> Stream<'a> {
    pub(crate) fn new(out: &'a mut dyn Write) -> Self {
        Self { out, state: State::default() }
    }

    /// The same stream for a part of what is printed.
    pub(crate) fn by_ref(&mut self) -> Stream<'_> {
        Stream { out: &mut *self.out, state: self.state }
    }

    pub(crate) fn print(&mut self, text: &str) -> Result<(), Failure> {
        printed(self.write_all(text.as_bytes()).and_then(|()| self.flush()))
    }

    /// Prints an error, a warning or a note. If standard error is closed too, only the exit code is left.
    pub(crate) fn complain(&mut self, message: impl Display) {
        let message = message.to_string();
        if !message.is_empty() {
            let _ = self.write_all(format!("{}\n", message.trim_end()).as_bytes());
        }
    }

    /// Whether lines may begin with `::`. Only the github reporter commands the server.
    pub(crate) fn allow_commands(&mut self, allowed: bool) {
        self.state.allows_commands = allowed;
    }
}

impl Write for Stream<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.write_all(bytes)?;
        Ok(bytes.len())
    }

    fn write_all(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.out.write_all(&self.state.escape(bytes))
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

/// A text that another library prints, such as a progress bar.
pub(crate) fn escape(text: &str) -> String {
    // Only ASCII characters are replaced, each by ASCII.
    String::from_utf8_lossy(&State::default().escape(text.as_bytes())).into_owned()
}

/// The state that affects how the next byte is written. A sequence may be written in pieces.
#[derive(Debug, Default, Clone, Copy)]
struct State {
    allows_commands: bool,
    /// Signs `#` directly before.
    hashes: usize,
    line: Line,
}

/// How a line begins.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
enum Line {
    /// Empty so far, or with characters that a runner may treat as whitespace.
    #[default]
    Blank,
    /// With white space and a colon.
    Colon,
    Text,
}

impl State {
    fn escape<'b>(&mut self, bytes: &'b [u8]) -> Cow<'b, [u8]> {
        let mut escaped: Option<Vec<u8>> = None;
        let (mut copied, mut at) = (0, 0);
        while at < bytes.len() {
            if self.line == Line::Text && self.hashes == 0 {
                let Some(next) = memchr3(b'#', b'\n', b'\r', &bytes[at..]) else { break };
                at += next;
            }
            let byte = bytes[at];
            if self.completes_command(byte) {
                let out = escaped.get_or_insert_default();
                out.extend_from_slice(&bytes[copied..at]);
                out.extend_from_slice(format!("\\u{byte:04x}").as_bytes());
                copied = at + 1;
            }
            at += 1;
        }
        match escaped {
            None => Cow::Borrowed(bytes),
            Some(mut out) => {
                out.extend_from_slice(&bytes[copied..]);
                Cow::Owned(out)
            }
        }
    }

    /// Adds the next byte. Returns whether it must be escaped.
    fn completes_command(&mut self, byte: u8) -> bool {
        let hashes = self.hashes;
        self.hashes = if byte == b'#' { hashes.saturating_add(1) } else { 0 };
        let (line, is_double_colon) = match (self.line, byte) {
            // White space beyond ASCII has several bytes, and some runners skip what cannot be seen: any such byte counts.
            (_, b'\n' | b'\r') | (Line::Blank, ..=b' ' | 0x7f..) => (Line::Blank, false),
            (Line::Blank, b':') => (Line::Colon, false),
            (Line::Colon, b':') => (Line::Text, !self.allows_commands),
            _ => (Line::Text, false),
        };
        self.line = line;
        is_double_colon || (hashes >= 2 && (byte == b'[' || byte.is_ascii_alphabetic()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_character_of_a_command_is_written_by_its_code() {
        for (text, expected) in [
            ("a ##[error]b", "a ##\\u005berror]b"),
            ("###[x] ##VSO[task.x]", "###\\u005bx] ##\\u0056SO[task.x]"),
            ("##teamcity[x] ##vso", "##\\u0074eamcity[x] ##\\u0076so"),
            ("::error::a ::b\n\t ::c::", ":\\u003aerror::a ::b\n\t :\\u003ac::"),
            ("\u{3000}\u{200b}::a::\r::b::", "\u{3000}\u{200b}:\\u003aa::\r:\\u003ab::"),
            (
                "## heading\n### heading\n# [a] #[b] ## [c] : : a::b :a\n:: a",
                "## heading\n### heading\n# [a] #[b] ## [c] : : a::b :a\n:\\u003a a",
            ),
        ] {
            assert_eq!(escape(text), expected);
        }
    }

    #[test]
    fn a_command_that_is_written_in_pieces_is_found_too() {
        let text = "\n ::a::\n##[b] ##vso[c]\r\u{a0}::d\n:#:##[";
        for first in 0..text.len() {
            for second in first..text.len() {
                let mut out = Vec::new();
                let mut console = Stream::new(&mut out);
                for piece in [&text.as_bytes()[..first], &text.as_bytes()[first..second], &text.as_bytes()[second..]] {
                    console.write_all(piece).unwrap();
                }
                assert_eq!(String::from_utf8(out).unwrap(), escape(text));
            }
        }
    }

    #[test]
    fn a_reporter_for_runners_prints_commands_only_at_the_start_of_lines() {
        let mut out = Vec::new();
        let mut console = Stream::new(&mut out);
        console.allow_commands(true);
        console.write_all(b"::error title=a::b ##[c]\n").unwrap();
        console.allow_commands(false);
        console.write_all(b"::d::\n").unwrap();
        assert_eq!(String::from_utf8(out).unwrap(), "::error title=a::b ##\\u005bc]\n:\\u003ad::\n");
    }

    #[test]
    fn json_keeps_its_meaning() {
        let value = serde_json::json!({ "##[a]": ["##vso[b]", "\\##[", "::c", "#\n#[", "##\u{200b}["] });
        for text in [value.to_string(), serde_json::to_string_pretty(&value).unwrap()] {
            assert_eq!(serde_json::from_str::<serde_json::Value>(&escape(&text)).unwrap(), value);
        }
    }
}
