//! Plays the ledger of a script on the wire: a client sends what the program sent, a server answers what was answered, in that order.

#[path = "../../../../../core/tests/it/differential/program/play.rs"]
mod play;
#[path = "../../../../../core/tests/it/differential/program/script.rs"]
mod script;
#[path = "../../../../../core/tests/it/differential/program/wire.rs"]
mod wire;

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use mcptest_core::ledger::{
    self, Blobs, Body, End, Interface, Mcp, Message, Part, ProgramEnd, Request, Side, What, url_variable,
};
use mcptest_runner::mcp::Endpoint;
use mcptest_runner::process::Processes;
use mcptest_runner::record::{Recording, Setup, Upstreams};
use serde_json::{Value, json};
use tokio::task::JoinHandle;

use super::Rng;
use super::upstream::{Reply, Upstream};
use crate::fake::within;
use play::Played;

const CONVERSATIONS: u64 = 200;

/// A program and both of its counterparts.
struct Scene {
    variables: BTreeMap<String, String>,
    http: reqwest::Client,
    upstream: Upstream,
    rng: Rng,
    /// Requests in progress. Each returns the body that the program got.
    asked: BTreeMap<String, JoinHandle<Vec<u8>>>,
    /// The encodings that occurred.
    encodings: BTreeSet<&'static str>,
}

impl Scene {
    /// Sends a request, and returns when it has arrived.
    async fn ask(&mut self, key: String, url: &str, body: &Value) {
        let mut request = self.http.post(url).header("x-place", &key).header("content-type", "application/json");
        let text = body.to_string().into_bytes();
        // Clients of MCP do not encode what they send.
        if key.starts_with("model ") && self.rng.chance(20) {
            request = request.header("content-encoding", "gzip").body(Reply::gzip(&text, true));
        } else {
            request = request.body(text);
        }
        let task = tokio::spawn(async move {
            let mut got = Vec::new();
            // Requests that wait when the recording ends have none.
            let Ok(mut response) = request.send().await else { return got };
            // A response that breaks off ends here too.
            while let Ok(Some(chunk)) = response.chunk().await {
                got.extend_from_slice(&chunk);
            }
            got
        });
        self.asked.insert(key.clone(), task);
        within(self.upstream.arrival(&key)).await;
    }

    /// Answers a request, and returns when the program has got it.
    async fn answer(&mut self, key: &str, reply: Reply) {
        let expected = reply.body.clone();
        self.encodings.insert(reply.encoding);
        self.upstream.answer(key, reply);
        let Some(task) = self.asked.remove(key) else { return };
        let got = within(task).await.unwrap();
        if let Some(expected) = expected {
            assert!(got == expected, "the program does not get what the upstream sent");
        }
    }

    fn model_url(&self, request: &Request) -> String {
        let (name, path) = match request.interface {
            Some(Interface::Anthropic) => ("ANTHROPIC_BASE_URL", request.path.as_str()),
            Some(Interface::Gemini) => ("GOOGLE_GEMINI_BASE_URL", request.path.as_str()),
            _ => ("OPENAI_BASE_URL", request.path.strip_prefix("/v1").unwrap()),
        };
        format!("{}{path}", self.variables[name])
    }

    async fn pass(&mut self, what: &What, blobs: &Blobs) {
        match what {
            What::Request(request) => {
                let url = self.model_url(request);
                self.ask(format!("model {}", request.exchange), &url, &whole(&request.body, blobs)).await;
            }
            What::Response(response) => {
                let is_cut = response.end != End::Complete;
                let reply = match response.status {
                    None => Reply::none(),
                    Some(status) => Reply::new(status, &response.body, is_cut, &mut self.rng),
                };
                self.answer(&format!("model {}", response.exchange), reply).await;
            }
            What::Mcp(Mcp { server, from, message, reply_to, .. }) => {
                self.message(server, *from, message, *reply_to).await;
            }
        }
    }

    async fn message(&mut self, server: &str, from: Side, message: &Message, reply_to: Option<u64>) {
        let key = |id: &Value| format!("{server} {id}");
        match (from, message) {
            (Side::Program, Message::Json(message)) => {
                let url = self.variables[&url_variable(server)].clone();
                match message.get("id") {
                    Some(id) => self.ask(key(id), &url, message).await,
                    None => {
                        self.ask("notification".to_owned(), &url, message).await;
                        self.answer("notification", Reply::empty(202)).await;
                    }
                }
            }
            (_, Message::Json(message)) => {
                let reply = Reply::message(message, &mut self.rng);
                self.answer(&key(&message["id"]), reply).await;
            }
            (_, Message::Status(status)) => {
                let key = self.upstream.by_seq(server, reply_to);
                self.answer(&key, Reply::empty(*status)).await;
            }
            (_, Message::End(_)) => {
                let key = self.upstream.by_seq(server, reply_to);
                self.answer(&key, Reply::none()).await;
            }
            (_, Message::Unread(_)) => unreachable!("no script has it"),
        }
    }
}

