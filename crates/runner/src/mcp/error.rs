//! Why a server could not be connected to, with what it printed and what to do next.

use std::fmt;

use crate::process::SpawnError;

/// A server that could not be connected to.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub struct ConnectError {
    /// Name of the server in the suite.
    pub server: String,
    /// What went wrong.
    #[source]
    pub problem: Box<Problem>,
    /// The first line on its standard output that was no message.
    pub noise: Option<String>,
    /// The end of its standard error.
    pub stderr: String,
}

/// What went wrong while connecting. Steps are named by the method that was asked.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Problem {
    /// It could not be started.
    #[error(transparent)]
    Spawn(#[from] SpawnError),
    /// It ended.
    #[error("it ended ({status}) without answering `{step}`")]
    Ended {
        /// How it ended.
        status: String,
        /// What it was asked.
        step: String,
    },
    /// It closed its output and lives on.
    #[error("it closed its standard output without answering `{step}`")]
    Closed {
        /// What it was asked.
        step: String,
    },
    /// A pipe broke.
    #[error("the connection broke at `{step}`: {what}")]
    Broken {
        /// What it was asked.
        step: String,
        /// What the system said.
        what: String,
    },
    /// It did not answer.
    #[error("it did not answer `{step}` within {ms} ms")]
    Silent {
        /// What it was asked.
        step: String,
        /// How long it had.
        ms: u128,
    },
    /// It sent too much at once.
    #[error("it sent a line of more than {limit} bytes")]
    LineTooLong {
        /// How long a line may be.
        limit: usize,
    },
    /// It answered with an error, or in a way that is no answer.
    #[error("it answered `{step}` with {what}")]
    Refused {
        /// What it was asked.
        step: String,
        /// What it answered.
        what: String,
    },
    /// Neither era of the protocol was accepted.
    #[error("it answered `server/discover` with {discover}, and `initialize` with {initialize}")]
    NeitherEra {
        /// The answer of the stateless era.
        discover: String,
        /// The answer of the era with a handshake.
        initialize: String,
    },
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
    #[error("its list of tools has more than {0} bytes")]
    CatalogueTooLong(u64),
    /// A tool cannot be offered to a model.
    #[error("its list of tools is wrong: {0}")]
    BadTool(String),
}

impl Problem {
    /// What to do next.
    pub fn hint(&self) -> &'static str {
        match self {
            Self::Spawn(problem) => problem.hint(),
            Self::Ended { .. } => "run the command by hand: it has to wait for messages on standard input",
            Self::Closed { .. } | Self::Broken { .. } => {
                "a server talks over standard input and output and keeps both open until its input is closed"
            }
            Self::Silent { .. } => "check that the command starts an MCP server over stdio, or raise `timeout_ms`",
            Self::LineTooLong { .. } => "a message is one line of JSON; look for output that is none",
            Self::Refused { .. } | Self::NeitherEra { .. } => {
                "check that the command starts an MCP server that has tools; `protocol` names its era if asking fails"
            }
            Self::UnknownRevision(_) => "update the server, or mcptest",
            Self::Cycle(_) | Self::TooManyPages(_) => "the last page of `tools/list` has no `nextCursor`",
            Self::TooManyTools(_) | Self::CatalogueTooLong(_) => "let the server offer only the tools under test",
            Self::BadTool(_) => "every tool needs a `name` of its own and an `inputSchema`",
        }
    }
}

impl ConnectError {
    /// What to do next.
    pub fn hint(&self) -> &'static str {
        self.problem.hint()
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
