//! Assertions: a target, a matcher, and what a failure says.

use std::borrow::Cow;
use std::fmt;

use serde::Serialize;
use serde_json::Value;

use crate::diag::{Code, Problem, Problems, suggest};
use crate::eval::{self, GateKind};
use crate::json;
use crate::matcher::{Decision, MatchResult, Matcher};
use crate::target::{Resolved, Selection, Target};
use crate::trace::fill_results;

/// The top-level names of the trace envelope.
pub const ENVELOPE_ROOTS: [&str; 7] =
    ["tool_calls", "tool_results", "tool_names", "final_response", "conversation", "answer_source", "program"];

/// One place at which a recorded value is not what was expected.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct AssertionDiff {
    /// What was recorded there; absent where nothing was.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub actual: Option<Value>,
    /// What was expected there; absent where nothing was.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub expected: Option<Value>,
    /// The difference in words.
    pub note: String,
    /// JSON pointer into the value that was judged.
    pub path: String,
}

impl AssertionDiff {
    pub(crate) fn new(path: impl Into<String>, expected: Option<&Value>, actual: Option<&Value>) -> Self {
        Self { path: path.into(), expected: expected.cloned(), actual: actual.cloned(), note: String::new() }
    }

    pub(crate) fn note(mut self, note: &str) -> Self {
        note.clone_into(&mut self.note);
        self
    }

    /// The same diff seen from further up.
    pub(crate) fn under(mut self, prefix: &str) -> Self {
        self.path.insert_str(0, prefix);
        self
    }
}

impl fmt::Display for AssertionDiff {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let place = if self.path.is_empty() { "value" } else { &self.path };
        write!(f, "{place}: {}", self.note)?;
        if let Some(expected) = &self.expected {
            write!(f, ", expected {}", json::excerpt(expected, 80))?;
        }
        if let Some(actual) = &self.actual {
            write!(f, ", recorded {}", json::excerpt(actual, 80))?;
        }
        Ok(())
    }
}

/// What an assertion's target resolves in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scope {
    /// The trace envelope.
    Envelope,
    /// One gate's metrics.
    Gate(GateKind),
}

/// A compiled assertion.
#[derive(Debug, Clone)]
pub struct Assertion {
    target: Target,
    matcher: Matcher,
    message: Option<String>,
}

/// The result of an assertion.
#[derive(Debug, Clone, PartialEq)]
pub enum Check {
    /// The value matches.
    Pass,
    /// The value does not match.
    Fail {
        /// One line.
        reason: String,
        /// Where the value differs.
        diffs: Vec<AssertionDiff>,
    },
    /// What would decide was not recorded.
    Unassessable {
        /// One line.
        reason: String,
    },
}

impl Assertion {
    /// Compiles an assertion as written. Paths of problems start at the assertion.
    ///
    /// ```
    /// use mcptest_core::{Assertion, Scope};
    /// use mcptest_core::eval::GateKind;
    /// use serde_json::json;
    ///
    /// let scope = Scope::Gate(GateKind::Stability);
    /// assert!(Assertion::compile(scope, "stability.score", &json!({ "schema": { "minimum": 0.7 } }), None).is_ok());
    /// let problems = Assertion::compile(scope, "stability.scor", &json!({ "exact": 1 }), None).unwrap_err();
    /// assert_eq!(
    ///     problems.to_string(),
    ///     "/target: `stability` has no metric `scor` (hint: did you mean `stability.score`?)",
    /// );
    /// ```
    pub fn compile(scope: Scope, target: &str, matcher: &Value, message: Option<String>) -> Result<Self, Problems> {
        let mut problems = Problems::default();
        let target = match Target::parse(target) {
            Ok(target) => Some(target),
            Err(error) => {
                problems.push(Problem::new(
                    Code::MalformedTarget,
                    "/target",
                    format!("invalid target `{target}`: {error}"),
                ));
                None
            }
        };
        let matcher = Matcher::parse(matcher).map_err(|inner| problems.extend_at("/matcher", inner)).ok();
        match (target, matcher) {
            (Some(target), Some(matcher)) => Self::new(scope, target, matcher, message),
            (Some(target), None) => {
                if let Err(problem) = check_target(scope, &target) {
                    problems.push(problem);
                }
                Err(problems)
            }
            _ => Err(problems),
        }
    }

