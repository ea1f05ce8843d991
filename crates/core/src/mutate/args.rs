//! Places in the arguments of a call.

use serde_json::Value;

use crate::json;
use crate::target::Step;

/// Keys and indices from the arguments down to a value.
pub(super) type Path = Vec<Step>;

/// Most places in the arguments of one call.
const MAX_PLACES: usize = 256;

/// Every place below the arguments, parents first.
pub(super) fn paths(args: &Value) -> Vec<Path> {
    let mut out: Vec<Path> = Vec::new();
    let mut open: Vec<(Path, &Value)> = vec![(Vec::new(), args)];
    while let Some((path, value)) = open.pop() {
        if out.len() >= MAX_PLACES {
            break;
        }
        let below = |step: Step| {
            let mut path = path.clone();
            path.push(step);
            path
        };
        let start = open.len();
        match value {
            Value::Object(map) => {
                let mut entries: Vec<_> = map.iter().collect();
                entries.sort_unstable_by_key(|(key, _)| *key);
                open.extend(entries.into_iter().map(|(key, value)| (below(Step::Key(key.clone())), value)));
            }
            Value::Array(items) => {
                let items = (0_i64..).zip(items).take(MAX_PLACES);
                open.extend(items.map(|(at, value)| (below(Step::Index(at)), value)));
            }
            _ => {}
        }
        // The stack gives them back in order.
        open[start..].reverse();
        if !path.is_empty() {
            out.push(path);
        }
    }
    out
}

pub(super) fn get<'v>(args: &'v Value, path: &[Step]) -> Option<&'v Value> {
    path.iter().try_fold(args, |value, step| match step {
        Step::Key(key) => value.get(key),
        Step::Index(at) => value.get(usize::try_from(*at).ok()?),
        Step::Every => None,
    })
}

pub(super) fn get_mut<'v>(args: &'v mut Value, path: &[Step]) -> Option<&'v mut Value> {
    path.iter().try_fold(args, |value, step| match step {
        Step::Key(key) => value.get_mut(key),
        Step::Index(at) => value.get_mut(usize::try_from(*at).ok()?),
        Step::Every => None,
    })
}

/// The arguments without the key at a path; none if there is no such key.
pub(super) fn without(args: &Value, path: &[Step]) -> Option<Value> {
    let (Step::Key(key), parent) = path.split_last()? else { return None };
    let mut args = args.clone();
    get_mut(&mut args, parent)?.as_object_mut()?.remove(key)?;
    Some(args)
}

/// The arguments with another value at a path.
pub(super) fn with(args: &Value, path: &[Step], value: Value) -> Option<Value> {
    let mut args = args.clone();
    *get_mut(&mut args, path)? = value;
    Some(args)
}

/// The path as a JSON pointer.
pub(super) fn pointer(path: &[Step]) -> String {
    path.iter().fold(String::new(), |mut out, step| {
        out.push('/');
        match step {
            Step::Key(key) => out.push_str(&json::pointer_step(key)),
            Step::Index(at) => out.push_str(&at.to_string()),
            Step::Every => out.push('*'),
        }
        out
    })
}

/// A value of another type that looks the same.
pub(super) fn retyped(value: &Value) -> Option<Value> {
    match value {
        Value::String(text) => Some(match text.parse::<i64>() {
            Ok(number) if number.to_string() == *text => Value::from(number),
            _ => Value::from(vec![text.clone()]),
        }),
        Value::Number(number) => Some(Value::from(number.to_string())),
        Value::Bool(flag) => Some(Value::from(flag.to_string())),
        Value::Null | Value::Array(_) | Value::Object(_) => None,
    }
}

/// The number after this one, also in a text of digits.
pub(super) fn next_number(value: &Value) -> Option<Value> {
    match value {
        Value::Number(number) => {
            let whole = number.as_i64().and_then(|number| number.checked_add(1)).map(Value::from);
            let float = || number.as_f64().map(|number| number + 1.0).filter(|number| number.is_finite());
            whole.or_else(|| float().map(Value::from)).filter(|next| !json::equal(next, value))
        }
        Value::String(text) if text.bytes().all(|byte| byte.is_ascii_digit()) => {
            let next = text.parse::<u64>().ok()?.checked_add(1)?;
            // Digits in front are part of an ID.
            Some(Value::from(format!("{next:0width$}", width = text.len())))
        }
        _ => None,
    }
}
