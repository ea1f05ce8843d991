//! An event stream (`text/event-stream`) as events, with what a client needs to resume it. Pure.

use std::time::Duration;

/// The longest event id that is kept; it is sent back in a header.
const MAX_ID: usize = 1024;

/// Reads events from bytes as they arrive.
#[derive(Debug)]
pub(crate) struct Events {
    line: Vec<u8>,
    /// The data of the event so far, which may be empty.
    data: Option<Vec<u8>>,
    /// The type of the event so far; empty if it has none.
    name: Vec<u8>,
    /// Whether the last byte was a carriage return, so that a line feed would belong to it.
    after_return: bool,
    is_first_line: bool,
    /// The id of the current event, and the id of the last complete event. Empty if there is none.
    id: Vec<u8>,
    last_id: Vec<u8>,
    retry: Option<Duration>,
    limit: usize,
}

#[derive(Debug, Clone, Copy)]
pub(crate) struct Event<'a> {
    /// Its type; empty if it has none.
    pub(crate) name: &'a [u8],
    pub(crate) data: &'a [u8],
}

impl Event<'_> {
    /// Whether it can carry a message of MCP.
    pub(crate) fn is_message(&self) -> bool {
        matches!(self.name, b"" | b"message")
    }
}

/// An event longer than the limit.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct TooLong(pub(crate) usize);

impl Events {
    pub(crate) fn new(limit: usize) -> Self {
        Self {
            line: Vec::new(),
            data: None,
            name: Vec::new(),
            after_return: false,
            is_first_line: true,
            id: Vec::new(),
            last_id: Vec::new(),
            retry: None,
            limit,
        }
    }

    /// The id of the last complete event, if it has one.
    pub(super) fn last_id(&self) -> Option<&[u8]> {
        (!self.last_id.is_empty()).then_some(&self.last_id)
    }

    /// What there is of an event that is not complete.
    pub(crate) fn unfinished(self) -> Vec<u8> {
        let mut data = self.data.unwrap_or_default();
        data.extend(self.line);
        data
    }

    /// How long the server wants clients to wait before they resume the stream.
    pub(super) fn retry(&self) -> Option<Duration> {
        self.retry
    }

    /// The stream ended and another one resumes it. An incomplete event is dropped.
    pub(super) fn resume(&mut self) {
        let last_id = std::mem::take(&mut self.last_id);
        *self = Self { id: last_id.clone(), last_id, retry: self.retry, ..Self::new(self.limit) };
    }

    /// Takes bytes and passes on every complete event that has data.
    pub(crate) fn push(&mut self, mut bytes: &[u8], mut event: impl FnMut(Event<'_>)) -> Result<(), TooLong> {
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

    fn end_of_line(&mut self, event: &mut impl FnMut(Event<'_>)) {
        let line = std::mem::take(&mut self.line);
        let mut line = line.as_slice();
        if std::mem::take(&mut self.is_first_line) {
            line = line.strip_prefix("\u{feff}".as_bytes()).unwrap_or(line);
        }
        if line.is_empty() {
            self.last_id.clone_from(&self.id);
            let name = std::mem::take(&mut self.name);
            if let Some(data) = self.data.take() {
                event(Event { name: &name, data: &data });
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
            b"event" => self.name = value.to_vec(),
            b"id" if !value.contains(&0) => self.id = if value.len() > MAX_ID { Vec::new() } else { value.to_vec() },
            b"retry" => {
                let digits = std::str::from_utf8(value).ok().filter(|text| text.bytes().all(|b| b.is_ascii_digit()));
                // A number that does not fit means a very long wait.
                let ms = digits.filter(|text| !text.is_empty()).map(|text| text.parse().unwrap_or(u64::MAX));
                self.retry = ms.map(Duration::from_millis).or(self.retry);
            }
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
            let pushed = events.push(piece, |event| {
                if event.is_message() {
                    out.push(String::from_utf8(event.data.to_vec()).unwrap());
                }
            });
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
    fn the_id_of_the_last_complete_event_and_the_time_to_wait_are_kept() {
        let long = format!("id: 1\n\nid: {}\n\n", "x".repeat(MAX_ID + 1));
        let cases: [(&str, Option<&str>, Option<u64>); 11] = [
            ("data: x\n\n", None, None),
            ("id: a-1\nretry: 500\ndata: \n\n", Some("a-1"), Some(500)),
            ("id:1\n\nid: 2\ndata: not complete\n", Some("1"), None),
            ("id: 1\n\ndata: keeps the id\n\n", Some("1"), None),
            ("id: 1\n\nid\n\n", None, None),
            ("id: 1\n\nid: a\0b\n\n", Some("1"), None),
            ("event: ping\nid: 3\ndata: x\n\n", Some("3"), None),
            ("retry: 1\nretry: 2s\nretry: -1\nretry:\nretry: 1.5\n", None, Some(1)),
            ("retry: 0\n", None, Some(0)),
            ("retry: 99999999999999999999\n", None, Some(u64::MAX)),
            (&long, None, None),
        ];
        for (text, id, retry) in cases {
            let mut events = Events::new(10_000);
            events.push(text.as_bytes(), |_| {}).unwrap();
            let found = |events: &Events| (events.last_id().map(<[u8]>::to_vec), events.retry());
            let expected = (id.map(|id| id.as_bytes().to_vec()), retry.map(Duration::from_millis));
            assert_eq!(found(&events), expected, "{text:?}");
            events.resume();
            assert_eq!(found(&events), expected, "{text:?}");
        }
    }

    #[test]
    fn a_stream_that_is_resumed_starts_a_new_event() {
        let mut events = Events::new(100);
        let mut out = Vec::new();
        events.push(b"id: 1\n\nid: 2\ndata: half of an ev", |event| out.push(event.data.to_vec())).unwrap();
        events.resume();
        events.push("\u{feff}data: whole\n\n".as_bytes(), |event| out.push(event.data.to_vec())).unwrap();
        assert_eq!((out, events.last_id()), (vec![b"whole".to_vec()], Some(&b"1"[..])));
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
