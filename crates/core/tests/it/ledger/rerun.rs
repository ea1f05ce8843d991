//! A program that runs again: what is recognized, what is a divergence, and the message about it.

use mcptest_core::ledger::rerun::{Ignore, McpEnd, ModelAnswer, Rerun, RerunRequest, Step};
use mcptest_core::ledger::{Body, End, Entry, Interface, Ledger, Mcp, Message, Part, Request, Response, Side, What};
use mcptest_core::redact::Redactor;
use proptest::prelude::*;
use serde_json::{Value, json};

use super::derive::{Tape, assistant, tool, user};

/// A question, a call of `find`, a call of `refund`, and the end.
fn recorded() -> Ledger {
    let mut tape = Tape::new();
    let find = ("c1", "shop__find", json!({ "order": 7 }));
    let refund = ("c2", "shop__refund", json!({ "order": 7, "cents": 250 }));
    let first = vec![user("refund order 7")];
    let second = [first.clone(), vec![assistant(None, std::slice::from_ref(&find)), tool("c1", "2.50")]].concat();
    let third = [second.clone(), vec![assistant(None, std::slice::from_ref(&refund)), tool("c2", "ok")]].concat();
    tape.ask(json!(first)).says(None, &[find]);
    tape.call(1, "find", json!({ "order": 7 })).answer(1, "2.50");
    tape.ask(json!(second)).says(None, &[refund]);
    tape.call(2, "refund", json!({ "order": 7, "cents": 250 })).answer(2, "ok");
    tape.ask(json!(third)).says(Some("It is refunded."), &[]);
    tape.ledger
}

fn rerun(ledger: &Ledger) -> Rerun {
    Rerun::new(ledger.clone(), Vec::new())
}

/// A request as a proxy sees it.
fn whole(ledger: &Ledger, request: &Request) -> Request {
    let Body::Json { rest, parts } = &request.body else { return request.clone() };
    let mut body = rest.clone();
    for (key, part) in parts {
        body[key] = match part {
            Part::One(blob) => ledger.blobs.get(*blob).clone(),
            Part::List(list) => list.iter().map(|blob| ledger.blobs.get(*blob).clone()).collect(),
        };
    }
    Request { body: plain(body), ..request.clone() }
}

fn plain(value: Value) -> Body {
    Body::Json { rest: value, parts: std::collections::BTreeMap::new() }
}

/// What happens to a request: `ok`, `early` or `diverged`.
fn outcome(step: &Step<'_>) -> &'static str {
    match step {
        Step::Model(_) | Step::Mcp(_) => "ok",
        Step::Early => "early",
        Step::Diverged => "diverged",
    }
}

/// Sends what a ledger has, after `edit`, until something else than an answer comes.
fn play(rerun: &mut Rerun, ledger: &Ledger, mut edit: impl FnMut(&mut Value) -> bool) -> Option<&'static str> {
    for entry in &ledger.entries {
        let asked: Option<RerunRequest> = match &entry.what {
            What::Request(request) => {
                let mut request = whole(ledger, request);
                if let Body::Json { rest, .. } = &mut request.body
                    && !edit(rest)
                {
                    continue;
                }
                Some(rerun.model(request))
            }
            What::Mcp(Mcp { from: Side::Program, message: Message::Json(message), .. }) => {
                let mut message = message.clone();
                if !edit(&mut message) {
                    continue;
                }
                let asked = rerun.mcp("shop", &message);
                if asked.is_none() {
                    rerun.other("shop", &message);
                }
                asked
            }
            _ => None,
        };
        if let Some(asked) = asked {
            let step = outcome(&rerun.take(&asked));
            if step == "early" {
                rerun.give_up(&asked);
            }
            if step != "ok" {
                return Some(step);
            }
        }
    }
    None
}

fn diverged(ledger: &Ledger, edit: impl FnMut(&mut Value) -> bool) -> String {
    let mut rerun = rerun(ledger);
    play(&mut rerun, ledger, edit);
    rerun.finish();
    rerun.diverged().unwrap_or("nothing").to_owned()
}

#[test]
fn the_same_requests_are_all_answered_and_happened_as_recorded() {
    let ledger = recorded();
    let mut rerun = rerun(&ledger);
    // Ids and what clients put into `_meta` are not compared.
    let mut next = 100;
    let edit = |message: &mut Value| {
        if message.get("method").is_some() {
            next += 1;
            message["id"] = json!(next);
            message["params"]["_meta"] = json!({ "progressToken": next });
        }
        true
    };
    assert_eq!(play(&mut rerun, &ledger, edit), None);
    assert_eq!((rerun.finish(), rerun.diverged()), (Vec::new(), None));
    assert_eq!(rerun.happened(None), ledger);
}

