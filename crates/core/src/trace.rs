//! The trace envelope: only what a run observably did.
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
mod shape;
mod shared;

pub(crate) use fields::schema;
pub use fields::{FIELDS, Field, Place, locate};
pub use lazy::{LazyText, LazyValue};
pub(crate) use lenient::read_lenient;
pub use lenient::tool_calls_from_envelope;
pub(crate) use partial::{Gaps, Part, Partial, fill_results};
pub(crate) use read::Envelope;
pub(crate) use shape::{Described, object};
pub use shape::{Kind, Member};
pub(crate) use shared::share;
pub use shared::{SharedText, sharing};

use std::collections::BTreeSet;

use serde::Deserialize;
use serde_json::Value;

use crate::diag::did_you_mean;
use crate::json;

/// What one run observably did.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Trace {
    /// Where the final response comes from, if a program gave it.
    pub answer_source: Option<AnswerSource>,
    /// The exchange around the calls.
    pub conversation: Conversation,
    /// Text of the last assistant message; empty when that message carries no text. What a recorded program answered.
    pub final_response: Option<LazyText>,
    /// How the recorded program ended.
    pub program: Option<Box<Program>>,
    /// Every tool call in dispatch order.
    pub tool_calls: Option<Vec<ToolCall>>,
    /// `tool_results[i]` answers `tool_calls[i]`; `None` where no answer is known.
    pub tool_results: Option<Vec<Option<ToolResult>>>,
    /// Server and name of the tools that the recorded catalog marks with `readOnlyHint`. Records that are envelopes name them next to the trace, as
    /// `read_only_tools`.
    pub read_only: BTreeSet<(String, String)>,
}

impl Trace {
    /// Whether the catalog says that the tool of a call changes nothing.
    pub fn is_read_only(&self, call: &ToolCall) -> bool {
        !self.read_only.is_empty()
            && call.server.as_ref().is_some_and(|server| self.read_only.contains(&(server.clone(), call.name.clone())))
    }
}

/// The trace under the name it has while a conversation is being recorded.
pub type ConversationTrace = Trace;

// Keys are written in the order of these declarations, which is alphabetical.

object! {
    /// One tool call.
    #[derive(Default)]
    #[serde(try_from = "read::Call")]
    pub struct ToolCall {
        /// The arguments as the model wrote them; of a recorded program, as the server got them. Text that is not JSON stays text.
        pub args: Option<Value> = "the arguments were not recorded: a `trajectory` that compares them is `unassessable`",
        /// The arguments as the model wrote them, if the program sent others.
        pub asked_args: Option<Value> = "the program sent what the model wrote",
        /// Who made the call, if code that the model wrote made it, or the recorded program on its own: `{"type": "program"}`.
        pub caller: Option<Value> as (Kind::Open("")) = "the model itself made the call",
        /// The provider's ID of the call.
        pub id: Option<String> = "the provider sent none",
        /// Name of the tool, without the prefix of its server.
        pub name: String,
        /// Index into `tool_calls` of the call that the program repeated on its own.
        pub retry_of: Option<usize> = "it is not a retry",
        /// Server that owns the tool. Empty for a tool that no server has.
        pub server: Option<String> = "the recording does not say",
        /// Index into `conversation.turns` of the message that requested the call.
        pub turn: Option<usize> = "the recording does not say",
        /// Which sides of a recorded program saw the call: both, only the MCP server, or only the model.
        pub witness: Option<Witness> = "the run was not recorded from both sides",
    }
}

object! {
    /// One answer, or null if none is known.
    #[derive(Default)]
    pub struct ToolResult {
        /// The blocks of content that the tool answered with.
        #[serde(default, deserialize_with = "read::blocks")]
        pub content: Option<Vec<LazyValue>> as (Kind::List(&BLOCK)) = "the recording does not say",
        /// Milliseconds that the call took when it was recorded. Replays keep it.
        #[serde(default, deserialize_with = "read::whole")]
        pub duration_ms: Option<u64> = "the recording does not say",
        /// How the call failed.
        pub error: Option<Box<CallError>> = "the call did not fail; if it did, the recording does not say how",
        /// The injected fault that the call met.
        pub fault: Option<Box<FaultMark>> = "the call met none",
        /// Whether the call failed.
        pub is_error: Option<bool> = "whether the call succeeded was not recorded",
        /// That the program showed the model something other than the server's answer.
        pub shown: Option<Shown> = "the model was shown the answer, or the recording does not say",
        /// The structured answer of the tool.
        pub structured_content: Option<LazyValue> = "the tool returned none; if `content` is absent too, the recording does not say",
    }
}

