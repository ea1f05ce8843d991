//! From the two ledgers of a program to its trace.
//!
//! A call that a server got is what the MCP ledger says; every other call is what the model ledger says. What cannot be read is
//! unknown: it never makes a run look better. See docs/decisions/0008-two-ledgers.md.

mod join;
pub(super) mod mcp;
mod model;
pub(super) mod names;
mod shown;

use std::collections::{BTreeMap, BTreeSet};

use serde_json::json;

use super::account;
use super::seen::Seen;
use super::{Ledger, error_result};
use crate::answer::Account;
use crate::import::message::Spent;
use crate::json;
use crate::trace::{
    AnswerSource, Conversation, ErrorKind, Program, Role, Shown, StopReason, ToolCall, ToolResult, Trace, Turn, Witness,
};
use join::Joined;
use mcp::{McpCall, McpSide};
use model::{Exchange, ModelCall, ModelSide, Outcome};
use names::Names;

/// What is known of a program besides its ledgers.
#[derive(Debug, Clone, Default)]
pub struct ProgramEnd {
    pub answer: Option<String>,
    pub exit: Option<i64>,
    pub failed: Option<String>,
    /// Why the recording is incomplete.
    pub incomplete: Option<String>,
    /// The last lines that it printed.
    pub output: Option<String>,
    pub duration_ms: Option<u64>,
    /// What it says about its own calls, or why that cannot be read.
    pub account: Option<Result<Account, String>>,
}

/// A trace, and what to say about how it was made.
#[derive(Debug, Clone, PartialEq)]
pub struct Derived {
    pub trace: Trace,
    /// What was left out or is unknown, and why.
    pub notes: Vec<String>,
    /// There is no readable request to a model API, so it is unknown who made a call.
    pub model_unseen: bool,
    /// Which of its counterparts the program was in contact with.
    pub seen: Seen,
    /// The position of each call at its server, in the order of `trace.tool_calls`.
    pub call_seqs: Vec<Option<u64>>,
}

/// The trace of a program.
pub fn trace(ledger: &Ledger, mut end: ProgramEnd) -> Derived {
    let account = end.account.take();
    let mcp = mcp::read(ledger);
    let model = model::read(ledger);
    let names = Names::new(&mcp.tools);
    let joined = join::join(&model.exchanges, &model.calls, &mcp.calls, &names);
    let model_unseen = model.exchanges.is_empty();
    let counts = counts(&model.exchanges);
    let mut retries: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
    for (at, asked) in joined.repeats.iter().enumerate() {
        if let Some(asked) = asked {
            retries.entry(*asked).or_default().push(at);
        }
    }
    let mut build = Build { ledger, mcp, model, joined, retries, counts, turns: Vec::new(), turn_of: Vec::new() };
    build.turns();
    let (calls, results, seqs) = build.calls(model_unseen);
    let mut derived = Derived { call_seqs: seqs, ..build.finish(calls, results, end, model_unseen) };
    match account {
        Some(Ok(account)) => derived.notes.extend(account::differences(&account, &derived.trace, &names)),
        Some(Err(why)) => derived.notes.push(format!("the program's own account of its calls cannot be read: {why}")),
        None => {}
    }
    derived
}

struct Build<'l> {
    ledger: &'l Ledger,
    mcp: McpSide,
    model: ModelSide,
    joined: Joined,
    /// The calls at servers that repeat a call of the model.
    retries: BTreeMap<usize, Vec<usize>>,
    /// Whether each exchange is part of the run.
    counts: Vec<bool>,
    turns: Vec<Turn>,
    /// The turn of the reply of each exchange.
    turn_of: Vec<Option<usize>>,
}

/// A call in the order of the trace.
#[derive(Clone, Copy)]
enum Place {
    Model(usize),
    Mcp(usize),
}

