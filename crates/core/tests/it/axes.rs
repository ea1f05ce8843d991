//! Order and data flow between calls.

use mcptest_core::eval::trajectory_axes::{Axis, EdgeResult, EdgeState};
use mcptest_core::eval::{DependencyEdge, GateKind, GateOutcome, OrderEdge, TrajectoryAxesGate, TrajectoryAxesParams};
use mcptest_core::{Trace, Verdict};
use serde_json::{Value, json};

use crate::support::{called, judged, own, read};

fn dependency(producer: &str, consumer: &str) -> DependencyEdge {
    DependencyEdge { producer: producer.into(), consumer: consumer.into(), via: None, required: false }
}

fn order(first: &str, second: &str) -> OrderEdge {
    OrderEdge { first: first.into(), second: second.into(), required: false }
}

fn evaluate(dependencies: Vec<DependencyEdge>, order: Vec<OrderEdge>, trace: &Trace) -> GateOutcome<Vec<EdgeResult>> {
    TrajectoryAxesGate::new(TrajectoryAxesParams { dependencies, order, ..TrajectoryAxesParams::default() })
        .unwrap()
        .evaluate(trace)
}

fn metrics(dependency: u32, order: u32, exercised: u32) -> Value {
    json!({ "dependency_satisfaction": dependency, "order_satisfaction": order, "edges_exercised": exercised })
}

#[test]
fn an_edge_breaks_when_a_later_call_has_no_earlier_one_before_it() {
    for (trace, state) in [
        (&["p", "c"][..], EdgeState::Held),
        (&["x", "p", "y", "c", "c", "p"], EdgeState::Held),
        (&["p"], EdgeState::NotExercised),
        (&[], EdgeState::NotExercised),
        (&["c"], EdgeState::Broken("tool_calls[0] (c) has no call of p before it".into())),
        (&["c", "p"], EdgeState::Broken("tool_calls[0] (c) ran before any call of p".into())),
        (&["x", "c", "p", "c"], EdgeState::Broken("tool_calls[1] (c) ran before any call of p".into())),
    ] {
        let exercised = u32::from(trace.contains(&"c"));
        let percent = if matches!(state, EdgeState::Broken(_)) { 0 } else { 100 };
        let edge = |axis| EdgeResult { axis, edge: "p -> c".into(), state: state.clone(), exercised: exercised == 1 };
        let found = evaluate(vec![dependency("p", "c")], vec![], &called(trace));
        assert_eq!(found.detail, [edge(Axis::Dependency)], "{trace:?}");
        assert_eq!(found.metrics.object(), metrics(percent, 100, exercised));
        assert_eq!(found.verdict == Verdict::Pass, percent == 100);
        let found = evaluate(vec![], vec![order("p", "c")], &called(trace));
        assert_eq!(found.detail, [edge(Axis::Order)], "{trace:?}");
        assert_eq!(found.metrics.object(), metrics(100, percent, exercised));
        assert_eq!(found.verdict == Verdict::Pass, percent == 100);
    }
}

#[test]
fn a_refused_call_does_not_count_as_made() {
    let run = |refused: &str| {
        let result = |name: &str| {
            let error = json!({ "is_error": true, "error": { "kind": "refused", "message": "not allowed" } });
            if name == refused { error } else { json!({ "is_error": false }) }
        };
        read(json!({ "tool_calls": [{ "name": "p" }, { "name": "c" }], "tool_results": [result("p"), result("c")] }))
    };
    let required = OrderEdge { required: true, ..order("p", "c") };
    for (refused, edge, state, exercised) in [
        ("", order("p", "c"), EdgeState::Held, true),
        ("p", order("p", "c"), EdgeState::Broken("tool_calls[1] (c) has no call of p before it".into()), true),
        ("c", order("p", "c"), EdgeState::Held, false),
        ("c", required, EdgeState::Broken("tool_calls[1] (c) was refused and never made".into()), false),
        ("c", order("x", "c"), EdgeState::Broken("tool_calls[1] (c) has no call of x before it".into()), false),
    ] {
        let name = format!("{} -> c", edge.first);
        let found = evaluate(vec![], vec![edge], &run(refused));
        assert_eq!(found.detail, [EdgeResult { axis: Axis::Order, edge: name, state, exercised }], "{refused}");
    }
}

