//! What went wrong, where, and what to do about it: the one type for every failure, and how it is printed.
//!
//! A [`Problem`] is in a rule and has a JSON pointer, a [`Diagnostic`] is in a file and has a span, a [`RunError`] is about
//! a run. Input written by people is checked completely, so problems and diagnostics come as lists.

mod code;

use std::borrow::Cow;
use std::fmt;
use std::ops::Range;
use std::sync::OnceLock;

use serde::{Deserialize, Deserializer, Serialize};

use crate::suite::yaml::Node;
pub use code::Code;

/// What went wrong, where, and what to do about it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Failure<P = ()> {
    /// What `mcptest explain` explains it by.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "known_code")]
    pub code: Option<Code>,
    /// What to do about it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
    pub message: String,
    #[serde(skip)]
    pub place: P,
    #[serde(skip)]
    pub severity: Severity,
}

/// Why a run could not be judged.
pub type RunError = Failure<Subject>;

/// What the error of a run is about: a report points at it in the suite.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Subject {
    #[default]
    Test,
    Server(String),
}

/// One mistake in a rule (a matcher, a gate's parameters).
pub type Problem = Failure<RulePath>;

/// A message about a byte range of a file.
pub type Diagnostic = Failure<Range<usize>>;

/// A place inside a rule.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct RulePath {
    /// JSON pointer; empty for the rule itself.
    pub pointer: String,
    /// The key that the pointer ends with is meant, not its value.
    pub on_key: bool,
}

/// A newer program may have written a code that this one does not know.
fn known_code<'de, D: Deserializer<'de>>(from: D) -> Result<Option<Code>, D::Error> {
    Ok(Code::from_word(&String::deserialize(from)?))
}

impl<P> Failure<P> {
    /// An error at a place.
    pub fn error(place: P, message: impl Into<String>) -> Self {
        Self { severity: Severity::Error, code: None, place, message: message.into(), hint: None }
    }

    /// A warning at a place.
    pub fn warning(place: P, message: impl Into<String>) -> Self {
        Self { severity: Severity::Warning, ..Self::error(place, message) }
    }

    /// Adds the code that explains it.
    #[must_use]
    pub fn code(mut self, code: Code) -> Self {
        self.code = Some(code);
        self
    }

    /// Adds what to do about it.
    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// The same failure at another place.
    pub fn moved<Q>(self, place: Q) -> Failure<Q> {
        let Self { severity, code, message, hint, .. } = self;
        Failure { code, hint, message, place, severity }
    }

    /// Severity and code, as in `error[stale-cassette]`.
    pub fn label(&self) -> String {
        match self.code {
            Some(code) => format!("{}[{code}]", self.severity.as_str()),
            None => self.severity.as_str().to_owned(),
        }
    }

    /// `error[code]: place: message`, and the hint on its own line. Line breaks of a message are kept.
    fn lines(&self, place: &str) -> String {
        let message: Vec<_> = self.message.lines().map(printable).collect();
        let place = if place.is_empty() { String::new() } else { format!("{}: ", printable(place)) };
        let hint = self.hint.as_ref().map_or_else(String::new, |hint| format!("\nhint: {}", printable(hint)));
        format!("{}: {place}{}{hint}", self.label(), message.join("\n"))
    }
}

impl RunError {
    /// An error without a code.
    pub fn new(message: impl Into<String>) -> Self {
        Self::error(Subject::Test, message)
    }
}

impl Problem {
    /// A problem at a pointer.
    pub fn new(code: Code, pointer: impl Into<String>, message: impl Into<String>) -> Self {
        Self::error(RulePath { pointer: pointer.into(), on_key: false }, message).code(code)
    }

    /// The same problem, of the key and not of its value.
    #[must_use]
    pub fn on_key(mut self) -> Self {
        self.place.on_key = true;
        self
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.lines(""))
    }
}

impl fmt::Display for RunError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.lines(""))
    }
}

impl fmt::Display for Failure<String> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.lines(&self.place))
    }
}

/// Of an importer: the place is in the text of a record, which only the caller knows.
impl fmt::Display for Failure<Option<usize>> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.place.pointer.is_empty() {
            write!(f, "{}: ", self.place.pointer)?;
        }
        f.write_str(&self.message)?;
        match &self.hint {
            Some(hint) => write!(f, " (hint: {hint})"),
            None => Ok(()),
        }
    }
}

impl<P: fmt::Debug> std::error::Error for Failure<P> where Self: fmt::Display {}