impl Build<'_> {
    /// Whether a call of the model counts. A reply that broke off has calls that the program may never have seen; those that the
    /// provider ran were made.
    fn is_call(&self, at: usize) -> bool {
        let call = &self.model.calls[at];
        let is_cut = self.model.exchanges[call.exchange].reply().is_some_and(|(_, is_cut)| is_cut);
        !is_cut || self.joined.executed[at].is_some() || call.shown.is_some()
    }

    fn turns(&mut self) {
        self.turn_of = vec![None; self.model.exchanges.len()];
        let used: BTreeSet<usize> = (0..self.model.calls.len())
            .filter(|at| self.is_call(*at))
            .map(|at| self.model.calls[at].exchange)
            .collect();
        let mut cut = Vec::new();
        for at in in_order(&self.model.exchanges) {
            let exchange = &self.model.exchanges[at];
            let Some((reply, is_cut)) = exchange.reply().filter(|_| self.counts[at]) else { continue };
            // A reply that was cut off is part of the conversation only if the program continued with it.
            if is_cut && exchange.continued.is_none() && !used.contains(&at) {
                continue;
            }
            let is_asked_again = cut.contains(&exchange.asks());
            if is_cut {
                cut.push(exchange.asks());
            }
            let added = exchange.added.iter().filter(|message| message.role != Role::Assistant && !is_asked_again);
            for message in added {
                for answer in message.answers() {
                    self.turns.push(Turn { role: Role::Tool, content: answer.result.text() });
                }
                if message.answers().next().is_none() || message.text().is_some() {
                    self.turns.push(Turn { role: Role::User, content: message.text() });
                }
            }
            self.turn_of[at] = Some(self.turns.len());
            self.turns.push(Turn { role: Role::Assistant, content: reply.text() });
        }
    }

    fn calls(&self, model_unseen: bool) -> (Vec<ToolCall>, Vec<Option<ToolResult>>, Vec<Option<u64>>) {
        let mut order: Vec<(u64, usize, Place)> = Vec::new();
        for (at, call) in self.model.calls.iter().enumerate() {
            if self.is_call(at) {
                order.push((self.model.exchanges[call.exchange].end_seq, at, Place::Model(at)));
            }
        }
        let executed: BTreeSet<usize> = self.joined.executed.iter().flatten().copied().collect();
        for (at, call) in self.mcp.calls.iter().enumerate() {
            if !executed.contains(&at) {
                let asked = self.joined.repeats[at].map(|asked| &self.model.calls[asked]);
                // A repetition comes after what it repeats, also where the reply had not ended.
                let after = asked.map_or(0, |asked| self.model.exchanges[asked.exchange].end_seq);
                order.push((call.seq.max(after), self.model.calls.len() + at, Place::Mcp(at)));
            }
        }
        order.sort_by_key(|(seq, at, _)| (*seq, *at));
        let mut index_of = vec![None; self.model.calls.len()];
        for (index, (_, _, place)) in order.iter().enumerate() {
            if let Place::Model(at) = place {
                index_of[*at] = Some(index);
            }
        }
        let seq = |place: &Place| match *place {
            Place::Model(at) => self.joined.executed[at].map(|done| self.mcp.calls[done].seq),
            Place::Mcp(at) => Some(self.mcp.calls[at].seq),
        };
        let seqs = order.iter().map(|(_, _, place)| seq(place)).collect();
        let (calls, results) = order
            .into_iter()
            .map(|(_, _, place)| match place {
                Place::Model(at) => self.requested_call(at),
                Place::Mcp(at) => {
                    let call = &self.mcp.calls[at];
                    let retry_of = self.joined.repeats[at].and_then(|asked| index_of[asked]);
                    let caller = (!model_unseen).then(|| json!({ "type": "program" }));
                    let witness = (!model_unseen).then_some(Witness::Mcp);
                    // The message that requested the call also requested its repetition.
                    let asked = self.joined.repeats[at].map(|asked| self.model.calls[asked].exchange);
                    let turn = asked.and_then(|exchange| self.turn_of[exchange]);
                    let made = ToolCall { caller, retry_of, turn, witness, ..executed_call(call) };
                    (made, self.with_shown(at, self.joined.repeats[at]))
                }
            })
            .unzip();
        (calls, results, seqs)
    }

    /// A call that the model requested.
    fn requested_call(&self, at: usize) -> (ToolCall, Option<ToolResult>) {
        let ModelCall { exchange, call, shown } = &self.model.calls[at];
        let common = ToolCall {
            caller: call.caller.clone(),
            id: call.id.clone(),
            turn: self.turn_of[*exchange],
            ..ToolCall::default()
        };
        if let Some(done) = self.joined.executed[at] {
            let executed = executed_call(&self.mcp.calls[done]);
            let differs = call.args.as_ref().zip(executed.args.as_ref()).is_none_or(|(a, b)| !json::equal(a, b));
            let made = ToolCall {
                name: executed.name,
                server: executed.server,
                args: executed.args,
                asked_args: call.args.clone().filter(|_| differs),
                witness: Some(Witness::Both),
                ..common
            };
            return (made, self.with_shown(done, Some(at)));
        }
        let meant = &self.joined.meant[at];
        let shown = shown.as_ref().map(|(_, result)| result);
        let (name, server, result) = match meant.first() {
            Some((server, tool)) => {
                let is_one_tool = meant.iter().all(|(_, other)| other == tool);
                let name = if is_one_tool { tool.clone() } else { call.name.clone() };
                let server = (meant.len() == 1).then(|| server.clone());
                (name, server, Some(refused(shown)))
            }
            None => (call.name.clone(), Some(String::new()), shown.cloned()),
        };
        (ToolCall { name, server, args: call.args.clone(), witness: Some(Witness::Model), ..common }, result)
    }

    /// The result of a call at a server. The last try of a call is the one that the model should have been shown.
    fn with_shown(&self, done: usize, asked: Option<usize>) -> Option<ToolResult> {
        let result = self.mcp.calls[done].result.clone();
        let (Some(asked), Some(answered)) = (asked, &result) else { return result };
        let retries = self.retries.get(&asked).map_or(&[][..], Vec::as_slice);
        let tries = || self.joined.executed[asked].into_iter().chain(retries.iter().copied());
        let Some((Some(_), shown)) = &self.model.calls[asked].shown else { return result };
        // An error of MCP itself has no text of the server.
        let has_text = answered.error.as_ref().is_none_or(|error| error.kind == ErrorKind::Tool);
        if tries().last() != Some(done) || !has_text {
            return result;
        }
        let answers = tries().filter_map(|at| self.mcp.calls[at].result.as_ref());
        let found: Vec<bool> = answers.filter_map(|answered| shown::is_shown(answered, shown)).collect();
        let differs = !found.is_empty() && !found.contains(&true);
        result.map(|result| ToolResult { shown: differs.then_some(Shown::Differs), ..result })
    }

    fn finish(
        self,
        calls: Vec<ToolCall>,
        results: Vec<Option<ToolResult>>,
        end: ProgramEnd,
        model_unseen: bool,
    ) -> Derived {
        let ModelSide { exchanges, unread, notes: mut all_notes, timeline, .. } = self.model;
        let mut timeline: Vec<_> = timeline.into_iter().chain(self.mcp.timeline).collect();
        timeline.sort_by_key(|(seq, _)| *seq);
        let mut problems = unread;
        problems.extend(self.mcp.unread);
        all_notes.extend(self.mcp.notes);
        let incomplete = end.incomplete.or_else(|| problems.first().cloned());
        all_notes.extend(problems);
        let last = in_order(&exchanges).into_iter().rev().find(|at| self.counts[*at]);
        let last_reply = last.and_then(|at| exchanges[at].reply()).filter(|(_, is_cut)| !is_cut);
        let last_text = last_reply.map(|(message, _)| message.text().unwrap_or_default());
        let (final_response, answer_source) = match (end.answer, last_text) {
            (Some(answer), _) => (Some(answer.trim_end().into()), Some(AnswerSource::Program)),
            (None, Some(last_text)) => (Some(last_text), Some(AnswerSource::Model)),
            (None, None) => (None, None),
        };
        let stop_reason = match last {
            _ if end.failed.is_some() => Some(StopReason::Error),
            None => None,
            Some(_) => last_reply.map_or(Some(StopReason::Error), |(message, _)| message.stop),
        };
        let model = model_name(&exchanges, &self.turn_of);
        let trace = Trace {
            answer_source,
            conversation: Conversation {
                duration_ms: end.duration_ms.or_else(|| self.ledger.entries.last().map(|entry| entry.ms)),
                model,
                stop_reason,
                tokens: spent(&exchanges).tokens().unwrap_or_default(),
                turns: (!model_unseen).then_some(self.turns),
            },
            final_response,
            program: Some(Box::new(Program {
                exit: end.exit,
                failed: end.failed,
                faults: None,
                incomplete,
                notes: None,
                output: end.output,
                timeline: Some(timeline.into_iter().map(|(_, line)| line).collect()),
            })),
            tool_calls: Some(calls),
            tool_results: Some(results),
            ..Trace::default()
        };
        let requests = exchanges.first().zip(exchanges.last()).map(|(first, last)| (first.seq, last.seq));
        let seen = Seen { requests, servers: self.mcp.servers };
        Derived { trace, notes: all_notes, model_unseen, seen, call_seqs: Vec::new() }
    }
}

