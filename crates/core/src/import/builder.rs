//! Puts a trace together from messages: turns, calls, and the answers to them.

use std::collections::{BTreeMap, VecDeque};

use serde_json::Value;

use super::{ImportError, Options, results};
use crate::trace::{Conversation, Role, StopReason, Tokens, ToolCall, ToolResult, Trace, Turn};

/// A trace in the making.
pub(super) struct Builder<'o> {
    options: &'o Options,
    calls: Vec<ToolCall>,
    results: Vec<Option<ToolResult>>,
    turns: Vec<Turn>,
    /// Calls without an answer yet, by the id they were made under. Ids may be used again: the earliest call is answered
    /// first.
    waiting: BTreeMap<Option<String>, VecDeque<usize>>,
    tokens: Spent,
}

/// Tokens of all replies together; unknown once a reply did not say.
#[derive(Debug, Clone, Copy, Default)]
enum Spent {
    #[default]
    Nothing,
    Known(Tokens),
    Unknown,
}

impl<'o> Builder<'o> {
    pub(super) fn new(options: &'o Options) -> Self {
        Self {
            options,
            calls: Vec::new(),
            results: Vec::new(),
            turns: Vec::new(),
            waiting: BTreeMap::new(),
            tokens: Spent::Nothing,
        }
    }

    /// What is known beside the records.
    pub(super) fn options(&self) -> &'o Options {
        self.options
    }

    /// Adds a message and returns its place.
    pub(super) fn turn(&mut self, role: Role, content: Option<String>) -> usize {
        self.turns.push(Turn { role, content });
        self.turns.len() - 1
    }

    /// Adds text to a message that is already there: recorders write the parts of one message apart.
    pub(super) fn say(&mut self, turn: usize, text: &str) {
        if let Some(turn) = self.turns.get_mut(turn) {
            match &mut turn.content {
                Some(said) => said.extend(["\n", text]),
                said => *said = Some(text.to_owned()),
            }
        }
    }

    /// Who spoke last.
    pub(super) fn last_role(&self) -> Option<Role> {
        self.turns.last().map(|turn| turn.role)
    }

    /// Adds a call under the name it had on the wire; `turn` is the place of the message that made it.
    pub(super) fn call(&mut self, turn: Option<usize>, id: Option<&str>, name: &str, args: Option<Value>) -> usize {
        let (server, name) = self.split(name);
        let call = ToolCall { name, server, args, caller: None, id: id.map(str::to_owned), turn };
        self.made(call)
    }

    /// The server, where a name on the wire tells it, and the name of the tool.
    pub(super) fn split(&self, name: &str) -> (Option<String>, String) {
        let (server, name) = self.options.servers.split(name);
        (server.map(str::to_owned), name.to_owned())
    }

    /// Names the server of a call whose name does not tell it.
    pub(super) fn belongs(&mut self, call: usize, server: String) {
        if let Some(call) = self.calls.get_mut(call) {
            call.server.get_or_insert(server);
        }
    }

    /// Adds a call that is already whole.
    pub(super) fn made(&mut self, call: ToolCall) -> usize {
        let at = self.calls.len();
        let waiting = self.waiting.entry(call.id.clone()).or_default();
        // An id that is used again in a later message belongs to the later call: what still waited stays without an answer.
        while call.turn.is_some() && waiting.front().is_some_and(|earlier| self.calls[*earlier].turn != call.turn) {
            waiting.pop_front();
        }
        waiting.push_back(at);
        self.calls.push(call);
        self.results.push(None);
        at
    }

    /// Adds the answer to the earliest call under this id that has none, and the turn that carries it. `place` is where the
    /// answer stands, for the error when no such call was made.
    pub(super) fn answer(&mut self, id: Option<&str>, result: ToolResult, place: &str) -> Result<usize, ImportError> {
        let key = id.map(str::to_owned);
        let waiting = self.waiting.get_mut(&key);
        let Some(at) = waiting.and_then(|queue| next_open(queue, &self.results)) else {
            let which = id.map_or_else(|| "a call without an id".to_owned(), |id| format!("the call {id:?}"));
            return Err(ImportError::new(format!(
                "{place} answers {which}, but no call before it waits for that answer"
            ))
            .hint("the record may have lost its beginning; a trace has to be whole to be judged"));
        };
        self.answer_to(at, result);
        Ok(at)
    }

    /// Adds the answer to a call that the format names by other means than its id, and the turn that carries it.
    pub(super) fn answer_to(&mut self, at: usize, result: ToolResult) {
        self.turn(Role::Tool, results::text(&result));
        self.ended(at, result);
    }

    /// Sets how a call ended when no message carries an answer.
    pub(super) fn ended(&mut self, at: usize, result: ToolResult) {
        if let Some(slot) = self.results.get_mut(at) {
            *slot = Some(result);
        }
    }

    /// Takes the earliest call that has no answer yet off a queue of calls.
    pub(super) fn next_open(&self, queue: &mut VecDeque<usize>) -> Option<usize> {
        next_open(queue, &self.results)
    }

    /// Adds what one reply of the model spent; `None` when the reply does not say, which leaves the sum unknown.
    pub(super) fn spend(&mut self, tokens: Option<Tokens>) {
        self.tokens = match (self.tokens, tokens) {
            (Spent::Unknown, _) | (_, None) => Spent::Unknown,
            (Spent::Nothing, Some(tokens)) => Spent::Known(tokens),
            (Spent::Known(sum), Some(tokens)) => {
                let add = |a: Option<u64>, b: Option<u64>| Some(a?.saturating_add(b?));
                Spent::Known(Tokens {
                    input: add(sum.input, tokens.input),
                    output: add(sum.output, tokens.output),
                    cached: add(sum.cached, tokens.cached),
                    total: add(sum.total, tokens.total),
                })
            }
        };
    }

    /// The calls so far.
    pub(super) fn calls(&self) -> &[ToolCall] {
        &self.calls
    }

    /// The trace. Tokens are those of [`Builder::spend`]. Where no message is the model's, its replies were not recorded, and
    /// nobody can tell that it called nothing.
    pub(super) fn finish(
        self,
        model: Option<String>,
        stop_reason: Option<StopReason>,
        duration_ms: Option<u64>,
    ) -> Trace {
        let last = self.turns.iter().rev().find(|turn| turn.role == Role::Assistant);
        let is_known = last.is_some() || !self.calls.is_empty();
        Trace {
            final_response: last.map(|turn| turn.content.clone().unwrap_or_else(String::new)),
            tool_calls: is_known.then_some(self.calls),
            tool_results: is_known.then_some(self.results),
            conversation: Conversation {
                model,
                turns: Some(self.turns),
                tokens: match self.tokens {
                    Spent::Known(tokens) => tokens,
                    Spent::Nothing | Spent::Unknown => Tokens::default(),
                },
                stop_reason,
                duration_ms,
            },
        }
    }
}

/// A call may have been answered by other means than the queue it waits in.
fn next_open(queue: &mut VecDeque<usize>, results: &[Option<ToolResult>]) -> Option<usize> {
    while let Some(at) = queue.pop_front() {
        if results.get(at).is_some_and(Option::is_none) {
            return Some(at);
        }
    }
    None
}
