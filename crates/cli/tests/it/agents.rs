//! `mcptest record` with real agents: each is written as the documents of its framework show it, and knows of mcptest only where
//! its servers are. The server is real, the model is scripted, and the trace must be what these two say.
//!
//! The frameworks are those that `cargo xtask servers` installs: two for `cargo xtask ci`, all of them for `cargo xtask full`.
//! Where they are not, each test says that it is skipped.

mod network;
mod secrets;

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use serde_json::{Value, json};

use super::models::dialect::{Dialect, Turn, answer};
use super::models::provider::{Answer, Loopback, Request};
use super::models::{err, finish, out};
use super::real_servers::harness::{MARK, NPM, SQLITE, Set, TIME, left, servers};
use super::{Folder, root};

/// An agent and what it needs.
struct Agent {
    set: Set,
    file: &'static str,
    /// What it puts before the names of tools.
    prefix: &'static str,
    /// The interface it speaks.
    dialect: Dialect,
    is_streamed: bool,
    /// How ids of calls begin.
    ids: &'static str,
}

macro_rules! pins {
    ($path:literal) => {
        include_str!(concat!("../../../../xtask/servers/agents/", $path))
    };
}

const OPENAI: Agent = Agent {
    set: Set::new("openai", include_str!("../../../../examples/your-agent/requirements.txt")),
    file: "openai_chat.py",
    prefix: "",
    dialect: Dialect::Chat,
    is_streamed: false,
    ids: "call_",
};
const OPENAI_NODE: Agent = Agent {
    set: Set::new("openai-node", pins!("openai-node/package-lock.json")),
    file: "openai_chat.mjs",
    prefix: "",
    dialect: Dialect::Chat,
    is_streamed: true,
    ids: "call_",
};
const AI_SDK: Agent = Agent {
    set: Set::full("ai-sdk", pins!("ai-sdk/package-lock.json")),
    file: "ai_sdk.mjs",
    prefix: "",
    dialect: Dialect::Responses,
    is_streamed: false,
    ids: "call_",
};
const OPENAI_AGENTS: Agent = Agent {
    set: Set::full("openai-agents", pins!("openai-agents.txt")),
    file: "openai_agents.py",
    prefix: "",
    dialect: Dialect::Responses,
    is_streamed: true,
    ids: "call_",
};
const PYDANTIC_AI: Agent = Agent {
    set: Set::full("pydantic-ai", pins!("pydantic-ai.txt")),
    file: "pydantic_agent.py",
    prefix: "everything_",
    dialect: Dialect::Chat,
    is_streamed: false,
    ids: "call_",
};
const LANGGRAPH: Agent = Agent {
    set: Set::full("langgraph", pins!("langgraph.txt")),
    file: "langgraph_agent.py",
    prefix: "",
    dialect: Dialect::Chat,
    is_streamed: true,
    ids: "call_",
};
const ANTHROPIC: Agent = Agent {
    set: Set::full("anthropic", pins!("anthropic.txt")),
    file: "anthropic_sdk.py",
    prefix: "",
    dialect: Dialect::Messages,
    is_streamed: true,
    ids: "toolu_",
};
const GOOGLE_GENAI: Agent = Agent {
    set: Set::full("google-genai", pins!("google-genai.txt")),
    file: "google_genai.py",
    prefix: "",
    dialect: Dialect::Gemini,
    is_streamed: true,
    ids: "g",
};

/// The keys of the three providers.
const KEYS: [(&str, &str); 3] = [
    ("OPENAI_API_KEY", "sk-planted-openai-4f1c9a"),
    ("ANTHROPIC_API_KEY", "sk-ant-planted-77be21"),
    ("GEMINI_API_KEY", "AIzaPlantedGemini0d93e5"),
];

const LAST: &str = "The sum is 5.";
const REFUSED: &str = "MCP error -32602: Input validation error: Invalid arguments for tool get-sum: Invalid input: expected \
                       number, received string at a";

