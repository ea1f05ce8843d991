//! The log of `mcptest mock`: the messages of MCP that a server got and sent, one per line.
//!
//! It shows which tools a client called and what it got, but no messages of the model. A session begins with
//! `initialize`, and is a trace.

use std::borrow::Cow;
use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;

use super::shape::Shape;
use super::wire::{self, Text, Whole};
use super::{ImportError, Imported, Options, Unit, results};
use crate::trace::{CallError, ErrorKind, ToolCall, ToolResult, Trace};

pub(super) fn sniff(shape: &Shape<'_>) -> Option<(Unit, Cow<'static, str>)> {
    let is_line = shape.has(&["seq"])
        && matches!(shape.text("direction").as_deref(), Some("in" | "out"))
        && ["message", "raw", "note"].iter().any(|key| shape.get(key).is_some());
    is_line.then_some((Unit::Piece, Cow::Borrowed("it has `seq`, `direction` and a message")))
}

#[derive(Deserialize)]
#[serde(expecting = "a line of a log")]
struct Line<'a> {
    seq: Whole,
    #[serde(borrow)]
    direction: Text<'a>,
    message: Option<&'a RawValue>,
}

#[derive(Deserialize)]
#[serde(expecting = "a message of MCP")]
struct Rpc<'a> {
    #[serde(borrow)]
    id: Option<&'a RawValue>,
    method: Option<Text<'a>>,
    params: Option<&'a RawValue>,
    result: Option<&'a RawValue>,
    error: Option<RpcError<'a>>,
}

#[derive(Deserialize)]
struct RpcError<'a> {
    code: Option<i64>,
    #[serde(borrow)]
    message: Option<Text<'a>>,
}

#[derive(Deserialize)]
#[serde(expecting = "the parameters of a call")]
struct Params<'a> {
    #[serde(borrow)]
    name: Text<'a>,
    arguments: Option<&'a RawValue>,
}

/// The calls between two `initialize`.
#[derive(Default)]
struct Session {
    server: Option<String>,
    calls: Vec<ToolCall>,
    results: Vec<Option<ToolResult>>,
    /// Calls without an answer, by their id.
    open: BTreeMap<String, usize>,
    has_messages: bool,
}

pub(super) fn join(_: &str, pieces: &[&str], _: &Options) -> Result<Vec<Imported<'static>>, ImportError> {
    let mut sessions = vec![Session::default()];
    let mut numbers = Numbers::default();
    for piece in pieces {
        let line: Line<'_> = wire::piece(piece)?;
        numbers.add(line.seq.0)?;
        // Bytes that are not JSON are neither a call nor an answer.
        let Some(message) = line.message else { continue };
        let messages: Vec<&RawValue> =
            if message.get().starts_with('[') { wire::part(message)? } else { vec![message] };
        for message in messages {
            let read = wire::part::<Rpc<'_>>(message).and_then(|rpc| add(&mut sessions, &line, &rpc));
            read.map_err(|error| error.at(format_args!("message {}", line.seq.0)))?;
        }
    }
    let sessions: Vec<Session> = sessions.into_iter().filter(|session| session.has_messages).collect();
    let is_one = sessions.len() == 1;
    Ok(sessions
        .into_iter()
        .enumerate()
        .map(|(at, session)| session.finish(if is_one { None } else { Some(at) }))
        .collect())
}

/// The numbers of lines. A server counts its own from 1, and several servers may write to one log, one after the other or at
/// the same time.
#[derive(Default)]
struct Numbers {
    /// By the number that comes next, the servers that wait to write it.
    next: BTreeMap<u64, usize>,
}

impl Numbers {
    fn add(&mut self, seq: u64) -> Result<(), ImportError> {
        if seq != 1 {
            match self.next.get_mut(&seq) {
                Some(servers) if *servers > 1 => *servers -= 1,
                Some(_) => drop(self.next.remove(&seq)),
                None => {
                    let missing = seq.saturating_sub(1);
                    return Err(ImportError::new(format!("message {seq}: there is no message {missing} before it"))
                        .hint("calls could be missing; a log must be complete, from message 1 of each server on"));
                }
            }
        }
        *self.next.entry(seq.saturating_add(1)).or_default() += 1;
        Ok(())
    }
}

fn add(sessions: &mut Vec<Session>, line: &Line<'_>, rpc: &Rpc<'_>) -> Result<(), ImportError> {
    let is_sent = match &*line.direction {
        "in" => false,
        "out" => true,
        other => return Err(ImportError::must_be("direction", "in or out", Some(other))),
    };
    if rpc.method.as_deref() == Some("initialize") && !is_sent {
        sessions.push(Session::default());
    }
    let Some(session) = sessions.last_mut() else { return Ok(()) };
    session.has_messages = true;
    let id = rpc.id.map(|id| id.get().to_owned()).unwrap_or_default();
    match (rpc.method.as_deref(), is_sent) {
        (Some("tools/call"), false) => {
            let params: Params<'_> = match rpc.params {
                Some(params) => wire::part(params).map_err(|error| error.at("params"))?,
                None => return Err(ImportError::new("a call has no `params`")),
            };
            let args = wire::optional(params.arguments, wire::arguments, "params.arguments")?;
            session.open.insert(id.clone(), session.calls.len());
            session.calls.push(ToolCall {
                name: params.name.to_string(),
                args: Some(args.unwrap_or_else(|| Value::Object(serde_json::Map::new()))),
                id: (!id.is_empty()).then(|| id.trim_matches('"').to_owned()),
                ..ToolCall::default()
            });
            session.results.push(None);
        }
        (None, true) => {
            let server =
                rpc.result.and_then(|raw| Shape::part(raw.get())).and_then(|result| result.child("serverInfo"));
            session.server = server.and_then(|info| info.text("name")).map(Cow::into_owned).or(session.server.take());
            // Of two answers the client reads the first.
            if let Some(at) = session.open.remove(&id) {
                session.results[at] = rpc.answer()?;
            }
        }
        _ => {}
    }
    Ok(())
}

impl Rpc<'_> {
    fn answer(&self) -> Result<Option<ToolResult>, ImportError> {
        if let Some(error) = &self.error {
            let message = error.message.as_deref().map_or_else(String::new, str::to_owned);
            let error = CallError { kind: ErrorKind::Jsonrpc, code: error.code, message };
            let error = Some(Box::new(error));
            return Ok(Some(ToolResult { is_error: Some(true), error, ..ToolResult::default() }));
        }
        let value = wire::optional(self.result, wire::value, "result")?;
        Ok(value.map(|value| results::of_value(value, None)))
    }
}

impl Session {
    fn finish(mut self, number: Option<usize>) -> Imported<'static> {
        for call in &mut self.calls {
            call.server.clone_from(&self.server);
        }
        let id = number.map(|number| number.to_string());
        let fields = serde_json::json!({ "session": number, "server": self.server }).to_string();
        let trace = Trace { tool_calls: Some(self.calls), tool_results: Some(self.results), ..Trace::default() };
        Imported { id, group: None, seal: None, fields: fields.into(), trace }
    }
}
