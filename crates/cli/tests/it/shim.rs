//! `mcptest shim` as a process, between a client with a bare environment and a recording.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc;
use std::thread::{self, JoinHandle};

use mcptest_core::ledger::{Ledger, Message, What};
use mcptest_runner::mcp::Endpoint;
use mcptest_runner::process::{Launch, Processes};
use mcptest_runner::record::{Recording, Setup, Upstreams};
use serde_json::Value;

use super::Folder;

const MCPTEST: &str = env!("CARGO_BIN_EXE_mcptest");
const TOOLS: &str = "mock_server:\n  name: t\n  tools: [{ name: echo }]\n";
const LIST: &str = "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/list\"}\n";
const HELLO: &str =
    "{\"jsonrpc\":\"2.0\",\"id\":0,\"method\":\"initialize\",\"params\":{\"protocolVersion\":\"2025-11-25\"}}\n";

/// A recording in its own thread, with a server `desk`.
struct Recorded {
    config: Value,
    stop: tokio::sync::oneshot::Sender<()>,
    thread: JoinHandle<Ledger>,
}

impl Recorded {
    fn start(argv: Vec<String>) -> Self {
        let (started, configs) = mpsc::channel();
        let (stop, stopped) = tokio::sync::oneshot::channel();
        let thread = thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
            runtime.block_on(async move {
                let setup = Setup {
                    servers: vec![("desk".to_owned(), Endpoint::Command(Launch { argv, ..Launch::default() }))],
                    processes: Processes::default(),
                    upstreams: Upstreams::new(&|_| None).unwrap(),
                    secrets: Vec::new(),
                    shim: Path::new(MCPTEST),
                    no_proxy: None,
                    rerun: None,
                    faults: Vec::new(),
                };
                let recording = Recording::start(setup).await.unwrap();
                started.send(recording.variables()["MCPTEST_MCP_CONFIG_STDIO"].clone()).unwrap();
                let _ = stopped.await;
                recording.finish().await.0
            })
        });
        let text = std::fs::read_to_string(configs.recv().unwrap()).unwrap();
        Self { config: serde_json::from_str(&text).unwrap(), stop, thread }
    }

    /// Starts the shim as a client does that passes on next to nothing.
    fn shim(&self) -> Child {
        let server = &self.config["mcpServers"]["desk"];
        let args = server["args"].as_array().unwrap().iter().map(|arg| arg.as_str().unwrap());
        let mut command = Command::new(server["command"].as_str().unwrap());
        command.args(args).env_clear().env("HOME", "/").current_dir("/");
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
    }

    fn end(self) -> Vec<String> {
        self.stop.send(()).unwrap();
        let ledger = self.thread.join().unwrap();
        let short = |what: &What| match what {
            What::Mcp(mcp) => match &mcp.message {
                Message::Json(message) => message["method"].as_str().unwrap_or("reply").to_owned(),
                Message::End(why) => why.clone(),
                other => format!("{other:?}"),
            },
            other => format!("{other:?}"),
        };
        ledger.entries.iter().map(|entry| short(&entry.what)).collect()
    }
}

fn mock(here: &Folder) -> Vec<String> {
    let tools = here.0.join("tools.yml").display().to_string();
    [MCPTEST, "mock", "--tools-from", &tools].map(str::to_owned).to_vec()
}

fn stderr(child: &mut Child) -> String {
    let mut text = String::new();
    child.stderr.take().unwrap().read_to_string(&mut text).unwrap();
    text
}

#[test]
fn a_client_talks_to_the_server_through_it_and_both_ends_end_it() {
    let here = Folder::with(&[("tools.yml", TOOLS)]);
    let recorded = Recorded::start(mock(&here));
    let mut children = [recorded.shim(), recorded.shim()];
    for child in &mut children {
        let mut output = BufReader::new(child.stdout.as_mut().unwrap());
        for (sent, has) in [(HELLO, "\"protocolVersion\":\"2025-11-25\""), (LIST, "\"name\":\"echo\"")] {
            child.stdin.as_mut().unwrap().write_all(sent.as_bytes()).unwrap();
            let mut line = String::new();
            output.read_line(&mut line).unwrap();
            assert!(line.contains(has), "{line}");
        }
    }
    let [mut first, mut second] = children;
    // The client closes its end, and the recording closes the other.
    drop(first.stdin.take());
    assert_eq!((first.wait().unwrap().code(), stderr(&mut first)), (Some(0), String::new()));
    let mut entries = recorded.end();
    assert_eq!((second.wait().unwrap().code(), stderr(&mut second)), (Some(0), String::new()));
    let talk = ["initialize", "reply", "tools/list", "reply"];
    // A connection ends with its server, which may take longer than the recording.
    entries[2 * talk.len()..].sort();
    let expected = [&talk[..], &talk, &["the program closed the connection", "the recording ended"]].concat();
    assert_eq!(entries, expected);
}

#[test]
fn connection_errors_are_reported_on_standard_error() {
    let recorded = Recorded::start(vec!["no-such-program".to_owned()]);
    let mut refused = recorded.shim();
    let file = recorded.config["mcpServers"]["desk"]["args"][1].as_str().unwrap().to_owned();
    assert_eq!(refused.wait().unwrap().code(), Some(2));
    assert_eq!(
        stderr(&mut refused),
        format!(
            "error[server-rejected]: {file}: program `no-such-program` not found\nhint: check the command or the URL of the server\n"
        )
    );
    let text = std::fs::read_to_string(&file).unwrap();
    recorded.end();
    let here = Folder::with(&[("old.json", &text), ("other.json", "{}")]);
    let reported = |file: &str| {
        let output = here.command(&["shim", file]).output().unwrap();
        assert_eq!((output.status.code(), output.stdout), (Some(2), Vec::new()));
        String::from_utf8(output.stderr).unwrap()
    };
    let gone = reported("old.json");
    assert!(gone.starts_with("error[server-unreachable]: old.json: cannot connect to the recording: "), "{gone}");
    assert_eq!(
        reported("other.json"),
        "error[bad-argument]: other.json: it has no `url` of a recording\nhint: give a file that `mcptest record` wrote\n"
    );
}
