//! Messages of Chat Completions.

use std::fmt::Display;

use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;

use super::ROLES;
use crate::import::bounded_list::{BoundedList, Element};
use crate::import::message::{self, Answer, At, Call, Message, Part, Spent, Usage, UsageKeys};
use crate::import::openai_content::{self, Content, PartTypes, looks_like};
use crate::import::unread_calls::{self, UnreadCalls, with_unread_calls};
use crate::import::wire::{self, Text};
use crate::import::{ImportError, results};
use crate::trace::{LazyText, Role};

pub(in crate::import) const PARTS: PartTypes = PartTypes {
    texts: &["text"],
    others: &["image_url", "input_audio", "video_url", "audio_url", "file", "thinking", "reasoning"],
};

pub(in crate::import) const USAGE: UsageKeys = UsageKeys {
    input: "prompt_tokens",
    output: "completion_tokens",
    total: Some("total_tokens"),
    cached: &["prompt_tokens_details", "cached_tokens"],
    written: None,
};

with_unread_calls! {
    #[derive(Debug, Deserialize)]
    pub(in crate::import) struct ChatMessage<'a> {
        #[serde(borrow)]
        role: Option<Text<'a>>,
        /// Only messages of other formats have a type.
        #[serde(rename = "type")]
        kind: Option<Text<'a>>,
        content: Option<Content<'a>>,
        refusal: Option<Text<'a>>,
        name: Option<Text<'a>>,
        tool_calls: Option<BoundedList<ChatCall<'a>>>,
        tool_call_id: Option<Text<'a>>,
        function_call: Option<Function<'a>>,
        usage: Option<&'a RawValue>,
        #[serde(default, deserialize_with = "wire::null_as_default")]
        additional_kwargs: Extra,
    }
    unread: [toolCalls, toolInvocations, functionCall, parts, blocks]
}

/// What a framework keeps of a reply as the provider gave it.
#[derive(Debug, Default, Deserialize)]
struct Extra {
    #[serde(default)]
    tool_calls: UnreadCalls,
    #[serde(default)]
    function_call: UnreadCalls,
}

#[derive(Debug, Deserialize)]
pub(in crate::import) struct ChatCall<'a> {
    #[serde(borrow)]
    id: Option<Text<'a>>,
    #[serde(rename = "type")]
    kind: Option<Text<'a>>,
    function: Option<Function<'a>>,
    custom: Option<Custom<'a>>,
}

#[derive(Debug, Deserialize)]
#[serde(expecting = "an object with `name` and `arguments`")]
pub(in crate::import) struct Function<'a> {
    #[serde(borrow)]
    name: Text<'a>,
    #[serde(default, deserialize_with = "wire::present")]
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

/// Whether an answer reports an error, by the name of the tool and the text. The API itself has no such flag.
pub(in crate::import) type HasFailed = fn(Option<&str>, &LazyText) -> Option<bool>;

impl Element for ChatMessage<'_> {
    fn is_incomplete(&self) -> bool {
        self.role.as_deref().is_none_or(|role| !ROLES.contains(&role))
    }
}

impl Element for ChatCall<'_> {
    fn is_incomplete(&self) -> bool {
        self.function.is_none() && self.custom.is_none()
    }
}

