//! The runtimes that talk to servers and wait for signals. Building one fails where the system has nothing left to give; it
//! never panics and starts no thread.

use std::io;

use tokio::runtime::{Builder, Runtime};

/// Builds a runtime that runs on the threads that wait for it. A pool of its own would panic where no thread can be started.
pub fn build() -> io::Result<Runtime> {
    has_room()?;
    Builder::new_current_thread().enable_all().build()
}

/// Open files that a runtime takes, and a few more. The first one in a process opens a pair of sockets for signals, and tokio
/// panics where it cannot.
#[cfg(unix)]
const OPEN_FILES: usize = 8;

/// Fails where that many files cannot be opened. The limit is one of this process, so nobody else takes what was found.
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
