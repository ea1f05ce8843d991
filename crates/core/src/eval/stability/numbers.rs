//! Calls as small numbers: equal tools, servers and canonical arguments get equal numbers across all runs.
//!
//! Arguments are written in canonical form once and sorted by hash, so that only texts with equal hashes are compared in
//! full. No crafted input makes this slow or wrong.

use std::collections::BTreeMap;

use sha2::{Digest as _, Sha256};

use super::session::{Dimensions, Measures};
use crate::json;
use crate::trace::{ToolCall, Trace};

/// Marks arguments that were not recorded.
pub(super) const UNRECORDED: u32 = u32::MAX;

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Call {
    pub(super) tool: u32,
    pub(super) server: u32,
    pub(super) args: u32,
}

/// The calls of each run; `None` for a run whose calls were not recorded.
pub(super) fn number(runs: &[&Trace]) -> Vec<Option<Vec<Call>>> {
    let mut numbering = Numbering::default();
    let mut out: Vec<_> =
        runs.iter().map(|trace| trace.tool_calls.as_ref().map(|calls| numbering.add(calls))).collect();
    let merged = numbering.arguments.merge();
    for calls in out.iter_mut().flatten() {
        renumber(calls, &merged);
    }
    out
}

/// Identifies arguments that are no longer in memory: a prefix of the hash of their canonical text, long enough to resist
/// deliberate collisions.
pub(crate) type ArgsKey = [u8; 12];

/// A compact form of one run: its session and its calls.
pub(crate) struct Digest<'a> {
    /// The sub-scores.
    pub(crate) session: Measures,
    /// The tool names, each once.
    pub(crate) tools: Vec<&'a str>,
    /// Index in `tools` and arguments of each call; `None` when the calls were not recorded or not requested.
    pub(crate) calls: Option<Vec<(u32, Option<ArgsKey>)>>,
}

impl<'a> Digest<'a> {
    /// Digests a run; the calls only if requested.
    pub(crate) fn of(trace: &'a Trace, with_calls: bool, dimensions: Dimensions) -> Self {
        let Some(recorded) = &trace.tool_calls else {
            return Self { session: Measures::of(trace, None, dimensions), tools: Vec::new(), calls: None };
        };
        let mut numbering = Numbering::default();
        let mut numbered = numbering.add(recorded);
        let Numbering { tools, arguments, .. } = numbering;
        let calls = with_calls.then(|| {
            let key = |args: u32| (args != UNRECORDED).then(|| arguments.key(args));
            numbered.iter().map(|call| (call.tool, key(call.args))).collect()
        });
        renumber(&mut numbered, &arguments.merge());
        let session = Measures::of(trace, Some(&numbered), dimensions);
        Self { session, tools: if with_calls { tools.names() } else { Vec::new() }, calls }
    }
}

/// Numbers given so far.
#[derive(Default)]
struct Numbering<'a> {
    tools: Numbers<'a>,
    servers: Numbers<'a>,
    arguments: Arguments,
}

impl<'a> Numbering<'a> {
    /// Numbers the calls of one run. Arguments get their index; `renumber` merges equal ones.
    fn add(&mut self, calls: &'a [ToolCall]) -> Vec<Call> {
        self.arguments.reserve(calls.len());
        let number = |call: &'a ToolCall| Call {
            tool: self.tools.of(Some(&call.name)),
            server: self.servers.of(call.server.as_deref()),
            args: call.args.as_ref().map_or(UNRECORDED, |args| self.arguments.add(args)),
        };
        calls.iter().map(number).collect()
    }
}

/// Gives equal arguments equal numbers.
fn renumber(calls: &mut [Call], merged: &[u32]) {
    for call in calls {
        call.args = merged.get(call.args as usize).copied().unwrap_or(UNRECORDED);
    }
}

/// Up to this many names are searched linearly; few runs use more tools.
const FEW: usize = 16;

/// Numbers for names, from 0 in order of appearance.
#[derive(Default)]
struct Numbers<'a> {
    /// In the order of their numbers.
    names: Vec<Option<&'a str>>,
    /// The same sorted, once there are more than `FEW`.
    sorted: BTreeMap<Option<&'a str>, u32>,
}

impl<'a> Numbers<'a> {
    fn of(&mut self, name: Option<&'a str>) -> u32 {
        let known = if self.names.len() <= FEW {
            self.names.iter().position(|known| *known == name).map(capped)
        } else {
            self.sorted.get(&name).copied()
        };
        known.unwrap_or_else(|| self.add(name))
    }

    fn add(&mut self, name: Option<&'a str>) -> u32 {
        let next = capped(self.names.len());
        self.names.push(name);
        if self.names.len() > FEW {
            let from = self.sorted.len();
            self.sorted.extend(self.names[from..].iter().copied().zip(capped(from)..));
        }
        next
    }

