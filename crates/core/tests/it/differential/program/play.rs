//! Plays a script: what passes on the wire, and what the trace of it must be.

use std::collections::{BTreeMap, VecDeque};

use mcptest_core::ledger::{Body, End, Entry, Interface, Ledger, Mcp, Message, Request, Response, Side, What};
use mcptest_core::trace::{
    AnswerSource, CallError, Conversation, ErrorKind, Program, Role, Shown, StopReason, Tokens, ToolCall, ToolResult,
    Trace, Turn, Witness,
};
use serde_json::{Value, json};

use super::super::Rng;
use super::script::{Agent, Answer, ClientFault, Does, Meta, OWN_TOOL, Reported, Script, Style, TOOLS, Target};
use super::wire::{self, Reply, ReplyCall};

pub(super) struct Played {
    pub(super) ledger: Ledger,
    pub(super) truth: Trace,
}

/// A call of the true trace, with what orders it.
struct True {
    order: (u64, usize),
    call: ToolCall,
    result: Option<ToolResult>,
    retry_of: Option<usize>,
}

struct Stage<'s, 'r> {
    script: &'s Script,
    rng: &'r mut Rng,
    ledger: Ledger,
    ms: u64,
    exchanges: u64,
    next_id: u64,
    calls: Vec<True>,
    /// The id, the entry and the time of the latest try of each call.
    sent: BTreeMap<usize, (u64, u64, u64)>,
    turns: Vec<Turn>,
    spent: Vec<Option<(u64, u64)>>,
    last_text: String,
}

/// An agent on its way.
struct Actor<'s> {
    agent: &'s Agent,
    turn: usize,
    trouble: usize,
    messages: Vec<Value>,
    /// The part of them that a request sends that names its predecessor.
    fresh: Vec<Value>,
    previous: Option<String>,
    phase: Phase,
    /// What the next reply adds to the turns of the trace, before itself.
    added: Vec<Turn>,
}

enum Phase {
    Ask,
    Wait(u64),
    Act(Vec<VecDeque<Action>>),
    Done,
}

enum Action {
    Send { target: Target, args: Value, meta: Option<String>, index: usize },
    Receive { target: Target, args: Value, answer: Answer, index: usize },
}

pub(super) fn play(script: &Script, rng: &mut Rng) -> Played {
    let mut stage = Stage {
        script,
        rng,
        ledger: Ledger {
            servers: script.servers.iter().map(|server| server.name.to_owned()).collect(),
            ..Ledger::default()
        },
        ms: 0,
        exchanges: 0,
        next_id: 0,
        calls: Vec::new(),
        sent: BTreeMap::new(),
        turns: Vec::new(),
        spent: Vec::new(),
        last_text: String::new(),
    };
    stage.connect();
    for target in &script.own_calls {
        stage.own_call(target);
    }
    let mut actors: Vec<Actor<'_>> = script
        .agents
        .iter()
        .map(|agent| {
            let prompt = wire::user(script.interface, &agent.prompt);
            Actor {
                agent,
                turn: 0,
                trouble: 0,
                messages: vec![prompt.clone()],
                fresh: vec![prompt],
                previous: None,
                phase: Phase::Ask,
                added: vec![Turn { role: Role::User, content: Some(agent.prompt.as_str().into()) }],
            }
        })
        .collect();
    loop {
        let alive: Vec<usize> = (0..actors.len()).filter(|at| !matches!(actors[*at].phase, Phase::Done)).collect();
        if alive.is_empty() {
            break;
        }
        let at = stage.rng.pick(&alive);
        stage.advance(&mut actors[at]);
        if stage.rng.chance(3) {
            stage.embed();
        }
    }
    stage.finish()
}

fn text_result(text: &str, is_error: Option<bool>) -> ToolResult {
    let error = (is_error == Some(true))
        .then(|| Box::new(CallError { kind: ErrorKind::Tool, code: None, message: text.to_owned() }));
    let content = Some(vec![json!({ "type": "text", "text": text }).into()]);
    ToolResult { is_error, content, error, ..ToolResult::default() }
}

