//! Invariants of lines from a pipe and events from a stream, regardless of how their bytes are split. The fuzz target `framing`
//! includes this file, so that fuzzing and tests check the same.

use std::pin::pin;
use std::task::{Context, Poll, Waker};

use tokio::io::AsyncBufRead;

use super::events::{Events, TooLong};
use super::exchange::End;
use super::lines::LineReader;

/// Compares the lines that a reader returns with what was sent.
pub(crate) fn lines(sent: &[u8], limit: usize, arriving: impl AsyncBufRead + Unpin) {
    let mut reader = LineReader::new(arriving, limit);
    let mut got: Vec<Vec<u8>> = Vec::new();
    let end = loop {
        match ready(reader.next()) {
            Ok(Some(line)) => got.push(line.to_vec()),
            Ok(None) => break None,
            Err(end) => break Some(end),
        }
        assert!(got.len() <= sent.len() + 1, "more lines than bytes");
    };
    let mut expected: Vec<&[u8]> = sent.split(|byte| *byte == b'\n').collect();
    if expected.last().is_some_and(|last| last.is_empty()) {
        expected.pop();
    }
    let long = expected.iter().position(|line| line.len() > limit);
    assert_eq!(got, expected[..long.unwrap_or(expected.len())]);
    assert_eq!(end, long.map(|_| End::TooLong(limit)));
}

/// Compares the events of the pieces with the events of the complete text.
pub(crate) fn events<'a>(sent: &[u8], limit: usize, pieces: impl Iterator<Item = &'a [u8]>) {
    let pieces: Vec<&[u8]> = pieces.collect();
    assert_eq!(pieces.concat(), sent);
    let expected = reference(sent);
    assert_eq!(read(usize::MAX, &pieces), (expected.clone(), Ok(())));
    let bounded = read(limit, &pieces);
    assert_eq!(bounded, read(limit, &[sent]), "pieces give other events than the whole");
    let (got, end) = bounded;
    assert_eq!(got, expected[..got.len()]);
    assert!(got.iter().all(|event| event.len() <= limit));
    match end {
        Ok(()) => assert_eq!(got, expected),
        Err(TooLong(found)) => assert!(found == limit && sent.len() > limit),
    }
}

/// The events of pieces, and how reading them ended.
fn read(limit: usize, pieces: &[&[u8]]) -> (Vec<Vec<u8>>, Result<(), TooLong>) {
    let mut events = Events::new(limit);
    let mut got = Vec::new();
    let end = pieces
        .iter()
        .try_for_each(|piece| events.push(piece, |event| got.extend(event.is_message().then(|| event.data.to_vec()))));
    (got, end)
}

/// A second implementation of the standard, independent of the code under test.
fn reference(sent: &[u8]) -> Vec<Vec<u8>> {
    let text: Vec<u8> = sent.strip_prefix(b"\xef\xbb\xbf").unwrap_or(sent).to_vec();
    let mut plain = Vec::new();
    for (at, byte) in text.iter().enumerate() {
        match byte {
            b'\n' if at > 0 && text[at - 1] == b'\r' => {}
            b'\r' => plain.push(b'\n'),
            other => plain.push(*other),
        }
    }
    let mut lines: Vec<&[u8]> = plain.split(|byte| *byte == b'\n').collect();
    // Text after the last line break is not a line yet.
    lines.pop();
    let mut events = Vec::new();
    for block in lines.split_inclusive(|line| line.is_empty()) {
        let Some((&[], fields)) = block.split_last().map(|(last, fields)| (*last, fields)) else { break };
        let mut data: Vec<&[u8]> = Vec::new();
        let mut kind: &[u8] = b"";
        for line in fields {
            let at = line.iter().position(|byte| *byte == b':');
            let (name, value) = at.map_or((*line, &b""[..]), |at| (&line[..at], &line[at + 1..]));
            let value = value.strip_prefix(b" ").unwrap_or(value);
            match name {
                b"data" => data.push(value),
                b"event" => kind = value,
                _ => {}
            }
        }
        if !data.is_empty() && matches!(kind, b"" | b"message") {
            events.push(data.join(&b'\n'));
        }
    }
    events
}

/// The result of a future that never waits.
fn ready<T>(future: impl Future<Output = T>) -> T {
    match pin!(future).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(answer) => answer,
        Poll::Pending => panic!("a reader waits although there is something to read"),
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt as _, BufReader};

    use super::*;

    const SENT: [&str; 9] = [
        "",
        "{\"jsonrpc\":\"2.0\",\"id\":1}\n{\"id\":2}\r\n\n\nlast",
        "\n\n\n",
        "data: one\n\ndata:two\r\n\r\nevent: ping\rdata: x\r\r",
        "\u{feff}data\ndata: \ndata:  three\n\n: note\n\nid: 7\nevent: message\ndata: é\n\n",
        "event: message\r\ndata: {\r\ndata: }\r\n\r\n",
        "data: a\r\n\rdata: b\n\r\ndata: c\r\r\n",
        "event: message\nevent: other\ndata: 1\n\nevent\ndata: 2\n\nDATA: 3\n\n data: 4\n\n",
        "data: no end\ndata: of it\n",
    ];

    #[test]
    fn lines_and_events_are_the_same_wherever_two_cuts_are_made() {
        for sent in SENT {
            let sent = sent.as_bytes();
            for first in 0..=sent.len() {
                for second in first..=sent.len() {
                    let pieces = [&sent[..first], &sent[first..second], &sent[second..]];
                    for limit in [0, 1, 9, 1_000] {
                        let arriving = pieces[0].chain(pieces[1]).chain(pieces[2]);
                        lines(sent, limit, BufReader::new(arriving));
                        events(sent, limit, pieces.into_iter());
                    }
                }
            }
        }
    }

    #[test]
    fn the_reference_follows_the_standard() {
        let cases: [(&str, &[&str]); 5] = [
            ("data: one\n\ndata:two\n\n", &["one", "two"]),
            ("data\n\ndata\ndata\n\ndata:", &["", "\n"]),
            (": comment\ndata: a\nevent: message\n\nevent: x\ndata: b\n\n", &["a"]),
            ("data: a\r\rdata: b\r\n\r\n", &["a", "b"]),
            ("\u{feff}data: a\n\n\u{feff}data: b\n\n", &["a"]),
        ];
        for (sent, expected) in cases {
            let expected: Vec<Vec<u8>> = expected.iter().map(|event| event.as_bytes().to_vec()).collect();
            assert_eq!(reference(sent.as_bytes()), expected, "{sent:?}");
        }
    }
}
