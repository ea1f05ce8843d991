//! Findings as they come in: lines are printed immediately, counts and missed mutants are kept for the report.

use std::collections::BTreeMap;
use std::io::{self, Write as _};

use mcptest_core::Verdict;
use mcptest_core::diag::{Code, Failure, printable};
use mcptest_core::event::Event;
use mcptest_core::json::Layout;
use mcptest_core::mutate::{Mutant, NotPassing, Operator, Status, Untried};
use serde::Serialize;
use serde_json::{Value, json};

use super::pretty;
use super::tally::{CheckCounts, Counts, Tally};
use crate::args::MutateOutput;
use crate::console::Stream;
use crate::report::MutationPage;

/// Most proposals, and most reasons of equivalent mutants, that are kept for the report. Lines have them all.
const MAX_KEPT: usize = 1000;

/// Maximum runs that do not pass that are reported individually.
const MAX_COMPLAINTS: usize = 20;

/// A test, trace or group after its mutants were judged.
pub(super) struct Judged {
    /// The file it comes from.
    pub(super) source: String,
    pub(super) name: String,
    /// The names of its runs.
    pub(super) runs: Vec<String>,
    /// The names of its checks.
    pub(super) checks: Vec<&'static str>,
    pub(super) result: Result<(Vec<Mutant>, Untried), NotPassing>,
}

/// Missed mutants of one run that the same check catches.
pub(super) struct MissedGroup {
    pub(super) trace: String,
    pub(super) mutant: Mutant,
    /// The operators of the others.
    pub(super) also: BTreeMap<Operator, usize>,
}

impl MissedGroup {
    pub(super) fn count(&self) -> usize {
        1 + self.also.values().sum::<usize>()
    }
}

pub(super) struct Findings {
    pub(super) output: MutateOutput,
    /// What is changed: a test, a trace or a group.
    pub(super) word: &'static str,
    pub(super) tally: Tally,
    /// In the order in which they were found.
    pub(super) missed: Vec<MissedGroup>,
    /// Missed mutants that are not in `missed`, because there are too many.
    pub(super) not_kept: usize,
    /// Reasons of equivalent mutants, with their number.
    pub(super) equivalent: BTreeMap<(String, String), usize>,
    /// Why standard output can no longer be written.
    pub(super) broken_out: Option<io::Error>,
    page: Option<MutationPage>,
    complaints: usize,
}

#[derive(Serialize)]
struct Line<'a> {
    trace: &'a str,
    operator: Operator,
    change: &'a str,
    status: Status,
    by: &'a [&'static str],
    #[serde(skip_serializing_if = "Option::is_none")]
    fix: Option<&'a Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    why: Option<&'a str>,
}

impl Findings {
    pub(super) fn new(output: MutateOutput, page: Option<MutationPage>) -> Self {
        Self {
            output,
            word: "test",
            tally: Tally::default(),
            missed: Vec::new(),
            not_kept: 0,
            equivalent: BTreeMap::new(),
            broken_out: None,
            page,
            complaints: 0,
        }
    }

    pub(super) fn wants_rows(&self) -> bool {
        self.page.is_some()
    }

    /// Shows an event on the page.
    pub(super) fn event(&mut self, event: Event) {
        if let Some(page) = &mut self.page {
            page.event(event);
        }
    }

