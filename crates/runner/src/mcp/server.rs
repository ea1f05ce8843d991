//! A connection to a server: a child with its pipes, or a URL.

use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use mcptest_core::json;
use serde_json::{Map, Value, json};
use tokio::runtime::Handle;
use tokio::time::timeout;

use super::endpoint::Endpoint;
use super::error::Problem;
use super::exchange::{End, Exchange, Failure, Reply};
use super::headers::{self, HeaderArgs, InvalidHeaderMark};
use super::http::Http;
use super::lines::Lines;
use super::negotiation::{self, Era, MODERN};
use crate::catalog::Tool;
use crate::process::{Child, Processes, Spawned};

/// How long a server that closed its output may take to exit, so that its exit status can be reported.
pub(crate) const EXIT_GRACE: Duration = Duration::from_millis(500);
/// How long a cancellation may take to be queued: a server that does not read must not block its caller twice.
const CANCEL_GRACE: Duration = Duration::from_secs(1);
/// How much of a server's standard error is included in the result of a call: lines, and characters per line.
const STDERR_TAIL: (usize, usize) = (5, 200);

/// A running server and the messages to and from it.
#[derive(Debug)]
pub(super) struct Server {
    pub(super) exchange: Arc<Exchange>,
    link: Link,
}

#[derive(Debug)]
enum Link {
    Pipes { lines: Lines, child: Child },
    Http(Http),
}

/// Why a request has no reply.
pub(super) enum NoReply {
    Timeout,
    Ended,
}

impl Server {
    pub(super) fn start(endpoint: &Endpoint, processes: &Processes) -> Result<Self, Problem> {
        let exchange = Arc::new(Exchange::new());
        let link = match endpoint {
            Endpoint::Command(launch) => {
                let Spawned { child, stdin, stdout } = Child::spawn(launch, processes)?;
                let lines = Lines::start(&exchange, stdin, stdout, child.exit());
                Link::Pipes { lines, child }
            }
            Endpoint::Url { url, headers, bearer } => {
                Link::Http(Http::new(url, headers, bearer.as_deref(), &exchange)?)
            }
        };
        Ok(Self { exchange, link })
    }

    /// Begins a negotiation in this revision; in none if it has a handshake.
    pub(super) fn begin(&self, revision: Option<&str>) {
        self.exchange.set_revision(revision);
        if let Link::Http(http) = &self.link {
            http.begin();
        }
    }

