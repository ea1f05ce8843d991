//! The key of a request: a hash of everything that is compared. Equal requests have equal keys.
//!
//! A model request repeats the conversation so far. The hash of a message is therefore kept, so that each is hashed once.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use super::ignore::Rules;
use crate::json;
use crate::ledger::{Blob, Blobs, Body, Part, Request};
use crate::redact::{Redactor, hash};

/// Reads requests of one side: those of the recording, or those that come.
#[derive(Debug, Default)]
pub(super) struct Keys {
    /// The hash of what is compared of a value that is kept once, by the part of the request that it is in.
    known: BTreeMap<String, BTreeMap<Blob, String>>,
    /// `None` for what is redacted already.
    redactor: Option<Redactor>,
}

impl Keys {
    pub(super) fn redacting(redactor: Redactor) -> Self {
        Self { known: BTreeMap::new(), redactor: Some(redactor) }
    }

    fn text(&self, text: &str) -> String {
        self.redactor.as_ref().map_or_else(|| text.to_owned(), |redactor| redactor.text(text).into_owned())
    }

    fn clean(&self, value: &Value) -> Value {
        let value = value.clone();
        match &self.redactor {
            Some(redactor) => redactor.value(value),
            None => value,
        }
    }

    /// The key of a model request.
    pub(super) fn model(&mut self, request: &Request, blobs: &Blobs, rules: &Rules) -> String {
        let body = match &request.body {
            Body::Json { rest, parts } => {
                let mut hashes = Map::new();
                for (key, part) in parts {
                    if rules.drops(request.interface, key) {
                        continue;
                    }
                    // Each API has its own keys, but two APIs may share one.
                    let name = format!("{:?}/{key}/{}", request.interface, matches!(part, Part::List(_)));
                    let mut known = self.known.remove(&name).unwrap_or_default();
                    let mut hash_of = |at: Option<usize>, blob: Blob, may_keep: bool| {
                        if let Some(known) = known.get(&blob).filter(|_| may_keep) {
                            return Value::String(known.clone());
                        }
                        let value = self.value(request, key, at, blob, blobs, rules);
                        let hash = hash(json::canonical(&value).as_bytes());
                        if may_keep {
                            known.insert(blob, hash.clone());
                        }
                        Value::String(hash)
                    };
                    let hash = match part {
                        Part::One(blob) => hash_of(None, *blob, true),
                        Part::List(list) => {
                            let is_even = rules.is_even(request.interface, key);
                            let one = |(at, blob): (usize, &Blob)| hash_of(Some(at), *blob, is_even);
                            list.iter().enumerate().map(one).collect()
                        }
                    };
                    self.known.insert(name, known);
                    hashes.insert(key.clone(), hash);
                }
                json!([self.rest(request, rest, rules), hashes])
            }
            other => self.other(other),
        };
        let query = request.query.as_deref().map(|query| self.text(query));
        hash(json::canonical(&json!([request.method, self.text(&request.path), query, body])).as_bytes())
    }

    /// What is compared of a model request, as one value.
    pub(super) fn model_value(&self, request: &Request, blobs: &Blobs, rules: &Rules) -> Value {
        let Body::Json { rest, parts } = &request.body else { return self.other(&request.body) };
        let mut rest = self.rest(request, rest, rules);
        let mut whole = Map::new();
        for (key, part) in parts {
            if rules.drops(request.interface, key) {
                continue;
            }
            let value = match part {
                Part::One(blob) => self.value(request, key, None, *blob, blobs, rules),
                Part::List(list) => {
                    let one = |(at, blob): (usize, &Blob)| self.value(request, key, Some(at), *blob, blobs, rules);
                    list.iter().enumerate().map(one).collect()
                }
            };
            whole.insert(key.clone(), value);
        }
        match &mut rest {
            Value::Object(map) => map.append(&mut whole),
            _ => return rest,
        }
        rest
    }

    fn rest(&self, request: &Request, rest: &Value, rules: &Rules) -> Value {
        let mut rest = self.clean(rest);
        rules.apply(&mut rest, request.interface, &[]);
        rest
    }

    fn other(&self, body: &Body) -> Value {
        match body {
            Body::Text(text) => Value::String(self.text(text)),
            Body::Unread(unread) => json!({ "bytes": unread.bytes, "sha256": unread.sha256 }),
            Body::Events(events) => events.iter().map(|event| self.clean(&event.data)).collect(),
            Body::Empty | Body::Json { .. } => Value::Null,
        }
    }

    fn value(
        &self,
        request: &Request,
        key: &str,
        at: Option<usize>,
        blob: Blob,
        blobs: &Blobs,
        rules: &Rules,
    ) -> Value {
        let mut value = self.clean(blobs.get(blob));
        let at = at.map(|at| at.to_string());
        let place: Vec<&str> = [Some(key), at.as_deref()].into_iter().flatten().collect();
        rules.apply(&mut value, request.interface, &place);
        value
    }

    /// What is compared of the parameters of an MCP request.
    pub(super) fn params(&self, params: Option<&Value>, rules: &Rules) -> Value {
        let mut params = params.map_or_else(|| json!({}), |params| self.clean(params));
        if let Value::Object(map) = &mut params {
            map.remove("_meta");
            // Missing, null and empty arguments are equal.
            let is_none = |args: &Value| args.is_null() || args.as_object().is_some_and(Map::is_empty);
            if map.get("arguments").is_some_and(is_none) {
                map.remove("arguments");
            }
        }
        rules.apply(&mut params, None, &[]);
        params
    }
}

/// The key of an MCP request, by what is compared of its parameters.
pub(super) fn mcp(server: &str, method: &str, params: &Value) -> String {
    hash(json::canonical(&json!([server, method, params])).as_bytes())
}
