//! Makes a trace of messages: turns, calls, and the answers to them.

use std::collections::{BTreeMap, VecDeque};
use std::fmt::Display;

use super::message::{Answer, Call, Message, Part, Server, Spent};
use super::{ImportError, Options};
use crate::trace::{Conversation, LazyText, Role, StopReason, ToolCall, ToolResult, Trace, Turn};

/// A trace in the making.
pub(super) struct Builder<'o> {
    options: &'o Options,
    calls: Vec<ToolCall>,
    results: Vec<Option<ToolResult>>,
    turns: Vec<Turn>,
    /// Calls without an answer yet. Ids may be reused: the earliest call is answered first.
    waiting: BTreeMap<Waiting, VecDeque<usize>>,
    pub(super) spent: Spent,
    model: Model,
    /// Why the last reply ended.
    pub(super) stop: Option<StopReason>,
}

/// What an answer names its call by.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
enum Waiting {
    Id(Option<String>),
    Function(String),
}

/// The model that all replies name.
#[derive(Debug, Default)]
struct Model {
    name: Option<String>,
    differs: bool,
}

impl<'o> Builder<'o> {
    pub(super) fn new(options: &'o Options) -> Self {
        Self {
            options,
            calls: Vec::new(),
            results: Vec::new(),
            turns: Vec::new(),
            waiting: BTreeMap::new(),
            spent: Spent::Nothing,
            model: Model::default(),
            stop: None,
        }
    }

    /// Adds a message. Returns the number of its turn; a message that only answers calls has none.
    pub(super) fn add(&mut self, message: Message, place: &dyn Display) -> Result<Option<usize>, ImportError> {
        let Message { role, parts, model, spent, stop } = message;
        if role == Role::Assistant {
            self.spend(spent);
            self.name_model(model.as_deref());
            self.stop = stop;
            let turn = self.turn(Role::Assistant, None);
            return self.append(turn, parts, place).map(|()| Some(turn));
        }
        // The answers that a message of the user carries come before its text.
        let has_own_turn =
            role == Role::User && (parts.is_empty() || parts.iter().any(|part| !matches!(part, Part::Answer(_))));
        let mut text: Option<LazyText> = None;
        for part in parts {
            match part {
                Part::Text(more) => LazyText::join(&mut text, more),
                Part::Answer(answer) => self.answer(answer, place)?,
                Part::Other => {}
                Part::Call(call) => {
                    let found = format!("{place}{} is a call in a message of the {}", call.at, role.as_str());
                    return Err(ImportError::new(found)
                        .hint("only the model makes calls; the messages of the record may be in the wrong order"));
                }
            }
        }
        Ok(has_own_turn.then(|| self.turn(role, text)))
    }

    /// Adds parts to a message of the model: recorders may write the parts of one message separately.
    pub(super) fn append(&mut self, turn: usize, parts: Vec<Part>, place: &dyn Display) -> Result<(), ImportError> {
        for part in parts {
            match part {
                Part::Text(text) => {
                    if let Some(turn) = self.turns.get_mut(turn) {
                        LazyText::join(&mut turn.content, text);
                    }
                }
                Part::Call(call) => self.call(call, turn),
                Part::Answer(answer) => self.answer(answer, place)?,
                Part::Other => {}
            }
        }
        Ok(())
    }

    fn turn(&mut self, role: Role, content: Option<LazyText>) -> usize {
        self.turns.push(Turn { content, role });
        self.turns.len() - 1
    }

    /// Who spoke last.
    pub(super) fn last_role(&self) -> Option<Role> {
        self.turns.last().map(|turn| turn.role)
    }

