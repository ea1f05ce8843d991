//! Messages of Chat Completions, one after the other, into a trace.

use std::collections::{BTreeMap, VecDeque};
use std::fmt::{self, Display};

use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;

use super::ROLES;
use crate::import::builder::Builder;
use crate::import::listed::{Element, Listed};
use crate::import::openai_content::{Content, Parts, Said, looks_like, said};
use crate::import::stray::{self, Stray};
use crate::import::wire::{self, Text, Whole};
use crate::import::{ImportError, Options, results};
use crate::trace::{Role, Tokens};

/// The parts of a content.
pub(in crate::import) const PARTS: Parts = Parts {
    texts: &["text"],
    others: &["image_url", "input_audio", "video_url", "audio_url", "file", "thinking", "reasoning"],
};

/// A message.
#[derive(Debug, Deserialize)]
pub(in crate::import) struct Message<'a> {
    #[serde(borrow)]
    role: Option<Text<'a>>,
    /// No key of this interface; in others it says what the value is.
    #[serde(rename = "type")]
    kind: Option<Text<'a>>,
    content: Option<Content<'a>>,
    refusal: Option<Text<'a>>,
    name: Option<Text<'a>>,
    tool_calls: Option<Listed<Call<'a>>>,
    tool_call_id: Option<Text<'a>>,
    function_call: Option<Function<'a>>,
    usage: Option<Usage>,
    // Keys of programs that write messages almost as this interface does.
    #[serde(default, rename = "toolCalls")]
    camel_calls: Stray,
    #[serde(default, rename = "toolInvocations")]
    invocations: Stray,
    #[serde(default, rename = "functionCall")]
    camel_function: Stray,
    #[serde(default)]
    parts: Stray,
    #[serde(default)]
    blocks: Stray,
    #[serde(default, deserialize_with = "wire::nothing_for_null")]
    additional_kwargs: Extra,
}

/// What a framework keeps of a reply as the provider gave it.
#[derive(Debug, Default, Deserialize)]
struct Extra {
    #[serde(default)]
    tool_calls: Stray,
    #[serde(default)]
    function_call: Stray,
}

#[derive(Debug, Deserialize)]
struct Call<'a> {
    #[serde(borrow)]
    id: Option<Text<'a>>,
    #[serde(rename = "type")]
    kind: Option<Text<'a>>,
    function: Option<Function<'a>>,
    custom: Option<Custom<'a>>,
}

#[derive(Debug, Deserialize)]
#[serde(expecting = "an object with `name` and `arguments`")]
struct Function<'a> {
    #[serde(borrow)]
    name: Text<'a>,
    #[serde(default, deserialize_with = "wire::even_null")]
    arguments: Option<&'a RawValue>,
}

/// A tool that takes free text.
#[derive(Debug, Deserialize)]
#[serde(expecting = "an object with `name` and `input`")]
struct Custom<'a> {
    #[serde(borrow)]
    name: Text<'a>,
    input: Option<Text<'a>>,
}

/// What a reply spent.
#[derive(Debug, Clone, Copy, Deserialize)]
pub(in crate::import) struct Usage {
    prompt_tokens: Option<Whole>,
    completion_tokens: Option<Whole>,
    total_tokens: Option<Whole>,
    prompt_tokens_details: Option<Details>,
}

#[derive(Debug, Clone, Copy, Deserialize)]
struct Details {
    cached_tokens: Option<Whole>,
}

impl Usage {
    pub(in crate::import) fn tokens(self) -> Tokens {
        Tokens {
            input: self.prompt_tokens.map(|count| count.0),
            output: self.completion_tokens.map(|count| count.0),
            cached: self.prompt_tokens_details.and_then(|details| details.cached_tokens).map(|count| count.0),
            total: self.total_tokens.map(|count| count.0),
        }
    }
}

/// Where a message stands in a list.
pub(in crate::import) struct At(pub(in crate::import) &'static str, pub(in crate::import) usize);

impl Display for At {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}[{}]", self.0, self.1)
    }
}

/// Whether an answer tells of a failure, by the name of the tool and the text. The interface itself has no such flag.
pub(in crate::import) type Failed = fn(Option<&str>, &str) -> Option<bool>;

