//! The one reader of envelopes: a trace is accepted completely, or rejected with what was found and where.
//!
//! The types of a trace define its structure; the rules that types cannot express are here. Unknown keys are skipped, so
//! that a newer writer's files stay readable; since an absent key is unknown evidence, a misspelled one makes a gate
//! unassessable and never makes it pass.

use std::collections::BTreeMap;

use serde::de::{Error as _, IgnoredAny};
use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;
use serde_json::{Map, Value};

use super::{AnswerSource, Conversation, LazyText, LazyValue, Program, Role, ToolCall, ToolResult, Trace, Witness};
use crate::json::{self, JsonError};

impl Trace {
    /// Reads an envelope, or a cassette that nests one under `trace`.
    ///
    /// ```
    /// use mcptest_core::Trace;
    /// use serde_json::json;
    ///
    /// let error = Trace::from_envelope(&json!({ "tool_calls": "none" })).unwrap_err();
    /// assert_eq!(error.to_string(), "tool_calls: expected a list, found a string (\"none\")");
    /// ```
    pub fn from_envelope(value: &Value) -> Result<Self, JsonError> {
        if json::deeper_than(value, json::MAX_DEPTH) {
            return Err(refused(format!("the trace is nested more than {} levels deep", json::MAX_DEPTH)));
        }
        match value.get("trace").filter(|nested| !nested.is_null()) {
            Some(nested) => {
                json::read_value::<Envelope>(nested).and_then(Envelope::trace).map_err(|error| nested_error(&error))
            }
            None => json::read_value::<Envelope>(value)?.trace(),
        }
    }

    /// Reads the text of an envelope, or of a cassette that nests one under `trace`. Text that can be read in two ways, with
    /// a key that is there twice, is an error.
    pub fn from_json(text: &str) -> Result<Self, JsonError> {
        json::read::<Envelope>(text)?.trace()
    }
}

fn nested_error(error: &JsonError) -> JsonError {
    refused(format!("trace: {}", error.message))
}

fn refused(message: String) -> JsonError {
    JsonError::nowhere(message)
}

/// An envelope as written, with the other keys that a record may have.
#[derive(Debug, Default, Deserialize)]
pub(crate) struct Envelope {
    #[serde(default, deserialize_with = "name")]
    pub(crate) id: Option<String>,
    #[serde(default, deserialize_with = "name")]
    pub(crate) group: Option<String>,
    /// It comes from a cassette that was edited after it was recorded.
    #[serde(default)]
    pub(crate) edited: bool,
    /// By server, the tools that its catalog marks with `readOnlyHint`.
    #[serde(default)]
    pub(crate) read_only_tools: BTreeMap<String, Vec<String>>,
    pub(crate) tool_calls: Option<Vec<ToolCall>>,
    pub(crate) tool_results: Option<Vec<Option<ToolResult>>>,
    final_response: Option<LazyText>,
    pub(crate) conversation: Option<Conversation>,
    answer_source: Option<AnswerSource>,
    program: Option<Box<Program>>,
    /// The envelope itself, in a cassette.
    pub(crate) trace: Option<Box<RawValue>>,
    /// Keys under which other formats keep a conversation.
    pub(crate) messages: Option<IgnoredAny>,
    pub(crate) traj: Option<IgnoredAny>,
    pub(crate) values: Option<IgnoredAny>,
    pub(crate) simulations: Option<IgnoredAny>,
    /// The names of the calls, which are written for the reader of a file. They may be `null`, which is not what is written.
    #[serde(default, deserialize_with = "raw")]
    pub(crate) tool_names: Option<Box<RawValue>>,
    // Keys under which other programs keep calls.
    #[serde(rename = "toolCalls")]
    pub(crate) camel_calls: Option<Box<RawValue>>,
    #[serde(rename = "toolInvocations")]
    pub(crate) invocations: Option<Box<RawValue>>,
    pub(crate) function_call: Option<Box<RawValue>>,
    #[serde(rename = "functionCall")]
    pub(crate) camel_call: Option<Box<RawValue>>,
    pub(crate) function_calls: Option<Box<RawValue>>,
    pub(crate) tool_uses: Option<Box<RawValue>>,
    pub(crate) intermediate_steps: Option<Box<RawValue>>,
}

/// Any value that is there.
fn raw<'de, D: Deserializer<'de>>(from: D) -> Result<Option<Box<RawValue>>, D::Error> {
    Box::deserialize(from).map(Some)
}

