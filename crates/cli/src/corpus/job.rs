//! A job: values to read, a trace to assemble, or something to report.

use std::sync::Arc;

use mcptest_core::diag::{Code, Failure};
use mcptest_core::import::{self, Format, ImportError, Imported, Options, Record};
use mcptest_core::json;
use mcptest_core::score::{RecordKey, RecordView, find, group_of};
use mcptest_core::target::Target;
use mcptest_core::trace::{SharedText, sharing};
use serde_json::Value;

use super::frames::Batch;

/// A job from one source.
#[derive(Debug)]
pub(crate) struct Job {
    /// The source, as typed.
    pub(crate) source: Arc<str>,
    pub(crate) what: Payload,
}

#[derive(Debug)]
pub(crate) enum Payload {
    Records {
        batch: Batch,
        /// `None` if the format is unknown.
        format: Option<Format>,
        /// Whether the format was detected from an earlier record.
        is_guessed: bool,
    },
    /// All pieces of one trace, unless its source is broken: then more may belong to it.
    Pieces { format: Format, key: String, texts: Vec<SharedText>, offset: u64, is_broken: bool },
    /// Something that cannot be read.
    Fault(RecordError),
    /// A note for the user.
    Note(String),
}

/// A trace, its group and the offset of its record, or why there is none.
pub(crate) type Found<'a> = Result<(Imported<'a>, Option<String>, u64), Unread>;

/// A record that is no trace. It is still a run: its group must not pass without it.
#[derive(Debug)]
pub(crate) struct Unread {
    pub(crate) fault: RecordError,
    /// What the record says of itself, where that much of it can be read.
    pub(crate) id: Option<String>,
    pub(crate) group: Option<String>,
}

impl Unread {
    /// A record of which only its input is known.
    fn of_source(fault: RecordError, group_by: Option<&RecordKey>, source: &str) -> Self {
        let key = group_by.filter(|key| !matches!(key, RecordKey::Path(_)));
        Self { fault, id: None, group: key.and_then(|key| group_in("", key, source)) }
    }

    /// A record with this text. It may be cut off: what comes before the break still counts.
    fn of_text(fault: RecordError, text: &str, is_envelope: bool, group_by: Option<&RecordKey>, source: &str) -> Self {
        let own = |key: &str| match Target::parse(key).map(|path| find(text, &path)) {
            Ok(Ok(Some(Value::String(text)))) => Some(text),
            _ => None,
        };
        let group = match group_by {
            None | Some(RecordKey::Group) => own("group").filter(|_| is_envelope),
            Some(key) => group_in(text, key, source),
        };
        Self { fault, id: own("id"), group }
    }
}

/// The group that a key selects, if any.
fn group_in(text: &str, key: &RecordKey, source: &str) -> Option<String> {
    match key.value(&RecordView { fields: text, source, group: None }) {
        Ok(Some(Value::String(text))) => Some(text),
        Ok(Some(Value::Null) | None) | Err(_) => None,
        Ok(Some(other)) => Some(json::canonical(&other)),
    }
}

/// Why something cannot be read. The place is in the unpacked bytes of its source; `None` for the whole source.
pub(crate) type RecordError = Failure<Option<u64>>;

/// Where it is, for people.
pub(crate) fn place_of(error: &RecordError) -> String {
    error.place.map_or_else(|| "input".to_owned(), |offset| format!("byte {offset}"))
}

/// An error of an importer in a record that begins at `start`.
pub(crate) fn in_source(error: ImportError, start: u64) -> RecordError {
    let inside = error.place.map_or(0, |offset| offset as u64);
    error.moved(Some(start + inside))
}

impl Job {
    /// About how many bytes it and its result take in memory.
    pub(super) fn bytes(&self) -> usize {
        const EACH: usize = 4096;
        let texts = match &self.what {
            Payload::Records { batch, .. } => batch.text.capacity(),
            Payload::Pieces { texts, .. } => texts.iter().map(|text| text.len()).sum(),
            Payload::Fault(_) | Payload::Note(_) => 0,
        };
        EACH + texts
    }

    /// The buffers of a job that is done, for reuse.
    pub(super) fn buffers(self) -> Vec<Arc<String>> {
        match self.what {
            Payload::Records { batch, .. } => vec![batch.text],
            Payload::Pieces { texts, .. } => {
                let parts = texts.iter().filter(|text| text.is_part()).map(SharedText::whole);
                let mut buffers: Vec<Arc<String>> = parts.map(Arc::clone).collect();
                buffers.dedup_by(|one, other| Arc::ptr_eq(one, other));
                buffers
            }
            Payload::Fault(_) | Payload::Note(_) => Vec::new(),
        }
    }

