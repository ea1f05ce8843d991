//! Spans in the order of their start, and the ancestors of each. Files have spans in the order of their end, parents may be
//! missing, and spans may form a cycle.

use std::collections::BTreeMap;

use super::super::ImportError;
use super::kinds::{self, Kind};
use super::vocabulary;
use super::{Span, Status};
use crate::json;

/// The spans of one trace, sorted, with the ancestors of each.
pub(super) struct Tree<'a> {
    pub(super) spans: Vec<Span<'a>>,
    pub(super) kinds: Vec<Kind>,
    /// The number of ancestors.
    pub(super) depth: Vec<usize>,
    /// The nearest ancestor that is not [`Kind::Other`].
    pub(super) near: Vec<Option<usize>>,
    /// The nearest ancestor that is a tool.
    pub(super) tool: Vec<Option<usize>>,
    /// The nearest ancestor that is an agent.
    pub(super) agent: Vec<Option<usize>>,
}

impl<'a> Tree<'a> {
    pub(super) fn of(mut spans: Vec<Span<'a>>) -> Result<Self, ImportError> {
        for span in &mut spans {
            // Of two different statuses the worse one counts.
            span.status = span.status.max(vocabulary::status(span).map_err(|error| error.at(span.label()))?);
        }
        let spans = once(spans)?;
        let mut kinds = Vec::with_capacity(spans.len());
        for span in &spans {
            kinds.push(kinds::kind(span).map_err(|error| error.at(span.label()))?);
        }
        check_times(&spans, &kinds)?;

        let up = parents(&spans);
        let (above, depth) = walk_down(&up);
        let mut order: Vec<usize> = (0..spans.len()).collect();
        order.sort_by_key(|&at| (spans[at].start, depth[at], at));
        let mut place = vec![0; order.len()];
        for (new, &old) in order.iter().enumerate() {
            place[old] = new;
        }

        let count = spans.len();
        let (mut near, mut tool, mut agent) = (vec![None; count], vec![None; count], vec![None; count]);
        for &old in &above {
            let Some(parent) = up[old] else { continue };
            let at = place[parent];
            let pick = |is: bool, further: Option<usize>| if is { Some(at) } else { further };
            near[place[old]] = pick(kinds[parent] != Kind::Other, near[at]);
            tool[place[old]] = pick(kinds[parent] == Kind::Tool, tool[at]);
            agent[place[old]] = pick(kinds[parent] == Kind::Agent, agent[at]);
        }
        let depth = order.iter().map(|&old| depth[old]).collect();
        let kinds = order.iter().map(|&old| kinds[old]).collect();
        let mut slots: Vec<Option<Span<'a>>> = spans.into_iter().map(Some).collect();
        let spans = order.iter().filter_map(|&old| slots[old].take()).collect();
        Ok(Self { spans, kinds, depth, near, tool, agent })
    }

    /// The places of spans of a kind, in order.
    pub(super) fn of_kind(&self, kind: Kind) -> impl Iterator<Item = usize> {
        (0..self.kinds.len()).filter(move |&at| self.kinds[at] == kind)
    }
}

/// Each span once. A span may be delivered again, by some recorders also while it is open. Different spans with the same id are
/// refused, since the parent of their children is unclear.
fn once<'a>(spans: Vec<Span<'a>>) -> Result<Vec<Span<'a>>, ImportError> {
    let mut places: BTreeMap<&str, usize> = BTreeMap::new();
    let mut again = Vec::new();
    for (at, span) in spans.iter().enumerate() {
        let Some(id) = &span.id else { continue };
        let first = *places.entry(id).or_insert(at);
        if first != at {
            again.push((first, at));
        }
    }
    if again.is_empty() {
        return Ok(spans);
    }
    let mut slots: Vec<Option<Span<'a>>> = spans.into_iter().map(Some).collect();
    for (first, at) in again {
        let (Some(known), Some(again)) = (slots[first].take(), slots[at].take()) else { continue };
        if is_same(&known, &again).map_err(|error| error.at(again.label()))? {
            slots[first] = Some(merged(known, again)?);
        } else if [&known, &again].iter().all(|span| matches!(kinds::kind(span), Ok(Kind::Other))) {
            (slots[first], slots[at]) = (Some(known), Some(again));
        } else {
            return Err(ImportError::new(format!("{} and {} have the same id", known.label(), again.label()))
                .hint("which of them is the parent of other spans is unclear, so calls could be mixed up"));
        }
    }
    Ok(slots.into_iter().flatten().collect())
}

