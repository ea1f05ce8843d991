//! Messages that spans of models carry as JSON: those of the `GenAI` conventions, whose content is in `parts`, and those of
//! the API that was called, which recorders also write.

use serde::Deserialize;
use serde_json::value::RawValue;

use super::super::message::{Answer, At, Call, Message, Part, Place, stop_reason};
use super::super::unread_calls::with_unread_calls;
use super::super::wire::{self, Text};
use super::super::{ImportError, langchain, openai_responses, results, vercel};
use crate::json;
use crate::trace::{Role, ToolResult};

/// The role of a message; `None` for a system prompt.
pub(super) fn role(word: &str) -> Result<Option<Role>, ImportError> {
    match word {
        "system" | "developer" => Ok(None),
        "user" | "human" => Ok(Some(Role::User)),
        // `smolagents` repeats calls and answers as text, in messages with roles of their own.
        "assistant" | "model" | "ai" | "tool-call" => Ok(Some(Role::Assistant)),
        "tool" | "function" | "tool-response" => Ok(Some(Role::Tool)),
        other => Err(ImportError::new(format!("role must be user, assistant, tool or system, found {other:?}"))),
    }
}

with_unread_calls! {
    #[derive(Deserialize)]
    struct SpanMessage<'a> {
        #[serde(borrow)]
        role: Option<Text<'a>>,
        parts: Option<Vec<SpanPart<'a>>>,
        content: Option<&'a RawValue>,
        tool_calls: Option<Vec<SpanPart<'a>>>,
        tool_call_id: Option<Text<'a>>,
        finish_reason: Option<Text<'a>>,
        /// The message itself, where this is a choice.
        message: Option<&'a RawValue>,
        #[serde(rename = "type")]
        kind: Option<Text<'a>>,
        /// Where a message of `LangChain` has its fields.
        data: Option<&'a RawValue>,
        kwargs: Option<&'a RawValue>,
        /// Where Langfuse leaves the calls of a message of `LangChain`.
        additional_kwargs: Option<AdditionalKwargs<'a>>,
        /// Of other documents than messages.
        object: Option<&'a RawValue>,
        #[serde(rename = "toolCallId")]
        sdk_call_id: Option<&'a RawValue>,
    }
    unread: [toolCalls, toolInvocations, function_call]
}

#[derive(Deserialize)]
struct AdditionalKwargs<'a> {
    #[serde(borrow)]
    tool_calls: Option<Vec<SpanPart<'a>>>,
}

/// A part of a message, or a call of `tool_calls`.
#[derive(Deserialize)]
struct SpanPart<'a> {
    #[serde(borrow, rename = "type")]
    kind: Option<Text<'a>>,
    content: Option<&'a RawValue>,
    text: Option<&'a RawValue>,
    id: Option<Text<'a>>,
    #[serde(alias = "toolCallId")]
    tool_use_id: Option<Text<'a>>,
    #[serde(alias = "toolName")]
    name: Option<Text<'a>>,
    arguments: Option<&'a RawValue>,
    input: Option<&'a RawValue>,
    args: Option<&'a RawValue>,
    /// The answer in a message of the AI SDK.
    output: Option<&'a RawValue>,
    #[serde(rename = "isError")]
    is_error: Option<bool>,
    response: Option<&'a RawValue>,
    result: Option<&'a RawValue>,
    server_tool_call_response: Option<&'a RawValue>,
    function: Option<Function<'a>>,
}

#[derive(Deserialize)]
struct Function<'a> {
    #[serde(borrow)]
    name: Option<Text<'a>>,
    arguments: Option<&'a RawValue>,
}

impl<'a> SpanPart<'a> {
    fn input(&self) -> Option<&'a RawValue> {
        self.arguments.or(self.input).or(self.args)
    }
}

/// Content that is an object.
#[derive(Deserialize)]
struct ObjectContent<'a> {
    #[serde(borrow, rename = "type")]
    kind: Option<&'a RawValue>,
    function: Option<&'a RawValue>,
    parts: Option<&'a RawValue>,
}

/// Reads one message, or the one in a choice. A message without a role has the default role. `None` for a system prompt.
pub(super) fn message(text: &str, default: Option<Role>) -> Result<Option<Message>, ImportError> {
    wire::check(text)?;
    checked(text, default)
}

