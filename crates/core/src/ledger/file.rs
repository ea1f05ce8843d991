//! The file of a ledger, `*.ledger.jsonl`: one canonical JSON value per line.
//!
//! The first line names the format and the servers. A shared value has its own line before the first entry that refers to
//! it. A list that shares a prefix with an earlier request stores the length of the prefix, so the file grows with the
//! conversation. The last lines are the injected faults that took effect, each with the position of the request that it hit.
//!
//! A writer that adds a key raises the version. A reader accepts all versions up to its own and refuses later ones. Version 1 has
//! neither the faults nor the HTTP status of messages.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Deserializer};
use serde_json::{Map, Value, json};

use super::{
    Blob, Blobs, Body, End, Entry, Event, FaultHit, Interface, Ledger, Mcp, Message, Part, Request, Response, Side,
    Unread, What, WhyUnread,
};
use crate::diag::{Failure, RunError};
use crate::json;
use crate::redact::hash;
use crate::trace::ProgramFault;

const VERSION: u64 = 2;

/// Why a ledger cannot be read. The place is a line, from 1.
pub type LedgerError = Failure<usize>;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Line {
    mcptest_ledger: Option<u64>,
    servers: Option<Vec<String>>,
    blob: Option<String>,
    #[serde(default, deserialize_with = "present")]
    value: Option<Value>,
    seq: Option<u64>,
    ms: Option<u64>,
    mcp: Option<McpLine>,
    request: Option<RequestLine>,
    response: Option<ResponseLine>,
    fault: Option<ProgramFault>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct McpLine {
    server: String,
    connection: u64,
    from: Side,
    message: MessageLine,
    reply_to: Option<u64>,
    status: Option<u16>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct MessageLine {
    #[serde(default, deserialize_with = "present")]
    json: Option<Value>,
    unread: Option<UnreadLine>,
    status: Option<u16>,
    end: Option<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RequestLine {
    exchange: u64,
    interface: Option<Interface>,
    method: String,
    path: String,
    query: Option<String>,
    body: Option<BodyLine>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ResponseLine {
    exchange: u64,
    first_ms: u64,
    status: Option<u16>,
    headers: BTreeMap<String, String>,
    body: Option<BodyLine>,
    cut: Option<CutLine>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct CutLine {
    by: String,
    why: Option<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct BodyLine {
    #[serde(default, deserialize_with = "present")]
    json: Option<Value>,
    parts: Option<BTreeMap<String, Value>>,
    events: Option<Vec<EventLine>>,
    text: Option<String>,
    unread: Option<UnreadLine>,
}

/// A list that shares a prefix with an earlier request.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Continued {
    exchange: u64,
    first: usize,
    then: Vec<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct EventLine {
    name: Option<String>,
    data: Value,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct UnreadLine {
    bytes: u64,
    sha256: String,
    reason: String,
    detail: Option<String>,
}

/// A key that is present even when its value is `null`.
fn present<'de, D: Deserializer<'de>>(from: D) -> Result<Option<Value>, D::Error> {
    Value::deserialize(from).map(Some)
}

/// An object of the keys that have a value.
fn object<const N: usize>(keys: [(&str, Option<Value>); N]) -> Value {
    let keys = keys.into_iter().filter_map(|(key, value)| Some((key.to_owned(), value?)));
    Value::Object(keys.collect::<Map<String, Value>>())
}

impl Ledger {
    /// The lines of the file.
    pub fn to_lines(&self) -> String {
        let mut out = String::new();
        line(&json!({ "mcptest_ledger": VERSION, "servers": self.servers }), &mut out);
        let mut write = Write { blobs: &self.blobs, written: BTreeSet::new(), lists: Lists::default() };
        for Entry { seq, ms, what } in &self.entries {
            let (key, value) = match what {
                What::Mcp(mcp) => ("mcp", write_mcp(mcp)),
                What::Request(request) => ("request", write.request(request, &mut out)),
                What::Response(response) => ("response", write.response(response, &mut out)),
            };
            line(&json!({ "seq": seq, "ms": ms, key: value }), &mut out);
        }
        for FaultHit { fault, seq } in &self.fault_hits {
            line(&json!({ "seq": seq, "fault": fault }), &mut out);
        }
        out
    }

    /// Reads the lines of a file.
    pub fn read(text: &str) -> Result<Self, LedgerError> {
        let mut lines = text.lines().enumerate().map(|(at, text)| (at + 1, text));
        let Some((number, first)) = lines.next() else {
            return Err(LedgerError::error(1, "the file is empty").hint("a ledger begins with `mcptest_ledger`"));
        };
        let servers = match parse_line(number, first)? {
            Line { mcptest_ledger: Some(1..=VERSION), servers: Some(servers), .. } => servers,
            Line { mcptest_ledger: Some(version), .. } if !(1..=VERSION).contains(&version) => {
                let message = format!("it has version {version} of the format, and this mcptest reads 1 to {VERSION}");
                return Err(LedgerError::error(number, message).hint("use a newer mcptest"));
            }
            _ => {
                let message = "the first line must have `mcptest_ledger` and `servers`";
                return Err(LedgerError::error(number, message).hint("this file is not a ledger"));
            }
        };
        let mut read = Read { ledger: Self { servers, ..Self::default() }, ..Read::default() };
        for (number, text) in lines {
            let line = parse_line(number, text)?;
            read.add(line).map_err(|error| error.moved(number))?;
        }
        match read.unused.first() {
            Some(hash) => {
                let message = format!("no entry refers to the value {hash}");
                Err(LedgerError::error(text.lines().count(), message).hint("the end of the file may be missing"))
            }
            None => Ok(read.ledger),
        }
    }
}

fn line(value: &Value, out: &mut String) {
    json::write_canonical(value, out);
    out.push('\n');
}

fn parse_line(number: usize, text: &str) -> Result<Line, LedgerError> {
    json::read(text).map_err(|error| LedgerError::error(number, format!("column {}: {}", error.column, error.message)))
}

/// The lists of one key, as a tree: lists with the same beginning share nodes.
#[derive(Default)]
struct Lists<'l> {
    /// From a node and the next value to the node after it. Node 0 is the empty list.
    after: BTreeMap<(&'l str, usize, Blob), usize>,
    /// The exchange that has a node first.
    first: BTreeMap<usize, u64>,
    count: usize,
}

struct Write<'l> {
    blobs: &'l Blobs,
    written: BTreeSet<Blob>,
    lists: Lists<'l>,
}

impl<'l> Write<'l> {
    fn request(&mut self, request: &'l Request, out: &mut String) -> Value {
        object([
            ("exchange", Some(request.exchange.into())),
            ("interface", request.interface.map(|one| one.as_str().into())),
            ("method", Some(request.method.as_str().into())),
            ("path", Some(request.path.as_str().into())),
            ("query", request.query.as_deref().map(Value::from)),
            ("body", self.body(&request.body, Some(request.exchange), out)),
        ])
    }

    fn response(&mut self, response: &'l Response, out: &mut String) -> Value {
        let cut = |by: &str, why: Option<&str>| object([("by", Some(by.into())), ("why", why.map(Value::from))]);
        object([
            ("exchange", Some(response.exchange.into())),
            ("first_ms", Some(response.first_ms.into())),
            ("status", response.status.map(Value::from)),
            ("headers", Some(json!(response.headers))),
            ("body", self.body(&response.body, None, out)),
            (
                "cut",
                match &response.end {
                    End::Complete => None,
                    End::Program => Some(cut("program", None)),
                    End::Upstream(why) => Some(cut("upstream", Some(why))),
                },
            ),
        ])
    }

    /// `None` for an empty body. What it refers to is written first.
    fn body(&mut self, body: &'l Body, exchange: Option<u64>, out: &mut String) -> Option<Value> {
        Some(match body {
            Body::Empty => return None,
            Body::Text(text) => json!({ "text": text }),
            Body::Unread(unread) => json!({ "unread": write_unread(unread) }),
            Body::Events(events) => {
                let event = |event: &Event| {
                    object([("name", event.name.as_deref().map(Value::from)), ("data", Some(event.data.clone()))])
                };
                json!({ "events": events.iter().map(event).collect::<Vec<_>>() })
            }
            Body::Json { rest, parts } => {
                let mut written = Map::new();
                for (key, part) in parts {
                    let value = match part {
                        Part::One(blob) => self.blob(*blob, out),
                        Part::List(list) => self.list(key, list, exchange, out),
                    };
                    written.insert(key.clone(), value);
                }
                object([
                    ("json", Some(rest.clone())),
                    ("parts", (!written.is_empty()).then_some(Value::Object(written))),
                ])
            }
        })
    }

    fn list(&mut self, key: &'l str, list: &[Blob], exchange: Option<u64>, out: &mut String) -> Value {
        let (mut node, mut first, mut earlier) = (0, 0, None);
        for blob in list {
            let known = self.lists.after.get(&(key, node, *blob)).copied();
            if let Some(next) = known {
                first += 1;
                node = next;
                earlier = self.lists.first.get(&next).copied();
                continue;
            }
            self.lists.count += 1;
            self.lists.after.insert((key, node, *blob), self.lists.count);
            node = self.lists.count;
            self.lists.first.extend(exchange.map(|exchange| (node, exchange)));
        }
        // A list in a response is not one that others continue.
        let (first, earlier) = if earlier.is_some() { (first, earlier) } else { (0, None) };
        let then: Vec<Value> = list[first..].iter().map(|blob| self.blob(*blob, out)).collect();
        match earlier {
            Some(exchange) => json!({ "exchange": exchange, "first": first, "then": then }),
            None => Value::Array(then),
        }
    }

    /// The hash of a value, which is written where it is new.
    fn blob(&mut self, blob: Blob, out: &mut String) -> Value {
        let hash = self.blobs.hash(blob);
        if self.written.insert(blob) {
            line(&json!({ "blob": hash, "value": self.blobs.get(blob) }), out);
        }
        hash.into()
    }
}

fn write_mcp(mcp: &Mcp) -> Value {
    let message = match &mcp.message {
        Message::Json(value) => json!({ "json": value }),
        Message::Unread(unread) => json!({ "unread": write_unread(unread) }),
        Message::Status(status) => json!({ "status": status }),
        Message::End(why) => json!({ "end": why }),
    };
    object([
        ("server", Some(mcp.server.as_str().into())),
        ("connection", Some(mcp.connection.into())),
        ("from", Some(json!(mcp.from))),
        ("message", Some(message)),
        ("reply_to", mcp.reply_to.map(Value::from)),
        ("status", mcp.status.map(Value::from)),
    ])
}

fn write_unread(unread: &Unread) -> Value {
    let (reason, detail) = match &unread.why {
        WhyUnread::TooLarge => ("too_large", None),
        WhyUnread::Encoding(detail) => ("encoding", Some(detail)),
        WhyUnread::Malformed(detail) => ("malformed", Some(detail)),
    };
    object([
        ("bytes", Some(unread.bytes.into())),
        ("sha256", Some(unread.sha256.as_str().into())),
        ("reason", Some(reason.into())),
        ("detail", detail.map(|detail| detail.as_str().into())),
    ])
}

/// The part of a ledger read so far.
#[derive(Default)]
struct Read {
    ledger: Ledger,
    /// Values that no entry refers to yet.
    unused: BTreeSet<String>,
    /// The entry of each request, and whether its response came.
    exchanges: BTreeMap<u64, (usize, bool)>,
    /// The entry of each MCP message of the program.
    sent: BTreeMap<u64, usize>,
}

impl Read {
    fn add(&mut self, line: Line) -> Result<(), RunError> {
        let what = match line {
            Line {
                mcptest_ledger: None,
                servers: None,
                blob: Some(hash),
                value: Some(value),
                seq: None,
                ms: None,
                mcp: None,
                request: None,
                response: None,
                fault: None,
            } => return self.blob(hash, value),
            Line {
                mcptest_ledger: None,
                servers: None,
                blob: None,
                value: None,
                seq: Some(seq),
                ms: None,
                mcp: None,
                request: None,
                response: None,
                fault: Some(fault),
            } => return self.fault_hit(fault, seq),
            Line {
                mcptest_ledger: None,
                servers: None,
                blob: None,
                value: None,
                mcp,
                request,
                response,
                fault: None,
                ..
            } => match (mcp, request, response) {
                (Some(mcp), None, None) => What::Mcp(self.mcp(mcp)?),
                (None, Some(request), None) => What::Request(self.request(request)?),
                (None, None, Some(response)) => What::Response(self.response(response)?),
                _ => return Err(RunError::new("an entry must have one of `mcp`, `request` and `response`")),
            },
            _ => {
                return Err(RunError::new("a line must have `blob` and `value`, or `fault` and `seq`, or be an entry"));
            }
        };
        let (Some(seq), Some(ms)) = (line.seq, line.ms) else {
            return Err(RunError::new("an entry must have `seq` and `ms`"));
        };
        if let Some(last) = self.ledger.entries.last().filter(|last| last.seq >= seq) {
            return Err(RunError::new(format!("`seq` must increase, but {seq} comes after {}", last.seq)));
        }
        let at = self.ledger.entries.len();
        match &what {
            What::Mcp(mcp) if mcp.from == Side::Program => {
                self.sent.insert(seq, at);
            }
            What::Request(request) => {
                self.exchanges.insert(request.exchange, (at, false));
            }
            _ => {}
        }
        self.ledger.entries.push(Entry { seq, ms, what });
        Ok(())
    }

    fn fault_hit(&mut self, fault: ProgramFault, seq: u64) -> Result<(), RunError> {
        let at = self.ledger.entries.binary_search_by_key(&seq, |entry| entry.seq);
        let entry = at.ok().map(|at| &self.ledger.entries[at].what);
        let can_hit = match entry {
            Some(What::Mcp(mcp)) => mcp.from == Side::Program && !fault.kind.targets_model(),
            Some(What::Request(_)) => fault.kind.targets_model(),
            _ => false,
        };
        if !can_hit {
            return Err(RunError::new(format!("the fault `{}` cannot hit entry {seq}", fault.name)));
        }
        self.ledger.fault_hits.push(FaultHit { fault, seq });
        Ok(())
    }

    fn blob(&mut self, name: String, value: Value) -> Result<(), RunError> {
        let is = hash(json::canonical(&value).as_bytes());
        if is != name {
            return Err(RunError::new(format!("the value has the hash {is}, but the line says {name}")));
        }
        if self.ledger.blobs.find(&name).is_some() {
            return Err(RunError::new(format!("the value {name} is there twice")));
        }
        self.ledger.blobs.add(value);
        self.unused.insert(name);
        Ok(())
    }

    fn mcp(&self, line: McpLine) -> Result<Mcp, RunError> {
        if !self.ledger.servers.contains(&line.server) {
            return Err(RunError::new(format!(
                "the server {:?} is not among `servers` of the first line",
                line.server
            )));
        }
        if let Some(reply_to) = line.reply_to.filter(|seq| !self.sent.contains_key(seq)) {
            return Err(RunError::new(format!(
                "`reply_to` must be the `seq` of an earlier message of the program, found {reply_to}"
            )));
        }
        let message = match line.message {
            MessageLine { json: Some(value), unread: None, status: None, end: None } => Message::Json(value),
            MessageLine { json: None, unread: Some(unread), status: None, end: None } => {
                Message::Unread(read_unread(unread)?)
            }
            MessageLine { json: None, unread: None, status: Some(status), end: None } => Message::Status(status),
            MessageLine { json: None, unread: None, status: None, end: Some(why) } => Message::End(why),
            _ => return Err(RunError::new("`message` must have one of `json`, `unread`, `status` and `end`")),
        };
        let McpLine { server, connection, from, reply_to, status, .. } = line;
        Ok(Mcp { server, connection, from, message, reply_to, status })
    }

    fn request(&mut self, line: RequestLine) -> Result<Request, RunError> {
        if self.exchanges.contains_key(&line.exchange) {
            return Err(RunError::new(format!("the request of exchange {} is there twice", line.exchange)));
        }
        let body = self.body(line.body)?;
        let RequestLine { exchange, interface, method, path, query, .. } = line;
        Ok(Request { exchange, interface, method, path, query, body })
    }

    fn response(&mut self, line: ResponseLine) -> Result<Response, RunError> {
        match self.exchanges.get_mut(&line.exchange) {
            None => return Err(RunError::new(format!("there is no request of exchange {}", line.exchange))),
            Some((_, true)) => {
                return Err(RunError::new(format!("the response of exchange {} is there twice", line.exchange)));
            }
            Some((_, has_response)) => *has_response = true,
        }
        let end = match line.cut.map(|cut| (cut.by, cut.why)) {
            None => End::Complete,
            Some((by, None)) if by == "program" => End::Program,
            Some((by, Some(why))) if by == "upstream" => End::Upstream(why),
            Some(_) => return Err(RunError::new("`cut` must be `{by: program}` or `{by: upstream, why}`")),
        };
        let body = self.body(line.body)?;
        let ResponseLine { exchange, first_ms, status, headers, .. } = line;
        Ok(Response { exchange, first_ms, status, headers, body, end })
    }

    fn body(&mut self, line: Option<BodyLine>) -> Result<Body, RunError> {
        Ok(match line {
            None => Body::Empty,
            Some(BodyLine { json: Some(rest), parts, events: None, text: None, unread: None }) => {
                let mut read = BTreeMap::new();
                for (key, part) in parts.into_iter().flatten() {
                    let part = self
                        .part(&key, part)
                        .map_err(|error| RunError::new(format!("`parts.{key}`: {}", error.message)))?;
                    read.insert(key, part);
                }
                Body::Json { rest, parts: read }
            }
            Some(BodyLine { json: None, parts: None, events: Some(events), text: None, unread: None }) => {
                Body::Events(events.into_iter().map(|EventLine { name, data }| Event { name, data }).collect())
            }
            Some(BodyLine { json: None, parts: None, events: None, text: Some(text), unread: None }) => {
                Body::Text(text)
            }
            Some(BodyLine { json: None, parts: None, events: None, text: None, unread: Some(unread) }) => {
                Body::Unread(read_unread(unread)?)
            }
            Some(_) => return Err(RunError::new("`body` must have one of `json`, `events`, `text` and `unread`")),
        })
    }

    fn part(&mut self, key: &str, part: Value) -> Result<Part, RunError> {
        let (mut list, then) = match part {
            Value::String(hash) => return self.find(&hash).map(Part::One),
            Value::Array(_) => (Vec::new(), json::read_value(&part).map_err(|error| RunError::new(error.message))?),
            other => {
                let Continued { exchange, first, then } =
                    json::read_value(&other).map_err(|error| RunError::new(error.message))?;
                let earlier = self.exchanges.get(&exchange).and_then(|(at, _)| self.ledger.entries.get(*at));
                let list = match earlier.map(|entry| &entry.what) {
                    Some(What::Request(Request { body: Body::Json { parts, .. }, .. })) => match parts.get(key) {
                        Some(Part::List(list)) => list.get(..first),
                        _ => None,
                    },
                    _ => None,
                };
                let missing =
                    || RunError::new(format!("exchange {exchange} has no list of at least {first} under this key"));
                (list.ok_or_else(missing)?.to_vec(), then)
            }
        };
        for hash in then {
            list.push(self.find(&hash)?);
        }
        Ok(Part::List(list))
    }

    fn find(&mut self, hash: &str) -> Result<Blob, RunError> {
        self.unused.remove(hash);
        self.ledger.blobs.find(hash).ok_or_else(|| RunError::new(format!("there is no value {hash} before this line")))
    }
}

fn read_unread(line: UnreadLine) -> Result<Unread, RunError> {
    let why = match (&*line.reason, line.detail) {
        ("too_large", None) => WhyUnread::TooLarge,
        ("encoding", Some(detail)) => WhyUnread::Encoding(detail),
        ("malformed", Some(detail)) => WhyUnread::Malformed(detail),
        _ => {
            return Err(RunError::new(
                "`unread` must have the reason `too_large`, or `encoding` or `malformed` with a `detail`",
            ));
        }
    };
    Ok(Unread { why, bytes: line.bytes, sha256: line.sha256 })
}
