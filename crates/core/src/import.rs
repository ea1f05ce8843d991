//! Traces that other programs recorded, as envelopes.
//!
//! One module per format. Formats of messages read their own JSON into a [`Message`](message::Message) of text, calls and
//! answers, and [`Builder`](builder::Builder) makes a trace of messages. Formats of spans merge messages with spans.
//!
//! An importer never guesses: what a format does not record stays unknown, and content it does not understand is refused,
//! since a call that is dropped silently could turn a failure into a pass. Most formats have one or several whole traces in
//! a record. In the others the pieces of a trace (spans, session lines) are spread over the file: pieces are grouped by
//! their key first and joined after.

mod adk;
mod anthropic;
mod atif;
mod bedrock;
mod bounded_list;
mod builder;
mod cassette;
mod claude_code;
mod codex;
mod content;
mod copy_budget;
mod duplicates;
mod envelope;
mod gemini;
mod gemini_cli;
mod inspect;
mod langchain;
mod langfuse;
mod langsmith;
pub(crate) mod message;
mod mock_log;
mod openai_agents;
mod openai_chat;
mod openai_content;
mod openai_responses;
mod openhands;
mod otel;
mod otlp;
mod otlp_protobuf;
mod pydantic_ai;
mod results;
mod servers;
mod shape;
mod spans;
pub(crate) mod stream;
mod swe_agent;
mod tau;
mod unread_calls;
mod usage;
mod vercel;
mod wire;

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;

use serde_json::Value;

use crate::cassette::{OLDEST, Seal};
use crate::diag::{Code, Failure};
use crate::json::{self, JsonError};
use crate::ledger::Interface;
use crate::trace::{Trace, words};
use message::{Message, Place};
pub use otlp_protobuf::otlp_json;
pub use servers::{PrefixError, Servers};
use shape::Shape;

words! {
    /// The formats that can be read.
    Format {
        /// The envelope of this project.
        Envelope = "envelope",
        /// A cassette of this project.
        Cassette = "cassette",
        /// Messages of the Chat Completions API of `OpenAI`.
        OpenaiChat = "openai-chat",
        /// Messages of the Messages API of Anthropic.
        Anthropic = "anthropic",
        /// Session files and streams of Claude Code.
        ClaudeCode = "claude-code",
        /// Exports of OpenTelemetry in OTLP.
        Otlp = "otlp",
        /// Results of tau-bench and tau2.
        Tau = "tau",
        /// Items of the Responses API of `OpenAI`.
        OpenaiResponses = "openai-responses",
        /// Messages of `LangChain` and states of `LangGraph`.
        Langchain = "langchain",
        /// OpenTelemetry spans as flat JSON.
        Otel = "otel",
        /// Logs of Inspect.
        Inspect = "inspect",
        /// Messages of the AI SDK of Vercel.
        VercelAi = "vercel-ai",
        /// Messages of Pydantic AI.
        PydanticAi = "pydantic-ai",
        /// Messages of the Converse API of Bedrock and of Strands.
        Bedrock = "bedrock",
        /// Sessions and evaluation sets of the Agent Development Kit.
        Adk = "adk",
        /// Trajectories in ATIF.
        Atif = "atif",
        /// Spans of the tracing of the `OpenAI` Agents SDK.
        OpenaiAgents = "openai-agents",
        /// Observations that Langfuse exports.
        Langfuse = "langfuse",
        /// Runs that `LangSmith` exports.
        Langsmith = "langsmith",
        /// Events of `OpenHands`.
        Openhands = "openhands",
        /// Trajectories of SWE-agent.
        SweAgent = "swe-agent",
        /// Events and session files of Codex CLI.
        Codex = "codex",
        /// Events and session files of Gemini CLI.
        GeminiCli = "gemini-cli",
        /// The log of `mcptest mock`.
        MockLog = "mock-log",
    }
}

