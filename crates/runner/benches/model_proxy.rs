//! What the model proxy costs: `cargo bench -p mcptest-runner --bench model_proxy`.
//!
//! Every figure is printed next to that of a direct connection in the same run. What can fail: the median that the proxy adds to
//! the first token may not exceed a millisecond, and a stream of 100 MB may not make the process grow.
#![expect(
    clippy::print_stdout,
    clippy::disallowed_methods,
    clippy::unwrap_used,
    reason = "a benchmark reads the clock and prints, and stops where it cannot go on"
)]

use std::net::SocketAddr;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use mcptest_runner::process::Processes;
use mcptest_runner::record::{Recording, Setup, Upstreams};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;

/// Requests that are timed, one after the other.
const REQUESTS: usize = 500;
/// Agents at once, and requests of each.
const AGENTS: usize = 64;
const OF_EACH: usize = 20;
/// The most that the proxy may add to the first token.
const MOST: Duration = Duration::from_millis(1);
/// The process may grow by this much over a long stream: what is kept of one reply, and buffers.
const MOST_KIB: u64 = 48 * 1024;
const STREAM: usize = 100 << 20;
/// Nothing here may take longer.
const LIMIT: Duration = Duration::from_mins(5);

const FIRST: &[u8] = b"data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"Hello\"}}]}\n\n";

fn main() -> ExitCode {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    match runtime.block_on(async { tokio::time::timeout(LIMIT, all()).await }) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(_) => {
            println!("not done within {} s", LIMIT.as_secs());
            ExitCode::FAILURE
        }
    }
}

async fn all() -> bool {
    let upstream = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let direct = upstream.local_addr().unwrap();
    tokio::spawn(serve(upstream));
    let base = format!("http://{direct}/v1");
    let upstreams = Upstreams::new(&|name| (name == "OPENAI_BASE_URL").then(|| base.clone())).unwrap();
    let setup = Setup {
        servers: Vec::new(),
        processes: Processes::default(),
        upstreams,
        secrets: Vec::new(),
        shim: std::path::Path::new("mcptest"),
        no_proxy: None,
        rerun: None,
        faults: Vec::new(),
    };
    let recording = Recording::start(setup).await.unwrap();
    let url = recording.variables()["OPENAI_BASE_URL"].clone();
    let (host, path) = url.trim_start_matches("http://").split_once('/').unwrap();
    let proxied: SocketAddr = host.parse().unwrap();
    let (direct, proxied) = ((direct, "/v1".to_owned()), (proxied, format!("/{path}")));

    let mut medians = Vec::new();
    for (name, (address, path)) in [("direct", &direct), ("through the proxy", &proxied)] {
        let mut times = Vec::new();
        let mut stream = TcpStream::connect(address).await.unwrap();
        stream.set_nodelay(true).unwrap();
        for _ in 0..REQUESTS {
            times.push(first_token(&mut stream, path).await);
        }
        times.sort_unstable();
        println!(
            "first token, {name}: median {:?}, 99th percentile {:?}",
            times[REQUESTS / 2],
            times[REQUESTS * 99 / 100]
        );
        medians.push(times[REQUESTS / 2]);
    }
    let added = medians[1].saturating_sub(medians[0]);
    println!("first token: the proxy adds {added:?} (at most {MOST:?})");

    let mut rates = Vec::new();
    for (name, (address, path)) in [("direct", &direct), ("through the proxy", &proxied)] {
        let start = Instant::now();
        let mut agents = JoinSet::new();
        for _ in 0..AGENTS {
            let (address, path) = (*address, path.clone());
            agents.spawn(async move {
                let mut stream = TcpStream::connect(address).await.unwrap();
                for _ in 0..OF_EACH {
                    first_token(&mut stream, &path).await;
                }
            });
        }
        agents.join_all().await;
        let rate = (AGENTS * OF_EACH) as f64 / start.elapsed().as_secs_f64();
        println!("{AGENTS} agents at once, {name}: {rate:.0} requests a second");
        rates.push(rate);
    }
    println!("{AGENTS} agents at once: x{:.2} of direct", rates[1] / rates[0]);

    let before = most_resident();
    let start = Instant::now();
    let read = long_stream(&proxied.0, &proxied.1).await;
    let grown = most_resident().zip(before).map_or(0, |(after, before)| after.saturating_sub(before));
    println!(
        "a stream of {} MB: {:?}, the process grew by {grown} KiB (at most {MOST_KIB})",
        read >> 20,
        start.elapsed()
    );
    recording.finish().await;
    added <= MOST && grown <= MOST_KIB && read >= STREAM
}

