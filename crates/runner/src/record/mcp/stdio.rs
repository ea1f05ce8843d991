//! HTTP clients of a server that is a child: a child for each session, and one for all requests without a session.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bytes::Bytes;
use hyper::body::Incoming;
use hyper::header::{CACHE_CONTROL, CONTENT_TYPE, HeaderName, HeaderValue};
use hyper::http::request::Parts;
use hyper::{Method, Request, Response, StatusCode};
use mcptest_core::ledger::Message;
use serde_json::{Value, json};
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use tokio::time::timeout;

use super::super::body::{Body, channel, whole};
use super::super::listen::{plain, token};
use super::super::tap::collect;
use super::Tape;
use super::envelope::Envelope;
use super::fault;
use super::pipe::{Input, Piece, Pieces, Pipe, SILENCE};
use crate::mcp::MAX_LINE;
use crate::mcp::negotiation::MODERN;
use crate::process::{Child, Launch, Processes, SpawnError, Spawned};

const SESSION: HeaderName = HeaderName::from_static("mcp-session-id");
const VERSION: HeaderName = HeaderName::from_static("mcp-protocol-version");

#[derive(Debug)]
pub(super) struct Stdio {
    launch: Launch,
    processes: Processes,
    pub(super) tape: Tape,
    sessions: Mutex<Sessions>,
}

#[derive(Debug, Default)]
struct Sessions {
    by_id: BTreeMap<String, Arc<Pipe>>,
    /// The child of requests without a session.
    shared: Option<Arc<Pipe>>,
    /// Children that are being ended.
    ending: JoinSet<()>,
}

impl Stdio {
    pub(super) fn new(launch: Launch, processes: Processes, tape: Tape) -> Self {
        Self { launch, processes, tape, sessions: Mutex::default() }
    }

    fn sessions(&self) -> MutexGuard<'_, Sessions> {
        self.sessions.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Starts a child. The error says why it cannot be started, and is entered.
    pub(super) fn spawn(&self, connection: u64) -> Result<Spawned, SpawnError> {
        Child::spawn(&self.launch, &self.processes)
            .inspect_err(|error| self.tape.server(connection, Message::End(error.to_string()), None))
    }

    fn start(&self) -> Result<Arc<Pipe>, SpawnError> {
        let connection = self.tape.recorder.connection();
        Ok(Pipe::start(self.spawn(connection)?, self.tape.clone(), connection))
    }

    pub(super) async fn serve(&self, request: Request<Incoming>) -> Response<Body> {
        let (head, body) = request.into_parts();
        let session = head.headers.get(SESSION).map(|id| id.to_str().unwrap_or_default().to_owned());
        let known = session.as_ref().and_then(|id| self.sessions().by_id.get(id).cloned());
        let known = known.filter(|pipe| !pipe.has_ended());
        match (&head.method, session, known) {
            (_, Some(_), None) => plain(StatusCode::NOT_FOUND, "the session is not known, or has ended"),
            (&Method::POST, _, known) => self.post(&head, body, known).await,
            (&Method::GET, Some(_), Some(pipe)) => listen(&pipe),
            (&Method::DELETE, Some(id), Some(pipe)) => {
                let mut sessions = self.sessions();
                sessions.by_id.remove(&id);
                sessions.ending.spawn(async move { pipe.end("the program ended the session").await });
                empty(StatusCode::OK)
            }
            _ => plain(StatusCode::METHOD_NOT_ALLOWED, "without a session there is only POST"),
        }
    }

    async fn post(&self, head: &Parts, body: Incoming, known: Option<Arc<Pipe>>) -> Response<Body> {
        let Some((text, rest)) = collect(body, MAX_LINE).await else {
            return plain(StatusCode::BAD_REQUEST, "the request is not complete");
        };
        let envelope = if rest.is_none() { Envelope::read(&text) } else { Some(Envelope::begin(&text)) };
        let Some(envelope) = envelope else {
            // A batch of messages is valid in one old revision only, and no client sends it.
            return rejection(StatusCode::BAD_REQUEST, -32700, "the body is not a message");
        };
        if !self.tape.admits(&text, rest.is_none()).await {
            return self.tape.refusal();
        }
        let input = match rest {
            None => Input::Whole(text),
            Some(rest) => Input::Long(text, rest),
        };
        let revision = head.headers.get(VERSION).and_then(|revision| revision.to_str().ok());
        let is_modern = envelope.is_modern || envelope.is("server/discover") || revision >= Some(MODERN);
        if let Some(id) = envelope.about.as_ref().filter(|_| envelope.is("notifications/cancelled")) {
            self.tape.recorder.faults().cancel(&self.tape.server, &id.to_string());
        }
        match known {
            Some(pipe) => self.call(&pipe, envelope, input, false).await,
            None if envelope.is("initialize") => self.open(envelope, input).await,
            None if is_modern => match self.shared() {
                Ok(pipe) => self.call(&pipe, envelope, input, true).await,
                Err(error) => failure(&envelope.id.unwrap_or_default(), &error),
            },
            None => rejection(StatusCode::BAD_REQUEST, -32600, "the header Mcp-Session-Id is missing"),
        }
    }

