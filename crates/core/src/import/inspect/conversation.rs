//! The messages of a sample, and its attachments.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Map, Value};

use super::super::copy_budget::CopyBudget;
use super::super::message::{Answer, At, Call, Message, Part, Place, Server};
use super::super::unread_calls::with_unread_calls;
use super::super::wire::{self, Text, null_as_default};
use super::super::{ImportError, results};
use crate::json;
use crate::trace::{CallError, ErrorKind, LazyText, Role};

const REFERENCE: &str = "attachment://";

with_unread_calls! {
    #[derive(Deserialize)]
    pub(super) struct SampleMessage<'a> {
        #[serde(borrow)]
        role: Text<'a>,
        content: Option<&'a RawValue>,
        #[serde(default, deserialize_with = "null_as_default")]
        tool_calls: Vec<SampleCall<'a>>,
        tool_call_id: Option<Text<'a>>,
        error: Option<ToolError<'a>>,
    }
    unread: [toolCalls, toolInvocations, function_call]
}

#[derive(Deserialize)]
struct SampleCall<'a> {
    #[serde(borrow)]
    id: Option<Text<'a>>,
    function: Text<'a>,
    arguments: Option<&'a RawValue>,
    parse_error: Option<Text<'a>>,
}

#[derive(Deserialize)]
struct ToolError<'a> {
    #[serde(borrow, rename = "type")]
    kind: Option<Text<'a>>,
    message: Option<Text<'a>>,
}

#[derive(Deserialize)]
struct Block<'a> {
    #[serde(borrow, rename = "type")]
    kind: Text<'a>,
    text: Option<Text<'a>>,
    id: Option<Text<'a>>,
    name: Option<Text<'a>>,
    context: Option<Text<'a>>,
    arguments: Option<&'a RawValue>,
    result: Option<&'a RawValue>,
    error: Option<Text<'a>>,
}

/// What the messages of a sample refer to.
pub(super) struct Context<'a> {
    pub(super) attachments: Attachments<'a>,
    /// How long calls took, by their id.
    pub(super) durations: BTreeMap<String, u64>,
}

impl Context<'_> {
    /// What a message says; `None` for a system prompt.
    pub(super) fn read(&self, message: &SampleMessage<'_>, place: Place<'_>) -> Result<Option<Message>, ImportError> {
        message.refuse_unread_calls(&place)?;
        let role = match &*message.role {
            "system" => return Ok(None),
            "user" => Role::User,
            "assistant" => Role::Assistant,
            "tool" => Role::Tool,
            other => {
                let place = format_args!("{place}.role");
                return Err(ImportError::must_be(place, "system, user, assistant or tool", Some(other)));
            }
        };
        let mut out = Message::with_parts(role, self.parts(message.content, place)?);
        if role == Role::Tool {
            out.parts = vec![Part::Answer(self.answer(message, &out))];
            return Ok(Some(out));
        }
        for (at, call) in message.tool_calls.iter().enumerate() {
            let at = At::new("tool_calls", at);
            let args = wire::optional(
                call.arguments,
                |raw| self.attachments.resolve_in(wire::arguments(raw)?),
                format_args!("{place}{at}.arguments"),
            )?;
            // Arguments that could not be parsed are recorded as an empty object, which is not what the model wrote.
            let is_lost = |args: &Value| call.parse_error.is_some() && args.as_object().is_some_and(Map::is_empty);
            let args = args.filter(|args| !is_lost(args));
            let id = call.id.as_deref().map(str::to_owned);
            out.parts.push(Part::Call(Call { id, name: call.function.to_string(), args, at, ..Call::default() }));
        }
        Ok(Some(out))
    }

    fn answer(&self, message: &SampleMessage<'_>, content: &Message) -> Answer {
        let text = content.text().unwrap_or_default();
        let mut result = results::of_text(text, Some(message.error.is_some()));
        if let Some(error) = &message.error {
            let kind = match error.kind.as_deref() {
                Some("timeout") => ErrorKind::Timeout,
                _ => ErrorKind::Tool,
            };
            let message = error.message.as_deref().map_or_else(String::new, str::to_owned);
            result.error = Some(Box::new(CallError { kind, code: None, message }));
        }
        let id = message.tool_call_id.as_deref().map(str::to_owned);
        result.duration_ms = id.as_ref().and_then(|id| self.durations.get(id).copied());
        Answer { id, result, ..Answer::default() }
    }

    fn parts(&self, content: Option<&RawValue>, place: Place<'_>) -> Result<Vec<Part>, ImportError> {
        let Some(content) = content else { return Ok(Vec::new()) };
        if !content.get().starts_with('[') {
            let text = wire::part::<Text<'_>>(content).and_then(|text| self.attachments.resolved(&text));
            let text = text.map_err(|error| error.at(format_args!("{place}.content")))?;
            return Ok(Some(text).filter(|text| !text.is_empty()).map(Part::Text).into_iter().collect());
        }
        let blocks: Vec<Block<'_>> = wire::part(content).map_err(|error| error.at(format_args!("{place}.content")))?;
        let mut parts = Vec::with_capacity(blocks.len());
        for (at, block) in blocks.into_iter().enumerate() {
            parts.push(self.part(block).map_err(|error| error.at(format_args!("{place}.content[{at}]")))?);
        }
        Ok(parts)
    }

    fn part(&self, block: Block<'_>) -> Result<Part, ImportError> {
        match &*block.kind {
            "text" => match block.text {
                Some(text) => self.attachments.resolved(&text).map(Part::Text),
                None => Ok(Part::Other),
            },
            "tool_use" => self.provider_call(block).map(Part::Call),
            "reasoning" | "image" | "audio" | "video" | "document" | "data" => Ok(Part::Other),
            other => Err(ImportError::unknown("type", other)
                .hint("blocks are `text`, `reasoning`, `tool_use`, `data` and media")),
        }
    }

    /// A call that the provider of the model made by itself, with its answer.
    fn provider_call(&self, block: Block<'_>) -> Result<Call, ImportError> {
        let name = block.name.ok_or_else(|| ImportError::new("a tool_use has no `name`"))?;
        let value = block.result.map(wire::value).transpose()?;
        let value = value.map(|value| self.attachments.resolve_in(value)).transpose()?;
        let error = block.error.map(Text::into_owned);
        let mut result = value.map(|value| results::of_value(value, Some(error.is_some())));
        if let (Some(message), Some(result)) = (error, &mut result) {
            result.error = Some(Box::new(CallError { kind: ErrorKind::Tool, code: None, message }));
        }
        let server = block.context.map(Text::into_owned).filter(|server| !server.is_empty());
        Ok(Call {
            id: block.id.map(Text::into_owned),
            name: name.into_owned(),
            server: server.map_or(Server::FromName, Server::FromNameOr),
            args: block.arguments.map(wire::arguments).transpose()?,
            result,
            ..Call::default()
        })
    }
}

