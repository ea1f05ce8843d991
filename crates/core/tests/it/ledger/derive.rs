//! Single cases of the trace of a program. Conversations by chance are in `differential/program.rs`.

use std::collections::BTreeMap;

use mcptest_core::ledger::{
    self, Body, Derived, End, Entry, Event, Interface, Ledger, Mcp, Message, ProgramEnd, Request, Response, Side,
    Unread, What, WhyUnread,
};
use mcptest_core::trace::{ErrorKind, Shown, Witness};
use serde_json::{Value, json};

pub(super) struct Tape {
    pub(super) ledger: Ledger,
    exchanges: u64,
}

impl Tape {
    /// A program that is connected to `shop`.
    pub(super) fn new() -> Self {
        let mut tape = Self { ledger: Ledger { servers: vec!["shop".to_owned()], ..Ledger::default() }, exchanges: 0 };
        tape.sent(json!({ "jsonrpc": "2.0", "id": 0, "method": "tools/list" }));
        tape.got(
            json!({ "jsonrpc": "2.0", "id": 0, "result": { "tools": [{ "name": "refund" }, { "name": "find" }] } }),
        );
        tape
    }

    pub(super) fn enter(&mut self, what: What) -> &mut Self {
        let seq = self.ledger.entries.len() as u64;
        self.ledger.entries.push(Entry { seq, ms: seq * 10, what });
        self
    }

    pub(super) fn mcp(&mut self, from: Side, message: Message) -> &mut Self {
        self.enter(What::Mcp(Mcp {
            server: "shop".to_owned(),
            connection: 0,
            from,
            message,
            reply_to: None,
            status: None,
        }))
    }

    pub(super) fn sent(&mut self, message: Value) -> &mut Self {
        self.mcp(Side::Program, Message::Json(message))
    }

    pub(super) fn got(&mut self, message: Value) -> &mut Self {
        self.mcp(Side::Server, Message::Json(message))
    }