/// The requests to a model that are part of the run, by the `seq` of their entries.
pub(super) fn counted(ledger: &Ledger) -> BTreeSet<u64> {
    let exchanges = model::read(ledger).exchanges;
    let counts = counts(&exchanges);
    exchanges.iter().zip(counts).filter(|(_, counts)| *counts).map(|(exchange, _)| exchange.seq).collect()
}

/// Whether each exchange is part of the run. Conversations without tools are side requests, unless there is no other.
fn counts(exchanges: &[Exchange]) -> Vec<bool> {
    let with_tools: BTreeSet<usize> =
        exchanges.iter().filter(|exchange| exchange.uses_tools).map(|exchange| exchange.root).collect();
    exchanges.iter().map(|exchange| with_tools.is_empty() || with_tools.contains(&exchange.root)).collect()
}

/// Exchanges in the order in which they ended.
fn in_order(exchanges: &[Exchange]) -> Vec<usize> {
    let mut order: Vec<usize> = (0..exchanges.len()).collect();
    order.sort_by_key(|at| (exchanges[*at].end_seq, *at));
    order
}

fn executed_call(call: &McpCall) -> ToolCall {
    ToolCall {
        name: call.tool.clone(),
        server: Some(call.server.clone()),
        args: Some(call.args.clone()),
        ..ToolCall::default()
    }
}

