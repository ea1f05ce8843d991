//! Keys reach their provider and nothing else: no recording, no report, no message.

use std::process::Output;

use serde_json::{Value, json};

use super::dialect::{Dialect, Turn, answer, has_tools, turn};
use super::provider::{Answer, Loopback, Request};
use super::{LAST, cassette, cassettes, err, finish, out, suite, test, world};
use crate::Folder;

/// Variables with their values. None looks like a key, so that only knowing them takes them out.
const SECRETS: [(&str, &str); 6] = [
    ("CLAUDE_KEY", "violet-otter-1111"),
    ("RESPONSES_KEY", "silver-heron-2222"),
    ("CHAT_KEY", "amber-badger-3333"),
    ("GEMINI_KEY", "coral-falcon-4444"),
    ("VAULT_TOKEN", "indigo-weasel-5555"),
    ("TEAM_SECRET", "scarlet-marmot-6666"),
];

const MODELS: [&str; 4] = ["claude", "responses", "chat", "gemini"];

/// A server of the era with a handshake, whose tools repeat what they were authorized with.
fn mcp(request: &Request) -> Answer {
    if request.method != "POST" {
        return Answer::status(405, "", "");
    }
    let shown = format!("{} of {}", request.header("authorization"), request.header("x-team"));
    let tool = |name: &str| json!({ "name": name, "inputSchema": { "type": "object" } });
    let result = match request.body["method"].as_str().unwrap_or("") {
        "initialize" => json!({
            "protocolVersion": "2025-11-25",
            "capabilities": { "tools": {} },
            "serverInfo": { "name": "vault", "version": "1" },
            "instructions": shown,
        }),
        "tools/list" => json!({ "tools": [tool("search"), tool("refund"), tool("get_invoice")] }),
        "tools/call" => {
            let failed = request.body["params"]["name"] == "refund";
            // A message is made of what fails, and cut after 2000 characters: here in the middle of the token.
            let text = format!("seen: {shown}");
            let text = if failed { format!("{}{}", "_".repeat(33), text.repeat(60)) } else { text };
            json!({ "content": [{ "type": "text", "text": text }], "isError": failed })
        }
        _ => return Answer::status(202, "", ""),
    };
    Answer::json(&json!({ "jsonrpc": "2.0", "id": request.body["id"], "result": result }))
}

/// Checks that fail, so that reports show what there was instead.
const FAILING: &str = "expect: [{ target: final_response, matcher: { exact: nothing } }, \
                       { target: \"tool_results[0].content\", matcher: { contains: nothing } }]";

/// A suite on all interfaces, with a remote server, at this address.
fn guarded(base: &str, checks: &str) -> Folder {
    let server = format!(
        "url: \"{base}/mcp\", protocol: legacy, bearer_token_env: VAULT_TOKEN, headers: {{ X-Team: \"${{TEAM_SECRET}}\" }}"
    );
    let models = [
        format!("claude: {{ provider: anthropic, base_url: \"{base}\", api_key_env: CLAUDE_KEY }}"),
        format!(
            "responses: {{ provider: openai, api: responses, base_url: \"{base}/v1\", api_key_env: RESPONSES_KEY }}"
        ),
        format!("chat: {{ provider: openai, api: chat, base_url: \"{base}/v1\", api_key_env: CHAT_KEY }}"),
        format!("gemini: {{ provider: gemini, base_url: \"{base}\", api_key_env: GEMINI_KEY }}"),
    ];
    let keys = format!("models: [{}], {checks}", MODELS.join(", "));
    world(&suite(&server, &models, &[test("t", &keys)]))
}

/// Records with every reporter, and gives all that was written with where it was.
fn everything(here: &Folder) -> (Output, Vec<(String, String)>) {
    let mut command = here.command(&[
        "run",
        "suite.yml",
        "--record",
        "-v",
        "--reporter",
        "pretty",
        "--reporter",
        "json=report.json",
        "--reporter",
        "junit=report.xml",
    ]);
    command.envs(SECRETS);
    let output = finish(command);
    let mut all = vec![("stdout".to_owned(), out(&output)), ("stderr".to_owned(), err(&output))];
    let files = cassettes(here).into_iter().map(|name| format!("cassettes/suite/{name}"));
    for name in files.chain(["report.json".to_owned(), "report.xml".to_owned()]) {
        let text = std::fs::read_to_string(here.0.join(&name)).unwrap();
        all.push((name, text));
    }
    (output, all)
}

