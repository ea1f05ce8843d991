//! The MCP side: the requests of the program and the answers of its servers.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use crate::json;
use crate::ledger::seen::ServerSeen;
use crate::ledger::{Entry, Ledger, Mcp, Message, Side, What, error_result, mcp_result};
use crate::trace::{Counterpart, ErrorKind, TimelineEntry, ToolResult};

/// Everything that the MCP ledger says.
#[derive(Default)]
pub(super) struct McpSide {
    pub(super) calls: Vec<McpCall>,
    /// Server and name of every tool that a server listed, or that was called there.
    pub(super) tools: BTreeSet<(String, String)>,
    /// Messages of the program that cannot be read: any of them could be a call.
    pub(super) unread: Vec<String>,
    pub(super) notes: Vec<String>,
    pub(super) timeline: Vec<(u64, TimelineEntry)>,
    /// The server info of each server that the program contacted.
    pub(super) servers: BTreeMap<String, ServerSeen>,
}

/// A call that was sent to a server.
pub(super) struct McpCall {
    pub(super) seq: u64,
    pub(super) server: String,
    pub(super) connection: u64,
    pub(super) tool: String,
    pub(super) args: Value,
    /// Every text in `_meta`: clients put the id of the model's call there.
    pub(super) ids: Vec<String>,
    pub(super) result: Option<ToolResult>,
}

/// A request of the program.
pub(in crate::ledger) struct McpExchange<'l> {
    pub(in crate::ledger) seq: u64,
    ms: u64,
    pub(in crate::ledger) mcp: &'l Mcp,
    /// Canonical.
    id: String,
    pub(in crate::ledger) message: &'l Value,
    /// Messages of the server before its answer, and their entries.
    pub(in crate::ledger) before: Vec<(u64, &'l Value)>,
    pub(in crate::ledger) end: Option<ExchangeEnd<'l>>,
}

pub(in crate::ledger) struct ExchangeEnd<'l> {
    ms: u64,
    /// The entry that ended it, and the message in it that answers the request.
    pub(in crate::ledger) entry: &'l Entry,
    pub(in crate::ledger) answer: Option<&'l Value>,
    status: String,
    /// `None` when there is an answer that cannot be read.
    result: Option<ToolResult>,
    /// A later answer does not count.
    is_final: bool,
}

#[derive(Default)]
pub(in crate::ledger) struct Reader<'l> {
    pub(in crate::ledger) requests: Vec<McpExchange<'l>>,
    /// What servers sent while no request waited: entry, connection and message.
    pub(in crate::ledger) loose: Vec<(u64, u64, &'l Value)>,
    /// Requests by connection and id, the latest last.
    by_id: BTreeMap<(u64, String), Vec<usize>>,
    /// Requests by the entry that had them.
    by_seq: BTreeMap<u64, Vec<usize>>,
    /// Requests of a connection without an answer.
    open: BTreeMap<u64, BTreeSet<usize>>,
    out: McpSide,
}

pub(super) fn read(ledger: &Ledger) -> McpSide {
    requests(ledger).finish()
}

/// The requests to servers, with their outcomes.
pub(in crate::ledger) fn requests(ledger: &Ledger) -> Reader<'_> {
    let mut reader = Reader::default();
    for entry in &ledger.entries {
        let What::Mcp(mcp) = &entry.what else { continue };
        match (&mcp.message, mcp.from) {
            (Message::Json(value), Side::Program) => {
                for message in each(value) {
                    reader.sent(entry, mcp, message);
                }
            }
            (Message::Json(value), Side::Server) => {
                for message in each(value) {
                    reader.answered(entry, mcp, message);
                }
            }
            (Message::Unread(unread), Side::Program) => {
                let why = &unread.why;
                reader.out.unread.push(format!("a message of the program to {:?} cannot be read: {why}", mcp.server));
            }
            (Message::Unread(unread), Side::Server) => {
                reader.out.notes.push(format!("a message of {:?} cannot be read: {}", mcp.server, unread.why));
                reader.end_all(entry, mcp, "unread", false, || None);
            }
            (Message::Status(status), _) if *status < 400 => {}
            (Message::Status(status), _) => {
                // Without its request it answers the only one that is open, if there is only one.
                let is_clear =
                    mcp.reply_to.is_some() || reader.open.get(&mcp.connection).is_some_and(|open| open.len() == 1);
                let message = format!("the server answered HTTP status {status}");
                reader.end_all(entry, mcp, &status.to_string(), false, || {
                    is_clear.then(|| error_result(ErrorKind::Http, Some(i64::from(*status)), &message))
                });
            }
            (Message::End(why), Side::Server) => {
                reader.end_all(entry, mcp, "error", false, || Some(error_result(ErrorKind::Transport, None, why)));
            }
            (Message::End(why), Side::Program) => reader.end_all(entry, mcp, "canceled", false, || {
                Some(error_result(ErrorKind::Timeout, None, &format!("the program gave up: {why}")))
            }),
        }
    }
    reader
}

