//! What a rerun costs beyond its program: `cargo bench -p mcptest --bench rerun`.
//!
//! A Python program calls a model and tools, first alone, against a model and a server on loopback that keep running,
//! then between the proxies of `mcptest run --rerun`. Both are run in turn; medians are compared. At most 20 ms may be added.
#![expect(
    clippy::print_stdout,
    clippy::disallowed_methods,
    clippy::unwrap_used,
    reason = "a benchmark reads the clock and prints, and stops where it cannot go on"
)]

mod measure;
mod memory;

use std::fs;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::{Command, ExitCode, Stdio};
use std::time::Duration;

use measure::{Took, best};
use serde_json::{Value, json};

/// Times that each is run.
const TIMES: usize = 21;
/// The most that a rerun may add.
const MOST: Duration = Duration::from_millis(20);

const AGENT: &str = include_str!("../tests/it/rerun/agent.py");
const CLIENT: &str = include_str!("../tests/it/programs/mcp_http.py");
const PROMPT: &str = "Read the note about rain.";
const TOOLS: &str = include_str!("../tests/it/rerun/tools.yml");
const SUITE: &str = include_str!("../tests/it/rerun/suite.yml");

fn main() -> ExitCode {
    let temp = tempfile::tempdir().unwrap();
    let here = temp.path();
    let files =
        [("s.yml", SUITE), ("tools.yml", TOOLS), ("agent.py", AGENT), ("mcp_http.py", CLIENT), ("prompt", PROMPT)];
    for (name, text) in files {
        fs::write(here.join(name), text).unwrap();
    }
    let model = model();
    let output = mcptest(here, &["run", "--record", "s.yml"])
        .env("OPENAI_BASE_URL", &model)
        .env("OPENAI_API_KEY", "sk-test-0123456789abcdef")
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));

    let mut server =
        mcptest(here, &["mock", "--tools-from", "tools.yml", "--http", "0"]).stdout(Stdio::piped()).spawn().unwrap();
    let mut url = String::new();
    BufReader::new(server.stdout.take().unwrap()).read_line(&mut url).unwrap();
    let config = json!({ "mcpServers": { "desk": { "type": "http", "url": url.trim() } } });
    fs::write(here.join("mcp.json"), config.to_string()).unwrap();

    let alone = || {
        let mut command = Command::new("python3");
        command.arg("agent.py").current_dir(here).stdin(fs::File::open(here.join("prompt")).unwrap());
        command
            .env("MCPTEST_MCP_CONFIG", "mcp.json")
            .env("OPENAI_BASE_URL", &model)
            .env("OPENAI_API_KEY", "a-dummy-key");
        assert_eq!(String::from_utf8(command.output().unwrap().stdout).unwrap(), "It rains.\n");
    };
    let again = || assert!(mcptest(here, &["run", "--rerun", "s.yml"]).output().unwrap().status.success());
    let (mut alones, mut agains) = (Vec::new(), Vec::new());
    for _ in 0..TIMES {
        alones.push(best(1, alone));
        agains.push(best(1, again));
    }
    let most = memory::peak(&mut mcptest(here, &["run", "--rerun", "s.yml"])).1;
    server.kill().unwrap();
    server.wait().unwrap();

    let (alone, again) = (middle(&alones), middle(&agains));
    println!("{:<24} {:>10} {:>10}", "median", "CPU", "wall");
    for (name, took) in [("the program alone", alone), ("the program in a rerun", again)] {
        println!("{name:<24} {:>10} {:>10}", ms(took.cpu), ms(took.wall));
    }
    let added = Took { cpu: again.cpu.saturating_sub(alone.cpu), wall: again.wall.saturating_sub(alone.wall) };
    println!("{:<24} {:>10} {:>10} (at most {})", "added", ms(added.cpu), ms(added.wall), ms(MOST));
    println!("memory of mcptest: {} KiB", most >> 10);
    if added.wall <= MOST { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn ms(time: Duration) -> String {
    format!("{:.1} ms", time.as_secs_f64() * 1e3)
}

/// The median wall time, and the mean processor time: its steps are too coarse for a median.
fn middle(all: &[Took]) -> Took {
    let mut walls: Vec<Duration> = all.iter().map(|took| took.wall).collect();
    walls.sort_unstable();
    let cpu: Duration = all.iter().map(|took| took.cpu).sum();
    Took { cpu: cpu / u32::try_from(all.len()).unwrap(), wall: walls[walls.len() / 2] }
}

fn mcptest(here: &Path, words: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_mcptest"));
    command.args(words).current_dir(here);
    command
}

/// A model that asks for both notes at once, and answers. Returns its address.
fn model() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    std::thread::spawn(move || listener.incoming().for_each(|stream| answer(&stream.unwrap())));
    format!("http://{address}/v1")
}

fn answer(mut stream: &TcpStream) {
    let mut reader = BufReader::new(stream);
    let mut length = 0;
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).unwrap();
        match line.to_ascii_lowercase().split_once(':') {
            Some(("content-length", value)) => length = value.trim().parse().unwrap(),
            _ if line.trim().is_empty() => break,
            _ => {}
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body).unwrap();
    let request: Value = serde_json::from_slice(&body).unwrap();
    let call = |id: &str, name: &str, args: Value| json!({ "id": id, "type": "function", "function": { "name": name, "arguments": args.to_string() } });
    let message = if request["messages"].as_array().unwrap().iter().any(|message| message["role"] == "tool") {
        json!({ "role": "assistant", "content": "It rains." })
    } else {
        let calls = [call("c1", "search", json!({ "q": "rain" })), call("c2", "read_note", json!({ "id": 7 }))];
        json!({ "role": "assistant", "content": null, "tool_calls": calls })
    };
    let finish = if message.get("tool_calls").is_some() { "tool_calls" } else { "stop" };
    let reply = json!({
        "id": "c", "object": "chat.completion", "created": 1, "model": "m",
        "choices": [{ "index": 0, "finish_reason": finish, "message": message }],
    })
    .to_string();
    let head = format!(
        "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\nconnection: close\r\ncontent-length: {}\r\n\r\n",
        reply.len()
    );
    stream.write_all((head + &reply).as_bytes()).unwrap();
}