#[track_caller]
fn without_secrets(all: &[(String, String)]) {
    for (place, text) in all {
        for (variable, secret) in SECRETS {
            // A third of it is too much as well, as where it is cut.
            assert!(!text.contains(&secret[..6]), "{variable} is in {place}:\n{text}");
        }
    }
}

#[test]
fn keys_reach_their_provider_and_no_file_report_or_stream() {
    let server = Loopback::start(|request, _| match Dialect::of(request) {
        // A model that repeats its own key.
        Some(dialect) => {
            let last = format!("My key is {}.", dialect.key(request));
            answer(request, |answered| turn(answered, &last))
        }
        None => mcp(request),
    });
    let here = guarded(&server.base(), FAILING);
    let (output, all) = everything(&here);
    assert_eq!((output.status.code(), cassettes(&here).len()), (Some(1), 4), "{}", out(&output));
    without_secrets(&all);
    // The redacted text was in the replies of every model and of the server.
    for (model, (variable, _)) in MODELS.iter().zip(SECRETS) {
        let text = &all.iter().find(|(place, _)| place.contains(model)).unwrap().1;
        let kept: Value = serde_json::from_str(text).unwrap();
        assert_eq!(kept["trace"]["final_response"], format!("My key is [redacted:{variable}]."));
        let seen = "seen: Bearer [redacted:VAULT_TOKEN] of [redacted:TEAM_SECRET]";
        assert_eq!(kept["trace"]["tool_results"][0]["content"][0]["text"], seen, "{model}");
        assert!(out(&output).contains(&format!("[redacted:{variable}]")), "{}", out(&output));
    }
    // And each got its own key and no other.
    for request in server.requests() {
        let wanted: &[&str] = match Dialect::of(&request) {
            Some(Dialect::Messages) => &["CLAUDE_KEY"],
            Some(Dialect::Responses) => &["RESPONSES_KEY"],
            Some(Dialect::Chat) => &["CHAT_KEY"],
            Some(Dialect::Gemini) => &["GEMINI_KEY"],
            None => &["VAULT_TOKEN", "TEAM_SECRET"],
        };
        let sent = |(_, secret): &(&str, &str)| request.headers.values().any(|value| value.contains(secret));
        let found: Vec<&str> = SECRETS.iter().filter(|pair| sent(pair)).map(|(variable, _)| *variable).collect();
        assert_eq!(found, wanted, "{request:?}");
        if let Some(dialect) = Dialect::of(&request) {
            assert!(
                SECRETS.iter().any(|(variable, secret)| *variable == wanted[0] && *secret == dialect.key(&request))
            );
        }
        assert!(!request.path.contains('?'), "a key in an address would be in every log");
    }
}

#[test]
fn a_refused_key_is_reported_by_the_name_of_its_variable_even_when_the_provider_repeats_it() {
    let server = Loopback::start(|request, _| match Dialect::of(request) {
        Some(dialect) => {
            let message = format!("Incorrect API key provided: {} after {}", dialect.key(request), SECRETS[4].1);
            Answer::status(401, "", json!({ "error": { "message": message } }).to_string())
        }
        None => mcp(request),
    });
    let here = guarded(&server.base(), FAILING);
    let (output, all) = everything(&here);
    assert_eq!((output.status.code(), cassettes(&here).len()), (Some(2), 0), "{}", out(&output));
    without_secrets(&all);
    let report: Value = serde_json::from_str(&std::fs::read_to_string(here.0.join("report.json")).unwrap()).unwrap();
    let paths = ["/v1/messages", "/v1/responses", "/v1/chat/completions", "/v1beta/models/gemini:generateContent"];
    for ((row, (variable, _)), (model, path)) in (0..).zip(SECRETS).zip(MODELS.iter().zip(paths)) {
        let error = &report["suites"][0]["rows"][row]["error"];
        let message = format!(
            "model `{model}` at {}{path}: HTTP 401: Incorrect API key provided: [redacted:{variable}] after [redacted:VAULT_TOKEN]",
            server.base()
        );
        assert_eq!(
            *error,
            json!({ "code": "key-rejected", "message": message, "hint": format!("check the key in {variable}") })
        );
    }
}

