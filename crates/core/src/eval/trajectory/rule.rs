//! Whether an expectation fits a recorded call.

use std::borrow::Cow;

use serde_json::{Map, Value};

use super::{CallRule, ExpectedArgs, StatusRule};
use crate::assertion::AssertionDiff;
use crate::diag::{Code, Problem, Problems};
use crate::json;
use crate::matcher::{MatchResult, Matcher, Schema, contains};
use crate::target::{Selection, Target};
use crate::trace::{ToolCall, ToolResult, Trace};

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Fit {
    No,
    /// The evidence that decides it was not recorded.
    Unknown,
    Yes,
}

impl Fit {
    fn of(known: Option<bool>) -> Self {
        match known {
            Some(true) => Self::Yes,
            Some(false) => Self::No,
            None => Self::Unknown,
        }
    }
}

/// The parts of a recorded call that a rule reads.
#[derive(Debug, Clone, Copy)]
pub(crate) struct RecordedCall<'a> {
    pub(crate) name: &'a str,
    pub(crate) server: Option<&'a str>,
    pub(crate) args: Option<&'a Value>,
    pub(crate) failed: Option<bool>,
    /// The program did not make the call.
    pub(crate) is_refused: bool,
    pub(crate) turn: Option<usize>,
}

impl<'a> RecordedCall<'a> {
    pub(crate) fn new(call: &'a ToolCall, args: Option<&'a Value>, failed: Option<bool>) -> Self {
        Self { name: &call.name, server: call.server.as_deref(), args, failed, is_refused: false, turn: call.turn }
    }

    /// The calls of a trace; `None` when they were not recorded.
    pub(crate) fn all(trace: &'a Trace) -> Option<Vec<Self>> {
        let calls = trace.tool_calls.as_ref()?;
        let seen = calls.iter().enumerate().map(|(index, call)| {
            let result = trace.result(index);
            let is_refused = result.is_some_and(ToolResult::is_refused);
            Self { is_refused, ..Self::new(call, call.args.as_ref(), result.and_then(ToolResult::failed)) }
        });
        Some(seen.collect())
    }
}

/// A compiled expectation.
#[derive(Debug, Clone)]
pub(super) struct Rule {
    pub(super) name: String,
    pub(super) optional: bool,
    server: Option<String>,
    status: Option<StatusRule>,
    args: Args,
    /// Pointers into the arguments, longest first.
    pub(super) ignore: Vec<String>,
    /// The author wrote that any arguments fit.
    pub(super) is_any: bool,
}

#[derive(Debug, Clone)]
enum Args {
    Any,
    Exact(Value),
    Subset(Value),
    Schema(Schema),
    Match(Vec<(Target, Matcher)>),
}

impl Rule {
    /// Compiles an expectation. Paths of problems start at the expectation.
    pub(super) fn compile(rule: &CallRule) -> Result<Self, Problems> {
        let mut problems = Problems::default();
        for (at, pointer) in rule.ignore_args.iter().enumerate() {
            if !pointer.starts_with('/') {
                let problem = Problem::new(
                    Code::InvalidIgnoreArgs,
                    format!("/ignore_args/{at}"),
                    format!("`{pointer}` is not a JSON pointer"),
                );
                problems.push(problem.hint(format!("write `/{pointer}`")));
            }
        }
        let compared = matches!(rule.call.args, ExpectedArgs::Exact(_) | ExpectedArgs::Subset(_));
        if !rule.ignore_args.is_empty() && !compared {
            let message = "`ignore_args` has no effect here: only `exact` and `subset` compare values";
            problems.push(
                Problem::new(Code::InvalidIgnoreArgs, "/ignore_args", message).hint("use it with `exact` or `subset`"),
            );
        }
        let mut ignore = rule.ignore_args.clone();
        // Later elements of a list go first, so that removing one does not move the next.
        ignore.sort_by(|a, b| b.len().cmp(&a.len()).then_with(|| b.cmp(a)));
        ignore.dedup();
        let args = match &rule.call.args {
            ExpectedArgs::Any | ExpectedArgs::Ignore => Args::Any,
            ExpectedArgs::Exact(value) => Args::Exact(expected(value, "/args/exact", &ignore, &mut problems)),
            ExpectedArgs::Subset(value) => Args::Subset(expected(value, "/args/subset", &ignore, &mut problems)),
            ExpectedArgs::Schema(value) => match Schema::compile(value) {
                Ok(schema) => Args::Schema(schema),
                Err(inner) => {
                    problems.extend_at("/args/schema", inner);
                    Args::Any
                }
            },
            ExpectedArgs::Match(matchers) => Args::Match(compile_match(matchers, &mut problems)),
        };
        problems.or(Self {
            name: rule.call.name.clone(),
            optional: rule.optional,
            server: rule.server.clone(),
            status: rule.status,
            args,
            ignore,
            is_any: rule.call.args == ExpectedArgs::Ignore,
        })
    }

