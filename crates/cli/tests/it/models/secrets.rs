//! Secrets of every shape, planted wherever a run can meet one and in every form it may take: none of them, and no piece of
//! one, is in anything that is written.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::path::Path;
use std::process::{Command, Output};

use serde_json::{Value, json};

use super::dialect::{Dialect, Turn, answer, has_tools};
use super::provider::{Answer, Loopback, Request};
use super::{cassette, cassettes, finish, suite, test};
use crate::Folder;

/// This many consecutive characters of a secret count as a piece of it.
const PIECE: usize = 12;

/// A secret. It is made when the test runs, so that the repository contains nothing that looks like one.
#[derive(Debug, Clone)]
struct Secret {
    /// The variable that holds it; empty if it is recognized by its shape only.
    variable: &'static str,
    /// The kind by which its shape is known, where that is how it is known.
    kind: &'static str,
    value: String,
    /// The value and the text around it.
    text: String,
}

/// Text of an alphabet that looks like chance and is the same every time.
fn made(seed: u64, alphabet: &str, length: usize) -> String {
    let letters: Vec<char> = alphabet.chars().collect();
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    (0..length)
        .map(|_| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            letters[usize::try_from(state >> 33).unwrap() % letters.len()]
        })
        .collect()
}

const MIXED: &str = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";
const UPPER: &str = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567";
const HEX: &str = "0123456789abcdef";

/// Forty secrets of more than fifteen shapes.
fn planted() -> Vec<Secret> {
    let mut out: Vec<Secret> = Vec::new();
    let mut seed = 0;
    let mut next = |alphabet: &str, length: usize| {
        seed += 1;
        made(seed, alphabet, length)
    };
    let mut shaped = |kind: &'static str, value: String| {
        out.push(Secret { variable: "", kind, text: value.clone(), value });
    };
    let sk = ["s", "k"].concat();
    shaped("anthropic-key", format!("{sk}-ant-api03-{}", next(MIXED, 95)));
    shaped("anthropic-key", format!("{sk}-ant-admin01-{}", next(MIXED, 80)));
    shaped("openai-key", format!("{sk}-{}", next(MIXED, 48)));
    shaped("openai-key", format!("{sk}-proj-{}_{}", next(MIXED, 70), next(MIXED, 70)));
    shaped("openai-key", format!("{sk}-svcacct-{}", next(MIXED, 60)));
    shaped("google-key", format!("AI{}{}", "za", next(MIXED, 35)));
    shaped("aws-key", format!("AK{}{}", "IA", next(UPPER, 16)));
    shaped("aws-key", format!("AS{}{}", "IA", next(UPPER, 16)));
    for letter in ["p", "o", "s"] {
        shaped("github-token", format!("gh{letter}_{}", next(MIXED, 36)));
    }
    shaped("github-token", format!("github{}{}_{}", "_pat_", next(MIXED, 22), next(MIXED, 59)));
    shaped("slack-token", format!("xo{}-{}-{}", "xb", next("0123456789", 12), next(MIXED, 24)));
    shaped("slack-token", format!("xa{}-1-{}", "pp", next(MIXED, 40)));
    shaped("stripe-key", format!("{sk}{}{}", "_live_", next(MIXED, 24)));
    shaped("stripe-key", format!("r{}{}", "k_test_", next(MIXED, 30)));
    shaped("stripe-key", format!("wh{}{}", "sec_", next(MIXED, 32)));
    shaped("jwt", format!("ey{}{}.ey{}{}.{}", "J", next(MIXED, 30), "J", next(MIXED, 60), next(MIXED, 43)));
    shaped("npm-token", format!("np{}{}", "m_", next(MIXED, 36)));
    shaped("pypi-token", format!("py{}{}", "pi-", next(MIXED, 90)));
    let mut pem = |name: &str, lines: usize| {
        let body: String = (0..lines).fold(String::new(), |mut body, _| {
            let _ = writeln!(body, "{}", next(MIXED, 64));
            body
        });
        let dashes = "-".repeat(5);
        format!("{dashes}BEGIN {name} KEY{dashes}\n{body}{dashes}END {name} KEY{dashes}")
    };
    let (known_pem, shaped_pem) = (pem("EC PRIVATE", 4), pem("RSA PRIVATE", 12));
    shaped("private-key", shaped_pem);
    // These are secrets by the text around them.
    let mut within = |kind: &'static str, before: &str, value: String, after: &str| {
        out.push(Secret { variable: "", kind, text: format!("{before}{value}{after}"), value });
    };
    within("aws-secret", "aws_secret_access_key = ", next(MIXED, 40), " ");
    within("url-password", "https://someone:", next(MIXED, 20), "@example.com/x");
    within("url-password", "postgres://:", next(MIXED, 16), "@db:5432/x");
    within("bearer-token", "Authorization: Bearer ", next(MIXED, 40), " ");
    within("url-token", "https://example.com/a?token=", next(MIXED, 20), "&x=1");
    within("url-token", "https://example.com/a?x=1&api_key=", next(MIXED, 24), " ");
    within("url-token", "https://example.com/a#access_token=", next(MIXED, 32), " ");
    let mut known = |variable: &'static str, value: String| {
        out.push(Secret { variable, kind: "", text: value.clone(), value });
    };
    known("MODEL_KEY", next(MIXED, 40));
    known("DESK_TOKEN", next(MIXED, 32));
    known("AWS_SECRET", format!("{}/+{}", next(MIXED, 20), next(MIXED, 18)));
    known("APP_SECRET", ["8", "4", "4", "4", "12"].map(|length| next(HEX, length.parse().unwrap())).join("-"));
    known("HEX_32", next(HEX, 32));
    known("HEX_64", next(HEX, 64));
    known("PEM_KEY", known_pem);
    known("PASS_UNICODE", format!("pä55wörd-{}-日本", next(MIXED, 14)));
    known("PASS_SPACES", format!("correct horse {} battery", next(MIXED, 12)));
    known("PASS_QUOTES", format!("it's \"{}\" & <so>", next(MIXED, 14)));
    known("PASS_BACKSLASH", format!("c:\\n{}\\u0041\\", next(MIXED, 14)));
    known("PASS_DOLLAR", format!("$${{HOME}}${}$%41", next(MIXED, 14)));
    out
}

