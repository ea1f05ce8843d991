//! Gates that all good runs of a task satisfy, each with its evidence.
//!
//! What is equal in every run is required: calls that change something, their arguments and status, the order of calls. What
//! varies is left free. One run shows only shapes: which calls were made, with which arguments and status, but no values. A call
//! that changes nothing is not required if the runs change something, because agents look things up in many ways.
//!
//! `calls` finds the required calls, `shape` describes their arguments, `order` finds the edges. Everything is tried before it is
//! returned: loaded like any gates file, it passes every run.

mod calls;
mod order;
mod shape;
#[cfg(test)]
mod tests;

use std::collections::BTreeSet;

use serde_json::{Value, json};

use crate::assertion::Assertion;
use crate::diag::Source;
use crate::eval::narrative::changes_something;
use crate::eval::{NarrativeGate, NarrativeParams, Verdict};
use crate::judge;
use crate::suite::{self, GateFile, Variables};
use crate::trace::Trace;
use calls::Tools;

/// A run, reduced to what is inferred from.
#[derive(Debug, Clone)]
pub struct Run {
    /// Without the texts of messages and results.
    trace: Trace,
    /// For each call whether it changes something.
    changes: Vec<bool>,
    narrative: Verdict,
    answer: Answer,
}

/// The closing message of a run, which is not kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Answer {
    Unrecorded,
    Empty,
    Text,
}

impl Run {
    /// Takes from a trace what is needed.
    pub fn new(mut trace: Trace) -> Self {
        let narrative = NarrativeGate::new(NarrativeParams::default())
            .map_or(Verdict::Error, |gate| gate.judged(&trace, crate::eval::Judge::terse()).verdict);
        let changes = trace.tool_calls.iter().flatten().map(|call| changes_something(&trace, call)).collect();
        for result in trace.tool_results.iter_mut().flatten().flatten() {
            result.content = None;
            result.structured_content = None;
        }
        let answer = match trace.final_response.take().as_deref() {
            None => Answer::Unrecorded,
            Some("") => Answer::Empty,
            Some(_) => Answer::Text,
        };
        trace.conversation.turns = None;
        Self { trace, changes, narrative, answer }
    }

    /// Names of the tools with calls that change something.
    pub fn actions(&self) -> impl Iterator<Item = &str> {
        let calls = self.trace.tool_calls.iter().flatten();
        calls.zip(&self.changes).filter(|(_, changes)| **changes).map(|(call, _)| call.name.as_str())
    }

    /// Why nothing can be inferred from it: the recording is incomplete, or its program failed.
    pub fn incomplete(&self) -> Option<&str> {
        let failed = || self.trace.program.as_ref()?.failed.as_deref();
        self.trace.incomplete().or_else(failed)
    }
}

#[derive(Debug, Clone, Copy, Default)]
pub struct Options {
    /// Whether calls that change nothing are required too.
    pub lookups: bool,
}

/// One line of a gates file.
#[derive(Debug, Clone, PartialEq)]
pub struct Line {
    /// An item of a list.
    pub value: Value,
    /// How many runs show it, and what varies.
    pub evidence: String,
}

/// The gates that all runs of a task satisfy.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Inferred {
    /// Items of `trajectory.calls`.
    pub calls: Vec<Line>,
    /// That no run makes a call: `trajectory` allows none.
    pub no_calls: Option<String>,
    /// Items of `trajectory_axes.order`.
    pub order: Vec<Line>,
    /// That every run passes `narrative`.
    pub narrative: Option<String>,
    /// Items of `expect`.
    pub expect: Vec<Line>,
    /// Gates that are not here, and why.
    pub left_out: Vec<(&'static str, String)>,
}

/// Fewest runs after which tools that none of them calls are not allowed.
const MANY_RUNS: usize = 20;

