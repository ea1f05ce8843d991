//! Which call at a server is which call of the model.
//!
//! An id that the client sent along decides. Without one a call at a server belongs to a call that was waiting for its
//! answer: of the same tool with the same arguments, then with arguments that the client filled in, then the remaining
//! ones, in order. A call that repeats one that is already known is a retry. Uncertain cases are not joined in the agent's
//! favor first: a repetition is not mistaken for a refused call.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::mcp::McpCall;
use super::model::{Exchange, ModelCall};
use super::names::{self, Names, Tool};
use crate::eval::matching;
use crate::import::message::Server;
use crate::json;

/// The calls of both sides, side by side.
pub(super) struct Joined {
    /// The call at a server of each call of the model.
    pub(super) executed: Vec<Option<usize>>,
    /// The call of the model that each call at a server repeats.
    pub(super) repeats: Vec<Option<usize>>,
    /// The tools of servers that each call of the model may mean.
    pub(super) meant: Vec<Vec<Tool>>,
}

struct Join<'a> {
    exchanges: &'a [Exchange],
    asked: &'a [ModelCall],
    done: &'a [McpCall],
    out: Joined,
    /// Calls at servers that belong to a call of the model.
    taken: BTreeSet<usize>,
}

pub(super) fn join(exchanges: &[Exchange], asked: &[ModelCall], done: &[McpCall], names: &Names) -> Joined {
    let meant = asked.iter().map(|call| match call.call.server {
        Server::Known(_) => Vec::new(),
        _ => names.tools(&call.call.name, &exchanges[call.exchange].offered),
    });
    let out = Joined { executed: vec![None; asked.len()], repeats: vec![None; done.len()], meant: meant.collect() };
    let mut join = Join { exchanges, asked, done, out, taken: BTreeSet::new() };
    let with_ids = join.by_ids();
    let rest: Vec<usize> =
        (0..done.len()).filter(|at| !join.is_placed(*at) && !with_ids.contains(&done[*at].connection)).collect();
    join.by_arguments(&rest);
    join.out
}

