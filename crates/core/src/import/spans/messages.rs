//! Messages that spans of models carry as JSON: those of the `GenAI` conventions, whose content lies in `parts`, and those
//! in the shape of the interface that was called, which recorders also write.

use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;

use super::super::stray::{self, Stray};
use super::super::wire::{self, Text};
use super::super::{ImportError, results};
use crate::json;
use crate::trace::ToolResult;

/// Who speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Speaker {
    System,
    User,
    Assistant,
    Tool,
}

/// One message.
#[derive(Debug, Clone)]
pub(super) struct Message {
    pub(super) speaker: Speaker,
    pub(super) texts: Vec<String>,
    pub(super) calls: Vec<Mention>,
    pub(super) answers: Vec<Answer>,
    pub(super) finish: Option<String>,
}

/// A call that a message tells of.
#[derive(Debug, Clone)]
pub(super) struct Mention {
    pub(super) id: Option<String>,
    pub(super) name: String,
    pub(super) args: Option<Value>,
}

/// An answer that a message tells of.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Answer {
    pub(super) id: Option<String>,
    pub(super) result: ToolResult,
}

impl Message {
    pub(super) fn new(speaker: Speaker) -> Self {
        Self { speaker, texts: Vec::new(), calls: Vec::new(), answers: Vec::new(), finish: None }
    }

    /// Whether it is the same message told again. Ids are left out: some recorders give a call another id when they tell
    /// of it a second time.
    pub(super) fn repeats(&self, other: &Self) -> bool {
        let calls = |a: &Mention, b: &Mention| a.name == b.name && a.args == b.args;
        let answers = |a: &Answer, b: &Answer| a.result == b.result;
        self.speaker == other.speaker
            && self.texts == other.texts
            && self.calls.len() == other.calls.len()
            && self.answers.len() == other.answers.len()
            && self.calls.iter().zip(&other.calls).all(|(a, b)| calls(a, b))
            && self.answers.iter().zip(&other.answers).all(|(a, b)| answers(a, b))
    }

    /// Its text; `None` when it carries none.
    pub(super) fn text(&self) -> Option<String> {
        (!self.texts.is_empty()).then(|| self.texts.join("\n"))
    }
}

/// Who a role stands for.
pub(super) fn speaker(role: &str) -> Result<Speaker, ImportError> {
    match role {
        "system" | "developer" => Ok(Speaker::System),
        "user" | "human" => Ok(Speaker::User),
        "assistant" | "model" | "ai" => Ok(Speaker::Assistant),
        "tool" | "function" => Ok(Speaker::Tool),
        other => Err(ImportError::new(format!("role must be user, assistant, tool or system, found {other:?}"))),
    }
}

#[derive(Deserialize)]
struct Wire<'a> {
    #[serde(borrow, default)]
    role: Option<Text<'a>>,
    #[serde(borrow, default)]
    parts: Option<Vec<Part<'a>>>,
    #[serde(borrow, default)]
    content: Option<&'a RawValue>,
    #[serde(borrow, default)]
    tool_calls: Option<Vec<Part<'a>>>,
    #[serde(borrow, default)]
    tool_call_id: Option<Text<'a>>,
    #[serde(borrow, default)]
    finish_reason: Option<Text<'a>>,
    /// The message itself, where this is a choice around it.
    #[serde(borrow, default)]
    message: Option<&'a RawValue>,
    #[serde(default, rename = "toolCalls")]
    camel_calls: Stray,
    #[serde(default, rename = "toolInvocations")]
    invocations: Stray,
    #[serde(default)]
    function_call: Stray,
}

/// A part of a message, or a call beside its content.
#[derive(Deserialize)]
struct Part<'a> {
    #[serde(borrow, default, rename = "type")]
    kind: Option<Text<'a>>,
    #[serde(borrow, default)]
    content: Option<&'a RawValue>,
    #[serde(borrow, default)]
    text: Option<&'a RawValue>,
    #[serde(borrow, default)]
    id: Option<Text<'a>>,
    #[serde(borrow, default)]
    tool_use_id: Option<Text<'a>>,
    #[serde(borrow, default)]
    name: Option<Text<'a>>,
    #[serde(borrow, default)]
    arguments: Option<&'a RawValue>,
    #[serde(borrow, default)]
    input: Option<&'a RawValue>,
    #[serde(borrow, default)]
    response: Option<&'a RawValue>,
    #[serde(borrow, default)]
    result: Option<&'a RawValue>,
    #[serde(borrow, default)]
    server_tool_call_response: Option<&'a RawValue>,
    #[serde(borrow, default)]
    function: Option<Function<'a>>,
}

#[derive(Deserialize)]
struct Function<'a> {
    #[serde(borrow, default)]
    name: Option<Text<'a>>,
    #[serde(borrow, default)]
    arguments: Option<&'a RawValue>,
}

impl<'a> Part<'a> {
    fn input(&self) -> Option<&'a RawValue> {
        self.arguments.or(self.input)
    }
}

