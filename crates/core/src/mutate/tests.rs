//! Every operator, what is allowed and what is proposed; and on random runs, that nothing is called caught or fixed that is
//! not.

use proptest::prelude::*;
use serde_json::{Value, json};

use super::sites::{Sites, Tools};
use super::*;
use crate::diag::Source;
use crate::json::Layout;
use crate::suite::{GateFile, Variables, load_gates};

fn gates(file: &Value) -> GateFile {
    let source = Source::new("gates.yml", Layout::LINE.text(file));
    let loaded = load_gates(&source, &Variables { suite_dir: "", outside: &|_| None });
    let answer: Vec<String> = loaded.diagnostics.iter().map(|one| one.render(&source)).collect();
    loaded.value.unwrap_or_else(|| panic!("{}", answer.join("\n")))
}

fn trace(envelope: &Value) -> Trace {
    Trace::from_envelope(envelope).unwrap()
}

fn all() -> Options {
    Options { operators: Operator::ALL.to_vec(), limit: Some(10_000) }
}

fn only(operators: &[Operator]) -> Options {
    Options { operators: operators.to_vec(), limit: Some(10_000) }
}

fn runs(envelopes: &[Value]) -> Vec<Run> {
    let run = |(at, envelope): (usize, &Value)| Run { name: format!("#{}", at + 1), trace: trace(envelope) };
    envelopes.iter().enumerate().map(run).collect()
}

/// The mutants of these runs, and what was not tried.
fn judged(envelopes: &[Value], file: &Value, options: &Options) -> Result<(Vec<Mutant>, Untried), NotPassing> {
    let GateFile { expect, gates, .. } = gates(file);
    let is_group = envelopes.len() > 1;
    let mut subject = Subject { expect: &expect, gates: &gates, runs: runs(envelopes), is_group };
    let before: Vec<Value> = subject.runs.iter().map(|run| run.trace.to_envelope()).collect();
    let mut out = Vec::new();
    let untried = mutate(&mut subject, options, &mut |mutant| out.push(mutant))?;
    let after = subject.runs.iter().map(|run| run.trace.to_envelope());
    for (before, after) in before.iter().zip(after) {
        assert_eq!(before["tool_calls"], after["tool_calls"]);
        assert_eq!(before["final_response"], after["final_response"]);
        assert_eq!(before["conversation"], after["conversation"]);
    }
    Ok((out, untried))
}

/// One line per mutant.
fn lines(envelope: &Value, file: &Value, options: &Options) -> Vec<String> {
    let (mutants, _) = judged(std::slice::from_ref(envelope), file, options).unwrap();
    let line = |mutant: &Mutant| {
        let fix = mutant.fix.as_ref().map(|fix| format!(" | {}", Layout::LINE.text(fix)));
        let why = mutant.why.as_ref().map(|why| format!(" | {why}"));
        let more = fix.into_iter().chain(why).collect::<String>();
        let by = if mutant.by.is_empty() { String::new() } else { format!(" by {}", mutant.by.join(", ")) };
        format!("{}: {}: {}{by}{more}", mutant.operator, mutant.change, mutant.status)
    };
    mutants.iter().map(line).collect()
}

#[track_caller]
fn check(envelope: &Value, file: &Value, operators: &[Operator], expected: &[&str]) {
    let found = lines(envelope, file, &only(operators));
    assert_eq!(found, expected, "\n{}", found.join("\n"));
}

/// An order is looked up and refunded; the lookup of another one fails.
fn refund() -> Value {
    let text = |text: &str| json!([{ "type": "text", "text": text }]);
    json!({
        "tool_calls": [
            { "name": "find_order", "server": "shop", "args": { "order": "1043" }, "turn": 1 },
            { "name": "find_order", "server": "shop", "args": { "order": "9" }, "turn": 1 },
            { "name": "refund_order", "server": "shop", "args": { "order": "1043", "amount": 12, "notify": true }, "turn": 3 },
        ],
        "tool_results": [
            { "is_error": false, "content": text("order 1043: 12 EUR, card 4711") },
            { "is_error": true, "content": text("no such order"), "error": { "kind": "tool", "message": "no such order" } },
            { "is_error": false, "content": text("refunded") },
        ],
        "final_response": "I refunded order 1043. I could not find order 9.",
        "conversation": {
            "turns": [
                { "role": "user", "content": "Refund 1043 and 9." },
                { "role": "assistant", "content": null },
                { "role": "tool", "content": "" },
                { "role": "assistant", "content": null },
                { "role": "tool", "content": "" },
                { "role": "assistant", "content": "I refunded order 1043. I could not find order 9." },
            ],
            "tokens": { "input": 900, "output": 100, "total": 1000 },
            "stop_reason": "completed",
        },
    })
}