/// The messages of a batch.
fn each(value: &Value) -> &[Value] {
    match value {
        Value::Array(messages) => messages,
        one => std::slice::from_ref(one),
    }
}

impl<'l> Reader<'l> {
    fn sent(&mut self, entry: &'l Entry, mcp: &'l Mcp, message: &'l Value) {
        let &Entry { seq, ms, .. } = entry;
        let Some(method) = message.get("method").and_then(Value::as_str) else { return };
        if method == "notifications/cancelled" {
            let id = message.pointer("/params/requestId").map(json::canonical);
            let at = id.and_then(|id| self.latest_open(mcp.connection, &id));
            if let Some(at) = at {
                let why = message
                    .pointer("/params/reason")
                    .and_then(Value::as_str)
                    .unwrap_or("the program canceled the call");
                self.end(
                    at,
                    ExchangeEnd {
                        ms,
                        entry,
                        answer: None,
                        status: "canceled".to_owned(),
                        result: Some(error_result(ErrorKind::Timeout, None, why)),
                        is_final: true,
                    },
                );
            }
            return;
        }
        let Some(id) = message.get("id").filter(|id| !id.is_null()) else { return };
        self.out.servers.entry(mcp.server.clone()).or_default().asked(message.get("params"));
        let (at, id) = (self.requests.len(), json::canonical(id));
        self.by_id.entry((mcp.connection, id.clone())).or_default().push(at);
        self.by_seq.entry(seq).or_default().push(at);
        self.open.entry(mcp.connection).or_default().insert(at);
        self.requests.push(McpExchange { seq, ms, mcp, id, message, before: Vec::new(), end: None });
    }

    fn latest_open(&self, connection: u64, id: &str) -> Option<usize> {
        let same = self.by_id.get(&(connection, id.to_owned()))?;
        same.iter().rev().copied().find(|at| self.requests[*at].end.is_none())
    }

    /// The request that an answer belongs to: that of its HTTP exchange, else the earliest pending one with its id.
    fn request_of(&self, mcp: &Mcp, id: &str) -> Option<usize> {
        let waits = |at: &usize| self.requests[*at].end.as_ref().is_none_or(|end| !end.is_final);
        let here = mcp.reply_to.and_then(|seq| self.by_seq.get(&seq)).into_iter().flatten().copied();
        let here = here.filter(|at| self.requests[*at].id == id).find(waits);
        let same = || self.by_id.get(&(mcp.connection, id.to_owned()))?.iter().copied().find(waits);
        here.or_else(same)
    }

    fn answered(&mut self, entry: &'l Entry, mcp: &Mcp, message: &'l Value) {
        let (result, error) = (message.get("result"), message.get("error"));
        if result.is_none() && error.is_none() {
            self.on_response(entry.seq, mcp, message);
            return;
        }
        let Some(at) = message.get("id").and_then(|id| self.request_of(mcp, &json::canonical(id))) else { return };
        self.list_tools(at, result);
        if let Some(result) = result {
            let request = &self.requests[at];
            let server = self.out.servers.entry(request.mcp.server.clone()).or_default();
            server.answered(entry.seq, request.method(), result);
        }
        let (status, result) = match (result, error) {
            (_, Some(error)) => {
                let code = error.get("code").and_then(Value::as_i64);
                let text = error.get("message").and_then(Value::as_str);
                let message = text.map_or_else(|| json::excerpt(error, 200), str::to_owned);
                ("error", Some(error_result(ErrorKind::Jsonrpc, code, &message)))
            }
            // The answer comes later, in a form that is not read.
            (Some(result), None) if result.get("resultType").and_then(Value::as_str) == Some("task") => ("ok", None),
            (Some(result), None) if self.requests[at].method() == "tools/call" => {
                let result = mcp_result(result.clone());
                (if result.is_error == Some(true) { "error" } else { "ok" }, Some(result))
            }
            _ => ("ok", None),
        };
        let answer = Some(message);
        self.end(at, ExchangeEnd { ms: entry.ms, entry, answer, status: status.to_owned(), result, is_final: true });
    }

