//! JSON-RPC: reads messages, writes replies and errors.

use mcptest_core::json;
use serde_json::{Value, json};

use super::{MODERN_VERSION, Plan, Send};

pub(super) const PARSE_ERROR: i64 = -32700;
pub(crate) const INVALID_REQUEST: i64 = -32600;
pub(super) const METHOD_NOT_FOUND: i64 = -32601;
pub(super) const INVALID_PARAMS: i64 = -32602;
pub(super) const RESOURCE_NOT_FOUND: i64 = -32002;
pub(crate) const HEADER_MISMATCH: i64 = -32020;
const UNSUPPORTED_VERSION: i64 = -32022;

#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Incoming {
    Request(Request),
    Notification { method: String, params: Value },
    Response,
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Request {
    /// A string or an integer.
    pub(crate) id: Value,
    pub(crate) method: String,
    /// An object; empty if it was absent.
    pub(crate) params: Value,
}

impl Incoming {
    /// Reads a message; the error is the reply to an invalid one.
    pub(crate) fn read(value: Value) -> Result<Self, Value> {
        let Value::Object(mut map) = value else {
            let hint = if value.is_array() {
                "batches are not supported: send one message at a time"
            } else {
                "a message is an object"
            };
            return Err(error(&Value::Null, INVALID_REQUEST, &format!("Invalid request: {hint}"), None));
        };
        let id = map.remove("id");
        let whole = |id: &Value| id.is_string() || id.is_i64() || id.is_u64();
        let reply_to = id.clone().filter(whole).unwrap_or(Value::Null);
        let refuse = |why: &str| Err(error(&reply_to, INVALID_REQUEST, &format!("Invalid request: {why}"), None));
        if map.get("jsonrpc") != Some(&json!("2.0")) {
            return refuse("`jsonrpc` must be \"2.0\"");
        }
        let method = match map.remove("method") {
            Some(Value::String(method)) => method,
            None if map.contains_key("result") || map.contains_key("error") => return Ok(Self::Response),
            _ => return refuse("`method` must be a string"),
        };
        let params = match map.remove("params") {
            None => json!({}),
            Some(params @ Value::Object(_)) => params,
            Some(_) => return refuse("`params` must be an object"),
        };
        match id {
            None => Ok(Self::Notification { method, params }),
            Some(id) if whole(&id) => Ok(Self::Request(Request { id, method, params })),
            Some(_) => refuse("`id` must be a string or an integer"),
        }
    }
}

/// The JSON value in received bytes; the error is the reply to invalid JSON. A duplicate key is an error: it would make a request
/// ambiguous.
pub(crate) fn parse(bytes: &[u8]) -> Result<Value, Value> {
    let text = str::from_utf8(bytes).map_err(|error| refuse(&error.to_string()))?;
    json::parse(text).map_err(|error| refuse(&error.to_string()))
}

/// The reply to invalid JSON.
pub(crate) fn refuse(why: &str) -> Value {
    error(&Value::Null, PARSE_ERROR, &format!("Parse error: {why}"), None)
}

pub(crate) fn error(id: &Value, code: i64, message: &str, data: Option<Value>) -> Value {
    let mut error = json!({ "code": code, "message": message });
    if let Some(data) = data {
        error["data"] = data;
    }
    json!({ "jsonrpc": "2.0", "id": id, "error": error })
}

/// The reply to an unsupported revision.
pub(crate) fn unsupported(id: &Value, requested: &str) -> Value {
    let data = json!({ "supported": [MODERN_VERSION], "requested": requested });
    error(id, UNSUPPORTED_VERSION, "Unsupported protocol version", Some(data))
}

/// An id as a map key; `1` and `"1"` differ.
pub(crate) fn id_text(id: &Value) -> String {
    json::canonical(id)
}

/// Why a request is answered with an error.
#[derive(Debug)]
pub(super) struct Refusal {
    pub(super) code: i64,
    pub(super) message: String,
    pub(super) data: Option<Value>,
    /// Rejected before it was executed.
    pub(super) rejected: bool,
}

impl Refusal {
    pub(super) fn params(message: impl Into<String>) -> Self {
        Self { code: INVALID_PARAMS, message: message.into(), data: None, rejected: false }
    }

    pub(super) fn plan(self, id: Value) -> Plan {
        let reply = error(&id, self.code, &self.message, self.data);
        Plan { rejected: self.rejected, ..Plan::now(id, Send::Message(reply)) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_invalid_message_is_rejected_with_its_id_if_any() {
        for (value, id, why) in [
            (json!([]), json!(null), "batches are not supported: send one message at a time"),
            (json!("x"), json!(null), "a message is an object"),
            (json!({ "id": 1, "method": "m" }), json!(1), "`jsonrpc` must be \"2.0\""),
            (json!({ "jsonrpc": "1.0", "id": "a", "method": "m" }), json!("a"), "`jsonrpc` must be \"2.0\""),
            (json!({ "jsonrpc": "2.0", "id": 2 }), json!(2), "`method` must be a string"),
            (json!({ "jsonrpc": "2.0", "id": 2, "method": 3 }), json!(2), "`method` must be a string"),
            (json!({ "jsonrpc": "2.0", "id": 2, "method": "m", "params": [] }), json!(2), "`params` must be an object"),
            (
                json!({ "jsonrpc": "2.0", "id": null, "method": "m" }),
                json!(null),
                "`id` must be a string or an integer",
            ),
            (json!({ "jsonrpc": "2.0", "id": 1.5, "method": "m" }), json!(null), "`id` must be a string or an integer"),
        ] {
            let reply = error(&id, INVALID_REQUEST, &format!("Invalid request: {why}"), None);
            assert_eq!(Incoming::read(value.clone()), Err(reply), "{value}");
        }
    }

    #[test]
    fn requests_notifications_and_responses_are_distinguished() {
        let request = Request { id: json!("a"), method: "m".into(), params: json!({}) };
        assert_eq!(
            Incoming::read(json!({ "jsonrpc": "2.0", "id": "a", "method": "m" })),
            Ok(Incoming::Request(request))
        );
        assert_eq!(
            Incoming::read(json!({ "jsonrpc": "2.0", "method": "m", "params": { "a": 1 } })),
            Ok(Incoming::Notification { method: "m".into(), params: json!({ "a": 1 }) })
        );
        for key in ["result", "error"] {
            assert_eq!(Incoming::read(json!({ "jsonrpc": "2.0", "id": 1, key: {} })), Ok(Incoming::Response));
        }
    }
}