#[test]
fn an_echoed_token_is_redacted_from_the_server_error() {
    let server = Loopback::start(|request, _| {
        let message = format!("bad token {} of {}", request.header("authorization"), request.header("x-team"));
        Answer::status(401, "", json!({ "error": message }).to_string())
    });
    let here = guarded(&server.base(), FAILING);
    let (output, all) = everything(&here);
    assert_eq!(output.status.code(), Some(2), "{}", out(&output));
    without_secrets(&all);
    assert!(out(&output).contains("[redacted:bearer token] of [redacted:X-Team]"), "{}", out(&output));
    assert!(out(&output).contains("`bearer_token_env`"), "{}", out(&output));
}

#[test]
fn a_note_on_the_advisory_request_repeats_no_secret_of_the_run() {
    let server = Loopback::start(|request, _| match Dialect::of(request) {
        Some(_) if has_tools(request) => answer(request, |answered| turn(answered, LAST)),
        // It refuses with the text of a tool, which is not a secret of the model.
        Some(_) => {
            Answer::status(400, "", json!({ "error": { "message": format!("no: {}", SECRETS[4].1) } }).to_string())
        }
        None => mcp(request),
    });
    let checks = "trajectory: { mode: superset, calls: [{ name: search }] }, narrative: { llm_assisted: true }";
    let here = guarded(&server.base(), checks);
    let (output, all) = everything(&here);
    assert_eq!((output.status.code(), cassettes(&here).len()), (Some(0), 4), "{}", out(&output));
    without_secrets(&all);
    let notes: Vec<String> = err(&output).lines().map(str::to_owned).collect();
    assert_eq!(notes.len(), 4, "{notes:?}");
    for note in notes {
        assert!(note.contains("the advisory request failed"), "{note}");
        assert!(note.ends_with("HTTP 400: no: [redacted:VAULT_TOKEN]"), "{note}");
    }
}

#[test]
fn no_part_of_a_secret_is_shown_where_a_provider_message_is_cut() {
    let server = Loopback::start(|request, _| match Dialect::of(request) {
        // Wherever the cut falls, it is in the middle of a token, and far into it after 400 characters.
        Some(_) => {
            let message = format!("______{}", SECRETS[4].1.repeat(60));
            Answer::status(400, "", json!({ "error": { "message": message } }).to_string())
        }
        None => mcp(request),
    });
    let here = guarded(&server.base(), FAILING);
    let (output, all) = everything(&here);
    assert_eq!(output.status.code(), Some(2), "{}", out(&output));
    assert!(out(&output).contains("[redacted:VAULT_TOKEN]"), "{}", out(&output));
    without_secrets(&all);
}

#[test]
fn no_part_of_a_secret_is_kept_where_the_advisory_request_cuts_arguments() {
    let server = Loopback::start(|request, _| match Dialect::of(request) {
        Some(_) if !has_tools(request) => answer(request, |_| Turn::text("none")),
        // A model that repeats what a tool returned, so long that the request cuts it inside a token.
        Some(_) => answer(request, |answered| match turn(answered, LAST) {
            first if answered == 0 => {
                let q = SECRETS[4].1.repeat(60);
                Turn {
                    calls: vec![("desk__search".into(), json!({ "q": q })), ("desk__refund".into(), json!({}))],
                    ..first
                }
            }
            other => other,
        }),
        None => mcp(request),
    });
    let checks = "trajectory: { mode: superset, calls: [{ name: search }] }, narrative: { llm_assisted: true }";
    let here = guarded(&server.base(), checks);
    let (output, all) = everything(&here);
    assert_eq!((output.status.code(), cassettes(&here).len()), (Some(0), 4), "{}", out(&output));
    without_secrets(&all);
    for name in cassettes(&here) {
        let question = cassette(&here, &name)["advisory"]["question"].to_string();
        assert!(question.contains("- search {\\\"q\\\":\\\"[redacted:VAULT_TOKEN]"), "{question}");
    }
}