impl Format {
    /// What a file of this format has, for lists of formats.
    pub fn about(self) -> &'static str {
        match self {
            Self::Envelope => "traces in mcptest's own format, as `mcptest convert` writes them",
            Self::Cassette => "recorded runs of `mcptest run --record`",
            Self::OpenaiChat => "messages of OpenAI Chat Completions, with or without the reply",
            Self::Anthropic => "messages of Anthropic Messages, with or without the reply",
            Self::ClaudeCode => "session files and `stream-json` output of Claude Code",
            Self::Otlp => "OpenTelemetry exports as JSON or protobuf, one or many",
            Self::Tau => "results of tau-bench and tau2",
            Self::OpenaiResponses => "items of OpenAI Responses",
            Self::Langchain => "messages of LangChain, states of LangGraph",
            Self::Otel => "OpenTelemetry spans as flat JSON, one per record",
            Self::Inspect => "logs of Inspect, as .eval or JSON",
            Self::VercelAi => "messages of the Vercel AI SDK",
            Self::PydanticAi => "messages of Pydantic AI",
            Self::Bedrock => "messages of Bedrock Converse and Strands",
            Self::Adk => "sessions and evaluation sets of the Agent Development Kit",
            Self::Atif => "trajectories in ATIF",
            Self::OpenaiAgents => "trace spans of the OpenAI Agents SDK",
            Self::Langfuse => "observations that Langfuse exports",
            Self::Langsmith => "runs that LangSmith exports",
            Self::Openhands => "events of OpenHands",
            Self::SweAgent => "trajectories of SWE-agent",
            Self::Codex => "events and session files of Codex CLI",
            Self::GeminiCli => "events and session files of Gemini CLI",
            Self::MockLog => "the log of `mcptest mock`",
        }
    }
}

/// How the values of a file make traces.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unit {
    /// A value is a record of its own.
    Record,
    /// A value is one of the messages of a record; the list around it is the record.
    Message,
    /// A value is a piece of a trace whose other pieces are elsewhere in the file.
    Piece,
}

/// The format of a value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sniffed {
    /// The format.
    pub format: Format,
    /// What the value is in that format.
    pub unit: Unit,
    /// What shows the format, for messages: "it has `resourceSpans`".
    pub why: Cow<'static, str>,
}

/// Options for reading records.
#[derive(Debug, Clone, Default)]
pub struct Options {
    /// How to find the server of a tool by its name.
    pub servers: Servers,
}

/// A record of a file.
#[derive(Debug, Clone, Copy)]
pub struct Record<'a> {
    /// Its JSON.
    pub text: &'a str,
    /// The keys of the document before the list that this record is an element of, as one JSON object: an Inspect log names
    /// its model there. `None` for a record that is not such an element.
    pub header: Option<&'a str>,
}

/// One trace, with its name and group.
#[derive(Debug, Clone, PartialEq)]
pub struct Imported<'a> {
    /// The name its format gives it.
    pub id: Option<String>,
    /// The group it belongs to; only envelopes have one.
    pub group: Option<String>,
    /// What the cassette it comes from says of itself; `None` for anything else.
    pub seal: Option<Seal>,
    /// The JSON in which paths such as that of `--group-by` are looked up: the record itself, or for a trace in pieces an
    /// object with what all pieces share.
    pub fields: Cow<'a, str>,
    /// The trace.
    pub trace: Trace,
}

impl Imported<'_> {
    /// Whether it comes from a cassette that was edited after it was recorded.
    pub fn is_edited(&self) -> bool {
        self.seal.is_some_and(|seal| seal.edited)
    }

    /// Whether it comes from a cassette in which an edit would go unnoticed.
    pub fn is_of_oldest_version(&self) -> bool {
        self.seal.is_some_and(|seal| seal.version == OLDEST)
    }

    /// The same trace, marked as one that may lack pieces: no gate decides on it.
    #[must_use]
    pub fn incomplete(mut self) -> Self {
        let why = "a part of its file could not be read, and may belong to it".to_owned();
        self.trace.program.get_or_insert_default().incomplete = Some(why);
        self
    }
}

/// A piece of a trace.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Piece<'a> {
    /// Pieces of one file with the same key belong together.
    pub key: Cow<'a, str>,
    /// Its JSON, in the form that [`Format::join`] takes.
    pub text: Cow<'a, str>,
}

