//! Matchers: predicates on a selected value, with three results.
//!
//! A matcher matches, does not match, or cannot judge a value of the given type. `not` swaps the first two; "cannot judge"
//! stays, so a wrong target never passes by being negated. Regexes and schemas are compiled when the matcher is built.

pub(crate) mod contains;
mod exact;
mod incomplete;
mod near;
mod parse;
pub mod schema;
mod table;
mod text;

use serde_json::Value;

use crate::assertion::AssertionDiff;
use crate::json;
pub(crate) use incomplete::Decision;
pub use near::Near;
pub use parse::NAMES;
pub use schema::Schema;
pub use table::{MATCHERS, MatcherInfo};

/// A compiled predicate.
#[derive(Debug, Clone)]
pub enum Matcher {
    /// Canonical equality.
    Exact(Value),
    /// Substring, element, object subset or list multiset.
    Contains(Value),
    /// Substring without case.
    IContains(String),
    /// Every item is contained.
    ContainsAll(Vec<Value>),
    /// A regex finds a match.
    Regex(regex::Regex),
    /// The value validates against a JSON Schema.
    Schema(Schema),
    /// A number within a tolerance of another.
    Near(Near),
    /// The inner matcher does not match.
    Not(Box<Matcher>),
}

/// Whether a matcher matches a value.
#[derive(Debug, Clone, PartialEq)]
pub enum MatchResult {
    /// It matches.
    Holds,
    /// It does not match, and where.
    DoesNotHold(Vec<AssertionDiff>),
    /// The value is of a type this matcher has nothing to say about.
    CannotJudge(String),
}

impl MatchResult {
    pub(crate) fn no(diff: AssertionDiff) -> Self {
        Self::DoesNotHold(vec![diff])
    }

    fn from_diffs(diffs: Vec<AssertionDiff>) -> Self {
        if diffs.is_empty() { Self::Holds } else { Self::DoesNotHold(diffs) }
    }
}

impl Matcher {
    /// Every place at which two values differ canonically.
    pub(crate) fn exact_diffs(expected: &Value, actual: &Value) -> Vec<AssertionDiff> {
        exact::diffs(expected, actual)
    }

    /// Judges a value.
    pub fn check(&self, actual: &Value) -> MatchResult {
        if json::deeper_than(actual, json::MAX_DEPTH) {
            return MatchResult::CannotJudge(format!("the value nests deeper than {} levels", json::MAX_DEPTH));
        }
        match self {
            Self::Exact(expected) => MatchResult::from_diffs(exact::diffs(expected, actual)),
            Self::Contains(expected) => contains::check(expected, actual),
            Self::IContains(expected) => text::icontains(expected, actual),
            Self::ContainsAll(items) => contains_all(items, actual),
            Self::Regex(regex) => text::regex(regex, actual),
            Self::Schema(schema) => schema.check(actual),
            Self::Near(near) => near.check(actual),
            Self::Not(inner) => match inner.check(actual) {
                MatchResult::Holds => {
                    MatchResult::no(AssertionDiff::new("", None, Some(actual)).note("matched, but must not"))
                }
                MatchResult::DoesNotHold(_) => MatchResult::Holds,
                cannot @ MatchResult::CannotJudge(_) => cannot,
            },
        }
    }
}

fn contains_all(items: &[Value], actual: &Value) -> MatchResult {
    let mut diffs = Vec::new();
    for item in items {
        match contains::check(item, actual) {
            MatchResult::Holds => {}
            MatchResult::DoesNotHold(missing) => diffs.extend(missing),
            cannot @ MatchResult::CannotJudge(_) => return cannot,
        }
    }
    MatchResult::from_diffs(diffs)
}
