//! Recorded servers: one endpoint each, for clients over HTTP and over the lines of a shim.
//!
//! What a server sent within a call is sent again within it, and a question to the program waits for its answer. What a
//! server sent by itself comes with the session.

use std::collections::BTreeMap;
use std::future::pending;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use hyper::body::Incoming;
use hyper::header::HeaderValue;
use hyper::{Method, Request, Response, StatusCode};
use mcptest_core::json;
use mcptest_core::ledger::rerun::{McpEnd, McpReply, Step};
use serde_json::{Value, json};
use tokio::io::{AsyncWriteExt as _, BufReader, split};
use tokio::sync::{mpsc, oneshot, watch};
use tokio::task::JoinSet;
use tokio::time::sleep;

use super::super::body::{Body, broken, chunks, whole};
use super::super::listen::{plain, token};
use super::super::replay::{BREAK, Player};
use super::super::tap::collect;
use super::lines::{Io, closed};
use super::stdio::{empty, event_stream, failure, json_response, rejection};
use crate::mcp::MAX_LINE;
use crate::mcp::headers::SESSION;
use crate::mcp::lines::LineReader;

/// Messages on their way to one client.
const QUEUE: usize = 64;

/// The endpoint of one recorded server.
#[derive(Debug, Clone)]
pub(super) struct Server {
    name: String,
    player: Player,
    state: Arc<Mutex<State>>,
}

#[derive(Debug, Default)]
struct State {
    /// Unprompted messages for each session, until it listens.
    sessions: BTreeMap<String, Vec<Value>>,
    /// Questions to the program without an answer, by their ids.
    questions: BTreeMap<String, oneshot::Sender<()>>,
}

/// Something on its way to the client.
enum Piece {
    Message(Value),
    Break,
}

