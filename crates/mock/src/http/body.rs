//! Response bodies: complete ones, and floods that are generated while they are sent.

use std::convert::Infallible;
use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use hyper::body::{Frame, SizeHint};

use crate::protocol::{FLOOD_PIECE, Flood, PIECES_PER_MIB};

/// The body of a response, sent piece by piece.
#[derive(Debug)]
pub(super) struct Body {
    head: Bytes,
    /// Remaining pieces of the flood.
    pieces: u64,
    tail: Bytes,
}

impl Body {
    pub(super) fn whole(bytes: impl Into<Bytes>) -> Self {
        Self { head: bytes.into(), pieces: 0, tail: Bytes::new() }
    }

    pub(super) fn flood(flood: Flood) -> Self {
        Self { head: flood.head.into(), pieces: flood.mib * PIECES_PER_MIB, tail: flood.tail.into() }
    }

    fn next(&mut self) -> Option<Bytes> {
        if !self.head.is_empty() {
            return Some(std::mem::take(&mut self.head));
        }
        if let Some(left) = self.pieces.checked_sub(1) {
            self.pieces = left;
            return Some(Bytes::from_static(FLOOD_PIECE));
        }
        (!self.tail.is_empty()).then(|| std::mem::take(&mut self.tail))
    }
}

impl hyper::body::Body for Body {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        Poll::Ready(self.next().map(|bytes| Ok(Frame::data(bytes))))
    }

    fn is_end_stream(&self) -> bool {
        self.head.is_empty() && self.pieces == 0 && self.tail.is_empty()
    }

    fn size_hint(&self) -> SizeHint {
        let flood = self.pieces * FLOOD_PIECE.len() as u64;
        SizeHint::with_exact(flood + (self.head.len() + self.tail.len()) as u64)
    }
}
