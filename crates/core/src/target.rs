//! Targets: the path an assertion reads, such as `tool_calls[0].args.city` or `tool_calls[*].name`.
//!
//! A path that selects nothing is a separate result, never an empty value: it says how far it got.

use std::borrow::Cow;
use std::fmt;

use serde_json::Value;

use crate::json;
use crate::trace::{Gaps, Part, Partial};

/// A parsed path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Target {
    text: String,
    steps: Vec<Step>,
}

/// One step of a path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Step {
    /// `a` or `["odd key"]`
    Key(String),
    /// `[2]`, or `[-1]` counted from the end.
    Index(i64),
    /// `[*]`
    Every,
}

/// A path that cannot be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("column {column}: {message}")]
pub struct TargetError {
    /// Column in characters, from 1.
    pub column: usize,
    /// What is wrong there.
    pub message: String,
}

/// What a path selects.
#[derive(Debug, Clone, PartialEq)]
pub enum Selection<'a> {
    /// The value, or the list of values a `[*]` gathered.
    Found(Cow<'a, Value>),
    /// Nothing.
    Nothing {
        /// The part of the path that still selected something; empty when the first step failed.
        reached: String,
        /// Why the next step selected nothing.
        reason: String,
    },
}

/// What a path selects in an envelope that may have missing parts.
pub(crate) enum Resolved<'a> {
    /// Everything along the path was recorded.
    Known(Selection<'a>),
    /// What it selects, as far as it was recorded.
    Partial {
        /// Without what is unknown, to be shown.
        recorded: Cow<'a, Value>,
        /// With it, to be judged.
        value: Partial<'a>,
        gaps: Gaps,
    },
    /// Whether it selects anything was not recorded.
    Unknown(Gaps),
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl Target {
    /// Reads a path: `a.b`, `a[0]`, `a[-1]`, `a[*].b`, `a["odd key"]`.
    ///
    /// ```
    /// use mcptest_core::Target;
    ///
    /// assert!(Target::parse("tool_results[-1].content[*].text").is_ok());
    /// let error = Target::parse("tool_calls[0.args").unwrap_err();
    /// assert_eq!(error.to_string(), "column 13: expected `]`, found `.`");
    /// ```
    pub fn parse(text: &str) -> Result<Self, TargetError> {
        Ok(Self { text: text.to_owned(), steps: Parser { text, at: 0 }.path()? })
    }

    /// The first key of the path.
    pub fn root(&self) -> &str {
        match self.steps.first() {
            Some(Step::Key(key)) => key,
            _ => "",
        }
    }

    /// The second key of the path, for targets such as `stability.score`.
    pub(crate) fn second_key(&self) -> Option<&str> {
        match self.steps.get(1) {
            Some(Step::Key(key)) => Some(key),
            _ => None,
        }
    }

    /// Whether a key follows the first two, as in `reliability.decay_curve.first`.
    pub(crate) fn key_below_metric(&self) -> bool {
        matches!(self.steps.get(2), Some(Step::Key(_)))
    }

    /// Whether anything follows the first two keys, as in `reliability.decay_curve[3]`.
    pub(crate) fn has_more_than_two_steps(&self) -> bool {
        self.steps.len() > 2
    }

    /// Selects in `value`.
    pub fn select<'a>(&self, value: &'a Value) -> Selection<'a> {
        self.select_from(value, 0)
    }

    /// Selects in `value` with the first key of the path already taken.
    pub(crate) fn select_below_root<'a>(&self, value: &'a Value) -> Selection<'a> {
        self.select_from(value, 1)
    }

    /// A JSON pointer to what the path selects in `value`, and whether it says all of it: a pointer ends before a `[*]`,
    /// and after the first step that selects nothing.
    pub(crate) fn pointer(&self, value: &Value) -> (String, bool) {
        let mut out = String::new();
        let mut here = Some(value);
        for step in &self.steps {
            let Some(value) = here else { return (out, false) };
            match (step, value) {
                (Step::Key(key), _) => {
                    out.push('/');
                    out.push_str(&json::pointer_step(key));
                    here = value.get(key);
                }
                (Step::Index(index), Value::Array(items)) => {
                    let at = position(items, *index);
                    out.push_str(&at.map_or_else(|| format!("/{index}"), |at| format!("/{at}")));
                    here = at.and_then(|at| items.get(at));
                }
                (Step::Index(_) | Step::Every, _) => return (out, false),
            }
        }
        (out, here.is_some())
    }

    /// The steps of the path.
    pub(crate) fn steps(&self) -> &[Step] {
        &self.steps
    }

    /// Selects in `value` after the first `taken` steps.
    pub(crate) fn select_from<'a>(&self, value: &'a Value, start: usize) -> Selection<'a> {
        let mut walk = Walk::new(self, start);
        match walk.go(value, Part::Whole, start) {
            Walked::One(value, _) => Selection::Found(Cow::Borrowed(value)),
            Walked::Many { values, .. } => Selection::Found(gathered(values)),
            Walked::Nothing | Walked::Unknown => walk.nothing(),
        }
    }

    /// Selects in an envelope, in which an absent part may be unknown.
    pub(crate) fn resolve<'a>(&self, envelope: &'a Value) -> Resolved<'a> {
        let mut walk = Walk::new(self, 0);
        let (recorded, value) = match walk.go(envelope, Part::Envelope, 0) {
            Walked::One(value, part) => (Cow::Borrowed(value), walk.partial(value, part)),
            Walked::Many { values, items, is_open } => (gathered(values), Partial::List { items, is_open }),
            Walked::Nothing => return Resolved::Known(walk.nothing()),
            Walked::Unknown => return Resolved::Unknown(walk.gaps),
        };
        if walk.gaps.is_empty() {
            return Resolved::Known(Selection::Found(recorded));
        }
        Resolved::Partial { recorded, value, gaps: walk.gaps }
    }
}

