//! A child, and the routing of its messages: a reply goes to its request, a progress notification to the request it refers to,
//! anything else to a request in progress or to the stream of the session.
//!
//! Ids and progress tokens pass unchanged. Only if two clients use the same one at the same time, the later one is replaced on the
//! way to the child and restored on the way back.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use http_body_util::BodyExt as _;
use hyper::body::Incoming;
use mcptest_core::ledger::Message;
use serde_json::{Value, json};
use tokio::io::{AsyncWriteExt as _, BufReader};
use tokio::process::{ChildStdin, ChildStdout};
use tokio::sync::{Mutex as AsyncMutex, mpsc};
use tokio::time::sleep;

use super::super::capture::{Capture, MAX_KEPT};
use super::envelope::Envelope;
use super::{Tape, captured, message};
use crate::mcp::MAX_LINE;
use crate::mcp::lines::{DRAIN_GRACE, LineReader};
use crate::mcp::server::{EXIT_GRACE, stderr_tail};
use crate::process::{Child, Spawned};

/// After this time without a message a stream shows that it is alive.
pub(super) const SILENCE: Duration = Duration::from_secs(15);

/// Messages on their way to one client.
const QUEUE: usize = 64;
/// Messages that wait for a stream to be opened. Further ones are dropped.
const BACKLOG: usize = 1024;
/// How many bytes they may have.
const BACKLOG_BYTES: usize = MAX_LINE;
const READ_BUFFER: usize = 64 * 1024;

/// A message on its way to a client.
pub(super) enum Piece {
    Message {
        text: Bytes,
        is_reply: bool,
    },
    /// A message that is too large to keep.
    Long {
        parts: mpsc::Receiver<Bytes>,
        is_reply: bool,
    },
}

impl Piece {
    pub(super) fn is_reply(&self) -> bool {
        match self {
            Self::Message { is_reply, .. } | Self::Long { is_reply, .. } => *is_reply,
        }
    }
}

/// A message on its way to the child.
pub(super) enum Input {
    Whole(Vec<u8>),
    /// A message that is entered already.
    Entered(Vec<u8>, u64),
    /// The beginning of a message that is too large to keep, and the rest.
    Long(Vec<u8>, Incoming),
}

#[derive(Debug)]
pub(super) struct Pipe {
    tape: Tape,
    connection: u64,
    child: Child,
    stdin: AsyncMutex<Option<ChildStdin>>,
    routing: Mutex<Routing>,
}

#[derive(Debug, Default)]
struct Routing {
    /// Requests in progress, by the id that the child knows.
    waiting: BTreeMap<String, Waiting>,
    next: u64,
    /// The stream of the session.
    stream: Option<mpsc::Sender<Piece>>,
    /// What waits for it.
    backlog: VecDeque<Bytes>,
    backlog_bytes: usize,
    /// Whether a request has had a result.
    has_result: bool,
    /// Why nothing more will come.
    end: Option<String>,
}

#[derive(Debug)]
struct Waiting {
    number: u64,
    /// The entry of the request.
    seq: u64,
    /// The id of the client, if the child knows another one.
    id: Option<Value>,
    /// The token that the child knows, and the client's token if it differs.
    token: Option<(Value, Option<Value>)>,
    to: mpsc::Sender<Piece>,
}

/// The destination of a message of the child.
#[derive(Default)]
struct Place {
    to: Option<mpsc::Sender<Piece>>,
    seq: Option<u64>,
    is_reply: bool,
    /// What is restored: the pointer and the value of the client.
    restored: Option<(&'static str, Value)>,
}

/// The messages of one request up to its reply.
pub(super) struct Pieces {
    from: mpsc::Receiver<Piece>,
    /// Cancels the request unless the reply has come.
    cancel: Option<(Arc<Pipe>, String)>,
}

impl Pieces {
    /// The next message; `None` if there will be no reply.
    pub(super) async fn next(&mut self) -> Option<Piece> {
        let piece = self.from.recv().await;
        if piece.as_ref().is_none_or(Piece::is_reply) {
            self.cancel = None;
        }
        piece
    }
}

impl Drop for Pieces {
    fn drop(&mut self) {
        if let Some((pipe, key)) = self.cancel.take() {
            pipe.cancel(&key);
        }
    }
}

impl Pipe {
    pub(super) fn start(spawned: Spawned, tape: Tape, connection: u64) -> Arc<Self> {
        let Spawned { child, stdin, stdout } = spawned;
        let (stdin, routing) = (AsyncMutex::new(Some(stdin)), Mutex::default());
        let pipe = Arc::new(Self { tape, connection, child, stdin, routing });
        tokio::spawn(Arc::clone(&pipe).read(stdout));
        pipe
    }

