//! One message in any of its three shapes, and messages into a trace.

use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;

use super::calls::{self, LcCall};
use super::content::{self, Read};
use crate::import::bounded_list::{BoundedList, Element};
use crate::import::builder::Builder;
use crate::import::message::{Answer, Message, Part, Place, Spent, Usage, UsageKeys, id, stop_reason};
use crate::import::openai_chat::messages::USAGE as OPENAI_USAGE;
use crate::import::unread_calls::with_unread_calls;
use crate::import::wire::{self, Text};
use crate::import::{ImportError, results};
use crate::trace::{LazyValue, Role, Tokens, ToolResult};

const USAGE: UsageKeys = UsageKeys {
    input: "input_tokens",
    output: "output_tokens",
    total: Some("total_tokens"),
    cached: &["input_token_details", "cache_read"],
    written: None,
};

with_unread_calls! {
    /// A message. Where its fields are not flat, they are in `data` or `kwargs`.
    #[derive(Deserialize)]
    #[serde(expecting = "a message")]
    pub(super) struct LcMessage<'a> {
        #[serde(borrow, rename = "type")]
        kind: Option<Text<'a>>,
        /// A text, or the path of a class where the message is a constructor.
        id: Option<&'a RawValue>,
        data: Option<Box<LcMessage<'a>>>,
        kwargs: Option<Box<LcMessage<'a>>>,
        role: Option<Text<'a>>,
        content: Option<&'a RawValue>,
        pub(super) tool_calls: Option<BoundedList<LcCall<'a>>>,
        pub(super) invalid_tool_calls: Option<BoundedList<LcCall<'a>>>,
        pub(super) tool_call_chunks: Option<BoundedList<LcCall<'a>>>,
        pub(super) additional_kwargs: Option<&'a RawValue>,
        tool_call_id: Option<Text<'a>>,
        status: Option<Text<'a>>,
        artifact: Option<&'a RawValue>,
        usage_metadata: Option<&'a RawValue>,
        response_metadata: Option<Response<'a>>,
    }
    unread: [toolCalls, toolInvocations, function_call]
}

/// Metadata of a reply, as the provider returned it.
#[derive(Deserialize)]
struct Response<'a> {
    #[serde(borrow)]
    finish_reason: Option<&'a RawValue>,
    stop_reason: Option<&'a RawValue>,
    model_name: Option<&'a RawValue>,
    model: Option<&'a RawValue>,
    token_usage: Option<&'a RawValue>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Speaker {
    Human,
    Ai,
    /// A chunk of a message of the model.
    AiChunk,
    System,
    Tool,
    /// The answer to a call without an id, in old logs.
    Function,
    /// The message has a `role`.
    Chat,
    /// Removes a message from a state, which does not undo what happened.
    Remove,
}

impl Speaker {
    /// By a type or by the name of a class.
    pub(super) fn of(kind: &str) -> Option<Self> {
        Some(match kind {
            "human" | "HumanMessage" | "HumanMessageChunk" => Self::Human,
            "ai" | "AIMessage" => Self::Ai,
            "AIMessageChunk" => Self::AiChunk,
            "system" | "SystemMessage" | "SystemMessageChunk" | "developer" => Self::System,
            "tool" | "ToolMessage" | "ToolMessageChunk" => Self::Tool,
            "function" | "FunctionMessage" | "FunctionMessageChunk" => Self::Function,
            "chat" | "ChatMessage" | "ChatMessageChunk" => Self::Chat,
            "remove" | "RemoveMessage" => Self::Remove,
            _ => return None,
        })
    }
}

impl Element for LcMessage<'_> {
    fn is_incomplete(&self) -> bool {
        let kind = self.kind.as_deref();
        kind.is_none_or(|kind| kind != "constructor" && kind != "not_implemented" && Speaker::of(kind).is_none())
    }
}

