//! One request over HTTP: the same bytes on every retry, a bounded number of retries, a response of bounded length.

use std::sync::OnceLock;
use std::time::Duration;

use mcptest_core::json;
use reqwest::header::{CONTENT_TYPE, LOCATION, RETRY_AFTER};
use reqwest::{Response, StatusCode};
use serde_json::Value;

use super::access::{Access, Wire, shown};
use super::anthropic;
use super::error::{Problem, seconds};

/// How often a request is sent.
const ATTEMPTS: u32 = 4;
/// The longest wait that a provider may request.
pub(super) const MAX_WAIT: Duration = Duration::from_mins(1);
/// The longest response. Arguments are copied a few times on their way to a server and into a trace, so a run needs several
/// times this at most.
const MAX_RESPONSE: usize = 16 << 20;
/// The longest request. Every request contains the whole conversation, so this bounds it. Providers accept less.
pub(super) const MAX_REQUEST: usize = 32 << 20;
/// The longest error response; the rest is not read.
const MAX_ERROR_BODY: usize = 64 << 10;
/// What is dropped at the end of an error response that was cut: a cut secret there would not be found.
const CUT_MARGIN: usize = 4 << 10;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Timeouts {
    /// Until there is a connection.
    pub connect: Duration,
    /// Until the response is complete, for each attempt.
    pub attempt: Duration,
    /// Before the first retry; doubled for each one after that.
    pub pause: Duration,
}

impl Default for Timeouts {
    fn default() -> Self {
        Self {
            connect: Duration::from_secs(30),
            // Reasoning models take minutes.
            attempt: Duration::from_mins(10),
            pause: Duration::from_millis(500),
        }
    }
}

/// The HTTP clients, each created when it is first needed. They follow no redirects and keep no cookies, because they carry
/// keys.
#[derive(Default)]
pub(super) struct Clients {
    remote: OnceLock<reqwest::Client>,
    local: OnceLock<reqwest::Client>,
    local_plain: OnceLock<reqwest::Client>,
}

impl Clients {
    fn get(&self, access: &Access, timeouts: Timeouts) -> Result<&reqwest::Client, Problem> {
        let is_plain = access.is_local && access.endpoint.scheme() == "http";
        let slot = match (access.is_local, is_plain) {
            (false, _) => &self.remote,
            (true, false) => &self.local,
            (true, true) => &self.local_plain,
        };
        if let Some(client) = slot.get() {
            return Ok(client);
        }
        let mut builder =
            crate::tls::client().referer(false).connect_timeout(timeouts.connect).timeout(timeouts.attempt);
        if access.is_local {
            // For a proxy, `localhost` is another machine.
            builder = builder.no_proxy();
        }
        if is_plain {
            // Small containers have no CA certificates, and plain HTTP needs none.
            builder = builder.tls_certs_only([]);
        }
        let client = builder.build().map_err(|error| Problem::NoClient { what: cause(error) })?;
        Ok(slot.get_or_init(|| client))
    }
}

struct Failed {
    problem: Problem,
    /// Whether a retry may help.
    again: bool,
}

/// Sends a request until there is a response. An error comes with the number of attempts.
pub(super) async fn send(
    clients: &Clients,
    timeouts: Timeouts,
    access: &Access,
    body: &[u8],
    notice: &(dyn Fn(&str) + Sync),
) -> Result<Vec<u8>, (Problem, u32)> {
    let client = clients.get(access, timeouts).map_err(|problem| (problem, 0))?;
    let mut attempt = 1;
    let mut pause = timeouts.pause;
    loop {
        let Failed { problem, again } = match once(client, timeouts, access, body).await {
            Ok(answer) => return Ok(answer),
            Err(failed) => failed,
        };
        let wait = match problem {
            Problem::Status { wait: Some(wait), .. } => wait,
            _ => pause,
        };
        if !again || attempt == ATTEMPTS || wait > MAX_WAIT {
            return Err((problem, attempt));
        }
        attempt += 1;
        pause *= 2;
        let what = match &problem {
            Problem::Status { status, .. } => format!("HTTP {status}"),
            other => other.to_string(),
        };
        let name = &access.name;
        notice(&format!("{name}: {what}; retrying in {} (attempt {attempt} of {ATTEMPTS})", seconds(wait)));
        tokio::time::sleep(wait).await;
    }
}

