//! `mcptest run` on models that give harmful answers, over each of the four interfaces. What they do is evidence or
//! an error of their run, reported with the name of the model and its address; nothing of it acts on a terminal, a recording gives
//! the same rows again, and the other test passes.
#![expect(clippy::disallowed_methods, reason = "a test that waits for a program knows the time")]

mod bodies;
mod calls;
mod refusals;

use std::process::{Child, Output, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;

use super::Folder;
use super::models::dialect::{Dialect, Turn};
use super::models::provider::{Answer, Loopback, Request};
use super::models::{LIMIT, TOOLS, err, finish, out};

/// The interfaces, with the names of their models in the suite and their own.
const WIRES: [(&str, Dialect, &str); 4] = [
    ("claude", Dialect::Messages, "Anthropic Messages"),
    ("responses", Dialect::Responses, "OpenAI Responses"),
    ("chat", Dialect::Chat, "OpenAI Chat Completions"),
    ("gemini", Dialect::Gemini, "Gemini generateContent"),
];

/// Every face of a report, each written to a file.
const FACES: [&str; 6] = ["json", "ndjson", "junit", "markdown", "github", "html"];

/// The key of every model here.
const KEY: &str = "violet-otter-1111";

/// More memory than any run here may take, in KiB.
const MEMORY: u64 = 200 * 1024;

/// Models at a loopback server, and a test that calls no model.
struct Scene {
    here: Folder,
    server: Loopback,
    /// The most memory that the recording took, in KiB, where the system reports it.
    peak: Option<u64>,
    output: Output,
    report: Value,
}

impl Scene {
    /// Records with models that answer their first request like this, and every other with a closing message.
    #[track_caller]
    fn record(keys: &str, hostile: impl Fn(Dialect) -> Answer + Send + Sync + 'static) -> Self {
        Self::play(keys, move |dialect, request| {
            let answered = dialect.answered(&request.body);
            if answered == 0 { hostile(dialect) } else { closing(dialect, answered) }
        })
    }

    /// Records with models that answer like this.
    #[track_caller]
    fn play(keys: &str, answers: impl Fn(Dialect, &Request) -> Answer + Send + Sync + 'static) -> Self {
        let server = Loopback::start(move |request, _| match Dialect::of(request) {
            Some(dialect) => answers(dialect, request),
            None => Answer::status(404, "", ""),
        });
        let here = Folder::with(&[
            ("suite.yml", &suite(&server.base(), keys)),
            ("tools.yml", TOOLS),
            (
                "script.yml",
                "{ script: 1, runs: [{ turns: [{ calls: [{ tool: search, args: { q: x } }] }, { text: done }] }] }",
            ),
        ]);
        let mut command = here.command(&["run", "suite.yml", "--record", "-v"]);
        for face in FACES {
            command.args(["--reporter", &format!("{face}=report.{face}")]);
        }
        command.args(["--reporter", "pretty"]).env("MODEL_KEY", KEY);
        let (output, peak) = measured(command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap());
        let text = std::fs::read(here.0.join("report.json"));
        assert!(text.is_ok(), "{}{}", out(&output), err(&output));
        let report = serde_json::from_slice(&text.unwrap()).unwrap();
        let scene = Self { here, server, peak, output, report };
        scene.holds_still();
        scene.replays();
        scene
    }

    fn rows(&self) -> &[Value] {
        self.report["suites"][0]["rows"].as_array().unwrap()
    }

    fn row(&self, model: &str) -> &Value {
        let fits = |row: &&Value| row["test"] == "hostile" && row["model"] == model;
        self.rows().iter().find(fits).unwrap()
    }

    /// The verdict of a model's run; an error with its code, message and hint, its address as `AT` and its interface as `WIRE`.
    fn verdict(&self, model: &str) -> String {
        let row = self.row(model);
        let verdict = row["verdict"].as_str().unwrap();
        let Some(message) = row["error"]["message"].as_str() else { return verdict.to_owned() };
        let path = match model {
            "claude" => "/v1/messages",
            "responses" => "/v1/responses",
            "chat" => "/v1/chat/completions",
            _ => "/v1beta/models/gemini:generateContent",
        };
        let wire = WIRES.iter().find(|(name, ..)| *name == model).unwrap().2;
        let at = format!("model `{model}` at {}{path}: ", self.server.base());
        let hint = row["error"]["hint"].as_str().unwrap().replace(wire, "WIRE");
        let code = row["error"]["code"].as_str().map(|code| format!("[{code}]")).unwrap_or_default();
        let message = message.replace(&at, "AT ").replace(&self.server.base(), "BASE");
        format!("{verdict}{code}: {message}\nhint: {hint}")
    }

    /// Every model has this verdict, the other test passes, and the exit code is this.
    #[track_caller]
    fn check(&self, code: i32, verdict: &str) {
        for (model, ..) in WIRES {
            assert_eq!(self.verdict(model), verdict, "{model}");
        }
        self.check_rest(code);
    }

    #[track_caller]
    fn check_rest(&self, code: i32) {
        let other = self.rows().iter().find(|row| row["test"] == "calm").unwrap();
        assert_eq!(other["verdict"], "pass", "{other}");
        assert_eq!(self.output.status.code(), Some(code), "{}", out(&self.output));
        assert!(self.peak.is_none_or(|peak| peak < MEMORY), "{:?} KiB", self.peak);
    }

    /// The trace of a model's run.
    fn trace(&self, model: &str) -> Value {
        let path = self.here.0.join("cassettes/suite/hostile").join(model).join("1.json");
        let cassette: Value = serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap();
        cassette["trace"].clone()
    }

    /// The calls of a model's run as name, arguments and what came of them.
    fn calls(&self, model: &str) -> Vec<(String, Value, String)> {
        let trace = self.trace(model);
        let calls = trace["tool_calls"].as_array().unwrap().iter();
        calls
            .zip(trace["tool_results"].as_array().unwrap())
            .map(|(call, result)| {
                let came = result["error"]["message"].as_str().unwrap_or("ok").to_owned();
                (call["name"].as_str().unwrap().to_owned(), call["args"].clone(), came)
            })
            .collect()
    }

    /// Nothing that was printed or reported acts on a terminal or turns the direction of writing.
    #[track_caller]
    fn holds_still(&self) {
        let files = FACES.map(|face| (face, std::fs::read(self.here.0.join(format!("report.{face}"))).unwrap()));
        let streams = [("stdout", self.output.stdout.clone()), ("stderr", self.output.stderr.clone())];
        for (place, bytes) in files.into_iter().chain(streams) {
            let text = String::from_utf8(bytes).unwrap();
            let acts =
                |c: char| (c.is_control() && !matches!(c, '\n' | '\t')) || ('\u{202a}'..='\u{202e}').contains(&c);
            let found: String = text.lines().filter(|line| line.contains(acts)).take(3).collect();
            assert!(found.is_empty(), "{place}: {found:?}");
            assert!(!text.contains(&KEY[..6]), "the key is in {place}");
        }
    }

    /// Recorded runs give the same rows, byte for byte; the server is not called.
    #[track_caller]
    fn replays(&self) {
        let asked = self.server.requests().len();
        finish(self.here.command(&["run", "suite.yml", "--reporter", "json=again.json"]));
        let again: Value = serde_json::from_slice(&std::fs::read(self.here.0.join("again.json")).unwrap()).unwrap();
        let again = again["suites"][0]["rows"].as_array().unwrap();
        assert_eq!(again.len(), self.rows().len());
        for (row, again) in self.rows().iter().zip(again) {
            let as_replayed =
                row.to_string().replace("\"live\"", "\"replayed\"").replace("\"scripted\"", "\"replayed\"");
            let as_replayed = as_replayed.replace("\"recorded\":true,", "");
            if row["error"].is_null() {
                assert_eq!(again.to_string(), as_replayed);
            } else {
                assert_eq!(again["verdict"], "error", "what could not run is not recorded");
            }
        }
        assert_eq!(self.server.requests().len(), asked);
    }
}

/// A test on all models at this address, with these further keys, and another one.
fn suite(base: &str, keys: &str) -> String {
    let model = |name: &str, keys: &str| format!("  {name}: {{ {keys}, api_key_env: MODEL_KEY }}\n");
    [
        "servers: { desk: { command: [mcptest, mock, --tools-from, \"${SUITE_DIR}/tools.yml\"] } }\nmodels:\n",
        &model("claude", &format!("provider: anthropic, base_url: \"{base}\"")),
        &model("responses", &format!("provider: openai, api: responses, base_url: \"{base}/v1\"")),
        &model("chat", &format!("provider: openai, api: chat, base_url: \"{base}/v1\"")),
        &model("gemini", &format!("provider: gemini, base_url: \"{base}\"")),
        "  script: { provider: script, script: script.yml }\nagents:\n",
        &format!(
            "  - {{ name: hostile, models: [claude, responses, chat, gemini], servers: [desk], prompt: Do it., {keys} }}\n"
        ),
        "  - { name: calm, model: script, servers: [desk], prompt: Do it., trajectory: { calls: [{ name: search }] } }\n",
    ]
    .concat()
}

/// A check that passes if the model ends its run.
const CLOSES: &str = "expect: [{ target: conversation.stop_reason, matcher: { exact: completed } }]";

/// The closing message of a model.
fn closing(dialect: Dialect, answered: usize) -> Answer {
    Answer::json(&dialect.say(&Turn::text("Done."), answered))
}

/// A call in pieces of JSON; an empty piece is left out.
#[derive(Clone, Copy)]
struct Call<'a> {
    id: &'a str,
    name: &'a str,
    args: &'a str,
}

