//! Reruns a program: every request is answered from the ledger of an earlier run.
//!
//! A request is identified by the hash of its compared parts. Equal requests are answered in recorded order. A request that
//! began after others had been answered must come after them again; requests that were in progress at the same time may
//! come in any order. A request that was not recorded, or a recorded one that does not come, is a divergence. See
//! docs/decisions/0009-rerun.md.

mod difference;
mod happened;
mod ignore;
mod key;
mod recorded;

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use serde_json::{Value, json};

pub use ignore::Ignore;
pub use recorded::{McpEnd, McpReply};

use super::{Blobs, Body, End, Ledger, Request, Response, What};
use crate::redact::Redactor;
use crate::trace::FaultKind;
use ignore::Rules;
use key::Keys;
use recorded::{Of, RecordedRequests, is_compared};

/// The recording, and the requests made so far.
#[derive(Debug)]
pub struct Rerun {
    ledger: Ledger,
    rules: Rules,
    world: RecordedRequests,
    /// Requests that have not come, by key, in recorded order.
    left: BTreeMap<String, VecDeque<usize>>,
    /// The required ones, by the entry that ended them.
    required: BTreeSet<(u64, usize)>,
    /// Requests that came, in the order in which they were answered.
    came: Vec<usize>,
    /// Other requests to servers: counts by server and method.
    others: BTreeMap<(String, String), usize>,
    /// Servers that the program was connected to.
    contacted: BTreeSet<String>,
    /// Values of requests that came.
    blobs: Blobs,
    keys: Keys,
    /// Sessions so far, by server.
    sessions: BTreeMap<String, usize>,
    model_requests: usize,
    diverged: Option<String>,
}

#[derive(Debug, Clone)]
pub struct RerunRequest {
    key: String,
    of: RequestKind,
}

#[derive(Debug, Clone)]
enum RequestKind {
    /// With its number, from 1.
    Model(Box<Request>, usize),
    Mcp {
        server: String,
        method: String,
        params: Value,
    },
}

/// What to do about a request.
#[derive(Debug)]
pub enum Step<'r> {
    Model(ModelAnswer<'r>),
    Mcp(&'r McpReply),
    /// Others must come first. They may be on their way.
    Early,
    /// It was not recorded, or the program has diverged before.
    Diverged,
}

/// The answer to a model request.
#[derive(Debug)]
pub struct ModelAnswer<'r> {
    /// `None` for a request whose recording ended before there was a response.
    pub response: Option<&'r Response>,
    /// How long an injected fault delayed it.
    pub delay_ms: u64,
    /// Whether an injected fault replaced it. Then it came whole, and the ledger says that it did not.
    pub is_injected: bool,
}

impl Rerun {
    /// Prepares to answer from a ledger.
    pub fn new(ledger: Ledger, ignored: Vec<Ignore>) -> Self {
        let rules = Rules::new(ignored);
        let world = RecordedRequests::read(&ledger, &mut Keys::default(), &rules);
        let mut left: BTreeMap<String, VecDeque<usize>> = BTreeMap::new();
        let mut required = BTreeSet::new();
        for (at, recorded) in world.requests.iter().enumerate() {
            left.entry(recorded.key.clone()).or_default().push_back(at);
            if recorded.is_required {
                required.insert((recorded.end, at));
            }
        }
        Self {
            ledger,
            rules,
            world,
            left,
            required,
            came: Vec::new(),
            others: BTreeMap::new(),
            contacted: BTreeSet::new(),
            blobs: Blobs::default(),
            keys: Keys::default(),
            sessions: BTreeMap::new(),
            model_requests: 0,
            diverged: None,
        }
    }

    /// From now on, requests are redacted before they are compared.
    pub fn redact(&mut self, redactor: Redactor) {
        self.keys = Keys::redacting(redactor);
    }

    /// The servers that the program had.
    pub fn servers(&self) -> &[String] {
        &self.ledger.servers
    }

    /// How the program has diverged from the recording.
    pub fn diverged(&self) -> Option<&str> {
        self.diverged.as_deref()
    }

    fn diverge(&mut self, how: String) {
        self.diverged.get_or_insert(how);
    }

    /// A request to the model with its complete body.
    pub fn model(&mut self, mut request: Request) -> RerunRequest {
        self.model_requests += 1;
        if let Body::Json { rest, .. } = request.body {
            request.body = Body::json(rest, request.interface, &mut self.blobs);
        }
        let key = self.keys.model(&request, &self.blobs, &self.rules);
        RerunRequest { key, of: RequestKind::Model(Box::new(request), self.model_requests) }
    }

