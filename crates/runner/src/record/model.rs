//! The model side: forwards every request to the provider and the response back, byte for byte as they arrive.

use std::collections::BTreeMap;
use std::error::Error;

use std::time::Duration;

use http_body_util::BodyExt as _;
use hyper::body::Incoming;
use hyper::header::{
    ACCEPT_ENCODING, CONNECTION, CONTENT_ENCODING, CONTENT_LENGTH, CONTENT_TYPE, HOST, HeaderName, HeaderValue, TE,
    TRAILER, TRANSFER_ENCODING, UPGRADE,
};
use hyper::{HeaderMap, Request, Response, StatusCode};
use mcptest_core::ledger::{self, End, Interface};
use mcptest_core::trace::FaultKind;
use reqwest::{Client, ClientBuilder, Url};
use tokio::time::sleep;

use super::body::{Body, whole};
use super::capture::{self, Capture, Kind, MAX_KEPT, MAX_OTHER};
use super::fault::At;
use super::ledger::{PendingModelRequest, Recorder};
use super::listen::plain;
use super::tap::{Cut, Resumed, Tap, Tapped, collect};
use crate::tls;

/// A provider, and the variables that lead clients to it.
#[derive(Debug)]
pub(super) struct Provider {
    /// The first part of the path on the listener.
    route: &'static str,
    /// The variables in the order in which they are read.
    variables: &'static [&'static str],
    /// What clients append their paths to, below the route.
    suffix: &'static str,
    default: Option<&'static str>,
}

const PROVIDERS: [Provider; 4] = [
    Provider {
        route: "openai",
        variables: &["OPENAI_BASE_URL", "OPENAI_API_BASE"],
        suffix: "/v1",
        default: Some("https://api.openai.com/v1"),
    },
    Provider {
        route: "anthropic",
        variables: &["ANTHROPIC_BASE_URL", "ANTHROPIC_API_URL"],
        suffix: "",
        default: Some("https://api.anthropic.com"),
    },
    Provider {
        route: "gemini",
        variables: &["GOOGLE_GEMINI_BASE_URL"],
        suffix: "",
        default: Some("https://generativelanguage.googleapis.com"),
    },
    Provider { route: "azure", variables: &["AZURE_OPENAI_ENDPOINT"], suffix: "", default: None },
];

/// Headers that belong to one connection, and those that are set again.
const HOP_BY_HOP: [HeaderName; 6] = [CONNECTION, TE, TRAILER, TRANSFER_ENCODING, UPGRADE, HOST];
/// More of them, which have no constant.
const HOP_BY_HOP_NAMES: [&str; 3] = ["keep-alive", "proxy-authenticate", "proxy-authorization"];
/// How names of headers end whose values are credentials. Gateways use various names for them. Not every header with `key`
/// is one, and an ordinary word mistaken for a secret would be redacted everywhere.
const CREDENTIALS: [&str; 10] = [
    "api-key",
    "apikey",
    "access-key",
    "subscription-key",
    "-token",
    "secret",
    "password",
    "cookie",
    "authorization",
    "-auth",
];
/// Parts of a query that are kept.
const QUERY_KEPT: [&str; 3] = ["alt", "beta", "api-version"];
/// Headers of a response that are kept.
const KEPT: [&str; 6] =
    ["content-type", "retry-after", "retry-after-ms", "anthropic-version", "openai-version", "api-version"];

/// Where the providers of a recording are.
#[derive(Debug)]
pub struct Upstreams(BTreeMap<&'static str, Upstream>);

#[derive(Debug)]
pub(super) struct Upstream {
    provider: &'static Provider,
    base: Url,
    client: Client,
}

/// Why a provider cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum UpstreamError {
    /// The value is not shown, because it may contain a password.
    #[error("the value of {variable} is not a valid URL: {why}")]
    Url { variable: &'static str, why: String },
    #[error("cannot prepare HTTPS: {0}")]
    Client(String),
}

impl Upstreams {
    /// Every provider at the URL of its variable, else at its default URL.
    pub fn new(variable: &dyn Fn(&str) -> Option<String>) -> Result<Self, UpstreamError> {
        let mut out = BTreeMap::new();
        for provider in &PROVIDERS {
            let read = |name: &&'static str| Some((*name, variable(name).filter(|value| !value.trim().is_empty())?));
            let set = provider.variables.iter().find_map(read);
            let (name, text) = match (set, provider.default) {
                (Some(set), _) => set,
                (None, Some(default)) => (provider.variables[0], default.to_owned()),
                (None, None) => continue,
            };
            let base = base_url(text.trim()).map_err(|why| UpstreamError::Url { variable: name, why })?;
            out.insert(provider.route, Upstream { provider, client: client(&base)?, base });
        }
        Ok(Self(out))
    }

    /// The variables that lead clients to providers.
    pub fn names() -> impl Iterator<Item = &'static str> {
        PROVIDERS.iter().flat_map(|provider| provider.variables.iter().copied())
    }

    /// No provider, for reruns.
    pub fn none() -> Self {
        Self(BTreeMap::new())
    }

    pub(super) fn get(&self, route: &str) -> Option<&Upstream> {
        self.0.get(route)
    }

    /// The passwords in their addresses.
    pub(super) fn passwords(&self) -> impl Iterator<Item = &str> {
        self.0.values().filter_map(|upstream| upstream.base.password())
    }

    /// The variables that lead a program to the proxies at `base`.
    pub(super) fn variables(&self, base: &str) -> BTreeMap<String, String> {
        self.0.values().flat_map(|upstream| upstream.provider.proxy_variables(base)).collect()
    }
}