    /// Sends a request and waits for its reply, as received. A request that is late or dropped is canceled.
    pub(super) async fn ask(
        &self,
        method: &str,
        mut params: Map<String, Value>,
        limit: Duration,
    ) -> Result<(Reply, usize), NoReply> {
        let (id, reply) = self.exchange.request();
        // The first request of a connection must not be canceled.
        let cancels = !Era::ALL.iter().any(|era| era.opening() == method);
        let waiting = Waiting { server: self, id, cancels };
        if let Some(meta) = negotiation::meta(self.exchange.revision().as_deref(), cancels.then_some(id)) {
            params.insert("_meta".to_owned(), meta);
        }
        let sent = self.push(json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }));
        let replied = timeout(limit, async {
            // A request fails by its reply.
            let _ = sent.await;
            reply.await
        });
        match replied.await {
            Ok(reply) => reply.map_err(|_| NoReply::Ended),
            Err(_) => {
                let reason = format!("no answer within {} ms", limit.as_millis());
                if let Some(cancel) = waiting.cancel(&reason) {
                    let _ = cancel.await;
                }
                Err(NoReply::Timeout)
            }
        }
    }

    /// Sends or queues a message.
    pub(super) fn push(&self, message: Value) -> Pin<Box<dyn Future<Output = Result<(), Failure>> + Send>> {
        let text = message.to_string().into_bytes();
        match &self.link {
            Link::Pipes { lines, .. } => {
                let queued = lines.queue().push(text);
                Box::pin(async move {
                    queued.await;
                    Ok(())
                })
            }
            Link::Http(http) => Box::pin(http.push(message, text)),
        }
    }

    /// Remembers the tools for later calls. Removes and returns those that a client must not offer, with the reason.
    pub(super) fn listed(&self, tools: &mut Vec<Tool>) -> Vec<(String, InvalidHeaderMark)> {
        let Link::Http(http) = &self.link else { return Vec::new() };
        let mut forbidden = Vec::new();
        if self.exchange.revision().as_deref() == Some(MODERN) {
            tools.retain(|tool| match headers::forbidden(tool) {
                Some(why) => {
                    forbidden.push((tool.name.clone(), why));
                    false
                }
                None => true,
            });
        }
        http.repeat(HeaderArgs::of(tools));
        forbidden
    }

    /// Whether it was not started here.
    pub(super) fn is_remote(&self) -> bool {
        matches!(self.link, Link::Http(_))
    }

    /// Replaces a problem by a better one if the server uses the older transport.
    pub(super) async fn explain(&self, problem: Problem) -> Problem {
        let is_refusal = matches!(
            problem,
            Problem::Http { status: 400..=499, .. } | Problem::Refused { .. } | Problem::NeitherEra { .. }
        );
        match &self.link {
            Link::Http(http) if is_refusal && http.speaks_http_sse().await => Problem::OldTransport,
            _ => problem,
        }
    }

    /// Why a closed connection gives no answer.
    pub(super) async fn lost(&self, step: String) -> Problem {
        let child = match &self.link {
            Link::Pipes { child, .. } => child,
            Link::Http(http) => {
                let what = format!("the connection to {} was closed", http.host());
                return Problem::Remote { step, what };
            }
        };
        // A failed write is seen before the end of the connection.
        let end = timeout(EXIT_GRACE, self.exchange.ended()).await;
        if let Ok(End::TooLong(limit)) = end {
            return Problem::LineTooLong { limit };
        }
        match (child.exit_within(EXIT_GRACE).await, end) {
            (Some(status), _) => Problem::Ended { status, step },
            (None, Ok(End::Broken(what))) => Problem::Broken { step, what },
            (None, _) => Problem::Closed { step },
        }
    }

    /// Why a call gets no answer, for its result.
    pub(super) async fn exit_message(&self) -> String {
        let mut text = match self.lost(String::new()).await {
            Problem::Ended { status, .. } => format!("the server exited ({status})"),
            Problem::LineTooLong { limit } => format!("the server sent a line of more than {limit} bytes"),
            Problem::Broken { what, .. } => format!("the connection to the server was lost: {what}"),
            Problem::Remote { what, .. } => what,
            _ => "the server closed its standard output".to_owned(),
        };
        text.push_str(&stderr_tail(&self.stderr().await));
        text
    }

    /// The first line of output that was not a message. Over HTTP it is part of the error of its response.
    pub(super) fn noise(&self) -> Option<String> {
        self.exchange.noise().filter(|_| !self.is_remote())
    }

    pub(super) async fn stderr(&self) -> String {
        match &self.link {
            Link::Pipes { child, .. } => child.stderr().await,
            Link::Http(_) => String::new(),
        }
    }

    pub(super) async fn end(self) {
        match self.link {
            Link::Pipes { lines, child } => {
                lines.close();
                // Stop the reader last: a full pipe must not block a server that still writes while it exits.
                child.end().await;
                drop(lines);
            }
            Link::Http(http) => http.end().await,
        }
    }
}

/// The last lines of standard error, to be appended to a message.
pub(crate) fn stderr_tail(stderr: &str) -> String {
    let mut text = String::new();
    let lines: Vec<&str> = stderr.lines().collect();
    for (index, line) in lines[lines.len().saturating_sub(STDERR_TAIL.0)..].iter().enumerate() {
        text.push_str(if index == 0 { "; standard error ends with:\n" } else { "\n" });
        text.push_str(&json::cut(line, STDERR_TAIL.1));
    }
    text
}

/// A request in progress. If it is dropped before its reply, the request is canceled.
struct Waiting<'a> {
    server: &'a Server,
    id: i64,
    cancels: bool,
}

impl Waiting<'_> {
    /// Cancels the request, unless it has its reply.
    fn cancel(&self, reason: &str) -> Option<impl Future + Send + 'static> {
        let is_waiting = self.server.exchange.forget(self.id);
        let params = json!({ "requestId": self.id, "reason": reason });
        let cancel = json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": params });
        (is_waiting && self.cancels).then(|| timeout(CANCEL_GRACE, self.server.push(cancel)))
    }
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        if let (Some(cancel), Ok(runtime)) = (self.cancel("the caller gave up"), Handle::try_current()) {
            runtime.spawn(async move { drop(cancel.await) });
        }
    }
}
