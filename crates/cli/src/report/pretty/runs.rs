//! The runs of a test with several, as one line with their numbers, the paths they took, and the details of those that did not
//! pass, each once.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

use mcptest_core::report::{Family, Origin, Paths, Row, RowVerdict};

use super::{headline, single};
use crate::report::detail::{numbers, text_without_calls};
use crate::report::paths;
use crate::report::style::{Output, Verbosity};
use crate::report::text::{indent, many, runs, wrap};

/// Most different failures of one test that are shown before the rest is counted, and most that are kept.
const MAX_SHOWN: usize = 5;
const MAX_KEPT: usize = 50;

/// The runs of a cell so far.
#[derive(Debug, Default)]
pub(super) struct Runs {
    /// The runs, and the outcomes of their faults.
    kinds: Vec<Kind>,
    paths: Paths,
    /// Every row on its own, for `-v`.
    rows: String,
}

#[derive(Debug)]
struct Kind {
    name: String,
    family: Family,
    origin: Option<&'static str>,
    /// Runs whose recordings were edited.
    edited: usize,
    counts: BTreeMap<RowVerdict, usize>,
    /// Numbers of the checks, if all runs have the same.
    checks: Option<Vec<String>>,
    /// The details of rows that did not pass, with their runs.
    groups: Vec<OutcomeGroup>,
    /// Their positions, by verdict and details.
    known: BTreeMap<(RowVerdict, String), usize>,
    /// Runs with further failures.
    rest: Vec<u64>,
}

#[derive(Debug)]
struct OutcomeGroup {
    verdict: RowVerdict,
    source: &'static str,
    /// The lines below the name, from the first such run.
    below: String,
    runs: Vec<u64>,
}

impl Runs {
    pub(super) fn take(&mut self, row: &Row, name: &str, file: &str, verbosity: Verbosity, output: Output) {
        // A run that was not made, or could not be judged, has no path.
        let is_run = row.family == Family::Run && !matches!(row.verdict, RowVerdict::Skipped | RowVerdict::Error);
        if is_run {
            self.paths.add(row.trace.as_deref(), row.verdict == RowVerdict::Pass);
        }
        if verbosity == Verbosity::Verbose {
            self.rows.push_str(&single(row, &row.name, file, verbosity, output));
        }
        let at = self.kinds.iter().position(|kind| kind.family == row.family).unwrap_or_else(|| {
            self.kinds.push(Kind::new(row, name));
            self.kinds.len() - 1
        });
        self.kinds[at].take(row, file, verbosity, output);
    }

    pub(super) fn text(&self, verbosity: Verbosity, output: Output) -> String {
        let mut out = String::new();
        for kind in &self.kinds {
            let verdict = kind.verdict();
            if verbosity == Verbosity::Quiet && verdict == RowVerdict::Pass {
                continue;
            }
            kind.line(verdict, &self.paths, output, &mut out);
            let shows_paths = kind.family == Family::Run
                && self.paths.runs() > 1
                && (self.paths.first_split().is_some()
                    || verdict != RowVerdict::Pass
                    || verbosity == Verbosity::Verbose);
            if shows_paths {
                for line in paths::tree(&self.paths) {
                    // A tree is not wrapped: it would no longer be a tree.
                    out.push_str(&format!("{}{line}\n", " ".repeat(indent(0))));
                }
            }
            if verbosity != Verbosity::Verbose {
                kind.write_groups(output, &mut out);
            }
        }
        out.push_str(&self.rows);
        out
    }
}

impl Kind {
    fn new(row: &Row, name: &str) -> Self {
        Self {
            name: name.to_owned(),
            family: row.family,
            origin: row.origin.map(Origin::as_str),
            edited: 0,
            counts: BTreeMap::new(),
            checks: Some(row.checks.iter().map(numbers).collect()),
            groups: Vec::new(),
            known: BTreeMap::new(),
            rest: Vec::new(),
        }
    }

