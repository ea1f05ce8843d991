//! What is inferred from runs, and that the runs pass it.

use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;

fn trace(calls: &Value, message: &str) -> Trace {
    let results: Vec<Value> = calls
        .as_array()
        .unwrap()
        .iter()
        .map(|call| json!({ "is_error": call.get("fails").is_some(), "content": [] }))
        .collect();
    let mut calls = calls.clone();
    for call in calls.as_array_mut().unwrap() {
        call.as_object_mut().unwrap().remove("fails");
    }
    Trace::from_envelope(&json!({ "tool_calls": calls, "tool_results": results, "final_response": message })).unwrap()
}

fn run(calls: &Value) -> Run {
    Run::new(trace(calls, "Done."))
}

/// The lines, each as `value # evidence`.
fn lines(inferred: &Inferred) -> Vec<String> {
    let all = inferred.calls.iter().chain(&inferred.order).chain(&inferred.expect);
    let listed = all.map(|line| format!("{} # {}", line.value, line.evidence));
    let single = inferred.no_calls.iter().chain(&inferred.narrative).map(|evidence| format!("# {evidence}"));
    let left_out = inferred.left_out.iter().map(|(gate, why)| format!("no {gate}: {why}"));
    listed.chain(single).chain(left_out).collect()
}

#[track_caller]
fn check(runs: &[Value], actions: &[&str], expected: &[&str]) {
    let runs: Vec<Run> = runs.iter().map(run).collect();
    let actions = actions.iter().map(|&name| name.to_owned()).collect();
    let inferred = infer(&runs.iter().collect::<Vec<_>>(), &actions, Options::default());
    assert_eq!(lines(&inferred), expected);
}

#[test]
fn one_run_shows_shapes_and_status_of_the_calls_that_change_something() {
    check(
        &[
            json!([{ "name": "find_order", "args": { "id": 7 } }, { "name": "refund_order", "args": { "id": 7, "why": "late" } }]),
        ],
        &[],
        &[
            r#"{"args":{"schema":{"properties":{"id":{"type":"integer"},"why":{"type":"string"}},"required":["id","why"],"type":"object"}},"name":"refund_order","status":"ok"} # 1 run"#,
            "# 1 run",
        ],
    );
}

