//! Traces that other programs recorded, as envelopes.
//!
//! One file per format. An importer reads one record as text and never guesses: what a format cannot say stays
//! unknown, and content it does not understand is refused, since a call that is dropped silently could turn a failure
//! into a pass. Formats come in two kinds. In most of them a record is a whole trace, or several. In the others a trace
//! lies in pieces (spans, session lines) over its file: pieces are sorted by their key first and put together after.

mod anthropic;
mod builder;
mod cassette;
mod claude_code;
mod content;
mod copies;
mod envelope;
mod inspect;
mod keyed;
mod langchain;
mod listed;
mod look;
mod openai_chat;
mod openai_content;
mod openai_responses;
mod otel;
mod otlp;
mod results;
mod servers;
mod spans;
mod stray;
mod tau;
mod tellings;
mod wire;

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;

use crate::json::{self, JsonError};
use crate::trace::{Trace, words};
use look::Look;
pub use servers::{PrefixError, Servers};

words! {
    /// The formats that can be read.
    Format {
        /// The envelope of this project.
        Envelope = "envelope",
        /// A cassette of this project.
        Cassette = "cassette",
        /// Messages of the Chat Completions interface of `OpenAI`.
        OpenaiChat = "openai-chat",
        /// Messages of the Messages interface of Anthropic.
        Anthropic = "anthropic",
        /// Session files and streams of Claude Code.
        ClaudeCode = "claude-code",
        /// Exports of OpenTelemetry, in the JSON of its wire.
        Otlp = "otlp",
        /// Results of tau-bench and tau2.
        Tau = "tau",
        /// Items of the Responses interface of `OpenAI`.
        OpenaiResponses = "openai-responses",
        /// Messages of `LangChain` and states of `LangGraph`.
        Langchain = "langchain",
        /// OpenTelemetry spans as flat JSON.
        Otel = "otel",
        /// Logs of Inspect.
        Inspect = "inspect",
    }
}

/// How the values of a file make traces.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unit {
    /// A value is a record of its own.
    Record,
    /// A value is one of the messages of a record; the list around it is the record.
    Message,
    /// A value is a piece of a trace whose other pieces lie elsewhere in the file.
    Piece,
}

/// What a value looks like.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sniffed {
    /// The format.
    pub format: Format,
    /// What the value is in that format.
    pub unit: Unit,
    /// By what it was told, for people: "it has `resourceSpans`".
    pub why: Cow<'static, str>,
}

/// What is known beside the records.
#[derive(Debug, Clone, Default)]
pub struct Options {
    /// How names of tools tell their server.
    pub servers: Servers,
}

/// A record as it stands in a file.
#[derive(Debug, Clone, Copy)]
pub struct Record<'a> {
    /// Its JSON.
    pub text: &'a str,
    /// What the document says before the list this record is an element of, as one JSON object: an Inspect log names its
    /// model there. None for a record that is no such element.
    pub header: Option<&'a str>,
}

/// One trace and what its format says beside it.
#[derive(Debug, Clone, PartialEq)]
pub struct Imported<'a> {
    /// The name its format gives it.
    pub id: Option<String>,
    /// The group it says it belongs to; only envelopes say.
    pub group: Option<String>,
    /// The JSON in which paths such as `--group-by` are looked up: the record itself, or for traces made of pieces an
    /// object with what all pieces share.
    pub fields: Cow<'a, str>,
    /// The trace.
    pub trace: Trace,
}

/// A piece of a trace.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Piece<'a> {
    /// Pieces of one file with the same key belong together.
    pub key: Cow<'a, str>,
    /// Its JSON, in the form that [`Format::join`] takes.
    pub text: Cow<'a, str>,
}

/// Why a record cannot be taken.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ImportError {
    /// Byte in the text of the record, where it is known.
    pub offset: Option<usize>,
    /// What is wrong, with its path: `messages[3].role must be .., found ..`.
    pub message: String,
    /// What to do about it.
    pub hint: Option<String>,
}

impl fmt::Display for ImportError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for ImportError {}

impl ImportError {
    fn new(message: impl Into<String>) -> Self {
        Self { offset: None, message: message.into(), hint: None }
    }

    fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// The same inside of something larger, whose bytes are not those of the part.
    fn at(mut self, place: &str) -> Self {
        self.offset = None;
        self.message = format!("{place}: {}", self.message);
        self
    }
}

/// Without a position: that of a text inside the record would mislead.
impl From<JsonError> for ImportError {
    fn from(error: JsonError) -> Self {
        Self::new(error.message)
    }
}

