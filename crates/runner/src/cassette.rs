//! The file of a recorded run: where it is stored, what it contains, and when it no longer matches the suite.

mod inputs;
mod inventory;
mod ledgers;
mod orphans;
mod store;

use std::fmt;
use std::path::{Path, PathBuf};

use mcptest_core::cassette;
pub use mcptest_core::cassette::{OLDEST, Unreadable, VERSION, fingerprint};
use mcptest_core::diag::{Code, shell_word};
use mcptest_core::json;
use mcptest_core::redact::short_hash;
use mcptest_core::trace::Trace;
use serde_json::{Map, Value};

pub use inputs::inputs;
pub use inventory::{Entry, State, inventory};
pub use ledgers::ledger_path;
pub use orphans::Orphans;
pub use store::{Accepted, Folder, Lock, accept};

/// Longest readable part of a slug.
const LONGEST_SLUG: usize = 48;

#[derive(Debug, Clone, PartialEq)]
pub struct Cassette {
    pub test: String,
    pub model: String,
    /// The run, from 1.
    pub run: u64,
    /// The inputs from the suite at the time of recording.
    pub inputs: Value,
    /// What the servers reported about themselves; never compared.
    pub observed: Value,
    /// An additional question to the model; shown, never judged.
    pub advisory: Option<Value>,
    /// The SHA-256 of the ledgers of a program, which are in a file next to this one.
    pub ledger: Option<String>,
    pub trace: Trace,
    /// The format version that it was read from; [`VERSION`] is written.
    pub version: u64,
    /// It was edited after recording, and the edit was accepted.
    pub edited: bool,
}

/// Why a cassette cannot be used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CassetteError {
    Missing {
        path: PathBuf,
    },
    /// It cannot be read or written.
    Io {
        path: PathBuf,
        what: &'static str,
        why: String,
        code: Code,
    },
    /// It is not a cassette.
    Broken {
        path: PathBuf,
        /// What is wrong, and where.
        why: String,
    },
    /// It has another format version.
    Version {
        path: PathBuf,
        found: String,
    },
    /// It was edited after recording, and the edit was not accepted.
    Edited {
        path: PathBuf,
    },
    /// Its parts contradict each other.
    Contradictory {
        path: PathBuf,
        why: String,
    },
    Stale {
        path: PathBuf,
        /// Which fields differ, and how.
        changes: String,
    },
    /// What was recorded could not be read back, so it was not written.
    Unkept {
        path: PathBuf,
        /// What is wrong, and where.
        why: String,
    },
    /// The recording has no ledger that a rerun could use.
    NoLedger {
        path: PathBuf,
        why: String,
    },
    /// The ledger of a program is missing, or belongs to another recording.
    Ledger {
        path: PathBuf,
        why: String,
    },
    /// There is a symbolic link where a recording should be written.
    Linked {
        path: PathBuf,
    },
    /// There are recordings where others should be moved.
    Taken {
        path: PathBuf,
    },
    /// Another process records into the same folder.
    Locked {
        path: PathBuf,
    },
}

impl CassetteError {
    /// A file whose text cannot be used.
    fn unreadable(path: &Path, why: Unreadable) -> Self {
        let path = path.to_owned();
        match why {
            Unreadable::Broken(why) => Self::Broken { path, why },
            Unreadable::Version(found) => Self::Version { path, found },
            Unreadable::Edited => Self::Edited { path },
            Unreadable::Contradictory(why) => Self::Contradictory { path, why },
        }
    }

    /// The code that explains it.
    pub fn code(&self) -> Code {
        match self {
            Self::Missing { .. } => Code::NoRecording,
            Self::Io { code, .. } => *code,
            Self::Broken { .. } | Self::Ledger { .. } => Code::BrokenCassette,
            Self::Version { .. } | Self::NoLedger { .. } => Code::CassetteVersion,
            Self::Edited { .. } => Code::EditedCassette,
            Self::Contradictory { .. } => Code::InconsistentCassette,
            Self::Stale { .. } => Code::StaleCassette,
            Self::Unkept { .. } => Code::RecordingTooLarge,
            Self::Linked { .. } => Code::SymbolicLink,
            Self::Locked { .. } => Code::RecordingInProgress,
            Self::Taken { .. } => Code::FileExists,
        }
    }

    /// What to do about it. `record` says how to record the run.
    pub fn hint(&self, record: &str) -> String {
        match self {
            Self::Missing { .. } | Self::Stale { .. } | Self::Version { .. } | Self::NoLedger { .. } => {
                record.to_owned()
            }
            Self::Broken { .. } | Self::Contradictory { .. } | Self::Ledger { .. } => {
                format!("restore the file, or {record}")
            }
            Self::Edited { path } => {
                let accept = shell_word(&path.to_string_lossy())
                    .map_or_else(String::new, |path| format!("; to keep the edit: mcptest cassette accept {path}"));
                format!("restore the file, or {record}{accept}")
            }
            Self::Taken { .. } => "remove them first: `mcptest cassette prune`".to_owned(),
            Self::Unkept { .. } => "make the tools of this test return less".to_owned(),
            Self::Locked { .. } => "wait until it finishes".to_owned(),
            Self::Linked { .. } => "replace it with a regular file or folder; only replay follows links".to_owned(),
            Self::Io { what: "read", .. } => "check that it is a regular file and readable".to_owned(),
            Self::Io { .. } => "check that the folder is writable and the disk has space".to_owned(),
        }
    }