/// Reads one message, or the one inside a choice. A message without a role is spoken by `default`.
pub(super) fn message(text: &str, default: Speaker) -> Result<Message, ImportError> {
    let choice: Wire<'_> = wire::typed(text)?;
    let Some(inner) = choice.message else { return of_wire(choice, default) };
    let wire: Wire<'_> = wire::typed(inner.get()).map_err(|error| error.at("message"))?;
    // Choices are not followed any deeper: a file could nest them without end.
    if wire.message.is_some() {
        return Err(ImportError::new("message.message is no part of a message, and could hold a call"));
    }
    let mut out = of_wire(wire, default).map_err(|error| error.at("message"))?;
    out.finish = out.finish.or(choice.finish_reason.map(|text| text.0.into_owned()));
    Ok(out)
}

fn of_wire(wire: Wire<'_>, default: Speaker) -> Result<Message, ImportError> {
    let strays =
        [("toolCalls", wire.camel_calls), ("toolInvocations", wire.invocations), ("function_call", wire.function_call)];
    stray::refuse(&"message", &strays)?;
    let mut out = Message::new(wire.role.as_ref().map_or(Ok(default), |role| speaker(role))?);
    out.finish = wire.finish_reason.map(|text| text.0.into_owned());
    let in_content;
    let (parts, field) = match (wire.parts, wire.content) {
        (Some(parts), _) => (parts, "parts"),
        (None, Some(content)) if content.get().starts_with('[') => {
            in_content = wire::typed::<Vec<Part<'_>>>(content.get()).map_err(|error| error.at("content"))?;
            (in_content, "content")
        }
        (None, content) => {
            if let Some(content) = content {
                said(&mut out, content, wire.tool_call_id.as_ref())?;
            }
            (Vec::new(), "content")
        }
    };
    let answers_whole = out.speaker == Speaker::Tool && wire.tool_call_id.is_some();
    for (place, part) in parts.into_iter().enumerate() {
        take(&mut out, part).map_err(|error| error.at(&format!("{field}[{place}]")))?;
    }
    if answers_whole && out.answers.is_empty() {
        let result = results::of_text(&out.texts.join("\n"), None);
        out.answers.push(Answer { id: wire.tool_call_id.map(|id| id.0.into_owned()), result });
        out.texts.clear();
    }
    for (place, call) in wire.tool_calls.into_iter().flatten().enumerate() {
        let called = mention(call).map_err(|error| error.at(&format!("tool_calls[{place}]")))?;
        out.calls.push(called);
    }
    Ok(out)
}

/// Takes content that is no list: the text of a message, or the answer of a tool.
fn said(out: &mut Message, content: &RawValue, id: Option<&Text<'_>>) -> Result<(), ImportError> {
    let value = wire::value(content)?;
    match value {
        value if out.speaker == Speaker::Tool => {
            let id = id.map(|id| id.0.clone().into_owned());
            out.answers.push(Answer { id, result: results::of_value(value, None) });
        }
        Value::String(text) => out.texts.extend(Some(text).filter(|text| !text.is_empty())),
        other => {
            let found = json::describe(&other);
            return Err(ImportError::new(format!("content must be a text or a list of parts, found {found}")));
        }
    }
    Ok(())
}

fn take(out: &mut Message, part: Part<'_>) -> Result<(), ImportError> {
    let kind = part.kind.as_ref().map_or("", |kind| &**kind).to_owned();
    match &*kind {
        "text" | "input_text" | "output_text" => {
            let Some(raw) = part.content.or(part.text) else { return Ok(()) };
            let text: String = wire::typed(raw.get()).map_err(|error| error.at("content"))?;
            out.texts.extend(Some(text).filter(|text| !text.is_empty()));
        }
        "tool_call" | "tool_use" | "server_tool_call" | "server_tool_use" | "function" => {
            out.calls.push(mention(part)?);
        }
        "tool_call_response" | "tool_result" | "server_tool_call_response" => {
            let told = part.response.or(part.result).or(part.server_tool_call_response).or(part.content);
            let result = match told {
                Some(raw) => results::of_value(wire::value(raw)?, None),
                None => ToolResult::default(),
            };
            out.answers.push(Answer { id: part.tool_use_id.or(part.id).map(|id| id.0.into_owned()), result });
        }
        // Thoughts are no text, and what is no text carries no call.
        "reasoning" | "thinking" | "redacted_thinking" | "blob" | "uri" | "file" | "image" | "image_url" | "audio"
        | "video" | "document" | "compaction" | "refusal" => {}
        other => {
            let could_be_call = part.name.is_some() || part.function.is_some() || part.input().is_some();
            let named_so = ["tool", "call", "function"].iter().any(|word| other.contains(word));
            if could_be_call || named_so || other.is_empty() {
                return Err(ImportError::new(format!("type {other:?} is not known, and could be a call or an answer"))
                    .hint("parts are `text`, `tool_call`, `tool_call_response`, `reasoning` and media"));
            }
        }
    }
    Ok(())
}

fn mention(part: Part<'_>) -> Result<Mention, ImportError> {
    let given = part.input();
    let (name, arguments) = match part.function {
        Some(function) => (function.name.or(part.name), function.arguments.or(given)),
        None => (part.name, given),
    };
    let name = name.ok_or_else(|| ImportError::new("it is a call and has no `name`"))?;
    let args = arguments.map(wire::arguments).transpose().map_err(|error| error.at("arguments"))?;
    Ok(Mention { id: part.id.or(part.tool_use_id).map(|id| id.0.into_owned()), name: name.0.into_owned(), args })
}
