//! The session files of Gemini CLI: one JSON object with all messages, or in newer versions one message per line.
//!
//! A line that has the id of an earlier message replaces it, and `$set` replaces keys of the whole session.

use std::collections::BTreeSet;

use serde::Deserialize;
use serde_json::json;
use serde_json::value::RawValue;

use crate::import::bounded_list::{BoundedList, Element};
use crate::import::builder::Builder;
use crate::import::message::{At, Call, Message, Part, Place, Spent, Usage, UsageKeys, id};
use crate::import::wire::{self, Text};
use crate::import::{ImportError, Imported, Options, gemini};
use crate::trace::{Role, ToolResult};

const USAGE: UsageKeys =
    UsageKeys { input: "input", output: "output", total: Some("total"), cached: &["cached"], written: None };

/// A line, or a whole session: its header, a message, or a change.
#[derive(Deserialize)]
#[serde(expecting = "a line of a session")]
struct Line<'a> {
    #[serde(borrow, rename = "sessionId")]
    session: Option<Text<'a>>,
    messages: Option<Vec<&'a RawValue>>,
    #[serde(rename = "$set")]
    set: Option<Set<'a>>,
    #[serde(rename = "type")]
    kind: Option<Text<'a>>,
    id: Option<Text<'a>>,
}

#[derive(Deserialize)]
struct Set<'a> {
    #[serde(borrow)]
    messages: Option<Vec<&'a RawValue>>,
}

#[derive(Deserialize)]
#[serde(expecting = "a message")]
struct Said<'a> {
    #[serde(borrow, rename = "type")]
    kind: Option<Text<'a>>,
    content: Option<&'a RawValue>,
    #[serde(rename = "toolCalls")]
    calls: Option<BoundedList<ToolUse<'a>>>,
    tokens: Option<&'a RawValue>,
    model: Option<Text<'a>>,
}

#[derive(Debug, Deserialize)]
#[serde(expecting = "a call")]
struct ToolUse<'a> {
    #[serde(borrow)]
    id: Option<Text<'a>>,
    name: Option<Text<'a>>,
    args: Option<&'a RawValue>,
    result: Option<&'a RawValue>,
    status: Option<Text<'a>>,
}

impl Element for ToolUse<'_> {
    fn is_incomplete(&self) -> bool {
        self.name.is_none()
    }
}

pub(super) struct Session<'a> {
    id: Option<String>,
    /// Messages, each with its id.
    messages: Vec<(Option<String>, &'a str)>,
}

/// The sessions of a file; `None` if it has events instead.
pub(super) fn sessions<'a>(pieces: &[&'a str]) -> Result<Option<Vec<Session<'a>>>, ImportError> {
    let mut sessions: Vec<Session<'_>> = Vec::new();
    for (at, piece) in pieces.iter().enumerate() {
        let line: Line<'_> = wire::piece(piece).map_err(|error| error.at(format_args!("line {}", at + 1)))?;
        if super::is_event(line.kind.as_deref()) {
            return Ok(None);
        }
        if line.session.is_some() || sessions.is_empty() {
            sessions.push(Session { id: line.session.as_deref().map(str::to_owned), messages: Vec::new() });
        }
        let Some(session) = sessions.last_mut() else { continue };
        if let Some(messages) = line.messages.or_else(|| line.set.and_then(|set| set.messages)) {
            // Earlier messages stay: their calls were made.
            messages.into_iter().try_for_each(|message| session.message(message.get()))?;
        } else if line.kind.is_some() {
            session.put(line.id.as_deref(), piece);
        }
    }
    Ok(Some(sessions))
}

impl<'a> Session<'a> {
    fn message(&mut self, text: &'a str) -> Result<(), ImportError> {
        let line: Line<'_> = wire::piece(text)?;
        self.put(line.id.as_deref(), text);
        Ok(())
    }

    fn put(&mut self, id: Option<&str>, text: &'a str) {
        let known = self.messages.iter_mut().find(|(known, _)| known.is_some() && known.as_deref() == id);
        match known {
            Some((_, before)) => *before = text,
            None => self.messages.push((id.map(str::to_owned), text)),
        }
    }

