//! Child processes that are always cleaned up.
//!
//! Every child leads its own process group. The group is always ended with the child: on request, because the child exited,
//! because its handle was dropped (a panic, an aborted task) or because all children are stopped (Ctrl-C). A process that
//! started its own session has left the group and cannot be stopped. Outside Unix there are no process groups, and only the
//! child itself is ended.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::io;
use std::path::{Path, PathBuf};
use std::process::{ExitStatus, Stdio};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::io::AsyncReadExt;
use tokio::process::{ChildStderr, ChildStdin, ChildStdout, Command};
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio::time::{sleep, timeout};

/// How much of a child's standard error is kept.
pub const STDERR_LIMIT: usize = 64 * 1024;

/// How long a child may take to exit after its standard input was closed.
const CLOSE_GRACE: Duration = Duration::from_secs(2);
/// How long it may take after `SIGTERM`.
const TERM_GRACE: Duration = Duration::from_secs(2);
/// How long the kernel may take after `SIGKILL`. A process in an uninterruptible wait may take longer.
const KILL_GRACE: Duration = Duration::from_secs(2);
/// How long the rest of standard error may take to arrive after the exit.
const DRAIN_GRACE: Duration = Duration::from_millis(250);
/// How often `end_all` checks whether the children have exited.
const POLL: Duration = Duration::from_millis(10);

/// How a child is started.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Launch {
    pub argv: Vec<String>,
    /// Variables in addition to the inherited ones.
    pub env: BTreeMap<String, String>,
    /// Working folder; the current one if absent.
    pub cwd: Option<PathBuf>,
}

/// Why a child could not be started.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SpawnError {
    /// There is nothing to run.
    #[error("the command is empty")]
    Empty,
    #[error("program `{0}` not found")]
    NotFound(String),
    #[error("working folder `{}` does not exist", .0.display())]
    NoFolder(PathBuf),
    /// All children are being ended.
    #[error("not started: mcptest is shutting down")]
    Ending,
    #[error("cannot start program `{program}`: {source}")]
    Refused { program: String, source: io::Error },
}

impl SpawnError {
    pub fn hint(&self) -> &'static str {
        match self {
            Self::Empty => "give the program and its arguments as a list, such as [\"npx\", \"-y\", \"some-server\"]",
            Self::NotFound(program) if program.contains('/') => {
                "check the path; a relative path is resolved from the server's working folder"
            }
            Self::NotFound(_) => "install it, or check that its folder is in PATH",
            Self::NoFolder(_) => "check `cwd` of the server",
            Self::Ending => "run the command again",
            Self::Refused { source, .. } => match source.kind() {
                io::ErrorKind::WouldBlock => "stop other programs, or raise the limit on processes (`ulimit -u`)",
                io::ErrorKind::OutOfMemory => "stop other programs, or raise the limit on memory (`ulimit -v`)",
                _ => "check that the file is executable",
            },
        }
    }
}

/// The running children, so that all of them can be ended at once. Clones share one list.
#[derive(Debug, Clone, Default)]
pub struct Processes {
    list: Arc<Mutex<List>>,
}

#[derive(Debug, Default)]
struct List {
    ending: bool,
    groups: BTreeSet<u32>,
}

impl Processes {
    /// Ends every child with its descendants, first with `SIGTERM`, then with `SIGKILL`, and prevents new ones from
    /// starting. Returns within a few seconds, when all have exited.
    pub async fn end_all(&self) {
        lock(&self.list).ending = true;
        for (name, grace) in [(Signal::Term, TERM_GRACE), (Signal::Kill, KILL_GRACE)] {
            for &group in &lock(&self.list).groups {
                signal(group, name);
            }
            if timeout(grace, self.all_gone()).await.is_ok() {
                return;
            }
        }
    }

    async fn all_gone(&self) {
        while !lock(&self.list).groups.is_empty() {
            sleep(POLL).await;
        }
    }
}

