//! The calls that a verdict is based on, with the indexes that gates and targets use.

use std::collections::BTreeSet;

use mcptest_core::Verdict;
use mcptest_core::diag::printable;
use mcptest_core::eval::GateKind;
use mcptest_core::json;
use mcptest_core::judge::CheckResult;
use mcptest_core::report::Row;
use mcptest_core::trace::{ToolCall, ToolResult, Trace};

use super::text::{many, one_line};

/// Most calls that are shown with arguments and results, and most that are only named.
const MAX_SHOWN: usize = 8;
const MAX_NAMED: usize = 20;

/// Up to this many calls are shown even if no reason names one.
const FEW: usize = 3;

/// Most characters of arguments and of an answer.
const MAX_VALUE: usize = 60;

/// Most characters of the closing message.
const MAX_ANSWER: usize = 240;

/// Lines with the evidence for a verdict, and their indentation: the calls, and before them the closing message if it is what
/// failed.
pub(super) fn lines(row: &Row) -> Vec<(usize, String)> {
    let mut out = Vec::new();
    let is_about_words =
        |check: &CheckResult| check.name == GateKind::Narrative.name() && check.verdict == Verdict::Fail;
    if row.checks.iter().any(is_about_words)
        && let Some(text) = row.trace.as_deref().and_then(|trace| trace.final_response.as_deref())
    {
        out.push((0, format!("it said: \"{}\"", one_line(&json::cut(text, MAX_ANSWER)))));
    }
    out.extend(calls(row));
    out
}

/// The calls that the reasons of a row name; if they name none, all calls, by name only if there are many.
fn calls(row: &Row) -> Vec<(usize, String)> {
    let Some((trace, calls)) = row.trace.as_deref().and_then(|trace| Some((trace, trace.tool_calls.as_deref()?)))
    else {
        return Vec::new();
    };
    // Runs that are reported as a group show the calls of one of them.
    let number = row.run.map(|run| format!("#{run}")).filter(|number| row.name.ends_with(&format!(" {number}")));
    let of_run = number.map_or_else(String::new, |number| format!(" in {number}"));
    if calls.is_empty() {
        return vec![(0, format!("evidence{of_run}: no tool call was recorded"))];
    }
    let mut spoken_of = BTreeSet::new();
    for failure in row.checks.iter().flat_map(|check| &check.failures) {
        numbers(&failure.reason, &mut spoken_of);
        numbers(&failure.target, &mut spoken_of);
    }
    spoken_of.retain(|at| *at < calls.len());
    if spoken_of.is_empty() && calls.len() <= FEW {
        spoken_of.extend(0..calls.len());
    }
    let mut out = Vec::new();
    if spoken_of.is_empty() {
        let named = |(at, call): (usize, &ToolCall)| {
            let failed = trace.result(at).and_then(ToolResult::failed) == Some(true);
            format!("[{at}] {}{}", one_line(&call.name), if failed { " (failed)" } else { "" })
        };
        out.push((0, format!("evidence{of_run}: tool_calls {}", listed(calls.iter().enumerate().map(named)))));
        return out;
    }
    out.push((0, format!("evidence{of_run}, of {}:", many(calls.len(), "call"))));
    for at in spoken_of.iter().take(MAX_SHOWN) {
        out.push((1, format!("[{at}] {}", call(&calls[*at], trace, *at))));
    }
    if let Some(more) = spoken_of.len().checked_sub(MAX_SHOWN).filter(|more| *more > 0) {
        out.push((1, format!("and {}", many(more, "more call"))));
    }
    out
}

/// The numbers in `tool_calls[2]` and `tool_results[2]`.
fn numbers(text: &str, out: &mut BTreeSet<usize>) {
    for list in ["tool_calls[", "tool_results["] {
        for (at, _) in text.match_indices(list) {
            let digits = &text[at + list.len()..];
            let end = digits.find(|c: char| !c.is_ascii_digit()).unwrap_or(digits.len());
            if digits[end..].starts_with(']') {
                out.extend(digits[..end].parse::<usize>());
            }
        }
    }
}

/// The arguments and the result of a call.
fn call(call: &ToolCall, trace: &Trace, at: usize) -> String {
    let short = |value: &serde_json::Value| printable(&json::excerpt(value, MAX_VALUE)).into_owned();
    let asked =
        call.args.as_ref().map_or_else(|| " with unknown arguments".to_owned(), |args| format!(" {}", short(args)));
    let got = match trace.result(at) {
        None => "no answer is known".to_owned(),
        Some(result) => {
            let text = match (&result.error, &result.structured_content) {
                (Some(error), _) => one_line(&json::cut(&error.message, MAX_VALUE)),
                (None, Some(value)) => short(value),
                (None, None) => {
                    result.texts().next().map_or_else(String::new, |text| one_line(&json::cut(text, MAX_VALUE)))
                }
            };
            let fault = result
                .fault
                .as_ref()
                .map_or_else(String::new, |fault| format!(" (fault {}, {})", one_line(&fault.name), fault.effect));
            let how = match result.failed() {
                Some(true) => "failed",
                Some(false) => "ok",
                None => "unknown whether it failed",
            };
            if text.is_empty() { format!("{how}{fault}") } else { format!("{how}{fault}: {text}") }
        }
    };
    format!("{}{asked} → {got}", one_line(&call.name))
}

/// Items with commas, as many as fit on a line or two.
pub(super) fn listed(mut items: impl Iterator<Item = String>) -> String {
    let shown: Vec<String> = items.by_ref().take(MAX_NAMED).collect();
    match items.count() {
        0 => shown.join(", "),
        more => format!("{}, and {more} more", shown.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_are_found_by_the_numbers_in_a_text() {
        let mut found = BTreeSet::new();
        numbers("tool_calls[12] (a) is not tool_results[3].content[0], tool_calls[*], tool_calls[-1]", &mut found);
        assert_eq!(Vec::from_iter(found), [3, 12]);
    }

    #[test]
    fn a_call_is_shown_with_arguments_and_result() {
        let trace = Trace::from_envelope(&serde_json::json!({
            "tool_calls": [{ "name": "a", "args": { "q": 1 } }, { "name": "b" }, { "name": "c" }, { "name": "d" }],
            "tool_results": [
                { "is_error": false, "structured_content": { "n": 2 } },
                { "is_error": true, "content": [{ "type": "text", "text": "no\u{1b}" }] },
                { "fault": { "name": "f", "kind": "hang", "effect": "timeout", "ms": 1 } },
            ],
        }))
        .unwrap();
        let calls = trace.tool_calls.as_ref().unwrap();
        let shown: Vec<String> = (0..4).map(|at| call(&calls[at], &trace, at)).collect();
        assert_eq!(
            shown,
            [
                "a {\"q\":1} → ok: {\"n\":2}",
                "b with unknown arguments → failed: no\\u{1b}",
                "c with unknown arguments → failed (fault f, timeout)",
                "d with unknown arguments → no answer is known",
            ]
        );
    }
}
