//! Lists the tools of a server. None of them is called.

use std::collections::BTreeMap;
use std::path::{Component, Path};
use std::time::Duration;

use mcptest_core::diag::{Code, Failure, RunError};
use mcptest_core::suite::Protocol;
use mcptest_runner::catalog::Tool;
use mcptest_runner::mcp::{Connection, Endpoint, Target};
use mcptest_runner::process::Launch;

use super::secrets::{self, Real};
use super::yaml::{self, Dollar};
use super::{Environment, stop};
use crate::args::Init;
use crate::signals::Signals;
use crate::words::CommandLine;

/// A server and its tools.
#[derive(Debug)]
pub(super) struct ListedServer {
    pub(super) name: Option<String>,
    /// At least one.
    pub(super) tools: Vec<Tool>,
    /// How a suite reaches it.
    pub(super) real: Real,
}

/// Asks the server that was typed.
pub(super) fn ask(typed: &Init, environment: Environment<'_>) -> Result<ListedServer, Failure> {
    // Messages use what was typed: its name is not known yet, and a URL may contain secrets.
    let (called, endpoint, real) = match (&typed.from_server, &typed.url) {
        (Some(line), _) => command(line, &typed.folder)?,
        (None, url) => address(url.as_deref().unwrap_or_default(), typed.bearer_token_env.as_deref(), environment)?,
    };
    let signals = Signals::default();
    signals.listen();
    let runtime = mcptest_runner::runtime::build().map_err(|error| {
        stop(
            Code::OutOfResources,
            format!("cannot connect to servers: {error}"),
            "raise the limit on open files (`ulimit -n`)",
        )
    })?;
    let (name, tools) = runtime.block_on(async {
        let target = Target {
            name: &called,
            endpoint,
            timeout: Duration::from_millis(typed.timeout_ms),
            protocol: Protocol::Auto,
            processes: &signals.processes,
        };
        let opened = tokio::select! {
            opened = Connection::open(&target) => Some(opened),
            () = signals.interrupt.wait() => None,
        };
        let Some(opened) = opened else {
            signals.processes.end_all().await;
            return Err(stop(Code::RunStopped, "stopped before the server answered", "run the command again"));
        };
        let connection = opened.map_err(|error| {
            let error = RunError::from(&error).moved(());
            Failure { hint: error.hint.map(|text| hint(&text)), ..error }
        })?;
        let name = connection.observed().server.get("name").and_then(|name| name.as_str()).map(str::to_owned);
        let tools = connection.tools().to_vec();
        connection.close().await;
        Ok((name, tools))
    })?;
    if tools.is_empty() {
        return Err(stop(
            Code::NoTools,
            "the server has no tools, and a suite checks calls",
            "check how it is started or configured",
        ));
    }
    Ok(ListedServer { name, tools, real })
}

/// A hint for suites, with options instead of keys.
fn hint(hint: &str) -> String {
    hint.replace("`timeout_ms`", "--timeout-ms")
        .replace("`bearer_token_env`", "--bearer-token-env")
        .replace("`url`", "--url")
}

fn command(line: &str, folder: &Path) -> Result<(String, Endpoint, Real), Failure> {
    let line = CommandLine::read(line).map_err(|why| {
        stop(
            Code::BadArgument,
            format!("--from-server: {why}"),
            "write it as in a shell: --from-server 'program argument \"two words\"'",
        )
    })?;
    let mut real = secrets::command(&line);
    real.lines.extend(called_in(folder).map(|folder| format!("cwd: {folder}")));
    let called = line.argv.first().cloned().unwrap_or_default();
    Ok((called, Endpoint::Command(Launch { argv: line.argv, env: line.env, cwd: None }), real))
}

/// The current folder, as seen from a suite in `folder`.
pub(super) fn called_in(folder: &Path) -> Option<String> {
    let below: Vec<Component<'_>> = folder.components().filter(|part| *part != Component::CurDir).collect();
    // `..` leads back only if no part of the path is a link.
    let is_plain =
        below.iter().all(|part| matches!(part, Component::Normal(_))) && !folder.ancestors().any(Path::is_symlink);
    if is_plain {
        return Some(format!("\"${{SUITE_DIR}}{}\"", "/..".repeat(below.len())));
    }
    let here = std::path::absolute(".").ok()?;
    Some(yaml::text(here.to_str()?, Dollar::Sign))
}

fn address(
    url: &str,
    variable: Option<&str>,
    environment: Environment<'_>,
) -> Result<(String, Endpoint, Real), Failure> {
    let bearer = match variable {
        Some(name) => {
            let found = environment(name).filter(|token| !token.is_empty());
            Some(found.ok_or_else(|| {
                let message = format!("variable `{name}` is not set (--bearer-token-env)");
                stop(Code::VariableNotSet, message, format!("set {name}, or leave --bearer-token-env out"))
            })?)
        }
        None => None,
    };
    let real = secrets::address(url, variable);
    Ok(("--url".to_owned(), Endpoint::Url { url: url.to_owned(), headers: BTreeMap::new(), bearer }, real))
}
