//! The official client for Rust, over a pipe and over HTTP, in both eras: it meets every fault and stays healthy.

use std::sync::Arc;
use std::time::Duration;

use mcptest_mock::{KINDS, Log, Server, serve_stdio};
use rmcp::RoleClient;
use rmcp::model::{CallToolRequest, CallToolRequestParams, ClientRequest, ProtocolVersion, ReadResourceRequestParams};
use rmcp::service::{ClientLifecycleMode, ClientServiceExt, PeerRequestOptions, RunningService};
use rmcp::transport::StreamableHttpClientTransport;
use rmcp::transport::streamable_http_client::StreamableHttpClientTransportConfig;
use tokio::time::timeout;

use super::http::start;
use super::server;

type Client = RunningService<RoleClient, ()>;

/// Longer than any healthy answer takes.
const LIMIT: Duration = Duration::from_secs(20);

fn lifecycle(modern: bool) -> ClientLifecycleMode {
    if modern {
        ClientLifecycleMode::Discover { preferred_versions: vec![ProtocolVersion::LATEST] }
    } else {
        ClientLifecycleMode::Initialize
    }
}

/// A client over a pipe.
async fn piped(server: Arc<Server>, modern: bool) -> Client {
    let (ours, theirs) = tokio::io::duplex(64 * 1024);
    tokio::spawn(async move {
        let (input, output) = tokio::io::split(theirs);
        serve_stdio(&server, Log::none(), input, output, std::future::pending(), std::future::pending()).await
    });
    let client = ().serve_with_lifecycle(tokio::io::split(ours), lifecycle(modern));
    timeout(LIMIT, client).await.expect("a greeting").unwrap()
}

/// The outcome of one call: its first text, or the error.
async fn call(client: &Client, tool: &'static str, limit: Duration) -> Result<String, String> {
    let params = CallToolRequestParams::new(tool);
    let request = ClientRequest::CallToolRequest(CallToolRequest::new(params));
    let options = PeerRequestOptions::with_timeout(limit);
    let handle = timeout(LIMIT, client.send_request_with_option(request, options)).await;
    let handle = handle.expect("a request that is sent").map_err(|error| error.to_string())?;
    let reply = timeout(LIMIT, handle.await_response()).await.expect("an end of the request");
    let reply = serde_json::to_value(reply.map_err(|error| error.to_string())?).unwrap();
    let text = reply["content"][0]["text"].as_str().unwrap_or("no text");
    let text = if text.len() > 1000 { format!("{} bytes", text.len()) } else { text.to_owned() };
    Ok(if reply["isError"] == serde_json::json!(true) { format!("failed: {text}") } else { text })
}

/// A number for the kinds that take one.
fn spelled(name: &str) -> String {
    match name {
        "slow" | "reply-after-cancel" => format!("{name}:50"),
        "recover-after" | "flood" => format!("{name}:1"),
        "error" => "error:-32050".to_owned(),
        _ => name.to_owned(),
    }
}

/// The outcome of a call under a fault, on a transport that frames by lines and on one that does not.
fn expected(name: &str, http: bool) -> &'static str {
    match name {
        "none" | "slow" | "reply-after-cancel" | "duplicate" => "echo called with {}",
        "flood" => "1048576 bytes",
        "is-error" => "failed: fault is-error",
        "error" => "-32050",
        // Over a pipe the answer is lost among lines; a response that is broken belongs to its request.
        "garbage" | "drop" if http => "no answer",
        "drop" => "closed",
        _ => "timeout",
    }
}

#[track_caller]
fn judge(name: &str, found: &Result<String, String>, expected: &str) {
    let fits = match (found, expected) {
        (Ok(text), _) => text == expected,
        (Err(error), "timeout") => error.contains("timeout"),
        (Err(error), "-32050") => error.contains("fault error:-32050"),
        (Err(error), "no answer" | "closed") => !error.contains("timeout"),
        _ => false,
    };
    assert!(fits, "{name}: expected {expected}, found {found:?}");
}

/// The client still lists, reads and calls.
async fn healthy(client: &Client, name: &str) {
    let tools = timeout(LIMIT, client.list_all_tools()).await.expect(name).expect(name);
    assert_eq!(tools.len(), 7, "{name}");
    let resource = client.read_resource(ReadResourceRequestParams::new("file:///a.txt"));
    timeout(LIMIT, resource).await.expect(name).expect(name);
    assert_eq!(call(client, "count", LIMIT).await, Ok("one".to_owned()), "{name}");
}

#[tokio::test(start_paused = true)]
async fn over_a_pipe_the_client_survives_every_fault() {
    for modern in [true, false] {
        for kind in &KINDS {
            if kind.name == "crash" {
                continue;
            }
            let fault = format!("echo={}", spelled(kind.name));
            let client = piped(server(&[&fault]), modern).await;
            let found = call(&client, "echo", Duration::from_secs(5)).await;
            judge(&fault, &found, expected(kind.name, false));
            // A closed pipe is closed.
            if kind.name != "drop" {
                healthy(&client, &fault).await;
            }
            client.cancel().await.unwrap();
        }
    }
}

#[tokio::test(start_paused = true)]
async fn over_a_pipe_a_crash_closes_the_connection() {
    let client = piped(server(&["crash"]), true).await;
    assert!(call(&client, "echo", LIMIT).await.is_err_and(|error| !error.contains("timeout")));
}

#[tokio::test]
async fn over_http_the_client_survives_every_fault() {
    for modern in [true, false] {
        for kind in &KINDS {
            if kind.name == "crash" {
                continue;
            }
            let fault = format!("echo={}", spelled(kind.name));
            let running = start(server(&[&fault])).await;
            let client = connected(&format!("http://{}/mcp", running.address), modern).await;
            let expected = expected(kind.name, true);
            // What never comes need not be waited for long; the other answers have all the time they need.
            let limit = if expected == "timeout" { Duration::from_millis(300) } else { LIMIT };
            judge(&fault, &call(&client, "echo", limit).await, expected);
            healthy(&client, &fault).await;
            client.cancel().await.unwrap();
            running.stop().await;
        }
    }
}

async fn connected(address: &str, modern: bool) -> Client {
    // The HTTP client of the official SDK requires a cryptography provider, even without TLS. Installing a second one
    // fails, which is fine.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let mut config = StreamableHttpClientTransportConfig::with_uri(address);
    // A client that allows sixteen requests at a time would wait for its own.
    config.max_concurrent_requests = 200;
    let transport = StreamableHttpClientTransport::from_config(config);
    timeout(LIMIT, ().serve_with_lifecycle(transport, lifecycle(modern))).await.expect("a greeting").unwrap()
}

#[tokio::test]
async fn a_hundred_hanging_calls_leave_the_client_healthy() {
    let running = start(server(&["hang", "count=none"])).await;
    for modern in [true, false] {
        let http = connected(&format!("http://{}/mcp", running.address), modern).await;
        let pipe = piped(server(&["hang", "count=none"]), modern).await;
        for client in [http, pipe] {
            let mut waiting = Vec::new();
            for _ in 0..100 {
                let request = ClientRequest::CallToolRequest(CallToolRequest::new(CallToolRequestParams::new("echo")));
                let options = PeerRequestOptions::with_timeout(Duration::from_mins(10));
                waiting.push(client.send_request_with_option(request, options).await.unwrap());
            }
            let text = call(&client, "count", LIMIT).await.unwrap();
            assert!(matches!(text.as_str(), "one" | "two"), "{text}");
            drop(waiting);
            client.cancel().await.unwrap();
        }
    }
    running.stop().await;
}
