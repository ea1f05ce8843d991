//! One chain of a session as a trace: the messages and calls of one agent.

use std::borrow::Cow;
use std::collections::BTreeMap;

use super::line::{Line, LineMessage};
use crate::import::anthropic::blocks::{self, USAGE};
use crate::import::builder::Builder;
use crate::import::message::{Message, Part, Place, Spent, Usage, stop_reason};
use crate::import::wire::{self, Text};
use crate::import::{ImportError, Imported, Options};
use crate::trace::{LazyText, LazyValue, Role, StopReason, Tokens, Trace};

/// The model that the harness names for its own messages.
const HARNESS: &str = "<synthetic>";

const PLACE: Place<'static> = Place::Key("message");

/// A chain in the making.
pub(super) struct Chain<'a, 'o> {
    agent: Option<Text<'a>>,
    builder: Builder<'o>,
    replies: Vec<Reply>,
    /// Where the reply of a message is.
    places: BTreeMap<Text<'a>, usize>,
    /// The reply of the last line.
    last: Option<usize>,
    stop: Option<StopReason>,
    /// What the lines say in each of [`SHARED`].
    shared: [Shared<'a>; SHARED.len()],
    /// Whether there is more than the line that ends a stream.
    has_lines: bool,
    /// Whether that line was the last so far.
    is_over: bool,
    ends: Vec<End>,
    duration_ms: Option<u64>,
}

/// Keys of lines that say something about their session.
const SHARED: [&str; 8] =
    ["agentId", "cwd", "gitBranch", "parent_tool_use_id", "sessionId", "session_id", "teamName", "version"];

/// What the lines of a chain say in one key.
#[derive(Default)]
enum Shared<'a> {
    #[default]
    Nothing,
    Same(Text<'a>),
    Different,
}

/// A message of the model, from all its lines.
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

/// How a sub-agent ended, as reported by the chain that started it.
pub(super) struct Closing<'a> {
    /// How to find its chain: by its name in a session, by the call that started it in a stream.
    pub(super) names: [Option<Text<'a>>; 2],
    duration_ms: Option<u64>,
    text: Option<LazyText>,
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
            stop: None,
            shared: Default::default(),
            has_lines: false,
            is_over: false,
            ends: Vec::new(),
            duration_ms: None,
        }
    }

    pub(super) fn is_main(&self) -> bool {
        self.agent.is_none()
    }

    /// Notes what a line says about its session.
    pub(super) fn share(&mut self, line: &Line<'a>) {
        let values = [
            &line.agent,
            &line.cwd,
            &line.branch,
            &line.parent_tool_use_id,
            &line.session,
            &line.session_id,
            &line.team,
            &line.version,
        ];
        for (shared, value) in self.shared.iter_mut().zip(values) {
            let Some(value) = value else { continue };
            match shared {
                Shared::Nothing => *shared = Shared::Same(value.clone()),
                Shared::Same(known) if known != value => *shared = Shared::Different,
                Shared::Same(_) | Shared::Different => {}
            }
        }
    }

    /// Reads a line. Returns how a sub-agent ended, if the line reports it.
    pub(super) fn line(&mut self, line: &Line<'a>) -> Result<Option<Closing<'a>>, ImportError> {
        self.is_over = line.kind.as_deref() == Some("result");
        match line.kind.as_deref() {
            Some("assistant") => self.assistant(line, message(line)?).map(|()| None),
            Some("user") => self.user(line, message(line)?),
            Some("result") => {
                self.ends.push(end(line)?);
                Ok(None)
            }
            Some("progress") => Err(ImportError::new("data.message is a line of type `progress` itself")
                .hint("sub-agents of sub-agents are not read; a trace without their calls could pass by mistake")),
            // No other line holds a call.
            _ => {
                self.has_lines = true;
                Ok(None)
            }
        }
    }

    fn assistant(&mut self, line: &Line<'a>, message: &LineMessage<'a>) -> Result<(), ImportError> {
        self.has_lines = true;
        let Some(content) = &message.content else { return Err(no_content()) };
        if message.model.as_deref() == Some(HARNESS) || line.is_failure() {
            if line.is_failure() {
                self.stop = Some(StopReason::Error);
            }
            return blocks::check_system(content, PLACE);
        }
        let parts = blocks::parts(content, PLACE)?;
        let usage = USAGE.read(message.usage, "message.usage")?;
        let known = message.id.as_ref().and_then(|id| self.places.get(id).copied());
        let at = known.unwrap_or(self.replies.len());
        match self.replies.get_mut(at) {
            Some(reply) => {
                reply.usage = match (reply.usage, usage) {
                    (Some(known), Some(more)) => Some(greater(known, more)),
                    (known, more) => known.or(more),
                };
                self.builder.append(reply.turn, parts, &PLACE)?;
            }
            None => self.reply(parts, usage)?,
        }
        if let Some(id) = &message.id {
            self.places.insert(id.clone(), at);
        }
        // Only the last line of a message says why it ended.
        let word = message.stop_reason.as_deref();
        if self.last != Some(at) || word.is_some() {
            self.stop = word.and_then(stop_reason);
        }
        self.last = Some(at);
        self.builder.name_model(message.model.as_deref());
        Ok(())
    }

    /// Adds a message of the model.
    fn reply(&mut self, parts: Vec<Part>, usage: Option<Usage>) -> Result<(), ImportError> {
        let turn = self.builder.add(Message::with_parts(Role::Assistant, parts), &PLACE)?;
        self.replies.extend(turn.map(|turn| Reply { turn, usage }));
        Ok(())
    }

    fn user(&mut self, line: &Line<'a>, message: &LineMessage<'a>) -> Result<Option<Closing<'a>>, ImportError> {
        self.has_lines = true;
        let Some(content) = &message.content else { return Err(no_content()) };
        USAGE.read(message.usage, "message.usage")?;
        let kept = line.kept();
        let structured = line.mcp.as_ref().and_then(|mcp| mcp.structured_content).map(wire::value).transpose()?;
        let mut message = Message::with_parts(Role::User, blocks::parts(content, PLACE)?);
        // What the harness kept belongs to the one call that the line answers.
        let mut answers = message.parts.iter_mut().filter_map(|part| match part {
            Part::Answer(answer) => Some(&mut answer.result),
            _ => None,
        });
        if let (Some(result), None) = (answers.next(), answers.next()) {
            result.duration_ms = kept.duration_ms();
            result.structured_content = structured.map(LazyValue::from).or(result.structured_content.take());
        }
        if line.is_hidden() {
            // The text is the harness's and not a turn.
            message.parts.retain(|part| matches!(part, Part::Answer(_) | Part::Call(_)));
        } else {
            self.stop = None;
        }
        if !(line.is_hidden() && message.parts.is_empty()) {
            self.builder.add(message, &PLACE)?;
        }
        Ok(kept.agent.clone().map(|agent| Closing {
            names: [Some(agent), line.first_call()],
            duration_ms: kept.duration_ms(),
            text: kept.content.and_then(|raw| blocks::texts(raw.get())),
            usage: USAGE.read(kept.usage, "").ok().flatten(),
        }))
    }

    /// Adds how the chain ended. Lines of type `progress` lack the closing message of a sub-agent; the answer to the call that
    /// started it has it.
    pub(super) fn close(&mut self, closing: &Closing<'_>) -> Result<(), ImportError> {
        if let Some(ms) = closing.duration_ms {
            self.duration_ms = Some(ms.saturating_add(self.duration_ms.unwrap_or(0)));
        }
        match &closing.text {
            Some(text) if self.builder.last_role() != Some(Role::Assistant) => {
                self.reply(vec![Part::Text(text.clone())], closing.usage)
            }
            _ => Ok(()),
        }
    }

    /// The fields on which all lines agree, as JSON.
    fn fields(&self) -> String {
        let fields = SHARED.iter().zip(&self.shared).filter_map(|(key, value)| match value {
            Shared::Same(value) => Some((*key, &**value)),
            Shared::Nothing | Shared::Different => None,
        });
        let fields: BTreeMap<&str, &str> = fields.collect();
        // Writing texts into memory cannot fail.
        serde_json::to_string(&fields).unwrap_or_default()
    }

    pub(super) fn finish(mut self, key: &str) -> Imported<'static> {
        for reply in &self.replies {
            self.builder.spend(Spent::reported(reply.usage.map(Usage::with_cache_apart)));
        }
        let session = (!key.is_empty()).then_some(key);
        let parts: Vec<&str> = session.into_iter().chain(self.agent.as_deref()).collect();
        let id = (!parts.is_empty()).then(|| parts.join("/"));
        let fields = self.fields();
        let end = self.ends.last().and_then(|end| end.stop);
        let stop = match (end, self.stop) {
            // The harness ended well; the end of the last reply says more.
            (Some(StopReason::Completed) | None, Some(own)) => Some(own),
            (end, _) => end,
        };
        let duration_ms = match self.ends.as_slice() {
            [] => self.duration_ms,
            ends => ends.iter().try_fold(0_u64, |sum, end| Some(sum.saturating_add(end.duration_ms?))),
        };
        self.builder.stop = stop;
        let mut trace = self.builder.finish(None, duration_ms);
        // Several ends are those of several runs in one session. Whether each includes the earlier ones is unknown.
        if let [end] = self.ends.as_slice() {
            trace.conversation.tokens = most(trace.conversation.tokens, end.usage);
        }
        let last = self.ends.pop();
        // The end of a successful run repeats the closing message, or its last part. Where it has another text, turns are
        // missing.
        if let Some(End { stop: Some(StopReason::Completed), text: Some(text), .. }) = &last
            && self.is_over
            && trace.final_response.as_ref().is_some_and(|closing| !closing.trim_end().ends_with(text.trim()))
        {
            (trace.final_response, trace.conversation.turns) = (None, None);
            trace.tool_calls.iter_mut().flatten().for_each(|call| call.turn = None);
        }
        if let (false, Some(end)) = (self.has_lines, last) {
            trace =
                Trace { tool_calls: None, tool_results: None, final_response: end.text.map(LazyText::from), ..trace };
            trace.conversation.turns = None;
        }
        Imported { id, group: None, seal: None, fields: Cow::Owned(fields), trace }
    }
}