#[test]
fn percents_are_rounded_down_and_an_empty_axis_is_satisfied() {
    let trace = called(&["a", "b", "c"]);
    assert_eq!(evaluate(vec![], vec![], &trace).metrics.object(), metrics(100, 100, 0));
    let two_of_three = vec![order("a", "b"), order("b", "c"), order("c", "a")];
    assert_eq!(evaluate(vec![], two_of_three, &trace).metrics.object(), metrics(100, 66, 3));
    let one_of_three = vec![dependency("a", "c"), dependency("b", "a"), dependency("c", "b")];
    assert_eq!(evaluate(one_of_three, vec![], &trace).metrics.object(), metrics(33, 100, 3));
}

#[test]
fn names_compare_without_server() {
    let trace = read(json!({
        "tool_calls": [{ "name": "p", "server": "one", "args": {} }, { "name": "c", "server": "two", "args": {} }],
    }));
    assert_eq!(evaluate(vec![dependency("p", "c")], vec![], &trace).verdict, Verdict::Pass);
}

#[test]
fn a_required_edge_breaks_when_its_later_call_never_ran() {
    let edge = DependencyEdge { required: true, ..dependency("p", "c") };
    let found = evaluate(vec![edge.clone()], vec![], &called(&["p"]));
    assert_eq!(found.detail[0].state, EdgeState::Broken("c was never called".into()));
    assert_eq!(
        judged(&found),
        (
            Verdict::Fail,
            vec![
                "trajectory.dependency_satisfaction: p -> c: c was never called \
                 (`trajectory.dependency_satisfaction` is 0, expected at least 100)"
                    .into()
            ]
        )
    );
    assert_eq!(evaluate(vec![edge], vec![], &called(&["p", "c"])).verdict, Verdict::Pass);
    let edge = OrderEdge { required: true, ..order("p", "c") };
    assert_eq!(evaluate(vec![], vec![edge.clone()], &called(&[])).verdict, Verdict::Fail);
    assert_eq!(evaluate(vec![], vec![edge], &called(&["p", "c"])).verdict, Verdict::Pass);
}

#[test]
fn the_line_shows_edges_that_were_not_exercised() {
    let found = evaluate(vec![dependency("p", "c")], vec![order("a", "b")], &called(&["p", "c"]));
    assert_eq!(found.line, "2 of 2 edges satisfied, 1 not exercised");
    assert_eq!(found.metrics.object(), metrics(100, 100, 1));
}

#[test]
fn an_edge_from_a_tool_to_itself_and_a_malformed_path_are_load_errors() {
    let problems = TrajectoryAxesGate::new(TrajectoryAxesParams {
        dependencies: vec![dependency("a", "b"), DependencyEdge { via: Some("x..y".into()), ..dependency("a", "a") }],
        order: vec![order("b", "b")],
        ..TrajectoryAxesParams::default()
    })
    .unwrap_err();
    assert_eq!(
        problems.to_string(),
        "/dependencies/1/via: invalid path: column 3: expected a name, found `.`\n\
         /dependencies/1: an edge from `a` to itself can never be satisfied (hint: name two different tools)\n\
         /order/0: an edge from `b` to itself can never be satisfied (hint: name two different tools)"
    );
}

#[test]
fn unrecorded_calls_are_unassessable() {
    let found = evaluate(vec![dependency("p", "c")], vec![order("p", "c")], &read(json!({})));
    assert_eq!(
        judged(&found),
        (
            Verdict::Unassessable,
            vec![
                "trajectory.dependency_satisfaction: not assessable: the tool calls were not recorded".into(),
                "trajectory.order_satisfaction: not assessable: the tool calls were not recorded".into(),
            ]
        )
    );
    assert_eq!(found.metrics.object(), json!({}));
}

#[test]
fn custom_assertions_replace_the_default() {
    let gate = |maximum: u32| {
        let matcher = json!({ "schema": { "minimum": maximum } });
        let expect = own(GateKind::TrajectoryAxes, &[("trajectory.order_satisfaction", matcher)]);
        let order = vec![order("a", "b"), order("b", "a")];
        TrajectoryAxesGate::new(TrajectoryAxesParams { order, expect, dependencies: vec![] }).unwrap()
    };
    assert_eq!(gate(50).evaluate(&called(&["a", "b"])).verdict, Verdict::Pass);
    let broken = [
        "trajectory.order_satisfaction: `trajectory.order_satisfaction` is 50, \
         expected schema {\"minimum\":51,\"type\":\"number\"}",
        "trajectory.order_satisfaction: b -> a: tool_calls[0] (a) ran before any call of b",
    ];
    assert_eq!(judged(&gate(51).evaluate(&called(&["a", "b"]))), (Verdict::Fail, broken.map(String::from).to_vec()));
}

