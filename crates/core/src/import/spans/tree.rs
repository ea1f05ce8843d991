//! Spans in the order of their start, and what lies above each. Files hold spans in the order of their end, parents may
//! be missing, and nothing keeps a file from linking spans in a ring.

use std::borrow::Cow;
use std::collections::BTreeMap;

use super::super::ImportError;
use super::vocabulary::{self, Kind};
use super::{Span, Status};
use crate::json;

/// The spans of one trace, sorted, with what lies above each.
pub(super) struct Tree<'a> {
    pub(super) spans: Vec<Span<'a>>,
    pub(super) kinds: Vec<Kind>,
    /// How many spans lie above.
    pub(super) depth: Vec<usize>,
    /// The nearest span above that is no [`Kind::Other`].
    pub(super) near: Vec<Option<usize>>,
    /// The nearest span above in which a tool ran.
    pub(super) tool: Vec<Option<usize>>,
    /// The nearest span above in which an agent was at work.
    pub(super) agent: Vec<Option<usize>>,
}

impl<'a> Tree<'a> {
    pub(super) fn of(mut spans: Vec<Span<'a>>) -> Result<Self, ImportError> {
        for span in &mut spans {
            // What a span tells twice and differently is the worse of both.
            span.status = span.status.max(vocabulary::status(span).map_err(|error| error.at(&span.label()))?);
        }
        let spans = once(spans)?;
        let mut kinds = Vec::with_capacity(spans.len());
        for span in &spans {
            kinds.push(vocabulary::kind(span).map_err(|error| error.at(&span.label()))?);
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

    /// Where spans of a kind are, in order.
    pub(super) fn of_kind(&self, kind: Kind) -> impl Iterator<Item = usize> {
        (0..self.kinds.len()).filter(move |&at| self.kinds[at] == kind)
    }
}

/// Each span once. A span may be delivered again, and by some recorders also while it is open. Spans that share no more than
/// their id are two, and which of them others lie below cannot be told.
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
        let (Some(known), Some(told)) = (slots[first].take(), slots[at].take()) else { continue };
        if is_same(&known, &told).map_err(|error| error.at(&told.label()))? {
            slots[first] = Some(united(known, told)?);
        } else if [&known, &told].iter().all(|span| matches!(vocabulary::kind(span), Ok(Kind::Other))) {
            (slots[first], slots[at]) = (Some(known), Some(told));
        } else {
            return Err(ImportError::new(format!("{} and {} have the same id", known.label(), told.label()))
                .hint("what happened inside of which of them is not told, so calls could be taken for one another"));
        }
    }
    Ok(slots.into_iter().flatten().collect())
}

/// Whether two spans with one id are two deliveries of one span: nothing that both tell of it differs.
fn is_same(known: &Span<'_>, told: &Span<'_>) -> Result<bool, ImportError> {
    let is_open = known.end.is_none() || told.end.is_none();
    if known.name != told.name || known.start != told.start || !(is_open || known.end == told.end) {
        return Ok(false);
    }
    let differ = |[a, b]: [Option<String>; 2]| a.is_some() && b.is_some() && a != b;
    let names = [vocabulary::told_name(known)?, vocabulary::told_name(told)?];
    let ids = [vocabulary::call_id(known)?, vocabulary::call_id(told)?];
    let given = [vocabulary::arguments(known)?, vocabulary::arguments(told)?];
    let given = given.map(|args| args.map(|args| json::canonical(&args)));
    Ok(![names.map(|name| name.map(Cow::into_owned)), ids, given].into_iter().any(differ))
}

/// One span of two deliveries. What was told last counts, unless only the earlier one has the end; what it does not tell the
/// other adds. A failure that either tells stays.
fn united<'a>(known: Span<'a>, told: Span<'a>) -> Result<Span<'a>, ImportError> {
    let (mut kept, other) = if told.end.is_some() || known.end.is_none() { (told, known) } else { (known, told) };
    let failed = [&kept, &other].map(vocabulary::failure);
    let [own, others] = failed.map(|failure| failure.map_err(|error| error.at(&kept.label())));
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

/// Calls and replies have to have an order: their times, or that of the file when none has a time.
fn check_times(spans: &[Span<'_>], kinds: &[Kind]) -> Result<(), ImportError> {
    let mut known = spans.iter().zip(kinds).filter(|(_, kind)| matches!(kind, Kind::Tool | Kind::Model));
    let without = known.clone().find(|(span, _)| span.start.is_none());
    match without {
        Some((span, _)) if known.any(|(span, _)| span.start.is_some()) => Err(ImportError::new(format!(
            "{} has no start time, so its place among the others is unknown",
            span.label()
        ))
        .hint("spans of calls and of replies need a start time, or none of them may have one")),
        _ => Ok(()),
    }
}

/// The span above each, where it is there.
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

/// All spans with every parent before its children, and how deep each lies. A ring is cut where it is entered.
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
