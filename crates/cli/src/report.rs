//! Reporters: each renders one stream of events to standard output or a file.

mod comparison;
mod detail;
mod evidence;
mod file;
mod github;
mod grid;
mod html;
mod json;
mod junit;
#[cfg(test)]
mod log;
pub(crate) mod markdown;
mod ndjson;
mod paint;
mod paths;
mod pretty;
#[cfg(test)]
mod reporter_tests;
pub(crate) mod rerun_command;
#[cfg(test)]
mod samples;
mod style;
pub(crate) mod summary;
pub(crate) mod text;

use std::fmt;
use std::fs;
use std::io::{self, BufWriter, ErrorKind, Write};
use std::path::{Path, PathBuf};
use std::str::FromStr;

use mcptest_core::diag::{Code, Failure, printable, suggest};
use mcptest_core::event::Event;
use mcptest_core::report::Report;
use mcptest_runner::file::Trust;

pub(crate) use self::comparison::{Compared, Named};
use self::html::Page;
use self::pretty::Pretty;
use self::style::Output;
pub(crate) use self::style::{Color, Style, Verbosity};
use crate::console::{Stream, printed};
use crate::input;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Pretty,
    /// For tools: everything, as one JSON object.
    Json,
    /// For tools: events as they happen, one JSON object per line.
    Ndjson,
    Junit,
    Github,
    Markdown,
    /// For people: an HTML page.
    Html,
}

impl Kind {
    const ALL: [Self; 7] =
        [Self::Pretty, Self::Json, Self::Ndjson, Self::Junit, Self::Github, Self::Markdown, Self::Html];

    const fn name(self) -> &'static str {
        match self {
            Self::Pretty => "pretty",
            Self::Json => "json",
            Self::Ndjson => "ndjson",
            Self::Junit => "junit",
            Self::Github => "github",
            Self::Markdown => "markdown",
            Self::Html => "html",
        }
    }
}

impl Kind {
    const fn meaning(self) -> &'static str {
        match self {
            Self::Pretty => {
                "For people at a terminal: every verdict, and for failures the reason, the evidence and the place in the suite."
            }
            Self::Json => {
                "For tools: one JSON object with every verdict, metric and trace. `mcptest report` converts it to every other \
                 report, and `--compare` shows what changed since."
            }
            Self::Ndjson => "For tools: events as JSON lines, as the run progresses.",
            Self::Junit => "For CI servers: JUnit XML.",
            Self::Github => "For GitHub Actions: annotations at the lines of the suite that failed.",
            Self::Markdown => "For pull request comments: a short table and the failures.",
            Self::Html => "For people: one self-contained page with every run, call and result.",
        }
    }
}

/// Every reporter: its name and what it is for.
pub(crate) fn reporters() -> impl Iterator<Item = (&'static str, &'static str)> {
    Kind::ALL.into_iter().map(|kind| (kind.name(), kind.meaning()))
}

/// A requested reporter: `NAME` or `NAME=PATH`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Choice {
    kind: Kind,
    /// Standard output without one.
    path: Option<PathBuf>,
}

/// Why a reporter cannot be used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum BadChoice {
    Unknown(String),
    NoPath(Kind),
}

impl fmt::Display for BadChoice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unknown(name) => {
                let known = suggest(name, Kind::ALL.map(Kind::name));
                write!(f, "there is no reporter `{}` (hint: {known})", printable(name))
            }
            Self::NoPath(kind) => {
                let name = kind.name();
                write!(f, "the path is missing (hint: `{name}=PATH`, or `{name}` alone for standard output)")
            }
        }
    }
}

impl std::error::Error for BadChoice {}

impl FromStr for Choice {
    type Err = BadChoice;

    fn from_str(typed: &str) -> Result<Self, BadChoice> {
        let (name, path) = match typed.split_once('=') {
            Some((name, path)) => (name, Some(path)),
            None => (typed, None),
        };
        let known = Kind::ALL.into_iter().find(|kind| kind.name() == name);
        let kind = known.ok_or_else(|| BadChoice::Unknown(name.to_owned()))?;
        match path {
            Some("") => Err(BadChoice::NoPath(kind)),
            // Elsewhere `-` means standard output, so it is not a file name here.
            Some("-") => Ok(Self { kind, path: None }),
            _ => Ok(Self { kind, path: path.map(PathBuf::from) }),
        }
    }
}

