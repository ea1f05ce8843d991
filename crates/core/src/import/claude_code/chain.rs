//! One chain of a session as a trace: what one agent said and did.

use std::borrow::Cow;
use std::collections::BTreeMap;

use super::line::{Line, Message};
use crate::import::anthropic::blocks::{self, Beside};
use crate::import::anthropic::reply::{Model, Usage, stopped};
use crate::import::builder::Builder;
use crate::import::content::Place;
use crate::import::wire::{self, Text};
use crate::import::{ImportError, Imported, Options};
use crate::trace::{Role, StopReason, Tokens, Trace};

/// The model that the harness gives for its own words.
const HARNESS: &str = "<synthetic>";

/// A chain in the making.
pub(super) struct Chain<'a, 'o> {
    agent: Option<Text<'a>>,
    builder: Builder<'o>,
    replies: Vec<Reply>,
    /// Where the reply of a message is.
    places: BTreeMap<Text<'a>, usize>,
    /// The reply that was told last.
    last: Option<usize>,
    model: Model,
    stop: Option<StopReason>,
    /// What no line contradicts; nothing where lines differ.
    shared: BTreeMap<&'static str, Option<Text<'a>>>,
    /// Whether there is more than the line that ends a stream.
    has_lines: bool,
    /// Whether that line was the last so far.
    is_over: bool,
    ends: Vec<End>,
    duration_ms: Option<u64>,
}

/// A message of the model, over all its lines.
struct Reply {
    turn: usize,
    usage: Option<Usage>,
}

/// The line that ends a run of a stream.
struct End {
    stop: Option<StopReason>,
    duration_ms: Option<u64>,
    usage: Option<Usage>,
    text: Option<String>,
}

/// How a sub-agent ended, as the chain that started it tells.
pub(super) struct Closing<'a> {
    /// By what its chain may go: its name in a session, the call that started it in a stream.
    pub(super) names: [Option<Text<'a>>; 2],
    duration_ms: Option<u64>,
    said: Option<String>,
    usage: Option<Usage>,
}

impl<'a, 'o> Chain<'a, 'o> {
    pub(super) fn new(agent: Option<Text<'a>>, options: &'o Options) -> Self {
        Self {
            agent,
            builder: Builder::new(options),
            replies: Vec::new(),
            places: BTreeMap::new(),
            last: None,
            model: Model::default(),
            stop: None,
            shared: BTreeMap::new(),
            has_lines: false,
            is_over: false,
            ends: Vec::new(),
            duration_ms: None,
        }
    }

    pub(super) fn is_main(&self) -> bool {
        self.agent.is_none()
    }

    /// Takes in what a line says of its surroundings.
    pub(super) fn share(&mut self, line: &Line<'a>) {
        let told = [
            ("sessionId", &line.session),
            ("session_id", &line.session_id),
            ("cwd", &line.cwd),
            ("gitBranch", &line.branch),
            ("version", &line.version),
            ("agentId", &line.agent),
            ("teamName", &line.team),
            ("parent_tool_use_id", &line.parent_tool_use_id),
        ];
        for (key, value) in told {
            let Some(value) = value else { continue };
            let known = self.shared.entry(key).or_insert_with(|| Some(value.clone()));
            if known.as_ref().is_some_and(|known| known != value) {
                *known = None;
            }
        }
    }

    /// Reads a line, and gives what it tells of how a sub-agent ended.
    pub(super) fn line(&mut self, line: &Line<'a>) -> Result<Option<Closing<'a>>, ImportError> {
        self.is_over = line.kind.as_deref() == Some("result");
        match line.kind.as_deref() {
            Some("assistant") => self.assistant(line, message(line)?).map(|()| None),
            Some("user") => self.user(line, message(line)?),
            Some("result") => {
                self.ends.push(end(line));
                Ok(None)
            }
            Some("progress") => Err(ImportError::new("data.message is a line of type `progress` itself").hint(
                "sub-agents of sub-agents are not read, and a trace without their calls could be judged wrongly",
            )),
            // What else there is can hold no call.
            _ => {
                self.has_lines = true;
                Ok(None)
            }
        }
    }

    fn assistant(&mut self, line: &Line<'a>, message: &Message<'a>) -> Result<(), ImportError> {
        self.has_lines = true;
        let place = Place::Key("message");
        let Some(content) = &message.content else { return Err(no_content()) };
        let is_harness = message.model.as_deref() == Some(HARNESS);
        if is_harness || line.is_failure() {
            if line.is_failure() {
                self.stop = Some(StopReason::Error);
            }
            return blocks::instructions(content, place);
        }
        let known = message.id.as_ref().and_then(|id| self.places.get(id).copied());
        let at = known.unwrap_or(self.replies.len());
        if known.is_none() {
            self.replies.push(Reply { turn: self.builder.turn(Role::Assistant, None), usage: None });
            if let Some(id) = &message.id {
                self.places.insert(id.clone(), at);
            }
        }
        let Some(reply) = self.replies.get_mut(at) else { return Ok(()) };
        reply.usage = match (reply.usage, message.usage) {
            (Some(known), Some(told)) => Some(known.max(told)),
            (known, told) => known.or(told),
        };
        let turn = reply.turn;
        // Only the last line of a message knows why it ended.
        let told = message.stop_reason.as_deref();
        if self.last != Some(at) || told.is_some() {
            self.stop = told.and_then(stopped);
        }
        self.last = Some(at);
        self.model.told_as(message.model.as_deref());
        blocks::assistant(&mut self.builder, turn, content, place)
    }

    fn user(&mut self, line: &Line<'a>, message: &Message<'a>) -> Result<Option<Closing<'a>>, ImportError> {
        self.has_lines = true;
        let Some(content) = &message.content else { return Err(no_content()) };
        let kept = line.kept();
        let structured = line.mcp.as_ref().and_then(|mcp| mcp.structured_content).map(wire::value).transpose()?;
        let beside =
            Beside { is_hidden: line.is_hidden(), duration_ms: kept.duration_ms(), structured_content: structured };
        blocks::user(&mut self.builder, content, Place::Key("message"), &beside)?;
        if !beside.is_hidden {
            self.stop = None;
        }
        Ok(kept.agent.map(|agent| Closing {
            names: [Some(agent), line.first_call()],
            duration_ms: beside.duration_ms,
            said: kept.content.and_then(|raw| blocks::texts(raw.get())),
            usage: kept.usage,
        }))
    }

