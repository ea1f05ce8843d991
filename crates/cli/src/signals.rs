//! Ctrl-C and SIGTERM: the first lets runs end in order; the second ends everything at once, and so does the first if runs do
//! not end in time. Also turns SIGXFSZ into a write error.

use std::io::Write;
use std::thread;
use std::time::Duration;

use mcptest_runner::interrupt::Interrupt;
use mcptest_runner::process::Processes;
use mcptest_runner::runtime;
use tokio::time::timeout;

use crate::exit;

#[derive(Debug, Default, Clone)]
pub(crate) struct Signals {
    pub(crate) interrupt: Interrupt,
    pub(crate) processes: Processes,
}

/// How long everything may take to end after the first signal. Ending servers takes less; writing a report to a blocked pipe
/// would take forever.
const GRACE: Duration = Duration::from_secs(5);

impl Signals {
    /// Waits for signals on its own thread, for the life of the program. If no thread can be started, a signal ends the program at
    /// once.
    pub(crate) fn listen(&self) {
        let all = self.clone();
        let Ok(runtime) = runtime::build() else { return };
        let listener = move || {
            runtime.block_on(async {
                if !signal().await {
                    return;
                }
                all.interrupt.set();
                let code = match timeout(GRACE, signal()).await {
                    Ok(true) => exit::INTERRUPTED,
                    Ok(false) => return,
                    Err(_) => {
                        // If standard error is closed too, only the exit code is left.
                        let _ = writeln!(std::io::stderr(), "error: stopped: the runs did not end in time");
                        exit::ERROR
                    }
                };
                all.processes.end_all().await;
                leave(code);
            });
        };
        let _ = thread::Builder::new().spawn(listener);
    }
}

/// Turns a file that grows beyond the file size limit (`ulimit -f`) into a write error. By default SIGXFSZ ends the program
/// without a message and leaves a half-written temporary file. Without a limit there is nothing to do.
#[cfg(unix)]
pub(crate) fn ignore_sigxfsz() {
    use rustix::process::{Resource, Signal, getrlimit};
    use tokio::signal::unix::{SignalKind, signal};
    if getrlimit(Resource::Fsize).current.is_none() {
        return;
    }
    // Registering a handler needs a runtime once; the handler stays. Child processes do not inherit it.
    let Ok(runtime) = runtime::build() else { return };
    let _context = runtime.enter();
    let _ = signal(SignalKind::from_raw(Signal::XFSZ.as_raw()));
}

/// There is no such signal.
#[cfg(not(unix))]
pub(crate) fn ignore_sigxfsz() {}

#[expect(clippy::exit, reason = "the user wants an end, and the threads that could return may hang")]
fn leave(code: u8) {
    std::process::exit(i32::from(code));
}

/// Waits for Ctrl-C or SIGTERM; `false` if that is not possible.
#[cfg(unix)]
async fn signal() -> bool {
    use tokio::signal::unix::{SignalKind, signal};
    let (Ok(mut interrupt), Ok(mut terminate)) = (signal(SignalKind::interrupt()), signal(SignalKind::terminate()))
    else {
        return false;
    };
    tokio::select! {
        told = interrupt.recv() => told.is_some(),
        told = terminate.recv() => told.is_some(),
    }
}

/// Waits for Ctrl-C; `false` if that is not possible.
#[cfg(not(unix))]
async fn signal() -> bool {
    tokio::signal::ctrl_c().await.is_ok()
}
