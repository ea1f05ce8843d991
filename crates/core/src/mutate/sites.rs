//! Where operators apply in a trace, and the change that each makes there.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};

use super::args::{self, Path};
use super::edit::{Edit, shown_tokens};
use super::{Operator, Options, Run, message};
use crate::json as text;
use crate::target::{Step, path_text};
use crate::trace::{CallError, ErrorKind, LazyValue, Tokens, ToolCall, ToolResult, Trace};

/// Most characters of a value in the description of a change.
const MAX_TEXT: usize = 60;

/// The tools of all runs, by server.
#[derive(Debug, Default)]
pub(super) struct Tools {
    of_server: BTreeMap<Option<String>, BTreeSet<String>>,
}

impl Tools {
    pub(super) fn of(runs: &[Run]) -> Self {
        let mut tools = Self::default();
        for call in runs.iter().flat_map(|run| run.trace.tool_calls.iter().flatten()) {
            let known = tools.of_server.entry(call.server.clone()).or_default();
            if !known.contains(&call.name) {
                known.insert(call.name.clone());
            }
        }
        tools
    }

    /// The next tool of the same server, or a made-up one.
    fn sibling(&self, call: &ToolCall) -> String {
        let known = self.of_server.get(&call.server);
        let known = known.and_then(|known| next(known, &call.name));
        known.cloned().unwrap_or_else(|| made_up("other_tool", &call.name))
    }

    /// The next server, or a made-up one.
    fn other_server(&self, server: &str) -> String {
        let servers: BTreeSet<String> =
            self.of_server.keys().flatten().filter(|name| !name.is_empty()).cloned().collect();
        next(&servers, server).cloned().unwrap_or_else(|| made_up("other-server", server))
    }

    /// A tool of the server that the run does not call, or a made-up one.
    fn uncalled(&self, server: Option<&String>, calls: &[ToolCall]) -> String {
        let known = self.of_server.get(&server.cloned());
        let is_called = |name: &&String| calls.iter().any(|call| call.name == **name);
        let known = known.into_iter().flatten().find(|name| !is_called(name)).cloned();
        known.unwrap_or_else(|| {
            let mut name = "unexpected_tool".to_owned();
            while calls.iter().any(|call| call.name == name) {
                name.push('_');
            }
            name
        })
    }
}

/// The member after a name, cyclically; `None` if there is no other.
fn next<'s>(names: &'s BTreeSet<String>, name: &str) -> Option<&'s String> {
    use std::ops::Bound::{Excluded, Unbounded};
    let after = names.range::<str, _>((Excluded(name), Unbounded)).next();
    after.or_else(|| names.first()).filter(|next| *next != name)
}

fn made_up(name: &str, taken: &str) -> String {
    if name == taken { format!("{name}_2") } else { name.to_owned() }
}

/// An operator at a place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Site {
    operator: Operator,
    /// A call, or the first call that is cut off.
    at: usize,
    /// Which argument, or which negation.
    part: usize,
}

/// What a change touches.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Place {
    pub(super) at: usize,
    /// The place in the arguments.
    pub(super) path: Option<Path>,
}

/// A change and what it is.
#[derive(Debug)]
pub(super) struct Mutation {
    pub(super) operator: Operator,
    pub(super) change: String,
    pub(super) edit: Edit,
    pub(super) place: Place,
}

/// Every place of a trace where a chosen operator may apply.
#[derive(Debug)]
pub(super) struct Sites {
    /// Of each operator, in order.
    all: Vec<Vec<Site>>,
    /// The places in the arguments of each call.
    paths: Vec<Vec<Path>>,
}

impl Sites {
    pub(super) fn of(trace: &Trace, options: &Options, can_flip: bool) -> Self {
        let calls = trace.tool_calls.as_deref().unwrap_or(&[]);
        let has_arguments =
            options.operators.iter().any(|operator| operator.class() == super::OperatorClass::Arguments);
        let paths = calls.iter().map(|call| match &call.args {
            Some(args) if has_arguments => args::paths(args),
            _ => Vec::new(),
        });
        let mut sites = Self { all: Vec::new(), paths: paths.collect() };
        let mut operators = options.operators.clone();
        operators.sort_unstable();
        operators.dedup();
        for operator in operators {
            sites.all.push(sites.places(operator, trace, can_flip));
        }
        sites
    }