/// A reply in pieces of JSON.
struct Reply<'a> {
    /// Empty for no text.
    text: &'a str,
    calls: &'a [Call<'a>],
    /// Tokens read and written, as JSON.
    usage: [&'a str; 2],
    /// Why it ended; the usual word when empty.
    stop: &'a str,
}

impl Default for Reply<'_> {
    fn default() -> Self {
        Self { text: "", calls: &[], usage: ["100", "20"], stop: "" }
    }
}

fn object(pairs: &[(&str, &str)]) -> String {
    let pairs = pairs.iter().filter(|(_, value)| !value.is_empty()).map(|(key, value)| format!("\"{key}\":{value}"));
    format!("{{{}}}", pairs.collect::<Vec<_>>().join(","))
}

/// A reply as its interface has it, piece by piece, so that the pieces may be anything.
fn body_of(dialect: Dialect, reply: &Reply<'_>) -> String {
    let Reply { text, calls, usage: [read, written], stop } = reply;
    let call = |call: &Call<'_>| match dialect {
        Dialect::Messages => {
            object(&[("type", "\"tool_use\""), ("id", call.id), ("name", call.name), ("input", call.args)])
        }
        Dialect::Responses => object(&[
            ("type", "\"function_call\""),
            ("call_id", call.id),
            ("name", call.name),
            ("arguments", call.args),
        ]),
        Dialect::Chat => {
            let function = object(&[("name", call.name), ("arguments", call.args)]);
            object(&[("type", "\"function\""), ("id", call.id), ("function", &function)])
        }
        Dialect::Gemini => {
            let call = object(&[("id", call.id), ("name", call.name), ("args", call.args)]);
            object(&[("functionCall", &call)])
        }
    };
    let calls: Vec<String> = calls.iter().map(call).collect();
    let words = match dialect {
        _ if text.is_empty() => None,
        Dialect::Messages => Some(object(&[("type", "\"text\""), ("text", text)])),
        Dialect::Responses => {
            let part = object(&[("type", "\"output_text\""), ("text", text)]);
            Some(object(&[("type", "\"message\""), ("content", &format!("[{part}]"))]))
        }
        Dialect::Gemini => Some(object(&[("text", text)])),
        Dialect::Chat => None,
    };
    let list = format!("[{}]", words.into_iter().chain(calls).collect::<Vec<_>>().join(","));
    let or = |usual: &str| if stop.is_empty() { format!("\"{usual}\"") } else { format!("\"{stop}\"") };
    match dialect {
        Dialect::Messages => {
            let usage = object(&[("input_tokens", read), ("output_tokens", written)]);
            object(&[("content", &list), ("stop_reason", &or("end_turn")), ("usage", &usage)])
        }
        Dialect::Responses => {
            let usage = object(&[("input_tokens", read), ("output_tokens", written)]);
            object(&[("output", &list), ("status", &or("completed")), ("usage", &usage)])
        }
        Dialect::Chat => {
            let message = object(&[("content", if text.is_empty() { "null" } else { text }), ("tool_calls", &list)]);
            let choice = object(&[("message", &message), ("finish_reason", &or("stop"))]);
            let usage = object(&[("prompt_tokens", read), ("completion_tokens", written)]);
            object(&[("choices", &format!("[{choice}]")), ("usage", &usage)])
        }
        Dialect::Gemini => {
            let content = object(&[("role", "\"model\""), ("parts", &list)]);
            let candidate = object(&[("content", &content), ("finishReason", &or("STOP"))]);
            let usage = object(&[("promptTokenCount", read), ("candidatesTokenCount", written)]);
            object(&[("candidates", &format!("[{candidate}]")), ("usageMetadata", &usage)])
        }
    }
}

