//! The smallest check that catches a missed mutant.
//!
//! For each operator a few candidates are tried, the smallest first. One is proposed only if it was tried: loaded from its
//! text like any gates file, it passes every recorded run, and with it the mutant is caught. A gate that the test has already
//! is not proposed again, because a file cannot have it twice; assertions can always be added.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value, json};

use super::args;
use super::edit::Edit;
use super::sites::Place;
use super::{Checks, Operator, Subject};
use crate::diag::Source;
use crate::eval::{GateKind, ReliabilityGate, Verdict};
use crate::json::{self as text, Layout};
use crate::judge;
use crate::suite::{self, GateFile, Gates, Variables};
use crate::target::{Step, path_text};
use crate::trace::{ToolCall, ToolResult, Trace};

/// Most bytes of a proposal: a longer one is nothing to paste.
const MAX_BYTES: usize = 4096;

/// Most repetitions of a call in a proposal.
const MAX_REPEATED: usize = 8;

/// Candidates of a subject by their text; none for one that cannot be used.
#[derive(Debug, Default)]
pub(super) struct Fixes {
    loaded: BTreeMap<String, Option<GateFile>>,
}

impl Fixes {
    /// The first candidate that passes every run and catches the mutant.
    pub(super) fn find(
        &mut self,
        subject: &mut Subject<'_>,
        run: usize,
        operator: Operator,
        place: &Place,
        edit: Edit,
        outcomes: &[bool],
    ) -> Option<Value> {
        let is_flip = matches!(edit, Edit::Outcome);
        let mut usable = Vec::new();
        for candidate in candidates(subject, run, operator, place, &edit, outcomes) {
            let text = Layout::LINE.text(&candidate);
            if text.len() <= MAX_BYTES && self.is_usable(&text, subject, outcomes) {
                usable.push((candidate, text));
            }
        }
        let undo = edit.apply(&mut subject.runs[run].trace);
        let found = usable.into_iter().find(|(_, text)| {
            let loaded = self.loaded.get(text).and_then(Option::as_ref);
            loaded.is_some_and(|GateFile { expect, gates, .. }| {
                let (own, more) = (subject.checks(), Checks { expect, gates });
                // Without gates over runs, what the own checks say is known: they pass.
                let all = [more, own];
                let all = if own.judges_groups() { &all[..] } else { &all[..1] };
                subject.judge(all, run, outcomes, is_flip).is_caught
            })
        });
        undo.apply(&mut subject.runs[run].trace);
        found.map(|(candidate, _)| candidate)
    }

    /// Whether a candidate can be loaded and passes every run that passes now.
    fn is_usable(&mut self, text: &str, subject: &Subject<'_>, outcomes: &[bool]) -> bool {
        if let Some(known) = self.loaded.get(text) {
            return known.is_some();
        }
        let source = Source::new("fix.yml", text);
        let loaded = suite::load_gates(&source, &Variables { suite_dir: "", outside: &|_| None }).value;
        let loaded = loaded.filter(|GateFile { expect, gates, .. }| {
            let passing = subject.runs.iter().zip(outcomes).filter(|(_, passed)| **passed);
            let passes = passing
                .flat_map(|(run, _)| judge::run_tersely(expect, gates, &run.trace))
                .all(|check| check.verdict == Verdict::Pass);
            let traces: Vec<&Trace> = subject.runs.iter().map(|run| &run.trace).collect();
            passes && judge::runs(gates, &traces, outcomes).iter().all(|check| check.verdict == Verdict::Pass)
        });
        self.loaded.entry(text.to_owned()).or_insert(loaded).is_some()
    }
}