    /// Forwards a message, unless a fault hits it.
    async fn call(&self, pipe: &Arc<Pipe>, envelope: Envelope, input: Input, is_modern: bool) -> Response<Body> {
        let input = match input {
            Input::Whole(text) if envelope.is("tools/call") && envelope.is_request() => {
                let called = fault::call(&text);
                let active = called
                    .as_ref()
                    .and_then(|(_, tool)| self.tape.recorder.faults().fault_for_call(&self.tape.server, tool));
                match (called, active) {
                    (Some((id, _)), Some(active)) => {
                        let (seq, connection) = pipe.enter(&text);
                        if let Some(response) = fault::inject(active, &self.tape, connection, seq, &id).await {
                            return response;
                        }
                        Input::Entered(text, seq)
                    }
                    _ => Input::Whole(text),
                }
            }
            other => other,
        };
        answer(pipe, envelope, input, is_modern).await
    }

    /// Opens a session by its first request.
    async fn open(&self, envelope: Envelope, input: Input) -> Response<Body> {
        // A child that only rejected requests before a handshake is the one that a client over pipes would continue to use.
        let probed = self.sessions().shared.take_if(|pipe| pipe.has_only_refused());
        let pipe = match probed.map_or_else(|| self.start(), Ok) {
            Ok(pipe) => pipe,
            Err(error) => return failure(&envelope.id.unwrap_or_default(), &error),
        };
        let id = match token() {
            Ok(id) => id,
            Err(error) => return failure(&envelope.id.unwrap_or_default(), &error),
        };
        // Known before the reply, so that it is ended with the recording.
        self.sessions().by_id.insert(id.clone(), Arc::clone(&pipe));
        let mut response = answer(&pipe, envelope, input, false).await;
        if response.status().is_success()
            && let Ok(id) = HeaderValue::try_from(id)
        {
            response.headers_mut().insert(SESSION, id);
        }
        self.sessions().by_id.retain(|_, pipe| !pipe.has_ended());
        response
    }

    fn shared(&self) -> Result<Arc<Pipe>, SpawnError> {
        let mut sessions = self.sessions();
        if let Some(pipe) = sessions.shared.as_ref().filter(|pipe| !pipe.has_ended()) {
            return Ok(Arc::clone(pipe));
        }
        let pipe = self.start()?;
        sessions.shared = Some(Arc::clone(&pipe));
        Ok(pipe)
    }

    /// Ends every child. Each task completes when its child has exited.
    pub(super) fn close(&self, tasks: &mut JoinSet<()>) {
        let Sessions { by_id, shared, ending } = std::mem::take(&mut *self.sessions());
        for pipe in by_id.into_values().chain(shared) {
            tasks.spawn(async move { pipe.end("the recording ended").await });
        }
        tasks.spawn(async move { drop(ending.join_all().await) });
    }
}

impl Drop for Stdio {
    fn drop(&mut self) {
        let sessions = std::mem::take(&mut *self.sessions());
        for pipe in sessions.by_id.into_values().chain(sessions.shared) {
            pipe.kill();
        }
    }
}

