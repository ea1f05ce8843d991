//! Messages of the AI SDK of Vercel: those of its model calls (`ModelMessage`) and those of its user interfaces (`UIMessage`).
//!
//! A message of the model in a user interface has all steps of a run: each step is one reply. Its calls are parts of the type
//! `tool-` and their name, with the answer inside. In messages of model calls, calls and answers are parts of their own.

use std::borrow::Cow;

use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;

use super::bounded_list::{BoundedList, Element};
use super::builder::Builder;
use super::content::Content;
use super::message::{Answer, At, Call, Message, Part, Place};
use super::shape::Shape;
use super::wire::{self, Name, Text};
use super::{ImportError, Imported, Options, Record, Unit, results};
use crate::trace::{Role, ToolResult};

pub(super) fn sniff(shape: &Shape<'_>) -> Option<(Unit, Cow<'static, str>)> {
    if let Some(why) = recognize_message(shape) {
        return Some((Unit::Message, why));
    }
    let messages = if matches!(shape, Shape::List(_)) { None } else { Some(shape.child("messages")?) };
    let list = messages.as_ref().unwrap_or(shape).elements();
    list.iter().find_map(recognize_message).map(|why| (Unit::Record, why))
}

/// What shows that a message is of this format. A plain text shows nothing.
fn recognize_message(shape: &Shape<'_>) -> Option<Cow<'static, str>> {
    if !shape.has(&["role"]) {
        return None;
    }
    let is_call = |part: &Shape<'_>| {
        let kind = part.text("type")?;
        let is_interface = kind == "step-start" || kind == "dynamic-tool" || kind == "tool-invocation";
        let is_named = kind.strip_prefix("tool-").is_some_and(|name| !name.is_empty()) && part.has(&["toolCallId"]);
        (is_interface || is_named).then(|| format!("it has parts of type `{kind}`").into())
    };
    let found = ["parts", "content"].iter().find_map(|key| shape.child(key)?.elements().iter().find_map(is_call));
    let is_text = |part: &Shape<'_>| part.text("type").as_deref() == Some("text") && part.text("text").is_some();
    let is_plain = || shape.child("parts").is_some_and(|parts| parts.elements().first().is_some_and(is_text));
    found.or_else(|| is_plain().then_some(Cow::Borrowed("it has parts of type `text`")))
}

#[derive(Deserialize)]
#[serde(expecting = "a message")]
struct SdkMessage<'a> {
    #[serde(borrow)]
    role: Option<Text<'a>>,
    content: Option<Content<'a, SdkPart<'a>>>,
    parts: Option<BoundedList<SdkPart<'a>>>,
    /// Calls of an older version, which its `parts` repeat.
    #[serde(rename = "toolInvocations")]
    invocations: Option<BoundedList<Invocation<'a>>>,
}

impl Element for SdkMessage<'_> {
    fn is_incomplete(&self) -> bool {
        self.role.is_none()
    }
}

/// A part of either kind of message.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase", expecting = "a part")]
struct SdkPart<'a> {
    #[serde(borrow, rename = "type")]
    kind: Option<Text<'a>>,
    text: Option<Text<'a>>,
    tool_call_id: Option<Text<'a>>,
    tool_name: Option<Text<'a>>,
    state: Option<Text<'a>>,
    input: Option<&'a RawValue>,
    args: Option<&'a RawValue>,
    /// What the model wrote where it is not valid.
    raw_input: Option<&'a RawValue>,
    output: Option<&'a RawValue>,
    result: Option<&'a RawValue>,
    error_text: Option<Text<'a>>,
    is_error: Option<bool>,
    /// Whether the output is not the last one.
    preliminary: Option<bool>,
    tool_invocation: Option<Invocation<'a>>,
}

impl Element for SdkPart<'_> {
    fn is_incomplete(&self) -> bool {
        self.kind.is_none()
    }
}

/// A call of an older version.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase", expecting = "a call")]
struct Invocation<'a> {
    #[serde(borrow)]
    state: Option<Text<'a>>,
    tool_call_id: Option<Text<'a>>,
    tool_name: Option<Text<'a>>,
    args: Option<&'a RawValue>,
    result: Option<&'a RawValue>,
}

impl Element for Invocation<'_> {
    fn is_incomplete(&self) -> bool {
        self.tool_name.is_none()
    }
}

