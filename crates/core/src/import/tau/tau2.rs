//! Messages of tau2.

use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::Value;
use serde_json::value::RawValue;

use crate::import::bounded_list::Element;
use crate::import::builder::Builder;
use crate::import::message::{self, At, Call, Message, Part, Place, Spent, Usage};
use crate::import::openai_chat::messages::USAGE;
use crate::import::unread_calls::with_unread_calls;
use crate::import::wire::{self, Text};
use crate::import::{ImportError, Options, results};
use crate::trace::{Role, StopReason};

with_unread_calls! {
    /// A message of one side, the answer of a tool, or several answers in `tool_messages`.
    #[derive(Debug, Deserialize)]
    pub(super) struct TauMessage<'a> {
        #[serde(borrow)]
        role: Option<Text<'a>>,
        content: Option<Text<'a>>,
        /// Whether `content` is sound.
        is_audio: Option<bool>,
        tool_calls: Option<Vec<TauCall<'a>>>,
        usage: Option<&'a RawValue>,
        raw_data: Option<IgnoredAny>,
        tool_messages: Option<Vec<TauAnswer<'a>>>,
        id: Option<Text<'a>>,
        requestor: Option<Text<'a>>,
        error: Option<bool>,
    }
    unread: [toolCalls, toolInvocations, function_call]
}

#[derive(Debug, Deserialize)]
struct TauCall<'a> {
    #[serde(borrow)]
    id: Option<Text<'a>>,
    name: Text<'a>,
    #[serde(default, deserialize_with = "wire::present")]
    arguments: Option<&'a RawValue>,
    requestor: Option<Text<'a>>,
}

/// The answer to one call, with the id of the call.
#[derive(Debug, Deserialize)]
struct TauAnswer<'a> {
    #[serde(borrow)]
    id: Option<Text<'a>>,
    content: Option<Text<'a>>,
    requestor: Option<Text<'a>>,
    error: Option<bool>,
}

/// The conversation, without the calls of the simulated user.
pub(super) fn conversation<'o>(messages: &[TauMessage<'_>], options: &'o Options) -> Result<Builder<'o>, ImportError> {
    let mut builder = Builder::new(options);
    for (at, message) in messages.iter().enumerate() {
        let place = Place::Element("messages", at);
        if let Some(message) = message.read(at == 0, place)? {
            builder.add(message, &place)?;
        }
    }
    Ok(builder)
}

impl Element for TauMessage<'_> {
    fn is_incomplete(&self) -> bool {
        !matches!(self.role.as_deref(), Some("system" | "user" | "assistant" | "tool"))
    }
}

impl TauMessage<'_> {
    /// What the message says to or from the agent; `None` when that is nothing.
    fn read(&self, is_first: bool, place: Place<'_>) -> Result<Option<Message>, ImportError> {
        self.refuse_unread_calls(&place)?;
        let text = self.content.as_deref().filter(|_| self.is_audio != Some(true));
        let text = text.map(|text| Part::Text(text.into()));
        let calls = self.tool_calls.as_deref().unwrap_or_default();
        let usage = USAGE.read(self.usage, format_args!("{place}.usage"))?;
        Ok(match self.role.as_deref() {
            Some("system") => None,
            Some("user") => {
                check_side(calls, "user", place)?;
                // A message of nothing but calls never reached the agent.
                let is_said = text.is_some() || calls.is_empty();
                is_said.then(|| Message::with_parts(Role::User, text.into_iter().collect()))
            }
            Some("assistant") => {
                check_side(calls, "assistant", place)?;
                // The greeting at the start is a text of the harness.
                let is_greeting = is_first && usage.is_none() && self.raw_data.is_none() && calls.is_empty();
                let spent = Spent::reported(usage.map(Usage::with_cache_in_input));
                let mut parts: Vec<Part> = text.into_iter().collect();
                for (at, call) in calls.iter().enumerate() {
                    parts.push(Part::Call(call.read(place, At::new("tool_calls", at))?));
                }
                let spent = if is_greeting { Spent::Nothing } else { spent };
                Some(Message { spent, ..Message::with_parts(Role::Assistant, parts) })
            }
            Some("tool") => {
                let own = [self.as_answer()];
                let answers = match &self.tool_messages {
                    Some(answers) => {
                        answers.iter().enumerate().map(|(at, answer)| (At::new("tool_messages", at), answer)).collect()
                    }
                    None => vec![(At::default(), &own[0])],
                };
                let answers = answers.into_iter().filter(|(_, answer)| !is_users(answer.requestor.as_ref()));
                Some(Message::with_parts(Role::Tool, answers.map(|(at, answer)| answer.read(at)).collect()))
            }
            other => {
                let place = format_args!("{place}.role");
                return Err(ImportError::must_be(place, "system, user, assistant or tool", other)
                    .hint("`--from` names the format of a record"));
            }
        })
    }
}

/// A message carries the calls of its own side.
fn check_side(calls: &[TauCall<'_>], side: &str, place: Place<'_>) -> Result<(), ImportError> {
    match calls.iter().position(|call| is_users(call.requestor.as_ref()) != (side == "user")) {
        None => Ok(()),
        Some(at) => {
            let error = format!("{place}.tool_calls[{at}].requestor must be {side} in a message of the {side}");
            Err(ImportError::new(error)
                .hint("a message carries the calls of its own side; whose call this is, is unclear"))
        }
    }
}

impl TauCall<'_> {
    fn read(&self, place: Place<'_>, at: At) -> Result<Call, ImportError> {
        let args = wire::optional(self.arguments, wire::arguments, format_args!("{place}{at}.arguments"))?;
        Ok(Call { id: message::id(self.id.as_deref()), name: self.name.to_string(), args, at, ..Call::default() })
    }
}

impl<'a> TauMessage<'a> {
    /// A message that is one answer itself.
    fn as_answer(&self) -> TauAnswer<'a> {
        TauAnswer {
            id: self.id.clone(),
            content: self.content.clone(),
            requestor: self.requestor.clone(),
            error: self.error,
        }
    }
}

impl TauAnswer<'_> {
    fn read(&self, at: At) -> Part {
        let result = match self.content.as_deref() {
            Some(text) => results::of_text(text.into(), self.error),
            None => results::of_value(Value::Null, self.error),
        };
        Part::Answer(message::Answer { id: message::id(self.id.as_deref()), function: None, result, at })
    }
}

/// Whether the simulated user asked for a call. A call without a requestor is the agent's.
fn is_users(requestor: Option<&Text<'_>>) -> bool {
    requestor.is_some_and(|requestor| &**requestor == "user")
}

/// Why a run ended. Whichever side says goodbye, the conversation is complete.
pub(super) fn stop(word: &str) -> Option<StopReason> {
    match word {
        "user_stop" | "agent_stop" => Some(StopReason::Completed),
        "max_steps" => Some(StopReason::MaxTurns),
        "timeout"
        | "too_many_errors"
        | "agent_error"
        | "user_error"
        | "infrastructure_error"
        | "context_window_exceeded"
        | "unexpected_error" => Some(StopReason::Error),
        _ => None,
    }
}
