//! The events of `gemini -o stream-json`.

use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};

use crate::import::builder::Builder;
use crate::import::message::{Answer, Call, Message, Part, Spent, Usage, UsageKeys, id};
use crate::import::wire::{self, Text, Whole};
use crate::import::{ImportError, Imported, Options, results};
use crate::trace::{Role, StopReason};

const USAGE: UsageKeys = UsageKeys {
    input: "input_tokens",
    output: "output_tokens",
    total: Some("total_tokens"),
    cached: &["cached"],
    written: None,
};

#[derive(Deserialize)]
#[serde(expecting = "an event")]
struct Event<'a> {
    #[serde(borrow, rename = "type")]
    kind: Option<Text<'a>>,
    session_id: Option<Text<'a>>,
    model: Option<Text<'a>>,
    role: Option<Text<'a>>,
    content: Option<Text<'a>>,
    delta: Option<bool>,
    tool_name: Option<Text<'a>>,
    tool_id: Option<Text<'a>>,
    parameters: Option<&'a RawValue>,
    status: Option<Text<'a>>,
    output: Option<&'a RawValue>,
    error: Option<Problem<'a>>,
    stats: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct Problem<'a> {
    #[serde(borrow)]
    message: Option<Text<'a>>,
}

#[derive(Deserialize)]
struct Stats {
    duration_ms: Option<Whole>,
}

struct Session<'o> {
    id: Option<String>,
    model: Option<String>,
    builder: Builder<'o>,
    /// What the model says and calls, until the next answer.
    reply: Vec<Part>,
    /// Whether the last part is text that goes on.
    is_streaming: bool,
    duration_ms: Option<u64>,
    spent: Spent,
    stop: Option<StopReason>,
}

pub(super) fn join(pieces: &[&str], options: &Options) -> Result<Vec<Imported<'static>>, ImportError> {
    let mut sessions: Vec<Session<'_>> = Vec::new();
    for (at, piece) in pieces.iter().enumerate() {
        let event: Event<'_> = wire::piece(piece)?;
        if sessions.is_empty() || event.kind.as_deref() == Some("init") {
            sessions.push(Session {
                id: event.session_id.as_deref().map(str::to_owned),
                model: event.model.as_deref().filter(|model| *model != "auto").map(str::to_owned),
                builder: Builder::new(options),
                reply: Vec::new(),
                is_streaming: false,
                duration_ms: None,
                spent: Spent::Unknown,
                stop: None,
            });
        }
        let Some(session) = sessions.last_mut() else { continue };
        session.event(&event).map_err(|error| error.at(format_args!("event {}", at + 1)))?;
    }
    sessions.into_iter().map(Session::finish).collect()
}

impl Session<'_> {
    fn event(&mut self, event: &Event<'_>) -> Result<(), ImportError> {
        let was_streaming = std::mem::take(&mut self.is_streaming);
        match (event.kind.as_deref(), event.role.as_deref()) {
            (Some("init" | "error"), _) => Ok(()),
            (Some("message"), Some("assistant")) => {
                let text = event.content.as_deref().unwrap_or_default();
                self.is_streaming = event.delta == Some(true);
                match self.reply.last_mut() {
                    Some(Part::Text(before)) if was_streaming && self.is_streaming => before.push_str(text),
                    _ => self.reply.push(Part::Text(text.into())),
                }
                Ok(())
            }
            (Some("message"), _) => {
                self.end_reply()?;
                let text = event.content.as_deref().unwrap_or_default().to_owned();
                self.builder.add(Message::with_parts(Role::User, vec![Part::Text(text.into())]), &"message").map(drop)
            }
            (Some("tool_use"), _) => {
                let name = event.tool_name.as_deref().ok_or_else(|| ImportError::new("tool_name is missing"))?;
                let args = wire::optional(event.parameters, wire::arguments, "parameters")?;
                let (id, args) = (id(event.tool_id.as_deref()), Some(args.unwrap_or_else(|| json!({}))));
                self.reply.push(Part::Call(Call { id, name: name.to_owned(), args, ..Call::default() }));
                Ok(())
            }
            (Some("tool_result"), _) => {
                self.end_reply()?;
                let is_error = event.status.as_deref().map(|status| status != "success");
                let result = match event.output {
                    Some(output) => results::of_raw(output, is_error).map_err(|error| error.at("output"))?,
                    None => {
                        let error = event.error.as_ref().and_then(|error| error.message.as_deref());
                        results::of_value(error.map(Value::from).unwrap_or_default(), is_error)
                    }
                };
                let answer = Answer { id: id(event.tool_id.as_deref()), result, ..Answer::default() };
                self.builder.add(Message::with_parts(Role::Tool, vec![Part::Answer(answer)]), &"tool_result").map(drop)
            }
            (Some("result"), _) => {
                self.end_reply()?;
                let is_good = event.status.as_deref() == Some("success");
                self.stop = Some(if is_good { StopReason::Completed } else { StopReason::Error });
                self.spent = Spent::reported(USAGE.read(event.stats, "stats")?.map(Usage::with_cache_in_input));
                let stats = event.stats.map(wire::part::<Stats>).transpose()?;
                self.duration_ms = stats.and_then(|stats| stats.duration_ms).map(|ms| ms.0);
                Ok(())
            }
            (kind, _) => Err(ImportError::new(format!(
                "type {:?} is not known, and could be about a call",
                kind.unwrap_or_default()
            ))),
        }
    }

    fn end_reply(&mut self) -> Result<(), ImportError> {
        let parts = std::mem::take(&mut self.reply);
        if parts.is_empty() {
            return Ok(());
        }
        self.builder.add(Message::with_parts(Role::Assistant, parts), &"message").map(drop)
    }

    fn finish(mut self) -> Result<Imported<'static>, ImportError> {
        self.end_reply()?;
        self.builder.spend(self.spent);
        self.builder.stop = self.stop;
        let trace = self.builder.finish(self.model, self.duration_ms);
        let fields = json!({ "session_id": self.id }).to_string();
        Ok(Imported { id: self.id, group: None, seal: None, fields: fields.into(), trace })
    }
}

/// The text of the assistant after the last tool call, or the error that ended the run.
pub(in crate::import) fn answer(pieces: &[&str]) -> Result<Option<String>, String> {
    let mut answer: Option<String> = None;
    for piece in pieces {
        let Ok(event) = wire::piece::<Event<'_>>(piece) else { continue };
        match (event.kind.as_deref(), event.role.as_deref(), event.content.as_deref()) {
            (Some("message"), Some("assistant"), Some(content)) => {
                let so_far = answer.take().filter(|_| event.delta == Some(true));
                answer = Some(so_far.map_or_else(|| content.to_owned(), |so_far| so_far + content));
            }
            (Some("tool_use" | "tool_result"), ..) => answer = None,
            (Some("result"), ..) if event.status.as_deref() == Some("error") => {
                let why = event.error.as_ref().and_then(|error| error.message.as_deref());
                return Err(format!("it ended with an error: {}", why.unwrap_or("no reason")));
            }
            _ => {}
        }
    }
    Ok(answer)
}