/// A check that every change of the run passes.
fn nothing() -> Value {
    json!({ "expect": [{ "target": "conversation.stop_reason", "matcher": { "exact": "completed" } }] })
}

#[test]
fn changed_calls_are_described_and_a_check_is_proposed() {
    use Operator::{CutTail, DropCall, DuplicateCall, InsertCall, OtherServer, OtherTool, SwapCalls};
    check(
        &refund(),
        &nothing(),
        &[DropCall, DuplicateCall, SwapCalls, OtherTool, OtherServer, InsertCall, CutTail],
        &[
            r#"drop-call: tool_calls[0] (find_order) is not made: missed | {"trajectory":{"calls":[{"name":"find_order"},{"name":"find_order"}],"mode":"superset"}}"#,
            r#"drop-call: tool_calls[1] (find_order) is not made: missed | {"trajectory":{"calls":[{"name":"find_order"},{"name":"find_order"}],"mode":"superset"}}"#,
            r#"drop-call: tool_calls[2] (refund_order) is not made: missed | {"trajectory":{"calls":[{"name":"refund_order"}],"mode":"superset"}}"#,
            r#"duplicate-call: tool_calls[0] (find_order) is made twice: missed | {"expect":[{"matcher":{"schema":{"maxItems":3}},"target":"tool_names"}]}"#,
            r#"duplicate-call: tool_calls[1] (find_order) is made twice: missed | {"expect":[{"matcher":{"schema":{"maxItems":3}},"target":"tool_names"}]}"#,
            r#"duplicate-call: tool_calls[2] (refund_order) is made twice: missed | {"expect":[{"matcher":{"schema":{"maxItems":3}},"target":"tool_names"}]}"#,
            r#"swap-calls: tool_calls[0] (find_order) and tool_calls[1] (find_order) are swapped: missed | {"expect":[{"matcher":{"exact":{"order":"1043"}},"target":"tool_calls[0].args"}]}"#,
            r#"swap-calls: tool_calls[1] (find_order) and tool_calls[2] (refund_order) are swapped: missed | {"expect":[{"matcher":{"exact":"find_order"},"target":"tool_names[1]"}]}"#,
            r#"other-tool: tool_calls[0] (find_order) is a call of refund_order: missed | {"trajectory":{"calls":[{"name":"find_order"},{"name":"find_order"}],"mode":"superset"}}"#,
            r#"other-tool: tool_calls[1] (find_order) is a call of refund_order: missed | {"trajectory":{"calls":[{"name":"find_order"},{"name":"find_order"}],"mode":"superset"}}"#,
            r#"other-tool: tool_calls[2] (refund_order) is a call of find_order: missed | {"trajectory":{"calls":[{"name":"refund_order"}],"mode":"superset"}}"#,
            r#"other-server: tool_calls[0] (find_order) is made on server other-server, not shop: missed | {"trajectory":{"calls":[{"name":"find_order","server":"shop"},{"name":"find_order","server":"shop"}],"mode":"superset"}}"#,
            r#"other-server: tool_calls[1] (find_order) is made on server other-server, not shop: missed | {"trajectory":{"calls":[{"name":"find_order","server":"shop"},{"name":"find_order","server":"shop"}],"mode":"superset"}}"#,
            r#"other-server: tool_calls[2] (refund_order) is made on server other-server, not shop: missed | {"trajectory":{"calls":[{"name":"refund_order","server":"shop"}],"mode":"superset"}}"#,
            r#"insert-call: unexpected_tool is called first: missed | {"expect":[{"matcher":{"schema":{"items":{"enum":["find_order","refund_order"]}}},"target":"tool_names"}]}"#,
            r#"insert-call: unexpected_tool is called last: missed | {"expect":[{"matcher":{"schema":{"items":{"enum":["find_order","refund_order"]}}},"target":"tool_names"}]}"#,
            r#"cut-tail: the run stops before tool_calls[1] (find_order), without its last 2 calls: missed | {"trajectory":{"calls":[{"name":"refund_order"}],"mode":"superset"}}"#,
            r#"cut-tail: none of the 3 calls is made: missed | {"trajectory":{"calls":[{"name":"refund_order"}],"mode":"superset"}}"#,
        ],
    );
}

