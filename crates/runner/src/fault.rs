//! Fault injection: what happens to a call instead of, or in addition to, reaching its server. Time is a number; nothing sleeps.

use mcptest_core::ledger::error_result;
use mcptest_core::suite::{AgentTest, Fault};
use mcptest_core::trace::{ErrorKind, FaultEffect, FaultKind, FaultMark, ToolResult};

/// The faults of one run.
#[derive(Debug, Clone)]
pub struct Faults<'a> {
    armed: Vec<(&'a Fault, u64)>,
    budget_ms: u64,
}

/// What to do with a call.
#[derive(Debug, Clone, PartialEq)]
pub enum FaultAction {
    /// Send it to its server.
    Send,
    /// Send it to its server, and mark the answer.
    SendMarked(FaultMark),
    /// Do not send it; this is its answer.
    Answer(Box<ToolResult>),
}

impl<'a> Faults<'a> {
    /// The faults a test injects, with the time budget of its `recovery` gate.
    pub fn new(test: &AgentTest, all: &'a [Fault]) -> Self {
        let budget_ms = test.gates.detection_budget_ms();
        Self { armed: test.inject.iter().filter_map(|at| all.get(*at)).map(|fault| (fault, 0)).collect(), budget_ms }
    }

    /// Decides about one call; the first matching fault applies.
    pub fn next_action(&mut self, server: &str, tool: &str) -> FaultAction {
        let matches = |fault: &Fault| {
            !fault.kind.targets_model()
                && fault.tool.as_deref().is_none_or(|name| name == tool)
                && fault.server.as_deref().is_none_or(|name| name == server)
        };
        let Some((fault, met)) = self.armed.iter_mut().find(|(fault, _)| matches(fault)) else {
            return FaultAction::Send;
        };
        *met += 1;
        let budget = self.budget_ms;
        let mark = |effect, ms| FaultMark { name: fault.name.clone(), kind: fault.kind, effect, ms };
        let answer = |kind, code, message: &str, mark| {
            let result = error_result(kind, code, message);
            FaultAction::Answer(Box::new(ToolResult { fault: Some(Box::new(mark)), ..result }))
        };
        let timeout = || {
            let message = format!("no answer within {budget} ms");
            answer(ErrorKind::Timeout, None, &message, mark(FaultEffect::Timeout, budget))
        };
        match fault.kind {
            FaultKind::Hang | FaultKind::Wedged => timeout(),
            FaultKind::RecoverAfter if *met <= fault.failures => timeout(),
            FaultKind::RecoverAfter => FaultAction::Send,
            FaultKind::Slow if fault.delay_ms >= budget => timeout(),
            FaultKind::Slow => FaultAction::SendMarked(mark(FaultEffect::Delay, fault.delay_ms)),
            FaultKind::Error => {
                let message = "internal error";
                answer(ErrorKind::Jsonrpc, Some(-32_603), message, mark(FaultEffect::Error, 0))
            }
            FaultKind::IsError => answer(ErrorKind::Tool, None, "the tool failed", mark(FaultEffect::Error, 0)),
            // Model faults exist only for programs.
            FaultKind::ModelError | FaultKind::ModelSlow | FaultKind::ModelCut | FaultKind::ModelGarbage => {
                FaultAction::Send
            }
            FaultKind::Drop => {
                answer(ErrorKind::Transport, None, "the connection was closed", mark(FaultEffect::Error, 0))
            }
        }
    }
}
