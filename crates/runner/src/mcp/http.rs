//! Messages over Streamable HTTP: each is sent by POST, and the response to a request contains its reply.
//!
//! There are no retries and no second session: what a server did is evidence, and a retry would hide it. Redirects are not
//! followed, because they would leak headers and tokens. `stream` reads event streams.

mod stream;

use std::collections::BTreeMap;
use std::error::Error;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use mcptest_core::json;
use mcptest_core::redact::Redactor;
use reqwest::header::{ACCEPT, CONTENT_TYPE, HeaderMap, HeaderValue, LOCATION};
use reqwest::{Client, RequestBuilder, Response, StatusCode, Url};
use serde_json::Value;
use tokio::sync::{mpsc, oneshot};
use tokio::task::{AbortHandle, JoinSet};
use tokio::time::timeout;

use super::endpoint::{address, header_map, host};
use super::error::Problem;
use super::exchange::{Exchange, Failure, Reply};
use super::headers::{self, HeaderArgs, SESSION, VERSION};
use super::lines::MAX_LINE;
use super::message::Message;
use super::negotiation::MODERN;
use crate::process::printable;
use crate::tls;

/// The longest stream that answers one request. A single reply is limited like a line.
pub const MAX_ANSWER: usize = 64 * 1024 * 1024;

/// How much of an error response is read: it may be a protocol error, or is quoted.
const MAX_REFUSAL: usize = 1024 * 1024;
/// How much of a response is shown.
const SHOWN: usize = 200;
/// Answers to the server's requests that wait to be sent. Further ones are dropped.
const QUEUE: usize = 64;
/// How long sending one of them may take, and closing a session.
const GRACE: Duration = Duration::from_secs(1);
/// How long a connection is kept for the next request. Common servers close theirs after five seconds, and closing one while a
/// request is sent would look like a fault.
const KEPT: Duration = Duration::from_secs(2);
/// How long to wait for a server to open its own stream. Some answer only when they have something to send.
const LISTEN: Duration = Duration::from_millis(200);
/// How long to wait for a sign of the older transport.
const OLD_TRANSPORT: Duration = Duration::from_secs(2);

/// A server at a URL. Requests in progress are dropped with it.
#[derive(Debug)]
pub(crate) struct Http(Outbox);

/// Where messages go out. Clones share it.
#[derive(Debug, Clone)]
pub(super) struct Outbox {
    peer: Arc<Peer>,
    tasks: Arc<Mutex<Tasks>>,
}

#[derive(Debug, Default)]
struct Tasks {
    all: JoinSet<()>,
    /// Requests in progress, by their id.
    requests: BTreeMap<i64, AbortHandle>,
    closed: bool,
}

struct Peer {
    client: Client,
    url: Url,
    headers: HeaderMap,
    redactor: Redactor,
    exchange: Arc<Exchange>,
    answers: mpsc::Sender<Vec<u8>>,
    negotiation: Mutex<Negotiation>,
}

/// The result of the current negotiation.
#[derive(Default)]
struct Negotiation {
    session: Option<HeaderValue>,
    repeated: Arc<HeaderArgs>,
}

impl fmt::Debug for Peer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Peer").field("host", &host(&self.url)).finish_non_exhaustive()
    }
}

impl Http {
    /// Prepares the client; nothing is sent.
    pub(crate) fn new(
        url: &str,
        headers: &BTreeMap<String, String>,
        bearer: Option<&str>,
        exchange: &Arc<Exchange>,
    ) -> Result<Self, Problem> {
        let url = address(url)?;
        let redactor = Redactor::new(secrets(&url, headers, bearer));
        let mut headers = header_map(headers, bearer)?;
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        headers.insert(ACCEPT, HeaderValue::from_static("application/json, text/event-stream"));
        let mut client = tls::client().retry(reqwest::retry::never()).pool_idle_timeout(KEPT);
        if tls::is_local(&url) {
            client = client.no_proxy();
        }
        if url.scheme() == "http" {
            // Plain HTTP needs no CA certificates, and small containers have none.
            client = client.tls_certs_only([]);
        }
        let client = client.build().map_err(|error| Problem::Client(innermost(&error)))?;
        let (answers, mut queue) = mpsc::channel::<Vec<u8>>(QUEUE);
        let exchange = Arc::clone(exchange);
        let peer = Arc::new(Peer { client, url, headers, redactor, exchange, answers, negotiation: Mutex::default() });
        let mut tasks = Tasks::default();
        let sender = Arc::clone(&peer);
        tasks.all.spawn(async move {
            while let Some(line) = queue.recv().await {
                // If the server does not accept the answer, only the server is affected.
                let _ = timeout(GRACE, sender.post(&Value::Null, line)).await;
            }
        });
        Ok(Self(Outbox { peer, tasks: Arc::new(Mutex::new(tasks)) }))
    }

