//! From a trace: its calls in a script, its answers in a mock server, and the gates that it passes.
//!
//! What the trace does not contain is not invented: the files say what is unknown, and what is used instead. `answers` generates
//! the mock server; the gates are those that `mcptest infer` finds in one run.

mod answers;

use std::collections::BTreeSet;

use mcptest_core::Trace;
use mcptest_core::trace::{Conversation, LazyText, Role, StopReason, Tokens, ToolCall, ToolResult, Turn as TraceTurn};
use serde_json::{Map, Value};

use super::cassette::Cassette;
use super::draft::Draft;
use super::files::{File, SUITE};
use super::gates::{Settled, Variant};
use super::recording::Recording;
use super::suite::{Call, Script, Suite, Turn};
use crate::command::infer::{self, file::blocks};
use crate::report::text::many;
use answers::{Answer, Tools};

/// The files it consists of.
pub(super) const NAMES: [&str; 3] = [SUITE, "mcptest/tools.yml", "mcptest/script.yml"];

/// The default of `max_turns`.
const USUAL_TURNS: usize = 10;

/// The server of calls without a server, or with several.
const SERVER: &str = "recorded";

/// A turn of the trace: its text, and its calls by their indices in the trace.
#[derive(Debug, Clone, Default)]
struct Round {
    text: Option<String>,
    calls: Vec<usize>,
}

pub(super) fn draft(recording: Recording) -> Draft {
    let Recording { file, trace, calls, cassette, notes } = recording;
    let server = server(&calls);
    let answers: Vec<Answer> = (0..calls.len()).map(|at| Answer::of(trace.result(at))).collect();
    let tools = Tools::new(&calls, &answers, cassette.as_ref());
    let (rounds, left_out) = rounds(&trace, &calls);
    let rounds = tools.split_rounds(rounds, &calls);
    let closing = closing(&trace, &calls);
    let script = script(&trace, &calls, &rounds, closing, &file);
    let replayed = replayed(&trace, &calls, &answers, &script, server);
    let (prompt, about_prompt) = prompt(&trace, left_out);
    let turns = script.turns.len();
    let max_turns = match closing {
        None => Some((turns, "the trace has no closing message, so the run ends after its calls")),
        Some(_) if turns > USUAL_TURNS => Some((turns, "as many as the trace has")),
        Some(_) => None,
    };
    let (about_server, real) = cassette.as_ref().map_or_else(unknown_server, Cassette::real);
    let suite = Suite {
        about: vec![
            format!(
                "Generated from the first trace of {file}. It passes right away: `mcptest run` needs no key, no network and no model."
            ),
            "A script (mcptest/script.yml) replaces the model and repeats the recorded calls. A mock server (mcptest/tools.yml) \
             gives the recorded answers. The recorded run passes all gates below; a changed agent must pass them too."
                .to_owned(),
        ],
        server: server.to_owned(),
        tools: NAMES[1],
        about_server: vec![about_server],
        real,
        test: "does what the recorded run did",
        about_prompt,
        prompt,
        max_turns,
        gates: settled(&trace, &replayed),
    };
    let lines = suite.gates_in_words();
    let what =
        ["the suite, with the gates that pass", "the recorded answers, for the mock server", "the recorded calls"];
    let texts = [suite.text(), tools.text(server, &file), script.text()];
    let files = NAMES.into_iter().zip(what).zip(texts).map(|((name, what), text)| File { name, what, text });
    Draft { files: files.collect(), lines, notes }
}

/// The gates that the recorded run and its replay pass.
pub(super) fn settled(trace: &Trace, replayed: &Trace) -> Vec<Settled> {
    let inferred = infer::from_one(trace, replayed);
    let mut out: Vec<Settled> = blocks(&inferred)
        .into_iter()
        .map(|(gate, lines)| Settled::Passed { gate, variant: Variant { about: about_gate(gate), lines } })
        .collect();
    if trace.tool_results.iter().flatten().flatten().any(|result| result.fault.is_some()) {
        let why = "the faults of the recorded run are answered as errors here; inject them with `faults:` to judge it";
        out.push(Settled::LeftOut { gate: "recovery", why: why.to_owned() });
    }
    out.extend(inferred.left_out.into_iter().map(|(gate, why)| Settled::LeftOut { gate, why }));
    out
}

