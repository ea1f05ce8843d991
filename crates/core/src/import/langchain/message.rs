//! One message in any of its three shapes, and messages put together to a trace.

use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;

use super::calls::{self, Chunk, Invalid, Valid};
use super::said::{self, Said};
use crate::import::anthropic::reply::{Model, stopped};
use crate::import::builder::Builder;
use crate::import::content::Place;
use crate::import::listed::{Element, Listed};
use crate::import::stray::{self, Stray};
use crate::import::wire::{self, Text, Whole};
use crate::import::{ImportError, Options, results};
use crate::trace::{LazyValue, Role, StopReason, Tokens, Trace};

/// A message. `data` or `kwargs` hold the fields where they are not flat.
#[derive(Deserialize)]
#[serde(expecting = "a message")]
pub(super) struct Message<'a> {
    #[serde(borrow, rename = "type")]
    kind: Option<Text<'a>>,
    /// A text, or the path of a class where the message is a constructor.
    #[serde(borrow)]
    id: Option<&'a RawValue>,
    #[serde(borrow)]
    data: Option<Box<Message<'a>>>,
    #[serde(borrow)]
    kwargs: Option<Box<Message<'a>>>,
    #[serde(borrow)]
    role: Option<Text<'a>>,
    #[serde(borrow)]
    pub(super) content: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(super) tool_calls: Option<Listed<Valid<'a>>>,
    #[serde(borrow)]
    pub(super) invalid_tool_calls: Option<Listed<Invalid<'a>>>,
    #[serde(borrow)]
    pub(super) tool_call_chunks: Option<Listed<Chunk<'a>>>,
    #[serde(borrow)]
    pub(super) additional_kwargs: Option<&'a RawValue>,
    #[serde(borrow)]
    tool_call_id: Option<Text<'a>>,
    #[serde(borrow)]
    status: Option<Text<'a>>,
    #[serde(borrow)]
    artifact: Option<&'a RawValue>,
    usage_metadata: Option<Usage>,
    #[serde(borrow)]
    response_metadata: Option<Response<'a>>,
    // Keys of other programs.
    #[serde(default, rename = "toolCalls")]
    camel_calls: Stray,
    #[serde(default, rename = "toolInvocations")]
    invocations: Stray,
    #[serde(default)]
    function_call: Stray,
}

/// Tokens; those of the cache are among those of the input.
#[derive(Deserialize)]
#[serde(expecting = "the usage of a reply")]
struct Usage {
    input_tokens: Option<Whole>,
    output_tokens: Option<Whole>,
    total_tokens: Option<Whole>,
    input_token_details: Option<Details>,
}

#[derive(Deserialize)]
#[serde(expecting = "details of the input")]
struct Details {
    cache_read: Option<Whole>,
}

/// What the provider said beside the message, in its own words.
#[derive(Deserialize)]
#[serde(expecting = "what the provider said")]
struct Response<'a> {
    #[serde(borrow)]
    finish_reason: Option<&'a RawValue>,
    #[serde(borrow)]
    stop_reason: Option<&'a RawValue>,
    #[serde(borrow)]
    model_name: Option<&'a RawValue>,
    #[serde(borrow)]
    model: Option<&'a RawValue>,
    #[serde(borrow)]
    token_usage: Option<&'a RawValue>,
}

/// Tokens as `OpenAI` counts them, which is all that old logs have.
#[derive(Deserialize)]
struct OldUsage {
    #[serde(rename = "prompt_tokens")]
    prompt: Option<Whole>,
    #[serde(rename = "completion_tokens")]
    completion: Option<Whole>,
    #[serde(rename = "total_tokens")]
    total: Option<Whole>,
}

/// Whose message it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Speaker {
    Human,
    Ai,
    /// A part of a message of the model.
    AiChunk,
    System,
    Tool,
    /// The answer to a call of the time before calls had ids.
    Function,
    /// Told by `role`.
    Chat,
    /// Takes a message out of a state, which undoes nothing that happened.
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