#[test]
fn a_renamed_argument_is_reported_with_its_path() {
    let message = diverged(&recorded(), |message| {
        if let Some(Value::Object(args)) = message.pointer_mut("/params/arguments")
            && let Some(cents) = args.remove("cents")
        {
            args.insert("amount".to_owned(), cents);
        }
        true
    });
    let expected = "`tools/call refund` of server `shop` is not what was recorded\n\
                    /arguments/cents is now /arguments/amount, with the same value";
    assert_eq!(message, expected);
}

#[test]
fn a_changed_prompt_is_reported_with_both_texts() {
    let message = diverged(&recorded(), |message| {
        if let Some(text) = message.pointer_mut("/messages/0/content") {
            *text = json!("refund order 8");
        }
        true
    });
    let expected = "model request 1 of 3 (POST /v1/x) is not what was recorded\n\
                    first difference: /messages/0/content\n  \
                    recorded: \"refund order 7\"\n  now:      \"refund order 8\"";
    assert_eq!(message, expected);
}

#[test]
fn a_missing_request_is_a_divergence() {
    let is_refund = |message: &Value| message.pointer("/params/name") == Some(&json!("refund"));
    // The last request is held back, and what is missing never comes.
    assert_eq!(
        diverged(&recorded(), |message| !is_refund(message)),
        "model request 3 of 3 (POST /v1/x) came before `tools/call refund` of server `shop`; in the recording it came after"
    );
    let is_last = |message: &Value| message.get("messages").is_some_and(|all| all.as_array().unwrap().len() == 5);
    assert_eq!(
        diverged(&recorded(), |message| !is_last(message)),
        "model request 3 of 3 (POST /v1/x) was recorded, and the program no longer makes it"
    );
    let message = diverged(&recorded(), |_| false);
    let expected =
        "the program no longer makes 5 recorded requests, the first of them model request 1 of 3 (POST /v1/x)";
    assert_eq!(message, expected);
}

#[test]
fn a_request_that_is_repeated_too_often_is_a_divergence() {
    let ledger = recorded();
    let mut rerun = rerun(&ledger);
    assert_eq!(play(&mut rerun, &ledger, |_| true), None);
    let call = json!({ "id": 9, "method": "tools/call", "params": { "name": "find", "arguments": { "order": 7 } } });
    let asked = rerun.mcp("shop", &call).unwrap();
    assert_eq!(outcome(&rerun.take(&asked)), "diverged");
    let message = "`tools/call find` of server `shop` was made once more than in the recording, where it was made once";
    assert_eq!(rerun.diverged(), Some(message));
    // The first reason stays.
    assert_eq!(play(&mut rerun, &ledger, |_| true), Some("diverged"));
    assert_eq!(rerun.diverged(), Some(message));
}

#[test]
fn equal_requests_are_answered_in_recorded_order() {
    let mut tape = Tape::new();
    let body = json!([user("hello")]);
    tape.ask(body.clone());
    let overloaded = Response {
        exchange: 0,
        first_ms: 0,
        status: Some(529),
        headers: std::collections::BTreeMap::new(),
        body: Body::Empty,
        end: End::Complete,
    };
    tape.enter(What::Response(overloaded));
    tape.ask(body).says(Some("Hi."), &[]);
    let ledger = tape.ledger;
    let mut all = rerun(&ledger);
    let requests: Vec<Request> = ledger
        .entries
        .iter()
        .filter_map(|entry| match &entry.what {
            What::Request(request) => Some(whole(&ledger, request)),
            _ => None,
        })
        .collect();
    let mut statuses = Vec::new();
    for request in &requests {
        let asked = all.model(request.clone());
        match all.take(&asked) {
            Step::Model(ModelAnswer { response: Some(response), .. }) => statuses.push(response.status),
            other => panic!("{other:?}"),
        }
    }
    assert_eq!(statuses, [Some(529), Some(200)]);
    // A program that no longer tries again.
    let mut once = rerun(&ledger);
    let asked = once.model(requests[0].clone());
    once.take(&asked);
    once.finish();
    let message = "model request 2 of 2 (POST /v1/x) was recorded, and the program no longer makes it\n\
                it was recorded as a retry: HTTP status 529 answered the same request before it";
    assert_eq!(once.diverged(), Some(message));
}

