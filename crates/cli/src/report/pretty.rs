//! The terminal report: a line per test on a model and per gate over runs, details of what did not pass, and a summary.
//!
//! A row is printed when it arrives. Only the runs of a test with several are kept until all have arrived, because they share a
//! line.

mod runs;

use mcptest_core::diag::printable;
use mcptest_core::event::Event;
use mcptest_core::report::{Report, Row, RowOrder, RowVerdict};

use self::runs::Runs;
use super::comparison::{self, Compared};
use super::detail::{explain, mark, numbers, other_details};
use super::style::{Output, Verbosity};
use super::text::{indent, one_line, wrap};
use super::{grid, paint, summary};

/// Columns of the word of a verdict, with padding.
const WORD: usize = 8;

/// Writes rows as they arrive.
#[derive(Debug)]
pub(super) struct Pretty {
    verbosity: Verbosity,
    output: Output,
    /// The suite that the rows belong to, as typed.
    file: String,
    /// Whether the name of the suite is printed already.
    is_named: bool,
    /// Whether a blank line must come before the next suite.
    is_begun: bool,
    /// The position of the last row in its cell.
    last: Option<RowOrder>,
    /// Runs of a cell that are not shown yet.
    runs: Option<Runs>,
}

impl Pretty {
    pub(super) fn new(verbosity: Verbosity, output: Output) -> Self {
        let file = String::new();
        Self { verbosity, output, file, is_named: false, is_begun: false, last: None, runs: None }
    }

    /// Adds an event to the report.
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
                let verdict = format!("! {:WORD$}", "REFUSED");
                let verdict = paint::verdict(RowVerdict::Error, &verdict, self.output.is_colored);
                out.push_str(&format!("{verdict}  {}\n", printable(file)));
                for line in why.trim_end().lines() {
                    out.push_str(&printable(line));
                    out.push('\n');
                }
            }
            Event::RowFinished(row) => self.row(row, &mut out),
            Event::CellFinished { .. } => self.flush(&mut out),
            Event::Labeled(_) | Event::InconclusiveAllowed => {}
            Event::Note(note) | Event::Stopped(note) => {
                self.flush(&mut out);
                wrap(&mut out, self.output.width, 0, &format!("note: {}", one_line(note)));
                self.is_begun = true;
            }
        }
        out
    }

    /// The end of the report.
    pub(super) fn finish(&mut self, report: &Report, compared: Option<&Compared>) -> String {
        let mut out = String::new();
        self.flush(&mut out);
        if self.verbosity != Verbosity::Quiet {
            out.push_str(&grid::tables(report));
        }
        if self.is_begun {
            out.push('\n');
        }
        if let Some(compared) = compared {
            out.push_str(&comparison::since(compared, self.verbosity == Verbosity::Verbose, self.output.width));
        }
        if let Some(code) = summary::first_code(report) {
            out.push_str(&format!("for more: mcptest explain {code}\n"));
        }
        let totals = summary::totals(report);
        let is_colored = self.output.is_colored;
        out.push_str(&paint::bold(&paint::verdict(summary::worst(report), &totals, is_colored), is_colored));
        out.push('\n');
        out
    }

    fn row(&mut self, row: &Row, out: &mut String) {
        if self.last.as_ref().is_some_and(|last| !last.goes_on_with(row)) {
            self.flush(out);
        }
        self.last = Some(RowOrder::of(row));
        if let Some(name) = row.name_without_run() {
            let runs = self.runs.get_or_insert_with(Runs::default);
            runs.take(row, &name, &self.file, self.verbosity, self.output);
            return;
        }
        self.flush(out);
        if matches!(row.verdict, RowVerdict::Pass | RowVerdict::Unjudged) && self.verbosity == Verbosity::Quiet {
            return;
        }
        self.name_suite(out);
        out.push_str(&single(row, &row.name, &self.file, self.verbosity, self.output));
    }

    /// Prints the runs that were kept.
    fn flush(&mut self, out: &mut String) {
        let Some(runs) = self.runs.take() else { return };
        let text = runs.text(self.verbosity, self.output);
        if !text.is_empty() {
            self.name_suite(out);
            out.push_str(&text);
        }
    }

    fn name_suite(&mut self, out: &mut String) {
        if !self.is_named {
            self.keep_away(out);
            out.push_str(&format!("{}\n", paint::bold(&printable(&self.file), self.output.is_colored)));
            self.is_named = true;
        }
    }

    /// A blank line between suites.
    fn keep_away(&mut self, out: &mut String) {
        if self.is_begun {
            out.push('\n');
        }
        self.is_begun = true;
    }
}

/// A single row: its verdict, name and numbers, and below them the details, unless it passed and they were not requested.
fn single(row: &Row, name: &str, file: &str, verbosity: Verbosity, output: Output) -> String {
    let origin = row.source();
    let mut out = String::new();
    if matches!(row.verdict, RowVerdict::Pass | RowVerdict::Unjudged) && verbosity != Verbosity::Verbose {
        // A gate's row has the gate in its name.
        let inline: Vec<String> = match row.gate {
            Some(_) => row.checks.iter().map(|checked| one_line(&checked.line)).collect(),
            None => row.checks.iter().map(numbers).collect(),
        };
        let inline = inline.join("; ");
        let names: Vec<&str> = row.checks.iter().map(|checked| checked.name).collect();
        let is_alone = names.len() < 2;
        let brief = if is_alone { String::new() } else { names.join(", ") };
        let briefest = if is_alone { String::new() } else { format!("{} checks", names.len()) };
        let fits = headline(row.verdict, name, origin, &[&inline, &brief, &briefest], output, &mut out);
        if !fits && is_alone && !inline.is_empty() {
            wrap(&mut out, output.width, indent(0), &inline);
        }
        for line in other_details(row, output.width) {
            line.put(&mut out, output.width, output.is_colored);
        }
        return out;
    }
    headline(row.verdict, name, origin, &[], output, &mut out);
    for line in explain(row, file, output.width) {
        line.put(&mut out, output.width, output.is_colored);
    }
    out
}

/// Verdict, name and origin of a row, and the first of `tails` that fits on the line. Returns whether one does.
fn headline(verdict: RowVerdict, name: &str, origin: &str, tails: &[&str], output: Output, out: &mut String) -> bool {
    let (mark, word) = mark(verdict);
    let label = format!("{mark} {word:WORD$}");
    let mut rest = printable(name).into_owned();
    if !origin.is_empty() {
        rest.push_str(&format!("  {origin}"));
    }
    let used = label.chars().count() + 2 + rest.chars().count();
    let fits = |text: &&&str| !text.is_empty() && used + 2 + text.chars().count() <= output.width;
    let tail = tails.iter().find(fits);
    if let Some(tail) = tail {
        rest.push_str(&format!("  {tail}"));
    }
    out.push_str(&format!("{}  {rest}\n", paint::verdict(verdict, &label, output.is_colored)));
    tail.is_some()
}