#[test]
fn changed_arguments_are_described_and_a_check_is_proposed() {
    use Operator::{DropArgument, ForeignValue, NullArgument, OffByOne, RetypeArgument};
    let one = json!({
        "tool_calls": [
            { "name": "book", "server": "air", "args": { "seats": [{ "row": 7 }], "to": "Oslo", "odd key": "007" } },
            { "name": "book", "server": "air", "args": { "to": "Bergen" } },
        ],
        "conversation": { "stop_reason": "completed" },
    });
    check(
        &one,
        &nothing(),
        &[DropArgument, NullArgument, RetypeArgument, OffByOne, ForeignValue],
        &[
            r#"drop-argument: tool_calls[0] (book): argument ["odd key"] is missing: missed | {"trajectory":{"calls":[{"args":{"subset":{"odd key":"007"}},"name":"book"}],"mode":"superset"}}"#,
            r#"drop-argument: tool_calls[0] (book): argument seats is missing: missed | {"trajectory":{"calls":[{"args":{"subset":{"seats":[{"row":7}]}},"name":"book"}],"mode":"superset"}}"#,
            r#"drop-argument: tool_calls[0] (book): argument seats[0].row is missing: missed | {"expect":[{"matcher":{"exact":7},"target":"tool_calls[0].args.seats[0].row"}]}"#,
            r#"drop-argument: tool_calls[0] (book): argument to is missing: missed | {"trajectory":{"calls":[{"args":{"subset":{"to":"Oslo"}},"name":"book"}],"mode":"superset"}}"#,
            r#"drop-argument: tool_calls[1] (book): argument to is missing: missed | {"trajectory":{"calls":[{"args":{"subset":{"to":"Bergen"}},"name":"book"}],"mode":"superset"}}"#,
            r#"null-argument: tool_calls[0] (book): argument ["odd key"] is null instead of "007": missed | {"trajectory":{"calls":[{"args":{"subset":{"odd key":"007"}},"name":"book"}],"mode":"superset"}}"#,
            r#"null-argument: tool_calls[0] (book): argument seats is null instead of [{"row":7}]: missed | {"trajectory":{"calls":[{"args":{"subset":{"seats":[{"row":7}]}},"name":"book"}],"mode":"superset"}}"#,
            r#"null-argument: tool_calls[0] (book): argument seats[0] is null instead of {"row":7}: missed | {"expect":[{"matcher":{"exact":{"row":7}},"target":"tool_calls[0].args.seats[0]"}]}"#,
            r#"null-argument: tool_calls[0] (book): argument seats[0].row is null instead of 7: missed | {"expect":[{"matcher":{"exact":7},"target":"tool_calls[0].args.seats[0].row"}]}"#,
            r#"null-argument: tool_calls[0] (book): argument to is null instead of "Oslo": missed | {"trajectory":{"calls":[{"args":{"subset":{"to":"Oslo"}},"name":"book"}],"mode":"superset"}}"#,
            r#"null-argument: tool_calls[1] (book): argument to is null instead of "Bergen": missed | {"trajectory":{"calls":[{"args":{"subset":{"to":"Bergen"}},"name":"book"}],"mode":"superset"}}"#,
            r#"retype-argument: tool_calls[0] (book): argument ["odd key"] is ["007"] instead of "007": missed | {"trajectory":{"calls":[{"args":{"subset":{"odd key":"007"}},"name":"book"}],"mode":"superset"}}"#,
            r#"retype-argument: tool_calls[0] (book): argument seats[0].row is "7" instead of 7: missed | {"expect":[{"matcher":{"exact":7},"target":"tool_calls[0].args.seats[0].row"}]}"#,
            r#"retype-argument: tool_calls[0] (book): argument to is ["Oslo"] instead of "Oslo": missed | {"trajectory":{"calls":[{"args":{"subset":{"to":"Oslo"}},"name":"book"}],"mode":"superset"}}"#,
            r#"retype-argument: tool_calls[1] (book): argument to is ["Bergen"] instead of "Bergen": missed | {"trajectory":{"calls":[{"args":{"subset":{"to":"Bergen"}},"name":"book"}],"mode":"superset"}}"#,
            r#"off-by-one: tool_calls[0] (book): argument ["odd key"] is "008" instead of "007": missed | {"trajectory":{"calls":[{"args":{"subset":{"odd key":"007"}},"name":"book"}],"mode":"superset"}}"#,
            r#"off-by-one: tool_calls[0] (book): argument seats[0].row is 8 instead of 7: missed | {"expect":[{"matcher":{"exact":7},"target":"tool_calls[0].args.seats[0].row"}]}"#,
            r#"foreign-value: tool_calls[0] (book): argument ["odd key"] is "Bergen" instead of "007": missed | {"trajectory":{"calls":[{"args":{"subset":{"odd key":"007"}},"name":"book"}],"mode":"superset"}}"#,
            r#"foreign-value: tool_calls[0] (book): argument to is "Bergen" instead of "Oslo": missed | {"trajectory":{"calls":[{"args":{"subset":{"to":"Oslo"}},"name":"book"}],"mode":"superset"}}"#,
            r#"foreign-value: tool_calls[1] (book): argument to is "Oslo" instead of "Bergen": missed | {"trajectory":{"calls":[{"args":{"subset":{"to":"Bergen"}},"name":"book"}],"mode":"superset"}}"#,
        ],
    );
}