/// The same for a text that was checked before.
pub(super) fn checked(text: &str, default: Option<Role>) -> Result<Option<Message>, ImportError> {
    let choice: SpanMessage<'_> = wire::piece(text)?;
    if choice.role.is_none() || choice.data.or(choice.kwargs).is_some() {
        match choice.kind.as_deref() {
            Some(word) if openai_responses::is_item_type(word) => {
                return openai_responses::message(text, Place::Key("item"));
            }
            Some(word) if langchain::is_message_type(word) => return langchain::message(text, Place::Key("message")),
            _ => {}
        }
    }
    let Some(inner) = choice.message else { return choice.read(default) };
    let message: SpanMessage<'_> = wire::part(inner).map_err(|error| error.at("message"))?;
    // Choices in choices are not read: a file could nest them without end.
    if message.message.is_some() {
        return Err(ImportError::new("message.message is not part of a message, and could hold a call"));
    }
    let stop = choice.finish_reason.as_deref().filter(|_| message.finish_reason.is_none()).and_then(stop_reason);
    let message = message.read(default).map_err(|error| error.at("message"))?;
    Ok(message.map(|message| Message { stop: message.stop.or(stop), ..message }))
}

/// Reads an element of a document where one look shows that it is a message. `None` where it may be something else, and where
/// it cannot be read.
pub(super) fn plain(text: &str, default: Role) -> Option<Result<Option<Message>, ImportError>> {
    let message: SpanMessage<'_> = json::try_checked(text)?;
    let others = [message.message, message.data, message.kwargs, message.object, message.sdk_call_id];
    let is_result = |kind: &Text<'_>| kind.contains("LLMResult") || kind.contains("Generation");
    if message.role.is_none() || others.iter().any(Option::is_some) || message.kind.as_ref().is_some_and(is_result) {
        return None;
    }
    let content = message.object_content();
    if content.as_ref().is_some_and(|content| content.parts.is_some()) {
        return None;
    }
    Some(message.read_with(content.as_ref(), Some(default)))
}

impl<'a> SpanMessage<'a> {
    fn object_content(&self) -> Option<ObjectContent<'a>> {
        let content = self.content.filter(|raw| raw.get().starts_with('{'))?;
        json::try_checked(content.get())
    }

    /// Whether it is the definition of a tool, which some recorders put among the messages.
    fn is_definition(&self, content: &ObjectContent<'_>) -> bool {
        self.role.as_deref() == Some("tool")
            && self.tool_call_id.is_none()
            && content.kind.and_then(Text::part).as_deref() == Some("function")
            && content.function.is_some()
    }

    fn read(self, default: Option<Role>) -> Result<Option<Message>, ImportError> {
        let content = self.object_content();
        self.read_with(content.as_ref(), default)
    }

    fn read_with(
        self,
        object: Option<&ObjectContent<'_>>,
        default: Option<Role>,
    ) -> Result<Option<Message>, ImportError> {
        self.refuse_unread_calls(&"message")?;
        if object.is_some_and(|content| self.is_definition(content)) {
            return Ok(None);
        }
        let mut function = None;
        let role = match self.role.as_deref().map_or(Ok(default), role) {
            // Langfuse writes the name of the tool as the role of its message.
            Err(_) if self.additional_kwargs.is_some() && self.tool_calls.is_none() => {
                function = self.role.as_ref().map(|name| name.to_string());
                Some(Role::Tool)
            }
            role => role?,
        };
        let mut out = Message::new(role.unwrap_or(Role::User));
        out.stop = self.finish_reason.as_deref().and_then(stop_reason);
        let call_id = self.tool_call_id.map(Text::into_owned);
        if let Some(calls) = self
            .content
            .filter(|_| may_be_calls(role, call_id.is_some(), self.finish_reason.as_deref()))
            .and_then(Text::part)
            .and_then(|text| calls_in_text(&text, role, call_id.is_some(), self.finish_reason.as_deref()))
        {
            return Ok(Some(Message { role: Role::Assistant, parts: calls, ..out }));
        }
        let (parts, list) = match (self.parts, self.content) {
            (Some(parts), _) => (parts, "parts"),
            (None, Some(content)) if content.get().starts_with('[') => {
                (wire::part(content).map_err(|error| error.at("content"))?, "content")
            }
            (None, content) => {
                if let Some(content) = content {
                    add_content(&mut out, content, role, call_id.as_ref(), function)?;
                }
                (Vec::new(), "content")
            }
        };
        for (at, part) in parts.into_iter().enumerate() {
            out.parts.extend(part.read().map_err(|error| error.at(format_args!("{list}[{at}]")))?);
        }
        if role == Some(Role::Tool) && call_id.is_some() && out.answers().next().is_none() {
            let result = results::of_text(out.text().unwrap_or_default(), None);
            out.parts.retain(|part| !matches!(part, Part::Text(_)));
            out.parts.push(Part::Answer(Answer { id: call_id, result, ..Answer::default() }));
        }
        let tool_calls = self.tool_calls.or_else(|| self.additional_kwargs?.tool_calls);
        for (at, call) in tool_calls.into_iter().flatten().enumerate() {
            let at = At::new("tool_calls", at);
            let call = call.call().map_err(|error| error.at(&at.to_string()[1..]))?;
            out.parts.push(Part::Call(Call { at, ..call }));
        }
        Ok(role.map(|_| out))
    }
}

