//! Whole clients over the proxy: the official one for Rust and the runner's own, in both eras, and many at once.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use mcptest_core::suite::Protocol;
use mcptest_runner::mcp::{Connection, Target};
use mcptest_runner::process::Processes;
use rmcp::model::{CallToolRequestParams, ClientConfig, ProgressNotificationParam, ProtocolVersion};
use rmcp::service::{ClientLifecycleMode, ClientServiceExt, NotificationContext};
use rmcp::transport::StreamableHttpClientTransport;
use rmcp::transport::streamable_http_client::StreamableHttpClientTransportConfig;
use rmcp::{ClientHandler, RoleClient};
use serde_json::json;

use super::Proxy;
use crate::fake::{Fake, call, plain, says, within};
use crate::http::until;

async fn open(proxy: &Proxy, protocol: Protocol) -> Connection {
    let processes = Processes::default();
    let target = Target {
        name: "fake",
        endpoint: proxy.endpoint(),
        timeout: Duration::from_secs(10),
        protocol,
        processes: &processes,
    };
    within(Connection::open(&target)).await.unwrap()
}

#[tokio::test]
async fn the_runner_sees_the_same_with_and_without_the_proxy() {
    for (mode, protocol) in [
        ("legacy", Protocol::Legacy),
        ("legacy", Protocol::Auto),
        ("modern", Protocol::Modern),
        ("both", Protocol::Auto),
    ] {
        let fake = Fake::new(mode).speaking(protocol);
        let direct = fake.open().await;
        let proxy = Proxy::before(&fake).await;
        let connection = open(&proxy, protocol).await;
        assert_eq!((connection.observed(), connection.tools()), (direct.observed(), direct.tools()), "{mode}");
        for tool in ["echo", "fails", "refuses", "structured", "empty"] {
            assert_eq!(plain(&connection, tool).await, plain(&direct, tool).await, "{mode} {tool}");
        }
        within(connection.close()).await;
        within(direct.close()).await;
        // One child, even if the client probed the era first.
        assert!(proxy.finish().await.iter().all(|entry| entry.starts_with("0 ")), "{mode}");
        assert_eq!(fake.left(), [""; 0]);
    }
}

#[tokio::test]
async fn sixty_four_clients_at_once_each_get_their_own_replies() {
    for (mode, protocol, connections) in [("modern", Protocol::Modern, 1), ("legacy", Protocol::Legacy, 8)] {
        let fake = Fake::new(mode);
        let proxy = Arc::new(Proxy::before(&fake).await);
        let clients = if connections == 1 { 64 } else { connections };
        let mut tasks = tokio::task::JoinSet::new();
        for client in 0..clients {
            let proxy = Arc::clone(&proxy);
            tasks.spawn(async move {
                let connection = open(&proxy, protocol).await;
                for round in 0..5 {
                    let words = format!("{client}-{round}");
                    assert_eq!(call(&connection, "echo", json!({ "words": words })).await, says(&words));
                }
                within(connection.close()).await;
            });
        }
        tasks.join_all().await;
        let entries = Arc::into_inner(proxy).unwrap().finish().await;
        let calls = entries.iter().filter(|entry| entry.contains("tools/call")).count();
        let results = entries.iter().filter(|entry| entry.contains('-') && entry.contains("< result")).count();
        assert_eq!((calls, results), (clients * 5, clients * 5), "{mode}");
        assert_eq!(fake.left(), [""; 0]);
    }
}

/// A client that remembers progress.
#[derive(Clone, Default)]
struct Watcher {
    progress: Arc<Mutex<Vec<f64>>>,
}

impl ClientHandler for Watcher {
    fn get_info(&self) -> ClientConfig {
        let mut config = ClientConfig::default();
        config.protocol_version = ProtocolVersion::LATEST_WITH_INITIALIZE;
        config
    }

    async fn on_progress(&self, params: ProgressNotificationParam, _: NotificationContext<RoleClient>) {
        self.progress.lock().unwrap().push(params.progress);
    }
}

#[tokio::test]
async fn the_official_client_negotiates_lists_calls_and_answers() {
    for modern in [false, true] {
        let fake = Fake::new(if modern { "modern" } else { "legacy" });
        let proxy = Proxy::before(&fake).await;
        let config = StreamableHttpClientTransportConfig::with_uri(proxy.url.clone());
        let transport = StreamableHttpClientTransport::from_config(config);
        let lifecycle = if modern {
            ClientLifecycleMode::Discover { preferred_versions: vec![ProtocolVersion::LATEST] }
        } else {
            ClientLifecycleMode::Initialize
        };
        let handler = Watcher::default();
        let client = within(handler.clone().serve_with_lifecycle(transport, lifecycle)).await.unwrap();
        let tools = within(client.list_all_tools()).await.unwrap();
        assert_eq!(tools[0].name, "echo");
        let asked = |tool: &'static str, args: serde_json::Value| {
            let params = CallToolRequestParams::new(tool).with_arguments(args.as_object().cloned().unwrap());
            let client = &client;
            async move {
                let result = within(client.call_tool(params)).await.unwrap();
                serde_json::to_value(result).unwrap()["content"][0]["text"].as_str().unwrap().to_owned()
            }
        };
        assert_eq!(asked("echo", json!({ "words": "hi" })).await, "hi");
        assert_eq!(asked("progress", json!({ "steps": 3 })).await, "done");
        let is_reported = || *handler.progress.lock().unwrap() == [0.0, 1.0, 2.0];
        until(is_reported).await;
        if !modern {
            let answers = r#"{"q0": {}, "q1": {"roots": []}, "q2": -32601, "q3": -32601}"#;
            assert_eq!(asked("asks", json!({})).await, answers);
        }
        within(client.cancel()).await.unwrap();
        let entries = proxy.finish().await;
        assert!(entries.iter().any(|entry| entry.contains("tools/list")), "{entries:#?}");
        assert_eq!(fake.left(), [""; 0]);
    }
}
