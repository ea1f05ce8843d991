//! Results of tau-bench and tau2: fixtures, recognition and refusals.

use std::fs;

use mcptest_core::import::{Format, Options, Record, Unit};
use mcptest_core::trace::StopReason;
use serde_json::Value;

use super::{check_fixtures, folder, read, refusal, sniffed};

#[test]
fn fixtures() {
    check_fixtures(Format::Tau);
}

#[test]
fn a_run_of_tau2_reads_the_same_from_its_document_and_alone_with_its_header() {
    let text = fs::read_to_string(folder().join("tau/tau2.json")).unwrap();
    let all = read(Format::Tau, &text).unwrap();
    let mut header: Value = serde_json::from_str(&text).unwrap();
    header.as_object_mut().unwrap().remove("simulations");
    let header = header.to_string();
    assert_eq!(all.len(), 3);
    for one in &all {
        assert!(one.fields.starts_with('{') && text.contains(&*one.fields), "{}", one.fields);
        let record = Record { text: &one.fields, header: Some(&header) };
        assert_eq!(Format::Tau.read(record, &Options::default()).unwrap(), std::slice::from_ref(one));
        let mut nameless = one.clone();
        nameless.trace.conversation.model = None;
        assert_eq!(read(Format::Tau, &one.fields).unwrap(), [nameless]);
    }
}

#[test]
fn termination_reasons_become_stop_reasons() {
    let cases = [
        ("user_stop", Some("completed")),
        ("agent_stop", Some("completed")),
        ("max_steps", Some("max_turns")),
        ("timeout", Some("error")),
        ("too_many_errors", Some("error")),
        ("agent_error", Some("error")),
        ("user_error", Some("error")),
        ("infrastructure_error", Some("error")),
        ("context_window_exceeded", Some("error")),
        ("unexpected_error", Some("error")),
        ("eclipse", None),
    ];
    for (word, expected) in cases {
        let text = format!(r#"{{"task_id": "t", "termination_reason": "{word}", "messages": [{{"role": "user"}}]}}"#);
        let stop = read(Format::Tau, &text).unwrap()[0].trace.conversation.stop_reason;
        assert_eq!(stop.map(StopReason::as_str), expected, "{word}");
    }
}

#[test]
fn results_are_recognized_by_their_keys() {
    let cases = [
        (r#"{"task_id": 0, "reward": 0.0, "info": {}, "traj": [], "trial": 0}"#, true),
        (r#"{"info": {}, "tasks": [], "simulations": []}"#, true),
        (
            r#"{"id": "s", "task_id": "t", "termination_reason": "user_stop", "messages": [{"role": "user", "content": "Hi"}]}"#,
            true,
        ),
        (r#"{"id": "s", "task_id": "t", "termination_reason": "user_stop", "ticks": []}"#, true),
        (r#"{"task_id": 0, "messages": [{"role": "user", "content": "Hi"}]}"#, false),
        (r#"{"simulations": []}"#, false),
        (r#"{"simulations": {}, "info": {}}"#, false),
        (r#"{"traj": []}"#, false),
        ("[]", false),
    ];
    for (text, expected) in cases {
        assert_eq!(sniffed(text) == Some((Format::Tau, Unit::Record)), expected, "{text}");
    }
}

#[test]
fn unreadable_parts_are_rejected_with_their_path() {
    let tau2 = |message: &str| format!(r#"{{"task_id": "t", "messages": [{{"role": "user"}}, {message}]}}"#);
    let cases = [
        (
            r#"{"task_id": 0, "traj": [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Action: {}"}, {"role": "user", "content": "API output: 4"}]}"#.to_owned(),
            "traj[2].content answers a call in plain text / the agents `react` and `act` of tau-bench record no calls that could be evaluated; `tool-calling` does",
        ),
        (
            r#"{"task_id": 0, "traj": [{"role": "assistant", "content": [{"type": "tool_use"}]}]}"#.to_owned(),
            "traj[0].content[0].type is \"tool_use\", which is not understood / this looks like `anthropic`",
        ),
        (
            r#"{"task_id": 0}"#.to_owned(),
            "it has neither `traj` nor `messages` / a run of tau-bench has `traj`, one of tau2 `messages`, a document of tau2 `simulations`",
        ),
        (
            r#"{"task_id": 0, "termination_reason": "user_stop", "messages": null, "ticks": [{"tick_id": 0}]}"#.to_owned(),
            "it has `ticks` in place of `messages` / voice conversations, in which both sides speak at once, cannot be evaluated",
        ),
        (
            r#"{"info": {}, "tasks": [], "simulations": [], "simulation_index": [{"id": "s"}]}"#.to_owned(),
            "`simulations` is empty, and `simulation_index` names runs in files of their own / read the files in the folder `simulations` next to this file",
        ),
        (
            r#"{"info": {}, "simulations": [{"messages": [{"role": "user"}]}, {"messages": [{"role": "bot"}]}]}"#.to_owned(),
            "simulations[1]: messages[0].role must be system, user, assistant or tool, found \"bot\" / `--from` names the format of a record",
        ),
        (
            tau2(r#"{"content": "x"}"#),
            "messages[1].role must be system, user, assistant or tool, found no such key / `--from` names the format of a record",
        ),
        (
            tau2(r#"{"role": "user", "tool_calls": [{"id": "a", "name": "f", "arguments": {}, "requestor": "assistant"}]}"#),
            "messages[1].tool_calls[0].requestor must be user in a message of the user / a message carries the calls of its own side; whose call this is, is unclear",
        ),
        (
            tau2(r#"{"role": "assistant", "tool_calls": [{"id": "a", "name": "f", "arguments": {}, "requestor": "user"}]}"#),
            "messages[1].tool_calls[0].requestor must be assistant in a message of the assistant / a message carries the calls of its own side; whose call this is, is unclear",
        ),
        (
            tau2(r#"{"role": "assistant", "tool_calls": [{"id": "a", "name": "f", "arguments": {"n": 1, "n": 2}}]}"#),
            "messages[1].tool_calls[0].arguments: duplicate key \"n\"",
        ),
        (
            tau2(r#"{"role": "tool", "id": "a", "content": "x", "error": false}"#),
            "messages[1] answers the call \"a\", but no earlier call waits for that answer / the beginning of the record may be missing; a trace must be complete",
        ),
        (
            tau2(r#"{"role": "tool", "tool_messages": [{"id": "a", "content": "x"}]}"#),
            "messages[1].tool_messages[0] answers the call \"a\", but no earlier call waits for that answer / the beginning of the record may be missing; a trace must be complete",
        ),
    ];
    for (text, expected) in cases {
        assert_eq!(refusal(Format::Tau, &text), expected, "{text}");
    }
}

#[test]
fn the_offset_of_an_error_is_counted_from_the_start_of_the_document() {
    let text = r#"{"info": {}, "simulations": [{"messages": []}, {"messages": [{"role": 3}]}]}"#;
    let error = read(Format::Tau, text).unwrap_err();
    assert_eq!(error.message, "simulations[1]: messages[0].role: expected a text, found a number");
    assert_eq!(
        error.place.map(|at| &text[..at]),
        Some(r#"{"info": {}, "simulations": [{"messages": []}, {"messages": [{"role": "#)
    );
}