    fn call(&mut self, call: Call, turn: usize) {
        let (server, name) = match call.server {
            Server::Known(server) => (server, call.name.clone()),
            ref by_name => {
                let (server, name) = self.options.servers.split(&call.name);
                let fallback = if let Server::FromNameOr(server) = by_name { Some(&**server) } else { None };
                (server.or(fallback).map(str::to_owned), name.to_owned())
            }
        };
        let at = self.calls.len();
        let waiting = self.waiting.entry(Waiting::Id(call.id.clone())).or_default();
        // An id that a later message uses again belongs to the later call. The earlier one stays without an answer.
        while waiting.front().is_some_and(|earlier| self.calls[*earlier].turn != Some(turn)) {
            waiting.pop_front();
        }
        waiting.push_back(at);
        if call.is_answered_by_name {
            self.waiting.entry(Waiting::Function(call.name)).or_default().push_back(at);
        }
        let (args, caller, id) = (call.args, call.caller, call.id);
        self.calls.push(ToolCall { name, server, args, caller, id, turn: Some(turn), ..ToolCall::default() });
        if let Some(result) = call.result.as_ref().filter(|result| result.content.is_some()) {
            self.turn(Role::Tool, result.text());
        }
        self.results.push(call.result);
    }

    /// Adds the answer to the earliest call that it names, and the turn that carries it.
    fn answer(&mut self, answer: Answer, place: &dyn Display) -> Result<(), ImportError> {
        let (key, which) = match (answer.id, answer.function) {
            (None, Some(function)) => {
                let which = format!("a call of {function:?}");
                (Waiting::Function(function), which)
            }
            (Some(id), _) => {
                let which = format!("the call {id:?}");
                (Waiting::Id(Some(id)), which)
            }
            (None, None) => (Waiting::Id(None), "a call without an id".to_owned()),
        };
        let waiting = self.waiting.get_mut(&key);
        let Some(at) = waiting.and_then(|waiting| next_open(waiting, &self.results)) else {
            let found = format!("{place}{} answers {which}, but no earlier call waits for that answer", answer.at);
            return Err(
                ImportError::new(found).hint("the beginning of the record may be missing; a trace must be complete")
            );
        };
        self.turn(Role::Tool, answer.result.text());
        self.results[at] = Some(answer.result);
        Ok(())
    }

    pub(super) fn spend(&mut self, spent: Spent) {
        self.spent = self.spent.plus(spent);
    }

    /// Notes the model of a reply. The model of the trace is unknown when replies name different ones.
    pub(super) fn name_model(&mut self, name: Option<&str>) {
        match (&self.model.name, name) {
            (_, None) => {}
            (None, Some(name)) => self.model.name = Some(name.to_owned()),
            (Some(known), Some(name)) => self.model.differs |= known != name,
        }
    }

    /// The calls so far.
    pub(super) fn calls(&self) -> &[ToolCall] {
        &self.calls
    }

    /// Refuses a list of one message in which the model says something, such as the reply that ended a run: calls before it
    /// would be missing. A conversation may begin with the model, but it continues.
    pub(super) fn refuse_reply_alone(&self, messages: usize) -> Result<(), ImportError> {
        match &*self.turns {
            [turn]
                if messages == 1
                    && turn.role == Role::Assistant
                    && (turn.content.is_some() || self.calls.is_empty()) =>
            {
                Err(ImportError::reply_alone_in_list())
            }
            _ => Ok(()),
        }
    }

    /// The trace, with the model that its replies name, else the given one. Without any message of the model its replies were
    /// not recorded, so it is unknown whether it called anything.
    pub(super) fn finish(self, model: Option<String>, duration_ms: Option<u64>) -> Trace {
        let last = self.turns.iter().rev().find(|turn| turn.role == Role::Assistant);
        let is_known = last.is_some() || !self.calls.is_empty();
        let Model { name, differs } = self.model;
        Trace {
            final_response: last.map(|turn| turn.content.clone().unwrap_or_default()),
            tool_calls: is_known.then_some(self.calls),
            tool_results: is_known.then_some(self.results),
            conversation: Conversation {
                model: name.or(model).filter(|_| !differs),
                turns: Some(self.turns),
                tokens: self.spent.tokens().unwrap_or_default(),
                stop_reason: self.stop,
                duration_ms,
            },
            ..Trace::default()
        }
    }
}

/// The earliest call of a queue without an answer. Calls may have been answered under another key.
fn next_open(queue: &mut VecDeque<usize>, results: &[Option<ToolResult>]) -> Option<usize> {
    while let Some(at) = queue.pop_front() {
        if results.get(at).is_some_and(Option::is_none) {
            return Some(at);
        }
    }
    None
}