    /// Starts a new negotiation and drops the requests of the previous one.
    pub(super) fn begin(&self) {
        let mut tasks = self.0.tasks();
        for request in std::mem::take(&mut tasks.requests).into_values() {
            request.abort();
        }
        *self.0.peer.negotiation() = Negotiation::default();
    }

    /// Sets which arguments are repeated in headers.
    pub(crate) fn repeat(&self, repeated: HeaderArgs) {
        self.0.peer.negotiation().repeated = Arc::new(repeated);
    }

    /// Sends a message with this text. A request is sent in the background; its reply is delivered to the exchange.
    pub(crate) fn push(
        &self,
        message: Value,
        text: Vec<u8>,
    ) -> impl Future<Output = Result<(), Failure>> + Send + 'static {
        self.0.push(message, text)
    }

    pub(super) fn host(&self) -> String {
        host(&self.0.peer.url)
    }

    /// Whether the URL is an endpoint of the older transport (HTTP+SSE).
    pub(super) async fn speaks_http_sse(&self) -> bool {
        timeout(OLD_TRANSPORT, self.0.peer.speaks_http_sse()).await.unwrap_or(false)
    }

    /// Drops requests in progress, and closes the session. Whether that succeeds does not matter.
    pub(crate) async fn end(self) {
        self.0.close();
        let peer = &self.0.peer;
        if peer.negotiation().session.is_some() {
            let delete = peer.client.delete(peer.url.clone()).headers(peer.headers(&Value::Null));
            let _ = timeout(GRACE, delete.send()).await;
        }
    }
}

impl Drop for Http {
    fn drop(&mut self) {
        self.0.close();
    }
}

impl Outbox {
    fn tasks(&self) -> MutexGuard<'_, Tasks> {
        self.tasks.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn close(&self) {
        let mut tasks = self.tasks();
        tasks.closed = true;
        tasks.all.abort_all();
    }

    fn push(&self, message: Value, text: Vec<u8>) -> impl Future<Output = Result<(), Failure>> + Send + 'static {
        let number = message.get("id").and_then(Value::as_i64);
        let method = message.get("method").and_then(Value::as_str);
        let is_cancel = method == Some("notifications/cancelled");
        let greets = method == Some("notifications/initialized");
        let peer = Arc::clone(&self.peer);
        let left = if let Some(number) = number {
            self.spawn(Some(number), async move { peer.ask(&message, text, number).await });
            None
        } else if is_cancel {
            self.cancel(message, text);
            None
        } else {
            Some((self.clone(), message, text))
        };
        async move {
            let Some((outbox, message, text)) = left else { return Ok(()) };
            // Sent before the next request: servers require the end of the handshake first.
            outbox.peer.notify(&message, text).await?;
            if greets {
                outbox.listen().await;
            }
            Ok(())
        }
    }

    /// Opens the stream for the server's own requests. A server that accepts one connection at a time needs this before other
    /// requests.
    async fn listen(&self) {
        let (opened, is_open) = oneshot::channel();
        let peer = Arc::clone(&self.peer);
        self.spawn(None, async move { peer.listen(opened).await });
        let _ = timeout(LISTEN, is_open).await;
    }

    /// In the stateless era closing the connection cancels; before, a notification is needed.
    fn cancel(&self, message: Value, text: Vec<u8>) {
        if !self.peer.is_modern() {
            let peer = Arc::clone(&self.peer);
            self.spawn(None, async move { drop(peer.notify(&message, text).await) });
        } else if let Some(number) = message.pointer("/params/requestId").and_then(Value::as_i64)
            && let Some(request) = self.tasks().requests.remove(&number)
        {
            request.abort();
        }
    }

    fn spawn(&self, number: Option<i64>, task: impl Future<Output = ()> + Send + 'static) {
        let mut tasks = self.tasks();
        if tasks.closed {
            return;
        }
        while tasks.all.try_join_next().is_some() {}
        tasks.requests.retain(|_, request| !request.is_finished());
        let handle = tasks.all.spawn(task);
        if let Some(number) = number {
            tasks.requests.insert(number, handle);
        }
    }
}

