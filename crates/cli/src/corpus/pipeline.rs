//! Threads: one splits sources into jobs, several execute them, and the caller takes the results in the order of the input.
//!
//! Small jobs are handed over in bundles. The number of bundles in progress is limited, so memory does not depend on the size of
//! the input, and a slow consumer slows down reading.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, channel, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

use super::feed::ReadOptions;
use super::job::Job;
use super::source::Source;

/// Bytes of a bundle of jobs, unless one job has more.
const BUNDLE: usize = 128 * 1024;

/// Reads all sources. `work` runs on many threads, `done` on the caller's, in order; it may stop early. With one thread that is
/// the caller's: handing over jobs would take more processor time than it saves.
pub(crate) fn run<T: Send>(
    sources: &[Source],
    reading: &ReadOptions,
    threads: usize,
    progress: &Arc<AtomicU64>,
    work: &(dyn Fn(&Job) -> T + Sync),
    done: &mut dyn FnMut(T) -> ControlFlow<()>,
) {
    if threads < 2 {
        return alone(sources, reading, progress, work, done);
    }
    let under_way = threads + 2;
    let is_over = AtomicBool::new(false);
    let (permit, permits) = sync_channel::<()>(under_way);
    let (give, jobs) = sync_channel::<(u64, Vec<Job>)>(under_way);
    let (result, results) = channel::<(u64, Vec<T>)>();
    let (used, recycled) = channel::<Arc<String>>();
    let jobs = Mutex::new(jobs);
    thread::scope(|scope| {
        let is_over = &is_over;
        let jobs = &jobs;
        let mut workers = 0;
        while workers < threads {
            let (result, used) = (result.clone(), used.clone());
            let worker = thread::Builder::new().spawn_scoped(scope, move || {
                loop {
                    let bundle = jobs.lock().unwrap_or_else(PoisonError::into_inner).recv();
                    let Ok((at, bundle)) = bundle else { break };
                    let answers = bundle.into_iter().map(|job| {
                        let answer = work(&job);
                        // A buffer that is not reused is dropped.
                        for buffer in job.buffers() {
                            let _ = used.send(buffer);
                        }
                        answer
                    });
                    if result.send((at, answers.collect())).is_err() {
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
    let used = RefCell::new(Vec::new());
    let mut put = |job: Job| {
        let flow = done(work(&job));
        used.borrow_mut().extend(job.buffers());
        flow.is_continue()
    };
    for source in sources {
        if !reading.feed(source, progress, &|| used.borrow_mut().pop(), &mut put) {
            break;
        }
    }
}

/// Splits the sources into jobs while there is room for another bundle.
fn feed(
    sources: &[Source],
    reading: &ReadOptions,
    progress: &Arc<AtomicU64>,
    is_over: &AtomicBool,
    permit: &SyncSender<()>,
    give: &SyncSender<(u64, Vec<Job>)>,
    recycled: &Receiver<Arc<String>>,
) {
    let (mut at, mut bytes, mut bundle) = (0, 0, Vec::new());
    let mut send = |bundle: Vec<Job>| {
        // A permit is returned when the results of an earlier bundle were taken.
        let is_wanted = permit.send(()).is_ok() && !is_over.load(Ordering::Relaxed) && give.send((at, bundle)).is_ok();
        at += 1;
        is_wanted
    };
    for source in sources {
        // The writer of a pipe may be waiting for the results of what it has sent so far.
        let may_wait = source.size.is_none();
        if may_wait && !bundle.is_empty() {
            bytes = 0;
            if !send(std::mem::take(&mut bundle)) {
                return;
            }
        }
        let mut put = |job: Job| {
            bytes += job.bytes();
            bundle.push(job);
            if bytes < BUNDLE && !may_wait {
                return !is_over.load(Ordering::Relaxed);
            }
            bytes = 0;
            send(std::mem::take(&mut bundle))
        };
        if !reading.feed(source, progress, &|| recycled.try_recv().ok(), &mut put) {
            return;
        }
    }
    if !bundle.is_empty() {
        send(bundle);
    }
}

/// Takes the results in the order of their jobs.
fn collect<T>(results: &Receiver<(u64, Vec<T>)>, permits: &Receiver<()>, done: &mut dyn FnMut(T) -> ControlFlow<()>) {
    let mut early: BTreeMap<u64, Vec<T>> = BTreeMap::new();
    let mut next = 0;
    let mut is_over = false;
    for (at, answers) in results {
        early.insert(at, answers);
        while let Some(answers) = early.remove(&next) {
            next += 1;
            is_over = is_over || answers.into_iter().any(|answer| done(answer).is_break());
            let _ = permits.try_recv();
        }
    }
}
