//! The only place in this crate that reads the time: the clock of the runtime, which tests can pause.

use tokio::time::Instant;

pub(crate) fn now() -> Instant {
    Instant::now()
}
