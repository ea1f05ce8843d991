//! Ctrl-C and TERM: the first lets runs end in order, the second ends everything at once.

use std::thread;

use mcptest_runner::interrupt::Interrupt;
use mcptest_runner::process::Processes;

use crate::exit;

/// What a signal reaches.
#[derive(Debug, Default, Clone)]
pub(crate) struct Signals {
    pub(crate) interrupt: Interrupt,
    pub(crate) processes: Processes,
}

impl Signals {
    /// Waits for signals on a thread of its own, for as long as the program lives.
    pub(crate) fn listen(&self) {
        let all = self.clone();
        thread::spawn(move || {
            // Without signals the system's own way remains: the program ends at once.
            let Ok(runtime) = tokio::runtime::Builder::new_current_thread().enable_all().build() else { return };
            runtime.block_on(async {
                if !signal().await {
                    return;
                }
                all.interrupt.set();
                if signal().await {
                    all.processes.end_all().await;
                    leave();
                }
            });
        });
    }
}

#[expect(clippy::exit, reason = "the user asked twice, and the threads that could return may hang")]
fn leave() {
    std::process::exit(i32::from(exit::INTERRUPTED));
}

/// Waits for Ctrl-C or TERM; `false` when the system does not tell.
#[cfg(unix)]
async fn signal() -> bool {
    use tokio::signal::unix::{SignalKind, signal};
    let (Ok(mut interrupt), Ok(mut terminate)) = (signal(SignalKind::interrupt()), signal(SignalKind::terminate()))
    else {
        return false;
    };
    tokio::select! {
        told = interrupt.recv() => told.is_some(),
        told = terminate.recv() => told.is_some(),
    }
}

/// Waits for Ctrl-C; `false` when the system does not tell.
#[cfg(not(unix))]
async fn signal() -> bool {
    tokio::signal::ctrl_c().await.is_ok()
}