/// Every problem of one rule; never empty where it is returned as an error.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Problems(pub Vec<Problem>);

impl Problems {
    pub fn push(&mut self, problem: Problem) {
        self.0.push(problem);
    }

    /// Adds the problems of the part at `path`.
    pub fn extend_at(&mut self, path: &str, inner: Problems) {
        self.0.extend(inner.0.into_iter().map(|mut problem| {
            problem.place.pointer.insert_str(0, path);
            problem
        }));
    }

    /// `Ok(value)` if there is no problem.
    pub fn or<T>(self, value: T) -> Result<T, Self> {
        if self.0.is_empty() { Ok(value) } else { Err(self) }
    }
}

impl From<Problem> for Problems {
    fn from(problem: Problem) -> Self {
        Self(vec![problem])
    }
}

impl fmt::Display for Problems {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, problem) in self.0.iter().enumerate() {
            if at > 0 {
                f.write_str("\n")?;
            }
            problem.fmt(f)?;
        }
        Ok(())
    }
}

impl std::error::Error for Problems {}

/// A source file: its name and text.
#[derive(Debug, Clone)]
pub struct Source {
    name: String,
    text: String,
    /// Byte at which each line starts.
    lines: Vec<usize>,
    /// The text as YAML, which is read at most once.
    pub(crate) tree: OnceLock<Result<Node, Vec<Diagnostic>>>,
}

impl Source {
    /// A file under the name to show it by.
    pub fn new(name: impl Into<String>, text: impl Into<String>) -> Self {
        let text = text.into();
        let starts = text.match_indices('\n').map(|(at, _)| at + 1);
        let lines = std::iter::once(0).chain(starts).collect();
        Self { name: name.into(), text, lines, tree: OnceLock::new() }
    }

    /// The name of the file.
    pub fn name(&self) -> &str {
        &self.name
    }

    pub fn text(&self) -> &str {
        &self.text
    }

    /// Line and column, from 1, of a byte; the column in characters.
    pub fn place(&self, byte: usize) -> (usize, usize) {
        let byte = self.text.floor_char_boundary(byte);
        let line = self.lines.partition_point(|start| *start <= byte);
        let start = self.lines[line - 1];
        let before = &self.text[start..byte];
        (line, before.trim_start_matches('\u{feff}').chars().count() + 1)
    }

    /// The text before and after a byte in its line, without the line ending and without a byte order mark.
    fn around(&self, byte: usize) -> (&str, &str) {
        let byte = self.text.floor_char_boundary(byte);
        let line = self.lines.partition_point(|start| *start <= byte);
        let end = self.lines.get(line).copied().unwrap_or(self.text.len());
        let before = self.text[self.lines[line - 1]..byte].trim_start_matches('\u{feff}');
        let after = self.text[byte..end].trim_end_matches(['\n', '\r']).trim_start_matches('\u{feff}');
        (if after.is_empty() { before.trim_end_matches('\r') } else { before }, after)
    }

    /// The text of a line, from 1, without the line ending and without a byte order mark.
    pub fn line(&self, line: usize) -> &str {
        let start = self.lines.get(line - 1).copied().unwrap_or(self.text.len());
        let end = self.lines.get(line).copied().unwrap_or(self.text.len());
        self.text[start..end].trim_end_matches(['\n', '\r']).trim_start_matches('\u{feff}')
    }
}

/// Whether a diagnostic stops anything.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub enum Severity {
    /// The file cannot be used.
    #[default]
    Error,
    /// The file can be used, but is probably wrong.
    Warning,
}

impl Severity {
    /// The word in messages.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Error => "error",
            Self::Warning => "warning",
        }
    }
}

impl Diagnostic {
    /// The diagnostic as text: location, message, the line with carets, hint.
    pub fn render(&self, source: &Source) -> String {
        let mark = Mark::of(source, &self.place);
        let gutter = " ".repeat(mark.line.to_string().len());
        let [above, text, carets] = mark.lines();
        let mut out = format!(
            "{}:{}:{}: {}: {}\n {above}\n {text}\n {carets}\n",
            printable(source.name()),
            mark.line,
            mark.column,
            self.label(),
            printable(&self.message),
        );
        if let Some(hint) = &self.hint {
            out.push_str(&format!(" {gutter} = hint: {}\n", printable(hint)));
        }
        out
    }
}