impl Peer {
    fn negotiation(&self) -> MutexGuard<'_, Negotiation> {
        self.negotiation.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether there is no handshake.
    fn is_modern(&self) -> bool {
        self.exchange.revision().as_deref() == Some(MODERN)
    }

    /// The headers of a message; null for requests without a message.
    fn headers(&self, message: &Value) -> HeaderMap {
        let mut out = self.headers.clone();
        let negotiation = self.negotiation();
        let revision = self.exchange.revision();
        if revision.as_deref() == Some(MODERN) {
            out.extend(headers::modern(message, MODERN, &negotiation.repeated));
            return out;
        }
        if let Some(revision) = revision.and_then(|revision| HeaderValue::try_from(revision).ok()) {
            out.insert(VERSION, revision);
        }
        if let Some(session) = &negotiation.session {
            out.insert(SESSION, session.clone());
        }
        out
    }

    async fn post(&self, message: &Value, body: Vec<u8>) -> Result<Response, Failure> {
        let request = self.client.post(self.url.clone()).headers(self.headers(message));
        self.exchange.sent(body.len());
        self.send(request.body(body)).await
    }

    async fn send(&self, request: RequestBuilder) -> Result<Response, Failure> {
        request.send().await.map_err(|error| {
            let (host, why) = (host(&self.url), innermost(&error));
            Failure::Broken(if error.is_connect() {
                format!("cannot connect to {host}: {why}")
            } else {
                format!("the connection to {host} was lost before a response arrived: {why}")
            })
        })
    }

    /// Sends a message without a reply.
    async fn notify(&self, message: &Value, text: Vec<u8>) -> Result<(), Failure> {
        let response = self.post(message, text).await?;
        if response.status().is_success() { Ok(()) } else { Err(self.refusal(response).await.0) }
    }

    /// Sends a request and delivers its reply, or why there is none.
    async fn ask(&self, message: &Value, text: Vec<u8>, number: i64) {
        let outcome = self.reply(message, text, number).await;
        let none = || Failure::Broken("the server's response ended without a reply".to_owned());
        self.exchange.fail(number, outcome.err().unwrap_or_else(none));
    }

    async fn reply(&self, message: &Value, text: Vec<u8>, number: i64) -> Result<(), Failure> {
        let response = self.post(message, text).await?;
        let status = response.status();
        if !status.is_success() {
            let (failure, body) = self.refusal(response).await;
            // Denied access is reported as such, even if the body is a protocol error.
            let is_answer = status.is_client_error()
                && !matches!(status.as_u16(), 401 | 403 | 429)
                && matches!(failure, Failure::Status(..))
                && is_error(&body);
            if !is_answer {
                return Err(failure);
            }
            self.take(number, &body);
            return Ok(());
        }
        if message.get("method").and_then(Value::as_str) == Some("initialize")
            && let Some(session) = response.headers().get(SESSION)
        {
            let mut session = session.clone();
            session.set_sensitive(true);
            self.negotiation().session = Some(session);
        }
        match kind(&response).as_str() {
            "application/json" => {
                let body = self.whole(response).await?;
                self.take(number, &body);
                if self.exchange.waits(number) {
                    let shown = self.shown(&body);
                    return Err(Failure::Broken(format!(
                        "the server's response is not a reply to the request: {shown}"
                    )));
                }
                Ok(())
            }
            "text/event-stream" => self.stream(response, number).await,
            "" => Err(Failure::Broken(format!("the server answered {status} without a reply"))),
            other => {
                let kind = json::cut(&printable(other.as_bytes()), 80);
                let shown = self.start(response).await;
                let shown = self.shown(&shown);
                Err(Failure::Broken(format!(
                    "the server answered {status} with `{kind}`, which is neither JSON nor an event stream: {shown}"
                )))
            }
        }
    }

    /// Takes a message in the response to a request.
    fn take(&self, number: i64, line: &[u8]) {
        if let Some(answer) = self.exchange.answering(number, line) {
            // Full if the server sends requests faster than it accepts answers.
            let _ = self.answers.try_send(answer);
        }
    }

    /// The next bytes of a response of at most `most` bytes, of which `left` remain.
    async fn chunk(&self, response: &mut Response, left: &mut usize, most: usize) -> Result<Option<Vec<u8>>, Failure> {
        let chunk = response.chunk().await.map_err(|error| broke(&self.url, &error))?.map(Vec::from);
        spend(left, chunk.as_ref().map_or(0, Vec::len), most)?;
        Ok(chunk)
    }

