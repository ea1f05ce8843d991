//! A stream of events (`text/event-stream`) as messages. Pure.
//!
//! Ids and waiting times are for clients that come back to a stream; a stream that breaks is evidence here, so they are
//! passed over.

/// Reads events from bytes as they come.
#[derive(Debug)]
pub(super) struct Events {
    line: Vec<u8>,
    /// The data of the event so far, which may be empty.
    data: Option<Vec<u8>>,
    /// Whether the event is of a kind that carries no messages.
    is_other: bool,
    /// Whether the last byte ended a line, and a line feed would belong to it.
    after_return: bool,
    is_first_line: bool,
    limit: usize,
}

/// An event longer than the limit.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct TooLong(pub(super) usize);

impl Events {
    pub(super) fn new(limit: usize) -> Self {
        Self { line: Vec::new(), data: None, is_other: false, after_return: false, is_first_line: true, limit }
    }

    /// Takes in bytes and hands out the data of every event that is complete. An event without an end is none.
    pub(super) fn push(&mut self, mut bytes: &[u8], mut event: impl FnMut(&[u8])) -> Result<(), TooLong> {
        while let Some(&first) = bytes.first() {
            if self.after_return && first == b'\n' {
                self.after_return = false;
                bytes = &bytes[1..];
                continue;
            }
            self.after_return = false;
            let end = bytes.iter().position(|byte| matches!(byte, b'\n' | b'\r'));
            let part = &bytes[..end.unwrap_or(bytes.len())];
            if self.line.len() + self.data.as_ref().map_or(0, Vec::len) + part.len() > self.limit {
                return Err(TooLong(self.limit));
            }
            self.line.extend_from_slice(part);
            let Some(end) = end else { return Ok(()) };
            self.after_return = bytes[end] == b'\r';
            bytes = &bytes[end + 1..];
            self.end_of_line(&mut event);
        }
        Ok(())
    }

    fn end_of_line(&mut self, event: &mut impl FnMut(&[u8])) {
        let line = std::mem::take(&mut self.line);
        let mut line = line.as_slice();
        if std::mem::take(&mut self.is_first_line) {
            line = line.strip_prefix("\u{feff}".as_bytes()).unwrap_or(line);
        }
        if line.is_empty() {
            let is_other = std::mem::take(&mut self.is_other);
            if let Some(data) = self.data.take().filter(|_| !is_other) {
                event(&data);
            }
            return;
        }
        let (field, value) = match line.iter().position(|byte| *byte == b':') {
            Some(at) => (&line[..at], &line[at + 1..]),
            None => (line, &b""[..]),
        };
        let value = value.strip_prefix(b" ").unwrap_or(value);
        match field {
            b"data" => match &mut self.data {
                None => self.data = Some(value.to_vec()),
                Some(data) => {
                    data.push(b'\n');
                    data.extend_from_slice(value);
                }
            },
            b"event" => self.is_other = !matches!(value, b"" | b"message"),
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The events of a stream that arrives in pieces of this size.
    fn events(text: &[u8], piece: usize, limit: usize) -> (Vec<String>, Result<(), TooLong>) {
        let mut events = Events::new(limit);
        let mut out = Vec::new();
        for piece in text.chunks(piece) {
            let pushed = events.push(piece, |data| out.push(String::from_utf8(data.to_vec()).unwrap()));
            if pushed.is_err() {
                return (out, pushed);
            }
        }
        (out, Ok(()))
    }

    #[test]
    fn events_are_the_same_however_the_stream_cuts_them() {
        let cases: [(&str, &[&str]); 10] = [
            ("data: one\n\ndata: two\n\n", &["one", "two"]),
            ("data: one\r\n\r\ndata:two\r\rdata:  three\n\n", &["one", "two", " three"]),
            ("event: message\nid: 7\nretry: 5\ndata: {\ndata: }\n\n", &["{\n}"]),
            (": a comment\n\n:\ndata: x\n: another\ndata: y\n\n", &["x\ny"]),
            ("id: 1\ndata:\n\nid: 2\n\ndata\n\n", &["", ""]),
            ("event: ping\ndata: no message\n\ndata: a message\n\n", &["a message"]),
            ("\u{feff}data: after a mark\n\n\u{feff}data: no field\n\n", &["after a mark"]),
            ("data: no end", &[]),
            ("data: no empty line\n", &[]),
            ("\r\n\n\ndatax: no\n\nDATA: no\n\n data: no\n\n", &[]),
        ];
        for (text, expected) in cases {
            for piece in 1..=text.len() {
                assert_eq!(
                    events(text.as_bytes(), piece, 100),
                    (expected.iter().map(|event| (*event).to_owned()).collect(), Ok(())),
                    "{text:?} in pieces of {piece}"
                );
            }
        }
    }

    #[test]
    fn an_event_of_the_limit_is_read_and_a_longer_one_is_refused() {
        for piece in [1, 3, 100] {
            // The name of the field counts: it is what the line costs before it is understood.
            assert_eq!(events(b"data:12345\n\n", piece, 10), (vec!["12345".to_owned()], Ok(())));
            assert_eq!(events(b"data:1\n\ndata:123456\n\n", piece, 10), (vec!["1".to_owned()], Err(TooLong(10))));
            assert_eq!(events(b"data:12\ndata:1234\n", piece, 10), (vec![], Err(TooLong(10))));
            assert_eq!(events(b":23456789012", piece, 10), (vec![], Err(TooLong(10))));
        }
    }
}
