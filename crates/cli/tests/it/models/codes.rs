//! Troubles with models, for the tests of `mcptest explain`.

use mcptest_core::diag::Code;
use serde_json::json;

use super::provider::{Answer, Loopback, Request};
use super::{DONE, MOCK, claude, conversation, err, out, run, suite, test, world};

/// What is printed when a provider answers like this, with its address as the table has it.
fn answered(answer: impl Fn() -> Answer + Send + Sync + 'static) -> String {
    let server = Loopback::start(move |_, _| answer());
    let model = claude("m", &server, "");
    let here = world(&suite(MOCK, &[model], &[test("t", &format!("model: m, {DONE}"))]));
    let output = run(&here, &["--live"]);
    out(&output).split_whitespace().collect::<Vec<_>>().join(" ").replace(&server.base(), "http://127.0.0.1:1")
}

/// The output for a model that cannot be called.
fn described(model: &str, flags: &[&str], variables: &[(&str, &str)]) -> String {
    let here = world(&suite(MOCK, &[model.to_owned()], &[test("t", &format!("model: m, {DONE}"))]));
    let mut command = here.command(&[&["run", "suite.yml"], flags].concat());
    command.envs(variables.iter().copied());
    let output = super::finish(command);
    out(&output) + &err(&output)
}

/// What is printed when a server at an address answers like this.
fn remote(answer: impl Fn(&Request) -> Answer + Send + Sync + 'static) -> String {
    let server = Loopback::start(move |request, _| answer(request));
    let remote = format!("url: \"{}/mcp\"", server.base());
    let here = world(&suite(&remote, &[claude("m", &server, "")], &[test("t", &format!("model: m, {DONE}"))]));
    out(&run(&here, &["--live"]))
}

/// What is printed when a tool wants an argument in a header that cannot be one.
fn not_offered() -> String {
    let models = conversation();
    let tools = "mock_server:\n  name: desk\n  tools:\n    - { name: search }\n    - name: find\n      input_schema: { type: object, \
                 properties: { q: { type: string, x-mcp-header: My Query } } }\n";
    let here = crate::Folder::with(&[("tools.yml", tools)]);
    let remote = super::remote::Remote::start(&here);
    let server = format!("url: \"{}\"", remote.url);
    let here = world(&suite(&server, &[claude("m", &models, "")], &[test("t", &format!("model: m, {DONE}"))]));
    err(&run(&here, &["--live"]))
}

fn rejected(status: u16, message: &str) -> Answer {
    Answer::status(status, "retry-after: 0\r\n", json!({ "error": { "message": message } }).to_string())
}

pub(crate) fn provoked() -> Vec<(Code, String)> {
    let known =
        "agents:\n  - { name: t, model: claude-sonnet-4-5, prompt: Hi, trajectory: { calls: [{ name: a }] } }\n";
    let keyless = crate::Folder::with(&[("key.yml", known)]);
    let print = |line: &[&str]| {
        let output = super::finish(keyless.command(line));
        out(&output) + &err(&output)
    };
    let server = conversation();
    let spending = world(&suite(MOCK, &[claude("m", &server, "")], &[test("t", &format!("model: m, {DONE}"))]));
    let paused = || {
        Answer::json(&json!({
            "type": "message", "role": "assistant", "model": "model-1", "id": "1", "content": [],
            "stop_reason": "tired", "usage": { "input_tokens": 1, "output_tokens": 1 },
        }))
    };
    vec![
        (Code::NoKey, print(&["run", "key.yml", "--live"])),
        (Code::NoPrice, print(&["run", "key.yml", "--live", "--max-cost", "1"])),
        (Code::BadKey, described("m: { provider: anthropic }", &["--live"], &[("ANTHROPIC_API_KEY", "a\nb")])),
        (
            Code::BadBaseUrl,
            described(
                "m: { provider: anthropic, base_url: api.example.test }",
                &["--live"],
                &[("ANTHROPIC_API_KEY", "k")],
            ),
        ),
        (
            Code::ModelUnreachable,
            described("m: { provider: anthropic, base_url: \"http://127.0.0.1:1\" }", &["--live"], &[]),
        ),
        (Code::KeyRejected, answered(|| rejected(401, "bad key"))),
        (Code::ModelNotFound, answered(|| rejected(404, "no such model"))),
        (Code::ModelOverloaded, answered(|| rejected(500, "on fire"))),
        (Code::RequestRejected, answered(|| rejected(400, "temperature is not supported"))),
        (Code::ModelRedirect, answered(|| Answer::status(301, "location: http://elsewhere.test/\r\n", ""))),
        (Code::UnreadableReply, answered(|| Answer::status(200, "", "<html>"))),
        (Code::ReplyCutOff, answered(paused)),
        (Code::BudgetExceeded, out(&run(&spending, &["--live", "--max-tokens-total", "60"]))),
        (
            Code::ServerRejected,
            remote(|_| Answer::status(401, "www-authenticate: Bearer\r\n", "{\"error\":\"who are you\"}")),
        ),
        (Code::ToolNotOffered, not_offered()),
        (
            Code::OldTransport,
            remote(|request| match request.method.as_str() {
                "GET" => Answer::status(200, "content-type: text/event-stream\r\n", "event: endpoint\ndata: /m\n\n"),
                _ => Answer::status(405, "", ""),
            }),
        ),
    ]
}