impl Choice {
    /// The name of the reporter.
    pub(crate) fn name(&self) -> &'static str {
        self.kind.name()
    }

    /// Whether it writes to standard output.
    pub(crate) fn is_on_stdout(&self) -> bool {
        self.path.is_none()
    }

    /// The file that is written, regardless of how its path is spelled and of links to it.
    fn place(&self) -> Option<PathBuf> {
        let path = self.path.as_deref()?;
        Some(fs::canonicalize(path).unwrap_or_else(|_| input::place(path)))
    }
}

/// Two reporters would write to the same place: standard output, or a file.
fn clash(first: Kind, second: Kind, place: Option<&Path>) -> Failure {
    let (first, second) = (first.name(), second.name());
    let (place, hint) = match place {
        None => ("standard output".to_owned(), format!("give one of them a file: --reporter {second}=PATH")),
        Some(path) => (format!("the file {}", path.display()), "write each to its own file".to_owned()),
    };
    let message = format!("two reporters cannot share {place}: {first} and {second}");
    Failure::error((), message).code(Code::ReportersClash).hint(hint)
}

fn unwritten(path: &Path, error: &io::Error) -> Failure {
    let hint = match error.kind() {
        ErrorKind::NotFound => "create its folder first",
        ErrorKind::IsADirectory => "name a file in it",
        ErrorKind::InvalidInput => "remove the link, or name another file",
        _ => "check that the folder is writable and the disk has space",
    };
    let message = format!("cannot write the report {}: {error}", path.display());
    Failure::error((), message).code(Code::ReportNotWritten).hint(hint)
}

/// Rows as text, printed as they arrive, without totals: nothing is kept.
pub(crate) struct RowList(Pretty);

impl RowList {
    pub(crate) fn new(style: &Style) -> Self {
        Self(Pretty::new(style.verbosity, style.output))
    }

    pub(crate) fn event(&mut self, event: &Event) -> String {
        self.0.event(event)
    }
}

/// The reporters of one run.
pub(crate) struct Reporters<'a> {
    all: Vec<Reporter>,
    style: Style,
    out: Stream<'a>,
    /// Why standard output can no longer be written to; the files are still written.
    closed: Option<io::Error>,
}

struct Reporter {
    choice: Choice,
    pretty: Option<Pretty>,
    page: Option<Page>,
    /// The file of a report that is written while events arrive.
    text: String,
}

impl Reporter {
    fn new(choice: Choice, style: &Style) -> Self {
        let output = if choice.is_on_stdout() { style.output } else { Output::PLAIN };
        let pretty = (choice.kind == Kind::Pretty).then(|| Pretty::new(style.verbosity, output));
        let text = if choice.kind == Kind::Ndjson { ndjson::begin() } else { String::new() };
        let page = (choice.kind == Kind::Html).then(Page::default);
        Self { choice, pretty, page, text }
    }

    /// Adds an event to a report that is written while events arrive.
    fn event(&mut self, event: &Event) {
        if let Some(page) = &mut self.page {
            page.event(event);
        }
        match (&mut self.pretty, self.choice.kind) {
            (Some(pretty), _) => self.text.push_str(&pretty.event(event)),
            (None, Kind::Ndjson) => self.text.push_str(&ndjson::event(event)),
            (None, _) => {}
        }
    }

    fn finish(&mut self, report: &Report, compared: Option<&Compared>, out: &mut dyn Write) -> io::Result<()> {
        if let Some(pretty) = &mut self.pretty {
            self.text.push_str(&pretty.finish(report, compared));
        }
        out.write_all(self.text.as_bytes())?;
        if let Some(page) = &self.page {
            page.write(report, out)?;
        }
        match self.choice.kind {
            Kind::Pretty | Kind::Html => Ok(()),
            Kind::Json => json::write(report, out),
            Kind::Ndjson => out.write_all(ndjson::end(report).as_bytes()),
            Kind::Junit => junit::write(report, out),
            Kind::Github => out.write_all(github::text(report, compared).as_bytes()),
            Kind::Markdown => out.write_all(markdown::text(report, compared, markdown::COMMENT).as_bytes()),
        }
    }
}

impl<'a> Reporters<'a> {
    /// The chosen reporters. If none of them uses standard output, `pretty` does: a verdict is never in a file alone.
    pub(crate) fn new(chosen: &[Choice], style: Style, out: Stream<'a>) -> Result<Self, Failure> {
        let mut choices: Vec<Choice> = chosen.to_vec();
        if choices.iter().all(|choice| choice.path.is_some()) {
            choices.insert(0, Choice { kind: Kind::Pretty, path: None });
        }
        Self::only(choices, style, out)
    }

