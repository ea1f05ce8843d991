//! The file of a ledger: what is written is read back, and anything else is refused with its line.

use std::collections::BTreeMap;

use mcptest_core::ledger::{
    Blobs, Body, End, Entry, Event, FaultHit, Interface, Ledger, Mcp, Message, ProgramEnd, Request, Response, Side,
    Unread, What, WhyUnread, trace,
};
use mcptest_core::trace::{FaultEffect, FaultKind, ProgramFault};
use proptest::prelude::*;
use serde_json::{Value, json};

fn value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        ".{0,6}".prop_map(Value::from),
    ];
    leaf.prop_recursive(3, 12, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::btree_map("[a-c]{1,2}", inner, 0..4).prop_map(|map| json!(map)),
        ]
    })
}

fn unread() -> impl Strategy<Value = Unread> {
    let why = prop_oneof![
        Just(WhyUnread::TooLarge),
        ".{0,3}".prop_map(WhyUnread::Encoding),
        ".{0,3}".prop_map(WhyUnread::Malformed),
    ];
    (why, any::<u64>(), "[0-9a-f]{4}").prop_map(|(why, bytes, sha256)| Unread { why, bytes, sha256 })
}

fn message() -> impl Strategy<Value = Message> {
    prop_oneof![
        value().prop_map(Message::Json),
        unread().prop_map(Message::Unread),
        any::<u16>().prop_map(Message::Status),
        ".{0,5}".prop_map(Message::End),
    ]
}

/// A body before its repeated parts are taken out.
#[derive(Debug, Clone)]
enum Sent {
    Json(Value),
    Other(Body),
}

fn sent() -> impl Strategy<Value = Sent> {
    let event = (prop::option::of("[a-z]{1,3}"), value()).prop_map(|(name, data)| Event { name, data });
    prop_oneof![
        4 => (prop::collection::vec(0_u8..4, 0..6), value(), 0_u8..3).prop_map(|(messages, tools, system)| {
            Sent::Json(json!({ "messages": messages, "tools": [tools], "system": system, "model": "m" }))
        }),
        1 => value().prop_map(Sent::Json),
        1 => Just(Sent::Other(Body::Empty)),
        1 => ".{0,5}".prop_map(|text| Sent::Other(Body::Text(text))),
        1 => unread().prop_map(|unread| Sent::Other(Body::Unread(unread))),
        1 => prop::collection::vec(event, 0..3).prop_map(|events| Sent::Other(Body::Events(events))),
    ]
}

fn end() -> impl Strategy<Value = End> {
    prop_oneof![Just(End::Complete), Just(End::Program), ".{0,4}".prop_map(End::Upstream)]
}

#[derive(Debug, Clone)]
enum Step {
    /// Whether the program sent it, whether it answers, its status, and whether a fault hit it.
    Mcp(Message, bool, bool, Option<u16>, bool),
    /// Also whether a fault hit it.
    Exchange(Sent, Option<(Sent, End, Option<u16>)>, bool),
}

fn fault_hit(kind: FaultKind, seq: u64) -> FaultHit {
    let fault = ProgramFault { duration_ms: seq * 7, effect: FaultEffect::Delay, kind, ms: seq, name: "f".to_owned() };
    FaultHit { fault, seq }
}

