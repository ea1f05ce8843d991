//! Calls that every run makes, with what is equal in their arguments and status.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value, json};

use super::{Line, Options, Run, many, names, of_all, shape};
use crate::json;
use crate::trace::{ToolCall, ToolResult};

/// Most calls of one tool that are required.
const MAX_REQUIRED: usize = 50;

/// Most keys that are listed in a comment.
const MAX_LISTED: usize = 6;

/// A call, and whether it failed.
#[derive(Debug, Clone, Copy)]
struct CallOutcome<'a> {
    call: &'a ToolCall,
    failed: Option<bool>,
}

/// One tool, in all runs.
#[derive(Debug, Default)]
struct Tool<'a> {
    /// The runs that call it, with its calls.
    runs: Vec<(usize, Vec<CallOutcome<'a>>)>,
    /// The number of all runs.
    of: usize,
    is_action: bool,
}

/// What calls that are the same have in common: arguments, server and status.
type CallKey<'a> = (String, Option<&'a str>, Option<bool>);

/// The tools of the runs, in the order in which they were first called.
#[derive(Debug, Default)]
pub(super) struct Tools<'a> {
    order: Vec<&'a str>,
    by_name: BTreeMap<&'a str, Tool<'a>>,
    runs: usize,
}

impl<'a> Tools<'a> {
    pub(super) fn of(runs: &[&'a Run]) -> Self {
        let mut out = Self { runs: runs.len(), ..Self::default() };
        for (at, run) in runs.iter().enumerate() {
            let calls = run.trace.tool_calls.iter().flatten().enumerate();
            for ((place, call), changes) in calls.zip(&run.changes) {
                let tool = out.by_name.entry(&call.name).or_insert_with(|| {
                    out.order.push(&call.name);
                    Tool { runs: Vec::new(), of: runs.len(), is_action: false }
                });
                tool.is_action |= changes;
                let made = CallOutcome { call, failed: run.trace.result(place).and_then(ToolResult::failed) };
                match tool.runs.last_mut().filter(|(run, _)| *run == at) {
                    Some((_, calls)) => calls.push(made),
                    None => tool.runs.push((at, vec![made])),
                }
            }
        }
        out
    }

    pub(super) fn is_empty(&self) -> bool {
        self.order.is_empty()
    }

    pub(super) fn runs(&self) -> usize {
        self.runs
    }

    pub(super) fn has(&self, name: &str) -> bool {
        self.by_name.contains_key(name)
    }

    fn all(&self) -> impl Iterator<Item = (&'a str, &Tool<'a>)> {
        self.order.iter().filter_map(|name| Some((*name, self.by_name.get(name)?)))
    }

    /// Whether any tool changes something.
    fn has_actions(&self) -> bool {
        self.by_name.values().any(|tool| tool.is_action)
    }

    /// Names of the tools whose calls matter: those that change something, or all if none does.
    pub(super) fn that_matter(&self) -> BTreeSet<&'a str> {
        let has_actions = self.has_actions();
        self.all().filter(|(_, tool)| tool.is_action || !has_actions).map(|(name, _)| name).collect()
    }

    /// The calls that every run makes.
    pub(super) fn required(&self, options: Options) -> Vec<Line> {
        let matter = self.that_matter();
        let wanted = self.all().filter(|(name, _)| options.lookups || matter.contains(name));
        wanted.flat_map(|(_, tool)| tool.required(options)).collect()
    }

    /// Tools that change something, with the number of calls that is the same in each of several runs.
    pub(super) fn same_counts(&self) -> impl Iterator<Item = (&'a str, usize)> {
        let several = self.runs > 1;
        self.all().filter(move |(_, tool)| several && tool.is_action).filter_map(|(name, tool)| {
            let (least, most) = tool.counts();
            (least == most).then_some((name, most))
        })
    }

    /// Whether other tools are unlikely: there are many runs, and no tool is in one of them only.
    pub(super) fn are_all(&self, are_many: bool) -> bool {
        are_many && self.by_name.values().all(|tool| tool.runs.len() > 1)
    }

    /// That no other tool is called.
    pub(super) fn closed(&self, runs: usize) -> Line {
        let known: Vec<&&str> = self.by_name.keys().collect();
        names(&json!({ "items": { "enum": known } }), format!("no other tool in {}", of_all(runs)))
    }
}

impl<'a> Tool<'a> {
    /// The least and the most calls in a run.
    fn counts(&self) -> (usize, usize) {
        let counts = || self.runs.iter().map(|(_, calls)| calls.len());
        let least = if self.runs.len() < self.of { 0 } else { counts().min().unwrap_or(0) };
        (least, counts().max().unwrap_or(0))
    }

    fn required(&self, options: Options) -> Vec<Line> {
        let (least, most) = self.counts();
        if least == 0 {
            return Vec::new();
        }
        let mut out = Vec::new();
        if let [(_, only)] = self.runs.as_slice() {
            // One run that fails once and recovers does not show that the failure is needed.
            let needed = only.iter().filter(|made| made.failed != Some(true) || options.lookups);
            out.extend(needed.map(|made| line(&[*made], false, "1 run".to_owned())));
        } else {
            let (same, rest) = self.same_in_all();
            out.extend(same.into_iter().map(|made| line(&made, true, of_all(self.runs.len()))));
            out.extend(general(&rest, least, most));
        }
        let dropped = out.len().saturating_sub(MAX_REQUIRED);
        out.truncate(MAX_REQUIRED);
        if let Some(last) = out.last_mut().filter(|_| dropped > 0) {
            last.evidence.push_str(&format!("; {} more are not listed", many(dropped, "such call")));
        }
        out
    }