#[test]
fn changed_results_messages_and_sessions_are_described_and_a_check_is_proposed() {
    use Operator::{
        ClaimUnmade, CutMessage, DropNegation, EmptyResult, FailResult, FlipOutcome, ForeignResult, GeneratedCaller,
        MoreTokens, UnfailResult,
    };
    check(
        &refund(),
        &nothing(),
        &[
            FailResult,
            UnfailResult,
            EmptyResult,
            ForeignResult,
            ClaimUnmade,
            DropNegation,
            CutMessage,
            MoreTokens,
            GeneratedCaller,
            FlipOutcome,
        ],
        &[
            r#"fail-result: tool_calls[0] (find_order) fails: missed | {"trajectory":{"calls":[{"name":"find_order","status":"ok"}],"mode":"superset"}}"#,
            r#"fail-result: tool_calls[2] (refund_order) fails: missed | {"trajectory":{"calls":[{"name":"refund_order","status":"ok"}],"mode":"superset"}}"#,
            r#"unfail-result: tool_calls[1] (find_order) succeeds, although it failed: missed | {"trajectory":{"calls":[{"name":"find_order","status":"error"}],"mode":"superset"}}"#,
            r#"empty-result: tool_calls[0] (find_order) returns nothing: missed | {"trajectory_axes":{"dependencies":[{"consumer":"refund_order","producer":"find_order","via":"order"}]}}"#,
            r#"empty-result: tool_calls[2] (refund_order) returns nothing: missed | {"expect":[{"matcher":{"schema":{"minItems":1}},"target":"tool_results[2].content"}]}"#,
            r#"foreign-result: tool_calls[0] (find_order) returns what tool_calls[2] (refund_order) returned: missed | {"trajectory_axes":{"dependencies":[{"consumer":"refund_order","producer":"find_order","via":"order"}]}}"#,
            r#"foreign-result: tool_calls[2] (refund_order) returns what tool_calls[0] (find_order) returned: missed | {"expect":[{"matcher":{"contains":"refunded"},"target":"tool_results[2].content[0].text"}]}"#,
            r#"claim-unmade: the final message adds: I have also deleted the old backup.: missed | {"narrative":{}}"#,
            r#"drop-negation: the final message loses "not" at byte 31: missed | {"expect":[{"matcher":{"contains":"I could not find order 9."},"target":"final_response"}]}"#,
            r#"cut-message: the final message ends after 22 of 48 characters: missed | {"expect":[{"matcher":{"contains":"order 1043. I could not find order 9."},"target":"final_response"}]}"#,
            r#"more-tokens: tokens: 9000 in, 1000 out, 10000 total instead of 900 in, 100 out, 1000 total: missed | {"expect":[{"matcher":{"schema":{"maximum":1500}},"target":"conversation.tokens.total"}]}"#,
            r#"generated-caller: generated code makes tool_calls[0] (find_order): missed | {"expect":[{"matcher":{"schema":{"items":{"not":{"required":["caller"]}}}},"target":"tool_calls"}]}"#,
            r#"generated-caller: generated code makes tool_calls[1] (find_order): missed | {"expect":[{"matcher":{"schema":{"items":{"not":{"required":["caller"]}}}},"target":"tool_calls"}]}"#,
            r#"generated-caller: generated code makes tool_calls[2] (refund_order): missed | {"expect":[{"matcher":{"schema":{"items":{"not":{"required":["caller"]}}}},"target":"tool_calls"}]}"#,
        ],
    );
}

