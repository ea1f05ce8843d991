//! Envelopes straight from their text, without a JSON value in between: several times as quick.
//!
//! Only what is in order is read here. Whatever is not, and everything rare, is left to [`Trace::read`], which says what
//! is wrong and where; so this file needs no messages, and must take nothing of a trace that the other would refuse. Keys
//! that are no part of a trace are passed over without a look at what is in them.

use std::borrow::Cow;

use serde_json::Value;

use super::Parts;
use super::cursor::Cursor;
use crate::json;
use crate::trace::{
    CallError, Conversation, ErrorKind, FaultEffect, FaultKind, FaultMark, Role, StopReason, Tokens, ToolCall,
    ToolResult, Trace, Turn,
};

/// An envelope with its name and its group; `None` when it is not in order.
pub(super) fn read(text: &str, parts: &Parts) -> Option<super::Named> {
    let (mut id, mut group, mut tool_calls, mut answers) = (None, None, None, None);
    let (mut final_response, mut conversation) = (None, None);
    let mut record = Cursor::new(text);
    record.object(
        [
            "id",
            "group",
            "tool_calls",
            "tool_results",
            "final_response",
            "conversation",
            "trace",
            "messages",
            "traj",
            "values",
            "simulations",
        ],
        |value, key| {
            match key {
                "id" => id = value.known(name)?,
                "group" => group = value.known(name)?,
                "tool_calls" => tool_calls = value.known(|list| list.list(|value| call(value, parts)))?,
                "tool_results" => answers = value.known(|list| list.list(|value| value.known(answer)))?,
                "final_response" => final_response = value.known(Cursor::owned)?,
                "conversation" => conversation = value.known(|value| talk(value, parts))?,
                // A cassette, where the trace is inside, or a conversation that is told in another way too.
                _ => value.known(|_| None::<()>).map(|_| ())?,
            }
            Some(())
        },
    )?;
    record.end()?;
    let tool_results = match (answers, &tool_calls) {
        (None, _) => None,
        (Some(answers), Some(calls)) if answers.len() <= calls.len() => {
            let is_read = parts.answers(calls);
            let with = |(at, answer): (usize, Option<Answer<'_>>)| match answer {
                Some(answer) => answer.finish(is_read(at)).map(Some),
                None => Some(None),
            };
            Some(answers.into_iter().enumerate().map(with).collect::<Option<Vec<_>>>()?)
        }
        (Some(_), _) => return None,
    };
    let conversation = conversation.unwrap_or_default();
    if let Some(turns) = &conversation.turns {
        if tool_calls.iter().flatten().any(|call: &ToolCall| call.turn.is_some_and(|turn| turn >= turns.len())) {
            return None;
        }
        if final_response.is_none() {
            let last = turns.iter().rev().find(|turn| turn.role == Role::Assistant);
            final_response = last.map(|turn| turn.content.clone().unwrap_or_else(String::new));
        }
    }
    Some((id, group, Trace { tool_calls, tool_results, final_response, conversation }))
}

/// A text, or a number as text.
fn name(value: &mut Cursor<'_>) -> Option<String> {
    match value.value()? {
        Value::String(text) => Some(text),
        Value::Number(number) => Some(json::number_text(&number)),
        _ => None,
    }
}

fn call(value: &mut Cursor<'_>, parts: &Parts) -> Option<ToolCall> {
    let mut out = ToolCall::default();
    let (mut name, mut arguments) = (None, None);
    value.object(["name", "server", "args", "arguments", "caller", "id", "turn"], |value, key| {
        match key {
            "name" => name = Some(value.owned()?),
            "server" => out.server = value.known(Cursor::owned)?,
            "args" => out.args = value.known(Cursor::value)?,
            "arguments" => arguments = value.known(Cursor::value)?,
            "caller" => out.caller = value.known(|value| value.value().filter(Value::is_object))?,
            "id" => out.id = value.known(Cursor::text)?.filter(|_| *parts == Parts::All).map(Cow::into_owned),
            _ => out.turn = value.known(Cursor::whole)?,
        }
        Some(())
    })?;
    if out.args.is_some() && arguments.is_some() {
        return None;
    }
    out.name = name?;
    out.args = out.args.or(arguments);
    out.caller = out.caller.filter(|caller| caller.get("type").and_then(Value::as_str) != Some("direct"));
    Some(out)
}

/// An answer whose content was not looked at yet: it may stand before the calls, which say whether it will be.
struct Answer<'a> {
    rest: ToolResult,
    content: Option<&'a str>,
    structured_content: Option<&'a str>,
}