fn ledger() -> impl Strategy<Value = Ledger> {
    let mcp = (message(), any::<bool>(), any::<bool>(), prop::option::of(any::<u16>()), any::<bool>())
        .prop_map(|(message, own, reply, status, is_hit)| Step::Mcp(message, own, reply, status, is_hit));
    let response = prop::option::of((sent(), end(), prop::option::of(any::<u16>())));
    let exchange = (sent(), response, any::<bool>())
        .prop_map(|(request, response, is_hit)| Step::Exchange(request, response, is_hit));
    prop::collection::vec(prop_oneof![mcp, exchange], 0..8).prop_map(|steps| {
        let mut out = Ledger { servers: vec!["shop".to_owned()], ..Ledger::default() };
        let (mut exchanges, mut last) = (0, None);
        let body = |sent, blobs: &mut Blobs| match sent {
            Sent::Json(value) => Body::json(value, Some(Interface::Anthropic), blobs),
            Sent::Other(body) => body,
        };
        for step in steps {
            let seq = out.entries.len() as u64;
            let add = |what, entries: &mut Vec<Entry>| {
                let seq = entries.len() as u64;
                entries.push(Entry { seq, ms: seq * 3, what });
            };
            match step {
                Step::Mcp(message, is_own, is_reply, status, is_hit) => {
                    let from = if is_own { Side::Program } else { Side::Server };
                    let reply_to = if is_reply { last } else { None };
                    let mcp = Mcp { server: "shop".to_owned(), connection: 0, from, message, reply_to, status };
                    add(What::Mcp(mcp), &mut out.entries);
                    last = if is_own { Some(seq) } else { last };
                    out.fault_hits.extend((is_own && is_hit).then(|| fault_hit(FaultKind::Slow, seq)));
                }
                Step::Exchange(request, response, is_hit) => {
                    out.fault_hits.extend(is_hit.then(|| fault_hit(FaultKind::ModelCut, seq)));
                    let body_of = body(request, &mut out.blobs);
                    let request = Request {
                        exchange: exchanges,
                        interface: Some(Interface::Anthropic),
                        method: "POST".to_owned(),
                        path: "/v1/messages".to_owned(),
                        query: Some("beta=true".to_owned()),
                        body: body_of,
                    };
                    add(What::Request(request), &mut out.entries);
                    if let Some((sent, end, status)) = response {
                        let headers = BTreeMap::from([("retry-after".to_owned(), "1".to_owned())]);
                        let body = body(sent, &mut out.blobs);
                        let response = Response { exchange: exchanges, first_ms: 1, status, headers, body, end };
                        add(What::Response(response), &mut out.entries);
                    }
                    exchanges += 1;
                }
            }
        }
        out
    })
}

proptest! {
    #[test]
    fn a_written_ledger_is_read_back(ledger in ledger()) {
        let lines = ledger.to_lines();
        let read = Ledger::read(&lines).unwrap();
        prop_assert_eq!(&read.entries, &ledger.entries, "{}", lines);
        prop_assert_eq!(&read.fault_hits, &ledger.fault_hits, "{}", lines);
        prop_assert_eq!(read.to_lines(), lines);
        // Any traffic gives a trace.
        prop_assert_eq!(trace(&read, ProgramEnd::default()), trace(&ledger, ProgramEnd::default()));
    }
}

/// A conversation of this many requests. Each repeats the previous messages.
fn conversation(requests: usize) -> Ledger {
    let mut out = Ledger::default();
    for exchange in 0..requests {
        let messages: Vec<Value> = (0..=2 * exchange).map(|at| json!({ "role": "user", "content": at })).collect();
        let body = json!({ "model": "m", "messages": messages, "tools": [{ "name": "a" }] });
        let body = Body::json(body, Some(Interface::OpenaiChat), &mut out.blobs);
        let (method, path) = ("POST".to_owned(), "/v1/chat/completions".to_owned());
        let interface = Some(Interface::OpenaiChat);
        let what = What::Request(Request { exchange: exchange as u64, interface, method, path, query: None, body });
        out.entries.push(Entry { seq: exchange as u64, ms: 0, what });
    }
    out
}

#[test]
fn a_file_grows_with_the_conversation_and_not_with_its_square() {
    let (short, long) = (conversation(20).to_lines().len(), conversation(200).to_lines().len());
    assert!(long < short * 11, "{short} bytes for 20 requests, {long} for 200");
    assert_eq!(Ledger::read(&conversation(20).to_lines()).unwrap(), conversation(20));
}

fn refused(text: &str) -> (usize, String) {
    let error = Ledger::read(text).unwrap_err();
    (error.place, error.message)
}

