//! `mcptest run` with a model that fails: errors of the model, and of the advisory request after the run.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::process::Output;
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use serde_json::{Value, json};

use super::Folder;

/// A model behind Chat Completions that answers each question, from its JSON and its number, with a status and a body.
fn model(answer: impl Fn(&Value, usize) -> (u16, Value) + Send + Sync + 'static) -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    // It ends with the process of the tests.
    thread::spawn(move || {
        for (number, stream) in listener.incoming().enumerate() {
            let Ok(stream) = stream else { return };
            if serve(stream, |question| answer(question, number)).is_err() {
                return;
            }
        }
    });
    port
}

fn serve(mut stream: TcpStream, answer: impl Fn(&Value) -> (u16, Value)) -> std::io::Result<()> {
    stream.set_read_timeout(Some(Duration::from_secs(10)))?;
    let mut reader = BufReader::new(stream.try_clone()?);
    let (mut length, mut line) = (0, String::new());
    while reader.read_line(&mut line)? > 2 {
        if let Some((name, value)) = line.split_once(':')
            && name.eq_ignore_ascii_case("content-length")
        {
            length = value.trim().parse().unwrap();
        }
        line.clear();
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body)?;
    let (status, body) = answer(&serde_json::from_slice(&body)?);
    let body = body.to_string();
    let length = body.len();
    write!(
        stream,
        "HTTP/1.1 {status} X\r\ncontent-type: application/json\r\nretry-after: 0\r\nconnection: close\r\n\
         content-length: {length}\r\n\r\n{body}"
    )
}