    /// Calls with the same arguments and status in every run, and the other calls of each run.
    fn same_in_all(&self) -> (Vec<Vec<CallOutcome<'a>>>, Vec<Vec<CallOutcome<'a>>>) {
        let key = |made: &CallOutcome<'a>| -> Option<CallKey<'a>> {
            let args = made.call.args.as_ref().filter(|args| shape::can_be_written(args))?;
            Some((json::canonical(args), made.call.server.as_deref(), made.failed))
        };
        let keyed: Vec<Vec<_>> = self.runs.iter().map(|(_, calls)| calls.iter().map(key).collect()).collect();
        let count = |keys: &[Option<CallKey<'a>>]| {
            let mut counts: BTreeMap<CallKey<'a>, usize> = BTreeMap::new();
            for key in keys.iter().flatten() {
                *counts.entry(key.clone()).or_default() += 1;
            }
            counts
        };
        let mut common = keyed.first().map(|keys| count(keys)).unwrap_or_default();
        for keys in keyed.iter().skip(1) {
            let counts = count(keys);
            common.retain(|key, least| {
                *least = (*least).min(counts.get(key).copied().unwrap_or(0));
                *least > 0
            });
        }
        // In the order of the first run. The others have equal ones.
        let mut same = Vec::new();
        let mut rest = Vec::new();
        for (at, ((_, calls), keys)) in self.runs.iter().zip(&keyed).enumerate() {
            let mut left = common.clone();
            let mut others = Vec::new();
            for (made, key) in calls.iter().zip(keys) {
                let taken = key.as_ref().and_then(|key| left.get_mut(key)).filter(|left| **left > 0);
                match taken {
                    Some(left) => {
                        *left -= 1;
                        if at == 0 {
                            same.push(vec![*made]);
                        }
                    }
                    None => others.push(*made),
                }
            }
            rest.push(others);
        }
        (same, rest)
    }
}

/// Lines for calls that differ from run to run.
fn general(rest: &[Vec<CallOutcome<'_>>], least: usize, most: usize) -> Vec<Line> {
    let counts = || rest.iter().map(Vec::len);
    let (fewest, largest) = (counts().min().unwrap_or(0), counts().max().unwrap_or(0));
    let runs = of_all(rest.len());
    if fewest == largest {
        // As many in each run: the first with the first, and so on.
        let at =
            |at: usize| -> Vec<CallOutcome<'_>> { rest.iter().filter_map(|calls| calls.get(at).copied()).collect() };
        return (0..fewest).map(|place| line(&at(place), true, runs.clone())).collect();
    }
    let all: Vec<CallOutcome<'_>> = rest.iter().flatten().copied().collect();
    let evidence = format!("{runs}, {least} to {most} calls in each");
    (0..fewest).map(|_| line(&all, true, evidence.clone())).collect()
}

/// The expectation that all of these calls fit.
fn line(made: &[CallOutcome<'_>], exact: bool, mut evidence: String) -> Line {
    let mut call = Map::new();
    if let Some(first) = made.first() {
        call.insert("name".to_owned(), json!(first.call.name));
        let server = first.call.server.as_ref().filter(|server| exact && !server.is_empty());
        if let Some(server) = server.filter(|server| made.iter().all(|made| made.call.server.as_ref() == Some(server)))
        {
            call.insert("server".to_owned(), json!(server));
        }
    }
    let args: Option<Vec<&Value>> =
        made.iter().map(|made| made.call.args.as_ref().filter(|args| args.is_object())).collect();
    match args {
        None => evidence.push_str("; arguments unknown"),
        Some(args) => {
            let schema = shape::of(&args, exact);
            let free = shape::free_keys(&schema);
            if let Some(value) = schema.get("const") {
                evidence.push_str(", same arguments");
                call.insert("args".to_owned(), json!({ "exact": value }));
            } else if !free.is_empty() || schema.get("required").is_some() {
                let is_equal = |key: &&str| {
                    let mut values = args.iter().map(|args| args.get(*key));
                    let first = values.next().flatten();
                    first.is_some_and(|first| values.all(|value| value.is_some_and(|value| json::equal(value, first))))
                };
                let (equal, vary): (Vec<&str>, Vec<&str>) = free.iter().copied().partition(is_equal);
                for (what, keys) in [("varies", vary), ("equal, but not written", equal)] {
                    if exact && !keys.is_empty() {
                        evidence.push_str(&format!("; {what}: {}", listed(&keys)));
                    }
                }
                call.insert("args".to_owned(), json!({ "schema": schema }));
            } else if exact {
                evidence.push_str("; arguments vary");
            }
        }
    }
    let failed = made.first().and_then(|made| made.failed);
    if let Some(failed) = failed.filter(|failed| made.iter().all(|made| made.failed == Some(*failed))) {
        call.insert("status".to_owned(), json!(if failed { "error" } else { "ok" }));
    }
    Line { value: Value::Object(call), evidence }
}

/// Names of arguments for a comment.
fn listed(keys: &[&str]) -> String {
    let plain = |key: &&&str| key.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.'));
    let shown: Vec<&str> = keys.iter().filter(plain).take(MAX_LISTED).copied().collect();
    match keys.len() - shown.len() {
        0 => shown.join(", "),
        more if shown.is_empty() => many(more, "argument"),
        more => format!("{} and {more} more", shown.join(", ")),
    }
}
