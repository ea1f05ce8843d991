//! The properties of recordings and saved reports that fuzzing checks, on readable files and on what fuzzing
//! found. The fuzz target `cassette` includes `fuzzed/cassette.rs`; copy what it finds to `fuzzed/found/cassette/`.

mod cassette;
#[path = "../../../core/tests/it/fuzzed/pointers.rs"]
mod pointers;

use std::fs;
use std::path::Path;

use serde_json::{Value, json};

use pointers::pointers;

fn text(path: &str) -> String {
    fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(path)).unwrap()
}

const CASSETTE: &str = "../core/tests/it/import/cassette/run.json";
const REPORT: &str = "../cli/src/report/samples/report.json";

#[test]
fn recording_invariants_hold_for_complete_partial_and_damaged_recordings() {
    let whole = text(CASSETTE);
    assert!(cassette::check_cassette(&whole));
    for end in (0..whole.len()).step_by(7).filter(|end| whole.is_char_boundary(*end)) {
        assert!(!cassette::check_cassette(whole[..end].trim_end()), "{end} bytes are a recording");
    }
    let value: Value = serde_json::from_str(&whole).unwrap();
    let (mut read, mut tried) = (0, 0);
    for damaged in damaged(&value, 400) {
        tried += 1;
        read += usize::from(cassette::check_cassette(&damaged));
    }
    assert!(read > 10 && read < tried, "{read} of {tried} are recordings");
}

#[test]
fn report_invariants_hold_for_complete_partial_and_damaged_reports() {
    let whole = text(REPORT);
    assert!(cassette::check_report(&whole));
    for end in (0..whole.len()).step_by(whole.len() / 60).filter(|end| whole.is_char_boundary(*end)) {
        assert!(!cassette::check_report(whole[..end].trim_end()), "{end} bytes are a report");
    }
    let value: Value = serde_json::from_str(&whole).unwrap();
    let (mut read, mut tried) = (0, 0);
    for damaged in damaged(&value, 150) {
        tried += 1;
        read += usize::from(cassette::check_report(&damaged));
    }
    assert!(read > 10 && read < tried, "{read} of {tried} are reports");
}

#[test]
fn an_error_about_a_long_name_is_short() {
    let mut value: Value = serde_json::from_str(&text(CASSETTE)).unwrap();
    value["k".repeat(100_000)] = json!(1);
    assert!(!cassette::check_cassette(&value.to_string()));
    let mut value: Value = serde_json::from_str(&text(REPORT)).unwrap();
    value["suites"][0]["rows"] = json!("k".repeat(100_000));
    assert!(!cassette::check_report(&value.to_string()));
}

#[test]
fn all_invariants_hold_for_findings_of_fuzzing() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/fuzzed/found/cassette");
    let mut count = 0;
    for entry in fs::read_dir(folder).unwrap() {
        cassette::check_bytes(&fs::read(entry.unwrap().path()).unwrap());
        count += 1;
    }
    assert!(count > 0);
}

/// About this many texts, each with one value replaced or removed.
fn damaged(value: &Value, about: usize) -> Vec<String> {
    let others = [json!(null), json!("x"), json!([]), json!({}), json!(-1.5), json!(u64::MAX), json!(true)];
    let mut paths = Vec::new();
    pointers(value, "", &mut paths);
    let step = paths.len() / about + 1;
    let replaced = paths.iter().enumerate().step_by(step).map(|(round, path)| {
        let mut damaged = value.clone();
        *damaged.pointer_mut(path).unwrap() = others[round % others.len()].clone();
        damaged.to_string()
    });
    let lost = paths.iter().step_by(step).filter_map(|path| {
        let mut damaged = value.clone();
        let (parent, key) = path.rsplit_once('/')?;
        damaged.pointer_mut(parent)?.as_object_mut()?.remove(key)?;
        Some(damaged.to_string())
    });
    replaced.chain(lost).collect()
}
