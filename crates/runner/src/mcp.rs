//! The MCP client: connects to a server, lists its tools, calls them. The only file that names `rmcp`.
//!
//! `rmcp` negotiates, numbers requests, adds what each era requires, and cancels. Everything below that is here, because results
//! must be kept as received, children ended with their descendants, and nothing a server does may hang or fill the memory:
//! `server` is the connection, which is `lines` over the pipes of a child or `http`; `exchange` matches replies with requests;
//! `catalog` and `reply` read the replies.
//!
//! The list of tools is read once, when connecting, so that it does not change during a run.

mod catalog;
mod endpoint;
mod error;
pub(crate) mod events;
mod exchange;
mod headers;
mod http;
#[cfg(test)]
mod invariants;
mod lines;
mod message;
pub(crate) mod reply;
mod server;

pub use catalog::MAX_TOOLS;
pub use endpoint::Endpoint;
pub use error::{ConnectError, Problem};
pub use exchange::Counters;
pub use headers::InvalidHeaderMark;
pub use http::MAX_ANSWER;
pub use lines::MAX_LINE;

use std::io;
use std::sync::Arc;
use std::time::Duration;

use mcptest_core::json;
use mcptest_core::suite::Protocol;
use mcptest_core::trace::{ErrorKind, ToolResult};
use rmcp::model::{
    CallToolRequest, CallToolRequestParams, ClientCapabilities, ClientConfig, ClientJsonRpcMessage, ClientRequest,
    Implementation, ListToolsRequest, PaginatedRequestParams, ProtocolVersion, RequestId, ServerJsonRpcMessage,
};
use rmcp::service::{
    ClientCacheConfig, ClientInitializeError, ClientLifecycleMode, ClientServiceExt, PeerRequestOptions, RequestHandle,
    RoleClient, RunningService,
};
use rmcp::transport::Transport;
use serde_json::{Map, Value, json};
use tokio::sync::mpsc;
use tokio::time::{sleep, timeout};

use crate::agent::error_result;
use crate::catalog::Tool;
use crate::process::Processes;
use catalog::Catalog;
use exchange::{Exchange, Failure, Reply, error_parts};
use server::{Outlet, Server};

/// How long `auto` waits for an answer to `server/discover`. Servers with a handshake answer with an error or not at all, and
/// the latter must not cost every run the server's whole timeout.
const PROBE: Duration = Duration::from_secs(2);
/// How long a cancellation may take to be queued: a server that does not read must not block its caller twice.
const CANCEL_GRACE: Duration = Duration::from_secs(1);
/// How long the client library may take to close.
const RELEASE_GRACE: Duration = Duration::from_secs(1);

#[derive(Debug, Clone)]
pub struct Target<'a> {
    /// Name of the server in the suite.
    pub name: &'a str,
    /// Its command or its URL.
    pub endpoint: Endpoint,
    /// Timeout of one call, and of each step of connecting.
    pub timeout: Duration,
    /// The protocol era it speaks.
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
    /// Its instructions for models.
    pub instructions: Option<String>,
}

type Client = RunningService<RoleClient, ClientConfig>;

/// A connection to a server. Dropping it kills a server that was started for it; [`close`](Self::close) lets it exit by itself.
#[derive(Debug)]
pub struct Connection {
    client: Client,
    server: Server,
    tools: Vec<Tool>,
    forbidden: Vec<(String, InvalidHeaderMark)>,
    observed: Observed,
    timeout: Duration,
}