    /// A message of the server that answers nothing. It belongs to the request that it came with, or to the last that waits.
    fn on_response(&mut self, seq: u64, mcp: &Mcp, message: &'l Value) {
        let here = mcp.reply_to.and_then(|seq| self.by_seq.get(&seq)?.last().copied());
        let waiting = || self.open.get(&mcp.connection)?.last().copied();
        match here.or_else(waiting) {
            Some(at) => self.requests[at].before.push((seq, message)),
            None => self.loose.push((seq, mcp.connection, message)),
        }
    }

    fn list_tools(&mut self, at: usize, result: Option<&Value>) {
        let request = &self.requests[at];
        if request.method() != "tools/list" {
            return;
        }
        let tools = result.and_then(|result| result.get("tools")).and_then(Value::as_array);
        for name in tools.into_iter().flatten().filter_map(|tool| tool.get("name")?.as_str()) {
            self.out.tools.insert((request.mcp.server.clone(), name.to_owned()));
        }
    }

    /// Ends the requests of an HTTP exchange, or all that wait on the connection.
    fn end_all(
        &mut self,
        entry: &'l Entry,
        mcp: &Mcp,
        status: &str,
        is_final: bool,
        result: impl Fn() -> Option<ToolResult>,
    ) {
        let all: Vec<usize> = match mcp.reply_to.and_then(|seq| self.by_seq.get(&seq)) {
            Some(requests) => requests.clone(),
            None if mcp.reply_to.is_some() => Vec::new(),
            None => self.open.get(&mcp.connection).into_iter().flatten().copied().collect(),
        };
        for at in all {
            if self.requests[at].end.is_none() {
                let status = status.to_owned();
                self.end(at, ExchangeEnd { ms: entry.ms, entry, answer: None, status, result: result(), is_final });
            }
        }
    }

    fn end(&mut self, at: usize, end: ExchangeEnd<'l>) {
        let request = &mut self.requests[at];
        let problem = end.result.as_ref().and_then(|result| result.error.as_ref());
        if let (Some(problem), Some(server)) = (problem, self.out.servers.get_mut(&request.mcp.server)) {
            server.problem = Some(problem.message.clone());
        }
        request.end = Some(end);
        if let Some(open) = self.open.get_mut(&request.mcp.connection) {
            open.remove(&at);
        }
    }

    fn finish(self) -> McpSide {
        let mut out = self.out;
        for request in self.requests {
            let method = request.method();
            let params = request.message.get("params");
            let tool = params.and_then(|params| params.get("name")).and_then(Value::as_str);
            let server = request.mcp.server.clone();
            let what =
                if method == "tools/call" { format!("{method} {}", tool.unwrap_or("?")) } else { method.to_owned() };
            let (status, duration_ms) = match &request.end {
                Some(end) => (end.status.clone(), Some(end.ms.saturating_sub(request.ms))),
                None => ("none".to_owned(), None),
            };
            let side = Counterpart::Mcp;
            let line = TimelineEntry { duration_ms, ms: request.ms, server: Some(server.clone()), side, status, what };
            out.timeline.push((request.seq, line));
            if method != "tools/call" {
                continue;
            }
            let Some(tool) = tool else {
                out.unread.push(format!("a call of a tool of {server:?} does not name the tool"));
                continue;
            };
            out.tools.insert((server.clone(), tool.to_owned()));
            let mut ids = Vec::new();
            texts(params.and_then(|params| params.get("_meta")), &mut ids);
            let args = params.and_then(|params| params.get("arguments")).filter(|args| !args.is_null());
            let result = request.end.and_then(|end| end.result);
            out.calls.push(McpCall {
                seq: request.seq,
                server,
                connection: request.mcp.connection,
                tool: tool.to_owned(),
                args: args.cloned().unwrap_or_else(|| Value::Object(serde_json::Map::new())),
                ids,
                result: result.map(|result| ToolResult { duration_ms, ..result }),
            });
        }
        out
    }
}

impl McpExchange<'_> {
    pub(in crate::ledger) fn method(&self) -> &str {
        self.message.get("method").and_then(Value::as_str).unwrap_or_default()
    }
}

/// Every text in a value.
fn texts(value: Option<&Value>, out: &mut Vec<String>) {
    match value {
        Some(Value::String(text)) => out.push(text.clone()),
        Some(Value::Array(items)) => items.iter().for_each(|item| texts(Some(item), out)),
        Some(Value::Object(map)) => map.values().for_each(|item| texts(Some(item), out)),
        _ => {}
    }
}
