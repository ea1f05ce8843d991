//! Faults in real time: which fault hits a call or a model request while a program runs, and how long it lasted.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use mcptest_core::suite::Fault;
use mcptest_core::trace::{FaultEffect, FaultKind, ProgramFault};
use tokio::sync::Notify;

use crate::clock::Stopwatch;

/// The faults of one run. Clones share them.
#[derive(Debug, Clone)]
pub(super) struct Faults(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    started: Stopwatch,
    state: Mutex<State>,
    canceled: Notify,
}

#[derive(Debug, Default)]
struct State {
    /// In the order in which they apply, each with the number of matches so far.
    armed: Vec<(Fault, u64)>,
    hits: BTreeMap<usize, (ProgramFault, Option<At>)>,
    next: usize,
    /// Servers and ids of requests that the program canceled.
    canceled: BTreeSet<(String, String)>,
}

impl Faults {
    pub(super) fn new(armed: Vec<Fault>, started: Stopwatch) -> Self {
        let armed = armed.into_iter().map(|fault| (fault, 0)).collect();
        let state = Mutex::new(State { armed, ..State::default() });
        Self(Arc::new(Shared { started, state, canceled: Notify::new() }))
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The fault that hits a call: the first that matches.
    pub(super) fn fault_for_call(&self, server: &str, tool: &str) -> Option<ActiveFault> {
        self.next_match(|fault| {
            !fault.kind.targets_model()
                && fault.tool.as_deref().is_none_or(|name| name == tool)
                && fault.server.as_deref().is_none_or(|name| name == server)
        })
    }

    /// Whether any fault targets calls of a server.
    pub(super) fn targets_server(&self, server: &str) -> bool {
        let is_for = |fault: &Fault| fault.server.as_deref().is_none_or(|name| name == server);
        self.state().armed.iter().any(|(fault, _)| !fault.kind.targets_model() && is_for(fault))
    }

    /// The fault that hits a request to the model.
    pub(super) fn fault_for_model(&self) -> Option<ActiveFault> {
        self.next_match(|fault| fault.kind.targets_model())
    }

    fn next_match(&self, matches: impl Fn(&Fault) -> bool) -> Option<ActiveFault> {
        let mut state = self.state();
        let (fault, met) = state.armed.iter_mut().find(|(fault, _)| matches(fault))?;
        *met += 1;
        let is_limited = fault.failures > 0;
        if is_limited && *met > fault.failures {
            return None;
        }
        let fault = fault.clone();
        let number = state.next;
        state.next += 1;
        drop(state);
        let effect = match fault.kind {
            FaultKind::Hang | FaultKind::Wedged | FaultKind::RecoverAfter | FaultKind::Slow | FaultKind::ModelSlow => {
                FaultEffect::Timeout
            }
            _ => FaultEffect::Error,
        };
        Some(ActiveFault { faults: self.clone(), number, fault, effect, at: None, ms: self.0.started.ms() })
    }

    /// The program canceled a request.
    pub(super) fn cancel(&self, server: &str, id: &str) {
        self.state().canceled.insert((server.to_owned(), id.to_owned()));
        self.0.canceled.notify_waiters();
    }

    /// Waits until the program cancels a request.
    pub(super) async fn canceled(&self, server: &str, id: &str) {
        let key = (server.to_owned(), id.to_owned());
        loop {
            let mut notified = std::pin::pin!(self.0.canceled.notified());
            // Before the check, so that no notification is missed.
            notified.as_mut().enable();
            if self.state().canceled.contains(&key) {
                return;
            }
            notified.await;
        }
    }

    /// The faults that were hit so far, in order.
    pub(super) fn hits(&self) -> Vec<(ProgramFault, Option<At>)> {
        self.state().hits.values().cloned().collect()
    }
}

/// What a fault hit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum At {
    /// The entry of a call.
    Call(u64),
    /// The number of an exchange with the model.
    Model(u64),
}

/// A fault in effect. Its duration is measured until it is dropped.
#[derive(Debug)]
pub(super) struct ActiveFault {
    faults: Faults,
    number: usize,
    pub(super) fault: Fault,
    /// What the program sees if nothing else happens before the fault ends.
    effect: FaultEffect,
    pub(super) at: Option<At>,
    ms: u64,
}

impl ActiveFault {
    /// The answer came after all, late.
    pub(super) fn delayed(mut self) {
        self.effect = FaultEffect::Delay;
    }
}

impl Drop for ActiveFault {
    fn drop(&mut self) {
        let duration_ms = self.faults.0.started.ms().saturating_sub(self.ms);
        let Fault { name, kind, .. } = &self.fault;
        let fault = ProgramFault { duration_ms, effect: self.effect, kind: *kind, ms: self.ms, name: name.clone() };
        self.faults.state().hits.insert(self.number, (fault, self.at));
    }
}
