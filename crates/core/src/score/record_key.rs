//! Keys that groups and tasks read in a record: a path in it, or a part of the name of its file.

use std::borrow::Cow;
use std::fmt;
use std::str::FromStr;

use serde_json::Value;

use super::lookup::{DuplicateKey, find};
use crate::target::{Target, TargetError};

/// The parts of a record that keys read.
#[derive(Debug, Clone, Copy)]
pub struct RecordView<'a> {
    /// The JSON in which paths are looked up.
    pub fields: &'a str,
    /// The input it comes from, as typed or found.
    pub source: &'a str,
    /// The group it belongs to.
    pub group: Option<&'a str>,
}

/// What to read in a record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RecordKey {
    /// A path in the record.
    Path(Target),
    /// `{file}`: the name of the file.
    File,
    /// `{stem}`: the name of the file without its extension and any compression extension.
    Stem,
    /// `{folder[0]}`, or `{folder[-1]}` counted from the end: a folder of the path of the file.
    Folder(i64),
    /// `{group}`: the name of the record's group.
    Group,
}

/// A key that cannot be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RecordKeyError {
    /// Not a path.
    #[error(transparent)]
    Path(#[from] TargetError),
    /// Braces around something else.
    #[error("`{0}` is not a part of an input: use {{file}}, {{stem}}, {{folder[n]}} or {{group}}")]
    Part(String),
}

impl fmt::Display for RecordKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Path(path) => path.fmt(f),
            Self::File => f.write_str("{file}"),
            Self::Stem => f.write_str("{stem}"),
            Self::Folder(at) => write!(f, "{{folder[{at}]}}"),
            Self::Group => f.write_str("{group}"),
        }
    }
}

impl RecordKey {
    /// Reads a key.
    ///
    /// ```
    /// use mcptest_core::score::{RecordKey, RecordView};
    ///
    /// let record = RecordView { fields: r#"{"task": {"id": 7}}"#, source: "runs/book/one.jsonl.gz", group: None };
    /// let check = |key: &str, expected: &str| {
    ///     assert_eq!(RecordKey::parse(key).unwrap().value(&record).unwrap().unwrap().to_string(), expected);
    /// };
    /// check("task.id", "7");
    /// check("{file}", "\"one.jsonl.gz\"");
    /// check("{stem}", "\"one\"");
    /// check("{folder[0]}", "\"runs\"");
    /// check("{folder[-1]}", "\"book\"");
    /// assert!(RecordKey::parse("{name}").is_err());
    /// ```
    pub fn parse(text: &str) -> Result<Self, RecordKeyError> {
        let Some(inner) = text.strip_prefix('{') else { return Ok(Self::Path(Target::parse(text)?)) };
        let folder = |inner: &str| inner.strip_prefix("folder[")?.strip_suffix(']')?.parse().ok().map(Self::Folder);
        let part = match inner.strip_suffix('}') {
            Some("file") => Some(Self::File),
            Some("stem") => Some(Self::Stem),
            Some("group") => Some(Self::Group),
            Some(inner) => folder(inner),
            None => None,
        };
        part.ok_or_else(|| RecordKeyError::Part(text.to_owned()))
    }

    /// Whether its value is always text.
    pub fn is_text(&self) -> bool {
        !matches!(self, Self::Path(_))
    }

    /// What it selects in a record; none for nothing.
    pub fn value(&self, record: &RecordView<'_>) -> Result<Option<Value>, DuplicateKey> {
        let part = match self {
            Self::Path(path) => return find(record.fields, path),
            Self::Group => record.group.map(Cow::Borrowed),
            Self::File => file(record.source).map(Cow::Borrowed),
            Self::Stem => file(record.source).map(|file| Cow::Borrowed(stem(file))),
            Self::Folder(at) => folder(record.source, *at).map(Cow::Borrowed),
        };
        Ok(part.map(|part| Value::String(part.into_owned())))
    }
}

impl FromStr for RecordKey {
    type Err = RecordKeyError;

    fn from_str(text: &str) -> Result<Self, RecordKeyError> {
        Self::parse(text)
    }
}

/// The parts of a path, without those that only say where it starts.
fn parts(source: &str) -> impl DoubleEndedIterator<Item = &str> {
    source.split(['/', std::path::MAIN_SEPARATOR]).filter(|part| !matches!(*part, "" | "." | ".."))
}

/// The file of a source; standard input has none.
fn file(source: &str) -> Option<&str> {
    parts(source).next_back().filter(|_| source != "-")
}

fn stem(file: &str) -> &str {
    let plain = [".gz", ".zst"].into_iter().find_map(|packed| file.strip_suffix(packed)).unwrap_or(file);
    match plain.rsplit_once('.') {
        Some((stem, _)) if !stem.is_empty() => stem,
        _ => plain,
    }
}

fn folder(source: &str, at: i64) -> Option<&str> {
    file(source)?;
    let mut folders: Vec<&str> = parts(source).collect();
    folders.pop();
    let place = if at < 0 { i64::try_from(folders.len()).ok()?.checked_add(at)? } else { at };
    folders.get(usize::try_from(place).ok()?).copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(key: &str, source: &str, expected: Option<&str>) {
        let key = RecordKey::parse(key).unwrap();
        assert_eq!(RecordKey::parse(&key.to_string()), Ok(key.clone()));
        let record = RecordView { fields: "{}", source, group: Some("g") };
        assert_eq!(key.value(&record), Ok(expected.map(Value::from)), "{key} of {source}");
    }

    #[test]
    fn parts_of_an_input_are_text() {
        check("{stem}", "a/b/c.json", Some("c"));
        check("{stem}", "c.d.jsonl.zst", Some("c.d"));
        check("{stem}", ".hidden", Some(".hidden"));
        check("{stem}", "/x/plain", Some("plain"));
        check("{file}", "./c.json", Some("c.json"));
        check("{folder[0]}", "/a/b/c.json", Some("a"));
        check("{folder[1]}", "a/b/c.json", Some("b"));
        check("{folder[2]}", "a/b/c.json", None);
        check("{folder[-2]}", "a/b/c.json", Some("a"));
        check("{folder[-3]}", "a/b/c.json", None);
        check("{folder[-1]}", "./c.json", None);
        check("{group}", "-", Some("g"));
        check("{file}", "-", None);
        check("{folder[0]}", "-", None);
    }

    #[test]
    fn other_words_in_braces_are_errors() {
        for text in ["{", "{}", "{stem", "{folder}", "{folder[]}", "{folder[a]}", "{folder[9223372036854775808]}"] {
            assert_eq!(RecordKey::parse(text), Err(RecordKeyError::Part(text.to_owned())));
        }
    }
}
