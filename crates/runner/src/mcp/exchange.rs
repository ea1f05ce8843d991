//! Matches replies with requests. Every message of a connection passes through here as raw JSON, in both directions.
//!
//! A reply is kept as received, because the typed model above it loses fields. Unexpected replies, lines that are not messages,
//! notifications and requests of the server end here, so that none of them can accumulate.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use mcptest_core::json;
use serde_json::{Value, json};
use tokio::sync::{mpsc, watch};

use super::message::Message;
use crate::process::printable;

/// How much of a line that is not a message is kept for error messages.
const NOISE_SHOWN: usize = 200;

/// What was sent and received, counted before parsing. Over HTTP a body is a line, and so is an event.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Counters {
    pub lines_in: u64,
    /// Bytes received, without line ends.
    pub bytes_in: u64,
    pub lines_out: u64,
    /// Bytes sent, without line ends.
    pub bytes_out: u64,
    /// Lines received that were not JSON-RPC messages.
    pub not_json_rpc: u64,
    /// Unexpected replies: late, duplicate, or to an unknown request.
    pub unsolicited: u64,
}

#[derive(Debug, PartialEq)]
pub(super) enum Reply {
    Result(Value),
    Error(Value),
    /// There is no reply, and there will be none.
    Failed(Failure),
}

/// Why one request has no reply while the server may still answer others.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Failure {
    /// The response has an HTTP error status; the text includes it.
    Status(u16, String),
    /// The server could not be reached, the connection was lost, or the response is not a reply.
    Broken(String),
    /// The reply is too large; why.
    Unreadable(String),
    /// The reply is malformed JSON or has duplicate keys; why.
    Malformed(String),
}

/// Why nothing more will be received.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum End {
    /// The server closed its output, or exited.
    Closed,
    /// A line was longer than this.
    TooLong(usize),
    Broken(String),
}

#[derive(Debug)]
struct Slot {
    method: String,
    /// The reply, and its memory.
    reply: Option<(Reply, usize)>,
}

#[derive(Debug, Default)]
struct State {
    /// Requests without a reply, and replies that have not been taken, by the id on the wire.
    slots: BTreeMap<i64, Slot>,
    /// Where the current client receives replies.
    client: Option<mpsc::UnboundedSender<Value>>,
    /// The current client's id 0 on the wire.
    base: i64,
    next: i64,
    counters: Counters,
    noise: Option<String>,
    /// Why the handshake failed, unless the server answered.
    failure: Option<Failure>,
    /// The revision that the handshake negotiated.
    revision: Option<String>,
}

/// The two directions of one connection, and the clients that use it one after the other.
///
/// Each client numbers its requests from 0. On the wire ids continue, so that a reply to an earlier client is never mistaken for
/// a reply to a later one.
#[derive(Debug)]
pub(super) struct Exchange {
    state: Mutex<State>,
    end: watch::Sender<Option<End>>,
}