    /// The names, in the order of their numbers.
    fn names(&self) -> Vec<&'a str> {
        self.names.iter().map(|name| name.unwrap_or("")).collect()
    }
}

/// A trace with four billion calls does not fit in memory, so the cap is never reached.
fn capped(count: usize) -> u32 {
    u32::try_from(count).unwrap_or(UNRECORDED - 1)
}

/// Canonical arguments, end to end in one text.
#[derive(Default)]
struct Arguments {
    text: String,
    /// Hash and end of each.
    keys: Vec<(u64, usize)>,
}

impl Arguments {
    /// Reserves space for this many arguments of typical size.
    fn reserve(&mut self, count: usize) {
        self.keys.reserve(count);
        self.text.reserve(count * 96);
    }

    fn add(&mut self, args: &serde_json::Value) -> u32 {
        let start = self.text.len();
        json::write_canonical(args, &mut self.text);
        self.keys.push((hash(&self.text.as_bytes()[start..]), self.text.len()));
        capped(self.keys.len() - 1)
    }

    /// The canonical text at a place.
    fn text(&self, at: u32) -> &str {
        let at = at as usize;
        let start = if at == 0 { 0 } else { self.keys[at - 1].1 };
        &self.text[start..self.keys[at].1]
    }

    fn key(&self, at: u32) -> ArgsKey {
        let mut key = ArgsKey::default();
        key.copy_from_slice(&Sha256::digest(self.text(at))[..12]);
        key
    }

    /// For each, a number that equal ones share.
    fn merge(&self) -> Vec<u32> {
        let text = |at: u32| self.text(at);
        let mut order: Vec<(u64, u32)> = self.keys.iter().zip(0..).map(|((hash, _), at)| (*hash, at)).collect();
        order.sort_unstable();
        let mut merged: Vec<u32> = (0..capped(order.len())).collect();
        for same_hash in order.chunk_by_mut(|a, b| a.0 == b.0) {
            let first = same_hash[0].1;
            if same_hash.iter().any(|(_, at)| text(*at) != text(first)) {
                // Different texts with the same hash: sort them so that equal ones are adjacent.
                same_hash.sort_unstable_by(|a, b| text(a.1).cmp(text(b.1)).then(a.1.cmp(&b.1)));
            }
            for equal in same_hash.chunk_by(|a, b| a.1 == b.1 || text(a.1) == text(b.1)) {
                for (_, at) in equal {
                    merged[*at as usize] = equal[0].1;
                }
            }
        }
        merged
    }
}

/// A fast hash, eight bytes at a time. It only sorts keys: a collision costs a comparison, never a wrong number.
fn hash(bytes: &[u8]) -> u64 {
    let (words, rest) = bytes.as_chunks::<8>();
    let mut hash = 0xcbf2_9ce4_8422_2325_u64;
    let mut mix = |word: u64| hash = (hash ^ word).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(29);
    for word in words {
        mix(u64::from_le_bytes(*word));
    }
    for byte in rest {
        mix(u64::from(*byte));
    }
    hash
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn many_names_are_numbered_as_few_are() {
        let names: Vec<String> = (0..100).map(|n| format!("tool {}", n * 37 % 50)).collect();
        let mut numbers = Numbers::default();
        let found: Vec<u32> = names.iter().map(|name| numbers.of(Some(name))).collect();
        assert_eq!(found, (0..50).chain(0..50).collect::<Vec<u32>>());
        assert_eq!(numbers.names(), names[..50]);
    }

    #[test]
    fn equal_calls_share_numbers_across_runs_and_unequal_ones_do_not() {
        let read = |calls: serde_json::Value| Trace::from_envelope(&json!({ "tool_calls": calls })).unwrap();
        let a = read(json!([
            { "name": "f", "server": "s", "args": { "x": 1, "y": [2] } },
            { "name": "f", "server": "s", "args": { "y": [2.0], "x": 1 } },
            { "name": "f", "args": { "x": 1, "y": [2] } },
            { "name": "f", "server": "", "args": { "x": 1 } },
            { "name": "f", "server": "s" },
        ]));
        let b = read(json!([{ "name": "g", "server": "s", "args": { "x": 1, "y": [2] } }]));
        let blind = Trace::default();
        let numbered = number(&[&a, &blind, &b]);
        let (calls, other) = (numbered[0].as_ref().unwrap(), numbered[2].as_ref().unwrap());
        assert!(numbered[1].is_none());
        assert_eq!(calls[0], calls[1]);
        assert_eq!((calls[2].tool, calls[2].args), (calls[0].tool, calls[0].args));
        assert_ne!(calls[2].server, calls[0].server);
        assert_ne!(calls[3].server, calls[2].server);
        assert_ne!(calls[3].args, calls[0].args);
        assert_eq!(calls[4].args, UNRECORDED);
        assert_eq!((other[0].args, other[0].server), (calls[0].args, calls[0].server));
        assert_ne!(other[0].tool, calls[0].tool);
    }
}