    /// What is wrong, without the place.
    pub fn why(&self) -> String {
        match self {
            Self::Missing { .. } => "there is no recording of this run".to_owned(),
            Self::Io { what, why, .. } => format!("cannot be {what}: {why}"),
            Self::Broken { why, .. } | Self::Ledger { why, .. } | Self::NoLedger { why, .. } => why.clone(),
            Self::Version { found, .. } => Unreadable::Version(found.clone()).to_string(),
            Self::Edited { .. } => Unreadable::Edited.to_string(),
            Self::Contradictory { why, .. } => Unreadable::Contradictory(why.clone()).to_string(),
            Self::Stale { changes, .. } => format!("stale: {changes}"),
            Self::Unkept { why, .. } => format!("not written, because it could not be read back: {why}"),
            Self::Linked { .. } => "is a symbolic link, and recordings are not written through links".to_owned(),
            Self::Taken { .. } => "recordings already exist and are not overwritten".to_owned(),
            Self::Locked { .. } => "another recording is in progress".to_owned(),
        }
    }
}

impl fmt::Display for CassetteError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            // A missing file is not a place to look at.
            Self::Missing { path } => write!(f, "{}: {}", self.why(), path.display()),
            Self::Io { path, .. }
            | Self::Broken { path, .. }
            | Self::Version { path, .. }
            | Self::Edited { path }
            | Self::Contradictory { path, .. }
            | Self::Stale { path, .. }
            | Self::Unkept { path, .. }
            | Self::Ledger { path, .. }
            | Self::NoLedger { path, .. }
            | Self::Linked { path }
            | Self::Taken { path }
            | Self::Locked { path } => write!(f, "{}: {}", path.display(), self.why()),
        }
    }
}

impl std::error::Error for CassetteError {}

/// Names that folders cannot have on Windows, in any case.
const RESERVED: [&str; 22] = [
    "con", "prn", "aux", "nul", "com1", "com2", "com3", "com4", "com5", "com6", "com7", "com8", "com9", "lpt1", "lpt2",
    "lpt3", "lpt4", "lpt5", "lpt6", "lpt7", "lpt8", "lpt9",
];

/// A name as part of a path: readable, and made unique with a hash if it had to be changed or looks like a name with a hash.
pub fn slug(name: &str) -> String {
    let mut out = String::new();
    for c in name.chars().flat_map(char::to_lowercase) {
        if c.is_ascii_lowercase() || c.is_ascii_digit() {
            out.push(c);
        } else if !out.is_empty() && !out.ends_with('-') {
            out.push('-');
        }
        if out.len() >= LONGEST_SLUG {
            break;
        }
    }
    let out = out.trim_end_matches('-');
    if out == name && !out.is_empty() && !RESERVED.contains(&out) && !ends_like_a_hash(out) {
        out.to_owned()
    } else if out.is_empty() {
        short_hash(name)
    } else {
        format!("{out}-{}", short_hash(name))
    }
}

/// Whether a name ends like those with a hash. Unchanged, it could be the slug of another name.
fn ends_like_a_hash(name: &str) -> bool {
    let last = name.rsplit('-').next().unwrap_or(name);
    last.len() == 8 && last.bytes().all(|byte| byte.is_ascii_hexdigit())
}

impl Cassette {
    /// The text of the file.
    pub fn to_text(&self) -> String {
        let mut map = Map::new();
        map.insert("test".to_owned(), self.test.clone().into());
        map.insert("model".to_owned(), self.model.clone().into());
        map.insert("run".to_owned(), self.run.into());
        map.insert("inputs".to_owned(), self.inputs.clone());
        map.insert("observed".to_owned(), self.observed.clone());
        if let Some(advisory) = &self.advisory {
            map.insert("advisory".to_owned(), advisory.clone());
        }
        if let Some(ledger) = &self.ledger {
            map.insert("ledger".to_owned(), ledger.clone().into());
        }
        map.insert("trace".to_owned(), self.trace.to_envelope());
        if self.edited {
            map.insert("edited".to_owned(), true.into());
        }
        cassette::seal(&mut map);
        json::pretty(&Value::Object(map))
    }

