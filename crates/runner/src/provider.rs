//! Whoever answers for a model: a script, or a provider that is asked over HTTP.
//!
//! A provider's client is thin. Its request is built once and sent byte for byte; its reply is kept as received and goes
//! back so, because signatures, encrypted reasoning and types of content that are not known here must survive the round
//! trip. One file per interface holds the two pure functions from question to body and from body to reply.

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
pub use http::Patience;
use serde_json::Value;

use crate::agent::{Exchange, Reply};
use crate::catalogue::Offered;
use access::Wire;

/// Everything a model is told when it is asked.
#[derive(Debug, Clone, Copy)]
pub struct Question<'a> {
    /// What it is told before.
    pub system: Option<&'a str>,
    /// What it is asked.
    pub prompt: &'a str,
    /// What was said since.
    pub exchanges: &'a [Exchange],
    /// The tools it may call.
    pub tools: &'a [Offered],
    /// Most tokens of its reply.
    pub max_tokens: u64,
    /// Sent only when given.
    pub temperature: Option<f64>,
}

/// Asks models. One client serves any number of them at once, and clones share their connections.
#[derive(Clone, Default)]
pub struct Client {
    clients: Arc<http::Clients>,
    patience: Patience,
}

impl fmt::Debug for Client {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // The clients below would show the proxy, with its password.
        f.debug_struct("Client").field("patience", &self.patience).finish_non_exhaustive()
    }
}

impl Client {
    /// A client with this patience instead of the usual.
    pub fn with(patience: Patience) -> Self {
        Self { clients: Arc::default(), patience }
    }

    /// Asks a model, again where that may help. `notice` is told each time.
    pub async fn ask(
        &self,
        access: &Access,
        question: &Question<'_>,
        notice: &(dyn Fn(&str) + Sync),
    ) -> Result<Reply, AskError> {
        self.send(access, question, &access.body(question), notice).await
    }

    /// Sends the bytes of a question that were built before, to know their size.
    pub async fn send(
        &self,
        access: &Access,
        question: &Question<'_>,
        body: &[u8],
        notice: &(dyn Fn(&str) + Sync),
    ) -> Result<Reply, AskError> {
        let answer = http::send(&self.clients, self.patience, access, body, notice).await;
        let answer = answer.map_err(|(problem, attempts)| AskError::new(access, problem, attempts))?;
        read(access.wire, &answer, question).map_err(|problem| AskError::new(access, problem, 1))
    }
}

impl Access {
    /// The bytes that a question is sent as.
    pub fn body(&self, question: &Question<'_>) -> Vec<u8> {
        let body = match self.wire {
            Wire::Messages => anthropic::body(self, question),
            Wire::Responses => openai_responses::body(self, question),
            Wire::Chat => openai_chat::body(self, question),
            Wire::Gemini => gemini::body(self, question),
        };
        body.to_string().into_bytes()
    }
}

/// A reply, from the bytes of a success.
fn read(wire: Wire, answer: &[u8], question: &Question<'_>) -> Result<Reply, Problem> {
    let raw: Value = serde_json::from_slice(answer).map_err(|error| Problem::Unreadable {
        why: format!("it is not JSON ({error})"),
        excerpt: String::from_utf8_lossy(answer).into_owned(),
    })?;
    if raw.get("error").is_some_and(|error| !error.is_null()) {
        return Err(Problem::Failed { said: http::said(&raw.to_string()) });
    }
    match wire {
        Wire::Messages => anthropic::reply(raw, question),
        Wire::Responses => openai_responses::reply(raw, question),
        Wire::Chat => openai_chat::reply(raw, question),
        Wire::Gemini => gemini::reply(raw),
    }
}
