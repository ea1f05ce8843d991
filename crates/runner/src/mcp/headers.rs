//! The headers that repeat what a message says, so that what stands between client and server need not read it. Pure.

use std::collections::BTreeMap;

use mcptest_core::json;
use reqwest::header::{HeaderMap, HeaderName, HeaderValue};
use serde_json::Value;

use crate::catalogue::Tool;

pub(super) const SESSION: HeaderName = HeaderName::from_static("mcp-session-id");
pub(super) const VERSION: HeaderName = HeaderName::from_static("mcp-protocol-version");
const METHOD: HeaderName = HeaderName::from_static("mcp-method");
const NAME: HeaderName = HeaderName::from_static("mcp-name");

/// Arguments that a tool wants repeated: the way to each, and the header it goes into.
type Marked = Vec<(Vec<String>, HeaderName)>;

/// The arguments that tools want repeated (`x-mcp-header`), by tool.
#[derive(Debug, Default)]
pub(super) struct Repeated(BTreeMap<String, Marked>);

impl Repeated {
    pub(super) fn of(tools: &[Tool]) -> Self {
        let marked = |tool: &Tool| {
            let mut out = Vec::new();
            marked_properties(&tool.input_schema, &mut Vec::new(), &mut out);
            (!out.is_empty()).then(|| (tool.name.clone(), out))
        };
        Self(tools.iter().filter_map(marked).collect())
    }
}

/// Properties reached by `properties` alone. Depth is bounded by what the JSON parser takes.
fn marked_properties(schema: &Value, path: &mut Vec<String>, out: &mut Marked) {
    let Some(properties) = schema.get("properties").and_then(Value::as_object) else { return };
    for (key, property) in properties {
        path.push(key.clone());
        let name = property.get("x-mcp-header").and_then(Value::as_str).filter(|name| !name.is_empty());
        if let Some(name) = name.and_then(|name| HeaderName::try_from(format!("mcp-param-{name}")).ok()) {
            out.push((path.clone(), name));
        }
        marked_properties(property, path, out);
        path.pop();
    }
}

/// What a message of the stateless era says, as headers.
pub(super) fn modern(message: &Value, revision: &str, repeated: &Repeated) -> HeaderMap {
    let mut headers = HeaderMap::new();
    let mut set = |name: HeaderName, value: &str| {
        if let Ok(value) = HeaderValue::try_from(fitting(value)) {
            headers.insert(name, value);
        }
    };
    let meta = message.pointer("/params/_meta/io.modelcontextprotocol~1protocolVersion");
    set(VERSION, meta.and_then(Value::as_str).unwrap_or(revision));
    let Some(method) = message.get("method").and_then(Value::as_str) else { return headers };
    set(METHOD, method);
    let Some(name) = message.pointer("/params/name").and_then(Value::as_str).filter(|_| method == "tools/call") else {
        return headers;
    };
    set(NAME, name);
    for (path, header) in repeated.0.get(name).into_iter().flatten() {
        let arguments = message.pointer("/params/arguments");
        match path.iter().try_fold(arguments, |at, key| at.map(|at| at.get(key))).flatten() {
            Some(Value::String(text)) => set(header.clone(), text),
            Some(value @ (Value::Bool(_) | Value::Number(_))) => set(header.clone(), &json::canonical(value)),
            _ => {}
        }
    }
    headers
}

/// A text as a header can hold it: what is not plain, or would be taken for something else, goes as base64.
fn fitting(text: &str) -> String {
    let is_plain = text.bytes().all(|byte| matches!(byte, b' '..=b'~')) && text.trim_ascii() == text;
    let is_taken = text.starts_with("=?base64?") && text.ends_with("?=");
    if is_plain && !is_taken { text.to_owned() } else { format!("=?base64?{}?=", base64(text.as_bytes())) }
}

