//! Why a model gave no usable reply. Messages never contain the key.

use std::fmt;
use std::time::Duration;

use mcptest_core::diag::{Code, RunError, printable};
use mcptest_core::json;
use serde_json::Value;

use super::access::{Access, Wire, shown};
use super::http::MAX_WAIT;

/// How much of a provider's message is shown.
const SHOWN: usize = 400;

/// A model that gave no usable reply.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub struct AskError {
    /// The model's name in the suite.
    pub model: String,
    /// The URL, without its query.
    pub address: String,
    pub attempts: u32,
    #[source]
    pub problem: Box<Problem>,
    hint: String,
}

#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Problem {
    /// There is no HTTP client.
    #[error("cannot set up HTTPS: {what}")]
    NoClient { what: String },
    /// The connection failed before a response.
    #[error("connection failed: {what}")]
    Unreachable { what: String },
    #[error("no complete response within {}", seconds(*.limit))]
    Silent { limit: Duration },
    /// The connection was lost during the response.
    #[error("the connection was lost during the response: {what}")]
    Cut { what: String },
    #[error("the response has more than {limit} bytes")]
    TooLong {
        /// How long it may be.
        limit: usize,
    },
    #[error("the conversation has grown to {bytes} bytes; the limit is {limit}")]
    RequestTooLong {
        /// The size of the request.
        bytes: usize,
        /// How long it may be.
        limit: usize,
    },
    /// The reply has more calls than the limit per turn.
    #[error("the reply has {calls} calls; the limit is {limit}")]
    TooMany {
        calls: usize,
        /// How many there may be.
        limit: usize,
    },
    /// The response has an error status.
    #[error("HTTP {status}{}{}", after_colon(.message), too_patient(*.wait))]
    Status { status: u16, message: String, wait: Option<Duration> },
    /// A redirect, which is not followed because the request carries a key.
    #[error("HTTP {status} redirects to {to}; redirects are not followed")]
    Redirect {
        status: u16,
        /// The target, without its query.
        to: String,
    },
    /// A response with a success status that contains an error.
    #[error("the provider returned an error{}", after_colon(.message))]
    Failed { message: String },
    #[error("cannot read the response: {why}{}", after_colon(.excerpt))]
    Unreadable { why: String, excerpt: String },
    /// The reply ended with an unknown reason, so it may be incomplete.
    #[error("the reply ended with `{reason}`{}", after_colon(.detail.as_deref().unwrap_or("")))]
    Stopped {
        /// As the provider spells it.
        reason: String,
        detail: Option<String>,
    },
}

fn after_colon(text: &str) -> String {
    if text.is_empty() { String::new() } else { format!(": {text}") }
}

fn too_patient(wait: Option<Duration>) -> String {
    match wait.filter(|wait| *wait > MAX_WAIT) {
        Some(wait) => format!("; it asks to wait {}, and the limit is {}", seconds(wait), seconds(MAX_WAIT)),
        None => String::new(),
    }
}

/// A duration for messages.
pub(super) fn seconds(time: Duration) -> String {
    format!("{} s", time.as_secs_f64())
}

impl Problem {
    /// Whether the provider may have billed the request.
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

    /// A response without a required part. It is cut after redaction: a cut secret would not be found.
    pub(super) fn unreadable(why: &str, raw: &Value) -> Self {
        Self::Unreadable { why: why.to_owned(), excerpt: json::canonical(raw) }
    }
}

impl fmt::Display for AskError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "model `{}` at {}: {}", self.model, self.address, self.problem)?;
        if self.attempts > 1 {
            write!(f, " ({} attempts)", self.attempts)?;
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

/// Removes secrets and unprintable characters from a provider's message. Servers echo the key that they reject.
fn clean(access: &Access, problem: Problem) -> Problem {
    let words = |text: String| {
        let text = access.without_secrets(&text);
        let mut out = String::new();
        for word in text.split(|c: char| c.is_control() || c.is_whitespace()).filter(|word| !word.is_empty()) {
            // The message may have megabytes; only what is shown is processed.
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
        Problem::Status { status, message, wait } => Problem::Status { status, message: words(message), wait },
        Problem::Redirect { status, to } => Problem::Redirect { status, to: words(to) },
        Problem::Failed { message } => Problem::Failed { message: words(message) },
        Problem::Unreadable { why, excerpt } => Problem::Unreadable { why: words(why), excerpt: words(excerpt) },
        Problem::Stopped { reason, detail } => Problem::Stopped { reason: words(reason), detail: detail.map(words) },
        Problem::Silent { .. } | Problem::TooLong { .. } | Problem::RequestTooLong { .. } | Problem::TooMany { .. } => {
            problem
        }
    }
}

fn hint(access: &Access, problem: &Problem) -> String {
    match problem {
        Problem::NoClient { .. } => "install your system's CA certificates (`ca-certificates`)".to_owned(),
        Problem::Unreachable { .. } if access.is_local => {
            "start the server, or fix `base_url:`; nothing is listening there".to_owned()
        }
        Problem::Unreachable { .. } => "check the network, the proxy and `base_url:`".to_owned(),
        Problem::Silent { .. } | Problem::Cut { .. } => "try again".to_owned(),
        Problem::TooLong { .. } | Problem::Unreadable { .. } => {
            format!("check that `base_url:` points to a server that speaks {}", access.wire.as_str())
        }
        Problem::RequestTooLong { .. } => "lower `max_turns:`, or make the tools of this test return less".to_owned(),
        Problem::TooMany { .. } => "re-record; no agent makes that many calls at once on purpose".to_owned(),
        Problem::Redirect { .. } => "set `base_url:` to the target of the redirect".to_owned(),
        Problem::Failed { .. } => "read the provider's message, and try again".to_owned(),
        Problem::Stopped { .. } => "re-record; the model did not finish its reply".to_owned(),
        Problem::Status { status, message, .. } => status_hint(access, *status, message),
    }
}

fn status_hint(access: &Access, status: u16, message: &str) -> String {
    let says = |word: &str| message.to_lowercase().contains(word);
    match (status, &access.key) {
        (401 | 403, Some(key)) => format!("check the key in {}", key.variable),
        (401 | 403, None) => "set `api_key_env:` to the variable that holds the key".to_owned(),
        (404, _) => {
            let without = if access.wire == Wire::Messages { " (without `/v1` here)" } else { "" };
            format!("check the model name, `{}`, and `base_url:`{without}", access.model)
        }
        (400, _) if says("temperature") => {
            "remove `temperature:` from the test; this model does not accept it".to_owned()
        }
        (400, _) if access.wire == Wire::Responses && says("encrypted content") => {
            "add the model to `models:` with `api: chat`; it does not support reasoning, which this API requests"
                .to_owned()
        }
        (408 | 409 | 429 | 500..=599, _) => "try again later, or with fewer runs at once (`--jobs 1`)".to_owned(),
        _ => "the provider rejected the request; fix what it names".to_owned(),
    }
}
