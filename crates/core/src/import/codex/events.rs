//! The events of `codex exec --json`.

use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Map, Value, json};

use crate::import::builder::Builder;
use crate::import::message::{Call, Message, Part, Server, Spent, Usage, UsageKeys, id};
use crate::import::wire::{self, Text};
use crate::import::{ImportError, Imported, Options, results};
use crate::trace::{CallError, ErrorKind, LazyText, Role, StopReason, ToolResult};

const USAGE: UsageKeys = UsageKeys {
    input: "input_tokens",
    output: "output_tokens",
    total: None,
    cached: &["cached_input_tokens"],
    written: None,
};

#[derive(Deserialize)]
#[serde(expecting = "an event")]
struct Event<'a> {
    #[serde(borrow, rename = "type")]
    kind: Option<Text<'a>>,
    thread_id: Option<Text<'a>>,
    usage: Option<&'a RawValue>,
    item: Option<Item<'a>>,
    error: Option<Problem<'a>>,
}

#[derive(Deserialize)]
struct Problem<'a> {
    #[serde(borrow)]
    message: Option<Text<'a>>,
}

/// An item. Which keys it has depends on its type.
#[derive(Deserialize)]
#[serde(expecting = "an item")]
struct Item<'a> {
    #[serde(borrow)]
    id: Option<Text<'a>>,
    #[serde(rename = "type")]
    kind: Option<Text<'a>>,
    text: Option<Text<'a>>,
    server: Option<Text<'a>>,
    tool: Option<Text<'a>>,
    arguments: Option<&'a RawValue>,
    result: Option<&'a RawValue>,
    error: Option<&'a RawValue>,
    status: Option<Text<'a>>,
    command: Option<&'a RawValue>,
    aggregated_output: Option<Text<'a>>,
    exit_code: Option<i64>,
    changes: Option<&'a RawValue>,
    query: Option<&'a RawValue>,
    action: Option<&'a RawValue>,
    items: Option<&'a RawValue>,
    prompt: Option<&'a RawValue>,
}

/// One thread.
struct Thread<'o> {
    id: Option<String>,
    builder: Builder<'o>,
    /// Calls that have begun and are not over.
    open: Vec<(Option<String>, Call)>,
    turns: usize,
    stop: Option<StopReason>,
}

pub(super) fn join(pieces: &[&str], options: &Options) -> Result<Vec<Imported<'static>>, ImportError> {
    let mut threads: Vec<Thread<'_>> = Vec::new();
    for (at, piece) in pieces.iter().enumerate() {
        let event: Event<'_> = wire::piece(piece)?;
        let kind = event.kind.as_deref().unwrap_or_default();
        if threads.is_empty() || kind == "thread.started" {
            let id = event.thread_id.as_deref().map(str::to_owned);
            threads.push(Thread { id, builder: Builder::new(options), open: Vec::new(), turns: 0, stop: None });
        }
        let Some(thread) = threads.last_mut() else { continue };
        thread.add(kind, &event).map_err(|error| error.at(format_args!("event {}", at + 1)))?;
    }
    threads.into_iter().map(Thread::finish).collect()
}

impl Thread<'_> {
    fn add(&mut self, kind: &str, event: &Event<'_>) -> Result<(), ImportError> {
        match kind {
            "thread.started" | "turn.started" | "item.updated" | "error" => {}
            "turn.completed" => {
                self.turns += 1;
                let usage = USAGE.read(event.usage, "usage")?;
                self.builder.spend(match (self.turns, usage) {
                    (1, usage) => Spent::reported(usage.map(Usage::with_cache_in_input)),
                    // Whether a later turn counts the earlier ones is unknown.
                    _ => Spent::Unknown,
                });
                self.stop = Some(StopReason::Completed);
            }
            "turn.failed" => self.stop = Some(StopReason::Error),
            "item.started" | "item.completed" => {
                let Some(item) = &event.item else { return Err(ImportError::new("it has no `item`")) };
                self.item(item, kind == "item.completed")?;
            }
            other => {
                return Err(ImportError::new(format!("type {other:?} is not known, and could be about a call")));
            }
        }
        Ok(())
    }

    fn item(&mut self, item: &Item<'_>, is_over: bool) -> Result<(), ImportError> {
        let said = match item.kind.as_deref() {
            Some("agent_message") if is_over => {
                vec![Part::Text(item.text.as_ref().map_or_else(LazyText::default, Text::lazy))]
            }
            Some("agent_message" | "reasoning" | "error") => return Ok(()),
            _ => {
                let call = item.call()?;
                // Calls are in the order in which they begin.
                match (self.open.iter_mut().find(|(open, _)| open.is_some() && *open == call.id), is_over) {
                    (Some((_, open)), true) => *open = call,
                    (Some(_), false) => {}
                    (None, _) => self.open.push((call.id.clone(), call)),
                }
                if !is_over || self.open.iter().any(|(_, call)| call.result.is_none()) {
                    return Ok(());
                }
                self.open.drain(..).map(|(_, call)| Part::Call(call)).collect()
            }
        };
        self.reply(said)
    }

    fn reply(&mut self, parts: Vec<Part>) -> Result<(), ImportError> {
        self.builder.add(Message::with_parts(Role::Assistant, parts), &"item").map(drop)
    }

    fn finish(mut self) -> Result<Imported<'static>, ImportError> {
        let open: Vec<Part> = self.open.drain(..).map(|(_, call)| Part::Call(call)).collect();
        if !open.is_empty() {
            self.reply(open)?;
        }
        self.builder.stop = self.stop;
        let mut trace = self.builder.finish(None, None);
        // Which calls came in one reply is unknown, and so is what was asked.
        trace.conversation.turns = None;
        trace.tool_calls.iter_mut().flatten().for_each(|call| call.turn = None);
        let fields = json!({ "thread_id": self.id }).to_string();
        Ok(Imported { id: self.id, group: None, seal: None, fields: fields.into(), trace })
    }
}