    /// Records a message of the program before it is sent. Returns its number and the number of the connection.
    pub(super) fn enter(&self, text: &[u8]) -> (u64, u64) {
        (self.tape.program(self.connection, message(text)), self.connection)
    }

    fn routing(&self) -> MutexGuard<'_, Routing> {
        self.routing.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn has_ended(&self) -> bool {
        self.routing().end.is_some()
    }

    /// Whether every request so far was answered with an error.
    pub(super) fn has_only_refused(&self) -> bool {
        let routing = self.routing();
        routing.end.is_none() && !routing.has_result && routing.waiting.is_empty()
    }

    /// Why there is no reply.
    pub(super) fn why(&self) -> String {
        self.routing().end.clone().unwrap_or_else(|| "the server does not read its standard input".to_owned())
    }

    /// Sends a message without a reply. Returns whether the child got it.
    pub(super) async fn notify(self: &Arc<Self>, input: Input) -> bool {
        self.send(input, None).await.is_some()
    }

    /// Sends a request. `None` if the child cannot be reached. If `is_modern`, dropping the pieces cancels it.
    pub(super) async fn ask(self: &Arc<Self>, envelope: Envelope, input: Input, is_modern: bool) -> Option<Pieces> {
        let (to, from) = mpsc::channel(QUEUE);
        let key = self.send(input, Some((envelope, to))).await?;
        Some(Pieces { from, cancel: is_modern.then(|| (Arc::clone(self), key)) })
    }

    /// Writes a message in its own task, so that a client that disconnects does not leave half a line. Returns the id that
    /// the child knows, empty for a message that is not a request.
    async fn send(self: &Arc<Self>, input: Input, request: Option<(Envelope, mpsc::Sender<Piece>)>) -> Option<String> {
        let pipe = Arc::clone(self);
        tokio::spawn(async move {
            let mut stdin = pipe.stdin.lock().await;
            let stdin = stdin.as_mut()?;
            let (key, line) = match input {
                Input::Whole(_) | Input::Entered(..) => {
                    let (mut text, seq) = match input {
                        Input::Entered(text, seq) => (text, seq),
                        Input::Whole(text) | Input::Long(text, _) => {
                            let seq = pipe.tape.program(pipe.connection, message(&text));
                            (text, seq)
                        }
                    };
                    let key = match request {
                        Some((envelope, to)) => pipe.routing().register(seq, &envelope, to, Some(&mut text))?,
                        None => String::new(),
                    };
                    one_line(&mut text);
                    (key, text)
                }
                Input::Long(text, rest) => {
                    let seq = pipe.tape.program(pipe.connection, copy(text, rest, stdin).await?);
                    let key = match request {
                        Some((envelope, to)) => pipe.routing().register(seq, &envelope, to, None)?,
                        None => String::new(),
                    };
                    (key, Vec::new())
                }
            };
            let line = [line.trim_ascii(), b"\n"].concat();
            if stdin.write_all(&line).await.is_err() || stdin.flush().await.is_err() {
                // Usually the child has exited, and its last replies are still to be read. Let the reader report that.
                sleep(DRAIN_GRACE).await;
                pipe.routing().waiting.remove(&key);
            }
            Some(key)
        })
        .await
        .ok()?
    }

    /// Notifies the child that no client waits for a reply anymore.
    fn cancel(self: &Arc<Self>, key: &str) {
        let Some(waiting) = self.routing().waiting.remove(key) else { return };
        let Ok(id) = serde_json::from_str::<Value>(key) else { return };
        self.tape.left(self.connection, waiting.seq);
        let params = json!({ "requestId": id, "reason": "the client closed the connection" });
        let line = json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": params });
        let (pipe, line) = (Arc::clone(self), format!("{line}\n"));
        tokio::spawn(async move {
            if let Some(stdin) = &mut *pipe.stdin.lock().await {
                // A child that has exited needs no cancellation.
                let _ = stdin.write_all(line.as_bytes()).await;
                let _ = stdin.flush().await;
            }
        });
    }

    /// The stream of what belongs to no request. It replaces an earlier one.
    pub(super) fn listen(&self) -> mpsc::Receiver<Piece> {
        let mut routing = self.routing();
        let (to, from) = mpsc::channel(QUEUE + routing.backlog.len());
        routing.backlog_bytes = 0;
        for text in std::mem::take(&mut routing.backlog) {
            // There is room for all of it.
            let _ = to.try_send(Piece::Message { text, is_reply: false });
        }
        routing.stream = routing.end.is_none().then_some(to);
        from
    }