/// Whether two spans with one id are two deliveries of one span: nothing that both have differs.
fn is_same(known: &Span<'_>, again: &Span<'_>) -> Result<bool, ImportError> {
    let is_open = known.end.is_none() || again.end.is_none();
    if known.name != again.name || known.start != again.start || !(is_open || known.end == again.end) {
        return Ok(false);
    }
    let differ = |[a, b]: [Option<String>; 2]| a.is_some() && b.is_some() && a != b;
    let names = [vocabulary::name_in_attributes(known)?, vocabulary::name_in_attributes(again)?];
    let ids = [vocabulary::call_id(known)?, vocabulary::call_id(again)?];
    let given = [vocabulary::arguments(known)?, vocabulary::arguments(again)?];
    let given = given.map(|args| args.map(|args| json::canonical(&args)));
    Ok(![names.map(|name| name.map(str::to_owned)), ids, given].into_iter().any(differ))
}

/// One span of two deliveries. The later one counts, unless only the earlier one has ended; the other adds what it lacks. A
/// failure of either stays.
fn merged<'a>(known: Span<'a>, again: Span<'a>) -> Result<Span<'a>, ImportError> {
    let (mut kept, other) = if again.end.is_some() || known.end.is_none() { (again, known) } else { (known, again) };
    let failed = [&kept, &other].map(vocabulary::failure);
    let [own, others] = failed.map(|failure| failure.map_err(|error| error.at(kept.label())));
    let (own, others) = (own?, others?);
    kept.status = if own.is_some() || others.is_some() { Status::Failed } else { kept.status.max(other.status) };
    if own.is_none_or(|failure| failure.message.is_empty()) {
        kept.status_message = others.map(|failure| failure.message.into()).or(kept.status_message);
    }
    kept.attributes.fill(other.attributes);
    if kept.events.is_empty() {
        kept.events = other.events;
    }
    Ok(kept)
}

/// Calls and replies must have an order: that of their times, or that of the file when none has a time.
fn check_times(spans: &[Span<'_>], kinds: &[Kind]) -> Result<(), ImportError> {
    let mut known = spans.iter().zip(kinds).filter(|(_, kind)| matches!(kind, Kind::Tool | Kind::Model));
    let without = known.clone().find(|(span, _)| span.start.is_none());
    match without {
        Some((span, _)) if known.any(|(span, _)| span.start.is_some()) => {
            Err(ImportError::new(format!("{} has no start time, so its order is unknown", span.label()))
                .hint("spans of calls and of replies need a start time, or none of them may have one"))
        }
        _ => Ok(()),
    }
}

/// The parent of each span, where it is there.
fn parents(spans: &[Span<'_>]) -> Vec<Option<usize>> {
    let mut places: BTreeMap<&str, usize> = BTreeMap::new();
    for (at, span) in spans.iter().enumerate() {
        if let Some(id) = &span.id {
            places.entry(id).or_insert(at);
        }
    }
    let parent = |span: &Span<'_>| places.get(span.parent.as_deref()?).copied();
    spans.iter().map(parent).collect()
}

/// All spans with every parent before its children, and the depth of each. A cycle is cut where it is entered.
fn walk_down(up: &[Option<usize>]) -> (Vec<usize>, Vec<usize>) {
    let (mut order, mut depth) = (Vec::with_capacity(up.len()), vec![usize::MAX; up.len()]);
    let mut entered = vec![false; up.len()];
    for start in 0..up.len() {
        let mut path = Vec::new();
        let mut at = Some(start);
        while let Some(here) = at.filter(|&here| !entered[here]) {
            entered[here] = true;
            path.push(here);
            at = up[here];
        }
        let mut level = at.map_or(0, |known| depth[known].saturating_add(1));
        for here in path.into_iter().rev() {
            depth[here] = level;
            level = level.saturating_add(1);
            order.push(here);
        }
    }
    (order, depth)
}