/// Ignores poisoning: children must be ended even after a panic elsewhere, and no lock here is held during a partial change.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[derive(Debug, Clone, Copy)]
enum Signal {
    Term,
    Kill,
}

#[cfg(unix)]
fn signal(group: u32, name: Signal) {
    use rustix::process::{Pid, Signal as Name, kill_process_group};
    let name = match name {
        Signal::Term => Name::TERM,
        Signal::Kill => Name::KILL,
    };
    if let Some(pid) = i32::try_from(group).ok().and_then(Pid::from_raw) {
        // The one expected failure is that the group is empty, which is the goal.
        let _ = kill_process_group(pid, name);
    }
}

#[cfg(not(unix))]
fn signal(_: u32, _: Signal) {}

/// A process group whose leader has not been reaped. Until then its id cannot be reused.
#[derive(Debug)]
struct Group {
    id: u32,
    processes: Processes,
}

impl Group {
    /// Signals the group unless its leader has been reaped. The lock is held meanwhile, so that a reused id is never signaled.
    fn signal(&self, name: Signal) {
        let list = lock(&self.processes.list);
        if list.groups.contains(&self.id) {
            signal(self.id, name);
        }
    }

    /// Kills the processes that the leader left behind. Called right after it was reaped: while the group has members its id
    /// stays in use, and an empty group has nothing to signal.
    fn finish(&self) {
        let mut list = lock(&self.processes.list);
        if list.groups.remove(&self.id) {
            signal(self.id, Signal::Kill);
        }
    }
}

/// Finishes the group when the task that waits for its leader ends or is dropped by the runtime.
struct Reaper(Arc<Group>);

impl Drop for Reaper {
    fn drop(&mut self) {
        self.0.finish();
    }
}

/// A running child. Dropping it kills its group at once.
#[derive(Debug)]
pub(crate) struct Child {
    group: Arc<Group>,
    exit: watch::Receiver<Option<String>>,
    tail: Arc<Mutex<Tail>>,
    /// Closed when standard error has been read to its end.
    drained: watch::Receiver<()>,
    drain: JoinHandle<()>,
}

/// A child with the pipes to talk to it.
pub(crate) struct Spawned {
    pub(crate) child: Child,
    pub(crate) stdin: ChildStdin,
    pub(crate) stdout: ChildStdout,
}

/// Starts a command in its own group, with a task that reaps it.
fn start(
    mut command: Command,
    launch: &Launch,
    processes: &Processes,
) -> Result<(tokio::process::Child, Arc<Group>), SpawnError> {
    #[cfg(unix)]
    command.process_group(0);
    command.envs(&launch.env).kill_on_drop(true);
    if let Some(folder) = &launch.cwd {
        command.current_dir(folder);
    }
    let program = launch.argv.first().map_or("", String::as_str);
    // The lock covers the check and the insertion: a child started during `end_all` would be missed.
    let mut list = lock(&processes.list);
    if list.ending {
        return Err(SpawnError::Ending);
    }
    let child = command.spawn().map_err(|source| refusal(program, launch.cwd.as_deref(), source))?;
    let Some(id) = child.id() else {
        return Err(refusal(program, None, io::Error::other("it has no process id")));
    };
    list.groups.insert(id);
    Ok((child, Arc::new(Group { id, processes: processes.clone() })))
}

/// Waits for a child in its own task. The rest of its group is killed before the exit is reported, so that no process of
/// the group outlives the reported exit.
fn reap<T: Send + Sync + 'static>(
    mut child: tokio::process::Child,
    group: &Arc<Group>,
    report: impl FnOnce(io::Result<ExitStatus>) -> T + Send + 'static,
) -> watch::Receiver<Option<T>> {
    let (exited, exit) = watch::channel(None);
    let reaper = Reaper(Arc::clone(group));
    tokio::spawn(async move {
        let status = child.wait().await;
        drop(reaper);
        let _ = exited.send(Some(report(status)));
    });
    exit
}