#[test]
fn explicitly_allowed_changes_are_equivalent_and_unmentioned_ones_are_missed() {
    use Operator::{DropArgument, DropCall, OtherServer, SwapCalls};
    let one = json!({
        "tool_calls": [
            { "name": "a", "server": "s", "args": { "x": 1, "id": "u-1" }, "turn": 1 },
            { "name": "b", "server": "s", "args": { "y": 1 }, "turn": 1 },
            { "name": "c", "server": "s", "args": { "z": 1 }, "turn": 3 },
        ],
    });
    let reference = |within_turn: &str| {
        json!({ "trajectory": { "within_turn": within_turn, "calls": [
            { "name": "a", "args": { "exact": { "x": 1 } }, "ignore_args": ["/id"] },
            { "name": "b", "args": "any" },
            { "name": "c", "optional": true },
        ] } })
    };
    check(
        &one,
        &reference("any_order"),
        &[DropCall, SwapCalls, DropArgument],
        &[
            "drop-call: tool_calls[0] (a) is not made: caught by trajectory",
            "drop-call: tool_calls[1] (b) is not made: caught by trajectory",
            "drop-call: tool_calls[2] (c) is not made: equivalent | calls[2] (c) is optional",
            "swap-calls: tool_calls[0] (a) and tool_calls[1] (b) are swapped: equivalent | both calls are in one turn, and `within_turn: any_order` allows any order",
            "swap-calls: tool_calls[1] (b) and tool_calls[2] (c) are swapped: caught by trajectory",
            "drop-argument: tool_calls[0] (a): argument id is missing: equivalent | `ignore_args` of calls[0] (a) has /id",
            "drop-argument: tool_calls[0] (a): argument x is missing: caught by trajectory",
            "drop-argument: tool_calls[1] (b): argument y is missing: equivalent | calls[1] (b) allows any arguments",
            r#"drop-argument: tool_calls[2] (c): argument z is missing: missed | {"expect":[{"matcher":{"exact":1},"target":"tool_calls[2].args.z"}]}"#,
        ],
    );
    check(
        &one,
        &reference("ordered"),
        &[SwapCalls],
        &[
            "swap-calls: tool_calls[0] (a) and tool_calls[1] (b) are swapped: caught by trajectory",
            "swap-calls: tool_calls[1] (b) and tool_calls[2] (c) are swapped: caught by trajectory",
        ],
    );
    let unordered = json!({ "trajectory": { "mode": "unordered", "calls": [{ "name": "a" }, { "name": "b" }] } });
    let superset = json!({ "trajectory": { "mode": "superset", "calls": [{ "name": "a" }, { "name": "b" }] } });
    let swapped = lines(&one, &unordered, &only(&[SwapCalls]));
    assert!(
        swapped.iter().all(|line| line.ends_with("equivalent | `mode: unordered` allows any order")),
        "{swapped:?}"
    );
    let swapped = lines(&one, &superset, &only(&[SwapCalls]));
    assert!(swapped.iter().all(|line| line.contains(": missed | {\"trajectory_axes\"")), "{swapped:?}");
    // No gate names a server, so another one is not allowed.
    let moved = lines(&one, &reference("ordered"), &only(&[OtherServer]));
    assert!(moved.iter().all(|line| line.contains(": missed | {\"expect\"")), "{moved:?}");
}

#[test]
fn a_run_that_does_not_pass_is_not_changed() {
    let file = json!({ "trajectory": { "calls": [{ "name": "other" }] }, "narrative": {} });
    let found = judged(&[refund()], &file, &all()).unwrap_err();
    assert_eq!((found.run, found.check, found.verdict), (Some(0), "trajectory", Verdict::Fail));
    assert_eq!(found.reason, "tool_calls[0] is find_order, expected other");
    let file = json!({ "stability": {}, "narrative": {} });
    let found = judged(&[refund()], &file, &all()).unwrap_err();
    assert_eq!((found.run, found.check, found.verdict), (Some(0), "stability", Verdict::Unassessable));
}

#[test]
fn equal_mutants_count_once() {
    let call = json!({ "name": "a", "server": "s", "args": {} });
    let same = json!({ "tool_calls": [call, call, call], "conversation": { "stop_reason": "completed" } });
    let options = only(&[Operator::DropCall, Operator::DuplicateCall, Operator::SwapCalls, Operator::CutTail]);
    let (mutants, untried) = judged(std::slice::from_ref(&same), &nothing(), &options).unwrap();
    // One call less, one call more, two calls less, none.
    assert_eq!((mutants.len(), untried.duplicates), (4, 6));
    // A call that is repeated in another turn and swapped with itself is not a mutant.
    let retried = json!({
        "tool_calls": [{ "name": "a", "args": {}, "turn": 1, "id": "x" }, { "name": "a", "args": {}, "turn": 3, "id": "y" }],
        "conversation": { "stop_reason": "completed" },
    });
    let (mutants, untried) = judged(&[retried], &nothing(), &only(&[Operator::SwapCalls])).unwrap();
    assert_eq!((mutants.len(), untried.duplicates), (0, 1));
    // Equal runs have equal mutants.
    let over_runs = json!({ "expect": nothing()["expect"], "reliability": {} });
    let (again, untried) = judged(&[same.clone(), same], &over_runs, &options).unwrap();
    assert_eq!((again.len(), untried.duplicates), (4, 16));
}

#[test]
fn over_the_limit_every_operator_keeps_a_share() {
    let calls: Vec<Value> =
        (0..200).map(|at| json!({ "name": format!("t{at}"), "server": "s", "args": { "n": at } })).collect();
    let long = json!({ "tool_calls": calls, "conversation": { "stop_reason": "completed", "tokens": { "total": 9 } } });
    let (mutants, untried) = judged(&[long], &nothing(), &Options { limit: Some(100), ..all() }).unwrap();
    assert!(mutants.len() <= 100 && mutants.len() > 80, "{}", mutants.len());
    assert!(untried.over_limit > 2000, "{untried:?}");
    let long =
        json!({ "tool_calls": vec![json!({ "name": "a" }); 10_000], "conversation": { "stop_reason": "completed" } });
    let options = Options { limit: None, operators: vec![Operator::OtherTool] };
    let (few, _) = judged(&[long], &nothing(), &options).unwrap();
    assert_eq!(few.len(), 100, "a long run gets fewer");
    for operator in [Operator::DropCall, Operator::MoreTokens, Operator::CutTail, Operator::OffByOne] {
        assert!(mutants.iter().any(|mutant| mutant.operator == operator), "{operator}");
    }
}