/// Texts that a log keeps apart from the messages that refer to them.
pub(super) struct Attachments<'a> {
    texts: BTreeMap<Text<'a>, Text<'a>>,
    budget: CopyBudget,
}

impl<'a> Attachments<'a> {
    /// Attachments are read only where the sample refers to them.
    pub(super) fn of(raw: Option<&'a RawValue>, sample: &str) -> Result<Self, ImportError> {
        let raw = raw.filter(|_| sample.contains(REFERENCE));
        let read = wire::optional(raw, wire::part, "attachments")?;
        Ok(Self { texts: read.unwrap_or_default(), budget: CopyBudget::of(sample) })
    }

    /// The text that a reference stands for.
    fn find(&self, text: &str) -> Result<Option<&Text<'a>>, ImportError> {
        let Some(found) = text.strip_prefix(REFERENCE).and_then(|name| self.texts.get(name)) else { return Ok(None) };
        self.budget.take(found.len(), &format!("the text of {:?}", json::cut(text, 60)))?;
        Ok(Some(found))
    }

    fn resolve(&self, text: &mut String) -> Result<(), ImportError> {
        if let Some(found) = self.find(text)? {
            *text = found.to_string();
        }
        Ok(())
    }

    fn resolved(&self, text: &Text<'_>) -> Result<LazyText, ImportError> {
        let found = if !self.texts.is_empty() && may_refer(text) { self.find(text)? } else { None };
        Ok(found.map_or_else(|| text.lazy(), Text::lazy))
    }

    /// Resolves a text, or the texts of an object, which is where arguments have theirs.
    fn resolve_in(&self, value: Value) -> Result<Value, ImportError> {
        Ok(match value {
            Value::String(mut text) => {
                self.resolve(&mut text)?;
                Value::String(text)
            }
            Value::Object(mut map) => {
                for value in map.values_mut() {
                    if let Value::String(text) = value {
                        self.resolve(text)?;
                    }
                }
                Value::Object(map)
            }
            other => other,
        })
    }
}

/// Whether a text may be a reference, which is seen without replacing the escapes of the whole text.
fn may_refer(text: &Text<'_>) -> bool {
    match text {
        Text::Plain(text) => text.starts_with(REFERENCE),
        Text::Escaped(raw, _) => {
            raw.starts_with(REFERENCE) || raw.bytes().take(REFERENCE.len()).any(|byte| byte == b'\\')
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reference_is_found_however_it_is_spelled() {
        for (text, expected) in [
            (r#""attachment://a""#, true),
            (r#""attachment:\/\/a\n""#, true),
            (r#""\u0061ttachment://a""#, true),
            (r#""an attachment\n""#, false),
            (r#""attachments\n""#, false),
            (r#""""#, false),
        ] {
            let text: Text<'_> = json::read(text).unwrap();
            assert_eq!(text.starts_with(REFERENCE), expected, "{text:?}");
            assert!(may_refer(&text) || !expected, "{text:?}");
        }
        let long: Text<'_> = json::read(r#""a long text without a reference\n""#).unwrap();
        assert!(!may_refer(&long));
    }
}
