//! Matches replies with requests. Every message of a connection passes through here as raw JSON, in both directions.
//!
//! A reply is kept as received. Unexpected replies, lines that are not messages,
//! notifications and requests of the server end here, so that none of them can accumulate.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use mcptest_core::json;
use serde_json::{Value, json};
use tokio::sync::{mpsc, oneshot, watch};

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
pub(crate) enum Reply {
    Result(Value),
    Error(Value),
    /// There will be no reply.
    Failed(Failure),
}

/// Why one request has no reply while the server may still answer others.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Failure {
    /// The response has an HTTP error status; the text includes it.
    #[error("the server answered {1}")]
    Status(u16, String),
    /// The server could not be reached, the connection was lost, or the response is not a reply.
    #[error("{0}")]
    Broken(String),
    /// The reply is too large; why.
    #[error("the reply is too large: {0}")]
    Unreadable(String),
    /// The reply is malformed JSON or has duplicate keys; why.
    #[error("the reply is malformed: {0}")]
    Malformed(String),
}

/// Why nothing more will be received.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum End {
    /// The server closed its output, or exited.
    Closed,
    /// A line was longer than this.
    TooLong(usize),
    Broken(String),
}

/// The reply to a request, and its memory. It is dropped when there will be none.
pub(crate) type Pending = oneshot::Receiver<(Reply, usize)>;

#[derive(Debug, Default)]
struct State {
    /// Requests that wait for their reply.
    waiting: BTreeMap<i64, oneshot::Sender<(Reply, usize)>>,
    /// The id of the next request. Ids are never reused, so that a late reply is not mistaken for one to a later request.
    next: i64,
    counters: Counters,
    noise: Option<String>,
    /// The revision that requests are sent in. Before a handshake there is none.
    revision: Option<String>,
}

/// The two directions of one connection.
#[derive(Debug)]
pub(crate) struct Exchange {
    state: Mutex<State>,
    end: watch::Sender<Option<End>>,
    /// Receives every line of the server, if lines are passed on instead of answered.
    relay: Option<mpsc::UnboundedSender<Vec<u8>>>,
}

impl Exchange {
    pub(super) fn new() -> Self {
        Self { state: Mutex::default(), end: watch::Sender::new(None), relay: None }
    }

    /// An exchange that forwards every line of the server unchanged. A reply in the response to a request ends it,
    /// regardless of its ID.
    pub(crate) fn relaying(lines: mpsc::UnboundedSender<Vec<u8>>) -> Self {
        Self { relay: Some(lines), ..Self::new() }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Registers a request. Done before it is sent, so that no reply can arrive too early.
    pub(crate) fn request(&self) -> (i64, Pending) {
        let (sender, reply) = oneshot::channel();
        let mut state = self.state();
        let id = state.next;
        state.next += 1;
        // After the end the sender is dropped here, and the caller immediately sees that there is no reply.
        if self.end.borrow().is_none() {
            state.waiting.insert(id, sender);
        }
        (id, reply)
    }

    /// Forgets a request. Returns whether it still waited for its reply.
    pub(super) fn forget(&self, id: i64) -> bool {
        self.state().waiting.remove(&id).is_some()
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
        let message = Message::read(line);
        if let Some(relay) = &self.relay {
            // Who reads them may have left.
            let _ = relay.send(line.to_vec());
            if let (Some(Message::Reply { reply, cost, .. }), Some(_)) = (message, about) {
                state.deliver(about, reply, cost);
            }
            return None;
        }
        let Some(message) = message else {
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
            // Answered immediately and without a task: a server that sends requests without reading must not fill the
            // memory.
            Message::Request { id, method } => Some(answer(&id, &method)),
            Message::Reply { id, reply, cost } => {
                let id = match about {
                    None => state.request_of(id, &reply),
                    // A server that could not parse a request does not know its id.
                    about if id.is_none() && !matches!(reply, Reply::Result(_)) => about,
                    about => id.filter(|_| id == about),
                };
                state.deliver(id, reply, cost);
                None
            }
        }
    }

    /// Fails a request, unless it has a reply or is forgotten.
    pub(super) fn fail(&self, id: i64, failure: Failure) {
        let mut state = self.state();
        if state.waiting.contains_key(&id) {
            state.deliver(Some(id), Reply::Failed(failure), 0);
        }
    }

    /// Whether a request waits for its reply.
    pub(super) fn waits(&self, id: i64) -> bool {
        self.state().waiting.contains_key(&id)
    }

    /// Sets the revision of further requests.
    pub(crate) fn set_revision(&self, revision: Option<&str>) {
        self.state().revision = revision.map(str::to_owned);
    }

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
        // The reason first: callers who wake because there is no reply must find it.
        self.end.send_if_modified(|end| {
            let first = end.is_none();
            end.get_or_insert(reason);
            first
        });
        self.state().waiting.clear();
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
}

impl State {
    /// The request that a reply belongs to. A server that could not parse a request does not know its id; if one request is in
    /// progress, the error belongs to it.
    fn request_of(&self, id: Option<i64>, reply: &Reply) -> Option<i64> {
        id.or_else(|| {
            let mut waiting = self.waiting.keys();
            match (reply, waiting.next(), waiting.next()) {
                (Reply::Error(_) | Reply::Failed(_), Some(&only), None) => Some(only),
                _ => None,
            }
        })
    }