#[test]
fn questions_on_the_side_may_be_missing() {
    let mut tape = Tape::new();
    tape.ask_with(Interface::OpenaiChat, json!({ "model": "small", "messages": [user("a title for this")] }));
    tape.says(Some("Refunds"), &[]);
    tape.ask(json!([user("hello")])).says(Some("Hi."), &[]);
    let ledger = tape.ledger;
    let mut rerun = rerun(&ledger);
    assert_eq!(play(&mut rerun, &ledger, |message| message.get("model") != Some(&json!("small"))), None);
    assert_eq!(rerun.finish(), ["the program no longer makes one recorded request, which offered no tools"]);
    assert_eq!(rerun.diverged(), None);
    let happened = rerun.happened(None);
    assert_eq!(happened.entries.len(), ledger.entries.len() - 2);
    // RerunRequest differently, it is something else.
    let message = diverged(&ledger, |message| {
        if message.get("model") == Some(&json!("small")) {
            message["model"] = json!("large");
        }
        true
    });
    assert!(message.contains("first difference: /model\n  recorded: \"small\"\n  now:      \"large\""), "{message}");
}

#[test]
fn handshakes_and_lists_are_answered_any_number_of_times() {
    let mut rerun = rerun(&recorded());
    let list = json!({ "id": 3, "method": "tools/list" });
    for _ in 0..3 {
        let reply = rerun.other("shop", &list).unwrap();
        let McpEnd::Reply(reply) = reply.end else { panic!() };
        assert_eq!(reply["result"]["tools"][0]["name"], "refund");
    }
    let ping = rerun.other("shop", &json!({ "id": 4, "method": "ping" })).unwrap();
    assert_eq!(ping.end, McpEnd::Reply(json!({ "jsonrpc": "2.0", "result": {} })));
    assert!(matches!(
        rerun.other("shop", &json!({ "id": 5, "method": "server/discover" })).unwrap().end,
        McpEnd::Reply(reply) if reply["error"]["code"] == -32601
    ));
    assert_eq!(rerun.other("shop", &json!({ "method": "notifications/initialized" })), None);
    assert_eq!(rerun.diverged(), None);
    let page = json!({ "id": 6, "method": "tools/list", "params": { "cursor": "2" } });
    assert_eq!(rerun.other("shop", &page), None);
    assert_eq!(rerun.diverged(), Some("`tools/list` of server `shop` with {\"cursor\":\"2\"} was not recorded"));
}

#[test]
fn messages_inside_a_call_are_sent_again_and_others_in_their_session() {
    let mut tape = Tape::new();
    tape.got(json!({ "method": "notifications/tools/list_changed" }));
    tape.call(1, "find", json!({ "order": 7 }));
    let report = json!({ "method": "notifications/progress", "params": { "progressToken": 1, "progress": 0.5 } });
    let question = json!({ "id": "s1", "method": "sampling/createMessage", "params": {} });
    tape.got(report.clone()).got(question.clone());
    tape.sent(json!({ "id": "s1", "result": {} })).answer(1, "2.50");
    let mut rerun = rerun(&tape.ledger);
    assert_eq!(rerun.session("shop"), [json!({ "method": "notifications/tools/list_changed" })]);
    assert_eq!(rerun.session("shop"), Vec::<Value>::new());
    let call = json!({ "id": 8, "method": "tools/call", "params": { "name": "find", "arguments": { "order": 7 } } });
    let asked = rerun.mcp("shop", &call).unwrap();
    let Step::Mcp(reply) = rerun.take(&asked) else { panic!() };
    assert_eq!(reply.before, [report, question]);
    assert!(matches!(&reply.end, McpEnd::Reply(reply) if reply["result"]["content"][0]["text"] == "2.50"));
}

#[test]
fn ignored_parts_are_not_compared() {
    let ledger = recorded();
    let ignored = vec![
        Ignore::new("/messages/0/content", Some("order [0-9]+")).unwrap(),
        Ignore::new("/arguments/cents", None).unwrap(),
    ];
    let mut rerun = Rerun::new(ledger.clone(), ignored);
    let edit = |message: &mut Value| {
        if let Some(text) = message.pointer_mut("/messages/0/content") {
            *text = json!("refund order 8");
        }
        if let Some(cents) = message.pointer_mut("/params/arguments/cents") {
            *cents = json!(1);
        }
        true
    };
    assert_eq!(play(&mut rerun, &ledger, edit), None);
    rerun.finish();
    assert_eq!(rerun.diverged(), None);
}