/// The tokens of a run. Its end has all of them, its messages only those that were known when they were written. A run that
/// broke may end with zeros, so the greater count is used.
fn most(sum: Tokens, end: Option<Usage>) -> Tokens {
    let end = end.map_or_else(Tokens::default, Usage::with_cache_apart);
    Tokens {
        input: end.input.max(sum.input),
        output: end.output.max(sum.output),
        cached: end.cached.max(sum.cached),
        total: None,
    }
}

/// The greater of two reports, count by count: while a reply streams in, its counts only grow.
fn greater(a: Usage, b: Usage) -> Usage {
    Usage {
        input: a.input.max(b.input),
        output: a.output.max(b.output),
        total: a.total.max(b.total),
        cached: a.cached.max(b.cached),
        written: a.written.max(b.written),
    }
}

fn end(line: &Line<'_>) -> Result<End, ImportError> {
    let failed = line.is_error == Some(true);
    let stop = match line.subtype.as_deref() {
        Some("error_max_turns") => Some(StopReason::MaxTurns),
        Some("success") if !failed => line.stop_reason.as_deref().and_then(stop_reason).or(Some(StopReason::Completed)),
        Some(word) if failed || word.starts_with("error") => Some(StopReason::Error),
        _ => failed.then_some(StopReason::Error),
    };
    Ok(End {
        stop,
        duration_ms: line.duration_ms.map(|ms| ms.0),
        usage: USAGE.read(line.usage, "usage")?,
        text: line.result.and_then(wire::name),
    })
}

fn message<'l, 'a>(line: &'l Line<'a>) -> Result<&'l LineMessage<'a>, ImportError> {
    line.message.as_ref().ok_or_else(|| ImportError::new("message must be an object, but the key is missing"))
}

fn no_content() -> ImportError {
    ImportError::new("message.content must be a text or a list of blocks, but the key is missing")
}
