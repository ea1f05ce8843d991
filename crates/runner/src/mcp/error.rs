//! Why connecting to a server failed, with what it printed and what to do next.

use std::fmt;

use mcptest_core::diag::{Code, RunError, Subject};

use crate::process::SpawnError;

/// A failed connection to a server.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub struct ConnectError {
    /// Name of the server in the suite.
    pub server: String,
    #[source]
    pub problem: Box<Problem>,
    /// The first line of its standard output that was not a message.
    pub noise: Option<String>,
    /// The end of its standard error.
    pub stderr: String,
    /// Whether it has a URL instead of a command.
    pub is_remote: bool,
}

/// What went wrong while connecting. Steps are named by their methods.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Problem {
    /// It could not be started.
    #[error(transparent)]
    Spawn(#[from] SpawnError),
    #[error("`url` {0}")]
    BadUrl(String),
    #[error("{0}")]
    BadHeader(String),
    #[error("cannot create an HTTP client: {0}")]
    Client(String),
    /// It responded with an HTTP error status.
    #[error("responded to `{step}` with {what}")]
    Http {
        step: String,
        status: u16,
        /// The status in words, and the body.
        what: String,
    },
    /// It could not be reached, or the response is not a reply.
    #[error("no reply to `{step}`: {what}")]
    Remote { step: String, what: String },
    #[error("exited ({status}) without answering `{step}`")]
    Ended { status: String, step: String },
    /// It closed its output without exiting.
    #[error("closed its standard output without answering `{step}`")]
    Closed { step: String },
    #[error("connection lost during `{step}`: {what}")]
    Broken { step: String, what: String },
    #[error("did not answer `{step}` within {ms} ms")]
    Silent { step: String, ms: u128 },
    #[error("sent a line of more than {limit} bytes")]
    LineTooLong { limit: usize },
    /// It responded with an error, or with something unexpected.
    #[error("responded to `{step}` with {what}")]
    Refused { step: String, what: String },
    /// Its reply is too large.
    #[error("responded to `{step}` with a reply that is too large: {why}")]
    Unreadable { step: String, why: String },
    /// Its reply is not valid JSON, or has duplicate keys.
    #[error("responded to `{step}` with malformed JSON: {why}")]
    Malformed {
        step: String,
        /// What is wrong with it.
        why: String,
    },
    /// It accepted neither era of the protocol.
    #[error("responded to `server/discover` with {discover}, and to `initialize` with {initialize}")]
    NeitherEra {
        /// The response of the stateless era.
        discover: String,
        /// The response of the era with a handshake.
        initialize: String,
    },
    /// It uses the transport that Streamable HTTP replaced.
    #[error("`url` is an endpoint of the HTTP+SSE transport (revision 2024-11-05), which mcptest does not support")]
    OldTransport,
    #[error("uses protocol revision `{0}`, which mcptest does not support")]
    UnknownRevision(String),
    /// Its list of tools is cyclic.
    #[error("`tools/list` loops: the cursor {0} was returned twice")]
    Cycle(String),
    /// It has too many tools.
    #[error("lists more than {0} tools")]
    TooManyTools(usize),
    /// Its list of tools has too many pages.
    #[error("`tools/list` has more than {0} pages")]
    TooManyPages(usize),
    /// Its list of tools is too long.
    #[error("`tools/list` takes more than {0} bytes of memory")]
    ToolListTooLong(u64),
    /// A tool cannot be offered to a model.
    #[error("`tools/list` is invalid: {0}")]
    BadTool(String),
}

