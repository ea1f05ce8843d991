//! The model side: the requests to the model, its replies, and which request continues which.
//!
//! A request repeats the conversation so far. It continues the request whose messages it begins with, or the one that it
//! names, or, where a client rewrote old messages, the one whose calls it has. Requests that have no such request before
//! them begin a conversation: an agent, a sub-agent, or a side request.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::names;
use crate::import;
use crate::import::message::{Answer, Message, Part};
use crate::json;
use crate::ledger::{Blob, Body, Interface, Ledger, Part as BodyPart, Reply, Request, Response, What};
use crate::trace::{Counterpart, Role, TimelineEntry, ToolResult};

/// Everything that the model ledger says.
#[derive(Default)]
pub(super) struct ModelSide {
    /// Requests of the four interfaces, in order.
    pub(super) exchanges: Vec<Exchange>,
    pub(super) calls: Vec<ModelCall>,
    /// Replies that cannot be read: any of them could have calls.
    pub(super) unread: Vec<String>,
    pub(super) notes: Vec<String>,
    pub(super) timeline: Vec<(u64, TimelineEntry)>,
}

pub(super) struct Exchange {
    pub(super) seq: u64,
    /// The entry of the response.
    pub(super) end_seq: u64,
    pub(super) outcome: Outcome,
    /// What the program adds to the conversation with this request.
    pub(super) added: Vec<Message>,
    /// The names of the tools that it offers the model.
    pub(super) offered: BTreeSet<String>,
    pub(super) uses_tools: bool,
    /// The first exchange of the conversation.
    pub(super) root: usize,
    parent: Option<usize>,
    /// The `seq` of the first request that continues this one.
    pub(super) continued: Option<u64>,
    /// Messages without what clients change from request to request, by number.
    messages: Vec<usize>,
    calls: std::ops::Range<usize>,
}

pub(super) enum Outcome {
    Replied {
        message: Message,
        is_cut: bool,
    },
    /// There was no reply.
    Failed,
    /// There may have been a reply.
    Unknown,
}

/// A call that the model requested.
pub(super) struct ModelCall {
    pub(super) exchange: usize,
    pub(super) call: import::message::Call,
    /// What the model was shown as the answer, and the `seq` of the request that shows it. The reply has `None` for that.
    pub(super) shown: Option<(Option<u64>, ToolResult)>,
}

impl Exchange {
    /// A key of the request: equal for a retry after a reply that was cut off.
    pub(super) fn asks(&self) -> (Option<usize>, &[usize]) {
        (self.parent, &self.messages)
    }

    pub(super) fn reply(&self) -> Option<(&Message, bool)> {
        match &self.outcome {
            Outcome::Replied { message, is_cut } => Some((message, *is_cut)),
            _ => None,
        }
    }
}

/// What a message says, and its number among messages that are the same.
struct Known {
    number: usize,
    message: Option<Message>,
}

struct Reader<'l> {
    ledger: &'l Ledger,
    out: ModelSide,
    known: BTreeMap<(Interface, Blob), Known>,
    numbers: BTreeMap<String, usize>,
    tree: Tree,
    /// Calls by their id, the latest last.
    by_id: BTreeMap<String, Vec<usize>>,
    by_response: BTreeMap<String, usize>,
    by_conversation: BTreeMap<String, usize>,
}

/// Lists of messages with a common prefix share nodes. Node 0 is the empty list.
#[derive(Default)]
struct Tree {
    after: BTreeMap<(Interface, usize, usize), usize>,
    count: usize,
    /// The exchanges whose messages end at a node.
    ends: BTreeMap<usize, Vec<usize>>,
}