/// Base64 (RFC 4648) with its padding.
fn base64(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut out = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for group in bytes.chunks(3) {
        let at = |index: usize| group.get(index).copied().map_or(0, usize::from);
        let bits = (at(0) << 16) | (at(1) << 8) | at(2);
        for digit in 0..4 {
            // A group of n bytes has n + 1 digits.
            let letter = if digit <= group.len() { DIGITS[(bits >> (18 - 6 * digit)) & 63] } else { b'=' };
            out.push(char::from(letter));
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn pairs(headers: &HeaderMap) -> Vec<(&str, &str)> {
        let mut out: Vec<_> = headers.iter().map(|(name, value)| (name.as_str(), value.to_str().unwrap())).collect();
        out.sort_unstable();
        out
    }

    #[test]
    fn base64_is_that_of_the_standard() {
        for (text, expected) in [
            ("", ""),
            ("f", "Zg=="),
            ("fo", "Zm8="),
            ("foo", "Zm9v"),
            ("foob", "Zm9vYg=="),
            ("\u{fb}\u{ff}", "w7vDvw=="),
        ] {
            assert_eq!(base64(text.as_bytes()), expected);
        }
    }

    #[test]
    fn a_text_that_a_header_cannot_hold_goes_as_base64() {
        for plain in ["", "echo", "a b", "=?base64?", "~!"] {
            assert_eq!(fitting(plain), plain);
        }
        for (text, expected) in [
            (" a", "=?base64?IGE=?="),
            ("a\t", "=?base64?YQk=?="),
            ("ä", "=?base64?w6Q=?="),
            ("a\nb", "=?base64?YQpi?="),
            ("=?base64?YQ==?=", "=?base64?PT9iYXNlNjQ/WVE9PT89?="),
        ] {
            assert_eq!(fitting(text), expected);
        }
    }

    #[test]
    fn a_call_repeats_revision_method_name_and_marked_arguments() {
        let schema = json!({ "type": "object", "properties": {
            "region": { "type": "string", "x-mcp-header": "Region" },
            "deep": { "properties": { "count": { "type": "integer", "x-mcp-header": "Count" } } },
            "flag": { "type": "boolean", "x-mcp-header": "Flag" },
            "absent": { "type": "string", "x-mcp-header": "Absent" },
            "wrong": { "type": "string", "x-mcp-header": "not a name" },
            "empty": { "type": "string", "x-mcp-header": "" },
            "list": { "type": "array", "x-mcp-header": "List" },
        } });
        let tool = Tool {
            name: "q".to_owned(),
            description: None,
            input_schema: schema,
            annotations: None,
            other: serde_json::Map::new(),
        };
        let arguments =
            json!({ "region": "Zürich", "deep": { "count": 3 }, "flag": true, "wrong": "x", "empty": "x", "list": [] });
        let meta = json!({ "io.modelcontextprotocol/protocolVersion": "2099-01-01" });
        let params = json!({ "name": "q", "arguments": arguments, "_meta": meta });
        let call = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params });
        assert_eq!(
            pairs(&modern(&call, "2026-07-28", &Repeated::of(&[tool]))),
            [
                ("mcp-method", "tools/call"),
                ("mcp-name", "q"),
                ("mcp-param-count", "3"),
                ("mcp-param-flag", "true"),
                ("mcp-param-region", "=?base64?WsO8cmljaA==?="),
                ("mcp-protocol-version", "2099-01-01"),
            ]
        );
        let list = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": { "name": "q" } });
        assert_eq!(
            pairs(&modern(&list, "2026-07-28", &Repeated::default())),
            [("mcp-method", "tools/list"), ("mcp-protocol-version", "2026-07-28")]
        );
        let answer = json!({ "jsonrpc": "2.0", "id": 1, "result": {} });
        assert_eq!(
            pairs(&modern(&answer, "2026-07-28", &Repeated::default())),
            [("mcp-protocol-version", "2026-07-28")]
        );
    }
}