#[test]
fn values_under_the_name_of_a_secret_are_not_written_though_they_are_equal() {
    let call = |id: u8| {
        let args = json!({ "id": id, "apiKey": "abcd1234", "password": "hunter2", "auth": { "pin": 1 }, "is_secret": true, "to": "x" });
        json!([{ "name": "refund_order", "args": args }])
    };
    let shape = r#""apiKey":{"type":"string"},"auth":{"properties":{"pin":{"type":"integer"}},"required":["pin"],"type":"object"}"#;
    for (ids, id, comment) in [
        ([7, 7], r#"{"const":7}"#, "equal, but not written: apiKey, auth, password"),
        ([7, 8], r#"{"type":"integer"}"#, "varies: id; equal, but not written: apiKey, auth, password"),
    ] {
        let schema = format!(
            r#"{{"properties":{{{shape},"id":{id},"is_secret":{{"const":true}},"password":{{"type":"string"}},"to":{{"const":"x"}}}},"required":["apiKey","auth","id","is_secret","password","to"],"type":"object"}}"#
        );
        let runs: Vec<Run> = ids.iter().map(|id| run(&call(*id))).collect();
        let inferred = infer(&runs.iter().collect::<Vec<_>>(), &BTreeSet::new(), Options::default());
        let expected =
            format!(r#"{{"args":{{"schema":{schema}}},"name":"refund_order","status":"ok"}} # 2 of 2 runs; {comment}"#);
        assert_eq!(lines(&inferred)[0], expected);
    }
}

#[test]
fn without_changes_the_lookups_are_required() {
    check(
        &[json!([{ "name": "find_order", "args": {} }])],
        &[],
        &[r#"{"name":"find_order","status":"ok"} # 1 run"#, "# 1 run"],
    );
}

#[test]
fn values_equal_in_every_run_are_exact_and_others_are_not_checked() {
    check(
        &[
            json!([{ "name": "find_order", "args": { "q": "a" } }, { "name": "refund_order", "args": { "id": 7, "note": "x" } }, { "name": "send_mail", "args": { "to": "a@b.test" } }]),
            json!([{ "name": "find_order", "args": { "q": "b" } }, { "name": "find_order", "args": { "q": "c" } }, { "name": "refund_order", "args": { "id": 7, "note": "y" } }, { "name": "send_mail", "args": { "to": "a@b.test" } }]),
        ],
        &["cancel_order", "refund_order"],
        &[
            r#"{"args":{"schema":{"properties":{"id":{"const":7},"note":{"type":"string"}},"required":["id","note"],"type":"object"}},"name":"refund_order","status":"ok"} # 2 of 2 runs; varies: note"#,
            r#"{"args":{"exact":{"to":"a@b.test"}},"name":"send_mail","status":"ok"} # 2 of 2 runs, same arguments"#,
            r#"{"first":"find_order","second":"refund_order"} # 2 of 2 runs"#,
            r#"{"first":"refund_order","second":"send_mail"} # 2 of 2 runs"#,
            r#"{"matcher":{"schema":{"items":{"not":{"enum":["cancel_order"]}}}},"target":"tool_calls[*].name"} # called in other runs of the input, not in 2 of 2 runs"#,
            r#"{"matcher":{"schema":{"contains":{"const":"refund_order"},"maxContains":1,"minContains":0}},"target":"tool_calls[*].name"} # 1 call in each of 2 runs"#,
            r#"{"matcher":{"schema":{"contains":{"const":"send_mail"},"maxContains":1,"minContains":0}},"target":"tool_calls[*].name"} # 1 call in each of 2 runs"#,
            "# 2 of 2 runs",
        ],
    );
}

#[test]
fn a_secret_is_not_written() {
    let key = format!("sk-ant-api03-{}", "Ab1".repeat(30));
    let call = json!([{ "name": "update_key", "args": { "key": key } }]);
    let runs = [run(&call), run(&call)];
    let inferred = infer(&runs.iter().collect::<Vec<_>>(), &BTreeSet::new(), Options::default());
    assert!(!lines(&inferred).join("\n").contains("sk-ant"), "{:?}", lines(&inferred));
    assert_eq!(
        inferred.calls[0].value["args"],
        json!({ "schema": { "type": "object", "required": ["key"], "properties": { "key": { "type": "string" } } } })
    );
}

#[test]
fn runs_without_calls_allow_none_and_a_lie_is_left_out() {
    let runs = [Run::new(trace(&json!([]), "I refunded the order 7."))];
    let inferred = infer(&runs.iter().collect::<Vec<_>>(), &BTreeSet::new(), Options::default());
    assert_eq!(lines(&inferred), ["# no calls in 1 run", "no narrative: the run does not pass it"]);
}

#[test]
fn calls_that_were_not_recorded_require_nothing() {
    let unknown = Run::new(Trace::from_envelope(&json!({ "final_response": "Hello." })).unwrap());
    let known = run(&json!([{ "name": "send_mail", "args": {} }]));
    let inferred = infer(&[&unknown, &known], &BTreeSet::new(), Options::default());
    assert_eq!(
        lines(&inferred),
        ["no trajectory: 1 of 2 runs does not record its calls", "no narrative: 1 of 2 runs does not pass it",]
    );
}

#[test]
fn a_failure_that_one_run_recovers_from_is_not_required() {
    check(
        &[
            json!([{ "name": "send_mail", "args": { "to": 1 }, "fails": true }, { "name": "send_mail", "args": { "to": "a" } }]),
        ],
        &[],
        &[
            r#"{"args":{"schema":{"properties":{"to":{"type":"string"}},"required":["to"],"type":"object"}},"name":"send_mail","status":"ok"} # 1 run"#,
            "# 1 run",
        ],
    );
}

/// Runs of a few tools, with parts that may not be recorded.
fn some_run() -> impl Strategy<Value = Value> {
    let name = prop::sample::select(vec![
        "find_order",
        "refund_order",
        "send_mail",
        "cancel_order",
        "odd${X}\u{7f}\u{85}\u{feff}😀\n",
    ]);
    let value = prop_oneof![
        Just(json!(1)),
        Just(json!(1.5)),
        Just(json!("a")),
        Just(json!("$${b}")),
        Just(json!(null)),
        Just(json!({ "x": [1] })),
        Just(json!([])),
    ];
    let args = prop_oneof![
        8 => prop::collection::btree_map(prop::sample::select(vec!["id", "note", "a.b"]), value, 0..3).prop_map(|map| Some(json!(map))),
        1 => Just(Some(json!("not an object"))),
        1 => Just(None),
    ];
    let failed = prop::sample::select(vec![Some(false), Some(false), Some(true), None]);
    let server = prop::sample::select(vec![None, Some(""), Some("shop"), Some("mail")]);
    let call = (name, args, failed, server, 0..3_u64);
    let calls = prop::option::weighted(0.95, prop::collection::vec(call, 0..6));
    let stop = prop::sample::select(vec![None, Some("completed"), Some("max_turns")]);
    (calls, stop, prop::option::of(prop::sample::select(vec!["Done.", "I refunded the order.", "I sent the mail."])))
        .prop_map(|(calls, stop, message)| {
            let mut out = json!({ "conversation": {} });
            if let Some(calls) = calls {
                let made = |(name, args, _, server, turn): &(&str, Option<Value>, Option<bool>, Option<&str>, u64)| {
                    let mut call = json!({ "name": name, "turn": turn });
                    if let Some(args) = args {
                        call["args"] = args.clone();
                    }
                    if let Some(server) = server {
                        call["server"] = json!(server);
                    }
                    call
                };
                out["tool_calls"] = calls.iter().map(made).collect();
                let result = |failed: Option<bool>| failed.map(|failed| json!({ "is_error": failed, "content": [] }));
                out["tool_results"] = calls.iter().map(|call| json!(result(call.2))).collect();
            }
            if let Some(stop) = stop {
                out["conversation"]["stop_reason"] = json!(stop);
            }
            if let Some(message) = message {
                out["final_response"] = json!(message);
            }
            out
        })
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(400) })]

    /// For any runs, each run passes the gates inferred from all of them, with nothing removed.
    #[test]
    fn every_run_passes_what_is_inferred(envelopes in prop::collection::vec(some_run(), 1..5), lookups: bool) {
        let traces: Vec<Trace> = envelopes.iter().filter_map(|envelope| Trace::from_envelope(envelope).ok()).collect();
        prop_assume!(!traces.is_empty());
        let runs: Vec<Run> = traces.iter().cloned().map(Run::new).collect();
        let actions = runs.iter().flat_map(Run::actions).chain(["delete_all"]).map(str::to_owned).collect();
        let inferred = infer(&runs.iter().collect::<Vec<_>>(), &actions, Options { lookups });
        prop_assert_eq!(&inferred, &infer(&runs.iter().collect::<Vec<_>>(), &actions, Options { lookups }));
        let mut gates = inferred.without_narrative();
        if inferred.narrative.is_some() {
            gates["narrative"] = json!({});
        }
        if !inferred.is_empty() {
            let traces: Vec<&Trace> = traces.iter().collect();
            prop_assert!(passes(&gates, &traces), "{:?}", lines(&inferred));
        }
    }
}