pub(super) fn read(ledger: &Ledger) -> ModelSide {
    let mut responses: BTreeMap<u64, (u64, u64, &Response)> = BTreeMap::new();
    for entry in &ledger.entries {
        if let What::Response(response) = &entry.what {
            responses.insert(response.exchange, (entry.seq, entry.ms, response));
        }
    }
    let mut reader = Reader {
        ledger,
        out: ModelSide::default(),
        known: BTreeMap::new(),
        numbers: BTreeMap::new(),
        tree: Tree::default(),
        by_id: BTreeMap::new(),
        by_response: BTreeMap::new(),
        by_conversation: BTreeMap::new(),
    };
    let mut requests: Vec<(u64, u64, &Request)> = Vec::new();
    for entry in &ledger.entries {
        if let What::Request(request) = &entry.what {
            requests.push((entry.seq, entry.ms, request));
        }
    }
    for (seq, ms, request) in requests {
        let response = responses.get(&request.exchange).copied();
        reader.out.timeline.push((seq, line(ms, request, response)));
        if let Some(interface) = request.interface {
            reader.add(seq, interface, request, response);
        }
    }
    reader.out
}

fn line(ms: u64, request: &Request, response: Option<(u64, u64, &Response)>) -> TimelineEntry {
    let status = match response {
        None => "none".to_owned(),
        Some((_, _, response)) => match (response.status, &response.end) {
            (None, _) => "none".to_owned(),
            (Some(_), end) if *end != crate::ledger::End::Complete => "cut".to_owned(),
            (Some(status), _) => status.to_string(),
        },
    };
    TimelineEntry {
        duration_ms: response.map(|(_, end, _)| end.saturating_sub(ms)),
        ms,
        server: None,
        side: Counterpart::Model,
        status,
        what: format!("{} {}", request.method, request.path),
    }
}

