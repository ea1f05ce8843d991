//! Opens the protocol: by `server/discover` in the stateless era, by the handshake of `initialize` before it.
//!
//! The client offers no capabilities, so that servers send no requests.

use std::time::Duration;

use mcptest_core::json;
use serde_json::{Map, Value, json};
use tokio::time::timeout;

use super::Observed;
use super::error::{ConnectError, Problem};
use super::exchange::{Failure, Reply, error_parts};
use super::server::{NoReply, Server};

/// The revision without a handshake.
pub(crate) const MODERN: &str = "2026-07-28";
/// The newest revision with one.
const LEGACY: &str = "2025-11-25";
/// The supported revisions that an `initialize` may be answered with.
const KNOWN: [&str; 5] = ["2024-11-05", "2025-03-26", "2025-06-18", LEGACY, MODERN];

/// The error code of a server that does not support the revision of a request.
const UNSUPPORTED_REVISION: i64 = -32022;

/// The two eras of the protocol.
#[derive(Debug, Clone, Copy)]
pub(super) enum Era {
    Modern,
    Legacy,
}

impl Era {
    pub(super) const ALL: [Self; 2] = [Self::Modern, Self::Legacy];

    /// The method that opens a connection.
    pub(super) fn opening(self) -> &'static str {
        match self {
            Self::Modern => "server/discover",
            Self::Legacy => "initialize",
        }
    }

    /// What the server reported, or why its answer does not open the protocol.
    fn observed(self, result: &Value) -> Result<Observed, Problem> {
        let refused = |what| Problem::Refused { step: self.opening().to_owned(), what };
        let unexpected = || refused(format!("an unexpected result: {}", json::excerpt(result, 200)));
        let (protocol, info) = match self {
            Self::Modern => {
                let offered = result.get("supportedVersions").and_then(Value::as_array).ok_or_else(unexpected)?;
                if !offered.iter().any(|revision| revision == MODERN) {
                    let offered: Vec<&str> = offered.iter().filter_map(Value::as_str).collect();
                    let offered = json::cut(&offered.join(", "), 200);
                    return Err(refused(format!("protocol revisions that mcptest does not support: [{offered}]")));
                }
                (MODERN, result.pointer("/_meta/io.modelcontextprotocol~1serverInfo"))
            }
            Self::Legacy => {
                let revision = result.get("protocolVersion").and_then(Value::as_str).ok_or_else(unexpected)?;
                if !KNOWN.contains(&revision) {
                    return Err(Problem::UnknownRevision(json::cut(revision, 40)));
                }
                (revision, Some(result.get("serverInfo").ok_or_else(unexpected)?))
            }
        };
        if !result.get("capabilities").is_some_and(Value::is_object) {
            return Err(unexpected());
        }
        let text = |key| info.and_then(|info| info.get(key)).and_then(Value::as_str);
        let server = match (text("name"), text("version")) {
            (Some(name), Some(version)) => json!({ "name": name, "version": version }),
            _ => Value::Null,
        };
        let instructions = result.get("instructions").and_then(Value::as_str).map(str::to_owned);
        Ok(Observed { server, protocol: protocol.to_owned(), instructions })
    }
}

fn client_info() -> Value {
    json!({ "name": "mcptest", "version": env!("CARGO_PKG_VERSION") })
}

/// The `_meta` of a request: what the stateless era requires, and a token for reports of progress.
pub(super) fn meta(revision: Option<&str>, progress: Option<i64>) -> Option<Value> {
    let mut meta = Map::new();
    if revision == Some(MODERN) {
        meta.insert("io.modelcontextprotocol/protocolVersion".to_owned(), MODERN.into());
        meta.insert("io.modelcontextprotocol/clientInfo".to_owned(), client_info());
        meta.insert("io.modelcontextprotocol/clientCapabilities".to_owned(), json!({}));
    }
    if let Some(token) = progress {
        meta.insert("progressToken".to_owned(), token.into());
    }
    (!meta.is_empty()).then_some(Value::Object(meta))
}

impl Server {
    /// Opens the protocol of one era.
    pub(super) async fn negotiate(&self, era: Era, limit: Duration) -> Result<Observed, Problem> {
        let step = era.opening();
        let params = match era {
            Era::Modern => Map::new(),
            Era::Legacy => {
                let client =
                    [("protocolVersion", LEGACY.into()), ("capabilities", json!({})), ("clientInfo", client_info())];
                client.into_iter().map(|(key, value)| (key.to_owned(), value)).collect()
            }
        };
        self.begin(matches!(era, Era::Modern).then_some(MODERN));
        let mut replied = self.ask(step, params.clone(), limit).await;
        // A server may refuse a revision and list it as supported: send the request again.
        if matches!(&replied, Ok((Reply::Error(error), _)) if lists_modern(error)) {
            replied = self.ask(step, params, limit).await;
        }
        let (result, _) = self.outcome(step, replied, limit).await?;
        let observed = era.observed(&result)?;
        self.exchange.set_revision(Some(&observed.protocol));
        if matches!(era, Era::Legacy) {
            let greeting = json!({ "jsonrpc": "2.0", "method": "notifications/initialized" });
            match timeout(limit, self.push(greeting)).await {
                Err(_) => return Err(Problem::Silent { step: step.to_owned(), ms: limit.as_millis() }),
                Ok(Err(failure)) => return Err(problem(step, failure)),
                Ok(Ok(())) => {}
            }
        }
        Ok(observed)
    }