impl Join<'_> {
    fn is_placed(&self, done: usize) -> bool {
        self.taken.contains(&done) || self.out.repeats[done].is_some()
    }

    fn take(&mut self, asked: usize, done: usize) {
        self.out.executed[asked] = Some(done);
        self.taken.insert(done);
    }

    /// Joins by ids. Returns the connections whose client sends them: what comes there without one, the program called itself.
    fn by_ids(&mut self) -> BTreeSet<u64> {
        let mut by_id: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
        for (at, call) in self.asked.iter().enumerate() {
            if let (Some(id), Server::FromName | Server::FromNameOr(_)) = (&call.call.id, &call.call.server) {
                by_id.entry(id).or_default().push(at);
            }
        }
        let mut connections = BTreeSet::new();
        for (at, done) in self.done.iter().enumerate() {
            let same = done.ids.iter().filter_map(|id| by_id.get(id.as_str())).flatten().copied();
            let may_be = |asked: &usize| {
                let call = &self.asked[*asked];
                let meant = &self.out.meant[*asked];
                self.exchanges[call.exchange].seq < done.seq
                    && (meant.iter().any(|(server, tool)| *server == done.server && *tool == done.tool)
                        || (meant.is_empty() && names::may_be(&call.call.name, &done.tool)))
            };
            let Some(asked) = same.filter(may_be).max() else { continue };
            connections.insert(done.connection);
            if self.out.executed[asked].is_none() {
                self.take(asked, at);
            } else {
                self.out.repeats[at] = Some(asked);
            }
        }
        connections
    }

    /// Whether a call at a server was made while a call of the model waited for its answer.
    fn waited(&self, asked: usize, done: usize) -> bool {
        let call = &self.asked[asked];
        let exchange = &self.exchanges[call.exchange];
        let shown = call.shown.as_ref().and_then(|(seq, _)| *seq);
        let until = shown.or(exchange.continued).unwrap_or(u64::MAX);
        (exchange.seq..until).contains(&self.done[done].seq)
    }

    fn by_arguments(&mut self, rest: &[usize]) {
        let mut groups: BTreeMap<(&str, &str), Vec<usize>> = BTreeMap::new();
        for at in rest {
            let done = &self.done[*at];
            groups.entry((&done.server, &done.tool)).or_default().push(*at);
        }
        let mut asked_of: BTreeMap<(&str, &str), Vec<usize>> = BTreeMap::new();
        let meant = self.out.meant.clone();
        let mut order: Vec<usize> = (0..self.asked.len()).filter(|at| self.out.executed[*at].is_none()).collect();
        order.sort_by_key(|at| (self.exchanges[self.asked[*at].exchange].end_seq, *at));
        for at in order {
            for (server, tool) in &meant[at] {
                asked_of.entry((server, tool)).or_default().push(at);
            }
        }
        for (tool, done) in groups {
            let asked = asked_of.remove(&tool).unwrap_or_default();
            let is_cut =
                |at: &usize| self.exchanges[self.asked[*at].exchange].reply().is_some_and(|(_, is_cut)| is_cut);
            // Replies that were cut off come last: the program retries.
            let (cut, whole): (Vec<usize>, Vec<usize>) = asked.into_iter().partition(is_cut);
            for asked in [whole, cut] {
                self.group(&asked, &done);
            }
        }
    }

    /// Calls of one tool.
    fn group(&mut self, asked: &[usize], done: &[usize]) {
        self.exactly(asked, done);
        self.repeats(done);
        self.with_more(asked, done);
        self.repeats(done);
        for asked in asked {
            if self.out.executed[*asked].is_some() {
                continue;
            }
            let Some(first) = done.iter().copied().find(|at| !self.is_placed(*at) && self.waited(*asked, *at)) else {
                continue;
            };
            self.take(*asked, first);
            // What repeats it is not the next call of the model.
            for at in done.iter().copied().filter(|at| *at > first) {
                let is_same = !self.is_placed(at) && json::equal(&self.done[at].args, &self.done[first].args);
                if is_same && self.waited(*asked, at) {
                    self.out.repeats[at] = Some(*asked);
                }
            }
        }
    }

    /// The same arguments.
    fn exactly(&mut self, asked: &[usize], done: &[usize]) {
        let mut by_args: BTreeMap<String, Vec<usize>> = BTreeMap::new();
        for at in done {
            by_args.entry(json::canonical(&self.done[*at].args)).or_default().push(*at);
        }
        for asked in asked {
            let Some(args) = &self.asked[*asked].call.args else { continue };
            let same = by_args.get(&json::canonical(args)).into_iter().flatten().copied();
            let found = { same }.find(|at| !self.is_placed(*at) && self.waited(*asked, *at));
            if let Some(found) = found
                && self.out.executed[*asked].is_none()
            {
                self.take(*asked, found);
            }
        }
    }

    /// The same arguments and more: the client filled in defaults.
    fn with_more(&mut self, asked: &[usize], done: &[usize]) {
        let left: Vec<usize> = asked.iter().copied().filter(|at| self.out.executed[*at].is_none()).collect();
        let right: Vec<usize> = done.iter().copied().filter(|at| !self.is_placed(*at)).collect();
        if left.is_empty() || right.is_empty() {
            return;
        }
        let fits = |asked: usize, done: usize| {
            let (Some(Value::Object(asked_args)), Value::Object(args)) =
                (&self.asked[asked].call.args, &self.done[done].args)
            else {
                return false;
            };
            self.waited(asked, done)
                && asked_args.iter().all(|(key, value)| args.get(key).is_some_and(|other| json::equal(value, other)))
        };
        let candidates: Vec<Vec<u32>> = left
            .iter()
            .map(|asked| (0_u32..).zip(&right).filter(|(_, done)| fits(*asked, **done)).map(|(at, _)| at).collect())
            .collect();
        let matching = matching::maximum(&candidates, right.len());
        for (asked, found) in left.into_iter().zip(matching.right_of) {
            if let Some(found) = found {
                self.take(asked, right[found]);
            }
        }
    }

    /// Calls that repeat one that the model requested, before it got an answer.
    fn repeats(&mut self, done: &[usize]) {
        let mut first: BTreeMap<String, Vec<usize>> = BTreeMap::new();
        let taken = done.iter().filter(|at| self.taken.contains(at));
        for at in taken {
            first.entry(json::canonical(&self.done[*at].args)).or_default().push(*at);
        }
        if first.is_empty() {
            return;
        }
        let asked_of: BTreeMap<usize, usize> =
            self.out.executed.iter().enumerate().filter_map(|(asked, done)| Some(((*done)?, asked))).collect();
        for at in done {
            if self.is_placed(*at) {
                continue;
            }
            let same = first.get(&json::canonical(&self.done[*at].args)).into_iter().flatten().rev();
            let earlier = same.filter(|earlier| *earlier < at).filter_map(|earlier| asked_of.get(earlier));
            let asked = { earlier }.find(|asked| self.waited(**asked, *at));
            self.out.repeats[*at] = asked.copied();
        }
    }
}