/// Why a record cannot be read. The place is a byte in the text of the record, where it is known; the message has the path,
/// as in `messages[3].role must be .., found ..`.
pub type ImportError = Failure<Option<usize>>;

impl ImportError {
    fn new(message: impl Into<String>) -> Self {
        Self::error(None, message).code(Code::InvalidRecord)
    }

    /// A key that must have one of some words.
    fn must_be(place: impl fmt::Display, expected: &str, found: Option<&str>) -> Self {
        let found = found.map_or_else(|| "no such key".to_owned(), |word| format!("{word:?}"));
        Self::new(format!("{place} must be {expected}, found {found}"))
    }

    /// A part, an item or an event of an unknown type.
    fn unknown(key: impl fmt::Display, kind: &str) -> Self {
        Self::new(format!("{key} {kind:?} is not known, and could be a call or an answer"))
            .hint("a trace without it could pass by mistake")
    }

    /// A message or a reply without the messages before it. What was called before is unknown, so it is not a whole run.
    fn reply_alone(key: &str) -> Self {
        Self::new(format!("it has no `{key}`: a message or a reply alone is not a whole run"))
            .hint(format!("calls before it would be missing; add everything that was sent as `{key}`"))
    }

    /// The same for a list.
    fn reply_alone_in_list() -> Self {
        Self::new("the list has only a message of the model: a message or a reply alone is not a whole run")
            .hint("calls before it would be missing; put everything that was sent before it into the list")
    }

    /// The error of a part of the record. The byte offset of the part is not that of the record.
    fn at(mut self, place: impl fmt::Display) -> Self {
        self.place = None;
        self.message = format!("{place}: {}", self.message);
        self
    }
}

/// Without an offset: the text may be inside of another text.
impl From<JsonError> for ImportError {
    fn from(error: JsonError) -> Self {
        Self::new(error.message)
    }
}

impl Format {
    fn sniff(self, shape: &Shape<'_>) -> Option<Sniffed> {
        let (unit, why) = match self {
            Self::Envelope => envelope::sniff(shape),
            Self::Cassette => cassette::sniff(shape),
            Self::OpenaiChat => openai_chat::sniff(shape),
            Self::Anthropic => anthropic::sniff(shape),
            Self::ClaudeCode => claude_code::sniff(shape),
            Self::Otlp => otlp::sniff(shape),
            Self::Tau => tau::sniff(shape),
            Self::OpenaiResponses => openai_responses::sniff(shape),
            Self::Langchain => langchain::sniff(shape),
            Self::Otel => otel::sniff(shape),
            Self::Inspect => inspect::sniff(shape),
            Self::VercelAi => vercel::sniff(shape),
            Self::PydanticAi => pydantic_ai::sniff(shape),
            Self::Bedrock => bedrock::sniff(shape),
            Self::Adk => adk::sniff(shape),
            Self::Atif => atif::sniff(shape),
            Self::OpenaiAgents => openai_agents::sniff(shape),
            Self::Langfuse => langfuse::sniff(shape),
            Self::Langsmith => langsmith::sniff(shape),
            Self::Openhands => openhands::sniff(shape),
            Self::SweAgent => swe_agent::sniff(shape),
            Self::Codex => codex::sniff(shape),
            Self::GeminiCli => gemini_cli::sniff(shape),
            Self::MockLog => mock_log::sniff(shape),
        }?;
        Some(Sniffed { format: self, unit, why })
    }

    /// What a value is in this format; `None` when it does not look like this format.
    pub fn unit_of(self, text: &str) -> Option<Unit> {
        let shape = Shape::of(text)?;
        // A plain message shows nothing of its format.
        let is_message =
            matches!(self, Self::OpenaiChat | Self::OpenaiResponses | Self::Anthropic | Self::VercelAi | Self::Bedrock)
                && shape.has(&["role", "content"])
                && !shape.has(&["messages"]);
        self.sniff(&shape).map(|found| found.unit).or(is_message.then_some(Unit::Message))
    }

