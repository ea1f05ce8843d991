//! Checks a request before it is read, and headers that must match the body.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use hyper::HeaderMap;
use hyper::header::{ACCEPT, CONTENT_TYPE, HOST, HeaderName, ORIGIN};
use mcptest_core::json;
use mcptest_core::loopback::{is_local_host, is_local_origin};
use serde_json::Value;

use crate::protocol::{Request, Server};

pub(super) const VERSION: HeaderName = HeaderName::from_static("mcp-protocol-version");
pub(super) const SESSION: HeaderName = HeaderName::from_static("mcp-session-id");
const METHOD: HeaderName = HeaderName::from_static("mcp-method");
const NAME: HeaderName = HeaderName::from_static("mcp-name");

/// The text of a header that occurs once.
pub(super) fn single<'h>(headers: &'h HeaderMap, name: &HeaderName) -> Option<&'h str> {
    let mut values = headers.get_all(name).iter();
    let first = values.next()?;
    if values.next().is_some() { None } else { first.to_str().ok() }
}

/// Why a request may come from a website.
pub(super) fn cross_site(headers: &HeaderMap, bound_to_loopback: bool) -> Option<&'static str> {
    if headers.contains_key(ORIGIN) && !single(headers, &ORIGIN).is_some_and(is_local_origin) {
        return Some("the Origin is not local");
    }
    if bound_to_loopback && !single(headers, &HOST).is_some_and(is_local_host) {
        return Some("the Host is not local");
    }
    None
}

/// Whether the content type is JSON.
pub(super) fn sends_json(headers: &HeaderMap) -> bool {
    let kind = single(headers, &CONTENT_TYPE).and_then(|value| value.split(';').next());
    kind.is_some_and(|kind| kind.trim().eq_ignore_ascii_case("application/json"))
}

/// Whether the client accepts JSON.
pub(super) fn accepts_json(headers: &HeaderMap) -> bool {
    let mut kinds = headers
        .get_all(ACCEPT)
        .iter()
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(','))
        .map(|item| item.split(';').next().unwrap_or(item).trim().to_ascii_lowercase())
        .peekable();
    kinds.peek().is_none() || kinds.any(|kind| matches!(kind.as_str(), "application/json" | "application/*" | "*/*"))
}

/// Why the headers of a modern request do not match its body.
pub(super) fn mismatch(headers: &HeaderMap, request: &Request, version: &str, server: &Server) -> Option<String> {
    let differs = |name: &HeaderName, body: &str| match single(headers, name) {
        None => Some(format!("Header mismatch: {name} is missing, given twice or not plain text")),
        Some(value) if decoded(value).as_deref() == Some(body) => None,
        Some(value) => Some(format!("Header mismatch: {name} is `{value}`, and the body has `{body}`")),
    };
    if let Some(wrong) = differs(&VERSION, version).or_else(|| differs(&METHOD, &request.method)) {
        return Some(wrong);
    }
    let key = match request.method.as_str() {
        "tools/call" | "prompts/get" => "name",
        "resources/read" => "uri",
        _ => return None,
    };
    // Without the value there is nothing to compare; that it is missing is reported later.
    let name = request.params.get(key).and_then(Value::as_str)?;
    if let Some(wrong) = differs(&NAME, name) {
        return Some(wrong);
    }
    let tool = server.spec.tool(name).filter(|_| request.method == "tools/call")?;
    let mut marked = Vec::new();
    marked_properties(tool.input.source(), &mut Vec::new(), &mut marked);
    marked.iter().find_map(|(path, header)| {
        let pointer = path.iter().try_fold(request.params.get("arguments"), |at, key| at.map(|at| at.get(*key)));
        parameter(headers, header, pointer.flatten())
    })
}

/// A decoded value: `=?base64?..?=` is used for characters that headers do not allow.
fn decoded(value: &str) -> Option<String> {
    match value.strip_prefix("=?base64?").and_then(|rest| rest.strip_suffix("?=")) {
        Some(encoded) => String::from_utf8(STANDARD.decode(encoded).ok()?).ok(),
        None => Some(value.to_owned()),
    }
}

