//! What a program, its model and its servers do, by chance.

use mcptest_core::ledger::Interface;
use serde_json::{Value, json};

use super::super::Rng;

#[derive(Debug)]
pub(super) struct Script {
    pub(super) interface: Interface,
    pub(super) style: Style,
    pub(super) meta: Meta,
    /// Gemini's calls may have no ids.
    pub(super) has_ids: bool,
    /// The client gives ids to calls without one.
    pub(super) adds_ids: bool,
    /// Requests name the reply that they continue instead of repeating everything.
    pub(super) is_stateful: bool,
    pub(super) servers: Vec<Server>,
    pub(super) agents: Vec<Agent>,
    /// What the program calls on its own before anything else.
    pub(super) own_calls: Vec<Target>,
    pub(super) answer: Option<String>,
}

/// How the client names the tools of servers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Style {
    McpDouble,
    Double,
    McpSingle,
    Single,
    Plain,
    Namespace,
}

/// Where the client puts the id of the model's call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Meta {
    None,
    Progress,
    ClaudeCode,
    Codex,
}

#[derive(Debug)]
pub(super) struct Server {
    pub(super) name: &'static str,
    pub(super) is_http: bool,
}

pub(super) const TOOLS: [&str; 4] = ["refund_order", "find.order", "list-all", "get"];

/// Tools that the model never calls.
pub(super) const OWN_TOOL: &str = "sync";

#[derive(Debug, Clone)]
pub(super) struct Target {
    pub(super) server: usize,
    pub(super) tool: &'static str,
    pub(super) args: Value,
}

#[derive(Debug)]
pub(super) struct Agent {
    pub(super) prompt: String,
    /// A question on the side has none.
    pub(super) has_tools: bool,
    pub(super) turns: Vec<Turn>,
}

#[derive(Debug)]
pub(super) struct Turn {
    pub(super) text: Option<String>,
    pub(super) calls: Vec<Call>,
    pub(super) before: Vec<ClientFault>,
    /// What the program calls on its own after the reply.
    pub(super) own_call: Option<Target>,
    pub(super) usage: Option<(u64, u64)>,
    pub(super) is_streamed: bool,
}

/// What fails before the reply.
#[derive(Debug, Clone, Copy)]
pub(super) enum ClientFault {
    Status(u16),
    Unreachable,
    /// The reply breaks off in the middle of its text.
    Cut,
}

#[derive(Debug)]
pub(super) struct Call {
    pub(super) id: String,
    pub(super) does: Does,
}

#[derive(Debug)]
pub(super) enum Does {
    Execute {
        target: Target,
        /// What the client sends, if it differs from what the model requested.
        sent: Option<Value>,
        /// All but the last are repeated.
        tries: Vec<Answer>,
        reported: Reported,
    },
    Refuse {
        target: Target,
        text: String,
    },
    Own {
        name: &'static str,
        args: Value,
        text: String,
        is_error: bool,
    },
    /// A tool that the provider runs.
    Provider {
        args: Value,
        text: String,
    },
}

#[derive(Debug, Clone)]
pub(super) enum Answer {
    Text(String),
    Structured(Value),
    Error(String),
    Jsonrpc(i64, String),
    Status(u16),
    Canceled,
    Broken(String),
    Silence,
}

/// What the model is reported of an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Reported {
    Same,
    Wrapped,
    Around,
    Other,
}

pub(super) fn random(rng: &mut Rng) -> Script {
    let interface = rng.pick(Interface::ALL);
    let mut styles = vec![Style::McpDouble, Style::Double, Style::McpSingle, Style::Single];
    let server_count = 1 + rng.below(3);
    if server_count == 1 {
        styles.push(Style::Plain);
    }
    if interface == Interface::OpenaiResponses {
        styles.push(Style::Namespace);
    }
    let has_ids = interface != Interface::Gemini || rng.chance(50);
    let meta = if has_ids {
        rng.pick(&[Meta::None, Meta::Progress, Meta::ClaudeCode, Meta::Codex])
    } else {
        rng.pick(&[Meta::None, Meta::Progress])
    };
    let names = ["shop", "my-mail", "web.two"];
    let servers: Vec<Server> =
        names[..server_count].iter().map(|name| Server { name, is_http: rng.chance(50) }).collect();
    let agents = rng.below(3);
    let (is_alone, has_usage) = (agents == 0, rng.chance(85));
    let mut make = Make { counter: 0, interface, servers: &servers, meta, has_usage, is_alone };
    let agents = (0..=agents).map(|at| make.agent(rng, at)).collect();
    let own_calls = rng.several(2, |rng| make.target(rng, None));
    let answer = rng.maybe(60, |rng| rng.pick(&["Done.\n\n", "The sum is 5.", "", "Line\n  two  "]).to_owned());
    Script {
        interface,
        style: rng.pick(&styles),
        meta,
        has_ids,
        adds_ids: rng.chance(50),
        is_stateful: matches!(interface, Interface::OpenaiResponses | Interface::Anthropic) && rng.chance(40),
        agents,
        own_calls,
        answer,
        servers,
    }
}

struct Make<'s> {
    counter: u64,
    interface: Interface,
    servers: &'s [Server],
    meta: Meta,
    has_usage: bool,
    /// There is one agent.
    is_alone: bool,
}

impl Does {
    pub(super) fn target(&self) -> Option<(usize, &'static str)> {
        match self {
            Self::Execute { target, .. } | Self::Refuse { target, .. } => Some((target.server, target.tool)),
            _ => None,
        }
    }
}

