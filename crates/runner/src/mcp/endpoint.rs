//! Where a server is: a command, or a URL with headers.

use std::collections::BTreeMap;
use std::fmt;

use reqwest::Url;
use reqwest::header::{AUTHORIZATION, HeaderMap, HeaderName, HeaderValue};

use super::error::Problem;
use crate::process::Launch;
use crate::tls::url_error;

/// How a server is reached.
#[derive(Clone)]
pub enum Endpoint {
    /// Started as a child, over its pipes.
    Command(Launch),
    /// Already running, over Streamable HTTP.
    Url {
        /// `http` or `https`.
        url: String,
        headers: BTreeMap<String, String>,
        /// Token of every request.
        bearer: Option<String>,
    },
}

impl fmt::Debug for Endpoint {
    /// URLs, headers and tokens contain secrets: only host and names are shown.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Command(launch) => f.debug_tuple("Command").field(launch).finish(),
            Self::Url { url, headers, bearer } => f
                .debug_struct("Url")
                .field("host", &address(url).ok().map(|url| host(&url)))
                .field("headers", &headers.keys().collect::<Vec<_>>())
                .field("has_bearer", &bearer.is_some())
                .finish_non_exhaustive(),
        }
    }
}

/// Parses a URL; the error does not quote it.
pub(crate) fn address(url: &str) -> Result<Url, Problem> {
    let bad = |why: &str| Problem::BadUrl(why.to_owned());
    let url = Url::parse(url).map_err(|error| bad(&format!("is not a valid URL: {}", url_error(url, &error))))?;
    match url.scheme() {
        "http" | "https" if url.has_host() => Ok(url),
        other => Err(bad(&format!("starts with `{other}:` instead of `http:` or `https:`"))),
    }
}

/// Host and port of a URL, which is all of it that may be shown.
pub(crate) fn host(url: &Url) -> String {
    let host = url.host_str().unwrap_or_default();
    url.port().map_or_else(|| host.to_owned(), |port| format!("{host}:{port}"))
}

/// The headers of every request. The token overrides a header of the same name.
pub(crate) fn header_map(headers: &BTreeMap<String, String>, bearer: Option<&str>) -> Result<HeaderMap, Problem> {
    let mut out = HeaderMap::new();
    let mut add = |name: HeaderName, value: &str, shown: &str| match HeaderValue::try_from(value) {
        Ok(mut value) => {
            value.set_sensitive(true);
            out.insert(name, value);
            Ok(())
        }
        Err(_) => Err(Problem::BadHeader(format!("{shown} has a value that is not allowed in a header"))),
    };
    for (name, value) in headers {
        let header = HeaderName::try_from(name.as_str())
            .map_err(|_| Problem::BadHeader(format!("the header `{name}` is not a valid header name")))?;
        add(header, value, &format!("the header `{name}`"))?;
    }
    if let Some(token) = bearer {
        add(AUTHORIZATION, &format!("Bearer {token}"), "the bearer token")?;
    }
    Ok(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_shown_as_its_host_and_port() {
        for (text, shown) in [
            ("https://user:secret@example.test/key-123/mcp?token=secret", "example.test"),
            ("http://127.0.0.1:8080/mcp", "127.0.0.1:8080"),
            ("http://[::1]:9/", "[::1]:9"),
            ("https://example.test:443/", "example.test"),
        ] {
            assert_eq!(host(&address(text).unwrap()), shown);
        }
    }

    #[test]
    fn an_invalid_url_is_reported_without_repeating_it() {
        for (text, why) in [
            ("user:secret", "starts with `user:` instead of `http:` or `https:`"),
            ("file:///secret", "starts with `file:` instead of `http:` or `https:`"),
            ("/secret", "is not a valid URL: relative URL without a base"),
            ("http://", "is not a valid URL: empty host"),
            ("http://secret:99999/", "is not a valid URL: invalid port number"),
        ] {
            assert_eq!(address(text).unwrap_err().to_string(), format!("`url` {why}"));
        }
    }

    #[test]
    fn the_token_has_precedence_and_is_never_printed() {
        let headers = BTreeMap::from([("authorization", "Basic hidden"), ("X-Team", "hidden")]);
        let headers: BTreeMap<_, _> = headers.into_iter().map(|(k, v)| (k.to_owned(), v.to_owned())).collect();
        let map = header_map(&headers, Some("hidden")).unwrap();
        assert_eq!(
            (map["authorization"].as_bytes(), map["x-team"].as_bytes()),
            (&b"Bearer hidden"[..], &b"hidden"[..])
        );
        let url = "https://hidden:hidden@example.test/hidden?hidden".to_owned();
        let endpoint = Endpoint::Url { url, headers, bearer: Some("hidden".to_owned()) };
        assert_eq!(
            format!("{endpoint:?}"),
            r#"Url { host: Some("example.test"), headers: ["X-Team", "authorization"], has_bearer: true, .. }"#
        );
        assert!(map.values().all(HeaderValue::is_sensitive));
    }

    #[test]
    fn a_header_that_cannot_be_sent_is_named_without_its_value() {
        let error = |name: &str, value: &str, bearer| {
            let headers = BTreeMap::from([(name.to_owned(), value.to_owned())]);
            header_map(&headers, bearer).unwrap_err().to_string()
        };
        assert_eq!(error("X-A", "hid\nden", None), "the header `X-A` has a value that is not allowed in a header");
        assert_eq!(error("X A", "hidden", None), "the header `X A` is not a valid header name");
        assert_eq!(
            error("X-A", "fine", Some("hid\rden")),
            "the bearer token has a value that is not allowed in a header"
        );
    }
}