    /// An assertion from its parts; the target must exist in the scope.
    pub fn new(scope: Scope, target: Target, matcher: Matcher, message: Option<String>) -> Result<Self, Problems> {
        check_target(scope, &target)?;
        if let (Scope::Gate(_), Some(value)) = (scope, exact_no_number(&matcher)) {
            let shown = json::excerpt(value, 40);
            let problem = Problem::new(
                Code::MetricIsANumber,
                "/matcher",
                format!("metrics are numbers: `exact: {shown}` never matches"),
            );
            return Err(match value {
                Value::Bool(word) => problem.hint(format!("write `exact: {}`", i32::from(*word))),
                Value::String(text) if text.trim().parse::<f64>().is_ok() => {
                    problem.hint(format!("remove the quotes: `exact: {}`", text.trim()))
                }
                _ => problem.hint("write a number"),
            }
            .into());
        }
        Ok(Self { target, matcher, message })
    }

    /// The target.
    pub fn target(&self) -> &Target {
        &self.target
    }

    /// The matcher.
    pub fn matcher(&self) -> &Matcher {
        &self.matcher
    }

    /// The author's own words for a failure.
    pub fn message(&self) -> Option<&str> {
        self.message.as_deref()
    }

    /// Judges a trace envelope. What was not recorded counts neither for nor against the run: where it could change the
    /// answer, there is none.
    ///
    /// ```
    /// use mcptest_core::assertion::{Assertion, Check, Scope};
    /// use serde_json::json;
    ///
    /// let no_error = json!({ "not": { "contains": true } });
    /// let assertion = Assertion::compile(Scope::Envelope, "tool_results[*].is_error", &no_error, None)?;
    /// let check = assertion.check(&json!({
    ///     "tool_calls": [{ "name": "find" }, { "name": "book" }],
    ///     "tool_results": [{ "is_error": false }, null],
    /// }));
    /// let reason = "`tool_results[*].is_error` is not assessable: `tool_results[1]` was not recorded";
    /// assert_eq!(check, Check::Unassessable { reason: reason.into() });
    /// # Ok::<(), mcptest_core::Problems>(())
    /// ```
    pub fn check(&self, envelope: &Value) -> Check {
        let envelope = filled(envelope);
        let (recorded, value, gaps) = match self.target.resolve(&envelope) {
            Resolved::Known(selection) => return self.judge(selection, |_| None),
            Resolved::Unknown(gaps) => return self.unassessable(&gaps),
            Resolved::Partial { recorded, value, gaps } => (recorded, value, gaps),
        };
        if json::deeper_than(&recorded, json::MAX_DEPTH) {
            return self.judge(Selection::Found(recorded), |_| None);
        }
        match self.matcher.decide(&value) {
            Decision::Holds => Check::Pass,
            Decision::Open => self.unassessable(&gaps),
            Decision::DoesNotHold => {
                let diffs = match self.matcher.check(&recorded) {
                    MatchResult::DoesNotHold(diffs) => diffs,
                    _ => Vec::new(),
                };
                self.failed(self.differs(&recorded), diffs)
            }
            Decision::CannotJudge => {
                let why = match self.matcher.check(&recorded) {
                    MatchResult::CannotJudge(why) => why,
                    _ => format!("got {}", json::describe(&recorded)),
                };
                self.failed(self.not_judged(&why), Vec::new())
            }
        }
    }