fn gathered<'a>(values: Vec<&Value>) -> Cow<'a, Value> {
    Cow::Owned(Value::Array(values.into_iter().cloned().collect()))
}

impl std::str::FromStr for Target {
    type Err = TargetError;

    fn from_str(text: &str) -> Result<Self, TargetError> {
        Self::parse(text)
    }
}

/// One selection in progress.
struct Walk<'t> {
    steps: &'t [Step],
    /// The current item of each `[*]` along the path.
    items: Vec<usize>,
    /// The furthest step that selected nothing, and why.
    stop: usize,
    reason: String,
    gaps: Gaps,
}

enum Walked<'a> {
    One(&'a Value, Part),
    Many {
        values: Vec<&'a Value>,
        /// The same with what is unknown in them.
        items: Vec<Partial<'a>>,
        /// Whether there may be more, which was not recorded.
        is_open: bool,
    },
    Nothing,
    Unknown,
}

impl<'t> Walk<'t> {
    fn new(target: &'t Target, start: usize) -> Self {
        Self { steps: &target.steps, items: Vec::new(), stop: start, reason: String::new(), gaps: Gaps::default() }
    }

    /// Takes the steps from `start` on.
    fn go<'a>(&mut self, value: &'a Value, part: Part, start: usize) -> Walked<'a> {
        let (mut value, mut part) = (value, part);
        for (at, step) in self.steps.iter().enumerate().skip(start) {
            if let Some(why) = part.opaque(value) {
                return self.unknown(at, why);
            }
            let next = match (step, value) {
                (Step::Key(key), Value::Object(map)) => {
                    if let Some(why) = part.gap(map, key) {
                        return self.unknown(at + 1, why);
                    }
                    part = part.at_key(key);
                    map.get(key)
                }
                (Step::Index(index), Value::Array(items)) => {
                    part = part.item();
                    pick(items, *index)
                }
                (Step::Every, Value::Array(items)) => return self.every(items, part.item(), at),
                _ => None,
            };
            let Some(next) = next else {
                if self.reason.is_empty() || at > self.stop {
                    (self.stop, self.reason) = (at, missed(step, value));
                }
                return Walked::Nothing;
            };
            value = next;
        }
        Walked::One(value, part)
    }

    /// An empty list selects an empty list; a list none of whose elements has the rest selects nothing.
    fn every<'a>(&mut self, list: &'a [Value], part: Part, at: usize) -> Walked<'a> {
        let (mut values, mut items, mut is_open) = (Vec::new(), Vec::new(), false);
        let mut any = list.is_empty();
        for (item, value) in list.iter().enumerate() {
            self.items.push(item);
            match self.go(value, part, at + 1) {
                Walked::One(value, part) => {
                    values.push(value);
                    items.push(self.partial(value, part));
                    any = true;
                }
                Walked::Many { values: inner, items: inner_items, is_open: more } => {
                    values.extend(inner);
                    items.extend(inner_items);
                    is_open |= more;
                    any = true;
                }
                Walked::Unknown => is_open = true,
                Walked::Nothing => {}
            }
            self.items.pop();
        }
        match (any, is_open) {
            (true, _) => Walked::Many { values, items, is_open },
            (false, true) => Walked::Unknown,
            (false, false) => Walked::Nothing,
        }
    }

    /// The value that the whole path selects, with what is unknown in it.
    fn partial<'a>(&mut self, value: &'a Value, part: Part) -> Partial<'a> {
        Partial::of(value, part, &|| path_text(self.steps, &self.items), &mut self.gaps)
    }

    fn unknown<'a>(&mut self, steps: usize, why: &str) -> Walked<'a> {
        self.gaps.add(|| format!("`{}` {why}", path_text(&self.steps[..steps], &self.items)));
        Walked::Unknown
    }

    fn nothing<'a>(self) -> Selection<'a> {
        Selection::Nothing { reached: path_text(&self.steps[..self.stop], &[]), reason: self.reason }
    }
}