    /// Whether the traces of this format are in pieces.
    pub fn is_in_pieces(self) -> bool {
        matches!(
            self,
            Self::ClaudeCode
                | Self::Otlp
                | Self::Otel
                | Self::OpenaiAgents
                | Self::Langfuse
                | Self::Langsmith
                | Self::Codex
                | Self::GeminiCli
                | Self::MockLog
        )
    }

    /// The traces of one record. For a whole file of a format in pieces use [`Format::split`] and [`Format::join`].
    pub fn read<'a>(self, record: Record<'a>, options: &Options) -> Result<Vec<Imported<'a>>, ImportError> {
        record.header.map_or(Ok(()), wire::check)?;
        match self {
            Self::Envelope => envelope::read(record),
            Self::Cassette => cassette::read(record),
            Self::OpenaiChat => openai_chat::read(record, options),
            Self::Anthropic => anthropic::read(record, options),
            Self::Tau => tau::read(record, options),
            Self::OpenaiResponses => openai_responses::read(record, options),
            Self::Langchain => langchain::read(record, options),
            Self::Inspect => inspect::read(record, options),
            Self::VercelAi => vercel::read(record, options),
            Self::PydanticAi => pydantic_ai::read(record, options),
            Self::Bedrock => bedrock::read(record, options),
            Self::Adk => adk::read(record, options),
            Self::Atif => atif::read(record, options),
            Self::Openhands => openhands::read(record, options),
            Self::SweAgent => swe_agent::read(record, options),
            Self::ClaudeCode
            | Self::Otlp
            | Self::Otel
            | Self::OpenaiAgents
            | Self::Langfuse
            | Self::Langsmith
            | Self::Codex
            | Self::GeminiCli
            | Self::MockLog => {
                let pieces = self.split(record.text)?;
                let mut order: BTreeMap<&str, usize> = BTreeMap::new();
                let mut groups: Vec<(&str, Vec<&str>)> = Vec::new();
                for piece in &pieces {
                    let next = groups.len();
                    let at = *order.entry(&piece.key).or_insert(next);
                    if at == next {
                        groups.push((&piece.key, Vec::new()));
                    }
                    groups[at].1.push(&piece.text);
                }
                let mut out = Vec::new();
                for (key, texts) in groups {
                    out.extend(self.join(key, &texts, options)?);
                }
                Ok(out)
            }
        }
    }

    /// The pieces in one value of a file. A value may have none, and so have formats that are not in pieces.
    pub fn split(self, text: &str) -> Result<Vec<Piece<'_>>, ImportError> {
        match self {
            Self::ClaudeCode => claude_code::split(text),
            Self::Otlp => otlp::split(text),
            Self::Otel => otel::split(text),
            Self::OpenaiAgents => openai_agents::split(text),
            Self::Langfuse => langfuse::split(text),
            Self::Langsmith => langsmith::split(text),
            // Every value of the file is a piece of one trace.
            Self::Codex | Self::GeminiCli | Self::MockLog => {
                wire::check(text)?;
                Ok(vec![Piece { key: "".into(), text: text.into() }])
            }
            _ => Ok(Vec::new()),
        }
    }

    /// Whether a piece has anything of an agent. Spans of other programs have not, and a trace of such spans is left out.
    pub fn has_agent(self, piece: &str) -> bool {
        match self {
            Self::Otlp => otlp::has_agent(piece),
            Self::Otel => otel::has_agent(piece),
            Self::Langfuse => spans::is_of_agent(piece, langfuse::read),
            Self::Langsmith => spans::is_of_agent(piece, langsmith::read),
            _ => true,
        }
    }

    /// The traces made of all pieces with one key, in the order of the file.
    pub fn join(self, key: &str, pieces: &[&str], options: &Options) -> Result<Vec<Imported<'static>>, ImportError> {
        match self {
            Self::ClaudeCode => claude_code::join(key, pieces, options),
            Self::Otlp => otlp::join(key, pieces, options),
            Self::Otel => otel::join(key, pieces, options),
            Self::OpenaiAgents => openai_agents::join(key, pieces, options),
            Self::Langfuse => spans::join(key, pieces, langfuse::read, options),
            Self::Langsmith => spans::join(key, pieces, langsmith::read, options),
            Self::Codex => codex::join(key, pieces, options),
            Self::GeminiCli => gemini_cli::join(key, pieces, options),
            Self::MockLog => mock_log::join(key, pieces, options),
            _ => Ok(Vec::new()),
        }
    }
}

