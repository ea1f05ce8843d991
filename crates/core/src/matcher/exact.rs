//! `exact`: canonical equality, with a diff for every place that differs.

use serde_json::Value;

use crate::assertion::AssertionDiff;
use crate::json::{self, pointer_step};

/// Every place at which `actual` differs from `expected`, in pointer order of the expected value.
pub(crate) fn diffs(expected: &Value, actual: &Value) -> Vec<AssertionDiff> {
    let mut out = Vec::new();
    if !json::equal(expected, actual) {
        collect(expected, actual, String::new(), &mut out);
    }
    out
}

/// Recursion is bounded: both values were checked against the depth limit.
fn collect(expected: &Value, actual: &Value, path: String, out: &mut Vec<AssertionDiff>) {
    match (expected, actual) {
        (Value::Object(want), Value::Object(got)) => {
            let mut keys: Vec<_> = want.keys().chain(got.keys().filter(|key| !want.contains_key(*key))).collect();
            keys.sort_unstable();
            for key in keys {
                let path = format!("{path}/{}", pointer_step(key));
                both(want.get(key), got.get(key), path, "key", out);
            }
        }
        (Value::Array(want), Value::Array(got)) => {
            for at in 0..want.len().max(got.len()) {
                both(want.get(at), got.get(at), format!("{path}/{at}"), "element", out);
            }
        }
        _ if json::equal(expected, actual) => {}
        _ => out.push(AssertionDiff::new(path, Some(expected), Some(actual)).note("differs")),
    }
}

fn both(want: Option<&Value>, got: Option<&Value>, path: String, what: &str, out: &mut Vec<AssertionDiff>) {
    match (want, got) {
        (Some(want), Some(got)) => collect(want, got, path, out),
        (Some(want), None) => {
            out.push(AssertionDiff::new(path, Some(want), None).note(&format!("missing {what}")));
        }
        (None, Some(got)) => {
            out.push(AssertionDiff::new(path, None, Some(got)).note(&format!("unexpected {what}")));
        }
        (None, None) => {}
    }
}
