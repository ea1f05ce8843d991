//! Contents and replies of Gemini's `generateContent`. A call may have an id; an answer without one names its function.
//!
//! There is no format of records for them: ledgers have them.

use std::fmt;

use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};

use super::bounded_list::{BoundedList, Element};
use super::message::{self, Answer, At, Call, Message, Part, Place, Server, Spent, Usage, UsageKeys, stop_reason};
use super::wire::{self, Name, Text};
use super::{ImportError, results};
use crate::json;
use crate::trace::{LazyText, Role, StopReason};

const USAGE: UsageKeys = UsageKeys {
    input: "promptTokenCount",
    output: "candidatesTokenCount",
    total: Some("totalTokenCount"),
    cached: &["cachedContentTokenCount"],
    written: None,
};
/// Tokens that are counted apart from those above.
const FURTHER_USAGE: UsageKeys = UsageKeys {
    input: "toolUsePromptTokenCount",
    output: "thoughtsTokenCount",
    total: None,
    cached: &[],
    written: None,
};

#[derive(Deserialize)]
struct Content<'a> {
    #[serde(borrow)]
    role: Option<Text<'a>>,
    parts: Option<BoundedList<ContentPart<'a>>>,
}

#[derive(Debug, Deserialize)]
struct ContentPart<'a> {
    #[serde(borrow)]
    text: Option<Text<'a>>,
    thought: Option<bool>,
    #[serde(rename = "functionCall", alias = "function_call")]
    call: Option<Function<'a>>,
    #[serde(rename = "functionResponse", alias = "function_response")]
    response: Option<Function<'a>>,
    #[serde(rename = "executableCode", alias = "executable_code")]
    code: Option<&'a RawValue>,
    #[serde(rename = "codeExecutionResult", alias = "code_execution_result")]
    printed: Option<Printed<'a>>,
    #[serde(rename = "toolCall")]
    tool_call: Option<&'a RawValue>,
}

#[derive(Debug, Deserialize)]
struct Function<'a> {
    id: Option<Name>,
    #[serde(borrow)]
    name: Option<Text<'a>>,
    args: Option<&'a RawValue>,
    response: Option<&'a RawValue>,
}

#[derive(Debug, Deserialize)]
struct Printed<'a> {
    #[serde(borrow)]
    outcome: Option<Text<'a>>,
    output: Option<Text<'a>>,
}

#[derive(Deserialize)]
struct Reply<'a> {
    #[serde(borrow)]
    candidates: Option<Vec<Candidate<'a>>>,
    #[serde(rename = "usageMetadata")]
    usage: Option<&'a RawValue>,
    #[serde(rename = "modelVersion")]
    model: Option<Text<'a>>,
    #[serde(rename = "promptFeedback")]
    feedback: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct Candidate<'a> {
    #[serde(borrow)]
    content: Option<Content<'a>>,
    #[serde(rename = "finishReason")]
    finish: Option<Text<'a>>,
}

/// Any keys make a part: of media there are many kinds.
impl Element for ContentPart<'_> {
    fn is_incomplete(&self) -> bool {
        false
    }
}

/// What a content of a request says.
pub(super) fn message(text: &str, place: Place<'_>) -> Result<Option<Message>, ImportError> {
    let content: Content<'_> = wire::piece(text)?;
    let role = match content.role.as_deref() {
        Some("model") => Role::Assistant,
        Some("system") => return Ok(None),
        None | Some("user" | "function" | "tool") => Role::User,
        other => return Err(ImportError::must_be(format_args!("{place}.role"), "user or model", other)),
    };
    Ok(Some(Message::with_parts(role, content.read(&place.to_string())?)))
}

/// What a part says, or a list of parts; `None` if it is neither.
pub(super) fn parts(text: &str) -> Option<Result<Vec<Part>, ImportError>> {
    let parts = if text.starts_with('[') {
        json::try_checked::<BoundedList<ContentPart<'_>>>(text)?
    } else {
        BoundedList(vec![json::try_checked(text)?])
    };
    Some(Content { role: None, parts: Some(parts) }.read("content"))
}