#[test]
fn edges_that_were_not_exercised_are_named() {
    let expect = own(GateKind::TrajectoryAxes, &[("trajectory.edges_exercised", json!({ "exact": 2 }))]);
    let order = vec![order("a", "b"), order("b", "c")];
    let gate = TrajectoryAxesGate::new(TrajectoryAxesParams { order, expect, dependencies: vec![] }).unwrap();
    let idle = [
        "trajectory.edges_exercised: `trajectory.edges_exercised` is 1, expected exact 2",
        "trajectory.edges_exercised: b -> c: the later tool was never called",
    ];
    assert_eq!(judged(&gate.evaluate(&called(&["a", "b"]))), (Verdict::Fail, idle.map(String::from).to_vec()));
}

/// A producer call, its result, and a consumer call with `args`.
fn flow(result: Value, args: Value) -> Trace {
    read(json!({
        "tool_calls": [{ "name": "p", "args": {}, "turn": 0 }, { "name": "c", "args": args, "turn": 1 }],
        "tool_results": [result, null],
    }))
}

fn state(via: &str, trace: &Trace) -> EdgeState {
    let edge = DependencyEdge { via: Some(via.into()), ..dependency("p", "c") };
    evaluate(vec![edge], vec![], trace).detail.remove(0).state
}

/// The value came from the producer, or it did not.
fn check(result: Value, args: Value, came_from_it: bool) {
    let found = state("v", &flow(result.clone(), args.clone()));
    let expected =
        matches!(&found, EdgeState::Held) == came_from_it && matches!(&found, EdgeState::Held | EdgeState::Broken(_));
    assert!(expected, "{args} from {result}: {found:?}");
}

fn structured(value: Value) -> Value {
    json!({ "is_error": false, "structured_content": value })
}

fn text(text: &str) -> Value {
    json!({ "is_error": false, "content": [{ "type": "text", "text": text }] })
}

#[test]
fn a_value_is_found_as_a_scalar_of_structured_content() {
    let from = |value: Value| structured(json!({ "rows": [{ "id": value }] }));
    check(from(json!("HAT042")), json!({ "v": "HAT042" }), true);
    check(from(json!("HAT042")), json!({ "v": "HAT04" }), false);
    check(from(json!("HAT042")), json!({ "v": "hat042" }), false);
    check(from(json!(42)), json!({ "v": 42 }), true);
    check(from(json!(42)), json!({ "v": 42.0 }), true);
    check(from(json!(42)), json!({ "v": "42" }), true);
    check(from(json!("42")), json!({ "v": 42 }), true);
    check(from(json!(420)), json!({ "v": 42 }), false);
    check(from(json!("a long name")), json!({ "v": "long" }), false);
    check(structured(json!({ "HAT042": 1 })), json!({ "v": "HAT042" }), false);
}

#[test]
fn a_value_is_found_in_text_where_it_is_not_part_of_something_longer() {
    check(text("flight HAT042 found"), json!({ "v": "HAT042" }), true);
    check(text("HAT042"), json!({ "v": "HAT042" }), true);
    check(text("(HAT042)."), json!({ "v": "HAT042" }), true);
    check(text("id=420, next"), json!({ "v": 420 }), true);
    check(text("see https://x.test/a?b=1 now"), json!({ "v": "https://x.test/a?b=1" }), true);
    check(text("from San José today"), json!({ "v": "San José" }), true);
    check(text("XHAT042"), json!({ "v": "HAT042" }), false);
    check(text("HAT0421"), json!({ "v": "HAT042" }), false);
    check(text("id_420"), json!({ "v": 420 }), false);
    check(text("420.5 kg"), json!({ "v": 420 }), false);
    check(text("costs 1,200"), json!({ "v": 200 }), false);
    check(text("costs 200, at most"), json!({ "v": 200 }), true);
    check(text("-420"), json!({ "v": 420 }), false);
    check(text("at -420 m"), json!({ "v": -420 }), true);
    check(text("room A-500"), json!({ "v": -500 }), false);
    check(text("src/main.rs"), json!({ "v": "/main.rs" }), false);
    check(text("report.pdf"), json!({ "v": ".pdf" }), false);
    check(text("San Joséphine"), json!({ "v": "San José" }), false);
    check(text("nothing here"), json!({ "v": "HAT042" }), false);
    check(text("HAT0421 and then HAT042"), json!({ "v": "HAT042" }), true);
}