fn says(text: &str, finish: &str) -> Value {
    json!({
        "choices": [{ "message": { "role": "assistant", "content": text }, "finish_reason": finish }],
        "usage": { "prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15 },
    })
}

fn is_advisory(question: &Value) -> bool {
    question.to_string().contains("An agent made these tool calls")
}

/// A suite of one test, on the model at this port.
fn world(port: u16, keys: &str) -> Folder {
    let suite = format!(
        "servers: {{ desk: {{ command: [mcptest, mock, --tools-from, \"${{SUITE_DIR}}/tools.yml\"] }} }}\n\
         models: {{ m: {{ provider: openai, base_url: \"http://127.0.0.1:{port}/v1\" }} }}\n\
         agents:\n  - {{ name: t, model: m, servers: [desk], prompt: Hi, {keys} }}\n"
    );
    let tools = "mock_server: { name: desk, tools: [{ name: search, answer: { text: found } }] }\n";
    Folder::with(&[("suite.yml", &suite), ("tools.yml", tools)])
}

const DONE: &str = "expect: [{ target: final_response, matcher: { exact: Done. } }]";

/// Exit code, rows and the last line, and what was reported on the side.
fn reported(output: &Output) -> (Option<i32>, Vec<String>, Vec<String>) {
    let lines = |bytes: &[u8], wanted: &dyn Fn(&str) -> bool| {
        let text = String::from_utf8_lossy(bytes).into_owned();
        text.lines().map(str::trim).filter(|line| wanted(line)).map(str::to_owned).collect::<Vec<_>>()
    };
    let rows = lines(&output.stdout, &|line| line.starts_with(['✓', '!', '-', '✗']) || line.contains(" test, "));
    (output.status.code(), rows, lines(&output.stderr, &|line| line.starts_with("note:")))
}

#[test]
fn a_run_is_recorded_even_if_the_advisory_request_fails() {
    let port = model(|question, _| {
        if is_advisory(question) {
            (400, json!({ "error": { "message": "no advice" } }))
        } else {
            (200, says("Done.", "stop"))
        }
    });
    let here = world(port, &format!("{DONE}, narrative: {{ llm_assisted: true }}"));
    let (code, rows, notes) = reported(&here.command(&["run", "--record", "suite.yml"]).output().unwrap());
    assert_eq!((code, rows.last().map(String::as_str)), (Some(0), Some("1 test, 1 run: 1 passed")), "{rows:?}");
    let at = format!("model `m` at http://127.0.0.1:{port}/v1/chat/completions");
    assert_eq!(notes, [format!("note: t: the advisory request failed: {at}: HTTP 400: no advice")]);
    let output = here.command(&["run", "suite.yml"]).output().unwrap();
    assert_eq!(reported(&output).0, Some(0), "it was recorded");
}

#[test]
fn waiting_for_the_advisory_answer_is_reported() {
    let port = model(|question, number| match (is_advisory(question), number) {
        (true, 1) => (429, json!({})),
        (true, _) => (200, says("none", "stop")),
        (false, _) => (200, says("Done.", "stop")),
    });
    let here = world(port, &format!("{DONE}, narrative: {{ llm_assisted: true }}"));
    let (code, _, notes) = reported(&here.command(&["run", "--live", "suite.yml"]).output().unwrap());
    assert_eq!((code, notes), (Some(0), vec!["note: t: m: HTTP 429; retrying in 0 s (attempt 2 of 4)".to_owned()]));
}

#[test]
fn parallel_runs_do_not_exceed_a_budget_that_sequential_runs_keep() {
    let port = model(|_, _| {
        thread::sleep(Duration::from_millis(20));
        (200, says("Done.", "stop"))
    });
    let here = world(port, DONE);
    // Each request may take about 1,100 tokens, and takes 15.
    let line = ["run", "--live", "suite.yml", "--runs", "12", "--jobs", "4", "--max-tokens-total", "2500"];
    let (code, rows, _) = reported(&here.command(&line).output().unwrap());
    assert_eq!((code, rows.last().map(String::as_str)), (Some(0), Some("1 test, 12 runs: 1 passed")), "{rows:?}");
}

#[test]
fn a_reply_that_cannot_be_used_counts_against_the_budget() {
    let port = model(|_, _| (200, says("Done.", "a reason that nobody knows")));
    let here = world(port, DONE);
    let line = ["run", "--live", "suite.yml", "--runs", "9", "--jobs", "1", "--max-tokens-total", "2500"];
    let (code, rows, _) = reported(&here.command(&line).output().unwrap());
    assert_eq!((code, rows.last().map(String::as_str)), (Some(2), Some("1 test, 2 runs: 1 error")), "{rows:?}");
}

#[test]
fn the_token_of_a_server_is_redacted() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let (send, receive) = mpsc::channel();
    thread::spawn(move || {
        for stream in listener.incoming() {
            let Ok(mut stream) = stream else { return };
            let Ok(copy) = stream.try_clone() else { return };
            let lines = BufReader::new(copy).lines().map_while(Result::ok).take_while(|line| !line.is_empty());
            let mut tokens = lines.filter(|line| line.to_lowercase().starts_with("authorization:"));
            if send.send(tokens.next()).is_err() {
                return;
            }
            let _ = stream.write_all(b"HTTP/1.1 401 X\r\ncontent-length: 0\r\nconnection: close\r\n\r\n");
        }
    });
    // A variable of the suite takes precedence over the environment everywhere.
    let suite = format!(
        "variables: {{ DESK_TOKEN: of-the-suite }}\n\
         servers: {{ desk: {{ url: \"http://127.0.0.1:{port}/mcp\", bearer_token_env: DESK_TOKEN }} }}\n\
         models: {{ m: {{ provider: script, script: script.yml }} }}\n\
         agents:\n  - {{ name: t, model: m, servers: [desk], prompt: Hi, {DONE} }}\n"
    );
    let here =
        Folder::with(&[("suite.yml", &suite), ("script.yml", "{ script: 1, runs: [{ turns: [{ text: Done. }] }] }")]);
    let output =
        here.command(&["run", "--live", "suite.yml"]).env("DESK_TOKEN", "of-the-environment").output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    let token = receive.recv_timeout(Duration::from_secs(10)).unwrap();
    assert_eq!(token.as_deref(), Some("authorization: Bearer of-the-suite"));
}