/// The result of a call that the program did not make. The message is the one the model got; the tool did not answer.
fn refused(shown: Option<&ToolResult>) -> ToolResult {
    let reported = shown.map(|shown| shown.texts().collect::<Vec<_>>().join("\n")).filter(|text| !text.is_empty());
    let message = reported.unwrap_or_else(|| "the program did not make the call".to_owned());
    ToolResult { content: Some(Vec::new()), ..error_result(ErrorKind::Refused, None, &json::cut(&message, 2000)) }
}

/// What all replies cost; unknown if one does not say.
fn spent(exchanges: &[Exchange]) -> Spent {
    exchanges.iter().fold(Spent::Nothing, |sum, exchange| {
        sum.plus(match &exchange.outcome {
            Outcome::Replied { message, .. } => message.spent,
            Outcome::Failed => Spent::Nothing,
            Outcome::Unknown => Spent::Unknown,
        })
    })
}

/// The model, if all replies of the run name the same one.
fn model_name(exchanges: &[Exchange], turn_of: &[Option<usize>]) -> Option<String> {
    let counted = exchanges.iter().zip(turn_of).filter(|(_, turn)| turn.is_some());
    let names: BTreeSet<&str> = counted.filter_map(|(exchange, _)| exchange.reply()?.0.model.as_deref()).collect();
    let mut names = names.into_iter();
    names.next().filter(|_| names.next().is_none()).map(str::to_owned)
}