/// A place in a file, with enough of its line to show it without the file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Mark {
    /// Column, from 1, in characters.
    pub column: usize,
    /// Characters of `text` to mark.
    pub length: usize,
    /// Line, from 1.
    pub line: usize,
    /// Characters of `text` before the place.
    pub start: usize,
    /// The line, made printable; for a long line the part around the place.
    pub text: String,
}

impl Mark {
    /// The place of some bytes of a file.
    pub fn of(source: &Source, span: &Range<usize>) -> Self {
        let (line, column) = source.place(span.start);
        let (before, after) = source.around(span.start);
        // A long line is cut around the place, so that the caret is always under it. Only the shown part is processed: a line
        // may be as long as a file, with a mistake in every word.
        let lead = match before.char_indices().rev().nth(LEAD - 1) {
            Some((from, _)) if column > MAX_SHOWN - LEAD - 1 => &before[from..],
            _ => before,
        };
        let room = MAX_SHOWN.saturating_sub(lead.chars().count());
        let rest = after.char_indices().nth(room).map_or(after, |(end, _)| &after[..end]);
        let left = if lead.len() < before.len() { "…" } else { "" };
        let right = if rest.len() < after.len() { "…" } else { "" };
        let width = |text: &str| printable(text).chars().count();
        let marked = &rest[..rest.floor_char_boundary(span.end.saturating_sub(span.start))];
        Self {
            line,
            column,
            text: format!("{left}{}{}{right}", printable(lead), printable(rest)),
            start: width(left) + width(lead),
            length: width(marked).clamp(1, 80),
        }
    }

    /// The same with less text before the place, if the carets would not fit on lines of this width.
    #[must_use]
    pub fn within(&self, width: usize) -> Self {
        let room = width.saturating_sub(self.line.to_string().len() + 3);
        if self.start + self.length.min(SHOWN_CARETS) <= room || self.start <= LEAD {
            return self.clone();
        }
        let text: String = self.text.chars().skip(self.start - LEAD).collect();
        Self { text: format!("…{text}"), start: LEAD + 1, ..self.clone() }
    }

    /// Three lines of text: a blank gutter, the line with its number, and the carets.
    pub fn lines(&self) -> [String; 3] {
        let gutter = " ".repeat(self.line.to_string().len());
        // Tabs are kept, so that the caret is under its character at any tab width.
        let pad: String = self.text.chars().take(self.start).map(|c| if c == '\t' { '\t' } else { ' ' }).collect();
        [
            format!("{gutter} |"),
            format!("{} | {}", self.line, printable(&self.text)),
            format!("{gutter} | {pad}{}", "^".repeat(self.length.min(MAX_SHOWN))),
        ]
    }
}

/// Maximum characters of a line to show.
const MAX_SHOWN: usize = 160;

/// Carets that must be visible in a narrow report.
const SHOWN_CARETS: usize = 10;

/// Characters to show before the place in a long line.
const LEAD: usize = 39;

/// Whether a character controls the terminal or is invisible: control characters, Unicode line separators, bidirectional
/// controls, and default-ignorable code points, which could hide text from the reader. Emoji variation selectors are allowed:
/// they are common.
pub(crate) fn acts(c: char) -> bool {
    match c {
        // The common case.
        ' '..='~' => false,
        '\u{ad}'
        | '\u{34f}'
        | '\u{61c}'
        | '\u{115f}'..='\u{1160}'
        | '\u{17b4}'..='\u{17b5}'
        | '\u{180b}'..='\u{180f}'
        | '\u{200b}'..='\u{200f}'
        | '\u{2028}'..='\u{202e}'
        | '\u{2060}'..='\u{206f}'
        | '\u{3164}'
        | '\u{fe00}'..='\u{fe0d}'
        | '\u{feff}'
        | '\u{ffa0}'
        | '\u{fff0}'..='\u{fffb}'
        | '\u{1bca0}'..='\u{1bca3}'
        | '\u{1d173}'..='\u{1d17a}'
        | '\u{e0000}'..='\u{e0fff}' => true,
        _ => c.is_control(),
    }
}

/// Escapes control characters, which could move the cursor or hide text, and invisible characters. Tabs are kept.
pub fn printable(text: &str) -> Cow<'_, str> {
    let is_escaped = |c: char| acts(c) && c != '\t';
    if !text.contains(is_escaped) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len() + 8);
    for c in text.chars() {
        if is_escaped(c) { out.extend(c.escape_default()) } else { out.push(c) }
    }
    Cow::Owned(out)
}

/// Whether a character cannot be copied from a terminal unchanged.
pub fn is_unprintable(c: char) -> bool {
    c == '\t' || acts(c)
}