    /// Adds how the chain ended. Lines of type `progress` leave out the closing message of a sub-agent; the answer to the
    /// call that started it has it.
    pub(super) fn close(&mut self, closing: &Closing<'_>) {
        if let Some(ms) = closing.duration_ms {
            self.duration_ms = Some(ms.saturating_add(self.duration_ms.unwrap_or(0)));
        }
        if self.builder.last_role() != Some(Role::Assistant)
            && let Some(said) = &closing.said
        {
            let turn = self.builder.turn(Role::Assistant, Some(said.clone()));
            self.replies.push(Reply { turn, usage: closing.usage });
        }
    }

    pub(super) fn finish(mut self, key: &str) -> Imported<'static> {
        for reply in &self.replies {
            self.builder.spend(reply.usage.as_ref().map(Usage::tokens));
        }
        let session = (!key.is_empty()).then_some(key);
        let parts: Vec<&str> = session.into_iter().chain(self.agent.as_deref()).collect();
        let id = (!parts.is_empty()).then(|| parts.join("/"));
        let shared: BTreeMap<&str, &str> =
            self.shared.iter().filter_map(|(key, value)| Some((*key, &**value.as_ref()?))).collect();
        let fields = serde_json::json!(shared).to_string();
        let told = self.ends.last().and_then(|end| end.stop);
        let stop = match (told, self.stop) {
            // The harness ended well; how the model's last reply ended says more.
            (Some(StopReason::Completed) | None, Some(own)) => Some(own),
            (told, _) => told,
        };
        let duration_ms = match self.ends.as_slice() {
            [] => self.duration_ms,
            ends => ends.iter().try_fold(0_u64, |sum, end| Some(sum.saturating_add(end.duration_ms?))),
        };
        let mut trace = self.builder.finish(self.model.name(), stop, duration_ms);
        // Several ends are of several runs in one session, and whether each counts all before it is not told.
        if let [end] = self.ends.as_slice() {
            trace.conversation.tokens = most(trace.conversation.tokens, end.usage.as_ref());
        }
        let last = self.ends.pop();
        // The end of a run that went well repeats the closing message, or the last part of it. Where it says something else,
        // the recorded turns are not all that was said.
        if let Some(End { stop: Some(StopReason::Completed), text: Some(told), .. }) = &last
            && self.is_over
            && trace.final_response.as_ref().is_some_and(|said| !said.trim_end().ends_with(told.trim()))
        {
            (trace.final_response, trace.conversation.turns) = (None, None);
            trace.tool_calls.iter_mut().flatten().for_each(|call| call.turn = None);
        }
        if let (false, Some(end)) = (self.has_lines, last) {
            trace = Trace { tool_calls: None, tool_results: None, final_response: end.text, ..trace };
            trace.conversation.turns = None;
        }
        Imported { id, group: None, fields: Cow::Owned(fields), trace }
    }
}

/// The tokens of a run: its end counts them whole, its messages only as far as they had come when they were written. A run
/// that broke may end with zeros, so the greater count holds.
fn most(sum: Tokens, told: Option<&Usage>) -> Tokens {
    let told = told.map(Usage::tokens).unwrap_or_default();
    Tokens {
        input: told.input.max(sum.input),
        output: told.output.max(sum.output),
        cached: told.cached.max(sum.cached),
        total: None,
    }
}

fn end(line: &Line<'_>) -> End {
    let failed = line.is_error == Some(true);
    let stop = match line.subtype.as_deref() {
        Some("error_max_turns") => Some(StopReason::MaxTurns),
        Some("success") if !failed => line.stop_reason.as_deref().and_then(stopped).or(Some(StopReason::Completed)),
        Some(word) if failed || word.starts_with("error") => Some(StopReason::Error),
        _ => failed.then_some(StopReason::Error),
    };
    End {
        stop,
        duration_ms: line.duration_ms.map(|ms| ms.0),
        usage: line.usage,
        text: line.result.and_then(wire::name),
    }
}

fn message<'l, 'a>(line: &'l Line<'a>) -> Result<&'l Message<'a>, ImportError> {
    line.message.as_ref().ok_or_else(|| ImportError::new("message must be an object, found no such key"))
}

fn no_content() -> ImportError {
    ImportError::new("message.content must be a text or a list of blocks, found no such key")
}