    /// A message of the program to a server. `None` if it is not one of those that are compared.
    pub fn mcp(&mut self, server: &str, message: &Value) -> Option<RerunRequest> {
        self.contacted.insert(server.to_owned());
        let method = message.get("method").and_then(Value::as_str).filter(|method| is_compared(method))?;
        message.get("id").filter(|id| !id.is_null())?;
        let params = self.keys.params(message.get("params"), &self.rules);
        let key = key::mcp(server, method, &params);
        Some(RerunRequest {
            key,
            of: RequestKind::Mcp { server: server.to_owned(), method: method.to_owned(), params },
        })
    }

    /// Finds the answer to a request.
    pub fn take(&mut self, asked: &RerunRequest) -> Step<'_> {
        if self.diverged.is_some() {
            return Step::Diverged;
        }
        let Some(at) = self.left.get(&asked.key).and_then(|left| left.front().copied()) else {
            let how = self.unknown(asked);
            self.diverge(how);
            return Step::Diverged;
        };
        let recorded = &self.world.requests[at];
        if recorded.is_required {
            if self.required.first().is_some_and(|(end, _)| *end < recorded.start) {
                return Step::Early;
            }
            self.required.remove(&(recorded.end, at));
        }
        if let Some(why) = self.unanswerable(at) {
            self.diverge(format!("the answer to {} was not kept: {why}", self.name(at)));
            return Step::Diverged;
        }
        if let Some(left) = self.left.get_mut(&asked.key) {
            left.pop_front();
        }
        self.came.push(at);
        match &self.world.requests[at].of {
            Of::Mcp(asked) => Step::Mcp(&asked.reply),
            Of::Model { response, fault, .. } => Step::Model(ModelAnswer {
                response: response.and_then(|at| match &self.ledger.entries[at].what {
                    What::Response(response) => Some(response),
                    _ => None,
                }),
                delay_ms: recorded::delay(fault.as_ref()),
                is_injected: fault.as_ref().is_some_and(|fault| fault.kind == FaultKind::ModelGarbage),
            }),
        }
    }

    /// Why an answer cannot be given again.
    fn unanswerable(&self, at: usize) -> Option<String> {
        match &self.world.requests[at].of {
            Of::Mcp(asked) => match &asked.reply.end {
                McpEnd::Unread(why) => Some(why.clone()),
                _ => None,
            },
            Of::Model { response, .. } => match &self.ledger.entries[(*response)?].what {
                // One that broke off breaks off again.
                What::Response(Response { body: Body::Unread(unread), end: End::Complete, .. }) => {
                    Some(unread.why.to_string())
                }
                _ => None,
            },
        }
    }

    /// A required earlier request did not come.
    pub fn give_up(&mut self, asked: &RerunRequest) {
        let Some(&(_, first)) = self.required.first() else { return };
        let came = self.left.get(&asked.key).and_then(|left| left.front()).map(|at| self.name(*at));
        let Some(came) = came else { return };
        let how = format!("{came} came before {}; in the recording it came after", self.name(first));
        self.diverge(how);
    }

    /// The answer to a request to a server that is not compared. `None` for a message that has no answer.
    pub fn other(&mut self, server: &str, message: &Value) -> Option<McpReply> {
        let method = message.get("method").and_then(Value::as_str)?;
        message.get("id").filter(|id| !id.is_null())?;
        let params = self.keys.params(message.get("params"), &self.rules);
        let name = (server.to_owned(), method.to_owned());
        let count = self.others.entry(name.clone()).or_insert(0);
        *count += 1;
        let before = *count - 1;
        let known = self.world.others.get(&name).map_or(&[][..], Vec::as_slice);
        let same: Vec<_> = known.iter().filter(|asked| asked.params == params).collect();
        // The page after one is not any page.
        let is_any = (method.ends_with("/list") && params.get("cursor").is_none())
            || ["initialize", "server/discover", "ping", "logging/setLevel", "subscriptions/listen"].contains(&method);
        let found = same.get(before.min(same.len().saturating_sub(1))).copied();
        let found = found.or_else(|| known.get(before.min(known.len().saturating_sub(1))).filter(|_| is_any));
        if let Some(asked) = found {
            return Some(asked.reply.clone());
        }
        let reply = |end: Value| McpReply { before: Vec::new(), end: McpEnd::Reply(end), status: None, delay_ms: 0 };
        match method {
            "ping" | "logging/setLevel" => return Some(reply(json!({ "jsonrpc": "2.0", "result": {} }))),
            // A client that tries the modern era first continues with the recorded handshake.
            "server/discover" => {
                let error = json!({ "code": -32601, "message": "mcptest: not recorded" });
                return Some(reply(json!({ "jsonrpc": "2.0", "error": error })));
            }
            _ => {}
        }
        let with = if params.as_object().is_some_and(|params| !params.is_empty()) {
            format!(" with {}", crate::json::excerpt(&params, 160))
        } else {
            String::new()
        };
        self.diverge(format!("`{method}` of server `{server}`{with} was not recorded"));
        None
    }

    /// A message that is not compared went to a restarted server.
    pub fn pass(&mut self, server: &str, message: &Value) {
        if let Some(method) = message.get("method").and_then(Value::as_str) {
            *self.others.entry((server.to_owned(), method.to_owned())).or_insert(0) += 1;
        }
    }

    /// A message to a server is too large to be compared.
    pub fn too_large(&mut self, server: &str) {
        self.diverge(format!("a message to server `{server}` is too large to be compared"));
    }

    /// What a server sent unprompted in the next session, counted by server.
    pub fn session(&mut self, server: &str) -> Vec<Value> {
        let number = self.sessions.entry(server.to_owned()).or_insert(0);
        *number += 1;
        let of_server = self.world.loose.get(server).into_iter().flat_map(BTreeMap::values);
        let messages = of_server.into_iter().nth(*number - 1);
        messages.into_iter().flatten().map(|(_, message)| message.clone()).collect()
    }

    /// The program has ended. A recorded request that did not come is a divergence or a note.
    pub fn finish(&mut self) -> Vec<String> {
        if self.diverged.is_some() {
            return Vec::new();
        }
        let missing: Vec<usize> = {
            let mut missing: Vec<usize> = self.required.iter().map(|(_, at)| *at).collect();
            missing.sort_unstable();
            missing
        };
        if let Some(first) = missing.first() {
            let how = match missing.len() {
                1 => format!("{} was recorded, and the program no longer makes it", self.name(*first)),
                count => {
                    let name = self.name(*first);
                    format!("the program no longer makes {count} recorded requests, the first of them {name}")
                }
            };
            let how = match self.retried(*first) {
                Some(why) => format!("{how}\nit was recorded as a retry: {why}"),
                None => how,
            };
            self.diverge(how);
            return Vec::new();
        }
        let optional = self.left.values().map(VecDeque::len).sum::<usize>();
        match optional {
            0 => Vec::new(),
            1 => vec!["the program no longer makes one recorded request, which offered no tools".to_owned()],
            count => vec![format!("the program no longer makes {count} recorded requests, which offered no tools")],
        }
    }

    /// What a recorded request is called.
    fn name(&self, at: usize) -> String {
        let recorded = &self.world.requests[at];
        match &recorded.of {
            Of::Mcp(asked) => mcp_name(&asked.server, &asked.method, &asked.params),
            Of::Model { request, .. } => {
                let is_model = |recorded: &&recorded::Recorded| matches!(recorded.of, Of::Model { .. });
                let number = self.world.requests[..=at].iter().filter(is_model).count();
                let all = self.world.requests.iter().filter(is_model).count();
                match &self.ledger.entries[*request].what {
                    What::Request(request) => {
                        format!("model request {number} of {all} ({} {})", request.method, request.path)
                    }
                    _ => format!("model request {number} of {all}"),
                }
            }
        }
    }

    /// Why a recorded request was made: because of the answer to the same request before it.
    fn retried(&self, at: usize) -> Option<String> {
        let recorded = &self.world.requests[at];
        let before = self.came.iter().rev().find(|before| {
            self.world.requests[**before].key == recorded.key && self.world.requests[**before].start < recorded.start
        })?;
        let why = match &self.world.requests[*before].of {
            Of::Model { response, .. } => match &self.ledger.entries[(*response)?].what {
                What::Response(Response { status: Some(status), end: End::Complete, .. }) if *status >= 400 => {
                    format!("HTTP status {status} answered the same request before it")
                }
                What::Response(Response { status: None, .. }) => {
                    "the same request before it got no response".to_owned()
                }
                What::Response(Response { end, .. }) if *end != End::Complete => {
                    "the response to the same request before it broke off".to_owned()
                }
                _ => return None,
            },
            Of::Mcp(asked) => match &asked.reply.end {
                McpEnd::Reply(reply) if reply.get("error").is_some() => {
                    "the same request before it was answered with an error".to_owned()
                }
                McpEnd::Status(status) => format!("HTTP status {status} answered the same request before it"),
                McpEnd::Cut(_) | McpEnd::Dropped | McpEnd::Gone(_) | McpEnd::Nothing => {
                    "the same request before it got no reply".to_owned()
                }
                _ => return None,
            },
        };
        Some(why)
    }

    /// Describes a request that was not recorded, and how it differs from the nearest recorded one.
    fn unknown(&self, asked: &RerunRequest) -> String {
        let times = self.came.iter().filter(|at| self.world.requests[**at].key == asked.key).count();
        let name = match &asked.of {
            RequestKind::Mcp { server, method, params } => mcp_name(server, method, params),
            RequestKind::Model(request, number) => {
                format!("model request {number} ({} {})", request.method, request.path)
            }
        };
        if times > 0 {
            let times = if times == 1 { "once".to_owned() } else { format!("{times} times") };
            return format!("{name} was made once more than in the recording, where it was made {times}");
        }
        let Some(nearest) = self.nearest(asked) else {
            return format!("{name} was not recorded, and no recorded request that is left is like it");
        };
        let (recorded, now) = match (&self.world.requests[nearest].of, &asked.of) {
            (Of::Mcp(recorded), RequestKind::Mcp { params, .. }) => (recorded.params.clone(), params.clone()),
            (Of::Model { request, .. }, RequestKind::Model(now, _)) => match &self.ledger.entries[*request].what {
                What::Request(recorded) => (
                    Keys::default().model_value(recorded, &self.ledger.blobs, &self.rules),
                    self.keys.model_value(now, &self.blobs, &self.rules),
                ),
                _ => (Value::Null, Value::Null),
            },
            _ => (Value::Null, Value::Null),
        };
        let described = difference::describe(&recorded, &now);
        let described = described.unwrap_or_else(|| "they differ in the address".to_owned());
        let closest = self.name(nearest);
        let is_same = match &asked.of {
            RequestKind::Mcp { .. } => closest == name,
            RequestKind::Model(_, number) => closest.starts_with(&format!("model request {number} of ")),
        };
        if is_same {
            return format!("{closest} is not what was recorded\n{described}");
        }
        format!("{name} was not recorded; compared with the closest recorded request, {closest}:\n{described}")
    }

    /// The recorded request that was probably meant: of the same kind, the next in order, with as much in common as possible.
    fn nearest(&self, asked: &RerunRequest) -> Option<usize> {
        /// How many are compared.
        const MOST: usize = 16;
        let left: BTreeSet<usize> = self.left.values().flatten().copied().collect();
        let score = |at: &usize| match (&self.world.requests[*at].of, &asked.of) {
            (Of::Mcp(recorded), RequestKind::Mcp { server, method, params }) => {
                if recorded.server != *server || recorded.method != *method {
                    return None;
                }
                let is_same = ["name", "uri"]
                    .iter()
                    .any(|key| recorded.params.get(key).is_some_and(|name| Some(name) == params.get(key)));
                Some(usize::from(is_same))
            }
            (Of::Model { request, .. }, RequestKind::Model(now, _)) => match &self.ledger.entries[*request].what {
                What::Request(recorded) if recorded.interface == now.interface => Some(self.in_common(recorded, now)),
                _ => None,
            },
            _ => None,
        };
        let scored = left.iter().filter_map(|at| Some((score(at)?, *at))).take(MOST);
        // Of equal ones the earliest.
        scored.min_by_key(|(score, at)| (std::cmp::Reverse(*score), *at)).map(|(_, at)| at)
    }

    /// How much of two requests is the same.
    fn in_common(&self, recorded: &Request, now: &Request) -> usize {
        let (Body::Json { parts: old, .. }, Body::Json { parts: new, .. }) = (&recorded.body, &now.body) else {
            return 0;
        };
        let hashes = |part: Option<&super::Part>, blobs: &Blobs| match part {
            None => Vec::new(),
            Some(super::Part::One(blob)) => vec![blobs.hash(*blob).to_owned()],
            Some(super::Part::List(list)) => list.iter().map(|blob| blobs.hash(*blob).to_owned()).collect(),
        };
        let part = |key: &String| {
            let (old, new) = (hashes(old.get(key), &self.ledger.blobs), hashes(new.get(key), &self.blobs));
            let alike = old.iter().zip(&new).take_while(|(old, new)| old == new).count();
            // One of equal length is nearer than a longer one.
            2 * alike + usize::from(old.len() == new.len())
        };
        old.keys().map(part).sum::<usize>() + usize::from(recorded.path == now.path)
    }
}

fn mcp_name(server: &str, method: &str, params: &Value) -> String {
    let name = ["name", "uri"].iter().find_map(|key| params.get(key)?.as_str());
    let name = name.map_or_else(String::new, |name| format!(" {}", crate::json::cut(name, 80)));
    format!("`{method}{name}` of server `{server}`")
}