/// Why there is no proposal.
pub(super) fn no_fix(operator: Operator, subject: &Subject<'_>, run: usize, place: &Place) -> &'static str {
    let calls = subject.runs.get(run).and_then(|run| run.trace.tool_calls.as_deref()).unwrap_or(&[]);
    let same = |first: &ToolCall, second: &ToolCall| first.name == second.name && first.args == second.args;
    match operator {
        Operator::ClaimUnmade if subject.gates.narrative.is_some() => {
            "`narrative` cannot tell that the claim is false: a call of this run may have done it"
        }
        Operator::ClaimUnmade => {
            "`narrative: {}` does not pass the recorded run, or a call of this run may have done it"
        }
        Operator::SwapCalls if calls.get(place.at..place.at + 2).is_some_and(|two| same(&two[0], &two[1])) => {
            "the two calls are equal, so only their results are swapped"
        }
        _ if subject.runs.len() > 1 => {
            "the recorded runs differ here, and none of the checks that were tried passes all of them and fails this change"
        }
        _ => "none of the checks that were tried passes the recorded run and fails this change",
    }
}

/// What may catch a change, the smallest first.
fn candidates(
    subject: &Subject<'_>,
    run: usize,
    operator: Operator,
    place: &Place,
    edit: &Edit,
    outcomes: &[bool],
) -> Vec<Value> {
    let trace = &subject.runs[run].trace;
    let mut out = match operator {
        Operator::MoreTokens => tokens(subject, outcomes, trace).into_iter().collect(),
        Operator::FlipOutcome => Vec::new(),
        Operator::ClaimUnmade => vec![json!({ "narrative": {} })],
        Operator::DropNegation | Operator::CutMessage => message(trace, edit),
        _ => calls(trace, operator, place, edit),
    };
    out.iter_mut().for_each(suite::escape_references);
    if subject.is_group
        && let Some(gate) = &subject.gates.reliability
    {
        let stricter = stricter(gate, outcomes);
        let alone = out.clone();
        for strict in stricter {
            out.extend(alone.iter().filter_map(|candidate| {
                let mut both = candidate.as_object()?.clone();
                both.extend(strict.as_object()?.clone());
                Some(Value::Object(both))
            }));
            out.push(strict);
        }
    }
    out.retain(|candidate| !has_gate_of(candidate, subject.gates));
    out
}

/// Whether a test cannot take a candidate, because it already has this gate. `reliability` is replaced by a stricter one.
fn has_gate_of(candidate: &Value, gates: &Gates) -> bool {
    let has = |kind: GateKind| candidate.get(kind.name()).is_some();
    (has(GateKind::Trajectory) && gates.trajectory.is_some())
        || (has(GateKind::TrajectoryAxes) && gates.trajectory_axes.is_some())
        || (has(GateKind::Narrative) && gates.narrative.is_some())
}

fn assertion(target: &str, matcher: &Value) -> Value {
    json!({ "expect": [{ "target": target, "matcher": matcher }] })
}

/// At least these calls.
fn superset(calls: &[Value]) -> Value {
    json!({ "trajectory": { "mode": "superset", "calls": calls } })
}

/// A call as often as the run makes it.
fn repeated(call: &Value, count: usize) -> Option<Vec<Value>> {
    (1..=MAX_REPEATED).contains(&count).then(|| vec![call.clone(); count])
}

fn calls(trace: &Trace, operator: Operator, place: &Place, edit: &Edit) -> Vec<Value> {
    let calls = trace.tool_calls.as_deref().unwrap_or(&[]);
    let at = place.at;
    let mut out = Vec::new();
    // After the last call there is no next one.
    let call = calls.get(at).or(calls.last());
    let count = |is: &dyn Fn(usize, &ToolCall) -> bool| (0..).zip(calls).filter(|(at, call)| is(*at, call)).count();
    let name_of = |at: usize| calls.get(at).map_or("", |call| call.name.as_str());
    let many = |least: &str, count: usize| assertion("tool_names", &json!({ "schema": { least: count } }));
    match (operator, call) {
        (Operator::DropCall | Operator::CutTail | Operator::OtherTool, Some(call)) => {
            // Of the calls that are cut off, the last one says the most.
            let call = if operator == Operator::CutTail { calls.last().unwrap_or(call) } else { call };
            let made = count(&|_, other| other.name == call.name);
            out.extend(repeated(&json!({ "name": call.name }), made).map(|calls| superset(&calls)));
            if operator == Operator::OtherTool {
                out.push(assertion(&format!("tool_names[{at}]"), &json!({ "exact": call.name })));
            } else {
                let names = repeated(&json!(call.name), made);
                out.extend(names.map(|names| assertion("tool_names", &json!({ "contains": names }))));
                out.push(many("minItems", calls.len()));
            }
        }
        (Operator::DuplicateCall, _) => out.push(many("maxItems", calls.len())),
        (Operator::InsertCall, _) => {
            let names: BTreeSet<&str> = calls.iter().map(|call| call.name.as_str()).collect();
            if !names.is_empty() {
                out.push(assertion("tool_names", &json!({ "schema": { "items": { "enum": names } } })));
            }
            out.push(many("maxItems", calls.len()));
        }
        (Operator::SwapCalls, Some(call)) => {
            let (first, second) = (name_of(at), name_of(at + 1));
            if first == second {
                let whole = call.args.as_ref().map(|args| json!({ "exact": args }));
                out.extend(whole.map(|whole| assertion(&format!("tool_calls[{at}].args"), &whole)));
                let failed = trace.result(at).and_then(ToolResult::failed);
                out.push(assertion(&format!("tool_results[{at}].is_error"), &json!({ "exact": failed })));
                out.extend(result_text(trace, at, trace.result(at + 1)));
            } else {
                out.push(json!({ "trajectory_axes": { "order": [{ "first": first, "second": second }] } }));
                out.push(assertion(&format!("tool_names[{at}]"), &json!({ "exact": first })));
            }
        }
        (Operator::OtherServer, Some(call)) => {
            let alike = count(&|_, other| other.name == call.name && other.server == call.server);
            let wanted = json!({ "name": call.name, "server": call.server });
            out.extend(repeated(&wanted, alike).map(|calls| superset(&calls)));
            out.push(assertion(&format!("tool_calls[{at}].server"), &json!({ "exact": call.server })));
        }
        (Operator::FailResult | Operator::UnfailResult, Some(call)) => {
            let failed = trace.result(at).and_then(ToolResult::failed);
            let status = if failed == Some(true) { "error" } else { "ok" };
            let alike =
                count(&|at, other| other.name == call.name && trace.result(at).and_then(ToolResult::failed) == failed);
            let wanted = json!({ "name": call.name, "status": status });
            out.extend(repeated(&wanted, alike).map(|calls| superset(&calls)));
            out.push(assertion(&format!("tool_results[{at}].is_error"), &json!({ "exact": failed })));
        }
        (Operator::EmptyResult | Operator::ForeignResult, Some(_)) => {
            out.extend(uses(trace, calls, at));
            let content = trace.result(at).and_then(|result| result.content.as_ref());
            if operator == Operator::EmptyResult && content.is_some_and(|content| !content.is_empty()) {
                let target = format!("tool_results[{at}].content");
                out.push(assertion(&target, &json!({ "schema": { "minItems": 1 } })));
            }
            if let Edit::Result { result, .. } = edit {
                out.extend(result_text(trace, at, result.as_deref()));
            }
        }
        (Operator::GeneratedCaller, Some(_)) => {
            let direct = json!({ "not": { "required": ["caller"] } });
            out.push(assertion("tool_calls", &json!({ "schema": { "items": direct } })));
            out.push(assertion(&format!("tool_calls[{at}]"), &json!({ "schema": direct })));
        }
        (_, Some(call)) => out.extend(argument(call, place)),
        (_, None) => {}
    }
    out
}

/// The value of one argument.
fn argument(call: &ToolCall, place: &Place) -> Vec<Value> {
    let Some((path, value)) = place.path.as_ref().and_then(|path| Some((path, args::get(call.args.as_ref()?, path)?)))
    else {
        return Vec::new();
    };
    let mut out = Vec::new();
    let nested = path.iter().rev().try_fold(value.clone(), |inner, step| match step {
        Step::Key(key) => Some(Value::Object(Map::from_iter([(key.clone(), inner)]))),
        Step::Index(_) | Step::Every => None,
    });
    out.extend(nested.map(|nested| superset(&[json!({ "name": call.name, "args": { "subset": nested } })])));
    let place = i64::try_from(place.at).unwrap_or(i64::MAX);
    let mut steps = vec![Step::Key("tool_calls".to_owned()), Step::Index(place), Step::Key("args".to_owned())];
    steps.extend(path.iter().cloned());
    out.push(assertion(&path_text(&steps, &[]), &json!({ "exact": value })));
    out
}

/// Most later calls, and most data flows, that are tried for a result.
const MAX_USES: usize = 8;

/// Data that a later call takes from a result.
fn uses(trace: &Trace, calls: &[ToolCall], at: usize) -> Vec<Value> {
    let Some((result, producer)) = trace.result(at).zip(calls.get(at)) else { return Vec::new() };
    let mut out = Vec::new();
    let text: String = result.texts().collect::<Vec<_>>().join("\n");
    let structured = result.structured_content.as_deref().map_or_else(String::new, text::canonical);
    let later = calls.iter().skip(at + 1).filter(|call| call.name != producer.name).take(MAX_USES);
    for call in later {
        let Some(args) = &call.args else { continue };
        for path in args::paths(args) {
            let value = args::get(args, &path);
            let word = match value {
                Some(Value::String(word)) => word.clone(),
                Some(Value::Number(number)) => number.to_string(),
                _ => continue,
            };
            if word.len() >= 3 && (text.contains(&word) || structured.contains(&word)) {
                let via = path_text(&path, &[]);
                let edge = json!({ "producer": producer.name, "consumer": call.name, "via": via });
                out.push(json!({ "trajectory_axes": { "dependencies": [edge] } }));
                if out.len() == MAX_USES {
                    return out;
                }
            }
        }
    }
    out
}

/// What a result says and another one does not.
fn result_text(trace: &Trace, at: usize, other: Option<&ToolResult>) -> Vec<Value> {
    let Some(result) = trace.result(at) else { return Vec::new() };
    let mut out = Vec::new();
    let others: Vec<&str> = other.into_iter().flat_map(ToolResult::texts).collect();
    for (block, content) in result.content.iter().flatten().enumerate() {
        let Some(text) = content.get("text").and_then(Value::as_str) else { continue };
        let theirs = others.first().copied().unwrap_or("");
        if let Some(part) = distinct(text, theirs).filter(|part| others.iter().all(|other| !other.contains(part))) {
            let target = format!("tool_results[{at}].content[{block}].text");
            out.push(assertion(&target, &json!({ "contains": part })));
            break;
        }
    }
    if let Some(structured) = result.structured_content.as_deref() {
        let theirs = other.and_then(|other| other.structured_content.as_deref());
        let differs = |path: &args::Path| {
            let (ours, theirs) = (args::get(structured, path), theirs.and_then(|theirs| args::get(theirs, path)));
            ours.is_some_and(|ours| !ours.is_object() && !ours.is_array()) && ours != theirs
        };
        if let Some(path) = args::paths(structured).into_iter().find(differs) {
            let place = i64::try_from(at).unwrap_or(i64::MAX);
            let mut steps =
                vec![Step::Key("tool_results".into()), Step::Index(place), Step::Key("structured_content".into())];
            let value = args::get(structured, &path).cloned();
            steps.extend(path);
            out.push(assertion(&path_text(&steps, &[]), &json!({ "exact": value })));
        }
    }
    out
}

/// Characters of a quotation that shows a difference, and of what is shown before it.
const QUOTED: usize = 40;
const LEAD: usize = 12;

/// The words of a text around the first place where another text differs.
fn distinct<'t>(text: &'t str, other: &str) -> Option<&'t str> {
    let alike = text.chars().zip(other.chars()).take_while(|(ours, theirs)| ours == theirs).count();
    let place = |at: usize| text.char_indices().nth(at).map_or(text.len(), |(at, _)| at);
    let lead = &text[place(alike.saturating_sub(LEAD))..place(alike)];
    // From the beginning of a word.
    let skipped = if alike > LEAD { lead.find(char::is_whitespace).unwrap_or(0) } else { 0 };
    let rest = &text[place(alike) - lead.len() + skipped..];
    let end = rest.char_indices().nth(QUOTED).map_or(rest.len(), |(at, _)| at);
    Some(rest[..end].trim()).filter(|part| !part.is_empty())
}