/// Every third letter as `\u....`, and slashes behind a backslash, as JSON may be written.
fn escaped(text: &str) -> String {
    let mut out = String::new();
    for (at, letter) in text.chars().enumerate() {
        if at % 3 == 0 || letter == '"' || letter == '\\' || letter.is_control() {
            for unit in letter.encode_utf16(&mut [0; 2]) {
                let _ = write!(out, "\\u{unit:04x}");
            }
        } else if letter == '/' {
            out.push_str("\\/");
        } else {
            out.push(letter);
        }
    }
    out
}

/// As in a URL, with more escapes than needed.
fn percent(text: &str) -> String {
    text.bytes().enumerate().fold(String::new(), |mut out, (at, byte)| {
        if byte.is_ascii_alphanumeric() && at % 4 != 0 {
            out.push(char::from(byte));
        } else {
            let _ = write!(out, "%{byte:02x}");
        }
        out
    })
}

/// By a program of the system, as another implementation than the one that is tested.
fn base64(text: &str) -> String {
    use std::io::Write;
    let mut child = Command::new("base64")
        .arg("-w0")
        .stdin(std::process::Stdio::piped())
        .stdout(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(text.as_bytes()).unwrap();
    String::from_utf8(child.wait_with_output().unwrap().stdout).unwrap()
}

/// All secrets as one text, a line each.
fn all(secrets: &[Secret]) -> String {
    secrets.iter().flat_map(|secret| [secret.text.as_str(), "\n"]).collect()
}

/// A server that returns every secret in every place.
fn mcp(request: &Request, secrets: &[Secret], codes: &[String]) -> Answer {
    if request.method != "POST" {
        return Answer::status(405, "", "");
    }
    let output_text = all(secrets);
    let texts = || secrets.iter().map(|secret| secret.text.clone());
    let tool = |name: &str| {
        json!({
            "name": name, "description": output_text, "inputSchema": { "type": "object", "description": escaped(&output_text) },
            "annotations": { "title": output_text },
        })
    };
    let text = |text: String| json!({ "type": "text", "text": text });
    let result = match request.body["method"].as_str().unwrap_or("") {
        "initialize" => json!({
            "protocolVersion": "2025-11-25", "capabilities": { "tools": {} },
            "serverInfo": { "name": output_text, "version": output_text }, "instructions": output_text,
        }),
        "tools/list" => json!({ "tools": [tool("search"), tool("refund"), tool("get_invoice")] }),
        "tools/call" if request.body["params"]["name"] == "refund" => {
            // A message is made of what fails, and cut after 2000 characters: somewhere in one of them.
            json!({ "content": [text(format!("{}{output_text}", "_".repeat(7)).repeat(3))], "isError": true })
        }
        "tools/call" if request.body["params"]["name"] == "get_invoice" => {
            let error = json!({ "code": -32000, "message": output_text, "data": { "seen": output_text } });
            return Answer::json(&json!({ "jsonrpc": "2.0", "id": request.body["id"], "error": error }));
        }
        "tools/call" => {
            let inner =
                json!({ "all": texts().collect::<Vec<_>>(), "again": json!(texts().collect::<Vec<_>>()).to_string() });
            let keys: serde_json::Map<String, Value> = texts().map(|text| (text, json!(1))).collect();
            json!({
                "content": [
                    text(output_text.clone()),
                    text(format!("\"{}\"", escaped(&output_text))),
                    text(percent(&output_text)),
                    text(inner.to_string()),
                    text(codes.join("\n")),
                    { "type": "resource", "resource": { "uri": format!("file:///{}", percent(&output_text)), "text": output_text } },
                ],
                "structuredContent": { "keys": keys, "list": texts().collect::<Vec<_>>() },
                "_meta": { "seen": output_text },
            })
        }
        _ => return Answer::status(202, "", ""),
    };
    Answer::json(&json!({ "jsonrpc": "2.0", "id": request.body["id"], "result": result }))
}

const TOOLS: &str = "mock_server:\n  name: box\n  tools:\n    - name: open\n      answer: { text: \"${args.q}\" }\n";

/// A suite that names every variable, with these further keys of its test.
fn world(base: &str, secrets: &[Secret], checks: &str) -> Folder {
    let env: Vec<String> = secrets
        .iter()
        .filter(|secret| !secret.variable.is_empty())
        .map(|secret| format!("{0}: \"${{{0}}}\"", secret.variable))
        .collect();
    let text = suite(
        &format!(
            "url: \"{base}/mcp?q=${{HEX_32}}\", protocol: legacy, bearer_token_env: DESK_TOKEN, \
             headers: {{ X-App: \"${{APP_SECRET}}\", X-Hex: \"Token ${{HEX_64}}\" }}"
        ),
        &[format!("claude: {{ provider: anthropic, base_url: \"{base}\", api_key_env: MODEL_KEY }}")],
        &[test("t", &format!("model: claude, {checks}")).replace("[desk]", "[desk, box]")],
    );
    let command = "command: [mcptest, mock, --tools-from, \"${SUITE_DIR}/tools.yml\"]";
    let text =
        text.replacen("servers: {", &format!("servers: {{ box: {{ {command}, env: {{ {} }} }},", env.join(", ")), 1);
    Folder::with(&[("suite.yml", &text), ("tools.yml", TOOLS)])
}

/// Runs a command with every variable set.
fn with_secrets(here: &Folder, secrets: &[Secret], line: &[&str]) -> Output {
    let mut command = here.command(line);
    command.envs(secrets.iter().filter(|secret| !secret.variable.is_empty()).map(|one| (one.variable, &one.value)));
    finish(command)
}

/// Every file in a folder and below it.
fn files(folder: &Path, out: &mut Vec<(String, Vec<u8>)>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            files(&path, out);
        } else {
            out.push((path.display().to_string(), std::fs::read(&path).unwrap()));
        }
    }
}

