//! From the response of a model to the reply in it: the body that a request without streaming would have had.
//!
//! A stream that is cut off leaves part of a reply. What the model had completed by then is kept: a call that was still
//! being written is not a call.

mod anthropic;
mod chat;
mod gemini;
mod responses;

use serde_json::{Map, Value};

use super::{Body, End, Interface, Response, Unread, WhyUnread};

/// What a response of a model is.
#[derive(Debug, Clone, PartialEq)]
pub enum Reply {
    Body {
        /// In the form of a reply that is not streamed.
        body: Value,
        is_cut: bool,
    },
    /// There is no reply: an HTTP error, or a closed connection. The program got none either.
    Failed(String),
    /// There may be a reply, and it cannot be read.
    Unread(String),
}

impl Response {
    /// Whether a text is JSON, or the beginning of it.
    fn is_json(&self, text: &str) -> bool {
        let kind =
            self.headers.get("content-type").map_or("", |kind| kind.split(';').next().unwrap_or_default().trim_end());
        kind.ends_with("json") || text.trim_start().starts_with(['{', '['])
    }

    pub fn reply(&self, interface: Interface) -> Reply {
        match self.status {
            Some(200..=299) => {}
            Some(status) => return Reply::Failed(format!("HTTP status {status}")),
            None => {
                return Reply::Failed(match &self.end {
                    End::Upstream(why) => why.clone(),
                    End::Program => "the program closed the connection".to_owned(),
                    End::Complete => "no response".to_owned(),
                });
            }
        }
        let chunks: Vec<&Value> = match &self.body {
            Body::Events(events) => events.iter().map(|event| &event.data).collect(),
            // A stream of JSON is a list of chunks.
            Body::Json { rest: Value::Array(chunks), .. } if interface == Interface::Gemini => chunks.iter().collect(),
            Body::Json { rest, .. } if interface == Interface::OpenaiResponses && is_pending(rest) => {
                return Reply::Unread("the model replies in the background, and that is not recorded".to_owned());
            }
            Body::Json { rest, .. } => {
                return match rest.get("error").filter(|error| !error.is_null()) {
                    Some(error) if rest.get("status").is_none() => Reply::Failed(message(error)),
                    _ => Reply::Body { body: rest.clone(), is_cut: false },
                };
            }
            Body::Empty => return Reply::Failed("an empty response".to_owned()),
            // The beginning of a JSON object cannot be parsed. For Gemini it may be a list of chunks.
            Body::Unread(Unread { why: WhyUnread::Malformed(_), .. })
                if self.end != End::Complete && interface != Interface::Gemini =>
            {
                return Reply::Failed("the response broke off".to_owned());
            }
            Body::Text(text) if self.end != End::Complete && self.is_json(text) => {
                // For Gemini a list may be one of chunks, which the program could read one by one.
                return match interface {
                    Interface::Gemini if text.trim_start().starts_with('[') => {
                        Reply::Unread("it broke off in the middle of a list".to_owned())
                    }
                    _ => Reply::Failed("the response broke off".to_owned()),
                };
            }
            Body::Text(text) => {
                let head = crate::json::cut(text, 40);
                return Reply::Unread(format!("the response is neither JSON nor an event stream: {head:?}"));
            }
            Body::Unread(unread) => return Reply::Unread(unread.why.to_string()),
        };
        let assembled = match interface {
            Interface::OpenaiChat => chat::assemble(&chunks),
            Interface::OpenaiResponses => responses::assemble(&chunks),
            Interface::Anthropic => anthropic::assemble(&chunks),
            Interface::Gemini => gemini::assemble(&chunks),
        };
        match assembled {
            Some(Assembled { body, is_cut }) => Reply::Body { body: Value::Object(body), is_cut },
            None => match chunks.iter().find_map(|chunk| chunk.get("error")) {
                Some(error) => Reply::Failed(message(error)),
                None if chunks.iter().all(|chunk| chunk.is_object()) => {
                    Reply::Failed("the stream ended before a reply began".to_owned())
                }
                None => Reply::Unread("the events of the stream are not JSON".to_owned()),
            },
        }
    }
}

/// Whether the program must fetch the reply later.
fn is_pending(body: &Value) -> bool {
    matches!(body.get("status").and_then(Value::as_str), Some("queued" | "in_progress"))
}

/// A reply in its pieces, put together.
struct Assembled {
    body: Map<String, Value>,
    is_cut: bool,
}

/// What an error of an API says.
fn message(error: &Value) -> String {
    let text = error.get("message").unwrap_or(error);
    text.as_str().map_or_else(|| crate::json::excerpt(text, 200), |text| crate::json::cut(text, 200))
}

/// Appends a piece of text to a key of an object. Anything but text replaces what is there.
fn append(map: &mut Map<String, Value>, key: &str, piece: &Value) {
    match (map.get_mut(key), piece) {
        (_, Value::Null) => {}
        (Some(Value::String(text)), Value::String(more)) => text.push_str(more),
        (Some(there), piece) => *there = piece.clone(),
        (None, piece) => {
            map.insert(key.to_owned(), piece.clone());
        }
    }
}

/// Copies keys that have a value.
fn copy(from: &Value, to: &mut Map<String, Value>, keys: &[&str]) {
    for key in keys {
        if let Some(value) = from.get(*key).filter(|value| !value.is_null()) {
            to.insert((*key).to_owned(), value.clone());
        }
    }
}

fn list<'v>(value: &'v Value, key: &str) -> &'v [Value] {
    value.get(key).and_then(Value::as_array).map_or(&[], Vec::as_slice)
}