    /// The chosen reporters and no other, for a command that also reports its verdicts in another way.
    pub(crate) fn only(choices: Vec<Choice>, style: Style, out: Stream<'a>) -> Result<Self, Failure> {
        for (at, choice) in choices.iter().enumerate() {
            if let Some(other) = choices[..at].iter().find(|other| other.place() == choice.place()) {
                return Err(clash(other.kind, choice.kind, choice.path.as_deref()));
            }
        }
        let all = choices.into_iter().map(|choice| Reporter::new(choice, &style)).collect();
        Ok(Self { all, style, out, closed: None })
    }

    /// Whether any report is written at the end, from everything. The others have already read what they need of traces.
    pub(crate) fn want_traces(&self) -> bool {
        self.all.iter().any(|reporter| !matches!(reporter.choice.kind, Kind::Pretty | Kind::Ndjson | Kind::Html))
    }

    /// Adds an event to the reports that are written while events arrive.
    pub(crate) fn event(&mut self, event: &Event) {
        for reporter in &mut self.all {
            reporter.event(event);
            if reporter.choice.is_on_stdout() && !reporter.text.is_empty() {
                put(&mut self.out, &mut self.closed, |out| out.write_all(reporter.text.as_bytes()));
                reporter.text.clear();
            }
        }
    }

    fn has(&self, kind: Kind) -> bool {
        self.all.iter().any(|reporter| reporter.choice.kind == kind)
    }

    /// Finishes every report, with what changed since an older one. The others are written even if one cannot be.
    pub(crate) fn finish(mut self, report: &Report, compared: Option<&Compared>) -> Vec<Failure> {
        let mut unwritten = Vec::new();
        let style = &self.style;
        for reporter in &mut self.all {
            match reporter.choice.path.clone() {
                // Standard output is flushed after every line, and a report may have millions.
                None => put(&mut self.out, &mut self.closed, |out| {
                    out.allow_commands(reporter.choice.kind == Kind::Github);
                    let mut buffer = BufWriter::new(&mut *out);
                    reporter.finish(report, compared, &mut buffer)?;
                    buffer.flush()?;
                    drop(buffer);
                    out.allow_commands(false);
                    Ok(())
                }),
                // A path may lead to the log too: `/dev/stdout`, or a pipe.
                Some(path) => unwritten.extend(to_file(&path, style.trust, |out| {
                    let mut out = Stream::new(out);
                    out.allow_commands(reporter.choice.kind == Kind::Github);
                    reporter.finish(report, compared, &mut out)
                })),
            }
        }
        if let Some(path) = style.step_summary.as_deref().filter(|_| self.has(Kind::Github)) {
            let text = |room| markdown::text(report, compared, room);
            let appended = file::append(path, STEP_SUMMARY, text).err();
            unwritten.extend(appended.map(|error| self::unwritten(path, &error)));
        }
        put(&mut self.out, &mut self.closed, |out| out.flush());
        unwritten.extend(printed(self.closed.map_or(Ok(()), Err)).err());
        unwritten
    }
}

/// The page of a run with a section about its mutants.
pub(crate) struct MutationPage {
    path: PathBuf,
    page: Page,
    report: Report,
}

impl MutationPage {
    pub(crate) fn new(path: &Path) -> Self {
        Self { path: path.to_owned(), page: Page::default(), report: Report::default() }
    }

    pub(crate) fn event(&mut self, mut event: Event) {
        self.page.event(&event);
        // The page already has what it shows of a trace.
        if let Event::RowFinished(row) = &mut event {
            row.trace = None;
        }
        self.report.take(event);
    }

    /// Writes the page, with what its script shows about mutants.
    pub(crate) fn finish(mut self, mutation: &serde_json::Value) -> Option<Failure> {
        self.page.mutation(mutation);
        to_file(&self.path, Trust::Trusted, |out| self.page.write(&self.report, out))
    }
}

/// Maximum bytes of a step summary; a longer one is not shown.
const STEP_SUMMARY: usize = 1_000_000;

pub(crate) fn to_file(
    path: &Path,
    trust: Trust,
    content: impl FnOnce(&mut dyn Write) -> io::Result<()>,
) -> Option<Failure> {
    file::write(path, trust, content).err().map(|error| unwritten(path, &error))
}

/// Writes to standard output until that fails.
fn put(out: &mut Stream<'_>, closed: &mut Option<io::Error>, content: impl FnOnce(&mut Stream<'_>) -> io::Result<()>) {
    if closed.is_none() {
        *closed = content(out).err();
    }
}
