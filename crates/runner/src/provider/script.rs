//! The script provider: a file with the model's replies, for examples and tests. It needs no key and is used only if a suite
//! names it.

use mcptest_core::diag::{Code, RunError, Source};
use mcptest_core::keys::{Block, ValueType, key};
use mcptest_core::suite::yaml::{Content, Node};
use mcptest_core::suite::{Diagnostics, Loaded};
use mcptest_core::template::{Missing, Scope, Shape};
use mcptest_core::trace::{Tokens, ToolResult, Trace};
use mcptest_core::{json, redact};
use serde_json::{Map, Value};

use crate::agent::{Reply, RequestedArgs, RequestedCall, Stop};
use crate::catalog::Catalog;

/// The root of references in arguments.
const RESULTS: &str = "results";

pub static SCRIPT: Block = Block {
    name: "script",
    about: "What a scripted model answers, turn by turn.",
    keys: &[
        key("script", ValueType::OneOf(&[1]), "", "version of the format").required().example("1"),
        key(
            "runs",
            ValueType::List(1, &ValueType::Object(&RUN)),
            "",
            "one entry per run; after the last it starts over",
        )
        .required(),
    ],
};

pub static RUN: Block = Block {
    name: "scripted run",
    about: "The replies of one run.",
    keys: &[key("turns", ValueType::List(1, &ValueType::Object(&TURN)), "", "replies in order").required()],
};

pub static TURN: Block = Block {
    name: "scripted turn",
    about: "One reply: text, calls, or both.",
    keys: &[
        key("text", ValueType::Text, "", "text of the reply"),
        key("calls", ValueType::List(1, &ValueType::Object(&CALL)), "", "tools it calls, in parallel"),
        key("usage", ValueType::Object(&USAGE), "", "tokens of the reply"),
        key("stop", ValueType::Word(&["completed", "max_tokens", "refused"]), "completed", "why the reply ends"),
    ],
};

pub static CALL: Block = Block {
    name: "scripted call",
    about: "A call the model asks for.",
    keys: &[
        key("tool", ValueType::Text, "", "name of the tool; unknown tools are allowed").required(),
        key("server", ValueType::Text, "", "its server, if several have a tool with this name"),
        key(
            "args",
            ValueType::Any,
            "{}",
            "arguments; `${results[0].structured_content.id}` refers to an earlier result; text is sent unchanged",
        ),
        key("caller", ValueType::Any, "", "who makes the call, for calls from generated code"),
    ],
};

pub static USAGE: Block = Block {
    name: "usage",
    about: "Tokens of one reply.",
    keys: &[
        key("input", ValueType::Integer(0), "", "input tokens").required(),
        key("output", ValueType::Integer(0), "", "output tokens").required(),
    ],
};

#[derive(Debug, Clone, PartialEq)]
pub struct Script {
    runs: Vec<Vec<ScriptedTurn>>,
    /// SHA-256 of the file.
    pub hash: String,
}

#[derive(Debug, Clone, PartialEq)]
struct ScriptedTurn {
    text: Option<String>,
    calls: Vec<ScriptedCall>,
    tokens: Tokens,
    stop: Stop,
}

#[derive(Debug, Clone, PartialEq)]
struct ScriptedCall {
    tool: String,
    server: Option<String>,
    args: Shape,
    caller: Option<Value>,
}

/// Why a script could not continue.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ScriptError {
    /// The script has no turn left.
    #[error("the script of run {run} has {turns} turns, but the model was called once more")]
    OverEnd { run: u64, turns: usize },
    #[error("the script calls `{tool}`, which several servers have: {servers}")]
    Ambiguous { tool: String, servers: String },
    #[error("the script refers to an earlier result: {0}")]
    Reference(#[from] Missing),
    /// A reference points to the result of a failed call.
    #[error("the script refers to the result of call [{call}], which failed: {why}; {missing}")]
    OfFailed {
        missing: Missing,
        /// The call, from 0.
        call: usize,
        why: String,
    },
}

impl ScriptError {
    /// What to do about it.
    pub fn hint(&self) -> &'static str {
        match self {
            Self::OverEnd { .. } => "end the script with a turn that has text and no calls",
            Self::Ambiguous { .. } => "add `server:` to the call",
            Self::Reference(_) => "results are counted from 0, over all calls of the run",
            Self::OfFailed { .. } => "find out why the call failed, or add a default such as `${results[0].x:-none}`",
        }
    }
}

impl From<&ScriptError> for RunError {
    fn from(error: &ScriptError) -> Self {
        let code = match error {
            ScriptError::OverEnd { .. } => Code::ScriptTooShort,
            ScriptError::Ambiguous { .. } => Code::AmbiguousTool,
            ScriptError::Reference(_) | ScriptError::OfFailed { .. } => Code::ScriptReference,
        };
        Self::new(error.to_string()).code(code).hint(error.hint())
    }
}

pub fn load(source: &Source) -> Loaded<Script> {
    let (mut notes, root) = Diagnostics::read(source, "a script", &SCRIPT);
    let hash = redact::hash(source.text().as_bytes());
    let script = root.map(|root| Script { runs: runs(&root, &mut notes), hash });
    notes.finish(script)
}

fn runs(root: &Node, notes: &mut Diagnostics) -> Vec<Vec<ScriptedTurn>> {
    let mut out = Vec::new();
    for run in root.get("runs").map_or(&[][..], Node::items) {
        let turns = run.get("turns").map_or(&[][..], Node::items);
        out.push(turns.iter().map(|node| turn(node, notes)).collect());
    }
    out
}

