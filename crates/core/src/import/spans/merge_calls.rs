//! Merges the calls of spans with those of messages, so that none is missing and none counts twice.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use serde_json::Value;

use super::super::message::{Answer, Call, Part};
use super::super::{ImportError, Options, results};
use super::calls::{Calls, SpanCall};
use super::conversation::Conversation;
use super::replies::{Replies, Scope};
use crate::json;
use crate::trace::{CallError, LazyText, Role, ToolCall, ToolResult, Turn};

/// Calls with their answers in the order of dispatch, and the turns.
pub(super) struct MergedCalls {
    pub(super) calls: Vec<ToolCall>,
    pub(super) results: Vec<Option<ToolResult>>,
    pub(super) turns: Option<Vec<Turn>>,
    /// Whether a reply after the last recorded one is missing: the run continued with a call that no reply made.
    pub(super) is_cut: bool,
}

/// A call in the making.
struct Merged {
    call: SpanCall,
    turn: Option<usize>,
    /// The answer in a message.
    answer: Option<ToolResult>,
    /// Its place among the calls in messages; calls that no message has come last.
    place: usize,
}

struct Merge<'o> {
    options: &'o Options,
    merged: Vec<Merged>,
    unclaimed: Unclaimed,
    /// Every call by its id, in the order in which they wait for an answer.
    by_id: BTreeMap<String, VecDeque<usize>>,
    /// Calls of the current conversation, for answers with an id that no call has.
    recent: VecDeque<usize>,
    /// Calls that have both a span and a message, by their id.
    claimed: BTreeMap<String, usize>,
    /// How many calls the messages so far have.
    in_messages: usize,
}

/// Calls of spans that belong to no message yet, by what may identify them.
#[derive(Default)]
struct Unclaimed {
    by_key: BTreeMap<Key, VecDeque<usize>>,
    taken: Vec<bool>,
}

type Key = (Where, Known);

/// The conversation in which a call was made.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Where {
    /// That of the run, by any of its agents.
    Main,
    /// That of a helper.
    Helper(Scope),
    Anywhere,
}

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
enum Known {
    Id(String),
    /// The name and the canonical arguments.
    NameAndArgs(String, String),
    /// The name, where the span has no arguments.
    NameWithoutArgs(String),
    /// The name, regardless of the arguments.
    Name(String),
}

impl MergedCalls {
    pub(super) fn of(calls: Calls, replies: Replies, options: &Options) -> Result<Self, ImportError> {
        let (merged, recent) = (Vec::new(), VecDeque::new());
        let (by_id, claimed) = (BTreeMap::new(), BTreeMap::new());
        let unclaimed = Unclaimed::default();
        let mut merge = Merge { options, merged, unclaimed, by_id, recent, claimed, in_messages: 0 };
        let all = std::iter::once(&replies.main).chain(replies.others.iter().map(|(_, other)| other));
        let in_messages = all.flat_map(|one| &one.messages).flat_map(|(_, message)| message.calls());
        let ids: BTreeSet<String> = in_messages.filter_map(|call| call.id.clone()).collect();
        let main: BTreeSet<Scope> = replies.main_scopes.into_iter().collect();
        let end = replies.main.end;
        let mut late = Vec::new();
        for call in calls.list {
            if main.contains(&call.scope) && call.start >= end {
                late.push(merge.merged.len());
            }
            let place = if main.contains(&call.scope) { Where::Main } else { Where::Helper(call.scope) };
            merge.add_span_call(call, place, &ids);
        }
        let has_all_messages = replies.main.is_complete();
        let mut turns = Vec::new();
        merge.append(replies.main, Where::Main, Some(&mut turns))?;
        for (scope, conversation) in replies.others {
            merge.append(conversation, Where::Helper(scope), None)?;
        }
        let is_cut = late.into_iter().any(|at| !merge.unclaimed.taken[at]);
        let is_complete = has_all_messages && !is_cut;
        if !is_complete {
            merge.merged.iter_mut().for_each(|merged| merged.turn = None);
        }
        // Recorders with coarse clocks start calls at the same time, and some write the newest span first.
        merge.merged.sort_by_key(|merged| (merged.call.start, merged.place));
        let (calls, results) = merge.merged.into_iter().map(|merged| finish(merged, options)).unzip();
        Ok(Self { calls, results, turns: is_complete.then_some(turns), is_cut })
    }
}

