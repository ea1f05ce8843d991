//! Compares the calls that a program reports with those in the ledgers.
//!
//! Only calls to servers are compared: a program has its own names for its own tools.

use crate::answer::{Account, AccountCall};
use crate::json;
use crate::trace::{ErrorKind, ToolCall, ToolResult, Trace};

use super::derive::names::{Names, Tool};

/// Most differences that are listed one by one.
const MOST: usize = 20;

/// Every difference between the account and the trace, as notes.
pub(super) fn differences(account: &Account, trace: &Trace, names: &Names) -> Vec<String> {
    let reported: Vec<(Tool, &AccountCall)> =
        account.calls.iter().filter_map(|call| Some((names.of_account(call)?, call))).collect();
    let calls = trace.tool_calls.iter().flatten();
    let results = trace.tool_results.iter().flatten().map(Option::as_ref);
    let recorded: Vec<(Tool, &ToolCall, Option<&ToolResult>)> = calls
        .zip(results)
        // A client retries a call without reporting it.
        .filter(|(call, _)| call.retry_of.is_none())
        .filter_map(|(call, result)| {
            let server = call.server.clone().filter(|server| !server.is_empty())?;
            Some(((server, call.name.clone()), call, result))
        })
        .collect();
    let mut pairs: Vec<Option<usize>> = vec![None; reported.len()];
    let mut taken = vec![false; recorded.len()];
    let same_id = |reported: &AccountCall, call: &ToolCall| reported.id.is_some() && reported.id == call.id;
    let same_args = |reported: &AccountCall, call: &ToolCall| has_args(reported, call);
    for is_same in [&same_id as &dyn Fn(&AccountCall, &ToolCall) -> bool, &same_args, &|_, _| true] {
        for (at, (tool, one)) in reported.iter().enumerate() {
            if pairs[at].is_none() {
                let found = recorded
                    .iter()
                    .enumerate()
                    .find(|(other, (recorded, call, _))| !taken[*other] && recorded == tool && is_same(one, call));
                if let Some((other, _)) = found {
                    (pairs[at], taken[other]) = (Some(other), true);
                }
            }
        }
    }
    let mut out = Vec::new();
    for ((tool, reported), pair) in reported.iter().zip(&pairs) {
        match pair.and_then(|pair| recorded.get(pair)) {
            None => out.push(format!("the program reports a call of {} that was not recorded", shown(tool))),
            Some((_, call, result)) => out.extend(difference(tool, reported, call, *result)),
        }
    }
    for ((tool, ..), _) in recorded.iter().zip(&taken).filter(|(_, taken)| !**taken) {
        out.push(format!("the program does not report the call of {} that was recorded", shown(tool)));
    }
    if out.len() > MOST {
        let more = out.len() - MOST;
        out.truncate(MOST);
        out.push(format!("the program's own account of its calls differs in {more} more places"));
    }
    out
}

fn shown((server, tool): &Tool) -> String {
    format!("`{tool}` of server `{server}`")
}

/// Whether both have the same arguments: those that the model asked for, or those that the server got.
fn has_args(reported: &AccountCall, call: &ToolCall) -> bool {
    let Some(args) = &reported.args else { return true };
    let args = json::canonical(args);
    [&call.args, &call.asked_args].into_iter().flatten().any(|other| json::canonical(other) == args)
}

