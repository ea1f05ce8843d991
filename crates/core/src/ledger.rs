//! What passed between a program and its two counterparts: its MCP servers and its model.
//!
//! A recorder is on both sides and records every message. One counter orders both ledgers. A pure function derives the
//! trace from them alone. See docs/decisions/0008-two-ledgers.md.
//!
//! A model request repeats the whole conversation so far. Its messages, tools and system prompt are therefore kept once, as
//! [`Blobs`], and a request refers to them: a ledger grows with the conversation, not with its square.

mod account;
mod derive;
mod file;
mod interface;
mod outcome;
mod redact;
pub mod rerun;
mod result;
mod seen;
mod stream;

use std::collections::BTreeMap;
use std::fmt;

use serde_json::Value;

pub use derive::{Derived, ProgramEnd, trace};
pub use file::LedgerError;
pub use interface::Interface;
pub use outcome::{Ended, ProgramResult, outcome, url_variable};
pub use result::{error_result, invalid_result, mcp_result, message_of};
pub use seen::{Seen, ServerSeen};
pub use stream::Reply;

use crate::json;
use crate::redact::hash;
use crate::trace::{ProgramFault, words};

/// Deepest nesting of a value in a ledger. A line adds some levels around it, and must be readable again.
const MAX_DEPTH: usize = json::MAX_DEPTH - 8;

/// Parses JSON for a ledger. What can be read in two ways, or is nested too deep, is not kept.
pub fn parse(text: &str) -> Result<Value, WhyUnread> {
    let value = json::parse(text).map_err(|error| WhyUnread::Malformed(error.to_string()))?;
    if json::deeper_than(&value, MAX_DEPTH) {
        return Err(WhyUnread::Malformed(format!("it is nested more than {MAX_DEPTH} levels deep")));
    }
    Ok(value)
}

/// The two ledgers of one run.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Ledger {
    /// The servers that the program was given, by name.
    pub servers: Vec<String>,
    /// In the order of [`Entry::seq`].
    pub entries: Vec<Entry>,
    /// What the entries refer to.
    pub blobs: Blobs,
    /// The injected faults that took effect, in order. A ledger of version 1 does not have them.
    pub fault_hits: Vec<FaultHit>,
}

/// An injected fault that took effect.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FaultHit {
    pub fault: ProgramFault,
    /// The position of the call or of the model request that it hit.
    pub seq: u64,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Entry {
    /// The position in both ledgers.
    pub seq: u64,
    /// Milliseconds since the recording began.
    pub ms: u64,
    pub what: What,
}

#[derive(Debug, Clone, PartialEq)]
pub enum What {
    Mcp(Mcp),
    Request(Request),
    Response(Response),
}

/// A JSON-RPC message between the program and a server.
#[derive(Debug, Clone, PartialEq)]
pub struct Mcp {
    pub server: String,
    /// The connection, counted from 0 over all servers. A session of the legacy era is one connection, and so is a pipe. All
    /// requests of the modern era to one server are one connection.
    pub connection: u64,
    pub from: Side,
    pub message: Message,
    /// Over HTTP: the `seq` of the program's message whose response brought this one. `None` for pipes, and for a stream that
    /// answers no message.
    pub reply_to: Option<u64>,
    /// The HTTP status of the response that brought it, if it was not 200. A ledger of version 1 does not have it.
    pub status: Option<u16>,
}

#[derive(Debug, Clone, PartialEq)]
pub enum Message {
    Json(Value),
    /// It was too large to keep, or was not JSON.
    Unread(Unread),
    /// An HTTP response without a message: its status.
    Status(u16),
    /// The connection ended, or with [`Mcp::reply_to`] the HTTP response to one message. The text says how.
    End(String),
}

words! {
    Side {
        Program = "program",
        Server = "server",
    }
}