/// What an inferred gate requires.
fn about_gate(gate: &str) -> Vec<String> {
    let about = match gate {
        "trajectory" => {
            "The recorded calls, with the shape of their arguments. See it fail: change a name below. One run does not show \
             which values matter: add the ones that you know, as in `args: { exact: .. }`. `mcptest infer` finds them in \
             several runs."
        }
        "narrative" => "Every action that the closing message claims needs a call.",
        _ => return Vec::new(),
    };
    vec![about.to_owned()]
}

/// The lines if the trace does not say how its server is reached.
fn unknown_server() -> (String, Vec<String>) {
    let about = "The recorded answers, from a mock server. For the real server, replace `command` with a line such as one of these.";
    let lines =
        ["command: [npx, -y, \"@modelcontextprotocol/server-filesystem\", /data]", "url: https://example.test/mcp"];
    (about.to_owned(), lines.map(str::to_owned).to_vec())
}

/// The server of the calls, if they all have the same one and a suite can use its name.
fn server(calls: &[ToolCall]) -> &str {
    let mut named = calls.iter().filter_map(|call| call.server.as_deref()).filter(|server| !server.is_empty());
    let Some(first) = named.next() else { return SERVER };
    let may_be = first.len() <= 40
        && first.starts_with(|c: char| c.is_ascii_lowercase())
        && first.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-');
    // A tool with this prefix would look like a tool with the prefix of the server.
    let is_prefix = calls.iter().any(|call| call.name.split_once("__").is_some_and(|(before, _)| before == first));
    if may_be && !is_prefix && named.all(|other| other == first) { first } else { SERVER }
}

/// The turns with calls, and the number of messages that a run cannot have: it ends with the first message without a call.
fn rounds(trace: &Trace, calls: &[ToolCall]) -> (Vec<Round>, usize) {
    let messages = trace.conversation.turns.as_deref().unwrap_or(&[]);
    let mut out: Vec<(Option<usize>, Round)> = Vec::new();
    for (at, call) in calls.iter().enumerate() {
        match out.last_mut() {
            Some((turn, round)) if turn.is_some() && *turn == call.turn => round.calls.push(at),
            _ => {
                let text =
                    call.turn.and_then(|turn| messages.get(turn)).filter(|message| message.role == Role::Assistant);
                let text = text.and_then(|message| message.content.as_deref()).filter(|text| !text.trim().is_empty());
                out.push((call.turn, Round { text: text.map(str::to_owned), calls: vec![at] }));
            }
        }
    }
    let last = messages.iter().rposition(|message| message.role == Role::Assistant);
    let with_calls: BTreeSet<usize> = calls.iter().filter_map(|call| call.turn).collect();
    let between = messages
        .iter()
        .enumerate()
        .filter(|(at, message)| message.role == Role::Assistant && Some(*at) != last && !with_calls.contains(at));
    let count = between.count();
    (out.into_iter().map(|(_, round)| round).collect(), count)
}

/// The message after the last call.
fn closing<'a>(trace: &'a Trace, calls: &[ToolCall]) -> Option<&'a str> {
    let text = trace.final_response.as_deref().filter(|text| !text.trim().is_empty())?;
    let messages = trace.conversation.turns.as_deref().unwrap_or(&[]);
    let last = messages.iter().rposition(|message| message.role == Role::Assistant);
    // The last message may be the one that made the last calls.
    let is_over = last.is_none() || !calls.iter().any(|call| call.turn.is_some() && call.turn == last);
    is_over.then_some(text)
}