impl Element for Message<'_> {
    fn is_void(&self) -> bool {
        let kind = self.kind.as_deref();
        kind.is_none_or(|kind| kind != "constructor" && kind != "not_implemented" && Speaker::of(kind).is_none())
    }
}

impl<'a> Message<'a> {
    /// The fields, wherever they are.
    fn fields(&self) -> &Message<'a> {
        self.data.as_deref().or(self.kwargs.as_deref()).unwrap_or(self)
    }

    fn speaker(&self, place: Place<'_>) -> Result<Speaker, ImportError> {
        let kind = match self.kind.as_deref() {
            Some("constructor") => self.id.and_then(super::class),
            Some("not_implemented") => {
                return Err(ImportError::new(format!("{place} was not serialised: only its `repr` was kept"))
                    .hint("such a message may hold calls, and a trace without them could be judged wrongly"));
            }
            kind => kind.map(str::to_owned),
        };
        if let Some(speaker) = kind.as_deref().and_then(Speaker::of) {
            return Ok(speaker);
        }
        let found = kind.map_or_else(|| "no such key".to_owned(), |kind| format!("{kind:?}"));
        let hint = match self.role {
            Some(_) => "messages with a role are `openai-chat` or `anthropic`",
            None => "messages of this format have a type such as `human`, `ai` or `tool`",
        };
        Err(ImportError::new(format!("{place}.type is no type of a message, found {found}")).hint(hint))
    }

    /// Whether a person speaks.
    pub(super) fn is_of_the_user(&self) -> bool {
        self.speaker(Place::Key("")).is_ok_and(|speaker| speaker == Speaker::Human)
    }

    fn tokens(&self) -> Option<Tokens> {
        if let Some(usage) = &self.usage_metadata {
            let cached = usage.input_token_details.as_ref().and_then(|details| details.cache_read);
            let [input, output, cached, total] = [usage.input_tokens, usage.output_tokens, cached, usage.total_tokens]
                .map(|count| count.map(|count| count.0));
            return Some(Tokens { input, output, cached, total });
        }
        let raw = self.response_metadata.as_ref()?.token_usage?;
        let old: OldUsage = wire::typed(raw.get()).ok()?;
        let [input, output, total] = [old.prompt, old.completion, old.total].map(|count| count.map(|count| count.0));
        input.and(output).map(|_| Tokens { input, output, cached: None, total })
    }
}

/// Messages as far as they are read.
pub(super) struct Reader<'o> {
    builder: Builder<'o>,
    model: Model,
    stop: Option<StopReason>,
}

impl<'o> Reader<'o> {
    pub(super) fn new(options: &'o Options) -> Self {
        Self { builder: Builder::new(options), model: Model::default(), stop: None }
    }

