//! A connection to a server: a child with its pipes, or a URL.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use mcptest_core::json;
use serde_json::Value;
use tokio::time::timeout;

use super::endpoint::Endpoint;
use super::error::Problem;
use super::exchange::{End, Exchange};
use super::headers::{self, HeaderArgs, InvalidHeaderMark};
use super::http::{Http, Outbox};
use super::lines::{Lines, Queue};
use crate::catalog::Tool;
use crate::process::{Child, Processes, Spawned};

/// How long a server that closed its output may take to exit, so that its exit status can be reported.
const EXIT_GRACE: Duration = Duration::from_millis(500);
/// How much of a server's standard error is included in the result of a call: lines, and characters per line.
const LAST_WORDS: (usize, usize) = (5, 200);

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

/// Where messages to a server go.
#[derive(Debug)]
pub(super) enum Outlet {
    Lines(Queue),
    Http(Outbox),
}

impl Outlet {
    /// Sends or queues a message.
    pub(super) fn push(&self, message: Value) -> Pin<Box<dyn Future<Output = io::Result<()>> + Send>> {
        match self {
            Self::Lines(queue) => Box::pin(queue.push(message.to_string().into_bytes())),
            Self::Http(outbox) => Box::pin(outbox.push(message)),
        }
    }
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

    /// Begins a negotiation. `modern` is the requested revision if there is no handshake.
    pub(super) fn begin(&self, modern: Option<String>) -> Outlet {
        match &self.link {
            Link::Pipes { lines, .. } => Outlet::Lines(lines.queue()),
            Link::Http(http) => {
                http.begin(modern);
                Outlet::Http(http.outbox())
            }
        }
    }

    /// Remembers the tools for later calls. Removes and returns those that a client must not offer, with the reason.
    pub(super) fn listed(&self, tools: &mut Vec<Tool>) -> Vec<(String, InvalidHeaderMark)> {
        let Link::Http(http) = &self.link else { return Vec::new() };
        let mut forbidden = Vec::new();
        if http.is_modern() {
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
        let stderr = self.stderr().await;
        let lines: Vec<&str> = stderr.lines().collect();
        for (index, line) in lines[lines.len().saturating_sub(LAST_WORDS.0)..].iter().enumerate() {
            text.push_str(if index == 0 { "; standard error ends with:\n" } else { "\n" });
            text.push_str(&json::cut(line, LAST_WORDS.1));
        }
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
                // The reader goes last: a full pipe must not block a server that still writes while it exits.
                child.end().await;
                drop(lines);
            }
            Link::Http(http) => http.end().await,
        }
    }
}