/// Answers every request with a stream: one event, or many for a request to `/long`.
async fn serve(listener: TcpListener) {
    while let Ok((mut stream, _)) = listener.accept().await {
        stream.set_nodelay(true).unwrap();
        tokio::spawn(async move {
            let mut buffer = vec![0; 64 << 10];
            let mut kept = Vec::new();
            loop {
                let Ok(count @ 1..) = stream.read(&mut buffer).await else { return };
                kept.extend_from_slice(&buffer[..count]);
                let Some(end) = find(&kept, b"\r\n\r\n") else { continue };
                let head = String::from_utf8_lossy(&kept[..end]).to_ascii_lowercase();
                let length = head.lines().find_map(|line| line.strip_prefix("content-length:")?.trim().parse().ok());
                let all = end + 4 + length.unwrap_or(0usize);
                if kept.len() < all {
                    continue;
                }
                kept.drain(..all);
                let is_long = head.lines().next().is_some_and(|line| line.contains("long"));
                let head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n";
                stream.write_all(head.as_bytes()).await.unwrap();
                let events = if is_long { FIRST.repeat(1000) } else { FIRST.to_vec() };
                for _ in 0..if is_long { STREAM / events.len() + 1 } else { 1 } {
                    let chunk = [format!("{:x}\r\n", events.len()).as_bytes(), &events, b"\r\n"].concat();
                    if stream.write_all(&chunk).await.is_err() {
                        return;
                    }
                }
                stream.write_all(b"0\r\n\r\n").await.unwrap();
            }
        });
    }
}

fn find(text: &[u8], part: &[u8]) -> Option<usize> {
    text.windows(part.len()).position(|window| window == part)
}

fn request(path: &str) -> String {
    let body = r#"{"model":"m","stream":true,"messages":[{"role":"user","content":"hi"}]}"#;
    format!(
        "POST {path}/chat/completions HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n{body}",
        body.len()
    )
}

/// How long the first token takes. The rest of the response is read too.
async fn first_token(stream: &mut TcpStream, path: &str) -> Duration {
    let start = Instant::now();
    stream.write_all(request(path).as_bytes()).await.unwrap();
    let mut kept = Vec::new();
    let mut buffer = [0; 4096];
    let mut first = None;
    while find(&kept, b"\r\n0\r\n\r\n").is_none() {
        let count = stream.read(&mut buffer).await.unwrap();
        assert!(count > 0, "{}", String::from_utf8_lossy(&kept));
        kept.extend_from_slice(&buffer[..count]);
        if first.is_none() && find(&kept, b"Hello").is_some() {
            first = Some(start.elapsed());
        }
    }
    first.unwrap()
}

/// Reads a long response, and returns how much it was.
async fn long_stream(address: &SocketAddr, path: &str) -> usize {
    let mut stream = TcpStream::connect(address).await.unwrap();
    stream.write_all(request(&format!("{path}/long")).as_bytes()).await.unwrap();
    let mut buffer = vec![0; 64 << 10];
    let mut all = 0;
    let mut last = Vec::new();
    loop {
        let count = stream.read(&mut buffer).await.unwrap();
        assert!(count > 0);
        all += count;
        last.extend_from_slice(&buffer[..count]);
        let cut = last.len().saturating_sub(16);
        last.drain(..cut);
        if last.ends_with(b"\r\n0\r\n\r\n") {
            return all;
        }
    }
}

/// The most memory that the process has had so far, in KiB, where the system reports it.
fn most_resident() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    status.lines().find_map(|line| line.strip_prefix("VmHWM:")?.trim().strip_suffix(" kB")?.parse().ok())
}