/// A record that is an object.
#[derive(Deserialize)]
struct Chat<'a> {
    id: Option<Name>,
    #[serde(rename = "chatId", alias = "chat_id")]
    other_id: Option<Name>,
    #[serde(borrow)]
    messages: Option<BoundedList<SdkMessage<'a>>>,
}

pub(super) fn read<'a>(record: Record<'a>, options: &Options) -> Result<Vec<Imported<'a>>, ImportError> {
    let (id, messages, name) = if record.text.trim_start().starts_with('[') {
        (None, wire::typed::<BoundedList<SdkMessage<'a>>>(record.text)?, "")
    } else {
        let chat: Chat<'a> = wire::typed(record.text)?;
        let messages = chat.messages.ok_or_else(|| ImportError::reply_alone("messages"))?;
        (chat.id.or(chat.other_id).map(|id| id.0), messages, "messages")
    };
    if messages.is_empty() {
        return Err(ImportError::new("there are no messages").hint("an empty conversation cannot be evaluated"));
    }
    let mut builder = Builder::new(options);
    for (at, message) in messages.iter().enumerate() {
        let place = Place::Element(name, at);
        for message in message.read().map_err(|error| error.at(place))? {
            builder.add(message, &place)?;
        }
    }
    builder.refuse_reply_alone(messages.len())?;
    Ok(vec![Imported { id, group: None, seal: None, fields: record.text.into(), trace: builder.finish(None, None) }])
}

impl SdkMessage<'_> {
    /// What a message says: one message per step. None for a system prompt.
    fn read(&self) -> Result<Vec<Message>, ImportError> {
        let role = match self.role.as_deref() {
            Some("system" | "data") => return Ok(Vec::new()),
            Some("user") => Role::User,
            Some("assistant") => Role::Assistant,
            Some("tool") => Role::Tool,
            other => return Err(ImportError::must_be("role", "system, user, assistant or tool", other)),
        };
        let mut steps = vec![Message::new(role)];
        let (list, parts): (&str, &[SdkPart<'_>]) = match (&self.parts, &self.content) {
            (Some(parts), _) => ("parts", parts),
            (None, Some(Content::List(parts))) => ("content", parts),
            (None, Some(Content::Text(text))) => {
                let said = text.said().map(Part::Text);
                steps[0].parts.extend(said);
                ("content", &[])
            }
            (None, None) => return Err(ImportError::new("it has neither `parts` nor `content`")),
        };
        for (at, part) in parts.iter().enumerate() {
            if part.kind.as_deref() == Some("step-start") {
                steps.push(Message::new(role));
                continue;
            }
            let read = part.read().map_err(|error| error.at(format_args!("{list}[{at}]")))?;
            if let (Some(read), Some(step)) = (read, steps.last_mut()) {
                step.parts.push(read);
            }
        }
        if self.parts.is_none() {
            let calls = self.invocations.iter().flat_map(|calls| calls.iter()).enumerate();
            for (at, call) in calls {
                let read = call.read().map_err(|error| error.at(format_args!("toolInvocations[{at}]")))?;
                steps[0].parts.push(Part::Call(read));
            }
        }
        // A message begins with the start of its first step.
        if steps.len() > 1 && steps[0].parts.is_empty() {
            steps.remove(0);
        }
        Ok(steps)
    }
}

