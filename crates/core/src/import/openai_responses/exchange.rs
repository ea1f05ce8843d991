//! Items, one after the other, into a trace.

use std::fmt::Display;

use super::items::{Item, Kind, PARTS, kind};
use crate::import::builder::Builder;
use crate::import::message::{Answer, Call, Message, Part, Server};
use crate::import::openai_content::{self, looks_like};
use crate::import::{ImportError, Options};
use crate::trace::{Role, StopReason};

/// A trace in the making.
pub(super) struct Exchange<'o> {
    pub(super) builder: Builder<'o>,
    /// The turn that the model is still writing.
    open: Option<usize>,
    pub(super) has_replied: bool,
    /// Whether there is a message of the user.
    pub(super) has_asked: bool,
    /// How many calls wait for an answer that is an item of its own.
    pub(super) waiting: usize,
    /// Whether the last message is a refusal.
    pub(super) is_refused: bool,
}

impl<'o> Exchange<'o> {
    pub(super) fn new(options: &'o Options) -> Self {
        Self {
            builder: Builder::new(options),
            open: None,
            has_replied: false,
            has_asked: false,
            waiting: 0,
            is_refused: false,
        }
    }

    /// Ends the turn of the model, if it writes one.
    pub(super) fn end_turn(&mut self) {
        self.open = None;
    }

    pub(super) fn add(&mut self, item: &Item<'_>, place: &dyn Display) -> Result<(), ImportError> {
        let message = match read(item, place)? {
            Said::Nothing => return Ok(()),
            Said::Message(None) => {
                self.is_refused = false;
                return Ok(());
            }
            Said::Message(Some(message)) => {
                self.is_refused = message.role == Role::Assistant && message.stop == Some(StopReason::Refused);
                message
            }
            Said::Call(call) => {
                // What the model writes after an answer is another turn.
                let is_answered = call.result.is_some();
                self.waiting += usize::from(kind_of(item).is_some_and(Kind::waits));
                self.reply(vec![Part::Call(call)], place)?;
                if is_answered {
                    self.end_turn();
                }
                return Ok(());
            }
            Said::Answer(answer) => {
                self.waiting = self.waiting.saturating_sub(1);
                Message::with_parts(Role::Tool, vec![Part::Answer(answer)])
            }
        };
        if message.role == Role::Assistant {
            return self.reply(message.parts, place);
        }
        self.end_turn();
        self.has_asked |= message.role == Role::User;
        self.builder.add(message, place).map(|_| ())
    }

    /// Adds to the turn that the model writes.
    fn reply(&mut self, parts: Vec<Part>, place: &dyn Display) -> Result<(), ImportError> {
        self.has_replied = true;
        match self.open {
            Some(turn) => self.builder.append(turn, parts, place),
            None => {
                self.open = self.builder.add(Message::with_parts(Role::Assistant, parts), place)?;
                Ok(())
            }
        }
    }
}

/// What an item says.
pub(super) enum Said {
    Nothing,
    /// `None` for a system prompt.
    Message(Option<Message>),
    Call(Call),
    Answer(Answer),
}

fn kind_of(item: &Item<'_>) -> Option<Kind> {
    kind(item.kind.as_deref()?)
}

/// Reads an item.
pub(super) fn read(item: &Item<'_>, place: &dyn Display) -> Result<Said, ImportError> {
    let word = match (item.kind.as_deref(), &item.role) {
        (Some(word), _) => word,
        (None, Some(_)) => "message",
        (None, None) => {
            let error = ImportError::new(format!("{place} has no `type`"));
            return Err(error.hint("every item except a message has a type"));
        }
    };
    let call = match kind(word).ok_or_else(|| unknown(word, place))? {
        Kind::Message => return message(item, place).map(Said::Message),
        Kind::Neither => return Ok(Said::Nothing),
        Kind::Answer => {
            let answer = Answer { id: item.call_id(), result: item.answer(word, place)?, ..Answer::default() };
            return Ok(Said::Answer(answer));
        }
        Kind::Named => {
            let args = item.args(word == "custom_tool_call", place)?;
            Call { name: item.tool(place)?, args, caller: item.caller(place)?, ..Call::default() }
        }
        Kind::Requested(name) => {
            let args = item.args(false, place)?;
            Call { name: name.to_owned(), server: Server::provider(), args, ..Call::default() }
        }
        Kind::Run(name) => {
            let (args, result) = (item.args(false, place)?, item.provider_result(place)?);
            Call { name: name.to_owned(), server: Server::provider(), args, result, ..Call::default() }
        }
        Kind::Mcp => {
            let server = Server::Known(item.server_label.as_deref().map(str::to_owned));
            let (args, result) = (item.args(false, place)?, item.mcp_result(place)?);
            Call { name: item.tool(place)?, server, args, result, ..Call::default() }
        }
    };
    Ok(Said::Call(Call { id: item.call_id(), ..call }))
}

fn message(item: &Item<'_>, place: &dyn Display) -> Result<Option<Message>, ImportError> {
    if item.tool_calls.is_some() {
        return Err(ImportError::new(format!("{place} has `tool_calls`")).hint(looks_like("openai-chat")));
    }
    item.refuse_unread_calls(place)?;
    let mut message = Message::new(Role::User);
    openai_content::add(&mut message, item.content.as_ref(), &PARTS, place)?;
    match item.role.as_deref() {
        Some("system" | "developer") => Ok(None),
        Some("user") => Ok(Some(message)),
        Some("assistant") => Ok(Some(Message { role: Role::Assistant, ..message })),
        other => {
            let hint = if other == Some("tool") {
                looks_like("openai-chat")
            } else {
                "`--from` names the format of a record".to_owned()
            };
            let place = format_args!("{place}.role");
            Err(ImportError::must_be(place, "system, developer, user or assistant", other).hint(hint))
        }
    }
}

fn unknown(word: &str, place: &dyn Display) -> ImportError {
    let error = ImportError::new(format!("{place}.type is {word:?}, which is not understood"));
    match word {
        "item_reference" => error.hint("the item it refers to is not in the record; a trace must be complete"),
        "compaction" => error.hint("calls before it are not in the record; a trace must be complete"),
        "human" | "ai" | "tool" => error.hint(looks_like("langchain")),
        "user" | "assistant" | "result" => error.hint(looks_like("claude-code")),
        _ => error.hint("an unknown item could be a call, and calls are never left out"),
    }
}
