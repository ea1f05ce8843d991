//! Messages of tau2 into a trace.

use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::Value;
use serde_json::value::RawValue;

use crate::import::builder::Builder;
use crate::import::listed::Element;
use crate::import::openai_chat::messages::Usage;
use crate::import::stray::{self, Stray};
use crate::import::wire::{self, Text};
use crate::import::{ImportError, Options, results};
use crate::trace::{Role, StopReason};

/// A message: of a speaker, or the answer of a tool, or several of these in `tool_messages`.
#[derive(Debug, Deserialize)]
pub(super) struct Message<'a> {
    #[serde(borrow)]
    role: Option<Text<'a>>,
    content: Option<Text<'a>>,
    /// Whether `content` is sound and no text.
    is_audio: Option<bool>,
    tool_calls: Option<Vec<Call<'a>>>,
    usage: Option<Usage>,
    raw_data: Option<IgnoredAny>,
    tool_messages: Option<Vec<Answer<'a>>>,
    id: Option<Text<'a>>,
    requestor: Option<Text<'a>>,
    error: Option<bool>,
    #[serde(default, rename = "toolCalls")]
    camel_calls: Stray,
    #[serde(default, rename = "toolInvocations")]
    invocations: Stray,
    #[serde(default)]
    function_call: Stray,
}

#[derive(Debug, Deserialize)]
struct Call<'a> {
    #[serde(borrow)]
    id: Option<Text<'a>>,
    name: Text<'a>,
    #[serde(default, deserialize_with = "wire::even_null")]
    arguments: Option<&'a RawValue>,
    requestor: Option<Text<'a>>,
}

/// The answer to one call, under the id of the call.
#[derive(Debug, Deserialize)]
struct Answer<'a> {
    #[serde(borrow)]
    id: Option<Text<'a>>,
    content: Option<Text<'a>>,
    requestor: Option<Text<'a>>,
    error: Option<bool>,
}

const OWN_SIDE: &str = "a message carries the calls of its own side; whose call this is cannot be told";

/// The conversation, without what the simulated user did on its own.
pub(super) fn talk<'o>(messages: &[Message<'_>], options: &'o Options) -> Result<Builder<'o>, ImportError> {
    let mut builder = Builder::new(options);
    for (at, message) in messages.iter().enumerate() {
        let strays = [
            ("toolCalls", message.camel_calls),
            ("toolInvocations", message.invocations),
            ("function_call", message.function_call),
        ];
        stray::refuse(&format_args!("messages[{at}]"), &strays)?;
        let text = message.content.as_deref().filter(|_| message.is_audio != Some(true)).map(str::to_owned);
        let calls = message.tool_calls.as_deref().unwrap_or_default();
        match message.role.as_deref() {
            Some("system") => {}
            Some("user") => {
                if let Some((call, _)) = calls.iter().enumerate().find(|(_, call)| !is_users(call.requestor.as_ref())) {
                    return Err(ImportError::new(format!(
                        "messages[{at}].tool_calls[{call}].requestor must be user in a message of the user"
                    ))
                    .hint(OWN_SIDE));
                }
                // A message that is only calls never reached the agent.
                if text.is_some() || calls.is_empty() {
                    builder.turn(Role::User, text);
                }
            }
            Some("assistant") => {
                // The greeting at the start is a text of the harness.
                let is_greeting = at == 0 && message.usage.is_none() && message.raw_data.is_none() && calls.is_empty();
                if !is_greeting {
                    builder.spend(message.usage.map(Usage::tokens));
                }
                let turn = builder.turn(Role::Assistant, text);
                for (index, call) in calls.iter().enumerate() {
                    if is_users(call.requestor.as_ref()) {
                        return Err(ImportError::new(format!(
                            "messages[{at}].tool_calls[{index}].requestor must be assistant in a message of the assistant"
                        ))
                        .hint(OWN_SIDE));
                    }
                    let args = call.arguments.map(wire::arguments).transpose().map_err(|error| {
                        let place = format!("messages[{at}].tool_calls[{index}].arguments");
                        ImportError::new(format!("{place}: {}", error.message))
                    })?;
                    builder.call(Some(turn), id(call.id.as_ref()), &call.name, args);
                }
            }
            Some("tool") => match &message.tool_messages {
                Some(answers) => {
                    for (index, one) in answers.iter().enumerate() {
                        answer(&mut builder, one, &format!("messages[{at}].tool_messages[{index}]"))?;
                    }
                }
                None => answer(&mut builder, &message.as_answer(), &format!("messages[{at}]"))?,
            },
            other => {
                let found = other.map_or_else(|| "none".to_owned(), |role| format!("{role:?}"));
                return Err(ImportError::new(format!(
                    "messages[{at}].role must be system, user, assistant or tool, found {found}"
                ))
                .hint("`--from` names the format of a record"));
            }
        }
    }
    Ok(builder)
}

impl Element for Message<'_> {
    fn is_void(&self) -> bool {
        !matches!(self.role.as_deref(), Some("system" | "user" | "assistant" | "tool"))
    }
}

impl<'a> Message<'a> {
    fn as_answer(&self) -> Answer<'a> {
        Answer {
            id: self.id.clone(),
            content: self.content.clone(),
            requestor: self.requestor.clone(),
            error: self.error,
        }
    }
}

fn answer(builder: &mut Builder<'_>, answer: &Answer<'_>, place: &str) -> Result<(), ImportError> {
    if is_users(answer.requestor.as_ref()) {
        return Ok(());
    }
    let result = match answer.content.as_deref() {
        Some(text) => results::of_text(text, answer.error),
        None => results::of_value(Value::Null, answer.error),
    };
    builder.answer(id(answer.id.as_ref()), result, place).map(|_| ())
}

/// Who asked for a call; the agent, where nothing is said.
fn is_users(requestor: Option<&Text<'_>>) -> bool {
    requestor.is_some_and(|requestor| &**requestor == "user")
}

fn id<'t>(id: Option<&'t Text<'_>>) -> Option<&'t str> {
    id.map(|id| &**id).filter(|id| !id.is_empty())
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

/// Whole milliseconds of a time in seconds.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "neither negative nor beyond 2^53")]
pub(super) fn milliseconds(seconds: f64) -> Option<u64> {
    let ms = (seconds * 1000.0).round();
    (0.0..9_007_199_254_740_992.0).contains(&ms).then_some(ms as u64)
}
