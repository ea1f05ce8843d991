//! The recorded command and its process group, which ends with it. In `mcptest record` it keeps its terminal; in a suite it
//! gets a prompt and its output is captured.

use std::io::{self, ErrorKind, IsTerminal as _, Write};
use std::process::{ExitStatus, Stdio};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use tokio::sync::oneshot;
use tokio::time::{sleep, timeout};

use super::capture::{Capture, MAX_KEPT};
use super::replay::Player;
use crate::clock::Stopwatch;
use crate::interrupt::Interrupt;
use crate::process::{Foreground, Launch, Processes, SpawnError, Tail};

/// How long the rest of its output may take to arrive after the exit. A process that left the group can keep the pipe open
/// forever.
const DRAIN_GRACE: Duration = Duration::from_millis(250);

/// A program to be recorded.
#[derive(Debug)]
pub struct Program<'a> {
    pub launch: Launch,
    pub streams: Streams,
    /// It is stopped after this time.
    pub limit: Option<Duration>,
    /// It is stopped when it diverges from what it is answered from.
    pub player: Option<&'a Player>,
    pub processes: &'a Processes,
    pub interrupt: &'a Interrupt,
}

/// What a program reads, and where its standard error goes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Streams {
    /// Those of mcptest itself.
    Inherited,
    /// It reads only this text. The end of its standard error is kept.
    Kept(String),
}

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

#[derive(Debug)]
pub struct Finished {
    pub exit: Exit,
    /// Its standard output; `None` if it was too much to keep.
    pub stdout: Option<Vec<u8>>,
    /// The end of its standard error, where it is kept.
    pub stderr: String,
    /// Whether it was stopped before it ended on its own.
    pub was_stopped: bool,
    /// Whether it was stopped at its time limit.
    pub timed_out: bool,
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
        let (reader, writer) = io::pipe()?;
        let capture = Arc::new(Mutex::new(Some(Capture::new(MAX_KEPT))));
        let (done, is_done) = oneshot::channel();
        let kept = Arc::clone(&capture);
        // On its own thread: the reader of our output may stop reading, and the proxies must keep working.
        thread::Builder::new().spawn(move || {
            copy(reader, out, &kept);
            let _ = done.send(());
        })?;
        let tail = Arc::new(Mutex::new(Tail::default()));
        let (stdin, stderr, errors_done) = match &self.streams {
            Streams::Inherited => {
                // A background process that reads from a terminal is stopped by the system.
                let stdin = if io::stdin().is_terminal() { Stdio::null() } else { Stdio::inherit() };
                (stdin, Stdio::inherit(), None)
            }
            Streams::Kept(text) => {
                let (stderr, done) = keep(&tail)?;
                (fed(text)?, stderr, Some(done))
            }
        };
        let child = Foreground::spawn(&self.launch, (stdin, writer.into(), stderr), self.processes)?;
        let limit = async {
            match self.limit {
                Some(limit) => sleep(limit).await,
                None => std::future::pending().await,
            }
        };
        let diverged = async {
            match self.player {
                Some(player) => player.diverged().await,
                None => std::future::pending().await,
            }
        };
        let (mut was_stopped, mut timed_out) = (false, false);
        let status = tokio::select! {
            biased;
            status = child.exited() => {
                was_stopped = self.interrupt.is_set();
                status
            }
            () = self.interrupt.wait() => {
                was_stopped = true;
                child.end().await;
                child.exited().await
            }
            () = diverged => {
                child.end().await;
                child.exited().await
            }
            () = limit => {
                timed_out = true;
                child.end().await;
                child.exited().await
            }
        };
        let duration_ms = watch.ms();
        let _ = timeout(DRAIN_GRACE, is_done).await;
        if let Some(done) = errors_done {
            let _ = timeout(DRAIN_GRACE, done).await;
        }
        let capture = capture.lock().unwrap_or_else(PoisonError::into_inner).take();
        let stdout = capture.and_then(|capture| capture.finish().ok());
        let stderr = tail.lock().unwrap_or_else(PoisonError::into_inner).text();
        let exit = status.map_or(Exit::Unknown, exit);
        Ok(Finished { exit, stdout, stderr, was_stopped, timed_out, duration_ms })
    }
}

/// A pipe from which this text can be read.
fn fed(text: &str) -> io::Result<Stdio> {
    if text.is_empty() {
        return Ok(Stdio::null());
    }
    let (reader, mut writer) = io::pipe()?;
    let text = text.to_owned();
    // A program that does not read its input must not block anything. The thread ends with the program.
    thread::Builder::new().spawn(move || {
        let _ = writer.write_all(text.as_bytes());
    })?;
    Ok(reader.into())
}

/// A pipe whose last bytes are kept, and a signal that it was read to its end.
fn keep(tail: &Arc<Mutex<Tail>>) -> io::Result<(Stdio, oneshot::Receiver<()>)> {
    let (mut reader, writer) = io::pipe()?;
    let (done, is_done) = oneshot::channel();
    let tail = Arc::clone(tail);
    thread::Builder::new().spawn(move || {
        let mut chunk = vec![0; 8 << 10];
        while let Ok(count @ 1..) = io::Read::read(&mut reader, &mut chunk) {
            tail.lock().unwrap_or_else(PoisonError::into_inner).push(&chunk[..count]);
        }
        let _ = done.send(());
    })?;
    Ok((writer.into(), is_done))
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
        // Dropping the pipe signals the program that its output is no longer read.
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