impl Make<'_> {
    fn next(&mut self) -> u64 {
        self.counter += 1;
        self.counter
    }

    fn target(&mut self, rng: &mut Rng, tool: Option<&'static str>) -> Target {
        let number = self.next();
        let args = match rng.below(3) {
            0 => json!({ "n": number }),
            1 => json!({ "n": number, "text": "å \"x\"", "list": [1, { "deep": null }] }),
            _ => json!({ "id": format!("A-{number}"), "flag": true }),
        };
        Target { server: rng.below(self.servers.len()), tool: tool.unwrap_or_else(|| rng.pick(&TOOLS)), args }
    }

    fn agent(&mut self, rng: &mut Rng, at: usize) -> Agent {
        // The first agent has tools: without any, questions on the side would be the run.
        let has_tools = at == 0 || rng.chance(75);
        let mut turns = Vec::new();
        if has_tools {
            turns.extend((0..rng.below(4)).map(|_| self.turn(rng, true)).collect::<Vec<_>>());
        }
        turns.push(self.turn(rng, false));
        Agent { prompt: format!("Task {} of {at}", self.next()), has_tools, turns }
    }

    fn turn(&mut self, rng: &mut Rng, with_calls: bool) -> Turn {
        let calls = if with_calls { self.calls(rng) } else { Vec::new() };
        let number = self.next();
        let text = (!with_calls || rng.chance(50)).then(|| format!("Saying {number}: \"é\" and so on."));
        let before = if rng.chance(15) {
            vec![rng.pick(&[
                ClientFault::Status(429),
                ClientFault::Status(500),
                ClientFault::Unreachable,
                ClientFault::Cut,
            ])]
        } else {
            Vec::new()
        };
        Turn {
            text,
            own_call: if with_calls { rng.maybe(10, |rng| self.target(rng, Some(OWN_TOOL))) } else { None },
            calls,
            before,
            usage: (self.has_usage || rng.chance(70)).then(|| (rng.below(100) as u64, rng.below(50) as u64)),
            is_streamed: rng.chance(60),
        }
    }

    fn calls(&mut self, rng: &mut Rng) -> Vec<Call> {
        let mut out: Vec<Call> = Vec::new();
        for _ in 0..=rng.below(3) {
            let does = match rng.below(10) {
                0..=5 => self.execute(rng),
                6 | 7 => {
                    let target = self.target(rng, None);
                    Does::Refuse { target, text: "Permission was not granted.".to_owned() }
                }
                8 => Does::Own {
                    name: rng.pick(&["read_file", "run_shell"]),
                    args: json!({ "path": self.next() }),
                    text: format!("file {}", self.next()),
                    is_error: rng.chance(30),
                },
                _ if self.interface == Interface::OpenaiChat => continue,
                _ => Does::Provider { args: json!({ "query": self.next() }), text: format!("found {}", self.next()) },
            };
            out.push(Call { id: format!("call_{}", self.next()), does });
        }
        // Arguments that the client rewrites can be joined by an id or by order. By order only if nothing else of that tool
        // waits.
        let tools: Vec<(usize, &str)> = out.iter().filter_map(|call| call.does.target()).collect();
        for call in &mut out {
            if let Does::Execute { target, sent, .. } = &mut call.does {
                let same = tools.iter().filter(|tool| **tool == (target.server, target.tool)).count();
                if rng.chance(20) && (self.sends_ids() || (self.is_alone && same == 1)) {
                    *sent = Some(json!({ "rewritten": target.args }));
                }
            }
        }
        // The same call twice in one reply.
        if rng.chance(10)
            && let Some(Does::Execute { target, sent: None, tries, reported }) = out.last().map(|call| &call.does)
            && tries.len() == 1
            && !matches!(tries[0], Answer::Silence)
        {
            let does = Does::Execute { target: target.clone(), sent: None, tries: tries.clone(), reported: *reported };
            out.push(Call { id: format!("call_{}", self.next()), does });
        }
        out
    }

    fn sends_ids(&self) -> bool {
        matches!(self.meta, Meta::ClaudeCode | Meta::Codex)
    }

    fn execute(&mut self, rng: &mut Rng) -> Does {
        let target = self.target(rng, None);
        let is_http = self.servers[target.server].is_http;
        let mut sent = None;
        if rng.chance(20) {
            let mut more = target.args.clone();
            more["verbose"] = json!(false);
            more["limit"] = json!(10);
            sent = Some(more);
        }
        let mut tries: Vec<Answer> = Vec::new();
        while tries.len() < 2 && rng.chance(12) {
            tries.push(self.failure(rng, is_http));
        }
        tries.push(if rng.chance(75) { self.success(rng) } else { self.failure(rng, is_http) });
        Does::Execute {
            target,
            sent,
            tries,
            reported: rng.pick(&[Reported::Same, Reported::Same, Reported::Wrapped, Reported::Around, Reported::Other]),
        }
    }

    fn success(&mut self, rng: &mut Rng) -> Answer {
        let number = self.next();
        if rng.chance(30) {
            Answer::Structured(json!({ "total": number, "name": format!("row {number}") }))
        } else {
            Answer::Text(format!("answer number {number}: \"ok\""))
        }
    }

    fn failure(&mut self, rng: &mut Rng, is_http: bool) -> Answer {
        let number = self.next();
        match rng.below(if is_http { 6 } else { 4 }) {
            0 => Answer::Error(format!("no such order {number}")),
            1 => Answer::Jsonrpc(-32602, format!("wrong arguments {number}")),
            2 => Answer::Canceled,
            3 => Answer::Silence,
            4 => Answer::Status(503),
            _ => Answer::Broken(format!("reset {number}")),
        }
    }
}