    /// Opens the protocol with a handshake, after the other era failed.
    pub(super) async fn negotiate_after(&self, probe: Problem, limit: Duration) -> Result<Observed, Problem> {
        let initialize = match self.negotiate(Era::Legacy, limit).await {
            Err(problem) if problem.answer().is_some() => problem,
            other => return other,
        };
        let discover = match probe {
            // A slow start looks like no answer. By now the server has started.
            Problem::Silent { .. } => match self.negotiate(Era::Modern, limit).await {
                Ok(observed) => return Ok(observed),
                Err(problem) => problem,
            },
            probe => probe,
        };
        Err(match (discover, initialize) {
            // If both have the same status, one of them is enough.
            (Problem::Http { status, .. }, again @ Problem::Http { status: second, .. }) if status == second => again,
            (discover, initialize) => match (discover.answer(), initialize.answer()) {
                (Some(discover), Some(answer)) => {
                    Problem::NeitherEra { discover: discover.to_owned(), initialize: answer.to_owned() }
                }
                _ => initialize,
            },
        })
    }

    /// The result of a request of connecting, and its memory.
    pub(super) async fn result(
        &self,
        step: &str,
        params: Map<String, Value>,
        limit: Duration,
    ) -> Result<(Value, usize), Problem> {
        let replied = self.ask(step, params, limit).await;
        self.outcome(step, replied, limit).await
    }

    async fn outcome(
        &self,
        step: &str,
        replied: Result<(Reply, usize), NoReply>,
        limit: Duration,
    ) -> Result<(Value, usize), Problem> {
        Err(match replied {
            Ok((Reply::Result(result), cost)) => return Ok((result, cost)),
            Ok((Reply::Error(error), _)) => Problem::Refused { step: step.to_owned(), what: error_text(&error) },
            Ok((Reply::Failed(failure), _)) => problem(step, failure),
            Err(NoReply::Timeout) => Problem::Silent { step: step.to_owned(), ms: limit.as_millis() },
            Err(NoReply::Ended) => self.lost(step.to_owned()).await,
        })
    }

    pub(super) async fn fail(self, name: &str, problem: Problem) -> ConnectError {
        let (noise, stderr, is_remote) = (self.noise(), self.stderr().await, self.is_remote());
        self.end().await;
        ConnectError { server: name.to_owned(), problem: Box::new(problem), noise, stderr, is_remote }
    }
}

fn problem(step: &str, failure: Failure) -> Problem {
    let step = step.to_owned();
    match failure {
        Failure::Status(status, what) => Problem::Http { step, status, what },
        Failure::Broken(what) => Problem::Remote { step, what },
        Failure::Unreadable(why) => Problem::Unreadable { step, why },
        Failure::Malformed(why) => Problem::Malformed { step, why },
    }
}

/// Whether a server that rejected the revision lists it as supported.
fn lists_modern(error: &Value) -> bool {
    let supported = error.pointer("/data/supported").and_then(Value::as_array);
    error_parts(error).0 == Some(UNSUPPORTED_REVISION)
        && supported.is_some_and(|supported| supported.iter().any(|revision| revision == MODERN))
}

fn error_text(error: &Value) -> String {
    let (code, message) = error_parts(error);
    let message = json::cut(&message, 500);
    code.map_or_else(|| format!("an error: {message}"), |code| format!("error {code}: {message}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rejection_that_lists_the_revision_is_retried() {
        let refusal =
            |code: i64, supported: Value| json!({ "code": code, "message": "no", "data": { "supported": supported } });
        assert!(lists_modern(&refusal(-32022, json!(["2027-01-01", MODERN]))));
        assert!(!lists_modern(&refusal(-32022, json!(["2027-01-01"]))));
        assert!(!lists_modern(&refusal(-32022, json!(MODERN))));
        assert!(!lists_modern(&refusal(-32601, json!([MODERN]))));
    }

    #[test]
    fn an_answer_opens_its_era_or_says_why_not() {
        let capabilities = json!({});
        let check = |era: Era, result: Value, expected: Result<&str, &str>| {
            let observed =
                era.observed(&result).map(|observed| observed.protocol).map_err(|problem| problem.to_string());
            assert_eq!(observed, expected.map(str::to_owned).map_err(str::to_owned), "{result}");
        };
        let discovered = |versions: Value| json!({ "supportedVersions": versions, "capabilities": capabilities });
        check(Era::Modern, discovered(json!(["2027-01-01", MODERN])), Ok(MODERN));
        check(
            Era::Modern,
            discovered(json!(["2027-01-01", "2028-01-01", 5])),
            Err(
                "responded to `server/discover` with protocol revisions that mcptest does not support: [2027-01-01, 2028-01-01]",
            ),
        );
        check(Era::Modern, json!({}), Err("responded to `server/discover` with an unexpected result: {}"));
        let mut initialized = json!({ "protocolVersion": "2025-06-18", "capabilities": {}, "serverInfo": {} });
        check(Era::Legacy, initialized.clone(), Ok("2025-06-18"));
        initialized["protocolVersion"] = "1999-01-01".into();
        let unknown = "uses protocol revision `1999-01-01`, which mcptest does not support";
        check(Era::Legacy, initialized, Err(unknown));
        check(
            Era::Legacy,
            json!({ "protocolVersion": LEGACY, "serverInfo": {} }),
            Err(
                r#"responded to `initialize` with an unexpected result: {"protocolVersion":"2025-11-25","serverInfo":{}}"#,
            ),
        );
    }
}