    /// Reads the text of a file.
    pub fn read(text: &str) -> Result<Self, Unreadable> {
        let broken = |why: String| Unreadable::Broken(why);
        let mut map = object(text)?;
        cassette::version(&map)?;
        let trace = map.get("trace").ok_or_else(|| broken("lacks `trace`".to_owned()))?;
        let mut trace = Trace::from_envelope(trace).map_err(|error| broken(format!("in `trace`: {error}")))?;
        let seal = cassette::check(&map, &trace);
        for known in ["mcptest", "digest", "edited", "trace"] {
            map.remove(known);
        }
        let mut take = |key: &str| map.remove(key).ok_or_else(|| Unreadable::Broken(format!("lacks `{key}`")));
        let as_text = |key: &str, value: Value| match value {
            Value::String(text) => Ok(text),
            other => Err(Unreadable::Broken(format!("`{key}` must be text, found {}", json::describe(&other)))),
        };
        let of_test = as_text("test", take("test")?)?;
        let model = as_text("model", take("model")?)?;
        let run = take("run")?;
        let run =
            run.as_u64().ok_or_else(|| broken(format!("`run` must be a number, found {}", json::describe(&run))))?;
        as_text("fingerprint", take("fingerprint")?)?;
        let (inputs, observed) = (take("inputs")?, take("observed")?);
        trace.read_only = cassette::read_only_tools(&observed);
        let advisory = map.remove("advisory");
        let ledger = map.remove("ledger").map(|ledger| as_text("ledger", ledger)).transpose()?;
        if let Some(unknown) = map.keys().next() {
            return Err(broken(format!("unknown key `{}`", json::cut(unknown, 60))));
        }
        // A file that is not a recording is reported before one with a bad seal.
        let cassette::Seal { version, edited } = seal?;
        Ok(Self { test: of_test, model, run, inputs, observed, advisory, ledger, trace, version, edited })
    }

    /// The text of a file with its edits accepted.
    fn accepted(text: &str) -> Result<String, Unreadable> {
        let mut map = object(text)?;
        cassette::version(&map)?;
        map.insert("edited".to_owned(), true.into());
        cassette::seal(&mut map);
        let text = json::pretty(&Value::Object(map));
        Self::read(&text).map(|_| text)
    }

    /// The text of a file with another name of its test. What was recorded and its digest do not change.
    fn renamed(text: &str, new_name: &str) -> Result<String, Unreadable> {
        Self::read(text)?;
        let mut map = object(text)?;
        map.insert("test".to_owned(), new_name.into());
        Ok(json::pretty(&Value::Object(map)))
    }
}

fn object(text: &str) -> Result<Map<String, Value>, Unreadable> {
    let value = json::parse(text).map_err(|error| {
        let cut = if error.message.starts_with("EOF") { "the file is truncated: " } else { "" };
        Unreadable::Broken(format!("{cut}{error}"))
    })?;
    match value {
        Value::Object(map) => Ok(map),
        other => Err(Unreadable::Broken(format!("a cassette is an object, found {}", json::describe(&other)))),
    }
}

/// Most differences that are listed, and most characters of a value, approximately.
const MAX_CHANGES: usize = 3;
const MAX_VALUE: usize = 60;

/// The fields that differ between the recorded inputs and the suite; empty if none does.
pub fn changes(recorded: &Value, now: &Value) -> Vec<String> {
    let mut out = Vec::new();
    differ("", Some(recorded), Some(now), &mut out);
    out
}

fn differ(path: &str, recorded: Option<&Value>, now: Option<&Value>, out: &mut Vec<String>) {
    match (recorded, now) {
        (Some(Value::Object(old)), Some(Value::Object(new))) => {
            let mut keys: Vec<&String> = old.keys().chain(new.keys()).collect();
            keys.sort_unstable();
            keys.dedup();
            for key in keys {
                let inner = if path.is_empty() { key.clone() } else { format!("{path}.{key}") };
                differ(&inner, old.get(key), new.get(key), out);
            }
        }
        (Some(Value::Array(old)), Some(Value::Array(new))) if old.len() == new.len() => {
            for (at, (old, new)) in old.iter().zip(new).enumerate() {
                differ(&format!("{path}[{at}]"), Some(old), Some(new), out);
            }
        }
        (Some(old), Some(new)) if json::equal(old, new) => {}
        // Showing two hashes would not help.
        (Some(_), Some(_)) if path == "model.script_sha256" => {
            out.push("the model's script has changed".to_owned());
        }
        (Some(_), Some(_)) if path == "code_sha256" => out.push("the code of the test has changed".to_owned()),
        (Some(_), Some(_)) if path == "parameters_sha256" => {
            out.push("the parameters of the test have changed".to_owned());
        }
        (old, new) => {
            let shown = |side: Option<&Value>| {
                side.map_or_else(|| "nothing".to_owned(), |value| json::excerpt(value, MAX_VALUE))
            };
            let (old, new) = match (old, new) {
                (Some(old), Some(new)) => json::excerpts(old, new, MAX_VALUE),
                _ => (shown(old), shown(new)),
            };
            out.push(format!("`{path}` was {old} and is {new}"));
        }
    }
}

/// The differences in one line.
pub(crate) fn joined(changes: &[String]) -> String {
    let mut text = changes[..changes.len().min(MAX_CHANGES)].join("; ");
    if changes.len() > MAX_CHANGES {
        text.push_str(&format!("; and {} more", changes.len() - MAX_CHANGES));
    }
    text
}
