//! Messages in the same terms for every format.
//!
//! A format turns its own JSON into messages of text, calls and answers. Everything after that is
//! shared: [`Builder`](super::builder::Builder) makes a trace of messages, and spans are merged with them.

use std::fmt;

use serde_json::Value;
use serde_json::value::RawValue;

use super::ImportError;
use super::shape::Shape;
use super::usage::Counts;
use super::wire::{self, Text, Whole};
use crate::json;
use crate::trace::{LazyText, Role, StopReason, Tokens, ToolResult};

/// One message of a conversation. System prompts are not messages of a trace, so formats leave them out.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Message {
    pub(crate) role: Role,
    pub(crate) parts: Vec<Part>,
    /// The model that wrote the message.
    pub(crate) model: Option<String>,
    /// What the message cost.
    pub(crate) spent: Spent,
    /// Why the model stopped.
    pub(crate) stop: Option<StopReason>,
}

/// A part of a message, in the order of the message.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Part {
    Text(LazyText),
    Call(Call),
    Answer(Answer),
    /// Thinking, media and the like: neither text nor call nor answer.
    Other,
}

/// A call that the model makes.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct Call {
    pub(crate) id: Option<String>,
    /// The tool, under the name that the model used.
    pub(crate) name: String,
    pub(crate) server: Server,
    pub(crate) args: Option<Value>,
    pub(crate) caller: Option<Value>,
    /// Whether its answer names the function, because the format has no ids.
    pub(crate) is_answered_by_name: bool,
    /// The answer, where it is part of the call.
    pub(crate) result: Option<ToolResult>,
    pub(crate) at: At,
}

/// How to find the server of a tool.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) enum Server {
    /// By the name of the tool, with `--server-prefix` or `__`.
    #[default]
    FromName,
    /// The same, or this one where the name has none.
    FromNameOr(String),
    /// The format names it: `None` for an unknown server, an empty name for a tool that no server has.
    Known(Option<String>),
}

impl Server {
    /// The provider of the model runs the tool itself.
    pub(super) fn provider() -> Self {
        Self::Known(Some(String::new()))
    }
}

/// The answer to a call.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct Answer {
    /// The id of the call.
    pub(crate) id: Option<String>,
    /// The function it answers, where that is how the call is found.
    pub(crate) function: Option<String>,
    pub(crate) result: ToolResult,
    pub(crate) at: At,
}

/// Where a part is in its message, for error messages: `.content[2]`, or nothing where the message is the part.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct At(pub(super) Option<(&'static str, usize)>);

impl At {
    pub(super) fn new(list: &'static str, index: usize) -> Self {
        Self(Some((list, index)))
    }
}

impl fmt::Display for At {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Some((list, index)) => write!(f, ".{list}[{index}]"),
            None => Ok(()),
        }
    }
}

/// Where a message is in its record, for error messages.
#[derive(Debug, Clone, Copy)]
pub(super) enum Place<'a> {
    Key(&'a str),
    /// In a list. A list without a name is the whole record.
    Element(&'a str, usize),
}

impl fmt::Display for Place<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Key(key) => f.write_str(key),
            Self::Element(list, index) => write!(f, "{list}[{index}]"),
        }
    }
}

impl Part {
    /// A text part, or nothing for an empty text.
    pub(super) fn text(text: Option<&Text<'_>>) -> Self {
        text.and_then(Text::said).map_or(Self::Other, Self::Text)
    }
}

/// Whether an answer of a tool that the provider runs is an error, by the type of its content.
pub(super) fn is_provider_error(content: &Value) -> bool {
    content.get("type").and_then(Value::as_str).is_some_and(|kind| kind.ends_with("_tool_result_error"))
}

impl Message {
    pub(super) fn new(role: Role) -> Self {
        Self { role, parts: Vec::new(), model: None, spent: Spent::Nothing, stop: None }
    }

    pub(crate) fn with_parts(role: Role, parts: Vec<Part>) -> Self {
        Self { parts, ..Self::new(role) }
    }

    pub(crate) fn texts(&self) -> impl Iterator<Item = &LazyText> {
        self.parts.iter().filter_map(|part| if let Part::Text(text) = part { Some(text) } else { None })
    }

    /// The text of the message; `None` when it has none.
    pub(crate) fn text(&self) -> Option<LazyText> {
        LazyText::joined(self.texts().cloned())
    }

    pub(crate) fn calls(&self) -> impl Iterator<Item = &Call> {
        self.parts.iter().filter_map(|part| if let Part::Call(call) = part { Some(call) } else { None })
    }

    pub(crate) fn answers(&self) -> impl Iterator<Item = &Answer> {
        self.parts.iter().filter_map(|part| if let Part::Answer(answer) = part { Some(answer) } else { None })
    }
}

/// The id of a call; an empty one is none.
pub(super) fn id(text: Option<&str>) -> Option<String> {
    text.filter(|id| !id.is_empty()).map(str::to_owned)
}