#[test]
fn gates_over_runs_judge_the_whole_group() {
    let run = |order: &str| json!({ "tool_calls": [{ "name": "find", "args": { "order": order } }] });
    let runs = [run("1"), run("1"), run("2"), run("1")];
    // One of four runs fails its own check, and three of four are enough.
    let tolerant = json!({
        "expect": [{ "target": "tool_calls[0].args.order", "matcher": { "exact": "1" } }],
        "reliability": { "expect": [{ "target": "reliability.pass_rate", "matcher": { "schema": { "minimum": 50 } } }] },
    });
    let options = only(&[Operator::OffByOne, Operator::FlipOutcome]);
    let (mutants, untried) = judged(&runs, &tolerant, &options).unwrap();
    assert_eq!(untried.absorbed_runs, 1);
    for mutant in &mutants {
        assert_eq!(mutant.status, Status::Missed, "{mutant:?}");
        let fix = mutant.fix.as_ref().unwrap();
        assert_eq!(fix["reliability"]["expect"][0]["matcher"], json!({ "schema": { "minimum": 75.0 } }), "{fix}");
    }
    let absorbed = mutants.iter().find(|mutant| mutant.operator == Operator::OffByOne).unwrap();
    assert_eq!(absorbed.by, ["expect"], "the run fails its check, and the group absorbs it");
    // Every run must pass.
    let strict = json!({ "expect": tolerant["expect"], "reliability": {} });
    let (mutants, _) = judged(&[run("1"), run("1")], &strict, &options).unwrap();
    let by: Vec<String> = mutants.iter().map(|one| format!("{} {}", one.status, one.by.join(", "))).collect();
    assert_eq!(by, ["caught expect, reliability", "caught reliability", "caught reliability"]);
    // Runs that differ too much.
    let stable = json!({ "stability": { "expect": [
        { "target": "stability.argument_consistency", "matcher": { "exact": 1 } },
    ] }, "expect": [{ "target": "tool_names", "matcher": { "contains": "find" } }] });
    let (mutants, _) = judged(&[run("1"), run("1")], &stable, &only(&[Operator::OffByOne])).unwrap();
    assert_eq!((mutants[0].status, mutants[0].by.as_slice()), (Status::Caught, ["stability"].as_slice()));
}

#[test]
fn runs_with_little_evidence_are_mutated_where_possible() {
    let only_text = json!({ "final_response": "Nothing to do", "conversation": { "stop_reason": "completed" } });
    let found = lines(&only_text, &nothing(), &all());
    assert_eq!(found.len(), 2, "{found:?}");
    let empty = json!({ "tool_calls": [], "final_response": "", "conversation": { "stop_reason": "completed" } });
    let found = lines(&empty, &nothing(), &all());
    assert_eq!(
        found,
        [
            r#"insert-call: unexpected_tool is called first: missed | {"expect":[{"matcher":{"schema":{"maxItems":0}},"target":"tool_names"}]}"#
        ]
    );
    let bare = json!({ "tool_calls": [{ "name": "å\u{202e}" }], "conversation": { "stop_reason": "completed" } });
    let found = lines(&bare, &nothing(), &all());
    assert!(found.iter().all(|line| line.contains("missed | {")), "{found:?}");
    let dollars = json!({ "tool_calls": [{ "name": "a", "args": { "to": "${HOME} $$" } }], "conversation": { "stop_reason": "completed" } });
    let found = lines(&dollars, &nothing(), &only(&[Operator::DropArgument]));
    assert_eq!(
        found,
        [
            r#"drop-argument: tool_calls[0] (a): argument to is missing: missed | {"trajectory":{"calls":[{"args":{"subset":{"to":"$${HOME} $$$$"}},"name":"a"}],"mode":"superset"}}"#
        ]
    );
}

