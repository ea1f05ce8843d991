//! `--server NAME=COMMAND|URL`.

use std::collections::{BTreeMap, BTreeSet};

use mcptest_core::diag::{Code, Failure};
use mcptest_core::ledger::url_variable;
use mcptest_runner::mcp::Endpoint;
use mcptest_runner::process::Launch;

use crate::words::CommandLine;

/// The servers that were typed, by name.
pub(in crate::command) fn read(typed: &[String]) -> Result<Vec<(String, Endpoint)>, Failure> {
    let mut variables = BTreeSet::new();
    typed
        .iter()
        .map(|text| {
            let (name, endpoint) = one(text)?;
            if variables.insert(url_variable(&name)) {
                return Ok((name, endpoint));
            }
            let message = format!("--server: two servers have the variable {}", url_variable(&name));
            Err(bad(&message, "give each server its own name"))
        })
        .collect()
}

fn one(text: &str) -> Result<(String, Endpoint), Failure> {
    let hint = "write it as --server shop='python shop.py' or --server docs=https://example.test/mcp";
    let Some((name, place)) = text.split_once('=') else {
        return Err(bad(&format!("--server: `{text}` has no `=`"), hint));
    };
    let is_plain = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    if name.is_empty() || !name.chars().all(is_plain) {
        let message = format!("--server: `{name}` is not a name for a server");
        return Err(bad(&message, "use letters, digits, `-` and `_`"));
    }
    let endpoint = if place.starts_with("http://") || place.starts_with("https://") {
        Endpoint::Url { url: place.to_owned(), headers: BTreeMap::new(), bearer: None }
    } else {
        let line = CommandLine::read(place).map_err(|why| bad(&format!("--server {name}: {why}"), hint))?;
        Endpoint::Command(Launch { argv: line.argv, env: line.env, cwd: None })
    };
    Ok((name.to_owned(), endpoint))
}

fn bad(message: &str, hint: &str) -> Failure {
    Failure::error((), message).code(Code::BadArgument).hint(hint)
}