/// Tokens of one message or of several.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Spent {
    /// The message cost nothing, or its tokens are counted elsewhere.
    #[default]
    Nothing,
    Known(Tokens),
    /// A message cost something and does not say what.
    Unknown,
}

impl Spent {
    /// What a reply reports.
    pub(super) fn reported(tokens: Option<Tokens>) -> Self {
        tokens.map_or(Self::Unknown, Self::Known)
    }

    /// The sum. A count is known when all replies report it.
    #[must_use]
    pub(crate) fn plus(self, other: Self) -> Self {
        let add = |a: Option<u64>, b: Option<u64>| Some(a?.saturating_add(b?));
        match (self, other) {
            (Self::Nothing, one) | (one, Self::Nothing) => one,
            (Self::Known(a), Self::Known(b)) => Self::Known(Tokens {
                input: add(a.input, b.input),
                output: add(a.output, b.output),
                cached: add(a.cached, b.cached),
                total: add(a.total, b.total),
            }),
            _ => Self::Unknown,
        }
    }

    pub(crate) fn tokens(self) -> Option<Tokens> {
        if let Self::Known(tokens) = self { Some(tokens) } else { None }
    }
}

/// The keys under which an API reports the tokens of a reply.
pub(super) struct UsageKeys {
    pub(super) input: &'static str,
    pub(super) output: &'static str,
    pub(super) total: Option<&'static str>,
    /// Input tokens read from a cache: a key, or a key inside of another.
    pub(super) cached: &'static [&'static str],
    /// Input tokens written to a cache, where the API reports them.
    pub(super) written: Option<&'static str>,
}

/// Tokens as an API reports them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Usage {
    pub(super) input: Option<u64>,
    pub(super) output: Option<u64>,
    pub(super) total: Option<u64>,
    pub(super) cached: Option<u64>,
    pub(super) written: Option<u64>,
}

fn object(raw: &RawValue) -> Result<Shape<'_>, ImportError> {
    match Shape::part(raw.get()) {
        Some(shape @ Shape::Object(_)) => Ok(shape),
        _ => Err(ImportError::new("expected an object with counts of tokens")),
    }
}

impl UsageKeys {
    /// The usage that a reply reports at `place`, if any.
    pub(super) fn read(&self, raw: Option<&RawValue>, place: impl fmt::Display) -> Result<Option<Usage>, ImportError> {
        match raw.and_then(|raw| json::try_checked_seed(raw.get(), Counts(self))) {
            Some(usage) => Ok(Some(usage)),
            // There is none, or an error to describe.
            None => wire::optional(raw, |raw| self.counts(raw), place),
        }
    }

    /// The same where [`Counts`] cannot read it, with what is wrong.
    pub(super) fn counts(&self, raw: &RawValue) -> Result<Usage, ImportError> {
        let usage = object(raw)?;
        let count = |shape: &Shape<'_>, key: &str| match shape.get(key) {
            Some(raw) => wire::part::<Whole>(raw).map(|count| Some(count.0)).map_err(|error| error.at(key)),
            None => Ok(None),
        };
        let optional = |key: Option<&str>| key.map_or(Ok(None), |key| count(&usage, key));
        let cached = match self.cached {
            [outer, inner] => match usage.get(outer) {
                Some(details) => count(&object(details).map_err(|error| error.at(outer))?, inner)?,
                None => None,
            },
            keys => optional(keys.first().copied())?,
        };
        Ok(Usage {
            input: count(&usage, self.input)?,
            output: count(&usage, self.output)?,
            total: optional(self.total)?,
            cached,
            written: optional(self.written)?,
        })
    }
}

impl Usage {
    /// For an API whose input tokens include those of the cache.
    pub(super) fn with_cache_in_input(self) -> Tokens {
        Tokens { input: self.input, output: self.output, cached: self.cached, total: self.total }
    }

    /// For an API that counts tokens of the cache separately.
    pub(super) fn with_cache_apart(self) -> Tokens {
        let cache = self.cached.unwrap_or(0).saturating_add(self.written.unwrap_or(0));
        Tokens { input: self.input.map(|input| input.saturating_add(cache)), ..self.with_cache_in_input() }
    }
}

/// Why a run ended, by the word that a provider has for the end of its last reply. No provider uses a word of another one in
/// a different sense. A reply that ended in calls is not the end of a run.
pub(super) fn stop_reason(word: &str) -> Option<StopReason> {
    match &*word.to_ascii_lowercase() {
        "stop" | "end_turn" | "stop_sequence" | "completed" => Some(StopReason::Completed),
        "length" | "max_tokens" | "model_length" | "model_context_window_exceeded" => Some(StopReason::MaxTokens),
        "content_filter" | "refusal" | "safety" | "recitation" | "prohibited_content" | "blocklist" | "spii" => {
            Some(StopReason::Refused)
        }
        "error" => Some(StopReason::Error),
        _ => None,
    }
}
