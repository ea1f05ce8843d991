//! Replies of models, and the conversations they belong to.
//!
//! A library below a framework tells of the same reply again, inside: such spans are one reply. Where no span is that of a
//! model, agents tell what their models would have told. Replies of one agent inside one call are one conversation. The
//! conversation of the run is the one that ends last, together with those that were over before it began: an agent that
//! works while another one waits is that one's helper, and its calls count while its words do not.

use std::collections::BTreeMap;

use super::super::ImportError;
use super::Span;
use super::calls::Calls;
use super::talk::{self, Talk};
use super::tree::Tree;
use super::vocabulary::{self, Kind};
use crate::trace::{StopReason, Tokens};

/// One reply: its spans, the outermost first.
struct Reply {
    spans: Vec<usize>,
    scope: Scope,
}

/// The call inside which something happened, and the agent it happened for.
pub(super) type Scope = (Option<usize>, Option<usize>);

/// All that was said.
pub(super) struct Replies {
    /// What each reply spent; `None` where its span does not say.
    pub(super) spent: Vec<Option<Tokens>>,
    /// The conversation of the run, with all agents that spoke in it.
    pub(super) main: Talk,
    pub(super) main_scopes: Vec<Scope>,
    /// What helpers said.
    pub(super) others: Vec<(Scope, Talk)>,
    pub(super) model: Option<String>,
    pub(super) stop_reason: Option<StopReason>,
}

impl Replies {
    pub(super) fn of(tree: &Tree<'_>, calls: &Calls) -> Result<Self, ImportError> {
        let replies = replies(tree, calls)?;
        let mut spent = Vec::new();
        let mut groups: BTreeMap<Scope, Vec<&Reply>> = BTreeMap::new();
        for reply in &replies {
            let (tokens, lost) = cost(tree, reply)?;
            if !lost {
                spent.push(tokens);
                groups.entry(reply.scope).or_default().push(reply);
            }
        }
        let main_scopes = main_scopes(tree, &groups);
        let (mut main, mut others) = (Talk::default(), Vec::new());
        let (mut model, mut last) = (None, None);
        for scope in &main_scopes {
            for reply in groups.remove(scope).into_iter().flatten() {
                hear(&mut main, tree, reply)?;
                model = first(tree, reply, vocabulary::model)?.or(model);
                last = Some(reply);
            }
        }
        for (scope, replies) in groups {
            let mut talk = Talk::default();
            for reply in replies {
                hear(&mut talk, tree, reply)?;
            }
            others.push((scope, talk));
        }
        let word = match last {
            Some(reply) => first(tree, reply, vocabulary::finish)?.or_else(|| main.finish().map(str::to_owned)),
            None => None,
        };
        let broke = is_broken(tree, &replies);
        let stop_reason =
            if broke { Some(StopReason::Error) } else { word.as_deref().and_then(vocabulary::stop_reason) };
        Ok(Self { spent, main, main_scopes, others, model, stop_reason })
    }
}

/// The replies in order, spans that tell of one reply together.
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
            if vocabulary::tells_of_reply(&tree.spans[at]).map_err(|error| error.at(&tree.spans[at].label()))? {
                list.push(Reply { spans: vec![at], scope: (None, Some(at)) });
            }
        }
    }
    list.sort_by_key(|reply| reply.spans.first().copied());
    Ok(list)
}

/// What a reply spent: as its outermost span says, else as those inside say together. Also whether there was no reply at
/// all, because asking for it failed.
fn cost(tree: &Tree<'_>, reply: &Reply) -> Result<(Option<Tokens>, bool), ImportError> {
    let mut sum: Option<Tokens> = None;
    for (place, &at) in reply.spans.iter().enumerate() {
        let span = &tree.spans[at];
        let Some(found) = vocabulary::tokens(span).map_err(|error| error.at(&span.label()))? else { continue };
        if place == 0 {
            return Ok((Some(found), false));
        }
        let add = |a: Option<u64>, b: Option<u64>| Some(a?.saturating_add(b?));
        sum = Some(sum.map_or(found, |sum| Tokens {
            input: add(sum.input, found.input),
            output: add(sum.output, found.output),
            cached: add(sum.cached, found.cached),
            total: add(sum.total, found.total),
        }));
    }
    let is_asked_in_vain = |span: &Span<'_>| -> Result<bool, ImportError> {
        Ok(span.has_failed() && !talk::has_reply(span).map_err(|error| error.at(&span.label()))?)
    };
    let outer = reply.spans.first().filter(|_| sum.is_none()).map(|&at| is_asked_in_vain(&tree.spans[at]));
    Ok((sum, outer.transpose()?.unwrap_or(false)))
}

/// Which conversations make that of the run, in order.
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

fn hear(talk: &mut Talk, tree: &Tree<'_>, reply: &Reply) -> Result<(), ImportError> {
    let spans: Vec<&Span<'_>> = reply.spans.iter().map(|&at| &tree.spans[at]).collect();
    let (start, end) = spans.first().map_or((0, 0), |span| span.times());
    talk.reply(&spans, start, end)
}

/// What the first span of a reply says that says it.
fn first<T>(
    tree: &Tree<'_>,
    reply: &Reply,
    read: impl Fn(&Span<'_>) -> Result<Option<T>, ImportError>,
) -> Result<Option<T>, ImportError> {
    for &at in &reply.spans {
        let found = read(&tree.spans[at]).map_err(|error| error.at(&tree.spans[at].label()))?;
        if found.is_some() {
            return Ok(found);
        }
    }
    Ok(None)
}

/// Whether the run broke: an agent that nothing surrounds failed, or the last reply of all did.
fn is_broken(tree: &Tree<'_>, replies: &[Reply]) -> bool {
    let agents = tree.of_kind(Kind::Agent).filter(|&at| tree.near[at].is_none()).any(|at| tree.spans[at].has_failed());
    let last = replies.last().and_then(|reply| reply.spans.first());
    agents || last.is_some_and(|&at| tree.spans[at].has_failed())
}