/// The gates that the runs satisfy. `actions` are the tools that change something in any run of the input.
pub fn infer(runs: &[&Run], actions: &BTreeSet<String>, options: Options) -> Inferred {
    let mut out = Inferred::default();
    let count = runs.len();
    let evidence = of_all(count);
    let unrecorded = runs.iter().filter(|run| run.trace.tool_calls.is_none()).count();
    let tools = (unrecorded == 0).then(|| Tools::of(runs));
    match &tools {
        None => out.left_out.push(("trajectory", not_all(unrecorded, count, "record its calls", "record their calls"))),
        Some(tools) if tools.is_empty() => out.no_calls = Some(format!("no calls in {evidence}")),
        Some(tools) => {
            out.calls = tools.required(options);
            out.order = order::edges(runs, tools);
            out.expect.extend(limits(tools, actions));
        }
    }
    let lies = runs.iter().filter(|run| run.narrative != Verdict::Pass).count();
    match lies {
        0 => out.narrative = Some(evidence.clone()),
        _ => out.left_out.push(("narrative", not_all(lies, count, "pass it", "pass it"))),
    }
    let first = runs.first().and_then(|run| run.trace.conversation.stop_reason);
    if let Some(stop) = first.filter(|stop| runs.iter().all(|run| run.trace.conversation.stop_reason == Some(*stop))) {
        out.expect.push(assertion("conversation.stop_reason", &json!({ "exact": stop.as_str() }), evidence));
    }
    if let Some(tools) = &tools
        && !tools.is_empty()
        && (out.checks_nothing() || tools.are_all(count >= MANY_RUNS))
    {
        out.expect.insert(0, tools.closed(count));
    }
    let traces: Vec<&Trace> = runs.iter().map(|run| &run.trace).collect();
    out.keep_passing(&traces);
    out
}

/// What is left to require of runs that have nothing else in common: that a closing message is recorded. Without any gate their
/// task would not be in the file, and its runs would be unassessable. None if a run lacks even that.
pub fn last_resort(runs: &[&Run]) -> Option<Line> {
    let schema = match runs.iter().map(|run| run.answer).min()? {
        Answer::Unrecorded => return None,
        Answer::Empty => json!({ "type": "string" }),
        Answer::Text => json!({ "type": "string", "minLength": 1 }),
    };
    let evidence = format!("{}, nothing else to require", of_all(runs.len()));
    Some(assertion("final_response", &json!({ "schema": schema }), evidence))
}

/// Tools that change something and that these runs do not call, or always call the same number of times.
fn limits(tools: &Tools<'_>, actions: &BTreeSet<String>) -> Vec<Line> {
    let mut out = Vec::new();
    let others: Vec<&String> = actions.iter().filter(|name| !tools.has(name)).collect();
    if !others.is_empty() {
        let evidence = format!("called in other runs of the input, not in {}", of_all(tools.runs()));
        out.push(names(&json!({ "items": { "not": { "enum": others } } }), evidence));
    }
    out.extend(tools.same_counts().map(|(name, count)| {
        let most = json!({ "contains": { "const": name }, "minContains": 0, "maxContains": count });
        names(&most, format!("{} in each of {}", many(count, "call"), many(tools.runs(), "run")))
    }));
    out
}

/// An assertion on the names of all calls.
fn names(schema: &Value, evidence: String) -> Line {
    assertion("tool_calls[*].name", &json!({ "schema": schema }), evidence)
}

fn assertion(target: &str, matcher: &Value, evidence: String) -> Line {
    Line { value: json!({ "target": target, "matcher": matcher }), evidence }
}

/// A count with its noun.
fn many(count: usize, what: &str) -> String {
    if count == 1 { format!("1 {what}") } else { format!("{count} {what}s") }
}

/// How many runs do not do something.
fn not_all(bad: usize, count: usize, one: &str, several: &str) -> String {
    match (bad, count) {
        (_, 1) => format!("the run does not {one}"),
        (1, _) => format!("1 of {count} runs does not {one}"),
        _ => format!("{bad} of {count} runs do not {several}"),
    }
}

fn of_all(count: usize) -> String {
    if count == 1 { "1 run".to_owned() } else { format!("{count} of {count} runs") }
}