impl Exchange {
    pub(super) fn new() -> Self {
        Self { state: Mutex::default(), end: watch::Sender::new(None) }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Attaches a new client; requests of the previous one are forgotten. The channel cannot grow without bound: it carries one
    /// message per request.
    pub(super) fn attach(&self) -> mpsc::UnboundedReceiver<Value> {
        let (client, messages) = mpsc::unbounded_channel();
        let mut state = self.state();
        state.slots.clear();
        state.base = state.next;
        (state.failure, state.revision) = (None, None);
        // After the end the sender is dropped here, and the client sees at once that the connection is closed.
        state.client = self.end.borrow().is_none().then_some(client);
        messages
    }

    /// Registers a message of the client and returns it with its id on the wire.
    pub(super) fn outgoing(&self, mut message: Value) -> Value {
        let mut state = self.state();
        let method = message.get("method").and_then(Value::as_str).map(str::to_owned);
        if let (Some(id), Some(method)) = (message.get("id").and_then(Value::as_i64), method.as_deref()) {
            let number = state.base + id;
            state.next = state.next.max(number + 1);
            state.slots.insert(number, Slot { method: method.to_owned(), reply: None });
            message["id"] = number.into();
        } else if method.as_deref() == Some("notifications/cancelled")
            && let Some(id) = message.pointer_mut("/params/requestId")
            && let Some(local) = id.as_i64()
        {
            let number = state.base + local;
            *id = number.into();
            state.slots.remove(&number);
        }
        message
    }

    /// Takes a line of the server. Returns the answer if it is a request.
    pub(super) fn incoming(&self, line: &[u8]) -> Option<Vec<u8>> {
        self.take_in(line, None)
    }

    /// The same for a line in the response to the request `number`, which cannot be a reply to another request.
    pub(super) fn answering(&self, number: i64, line: &[u8]) -> Option<Vec<u8>> {
        self.take_in(line, Some(number))
    }

    fn take_in(&self, line: &[u8], about: Option<i64>) -> Option<Vec<u8>> {
        let mut state = self.state();
        state.counters.lines_in += 1;
        state.counters.bytes_in += line.len() as u64;
        if line.trim_ascii().is_empty() {
            return None;
        }
        let Some(message) = Message::read(line) else {
            state.counters.not_json_rpc += 1;
            state.noise.get_or_insert_with(|| {
                // A character has at most four bytes; the cut must not depend on the length of the line.
                let head = &line[..line.len().min(4 * NOISE_SHOWN)];
                json::cut(printable(head).trim(), NOISE_SHOWN)
            });
            return None;
        };
        match message {
            Message::Notification => None,
            // Answered here and not by the client library, which keeps a task per request: a server that sends requests
            // without reading would fill the memory.
            Message::Request { id, method } => Some(answer(&id, &method)),
            Message::Reply { id, reply, cost } => {
                let id = match about {
                    None => state.meant(id, &reply),
                    // A server that could not parse a request does not know its id.
                    about if id.is_none() && !matches!(reply, Reply::Result(_)) => about,
                    about => id.filter(|_| id == about),
                };
                state.deliver(id, reply, cost);
                None
            }
        }
    }

    /// The reply to the client's request `id` and its memory, if it has arrived. The request is forgotten.
    pub(super) fn take(&self, id: i64) -> Option<(Reply, usize)> {
        let mut state = self.state();
        let number = state.base + id;
        state.slots.remove(&number)?.reply
    }

    /// Fails the request `number`, unless it has a reply or is forgotten.
    pub(super) fn fail(&self, number: i64, failure: Failure) {
        let mut state = self.state();
        if state.slots.get(&number).is_some_and(|slot| slot.reply.is_none()) {
            state.deliver(Some(number), Reply::Failed(failure), 0);
        }
    }

    /// Whether the request `number` waits for its reply.
    pub(super) fn waits(&self, number: i64) -> bool {
        self.state().slots.get(&number).is_some_and(|slot| slot.reply.is_none())
    }

    /// Fails the handshake at a message without a reply.
    pub(super) fn fail_handshake(&self, failure: Failure) {
        self.state().failure.get_or_insert(failure);
    }

    /// Why the handshake of the current client failed, unless the server answered.
    pub(super) fn failure(&self) -> Option<Failure> {
        self.state().failure.clone()
    }

    /// The revision that `initialize` negotiated.
    pub(super) fn revision(&self) -> Option<String> {
        self.state().revision.clone()
    }

    /// The first line that was not a message.
    pub(super) fn noise(&self) -> Option<String> {
        self.state().noise.clone()
    }

    pub(super) fn counters(&self) -> Counters {
        self.state().counters
    }

    /// Counts a line that was written.
    pub(super) fn sent(&self, bytes: usize) {
        let mut state = self.state();
        state.counters.lines_out += 1;
        state.counters.bytes_out += bytes as u64;
    }

    /// Nothing more will be received. The first reason stays.
    pub(super) fn end(&self, reason: End) {
        // The reason first: who wakes because the channel closed must find it.
        self.end.send_if_modified(|end| {
            let first = end.is_none();
            end.get_or_insert(reason);
            first
        });
        self.state().client = None;
    }

    /// Waits for the end, and returns its reason.
    pub(super) async fn ended(&self) -> End {
        let mut end = self.end.subscribe();
        // The sender lives as long as `self`, so waiting cannot fail.
        match end.wait_for(Option::is_some).await.map(|end| end.clone()) {
            Ok(Some(end)) => end,
            _ => End::Closed,
        }
    }

    pub(super) fn end_reason(&self) -> Option<End> {
        self.end.borrow().clone()
    }
}

impl State {
    /// The request that a reply belongs to. A server that could not parse a request does not know its id; if one request is in
    /// progress, the error belongs to it.
    fn meant(&self, id: Option<i64>, reply: &Reply) -> Option<i64> {
        id.or_else(|| {
            let mut waiting = self.slots.iter().filter(|(_, slot)| slot.reply.is_none());
            match (reply, waiting.next(), waiting.next()) {
                (Reply::Error(_) | Reply::Failed(_), Some((&only, _)), None) => Some(only),
                _ => None,
            }
        })
    }