fn any_trace() -> impl Strategy<Value = Value> {
    let args = prop_oneof![
        Just(json!({})),
        (0_i64..3).prop_map(|x| json!({ "x": x })),
        ("[ab]{1,3}", any::<bool>()).prop_map(|(y, z)| json!({ "y": y, "z": z, "l": [y, 1] })),
        Just(Value::Null),
    ];
    let text = prop::sample::select(vec!["one", "two", "not found", "ab 12"]);
    let result = prop_oneof![
        3 => (any::<bool>(), text).prop_map(|(failed, text)| {
            json!({ "is_error": failed, "content": [{ "type": "text", "text": text }] })
        }),
        1 => Just(Value::Null),
        1 => Just(json!({ "is_error": false, "structured_content": { "x": 1 }, "content": [] })),
    ];
    let name = prop::sample::select(vec!["find", "book", "delete_file"]);
    let server = prop::sample::select(vec![json!("s"), json!("t"), Value::Null]);
    let turn = prop::sample::select(vec![json!(1), json!(3), Value::Null]);
    let call = (name, server, args, turn, result).prop_map(|(name, server, args, turn, result)| {
        (json!({ "name": name, "server": server, "args": args, "turn": turn }), result)
    });
    let answer = prop::sample::select(vec![
        "I deleted the file.",
        "I did not book it, and I can't find it.",
        "",
        "Found: one",
        "I have booked two seats.",
    ]);
    (prop::collection::vec(call, 0..5), answer, any::<bool>(), prop::option::of(1_u64..500)).prop_map(
        |(rows, answer, has_results, tokens)| {
            let (calls, results): (Vec<Value>, Vec<Value>) = rows.into_iter().unzip();
            let turn = |role: &str, content: Value| json!({ "role": role, "content": content });
            let mut envelope = json!({
                "tool_calls": calls,
                "final_response": answer,
                "conversation": {
                    "turns": [
                        turn("user", json!("Go.")), turn("assistant", Value::Null), turn("tool", json!("")),
                        turn("assistant", Value::Null), turn("assistant", json!(answer)),
                    ],
                    "tokens": { "total": tokens },
                    "stop_reason": "completed",
                },
            });
            if has_results {
                envelope["tool_results"] = Value::Array(results);
            }
            envelope
        },
    )
}

/// Gates that a run is likely to pass, as strict as the choices say.
fn gates_for(envelope: &Value, choice: &[u8]) -> Value {
    let calls = envelope["tool_calls"].as_array().unwrap();
    let mut file = json!({});
    let pick = |at: usize| choice.get(at).copied().unwrap_or(0);
    let mode = ["strict", "subsequence", "unordered", "superset", "subset"][usize::from(pick(0)) % 5];
    let reference: Vec<Value> = calls
        .iter()
        .enumerate()
        .map(|(at, call)| {
            let mut rule = json!({ "name": call["name"] });
            match pick(at + 1) % 6 {
                0 => rule["args"] = json!("any"),
                1 if call["args"].is_object() => rule["args"] = json!({ "exact": call["args"] }),
                2 => rule["optional"] = json!(true),
                3 if call["args"].is_object() => {
                    rule["args"] = json!({ "exact": call["args"] });
                    rule["ignore_args"] = json!(["/x", "/y"]);
                }
                4 if call["server"].is_string() => rule["server"] = call["server"].clone(),
                _ => {}
            }
            rule
        })
        .collect();
    if pick(6) % 4 > 0 {
        file["trajectory"] = json!({ "mode": mode, "calls": reference });
        if pick(7) % 2 == 0 && (mode == "strict" || mode == "subsequence") {
            file["trajectory"]["within_turn"] = json!("any_order");
        }
    }
    if pick(8) % 3 == 0 {
        file["narrative"] = json!({});
    }
    if pick(9) % 3 == 0 {
        file["trajectory_axes"] = json!({ "order": [{ "first": "find", "second": "book" }] });
    }
    if pick(10) % 4 == 0 {
        file["golden_path"] =
            json!({ "calls": ["find", "book"], "allow_extra_steps": true, "penalize_backtracking": false });
    }
    if pick(11) % 3 == 0 || file == json!({}) {
        file["expect"] = nothing()["expect"].clone();
    }
    file
}

/// The verdict of a changed run, by the path that reports use.
fn passes(expect: &[Assertion], gates: &Gates, trace: &Trace) -> bool {
    judge::run(expect, gates, trace).iter().all(|check| check.verdict == Verdict::Pass)
}

