//! The only place that knows the time. Durations are measured while recording, and replayed as they were recorded.

use std::time::{Duration, Instant};

/// A moment to measure from.
#[derive(Debug, Clone, Copy)]
pub struct Stopwatch(Instant);

impl Stopwatch {
    #[expect(clippy::disallowed_methods, reason = "this is the one place that knows the time")]
    pub fn start() -> Self {
        Self(Instant::now())
    }

    /// Whole milliseconds since the start.
    pub fn ms(&self) -> u64 {
        u64::try_from(self.elapsed().as_millis()).unwrap_or(u64::MAX)
    }

    pub fn elapsed(&self) -> Duration {
        self.0.elapsed()
    }
}