    /// Judges the selected value. `readable` may give a shorter value for the message, which is used unless it would match
    /// although the value does not.
    pub(crate) fn judge(&self, selection: Selection<'_>, readable: impl Fn(&Value) -> Option<Value>) -> Check {
        match selection {
            Selection::Nothing { reached, reason } => {
                let place = if reached.is_empty() { String::new() } else { format!(" beyond `{reached}`") };
                self.failed(format!("`{}` selects nothing{place}: {reason}", self.target), Vec::new())
            }
            Selection::Found(actual) => match self.matcher.check(&actual) {
                MatchResult::Holds => Check::Pass,
                MatchResult::DoesNotHold(diffs) => {
                    let fails = |shown: &Value| matches!(self.matcher.check(shown), MatchResult::DoesNotHold(_));
                    let shown = readable(&actual).filter(fails);
                    self.failed(self.differs(shown.as_ref().unwrap_or(&actual)), diffs)
                }
                MatchResult::CannotJudge(why) => self.failed(self.not_judged(&why), Vec::new()),
            },
        }
    }

    fn differs(&self, recorded: &Value) -> String {
        format!("`{}` is {}, expected {}", self.target, json::excerpt(recorded, 80), self.matcher)
    }

    fn not_judged(&self, why: &str) -> String {
        format!("`{}` cannot be judged by {}: {why}", self.target, self.matcher)
    }

    fn failed(&self, reason: String, diffs: Vec<AssertionDiff>) -> Check {
        Check::Fail { reason: self.in_own_words(reason), diffs }
    }

    fn unassessable(&self, gaps: &impl fmt::Display) -> Check {
        let reason = format!("`{}` is not assessable: {gaps}", self.target);
        Check::Unassessable { reason: self.in_own_words(reason) }
    }

    fn in_own_words(&self, reason: String) -> String {
        match &self.message {
            Some(message) => format!("{message} ({reason})"),
            None => reason,
        }
    }
}

/// The envelope with a null for every call that has no recorded result.
fn filled(envelope: &Value) -> Cow<'_, Value> {
    let count = |key| envelope.get(key).and_then(Value::as_array).map(Vec::len);
    if count("tool_calls") <= count("tool_results") {
        return Cow::Borrowed(envelope);
    }
    let mut filled = envelope.clone();
    if let Value::Object(map) = &mut filled {
        fill_results(map);
    }
    Cow::Owned(filled)
}

/// A boolean or a string in `exact`, also under `not`.
fn exact_no_number(matcher: &Matcher) -> Option<&Value> {
    match matcher {
        Matcher::Exact(value @ (Value::Bool(_) | Value::String(_))) => Some(value),
        Matcher::Not(inner) => exact_no_number(inner),
        _ => None,
    }
}

fn check_target(scope: Scope, target: &Target) -> Result<(), Problem> {
    let root = target.root();
    match scope {
        Scope::Envelope if root.starts_with("tool_") && ENVELOPE_ROOTS.contains(&root) => match target.second_key() {
            Some(key) => {
                let index = if key.parse::<u64>().is_ok() { key } else { "0" };
                let problem = Problem::new(
                    Code::UnknownTarget,
                    "/target",
                    format!("`{root}` is a list, so `{key}` selects nothing"),
                );
                Err(problem.hint(format!("select an item: `{root}[{index}]`, or `{root}[*]` for all of them")))
            }
            None => Ok(()),
        },
        Scope::Envelope if ENVELOPE_ROOTS.contains(&root) => Ok(()),
        Scope::Envelope => {
            let problem = Problem::new(Code::UnknownTarget, "/target", format!("a trace has no field `{root}`"));
            Err(match eval::GATES.iter().find(|gate| gate.prefix == root) {
                Some(gate) => problem.hint(format!("use metrics in the `expect:` of `{}:`", gate.kind)),
                None => problem.hint(suggest(root, ENVELOPE_ROOTS)),
            })
        }
        Scope::Gate(kind) => kind.info().check_target(target),
    }
}
