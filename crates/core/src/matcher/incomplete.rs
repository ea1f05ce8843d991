//! Matchers on values with missing parts.
//!
//! A matcher is decided when it has the same result regardless of the missing parts. What was recorded may decide
//! alone: an item that is there proves `contains`, regardless of the rest of the list.

mod schema;

use serde_json::{Map, Value};

use super::{MatchResult, Matcher, contains};
use crate::eval::matching;
use crate::json;
use crate::trace::Partial;

/// What is known of a matcher's result.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Decision {
    Holds,
    DoesNotHold,
    CannotJudge,
    /// It depends on what was not recorded.
    Open,
}

impl From<MatchResult> for Decision {
    fn from(answer: MatchResult) -> Self {
        match answer {
            MatchResult::Holds => Self::Holds,
            MatchResult::DoesNotHold(_) => Self::DoesNotHold,
            MatchResult::CannotJudge(_) => Self::CannotJudge,
        }
    }
}

impl From<Option<bool>> for Decision {
    fn from(known: Option<bool>) -> Self {
        match known {
            Some(true) => Self::Holds,
            Some(false) => Self::DoesNotHold,
            None => Self::Open,
        }
    }
}

impl Matcher {
    /// Judges a value that may have missing parts. The recorded parts are not nested deeper than a matcher supports.
    pub(crate) fn decide(&self, value: &Partial<'_>) -> Decision {
        match (self, value) {
            (Self::Not(inner), _) => match inner.decide(value) {
                Decision::Holds => Decision::DoesNotHold,
                Decision::DoesNotHold => Decision::Holds,
                other => other,
            },
            (_, Partial::Known(value)) => self.check(value).into(),
            (_, Partial::Unknown) => Decision::Open,
            (Self::Exact(expected), _) => equals(expected, value).into(),
            (Self::Contains(expected), _) => holds(expected, value),
            (Self::ContainsAll(items), _) => all(items, value),
            (Self::IContains(_) | Self::Regex(_), Partial::Unparsed(text)) => self.check(text).into(),
            (Self::IContains(_) | Self::Regex(_), Partial::List { items, is_open }) => {
                some_item(items, *is_open, |item| match item {
                    Partial::Unknown => Decision::Open,
                    Partial::Known(Value::Array(_) | Value::Object(_))
                    | Partial::List { .. }
                    | Partial::Object { .. } => Decision::CannotJudge,
                    Partial::Known(scalar) | Partial::Unparsed(scalar) => {
                        Some(self.check(scalar) == MatchResult::Holds).into()
                    }
                })
            }
            (Self::IContains(_) | Self::Regex(_), Partial::Object { .. }) | (Self::Near(_), _) => Decision::CannotJudge,
            (Self::Schema(schema), _) => schema::decide(schema, value),
        }
    }
}

/// Whether a test matches an item: one match decides, regardless of missing items.
fn some_item(items: &[Partial<'_>], is_open: bool, test: impl Fn(&Partial<'_>) -> Decision) -> Decision {
    let mut found = if is_open { Decision::Open } else { Decision::DoesNotHold };
    for item in items {
        match (test(item), found) {
            (Decision::Holds, _) => return Decision::Holds,
            (Decision::Open, _) => found = Decision::Open,
            (Decision::CannotJudge, Decision::DoesNotHold) => found = Decision::CannotJudge,
            _ => {}
        }
    }
    found
}

fn is_structure(value: &Value) -> bool {
    matches!(value, Value::Array(_) | Value::Object(_))
}

/// Whether every part of `known` matches; one mismatch decides.
fn both(known: impl Iterator<Item = Option<bool>>) -> Option<bool> {
    let mut all = Some(true);
    for part in known {
        match part {
            Some(true) => {}
            Some(false) => return Some(false),
            None => all = None,
        }
    }
    all
}

