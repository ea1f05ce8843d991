//! Ends that are not in order: a model, a server or a program that leaves in the middle.

use serde_json::{Value, json};

use super::super::Folder;
use super::super::models::provider::{Answer, Loopback, Rest};
use super::{interrupted, model, record, recorded, reply, running, text};

const STREAM: &str = "content-type: text/event-stream\r\n";

/// What passed on both sides, and how it ended.
fn timeline(trace: &Value) -> Vec<(&str, &str)> {
    let entries = trace["program"]["timeline"].as_array().unwrap();
    entries.iter().map(|entry| (entry["what"].as_str().unwrap(), entry["status"].as_str().unwrap())).collect()
}

const ASKED: &str = "POST /v1/chat/completions";

#[test]
fn a_model_that_cuts_its_stream_is_cut_for_the_program_too() {
    let event = r#"data: {"choices":[{"index":0,"delta":{"content":"Hel"}}]}"#;
    let model = Loopback::start(move |_, count| match count {
        1 => Answer::status(200, STREAM, format!("{event}\n\n")).then(Rest::Cut),
        2 => Answer::status(200, "", r#"{"choices":["#).then(Rest::Cut),
        _ => Answer::json(&reply("All done.")),
    });
    let here = Folder::with(&[]);
    let (output, trace) = recorded(&here, &model, &[], &["cut", "cut", "ask"]);
    let expected = format!("cut after {}\ncut after {}\nAll done.\n", bytes(event), r#"b'{"choices":['"#);
    assert_eq!(text(&output.stdout), expected, "{}", text(&output.stderr));
    assert_eq!(timeline(&trace), [(ASKED, "cut"), (ASKED, "cut"), (ASKED, "200")]);
    // Nothing of the replies that broke off is part of the conversation, and what they cost is unknown.
    let turns = json!([{ "role": "user", "content": "hi" }, { "role": "assistant", "content": "All done." }]);
    assert_eq!((&trace["conversation"]["turns"], &trace["program"]["incomplete"]), (&turns, &Value::Null));
    assert_eq!(trace["conversation"].get("tokens"), None, "{trace}");
}

/// As Python shows them.
fn bytes(event: &str) -> String {
    format!("b'{event}\\n\\n'")
}

#[test]
fn garbage_of_a_model_passes_and_makes_the_recording_unassessable() {
    let garbage = "\u{1}<html>502 Bad Gateway</html>";
    let model = Loopback::start(move |_, _| Answer::status(200, "content-type: text/html\r\n", garbage));
    let here = Folder::with(&[("gates.yml", "trajectory: { mode: superset, calls: [] }\n")]);
    let (output, trace) = recorded(&here, &model, &[], &["status"]);
    assert_eq!(text(&output.stdout), format!("200 None {garbage}\n"));
    let why = trace["program"]["incomplete"].as_str().unwrap();
    assert!(why.starts_with("the model's reply in exchange 0 cannot be read: "), "{why}");
    let scored = here.command(&["score", "traces.jsonl", "--gates", "gates.yml"]).output().unwrap();
    assert_eq!(scored.status.code(), Some(1));
    assert!(text(&scored.stdout).contains(r#""verdict":"unassessable""#), "{}", text(&scored.stdout));
}

#[test]
fn a_program_that_closes_half_or_its_output_is_recorded_to_its_end() {
    let (here, model) = (Folder::with(&[]), model());
    let (output, trace) = recorded(&here, &model, &[], &["ask", "half", "close", "ask", "5"]);
    assert_eq!((output.status.code(), &*text(&output.stdout)), (Some(5), "All done.\n"), "{}", text(&output.stderr));
    // The request of a client that closes its side may be given up, or answered before that is noticed.
    let mut timeline = timeline(&trace);
    timeline.retain(|entry| *entry != (ASKED, "none"));
    assert!(timeline == [(ASKED, "200"); 2] || timeline == [(ASKED, "200"); 3], "{timeline:?}");
}

#[test]
fn a_server_that_exits_during_a_call_is_an_error_of_the_call() {
    let tools = "mock_server: { name: shop, tools: [{ name: refund }] }\n";
    let (here, model) = (Folder::with(&[("tools.yml", tools)]), model());
    let server = format!("shop={} mock --tools-from tools.yml --fault crash", env!("CARGO_BIN_EXE_mcptest"));
    let (output, trace) = recorded(&here, &model, &["--server", &server], &["ask", "call"]);
    let stdout = text(&output.stdout);
    assert!(stdout.contains("502 ") && stdout.contains("mcptest: the server exited (exit status: 101)"), "{stdout}");
    assert_eq!(timeline(&trace)[1..], [("initialize", "ok"), ("tools/call refund", "error")]);
    let result = &trace["tool_results"][0];
    assert_eq!((&result["is_error"], &result["error"]["kind"]), (&json!(true), &json!("transport")), "{trace}");
}

#[test]
fn ctrl_c_keeps_the_recording_also_if_the_program_and_its_server_ignore_it() {
    let mark = format!("mcptest-stubborn-{}", std::process::id());
    let script = format!(
        "trap '' TERM; : {mark}; {} mock --tools-from tools.yml; while :; do sleep 1; done",
        env!("CARGO_BIN_EXE_mcptest")
    );
    let tools = "mock_server: { name: shop, tools: [{ name: refund }] }\n";
    let (here, model) = (Folder::with(&[("tools.yml", tools), ("server.sh", &*script)]), model());
    let server = format!("shop=sh server.sh {mark}");
    let words = ["ask", "call", "stubborn", "hang"];
    let trace = interrupted(&here, record(&here, &model, &["--server", &server], &words), "-INT");
    assert_eq!(trace["tool_names"], json!(["refund"]), "{trace}");
    assert_eq!((running(&format!("server.sh {mark}")), running("agent.py ask call stubborn hang")), (0, 0));
}