impl Inferred {
    /// Whether there is nothing to check.
    pub fn checks_nothing(&self) -> bool {
        self.calls.is_empty()
            && self.no_calls.is_none()
            && self.order.is_empty()
            && self.narrative.is_none()
            && self.expect.is_empty()
    }

    /// How many lines it has.
    pub fn len(&self) -> usize {
        let single = usize::from(self.no_calls.is_some()) + usize::from(self.narrative.is_some());
        self.calls.len() + self.order.len() + self.expect.len() + single
    }

    /// Whether it has no line.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Removes what a trace does not pass, with a note. `narrative` is judged only by traces with a closing message.
    pub fn keep_passing(&mut self, traces: &[&Trace]) {
        let has_message = traces.iter().any(|trace| trace.final_response.is_some());
        if self.narrative.is_some() && has_message && !passes(&json!({ "narrative": {} }), traces) {
            self.narrative = None;
            self.left_out.push(("narrative", "a run does not pass it".to_owned()));
        }
        // Usually all of it passes, and one look at each trace is enough.
        if passes(&self.without_narrative(), traces) {
            return;
        }
        if !self.calls.is_empty() && !passes(&json!({ "trajectory": self.trajectory() }), traces) {
            for line in &mut self.calls {
                if let Some(call) = line.value.as_object_mut() {
                    call.retain(|key, _| key == "name");
                }
            }
            let names_pass = passes(&json!({ "trajectory": self.trajectory() }), traces);
            let why = if names_pass { "arguments and status are unknown in a run" } else { "a run does not pass it" };
            if !names_pass {
                self.calls.clear();
            }
            self.left_out.push(("trajectory", why.to_owned()));
        }
        if self.no_calls.is_some() && !passes(&json!({ "trajectory": self.trajectory() }), traces) {
            self.no_calls = None;
        }
        let before = self.order.len();
        self.order.retain(|line| passes(&json!({ "trajectory_axes": { "order": [line.value] } }), traces));
        if self.order.len() < before {
            self.left_out.push(("trajectory_axes", "some order is not recorded in every run".to_owned()));
        }
        self.expect.retain(|line| passes(&json!({ "expect": [line.value] }), traces));
    }

    /// All gates except `narrative`.
    fn without_narrative(&self) -> Value {
        let mut gates = serde_json::Map::new();
        if !self.calls.is_empty() || self.no_calls.is_some() {
            gates.insert("trajectory".to_owned(), self.trajectory());
        }
        let values = |lines: &[Line]| lines.iter().map(|line| line.value.clone()).collect::<Vec<Value>>();
        if !self.order.is_empty() {
            gates.insert("trajectory_axes".to_owned(), json!({ "order": values(&self.order) }));
        }
        if !self.expect.is_empty() {
            gates.insert("expect".to_owned(), values(&self.expect).into());
        }
        Value::Object(gates)
    }

    fn trajectory(&self) -> Value {
        if self.no_calls.is_some() {
            return json!({ "mode": "subset", "calls": [] });
        }
        let calls: Vec<&Value> = self.calls.iter().map(|line| &line.value).collect();
        json!({ "mode": "superset", "calls": calls })
    }
}

/// JSON in ASCII: YAML does not allow every character of a JSON string.
fn ascii(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            ' '..='~' => out.push(c),
            c if u32::from(c) > 0xffff => out.push_str(&format!("\\U{:08x}", u32::from(c))),
            c => out.push_str(&format!("\\u{:04x}", u32::from(c))),
        }
    }
    out
}

/// Whether all traces pass the gates.
fn passes(gates: &Value, traces: &[&Trace]) -> bool {
    let mut gates = gates.clone();
    suite::escape_references(&mut gates);
    let source = Source::new("inferred.yml", ascii(&gates.to_string()));
    let loaded = suite::load_gates(&source, &Variables { suite_dir: "", outside: &|_| None }).value;
    let Some(GateFile { expect, gates, .. }) = loaded else { return false };
    let judged = |trace: &&Trace| judge::run_tersely(&expect as &[Assertion], &gates, trace);
    traces.iter().flat_map(judged).all(|check| check.verdict == Verdict::Pass)
}
