//! Searches one file for secrets: JSON by its values, without keeping them, and everything else line by line.

use std::fmt;
use std::io;
use std::path::Path;

use mcptest_core::json::NUMBER_KEY;
use mcptest_core::redact::Redactor;
use mcptest_runner::file::{self, Trust};
use serde::de::{DeserializeSeed, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use serde_json::Value;

use crate::corpus::unpack::is_packed;

/// The largest file that is searched, as for cassettes.
const MAX_BYTES: u64 = 256 * 1024 * 1024;

/// A secret that was found.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Finding {
    /// The line, if the file has one value per line or is not JSON.
    pub(super) line: Option<usize>,
    /// The JSON pointer of the value, or of the entry whose key it is; `None` if the file is not JSON.
    pub(super) pointer: Option<String>,
    pub(super) placeholder: String,
}

impl Finding {
    /// The kind of secret: by its shape, or the value of a variable.
    pub(super) fn kind(&self) -> &str {
        let inner = self.placeholder.trim_start_matches("[redacted:").trim_end_matches(']');
        inner.split_once(':').map_or("variable", |(kind, _)| kind)
    }
}

pub(super) fn search(path: &Path, redactor: &Redactor) -> io::Result<Vec<Finding>> {
    let Some(bytes) = file::read(path, MAX_BYTES, Trust::Trusted)? else {
        return Err(io::Error::other(format!("it has more than {MAX_BYTES} bytes, the limit")));
    };
    // Reporting no findings for an unreadable file would be wrong.
    let is_wide = [[0xff, 0xfe], [0xfe, 0xff]].iter().any(|start| bytes.starts_with(start));
    if is_wide || is_packed(&bytes) {
        let what = if is_wide { "UTF-16" } else { "packed" };
        return Err(io::Error::other(format!("it is {what}, and only plain text is searched")));
    }
    // Invalid UTF-8 contains no secrets; the rest of the file may.
    let text = String::from_utf8_lossy(&bytes);
    let mut out = Vec::new();
    let ending = path.extension().map(|ending| ending.to_string_lossy().to_ascii_lowercase());
    if ending.as_deref() == Some("json") {
        // Invalid JSON is searched too: it may be part of a recording.
        return Ok(values(&text, redactor, None).unwrap_or_else(|_| lines(&text, redactor)));
    }
    if !matches!(ending.as_deref(), Some("jsonl" | "ndjson")) {
        return Ok(lines(&text, redactor));
    }
    for (at, line) in text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()) {
        match values(line, redactor, Some(at + 1)) {
            Ok(found) => out.extend(found),
            Err(_) => out.extend(lines(line, redactor).into_iter().map(|one| Finding { line: Some(at + 1), ..one })),
        }
    }
    Ok(out)
}

/// Searches the values of a JSON text.
fn values(text: &str, redactor: &Redactor, line: Option<usize>) -> serde_json::Result<Vec<Finding>> {
    let mut search = SecretSearch { redactor, line, path: Vec::new(), found: Vec::new() };
    let mut source = serde_json::Deserializer::from_str(text);
    Seed(&mut search).deserialize(&mut source)?;
    source.end()?;
    Ok(search.found)
}

/// Searches a text line by line.
fn lines(text: &str, redactor: &Redactor) -> Vec<Finding> {
    let mut out = Vec::new();
    for (at, line) in text.lines().enumerate() {
        redactor.text_with(line, &mut |placeholder| {
            out.push(Finding { line: Some(at + 1), pointer: None, placeholder: placeholder.to_owned() });
        });
    }
    out
}

/// Walks a JSON value and keeps only findings.
struct SecretSearch<'a> {
    redactor: &'a Redactor,
    line: Option<usize>,
    path: Vec<Step>,
    found: Vec<Finding>,
}

/// One step of a pointer.
enum Step {
    Key(String),
    Index(usize),
}

impl SecretSearch<'_> {
    fn text(&mut self, text: &str) {
        let mut placeholders = Vec::new();
        self.redactor.text_with(text, &mut |placeholder| placeholders.push(placeholder.to_owned()));
        for placeholder in placeholders {
            let pointer = Some(self.pointer());
            self.found.push(Finding { line: self.line, pointer, placeholder });
        }
    }

    fn number(&mut self, number: impl Into<Value>) {
        if let Value::String(placeholder) = self.redactor.value(number.into()) {
            let pointer = Some(self.pointer());
            self.found.push(Finding { line: self.line, pointer, placeholder });
        }
    }

    /// The current pointer. Keys may be secrets themselves.
    fn pointer(&self) -> String {
        let step = |step: &Step| match step {
            Step::Key(key) => format!("/{}", self.redactor.text(key).replace('~', "~0").replace('/', "~1")),
            Step::Index(at) => format!("/{at}"),
        };
        self.path.iter().map(step).collect()
    }
}

/// Reads one value for a search.
struct Seed<'a, 'r>(&'a mut SecretSearch<'r>);

impl<'de> DeserializeSeed<'de> for Seed<'_, '_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, source: D) -> Result<(), D::Error> {
        source.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Seed<'_, '_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("any JSON value")
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<(), E> {
        self.0.text(text);
        Ok(())
    }

    fn visit_u64<E: Error>(self, number: u64) -> Result<(), E> {
        self.0.number(number);
        Ok(())
    }

    fn visit_i64<E: Error>(self, _: i64) -> Result<(), E> {
        Ok(())
    }

    fn visit_f64<E: Error>(self, _: f64) -> Result<(), E> {
        Ok(())
    }

    fn visit_bool<E: Error>(self, _: bool) -> Result<(), E> {
        Ok(())
    }

    fn visit_unit<E: Error>(self) -> Result<(), E> {
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<(), A::Error> {
        self.0.path.push(Step::Index(0));
        while items.next_element_seed(Seed(&mut *self.0))?.is_some() {
            if let Some(Step::Index(at)) = self.0.path.last_mut() {
                *at += 1;
            }
        }
        self.0.path.pop();
        Ok(())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<(), A::Error> {
        while let Some(key) = entries.next_key::<String>()? {
            if key == NUMBER_KEY {
                // More digits than a machine number has, such as a long account number.
                let number: String = entries.next_value()?;
                self.0.text(&number);
                continue;
            }
            self.0.path.push(Step::Key(key.clone()));
            self.0.text(&key);
            entries.next_value_seed(Seed(&mut *self.0))?;
            self.0.path.pop();
        }
        Ok(())
    }
}