const BLOCK: Kind = Kind::Open("One block, as MCP has it: `type`, and `text` in a block of text.");

object! {
    /// How a call failed.
    #[derive(Eq)]
    pub struct CallError {
        /// Code of the JSON-RPC error, or HTTP status.
        pub code: Option<i64> = "the failure has no code",
        /// The layer that failed.
        pub kind: ErrorKind,
        /// The message as it arrived.
        pub message: String,
    }
}

object! {
    /// An injected fault that a call met.
    #[derive(Eq)]
    pub struct FaultMark {
        /// What the agent saw of it.
        pub effect: FaultEffect,
        /// What was injected.
        pub kind: FaultKind,
        /// Virtual time that the call took, in milliseconds.
        #[serde(deserialize_with = "read::required_whole")]
        pub ms: u64,
        /// Name of the fault in the suite.
        pub name: String,
    }
}

object! {
    /// The exchange around the calls.
    #[derive(Default)]
    pub struct Conversation {
        /// Milliseconds that the run took when it was recorded. Replays keep it.
        #[serde(default, deserialize_with = "read::whole")]
        pub duration_ms: Option<u64> = "the recording does not say",
        /// The model that answered.
        pub model: Option<String> = "the recording does not say",
        /// Why the run ended.
        pub stop_reason: Option<StopReason> = "not recorded: `recovery` is `unassessable`",
        /// Tokens of the whole run.
        #[serde(default, deserialize_with = "read::nothing_for_null")]
        pub tokens: Tokens = "no usage was recorded",
        /// The messages in order.
        pub turns: Option<Vec<Turn>> = "the messages were not recorded",
    }
}

object! {
    /// One message.
    #[derive(Eq)]
    pub struct Turn {
        /// The text. Null for a message without text, such as one that only makes calls; leaving the key out is an error.
        #[serde(deserialize_with = "Option::deserialize")]
        pub content: Option<LazyText>,
        /// The role of the speaker.
        pub role: Role,
    }
}

object! {
    /// Tokens of a run.
    #[derive(Copy, Eq, Default)]
    pub struct Tokens {
        /// Tokens served from a cache.
        #[serde(default, deserialize_with = "read::whole")]
        pub cached: Option<u64> = "the recording does not say",
        /// Tokens read.
        #[serde(default, deserialize_with = "read::whole")]
        pub input: Option<u64> = "the recording does not say",
        /// Tokens written.
        #[serde(default, deserialize_with = "read::whole")]
        pub output: Option<u64> = "the recording does not say",
        /// All tokens, as the provider counted them.
        #[serde(default, deserialize_with = "read::whole")]
        pub total: Option<u64> = "the provider sent no sum; `stability` adds input and output then",
    }
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

        impl $crate::trace::Described for $name {
            const KIND: $crate::trace::Kind = $crate::trace::Kind::Words(&[$($word),+]);
        }

        impl $name {
            /// Every member, in the order of the reference.
            pub const ALL: &'static [Self] = &[$(Self::$variant),+];

            /// The word used in files.
            pub fn as_str(self) -> &'static str {
                match self { $(Self::$variant => $word),+ }
            }

