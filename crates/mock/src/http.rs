//! The server over Streamable HTTP: one message per POST to `/mcp`.
//!
//! `guard` checks headers, `body` builds bodies. Every connection is a task; the state is shared by all and locked only while a
//! message is answered. When a client closes its connection, the pending answer is dropped.

mod body;
mod guard;

use std::collections::BTreeMap;
use std::future::Future;
use std::io;
use std::pin::pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use http_body_util::{BodyExt, Limited};
use hyper::body::Incoming as Received;
use hyper::header::{ALLOW, CACHE_CONTROL, CONTENT_TYPE, HeaderName, HeaderValue};
use hyper::service::service_fn;
use hyper::{HeaderMap, Method, StatusCode};
use hyper_util::rt::{TokioIo, TokioTimer};
use mcptest_core::json;
use serde_json::Value;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};

use crate::log::{Direction, Log};
use crate::protocol::{
    Era, GARBAGE, HEADER_MISMATCH, INVALID_REQUEST, Incoming, LEGACY_VERSIONS, MODERN_VERSION, Plan, Reaction, Request,
    Send, Server, era_of, error, id_text, parse, required_keys, unsupported,
};
use crate::serve::{End, ServeError};
use crate::state::{Counters, Session, Sessions};
use body::Body;
use guard::{SESSION, VERSION};

const PATH: &str = "/mcp";
/// Largest body that is read.
const MAX_BODY: usize = 16 * 1024 * 1024;
/// How long a client may take to send the head of a request, and then its body. An idle connection is closed after the same
/// time.
const MAX_WAIT: Duration = Duration::from_secs(10);

type Response = hyper::Response<Body>;

/// The connection is closed without an answer.
#[derive(Debug, thiserror::Error)]
#[error("closed on purpose")]
struct Hangup;

struct Shared {
    server: Arc<Server>,
    state: Mutex<ServerState>,
    /// Receives why the server ends.
    ends: mpsc::UnboundedSender<Result<End, ServeError>>,
    bound_to_loopback: bool,
}

struct ServerState {
    log: Log,
    counters: Counters,
    sessions: Sessions,
    /// Answers that a client of the legacy era can cancel, by session and request id.
    waiting: BTreeMap<(String, String), oneshot::Sender<()>>,
}

/// Serves until `stop` resolves or a fault ends it.
pub async fn serve(
    server: Arc<Server>,
    log: Log,
    listener: TcpListener,
    stop: impl Future<Output = ()>,
) -> Result<End, ServeError> {
    let (ends, mut ended) = mpsc::unbounded_channel();
    let state =
        ServerState { log, counters: server.counters(), sessions: Sessions::default(), waiting: BTreeMap::new() };
    let bound_to_loopback = listener.local_addr().is_ok_and(|address| address.ip().is_loopback());
    let shared = Arc::new(Shared { server, state: Mutex::new(state), ends, bound_to_loopback });
    // Dropping it closes every connection.
    let mut connections = JoinSet::new();
    let mut stop = pin!(stop);
    loop {
        tokio::select! {
            biased;
            () = &mut stop => return Ok(End::Stopped),
            Some(end) = ended.recv() => return end,
            Some(_) = connections.join_next() => {}
            accepted = listener.accept() => match accepted {
                Ok((stream, _)) => {
                    connections.spawn(connection(Arc::clone(&shared), stream));
                }
                // Out of file handles, or the client has left: other clients can still be served.
                Err(_) => sleep(Duration::from_millis(10)).await,
            }
        }
    }
}

async fn connection(shared: Arc<Shared>, stream: TcpStream) {
    // Send small answers at once.
    let _ = stream.set_nodelay(true);
    let service = service_fn(move |request| {
        let shared = Arc::clone(&shared);
        async move { shared.answer(request).await }
    });
    // Neither a client that leaves nor a fault that hangs up is an error.
    let mut http = hyper::server::conn::http1::Builder::new();
    let http = http.timer(TokioTimer::new()).header_read_timeout(MAX_WAIT);
    let _ = http.serve_connection(TokioIo::new(stream), service).await;
}