/// The request of a model exchange.
#[derive(Debug, Clone, PartialEq)]
pub struct Request {
    /// Counted from 0 in the order of requests. The response has the same number.
    pub exchange: u64,
    /// `None` for a path that is not one of the four interfaces.
    pub interface: Option<Interface>,
    pub method: String,
    /// Below the base URL of the provider, such as `/v1/messages`.
    pub path: String,
    /// What is kept of the query: `alt`, `beta`, `api-version`.
    pub query: Option<String>,
    pub body: Body,
}

/// The response of a model exchange. It is entered when it ends.
#[derive(Debug, Clone, PartialEq)]
pub struct Response {
    pub exchange: u64,
    /// When its first byte arrived, in milliseconds since the recording began.
    pub first_ms: u64,
    /// `None` if no response came; `end` says why.
    pub status: Option<u16>,
    /// Content type, `retry-after` and the API version headers.
    pub headers: BTreeMap<String, String>,
    pub body: Body,
    pub end: End,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum End {
    Complete,
    /// The upstream broke it off, or could not be reached.
    Upstream(String),
    /// The program closed the connection first.
    Program,
}

#[derive(Debug, Clone, PartialEq)]
pub enum Body {
    Empty,
    /// A JSON object without the parts that are kept once.
    Json {
        rest: Value,
        parts: BTreeMap<String, Part>,
    },
    /// An event stream: the data of each event.
    Events(Vec<Event>),
    /// Not JSON.
    Text(String),
    Unread(Unread),
}

/// A part of a request that is kept once.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Part {
    One(Blob),
    List(Vec<Blob>),
}

/// An event of a stream. `data` is JSON where it can be parsed, else text (`[DONE]`).
#[derive(Debug, Clone, PartialEq)]
pub struct Event {
    pub name: Option<String>,
    pub data: Value,
}

/// A body that was not kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unread {
    pub why: WhyUnread,
    pub bytes: u64,
    pub sha256: String,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum WhyUnread {
    /// Larger than what is kept.
    TooLarge,
    /// In an encoding that is not known.
    Encoding(String),
    /// Its encoding, its JSON or its text is broken.
    Malformed(String),
}

impl fmt::Display for WhyUnread {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TooLarge => f.write_str("it is larger than what is kept"),
            Self::Encoding(encoding) => write!(f, "it has the encoding {encoding:?}, which is not known"),
            Self::Malformed(why) => write!(f, "it is malformed: {why}"),
        }
    }
}

/// The number of a value in [`Blobs`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Blob(usize);

/// Values that are kept once, by their hash.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Blobs {
    values: Vec<(String, Value)>,
    by_hash: BTreeMap<String, Blob>,
}

impl Blobs {
    pub fn add(&mut self, value: Value) -> Blob {
        let hash = hash(json::canonical(&value).as_bytes());
        if let Some(&known) = self.by_hash.get(&hash) {
            return known;
        }
        let blob = Blob(self.values.len());
        self.by_hash.insert(hash.clone(), blob);
        self.values.push((hash, value));
        blob
    }

    pub fn get(&self, blob: Blob) -> &Value {
        self.values.get(blob.0).map_or(&Value::Null, |(_, value)| value)
    }

    fn find(&self, hash: &str) -> Option<Blob> {
        self.by_hash.get(hash).copied()
    }

    /// The SHA-256 of its canonical JSON.
    pub fn hash(&self, blob: Blob) -> &str {
        self.values.get(blob.0).map_or("", |(hash, _)| hash)
    }
}

impl Body {
    /// A JSON body. The parts of a request that the next one repeats go into `blobs`.
    pub fn json(mut body: Value, interface: Option<Interface>, blobs: &mut Blobs) -> Self {
        let mut parts = BTreeMap::new();
        if let (Value::Object(map), Some(interface)) = (&mut body, interface) {
            for key in interface.repeated() {
                let part = match map.remove(*key) {
                    None => continue,
                    Some(Value::Array(items)) => Part::List(items.into_iter().map(|item| blobs.add(item)).collect()),
                    Some(one) => Part::One(blobs.add(one)),
                };
                parts.insert((*key).to_owned(), part);
            }
        }
        Self::Json { rest: body, parts }
    }
}