#[test]
fn a_short_value_is_found_as_a_json_scalar_only() {
    check(text("id=42, next"), json!({ "v": 42 }), false);
    check(text("a / b"), json!({ "v": "/" }), false);
    check(text("A-5"), json!({ "v": -5 }), false);
    check(text("see A7"), json!({ "v": "A7" }), false);
    check(text("42"), json!({ "v": 42 }), true);
    check(text("{\"id\": 42}"), json!({ "v": 42 }), true);
    check(text("[1,7,-5]"), json!({ "v": [7, -5] }), true);
    check(text("{\"seat\": \"A7\"}"), json!({ "v": "A7" }), true);
    check(text("\"A7\""), json!({ "v": "A7" }), true);
    check(text("{\"seat\": \"A7 b\"}"), json!({ "v": "A7" }), false);
    check(text("{\"A7\": 1}"), json!({ "v": "A7" }), false);
    check(structured(json!({ "seat": "/" })), json!({ "v": "/" }), true);
}

#[test]
fn a_value_is_found_in_json_that_a_text_carries() {
    check(text("{\"flights\": [{\"id\": \"A-7 b\", \"price\": 12.50}]}"), json!({ "v": "A-7 b" }), true);
    check(text("{\"flights\": [{\"id\": \"A-7 b\", \"price\": 12.50}]}"), json!({ "v": 12.5 }), true);
    check(text("{\"line\": \"a\\nb\"}"), json!({ "v": "a\nb" }), true);
    check(text(" [1e3]"), json!({ "v": 1000 }), true);
    check(text("{\"id\": 70}"), json!({ "v": 7 }), false);
}

#[test]
fn every_scalar_of_the_value_must_come_from_a_producer() {
    let from = structured(json!(["a", "b", 3]));
    check(from.clone(), json!({ "v": ["a", "b"] }), true);
    check(from.clone(), json!({ "v": { "x": "a", "y": [3] } }), true);
    check(from, json!({ "v": ["a", "z"] }), false);
}

#[test]
fn values_without_a_provable_origin_break_the_edge() {
    let everything = structured(json!(["", true, false, null, " "]));
    for value in [json!(""), json!(true), json!(false), json!(null), json!([]), json!({}), json!(["", null])] {
        let shown = value.to_string();
        assert_eq!(
            state("v", &flow(everything.clone(), json!({ "v": value }))),
            EdgeState::Broken(format!("tool_calls[1] (c): `v` is {shown}, which cannot prove where it came from"))
        );
    }
}

#[test]
fn broken_provenance_names_the_value_and_the_producer() {
    assert_eq!(
        state("to[0].id", &flow(text("none"), json!({ "to": [{ "id": "X9" }] }))),
        EdgeState::Broken("`to[0].id` of tool_calls[1] (X9) is not in any earlier successful result of p".into())
    );
    assert_eq!(
        state("v", &flow(text("none"), json!({ "w": 1 }))),
        EdgeState::Broken("tool_calls[1] (c) has no argument `v`".into())
    );
}

#[test]
fn a_failed_producer_proves_nothing() {
    for result in [
        json!({ "is_error": true, "content": [{ "type": "text", "text": "X9" }] }),
        json!({ "is_error": false, "error": { "kind": "tool", "message": "" }, "structured_content": "X9" }),
        json!({
            "is_error": false, "structured_content": "X9",
            "fault": { "name": "f", "kind": "hang", "effect": "timeout", "ms": 3000 },
        }),
    ] {
        check(result, json!({ "v": "X9" }), false);
    }
    let late = json!({
        "is_error": false, "structured_content": "X9",
        "fault": { "name": "f", "kind": "slow", "effect": "delay", "ms": 10 },
    });
    check(late, json!({ "v": "X9" }), true);
}

