//! Headers that repeat parts of a message, so that proxies do not need to parse it. No I/O.

use std::collections::{BTreeMap, BTreeSet};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use mcptest_core::json;
use reqwest::header::{HeaderMap, HeaderName, HeaderValue};
use serde_json::Value;

use crate::catalog::Tool;

pub(crate) const SESSION: HeaderName = HeaderName::from_static("mcp-session-id");
pub(crate) const VERSION: HeaderName = HeaderName::from_static("mcp-protocol-version");
const METHOD: HeaderName = HeaderName::from_static("mcp-method");
const NAME: HeaderName = HeaderName::from_static("mcp-name");

/// Arguments that a tool wants repeated: the path of each, and its header.
type Marked = Vec<(Vec<String>, HeaderName)>;

/// Arguments that are repeated in headers (`x-mcp-header`), by tool.
#[derive(Debug, Clone, Default)]
pub(crate) struct HeaderArgs(BTreeMap<String, Marked>);

/// Why clients must not offer a tool: its schema violates the rules for arguments in headers. The argument comes first.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum InvalidHeaderMark {
    /// The mark is not a valid header name.
    #[error("`{0}`: {1} is not a header name")]
    Name(String, String),
    /// The argument has a type that headers cannot carry.
    #[error("`{0}`: only strings, integers and booleans go into headers")]
    Type(String),
    /// Another argument has the same header; case is ignored.
    #[error("`{0}`: another argument has the header `{1}`")]
    Taken(String, String),
}

impl HeaderArgs {
    pub(super) fn of(tools: &[Tool]) -> Self {
        let mut out = Self::default();
        for tool in tools {
            out.add(&tool.name, &tool.input_schema);
        }
        out
    }

    pub(crate) fn add(&mut self, tool: &str, schema: &Value) {
        if let Some(marked) = marked(schema).ok().filter(|marked| !marked.is_empty()) {
            self.0.insert(tool.to_owned(), marked);
        }
    }
}

/// Why clients must not offer a tool, if so.
pub(super) fn forbidden(tool: &Tool) -> Option<InvalidHeaderMark> {
    marked(&tool.input_schema).err()
}

fn marked(schema: &Value) -> Result<Marked, InvalidHeaderMark> {
    let mut out = Vec::new();
    marked_properties(schema, &mut Vec::new(), &mut out)?;
    let mut names = BTreeSet::new();
    // Names of headers are kept in lower case.
    match out.iter().find(|(_, name)| !names.insert(name.as_str())) {
        Some((path, name)) => Err(InvalidHeaderMark::Taken(shown(path), json::cut(name.as_str(), 80))),
        None => Ok(out),
    }
}

fn shown(path: &[String]) -> String {
    json::cut(&path.join("."), 80)
}

/// Properties reached by `properties` alone. The JSON parser bounds the depth.
fn marked_properties(schema: &Value, path: &mut Vec<String>, out: &mut Marked) -> Result<(), InvalidHeaderMark> {
    let Some(properties) = schema.get("properties").and_then(Value::as_object) else { return Ok(()) };
    for (key, property) in properties {
        path.push(key.clone());
        if let Some(mark) = property.get("x-mcp-header") {
            let name = mark.as_str().filter(|name| !name.is_empty());
            let name = name.and_then(|name| HeaderName::try_from(format!("mcp-param-{name}")).ok());
            match name {
                None => return Err(InvalidHeaderMark::Name(shown(path), json::excerpt(mark, 80))),
                Some(_) if !is_scalar(property.get("type")) => return Err(InvalidHeaderMark::Type(shown(path))),
                Some(name) => out.push((path.clone(), name)),
            }
        }
        marked_properties(property, path, out)?;
        path.pop();
    }
    Ok(())
}

/// Whether values of this type can be sent in a header; null is omitted. A schema without `type` may state it in another way.
fn is_scalar(kind: Option<&Value>) -> bool {
    let allows = |kind: &Value| matches!(kind.as_str(), Some("string" | "integer" | "boolean"));
    match kind {
        None => true,
        Some(Value::Array(kinds)) => {
            kinds.iter().all(|kind| allows(kind) || kind == "null") && kinds.iter().any(allows)
        }
        Some(kind) => allows(kind),
    }
}

