//! Fake servers, and whether anything is left of them.

use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use mcptest_core::suite::Protocol;
use mcptest_core::trace::{CallError, ErrorKind, ToolResult};
use mcptest_runner::mcp::{ConnectError, Connection, Endpoint, Target};
use mcptest_runner::process::{Launch, Processes};
use serde_json::{Map, Value, json};

/// No test waits longer than this for anything.
pub(crate) const BOUND: Duration = Duration::from_secs(30);

/// Held by tests that take much memory, and by the one that measures it: all run in one process.
pub(crate) static MEMORY: tokio::sync::Mutex<()> = tokio::sync::Mutex::const_new(());

/// A fake server that has not been started.
pub(crate) struct Fake {
    pub(crate) launch: Launch,
    pub(crate) timeout: Duration,
    pub(crate) protocol: Protocol,
    pub(crate) processes: Processes,
    /// The last argument of every process that belongs to it.
    pub(crate) marker: String,
}

impl Fake {
    pub(crate) fn new(mode: &str) -> Self {
        static COUNT: AtomicUsize = AtomicUsize::new(0);
        let marker = format!("mcptest-fake-{}-{}", std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed));
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/servers/fake.py");
        let argv = ["python3", "-BS", script.to_str().unwrap(), mode, &marker].map(str::to_owned).to_vec();
        Self {
            launch: Launch { argv, ..Launch::default() },
            timeout: Duration::from_secs(10),
            protocol: Protocol::Legacy,
            processes: Processes::default(),
            marker,
        }
    }

    /// A fake of the other era.
    pub(crate) fn speaking(mut self, protocol: Protocol) -> Self {
        self.protocol = protocol;
        self
    }

    pub(crate) fn patient(mut self, ms: u64) -> Self {
        self.timeout = Duration::from_millis(ms);
        self
    }

    pub(crate) async fn connect(&self) -> Result<Connection, ConnectError> {
        let target = Target {
            name: "fake",
            endpoint: Endpoint::Command(self.launch.clone()),
            timeout: self.timeout,
            protocol: self.protocol,
            processes: &self.processes,
        };
        within(Connection::open(&target)).await
    }

    pub(crate) async fn open(&self) -> Connection {
        match self.connect().await {
            Ok(connection) => connection,
            Err(error) => panic!("{error}"),
        }
    }

    /// The error of connecting, after which nothing may be left.
    pub(crate) async fn error(&self) -> String {
        let error = self.connect().await.unwrap_err();
        assert_eq!(self.left(), [""; 0]);
        format!("{error}\nhint: {}", error.hint())
    }

    /// The command lines of all its processes that are alive.
    pub(crate) fn left(&self) -> Vec<String> {
        let mut left = Vec::new();
        for entry in std::fs::read_dir("/proc").unwrap().flatten() {
            let read = |name: &str| std::fs::read(entry.path().join(name)).unwrap_or_default();
            let command = String::from_utf8_lossy(&read("cmdline")).replace('\0', " ");
            // The state follows the name, which is in parentheses and may contain anything.
            let stat = String::from_utf8_lossy(&read("stat")).into_owned();
            let is_dead = stat.rsplit_once(") ").is_none_or(|(_, rest)| rest.starts_with(['Z', 'X']));
            if command.trim_end().ends_with(&self.marker) && !is_dead {
                left.push(command);
            }
        }
        left
    }

    /// Waits until nothing is left.
    pub(crate) async fn is_gone(&self) {
        for _ in 0..500 {
            if self.left().is_empty() {
                return;
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        panic!("still there: {:?}", self.left());
    }
}

/// A future that must finish in time.
pub(crate) async fn within<T>(future: impl Future<Output = T>) -> T {
    tokio::time::timeout(BOUND, future).await.expect("a test that hangs")
}

/// A call with arguments.
pub(crate) async fn call(connection: &Connection, tool: &str, args: Value) -> ToolResult {
    let Value::Object(args) = args else { panic!("arguments are an object") };
    within(connection.call(tool, args)).await
}

/// A call without arguments.
pub(crate) async fn plain(connection: &Connection, tool: &str) -> ToolResult {
    within(connection.call(tool, Map::new())).await
}

/// A success with this text.
pub(crate) fn says(words: &str) -> ToolResult {
    let content = vec![json!({ "type": "text", "text": words }).into()];
    ToolResult { is_error: Some(false), content: Some(content), ..ToolResult::default() }
}

/// A failure without content.
pub(crate) fn fails(kind: ErrorKind, code: Option<i64>, message: &str) -> ToolResult {
    let error = CallError { kind, code, message: message.to_owned() };
    let content = vec![json!({ "type": "text", "text": message }).into()];
    ToolResult { is_error: Some(true), content: Some(content), error: Some(Box::new(error)), ..ToolResult::default() }
}

/// The text of a result.
pub(crate) fn text(result: &ToolResult) -> String {
    result.texts().collect::<Vec<_>>().join("\n")
}