/// Why a request has no reply.
enum NoReply {
    Timeout,
    Ended,
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
                Ok(client) => Ok(client),
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
        let client = match negotiated {
            Ok(client) => client,
            Err(problem) => {
                let problem = server.explain(problem).await;
                return Err(server.fail(target.name, problem).await);
            }
        };
        // The cache is used only by list functions that are not called here; a stale list could cause a wrong verdict.
        client.set_response_cache_config(ClientCacheConfig::disabled()).await;
        let observed = observed(&client);
        let mut connection =
            Self { client, server, tools: Vec::new(), forbidden: Vec::new(), observed, timeout: target.timeout };
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
    /// - `tool`: the tool reported an error, asked for input or started a task. The last two are declined.
    /// - `jsonrpc`: a protocol error with its code, or a reply that is not a result.
    /// - `timeout`: no reply in time. The call was canceled, and a late reply is dropped.
    /// - `http`: a response with an error status that is not a protocol error, with the status as its code.
    /// - `transport`: the server exited, the connection was lost before or during the call, or the response had no reply.
    pub async fn call(&self, tool: &str, args: Map<String, Value>) -> ToolResult {
        let noise = self.counters().not_json_rpc;
        let params = CallToolRequestParams::new(tool.to_owned()).with_arguments(args);
        match self.ask(ClientRequest::CallToolRequest(CallToolRequest::new(params))).await {
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
    pub async fn close(mut self) {
        let _ = self.client.close_with_timeout(RELEASE_GRACE).await;
        self.server.end().await;
    }

    async fn list(&self) -> Result<Vec<Tool>, Problem> {
        let step = || "tools/list".to_owned();
        let mut catalog = Catalog::default();
        let mut cursor = None;
        let mut cost = 0;
        loop {
            let params = PaginatedRequestParams::default().with_cursor(cursor);
            let page = match self.ask(ClientRequest::ListToolsRequest(ListToolsRequest::with_param(params))).await {
                Ok((Reply::Result(page), more)) => {
                    cost += more as u64;
                    page
                }
                Ok((Reply::Error(error), _)) => {
                    return Err(Problem::Refused { step: step(), what: error_text(&error) });
                }
                Ok((Reply::Failed(failure), _)) => return Err(problem(step(), failure)),
                Err(NoReply::Timeout) => return Err(Problem::Silent { step: step(), ms: self.timeout.as_millis() }),
                Err(NoReply::Ended) => return Err(self.server.lost(step()).await),
            };
            cursor = catalog.page(page, cost)?;
            if cursor.is_none() {
                return Ok(catalog.tools);
            }
        }
    }

    /// Sends a request and waits for its reply, as received.
    async fn ask(&self, request: ClientRequest) -> Result<(Reply, usize), NoReply> {
        let exchange = &self.server.exchange;
        if exchange.end_reason().is_some() {
            return Err(NoReply::Ended);
        }
        let late = sleep(self.timeout);
        tokio::pin!(late);
        let sent = tokio::select! {
            sent = self.client.send_request_with_option(request, PeerRequestOptions::no_options()) => sent,
            () = &mut late => return Err(NoReply::Timeout),
        };
        let Ok(handle) = sent else { return Err(NoReply::Ended) };
        let mut waiting = Waiting { handle: Some(handle), exchange };
        let is_late = tokio::select! {
            biased;
            () = waiting.told() => false,
            _ = exchange.ended() => false,
            () = &mut late => true,
        };
        // The reply may have arrived although another event was seen first.
        let reply = waiting.take();
        let handle = waiting.handle.take();
        match (reply, is_late) {
            (Some(reply), _) => Ok(reply),
            (None, false) => Err(NoReply::Ended),
            (None, true) => {
                if let Some(handle) = handle {
                    let reason = format!("no answer within {} ms", self.timeout.as_millis());
                    let _ = timeout(CANCEL_GRACE, handle.cancel(Some(reason))).await;
                }
                Err(NoReply::Timeout)
            }
        }
    }
}

/// A request in progress. If it is dropped before its reply, the request is canceled.
struct Waiting<'a> {
    handle: Option<RequestHandle<RoleClient>>,
    exchange: &'a Exchange,
}

impl Waiting<'_> {
    /// Returns when the client library knows that the reply arrived, or has given up.
    async fn told(&mut self) {
        if let Some(handle) = &mut self.handle {
            let _ = (&mut handle.rx).await;
        }
    }