fn answer<'a>(value: &mut Cursor<'a>) -> Option<Answer<'a>> {
    let mut out = Answer { rest: ToolResult::default(), content: None, structured_content: None };
    let rest = &mut out.rest;
    value.object(["is_error", "content", "structured_content", "error", "fault", "duration_ms"], |value, key| {
        match key {
            "is_error" => rest.is_error = value.known(Cursor::bool)?,
            "content" => out.content = value.known(Cursor::raw)?,
            "structured_content" => out.structured_content = value.known(Cursor::raw)?,
            "error" => rest.error = value.known(failure)?.map(Box::new),
            "fault" => rest.fault = value.known(mark)?.map(Box::new),
            _ => rest.duration_ms = value.known(Cursor::whole)?,
        }
        Some(())
    })?;
    Some(out)
}

impl Answer<'_> {
    fn finish(self, with_content: bool) -> Option<ToolResult> {
        let mut out = self.rest;
        if with_content {
            if let Some(raw) = self.content {
                let block = |value: &mut Cursor<'_>| value.value().filter(Value::is_object);
                out.content = Some(Cursor::new(raw).list(block)?);
            }
            if let Some(raw) = self.structured_content {
                out.structured_content = Some(Cursor::new(raw).value()?);
            }
        } else if self.content.is_some_and(|raw| !raw.starts_with('[')) {
            return None;
        }
        Some(out)
    }
}

fn failure(value: &mut Cursor<'_>) -> Option<CallError> {
    let (mut kind, mut code, mut message) = (None, None, None);
    value.object(["kind", "code", "message"], |value, key| {
        match key {
            "kind" => kind = Some(ErrorKind::from_word(&value.text()?)?),
            "code" => code = value.known(Cursor::whole)?,
            _ => message = Some(value.owned()?),
        }
        Some(())
    })?;
    Some(CallError { kind: kind?, code, message: message? })
}

fn mark(value: &mut Cursor<'_>) -> Option<FaultMark> {
    let (mut name, mut kind, mut effect, mut ms) = (None, None, None, None);
    value.object(["name", "kind", "effect", "ms"], |value, key| {
        match key {
            "name" => name = Some(value.owned()?),
            "kind" => kind = Some(FaultKind::from_word(&value.text()?)?),
            "effect" => effect = Some(FaultEffect::from_word(&value.text()?)?),
            _ => ms = Some(value.whole()?),
        }
        Some(())
    })?;
    Some(FaultMark { name: name?, kind: kind?, effect: effect?, ms: ms? })
}

fn talk(value: &mut Cursor<'_>, parts: &Parts) -> Option<Conversation> {
    let mut out = Conversation::default();
    value.object(["model", "turns", "tokens", "stop_reason", "duration_ms"], |value, key| {
        match key {
            "model" => out.model = value.known(Cursor::owned)?,
            "turns" => out.turns = value.known(|list| list.list(|value| turn(value, parts)))?,
            "tokens" => out.tokens = value.known(tokens)?.unwrap_or_default(),
            "stop_reason" => out.stop_reason = value.known(|word| StopReason::from_word(&word.text()?))?,
            _ => out.duration_ms = value.known(Cursor::whole)?,
        }
        Some(())
    })?;
    Some(out)
}

fn turn(value: &mut Cursor<'_>, parts: &Parts) -> Option<Turn> {
    let (mut role, mut content) = (None, None);
    value.object(["role", "content"], |value, key| {
        match key {
            "role" => role = Some(Role::from_word(&value.text()?)?),
            // `null` says that there is no text; leaving it out would say nothing, so it has to be there.
            _ => content = Some(value.raw()?),
        }
        Some(())
    })?;
    let (role, content) = (role?, content?);
    let content = match content.as_bytes() {
        [b'"', ..] if parts.text_of(role) => Some(Cursor::new(content).owned()?),
        [b'"' | b'n', ..] => None,
        _ => return None,
    };
    Some(Turn { role, content })
}

fn tokens(value: &mut Cursor<'_>) -> Option<Tokens> {
    let mut out = Tokens::default();
    value.object(["input", "output", "cached", "total"], |value, key| {
        let count = value.known(Cursor::whole)?;
        match key {
            "input" => out.input = count,
            "output" => out.output = count,
            "cached" => out.cached = count,
            _ => out.total = count,
        }
        Some(())
    })?;
    Some(out)
}
