//! A ledger without secrets.
//!
//! A stream cuts texts wherever it likes, also in the middle of a secret. Strings of a stream that continue each other are
//! therefore looked at as one text: those at the same place of their events, with the same numbers and ids around them. Which
//! strings an API means to be joined does not matter for this, so there is one rule for all of them.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use serde_json::Value;

use super::{Blob, Blobs, Body, End, Entry, Ledger, Mcp, Message, Part, Request, Response, Unread, What, WhyUnread};
use crate::redact::{MARK, Redactor};

impl Ledger {
    #[must_use]
    pub fn redacted(self, redactor: &Redactor) -> Self {
        let Self { servers, entries, blobs, fault_hits } = self;
        let mut clean = Clean { redactor, blobs: Blobs::default(), renamed: Vec::new() };
        for (_, value) in blobs.values {
            let blob = clean.blobs.add(redactor.value(value));
            clean.renamed.push(blob);
        }
        let entries = entries.into_iter().map(|entry| Entry { what: clean.what(entry.what), ..entry }).collect();
        Self { servers, entries, blobs: clean.blobs, fault_hits }
    }
}

impl Ledger {
    /// The names of variables whose values were replaced.
    pub fn redacted_names(&self) -> BTreeSet<String> {
        let text = self.to_lines();
        let marked = text.split(MARK).skip(1).filter_map(|rest| Some(rest.split_once(']')?.0));
        let is_name = |name: &&str| {
            !name.is_empty()
                && name.bytes().all(|byte| byte == b'_' || byte.is_ascii_uppercase() || byte.is_ascii_digit())
        };
        marked.filter(is_name).map(str::to_owned).collect()
    }
}

struct Clean<'r> {
    redactor: &'r Redactor,
    blobs: Blobs,
    /// The clean value of each value before.
    renamed: Vec<Blob>,
}

impl Clean<'_> {
    fn what(&mut self, what: What) -> What {
        match what {
            What::Mcp(mcp) => {
                let message = match mcp.message {
                    Message::Json(value) => Message::Json(self.redactor.value(value)),
                    Message::Unread(unread) => Message::Unread(self.unread(unread)),
                    Message::Status(status) => Message::Status(status),
                    Message::End(why) => Message::End(self.text(&why)),
                };
                What::Mcp(Mcp { message, ..mcp })
            }
            What::Request(request) => What::Request(Request {
                method: self.text(&request.method),
                path: self.text(&request.path),
                query: request.query.as_deref().map(|query| self.text(query)),
                body: self.body(request.body),
                ..request
            }),
            What::Response(response) => {
                let header = |(name, value): (String, String)| (self.text(&name), self.text(&value));
                What::Response(Response {
                    headers: response.headers.into_iter().map(header).collect(),
                    end: match response.end {
                        End::Upstream(why) => End::Upstream(self.text(&why)),
                        end => end,
                    },
                    body: self.body(response.body),
                    ..response
                })
            }
        }
    }

    fn text(&self, text: &str) -> String {
        self.redactor.text(text).into_owned()
    }

    fn unread(&self, unread: Unread) -> Unread {
        let why = match unread.why {
            WhyUnread::TooLarge => WhyUnread::TooLarge,
            WhyUnread::Encoding(detail) => WhyUnread::Encoding(self.text(&detail)),
            WhyUnread::Malformed(detail) => WhyUnread::Malformed(self.text(&detail)),
        };
        Unread { why, ..unread }
    }

    fn body(&self, body: Body) -> Body {
        match body {
            Body::Empty => Body::Empty,
            Body::Text(text) => Body::Text(self.text(&text)),
            Body::Unread(unread) => Body::Unread(self.unread(unread)),
            Body::Events(mut events) => {
                for event in &mut events {
                    event.name = event.name.as_deref().map(|name| self.text(name));
                }
                self.stream(events.iter_mut().map(|event| &mut event.data).collect());
                Body::Events(events)
            }
            // A stream of JSON is a list of chunks.
            Body::Json { rest: Value::Array(mut chunks), parts } => {
                self.stream(chunks.iter_mut().collect());
                Body::Json { rest: Value::Array(chunks), parts: self.parts(parts) }
            }
            Body::Json { rest, parts } => Body::Json { rest: self.redactor.value(rest), parts: self.parts(parts) },
        }
    }

    fn parts(&self, parts: BTreeMap<String, Part>) -> BTreeMap<String, Part> {
        let rename = |blob: Blob| self.renamed.get(blob.0).copied().unwrap_or(blob);
        let part = |part| match part {
            Part::One(blob) => Part::One(rename(blob)),
            Part::List(list) => Part::List(list.into_iter().map(rename).collect()),
        };
        parts.into_iter().map(|(key, value)| (key, part(value))).collect()
    }

    /// Redacts what continues as one text, then each event separately: joined texts may hide where a word begins.
    fn stream(&self, mut events: Vec<&mut Value>) {
        let mut pieces = Pieces::default();
        for event in &mut events {
            let mut path = identity(event);
            walk(event, &mut path, &mut |path, text| pieces.add(path, text));
        }
        for texts in &mut pieces.texts {
            self.redactor.pieces(texts);
        }
        let mut taken = vec![0; pieces.texts.len()];
        let mut next = pieces.order.into_iter();
        for event in &mut events {
            walk(event, &mut String::new(), &mut |_, text| {
                let Some(stream) = next.next() else { return };
                let at = taken[stream];
                taken[stream] += 1;
                if let Some(clean) = pieces.texts[stream].get_mut(at) {
                    *text = std::mem::take(clean);
                }
            });
            **event = self.redactor.value(event.take());
        }
    }
}

/// The strings of a stream, by the text that they are pieces of.
#[derive(Default)]
struct Pieces {
    by_path: BTreeMap<String, usize>,
    texts: Vec<Vec<String>>,
    /// The text of each string, in the order of the walk.
    order: Vec<usize>,
}

impl Pieces {
    fn add(&mut self, path: &str, text: &str) {
        let stream = match self.by_path.get(path) {
            Some(&stream) => stream,
            None => {
                self.by_path.insert(path.to_owned(), self.texts.len());
                self.texts.push(Vec::new());
                self.texts.len() - 1
            }
        };
        self.texts[stream].push(text.to_owned());
        self.order.push(stream);
    }
}

/// Keys that say which text an event continues.
const NUMBERS: [&str; 5] = ["index", "output_index", "content_index", "summary_index", "item_id"];

/// Distinguishes events at the same place.
fn identity(event: &Value) -> String {
    let mut out = String::new();
    for key in NUMBERS {
        if let Some(value) = event.get(key) {
            // Writing into a String cannot fail.
            let _ = write!(out, "{key}={value},");
        }
    }
    out
}

/// Visits every string with its path. An element of a list is known by its `index`, else only by the list: a chunk may have
/// more parts than the next one. The first piece of a block is where the block begins, the others where it continues.
fn walk(value: &mut Value, path: &mut String, visit: &mut dyn FnMut(&str, &mut String)) {
    let length = path.len();
    match value {
        Value::String(text) => visit(path, text),
        Value::Array(items) => {
            for item in items {
                path.push('[');
                if let Some(index) = item.get("index").and_then(Value::as_u64) {
                    let _ = write!(path, "{index}");
                }
                walk(item, path, visit);
                path.truncate(length);
            }
        }
        Value::Object(map) => {
            for (key, item) in map {
                let step = if key == "content_block" { "delta" } else { key };
                path.push('.');
                path.push_str(step);
                walk(item, path, visit);
                path.truncate(length);
            }
        }
        _ => {}
    }
}
