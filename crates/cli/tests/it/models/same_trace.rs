//! The loop is one, the wires differ: a suite leaves the same recording over every interface, and replays without them.

use serde_json::{Value, json};

use super::{DONE, LAST, MOCK, cassette, cassettes, conversation, err, out, rows, run, suite, test, world};

/// The trace in a cassette without what may differ: ids, and the time things took.
fn comparable(cassette: &Value) -> Value {
    let mut trace = cassette["trace"].clone();
    for call in trace["tool_calls"].as_array_mut().unwrap() {
        assert!(call.as_object_mut().unwrap().remove("id").is_some_and(|id| id.is_string()));
    }
    for result in trace["tool_results"].as_array_mut().unwrap() {
        assert!(result.as_object_mut().unwrap().remove("duration_ms").is_some_and(|ms| ms.is_u64()));
    }
    let conversation = trace["conversation"].as_object_mut().unwrap();
    assert!(conversation.remove("duration_ms").is_some_and(|ms| ms.is_u64()));
    assert_eq!(conversation.remove("model"), Some(cassette["model"].clone()));
    trace
}

#[test]
fn a_suite_gives_the_same_trace_over_every_interface_and_replays_without_any() {
    let server = conversation();
    let base = server.base();
    let models = [
        format!("claude: {{ provider: anthropic, base_url: \"{base}\" }}"),
        format!("responses: {{ provider: openai, api: responses, base_url: \"{base}/v1\" }}"),
        format!("chat: {{ provider: openai, base_url: \"{base}/v1\" }}"),
        format!("gemini: {{ provider: gemini, base_url: \"{base}\" }}"),
    ];
    let names = ["claude", "responses", "chat", "gemini"];
    let here = world(&suite(MOCK, &models, &[test("t", &format!("models: [{}], {DONE}", names.join(", ")))]));
    let recorded = run(&here, &["--record"]);
    assert_eq!((recorded.status.code(), &*err(&recorded)), (Some(0), ""), "{}", out(&recorded));
    assert_eq!(cassettes(&here), ["t/chat/1.json", "t/claude/1.json", "t/gemini/1.json", "t/responses/1.json"]);
    let found = "{\"about\":\"rain\",\"id\":7}";
    let text = |text: &str| json!([{ "type": "text", "text": text }]);
    let expected = json!({
        "tool_calls": [
            { "name": "search", "server": "desk", "args": { "q": "rain" }, "turn": 1 },
            { "name": "refund", "server": "desk", "args": { "invoice": 7 }, "turn": 1 },
            { "name": "get_invoice", "server": "desk", "args": { "id": 7 }, "turn": 4 },
        ],
        "tool_names": ["search", "refund", "get_invoice"],
        "tool_results": [
            { "is_error": false, "content": text(found), "structured_content": { "id": 7, "about": "rain" } },
            {
                "is_error": true, "content": text("the bank is closed"),
                "error": { "kind": "tool", "message": "the bank is closed" },
            },
            { "is_error": false, "content": text("invoice 7: 12.50") },
        ],
        "final_response": LAST,
        "conversation": {
            "turns": [
                { "role": "user", "content": "Do it." },
                { "role": "assistant", "content": "Looking." },
                { "role": "tool", "content": found },
                { "role": "tool", "content": "the bank is closed" },
                { "role": "assistant", "content": null },
                { "role": "tool", "content": "invoice 7: 12.50" },
                { "role": "assistant", "content": LAST },
            ],
            // Every interface counts in its own way, and here they all count the same.
            "tokens": { "input": 300, "output": 60, "cached": 120, "total": 360 },
            "stop_reason": "completed",
        },
    });
    for name in names {
        let found = comparable(&cassette(&here, &format!("t/{name}/1.json")));
        assert_eq!(found, expected, "{name}");
    }
    assert_eq!(server.requests().len(), 12, "three questions over each interface");
    drop(server);
    for face in [&["--reporter", "pretty"][..], &["--reporter", "json"], &["--reporter", "junit"], &["-v"]] {
        let (first, second) = (run(&here, face), run(&here, face));
        assert_eq!((first.status.code(), &*err(&first)), (Some(0), ""), "{face:?}");
        assert_eq!(first, second, "{face:?}");
    }
    let report = serde_json::from_slice(&run(&here, &["--reporter", "json"]).stdout).unwrap();
    assert_eq!(rows(&report), names.map(|name| format!("t [{name}]: pass")));
    assert_eq!(report["suites"][0]["rows"][0]["origin"], "replayed");
    assert_eq!(report["suites"][0]["rows"][0]["trace"]["final_response"], LAST);
}
