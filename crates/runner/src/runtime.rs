//! Async runtimes for connections to servers and for signals. Building one fails when the system is out of resources; it never
//! panics and starts no thread.

use std::io;

use tokio::runtime::{Builder, Runtime};

/// Builds a runtime that runs on the threads that block on it. A thread pool would panic when no thread can be started.
pub fn build() -> io::Result<Runtime> {
    has_room()?;
    Builder::new_current_thread().enable_all().build()
}

/// Open files that a runtime needs, plus a margin. The first runtime of a process opens a pair of sockets for signals, and
/// tokio panics when it cannot.
#[cfg(unix)]
const OPEN_FILES: usize = 8;

/// Fails when that many files cannot be opened. The limit is per process, so other programs do not use up what was found.
#[cfg(unix)]
fn has_room() -> io::Result<()> {
    use std::os::fd::{AsFd as _, OwnedFd};
    let input = io::stdin();
    (0..OPEN_FILES).map(|_| input.as_fd().try_clone_to_owned()).collect::<io::Result<Vec<OwnedFd>>>().map(drop)
}

/// Other systems have no such limit.
#[cfg(not(unix))]
fn has_room() -> io::Result<()> {
    Ok(())
}