#[test]
fn a_file_that_is_not_a_ledger_is_refused_with_the_line() {
    let value = "\"x\"";
    let hash = mcptest_core::redact::hash(value.as_bytes());
    let head = "{\"mcptest_ledger\":1,\"servers\":[\"shop\"]}\n";
    let blob = format!("{{\"blob\":\"{hash}\",\"value\":{value}}}\n");
    let mcp = |seq: u64, rest: &str| {
        format!(
            "{{\"mcp\":{{\"connection\":0,\"from\":\"program\",\"message\":{{\"status\":202}},\"server\":\"shop\"{rest}}},\"ms\":0,\"seq\":{seq}}}\n"
        )
    };
    let request = |exchange: u64, parts: &str| {
        format!(
            "{{\"ms\":0,\"request\":{{\"body\":{{\"json\":{{}},\"parts\":{{\"tools\":{parts}}}}},\"exchange\":{exchange},\"method\":\"POST\",\"path\":\"/\"}},\"seq\":{exchange}}}\n"
        )
    };
    let response = "{\"ms\":0,\"response\":{\"exchange\":0,\"first_ms\":0,\"headers\":{}},\"seq\":7}\n";
    let fault = |seq: u64| {
        format!(
            "{{\"fault\":{{\"duration_ms\":1,\"effect\":\"delay\",\"kind\":\"slow\",\"ms\":0,\"name\":\"f\"}},\"seq\":{seq}}}\n"
        )
    };
    assert_eq!(Ledger::read(&format!("{head}{}{}", mcp(0, ""), fault(0))).unwrap().fault_hits.len(), 1);
    let cases: Vec<(String, usize, String)> = vec![
        (String::new(), 1, "the file is empty".into()),
        ("{}\n".into(), 1, "the first line must have `mcptest_ledger` and `servers`".into()),
        ("{\"mcptest_ledger\":3}\n".into(), 1, "it has version 3 of the format, and this mcptest reads 1 to 2".into()),
        ("{\"mcptest_ledger\":0}\n".into(), 1, "it has version 0 of the format, and this mcptest reads 1 to 2".into()),
        (format!("{head}\n"), 2, "column 0: EOF while parsing a value".into()),
        (format!("{head}{{\"a\":1,\"a\":2}}\n"), 2, "column 10: duplicate key \"a\"".into()),
        (format!("{head}{{\"sec\":1}}\n"), 2, "column 1: unknown field `sec`, expected one of `mcptest_ledger`, `servers`, `blob`, `value`, `seq`, `ms`, `mcp`, `request`, `response`, `fault`".into()),
        (format!("{head}{{\"seq\":1,\"ms\":0}}\n"), 2, "an entry must have one of `mcp`, `request` and `response`".into()),
        (format!("{head}{}{}", mcp(3, ""), mcp(3, "")), 3, "`seq` must increase, but 3 comes after 3".into()),
        (format!("{head}{}", mcp(0, ",\"reply_to\":4")), 2, "`reply_to` must be the `seq` of an earlier message of the program, found 4".into()),
        (format!("{head}{}", fault(0)), 2, "the fault `f` cannot hit entry 0".into()),
        (format!("{head}{}{}", request(0, "[]"), fault(0)), 3, "the fault `f` cannot hit entry 0".into()),
        (format!("{head}{}{}", mcp(0, ""), fault(0).replace(",\"seq\":0", "")), 3, "a line must have `blob` and `value`, or `fault` and `seq`, or be an entry".into()),
        (format!("{head}{blob}"), 2, format!("no entry refers to the value {hash}")),
        (format!("{head}{blob}{blob}"), 3, format!("the value {hash} is there twice")),
        (format!("{head}{}", blob.replace("\"x\"", "\"y\"")), 2, format!("the value has the hash {}, but the line says {hash}", mcptest_core::redact::hash(b"\"y\""))),
        (format!("{head}{}", request(0, &format!("[\"{hash}\"]"))), 2, format!("`parts.tools`: there is no value {hash} before this line")),
        (format!("{head}{}", request(0, "{\"exchange\":5,\"first\":1,\"then\":[]}")), 2, "`parts.tools`: exchange 5 has no list of at least 1 under this key".into()),
        (format!("{head}{}{}", request(0, "[]"), request(1, "{\"exchange\":0,\"first\":1,\"then\":[]}")), 3, "`parts.tools`: exchange 0 has no list of at least 1 under this key".into()),
        (format!("{head}{response}"), 2, "there is no request of exchange 0".into()),
        (format!("{head}{}{response}{}", request(0, "[]"), response.replace(":7", ":8")), 4, "the response of exchange 0 is there twice".into()),
        (format!("{head}{}", mcp(0, "").replace("\"shop\"", "\"mail\"")), 2, "the server \"mail\" is not among `servers` of the first line".into()),
        (format!("{head}{}", mcp(0, "").replace("{\"status\":202}", "{\"status\":202,\"end\":\"x\"}")), 2, "`message` must have one of `json`, `unread`, `status` and `end`".into()),
        (format!("{head}{}", &mcp(0, "")[..40]), 2, "column 40: EOF while parsing a value".into()),
    ];
    for (text, line, message) in cases {
        assert_eq!(refused(&text), (line, message), "{text}");
    }
}