#[test]
fn only_results_of_earlier_producer_calls_count() {
    let trace = |first: &str, third: &str| {
        let result = |text: &str| json!({ "is_error": false, "structured_content": text });
        read(json!({
            "tool_calls": [
                { "name": "p", "turn": 0 }, { "name": "c", "args": { "v": "X9" }, "turn": 1 }, { "name": "p", "turn": 2 },
            ],
            "tool_results": [result(first), result("other"), result(third)],
        }))
    };
    assert_eq!(state("v", &trace("X9", "other")), EdgeState::Held);
    assert!(matches!(state("v", &trace("other", "X9")), EdgeState::Broken(_)), "a later producer");
    let other_tool = read(json!({
        "tool_calls": [{ "name": "q" }, { "name": "p" }, { "name": "c", "args": { "v": "X9" } }],
        "tool_results": [structured(json!("X9")), structured(json!("other")), null],
    }));
    assert!(matches!(state("v", &other_tool), EdgeState::Broken(_)), "another tool's result");
}

#[test]
fn every_consumer_call_needs_its_own_provenance() {
    let trace = |second: &str| {
        read(json!({
            "tool_calls": [
                { "name": "p", "turn": 0 },
                { "name": "c", "args": { "v": "X9" }, "turn": 1 },
                { "name": "c", "args": { "v": second }, "turn": 1 },
            ],
            "tool_results": [structured(json!(["X9", "Y1"])), null, null],
        }))
    };
    assert_eq!(state("v", &trace("Y1")), EdgeState::Held);
    assert_eq!(
        state("v", &trace("Z2")),
        EdgeState::Broken("`v` of tool_calls[2] (Z2) is not in any earlier successful result of p".into())
    );
}

#[test]
fn missing_evidence_leaves_the_edge_unknown() {
    let args = json!({ "v": "X9" });
    let open = "`v` of tool_calls[1] (X9) may come from tool_calls[0], whose result was not recorded";
    for result in [json!(null), json!({}), json!({ "is_error": false })] {
        assert_eq!(state("v", &flow(result, args.clone())), EdgeState::Unknown(open.into()));
    }
    let unsaid = open.replace("result", "status");
    for result in [json!({ "structured_content": "X9" }), json!({ "content": [{ "type": "text", "text": "X9" }] })] {
        assert_eq!(state("v", &flow(result, args.clone())), EdgeState::Unknown(unsaid.clone()));
    }
    let no_args = read(json!({
        "tool_calls": [{ "name": "p" }, { "name": "c" }],
        "tool_results": [structured(json!("X9")), null],
    }));
    assert_eq!(state("v", &no_args), EdgeState::Unknown("the args of tool_calls[1] (c) were not recorded".into()));
    let mut torn_args = no_args.clone();
    torn_args.tool_calls.as_mut().unwrap()[1].args = Some(json!("{\"v\": "));
    assert_eq!(state("v", &torn_args), EdgeState::Unknown("the args of tool_calls[1] (c) could not be parsed".into()));
    let edge = DependencyEdge { via: Some("v".into()), ..dependency("p", "c") };
    let found = evaluate(vec![edge], vec![order("p", "c")], &flow(json!(null), args));
    assert_eq!(
        judged(&found),
        (Verdict::Unassessable, vec![format!("trajectory.dependency_satisfaction: not assessable: p -> c: {open}")])
    );
    assert_eq!(found.metrics.object(), json!({ "order_satisfaction": 100, "edges_exercised": 2 }));
    assert_eq!(found.line, "1 of 2 edges satisfied, 1 not assessable");
}

#[test]
fn an_unrecorded_result_does_not_matter_when_another_has_the_value() {
    let trace = read(json!({
        "tool_calls": [
            { "name": "p", "turn": 0 }, { "name": "p", "turn": 0 }, { "name": "c", "args": { "v": "X9" }, "turn": 1 },
        ],
        "tool_results": [null, structured(json!("X9")), null],
    }));
    assert_eq!(state("v", &trace), EdgeState::Held);
}

#[test]
fn the_type_of_a_content_block_is_not_evidence() {
    check(text("nothing"), json!({ "v": "text" }), false);
    let image = json!({ "is_error": false, "content": [{ "type": "image", "mimeType": "image/png", "data": "AAAA" }] });
    check(image.clone(), json!({ "v": "image/png" }), false);
    check(image, json!({ "v": "AAAA" }), true);
}

#[test]
fn an_edge_without_via_needs_no_result() {
    let trace = read(json!({ "tool_calls": [{ "name": "p" }, { "name": "c" }] }));
    assert_eq!(evaluate(vec![dependency("p", "c")], vec![], &trace).verdict, Verdict::Pass);
}