/// `exact`.
fn equals(expected: &Value, value: &Partial<'_>) -> Option<bool> {
    match (expected, value) {
        (_, Partial::Known(value)) => Some(json::equal(expected, value)),
        (_, Partial::Unknown) => None,
        (_, Partial::Unparsed(text)) => (!is_structure(expected)).then(|| json::equal(expected, text)),
        (Value::Array(want), Partial::List { items, is_open: false }) => {
            if want.len() != items.len() {
                return Some(false);
            }
            both(want.iter().zip(items).map(|(want, item)| equals(want, item)))
        }
        (Value::Array(want), Partial::List { items, is_open: true }) => {
            // The recorded items must come in this order, with anything in between.
            let mut rest = want.iter();
            let may_come = |item| rest.any(|want| equals(want, item) != Some(false));
            if items.iter().all(may_come) { None } else { Some(false) }
        }
        (Value::Object(want), Partial::Object { known, unknown }) => {
            let is_asked = |key: &str| want.contains_key(key);
            if known.iter().any(|(key, _)| !is_asked(key)) {
                return Some(false);
            }
            let is_sure = unknown.iter().all(|key| is_asked(key)).then_some(true);
            both(members(want, known, unknown, equals).chain([is_sure]))
        }
        _ => Some(false),
    }
}

/// What each expected member finds in an object.
fn members<'a>(
    want: &'a Map<String, Value>,
    known: &'a [(&str, Partial<'a>)],
    unknown: &'a [&str],
    test: impl Fn(&Value, &Partial<'_>) -> Option<bool>,
) -> impl Iterator<Item = Option<bool>> {
    want.iter().map(move |(key, expected)| match known.iter().find(|(name, _)| name == key) {
        Some((_, found)) => test(expected, found),
        None if unknown.contains(&key.as_str()) => None,
        None => Some(false),
    })
}

/// `contains`.
fn holds(expected: &Value, value: &Partial<'_>) -> Decision {
    match (expected, value) {
        (_, Partial::Known(value)) => contains::check(expected, value).into(),
        (_, Partial::Unknown) => Decision::Open,
        (_, Partial::Unparsed(_)) if is_structure(expected) => Decision::Open,
        (_, Partial::Unparsed(text)) => contains::check(expected, text).into(),
        (Value::Array(_), Partial::List { .. }) | (Value::Object(_), Partial::Object { .. }) => {
            part_of(expected, value).into()
        }
        (Value::String(_), Partial::List { items, is_open }) => some_item(items, *is_open, |item| match item {
            Partial::Unknown => Decision::Open,
            Partial::Known(Value::String(_)) | Partial::Unparsed(_) => holds(expected, item),
            Partial::Known(Value::Array(_) | Value::Object(_)) | Partial::List { .. } | Partial::Object { .. } => {
                Decision::CannotJudge
            }
            Partial::Known(_) => Decision::DoesNotHold,
        }),
        (_, Partial::List { items, is_open }) => some_item(items, *is_open, |item| part_of(expected, item).into()),
        (_, Partial::Object { .. }) => Decision::CannotJudge,
    }
}

/// `contains-all`.
fn all(expected: &[Value], value: &Partial<'_>) -> Decision {
    let found: Vec<_> = expected.iter().map(|item| holds(item, value)).collect();
    let worst = [Decision::CannotJudge, Decision::DoesNotHold, Decision::Open];
    worst.into_iter().find(|worst| found.contains(worst)).unwrap_or(Decision::Holds)
}

/// `contains` below the top, where leaves are equal.
fn part_of(expected: &Value, value: &Partial<'_>) -> Option<bool> {
    match (expected, value) {
        (_, Partial::Known(value)) => Some(contains::fits(expected, value)),
        (_, Partial::Unknown) => None,
        (_, Partial::Unparsed(text)) => (!is_structure(expected)).then(|| json::equal(expected, text)),
        (Value::Array(want), Partial::List { items, is_open }) => {
            let fits: Vec<Vec<_>> =
                want.iter().map(|want| items.iter().map(|item| part_of(want, item)).collect()).collect();
            // A matching that counts only what is certain proves; one that counts what is possible refutes.
            let unmet = |counts: fn(&Option<bool>) -> bool| {
                let row = |row: &Vec<_>| (0_u32..).zip(row).filter(|(_, fit)| counts(fit)).map(|(at, _)| at).collect();
                let candidates: Vec<_> = fits.iter().map(row).collect();
                matching::maximum(&candidates, items.len()).right_of.iter().any(Option::is_none)
            };
            if !unmet(|fit| *fit == Some(true)) {
                Some(true)
            } else if *is_open || !unmet(|fit| *fit != Some(false)) {
                None
            } else {
                Some(false)
            }
        }
        (Value::Object(want), Partial::Object { known, unknown }) => both(members(want, known, unknown, part_of)),
        _ => Some(false),
    }
}
