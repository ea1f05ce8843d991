//! The server over a pair of pipes: one message per line.
//!
//! Three tasks: one reads lines, one writes bytes, and one answers messages. Both queues are bounded by bytes, so that a client
//! that writes and never reads fills only its own pipes. Calls that hang are not kept; delayed answers are kept in the order of
//! their time.

#[cfg(test)]
mod invariants;
mod lines;

use std::collections::BTreeMap;
use std::future::Future;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use bytes::Bytes;
use mcptest_core::json;
use serde_json::Value;
use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt, BufWriter};
use tokio::sync::oneshot;
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep, sleep_until};

use crate::clock;
use crate::log::{Direction, Log};
use crate::protocol::{
    Era, FLOOD_PIECE, Flood, GARBAGE, Incoming, PIECES_PER_MIB, Plan, Reaction, Send, Server, era_of, id_text, parse,
    refuse,
};
use crate::queue::{Closed, Receiver, Sender, queue};
use crate::serve::{End, ServeError};
use crate::state::{Counters, Session};
use lines::{Line, Lines, MAX_LINE};

/// Bytes that are read before they are answered.
const READ_AHEAD: u32 = 16 * 1024 * 1024;
/// Bytes that wait to be written.
const WRITE_BEHIND: u32 = 1024 * 1024;
/// Delayed answers. With more, nothing is read until one is sent.
const MAX_PENDING: usize = 65_536;
/// How long the last answers may take after the input has ended. The time restarts with every answer that is written: a client
/// that reads gets every answer, and one that does not blocks nothing. A flood is one answer, and is cut off if it takes longer.
const GRACE: Duration = Duration::from_millis(500);

/// How often to check whether the reader is blocked, after the client has hung up.
const POLL: Duration = Duration::from_millis(50);

/// The progress of the server.
#[derive(Debug, Default)]
struct Progress {
    /// Lines that were read and answers that were written.
    steps: AtomicU64,
    /// The reader waits for room, so it cannot see the end of the input.
    is_blocked: AtomicBool,
}

impl Progress {
    fn step(&self) {
        self.steps.fetch_add(1, Ordering::Relaxed);
    }
}

#[derive(Debug)]
enum Frame {
    Bytes(Bytes),
    Flood(Flood),
    Close,
}

/// Serves until the input ends, `stop` resolves, the output is closed, or a fault ends it.
///
/// The end of the input comes after everything that was sent. If a client sends more than is read ahead and reads no
/// answers, it is not reached; `hung_up` resolves when no process can write to the input anymore, regardless of what is
/// still in it.
pub async fn serve<R, W>(
    server: &Server,
    log: Log,
    input: R,
    output: W,
    stop: impl Future<Output = ()>,
    hung_up: impl Future<Output = ()>,
) -> Result<End, ServeError>
where
    R: AsyncRead + Unpin + std::marker::Send + 'static,
    W: AsyncWrite + Unpin + std::marker::Send + 'static,
{
    let (line_sender, lines) = queue(READ_AHEAD);
    let (frames, frame_receiver) = queue(WRITE_BEHIND);
    let (ended, at_end) = oneshot::channel();
    // Both tasks end with this function.
    let mut reader = JoinSet::new();
    let progress = Arc::new(Progress::default());
    reader.spawn(read(input, line_sender, ended, Arc::clone(&progress)));
    let mut writer = JoinSet::new();
    writer.spawn(write(output, frame_receiver, Arc::clone(&progress)));
    let state = ServerState {
        server,
        progress: &progress,
        log,
        counters: server.counters(),
        session: Session::default(),
        frames,
        pending: BTreeMap::new(),
        by_id: BTreeMap::new(),
        last: 0,
        closed: false,
    };
    let work = state.run(lines, &mut writer);
    let after_input = async {
        let hung_up_unseen = async {
            hung_up.await;
            // While the reader makes progress, it reaches the end on its own.
            while !progress.is_blocked.load(Ordering::Relaxed) {
                sleep(POLL).await;
            }
        };
        let end = tokio::select! {
            end = at_end => end,
            () = hung_up_unseen => Ok(Ok(())),
        };
        match end {
            Ok(Err(error)) => Err(ServeError::Input(error)),
            // The input ended, or the reader was dropped because the work is done.
            Ok(Ok(())) | Err(_) => {
                let mut before = None;
                while before != Some(progress.steps.load(Ordering::Relaxed)) {
                    before = Some(progress.steps.load(Ordering::Relaxed));
                    sleep(GRACE).await;
                }
                Ok(End::InputClosed)
            }
        }
    };
    tokio::select! {
        biased;
        () = stop => Ok(End::Stopped),
        end = work => end,
        end = after_input => end,
    }
}