impl Reader<'_> {
    fn add(&mut self, seq: u64, interface: Interface, request: &Request, response: Option<(u64, u64, &Response)>) {
        let at = self.out.exchanges.len();
        let number = request.exchange;
        let none = BTreeMap::new();
        let (rest, parts) = match &request.body {
            Body::Json { rest, parts } => (rest, parts),
            _ => {
                self.out.notes.push(format!("the request of exchange {number} cannot be read"));
                (&Value::Null, &none)
            }
        };
        let blobs = self.messages(interface, parts);
        let messages: Vec<usize> = blobs.iter().map(|blob| self.known[&(interface, *blob)].number).collect();
        let mut offered = BTreeSet::new();
        if let Some(BodyPart::List(tools)) = parts.get("tools") {
            for tool in tools {
                names::offered(self.ledger.blobs.get(*tool), &mut offered);
            }
        }
        // Some clients offer tools in the middle of the conversation.
        let items = blobs.iter().map(|blob| self.ledger.blobs.get(*blob)).filter(|item| is_list_of_tools(item));
        for tool in items.filter_map(|item| item.get("tools")?.as_array()).flatten() {
            names::offered(tool, &mut offered);
        }
        let (parent, own) = self.parent(seq, interface, rest, &blobs, &messages);
        let message_of = |blob: &Blob| self.known.get(&(interface, *blob)).and_then(|known| known.message.clone());
        let added: Vec<Message> = own.iter().filter_map(message_of).collect();
        let has_tools = !offered.is_empty()
            || match parts.get("tools") {
                Some(BodyPart::List(tools)) => !tools.is_empty(),
                Some(BodyPart::One(_)) => true,
                None => !matches!(request.body, Body::Json { .. }),
            };
        let uses_tools = has_tools
            || added.iter().any(|message| message.calls().next().is_some() || message.answers().next().is_some());
        let mut id = None;
        let outcome = self.outcome(number, interface, response.map(|(_, _, response)| response), &mut id);
        let root = parent.map_or(at, |parent| self.out.exchanges[parent].root);
        self.show(seq, parent, &added);
        if let Some(parent) = parent {
            self.out.exchanges[parent].continued.get_or_insert(seq);
        }
        let first = self.out.calls.len();
        if let Outcome::Replied { message, .. } = &outcome {
            self.ask(at, message);
            self.tree.end(interface, &messages, at);
        }
        self.remember(at, rest, id, interface);
        self.out.exchanges.push(Exchange {
            seq,
            end_seq: response.map_or(u64::MAX, |(end, _, _)| end),
            outcome,
            added,
            offered,
            uses_tools,
            root,
            parent,
            continued: None,
            messages,
            calls: first..self.out.calls.len(),
        });
        // Tools that the provider runs are answered in the same reply, or in a later one.
        let answers: Vec<Answer> = match self.out.exchanges[at].reply() {
            Some((message, _)) => message.answers().cloned().collect(),
            None => Vec::new(),
        };
        for answer in answers {
            self.answer(Some(at), None, answer);
        }
    }

    /// Reads the messages of a request, each kind only once.
    fn messages(&mut self, interface: Interface, parts: &BTreeMap<String, BodyPart>) -> Vec<Blob> {
        let key = match interface {
            Interface::OpenaiChat | Interface::Anthropic => "messages",
            Interface::OpenaiResponses => "input",
            Interface::Gemini => "contents",
        };
        let blobs = match parts.get(key) {
            Some(BodyPart::List(list)) => list.clone(),
            Some(BodyPart::One(one)) => vec![*one],
            None => Vec::new(),
        };
        for (index, blob) in blobs.iter().enumerate() {
            if self.known.contains_key(&(interface, *blob)) {
                continue;
            }
            let value = self.ledger.blobs.get(*blob);
            let next = self.numbers.len();
            let number = *self.numbers.entry(json::canonical(&lasting(value.clone()))).or_insert(next);
            let message = match value {
                // The whole input may be one text.
                Value::String(text) => Some(Message::with_parts(Role::User, vec![Part::Text(text.as_str().into())])),
                // Items that refer to what the provider keeps say nothing here.
                _ if matches!(value.get("type").and_then(Value::as_str), Some("item_reference" | "compaction")) => None,
                _ if is_list_of_tools(value) => None,
                _ => match import::request_message(interface, value, index) {
                    Ok(message) => message,
                    Err(error) => {
                        self.out.notes.push(format!("a message of a request cannot be read: {}", error.message));
                        None
                    }
                },
            };
            self.known.insert((interface, *blob), Known { number, message });
        }
        blobs
    }

    fn outcome(
        &mut self,
        number: u64,
        interface: Interface,
        response: Option<&Response>,
        id: &mut Option<String>,
    ) -> Outcome {
        let why = match response.map(|response| response.reply(interface)) {
            Some(Reply::Body { body, is_cut }) => match import::reply(interface, &body) {
                Ok(message) => {
                    *id = body.get("id").and_then(Value::as_str).map(str::to_owned);
                    return Outcome::Replied { message, is_cut };
                }
                // The rest of a reply that broke off may not be one.
                Err(_) if is_cut => return Outcome::Unknown,
                Err(error) => error.message,
            },
            Some(Reply::Failed(why)) => {
                self.out.notes.push(format!("exchange {number} with the model failed: {why}"));
                return Outcome::Failed;
            }
            Some(Reply::Unread(why)) => why,
            None => {
                self.out.notes.push(format!("the model had not replied in exchange {number} when the program ended"));
                return Outcome::Unknown;
            }
        };
        self.out.unread.push(format!("the model's reply in exchange {number} cannot be read: {why}"));
        Outcome::Unknown
    }

    /// The exchange that a request continues, and the messages that are new in it.
    fn parent(
        &self,
        seq: u64,
        interface: Interface,
        rest: &Value,
        blobs: &[Blob],
        messages: &[usize],
    ) -> (Option<usize>, Vec<Blob>) {
        let text = |key: &str| rest.get(key).and_then(Value::as_str);
        let conversation =
            || text("conversation").or_else(|| rest.get("conversation")?.get("id")?.as_str()).map(str::to_owned);
        let thread = || rest.get("thread")?.get("previous_message_id")?.as_str();
        let named = text("previous_response_id").or_else(thread).and_then(|id| self.by_response.get(id));
        if let Some(parent) = named.or_else(|| self.by_conversation.get(&conversation()?)) {
            return (Some(*parent), blobs.to_vec());
        }
        let has_ended = |at: &usize| self.out.exchanges[*at].end_seq < seq;
        let (longest, ends) = self.tree.longest_prefix(interface, messages, has_ended);
        let by_messages = self.likeliest(interface, &ends, &blobs[longest..]);
        let by_calls = self.latest_with_calls(interface, &blobs[longest..]).filter(has_ended);
        match (by_messages, by_calls) {
            (by_messages, Some(later)) if by_messages.is_none_or(|earlier| earlier < later) => {
                let old: BTreeSet<usize> = self.out.exchanges[later].messages.iter().copied().collect();
                let is_new = |blob: &&Blob| !old.contains(&self.known[&(interface, **blob)].number);
                (Some(later), blobs.iter().filter(is_new).copied().collect())
            }
            (Some(parent), _) => (Some(parent), blobs[longest..].to_vec()),
            (None, _) => (None, blobs.to_vec()),
        }
    }

    /// Of exchanges with equal requests, the one whose reply comes next in the request, else the latest that nothing
    /// continues.
    fn likeliest(&self, interface: Interface, ends: &[usize], next: &[Blob]) -> Option<usize> {
        let message_of = |blob: &Blob| self.known.get(&(interface, *blob)).and_then(|known| known.message.as_ref());
        let ids: BTreeSet<&str> =
            next.iter().filter_map(message_of).flat_map(Message::calls).filter_map(|call| call.id.as_deref()).collect();
        let first = next.iter().find_map(message_of);
        let is_echo = |at: &&usize| {
            let Some((reply, _)) = self.out.exchanges[**at].reply() else { return false };
            let mut known = reply.calls().filter_map(|call| call.id.as_deref()).peekable();
            if known.peek().is_some() {
                return known.any(|id| ids.contains(id));
            }
            // The client may have given ids to calls that had none.
            let calls = |message: &Message| {
                message.calls().map(|call| (call.name.clone(), call.args.clone())).collect::<Vec<_>>()
            };
            first.is_some_and(|echo| {
                echo.role == Role::Assistant && echo.texts().eq(reply.texts()) && calls(echo) == calls(reply)
            })
        };
        let is_whole = |at: &&usize| self.out.exchanges[**at].reply().is_some_and(|(_, is_cut)| !is_cut);
        let is_open = |at: &&usize| is_whole(at) && self.out.exchanges[**at].continued.is_none();
        let latest = || ends.iter().rev();
        let found = latest().find(is_echo).or_else(|| latest().find(is_open)).or_else(|| latest().find(is_whole));
        found.or_else(|| latest().next()).copied()
    }

    /// The latest exchange with a call that is in the request. Ids that were used twice do not count.
    fn latest_with_calls(&self, interface: Interface, blobs: &[Blob]) -> Option<usize> {
        let message_of = blobs.iter().filter_map(|blob| self.known.get(&(interface, *blob))?.message.as_ref());
        let ids = message_of.flat_map(|message| {
            let calls = message.calls().filter_map(|call| call.id.as_deref());
            calls.chain(message.answers().filter_map(|answer| answer.id.as_deref())).collect::<Vec<_>>()
        });
        let only = |id: &str| match self.by_id.get(id).map(Vec::as_slice) {
            Some([call]) => Some(self.out.calls[*call].exchange),
            _ => None,
        };
        ids.filter_map(only).max()
    }

    fn ask(&mut self, exchange: usize, message: &Message) {
        for call in message.calls() {
            if let Some(id) = &call.id {
                self.by_id.entry(id.clone()).or_default().push(self.out.calls.len());
            }
            let shown = call.result.clone().map(|result| (None, result));
            self.out.calls.push(ModelCall { exchange, call: call.clone(), shown });
        }
    }

    /// Answers that a request shows.
    fn show(&mut self, seq: u64, parent: Option<usize>, added: &[Message]) {
        for answer in added.iter().flat_map(Message::answers) {
            self.answer(parent, Some(seq), answer.clone());
        }
    }

    /// Gives an answer to its call: by id in the same conversation, else by the function, in the latest pending exchange.
    fn answer(&mut self, from: Option<usize>, seq: Option<u64>, answer: Answer) {
        let Some(from) = from else { return };
        let root = self.out.exchanges[from].root;
        let by_id = answer.id.as_ref().and_then(|id| self.by_id.get(id)).into_iter().flatten().rev().copied();
        let by_id = { by_id }.find(|at| {
            let call = &self.out.calls[*at];
            self.out.exchanges[call.exchange].root == root && call.shown.is_none()
        });
        // A client may assign ids to calls that had none.
        let by_name = || {
            let earlier = std::iter::successors(Some(from), |at| self.out.exchanges[*at].parent);
            earlier.flat_map(|at| self.out.exchanges[at].calls.clone()).find(|at| {
                let ModelCall { call, shown, .. } = &self.out.calls[*at];
                let is_named = match &answer.function {
                    Some(name) => *name == call.name,
                    None => answer.id.is_none(),
                };
                shown.is_none() && is_named && (answer.id.is_none() || call.id.is_none())
            })
        };
        let call = by_id.or_else(by_name);
        if let Some(call) = call {
            self.out.calls[call].shown = Some((seq, answer.result));
        }
    }

    /// Under which names later requests may refer to this exchange.
    fn remember(&mut self, at: usize, rest: &Value, id: Option<String>, interface: Interface) {
        if !matches!(interface, Interface::OpenaiResponses | Interface::Anthropic) {
            return;
        }
        self.by_response.extend(id.map(|id| (id, at)));
        let conversation = rest.get("conversation");
        let id = conversation.and_then(|value| value.as_str().or_else(|| value.get("id")?.as_str()));
        if let Some(id) = id {
            self.by_conversation.insert(id.to_owned(), at);
        }
    }
}

