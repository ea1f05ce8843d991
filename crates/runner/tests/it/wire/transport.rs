//! What happens between question and reply: retries, limits, and everything that can go wrong on the way.

use std::sync::Mutex;
use std::time::Duration;

use mcptest_runner::agent::Reply;
use mcptest_runner::provider::{AskError, Client, ModelRequest, Problem, Timeouts};
use serde_json::{Value, json};

use super::server::{Answer, Request, Server};
use super::{CHAT, GEMINI, KEY, MESSAGES, PATIENCE, QUESTION, RESPONSES, Spoken, access_to, ask_at};

const ALL: [Spoken; 4] = [MESSAGES, RESPONSES, CHAT, GEMINI];

fn done() -> Answer {
    Answer::json(&says("Done."))
}

/// A reply over Chat Completions.
fn says(text: &str) -> Value {
    json!({ "choices": [{ "message": { "role": "assistant", "content": text }, "finish_reason": "stop" }] })
}

/// What a user sees of an error; the port is another one in each run.
fn reported(error: &AskError, server: &Server) -> String {
    let text = format!("{error}\nhint: {}", error.hint());
    for text in [&text, &format!("{error:?}")] {
        assert!(!text.contains(KEY), "{text}");
    }
    text.replace(&server.base(), "http://server")
}

async fn ask(server: &Server, path: &str, patience: Timeouts) -> (Result<Reply, AskError>, Vec<String>) {
    let notes = Mutex::new(Vec::new());
    let note = |text: &str| notes.lock().unwrap().push(text.to_owned());
    let client = Client::with(patience);
    let reply = client.ask(&access_to(CHAT, &format!("{}{path}", server.base())), &QUESTION, &note).await;
    (reply, notes.into_inner().unwrap())
}

/// Calls a server over Chat Completions. Returns the message for the user, the number of requests, and the notes.
async fn check(answers: Vec<Answer>, requests: usize, expected_notes: &[&str], expected: &str) {
    let server = Server::start(answers).await;
    let (reply, notes) = ask(&server, "", PATIENCE).await;
    let reported = match reply {
        Ok(reply) => reply.texts.join("\n"),
        Err(error) => reported(&error, &server),
    };
    assert_eq!(reported, expected);
    assert_eq!(notes, expected_notes);
    assert_eq!(server.requests().len(), requests);
}

const AT: &str = "model `demo` at http://server/chat/completions";

#[tokio::test]
async fn a_busy_provider_gets_the_same_request_again_after_the_requested_time() {
    let busy = Answer::new(429, &[("retry-after", "0.02")], "{\"error\":{\"message\":\"Slow down.\"}}");
    let (reply, requests, notes) = ask_at(CHAT, vec![busy.clone(), busy, done()], &QUESTION).await;
    assert_eq!(reply.unwrap().texts, ["Done."]);
    assert_eq!(
        notes,
        ["demo: HTTP 429; retrying in 0.02 s (attempt 2 of 4)", "demo: HTTP 429; retrying in 0.02 s (attempt 3 of 4)"]
    );
    let [first, rest @ ..] = requests.as_slice() else { panic!("nothing was asked") };
    assert_eq!(rest.len(), 2);
    assert!(rest.iter().all(|again| again == first));
}

#[tokio::test]
async fn transient_statuses_are_tried_four_times_with_growing_pauses() {
    for status in [408, 409, 429, 500, 502, 503, 504, 520, 529, 599] {
        check(
            vec![Answer::new(status, &[], "{\"message\":\"Not now.\"}")],
            4,
            &[
                &format!("demo: HTTP {status}; retrying in 0.005 s (attempt 2 of 4)"),
                &format!("demo: HTTP {status}; retrying in 0.01 s (attempt 3 of 4)"),
                &format!("demo: HTTP {status}; retrying in 0.02 s (attempt 4 of 4)"),
            ],
            &format!(
                "{AT}: HTTP {status}: Not now. (4 attempts)\n\
                 hint: try again later, or with fewer runs at once (`--jobs 1`)"
            ),
        )
        .await;
    }
}

#[tokio::test]
async fn other_statuses_are_final_and_say_what_to_check() {
    for (status, error, hint) in [
        (400, "temperature is not supported", "remove `temperature:` from the test; this model does not accept it"),
        (400, "tools: too many", "the provider rejected the request; fix what it names"),
        (401, "who are you", "check the key in TEST_KEY"),
        (403, "not yours", "check the key in TEST_KEY"),
        (404, "no such model", "check the model name, `model-1`, and `base_url:`"),
        (422, "bad field", "the provider rejected the request; fix what it names"),
    ] {
        let body = json!({ "error": { "message": error, "type": "x" } }).to_string();
        let expected = format!("{AT}: HTTP {status}: {error}\nhint: {hint}");
        check(vec![Answer::new(status, &[], &body)], 1, &[], &expected).await;
    }
}

