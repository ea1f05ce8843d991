//! The report for people: a line or a few per row, as rows come, and a summary.

use mcptest_core::diag::printable;
use mcptest_core::event::Event;
use mcptest_core::report::{Family, Report, Row, RowVerdict, Totals};

use super::detail::{explain, mark, numbers};
use super::grid;
use super::text::{WIDTH, indent, many, one_line, wrap};

/// How much is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Verbosity {
    /// What is not a pass.
    Quiet,
    /// Every row; runs that passed alike share a line.
    Normal,
    /// Every row, each check on a line of its own.
    Verbose,
}

/// Columns that the word of a verdict is filled up to.
const WORD: usize = 8;

/// Writes rows as they come.
#[derive(Debug)]
pub(super) struct Pretty {
    verbosity: Verbosity,
    /// The suite that rows belong to, as it was typed.
    file: String,
    /// Whether the name of the suite stands above its rows yet.
    is_named: bool,
    /// Whether anything was written that the next suite has to keep away from.
    is_begun: bool,
    /// Runs that passed alike and are not shown yet.
    alike: Option<Alike>,
}

/// Passing runs of one cell that differ in nothing but their number.
#[derive(Debug, Clone, PartialEq)]
struct Alike {
    test: String,
    model: String,
    /// The name without the number of the run.
    name: String,
    origin: &'static str,
    checks: Vec<String>,
    first: u64,
    last: u64,
}

impl Alike {
    /// A run that others may follow: it passed, and its name has a number because there are several.
    fn of(row: &Row) -> Option<Self> {
        let run = row.run.filter(|_| row.family == Family::Run && row.verdict == RowVerdict::Pass)?;
        if row.error.is_some() || !row.receipts.is_empty() || row.advisory.is_some() {
            return None;
        }
        Some(Self {
            test: row.test.clone(),
            model: row.model.clone(),
            name: row.name.strip_suffix(&format!(" #{run}"))?.to_owned(),
            origin: row.origin.map_or("", |origin| origin.as_str()),
            checks: row.checks.iter().map(numbers).collect(),
            first: run,
            last: run,
        })
    }

    /// Takes in the next run, when it is the next of the same cell and says the same.
    fn take(&mut self, next: &Self) -> bool {
        let same = *self == Self { first: self.first, last: self.last, ..next.clone() };
        let follows = same && Some(next.first) == self.last.checked_add(1);
        if follows {
            self.last = next.last;
        }
        follows
    }

    fn name(&self) -> String {
        match self.last {
            last if last == self.first => format!("{} #{last}", self.name),
            last => format!("{} #{} to #{last}", self.name, self.first),
        }
    }
}

impl Pretty {
    pub(super) fn new(verbosity: Verbosity) -> Self {
        Self { verbosity, file: String::new(), is_named: false, is_begun: false, alike: None }
    }

    /// What an event adds to the report.
    pub(super) fn event(&mut self, event: &Event) -> String {
        let mut out = String::new();
        match event {
            Event::SuiteStarted { file } => {
                self.flush(&mut out);
                self.file.clone_from(file);
                self.is_named = false;
            }
            Event::SuiteRefused { file, why } => {
                self.flush(&mut out);
                self.keep_away(&mut out);
                out.push_str(&format!("! {:WORD$}  {}\n", "REFUSED", printable(file)));
                for line in why.trim_end().lines() {
                    out.push_str(&printable(line));
                    out.push('\n');
                }
            }
            Event::RowFinished(row) => self.row(row, &mut out),
            Event::Note(note) | Event::Stopped(note) => {
                self.flush(&mut out);
                wrap(&mut out, 0, &format!("note: {}", one_line(note)));
                self.is_begun = true;
            }
        }
        out
    }

    /// The end of the report.
    pub(super) fn finish(&mut self, report: &Report) -> String {
        let mut out = String::new();
        self.flush(&mut out);
        if self.verbosity != Verbosity::Quiet {
            out.push_str(&grid::tables(report));
        }
        if self.is_begun {
            out.push('\n');
        }
        out.push_str(&summary(&report.totals, report.refused));
        out.push('\n');
        out
    }