    fn take(&mut self, row: &Row, file: &str, verbosity: Verbosity, output: Output) {
        *self.counts.entry(row.verdict).or_default() += 1;
        self.edited += usize::from(row.edited);
        let origin = row.origin.map(Origin::as_str);
        // Runs that were not made have no origin.
        if origin.is_some() && self.origin != origin {
            self.origin = if self.counts.values().sum::<usize>() == 1 { origin } else { None };
        }
        if self
            .checks
            .as_ref()
            .is_some_and(|checks| !checks.iter().eq(row.checks.iter().map(numbers).collect::<Vec<_>>().iter()))
        {
            self.checks = None;
        }
        let has_more = !row.receipts.is_empty() || row.advisory.is_some();
        let is_shown = row.verdict != RowVerdict::Pass || (has_more && verbosity == Verbosity::Normal);
        let (Some(run), true) = (row.run, is_shown && verbosity != Verbosity::Verbose) else { return };
        let next = self.groups.len();
        match self.known.entry((row.verdict, text_without_calls(row))) {
            Entry::Occupied(known) => self.groups[*known.get()].runs.push(run),
            Entry::Vacant(free) if next < MAX_KEPT => {
                free.insert(next);
                let whole = single(row, "", file, verbosity, output);
                // The first line has the name.
                let below = whole.split_once('\n').map_or("", |(_, below)| below).to_owned();
                self.groups.push(OutcomeGroup { verdict: row.verdict, source: row.source(), below, runs: vec![run] });
            }
            Entry::Vacant(_) => self.rest.push(run),
        }
    }

    /// The worst verdict of a run; absorbed if no run was worse.
    fn verdict(&self) -> RowVerdict {
        let order = [
            RowVerdict::Error,
            RowVerdict::Fail,
            RowVerdict::Unassessable,
            RowVerdict::Inconclusive,
            RowVerdict::Skipped,
            RowVerdict::Unjudged,
            RowVerdict::Absorbed,
        ];
        order.into_iter().find(|verdict| self.counts.contains_key(verdict)).unwrap_or(RowVerdict::Pass)
    }

    fn line(&self, verdict: RowVerdict, paths: &Paths, output: Output, out: &mut String) {
        let all: usize = self.counts.values().sum();
        let passed = self.counts.get(&RowVerdict::Pass).copied().unwrap_or(0);
        let mut counts = format!("{passed}/{all} runs pass");
        let others = self.counts.iter().filter(|(other, _)| **other != RowVerdict::Pass && **other != verdict);
        for (other, count) in others {
            counts.push_str(&format!(", {count} {other}"));
        }
        let checks = self.checks.as_ref().filter(|checks| !checks.is_empty() && verdict == RowVerdict::Pass);
        let checks = checks.map_or_else(String::new, |checks| format!("; {}", checks.join("; ")));
        let path = match (self.family, verdict, paths.first_split()) {
            (Family::Run, RowVerdict::Pass, None) => paths::tree(paths).first().map(|line| format!("; {line}")),
            _ => None,
        };
        let path = path.unwrap_or_default();
        let tails =
            [&*format!("{counts}{checks}{path}"), &*format!("{counts}{path}"), &*format!("{counts}{checks}"), &*counts];
        let edited = match self.edited {
            0 => None,
            edited if edited == all => Some("edited".to_owned()),
            edited => Some(format!("{edited} edited")),
        };
        let source: Vec<String> = self.origin.map(str::to_owned).into_iter().chain(edited).collect();
        if !headline(verdict, &self.name, &source.join(", "), &tails, output, out) {
            wrap(out, output.width, indent(0), &counts);
        }
    }

    fn write_groups(&self, output: Output, out: &mut String) {
        for group in self.groups.iter().take(MAX_SHOWN) {
            let numbers = runs(&group.runs);
            headline(group.verdict, &format!("{} {numbers}", self.name), group.source, &[], output, out);
            out.push_str(&group.below);
        }
        let mut rest: Vec<u64> =
            self.groups.iter().skip(MAX_SHOWN).flat_map(|group| group.runs.iter().copied()).collect();
        rest.extend(&self.rest);
        rest.sort_unstable();
        if !rest.is_empty() {
            let line =
                format!("and {} that failed in other ways; -v shows them: {}", many(rest.len(), "run"), runs(&rest));
            wrap(out, output.width, indent(0), &line);
        }
    }
}