    pub(super) fn finish(&self, options: &Options) -> Result<Imported<'static>, ImportError> {
        let mut builder = Builder::new(options);
        // A call has its answer with it, and the message after it repeats what the model was sent of it.
        let mut answered: BTreeSet<String> = BTreeSet::new();
        for (at, (_, text)) in self.messages.iter().enumerate() {
            let place = Place::Element("messages", at);
            let read = wire::piece::<Said<'_>>(text).and_then(|said| said.read());
            let Some(mut message) = read.map_err(|error| error.at(place))? else { continue };
            answered.extend(message.calls().filter(|call| call.result.is_some()).filter_map(|call| call.id.clone()));
            let had_parts = !message.parts.is_empty();
            message.parts.retain(|part| match part {
                Part::Answer(answer) => !answer.id.as_ref().is_some_and(|id| answered.contains(id)),
                _ => true,
            });
            if !(had_parts && message.parts.is_empty()) {
                builder.add(message, &place)?;
            }
        }
        let trace = builder.finish(None, None);
        let fields = json!({ "sessionId": self.id }).to_string();
        Ok(Imported { id: self.id.clone(), group: None, seal: None, fields: fields.into(), trace })
    }
}

impl Said<'_> {
    /// The message; `None` for a notice of the program itself.
    fn read(&self) -> Result<Option<Message>, ImportError> {
        let kind = self.kind.as_deref().unwrap_or_default();
        let role = match kind {
            "user" => Role::User,
            "gemini" => Role::Assistant,
            "info" | "error" | "warning" if self.calls.is_none() => return Ok(None),
            other => return Err(ImportError::must_be("type", "user, gemini, info, error or warning", Some(other))),
        };
        let mut out = Message::new(role);
        if let Some(content) = self.content {
            out.parts = parts(role, content)?;
        }
        for (at, call) in self.calls.iter().flat_map(|calls| calls.iter()).enumerate() {
            let at = At::new("toolCalls", at);
            out.parts.push(Part::Call(call.read(at).map_err(|error| error.at(format_args!("{at}")))?));
        }
        if role == Role::Assistant {
            out.model = self.model.as_deref().map(str::to_owned);
            out.spent = Spent::reported(USAGE.read(self.tokens, "tokens")?.map(Usage::with_cache_in_input));
        }
        Ok(Some(out))
    }
}

/// What a content says: a text, a part, or parts.
fn parts(role: Role, content: &RawValue) -> Result<Vec<Part>, ImportError> {
    let text = content.get();
    if text.starts_with('"') {
        let text: Text<'_> = wire::part(content)?;
        return Ok(text.said().map(Part::Text).into_iter().collect());
    }
    if let Some(parts) = gemini::parts(text) {
        return parts;
    }
    // It says what is wrong.
    let list = if text.starts_with('[') { text.to_owned() } else { format!("[{text}]") };
    let word = if role == Role::User { "user" } else { "model" };
    let whole = format!("{{\"role\":\"{word}\",\"parts\":{list}}}");
    let message = gemini::message(&whole, Place::Key("content"))?;
    Ok(message.map(|message| message.parts).unwrap_or_default())
}

impl ToolUse<'_> {
    fn read(&self, at: At) -> Result<Call, ImportError> {
        let name = self.name.as_deref().unwrap_or_default().to_owned();
        let args = wire::optional(self.args, wire::arguments, "args")?;
        let args = Some(args.unwrap_or_else(|| json!({})));
        Ok(Call { id: id(self.id.as_deref()), name, args, result: self.result()?, at, ..Call::default() })
    }

    /// How it went; `None` where the session does not say.
    fn result(&self) -> Result<Option<ToolResult>, ImportError> {
        let is_error = match self.status.as_deref() {
            Some("success") => Some(false),
            Some("error" | "cancelled") => Some(true),
            _ => None,
        };
        let answered = self.result.map(|raw| parts(Role::User, raw)).transpose()?.unwrap_or_default();
        let answer = answered.into_iter().find_map(|part| match part {
            Part::Answer(answer) => Some(answer.result),
            _ => None,
        });
        Ok(match (answer, is_error) {
            (Some(result), _) => Some(crate::import::results::with_error_flag(result, is_error)),
            (None, Some(_)) => Some(ToolResult { is_error, ..ToolResult::default() }),
            (None, None) => None,
        })
    }
}
