//! An exchange in the making: items, one after the other, into a trace.

use std::fmt::{self, Display};

use serde_json::Value;

use super::items::{Item, Kind, PARTS, kind, value};
use crate::import::builder::Builder;
use crate::import::openai_content::{looks_like, said};
use crate::import::{ImportError, Options, stray};
use crate::trace::{Role, ToolCall, ToolResult};

/// Where an item stands.
pub(super) struct At(pub(super) &'static str, pub(super) usize);

impl Display for At {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}[{}]", self.0, self.1)
    }
}

/// An exchange in the making.
pub(super) struct Exchange<'o> {
    pub(super) builder: Builder<'o>,
    /// The turn that the model is still writing.
    open: Option<usize>,
    replied: bool,
    /// How many calls wait for an answer that is an item of its own.
    pub(super) waiting: usize,
    /// Whether the last message is a refusal.
    pub(super) refused: bool,
}

impl<'o> Exchange<'o> {
    pub(super) fn new(options: &'o Options) -> Self {
        Self { builder: Builder::new(options), open: None, replied: false, waiting: 0, refused: false }
    }

    /// Whether the model has written anything so far.
    pub(super) fn replied(&self) -> bool {
        self.replied
    }

    /// Ends the turn of the model, where it writes one.
    pub(super) fn pause(&mut self) {
        self.open = None;
    }

    /// Adds an item that stands at `place`.
    pub(super) fn add(&mut self, item: &Item<'_>, place: &dyn Display) -> Result<(), ImportError> {
        let word = match (item.kind.as_deref(), &item.role) {
            (Some(word), _) => word,
            (None, Some(_)) => "message",
            (None, None) => {
                return Err(ImportError::new(format!("{place} has no `type`")).hint("every item but a message has one"));
            }
        };
        let Some(kind) = kind(word) else { return Err(unknown(word, place)) };
        match kind {
            Kind::Message => self.message(item, place),
            Kind::Aside => Ok(()),
            Kind::Named => {
                let Some(name) = item.name.as_deref() else {
                    return Err(ImportError::new(format!("{place} has no `name`")).hint("a call names its tool"));
                };
                let args = item.args(word == "custom_tool_call", place)?;
                let caller = item.caller.map(|raw| value(raw, "caller", place)).transpose()?;
                // Code that the model wrote may call too; a call of the model itself says `direct`.
                let caller = caller.filter(|caller| {
                    caller.is_object() && caller.get("type").and_then(Value::as_str) != Some("direct")
                });
                let turn = self.reply();
                let (server, name) = self.builder.split(name);
                self.builder.made(ToolCall { name, server, args, caller, id: item.call(), turn: Some(turn) });
                self.waiting += 1;
                Ok(())
            }
            Kind::Asked(name) => {
                self.provided(name, item, place)?;
                self.waiting += 1;
                Ok(())
            }
            Kind::Run(name) => {
                let call = self.provided(name, item, place)?;
                if let Some(result) = item.ran(place)? {
                    self.inside(call, result);
                }
                Ok(())
            }
            Kind::Mcp => {
                let Some(name) = item.name.as_deref().map(str::to_owned) else {
                    return Err(ImportError::new(format!("{place} has no `name`")).hint("a call names its tool"));
                };
                let server = item.server_label.as_deref().map(str::to_owned);
                let (args, turn) = (item.args(false, place)?, Some(self.reply()));
                let call = self.builder.made(ToolCall { name, server, args, caller: None, id: item.call(), turn });
                if let Some(result) = item.ran_mcp(place)? {
                    self.inside(call, result);
                }
                Ok(())
            }
            Kind::Answer => {
                self.pause();
                let result = item.answer(word, place)?;
                self.builder.answer(item.call().as_deref(), result, &place.to_string())?;
                self.waiting = self.waiting.saturating_sub(1);
                Ok(())
            }
        }
    }

    fn message(&mut self, item: &Item<'_>, place: &dyn Display) -> Result<(), ImportError> {
        if item.tool_calls.is_some() {
            return Err(ImportError::new(format!("{place} has `tool_calls`")).hint(looks_like("openai-chat")));
        }
        let strays = [
            ("toolCalls", item.camel_calls),
            ("toolInvocations", item.invocations),
            ("function_call", item.function_call),
        ];
        stray::refuse(place, &strays)?;
        let said = said(item.content.as_ref(), &PARTS, &format_args!("{place}.content"))?;
        self.refused = false;
        match item.role.as_deref() {
            Some("system" | "developer") => {}
            Some("user") => {
                self.pause();
                self.builder.turn(Role::User, said.text);
            }
            Some("assistant") => {
                self.refused = said.refused;
                let turn = self.reply();
                if let Some(text) = said.text {
                    self.builder.say(turn, &text);
                }
            }
            other => {
                let found = other.map_or_else(|| "none".to_owned(), |role| format!("{role:?}"));
                let error = format!("{place}.role must be system, developer, user or assistant, found {found}");
                let hint = if other == Some("tool") {
                    looks_like("openai-chat")
                } else {
                    "`--from` names the format of a record".to_owned()
                };
                return Err(ImportError::new(error).hint(hint));
            }
        }
        Ok(())
    }

    /// The turn that the model writes.
    fn reply(&mut self) -> usize {
        self.replied = true;
        if let Some(turn) = self.open {
            return turn;
        }
        let turn = self.builder.turn(Role::Assistant, None);
        self.open = Some(turn);
        turn
    }

    /// A call of a tool that the provider defines, and no server of ours.
    fn provided(&mut self, name: &str, item: &Item<'_>, place: &dyn Display) -> Result<usize, ImportError> {
        let (args, turn) = (item.args(false, place)?, Some(self.reply()));
        let call =
            ToolCall { name: name.to_owned(), server: Some(String::new()), args, caller: None, id: item.call(), turn };
        Ok(self.builder.made(call))
    }

    /// The answer that stands inside a call. What the model writes after it is another turn, also when only the end of
    /// the call is told and not what it answered.
    fn inside(&mut self, call: usize, result: ToolResult) {
        if result.content.is_some() {
            self.builder.answer_to(call, result);
        } else {
            self.builder.ended(call, result);
        }
        self.pause();
    }
}

fn unknown(word: &str, place: &dyn Display) -> ImportError {
    let error = ImportError::new(format!("{place}.type is {word:?}, which is not understood"));
    match word {
        "item_reference" => error.hint("the item it points to is not part of the record; a trace has to be whole"),
        "compaction" => error.hint("calls before it are not part of the record; a trace has to be whole"),
        "human" | "ai" | "tool" => error.hint(looks_like("langchain")),
        "user" | "assistant" | "result" => error.hint(looks_like("claude-code")),
        _ => error.hint("an item that is not known could be a call; calls are never left out silently"),
    }
}
