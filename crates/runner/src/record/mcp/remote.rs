//! HTTP clients of a server at a URL: every request and response passes untouched, and the messages in them are read.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

use http_body_util::BodyExt as _;
use hyper::body::Incoming;
use hyper::header::{ACCEPT_ENCODING, CONTENT_ENCODING, CONTENT_LENGTH, CONTENT_TYPE, HeaderValue};
use hyper::http::request::Parts;
use hyper::{HeaderMap, Method, Request, Response, StatusCode};
use mcptest_core::ledger::{self, Mcp, Message, Side};
use reqwest::{Client, Url};
use serde_json::Value;

use super::super::body::Body;
use super::super::capture::{self, Capture, Kind, MAX_KEPT};
use super::super::fault::ActiveFault;
use super::super::listen::plain;
use super::super::model::{client_builder, end_to_end, innermost, learn, text, wants_websocket};
use super::super::tap::{Resumed, Tap, Tapped, collect};
use super::envelope::Envelope;
use super::fault;
use super::stdio::failure;
use super::{Tape, captured, message};
use crate::mcp::endpoint::{address, header_map, host};
use crate::mcp::events::Events;
use crate::mcp::headers::SESSION;
use crate::mcp::{Endpoint, MAX_LINE, Problem};

/// How long a connection is kept for the next request. Common servers close theirs after five seconds, and closing one while a
/// request is sent would look like a fault.
const KEPT: Duration = Duration::from_secs(2);

pub(super) struct Remote {
    pub(super) endpoint: Endpoint,
    pub(super) tape: Tape,
    url: Url,
    /// What the server is sent in addition.
    headers: HeaderMap,
    client: Client,
    connections: Mutex<Connections>,
}

#[derive(Default)]
struct Connections {
    by_session: BTreeMap<String, u64>,
    without_session: Option<u64>,
}

impl fmt::Debug for Remote {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Remote").field("endpoint", &self.endpoint).finish_non_exhaustive()
    }
}

impl Remote {
    pub(super) fn new(endpoint: Endpoint, tape: Tape) -> Result<Self, Problem> {
        let (url, headers, bearer) = match &endpoint {
            Endpoint::Url { url, headers, bearer } => (address(url)?, headers, bearer.as_deref()),
            Endpoint::Command(_) => return Err(Problem::BadUrl("is missing".to_owned())),
        };
        let headers = header_map(headers, bearer)?;
        learn(&tape.recorder, &headers, url.query());
        if let Some(password) = url.password() {
            tape.recorder.learn("password", password);
        }
        for (name, value) in headers.iter().filter_map(|(name, value)| Some((name, value.to_str().ok()?))) {
            tape.recorder.learn(name.as_str(), value);
        }
        let client = client_builder(&url).pool_idle_timeout(KEPT).build();
        let client = client.map_err(|error| Problem::Client(innermost(&error)))?;
        Ok(Self { endpoint, tape, url, headers, client, connections: Mutex::default() })
    }

    fn connections(&self) -> MutexGuard<'_, Connections> {
        self.connections.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The connection that a request belongs to: its session, or the one that all requests without a session share.
    fn connection(&self, session: Option<&str>, opens: bool) -> u64 {
        let new = || self.tape.recorder.connection();
        let mut connections = self.connections();
        match session {
            Some(id) => *connections.by_session.entry(id.to_owned()).or_insert_with(new),
            None if opens => new(),
            None => *connections.without_session.get_or_insert_with(new),
        }
    }

    pub(super) async fn serve(&self, request: Request<Incoming>) -> Response<Body> {
        let (head, body) = request.into_parts();
        if wants_websocket(&head.headers) {
            return plain(StatusCode::UPGRADE_REQUIRED, "WebSocket is not recorded; use HTTP");
        }
        learn(&self.tape.recorder, &head.headers, None);
        match self.collect(&head, body).await {
            Ok((exchange, body)) => {
                if let (Some((id, active)), Some(&seq)) = (exchange.fault(), exchange.seq.get())
                    && let Some(response) = fault::inject(active, &self.tape, exchange.connection, seq, &id).await
                {
                    return response;
                }
                self.forward(head, exchange, body).await
            }
            Err(refused) => refused,
        }
    }