/// A conversation in the making.
pub(in crate::import) struct Talk<'o> {
    pub(in crate::import) builder: Builder<'o>,
    /// Calls of `function_call`, by name: they have no id, and their answers name the function.
    functions: BTreeMap<String, VecDeque<usize>>,
    failed: Failed,
    /// Whether the last message is a refusal.
    pub(in crate::import) refused: bool,
}

impl<'o> Talk<'o> {
    pub(in crate::import) fn new(options: &'o Options, failed: Failed) -> Self {
        Self { builder: Builder::new(options), functions: BTreeMap::new(), failed, refused: false }
    }

    /// Adds a message that stands at `place`.
    pub(in crate::import) fn add(&mut self, message: &Message<'_>, place: &dyn Display) -> Result<(), ImportError> {
        let Some(role) = message.role.as_deref() else { return Err(no_role(message, place)) };
        stray::refuse(place, &message.strays())?;
        self.refused = false;
        if role != "assistant" && message.makes_calls() {
            return Err(ImportError::new(format!("{place} has calls, but its role is {role:?}"))
                .hint("only the assistant calls tools; the calls of a simulated user are read from `tau`"));
        }
        match role {
            "system" | "developer" => {}
            "user" => {
                let said = message.said(place)?;
                self.builder.turn(Role::User, said.text);
            }
            "assistant" => {
                let said = message.said(place)?;
                self.refused = said.refused;
                let turn = self.builder.turn(Role::Assistant, said.text);
                self.calls(message, turn, place)?;
            }
            "tool" | "function" => self.answer(message, role == "function", place)?,
            other => {
                let error = format!(
                    "{place}.role must be system, developer, user, assistant, tool or function, found {other:?}"
                );
                return Err(ImportError::new(error).hint("`--from` names the format of a record"));
            }
        }
        Ok(())
    }

    fn calls(&mut self, message: &Message<'_>, turn: usize, place: &dyn Display) -> Result<(), ImportError> {
        for (at, call) in message.calls().iter().enumerate() {
            let (name, args) = match (call.kind.as_deref(), &call.function, &call.custom) {
                (None | Some("function" | ""), Some(function), _) => {
                    (&function.name, function.args(&format_args!("{place}.tool_calls[{at}].function"))?)
                }
                (None | Some("custom"), _, Some(custom)) => {
                    (&custom.name, custom.input.as_deref().map(|input| Value::String(input.to_owned())))
                }
                (kind, ..) => return Err(no_call(kind, &format_args!("{place}.tool_calls[{at}]"))),
            };
            self.builder.call(Some(turn), call.id.as_deref().filter(|id| !id.is_empty()), name, args);
        }
        if let Some(function) = &message.function_call {
            let args = function.args(&format_args!("{place}.function_call"))?;
            let call = self.builder.call(Some(turn), None, &function.name, args);
            self.functions.entry(function.name.to_string()).or_default().push_back(call);
        }
        Ok(())
    }

    fn answer(&mut self, message: &Message<'_>, is_function: bool, place: &dyn Display) -> Result<(), ImportError> {
        let said = message.said(place)?;
        let name = message.name.as_deref();
        let result = match &said.text {
            Some(text) => results::of_text(text, (self.failed)(name, text)),
            None => results::of_value(Value::Null, None),
        };
        let id = message.tool_call_id.as_deref().filter(|id| !id.is_empty());
        match (id, name) {
            (None, Some(name)) if is_function => {
                let queue = self.functions.get_mut(name);
                let Some(at) = queue.and_then(|queue| self.builder.next_open(queue)) else {
                    let error = format!("{place} answers {name:?}, but no call of it before waits for an answer");
                    return Err(ImportError::new(error)
                        .hint("the record may have lost its beginning; a trace has to be whole to be judged"));
                };
                self.builder.answer_to(at, result);
            }
            _ => {
                self.builder.answer(id, result, &place.to_string())?;
            }
        }
        Ok(())
    }
}

impl Element for Message<'_> {
    fn is_void(&self) -> bool {
        self.role.as_deref().is_none_or(|role| !ROLES.contains(&role))
    }
}

impl Element for Call<'_> {
    fn is_void(&self) -> bool {
        self.function.is_none() && self.custom.is_none()
    }
}