async fn once(client: &reqwest::Client, timeouts: Timeouts, access: &Access, body: &[u8]) -> Result<Vec<u8>, Failed> {
    let mut request = client
        .post(access.endpoint.clone())
        .headers(access.headers.clone())
        .header(CONTENT_TYPE, "application/json")
        .body(body.to_vec());
    if access.wire == Wire::Messages {
        request = request.header("anthropic-version", anthropic::VERSION);
    }
    let mut response = request.send().await.map_err(|error| Failed {
        again: !error.is_builder(),
        problem: if error.is_timeout() {
            Problem::Silent { limit: if error.is_connect() { timeouts.connect } else { timeouts.attempt } }
        } else {
            Problem::Unreachable { what: cause(error) }
        },
    })?;
    let status = response.status();
    if status.is_success() {
        return match read(&mut response, timeouts, MAX_RESPONSE).await {
            Ok((answer, true)) => Ok(answer),
            Ok((_, false)) => Err(Failed { problem: Problem::TooLong { limit: MAX_RESPONSE }, again: false }),
            // The response may have cost money already, so there is no retry.
            Err(problem) => Err(Failed { problem, again: false }),
        };
    }
    if status.is_redirection() {
        let to = response.headers().get(LOCATION).and_then(|to| to.to_str().ok());
        let to = to.and_then(|to| access.endpoint.join(to).ok()).map(|to| shown(&to));
        let to = to.unwrap_or_else(|| "nowhere".to_owned());
        return Err(Failed { problem: Problem::Redirect { status: status.as_u16(), to }, again: false });
    }
    let wait = wait(&response);
    // The status says more than a failure to read the body.
    let complaint = match read(&mut response, timeouts, MAX_ERROR_BODY).await {
        Ok((text, true)) => text,
        Ok((mut text, false)) => {
            text.truncate(MAX_ERROR_BODY - CUT_MARGIN);
            text
        }
        Err(_) => Vec::new(),
    };
    let message = error_message(&String::from_utf8_lossy(&complaint));
    Err(Failed { problem: Problem::Status { status: status.as_u16(), message, wait }, again: is_passing(status) })
}

/// Whether a status is temporary.
fn is_passing(status: StatusCode) -> bool {
    matches!(status.as_u16(), 408 | 409 | 429 | 500..=599)
}

/// The delay that the provider requests, in seconds. The header may also contain a date, which no model provider sends.
fn wait(response: &Response) -> Option<Duration> {
    let text = response.headers().get(RETRY_AFTER)?.to_str().ok()?;
    Duration::try_from_secs_f64(text.trim().parse().ok()?).ok()
}

/// The body up to a limit, and whether that was all of it.
async fn read(response: &mut Response, timeouts: Timeouts, limit: usize) -> Result<(Vec<u8>, bool), Problem> {
    let mut out = Vec::new();
    loop {
        match response.chunk().await {
            Ok(Some(chunk)) if out.len() + chunk.len() > limit => {
                out.extend_from_slice(&chunk[..limit - out.len()]);
                return Ok((out, false));
            }
            Ok(Some(chunk)) => out.extend_from_slice(&chunk),
            Ok(None) => return Ok((out, true)),
            Err(error) if error.is_timeout() => return Err(Problem::Silent { limit: timeouts.attempt }),
            Err(error) => return Err(Problem::Cut { what: cause(error) }),
        }
    }
}

/// The innermost cause of an error. The outer messages contain the URL with its query.
fn cause(error: reqwest::Error) -> String {
    let error = error.without_url();
    let mut deepest: &dyn std::error::Error = &error;
    while let Some(source) = deepest.source() {
        deepest = source;
    }
    deepest.to_string()
}

/// The message in an error response; the whole response if there is none.
pub(super) fn error_message(answer: &str) -> String {
    let value: Option<Value> = json::parse(answer).ok();
    let places = ["/error/message", "/error", "/message", "/detail", "/0/error/message"];
    let message = value.as_ref().and_then(|value| places.iter().find_map(|place| value.pointer(place)?.as_str()));
    message.unwrap_or(answer).to_owned()
}
