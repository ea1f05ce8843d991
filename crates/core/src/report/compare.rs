//! What changed between two reports: rows whose verdict changed, rows that came and went, cells that pass more or less often.

use std::collections::BTreeMap;

use super::{Family, Report, Row, RowVerdict, SuiteReport};

/// A row by its suite, its name, and which of several rows with that name it is.
type Key = (String, String, usize);

/// What is kept of a report that another one is held against.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Baseline {
    rows: BTreeMap<Key, RowVerdict>,
    /// Passed and all runs of cells with several, by suite and name.
    rates: BTreeMap<(String, String), (usize, usize)>,
}

/// One row whose verdict is another one now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Change {
    /// The suite.
    pub file: String,
    /// The row; the suite's own name where the suite could not be used.
    pub name: String,
    /// The verdict before; none for a row that is new.
    pub before: Option<RowVerdict>,
    /// The verdict now; none for a row that is gone.
    pub after: Option<RowVerdict>,
}

/// One cell whose share of passing runs is another one now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rate {
    /// The suite.
    pub file: String,
    /// The cell.
    pub name: String,
    /// Passed runs and all runs before.
    pub before: (usize, usize),
    /// Passed runs and all runs now.
    pub after: (usize, usize),
}

/// What changed, in the order of the new report; what is gone in the order of names.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Changes {
    /// Was fine, and is not any more.
    pub worse: Vec<Change>,
    /// Was not fine, and is now.
    pub better: Vec<Change>,
    /// Another verdict, neither better nor worse.
    pub other: Vec<Change>,
    /// Was not there before.
    pub added: Vec<Change>,
    /// Is not there any more.
    pub gone: Vec<Change>,
    /// Cells that pass more or less often.
    pub rates: Vec<Rate>,
}

impl Baseline {
    /// What is kept of a report.
    pub fn of(report: &Report) -> Self {
        let rows = rows(report).into_iter().map(|(key, _, verdict)| (key, verdict)).collect();
        let rates = rates(report).into_iter().map(|(file, name, rate)| ((plain(&file), name), rate)).collect();
        Self { rows, rates }
    }

    /// How a newer report differs from this one.
    pub fn compare(&self, report: &Report) -> Changes {
        let mut out = Changes::default();
        let mut left = self.rows.clone();
        for (key, file, after) in rows(report) {
            let before = left.remove(&key);
            let change = Change { file: file.to_owned(), name: key.1, before, after: Some(after) };
            match before.map(|before| (standing(before), standing(after), before == after)) {
                None => out.added.push(change),
                Some((Standing::Fine, Standing::Bad, _)) => out.worse.push(change),
                Some((Standing::Bad, Standing::Fine, _)) => out.better.push(change),
                // A run that was absorbed, or is, leaves the verdict to the gate that absorbs; rates tell of it.
                Some((_, _, true) | (Standing::Fine, Standing::Fine, _)) => {}
                Some(_) => out.other.push(change),
            }
        }
        let gone = |((file, name, _), before)| Change { file, name, before: Some(before), after: None };
        out.gone = left.into_iter().map(gone).collect();
        for (file, name, after) in rates(report) {
            if let Some(before) = self.rates.get(&(plain(&file), name.clone()))
                // As fractions: 7 of 10 is 14 of 20.
                && before.0 * after.1 != after.0 * before.1
            {
                out.rates.push(Rate { file, name, before: *before, after });
            }
        }
        out
    }
}

impl Changes {
    /// Whether nothing changed.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Standing {
    Fine,
    Bad,
    Open,
}

fn standing(verdict: RowVerdict) -> Standing {
    match verdict {
        RowVerdict::Pass | RowVerdict::Absorbed => Standing::Fine,
        RowVerdict::Skipped | RowVerdict::Unjudged => Standing::Open,
        _ => Standing::Bad,
    }
}

/// A path as typed, without what does not change where it leads.
pub(crate) fn plain(file: &str) -> String {
    let mut file = file;
    while let Some(rest) = file.strip_prefix("./") {
        file = rest.trim_start_matches('/');
    }
    file.to_owned()
}

/// Every row of a report with its suite as typed; a suite that could not be used counts as a row of its own name.
fn rows(report: &Report) -> Vec<(Key, &str, RowVerdict)> {
    let mut seen: BTreeMap<(String, String), usize> = BTreeMap::new();
    let mut out = Vec::new();
    for SuiteReport { file, refused, rows } in &report.suites {
        let refused = refused.as_ref().map(|_| (file.clone(), RowVerdict::Error));
        for (name, verdict) in refused.into_iter().chain(rows.iter().map(|row| (row.name.clone(), row.verdict))) {
            let count = seen.entry((plain(file), name.clone())).or_default();
            out.push(((plain(file), name, *count), file.as_str(), verdict));
            *count += 1;
        }
    }
    out
}

/// Passed and all runs of every cell with several, in order.
fn rates(report: &Report) -> Vec<(String, String, (usize, usize))> {
    let mut out: Vec<(String, String, (usize, usize))> = Vec::new();
    for suite in &report.suites {
        for row in suite.rows.iter().filter(|row| row.family == Family::Run) {
            let Some(name) = cell_name(row) else { continue };
            if out.last().is_none_or(|(file, last, _)| *file != suite.file || *last != name) {
                out.push((suite.file.clone(), name, (0, 0)));
            }
            if let Some((_, _, (passed, runs))) = out.last_mut() {
                *passed += usize::from(row.verdict == RowVerdict::Pass);
                *runs += 1;
            }
        }
    }
    out
}

/// The name of a cell with several runs, from that of one of its runs.
fn cell_name(row: &Row) -> Option<String> {
    row.name_without_run().filter(|_| row.gate.is_none())
}
