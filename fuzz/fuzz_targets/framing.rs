//! Any bytes, cut at any places: lines of a server, events of a stream and lines of a client are the same however they
//! arrive. The first byte is the limit, the second says how many bytes follow that are lengths of pieces.
//!
//! The readers are private, so their files are included. The property is in `crates/runner/src/mcp/invariants.rs` and
//! `crates/mock/src/stdio/invariants.rs`.
#![no_main]
#![expect(dead_code, reason = "what sends, and tasks that read, are not tried here")]

#[path = "../../crates/runner/src/mcp/events.rs"]
mod events;
#[path = "../../crates/runner/src/mcp/invariants.rs"]
mod invariants;
#[path = "../../crates/runner/src/mcp/lines.rs"]
mod lines;

#[path = "framing/exchange.rs"]
mod exchange;
#[path = "framing/mock.rs"]
mod mock;

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};

use libfuzzer_sys::fuzz_target;
use tokio::io::{AsyncRead, BufReader, ReadBuf};

fuzz_target!(|bytes: &[u8]| {
    let [limit, count, rest @ ..] = bytes else { return };
    let (lengths, sent) = rest.split_at(usize::from(count % 8).min(rest.len()));
    let limit = usize::from(*limit) * 4;
    let pieces = || Pieces { left: sent, lengths, at: 0 };
    invariants::lines(sent, limit, BufReader::new(pieces()));
    invariants::events(sent, limit, pieces());
    mock::invariants::lines(sent, limit, pieces());
});

/// Bytes that arrive in pieces of these lengths, again and again.
struct Pieces<'a> {
    left: &'a [u8],
    lengths: &'a [u8],
    at: usize,
}

impl<'a> Pieces<'a> {
    fn piece(&mut self, most: usize) -> &'a [u8] {
        let length = self.lengths.get(self.at % self.lengths.len().max(1)).map_or(1, |length| usize::from(*length) + 1);
        self.at += 1;
        let (piece, left) = self.left.split_at(length.min(most).min(self.left.len()));
        self.left = left;
        piece
    }
}

impl<'a> Iterator for Pieces<'a> {
    type Item = &'a [u8];

    fn next(&mut self) -> Option<&'a [u8]> {
        Some(self.piece(usize::MAX)).filter(|piece| !piece.is_empty())
    }
}

impl AsyncRead for Pieces<'_> {
    fn poll_read(mut self: Pin<&mut Self>, _: &mut Context<'_>, to: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let piece = self.piece(to.remaining());
        to.put_slice(piece);
        Poll::Ready(Ok(()))
    }
}
