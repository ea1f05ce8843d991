//! Replies of models, and the conversations they belong to.
//!
//! A library below a framework records the same reply again, in a nested span: such spans are one reply. Where no span is that
//! of a model, agents have what their models would have. Replies of one agent in one call are one conversation. The
//! conversation of the run is the one that ends last, together with those that ended before it began. An agent that works
//! while another one waits is a helper: its calls count, its messages do not.

use std::collections::BTreeMap;

use super::super::ImportError;
use super::super::message::{Spent, stop_reason};
use super::Span;
use super::calls::Calls;
use super::conversation::Conversation;
use super::documents::Seen;
use super::kinds::Kind;
use super::recorded;
use super::tree::Tree;
use super::vocabulary;
use crate::trace::{StopReason, Tokens};

/// One reply, with its spans from the outermost to the innermost.
struct Reply {
    spans: Vec<usize>,
    scope: Scope,
}

/// The call and the agent that something happened in.
pub(super) type Scope = (Option<usize>, Option<usize>);

pub(super) struct Replies {
    /// What all replies cost.
    pub(super) spent: Spent,
    /// The conversation of the run, of all its agents.
    pub(super) main: Conversation,
    pub(super) main_scopes: Vec<Scope>,
    /// The conversations of helpers.
    pub(super) others: Vec<(Scope, Conversation)>,
    pub(super) model: Option<String>,
    pub(super) stop_reason: Option<StopReason>,
}

impl Replies {
    pub(super) fn of(tree: &Tree<'_>, calls: &Calls) -> Result<Self, ImportError> {
        let mut seen = Seen::default();
        let replies = replies(tree, calls)?;
        let mut spent = Spent::Nothing;
        let mut groups: BTreeMap<Scope, Vec<&Reply>> = BTreeMap::new();
        for reply in &replies {
            let (tokens, lost) = cost(tree, reply)?;
            if !lost {
                spent = spent.plus(Spent::reported(tokens));
                groups.entry(reply.scope).or_default().push(reply);
            }
        }
        let main_scopes = main_scopes(tree, &groups);
        let (mut main, mut others) = (Conversation::default(), Vec::new());
        let (mut model, mut last) = (None, None);
        for scope in &main_scopes {
            for reply in groups.remove(scope).into_iter().flatten() {
                append(&mut main, tree, reply, &mut seen)?;
                model = first(tree, reply, vocabulary::model)?.or(model);
                last = Some(reply);
            }
        }
        for (scope, replies) in groups {
            let mut other = Conversation::default();
            for reply in replies {
                append(&mut other, tree, reply, &mut seen)?;
            }
            others.push((scope, other));
        }
        let word = last.map_or(Ok(None), |reply| first(tree, reply, vocabulary::finish))?;
        let stop = match word {
            _ if is_broken(tree, &replies) => Some(StopReason::Error),
            Some(word) => stop_reason(&word),
            None => main.stop,
        };
        Ok(Self { spent, main, main_scopes, others, model, stop_reason: stop })
    }
}

/// The replies in order, each with all its spans.
fn replies(tree: &Tree<'_>, calls: &Calls) -> Result<Vec<Reply>, ImportError> {
    let scope = |at: usize| (tree.tool[at].and_then(|outer| calls.of_span[outer]), tree.agent[at]);
    let mut list: Vec<Reply> = Vec::new();
    let mut home: BTreeMap<usize, usize> = BTreeMap::new();
    let mut models: Vec<usize> = tree.of_kind(Kind::Model).collect();
    models.sort_by_key(|&at| (tree.depth[at], at));
    for at in models {
        let outer = tree.near[at].and_then(|outer| home.get(&outer).copied());
        let place = outer.unwrap_or(list.len());
        match list.get_mut(place) {
            Some(reply) => reply.spans.push(at),
            None => list.push(Reply { spans: vec![at], scope: scope(at) }),
        }
        home.insert(at, place);
    }
    if list.is_empty() {
        for at in tree.of_kind(Kind::Agent).filter(|&at| tree.near[at].is_none()) {
            if vocabulary::has_reply(&tree.spans[at]).map_err(|error| error.at(tree.spans[at].label()))? {
                list.push(Reply { spans: vec![at], scope: (None, Some(at)) });
            }
        }
    }
    list.sort_by_key(|reply| reply.spans.first().copied());
    Ok(list)
}