    /// Reads the messages of the child to their end.
    async fn read(self: Arc<Self>, stdout: ChildStdout) {
        let mut exit = self.child.exit();
        let mut lines = LineReader::new(BufReader::with_capacity(READ_BUFFER, stdout), MAX_LINE);
        {
            let gone = async {
                if exit.wait_for(Option::is_some).await.is_ok() {
                    sleep(DRAIN_GRACE).await;
                }
            };
            tokio::pin!(gone);
            loop {
                let is_long = tokio::select! {
                    line = lines.next() => match line {
                        Ok(Some(line)) => {
                            self.deliver(line).await;
                            false
                        }
                        Ok(None) => break,
                        Err(_) => true,
                    },
                    () = &mut gone => break,
                };
                if is_long && !self.deliver_long(&mut lines).await {
                    break;
                }
            }
        }
        self.ended().await;
    }

    async fn deliver(&self, line: &[u8]) {
        let line = line.trim_ascii();
        if line.is_empty() {
            return;
        }
        let Some(envelope) = Envelope::read(line) else {
            // A client over HTTP can only be sent messages.
            self.tape.server(self.connection, message(line), None);
            return;
        };
        let Place { to, seq, is_reply, restored } = self.routing().place(&envelope);
        let text = match restored.and_then(|(pointer, value)| with(line, pointer, value)) {
            Some(text) => Bytes::from(text),
            None => Bytes::copy_from_slice(line),
        };
        self.tape.server(self.connection, message(&text), seq);
        let Some(to) = to else {
            if !envelope.is_reply() {
                self.routing().keep(text);
            }
            return;
        };
        if to.send(Piece::Message { text: text.clone(), is_reply }).await.is_err() && !envelope.is_reply() {
            self.routing().keep(text);
        }
    }

    /// Forwards a message that is too large to keep. Returns false if the child sent no more.
    async fn deliver_long(&self, lines: &mut LineReader<BufReader<ChildStdout>>) -> bool {
        let mut capture = Capture::new(MAX_KEPT);
        let Some(first) = lines.part().await else { return false };
        let place = self.routing().place(&Envelope::begin(&first));
        let (parts, from) = mpsc::channel(1);
        if let Some(to) = &place.to {
            let _ = to.send(Piece::Long { parts: from, is_reply: place.is_reply }).await;
        }
        let mut next = Some(first);
        while let Some(part) = next {
            capture.push(&part);
            // Keep reading after a client has disconnected.
            let _ = parts.send(Bytes::from(part)).await;
            next = lines.part().await;
        }
        self.tape.server(self.connection, captured(capture), place.seq);
        true
    }

    /// The child closed its output. No request will have a reply.
    async fn ended(&self) {
        let (why, stderr) = match self.child.exit_within(EXIT_GRACE).await {
            Some(status) => (format!("the server exited ({status})"), self.child.stderr().await),
            None => ("the server closed its standard output".to_owned(), self.child.stderr().await),
        };
        self.finish(&why, &stderr_tail(&stderr));
        self.child.kill();
    }

    /// Enters the end. The first reason stays.
    fn finish(&self, why: &str, stderr: &str) {
        let mut routing = self.routing();
        if routing.end.is_none() {
            routing.end = Some(why.to_owned());
            self.tape.server(self.connection, Message::End(format!("{why}{stderr}")), None);
        }
        routing.waiting.clear();
        routing.stream = None;
    }

    /// Ends the child: closes its input and waits until it exits.
    pub(super) async fn end(&self, why: &str) {
        self.finish(why, "");
        // A writer that waits for the child resumes when the child has exited.
        if let Ok(mut stdin) = self.stdin.try_lock() {
            stdin.take();
        }
        self.child.end().await;
    }

    pub(super) fn kill(&self) {
        self.child.kill();
    }
}

impl Routing {
    /// Registers a request. `text` is changed if its id or its token is in use. Returns the id that the child knows, or nothing
    /// if the id is in use and cannot be changed.
    fn register(
        &mut self,
        seq: u64,
        envelope: &Envelope,
        to: mpsc::Sender<Piece>,
        mut text: Option<&mut Vec<u8>>,
    ) -> Option<String> {
        let number = self.next;
        self.next += 1;
        let id = envelope.id.clone().unwrap_or_default();
        let mut key = id.to_string();
        let mut waiting = Waiting { number, seq, id: None, token: None, to };
        let replaced = Value::from(format!("mcptest-{number}"));
        if self.end.is_some() {
            return None;
        }
        let mut changes = Vec::new();
        if self.waiting.contains_key(&key) {
            changes.push(("/id", replaced.clone()));
            key = replaced.to_string();
            waiting.id = Some(id);
        }
        if let Some(token) = &envelope.token {
            let in_use = |other: &Waiting| other.token.as_ref().is_some_and(|(known, _)| known == token);
            waiting.token = if self.waiting.values().any(in_use) {
                changes.push(("/params/_meta/progressToken", replaced.clone()));
                Some((replaced, Some(token.clone())))
            } else {
                Some((token.clone(), None))
            };
        }
        for (pointer, value) in changes {
            let text = text.as_deref_mut()?;
            *text = with(text, pointer, value)?;
        }
        self.waiting.insert(key.clone(), waiting);
        Some(key)
    }

