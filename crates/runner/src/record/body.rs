//! Bodies of responses that the proxies write themselves.

use std::error::Error;
use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt as _, Full};
use hyper::body::Frame;
use tokio::sync::mpsc;

pub(super) type Body = UnsyncBoxBody<Bytes, Box<dyn Error + Send + Sync>>;

/// The next chunk of a body, its end, or why it breaks off.
pub(super) type Next = Poll<Option<Result<Bytes, Box<dyn Error + Send + Sync>>>>;

/// A body that is known from the start.
pub(super) fn whole(bytes: impl Into<Bytes>) -> Body {
    Full::new(bytes.into()).map_err(|never| match never {}).boxed_unsync()
}

/// A body whose chunks are made while it is sent.
pub(super) fn chunks(next: impl FnMut(&mut Context<'_>) -> Next + Send + Unpin + 'static) -> Body {
    Chunks(next).boxed_unsync()
}

/// A body that ends with its channel.
pub(super) fn channel(mut parts: mpsc::Receiver<Bytes>) -> Body {
    chunks(move |context| parts.poll_recv(context).map(|part| part.map(Ok)))
}

/// A body that breaks off before its first byte.
pub(super) fn broken() -> Body {
    chunks(|_| Poll::Ready(Some(Err("the connection was closed".into()))))
}

struct Chunks<F>(F);

impl<F: FnMut(&mut Context<'_>) -> Next + Unpin> hyper::body::Body for Chunks<F> {
    type Data = Bytes;
    type Error = Box<dyn Error + Send + Sync>;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Self::Error>>> {
        (self.0)(context).map(|chunk| chunk.map(|chunk| chunk.map(Frame::data)))
    }
}
