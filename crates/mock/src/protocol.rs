//! From a received message to what is to be sent, and when. Pure: no input or output, and time only as a number.
//!
//! `message` reads and writes JSON-RPC, `envelope` tells the two eras of the protocol apart, `methods` answers, `call`
//! answers calls of tools. Transports carry out the [`Plan`].

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

/// A server: what it offers and what goes wrong with it.
#[derive(Debug)]
pub struct Server {
    pub(crate) spec: Spec,
    pub(crate) faults: Faults,
}

/// What a message calls for.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Reaction {
    Ignore,
    /// The client no longer wants the answer to the request of this id.
    Cancel(Value),
    Answer(Plan),
}

/// An answer, or what comes in its place.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Plan {
    pub(crate) id: Value,
    /// How long to wait first.
    pub(crate) delay: Duration,
    /// Whether a cancellation stops it.
    pub(crate) cancellable: bool,
    /// The request was refused before anything was done for it; HTTP says so in its status.
    pub(crate) rejected: bool,
    pub(crate) send: Send,
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Send {
    Message(Value),
    Twice(Value),
    /// Bytes that are no message.
    Garbage,
    /// A message with a long text between its two parts.
    Flood(Flood),
    Close,
    Crash,
    /// Nothing, ever.
    Never,
}

/// A message that is too long to hold: what stands before and after so many mebibytes of one letter.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Flood {
    pub(crate) head: String,
    pub(crate) mib: u64,
    pub(crate) tail: String,
}

/// What a flood is made of, a piece at a time.
pub(crate) const FLOOD_PIECE: &[u8; 65_536] = &[b'x'; 65_536];

pub(crate) const PIECES_PER_MIB: u64 = 16;

/// What `garbage` sends: no JSON, no UTF-8, and no line end.
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
    /// A server that offers this and fails like that.
    pub fn new(spec: Spec, faults: Faults) -> Self {
        Self { spec, faults }
    }

    /// The run state it starts with.
    pub fn counters(&self) -> Counters {
        Counters::new(&self.spec, &self.faults)
    }

    /// What a message calls for.
    pub(crate) fn receive(&self, state: &mut Counters, session: &mut Session, message: Incoming, era: Era) -> Reaction {
        match message {
            Incoming::Request(request) => Reaction::Answer(match self.dispatch(state, session, &request, era) {
                Ok(plan) => plan,
                Err(refusal) => refusal.plan(request.id),
            }),
            Incoming::Notification { method, params } => match (method.as_str(), params.get("requestId")) {
                // A greeting may arrive without the handshake's end, and the other way round.
                ("notifications/initialized", _) => {
                    session.initialized = true;
                    Reaction::Ignore
                }
                ("notifications/cancelled", Some(id)) => Reaction::Cancel(id.clone()),
                _ => Reaction::Ignore,
            },
            // A server that asks nothing expects no answers.
            Incoming::Response => Reaction::Ignore,
        }
    }
}