fn plain(status: StatusCode, text: &str) -> Response {
    typed(status, "text/plain; charset=utf-8", Body::whole(format!("{text}\n")))
}

fn typed(status: StatusCode, kind: &'static str, body: Body) -> Response {
    let mut response = Response::new(body);
    *response.status_mut() = status;
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(kind));
    response
}

fn empty(status: StatusCode) -> Response {
    let mut response = Response::new(Body::whole(Bytes::new()));
    *response.status_mut() = status;
    response
}

/// An event stream with one event per message.
fn events(messages: &[&Value]) -> Response {
    let mut text = String::new();
    for message in messages {
        text.push_str(&format!("event: message\ndata: {}\n\n", json::canonical(message)));
    }
    let mut response = typed(StatusCode::OK, "text/event-stream", Body::whole(text));
    response.headers_mut().insert(CACHE_CONTROL, HeaderValue::from_static("no-cache"));
    response.headers_mut().insert(HeaderName::from_static("x-accel-buffering"), HeaderValue::from_static("no"));
    response
}

impl Shared {
    fn state(&self) -> MutexGuard<'_, ServerState> {
        // No change is left half done when a task with the lock is dropped.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A log that cannot be written ends the server.
    fn logged(&self, result: io::Result<()>) -> Result<(), Hangup> {
        result.map_err(|error| {
            let _ = self.ends.send(Err(ServeError::Log(error)));
            Hangup
        })
    }

    async fn answer(&self, request: hyper::Request<Received>) -> Result<Response, Hangup> {
        let (head, body) = request.into_parts();
        if let Some(why) = guard::cross_site(&head.headers, self.bound_to_loopback) {
            return Ok(plain(StatusCode::FORBIDDEN, why));
        }
        if head.uri.path() != PATH {
            return Ok(plain(StatusCode::NOT_FOUND, &format!("not found: messages go to {PATH}")));
        }
        match head.method {
            Method::POST => self.post(&head.headers, body).await,
            Method::DELETE => Ok(self.delete(&head.headers)),
            _ => {
                let mut response = plain(StatusCode::METHOD_NOT_ALLOWED, "messages are sent by POST");
                response.headers_mut().insert(ALLOW, HeaderValue::from_static("POST, DELETE"));
                Ok(response)
            }
        }
    }

    fn delete(&self, headers: &HeaderMap) -> Response {
        match guard::single(headers, &SESSION) {
            None => plain(StatusCode::BAD_REQUEST, "the session to end is missing: send Mcp-Session-Id"),
            Some(id) if self.state().sessions.close(id) => empty(StatusCode::NO_CONTENT),
            Some(_) => plain(StatusCode::NOT_FOUND, "there is no such session"),
        }
    }

    async fn post(&self, headers: &HeaderMap, body: Received) -> Result<Response, Hangup> {
        if !guard::sends_json(headers) {
            return Ok(plain(StatusCode::UNSUPPORTED_MEDIA_TYPE, "the body must be application/json"));
        }
        if !guard::accepts_json(headers) {
            return Ok(plain(StatusCode::NOT_ACCEPTABLE, "the response is application/json"));
        }
        let Ok(received) = timeout(MAX_WAIT, Limited::new(body, MAX_BODY).collect()).await else {
            let why = format!("the body was not complete after {} s", MAX_WAIT.as_secs());
            return Ok(plain(StatusCode::REQUEST_TIMEOUT, &why));
        };
        let bytes = match received {
            Ok(body) => body.to_bytes(),
            Err(error) if error.is::<http_body_util::LengthLimitError>() => {
                return Ok(plain(StatusCode::PAYLOAD_TOO_LARGE, &format!("a message has at most {MAX_BODY} bytes")));
            }
            // The client closed the connection.
            Err(_) => return Err(Hangup),
        };
        let value = match parse(&bytes) {
            Ok(value) => value,
            Err(reply) => {
                let logged = self.state().log.raw(Direction::In, &bytes);
                self.logged(logged)?;
                return self.say(StatusCode::BAD_REQUEST, &reply);
            }
        };
        let logged = self.state().log.message(Direction::In, &value);
        self.logged(logged)?;
        match Incoming::read(value) {
            Err(reply) => self.say(StatusCode::BAD_REQUEST, &reply),
            Ok(Incoming::Request(request)) => self.request(headers, request).await,
            Ok(other) => self.other(headers, other),
        }
    }