impl SdkPart<'_> {
    /// `None` for a part without text, call or answer.
    fn read(&self) -> Result<Option<Part>, ImportError> {
        let kind = self.kind.as_deref().unwrap_or_default();
        Ok(match kind {
            "text" => self.text.as_ref().and_then(Text::said).map(Part::Text),
            "reasoning"
            | "redacted-reasoning"
            | "reasoning-file"
            | "file"
            | "image"
            | "source"
            | "source-url"
            | "source-document"
            | "tool-approval-request"
            | "tool-approval-response" => None,
            _ if kind.starts_with("data-") => None,
            "tool-call" if self.tool_name.is_some() => Some(Part::Call(self.call(None)?)),
            "tool-result" if self.tool_name.is_some() => Some(Part::Answer(Answer {
                id: self.tool_call_id.as_deref().map(str::to_owned),
                result: output(self.output, self.result, self.is_error)?,
                ..Answer::default()
            })),
            "tool-invocation" => match &self.tool_invocation {
                Some(call) => Some(Part::Call(call.read().map_err(|error| error.at("toolInvocation"))?)),
                None => return Err(ImportError::new("it has no `toolInvocation`")),
            },
            "dynamic-tool" => Some(Part::Call(self.interface_call(self.tool_name.as_deref())?)),
            _ => match kind.strip_prefix("tool-").filter(|name| !name.is_empty() && self.tool_call_id.is_some()) {
                Some(name) => Some(Part::Call(self.interface_call(Some(name))?)),
                None => {
                    return Err(ImportError::unknown("type", kind).hint(
                        "parts are `text`, `tool-call`, `tool-result`, `tool-` and a name, reasoning, data and files",
                    ));
                }
            },
        })
    }

    fn call(&self, result: Option<ToolResult>) -> Result<Call, ImportError> {
        let name = self.tool_name.as_deref().unwrap_or_default().to_owned();
        let args = wire::optional(self.input.or(self.args), wire::arguments, "input")?;
        Ok(Call { id: self.tool_call_id.as_deref().map(str::to_owned), name, args, result, ..Call::default() })
    }

    /// A call in a user interface, with its answer.
    fn interface_call(&self, name: Option<&str>) -> Result<Call, ImportError> {
        let name = name.ok_or_else(|| ImportError::new("it is a call and has no `toolName`"))?.to_owned();
        let state = self.state.as_deref().unwrap_or_default();
        let result = match state {
            "output-available" if self.preliminary == Some(true) => None,
            "output-available" => {
                let value = wire::optional(self.output, wire::value, "output")?.unwrap_or(Value::Null);
                Some(results::of_value(value, Some(false)))
            }
            "output-error" => {
                let text = self.error_text.as_deref().unwrap_or_default();
                Some(results::of_value(Value::String(text.to_owned()), Some(true)))
            }
            "output-denied" => Some(results::of_value(Value::String("denied".to_owned()), Some(true))),
            "input-streaming" | "input-available" | "approval-requested" | "approval-responded" => None,
            other => return Err(ImportError::must_be("state", "the state of a call", Some(other))),
        };
        // Arguments that are not valid are kept as the model wrote them.
        let input = self.input.filter(|raw| raw.get() != "null").or(self.raw_input);
        let args = wire::optional(input, wire::arguments, "input")?;
        // While arguments are streamed in, they are not complete.
        let args = args.filter(|_| state != "input-streaming");
        Ok(Call { name, args, ..self.call(result)? })
    }
}

impl Invocation<'_> {
    fn read(&self) -> Result<Call, ImportError> {
        let name = self.tool_name.as_deref().ok_or_else(|| ImportError::new("it is a call and has no `toolName`"))?;
        let state = self.state.as_deref();
        let result = match state {
            Some("result") => Some(results::of_value(self.result.map_or(Ok(Value::Null), wire::value)?, None)),
            _ => None,
        };
        let args = wire::optional(self.args, wire::arguments, "args")?.filter(|_| state != Some("partial-call"));
        let id = self.tool_call_id.as_deref().map(str::to_owned);
        Ok(Call { id, name: name.to_owned(), args, result, at: At::default(), ..Call::default() })
    }
}

/// The answer in a message of a model call: a value with its type, or the value itself in older versions.
pub(super) fn output(
    output: Option<&RawValue>,
    result: Option<&RawValue>,
    is_error: Option<bool>,
) -> Result<ToolResult, ImportError> {
    #[derive(Deserialize)]
    struct Typed<'a> {
        #[serde(borrow, rename = "type")]
        kind: Text<'a>,
        value: Option<&'a RawValue>,
        reason: Option<Text<'a>>,
    }
    let Some(raw) = output else {
        let value = wire::optional(result, wire::value, "result")?.unwrap_or(Value::Null);
        return Ok(results::of_value(value, is_error));
    };
    let typed: Typed<'_> = wire::part(raw).map_err(|error| error.at("output"))?;
    let value = wire::optional(typed.value, wire::value, "output.value")?.unwrap_or(Value::Null);
    Ok(match (&*typed.kind, value) {
        ("text" | "json", value) => results::of_value(value, Some(is_error.unwrap_or(false))),
        ("error-text" | "error-json", value) => results::of_value(value, Some(true)),
        // The client of MCP leaves the flag of a result out when it turns the result into content.
        ("content", Value::Array(blocks)) => results::of_list(blocks, is_error),
        ("execution-denied", _) => {
            let reason = typed.reason.map_or_else(|| "denied".to_owned(), Text::into_owned);
            results::of_value(Value::String(reason), Some(true))
        }
        (other, _) => {
            let known = "text, json, content, error-text, error-json or execution-denied";
            return Err(ImportError::must_be("output.type", known, Some(other)));
        }
    })
}