impl Format {
    /// What a value is in this format, where it could be one of it.
    fn sniff(self, look: &Look<'_>) -> Option<Sniffed> {
        let (unit, why) = match self {
            Self::Envelope => envelope::sniff(look),
            Self::Cassette => cassette::sniff(look),
            Self::OpenaiChat => openai_chat::sniff(look),
            Self::Anthropic => anthropic::sniff(look),
            Self::ClaudeCode => claude_code::sniff(look),
            Self::Otlp => otlp::sniff(look),
            Self::Tau => tau::sniff(look),
            Self::OpenaiResponses => openai_responses::sniff(look),
            Self::Langchain => langchain::sniff(look),
            Self::Otel => otel::sniff(look),
            Self::Inspect => inspect::sniff(look),
        }?;
        Some(Sniffed { format: self, unit, why })
    }

    /// What a value is in this format; `None` when it does not look like it.
    pub fn unit_of(self, text: &str) -> Option<Unit> {
        self.sniff(&Look::at(text)?).map(|found| found.unit)
    }

    /// Whether traces of this format lie in pieces over their file.
    pub fn is_in_pieces(self) -> bool {
        matches!(self, Self::ClaudeCode | Self::Otlp | Self::Otel)
    }

    /// The traces of one record. For formats whose traces lie in pieces use [`Format::split`] and [`Format::join`].
    pub fn read<'a>(self, record: Record<'a>, options: &Options) -> Result<Vec<Imported<'a>>, ImportError> {
        wire::check(record.text)?;
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
            Self::ClaudeCode | Self::Otlp | Self::Otel => {
                let pieces = self.pieces(record.text)?;
                let mut order: BTreeMap<&str, usize> = BTreeMap::new();
                let mut keyed: Vec<(&str, Vec<&str>)> = Vec::new();
                for piece in &pieces {
                    let next = keyed.len();
                    let at = *order.entry(&piece.key).or_insert(next);
                    if at == next {
                        keyed.push((&piece.key, Vec::new()));
                    }
                    keyed[at].1.push(&piece.text);
                }
                let mut out = Vec::new();
                for (key, texts) in keyed {
                    out.extend(self.join(key, &texts, options)?);
                }
                Ok(out)
            }
        }
    }

    /// The pieces in one value of a file; none when the value is only bookkeeping. Formats that are not in pieces have
    /// none.
    pub fn split(self, text: &str) -> Result<Vec<Piece<'_>>, ImportError> {
        wire::check(text)?;
        self.pieces(text)
    }

    fn pieces(self, text: &str) -> Result<Vec<Piece<'_>>, ImportError> {
        match self {
            Self::ClaudeCode => claude_code::split(text),
            Self::Otlp => otlp::split(text),
            Self::Otel => otel::split(text),
            _ => Ok(Vec::new()),
        }
    }

    /// The traces made of all pieces with one key, in the order of the file.
    pub fn join(self, key: &str, pieces: &[&str], options: &Options) -> Result<Vec<Imported<'static>>, ImportError> {
        match self {
            Self::ClaudeCode => claude_code::join(key, pieces, options),
            Self::Otlp => otlp::join(key, pieces, options),
            Self::Otel => otel::join(key, pieces, options),
            _ => Ok(Vec::new()),
        }
    }
}

/// What a value looks like; `None` when it looks like nothing known. Text that is no JSON looks like nothing.
pub fn sniff(text: &str) -> Option<Sniffed> {
    let look = Look::at(text)?;
    // Messages of Chat Completions are the plainest there are: what others add to theirs is looked for first.
    let others = Format::ALL.iter().filter(|format| **format != Format::OpenaiChat);
    others.chain([&Format::OpenaiChat]).find_map(|format| format.sniff(&look))
}

/// The keys of a value that looks like nothing known, for a message.
pub fn describe(text: &str) -> String {
    match Look::at(text) {
        Some(Look::Object(map)) if map.is_empty() => "an empty object".to_owned(),
        Some(Look::Object(map)) => {
            let keys: Vec<&str> = map.keys().map(|key| &**key).take(8).collect();
            json::cut(&format!("an object with the keys {}", keys.join(", ")), 200)
        }
        Some(Look::List(items)) if items.is_empty() => "an empty list".to_owned(),
        Some(Look::List(items)) => format!("a list of {}", items.len()),
        Some(Look::Other) => "neither an object nor a list".to_owned(),
        None => "no JSON".to_owned(),
    }
}