    fn deliver(&mut self, id: Option<i64>, reply: Reply, cost: usize) {
        let base = self.base;
        let slot = id.and_then(|id| Some((id, self.slots.get_mut(&id).filter(|slot| slot.reply.is_none())?)));
        let Some((number, slot)) = slot else {
            self.counters.unsolicited += 1;
            return;
        };
        let is_handshake = matches!(slot.method.as_str(), "initialize" | "server/discover");
        let told = match &reply {
            Reply::Result(result) if is_handshake => json!({ "result": result }),
            Reply::Error(error) if is_handshake => json!({ "error": well_formed(error) }),
            // The real reason is in `failure`.
            Reply::Failed(_) if is_handshake => json!({ "error": { "code": -32603, "message": "no reply" } }),
            // The client library only has to know that the reply arrived. The caller takes it from the slot.
            _ => json!({ "result": {} }),
        };
        if is_handshake {
            self.slots.remove(&number);
            match reply {
                Reply::Result(result) => {
                    self.revision = result.get("protocolVersion").and_then(Value::as_str).map(str::to_owned);
                }
                Reply::Failed(failure) => self.failure = Some(failure),
                Reply::Error(_) => {}
            }
        } else {
            slot.reply = Some((reply, cost));
        }
        if let (Some(client), Value::Object(mut told)) = (&self.client, told) {
            told.insert("jsonrpc".to_owned(), "2.0".into());
            told.insert("id".to_owned(), (number - base).into());
            let _ = client.send(Value::Object(told));
        }
    }
}

/// An error object that the client library can read, regardless of what the server sent.
fn well_formed(error: &Value) -> Value {
    let (code, message) = error_parts(error);
    let mut out =
        json!({ "code": code.and_then(|code| i32::try_from(code).ok()).unwrap_or(-32603), "message": message });
    if let Some(data) = error.get("data") {
        out["data"] = data.clone();
    }
    out
}

/// Code and message of a JSON-RPC error. Anything else is quoted instead of a message.
pub(super) fn error_parts(error: &Value) -> (Option<i64>, String) {
    let code = error.get("code").and_then(Value::as_i64);
    let message = match error.get("message").and_then(Value::as_str) {
        Some(message) => message.to_owned(),
        None => format!("an error without a message: {}", json::excerpt(error, 200)),
    };
    (code, message)
}

/// The answer to a request of the server. The client offers no capabilities, and there is no user to ask.
fn answer(id: &Value, method: &str) -> Vec<u8> {
    let answer = match method {
        "ping" => json!({ "jsonrpc": "2.0", "id": id, "result": {} }),
        "elicitation/create" => json!({ "jsonrpc": "2.0", "id": id, "result": { "action": "decline" } }),
        _ => {
            let message = format!("mcptest does not offer `{}`", json::cut(method, 80));
            json!({ "jsonrpc": "2.0", "id": id, "error": { "code": -32601, "message": message } })
        }
    };
    answer.to_string().into_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(id: i64, method: &str) -> Value {
        json!({ "jsonrpc": "2.0", "id": id, "method": method })
    }

    fn line(message: &Value) -> Vec<u8> {
        message.to_string().into_bytes()
    }

    fn reply(exchange: &Exchange, id: i64) -> Option<Reply> {
        exchange.take(id).map(|(reply, _)| reply)
    }

    #[test]
    fn a_reply_is_kept_raw_and_the_client_only_hears_that_it_is_there() {
        let exchange = Exchange::new();
        let mut messages = exchange.attach();
        exchange.outgoing(request(0, "tools/call"));
        exchange.incoming(&line(&json!({ "jsonrpc": "2.0", "id": 0, "result": { "future": [1] } })));
        assert_eq!(messages.try_recv().unwrap(), json!({ "jsonrpc": "2.0", "id": 0, "result": {} }));
        assert_eq!(reply(&exchange, 0), Some(Reply::Result(json!({ "future": [1] }))));
        assert_eq!(reply(&exchange, 0), None);
    }

    #[test]
    fn a_reply_to_an_earlier_client_is_not_taken_for_an_answer_to_a_later_one() {
        let exchange = Exchange::new();
        let _first = exchange.attach();
        exchange.outgoing(request(0, "server/discover"));
        let mut second = exchange.attach();
        let sent = exchange.outgoing(request(0, "initialize"));
        assert_eq!(sent["id"], 1);
        exchange.incoming(&line(&json!({ "jsonrpc": "2.0", "id": 0, "result": { "old": true } })));
        assert!(second.try_recv().is_err());
        exchange.incoming(&line(&json!({ "jsonrpc": "2.0", "id": 1, "result": { "new": true } })));
        assert_eq!(second.try_recv().unwrap(), json!({ "jsonrpc": "2.0", "id": 0, "result": { "new": true } }));
        assert_eq!(exchange.counters().unsolicited, 1);
    }

    #[test]
    fn late_double_and_unknown_replies_are_counted_and_dropped() {
        let exchange = Exchange::new();
        let _messages = exchange.attach();
        exchange.outgoing(request(0, "tools/call"));
        exchange.outgoing(request(1, "tools/call"));
        let cancel = json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": { "requestId": 0 } });
        exchange.outgoing(cancel);
        for id in [json!(0), json!(1), json!(1), json!(7), json!("x"), Value::Null] {
            exchange.incoming(&line(&json!({ "jsonrpc": "2.0", "id": id, "result": {} })));
        }
        assert_eq!(exchange.counters().unsolicited, 5);
        assert_eq!(reply(&exchange, 1), Some(Reply::Result(json!({}))));
    }

    #[test]
    fn a_number_that_comes_back_as_text_is_understood() {
        let exchange = Exchange::new();
        let _messages = exchange.attach();
        exchange.outgoing(request(0, "tools/call"));
        exchange.incoming(br#"{"jsonrpc":"2.0","id":"0","result":1}"#);
        assert_eq!(reply(&exchange, 0), Some(Reply::Result(json!(1))));
    }

    #[test]
    fn an_error_without_a_number_is_about_the_only_request_under_way() {
        let error = br#"{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"no"}}"#;
        let exchange = Exchange::new();
        let _messages = exchange.attach();
        exchange.outgoing(request(0, "tools/call"));
        exchange.incoming(error);
        assert_eq!(reply(&exchange, 0), Some(Reply::Error(json!({ "code": -32700, "message": "no" }))));

        exchange.outgoing(request(1, "tools/call"));
        exchange.outgoing(request(2, "tools/call"));
        exchange.incoming(error);
        assert_eq!((exchange.take(1), exchange.take(2)), (None, None));
        assert_eq!(exchange.counters().unsolicited, 1);
    }

    #[test]
    fn an_answer_to_a_request_is_a_reply_to_no_other() {
        let exchange = Exchange::new();
        let _messages = exchange.attach();
        for id in 0..3 {
            exchange.outgoing(request(id, "tools/call"));
        }
        exchange.answering(0, br#"{"jsonrpc":"2.0","id":1,"result":{}}"#);
        exchange.answering(0, br#"{"jsonrpc":"2.0","id":null,"result":{}}"#);
        assert_eq!(exchange.counters().unsolicited, 2);
        let error = br#"{"jsonrpc":"2.0","error":{"code":-32700,"message":"no"}}"#;
        exchange.answering(1, error);
        assert_eq!((exchange.waits(0), exchange.waits(1), exchange.waits(2)), (true, false, true));
        let refused = Reply::Error(json!({ "code": -32700, "message": "no" }));
        assert_eq!((reply(&exchange, 0), reply(&exchange, 1)), (None, Some(refused)));
    }

    #[test]
    fn a_request_fails_alone_and_only_while_it_waits() {
        let exchange = Exchange::new();
        let mut messages = exchange.attach();
        exchange.outgoing(request(0, "tools/call"));
        exchange.outgoing(request(1, "tools/call"));
        let failure = Failure::Status(503, "503 Service Unavailable".to_owned());
        exchange.fail(0, failure.clone());
        exchange.fail(0, Failure::Broken("too late".to_owned()));
        exchange.fail(7, Failure::Broken("never asked".to_owned()));
        assert_eq!(messages.try_recv().unwrap(), json!({ "jsonrpc": "2.0", "id": 0, "result": {} }));
        assert_eq!(reply(&exchange, 0), Some(Reply::Failed(failure)));
        assert!(exchange.waits(1));
        assert_eq!((exchange.counters().unsolicited, exchange.failure()), (0, None));
    }

    #[test]
    fn a_handshake_that_fails_says_why_until_the_next_one() {
        let exchange = Exchange::new();
        let mut messages = exchange.attach();
        exchange.outgoing(request(0, "initialize"));
        let failure = Failure::Broken("refused".to_owned());
        exchange.fail(0, failure.clone());
        let told = json!({ "jsonrpc": "2.0", "id": 0, "error": { "code": -32603, "message": "no reply" } });
        assert_eq!((messages.try_recv().unwrap(), exchange.failure()), (told, Some(failure)));
        let _messages = exchange.attach();
        assert_eq!(exchange.failure(), None);
        exchange.outgoing(request(0, "initialize"));
        exchange.incoming(br#"{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"2025-06-18"}}"#);
        assert_eq!(exchange.revision().as_deref(), Some("2025-06-18"));
    }

    #[test]
    fn lines_that_are_no_messages_are_counted_and_the_first_is_kept_printable_and_short() {
        let exchange = Exchange::new();
        let long = [b"\x1b[1m\xff".as_slice(), &[b'x'; 5000]].concat();
        let lines: [&[u8]; 8] = [
            b"",
            b" \r",
            &long,
            b"[]",
            b"{}",
            br#"{"jsonrpc":"1.0","id":1,"result":{}}"#,
            br#"{"jsonrpc":"2.0","id":1}"#,
            br#"{"jsonrpc":"2.0","id":1,"method":5}"#,
        ];
        for line in lines {
            assert_eq!(exchange.incoming(line), None);
        }
        let counters = exchange.counters();
        assert_eq!((counters.lines_in, counters.not_json_rpc, counters.unsolicited), (8, 6, 0));
        let noise = exchange.noise().unwrap();
        assert_eq!(noise, format!("\\u{{1b}}[1m\u{fffd}{}…", "x".repeat(NOISE_SHOWN - 10)));
    }

    #[test]
    fn a_server_that_asks_is_answered_and_one_that_tells_is_not() {
        let exchange = Exchange::new();
        let ask = |text: &str| {
            let answer = exchange.incoming(text.as_bytes());
            answer.map(|line| serde_json::from_slice::<Value>(&line).unwrap())
        };
        assert_eq!(ask(r#"{"jsonrpc":"2.0","method":"notifications/progress"}"#), None);
        assert_eq!(
            ask(r#"{"jsonrpc":"2.0","id":"a","method":"ping"}"#),
            Some(json!({ "jsonrpc": "2.0", "id": "a", "result": {} }))
        );
        assert_eq!(
            ask(r#"{"jsonrpc":"2.0","id":3,"method":"sampling/createMessage","params":{}}"#),
            Some(json!({ "jsonrpc": "2.0", "id": 3, "error": {
                "code": -32601, "message": "mcptest does not offer `sampling/createMessage`",
            } }))
        );
    }

    #[test]
    fn the_first_reason_to_end_stays_and_the_client_is_let_go() {
        let exchange = Exchange::new();
        let mut messages = exchange.attach();
        exchange.end(End::TooLong(5));
        exchange.end(End::Closed);
        assert_eq!(exchange.end_reason(), Some(End::TooLong(5)));
        assert_eq!(messages.try_recv(), Err(mpsc::error::TryRecvError::Disconnected));
        assert_eq!(exchange.attach().try_recv(), Err(mpsc::error::TryRecvError::Disconnected));
    }

    #[test]
    fn an_error_object_of_any_shape_becomes_one_that_can_be_read() {
        let parts = [
            (json!({ "code": -5, "message": "no", "data": [1] }), json!({ "code": -5, "message": "no", "data": [1] })),
            (json!("no"), json!({ "code": -32603, "message": "an error without a message: \"no\"" })),
            (
                json!({ "code": "x" }),
                json!({ "code": -32603, "message": "an error without a message: {\"code\":\"x\"}" }),
            ),
        ];
        for (error, expected) in parts {
            assert_eq!(well_formed(&error), expected);
        }
    }
}