impl Tree {
    /// Notes that the messages of an exchange end here.
    fn end(&mut self, interface: Interface, messages: &[usize], at: usize) {
        let mut node = 0;
        for message in messages {
            let next = self.count + 1;
            let known = *self.after.entry((interface, node, *message)).or_insert(next);
            self.count = self.count.max(known);
            node = known;
        }
        if node > 0 {
            self.ends.entry(node).or_default().push(at);
        }
    }

    /// The longest known proper prefix of a list: its length, and the exchanges that have it.
    fn longest_prefix(
        &self,
        interface: Interface,
        messages: &[usize],
        has_ended: impl Fn(&usize) -> bool,
    ) -> (usize, Vec<usize>) {
        let (mut node, mut best) = (0, (0, Vec::new()));
        for (at, message) in messages.iter().enumerate() {
            let ends: Vec<usize> =
                self.ends.get(&node).into_iter().flatten().copied().filter(|end| has_ended(end)).collect();
            if !ends.is_empty() {
                best = (at, ends);
            }
            match self.after.get(&(interface, node, *message)) {
                Some(next) => node = *next,
                None => break,
            }
        }
        best
    }
}

/// An item of the Responses API that says nothing: it offers tools.
fn is_list_of_tools(item: &Value) -> bool {
    item.get("type").and_then(Value::as_str) == Some("additional_tools")
}

/// A message without the marks that a client moves from request to request. A text and a list of one text are the same.
fn lasting(mut value: Value) -> Value {
    strip(&mut value);
    if let Some(content) = value.get_mut("content")
        && let Value::String(text) = content
    {
        *content = serde_json::json!([{ "type": "text", "text": text }]);
    }
    value
}

fn strip(value: &mut Value) {
    match value {
        Value::Array(items) => items.iter_mut().for_each(strip),
        Value::Object(map) => {
            map.remove("cache_control");
            map.values_mut().for_each(strip);
        }
        _ => {}
    }
}