/// Properties that are repeated in a header (`x-mcp-header`), reached by `properties` alone.
fn marked_properties<'s>(schema: &'s Value, path: &mut Vec<&'s str>, out: &mut Vec<(Vec<&'s str>, HeaderName)>) {
    let Some(properties) = schema.get("properties").and_then(Value::as_object) else { return };
    for (key, property) in properties {
        path.push(key);
        let name = property.get("x-mcp-header").and_then(Value::as_str);
        if let Some(name) = name.and_then(|name| HeaderName::try_from(format!("mcp-param-{name}")).ok()) {
            out.push((path.clone(), name));
        }
        marked_properties(property, path, out);
        path.pop();
    }
}

/// Why a header does not match its argument.
fn parameter(headers: &HeaderMap, name: &HeaderName, argument: Option<&Value>) -> Option<String> {
    let header = headers.contains_key(name).then(|| single(headers, name).and_then(decoded));
    let expected = match argument {
        None | Some(Value::Null) => None,
        Some(Value::String(text)) => Some(text.clone()),
        Some(other) => Some(json::canonical(other)),
    };
    let same = match (&header, &expected) {
        (None, None) => true,
        // `42.0` equals 42.
        (Some(Some(header)), Some(expected)) => {
            let number = |text: &str| text.parse().ok().map(|number| json::number_text(&number));
            header == expected || (argument.is_some_and(Value::is_number) && number(header) == Some(expected.clone()))
        }
        _ => false,
    };
    (!same).then(|| format!("Header mismatch: {name} does not repeat its argument"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use hyper::header::HeaderValue;
    use serde_json::json;

    fn headers(pairs: &[(&str, &str)]) -> HeaderMap {
        let mut map = HeaderMap::new();
        for (name, value) in pairs {
            map.append(HeaderName::try_from(*name).unwrap(), HeaderValue::from_str(value).unwrap());
        }
        map
    }

    #[test]
    fn a_request_of_a_web_page_is_refused() {
        let two = headers(&[("origin", "http://localhost"), ("origin", "http://example.test"), ("host", "localhost")]);
        assert!(cross_site(&two, true).is_some());
        assert!(cross_site(&headers(&[("host", "example.test")]), false).is_none());
    }

    #[test]
    fn kinds_of_content_are_read_as_lists_with_parameters() {
        assert!(sends_json(&headers(&[("content-type", "Application/JSON; charset=utf-8")])));
        assert!(!sends_json(&headers(&[("content-type", "text/json")])) && !sends_json(&headers(&[])));
        for value in ["application/json, text/event-stream", "text/event-stream, */*;q=0.1", "application/*"] {
            assert!(accepts_json(&headers(&[("accept", value)])), "{value}");
        }
        assert!(accepts_json(&headers(&[])));
        assert!(!accepts_json(&headers(&[("accept", "text/event-stream, text/html")])));
    }

    #[test]
    fn a_header_repeats_its_argument_or_is_absent_with_it() {
        let name = HeaderName::from_static("mcp-param-region");
        let check = |value: Option<&str>, argument: Value| {
            let given: Vec<_> = value.iter().map(|value| ("mcp-param-region", *value)).collect();
            parameter(&headers(&given), &name, Some(&argument)).is_none()
        };
        assert!(check(Some("eu"), json!("eu")) && check(None, json!(null)) && check(Some("true"), json!(true)));
        assert!(
            check(Some("42"), json!(42))
                && check(Some("42.0"), json!(42))
                && check(Some("=?base64?w6U=?="), json!("å"))
        );
        assert!(!check(Some("us"), json!("eu")) && !check(None, json!("eu")) && !check(Some("eu"), json!(null)));
        assert!(
            !check(Some("43"), json!(42))
                && !check(Some("=?base64?w6U?="), json!("å"))
                && !check(Some("42.0"), json!("42"))
        );
    }

    #[test]
    fn marked_properties_are_found_along_properties_alone() {
        let schema = json!({ "properties": {
            "a": { "x-mcp-header": "A" },
            "b": { "properties": { "c": { "x-mcp-header": "C" } } },
            "d": { "items": { "properties": { "e": { "x-mcp-header": "E" } } } },
            "f": { "x-mcp-header": "not a name" },
        } });
        let mut found = Vec::new();
        marked_properties(&schema, &mut Vec::new(), &mut found);
        let found: Vec<_> = found.iter().map(|(path, name)| (path.join("."), name.as_str())).collect();
        assert_eq!(found, [("a".to_owned(), "mcp-param-a"), ("b.c".to_owned(), "mcp-param-c")]);
    }
}
