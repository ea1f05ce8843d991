//! Calls that spans are evidence of, each once.
//!
//! One call is often seen several times: by the framework that dispatched it, by the MCP client that sent it and by the
//! MCP server that ran it. Such spans lie inside one another and name the same tool, or carry the same id at the same time
//! and contradict each other in no argument; the outermost stands for the call and the others add what it lacks. A tool that
//! calls another tool is two calls, and so is one that calls itself with other arguments or is called again by an agent
//! inside it.

use std::collections::BTreeMap;

use serde_json::Value;

use super::super::{ImportError, Options};
use super::tree::Tree;
use super::vocabulary::{self, Kind};
use super::{Span, Status};
use crate::trace::{CallError, ErrorKind};

/// A call, as far as its spans tell.
#[derive(Debug, Clone, Default)]
pub(super) struct Call {
    /// The name on the wire.
    pub(super) name: String,
    pub(super) id: Option<String>,
    pub(super) server: Option<String>,
    pub(super) args: Option<Value>,
    /// How the span that told the arguments writes them: under which attribute, and whether as a span of MCP.
    pub(super) written: Option<(&'static str, bool)>,
    pub(super) answer: Option<Value>,
    pub(super) failure: Option<CallError>,
    /// How the last span at each depth below failed, if it did: a client that tries again and succeeds has not failed.
    pub(super) inner: BTreeMap<usize, Option<CallError>>,
    /// Whether it is over, and in a way that is known, so that it would have failed by now.
    pub(super) ended: bool,
    pub(super) start: u64,
    pub(super) end: Option<u64>,
    pub(super) duration_ms: Option<u64>,
    /// The call inside which it was made, and the agent that made it.
    pub(super) scope: (Option<usize>, Option<usize>),
}

/// Every call, in the order of dispatch, and which of them each span belongs to.
pub(super) struct Calls {
    pub(super) list: Vec<Call>,
    pub(super) of_span: Vec<Option<usize>>,
}

impl Calls {
    pub(super) fn of(tree: &Tree<'_>, options: &Options) -> Result<Self, ImportError> {
        let mut made = Self { list: Vec::new(), of_span: vec![None; tree.spans.len()] };
        let mut by_id: BTreeMap<String, Vec<usize>> = BTreeMap::new();
        // From the outside in: clocks of several machines may put an inner span before the outer one.
        let mut order: Vec<usize> = tree.of_kind(Kind::Tool).collect();
        order.sort_by_key(|&at| (tree.depth[at], at));
        let mut names: Vec<Option<String>> = vec![None; tree.spans.len()];
        for at in order {
            let span = &tree.spans[at];
            let mut call = read(span).map_err(|error| error.at(&span.label()))?;
            names[at] = Some(call.name.clone());
            let same = made.around(tree, at, &call, &names, options).or_else(|| made.beside(&call, &by_id));
            let home = match same {
                Some(home) => {
                    made.list[home].fill(call, tree.depth[at]);
                    home
                }
                None => {
                    call.scope = (tree.tool[at].and_then(|outer| made.of_span[outer]), tree.agent[at]);
                    made.list.push(call);
                    made.list.len() - 1
                }
            };
            if let Some(id) = &made.list[home].id {
                let known = by_id.entry(id.clone()).or_default();
                if known.last() != Some(&home) {
                    known.push(home);
                }
            }
            made.of_span[at] = Some(home);
        }
        for call in &mut made.list {
            let inner = std::mem::take(&mut call.inner).into_values().flatten().next();
            call.failure = call.failure.take().or(inner);
        }
        made.sort();
        Ok(made)
    }

    /// The call that a span around this one tells of, when it is the same.
    fn around(
        &self,
        tree: &Tree<'_>,
        at: usize,
        call: &Call,
        names: &[Option<String>],
        options: &Options,
    ) -> Option<usize> {
        let outer = tree.near[at].filter(|&outer| tree.kinds[outer] == Kind::Tool)?;
        let home = self.of_span[outer]?;
        let known = &self.list[home];
        let ids = (&known.id, &call.id);
        if matches!(ids, (Some(a), Some(b)) if a != b) {
            return None;
        }
        let is_told_as_one = matches!(ids, (Some(a), Some(b)) if a == b);
        if !is_told_as_one && is_given_otherwise(&tree.spans[outer], &tree.spans[at]) {
            return None;
        }
        let name = names[outer].as_deref()?;
        let agree = known.args.is_none() || call.args.is_none() || known.args == call.args;
        let is_mcp = vocabulary::is_mcp(&tree.spans[at]);
        let is_same = name == call.name || (is_mcp && agree && is_prefixed(name, &call.name, options));
        is_same.then_some(home)
    }