impl Server {
    pub(super) fn new(name: String, player: Player) -> Self {
        Self { name, player, state: Arc::default() }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Answers a client over HTTP.
    pub(super) async fn serve(&self, request: Request<Incoming>) -> Response<Body> {
        let (head, body) = request.into_parts();
        let session = head.headers.get(SESSION).map(|id| id.to_str().unwrap_or_default().to_owned());
        if session.as_ref().is_some_and(|id| !self.state().sessions.contains_key(id)) {
            return plain(StatusCode::NOT_FOUND, "the session is not known, or has ended");
        }
        match (&head.method, session) {
            (&Method::POST, _) => self.post(body).await,
            (&Method::GET, Some(id)) => self.listen(&id),
            (&Method::DELETE, Some(id)) => {
                self.state().sessions.remove(&id);
                empty(StatusCode::OK)
            }
            _ => plain(StatusCode::METHOD_NOT_ALLOWED, "without a session there is only POST"),
        }
    }

    async fn post(&self, body: Incoming) -> Response<Body> {
        let Some((text, None)) = collect(body, MAX_LINE).await else {
            return rejection(StatusCode::BAD_REQUEST, -32700, "the request is not complete, or too large");
        };
        let message: Option<Value> = str::from_utf8(&text).ok().and_then(|text| json::parse(text).ok());
        let Some(message) = message.filter(Value::is_object) else {
            return rejection(StatusCode::BAD_REQUEST, -32700, "the body is not a message");
        };
        let id = message.get("id").cloned().unwrap_or_default();
        let reply = match self.find(&message).await {
            Found::Reply(reply) => reply,
            Found::Nothing => return empty(StatusCode::ACCEPTED),
            Found::Diverged => {
                return rejection(StatusCode::BAD_REQUEST, -32000, &self.player.refusal());
            }
        };
        let McpReply { before, end, status, delay_ms } = reply;
        sleep(Duration::from_millis(delay_ms)).await;
        let opens = message.get("method").and_then(Value::as_str) == Some("initialize");
        match end {
            McpEnd::Status(status) => {
                let status = StatusCode::from_u16(status).unwrap_or(StatusCode::BAD_GATEWAY);
                return plain(status, "as recorded");
            }
            McpEnd::Gone(why) => return failure(&id, &why),
            McpEnd::Dropped => return json_response(broken()),
            McpEnd::Nothing if before.is_empty() => return pending().await,
            McpEnd::Reply(reply) if before.is_empty() => {
                let is_result = reply.get("result").is_some();
                let mut response = json_response(whole(with_id(reply, &id).to_string()));
                if opens && is_result {
                    self.open(&mut response);
                }
                *response.status_mut() = recorded_status(status);
                return response;
            }
            _ => {}
        }
        let (out, pieces) = mpsc::channel(QUEUE);
        let server = self.clone();
        tokio::spawn(async move {
            if !server.perform(before, end, &message, &out).await {
                let error = json!({ "code": -32000, "message": "mcptest: the server exited, as recorded" });
                let _ = out.send(Piece::Message(json!({ "jsonrpc": "2.0", "id": id, "error": error }))).await;
            }
        });
        let mut response = event_stream(events(pieces));
        if opens {
            self.open(&mut response);
        }
        *response.status_mut() = recorded_status(status);
        response
    }

    /// Gives a response its own session.
    fn open(&self, response: &mut Response<Body>) {
        let loose = self.player.rerun().session(&self.name);
        if let Ok(id) = token()
            && let Ok(value) = HeaderValue::try_from(id.as_str())
        {
            self.state().sessions.insert(id, loose);
            response.headers_mut().insert(SESSION, value);
        }
    }

    /// The stream of what the server sent unprompted.
    fn listen(&self, session: &str) -> Response<Body> {
        let loose = self.state().sessions.get_mut(session).map(std::mem::take).unwrap_or_default();
        let (out, pieces) = mpsc::channel(QUEUE);
        tokio::spawn(async move {
            for message in loose {
                if out.send(Piece::Message(message)).await.is_err() {
                    return;
                }
            }
            out.closed().await;
        });
        event_stream(events(pieces))
    }

    /// What answers a message of the program.
    async fn find(&self, message: &Value) -> Found {
        let asked = self.player.rerun().mcp(&self.name, message);
        if let Some(asked) = asked {
            let found = self.player.ask(asked, |step| match step {
                Step::Mcp(reply) => Some(reply.clone()),
                _ => None,
            });
            return found.await.map_or(Found::Diverged, |reply| Found::Reply(self.restored(reply)));
        }
        if message.get("method").is_none() {
            // An answer to a question.
            let id = message.get("id").map(json::canonical);
            if let Some(waiting) = id.and_then(|id| self.state().questions.remove(&id)) {
                let _ = waiting.send(());
            }
            return Found::Nothing;
        }
        let found = self.player.rerun().other(&self.name, message);
        self.player.moved();
        match found {
            Some(reply) => Found::Reply(self.restored(reply)),
            None if self.player.divergence().is_some() => Found::Diverged,
            None => Found::Nothing,
        }
    }

    /// A reply with the values of this run.
    fn restored(&self, reply: McpReply) -> McpReply {
        let restored = |message: Value| match json::parse(&self.player.restored(message.to_string())) {
            Ok(restored) => restored,
            Err(_) => message,
        };
        let McpReply { before, end, .. } = reply;
        McpReply {
            status: reply.status,
            delay_ms: reply.delay_ms,
            before: before.into_iter().map(restored).collect(),
            end: match end {
                McpEnd::Reply(reply) => McpEnd::Reply(restored(reply)),
                end => end,
            },
        }
    }

    /// Sends everything that answers a request, in order. Returns whether the server keeps running.
    async fn perform(&self, before: Vec<Value>, end: McpEnd, request: &Value, out: &mpsc::Sender<Piece>) -> bool {
        let id = request.get("id").cloned().unwrap_or_default();
        for message in before {
            let answered = message.get("method").and(message.get("id")).map(|id| {
                let (done, answered) = oneshot::channel();
                self.state().questions.insert(json::canonical(id), done);
                answered
            });
            let Some(message) = about(message, request) else { continue };
            if out.send(Piece::Message(message)).await.is_err() {
                return true;
            }
            if let Some(answered) = answered {
                tokio::select! {
                    _ = answered => {}
                    () = out.closed() => return true,
                }
            }
        }
        match end {
            McpEnd::Reply(reply) => {
                let _ = out.send(Piece::Message(with_id(reply, &id))).await;
                true
            }
            McpEnd::Cut(_) | McpEnd::Dropped => {
                sleep(BREAK).await;
                let _ = out.send(Piece::Break).await;
                true
            }
            McpEnd::Status(status) => {
                let why = format!("mcptest: the server answered HTTP status {status}");
                let error = json!({ "code": -32000, "message": why });
                let _ = out.send(Piece::Message(json!({ "jsonrpc": "2.0", "id": id, "error": error }))).await;
                true
            }
            McpEnd::Gone(_) => false,
            McpEnd::Nothing | McpEnd::Unread(_) => {
                out.closed().await;
                true
            }
        }
    }

    /// Serves a shim until the program leaves, the server ends as it did, or the run is over.
    pub(super) async fn lines(self, io: Io, mut closing: watch::Receiver<bool>) {
        let (from_program, mut to_program) = split(io);
        let mut lines = LineReader::new(BufReader::new(from_program), MAX_LINE);
        let (out, mut pieces) = mpsc::channel::<Piece>(QUEUE);
        let mut loose = self.player.rerun().session(&self.name);
        let mut answering: JoinSet<bool> = JoinSet::new();
        let mut is_open = true;
        loop {
            tokio::select! {
                line = lines.next(), if is_open => match line {
                    Ok(Some(line)) => {
                        let message = str::from_utf8(line).ok().and_then(|line| json::parse(line).ok());
                        let Some(message) = message.filter(Value::is_object) else { continue };
                        let is_ready = message.get("method").and_then(Value::as_str) == Some("notifications/initialized");
                        let (server, to) = (self.clone(), out.clone());
                        answering.spawn(async move { server.line(&message, &to).await });
                        if is_ready {
                            for message in loose.drain(..) {
                                let _ = out.try_send(Piece::Message(message));
                            }
                        }
                    }
                    Ok(None) | Err(_) => is_open = false,
                },
                Some(piece) = pieces.recv() => match piece {
                    Piece::Message(message) => {
                        let line = format!("{message}\n");
                        if to_program.write_all(line.as_bytes()).await.is_err() || to_program.flush().await.is_err() {
                            break;
                        }
                    }
                    Piece::Break => break,
                },
                Some(goes_on) = answering.join_next() => if matches!(goes_on, Ok(false)) { break },
                () = closed(&mut closing) => break,
                else => break,
            }
            // Half-closed: the program still waits for its replies.
            if !is_open && answering.is_empty() && pieces.is_empty() {
                break;
            }
        }
        let _ = to_program.shutdown().await;
    }

    async fn line(&self, message: &Value, out: &mpsc::Sender<Piece>) -> bool {
        match self.find(message).await {
            Found::Reply(McpReply { before, end, delay_ms, .. }) => {
                sleep(Duration::from_millis(delay_ms)).await;
                self.perform(before, end, message, out).await
            }
            Found::Nothing => true,
            Found::Diverged => {
                let error = json!({ "code": -32000, "message": format!("mcptest: {}", self.player.refusal()) });
                let id = message.get("id").cloned().unwrap_or_default();
                let _ = out.send(Piece::Message(json!({ "jsonrpc": "2.0", "id": id, "error": error }))).await;
                true
            }
        }
    }
}

enum Found {
    Reply(McpReply),
    /// It has no answer.
    Nothing,
    Diverged,
}

fn recorded_status(status: Option<u16>) -> StatusCode {
    status.and_then(|status| StatusCode::from_u16(status).ok()).unwrap_or(StatusCode::OK)
}

fn with_id(mut message: Value, id: &Value) -> Value {
    if let Value::Object(map) = &mut message {
        map.insert("id".to_owned(), id.clone());
    }
    message
}

/// A message within a call, with the ids of this call. `None` if the client did not ask for it.
fn about(mut message: Value, request: &Value) -> Option<Value> {
    const SUBSCRIPTION: &str = "/params/_meta/io.modelcontextprotocol~1subscriptionId";
    if let Some(token) = message.pointer_mut("/params/progressToken") {
        *token = request.pointer("/params/_meta/progressToken")?.clone();
    }
    if let Some(subscription) = message.pointer_mut(SUBSCRIPTION) {
        *subscription = request.get("id")?.clone();
    }
    Some(message)
}

/// Messages as an event stream, which ends with their sender.
fn events(mut pieces: mpsc::Receiver<Piece>) -> Body {
    chunks(move |context| {
        pieces.poll_recv(context).map(|piece| {
            piece.map(|piece| match piece {
                Piece::Message(message) => Ok(Bytes::from(format!("event: message\ndata: {message}\n\n"))),
                Piece::Break => Err("the recorded response broke off here".into()),
            })
        })
    })
}