/// Every change of a run, made on a copy.
fn changed(trace: &Trace, all_runs: &[Run]) -> std::collections::BTreeMap<(Operator, String), Trace> {
    let mut trace = trace.clone();
    edit::pad_results(&mut trace);
    let sites = Sites::of(&trace, &all(), false);
    let tools = Tools::of(all_runs);
    let (chosen, _) = sites.within(usize::MAX);
    let made = chosen.iter().filter_map(|site| {
        let mutation = sites.mutation(site, &trace, &tools)?;
        let mut copy = trace.clone();
        mutation.edit.apply(&mut copy);
        Some(((mutation.operator, mutation.change), copy))
    });
    made.collect()
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(64) })]

    #[test]
    fn no_mutant_is_called_caught_or_fixed_that_is_not(
        envelope in any_trace(),
        choice in prop::collection::vec(any::<u8>(), 12),
    ) {
        let file = gates_for(&envelope, &choice);
        let GateFile { expect, gates, .. } = gates(&file);
        let original = trace(&envelope);
        let found = judged(std::slice::from_ref(&envelope), &file, &all());
        if !passes(&expect, &gates, &original) {
            prop_assert!(found.is_err(), "{file}");
            return Ok(());
        }
        let (mutants, _) = found.unwrap();
        prop_assert_eq!(&judged(std::slice::from_ref(&envelope), &file, &all()).unwrap().0, &mutants);
        let copies = changed(&original, &runs(std::slice::from_ref(&envelope)));
        for mutant in &mutants {
            let copy = &copies[&(mutant.operator, mutant.change.clone())];
            let read = Trace::from_envelope(&copy.to_envelope()).unwrap();
            prop_assert_eq!(&read, copy, "{:?} is a valid trace", mutant.change);
            prop_assert!(read != original, "{:?} changes something", mutant.change);
            prop_assert_eq!(mutant.status == Status::Caught, !passes(&expect, &gates, &read), "{:?} {}", mutant, file);
            prop_assert_eq!(mutant.status == Status::Caught, !mutant.by.is_empty());
            prop_assert_eq!(mutant.status == Status::Missed, !mutant.diff.is_empty());
            if let Some(fix) = &mutant.fix {
                let GateFile { expect, gates, .. } = self::gates(fix);
                prop_assert!(passes(&expect, &gates, &original), "{fix} passes the original");
                prop_assert!(!passes(&expect, &gates, &read), "{fix} fails {:?}", mutant.change);
            }
            prop_assert_eq!(
                mutant.status == Status::Missed,
                mutant.fix.is_some() || (mutant.why.is_some() && mutant.status != Status::Equivalent)
            );
        }
    }

    #[test]
    fn a_group_is_judged_as_reports_judge_it(
        envelopes in prop::collection::vec(any_trace(), 2..4),
        choice in prop::collection::vec(any::<u8>(), 12),
        rate in prop::sample::select(vec![0, 50, 100]),
    ) {
        let mut file = gates_for(&envelopes[0], &choice);
        file["reliability"] = json!({ "expect": [
            { "target": "reliability.pass_rate", "matcher": { "schema": { "minimum": rate } } },
        ] });
        if choice[0] % 2 == 0 {
            file["stability"] = json!({ "expect": [
                { "target": "stability.tool_sequence_similarity", "matcher": { "schema": { "minimum": 0.4 } } },
            ] });
        }
        let GateFile { expect, gates, .. } = gates(&file);
        let originals: Vec<Trace> = envelopes.iter().map(trace).collect();
        let own = (expect, gates);
        // All of these checks together, with a run that fails regardless of what it did.
        let group_passes = |all: &[&(Vec<Assertion>, Gates)], traces: &[Trace], flipped: Option<usize>| {
            let is_good = |(at, trace): (usize, &Trace)| {
                flipped != Some(at) && all.iter().all(|(expect, gates)| passes(expect, gates, trace))
            };
            let outcomes: Vec<bool> = traces.iter().enumerate().map(is_good).collect();
            let traces: Vec<&Trace> = traces.iter().collect();
            let over_runs = all.iter().flat_map(|(_, gates)| judge::runs(gates, &traces, &outcomes));
            over_runs.into_iter().all(|check| check.verdict == Verdict::Pass)
        };
        let found = judged(&envelopes, &file, &all());
        if !group_passes(&[&own], &originals, None) {
            prop_assert!(found.is_err());
            return Ok(());
        }
        let all_runs = runs(&envelopes);
        let copies: Vec<_> = originals.iter().map(|trace| changed(trace, &all_runs)).collect();
        for mutant in found.unwrap().0 {
            let flipped = (mutant.operator == Operator::FlipOutcome).then_some(mutant.run);
            let mut traces = originals.clone();
            if flipped.is_none() {
                traces[mutant.run] = copies[mutant.run][&(mutant.operator, mutant.change.clone())].clone();
            }
            let is_caught = !group_passes(&[&own], &traces, flipped);
            prop_assert_eq!(mutant.status == Status::Caught, is_caught, "{:?}", mutant);
            if let Some(fix) = &mutant.fix {
                let GateFile { expect, gates, .. } = self::gates(fix);
                let more = (expect, gates);
                prop_assert!(group_passes(&[&own, &more], &originals, None), "{fix} passes the original: {:?}", mutant);
                prop_assert!(!group_passes(&[&own, &more], &traces, flipped), "{fix} fails {:?}", mutant);
            }
            let is_explained = mutant.fix.is_some() || mutant.why.is_some();
            prop_assert_eq!(mutant.status != Status::Caught, is_explained, "{:?}", mutant);
        }
    }
}