async fn read(
    input: impl AsyncRead + Unpin,
    lines: Sender<Line>,
    ended: oneshot::Sender<io::Result<()>>,
    progress: Arc<Progress>,
) {
    let mut input = Lines::new(input);
    let end = loop {
        match input.next().await {
            Ok(Some(line)) => {
                let size = if let Line::Whole(bytes) = &line { bytes.len() } else { 0 };
                progress.is_blocked.store(true, Ordering::Relaxed);
                if lines.send(line, size).await == Err(Closed) {
                    return;
                }
                progress.is_blocked.store(false, Ordering::Relaxed);
            }
            Ok(None) => break Ok(()),
            Err(error) => break Err(error),
        }
    };
    // The receiver is dropped if the server ended first.
    let _ = ended.send(end);
}

/// Writes until there is nothing left or the output is closed.
async fn write(
    output: impl AsyncWrite + Unpin,
    mut frames: Receiver<Frame>,
    progress: Arc<Progress>,
) -> Result<(), ServeError> {
    match put(output, &mut frames, &progress).await {
        Ok(true) => {
            // Closed on purpose: discard the rest.
            while frames.recv().await.is_some() {}
            Ok(())
        }
        Ok(false) => Ok(()),
        // A client that leaves is not an error.
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        Err(error) => Err(ServeError::Output(error)),
    }
}

/// Writes frames; whether the output was closed on purpose.
async fn put(output: impl AsyncWrite + Unpin, frames: &mut Receiver<Frame>, progress: &Progress) -> io::Result<bool> {
    let mut output = BufWriter::new(output);
    loop {
        let frame = match frames.try_recv() {
            Some(frame) => frame,
            None => {
                // Flush before waiting.
                output.flush().await?;
                match frames.recv().await {
                    Some(frame) => frame,
                    None => return Ok(false),
                }
            }
        };
        match &frame.0 {
            Frame::Bytes(bytes) => output.write_all(bytes).await?,
            Frame::Flood(flood) => {
                output.write_all(flood.head.as_bytes()).await?;
                for _ in 0..flood.mib * PIECES_PER_MIB {
                    output.write_all(FLOOD_PIECE).await?;
                }
                output.write_all(flood.tail.as_bytes()).await?;
                output.write_all(b"\n").await?;
            }
            Frame::Close => {
                output.flush().await?;
                output.shutdown().await?;
                return Ok(true);
            }
        }
        progress.step();
    }
}

struct ServerState<'s> {
    server: &'s Server,
    progress: &'s Progress,
    log: Log,
    counters: Counters,
    session: Session,
    frames: Sender<Frame>,
    /// Delayed answers, in the order of their time.
    pending: BTreeMap<(Instant, u64), Plan>,
    /// The delayed answer of a request.
    by_id: BTreeMap<String, (Instant, u64)>,
    /// Counts delayed answers, so that answers with the same time keep their order.
    last: u64,
    /// The output was closed by a fault.
    closed: bool,
}

/// The result of the writer.
async fn outcome(writer: &mut JoinSet<Result<(), ServeError>>) -> Result<(), ServeError> {
    match writer.join_next().await {
        Some(Ok(outcome)) => outcome,
        // It was aborted.
        Some(Err(_)) | None => Ok(()),
    }
}

enum Stop {
    /// The writer has ended, and has the reason.
    Closed,
    Ended(End),
    Failed(ServeError),
}

impl From<io::Error> for Stop {
    fn from(error: io::Error) -> Self {
        Self::Failed(ServeError::Log(error))
    }
}

impl From<Closed> for Stop {
    fn from(_: Closed) -> Self {
        Self::Closed
    }
}