impl<'a> Message<'a> {
    fn calls(&self) -> &[Call<'a>] {
        self.tool_calls.as_deref().unwrap_or_default()
    }

    fn strays(&self) -> [(&'static str, Stray); 7] {
        [
            ("toolCalls", self.camel_calls),
            ("toolInvocations", self.invocations),
            ("functionCall", self.camel_function),
            ("parts", self.parts),
            ("blocks", self.blocks),
            ("additional_kwargs.tool_calls", self.additional_kwargs.tool_calls),
            ("additional_kwargs.function_call", self.additional_kwargs.function_call),
        ]
    }

    pub(in crate::import) fn is_reply(&self) -> bool {
        self.role.as_deref() == Some("assistant")
    }

    /// What the message itself says it spent, which some recorders add.
    pub(in crate::import) fn tokens(&self) -> Option<Tokens> {
        self.usage.map(Usage::tokens)
    }

    /// The text of a user whose whole message is one text.
    pub(in crate::import) fn plain_user_text(&self) -> Option<&str> {
        match &self.content {
            Some(Content::Text(text)) if self.role.as_deref() == Some("user") => Some(text),
            _ => None,
        }
    }

    pub(in crate::import) fn makes_calls(&self) -> bool {
        self.function_call.is_some() || !self.calls().is_empty()
    }

    fn said(&self, place: &dyn Display) -> Result<Said, ImportError> {
        let mut out = said(self.content.as_ref(), &PARTS, &format_args!("{place}.content"))?;
        if let Some(refusal) = &self.refusal {
            out.refused = true;
            out.add(refusal);
        }
        Ok(out)
    }

    /// Whether two messages are one, written down twice.
    pub(in crate::import) fn same(&self, other: &Self) -> bool {
        let place = &"";
        let (Ok(a), Ok(b)) = (self.said(place), other.said(place)) else { return false };
        let calls = |message: &Self| -> Vec<(Option<String>, Option<String>, Option<String>)> {
            let named = |function: &Function<'_>| {
                (Some(function.name.to_string()), function.arguments.map(|raw| raw.get().to_owned()))
            };
            let mut out = Vec::new();
            for call in message.calls() {
                let (name, args) = match (&call.function, &call.custom) {
                    (Some(function), _) => named(function),
                    (None, Some(custom)) => (Some(custom.name.to_string()), custom.input.as_deref().map(str::to_owned)),
                    (None, None) => (None, None),
                };
                out.push((call.id.as_deref().map(str::to_owned), name, args));
            }
            out.extend(message.function_call.as_ref().map(|function| {
                let (name, args) = named(function);
                (None, name, args)
            }));
            out
        };
        self.role.as_deref() == other.role.as_deref() && a == b && calls(self) == calls(other)
    }
}

impl Function<'_> {
    fn args(&self, place: &dyn Display) -> Result<Option<Value>, ImportError> {
        let read = |raw: &RawValue| {
            wire::arguments(raw).map_err(|error| ImportError::new(format!("{place}.arguments: {}", error.message)))
        };
        self.arguments.map(read).transpose()
    }
}

fn no_role(message: &Message<'_>, place: &dyn Display) -> ImportError {
    let error = ImportError::new(format!("{place} has no `role`"));
    match message.kind.as_deref() {
        Some("human" | "ai" | "system" | "tool" | "function") => error.hint(looks_like("langchain")),
        Some("message" | "reasoning" | "function_call" | "function_call_output" | "mcp_call") => {
            error.hint(looks_like("openai-responses"))
        }
        _ => error.hint("every message of a conversation has a role"),
    }
}

fn no_call(kind: Option<&str>, place: &dyn Display) -> ImportError {
    match kind {
        Some(kind @ ("function" | "custom")) => ImportError::new(format!("{place} has no `{kind}`")),
        Some("tool_call") => ImportError::new(format!("{place}.type must be function or custom, found \"tool_call\""))
            .hint(looks_like("langchain")),
        Some(kind) => ImportError::new(format!("{place}.type must be function or custom, found {kind:?}")),
        None => ImportError::new(format!("{place} has no `function`"))
            .hint("a call has its name and arguments below `function`"),
    }
}
