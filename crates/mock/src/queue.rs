//! A queue between two tasks that holds a bounded number of bytes, however many or few items they are.

use std::sync::Arc;

use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc};

/// What an item costs beside its bytes, so that empty ones are bounded too.
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

/// Nobody takes items out any more.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Closed;

/// A queue for so many bytes. An item that is larger waits until it is alone.
pub(crate) fn queue<T>(capacity: u32) -> (Sender<T>, Receiver<T>) {
    let room = Arc::new(Semaphore::new(capacity as usize));
    let (sender, receiver) = mpsc::unbounded_channel();
    (Sender { room: Arc::clone(&room), capacity, items: sender }, Receiver { room, items: receiver })
}

impl<T> Sender<T> {
    /// Puts an item of this size in, as soon as there is room.
    pub(crate) async fn send(&self, item: T, size: usize) -> Result<(), Closed> {
        let weight = u32::try_from(size.saturating_add(OVERHEAD)).unwrap_or(u32::MAX).min(self.capacity);
        let permit = Arc::clone(&self.room).acquire_many_owned(weight).await.map_err(|_| Closed)?;
        self.items.send((item, permit)).map_err(|_| Closed)
    }

    /// Comes when nobody takes items out any more.
    pub(crate) async fn closed(&self) {
        self.items.closed().await;
    }
}

impl<T> Receiver<T> {
    /// The next item, with its room, which is given back when it is dropped.
    pub(crate) async fn recv(&mut self) -> Option<(T, OwnedSemaphorePermit)> {
        self.items.recv().await
    }

    /// The next item, if there is one already.
    pub(crate) fn try_recv(&mut self) -> Option<(T, OwnedSemaphorePermit)> {
        self.items.try_recv().ok()
    }
}

impl<T> Drop for Receiver<T> {
    /// Whoever waits for room is told that there will be none.
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