    /// A response with one message.
    fn say(&self, status: StatusCode, message: &Value) -> Result<Response, Hangup> {
        let logged = self.state().log.message(Direction::Out, message);
        self.logged(logged)?;
        Ok(typed(status, "application/json", Body::whole(json::canonical(message))))
    }

    /// A notification, or a response that was not requested.
    fn other(&self, headers: &HeaderMap, message: Incoming) -> Result<Response, Hangup> {
        match guard::single(headers, &VERSION) {
            Some(MODERN_VERSION) if message == Incoming::Response => {
                let why = "Invalid request: a client sends requests and notifications";
                self.say(StatusCode::BAD_REQUEST, &error(&Value::Null, INVALID_REQUEST, why, None))
            }
            // In this era a client cancels by closing the connection.
            Some(MODERN_VERSION) => Ok(empty(StatusCode::ACCEPTED)),
            Some(version) if !LEGACY_VERSIONS.contains(&version) => {
                self.say(StatusCode::BAD_REQUEST, &unsupported(&Value::Null, version))
            }
            _ => match self.session(headers, &Value::Null) {
                Err((status, reply)) => self.say(status, &reply),
                Ok(session) => {
                    let mut state = self.state();
                    let mut greeted = Session { initialized: true };
                    if let Reaction::Cancel(id) =
                        self.server.receive(&mut state.counters, &mut greeted, message, Era::Legacy)
                        && let Some(cancelled) = state.waiting.remove(&(session, id_text(&id)))
                    {
                        // It may just have been answered.
                        let _ = cancelled.send(());
                    }
                    Ok(empty(StatusCode::ACCEPTED))
                }
            },
        }
    }

    /// The session of a request of the legacy era.
    fn session(&self, headers: &HeaderMap, id: &Value) -> Result<String, (StatusCode, Value)> {
        let refuse = |status, why: &str| Err((status, error(id, INVALID_REQUEST, why, None)));
        match guard::single(headers, &SESSION) {
            None => refuse(StatusCode::BAD_REQUEST, "Bad Request: Missing session ID"),
            Some(session) if self.state().sessions.has(session) => Ok(session.to_owned()),
            Some(_) => refuse(StatusCode::NOT_FOUND, "Session not found"),
        }
    }

    async fn request(&self, headers: &HeaderMap, request: Request) -> Result<Response, Hangup> {
        let version = guard::single(headers, &VERSION);
        let shown = era_of(&request);
        match version {
            // The handshake belongs to the legacy era regardless of the header, unless its body is modern.
            _ if request.method == "initialize" && shown == Era::Legacy => self.legacy(headers, request).await,
            Some(MODERN_VERSION) => self.modern(headers, request).await,
            _ if shown == Era::Modern => self.modern(headers, request).await,
            Some(version) if !LEGACY_VERSIONS.contains(&version) => {
                self.say(StatusCode::BAD_REQUEST, &unsupported(&request.id, version))
            }
            _ => self.legacy(headers, request).await,
        }
    }

    async fn modern(&self, headers: &HeaderMap, request: Request) -> Result<Response, Hangup> {
        let wrong = match required_keys(&request) {
            Ok(version) => guard::mismatch(headers, &request, version, &self.server),
            Err(plan) => return self.carry_out(plan, None).await,
        };
        if let Some(wrong) = wrong {
            return self.say(StatusCode::BAD_REQUEST, &error(&request.id, HEADER_MISMATCH, &wrong, None));
        }
        match self.react(request, Era::Modern) {
            Some(plan) => self.carry_out(plan, None).await,
            None => Ok(empty(StatusCode::ACCEPTED)),
        }
    }

