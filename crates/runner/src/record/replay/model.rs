//! Recorded responses of a model, in their original form: status, headers, events or a body, and how they ended.

use std::future::pending;
use std::pin::Pin;
use std::task::Poll;
use std::time::Duration;

use bytes::Bytes;
use http_body_util::BodyExt as _;
use hyper::body::Incoming;
use hyper::header::{CONTENT_ENCODING, CONTENT_TYPE, HeaderName, HeaderValue, RETRY_AFTER, UPGRADE};
use hyper::{Request, Response, StatusCode};
use mcptest_core::ledger::rerun::{ModelAnswer, Step};
use mcptest_core::ledger::{self, End, Event, Interface};
use serde_json::{Value, json};
use tokio::time::{Sleep, sleep};

use super::super::body::{Body, chunks, whole};
use super::super::capture::{self, Capture, Kind, MAX_KEPT, MAX_OTHER};
use super::super::listen::plain;
use super::super::model::{Provider, kept_query, text};
use super::{BREAK, Player};

const RETRY_AFTER_MS: HeaderName = HeaderName::from_static("retry-after-ms");
/// Official clients do not retry a request whose response says so.
const SHOULD_RETRY: HeaderName = HeaderName::from_static("x-should-retry");

impl Player {
    /// Answers a request to a provider.
    pub(in super::super) async fn model(
        &self,
        provider: &Provider,
        rest: &str,
        request: Request<Incoming>,
    ) -> Response<Body> {
        let (head, body) = request.into_parts();
        if head.headers.contains_key(UPGRADE) {
            return plain(StatusCode::UPGRADE_REQUIRED, "WebSocket is not recorded; use HTTP");
        }
        let path = provider.path(rest);
        let interface = Interface::of(head.method.as_str(), &path);
        let limit = if interface.is_some() { MAX_KEPT } else { MAX_OTHER };
        let kind = Kind::new(text(&head.headers, &CONTENT_TYPE), text(&head.headers, &CONTENT_ENCODING));
        let Some(capture) = captured(body, limit).await else {
            return plain(StatusCode::BAD_REQUEST, "the request is not complete");
        };
        let asked = self.rerun().model(ledger::Request {
            exchange: 0,
            interface,
            method: head.method.to_string(),
            path,
            query: kept_query(head.uri.query()),
            body: capture::read(capture, &kind, limit),
        });
        let found = self.ask(asked, |step| match step {
            Step::Model(ModelAnswer { response, delay_ms, is_injected }) => Some((
                response.map(|response| {
                    let end = if is_injected { End::Complete } else { response.end.clone() };
                    ledger::Response { end, ..response.clone() }
                }),
                Duration::from_millis(delay_ms),
            )),
            _ => None,
        });
        match found.await {
            Some((response, delay)) => {
                sleep(delay).await;
                match response {
                    Some(response) => self.answer(response).await,
                    // The recording ended before there was a response.
                    None => pending().await,
                }
            }
            None => self.refuse(interface),
        }
    }

    /// A response that no client retries, in the form of an error of the interface.
    fn refuse(&self, interface: Option<Interface>) -> Response<Body> {
        let message = format!("mcptest: {}", self.refusal());
        let body = match interface {
            Some(Interface::Gemini) => {
                json!({ "error": { "code": 400, "message": message, "status": "INVALID_ARGUMENT" } })
            }
            Some(Interface::Anthropic) => {
                json!({ "type": "error", "error": { "type": "invalid_request_error", "message": message } })
            }
            _ => json!({ "error": { "message": message, "type": "invalid_request_error", "code": null } }),
        };
        let mut response = Response::new(whole(body.to_string()));
        *response.status_mut() = StatusCode::BAD_REQUEST;
        response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        response.headers_mut().insert(SHOULD_RETRY, HeaderValue::from_static("false"));
        response
    }
}

/// Reads a request to its end. `None` if the client left.
async fn captured(mut body: Incoming, limit: usize) -> Option<Capture> {
    let mut capture = Capture::new(limit);
    while let Some(frame) = body.frame().await {
        if let Some(data) = frame.ok()?.data_ref() {
            capture.push(data);
        }
    }
    Some(capture)
}

impl Player {
    async fn answer(&self, recorded: ledger::Response) -> Response<Body> {
        let ledger::Response { status, headers, body, end, .. } = recorded;
        let Some(status) = status.and_then(|status| StatusCode::from_u16(status).ok()) else {
            let End::Upstream(why) = end else {
                // The program did not wait for it.
                return pending().await;
            };
            let mut response = plain(StatusCode::BAD_GATEWAY, &why);
            response.headers_mut().insert(RETRY_AFTER_MS, HeaderValue::from_static("1"));
            return response;
        };
        let (text, usual) = written(body);
        let bytes = self.restored(text);
        let mut response = Response::new(match end {
            End::Complete => whole(bytes),
            End::Upstream(_) => unfinished(bytes, Some(Box::pin(sleep(BREAK)))),
            End::Program => unfinished(bytes, None),
        });
        *response.status_mut() = status;
        let out = response.headers_mut();
        if let Some(usual) = usual {
            out.insert(CONTENT_TYPE, HeaderValue::from_static(usual));
        }
        for (name, value) in headers {
            if let (Ok(name), Ok(value)) = (HeaderName::try_from(name), HeaderValue::try_from(value)) {
                out.insert(name, value);
            }
        }
        // Those that clients try again.
        if matches!(status.as_u16(), 408 | 409 | 429 | 500..=599) {
            out.remove(RETRY_AFTER);
            out.insert(RETRY_AFTER_MS, HeaderValue::from_static("1"));
        }
        response
    }
}

/// The text of a body, and its usual content type.
fn written(body: ledger::Body) -> (String, Option<&'static str>) {
    match body {
        ledger::Body::Empty | ledger::Body::Unread(_) => (String::new(), None),
        ledger::Body::Text(text) => (text, Some("text/plain; charset=utf-8")),
        ledger::Body::Json { rest, .. } => (rest.to_string(), Some("application/json")),
        ledger::Body::Events(events) => (events.iter().map(event).collect(), Some("text/event-stream")),
    }
}

fn event(Event { name, data }: &Event) -> String {
    let name = name.as_ref().map_or_else(String::new, |name| format!("event: {name}\n"));
    let data = match data {
        Value::String(text) => text.replace('\n', "\ndata: "),
        other => other.to_string(),
    };
    format!("{name}data: {data}\n\n")
}

/// A body that does not come to its end: it breaks off, or nothing more comes.
fn unfinished(text: String, mut breaks: Option<Pin<Box<Sleep>>>) -> Body {
    let mut bytes = Some(Bytes::from(text)).filter(|bytes| !bytes.is_empty());
    chunks(move |context| match (bytes.take(), &mut breaks) {
        (Some(bytes), _) => Poll::Ready(Some(Ok(bytes))),
        (None, Some(sleep)) => {
            sleep.as_mut().poll(context).map(|()| Some(Err("the recorded response broke off here".into())))
        }
        // The client closes the connection, as it did then.
        (None, None) => Poll::Pending,
    })
}