impl Item<'_> {
    fn call(&self) -> Result<Call, ImportError> {
        let kind = self.kind.as_deref().unwrap_or_default();
        let value = |raw: Option<&RawValue>, key: &str| wire::optional(raw, wire::value, key);
        let own = |name: &str, keys: &[(&str, Option<&RawValue>)]| -> Result<Call, ImportError> {
            let mut args = Map::new();
            for (key, raw) in keys {
                args.extend(value(*raw, key)?.map(|value| ((*key).to_owned(), value)));
            }
            let server = Server::Known(Some(String::new()));
            Ok(Call { name: name.to_owned(), server, args: Some(Value::Object(args)), ..Call::default() })
        };
        let call = match kind {
            "mcp_tool_call" => {
                let name = self.tool.as_deref().ok_or_else(|| ImportError::new("item.tool is missing"))?;
                let server = Server::Known(self.server.as_deref().map(str::to_owned));
                let args = wire::optional(self.arguments, wire::arguments, "item.arguments")?;
                let args = Some(args.unwrap_or_else(|| json!({})));
                Call { name: name.to_owned(), server, args, ..Call::default() }
            }
            "command_execution" => own(kind, &[("command", self.command)])?,
            "file_change" => own(kind, &[("changes", self.changes)])?,
            "web_search" => own(kind, &[("query", self.query), ("action", self.action)])?,
            "todo_list" => own(kind, &[("items", self.items)])?,
            "collab_tool_call" => own(self.tool.as_deref().unwrap_or(kind), &[("prompt", self.prompt)])?,
            other => {
                return Err(ImportError::unknown("item.type", other));
            }
        };
        Ok(Call { id: id(self.id.as_deref()), result: self.result()?, ..call })
    }

    /// How it went; `None` while it is not over.
    fn result(&self) -> Result<Option<ToolResult>, ImportError> {
        let is_error = match self.status.as_deref() {
            Some("completed") | None => self.exit_code.is_some_and(|code| code != 0),
            Some("failed" | "declined") => true,
            _ => return Ok(None),
        };
        let value = |raw: Option<&RawValue>, key: &str| wire::optional(raw, wire::value, key);
        if let Some(error) = value(self.error, "item.error")? {
            return Ok(Some(failed(&error)));
        }
        let result = match (value(self.result, "item.result")?, &self.aggregated_output) {
            (Some(result), _) => results::of_value(result, Some(is_error)),
            (None, Some(printed)) => results::of_text(printed.lazy(), Some(is_error)),
            (None, None) => results::of_value(Value::Null, Some(is_error)),
        };
        Ok(Some(result))
    }
}

/// The result of a call that the client reports as failed. Whether a server got it, the client does not say.
pub(super) fn failed(error: &Value) -> ToolResult {
    let text = error.get("message").unwrap_or(error);
    let message = text.as_str().map_or_else(|| text.to_string(), str::to_owned);
    let result = results::of_text(message.as_str().into(), Some(true));
    ToolResult { error: Some(Box::new(CallError { kind: ErrorKind::Tool, code: None, message })), ..result }
}

/// The last message of the agent; an error says why its turn failed.
pub(in crate::import) fn answer(pieces: &[&str]) -> Result<Option<String>, String> {
    let mut answer = None;
    for piece in pieces {
        let Ok(event) = wire::piece::<Event<'_>>(piece) else { continue };
        match (event.kind.as_deref(), &event.item) {
            (Some("item.completed"), Some(item)) if item.kind.as_deref() == Some("agent_message") => {
                answer = item.text.as_deref().map(str::to_owned);
            }
            (Some("turn.failed"), _) => {
                let why = event.error.as_ref().and_then(|error| error.message.as_deref());
                return Err(format!("its turn failed: {}", why.unwrap_or("no reason")));
            }
            _ => {}
        }
    }
    Ok(answer)
}
