//! Work on several threads, with results in order.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError, mpsc};
use std::thread;

/// Does the work for every item and hands over the results in the order of the items. Without threads, this one does it.
pub(super) fn in_order<T: Send, R: Send>(
    items: Vec<T>,
    threads: usize,
    work: &(dyn Fn(T) -> R + Sync),
    done: &mut dyn FnMut(R),
) {
    let wanted = threads.min(items.len());
    let items = Mutex::new(items.into_iter().enumerate());
    let next = || items.lock().unwrap_or_else(PoisonError::into_inner).next();
    let next = &next;
    let (send, receive) = mpsc::channel();
    thread::scope(|scope| {
        let mut started = 0;
        // One item needs no thread.
        while started < wanted && wanted > 1 {
            let send = send.clone();
            let job = move || {
                while let Some((at, item)) = next() {
                    if send.send((at, work(item))).is_err() {
                        break;
                    }
                }
            };
            if thread::Builder::new().spawn_scoped(scope, job).is_err() {
                break;
            }
            started += 1;
        }
        drop(send);
        if started == 0 {
            while let Some((_, item)) = next() {
                done(work(item));
            }
        }
        let (mut early, mut next) = (BTreeMap::new(), 0);
        for (at, result) in receive {
            early.insert(at, result);
            while let Some(result) = early.remove(&next) {
                next += 1;
                done(result);
            }
        }
    });
}