/// The texts and keys of a JSON value, as they are without escapes.
fn leaves(value: &Value, out: &mut String) {
    match value {
        Value::String(text) => out.push_str(&format!("{text}\n")),
        Value::Array(items) => items.iter().for_each(|item| leaves(item, out)),
        Value::Object(map) => map.iter().for_each(|(key, item)| {
            out.push_str(&format!("{key}\n"));
            leaves(item, out);
        }),
        _ => {}
    }
}

/// Looks for pieces of secrets in bytes, and in the texts of them where they are JSON.
struct Pieces(BTreeSet<Vec<u8>>);

impl Pieces {
    fn of(secrets: &[Secret], codes: &[String]) -> Self {
        let wholes = secrets.iter().map(|secret| secret.value.clone()).chain(codes.iter().cloned());
        // The names and dashes around a private key are not secret.
        let wholes =
            wholes.map(|whole| whole.lines().filter(|line| !line.starts_with("---")).collect::<Vec<_>>().join("\n"));
        Self(wholes.flat_map(|whole| whole.as_bytes().windows(PIECE).map(<[u8]>::to_vec).collect::<Vec<_>>()).collect())
    }

    #[track_caller]
    fn check(&self, place: &str, bytes: &[u8]) {
        let mut texts = vec![String::from_utf8_lossy(bytes).into_owned()];
        let values = serde_json::Deserializer::from_slice(bytes).into_iter::<Value>().map_while(Result::ok);
        let mut inner = String::new();
        values.for_each(|value| leaves(&value, &mut inner));
        texts.push(inner);
        for text in texts {
            let found = text.as_bytes().windows(PIECE).position(|window| self.0.contains(window));
            if let Some(at) = found {
                let from = at.saturating_sub(80);
                let shown = String::from_utf8_lossy(&text.as_bytes()[from..(at + 80).min(text.len())]).into_owned();
                assert_eq!(shown, "", "a piece of a secret is in {place}");
            }
        }
    }