impl<'a> ChatMessage<'a> {
    /// What the message says; `None` for a system prompt.
    pub(in crate::import) fn read(
        &self,
        has_failed: HasFailed,
        place: &dyn Display,
    ) -> Result<Option<Message>, ImportError> {
        let Some(role) = self.role.as_deref() else { return Err(self.no_role(place)) };
        self.refuse_unread_calls(place)?;
        let extra = [
            ("tool_calls", self.additional_kwargs.tool_calls),
            ("function_call", self.additional_kwargs.function_call),
        ];
        unread_calls::refuse(&format_args!("{place}.additional_kwargs"), &extra)?;
        if role != "assistant" && self.makes_calls() {
            return Err(ImportError::new(format!("{place} has calls, but its role is {role:?}"))
                .hint("only the assistant calls tools; for the calls of a simulated user use `--from tau`"));
        }
        // Some recorders add to a message what it cost.
        let usage = USAGE.read(self.usage, format_args!("{place}.usage"))?;
        let mut out = match role {
            "system" | "developer" => return Ok(None),
            "user" => Message::new(Role::User),
            "assistant" => Message::new(Role::Assistant),
            "tool" | "function" => Message::new(Role::Tool),
            other => {
                let expected = "system, developer, user, assistant, tool or function";
                return Err(ImportError::must_be(format_args!("{place}.role"), expected, Some(other))
                    .hint("`--from` names the format of a record"));
            }
        };
        openai_content::add(&mut out, self.content.as_ref(), &PARTS, place)?;
        if self.refusal.is_some() {
            openai_content::refuse(&mut out, self.refusal.as_ref());
        }
        match out.role {
            Role::User => {}
            Role::Assistant => {
                out.spent = Spent::reported(usage.map(Usage::with_cache_in_input));
                out.parts.reserve_exact(self.calls().len() + usize::from(self.function_call.is_some()));
                for (at, call) in self.calls().iter().enumerate() {
                    let at = At::new("tool_calls", at);
                    out.parts.push(Part::Call(Call { at, ..call.read(&format_args!("{place}{at}"))? }));
                }
                if let Some(function) = &self.function_call {
                    let call = function.read(&format_args!("{place}.function_call"))?;
                    out.parts.push(Part::Call(Call { is_answered_by_name: true, ..call }));
                }
            }
            Role::Tool => {
                let name = self.name.as_deref();
                let result = match out.text() {
                    Some(text) => {
                        let has_failed = has_failed(name, &text);
                        results::of_text(text, has_failed)
                    }
                    None => results::of_value(Value::Null, None),
                };
                let id = message::id(self.tool_call_id.as_deref());
                let function = name.filter(|_| role == "function").map(str::to_owned);
                out.parts = vec![Part::Answer(Answer { id, function, result, at: At::default() })];
            }
        }
        Ok(Some(out))
    }

    fn calls(&self) -> &[ChatCall<'a>] {
        self.tool_calls.as_deref().unwrap_or_default()
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

    /// Whether two messages are one that was written twice.
    pub(in crate::import) fn is_same(&self, other: &Self) -> bool {
        let read = |message: &Self| {
            message.read(|_, _| None, &"").map(|read| read.map(|read| Message { spent: Spent::Nothing, ..read }))
        };
        matches!((read(self), read(other)), (Ok(a), Ok(b)) if a == b)
    }

    fn no_role(&self, place: &dyn Display) -> ImportError {
        let error = ImportError::new(format!("{place} has no `role`"));
        match self.kind.as_deref() {
            Some("human" | "ai" | "system" | "tool" | "function") => error.hint(looks_like("langchain")),
            Some("message" | "reasoning" | "function_call" | "function_call_output" | "mcp_call") => {
                error.hint(looks_like("openai-responses"))
            }
            _ => error.hint("every message of a conversation has a role"),
        }
    }
}

impl ChatCall<'_> {
    pub(in crate::import) fn read(&self, place: &dyn Display) -> Result<Call, ImportError> {
        let call = match (self.kind.as_deref(), &self.function, &self.custom) {
            (None | Some("function" | ""), Some(function), _) => function.read(&format_args!("{place}.function"))?,
            (None | Some("custom"), _, Some(custom)) => Call {
                name: custom.name.to_string(),
                args: custom.input.as_deref().map(|input| Value::String(input.to_owned())),
                ..Call::default()
            },
            (Some(kind @ ("function" | "custom")), ..) => {
                return Err(ImportError::new(format!("{place} has no `{kind}`")));
            }
            (None | Some(""), ..) => {
                return Err(ImportError::new(format!("{place} has no `function`"))
                    .hint("a call has its name and arguments in `function`"));
            }
            (Some(kind), ..) => {
                let error = ImportError::new(format!("{place}.type must be function or custom, found {kind:?}"));
                return Err(if kind == "tool_call" { error.hint(looks_like("langchain")) } else { error });
            }
        };
        Ok(Call { id: message::id(self.id.as_deref()), ..call })
    }
}

impl Function<'_> {
    pub(in crate::import) fn read(&self, place: &dyn Display) -> Result<Call, ImportError> {
        let args = wire::optional(self.arguments, wire::arguments, format_args!("{place}.arguments"))?;
        Ok(Call { name: self.name.to_string(), args, ..Call::default() })
    }
}