/// What a reply says.
pub(super) fn reply(text: &str) -> Result<Message, ImportError> {
    let reply: Reply<'_> = wire::typed(text)?;
    let mut out = Message::new(Role::Assistant);
    let candidates = reply.candidates.unwrap_or_default();
    match &candidates[..] {
        [] if reply.feedback.is_some() => out.stop = Some(StopReason::Refused),
        [candidate] => {
            if let Some(content) = &candidate.content {
                out.parts = content.read("candidates[0].content")?;
            }
            let calls = out.calls().any(|call| call.server == Server::FromName);
            out.stop = candidate.finish.as_deref().filter(|_| !calls).and_then(stop_reason);
        }
        others => {
            return Err(ImportError::new(format!("candidates must be one reply, found {}", others.len())));
        }
    }
    let usage = USAGE.read(reply.usage, "usageMetadata")?;
    let further = FURTHER_USAGE.read(reply.usage, "usageMetadata")?.unwrap_or_default();
    out.spent = Spent::reported(usage.map(|usage| with_further(usage, further).with_cache_in_input()));
    out.model = reply.model.map(Text::into_owned);
    Ok(out)
}

/// This API omits counts of zero, so an absent count is zero if the prompt is counted.
fn with_further(usage: Usage, further: Usage) -> Usage {
    let Some(prompt) = usage.input else { return usage };
    let sum = |first: u64, second: Option<u64>| first.saturating_add(second.unwrap_or(0));
    Usage {
        input: Some(sum(prompt, further.input)),
        output: Some(sum(usage.output.unwrap_or(0), further.output)),
        cached: Some(usage.cached.unwrap_or(0)),
        ..usage
    }
}

impl Content<'_> {
    fn read(&self, place: &str) -> Result<Vec<Part>, ImportError> {
        let mut out = Vec::new();
        for (at, part) in self.parts.iter().flat_map(|parts| parts.iter()).enumerate() {
            let at = At::new("parts", at);
            if part.tool_call.is_some() {
                return Err(ImportError::new(format!("{place}{at}.toolCall is not understood, and could be a call")));
            }
            out.push(part.read(at, format_args!("{place}{at}"))?);
        }
        Ok(out)
    }
}

impl ContentPart<'_> {
    fn read(&self, at: At, place: fmt::Arguments<'_>) -> Result<Part, ImportError> {
        if let Some(function) = &self.call {
            let name = function.name(place, "functionCall")?;
            let args = wire::optional(function.args, wire::arguments, format_args!("{place}.functionCall.args"))?;
            let id = message::id(function.id.as_ref().map(|id| &*id.0));
            let is_answered_by_name = id.is_none();
            // A call without arguments may leave them out.
            let args = Some(args.unwrap_or_else(|| json!({})));
            return Ok(Part::Call(Call { id, name, args, is_answered_by_name, at, ..Call::default() }));
        }
        if let Some(function) = &self.response {
            let name = function.name(place, "functionResponse")?;
            let id = message::id(function.id.as_ref().map(|id| &*id.0));
            let place = format_args!("{place}.functionResponse.response");
            let response = wire::optional(function.response, wire::value, place)?;
            return Ok(Part::Answer(Answer { id, function: Some(name), result: result(response), at }));
        }
        if let Some(code) = self.code {
            let args = wire::value(code).map_err(|error| error.at(format_args!("{place}.executableCode")))?;
            let (name, args) = ("code_execution".to_owned(), Some(args));
            let call =
                Call { name, server: Server::provider(), args, is_answered_by_name: true, at, ..Call::default() };
            return Ok(Part::Call(call));
        }
        if let Some(printed) = &self.printed {
            let is_error = printed.outcome.as_deref().map(|word| word != "OUTCOME_OK");
            let result = results::of_text(printed.output.as_ref().map_or_else(LazyText::default, Text::lazy), is_error);
            let function = Some("code_execution".to_owned());
            return Ok(Part::Answer(Answer { id: None, function, result, at }));
        }
        Ok(Part::text(self.text.as_ref().filter(|_| self.thought != Some(true))))
    }
}

impl Function<'_> {
    fn name(&self, place: fmt::Arguments<'_>, key: &str) -> Result<String, ImportError> {
        let missing = || ImportError::new(format!("{place}.{key}.name must be a text, but the key is missing"));
        self.name.as_deref().map(str::to_owned).ok_or_else(missing)
    }
}

fn result(response: Option<Value>) -> crate::trace::ToolResult {
    let (value, is_error) = opened(response.unwrap_or(Value::Null));
    results::of_value(value, is_error.then_some(true))
}

/// The answer in a response, and whether it is an error. Clients put the answer under `output` or `result`, and an error under
/// `error`. The interface itself does not say whether a call failed, so only an error is one.
pub(super) fn opened(response: Value) -> (Value, bool) {
    match response {
        Value::Object(map)
            if map.len() == 1 && ["error", "output", "result"].iter().any(|key| map.contains_key(*key)) =>
        {
            let is_error = map.contains_key("error");
            (map.into_values().next().unwrap_or(Value::Null), is_error)
        }
        other => (other, false),
    }
}
