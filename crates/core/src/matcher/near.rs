//! `near`: a number within a tolerance of another.
//!
//! The comparison is made in decimal digits, because with binary fractions 0.4 is not within 0.1 of 0.3. Numbers whose
//! digits do not fit are compared as floats, and if rounding could decide, the result is undecided.

use serde_json::{Number, Value};

use super::MatchResult;
use crate::assertion::AssertionDiff;
use crate::diag::{Code, Problem, Problems, suggest};
use crate::json;

/// A number and how far another may be from it.
#[derive(Debug, Clone, PartialEq)]
pub struct Near {
    value: Number,
    /// The largest distance that still matches; never negative.
    tolerance: Number,
}

const KEYS: [&str; 2] = ["value", "tolerance"];

impl Near {
    /// Reads `{ value: 12, tolerance: 0.5 }`. Paths of problems start at that object.
    pub(super) fn parse(rule: &Value) -> Result<Self, Problems> {
        let mut problems = Problems::default();
        let Some(map) = rule.as_object() else {
            let found = json::describe(rule);
            let problem = Problem::new(
                Code::MalformedMatcher,
                "",
                format!("`near` must be a map with `value` and `tolerance`, found {found}"),
            );
            let value = if rule.is_number() { json::excerpt(rule, 40) } else { "..".to_owned() };
            return Err(problem.hint(format!("write `{{ value: {value}, tolerance: .. }}`")).into());
        };
        for key in map.keys().filter(|key| !KEYS.contains(&key.as_str())) {
            let path = format!("/{}", json::pointer_step(key));
            problems.push(
                Problem::new(Code::UnknownKey, path, format!("unknown key `{key}` in `near`"))
                    .on_key()
                    .hint(suggest(key, KEYS)),
            );
        }
        let mut number = |key: &str| match map.get(key) {
            Some(Value::Number(number)) => Some(number.clone()),
            Some(other) => {
                let message = format!("`{key}` must be a number, found {}", json::describe(other));
                let problem = Problem::new(Code::MalformedMatcher, format!("/{key}"), message);
                let is_quoted = other.as_str().is_some_and(|text| text.trim().parse::<f64>().is_ok());
                problems.push(problem.hint(if is_quoted { "remove the quotes" } else { "write a number" }));
                None
            }
            // A key that is there under a wrong name is not missing as well.
            None if map.len() == KEYS.len() => None,
            None => {
                problems.push(
                    Problem::new(Code::MalformedMatcher, "", format!("missing key `{key}` in `near`"))
                        .hint(format!("add `{key}: ..`")),
                );
                None
            }
        };
        let (value, tolerance) = (number("value"), number("tolerance"));
        if let Some(negative) = tolerance.as_ref().filter(|number| number.as_f64().is_some_and(|value| value < 0.0)) {
            let problem = Problem::new(
                Code::MalformedMatcher,
                "/tolerance",
                format!("`tolerance` must not be negative, found {negative}"),
            );
            problems.push(problem.hint("set the largest allowed difference; 0 means equal"));
        }
        match (value, tolerance) {
            (Some(value), Some(tolerance)) => problems.or(Self { value, tolerance }),
            _ => Err(problems),
        }
    }

    pub(super) fn check(&self, actual: &Value) -> MatchResult {
        let Value::Number(number) = actual else {
            return MatchResult::CannotJudge(format!("near reads a number, got {}", json::describe(actual)));
        };
        match self.holds(number) {
            Some(true) => MatchResult::Holds,
            Some(false) => {
                let expected = Value::Number(self.value.clone());
                let note = format!("is not within {}", json::number_text(&self.tolerance));
                MatchResult::no(AssertionDiff::new("", Some(&expected), Some(actual)).note(&note))
            }
            None => MatchResult::CannotJudge("the numbers have too many digits to be compared".to_owned()),
        }
    }

    fn holds(&self, actual: &Number) -> Option<bool> {
        if json::number_text(actual) == json::number_text(&self.value) {
            return Some(true);
        }
        exact([actual, &self.value, &self.tolerance]).or_else(|| rounded([actual, &self.value, &self.tolerance]))
    }
}

impl std::fmt::Display for Near {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} ± {}", json::number_text(&self.value), json::number_text(&self.tolerance))
    }
}

/// The comparison in whole multiples of the smallest decimal place; `None` if they do not fit.
fn exact(numbers: [&Number; 3]) -> Option<bool> {
    let decimals = [decimal(numbers[0])?, decimal(numbers[1])?, decimal(numbers[2])?];
    let least = decimals.iter().map(|(_, exponent)| *exponent).min()?;
    let scaled = |(digits, exponent): (i128, i32)| {
        let places = exponent.checked_sub(least).and_then(|places| u32::try_from(places).ok())?;
        digits.checked_mul(10_i128.checked_pow(places)?)
    };
    let [actual, value, tolerance] = decimals.map(scaled);
    Some(actual?.checked_sub(value?)?.unsigned_abs() <= tolerance?.unsigned_abs())
}

/// The digits of a number without its point, and the power of ten they are multiplied by.
fn decimal(number: &Number) -> Option<(i128, i32)> {
    let text = json::number_text(number).to_lowercase();
    let (digits, exponent) = text.split_once('e').unwrap_or((&text, "0"));
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
    let digits: i128 = format!("{whole}{fraction}").parse().ok()?;
    let exponent: i32 = exponent.parse().ok()?;
    // Zero has no decimal places, regardless of how it is written.
    let places = i32::try_from(fraction.len()).ok()?;
    Some(if digits == 0 { (0, 0) } else { (digits, exponent.checked_sub(places)?) })
}

/// The comparison as floats; none when the difference is within what rounding may have changed.
fn rounded(numbers: [&Number; 3]) -> Option<bool> {
    let [Some(actual), Some(value), Some(tolerance)] = numbers.map(Number::as_f64) else { return None };
    let excess = (actual - value).abs() - tolerance;
    let doubt = (actual.abs() + value.abs() + tolerance) * 4.0 * f64::EPSILON;
    (excess.is_finite() && doubt.is_finite() && excess.abs() > doubt).then_some(excess < 0.0)
}
