//! Why a model gave no reply that can be used, in words that never hold the key.

use std::fmt;
use std::time::Duration;

use mcptest_core::diag::{Code, RunError, printable};
use mcptest_core::json;
use serde_json::Value;

use super::access::{Access, Wire, shown};
use super::http::MAX_WAIT;

/// How much of somebody else's words is shown.
const SHOWN: usize = 400;

/// A model that gave no usable reply.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub struct AskError {
    /// The model's name in the suite.
    pub model: String,
    /// Where it was asked, without the query.
    pub address: String,
    /// How often it was asked.
    pub attempts: u32,
    #[source]
    pub problem: Box<Problem>,
    hint: String,
}

#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Problem {
    /// There is no way to ask at all.
    #[error("HTTPS cannot be prepared: {what}")]
    NoClient { what: String },
    /// Nobody was reached, or the connection broke before an answer.
    #[error("no connection: {what}")]
    Unreachable { what: String },
    #[error("no complete answer within {}", seconds(*.limit))]
    Silent { limit: Duration },
    /// The connection broke in the middle of the answer.
    #[error("the connection broke in the middle of the answer: {what}")]
    Cut { what: String },
    /// The answer does not end.
    #[error("the answer has more than {limit} bytes")]
    TooLong {
        /// How long it may be.
        limit: usize,
    },
    /// What was said has grown too much to be sent back.
    #[error("the conversation has grown to {bytes} bytes, and {limit} are the most that are sent")]
    RequestTooLong {
        /// How long the question would be.
        bytes: usize,
        /// How long it may be.
        limit: usize,
    },
    /// The reply wants more calls than any agent makes at once.
    #[error("its reply has {calls} calls, and {limit} are the most")]
    TooMany {
        calls: usize,
        /// How many there may be.
        limit: usize,
    },
    /// It answered with a status that is no success.
    #[error("it answered HTTP {status}{}{}", after_colon(.said), too_patient(*.wait))]
    Status {
        status: u16,
        said: String,
        /// How long it asks to be left alone.
        wait: Option<Duration>,
    },
    /// It points elsewhere. Keys are not carried there.
    #[error("it answered HTTP {status} and points to {to}, which is not followed")]
    Redirect {
        status: u16,
        /// Where to, without the query.
        to: String,
    },
    /// It reports an error in an answer that is otherwise a success.
    #[error("it answered with an error{}", after_colon(.said))]
    Failed { said: String },
    #[error("its answer cannot be read: {why}{}", after_colon(.excerpt))]
    Unreadable { why: String, excerpt: String },
    /// The reply ended in a way that makes it useless.
    #[error("its reply ended with `{reason}`{}", after_colon(.detail.as_deref().unwrap_or("")))]
    Stopped {
        /// The provider's word for it.
        reason: String,
        /// What it said about it.
        detail: Option<String>,
    },
}

fn after_colon(text: &str) -> String {
    if text.is_empty() { String::new() } else { format!(": {text}") }
}

fn too_patient(wait: Option<Duration>) -> String {
    match wait.filter(|wait| *wait > MAX_WAIT) {
        Some(wait) => format!("; it asks to wait {}, and {} is the most", seconds(wait), seconds(MAX_WAIT)),
        None => String::new(),
    }
}

/// A time as messages show it.
pub(super) fn seconds(time: Duration) -> String {
    format!("{} s", time.as_secs_f64())
}

impl Problem {
    /// Whether the provider may have answered, and counted what it did, all the same.
    pub(crate) fn may_have_cost(&self) -> bool {
        match self {
            Self::NoClient { .. }
            | Self::Unreachable { .. }
            | Self::RequestTooLong { .. }
            | Self::Status { .. }
            | Self::Redirect { .. } => false,
            Self::Silent { .. }
            | Self::Cut { .. }
            | Self::TooLong { .. }
            | Self::TooMany { .. }
            | Self::Failed { .. }
            | Self::Unreadable { .. }
            | Self::Stopped { .. } => true,
        }
    }

    /// An answer that lacks what every reply has. It is cut when secrets are out of it: half a one would not be found.
    pub(super) fn unreadable(why: &str, raw: &Value) -> Self {
        Self::Unreadable { why: why.to_owned(), excerpt: json::canonical(raw) }
    }
}

impl fmt::Display for AskError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the model `{}` at {}: {}", self.model, self.address, self.problem)?;
        if self.attempts > 1 {
            write!(f, " (asked {} times)", self.attempts)?;
        }
        Ok(())
    }
}

impl AskError {
    pub(super) fn new(access: &Access, problem: Problem, attempts: u32) -> Self {
        let problem = clean(access, problem);
        let hint = hint(access, &problem);
        Self {
            model: access.name.clone(),
            address: shown(&access.endpoint),
            attempts,
            problem: Box::new(problem),
            hint,
        }
    }

    /// What to do about it.
    pub fn hint(&self) -> &str {
        &self.hint
    }
}