#[tokio::test]
async fn hints_know_the_interface() {
    for (spoken, status, body, expected) in [
        (MESSAGES, 404, "nothing", "check the model name, `model-1`, and `base_url:` (without `/v1` here)"),
        (
            RESPONSES,
            400,
            "Encrypted content is not supported with this model.",
            "add the model to `models:` with `api: chat`; it does not support reasoning, which this API requests",
        ),
    ] {
        let (reply, ..) = ask_at(spoken, vec![Answer::new(status, &[], body)], &QUESTION).await;
        assert_eq!(reply.unwrap_err().hint(), expected);
    }
}

#[tokio::test]
async fn a_wait_of_more_than_a_minute_is_not_made() {
    check(
        vec![Answer::new(429, &[("retry-after", "3600")], "")],
        1,
        &[],
        &format!(
            "{AT}: HTTP 429; it asks to wait 3600 s, and the limit is 60 s\n\
             hint: try again later, or with fewer runs at once (`--jobs 1`)"
        ),
    )
    .await;
}

#[tokio::test]
async fn a_date_or_malformed_retry_time_gives_the_default_delay() {
    for wait in ["Mon, 16 Nov 2026 03:00:00 GMT", "-1", "NaN", "1e400", ""] {
        check(
            vec![Answer::new(503, &[("retry-after", wait)], ""), done()],
            2,
            &["demo: HTTP 503; retrying in 0.005 s (attempt 2 of 4)"],
            "Done.",
        )
        .await;
    }
}

#[tokio::test]
async fn a_response_that_is_not_json_is_truncated_and_not_retried() {
    let page = format!("<html>\r\n\u{7}{}</html>", "x".repeat(1000));
    check(
        vec![Answer::new(200, &[], &page)],
        1,
        &[],
        &format!(
            "{AT}: cannot read the response: it is not JSON (line 1, column 1: expected value): <html> {}…\n\
             hint: check that `base_url:` points to a server that speaks OpenAI Chat Completions",
            "x".repeat(393)
        ),
    )
    .await;
}

