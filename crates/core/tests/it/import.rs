//! Every format with fixtures: `import/<format>/NAME.json` or `.jsonl` is read, and the result is compared with `NAME.out`.
//! `IMPORTS=overwrite cargo test -p mcptest-core` rewrites the expected files.

mod ambiguous;
mod anthropic;
mod claude_code;
mod corpus;
mod exports;
mod inspect;
mod invariants;
mod langchain;
mod large;
mod native;
mod openai_chat;
mod openai_responses;
mod otel;
mod otlp;
mod otlp_protobuf;
mod tau;

use std::fs;
use std::path::{Path, PathBuf};

use mcptest_core::import::{Format, ImportError, Imported, Options, Record, Servers, Unit, sniff};
use serde_json::{Value, json};

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/import")
}

/// The traces of one record.
fn read(format: Format, text: &str) -> Result<Vec<Imported<'_>>, ImportError> {
    format.read(Record { text, header: None }, &Options::default())
}

/// The same with prefixes of servers.
fn read_with<'a>(format: Format, text: &'a str, prefixes: &[&str]) -> Result<Vec<Imported<'a>>, ImportError> {
    let prefixes: Vec<String> = prefixes.iter().map(|prefix| (*prefix).to_owned()).collect();
    format.read(Record { text, header: None }, &Options { servers: Servers::parse(&prefixes).unwrap() })
}

/// The error of a record: its message, and its hint after ` / `.
fn refusal(format: Format, text: &str) -> String {
    let error = read(format, text).unwrap_err();
    error.hint.map_or_else(|| error.message.clone(), |hint| format!("{} / {hint}", error.message))
}

/// The values of a file: its lines, the elements of its list, or the whole file.
fn values(format: Format, text: &str) -> Vec<String> {
    let lines: Vec<&str> = text.lines().filter(|line| !line.trim().is_empty()).collect();
    if lines.iter().all(|line| serde_json::from_str::<Value>(line).is_ok()) {
        return lines.into_iter().map(str::to_owned).collect();
    }
    let whole: Value = serde_json::from_str(text).unwrap();
    match &whole {
        Value::Array(items)
            if sniffed(&items[0].to_string()) != Some((format, Unit::Message))
                && sniffed(&whole.to_string()) != Some((format, Unit::Record)) =>
        {
            items.iter().map(Value::to_string).collect()
        }
        _ => vec![whole.to_string()],
    }
}

fn sniffed(text: &str) -> Option<(Format, Unit)> {
    sniff(text).map(|found| (found.format, found.unit))
}

/// Every trace of a file, or the error of its record.
fn outcome(format: Format, text: &str) -> Value {
    let options = Options::default();
    let shown = |result: Result<Vec<Imported<'_>>, ImportError>| match result {
        Ok(traces) => traces
            .into_iter()
            .map(|one| json!({ "id": one.id, "group": one.group, "trace": one.trace.to_envelope() }))
            .collect(),
        Err(error) => vec![json!({ "error": error.message, "hint": error.hint, "offset": error.place })],
    };
    let values = values(format, text);
    let mut out: Vec<Value> = Vec::new();
    if format.is_in_pieces() {
        let mut keyed: Vec<(String, Vec<String>)> = Vec::new();
        for value in &values {
            match format.split(value) {
                Ok(pieces) => {
                    for piece in pieces {
                        match keyed.iter_mut().find(|(key, _)| *key == piece.key) {
                            Some((_, texts)) => texts.push(piece.text.into_owned()),
                            None => keyed.push((piece.key.into_owned(), vec![piece.text.into_owned()])),
                        }
                    }
                }
                Err(error) => out.extend(shown(Err(error))),
            }
        }
        for (key, texts) in keyed {
            let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
            out.extend(shown(format.join(&key, &texts, &options)));
        }
    } else {
        for value in &values {
            out.extend(shown(format.read(Record { text: value, header: None }, &options)));
        }
    }
    Value::Array(out)
}

/// Compares every fixture of a format with its expected result.
fn check_fixtures(format: Format) {
    let folder = folder().join(format.as_str());
    let mut paths: Vec<PathBuf> = fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    paths.retain(|path| path.extension().is_some_and(|ext| ext == "json" || ext == "jsonl"));
    assert!(!paths.is_empty(), "no fixtures in {}", folder.display());
    for path in paths {
        let text = fs::read_to_string(&path).unwrap();
        let recognized = values(format, &text).iter().find_map(|value| sniffed(value)).map(|(format, _)| format);
        assert_eq!(recognized, Some(format), "{} is taken for another format", path.display());
        let found = mcptest_core::json::pretty(&outcome(format, &text));
        let expected = path.with_extension("out");
        if std::env::var_os("IMPORTS").is_some_and(|value| value == "overwrite") {
            fs::write(&expected, &found).unwrap();
        }
        let expected = fs::read_to_string(&expected).unwrap_or_default();
        assert_eq!(found, expected, "{}", path.display());
    }
}
