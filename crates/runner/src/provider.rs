//! The source of a model's replies: a script, or a provider over HTTP.
//!
//! A provider's client is thin. A request is built once and sent byte for byte; a reply is kept as received and sent back
//! unchanged, because signatures, encrypted reasoning and unknown content types must survive the round trip. One file per API
//! has two pure functions: from request to body and from body to reply.

mod access;
mod anthropic;
mod error;
mod gemini;
mod http;
mod openai_chat;
mod openai_responses;
pub mod script;
mod wire;

use std::fmt;
use std::sync::Arc;

pub use access::{Access, AccessError};
pub use error::{AskError, Problem};
pub use http::Timeouts;
use mcptest_core::json;

use crate::agent::{Exchange, Reply};
use crate::catalog::Offered;
use access::Wire;

/// Everything that is sent to a model.
#[derive(Debug, Clone, Copy)]
pub struct ModelRequest<'a> {
    pub system: Option<&'a str>,
    pub prompt: &'a str,
    pub exchanges: &'a [Exchange],
    /// The tools it may call.
    pub tools: &'a [Offered],
    /// Most tokens of the reply.
    pub max_tokens: u64,
    /// Sent only when given.
    pub temperature: Option<f64>,
}

/// Calls models. One client serves any number of them at once, and clones share connections.
#[derive(Clone, Default)]
pub struct Client {
    clients: Arc<http::Clients>,
    timeouts: Timeouts,
}

impl fmt::Debug for Client {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // The inner clients would show the proxy with its password.
        f.debug_struct("Client").field("timeouts", &self.timeouts).finish_non_exhaustive()
    }
}

impl Client {
    /// A client with these timeouts instead of the default.
    pub fn with(timeouts: Timeouts) -> Self {
        Self { clients: Arc::default(), timeouts }
    }

    /// Calls a model, with retries if they may help. `notice` is called for each retry.
    pub async fn ask(
        &self,
        access: &Access,
        question: &ModelRequest<'_>,
        notice: &(dyn Fn(&str) + Sync),
    ) -> Result<Reply, AskError> {
        self.send(access, question, &access.body(question), notice).await
    }

    /// Sends a request whose body was built before, to know its size.
    pub async fn send(
        &self,
        access: &Access,
        question: &ModelRequest<'_>,
        body: &[u8],
        notice: &(dyn Fn(&str) + Sync),
    ) -> Result<Reply, AskError> {
        let failed = |problem, attempts| AskError::new(access, problem, attempts);
        if body.len() > http::MAX_REQUEST {
            let problem = Problem::RequestTooLong { bytes: body.len(), limit: http::MAX_REQUEST };
            return Err(failed(problem, 0));
        }
        let answer = http::send(&self.clients, self.timeouts, access, body, notice).await;
        let answer = answer.map_err(|(problem, attempts)| failed(problem, attempts))?;
        read(access.wire, &answer, question).map_err(|problem| failed(problem, 1))
    }
}

impl Access {
    /// The body of a request.
    pub fn body(&self, question: &ModelRequest<'_>) -> Vec<u8> {
        let body = match self.wire {
            Wire::Messages => anthropic::body(self, question),
            Wire::Responses => openai_responses::body(self, question),
            Wire::Chat => openai_chat::body(self, question),
            Wire::Gemini => gemini::body(self, question),
        };
        body.to_string().into_bytes()
    }
}

/// Most calls of one reply. All of them are made in parallel.
const MOST_CALLS: usize = 1000;

/// Most commas and opening brackets of a response. Each begins a value, and a value takes up to a hundred times the memory of
/// its text; no model writes that many in one reply.
const MOST_VALUES: usize = 200_000;

/// The reply in a successful response.
fn read(wire: Wire, answer: &[u8], question: &ModelRequest<'_>) -> Result<Reply, Problem> {
    let unreadable = |why: String| Problem::Unreadable { why, excerpt: String::from_utf8_lossy(answer).into_owned() };
    if values(answer) > MOST_VALUES {
        return Err(unreadable(format!("it has more than {MOST_VALUES} values")));
    }
    let text = std::str::from_utf8(answer)
        .map_err(|error| unreadable(format!("it is not UTF-8 (byte {})", error.valid_up_to())))?;
    // With a duplicate key, a reply could be read differently here and by the provider that it is sent back to.
    let raw = json::parse(text).map_err(|error| unreadable(format!("it is not JSON ({error})")))?;
    if raw.get("error").is_some_and(|error| !error.is_null()) {
        return Err(Problem::Failed { message: http::error_message(&raw.to_string()) });
    }
    let reply = match wire {
        Wire::Messages => anthropic::reply(raw, question),
        Wire::Responses => openai_responses::reply(raw, question),
        Wire::Chat => openai_chat::reply(raw, question),
        Wire::Gemini => gemini::reply(raw),
    }?;
    match reply.calls.len() {
        0..=MOST_CALLS => Ok(reply),
        calls => Err(Problem::TooMany { calls, limit: MOST_CALLS }),
    }
}

/// The most values that a text can have. Strings are counted too, because arguments are JSON inside a string, where ASCII may
/// also be written as `\u00..`.
fn values(text: &[u8]) -> usize {
    let mut count = 0;
    for (at, byte) in text.iter().enumerate() {
        match byte {
            b',' | b'[' | b'{' => count += 1,
            b'\\' if text[at..].starts_with(b"\\u00") => count += 1,
            _ => {}
        }
    }
    count
}