            /// The member with this word.
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

object! {
    /// How a recorded program ended.
    #[derive(Eq, Default)]
    pub struct Program {
        /// Its exit code; 128 and the number of the signal that ended it.
        pub exit: Option<i64> = "it did not end on its own",
        /// Why the run failed, regardless of what it did before: a wrong exit code, the time limit, or no answer.
        pub failed: Option<String> = "it ended as it should, or no expectation was set",
        /// The injected faults as measured, in order.
        pub faults: Option<Vec<ProgramFault>> = "none was to be injected",
        /// Why the recording is incomplete. Every gate is `unassessable` then.
        pub incomplete: Option<String> = "the recording is whole",
        /// What is odd about the recording, such as calls in its own account that were not seen.
        pub notes: Option<Vec<String>> = "nothing is odd",
        /// The last lines of its output, if it failed.
        pub output: Option<String> = "it did not fail, or printed nothing",
        /// What passed between the program, its model and its servers, in order and without bodies.
        pub timeline: Option<Vec<TimelineEntry>> = "the recording does not say",
    }
}

object! {
    /// A fault that was injected into a program.
    #[derive(Eq)]
    pub struct ProgramFault {
        /// Milliseconds until the program had an answer, or gave up.
        #[serde(deserialize_with = "read::required_whole")]
        pub duration_ms: u64,
        /// What the program saw of it.
        pub effect: FaultEffect,
        /// What was injected.
        pub kind: FaultKind,
        /// When it was injected, in milliseconds since the recording began.
        #[serde(deserialize_with = "read::required_whole")]
        pub ms: u64,
        /// Name of the fault in the suite.
        pub name: String,
    }
}

object! {
    /// A request of the program and how it ended.
    #[derive(Eq)]
    pub struct TimelineEntry {
        /// Milliseconds until the answer was complete.
        #[serde(default, deserialize_with = "read::whole")]
        pub duration_ms: Option<u64> = "no answer came",
        /// When it began, in milliseconds since the recording began.
        #[serde(deserialize_with = "read::required_whole")]
        pub ms: u64,
        /// The server, for a request to one.
        pub server: Option<String> = "it went to the model",
        /// The receiver of the request.
        pub side: Counterpart,
        /// How it ended: `ok`, `error`, `canceled`, `cut`, an HTTP status, or `none` without an answer.
        pub status: String,
        /// The MCP method with the tool, or the path of the model API.
        pub what: String,
    }
}

words! {
    /// The receiver of a program's request.
    Counterpart {
        /// Its model.
        Model = "model",
        /// One of its MCP servers.
        Mcp = "mcp",
    }
}

words! {
    /// Who saw a call of a recorded program.
    Witness {
        /// The model requested it and a server received it.
        Both = "both",
        /// Only a server: the program made the call on its own.
        Mcp = "mcp",
        /// Only the model: no server got it.
        Model = "model",
    }
}

words! {
    /// Where a final response comes from.
    AnswerSource {
        /// The program's own output.
        Program = "program",
        /// The last message of the model.
        Model = "model",
    }
}

words! {
    /// What the model was shown of an answer.
    Shown {
        /// Something other than the server's answer.
        Differs = "differs",
    }
}

words! {
    /// The role of the speaker of a turn.
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
        /// The model finished on its own.
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
        /// The program did not make the call that the model requested.
        Refused = "refused",
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
        /// The model answers with an HTTP error.
        ModelError = "model_error",
        /// The model answers late.
        ModelSlow = "model_slow",
        /// The reply of the model breaks off.
        ModelCut = "model_cut",
        /// The reply of the model is not what its API sends.
        ModelGarbage = "model_garbage",
    }
}

impl FaultKind {
    /// Whether it targets the model of a program, not a tool.
    pub fn targets_model(self) -> bool {
        matches!(self, Self::ModelError | Self::ModelSlow | Self::ModelCut | Self::ModelGarbage)
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

    /// Whether the program refused to make the call, so that no server got it.
    pub fn is_refused(&self) -> bool {
        self.error.as_ref().is_some_and(|error| error.kind == ErrorKind::Refused)
    }

    /// The text a person would read of it, for the turn that carries it; `None` without a block of text.
    pub fn text(&self) -> Option<LazyText> {
        LazyText::joined(self.content.iter().flatten().filter_map(LazyValue::shared_text))
    }

    /// The text blocks of the result.
    pub fn texts(&self) -> impl Iterator<Item = &str> {
        self.content.iter().flatten().filter_map(|block| block.text())
    }
}

/// Price of a million input tokens and of a million output tokens.
pub type Price = (f64, f64);

/// What these tokens cost at a price.
pub fn cost(input: u64, output: u64, price: Price) -> f64 {
    (input as f64 * price.0 + output as f64 * price.1) / 1_000_000.0
}

impl Tokens {
    /// All tokens: as counted by the provider, else input and output together.
    pub fn spent(&self) -> Option<u64> {
        self.total.or_else(|| Some(self.input?.saturating_add(self.output?)))
    }
}

impl Trace {
    /// Why no gate can be evaluated on it: the recording is incomplete.
    pub fn incomplete(&self) -> Option<&str> {
        self.program.as_ref()?.incomplete.as_deref()
    }

    /// The answer to call `index`, when it is known.
    pub fn result(&self, index: usize) -> Option<&ToolResult> {
        self.tool_results.as_ref()?.get(index)?.as_ref()
    }
}
