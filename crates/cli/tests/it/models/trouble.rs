//! Models and servers that do not answer as they should: what is tried again, how often, and what is reported.

use super::dialect::{answer, turn};
use super::provider::{Answer, Loopback};
use super::{DONE, LAST, MOCK, cassettes, claude, conversation, err, out, report, run, suite, test, trouble_of, world};

#[test]
fn a_rate_limited_request_is_retried_after_the_pause() {
    let server = Loopback::start(|request, count| match count {
        1 => Answer::status(429, "retry-after: 0\r\n", "{\"error\":{\"message\":\"slow down\"}}"),
        _ => answer(request, |answered| turn(answered, LAST)),
    });
    let here = world(&suite(MOCK, &[claude("claude", &server, "")], &[test("t", &format!("model: claude, {DONE}"))]));
    let output = run(&here, &["--record"]);
    assert_eq!(
        (output.status.code(), &*err(&output)),
        (Some(0), "note: t: claude: HTTP 429; retrying in 0 s (attempt 2 of 4)\n"),
        "{}",
        out(&output)
    );
    let asked = server.requests();
    assert_eq!(asked.len(), 4);
    assert_eq!(asked[0].body, asked[1].body, "the same question is asked again");
}

#[test]
fn a_provider_that_is_down_is_tried_four_times() {
    let server =
        Loopback::start(|_, _| Answer::status(500, "retry-after: 0\r\n", "{\"error\":{\"message\":\"on fire\"}}"));
    let here = world(&suite(MOCK, &[claude("claude", &server, "")], &[test("t", &format!("model: claude, {DONE}"))]));
    let (code, reported) = report(&here, &["--record"]);
    let message = format!("model `claude` at {}/v1/messages: HTTP 500: on fire (4 attempts)", server.base());
    let hint = "try again later, or with fewer runs at once (`--jobs 1`)";
    assert_eq!((code, trouble_of(&reported)), (Some(2), (&*message, hint)));
    assert_eq!(server.requests().len(), 4);
    assert!(cassettes(&here).is_empty());
    // People read the same, and every further attempt was reported.
    let output = run(&here, &["--live"]);
    let read = out(&output).split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(read.contains(&format!("{message} hint: {hint} at suite.yml:5")), "{read}");
    let note = |attempt: u32| format!("note: t: claude: HTTP 500; retrying in 0 s (attempt {attempt} of 4)\n");
    assert_eq!(err(&output), [note(2), note(3), note(4)].concat());
}

#[test]
fn a_missing_key_is_reported_before_any_request() {
    let server = Loopback::start(|_, _| Answer::status(500, "", ""));
    for (model, message, hint) in [
        (
            claude("m", &server, ", api_key_env: DESK_MODEL_KEY"),
            "model `m` needs an API key, but DESK_MODEL_KEY is not set",
            "set DESK_MODEL_KEY, or name another variable with `api_key_env:`; if the server needs no key, any value works",
        ),
        (
            "m: { provider: openai, model: gpt-5 }".to_owned(),
            "model `m` needs an API key, but OPENAI_API_KEY is not set",
            "set OPENAI_API_KEY, or name another variable with `api_key_env:`; if the server needs no key, any value works",
        ),
    ] {
        let here = world(&suite(MOCK, &[model], &[test("t", &format!("model: m, {DONE}"))]));
        let (code, reported) = report(&here, &["--live"]);
        assert_eq!((code, trouble_of(&reported)), (Some(2), (message, hint)));
    }
    assert!(server.requests().is_empty());
}

#[test]
fn a_server_that_wants_a_token_is_reported_with_the_key_that_names_it() {
    let server = Loopback::start(|request, _| match request.path.as_str() {
        "/mcp" => Answer::status(401, "www-authenticate: Bearer\r\n", "{\"error\":\"who are you\"}"),
        _ => answer(request, |answered| turn(answered, LAST)),
    });
    let remote = format!("url: \"{}/mcp\"", server.base());
    let here =
        world(&suite(&remote, &[claude("claude", &server, "")], &[test("t", &format!("model: claude, {DONE}"))]));
    let (code, reported) = report(&here, &["--live"]);
    let message = "server `desk`: responded to `server/discover` with 401 Unauthorized: {\"error\":\"who are you\"}";
    let hint = "set `bearer_token_env` to a variable that holds a token the server accepts";
    assert_eq!((code, trouble_of(&reported)), (Some(2), (message, hint)));
    assert!(server.requests().iter().all(|request| request.path == "/mcp"), "the model is not asked");
}

#[test]
fn an_unreachable_address_is_an_error_of_the_run() {
    let server = conversation();
    // No server listens on the first port.
    let remote = "url: \"http://127.0.0.1:1/mcp\"";
    let here = world(&suite(remote, &[claude("claude", &server, "")], &[test("t", &format!("model: claude, {DONE}"))]));
    let (code, reported) = report(&here, &["--live"]);
    let (message, hint) = trouble_of(&reported);
    let expected = "server `desk`: no reply to `initialize`: cannot connect to 127.0.0.1:1: Connection refused";
    assert!(code == Some(2) && message.starts_with(expected), "{message}");
    assert_eq!(hint, "check that `url` is the endpoint of an MCP server over Streamable HTTP, and that it runs");
    assert!(server.requests().is_empty());
}
