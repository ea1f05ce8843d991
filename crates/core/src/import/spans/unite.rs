//! Calls of spans and calls of messages, united: none lost, none twice.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use serde_json::Value;

use super::super::{ImportError, Options, results};
use super::calls::{Call, Calls};
use super::messages::{Answer, Mention, Speaker};
use super::replies::{Replies, Scope};
use super::talk::Talk;
use crate::json;
use crate::trace::{CallError, Role, Tokens, ToolCall, ToolResult, Turn};

/// Calls with their answers in the order of dispatch, and the turns.
pub(super) struct Union {
    pub(super) calls: Vec<ToolCall>,
    pub(super) results: Vec<Option<ToolResult>>,
    pub(super) turns: Option<Vec<Turn>>,
    /// Whether a reply after the last recorded one is missing: the run went on with a call that no reply tells of.
    pub(super) went_on: bool,
}

/// A call in the making.
struct Made {
    call: Call,
    turn: Option<usize>,
    /// What a message says it answered.
    answer: Option<ToolResult>,
}

struct Work<'o> {
    options: &'o Options,
    made: Vec<Made>,
    open: Open,
    /// Every call by its id, those first that wait for an answer longest.
    by_id: BTreeMap<String, VecDeque<usize>>,
    /// Calls of the conversation at hand, for answers under an id that no call has.
    recent: VecDeque<usize>,
}

/// Calls of spans that no message has claimed yet, by what they may be known by.
#[derive(Default)]
struct Open {
    by_key: BTreeMap<Key, VecDeque<usize>>,
    taken: Vec<bool>,
}

/// What a call may be known by, and where.
type Key = (Where, Known);

/// Where a call was made.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Where {
    /// In the conversation of the run, by whichever agent spoke in it.
    Main,
    /// In that of a helper.
    Helper(Scope),
    Anywhere,
}

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
enum Known {
    Id(String),
    /// The name and the canonical arguments.
    Given(String, String),
    /// The name, where the span does not tell the arguments.
    Bare(String),
    /// The name, whatever the arguments.
    Named(String),
}

impl Union {
    pub(super) fn of(calls: Calls, replies: Replies, options: &Options) -> Result<Self, ImportError> {
        let (made, recent) = (Vec::new(), VecDeque::new());
        let mut work = Work { options, made, open: Open::default(), by_id: BTreeMap::new(), recent };
        let talks = std::iter::once(&replies.main).chain(replies.others.iter().map(|(_, talk)| talk));
        let mentions = talks.flat_map(|talk| &talk.said).flat_map(|(_, message)| &message.calls);
        let told: BTreeSet<String> = mentions.filter_map(|mention| mention.id.clone()).collect();
        let main: BTreeSet<Scope> = replies.main_scopes.into_iter().collect();
        let end = replies.main.end;
        let mut late = Vec::new();
        for call in calls.list {
            if main.contains(&call.scope) && call.start >= end {
                late.push(work.made.len());
            }
            let place = if main.contains(&call.scope) { Where::Main } else { Where::Helper(call.scope) };
            work.offer(call, place, &told);
        }
        let is_told = replies.main.is_whole();
        let mut turns = Vec::new();
        work.hear(replies.main, Where::Main, Some(&mut turns))?;
        for (scope, talk) in replies.others {
            work.hear(talk, Where::Helper(scope), None)?;
        }
        let went_on = late.into_iter().any(|at| !work.open.taken[at]);
        let is_whole = is_told && !went_on;
        if !is_whole {
            work.made.iter_mut().for_each(|made| made.turn = None);
        }
        // The sort is stable: calls of spans come in their order, those of messages after the reply that made them.
        work.made.sort_by_key(|made| made.call.start);
        let (calls, results) = work.made.into_iter().map(|made| finish(made, options)).unzip();
        Ok(Self { calls, results, turns: is_whole.then_some(turns), went_on })
    }
}