    /// Reads as much of a request as is kept, and enters its message.
    async fn collect(&self, head: &Parts, body: Incoming) -> Result<(Exchange, Option<reqwest::Body>), Response<Body>> {
        let session = text(&head.headers, &SESSION);
        let Some((whole, rest)) = collect(body, MAX_LINE).await else {
            return Err(plain(StatusCode::BAD_REQUEST, "the request is not complete"));
        };
        let envelope = if rest.is_none() { Envelope::read(&whole) } else { Some(Envelope::begin(&whole)) };
        let envelope = envelope.unwrap_or_default();
        if !self.tape.admits(&whole, rest.is_none()).await {
            return Err(self.tape.refusal());
        }
        let opens = envelope.is("initialize");
        let exchange = Exchange {
            tape: self.tape.clone(),
            connection: self.connection(session, opens),
            seq: Arc::default(),
            opens,
            is_request: envelope.is_request(),
            call: (envelope.is("tools/call") && rest.is_none()).then(|| fault::call(&whole)).flatten(),
        };
        if let Some(id) = envelope.about.as_ref().filter(|_| envelope.is("notifications/cancelled")) {
            self.tape.recorder.faults().cancel(&self.tape.server, &id.to_string());
        }
        if let Some(rest) = rest {
            let upload = Upload { capture: Capture::new(MAX_KEPT), exchange: exchange.clone() };
            let body = Resumed { first: Some(whole.into()), rest };
            return Ok((exchange, Some(reqwest::Body::wrap(Tapped::new(body, upload)))));
        }
        if whole.is_empty() {
            return Ok((exchange, None));
        }
        exchange.sent(message(&whole));
        Ok((exchange, Some(whole.into())))
    }

    async fn forward(&self, head: Parts, exchange: Exchange, body: Option<reqwest::Body>) -> Response<Body> {
        let mut headers = end_to_end(&head.headers);
        headers.insert(ACCEPT_ENCODING, HeaderValue::from_static("identity"));
        headers.remove(CONTENT_LENGTH);
        headers.extend(self.headers.clone());
        let mut outgoing = self.client.request(head.method.clone(), self.url.clone()).headers(headers);
        if let Some(body) = body {
            outgoing = outgoing.body(body);
        }
        let mut tap = Watch::new(exchange);
        let response = match outgoing.send().await {
            Ok(response) => response,
            Err(error) => {
                let why = format!("cannot reach {}: {}", host(&self.url), innermost(&error.without_url()));
                tap.is_done = true;
                self.tape.server(tap.exchange.connection, Message::End(why.clone()), tap.exchange.seq.get().copied());
                return failure(&Value::Null, &why);
            }
        };
        let (status, headers) = (response.status(), end_to_end(response.headers()));
        tap.begin(status, &headers);
        self.session(&head, &tap.exchange, status, &headers);
        let mut out = Response::new(Tapped::new(reqwest::Body::from(response), tap).boxed_unsync());
        *out.status_mut() = status;
        *out.headers_mut() = headers;
        out
    }

    /// Notes a session that begins or ends.
    fn session(&self, head: &Parts, exchange: &Exchange, status: StatusCode, headers: &HeaderMap) {
        let mut connections = self.connections();
        if exchange.opens && status.is_success() {
            match text(headers, &SESSION) {
                Some(id) => drop(connections.by_session.insert(id.to_owned(), exchange.connection)),
                None => connections.without_session = Some(exchange.connection),
            }
        }
        if head.method == Method::DELETE
            && status.is_success()
            && let Some(id) = text(&head.headers, &SESSION)
        {
            connections.by_session.remove(id);
            let end = Message::End("the program ended the session".to_owned());
            self.tape.server(exchange.connection, end, None);
        }
    }
}

/// A message of the program and what answers it.
#[derive(Clone)]
struct Exchange {
    tape: Tape,
    connection: u64,
    /// The entry of the message; empty if there is none.
    seq: Arc<OnceLock<u64>>,
    /// Whether it opens a connection.
    opens: bool,
    is_request: bool,
    /// The id and the tool of a call.
    call: Option<(Value, String)>,
}

impl Exchange {
    /// The id of the call, and the fault that hits it.
    fn fault(&self) -> Option<(Value, ActiveFault)> {
        let (id, tool) = self.call.as_ref()?;
        Some((id.clone(), self.tape.recorder.faults().fault_for_call(&self.tape.server, tool)?))
    }

    /// Enters what the program sent. A batch is entered message by message.
    fn sent(&self, message: Message) {
        let mut last = None;
        for message in messages(message) {
            last = Some(self.tape.program(self.connection, message));
        }
        if let Some(seq) = last {
            let _ = self.seq.set(seq);
        }
    }