    /// Takes in a subject, and prints its lines.
    pub(super) fn judged(&mut self, judged: Judged, out: &mut Stream<'_>, err: &mut Stream<'_>) {
        let (mutants, untried) = match judged.result {
            Ok(found) => found,
            Err(why) => {
                let name = why.run.and_then(|run| judged.runs.get(run)).unwrap_or(&judged.name);
                let place = if name.starts_with(&judged.source) || judged.source.is_empty() {
                    name.clone()
                } else {
                    format!("{}: {name}", judged.source)
                };
                let verdict = match why.verdict {
                    Verdict::Inconclusive => "is inconclusive",
                    Verdict::Unassessable => "is unassessable",
                    Verdict::Error => "cannot be evaluated",
                    Verdict::Pass | Verdict::Fail => "fails",
                };
                let message = format!("`{}` {verdict} before any change: {}", why.check, why.reason);
                let hint = "fix the checks or re-record the run until it passes; mutants of a run that does not pass prove nothing";
                self.complain(&Failure::error(place, message).code(Code::FailsUnchanged).hint(hint), err);
                return;
            }
        };
        self.tally.subjects += 1;
        for check in &judged.checks {
            self.tally.checks.entry(check).or_default();
        }
        self.tally.untried(untried);
        let mut lines = Vec::new();
        let first = self.missed.len();
        for mutant in mutants {
            self.tally.mutant(&mutant);
            let trace = judged.runs.get(mutant.run).unwrap_or(&judged.name);
            if self.output == MutateOutput::Jsonl {
                let line = Line {
                    trace,
                    operator: mutant.operator,
                    change: &mutant.change,
                    status: mutant.status,
                    by: &mutant.by,
                    fix: mutant.fix.as_ref(),
                    why: mutant.why.as_deref(),
                };
                // Writing into memory cannot fail.
                let _ = Layout::EXACT_LINE.write(&line, &mut lines);
                lines.push(b'\n');
            }
            if self.output == MutateOutput::Pretty || self.page.is_some() {
                self.keep(first, trace, mutant);
            }
        }
        if self.broken_out.is_none() && !lines.is_empty() {
            self.broken_out = out.write_all(&lines).and_then(|()| out.flush()).err();
        }
    }

    /// Keeps what the report shows. `first` is the first group of the same subject.
    fn keep(&mut self, first: usize, trace: &str, mutant: Mutant) {
        match mutant.status {
            Status::Caught => {}
            Status::Equivalent => {
                let key = (trace.to_owned(), mutant.why.unwrap_or_default());
                if self.equivalent.len() < MAX_KEPT || self.equivalent.contains_key(&key) {
                    *self.equivalent.entry(key).or_default() += 1;
                }
            }
            Status::Missed => {
                // One check may catch mutants of several runs; mutants without a check are grouped by reason.
                let same = |group: &&mut MissedGroup| {
                    let other = &group.mutant;
                    other.fix == mutant.fix
                        && (mutant.fix.is_some() || (other.why == mutant.why && other.operator == mutant.operator))
                };
                if let Some(group) = self.missed[first..].iter_mut().find(same) {
                    *group.also.entry(mutant.operator).or_default() += 1;
                } else if self.missed.len() < MAX_KEPT {
                    self.missed.push(MissedGroup { trace: trace.to_owned(), mutant, also: BTreeMap::new() });
                } else {
                    self.not_kept += 1;
                }
            }
        }
    }

    /// Reports something that could not be changed.
    pub(super) fn complain(&mut self, error: &Failure<String>, err: &mut Stream<'_>) {
        self.tally.errors += 1;
        self.complaints += 1;
        if self.complaints <= MAX_COMPLAINTS {
            let error = Failure { message: printable(&error.message).into_owned(), ..error.clone() };
            err.complain(error);
        }
    }

    /// Reports how many more complaints there were.
    pub(super) fn finish_complaints(&self, err: &mut Stream<'_>) {
        if let Some(more @ 1..) = self.complaints.checked_sub(MAX_COMPLAINTS) {
            err.complain(format!("error: and {more} more"));
        }
    }

    /// Writes the page, if one is wanted.
    pub(super) fn write_page(&mut self) -> Option<Failure> {
        let page = self.page.take()?;
        let Counts { caught, missed, equivalent } = self.tally.total();
        let row = |(operator, counts): (&Operator, &Counts)| {
            json!([operator.as_str(), counts.caught, counts.missed, counts.equivalent])
        };
        let check = |(name, counts): (&&str, &CheckCounts)| json!([name, counts.caught, counts.alone]);
        let group = |group: &MissedGroup| {
            json!({
                "trace": group.trace,
                "operator": group.mutant.operator.as_str(),
                "change": group.mutant.change,
                "diff": group.mutant.diff,
                "also": pretty::also(group),
                "fix": group.mutant.fix.as_ref().map(|fix| pretty::yaml_block(fix, 0)),
                "why": group.mutant.why,
            })
        };
        let mutation = json!({
            "caught": caught,
            "missed": missed,
            "equivalent": equivalent,
            "summary": self.tally.summary(self.word),
            "operators": self.tally.operators.iter().map(row).collect::<Vec<Value>>(),
            "checks": self.tally.checks.iter().map(check).collect::<Vec<Value>>(),
            "groups": self.missed.iter().map(group).collect::<Vec<Value>>(),
        });
        page.finish(&mutation)
    }
}
