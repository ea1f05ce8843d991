//! Changes of a trace that can be undone.

use serde_json::Value;

use crate::json;
use crate::trace::{LazyText, Role, Tokens, ToolCall, ToolResult, Trace};

/// One change. Making it gives the change that undoes it.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Edit {
    /// Calls are replaced together with their results.
    Splice {
        at: usize,
        remove: usize,
        put: Vec<(ToolCall, Option<ToolResult>)>,
    },
    /// Swaps a call with the next one. Turns and IDs stay in place.
    Swap(usize),
    Call {
        at: usize,
        call: Box<ToolCall>,
    },
    Result {
        at: usize,
        result: Option<Box<ToolResult>>,
    },
    Message(LazyText),
    Tokens(Tokens),
    /// The run counts as failed, regardless of its checks.
    Outcome,
}

/// Gives every call a place for its result, if results were recorded. A missing place means the same as an empty one.
pub(super) fn pad_results(trace: &mut Trace) {
    if let (Some(calls), Some(results)) = (&trace.tool_calls, &mut trace.tool_results) {
        results.resize(calls.len(), None);
    }
}

pub(super) fn swap_calls(first: &mut ToolCall, second: &mut ToolCall) {
    std::mem::swap(first, second);
    std::mem::swap(&mut first.turn, &mut second.turn);
    std::mem::swap(&mut first.id, &mut second.id);
}

impl Edit {
    /// Applies the change. Indices refer to a trace after [`pad_results`].
    pub(super) fn apply(self, trace: &mut Trace) -> Self {
        match self {
            Self::Splice { at, remove, put } => {
                let Some(calls) = &mut trace.tool_calls else { return Self::Splice { at, remove, put } };
                let added = put.len();
                let (new_calls, new_results): (Vec<_>, Vec<_>) = put.into_iter().unzip();
                let removed: Vec<ToolCall> = calls.splice(at..at + remove, new_calls).collect();
                let answers: Vec<Option<ToolResult>> = match &mut trace.tool_results {
                    Some(results) => results.splice(at..at + remove, new_results).collect(),
                    None => vec![None; remove],
                };
                Self::Splice { at, remove: added, put: removed.into_iter().zip(answers).collect() }
            }
            Self::Swap(at) => {
                if let Some([first, second]) = trace.tool_calls.as_mut().and_then(|calls| calls.get_mut(at..at + 2)) {
                    swap_calls(first, second);
                }
                if let Some(results) = &mut trace.tool_results {
                    results.swap(at, at + 1);
                }
                Self::Swap(at)
            }
            Self::Call { at, mut call } => {
                if let Some(here) = trace.tool_calls.as_mut().and_then(|calls| calls.get_mut(at)) {
                    std::mem::swap(here, &mut *call);
                }
                Self::Call { at, call }
            }
            Self::Result { at, result } => {
                let mut result = result.map(|result| *result);
                if let Some(here) = trace.tool_results.as_mut().and_then(|results| results.get_mut(at)) {
                    std::mem::swap(here, &mut result);
                }
                Self::Result { at, result: result.map(Box::new) }
            }
            Self::Message(text) => {
                let old = trace.final_response.replace(text.clone()).unwrap_or_default();
                // The last message of the assistant is the same text.
                let turns = trace.conversation.turns.iter_mut().flatten();
                let last = turns.rev().find(|turn| turn.role == Role::Assistant);
                if let Some(turn) = last.filter(|turn| turn.content.as_ref() == Some(&old)) {
                    turn.content = Some(text);
                }
                Self::Message(old)
            }
            Self::Tokens(tokens) => Self::Tokens(std::mem::replace(&mut trace.conversation.tokens, tokens)),
            Self::Outcome => Self::Outcome,
        }
    }

    /// What the change removes and adds, on a trace that is not changed.
    pub(super) fn diff(&self, trace: &Trace) -> Vec<String> {
        let calls = trace.tool_calls.as_deref().unwrap_or(&[]);
        let (mut out, mut more) = (Vec::new(), 0);
        let mut put = |sign: &str, text: String| {
            if out.len() < MAX_LINES {
                out.push(format!("{sign} {text}"));
            } else {
                more += 1;
            }
        };
        let line = |at: usize, call: &ToolCall| format!("[{at}] {}", shown_call(call));
        match self {
            Self::Splice { at, remove, put: added } => {
                (*at..at + remove).for_each(|at| put("-", line(at, &calls[at])));
                added.iter().zip(*at..).for_each(|((call, _), at)| put("+", line(at, call)));
            }
            Self::Swap(at) => {
                put("-", line(*at, &calls[*at]));
                put("-", line(at + 1, &calls[at + 1]));
                put("+", line(*at, &calls[at + 1]));
                put("+", line(at + 1, &calls[*at]));
            }
            Self::Call { at, call } => {
                let (old, new) = (shown_call(&calls[*at]), shown_call(call));
                put("-", format!("[{at}] {old}"));
                put("+", format!("[{at}] {new}"));
            }
            Self::Result { at, result } => {
                let name = &calls[*at].name;
                put("-", format!("[{at}] {name} -> {}", shown_result(trace.result(*at))));
                put("+", format!("[{at}] {name} -> {}", shown_result(result.as_deref())));
            }
            Self::Message(text) => {
                let old = trace.final_response.as_deref().unwrap_or("");
                let (old, new) = json::excerpts(&Value::from(old), &Value::from(&**text), MAX_TEXT);
                put("-", format!("final_response: {old}"));
                put("+", format!("final_response: {new}"));
            }
            Self::Tokens(tokens) => {
                put("-", format!("tokens: {}", shown_tokens(&trace.conversation.tokens)));
                put("+", format!("tokens: {}", shown_tokens(tokens)));
            }
            Self::Outcome => {
                put("-", "outcome: pass".to_owned());
                put("+", "outcome: fail".to_owned());
            }
        }
        if more > 0 {
            out.push(format!("  and {more} more"));
        }
        out
    }
}

/// Most lines of a diff.
const MAX_LINES: usize = 8;

/// Most characters of a value in a diff.
const MAX_TEXT: usize = 100;

fn shown_call(call: &ToolCall) -> String {
    let server = call.server.as_deref().filter(|server| !server.is_empty());
    let server = server.map_or_else(String::new, |server| format!(" on {server}"));
    let args =
        call.args.as_ref().map_or_else(|| "(unknown arguments)".to_owned(), |args| json::excerpt(args, MAX_TEXT));
    let by = if call.caller.is_some() { ", by generated code" } else { "" };
    format!("{} {args}{server}{by}", call.name)
}

fn shown_result(result: Option<&ToolResult>) -> String {
    let Some(result) = result else { return "(no result)".to_owned() };
    let status = match result.failed() {
        Some(true) => "error",
        Some(false) => "ok",
        None => "(unknown status)",
    };
    let text = result.texts().find(|text| !text.is_empty()).map(Value::from);
    let value = text.as_ref().or(result.structured_content.as_deref());
    let text = value.map_or_else(|| "(empty)".to_owned(), |value| json::excerpt(value, MAX_TEXT));
    format!("{status} {text}")
}

pub(super) fn shown_tokens(tokens: &Tokens) -> String {
    let part = |name: &str, count: Option<u64>| count.map(|count| format!("{count} {name}"));
    let parts = [part("in", tokens.input), part("out", tokens.output), part("total", tokens.total)];
    let parts: Vec<String> = parts.into_iter().flatten().collect();
    parts.join(", ")
}