/// What a reply cost: as its outermost span says, else the sum of the inner ones. Also whether there was no reply because the
/// request failed.
fn cost(tree: &Tree<'_>, reply: &Reply) -> Result<(Option<Tokens>, bool), ImportError> {
    let mut sum = Spent::Nothing;
    for (place, &at) in reply.spans.iter().enumerate() {
        let span = &tree.spans[at];
        let Some(found) = vocabulary::tokens(span).map_err(|error| error.at(span.label()))? else { continue };
        if place == 0 {
            return Ok((Some(found), false));
        }
        sum = sum.plus(Spent::Known(found));
    }
    let has_no_reply = |span: &Span<'_>| -> Result<bool, ImportError> {
        Ok(span.has_failed() && !recorded::has_reply(span).map_err(|error| error.at(span.label()))?)
    };
    let sum = sum.tokens();
    let outer = reply.spans.first().filter(|_| sum.is_none()).map(|&at| has_no_reply(&tree.spans[at]));
    Ok((sum, outer.transpose()?.unwrap_or(false)))
}

/// The conversations that make up that of the run, in order.
fn main_scopes(tree: &Tree<'_>, groups: &BTreeMap<Scope, Vec<&Reply>>) -> Vec<Scope> {
    let outermost = |scope: &Scope| scope.0.is_none();
    let any_outermost = groups.keys().any(outermost);
    let mut spoken: Vec<(u64, u64, Scope)> = Vec::new();
    for (scope, replies) in groups.iter().filter(|(scope, _)| outermost(scope) || !any_outermost) {
        let starts = replies.iter().filter_map(|reply| reply.spans.first()).map(|&at| tree.spans[at].times());
        let begin = starts.clone().map(|(start, _)| start).min().unwrap_or(0);
        let end = starts.map(|(_, end)| end).max().unwrap_or(0);
        spoken.push((begin, end, *scope));
    }
    spoken.sort_by_key(|&(begin, end, scope)| (end, begin, scope));
    let mut out = Vec::new();
    let mut bound = u64::MAX;
    for (begin, end, scope) in spoken.into_iter().rev() {
        if end <= bound {
            out.push(scope);
            bound = begin;
        }
    }
    out.reverse();
    out
}

fn append<'s>(
    conversation: &mut Conversation,
    tree: &'s Tree<'_>,
    reply: &Reply,
    seen: &mut Seen<'s>,
) -> Result<(), ImportError> {
    let spans: Vec<&'s Span<'_>> = reply.spans.iter().map(|&at| &tree.spans[at]).collect();
    let (start, end) = spans.first().map_or((0, 0), |span| span.times());
    conversation.append(&spans, start, end, seen)
}

/// The first value that a span of a reply has.
fn first<T>(
    tree: &Tree<'_>,
    reply: &Reply,
    read: impl Fn(&Span<'_>) -> Result<Option<T>, ImportError>,
) -> Result<Option<T>, ImportError> {
    for &at in &reply.spans {
        let found = read(&tree.spans[at]).map_err(|error| error.at(tree.spans[at].label()))?;
        if found.is_some() {
            return Ok(found);
        }
    }
    Ok(None)
}

/// Whether the run broke: a root agent failed, or the last reply did.
fn is_broken(tree: &Tree<'_>, replies: &[Reply]) -> bool {
    let agents = tree.of_kind(Kind::Agent).filter(|&at| tree.near[at].is_none()).any(|at| tree.spans[at].has_failed());
    let last = replies.last().and_then(|reply| reply.spans.first());
    agents || last.is_some_and(|&at| tree.spans[at].has_failed())
}