/// The prompt, and a comment about it.
fn prompt(trace: &Trace, left_out: usize) -> (String, Option<String>) {
    let messages = trace.conversation.turns.as_deref().unwrap_or(&[]);
    let mut asked =
        messages.iter().filter(|message| message.role == Role::User).filter_map(|message| message.content.as_deref());
    let Some(first) = asked.by_ref().find(|text| !text.trim().is_empty()) else {
        let about = "The trace has no prompt. Write it here before you use a real model.";
        return ("(not recorded)".to_owned(), Some(about.to_owned()));
    };
    let others = asked.count();
    let about = (others + left_out > 0).then(|| {
        format!(
            "A test has one prompt. Left out of the conversation: {} of the user, {} of the agent without a call.",
            many(others, "later message"),
            many(left_out, "message")
        )
    });
    (first.to_owned(), about)
}

fn script(trace: &Trace, calls: &[ToolCall], rounds: &[Round], closing: Option<&str>, file: &str) -> Script {
    let mut about = vec![format!(
        "The replies of the scripted model, turn by turn: the calls and the text of the first trace of {file}."
    )];
    if calls.iter().any(|call| call.turn.is_none()) {
        about.push("The trace does not say which calls were made together, so each has its own turn.".to_owned());
    }
    if calls.iter().any(|call| call.args.is_none()) {
        about.push("The trace lacks the arguments of some calls: those are made without any.".to_owned());
    }
    let Tokens { input, output, .. } = trace.conversation.tokens;
    let tokens = input.zip(output);
    if tokens.is_some() {
        about.push("The tokens of the whole run are on the first reply.".to_owned());
    }
    let call = |at: &usize| Call {
        tool: calls[*at].name.clone(),
        args: calls[*at].args.clone().unwrap_or_else(|| Value::Object(Map::new())),
    };
    let mut turns: Vec<Turn> = rounds
        .iter()
        .map(|round| Turn { text: round.text.clone(), calls: round.calls.iter().map(call).collect(), stop: None })
        .collect();
    if let Some(text) = closing {
        let stop = match trace.conversation.stop_reason {
            Some(StopReason::MaxTokens) => Some("max_tokens"),
            Some(StopReason::Refused) => Some("refused"),
            _ => None,
        };
        turns.push(Turn { text: Some(text.to_owned()), calls: Vec::new(), stop });
    }
    Script { about, turns, tokens }
}

/// The trace that a run of these files produces. Gates must pass for it as for the recorded one.
fn replayed(trace: &Trace, calls: &[ToolCall], answers: &[Answer], script: &Script, server: &str) -> Trace {
    let prompt = TraceTurn { role: Role::User, content: Some("".into()) };
    let mut messages = vec![prompt];
    let mut order = 0..calls.len();
    let mut made = Vec::new();
    let mut results: Vec<Option<ToolResult>> = Vec::new();
    let mut last = String::new();
    for turn in &script.turns {
        messages.push(TraceTurn { role: Role::Assistant, content: turn.text.as_deref().map(LazyText::from) });
        last = turn.text.clone().unwrap_or_default();
        let at = messages.len() - 1;
        for (call, place) in turn.calls.iter().zip(order.by_ref()) {
            made.push(ToolCall {
                name: call.tool.clone(),
                server: Some(server.to_owned()),
                args: Some(call.args.clone()),
                turn: Some(at),
                ..ToolCall::default()
            });
            results.push(Some(answers[place].replayed(&call.args)));
            messages.push(TraceTurn { role: Role::Tool, content: None });
        }
    }
    let ends_by_itself = script.turns.last().is_some_and(|turn| turn.calls.is_empty());
    let (input, output) = script.tokens.unzip();
    Trace {
        tool_calls: Some(made),
        tool_results: Some(results),
        final_response: Some(last.into()),
        conversation: Conversation {
            model: trace.conversation.model.clone(),
            turns: Some(messages),
            tokens: Tokens { input, output, cached: None, total: input.zip(output).map(|(i, o)| i.saturating_add(o)) },
            stop_reason: Some(if ends_by_itself { StopReason::Completed } else { StopReason::MaxTurns }),
            duration_ms: None,
        },
        ..Trace::default()
    }
}
