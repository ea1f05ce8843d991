//! The command that is recorded. It keeps its standard error, its output is passed on, and its process group ends with it.

use std::io::{self, ErrorKind, IsTerminal as _, Write};
use std::process::{ExitStatus, Stdio};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use tokio::sync::oneshot;
use tokio::time::timeout;

use super::capture::{Capture, MAX_KEPT};
use crate::clock::Stopwatch;
use crate::interrupt::Interrupt;
use crate::process::{Foreground, Launch, Processes, SpawnError};

/// How long the rest of its output may take to arrive after the exit. A process that left the group can keep the pipe open
/// forever.
const DRAIN_GRACE: Duration = Duration::from_millis(250);

/// A program to be recorded.
#[derive(Debug)]
pub struct Program<'a> {
    pub launch: Launch,
    pub processes: &'a Processes,
    pub interrupt: &'a Interrupt,
}

/// How a program ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Exit {
    Code(i32),
    Signal(i32),
    Unknown,
}

impl Exit {
    /// The exit code that a shell would report.
    pub fn code(self) -> u8 {
        match self {
            Self::Code(code) => u8::try_from(code & 0xff).unwrap_or(1),
            Self::Signal(signal) => u8::try_from(128 + signal).unwrap_or(u8::MAX),
            Self::Unknown => 1,
        }
    }
}

/// A program that ended.
#[derive(Debug)]
pub struct Finished {
    pub exit: Exit,
    /// Its standard output; `None` if it was too much to keep.
    pub stdout: Option<Vec<u8>>,
    /// Whether it was stopped before it had ended by itself.
    pub was_stopped: bool,
    pub duration_ms: u64,
}

#[derive(Debug, thiserror::Error)]
pub enum ProgramError {
    #[error(transparent)]
    Spawn(#[from] SpawnError),
    #[error("cannot start: {0}")]
    Resources(#[from] io::Error),
}

impl Program<'_> {
    /// Runs it to its end. `out` gets its standard output as it arrives.
    pub async fn run(&self, out: impl Write + Send + 'static) -> Result<Finished, ProgramError> {
        let watch = Stopwatch::start();
        // A background process that reads from a terminal is stopped by the system.
        let stdin = if io::stdin().is_terminal() { Stdio::null() } else { Stdio::inherit() };
        let (reader, writer) = io::pipe()?;
        let capture = Arc::new(Mutex::new(Some(Capture::new(MAX_KEPT))));
        let (done, is_done) = oneshot::channel();
        let kept = Arc::clone(&capture);
        // A thread of its own: whoever reads our output may stop reading, and the proxies must go on.
        thread::Builder::new().spawn(move || {
            copy(reader, out, &kept);
            let _ = done.send(());
        })?;
        let child = Foreground::spawn(&self.launch, stdin, writer.into(), self.processes)?;
        let (status, was_stopped) = tokio::select! {
            biased;
            status = child.exited() => (status, self.interrupt.is_set()),
            () = self.interrupt.wait() => {
                child.end().await;
                (child.exited().await, true)
            }
        };
        let duration_ms = watch.ms();
        let _ = timeout(DRAIN_GRACE, is_done).await;
        let capture = capture.lock().unwrap_or_else(PoisonError::into_inner).take();
        let stdout = capture.and_then(|capture| capture.finish().ok());
        Ok(Finished { exit: status.map_or(Exit::Unknown, exit), stdout, was_stopped, duration_ms })
    }
}

fn copy(mut from: impl io::Read, mut to: impl Write, capture: &Mutex<Option<Capture>>) {
    let mut chunk = vec![0; 64 << 10];
    loop {
        let count = match from.read(&mut chunk) {
            Ok(0) => return,
            Ok(count) => count,
            Err(error) if error.kind() == ErrorKind::Interrupted => continue,
            Err(_) => return,
        };
        if let Some(capture) = &mut *capture.lock().unwrap_or_else(PoisonError::into_inner) {
            capture.push(&chunk[..count]);
        }
        // Dropping the pipe tells the program that nobody reads its output any more.
        if to.write_all(&chunk[..count]).and_then(|()| to.flush()).is_err() {
            return;
        }
    }
}

#[cfg(unix)]
fn exit(status: ExitStatus) -> Exit {
    use std::os::unix::process::ExitStatusExt as _;
    match (status.code(), status.signal()) {
        (Some(code), _) => Exit::Code(code),
        (None, Some(signal)) => Exit::Signal(signal),
        (None, None) => Exit::Unknown,
    }
}

#[cfg(not(unix))]
fn exit(status: ExitStatus) -> Exit {
    status.code().map_or(Exit::Unknown, Exit::Code)
}
