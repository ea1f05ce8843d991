//! What the recording proxy adds to a tool call: `cargo bench -p mcptest-runner --bench record`.
//!
//! Each figure is the median over many calls, next to the same call without the proxy. The proxy fails if it adds more than a
//! millisecond.
#![expect(
    clippy::print_stdout,
    clippy::disallowed_methods,
    clippy::unwrap_used,
    reason = "a benchmark reads the clock and prints, and stops where it cannot go on"
)]

use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use mcptest_core::diag::Source;
use mcptest_core::suite::Protocol;
use mcptest_mock::{Faults, Log, Server, load, serve_http, serve_stdio};
use mcptest_runner::mcp::{Connection, Endpoint, Target};
use mcptest_runner::process::{Launch, Processes};
use mcptest_runner::record::{Recording, Setup, Upstreams};
use serde_json::json;
use tokio::net::TcpListener;

const WARM: usize = 200;
const CALLS: usize = 2_000;
/// Clients at once, and the calls of each.
const CLIENTS: usize = 64;
const CALLS_OF_EACH: usize = 50;
/// The proxy may add this much to a call.
const MOST: Duration = Duration::from_millis(1);

const TOOLS: &str = "
mock_server:
  name: bench
  tools:
    - name: say
      input_schema: { type: object, properties: { what: { type: string } }, required: [what] }
      answer: you said ${args.what}
";

fn main() -> ExitCode {
    if std::env::args().any(|arg| arg == "--serve") {
        runtime().block_on(async {
            let (input, output) = (tokio::io::stdin(), tokio::io::stdout());
            let never = std::future::pending::<()>;
            let _ = serve_stdio(&server(), Log::none(), input, output, never(), never()).await;
        });
        return ExitCode::SUCCESS;
    }
    let http = in_a_thread(|started| async move {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        started.send(format!("http://{}/mcp", listener.local_addr().unwrap())).unwrap();
        let _ = serve_http(Arc::new(server()), Log::none(), listener, std::future::pending()).await;
    });
    let http = Endpoint::Url { url: http, headers: [].into(), bearer: None };
    let argv = vec![std::env::current_exe().unwrap().display().to_string(), "--serve".to_owned()];
    let stdio = Endpoint::Command(Launch { argv, ..Launch::default() });
    println!("{:>8} {:>8} {:>12} {:>12} {:>12} {:>8}", "server", "clients", "direct", "recorded", "added", "ratio");
    let mut is_fast = true;
    for (name, endpoint) in [("http", http), ("stdio", stdio)] {
        let recorded = recorded(endpoint.clone());
        for protocol in [Protocol::Legacy, Protocol::Modern] {
            let [one, other] = [&endpoint, &recorded].map(|endpoint| median(endpoint, protocol, 1, CALLS));
            row(name, 1, one, other);
            is_fast &= other.saturating_sub(one) < MOST;
        }
        let [one, other] =
            [&endpoint, &recorded].map(|endpoint| median(endpoint, Protocol::Modern, CLIENTS, CALLS_OF_EACH));
        row(name, CLIENTS, one, other);
    }
    if is_fast {
        ExitCode::SUCCESS
    } else {
        println!("the proxy adds more than {} ms to a call", MOST.as_millis());
        ExitCode::FAILURE
    }
}

fn row(name: &str, clients: usize, direct: Duration, recorded: Duration) {
    let us = |time: Duration| time.as_secs_f64() * 1e6;
    println!(
        "{name:>8} {clients:>8} {:>9.0} us {:>9.0} us {:>9.0} us {:>8.2}",
        us(direct),
        us(recorded),
        us(recorded) - us(direct),
        us(recorded) / us(direct)
    );
}

fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap()
}

fn server() -> Server {
    Server::new(load(&Source::new("bench.yml", TOOLS)).value.unwrap(), Faults::default())
}

/// Runs something in its own thread, and returns the address that it sends.
fn in_a_thread<F: Future<Output = ()>>(
    run: impl FnOnce(std::sync::mpsc::Sender<String>) -> F + Send + 'static,
) -> String {
    let (started, address) = std::sync::mpsc::channel();
    thread::spawn(move || runtime().block_on(run(started)));
    address.recv().unwrap()
}

/// The server behind a proxy.
fn recorded(endpoint: Endpoint) -> Endpoint {
    let url = in_a_thread(|started| async move {
        let setup = Setup {
            faults: Vec::new(),
            servers: vec![("bench".to_owned(), endpoint)],
            processes: Processes::default(),
            upstreams: Upstreams::new(&|_| None).unwrap(),
            secrets: Vec::new(),
            shim: Path::new("mcptest"),
            no_proxy: None,
            rerun: None,
        };
        let recording = Recording::start(setup).await.unwrap();
        started.send(recording.variables()["MCPTEST_URL_BENCH"].clone()).unwrap();
        std::future::pending::<()>().await;
        recording.finish().await;
    });
    Endpoint::Url { url, headers: [].into(), bearer: None }
}

/// The median time of a call of clients that call at the same time.
fn median(endpoint: &Endpoint, protocol: Protocol, clients: usize, calls: usize) -> Duration {
    let mut times = runtime().block_on(async {
        let mut tasks = tokio::task::JoinSet::new();
        for _ in 0..clients {
            tasks.spawn(times(endpoint.clone(), protocol, calls));
        }
        tasks.join_all().await.concat()
    });
    times.sort_unstable();
    times[times.len() / 2]
}

async fn times(endpoint: Endpoint, protocol: Protocol, calls: usize) -> Vec<Duration> {
    let processes = Processes::default();
    let timeout = Duration::from_secs(30);
    let target = Target { name: "bench", endpoint, timeout, protocol, processes: &processes };
    let connection = Connection::open(&target).await.unwrap();
    let mut times = Vec::with_capacity(calls);
    for round in 0..WARM.min(calls) + calls {
        let args = json!({ "what": "hello" }).as_object().cloned().unwrap();
        let start = Instant::now();
        let result = connection.call("say", args).await;
        let took = start.elapsed();
        assert_eq!(result.texts().collect::<Vec<_>>(), ["you said hello"]);
        if round >= WARM.min(calls) {
            times.push(took);
        }
    }
    connection.close().await;
    times
}