/// A body with its parts.
fn whole(body: &Body, blobs: &Blobs) -> Value {
    let Body::Json { rest, parts } = body else { unreachable!("requests are JSON") };
    let mut out = rest.clone();
    for (name, part) in parts {
        out[name] = match part {
            Part::One(blob) => blobs.get(*blob).clone(),
            Part::List(list) => list.iter().map(|blob| blobs.get(*blob).clone()).collect(),
        };
    }
    out
}

/// A trace without its times, and without the message of a broken connection.
fn comparable(trace: &ledger::Derived) -> Value {
    comparable_envelope(trace.trace.to_envelope())
}

fn comparable_envelope(mut envelope: Value) -> Value {
    envelope["program"]["timeline"] = Value::Null;
    envelope["conversation"]["duration_ms"] = Value::Null;
    for result in envelope["tool_results"].as_array_mut().into_iter().flatten().filter(|result| result.is_object()) {
        result["duration_ms"] = Value::Null;
        if result["error"]["kind"] == "transport" {
            result["content"] = Value::Null;
            result["error"]["message"] = Value::Null;
        }
    }
    envelope
}

/// Returns the encodings that occurred.
async fn check(seed: u64) -> BTreeSet<&'static str> {
    let script = script::random(&mut Rng(seed));
    let Played { ledger: played, truth } = play::play(&script, &mut Rng(seed ^ 0x5eed));
    let upstream = Upstream::start(&played).await;
    let address = upstream.address;
    let endpoint =
        |name: &String| Endpoint::Url { url: format!("http://{address}/mcp/{name}"), headers: [].into(), bearer: None };
    let base = |name: &str| match name {
        "OPENAI_BASE_URL" => Some(format!("http://{address}/v1")),
        "ANTHROPIC_BASE_URL" | "GOOGLE_GEMINI_BASE_URL" => Some(format!("http://{address}")),
        _ => None,
    };
    let recording = Recording::start(Setup {
        faults: Vec::new(),
        servers: played.servers.iter().map(|name| (name.clone(), endpoint(name))).collect(),
        processes: Processes::default(),
        upstreams: Upstreams::new(&base).unwrap(),
        secrets: Vec::new(),
        shim: Path::new("mcptest"),
        no_proxy: None,
        rerun: None,
    })
    .await
    .unwrap();
    let http = reqwest::Client::builder().no_proxy().no_gzip().tls_certs_only([]).build().unwrap();
    let mut scene = Scene {
        variables: recording.variables(),
        http,
        upstream,
        rng: Rng(seed ^ 0x3142),
        asked: BTreeMap::new(),
        encodings: BTreeSet::new(),
    };
    for entry in &played.entries {
        scene.pass(&entry.what, &played.blobs).await;
    }
    let (recorded, _) = within(recording.finish()).await;
    let end = ProgramEnd { answer: script.answer.clone(), exit: Some(0), ..ProgramEnd::default() };
    let derived = ledger::trace(&recorded, end);
    let (mut found, expected) = (comparable(&derived), comparable_envelope(truth.to_envelope()));
    // A call that the script leaves without an answer is one that the program gave up when it ended.
    for (at, result) in expected["tool_results"].as_array().unwrap().iter().enumerate().filter(|(_, one)| one.is_null())
    {
        let found = &mut found["tool_results"][at];
        assert!(found.is_null() || found["error"]["kind"] == "timeout", "seed {seed}: {found}");
        *found = result.clone();
    }
    assert!(
        found == expected,
        "seed {seed}, {script:?}\n{}\n{:#?}\nfound {found:#}\nexpected {expected:#}",
        recorded.to_lines(),
        derived.notes
    );
    scene.encodings
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_trace_of_the_proxy_matches_the_script() {
    let mut encodings = BTreeSet::new();
    for seed in 0..CONVERSATIONS {
        encodings.extend(check(seed).await);
    }
    let all = json!(["", "gzip", "identity", "zstd"]);
    assert_eq!(json!(encodings), all, "not every encoding occurs");
}
