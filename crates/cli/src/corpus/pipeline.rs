//! Threads: one splits sources into jobs, several execute them, and the caller takes the results in the order of the input.
//!
//! The number of jobs in progress is limited, so memory does not depend on the size of the input, and a slow consumer slows down
//! reading.

use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, channel, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

use super::feed::ReadOptions;
use super::job::{Job, Payload};
use super::source::Source;

/// Reads all sources. `work` runs on many threads, `done` on the caller's, in order; it may stop early.
pub(crate) fn run<T: Send>(
    sources: &[Source],
    reading: &ReadOptions,
    threads: usize,
    progress: &Arc<AtomicU64>,
    work: &(dyn Fn(&Job) -> T + Sync),
    done: &mut dyn FnMut(T) -> ControlFlow<()>,
) {
    let under_way = threads + 2;
    let is_over = AtomicBool::new(false);
    let (permit, permits) = sync_channel::<()>(under_way);
    let (give, jobs) = sync_channel::<(u64, Job)>(under_way);
    let (result, results) = channel::<(u64, T)>();
    let (used, recycled) = channel::<String>();
    let jobs = Mutex::new(jobs);
    thread::scope(|scope| {
        let is_over = &is_over;
        let jobs = &jobs;
        let mut workers = 0;
        while workers < threads {
            let (result, used) = (result.clone(), used.clone());
            let worker = thread::Builder::new().spawn_scoped(scope, move || {
                loop {
                    let job = jobs.lock().unwrap_or_else(PoisonError::into_inner).recv();
                    let Ok((at, job)) = job else { break };
                    let answer = work(&job);
                    // A buffer that is not reused is dropped.
                    if let Payload::Records { batch, .. } = job.what {
                        let _ = used.send(batch.text);
                    }
                    if result.send((at, answer)).is_err() {
                        break;
                    }
                }
            });
            if worker.is_err() {
                break;
            }
            workers += 1;
        }
        drop((result, used));
        let feeder = move || feed(sources, reading, progress, is_over, &permit, &give, &recycled);
        if workers == 0 || thread::Builder::new().spawn_scoped(scope, feeder).is_err() {
            // No threads can be started.
            return alone(sources, reading, progress, work, done);
        }
        collect(&results, &permits, &mut |answer| {
            let flow = done(answer);
            if flow.is_break() {
                is_over.store(true, Ordering::Relaxed);
            }
            flow
        });
        drop((results, permits));
    });
}

/// Reads all sources on this thread.
fn alone<T>(
    sources: &[Source],
    reading: &ReadOptions,
    progress: &Arc<AtomicU64>,
    work: &(dyn Fn(&Job) -> T + Sync),
    done: &mut dyn FnMut(T) -> ControlFlow<()>,
) {
    let mut put = |job: Job| done(work(&job)).is_continue();
    for source in sources {
        if !reading.feed(source, progress, &|| None, &mut put) {
            break;
        }
    }
}

/// Splits the sources into jobs while there is room for another.
fn feed(
    sources: &[Source],
    reading: &ReadOptions,
    progress: &Arc<AtomicU64>,
    is_over: &AtomicBool,
    permit: &SyncSender<()>,
    give: &SyncSender<(u64, Job)>,
    recycled: &Receiver<String>,
) {
    let mut at = 0;
    let mut put = |job: Job| {
        // A permit is returned when the result of an earlier job was taken.
        let is_wanted = permit.send(()).is_ok() && !is_over.load(Ordering::Relaxed) && give.send((at, job)).is_ok();
        at += 1;
        is_wanted
    };
    for source in sources {
        if !reading.feed(source, progress, &|| recycled.try_recv().ok(), &mut put) {
            break;
        }
    }
}

/// Takes the results in the order of their jobs.
fn collect<T>(results: &Receiver<(u64, T)>, permits: &Receiver<()>, done: &mut dyn FnMut(T) -> ControlFlow<()>) {
    let mut early: BTreeMap<u64, T> = BTreeMap::new();
    let mut next = 0;
    let mut is_over = false;
    for (at, answer) in results {
        early.insert(at, answer);
        while let Some(answer) = early.remove(&next) {
            next += 1;
            is_over = is_over || done(answer).is_break();
            let _ = permits.try_recv();
        }
    }
}
