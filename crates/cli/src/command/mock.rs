//! `mcptest mock`: an MCP server that misbehaves on request.
//!
//! Standard output belongs to the protocol, or to the one line that says where the server listens.

mod standard;

use std::io::Write;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::Arc;

use mcptest_core::diag::{Code, Failure, Severity};
use mcptest_mock::{End, Faults, Log, ServeError, Server, load, serve_http, serve_stdio};
use mcptest_runner::file::Trust;
use mcptest_runner::runtime;
use tokio::net::TcpListener;
use tokio::runtime::Runtime;

use self::standard::{Input, Output, hung_up, output};
use super::Stop;
use crate::args::Mock;
use crate::console::{Console, Stream};
use crate::exit;
use crate::input;

/// Runs until the client is done, or the process is stopped. Warnings are printed at once.
pub(super) fn run(typed: &Mock, console: &mut Console<'_>) -> Result<u8, Stop> {
    Ok(match serve(typed, console)? {
        End::Crashed => exit::CRASHED,
        End::InputClosed | End::OutputClosed | End::Stopped => exit::OK,
    })
}

fn stop(code: Code, message: &str, hint: &str) -> Stop {
    Failure::error((), message).code(code).hint(hint).into()
}

fn cannot_start(error: &std::io::Error) -> Stop {
    let hint = "raise the limits on open files (`ulimit -n`) and on processes and threads (`ulimit -u`)";
    Failure::error((), format!("cannot start: {error}")).code(Code::OutOfResources).hint(hint).into()
}

fn serve(typed: &Mock, console: &mut Console<'_>) -> Result<End, Stop> {
    let server = Arc::new(server(typed, &mut console.err)?);
    let address = typed.http.as_deref().map(address).transpose()?;
    let log = match &typed.log {
        None => Log::none(),
        Some(path) => Log::append(path).map_err(|error| {
            let message = format!("cannot open the log {}: {error}", path.display());
            stop(Code::FileNotWritten, &message, "choose a path that can be written")
        })?,
    };
    let runtime = runtime::build().map_err(|error| cannot_start(&error))?;
    let ended = match address {
        None => stdio(&runtime, &server, log)?,
        Some(address) => http(&runtime, server, log, address, &mut console.out)?,
    };
    ended.map_err(|error| {
        let (code, hint) = match error {
            ServeError::Log(_) => (Code::FileNotWritten, "free some disk space, or give another path"),
            ServeError::Input(_) => (Code::ReadFailed, "start it with a pipe for standard input"),
            ServeError::Output(_) => (Code::StdoutFailed, "start it with a pipe for standard output"),
        };
        stop(code, &error.to_string(), hint)
    })
}

/// The server as the file and the faults describe it.
fn server(typed: &Mock, err: &mut Stream<'_>) -> Result<Server, Stop> {
    let source = input::read(&typed.tools_from, Trust::Trusted)?;
    let loaded = load(&source);
    let rendered = |severity: Severity| -> String {
        let some = loaded.diagnostics.iter().filter(|diagnostic| diagnostic.severity == severity);
        some.map(|diagnostic| diagnostic.render(&source) + "\n").collect()
    };
    let warnings = rendered(Severity::Warning);
    let Some(spec) = loaded.value else {
        return Err(Stop(rendered(Severity::Error) + &warnings));
    };
    err.complain(warnings);
    let tools: Vec<&str> = spec.tools.iter().map(|tool| tool.name.as_str()).collect();
    let faults = Faults::read(&typed.fault, &tools)
        .map_err(|errors| Stop(errors.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n")))?;
    Ok(Server::new(spec, faults))
}

/// `PORT`, `:PORT` or `HOST:PORT`; the default host is this machine.
fn address(text: &str) -> Result<SocketAddr, Stop> {
    let local = |port| SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), port);
    let named = text.strip_prefix("localhost").filter(|rest| rest.starts_with(':')).unwrap_or(text);
    let port = named.strip_prefix(':').unwrap_or(named).parse().map(local);
    port.or_else(|_| text.parse()).map_err(|_| {
        let hint =
            "write PORT, :PORT or ADDRESS:PORT, such as 8080, 127.0.0.1:8080 or [::1]:8080; port 0 picks a free one";
        let message = format!("`{text}` is not an address to listen on");
        Failure::error((), message).code(Code::MockAddress).hint(hint).into()
    })
}

fn stdio(runtime: &Runtime, server: &Server, log: Log) -> Result<Result<End, ServeError>, Stop> {
    runtime.block_on(async {
        let start = || Ok((terminated()?, Input::start()?, hung_up()?, Output::start(output()?)?));
        let (ended, input, hung_up, output) = start().map_err(|error| cannot_start(&error))?;
        Ok(serve_stdio(server, log, input, output, ended, hung_up).await)
    })
}

fn http(
    runtime: &Runtime,
    server: Arc<Server>,
    log: Log,
    address: SocketAddr,
    out: &mut Stream<'_>,
) -> Result<Result<End, ServeError>, Stop> {
    runtime.block_on(async {
        let cannot_listen = |error: std::io::Error| {
            let hint = "choose another port; port 0 picks a free one";
            let message = format!("cannot listen on {address}: {error}");
            Stop::from(Failure::error((), message).code(Code::MockAddress).hint(hint))
        };
        let ended = terminated().map_err(cannot_listen)?;
        let listener = TcpListener::bind(address).await.map_err(cannot_listen)?;
        let bound = listener.local_addr().map_err(cannot_listen)?;
        writeln!(out, "http://{bound}/mcp").and_then(|()| out.flush()).map_err(|error| {
            stop(Code::StdoutFailed, &format!("cannot print the address: {error}"), "keep standard output open")
        })?;
        Ok(serve_http(server, log, listener, ended).await)
    })
}

/// Ctrl-C, or SIGTERM on Unix.
#[cfg(unix)]
fn terminated() -> std::io::Result<impl Future<Output = ()>> {
    use tokio::signal::unix::{SignalKind, signal};
    // Both are caught from here on, not only once the future is polled.
    let (mut interrupt, mut terminate) = (signal(SignalKind::interrupt())?, signal(SignalKind::terminate())?);
    Ok(async move {
        tokio::select! {
            _ = interrupt.recv() => {}
            _ = terminate.recv() => {}
        }
    })
}

#[cfg(not(unix))]
fn terminated() -> std::io::Result<impl Future<Output = ()>> {
    Ok(async {
        // Without signals, only the end of the input stops the server.
        if tokio::signal::ctrl_c().await.is_err() {
            std::future::pending::<()>().await;
        }
    })
}
