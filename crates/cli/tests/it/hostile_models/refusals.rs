//! Answers without success: hostile bodies, waits without sense, and places where the key must not go.

use super::super::models::dialect::Dialect;
use super::super::models::provider::{Answer, Loopback, Rest};
use super::{CLOSES, KEY, Scene, WIRES, err, out};

const REFUSED: &str = "hint: the provider rejected the request; fix what it names";

#[track_caller]
fn refused(status: u16, headers: &'static str, body: Vec<u8>) -> Scene {
    Scene::record(CLOSES, move |_| Answer::status(status, headers, body.clone()))
}

#[test]
fn a_page_with_escapes_is_shown_as_text() {
    let page = "<html>\u{1b}[2J\u{1b}]0;owned\u{7}\r\n<b>\u{202e}no\u{2066}</b>\0</html>".as_bytes().to_vec();
    refused(400, "content-type: text/html\r\n", page).check(
        2,
        &format!("error[request-rejected]: AT HTTP 400: <html> [2J ]0;owned <b>\\u{{202e}}no\\u{{2066}}</b> </html>\n{REFUSED}"),
    );
    refused(400, "", b"\xff\xfe{\"error\":".to_vec())
        .check(2, &format!("error[request-rejected]: AT HTTP 400: \u{fffd}\u{fffd}{{\"error\":\n{REFUSED}"));
    refused(418, "", br#"{"error":{"message":{"a":["b"]}}}"#.to_vec()).check(
        2,
        &format!("error[request-rejected]: AT HTTP 418: {{\"error\":{{\"message\":{{\"a\":[\"b\"]}}}}}}\n{REFUSED}"),
    );
}

#[test]
fn an_endless_error_response_is_read_in_part() {
    let scene = Scene::record(CLOSES, |_| Answer::status(400, "", vec![b'x'; 1 << 20]).then(Rest::Endless));
    scene.check(2, &format!("error[request-rejected]: AT HTTP 400: {}…\n{REFUSED}", "x".repeat(400)));
}

#[test]
fn no_part_of_a_key_is_shown_where_a_message_is_cut() {
    // All that is before the key is left out, and what is behind it is not read.
    for shown in [6, 12] {
        let body = format!("{}{}", " ".repeat((64 << 10) - shown), KEY.repeat(1000));
        let scene = refused(400, "", body.into_bytes());
        scene.check(2, &format!("error[request-rejected]: AT HTTP 400\n{REFUSED}"));
    }
    let scene = refused(400, "", format!("bad key {KEY}").into_bytes());
    scene.check(2, &format!("error[request-rejected]: AT HTTP 400: bad key [redacted:MODEL_KEY]\n{REFUSED}"));
}

#[test]
fn a_retry_delay_of_a_year_is_not_waited_for_and_a_negative_one_is_ignored() {
    let hint = "hint: try again later, or with fewer runs at once (`--jobs 1`)";
    let scene = refused(429, "retry-after: 31536000\r\n", Vec::new());
    scene.check(
        2,
        &format!("error[model-overloaded]: AT HTTP 429; it asks to wait 31536000 s, and the limit is 60 s\n{hint}"),
    );
    assert_eq!(scene.server.requests().len(), 4);
    let headers = "retry-after: -1\r\n";
    let scene = Scene::play(CLOSES, move |dialect, _| {
        // One of them is busy: waiting is what takes time here.
        match dialect {
            Dialect::Chat => Answer::status(429, headers, ""),
            _ => super::closing(dialect, 0),
        }
    });
    // It stays busy, and was called four times with the default delays.
    let expected = format!("error[model-overloaded]: AT HTTP 429 (4 attempts)\n{hint}");
    assert_eq!(scene.verdict("chat"), expected, "{headers}");
    let notes = ["0.5", "1", "2"].iter().zip(2..);
    let note = |(wait, at): (&&str, i32)| {
        format!("note: hostile [chat]: chat: HTTP 429; retrying in {wait} s (attempt {at} of 4)\n")
    };
    let reported = err(&scene.output);
    let reported: String = reported.split_inclusive('\n').filter(|line| line.starts_with("note: ")).collect();
    assert_eq!(reported, notes.map(note).collect::<Vec<_>>().concat());
    scene.check_rest(2);
}

#[test]
fn a_redirect_of_a_server_is_not_followed_and_the_key_is_not_sent_elsewhere() {
    let elsewhere = Loopback::start(|_, _| Answer::status(200, "", "{}"));
    let to = elsewhere.base();
    let scene =
        Scene::record(CLOSES, move |_| Answer::status(307, format!("location: {to}/v1/messages?key=1\r\n"), ""));
    for (model, ..) in WIRES {
        let expected = format!(
            "error[model-redirect]: AT HTTP 307 redirects to {}/v1/messages; redirects are not followed\nhint: set `base_url:` to the target of the redirect",
            elsewhere.base()
        );
        assert_eq!(scene.verdict(model), expected);
    }
    scene.check_rest(2);
    assert_eq!(elsewhere.requests().len(), 0, "{}", out(&scene.output));
    assert_eq!(scene.server.requests().len(), 4);
}