/// Waits for a program that must end on its own. Returns the most memory it took, in KiB, where the system reports it.
#[track_caller]
fn measured(mut child: Child) -> (Output, Option<u64>) {
    let readers = [
        child.stdout.take().map(|stream| Box::new(stream) as Box<dyn std::io::Read + Send>),
        child.stderr.take().map(|stream| Box::new(stream) as Box<dyn std::io::Read + Send>),
    ]
    .map(|stream| {
        std::thread::spawn(move || {
            let mut bytes = Vec::new();
            stream.map(|mut stream| stream.read_to_end(&mut bytes).unwrap());
            bytes
        })
    });
    let begun = Instant::now();
    let mut peak = None;
    let status = loop {
        peak = memory(child.id()).or(peak);
        if let Some(status) = child.try_wait().unwrap() {
            break status;
        }
        let is_late = begun.elapsed() > LIMIT;
        if is_late {
            child.kill().unwrap();
        }
        assert!(!is_late, "it did not end within {LIMIT:?}");
        std::thread::sleep(Duration::from_millis(5));
    };
    let [stdout, stderr] = readers.map(|reader| reader.join().unwrap());
    (Output { status, stdout, stderr }, peak)
}

/// The most memory that a process has taken so far, in KiB.
fn memory(process: u32) -> Option<u64> {
    let status = std::fs::read_to_string(format!("/proc/{process}/status")).ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    line.trim().trim_end_matches(" kB").parse().ok()
}
