//! Bodies on their way through a proxy: as much of one as is kept, and one that is watched while it passes.

use std::error::Error;
use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use http_body_util::BodyExt as _;
use hyper::body::{Body, Frame, Incoming, SizeHint};

use super::model::innermost;

/// Reads a body up to its end or beyond `limit`. The rest is returned if there may be more. `None` if the sender left.
pub(super) async fn collect(mut body: Incoming, limit: usize) -> Option<(Vec<u8>, Option<Incoming>)> {
    let mut whole = Vec::new();
    while let Some(frame) = body.frame().await {
        whole.extend_from_slice(frame.ok()?.data_ref().map_or(&[], Bytes::as_ref));
        if whole.len() > limit {
            return Some((whole, Some(body)));
        }
    }
    Some((whole, None))
}

/// A body whose beginning has been read.
pub(super) struct Resumed {
    pub(super) first: Option<Bytes>,
    pub(super) rest: Incoming,
}

impl Body for Resumed {
    type Data = Bytes;
    type Error = hyper::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, hyper::Error>>> {
        match self.first.take() {
            Some(first) => Poll::Ready(Some(Ok(Frame::data(first)))),
            None => Pin::new(&mut self.rest).poll_frame(context),
        }
    }

    fn size_hint(&self) -> SizeHint {
        let first = self.first.as_ref().map_or(0, |first| first.len() as u64);
        self.rest.size_hint().exact().map_or_else(SizeHint::default, |rest| SizeHint::with_exact(first + rest))
    }
}

/// A body that breaks off: a stream after some events, any other body in its middle.
pub(super) struct Cut<B> {
    body: B,
    /// The events that still pass.
    events: u64,
    is_over: bool,
}

/// A fault broke a body off.
#[derive(Debug, thiserror::Error)]
#[error("cut off by an injected fault")]
pub(super) struct CutOff;

impl<B> Cut<B> {
    pub(super) fn new(body: B, events: u64) -> Self {
        Self { body, events, is_over: false }
    }

    /// The part of a chunk that still passes.
    fn pass(&mut self, chunk: &Bytes) -> Bytes {
        let ends =
            (1..=chunk.len()).filter(|end| chunk[..*end].ends_with(b"\n\n") || chunk[..*end].ends_with(b"\r\n\r\n"));
        let (mut count, mut last) = (0, None);
        for end in ends {
            count += 1;
            if count == self.events {
                last = Some(end);
                break;
            }
        }
        let is_stream = count > 0 || chunk.starts_with(b"event:") || chunk.starts_with(b"data:");
        match last {
            Some(end) => {
                self.is_over = true;
                chunk.slice(..end)
            }
            None if is_stream => {
                self.events -= count;
                chunk.clone()
            }
            None => {
                self.is_over = true;
                chunk.slice(..chunk.len() / 2)
            }
        }
    }
}

impl<B: Body<Data = Bytes> + Unpin> Body for Cut<B> {
    type Data = Bytes;
    type Error = CutOff;

    fn poll_frame(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, CutOff>>> {
        if self.is_over {
            return Poll::Ready(Some(Err(CutOff)));
        }
        match Pin::new(&mut self.body).poll_frame(context) {
            Poll::Pending => Poll::Pending,
            Poll::Ready(Some(Ok(frame))) => match frame.into_data() {
                Ok(data) => Poll::Ready(Some(Ok(Frame::data(self.pass(&data))))),
                Err(_) => Poll::Ready(Some(Err(CutOff))),
            },
            // In every case the program must not see a regular end.
            Poll::Ready(_) => Poll::Ready(Some(Err(CutOff))),
        }
    }
}

/// Watches a body. It is dropped with the body, without [`end`](Self::end) if the receiver left.
pub(super) trait Tap: Unpin {
    fn chunk(&mut self, chunk: &[u8]);

    /// The body is complete, or broke off for this reason. It is called once.
    fn end(&mut self, broken: Option<String>);
}

/// A body that is watched.
pub(super) struct Tapped<B, T> {
    body: B,
    tap: T,
    is_done: bool,
}

impl<B: Body, T: Tap> Tapped<B, T> {
    pub(super) fn new(body: B, tap: T) -> Self {
        let mut tapped = Self { body, tap, is_done: false };
        tapped.end_if_complete();
        tapped
    }

    /// A body of known length is not polled beyond it, so its end is detected here.
    fn end_if_complete(&mut self) {
        if self.body.is_end_stream() || self.body.size_hint().exact() == Some(0) {
            self.end(None);
        }
    }

    fn end(&mut self, broken: Option<String>) {
        if !std::mem::replace(&mut self.is_done, true) {
            self.tap.end(broken);
        }
    }
}

impl<B, T> Body for Tapped<B, T>
where
    B: Body<Data = Bytes> + Unpin,
    B::Error: Error + Send + Sync + 'static,
    T: Tap,
{
    type Data = Bytes;
    type Error = Box<dyn Error + Send + Sync>;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Self::Error>>> {
        let polled = Pin::new(&mut self.body).poll_frame(context);
        match &polled {
            Poll::Pending => {}
            Poll::Ready(None) => self.end(None),
            Poll::Ready(Some(Ok(frame))) => {
                if let Some(data) = frame.data_ref() {
                    self.tap.chunk(data);
                }
                self.end_if_complete();
            }
            Poll::Ready(Some(Err(error))) => {
                let why = innermost(error);
                self.end(Some(why));
            }
        }
        polled.map(|frame| frame.map(|frame| frame.map_err(Into::into)))
    }

    fn is_end_stream(&self) -> bool {
        self.is_done
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}