fn failed(kind: ErrorKind, code: Option<i64>, message: &str) -> ToolResult {
    let error = Some(Box::new(CallError { kind, code, message: message.to_owned() }));
    ToolResult { error, ..text_result(message, Some(true)) }
}

impl Answer {
    fn text(&self) -> Option<String> {
        match self {
            Self::Text(text) | Self::Error(text) => Some(text.clone()),
            Self::Structured(value) => Some(value.to_string()),
            _ => None,
        }
    }

    fn result(&self) -> Option<ToolResult> {
        Some(match self {
            Self::Text(text) => text_result(text, Some(false)),
            Self::Structured(value) => {
                let result = text_result(&value.to_string(), Some(false));
                ToolResult { structured_content: Some(value.clone().into()), ..result }
            }
            Self::Error(text) => text_result(text, Some(true)),
            Self::Jsonrpc(code, message) => failed(ErrorKind::Jsonrpc, Some(*code), message),
            Self::Status(status) => {
                let message = format!("the server answered HTTP status {status}");
                failed(ErrorKind::Http, Some(i64::from(*status)), &message)
            }
            Self::Canceled => failed(ErrorKind::Timeout, None, "took too long"),
            Self::Broken(why) => failed(ErrorKind::Transport, None, why),
            Self::Silence => return None,
        })
    }
}

impl Stage<'_, '_> {
    fn enter(&mut self, what: What) -> u64 {
        self.ms += self.rng.below(20) as u64;
        let seq = self.ledger.entries.len() as u64;
        self.ledger.entries.push(Entry { seq, ms: self.ms, what });
        seq
    }

    fn mcp(&mut self, server: usize, from: Side, message: Message, reply_to: Option<u64>) -> u64 {
        let plan = &self.script.servers[server];
        let reply_to = reply_to.filter(|_| plan.is_http);
        let server_name = plan.name.to_owned();
        self.enter(What::Mcp(Mcp {
            server: server_name,
            connection: server as u64,
            from,
            message,
            reply_to,
            status: None,
        }))
    }

    fn id(&mut self) -> u64 {
        self.next_id += 1;
        self.next_id
    }

    fn connect(&mut self) {
        for server in 0..self.script.servers.len() {
            for (method, result) in [
                ("initialize", json!({ "serverInfo": { "name": "x" } })),
                (
                    "tools/list",
                    json!({ "tools": TOOLS.iter().chain([&OWN_TOOL]).map(|name| json!({ "name": name })).collect::<Vec<_>>() }),
                ),
            ] {
                let id = self.id();
                let request = json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": {} });
                let seq = self.mcp(server, Side::Program, Message::Json(request), None);
                let reply = json!({ "jsonrpc": "2.0", "id": id, "result": result });
                self.mcp(server, Side::Server, Message::Json(reply), Some(seq));
            }
        }
    }