    pub(super) fn call(&mut self, id: u64, tool: &str, args: Value) -> &mut Self {
        let params = json!({ "name": tool, "arguments": args });
        self.sent(json!({ "jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params }))
    }

    pub(super) fn answer(&mut self, id: u64, text: &str) -> &mut Self {
        self.got(json!({ "jsonrpc": "2.0", "id": id, "result": { "content": [{ "type": "text", "text": text }] } }))
    }

    pub(super) fn ask(&mut self, messages: Value) -> &mut Self {
        let body = json!({ "model": "m", "messages": messages, "tools": [{ "type": "function", "function": { "name": "shop__refund" } }] });
        self.ask_with(Interface::OpenaiChat, body)
    }

    pub(super) fn ask_with(&mut self, interface: Interface, body: Value) -> &mut Self {
        let body = Body::json(body, Some(interface), &mut self.ledger.blobs);
        let exchange = self.exchanges;
        self.exchanges += 1;
        let (method, path) = ("POST".to_owned(), "/v1/x".to_owned());
        let interface = Some(interface);
        self.enter(What::Request(Request { exchange, interface, method, path, query: None, body }))
    }

    pub(super) fn reply(&mut self, body: Body) -> &mut Self {
        let (exchange, headers) = (self.exchanges - 1, BTreeMap::new());
        let response = Response { exchange, first_ms: 0, status: Some(200), headers, body, end: End::Complete };
        self.enter(What::Response(response))
    }

    pub(super) fn says(&mut self, text: Option<&str>, calls: &[(&str, &str, Value)]) -> &mut Self {
        self.reply(Body::Json { rest: json!({ "choices": [{ "index": 0, "message": assistant(text, calls), "finish_reason": "stop" }], "usage": { "prompt_tokens": 1, "completion_tokens": 2 } }), parts: BTreeMap::new() })
    }

    pub(super) fn derive(&self) -> Derived {
        ledger::trace(&self.ledger, ProgramEnd { exit: Some(0), ..ProgramEnd::default() })
    }
}

pub(super) fn assistant(text: Option<&str>, calls: &[(&str, &str, Value)]) -> Value {
    let call = |(id, name, args): &(&str, &str, Value)| json!({ "id": id, "type": "function", "function": { "name": name, "arguments": args.to_string() } });
    json!({ "role": "assistant", "content": text, "tool_calls": calls.iter().map(call).collect::<Vec<_>>() })
}

pub(super) fn user(text: &str) -> Value {
    json!({ "role": "user", "content": text })
}

pub(super) fn tool(id: &str, text: &str) -> Value {
    json!({ "role": "tool", "tool_call_id": id, "content": text })
}

/// Name, witness, and how the call failed.
fn calls(derived: &Derived) -> Vec<(String, Option<Witness>, Option<ErrorKind>)> {
    let trace = &derived.trace;
    let all = trace.tool_calls.as_ref().unwrap().iter().enumerate();
    all.map(|(at, call)| {
        let kind = trace.result(at).and_then(|result| result.error.as_ref()).map(|error| error.kind);
        (call.name.clone(), call.witness, kind)
    })
    .collect()
}

#[test]
fn without_a_model_request_the_caller_is_unknown() {
    let mut tape = Tape::new();
    tape.call(1, "refund", json!({ "order": 7 })).answer(1, "done");
    let derived = tape.derive();
    assert!(derived.model_unseen);
    assert_eq!(calls(&derived), [("refund".to_owned(), None, None)]);
    let trace = derived.trace;
    assert_eq!((&trace.tool_calls.unwrap()[0].caller, trace.conversation.turns), (&None, None));
}

#[test]
fn a_call_that_was_made_while_the_reply_still_streamed_is_joined() {
    let mut tape = Tape::new();
    tape.ask(json!([user("go")]));
    tape.call(1, "refund", json!({ "order": 7 })).answer(1, "done");
    let args = json!({ "order": 7 });
    let reply = [("a", "shop__refund", args)];
    tape.says(None, &reply);
    tape.ask(json!([user("go"), assistant(None, &reply), tool("a", "done")])).says(Some("ok"), &[]);
    let derived = tape.derive();
    assert_eq!(calls(&derived), [("refund".to_owned(), Some(Witness::Both), None)]);
    assert_eq!(derived.trace.final_response.as_deref(), Some("ok"));
    assert_eq!(derived.trace.conversation.tokens.input, Some(2));
}

#[test]
fn a_repetition_is_not_mistaken_for_a_refused_call() {
    let mut tape = Tape::new();
    let reply = [("a", "shop__refund", json!({ "order": 7 })), ("b", "shop__refund", json!({ "order": 8 }))];
    tape.ask(json!([user("go")])).says(None, &reply);
    tape.call(1, "refund", json!({ "order": 7 })).answer(1, "busy");
    tape.call(2, "refund", json!({ "order": 7 })).answer(2, "done");
    tape.ask(json!([user("go"), assistant(None, &reply), tool("a", "done"), tool("b", "denied")]))
        .says(Some("ok"), &[]);
    let derived = tape.derive();
    let expected = [
        ("refund".to_owned(), Some(Witness::Both), None),
        ("refund".to_owned(), Some(Witness::Model), Some(ErrorKind::Refused)),
        ("refund".to_owned(), Some(Witness::Mcp), None),
    ];
    assert_eq!(calls(&derived), expected);
    assert_eq!(derived.trace.tool_calls.as_ref().unwrap()[2].retry_of, Some(0));
    // The model was shown the second answer, so nothing differs.
    assert!(derived.trace.tool_results.unwrap().iter().flatten().all(|result| result.shown.is_none()));
}

#[test]
fn a_result_that_the_program_changed_is_marked() {
    let mut tape = Tape::new();
    let reply = [("a", "shop__refund", json!({}))];
    tape.ask(json!([user("go")])).says(None, &reply);
    tape.call(1, "refund", json!({})).answer(1, "order 7 was not found");
    tape.ask(json!([user("go"), assistant(None, &reply), tool("a", "refunded")])).says(Some("ok"), &[]);
    assert_eq!(tape.derive().trace.result(0).unwrap().shown, Some(Shown::Differs));
}

#[test]
fn evidence_that_cannot_be_read_makes_the_recording_incomplete_or_the_result_unknown() {
    let unread = || Unread { why: WhyUnread::TooLarge, bytes: 1, sha256: String::new() };
    let mut tape = Tape::new();
    tape.ask(json!([user("go")])).reply(Body::Unread(unread()));
    let why = tape.derive().trace.program.unwrap().incomplete.unwrap();
    assert_eq!(why, "the model's reply in exchange 0 cannot be read: it is larger than what is kept");
    let mut tape = Tape::new();
    tape.ask(json!([user("go")]));
    tape.reply(Body::Json {
        rest: json!({ "choices": [{ "message": { "role": "assistant", "toolCalls": [1] } }] }),
        parts: BTreeMap::new(),
    });
    let why = tape.derive().trace.program.unwrap().incomplete.unwrap();
    assert!(why.contains("could hold calls"), "{why}");
    let mut tape = Tape::new();
    tape.ask(json!([user("go")])).says(Some("ok"), &[]).mcp(Side::Program, Message::Unread(unread()));
    let why = tape.derive().trace.program.unwrap().incomplete.unwrap();
    assert_eq!(why, "a message of the program to \"shop\" cannot be read: it is larger than what is kept");
    // An answer that cannot be read leaves its call without a known result, also when the connection ends.
    let mut tape = Tape::new();
    tape.ask(json!([user("go")])).says(None, &[("a", "shop__refund", json!({}))]);
    tape.call(1, "refund", json!({})).mcp(Side::Server, Message::Unread(unread()));
    tape.mcp(Side::Server, Message::End("exit 0".to_owned()));
    let trace = tape.derive().trace;
    assert_eq!((trace.tool_results, trace.program.unwrap().incomplete), (Some(vec![None]), None));
}

#[test]
fn a_server_that_dies_and_a_client_that_gives_up_are_errors_of_their_kind() {
    for (from, kind) in [(Side::Server, ErrorKind::Transport), (Side::Program, ErrorKind::Timeout)] {
        let mut tape = Tape::new();
        tape.ask(json!([user("go")])).says(None, &[("a", "shop__refund", json!({}))]);
        tape.call(1, "refund", json!({})).mcp(from, Message::End("exit 1".to_owned()));
        let derived = tape.derive();
        assert_eq!(calls(&derived), [("refund".to_owned(), Some(Witness::Both), Some(kind))]);
        assert_eq!(derived.trace.result(0).unwrap().duration_ms, Some(10));
    }
}

#[test]
fn a_tool_of_the_program_with_the_name_of_a_server_tool_is_its_own() {
    let mut tape = Tape::new();
    let tools = ["shop__refund", "refund"].map(|name| json!({ "type": "function", "function": { "name": name } }));
    let body = |messages: Value| json!({ "messages": messages, "tools": tools });
    let reply = [("a", "refund", json!({}))];
    tape.ask_with(Interface::OpenaiChat, body(json!([user("go")]))).says(None, &reply);
    tape.ask_with(Interface::OpenaiChat, body(json!([user("go"), assistant(None, &reply), tool("a", "fine")])));
    tape.says(Some("ok"), &[]);
    let derived = tape.derive();
    assert_eq!(calls(&derived), [("refund".to_owned(), Some(Witness::Model), None)]);
    assert_eq!(derived.trace.tool_calls.unwrap()[0].server.as_deref(), Some(""));
}

#[test]
fn a_client_that_rewrites_old_messages_still_continues_its_conversation() {
    let mut tape = Tape::new();
    let (first, second) = ([("a", "own", json!({}))], [("b", "own", json!({}))]);
    tape.ask(json!([user("go")])).says(None, &first);
    tape.ask(json!([user("go"), assistant(None, &first), tool("a", "one")])).says(None, &second);
    // The first answer was cleared to save room.
    let last = json!([
        user("go"),
        assistant(None, &first),
        tool("a", "[cleared]"),
        assistant(None, &second),
        tool("b", "two")
    ]);
    tape.ask(last).says(Some("ok"), &[]);
    let trace = tape.derive().trace;
    let texts: Vec<_> =
        trace.tool_results.iter().flatten().flatten().flat_map(|result| result.texts().collect::<Vec<_>>()).collect();
    assert_eq!(texts, ["one", "two"]);
}

#[test]
fn a_call_that_the_provider_ran_in_a_reply_that_broke_off_was_made() {
    let mut tape = Tape::new();
    let body = json!({ "input": [{ "role": "user", "content": "go" }], "tools": [{ "type": "mcp" }] });
    tape.ask_with(Interface::OpenaiResponses, body);
    let item = json!({ "type": "mcp_call", "id": "x", "server_label": "bank", "name": "pay", "arguments": "{}", "output": "paid", "status": "completed" });
    let started = json!({ "type": "function_call", "call_id": "y", "name": "shop__refund", "arguments": "{}" });
    let events = [
        json!({ "type": "response.output_item.done", "output_index": 0, "item": item }),
        json!({ "type": "response.output_item.added", "output_index": 1, "item": started }),
    ];
    tape.reply(Body::Events(events.map(|data| Event { name: None, data }).to_vec()));
    let derived = tape.derive();
    assert_eq!(calls(&derived), [("pay".to_owned(), Some(Witness::Model), None)]);
    assert_eq!(derived.trace.tool_calls.unwrap()[0].server.as_deref(), Some(""));
    assert_eq!((derived.trace.final_response, derived.trace.conversation.tokens.spent()), (None, None));
}

#[test]
fn a_thread_is_continued_by_the_id_of_its_last_reply() {
    let mut tape = Tape::new();
    let tools = json!([{ "name": "shop__refund", "input_schema": {} }]);
    let reply = |id: &str, text: &str| Body::Json {
        rest: json!({ "id": id, "type": "message", "role": "assistant", "content": [{ "type": "text", "text": text }], "stop_reason": "end_turn", "usage": { "input_tokens": 1, "output_tokens": 2 } }),
        parts: BTreeMap::new(),
    };
    let first = json!({ "messages": [user("go")], "tools": tools, "thread": { "type": "create" } });
    tape.ask_with(Interface::Anthropic, first).reply(reply("m1", "Which one?"));
    let thread = json!({ "type": "continue", "previous_message_id": "m1" });
    tape.ask_with(Interface::Anthropic, json!({ "messages": [user("7")], "thread": thread }));
    tape.reply(reply("m2", "Done."));
    let derived = tape.derive();
    let conversation = derived.trace.conversation;
    let turns: Vec<Option<String>> =
        conversation.turns.unwrap().into_iter().map(|turn| turn.content.map(|text| text.to_string())).collect();
    assert_eq!(turns, ["go", "Which one?", "7", "Done."].map(|text| Some(text.to_owned())));
    assert_eq!((derived.trace.final_response.as_deref(), conversation.tokens.input), (Some("Done."), Some(2)));
}

#[test]
fn tools_offered_mid_conversation_are_not_messages() {
    let mut tape = Tape::new();
    let tools =
        json!([{ "type": "namespace", "name": "mcp__shop", "tools": [{ "type": "function", "name": "refund" }] }]);
    let item = json!({ "type": "additional_tools", "role": "developer", "tools": tools });
    let call = json!({ "type": "function_call", "call_id": "a", "namespace": "mcp__shop", "name": "refund", "arguments": "{}" });
    let usage = json!({ "input_tokens": 1, "output_tokens": 2 });
    let reply = json!({ "id": "r1", "object": "response", "status": "completed", "output": [call], "usage": usage });
    tape.ask_with(Interface::OpenaiResponses, json!({ "input": [item, user("go")] }));
    tape.reply(Body::Json { rest: reply, parts: BTreeMap::new() });
    let denied = json!({ "type": "function_call_output", "call_id": "a", "output": "denied" });
    tape.ask_with(Interface::OpenaiResponses, json!({ "input": [item, user("go"), call, denied] }));
    let derived = tape.derive();
    let refused = ("refund".to_owned(), Some(Witness::Model), Some(ErrorKind::Refused));
    assert_eq!(calls(&derived), [refused]);
    assert!(derived.notes.iter().all(|note| !note.contains("cannot be read")), "{:?}", derived.notes);
}

#[test]
fn the_timeline_has_both_sides_in_order() {
    let mut tape = Tape::new();
    tape.ask(json!([user("go")])).says(None, &[("a", "shop__refund", json!({}))]);
    tape.call(1, "refund", json!({})).answer(1, "done");
    let timeline = tape.derive().trace.program.unwrap().timeline.unwrap();
    let lines: Vec<String> = timeline
        .iter()
        .map(|line| {
            let server = line.server.as_deref().unwrap_or("-");
            format!("{} {} {server} {} {} {:?}", line.ms, line.side, line.what, line.status, line.duration_ms)
        })
        .collect();
    assert_eq!(
        lines,
        [
            "0 mcp shop tools/list ok Some(10)",
            "20 model - POST /v1/x 200 Some(10)",
            "40 mcp shop tools/call refund ok Some(10)",
        ]
    );
}
