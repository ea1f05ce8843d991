//! Messages of Pydantic AI, as `all_messages_json()` writes them: requests and responses, each with parts.
//!
//! A request has what was sent since the last response: prompts, returns of tools, and requests to try again, which are
//! answers to failed calls where they name a tool.

use std::borrow::Cow;

use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;

use super::bounded_list::{BoundedList, Element};
use super::builder::Builder;
use super::message::{Answer, At, Call, Message, Part, Place, Server, Spent, Usage, UsageKeys, stop_reason};
use super::shape::Shape;
use super::wire::{self, Text};
use super::{ImportError, Imported, Options, Record, Unit, results};
use crate::trace::Role;

const USAGE: UsageKeys = UsageKeys {
    input: "input_tokens",
    output: "output_tokens",
    total: None,
    cached: &["cache_read_tokens"],
    written: None,
};
/// The keys of older versions.
const OLD_USAGE: UsageKeys = UsageKeys {
    input: "request_tokens",
    output: "response_tokens",
    total: Some("total_tokens"),
    cached: &[],
    written: None,
};

pub(super) fn sniff(shape: &Shape<'_>) -> Option<(Unit, Cow<'static, str>)> {
    let is_message = |shape: &Shape<'_>| {
        matches!(shape.text("kind").as_deref(), Some("request" | "response"))
            && shape.child("parts").is_some_and(|parts| parts.elements().iter().any(|part| part.has(&["part_kind"])))
    };
    let why = Cow::Borrowed("its parts have a `part_kind`");
    if is_message(shape) {
        return Some((Unit::Message, why));
    }
    let list = if matches!(shape, Shape::List(_)) { None } else { Some(shape.child("messages")?) };
    let elements = list.as_ref().unwrap_or(shape).elements();
    elements.iter().any(is_message).then_some((Unit::Record, why))
}

#[derive(Deserialize)]
#[serde(expecting = "a message")]
struct ModelMessage<'a> {
    #[serde(borrow)]
    kind: Option<Text<'a>>,
    parts: Option<BoundedList<MessagePart<'a>>>,
    usage: Option<&'a RawValue>,
    model_name: Option<Text<'a>>,
    finish_reason: Option<Text<'a>>,
}

impl Element for ModelMessage<'_> {
    fn is_incomplete(&self) -> bool {
        self.kind.is_none()
    }
}

#[derive(Deserialize)]
#[serde(expecting = "a part")]
struct MessagePart<'a> {
    #[serde(borrow)]
    part_kind: Option<Text<'a>>,
    content: Option<&'a RawValue>,
    tool_name: Option<Text<'a>>,
    tool_call_id: Option<Text<'a>>,
    args: Option<&'a RawValue>,
    outcome: Option<Text<'a>>,
}

impl Element for MessagePart<'_> {
    fn is_incomplete(&self) -> bool {
        self.part_kind.is_none()
    }
}

pub(super) fn read<'a>(record: Record<'a>, options: &Options) -> Result<Vec<Imported<'a>>, ImportError> {
    #[derive(Deserialize)]
    struct Around<'a> {
        #[serde(borrow)]
        messages: BoundedList<ModelMessage<'a>>,
    }
    let messages = if record.text.trim_start().starts_with('[') {
        wire::typed::<BoundedList<ModelMessage<'a>>>(record.text)?
    } else {
        wire::typed::<Around<'a>>(record.text)?.messages
    };
    let mut builder = Builder::new(options);
    for (at, message) in messages.iter().enumerate() {
        let place = Place::Element("", at);
        let message = message.read().map_err(|error| error.at(place))?;
        builder.add(message, &place)?;
    }
    builder.refuse_reply_alone(messages.len())?;
    let trace = builder.finish(None, None);
    Ok(vec![Imported { id: None, group: None, seal: None, fields: record.text.into(), trace }])
}

impl ModelMessage<'_> {
    fn read(&self) -> Result<Message, ImportError> {
        let role = match self.kind.as_deref() {
            Some("request") => Role::User,
            Some("response") => Role::Assistant,
            other => return Err(ImportError::must_be("kind", "request or response", other)),
        };
        let mut out = Message::new(role);
        for (at, part) in self.parts.iter().flat_map(|parts| parts.iter()).enumerate() {
            let at = At::new("parts", at);
            out.parts.extend(part.read(at).map_err(|error| error.at(&at.to_string()[1..]))?);
        }
        if role == Role::Assistant {
            let usage = USAGE.read(self.usage, "usage")?.filter(|usage| usage.input.is_some());
            let usage = match usage {
                None => OLD_USAGE.read(self.usage, "usage")?,
                known => known,
            };
            out.spent = Spent::reported(usage.map(Usage::with_cache_in_input));
            out.model = self.model_name.as_deref().map(str::to_owned);
            out.stop = self.finish_reason.as_deref().filter(|_| out.calls().next().is_none()).and_then(stop_reason);
        }
        Ok(out)
    }
}

impl MessagePart<'_> {
    fn read(&self, at: At) -> Result<Option<Part>, ImportError> {
        let id = || self.tool_call_id.as_deref().map(str::to_owned);
        let name =
            || self.tool_name.as_deref().map(str::to_owned).ok_or_else(|| ImportError::new("it has no `tool_name`"));
        let answer = |is_error: bool| {
            let value = wire::optional(self.content, wire::value, "content")?.unwrap_or(Value::Null);
            let result = results::of_value(value, Some(is_error));
            Ok::<_, ImportError>(Some(Part::Answer(Answer { id: id(), function: None, result, at })))
        };
        match self.part_kind.as_deref().unwrap_or_default() {
            "system-prompt" | "instruction" | "thinking" | "file" | "compaction" => Ok(None),
            "tool-call" => {
                let args = wire::optional(self.args, wire::arguments, "args")?;
                Ok(Some(Part::Call(Call { id: id(), name: name()?, args, at, ..Call::default() })))
            }
            "builtin-tool-call" | "native-tool-call" => {
                let args = wire::optional(self.args, wire::arguments, "args")?;
                let server = Server::provider();
                Ok(Some(Part::Call(Call { id: id(), name: name()?, args, at, server, ..Call::default() })))
            }
            // A tool that fails asks the model to try again, or ends the run; newer versions record the outcome.
            "tool-return" | "builtin-tool-return" | "native-tool-return" => {
                answer(self.outcome.as_deref().is_some_and(|outcome| outcome != "success"))
            }
            "retry-prompt" if self.tool_name.is_some() => answer(true),
            "text" | "user-prompt" | "retry-prompt" => self.said().map(Some),
            other => Err(ImportError::unknown("part_kind", other)
                .hint("calls are `tool-call`, answers are `tool-return` and `retry-prompt`")),
        }
    }

    /// The text of a prompt or of a reply. Media among the texts of a prompt say nothing.
    fn said(&self) -> Result<Part, ImportError> {
        Ok(match wire::optional(self.content, wire::value, "content")? {
            Some(Value::String(text)) if !text.is_empty() => Part::Text(text.into()),
            Some(Value::Array(parts)) => {
                let texts: Vec<&str> = parts.iter().filter_map(Value::as_str).collect();
                if texts.is_empty() { Part::Other } else { Part::Text(texts.join("\n").into()) }
            }
            _ => Part::Other,
        })
    }
}
