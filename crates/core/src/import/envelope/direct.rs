//! Envelopes straight from their text, without a JSON value in between: several times as quick.
//!
//! Only what is in order is read here. Whatever is not, and everything rare, is left to [`Trace::read`], which says what
//! is wrong and where; so this file needs no messages, and must take nothing of a trace that the other would refuse. Keys
//! that are no part of a trace are passed over without a look at what is in them.

use serde::de::{Deserialize, Deserializer, Error as _, IgnoredAny};
use serde_json::Value;
use serde_json::value::RawValue;

use super::{Parts, wire};
use crate::json::{self, Strict};
use crate::trace::{
    CallError, Conversation, ErrorKind, FaultEffect, FaultKind, FaultMark, Role, StopReason, Tokens, ToolCall,
    ToolResult, Trace, Turn,
};

/// Deepest nesting of what an answer holds: the parser bounds the record as a whole, and here starts anew.
const MAX_DEPTH: usize = json::MAX_DEPTH - 8;

/// An envelope with its name and its group; `None` when it is not in order.
pub(super) fn read(text: &str, parts: &Parts) -> Option<super::Named> {
    let record: Record<'_> = wire::shaped(text).ok()?;
    if record.trace.is_some() {
        return None;
    }
    let tool_calls = match record.tool_calls {
        Some(calls) => Some(calls.into_iter().map(Call::finish).collect::<Option<Vec<_>>>()?),
        None => None,
    };
    let tool_results = match (record.tool_results, &tool_calls) {
        (None, _) => None,
        (Some(answers), Some(calls)) if answers.len() <= calls.len() => {
            let mut results = Vec::with_capacity(answers.len());
            for (answer, call) in answers.into_iter().zip(calls) {
                let finish = |answer: Answer<'_>| answer.finish(parts.answers_of(&call.name));
                results.push(match answer {
                    Some(answer) => Some(finish(answer)?),
                    None => None,
                });
            }
            Some(results)
        }
        (Some(_), _) => return None,
    };
    let mut final_response = record.final_response;
    let mut conversation = Conversation::default();
    if let Some(told) = record.conversation {
        let turns = match told.turns {
            Some(turns) => Some(turns.into_iter().map(|turn| turn.finish(parts)).collect::<Option<Vec<_>>>()?),
            None => None,
        };
        conversation = Conversation {
            model: told.model,
            turns,
            tokens: told.tokens.map_or_else(Tokens::default, Spent::finish),
            stop_reason: told.stop_reason.map(|word| word.0),
            duration_ms: told.duration_ms,
        };
    }
    if let Some(turns) = &conversation.turns {
        if tool_calls.iter().flatten().any(|call: &ToolCall| call.turn.is_some_and(|turn| turn >= turns.len())) {
            return None;
        }
        if final_response.is_none() {
            let last = turns.iter().rev().find(|turn| turn.role == Role::Assistant);
            final_response = last.map(|turn| turn.content.clone().unwrap_or_else(String::new));
        }
    }
    let trace = Trace { tool_calls, tool_results, final_response, conversation };
    Some((record.id.map(|name| name.0), record.group.map(|name| name.0), trace))
}

#[derive(serde::Deserialize)]
struct Record<'a> {
    id: Option<Name>,
    group: Option<Name>,
    trace: Option<IgnoredAny>,
    tool_calls: Option<Vec<Call>>,
    #[serde(borrow)]
    tool_results: Option<Vec<Option<Answer<'a>>>>,
    final_response: Option<String>,
    #[serde(borrow)]
    conversation: Option<Talk<'a>>,
}

/// A text, or a whole number as text.
struct Name(String);

impl<'de> Deserialize<'de> for Name {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        match Value::deserialize(deserializer)? {
            Value::String(text) => Ok(Self(text)),
            Value::Number(number) => Ok(Self(json::number_text(&number))),
            _ => Err(D::Error::custom("another kind")),
        }
    }
}

/// An object in full.
struct Object(Value);

impl<'de> Deserialize<'de> for Object {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        match Strict::deserialize(deserializer)?.0 {
            value @ Value::Object(_) => Ok(Self(value)),
            _ => Err(D::Error::custom("no object")),
        }
    }
}

/// A value that is absent or `null`, or there.
fn known(value: Option<Strict>) -> Option<Value> {
    value.map(|value| value.0)
}

#[derive(serde::Deserialize)]
struct Call {
    name: String,
    server: Option<String>,
    args: Option<Strict>,
    arguments: Option<Strict>,
    caller: Option<Object>,
    id: Option<String>,
    turn: Option<usize>,
}