/// Why a step selects nothing in a value.
fn missed(step: &Step, value: &Value) -> String {
    let what = json::describe(value);
    match (step, value) {
        (Step::Key(key), Value::Object(_)) => format!("no key {key:?} in {what}"),
        (Step::Index(index), Value::Array(_)) => format!("no index {index} in {what}"),
        (Step::Key(_), _) => format!("{what} has no keys"),
        (Step::Index(_) | Step::Every, _) => format!("{what} is not a list"),
    }
}

fn pick(items: &[Value], index: i64) -> Option<&Value> {
    items.get(position(items, index)?)
}

/// The place of an element that may be counted from the end.
fn position(items: &[Value], index: i64) -> Option<usize> {
    let distance = usize::try_from(index.unsigned_abs()).ok()?;
    if index < 0 { items.len().checked_sub(distance) } else { Some(distance).filter(|at| *at < items.len()) }
}

/// A path as written. `[*]` is printed as the current index, if known.
pub(crate) fn path_text(steps: &[Step], items: &[usize]) -> String {
    let mut out = String::new();
    let mut items = items.iter();
    for step in steps {
        match step {
            Step::Key(key) if !key.is_empty() && key.chars().all(is_plain) => {
                if !out.is_empty() {
                    out.push('.');
                }
                out.push_str(key);
            }
            Step::Key(key) => {
                out.push('[');
                out.push_str(&json::canonical(&Value::String(key.clone())));
                out.push(']');
            }
            Step::Index(index) => out.push_str(&format!("[{index}]")),
            Step::Every => match items.next() {
                Some(item) => out.push_str(&format!("[{item}]")),
                None => out.push_str("[*]"),
            },
        }
    }
    out
}

fn is_plain(c: char) -> bool {
    !matches!(c, '.' | '[' | ']' | '"' | '\'' | '*') && !c.is_whitespace() && !c.is_control()
}

struct Parser<'a> {
    text: &'a str,
    at: usize,
}