    async fn whole(&self, mut response: Response) -> Result<Vec<u8>, Failure> {
        let (mut body, mut left) = (Vec::new(), MAX_LINE);
        while let Some(chunk) = self.chunk(&mut response, &mut left, MAX_LINE).await? {
            body.extend_from_slice(&chunk);
        }
        Ok(body)
    }

    /// The start of a response, to be quoted.
    async fn start(&self, mut response: Response) -> Vec<u8> {
        let (mut body, mut left) = (Vec::new(), MAX_REFUSAL);
        while let Ok(Some(chunk)) = self.chunk(&mut response, &mut left, MAX_REFUSAL).await {
            body.extend_from_slice(&chunk);
        }
        body
    }

    /// The meaning of an error response, and its body.
    async fn refusal(&self, response: Response) -> (Failure, Vec<u8>) {
        let status = response.status();
        let in_session = self.negotiation().session.is_some();
        if status == StatusCode::NOT_FOUND && in_session {
            let what = "the server no longer knows the session (404 Not Found), and a run has only one session";
            return (Failure::Broken(what.to_owned()), Vec::new());
        }
        if status.is_redirection() {
            let target = response.headers().get(LOCATION).and_then(|target| target.to_str().ok());
            let target = target.and_then(|target| self.url.join(target).ok());
            let target = target.map_or_else(|| "nowhere".to_owned(), |url| format!("`{}`", host(&url)));
            let what = format!("{status} and redirects to {target}; redirects are not followed");
            return (Failure::Status(status.as_u16(), what), Vec::new());
        }
        let body = self.start(response).await;
        let shown = self.shown(&body);
        let what = if shown.is_empty() { status.to_string() } else { format!("{status}: {shown}") };
        (Failure::Status(status.as_u16(), what), body)
    }

    /// An excerpt of a response, on one line, without secrets: a server may echo what it was sent.
    fn shown(&self, body: &[u8]) -> String {
        let text = printable(body);
        let words: Vec<&str> = text.split_whitespace().collect();
        json::cut(&self.redactor.text(&words.join(" ")), SHOWN)
    }
}

fn broke(url: &Url, error: &reqwest::Error) -> Failure {
    let (host, why) = (host(url), innermost(error));
    Failure::Broken(format!("the connection to {host} was lost during the response: {why}"))
}

/// Subtracts `length` from the remaining bytes.
fn spend(left: &mut usize, length: usize, most: usize) -> Result<(), Failure> {
    let rest = left.checked_sub(length);
    *left = rest.ok_or_else(|| Failure::Broken(format!("the server's response has more than {most} bytes")))?;
    Ok(())
}

/// Secrets that a server is sent and may echo, by name.
fn secrets(url: &Url, headers: &BTreeMap<String, String>, bearer: Option<&str>) -> Vec<(String, String)> {
    let token = bearer.map(|token| ("bearer token".to_owned(), token.to_owned()));
    // A server echoes `Bearer x`, or only `x`.
    let headers = headers.iter().flat_map(|(name, value)| {
        let last = value.rsplit_once(' ').map(|(_, last)| last.to_owned());
        std::iter::once(value.clone()).chain(last).map(|value| (name.clone(), value))
    });
    let query = url.query_pairs().map(|(_, value)| value.into_owned());
    // The same without decoding.
    let written =
        url.query().unwrap_or_default().split('&').filter_map(|pair| Some(pair.split_once('=')?.1.to_owned()));
    let address = url.password().map(str::to_owned).into_iter().chain(query).chain(written);
    token.into_iter().chain(headers).chain(address.map(|value| ("url".to_owned(), value))).collect()
}

/// The content type of a response, without parameters.
fn kind(response: &Response) -> String {
    let kind = response.headers().get(CONTENT_TYPE).and_then(|kind| kind.to_str().ok()).unwrap_or_default();
    kind.split(';').next().unwrap_or_default().trim().to_ascii_lowercase()
}

/// Whether a body is a protocol error.
fn is_error(body: &[u8]) -> bool {
    matches!(Message::read(body), Some(Message::Reply { reply: Reply::Error(Value::Object(_)), .. }))
}

/// The innermost cause of an error. The outer messages may contain the URL.
fn innermost(error: &reqwest::Error) -> String {
    let mut at: &dyn Error = error;
    while let Some(source) = at.source() {
        at = source;
    }
    // Without a source there is only the message that may contain the URL.
    if at.is::<reqwest::Error>() { "the request cannot be sent".to_owned() } else { at.to_string() }
}