impl Envelope {
    /// The trace, if its parts agree with each other.
    pub(crate) fn trace(self) -> Result<Trace, JsonError> {
        let Self { tool_calls, tool_results, mut final_response, conversation, trace, answer_source, program, .. } =
            self;
        if let Some(nested) = trace {
            let nested = json::read::<Self>(nested.get()).map_err(|error| nested_error(&error))?;
            return Self { trace: None, ..nested }.trace().map_err(|error| nested_error(&error));
        }
        let conversation = conversation.unwrap_or_else(Conversation::default);
        if let Some(results) = &tool_results {
            let found = results.len();
            match &tool_calls {
                None => {
                    return Err(refused(format!(
                        "tool_results: expected no such key without tool_calls, found a list of {found}"
                    )));
                }
                Some(calls) if calls.len() < found => {
                    let calls = calls.len();
                    return Err(refused(format!(
                        "tool_results: expected at most as many as tool_calls ({calls}), found {found}"
                    )));
                }
                Some(_) => {}
            }
        }
        let is_later = |(at, call): &(usize, &ToolCall)| call.retry_of.is_some_and(|of| of >= *at);
        if let Some((at, _)) = tool_calls.iter().flatten().enumerate().find(is_later) {
            return Err(refused(format!("tool_calls[{at}].retry_of: expected the index of an earlier call")));
        }
        if let Some(turns) = &conversation.turns {
            let length = turns.len();
            let beyond = |call: &ToolCall| call.turn.filter(|turn| *turn >= length);
            if let Some((at, turn)) =
                tool_calls.iter().flatten().enumerate().find_map(|(at, call)| Some((at, beyond(call)?)))
            {
                let message = format!(
                    "tool_calls[{at}].turn: expected an index into conversation.turns (length {length}), found {turn}"
                );
                return Err(refused(message));
            }
            if final_response.is_none() {
                // The last assistant message is recorded: its text is known, also when it has none.
                let last = turns.iter().rev().find(|turn| turn.role == Role::Assistant);
                final_response = last.map(|turn| turn.content.clone().unwrap_or_default());
            }
        }
        Ok(Trace { answer_source, conversation, final_response, program, tool_calls, tool_results, ..Trace::default() })
    }
}

/// A call, as written.
#[derive(Debug, Deserialize)]
pub(super) struct Call {
    name: String,
    server: Option<String>,
    args: Option<Value>,
    /// Another name for `args`.
    arguments: Option<Value>,
    asked_args: Option<Value>,
    caller: Option<Map<String, Value>>,
    id: Option<String>,
    #[serde(default, deserialize_with = "whole")]
    retry_of: Option<u64>,
    #[serde(default, deserialize_with = "whole")]
    turn: Option<u64>,
    witness: Option<Witness>,
}

impl TryFrom<Call> for ToolCall {
    type Error = &'static str;

    fn try_from(call: Call) -> Result<Self, Self::Error> {
        let Call { name, server, args, arguments, asked_args, caller, id, retry_of, turn, witness } = call;
        if args.is_some() && arguments.is_some() {
            return Err("it has `args` and `arguments`, and only one of them may be there");
        }
        let is_direct = |caller: &Map<String, Value>| caller.get("type").and_then(Value::as_str) == Some("direct");
        let index = |index: Option<u64>, wrong| index.map(usize::try_from).transpose().map_err(|_| wrong);
        Ok(Self {
            name,
            server,
            args: args.or(arguments),
            asked_args,
            caller: caller.filter(|caller| !is_direct(caller)).map(Value::Object),
            id,
            retry_of: index(retry_of, "its `retry_of` is too large for an index")?,
            turn: index(turn, "its `turn` is too large for an index")?,
            witness,
        })
    }
}

/// Content blocks, which are objects.
pub(super) fn blocks<'de, D: Deserializer<'de>>(from: D) -> Result<Option<Vec<LazyValue>>, D::Error> {
    struct Block(LazyValue);
    impl<'de> Deserialize<'de> for Block {
        fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
            let block = LazyValue::deserialize(from)?;
            if block.is_object() {
                return Ok(Self(block));
            }
            Err(D::Error::custom(format!("expected an object, found {}", json::describe(&block))))
        }
    }
    let blocks = Option::<Vec<Block>>::deserialize(from)?;
    Ok(blocks.map(|blocks| blocks.into_iter().map(|Block(block)| block).collect()))
}

/// A whole number of at least 0; `3.0` is one.
pub(super) fn whole<'de, D: Deserializer<'de>>(from: D) -> Result<Option<u64>, D::Error> {
    let found = Value::deserialize(from)?;
    if found.is_null() {
        return Ok(None);
    }
    let exact = found.as_u64().or_else(|| json::number_text(found.as_number()?).parse().ok());
    let wrong = || D::Error::custom(format!("expected a whole number of at least 0, found {}", json::describe(&found)));
    exact.map(Some).ok_or_else(wrong)
}

pub(super) fn required_whole<'de, D: Deserializer<'de>>(from: D) -> Result<u64, D::Error> {
    whole(from)?.ok_or_else(|| D::Error::custom("expected a whole number of at least 0, found null"))
}

/// The name a record gives itself or its group: a text or a number.
fn name<'de, D: Deserializer<'de>>(from: D) -> Result<Option<String>, D::Error> {
    match Value::deserialize(from)? {
        Value::Null => Ok(None),
        Value::String(text) => Ok(Some(text)),
        Value::Number(number) => Ok(Some(json::number_text(&number))),
        other => Err(D::Error::custom(format!("expected a string or a number, found {}", json::describe(&other)))),
    }
}

/// `null` reads like an absent key.
pub(super) fn nothing_for_null<'de, D: Deserializer<'de>, T: Deserialize<'de> + Default>(
    from: D,
) -> Result<T, D::Error> {
    Option::<T>::deserialize(from).map(|found| found.unwrap_or_else(T::default))
}