fn turn(node: &Node, notes: &mut Diagnostics) -> ScriptedTurn {
    let calls = node.get("calls").map_or(&[][..], Node::items);
    if matches!(node.content, Content::Map(_)) && node.get("text").is_none() && node.get("calls").is_none() {
        let hint = "add `text:` or `calls:`";
        notes.error(
            Code::ScriptUnusable,
            node.span.clone(),
            "the turn has neither text nor calls",
            Some(hint.to_owned()),
        );
    }
    let usage = node.get("usage");
    let tokens = |key: &str| usage.and_then(|usage| usage.whole_at(key));
    ScriptedTurn {
        text: node.text_at("text"),
        calls: calls.iter().map(|node| call(node, notes)).collect(),
        tokens: Tokens { input: tokens("input"), output: tokens("output"), cached: None, total: None },
        stop: match node.text_at("stop").as_deref() {
            Some("max_tokens") => Stop::MaxTokens,
            Some("refused") => Stop::Refused,
            _ => Stop::End,
        },
    }
}

fn call(node: &Node, notes: &mut Diagnostics) -> ScriptedCall {
    let empty = || Shape::Fixed(Value::Object(Map::new()));
    let args = match node.get("args") {
        // Malformed references are found when the file is loaded, not during a run.
        Some(args) => Shape::read(args, RESULTS, &mut |at, error| {
            let hint = "write `${results[0].content[0].text}`, or `$$` for a dollar sign";
            notes.error(Code::MalformedVariable, at.span.clone(), error.to_string(), Some(hint.to_owned()));
        }),
        None => None,
    };
    ScriptedCall {
        tool: node.text_at("tool").unwrap_or_else(|| "?".to_owned()),
        server: node.text_at("server"),
        args: args.unwrap_or_else(empty),
        caller: node.get("caller").map(Node::to_json),
    }
}

/// Plays one run of a script.
#[derive(Debug, Clone)]
pub struct Player<'a> {
    turns: &'a [ScriptedTurn],
    run: u64,
    asked: usize,
    called: usize,
}

impl Script {
    /// The player of run `run`, from 1.
    pub fn player(&self, run: u64) -> Player<'_> {
        let index = run.saturating_sub(1) % (self.runs.len() as u64).max(1);
        let turns = usize::try_from(index).ok().and_then(|at| self.runs.get(at));
        Player { turns: turns.map_or(&[], Vec::as_slice), run, asked: 0, called: 0 }
    }
}

impl Player<'_> {
    /// The next reply. `results` are the answers so far.
    pub fn reply(&mut self, catalog: &Catalog, results: &[ToolResult]) -> Result<Reply, ScriptError> {
        let Some(turn) = self.turns.get(self.asked) else {
            return Err(ScriptError::OverEnd { run: self.run, turns: self.turns.len() });
        };
        self.asked += 1;
        let answers = answers(results);
        let mut calls = Vec::new();
        for call in &turn.calls {
            self.called += 1;
            let mut offered = catalog.named(&call.tool, call.server.as_deref());
            let wire = match (offered.next(), offered.next()) {
                (Some(only), None) => only.wire.clone(),
                (Some(first), Some(second)) => {
                    let rest = offered.map(|more| more.server.clone());
                    let servers: Vec<_> =
                        [first.server.clone(), second.server.clone()].into_iter().chain(rest).collect();
                    return Err(ScriptError::Ambiguous { tool: call.tool.clone(), servers: servers.join(", ") });
                }
                (None, _) => match &call.server {
                    Some(server) => format!("{server}__{}", call.tool),
                    None => call.tool.clone(),
                },
            };
            let args = match call.args.fill(&answers).map_err(|missing| because(missing, results))? {
                Value::Object(map) => RequestedArgs::Object(map),
                Value::String(text) => read_args(text),
                other => read_args(other.to_string()),
            };
            calls.push(RequestedCall { id: format!("call_{}", self.called), wire, args, caller: call.caller.clone() });
        }
        Ok(Reply {
            texts: turn.text.clone().into_iter().collect(),
            calls,
            tokens: turn.tokens,
            stop: turn.stop,
            raw: Value::Null,
        })
    }
}

/// The error of an unresolved reference: the failure of the call it points to, if that is the reason.
fn because(missing: Missing, results: &[ToolResult]) -> ScriptError {
    let index = missing.path.strip_prefix("results[").and_then(|rest| rest.split(']').next()?.parse::<i64>().ok());
    let call = index.and_then(|at| {
        let at = if at < 0 { at + i64::try_from(results.len()).ok()? } else { at };
        usize::try_from(at).ok()
    });
    match call.and_then(|at| Some((at, results.get(at)?))) {
        Some((call, result)) if result.failed() == Some(true) => {
            let reason = result.error.as_ref().map(|error| error.message.as_str()).or_else(|| result.texts().next());
            ScriptError::OfFailed { missing, call, why: json::cut(reason.unwrap_or("it does not say why"), 200) }
        }
        _ => ScriptError::Reference(missing),
    }
}

/// Arguments that were sent as text, as most providers do.
pub(crate) fn read_args(text: String) -> RequestedArgs {
    match json::parse(&text) {
        Ok(Value::Object(map)) => RequestedArgs::Object(map),
        Ok(other) => {
            let why = format!("found {}", json::describe(&other));
            RequestedArgs::Unreadable { text, why }
        }
        Err(error) => RequestedArgs::Unreadable { why: error.to_string(), text },
    }
}

/// The results as in the trace, under the name that references use.
fn answers(results: &[ToolResult]) -> Scope {
    let trace = Trace { tool_results: Some(results.iter().cloned().map(Some).collect()), ..Trace::default() };
    let mut envelope = trace.to_envelope();
    Scope::new(RESULTS, envelope.get_mut("tool_results").map_or(Value::Null, Value::take))
}
