//! `mcptest mock` as a process: how it starts, ends and complains, and what official clients say of it.

use std::io::{BufRead, BufReader, Read, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use super::{Folder, root, skip};

/// Longer than anything here takes.
const LIMIT: Duration = Duration::from_secs(30);

const TOOLS: &str = "mock_server:\n  name: t\n  tools: [{ name: echo }, { name: other }]\n";

const HELLO: &str =
    "{\"jsonrpc\":\"2.0\",\"id\":0,\"method\":\"initialize\",\"params\":{\"protocolVersion\":\"2025-11-25\"}}\n";

fn call(id: u32) -> String {
    format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"method\":\"tools/call\",\"params\":{{\"name\":\"echo\"}}}}\n")
}

/// A server with a client's hands on its pipes. It is ended with the test.
struct Server {
    child: Child,
    input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
}

impl Server {
    fn start(here: &Folder, more: &[&str]) -> Self {
        let line = [&["mock", "--tools-from", "tools.yml"], more].concat();
        let mut command = here.command(&line);
        let pipes = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = pipes.spawn().unwrap();
        let (input, output) = (child.stdin.take(), BufReader::new(child.stdout.take().unwrap()));
        Self { child, input, output }
    }

    fn send(&mut self, text: &str) {
        self.input.as_mut().unwrap().write_all(text.as_bytes()).unwrap();
    }

    fn line(&mut self) -> String {
        let mut line = String::new();
        self.output.read_line(&mut line).unwrap();
        line
    }

    /// The exit code, if it comes within a second.
    /// The exit code, or `None` if it still runs after 20 seconds: a hang, not a busy machine.
    fn exit_code(&mut self) -> Option<i32> {
        for _ in 0..2000 {
            if let Some(status) = self.child.try_wait().unwrap() {
                return status.code();
            }
            thread::sleep(Duration::from_millis(10));
        }
        None
    }