impl Parser<'_> {
    fn path(mut self) -> Result<Vec<Step>, TargetError> {
        if self.text.starts_with('$') && !self.text[1..].starts_with(is_plain) {
            return Err(self.error("a target starts with a name, not `$`"));
        }
        let mut steps = Vec::new();
        // An unusual name, such as one of an argument, is always quoted.
        if self.text.starts_with("[\"") && !self.text.starts_with("[\"\"") {
            self.at = 1;
            steps.push(self.bracket()?);
        } else {
            steps.push(Step::Key(self.name()?));
        }
        while let Some(c) = self.peek() {
            self.at += c.len_utf8();
            match c {
                '.' => steps.push(Step::Key(self.name()?)),
                '[' => steps.push(self.bracket()?),
                _ => {
                    self.at -= c.len_utf8();
                    return Err(self.error(&format!("expected `.` or `[`, found `{c}`")));
                }
            }
        }
        Ok(steps)
    }

    fn peek(&self) -> Option<char> {
        self.text[self.at..].chars().next()
    }

    fn error(&self, message: &str) -> TargetError {
        TargetError { column: self.text[..self.at].chars().count() + 1, message: message.to_owned() }
    }

    fn found(&self) -> String {
        self.peek().map_or_else(|| "the end".to_owned(), |c| format!("`{c}`"))
    }

    fn name(&mut self) -> Result<String, TargetError> {
        let rest = &self.text[self.at..];
        let end = rest.find(|c| !is_plain(c)).unwrap_or(rest.len());
        if end == 0 {
            return Err(self.error(&format!("expected a name, found {}", self.found())));
        }
        self.at += end;
        Ok(rest[..end].to_owned())
    }

    fn bracket(&mut self) -> Result<Step, TargetError> {
        let rest = &self.text[self.at..];
        let step = match self.peek() {
            Some('*') => {
                self.at += 1;
                Step::Every
            }
            Some('"') => {
                let mut stream = serde_json::Deserializer::from_str(rest).into_iter::<String>();
                let Some(Ok(key)) = stream.next() else {
                    return Err(self.error("the quoted key is not closed or not a JSON string"));
                };
                self.at += stream.byte_offset();
                Step::Key(key)
            }
            _ => {
                let end = rest.find(|c: char| !(c.is_ascii_digit() || c == '-')).unwrap_or(rest.len());
                let Ok(index) = rest[..end].parse() else {
                    let digits = rest[..end].strip_prefix('-').unwrap_or(&rest[..end]);
                    if !digits.is_empty() && !digits.contains('-') {
                        return Err(self.error("the index is too large"));
                    }
                    return Err(
                        self.error(&format!("expected an index, `*` or a double-quoted key, found {}", self.found()))
                    );
                };
                self.at += end;
                Step::Index(index)
            }
        };
        if self.peek() != Some(']') {
            return Err(self.error(&format!("expected `]`, found {}", self.found())));
        }
        self.at += 1;
        Ok(step)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn select(path: &str, value: &Value) -> Result<Value, String> {
        match Target::parse(path).expect(path).select(value) {
            Selection::Found(found) => Ok(found.into_owned()),
            Selection::Nothing { reached, reason } => Err(format!("{reached}: {reason}")),
        }
    }

    #[test]
    fn paths_select_keys_indices_and_lists() {
        let value = json!({
            "a": [{ "b": 1 }, { "b": 2, "c": [3, 4] }, { "c": [] }],
            "odd key": { "x.y": true },
            "none": [],
        });
        for (path, found) in [
            ("a[0].b", json!(1)),
            ("a[-1].c", json!([])),
            ("a[-3].b", json!(1)),
            ("a[*].b", json!([1, 2])),
            ("a[*].c[*]", json!([3, 4])),
            ("none[*].b", json!([])),
            ("none[*]", json!([])),
        ] {
            assert_eq!(select(path, &value), Ok(found), "{path}");
        }
        let odd = json!({ "r": value });
        assert_eq!(select(r#"r["odd key"]["x.y"]"#, &odd), Ok(json!(true)));
    }

    #[test]
    fn a_path_that_selects_nothing_says_how_far_it_got() {
        let value = json!({ "a": [{ "b": 1 }], "s": "text", "o": { "": 0 } });
        for (path, message) in [
            ("a[0].c", "a[0]: no key \"c\" in an object with 1 key"),
            ("a[1]", "a: no index 1 in a list of 1"),
            ("a[-2]", "a: no index -2 in a list of 1"),
            ("a[*].b.c", "a[*].b: a number (1) has no keys"),
            ("s[*]", "s: a string (\"text\") is not a list"),
            (r#"o[""].x"#, r#"o[""]: a number (0) has no keys"#),
            ("z", ": no key \"z\" in an object with 3 keys"),
            ("a[-9223372036854775808]", "a: no index -9223372036854775808 in a list of 1"),
        ] {
            assert_eq!(select(path, &value), Err(message.to_owned()), "{path}");
        }
    }

    #[test]
    fn malformed_paths_name_the_column() {
        for (path, message) in [
            ("", "column 1: expected a name, found the end"),
            ("$.a", "column 1: a target starts with a name, not `$`"),
            (".a", "column 1: expected a name, found `.`"),
            ("a..b", "column 3: expected a name, found `.`"),
            ("a.", "column 3: expected a name, found the end"),
            ("a[", "column 3: expected an index, `*` or a double-quoted key, found the end"),
            ("a[x]", "column 3: expected an index, `*` or a double-quoted key, found `x`"),
            ("a['x']", "column 3: expected an index, `*` or a double-quoted key, found `'`"),
            ("a[1", "column 4: expected `]`, found the end"),
            ("a[\"x]", "column 3: the quoted key is not closed or not a JSON string"),
            ("å b", "column 2: expected `.` or `[`, found ` `"),
            ("a]", "column 2: expected `.` or `[`, found `]`"),
            ("[0]", "column 1: expected a name, found `[`"),
            ("[\"a", "column 2: the quoted key is not closed or not a JSON string"),
            ("a[--1]", "column 3: expected an index, `*` or a double-quoted key, found `-`"),
        ] {
            assert_eq!(Target::parse(path).unwrap_err().to_string(), message, "{path}");
        }
    }
}