    /// The note, if this job is one.
    pub(crate) fn note(&self) -> Option<String> {
        match &self.what {
            Payload::Note(note) => Some(note.clone()),
            _ => None,
        }
    }

    /// Passes on every trace of this job with its group, or why there is none. Returns how many traces of spans were left out,
    /// because nothing in them is of an agent.
    pub(crate) fn read(
        &self,
        options: &Options,
        group_by: Option<&RecordKey>,
        take: &mut dyn FnMut(Found<'_>),
    ) -> usize {
        let grouped = |one: Imported<'_>, offset: u64, take: &mut dyn FnMut(Found<'_>)| {
            take(match group_of(&one, group_by, &self.source) {
                Ok(group) => Ok((one, group, offset)),
                Err(error) => Err(Unread { fault: in_source(error, offset), id: one.id, group: None }),
            });
        };
        let mut left_out = 0;
        let unread = |fault: RecordError| Unread::of_source(fault, group_by, &self.source);
        match &self.what {
            Payload::Records { batch, format, is_guessed } => {
                for range in &batch.values {
                    let record = Record { text: &batch.text[range.clone()], header: batch.header.as_deref() };
                    let start = batch.offset + range.start as u64;
                    match sharing([&batch.text], || record_of(record, *format, *is_guessed, options)) {
                        Ok(traces) => traces.into_iter().for_each(|trace| grouped(trace, start, take)),
                        Err(error) => {
                            let is_envelope = format.is_none_or(|format| format == Format::Envelope);
                            let fault = in_source(error, start);
                            take(Err(Unread::of_text(fault, record.text, is_envelope, group_by, &self.source)));
                        }
                    }
                }
            }
            Payload::Pieces { format, key, texts, offset, is_broken } => {
                let parts: Vec<&str> = texts.iter().map(|text| &**text).collect();
                match sharing(texts.iter().map(SharedText::whole), || format.join(key, &parts, options)) {
                    Ok(traces) => {
                        left_out += usize::from(traces.is_empty() && is_of_spans(*format));
                        for trace in traces {
                            grouped(if *is_broken { trace.incomplete() } else { trace }, *offset, take);
                        }
                    }
                    Err(error) => {
                        let error = ImportError { place: None, message: format!("the trace {key}: {error}"), ..error };
                        take(Err(unread(in_source(error, *offset))));
                    }
                }
            }
            Payload::Fault(fault) => take(Err(unread(fault.clone()))),
            Payload::Note(_) => {}
        }
        left_out
    }
}

/// Whether a format has spans of any program, not only of agents.
fn is_of_spans(format: Format) -> bool {
    matches!(format, Format::Otlp | Format::Otel | Format::Langfuse | Format::Langsmith)
}

/// The traces of a record. If the format was detected from another record, this one may have another format.
fn record_of<'a>(
    record: Record<'a>,
    format: Option<Format>,
    is_guessed: bool,
    options: &Options,
) -> Result<Vec<Imported<'a>>, ImportError> {
    let first = match format {
        Some(format) => match format.read(record, options) {
            Ok(traces) => return Ok(traces),
            Err(error) if !is_guessed => return Err(error),
            Err(error) => Some(error),
        },
        None => None,
    };
    let other = import::sniff(record.text).map(|found| found.format).filter(|other| Some(*other) != format);
    match (other, first) {
        (Some(other), _) if !other.is_in_pieces() => other.read(record, options),
        (_, Some(error)) => Err(error),
        (_, None) => Err(unknown(record.text)),
    }
}

/// A record of no known format.
pub(super) fn unknown(text: &str) -> ImportError {
    // For invalid JSON, its error says more.
    if let Err(error) = Format::Envelope.read(Record { text, header: None }, &Options::default())
        && error.place.is_some()
    {
        return error;
    }
    let known: Vec<&str> = Format::ALL.iter().map(|format| format.as_str()).collect();
    ImportError::error(None, format!("unknown format: {}", import::describe(text))).code(Code::UnknownFormat).hint(
        import::hint_for_unknown(text)
            .map_or_else(|| format!("set it with --from: {}", known.join(", ")), str::to_owned),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_job_is_free_so_that_a_bundle_has_an_end() {
        let fault = Payload::Fault(RecordError::error(None, "broken"));
        for what in [fault, Payload::Note("read as otel".to_owned())] {
            assert!(Job { source: "a".into(), what }.bytes() >= 1024);
        }
    }
}