    /// The destination of a message of the child.
    fn place(&mut self, envelope: &Envelope) -> Place {
        if envelope.is_reply() {
            return self.place_reply(envelope);
        }
        let by_token = |waiting: &&Waiting| {
            envelope.token.is_some() && waiting.token.as_ref().map(|(known, _)| known) == envelope.token.as_ref()
        };
        if envelope.is("notifications/progress")
            && let Some(waiting) = self.waiting.values().find(by_token)
        {
            let restored =
                waiting.token.as_ref().and_then(|(_, token)| Some(("/params/progressToken", token.clone()?)));
            return Place { to: Some(waiting.to.clone()), seq: Some(waiting.seq), restored, ..Place::default() };
        }
        if let Some(waiting) = envelope.about.as_ref().and_then(|id| self.waiting.get(&id.to_string())) {
            let pointer = "/params/_meta/io.modelcontextprotocol~1subscriptionId";
            let restored = waiting.id.clone().map(|id| (pointer, id));
            return Place { to: Some(waiting.to.clone()), seq: Some(waiting.seq), restored, ..Place::default() };
        }
        // The child does not say which request it works on: probably the last one.
        let in_progress = self.waiting.values().filter(|waiting| !waiting.to.is_closed());
        match in_progress.max_by_key(|waiting| waiting.number) {
            Some(waiting) => Place { to: Some(waiting.to.clone()), seq: Some(waiting.seq), ..Place::default() },
            None => Place { to: self.stream.clone().filter(|stream| !stream.is_closed()), ..Place::default() },
        }
    }

    fn place_reply(&mut self, envelope: &Envelope) -> Place {
        self.has_result |= !envelope.is_error;
        let id = envelope.id.as_ref().filter(|id| !id.is_null());
        let key = match id {
            Some(id) => id.to_string(),
            // A server that could not parse a request does not know its id.
            None if self.waiting.len() == 1 => self.waiting.keys().next().cloned().unwrap_or_default(),
            None => return Place::default(),
        };
        let Some(waiting) = self.waiting.remove(&key) else { return Place::default() };
        let restored = waiting.id.filter(|_| id.is_some()).map(|id| ("/id", id));
        Place { to: Some(waiting.to), seq: Some(waiting.seq), is_reply: true, restored }
    }

    /// Keeps a message until the stream of the session is opened.
    fn keep(&mut self, text: Bytes) {
        if self.backlog.len() < BACKLOG && self.backlog_bytes + text.len() <= BACKLOG_BYTES {
            self.backlog_bytes += text.len();
            self.backlog.push_back(text);
        }
    }
}

/// A message with another value at a place that it has.
fn with(text: &[u8], pointer: &str, value: Value) -> Option<Vec<u8>> {
    let mut message: Value = serde_json::from_slice(text).ok()?;
    *message.pointer_mut(pointer)? = value;
    Some(message.to_string().into_bytes())
}

/// Replaces line ends, which JSON has between its tokens only.
fn one_line(text: &mut [u8]) {
    for byte in text.iter_mut().filter(|byte| matches!(byte, b'\n' | b'\r')) {
        *byte = b' ';
    }
}

/// Writes a long message without its end. `None` if the child cannot be written to.
async fn copy(first: Vec<u8>, mut rest: Incoming, stdin: &mut ChildStdin) -> Option<Message> {
    let mut capture = Capture::new(MAX_KEPT);
    let mut next = Some(first);
    while let Some(mut part) = next {
        capture.push(&part);
        one_line(&mut part);
        stdin.write_all(&part).await.ok()?;
        next = loop {
            match rest.frame().await {
                Some(Ok(frame)) => {
                    if let Ok(data) = frame.into_data() {
                        break Some(Vec::from(data));
                    }
                }
                // The line is ended even if the client left in the middle of it. The child will not understand it.
                None | Some(Err(_)) => break None,
            }
        };
    }
    Some(captured(capture))
}