    #[track_caller]
    fn check_output(&self, place: &str, output: &Output) {
        self.check(&format!("{place}: stdout"), &output.stdout);
        self.check(&format!("{place}: stderr"), &output.stderr);
    }

    #[track_caller]
    fn check_files(&self, here: &Folder) {
        let mut all = Vec::new();
        files(&here.0, &mut all);
        for (path, bytes) in all {
            self.check(&path, &bytes);
        }
    }
}

/// Base64 of the values that are known, behind no, one and two bytes.
fn codes(secrets: &[Secret]) -> Vec<String> {
    let known = secrets.iter().filter(|secret| !secret.variable.is_empty());
    known.flat_map(|secret| ["", "u", "u:"].map(|before| base64(&format!("{before}{}", secret.value)))).collect()
}

/// A model and a server that return all secrets.
fn talkative(secrets: &[Secret], codes: &[String]) -> Loopback {
    let (secrets, codes) = (secrets.to_vec(), codes.to_vec());
    Loopback::start(move |request, _| match Dialect::of(request) {
        Some(_) if !has_tools(request) => answer(request, |_| Turn::text(all(&secrets))),
        Some(_) => answer(request, |answered| {
            let output_text = all(&secrets);
            let texts: Vec<&str> = secrets.iter().map(|secret| secret.text.as_str()).collect();
            let call = |tool: &'static str| {
                (tool.into(), json!({ "q": output_text, "list": texts, "again": json!(texts).to_string() }))
            };
            match answered {
                0 => Turn {
                    text: Some(output_text.clone()),
                    calls: vec![
                        call("desk__search"),
                        call("desk__refund"),
                        call("desk__get_invoice"),
                        call("box__open"),
                    ],
                },
                _ => Turn::text(output_text),
            }
        }),
        None => mcp(request, &secrets, &codes),
    })
}

