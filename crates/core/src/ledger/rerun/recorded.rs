//! The exchanges of a ledger, indexed so that requests can be looked up and answered.

use std::collections::BTreeMap;

use serde_json::Value;

use super::ignore::Rules;
use super::key::{self, Keys};
use crate::ledger::derive::{self, mcp};
use crate::ledger::{Ledger, Message, Side, What};
use crate::trace::{FaultEffect, FaultKind, ProgramFault};

/// The injected faults, by the entries of the requests that they hit.
type Faults<'l> = BTreeMap<u64, &'l ProgramFault>;

/// Methods that are compared and required. Other MCP methods are only answered.
const COMPARED: [&str; 3] = ["tools/call", "resources/read", "prompts/get"];

/// A required or optional request of the program, and its answer.
#[derive(Debug)]
pub(super) struct Recorded {
    pub(super) key: String,
    /// The entry of the request.
    pub(super) start: u64,
    /// The entry that ended it; the largest number if nothing did.
    pub(super) end: u64,
    /// Whether the run is another one without it.
    pub(super) is_required: bool,
    pub(super) of: Of,
}

#[derive(Debug)]
pub(super) enum Of {
    /// Positions of the entries, and the injected fault that hit it.
    Model {
        request: usize,
        response: Option<usize>,
        fault: Option<ProgramFault>,
    },
    Mcp(McpRequest),
}

/// A request to a server.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct McpRequest {
    pub(super) server: String,
    pub(super) method: String,
    /// What is compared of the parameters.
    pub(super) params: Value,
    /// The id in the recording.
    pub(super) id: Value,
    /// The entries of the request and of its answers.
    pub(super) entries: Vec<u64>,
    pub(super) reply: McpReply,
}

/// What a server sent in answer to a request.
#[derive(Debug, Clone, PartialEq)]
pub struct McpReply {
    /// Messages before the reply: reports, and requests that the program must answer.
    pub before: Vec<Value>,
    pub end: McpEnd,
    /// The HTTP status of a reply, if it was not 200.
    pub status: Option<u16>,
    /// How long an injected fault delayed it.
    pub delay_ms: u64,
}

/// How a request to a server ended.
#[derive(Debug, Clone, PartialEq)]
pub enum McpEnd {
    /// A reply, with its recorded id.
    Reply(Value),
    /// An HTTP response without a message.
    Status(u16),
    Cut(String),
    /// An injected fault closed the connection.
    Dropped,
    /// The server had exited, or could not be reached.
    Gone(String),
    /// The program did not wait for a reply, or there was none.
    Nothing,
    /// There was a reply, and it was not kept.
    Unread(String),
}

/// How a recording ends connections. Nothing came for what waited then.
const OWN_ENDS: [&str; 3] =
    ["the recording ended", "the program closed the connection", "the program ended the session"];

pub(super) fn is_compared(method: &str) -> bool {
    COMPARED.contains(&method)
}

/// All requests of a ledger that a rerun may repeat.
#[derive(Debug, Default)]
pub(super) struct RecordedRequests {
    pub(super) requests: Vec<Recorded>,
    /// Requests that are answered and not required, by server and method.
    pub(super) others: BTreeMap<(String, String), Vec<McpRequest>>,
    /// What servers sent unprompted, with the entries, by server and connection.
    pub(super) loose: BTreeMap<String, BTreeMap<u64, Vec<(u64, Value)>>>,
}

impl RecordedRequests {
    pub(super) fn read(ledger: &Ledger, keys: &mut Keys, rules: &Rules) -> Self {
        let mut out = Self::default();
        let faults = ledger.fault_hits.iter().map(|hit| (hit.seq, &hit.fault)).collect();
        out.model(ledger, keys, rules, &faults);
        out.mcp(ledger, keys, rules, &faults);
        out.requests.sort_by_key(|recorded| recorded.start);
        out
    }