    fn take(&self) -> Option<(Reply, usize)> {
        match &self.handle.as_ref()?.id {
            RequestId::Number(id) => self.exchange.take(*id),
            RequestId::String(_) => None,
        }
    }
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        self.take();
        if let (Some(handle), Ok(runtime)) = (self.handle.take(), tokio::runtime::Handle::try_current()) {
            runtime.spawn(timeout(CANCEL_GRACE, handle.cancel(Some("the caller gave up".to_owned()))));
        }
    }
}

/// The two eras of the protocol.
#[derive(Debug, Clone, Copy)]
enum Era {
    Modern,
    Legacy,
}

impl Era {
    /// The method that opens a connection.
    fn opening(self) -> &'static str {
        match self {
            Self::Modern => "server/discover",
            Self::Legacy => "initialize",
        }
    }

    /// The requested revision, if there is no handshake.
    fn revision(self) -> Option<String> {
        match self {
            Self::Modern => Some(ProtocolVersion::LATEST.to_string()),
            Self::Legacy => None,
        }
    }

    fn lifecycle(self) -> ClientLifecycleMode {
        match self {
            Self::Modern => ClientLifecycleMode::Discover { preferred_versions: vec![ProtocolVersion::LATEST] },
            Self::Legacy => ClientLifecycleMode::Initialize,
        }
    }
}

impl Server {
    /// Opens the protocol of one era.
    async fn negotiate(&self, era: Era, limit: Duration) -> Result<Client, Problem> {
        // The previous client is detached first, so that none of its replies reach the next one.
        let outlet = self.begin(era.revision());
        let pipe = Pipe { messages: self.exchange.attach(), exchange: Arc::clone(&self.exchange), outlet };
        let opening = Box::pin(config().serve_with_lifecycle(pipe, era.lifecycle()));
        let step = || era.opening().to_owned();
        let client = match timeout(limit, opening).await {
            Err(_) => return Err(Problem::Silent { step: step(), ms: limit.as_millis() }),
            Ok(Ok(client)) => client,
            Ok(Err(error)) => {
                return Err(match (self.exchange.failure(), refusal(&error)) {
                    (Some(failure), _) => problem(step(), failure),
                    (None, Some(what)) => Problem::Refused { step: step(), what },
                    (None, None) => self.lost(step()).await,
                });
            }
        };
        match client.peer_info() {
            Some(info) if !ProtocolVersion::KNOWN_VERSIONS.contains(&info.protocol_version) => {
                Err(Problem::UnknownRevision(json::cut(&info.protocol_version.to_string(), 40)))
            }
            _ => Ok(client),
        }
    }

    /// Opens the protocol with a handshake, after the other era failed.
    async fn negotiate_after(&self, probe: Problem, limit: Duration) -> Result<Client, Problem> {
        let initialize = match self.negotiate(Era::Legacy, limit).await {
            Err(problem) if problem.answer().is_some() => problem,
            other => return other,
        };
        let discover = match probe {
            // A slow start looks like no answer. By now the server has started.
            Problem::Silent { .. } => match self.negotiate(Era::Modern, limit).await {
                Ok(client) => return Ok(client),
                Err(problem) => problem,
            },
            probe => probe,
        };
        Err(match (discover, initialize) {
            // If both have the same status, one of them says enough.
            (Problem::Http { status, .. }, again @ Problem::Http { status: second, .. }) if status == second => again,
            (discover, initialize) => match (discover.answer(), initialize.answer()) {
                (Some(discover), Some(answer)) => {
                    Problem::NeitherEra { discover: discover.to_owned(), initialize: answer.to_owned() }
                }
                _ => initialize,
            },
        })
    }

