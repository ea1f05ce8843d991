//! Describes where two requests differ.

use std::collections::BTreeSet;

use serde_json::Value;

use crate::json;

/// Longest value that is shown, approximately.
const MAX_VALUE: usize = 160;
/// Texts longer than this are shown as a difference of lines.
const LONG: usize = 100;
/// Most lines of either side.
const MAX_LINES: usize = 6;
/// Most differences that are counted.
const MAX_COUNTED: usize = 1000;

/// One place where two values differ.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Difference<'v> {
    pub(super) pointer: String,
    /// `None` where it is missing.
    pub(super) recorded: Option<&'v Value>,
    pub(super) now: Option<&'v Value>,
}

/// The places where two values differ, in the order of keys and items.
pub(super) fn differences<'v>(recorded: &'v Value, now: &'v Value) -> Vec<Difference<'v>> {
    let mut out = Vec::new();
    walk(String::new(), Some(recorded), Some(now), &mut out);
    out
}

fn walk<'v>(pointer: String, recorded: Option<&'v Value>, now: Option<&'v Value>, out: &mut Vec<Difference<'v>>) {
    if out.len() >= MAX_COUNTED {
        return;
    }
    match (recorded, now) {
        (Some(Value::Object(old)), Some(Value::Object(new))) => {
            let keys: BTreeSet<&String> = old.keys().chain(new.keys()).collect();
            for key in keys {
                walk(format!("{pointer}/{}", json::pointer_step(key)), old.get(key), new.get(key), out);
            }
        }
        (Some(Value::Array(old)), Some(Value::Array(new))) => {
            for at in 0..old.len().max(new.len()) {
                walk(format!("{pointer}/{at}"), old.get(at), new.get(at), out);
            }
        }
        (Some(old), Some(new)) if json::equal(old, new) => {}
        (recorded, now) => out.push(Difference { pointer, recorded, now }),
    }
}

/// The first difference in full, and the number of others. `None` if the requests are equal.
pub(super) fn describe(recorded: &Value, now: &Value) -> Option<String> {
    let all = differences(recorded, now);
    let (first, more) = all.split_first()?;
    if let Some((old, new)) = renamed(&all) {
        return Some(format!("{old} is now {new}, with the same value"));
    }
    let mut lines = vec![format!("first difference: {}", place(&first.pointer))];
    match (first.recorded, first.now) {
        (Some(Value::String(old)), Some(Value::String(new))) if is_long(old) || is_long(new) => {
            lines.extend(text(old, new));
        }
        (Some(old), Some(new)) => {
            let (old, new) = json::excerpts(old, new, MAX_VALUE);
            lines.push(format!("  recorded: {old}"));
            lines.push(format!("  now:      {new}"));
        }
        (old, new) => {
            let shown = |side: Option<&Value>| {
                side.map_or_else(|| "(missing)".to_owned(), |side| json::excerpt(side, MAX_VALUE))
            };
            lines.push(format!("  recorded: {}", shown(old)));
            lines.push(format!("  now:      {}", shown(new)));
        }
    }
    match more {
        [] => {}
        [one] => lines.push(format!("one more difference: {}", place(&one.pointer))),
        [next, ..] => lines.push(format!("{} more differences, next: {}", more.len(), place(&next.pointer))),
    }
    Some(lines.join("\n"))
}

/// The places of a key that has another name and the same value, if that is the only difference.
fn renamed<'d>(all: &'d [Difference<'_>]) -> Option<(&'d str, &'d str)> {
    let [one, other] = all else { return None };
    let (old, new) = if one.now.is_none() { (one, other) } else { (other, one) };
    let (Difference { recorded: Some(before), now: None, .. }, Difference { recorded: None, now: Some(after), .. }) =
        (old, new)
    else {
        return None;
    };
    let parent = |pointer: &'d str| pointer.rsplit_once('/').map(|(parent, _)| parent);
    (parent(&old.pointer) == parent(&new.pointer) && json::equal(before, after))
        .then_some((&*old.pointer, &*new.pointer))
}

fn place(pointer: &str) -> &str {
    if pointer.is_empty() { "the whole value" } else { pointer }
}

fn is_long(text: &str) -> bool {
    text.len() > LONG || text.contains('\n')
}

/// The lines that differ, without those before and after that are the same.
fn text(old: &str, new: &str) -> Vec<String> {
    let (old, new): (Vec<&str>, Vec<&str>) = (old.split('\n').collect(), new.split('\n').collect());
    let alike = old.iter().zip(&new).take_while(|(old, new)| old == new).count();
    let rest = old.len().min(new.len()) - alike;
    let after = old.iter().rev().zip(new.iter().rev()).take(rest).take_while(|(old, new)| old == new).count();
    let (old, new) = (&old[alike..old.len() - after], &new[alike..new.len() - after]);
    let mut out = vec![format!("  line {}:", alike + 1)];
    if let ([old], [new]) = (old, new) {
        let quoted = |text: &str| Value::String(text.to_owned());
        let (old, new) = json::excerpts(&quoted(old), &quoted(new), MAX_VALUE);
        out.push(format!("  - {old}"));
        out.push(format!("  + {new}"));
        return out;
    }
    for (sign, lines) in [('-', old), ('+', new)] {
        out.extend(lines.iter().take(MAX_LINES).map(|line| format!("  {sign} {}", json::cut(line, MAX_VALUE))));
        if lines.len() > MAX_LINES {
            out.push(format!("  {sign} … {} more lines", lines.len() - MAX_LINES));
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_first_difference_is_shown_with_both_values() {
        let old = json!({ "arguments": { "order_id": "A1" }, "name": "find" });
        let new = json!({ "arguments": { "id": "A1" }, "name": "find" });
        assert_eq!(describe(&old, &new).unwrap(), "/arguments/order_id is now /arguments/id, with the same value");
        assert_eq!(describe(&old, &old), None);
        assert_eq!(
            describe(&json!([1, 2, 3]), &json!([1, 5, 6, 7])).unwrap(),
            "first difference: /1\n  recorded: 2\n  now:      5\n2 more differences, next: /2"
        );
        assert!(describe(&json!({ "a/b": 1 }), &json!({ "a/b": 1.5 })).unwrap().contains(": /a~1b\n"));
        assert_eq!(describe(&json!({ "a": 1 }), &json!({ "a": 1.0 })), None);
    }

    #[test]
    fn of_long_texts_the_lines_that_differ_are_shown() {
        let old = json!({ "system": format!("You help.\nBe brief.\n{}\nThe end.", "x".repeat(300)) });
        let new = json!({ "system": format!("You help.\nBe brief and kind.\nAsk.\n{}\nThe end.", "x".repeat(300)) });
        assert_eq!(
            describe(&old, &new).unwrap(),
            "first difference: /system\n  line 2:\n  - Be brief.\n  + Be brief and kind.\n  + Ask."
        );
        let (old, new) = (format!("{}old{}", "a".repeat(200), "b".repeat(300)), format!("{}new", "a".repeat(200)));
        let described = describe(&json!(old), &json!(new)).unwrap();
        assert!(described.starts_with("first difference: the whole value\n  line 1:\n  - …aaaa"), "{described}");
        assert!(described.lines().all(|line| line.chars().count() < 200), "{described}");
    }
}