/// Whether the text of a message may be calls, as Koog writes them: of a reply that ended with calls, or under the role of a tool.
fn may_be_calls(role: Option<Role>, has_id: bool, finish: Option<&str>) -> bool {
    match role {
        Some(Role::Assistant) => finish == Some("tool_calls"),
        Some(Role::Tool) => !has_id,
        Some(Role::User) | None => false,
    }
}

/// The calls that are the text of a message.
pub(super) fn calls_in_text(
    text: &Text<'_>,
    role: Option<Role>,
    has_id: bool,
    finish: Option<&str>,
) -> Option<Vec<Part>> {
    // Most texts are something else, and need not be decoded: only a text that begins with an escape may hide a list.
    let is_list = || text.written().starts_with(['[', '\\']) && text.starts_with("[{");
    if !may_be_calls(role, has_id, finish) || !is_list() || wire::check(text).is_err() {
        return None;
    }
    let calls: Vec<SpanPart<'_>> = wire::typed(text).ok()?;
    let is_call =
        |part: &SpanPart<'_>| part.kind.as_deref() == Some("function") && part.function.is_some() && part.id.is_some();
    if !calls.iter().all(is_call) {
        return None;
    }
    calls.into_iter().map(|call| call.call().ok().map(Part::Call)).collect()
}

/// Adds content that is not a list: the text of a message, or the answer of a tool.
fn add_content(
    out: &mut Message,
    content: &RawValue,
    role: Option<Role>,
    id: Option<&String>,
    function: Option<String>,
) -> Result<(), ImportError> {
    if role == Some(Role::Tool) {
        let result = results::of_raw(content, None)?;
        out.parts.push(Part::Answer(Answer { id: id.cloned(), function, result, ..Answer::default() }));
        return Ok(());
    }
    let Some(text) = Text::part(content) else {
        let found = json::describe(&wire::value(content)?);
        return Err(ImportError::new(format!("content must be a text or a list of parts, found {found}")));
    };
    out.parts.extend(text.said().map(Part::Text));
    Ok(())
}