/// What the message says and the changed one does not.
fn message(trace: &Trace, edit: &Edit) -> Vec<Value> {
    let (Some(text), Edit::Message(changed)) = (trace.final_response.as_deref(), edit) else { return Vec::new() };
    let part = distinct(text, changed).filter(|part| !changed.contains(part));
    let quoted = part.map(|part| assertion("final_response", &json!({ "contains": part })));
    std::iter::once(json!({ "narrative": {} })).chain(quoted).collect()
}

/// A ceiling on tokens, half above what the runs took.
fn tokens(subject: &Subject<'_>, outcomes: &[bool], trace: &Trace) -> Option<Value> {
    let of = |trace: &Trace, part: &str| {
        let tokens = &trace.conversation.tokens;
        match part {
            "total" => tokens.total,
            "output" => tokens.output,
            _ => tokens.input,
        }
    };
    let part = ["total", "output", "input"].into_iter().find(|part| of(trace, part).is_some_and(|count| count > 0))?;
    let passing = subject.runs.iter().zip(outcomes).filter(|(_, passed)| **passed);
    let most = passing.filter_map(|(run, _)| of(&run.trace, part)).max()?;
    let ceiling = most.saturating_add(most.div_ceil(2));
    Some(assertion(&format!("conversation.tokens.{part}"), &json!({ "schema": { "maximum": ceiling } })))
}

/// `reliability` that allows no lower pass rate than that of the recorded runs.
fn stricter(gate: &ReliabilityGate, outcomes: &[bool]) -> Vec<Value> {
    let outcome = gate.evaluate(outcomes);
    let Some(rate) = outcome.metrics.number("pass_rate") else { return Vec::new() };
    let at_least = |rate: f64| {
        let matcher = json!({ "schema": { "minimum": rate } });
        json!({ "reliability": { "expect": [{ "target": "reliability.pass_rate", "matcher": matcher }] } })
    };
    let mut out = vec![at_least(rate.floor())];
    if rate.fract() != 0.0 {
        out.push(at_least(rate));
    }
    out
}