    fn model(&mut self, ledger: &Ledger, keys: &mut Keys, rules: &Rules, faults: &Faults<'_>) {
        let counted = derive::counted(ledger);
        let mut responses: BTreeMap<u64, (usize, u64)> = BTreeMap::new();
        for (at, entry) in ledger.entries.iter().enumerate() {
            if let What::Response(response) = &entry.what {
                responses.insert(response.exchange, (at, entry.seq));
            }
        }
        for (at, entry) in ledger.entries.iter().enumerate() {
            let What::Request(request) = &entry.what else { continue };
            let response = responses.get(&request.exchange);
            self.requests.push(Recorded {
                key: keys.model(request, &ledger.blobs, rules),
                start: entry.seq,
                end: response.map_or(u64::MAX, |(_, seq)| *seq),
                is_required: counted.contains(&entry.seq),
                of: Of::Model {
                    request: at,
                    response: response.map(|(at, _)| *at),
                    fault: faults.get(&entry.seq).copied().cloned(),
                },
            });
        }
    }

    fn mcp(&mut self, ledger: &Ledger, keys: &Keys, rules: &Rules, faults: &Faults<'_>) {
        let mcp::Reader { requests, loose, .. } = mcp::requests(ledger);
        let servers: BTreeMap<u64, &str> = ledger
            .entries
            .iter()
            .filter_map(|entry| match &entry.what {
                What::Mcp(mcp) => Some((mcp.connection, &*mcp.server)),
                _ => None,
            })
            .collect();
        for (seq, connection, message) in loose {
            let Some(server) = servers.get(&connection) else { continue };
            let of_server = self.loose.entry((*server).to_owned()).or_default();
            of_server.entry(connection).or_default().push((seq, message.clone()));
        }
        for request in requests {
            let method = request.method().to_owned();
            let params = keys.params(request.message.get("params"), rules);
            let server = request.mcp.server.clone();
            let end = request.end.as_ref().map_or(u64::MAX, |end| end.entry.seq);
            let mut entries = vec![request.seq];
            entries.extend(request.before.iter().map(|(seq, _)| *seq));
            entries.extend(request.end.as_ref().map(|end| end.entry.seq));
            let fault = faults.get(&request.seq);
            let reply = McpReply {
                before: request.before.iter().map(|(_, message)| (*message).clone()).collect(),
                end: match fault.map(|fault| fault.kind) {
                    Some(FaultKind::Drop) => McpEnd::Dropped,
                    _ => request.end.as_ref().map_or(McpEnd::Nothing, ended),
                },
                status: request.end.as_ref().and_then(|end| match &end.entry.what {
                    What::Mcp(mcp) => mcp.status,
                    _ => None,
                }),
                delay_ms: delay(fault.copied()),
            };
            let id = request.message.get("id").cloned().unwrap_or_default();
            let key = key::mcp(&server, &method, &params);
            let asked = McpRequest { server, method, params, id, entries, reply };
            if is_compared(&asked.method) {
                self.requests.push(Recorded { key, start: request.seq, end, is_required: true, of: Of::Mcp(asked) });
            } else {
                self.others.entry((asked.server.clone(), asked.method.clone())).or_default().push(asked);
            }
        }
    }
}

/// How long a fault delayed an answer that came after all.
pub(super) fn delay(fault: Option<&ProgramFault>) -> u64 {
    fault.filter(|fault| fault.effect == FaultEffect::Delay).map_or(0, |fault| fault.duration_ms)
}

fn ended(end: &mcp::ExchangeEnd<'_>) -> McpEnd {
    if let Some(answer) = end.answer {
        return McpEnd::Reply(answer.clone());
    }
    let What::Mcp(mcp) = &end.entry.what else { return McpEnd::Nothing };
    match (&mcp.message, mcp.from, mcp.reply_to) {
        (Message::Status(status), ..) => McpEnd::Status(*status),
        (Message::End(why), Side::Server, Some(_)) if why.starts_with("the response broke off") => {
            McpEnd::Cut(why.clone())
        }
        (Message::End(why), Side::Server, _) if !OWN_ENDS.contains(&why.as_str()) => McpEnd::Gone(why.clone()),
        (Message::Unread(unread), ..) => McpEnd::Unread(unread.why.to_string()),
        _ => McpEnd::Nothing,
    }
}