    async fn fail(self, name: &str, problem: Problem) -> ConnectError {
        let (noise, stderr, is_remote) = (self.noise(), self.stderr().await, self.is_remote());
        self.end().await;
        ConnectError { server: name.to_owned(), problem: Box::new(problem), noise, stderr, is_remote }
    }
}

fn problem(step: String, failure: Failure) -> Problem {
    match failure {
        Failure::Status(status, what) => Problem::Http { step, status, what },
        Failure::Broken(what) => Problem::Remote { step, what },
        Failure::Unreadable(why) => Problem::Unreadable { step, why },
        Failure::Malformed(why) => Problem::Malformed { step, why },
    }
}

/// The client. It offers no capabilities, so that servers send no requests.
fn config() -> ClientConfig {
    let client = Implementation::new("mcptest", env!("CARGO_PKG_VERSION"));
    let mut config = ClientConfig::new(ClientCapabilities::default(), client);
    // The default is the newest revision, which has no handshake.
    config.protocol_version = ProtocolVersion::LATEST_WITH_INITIALIZE;
    config
}

fn observed(client: &Client) -> Observed {
    let info = client.peer_info();
    let server = info.as_ref().and_then(|info| info.server_info.as_ref());
    Observed {
        server: server.map_or(Value::Null, |server| json!({ "name": server.name, "version": server.version })),
        protocol: info.as_ref().map_or_else(String::new, |info| info.protocol_version.to_string()),
        instructions: info.and_then(|info| info.instructions.clone()),
    }
}

/// What a server answered instead of opening the protocol; `None` if it did not answer.
fn refusal(error: &ClientInitializeError) -> Option<String> {
    match error {
        ClientInitializeError::ConnectionClosed(_) | ClientInitializeError::TransportError { .. } => None,
        ClientInitializeError::JsonRpcError(error) => Some(error_text(&json!(error))),
        ClientInitializeError::ExpectedInitResult(Some(result)) => {
            Some(format!("an unexpected result: {}", json::excerpt(&json!(result), 200)))
        }
        ClientInitializeError::NoCompatibleProtocolVersion { server_supported, .. } => {
            let revisions: Vec<String> = server_supported.iter().map(ToString::to_string).collect();
            Some(format!(
                "protocol revisions that mcptest does not support: [{}]",
                json::cut(&revisions.join(", "), 200)
            ))
        }
        other => Some(json::cut(&other.to_string(), 200)),
    }
}

fn error_text(error: &Value) -> String {
    let (code, message) = error_parts(error);
    let message = json::cut(&message, 500);
    code.map_or_else(|| format!("an error: {message}"), |code| format!("error {code}: {message}"))
}

/// The transport below the client library.
struct Pipe {
    exchange: Arc<Exchange>,
    outlet: Outlet,
    messages: mpsc::UnboundedReceiver<Value>,
}

impl Transport<RoleClient> for Pipe {
    type Error = io::Error;

    fn send(&mut self, item: ClientJsonRpcMessage) -> impl Future<Output = io::Result<()>> + Send + 'static {
        // Registered before it is sent, so that no reply can arrive too early.
        let sending = serde_json::to_value(&item).map(|message| self.outlet.push(self.exchange.outgoing(message)));
        async move { sending.map_err(io::Error::other)?.await }
    }

    async fn receive(&mut self) -> Option<ServerJsonRpcMessage> {
        loop {
            let message = self.messages.recv().await?;
            let id = message.get("id").cloned();
            match serde_json::from_value(message) {
                Ok(message) => return Some(message),
                // The caller must learn of a reply even if the library cannot read it.
                Err(problem) => {
                    let error = json!({ "code": -32603, "message": format!("unreadable reply: {problem}") });
                    let stand_in = json!({ "jsonrpc": "2.0", "id": id, "error": error });
                    if let Ok(message) = serde_json::from_value(stand_in) {
                        return Some(message);
                    }
                }
            }
        }
    }

    async fn close(&mut self) -> io::Result<()> {
        Ok(())
    }
}
