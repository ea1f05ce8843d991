//! The trace envelope: what a run observably did, and nothing else.
//!
//! Absent is unknown; present and empty is empty. Every part that a recording may lack is an `Option`, JSON `null`
//! reads like an absent key, and no reader fills a gap with a guess. Two exceptions are part of the format: a turn
//! with `content: null` is known to carry no text, and `tool_results[i]: null` says that no answer is known.

mod envelope;
mod fields;
mod lazy;
mod lenient;
mod partial;
mod read;

pub use fields::{FIELDS, Field, Place, locate};
pub use lazy::LazyValue;
pub(crate) use lenient::read_lenient;
pub use lenient::tool_calls_from_envelope;
pub(crate) use partial::{Gaps, Part, Partial, fill_results};
pub(crate) use read::Envelope;

use std::collections::BTreeSet;

use serde::Deserialize;
use serde_json::Value;

use crate::diag::did_you_mean;
use crate::json;

/// What one run observably did.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Trace {
    /// Every tool call in dispatch order.
    pub tool_calls: Option<Vec<ToolCall>>,
    /// `tool_results[i]` answers `tool_calls[i]`; `None` where no answer is known.
    pub tool_results: Option<Vec<Option<ToolResult>>>,
    /// Text of the last assistant message; empty when that message carries no text.
    pub final_response: Option<String>,
    /// The exchange around the calls.
    pub conversation: Conversation,
    /// Server and name of the tools that the recorded catalogue marks with `readOnlyHint`. Not a part of the envelope.
    pub read_only: BTreeSet<(String, String)>,
}

impl Trace {
    /// Whether the catalogue says that the tool of a call changes nothing.
    pub fn is_read_only(&self, call: &ToolCall) -> bool {
        !self.read_only.is_empty()
            && call.server.as_ref().is_some_and(|server| self.read_only.contains(&(server.clone(), call.name.clone())))
    }
}

/// The trace under the name it has while a conversation is being recorded.
pub type ConversationTrace = Trace;

/// One recorded tool call.
#[derive(Debug, Clone, PartialEq, Default, Deserialize)]
#[serde(try_from = "read::Call")]
pub struct ToolCall {
    /// Tool name without any server prefix.
    pub name: String,
    /// The server that owns the tool; empty for a tool that no server has.
    pub server: Option<String>,
    /// Arguments as emitted. Text that was not JSON is kept as a string.
    pub args: Option<Value>,
    /// Who made the call, when it was generated code and not the model itself.
    pub caller: Option<Value>,
    /// The provider's call id.
    pub id: Option<String>,
    /// Index into `conversation.turns` of the assistant turn that emitted the call.
    pub turn: Option<usize>,
}

/// The answer to one tool call.
#[derive(Debug, Clone, PartialEq, Default, Deserialize)]
pub struct ToolResult {
    /// Whether the call failed.
    pub is_error: Option<bool>,
    /// MCP content blocks.
    #[serde(default, deserialize_with = "read::blocks")]
    pub content: Option<Vec<LazyValue>>,
    /// Structured content.
    pub structured_content: Option<LazyValue>,
    /// How the call failed.
    pub error: Option<Box<CallError>>,
    /// The injected fault this call met.
    pub fault: Option<Box<FaultMark>>,
    /// Wall time of the call when it was recorded.
    #[serde(default, deserialize_with = "read::whole")]
    pub duration_ms: Option<u64>,
}

/// How a call failed.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct CallError {
    /// The layer that failed.
    pub kind: ErrorKind,
    /// JSON-RPC or HTTP code.
    pub code: Option<i64>,
    /// The message as received.
    pub message: String,
}

/// An injected fault as it was met by one call.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct FaultMark {
    /// Name of the fault in the suite.
    pub name: String,
    /// What was injected.
    pub kind: FaultKind,
    /// What the agent saw.
    pub effect: FaultEffect,
    /// Virtual time this call took.
    #[serde(deserialize_with = "read::required_whole")]
    pub ms: u64,
}

/// The exchange around the calls.
#[derive(Debug, Clone, PartialEq, Default, Deserialize)]
pub struct Conversation {
    /// Model name.
    pub model: Option<String>,
    /// Messages in order.
    pub turns: Option<Vec<Turn>>,
    /// Token usage.
    #[serde(default, deserialize_with = "read::nothing_for_null")]
    pub tokens: Tokens,
    /// Why the run ended.
    pub stop_reason: Option<StopReason>,
    /// Wall time of the run when it was recorded.
    #[serde(default, deserialize_with = "read::whole")]
    pub duration_ms: Option<u64>,
}

/// One message.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct Turn {
    /// Who speaks.
    pub role: Role,
    /// The text; `None` for a message that carries none. A recording says so with `null`: leaving the key out is an error.
    #[serde(deserialize_with = "Option::deserialize")]
    pub content: Option<String>,
}

