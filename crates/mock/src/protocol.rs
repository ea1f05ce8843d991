//! From a received message to what is sent, and when. Pure: no I/O, and time only as a number.
//!
//! `message` reads and writes JSON-RPC, `envelope` distinguishes the two eras of the protocol, `methods` answers requests, `call`
//! answers tool calls. Transports execute the [`Plan`].

mod call;
mod envelope;
mod message;
mod methods;

use std::time::Duration;

use serde_json::Value;

use crate::fault::Faults;
use crate::spec::Spec;
use crate::state::{Counters, Session};
pub(crate) use envelope::{Era, era_of, required_keys};
pub use envelope::{LEGACY_VERSIONS, MODERN_VERSION};
pub(crate) use message::{
    HEADER_MISMATCH, INVALID_REQUEST, Incoming, Request, error, id_text, parse, refuse, unsupported,
};

/// A server: what it offers and its faults.
#[derive(Debug)]
pub struct Server {
    pub(crate) spec: Spec,
    pub(crate) faults: Faults,
}

/// What to do about a message.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Reaction {
    Ignore,
    /// Cancel the answer to the request with this id.
    Cancel(Value),
    Answer(Plan),
}

/// An answer, or what is sent instead.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Plan {
    pub(crate) id: Value,
    pub(crate) delay: Duration,
    /// Whether a cancellation stops it.
    pub(crate) cancellable: bool,
    /// The request was rejected before it was executed; HTTP reports that in its status.
    pub(crate) rejected: bool,
    pub(crate) send: Send,
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Send {
    Message(Value),
    Twice(Value),
    /// Bytes that are not a message.
    Garbage,
    /// A message with a long text between its two parts.
    Flood(Flood),
    Close,
    Crash,
    Never,
}

/// A message that is too long to keep in memory: what comes before and after the mebibytes of one letter.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Flood {
    pub(crate) head: String,
    pub(crate) mib: u64,
    pub(crate) tail: String,
}

/// A piece of a flood.
pub(crate) const FLOOD_PIECE: &[u8; 65_536] = &[b'x'; 65_536];

pub(crate) const PIECES_PER_MIB: u64 = 16;

/// What `garbage` sends: neither JSON nor UTF-8, without a line end.
pub(crate) const GARBAGE: &[u8] = b"\xff\xfe{\"jsonrpc\": not json \xc3\x28";

impl Plan {
    pub(crate) fn now(id: Value, send: Send) -> Self {
        Self { id, delay: Duration::ZERO, cancellable: true, rejected: false, send }
    }

    /// A refusal of the request itself.
    pub(crate) fn reject(id: Value, reply: Value) -> Self {
        Self { rejected: true, ..Self::now(id, Send::Message(reply)) }
    }
}

impl Server {
    pub fn new(spec: Spec, faults: Faults) -> Self {
        Self { spec, faults }
    }

    pub fn counters(&self) -> Counters {
        Counters::new(&self.spec, &self.faults)
    }

    /// Decides what to do about a message.
    pub(crate) fn receive(&self, state: &mut Counters, session: &mut Session, message: Incoming, era: Era) -> Reaction {
        match message {
            Incoming::Request(request) => Reaction::Answer(match self.dispatch(state, session, &request, era) {
                Ok(plan) => plan,
                Err(refusal) => refusal.plan(request.id),
            }),
            Incoming::Notification { method, params } => match (method.as_str(), params.get("requestId")) {
                // This notification may arrive without a handshake, and a handshake may lack it.
                ("notifications/initialized", _) => {
                    session.initialized = true;
                    Reaction::Ignore
                }
                ("notifications/cancelled", Some(id)) => Reaction::Cancel(id.clone()),
                _ => Reaction::Ignore,
            },
            // This server sends no requests, so it expects no responses.
            Incoming::Response => Reaction::Ignore,
        }
    }
}
