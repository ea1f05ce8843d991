//! The session files of Codex.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};

use super::Took;
use super::events::failed;
use crate::import::builder::Builder;
use crate::import::message::{Answer, Call, Message, Part, Place, Server, Spent, Usage, UsageKeys};
use crate::import::shape::Shape;
use crate::import::wire::{self, Text, Whole};
use crate::import::{ImportError, Imported, Options, openai_responses, results};
use crate::trace::{Role, StopReason, ToolResult};

const USAGE: UsageKeys = UsageKeys {
    input: "input_tokens",
    output: "output_tokens",
    total: Some("total_tokens"),
    cached: &["cached_input_tokens"],
    written: None,
};

/// Items that say nothing about what was done.
const BOOKKEEPING: [&str; 6] = [
    "ghost_snapshot",
    "compaction",
    "compaction_summary",
    "compaction_trigger",
    "context_compaction",
    "additional_tools",
];

#[derive(Deserialize)]
#[serde(expecting = "a line of a rollout")]
struct Line<'a> {
    #[serde(borrow, rename = "type")]
    kind: Option<Text<'a>>,
    payload: Option<&'a RawValue>,
}

/// What an `event_msg` says, as far as it is needed.
#[derive(Deserialize)]
#[serde(expecting = "an event")]
struct Event<'a> {
    #[serde(borrow, rename = "type")]
    kind: Option<Text<'a>>,
    item: Option<&'a RawValue>,
    info: Option<&'a RawValue>,
    call_id: Option<Text<'a>>,
    invocation: Option<Invocation<'a>>,
    result: Option<&'a RawValue>,
    duration: Option<Took>,
    duration_ms: Option<Whole>,
}

#[derive(Deserialize)]
struct Invocation<'a> {
    #[serde(borrow)]
    server: Option<Text<'a>>,
    tool: Option<Text<'a>>,
    arguments: Option<&'a RawValue>,
}

/// A call of an MCP tool that is over, in newer versions.
#[derive(Deserialize)]
struct McpItem<'a> {
    #[serde(borrow)]
    id: Option<Text<'a>>,
    server: Option<Text<'a>>,
    tool: Option<Text<'a>>,
    arguments: Option<&'a RawValue>,
    status: Option<Text<'a>>,
    result: Option<&'a RawValue>,
    error: Option<&'a RawValue>,
    duration: Option<Took>,
}

struct Session<'o> {
    id: Option<String>,
    cwd: Option<String>,
    builder: Builder<'o>,
    /// The turn that the model is still writing.
    open: Option<usize>,
    has_items: bool,
    /// Calls of the model without an answer.
    waiting: BTreeSet<String>,
    /// Outcomes of MCP calls whose results the model has not received yet.
    done: BTreeMap<String, ToolResult>,
    usage: Option<Usage>,
    duration_ms: Option<u64>,
    model: Option<String>,
    stop: Option<StopReason>,
}

pub(super) fn join(pieces: &[&str], options: &Options) -> Result<Vec<Imported<'static>>, ImportError> {
    let mut sessions: Vec<Session<'_>> = Vec::new();
    for (at, piece) in pieces.iter().enumerate() {
        let line: Line<'_> = wire::piece(piece)?;
        let kind = line.kind.as_deref().unwrap_or_default();
        // A session that continues another one repeats how that one began.
        let begins = kind == "session_meta" && sessions.last().is_none_or(|session| session.has_items);
        if begins || sessions.is_empty() {
            sessions.push(Session::new(options));
        }
        let Some(session) = sessions.last_mut() else { continue };
        session.line(kind, line.payload, at).map_err(|error| error.at(format_args!("line {}", at + 1)))?;
    }
    sessions.into_iter().map(Session::finish).collect()
}

impl<'o> Session<'o> {
    fn new(options: &'o Options) -> Self {
        Self {
            id: None,
            cwd: None,
            builder: Builder::new(options),
            open: None,
            has_items: false,
            waiting: BTreeSet::new(),
            done: BTreeMap::new(),
            usage: None,
            duration_ms: None,
            model: None,
            stop: None,
        }
    }

    fn line(&mut self, kind: &str, payload: Option<&RawValue>, at: usize) -> Result<(), ImportError> {
        let Some(payload) = payload else { return Ok(()) };
        let word = |key: &str| Shape::part(payload.get()).and_then(|shape| shape.text(key)).map(Cow::into_owned);
        match kind {
            "session_meta" => {
                self.id = self.id.take().or_else(|| word("id"));
                self.cwd = self.cwd.take().or_else(|| word("cwd"));
                Ok(())
            }
            "turn_context" => {
                self.builder.name_model(word("model").as_deref());
                Ok(())
            }
            "response_item" => self.response_item(payload, word("type").as_deref(), at),
            "event_msg" => self.event(&wire::part(payload)?),
            // Everything else is bookkeeping: calls are items of responses, or events.
            _ => Ok(()),
        }
    }

    fn response_item(&mut self, payload: &RawValue, kind: Option<&str>, at: usize) -> Result<(), ImportError> {
        if kind.is_some_and(|kind| BOOKKEEPING.contains(&kind)) {
            return Ok(());
        }
        self.has_items = true;
        let Some(mut message) = openai_responses::message(payload.get(), Place::Element("payload", at))? else {
            return Ok(());
        };
        for part in &mut message.parts {
            match part {
                Part::Call(call) => self.waiting.extend(call.id.clone()),
                Part::Answer(answer) => self.complete(answer),
                Part::Text(_) | Part::Other => {}
            }
        }
        self.add(message)
    }

