//! Requests per second and memory under load: `cargo bench -p mcptest-mock --bench load`.
//!
//! Figures are printed next to those of a bare echo over the same kind of pipe or socket, because only the ratio means
//! something on another machine. What can fail is memory: 100,000 calls may not make the process grow.
#![expect(
    clippy::print_stdout,
    clippy::disallowed_methods,
    clippy::unwrap_used,
    reason = "a benchmark reads the clock and prints, and stops where it cannot go on"
)]

use std::process::ExitCode;
use std::sync::Arc;
use std::time::{Duration, Instant};

use mcptest_core::diag::Source;
use mcptest_mock::{Faults, Log, Server, load, serve_http, serve_stdio};
use tokio::io::{AsyncBufReadExt, AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, BufReader, split};
use tokio::net::{TcpListener, TcpStream};

/// Calls before memory is measured, so that buffers have grown.
const WARM: usize = 5_000;
/// Calls that are counted.
const CALLS: usize = 100_000;
/// The process may grow by this much over all of them.
const MOST_KIB: u64 = 4 * 1024;
/// Nothing here may take longer.
const LIMIT: Duration = Duration::from_mins(5);

const BODY: &str = r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"say","arguments":{"what":"hello"},"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}"#;

const TOOLS: &str = "
mock_server:
  name: bench
  tools:
    - name: say
      input_schema: { type: object, properties: { what: { type: string } }, required: [what] }
      answer: you said ${args.what}
";

fn main() -> ExitCode {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let all = async { [pipes().await, sockets().await] };
    match runtime.block_on(async { tokio::time::timeout(LIMIT, all).await }) {
        Ok(flat) if flat.iter().all(|flat| *flat) => ExitCode::SUCCESS,
        Ok(_) => {
            println!("memory grew by more than {MOST_KIB} KiB");
            ExitCode::FAILURE
        }
        Err(_) => {
            println!("not done within {} s", LIMIT.as_secs());
            ExitCode::FAILURE
        }
    }
}

fn server() -> Arc<Server> {
    let spec = load(&Source::new("bench.yml", TOOLS)).value.unwrap();
    Arc::new(Server::new(spec, Faults::default()))
}

/// Resident memory in KiB, where the system reports it.
fn resident() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    status.lines().find_map(|line| line.strip_prefix("VmRSS:")?.trim().strip_suffix(" kB")?.parse().ok())
}

/// One line to and one line back, again and again; how many a second.
async fn lines(stream: impl AsyncRead + AsyncWrite + Unpin, count: usize) -> f64 {
    let (from, mut to) = split(stream);
    let mut from = BufReader::new(from);
    let mut line = String::new();
    let start = Instant::now();
    for _ in 0..count {
        to.write_all(BODY.as_bytes()).await.unwrap();
        to.write_all(b"\n").await.unwrap();
        line.clear();
        from.read_line(&mut line).await.unwrap();
        assert!(line.len() > 20, "{line}");
    }
    count as f64 / start.elapsed().as_secs_f64()
}

async fn echo(stream: impl AsyncRead + AsyncWrite + Unpin) {
    let (from, mut to) = split(stream);
    let mut from = BufReader::new(from);
    let mut line = String::new();
    while from.read_line(&mut line).await.is_ok_and(|read| read > 0) {
        if to.write_all(line.as_bytes()).await.is_err() {
            return;
        }
        line.clear();
    }
}

async fn pipes() -> bool {
    let (ours, theirs) = tokio::io::duplex(64 * 1024);
    let bare = tokio::spawn(echo(theirs));
    let baseline = lines(ours, CALLS / 4).await;
    bare.abort();
    let (mut ours, theirs) = tokio::io::duplex(64 * 1024);
    let (input, output) = split(theirs);
    let server = server();
    let serving = tokio::spawn(async move {
        serve_stdio(&server, Log::none(), input, output, std::future::pending(), std::future::pending()).await
    });
    lines(&mut ours, WARM).await;
    let before = resident();
    let rate = lines(&mut ours, CALLS).await;
    let flat = report("stdio", rate, baseline, before);
    serving.abort();
    flat
}

/// One request and its response over a connection that stays open; how many a second.
async fn posts(stream: &mut TcpStream, count: usize) -> f64 {
    let head = "POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nAccept: application/json\r\n\
                MCP-Protocol-Version: 2026-07-28\r\nMcp-Method: tools/call\r\nMcp-Name: say\r\n";
    let request = format!("{head}Content-Length: {}\r\n\r\n{BODY}", BODY.len());
    let mut buffer = vec![0; 64 * 1024];
    let start = Instant::now();
    for _ in 0..count {
        stream.write_all(request.as_bytes()).await.unwrap();
        let mut read = 0;
        // Every reply ends like this and no header does.
        while !buffer[..read].ends_with(b"\"complete\"}}") {
            let more = stream.read(&mut buffer[read..]).await.unwrap();
            assert!(more > 0, "{}", String::from_utf8_lossy(&buffer[..read]));
            read += more;
        }
        assert!(buffer.starts_with(b"HTTP/1.1 200"), "{}", String::from_utf8_lossy(&buffer[..read]));
    }
    count as f64 / start.elapsed().as_secs_f64()
}

async fn sockets() -> bool {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let bare = tokio::spawn(async move {
        let (stream, _) = listener.accept().await.unwrap();
        stream.set_nodelay(true).unwrap();
        echo(stream).await;
    });
    let stream = TcpStream::connect(address).await.unwrap();
    stream.set_nodelay(true).unwrap();
    let baseline = lines(stream, CALLS / 4).await;
    bare.abort();
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let serving = tokio::spawn(serve_http(server(), Log::none(), listener, std::future::pending()));
    let mut stream = TcpStream::connect(address).await.unwrap();
    stream.set_nodelay(true).unwrap();
    posts(&mut stream, WARM).await;
    let before = resident();
    let rate = posts(&mut stream, CALLS).await;
    let flat = report("http", rate, baseline, before);
    serving.abort();
    flat
}

/// Prints one line; whether memory stayed flat.
fn report(name: &str, rate: f64, baseline: f64, before: Option<u64>) -> bool {
    let share = rate / baseline;
    print!("{name:<6}{rate:>9.0} calls/s   {baseline:>9.0} bare echoes/s   x{share:.2}");
    match (before, resident()) {
        (Some(before), Some(after)) => {
            println!("   {before} KiB before, {after} KiB after {CALLS} calls");
            after.saturating_sub(before) <= MOST_KIB
        }
        _ => {
            println!("   memory is not reported on this system");
            true
        }
    }
}