fn base_url(text: &str) -> Result<Url, String> {
    let url = Url::parse(text).map_err(|error| tls::url_error(text, &error))?;
    match url.scheme() {
        "http" | "https" if url.has_host() => Ok(url),
        other => Err(format!("it starts with `{other}:` instead of `http:` or `https:`")),
    }
}

fn client(base: &Url) -> Result<Client, UpstreamError> {
    client_builder(base).build().map_err(|error| UpstreamError::Client(innermost(&error)))
}

/// A client that passes on what it gets.
pub(super) fn client_builder(base: &Url) -> ClientBuilder {
    let mut builder = tls::client().referer(false).retry(reqwest::retry::never()).no_gzip().tcp_nodelay(true);
    if tls::is_local(base) {
        // For a proxy, `localhost` is another machine.
        builder = builder.no_proxy();
        if base.scheme() == "http" {
            // Plain HTTP needs no CA certificates, and small containers have none.
            builder = builder.tls_certs_only([]);
        }
    }
    builder
}

pub(super) fn innermost(error: &dyn Error) -> String {
    let mut error = error;
    while let Some(source) = error.source() {
        error = source;
    }
    error.to_string()
}

impl Provider {
    /// The provider of a route.
    pub(super) fn of(route: &str) -> Option<&'static Self> {
        PROVIDERS.iter().find(|provider| provider.route == route)
    }

    /// The path below the provider's own base, as `/v1/messages`.
    pub(super) fn path(&self, rest: &str) -> String {
        let path = format!("/{rest}");
        let has_version = path == "/v1" || path.starts_with("/v1/");
        match self.route {
            "openai" if !has_version => format!("/v1{path}"),
            // Some clients append `/messages` to a base that others take without its version.
            "anthropic" if !has_version && !path.starts_with("/api/") => format!("/v1{path}"),
            _ => path,
        }
    }

    /// The variables that lead a program to a proxy at `base`.
    fn proxy_variables(&self, base: &str) -> impl Iterator<Item = (String, String)> {
        let Self { route, variables, suffix, .. } = self;
        let url = format!("{base}/{route}{suffix}");
        variables.iter().map(move |name| ((*name).to_owned(), url.clone()))
    }
}

/// The variables that lead a program to proxies for all providers.
pub(super) fn all_variables(base: &str) -> BTreeMap<String, String> {
    PROVIDERS.iter().flat_map(|provider| provider.proxy_variables(base)).collect()
}

impl Upstream {
    /// The path below the provider's own base, and the URL it leads to.
    fn target(&self, rest: &str, query: Option<&str>) -> (String, Url) {
        let shown = self.provider.path(rest);
        let base = self.base.path().trim_end_matches('/');
        let whole = match self.provider.route {
            "openai" => format!("{base}{}", shown.strip_prefix("/v1").unwrap_or(&shown)),
            "anthropic" => format!("{}{shown}", base.strip_suffix("/v1").unwrap_or(base)),
            _ => format!("{base}{shown}"),
        };
        let mut url = self.base.clone();
        url.set_path(&whole);
        url.set_query(query);
        (shown, url)
    }
}

/// What is kept of a query.
pub(super) fn kept_query(query: Option<&str>) -> Option<String> {
    let is_kept = |pair: &&str| QUERY_KEPT.contains(&pair.split('=').next().unwrap_or_default());
    let kept: Vec<&str> = query?.split('&').filter(is_kept).collect();
    (!kept.is_empty()).then(|| kept.join("&"))
}