impl Problem {
    pub fn hint(&self) -> &'static str {
        match self {
            Self::Spawn(problem) => problem.hint(),
            Self::BadUrl(_) => "write the URL of the server's endpoint, such as `https://example.com/mcp`",
            Self::BadHeader(_) => "fix `headers`, or the value of a variable in them",
            Self::Client(_) => "check the CA certificates of this system",
            Self::Http { status, .. } => match status {
                300..=399 => "set `url` to the target of the redirect, if you trust it with your headers",
                401 => "set `bearer_token_env` to a variable that holds a token the server accepts",
                403 => "the server denies access: check the permissions of the token, and `headers`",
                404 | 405 => "check the path in `url`: it is that of the endpoint, often `/mcp`",
                429 => "the server is rate limiting: wait, or run fewer tests at once",
                500.. => "check the server's log",
                _ => "check `url` and `headers`",
            },
            Self::Remote { .. } => {
                "check that `url` is the endpoint of an MCP server over Streamable HTTP, and that it runs"
            }
            Self::Ended { .. } => "run the command by hand: it should wait for messages on standard input",
            Self::Closed { .. } | Self::Broken { .. } => {
                "a server uses standard input and output and keeps both open until its input is closed"
            }
            Self::Silent { .. } => "check that the command starts an MCP server over stdio, or raise `timeout_ms`",
            Self::LineTooLong { .. } => "a message is one line of JSON; look for other output",
            Self::Refused { .. } | Self::NeitherEra { .. } => {
                "check that the command starts an MCP server with tools; set `protocol` if detection fails"
            }
            Self::OldTransport => {
                "set `url` to the server's Streamable HTTP endpoint, often `/mcp` instead of `/sse`; if it has none, \
                 update the server, or start it over stdio with `command`"
            }
            Self::UnknownRevision(_) => "update the server, or mcptest",
            Self::Cycle(_) | Self::TooManyPages(_) => "the last page of `tools/list` has no `nextCursor`",
            Self::Unreadable { .. } => "make the server return less; real replies are far below these limits",
            Self::Malformed { .. } => "fix the server: a JSON object must not have duplicate keys",
            Self::TooManyTools(_) | Self::ToolListTooLong(_) => "make the server offer only the tools under test",
            Self::BadTool(_) => "every tool needs a unique `name` and an `inputSchema`",
        }
    }

    /// The response, if the server refused the request.
    pub(super) fn answer(&self) -> Option<&str> {
        match self {
            Self::Refused { what, .. } | Self::Http { what, .. } => Some(what),
            _ => None,
        }
    }
}

impl ConnectError {
    pub fn hint(&self) -> &'static str {
        match &*self.problem {
            Problem::Silent { .. } if self.is_remote => "check `url`, or raise `timeout_ms`",
            Problem::Refused { .. } | Problem::NeitherEra { .. } if self.is_remote => {
                "check that `url` is the endpoint of an MCP server with tools; set `protocol` if detection fails"
            }
            problem => problem.hint(),
        }
    }
}

impl From<&ConnectError> for RunError {
    fn from(error: &ConnectError) -> Self {
        let code = match &*error.problem {
            _ if error.noise.is_some() => Code::ServerStdoutNoise,
            Problem::Spawn(SpawnError::NotFound(_)) => Code::ProgramNotFound,
            Problem::Spawn(SpawnError::NoFolder(_)) => Code::NoWorkingFolder,
            Problem::Spawn(_) => Code::ProgramNotStarted,
            Problem::BadUrl(_) => Code::BadUrl,
            Problem::BadHeader(_) => Code::BadHeader,
            Problem::Client(_) | Problem::Remote { .. } => Code::ServerUnreachable,
            Problem::Http { .. } | Problem::Refused { .. } | Problem::NeitherEra { .. } => Code::ServerRejected,
            Problem::Ended { .. } => Code::ServerExited,
            Problem::Closed { .. } | Problem::Broken { .. } => Code::ServerClosedStdout,
            Problem::Silent { .. } => Code::ServerTimeout,
            Problem::LineTooLong { .. } | Problem::Unreadable { .. } => Code::MessageTooLarge,
            Problem::Malformed { .. } => Code::MalformedReply,
            Problem::OldTransport => Code::OldTransport,
            Problem::UnknownRevision(_) => Code::UnknownRevision,
            Problem::Cycle(_)
            | Problem::TooManyTools(_)
            | Problem::TooManyPages(_)
            | Problem::ToolListTooLong(_)
            | Problem::BadTool(_) => Code::BadToolList,
        };
        Self::error(Subject::Server(error.server.clone()), error.to_string()).code(code).hint(error.hint())
    }
}

impl fmt::Display for ConnectError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "server `{}`: {}", self.server, self.problem)?;
        if let Some(noise) = &self.noise {
            write!(f, "\nstandard output contains a line that is not a message: {noise}")?;
        }
        if !self.stderr.is_empty() {
            f.write_str("\nstandard error ends with:")?;
            for line in self.stderr.lines() {
                write!(f, "\n  {line}")?;
            }
        }
        Ok(())
    }
}
