//! The MCP client: connects to a server, lists its tools, calls them.
//!
//! Results are kept as received, children are ended with their descendants, and nothing a server does may hang or fill the
//! memory. `negotiation` opens the protocol in either era; `server` is the connection, which is `lines` over the pipes of a child
//! or `http`; `exchange` matches replies with requests; `catalog` and `reply` read the replies.
//!
//! The list of tools is read once, when connecting, so that it does not change during a run.

mod catalog;
pub(crate) mod endpoint;
mod error;
pub(crate) mod events;
pub(crate) mod exchange;
pub(crate) mod headers;
pub(crate) mod http;
#[cfg(test)]
mod invariants;
pub(crate) mod lines;
pub(crate) mod message;
pub(crate) mod negotiation;
pub(crate) mod reply;
pub(crate) mod server;

pub use catalog::MAX_TOOLS;
pub use endpoint::Endpoint;
pub use error::{ConnectError, Problem};
pub use exchange::Counters;
pub use headers::InvalidHeaderMark;
pub use http::MAX_ANSWER;
pub use lines::MAX_LINE;

use std::time::Duration;

use mcptest_core::ledger::error_result;
use mcptest_core::suite::Protocol;
use mcptest_core::trace::{ErrorKind, ToolResult};
use serde_json::{Map, Value};

use crate::catalog::Tool;
use crate::process::Processes;
use catalog::Catalog;
use negotiation::Era;
use server::{NoReply, Server};

/// How long `auto` waits for an answer to `server/discover`. Servers with a handshake answer with an error or never, and
/// the latter must not cost every run the server's full timeout.
const PROBE: Duration = Duration::from_secs(2);

#[derive(Debug, Clone)]
pub struct Target<'a> {
    /// Name of the server in the suite.
    pub name: &'a str,
    /// Its command or its URL.
    pub endpoint: Endpoint,
    /// Timeout of one call, and of each step of connecting.
    pub timeout: Duration,
    pub protocol: Protocol,
    /// The list of running children that it is added to.
    pub processes: &'a Processes,
}

/// What a server reported about itself.
#[derive(Debug, Clone, PartialEq)]
pub struct Observed {
    /// Its `name` and `version`; null if it reported none.
    pub server: Value,
    /// The negotiated revision of the protocol.
    pub protocol: String,
    pub instructions: Option<String>,
}

/// A connection to a server. Dropping it kills a server that was started for it; [`close`](Self::close) lets it exit on its own.
#[derive(Debug)]
pub struct Connection {
    server: Server,
    tools: Vec<Tool>,
    forbidden: Vec<(String, InvalidHeaderMark)>,
    observed: Observed,
    timeout: Duration,
}

impl Connection {
    /// Starts the server where it has a command, negotiates the protocol and lists all tools.
    pub async fn open(target: &Target<'_>) -> Result<Self, ConnectError> {
        let start = || {
            Server::start(&target.endpoint, target.processes).map_err(|problem| ConnectError {
                server: target.name.to_owned(),
                problem: Box::new(problem),
                noise: None,
                stderr: String::new(),
                is_remote: matches!(target.endpoint, Endpoint::Url { .. }),
            })
        };
        let mut server = start()?;
        let negotiated = match target.protocol {
            Protocol::Modern => server.negotiate(Era::Modern, target.timeout).await,
            Protocol::Legacy => server.negotiate(Era::Legacy, target.timeout).await,
            Protocol::Auto => match server.negotiate(Era::Modern, PROBE.min(target.timeout)).await {
                Ok(observed) => Ok(observed),
                // Access is denied, regardless of the era.
                Err(probe @ Problem::Http { status: 300..=399 | 401 | 403 | 429, .. }) => Err(probe),
                Err(probe) => {
                    if matches!(probe, Problem::Ended { .. } | Problem::Closed { .. } | Problem::Broken { .. }) {
                        server.end().await;
                        server = start()?;
                    }
                    server.negotiate_after(probe, target.timeout).await
                }
            },
        };
        let observed = match negotiated {
            Ok(observed) => observed,
            Err(problem) => {
                let problem = server.explain(problem).await;
                return Err(server.fail(target.name, problem).await);
            }
        };
        let mut connection =
            Self { server, tools: Vec::new(), forbidden: Vec::new(), observed, timeout: target.timeout };
        match connection.list().await {
            Ok(mut tools) => {
                connection.forbidden = connection.server.listed(&mut tools);
                connection.tools = tools;
            }
            Err(problem) => return Err(connection.server.fail(target.name, problem).await),
        }
        Ok(connection)
    }

    /// The tools in the order of the server.
    pub fn tools(&self) -> &[Tool] {
        &self.tools
    }

    /// Tools that a client must not offer, each with the reason.
    pub fn forbidden(&self) -> &[(String, InvalidHeaderMark)] {
        &self.forbidden
    }

    pub fn observed(&self) -> &Observed {
        &self.observed
    }

    /// What was sent and received so far.
    pub fn counters(&self) -> Counters {
        self.server.exchange.counters()
    }

    /// Calls a tool. Calls may run at the same time. Every failure is an error result:
    ///
    /// - `tool`: the tool reported an error, requested input or started a task. The last two are declined.
    /// - `jsonrpc`: a protocol error with its code, or a reply that is not a result.
    /// - `timeout`: no reply in time. The call was canceled, and a late reply is dropped.
    /// - `http`: a response with an error status that is not a protocol error, with the status as its code.
    /// - `transport`: the server exited, the connection was lost before or during the call, or the response had no reply.
    pub async fn call(&self, tool: &str, args: Map<String, Value>) -> ToolResult {
        let noise = self.counters().not_json_rpc;
        let params = Map::from_iter([("name".to_owned(), tool.into()), ("arguments".to_owned(), args.into())]);
        match self.server.ask("tools/call", params, self.timeout).await {
            Ok((reply, _)) => reply::tool_result(reply),
            Err(NoReply::Timeout) => {
                let mut message = format!("no answer within {} ms", self.timeout.as_millis());
                let noise = self.counters().not_json_rpc - noise;
                if noise > 0 {
                    message.push_str(&format!("; meanwhile the server sent lines that are not messages: {noise}"));
                }
                error_result(ErrorKind::Timeout, None, &message)
            }
            Err(NoReply::Ended) => error_result(ErrorKind::Transport, None, &self.server.exit_message().await),
        }
    }

    /// Closes the server's input and waits for it to exit, with signals if necessary. A remote session is closed.
    pub async fn close(self) {
        self.server.end().await;
    }

    async fn list(&self) -> Result<Vec<Tool>, Problem> {
        let mut catalog = Catalog::default();
        let mut params = Map::new();
        let mut cost = 0;
        loop {
            let (page, more) = self.server.result("tools/list", params, self.timeout).await?;
            cost += more as u64;
            match catalog.page(page, cost)? {
                Some(cursor) => params = Map::from_iter([("cursor".to_owned(), cursor.into())]),
                None => return Ok(catalog.tools),
            }
        }
    }
}
