//! Why a server could not be connected to, with what it printed and what to do next.

use std::fmt;

use mcptest_core::diag::{Code, RunError};

use crate::process::SpawnError;

/// A server that could not be connected to.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub struct ConnectError {
    /// Name of the server in the suite.
    pub server: String,
    #[source]
    pub problem: Box<Problem>,
    /// The first line on its standard output that was no message.
    pub noise: Option<String>,
    /// The end of its standard error.
    pub stderr: String,
    /// Whether it has an address and no command.
    pub is_remote: bool,
}

/// What went wrong while connecting. Steps are named by the method that was asked.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Problem {
    /// It could not be started.
    #[error(transparent)]
    Spawn(#[from] SpawnError),
    #[error("its `url` {0}")]
    BadUrl(String),
    /// A header cannot be sent.
    #[error("{0}")]
    BadHeader(String),
    /// This machine cannot make requests.
    #[error("it cannot be asked: {0}")]
    Client(String),
    /// It answered with a status of HTTP that is no success.
    #[error("it answered `{step}` with {what}")]
    Http {
        step: String,
        status: u16,
        /// The status in words, and what came with it.
        what: String,
    },
    /// It could not be reached, or what came back is no reply.
    #[error("`{step}` has no reply: {what}")]
    Remote { step: String, what: String },
    #[error("it ended ({status}) without answering `{step}`")]
    Ended { status: String, step: String },
    /// It closed its output and lives on.
    #[error("it closed its standard output without answering `{step}`")]
    Closed { step: String },
    #[error("the connection broke at `{step}`: {what}")]
    Broken { step: String, what: String },
    #[error("it did not answer `{step}` within {ms} ms")]
    Silent { step: String, ms: u128 },
    /// It sent too much at once.
    #[error("it sent a line of more than {limit} bytes")]
    LineTooLong {
        /// How long a line may be.
        limit: usize,
    },
    /// It answered with an error, or in a way that is no answer.
    #[error("it answered `{step}` with {what}")]
    Refused { step: String, what: String },
    /// Its reply is more than can be taken in.
    #[error("it answered `{step}` with a reply that cannot be taken in: {why}")]
    Unreadable {
        step: String,
        /// What is too much about it.
        why: String,
    },
    /// Its reply is not JSON that can mean one thing only.
    #[error("it answered `{step}` with JSON that cannot be read: {why}")]
    Malformed {
        step: String,
        /// What is wrong with it.
        why: String,
    },
    /// Neither era of the protocol was accepted.
    #[error("it answered `server/discover` with {discover}, and `initialize` with {initialize}")]
    NeitherEra {
        /// The answer of the stateless era.
        discover: String,
        /// The answer of the era with a handshake.
        initialize: String,
    },
    /// It is reached over the transport that Streamable HTTP replaced.
    #[error("its `url` is an endpoint of the HTTP+SSE transport (revision 2024-11-05), which mcptest does not support")]
    OldTransport,
    /// It wants a revision that is not known here.
    #[error("it speaks revision `{0}` of the protocol, which mcptest does not know")]
    UnknownRevision(String),
    /// Its list of tools goes in circles.
    #[error("its list of tools goes in circles: the cursor {0} came twice")]
    Cycle(String),
    /// It has too many tools.
    #[error("it lists more than {0} tools")]
    TooManyTools(usize),
    /// Its list of tools has too many pages.
    #[error("its list of tools has more than {0} pages")]
    TooManyPages(usize),
    /// Its list of tools is too long.
    #[error("its list of tools takes more than {0} bytes of memory")]
    ToolListTooLong(u64),
    /// A tool cannot be offered to a model.
    #[error("its list of tools is wrong: {0}")]
    BadTool(String),
}

impl Problem {
    pub fn hint(&self) -> &'static str {
        match self {
            Self::Spawn(problem) => problem.hint(),
            Self::BadUrl(_) => "write the address of the server's endpoint, such as `https://example.com/mcp`",
            Self::BadHeader(_) => "correct `headers`, or the value of a variable in them",
            Self::Client(_) => "check the certificates of this system",
            Self::Http { status, .. } => match status {
                300..=399 => "write the address it points to in `url`, if you trust that one with your headers",
                401 => "name a variable in `bearer_token_env` that holds a token the server takes",
                403 => "the server refuses this caller: check the rights of the token, and `headers`",
                404 | 405 => "check the path in `url`: it is that of the endpoint, often `/mcp`",
                429 => "the server wants fewer requests: wait, or run fewer tests at once",
                500.. => "look at the log of the server",
                _ => "check `url` and `headers`",
            },
            Self::Remote { .. } => {
                "check that `url` is the endpoint of an MCP server over Streamable HTTP, and that it runs"
            }
            Self::Ended { .. } => "run the command by hand: it has to wait for messages on standard input",
            Self::Closed { .. } | Self::Broken { .. } => {
                "a server talks over standard input and output and keeps both open until its input is closed"
            }
            Self::Silent { .. } => "check that the command starts an MCP server over stdio, or raise `timeout_ms`",
            Self::LineTooLong { .. } => "a message is one line of JSON; look for output that is none",
            Self::Refused { .. } | Self::NeitherEra { .. } => {
                "check that the command starts an MCP server that has tools; `protocol` names its era if asking fails"
            }
            Self::OldTransport => {
                "write the server's Streamable HTTP endpoint in `url`, often `/mcp` in place of `/sse`; if it has none, \
                 update the server, or start it over stdio with `command`"
            }
            Self::UnknownRevision(_) => "update the server, or mcptest",
            Self::Cycle(_) | Self::TooManyPages(_) => "the last page of `tools/list` has no `nextCursor`",
            Self::Unreadable { .. } => "let the server answer with less; real replies are far from these limits",
            Self::Malformed { .. } => "fix the server: every key of an object is there once",
            Self::TooManyTools(_) | Self::ToolListTooLong(_) => "let the server offer only the tools under test",
            Self::BadTool(_) => "every tool needs a `name` of its own and an `inputSchema`",
        }
    }

    /// What it answered, where it refused what it was asked.
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
                "check that `url` is the endpoint of an MCP server that has tools; `protocol` names its era if asking fails"
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
        Self::new(error.to_string()).code(code).hint(error.hint())
    }
}

impl fmt::Display for ConnectError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "server `{}`: {}", self.server, self.problem)?;
        if let Some(noise) = &self.noise {
            write!(f, "\nits standard output has a line that is no message: {noise}")?;
        }
        if !self.stderr.is_empty() {
            f.write_str("\nits standard error ends with:")?;
            for line in self.stderr.lines() {
                write!(f, "\n  {line}")?;
            }
        }
        Ok(())
    }
}
