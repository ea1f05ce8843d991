//! Properties of any path in any value. The fuzz target `target` includes this file, so
//! fuzzing and tests check the same properties.

use mcptest_core::score::find;
use mcptest_core::target::Selection;
use mcptest_core::{Target, json};
use serde_json::Value;

/// Holds bytes as fuzzing makes them: a path up to the end of the line, then the text of a value.
pub(crate) fn check_bytes(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    let (path, value) = text.split_once('\n').unwrap_or((&text, "null"));
    check(path, value);
}

/// Holds a path, in a value where there is one. It gives back whether the path could be read.
pub(crate) fn check(path: &str, text: &str) -> bool {
    let target = match Target::parse(path) {
        Ok(target) => target,
        Err(error) => {
            assert!(!error.message.is_empty());
            assert!((1..=path.chars().count() + 1).contains(&error.column), "{error:?} of {path:?}");
            return false;
        }
    };
    assert_eq!(target.to_string(), path);
    assert_eq!(Target::parse(&target.to_string()).as_ref(), Ok(&target));
    assert!(!target.root().is_empty(), "{path:?} has no first key");
    let Ok(value) = json::parse(text) else { return true };
    let found = target.select(&value);
    assert_eq!(found, target.select(&value));
    match &found {
        Selection::Found(selected) => is_part(selected, &value),
        Selection::Nothing { reached, reason } => reaches(reached, reason, &target, &value),
    }
    let found = match found {
        Selection::Found(found) => Some(found.into_owned()),
        Selection::Nothing { .. } => None,
    };
    assert_eq!(find(text, &target), Ok(found), "{path:?} selects something else in the text of {text}");
    true
}

/// A selection is not larger than its source.
fn is_part(selected: &Value, value: &Value) {
    let (part, whole) = (json::canonical(selected).len(), json::canonical(value).len());
    // A list of all items adds brackets and at most one comma per value.
    assert!(part <= 2 * whole + 2, "{part} bytes selected of {whole}");
}

/// A path that selects nothing names a part of itself that selects something.
fn reaches(reached: &str, reason: &str, target: &Target, value: &Value) {
    assert!(!reason.is_empty(), "{target} selects nothing without a reason");
    if reached.is_empty() {
        return;
    }
    let part = Target::parse(reached).unwrap_or_else(|error| panic!("{target} reaches {reached:?}: {error}"));
    let found = part.select(value);
    assert!(matches!(found, Selection::Found(_)), "{target} reaches {reached:?}, which selects {found:?}");
}