    /// The call that a span elsewhere tells of under the same id and at the same time. An id alone is not enough: the runs
    /// of one trace may count their calls anew, and a tool that is tried again may keep its id.
    fn beside(&self, call: &Call, by_id: &BTreeMap<String, Vec<usize>>) -> Option<usize> {
        let homes = by_id.get(call.id.as_ref()?)?;
        // Calls under one id follow each other, so only the last few could overlap; looking further would cost too much.
        homes.iter().rev().take(8).copied().find(|&home| {
            let known = &self.list[home];
            known.name == call.name && known.is_at_the_time_of(call) && !known.contradicts(call)
        })
    }

    /// Puts the calls in the order of their start.
    fn sort(&mut self) {
        let mut order: Vec<usize> = (0..self.list.len()).collect();
        order.sort_by_key(|&at| (self.list[at].start, at));
        let mut place = vec![0; order.len()];
        for (new, &old) in order.iter().enumerate() {
            place[old] = new;
        }
        let mut slots: Vec<Option<Call>> = std::mem::take(&mut self.list).into_iter().map(Some).collect();
        self.list = order.iter().filter_map(|&old| slots[old].take()).collect();
        for call in &mut self.list {
            call.scope.0 = call.scope.0.map(|old| place[old]);
        }
        for home in self.of_span.iter_mut().flatten() {
            *home = place[*home];
        }
    }
}

impl Call {
    /// Whether two calls share more than the moment at which one ends and the other starts.
    fn is_at_the_time_of(&self, other: &Self) -> bool {
        let (Some(end), Some(other_end)) = (self.end, other.end) else { return self.start == other.start };
        let holds = |outer: (u64, u64), inner: (u64, u64)| outer.0 <= inner.0 && inner.1 <= outer.1;
        let (own, others) = ((self.start, end), (other.start, other_end));
        holds(own, others) || holds(others, own) || (self.start < other_end && other.start < end)
    }

    /// Whether arguments tell that two calls are not one. Nothing but an id and a time holds spans beside each other
    /// together, so arguments that were written in different ways are compared too, unless one of them is text that is no
    /// JSON: a recorder's way to print them.
    fn contradicts(&self, other: &Self) -> bool {
        let (Some(own), Some(others)) = (&self.args, &other.args) else { return false };
        let are_comparable = self.written == other.written || !(own.is_string() || others.is_string());
        own != others && are_comparable
    }

    /// Adds what another span of the same call tells.
    fn fill(&mut self, inner: Self, depth: usize) {
        self.id = self.id.take().or(inner.id);
        self.server = self.server.take().or(inner.server);
        if self.args.is_none() {
            (self.args, self.written) = (inner.args, inner.written);
        }
        self.answer = self.answer.take().or(inner.answer);
        self.inner.insert(depth, inner.failure);
        // Beside each other, the longer one is the outer one.
        if inner.start < self.start && inner.end >= self.end {
            (self.start, self.end, self.duration_ms) = (inner.start, inner.end, inner.duration_ms);
        }
    }
}

/// Whether two spans, one inside the other, are of two calls by their arguments. Layers may write down the arguments of one
/// call in their own ways, so only spans that write them in the same way are compared.
fn is_given_otherwise(outer: &Span<'_>, inner: &Span<'_>) -> bool {
    let keys = [outer, inner].map(vocabulary::key_of_arguments);
    if keys[0].is_none() || keys[0] != keys[1] || vocabulary::is_mcp(outer) != vocabulary::is_mcp(inner) {
        return false;
    }
    match [outer, inner].map(vocabulary::arguments) {
        // Text that is no JSON is a recorder's way to print arguments.
        [Ok(Some(a)), Ok(Some(b))] => a != b && !a.is_string() && !b.is_string(),
        _ => false,
    }
}

/// Whether `whole` is the name of a tool with that of its server before it.
fn is_prefixed(whole: &str, name: &str, options: &Options) -> bool {
    let by_rule = options.servers.split(whole).1 == name;
    by_rule || whole.strip_suffix(name).is_some_and(|prefix| prefix.ends_with(['_', '-', '.', '/', ':']))
}

fn read(span: &Span<'_>) -> Result<Call, ImportError> {
    let mut call = Call {
        name: vocabulary::tool_name(span)?.into_owned(),
        id: vocabulary::call_id(span)?,
        server: vocabulary::server(span)?,
        args: vocabulary::arguments(span)?,
        written: vocabulary::key_of_arguments(span).map(|key| (key, vocabulary::is_mcp(span))),
        answer: vocabulary::answer(span)?,
        failure: vocabulary::failure(span)?,
        ended: span.end.is_some() && span.status != Status::Unknown,
        start: span.start.unwrap_or(0),
        end: span.end,
        duration_ms: span.duration_ms(),
        ..Call::default()
    };
    if let Some((id, said, failed)) = call.answer.as_ref().and_then(vocabulary::message_of_tool) {
        call.id.get_or_insert(id);
        if failed && call.failure.is_none() {
            call.failure = Some(CallError { kind: ErrorKind::Tool, code: None, message: String::new() });
        }
        call.answer = Some(said);
    }
    Ok(call)
}
