//! Invariants of the lines of a client, regardless of how their bytes are split. The fuzz target `framing` includes this file,
//! so that fuzzing and tests check the same.

use std::pin::pin;
use std::task::{Context, Poll, Waker};

use tokio::io::AsyncRead;

use super::lines::{Line, Lines};

/// Compares the lines that a reader returns with what was sent.
pub(crate) fn lines(sent: &[u8], limit: usize, arriving: impl AsyncRead + Unpin) {
    let mut reader = Lines::with_limit(arriving, limit);
    let mut got = Vec::new();
    while let Some(line) = ready(reader.next()).unwrap() {
        got.push(line);
        assert!(got.len() <= sent.len(), "more lines than bytes");
    }
    let line = |line: &[u8]| match line.trim_ascii() {
        _ if line.len() > limit => Some(Line::TooLong),
        b"" => None,
        trimmed => Some(Line::Whole(trimmed.to_vec())),
    };
    let expected: Vec<Line> = sent.split(|byte| *byte == b'\n').filter_map(line).collect();
    assert_eq!(got, expected);
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
    use tokio::io::AsyncReadExt as _;

    use super::*;

    #[test]
    fn lines_are_the_same_wherever_two_cuts_are_made() {
        for sent in
            ["", "one\ntwo", "\n \r\n\n", " a \r\n\tb\n123456789\n12345678901\nc", "12345678901\n\nx\n", "           "]
        {
            let sent = sent.as_bytes();
            for first in 0..=sent.len() {
                for second in first..=sent.len() {
                    for limit in [0, 1, 10, 1_000] {
                        lines(sent, limit, sent[..first].chain(&sent[first..second]).chain(&sent[second..]));
                    }
                }
            }
        }
    }
}