impl Merge<'_> {
    /// Adds a call of spans. Where a message has a call with its id, only that message may claim it.
    fn add_span_call(&mut self, call: SpanCall, place: Where, ids: &BTreeSet<String>) {
        let at = self.merged.len();
        let name = self.options.servers.split(&call.name).1.to_owned();
        let known = match (&call.id, &call.args) {
            (Some(id), _) if ids.contains(id) => vec![Known::Id(id.clone())],
            (_, Some(args)) if !args.is_string() => {
                vec![Known::NameAndArgs(name.clone(), json::canonical(args)), Known::Name(name)]
            }
            _ => vec![Known::NameWithoutArgs(name.clone()), Known::Name(name)],
        };
        for known in known {
            self.unclaimed.by_key.entry((place, known.clone())).or_default().push_back(at);
            self.unclaimed.by_key.entry((Where::Anywhere, known)).or_default().push_back(at);
        }
        self.unclaimed.taken.push(false);
        if let Some(id) = &call.id {
            self.by_id.entry(id.clone()).or_default().push_back(at);
        }
        self.merged.push(Merged { call, turn: None, answer: None, place: usize::MAX });
    }

    /// Adds the calls and answers of a conversation, and its turns where they are wanted.
    fn append(
        &mut self,
        conversation: Conversation,
        place: Where,
        mut turns: Option<&mut Vec<Turn>>,
    ) -> Result<(), ImportError> {
        self.recent.clear();
        let mut add_turn = |role: Role, content: Option<LazyText>| {
            let turns = turns.as_mut()?;
            turns.push(Turn { content, role });
            Some(turns.len() - 1)
        };
        for (time, message) in conversation.messages {
            let text = message.text();
            let is_question = message.role == Role::User && (text.is_some() || message.answers().next().is_none());
            // A reply may hold calls that its provider answered; a question comes after the answers in its message.
            let is_reply = message.role == Role::Assistant;
            let turn = if is_reply { add_turn(Role::Assistant, text.clone()) } else { None };
            let (calls, others): (Vec<Part>, Vec<Part>) =
                message.parts.into_iter().partition(|part| matches!(part, Part::Call(_)));
            // A call without a span comes after the call before it in the reply.
            let mut start = time;
            for part in calls.into_iter().chain(others) {
                match part {
                    Part::Call(call) => start = start.max(self.add_call(call, place, start, turn)),
                    Part::Answer(answer) => {
                        add_turn(Role::Tool, answer.result.text());
                        self.add_answer(answer)?;
                    }
                    Part::Text(_) | Part::Other => {}
                }
            }
            if is_question {
                add_turn(Role::User, text);
            }
        }
        Ok(())
    }

    /// Adds a call of a message. Returns when it started; `time` is that of a call without a span.
    fn add_call(&mut self, call: Call, place: Where, time: u64, turn: Option<usize>) -> u64 {
        let (server, name) = self.options.servers.split(&call.name);
        let at = match self.unclaimed.claim(&call, name, place) {
            Some(at) => {
                self.claimed.extend(call.id.clone().map(|id| (id, at)));
                at
            }
            None if self.is_repeated(&call, name) => return time,
            None => {
                let call = SpanCall { name: call.name.clone(), start: time, ..SpanCall::default() };
                self.merged.push(Merged { call, turn: None, answer: None, place: usize::MAX });
                self.merged.len() - 1
            }
        };
        let merged = &mut self.merged[at];
        if let Some(id) = &call.id
            && merged.call.id.as_ref() != Some(id)
        {
            self.by_id.entry(id.clone()).or_default().push_back(at);
        }
        self.recent.push_back(at);
        merged.turn = turn;
        merged.place = self.in_messages;
        self.in_messages += 1;
        merged.call.id = merged.call.id.take().or(call.id);
        // A span of MCP has the bare name; the name in the message includes the server.
        if server.is_some() && merged.call.name == name {
            merged.call.name = call.name;
        }
        // A span with arguments that are not JSON has them as its recorder prints them; the message has the original.
        if merged.call.args.as_ref().is_none_or(Value::is_string) && call.args.is_some() {
            merged.call.args = call.args;
        }
        merged.call.start
    }

    /// Whether a message repeats a call that ran once, according to its span: a call that ran again has another span.
    fn is_repeated(&self, call: &Call, name: &str) -> bool {
        let Some(&at) = call.id.as_ref().and_then(|id| self.claimed.get(id)) else { return false };
        let known = &self.merged[at].call;
        self.options.servers.split(&known.name).1 == name && known.args == call.args
    }

    /// Adds the answer in a message: to the call with its id, else to the first call without an answer, of the function that the
    /// answer names.
    fn add_answer(&mut self, answer: Answer) -> Result<(), ImportError> {
        let queue = answer.id.as_ref().and_then(|id| self.by_id.get_mut(id));
        let is_known = queue.is_some();
        let at = queue.and_then(VecDeque::pop_front).or_else(|| {
            let (merged, servers) = (&self.merged, &self.options.servers);
            let is_named = |name: &str| answer.function.as_deref().is_none_or(|function| function == name);
            let is_answered = |at: &usize| merged[*at].answer.is_some();
            while self.recent.front().is_some_and(is_answered) {
                self.recent.pop_front();
            }
            let fits = |at: &usize| {
                let name = &merged[*at].call.name;
                !is_answered(at) && (is_named(name) || is_named(servers.split(name).1))
            };
            // More calls than these are not made at once, and comparing all would take too long.
            let place = self.recent.iter().take(64).position(fits).filter(|_| !is_known)?;
            self.recent.remove(place)
        });
        match at {
            Some(at) => self.merged[at].answer = Some(answer.result),
            // The answer is repeated.
            None if is_known => {}
            None => {
                let which =
                    answer.id.map_or_else(|| "a call without an id".to_owned(), |id| format!("the call {id:?}"));
                let message = format!("a message answers {which}, but no span and no message has that call");
                return Err(
                    ImportError::new(message).hint("spans of the trace may be missing; a trace must be complete")
                );
            }
        }
        Ok(())
    }
}

