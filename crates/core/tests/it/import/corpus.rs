//! The invariants of importers, checked for fixtures, for damaged fixtures and for findings of fuzzing.

use std::fs;
use std::path::PathBuf;

use mcptest_core::import::Format;
use serde_json::{Value, json};

use super::folder;
use super::invariants::Invariants;

/// The number for the format that a text looks like.
const ANY: usize = Format::ALL.len();

fn files(folder: PathBuf) -> Vec<PathBuf> {
    let mut paths: Vec<PathBuf> = fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    assert!(!paths.is_empty(), "no files in {}", folder.display());
    paths
}

/// Every fixture with the number of its format.
fn fixtures() -> Vec<(usize, String)> {
    let mut out = Vec::new();
    for (number, format) in Format::ALL.iter().enumerate() {
        let paths = files(folder().join(format.as_str()));
        let paths = paths.iter().filter(|path| path.extension().is_some_and(|ext| ext == "json" || ext == "jsonl"));
        out.extend(paths.map(|path| (number, fs::read_to_string(path).unwrap())));
    }
    out
}

#[test]
fn invariants_hold_for_fixtures() {
    let invariants = Invariants::new();
    for (format, text) in fixtures() {
        for how in [1, 2] {
            invariants.check(format, how, &text);
        }
        invariants.check(ANY, 0, &text);
    }
}

#[test]
fn invariants_hold_for_truncated_fixtures() {
    let invariants = Invariants::new();
    for (format, text) in fixtures() {
        // Long files are cut at fewer places.
        let step = 97.max(text.len() / 20);
        for end in (97..text.len()).step_by(step).filter(|end| text.is_char_boundary(*end)) {
            invariants.check(format, 0, &text[..end]);
        }
    }
}

#[test]
fn invariants_hold_for_fixtures_with_bytes_lost_repeated_or_swapped() {
    let invariants = Invariants::new();
    for (format, text) in fixtures() {
        let bytes = text.as_bytes();
        for (round, at) in (41..bytes.len()).step_by(bytes.len() / 12 + 1).enumerate() {
            let end = (at + 1 + 7 * round).min(bytes.len());
            let mut damaged = bytes.to_vec();
            match round % 3 {
                0 => drop(damaged.drain(at..end)),
                1 => drop(damaged.splice(at..at, bytes[at..end].to_vec())),
                _ => damaged.swap(at, end - 1),
            }
            invariants.check(format, 0, &String::from_utf8_lossy(&damaged));
        }
    }
}

#[test]
fn invariants_hold_for_fixtures_with_values_lost_repeated_or_replaced() {
    let invariants = Invariants::new();
    for (format, text) in fixtures() {
        let whole = serde_json::from_str::<Value>(&text).ok();
        let lines = || text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect::<Vec<Value>>();
        let values = whole.map_or_else(lines, |whole| vec![whole]);
        let mut paths = Vec::new();
        for (at, value) in values.iter().enumerate() {
            pointers(value, &format!("/{at}"), &mut paths);
        }
        for (round, path) in paths.iter().step_by(paths.len() / 12 + 1).enumerate() {
            let mut damaged = Value::Array(values.clone());
            damage(&mut damaged, path, round);
            let lines: Vec<String> = damaged.as_array().unwrap().iter().map(Value::to_string).collect();
            invariants.check(format, 0, &lines.join("\n"));
        }
    }
}

#[test]
fn invariants_hold_for_findings_of_fuzzing() {
    let invariants = Invariants::new();
    for path in files(folder().join("found")) {
        invariants.check_bytes(&fs::read(path).unwrap());
    }
}

/// The JSON pointers of everything in a value.
fn pointers(value: &Value, path: &str, out: &mut Vec<String>) {
    match value {
        Value::Array(items) => {
            for (at, item) in items.iter().enumerate() {
                let inner = format!("{path}/{at}");
                pointers(item, &inner, out);
                out.push(inner);
            }
        }
        Value::Object(map) => {
            for (key, item) in map {
                let inner = format!("{path}/{}", key.replace('~', "~0").replace('/', "~1"));
                pointers(item, &inner, out);
                out.push(inner);
            }
        }
        _ => {}
    }
}

/// Removes the value at a path, replaces it or, in a list, repeats it.
fn damage(root: &mut Value, path: &str, round: usize) {
    let (parent, key) = path.rsplit_once('/').unwrap();
    let parent = root.pointer_mut(parent).unwrap();
    let others = [json!(null), json!("x"), json!([]), json!({}), json!(-1.5), json!([["a", "b"]])];
    match (round % 4, parent) {
        (0, Value::Array(items)) => drop(items.remove(key.parse().unwrap())),
        (0, Value::Object(map)) => drop(map.remove(&key.replace("~1", "/").replace("~0", "~"))),
        (1, Value::Array(items)) => {
            let at: usize = key.parse().unwrap();
            items.insert(at, items[at].clone());
        }
        _ => *root.pointer_mut(path).unwrap() = others[round % others.len()].clone(),
    }
}