/// The headers of a message in the stateless era.
pub(super) fn modern(message: &Value, revision: &str, repeated: &HeaderArgs) -> HeaderMap {
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

/// A text as a header value: base64 if it is not plain ASCII or looks like base64 already.
fn fitting(text: &str) -> String {
    let is_plain = text.bytes().all(|byte| matches!(byte, b' '..=b'~')) && text.trim_ascii() == text;
    let is_taken = text.starts_with("=?base64?") && text.ends_with("?=");
    if is_plain && !is_taken { text.to_owned() } else { format!("=?base64?{}?=", STANDARD.encode(text)) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn tool(schema: Value) -> Tool {
        Tool {
            name: "q".to_owned(),
            description: None,
            input_schema: schema,
            annotations: None,
            other: serde_json::Map::new(),
        }
    }

    #[test]
    fn a_tool_with_an_invalid_header_mark_is_rejected() {
        let check = |properties: Value, expected: Option<&str>| {
            let tool = tool(json!({ "type": "object", "properties": properties }));
            assert_eq!(forbidden(&tool).map(|why| why.to_string()).as_deref(), expected);
            assert_eq!(HeaderArgs::of(&[tool]).0.is_empty(), expected.is_some());
        };
        let mark = |kind: Value, name: Value| json!({ "a": { "type": kind, "x-mcp-header": name } });
        for kind in [json!("string"), json!("integer"), json!("boolean"), json!(["string", "null"])] {
            check(mark(kind, json!("Region")), None);
        }
        check(json!({ "a": { "anyOf": [{ "type": "string" }, { "type": "null" }], "x-mcp-header": "A" } }), None);
        check(
            json!({ "a": { "items": { "properties": mark(json!("array"), json!("")) } }, "b": { "x-mcp-header": "B" } }),
            None,
        );
        for kind in ["number", "object", "array", "null"] {
            check(mark(json!(kind), json!("A")), Some("`a`: only strings, integers and booleans go into headers"));
        }
        for name in ["", "My Region", "Region:Primary", "Région", "a\tb", "a\r\nb"] {
            let shown = format!("`a`: {} is not a header name", json!(name));
            check(mark(json!("string"), json!(name)), Some(&shown));
        }
        check(mark(json!("string"), json!(7)), Some("`a`: 7 is not a header name"));
        let twice = json!({ "a": { "x-mcp-header": "My" }, "b": { "properties": { "c": { "x-mcp-header": "my" } } } });
        check(twice, Some("`b.c`: another argument has the header `mcp-param-my`"));
    }

    fn pairs(headers: &HeaderMap) -> Vec<(&str, &str)> {
        let mut out: Vec<_> = headers.iter().map(|(name, value)| (name.as_str(), value.to_str().unwrap())).collect();
        out.sort_unstable();
        out
    }

    #[test]
    fn text_that_is_invalid_in_a_header_is_sent_as_base64() {
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
        } });
        let tool = tool(schema);
        let arguments = json!({ "region": "Zürich", "deep": { "count": 3 }, "flag": true });
        let meta = json!({ "io.modelcontextprotocol/protocolVersion": "2099-01-01" });
        let params = json!({ "name": "q", "arguments": arguments, "_meta": meta });
        let call = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params });
        assert_eq!(
            pairs(&modern(&call, "2026-07-28", &HeaderArgs::of(&[tool]))),
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
            pairs(&modern(&list, "2026-07-28", &HeaderArgs::default())),
            [("mcp-method", "tools/list"), ("mcp-protocol-version", "2026-07-28")]
        );
        let answer = json!({ "jsonrpc": "2.0", "id": 1, "result": {} });
        assert_eq!(
            pairs(&modern(&answer, "2026-07-28", &HeaderArgs::default())),
            [("mcp-protocol-version", "2026-07-28")]
        );
    }
}
