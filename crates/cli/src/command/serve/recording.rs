//! A recording in progress: the proxies of `mcptest record`, around code that runs in another process.

use std::collections::BTreeMap;
use std::sync::mpsc::{self, Receiver};
use std::thread::{self, ScopedJoinHandle};

use mcptest_core::diag::{Code, Failure};
use mcptest_core::ledger::{self, Derived, Ledger, ProgramEnd, What};
use mcptest_core::redact::Redactor;
use mcptest_runner::clock::Stopwatch;
use mcptest_runner::mcp::Endpoint;
use mcptest_runner::process::Processes;
use mcptest_runner::record::{Recording, Setup};
use mcptest_runner::runtime;
use serde_json::{Value, json};
use tokio::sync::oneshot;

use super::protocol::{RecordFinish, RecordStart};
use crate::command::Stop;
use crate::command::record::{known_secrets, model_not_seen, out_of_resources, servers, upstreams};

/// What to do about clients that go past the proxies.
const HINT: &str = "create clients inside of the recorded block: they read where to connect from the environment when they are \
                    created. Clients that sign their requests (Bedrock, Vertex) cannot be recorded";

pub(super) struct Recorded<'scope> {
    /// Dropped, it ends the recording without a result.
    end: oneshot::Sender<()>,
    thread: ScopedJoinHandle<'scope, Option<(Ledger, Redactor, u64)>>,
}

type Variables = BTreeMap<String, String>;

impl<'scope> Recorded<'scope> {
    /// Starts the proxies. Returns the variables that lead to them.
    pub(super) fn start<'env>(
        asked: RecordStart,
        scope: &'scope thread::Scope<'scope, 'env>,
    ) -> Result<(Self, Variables), Stop> {
        let (started, is_started) = mpsc::channel();
        let (end, ends) = oneshot::channel();
        let record = move || match record(asked, &started, ends) {
            Ok(recorded) => recorded,
            Err(failure) => {
                // Once the variables were sent, nothing receives this.
                let _ = started.send(Err(failure));
                None
            }
        };
        let thread = thread::Builder::new().spawn_scoped(scope, record).map_err(|error| out_of_resources(&error))?;
        let variables = first(&is_started)?;
        Ok((Self { end, thread }, variables))
    }

    /// Ends the recording and returns its trace.
    pub(super) fn finish(self, finish: RecordFinish) -> Result<Value, Stop> {
        // It fails when the thread has ended, which is reported below.
        let _ = self.end.send(());
        let recorded = self.thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        let (ledger, redactor, duration_ms) =
            recorded.ok_or_else(|| Stop("error: the recording ended before its block did".to_owned()))?;
        let is_whole = finish.incomplete.is_none();
        let end = ProgramEnd {
            answer: finish.answer.map(|answer| redactor.text(&answer).into_owned()),
            exit: None,
            failed: None,
            output: None,
            incomplete: finish.incomplete.map(|why| redactor.text(&why).into_owned()),
            duration_ms: Some(duration_ms),
            account: None,
        };
        let Derived { trace, notes, model_unseen, seen, .. } = ledger::trace(&ledger, end);
        // Without a model and without servers there is nothing that a check could be about.
        let is_expected = finish.model_unseen && !ledger.servers.is_empty();
        if is_whole && model_unseen && !is_expected {
            return Err(model_not_seen(HINT).into());
        }
        if let Some(server) = unconnected(&ledger).filter(|_| is_whole) {
            let message = format!("server `{server}` was not seen: no client connected to it");
            return Err(Failure::error((), message).code(Code::ServerNotUsed).hint(HINT).into());
        }
        let ledger = finish.ledger.then(|| ledger.to_lines());
        Ok(json!({ "trace": trace.to_envelope(), "observed": seen.observed(), "notes": notes, "ledger": ledger }))
    }
}

/// The first server that received no message.
fn unconnected(ledger: &Ledger) -> Option<&String> {
    let is_connected = |server: &&String| {
        ledger.entries.iter().any(|entry| matches!(&entry.what, What::Mcp(mcp) if mcp.server == **server))
    };
    ledger.servers.iter().find(|server| !is_connected(server))
}

fn first(is_started: &Receiver<Result<Variables, Failure>>) -> Result<Variables, Stop> {
    match is_started.recv() {
        Ok(started) => started.map_err(Stop::from),
        Err(_) => Err(Stop("error: the recording could not be started".to_owned())),
    }
}

/// Records until the end is sent.
fn record(
    asked: RecordStart,
    started: &mpsc::Sender<Result<Variables, Failure>>,
    ends: oneshot::Receiver<()>,
) -> Result<Option<(Ledger, Redactor, u64)>, Failure> {
    let RecordStart { servers, environment, folder } = asked;
    let mut endpoints = servers::read(&servers)?;
    for (_, endpoint) in &mut endpoints {
        if let Endpoint::Command(launch) = endpoint {
            // The program may have changed its environment and its folder since it started this process.
            let own = std::mem::replace(&mut launch.env, environment.clone());
            launch.env.extend(own);
            launch.cwd = folder.clone().map(Into::into);
        }
    }
    let names: Vec<String> = environment.keys().cloned().collect();
    let lookup = |name: &str| environment.get(name).cloned();
    let shim = std::env::current_exe().map_err(|error| out_of_resources(&error))?;
    let processes = Processes::default();
    let setup = Setup {
        faults: Vec::new(),
        secrets: known_secrets(&lookup, &names, &endpoints),
        servers: endpoints,
        processes: processes.clone(),
        upstreams: upstreams(&lookup)?,
        shim: &shim,
        no_proxy: lookup("NO_PROXY").or_else(|| lookup("no_proxy")),
        rerun: None,
    };
    let runtime = runtime::build().map_err(|error| out_of_resources(&error))?;
    runtime.block_on(async {
        let watch = Stopwatch::start();
        let recording = Recording::start(setup).await.map_err(|error| out_of_resources(&error))?;
        let is_awaited = started.send(Ok(recording.variables())).is_ok() && ends.await.is_ok();
        let duration_ms = watch.ms();
        let (ledger, redactor) = recording.finish().await;
        processes.end_all().await;
        Ok(is_awaited.then_some((ledger, redactor, duration_ms)))
    })
}