    fn deliver(&mut self, id: Option<i64>, reply: Reply, cost: usize) {
        match id.and_then(|id| self.waiting.remove(&id)) {
            // The caller may have given up.
            Some(caller) => drop(caller.send((reply, cost))),
            None => self.counters.unsolicited += 1,
        }
    }
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

    fn line(message: &Value) -> Vec<u8> {
        message.to_string().into_bytes()
    }

    fn reply(pending: &mut Pending) -> Option<Reply> {
        pending.try_recv().ok().map(|(reply, _)| reply)
    }

    #[test]
    fn a_reply_is_kept_raw_and_belongs_to_its_request() {
        let exchange = Exchange::new();
        let ((first, mut one), (second, mut two)) = (exchange.request(), exchange.request());
        assert_eq!((first, second), (0, 1));
        exchange.incoming(&line(&json!({ "jsonrpc": "2.0", "id": 1, "result": { "future": [1] } })));
        assert_eq!((reply(&mut one), reply(&mut two)), (None, Some(Reply::Result(json!({ "future": [1] })))));
        assert_eq!((exchange.forget(0), exchange.forget(1)), (true, false));
    }

    #[test]
    fn late_double_and_unknown_replies_are_counted_and_dropped() {
        let exchange = Exchange::new();
        let (_late, (_, mut double)) = (exchange.request(), exchange.request());
        exchange.forget(0);
        for id in [json!(0), json!(1), json!(1), json!(7), json!("x"), Value::Null] {
            exchange.incoming(&line(&json!({ "jsonrpc": "2.0", "id": id, "result": {} })));
        }
        assert_eq!(exchange.counters().unsolicited, 5);
        assert_eq!(reply(&mut double), Some(Reply::Result(json!({}))));
    }

    #[test]
    fn a_number_that_comes_back_as_text_is_understood() {
        let exchange = Exchange::new();
        let (_, mut pending) = exchange.request();
        exchange.incoming(br#"{"jsonrpc":"2.0","id":"0","result":1}"#);
        assert_eq!(reply(&mut pending), Some(Reply::Result(json!(1))));
    }

    #[test]
    fn an_error_without_a_number_is_about_the_only_request_under_way() {
        let error = br#"{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"no"}}"#;
        let exchange = Exchange::new();
        let (_, mut only) = exchange.request();
        exchange.incoming(error);
        assert_eq!(reply(&mut only), Some(Reply::Error(json!({ "code": -32700, "message": "no" }))));

        let ((first, _one), (second, _two)) = (exchange.request(), exchange.request());
        exchange.incoming(error);
        assert_eq!((exchange.waits(first), exchange.waits(second)), (true, true));
        assert_eq!(exchange.counters().unsolicited, 1);
    }

    #[test]
    fn an_answer_belongs_to_its_own_request_only() {
        let exchange = Exchange::new();
        let (_first, (_, mut second), _third) = (exchange.request(), exchange.request(), exchange.request());
        exchange.answering(0, br#"{"jsonrpc":"2.0","id":1,"result":{}}"#);
        exchange.answering(0, br#"{"jsonrpc":"2.0","id":null,"result":{}}"#);
        assert_eq!(exchange.counters().unsolicited, 2);
        let error = br#"{"jsonrpc":"2.0","error":{"code":-32700,"message":"no"}}"#;
        exchange.answering(1, error);
        assert_eq!((exchange.waits(0), exchange.waits(1), exchange.waits(2)), (true, false, true));
        let refused = Reply::Error(json!({ "code": -32700, "message": "no" }));
        assert_eq!(reply(&mut second), Some(refused));
    }

    #[test]
    fn a_request_fails_alone_and_only_while_it_waits() {
        let exchange = Exchange::new();
        let ((_, mut first), _second) = (exchange.request(), exchange.request());
        let failure = Failure::Status(503, "503 Service Unavailable".to_owned());
        exchange.fail(0, failure.clone());
        exchange.fail(0, Failure::Broken("too late".to_owned()));
        exchange.fail(7, Failure::Broken("never asked".to_owned()));
        assert_eq!(reply(&mut first), Some(Reply::Failed(failure)));
        assert!(exchange.waits(1));
        assert_eq!(exchange.counters().unsolicited, 0);
    }

    #[test]
    fn invalid_lines_are_counted_and_the_first_is_kept_printable_and_short() {
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
    fn server_requests_are_answered_and_notifications_are_not() {
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
    fn the_first_reason_to_end_stays_and_no_request_waits_any_longer() {
        let exchange = Exchange::new();
        let (_, mut before) = exchange.request();
        exchange.end(End::TooLong(5));
        exchange.end(End::Closed);
        assert_eq!(*exchange.end.borrow(), Some(End::TooLong(5)));
        let (_, mut after) = exchange.request();
        for pending in [&mut before, &mut after] {
            assert_eq!(pending.try_recv(), Err(oneshot::error::TryRecvError::Closed));
        }
    }
}
