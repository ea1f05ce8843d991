//! The two eras: requests that carry their own revision, and revisions with a handshake.

use serde_json::Value;

use super::message::{INVALID_PARAMS, Refusal, Request, unsupported};
use super::{Plan, Server};

/// The revision without a handshake.
pub const MODERN_VERSION: &str = "2026-07-28";

/// Revisions with a handshake, oldest first.
pub const LEGACY_VERSIONS: [&str; 4] = ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"];

const VERSION_KEY: &str = "io.modelcontextprotocol/protocolVersion";
const CAPABILITIES_KEY: &str = "io.modelcontextprotocol/clientCapabilities";

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Era {
    Legacy,
    /// Every request carries its revision and capabilities.
    Modern,
}

fn meta<'a>(request: &'a Request, key: &str) -> Option<&'a Value> {
    request.params.get("_meta")?.get(key)
}

/// The era of a request. Only the modern one has these keys, and `server/discover`.
pub(crate) fn era_of(request: &Request) -> Era {
    let carries = [VERSION_KEY, CAPABILITIES_KEY].iter().any(|key| meta(request, key).is_some());
    match request.method.as_str() {
        "server/discover" => Era::Modern,
        _ if carries => Era::Modern,
        _ => Era::Legacy,
    }
}

/// The revision of a modern request, if it has all required keys.
pub(crate) fn required_keys(request: &Request) -> Result<&str, Plan> {
    required(request).map_err(|refusal| refusal.plan(request.id.clone()))
}

fn required(request: &Request) -> Result<&str, Refusal> {
    let missing: Vec<&str> =
        [VERSION_KEY, CAPABILITIES_KEY].into_iter().filter(|key| meta(request, key).is_none()).collect();
    let refuse = |message: String| Refusal { code: INVALID_PARAMS, message, data: None, rejected: true };
    if !missing.is_empty() {
        return Err(refuse(format!("Invalid params: `_meta` lacks {}", missing.join(" and "))));
    }
    if !meta(request, CAPABILITIES_KEY).is_some_and(Value::is_object) {
        return Err(refuse(format!("Invalid params: {CAPABILITIES_KEY} must be an object")));
    }
    let version = meta(request, VERSION_KEY).and_then(Value::as_str);
    version.ok_or_else(|| refuse(format!("Invalid params: {VERSION_KEY} must be a string")))
}

impl Server {
    /// Checks the required keys of a modern request.
    pub(super) fn envelope(request: &Request) -> Result<(), Plan> {
        let version = required_keys(request)?;
        if version == MODERN_VERSION {
            return Ok(());
        }
        Err(Plan::reject(request.id.clone(), unsupported(&request.id, version)))
    }
}