impl SpanPart<'_> {
    fn read(self) -> Result<Option<Part>, ImportError> {
        let kind = self.kind.as_ref().map_or("", |kind| &**kind);
        Ok(match kind {
            "text" | "input_text" | "output_text" => {
                let Some(raw) = self.content.or(self.text) else { return Ok(None) };
                let text: Text<'_> = wire::part(raw).map_err(|error| error.at("content"))?;
                text.said().map(Part::Text)
            }
            "tool_call" | "tool_use" | "server_tool_call" | "server_tool_use" | "function" => {
                Some(Part::Call(self.call()?))
            }
            "tool_call_response" | "tool_result" | "server_tool_call_response" => {
                let raw = self.response.or(self.result).or(self.server_tool_call_response).or(self.content);
                let result = match raw {
                    Some(raw) => results::of_raw(raw, None)?,
                    None => ToolResult::default(),
                };
                let id = self.tool_use_id.or(self.id).map(Text::into_owned);
                Some(Part::Answer(Answer { id, result, ..Answer::default() }))
            }
            "tool-call" => Some(Part::Call(self.call()?)),
            "tool-result" => {
                let result = vercel::output(self.output, self.result, self.is_error)?;
                let id = self.tool_use_id.or(self.id).map(Text::into_owned);
                Some(Part::Answer(Answer { id, result, ..Answer::default() }))
            }
            "reasoning" | "thinking" | "redacted_thinking" | "blob" | "uri" | "file" | "image" | "image_url"
            | "audio" | "video" | "document" | "compaction" | "refusal" => None,
            other => {
                let could_be_call = self.name.is_some() || self.function.is_some() || self.input().is_some();
                let is_named_so = ["tool", "call", "function"].iter().any(|word| other.contains(word));
                if could_be_call || is_named_so || other.is_empty() {
                    return Err(ImportError::unknown("type", other)
                        .hint("parts are `text`, `tool_call`, `tool_call_response`, `reasoning` and media"));
                }
                None
            }
        })
    }

    fn call(self) -> Result<Call, ImportError> {
        let input = self.input();
        let (name, arguments) = match self.function {
            Some(function) => (function.name.or(self.name), function.arguments.or(input)),
            None => (self.name, input),
        };
        let name = name.ok_or_else(|| ImportError::new("it is a call and has no `name`"))?.into_owned();
        let args = wire::optional(arguments, wire::arguments, "arguments")?;
        Ok(Call { id: self.id.or(self.tool_use_id).map(Text::into_owned), name, args, ..Call::default() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_that_is_read_with_one_look_is_the_same_as_with_several() {
        for text in [
            r#"{"role": "user", "content": "a \"b\""}"#,
            r#"{"role": "assistant", "content": "", "tool_calls": [{"id": "1", "name": "f", "args": {}}]}"#,
            r#"{"role": "assistant", "content": [{"type": "text", "text": "t"}], "type": "message", "finish_reason": "stop"}"#,
            r#"{"role": "assistant", "parts": [{"type": "tool_call", "id": "1", "name": "f", "arguments": {}}]}"#,
            r#"{"role": "tool", "tool_call_id": "1", "content": {"type": "function", "function": {}}}"#,
            r#"{"role": "tool", "content": {"type": "function", "function": {"name": "f"}}}"#,
            r#"{"role": "tool", "content": {"type": "function"}}"#,
            r#"{"role": "user", "content": {"type": "function", "function": {}}}"#,
            r#"{"role": "system", "content": "s"}"#,
            r#"{"role": "f", "content": "12", "additional_kwargs": {}}"#,
            r#"{"role": "nobody", "content": "x"}"#,
            r#"{"role": "user", "content": 7}"#,
            r#"{"role": "user", "function_call": {"name": "f"}}"#,
        ] {
            let read = plain(text, Role::User).unwrap();
            assert_eq!(read, checked(text, Some(Role::User)), "{text}");
        }
    }

    #[test]
    fn one_look_is_not_enough_where_another_key_may_hold_the_message() {
        for text in [
            r#"{"content": "x"}"#,
            r#"{"role": 1, "content": "x"}"#,
            r#"{"role": "user", "content": {"parts": [{"text": "x"}]}}"#,
            r#"{"role": "user", "message": {"role": "user", "content": "x"}}"#,
            r#"{"role": "user", "object": "chat.completion", "choices": []}"#,
            r#"{"role": "user", "type": "ChatGeneration", "generations": []}"#,
            r#"{"role": "user", "type": "LLMResult", "generations": []}"#,
            r#"{"role": "user", "type": "ai", "data": {"content": "x"}}"#,
            r#"{"role": "user", "type": "constructor", "kwargs": {"content": "x"}}"#,
            r#"{"role": "user", "toolCallId": "1", "toolName": "f"}"#,
            r#"{"role": "user", "content": "x", "tool_calls": {}}"#,
            "[]",
            "7",
        ] {
            assert!(plain(text, Role::User).is_none(), "{text}");
        }
    }
}
