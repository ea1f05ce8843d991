//! Matchers on text: `icontains` and `regex`.

use serde_json::Value;

use super::MatchResult;
use super::contains::some_element;
use crate::assertion::AssertionDiff;
use crate::json;

/// Text without case: uppercasing first also folds letters that lowercasing alone keeps distinct (`ß`/`SS`, `ς`/`σ`).
pub(crate) fn fold(text: &str) -> String {
    text.chars().flat_map(char::to_uppercase).flat_map(char::to_lowercase).collect()
}

pub(super) fn icontains(part: &str, actual: &Value) -> MatchResult {
    let part_folded = fold(part);
    let expected = Value::String(part.to_owned());
    judge(&expected, actual, "icontains", |item| match item {
        Value::String(text) => Some(fold(text).contains(&part_folded)),
        _ => None,
    })
}

pub(super) fn regex(regex: &regex::Regex, actual: &Value) -> MatchResult {
    let expected = Value::String(regex.as_str().to_owned());
    judge(&expected, actual, "regex", |item| match item {
        Value::String(text) => Some(regex.is_match(text)),
        Value::Number(number) => Some(regex.is_match(&json::number_text(number))),
        _ => None,
    })
}

/// A scalar is judged by `test`, a list by its elements; among elements, a scalar without text does not match.
fn judge(expected: &Value, actual: &Value, matcher: &str, test: impl Fn(&Value) -> Option<bool>) -> MatchResult {
    if let Value::Array(items) = actual {
        return some_element(expected, actual, items, |item| match item {
            Value::Array(_) | Value::Object(_) => None,
            scalar => Some(test(scalar) == Some(true)),
        });
    }
    match test(actual) {
        Some(true) => MatchResult::Holds,
        Some(false) => MatchResult::no(AssertionDiff::new("", Some(expected), Some(actual)).note("does not match")),
        None => MatchResult::CannotJudge(format!("{matcher} reads text, got {}", json::describe(actual))),
    }
}