impl<'a> LcMessage<'a> {
    /// The fields, wherever they are.
    fn fields(&self) -> &LcMessage<'a> {
        self.data.as_deref().or(self.kwargs.as_deref()).unwrap_or(self)
    }

    fn speaker(&self, place: Place<'_>) -> Result<Speaker, ImportError> {
        let kind = match self.kind.as_deref() {
            Some("constructor") => self.id.and_then(super::class),
            Some("not_implemented") => {
                return Err(ImportError::new(format!("{place} was not serialized: only its `repr` was kept"))
                    .hint("such a message may hold calls; a trace without them could pass by mistake"));
            }
            kind => kind.map(str::to_owned),
        };
        if let Some(speaker) = kind.as_deref().and_then(Speaker::of) {
            return Ok(speaker);
        }
        let hint = match self.role {
            Some(_) => "messages with a role are `openai-chat` or `anthropic`",
            None => "messages of this format have a type such as `human`, `ai` or `tool`",
        };
        Err(ImportError::must_be(format_args!("{place}.type"), "a type of message", kind.as_deref()).hint(hint))
    }

    pub(super) fn is_of_the_user(&self) -> bool {
        self.speaker(Place::Key("")).is_ok_and(|speaker| speaker == Speaker::Human)
    }

    fn tokens(&self, place: Place<'_>) -> Result<Option<Tokens>, ImportError> {
        if let Some(usage) = USAGE.read(self.usage_metadata, format_args!("{place}.usage_metadata"))? {
            return Ok(Some(usage.with_cache_in_input()));
        }
        // Old logs have only what `OpenAI` reported.
        let raw = self.response_metadata.as_ref().and_then(|response| response.token_usage);
        let old = OPENAI_USAGE.read(raw, "").ok().flatten().filter(|old| old.input.and(old.output).is_some());
        Ok(old.map(|old| Usage { cached: None, ..old }.with_cache_in_input()))
    }

    /// The answer of a tool.
    fn answer(&self, id: Option<String>, place: Place<'_>) -> Result<Message, ImportError> {
        let is_error = match self.status.as_deref() {
            Some("error") => Some(true),
            Some("success") => Some(false),
            _ => None,
        };
        let result = |raw| answered(raw, is_error);
        let result = wire::optional(self.content, result, format_args!("{place}.content"))?;
        let mut result = result.unwrap_or_else(|| results::of_value(Value::Null, is_error));
        let artifact = self.artifact.and_then(|raw| wire::value(raw).ok());
        let structured = || artifact?.get("structured_content").filter(|value| !value.is_null()).cloned();
        result.structured_content = result.structured_content.or_else(|| structured().map(LazyValue::from));
        Ok(Message::with_parts(Role::Tool, vec![Part::Answer(Answer { id, result, ..Answer::default() })]))
    }
}

/// What a tool answered.
fn answered(raw: &RawValue, is_error: Option<bool>) -> Result<ToolResult, ImportError> {
    if let Some(text) = Text::part(raw) {
        return Ok(results::of_text(text.lazy(), is_error));
    }
    if let Some(result) = results::of_text_blocks(raw, is_error) {
        return Ok(result);
    }
    Ok(match wire::value(raw)? {
        Value::Array(list) => results::of_list(list, is_error),
        value => results::of_value(value, is_error),
    })
}

pub(super) fn add_all(builder: &mut Builder<'_>, name: &str, messages: &[LcMessage<'_>]) -> Result<(), ImportError> {
    let mut at = 0;
    while let Some(message) = messages.get(at) {
        let place = Place::Element(name, at);
        let speaker = message.speaker(place)?;
        // Chunks of one message follow each other under its id.
        let mut end = at + 1;
        if speaker == Speaker::AiChunk {
            let id = own_id(message);
            let continues = |next: &LcMessage<'_>| {
                next.speaker(place).is_ok_and(|speaker| speaker == Speaker::AiChunk) && own_id(next) == id
            };
            while id.is_some() && messages.get(end).is_some_and(continues) {
                end += 1;
            }
        }
        let chunks: Vec<&LcMessage<'_>> = messages[at..end].iter().map(LcMessage::fields).collect();
        if let Some(message) = read(speaker, &chunks, place)? {
            builder.add(message, &place)?;
        }
        at = end;
    }
    Ok(())
}

/// What one message says; `None` for one that is not part of the conversation.
pub(super) fn one(message: &LcMessage<'_>, place: Place<'_>) -> Result<Option<Message>, ImportError> {
    read(message.speaker(place)?, &[message.fields()], place)
}