impl Work<'_> {
    /// Adds a call of spans. Where a message tells of its id, only that message may claim it.
    fn offer(&mut self, call: Call, place: Where, told: &BTreeSet<String>) {
        let at = self.made.len();
        let name = self.options.servers.split(&call.name).1.to_owned();
        let known = match (&call.id, &call.args) {
            (Some(id), _) if told.contains(id) => vec![Known::Id(id.clone())],
            (_, Some(args)) if !args.is_string() => {
                vec![Known::Given(name.clone(), json::canonical(args)), Known::Named(name)]
            }
            _ => vec![Known::Bare(name.clone()), Known::Named(name)],
        };
        for known in known {
            self.open.by_key.entry((place, known.clone())).or_default().push_back(at);
            self.open.by_key.entry((Where::Anywhere, known)).or_default().push_back(at);
        }
        self.open.taken.push(false);
        if let Some(id) = &call.id {
            self.by_id.entry(id.clone()).or_default().push_back(at);
        }
        self.made.push(Made { call, turn: None, answer: None });
    }

    /// Takes the calls and answers of a conversation, and its turns where they are asked for.
    fn hear(&mut self, talk: Talk, place: Where, mut turns: Option<&mut Vec<Turn>>) -> Result<(), ImportError> {
        self.recent.clear();
        let mut say = |role: Role, content: Option<String>| {
            let turns = turns.as_mut()?;
            turns.push(Turn { role, content });
            Some(turns.len() - 1)
        };
        for (time, message) in talk.said {
            let text = message.text();
            let is_question = message.speaker == Speaker::User && (text.is_some() || message.answers.is_empty());
            // A reply may hold calls that its provider answered at once; a question follows the answers it comes with.
            let is_reply = message.speaker == Speaker::Assistant;
            let turn = if is_reply { say(Role::Assistant, text.clone()) } else { None };
            for mention in message.calls {
                self.called(mention, place, time, turn);
            }
            for answer in message.answers {
                say(Role::Tool, results::text(&answer.result));
                self.answered(answer)?;
            }
            if is_question {
                say(Role::User, text);
            }
        }
        Ok(())
    }

    /// A message tells of a call.
    fn called(&mut self, mention: Mention, place: Where, time: u64, turn: Option<usize>) {
        let (server, name) = self.options.servers.split(&mention.name);
        let at = match self.open.claim(&mention, name, place) {
            Some(at) => at,
            None => {
                let call = Call { name: mention.name.clone(), start: time, ..Call::default() };
                self.made.push(Made { call, turn: None, answer: None });
                self.made.len() - 1
            }
        };
        let made = &mut self.made[at];
        if let Some(id) = &mention.id
            && made.call.id.as_ref() != Some(id)
        {
            self.by_id.entry(id.clone()).or_default().push_back(at);
        }
        self.recent.push_back(at);
        made.turn = turn;
        made.call.id = made.call.id.take().or(mention.id);
        // A span of MCP has the bare name, and the message the one that tells the server.
        if server.is_some() && made.call.name == name {
            made.call.name = mention.name;
        }
        // Text that is no JSON is a recorder's way to print arguments, where the message has them as they were.
        if made.call.args.as_ref().is_none_or(Value::is_string) && mention.args.is_some() {
            made.call.args = mention.args;
        }
    }

    /// A message tells of an answer: to the call under its id, else to the first that has none.
    fn answered(&mut self, answer: Answer) -> Result<(), ImportError> {
        let queue = answer.id.as_ref().and_then(|id| self.by_id.get_mut(id));
        let is_known = queue.is_some();
        let at = queue.and_then(VecDeque::pop_front).or_else(|| {
            let made = &self.made;
            let mut waiting = std::iter::from_fn(|| self.recent.pop_front());
            waiting.find(|&at| made[at].answer.is_none()).filter(|_| !is_known)
        });
        match at {
            Some(at) => self.made[at].answer = Some(answer.result),
            // An answer that is told again.
            None if is_known => {}
            None => {
                let which =
                    answer.id.map_or_else(|| "a call without an id".to_owned(), |id| format!("the call {id:?}"));
                let message = format!("a message answers {which}, but no span and no message tells of that call");
                return Err(ImportError::new(message)
                    .hint("the trace may have lost spans; a trace has to be whole to be judged"));
            }
        }
        Ok(())
    }
}

impl Open {
    /// The call of a span that a message tells of: by its id, then by its name and arguments, first among the calls of the
    /// same agent.
    fn claim(&mut self, mention: &Mention, name: &str, place: Where) -> Option<usize> {
        let id = mention.id.clone().map(Known::Id);
        let given = match &mention.args {
            Some(args) => [Known::Given(name.to_owned(), json::canonical(args)), Known::Bare(name.to_owned())],
            None => [Known::Bare(name.to_owned()), Known::Named(name.to_owned())],
        };
        for known in id.into_iter().chain(given) {
            // Without arguments to compare, the call of another agent is another call.
            let anywhere = matches!(known, Known::Id(_) | Known::Given(..)).then_some(Where::Anywhere);
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

/// The call and its answer. What its spans say goes before what a message says.
fn finish(made: Made, options: &Options) -> (ToolCall, Option<ToolResult>) {
    let Made { call, turn, answer } = made;
    let (server, name) = options.servers.split(&call.name);
    let failed = if call.failure.is_some() { Some(true) } else { call.ended.then_some(false) };
    let told = match (call.answer, answer) {
        (Some(value), _) => Some(results::of_value(value, failed)),
        (None, Some(answer)) => Some(results::judged(answer, failed)),
        (None, None) => failed.map(|failed| ToolResult { is_error: Some(failed), ..ToolResult::default() }),
    };
    let result = told.map(|mut result| {
        if let Some(failure) = call.failure {
            let text = results::text(&result).filter(|text| !text.is_empty());
            result.error = Some(Box::new(CallError { message: text.unwrap_or(failure.message), ..failure }));
        }
        ToolResult { duration_ms: call.duration_ms, ..result }
    });
    let call = ToolCall {
        name: name.to_owned(),
        server: server.map(str::to_owned).or(call.server),
        args: call.args,
        caller: None,
        id: call.id,
        turn,
    };
    (call, result)
}

/// Tokens of all replies together; unknown when one of them does not say.
pub(super) fn tokens(spent: &[Option<Tokens>]) -> Tokens {
    let mut all = spent.iter().copied();
    let Some(Some(first)) = all.next() else { return Tokens::default() };
    let add = |a: Option<u64>, b: Option<u64>| Some(a?.saturating_add(b?));
    let sum = all.try_fold(first, |sum, next| {
        let next = next?;
        Some(Tokens {
            input: add(sum.input, next.input),
            output: add(sum.output, next.output),
            cached: add(sum.cached, next.cached),
            total: add(sum.total, next.total),
        })
    });
    sum.unwrap_or_default()
}