    fn rest(&mut self) -> (String, String) {
        let (mut out, mut err) = (String::new(), String::new());
        self.output.read_to_string(&mut out).unwrap();
        self.child.stderr.take().unwrap().read_to_string(&mut err).unwrap();
        (out, err)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Sends a signal to a child that has not been waited for.
fn signal(child: &Child, name: &str) {
    let status = Command::new("kill").args(["-s", name, &child.id().to_string()]).status().unwrap();
    assert!(status.success());
}

#[test]
fn the_end_of_the_input_ends_it_even_with_hanging_calls() {
    let here = Folder::with(&[("tools.yml", TOOLS)]);
    for fault in ["hang", "wedged", "slow:3600000", "reply-after-cancel:3600000"] {
        let mut server = Server::start(&here, &["--fault", fault]);
        server.send(HELLO);
        assert!(server.line().starts_with("{\"id\":0,"));
        for id in 1..=100 {
            server.send(&call(id));
        }
        drop(server.input.take());
        assert_eq!(server.exit_code(), Some(0), "{fault}");
        assert_eq!(server.rest(), (String::new(), String::new()), "{fault}");
    }
}

#[cfg(unix)]
#[test]
fn signals_end_it_even_with_hanging_calls() {
    let here = Folder::with(&[("tools.yml", TOOLS)]);
    for name in ["INT", "TERM"] {
        let mut server = Server::start(&here, &["--fault", "hang"]);
        server.send(&format!("{HELLO}{}", call(1)));
        assert!(server.line().starts_with("{\"id\":0,"));
        signal(&server.child, name);
        assert_eq!(server.exit_code(), Some(0), "{name} over pipes");
        let mut server = Server::start(&here, &["--fault", "hang", "--http", "0"]);
        assert!(server.line().starts_with("http://127.0.0.1:"));
        signal(&server.child, name);
        assert_eq!(server.exit_code(), Some(0), "{name} over HTTP");
    }
}

#[test]
fn a_crash_exits_with_its_own_code_and_without_output() {
    let here = Folder::with(&[("tools.yml", TOOLS)]);
    let mut server = Server::start(&here, &["--fault", "crash"]);
    // At once means that what is not written yet is lost, so the greeting is read first.
    server.send(HELLO);
    assert!(server.line().starts_with("{\"id\":0,"));
    server.send(&call(1));
    assert_eq!(server.exit_code(), Some(101));
    assert_eq!(server.rest(), (String::new(), String::new()));
}

#[cfg(unix)]
#[test]
fn drop_closes_standard_output_while_the_process_keeps_running() {
    let here = Folder::with(&[("tools.yml", TOOLS)]);
    let mut server = Server::start(&here, &["--fault", "drop"]);
    server.send(&format!("{HELLO}{}", call(1)));
    assert!(server.line().starts_with("{\"id\":0,"));
    assert_eq!(server.line(), "");
    server.send(&call(2));
    assert!(server.child.try_wait().unwrap().is_none());
    drop(server.input.take());
    assert_eq!(server.exit_code(), Some(0));
}

#[test]
fn a_client_that_stops_reading_is_not_an_error() {
    let here = Folder::with(&[("tools.yml", TOOLS)]);
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    let mut command = here.command(&["mock", "--tools-from", "tools.yml"]);
    let mut child = command.stdin(Stdio::piped()).stdout(writer).stderr(Stdio::null()).spawn().unwrap();
    let mut input = child.stdin.take().unwrap();
    let _ = input.write_all(HELLO.as_bytes());
    let mut ended = None;
    for _ in 0..200 {
        ended = child.try_wait().unwrap();
        if ended.is_some() {
            break;
        }
        thread::sleep(Duration::from_millis(10));
    }
    if ended.is_none() {
        child.kill().unwrap();
    }
    assert_eq!(ended.and_then(|status| status.code()), Some(0));
}

#[test]
fn many_requests_are_answered_in_order_before_the_end() {
    let here = Folder::with(&[("tools.yml", TOOLS)]);
    let mut server = Server::start(&here, &[]);
    let mut input = server.input.take().unwrap();
    let writer = thread::spawn(move || {
        input.write_all(HELLO.as_bytes()).unwrap();
        for id in 1..=20_000 {
            input.write_all(call(id).as_bytes()).unwrap();
        }
    });
    for id in 0..=20_000 {
        assert!(server.line().starts_with(&format!("{{\"id\":{id},\"jsonrpc\":\"2.0\",\"result\":")), "{id}");
    }
    writer.join().unwrap();
    assert_eq!(server.exit_code(), Some(0));
}

#[cfg(target_os = "linux")]
#[test]
fn unwritable_answers_exit_with_2() {
    let here = Folder::with(&[("tools.yml", TOOLS), ("requests.jsonl", HELLO)]);
    let full = std::fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
    let requests = std::fs::File::open(here.0.join("requests.jsonl")).unwrap();
    let mut command = here.command(&["mock", "--tools-from", "tools.yml"]);
    super::check(
        &command.stdin(requests).stdout(full).stderr(Stdio::piped()).spawn().unwrap().wait_with_output().unwrap(),
        2,
        "",
        "error[stdout-failed]: cannot write standard output: No space left on device (os error 28)\nhint: start it with a pipe for standard output\n",
    );
}

#[cfg(unix)]
#[test]
fn a_client_that_never_reads_and_disconnects_ends_the_server() {
    // More than is ever read ahead: the end of the input stays out of sight.
    let requests: String = std::iter::once(HELLO.to_owned()).chain((1..=400_000).map(call)).collect();
    let here = Folder::with(&[("tools.yml", TOOLS), ("requests.jsonl", &requests)]);
    let mut client = Command::new("cat").arg(here.0.join("requests.jsonl")).stdout(Stdio::piped()).spawn().unwrap();
    let mut command = here.command(&["mock", "--tools-from", "tools.yml"]);
    let pipes = command.stdin(client.stdout.take().unwrap()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = pipes.spawn().unwrap();
    // The command keeps the read end of the pipe.
    drop(command);
    let output = BufReader::new(child.stdout.take().unwrap());
    let mut server = Server { child, input: None, output };
    assert!(server.line().starts_with("{\"id\":0,"));
    // Long enough for both sides to come to a halt; shorter only makes it easier.
    thread::sleep(Duration::from_secs(1));
    let going = (client.try_wait().unwrap().is_none(), server.child.try_wait().unwrap().is_none());
    client.kill().unwrap();
    client.wait().unwrap();
    assert_eq!((going, server.exit_code()), ((true, true), Some(0)));
}

#[test]
fn unusable_files_exit_with_2() {
    let here = Folder::with(&[
        ("tools.yml", TOOLS),
        ("bad.yml", "mock_server: { nam: x }\n"),
        ("both.yml", "mock_server: { name: a }\ntools: []\n"),
    ]);
    let kinds = "none, hang, wedged, slow:<ms>, recover-after:<n>, reply-after-cancel:<ms>, drop, garbage, wrong-id, \
                 duplicate, flood:<mb>, crash, error:<code>, is-error";
    here.check(
        &["mock", "--tools-from", "tools.yml", "--fault", "explode", "--fault", "ecko=hang"],
        2,
        "",
        &format!(
            "error[bad-mock-fault]: unknown fault `explode`\nhint: the kinds are {kinds}\n\
             error[bad-mock-fault]: the fault `ecko=hang` names the tool `ecko`, which is not in the file\nhint: did you mean `echo`?\n"
        ),
    );
    here.check(
        &["mock", "--tools-from", "bad.yml"],
        2,
        "",
        "bad.yml:1:16: error[unknown-key]: unknown key `nam` in `mock_server`\n   |\n 1 | mock_server: { nam: x }\n   |                ^^^\n   = hint: did you mean `name`?\n",
    );
    here.check(
        &["mock", "--tools-from", "both.yml"],
        2,
        "",
        "both.yml:2:1: error[invalid-mock-server]: the file has both `mock_server` and a list of tools next to it\n   |\n 2 | tools: []\n   | ^^^^^\n   = hint: keep one: `mock_server` for answers of your own, or the `tools/list` reply of a real server\n",
    );
    here.check(
        &["mock", "--tools-from", "tool.yml"],
        2,
        "",
        "error[no-such-file]: tool.yml: no such file or folder\nhint: did you mean `tools.yml`?\n",
    );
    for address in ["here", "localhost", "localhost8080", "127.0.0.1", "65536"] {
        here.check(
            &["mock", "--tools-from", "tools.yml", "--http", address],
            2,
            "",
            &format!(
                "error[mock-address]: `{address}` is not an address to listen on\nhint: write PORT, :PORT or ADDRESS:PORT, such as 8080, 127.0.0.1:8080 or [::1]:8080; port 0 picks a free one\n"
            ),
        );
    }
    here.check(
        &["mock", "--tools-from", "tools.yml", "--log", "no/such/folder"],
        2,
        "",
        "error[file-not-written]: cannot open the log no/such/folder: No such file or directory (os error 2)\nhint: choose a path that can be written\n",
    );
    here.check(
        &["mock"],
        2,
        "",
        "error[bad-argument]: the following required arguments were not provided:\n  --tools-from <FILE>\n\nUsage: mcptest mock --tools-from <FILE>\n\nFor more information, try '--help'.\n",
    );
}

#[test]
fn a_port_in_use_exits_with_2() {
    let here = Folder::with(&[("tools.yml", TOOLS)]);
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = taken.local_addr().unwrap().port();
    for address in [format!("{port}"), format!(":{port}"), format!("127.0.0.1:{port}"), format!("localhost:{port}")] {
        here.check(
            &["mock", "--tools-from", "tools.yml", "--http", &address],
            2,
            "",
            &format!(
                "error[mock-address]: cannot listen on 127.0.0.1:{port}: Address already in use (os error 98)\n\
                 hint: choose another port; port 0 picks a free one\n"
            ),
        );
    }
}

#[cfg(target_os = "linux")]
#[test]
fn an_unwritable_log_exits_with_2() {
    let here = Folder::with(&[("tools.yml", TOOLS)]);
    let mut server = Server::start(&here, &["--log", "/dev/full"]);
    server.send(HELLO);
    assert_eq!(server.exit_code(), Some(2));
    let (out, err) = server.rest();
    let expected = "error[file-not-written]: cannot write the log: No space left on device (os error 28)\nhint: free some disk space, or give another path\n";
    assert_eq!((out.as_str(), err.as_str()), ("", expected));
}

#[test]
fn warnings_go_to_standard_error_and_the_log_is_written() {
    let here = Folder::with(&[("tools.yml", "{\"tools\": [{\"name\": \"a\"}]}\n")]);
    let mut server = Server::start(&here, &["--log", "log.jsonl"]);
    server.send("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}\n");
    assert_eq!(server.line(), "{\"id\":1,\"jsonrpc\":\"2.0\",\"result\":{}}\n");
    drop(server.input.take());
    assert_eq!(server.exit_code(), Some(0));
    let (out, err) = server.rest();
    assert_eq!(out, "");
    assert!(
        err.starts_with("tools.yml:1:13: warning[invalid-mock-server]: the tool `a` has no `inputSchema`"),
        "{err}"
    );
    assert_eq!(
        std::fs::read_to_string(here.0.join("log.jsonl")).unwrap(),
        "{\"seq\":1,\"direction\":\"in\",\"message\":{\"id\":1,\"jsonrpc\":\"2.0\",\"method\":\"ping\"}}\n\
         {\"seq\":2,\"direction\":\"out\",\"message\":{\"id\":1,\"jsonrpc\":\"2.0\",\"result\":{}}}\n"
    );
}

/// Runs a command to its end, or ends it; what it printed, and whether it went well.
fn bounded(command: &mut Command, limit: Duration) -> Result<String, String> {
    let mut child = command
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(|error| error.to_string())?;
    let (mut out, mut err) = (child.stdout.take().unwrap(), child.stderr.take().unwrap());
    let (sender, receiver) = mpsc::channel();
    let errors = thread::spawn(move || {
        let mut text = String::new();
        let _ = err.read_to_string(&mut text);
        text
    });
    thread::spawn(move || {
        let mut text = String::new();
        let _ = out.read_to_string(&mut text);
        let _ = sender.send(text);
    });
    match receiver.recv_timeout(limit) {
        Ok(text) => {
            let status = child.wait().unwrap();
            let errors = errors.join().unwrap();
            if status.success() { Ok(text) } else { Err(format!("{status}\n{text}{errors}")) }
        }
        Err(_) => {
            let _ = child.kill();
            let _ = child.wait();
            Err(format!("not done within {} s", limit.as_secs()))
        }
    }
}

/// The interpreter of an environment that has this version of the client; made once and kept below the target folder.
fn python(name: &str, wanted: &str) -> Result<std::path::PathBuf, String> {
    let home = Path::new(env!("CARGO_TARGET_TMPDIR")).join("python").join(name);
    let interpreter = home.join("bin/python");
    let ready = home.join("ready");
    if !ready.exists() {
        bounded(Command::new("python3").args(["-m", "venv"]).arg(&home), Duration::from_mins(2))?;
        let install = ["-m", "pip", "install", "-q", "--disable-pip-version-check", "--retries", "1", wanted];
        bounded(Command::new(&interpreter).args(install), Duration::from_mins(5))?;
        std::fs::write(&ready, "").map_err(|error| error.to_string())?;
    }
    Ok(interpreter)
}

/// Both generations of the official client for Python, where they can be had.
fn check_python(name: &str, wanted: &str, expected: &str) {
    let interpreter = match python(name, wanted) {
        Ok(interpreter) => interpreter,
        Err(why) => {
            let last = why.lines().last().unwrap_or("");
            return skip(&format!("the Python client `{wanted}` cannot be installed ({last})"));
        }
    };
    let here =
        Folder::with(&[("tools.yml", &std::fs::read_to_string(root().join("examples/weather-tools.yml")).unwrap())]);
    let mut server = Server::start(&here, &["--http", "0"]);
    let url = server.line();
    let script = root().join("crates/cli/tests/it/python/client.py");
    let mut command = Command::new(interpreter);
    command.arg(script).args([env!("CARGO_BIN_EXE_mcptest"), "tools.yml", url.trim()]).current_dir(&here.0);
    assert_eq!(bounded(&mut command, LIMIT * 3).as_deref(), Ok(expected));
}

#[test]
fn the_first_python_client_lists_and_calls_after_the_handshake() {
    check_python("mcp1", "mcp>=1.30,<2", "handshake over stdio: ok\nhandshake over http: ok\n");
}

#[test]
fn the_second_python_client_lists_and_calls_in_both_eras() {
    let expected =
        "2026-07-28 over stdio: ok\n2026-07-28 over http: ok\n2025-11-25 over stdio: ok\n2025-11-25 over http: ok\n";
    check_python("mcp2", "mcp>=2.3,<3", expected);
}
