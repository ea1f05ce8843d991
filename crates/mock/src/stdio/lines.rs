//! Bytes into lines, with a maximum length: longer lines are skipped, not kept.

use std::io;

use tokio::io::{AsyncRead, AsyncReadExt};

/// Longest line that is read.
pub(crate) const MAX_LINE: usize = 16 * 1024 * 1024;

/// How much is read at a time.
const PIECE: usize = 64 * 1024;

#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Line {
    /// Without its end.
    Whole(Vec<u8>),
    /// Longer than [`MAX_LINE`].
    TooLong,
}

/// The lines of a stream.
#[derive(Debug)]
pub(crate) struct Lines<R> {
    input: R,
    buffer: Vec<u8>,
    /// Bytes of the buffer that belong to lines already returned.
    start: usize,
    /// Bytes of the buffer that contain no line end.
    searched: usize,
    /// Inside a line that is too long.
    skipping: bool,
    limit: usize,
}

impl<R: AsyncRead + Unpin> Lines<R> {
    pub(crate) fn new(input: R) -> Self {
        Self::with_limit(input, MAX_LINE)
    }

    pub(super) fn with_limit(input: R, limit: usize) -> Self {
        Self { input, buffer: Vec::new(), start: 0, searched: 0, skipping: false, limit }
    }

    /// The next line that is not blank; `None` at the end.
    pub(crate) async fn next(&mut self) -> io::Result<Option<Line>> {
        loop {
            if let Some(line) = self.buffered() {
                if line == Line::Whole(Vec::new()) {
                    continue;
                }
                return Ok(Some(line));
            }
            self.buffer.drain(..self.start);
            self.searched -= self.start;
            self.start = 0;
            if self.buffer.len() > self.limit {
                self.buffer = Vec::new();
                self.searched = 0;
                if !std::mem::replace(&mut self.skipping, true) {
                    return Ok(Some(Line::TooLong));
                }
            }
            self.buffer.reserve(PIECE);
            if self.input.read_buf(&mut self.buffer).await? == 0 {
                // The last line may lack its end.
                let rest = std::mem::take(&mut self.buffer);
                self.searched = 0;
                let line = trimmed(&rest);
                let last = !self.skipping && !line.is_empty();
                return Ok(last.then(|| Line::Whole(line.to_vec())));
            }
        }
    }

    /// The next line of what was read, if it is complete.
    fn buffered(&mut self) -> Option<Line> {
        let Some(length) = self.buffer[self.searched..].iter().position(|byte| *byte == b'\n') else {
            self.searched = self.buffer.len();
            return None;
        };
        let end = self.searched + length;
        let line = &self.buffer[self.start..end];
        let line = if std::mem::take(&mut self.skipping) {
            // The rest of a line that was already reported.
            Line::Whole(Vec::new())
        } else if line.len() > self.limit {
            Line::TooLong
        } else {
            Line::Whole(trimmed(line).to_vec())
        };
        self.start = end + 1;
        self.searched = self.start;
        Some(line)
    }
}

fn trimmed(line: &[u8]) -> &[u8] {
    line.trim_ascii()
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn lines(text: &[u8], limit: usize) -> Vec<Line> {
        let mut lines = Lines::with_limit(text, limit);
        let mut out = Vec::new();
        while let Some(line) = lines.next().await.unwrap() {
            out.push(line);
            assert!(out.len() < 100);
        }
        out
    }

    fn whole(text: &str) -> Line {
        Line::Whole(text.as_bytes().to_vec())
    }

    #[tokio::test]
    async fn lines_end_with_a_line_feed_and_blank_ones_are_left_out() {
        assert_eq!(lines(b"a\n\r\n  b \r\n\nc", 10).await, [whole("a"), whole("b"), whole("c")]);
        assert_eq!(lines(b"", 10).await, []);
        assert_eq!(lines(b"\n\n", 10).await, []);
    }

    #[tokio::test]
    async fn a_line_that_is_too_long_is_reported_once_and_the_next_one_is_read() {
        let text = [&b"x".repeat(200_000)[..], b"\nb\n"].concat();
        assert_eq!(lines(&text, 100_000).await, [Line::TooLong, whole("b")]);
        assert_eq!(lines(&text[..200_000], 100_000).await, [Line::TooLong]);
        assert_eq!(lines(b"12345\n123456\n1\n", 5).await, [whole("12345"), Line::TooLong, whole("1")]);
    }

    #[tokio::test]
    async fn a_line_that_is_too_long_is_reported_once_wherever_it_ends() {
        // From a line that is cut once to one that is cut twice, so that the remainder takes every length up to the limit
        // and beyond.
        for length in (100_001..400_000).step_by(5_000) {
            let text = [&b"x".repeat(length)[..], b"\nb\n"].concat();
            assert_eq!(lines(&text, 100_000).await, [Line::TooLong, whole("b")], "{length}");
        }
    }

    #[tokio::test]
    async fn a_long_line_does_not_make_the_buffer_grow() {
        let mut lines = Lines::with_limit(tokio::io::repeat(b'x').take(50_000_000), 100_000);
        assert_eq!(lines.next().await.unwrap(), Some(Line::TooLong));
        assert_eq!(lines.next().await.unwrap(), None);
        assert!(lines.buffer.capacity() < 1_000_000, "{}", lines.buffer.capacity());
    }
}
