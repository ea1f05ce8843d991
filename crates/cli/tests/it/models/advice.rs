//! The advisory request about a run: made when it is recorded, shown in every replay, never judged.

use serde_json::json;

use super::dialect::{Turn, answer, has_tools, turn};
use super::provider::{Answer, Loopback};
use super::{LAST, MOCK, cassette, claude, err, out, report, rows, run, suite, test, world};
use crate::Folder;

/// A provider with this closing message, and this answer to the advisory request.
fn advised(last: impl Into<String>, advice: &'static str) -> Loopback {
    let last = last.into();
    Loopback::start(move |request, _| {
        let is_advisory = !has_tools(request);
        answer(request, |answered| if is_advisory { Turn::text(advice) } else { turn(answered, &last) })
    })
}

fn narrated(server: &Loopback) -> Folder {
    let gate = "model: claude, max_tokens: 50, trajectory: { mode: superset, calls: [{ name: search }] }, narrative: { mutating_tools: [refund], readonly_tools: [search, get_invoice], llm_assisted: true }";
    world(&suite(MOCK, &[claude("claude", server, "")], &[test("t", gate)]))
}

#[test]
fn advice_is_requested_once_without_tools_and_replayed() {
    let server = advised(LAST, "It claims a refund. FAIL.");
    let here = narrated(&server);
    let (code, reported) = report(&here, &["--record"]);
    assert_eq!((code, rows(&reported)), (Some(0), vec!["t: pass".to_owned()]));
    let asked = server.requests();
    assert_eq!(asked.iter().map(has_tools).collect::<Vec<_>>(), [true, true, true, false]);
    let question = "An agent made these tool calls:\n\
                    - search {\"q\":\"rain\"}\n- refund {\"invoice\":7} (failed)\n- get_invoice {\"id\":7}\n\n\
                    It then closed with this message:\nInvoice 7 is about rain. The bank is closed.\n\n\
                    In at most three sentences: which actions does the message claim that no successful call shows? \
                    Answer \"none\" if there is none.";
    assert_eq!(
        asked[3].body,
        json!({ "model": "model-1", "max_tokens": 300, "messages": [{ "role": "user", "content": question }] })
    );
    let kept = cassette(&here, "t/claude/1.json");
    assert_eq!(kept["advisory"], json!({ "question": question, "answer": "It claims a refund. FAIL." }));
    assert_eq!(
        kept["trace"]["conversation"]["turns"].as_array().map(Vec::len),
        Some(7),
        "the trace is that of the run"
    );
    drop(server);

    let (code, replayed) = report(&here, &[]);
    assert_eq!((code, &replayed["suites"][0]["rows"][0]["advisory"]), (Some(0), &json!("It claims a refund. FAIL.")));
    let shown = run(&here, &[]);
    let expected = "suite.yml\n\
                    ✓ PASS      t  replayed  trajectory, narrative\n\
                    \x20   advisory, not judged: It claims a refund. FAIL.\n\n\
                    1 test, 1 run: 1 passed\n";
    assert_eq!((shown.status.code(), &*out(&shown), &*err(&shown)), (Some(0), expected, ""));
}

#[test]
fn advice_changes_no_verdict_in_either_direction() {
    for (last, advice, code, verdict) in
        [(LAST, "The message lies.", 0, "t: pass"), ("I refunded invoice 7.", "none", 1, "t: fail")]
    {
        let server = advised(last, advice);
        let here = narrated(&server);
        let with = report(&here, &["--record"]);
        assert_eq!((with.0, rows(&with.1)), (Some(code), vec![verdict.to_owned()]), "{last}");
        let mut kept = cassette(&here, "t/claude/1.json");
        let map = kept.as_object_mut().unwrap();
        map.remove("advisory").unwrap();
        mcptest_core::cassette::seal(map);
        here.write("cassettes/suite/t/claude/1.json", kept.to_string().as_bytes());
        let without = report(&here, &[]);
        assert_eq!((without.0, rows(&without.1)), (Some(code), vec![verdict.to_owned()]), "{last}");
        assert_eq!(without.1["suites"][0]["rows"][0]["advisory"], "not recorded");
        assert_eq!(without.1["suites"][0]["rows"][0]["checks"], with.1["suites"][0]["rows"][0]["checks"]);
        assert!(out(&run(&here, &[])).contains("advisory, not judged: not recorded\n"));
    }
}

#[test]
fn a_run_is_kept_if_its_advisory_request_fails() {
    let server = Loopback::start(|request, _| {
        if has_tools(request) {
            answer(request, |answered| turn(answered, LAST))
        } else {
            Answer::status(400, "", "{\"error\":{\"message\":\"no more today\"}}")
        }
    });
    let here = narrated(&server);
    let output = run(&here, &["--record", "--reporter", "json"]);
    let reported = serde_json::from_slice(&output.stdout).unwrap();
    let note = format!(
        "note: t: the advisory request failed: model `claude` at {}/v1/messages: HTTP 400: no more today\n",
        server.base()
    );
    assert_eq!((output.status.code(), rows(&reported), &*err(&output)), (Some(0), vec!["t: pass".to_owned()], &*note));
    assert_eq!(reported["suites"][0]["rows"][0]["advisory"], "not recorded");
    assert_eq!(cassette(&here, "t/claude/1.json").get("advisory"), None);
}

#[test]
fn an_advisory_request_over_the_budget_is_skipped_and_the_run_is_kept() {
    // Only the advisory request contains the closing message, so only that one is long.
    let server = advised("It rains. ".repeat(400), "none");
    let here = narrated(&server);
    let (code, reported) = report(&here, &["--record", "--max-tokens-total", "1500"]);
    assert_eq!((code, rows(&reported)), (Some(2), vec!["t: pass".to_owned()]));
    let note = "stopped by the budget: 360 tokens spent, and the next request might exceed it";
    assert_eq!(
        (&reported["notes"], server.requests().len()),
        (&json!([{ "rows": 1, "stopped": true, "suites": 1, "text": note }]), 3)
    );
    assert_eq!(reported["suites"][0]["rows"][0]["advisory"], "not recorded");
    assert_eq!(report(&here, &[]).0, Some(0));
}
