//! Response bodies that are written while they are sent.

use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use hyper::body::Frame;
use tokio::sync::mpsc;

use super::pipe::Piece;

/// A body that ends with its channel.
pub(super) struct Frames(mpsc::Receiver<Bytes>);

impl Frames {
    pub(super) fn new(parts: mpsc::Receiver<Bytes>) -> Self {
        Self(parts)
    }
}

impl hyper::body::Body for Frames {
    type Data = Bytes;
    type Error = Box<dyn std::error::Error + Send + Sync>;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Self::Error>>> {
        self.0.poll_recv(context).map(|part| part.map(|part| Ok(Frame::data(part))))
    }
}

/// Writes a message as an event. Returns whether the client still reads.
pub(super) async fn event(piece: Piece, out: &mpsc::Sender<Bytes>) -> bool {
    const START: &[u8] = b"event: message\ndata: ";
    const END: &[u8] = b"\n\n";
    match piece {
        Piece::Message { text, .. } => out.send(Bytes::from([START, &text, END].concat())).await.is_ok(),
        Piece::Long { mut parts, .. } => {
            let mut is_open = out.send(Bytes::from_static(START)).await.is_ok();
            while let Some(part) = parts.recv().await {
                is_open = is_open && out.send(part).await.is_ok();
            }
            is_open && out.send(Bytes::from_static(END)).await.is_ok()
        }
    }
}
