//! Mutants that are equal to the original or to an earlier mutant.

use std::collections::BTreeSet;

use serde::Serialize;
use sha2::{Digest as _, Sha256};

use super::edit::{Edit, swap_calls};
use crate::json::Layout;
use crate::trace::{ToolCall, ToolResult, Trace};

type Key = [u8; 16];

/// Digests of everything that was judged. Only what a change touches is digested again.
#[derive(Debug, Default)]
pub(super) struct Seen {
    all: BTreeSet<(Key, Key)>,
    /// The whole run that is being changed.
    whole: Key,
    calls: Vec<(Key, Key)>,
}

impl Seen {
    /// Starts with another run.
    pub(super) fn original(&mut self, run: usize, trace: &Trace) {
        let calls = trace.tool_calls.iter().flatten().enumerate();
        self.calls = calls.map(|(at, call)| row(call, trace.result(at))).collect();
        self.whole = digest(trace);
        // Changes that have no effect.
        for edit in [
            Edit::Splice { at: 0, remove: 0, put: Vec::new() },
            Edit::Message(trace.final_response.clone().unwrap_or_default()),
            Edit::Tokens(trace.conversation.tokens),
        ] {
            self.is_new(run, &edit, trace);
        }
    }

    /// Whether a change gives a trace that was not judged yet. Runs that are equal share their mutants.
    pub(super) fn is_new(&mut self, run: usize, edit: &Edit, trace: &Trace) -> bool {
        let mut calls = self.calls.clone();
        let key = match edit {
            Edit::Splice { at, remove, put } => {
                let rows: Vec<_> = put.iter().map(|(call, result)| row(call, result.as_ref())).collect();
                calls.splice(*at..at + remove, rows);
                fold(&calls)
            }
            Edit::Swap(at) => {
                if let Some([first, second]) = trace.tool_calls.as_ref().and_then(|calls| calls.get(*at..at + 2)) {
                    let (mut first, mut second) = (first.clone(), second.clone());
                    swap_calls(&mut first, &mut second);
                    calls.swap(*at, at + 1);
                    (calls[*at].0, calls[at + 1].0) = (digest(&first), digest(&second));
                }
                fold(&calls)
            }
            Edit::Call { at, call } => {
                calls[*at].0 = digest(call);
                fold(&calls)
            }
            Edit::Result { at, result } => {
                calls[*at].1 = result.as_ref().map_or_else(Key::default, digest);
                fold(&calls)
            }
            Edit::Message(text) => digest(&("message", text)),
            Edit::Tokens(tokens) => digest(&("tokens", tokens)),
            Edit::Outcome => digest(&("outcome", run)),
        };
        self.all.insert((self.whole, key))
    }
}

fn row(call: &ToolCall, result: Option<&ToolResult>) -> (Key, Key) {
    (digest(call), result.map_or_else(Key::default, digest))
}

fn digest(value: &(impl Serialize + ?Sized)) -> Key {
    key(Sha256::new().chain_update(Layout::LINE.text(value)))
}

fn fold(calls: &[(Key, Key)]) -> Key {
    let mut hash = Sha256::new();
    for (call, result) in calls {
        hash.update(call);
        hash.update(result);
    }
    key(hash)
}

fn key(hash: Sha256) -> Key {
    let mut key = Key::default();
    key.copy_from_slice(&hash.finalize()[..16]);
    key
}