    /// The builder of the trace.
    pub(super) fn builder(&self) -> &Builder<'o> {
        &self.builder
    }

    pub(super) fn finish(self) -> Trace {
        self.builder.finish(self.model.name(), self.stop, None)
    }

    pub(super) fn messages(&mut self, name: &str, messages: &[Message<'_>]) -> Result<(), ImportError> {
        let mut at = 0;
        while let Some(message) = messages.get(at) {
            let place = Place::Element(name, at);
            let speaker = message.speaker(place)?;
            // Chunks of one message follow each other under its id.
            let mut end = at + 1;
            if speaker == Speaker::AiChunk {
                let id = own_id(message);
                let goes_on = |next: &Message<'_>| {
                    next.speaker(place).is_ok_and(|speaker| speaker == Speaker::AiChunk) && own_id(next) == id
                };
                while id.is_some() && messages.get(end).is_some_and(goes_on) {
                    end += 1;
                }
            }
            let group: Vec<&Message<'_>> = messages[at..end].iter().map(Message::fields).collect();
            self.message(speaker, &group, place)?;
            at = end;
        }
        Ok(())
    }

    fn message(&mut self, speaker: Speaker, group: &[&Message<'_>], place: Place<'_>) -> Result<(), ImportError> {
        let Some(message) = group.first() else { return Ok(()) };
        for message in group {
            let strays = [
                ("toolCalls", message.camel_calls),
                ("toolInvocations", message.invocations),
                ("function_call", message.function_call),
            ];
            stray::refuse(&place, &strays)?;
        }
        match speaker {
            Speaker::Human => self.human(message, place),
            Speaker::Ai | Speaker::AiChunk => self.ai(group, place),
            Speaker::System | Speaker::Remove => Ok(()),
            Speaker::Tool => self.answer(message, message.tool_call_id.as_deref().filter(|id| !id.is_empty()), place),
            Speaker::Function => self.answer(message, None, place),
            Speaker::Chat => match message.role.as_deref() {
                Some("user" | "human") => self.human(message, place),
                Some("assistant" | "ai") => self.ai(group, place),
                Some("system" | "developer") => Ok(()),
                role => {
                    let found = role.map_or_else(|| "no such key".to_owned(), |role| format!("{role:?}"));
                    Err(ImportError::new(format!(
                        "{place}.role must be \"user\", \"assistant\" or \"system\", found {found}"
                    ))
                    .hint("a message of an unknown speaker may hold calls or answers"))
                }
            },
        }
    }

    fn human(&mut self, message: &Message<'_>, place: Place<'_>) -> Result<(), ImportError> {
        let said = Said::of(message.content, place)?;
        said.holds_no_call(place)?;
        self.builder.turn(Role::User, said.text());
        Ok(())
    }

    fn ai(&mut self, group: &[&Message<'_>], place: Place<'_>) -> Result<(), ImportError> {
        let mut parts = Vec::new();
        for message in group {
            parts.push(Said::of(message.content, place)?);
        }
        let turn = self.builder.turn(Role::Assistant, said::text(&parts));
        calls::add(&mut self.builder, turn, group, &parts, place)?;
        let mut spent = group.iter().filter_map(|message| message.tokens());
        // The counts of chunks add up to those of their message.
        let first = spent.next();
        self.builder.spend(first.map(|first| spent.fold(first, sum)));
        self.stop = None;
        for told in group.iter().filter_map(|message| message.response_metadata.as_ref()) {
            let word = told.finish_reason.or(told.stop_reason).and_then(wire::name);
            self.stop = word.and_then(|word| ended(&word)).or(self.stop);
            self.model.told_as(told.model_name.or(told.model).and_then(wire::name).as_deref());
        }
        Ok(())
    }

    fn answer(&mut self, message: &Message<'_>, id: Option<&str>, place: Place<'_>) -> Result<(), ImportError> {
        let is_error = match message.status.as_deref() {
            Some("error") => Some(true),
            Some("success") => Some(false),
            _ => None,
        };
        let value = message
            .content
            .map(wire::value)
            .transpose()
            .map_err(|error| ImportError { message: format!("{place}.content: {}", error.message), ..error })?;
        let mut result = match value {
            Some(Value::Array(blocks))
                if blocks.iter().all(|block| block.get("type").is_some_and(Value::is_string)) =>
            {
                results::of_blocks(blocks, is_error)
            }
            value => results::of_value(value.unwrap_or(Value::Null), is_error),
        };
        let kept = message.artifact.and_then(|raw| wire::value(raw).ok());
        result.structured_content = result
            .structured_content
            .or_else(|| kept?.get("structured_content").filter(|value| !value.is_null()).cloned().map(LazyValue::from));
        self.builder.answer(id, result, &place.to_string())?;
        Ok(())
    }
}

fn own_id<'m>(message: &'m Message<'_>) -> Option<&'m str> {
    message.fields().id.map(RawValue::get)
}

fn sum(a: Tokens, b: Tokens) -> Tokens {
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

/// What the words of several providers for the end of a reply mean for the run.
fn ended(word: &str) -> Option<StopReason> {
    match word {
        "stop" | "STOP" => Some(StopReason::Completed),
        "length" | "MAX_TOKENS" => Some(StopReason::MaxTokens),
        "content_filter" | "SAFETY" => Some(StopReason::Refused),
        _ => stopped(word),
    }
}
