//! The loop of model and tools as a state machine: it returns the next step and takes its result. It does no I/O, knows no
//! provider and no protocol, and builds the trace.

use mcptest_core::json;
use mcptest_core::ledger::error_result;
use mcptest_core::suite::AgentTest;
use mcptest_core::trace::{
    Conversation, ErrorKind, LazyText, Role, StopReason, Tokens, ToolCall, ToolResult, Trace, Turn,
};
use serde_json::{Map, Value, json};

use crate::catalog::Catalog;

/// How much of an unknown tool name is sent back to the model.
const SHOWN: usize = 200;

#[derive(Debug, Clone, PartialEq, Default)]
pub struct Reply {
    /// Its text blocks; empty for a reply without text.
    pub texts: Vec<String>,
    /// The calls it requests, in order.
    pub calls: Vec<RequestedCall>,
    pub tokens: Tokens,
    pub stop: Stop,
    /// The reply as received, to send it back to the provider.
    pub raw: Value,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Stop {
    #[default]
    End,
    /// It continues when it is sent back.
    Pause,
    /// It reached its token limit.
    MaxTokens,
    Refused,
}

/// A call that a model requests.
#[derive(Debug, Clone, PartialEq)]
pub struct RequestedCall {
    pub id: String,
    /// The tool, under its wire name.
    pub wire: String,
    pub args: RequestedArgs,
    /// The caller, as received.
    pub caller: Option<Value>,
}

/// Arguments as a model wrote them.
#[derive(Debug, Clone, PartialEq)]
pub enum RequestedArgs {
    Object(Map<String, Value>),
    /// Text that is not a JSON object, and why.
    Unreadable {
        text: String,
        /// What is wrong with it.
        why: String,
    },
}

/// A reply, and the answers to its calls.
#[derive(Debug, Clone, PartialEq)]
pub struct Exchange {
    pub reply: Reply,
    /// Answers to its calls, in their order.
    pub results: Vec<ToolResult>,
}

/// A call to be made now.
#[derive(Debug, Clone, PartialEq)]
pub struct Dispatch {
    pub server: String,
    pub tool: String,
    pub args: Map<String, Value>,
}

#[derive(Debug, Clone, PartialEq)]
pub enum Step {
    /// Call the model with the conversation so far.
    Ask,
    /// Make these calls in parallel, and return one answer each, in this order.
    Call(Vec<Dispatch>),
    Done,
}

#[derive(Debug, Clone)]
pub struct Agent<'a> {
    catalog: &'a Catalog,
    max_turns: u64,
    exchanges: Vec<Exchange>,
    /// Calls of the current reply, with the answers that are known without a server.
    open: Vec<Option<ToolResult>>,
    calls: Vec<ToolCall>,
    results: Vec<ToolResult>,
    turns: Vec<Turn>,
    tokens: Tokens,
    stop: Option<StopReason>,
}

impl<'a> Agent<'a> {
    pub fn new(test: &AgentTest, catalog: &'a Catalog) -> Self {
        Self {
            catalog,
            max_turns: test.max_turns,
            exchanges: Vec::new(),
            open: Vec::new(),
            calls: Vec::new(),
            results: Vec::new(),
            turns: vec![Turn { role: Role::User, content: Some(test.prompt.as_str().into()) }],
            tokens: Tokens::default(),
            stop: None,
        }
    }

    /// The exchanges so far, after the prompt.
    pub fn exchanges(&self) -> &[Exchange] {
        &self.exchanges
    }

    /// Every answer so far, in the order of the calls.
    pub fn results(&self) -> &[ToolResult] {
        &self.results
    }

