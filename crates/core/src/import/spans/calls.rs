//! The calls of spans, each once.
//!
//! One call often has several spans: of the framework that dispatched it, of the MCP client that sent it and of the MCP server
//! that ran it. Such spans are nested and name the same tool, or have the same id at the same time and no different
//! arguments. The outermost one is the call, and the others add what it lacks. A tool that calls another tool is two calls,
//! and so is one that calls itself with other arguments or is called again by an agent inside it.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::super::{ImportError, Options, wire};
use super::answers::{self, Answered, Outcome};
use super::kinds::Kind;
use super::tree::Tree;
use super::vocabulary;
use super::{Span, Status};
use crate::trace::{CallError, ErrorKind};

/// A call, from its spans.
#[derive(Debug, Clone, Default)]
pub(super) struct SpanCall {
    /// The name as recorded.
    pub(super) name: String,
    pub(super) id: Option<String>,
    pub(super) server: Option<String>,
    pub(super) args: Option<Value>,
    /// The attribute that holds the arguments, and whether it is of a span of MCP.
    pub(super) written: Option<(&'static str, bool)>,
    pub(super) answer: Option<Value>,
    pub(super) failure: Option<CallError>,
    /// The failure of the last span at each inner depth, if any: a client that retries and succeeds has not failed.
    pub(super) inner: BTreeMap<usize, Option<CallError>>,
    /// Whether it ended with a known status.
    pub(super) ended: bool,
    pub(super) start: u64,
    pub(super) end: Option<u64>,
    pub(super) duration_ms: Option<u64>,
    /// The call that it was made in, and the agent that made it.
    pub(super) scope: (Option<usize>, Option<usize>),
}

/// Every call in the order of dispatch, and the call of each span.
pub(super) struct Calls {
    pub(super) list: Vec<SpanCall>,
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
        let without_flag = tools_without_flag(tree);
        for at in order {
            let span = &tree.spans[at];
            let mut call = read(span).map_err(|error| error.at(span.label()))?;
            call.ended = call.ended && !without_flag.contains(&call.name);
            names[at] = Some(call.name.clone());
            let same = made.around(tree, at, &call, &names, options).or_else(|| made.same_id(&call, &by_id));
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

    /// The call of the span around this one, when it is the same call.
    fn around(
        &self,
        tree: &Tree<'_>,
        at: usize,
        call: &SpanCall,
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
        let has_same_id = matches!(ids, (Some(a), Some(b)) if a == b);
        if !has_same_id && has_other_arguments(&tree.spans[outer], &tree.spans[at]) {
            return None;
        }
        let name = names[outer].as_deref()?;
        let agree = known.args.is_none() || call.args.is_none() || known.args == call.args;
        let is_mcp = vocabulary::is_mcp(&tree.spans[at]);
        let is_same = name == call.name || (is_mcp && agree && is_prefixed(name, &call.name, options));
        is_same.then_some(home)
    }

    /// The call of a span elsewhere with the same id at the same time. An id alone is not enough: several runs in one trace may
    /// reuse ids, and so may a retry.
    fn same_id(&self, call: &SpanCall, by_id: &BTreeMap<String, Vec<usize>>) -> Option<usize> {
        let homes = by_id.get(call.id.as_ref()?)?;
        // Calls with one id follow each other, so only the last few can overlap. Comparing all would take too long.
        homes.iter().rev().take(8).copied().find(|&home| {
            let known = &self.list[home];
            known.name == call.name && known.overlaps(call) && !known.contradicts(call)
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
        let mut slots: Vec<Option<SpanCall>> = std::mem::take(&mut self.list).into_iter().map(Some).collect();
        self.list = order.iter().filter_map(|&old| slots[old].take()).collect();
        for call in &mut self.list {
            call.scope.0 = call.scope.0.map(|old| place[old]);
        }
        for home in self.of_span.iter_mut().flatten() {
            *home = place[*home];
        }
    }
}

impl SpanCall {
    /// Whether two calls overlap in time. Touching is not enough.
    fn overlaps(&self, other: &Self) -> bool {
        let (Some(end), Some(other_end)) = (self.end, other.end) else { return self.start == other.start };
        let holds = |outer: (u64, u64), inner: (u64, u64)| outer.0 <= inner.0 && inner.1 <= outer.1;
        let (own, others) = ((self.start, end), (other.start, other_end));
        holds(own, others) || holds(others, own) || (self.start < other_end && other.start < end)
    }

    /// Whether different arguments show that two calls are not one. Spans that are not nested share only an id and a time, so
    /// arguments in different attributes are compared too, except text that is not JSON, which is how some recorders print
    /// arguments.
    fn contradicts(&self, other: &Self) -> bool {
        let (Some(own), Some(others)) = (&self.args, &other.args) else { return false };
        let are_comparable = self.written == other.written || !(own.is_string() || others.is_string());
        own != others && are_comparable
    }

    /// Adds what another span of the same call has.
    fn fill(&mut self, inner: Self, depth: usize) {
        self.id = self.id.take().or(inner.id);
        self.server = self.server.take().or(inner.server);
        if self.args.is_none() {
            (self.args, self.written) = (inner.args, inner.written);
        }
        self.answer = self.answer.take().or(inner.answer);
        self.inner.insert(depth, inner.failure);
        // Of two spans that are not nested, the longer one is the outer one.
        if inner.start < self.start && inner.end >= self.end {
            (self.start, self.end, self.duration_ms) = (inner.start, inner.end, inner.duration_ms);
        }
    }
}

/// Whether different arguments show that two nested spans are two calls. Layers may record the arguments of one call
/// differently, so only spans that use the same attribute are compared.
fn has_other_arguments(outer: &Span<'_>, inner: &Span<'_>) -> bool {
    let keys = [vocabulary::key_of_arguments(outer), vocabulary::key_of_arguments(inner)];
    if keys[0].is_none() || keys[0] != keys[1] || vocabulary::is_mcp(outer) != vocabulary::is_mcp(inner) {
        return false;
    }
    match [vocabulary::arguments(outer), vocabulary::arguments(inner)] {
        // Text that is not JSON is how some recorders print arguments.
        [Ok(Some(a)), Ok(Some(b))] => a != b && !a.is_string() && !b.is_string(),
        _ => false,
    }
}

/// Whether `whole` is the name of a tool with its server as a prefix.
fn is_prefixed(whole: &str, name: &str, options: &Options) -> bool {
    let by_rule = options.servers.split(whole).1 == name;
    by_rule || whole.strip_suffix(name).is_some_and(|prefix| prefix.ends_with(['_', '-', '.', '/', ':']))
}

fn read(span: &Span<'_>) -> Result<SpanCall, ImportError> {
    let given = vocabulary::given(span)?;
    let mut call = SpanCall {
        name: vocabulary::tool_name(span)?.to_owned(),
        id: vocabulary::call_id(span)?.or(given.id),
        server: vocabulary::server(span)?,
        args: given.args,
        written: vocabulary::key_of_arguments(span).map(|key| (key, vocabulary::is_mcp(span))),
        answer: vocabulary::answer(span)?,
        failure: vocabulary::failure(span)?,
        ended: span.end.is_some() && span.status != Status::Unknown,
        start: span.start.unwrap_or(0),
        end: span.end,
        duration_ms: span.duration_ms(),
        ..SpanCall::default()
    };
    let outcome = match call.answer.take() {
        Some(answer) => {
            let Answered { id, content, outcome } = answered(span, answer, &call);
            call.id = call.id.or(id);
            call.answer = Some(content);
            outcome
        }
        None => Outcome::OfSpan,
    };
    call.ended = call.ended && outcome == Outcome::OfSpan;
    if outcome == Outcome::Failed && call.failure.is_none() {
        call.failure = Some(CallError { kind: ErrorKind::Tool, code: None, message: String::new() });
    }
    Ok(call)
}

/// The tools of MCP that the `OpenAI` Agents SDK lists in a span of its own. It drops the flag of their results, so that a good
/// status shows nothing.
fn tools_without_flag(tree: &Tree<'_>) -> BTreeSet<String> {
    let lists = tree.of_kind(Kind::Other).map(|at| &tree.spans[at]).filter(|span| span.name == "mcp_tools");
    let names = lists.filter_map(|span| vocabulary::answer(span).ok()?);
    names
        .filter_map(|names| match names {
            Value::String(text) => wire::typed::<Vec<String>>(&text).ok(),
            other => serde_json::from_value(other).ok(),
        })
        .flatten()
        .collect()
}

/// The answer of a span, without what the recorder wrote around it.
fn answered(span: &Span<'_>, answer: Value, call: &SpanCall) -> Answered {
    if let Some(found) = answers::answer(&answer, &call.name, call.id.as_deref()) {
        return found;
    }
    if span.attributes.has(&[vocabulary::ADK_RESPONSE]) {
        let parsed = answer.as_str().and_then(|text| wire::parse(text).ok());
        let read = answers::response(parsed.as_ref().unwrap_or(&answer));
        // The text is kept as it was written.
        return Answered { content: if read.outcome == Outcome::Failed { read.content } else { answer }, ..read };
    }
    // A span of MCP itself has the failure as its status.
    let is_unclear = !vocabulary::is_mcp(span) && answers::is_content_without_flag(&answer);
    let outcome = if is_unclear { Outcome::Unclear } else { answers::outcome(&answer) };
    Answered { id: None, content: answer, outcome }
}