impl Call {
    fn finish(self) -> Option<ToolCall> {
        if self.args.is_some() && self.arguments.is_some() {
            return None;
        }
        let is_direct = |caller: &Value| caller.get("type").and_then(Value::as_str) == Some("direct");
        Some(ToolCall {
            name: self.name,
            server: self.server,
            args: known(self.args.or(self.arguments)),
            caller: self.caller.map(|caller| caller.0).filter(|caller| !is_direct(caller)),
            id: self.id,
            turn: self.turn,
        })
    }
}

#[derive(serde::Deserialize)]
struct Answer<'a> {
    is_error: Option<bool>,
    #[serde(borrow)]
    content: Option<&'a RawValue>,
    #[serde(borrow)]
    structured_content: Option<&'a RawValue>,
    error: Option<Failure>,
    fault: Option<Mark>,
    duration_ms: Option<u64>,
}

impl Answer<'_> {
    fn finish(self, with_content: bool) -> Option<ToolResult> {
        let (mut content, mut structured_content) = (None, None);
        if with_content {
            if let Some(raw) = self.content {
                let blocks: Vec<Object> = serde_json::from_str(raw.get()).ok()?;
                let blocks: Vec<Value> = blocks.into_iter().map(|block| block.0).collect();
                if blocks.iter().any(|block| json::deeper_than(block, MAX_DEPTH)) {
                    return None;
                }
                content = Some(blocks);
            }
            if let Some(raw) = self.structured_content {
                let value = serde_json::from_str::<Strict>(raw.get()).ok()?.0;
                structured_content = Some(value).filter(|value| !json::deeper_than(value, MAX_DEPTH));
                structured_content.as_ref()?;
            }
        } else if self.content.is_some_and(|raw| !raw.get().starts_with('[')) {
            return None;
        }
        Some(ToolResult {
            is_error: self.is_error,
            content,
            structured_content,
            error: self
                .error
                .map(|error| Box::new(CallError { kind: error.kind.0, code: error.code, message: error.message })),
            fault: self.fault.map(|fault| {
                let Mark { name, kind, effect, ms } = fault;
                Box::new(FaultMark { name, kind: kind.0, effect: effect.0, ms })
            }),
            duration_ms: self.duration_ms,
        })
    }
}

#[derive(serde::Deserialize)]
struct Failure {
    kind: Word<ErrorKind>,
    code: Option<i64>,
    message: String,
}

#[derive(serde::Deserialize)]
struct Mark {
    name: String,
    kind: Word<FaultKind>,
    effect: Word<FaultEffect>,
    ms: u64,
}

#[derive(serde::Deserialize)]
struct Talk<'a> {
    model: Option<String>,
    #[serde(borrow)]
    turns: Option<Vec<Said<'a>>>,
    tokens: Option<Spent>,
    stop_reason: Option<Word<StopReason>>,
    duration_ms: Option<u64>,
}

#[derive(serde::Deserialize)]
struct Said<'a> {
    role: Word<Role>,
    /// `null` says that there is no text; leaving it out would say nothing, so it has to be there.
    #[serde(borrow)]
    content: &'a RawValue,
}

impl Said<'_> {
    fn finish(self, parts: &Parts) -> Option<Turn> {
        let role = self.role.0;
        let text = self.content.get();
        let content = match text.as_bytes().first() {
            Some(b'"') if parts.text_of(role) => Some(serde_json::from_str(text).ok()?),
            Some(b'"' | b'n') => None,
            _ => return None,
        };
        Some(Turn { role, content })
    }
}

#[derive(serde::Deserialize)]
struct Spent {
    input: Option<u64>,
    output: Option<u64>,
    cached: Option<u64>,
    total: Option<u64>,
}

impl Spent {
    fn finish(self) -> Tokens {
        Tokens { input: self.input, output: self.output, cached: self.cached, total: self.total }
    }
}

/// One of a closed set of words.
struct Word<T>(T);

/// A set of words that files use.
trait Words: Sized {
    fn of(word: &str) -> Option<Self>;
}

macro_rules! words {
    ($($name:ident),+) => { $(impl Words for $name {
        fn of(word: &str) -> Option<Self> {
            Self::from_word(word)
        }
    })+ };
}
words!(ErrorKind, FaultEffect, FaultKind, Role, StopReason);

impl<'de, T: Words> Deserialize<'de> for Word<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let word = wire::Text::deserialize(deserializer)?;
        T::of(&word).map(Self).ok_or_else(|| D::Error::custom("another word"))
    }
}
