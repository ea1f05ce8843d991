//! A queue between two tasks, bounded by bytes instead of items.

use std::sync::Arc;

use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc};

/// What an item costs in addition to its bytes, so that empty items are bounded too.
const OVERHEAD: usize = 64;

/// The end that puts items in.
#[derive(Debug)]
pub(crate) struct Sender<T> {
    room: Arc<Semaphore>,
    capacity: u32,
    items: mpsc::UnboundedSender<(T, OwnedSemaphorePermit)>,
}

/// The end that takes items out.
#[derive(Debug)]
pub(crate) struct Receiver<T> {
    room: Arc<Semaphore>,
    items: mpsc::UnboundedReceiver<(T, OwnedSemaphorePermit)>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Closed;

/// A queue of `capacity` bytes. A larger item waits until the queue is empty.
pub(crate) fn queue<T>(capacity: u32) -> (Sender<T>, Receiver<T>) {
    let room = Arc::new(Semaphore::new(capacity as usize));
    let (sender, receiver) = mpsc::unbounded_channel();
    (Sender { room: Arc::clone(&room), capacity, items: sender }, Receiver { room, items: receiver })
}

impl<T> Sender<T> {
    /// Adds an item of this size, as soon as there is room.
    pub(crate) async fn send(&self, item: T, size: usize) -> Result<(), Closed> {
        let weight = u32::try_from(size.saturating_add(OVERHEAD)).unwrap_or(u32::MAX).min(self.capacity);
        let permit = Arc::clone(&self.room).acquire_many_owned(weight).await.map_err(|_| Closed)?;
        self.items.send((item, permit)).map_err(|_| Closed)
    }

    /// Resolves when the receiver is dropped.
    pub(crate) async fn closed(&self) {
        self.items.closed().await;
    }
}

impl<T> Receiver<T> {
    /// The next item, with its permit, which frees its room when dropped.
    pub(crate) async fn recv(&mut self) -> Option<(T, OwnedSemaphorePermit)> {
        self.items.recv().await
    }

    /// The next item, if there is one already.
    pub(crate) fn try_recv(&mut self) -> Option<(T, OwnedSemaphorePermit)> {
        self.items.try_recv().ok()
    }
}

impl<T> Drop for Receiver<T> {
    /// Senders that wait for room get an error.
    fn drop(&mut self) {
        self.room.close();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::future::Future;
    use std::pin::pin;
    use std::task::{Context, Poll, Waker};

    fn poll<F: Future>(future: std::pin::Pin<&mut F>) -> Poll<F::Output> {
        future.poll(&mut Context::from_waker(Waker::noop()))
    }

    #[test]
    fn an_item_waits_for_room_and_a_large_one_until_it_is_alone() {
        let (sender, mut receiver) = queue::<u8>(1000);
        assert_eq!(poll(pin!(sender.send(1, 500))), Poll::Ready(Ok(())));
        let mut large = pin!(sender.send(2, 1_000_000));
        assert_eq!(poll(large.as_mut()), Poll::Pending);
        let taken = receiver.try_recv().unwrap();
        assert_eq!(taken.0, 1);
        assert_eq!(poll(large.as_mut()), Poll::Pending);
        drop(taken);
        assert_eq!(poll(large.as_mut()), Poll::Ready(Ok(())));
        let mut third = pin!(sender.send(3, 0));
        assert_eq!(poll(third.as_mut()), Poll::Pending);
        drop(receiver);
        assert_eq!(poll(third.as_mut()), Poll::Ready(Err(Closed)));
    }
}
