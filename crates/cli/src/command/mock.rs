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
use super::Answer;
use crate::args::Mock;
use crate::exit;
use crate::input;

/// Runs until the client is done, or the process is stopped. Warnings are printed at once.
pub(super) fn run(typed: &Mock, out: &mut impl Write, err: &mut impl Write) -> Answer {
    let (code, complaints) = match serve(typed, out, err) {
        Ok(End::Crashed) => (exit::CRASHED, String::new()),
        Ok(End::InputClosed | End::OutputClosed | End::Stopped) => (exit::OK, String::new()),
        Err(complaints) => (exit::ERROR, complaints.0),
    };
    Answer { data: String::new(), complaints, code }
}

/// All errors, ready to print.
struct Complaints(String);

impl<P> From<Failure<P>> for Complaints
where
    Failure<P>: std::fmt::Display,
{
    fn from(error: Failure<P>) -> Self {
        Self(format!("{error}\n"))
    }
}

fn complain(message: &str, hint: &str) -> Complaints {
    Failure::error((), message).hint(hint).into()
}

fn cannot_start(error: &std::io::Error) -> Complaints {
    let hint = "raise the limits on open files (`ulimit -n`) and on processes and threads (`ulimit -u`)";
    Failure::error((), format!("cannot start: {error}")).code(Code::OutOfResources).hint(hint).into()
}

fn serve(typed: &Mock, out: &mut impl Write, err: &mut impl Write) -> Result<End, Complaints> {
    let server = Arc::new(server(typed, err)?);
    let address = typed.http.as_deref().map(address).transpose()?;
    let log = match &typed.log {
        None => Log::none(),
        Some(path) => Log::append(path).map_err(|error| {
            let message = format!("cannot open the log {}: {error}", path.display());
            complain(&message, "give a path that can be written")
        })?,
    };
    let runtime = runtime::build().map_err(|error| cannot_start(&error))?;
    let ended = match address {
        None => stdio(&runtime, &server, log)?,
        Some(address) => http(&runtime, server, log, address, out)?,
    };
    ended.map_err(|error| {
        let hint = match error {
            ServeError::Log(_) => "free some disk space, or give another path",
            ServeError::Input(_) => "start it with a pipe for standard input",
            ServeError::Output(_) => "start it with a pipe for standard output",
        };
        complain(&error.to_string(), hint)
    })
}

/// The server as the file and the faults describe it.
fn server(typed: &Mock, err: &mut impl Write) -> Result<Server, Complaints> {
    let source = input::read(&typed.tools_from, Trust::Trusted)?;
    let loaded = load(&source);
    let rendered = |severity: Severity| -> String {
        let some = loaded.diagnostics.iter().filter(|diagnostic| diagnostic.severity == severity);
        some.map(|diagnostic| diagnostic.render(&source) + "\n").collect()
    };
    let warnings = rendered(Severity::Warning);
    let Some(spec) = loaded.value else {
        return Err(Complaints(rendered(Severity::Error) + &warnings));
    };
    // If standard error is closed, warnings are lost.
    let _ = err.write_all(warnings.as_bytes());
    let tools: Vec<&str> = spec.tools.iter().map(|tool| tool.name.as_str()).collect();
    let faults = Faults::read(&typed.fault, &tools)
        .map_err(|errors| Complaints(errors.iter().flat_map(|error| [error.to_string(), "\n".to_owned()]).collect()))?;
    Ok(Server::new(spec, faults))
}

/// `PORT`, `:PORT` or `HOST:PORT`; the default host is this machine.
fn address(text: &str) -> Result<SocketAddr, Complaints> {
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

fn stdio(runtime: &Runtime, server: &Server, log: Log) -> Result<Result<End, ServeError>, Complaints> {
    runtime.block_on(async {
        let start = || Ok((told_to_end()?, Input::start()?, hung_up()?, Output::start(output()?)?));
        let (stop, input, hung_up, output) = start().map_err(|error| cannot_start(&error))?;
        Ok(serve_stdio(server, log, input, output, stop, hung_up).await)
    })
}

fn http(
    runtime: &Runtime,
    server: Arc<Server>,
    log: Log,
    address: SocketAddr,
    out: &mut impl Write,
) -> Result<Result<End, ServeError>, Complaints> {
    runtime.block_on(async {
        let cannot_listen = |error: std::io::Error| {
            let hint = "choose another port; port 0 picks a free one";
            let message = format!("cannot listen on {address}: {error}");
            Complaints::from(Failure::error((), message).code(Code::MockAddress).hint(hint))
        };
        let stop = told_to_end().map_err(cannot_listen)?;
        let listener = TcpListener::bind(address).await.map_err(cannot_listen)?;
        let bound = listener.local_addr().map_err(cannot_listen)?;
        writeln!(out, "http://{bound}/mcp")
            .and_then(|()| out.flush())
            .map_err(|error| complain(&format!("cannot print the address: {error}"), "keep standard output open"))?;
        Ok(serve_http(server, log, listener, stop).await)
    })
}

/// Ctrl-C, or SIGTERM on Unix.
#[cfg(unix)]
fn told_to_end() -> std::io::Result<impl Future<Output = ()>> {
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
fn told_to_end() -> std::io::Result<impl Future<Output = ()>> {
    Ok(async {
        // Without signals, only the end of the input stops the server.
        if tokio::signal::ctrl_c().await.is_err() {
            std::future::pending::<()>().await;
        }
    })
}