    /// What the server answered says more than what the model was shown of it.
    fn complete(&mut self, answer: &mut Answer) {
        let Some(id) = &answer.id else { return };
        self.waiting.remove(id);
        if let Some(done) = self.done.remove(id) {
            answer.result = done;
        }
    }

    fn add(&mut self, message: Message) -> Result<(), ImportError> {
        if message.role != Role::Assistant {
            self.open = None;
            return self.builder.add(message, &"payload").map(drop);
        }
        match self.open {
            Some(turn) => self.builder.append(turn, message.parts, &"payload"),
            None => {
                self.open = self.builder.add(message, &"payload")?;
                Ok(())
            }
        }
    }

    fn event(&mut self, event: &Event<'_>) -> Result<(), ImportError> {
        match event.kind.as_deref() {
            Some("item_completed") => self.item(event.item),
            Some("mcp_tool_call_end") => {
                let Some(invocation) = &event.invocation else {
                    return Err(ImportError::new("a call of an MCP tool has no `invocation`"));
                };
                let value = wire::optional(event.result, wire::value, "result")?;
                let result = value.map(|value| match value {
                    Value::Object(mut map) if map.contains_key("Ok") => {
                        results::of_value(map.remove("Ok").unwrap_or_default(), None)
                    }
                    Value::Object(map) if map.contains_key("Err") => failed(&map["Err"]),
                    other => results::of_value(other, None),
                });
                let result = result.map(|result| known(result, event.duration.as_ref()));
                let id = event.call_id.as_deref().map(str::to_owned);
                self.mcp(id, [invocation.server.as_deref(), invocation.tool.as_deref()], invocation.arguments, result)
            }
            Some("token_count") => {
                let total = event.info.and_then(|info| Shape::part(info.get())?.get("total_token_usage"));
                self.usage = USAGE.read(total, "info.total_token_usage")?.or(self.usage);
                Ok(())
            }
            Some("task_complete" | "turn_complete") => {
                self.stop = Some(StopReason::Completed);
                let ms = event.duration_ms.map(|ms| ms.0);
                self.duration_ms = ms.map(|ms| ms.saturating_add(self.duration_ms.unwrap_or(0))).or(self.duration_ms);
                Ok(())
            }
            Some("task_started" | "turn_started") => {
                self.stop = None;
                Ok(())
            }
            Some("turn_aborted" | "error") => {
                self.stop = Some(StopReason::Error);
                Ok(())
            }
            _ => Ok(()),
        }
    }

    fn item(&mut self, item: Option<&RawValue>) -> Result<(), ImportError> {
        let Some(item) = item else { return Ok(()) };
        if Shape::part(item.get()).and_then(|shape| shape.text("type")).as_deref() != Some("McpToolCall") {
            return Ok(());
        }
        let item: McpItem<'_> = wire::part(item).map_err(|error| error.at("item"))?;
        let error = wire::optional(item.error, wire::value, "item.error")?;
        let value = wire::optional(item.result, wire::value, "item.result")?;
        let result = match (error, item.status.as_deref()) {
            (Some(error), _) => Some(failed(&error)),
            (None, Some("failed")) => Some(results::of_value(value.unwrap_or_default(), Some(true))),
            (None, Some("completed")) => Some(results::of_value(value.unwrap_or_default(), None)),
            _ => value.map(|value| results::of_value(value, None)),
        };
        let result = result.map(|result| known(result, item.duration.as_ref()));
        let id = item.id.as_deref().map(str::to_owned);
        self.mcp(id, [item.server.as_deref(), item.tool.as_deref()], item.arguments, result)
    }

    /// A call of an MCP tool that is over: one that the model made, or one of the model's code.
    fn mcp(
        &mut self,
        id: Option<String>,
        [server, tool]: [Option<&str>; 2],
        arguments: Option<&RawValue>,
        result: Option<ToolResult>,
    ) -> Result<(), ImportError> {
        if let (Some(id), Some(result)) = (&id, &result)
            && self.waiting.contains(id)
        {
            self.done.insert(id.clone(), result.clone());
            return Ok(());
        }
        let name = tool.ok_or_else(|| ImportError::new("a call of an MCP tool does not name the tool"))?.to_owned();
        let args = wire::optional(arguments, wire::arguments, "arguments")?;
        let call = Call {
            id,
            name,
            server: Server::Known(server.map(str::to_owned)),
            args: Some(args.unwrap_or_else(|| json!({}))),
            caller: Some(json!({ "type": "program" })),
            result,
            ..Call::default()
        };
        self.add(Message::with_parts(Role::Assistant, vec![Part::Call(call)]))
    }

    fn finish(mut self) -> Result<Imported<'static>, ImportError> {
        for (id, result) in std::mem::take(&mut self.done) {
            let answer = Answer { id: Some(id), result, ..Answer::default() };
            self.builder.add(Message::with_parts(Role::Tool, vec![Part::Answer(answer)]), &"payload")?;
        }
        self.builder.spend(Spent::reported(self.usage.map(Usage::with_cache_in_input)));
        self.builder.stop = self.stop;
        let trace = self.builder.finish(self.model, self.duration_ms);
        let fields = json!({ "cwd": self.cwd, "id": self.id }).to_string();
        Ok(Imported { id: self.id, group: None, seal: None, fields: fields.into(), trace })
    }
}

/// A result that the server gave, which says itself whether it is an error.
fn known(result: ToolResult, took: Option<&Took>) -> ToolResult {
    ToolResult { is_error: result.is_error.or(Some(false)), duration_ms: took.map(Took::ms), ..result }
}