    fn places(&self, operator: Operator, trace: &Trace, can_flip: bool) -> Vec<Site> {
        let calls = trace.tool_calls.as_deref().unwrap_or(&[]);
        let count = calls.len();
        let site = |at: usize, part: usize| Site { operator, at, part };
        let results = |wants: &dyn Fn(&ToolResult) -> bool| {
            let known = (0..count).filter(|at| trace.result(*at).is_some_and(wants));
            known.map(|at| site(at, 0)).collect::<Vec<Site>>()
        };
        let message = trace.final_response.as_deref().filter(|text| !text.trim().is_empty());
        match operator {
            Operator::DropCall | Operator::DuplicateCall | Operator::OtherTool => {
                (0..count).map(|at| site(at, 0)).collect()
            }
            Operator::SwapCalls => (1..count).map(|at| site(at - 1, 0)).collect(),
            Operator::OtherServer => {
                let known = (0..count).filter(|at| calls[*at].server.is_some());
                known.map(|at| site(at, 0)).collect()
            }
            Operator::GeneratedCaller => {
                let direct = (0..count).filter(|at| calls[*at].caller.is_none());
                direct.map(|at| site(at, 0)).collect()
            }
            Operator::InsertCall if trace.tool_calls.is_none() => Vec::new(),
            Operator::InsertCall if count == 0 => vec![site(0, 0)],
            Operator::InsertCall => vec![site(0, 0), site(count, 0)],
            Operator::CutTail if count < 2 => Vec::new(),
            Operator::CutTail => vec![site(count / 2, 0), site(0, 0)],
            Operator::DropArgument
            | Operator::NullArgument
            | Operator::RetypeArgument
            | Operator::OffByOne
            | Operator::ForeignValue => {
                let places = self.paths.iter().enumerate();
                let places = places.flat_map(|(at, paths)| (0..paths.len()).map(move |part| (at, part)));
                let fits = |(at, part): &(usize, usize)| {
                    let value = calls[*at].args.as_ref().and_then(|args| args::get(args, &self.paths[*at][*part]));
                    value.is_some_and(|value| applies(operator, value, &self.paths[*at][*part]))
                };
                places.filter(fits).map(|(at, part)| site(at, part)).collect()
            }
            Operator::FailResult => results(&|result| result.failed() == Some(false)),
            Operator::UnfailResult => results(&|result| result.failed() == Some(true)),
            Operator::EmptyResult | Operator::ForeignResult => {
                results(&|result| result.failed() != Some(true) && has_content(result))
            }
            Operator::ClaimUnmade | Operator::CutMessage => message.map(|_| site(0, 0)).into_iter().collect(),
            Operator::DropNegation => {
                let found = message.map_or_else(Vec::new, message::negations);
                (0..found.len()).map(|part| site(0, part)).collect()
            }
            Operator::MoreTokens => {
                let Tokens { input, output, total, .. } = trace.conversation.tokens;
                let is_known = [input, output, total].into_iter().flatten().any(|count| count > 0);
                is_known.then(|| site(0, 0)).into_iter().collect()
            }
            Operator::FlipOutcome => can_flip.then(|| site(0, 0)).into_iter().collect(),
        }
    }

    /// At most this many sites, equally many of each operator, and how many are left out.
    pub(super) fn within(&self, limit: usize) -> (Vec<Site>, usize) {
        let total: usize = self.all.iter().map(Vec::len).sum();
        let mut share = usize::MAX;
        if total > limit {
            // The largest share with which all fit.
            let fits = |share: usize| self.all.iter().map(|sites| sites.len().min(share)).sum::<usize>() <= limit;
            let (mut low, mut high) = (0, total);
            while low < high {
                let middle = usize::midpoint(low, high) + 1;
                if fits(middle) { low = middle } else { high = middle - 1 }
            }
            share = low.max(1);
        }
        let mut out = Vec::new();
        for sites in &self.all {
            let wanted = sites.len().min(share);
            out.extend((0..wanted).map(|at| sites[at * sites.len() / wanted]));
        }
        let left = total - out.len();
        (out, left)
    }