/// What a message of a model request says, or an item or a content; `None` for one that says nothing, such as a system prompt.
pub(crate) fn request_message(
    interface: Interface,
    value: &Value,
    index: usize,
) -> Result<Option<Message>, ImportError> {
    let (text, place) = (value.to_string(), |list| Place::Element(list, index));
    wire::check(&text)?;
    match interface {
        Interface::OpenaiChat => openai_chat::message(&text, place("messages")),
        Interface::OpenaiResponses => openai_responses::message(&text, place("input")),
        Interface::Anthropic => anthropic::message(&text, place("messages")),
        Interface::Gemini => gemini::message(&text, place("contents")),
    }
}

/// What the reply to a model request says.
pub(crate) fn reply(interface: Interface, body: &Value) -> Result<Message, ImportError> {
    let text = body.to_string();
    match interface {
        Interface::OpenaiChat => openai_chat::reply(&text),
        Interface::OpenaiResponses => openai_responses::reply(&text),
        Interface::Anthropic => anthropic::reply(&text),
        Interface::Gemini => gemini::reply(&text),
    }
}

/// The format that a value looks like; `None` for no known format, or for text that is not JSON.
pub fn sniff(text: &str) -> Option<Sniffed> {
    let shape = Shape::of(text)?;
    // Messages of Chat Completions have nothing that others lack, so they come last.
    let others = Format::ALL.iter().filter(|format| **format != Format::OpenaiChat);
    others.chain([&Format::OpenaiChat]).find_map(|format| format.sniff(&shape))
}

/// What to do about a value of an unknown format that is known from elsewhere.
pub fn hint_for_unknown(text: &str) -> Option<&'static str> {
    let shape = Shape::of(text)?;
    if shape.has(&["query", "expected_tool_use"]) {
        return Some(
            "an older evaluation set of the Agent Development Kit: `AgentEvaluator.migrate_eval_data_to_new_schema` converts it",
        );
    }
    let ids = ["context.trace_id", "trace_id"].map(|key| shape.get(key).map(serde_json::value::RawValue::get));
    if ids.iter().flatten().any(|value| value.starts_with('{')) {
        return Some(
            "the columns of a table: write its rows, in pandas with `to_json(path, orient=\"records\", lines=True)`",
        );
    }
    if ids[0].is_some() && !shape.has(&["context.span_id"]) {
        return Some(
            "the spans of a table without their ids: write them too, in pandas with `reset_index()` before `to_json`",
        );
    }
    if shape.child("message").is_some_and(|message| message.has(&["role"])) && shape.has(&["message_id"]) {
        return Some(
            "one message of a Strands session: `jq -s 'sort_by(.message_id) | map(.message)' *.json` joins them",
        );
    }
    let is_session = shape.has(&["context", "events"]) || shape.has(&["context", "event_logs"]);
    is_session.then_some("a session of an Agent Development Kit before 1.0: record it with a current version")
}

/// Describes a value of an unknown format, for a message.
pub fn describe(text: &str) -> String {
    match Shape::of(text) {
        Some(Shape::Object(map)) if map.is_empty() => "an empty object".to_owned(),
        Some(Shape::Object(map)) => {
            let keys: Vec<&str> = map.keys().map(|key| &**key).take(8).collect();
            json::cut(&format!("an object with the keys {}", keys.join(", ")), 200)
        }
        Some(Shape::List(items)) if items.is_empty() => "an empty list".to_owned(),
        Some(Shape::List(items)) => format!("a list of {}", items.len()),
        Some(Shape::Other) => "neither an object nor a list".to_owned(),
        None => "not JSON".to_owned(),
    }
}
