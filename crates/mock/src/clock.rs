//! The only place of this crate that knows the time: the clock of the runtime, which tests can stop.

use tokio::time::Instant;

/// Now, by the clock of the runtime.
pub(crate) fn now() -> Instant {
    Instant::now()
}