/// A word quoted for a shell; `None` if it cannot be copied from a terminal.
pub fn shell_word(word: &str) -> Option<String> {
    if word.contains(is_unprintable) {
        return None;
    }
    let is_bare = |c: char| c.is_ascii_alphanumeric() || "-_./:@%+,".contains(c);
    if !word.is_empty() && word.chars().all(is_bare) {
        return Some(word.to_owned());
    }
    Some(format!("'{}'", word.replace('\'', "'\\''")))
}

/// The candidate nearest to `word`, if it is near enough.
pub fn did_you_mean<'a>(word: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let word: String = word.chars().take(64).flat_map(char::to_lowercase).collect();
    let letters = word.chars().count();
    let near = |distance: usize, candidate: &str| distance * 3 <= candidate.len().max(word.len()) + 1;
    candidates
        .into_iter()
        // Words of very different length are never near: skip the distance.
        .filter(|candidate| near(candidate.chars().count().abs_diff(letters), candidate))
        .map(|candidate| (strsim::damerau_levenshtein(&word, &candidate.to_lowercase()), candidate))
        .filter(|(distance, candidate)| near(*distance, candidate))
        .min()
        .map(|(_, candidate)| candidate)
}

/// Maximum names in a hint.
const MAX_LISTED: usize = 30;

/// "did you mean `x`?", or the list of candidates when nothing is near.
pub fn suggest<'a>(word: &str, candidates: impl IntoIterator<Item = &'a str> + Clone) -> String {
    if let Some(near) = did_you_mean(word, candidates.clone()) {
        return format!("did you mean `{near}`?");
    }
    let mut all = candidates.into_iter();
    let listed: Vec<_> = all.by_ref().take(MAX_LISTED).collect();
    let more = match all.count() {
        0 => String::new(),
        more => format!(", and {more} more"),
    };
    format!("expected one of: {}{more}", listed.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn near_words_are_suggested_and_far_ones_are_listed() {
        let modes = ["strict", "subset", "superset"];
        assert_eq!(suggest("strct", modes), "did you mean `strict`?");
        assert_eq!(suggest("Superset", modes), "did you mean `superset`?");
        assert_eq!(suggest("banana", modes), "expected one of: strict, subset, superset");
        let many: Vec<_> = (10..99).map(|at| format!("name-{at}")).collect();
        let listed = suggest("other", many.iter().map(String::as_str));
        assert!(listed.ends_with("name-38, name-39, and 59 more"), "{listed}");
    }

    #[test]
    fn control_characters_are_escaped() {
        let source = Source::new("a\u{1b}.yml", "\tk\u{1b}[2Jy: b\u{202e}d # \u{e9}\u{9b}\r\n");
        let diagnostic = Diagnostic::error(9..14, "`\u{1b}[2J`\nis").hint("not \u{7f}").code(Code::UnknownKey);
        assert_eq!(
            diagnostic.render(&source),
            "a\\u{1b}.yml:1:10: error[unknown-key]: `\\u{1b}[2J`\\nis\n\
             \u{20}  |\n\
             \u{20}1 | \tk\\u{1b}[2Jy: b\\u{202e}d # \u{e9}\\u{9b}\n\
             \u{20}  | \t             ^^^^^^^^^^\n\
             \u{20}  = hint: not \\u{7f}\n"
        );
    }

    #[test]
    fn words_are_quoted_for_the_shell_where_needed() {
        assert_eq!(shell_word("tests/a-b.yml").as_deref(), Some("tests/a-b.yml"));
        assert_eq!(shell_word("books a seat").as_deref(), Some("'books a seat'"));
        assert_eq!(shell_word("it's $HOME").as_deref(), Some("'it'\\''s $HOME'"));
        assert_eq!(shell_word("").as_deref(), Some("''"));
        assert_eq!(shell_word("a\u{1b}b"), None);
    }

    #[test]
    fn problems_print_place_message_and_hint() {
        let mut all = Problems::default();
        all.extend_at(
            "/expect/0",
            Problem::new(Code::MalformedMatcher, "/matcher", "unknown matcher `exat`")
                .hint("did you mean `exact`?")
                .into(),
        );
        all.push(Problem::new(Code::MalformedMatcher, "", "needs at least one call"));
        assert_eq!(
            all.to_string(),
            "/expect/0/matcher: unknown matcher `exat` (hint: did you mean `exact`?)\nneeds at least one call"
        );
    }
}