impl From<&AskError> for RunError {
    fn from(error: &AskError) -> Self {
        let code = match &*error.problem {
            Problem::NoClient { .. } | Problem::Unreachable { .. } => Code::ModelUnreachable,
            Problem::Silent { .. } => Code::ModelTimeout,
            Problem::Status { status: 401 | 403, .. } => Code::KeyRejected,
            Problem::Status { status: 404, .. } => Code::ModelNotFound,
            Problem::Status { status: 408 | 409 | 429 | 500..=599, .. } => Code::ModelOverloaded,
            Problem::Status { .. } | Problem::Failed { .. } | Problem::RequestTooLong { .. } => Code::RequestRejected,
            Problem::Redirect { .. } => Code::ModelRedirect,
            Problem::Cut { .. } | Problem::TooLong { .. } | Problem::TooMany { .. } | Problem::Unreadable { .. } => {
                Code::UnreadableReply
            }
            Problem::Stopped { .. } => Code::ReplyCutOff,
        };
        Self::new(error.to_string()).code(code).hint(error.hint())
    }
}

/// Takes secrets and everything unprintable out of the words of others. Servers repeat the key they refuse.
fn clean(access: &Access, problem: Problem) -> Problem {
    let words = |text: String| {
        let text = access.without_secrets(&text);
        let mut out = String::new();
        for word in text.split(|c: char| c.is_control() || c.is_whitespace()).filter(|word| !word.is_empty()) {
            // Others may send megabytes, of which no more is looked at than is shown.
            if out.chars().count() > SHOWN {
                break;
            }
            if !out.is_empty() {
                out.push(' ');
            }
            out.push_str(&printable(&json::cut(word, SHOWN)));
        }
        json::cut(&out, SHOWN)
    };
    match problem {
        Problem::Unreachable { what } => Problem::Unreachable { what: words(what) },
        Problem::NoClient { what } => Problem::NoClient { what: words(what) },
        Problem::Cut { what } => Problem::Cut { what: words(what) },
        Problem::Status { status, said, wait } => Problem::Status { status, said: words(said), wait },
        Problem::Redirect { status, to } => Problem::Redirect { status, to: words(to) },
        Problem::Failed { said } => Problem::Failed { said: words(said) },
        Problem::Unreadable { why, excerpt } => Problem::Unreadable { why: words(why), excerpt: words(excerpt) },
        Problem::Stopped { reason, detail } => Problem::Stopped { reason: words(reason), detail: detail.map(words) },
        Problem::Silent { .. } | Problem::TooLong { .. } | Problem::RequestTooLong { .. } | Problem::TooMany { .. } => {
            problem
        }
    }
}

fn hint(access: &Access, problem: &Problem) -> String {
    match problem {
        Problem::NoClient { .. } => "install the certificates of your system (`ca-certificates`)".to_owned(),
        Problem::Unreachable { .. } if access.is_local => {
            "start the server, or correct `base_url:`; nothing answers there".to_owned()
        }
        Problem::Unreachable { .. } => "check the network, the proxy and `base_url:`".to_owned(),
        Problem::Silent { .. } | Problem::Cut { .. } => "try again".to_owned(),
        Problem::TooLong { .. } | Problem::Unreadable { .. } => {
            format!("check that `base_url:` is the address of a server that speaks {}", access.wire.as_str())
        }
        Problem::RequestTooLong { .. } => {
            "lower `max_turns:`, or have the model and the tools of this test say less".to_owned()
        }
        Problem::TooMany { .. } => "record again; no agent means that many calls at once".to_owned(),
        Problem::Redirect { .. } => "set `base_url:` to where the model really is".to_owned(),
        Problem::Failed { .. } => "see what the provider says, and try again".to_owned(),
        Problem::Stopped { .. } => "record again; the model did not finish its reply".to_owned(),
        Problem::Status { status, said, .. } => status_hint(access, *status, said),
    }
}

fn status_hint(access: &Access, status: u16, said: &str) -> String {
    let says = |word: &str| said.to_lowercase().contains(word);
    match (status, &access.key) {
        (401 | 403, Some(key)) => format!("check the key in {}", key.variable),
        (401 | 403, None) => "name the variable that holds the key with `api_key_env:`".to_owned(),
        (404, _) => {
            let without = if access.wire == Wire::Messages { ", which is without `/v1` here" } else { "" };
            format!("check the name of the model, `{}`, and `base_url:`{without}", access.model)
        }
        (400, _) if says("temperature") => "remove `temperature:` from the test; this model refuses it".to_owned(),
        (400, _) if access.wire == Wire::Responses && says("encrypted content") => {
            "give the model an entry in `models:` with `api: chat`; it does not reason, and this interface asks it to"
                .to_owned()
        }
        (408 | 409 | 429 | 500..=599, _) => "try again later, or with fewer runs at once (`--jobs 1`)".to_owned(),
        _ => "the provider refuses the request; correct what it names".to_owned(),
    }
}