/// A running program with streams of the caller's choice. Dropping it kills its group at once.
#[derive(Debug)]
pub(crate) struct Foreground {
    group: Arc<Group>,
    exit: watch::Receiver<Option<Result<ExitStatus, String>>>,
}

impl Foreground {
    pub(crate) fn spawn(
        launch: &Launch,
        (stdin, stdout, stderr): (Stdio, Stdio, Stdio),
        processes: &Processes,
    ) -> Result<Self, SpawnError> {
        let (program, arguments) = launch.argv.split_first().ok_or(SpawnError::Empty)?;
        let mut command = Command::new(program);
        command.args(arguments).stdin(stdin).stdout(stdout).stderr(stderr);
        let (child, group) = start(command, launch, processes)?;
        let exit = reap(child, &group, |status| status.map_err(|error| error.to_string()));
        Ok(Self { group, exit })
    }

    pub(crate) async fn exited(&self) -> Result<ExitStatus, String> {
        let mut exit = self.exit.clone();
        match exit.wait_for(Option::is_some).await.map(|status| status.clone()) {
            Ok(Some(status)) => status,
            _ => Err("its exit status is not known".to_owned()),
        }
    }

    /// Ends it with `SIGTERM`, then with `SIGKILL`.
    pub(crate) async fn end(&self) {
        for (name, grace) in [(Signal::Term, TERM_GRACE), (Signal::Kill, KILL_GRACE)] {
            self.group.signal(name);
            if timeout(grace, self.exited()).await.is_ok() {
                return;
            }
        }
    }
}

impl Drop for Foreground {
    fn drop(&mut self) {
        self.group.signal(Signal::Kill);
    }
}

impl Child {
    /// Starts a child in its own group, with tasks that reap it and read its standard error.
    pub(crate) fn spawn(launch: &Launch, processes: &Processes) -> Result<Spawned, SpawnError> {
        let (program, arguments) = launch.argv.split_first().ok_or(SpawnError::Empty)?;
        let mut command = Command::new(program);
        command.args(arguments).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let (mut child, group) = start(command, launch, processes)?;
        let pipes = (child.stdin.take(), child.stdout.take(), child.stderr.take());
        let exit = reap(child, &group, |status| match status {
            Ok(status) => status.to_string(),
            Err(problem) => format!("exit status unknown: {problem}"),
        });
        let (Some(stdin), Some(stdout), Some(stderr)) = pipes else {
            return Err(refusal(program, None, io::Error::other("it has no pipes")));
        };

        let tail = Arc::new(Mutex::new(Tail::default()));
        let (draining, drained) = watch::channel(());
        let drain = tokio::spawn(drain(stderr, Arc::clone(&tail), draining));
        Ok(Spawned { child: Self { group, exit, tail, drained, drain }, stdin, stdout })
    }

    /// The exit status of the child, once it has exited.
    pub(crate) fn exit(&self) -> watch::Receiver<Option<String>> {
        self.exit.clone()
    }

    /// The exit status of the child, if it exits within `limit`.
    pub(crate) async fn exit_within(&self, limit: Duration) -> Option<String> {
        let mut exit = self.exit();
        let ended = timeout(limit, exit.wait_for(Option::is_some)).await;
        ended.ok()?.ok()?.clone()
    }

    /// The end of its standard error, printable. After the child exited this is complete.
    pub(crate) async fn stderr(&self) -> String {
        if self.exit.borrow().is_some() {
            // Fails when the reading task is done, which is what this waits for.
            let _ = timeout(DRAIN_GRACE, self.drained.clone().changed()).await;
        }
        lock(&self.tail).text()
    }

    /// Ends the child after its standard input was closed: waits, then sends `SIGTERM`, then `SIGKILL`.
    pub(crate) async fn end(&self) {
        for (grace, next) in [(CLOSE_GRACE, Signal::Term), (TERM_GRACE, Signal::Kill)] {
            if self.exit_within(grace).await.is_some() {
                return;
            }
            self.group.signal(next);
        }
        self.exit_within(KILL_GRACE).await;
    }

