//! Malformed calls, calls without a tool, and too many calls.

use serde_json::{Value, json};

use super::super::models::provider::Answer;
use super::{CLOSES, Call, Reply, Scene, WIRES, body_of};

const OK: Call<'static> = Call { id: "\"id-1\"", name: "\"desk__search\"", args: "{\"q\":\"x\"}" };

#[track_caller]
fn calls(calls: &[Call<'static>]) -> Scene {
    let calls = calls.to_vec();
    Scene::record(CLOSES, move |dialect| {
        Answer::status(200, "", body_of(dialect, &Reply { calls: &calls, ..Reply::default() }))
    })
}

#[test]
fn a_call_without_a_name_an_id_or_arguments_is_recorded_and_the_model_gets_an_error() {
    let scene = calls(&[
        Call { name: "", ..OK },
        Call { id: "\"id-2\"", name: "null", ..OK },
        Call { id: "\"id-3\"", name: "{\"a\":1}", ..OK },
        Call { id: "\"id-4\"", name: "\"erase_all\"", ..OK },
        Call { id: "", ..OK },
        Call { id: "null", ..OK },
        Call { id: "7", args: "", ..OK },
        Call { id: "\"id-5\"", args: "[1]", ..OK },
        Call { id: "\"id-6\"", args: "\"{\\\"q\\\": \"", ..OK },
        Call { id: "\"id-7\"", args: "\"{\\\"q\\\": 1, \\\"q\\\": 2}\"", ..OK },
        OK,
        OK,
    ]);
    scene.check(0, "pass");
    let no_name = "the call names no tool";
    let torn = "the arguments are not a JSON object: line 1, column 6: EOF while parsing a value";
    let twice = "the arguments are not a JSON object: line 1, column 12: duplicate key \"q\"";
    let x = json!({ "q": "x" });
    let expected = [
        ("", x.clone(), no_name),
        ("", x.clone(), no_name),
        ("", x.clone(), no_name),
        ("erase_all", x.clone(), "unknown tool: erase_all"),
        ("search", x.clone(), "ok"),
        ("search", x.clone(), "ok"),
        ("search", json!({}), "Invalid arguments for `search`: \"q\" is a required property"),
        ("search", json!("[1]"), "the arguments are not a JSON object: found a list of 1"),
        ("search", json!("{\"q\": "), torn),
        ("search", json!("{\"q\": 1, \"q\": 2}"), twice),
        ("search", x.clone(), "ok"),
        ("search", x, "ok"),
    ]
    .map(|(name, args, came)| (name.to_owned(), args, came.to_owned()));
    for (model, ..) in WIRES {
        assert_eq!(scene.calls(model), expected, "{model}");
    }
    // Each answer is sent back under a unique id, unless the interface needs none.
    for (model, ..) in WIRES.into_iter().filter(|(model, ..)| *model != "gemini") {
        let trace = scene.trace(model);
        let mut ids: Vec<&str> =
            trace["tool_calls"].as_array().unwrap().iter().map(|call| call["id"].as_str().unwrap()).collect();
        ids.sort_unstable();
        ids.dedup();
        assert_eq!(ids.len(), expected.len(), "{model}");
    }
}

#[test]
fn an_unreadable_possible_call_is_an_error_of_the_run() {
    let bodies = [
        ("claude", r#"{"content":[{"type":"text","text":"Done."},{"name":"desk__refund","input":{}}]}"#),
        ("responses", r#"{"output":["call desk__refund"]}"#),
        (
            "chat",
            r#"{"choices":[{"message":{"content":"Done.","tool_calls":{"0":{"function":{"name":"desk__refund"}}}}}]}"#,
        ),
        ("gemini", r#"{"candidates":[{"content":{"parts":[{"functionCall":"desk__refund"}]}}]}"#),
    ];
    let scene = Scene::record(CLOSES, move |dialect| {
        let model = WIRES.iter().find(|(_, known, _)| *known == dialect).unwrap().0;
        Answer::status(200, "", bodies.iter().find(|(known, _)| *known == model).unwrap().1)
    });
    let whys = [
        "`content[1]` is not recognized",
        "`output[0]` is not recognized",
        "`tool_calls` is not a list",
        "`parts[0]` is not recognized",
    ];
    for ((model, body), why) in bodies.into_iter().zip(whys) {
        let hint = "check that `base_url:` points to a server that speaks WIRE";
        let body: Value = serde_json::from_str(body).unwrap();
        assert_eq!(
            scene.verdict(model),
            format!("error[unreadable-reply]: AT cannot read the response: {why}: {body}\nhint: {hint}")
        );
    }
    scene.check_rest(2);
}

#[test]
fn ten_megabytes_of_arguments_are_evidence() {
    let long = "x".repeat(10_000_000);
    let args = format!("{{\"q\":\"{long}\"}}");
    let scene = Scene::record(CLOSES, move |dialect| {
        let calls = [Call { name: "\"desk__get_invoice\"", args: &args, ..OK }];
        Answer::status(200, "", body_of(dialect, &Reply { calls: &calls, ..Reply::default() }))
    });
    for (model, ..) in WIRES {
        let calls = scene.calls(model);
        assert!(calls.len() == 1 && calls[0].1["q"] == long.as_str() && calls[0].2 == "ok", "{model}: {}", calls[0].2);
    }
    assert_eq!(scene.output.status.code(), Some(0));
}

#[test]
fn deeply_nested_arguments_are_refused_as_text_and_end_the_run_as_json() {
    let deep = format!("{}{}", "[".repeat(5000), "]".repeat(5000));
    let args = format!("\"{{\\\"q\\\":{deep}}}\"");
    let scene = Scene::record(CLOSES, move |dialect| {
        let calls = [Call { args: &args, ..OK }];
        Answer::status(200, "", body_of(dialect, &Reply { calls: &calls, ..Reply::default() }))
    });
    scene.check(0, "pass");
    for (model, ..) in WIRES {
        let [(_, _, came)] = &scene.calls(model)[..] else { panic!("{model}") };
        let why = "the arguments are not a JSON object: line 1, column 132: recursion limit exceeded";
        assert_eq!(came, why, "{model}");
    }
    let scene = Scene::record(CLOSES, move |dialect| {
        let calls = [Call { args: &deep, ..OK }];
        Answer::status(200, "", body_of(dialect, &Reply { calls: &calls, ..Reply::default() }))
    });
    for (model, ..) in WIRES {
        let reported = scene.verdict(model);
        assert!(
            reported
                .starts_with("error[unreadable-reply]: AT cannot read the response: it is not JSON (line 1, column "),
            "{reported}"
        );
        assert!(reported.contains(": recursion limit exceeded): "), "{reported}");
    }
    scene.check_rest(2);
}

#[test]
fn a_model_that_never_stops_calling_is_stopped_by_max_turns() {
    let keys = "max_turns: 5, expect: [{ target: conversation.stop_reason, matcher: { exact: max_turns } }]";
    let scene = Scene::play(keys, |dialect, _| {
        Answer::status(200, "", body_of(dialect, &Reply { calls: &[OK], ..Reply::default() }))
    });
    scene.check(0, "pass");
    for (model, ..) in WIRES {
        assert_eq!(scene.calls(model).len(), 5, "{model}");
    }
    assert_eq!(scene.server.requests().len(), 20);
}

#[test]
fn a_hundred_thousand_calls_at_once_are_an_error_and_a_thousand_are_made() {
    let scene = Scene::record(CLOSES, |dialect| {
        Answer::status(200, "", body_of(dialect, &Reply { calls: &vec![OK; 100_000], ..Reply::default() }))
    });
    for (model, ..) in WIRES {
        let reported = scene.verdict(model);
        assert!(
            reported
                .starts_with("error[unreadable-reply]: AT cannot read the response: it has more than 200000 values: {"),
            "{reported}"
        );
    }
    scene.check_rest(2);
    let scene = Scene::record(CLOSES, |dialect| {
        Answer::status(200, "", body_of(dialect, &Reply { calls: &vec![OK; 1001], ..Reply::default() }))
    });
    scene.check(2, "error[unreadable-reply]: AT the reply has 1001 calls; the limit is 1000\nhint: re-record; no agent makes that many calls at once on purpose");
    let scene = Scene::record(CLOSES, |dialect| {
        Answer::status(200, "", body_of(dialect, &Reply { calls: &vec![OK; 1000], ..Reply::default() }))
    });
    scene.check(0, "pass");
    for (model, ..) in WIRES {
        assert_eq!(scene.calls(model).len(), 1000, "{model}");
    }
}

#[test]
fn escapes_in_names_ids_and_texts_have_no_effect() {
    let evil = r#""\u001b[2J\u001b]0;owned\u0007\u202egnp\u0000\r\n::error::x""#;
    let keys = "expect: [{ target: final_response, matcher: { exact: x } }, { target: \"tool_calls[0].name\", matcher: { exact: x } }]";
    let scene = Scene::play(keys, move |dialect, request| {
        let calls = [Call { id: evil, name: evil, args: "{\"q\":\"\\u001b[31m\\u202e\"}" }];
        let calls = if dialect.answered(&request.body) == 0 { &calls[..] } else { &[] };
        Answer::status(200, "", body_of(dialect, &Reply { text: evil, calls, ..Reply::default() }))
    });
    // Every scene checks that nothing takes effect; here it was recorded unchanged.
    scene.check(1, "fail");
    let evil: String = serde_json::from_str(evil).unwrap();
    for (model, ..) in WIRES {
        let trace = scene.trace(model);
        assert_eq!(
            (&trace["final_response"], &trace["tool_calls"][0]["name"]),
            (&json!(evil), &json!(evil)),
            "{model}"
        );
    }
}