/// Remembers the credentials of a request.
pub(super) fn learn(recorder: &Recorder, headers: &HeaderMap, query: Option<&str>) {
    for (name, value) in headers.iter().filter_map(|(name, value)| Some((name.as_str(), value.to_str().ok()?))) {
        if CREDENTIALS.iter().any(|end| name.ends_with(end)) {
            // After a scheme, such as `Bearer`.
            let token = value.split_once(' ').filter(|_| name.contains("auth")).map_or(value, |(_, token)| token);
            recorder.learn(name, token.trim());
        }
    }
    for (name, value) in query.unwrap_or_default().split('&').filter_map(|pair| pair.split_once('=')) {
        if ["key", "token", "secret", "sig"].iter().any(|part| name.to_ascii_lowercase().contains(part)) {
            recorder.learn(name, value);
        }
    }
}

/// Headers without those of one connection.
pub(super) fn end_to_end(headers: &HeaderMap) -> HeaderMap {
    let mut out = headers.clone();
    let named = headers.get_all(CONNECTION).iter().filter_map(|value| value.to_str().ok());
    for name in named.flat_map(|value| value.split(',')).filter_map(|name| HeaderName::try_from(name.trim()).ok()) {
        out.remove(name);
    }
    for name in &HOP_BY_HOP {
        out.remove(name);
    }
    for name in HOP_BY_HOP_NAMES {
        out.remove(name);
    }
    out
}

/// Whether a client can go on over a WebSocket only. An offer of HTTP/2 is ignored, as servers may do.
pub(super) fn wants_websocket(headers: &HeaderMap) -> bool {
    let offers = headers.get_all(UPGRADE).iter().filter_map(|value| value.to_str().ok());
    offers.flat_map(|offer| offer.split(',')).any(|name| name.trim().eq_ignore_ascii_case("websocket"))
}

pub(super) fn text<'h>(headers: &'h HeaderMap, name: &HeaderName) -> Option<&'h str> {
    headers.get(name).and_then(|value| value.to_str().ok())
}

/// Forwards one request and starts to forward its response.
pub(super) async fn forward(
    upstream: &Upstream,
    recorder: &Recorder,
    rest: &str,
    request: Request<Incoming>,
) -> Response<Body> {
    let (head, body) = request.into_parts();
    if wants_websocket(&head.headers) {
        return plain(StatusCode::UPGRADE_REQUIRED, "WebSocket is not recorded; use HTTP");
    }
    let query = head.uri.query();
    learn(recorder, &head.headers, query);
    let (path, url) = upstream.target(rest, query);
    let interface = Interface::of(head.method.as_str(), &path);
    let limit = if interface.is_some() { MAX_KEPT } else { MAX_OTHER };
    let kind = Kind::new(text(&head.headers, &CONTENT_TYPE), text(&head.headers, &CONTENT_ENCODING));
    let asked = PendingModelRequest { interface, method: head.method.to_string(), path, query: kept_query(query) };

    let mut headers = end_to_end(&head.headers);
    headers.insert(ACCEPT_ENCODING, HeaderValue::from_static("identity"));
    let mut outgoing = upstream.client.request(head.method.clone(), url);
    // What does not fit is sent on while it arrives.
    let Some((whole, rest)) = collect(body, limit).await else {
        // The program has disconnected; there is no one to answer.
        return plain(StatusCode::BAD_REQUEST, "the request is not complete");
    };
    let exchange = recorder.exchange();
    let capture = Capture::new(limit);
    let mut pending = Pending { recorder: recorder.clone(), exchange, asked: Some(asked), capture, kind, limit };
    match rest {
        None => {
            pending.chunk(&whole);
            drop(pending);
            headers.remove(CONTENT_LENGTH);
            if !whole.is_empty() || head.headers.contains_key(CONTENT_LENGTH) {
                outgoing = outgoing.body(whole);
            }
        }
        Some(rest) => {
            let body = Resumed { first: Some(whole.into()), rest };
            outgoing = outgoing.body(reqwest::Body::wrap(Tapped::new(body, pending)));
        }
    }
    let watch = Watch {
        recorder: recorder.clone(),
        exchange,
        first_ms: 0,
        status: None,
        headers: BTreeMap::new(),
        capture: Capture::new(limit),
        kind: Kind::default(),
        limit,
        is_done: false,
    };
    let mut active = if interface.is_some() { recorder.faults().fault_for_model() } else { None };
    if let Some(active) = &mut active {
        active.at = Some(At::Model(exchange));
    }
    match active {
        None => respond(outgoing.headers(headers), watch, upstream, None).await,
        Some(active) => match active.fault.kind {
            FaultKind::ModelSlow => {
                sleep(Duration::from_millis(active.fault.delay_ms)).await;
                active.delayed();
                respond(outgoing.headers(headers), watch, upstream, None).await
            }
            FaultKind::ModelCut => {
                let events = active.fault.events;
                respond(outgoing.headers(headers), watch, upstream, Some(events)).await
            }
            FaultKind::ModelError => {
                let status = StatusCode::from_u16(active.fault.status).unwrap_or(StatusCode::SERVICE_UNAVAILABLE);
                let error = r#"{"type":"error","error":{"type":"overloaded_error","message":"injected by mcptest"}}"#;
                injected(watch, status, error, End::Complete)
            }
            _ => {
                // An unreadable reply would make the recording incomplete, but this is not a reply of the model.
                let end = End::Upstream("an injected fault replaced the reply".to_owned());
                injected(watch, StatusCode::OK, "<<< this is not a reply of a model >>>", end)
            }
        },
    }
}