/// Two calls at once, one that the server answers with an error, and the closing message.
fn turn(answered: usize, prefix: &str) -> Turn {
    let name = |tool: &str| format!("{prefix}{tool}");
    match answered {
        0 => Turn {
            text: Some("Looking.".to_owned()),
            calls: vec![
                (name("echo").into(), json!({ "message": "hi" })),
                (name("get-sum").into(), json!({ "a": 2, "b": 3 })),
            ],
        },
        2 => Turn { text: None, calls: vec![(name("get-sum").into(), json!({ "a": "two", "b": 3 }))] },
        _ => Turn::text(LAST),
    }
}

const PASSING: &str = "\
trajectory:
  calls:
    - { name: echo, server: everything, args: { exact: { message: hi } }, status: ok }
    - { name: get-sum, args: { exact: { a: 2, b: 3 } }, status: ok }
    - { name: get-sum, status: error }
expect:
  - { target: final_response, matcher: { exact: The sum is 5. } }
";
const FAILING: &str = "\
trajectory:
  calls: [{ name: echo, status: ok }, { name: get-sum, status: ok }, { name: get-sum, status: ok }]
";

/// A folder to record one agent in.
struct World<'a> {
    agent: &'a Agent,
    here: Folder,
}

impl<'a> World<'a> {
    /// Nothing when the agent or its server is not installed.
    fn new(agent: &'a Agent) -> Option<Self> {
        let installed = agent.set.folder()?;
        NPM.folder()?;
        let here = Folder::with(&[("passing.yml", PASSING), ("failing.yml", FAILING), ("tmp/.keep", "")]);
        // Packages for Node.js are looked for from the folder of the script.
        fs::copy(sources().join(agent.file), here.0.join(agent.file)).unwrap();
        if is_node(agent.file) {
            std::os::unix::fs::symlink(installed.join("node_modules"), here.0.join("node_modules")).unwrap();
        }
        Some(Self { agent, here })
    }

    /// Records the agent with the model at this address.
    fn command(&self, base: &str, flags: &[&str]) -> Command {
        self.recording(base, flags, self.agent.file, "Go.")
    }

    fn recording(&self, base: &str, flags: &[&str], file: &str, argument: &str) -> Command {
        let everything = servers().join("npm/node_modules/.bin/mcp-server-everything");
        let everything = format!("everything={} stdio", everything.display());
        let flags =
            if flags.contains(&"--server") { flags.to_vec() } else { [&["--server", &everything], flags].concat() };
        let mut command = self.here.command(&[&["record", "--out", "t.jsonl"], &*flags].concat());
        command.arg("--");
        if is_node(file) {
            command.arg("node");
        } else {
            command.arg(servers().join(self.agent.set.name).join("bin/python"));
        }
        command.args([file, argument]);
        inherit_path(&mut command).envs(KEYS).env(MARK, self.mark());
        command.env("HOME", &self.here.0).env("TMPDIR", self.here.0.join("tmp"));
        command.env("OPENAI_BASE_URL", format!("{base}/v1"));
        command.env("ANTHROPIC_BASE_URL", base).env("GOOGLE_GEMINI_BASE_URL", base);
        command
    }

    fn mark(&self) -> String {
        self.here.0.to_string_lossy().into_owned()
    }

    /// The one envelope that was recorded.
    #[track_caller]
    fn trace(&self) -> Value {
        let text = fs::read_to_string(self.here.0.join("t.jsonl")).unwrap();
        let mut lines = text.lines();
        let trace = serde_json::from_str(lines.next().unwrap()).unwrap();
        assert_eq!(lines.next(), None);
        trace
    }

    /// Records the conversation, in which the model is called this often, and checks all output.
    #[track_caller]
    fn check(&self, command: Command, posts: usize) {
        let output = self.finish(command);
        assert!(output.status.success() && out(&output) == format!("{LAST}\n"), "{}{}", out(&output), err(&output));
        let reported = err(&output);
        assert!(reported.ends_with("mcptest: recorded a trace with 3 tool calls in t.jsonl\n"), "{reported}");
        let trace = self.trace();
        self.check_trace(&trace, posts);
        let score = |gates: &str| {
            let output = finish(self.here.command(&["score", "t.jsonl", "--gates", gates]));
            (output.status.code(), out(&output) + &err(&output))
        };
        let (passing, failing) = (score("passing.yml"), score("failing.yml"));
        assert_eq!((passing.0, failing.0), (Some(0), Some(1)), "{}{}", passing.1, failing.1);
    }

