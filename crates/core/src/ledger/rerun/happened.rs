//! The ledger of a rerun.
//!
//! Every request that came is one that was recorded, so the ledger has the recorded entries of those that came, with the
//! recorded times in the recorded order. So the trace is the same every time, however fast the machine is. The answers of
//! restarted servers replace the recorded ones.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use serde_json::Value;

use super::key::{self, Keys};
use super::recorded::{McpEnd, Of, is_compared};
use super::{Rerun, difference};
use crate::ledger::derive::mcp;
use crate::ledger::{Entry, Ledger, Mcp, Message, Side, What};

impl Rerun {
    /// The ledger of the rerun. `live` has the messages between the program and restarted servers.
    pub fn happened(&self, live: Option<&Ledger>) -> Ledger {
        let came: BTreeSet<usize> = self.came.iter().copied().collect();
        // Entries that belong to requests, and whether one of them came.
        let mut belongs: BTreeMap<u64, bool> = BTreeMap::new();
        let mut note = |entries: &[u64], came: bool| {
            for entry in entries {
                *belongs.entry(*entry).or_default() |= came;
            }
        };
        let mut exchanges: BTreeSet<u64> = BTreeSet::new();
        for (at, recorded) in self.world.requests.iter().enumerate() {
            match &recorded.of {
                Of::Mcp(asked) => note(&asked.entries, came.contains(&at)),
                Of::Model { request, .. } => {
                    if let What::Request(request) = &self.ledger.entries[*request].what
                        && came.contains(&at)
                    {
                        exchanges.insert(request.exchange);
                    }
                }
            }
        }
        for (name, all) in &self.world.others {
            for asked in all {
                note(&asked.entries, self.others.contains_key(name));
            }
        }
        let answers = live.map_or_else(BTreeMap::new, |live| self.answers(live));
        let mut entries = Vec::new();
        for entry in &self.ledger.entries {
            let is_in = match &entry.what {
                What::Request(request) => exchanges.contains(&request.exchange),
                What::Response(response) => exchanges.contains(&response.exchange),
                What::Mcp(mcp) => match belongs.get(&entry.seq) {
                    // The end of a connection belongs to all of it.
                    Some(came) => *came || matches!(mcp.message, Message::End(_)) && self.is_connected(&mcp.server),
                    None => self.is_connected(&mcp.server),
                },
            };
            if !is_in {
                continue;
            }
            let what = match (&entry.what, answers.get(&entry.seq)) {
                (What::Mcp(mcp), Some((from, message))) => {
                    What::Mcp(Mcp { from: *from, message: message.clone(), ..mcp.clone() })
                }
                (what, _) => what.clone(),
            };
            entries.push(Entry { what, ..entry.clone() });
        }
        let is_in = |seq: u64| entries.binary_search_by_key(&seq, |entry: &Entry| entry.seq).is_ok();
        let fault_hits = self.ledger.fault_hits.iter().filter(|hit| is_in(hit.seq)).cloned().collect();
        Ledger { servers: self.ledger.servers.clone(), entries, blobs: self.ledger.blobs.clone(), fault_hits }
    }

    fn is_connected(&self, server: &str) -> bool {
        self.contacted.contains(server)
    }

    /// The answers of restarted servers, by the entries of the recorded ones.
    fn answers(&self, live: &Ledger) -> BTreeMap<u64, (Side, Message)> {
        let keys = Keys::default();
        let mut by_key: BTreeMap<String, VecDeque<(Side, Message)>> = BTreeMap::new();
        for request in mcp::requests(live).requests.iter().filter(|request| is_compared(request.method())) {
            let params = keys.params(request.message.get("params"), &self.rules);
            let message = match &request.end {
                None => (Side::Server, Message::End("the recording ended".to_owned())),
                Some(end) => match (end.answer, &end.entry.what) {
                    (Some(answer), _) => (Side::Server, Message::Json(answer.clone())),
                    (None, What::Mcp(mcp)) => (mcp.from, mcp.message.clone()),
                    _ => continue,
                },
            };
            let key = key::mcp(&request.mcp.server, request.method(), &params);
            by_key.entry(key).or_default().push_back(message);
        }
        let mut out = BTreeMap::new();
        for at in &self.came {
            let recorded = &self.world.requests[*at];
            let Of::Mcp(asked) = &recorded.of else { continue };
            let Some(mut message) = by_key.get_mut(&recorded.key).and_then(VecDeque::pop_front) else { continue };
            match &mut message {
                (Side::Server, Message::Json(Value::Object(map))) => {
                    drop(map.insert("id".to_owned(), asked.id.clone()));
                }
                (Side::Program, Message::Json(canceled)) => {
                    if let Some(id) = canceled.pointer_mut("/params/requestId") {
                        *id = asked.id.clone();
                    }
                }
                _ => {}
            }
            out.insert(recorded.end, message);
        }
        out
    }

    /// Describes the first answer of a restarted server that is not the recorded one.
    pub fn changed_answer(&self, live: &Ledger) -> Option<String> {
        let answers = self.answers(live);
        self.came.iter().find_map(|at| {
            let recorded = &self.world.requests[*at];
            let Of::Mcp(asked) = &recorded.of else { return None };
            let (McpEnd::Reply(old), Some((Side::Server, Message::Json(new)))) =
                (&asked.reply.end, answers.get(&recorded.end))
            else {
                return None;
            };
            let described = difference::describe(old, new)?;
            Some(format!("the answer to {} is not the recorded one\n{described}", self.name(*at)))
        })
    }
}