#[test]
fn a_broken_edge_fails_even_if_another_is_unassessable() {
    let via = DependencyEdge { via: Some("id".into()), ..dependency("find", "open") };
    let trace = read(json!({
        "tool_calls": [{ "name": "find", "args": {} }, { "name": "open", "args": { "id": 7 } }, { "name": "pay", "args": {} }],
        "tool_results": [null, null, null],
    }));
    let outcome = evaluate(vec![via.clone(), dependency("log_in", "pay")], vec![], &trace);
    assert_eq!(outcome.verdict, Verdict::Fail);
    assert_eq!(outcome.metrics.get("dependency_satisfaction"), None);
    assert_eq!(evaluate(vec![via], vec![], &trace).verdict, Verdict::Unassessable);
}

#[test]
fn a_value_cannot_come_from_a_call_of_the_same_turn() {
    let via = DependencyEdge { via: Some("id".into()), ..dependency("find", "open") };
    let trace = |turn: usize| {
        read(json!({
            "tool_calls": [{ "name": "find", "args": {}, "turn": 0 }, { "name": "open", "args": { "id": 7 }, "turn": turn }],
            "tool_results": [{ "is_error": false, "structured_content": { "id": 7 } }, { "is_error": false }],
        }))
    };
    assert_eq!(evaluate(vec![via.clone()], vec![], &trace(1)).verdict, Verdict::Pass);
    assert_eq!(evaluate(vec![via], vec![], &trace(0)).verdict, Verdict::Fail);
}

#[test]
fn an_unknown_turn_is_not_an_earlier_one() {
    let shows = structured(json!("X9"));
    let other = structured(json!("other"));
    let held = "held";
    let broken = "broken";
    let order = "order";
    let result = "result";
    for (producers, consumer, expected) in [
        // Turn and result of each producer call, in order.
        (vec![(json!(0), &shows)], json!(1), held),
        (vec![(json!(0), &shows)], json!(0), broken),
        (vec![(json!(1), &shows)], json!(0), broken),
        (vec![(json!(null), &shows)], json!(1), order),
        (vec![(json!(0), &shows)], json!(null), order),
        (vec![(json!(null), &shows)], json!(null), order),
        // Another call may prove what the first leaves open.
        (vec![(json!(null), &shows), (json!(1), &shows)], json!(2), held),
        (vec![(json!(0), &shows), (json!(null), &shows)], json!(2), held),
        (vec![(json!(2), &shows), (json!(null), &shows)], json!(2), order),
        (vec![(json!(null), &other), (json!(2), &shows)], json!(2), broken),
        (vec![(json!(null), &other)], json!(null), broken),
        // A result that was not recorded may show the value, unless its call was made at the same time.
        (vec![(json!(0), &Value::Null)], json!(1), result),
        (vec![(json!(1), &Value::Null)], json!(1), broken),
        (vec![(json!(null), &Value::Null)], json!(1), result),
        (vec![(json!(1), &Value::Null)], json!(null), result),
        (vec![(json!(1), &Value::Null), (json!(null), &shows)], json!(1), order),
    ] {
        let mut calls: Vec<_> = producers.iter().map(|(turn, _)| json!({ "name": "p", "turn": turn })).collect();
        calls.push(json!({ "name": "c", "args": { "v": "X9" }, "turn": consumer }));
        let results: Vec<_> = producers.iter().map(|(_, result)| (*result).clone()).collect();
        let found = state("v", &read(json!({ "tool_calls": calls, "tool_results": results })));
        let state = match &found {
            EdgeState::Held => held,
            EdgeState::Unknown(why) if why.contains("came earlier is unknown: the turn of") => order,
            EdgeState::Unknown(why) if why.contains("whose result was not recorded") => result,
            EdgeState::Broken(_) => broken,
            other => panic!("{other:?}"),
        };
        assert_eq!(state, expected, "{calls:?}");
    }
    let trace = read(json!({
        "tool_calls": [{ "name": "p" }, { "name": "c", "args": { "v": "X9" } }],
        "tool_results": [shows],
    }));
    let why = "`v` of tool_calls[1] (X9) is in the result of tool_calls[0], but whether that call came earlier is unknown: \
               the turn of tool_calls[0] was not recorded";
    assert_eq!(state("v", &trace), EdgeState::Unknown(why.into()));
}