const CHECKS: &str = "narrative: { llm_assisted: true }, \
    trajectory: { calls: [{ name: search, args: { exact: { q: nothing } } }] }, \
    expect: [{ target: final_response, matcher: { exact: nothing } }, \
             { target: \"tool_results[*].content\", matcher: { contains: nothing } }, \
             { target: \"tool_calls[*].args.q\", matcher: { regex: '^nothing$' } }]";

const REPORTERS: [&str; 7] = [
    "pretty=out.txt",
    "json=out.json",
    "ndjson=out.ndjson",
    "junit=out.xml",
    "github=out.github",
    "markdown=out.md",
    "html=out.html",
];

/// A line with every reporter.
fn reported(line: &[&'static str]) -> Vec<&'static str> {
    line.iter().copied().chain(REPORTERS.iter().flat_map(|reporter| ["--reporter", reporter])).collect()
}

/// A recording without the times that it took, and without the digest that covers them.
fn timeless(mut cassette: Value) -> Value {
    fn walk(value: &mut Value) {
        match value {
            Value::Object(map) => {
                map.remove("duration_ms");
                map.remove("digest");
                map.values_mut().for_each(walk);
            }
            Value::Array(items) => items.iter_mut().for_each(walk),
            _ => {}
        }
    }
    walk(&mut cassette);
    cassette
}

#[test]
fn no_secret_and_no_piece_of_one_is_in_anything_that_is_written() {
    let secrets = planted();
    assert_eq!(secrets.len(), 40);
    let codes = codes(&secrets);
    let pieces = Pieces::of(&secrets, &codes);
    let server = talkative(&secrets, &codes);
    let here = world(&server.base(), &secrets, CHECKS);
    let name = "t/claude/1.json";
    let at = format!("cassettes/suite/{name}");

    let recorded = with_secrets(&here, &secrets, &reported(&["run", "suite.yml", "--record", "-vv"]));
    assert_eq!((recorded.status.code(), cassettes(&here).len()), (Some(1), 1), "{recorded:?}");
    pieces.check_output("record", &recorded);
    pieces.check_files(&here);
    let kept = cassette(&here, name);

    // The redacted text was there: every secret has its own name.
    let answer = kept["trace"]["final_response"].as_str().unwrap();
    let lines: Vec<&str> = answer.lines().collect();
    assert_eq!(lines.len(), 40, "{answer}");
    for (secret, line) in secrets.iter().zip(&lines) {
        let name = if secret.variable.is_empty() {
            format!("[redacted:{}:", secret.kind)
        } else {
            format!("[redacted:{}]", secret.variable)
        };
        assert!(line.contains(&name), "{line} has no {name}");
    }
    assert_eq!(lines.iter().collect::<BTreeSet<_>>().len(), 40, "different secrets stay different: {answer}");
    let keys = kept["trace"]["tool_results"][0]["structured_content"]["keys"].as_object().unwrap();
    assert_eq!(keys.len(), 40, "{keys:?}");

    // Replayed without any variable, and again with what it is compared with.
    std::fs::copy(here.0.join("out.json"), here.0.join("old.json")).unwrap();
    let old: Value = serde_json::from_slice(&std::fs::read(here.0.join("old.json")).unwrap()).unwrap();
    for line in [&["run", "suite.yml", "-v"][..], &["run", "suite.yml", "-vv", "--compare", "old.json"]] {
        let replayed = finish(here.command(&reported(line)));
        assert_eq!(replayed.status.code(), Some(1), "{replayed:?}");
        pieces.check_output("replay", &replayed);
        pieces.check_files(&here);
        let new: Value = serde_json::from_slice(&std::fs::read(here.0.join("out.json")).unwrap()).unwrap();
        let checks = |report: &Value| report["suites"][0]["rows"][0]["checks"].clone();
        assert!(checks(&new).as_array().is_some_and(|checks| !checks.is_empty()));
        assert_eq!(checks(&new), checks(&old), "gates judge the same trace when it is recorded and replayed");
    }
    for line in [
        &["cassette", "show", &at][..],
        &["convert", &at],
        &["cassette", "list", "suite.yml"],
        &["report", "out.json", "--reporter", "html"],
    ] {
        let output = finish(here.command(line));
        assert_eq!(output.status.code(), Some(0), "{line:?}: {output:?}");
        pieces.check_output(&line.join(" "), &output);
    }
    let scanned = with_secrets(&here, &secrets, &["cassette", "scan", "."]);
    assert_eq!(scanned.status.code(), Some(0), "{scanned:?}");

    // The same names in another place.
    let there = world(&server.base(), &secrets, CHECKS);
    let again = with_secrets(&there, &secrets, &["run", "suite.yml", "--record"]);
    assert_eq!(again.status.code(), Some(1), "{again:?}");
    assert!(timeless(cassette(&there, name)) == timeless(kept), "a secret has the same name in every run");
}

#[test]
fn no_part_of_a_secret_is_in_the_output_of_a_failed_run() {
    let secrets = planted();
    let pieces = Pieces::of(&secrets, &[]);
    // A provider that refuses with every secret, and one whose response is not a reply.
    for (status, code) in [(400, 2), (401, 2), (302, 2), (200, 2)] {
        let all_of_them = secrets.clone();
        let output_text = json!({ "error": { "message": all(&secrets) }, "again": all(&secrets) }).to_string();
        let server = Loopback::start(move |request, _| match Dialect::of(request) {
            Some(_) => Answer::status(status, "", output_text.clone()),
            None => mcp(request, &all_of_them, &[]),
        });
        let here = world(&server.base(), &secrets, CHECKS);
        let output = with_secrets(&here, &secrets, &reported(&["run", "suite.yml", "--record", "-vv"]));
        assert_eq!((output.status.code(), cassettes(&here).len()), (Some(code), 0), "{output:?}");
        pieces.check_output("a provider that refuses", &output);
        pieces.check_files(&here);
    }
    // A server that does, at every step; the text is cut at another place for each secret.
    for secret in secrets.iter().filter(|secret| secret.value.len() >= 20).step_by(5) {
        let output_text = format!("{}{}", "_ ".repeat(90), format!("{} ", secret.text).repeat(9));
        let server = Loopback::start(move |_, _| Answer::status(403, "", output_text.clone()));
        let here = world(&server.base(), &secrets, CHECKS);
        let output = with_secrets(&here, &secrets, &reported(&["run", "suite.yml", "--record"]));
        assert_eq!(output.status.code(), Some(2), "{output:?}");
        pieces.check_output(secret.variable, &output);
        pieces.check_files(&here);
    }
    // And no listener.
    let here = world("http://127.0.0.1:1", &secrets, CHECKS);
    let output = with_secrets(&here, &secrets, &reported(&["run", "suite.yml", "--live", "-vv"]));
    assert_eq!(output.status.code(), Some(2), "{output:?}");
    pieces.check_output("nobody", &output);
    pieces.check_files(&here);
}

/// A server that writes its variables to standard error and to standard output, at this length, and ends.
#[cfg(unix)]
#[test]
fn no_piece_of_a_secret_is_in_the_last_output_of_a_server() {
    let secrets = planted();
    let pieces = Pieces::of(&secrets, &[]);
    let known: Vec<&Secret> = secrets.iter().filter(|secret| !secret.variable.is_empty()).collect();
    let env: Vec<String> = known.iter().map(|secret| format!("{0}: \"${{{0}}}\"", secret.variable)).collect();
    let names: Vec<String> = known.iter().map(|secret| format!("\"$${}\"", secret.variable)).collect();
    let names = names.join(" ").replace('"', "\\\"");
    let scripts = [
        // One line each, several for a private key.
        format!("printf '%s\\\\n' {names} >&2; exit 3"),
        // Noise on the output, cut after some hundred characters.
        format!("printf '%s ' {names} {names} {names}; sleep 0.2; exit 3"),
        // An endless line, of which the last part is kept.
        format!("i=0; while [ $$i -lt 300 ]; do printf '%s' {names} >&2; i=$$((i+1)); done; exit 3"),
    ];
    for script in scripts {
        let text = format!(
            "servers: {{ box: {{ command: [sh, -c, \"{script}\"], env: {{ {} }}, timeout_ms: 5000 }} }}\n\
             models: {{ demo: {{ provider: script, script: script.yml }} }}\n\
             agents: [{{ name: t, model: demo, servers: [box], prompt: p, trajectory: {{ calls: [] }} }}]\n",
            env.join(", ")
        );
        let here =
            Folder::with(&[("suite.yml", &text), ("script.yml", "script: 1\nruns: [{ turns: [{ text: x }] }]\n")]);
        let mut command = here.command(&reported(&["run", "suite.yml", "--record", "-vv"]));
        command.envs(known.iter().map(|one| (one.variable, &one.value))).env("PATH", "/usr/bin:/bin");
        let output = finish(command);
        assert_eq!(output.status.code(), Some(2), "{output:?}");
        let written = std::fs::read_to_string(here.0.join("out.txt")).unwrap();
        assert!(written.contains("[redacted:"), "{written}");
        pieces.check_output(&script, &output);
        pieces.check_files(&here);
    }
}

/// `script` of util-linux runs a command on its own terminal and keeps the output.
#[cfg(target_os = "linux")]
#[test]
#[expect(clippy::print_stderr, reason = "a skipped check is reported")]
fn no_piece_of_a_secret_is_drawn_on_a_terminal() {
    if !Path::new("/usr/bin/script").exists() {
        eprintln!("skipped: there is no /usr/bin/script");
        return;
    }
    let secrets = planted();
    let pieces = Pieces::of(&secrets, &[]);
    let all_of_them = secrets.clone();
    let output_text = json!({ "error": { "message": all(&secrets) } }).to_string();
    // The first response asks for a retry, which the progress line shows.
    let server = Loopback::start(move |request, count| match Dialect::of(request) {
        Some(_) if count < 6 => Answer::status(503, "retry-after: 1\r\n", output_text.clone()),
        Some(_) => answer(request, |_| Turn::text(all(&all_of_them))),
        None => mcp(request, &all_of_them, &[]),
    });
    let here = world(&server.base(), &secrets, CHECKS);
    let mut command = Command::new("/usr/bin/script");
    let line = format!("{} run suite.yml --live -vv", env!("CARGO_BIN_EXE_mcptest"));
    command
        .args(["-qefc", &line, "drawn.txt"])
        .current_dir(&here.0)
        .env_clear()
        .env("TERM", "xterm")
        .env("SHELL", "/bin/sh");
    command.envs(secrets.iter().filter(|secret| !secret.variable.is_empty()).map(|one| (one.variable, &one.value)));
    let output = finish(command);
    let drawn = std::fs::read_to_string(here.0.join("drawn.txt")).unwrap();
    assert_eq!(output.status.code(), Some(1), "{drawn}");
    assert!(drawn.contains("retrying in "), "{drawn}");
    pieces.check_output("terminal", &output);
    pieces.check_files(&here);
}