    pub(crate) fn kill(&self) {
        self.group.signal(Signal::Kill);
    }
}

impl Drop for Child {
    fn drop(&mut self) {
        self.kill();
        self.drain.abort();
    }
}

/// Why starting failed. The system reports the same error for a missing program and a missing folder.
fn refusal(program: &str, folder: Option<&Path>, source: io::Error) -> SpawnError {
    match (source.kind(), folder) {
        (io::ErrorKind::NotFound | io::ErrorKind::NotADirectory, Some(folder)) if !folder.is_dir() => {
            SpawnError::NoFolder(folder.to_owned())
        }
        (io::ErrorKind::NotFound, _) => SpawnError::NotFound(program.to_owned()),
        _ => SpawnError::Refused { program: program.to_owned(), source },
    }
}

/// Reads standard error to its end. A child whose pipe is not read blocks after 64 KB.
async fn drain(mut stderr: ChildStderr, tail: Arc<Mutex<Tail>>, _draining: watch::Sender<()>) {
    let mut chunk = vec![0; 8192];
    while let Ok(count @ 1..) = stderr.read(&mut chunk).await {
        lock(&tail).push(&chunk[..count]);
    }
}

/// The last bytes of a stream.
#[derive(Debug, Default)]
pub(crate) struct Tail {
    bytes: VecDeque<u8>,
    cut: bool,
}

impl Tail {
    pub(crate) fn push(&mut self, chunk: &[u8]) {
        self.bytes.extend(chunk);
        let excess = self.bytes.len().saturating_sub(STDERR_LIMIT);
        self.bytes.drain(..excess);
        self.cut |= excess > 0;
    }

    /// The printable text, from the first complete line on.
    pub(crate) fn text(&self) -> String {
        let bytes: Vec<u8> = self.bytes.iter().copied().collect();
        let text = printable(&bytes);
        match text.split_once('\n') {
            Some((_, rest)) if self.cut && !rest.is_empty() => rest.trim_end().to_owned(),
            // The mark shows the redactor that the text may begin with the end of a secret.
            _ if self.cut => format!("…{}", text.trim_end()),
            _ => text.trim_end().to_owned(),
        }
    }
}

/// Text that is safe to print: invalid UTF-8 is replaced, and control characters, which a terminal would interpret, are
/// escaped.
pub(crate) fn printable(bytes: &[u8]) -> String {
    let mut out = String::with_capacity(bytes.len());
    for letter in String::from_utf8_lossy(bytes).replace("\r\n", "\n").chars() {
        if letter.is_control() && letter != '\n' && letter != '\t' {
            out.extend(letter.escape_default());
        } else {
            out.push(letter);
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tail_keeps_the_last_bytes_and_starts_with_a_complete_line() {
        let mut tail = Tail::default();
        tail.push(b"first\nsecond\n");
        assert_eq!(tail.text(), "first\nsecond");
        let line = "x".repeat(STDERR_LIMIT - 10);
        tail.push(line.as_bytes());
        assert_eq!(tail.bytes.len(), STDERR_LIMIT);
        // Three bytes too many: the rest of the first line is dropped as well.
        assert!(tail.text() == format!("second\n{line}"));
    }

    #[test]
    fn a_tail_of_one_endless_line_is_shown_from_where_it_was_cut() {
        let mut tail = Tail::default();
        tail.push(&vec![b'x'; STDERR_LIMIT + 1]);
        tail.push(b"\n");
        assert!(tail.text() == format!("…{}", "x".repeat(STDERR_LIMIT - 1)));
    }

    #[test]
    fn terminal_control_characters_are_escaped() {
        assert_eq!(printable(b"\x1b[31mred\r\n\tand \xff\0"), "\\u{1b}[31mred\n\tand \u{fffd}\\u{0}");
    }
}
