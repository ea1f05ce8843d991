//! The only place in these tests that reads the clock: limits that a quadratic algorithm would exceed by far.
#![expect(clippy::disallowed_types, reason = "core has no clock, so a test that bounds its time brings one")]

use std::time::{Duration, Instant};

/// Runs something that must end long before this time, even on a busy machine.
#[track_caller]
pub(crate) fn within<T>(limit: Duration, what: &str, work: impl FnOnce() -> T) -> T {
    let started = Instant::now();
    let made = work();
    let took = started.elapsed();
    assert!(took < limit, "{took:?} for {what}, at most {limit:?}");
    made
}