/// Token usage of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
pub struct Tokens {
    /// Tokens read.
    #[serde(default, deserialize_with = "read::whole")]
    pub input: Option<u64>,
    /// Tokens written.
    #[serde(default, deserialize_with = "read::whole")]
    pub output: Option<u64>,
    /// Tokens served from a cache.
    #[serde(default, deserialize_with = "read::whole")]
    pub cached: Option<u64>,
    /// All tokens, as the provider counted them.
    #[serde(default, deserialize_with = "read::whole")]
    pub total: Option<u64>,
}

/// Declares a closed set of words: the enum, its list, its spelling.
macro_rules! words {
    ($(#[$meta:meta])* $name:ident { $($(#[$vmeta:meta])* $variant:ident = $word:literal),+ $(,)? }) => {
        $(#[$meta])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, serde::Serialize)]
        pub enum $name { $($(#[$vmeta])* #[serde(rename = $word)] $variant),+ }

        impl<'de> serde::Deserialize<'de> for $name {
            fn deserialize<D: serde::Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
                $crate::trace::word(from, Self::ALL, Self::as_str)
            }
        }

        impl $name {
            /// Every member, in the order of the reference.
            pub const ALL: &'static [Self] = &[$(Self::$variant),+];

            /// The word used in files.
            pub fn as_str(self) -> &'static str {
                match self { $(Self::$variant => $word),+ }
            }

            /// The member a word stands for.
            pub fn from_word(word: &str) -> Option<Self> {
                match word { $($word => Some(Self::$variant),)+ _ => None }
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(self.as_str())
            }
        }
    };
}
pub(crate) use words;

/// Reads a word of a closed set. A derived reader would also take `{"word": null}`.
pub(crate) fn word<'de, D: serde::Deserializer<'de>, T: Copy>(
    from: D,
    all: &[T],
    spell: impl Fn(T) -> &'static str,
) -> Result<T, D::Error> {
    let found = String::deserialize(from)?;
    if let Some(word) = all.iter().copied().find(|word| spell(*word) == found) {
        return Ok(word);
    }
    let words: Vec<_> = all.iter().map(|word| spell(*word)).collect();
    let near = did_you_mean(&found, words.iter().copied());
    let hint = near.map_or_else(String::new, |near| format!(" (did you mean {near}?)"));
    let message = format!("expected one of {}{hint}, found a string ({:?})", words.join(", "), json::cut(&found, 40));
    Err(serde::de::Error::custom(message))
}

words! {
    /// Who speaks in a turn.
    Role {
        /// The person or the harness.
        User = "user",
        /// The model.
        Assistant = "assistant",
        /// A tool's answer.
        Tool = "tool",
    }
}

words! {
    /// Why a run ended.
    StopReason {
        /// The model finished by itself.
        Completed = "completed",
        /// The turn limit was reached.
        MaxTurns = "max_turns",
        /// The reply was cut at its token limit.
        MaxTokens = "max_tokens",
        /// The model refused.
        Refused = "refused",
        /// The run broke.
        Error = "error",
    }
}

words! {
    /// The layer at which a call failed.
    ErrorKind {
        /// The tool answered with an error result.
        Tool = "tool",
        /// A JSON-RPC error.
        Jsonrpc = "jsonrpc",
        /// An HTTP status.
        Http = "http",
        /// No answer in time.
        Timeout = "timeout",
        /// The connection broke.
        Transport = "transport",
        /// An injected fault.
        Fault = "fault",
    }
}

words! {
    /// What an injected fault does.
    FaultKind {
        /// Never answers.
        Hang = "hang",
        /// Never answers, for another reason.
        Wedged = "wedged",
        /// Answers late.
        Slow = "slow",
        /// Hangs a number of times, then works.
        RecoverAfter = "recover_after",
        /// A protocol error.
        Error = "error",
        /// An error result.
        IsError = "is_error",
        /// The connection drops.
        Drop = "drop",
    }
}

words! {
    /// What the agent saw of a fault.
    FaultEffect {
        /// A timeout.
        Timeout = "timeout",
        /// A late but good answer.
        Delay = "delay",
        /// An error.
        Error = "error",
    }
}

impl FaultMark {
    /// Whether the agent was denied an answer. A delay is late, not denied.
    pub fn is_hit(&self) -> bool {
        self.effect != FaultEffect::Delay
    }
}

impl ToolResult {
    /// Whether the call failed; `None` when the recording does not say.
    pub fn failed(&self) -> Option<bool> {
        let denied = self.error.is_some() || self.fault.as_ref().is_some_and(|fault| fault.is_hit());
        if denied { Some(true) } else { self.is_error }
    }

    /// The text blocks of the result.
    pub fn texts(&self) -> impl Iterator<Item = &str> {
        self.content.iter().flatten().filter_map(|block| block.get("text")?.as_str())
    }
}

impl Tokens {
    /// All tokens: as counted by the provider, else input and output together.
    pub fn spent(&self) -> Option<u64> {
        self.total.or_else(|| Some(self.input?.saturating_add(self.output?)))
    }
}

impl Trace {
    /// The answer to call `index`, when it is known.
    pub fn result(&self, index: usize) -> Option<&ToolResult> {
        self.tool_results.as_ref()?.get(index)?.as_ref()
    }
}