fn difference(tool: &Tool, reported: &AccountCall, call: &ToolCall, result: Option<&ToolResult>) -> Vec<String> {
    let mut out = Vec::new();
    if let (false, Some(args), Some(recorded)) = (has_args(reported, call), &reported.args, &call.args) {
        let [args, recorded] = [args, recorded].map(|value| json::excerpt(value, 200));
        out.push(format!("the program reports other arguments of {}: {args}, recorded {recorded}", shown(tool)));
    }
    let recorded = result.and_then(|result| result.is_error);
    let is_refused =
        result.and_then(|result| result.error.as_ref()).is_some_and(|error| error.kind == ErrorKind::Refused);
    match (reported.is_error, recorded) {
        (Some(false), Some(true)) => {
            let how = if is_refused { "refused, and no server got it" } else { "answered with an error" };
            out.push(format!("the program reports that the call of {} succeeded, but it was {how}", shown(tool)));
        }
        (Some(true), Some(false)) => {
            out.push(format!(
                "the program reports that the call of {} failed, but the server answered it",
                shown(tool)
            ));
        }
        _ => {}
    }
    out
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use serde_json::{Value, json};

    use super::*;
    use crate::ledger::error_result;

    fn reported(id: &str, server: Option<&str>, name: &str, args: Value, is_error: Option<bool>) -> AccountCall {
        let id = (!id.is_empty()).then(|| id.to_owned());
        AccountCall { id, server: server.map(str::to_owned), name: name.to_owned(), args: Some(args), is_error }
    }

    fn done(server: &str, name: &str, args: Value, result: ToolResult) -> (ToolCall, Option<ToolResult>) {
        let (server, name, args) = (Some(server.to_owned()), name.to_owned(), Some(args));
        (ToolCall { args, name, server, ..ToolCall::default() }, Some(result))
    }

    fn ok() -> ToolResult {
        ToolResult { is_error: Some(false), ..ToolResult::default() }
    }

    fn check(reported: Vec<AccountCall>, recorded: Vec<(ToolCall, Option<ToolResult>)>, expected: &[&str]) {
        let tools = ["add", "erase"].map(|tool| ("calc".to_owned(), tool.to_owned()));
        let (calls, results): (Vec<_>, Vec<_>) = recorded.into_iter().unzip();
        let trace = Trace { tool_calls: Some(calls), tool_results: Some(results), ..Trace::default() };
        let names = Names::new(&BTreeSet::from(tools));
        assert_eq!(differences(&Account { calls: reported }, &trace, &names), expected);
    }

    #[test]
    fn an_account_that_says_what_was_recorded_has_no_differences() {
        let retry = ToolCall { retry_of: Some(0), ..done("calc", "add", json!({ "a": 1 }), ok()).0 };
        let own = done("", "Bash", json!({}), ok());
        let refused = error_result(ErrorKind::Refused, None, "no permission");
        check(
            vec![
                // Names as three clients write them, in another order, with an own tool between them.
                reported("", Some("calc"), "erase", json!({}), Some(true)),
                reported("", None, "Read", json!({}), Some(false)),
                reported("", None, "mcp_calc_add", json!({ "a": 2.0 }), Some(false)),
                reported("", Some(""), "command_execution", json!({}), Some(true)),
                reported("", Some("calc"), "add", json!({ "a": 1 }), None),
            ],
            vec![
                done("calc", "add", json!({ "a": 1 }), ok()),
                (retry, Some(ok())),
                own,
                done("calc", "add", json!({ "a": 2 }), ok()),
                done("calc", "erase", json!({}), refused),
            ],
            &[],
        );
    }

    #[test]
    fn arguments_that_the_client_filled_in_are_no_difference() {
        let (call, result) = done("calc", "add", json!({ "a": 1, "b": 0 }), ok());
        let filled = ToolCall { asked_args: Some(json!({ "a": 1 })), ..call };
        check(vec![reported("", Some("calc"), "add", json!({ "a": 1 }), Some(false))], vec![(filled, result)], &[]);
    }

    #[test]
    fn every_kind_of_difference_is_reported() {
        let refused = error_result(ErrorKind::Refused, None, "no permission");
        check(
            vec![reported("", Some("calc"), "add", json!({ "a": 1 }), Some(false))],
            vec![done("calc", "add", json!({ "a": 1 }), refused)],
            &[
                "the program reports that the call of `add` of server `calc` succeeded, but it was refused, and no server got it",
            ],
        );
        let failed = error_result(ErrorKind::Tool, None, "broken");
        check(
            vec![reported("", Some("calc"), "add", json!({ "a": 1 }), Some(false))],
            vec![done("calc", "add", json!({ "a": 1 }), failed)],
            &[
                "the program reports that the call of `add` of server `calc` succeeded, but it was answered with an error",
            ],
        );
        check(
            vec![reported("", Some("calc"), "add", json!({ "a": 1 }), Some(true))],
            vec![done("calc", "add", json!({ "a": 1 }), ok())],
            &["the program reports that the call of `add` of server `calc` failed, but the server answered it"],
        );
        check(
            vec![reported("", Some("calc"), "add", json!({ "a": 1 }), None)],
            vec![done("calc", "add", json!({ "a": 2 }), ok()), done("calc", "erase", json!({}), ok())],
            &[
                "the program reports other arguments of `add` of server `calc`: {\"a\":1}, recorded {\"a\":2}",
                "the program does not report the call of `erase` of server `calc` that was recorded",
            ],
        );
        check(
            vec![reported("", None, "mcp__calc__erase", json!({}), None)],
            Vec::new(),
            &["the program reports a call of `erase` of server `calc` that was not recorded"],
        );
    }

    #[test]
    fn ids_decide_which_call_is_meant() {
        let with_id = |id: &str, result: ToolResult| {
            let (call, result) = done("calc", "add", json!({}), result);
            (ToolCall { id: Some(id.to_owned()), ..call }, result)
        };
        let failed = || error_result(ErrorKind::Tool, None, "broken");
        let account = |first: bool, second: bool| {
            vec![
                reported("b", Some("calc"), "add", json!({}), Some(first)),
                reported("a", Some("calc"), "add", json!({}), Some(second)),
            ]
        };
        check(account(true, false), vec![with_id("a", ok()), with_id("b", failed())], &[]);
    }

    #[test]
    fn a_long_list_of_differences_is_cut() {
        let calls = (0..30).map(|at| reported("", Some("calc"), "add", json!({ "a": at }), None)).collect();
        let tools = BTreeSet::from([("calc".to_owned(), "add".to_owned())]);
        let trace = Trace { tool_calls: Some(Vec::new()), tool_results: Some(Vec::new()), ..Trace::default() };
        let found = differences(&Account { calls }, &trace, &Names::new(&tools));
        assert_eq!(found.len(), MOST + 1);
        assert_eq!(found[MOST], "the program's own account of its calls differs in 10 more places");
    }
}