/// A response that no upstream gave.
fn injected(mut watch: Watch, status: StatusCode, text: &'static str, end: End) -> Response<Body> {
    watch.first_ms = watch.recorder.ms();
    watch.status = Some(status.as_u16());
    watch.kind = Kind::new(Some("application/json"), None);
    watch.headers.insert("content-type".to_owned(), "application/json".to_owned());
    watch.capture.push(text.as_bytes());
    watch.finish(end);
    let mut response = Response::new(whole(text));
    *response.status_mut() = status;
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    response
}

/// The copy of a request. It is entered when it is dropped, which is when all of the request was seen.
struct Pending {
    recorder: Recorder,
    exchange: u64,
    asked: Option<PendingModelRequest>,
    capture: Capture,
    kind: Kind,
    limit: usize,
}

impl Drop for Pending {
    fn drop(&mut self) {
        let Some(asked) = self.asked.take() else { return };
        let capture = std::mem::replace(&mut self.capture, Capture::new(0));
        let body = capture::read(capture, &self.kind, self.limit);
        self.recorder.request(self.exchange, asked, body);
    }
}

impl Tap for Pending {
    fn chunk(&mut self, chunk: &[u8]) {
        self.capture.push(chunk);
    }

    fn end(&mut self, _: Option<String>) {}
}

/// Sends a request and starts to forward its response, which breaks off after `cut` events.
async fn respond(
    outgoing: reqwest::RequestBuilder,
    mut watch: Watch,
    upstream: &Upstream,
    cut: Option<u64>,
) -> Response<Body> {
    let response = match outgoing.send().await {
        Ok(response) => response,
        Err(error) => {
            let host = upstream.base.host_str().unwrap_or_default();
            let why = format!("cannot reach {host}: {}", innermost(&error.without_url()));
            watch.first_ms = watch.recorder.ms();
            watch.finish(End::Upstream(why.clone()));
            return plain(StatusCode::BAD_GATEWAY, &why);
        }
    };
    let headers = response.headers();
    watch.first_ms = watch.recorder.ms();
    watch.status = Some(response.status().as_u16());
    watch.kind = Kind::new(text(headers, &CONTENT_TYPE), text(headers, &CONTENT_ENCODING));
    for name in KEPT {
        if let Some(value) = headers.get(name).and_then(|value| value.to_str().ok()) {
            watch.headers.insert(name.to_owned(), value.to_owned());
        }
    }
    let (status, mut headers) = (response.status(), end_to_end(headers));
    let body = reqwest::Body::from(response);
    let body = match cut {
        None => Tapped::new(body, watch).boxed_unsync(),
        Some(events) => {
            headers.remove(CONTENT_LENGTH);
            Tapped::new(Cut::new(body, events), watch).boxed_unsync()
        }
    };
    let mut out = Response::new(body);
    *out.status_mut() = status;
    *out.headers_mut() = headers;
    out
}

/// The copy of a response. It is recorded when the response ends, regardless of which side ends it.
struct Watch {
    recorder: Recorder,
    exchange: u64,
    first_ms: u64,
    status: Option<u16>,
    headers: BTreeMap<String, String>,
    capture: Capture,
    kind: Kind,
    limit: usize,
    is_done: bool,
}