    pub(super) fn fit(&self, seen: &RecordedCall<'_>) -> Fit {
        if self.name != seen.name {
            return Fit::No;
        }
        let cheap = self.server_fit(seen).min(self.status_fit(seen));
        if cheap == Fit::No { Fit::No } else { cheap.min(self.args_fit(seen)) }
    }

    fn server_fit(&self, seen: &RecordedCall<'_>) -> Fit {
        let Some(server) = &self.server else {
            return Fit::Yes;
        };
        Fit::of(seen.server.map(|found| found == server))
    }

    fn status_fit(&self, seen: &RecordedCall<'_>) -> Fit {
        match self.status {
            // By default, an expected call does not match one that was refused.
            None => Fit::of(Some(!seen.is_refused)),
            Some(StatusRule::Any) => Fit::Yes,
            Some(StatusRule::Ok) => Fit::of(seen.failed.map(|failed| !failed)),
            Some(StatusRule::Error) => Fit::of(seen.failed),
        }
    }

    fn args_fit(&self, seen: &RecordedCall<'_>) -> Fit {
        if matches!(self.args, Args::Any) {
            return Fit::Yes;
        }
        let Some(args) = seen.args else {
            return Fit::Unknown;
        };
        if too_deep(args) {
            return Fit::No;
        }
        let args = pruned(args, &self.ignore);
        let fits = match &self.args {
            Args::Any => true,
            Args::Exact(value) => json::equal(value, &args),
            Args::Subset(value) => contains::fits(value, &args),
            Args::Schema(schema) => applies_to(schema, &args) && schema.fits(&args),
            Args::Match(matchers) => matchers.iter().all(|(path, matcher)| match path.select(&args) {
                Selection::Found(value) => matcher.check(&value) == MatchResult::Holds,
                Selection::Nothing { .. } => false,
            }),
        };
        if fits { Fit::Yes } else { Fit::No }
    }

    /// Where a call differs from this expectation. Unknown values are not differences.
    pub(super) fn diffs(&self, seen: &RecordedCall<'_>) -> Vec<AssertionDiff> {
        let mut out = Vec::new();
        let mut word = |path: &str, want: &str, got: &str| {
            let (want, got) = (Value::from(want), Value::from(got));
            out.push(AssertionDiff::new(path, Some(&want), Some(&got)).note("differs"));
        };
        if self.name != seen.name {
            word("/name", &self.name, seen.name);
        }
        if let (Fit::No, Some(want), Some(got)) = (self.server_fit(seen), &self.server, seen.server) {
            word("/server", want, got);
        }
        if self.status_fit(seen) == Fit::No {
            let found = match seen.failed {
                _ if seen.is_refused => "refused",
                Some(true) => "error",
                _ => "ok",
            };
            word("/status", self.status.map_or("ok or error", StatusRule::as_str), found);
        }
        match seen.args {
            Some(args) if too_deep(args) => {
                out.push(AssertionDiff::new("/args", None, None).note("is nested too deeply to compare"));
            }
            Some(args) => out.extend(self.args_diffs(args).into_iter().map(|diff| diff.under("/args"))),
            None => {}
        }
        out
    }

    fn args_diffs(&self, args: &Value) -> Vec<AssertionDiff> {
        let args = pruned(args, &self.ignore);
        match &self.args {
            Args::Any => Vec::new(),
            Args::Exact(value) => Matcher::exact_diffs(value, &args),
            Args::Subset(value) => contains::diffs(value, &args),
            Args::Schema(schema) if applies_to(schema, &args) => schema.diffs(&args),
            Args::Schema(_) => vec![AssertionDiff::new("", None, Some(&args)).note("is not an object")],
            Args::Match(matchers) => {
                matchers.iter().flat_map(|(path, matcher)| match_diffs(path, matcher, &args)).collect()
            }
        }
    }