    /// The change at a site; none if it is not possible there after all.
    pub(super) fn mutation(&self, site: &Site, trace: &Trace, tools: &Tools) -> Option<Mutation> {
        let Site { operator, at, part } = *site;
        let calls = trace.tool_calls.as_deref().unwrap_or(&[]);
        let mut place = Place { at, path: None };
        let here = |at: usize| format!("tool_calls[{at}] ({})", calls.get(at).map_or("", |call| &call.name));
        let row = |at: usize| (calls[at].clone(), trace.result(at).cloned());
        let (edit, change) = match operator {
            Operator::DropCall => {
                (Edit::Splice { at, remove: 1, put: Vec::new() }, format!("{} is not made", here(at)))
            }
            Operator::DuplicateCall => {
                (Edit::Splice { at: at + 1, remove: 0, put: vec![row(at)] }, format!("{} is made twice", here(at)))
            }
            Operator::SwapCalls => (Edit::Swap(at), format!("{} and {} are swapped", here(at), here(at + 1))),
            Operator::OtherTool => {
                let name = tools.sibling(&calls[at]);
                let change = format!("{} is a call of {name}", here(at));
                (Edit::Call { at, call: Box::new(ToolCall { name, ..calls[at].clone() }) }, change)
            }
            Operator::OtherServer => {
                let server = calls[at].server.as_deref()?;
                let other = tools.other_server(server);
                let change = format!("{} is made on server {other}, not {server}", here(at));
                (Edit::Call { at, call: Box::new(ToolCall { server: Some(other), ..calls[at].clone() }) }, change)
            }
            Operator::GeneratedCaller => {
                let caller = Some(json!({ "type": "code_execution" }));
                let call = ToolCall { caller, ..calls[at].clone() };
                (Edit::Call { at, call: Box::new(call) }, format!("generated code makes {}", here(at)))
            }
            Operator::InsertCall => {
                let near = calls.get(at).or(calls.last());
                let name = tools.uncalled(near.and_then(|near| near.server.as_ref()), calls);
                let change = if at == 0 { format!("{name} is called first") } else { format!("{name} is called last") };
                let call = ToolCall {
                    args: Some(json!({})),
                    name,
                    server: near.and_then(|near| near.server.clone()),
                    turn: near.and_then(|near| near.turn),
                    ..ToolCall::default()
                };
                let result = ToolResult { content: Some(Vec::new()), is_error: Some(false), ..ToolResult::default() };
                let result = trace.tool_results.as_ref().map(|_| result);
                (Edit::Splice { at, remove: 0, put: vec![(call, result)] }, change)
            }
            Operator::CutTail => {
                let remove = calls.len() - at;
                let change = match at {
                    0 => format!("none of the {remove} calls is made"),
                    _ => format!("the run stops before {}, without its last {remove} calls", here(at)),
                };
                (Edit::Splice { at, remove, put: Vec::new() }, change)
            }
            Operator::DropArgument
            | Operator::NullArgument
            | Operator::RetypeArgument
            | Operator::OffByOne
            | Operator::ForeignValue => {
                let path = self.paths.get(at)?.get(part)?;
                place.path = Some(path.clone());
                let (args, what) = argument(operator, calls, at, path)?;
                let change = format!("{}: {what}", here(at));
                (Edit::Call { at, call: Box::new(ToolCall { args: Some(args), ..calls[at].clone() }) }, change)
            }
            Operator::FailResult | Operator::UnfailResult | Operator::EmptyResult | Operator::ForeignResult => {
                let (result, what) = result(operator, trace, at)?;
                (Edit::Result { at, result: Some(Box::new(result)) }, format!("{} {what}", here(at)))
            }
            Operator::ClaimUnmade | Operator::DropNegation | Operator::CutMessage => {
                let text = trace.final_response.as_deref()?;
                let (new, change) = message(operator, text, calls, part)?;
                (Edit::Message(new.into()), change)
            }
            Operator::MoreTokens => {
                let old = &trace.conversation.tokens;
                let more = |count: Option<u64>| count.map(|count| count.saturating_mul(10));
                let new = Tokens {
                    cached: old.cached,
                    input: more(old.input),
                    output: more(old.output),
                    total: more(old.total),
                };
                let change = format!("tokens: {} instead of {}", shown_tokens(&new), shown_tokens(old));
                (Edit::Tokens(new), change)
            }
            Operator::FlipOutcome => (Edit::Outcome, "the run fails".to_owned()),
        };
        Some(Mutation { operator, change, edit, place })
    }
}

fn applies(operator: Operator, value: &Value, path: &[Step]) -> bool {
    match operator {
        Operator::DropArgument => matches!(path.last(), Some(Step::Key(_))),
        Operator::NullArgument => !value.is_null(),
        Operator::RetypeArgument => args::retyped(value).is_some(),
        Operator::OffByOne => args::next_number(value).is_some(),
        _ => !value.is_object() && !value.is_array(),
    }
}

fn has_content(result: &ToolResult) -> bool {
    result.content.as_ref().is_some_and(|content| !content.is_empty()) || result.structured_content.is_some()
}

/// The changed arguments of a call, and the change in words.
fn argument(operator: Operator, calls: &[ToolCall], at: usize, path: &[Step]) -> Option<(Value, String)> {
    let old = calls.get(at)?.args.as_ref()?;
    let name = path_text(path, &[]);
    if operator == Operator::DropArgument {
        return Some((args::without(old, path)?, format!("argument {name} is missing")));
    }
    let value = args::get(old, path)?;
    let new = match operator {
        Operator::NullArgument => Value::Null,
        Operator::RetypeArgument => args::retyped(value)?,
        Operator::OffByOne => args::next_number(value)?,
        _ => foreign_value(calls, at, path, value)?,
    };
    let (old_text, new_text) = text::excerpts(value, &new, MAX_TEXT);
    let what = format!("argument {name} is {new_text} instead of {old_text}");
    Some((args::with(old, path, new)?, what))
}

