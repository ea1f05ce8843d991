//! Changes that the configuration allows explicitly.
//!
//! A change that a gate does not mention (no `args`, no `server`) is missed, not allowed. Only explicit settings allow a
//! change: `args: any`, `ignore_args`, `optional: true`, `within_turn: any_order`, `mode: unordered`.

use super::sites::Place;
use super::{Operator, args};
use crate::eval::{MatchMode, TrajectoryGate, WithinTurn};
use crate::suite::Gates;
use crate::trace::Trace;

/// What `trajectory` allows in one run.
#[derive(Debug)]
pub(super) struct Allowed<'g> {
    gate: Option<&'g TrajectoryGate>,
    /// The expectation that each call meets.
    expected: Vec<Option<usize>>,
}

impl<'g> Allowed<'g> {
    pub(super) fn of(gates: &'g Gates, trace: &Trace) -> Self {
        let mut expected = vec![None; trace.tool_calls.as_ref().map_or(0, Vec::len)];
        if let Some(gate) = &gates.trajectory {
            for (at, call) in gate.evaluate(trace).detail.matched.iter().enumerate() {
                if let Some(slot) = call.and_then(|call| expected.get_mut(call)) {
                    *slot = Some(at);
                }
            }
        }
        Self { gate: gates.trajectory.as_ref(), expected }
    }

    /// Why the configuration allows a change that every check passes.
    pub(super) fn why(&self, operator: Operator, place: &Place, trace: &Trace) -> Option<String> {
        let gate = self.gate?;
        let calls = trace.tool_calls.as_deref()?;
        let expected = |at: usize| self.expected.get(at).copied().flatten();
        let optional = |at: usize| {
            let expected = expected(at)?;
            gate.reference().nth(expected).filter(|(_, is_optional)| *is_optional).map(|(name, _)| (expected, name))
        };
        match operator {
            Operator::DropCall => {
                let (at, name) = optional(place.at)?;
                Some(format!("calls[{at}] ({name}) is optional"))
            }
            Operator::CutTail => {
                let are_optional = (place.at..calls.len()).all(|at| optional(at).is_some());
                are_optional.then(|| "all of these calls are optional".to_owned())
            }
            Operator::SwapCalls => {
                let [first, second] = [calls.get(place.at)?.turn, calls.get(place.at + 1)?.turn];
                if gate.mode() == MatchMode::Unordered {
                    Some("`mode: unordered` allows any order".to_owned())
                } else if gate.within_turn() == WithinTurn::AnyOrder && first.is_some() && first == second {
                    Some("both calls are in one turn, and `within_turn: any_order` allows any order".to_owned())
                } else {
                    None
                }
            }
            _ => {
                let path = place.path.as_ref()?;
                let at = expected(place.at)?;
                let name = &calls.get(place.at)?.name;
                if gate.allows_any_args(at) {
                    return Some(format!("calls[{at}] ({name}) allows any arguments"));
                }
                let ignored = gate.ignored_by(at, &args::pointer(path))?;
                Some(format!("`ignore_args` of calls[{at}] ({name}) has {ignored}"))
            }
        }
    }
}