    /// What was not recorded of a call that may fit, with its verb.
    pub(super) fn missing(&self, seen: &RecordedCall<'_>) -> &'static str {
        if self.server_fit(seen) == Fit::Unknown {
            "its server was"
        } else if self.status_fit(seen) == Fit::Unknown {
            "whether it failed was"
        } else {
            "its args were"
        }
    }
}

/// Whether arguments are nested deeper than comparisons go, so that no expectation about them fits.
fn too_deep(args: &Value) -> bool {
    json::deeper_than(args, json::MAX_DEPTH)
}

/// Arguments are an object. Most keywords ignore every other type, so `required` alone would accept a string; only a schema
/// that names a type applies to one.
fn applies_to(schema: &Schema, args: &Value) -> bool {
    args.is_object() || ["type", "$ref"].iter().any(|key| schema.source().get(key).is_some())
}

/// Compiles paths and matchers. Paths of problems start at the expectation.
fn compile_match(matchers: &Map<String, Value>, problems: &mut Problems) -> Vec<(Target, Matcher)> {
    if matchers.is_empty() {
        let problem = Problem::new(Code::MalformedMatcher, "/args/match", "`match` is empty");
        problems.push(problem.hint("write `match: { NAME: { regex: .. } }`, or `any`"));
    }
    let mut sorted: Vec<_> = matchers.iter().collect();
    sorted.sort_unstable_by_key(|(path, _)| *path);
    let mut out = Vec::with_capacity(sorted.len());
    for (path, matcher) in sorted {
        let place = format!("/args/match/{}", json::pointer_step(path));
        let target = Target::parse(path).map_err(|error| {
            let message = format!("invalid path: {error}");
            let problem = Problem::new(Code::MalformedMatcher, place.clone(), message).on_key();
            problems.push(problem.hint("a path starts at the arguments: `city`, `items[0].id`"));
        });
        let several = matcher.as_object().is_some_and(|keys| keys.len() > 1);
        let matcher = Matcher::parse(matcher).map_err(|mut inner| {
            if let ([problem], true) = (inner.0.as_mut_slice(), several) {
                problem.hint = Some("keep one; `schema` can combine several conditions".to_owned());
            }
            problems.extend_at(&place, inner);
        });
        if let (Ok(target), Ok(matcher)) = (target, matcher) {
            out.push((target, matcher));
        }
    }
    out
}

/// Where the value at a path in the arguments does not satisfy its matcher.
fn match_diffs(path: &Target, matcher: &Matcher, args: &Value) -> Vec<AssertionDiff> {
    let (place, is_whole) = path.pointer(args);
    let one = |actual: Option<&Value>, note: String| vec![AssertionDiff::new(place.clone(), None, actual).note(&note)];
    match path.select(args) {
        Selection::Nothing { reason, .. } => {
            one(None, format!("`{path}` selects nothing ({reason}), expected {matcher}"))
        }
        Selection::Found(value) => match matcher.check(&value) {
            MatchResult::Holds => Vec::new(),
            MatchResult::DoesNotHold(diffs) if is_whole => diffs.into_iter().map(|diff| diff.under(&place)).collect(),
            // The values that `[*]` collected have no single place.
            MatchResult::DoesNotHold(_) => one(Some(&value), format!("`{path}` must satisfy {matcher}")),
            MatchResult::CannotJudge(why) => one(Some(&value), format!("{matcher} cannot judge it: {why}")),
        },
    }
}

fn expected(value: &Value, path: &str, ignore: &[String], problems: &mut Problems) -> Value {
    if too_deep(value) {
        problems.push(Problem::new(
            Code::NestedTooDeep,
            path,
            format!("nested deeper than {} levels", json::MAX_DEPTH),
        ));
        return Value::Null;
    }
    pruned(value, ignore).into_owned()
}

/// The value without what the pointers name.
fn pruned<'a>(value: &'a Value, ignore: &[String]) -> Cow<'a, Value> {
    let mut value = Cow::Borrowed(value);
    for pointer in ignore {
        if value.pointer(pointer).is_none() {
            continue;
        }
        let (parent, last) = pointer.rsplit_once('/').unwrap_or(("", pointer));
        match value.to_mut().pointer_mut(parent) {
            Some(Value::Object(map)) => {
                map.remove(&last.replace("~1", "/").replace("~0", "~"));
            }
            Some(Value::Array(items)) => {
                if let Some(at) = last.parse().ok().filter(|at: &usize| *at < items.len()) {
                    items.remove(at);
                }
            }
            _ => {}
        }
    }
    value
}
