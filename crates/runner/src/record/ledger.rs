//! Collects both ledgers in memory. Nothing is written to disk before all of it is redacted.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use mcptest_core::ledger::{Body, Entry, FaultHit, Interface, Ledger, Mcp, Request, Response, What};
use mcptest_core::redact::Redactor;
use mcptest_core::suite::Fault;

use super::fault::{At, Faults};
use crate::clock::Stopwatch;

/// Where proxies report what passed. Clones share one pair of ledgers.
#[derive(Clone)]
pub(super) struct Recorder(Arc<Shared>);

struct Shared {
    started: Stopwatch,
    faults: Faults,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    ledger: Ledger,
    exchanges: u64,
    connections: u64,
    /// Values that were seen as credentials, with the names that replace them.
    secrets: Vec<(String, String)>,
}

impl std::fmt::Debug for Recorder {
    /// What was recorded contains secrets.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Recorder").field("entries", &self.state().ledger.entries.len()).finish_non_exhaustive()
    }
}

/// What a model request is about, before it is recorded.
#[derive(Debug)]
pub(super) struct PendingModelRequest {
    pub(super) interface: Option<Interface>,
    pub(super) method: String,
    pub(super) path: String,
    pub(super) query: Option<String>,
}

impl Recorder {
    /// Starts the clock. `secrets` are names and values that are known from the start.
    pub(super) fn new(servers: Vec<String>, secrets: Vec<(String, String)>, faults: Vec<Fault>) -> Self {
        let state = State { ledger: Ledger { servers, ..Ledger::default() }, secrets, ..State::default() };
        let started = Stopwatch::start();
        let faults = Faults::new(faults, started);
        Self(Arc::new(Shared { started, faults, state: Mutex::new(state) }))
    }

    fn state(&self) -> MutexGuard<'_, State> {
        // Every change is complete when the lock is released.
        self.0.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn faults(&self) -> &Faults {
        &self.0.faults
    }

    /// Milliseconds since the recording began.
    pub(super) fn ms(&self) -> u64 {
        self.0.started.ms()
    }

    /// The number of a new connection to a server.
    pub(super) fn connection(&self) -> u64 {
        let mut state = self.state();
        state.connections += 1;
        state.connections - 1
    }

    /// A credential that passed. It is redacted wherever it occurs, also in what was entered before.
    pub(super) fn learn(&self, name: &str, value: &str) {
        let mut state = self.state();
        if !state.secrets.iter().any(|(_, known)| known == value) {
            state.secrets.push((name.to_owned(), value.to_owned()));
        }
    }

    /// A message between the program and a server. Returns its number.
    pub(super) fn mcp(&self, mcp: Mcp) -> u64 {
        self.enter(&mut self.state(), What::Mcp(mcp))
    }

    /// The number of a new exchange with a model.
    pub(super) fn exchange(&self) -> u64 {
        let mut state = self.state();
        state.exchanges += 1;
        state.exchanges - 1
    }

    pub(super) fn request(&self, exchange: u64, asked: PendingModelRequest, body: Body) {
        let mut state = self.state();
        let PendingModelRequest { interface, method, path, query } = asked;
        let body = match body {
            Body::Json { rest, .. } => Body::json(rest, interface, &mut state.ledger.blobs),
            other => other,
        };
        self.enter(&mut state, What::Request(Request { exchange, interface, method, path, query, body }));
    }

    pub(super) fn response(&self, response: Response) {
        self.enter(&mut self.state(), What::Response(response));
    }

    fn enter(&self, state: &mut State, what: What) -> u64 {
        let seq = state.ledger.entries.len() as u64;
        state.ledger.entries.push(Entry { seq, ms: self.ms(), what });
        seq
    }

    /// Names and values of all secrets so far.
    pub(super) fn secrets(&self) -> Vec<(String, String)> {
        self.state().secrets.clone()
    }

    /// The redactor that knows all secrets so far.
    pub(super) fn redactor(&self) -> Redactor {
        let mut secrets: BTreeMap<String, String> = BTreeMap::new();
        // The first name of a value counts: the name of a variable is more useful than that of a header.
        for (name, value) in &self.state().secrets {
            secrets.entry(value.clone()).or_insert_with(|| name.clone());
        }
        Redactor::new(secrets.into_iter().map(|(value, name)| (name, value)))
    }

    /// The ledgers so far without secrets, and the redactor that knows all of them.
    pub(super) fn finish(&self) -> (Ledger, Redactor) {
        let redactor = self.redactor();
        let mut ledger = std::mem::take(&mut self.state().ledger);
        ledger.fault_hits = fault_hits(&self.0.faults, &ledger.entries);
        (ledger.redacted(&redactor), redactor)
    }
}

/// The faults that took effect, with the entries that they hit.
fn fault_hits(faults: &Faults, entries: &[Entry]) -> Vec<FaultHit> {
    let request = |number: u64| {
        let found = entries.iter().find(|entry| matches!(&entry.what, What::Request(one) if one.exchange == number));
        found.map(|entry| entry.seq)
    };
    let hit = |(fault, at)| {
        let seq = match at {
            Some(At::Call(seq)) => Some(seq),
            Some(At::Model(number)) => request(number),
            None => None,
        };
        Some(FaultHit { fault, seq: seq? })
    };
    faults.hits().into_iter().filter_map(hit).collect()
}