    pub fn replied(&mut self, reply: Reply) -> Step {
        let first = self.exchanges.is_empty();
        let count = |so_far: Option<u64>, more: Option<u64>| match (so_far, more) {
            // One reply without a count makes the total unknown.
            (Some(so_far), Some(more)) => Some(so_far.saturating_add(more)),
            (None, more) if first => more,
            _ => None,
        };
        self.tokens = Tokens {
            input: count(self.tokens.input, reply.tokens.input),
            output: count(self.tokens.output, reply.tokens.output),
            cached: count(self.tokens.cached, reply.tokens.cached),
            total: count(self.tokens.total, reply.tokens.total),
        };
        let content = (!reply.texts.is_empty()).then(|| reply.texts.join("\n"));
        self.turns.push(Turn { role: Role::Assistant, content: content.map(LazyText::from) });
        let turn = self.turns.len() - 1;
        // In a truncated reply a call may be incomplete.
        let unsent = match reply.stop {
            Stop::MaxTokens => Some("not sent: the reply was cut at its token limit, so the call may be incomplete"),
            Stop::Refused => Some("not sent: the reply ended in a refusal, so the call may be incomplete"),
            Stop::End | Stop::Pause => None,
        };
        let mut dispatch = Vec::new();
        self.open.clear();
        for wanted in &reply.calls {
            let known = self.catalog.by_wire(&wanted.wire);
            self.calls.push(ToolCall {
                name: known
                    .map_or_else(|| self.catalog.without_prefix(&wanted.wire), |offered| &offered.tool.name)
                    .to_owned(),
                server: Some(known.map_or_else(String::new, |offered| offered.server.clone())),
                args: Some(match &wanted.args {
                    RequestedArgs::Object(map) => Value::Object(map.clone()),
                    RequestedArgs::Unreadable { text, .. } => Value::String(text.clone()),
                }),
                caller: wanted.caller.clone().filter(|caller| caller.get("type") != Some(&json!("direct"))),
                id: Some(wanted.id.clone()).filter(|id| !id.is_empty()),
                turn: Some(turn),
                ..ToolCall::default()
            });
            let answer = match (&wanted.args, known) {
                _ if unsent.is_some() => unsent.map(refusal),
                (_, None) if wanted.wire.is_empty() => Some(refusal("the call names no tool")),
                (_, None) => Some(refusal(&format!("unknown tool: {}", json::cut(&wanted.wire, SHOWN)))),
                (RequestedArgs::Unreadable { why, .. }, _) => {
                    Some(refusal(&format!("the arguments are not a JSON object: {why}")))
                }
                (RequestedArgs::Object(args), Some(offered)) => {
                    dispatch.push(Dispatch {
                        server: offered.server.clone(),
                        tool: offered.tool.name.clone(),
                        args: args.clone(),
                    });
                    None
                }
            };
            self.open.push(answer);
        }
        let stop = reply.stop;
        let wants_calls = !reply.calls.is_empty();
        self.exchanges.push(Exchange { reply, results: Vec::new() });
        match stop {
            Stop::MaxTokens => self.stop = Some(StopReason::MaxTokens),
            Stop::Refused => self.stop = Some(StopReason::Refused),
            Stop::End if !wants_calls => self.stop = Some(StopReason::Completed),
            Stop::End | Stop::Pause => {}
        }
        if dispatch.is_empty() { self.answered(Vec::new()) } else { Step::Call(dispatch) }
    }

    /// Takes the answers to the calls of the last step.
    pub fn answered(&mut self, answers: Vec<ToolResult>) -> Step {
        let mut answers = answers.into_iter();
        let open = std::mem::take(&mut self.open);
        let results: Vec<ToolResult> = open
            .into_iter()
            .map(|known| known.or_else(|| answers.next()).unwrap_or_else(|| refusal("no answer")))
            .collect();
        for result in &results {
            self.turns.push(Turn { role: Role::Tool, content: result.text() });
        }
        self.results.extend(results.iter().cloned());
        if let Some(last) = self.exchanges.last_mut() {
            last.results = results;
        }
        if self.stop.is_none() && self.exchanges.len() as u64 >= self.max_turns {
            self.stop = Some(StopReason::MaxTurns);
        }
        if self.stop.is_some() { Step::Done } else { Step::Ask }
    }

    /// The trace of the run.
    pub fn into_trace(self, model: &str) -> Trace {
        let last = self.turns.iter().rev().find(|turn| turn.role == Role::Assistant);
        Trace {
            final_response: Some(last.and_then(|turn| turn.content.clone()).unwrap_or_default()),
            tool_calls: Some(self.calls),
            tool_results: Some(self.results.into_iter().map(Some).collect()),
            conversation: Conversation {
                model: Some(model.to_owned()),
                turns: Some(self.turns),
                // Suites assert on the total, so it is set whenever it is known.
                tokens: Tokens { total: self.tokens.spent(), ..self.tokens },
                stop_reason: Some(self.stop.unwrap_or(StopReason::Error)),
                duration_ms: None,
            },
            ..Trace::default()
        }
    }
}

/// An error result for a call that was not sent.
fn refusal(message: &str) -> ToolResult {
    error_result(ErrorKind::Tool, None, message)
}