#[test]
fn secrets_are_compared_by_name_and_never_shown() {
    let secret = |value: &str| Redactor::new([("SHOP_TOKEN".to_owned(), value.to_owned())]);
    let with = |value: &str| {
        let mut tape = Tape::new();
        tape.call(1, "find", json!({ "token": value })).answer(1, "2.50");
        tape.ledger
    };
    let ledger = with("opensesame-1").redacted(&secret("opensesame-1"));
    let mut same = rerun(&ledger);
    same.redact(secret("opensesame-2"));
    assert_eq!(play(&mut same, &with("opensesame-2"), |_| true), None);
    assert_eq!(same.diverged(), None);
    let mut other = rerun(&ledger);
    other.redact(secret("opensesame-2"));
    assert_eq!(play(&mut other, &with("x opensesame-2"), |_| true), Some("diverged"));
    let message = other.diverged().unwrap();
    assert!(
        message.contains("recorded: \"[redacted:SHOP_TOKEN]\"\n  now:      \"x [redacted:SHOP_TOKEN]\""),
        "{message}"
    );
}

#[test]
fn answers_of_restarted_servers_replace_the_recorded_ones() {
    let ledger = recorded();
    let mut rerun = rerun(&ledger);
    assert_eq!(play(&mut rerun, &ledger, |_| true), None);
    let mut live = Tape::new();
    live.call(70, "find", json!({ "order": 7 })).answer(70, "3.00");
    live.call(71, "refund", json!({ "order": 7, "cents": 250 })).answer(71, "ok");
    let happened = rerun.happened(Some(&live.ledger));
    let mut expected = ledger;
    for Entry { what, .. } in &mut expected.entries {
        if let What::Mcp(Mcp { message: Message::Json(message), .. }) = what
            && let Some(text) = message.pointer_mut("/result/content/0/text")
            && *text == "2.50"
        {
            *text = json!("3.00");
        }
    }
    assert_eq!(happened, expected);
}

/// Calls with the given beginnings and ends on one clock.
fn overlapping(spans: &[(u64, u64)]) -> Ledger {
    let mut events: Vec<(u64, bool, usize)> = Vec::new();
    for (at, (start, end)) in spans.iter().enumerate() {
        events.push((*start, false, at));
        events.push((*end, true, at));
    }
    events.sort_unstable();
    let mut tape = Tape::new();
    for (_, is_end, at) in events {
        let id = at as u64 + 1;
        if is_end {
            tape.answer(id, "ok");
        } else {
            tape.call(id, "find", json!({ "order": at }));
        }
    }
    tape.ledger
}

proptest! {
    /// An order is accepted if and only if no call comes before one that had been answered when it was made.
    #[test]
    fn calls_at_the_same_time_come_in_any_order(
        (spans, order) in (1_usize..7).prop_flat_map(|count| {
            let spans = proptest::collection::vec((0_u64..20, 1_u64..10), count);
            let order = Just((0..count).collect::<Vec<usize>>()).prop_shuffle();
            (spans, order)
        })
    ) {
        // All moments differ.
        let count = spans.len() as u64;
        let spans: Vec<(u64, u64)> = (0..).zip(&spans).map(|(at, (start, length))| {
            (start * 2 * count + at, (start + length) * 2 * count + count + at)
        }).collect();
        let ledger = overlapping(&spans);
        let mut rerun = rerun(&ledger);
        let mut is_accepted = true;
        for at in &order {
            let params = json!({ "name": "find", "arguments": { "order": at } });
            let asked = rerun.mcp("shop", &json!({ "id": 1, "method": "tools/call", "params": params })).unwrap();
            let step = outcome(&rerun.take(&asked));
            prop_assert_ne!(step, "diverged");
            is_accepted &= step == "ok";
            if !is_accepted {
                break;
            }
        }
        let is_allowed = order.iter().enumerate().all(|(place, at)| {
            order[place + 1..].iter().all(|later| spans[*later].1 > spans[*at].0)
        });
        prop_assert_eq!(is_accepted, is_allowed);
        if is_accepted {
            rerun.finish();
            prop_assert_eq!(rerun.diverged(), None);
        }
    }
}
