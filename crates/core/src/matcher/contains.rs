//! `contains`: substring, element, object subset, list multiset.
//!
//! At the top a string is searched for as a substring; nested strings compare by equality. Lists are contained
//! one to one by a maximum matching, so no order of the elements changes the answer.

use serde_json::Value;

use super::MatchResult;
use crate::assertion::AssertionDiff;
use crate::eval::matching;
use crate::json::{self, pointer_step};

/// Judges whether `actual` contains `expected`.
pub(crate) fn check(expected: &Value, actual: &Value) -> MatchResult {
    match (expected, actual) {
        (Value::String(part), Value::String(whole)) => {
            if whole.contains(part.as_str()) {
                MatchResult::Holds
            } else {
                MatchResult::no(AssertionDiff::new("", Some(expected), Some(actual)).note("does not contain this text"))
            }
        }
        (Value::Object(_), Value::Object(_)) | (Value::Array(_), Value::Array(_)) => {
            MatchResult::from_diffs(diffs(expected, actual))
        }
        (Value::String(part), Value::Array(items)) => some_element(expected, actual, items, |item| match item {
            Value::String(text) => Some(text.contains(part.as_str())),
            Value::Array(_) | Value::Object(_) => None,
            _ => Some(false),
        }),
        (_, Value::Array(items)) => some_element(expected, actual, items, |item| Some(fits(expected, item))),
        _ => MatchResult::CannotJudge(format!(
            "contains looks for {} in a string, a list or an object, got {}",
            json::kind(expected),
            json::describe(actual)
        )),
    }
}

/// Matches if the test matches an element; cannot judge if it matches none and cannot judge some.
pub(super) fn some_element(
    expected: &Value,
    actual: &Value,
    items: &[Value],
    test: impl Fn(&Value) -> Option<bool>,
) -> MatchResult {
    let mut unjudged = None;
    for (at, item) in items.iter().enumerate() {
        match test(item) {
            Some(true) => return MatchResult::Holds,
            Some(false) => {}
            None => unjudged = unjudged.or(Some((at, item))),
        }
    }
    match unjudged {
        Some((at, item)) => MatchResult::CannotJudge(format!("element {at} is {}, not text", json::describe(item))),
        None => MatchResult::no(AssertionDiff::new("", Some(expected), Some(actual)).note("no element matches")),
    }
}

/// Whether `actual` contains `expected` by the nested rules, in which leaves must be equal.
pub(crate) fn fits(expected: &Value, actual: &Value) -> bool {
    match (expected, actual) {
        (Value::Object(want), Value::Object(got)) => {
            want.iter().all(|(key, value)| got.get(key).is_some_and(|found| fits(value, found)))
        }
        (Value::Array(want), Value::Array(got)) => want.len() <= got.len() && unmatched(want, got).is_empty(),
        _ => json::equal(expected, actual),
    }
}

/// The expected elements that a maximum matching leaves without an element.
fn unmatched(want: &[Value], got: &[Value]) -> Vec<usize> {
    let candidates: Vec<Vec<u32>> = want
        .iter()
        .map(|item| {
            let fitting = (0_u32..).zip(got).filter(|(_, found)| fits(item, found)).map(|(at, _)| at);
            // As many candidates as there are expectations are enough for any of them to find a free one.
            fitting.take(want.len()).collect()
        })
        .collect();
    let matched = matching::maximum(&candidates, got.len());
    (0..want.len()).filter(|at| matched.right_of[*at].is_none()).collect()
}

/// Every place at which `actual` lacks a part of `expected`.
pub(crate) fn diffs(expected: &Value, actual: &Value) -> Vec<AssertionDiff> {
    let mut out = Vec::new();
    if !fits(expected, actual) {
        collect(expected, actual, String::new(), &mut out);
    }
    out
}

fn collect(expected: &Value, actual: &Value, path: String, out: &mut Vec<AssertionDiff>) {
    match (expected, actual) {
        (Value::Object(want), Value::Object(got)) => {
            let mut entries: Vec<_> = want.iter().collect();
            entries.sort_unstable_by_key(|(key, _)| *key);
            for (key, value) in entries {
                let path = format!("{path}/{}", pointer_step(key));
                match got.get(key) {
                    Some(found) => collect(value, found, path, out),
                    None => out.push(AssertionDiff::new(path, Some(value), None).note("missing key")),
                }
            }
        }
        (Value::Array(want), Value::Array(got)) => {
            for at in unmatched(want, got) {
                let diff = AssertionDiff::new(format!("{path}/{at}"), Some(&want[at]), Some(actual));
                out.push(diff.note("no element of the list is left for this one"));
            }
        }
        _ if json::equal(expected, actual) => {}
        _ => out.push(AssertionDiff::new(path, Some(expected), Some(actual)).note("differs")),
    }
}