    /// Records the agent in a suite and reruns it twice, without a key or a model. Both say what a replay says.
    #[track_caller]
    fn reruns(&self) {
        let model = model(self.agent);
        let everything = servers().join("npm/node_modules/.bin/mcp-server-everything");
        let program = if is_node(self.agent.file) {
            "node".to_owned()
        } else {
            servers().join(self.agent.set.name).join("bin/python").display().to_string()
        };
        let test = PASSING.lines().fold(String::new(), |text, line| text + "    " + line + "\n");
        let suite = format!(
            "servers:\n  everything: {{ command: [{}, stdio] }}\n\
             programs:\n  agent: {{ command: [{program}, \"${{SUITE_DIR}}/{}\"], input: arg }}\n\
             agents:\n  - name: adds\n    program: agent\n    servers: [everything]\n    prompt: Go.\n{test}",
            everything.display(),
            self.agent.file,
        );
        self.here.write("suite.yml", suite.as_bytes());
        let run = |flags: &[&str], zone: &str| {
            let line = [&["run", "suite.yml", "--reporter", "json"], flags].concat();
            let mut command = self.here.command(&line);
            inherit_path(&mut command).env(MARK, self.mark()).env("TZ", zone);
            command.env("HOME", &self.here.0).env("TMPDIR", self.here.0.join("tmp"));
            command
        };
        let mut record = run(&["--record"], "UTC");
        let base = model.base();
        record.envs(KEYS).env("OPENAI_BASE_URL", format!("{base}/v1"));
        record.env("ANTHROPIC_BASE_URL", &base).env("GOOGLE_GEMINI_BASE_URL", &base);
        let recorded = self.finish(record);
        assert_eq!(recorded.status.code(), Some(0), "{}{}", out(&recorded), err(&recorded));
        let asked = model.requests().len();
        let replayed = out(&self.finish(run(&[], "UTC"))).replace("\"replayed\"", "\"rerun\"");
        for zone in ["UTC", "Asia/Tokyo"] {
            let rerun = self.finish(run(&["--rerun", "--jobs", "8"], zone));
            assert_eq!(rerun.status.code(), Some(0), "{}{}", out(&rerun), err(&rerun));
            assert_eq!(out(&rerun), replayed);
        }
        assert_eq!(model.requests().len(), asked, "a rerun asks no model");
    }

    /// The output of a recording, which must end with all processes it started.
    #[track_caller]
    fn finish(&self, command: Command) -> Output {
        let output = finish(command);
        assert_eq!(left(&self.mark()), [""; 0], "processes are left behind");
        let left = fs::read_dir(self.here.0.join("tmp")).unwrap().count();
        assert_eq!(left, 1, "temporary files are left behind");
        output
    }