    fn send(&mut self, target: &Target, args: &Value, meta: Option<&str>) -> (u64, u64) {
        let id = self.id();
        let mut params = json!({ "name": target.tool, "arguments": args });
        match (self.script.meta, meta) {
            (Meta::ClaudeCode, Some(call)) => {
                params["_meta"] = json!({ "claudecode/toolUseId": call, "progressToken": id });
            }
            (Meta::Codex, Some(call)) => params["_meta"] = json!({ "callId": call }),
            (Meta::Progress, _) => params["_meta"] = json!({ "progressToken": format!("p{id}") }),
            _ => {}
        }
        let message = json!({ "jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params });
        (id, self.mcp(target.server, Side::Program, Message::Json(message), None))
    }

    fn receive(&mut self, server: usize, id: u64, seq: u64, answer: &Answer) {
        let reply = |body: Value| {
            let mut out = json!({ "jsonrpc": "2.0", "id": id });
            out.as_object_mut().unwrap().extend(body.as_object().unwrap().clone());
            Message::Json(out)
        };
        let text = |text: &str| json!([{ "type": "text", "text": text }]);
        let message = match answer {
            Answer::Text(message) => reply(json!({ "result": { "content": text(message) } })),
            Answer::Structured(value) => reply(
                json!({ "result": { "content": text(&value.to_string()), "structuredContent": value, "isError": false } }),
            ),
            Answer::Error(message) => reply(json!({ "result": { "content": text(message), "isError": true } })),
            Answer::Jsonrpc(code, message) => reply(json!({ "error": { "code": code, "message": message } })),
            Answer::Status(status) => Message::Status(*status),
            Answer::Broken(why) => Message::End(why.clone()),
            Answer::Canceled => {
                let params = json!({ "requestId": id, "reason": "took too long" });
                let cancel = json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": params });
                self.mcp(server, Side::Program, Message::Json(cancel), None);
                // Too late to count.
                if self.rng.chance(50) {
                    let late = reply(json!({ "result": { "content": text("late") } }));
                    self.mcp(server, Side::Server, late, Some(seq));
                }
                return;
            }
            Answer::Silence => return,
        };
        self.mcp(server, Side::Server, message, Some(seq));
    }

    /// A call of the program alone.
    fn own_call(&mut self, target: &Target) {
        let (id, seq) = self.send(target, &target.args, None);
        let started = self.ms;
        let answer = Answer::Text(format!("own {id}"));
        self.receive(target.server, id, seq, &answer);
        let duration_ms = Some(self.ms - started);
        let result = answer.result().map(|result| ToolResult { duration_ms, ..result });
        self.calls.push(True {
            order: (seq, usize::MAX),
            call: ToolCall {
                caller: Some(json!({ "type": "program" })),
                witness: Some(Witness::Mcp),
                ..self.executed(target, &target.args)
            },
            result,
            retry_of: None,
        });
    }

    fn executed(&self, target: &Target, args: &Value) -> ToolCall {
        ToolCall {
            name: target.tool.to_owned(),
            server: Some(self.script.servers[target.server].name.to_owned()),
            args: Some(args.clone()),
            ..ToolCall::default()
        }
    }

    /// A path that is not one of the four interfaces.
    fn embed(&mut self) {
        let exchange = self.exchanges;
        self.exchanges += 1;
        let body = Body::Json { rest: json!({ "input": "x" }), parts: BTreeMap::new() };
        let (method, path) = ("POST".to_owned(), "/v1/embeddings".to_owned());
        self.enter(What::Request(Request { exchange, interface: None, method, path, query: None, body: body.clone() }));
        let headers = BTreeMap::new();
        let response = Response { exchange, first_ms: self.ms, status: Some(200), headers, body, end: End::Complete };
        self.enter(What::Response(response));
    }

    fn advance(&mut self, actor: &mut Actor<'_>) {
        match std::mem::replace(&mut actor.phase, Phase::Done) {
            Phase::Ask => actor.phase = Phase::Wait(self.ask(actor)),
            Phase::Wait(exchange) => actor.phase = self.reply(actor, exchange),
            Phase::Act(mut threads) => {
                let waiting: Vec<usize> = (0..threads.len()).filter(|at| !threads[*at].is_empty()).collect();
                if waiting.is_empty() {
                    self.tell(actor);
                    actor.turn += 1;
                    actor.trouble = 0;
                    actor.phase = if actor.turn < actor.agent.turns.len() { Phase::Ask } else { Phase::Done };
                    return;
                }
                let at = self.rng.pick(&waiting);
                self.act(&mut threads[at]);
                actor.phase = Phase::Act(threads);
            }
            Phase::Done => {}
        }
    }

    fn ask(&mut self, actor: &Actor<'_>) -> u64 {
        let script = self.script;
        let exchange = self.exchanges;
        self.exchanges += 1;
        let turn = &actor.agent.turns[actor.turn];
        let tools: Vec<String> = if actor.agent.has_tools {
            let servers = 0..script.servers.len();
            let all = servers.flat_map(|server| TOOLS.iter().map(move |tool| script.wire_name(server, tool).0));
            all.chain(["read_file".to_owned(), "run_shell".to_owned()]).collect()
        } else {
            Vec::new()
        };
        let messages = if actor.previous.is_some() { &actor.fresh } else { &actor.messages };
        let body = wire::request(script.interface, messages, &tools, actor.previous.as_deref(), turn.is_streamed);
        let body = Body::json(body, Some(script.interface), &mut self.ledger.blobs);
        let path = wire::path(script.interface, turn.is_streamed).to_owned();
        let (interface, method) = (Some(script.interface), "POST".to_owned());
        self.enter(What::Request(Request { exchange, interface, method, path, query: None, body }));
        exchange
    }

    fn respond(&mut self, exchange: u64, status: Option<u16>, body: Body, end: End) -> u64 {
        let headers = BTreeMap::new();
        self.enter(What::Response(Response { exchange, first_ms: self.ms, status, headers, body, end }))
    }

    fn model_reply(&self, actor: &Actor<'_>, prefix: &str) -> Reply {
        let turn = &actor.agent.turns[actor.turn];
        let asked = |call: &super::script::Call| {
            let id = Some(format!("{prefix}{}", call.id)).filter(|_| self.script.has_ids);
            let plain = |name: &str, args: &Value| ReplyCall {
                id: id.clone(),
                name: name.to_owned(),
                namespace: None,
                args: args.clone(),
                provider: None,
            };
            match &call.does {
                Does::Execute { target, .. } | Does::Refuse { target, .. } => {
                    let (name, namespace) = self.script.wire_name(target.server, target.tool);
                    ReplyCall { namespace, ..plain(&name, &target.args) }
                }
                Does::Own { name, args, .. } => plain(name, args),
                Does::Provider { args, text } => {
                    let id =
                        Some(format!("{prefix}{}", call.id)).filter(|_| self.script.interface != Interface::Gemini);
                    ReplyCall { id, provider: Some(text.clone()), ..plain(self.script.provider_tool(), args) }
                }
            }
        };
        Reply {
            id: format!("reply_{}_{}", actor.agent.prompt.replace(' ', "_"), actor.turn),
            text: turn.text.clone(),
            calls: turn.calls.iter().map(asked).collect(),
            usage: turn.usage,
        }
    }

    /// A response that is not a reply, or only part of one.
    fn fail(&mut self, actor: &Actor<'_>, exchange: u64, trouble: ClientFault) {
        let interface = self.script.interface;
        match trouble {
            ClientFault::Status(status) => {
                let body = Body::Json { rest: json!({ "error": { "message": "busy" } }), parts: BTreeMap::new() };
                self.respond(exchange, Some(status), body, End::Complete);
            }
            ClientFault::Unreachable => {
                self.respond(exchange, None, Body::Empty, End::Upstream("refused".to_owned()));
            }
            ClientFault::Cut => {
                let mut reply = Reply { usage: None, ..self.model_reply(actor, "cut_") };
                // Those would have been made.
                reply.calls.retain(|call| call.provider.is_none());
                let events = loop {
                    if let Body::Events(events) = wire::streamed(interface, &reply, self.rng) {
                        break events;
                    }
                };
                let last = match interface {
                    Interface::OpenaiChat | Interface::Anthropic => events.len() - 2,
                    Interface::OpenaiResponses | Interface::Gemini => events.len() - 1,
                };
                let count = 1 + self.rng.below(last.max(2) - 1);
                let body = Body::Events(events[..count.min(last)].to_vec());
                self.respond(exchange, Some(200), body, End::Upstream("reset".to_owned()));
                if count.min(last) > 0 {
                    self.spent.push(None);
                }
            }
        }
    }

    fn reply(&mut self, actor: &mut Actor<'_>, exchange: u64) -> Phase {
        let turn = &actor.agent.turns[actor.turn];
        let interface = self.script.interface;
        if let Some(trouble) = turn.before.get(actor.trouble) {
            actor.trouble += 1;
            self.fail(actor, exchange, *trouble);
            return Phase::Ask;
        }
        let reply = self.model_reply(actor, "");
        let body =
            if turn.is_streamed { wire::streamed(interface, &reply, self.rng) } else { wire::plain(interface, &reply) };
        let seq = self.respond(exchange, Some(200), body, End::Complete);
        self.spent.push(turn.usage);
        if self.script.is_stateful {
            actor.previous = Some(reply.id.clone());
        }
        actor.fresh.clear();
        actor.messages.extend(wire::echo(interface, &self.repeated_reply(actor)));
        if actor.agent.has_tools {
            self.turns.append(&mut actor.added);
            self.last_text = turn.text.clone().unwrap_or_default();
            self.turns.push(Turn { role: Role::Assistant, content: turn.text.as_deref().map(Into::into) });
        }
        let mut threads = Vec::new();
        for (at, (call, asked)) in turn.calls.iter().zip(&reply.calls).enumerate() {
            let index = self.calls.len();
            let common = ToolCall {
                name: asked.name.clone(),
                server: Some(String::new()),
                args: Some(asked.args.clone()),
                id: asked.id.clone(),
                turn: Some(self.turns.len() - 1),
                witness: Some(Witness::Model),
                ..ToolCall::default()
            };
            let (call, result) = match &call.does {
                Does::Execute { target, sent, tries, .. } => {
                    let args = sent.as_ref().unwrap_or(&target.args);
                    let meta = asked.id.clone();
                    let mut thread = VecDeque::new();
                    for answer in tries {
                        let (target, args, meta) = (target.clone(), args.clone(), meta.clone());
                        let answer = answer.clone();
                        thread.push_back(Action::Send { target: target.clone(), args: args.clone(), meta, index });
                        thread.push_back(Action::Receive { target, args, answer, index });
                    }
                    threads.push(thread);
                    let call = ToolCall {
                        asked_args: sent.as_ref().map(|_| target.args.clone()),
                        id: common.id,
                        turn: common.turn,
                        witness: Some(Witness::Both),
                        ..self.executed(target, args)
                    };
                    (call, None)
                }
                Does::Refuse { target, text } => {
                    let call = ToolCall {
                        id: common.id,
                        turn: common.turn,
                        witness: common.witness,
                        ..self.executed(target, &target.args)
                    };
                    let result = failed(ErrorKind::Refused, None, text);
                    (call, Some(ToolResult { content: Some(Vec::new()), ..result }))
                }
                Does::Own { text, is_error, .. } => {
                    let is_error = (interface == Interface::Anthropic).then_some(*is_error);
                    (common, Some(text_result(text, is_error)))
                }
                Does::Provider { text, .. } => (common, Some(self.script.provider_result(text))),
            };
            self.calls.push(True { order: (seq, at), call, result, retry_of: None });
        }
        // Threads of equal calls must not change places: the first is the first.
        if threads.len() > 1 && has_equal_calls(turn) {
            let all = threads.into_iter().flatten().collect();
            threads = vec![all];
        }
        Phase::Act(threads)
    }

    /// The next step of a call.
    fn act(&mut self, thread: &mut VecDeque<Action>) {
        let (target, args, answer, index) = match thread.pop_front() {
            Some(Action::Send { target, args, meta, index }) => {
                let (id, seq) = self.send(&target, &args, meta.as_deref());
                self.sent.insert(index, (id, seq, self.ms));
                return;
            }
            Some(Action::Receive { target, args, answer, index }) => (target, args, answer, index),
            None => return,
        };
        let (id, seq, started) = self.sent[&index];
        self.receive(target.server, id, seq, &answer);
        let duration = match answer {
            Answer::Canceled => {
                // The late answer does not count.
                let entry = self
                    .ledger
                    .entries
                    .iter()
                    .rev()
                    .find(|entry| matches!(&entry.what, What::Mcp(mcp) if mcp.from == Side::Program));
                entry.unwrap().ms - started
            }
            _ => self.ms - started,
        };
        let result = answer.result().map(|result| ToolResult { duration_ms: Some(duration), ..result });
        let is_first = self.calls[index].call.caller.is_none() && !self.has_try(index);
        if is_first {
            self.calls[index].result = result;
            self.calls[index].retry_of = Some(usize::MAX);
            return;
        }
        self.calls.push(True {
            order: (seq, usize::MAX),
            call: ToolCall {
                caller: Some(json!({ "type": "program" })),
                turn: self.calls[index].call.turn,
                witness: Some(Witness::Mcp),
                ..self.executed(&target, &args)
            },
            result,
            retry_of: Some(index),
        });
    }

    /// Whether a call was tried. Calls that were are marked as repetitions of nothing.
    fn has_try(&self, index: usize) -> bool {
        self.calls[index].retry_of == Some(usize::MAX)
    }

    /// A reply as the client repeats it. Gemini's CLI gives ids to calls that had none.
    fn repeated_reply(&self, actor: &Actor<'_>) -> Reply {
        let mut reply = self.model_reply(actor, "");
        if self.script.adds_ids && !self.script.has_ids {
            for (asked, call) in reply.calls.iter_mut().zip(&actor.agent.turns[actor.turn].calls) {
                asked.id = asked.provider.is_none().then(|| format!("own_{}", call.id));
            }
        }
        reply
    }

    /// What the program shows the model after a turn.
    fn tell(&mut self, actor: &mut Actor<'_>) {
        let turn = &actor.agent.turns[actor.turn];
        let reply = self.model_reply(actor, "");
        if let Some(target) = &turn.own_call {
            self.own_call(target);
        }
        let mut reported = Vec::new();
        let back = self.repeated_reply(actor);
        for ((call, asked), back) in turn.calls.iter().zip(&reply.calls).zip(&back.calls) {
            let (text, shown, is_error) = match &call.does {
                Does::Execute { tries, reported, .. } => {
                    let last = tries.last().unwrap();
                    match last.text() {
                        None => ("The tool failed.".to_owned(), "The tool failed.".to_owned(), true),
                        Some(text) => {
                            let is_error = matches!(last, Answer::Error(_));
                            match reported {
                                Reported::Same => (text.clone(), text, is_error),
                                Reported::Wrapped => {
                                    (json!([{ "type": "text", "text": text }]).to_string(), text, is_error)
                                }
                                Reported::Around => {
                                    let around = format!("Wall time: 1 s\n{text}\nend");
                                    (around.clone(), around, is_error)
                                }
                                Reported::Other => {
                                    self.mark_other(asked, call);
                                    (
                                        "something else entirely".to_owned(),
                                        "something else entirely".to_owned(),
                                        is_error,
                                    )
                                }
                            }
                        }
                    }
                }
                Does::Refuse { text, .. } => (text.clone(), text.clone(), true),
                Does::Own { text, is_error, .. } => (text.clone(), text.clone(), *is_error),
                Does::Provider { .. } => continue,
            };
            actor.added.push(Turn { role: Role::Tool, content: Some(shown.into()) });
            let id = back.id.clone();
            reported.push(wire::Reported { id, name: asked.name.clone(), text, is_error });
        }
        let messages = wire::answers(self.script.interface, &reported);
        actor.messages.extend(messages.clone());
        actor.fresh = messages;
    }

    /// The last try of a call was not shown to the model.
    fn mark_other(&mut self, asked: &ReplyCall, call: &super::script::Call) {
        let Does::Execute { target, sent, .. } = &call.does else { return };
        let args = sent.as_ref().unwrap_or(&target.args);
        let is_this =
            |one: &True| one.call.id == asked.id && one.call.args.as_ref() == Some(args) && one.call.caller.is_none();
        let all: Vec<usize> = (0..self.calls.len()).filter(|at| is_this(&self.calls[*at])).collect();
        for index in all {
            let last = (0..self.calls.len()).rev().find(|at| self.calls[*at].retry_of == Some(index)).unwrap_or(index);
            if let Some(result) = &mut self.calls[last].result {
                result.shown = Some(Shown::Differs);
            }
        }
    }

    fn finish(self) -> Played {
        let mut order: Vec<usize> = (0..self.calls.len()).collect();
        order.sort_by_key(|at| self.calls[*at].order);
        let mut tool_calls = Vec::new();
        let mut tool_results = Vec::new();
        for at in &order {
            let one = &self.calls[*at];
            let retry_of = one.retry_of.filter(|of| *of != usize::MAX);
            let retry_of = retry_of.map(|of| order.iter().position(|place| *place == of).unwrap());
            tool_calls.push(ToolCall { retry_of, ..one.call.clone() });
            tool_results.push(one.result.clone());
        }
        let known: Option<Vec<(u64, u64)>> = self.spent.iter().copied().collect();
        let tokens = known.map_or_else(Tokens::default, |all| {
            let input: u64 = all.iter().map(|(input, _)| input).sum();
            let output: u64 = all.iter().map(|(_, output)| output).sum();
            let total = (self.script.interface != Interface::Anthropic).then_some(input + output);
            let cached = (self.script.interface == Interface::Gemini).then_some(0);
            Tokens { input: Some(input), output: Some(output), cached, total }
        });
        let (final_response, source) = match &self.script.answer {
            Some(answer) => (answer.trim_end().to_owned(), AnswerSource::Program),
            None => (self.last_text, AnswerSource::Model),
        };
        let truth = Trace {
            answer_source: Some(source),
            conversation: Conversation {
                duration_ms: self.ledger.entries.last().map(|entry| entry.ms),
                model: Some("m".to_owned()),
                stop_reason: Some(StopReason::Completed),
                tokens,
                turns: Some(self.turns),
            },
            final_response: Some(final_response.into()),
            program: Some(Box::new(Program { exit: Some(0), ..Program::default() })),
            tool_calls: Some(tool_calls),
            tool_results: Some(tool_results),
            ..Trace::default()
        };
        Played { ledger: self.ledger, truth }
    }
}

fn has_equal_calls(turn: &super::script::Turn) -> bool {
    let args: Vec<&Value> = turn
        .calls
        .iter()
        .filter_map(|call| if let Does::Execute { target, .. } = &call.does { Some(&target.args) } else { None })
        .collect();
    args.iter().enumerate().any(|(at, one)| args[..at].contains(one))
}

impl Script {
    /// The name of a tool in requests, and its namespace.
    fn wire_name(&self, server: usize, tool: &str) -> (String, Option<String>) {
        let clean = |text: &str| text.replace(|c: char| !c.is_ascii_alphanumeric() && c != '_' && c != '-', "_");
        let (server, tool) = (clean(self.servers[server].name), clean(tool));
        match self.style {
            Style::McpDouble => (format!("mcp__{server}__{tool}"), None),
            Style::Double => (format!("{server}__{tool}"), None),
            Style::McpSingle => (format!("mcp_{server}_{tool}"), None),
            Style::Single => (format!("{server}_{tool}"), None),
            Style::Plain => (tool, None),
            Style::Namespace => (tool, Some(format!("mcp__{server}"))),
        }
    }

    fn provider_tool(&self) -> &'static str {
        if self.interface == Interface::Gemini { "code_execution" } else { "web_search" }
    }

    fn provider_result(&self, text: &str) -> ToolResult {
        match self.interface {
            Interface::Anthropic => {
                let block = json!({ "type": "web_search_result", "title": text });
                text_result(&block.to_string(), Some(false))
            }
            Interface::Gemini => text_result(text, Some(false)),
            _ => ToolResult { is_error: Some(false), ..ToolResult::default() },
        }
    }
}