/// Passes a message to the child, and the reply to the client.
async fn answer(pipe: &Arc<Pipe>, envelope: Envelope, input: Input, is_modern: bool) -> Response<Body> {
    if !envelope.is_request() {
        let sent = pipe.notify(input).await;
        return if sent { empty(StatusCode::ACCEPTED) } else { lost(pipe, &Value::Null) };
    }
    let id = envelope.id.clone().unwrap_or_default();
    let Some(mut pieces) = pipe.ask(envelope, input, is_modern).await else { return lost(pipe, &id) };
    match timeout(SILENCE, pieces.next()).await {
        Ok(None) => lost(pipe, &id),
        Ok(Some(Piece::Message { text, is_reply: true })) => json_response(whole(text)),
        Ok(Some(Piece::Long { parts, is_reply: true })) => json_response(channel(parts)),
        Ok(Some(first)) => events(pipe, pieces, Some(first), id),
        // Clients that wait for headers give up after a while. A stream can show that it is alive.
        Err(_) => events(pipe, pieces, None, id),
    }
}

/// The messages up to the reply as an event stream.
fn events(pipe: &Arc<Pipe>, mut pieces: Pieces, mut first: Option<Piece>, id: Value) -> Response<Body> {
    let (out, frames) = mpsc::channel(1);
    let pipe = Arc::clone(pipe);
    tokio::spawn(async move {
        loop {
            let piece = match first.take() {
                Some(piece) => Some(piece),
                None => tokio::select! {
                    piece = pieces.next() => piece,
                    () = out.closed() => return,
                    () = tokio::time::sleep(SILENCE) => {
                        if out.send(Bytes::from_static(b":\n\n")).await.is_err() {
                            return;
                        }
                        continue;
                    }
                },
            };
            let is_last = match piece {
                Some(piece) => {
                    let is_reply = piece.is_reply();
                    if !event(piece, &out).await {
                        return;
                    }
                    is_reply
                }
                None => {
                    let text = Bytes::from(error(&id, -32000, &format!("mcptest: {}", pipe.why())).to_string());
                    event(Piece::Message { text, is_reply: true }, &out).await;
                    true
                }
            };
            if is_last {
                return;
            }
        }
    });
    event_stream(channel(frames))
}

/// The stream of what belongs to no request.
fn listen(pipe: &Arc<Pipe>) -> Response<Body> {
    let mut pieces = pipe.listen();
    let (out, frames) = mpsc::channel(1);
    tokio::spawn(async move {
        loop {
            let piece = tokio::select! {
                piece = pieces.recv() => piece,
                () = out.closed() => return,
            };
            let Some(piece) = piece else { return };
            if !event(piece, &out).await {
                return;
            }
        }
    });
    event_stream(channel(frames))
}

/// Writes a message as an event. Returns whether the client still reads.
async fn event(piece: Piece, out: &mpsc::Sender<Bytes>) -> bool {
    const START: &[u8] = b"event: message\ndata: ";
    const END: &[u8] = b"\n\n";
    match piece {
        Piece::Message { text, .. } => out.send(Bytes::from([START, &text, END].concat())).await.is_ok(),
        Piece::Long { mut parts, .. } => {
            let mut is_open = out.send(Bytes::from_static(START)).await.is_ok();
            while let Some(part) = parts.recv().await {
                is_open = is_open && out.send(part).await.is_ok();
            }
            is_open && out.send(Bytes::from_static(END)).await.is_ok()
        }
    }
}

pub(super) fn event_stream(body: Body) -> Response<Body> {
    let mut response = Response::new(body);
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("text/event-stream"));
    response.headers_mut().insert(CACHE_CONTROL, HeaderValue::from_static("no-cache"));
    response
}

pub(super) fn json_response(body: Body) -> Response<Body> {
    let mut response = Response::new(body);
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    response
}

pub(super) fn empty(status: StatusCode) -> Response<Body> {
    let mut response = Response::new(whole(Bytes::new()));
    *response.status_mut() = status;
    response
}

fn error(id: &Value, code: i64, message: &str) -> Value {
    json!({ "jsonrpc": "2.0", "id": id, "error": { "code": code, "message": message } })
}

pub(super) fn rejection(status: StatusCode, code: i64, message: &str) -> Response<Body> {
    with_error(status, &error(&Value::Null, code, &format!("mcptest: {message}")))
}

fn with_error(status: StatusCode, error: &Value) -> Response<Body> {
    let mut response = json_response(whole(error.to_string()));
    *response.status_mut() = status;
    response
}

/// The server cannot answer a request.
pub(super) fn failure(id: &Value, why: &impl fmt::Display) -> Response<Body> {
    with_error(StatusCode::BAD_GATEWAY, &error(id, -32000, &format!("mcptest: {why}")))
}

fn lost(pipe: &Pipe, id: &Value) -> Response<Body> {
    failure(id, &pipe.why())
}