    /// Compares a trace with the script and the server. The model was called this often.
    #[track_caller]
    fn check_trace(&self, trace: &Value, posts: usize) {
        let call = |at: usize, name: &str, args: Value| {
            json!({ "name": name, "server": "everything", "args": args, "witness": "both",
                    "id": format!("{}{at}", self.agent.ids) })
        };
        let calls = json!([
            call(1, "echo", json!({ "message": "hi" })),
            call(2, "get-sum", json!({ "a": 2, "b": 3 })),
            call(3, "get-sum", json!({ "a": "two", "b": 3 })),
        ]);
        let ok = |text: &str| json!({ "is_error": false, "content": [{ "type": "text", "text": text }] });
        let error = json!({
            "is_error": true, "content": [{ "type": "text", "text": REFUSED }],
            "error": { "kind": "tool", "message": REFUSED },
        });
        assert_eq!(without(&trace["tool_calls"], "turn"), calls, "{trace:#}");
        let results = json!([ok("Echo: hi"), ok("The sum of 2 and 3 is 5."), error]);
        assert_eq!(without(&trace["tool_results"], "duration_ms"), results, "{trace:#}");
        assert_eq!(trace["tool_names"], json!(["echo", "get-sum", "get-sum"]));
        assert_eq!((&trace["final_response"], &trace["answer_source"]), (&json!(LAST), &json!("program")), "{trace:#}");
        let program = &trace["program"];
        assert_eq!((&program["exit"], program.get("incomplete")), (&json!(0), None), "{program:#}");
        let passed = |what: &str| {
            let entries = program["timeline"].as_array().unwrap();
            entries.iter().filter(|entry| entry["what"].as_str().unwrap().starts_with(what)).count()
        };
        assert_eq!((passed("POST /v1"), passed("tools/call ")), (posts, 3), "{program:#}");
        let conversation = &trace["conversation"];
        let mut tokens = json!({ "input": 300, "output": 60, "cached": 120, "total": 360 });
        if self.agent.dialect == Dialect::Messages {
            // This API has no total.
            tokens.as_object_mut().unwrap().remove("total");
        }
        assert_eq!(
            (&conversation["tokens"], &conversation["stop_reason"]),
            (&tokens, &json!("completed")),
            "{trace:#}"
        );
        let roles: Vec<&str> =
            conversation["turns"].as_array().unwrap().iter().map(|turn| turn["role"].as_str().unwrap()).collect();
        assert_eq!(roles, ["user", "assistant", "tool", "tool", "assistant", "tool", "assistant"], "{trace:#}");
    }
}

/// A scripted model for an agent.
fn model(agent: &Agent) -> Loopback {
    let prefix = agent.prefix;
    Loopback::start(move |request, _| reply(request, prefix))
}

fn reply(request: &Request, prefix: &str) -> Answer {
    answer(request, |answered| turn(answered, prefix))
}

fn sources() -> std::path::PathBuf {
    root().join("crates/cli/tests/it/agents")
}

fn is_node(file: &str) -> bool {
    Path::new(file).extension().is_some_and(|extension| extension == "mjs")
}

/// Node.js and the servers for it are found by the path.
#[expect(clippy::disallowed_methods, reason = "where Node.js is, only the environment says")]
fn inherit_path(command: &mut Command) -> &mut Command {
    command.env("PATH", std::env::var_os("PATH").unwrap())
}

/// A list of objects without a key that each of them has.
#[track_caller]
fn without(list: &Value, key: &str) -> Value {
    let mut list = list.clone();
    for item in list.as_array_mut().unwrap() {
        assert!(item.as_object_mut().unwrap().remove(key).is_some_and(|value| value.is_u64()), "{item}");
    }
    list
}

/// Records the conversation, and checks the requests to the model.
#[track_caller]
fn records(agent: &Agent) {
    let Some(world) = World::new(agent) else { return };
    let model = model(agent);
    world.check(world.command(&model.base(), &[]), 3);
    let requests = model.requests();
    assert_eq!(requests.len(), 3);
    for request in &requests {
        assert_eq!(Dialect::of(request), Some(agent.dialect));
        assert_eq!(super::models::streamed::is_asked(request), agent.is_streamed);
        let has_key = |value: &String| KEYS.iter().any(|(_, key)| value.ends_with(key));
        assert!(request.headers.values().any(has_key), "the key does not pass through");
    }
    world.reruns();
}

#[test]
fn python_with_the_openai_and_mcp_packages() {
    records(&OPENAI);
}

#[test]
fn node_with_the_openai_and_mcp_packages() {
    records(&OPENAI_NODE);
}

#[test]
fn the_ai_sdk() {
    records(&AI_SDK);
}

#[test]
fn the_openai_agents_sdk() {
    records(&OPENAI_AGENTS);
}

#[test]
fn pydantic_ai() {
    records(&PYDANTIC_AI);
}

#[test]
fn langgraph_over_the_shim() {
    records(&LANGGRAPH);
}

#[test]
fn the_anthropic_sdk() {
    records(&ANTHROPIC);
}

#[test]
fn the_google_genai_sdk() {
    records(&GOOGLE_GENAI);
}

