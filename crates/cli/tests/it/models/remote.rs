//! Remote servers: the mock over HTTP, in its own process, in both eras of the protocol.

use std::io::{BufRead, BufReader};
use std::process::{Child, Stdio};
use std::sync::mpsc;
use std::thread;

use serde_json::{Value, json};

use super::{DONE, LAST, LIMIT, MOCK, TOOLS, cassette, claude, conversation, report, rows, run, suite, test, world};
use crate::Folder;

/// The mock over HTTP. It is ended with the test.
pub(crate) struct Remote {
    pub(crate) child: Child,
    pub(crate) url: String,
}

impl Remote {
    pub(crate) fn start(here: &Folder) -> Self {
        let mut command = here.command(&["mock", "--tools-from", "tools.yml", "--http", "0"]);
        // Its input stays open, because its end would be the end of the server.
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let output = child.stdout.take().unwrap();
        let mut remote = Self { child, url: String::new() };
        let (send, receive) = mpsc::channel();
        thread::spawn(move || {
            let mut line = String::new();
            let read = BufReader::new(output).read_line(&mut line);
            send.send(read.map(|_| line))
        });
        receive.recv_timeout(LIMIT).unwrap().unwrap().trim().clone_into(&mut remote.url);
        assert!(remote.url.starts_with("http://127.0.0.1:"), "{}", remote.url);
        remote
    }
}

impl Drop for Remote {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The trace without the time things took.
fn timeless(mut cassette: Value) -> Value {
    let mut trace = cassette["trace"].take();
    for result in trace["tool_results"].as_array_mut().unwrap() {
        result.as_object_mut().unwrap().remove("duration_ms");
    }
    trace["conversation"].as_object_mut().unwrap().remove("duration_ms");
    trace
}

#[test]
fn a_remote_server_in_either_era_gives_the_same_trace_as_a_local_one() {
    let models = conversation();
    let record = |server: &str| {
        let here =
            world(&suite(server, &[claude("claude", &models, "")], &[test("t", &format!("model: claude, {DONE}"))]));
        let (code, reported) = report(&here, &["--record"]);
        assert_eq!((code, rows(&reported)), (Some(0), vec!["t: pass".to_owned()]), "{server}: {reported}");
        (cassette(&here, "t/claude/1.json"), here)
    };
    let (local, _) = record(MOCK);
    let home = Folder::with(&[("tools.yml", TOOLS)]);
    let remote = Remote::start(&home);
    for (protocol, era) in [("legacy", "2025-11-25"), ("modern", "2026-07-28"), ("auto", "2026-07-28")] {
        let (kept, here) = record(&format!("url: \"{}\", protocol: {protocol}", remote.url));
        let observed = &kept["observed"]["servers"]["desk"];
        assert_eq!(observed["protocol"], era, "{protocol}");
        assert_eq!(observed["tools"], local["observed"]["servers"]["desk"]["tools"], "{protocol}");
        let names: Vec<&Value> = observed["tools"].as_array().unwrap().iter().map(|tool| &tool["name"]).collect();
        assert_eq!(names, ["search", "get_invoice", "refund"], "{protocol}");
        let failed = json!({ "kind": "tool", "message": "the bank is closed" });
        assert_eq!(kept["trace"]["tool_results"][1]["error"], failed, "{protocol}");
        assert_eq!(timeless(kept), timeless(local.clone()), "{protocol}");
        // The replay needs neither the model nor the server.
        let (code, reported) = report(&here, &[]);
        assert_eq!((code, &reported["suites"][0]["rows"][0]["trace"]["final_response"]), (Some(0), &json!(LAST)));
    }
    drop(remote);
}

#[test]
fn an_unreachable_server_fails_a_live_run_and_not_a_replay() {
    let models = conversation();
    let home = Folder::with(&[("tools.yml", TOOLS)]);
    let remote = Remote::start(&home);
    let server = format!("url: \"{}\"", remote.url);
    let here =
        world(&suite(&server, &[claude("claude", &models, "")], &[test("t", &format!("model: claude, {DONE}"))]));
    assert_eq!(report(&here, &["--record"]).0, Some(0));
    drop(remote);
    assert_eq!(run(&here, &["--live"]).status.code(), Some(2));
    assert_eq!(run(&here, &[]).status.code(), Some(0));
}
