//! What a call meets when a fault is armed.

use mcptest_core::trace::{ToolCall, Trace};
use mcptest_runner::fault::{FaultAction, Faults};

use crate::support::one_test;

/// What each of these calls meets, as `sent`, `sent+mark` or the mark and error of the answer.
fn check(inject: &str, recovery: &str, calls: &[(&str, &str)], expected: &[&str]) {
    let suite = one_test(&format!("    inject: [{inject}]\n{recovery}"));
    let mut faults = Faults::new(&suite.agents[0], &suite.faults);
    let found: Vec<String> = calls
        .iter()
        .map(|(server, tool)| match faults.next_action(server, tool) {
            FaultAction::Send => "sent".to_owned(),
            FaultAction::SendMarked(mark) => format!("sent, {} {} {} ms", mark.name, mark.effect, mark.ms),
            FaultAction::Answer(result) => {
                let mark = result.fault.clone().unwrap();
                let error = result.error.clone().unwrap();
                assert_eq!(result.failed(), Some(true));
                assert_eq!(result.texts().collect::<Vec<_>>(), [error.message.as_str()]);
                // What the model sees and what the trace keeps is one and the same.
                let trace = Trace {
                    tool_calls: Some(vec![ToolCall::default()]),
                    tool_results: Some(vec![Some(*result)]),
                    ..Trace::default()
                };
                assert_eq!(Trace::from_envelope(&trace.to_envelope()).unwrap().tool_results, trace.tool_results);
                let code = error.code.map_or_else(String::new, |code| format!(" {code}"));
                format!("{} {} {} ms: {}{code} {}", mark.name, mark.effect, mark.ms, error.kind, error.message)
            }
        })
        .collect();
    assert_eq!(found, expected, "{inject}");
}

#[test]
fn each_kind_has_its_effect() {
    let search = [("web", "search")];
    check("dead", "", &search, &["dead timeout 3000 ms: timeout no answer within 3000 ms"]);
    check("stuck", "", &[("db", "query")], &["stuck timeout 3000 ms: timeout no answer within 3000 ms"]);
    check("broken", "", &search, &["broken error 0 ms: jsonrpc -32603 internal error"]);
    check("sorry", "", &search, &["sorry error 0 ms: tool the tool failed"]);
    check("gone", "", &search, &["gone error 0 ms: transport the connection was closed"]);
}

#[test]
fn a_slow_answer_is_a_delay_below_the_budget_and_a_timeout_from_it_on() {
    let search = [("web", "search")];
    check("late", "", &search, &["sent, late delay 2000 ms"]);
    let budget = |ms: u64| format!("    recovery: {{ max_detection_ms: {ms} }}\n");
    check("late", &budget(2001), &search, &["sent, late delay 2000 ms"]);
    check("late", &budget(2000), &search, &["late timeout 2000 ms: timeout no answer within 2000 ms"]);
    check("dead", &budget(9000), &search, &["dead timeout 9000 ms: timeout no answer within 9000 ms"]);
}

#[test]
fn a_fault_hits_only_its_tool_on_its_server() {
    check(
        "dead",
        "",
        &[("web", "open"), ("db", "search")],
        &["sent", "dead timeout 3000 ms: timeout no answer within 3000 ms"],
    );
    check("stuck", "", &[("web", "search"), ("web", "ping")], &["sent", "sent"]);
    check("", "", &[("web", "search")], &["sent"]);
}

#[test]
fn a_fault_that_recovers_fails_this_often_and_never_again() {
    let out = "flaky timeout 3000 ms: timeout no answer within 3000 ms";
    let search = ("web", "search");
    check(
        "flaky",
        "",
        &[search, ("web", "open"), ("db", "search"), search, search, search],
        &[out, "sent", "sent", out, "sent", "sent"],
    );
}

#[test]
fn the_first_fault_that_matches_decides() {
    let search = ("web", "search");
    let timeout = |name: &str| format!("{name} timeout 3000 ms: timeout no answer within 3000 ms");
    check("flaky, broken", "", &[search; 4], &[&timeout("flaky"), &timeout("flaky"), "sent", "sent"]);
    check("broken, flaky", "", &[search], &["broken error 0 ms: jsonrpc -32603 internal error"]);
    check("flaky, broken", "", &[("db", "search")], &["broken error 0 ms: jsonrpc -32603 internal error"]);
}