/// A different value of the same type: of the same argument of the same tool, else of another call.
fn foreign_value(calls: &[ToolCall], at: usize, path: &[Step], value: &Value) -> Option<Value> {
    let same_type = |other: &Value| std::mem::discriminant(other) == std::mem::discriminant(value);
    let differs = |other: &&Value| same_type(other) && !text::equal(other, value);
    // Nearby calls come first; a long run is not searched as a whole for each of its arguments.
    let others = || (1..=NEARBY).flat_map(|step| [at.checked_sub(step), at.checked_add(step)]).flatten();
    let others = || others().filter_map(|other| calls.get(other));
    let same_argument = |other: &&ToolCall| other.name == calls[at].name;
    let here = |call: &'_ ToolCall| call.args.as_ref().and_then(|args| args::get(args, path)).filter(differs).cloned();
    let anywhere = |call: &ToolCall| {
        let args = call.args.as_ref()?;
        args::paths(args).iter().find_map(|path| args::get(args, path).filter(differs).cloned())
    };
    let same = others().filter(same_argument).find_map(here);
    same.or_else(|| others().find_map(here)).or_else(|| others().find_map(anywhere))
}

/// How many calls before and after a call are searched for a value or a result of another call.
const NEARBY: usize = 32;

/// The changed result of a call, and the change in words.
fn result(operator: Operator, trace: &Trace, at: usize) -> Option<(ToolResult, String)> {
    let old = trace.result(at)?;
    Some(match operator {
        Operator::FailResult => {
            let message = "the call failed".to_owned();
            let content = Some(vec![LazyValue::from(json!({ "type": "text", "text": message }))]);
            let error = Some(Box::new(CallError { code: None, kind: ErrorKind::Tool, message }));
            let failed = ToolResult { content, error, is_error: Some(true), structured_content: None, ..old.clone() };
            (failed, "fails".to_owned())
        }
        Operator::UnfailResult => {
            let good = ToolResult { error: None, fault: None, is_error: Some(false), ..old.clone() };
            (good, "succeeds, although it failed".to_owned())
        }
        Operator::EmptyResult => {
            let empty = ToolResult { content: Some(Vec::new()), structured_content: None, ..old.clone() };
            (empty, "returns nothing".to_owned())
        }
        _ => {
            let calls = trace.tool_calls.as_deref()?;
            let differs = |other: &usize| {
                trace.result(*other).is_some_and(|other| {
                    let parts = (&other.content, &other.structured_content);
                    other.failed() != Some(true)
                        && has_content(other)
                        && parts != (&old.content, &old.structured_content)
                })
            };
            let others =
                || (1..=NEARBY).flat_map(|step| [at.checked_sub(step), at.checked_add(step)]).flatten().filter(differs);
            let same_tool = others().find(|other| calls.get(*other).is_some_and(|call| call.name == calls[at].name));
            let other = same_tool.or_else(|| others().next())?;
            let donor = trace.result(other)?;
            let (content, structured_content) = (donor.content.clone(), donor.structured_content.clone());
            let name = &calls.get(other)?.name;
            (
                ToolResult { content, structured_content, ..old.clone() },
                format!("returns what tool_calls[{other}] ({name}) returned"),
            )
        }
    })
}

/// The changed message, and the change in words.
fn message(operator: Operator, text: &str, calls: &[ToolCall], part: usize) -> Option<(String, String)> {
    Some(match operator {
        Operator::ClaimUnmade => {
            let claim = message::claim(calls.iter().map(|call| call.name.as_str()));
            (message::with_claim(text, claim), format!("the final message adds: {claim}"))
        }
        Operator::DropNegation => {
            let negations = message::negations(text);
            let (range, left) = negations.get(part)?;
            let cut = text[range.clone()].trim_end();
            let change = match *left {
                "" => format!("the final message loses {cut:?} at byte {}", range.start),
                left => format!("the final message says {left:?} instead of {cut:?} at byte {}", range.start),
            };
            (message::without_negation(text, range, left), change)
        }
        _ => {
            let half = message::first_half(text);
            let (kept, all) = (half.chars().count(), text.chars().count());
            (half.to_owned(), format!("the final message ends after {kept} of {all} characters"))
        }
    })
}