impl Watch {
    fn finish(&mut self, end: End) {
        if std::mem::replace(&mut self.is_done, true) {
            return;
        }
        let capture = std::mem::replace(&mut self.capture, Capture::new(0));
        let read = if end == End::Complete { capture::read } else { capture::read_cut };
        self.recorder.response(ledger::Response {
            exchange: self.exchange,
            first_ms: self.first_ms,
            status: self.status,
            headers: std::mem::take(&mut self.headers),
            body: read(capture, &self.kind, self.limit),
            end,
        });
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        self.finish(End::Program);
    }
}

impl Tap for Watch {
    fn chunk(&mut self, chunk: &[u8]) {
        self.capture.push(chunk);
    }

    fn end(&mut self, broken: Option<String>) {
        self.finish(broken.map_or(End::Complete, End::Upstream));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn upstreams(set: &[(&str, &str)]) -> Upstreams {
        let set: BTreeMap<&str, &str> = set.iter().copied().collect();
        Upstreams::new(&|name| set.get(name).map(|value| (*value).to_owned())).unwrap()
    }

    #[test]
    fn a_path_leads_to_the_address_in_the_variable() {
        let all = upstreams(&[("OPENAI_API_BASE", "http://127.0.0.1:1/llm/v1/")]);
        let target = |route: &str, rest: &str, query: Option<&str>| {
            let (path, url) = all.get(route).unwrap().target(rest, query);
            (path, url.to_string())
        };
        let pair = |path: &str, url: &str| (path.to_owned(), url.to_owned());
        assert_eq!(
            target("openai", "v1/chat/completions", None),
            pair("/v1/chat/completions", "http://127.0.0.1:1/llm/v1/chat/completions")
        );
        assert_eq!(
            target("anthropic", "v1/messages", Some("beta=true")),
            pair("/v1/messages", "https://api.anthropic.com/v1/messages?beta=true")
        );
        assert_eq!(
            target("anthropic", "messages", None),
            pair("/v1/messages", "https://api.anthropic.com/v1/messages")
        );
        assert_eq!(target("anthropic", "api/hello", None), pair("/api/hello", "https://api.anthropic.com/api/hello"));
        assert_eq!(
            target("gemini", "v1beta/models/m:streamGenerateContent", Some("alt=sse")),
            pair(
                "/v1beta/models/m:streamGenerateContent",
                "https://generativelanguage.googleapis.com/v1beta/models/m:streamGenerateContent?alt=sse"
            )
        );
        assert!(all.get("azure").is_none());
        let variables = all.variables("http://127.0.0.1:9/t");
        assert_eq!(variables["OPENAI_BASE_URL"], "http://127.0.0.1:9/t/openai/v1");
        assert_eq!(variables["ANTHROPIC_API_URL"], "http://127.0.0.1:9/t/anthropic");
    }

    #[test]
    fn a_variable_without_a_value_does_not_count() {
        let all =
            upstreams(&[("OPENAI_BASE_URL", " "), ("OPENAI_API_BASE", "http://user:planted-password@127.0.0.1:1/v1")]);
        assert_eq!(all.get("openai").unwrap().base.host_str(), Some("127.0.0.1"));
        assert_eq!(all.passwords().collect::<Vec<_>>(), ["planted-password"]);
    }

    #[test]
    fn credentials_are_learned_also_from_the_headers_of_gateways() {
        let recorder = Recorder::new(Vec::new(), Vec::new(), Vec::new());
        let mut headers = HeaderMap::new();
        for (name, value) in [
            ("authorization", "Bearer planted-bearer"),
            ("x-api-key", "planted-api-key"),
            ("ocp-apim-subscription-key", "planted-subscription"),
            ("helicone-auth", "Bearer planted-helicone"),
            ("cookie", "session=planted-session"),
            ("x-routing-key", "assistant"),
        ] {
            headers.insert(name, HeaderValue::from_static(value));
        }
        learn(&recorder, &headers, Some("alt=sse&key=planted-query"));
        let (_, redactor) = recorder.finish();
        let text = "planted-bearer planted-api-key planted-subscription planted-helicone session=planted-session \
                    planted-query assistant";
        let expected = "[redacted:authorization] [redacted:x-api-key] [redacted:ocp-apim-subscription-key] \
                        [redacted:helicone-auth] [redacted:cookie] [redacted:key] assistant";
        assert_eq!(redactor.text(text), expected);
    }

    #[test]
    fn only_harmless_parts_of_a_query_are_kept() {
        assert_eq!(kept_query(Some("key=secret&alt=sse&x=1&beta=true")), Some("alt=sse&beta=true".to_owned()));
        assert_eq!(kept_query(Some("key=secret")), None);
        assert_eq!(kept_query(None), None);
    }
}