impl ServerState<'_> {
    async fn run(
        mut self,
        mut lines: Receiver<Line>,
        writer: &mut JoinSet<Result<(), ServeError>>,
    ) -> Result<End, ServeError> {
        match self.answer_all(&mut lines).await {
            Ok(()) => {
                // The writer ends after writing what is queued.
                drop(self.frames);
                outcome(writer).await?;
                Ok(End::InputClosed)
            }
            Err(Stop::Closed) => {
                outcome(writer).await?;
                Ok(End::OutputClosed)
            }
            Err(Stop::Ended(end)) => Ok(end),
            Err(Stop::Failed(error)) => Err(error),
        }
    }

    /// Answers messages until the input has ended.
    async fn answer_all(&mut self, lines: &mut Receiver<Line>) -> Result<(), Stop> {
        loop {
            let due = self.pending.first_key_value().map(|((due, _), _)| *due);
            let late = async {
                match due {
                    Some(due) => sleep_until(due).await,
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                biased;
                () = late => {
                    if let Some((key, plan)) = self.pending.pop_first() {
                        let id = id_text(&plan.id);
                        // Another request with this id may be waiting.
                        if self.by_id.get(&id) == Some(&key) {
                            self.by_id.remove(&id);
                        }
                        self.send(plan.send).await?;
                    }
                }
                line = lines.recv(), if self.pending.len() < MAX_PENDING => match line {
                    Some((line, _room)) => self.take(line).await?,
                    None => return Ok(()),
                },
                // The output is closed.
                () = self.frames.closed() => return Err(Closed.into()),
            }
        }
    }

    async fn take(&mut self, line: Line) -> Result<(), Stop> {
        self.progress.step();
        let bytes = match line {
            Line::Whole(bytes) => bytes,
            Line::TooLong => {
                self.log.note(Direction::In, &format!("a line of more than {MAX_LINE} bytes"))?;
                let reply = refuse(&format!("a line has more than {MAX_LINE} bytes"));
                return self.send(Send::Message(reply)).await;
            }
        };
        let value = match parse(&bytes) {
            Ok(value) => value,
            Err(reply) => {
                self.log.raw(Direction::In, &bytes)?;
                return self.send(Send::Message(reply)).await;
            }
        };
        self.log.message(Direction::In, &value)?;
        let message = match Incoming::read(value) {
            Ok(message) => message,
            Err(reply) => return self.send(Send::Message(reply)).await,
        };
        let era = if let Incoming::Request(request) = &message { era_of(request) } else { Era::Legacy };
        match self.server.receive(&mut self.counters, &mut self.session, message, era) {
            Reaction::Ignore => {}
            Reaction::Cancel(id) => self.cancel(&id),
            Reaction::Answer(plan) if plan.delay.is_zero() => self.send(plan.send).await?,
            Reaction::Answer(plan) => {
                self.last += 1;
                let key = (clock::now() + plan.delay, self.last);
                self.by_id.insert(id_text(&plan.id), key);
                self.pending.insert(key, plan);
            }
        }
        Ok(())
    }

    fn cancel(&mut self, id: &Value) {
        let id = id_text(id);
        if let Some(key) = self.by_id.get(&id)
            && self.pending.get(key).is_some_and(|plan| plan.cancellable)
        {
            self.pending.remove(key);
            self.by_id.remove(&id);
        }
    }

    async fn send(&mut self, what: Send) -> Result<(), Stop> {
        if self.closed && !matches!(what, Send::Crash) {
            return Ok(());
        }
        match what {
            Send::Never => Ok(()),
            Send::Crash => Err(Stop::Ended(End::Crashed)),
            Send::Message(message) => self.message(&message).await,
            Send::Twice(message) => {
                self.message(&message).await?;
                self.message(&message).await
            }
            Send::Garbage => {
                self.log.raw(Direction::Out, GARBAGE)?;
                let bytes = Bytes::from([GARBAGE, b"\n"].concat());
                Ok(self.frames.send(Frame::Bytes(bytes), GARBAGE.len()).await?)
            }
            Send::Flood(flood) => {
                self.log.note(Direction::Out, &format!("a reply with {} MiB of text", flood.mib))?;
                Ok(self.frames.send(Frame::Flood(flood), FLOOD_PIECE.len()).await?)
            }
            Send::Close => {
                self.closed = true;
                Ok(self.frames.send(Frame::Close, 0).await?)
            }
        }
    }

    async fn message(&mut self, message: &Value) -> Result<(), Stop> {
        self.log.message(Direction::Out, message)?;
        let line = Bytes::from(json::canonical(message) + "\n");
        let size = line.len();
        Ok(self.frames.send(Frame::Bytes(line), size).await?)
    }
}
