//! Ctrl-C, SIGTERM and SIGHUP: the first lets runs finish; the second ends everything immediately, and so does the first if
//! runs do not end in time. Also turns SIGXFSZ into a write error.

use std::io::Write;
use std::thread;
use std::time::Duration;

use mcptest_core::diag::{Code, Failure};
use mcptest_runner::interrupt::Interrupt;
use mcptest_runner::process::Processes;
use mcptest_runner::runtime;

use crate::exit;

#[derive(Debug, Default, Clone)]
pub(crate) struct Signals {
    pub(crate) interrupt: Interrupt,
    pub(crate) processes: Processes,
}

/// How long everything may take to end after the first signal. Ending servers takes less; writing a report to a blocked pipe
/// would take forever.
const GRACE: Duration = Duration::from_secs(5);

enum WaitResult {
    Signal,
    Timeout,
    /// Signals cannot be received.
    Nothing,
}

impl Signals {
    /// Waits for signals on its own thread, for the life of the program. If no thread can be started, a signal ends the program at
    /// once.
    pub(crate) fn listen(&self) {
        let all = self.clone();
        listen(move |wait| {
            if !matches!(wait(None), WaitResult::Signal) {
                return;
            }
            all.interrupt.set();
            let code = match wait(Some(GRACE)) {
                WaitResult::Signal => exit::INTERRUPTED,
                WaitResult::Nothing => return,
                WaitResult::Timeout => {
                    let error = Failure::error((), "stopped: the runs did not end in time").code(Code::RunStopped);
                    // If standard error is closed too, only the exit code is left.
                    let _ = writeln!(std::io::stderr(), "{error}");
                    exit::ERROR
                }
            };
            if let Ok(runtime) = runtime::build() {
                runtime.block_on(all.processes.end_all());
            }
            leave(code);
        });
    }
}

/// Runs `job` on its own thread with a function that waits for the next signal.
#[cfg(unix)]
fn listen(job: impl FnOnce(&mut dyn FnMut(Option<Duration>) -> WaitResult) + Send + 'static) {
    use std::io::{ErrorKind, Read};
    use std::os::unix::net::UnixStream;

    use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
    use signal_hook::low_level::pipe;

    let Ok((mut receiver, sender)) = UnixStream::pair() else { return };
    let mut wait = move |limit: Option<Duration>| {
        if receiver.set_read_timeout(limit).is_err() {
            return WaitResult::Nothing;
        }
        match receiver.read(&mut [0]) {
            Ok(1..) => WaitResult::Signal,
            Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => WaitResult::Timeout,
            Ok(0) | Err(_) => WaitResult::Nothing,
        }
    };
    // Without the thread nothing would handle a signal, so the handlers are installed after it has started.
    if thread::Builder::new().spawn(move || job(&mut wait)).is_ok()
        && let (Ok(second), Ok(third)) = (sender.try_clone(), sender.try_clone())
    {
        let _ = pipe::register(SIGINT, sender);
        let _ = pipe::register(SIGTERM, second);
        // Under `nohup` a command continues when its terminal is closed.
        if !is_ignored(SIGHUP) {
            let _ = pipe::register(SIGHUP, third);
        }
    }
}

/// Whether this program was started with a signal ignored. If the system does not show it, it counts as ignored.
#[cfg(unix)]
fn is_ignored(signal: i32) -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| u64::from_str_radix(line.strip_prefix("SigIgn:")?.trim(), 16).ok());
    mask.is_none_or(|mask| mask >> (signal - 1) & 1 == 1)
}

/// Runs `job` on its own thread with a function that waits for the next Ctrl-C.
#[cfg(not(unix))]
fn listen(job: impl FnOnce(&mut dyn FnMut(Option<Duration>) -> WaitResult) + Send + 'static) {
    use tokio::signal::ctrl_c;
    use tokio::time::timeout;

    let Ok(runtime) = runtime::build() else { return };
    let wait_result =
        |result: std::io::Result<()>| if result.is_ok() { WaitResult::Signal } else { WaitResult::Nothing };
    let mut wait = move |limit: Option<Duration>| {
        runtime.block_on(async {
            match limit {
                None => wait_result(ctrl_c().await),
                Some(limit) => timeout(limit, ctrl_c()).await.map_or(WaitResult::Timeout, wait_result),
            }
        })
    };
    let _ = thread::Builder::new().spawn(move || job(&mut wait));
}

/// Turns a file that grows beyond the file size limit (`ulimit -f`) into a write error. By default SIGXFSZ ends the program
/// without a message and leaves a half-written temporary file. Without a limit there is nothing to do.
#[cfg(unix)]
pub(crate) fn ignore_sigxfsz() {
    use std::sync::Arc;
    use std::sync::atomic::AtomicBool;

    use rustix::process::{Resource, getrlimit};
    if getrlimit(Resource::Fsize).current.is_some() {
        // The flag is never read; a handler is enough. Child processes do not inherit it.
        let _ = signal_hook::flag::register(signal_hook::consts::SIGXFSZ, Arc::new(AtomicBool::new(false)));
    }
}

/// There is no such signal.
#[cfg(not(unix))]
pub(crate) fn ignore_sigxfsz() {}

#[expect(clippy::exit, reason = "the user wants an end, and the threads that could return may hang")]
fn leave(code: u8) {
    std::process::exit(i32::from(code));
}