    fn received(&self, message: Message, status: StatusCode) {
        let status = (status != StatusCode::OK && !matches!(message, Message::Status(_))).then(|| status.as_u16());
        for message in messages(message) {
            let (server, reply_to) = (self.tape.server.clone(), self.seq.get().copied());
            let mcp = Mcp { server, connection: self.connection, from: Side::Server, message, reply_to, status };
            self.tape.recorder.mcp(mcp);
        }
    }
}

fn messages(message: Message) -> Vec<Message> {
    match message {
        Message::Json(Value::Array(batch)) => batch.into_iter().map(Message::Json).collect(),
        one => vec![one],
    }
}

/// Reads the messages of a response as it passes.
struct Watch {
    exchange: Exchange,
    status: StatusCode,
    kind: Kind,
    /// The events of a stream, if it is one that can be read as it arrives.
    events: Option<Events>,
    /// Other messages, or the rest of a stream with an event that is too large.
    capture: Capture,
    has_message: bool,
    has_reply: bool,
    is_done: bool,
}

impl Watch {
    fn new(exchange: Exchange) -> Self {
        Self {
            exchange,
            status: StatusCode::OK,
            kind: Kind::default(),
            events: None,
            capture: Capture::new(MAX_KEPT),
            has_message: false,
            has_reply: false,
            is_done: false,
        }
    }

    fn begin(&mut self, status: StatusCode, headers: &HeaderMap) {
        self.status = status;
        self.kind = Kind::new(text(headers, &CONTENT_TYPE), text(headers, &CONTENT_ENCODING));
        let is_plain_stream = self.kind.content_type == "text/event-stream" && self.kind.encodings.is_empty();
        self.events = is_plain_stream.then(|| Events::new(MAX_LINE));
    }

    fn received(&mut self, message: Message, is_reply: bool) {
        self.has_message = true;
        self.has_reply |= is_reply;
        self.exchange.received(message, self.status);
    }
}

impl Tap for Watch {
    fn chunk(&mut self, chunk: &[u8]) {
        let Some(mut events) = self.events.take() else { return self.capture.push(chunk) };
        let mut found = Vec::new();
        let read = events.push(chunk, |event| {
            if event.is_message() && !event.data.trim_ascii().is_empty() {
                found.push((
                    message(event.data),
                    Envelope::read(event.data).is_some_and(|envelope| envelope.is_reply()),
                ));
            }
        });
        for (message, is_reply) in found {
            self.received(message, is_reply);
        }
        match read {
            Ok(()) => self.events = Some(events),
            Err(_) => {
                self.capture = Capture::new(0);
                self.capture.push(&events.unfinished());
                self.capture.push(chunk);
            }
        }
    }

    fn end(&mut self, broken: Option<String>) {
        self.is_done = true;
        let capture = std::mem::replace(&mut self.capture, Capture::new(0));
        match capture::read(capture, &self.kind, MAX_KEPT) {
            ledger::Body::Json { rest, .. } if is_message(&rest) => self.received(Message::Json(rest), true),
            ledger::Body::Events(events) => {
                for event in events {
                    self.received(Message::Json(event.data), true);
                }
            }
            ledger::Body::Unread(unread) => self.received(Message::Unread(unread), true),
            ledger::Body::Empty | ledger::Body::Json { .. } | ledger::Body::Text(_) => {}
        }
        // Only what answers a message: the streams of sessions come and go.
        let Some(&seq) = self.exchange.seq.get() else { return };
        if let Some(why) = broken {
            let end = Message::End(format!("the response broke off: {why}"));
            self.exchange.tape.server(self.exchange.connection, end, Some(seq));
        } else if !self.has_message && (self.exchange.is_request || !self.status.is_success()) {
            self.received(Message::Status(self.status.as_u16()), true);
        }
    }
}

fn is_message(value: &Value) -> bool {
    value.is_array() || value.get("jsonrpc").is_some()
}

impl Drop for Watch {
    fn drop(&mut self) {
        if !self.is_done
            && self.exchange.is_request
            && !self.has_reply
            && let Some(&seq) = self.exchange.seq.get()
        {
            self.exchange.tape.left(self.exchange.connection, seq);
        }
    }
}

/// The copy of a request that is too large to keep.
struct Upload {
    capture: Capture,
    exchange: Exchange,
}

impl Tap for Upload {
    fn chunk(&mut self, chunk: &[u8]) {
        self.capture.push(chunk);
    }

    fn end(&mut self, _: Option<String>) {
        let capture = std::mem::replace(&mut self.capture, Capture::new(0));
        self.exchange.sent(captured(capture));
    }
}