impl Unclaimed {
    /// The span's call that a call of a message is: by its id, then by its name and arguments, first among the calls of the
    /// same agent.
    fn claim(&mut self, call: &Call, name: &str, place: Where) -> Option<usize> {
        let id = call.id.clone().map(Known::Id);
        let by_name = match &call.args {
            Some(args) => {
                [Known::NameAndArgs(name.to_owned(), json::canonical(args)), Known::NameWithoutArgs(name.to_owned())]
            }
            None => [Known::NameWithoutArgs(name.to_owned()), Known::Name(name.to_owned())],
        };
        for known in id.into_iter().chain(by_name) {
            // Without arguments to compare, the call of another agent is another call.
            let anywhere = matches!(known, Known::Id(_) | Known::NameAndArgs(..)).then_some(Where::Anywhere);
            for place in [place].into_iter().chain(anywhere) {
                let Some(queue) = self.by_key.get_mut(&(place, known.clone())) else { continue };
                while let Some(at) = queue.pop_front() {
                    if !std::mem::replace(&mut self.taken[at], true) {
                        return Some(at);
                    }
                }
            }
        }
        None
    }
}

/// The call and its answer. What its spans say counts more than what a message says.
fn finish(merged: Merged, options: &Options) -> (ToolCall, Option<ToolResult>) {
    let Merged { call, turn, answer, .. } = merged;
    let (server, name) = options.servers.split(&call.name);
    let is_error = if call.failure.is_some() { Some(true) } else { call.ended.then_some(false) };
    let result = match (call.answer, answer) {
        (Some(value), _) => Some(results::of_value(value, is_error)),
        (None, Some(answer)) => Some(results::with_error_flag(answer, is_error)),
        (None, None) => is_error.map(|is_error| ToolResult { is_error: Some(is_error), ..ToolResult::default() }),
    };
    let result = result.map(|mut result| {
        if let Some(failure) = call.failure {
            let text = result.text().filter(|text| !text.is_empty());
            result.error =
                Some(Box::new(CallError { message: text.map_or(failure.message, LazyText::into_string), ..failure }));
        }
        ToolResult { duration_ms: call.duration_ms, ..result }
    });
    let call = ToolCall {
        name: name.to_owned(),
        server: server.map(str::to_owned).or(call.server),
        args: call.args,
        id: call.id,
        turn,
        ..ToolCall::default()
    };
    (call, result)
}
