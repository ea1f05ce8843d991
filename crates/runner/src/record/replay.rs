//! Answers from a ledger instead of real models and servers, for a program that runs again.
//!
//! Nothing here opens a connection to another host. `model` answers model requests; the endpoints of recorded servers are
//! next to those of real ones.

mod model;

use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

use mcptest_core::json;
use mcptest_core::ledger::Ledger;
use mcptest_core::ledger::rerun::{Rerun, RerunRequest, Step};
use mcptest_core::redact::{MARK, Redactor};
use serde_json::Value;
use tokio::sync::watch;
use tokio::time::timeout;

/// How long a request waits for those that were recorded before it, since the last request of the program. They may come
/// from another part of the program that is slower today.
const PATIENCE: Duration = Duration::from_secs(5);

/// How long sent data may take to arrive before a response breaks off.
pub(super) const BREAK: Duration = Duration::from_millis(10);

/// Where the proxies find answers. Clones share one recorded world.
#[derive(Debug, Clone)]
pub struct Player(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    rerun: Mutex<Rerun>,
    /// Counts what happened.
    moved: watch::Sender<u64>,
    /// A placeholder in the recording, and its value in this run.
    values: OnceLock<Vec<(String, String)>>,
}

impl Player {
    pub fn new(rerun: Rerun) -> Self {
        Self(Arc::new(Inner { rerun: Mutex::new(rerun), moved: watch::Sender::new(0), values: OnceLock::new() }))
    }

    pub(super) fn rerun(&self) -> MutexGuard<'_, Rerun> {
        // Every change is complete when the lock is released.
        self.0.rerun.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// From now on, requests are redacted before they are compared, and responses contain the values of this run.
    pub(super) fn set_secrets(&self, redactor: Redactor, secrets: Vec<(String, String)>) {
        self.rerun().redact(redactor);
        let marked = |(name, value): (String, String)| {
            let quoted = json::canonical(&Value::String(value));
            (format!("{MARK}{name}]"), quoted.trim_matches('"').to_owned())
        };
        let _ = self.0.values.set(secrets.into_iter().map(marked).collect());
    }

    /// JSON or a text of the recording with the values of this run: paths, and values that are made up.
    pub(super) fn restored(&self, mut text: String) -> String {
        for (mark, value) in self.0.values.get().into_iter().flatten() {
            if text.contains(MARK) {
                text = text.replace(mark, value);
            }
        }
        text
    }

    pub(super) fn moved(&self) {
        self.0.moved.send_modify(|count| *count += 1);
    }

    /// Waits until the program has diverged from the recording.
    pub async fn diverged(&self) {
        let mut moved = self.0.moved.subscribe();
        // It does not fail: the sender is here.
        while self.rerun().diverged().is_none() && moved.changed().await.is_ok() {}
    }

    /// How the program has diverged so far.
    pub fn divergence(&self) -> Option<String> {
        self.rerun().diverged().map(str::to_owned)
    }

    /// The program has ended. Returns what to say about what did not come and need not.
    pub fn finish(&self) -> Vec<String> {
        self.rerun().finish()
    }

    /// The first answer of a restarted server that is not the recorded one.
    pub fn changed_answer(&self, live: &Ledger) -> Option<String> {
        self.rerun().changed_answer(live)
    }

    /// The ledger of what happened.
    pub fn happened(&self, live: Option<&Ledger>) -> Ledger {
        self.rerun().happened(live)
    }

    /// Finds the answer to a request, and waits for the requests that must come before it. `None` if the program has diverged.
    pub(super) async fn ask<T>(&self, asked: RerunRequest, read: impl Fn(Step<'_>) -> Option<T>) -> Option<T> {
        self.moved();
        let mut moved = self.0.moved.subscribe();
        loop {
            let found = {
                let mut rerun = self.rerun();
                match rerun.take(&asked) {
                    Step::Early => None,
                    step => Some(read(step)),
                }
            };
            if let Some(found) = found {
                self.moved();
                return found;
            }
            if timeout(PATIENCE, moved.changed()).await.is_err() {
                self.rerun().give_up(&asked);
                self.moved();
                return None;
            }
        }
    }

    /// Whether a message of the program to a restarted server was recorded. It waits for the messages that must come
    /// before.
    pub(super) async fn admits(&self, server: &str, text: &[u8], is_whole: bool) -> bool {
        let message = str::from_utf8(text).ok().and_then(|text| json::parse(text).ok());
        let asked = {
            let mut rerun = self.rerun();
            match message {
                Some(message) => rerun.mcp(server, &message).or_else(|| {
                    rerun.pass(server, &message);
                    None
                }),
                // The server will report what is wrong.
                None if is_whole => None,
                None => {
                    rerun.too_large(server);
                    drop(rerun);
                    self.moved();
                    return false;
                }
            }
        };
        match asked {
            None => self.divergence().is_none(),
            Some(asked) => self.ask(asked, |step| matches!(step, Step::Mcp(_)).then_some(())).await.is_some(),
        }
    }

    /// The error that clients get after a divergence.
    pub(super) fn refusal(&self) -> String {
        let how = self.divergence().unwrap_or_default();
        format!("the program diverged from its recording: {}", how.lines().next().unwrap_or_default())
    }
}