    fn row(&mut self, row: &Row, out: &mut String) {
        if row.verdict == RowVerdict::Pass && self.verbosity == Verbosity::Quiet {
            return;
        }
        if self.verbosity == Verbosity::Normal
            && let Some(run) = Alike::of(row)
        {
            if self.alike.as_mut().is_some_and(|alike| alike.take(&run)) {
                return;
            }
            self.flush(out);
            self.alike = Some(run);
            return;
        }
        self.flush(out);
        let (origin, checks) = (row.origin.map_or("", |origin| origin.as_str()), row.checks.iter());
        let has_more = row.error.is_some()
            || !row.receipts.is_empty()
            || row.advisory.is_some()
            || self.verbosity == Verbosity::Verbose;
        // A gate's row has the gate in its name.
        let inline: Vec<String> = match row.gate {
            Some(_) => checks.map(|checked| one_line(&checked.line)).collect(),
            None => checks.map(numbers).collect(),
        };
        let is_short = row.verdict == RowVerdict::Pass && !has_more;
        if !self.headline(row.verdict, &row.name, origin, if is_short { &inline } else { &[] }, out) || !is_short {
            for line in explain(row, &self.file) {
                wrap(out, indent(line.depth), &line.text);
            }
        }
    }

    /// Shows the runs that were held back.
    fn flush(&mut self, out: &mut String) {
        if let Some(alike) = self.alike.take()
            && !self.headline(RowVerdict::Pass, &alike.name(), alike.origin, &alike.checks, out)
        {
            let (mark, _) = mark(RowVerdict::Pass);
            for line in &alike.checks {
                wrap(out, indent(0), &format!("{mark} {line}"));
            }
        }
    }

    /// Verdict, name and origin of a row, and `numbers` where they fit into the line; tells whether they do.
    fn headline(
        &mut self,
        verdict: RowVerdict,
        name: &str,
        origin: &str,
        numbers: &[String],
        out: &mut String,
    ) -> bool {
        if !self.is_named {
            self.keep_away(out);
            out.push_str(&format!("{}\n", printable(&self.file)));
            self.is_named = true;
        }
        let (mark, word) = mark(verdict);
        let mut line = format!("{mark} {word:WORD$}  {}", printable(name));
        if !origin.is_empty() {
            line.push_str(&format!("  {origin}"));
        }
        let tail = numbers.join("; ");
        let fits = line.chars().count() + 2 + tail.chars().count() <= WIDTH;
        if fits && !tail.is_empty() {
            line.push_str(&format!("  {tail}"));
        }
        out.push_str(&line);
        out.push('\n');
        fits
    }

    /// A blank line between suites.
    fn keep_away(&mut self, out: &mut String) {
        if self.is_begun {
            out.push('\n');
        }
        self.is_begun = true;
    }
}

/// Such as "12 rows: 10 pass, 1 fail, 1 error".
pub(super) fn summary(totals: &Totals, refused: usize) -> String {
    let Totals { pass, fail, unassessable, error, absorbed, skipped } = *totals;
    let counts = [
        (pass, RowVerdict::Pass),
        (fail, RowVerdict::Fail),
        (unassessable, RowVerdict::Unassessable),
        (error, RowVerdict::Error),
        (absorbed, RowVerdict::Absorbed),
        (skipped, RowVerdict::Skipped),
    ];
    let parts: Vec<String> =
        counts.iter().filter(|(count, _)| *count > 0).map(|(count, verdict)| format!("{count} {verdict}")).collect();
    let mut line = match totals.rows() {
        0 => "no rows".to_owned(),
        rows => format!("{}: {}", many(rows, "row"), parts.join(", ")),
    };
    if refused > 0 {
        line.push_str(&format!("; {} could not be used", many(refused, "suite")));
    }
    line
}