/// What a message says, from all its chunks; `None` for one that is not part of the conversation.
fn read(speaker: Speaker, chunks: &[&LcMessage<'_>], place: Place<'_>) -> Result<Option<Message>, ImportError> {
    let Some(message) = chunks.first() else { return Ok(None) };
    for message in chunks {
        message.refuse_unread_calls(&place)?;
    }
    let speaker = match (speaker, message.role.as_deref()) {
        (Speaker::Chat, Some("user" | "human")) => Speaker::Human,
        (Speaker::Chat, Some("assistant" | "ai")) => Speaker::Ai,
        (Speaker::Chat, Some("system" | "developer")) => Speaker::System,
        (speaker, _) => speaker,
    };
    match speaker {
        Speaker::Human => human(message, place).map(Some),
        Speaker::Ai | Speaker::AiChunk => ai(chunks, place).map(Some),
        Speaker::System | Speaker::Remove => Ok(None),
        Speaker::Tool => message.answer(id(message.tool_call_id.as_deref()), place).map(Some),
        Speaker::Function => message.answer(None, place).map(Some),
        Speaker::Chat => {
            let expected = "\"user\", \"assistant\" or \"system\"";
            Err(ImportError::must_be(format_args!("{place}.role"), expected, message.role.as_deref())
                .hint("a message of an unknown speaker may hold calls or answers"))
        }
    }
}

fn human(message: &LcMessage<'_>, place: Place<'_>) -> Result<Message, ImportError> {
    let mut out = Message::new(Role::User);
    for (at, read) in content::read(message.content, place)?.into_iter().enumerate() {
        match read {
            Read::Part(part @ (Part::Text(_) | Part::Other)) => out.parts.push(part),
            _ => {
                return Err(ImportError::new(format!(
                    "{place}.content[{at}] is a call or an answer in a message of the user"
                ))
                .hint("this looks like `anthropic`"));
            }
        }
    }
    Ok(out)
}

fn ai(chunks: &[&LcMessage<'_>], place: Place<'_>) -> Result<Message, ImportError> {
    let mut out = Message::new(Role::Assistant);
    let mut content = Vec::new();
    for message in chunks {
        let more = content::read(message.content, place)?;
        if content.is_empty() {
            content = more;
        } else {
            content.extend(more);
        }
    }
    out.parts = calls::parts(chunks, content, place)?;
    if chunks.len() > 1 {
        // Chunks cut a text anywhere, so nothing goes between them.
        let text: String = out.texts().map(|text| &**text).collect();
        out.parts.retain(|part| !matches!(part, Part::Text(_)));
        out.parts.extend((!text.is_empty()).then_some(Part::Text(text.into())));
    }
    // The counts of chunks add up to those of their message.
    let mut spent: Option<Tokens> = None;
    for message in chunks {
        let tokens = message.tokens(place)?;
        spent = match (spent, tokens) {
            (Some(sum), Some(tokens)) => Some(add(sum, tokens)),
            (sum, tokens) => sum.or(tokens),
        };
    }
    out.spent = Spent::reported(spent);
    for response in chunks.iter().filter_map(|message| message.response_metadata.as_ref()) {
        let word = response.finish_reason.or(response.stop_reason).and_then(wire::name);
        out.stop = word.and_then(|word| stop_reason(&word)).or(out.stop);
        out.model = response.model_name.or(response.model).and_then(wire::name).or(out.model);
    }
    Ok(out)
}

fn own_id<'m>(message: &'m LcMessage<'_>) -> Option<&'m str> {
    message.fields().id.map(RawValue::get)
}

/// The sum of two counts, where a count that is missing adds nothing.
fn add(a: Tokens, b: Tokens) -> Tokens {
    let add = |a: Option<u64>, b: Option<u64>| match (a, b) {
        (Some(a), Some(b)) => Some(a.saturating_add(b)),
        (a, b) => a.or(b),
    };
    Tokens {
        input: add(a.input, b.input),
        output: add(a.output, b.output),
        cached: add(a.cached, b.cached),
        total: add(a.total, b.total),
    }
}