#[tokio::test]
async fn a_duplicate_key_in_an_answer_is_an_error_over_every_interface() {
    for spoken in ALL {
        let answer = Answer::new(200, &[], r#"{"usage":{"x":1,"x":2},"content":[],"output":[]}"#);
        let (reply, requests, _) = ask_at(spoken, vec![answer], &QUESTION).await;
        let problem = *reply.unwrap_err().problem;
        assert_eq!(
            problem.to_string(),
            "cannot read the response: it is not JSON (line 1, column 19: usage: duplicate key \"x\"): \
             {\"usage\":{\"x\":1,\"x\":2},\"content\":[],\"output\":[]}"
        );
        assert_eq!(requests.len(), 1);
    }
}

#[tokio::test]
async fn a_server_that_never_answers_is_abandoned() {
    let server = Server::start(vec![Answer::Hang]).await;
    let patience = Timeouts { attempt: Duration::from_millis(150), ..PATIENCE };
    let (reply, notes) = ask(&server, "", patience).await;
    assert_eq!(
        reported(&reply.unwrap_err(), &server),
        format!("{AT}: no complete response within 0.15 s (4 attempts)\nhint: try again")
    );
    assert_eq!(notes[0], "demo: no complete response within 0.15 s; retrying in 0.005 s (attempt 2 of 4)");
    assert_eq!((notes.len(), server.requests().len()), (3, 4));
}

#[tokio::test]
async fn a_connection_lost_during_the_response_is_reported_and_not_retried() {
    let server = Server::start(vec![done().cut(10)]).await;
    let (reply, notes) = ask(&server, "", PATIENCE).await;
    assert_eq!(
        reported(&reply.unwrap_err(), &server),
        format!(
            "{AT}: the connection was lost during the response: end of file before message length reached\nhint: try again"
        )
    );
    assert_eq!((notes.len(), server.requests().len()), (0, 1));
}

#[tokio::test]
async fn a_connection_lost_before_the_response_is_retried() {
    check(
        vec![Answer::Bytes(vec![]), done()],
        2,
        &["demo: connection failed: connection closed before message completed; retrying in 0.005 s (attempt 2 of 4)"],
        "Done.",
    )
    .await;
}

#[tokio::test]
async fn if_nothing_listens_the_hint_says_to_start_the_server() {
    let server = Server::start(vec![]).await;
    let base = server.base();
    drop(server);
    // The listener is closed when its task ends.
    tokio::task::yield_now().await;
    let refused = std::net::TcpStream::connect(base.trim_start_matches("http://")).unwrap_err();
    let client = Client::with(PATIENCE);
    let error = client.ask(&access_to(CHAT, &base), &QUESTION, &|_| {}).await.unwrap_err();
    assert_eq!(
        format!("{error}\nhint: {}", error.hint()),
        format!(
            "model `demo` at {base}/chat/completions: connection failed: {refused} (4 attempts)\nhint: start the server, or fix `base_url:`; nothing is listening there"
        )
    );
}

#[tokio::test]
async fn a_server_without_tls_is_reported_as_a_failed_connection() {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let base = format!("https://{}", listener.local_addr().unwrap());
    let closing = tokio::spawn(async move { while listener.accept().await.is_ok() {} });
    let client = Client::with(PATIENCE);
    let error = client.ask(&access_to(CHAT, &base), &QUESTION, &|_| {}).await.unwrap_err();
    closing.abort();
    match *error.problem {
        Problem::Unreachable { .. } => assert_eq!(error.attempts, 4),
        // On a machine without certificates it does not come to that.
        Problem::NoClient { .. } => assert_eq!(error.attempts, 0),
        _ => panic!("{error}"),
    }
}

#[tokio::test]
async fn a_refused_key_is_in_no_message_although_the_server_repeats_it() {
    for spoken in ALL {
        for body in [
            json!({ "error": { "message": format!("Incorrect key: {KEY}.") } }).to_string(),
            format!("Incorrect key: {KEY}."),
        ] {
            let (reply, requests, notes) = ask_at(spoken, vec![Answer::new(401, &[], &body)], &QUESTION).await;
            let error = reply.unwrap_err();
            let text = format!("{error}");
            let problem = text.split_once(": HTTP ").unwrap().1;
            assert_eq!(problem, "401: Incorrect key: [redacted:TEST_KEY].");
            assert_eq!(error.hint(), "check the key in TEST_KEY");
            assert_eq!((requests.len(), notes.len()), (1, 0));
            let access = access_to(spoken, "http://localhost:1?key=hidden");
            for debug in [format!("{error:?}"), format!("{access:?}"), format!("{:?}", Client::with(PATIENCE))] {
                assert!(!debug.contains(KEY) && !debug.contains("hidden"), "{debug}");
            }
        }
    }
}

#[tokio::test]
async fn a_key_at_the_cut_is_not_partly_shown() {
    let bodies = (370..=400).map(|before| Answer::new(401, &[], &format!("{}{KEY}", "x".repeat(before))));
    let server = Server::start(bodies.collect()).await;
    let client = Client::with(PATIENCE);
    for _ in 370..=400 {
        let text = client.ask(&access_to(CHAT, &server.base()), &QUESTION, &|_| {}).await.unwrap_err().to_string();
        assert!(text.contains("xxx") && !text.contains("sk-"), "{text}");
    }
    assert_eq!(server.requests().len(), 31);
}

#[tokio::test]
async fn ten_megabytes_are_read_and_more_than_sixteen_mebibytes_are_rejected() {
    let long = "x".repeat(10_000_000);
    let (reply, ..) = ask_at(CHAT, vec![Answer::json(&says(&long))], &QUESTION).await;
    assert_eq!(reply.unwrap().texts, [long]);
    let head = b"HTTP/1.1 200 OK\r\nconnection: close\r\n\r\n";
    let mut endless = head.to_vec();
    endless.resize(head.len() + (16 << 20) + 1, b' ');
    check(
        vec![Answer::Bytes(endless)],
        1,
        &[],
        &format!(
            "{AT}: the response has more than 16777216 bytes\n\
             hint: check that `base_url:` points to a server that speaks OpenAI Chat Completions"
        ),
    )
    .await;
}

#[tokio::test]
async fn a_redirect_is_not_followed_and_the_key_is_not_sent_elsewhere() {
    let other = Server::start(vec![done()]).await;
    for status in [301, 302, 307, 308] {
        let to = format!("{}/elsewhere?token=abc", other.base());
        let server = Server::start(vec![Answer::new(status, &[("location", &to)], "")]).await;
        let (reply, notes) = ask(&server, "", PATIENCE).await;
        assert_eq!(
            reported(&reply.unwrap_err(), &server),
            format!(
                "{AT}: HTTP {status} redirects to {}/elsewhere; redirects are not followed\n\
                 hint: set `base_url:` to the target of the redirect",
                other.base()
            )
        );
        assert_eq!((notes.len(), server.requests().len()), (0, 1));
    }
    assert_eq!(other.requests(), Vec::<Request>::new());
}

#[tokio::test]
async fn a_query_in_the_address_is_sent_and_not_shown() {
    let server = Server::start(vec![Answer::new(400, &[], "no")]).await;
    let (reply, _) = ask(&server, "/v1/?api-version=preview", PATIENCE).await;
    assert_eq!(
        reported(&reply.unwrap_err(), &server),
        "model `demo` at http://server/v1/chat/completions: HTTP 400: no\n\
         hint: the provider rejected the request; fix what it names"
    );
    assert_eq!(server.requests()[0].line, "POST /v1/chat/completions?api-version=preview");
}

#[tokio::test]
async fn the_same_request_is_the_same_bytes() {
    let tools = super::tools();
    for spoken in ALL {
        let question = ModelRequest { system: Some("Be brief."), tools: tools.offered(), ..QUESTION };
        let mut bytes = Vec::new();
        for _ in 0..2 {
            // This answer is not read, which does not affect the request.
            let (_, requests, _) = ask_at(spoken, vec![Answer::json(&json!({}))], &question).await;
            bytes.push(requests[0].bytes.clone());
        }
        assert_eq!(bytes[0], bytes[1]);
    }
}