/// One server speaks the modern era of the protocol and the other one the legacy era.
#[test]
fn calls_of_two_servers_belong_to_the_right_one() {
    let (Some(world), Some(time), Some(sqlite)) = (World::new(&PYDANTIC_AI), TIME.folder(), SQLITE.folder()) else {
        return;
    };
    let (create, select) = ("CREATE TABLE shops (name TEXT)", "SELECT count(*) AS shops FROM shops");
    let model = Loopback::start(move |request, _| {
        answer(request, |answered| match answered {
            0 => Turn {
                text: None,
                calls: vec![
                    ("notes_create_table".into(), json!({ "query": create })),
                    (
                        "clock_convert_time".into(),
                        json!({ "source_timezone": "Etc/UTC", "time": "25:00", "target_timezone": "Etc/UTC" }),
                    ),
                ],
            },
            2 => Turn { text: None, calls: vec![("notes_read_query".into(), json!({ "query": select }))] },
            _ => Turn::text(LAST),
        })
    });
    let clock = format!("clock={}", time.join("bin/mcp-server-time").display());
    let notes = format!("notes={} --db-path notes.db", sqlite.join("bin/mcp-server-sqlite").display());
    let output = world.finish(world.command(&model.base(), &["--server", &clock, "--server", &notes]));
    assert!(output.status.success(), "{}", err(&output));
    let trace = world.trace();
    let call = |at: usize, name: &str, server: &str, args: Value| json!({ "name": name, "server": server, "args": args, "witness": "both", "id": format!("call_{at}") });
    let time = json!({ "source_timezone": "Etc/UTC", "time": "25:00", "target_timezone": "Etc/UTC" });
    let calls = json!([
        call(1, "create_table", "notes", json!({ "query": create })),
        call(2, "convert_time", "clock", time),
        call(3, "read_query", "notes", json!({ "query": select })),
    ]);
    assert_eq!(without(&trace["tool_calls"], "turn"), calls, "{trace:#}");
    let status: Vec<&Value> =
        trace["tool_results"].as_array().unwrap().iter().map(|result| &result["is_error"]).collect();
    assert_eq!(status, [false, true, false], "{trace:#}");
    assert_eq!(trace["tool_results"][2]["content"], json!([{ "type": "text", "text": "[{'shops': 0}]" }]));
    let discovered = |server: &str| {
        let entries = trace["program"]["timeline"].as_array().unwrap();
        entries
            .iter()
            .any(|entry| entry["server"] == server && entry["what"] == "server/discover" && entry["status"] == "ok")
    };
    assert_eq!((discovered("clock"), discovered("notes")), (true, false), "{trace:#}");
}

#[test]
fn an_agent_that_is_rate_limited_retries_and_the_trace_is_the_same() {
    let Some(world) = World::new(&OPENAI) else { return };
    let model = Loopback::start(|request, count| match count {
        2 => Answer::status(429, "retry-after: 0\r\n", r#"{"error":{"message":"slow down"}}"#),
        _ => reply(request, ""),
    });
    world.check(world.command(&model.base(), &[]), 4);
    assert_eq!(model.requests().len(), 4);
}

#[test]
fn the_excerpts_in_the_guide_are_those_of_the_agents() {
    let guide = fs::read_to_string(root().join("docs/your-agent.md")).unwrap();
    let agents: Vec<String> = fs::read_dir(sources())
        .unwrap()
        .map(|entry| fs::read_to_string(entry.unwrap().path()).unwrap().replace("everything", "shop"))
        .map(|text| text.replace("EVERYTHING", "SHOP"))
        .collect();
    let lines = |text: &str| text.lines().map(str::trim).map(str::to_owned).collect::<Vec<_>>();
    let mut count = 0;
    for block in guide.split("\n```").skip(1).step_by(2) {
        let Some((language, code)) = block.split_once('\n') else { continue };
        if matches!(language, "python" | "typescript") {
            let code = lines(code);
            let is_shown = |agent: &String| {
                let mut agent = lines(agent).into_iter();
                code.iter().all(|line| agent.any(|other| other == *line))
            };
            assert!(agents.iter().any(is_shown), "no agent has {code:#?}");
            count += 1;
        }
    }
    assert_eq!(count, 8);
}