    async fn legacy(&self, headers: &HeaderMap, request: Request) -> Result<Response, Hangup> {
        let opens = request.method == "initialize";
        let session = if opens { Ok(String::new()) } else { self.session(headers, &request.id) };
        let session = match session {
            Ok(session) => session,
            Err((status, reply)) => return self.say(status, &reply),
        };
        let Some(plan) = self.react(request, Era::Legacy) else { return Ok(empty(StatusCode::ACCEPTED)) };
        let greeted = opens && matches!(&plan.send, Send::Message(reply) if reply.get("result").is_some());
        let mut response = self.carry_out(plan, Some(session)).await?;
        if greeted && let Ok(id) = HeaderValue::from_str(&self.state().sessions.open()) {
            response.headers_mut().insert(SESSION, id);
        }
        Ok(response)
    }

    fn react(&self, request: Request, era: Era) -> Option<Plan> {
        let mut state = self.state();
        // A session exists only after its handshake.
        let mut greeted = Session { initialized: true };
        match self.server.receive(&mut state.counters, &mut greeted, Incoming::Request(request), era) {
            Reaction::Answer(plan) => Some(plan),
            Reaction::Ignore | Reaction::Cancel(_) => None,
        }
    }

    /// Waits for the delay of the plan. Returns whether it was canceled first.
    async fn wait(&self, plan: &Plan, session: Option<String>) -> bool {
        let never = plan.send == Send::Never;
        if plan.delay.is_zero() && !never {
            return false;
        }
        let cancelled = match session {
            Some(session) if plan.cancellable => Some(self.wait_for(session, &plan.id)),
            _ => None,
        };
        let cancel = async {
            match cancelled {
                Some(mut waiting) => waiting.cancelled().await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            biased;
            () = sleep(plan.delay), if !never => false,
            () = cancel => true,
        }
    }

    /// Builds the response to a request.
    async fn carry_out(&self, plan: Plan, session: Option<String>) -> Result<Response, Hangup> {
        if self.wait(&plan, session).await {
            // A stream that ends without an answer closes the request.
            return Ok(events(&[]));
        }
        match plan.send {
            Send::Message(reply) => {
                let status = match (plan.rejected, reply["error"]["code"].as_i64()) {
                    (true, Some(-32601)) => StatusCode::NOT_FOUND,
                    (true, _) => StatusCode::BAD_REQUEST,
                    (false, _) => StatusCode::OK,
                };
                self.say(status, &reply)
            }
            Send::Twice(reply) => {
                for _ in 0..2 {
                    let logged = self.state().log.message(Direction::Out, &reply);
                    self.logged(logged)?;
                }
                Ok(events(&[&reply, &reply]))
            }
            Send::Garbage => {
                let logged = self.state().log.raw(Direction::Out, GARBAGE);
                self.logged(logged)?;
                Ok(typed(StatusCode::OK, "application/json", Body::whole(GARBAGE)))
            }
            Send::Flood(flood) => {
                let note = format!("a reply with {} MiB of text", flood.mib);
                let logged = self.state().log.note(Direction::Out, &note);
                self.logged(logged)?;
                Ok(typed(StatusCode::OK, "application/json", Body::flood(flood)))
            }
            Send::Crash => {
                let _ = self.ends.send(Ok(End::Crashed));
                Err(Hangup)
            }
            Send::Close | Send::Never => Err(Hangup),
        }
    }

    fn wait_for(&self, session: String, id: &Value) -> Waiting<'_> {
        let key = (session, id_text(id));
        let (sender, receiver) = oneshot::channel();
        self.state().waiting.insert(key.clone(), sender);
        Waiting { shared: self, key, receiver }
    }
}

/// An answer that can be canceled. It is removed from the list when its connection is closed.
struct Waiting<'s> {
    shared: &'s Shared,
    key: (String, String),
    receiver: oneshot::Receiver<()>,
}

impl Waiting<'_> {
    async fn cancelled(&mut self) {
        if (&mut self.receiver).await.is_err() {
            // Another request with the same id took its place; this one can no longer be canceled.
            std::future::pending::<()>().await;
        }
    }
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        self.receiver.close();
        // The sender of another request with this id is not closed, and stays.
        let mut state = self.shared.state();
        if state.waiting.get(&self.key).is_some_and(oneshot::Sender::is_closed) {
            state.waiting.remove(&self.key);
        }
    }
}
